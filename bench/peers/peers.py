#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bloomfile beside other libraries (those that were built in) and the machine's limits: time, size and
measured false-positive rate, in Markdown. The exit status is 1 if a figure misses its target.

Each library has a process of its own, each kernel of bloomfile too. All are kept on one core and take turns, so that
a busy machine slows all alike, with the same keys in the same order. A ratio is the median of the turns' ratios.
"""

import argparse
import collections
import json
import math
import statistics

import charts
import contenders
import report
from contenders import FORMS, HASHED, NO, NONE, OK

QUICK, USUAL, SIZES, CPLUSPLUS = range(4)
QUERIES = 4 << 20
SMALL_STRING = 1 << 20  # queries of strings, in filters that fit into caches
LARGE, MIDDLE, SMALL, TINY = 10**8, 10**7, 10**6, 80000  # keys; at 10 bits 125 MB to 100 KB
FILL_TURNS = 8
TOUCHED, MOST_TOUCHED = 240, 3 << 30  # bytes a key, in all
ENOUGH = 2 << 20  # keys a turn to time adding
FORM_WORDS = ["pre-hashed", "of 16 bytes", "of 60 bytes", "of 20 to 80 bytes"]
MIXED = FORMS.index("mixed")

# `few`: of bloomfile's layouts only the blocked one.
Plan = collections.namedtuple("Plan", "form keys bits few turns queries hasty",
                              defaults=[False, 0, 0, False])
PLANS = [  # the least scope that has it
    (USUAL, Plan(HASHED, TINY, 10)),
    (QUICK, Plan(HASHED, SMALL, 10)),
    (USUAL, Plan(HASHED, SMALL, 16)),
    (USUAL, Plan(FORMS.index("16"), SMALL, 10)),
    (USUAL, Plan(FORMS.index("60"), SMALL, 10)),
    (USUAL, Plan(HASHED, MIDDLE, 10)),
    (USUAL, Plan(FORMS.index("16"), MIDDLE, 10, True)),
    (USUAL, Plan(FORMS.index("60"), MIDDLE, 10, True)),
    (QUICK, Plan(HASHED, LARGE, 10, True)),
    (USUAL, Plan(HASHED, LARGE, 16, True)),
    (USUAL, Plan(MIXED, LARGE, 10, True)),
]

# What is asked for, as contenders know it.
ADD_ONE, ADD_BATCH = ADDS = [("add", "one"), ("add", "batch")]
AGAIN_ONE, AGAIN_BATCH = REPEATS = [("again", "one"), ("again", "batch")]
ONE_ABSENT, ONE_PRESENT = ("lookup", "one", "absent"), ("lookup", "one", "present")
ACTING_ABSENT, FEW_ABSENT = ("lookup", "acting", "absent"), ("lookup", "32", "absent")
BATCH_ABSENT, BATCH_PRESENT = ("lookup", "batch", "absent"), ("lookup", "batch", "present")
LOOKUPS = [ONE_ABSENT, ONE_PRESENT, ACTING_ABSENT, FEW_ABSENT, BATCH_ABSENT, BATCH_PRESENT]
OPS = [*ADDS, *REPEATS, *LOOKUPS]


def median(values):
    return statistics.median(values) if values else math.nan


def ratio(values, to):
    return median([a / b for a, b in zip(values, to)])


def touch_memory(keys):
    """As much as building takes, and free again: a virtual machine may have to ask for each page, for 10 us."""
    _ = b"1" * min(keys * TOUCHED, MOST_TOUCHED)


class Entrant:
    """A player in a trial, with a filter."""

    def __init__(self, player, form, process, trial):
        self.player, self.form, self.process, self.plan = player, form, process, trial.plan
        self.limit, self.label = player.program.limits, player.name
        if player.kernel:
            self.label += f", {player.kernel}"
        self.lacks = set()
        self.series = {op: [] for op in OPS}  # nanoseconds a key, a turn each
        self.bytes = self.lost = self.false_hits = 0
        # Limits have nothing to keep keys in, and hasty trials cut live filters short.
        self.gets_all = not self.limit and not (self.plan.hasty and player.live)
        # Those keep their keys until they are told to build: one after the other, so that memory does.
        self.builds_at_end = not self.limit and not player.at_once
        if not self.limit:
            touch_memory(self.plan.keys)
        reply = process.ask("create", player.index, self.plan.keys, f"{self.plan.bits:g}", form)
        self.out, self.seconds = reply.answer != OK, reply.seconds  # of all but adding
        # The same file for all kernels: the first one makes it.
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
        """Untimed: what others have put into the cache meanwhile is nobody's fault."""
        if self.ask(BATCH_ABSENT).answer == NONE:
            self.ask(ONE_ABSENT)

    def timed(self, op, keys):
        reply = self.ask(op, keys)
        if reply.answer == OK:
            self.note(op, reply.seconds, keys)
        return reply.answer

    def add_turn(self, turn):
        """Every other turn adds in a batch; if there is no such call, one by one, for keys must be added."""
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
        """Keys that are there."""
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
        """Of all keys, in batches if there is such a call; the mean, for the first turns find new pages."""
        adds = self.series[ADD_BATCH] or self.series[ADD_ONE]
        if not (adds and self.filled and self.gets_all):
            return math.nan
        return statistics.mean(adds) + self.seconds * 1e9 / self.plan.keys


