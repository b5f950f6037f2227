# SPDX-License-Identifier: MIT
# build: crowd
# meson: -Dtools=false -Dengines=disabled
# targets: tests/nightly/campaign/crowd
"""Processes and threads add, remove, look up, sync, grow, copy, fold, merge, seal and replace, and are killed and
stopped at random. An oracle process remembers the results reported to each, and checks every lookup. A case is
a plan for some seconds. Its number and the seed repeat the plan, but not the schedule."""

import os
import pathlib
import subprocess
import sys
import tempfile

from campaign import BUILT, Campaign, Found, main

PROGRAM = BUILT / "tests" / "nightly" / "campaign" / "crowd"
EMULATOR = os.environ.get("EMULATOR", "").split()  # for a build for another machine: $BUILT
LAYOUTS = {"blocked": 1, "classic": 2, "counting": 3}
KINDS = ["blocked", "classic", "counting", "growing", "forgetting"]
OPERATIONS = "adds", "removes", "lookups"
FAST = pathlib.Path("/dev/shm")  # a folder without a disk to wait for


def about(chance, least, most):
    """A number between them, small numbers as often as large numbers."""
    return round(least * (most / least) ** chance.random())


def plan_of(case, chance):
    """The row of the table, the folder to run in, and the arguments."""
    kind = KINDS[case % len(KINDS)]
    layout = kind if kind in LAYOUTS else chance.choice(["blocked", "classic"])
    writers = chance.randint(1, 4)
    plan = {"seed": chance.getrandbits(62), "layout": LAYOUTS[layout], "milliseconds": chance.randint(1000, 4000),
            "writers": writers, "threads": chance.randint(1, 4 if writers < 4 else 2),
            "queriers": chance.randint(0, 3), "copiers": chance.randint(0, 2), "total": about(chance, 5000, 2000000),
            "exact": int(chance.random() < 0.3), "batch": about(chance, 1, 1024),
            "syncs": chance.choice([0, about(chance, 3, 3000)]), "kills": chance.choice([0, about(chance, 3, 500)]),
            "stops": chance.choice([0, about(chance, 5, 500)]), "seals": int(kind in LAYOUTS and chance.random() < 0.6),
            "last_kill": chance.randint(0, 1), "jitter": chance.choice([0, about(chance, 1000, 3000000)])}
    if kind == "growing":
        plan |= {"series": 1, "capacity": about(chance, 50, 50000)}
    elif kind == "forgetting":
        plan |= {"series": chance.randint(2, 8), "capacity": about(chance, 2000, 200000)}
    if layout == "counting":  # a slow layout, which takes four times as many keys as it keeps
        plan["total"] = about(chance, 500, 50000)
    return kind, chance.random() < 0.5, [f"{name}={value}" for name, value in plan.items()]


class Crowd(Campaign):
    unit = "operations"
    figure = 10**10
    columns = ("cases", "adds", "removes", "lookups", "syncs", "grows", "seals", "copies", "folds", "merges",
               "projections", "deltas", "rescues", "replaces", "reloads", "kills", "unclean", "checked")

    def run(self, case, chance, folder):
        kind, fast, plan = plan_of(case, chance)
        fast = fast and os.access(FAST, os.W_OK)
        with tempfile.TemporaryDirectory(prefix="bloomfile-crowd-", dir=FAST if fast else folder) as here:
            done = subprocess.run([*EMULATOR, PROGRAM, *plan], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                message = done.stderr.strip() or f"crowd ended with {done.returncode}"
                files = {path.name: path.read_bytes() for path in pathlib.Path(here).iterdir()
                         if path.is_file() and path.stat().st_size < 10**7}
                raise Found(f"{message}\ncrowd {' '.join(plan)}\n{done.stdout}", files)
        columns = {name: int(number) for name, number in map(str.split, done.stdout.splitlines())}
        columns[self.unit] = sum(columns[name] for name in OPERATIONS)
        return {kind: {"cases": 1, **columns}}

    def describe(self, case):
        return f"case {case}, {KINDS[case % len(KINDS)]}"

    def finish(self, rows):
        if sum(row["cases"] for row in rows.values()) < 200:
            return []
        never = [name for name in self.columns if not any(row[name] for row in rows.values())]
        return [f"there were no {name}" for name in never] + [f"{kind} is missing" for kind in KINDS if kind not in rows]


if __name__ == "__main__":
    sys.exit(main(Crowd))
