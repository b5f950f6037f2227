# SPDX-License-Identifier: MIT
"""All executions of a small program that two memory models allow: C11's as repaired by Lahav and others in
"Repairing sequential consistency in C/C++11" (RC11), and x86's (TSO), where shared_order() is not an
instruction. Out-of-thin-air values are allowed; that covers every compiler and machine, which at most store
before an earlier load has its value.

A thread is a generator. It yields its actions, receives the values that it read, and returns its result."""

import collections
import itertools

MOST_CHANGES = 5  # in one place
RLX, ACQ, REL, SC = "relaxed", "acquire", "release", "seq_cst"
Event = collections.namedtuple("Event", "thread kind place order read wrote")


def load(place, order=RLX):
    return "R", place, order, None


def store(place, value, order=RLX):
    return "W", place, order, value


def change(place, to, order=RLX):
    """An atomic update: to(value) is the new value."""
    return "U", place, order, to


def order():
    """shared_order(): a fence for the compiler, and for machines other than x86."""
    return "F", None, "order", None


def fence():
    """The least effect of a system call or a lock: a fence everywhere."""
    return "F", None, SC, None


def nothing():
    return "F", None, RLX, None


def _traces(thread, number, domain):
    """All behaviours of a thread if reads yield any value that some thread may write."""
    done, todo = [], [()]
    while todo:
        sent = todo.pop()
        run, events, answers, result = thread(), [], iter(sent), None
        try:
            step = next(run)
            while True:
                kind, place, memory_order, given = step
                if kind in "RU":
                    value = next(answers, None)
                    if value is None:
                        todo += [(*sent, choice) for choice in sorted(domain[place])]
                        break
                    wrote = given(value) if kind == "U" else None
                    events.append(Event(number, kind, place, memory_order, value, wrote))
                    step = run.send(value)
                else:
                    events.append(Event(number, kind, place, memory_order, None, given))
                    step = next(run)
        except StopIteration as end:
            result = end.value
            done.append((events, result))
    return done


def _all_traces(threads, initial):
    domain = {place: {value} for place, value in initial.items()}
    for _ in range(MOST_CHANGES):  # counters have no end
        traces = [_traces(thread, number, domain) for number, thread in enumerate(threads)]
        grown = {place: set(values) for place, values in domain.items()}
        for events, _ in itertools.chain(*traces):
            for event in events:
                if event.wrote is not None:
                    grown[event.place].add(event.wrote)
        if grown == domain:
            break
        domain = grown
    return traces


# ---- relations: for each event, the set of later events, as bits

def _join(*relations):
    return [_or(rows) for rows in zip(*relations)]


def _or(rows):
    all_rows = 0
    for row in rows:
        all_rows |= row
    return all_rows


def _then(first, second):
    return [_or(second[j] for j in _bits(row)) for row in first]


def _bits(row):
    while row:
        low = row & -row
        yield low.bit_length() - 1
        row ^= low


def _closure(relation):
    rows = list(relation)
    for k in range(len(rows)):
        for i, row in enumerate(rows):
            if row >> k & 1:
                rows[i] |= rows[k]
    return rows


def _cyclic(relation):
    return any(row >> i & 1 for i, row in enumerate(_closure(relation)))


def _only(relation, first, second):
    mask = sum(1 << j for j in second)
    return [row & mask if i in first else 0 for i, row in enumerate(relation)]


def _reflexive(relation):
    return [row | 1 << i for i, row in enumerate(relation)]