class Trial:
    """All contenders get the same keys in the same order, and are asked for the same ones."""

    def __init__(self, plan, players, core, scratch):
        self.plan, self.entrants = plan, []
        for player in players:
            program = player.program
            if (plan.hasty and program.slow) or (plan.few and program.kernels and "blocked" not in player.name):
                continue
            # Limits of strings are those of digests, after hashing them.
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
        """That of an earlier entrant of the same program with the same kernel."""
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
        """The entrant of that name with the least median; None: there is none. A limit is taken at its best
        distance."""
        named = [e for e in self.entrants if not e.out and e.turns(op) and kernel in (None, e.player.kernel) and
                 (e.player.name == name or e.player.name.startswith(name) and " ahead" in e.player.name)]
        return min(named, key=lambda e: e.median(op), default=None)

    @property
    def shown(self):
        return [e for e in self.entrants if not e.out]


# ---- what a trial must show

BLOCKED, INLINED, LIVE = "bloomfile blocked", "bloomfile blocked, inlined", "bloomfile blocked, live"
LINES, FAST_LOCAL, DYNAMIC = "random lines", "RocksDB, inlined", "RocksDB DynamicBloom"
LOCKED = "random lines, 4 words locked"
BOOST, LIBFILTER = "Boost, 512 bits", "libfilter"  # that Boost has our rate
RIBBON, FUSE = "bloomfile ribbon", "binary fuse"
ROCKSDB = ["RocksDB", "RocksDB, AVX2", FAST_LOCAL]
ALL = [TINY, SMALL, MIDDLE, LARGE]
BUILT = "built"
HEADER, HEADER_ANY = "bloomfile blocked, C++", "bloomfile blocked, C++, any"
OF_CPLUSPLUS = [(HASHED, SMALL), (FORMS.index("16"), SMALL), (FORMS.index("60"), SMALL)]

