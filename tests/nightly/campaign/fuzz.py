# SPDX-License-Identifier: MIT
# Debian: clang libclang-rt-14-dev
# compiler: clang
# meson: -Dfuzz=true -Dengines=disabled
# build: fuzz
# targets: fuzzers tests/languages/driver
"""Foreign bytes for every entry point that takes them: libFuzzer on each target of fuzz/, with and without the
sanitizers. The library must also agree with the readers in Python, Go and Rust (differential.py).

--partner runs only the comparisons with these readers, up to 10^7 with each. A reader whose tools are missing is left
out with its reason; if --partner names it, the campaign does not run.

A case is one run with a seed and a bounded number of executions. It starts from the corpus of the tree and from
build/campaign/fuzz/corpus, where earlier cases left new inputs. Once that has grown, --only does not repeat a case
exactly; the input kept with a finding does."""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

from campaign import SOURCE_ROOT, BUILT, Campaign, Found, cannot, main
from partners import NAMES, PROGRAMS, Missing, build

CORPUS = pathlib.Path(os.environ.get("STATE", SOURCE_ROOT / "build" / "campaign")) / "fuzz" / "corpus"
MOST_UNITS = 1500  # of a target in CORPUS
GOLDEN = ["tests/golden", "tests/golden-refused"]
LIVE = "tests/golden/live/*"

# Executions per case, sanitized and plain: about five seconds; a minute for the two cheapest targets, where foreign
# bytes arrive. Then the largest input, and inputs beyond its corpus. The first round through PLANS takes a tenth, so
# that a short run covers every target.
SHORTER = 10
TARGETS = {
    "builder": (700, 2500, 2048, []),
    "compact": (8_000_000, 60_000_000, 4096, ["fuzz/*.bin"]),
    "embedded": (50_000, 150_000, 8500, [*GOLDEN]),
    "header": (2_000_000, 20_000_000, 780, []),
    "image": (12_000, 40_000, 20_484, [*GOLDEN, LIVE, "fuzz/*.bloom"]),
    "keys": (15_000, 150_000, 1024, []),
    "patch": (700, 2000, 4096, ["tests/golden/*.patch"]),
    "ribbon": (700, 3000, 1024, ["fuzz/*.bin"]),
    "series": (1500, 2500, 256, []),
    "slices": (20_000, 50_000, 256, []),
    "unpack": (6_000, 40_000, 1024, []),
    "writer": (15_000, 35_000, 16_388, [*GOLDEN, "fuzz/*.bloom"]),
}
WAYS = "sanitized", "plain"
# Executions per case, and the targets whose inputs it changes.
COMPARED = {
    ("Python", "images"): (200_000, ["image"]),
    ("Python", "live files"): (60_000, ["writer"]),
    ("Python", "compact forms"): (700_000, ["compact"]),
    ("Python", "slices"): (20_000, []),
    ("Python", "patches"): (1000, ["patch"]),
    **{(name, kind): of for name in PROGRAMS for kind, of in (
        ("images", (100_000, ["image"])), ("slices", (2000, [])), ("patches", (5000, ["patch"])))},
}
PLANS = [(name, way) for way in WAYS for name in TARGETS] + [(kind, partner) for partner, kind in COMPARED]
PLANS += [("images", name) for name in PROGRAMS] * 8  # so that 10^9 executions include 10^7 comparisons with each
random.Random(20).shuffle(PLANS)
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": "1000000000", "MALLOC_MMAP_THRESHOLD_": "1000000000"}


