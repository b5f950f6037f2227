#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Patches between two builds of a filter: size, time and memory, beside xdelta3 and zstd --patch-from.

Sizes are compared with what changed bits must take: `entropy` is the logarithm of the number of ways to choose so
many of all bits; `by block` the same of those blocks, of so many changes in each, and of which cells these are, where
only cells that are 0 can be set, and 1 cleared. The exit status is 1 if a figure misses its target, and 2 for trouble.
"""

import argparse
import filecmp
import math
import pathlib
import shutil
import statistics
import subprocess

import report

PROGRAMS = pathlib.Path(__file__).resolve().parent
TOOLS = PROGRAMS.parent / "tools"
SECONDS, _, PEAK = range(3)  # of what bench-run writes
MORE = 1.05, 64  # times the entropy, and bytes
GB_A_SECOND = 1.0
ZSTD_MOST = 10**7  # keys: more take it too long
CHANGES = (("0.01 % more", 0, 1e-4), ("1 % more", 0, 1e-2), ("10 % more", 0, 1e-1),
           ("1 % others", 1e-2, 1e-2))


def log_choose(n, k):
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def changes_of(path, other):
    """Bits, changed bits, and bytes that they take: of all bits, and by block."""
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


class Bench:
    def __init__(self, options):
        self.o = options
        self.work = options.scratch(options.folder, 40 * options.keys * 2)

    def run(self, turns, *command):
        """Medians of seconds and MiB."""
        figures = self.work / "figures"
        runs = []
        for _ in range(turns):
            subprocess.run([PROGRAMS / "bench-run", figures, *map(str, command)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            runs.append([float(x) for x in figures.read_text().split()])
            figures.unlink()
        return statistics.median(run[SECONDS] for run in runs), max(run[PEAK] for run in runs) / 1024

    def build(self, name, first, last):
        path = self.work / name
        with subprocess.Popen(["seq", str(first), str(last)], stdout=subprocess.PIPE) as keys:
            subprocess.run([TOOLS / "bfcreate", "-q", "-f", "--overfull", "-m", str(self.bits()), "-k", "6", path],
                           stdin=keys.stdout, check=True)
        return path

    def bits(self):
        return -(-self.o.keys * 10 // 2**19) * 2**19

    def ours(self, old, new, threads):
        """Times and memory of making and applying with so many threads."""
        patch, made = self.work / "patch", self.work / "made"
        tool = TOOLS / "bfdelta"
        make = self.run(self.o.runs, tool, "-qf", "-j", threads, old, new, patch)
        apply = self.run(self.o.runs, tool, "-qf", "-j", threads, "--apply", "--discard", old, patch, made)
        if not filecmp.cmp(new, made, False):
            report.trouble("what was applied is not what was made")
        return patch.stat().st_size, make, apply

    def rows(self):
        n = self.o.keys
        old = self.build("old", 1, n)
        for label, gone, more in CHANGES:
            new = self.build("new", 1 + int(n * gone), n + int(n * more))
            changed, entropy, by_block = changes_of(old, new)
            size = old.stat().st_size
            (self.work / "patch").unlink(missing_ok=True)  # another program's
            for threads in (1, 2):
                patch, make, apply = self.ours(old, new, threads)
                kept = patch <= MORE[0] * by_block + MORE[1] and (
                    threads == 1 or size / make[0] >= GB_A_SECOND * 1e9 and size / apply[0] >= GB_A_SECOND * 1e9)
                yield [label, f"bfdelta -j {threads}", changed, round(entropy), round(by_block), patch,
                       f"{(patch / by_block - 1) * 100:.1f} %", *times(size, make), *times(size, apply),
                       f"{max(make[1], apply[1]):.0f}", report.verdict(kept)]
            yield from self.peers(label, old, new)

    def peers(self, label, old, new):
        patch, made, size = self.work / "patch", self.work / "made", old.stat().st_size
        if shutil.which("xdelta3"):
            words = "xdelta3", "-9", "-f", "-B", size + 2**20
            make = self.run(1, *words, "-e", "-s", old, new, patch)
            bytes_ = patch.stat().st_size
            apply = self.run(1, *words, "-d", "-s", old, patch, made)
            yield [label, "xdelta3 -9", "", "", "", bytes_, "", *times(size, make), *times(size, apply),
                   f"{max(make[1], apply[1]):.0f}", ""]
        if shutil.which("zstd") and self.o.keys <= ZSTD_MOST:
            words = "zstd", "-q", "-f", "--long=31"
            make = self.run(1, *words, "-19", f"--patch-from={old}", new, "-o", patch)
            bytes_ = patch.stat().st_size
            apply = self.run(1, *words, "-d", f"--patch-from={old}", patch, "-o", made)
            yield [label, "zstd -19", "", "", "", bytes_, "", *times(size, make), *times(size, apply),
                   f"{max(make[1], apply[1]):.0f}", ""]


def times(size, run):
    return f"{run[0]:.3f}", f"{size / run[0] / 1e9:.2f}"


def main(scratch):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", "--keys", type=report.whole, default=10**7, help="in the old filter")
    parser.add_argument("-r", "--runs", type=report.whole, default=7)
    parser.add_argument("folder", nargs="?")
    options = parser.parse_args()
    options.scratch = scratch
    b = Bench(options)
    print(f"{options.keys} keys, {b.bits() / 8e6:.1f} MB, k = 6, blocked; medians of {options.runs} runs\n")
    report.print_table(["change", "program", ">changed bits", ">entropy, bytes", ">by block", ">patch, bytes",
                        ">more than that", ">make, s", ">GB/s", ">apply, s", ">GB/s", ">peak RSS, MiB", "verdict"],
                       list(b.rows()))


if __name__ == "__main__":
    report.main(main)