# Of filters of digests, 10 bits each: our time is to be at most so many times the other's, for these numbers of keys.
TARGETS = [
    ("single lookup", BLOCKED, ONE_ABSENT, LINES, ONE_ABSENT, 1.4, [LARGE]),
    *[(f"single lookup, {op[2]}", BLOCKED, op, LIBFILTER, op, 1.5, [SMALL]) for op in (ONE_ABSENT, ONE_PRESENT)],
    ("single lookup, inlined", INLINED, ONE_ABSENT, LINES, ONE_ABSENT, 1.2, [LARGE]),
    ("single lookup, inlined", INLINED, ONE_ABSENT, LIBFILTER, ONE_ABSENT, 1.1, ALL),
    *[("single lookup, inlined", INLINED, ONE_ABSENT, name, ONE_ABSENT, 1, ALL) for name in (BOOST, FAST_LOCAL)],
    ("batch of 32", BLOCKED, FEW_ABSENT, LINES, BATCH_ABSENT, 1.4, [MIDDLE, LARGE]),
    *[(f"batch, {op[2]}", BLOCKED, op, LINES, op, 1.15, [LARGE]) for op in (BATCH_ABSENT, BATCH_PRESENT)],
    *[("batch, absent", BLOCKED, BATCH_ABSENT, name, BATCH_ABSENT, 1, ALL) for name in [*ROCKSDB, BOOST]],
    ("single lookup, C++", HEADER, ONE_ABSENT, INLINED, ONE_ABSENT, 1.1, ALL),
    ("single lookup, C++, any processor", HEADER_ANY, ONE_ABSENT, BLOCKED, ONE_ABSENT, 1.1, ALL),
    ("batch, C++", HEADER, BATCH_ABSENT, BLOCKED, BATCH_ABSENT, 1.1, ALL),
    ("live add", LIVE, ADD_ONE, DYNAMIC, ADD_ONE, 0.6, ALL),
    ("live add, batch", LIVE, ADD_BATCH, DYNAMIC, ADD_BATCH, 1.2, ALL),
    ("live add, batch", LIVE, ADD_BATCH, LOCKED, ADD_BATCH, 0, ALL),  # what bounds it: it changes 3.7 words
    ("live add, repeated", LIVE, AGAIN_ONE, LIVE, ONE_PRESENT, 1.2, ALL),
    ("live add, repeated, batch", LIVE, AGAIN_BATCH, LIVE, BATCH_PRESENT, 1.2, ALL),
    ("building", BLOCKED, BUILT, BOOST, BUILT, 1.3, [SMALL, MIDDLE, LARGE]),
    ("batch, absent", RIBBON, BATCH_ABSENT, FUSE, ONE_ABSENT, 1, [MIDDLE, LARGE]),
    ("building", RIBBON, BUILT, FUSE, BUILT, 0.25, [MIDDLE, LARGE]),
]
STRING_TARGETS = [
    *[("batch", BLOCKED, BATCH_ABSENT, name, BATCH_ABSENT, 1, ALL) for name in [*ROCKSDB, BOOST]],
    ("single lookup, C++", HEADER, ONE_ABSENT, BLOCKED, ONE_ABSENT, 1.1, ALL),
    ("single lookup, C++, any processor", HEADER_ANY, ONE_ABSENT, BLOCKED, ONE_ABSENT, 1.1, ALL),
    ("batch, C++", HEADER, BATCH_ABSENT, BLOCKED, BATCH_ABSENT, 1.1, ALL),
]


class Verdict(collections.namedtuple("Verdict", "what value unit target", defaults=[0])):
    """target 0: none; value NaN: could not be measured."""

    @property
    def kept(self):
        return self.target == 0 or math.isnan(self.value) or self.value <= self.target


def verdicts_of(trial):
    """All that is to be said of a trial."""
    plan, found = trial.plan, []
    subject = f"{FORMS[plan.form]}, {plan.keys * plan.bits / 8e6:.4g} MB: "

    def judge(what, value, target=0, unit="x"):
        found.append(Verdict(subject + what, value, unit, target))

    def beside(name, op, other, other_op, kernel=None, other_kernel=None):
        a, b = trial.best(name, op, kernel), trial.best(other, other_op, other_kernel)
        return ratio(a.turns(op), b.turns(other_op)) if a and b else math.nan

    judge("present keys not found", sum(e.lost for e in trial.shown), 0.5, "keys")
    if plan.bits != 10:
        return found
    for what, name, op, other, other_op, most, keys in TARGETS if plan.form == HASHED else STRING_TARGETS:
        if plan.keys in keys:
            judge(f"{what}: time beside {other}", beside(name, op, other, other_op), most)
    for kernel in ("scalar", "avx2") if (plan.form, plan.keys) == (HASHED, LARGE) else ():
        judge(f"batch: {kernel} beside avx512", beside(BLOCKED, BATCH_ABSENT, BLOCKED, BATCH_ABSENT, kernel, "avx512"), 2)
    for op in (BATCH_ABSENT, BATCH_PRESENT) if (plan.form, plan.keys) == (MIXED, LARGE) else ():
        hashing, lines, ours = (trial.best(name, op) for name in ("hashing", LINES, BLOCKED))
        floor = [h + 1.3 * l for h, l in zip(hashing.series[op], lines.series[op])] if hashing and lines else []
        judge(f"batch, {op[2]}: time beside hashing + 1.3 x random lines",
              ratio(ours.series[op], floor) if ours else math.nan, 1)
    return found


# ---- reports


def cell(value):
    return report.number(value, 2 if value < 1000 else 0)


