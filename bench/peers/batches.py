#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The time of a lookup against the number of keys a call: batches of 1, 2, 4 ... 4096 absent keys, in filters of 10
bits a key from 100 KB up, in Markdown. Beside bloomfile: a file with a bad page, where each answer must look whether its
page is good; lookups that are inlined; and libraries with batches. The exit status is 1 if a curve of bloomfile has a
cliff: twice as many keys a call take more time each, or less than half of it.
"""

import argparse
import shutil
import statistics

import contenders
import report
from contenders import HASHED, OK

KEYS = [80000, 10**6, 10**7, 10**8]
BITS = 10
SIZES = [2**i for i in range(13)]  # of batches
QUERIES = 1 << 20
OURS, DOUBT, INLINED = "bloomfile blocked", "in doubt", "bloomfile blocked, inlined"
NAMES = [OURS, INLINED, "RocksDB, AVX2", "RocksDB, inlined", "Boost, 512 bits"]
FILE, DAMAGED_AT = "blocked.bloom", 4096 + 12345
HIGHEST, LOWEST = 1.15, 0.5  # the time a key of a batch twice as large; 1: the same

COLOURS = ["#2b7bba", "#1f9e77", "#8a6fc9", "#d9543c"]
STYLE = "circle { stroke: none }\n" + "".join(
    f".c{i} {{ stroke: {colour} }}\ncircle.c{i} {{ fill: {colour} }}\n" for i, colour in enumerate(COLOURS)
) + "polyline.doubt { stroke-dasharray: 5 4 }\n"


class Subject:
    """A filter in a process: of the keys, or one that lies there."""

    def __init__(self, name, player, keys, core, folder):
        self.name, self.index = name, player.index
        self.process = contenders.Process(player.program, player.kernel, core, folder)
        self.must("queries", HASHED, keys, QUERIES)
        self.must("create", self.index, keys, BITS, HASHED)
        if name != DOUBT and self.process.ask_either("add", self.index, keys).answer != OK:
            report.trouble(f"{name} did not take {keys} keys")
        self.must("finish", self.index)

    def must(self, *words):
        reply = self.process.ask(*words)
        if reply.answer != OK:
            report.trouble(f"{self.name} did not answer: {' '.join(map(str, words))}")
        return reply

    def look_up(self, batch):
        """Nanoseconds a key."""
        return self.must("lookup", self.index, batch, "absent").seconds * 1e9 / QUERIES


def damaged_copy(folder):
    """A folder with the file, one of whose pages is bad."""
    other = folder / "damaged"
    other.mkdir(exist_ok=True)
    shutil.copy(folder / FILE, other)
    with open(other / FILE, "r+b") as file:
        file.seek(DAMAGED_AT)
        byte = file.read(1)[0]
        file.seek(DAMAGED_AT)
        file.write(bytes([byte ^ 0xff]))
    return other


def measure(players, keys, turns, core, folder):
    """Medians by subject and size of batch."""
    subjects = []
    for player in players:
        subjects.append(Subject(player.name, player, keys, core, folder))
        if player.name == OURS:
            subjects.append(Subject(DOUBT, player, keys, core, damaged_copy(folder)))
    times = {(s.name, size): [] for s in subjects for size in SIZES}
    for _ in range(turns):
        for s in subjects:
            s.look_up(SIZES[-1])  # what others have put into the cache meanwhile is nobody's fault
            for size in SIZES:
                times[s.name, size].append(s.look_up(size))
    for s in subjects:
        s.process.end()
    return {name: [statistics.median(times[name, size]) for size in SIZES] for name in (s.name for s in subjects)}


def megabytes(keys):
    return f"{keys * BITS / 8e6:g} MB"


def print_curves(keys, curves):
    print(f"### {keys} keys, {megabytes(keys)}: ns a key\n")
    report.print_table([">keys a call", *[">" + name for name in curves]],
                       [[size, *[report.number(curve[i]) for curve in curves.values()]]
                        for i, size in enumerate(SIZES)])


def print_verdicts(found):
    rows = []
    for keys, curves in found.items():
        for name in [name for name in (OURS, DOUBT, INLINED) if name in curves]:
            steps = [b / a for a, b in zip(curves[name], curves[name][1:])]
            for what, step, kept in (("highest", max(steps), max(steps) <= HIGHEST),
                                     ("lowest", min(steps), min(steps) >= LOWEST)):
                at = SIZES[steps.index(step)]
                rows.append([f"{megabytes(keys)}, {name}: {what} step", f"{step:.2f} x, from {at} to {2 * at}",
                             f"<= {HIGHEST}" if what == "highest" else f">= {LOWEST}", report.verdict(kept)])
    print("### Verdicts\n")
    report.print_table(["time a key when twice as many are asked for", ">measured", "target", "verdict"], rows)


def chart_of(found):
    marks, drawn, every = [], [], []
    for i, (keys, curves) in enumerate(found.items()):
        for name, style in (OURS, f"c{i}"), (DOUBT, f"c{i} doubt"):
            drawn.append({"class": style, "points": list(zip(SIZES, curves[name]))})
            every += curves[name]
        marks += [{"x": x, "y": y, "class": f"c{i}", "radius": 2.5} for x, y in zip(SIZES, curves[OURS])]
        marks[-1] |= {"key": True, "name": f"{megabytes(keys)}: {curves[OURS][-1]:.3g} ns"}
    return {
        "title": "Time of a lookup against the size of the batch", "style": STYLE, "dark_style": "",
        "words": [f"sealed filters of {BITS} bits a key, absent keys; dashed: one page is bad, each answer in doubt",
                  report.machine_words()],
        "x": {"label": "keys a call", "doublings": True, "low": SIZES[0], "high": SIZES[-1], "times": 1, "unit": ""},
        "y": {"label": "time a key", "low": min(every) / 1.3, "high": max(every) * 1.3, "times": 1, "unit": " ns"},
        "curves": drawn, "marks": marks,
    }


def run(scratch):
    parser = argparse.ArgumentParser(prog="bench-batches", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=report.whole, action="append", help=f"in a filter; {KEYS}")
    parser.add_argument("--turns", type=report.whole, default=7)
    parser.add_argument("--core", type=int, default=contenders.last_core())
    parser.add_argument("--svg", metavar="FILE", help="draws the curves of bloomfile")
    parser.add_argument("directory", nargs="?", default="/dev/shm", help="for files, which are removed (/dev/shm)")
    o = parser.parse_args()
    sizes, found = sorted(set(o.keys or KEYS)), {}
    folder = scratch(o.directory, sizes[-1] * BITS / 8 * 3)
    players = {}  # the first of a name has the widest kernel
    for player in contenders.roster(o.core, folder)[0]:
        if player.name in NAMES:
            players.setdefault(player.name, player)
    print(report.machine_words() + "\n")
    for keys in sizes:
        found[keys] = measure(players.values(), keys, o.turns, o.core, folder)
        print_curves(keys, found[keys])
    print_verdicts(found)
    if o.svg:
        contenders.draw(o.svg, chart_of(found))


if __name__ == "__main__":
    report.main(run)
