# SPDX-License-Identifier: MIT
# build: plain
# targets: tests/nightly/campaign/litmus
"""Litmus tests of the atomics of lib/: no execution that C11 or x86 allows may have a forbidden outcome, and
each weakened order must allow one. Then the library's own functions run in threads on this machine, and the outcomes are
counted."""

import inspect
import subprocess
import sys

import memory_model
from campaign import BUILT, Campaign, Found, main
from memory_model import ACQ, RLX, SC, change, fence, load, nothing, order, store

ROUNDS = 200_000


def set_bit(place):
    """shared_set64()"""
    return change(place, lambda value: value | 1)


class Litmus:
    """weakened: the steps, by name, that must not be left out or relaxed. w() takes one step by name."""

    initial = {}
    weakened = ()
    code = ()  # the orders in the code: a function, and its operations in this sequence

    def __init__(self, without=None):
        self.without = without

    def w(self, name, step):
        if name != self.without:
            return step
        kind, place, _, given = step
        return nothing() if kind == "F" else (kind, place, RLX, given)

    def threads(self):
        return [getattr(self, name) for name in ("first", "second", "third") if hasattr(self, name)]


class AddsOfTwo(Litmus):
    """L5. live/adding.c, add 2: two threads add a key each and look up the other's; at least one finds it."""

    initial = {"a": 0, "b": 0}
    code = (("add_all", "shared_order()", "capacity_count("),
            ("removing", "shared_order()", "session_unlock_removal("),
            ("shared_order", "__atomic_thread_fence(__ATOMIC_SEQ_CST)"),
            ("shared_set64", "__atomic_fetch_or("))
    weakened = ("order of the first", "order of the second", "locked change")

    def first(self):
        yield store("a", 1) if self.without == "locked change" else set_bit("a")  # shared_set64_alone()
        yield self.w("order of the first", order())
        return (yield load("b"))

    def second(self):
        yield set_bit("b")
        yield self.w("order of the second", order())
        return (yield load("a"))

    def forbidden(self, results, final):
        return results == (0, 0)


class AddOfWhatIsThere(Litmus):
    """The scenario above, but a thread finds its bits already set by a third thread."""

    initial = {"a": 0, "b": 0}
    weakened = ("order after the look", "order of the adder")

    def first(self):
        yield set_bit("a")

    def second(self):
        there = yield load("a")
        yield self.w("order after the look", order())
        return there, (yield load("b"))

    def third(self):
        yield set_bit("b")
        yield self.w("order of the adder", order())
        return (yield load("a"))

    def forbidden(self, results, final):
        return results[1] == (1, 0) and results[2] == 0


class AddIsTold(Litmus):
    """A thread that learns of an add finds the key, and the messenger need not order anything."""

    initial = {"a": 0, "told": 0}
    weakened = ("order of the add", "how it is learnt")

    def first(self):
        yield set_bit("a")
        yield self.w("order of the add", order())
        yield store("told", 1)

    def second(self):
        told = yield self.w("how it is learnt", load("told", ACQ))
        return told, (yield load("a"))

    def forbidden(self, results, final):
        return results[1] == (1, 0)


class StateAfterBits(Litmus):
    """R8. live/records.h, live_in_doubt(), and bloomfile_inline.h: a page dropped after the poison is not trusted."""

    initial = {"bits": 1, "state": 1}
    code = (("live_in_doubt", "shared_order()", "guard_distrusted("),
            ("is_sure_live", "shared_order()", "header_state(", "is_flat("),
            ("bloomfile_pinned_absent_", "__atomic_thread_fence(__ATOMIC_SEQ_CST)"))
    weakened = ("order before the state",)

    def first(self):
        yield store("state", 3)
        yield fence()  # msync
        yield store("bits", 0)  # read again, from a disk that never got it

    def second(self):
        bits = yield load("bits")
        yield self.w("order before the state", order())
        return bits, (yield load("state"))

    def forbidden(self, results, final):
        return results[1] == (0, 1)


