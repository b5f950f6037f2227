#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bloomfile from Python, compared with its calls in C, which are timed in the same process, and with other filters for
Python.

Run it with a Python that can import bloomfile. Filters that it cannot import are left out and listed. Times are
nanoseconds for each key by the clock of the process, so other processes do not count: medians of several turns, in which
all filters take part one after the other. Keys are bytes or str of 16 bytes, and new objects in each turn, like keys that
a program reads. The exit status is 1 if a figure misses its
target, and 2 after an error or a wrong result.
"""

import argparse
import array
import contextlib
import ctypes
import gc
import importlib
import pathlib
import platform
import statistics
import time

import bloomfile
import report
import rivals
from report import number, print_table, trouble, verdict
from rivals import RATE

PROGRAMS = pathlib.Path(__file__).resolve().parent
ABSENT = 1 << 40  # no filter has keys from here on
SIZE = 16  # bytes of a key
ANSWERS = {"absent": False, "present": True}
FIRST = {"absent": ABSENT, "present": 0}


def names(first, count):
    """Different names in random order."""
    return [b"%016x" % (i * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF) for i in range(first, first + count)]


def words(first, count):
    return [name.decode() for name in names(first, count)]


KINDS = {"bytes": names, "str": words}


def timed(function, *arguments):
    """Returns seconds, and the result of the function."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        result = function(*arguments)
        return time.process_time() - start, result
    finally:
        gc.enable()


class Calls:
    """The functions of calls.c."""

    def __init__(self):
        library = ctypes.CDLL(str(PROGRAMS / "libbench-python-calls.so"))
        pointer, size, seconds = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double
        for name, result, arguments in (
                ("open", pointer, (ctypes.c_char_p,)),
                ("close", None, (pointer,)), ("keys", pointer, (ctypes.c_char_p, pointer, size)),
                ("free", None, (pointer,)), ("digests", None, (ctypes.c_uint64, pointer, size)),
                ("contains", seconds, (pointer, pointer, size, pointer)),
                ("contains_many", seconds, (pointer, pointer, size, pointer)),
                ("contains_digests", seconds, (pointer, pointer, size, pointer)),
                ("build", seconds, (pointer, size, seconds))):
            function = library["calls_" + name]
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def digests_of(self, first, count):
        digests = array.array("Q", bytes(8 * count))
        self.digests(first, digests.buffer_info()[0], count)
        return digests


calls = None


class Keys:
    """Keys as a list, as one buffer, and as the arguments of the calls in C."""

    def __init__(self, first, count):
        self.count = count
        self.names, self.words = names(first, count), words(first, count)
        self.records = b"".join(self.names)
        self.ends = array.array("Q", range(SIZE, SIZE * (count + 1), SIZE))
        self.offsets = array.array("q", [0]) + array.array("q", self.ends)
        self.c_keys = calls.keys(self.records, self.ends.buffer_info()[0], count)
        self.digests = calls.digests_of(first, count)
        self.answers = ctypes.create_string_buffer(count)

    def in_c(self, call, filter_in_c, keys=None):
        """Returns seconds of a call in C, and its results."""
        gc.collect()  # as timed() does: caches are as cold
        seconds = call(filter_in_c, keys or self.c_keys, self.count, self.answers)
        if seconds < 0:
            trouble("a call in C failed")
        return seconds, self.answers.raw[:self.count]

    def build(self):
        """Seconds in C."""
        gc.collect()
        seconds = calls.build(self.c_keys, self.count, RATE)
        if seconds < 0:
            trouble("cannot build in C")
        return seconds

    def __del__(self):
        calls.free(self.c_keys)


class Times:
    """Rows that take turns. A cell is the median of a row's times in a column."""

    def __init__(self):
        self.cells = {}

    def note(self, row, column, seconds, keys):
        self.cells.setdefault((row, column), []).append(seconds / keys * 1e9)

    def median(self, row, column):
        return statistics.median(self.cells.get((row, column), [float("nan")]))

    def speed(self, row, than, column):
        """The speed relative to another row, turn by turn."""
        return statistics.median(b / a for a, b in zip(self.cells[row, column], self.cells[than, column]))

    def rows(self):
        return dict.fromkeys(row for row, _ in self.cells)

    def cell(self, row, column):
        return number(self.median(row, column), 1)


