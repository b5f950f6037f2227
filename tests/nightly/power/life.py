# SPDX-License-Identifier: MIT
"""The life of a writer until the power fails, and the allowed states of its file afterwards."""

import collections
import contextlib
import dataclasses
import os
import re
import signal
import subprocess
import threading
import time

from machine import IN_BOOT
from mounts import ENVIRONMENT, TIMEOUT, run

WRITER, WRITER_NOSYNC, CHECK = (os.environ[name] for name in
                                ("POWER_WRITER", "POWER_WRITER_NOSYNC", "POWER_CHECK"))
PHASES = ["creating", "created", "opening", "opened", "syncing", "synced", "closing", "closed",
          "sealing", "sealed"]
LAYOUTS = {1: 1, 2: 1, 3: 4}  # bits of the body per position
# Bodies have 512 << 9 to 512 << 18 bits, 32 KiB to 16 MiB; 1 MiB where touching single pages is slow.
LARGEST = {"ext4": 18, "xfs": 18, "btrfs": 14}
GROWS = 0  # in place of a layout: a series, whose label ends with this word
WORD = " that grows"

# A possible state of a filter after the loss. state: absent; clean; unclean, that is BLOOMFILE_EUNCLEAN; sealed. It has
# all keys below `keys`.
Outcome = collections.namedtuple("Outcome", "state label keys")
ABSENT = Outcome("absent", None, 0)


@dataclasses.dataclass
class Plan:
    """The arguments of power-writer."""
    start: str
    label: str
    layout: int
    bits: int
    first: int
    step: int
    syncs: int
    sessions: int
    end: str

    def command(self, program, machine):
        return [program, machine.root / "filter", *map(str, dataclasses.astuple(self))]

    def events(self):
        """The events that the writer will report."""
        creates = self.start in ("create", "replace")
        start = ["creating", "created"] if creates else ["opening", "opened"]
        session = ["syncing", "synced"] * self.syncs
        between = ["closing", "closed", "opening", "opened"]
        end = ["sealing", "sealed"] if self.end == "seal" else ["closing", "closed"]
        return start + session + (between + session) * (self.sessions - 1) + end


def phases(before, grows):
    """The possible phases; a series is not sealed or replaced."""
    if not grows:
        return PHASES
    begin = ["creating", "created"] if before.state == "absent" else ["opening", "opened"]
    return [*begin, "syncing", "synced", "closing", "closed"]


