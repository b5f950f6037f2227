#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Directions of includes and calls: rooms of lib/ use only the rooms that their READMEs allow; no files form a circle.
READMEs name the existing files, and tests name every rule of the specification. Calls are read from the objects in the
build folder BUILD_ROOT; without it they are not checked.

No room exceeds its files and lines of code in tests/rooms.budget. A number there rises only in a commit whose message
has a line "budget: why". --budget writes the current numbers where they are lower, lines rounded up to fifties."""

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIB = ROOT / "lib"
CORE, PARTS = ROOT / "format-spec.md", sorted((ROOT / "doc" / "format").glob("*.md"))
BUILD = os.environ.get("BUILD_ROOT")
FLOORS = ["cli", "keys", "filters", "picture"]  # of tools/; each may use the floors before it
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def sources(folder):
    return sorted(p for p in folder.rglob("*.[ch]"))


def included(path, base):
    """The project's files that a file includes, relative to its own folder or to `base`."""
    for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
        for place in (path.parent, base):
            if (place / name).is_file():
                yield (place / name).resolve()
                break


def room_of(path):
    return path.relative_to(LIB).parts[0] if path.parent != LIB else "."


def called(folder):
    """Pairs of files of a folder of the project: the first has an object that needs a symbol of the second."""
    names = {str(p.relative_to(folder)).replace("/", "_") + ".o": p for p in folder.rglob("*.c")}
    built = Path(BUILD) / folder.relative_to(ROOT)
    objects = [path for path in built.glob("*/*.o") if path.name in names]
    if not objects:  # the folder is not built
        return []
    owners, needs = {}, {}
    for line in subprocess.run(["nm", "-A", *objects], capture_output=True, text=True, check=True).stdout.splitlines():
        path, rest = line.split(":", 1)
        source, (kind, symbol) = names[Path(path).name], rest.split()[-2:]
        if kind == "U":
            needs.setdefault(source, set()).add(symbol)
        elif kind.isupper():
            owners[symbol] = source
    return [(source, owners[symbol]) for source, symbols in needs.items() for symbol in symbols
            if symbol in owners and owners[symbol] != source]


def strict_circle(edges):
    """Files that call each other in a circle, or []."""
    below = {}
    for caller, owner in edges:
        below.setdefault(caller, set()).add(owner)
    while True:
        leaves = [caller for caller, owners in below.items() if not owners & below.keys()]
        if not leaves:
            return sorted(str(p.relative_to(ROOT)) for p in below)
        for caller in leaves:
            del below[caller]


BUDGET = ROOT / "tests" / "rooms.budget"
CODE = {".c", ".h", ".cc", ".hpp", ".py", ".sh", ".java", ".scala", ".def", ".go", ".rs", ".js", ".mjs"}


def sizes():
    """Files and lines of code by room: a folder of lib/, tools/, tests/ or bindings/, or another top-level folder."""
    rooms = {}
    for top in ("bench", "bindings", "examples", "fuzz", "include", "lib", "packaging", "scripts", "tests", "tools", "web"):
        for path in (ROOT / top).rglob("*"):
            parts = path.relative_to(ROOT).parts
            if path.is_file() and "build" not in parts[2:] and (path.suffix in CODE or top == "scripts" and not path.suffix):
                room = "/".join(parts[:2]) if top in ("bindings", "lib", "tests", "tools") and len(parts) > 2 else top
                files, lines = rooms.get(room, (0, 0))
                rooms[room] = files + 1, lines + path.read_bytes().count(b"\n")
    return rooms


def budget(text):
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {room: (int(files), int(lines)) for room, files, lines in rows}


