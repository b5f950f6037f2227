#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tools on lines like URLs, about 60 bytes each, beside other programs that read, count or sort them.

All commands of a table take turns, and their medians are printed, in Markdown. The exit status is 1 if a figure
misses its target, and 2 if the work could not be done, or an answer is wrong.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import report
from report import print_table, trouble, verdict

PROGRAMS = pathlib.Path(__file__).resolve().parent  # bench-genkeys and bench-run are there too
TOOLS = PROGRAMS.parent / "tools"
SECONDS, PROCESSOR, PEAK = range(3)  # of what bench-run writes


class Bench:
    """A folder for files, and what commands took in it."""

    def __init__(self, work):
        self.work, self.runs = work, {}
        self.lines = self.bytes = 0

    def generate(self, path, count, first=1, step=1):
        with open(path, "wb") as out:
            subprocess.run([PROGRAMS / "bench-genkeys", str(count), str(first), str(step)],
                           stdout=out, check=True)

    def read(self, path):
        """The lines of the tables that follow; now they are in the page cache."""
        with open(path, "rb") as file:
            blocks = list(map(lambda block: (len(block), block.count(b"\n")),
                              iter(lambda: file.read(1 << 20), b"")))
        self.bytes, self.lines = map(sum, zip(*blocks))

    def run(self, name, *command, output=None, source=None, statuses=(0,)):
        """Runs a command; source: a file for its input; output: a path, or /dev/null."""
        figures = self.work / "figures"
        with open(output or os.devnull, "wb") as out:
            done = subprocess.run([PROGRAMS / "bench-run", figures, *map(str, command)],
                                  stdin=source, stdout=out)
        if done.returncode not in statuses:
            raise subprocess.CalledProcessError(done.returncode, command)
        self.runs.setdefault(name, []).append([float(x) for x in figures.read_text().split()])
        figures.unlink()
        return done.returncode

    def run_on(self, path, name, *command, **how):
        """The same with the lines of a file as input, or if there is none, of the generator by a pipe."""
        if path:
            with open(path, "rb") as source:
                return self.run(name, *command, source=source, **how)
        with subprocess.Popen([PROGRAMS / "bench-genkeys", str(self.lines)],
                              stdout=subprocess.PIPE) as generator:
            return self.run(name, *command, source=generator.stdout, **how)

    def median(self, name, figure):
        return statistics.median(run[figure] for run in self.runs[name])

    def ratio(self, name, to):
        """How many times as long as another command, turn by turn."""
        return statistics.median(a[SECONDS] / b[SECONDS] for a, b in zip(self.runs[name], self.runs[to]))

    def peak(self, name):
        return self.median(name, PEAK) / 1024

    def row(self, label, name, *ratios, kept=None):
        """Cells of a command; `ratios` stand in the middle."""
        seconds = self.median(name, SECONDS)
        return [label, f"{seconds:.3f}", f"{self.lines / seconds / 1e6:.2f}",
                f"{self.bytes / seconds / 1e9:.2f}", *[f"{ratio:.2f}" for ratio in ratios],
                f"{self.median(name, PROCESSOR):.3f}", f"{self.peak(name):.1f}",
                "" if kept is None else verdict(kept)]

    def head(self, *ratios):
        return ["command", ">seconds", ">10^6 keys/s", ">GB/s", *[">" + ratio for ratio in ratios],
                ">processor s", ">peak RSS, MiB", "verdict"]

    def title(self, source, runs):
        print(f"{self.lines} lines from {source}, {self.bytes / 1e6:.1f} MB, "
              f"{self.bytes / self.lines:.1f} bytes each; medians of {runs} runs\n")


# ---- query: bfquery on lines of which every other one is in the filter, and bfcreate on them all, beside wc -l;
# and on far fewer lines beside grep -F -x -f

SLOWER = 2  # times as slow as wc -l, at most, with two threads


