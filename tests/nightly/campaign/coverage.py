# SPDX-License-Identifier: MIT
# Debian: gcovr clang-19 libclang-rt-19-dev llvm-19 g++ mandoc
# meson: -Dbuildtype=debug -Db_coverage=true -Dc_args=-fprofile-update=atomic
# build: coverage
"""Which lines, branches and conditions of lib/ the tests of the library reach. Each case is one test, run in two
builds that count: gcc's for lines and branches, clang's for conditions (MC/DC: each one has decided alone) of
format/, image/ and handle/. Tests of the tools are left out: they compare messages, and the counting library
prints its own.

After all tests it fails if a branch was never taken that branches.tsv does not name, or one was taken that it
names. It also fails if a line was not reached, except on the way of such a branch. build/campaign/coverage lists
everything that was not reached."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys

from campaign import BUILT, SOURCE_ROOT, Campaign, Found, cannot, main

ROOMS = "format", "image", "handle"  # the rooms with MC/DC
STATE = pathlib.Path(os.environ.get("STATE", SOURCE_ROOT / "build" / "campaign")) / "coverage"
TABLE = pathlib.Path(__file__).with_name("branches.tsv")
CONDITIONS = STATE / "conditions"  # clang's build
PROFILES = STATE / "profiles"
LEAST = 0.98  # of the branches
SKIPPED = 77  # the exit status
FUNCTION = re.compile(r"^[A-Za-z_].*?\b(\w+)\(")
WAYS = re.compile(r"(up to )?(\d+)")


def command(words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode != 0:
        print((done.stdout + done.stderr)[-4000:], file=sys.stderr)
        cannot(f"'{' '.join(map(str, words[:4]))} ...' failed")
    return done.stdout


def room(file):
    parts = file.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else "lib"


def function_at(lines, index):
    """The name before the last parenthesis that opens in the first column's line, at or above."""
    for line in reversed(lines[:index + 1]):
        match = FUNCTION.match(line)
        if match:
            return match[1]
    return "?"


class Source:
    """A file's lines, for naming the unreached places."""

    known = {}

    @classmethod
    def place(cls, file, line):
        if file not in cls.known:
            cls.known[file] = (SOURCE_ROOT / file).read_text(encoding="utf-8").split("\n")
        lines = cls.known[file]
        return file, function_at(lines, line - 1), lines[line - 1].strip()


def read_table():
    """Returns how many ways of each place are never taken, and whether there may be fewer."""
    table = {}
    for row in TABLE.read_text(encoding="utf-8").splitlines():
        if not row.startswith("#"):
            file, function, line, ways, _ = row.split("\t")
            up_to, most = WAYS.fullmatch(ways).groups()
            table[file, function, line] = int(most), up_to is not None
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


