# SPDX-License-Identifier: MIT
"""Trials: contenders get the same keys in the same order, and look up the same keys in turns."""

import collections
import math
import statistics

import contenders
from contenders import HASHED, NO, NONE, OK

FILL_TURNS = 8
TOUCHED, MOST_TOUCHED = 240, 3 << 30  # bytes for each key, and the most in total
ENOUGH = 2 << 20  # keys in a turn that times adding

# `few`: only the blocked layout of bloomfile.
Plan = collections.namedtuple("Plan", "form keys bits few turns queries hasty",
                              defaults=[False, 0, 0, False])

# The requests, in the words of serve.c.
ADD_ONE, ADD_BATCH = ADDS = [("add", "one"), ("add", "batch")]
AGAIN_ONE, AGAIN_BATCH = REPEATS = [("again", "one"), ("again", "batch")]
ONE_ABSENT, ONE_PRESENT = ("lookup", "one", "absent"), ("lookup", "one", "present")
ACTING_ABSENT, FEW_ABSENT = ("lookup", "acting", "absent"), ("lookup", "32", "absent")
BATCH_ABSENT, BATCH_PRESENT = ("lookup", "batch", "absent"), ("lookup", "batch", "present")
LOOKUPS = [ONE_ABSENT, ONE_PRESENT, ACTING_ABSENT, FEW_ABSENT, BATCH_ABSENT, BATCH_PRESENT]
OPS = [*ADDS, *REPEATS, *LOOKUPS]
BUILT = "built"


def median(values):
    return statistics.median(values) if values else math.nan


def ratio(values, to):
    return median([a / b for a, b in zip(values, to)])


def touch_memory(keys):
    """Touches as much memory as building takes, and frees it: in a virtual machine, a new page may take 10 us."""
    _ = b"1" * min(keys * TOUCHED, MOST_TOUCHED)


