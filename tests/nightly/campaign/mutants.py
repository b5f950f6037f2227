# SPDX-License-Identifier: MIT
# Debian: clang-14 python3-clang-14 git
# build: mutants-plain
# targets: build.ninja
"""Does a test fail if the library is wrong? Each case is one mutant of lib/: another operator, constant, condition
or return value, or a removed call or assignment. A test kills it by failing, crashing or hanging, twice.

The cases are all mutants of format/, image/, handle/ and live/, and a fixed sample of the other rooms.
build/campaign/mutants/survived.tsv lists survivors with their number for --only. Kill each by a new test, or judge
it in mutants.tsv: why its behaviour equals the library's. A survivor for which gcc makes the same code cannot be
killed. A complete run fails if fewer than 98% of the rest die. MUTANT_SECONDS is the processor time for the tests
of one mutant (20). MUTANT_TESTS is "quick" (C tests of the suites quick and short; the default), "unit" (all C
tests) or "all". MUTANT_FILES limits the run to files of lib/ whose path has one of these prefixes, as in "image/
handle/"; MUTANT_LIST to mutants in a file, such as a copy of survived.tsv. With MUTANT_SANITIZE=1, tests run with
AddressSanitizer and UBSan, as in scripts/test.

As root, everything runs in a mount namespace with its own /dev: a mutant may replace a file that the library only
opens."""

import base64
import collections
import ctypes
import hashlib
import json
import os
import pathlib
import pickle
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zlib

import mutate
from campaign import BUILT, SOURCE_ROOT, Campaign, Found, cannot, main

ROOMS = "format", "image", "handle", "live"  # all their mutants
SAMPLE = "13"                        # of the other rooms, mutants with a lower identity: 1 in 13
SECONDS = float(os.environ.get("MUTANT_SECONDS", 20))
TESTS = os.environ.get("MUTANT_TESTS", "quick")
SANITIZE = os.environ.get("MUTANT_SANITIZE", "") == "1"
WAY = "sanitized" if SANITIZE else "build"
SANITIZERS = {"ASAN_OPTIONS": "abort_on_error=1:detect_stack_use_after_return=1:allocator_may_return_null=1",
              "UBSAN_OPTIONS": "halt_on_error=1"} if SANITIZE else {}
LONGEST = min(20.0, SECONDS)         # a test that takes more processor time is not run
LEAST = 0.98                         # of the mutants without a judgement
TABLE = SOURCE_ROOT / "tests" / "nightly" / "campaign" / "mutants.tsv"
STATE = pathlib.Path(os.environ.get("STATE", SOURCE_ROOT / "build" / "campaign")) / "mutants"
FAILED = re.compile(rb"\[  FAILED  \]|^(FAIL|ERROR): ", re.M)
UNIT_TEST = re.compile(r"^(?:TEST(?:_IN_DIR|_WITH)?\(|static void )(\w+)(?:\(void \*\*\w+\)|[,)])", re.M)
SPLIT = 0.1  # a program that takes longer is run test by test
EFFECTS = re.compile(r"\w\s*\(|[^=!<>]=[^=]|\+\+|--")  # a call or an assignment: leaving it out removes more than its value
FINE = 60    # seconds for which a test that passed without mutants counts as stable
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
MEMORY = 4 << 30
FILE = 1 << 45  # files of tests are sparse, and larger than the free space of a disk
OWN_DEV = """own=$(mktemp -d); mount -t tmpfs dev "$own"
cd /dev; cp -a null zero full random urandom tty ptmx fd stdin stdout stderr "$own"; cd "$OLDPWD"
for name in shm pts; do mkdir "$own/$name"; mount --bind "/dev/$name" "$own/$name"; done
mount --move "$own" /dev; rmdir "$own"; exec "$@\""""