class Fuzz(Campaign):
    unit = "executions"
    figure = 10**9
    columns = "under ASan+UBSan", *(f"with {name}" for name in NAMES), "both open", "edges"
    greatest = "edges",

    def add_options(self, parser):
        parser.add_argument("--partner", choices=[name.lower() for name in NAMES], action="append", default=[],
                            help="only compare with this reader; may be repeated")

    def prepare(self, folder):
        self.folder = folder
        named = [name for name in NAMES if name.lower() in self.options.partner]
        self.ways = named or [*WAYS, *NAMES]
        if named:
            self.figure = 10**7 * len(named)
        self.partners = {"Python": "Python"}
        for name in set(self.ways) & set(PROGRAMS):
            try:
                self.partners[name] = f"{name}={build(name, CORPUS.parent / name)}"
            except Missing as missing:
                if named:
                    cannot(f"{name}: {missing}")
                print(f"{name} is left out: {missing}", file=sys.stderr)
        for target, (*_, seeds) in TARGETS.items():
            units = folder / target
            units.mkdir()
            (CORPUS / target).mkdir(parents=True, exist_ok=True)
            for pattern in [f"fuzz/corpus/{target}", *seeds]:
                for root in SOURCE_ROOT, BUILT:
                    for file in files_of(root, pattern):
                        shutil.copy(file, units / f"{file.parent.name}-{file.name}")

    def plan(self, case):
        return PLANS[case % len(PLANS)]

    def describe(self, case):
        return "case {}: {}, {}".format(case, *self.plan(case))

    def run(self, case, chance, folder):
        name, way = self.plan(case)
        seed = chance.randrange(1, 2**31)
        share = SHORTER if case < len(PLANS) else 1
        if way not in self.ways or way in NAMES and way not in self.partners:
            return {}
        if way in NAMES:
            return self.compare(way, name, seed, COMPARED[way, name][0] // share, folder)
        return self.fuzz(case, seed, TARGETS[name][WAYS.index(way)] // share, folder)

    def compare(self, partner, kind, seed, count, folder):
        inputs = COMPARED[partner, kind][1]
        log = call([sys.executable, "-W", "error", pathlib.Path(__file__).with_name("differential.py"),
                    self.partners[partner], kind, str(seed), str(count), BUILT, folder,
                    *(root / name for name in inputs for root in (self.folder, CORPUS))], folder)
        return {f"{partner}: {kind}": {"executions": count, f"with {partner}": count,
                                       **({"both open": int(log)} if kind == "images" else {})}}

    def fuzz(self, case, seed, count, folder):
        target, way = self.plan(case)
        most = TARGETS[target][2]
        found, made = folder / "found", folder / "made"
        found.mkdir()
        made.mkdir()
        log = call([BUILT / "fuzz" / f"fuzz-{target}-{way}", f"-seed={seed}",
                    f"-runs={count}", f"-max_len={most}", "-timeout=120", "-rss_limit_mb=4096",
                    "-print_final_stats=1", f"-artifact_prefix={found}/", made, self.folder / target,
                    CORPUS / target], found)
        for file in made.iterdir():
            if len(os.listdir(CORPUS / target)) < MOST_UNITS:
                part = CORPUS / f"{target}-{case}.part"
                shutil.copy(file, part)
                part.rename(CORPUS / target / file.name)
        done = int(re.search(r"^stat::number_of_executed_units: *(\d+)", log, re.M)[1])
        edges = int(re.findall(r"^#\d+\s+DONE\s+cov: (\d+)", log, re.M)[-1])
        return {target: {"executions": done, "under ASan+UBSan": done if way == "sanitized" else 0, "edges": edges}}


def call(words, left):
    """Its output. If it fails, the files it left in the folder are kept."""
    ended = subprocess.run(words, env={**os.environ, **KEEP_MEMORY}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           check=False)
    log = ended.stdout.decode(errors="replace")
    if ended.returncode != 0:
        last = log.strip().rpartition("\n")[2] or "it printed nothing"
        raise Found(f"ended with {ended.returncode}: {last[:200]}\n"
                    f"{' '.join(map(str, words))}\n\n{log[-20_000:]}",
                    {file.name: file.read_bytes() for file in left.iterdir() if file.is_file()})
    return log


def files_of(root, pattern):
    """The matching files, or the files in a matching folder."""
    for path in sorted(root.glob(pattern)):
        yield from (file for file in ([path] if path.is_file() else sorted(path.iterdir())) if file.is_file())


if __name__ == "__main__":
    sys.exit(main(Fuzz))
