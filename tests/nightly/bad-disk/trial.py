# SPDX-License-Identifier: MIT
"""One run of a scenario on a disk of its own, and the check for forbidden results."""

import collections
import os
import struct
import subprocess

from disk import BadDisk
from mounts import ENVIRONMENT, TIMEOUT, run

USER, CHECK = os.environ["BAD_DISK_USER"], os.environ["BAD_DISK_CHECK"]
WRITERS = 4
KEYS = 1 << 14  # of each writer
COPIES = 64
TOTALS = 5  # fields: syncs, told, sealed, taken, copies
NUMBERS = 2 * WRITERS + TOTALS + COPIES * (1 + WRITERS)
BLOCKED, CLASSIC, COUNTING = 1, 2, 3
SIGBUS, SIGKILL = -7, -9

Ledger = collections.namedtuple("Ledger", "added promised syncs told sealed taken copies")


class Trial:
    """.filter lies on a disk that is about to fail; .figures counts the results."""

    def __init__(self, where, rng, layout, new_files):
        """Writes will fail to new files, or else to the filter."""
        self.rng, self.layout = rng, layout
        self.disk = BadDisk(where)
        self.filter = self.disk.root / "filter"
        self.copies = self.disk.good
        self.ledger_path = self.disk.good / "ledger"
        self.ledger_path.write_bytes(bytes(4 * NUMBERS))
        self.history = []
        self.running = []
        self.figures = collections.Counter(runs=1)
        self.faults = []
        self.extra = []  # (path, keys of each writer): filters reported as on disk
        self.exempt = ()  # writers whose keys may be lost unnoticed
        self.use(0, f"create={layout} close")
        self.disk.make_holes(rng, [] if new_files else [self.filter], new_files)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running:
            process.kill()
            process.wait(TIMEOUT)
        self.disk.__exit__()

    # ---- actions

    def start(self, writer, *scripts):
        self.history.append((writer, *scripts))
        process = subprocess.Popen([USER, self.filter, self.copies, self.disk.ballast,
                                    self.ledger_path, str(writer), *scripts], env=ENVIRONMENT)
        self.running.append(process)
        return process

    def start_tool(self, name, *arguments, keys=None):
        """`keys`: (writer, first, end), for its standard input."""
        self.history.append((name, *map(str, arguments), keys))
        path = self.disk.good / "keys"
        path.write_text(run(USER, "keys", *map(str, keys)) if keys else "")
        with open(path, "rb") as file:
            return subprocess.Popen([os.environ[name.upper()], "-q", *arguments], stdin=file,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env=ENVIRONMENT)

    def end_tool(self, process, patience=None):
        """Waits for the tool, and kills it after `patience` seconds; returns whether it exited with 0."""
        try:
            status = process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait(TIMEOUT)
        if status not in (0, 2, SIGKILL):
            raise RuntimeError(f"status {status}: {self}")
        self.history.append(f"status {status}")
        self.figures.update(told=status == 2)
        return status == 0

    def tool(self, name, *arguments, **options):
        return self.end_tool(self.start_tool(name, *arguments, **options))

    def wait(self):
        """Waits for every started program. SIGBUS means that a mapped page could not be read."""
        for process in self.running:
            status = process.wait()
            if status not in (0, 1, SIGKILL, SIGBUS):
                raise RuntimeError(f"status {status}: {self}")
        self.running.clear()

    def use(self, writer, *scripts):
        self.start(writer, *scripts)
        self.wait()

    def ledger(self):
        numbers = struct.unpack(f"{NUMBERS}I", self.ledger_path.read_bytes())
        added, promised = numbers[:WRITERS], numbers[WRITERS:2 * WRITERS]
        totals, rest = numbers[2 * WRITERS:][:TOTALS], numbers[2 * WRITERS + TOTALS:]
        copies = [(rest[i], rest[i + 1:i + 1 + WRITERS]) for i in range(0, len(rest), 1 + WRITERS)]
        return Ledger(added, promised, *totals[:-1], copies)

    def promise(self, writer, end):
        """A tool reported the first keys of this writer as in the filter and on disk."""
        with open(self.ledger_path, "r+b") as ledger:
            for place in writer, WRITERS + writer:
                ledger.seek(4 * place)
                ledger.write(struct.pack("I", end))
        self.figures.update(syncs=1)

    # ---- results

    def look(self, path, keys):
        result = subprocess.run([CHECK, path, *map(str, keys)], stdout=subprocess.PIPE, text=True,
                                timeout=TIMEOUT, env=ENVIRONMENT)
        if result.returncode == SIGBUS:
            return {"open": "SIGBUS", "raw": [0] * WRITERS}
        if result.returncode != 0:
            raise RuntimeError(f"status {result.returncode}: {CHECK}")
        sight = {"raw": [0] * WRITERS}
        for line in result.stdout.splitlines():
            name, rest = line.split(" ", 1)
            sight[name] = rest if name in ("open", "status", "verify") else list(
                map(int, rest.split()))
        return sight

    def judge(self):
        """Judges after the last program has ended."""
        self.wait()
        self.disk.heal()
        ledger = self.ledger()
        self.figures.update(syncs=ledger.syncs, told=ledger.told)
        self.judge_filter(ledger)
        for number, (done, keys) in enumerate(ledger.copies):
            if done:
                self.judge_copy(self.copies / f"copy.{number}", keys, sealed=done == 1)
        for path, keys in self.extra:
            self.judge_copy(path, keys, sealed=True)
        self.figures["silent"] = int(self.figures["lost"] > 0)

    def judge_filter(self, ledger):
        sight = self.look(self.filter, ledger.promised)
        refused = sight["open"] != "OK"
        missing = sight["raw" if refused else "missing"]
        unnoticed = sum(missing[writer] for writer in self.exempt)
        lost = sum(missing) - unnoticed
        self.figures.update(refused=refused, unnoticed=0 if refused else unnoticed)
        if lost and refused:
            self.figures.update(early=1)
            self.fault("a sync returned 0 too early", sight)
        elif lost:
            self.figures.update(lost=lost)
            self.fault(f"{lost} keys of the filter are lost", sight)
        if ledger.sealed and sight.get("verify") != "OK":
            self.figures.update(unreadable=1)
            self.fault("it was said to be sealed", sight)

    def judge_copy(self, path, keys, sealed):
        """A live copy, made by a rescue, may be refused."""
        sight = self.look(path, keys)
        lost = sum(sight["missing"]) if sight["open"] == "OK" else 0
        self.figures.update(copies=1)
        if lost:
            self.figures.update(lost=lost)
            self.fault(f"{lost} keys of {path.name} are lost", sight)
        elif sealed and sight.get("verify") != "OK":
            self.figures.update(unreadable=1)
            self.fault(f"{path.name} was said to be on disk", sight)

    def fault(self, what, sight):
        self.faults.append(f"{what}: {sight}\n    {self}")

    def __str__(self):
        return "\n    ".join(map(str, self.history))
