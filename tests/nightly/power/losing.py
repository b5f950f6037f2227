# SPDX-License-Identifier: MIT
"""Tools and examples that run until the power fails, and the required state of their files afterwards.

A scenario is an object with a machine's folder: begin() makes its first files, steps() is a list of commands that
continue from the state found last, judge() checks the files after the loss. A command that exited with 0 has
promised its result."""

import collections
import pathlib
import shlex
import statistics
import struct
import subprocess
import time

from life import CHECK, Writer
from machine import DISKS
from mounts import ENVIRONMENT, TIMEOUT, run

BUILT = pathlib.Path(CHECK).parents[3]
SHIP = pathlib.Path(__file__).parents[3] / "examples" / "shipping" / "ship.sh"
PATH = ":".join(str(BUILT / folder) for folder in ("tools", "examples", "examples/rocksdb",
                                                   "examples/leveldb"))
BUILDS = 8
SHAPE = ["-x", "8", "-m", "1M", "-k", "5"]
ROWS = 2000  # most rows of a table
SETS = 4

# A command for the shell, and its effect on a state.
Step = collections.namedtuple("Step", "command effect")
durations = collections.defaultdict(lambda: [0.005])  # of commands, by their first words, in seconds


def tool(*words, **options):
    return run(*words, env={**ENVIRONMENT, "PATH": f"{PATH}:{ENVIRONMENT['PATH']}"}, **options)


def ask(*words, **options):
    """Runs a command that may fail; returns its result, with texts."""
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                          env={**ENVIRONMENT, "PATH": f"{PATH}:{ENVIRONMENT['PATH']}"}, check=False, **options)


def keys_of(build):
    return 20_000 + 3000 * build


# ------------------------------------------------------------------ until the power fails


def script(steps, errors):
    """A script that prints the begin and the exit status of each step, and stops at a failure."""
    lines = [f"PATH={PATH}:$PATH"]
    for i, step in enumerate(steps):
        lines += [f"echo begun {i}", f"{{ {step.command}; }} >/dev/null 2>{shlex.quote(str(errors))}", "s=$?",
                  f"echo ended {i} $s", "[ $s = 0 ] || exit"]
    return "\n".join([*lines, f"exec sleep {TIMEOUT}"])


def name_of(step):
    return " ".join(step.command.split()[:2])