class Entrant:
    """A player in a trial, with a filter."""

    def __init__(self, player, form, process, trial):
        self.player, self.form, self.process, self.plan = player, form, process, trial.plan
        self.limit, self.label = player.program.limits, player.name
        if player.kernel:
            self.label += f", {player.kernel}"
        self.lacks = set()
        self.series = {op: [] for op in OPS}  # nanoseconds a key, one number for each turn
        self.bytes = self.lost = self.false_hits = 0
        # Limits keep no keys, and short trials add only some keys to live filters.
        self.gets_all = not self.limit and not (self.plan.hasty and player.live)
        # These keep their keys until they build. They do so one after the other, so that memory suffices.
        self.builds_at_end = not self.limit and not player.at_once
        if not self.limit:
            touch_memory(self.plan.keys)
        reply = process.ask("create", player.index, self.plan.keys, f"{self.plan.bits:g}", form)
        self.out, self.seconds = reply.answer != OK, reply.seconds  # time of everything except adding
        # All kernels use the same file, which the first kernel makes.
        self.filled = self.limit or not any(
            not e.out and e.player.program == player.program and e.player.name == player.name
            for e in trial.entrants)

    def ask(self, op, keys=None):
        if op in self.lacks:
            return contenders.Reply(NONE)
        verb, *rest = op
        reply = self.process.ask(verb, self.player.index, *rest, *([keys] if keys else []))
        if reply.answer == NONE:
            self.lacks.add(op)
        self.out |= reply.answer == NO
        return reply

    def note(self, op, seconds, keys):
        self.series[op].append(seconds * 1e9 / keys)

    def warm_up(self):
        """Looks up all keys without timing, because other contenders have used the caches."""
        if self.ask(BATCH_ABSENT).answer == NONE:
            self.ask(ONE_ABSENT)

    def timed(self, op, keys):
        reply = self.ask(op, keys)
        if reply.answer == OK:
            self.note(op, reply.seconds, keys)
        return reply.answer

    def add_turn(self, turn):
        """Adds in a batch in every other turn. Without a batch call, adds one by one."""
        op, other = ADDS if turn % 2 == 0 else reversed(ADDS)
        keys = self.plan.keys * (turn + 1) // FILL_TURNS - self.plan.keys * turn // FILL_TURNS
        keys = keys if self.gets_all else min(keys, ENOUGH)
        if self.out or not self.filled or keys == 0 or (self.limit and op in self.lacks):
            return
        if not self.builds_at_end:
            self.warm_up()
        if not self.out and self.timed(op, keys) == NONE and not self.limit:
            self.timed(other, keys)

    def add_again_turn(self):
        """Adds keys that are already in the filter."""
        for op in REPEATS if self.player.at_once and self.filled else ():
            if not self.out:
                self.warm_up()
                self.timed(op, min(self.plan.keys // FILL_TURNS, ENOUGH))

    def finish(self):
        if self.out:
            return
        reply = self.process.ask("finish", self.player.index)
        self.out, self.bytes = reply.answer != OK, reply.number
        if self.filled:
            self.seconds += reply.seconds

    def look_up_turn(self):
        if self.out or not (self.limit or self.gets_all):
            return
        self.warm_up()
        for op in LOOKUPS:
            reply = self.ask(op) if not self.out else contenders.Reply(NO)
            if reply.answer != OK:
                continue
            self.note(op, reply.seconds, self.plan.queries)
            if op[2] == "absent":
                self.false_hits = reply.number
            elif not self.limit:
                self.lost = max(self.lost, self.plan.queries - reply.number)

    def turns(self, op):
        return self.series[op] if op != BUILT else [] if math.isnan(self.build_ns) else [self.build_ns]

    def median(self, op):
        return median(self.turns(op))

    @property
    def bits_per_key(self):
        return self.bytes * 8 / self.plan.keys

    @property
    def rate(self):
        return self.false_hits / self.plan.queries if self.gets_all else math.nan

    @property
    def build_ns(self):
        """The time to build with all keys, in batches if possible. It is a mean: the first turns touch new pages."""
        adds = self.series[ADD_BATCH] or self.series[ADD_ONE]
        if not (adds and self.filled and self.gets_all):
            return math.nan
        return statistics.mean(adds) + self.seconds * 1e9 / self.plan.keys


class Trial:
    """A trial, in which all contenders get the same keys in the same order and look up the same keys."""

    def __init__(self, plan, players, core, scratch):
        self.plan, self.entrants = plan, []
        for player in players:
            program = player.program
            if (plan.hasty and program.slow) or (plan.few and program.kernels and "blocked" not in player.name):
                continue
            # Limits for strings are the limits for digests, after hashing.
            for form in sorted({plan.form, HASHED if program.limits else plan.form}, reverse=True):
                process = self.process_of(player, form) or self.start(player, form, core, scratch)
                self.entrants.append(Entrant(player, form, process, self))
        self.fill()
        for _ in range(plan.turns):
            for e in self.entrants:
                e.look_up_turn()
        for process in {e.process for e in self.entrants}:
            process.end()

    def process_of(self, player, form):
        """The process of an earlier entrant of the same program with the same kernel."""
        return next((e.process for e in self.entrants if e.form == form and
                     (e.player.program, e.player.kernel) == (player.program, player.kernel)), None)

    def start(self, player, form, core, scratch):
        process = contenders.Process(player.program, player.kernel, core, scratch)
        process.ask("queries", form, self.plan.keys, self.plan.queries)
        return process

    def fill(self):
        for e in self.entrants:
            if e.builds_at_end:
                touch_memory(self.plan.keys if e.filled else 0)
                for turn in range(FILL_TURNS):
                    e.add_turn(turn)
                e.finish()
        others = [e for e in self.entrants if not e.builds_at_end]
        for turn in range(FILL_TURNS):
            for e in others:
                e.add_turn(turn)
        for _ in range(FILL_TURNS // 2):
            for e in others:
                e.add_again_turn()
        for e in others:
            e.finish()

    def best(self, name, op, kernel=None):
        """The entrant of that name with the least median, or None. For a limit, the entrant with its best distance."""
        named = [e for e in self.entrants if not e.out and e.turns(op) and kernel in (None, e.player.kernel) and
                 (e.player.name == name or e.player.name.startswith(name) and " ahead" in e.player.name)]
        return min(named, key=lambda e: e.median(op), default=None)

    @property
    def shown(self):
        return [e for e in self.entrants if not e.out]