def check(kind, answers):
    """Checks that every key is found, and few absent keys."""
    found = sum(map(bool, answers))
    if found < len(answers) if ANSWERS[kind] else found > len(answers) * 2 * RATE + 20:
        trouble(f"{found} of {len(answers)} {kind} keys were found")


def ask_each(made, keys):
    for key in keys:
        key in made  # pylint: disable=pointless-statement


def ask_none(_, keys):
    for _ in keys:
        pass


def ask_method(made, keys):
    contains = made.contains
    for key in keys:
        contains(key)


class Sealed:
    """Two filters in files, of keys and of digests, open in Python and in C."""

    def __init__(self, work, count, of_names=True):
        self.count, self.paths = count, {}
        self.bits = float("nan")
        for kind in ("names", "digests") if of_names else ("digests",):
            path = self.paths[kind] = work / f"{kind}-{count}.bloom"
            builder = bloomfile.Builder(fpr=RATE, key_kind="bytes")
            for first in range(0, count, 10**6):
                part = min(10**6, count - first)
                if kind == "names":
                    builder.add_records(b"".join(names(first, part)), SIZE)
                else:
                    builder.add_digests(calls.digests_of(first, part))
            builder.finish(path)
        self.bits = path.stat().st_size * 8 / count
        self.filters = {kind: bloomfile.Filter(path) for kind, path in self.paths.items()}
        self.in_c = {kind: calls.open(bytes(path)) for kind, path in self.paths.items()}
        if None in self.in_c.values():
            trouble("cannot open a filter in C")
        for kind, made in self.filters.items():  # all pages are read and checked
            made.verify()

    def close(self):
        for kind, path in self.paths.items():
            self.filters[kind].close()
            calls.close(self.in_c[kind])
            path.unlink()


def power(count):
    exponent = len(str(count)) - 1
    return f"10^{exponent}" if count == 10**exponent else str(count)


def single_keys(sealed, turns, sample):
    """Tables of `key in f`."""
    times = {count: Times() for count in sealed}
    for _ in range(turns):
        for count, ours in sealed.items():
            for kind in ANSWERS:
                keys = Keys(FIRST[kind], sample(count))
                time_of = times[count]
                made, in_c = ours.filters["names"], ours.in_c["names"]
                seconds, answers = keys.in_c(calls.contains, in_c)
                time_of.note("C: bloomfile_contains()", kind, seconds, keys.count)
                check(kind, answers)
                check(kind, [key in made for key in keys.names])
                for row, function, asked in (("`key in f`, bytes", ask_each, keys.names),
                                             ("`key in f`, str", ask_each, keys.words),
                                             ("`f.contains(key)`, bytes", ask_method, keys.names),
                                             ("the loop alone", ask_none, keys.names)):
                    time_of.note(row, kind, timed(function, made, asked)[0], keys.count)
    print("#### One key a call\n\n`beyond C`: more than the call in C, loop and all.\n")
    rows = []
    for count, time_of in times.items():
        for row in time_of.rows():
            beyond = max(time_of.median(row, kind) - time_of.median("C: bloomfile_contains()", kind)
                         for kind in ANSWERS)
            asked = row.startswith("`key")
            rows.append([power(count), row, *(time_of.cell(row, kind) for kind in ANSWERS),
                         number(beyond, 1) if row[0] == "`" else "",
                         verdict(beyond <= 100) if asked else ""])
    print_table(["keys", "asked", ">absent, ns", ">present, ns", ">beyond C, ns", "at most 100 ns"], rows)