def live_and_lose(machine, steps, rng, errors):
    """The status of each step that began, None if it did not end; and a fault, if a step failed with the power on."""
    at = rng.randrange(2 * len(steps))
    writer = Writer(machine, "sh", "-c", script(steps, errors))
    try:
        machine.prepare_loss()
        writer.wait_for(at + 1)
        if at % 2 == 0:
            time.sleep(rng.uniform(0, 1.2) * statistics.median(durations[name_of(steps[at // 2])][-9:]))
        seen = len(writer.events)
        said = errors.read_text() if errors.exists() else ""
        machine.lose_power()
    finally:
        events = writer.end(rng.choice([0, 0.1]))
    statuses, fault = [], None
    for i, (when, event, rest) in enumerate(events):
        if event == "begun":
            statuses.append(None)
            begun = when
            continue
        number, statuses[-1] = map(int, rest.split())
        if i < seen and statuses[-1] != 0:
            fault = f"{steps[number].command}: status {statuses[-1]}, with the power on: {said}"
        if i < seen and statuses[-1] == 0:
            durations[name_of(steps[number])].append(when - begun)
    if seen <= at and fault is None:
        fault = f"only {seen} events came: {events}"
    return statuses, fault


def after(states, steps, statuses):
    """The possible states: a step with exit status 0 is certain, the last one is not."""
    for step, status in zip(steps, statuses):
        made = [step.effect(state) for state in states]
        states = made if status == 0 else states + [state for state in made if state not in states]
    return states


# ------------------------------------------------------------------ scenarios


class Scenario:
    def __init__(self, shared, root, rng):
        self.shared, self.root, self.rng = shared, root, rng
        self.state = None  # the state known to be on disk

    def kill(self, command):
        """Sometimes kills it, and runs it again."""
        if self.rng.random() < 0.7:
            return command
        seconds = self.rng.uniform(0, 1) * statistics.median(durations[" ".join(command.split()[:2])][-9:])
        ended = "for _ in $(seq 500); do kill -0 -$p || break; sleep 0.01; done 2>/dev/null"
        return f"setsid {command} & p=$!; sleep {seconds:.4f}; kill -9 -$p; wait $p; {ended}; {command}"

    def judge(self, states):
        """Returns the number of promised keys that were found, and the faults; sets .state to the state found."""
        raise NotImplementedError


class Files(Scenario):
    """A state maps each file to a name and a key of contents()."""

    def begin(self):
        self.state = {}
        self.known = contents(self.shared)
        self.made = 0

    def puts(self, command, name, what, build):
        content = self.known[(self.shared / f"{what}-{build}.bloom").read_bytes()]
        return Step(command, lambda state: {**state, name: content})

    def judge(self, states):
        found = {}
        for path in self.root.iterdir():
            if path.is_file() and not path.name.startswith(".bloomfile."):
                found[path.name] = self.known.get(path.read_bytes(), "none of them")
        fitting = [state for state in states if state == found]
        self.state = found
        if fitting:
            return sum(keys_of(content[-1]) for content in found.values()), []
        checks = [f"{name}: {ask(CHECK, self.root / name, str(keys_of(0))).stdout!r}" for name in found]
        return 0, [f"there is {found}, where there may be {states}", *checks]


def contents(shared):
    """{bytes: (kind, number)}; all keys of the build with that number are in it."""
    return {path.read_bytes(): (path.stem.split("-")[0], int(path.stem.split("-")[1]))
            for path in shared.glob("*.bloom")}


class Delta(Files):
    """Patches are applied in place, or make a new file; forward and backward."""

    def begin(self):
        super().begin()
        tool("cp", self.shared / "build-0.bloom", self.root / "filter")
        tool("sync", self.root / "filter", self.root)
        self.state["filter"] = ("build", 0)

    def steps(self):
        for name in set(self.state) - {"filter"}:
            (self.root / name).unlink()
            del self.state[name]
        tool("sync", self.root)
        steps, at = [], self.state["filter"][1]
        for _ in range(self.rng.randint(1, 5)):
            to = self.rng.choice([build for build in (at - 1, at + 1) if 0 <= build < BUILDS])
            old, patch = self.root / "filter", self.shared / f"{at}-{to}.patch"
            if self.rng.random() < 0.7:
                steps.append(self.puts(f"bfdelta --apply -q -f {old} {patch} {old}", "filter", "build", to))
                at = to
            else:
                self.made += 1
                name = f"new-{self.made}"
                steps.append(self.puts(f"bfdelta --apply -q {old} {patch} {self.root / name}", name, "build", to))
        return steps


class Building(Files):
    """Filters are built, merged and folded, over an existing file or to a new name."""

    def steps(self):
        steps = []
        for _ in range(self.rng.randint(1, 4)):
            name, build = f"made-{self.rng.randrange(3)}", self.rng.randrange(BUILDS)
            what = self.rng.choice(["build", "merge", "fold"])
            steps.append(self.puts(making(self.shared, what, build, self.root / name), name, what, build))
        return steps


def making(shared, what, build, to):
    """The command that builds one, merges two, or folds one."""
    words = {"build": ["bfcreate", "-q", "-f", *SHAPE, to, shared / f"{build}.keys"],
             "merge": ["bfmerge", "-q", "-f", "--discard", "-p", "1", to, shared / f"build-{build}.bloom",
                       shared / f"build-{(build + 3) % BUILDS}.bloom"],
             "fold": ["bffold", "-q", "-f", "--discard", "--factor", "2", shared / f"build-{build}.bloom", to]}[what]
    return shlex.join(map(str, words))


class Shipping(Scenario):
    """A state is the latest build of the site, and the current build of the server."""

    def begin(self):
        self.number = 0
        self.site, self.server = self.root / "site", self.root / "server"
        self.site.mkdir()
        self.server.mkdir()
        self.state = None, None
        for step in self.publish(), self.update():
            tool("sh", "-c", step.command)
            self.state = step.effect(self.state)

    def build(self, name):
        """The number of the build, which its name contains."""
        return int(name.split("-")[1])

    def publish(self):
        self.number += 1
        build = self.number % BUILDS
        name = f"b{self.number}-{build}"
        return Step(self.kill(f"{SHIP} publish {self.shared}/build-{build}.bloom {name} {self.site}"),
                    lambda state: (name, state[1]))

    def update(self):
        return Step(self.kill(f"{SHIP} update {self.site} {self.server}"), lambda state: (state[0], state[0]))

    def rollback(self, name):
        return Step(self.kill(f"{SHIP} rollback {self.server} {name}"), lambda state: (state[0], name))

    def steps(self):
        steps = []
        for _ in range(self.rng.randint(1, 3)):
            steps += self.rng.choice([[self.publish()], [self.publish(), self.update()], [self.update()],
                                      [self.rollback(self.state[1])]])
        return steps

    def judge(self, states):
        latest = pathlib.Path((self.site / "latest").read_text().split()[2])  # after serial and sum
        found = latest.stem, (self.server / "current.bloom").readlink().stem
        faults = [] if found in states else [f"there is {found}, where there may be {states}"]
        faults += self.faults_of(self.site / f"{found[0]}.bloom") + self.faults_of(self.server / "current.bloom")
        if not faults:
            result = ask(SHIP, "update", self.site, self.server)
            if result.returncode != 0 or (self.server / "current.bloom").readlink().stem != found[0]:
                faults.append(f"it cannot be updated: {result.stderr}")
            found = found[0], found[0]
        self.state = found
        return sum(keys_of(self.build(name)) for name in found) if not faults else 0, faults

    def faults_of(self, path):
        name = path.resolve().stem
        whole = (self.shared / f"build-{self.build(name)}.bloom").read_bytes()
        return [] if path.exists() and path.read_bytes() == whole else [f"{path} is not the build {name}"]


class Guard(Scenario):
    """A program that looks up the filter first must find every order of the store."""

    def begin(self):
        self.folder = self.root / "shop"
        self.folder.mkdir()
        durations["guard -n"] = [0.5]

    def steps(self):
        return [Step(f"guard -n 300 -t 9 -w 1 -d 0 {self.folder}", lambda state: state)]

    def judge(self, states):
        orders = self.folder / "guard.orders"
        count = orders.stat().st_size // 16 if orders.exists() else 0
        result = ask("guard", "-n", "300", "-t", "1", "-w", "1", "-d", "0", self.folder)
        return count, [result.stdout + result.stderr] * (result.returncode != 0)


class Rocksdb(Scenario):
    """Sets of rows with a filter: the database has exactly one set."""

    def begin(self):
        self.folder = self.root / "db"
        self.state = 0
        tool("shipped", "ingest", self.shared / "set-0", self.folder)
        tool("sync", "-f", self.root)

    def ingest(self, number):
        return Step(self.kill(f"shipped ingest {self.shared / f'set-{number}'} {self.folder}"), lambda state: number)

    def steps(self):
        return [self.ingest(self.rng.randrange(SETS)) for _ in range(self.rng.randint(1, 3))]

    def judge(self, states):
        result = ask("shipped", "get", self.folder, "-", input="".join(f"key {i}\n" for i in range(2 * ROWS)))
        for number in states:
            if result.stdout == rows_of_set(number):
                self.state = number
                return len(result.stdout.splitlines()), []
        return 0, [f"{len(result.stdout.splitlines())} rows, not those of a set of {states}: {result.stderr}"]


def rows_of_set(number):
    return "".join(f"key {i}\t{number}\n" for i in range(number, 2 * ROWS - 100 * number))


class Leveldb(Scenario):
    """The filters in LevelDB's tables lose no row that LevelDB kept."""

    def begin(self):
        self.folder = self.root / "db"
        self.number = 0

    def steps(self):
        steps = []
        for _ in range(self.rng.randint(1, 4)):
            self.number += 1
            words = self.rng.choice(["load {} {}", "load {} {}", "compact {}"]) if self.number > 1 else "load {} {}"
            rows = self.shared / f"rows-{self.number % SETS}"
            steps.append(Step("levelfilter " + words.format(self.folder, rows), lambda state: state))
        return steps

    def judge(self, states):
        if not (self.folder / "CURRENT").exists():
            self.number = 0
            return 0, []
        result = ask("levelfilter", "check", self.folder)
        if result.returncode == 2:  # not the filters: rows that LevelDB had not synchronised
            return 0, [result.stderr]
        dumped = ask("levelfilter", "dump", self.folder)
        if dumped.returncode != 0:
            return 0, [dumped.stderr]
        keys = len(dumped.stdout.splitlines())
        return keys, [result.stdout + result.stderr] * (result.returncode != 0)


SCENARIOS = {"delta": Delta, "building": Building, "shipping": Shipping, "guard": Guard,
             "rocksdb": Rocksdb, "leveldb": Leveldb}


def prepare(shared):
    """Makes the files that machines share: builds, patches between them, sets of rows."""
    for build in range(BUILDS):
        (shared / f"{build}.keys").write_bytes(struct.pack(f"<{keys_of(build)}Q", *range(keys_of(build))))
        tool("sh", "-c", making(shared, "build", build, shared / f"build-{build}.bloom"))
    for build in range(BUILDS):
        for what in "merge", "fold":
            tool("sh", "-c", making(shared, what, build, shared / f"{what}-{build}.bloom"))
        for other in {build - 1, build + 1} & set(range(BUILDS)):
            tool("bfdelta", "-q", *(shared / f"build-{number}.bloom" for number in (build, other)),
                 shared / f"{build}-{other}.patch")
    for number in range(SETS):
        rows = shared / f"rows-{number}"
        rows.write_text(rows_of_set(number))
        tool("shipped", "ship", shared / f"set-{number}", rows)