class LateAdd(Litmus):
    """series/lookup.c, S10: the adder sees the successor, or the successor's creator sees the key."""

    initial = {"bits": 0, "successor": 0}
    code = (("live_succeeded", "shared_order()", "header_has_successor("),
            ("growing_contains", "contains_any(", "is_sure_live(", "header_has_successor("))
    weakened = ("order before the look",)

    def first(self):
        yield set_bit("bits")
        yield self.w("order before the look", order())
        return (yield load("successor"))

    def second(self):
        yield store("successor", 1)
        yield fence()
        return (yield load("bits"))

    def forbidden(self, results, final):
        return results == (0, 0)


class ErrorBeforeDistrust(Litmus):
    """image/guard.c, guard_distrust(): a thread that returns "maybe" finds the sticky error."""

    initial = {"error": 0, "distrust": 0}
    code = (("guard_distrusted", "atomic_load_explicit(", "distrust", "memory_order_acquire"),
            ("guard_distrust", "set_error(", "atomic_exchange(", "distrust"))
    weakened = ("look at distrust",)

    def first(self):
        yield change("error", lambda value: value or 5, SC)
        yield change("distrust", lambda value: 1, SC)

    def second(self):
        distrust = yield self.w("look at distrust", load("distrust", ACQ))
        return distrust, (yield load("error", SC))

    def forbidden(self, results, final):
        return results[1] == (1, 0)


class DoubtsAfterDistrust(Litmus):
    """A pin whose doubts are not 0 calls the library, which finds the reason."""

    initial = {"distrust": 0, "doubts": 0}
    code = (("bloomfile_pinned_sure_", "__atomic_load_n(", "doubts", "__ATOMIC_ACQUIRE"),
            ("guard_distrust", "atomic_exchange(", "distrust", "guard_doubt("))
    weakened = ("look at doubts",)

    def first(self):
        yield change("distrust", lambda value: 1, SC)
        yield change("doubts", lambda value: value + 1, SC)

    def second(self):
        doubts = yield self.w("look at doubts", load("doubts", ACQ))
        return doubts, (yield load("distrust", RLX))

    def forbidden(self, results, final):
        return results[1] == (1, 0)


class GoodPage(Litmus):
    """image/guard.h: a thread that finds a page known to be good, or no doubt, also finds the bytes read."""

    initial = {"shape": 0, "good": 0, "doubts": 1}
    code = (("guard_all_good", "atomic_load_explicit(", "doubts", "memory_order_acquire"),
            ("guard_only_doubt", "atomic_load_explicit(", "doubts", "memory_order_acquire"),
            ("guard_ok", "atomic_load_explicit(", "known_good", "memory_order_acquire"))
    weakened = ("look at good", "look at doubts")

    def first(self):
        yield store("shape", 7, SC)
        yield change("good", lambda value: 1, SC)
        yield change("doubts", lambda value: value - 1, SC)

    def second(self):
        good = yield self.w("look at good", load("good", ACQ))
        return good, (yield load("shape"))

    def third(self):
        doubts = yield self.w("look at doubts", load("doubts", ACQ))
        return 1 - doubts, (yield load("shape"))

    def forbidden(self, results, final):
        return (1, 0) in results


class GoodAndBad(Litmus):
    """image/guard.c: two threads find a page good and bad together; it ends as bad, with enough doubts."""

    initial = {"good": 0, "bad": 0, "doubts": 1}
    code = (("change_bits", "atomic_fetch_or(", "atomic_fetch_and("),)
    weakened = ("good is set", "good is cleared")  # these also order the bad pages

    def first(self):
        if (yield load("bad", SC)):
            return
        yield self.w("good is set", change("good", lambda value: 1, SC))
        if (yield load("bad", SC)) and (yield change("good", lambda value: 0, SC)):
            return
        yield change("doubts", lambda value: value - 1, SC)

    def second(self):
        yield change("bad", lambda value: 1, SC)
        if (yield self.w("good is cleared", change("good", lambda value: 0, SC))):
            yield change("doubts", lambda value: value + 1, SC)

    def forbidden(self, results, final):
        return final["good"] == 1 or final["doubts"] != 1