class Coverage(Campaign):
    unit = "tests"
    limit = None  # each test has its own
    columns = ("skipped", "lines", "not reached", "branches", "never taken", "conditions", "not decisive")

    def prepare(self, folder):
        self.tests = [row for row in json.loads(command(["meson", "introspect", "--tests", BUILT])) if self.is_asked(row)]
        self.total = len(self.tests)
        counting = "-fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc"
        if not (CONDITIONS / "build.ninja").exists():
            command(["meson", "setup", CONDITIONS, SOURCE_ROOT, "-Dbuildtype=debug", "-Dtools=false", "-Djava=disabled",
                     "-Db_lundef=false", f"-Dc_args={counting}", f"-Dc_link_args={counting}",
                     f"-Dcpp_args={counting}", f"-Dcpp_link_args={counting}"],
                    env=dict(os.environ, CC="clang-19", CXX="clang++-19"))
        built = {row["name"]: row for row in json.loads(command(["meson", "introspect", "--tests", CONDITIONS]))}
        self.conditions = {test["name"]: built[test["name"]] for test in self.tests if test["name"] in built}
        programs = {row["cmd"][0] for row in self.conditions.values() if row["cmd"][0].startswith(str(CONDITIONS))}
        shared = [row["filename"][0] for row in json.loads(command(["meson", "introspect", "--targets", CONDITIONS]))
                  if row["type"] == "shared library" and row["name"] == "bloomfile"]
        self.object = shared[0]
        command(["ninja", "-C", CONDITIONS, *(os.path.relpath(path, CONDITIONS) for path in [*programs, *shared]),
                 "fuzz/live-empty.bloom"])  # and all seeds with it
        if "--resume" not in sys.argv and "--only" not in sys.argv:
            for old in [*BUILT.rglob("*.gcda"), *PROFILES.glob("*.profraw")]:
                old.unlink()

    @staticmethod
    def is_asked(row):
        suites = {suite.split(":")[-1] for suite in row["suite"]}
        return not suites & {"tools", "once", "power"} and row["name"] != "plain-or"

    def describe(self, case):
        return f"test {self.tests[case]['name']}"

    def run(self, case, chance, folder):
        test = self.tests[case]
        rows = [(test, {})]
        if test["name"] in self.conditions:
            rows.append((self.conditions[test["name"]], {"LLVM_PROFILE_FILE": f"{PROFILES}/%m.profraw"}))
        skipped = False
        for row, extra in rows:
            try:
                done = subprocess.run(row["cmd"], cwd=row["workdir"] or folder, stdin=subprocess.DEVNULL,
                                      env=dict(os.environ, **row["env"], TMPDIR=str(folder), **extra), check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10 * row["timeout"])
            except subprocess.TimeoutExpired as error:
                raise Found(f"{test['name']} takes too long", {"output": error.stdout or b""}) from None
            if done.returncode not in (0, SKIPPED):
                raise Found(f"{test['name']} ends with {done.returncode}", {"output": done.stdout})
            skipped = skipped or done.returncode == SKIPPED
        return {"tests": {"tests": 1, "skipped": skipped}}

    # ---- after all tests

    def finish(self, rows):
        faults = []
        path = STATE / "gcovr.json"
        command(["gcovr", "--root", SOURCE_ROOT, "--filter", f"{SOURCE_ROOT}/lib/", "--exclude-throw-branches", "--json", path,
                 BUILT], cwd=BUILT)
        never, lost, ways = collections.Counter(), [], 0
        for file in json.loads(path.read_text(encoding="utf-8"))["files"]:
            count = rows[room(file["file"])]
            for line in file["lines"]:
                if line.get("gcovr/noncode"):
                    continue
                taken = [branch["count"] for branch in line["branches"]]
                ways += len(taken)
                count.update({"lines": 1, "not reached": line["count"] == 0, "branches": len(taken),
                              "never taken": taken.count(0)})
                place = Source.place(file["file"], line["line_number"])
                if line["count"] == 0:
                    lost.append(place)
                if 0 in taken:
                    never[place] += taken.count(0)
        for (file, function, line), what in complaints(never, read_table()):
            faults.append(f"{file}: {function}: {line}: {what}")
        named = {(file, function) for file, function, _ in read_table()}
        faults += [f"{file}: {function}: {line}: not reached" for file, function, line in lost
                   if (file, function) not in named]
        if never.total() > (1 - LEAST) * ways:
            faults.append(f"fewer than {LEAST:.0%} of the branches are taken")
        self.decisive(rows)
        (STATE / "not_reached.txt").write_text("".join(f"{': '.join(place)}\n" for place in lost))
        return faults

    def decisive(self, rows):
        """MC/DC, by clang."""
        profile = STATE / "all.profdata"
        # A child killed during the write leaves an unreadable profile.
        command(["llvm-profdata-19", "merge", "-sparse", "-failure-mode=all", "-o", profile, *PROFILES.glob("*.profraw")])
        exported = json.loads(command(["llvm-cov-19", "export", "-format=text", f"-instr-profile={profile}", self.object]))
        listed = []
        for file in exported["data"][0]["files"]:
            name = os.path.relpath(os.path.realpath(file["filename"]), SOURCE_ROOT)
            if room(name).removeprefix("lib/") not in ROOMS:
                continue
            for record in file.get("mcdc_records", []):
                line, decided = record[0], record[-1]
                rows[room(name)].update({"conditions": len(decided), "not decisive": decided.count(False)})
                for i, alone in enumerate(decided):
                    if not alone:
                        listed.append(f"{': '.join(Source.place(name, line))}: condition {i + 1} of {len(decided)}\n")
        (STATE / "not_decisive.txt").write_text("".join(listed))


if __name__ == "__main__":
    sys.exit(main(Coverage))
