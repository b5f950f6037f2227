#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tools on lines like URLs, about 60 bytes each, compared with other programs that read or sort them; and patches.

All commands of a table take turns. Their medians are printed in Markdown. The exit status is 1 if a figure misses its
target, and 2 after an error or a wrong result.
"""

import argparse
import filecmp
import hashlib
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess

import report
from report import print_table, trouble, verdict

PROGRAMS = pathlib.Path(__file__).resolve().parent  # with bench-genkeys and bench-run
TOOLS = PROGRAMS.parent / "tools"
SECONDS, PROCESSOR, PEAK = range(3)  # columns of bench-run's output


class Bench:
    """A folder for files, and the times and memory of the commands run in it."""

    def __init__(self, work):
        self.work, self.runs = work, {}
        self.lines = self.bytes = 0

    def generate(self, path, count, first=1, step=1):
        with open(path, "wb") as out:
            subprocess.run([PROGRAMS / "bench-genkeys", str(count), str(first), str(step)],
                           stdout=out, check=True)

    def read(self, path):
        """Reads the lines of the next tables, so that they are in the page cache."""
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
        """run() with the lines of a file as input, or without a file, the lines of the generator through a pipe."""
        if path:
            with open(path, "rb") as source:
                return self.run(name, *command, source=source, **how)
        with subprocess.Popen([PROGRAMS / "bench-genkeys", str(self.lines)],
                              stdout=subprocess.PIPE) as generator:
            return self.run(name, *command, source=generator.stdout, **how)

    def median(self, name, figure):
        return statistics.median(run[figure] for run in self.runs[name])

    def ratio(self, name, to):
        """The time relative to another command, turn by turn."""
        return statistics.median(a[SECONDS] / b[SECONDS] for a, b in zip(self.runs[name], self.runs[to]))

    def peak(self, name):
        return self.median(name, PEAK) / 1024

    def row(self, label, name, *ratios, kept=None):
        """Returns the cells of a command, with `ratios` in the middle."""
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


# ---- query: bfquery on lines of which every other line is in the filter, and bfcreate on all lines, compared with wc -l;
# and on far fewer lines compared with grep -F -x -f

SLOWER = 2  # target: the most time relative to wc -l, with two threads


def query_table(b, count, runs, commands, rows):
    """The filter has every other line. Of the remaining lines, at most as many are found as its rate allows."""
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


# ---- create: bfcreate, without the number of lines, from a file and from a pipe, compared with wc -l and with
# Debian's `bloom create` and `bloom insert`, which need the number of lines

MEMORY = 256  # MiB: --memory of these rows
ALLOWED = 8  # MiB above --memory, for the program itself
TIMES = 10  # target: the least speed relative to bloom


def equal(what, got, wanted):
    if got != wanted:
        trouble(f"{what}: {got}, not {wanted}")


def json_number(b, path, name):
    """Returns a number of the header, or else of the first record. The exit status depends on the filter."""
    text = subprocess.run([TOOLS / "bfinspect", "--report", "-", path], stdout=subprocess.PIPE, check=False).stdout
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


# ---- ribbon: bfcreate -l ribbon compared with blocked, from a file, in little memory, with one thread and two

LONGER = 1.2  # target: the most time relative to blocked
SHARED = 1.7  # target: the least speed of two threads relative to one


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


# ---- common: the common lines of two files, by bfcommon in bounded memory and by sorting both files. Each file has
# exactly one line in a hundred of the other file, spread evenly.


def common(o):
    b = Bench(o.scratch(o.folder, o.lines * 320 + 16000000))
    a, c = b.work / "a", b.work / "b"
    # Lines 99, 198 ... and 100, 200 ...: the common lines are the multiples of 9900.
    b.generate(a, o.lines, 99, 99)
    b.generate(c, o.lines, 100, 100)
    shared = o.lines // 100
    # comm -12 <(sort a) <(sort b), as one pipeline, so that all of its processes end together. Both sorts run concurrently.
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


# ---- keys: forms of keys and of output, compared with other commands for the same work

TIMES_JQ = 20  # the target: jq's processor time divided by ours
WORDS = 'naïve 東京 😀 say \\"yes\\" line\\nbreak the of a in for filter every plain word'.split(" ")
PARENTS = """NR == FNR { listed[tolower($0)]; next }
{ name = tolower($0); do if (name in listed) { n++; next } while (sub(/^[^.]*[.]/, "", name)) } END { print n + 0 }"""
MARKS = 'NR == FNR { listed[$0]; next } { print ($0 in listed) + 0 "\\t" $0 }'


def make_keys(b, documents, lines):
    """Writes documents of 2 KB, a tenth with equal text; lines; their SHA-1 in both cases; names, half in listed domains."""
    chance = random.Random(38)
    with open(b.work / "json", "w", encoding="utf-8") as out:
        for i in range(documents):
            text = " ".join(chance.choices(WORDS, k=300)) if i % 10 else "again"
            print(f'{{"id":{i},"meta":{{"lang":"en","score":[1.5,{i}e-3,null]}},"text":"{text}","url":"http://x/{i}"}}', file=out)
    b.generate(b.work / "lines", lines)
    b.generate(b.work / "list", lines // 2, 2, 2)
    with open(b.work / "lines", "rb") as keys, open(b.work / "hex", "w") as out, \
            open(b.work / "names", "w") as names, open(b.work / "domains", "w") as domains:
        for i, line in enumerate(keys):
            digest = hashlib.sha1(line).hexdigest()
            print(digest.upper() if i % 2 else digest, file=out)
            print(f"mail.{digest[:2]}.{digest[2:12]}.Example.com", file=names)
            if i % 2:
                print(f"{digest[2:12]}.example.com", file=domains)


def keys(o):
    b = Bench(o.scratch(o.folder, o.documents * 2500 + o.lines * 400 + 64000000))
    make_keys(b, o.documents, o.lines)
    for name, *words in ("all", "lines"), ("half", "list"), ("sha1", "--hex", "--key-size", "20", "hex"), \
            ("listed", "--domains", "-p", "1e-6", "domains"):
        subprocess.run([TOOLS / "bfcreate", "-q", "-f", *words[:-1], b.work / f"{name}.bloom", b.work / words[-1]], check=True)

    def shell(text):
        return "sh", "-c", f"cd '{b.work}'; PATH='{TOOLS}':$PATH; {text}"

    # Each job: its input, the target for the ratio of the second command's processor time to ours, our command, other commands.
    jobs = [
        ("json", TIMES_JQ, "bfuniq --json text json", "jq -r .text json", "jq -r '[.text, tojson] | @tsv' json",
         "bfuniq json"),
        ("hex", None, "bfcreate -qf --hex --key-size 20 made hex", "xxd -r -p hex | bfcreate -qf -x 20 made -",
         "bfcreate -qf made hex"),
        ("lines", None, "bfcreate -qfi made lines", "tr A-Z a-z <lines | bfcreate -qf made -", "bfcreate -qf made lines"),
        ("names", None, "bfquery --domains -c listed.bloom names", f"awk '{PARENTS}' domains names"),
        ("lines", None, "bfquery --mark half.bloom lines", f"awk '{MARKS}' list lines"),
        ("lines", None, "bfquery --confirm list half.bloom lines", "grep -Fxf list lines"),
    ]
    said = [subprocess.run(shell(command), capture_output=True, check=True).stdout for command in
            ("bfquery --confirm list half.bloom lines", "cat list", "bfquery --domains -c listed.bloom names", "wc -l <domains",
             "bfuniq --json text json | wc -l", "jq .text json | sort -u | wc -l")]
    for ours, others, more in (said[0], said[1], 0), (*map(int, said[2:4]), o.lines // 1000), (*map(int, said[4:]), 0):
        if ours != others and not (more and others <= ours <= others + more):
            trouble(f"wrong answer: {str(ours)[:60]}, expected {str(others)[:60]}")
    rows = []
    for path, times, *commands in jobs:
        b.read(b.work / path)
        b.runs.clear()
        for _ in range(o.runs):
            for command in commands:
                b.run(command, *shell(command))
        ours = b.median(commands[0], PROCESSOR)
        for command in commands:
            ratio = b.median(command, PROCESSOR) / ours
            judged = times is not None and command == commands[1]
            rows.append([f"`{command.replace(PARENTS, '...').replace(MARKS, '...').replace('|', chr(92) + '|')}`",
                         f"{b.median(command, SECONDS):.3f}", f"{b.median(command, PROCESSOR):.3f}", f"{ratio:.1f}",
                         f"{b.peak(command):.0f}", verdict(ratio >= times) if judged else ""])
    print(f"{o.documents} documents of 2 KB; {o.lines} lines, hashes and names; medians of {o.runs} runs\n")
    print_table(["command", ">seconds", ">processor s", ">ratio to bloomfile", ">peak RSS, MiB", "verdict"], rows)


# ---- deltas: bfdelta between two builds of a filter: size, time and memory. Sizes are compared with what changed bits
# must take: `entropy` is the logarithm of the number of ways to choose so many of all bits; `by block` the same of those
# blocks, of so many changes in each, and of which cells these are, where only cells that are 0 can be set, and 1 cleared

MORE = 1.05, 64  # target: the entropy times this, plus these bytes
GB_A_SECOND = 1.0
CHANGES = (("0.01 % more", 0, 1e-4), ("1 % more", 0, 1e-2), ("10 % more", 0, 1e-1),
           ("1 % others", 1e-2, 1e-2))


def log_choose(n, k):
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def changes_of(path, other):
    """Returns the number of bits, of changed bits, and the bytes that the changes need: over all bits, and by block."""
    old, new = (path.read_bytes()[4096:] for path in (path, other))
    size = int.from_bytes(path.read_bytes()[80:88], "little")
    changed, by_block = 0, 0.0
    for flip in 0, -1:  # set, then cleared
        counts, places = {}, 0.0
        for at in range(0, size, 64):
            a, b = old[at:at + 64], new[at:at + 64]
            if a == b:
                continue
            a, b = (int.from_bytes(block, "little") ^ flip for block in (a, b))
            n = (b & ~a & 2**512 - 1).bit_count()
            if n:
                counts[n] = counts.get(n, 0) + 1
                places += log_choose(512 - (a & 2**512 - 1).bit_count(), n)
        blocks = sum(counts.values())
        changed += sum(n * count for n, count in counts.items())
        by_block += places + (log_choose(size // 64, blocks) if blocks else 0)
        by_block -= sum(count * math.log2(count / blocks) for count in counts.values())
    return changed, log_choose(8 * size, changed) / 8, by_block / 8


def deltas(o):
    b, n, bits = Bench(o.scratch(o.folder, 80 * o.keys)), o.keys, -(-o.keys * 10 // 2**19) * 2**19
    old, new, patch, made = (b.work / name for name in ("old", "new", "patch", "made"))

    def build(path, first, last):
        with subprocess.Popen(["seq", str(first), str(last)], stdout=subprocess.PIPE) as keys:
            subprocess.run([TOOLS / "bfcreate", "-q", "-f", "--overfull", "-m", str(bits), "-k", "6", path],
                           stdin=keys.stdout, check=True)

    def times(name):
        return f"{b.median(name, SECONDS):.3f}", f"{old.stat().st_size / b.median(name, SECONDS) / 1e9:.2f}"

    build(old, 1, n)
    rows = []
    for label, gone, more in CHANGES:
        build(new, 1 + int(n * gone), n + int(n * more))
        changed, entropy, by_block = changes_of(old, new)
        for threads in 1, 2:
            tool = TOOLS / "bfdelta", "-qf", "-j", threads
            b.runs.clear()
            for _ in range(o.runs):
                b.run("make", *tool, old, new, patch)
                b.run("apply", *tool, "--apply", "--discard", old, patch, made)
            if not filecmp.cmp(new, made, False):
                trouble("what was applied is not what was made")
            size = patch.stat().st_size
            slower = max(b.median("make", SECONDS), b.median("apply", SECONDS))
            kept = size <= MORE[0] * by_block + MORE[1] and (
                threads == 1 or old.stat().st_size / slower >= GB_A_SECOND * 1e9)
            rows.append([label, f"bfdelta -j {threads}", changed, round(entropy), round(by_block), size,
                         f"{(size / by_block - 1) * 100:.1f} %", *times("make"), *times("apply"),
                         f"{max(b.peak('make'), b.peak('apply')):.0f}", verdict(kept)])
    print(f"{n} keys, {bits / 8e6:.1f} MB, k = 6, blocked; medians of {o.runs} runs\n")
    print_table(["change", "program", ">changed bits", ">entropy, bytes", ">by block", ">patch, bytes",
                 ">more than that", ">make, s", ">GB/s", ">apply, s", ">GB/s", ">peak RSS, MiB", "verdict"], rows)


# ----


CASES = {  # the function, and its numbers: letter, name, default, meaning
    "query": (query, [("n", "lines", 10**8, "lines"), ("g", "few", 200000, "lines for grep"),
                      ("r", "runs", 3, "runs")]),
    "create": (create, [("p", "piped", 10**8, "lines from a pipe"), ("f", "filed", 10**7, "lines from a file"),
                        ("r", "runs", 3, "runs")]),
    "ribbon": (ribbon, [("n", "lines", 10**8, "lines"), ("r", "runs", 3, "runs")]),
    "keys": (keys, [("d", "documents", 50000, "documents of 2 KB"), ("n", "lines", 10**6, "lines"), ("r", "runs", 5, "runs")]),
    "deltas": (deltas, [("n", "keys", 10**7, "keys in the old filter"), ("r", "runs", 7, "runs")]),
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