class LayersInUse(Litmus):
    """series/layers.h, layers_enter(), and layers_tidy(): a set in use is never freed."""

    initial = {"now": 0, "users": 0}
    code = (("layers_enter", "atomic_fetch_add(", "users", "atomic_load(", "now"),
            ("layers_replace", "atomic_store(", "now"),
            ("layers_tidy", "atomic_load(", "users"))
    weakened = ("counted", "second look at now", "replaced", "look at users")

    def first(self):
        yield self.w("counted", change("users", lambda value: value + 1, SC))
        return (yield self.w("second look at now", load("now", SC))) == 0

    def second(self):
        yield self.w("replaced", store("now", 1, SC))
        return (yield self.w("look at users", load("users", SC))) == 0

    def forbidden(self, results, final):
        return results == (True, True)


class LayersLeft(Litmus):
    """series/layers.h, layers_leave(): freed layers are not read any more."""

    initial = {"users": 1, "layer": 7}
    code = (("layers_leave", "atomic_fetch_sub(", "users"),)
    weakened = ("left", "look at users")

    def first(self):
        layer = yield load("layer")
        yield self.w("left", change("users", lambda value: value - 1, SC))
        return layer

    def second(self):
        if (yield self.w("look at users", load("users", SC))) == 0:
            yield store("layer", 0)

    def forbidden(self, results, final):
        return results[0] == 0


class LayersFound(Litmus):
    """series/layers.h, layers_now(): a thread that finds a set finds its contents."""

    initial = {"list": 0, "now": 0}
    code = (("layers_now", "atomic_load_explicit(", "now", "memory_order_acquire"),)
    weakened = ("replaced", "look at now")

    def first(self):
        yield store("list", 1)
        yield self.w("replaced", store("now", 1, SC))

    def second(self):
        now = yield self.w("look at now", load("now", ACQ))
        return now, (yield load("list"))

    def forbidden(self, results, final):
        return results[1] == (1, 0)


class Joined(LayersFound):
    """live/join.c, join_writable(): a thread that finds the handle joined finds its record joined."""

    code = (("join_writable", "atomic_load_explicit(", "joined", "memory_order_acquire"),
            ("join_writers", "atomic_store(", "joined"))


TESTS = [AddsOfTwo, AddOfWhatIsThere, AddIsTold, StateAfterBits, LateAdd, ErrorBeforeDistrust, DoubtsAfterDistrust,
         GoodPage, GoodAndBad, LayersInUse, LayersLeft, LayersFound, Joined]


# ---- the memory models themselves, compared with known results

def _known(name, model, allowed, initial, results, *threads):
    found, looked = memory_model.outcomes(threads, initial, model)
    if any(outcome == results for outcome, _ in found) != allowed:
        raise Found(f"the model {model} is wrong about {name}")
    return looked


def _writes_then_reads(first, second, write, between, read):
    def thread():
        yield store(first, 1, write)
        yield between()
        return (yield load(second, read))
    return thread