def buffers(sealed, turns, sample):
    """Tables of batches that come as buffers."""
    times = {count: Times() for count in sealed}
    pairs = {}  # for each row, the row of the same call in C
    for _ in range(turns):
        for count, ours in sealed.items():
            for kind in ANSWERS:
                keys = Keys(FIRST[kind], sample(count))
                out = bytearray(keys.count)
                digests = ours.filters["digests"]
                for row, function, arguments in (
                        ("digests", digests.contains_digests, {}),
                        ("digests, with `out`", digests.contains_digests, {"out": out})):
                    seconds, answers = keys.in_c(calls.contains_digests, ours.in_c["digests"],
                                                 keys.digests.buffer_info()[0])
                    check(kind, answers)
                    times[count].note("C " + row, kind, seconds, keys.count)
                    seconds, answers = timed(lambda f=function, a=arguments: f(keys.digests, **a))
                    check(kind, answers)
                    times[count].note(row, kind, seconds, keys.count)
                    pairs[row] = "C " + row
                if "names" not in ours.filters:
                    continue
                made = ours.filters["names"]
                for row, function in (
                        ("records of 16 bytes", lambda: made.contains_records(keys.records, SIZE, out=out)),
                        ("Arrow's offsets and bytes", lambda: made.contains_arrow(keys.offsets, keys.records, out=out))):
                    seconds, answers = keys.in_c(calls.contains_many, ours.in_c["names"])
                    check(kind, answers)
                    times[count].note("C " + row, kind, seconds, keys.count)
                    seconds, answers = timed(function)
                    check(kind, answers)
                    times[count].note(row, kind, seconds, keys.count)
                    pairs[row] = "C " + row
    print("#### Buffers, beside the same batch in C\n\n`of C`: the speed, turn by turn; from 80 % on it is ok.\n")
    rows = []
    for count, time_of in times.items():
        for row, in_c in pairs.items():
            if row not in time_of.rows():
                continue
            shares = [time_of.speed(row, in_c, kind) for kind in ANSWERS]
            rows.append([power(count), row] +
                        [cell for kind in ANSWERS for cell in (time_of.cell(in_c, kind), time_of.cell(row, kind))] +
                        [f"{100 * min(shares):.0f} %", verdict(min(shares) >= 0.8)])
    print_table(["keys", "buffer", ">absent, C, ns", ">ns", ">present, C, ns", ">ns", ">of C", "verdict"], rows)


def made_of(make, count, add_all):
    """Seconds to add keys to a filter, in batches as large as a program would read."""
    seconds = 0
    for first in range(0, count, 10**6):
        seconds += timed(add_all, make(first, min(10**6, count - first)))[0]
    return seconds


def lists(ours, others, turns, sample):
    """Tables of batches that come as lists, and of building, for filters of one size."""
    count, asked, built = ours.count, Times(), Times()
    made, bits = {}, {"bloomfile": ours.bits}
    for _ in range(turns if count <= 10**6 else 1):
        for column, make in KINDS.items():
            builder = bloomfile.Builder(fpr=RATE, key_kind="bytes")
            seconds = made_of(make, count, builder.add_many) + timed(builder.to_bytes)[0]
            built.note("bloomfile: `Builder.add_many`", column, seconds, count)
            for other in others:
                fresh = other.make(count)
                seconds = made_of(make, count, lambda keys, o=other, f=fresh: o.add_all(f, keys))
                built.note(other.name, column, seconds, count)
                made[other.name, column] = fresh
                bits[other.name] = other.bits(fresh) / count
        if count <= 10**6:
            keys, builder = Keys(0, count), bloomfile.Builder(fpr=RATE)
            seconds = timed(builder.add_records, keys.records, SIZE)[0] + timed(builder.to_bytes)[0]
            built.note("bloomfile: `Builder.add_records`", "bytes", seconds, count)
            built.note("C: bloomfile_builder_add_many()", "bytes", keys.build(), count)
    for _ in range(turns):
        for kind in ANSWERS:
            for column, make in KINDS.items():
                keys = make(FIRST[kind], sample(count))
                seconds, answers = timed(ours.filters["names"].contains_many, keys)
                check(kind, answers)
                asked.note("bloomfile: `f.contains_many`", (kind, column), seconds, len(keys))
                for other in others:
                    keys = make(FIRST[kind], sample(count))
                    seconds, answers = timed(other.ask_all, made[other.name, column], keys)
                    check(kind, answers)
                    asked.note(other.name, (kind, column), seconds, len(keys))
    print(f"#### Lists of {SIZE} bytes, {power(count)} keys\n")
    columns = [(kind, column) for kind in ANSWERS for column in KINDS]
    first = next(iter(asked.rows()))
    rows = []
    for row in asked.rows():
        times_as_long = [asked.median(row, column) / asked.median(first, column) for column in columns]
        rows.append([row, number(bits[row.split(":")[0]], 1), *(asked.cell(row, column) for column in columns),
                     "" if row == first else number(min(times_as_long), 1),
                     "" if row == first else verdict(min(times_as_long) > 1)])
    print_table(["asked", ">bits a key", *(f">{kind}, {column}, ns" for kind, column in columns),
                 ">times as long, at least", "we are faster"], rows)
    print(f"#### Building, {power(count)} keys\n")
    first = next(iter(built.rows()))
    print_table(["built", ">of bytes, ns", ">of str, ns"], [[row, *(built.cell(row, column) for column in KINDS)]
                                                           for row in built.rows()])