def query_table(b, count, runs, commands, rows):
    """The filter is of every other line; of the others not more are found than its rate allows."""
    lines, half = b.work / "lines", b.work / "half.bloom"
    b.generate(lines, count)
    b.read(lines)
    b.generate(b.work / "patterns", count // 2, 2, 2)
    subprocess.run([TOOLS / "bfcreate", "-q", "-f", half, b.work / "patterns"], check=True)
    found = int(subprocess.run([TOOLS / "bfquery", "-c", half, lines], capture_output=True,
                               check=True).stdout)
    if not count // 2 <= found <= count // 2 + count // 150:
        trouble(f"bfquery found {found} of {count // 2} lines")
    b.runs.clear()
    for _ in range(runs):
        for name, *command in commands:
            b.run(name, *command, lines)
    b.title("the page cache", runs)
    print_table(b.head("times as long as wc"),
                [b.row(label, name, b.ratio(name, "wc"),
                       kept=b.ratio(name, "wc") <= SLOWER if judged else None)
                 for label, name, judged in rows])


def query(o):
    b = Bench(o.scratch(o.folder, o.lines * 98 + o.few * 126 + 64000000))
    half, ask = b.work / "half.bloom", TOOLS / "bfquery"
    query_table(b, o.lines, o.runs,
                [("wc", "wc", "-l"), ("one", ask, "-j", 1, half), ("two", ask, "-j", 2, half),
                 ("count", ask, "-j", 2, "-c", half), ("all", ask, half),
                 ("create", TOOLS / "bfcreate", "-q", "-f", "-j", 2, b.work / "all.bloom")],
                [("wc -l", "wc", False), ("bfquery -j 1", "one", False), ("bfquery -j 2", "two", True),
                 ("bfquery -j 2 -c", "count", False), ("bfquery", "all", False),
                 ("bfcreate -j 2", "create", True)])
    query_table(b, o.few, o.runs,
                [("wc", "wc", "-l"), ("all", ask, half),
                 ("grep", "grep", "-F", "-x", "-f", b.work / "patterns")],
                [("wc -l", "wc", False), ("bfquery", "all", False), ("grep -F -x -f", "grep", False)])


# ---- create: bfcreate, which nobody tells the number of lines, from a file and from a pipe, beside wc -l and
# Debian's `bloom create` and `bloom insert`, which are told it

MEMORY = 256  # MiB, of the rows with --memory
ALLOWED = 8  # MiB more than that: the program itself
TIMES = 10  # as fast as bloom, at least


def equal(what, got, wanted):
    if got != wanted:
        trouble(f"{what}: {got}, not {wanted}")


def json_number(b, path, name):
    """Of the header or else the first record; the exit status tells of the filter."""
    text = subprocess.run([TOOLS / "bfinspect", "--json", path], stdout=subprocess.PIPE, check=False).stdout
    told = json.loads(text)
    return (told["records"][0] | told["header"])[name]


def create_table(b, source, runs):
    filters = {name: b.work / f"{name}.bloom" for name in ("all", "one", "memory", "bloom")}
    b.runs.clear()
    for _ in range(runs):
        b.run_on(source, "wc", "wc", "-l", output=b.work / "counted")
        for name, *options in ("all",), ("one", "-j", 1), ("memory", "--memory", f"{MEMORY}Mi"):
            b.run_on(source, name, TOOLS / "bfcreate", "-q", "-f", *options, filters[name])
        filters["bloom"].unlink(missing_ok=True)
        b.run_on(source, "bloom", "sh", "-c", 'bloom create -p 0.01 -n "$1" "$2" && bloom insert "$2"', "sh",
                 b.lines, filters["bloom"])
    equal("lines counted", int((b.work / "counted").read_text()), b.lines)
    equal("different keys in the filter", json_number(b, filters["all"], "n"), b.lines)
    for name in "one", "memory":
        if subprocess.run(["cmp", filters["all"], filters[name]]).returncode != 0:
            trouble(f"the filter of {name} is another one")
    b.title("the page cache" if source else "a pipe", runs)
    kept = {"all": b.ratio("bloom", "all") >= TIMES, "memory": b.peak("memory") <= MEMORY + ALLOWED}
    print_table(b.head("of wc -l", "times as fast as bloom"),
                [b.row(label, name, b.ratio("wc", name), b.ratio("bloom", name), kept=kept.get(name))
                 for label, name in (("wc -l", "wc"), ("bfcreate", "all"), ("bfcreate -j 1", "one"),
                                     (f"bfcreate --memory {MEMORY}Mi", "memory"),
                                     ("bloom create, insert", "bloom"))])


def create(o):
    if shutil.which("bloom") is None:
        trouble("there is no bloom to compare with: apt-get install golang-github-dcso-bloom-cli")
    b = Bench(o.scratch(o.folder, o.filed * 64 + max(o.piped, o.filed) * 16 + 64000000))
    lines = b.work / "lines"
    b.generate(lines, o.filed)
    b.read(lines)
    create_table(b, lines, o.runs)
    lines.unlink()
    b.bytes, b.lines = b.bytes * o.piped // b.lines, o.piped
    create_table(b, None, o.runs)


# ---- ribbon: bfcreate -l ribbon beside blocked, from a file, in little memory, with one thread and two

LONGER = 1.2  # times as long as blocked, at most
SHARED = 1.7  # times as fast with two threads, at least


def ribbon(o):
    b = Bench(o.scratch(o.folder, o.lines * 80 + 64000000))
    lines = b.work / "lines"
    b.generate(lines, o.lines)
    b.read(lines)
    rows = [(layout, threads) for threads in (1, 2) for layout in ("blocked", "ribbon")]
    for _ in range(o.runs):
        for layout, threads in rows:
            b.run(f"{layout}{threads}", TOOLS / "bfcreate", "-q", "-f", "-l", layout, "-j", threads, "--memory",
                  f"{MEMORY}Mi", b.work / f"{layout}.bloom", lines)
    for layout in "blocked", "ribbon":
        found = int(subprocess.run([TOOLS / "bfquery", "-c", b.work / f"{layout}.bloom", lines], capture_output=True,
                                   check=True).stdout)
        equal(f"lines found, {layout}", found, b.lines)
    b.title("the page cache", o.runs)
    faster = b.ratio("ribbon1", "ribbon2")
    print_table(b.head("of blocked"),
                [b.row(f"bfcreate -l {layout} -j {threads}", f"{layout}{threads}",
                       b.ratio(f"{layout}{threads}", f"blocked{threads}"),
                       kept=None if layout == "blocked" else
                       b.ratio(f"ribbon{threads}", f"blocked{threads}") <= LONGER)
                 for layout, threads in rows])
    print_table(["", ">measured", "target", "verdict"],
                [["ribbon: two threads, times as fast as one", f"{faster:.2f}", f">= {SHARED}",
                  verdict(faster >= SHARED)]])


# ---- uniq: bfuniq beside `sort -u` and awk, which are exact; how many lines it drops by mistake

RATE = 0.001


def block_rate(bits, k):
    """fill^k of a block of 512 bits in which so many were set at random, by the variance of the fill to the second
    order."""
    empty, both = (1 - 1 / 512) ** bits, (1 - 2 / 512) ** bits
    fill = 1 - empty
    variance = (empty + 511 * both) / 512 - empty * empty
    return fill ** k * (1 + k * (k - 1) / 2 * variance / (fill * fill)) if bits else 0


def expected_drops(n, m, k, steps=1000):
    """The sum of the rates at 0 to n - 1 keys. A rate is the mean over blocks with a Poisson number of keys."""
    total = 0
    for i in range(steps):
        mean = (i + 0.5) * n / steps / (m / 512)
        weight = math.exp(-mean)
        for j in range(int(4 * mean + 40)):
            total += weight * block_rate(k * j, k) * n / steps
            weight *= mean / (j + 1)
    return total


def dropped(b, name):
    """How many of the different lines are not in the output, which has no others, and each but once."""
    lines = subprocess.run(["sh", "-c", 'sort -T "$3" "$1" | comm -3 "$2" -', "sh", b.work / f"{name}.out",
                            b.work / "sort.out", b.work], capture_output=True, check=True).stdout.splitlines()
    if any(line.startswith(b"\t") for line in lines):
        trouble(f"{name} printed lines that it should not")
    return len(lines)


def uniq(o):
    b = Bench(o.scratch(o.folder, o.quarter * 1200))
    lines, parts = b.work / "lines", [b.work / f"part{i}" for i in range(4)]
    different = 3 * o.quarter
    # Each fourth line repeats one of the first of every four, before or after it.
    for i in range(3):
        b.generate(parts[i], o.quarter, i * o.quarter + 1)
    subprocess.run(["shuf", f"--random-source={parts[1]}", "-o", parts[3], parts[0]], check=True)
    with open(lines, "wb") as out:
        subprocess.run(["paste", "-d", "\n", *parts], stdout=out, check=True)
    for part in parts:
        part.unlink()
    b.read(lines)
    with tempfile.TemporaryDirectory(prefix="bench.", dir="/dev/shm") as memory:
        seen = pathlib.Path(memory) / "seen"
        commands = [("bfuniq", "memory", ["-l", "blocked"]),
                    ("bfuniq --filter, on disk", "disk", ["--filter", b.work / "seen"]),
                    ("bfuniq --filter in /dev/shm", "shm", ["--filter", seen])]
        commands = [(label, name, [TOOLS / "bfuniq", "-q", "--fixed", "-n", different, "-p", RATE, *options])
                    for label, name, options in commands]
        commands.append(("sort -u", "sort", ["sort", "-u", "-T", b.work]))
        commands += [(f"{awk} '!s[$0]++'", awk, [awk, "!s[$0]++"]) for awk in ("mawk", "gawk")
                     if shutil.which(awk)]
        for _ in range(o.runs):
            seen.unlink(missing_ok=True)
            (b.work / "seen").unlink(missing_ok=True)
            for _, name, command in commands:
                b.run(name, *command, lines, output=b.work / f"{name}.out")
        expected = expected_drops(different, json_number(b, seen, "m"), json_number(b, seen, "k"))
    print(f"{b.lines} lines, {b.bytes / 1e6:.1f} MB, {b.bytes / b.lines:.1f} bytes per line; "
          f"medians of {o.runs} runs\n")
    rows = []
    for label, name, _ in commands:
        gone, ours = dropped(b, name), label.startswith("bfuniq")
        rows.append([label, f"{b.median(name, SECONDS):.2f}", f"{b.lines / b.median(name, SECONDS) / 1e6:.2f}",
                     f"{b.median(name, PROCESSOR):.2f}", f"{b.peak(name) * 1.048576:.1f}", different - gone,
                     gone, f"{expected:.0f}" if ours else 0, f"<= {different * RATE:.0f}" if ours else 0])
    print_table(["command", ">seconds", ">M lines/s", ">processor s", ">peak RSS, MB", ">printed", ">dropped",
                 ">expected", ">promised"], rows)


# ---- common: the lines that two files have in common, by bfcommon in bounded memory and by sorting both. Each file
# has exactly one line in a hundred of the other, spread all over it.


def common(o):
    b = Bench(o.scratch(o.folder, o.lines * 320 + 16000000))
    a, c = b.work / "a", b.work / "b"
    # Lines 99, 198 ... and 100, 200 ...: those they share are the multiples of 9900.
    b.generate(a, o.lines, 99, 99)
    b.generate(c, o.lines, 100, 100)
    shared = o.lines // 100
    # As comm -12 <(sort a) <(sort b), in one pipeline that ends all at once; both sort at the same time.
    sorting = ('sort -S "$2M" -T "$1" "$1/a" | '
               '{ sort -S "$2M" -T "$1" "$1/b" | comm -12 /dev/fd/3 -; } 3<&0')
    for name, *command in (("bfcommon", TOOLS / "bfcommon", "-q", "--memory", f"{o.memory}Mi", "--temp",
                            b.work, a, c),
                           ("comm", "sh", "-c", sorting, "sh", b.work, o.memory)):
        b.read(c)
        b.read(a)
        b.run(name, *command, output=b.work / f"{name}.out")
    if subprocess.run(["cmp", b.work / "bfcommon.out", b.work / "comm.out"]).returncode != 0:
        verdict(False)
    print(f"two files of {b.lines} lines, {b.bytes / 1e6:.1f} MB each, {shared} lines in common\n")
    rows = []
    for label, name in ((f"bfcommon --memory {o.memory}Mi", "bfcommon"),
                        (f"sort -S {o.memory}M twice, comm", "comm")):
        with open(b.work / f"{name}.out", "rb") as out:
            found = sum(1 for _ in out)
        right = found == shared
        judged = name == "bfcommon"
        rows.append([label, found, f"{b.median(name, SECONDS):.2f}", f"{b.ratio('comm', name):.2f}",
                     f"{b.median(name, PROCESSOR):.2f}", f"{b.peak(name):.1f}",
                     verdict(right and b.peak(name) <= o.memory + ALLOWED) if judged or not right else ""])
    print_table(["command", ">found", ">seconds", ">times as fast as sorting", ">processor s",
                 ">peak RSS, MiB", "verdict"], rows)


# ----


CASES = {  # the function, and its numbers: letter, name, usual value, what it is
    "query": (query, [("n", "lines", 10**8, "lines"), ("g", "few", 200000, "lines for grep"),
                      ("r", "runs", 3, "runs")]),
    "create": (create, [("p", "piped", 10**8, "lines from a pipe"), ("f", "filed", 10**7, "lines from a file"),
                        ("r", "runs", 3, "runs")]),
    "ribbon": (ribbon, [("n", "lines", 10**8, "lines"), ("r", "runs", 3, "runs")]),
    "uniq": (uniq, [("n", "quarter", 5 * 10**6, "a quarter of the lines"), ("r", "runs", 3, "runs")]),
    "common": (common, [("n", "lines", 5 * 10**7, "lines of each file"), ("m", "memory", 512, "MiB of memory")]),
}


def run(scratch):
    parser = argparse.ArgumentParser(prog="bench-commands", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    cases = parser.add_subparsers(dest="case", required=True)
    for name, (_, numbers) in CASES.items():
        case = cases.add_parser(name)
        for letter, word, usual, what in numbers:
            case.add_argument("-" + letter, dest=word, type=report.whole, default=usual, help=f"{what} ({usual})")
        case.add_argument("folder", nargs="?", help="for files ($TMPDIR, or /var/tmp)")
    o = parser.parse_args()
    o.scratch = scratch
    os.environ["LC_ALL"] = "C"
    CASES[o.case][0](o)


if __name__ == "__main__":
    report.main(run)
