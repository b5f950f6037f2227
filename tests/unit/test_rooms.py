#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Includes point one way: rooms of lib/ include what their READMEs allow, and no files form a circle."""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIB = ROOT / "lib"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def sources(folder):
    return sorted(p for p in folder.rglob("*.[ch]"))


def included(path, base):
    """The files of the project that one file includes, seen from its own folder or from the base."""
    for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        for place in (path.parent, base):
            if (place / name).is_file():
                yield (place / name).resolve()
                break


def room_of(path):
    return path.relative_to(LIB).parts[0] if path.parent != LIB else "."


def allowed(room):
    text = (LIB / room / "README.md").read_text(encoding="utf-8")
    names = re.search(r"^May include: (.*)$", text, re.MULTILINE).group(1)
    return set() if names == "nothing" else set(names.split(", "))


def circle(folder):
    """The files of an include circle, a .c standing for its .h as well; [] if there is none."""
    edges = {}
    for path in sources(folder):
        unit = path.with_suffix("")
        edges.setdefault(unit, set()).update(
            p.with_suffix("") for p in included(path, folder) if p.with_suffix("") != unit)
    done, way = set(), []

    def visit(unit):
        if unit in way:
            return way[way.index(unit):] + [unit]
        if unit in done:
            return []
        way.append(unit)
        for other in sorted(edges.get(unit, ())):
            found = visit(other)
            if found:
                return found
        way.pop()
        done.add(unit)
        return []

    for unit in sorted(edges):
        found = visit(unit)
        if found:
            return [str(p.relative_to(ROOT)) for p in found]
    return []


class Rooms(unittest.TestCase):
    def rooms(self):
        return ["."] + sorted(p.name for p in LIB.iterdir() if p.is_dir())

    def test_a_room_includes_only_what_its_readme_allows(self):
        arrows = 0
        for path in sources(LIB):
            room = room_of(path)
            for other in map(room_of, included(path, LIB)):
                if other != room:
                    arrows += 1
                    self.assertIn(other, allowed(room), f"{path.relative_to(ROOT)} includes {other}/")
        self.assertGreater(arrows, 50)

    def test_rooms_form_no_circle(self):
        below = {room: allowed(room) for room in self.rooms()}
        while below:
            leaves = [room for room, others in below.items() if not others & below.keys()]
            self.assertTrue(leaves, f"a circle among {sorted(below)}")
            for room in leaves:
                del below[room]

    def test_files_of_lib_form_no_circle(self):
        self.assertEqual(circle(LIB), [])

    def test_files_of_tools_bench_and_bindings_form_no_circle(self):
        self.assertEqual([found for name in ("tools", "bench", "bindings") for found in circle(ROOT / name)], [])

    def test_no_tool_includes_another(self):
        tools = ROOT / "tools"
        for path in sources(tools):
            for other in included(path, tools):
                if tools in other.parents:
                    room = other.relative_to(tools).parts[0]
                    self.assertIn(room, {"shared", "picture", path.relative_to(tools).parts[0]},
                                  path.relative_to(ROOT))
                    self.assertFalse(path.parent.name == "shared" and room != "shared", path)

    def test_every_room_says_what_it_is_in_15_lines(self):
        for room in self.rooms():
            lines = (LIB / room / "README.md").read_text(encoding="utf-8").splitlines()
            self.assertLessEqual(len(lines), 15, room)

    def test_every_source_says_what_it_is(self):
        for path in sources(LIB) + sources(ROOT / "tools") + sources(ROOT / "bindings"):
            head = path.read_text(encoding="utf-8").split("*/", 1)[0]
            self.assertRegex(head, r"^/\* SPDX-License-Identifier: MIT\n( \*\n)? \* \S", path)

    def test_every_test_is_run(self):
        """One that meson does not know is never missed."""
        known = "".join(path.read_text(encoding="utf-8") for folder in ("bench", "examples", "tests")
                        for path in (ROOT / folder).rglob("meson.build"))
        names = [path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")]
        self.assertEqual([name for name in names if not re.search(rf"\b(test_)?{name}\b", known)], [])


if __name__ == "__main__":
    sys.exit(unittest.main())