def libraries():
    """Those of columns that are there."""
    found = {}
    for name in "numpy", "pandas", "pyarrow", "polars":
        with contextlib.suppress(ImportError):
            found[name] = importlib.import_module(name)
    return found


def forms(keys):
    """Yields names and columns of the same keys, str or int, of each library that is there."""
    integers, found = isinstance(keys[0], int), libraries()
    yield "list", keys
    if "numpy" in found:
        yield "NumPy", found["numpy"].array(keys, dtype="int64" if integers else object)
    if "pandas" in found:
        yield "pandas", found["pandas"].Series(keys, dtype="int64" if integers else object)
        yield "pandas, nullable", found["pandas"].Series(keys, dtype="Int64" if integers else "string")
    if "pyarrow" in found:
        yield "Arrow", found["pyarrow"].array(keys)
        yield "Arrow, 10% nulls", found["pyarrow"].array([key if i % 10 else None for i, key in enumerate(keys)])
    if "polars" in found:
        yield "polars", found["polars"].Series(keys)


def columns(work, turns, count):
    """A table of `f.contains_many` for each kind of column."""
    times = Times()
    for kind, keys in ("str", words(0, count)), ("int", list(range(count))):
        with bloomfile.build(work / "columns.bloom", keys, RATE, replace=True) as made:
            columns_of = list(forms(keys))
            for _ in range(turns):
                for name, column in columns_of:
                    seconds, answers = timed(made.contains_many, column)
                    times.note(name, kind, seconds, count)
                    if answers.sum() + answers.null_count != count:
                        trouble(f"a key of {name} was lost")
    versions = "; ".join(f"{name} {library.__version__}" for name, library in libraries().items())
    print(f"#### Columns, {power(count)} keys\n\n{versions or 'without libraries of columns'}.\n")
    print_table(["column", ">str, ns", ">int, ns"], [[row, times.cell(row, "str"), times.cell(row, "int")] for row in times.rows()])


def main(make_scratch):
    global calls
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog=__doc__.split("\n\n", maxsplit=1)[1])
    parser.add_argument("-n", "--keys", type=report.whole, nargs="+", default=[10**6, 10**7], help="of the filters")
    parser.add_argument("-l", "--large", type=int, default=10**8, help="keys of one more, for what needs no list; 0: none")
    parser.add_argument("-a", "--asked", type=report.whole, default=10**6, help="keys of a batch")
    parser.add_argument("-r", "--turns", type=report.whole, default=5)
    parser.add_argument("folder", nargs="?", default="/dev/shm", help="for files; or /dev/shm")
    options = parser.parse_args()
    calls = Calls()
    found, left_out = rivals.find()
    work = make_scratch(options.folder, 3 * 10 * max(*options.keys, options.large) / 8 + (64 << 20))
    print(f"CPython {platform.python_version()}; bloomfile {bloomfile.__version__}; " +
          "; ".join(dict.fromkeys(other.version() for other in found)) + "." +
          "".join(f" {name} is left out: {why}." for name, why in left_out.items()) + "\n")

    def sample(count):
        return min(options.asked, count)

    sealed = {count: Sealed(work, count) for count in options.keys}
    single_keys(sealed, options.turns, sample)
    if options.large:
        sealed[options.large] = Sealed(work, options.large, of_names=False)
    buffers(sealed, options.turns, sample)
    if options.large:
        sealed.pop(options.large).close()
    for ours in sealed.values():
        lists(ours, found, options.turns, sample)
    for ours in sealed.values():
        ours.close()
    columns(work, options.turns, options.asked)


if __name__ == "__main__":
    report.main(main)