def print_trial(trial):
    plan, floor = trial.plan, trial.best(LINES, BATCH_ABSENT)
    print(f"### {plan.keys} keys {FORM_WORDS[plan.form]}, {plan.bits:g} bits each: "
          f"{plan.keys * plan.bits / 8e6:.2f} MB\n")
    rows = []
    for e in trial.shown:
        absent = e.series[BATCH_ABSENT] or e.series[ONE_ABSENT]
        if not e.limit:
            rows.append([e.label, f"{e.bits_per_key:.2f}", report.number(100 * e.rate, 4),
                         *[cell(value) for value in (
                             *map(e.median, [*ADDS, *REPEATS, BUILT, *LOOKUPS]),
                             ratio(absent, floor.series[BATCH_ABSENT]) if floor else math.nan)]])
    report.print_table(["ns a key", ">bits/key", ">rate %", ">add", ">add, batch", ">again", ">again, batch", ">built",
                        ">absent", ">present", ">acted on", ">absent, 32", ">absent, batch", ">present, batch", ">x line"], rows)
    for e in trial.entrants:
        if e.out and not e.limit:
            print(f"{e.player.name} could not take part.\n")
    rows = []
    for e in trial.shown:
        if e.limit:
            rows.append([e.player.name, *[cell(e.median(op)) for op in (ONE_ABSENT, BATCH_ABSENT, ADD_BATCH)]])
    report.print_table(["the machine's limits", ">one by one", ">in a batch", ">changed, in a batch"], rows)


def print_verdicts(verdicts):
    print("### Verdicts\n")
    report.print_table(["what", ">measured", "target", "verdict"],
                       [[v.what, f"{report.number(v.value)} {v.unit:4}",
                         f"<= {v.target:g}" if v.target else "",
                         "" if not v.target else "not here" if math.isnan(v.value) else report.verdict(v.kept)]
                        for v in verdicts])


def rounded(value):
    return None if math.isnan(value) else float(f"{value:.6g}")


def as_json(trials, verdicts, absent):
    """Every turn of every figure."""
    def entrant(e):
        told = {"name": e.player.name, "version": e.player.version, "kernel": e.player.kernel, "limit": e.limit}
        if not e.limit:
            told |= {"bytes": e.bytes, "bits_per_key": rounded(e.bits_per_key), "rate": rounded(e.rate),
                     "lost": e.lost, "build_ns": rounded(e.build_ns)}
        return told | {"_".join(op): {"median_ns": rounded(e.median(op)), "turns_ns": list(map(rounded, e.series[op]))}
                       for op in OPS}

    return json.dumps({
        "machine": report.machine_words(),
        "absent": ", ".join(absent),
        "trials": [{"form": FORMS[t.plan.form], "keys": t.plan.keys, "bits": t.plan.bits, "queries": t.plan.queries,
                    "entrants": list(map(entrant, t.shown))} for t in trials],
        "verdicts": [{"what": v.what, "value": rounded(v.value), "unit": v.unit, "target": v.target or None,
                      "kept": v.kept} for v in verdicts],
    }, indent=1) + "\n"


STYLE = """line.floor { stroke: #b2182b; stroke-width: 1.5; stroke-dasharray: 5 4 }
text.floor { fill: #b2182b }
circle { fill: #2166ac }
circle.other { fill: #fff; stroke: #d6604d; stroke-width: 2.5 }
"""
DARK_STYLE = """text.floor { fill: #f4877b }
line.floor { stroke: #f4877b }
circle { fill: #6cb0f0 }
circle.other { fill: #161b22; stroke: #f0a070 }
"""


def chart_of(trial):
    """Time against rate, of filters of equal size: the lower the faster, the further left the better filters."""
    floor = trial.best(LINES, BATCH_ABSENT)
    floor_ns = floor.median(BATCH_ABSENT) if floor else math.inf
    marks = []
    for e in trial.shown:
        ns = median(e.series[BATCH_ABSENT] or e.series[ONE_ABSENT])
        if not e.limit and e.false_hits and not math.isnan(ns) and e.bits_per_key <= 1.1 * trial.plan.bits:
            one_by_one = "" if e.series[BATCH_ABSENT] else ", one by one"
            marks.append({"x": e.rate, "y": ns, "class": "ours" if e.player.name.startswith("bloomfile") else "other",
                          "radius": 6, "name": f"{e.label}{one_by_one}: {ns:.3g} ns"})
    rates, times = [m["x"] for m in marks] or [1], [m["y"] for m in marks] or [1]
    return {
        "title": "Time of a lookup against the false-positive rate", "style": STYLE, "dark_style": DARK_STYLE,
        "words": [f"{trial.plan.keys:,} keys in filters of {trial.plan.bits:g} bits a key, "
                  f"{trial.plan.keys * trial.plan.bits / 8e6:.3g} MB; absent keys, in batches where there are such "
                  "calls", report.machine_words()],
        "x": {"label": "measured false-positive rate", "low": min(rates) / 1.15, "high": max(rates) * 1.15,
              "times": 100, "unit": "%"},
        "y": {"label": "time of a lookup", "low": min(*times, floor_ns) / 1.4,
              "high": max(times) * 1.4, "times": 1, "unit": " ns"},
        "levels": [{"class": "floor", "y": floor_ns, "text": f"a random line of memory: {floor_ns:.3g} ns"}]
        if floor else [],
        "marks": marks,
    }


