#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The measured false-positive rates of filters of 4 to 24 bits a key, of bloomfile and other libraries (those that were
built in), in Markdown.

Each filter gets the same keys, and is asked for absent ones until so many were taken for present that chance hardly
matters. Nothing is timed, and every run says the same.
"""

import argparse
import math
import sys

import contenders
import report
from contenders import HASHED, OK

BITS = range(4, 25, 2)  # a key
HITS = 10**4  # for a standard error of 1 %
FEW = 20  # hits that tell nothing of a rate
ROUND = 10**6  # keys asked for at a time
AT = 10  # bits a key: the rate that is told beside a name

# Those of bloomfile are small and full, and come first: others are rings around them.
COLOURS = ["#2b7bba", "#1f9e77", "#8a6fc9", "#d9543c", "#c98a1a", "#c0508f", "#5a6b7b", "#2aa5b5", "#8a5a3c"]
STYLE = ("polyline.ideal { stroke: #888; stroke-dasharray: 5 4 }\ncircle { stroke-width: 2; fill: none }\n" +
         "".join(f".c{i} {{ stroke: {colour} }}\n" for i, colour in enumerate(COLOURS)) +
         "".join(f"circle.c{i} {{ fill: {colour} }}\n" for i, colour in enumerate(COLOURS[:3])))


def ideal(bits):
    """The rate of a filter whose bits are all independent, at its best number of hashes, whole or not."""
    return math.exp(-bits * math.log(2) ** 2)


def measured_rate(process, index, keys, lookups):
    """None if it could not be measured; NaN if hardly any absent key was taken for present."""
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
        for bits in BITS:
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


def print_curves(curves, keys):
    print(f"{keys} keys; false-positive rate in %, and bits a key where they are not those asked for\n")
    rows = []
    for i, bits in enumerate(BITS):
        cells = ["-" if math.isnan(curve[i][1]) else f"{100 * curve[i][1]:.3g}" +
                 (f" ({curve[i][0]:.1f})" if abs(curve[i][0] - bits) >= 0.1 else "") for _, curve in curves]
        rows.append([bits, *cells, f"{100 * ideal(bits):.3g}"])
    report.print_table([">bits a key", *[">" + player.name for player, _ in curves], ">ideal"], rows)


def chart_of(curves, keys, lookups):
    """A name stands beside the last point of its curve."""
    marks = []
    drawn = [{"class": "ideal", "points": [[bits, ideal(bits)] for bits in (BITS[0], BITS[-1])]}]
    for i, (player, curve) in enumerate(curves):
        seen = [[bits, rate] for bits, rate in curve if not math.isnan(rate)]
        drawn.append({"class": f"c{i}", "points": seen})
        marks += [{"x": bits, "y": rate, "class": f"c{i}", "radius": 2.5 if player.program.kernels else 5}
                  for bits, rate in seen]
        if seen:
            marks[-1] |= {"key": True, "name": f"{player.name} {player.version}".rstrip() + ": "
                                               f"{100 * curve[BITS.index(AT)][1]:.3g}%"}
    marks.append({"x": BITS[-1], "y": ideal(BITS[-1]), "name": f"theory, independent bits: {100 * ideal(AT):.3g}%"})
    return {
        "title": "False-positive rate against size", "style": STYLE, "dark_style": "",
        "words": [f"measured: {keys:,} keys in each filter, absent keys until {HITS:,} were taken for present, or "
                  f"{lookups // 10**6} million", f"beside each name: the rate at {AT} bits a key"],
        "x": {"label": "size of the filter, bits a key", "linear": True, "low": BITS[0], "high": BITS[-1],
              "times": 1, "unit": ""},
        "y": {"label": "false-positive rate", "low": min(mark["y"] for mark in marks) / 1.2, "high": 0.4,
              "times": 100, "unit": "%"},
        "curves": drawn, "marks": marks,
    }


def run(scratch):
    parser = argparse.ArgumentParser(prog="bench-curve", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=report.whole, default=10**6, help="in each filter")
    parser.add_argument("--lookups", type=report.whole, default=64 * 10**6, help="at most, of each filter")
    parser.add_argument("--svg", metavar="FILE", help="draws the curves")
    parser.add_argument("directory", nargs="?", default="/dev/shm", help="for files, which are removed (/dev/shm)")
    o = parser.parse_args()
    folder, core, curves = scratch(o.directory, o.keys * BITS[-1] // 2), contenders.last_core(), []
    for player in contenders.roster(core, folder)[0]:
        # A counting filter has the bits of a classic one, a live one those of a sealed one, and neither kernels nor
        # how a library was compiled make a difference.
        if (player.program.limits or player.program.twin or player.live or "counting" in player.name or
                any(player.name == other.name for other, _ in curves)):
            continue
        curve = points(player, o.keys, o.lookups, core, folder)
        if curve is None:
            print(f"{player.name} could not take part to the end, and is left out", file=sys.stderr)
        else:
            curves.append((player, curve))
    print_curves(curves, o.keys)
    if o.svg:
        contenders.draw(o.svg, chart_of(curves, o.keys, o.lookups))


if __name__ == "__main__":
    report.main(run)
