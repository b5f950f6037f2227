#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bloomfile compared with other libraries (those that were built in) and with the machine's limits: time, size and
measured false-positive rate, in Markdown. The exit status is 1 if a figure misses its target.

Each library and each kernel of bloomfile has a process of its own. All run on one core, get the same keys in the same
order, and take turns, so that a busy machine slows all of them. A ratio is the median of the turns' ratios.
"""

import argparse
import collections
import json
import math

import charts
import contenders
import report
from contenders import FORMS, HASHED
from trial import (ADD_BATCH, ADD_ONE, ADDS, AGAIN_BATCH, AGAIN_ONE, BATCH_ABSENT, BATCH_PRESENT, BUILT, FEW_ABSENT,
                   LOOKUPS, ONE_ABSENT, ONE_PRESENT, OPS, REPEATS, Plan, Trial, median, ratio)

QUICK, USUAL, SIZES, CPLUSPLUS = range(4)
QUERIES = 4 << 20
SMALL_STRING = 1 << 20  # lookups of strings, in filters that fit into caches
LARGE, MIDDLE, SMALL, TINY = 10**8, 10**7, 10**6, 80000  # keys; at 10 bits 125 MB to 100 KB
FORM_WORDS = ["pre-hashed", "of 16 bytes", "of 60 bytes", "of 20 to 80 bytes"]
MIXED = FORMS.index("mixed")

PLANS = [  # with the smallest scope that has the case
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


# ---- the targets of a trial

BLOCKED, INLINED, LIVE = "bloomfile blocked", "bloomfile blocked, inlined", "bloomfile blocked, live"
LINES, FAST_LOCAL, DYNAMIC = "random lines", "RocksDB, inlined", "RocksDB DynamicBloom"
LOCKED = "random lines, 4 words locked"
BOOST, LIBFILTER = "Boost, 512 bits", "libfilter"  # this filter of Boost has bloomfile's rate
RIBBON, FUSE = "bloomfile ribbon", "binary fuse"
ROCKSDB = ["RocksDB", "RocksDB, AVX2", FAST_LOCAL]
ALL = [TINY, SMALL, MIDDLE, LARGE]
HEADER, HEADER_ANY = "bloomfile blocked, C++", "bloomfile blocked, C++, any"
OF_CPLUSPLUS = [(HASHED, SMALL), (FORMS.index("16"), SMALL), (FORMS.index("60"), SMALL)]

# Filters of digests, 10 bits each: the most time of bloomfile, relative to the other time, for these numbers of keys.
TARGETS = [
    ("single lookup", BLOCKED, ONE_ABSENT, LINES, ONE_ABSENT, 1.4, [LARGE]),
    *[(f"single lookup, {op[2]}", BLOCKED, op, LIBFILTER, op, 1.5, [SMALL]) for op in (ONE_ABSENT, ONE_PRESENT)],
    ("single lookup, inlined", INLINED, ONE_ABSENT, LINES, ONE_ABSENT, 1.2, [LARGE]),
    ("single lookup, inlined", INLINED, ONE_ABSENT, LIBFILTER, ONE_ABSENT, 1.1, ALL),
    *[("single lookup, inlined", INLINED, ONE_ABSENT, name, ONE_ABSENT, 1, ALL) for name in (BOOST, FAST_LOCAL)],
    ("batch of 32", BLOCKED, FEW_ABSENT, LINES, FEW_ABSENT, 1.3, [MIDDLE, LARGE]),
    *[(f"batch, {op[2]}", BLOCKED, op, LINES, op, 1.15, [LARGE]) for op in (BATCH_ABSENT, BATCH_PRESENT)],
    *[("batch, absent", BLOCKED, BATCH_ABSENT, name, BATCH_ABSENT, 1, ALL) for name in [*ROCKSDB, BOOST]],
    ("single lookup, C++", HEADER, ONE_ABSENT, INLINED, ONE_ABSENT, 1.1, ALL),
    ("single lookup, C++, any processor", HEADER_ANY, ONE_ABSENT, BLOCKED, ONE_ABSENT, 1.1, ALL),
    ("batch, C++", HEADER, BATCH_ABSENT, BLOCKED, BATCH_ABSENT, 1.1, ALL),
    ("live add", LIVE, ADD_ONE, DYNAMIC, ADD_ONE, 0.6, ALL),
    ("live add, batch", LIVE, ADD_BATCH, DYNAMIC, ADD_BATCH, 1.2, ALL),
    ("live add, batch", LIVE, ADD_BATCH, LOCKED, ADD_BATCH, 0, ALL),  # the bound: an add changes 3.7 words
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
    """A figure and its target. target 0: it has no target; value NaN: it could not be measured."""

    @property
    def kept(self):
        return self.target == 0 or math.isnan(self.value) or self.value <= self.target


def verdicts_of(trial):
    """All verdicts of a trial."""
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
            rows.append([e.player.name, *[cell(e.median(op)) for op in (ONE_ABSENT, FEW_ABSENT, BATCH_ABSENT, ADD_BATCH)]])
    report.print_table(["the machine's limits", ">one by one", ">in batches of 32", ">in a batch", ">changed, in a batch"], rows)


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
    """Draws time against rate for filters of equal size. Lower is faster, and more to the left is a lower rate."""
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
    """Completes the options from the scope and the keys."""
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
    # Files for filters and limits. A counting filter has four times the size.
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