def write_budget():
    old = budget(BUDGET.read_text(encoding="utf-8")) if BUDGET.exists() else {}
    now = {room: (files, -lines // 50 * -50) for room, (files, lines) in sizes().items()}
    rows = [(room, *map(min, most, old.get(room, most))) for room, most in sorted(now.items())]
    BUDGET.write_text("# Room, files and lines of code at most; see tests/unit/test_rooms.py.\n"
                      + "".join(f"{room}\t{files}\t{lines}\n" for room, files, lines in rows), encoding="utf-8")


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout


def listed(readme):
    """The names that the list of a README describes."""
    lines = re.findall(r"^- ([^:]*):", readme.read_text(encoding="utf-8"), re.MULTILINE)
    return sorted(name for line in lines for name in re.findall(r"`([^`/]+)`", line))


def allowed(room):
    text = (LIB / room / "README.md").read_text(encoding="utf-8")
    names = re.search(r"^May include: (.*)$", text, re.MULTILINE).group(1)
    return set() if names == "nothing" else set(names.split(", "))


def circle(folder):
    """The files of an include circle, or []; a .c file stands for its .h too."""
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

    def test_dependencies_of_rooms_form_no_circle(self):
        below = {room: allowed(room) for room in self.rooms()}
        while below:
            leaves = [room for room, others in below.items() if not others & below.keys()]
            self.assertTrue(leaves, f"a circle among {sorted(below)}")
            for room in leaves:
                del below[room]

    def test_includes_in_lib_form_no_circle(self):
        self.assertEqual(circle(LIB), [])

    def test_includes_in_tools_bench_and_bindings_form_no_circle(self):
        self.assertEqual([found for name in ("tools", "bench", "bindings") for found in circle(ROOT / name)], [])

    def test_no_tool_includes_another(self):
        tools = ROOT / "tools"
        for path in sources(tools):
            for other in included(path, tools):
                if tools in other.parents:
                    room = other.relative_to(tools).parts[0]
                    mine = path.relative_to(tools).parts[0]
                    floors = FLOORS[:FLOORS.index(mine)] if mine in FLOORS else FLOORS
                    self.assertIn(room, {mine, *floors}, path.relative_to(ROOT))

    @unittest.skipUnless(BUILD and shutil.which("nm"), "needs BUILD_ROOT and nm")
    def test_a_room_calls_only_what_its_readme_allows(self):
        edges = called(LIB)
        self.assertGreater(len(edges), 200)
        for caller, owner in edges:
            if room_of(owner) != room_of(caller):
                self.assertIn(room_of(owner), allowed(room_of(caller)), f"{caller} calls {owner}")

    @unittest.skipUnless(BUILD and shutil.which("nm"), "needs BUILD_ROOT and nm")
    def test_no_files_call_each_other_in_a_circle(self):
        for folder in (LIB, ROOT / "tools", ROOT / "bench", ROOT / "bench" / "engines"):
            self.assertEqual(strict_circle(called(folder)), [])

    def test_readmes_list_the_files_of_their_folders(self):
        """Applies to folders with three or more such files."""
        for folder in sorted({path.parent for top in (LIB, ROOT / "tools") for path in sources(top)}):
            units = sorted({path.stem for path in folder.glob("*.[ch]")})
            if len(units) > 2:
                self.assertEqual(listed(folder / "README.md"), units, folder.relative_to(ROOT))

    def test_no_room_outgrows_its_budget(self):
        most = budget(BUDGET.read_text(encoding="utf-8"))
        for room, now in sizes().items():
            for what, size, limit in zip(("files", "lines"), now, most.get(room, (0, 0))):
                self.assertLessEqual(size, limit, f"{what} of {room}: make it smaller, or raise tests/rooms.budget "
                                     'with a line "budget: why" in the message of the commit')

    @unittest.skipUnless((ROOT / ".git").exists() and shutil.which("git"), "needs the history")
    def test_raised_budget_needs_a_reason(self):
        name = "tests/rooms.budget"
        changes = git("log", "-20", "--format=%H", "--", name).split()
        for commit in changes:
            parents = git("log", "-1", "--format=%P", commit).split()
            if not parents or subprocess.run(["git", "-C", ROOT, "cat-file", "-e", f"{parents[0]}:{name}"],
                                             capture_output=True).returncode != 0:
                continue
            old, new = budget(git("show", f"{parents[0]}:{name}")), budget(git("show", f"{commit}:{name}"))
            rises = [room for room in new if room not in old or any(map(int.__gt__, new[room], old[room]))]
            if rises:
                self.assertRegex(git("log", "-1", "--format=%B", commit), r"(?m)^budget: \S", f"{commit} raises {rises}")

    def test_readmes_are_short(self):
        lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual(len(lines), 160, "README.md")
        for readme in [*LIB.rglob("README.md"), *(ROOT / "tools").rglob("README.md")]:
            self.assertLessEqual(len(readme.read_text(encoding="utf-8").splitlines()), 20, readme)

    def test_every_source_begins_with_a_description(self):
        for path in sources(LIB) + sources(ROOT / "tools") + sources(ROOT / "bindings"):
            head = path.read_text(encoding="utf-8").split("*/", 1)[0]
            self.assertRegex(head, r"^/\* SPDX-License-Identifier: MIT\n( \*\n)? \* \S", path)

    def test_every_test_is_known_to_meson(self):
        """A test unknown to meson never runs, and no run reports that."""
        known = "".join(path.read_text(encoding="utf-8") for folder in ("bench", "examples", "tests")
                        for path in (ROOT / folder).rglob("meson.build"))
        names = [path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")]
        self.assertEqual([name for name in names if not re.search(rf"\b(test_)?{name}\b", known)], [])

    def test_every_rule_of_the_specification_is_named_in_a_test(self):
        """Every rule that a test or a model names also exists. tests/spec implements the rules; READMEs show
        examples."""
        text = "".join(path.read_text(encoding="utf-8") for path in (CORE, *PARTS))
        rules = re.findall(r"^\| ([LRSV]\d+) \|", text, re.MULTILINE)
        self.assertEqual(sorted(set(rules)), sorted(rules))
        self.assertEqual({rule[0] for rule in rules}, set("LRSV"))
        paths = [path for folder in ("tests", "doc/model") for path in (ROOT / folder).rglob("*")
                 if path.suffix in {".c", ".cc", ".h", ".pml", ".py", ".tsv"}]
        named = {path: set(re.findall(r"\b[LRSV][1-9]\d?\b", path.read_text(encoding="utf-8"))) for path in paths}
        self.assertEqual({path: names for path in paths if (names := named[path] - set(rules))}, {}, "no such rule")
        tests = [path for path in paths if ROOT / "tests" in path.parents and path.parent.name != "spec"]
        self.assertEqual(sorted(set(rules).difference(*(named[path] for path in tests))), [], "no test names it")

    def test_every_part_of_the_specification_names_the_version_of_its_core(self):
        version = re.search(r"^Format version (\d+)\. Specification (\S+, \S+)\.", CORE.read_text(encoding="utf-8"), re.MULTILINE)
        for path in PARTS:
            head = path.read_text(encoding="utf-8")[:300]
            self.assertRegex(head, rf"(?s)\n\nBelongs to version {version[1]} of the format, specification {re.escape(version[2])}\.\s", path)


if __name__ == "__main__":
    sys.exit(write_budget() if sys.argv[1:] == ["--budget"] else unittest.main())