# ----


def read_case(text):
    """FORM:KEYS:BITS"""
    form, keys, bits = text.split(":")
    plan = Plan(FORMS.index(form), int(keys), float(bits))
    if plan.keys < 8 or not 1 <= plan.bits <= 64:
        raise ValueError(text)
    return plan


def turns(text):
    if report.whole(text) > 100:
        raise ValueError(text)
    return report.whole(text)


def read_options():
    parser = argparse.ArgumentParser(prog="bench-peers", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--quick", dest="scope", action="store_const", const=QUICK, help="two cases")
    scope.add_argument("--sizes", dest="scope", action="store_const", const=SIZES, help="digests, 0.1 to 125 MB")
    scope.add_argument("--cplusplus", dest="scope", action="store_const", const=CPLUSPLUS,
                       help="bloomfile.hpp beside the C interface and what is compiled into its caller")
    scope.add_argument("--case", type=read_case, metavar="FORM:KEYS:BITS", help="FORM: " + ", ".join(FORMS))
    parser.add_argument("--turns", type=turns)
    parser.add_argument("--queries", type=report.whole)
    parser.add_argument("--core", type=int, default=contenders.last_core())
    parser.add_argument("--json", metavar="FILE", help="has every turn of every figure")
    parser.add_argument("--svg", metavar="FILE", help="draws the largest filters of digests")
    parser.add_argument("directory", nargs="?", default="/dev/shm", help="for files, which are removed (/dev/shm)")
    options = parser.parse_args()
    options.scope = USUAL if options.scope is None else options.scope
    return options


def completed(plan, o):
    """What is not given follows from the scope and the keys."""
    large = o.scope != CPLUSPLUS and (plan.form == HASHED or plan.keys >= LARGE)
    return plan._replace(hasty=o.scope == CPLUSPLUS or o.scope == QUICK and plan.keys >= LARGE,
                         turns=o.turns or (3 if o.scope == QUICK else 7),
                         queries=o.queries or (QUERIES if large else SMALL_STRING))


def run(scratch):
    o = read_options()
    chosen = ([o.case] if o.case else
              [Plan(HASHED, keys, 10) for keys in ALL] if o.scope == SIZES else
              [Plan(form, keys, 10, True) for form, keys in OF_CPLUSPLUS] if o.scope == CPLUSPLUS else
              [plan for scope, plan in PLANS if scope <= o.scope])
    plans = [completed(plan, o) for plan in chosen]
    # Files for filters and limits; a counting filter is four times the size.
    folder = scratch(o.directory, max(plan.keys * plan.bits / 8 * (8 if plan.few else 16) for plan in plans))
    players, absent = contenders.roster(o.core, folder)
    print(report.machine_words() + "\n")
    if absent:
        print(f"Not built in, for want of: {', '.join(absent)}.\n", flush=True)
    trials, verdicts = [], []
    for plan in plans:
        trials.append(Trial(plan, players, o.core, folder))
        print_trial(trials[-1])
        verdicts += [v for v in verdicts_of(trials[-1]) if o.scope != CPLUSPLUS or "C++" in v.what or v.unit == "keys"]
    print_verdicts(verdicts)
    if o.json:
        report.save(o.json, as_json(trials, verdicts, absent))
    if o.svg:
        digests = [t for t in trials if t.plan.form == HASHED and t.plan.bits <= 10] or trials
        report.save(o.svg, charts.svg_of(chart_of(max(digests, key=lambda t: t.plan.keys))))


if __name__ == "__main__":
    report.main(run)