class Execution:
    def __init__(self, events, sb, rf, mo):
        n = self.n = len(events)
        self.events, self.sb, self.mo = events, sb, mo
        self.rf = [0] * n
        self.rb = [0] * n
        for read, write in rf.items():
            self.rf[write] |= 1 << read
            self.rb[read] |= mo[write] & ~(1 << read)
        self.updates = {i for i, e in enumerate(events) if e.kind == "U"}

    def where(self, test):
        return {i for i, event in enumerate(self.events) if test(event)}

    def same_place(self, relation):
        return [_or(1 << j for j in _bits(row) if self.events[j].place == self.events[i].place
                    and self.events[i].place is not None) for i, row in enumerate(relation)]

    def is_atomic(self):
        """No write comes between the read and the write of an update."""
        return not any(self.rb[i] & _or(1 << j for j in range(self.n) if self.mo[j] >> i & 1) for i in self.updates)

    def c11(self):
        sb, rf, mo, rb = self.sb, self.rf, self.mo, self.rb
        eco = _closure(_join(rf, mo, rb))
        reads, writes = self.where(lambda e: e.kind in "RU"), self.where(lambda e: e.kind in "WU")
        fences = self.where(lambda e: e.kind == "F" and e.order in (SC, "order"))
        rel = self.where(lambda e: e.kind in "WU" and e.order in (REL, SC)) | fences
        acq = self.where(lambda e: e.kind in "RU" and e.order in (ACQ, SC)) | fences
        everything = set(range(self.n))
        identity = [1 << i for i in range(self.n)]
        sequence = _reflexive(_only(self.same_place(sb), writes, writes))        # rs: release sequences
        to_update = _only(rf, everything, self.updates)
        sequence = _then(sequence, _reflexive(_closure(to_update)))
        before = _join(identity, _only(sb, fences, everything))
        after = _join(identity, _only(sb, everything, fences))
        sw = _only(_then(_then(_then(_then(before, _only(sequence, writes, writes)), rf),
                               _only(identity, reads, reads)), after), rel, acq)
        hb = _closure(_join(sb, sw))
        if any(row >> i & 1 for i, row in enumerate(_then(hb, _reflexive(eco)))) or _cyclic(hb):
            return False
        other = [row & ~same for row, same in zip(sb, self.same_place(sb))]
        scb = _join(sb, _then(_then(other, hb), other), self.same_place(hb), mo, rb)
        sc = self.where(lambda e: e.kind != "F" and e.order == SC)
        sc_identity, fence_identity = _only(identity, sc, sc), _only(identity, fences, fences)
        left = _join(sc_identity, _then(fence_identity, _reflexive(hb)))
        right = _join(sc_identity, _then(_reflexive(hb), fence_identity))
        psc = _join(_then(_then(left, scb), right),
                    _only(_join(hb, _then(_then(hb, eco), hb)), fences, fences))
        return not _cyclic(psc)

    def x86(self):
        """Loads and stores stay in order, except for a load after a store. Locked instructions and seq_cst stores
        (xchg) wait for the stores before them."""
        same = self.same_place(self.sb)
        if _cyclic(_join(same, self.rf, self.mo, self.rb)):
            return False
        waits = self.where(lambda e: e.kind == "U" or (e.kind == "W" and e.order == SC) or
                           (e.kind == "F" and e.order == SC))
        stores, loads = self.where(lambda e: e.kind == "W"), self.where(lambda e: e.kind == "R")
        kept = [row & ~(_or(1 << j for j in loads) if i in stores - waits else 0) for i, row in enumerate(self.sb)]
        kept = _join(kept, _then(_only(self.sb, set(range(self.n)), waits), _only(self.sb, waits, set(range(self.n)))))
        outer = [_or(1 << j for j in _bits(row) if self.events[j].thread != self.events[i].thread)
                 for i, row in enumerate(self.rf)]
        no_fence = self.where(lambda e: e.kind == "F" and e.order != SC)
        kept = [0 if i in no_fence else row & ~_or(1 << j for j in no_fence) for i, row in enumerate(kept)]
        return not _cyclic(_join(kept, outer, self.mo, self.rb))


def _executions(events, initial):
    """All assignments of a write to each read, and all orders of the writes to each place."""
    n = len(events)
    sb = [_or(1 << j for j in range(n) if j > i and (event.thread in (events[j].thread, -1)
                                                     and events[j].thread != -1 or event.thread == -1
                                                     and events[j].thread != -1))
          for i, event in enumerate(events)]
    writes = {place: [i for i, e in enumerate(events) if e.place == place and e.wrote is not None and e.thread >= 0]
              for place in initial}
    first = {event.place: i for i, event in enumerate(events) if event.thread == -1}
    reads = [i for i, event in enumerate(events) if event.kind in "RU" and event.thread >= 0]
    sources = [[j for j in [first[events[i].place], *writes[events[i].place]]
                if j != i and events[j].wrote == events[i].read] for i in reads]
    for chosen in itertools.product(*sources):
        taken = [source for read, source in zip(reads, chosen) if events[read].kind == "U"]
        if len(set(taken)) != len(taken):
            continue
        for orders in itertools.product(*(itertools.permutations(places) for places in writes.values())):
            mo, final = [0] * n, {}
            for place, places in zip(writes, orders):
                line = [first[place], *places]
                for at, i in enumerate(line):
                    mo[i] = _or(1 << j for j in line[at + 1:])
                final[place] = events[line[-1]].wrote
            yield Execution(events, sb, dict(zip(reads, chosen)), mo), final


def outcomes(threads, initial, model):
    """{(the result of each thread ..., the final value of each place)}, and the number of executions examined."""
    found, looked = set(), 0
    for combination in itertools.product(*_all_traces(threads, initial)):
        events = [Event(-1, "W", place, RLX, None, value) for place, value in initial.items()]
        for trace, _ in combination:
            events += trace
        results = tuple(result for _, result in combination)
        for execution, final in _executions(events, initial):
            looked += 1
            outcome = results, tuple(sorted(final.items()))
            if outcome not in found and execution.is_atomic() and getattr(execution, model)():
                found.add(outcome)
    return found, looked
