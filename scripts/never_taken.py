#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the branches that no test took with those that doc/coverage.md says none can take.

    never_taken.py COVERAGE.JSON doc/coverage.md

COVERAGE.JSON is what `gcovr --json` writes. Status 1 if fewer than 98 % of the branches were taken, if one
was not taken and is not named, or if one that is named was taken.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEAST = 0.98
FUNCTION = re.compile(r"^[A-Za-z_].*?\b(\w+)\(")
ROW = re.compile(r"^\| `(?P<file>[^`]+)`: `(?P<function>\w+)` \| `(?P<line>.+?)` \| "
                 r"(?P<up_to>up to )?(?P<ways>\d+) \| ")


def function_at(lines, index):
    """The name before the last parenthesis that opens in the first column's line, at or above."""
    for line in reversed(lines[:index + 1]):
        match = FUNCTION.match(line)
        if match:
            return match[1]
    return "?"


def read_coverage(path):
    """How many ways there are, and how many of a line were never taken."""
    ways, never = 0, Counter()
    for file in json.loads(path.read_text(encoding="utf-8"))["files"]:
        lines = (ROOT / file["file"]).read_text(encoding="utf-8").split("\n")
        for line in file["lines"]:
            counts = [branch["count"] for branch in line["branches"]]
            ways += len(counts)
            if 0 in counts:
                index = line["line_number"] - 1
                place = file["file"], function_at(lines, index), lines[index].strip()
                never[place] += counts.count(0)
    return ways, never


def read_table(path):
    """Of each place: how many ways are never taken, and whether that may be fewer."""
    table = {}
    for row in path.read_text(encoding="utf-8").split("\n"):
        match = ROW.match(row)
        if match:
            place = match["file"], match["function"], match["line"].replace("\\|", "|")
            table[place] = int(match["ways"]), match["up_to"] is not None
    return table


def complaints(never, table):
    for place, count in sorted(never.items()):
        named, up_to = table.get(place, (0, False))
        if count > named:
            yield place, f"{count} never taken, {named} named"
        elif count < named and not up_to:
            yield place, f"{named} named, only {count} never taken"
    for place, (_, up_to) in sorted(table.items()):
        if place not in never and not up_to:
            yield place, "named, but taken or gone"


def main():
    ways, never = read_coverage(Path(sys.argv[1]))
    found = list(complaints(never, read_table(Path(sys.argv[2]))))
    for (file, function, line), what in found:
        print(f"{file}: {function}: {line}: {what}", file=sys.stderr)
    taken = 1 - never.total() / ways
    print(f"branches of lib/: {ways}, never taken: {never.total()}, taken: {100 * taken:.2f} %")
    return 1 if found or taken < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