def plan_of_series(rng, before, label, largest):
    start = {"absent": "create", "clean": "open", "unclean": "accept"}[before.state]
    bits = 512 << rng.randint(9, largest)
    return Plan(start=start, label=label + WORD, layout=GROWS, bits=bits,
                first=0 if start == "create" else before.keys, step=rng.randint(1, bits // 400),
                syncs=rng.randint(0, 4), sessions=rng.randint(1, 2), end="close")


def plan(rng, phase, before, label, grows, largest):
    """A random life in which that phase occurs, and the number of its event, from 0."""
    while grows:
        p = plan_of_series(rng, before, label, largest)
        where = [i for i, event in enumerate(p.events()) if event == phase]
        if where:
            return p, rng.choice(where)
    while True:
        starts = {"absent": ["create"], "clean": ["open", "open", "replace"],
                  "unclean": ["accept", "accept", "replace"], "sealed": ["replace"]}[before.state]
        layout = rng.choice(list(LAYOUTS))
        size = 512 << rng.randint(9, largest)
        p = Plan(start=rng.choice(starts), label=label, layout=layout,
                 bits=size // LAYOUTS[layout], first=0, step=0, syncs=rng.randint(0, 4),
                 sessions=rng.randint(1, 2), end=rng.choice(["close", "seal"]))
        if p.start in ("open", "accept"):
            p.first = before.keys
        p.step = rng.randint(1, max(1, p.bits // 400))
        where = [i for i, event in enumerate(p.events()) if event == phase]
        if where:
            return p, rng.choice(where)


class Writer:
    """A running program that reports its events. .events grows: [(seconds, event, the rest)]."""

    def __init__(self, machine, *command):
        self.process = subprocess.Popen([*IN_BOOT, machine.boot, *command], stdout=subprocess.PIPE, text=True,
                                        env=ENVIRONMENT, start_new_session=True)
        self.events = []
        self.ended = False
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            event, rest = line.split(" ", 1)
            with self.changed:
                self.events.append((time.monotonic(), event, rest.strip()))
                self.changed.notify()
        with self.changed:
            self.ended = True
            self.changed.notify()

    def wait_for(self, count):
        """Waits for this many events, or for the last one."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.events) >= count or self.ended, TIMEOUT)

    def alive(self):
        return self.process.poll() is None

    def end(self, patience):
        """Waits for this many seconds, in which it may meet errors; then kills it and its children. Returns all
        its events."""
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(TIMEOUT)
        self.reader.join(TIMEOUT)
        self.process.stdout.close()
        return self.events


def outcomes(before, plan_, events, seen):
    """The allowed states after these events, the first `seen` of which came before the loss."""
    allowed = [before]
    marked = plan_.start == "accept"  # closing leaves the file unclean
    for i, (_, event, rest) in enumerate(events):
        if event == "failed":
            break
        keys = int(rest)
        unclean = [outcome._replace(state="unclean") for outcome in allowed]
        if event == "creating":
            allowed = [*allowed, Outcome("unclean", plan_.label, 0)]
        elif event == "created":
            allowed = [Outcome("unclean", plan_.label, 0)]
        elif event == "opening":
            allowed = [*allowed, *unclean]
        elif event == "opened":
            allowed = unclean
        elif event == "synced":
            allowed = [unclean[0]._replace(keys=keys)]
            marked = False
        elif event in ("closing", "closed") and marked:
            pass
        elif event in ("closing", "sealing"):
            end = "clean" if event == "closing" else "sealed"
            allowed = [*allowed, Outcome(end, allowed[0].label, keys)]
        elif event == "sealed" or event == "closed" and i < seen:  # closing does not report errors
            allowed = allowed[-1:]
    return allowed


def left_over(machine, plan_, events):
    """Names that do not belong there. Removes a temporary file, which is allowed in one case."""
    names = {path.name for path in machine.root.iterdir()} - {"filter", "lost+found"}
    if plan_.layout == GROWS:
        names = {name for name in names if not re.fullmatch(r"filter\.[0-9]+", name)}
    temporary = {name for name in names if re.fullmatch(r"\.bloomfile\.[0-9a-f]+\.tmp", name)}
    for name in temporary:
        (machine.root / name).unlink()
    created = any(event == "created" for _, event, _ in events)
    return names - temporary if plan_.start == "replace" and not created else names


def read_state(found):
    """The state in power-check's output, or the output itself if it makes no sense."""
    opened = tuple(found.get(name) for name in ("read", "write", "accept", "state", "verify"))
    state = {("ENOENT", "ENOENT", "ENOENT", None, None): "absent",
             ("OK", "OK", "OK", "1", None): "clean",
             ("BLOOMFILE_EUNCLEAN", "BLOOMFILE_EUNCLEAN", "OK", "1", None): "unclean",
             ("OK", "BLOOMFILE_ESEALED", "OK", "2", "OK"): "sealed",
             # the last write of the sealing was torn; opening it for writing completed it
             ("BLOOMFILE_ERECORD", "BLOOMFILE_ESEALED", "OK", "2", "OK"): "sealed"}.get(opened)
    return state or " ".join(map(str, opened))


class Sight:
    """A file after the power came back: .state, .label, and for each number of keys how many it lacks."""

    def __init__(self, machine, allowed):
        numbers = sorted({outcome.keys for outcome in allowed})
        answers = run(*IN_BOOT, machine.boot, CHECK, machine.root / "filter", *map(str, numbers))
        found, self.missing = {}, {}
        for line in answers.splitlines():
            name, rest = line.split(" ", 1)
            if name == "lost":
                keys, missing = map(int, rest.split())
                self.missing[keys] = missing
            else:
                found[name] = rest
        self.state, self.label = read_state(found), found.get("label")
        mark, missing = map(int, found.get("watermark", "0 0").split())
        if missing:
            self.state = f"lost {missing} of the {mark} keys below its watermark"

    def lost(self, outcome):
        return self.missing.get(outcome.keys, outcome.keys)

    def judge(self, allowed):
        """The outcome that fits, or None; and the number of keys lost."""
        fitting = [outcome for outcome in allowed
                   if (outcome.state, outcome.label) == (self.state, self.label)]
        best = min(fitting or allowed, key=lambda outcome: (self.lost(outcome), -outcome.keys))
        return best if fitting else None, self.lost(best)

    def __str__(self):
        return f"{self.state}, label {self.label}, missing {self.missing}"