def known():
    """Store buffering, message passing, load buffering, coherence, independent reads of independent writes."""
    x_y = {"x": 0, "y": 0}
    looked = 0
    for write, between, read, c11, x86 in ((RLX, nothing, RLX, True, True), (RLX, fence, RLX, False, False),
                                           (SC, nothing, SC, False, False), (SC, nothing, ACQ, True, False),
                                           (RLX, order, RLX, False, True)):
        for model, allowed in ("c11", c11), ("x86", x86):
            looked += _known("store buffering", model, allowed, x_y, (0, 0),
                             _writes_then_reads("x", "y", write, between, read),
                             _writes_then_reads("y", "x", write, between, read))

    def two_writes(how):
        def thread():
            yield store("x", 1)
            yield store("y", 1, how)
        return thread

    def two_reads(first, second, how):
        def thread():
            one = yield load(first, how)
            return one, (yield load(second, how))
        return thread

    def read_then_write(first, second):
        def thread():
            value = yield load(first)
            yield store(second, 1)
            return value
        return thread

    def write(place, how):
        def thread():
            yield store(place, 1, how)
        return thread

    for model in "c11", "x86":
        weak = model == "c11"
        looked += _known("message passing", model, weak, x_y, (None, (1, 0)), two_writes(RLX), two_reads("y", "x", RLX))
        looked += _known("message passing, ordered", model, False, x_y, (None, (1, 0)),
                         two_writes(memory_model.REL), two_reads("y", "x", ACQ))
        looked += _known("load buffering", model, weak, x_y, (1, 1), read_then_write("x", "y"), read_then_write("y", "x"))
        looked += _known("coherence", model, False, {"x": 0}, (None, (1, 0)), write("x", RLX), two_reads("x", "x", RLX))
        for how, allowed in (ACQ, weak), (SC, False):
            looked += _known("independent reads", model, allowed, x_y, (None, None, (1, 0), (1, 0)),
                             write("x", how), write("y", how), two_reads("x", "y", how), two_reads("y", "x", how))
    return looked


def judge(test, step):
    """How many executions were examined, the number of outcomes, and the forbidden outcomes."""
    executions, seen, bad = 0, 0, []
    for model in "c11", "x86":
        litmus = test(step)
        found, looked = memory_model.outcomes(litmus.threads(), litmus.initial, model)
        executions, seen = executions + looked, seen + len(found)
        bad += [(model, *outcome) for outcome in found if litmus.forbidden(outcome[0], dict(outcome[1]))]
    return executions, seen, bad


class Weak(Campaign):
    columns = ("executions", "outcomes", "weakened", "found", "rounds", "seen")

    def prepare(self, folder):
        self.cases = [("known", None, None)]
        self.cases += [("whole", test, None) for test in TESTS]
        self.cases += [("weakened", test, step) for test in TESTS for step in test.weakened]
        listed = subprocess.run([BUILT / "tests/nightly/campaign/litmus"], stdout=subprocess.PIPE, text=True, check=True)
        self.cases += [("run", name, None) for name in listed.stdout.split()]
        self.total = len(self.cases)

    def describe(self, case):
        kind, test, step = self.cases[case]
        name = getattr(test, "__name__", test)
        return f"{kind}: {name}" + (f" without {step}: {inspect.getdoc(test)}" if step else "")

    def run(self, case, chance, folder):
        kind, test, step = self.cases[case]
        if kind == "known":
            return {"the models themselves": {"cases": 1, "executions": known()}}
        if kind == "run":
            return self.on_this_machine(test)
        executions, seen, bad = judge(test, step)
        counts = {"cases": 1, "executions": executions}
        if step:
            if not bad:
                raise Found(f"{test.__name__}: nothing forbidden happens without: {step}")
            return {test.__name__: {**counts, "weakened": 1, "found": 1}}
        if bad:
            raise Found(f"{test.__name__}: {bad[0]} is forbidden, and may happen")
        return {test.__name__: {**counts, "outcomes": seen}}

    def on_this_machine(self, name):
        run = subprocess.run([BUILT / "tests/nightly/campaign/litmus", name, str(ROUNDS)], stdout=subprocess.PIPE, text=True,
                             check=False)
        if run.returncode != 0:
            raise Found(f"litmus {name}: status {run.returncode}\n{run.stdout}")
        return {f"run: {name}": {"cases": 1, "rounds": ROUNDS, "seen": len(run.stdout.splitlines())}}


if __name__ == "__main__":
    sys.exit(main(Weak))