def command(words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        print(done.stdout[-4000:], file=sys.stderr)
        cannot(f"'{' '.join(map(str, words[:4]))} ...' failed")
    return done.stdout


def put(path, text):
    """Writes only changes, because ninja would rebuild everything."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def remove(folder):
    try:
        folder.rmdir()
    except OSError:
        subprocess.run(["rm", "-rf", folder], check=False)


def waits(group):
    """Whether no process of the group runs or waits for a disk, three times in a row: then it hangs and is not
    just slow."""
    for _ in range(3):
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, its = path.read_text().rpartition(")")[2].split()[:3]
            except (OSError, ValueError):
                continue
            if int(its) == group and state in "RD":
                return False
        time.sleep(0.1)
    return True


class Test:
    """A program, or one test of it."""

    def __init__(self, row, only=None):
        self.row, self.only = row, only
        self.program, self.words = row["name"], row["cmd"]
        self.name = f"{self.program}/{only}" if only else self.program
        self.environment = dict(row["env"], **({"MUTANT_TEST": only} if only else {}))
        self.seconds = self.wall = 0.0
        self.places = collections.Counter()  # the number of places that it reaches, by file

    def is_about(self, file):
        """From 0 to 1: the share of the places it reaches that are in this file."""
        return self.places[file] / sum(self.places.values())

    def run(self, folder, extra, seconds, wall):
        """(the reason for its death or None, seconds of processor time, of wall time)."""
        environment = {**os.environ, **SANITIZERS, **self.environment, "TMPDIR": str(folder), **extra}

        def limits():
            os.setpgrp()
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            if not SANITIZE:  # its shadow memory would count
                resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen(self.words, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limits)
        why = self.watch(process, time.monotonic() + wall)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.stdout.close()
        status = process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if why is None and status != 0:
            why = "hangs" if status == -signal.SIGXCPU else "crashes" if status < 0 else "fails"
        return why, used, time.monotonic() - begun

    @staticmethod
    def watch(process, end):
        """Until it ends or prints that a part of it has failed."""
        os.set_blocking(process.stdout.fileno(), False)
        tail = b""
        while process.poll() is None:
            if time.monotonic() > end and waits(process.pid):
                return "hangs"
            if select.select([process.stdout], [], [], 0.02)[0]:
                data = process.stdout.read(65536) or b""
                if not data:
                    time.sleep(0.002)
                tail = tail[-200:] + data
                if FAILED.search(tail):
                    return "fails"
        return None


class Mutants(Campaign):
    unit = "mutants"
    columns = ("killed", "by hanging", "equivalent", "same code", "not reached", "survived", "unsteady")

    def prepare(self, folder):
        self.seen, self.passed, self.code, self.headers = folder / "reached", {}, {}, {}
        self.compilers = self.commands()
        files = self.find()
        self.choose(files)
        self.tree = STATE / "tree"
        self.make_tree(files)
        self.build()
        self.judged = self.read_table()
        self.reach()
        self.narrow()
        self.total = len(self.cases)
        if self.begins:
            (STATE / "survived.tsv").unlink(missing_ok=True)

    # ---- choice

    def commands(self):
        """{source of lib/: arguments}"""
        units, resources = {}, mutate.resource_folder()
        for entry in json.loads((BUILT / "compile_commands.json").read_text()):
            source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
            if SOURCE_ROOT / "lib" not in source.parents or "bloomfile-internal" not in entry["output"]:
                continue
            words = [word for word in shlex.split(entry["command"]) if word.startswith(("-I", "-D", "-std", "-m"))]
            words = ["-I" + str((pathlib.Path(entry["directory"]) / word[2:]).resolve())
                     if word.startswith("-I") else word for word in words]
            units[source] = [*words, "-resource-dir", resources]
        return units

    def find(self):
        """The mutants of the last run, if no file has changed since."""
        known = hashlib.sha256(pathlib.Path(mutate.__file__).read_bytes() + repr(sorted(self.compilers.items())).encode())
        for path in sorted((SOURCE_ROOT / "lib").rglob("*.[ch]")):
            known.update(path.read_bytes())
        cache = STATE / f"mutants-{known.hexdigest()[:16]}"
        if cache.exists():
            return pickle.loads(cache.read_bytes())
        try:
            files = mutate.find(SOURCE_ROOT, self.compilers.items())
        except (RuntimeError, mutate.cindex.LibclangError) as error:
            cannot(error)
        for old in STATE.glob("mutants-*"):
            old.unlink()
        cache.write_bytes(pickle.dumps(files))
        return files

    def choose(self, files):
        """Chooses the cases. self.number: the number of each in the library; self.first: the number of the first
        mutant at the same place."""
        every = [identity for file in files.values() for _, mutants in file.all() for identity, _ in mutants]
        wanted = {i.id for i in every if i.room in ROOMS or i.id < SAMPLE}
        self.cases, self.number, self.first, self.file_of, self.text = [], {}, {}, [], {}
        for file in files.values():
            for place, mutants in file.all():
                those = [identity for identity, _ in mutants if identity.id in wanted]
                for identity in those:
                    if identity.id in self.number:
                        cannot(f"two mutants have one name: {identity}")
                    self.first[len(self.cases)] = self.number[those[0].id] if identity != those[0] else len(self.cases)
                    self.number[identity.id] = len(self.cases)
                    self.text[identity.id] = mutate.alone(file, place, identity.name)
                    self.file_of.append(identity.file)
                    self.cases.append(identity)

    def narrow(self):
        prefixes = tuple(f"lib/{prefix}" for prefix in os.environ.get("MUTANT_FILES", "").split()) or ("",)
        path = os.environ.get("MUTANT_LIST")
        named = {line.split("\t")[0] for line in pathlib.Path(path).read_text().split("\n")} if path else None
        self.cases = [identity for identity in self.cases if identity.file.startswith(prefixes)
                      and (named is None or identity.id in named)]

    # ---- the build

    def make_tree(self, files):
        names = command(["git", "-C", SOURCE_ROOT, "ls-files"]).split("\n")
        for name in names:
            source = SOURCE_ROOT / name
            if name and source.is_file() and not name.startswith("lib/"):
                target = self.tree / name
                if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(source, target)
        for name in names:
            if name.startswith("lib/") and name not in files:
                put(self.tree / name, (SOURCE_ROOT / name).read_text())
        left_out = collections.defaultdict(set)  # places that the compiler refuses
        before = STATE / "refused.json"
        if before.exists():
            for name, places in json.loads(before.read_text()).items():
                left_out[name] = {tuple(place) for place in places}
        while True:
            writers = {name: self.write(file, left_out[name]) for name, file in files.items()}
            if not self.refused(writers, left_out):
                break
        put(before, json.dumps({name: sorted(places) for name, places in left_out.items()}))
        gone = {i.id for name, file in files.items() for place, mutants in file.all()
                if self.place(file, place) in left_out[name] for i, _ in mutants}
        self.cases = [identity for identity in self.cases if identity.id not in gone]

    @staticmethod
    def place(file, place):
        return hashlib.sha256(file.text.encode()).hexdigest()[:10], place.start, place.end

    def write(self, file, left_out):
        chosen = []
        for place, mutants in file.all():
            wanted = [(identity, place.mutants[name]) for identity, name in mutants if identity.id in self.number]
            if wanted and self.place(file, place) not in left_out:
                chosen.append((place, [(self.number[identity.id], text) for identity, text in wanted]))
        writer = mutate.Writer(file, chosen)
        put(self.tree / file.name, writer.write())
        return writer

    def refused(self, writers, left_out):
        """Whether the compiler refuses anything; adds the refused places to left_out."""
        header = SOURCE_ROOT / "tests" / "nightly" / "campaign" / "mutant.h"
        found = False
        for source, words in self.compilers.items():
            name = str(source.relative_to(SOURCE_ROOT))
            checked = STATE / "checked" / name.replace("/", "_")
            words = [word.replace(f"-I{SOURCE_ROOT}", f"-I{self.tree}") if not word.startswith(f"-I{BUILT}") else word
                     for word in words]
            text = (self.tree / name).read_bytes()
            digest = hashlib.sha256(text + " ".join(words).encode()).hexdigest()
            if checked.exists() and checked.read_text() == digest:
                continue
            done = subprocess.run(["clang-14", "-fsyntax-only", "-w", "-ferror-limit=0", "-include", header, *words,
                                   self.tree / name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  check=False)
            errors = re.findall(r"^(\S+?):(\d+):(\d+): (?:fatal )?error: (.*)", done.stderr, re.M)
            at_fault = 0
            for path, line, column, _ in errors:
                at = str(pathlib.Path(path).resolve().relative_to(self.tree))
                place = writers[at].at_fault(int(line), int(column)) if at in writers else None
                if place is not None:  # else the error follows from a different error
                    left_out[at].add(self.place(writers[at].file, place))
                    at_fault += 1
            if done.returncode == 0:
                put(checked, digest)
            elif at_fault == 0:
                cannot(done.stderr)
            found = found or at_fault > 0
        return found

    def build(self):
        """Builds only the programs that the tests need."""
        self.built = self.tree / WAY
        header = self.tree / "tests" / "nightly" / "campaign" / "mutant.h"
        if not (self.built / "build.ninja").exists():
            how = ["-Db_sanitize=address,undefined"] if SANITIZE else []
            command(["meson", "setup", self.built, self.tree, "-Doptimization=1", "-Ddebug=false", "-Djava=disabled",
                     *how, f"-Dc_args=-w -D_GNU_SOURCE -include {header}"],
                    env=dict(os.environ, CC="gcc"))
        command(["ninja", "-C", self.built, "build.ninja"])  # without it, meson lists the tests of the last run
        rows = json.loads(command(["meson", "introspect", "--tests", self.built]))
        self.tests = [Test(row) for row in rows if self.is_asked(row)]
        targets = sorted({os.path.relpath(test.words[0], self.built) for test in self.tests
                          if test.words[0].startswith(str(self.built))}) if TESTS != "all" else []
        command(["ninja", "-j", str(len(os.sched_getaffinity(0))), "-C", self.built, *targets])

    def is_asked(self, row):
        suites = {suite.split(":")[-1] for suite in row["suite"]}
        if "power" in suites or "once" in suites or row["name"] == "plain-or":
            return False
        if TESTS == "quick" and not suites & {"quick", "short"}:
            return False
        if TESTS != "all":
            return "tools" not in suites and row["cmd"][0].startswith(str(self.built / "tests"))
        return True

    # ---- the tests that reach each mutant

    def reach(self):
        """Runs each test once without mutants, unless no file has changed since."""
        library = hashlib.sha256()
        for name in sorted(str(path) for path in (self.tree / "lib").rglob("*.[ch]")):
            library.update(pathlib.Path(name).read_bytes())
        self.reaching = collections.defaultdict(list)
        programs, self.tests = self.tests, []
        for program in programs:
            binary = pathlib.Path(program.words[0])
            key = library.hexdigest()[:16] + hashlib.sha256(binary.read_bytes()).hexdigest()[:16] \
                if binary.is_file() and str(binary).startswith(str(self.built)) else library.hexdigest()[:32]
            path = STATE / "reached" / WAY / f"{program.name}.json"
            known = json.loads(path.read_text()) if path.exists() else {"key": None}
            if known["key"] != key or (known["longest"] < LONGEST and any(row["why"] for row in known["tests"].values())):
                known = {"key": key, "longest": LONGEST, "tests": self.measure(program)}
                put(path, json.dumps(known))
            for only, row in known["tests"].items():
                test = Test(program.row, only or None)
                if row["why"] is not None:
                    print(f"without mutants, {test.name} {row['why']} in {LONGEST:.0f} s, so it is not asked", file=sys.stderr)
                    continue
                self.tests.append(test)
                test.seconds, test.wall = row["seconds"], row["wall"]
                for number, seen in enumerate(zlib.decompress(base64.b64decode(row["seen"]))):
                    if seen:
                        self.reaching[number].append((test, seen))
                        test.places[self.file_of[number]] += 1

    def measure(self, program):
        """{name of a test of the program, or "" for the whole program: its times and places}"""
        name = os.path.basename(program.words[0]).removesuffix("-pinned").replace("-", "_")
        source = SOURCE_ROOT / "tests" / "unit" / f"{name}.c"
        names = UNIT_TEST.findall(source.read_text()) if source.exists() else []
        parts = {name: self.measure_one(Test(program.row, name)) for name in names} if len(set(names)) > 1 else {}
        alone = [part for part in parts.values() if part["why"] in ("fails", "crashes")]
        if not parts or alone or sum(part["seconds"] for part in parts.values()) < SPLIT:
            return {"": self.measure_one(program)}
        return parts

    def measure_one(self, test):
        work = self.seen.parent / "work"
        self.seen.write_bytes(bytes(len(self.number)))
        work.mkdir()
        why, used, wall = test.run(work, {"MUTANTS_REACHED": str(self.seen)}, LONGEST, 20 * LONGEST)
        remove(work)
        return {"why": why, "seconds": round(used, 4), "wall": round(wall, 4),
                "seen": base64.b64encode(zlib.compress(self.seen.read_bytes())).decode()}

    def meeting(self, identity):
        """The tests that reach it and, as far as known, in which it makes a difference."""
        name, number = identity.name, self.number[identity.id]
        values = {"0": 2, "1": 4, "<= for <": 4, ">= for >": 4, "< for <=": 2, "> for >=": 2}
        needed = values.get(name, 7) if not EFFECTS.search(identity.source) else 7
        return [test for test, seen in self.reaching[self.first[number]] if seen & needed]

    def read_table(self):
        """{identity: reason}"""
        rows = [line.split("\t") for line in TABLE.read_text().split("\n") if line and not line.startswith("#")]
        older = [row[0] for row in rows if row[0] not in self.number]
        if older:
            cannot(f"{TABLE.name} lists mutants that are not among the cases: {' '.join(older)}")
        return {row[0]: row[-1] for row in rows}

    # ---- equal code

    def is_same_code(self, identity, folder):
        """Whether gcc compiles every source of the library that has the mutant to the same code."""
        path = folder / "changed" / identity.file.removeprefix("lib/")
        path.parent.mkdir(parents=True)
        path.write_text(self.text[identity.id])
        header = path.suffix == ".h"
        if header and "/" not in identity.file.removeprefix("lib/"):
            return False  # sources next to it find the original
        for source in self.compilers:
            if header and SOURCE_ROOT / identity.file not in self.headers_of(source):
                continue
            if not header and source != SOURCE_ROOT / identity.file:
                continue
            if source not in self.code:
                self.code[source] = self.code_of(source, source.read_text(), [])
            text = source.read_text() if header else self.text[identity.id]
            if self.code_of(source, text, [f"-I{folder}/changed"]) != self.code[source]:
                return False
        return True

    def gcc(self, source, words, **options):
        flags = [word for word in self.compilers[source] if word.startswith(("-I", "-D", "-std", "-m"))]
        return subprocess.run(["gcc", *words, *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, **options)

    def code_of(self, source, text, words):
        """None if it does not compile."""
        words = [*words, f"-I{source.parent}", "-O2", "-fPIC", "-w", "-S", "-o", "-", "-x", "c", "-"]
        done = self.gcc(source, words, input=text.encode())
        return hashlib.sha256(done.stdout).digest() if done.returncode == 0 else None

    def headers_of(self, source):
        if source not in self.headers:
            rule = self.gcc(source, ["-MM", source]).stdout.decode().replace("\\\n", " ")
            self.headers[source] = {pathlib.Path(word).resolve() for word in rule.split()[1:]}
        return self.headers[source]

    # ---- one mutant

    def describe(self, case):
        return f"{self.cases[case].id} {self.cases[case]}"

    def order(self, identity, tests):
        """Orders tests: first those that killed mutants of this file, or are about it, and are quick."""
        kills = collections.Counter()
        try:
            for line in (STATE / "killed.tsv").read_text().split("\n"):
                words = line.split("\t")
                if len(words) == 3 and words[1] == identity.file:
                    kills[words[2]] += 1
                if len(words) == 3 and words[0] == identity.id:
                    kills[words[2]] += 10000
        except FileNotFoundError:
            pass
        return sorted(tests, key=lambda test: -(kills[test.name] + 0.2 + 10 * test.is_about(identity.file))
                      / (test.seconds + 0.02))

    def ask(self, test, number, folder):
        work = folder / "work"
        work.mkdir()
        environment = {"MUTANT": str(number)} if number is not None else {}
        why, _, _ = test.run(work, environment, 4 * test.seconds + 0.5, 4 * test.wall + 30 * test.seconds + 10)
        remove(work)
        return why

    def kills(self, test, number, folder):
        """The reason for its death, confirmed by a second run and a run without mutants; or None; or "unsteady"."""
        why = self.ask(test, number, folder)
        if why is None:
            return None
        if self.ask(test, number, folder) is None:
            return "unsteady"
        if time.monotonic() - self.passed.get(test.name, -FINE) >= FINE:
            if self.ask(test, None, folder) is not None:
                if self.ask(test, None, folder) is not None:
                    raise Found(f"{test.name} fails without any mutant")
                return "unsteady"
            self.passed[test.name] = time.monotonic()
        return why

    def run(self, case, chance, folder):
        identity = self.cases[case]
        row = f"lib/{identity.room}" if identity.room != "." else "lib"
        if identity.id in self.judged:
            return {row: {"mutants": 1, "equivalent": 1}}
        tests = self.order(identity, self.meeting(identity))
        left, asked, unsteady = SECONDS, 0, 0
        for test in tests:
            if test.seconds > left:
                continue
            why = self.kills(test, self.number[identity.id], folder)
            asked += 1
            left -= test.seconds
            if why == "unsteady":
                unsteady = 1
            elif why is not None:
                with open(STATE / "killed.tsv", "a") as file:
                    file.write(f"{identity.id}\t{identity.file}\t{test.name}\n")
                return {row: {"mutants": 1, "killed": 1, **({"by hanging": 1} if why == "hangs" else {})}}
        if self.is_same_code(identity, folder):
            return {row: {"mutants": 1, "same code": 1}}
        why = "survived" if tests else "not reached"
        with open(STATE / "survived.tsv", "a") as file:
            file.write(f"{identity.id}\t{identity}\t{why}\t{case}\t{asked} of {len(tests)} tests\n")
        return {row: {"mutants": 1, why: 1, **({"unsteady": 1} if unsteady else {})}}

    def finish(self, rows):
        alive = sum(row["survived"] + row["not reached"] for row in rows.values())
        asked = sum(row["killed"] for row in rows.values()) + alive
        if alive > (1 - LEAST) * asked:
            return [f"{alive} of {asked} mutants that are not judged were not killed; they are in {STATE / 'survived.tsv'}"]
        return []


if __name__ == "__main__":
    if os.geteuid() == 0 and "OWN_DEV" not in os.environ:
        os.environ["OWN_DEV"] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "sh", "-euc", OWN_DEV, "sh", *sys.orig_argv])
    sys.exit(main(Mutants))
