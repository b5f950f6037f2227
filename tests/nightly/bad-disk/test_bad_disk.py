# SPDX-License-Identifier: MIT
"""A disk that fails to write: test_bad_disk.py [RUNS [SEED [SCENARIO...]]].

If a call or tool that returned 0 reported keys as on disk, they must be found after the file system is mounted
again, or an error must report that they may be lost. Each line is a scenario:

runs        of the scenario, with different moments and different failing blocks
syncs       promises: calls and tools that returned 0 for the filter
copies      promises of new files
told        calls and tools that returned an error
refused     filters that could not be opened afterwards
unnoticed   keys lost where the library could not know, see scenarios.nobody()
early       filters refused afterwards, although a sync had returned 0 for keys that were not on disk
unreadable  sealed filters that were promised and are damaged or refused
silent      runs that lost keys without any error
lost        these keys

The last four must be 0."""

import collections
import os
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).parent.parent / "power"))

from mounts import own_folder, skip  # noqa: E402
from disk import LIMITED, BadDisk, lift_limit  # noqa: E402
import scenarios  # noqa: E402
import tools  # noqa: E402
from trial import Trial  # noqa: E402

KNOWN = scenarios.SCENARIOS + (tools.SCENARIOS if "BFADD" in os.environ else [])
MAKE_FILES_THERE = scenarios.MAKE_FILES_THERE | tools.MAKE_FILES_THERE
RUNS = 3
SEED = 20261122
SHOWN = 3  # faults of each scenario
COLUMNS = ["runs", "syncs", "copies", "told", "refused", "unnoticed", "early", "unreadable",
           "silent", "lost"]


def require(folder):
    """Skips the test if such a disk cannot be made here."""
    try:
        with BadDisk(folder / "first"):
            pass
    except (OSError, RuntimeError) as error:
        skip(error)


def run_once(folder, scenario, seed):
    rng = random.Random(seed)
    layout = scenarios.layout(rng, scenario not in tools.WITHOUT_COUNTING)
    where = folder / f"{scenario.__name__}-{seed}"
    with Trial(where, rng, layout, scenario in MAKE_FILES_THERE) as trial:
        scenario(trial)
        trial.judge()
        return trial.figures, [f"{scenario.__name__}, seed {seed}: {fault}"
                               for fault in trial.faults]


def run_scenario(folder, scenario, seeds):
    """The sum of the figures, and the faults."""
    figures, faults = collections.Counter(), []
    for seed in seeds:
        figures_of_one, faults_of_one = run_once(folder, scenario, seed)
        figures.update(figures_of_one)
        faults += faults_of_one
    return figures, faults


def print_row(name, cells):
    print(f"{name:14}", *(f"{cell:>10}" for cell in cells), flush=True)


def print_figures(name, figures):
    print_row(name, (f"{figures[column]:,}" for column in COLUMNS))


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    first = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    chosen = [s for s in KNOWN if s.__name__ in sys.argv[3:] or len(sys.argv) < 4]
    folder = own_folder(lambda folder: lift_limit(folder / LIMITED))
    require(folder)
    print(f"seeds {first} to {first + runs - 1}")
    print_row("", COLUMNS)
    total, wrong = collections.Counter(), 0
    shown = []
    for scenario in chosen:
        figures, faults = run_scenario(folder, scenario, range(first, first + runs))
        print_figures(scenario.__name__, figures)
        total.update(figures)
        wrong += len(faults)
        shown += faults[:SHOWN]
    print_figures("in all", total)
    print(*shown, sep="\n")
    if total["told"] == 0:
        print("the disk did not fail")
    return 1 if wrong or total["told"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
