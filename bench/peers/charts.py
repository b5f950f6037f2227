#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Charts of bloomfile and other libraries (those that were built in), and their tables in Markdown.

curve: the measured false-positive rates of filters of 4 to 24 bits a key. Each filter gets the same keys. Absent keys
are looked up until the number of hits makes the error small. Nothing is timed, and every run prints the same.

batches: the time of a lookup against the number of keys a call, in filters of 10 bits a key; also for a file with a bad
page, and for inlined lookups. The exit status is 1 if a curve of bloomfile has a cliff: with twice as many keys a call,
a key takes more time, or less than half of the time.
"""

import argparse
import html
import math
import shutil
import statistics
import sys

import contenders
import report
from contenders import HASHED, OK

# ---- drawing

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, MARGIN = 960, 600, 90, 600, 126, 526, 24
NAMES_GAP, NAME_ROOM, KEY_ROOM, TICK_ROOM = 40, 21, 22, 48
LIGHT = """text { font: 14px sans-serif; fill: #333 }
text.title { font-size: 20px; font-weight: bold; fill: #111 }
text.middle { text-anchor: middle }
text.end { text-anchor: end }
.ground { fill: #fff }
line { stroke: #ddd; stroke-width: 1 }
polyline { fill: none; stroke-width: 1.5 }
polyline.name { stroke: #aaa; stroke-width: 1 }
"""
DARK = """@media (prefers-color-scheme: dark) {
text { fill: #ccc }
text.title { fill: #eee }
.ground { fill: #161b22 }
line { stroke: #3a3f47 }
polyline.name { stroke: #6a7079 }
"""


def part(axis, value):
    """The place of a value on an axis: 0 at the low end, 1 at the high end."""
    low, high = axis["low"], axis["high"]
    return (value - low) / (high - low) if axis.get("linear") else math.log(value / low) / math.log(high / low)


def ticks(axis):
    """Round values for the ticks of an axis."""
    low, high = axis["low"], axis["high"]
    if axis.get("linear"):
        return list(range(math.ceil(low), math.floor(high) + 1))
    base = 2 if axis.get("doublings") else 10
    multiples = ([1] if base == 2 or high / low > 1e4 else [1, 2, 5] if high / low > 10 else
                 [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9])
    first = math.floor(math.log(low, base) + 1e-9)
    values = [m * base ** power for power in range(first, math.ceil(math.log(high, base)) + 1) for m in multiples]
    return [value for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]


def svg_of(chart):
    """Makes a chart. Axes have label, low, high, times and unit, and are linear, or in doublings or decades. Curves, levels
    and marks have classes of the style. A mark without a class shows only its name. `key`: the name has a mark like it."""
    out = []

    def text(style, x, y, words):
        out.append(f'<text class="{style}" x="{x:.6g}" y="{y:.6g}">{html.escape(words, quote=False)}</text>')

    def line(style, x1, y1, x2, y2):
        out.append(f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def circle(style, x, y, radius):
        out.append(f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>')

    def polyline(style, points):
        out.append(f'<polyline class="{style}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')

    def x_at(value):
        return LEFT + part(chart["x"], value) * (RIGHT - LEFT)

    def y_at(value):
        return BOTTOM - part(chart["y"], value) * (BOTTOM - TOP)

    text("title", MARGIN, 40, chart["title"])
    for i, words in enumerate(chart["words"]):
        text("start", MARGIN, 64 + 20 * i, words)
    for axis, at in (chart["x"], x_at), (chart["y"], y_at):
        last = math.inf
        for value in ticks(axis):
            place = at(value)
            if abs(place - last) < TICK_ROOM * (2 if axis.get("doublings") else 1):
                continue
            last, words = place, f"{value * axis['times']:.4g}{axis['unit']}"
            if axis is chart["x"]:
                line("grid", place, TOP, place, BOTTOM)
                text("middle", place, BOTTOM + 22, words)
            else:
                line("grid", LEFT, place, RIGHT, place)
                text("end", LEFT - 10, place + 5, words)
    text("middle", (LEFT + RIGHT) / 2, BOTTOM + 52, chart["x"]["label"])
    text("start", MARGIN, TOP - 16, chart["y"]["label"])
    for level in chart.get("levels", []):
        line(level["class"], LEFT, y_at(level["y"]), RIGHT, y_at(level["y"]))
        text(level["class"], LEFT + 10, y_at(level["y"]) + 18, level["text"])
    for curve in chart.get("curves", []):
        polyline(curve["class"], [(x_at(x), y_at(y)) for x, y in curve["points"]])
    named = sorted((mark for mark in chart["marks"] if "name" in mark), key=lambda mark: y_at(mark["y"]))
    places, free = [], TOP
    for mark in named:  # from above, each below the last
        places.append(max(y_at(mark["y"]), free))
        free = places[-1] + NAME_ROOM
    free = BOTTOM
    for i in reversed(range(len(named))):  # from below, back into the picture
        places[i] = min(places[i], free)
        free = places[i] - NAME_ROOM
    for mark, place in zip(named, places):
        x, y, left = x_at(mark["x"]), y_at(mark["y"]), RIGHT + NAMES_GAP
        polyline("name", [(x + 7, y), (RIGHT + 5, y), (left - 6, place)])
        if mark.get("key"):
            circle(mark["class"], left + KEY_ROOM / 3, place, 5)
        text("name", left + (KEY_ROOM if mark.get("key") else 0), place + 5, mark["name"])
    for mark in chart["marks"]:
        if "class" in mark:
            circle(mark["class"], x_at(mark["x"]), y_at(mark["y"]), mark["radius"])
    head = (f'<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n<title>{html.escape(chart["title"], quote=False)}</title>\n'
            f'<style>\n{LIGHT}{chart["style"]}{DARK}{chart["dark_style"]}}}\n</style>\n'
            f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}"/>\n')
    return head + "\n".join(out) + "\n</svg>\n"


# ---- curve

RATE_BITS = range(4, 25, 2)  # a key
HITS = 10**4  # hits for a standard error of 1%
FEW = 20  # hits that are too few for a rate
ROUND = 10**6  # keys looked up in one request
AT = 10  # bits a key at which the rate is printed next to the name

# Marks of bloomfile are small and filled, and are drawn first. The marks of other libraries are rings around them.
CURVE_COLOURS = ["#2b7bba", "#1f9e77", "#8a6fc9", "#d9543c", "#c98a1a", "#c0508f", "#5a6b7b", "#2aa5b5", "#8a5a3c"]
CURVE_STYLE = ("polyline.ideal { stroke: #888; stroke-dasharray: 5 4 }\ncircle { stroke-width: 2; fill: none }\n" +
         "".join(f".c{i} {{ stroke: {colour} }}\n" for i, colour in enumerate(CURVE_COLOURS)) +
         "".join(f"circle.c{i} {{ fill: {colour} }}\n" for i, colour in enumerate(CURVE_COLOURS[:3])))


def ideal(bits):
    """The rate of a filter with independent bits at its best number of hashes, which need not be an integer."""
    return math.exp(-bits * math.log(2) ** 2)


def measured_rate(process, index, keys, lookups):
    """The measured rate: None after an error, NaN if there were too few false positives."""
    hits = asked = 0
    while hits < HITS and asked < lookups:
        now = min(ROUND, lookups - asked)
        if process.ask("queries", HASHED, keys + asked, now).answer != OK:
            return None
        reply = process.ask_either("lookup", index, "absent")
        if reply.answer != OK:
            return None
        hits += reply.number
        asked += now
    return hits / asked if hits >= FEW else math.nan


def points(player, keys, lookups, core, scratch):
    """Real bits a key and rates, NaN where it makes no filter of so few bits; None if it could not take part to the
    end."""
    process, found, index = contenders.Process(player.program, player.kernel, core, scratch), [], player.index
    try:
        for bits in RATE_BITS:
            if process.ask("create", index, keys, bits, HASHED).answer != OK:
                if process.ask("name", index).answer != OK:
                    return None
                found.append((math.nan, math.nan))
                continue
            if process.ask_either("add", index, keys).answer != OK:
                return None
            finished = process.ask("finish", index)
            rate = measured_rate(process, index, keys, lookups) if finished.answer == OK else None
            if rate is None or process.ask("drop", index).answer != OK:
                return None
            found.append((finished.number * 8 / keys, rate))
        return found
    finally:
        process.end()


def print_rates(curves, keys):
    print(f"{keys} keys; false-positive rate in %, and bits a key where they are not those asked for\n")
    rows = []
    for i, bits in enumerate(RATE_BITS):
        cells = ["-" if math.isnan(curve[i][1]) else f"{100 * curve[i][1]:.3g}" +
                 (f" ({curve[i][0]:.1f})" if abs(curve[i][0] - bits) >= 0.1 else "") for _, curve in curves]
        rows.append([bits, *cells, f"{100 * ideal(bits):.3g}"])
    report.print_table([">bits a key", *[">" + player.name for player, _ in curves], ">ideal"], rows)


def curve_chart(curves, keys, lookups):
    """Makes the chart. A name is next to the last point of its curve."""
    marks = []
    drawn = [{"class": "ideal", "points": [[bits, ideal(bits)] for bits in (RATE_BITS[0], RATE_BITS[-1])]}]
    for i, (player, curve) in enumerate(curves):
        seen = [[bits, rate] for bits, rate in curve if not math.isnan(rate)]
        drawn.append({"class": f"c{i}", "points": seen})
        marks += [{"x": bits, "y": rate, "class": f"c{i}", "radius": 2.5 if player.program.kernels else 5}
                  for bits, rate in seen]
        if seen:
            marks[-1] |= {"key": True, "name": f"{player.name} {player.version}".rstrip() + ": "
                                               f"{100 * curve[RATE_BITS.index(AT)][1]:.3g}%"}
    marks.append({"x": RATE_BITS[-1], "y": ideal(RATE_BITS[-1]), "name": f"theory, independent bits: {100 * ideal(AT):.3g}%"})
    return {
        "title": "False-positive rate against size", "style": CURVE_STYLE, "dark_style": "",
        "words": [f"measured: {keys:,} keys in each filter, absent keys until {HITS:,} were taken for present, or "
                  f"{lookups // 10**6} million", f"beside each name: the rate at {AT} bits a key"],
        "x": {"label": "size of the filter, bits a key", "linear": True, "low": RATE_BITS[0], "high": RATE_BITS[-1],
              "times": 1, "unit": ""},
        "y": {"label": "false-positive rate", "low": min(mark["y"] for mark in marks) / 1.2, "high": 0.4,
              "times": 100, "unit": "%"},
        "curves": drawn, "marks": marks,
    }


# ---- batches

KEYS = [80000, 10**6, 10**7, 10**8]
BITS = 10
SIZES = [2**i for i in range(13)]  # of batches
QUERIES = 1 << 20
OURS, DOUBT, INLINED = "bloomfile blocked", "in doubt", "bloomfile blocked, inlined"
NAMES = [OURS, INLINED, "RocksDB, AVX2", "RocksDB, inlined", "Boost, 512 bits"]
FILE, DAMAGED_AT = "blocked.bloom", 4096 + 12345
HIGHEST, LOWEST = 1.15, 0.5  # the time a key of a batch twice as large; 1: the same

BATCH_COLOURS = ["#2b7bba", "#1f9e77", "#8a6fc9", "#d9543c"]
BATCH_STYLE = "circle { stroke: none }\n" + "".join(
    f".c{i} {{ stroke: {colour} }}\ncircle.c{i} {{ fill: {colour} }}\n" for i, colour in enumerate(BATCH_COLOURS)
) + "polyline.doubt { stroke-dasharray: 5 4 }\n"


class Subject:
    """A filter in a process: built from the keys, or an existing file."""

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
    """Makes a folder with a copy of the file in which one page is bad."""
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
            s.look_up(SIZES[-1])  # not timed: fills the caches, which the other subjects have used
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


def batches_chart(found):
    marks, drawn, every = [], [], []
    for i, (keys, curves) in enumerate(found.items()):
        for name, style in (OURS, f"c{i}"), (DOUBT, f"c{i} doubt"):
            drawn.append({"class": style, "points": list(zip(SIZES, curves[name]))})
            every += curves[name]
        marks += [{"x": x, "y": y, "class": f"c{i}", "radius": 2.5} for x, y in zip(SIZES, curves[OURS])]
        marks[-1] |= {"key": True, "name": f"{megabytes(keys)}: {curves[OURS][-1]:.3g} ns"}
    return {
        "title": "Time of a lookup against the size of the batch", "style": BATCH_STYLE, "dark_style": "",
        "words": [f"sealed filters of {BITS} bits a key, absent keys; dashed: one page is bad, each answer in doubt",
                  report.machine_words()],
        "x": {"label": "keys a call", "doublings": True, "low": SIZES[0], "high": SIZES[-1], "times": 1, "unit": ""},
        "y": {"label": "time a key", "low": min(every) / 1.3, "high": max(every) * 1.3, "times": 1, "unit": " ns"},
        "curves": drawn, "marks": marks,
    }


def run_curve(o, scratch):
    folder, core, curves = scratch(o.directory, o.keys * RATE_BITS[-1] // 2), contenders.last_core(), []
    for player in contenders.roster(core, folder)[0]:
        # A counting filter has the positions of a classic filter, a live filter the bits of a sealed filter. Kernels and
        # compiler options do not change the rate.
        if (player.program.limits or player.program.twin or player.live or "counting" in player.name or
                any(player.name == other.name for other, _ in curves)):
            continue
        curve = points(player, o.keys, o.lookups, core, folder)
        if curve is None:
            print(f"{player.name} could not take part to the end, and is left out", file=sys.stderr)
        else:
            curves.append((player, curve))
    print_rates(curves, o.keys)
    if o.svg:
        report.save(o.svg, svg_of(curve_chart(curves, o.keys, o.lookups)))


def run_batches(o, scratch):
    sizes, found = sorted(set(o.keys or KEYS)), {}
    folder = scratch(o.directory, sizes[-1] * BITS / 8 * 3)
    players = {}  # the first player of a name has the widest kernel
    for player in contenders.roster(o.core, folder)[0]:
        if player.name in NAMES:
            players.setdefault(player.name, player)
    print(report.machine_words() + "\n")
    for keys in sizes:
        found[keys] = measure(players.values(), keys, o.turns, o.core, folder)
        print_curves(keys, found[keys])
    print_verdicts(found)
    if o.svg:
        report.save(o.svg, svg_of(batches_chart(found)))


def run(scratch):
    parser = argparse.ArgumentParser(prog="charts.py", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    charts = parser.add_subparsers(required=True)
    curve, batches = charts.add_parser("curve", allow_abbrev=False), charts.add_parser("batches", allow_abbrev=False)
    curve.set_defaults(run=run_curve)
    curve.add_argument("--keys", type=report.whole, default=10**6, help="in each filter")
    curve.add_argument("--lookups", type=report.whole, default=64 * 10**6, help="at most, of each filter")
    batches.set_defaults(run=run_batches)
    batches.add_argument("--keys", type=report.whole, action="append", help=f"in a filter; {KEYS}")
    batches.add_argument("--turns", type=report.whole, default=7)
    batches.add_argument("--core", type=int, default=contenders.last_core())
    for chart in curve, batches:
        chart.add_argument("--svg", metavar="FILE", help="draws it")
        chart.add_argument("directory", nargs="?", default="/dev/shm", help="for files, which are removed (/dev/shm)")
    o = parser.parse_args()
    o.run(o, scratch)


if __name__ == "__main__":
    report.main(run)
