#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tasks that make one filter send and hold: slices (examples/mpi), beside filters that are ORed.

All ranks run on this machine, however many processors it has. In Markdown. The exit status is 1 if a figure misses
its target, and 2 if the work could not be done, or the file is not the one that bfcreate makes.
"""

import argparse
import filecmp
import os
import pathlib
import re
import subprocess

import report

PROGRAMS = pathlib.Path(__file__).resolve().parent
BFCREATE = PROGRAMS.parent / "tools" / "bfcreate"
BFCREATE_MPI = PROGRAMS / "bench-mpi"
MOST_SENT = 8.5  # bytes a key
MOST_BESIDE = 64e6  # bytes of memory beside the filter's share
TOLD = re.compile(r"(\d+) lines, (\d+) bytes sent \(\S+ a line\) in (\d+) rounds, (\d+) KiB of memory at most "
                  r"\((\d+) before it began\), (\S+) s")


def environment(work):
    """Open MPI: as root, too; no other host; nothing said of a machine without /sys."""
    return {**os.environ, "TMPDIR": str(work), "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm": "isolated", "HWLOC_HIDE_ERRORS": "2"}


def run(work, tasks, keys):
    """Lines, bytes sent, rounds, greatest peak of a task, that before it began, and seconds."""
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", tasks, BFCREATE_MPI, "-v", "-f", "-n", keys,
             work / "made", work / "lines"]
    done = subprocess.run(list(map(str, words)), env=environment(work), stderr=subprocess.PIPE, text=True)
    found = TOLD.search(done.stderr)
    if done.returncode != 0 or found is None:
        report.trouble(f"bench-mpi of {tasks} ranks failed: {done.stderr}")
    if not filecmp.cmp(work / "made", work / "serial", shallow=False):
        report.trouble(f"{tasks} ranks make another file than bfcreate")
    *counts, seconds = found.groups()
    lines, sent, rounds, peak, before = map(int, counts)
    if lines != keys:
        report.trouble(f"{lines} lines were read, and not {keys}")
    return sent, rounds, peak * 1024, before * 1024, float(seconds)


def rows(work, keys, tasks):
    body = (work / "serial").stat().st_size
    for count in tasks:
        sent, rounds, peak, before, seconds = run(work, count, keys)
        share = body / count
        kept = sent <= MOST_SENT * keys and peak <= share + MOST_BESIDE
        yield [count, f"{sent / keys:.2f}", f"{body * (count - 1) / keys:.2f}", rounds, f"{share / 1e6:.1f}",
               f"{peak / 1e6:.1f}", f"{before / 1e6:.1f}", f"{(share + MOST_BESIDE) / 1e6:.1f}",
               f"{(before + 2 * body) / 1e6:.1f}", f"{seconds:.2f}", report.verdict(kept)]


def numbers(text):
    return [report.whole(number) for number in text.split(",")]


def main(scratch):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", "--keys", type=report.whole, default=10**7)
    parser.add_argument("--tasks", type=numbers, default=[4, 8, 16, 32, 64], help="4,8,16,32,64")
    parser.add_argument("folder", nargs="?")
    options = parser.parse_args()
    if not BFCREATE_MPI.exists():
        report.trouble("there is no bench-mpi: it was built without MPI (libopenmpi-dev)")
    work = scratch(options.folder, options.keys * 90 + 2**26)
    with open(work / "lines", "wb") as out:
        subprocess.run([PROGRAMS / "bench-genkeys", str(options.keys)], stdout=out, check=True)
    subprocess.run([BFCREATE, "-q", "-n", str(options.keys), work / "serial", work / "lines"], check=True)
    size = (work / "serial").stat().st_size
    print(f"{options.keys} keys, {(work / 'lines').stat().st_size / 1e6:.0f} MB of lines, at 1 %: {size / 1e6:.1f} MB. "
          "Memory of the largest task, in MB; each file is the one that bfcreate makes\n")
    report.print_table([">tasks", ">bytes sent a key", ">if ORed", ">rounds", ">filter / tasks", ">peak memory",
                        ">of it MPI", ">at most", ">if ORed", ">seconds", "verdict"],
                       list(rows(work, options.keys, options.tasks)))


if __name__ == "__main__":
    report.main(main)
