# SPDX-License-Identifier: MIT
"""Answers as lists, buffers and Arrow arrays, and as masks that select the rows of NumPy, pandas, polars and Arrow."""

import collections.abc
import copy
import ctypes
import datetime
import decimal
import itertools
import pickle
import unittest
import uuid

import bloomfile
from bloomfile import Answers

from arrow_layout import Array, Schema, layout
from support import Case

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pandas
except ImportError:
    pandas = None
try:
    import polars
except ImportError:
    polars = None
try:
    import pyarrow
except ImportError:
    pyarrow = None

STATES = True, False, None
KEYS = ["a", "x", "b"]


def kleene(a, b, decides):
    """`decides` alone decides the result; otherwise a null is unknown."""
    if decides in (a, b) and decides is not None:
        return decides
    return None if None in (a, b) else not decides


class Lists(Case):
    def setUp(self):
        super().setUp()
        self.f = self.build(["a", "b"], 1e-6)
        self.m = self.f.contains_many(KEYS)

    def test_every_batch_returns_answers(self):
        digests = bloomfile.hash_many(KEYS)
        live = self.live()
        for use in (lambda: self.f.contains_many(iter(KEYS)), lambda: self.f.contains_digests(digests), lambda: live.add_many(KEYS),
                    lambda: live.add_digests(digests), lambda: live.contains_records(b"abc", 1), lambda: live.add_records(b"abc", 1),
                    lambda: self.f.contains_many(layout(KEYS, "u"))):
            self.assertIs(type(use()), Answers)
            self.assertEqual(len(use()), 3)
        out = bytearray(3)
        self.assertIs(self.f.contains_many(KEYS, out=out), out)

    def test_items_are_true_or_false(self):
        m = self.m
        self.assertEqual([*m], [True, False, True])
        self.assertTrue(all(type(answer) is bool for answer in m))
        self.assertTrue(m[0] is True and m[1] is False and m[-1] is True)
        self.assertEqual(m[1:], [False, True])
        self.assertEqual(m[::-2], [True, True])
        self.assertEqual(m[5:], [])
        for i in 3, -4:
            self.assertRaises(IndexError, m.__getitem__, i)
        self.assertRaises(TypeError, m.__getitem__, "a")
        self.assertEqual(list(itertools.compress(KEYS, m)), ["a", "b"])
        self.assertEqual((m.sum(), sum(m), m.count(True), m.count(False), m.count(None), m.count(1), m.index(False)), (2, 2, 2, 1, 0, 0, 1))
        self.assertRaises(ValueError, m.index, None)
        self.assertTrue(m.any() and not m.all() and m[:1].all() and not m[1:2].any() and m[:0].all() and not m[:0].any())
        self.assertIsInstance(m, collections.abc.Sequence)
        self.assertRaisesRegex(TypeError, "numpy.asarray", m.sum, axis=0)

    def test_answers_have_no_truth_value(self):
        for m in self.m, self.m[:1], self.m[:0]:
            self.assertRaisesRegex(ValueError, "any\\(\\), all\\(\\) or len", bool, m)

    def test_answers_are_immutable(self):
        with self.assertRaises(TypeError):
            self.m[0] = True
        with self.assertRaises(AttributeError):
            self.m.more = 1
        self.assertTrue(memoryview(self.m).readonly)
        self.assertRaises(TypeError, hash, self.m)

    def test_operators_follow_three_valued_logic(self):
        """Three-valued, as in Arrow, polars and pandas."""
        pairs = list(itertools.product(STATES, STATES))
        a, b = (Answers([pair[i] for pair in pairs]) for i in (0, 1))
        self.assertEqual(~a, [None if x is None else not x for x, _ in pairs])
        self.assertEqual(a & b, [kleene(x, y, False) for x, y in pairs])
        self.assertEqual(a | b, [kleene(x, y, True) for x, y in pairs])
        self.assertEqual(a ^ b, [None if None in (x, y) else x != y for x, y in pairs])
        other = (ctypes.c_bool * 3)(True, True, False)
        self.assertEqual(self.m & other, [True, False, False])
        self.assertEqual(other | self.m, [True, True, True])
        self.assertRaisesRegex(ValueError, "3 answers.*2", lambda: self.m & self.m[1:])
        for wrong in 1, True, [True] * 3, b"\1\1\1":
            self.assertRaises(TypeError, lambda: self.m & wrong)

    def test_equality_compares_all_answers(self):
        m = self.m
        for same in [True, False, True], (True, False, True), b"\1\0\1", bytearray(b"\1\0\1"), Answers(m), Answers([True, False, True]):
            self.assertTrue(m == same and not m != same)
        for other in [True, False], [True, True, True], [1, 0, 1], [True, None, True], b"\1\1\1", b"\1\0", "abc", 5, None:
            self.assertTrue(m != other and not m == other, other)
        self.assertNotEqual(Answers([True, None]), b"\1\0")
        self.assertRaises(TypeError, lambda: m < m)

    def test_repr_shows_answers_and_abbreviates_long_lists(self):
        self.assertEqual(repr(self.m), "Answers([True, False, True])")
        self.assertEqual(repr(Answers([None] * 10)), f"Answers({[None] * 10})")
        self.assertEqual(repr(Answers([True, False] * 500)),
                         "Answers([True, False, True, False, True, False, True, False, True, False, ...], 500 of 1000 True)")

    def test_answers_are_made_from_lists_and_pickled(self):
        for values in [], [True], [True, False, None], [False] * 1000:
            m = Answers(values)
            for same in m, Answers(m), Answers(iter(values)), pickle.loads(pickle.dumps(m)), copy.copy(m), copy.deepcopy(m):
                self.assertEqual(same, values)
                self.assertEqual(same.tolist(), values)
        self.assertEqual(Answers((ctypes.c_bool * 2)(True, False)), [True, False])
        for wrong in [1], "ab", [None, "a"], b"\1":
            self.assertRaisesRegex(TypeError, "True, False or None", Answers, wrong)
        self.assertRaises(TypeError, Answers, 5)

    def test_nulls_are_counted_found_and_filled(self):
        m = Answers([True, None, False])
        self.assertEqual((m.null_count, self.m.null_count), (1, 0))
        self.assertEqual(m.is_null(), [False, True, False])
        self.assertEqual(m.fill_null(True), [True, True, False])
        self.assertEqual(m.fill_null(False), [True, False, False])
        self.assertIs(self.m.fill_null(True), self.m)
        self.assertEqual((~m).fill_null(False), [False, False, True])
        self.assertRaises(TypeError, m.fill_null, None)
        self.assertEqual((m.sum(), m.count(None), m.all(), Answers([None, True]).all(), m.index(None)), (1, 1, False, True, 1))
        self.assertRaisesRegex(BufferError, "^1 answer is null: .*fill_null", memoryview, m)
        self.assertEqual(Answers([True, None])[:1].null_count, 0)
        memoryview(Answers([True, None])[:1])


class Buffers(Case):
    def test_answers_expose_a_read_only_bool_buffer(self):
        m = self.build(["a", "b"], 1e-6).contains_many(KEYS)
        view = memoryview(m)
        self.assertEqual((view.format, view.itemsize, view.ndim, view.shape, view.nbytes), ("?", 1, 1, (3,), 3))
        self.assertEqual(view.tolist(), [True, False, True])
        self.assertEqual(bytes(m), b"\1\0\1")
        del m
        self.assertEqual(view.tolist(), [True, False, True])

    def test_answers_export_arrow_capsules(self):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        for values in [], [True], [None], [True, False, None] * 10, [True] * 8 + [False]:
            capsules = Answers(values).__arrow_c_array__()
            schema = Schema.from_address(pointer(capsules[0], b"arrow_schema"))
            array = Array.from_address(pointer(capsules[1], b"arrow_array"))
            self.assertEqual((schema.format, schema.flags), (b"b", 2))
            self.assertEqual((array.length, array.null_count, array.n_buffers, array.offset),
                             (len(values), values.count(None), 2, 0))
            valid, bits = ([ctypes.string_at(at, len(values) // 8 + 1)[i // 8] >> i % 8 & 1 for i in range(len(values))] if at
                           else [1] * len(values) for at in array.buffers[:2])
            self.assertEqual([bool(bit) if there else None for bit, there in zip(bits, valid)], values)
            del capsules


class Frames(Case):
    """`m` is the answers for KEYS: the second row is not in the filter."""

    def setUp(self):
        super().setUp()
        self.f = self.build(["a", "b"], 1e-6)
        self.m = self.f.contains_many(KEYS)
        self.nulls = self.f.contains_many(layout(["a", "", "x"], "u", b"\5", null_count=1))
        self.numbers = self.build(range(10), 1e-6, path=self.folder / "numbers.bloom")

    @unittest.skipUnless(numpy, "needs NumPy")
    def test_answers_are_numpy_masks_without_a_copy(self):
        array, m = numpy.array([10, 20, 30]), self.m
        self.assertEqual(array[m].tolist(), [10, 30])
        self.assertEqual(array[~m].tolist(), [20])
        for view in numpy.asarray(m), m.to_numpy():
            self.assertEqual((view.dtype, view.flags.owndata, view.flags.writeable), (bool, False, False))
            self.assertEqual(view.ctypes.data, numpy.asarray(m).ctypes.data)
        self.assertEqual(numpy.asarray(m, dtype=int).tolist(), [1, 0, 1])
        self.assertTrue(numpy.array(m).flags.owndata)
        self.assertEqual((numpy.sum(m), numpy.any(m), numpy.all(m), numpy.count_nonzero(m)), (2, True, False, 2))
        self.assertEqual(numpy.where(m, array, 0).tolist(), [10, 0, 30])
        self.assertEqual(((array > 10) & m).tolist(), [False, False, True])
        self.assertEqual((m & (array > 10)), [False, False, True])
        array[m] = 0
        self.assertEqual(array.tolist(), [0, 20, 0])
        for use in (numpy.asarray, numpy.array, array.__getitem__, lambda m: m.to_numpy()):
            self.assertRaisesRegex(ValueError, "fill_null", use, self.nulls)

    @unittest.skipUnless(pandas, "needs pandas")
    def test_answers_are_masks_of_pandas_frames(self):
        frame, m = pandas.DataFrame({"url": KEYS, "n": [1, 2, 3]}), self.m
        for rows in (frame[m], frame.loc[m], frame.loc[m, :], frame.iloc[m], frame[~~m], frame.dropna()[m],
                     frame[m.to_numpy()], frame[m.to_pandas()]):
            self.assertEqual(rows.n.tolist(), [1, 3])
            self.assertEqual(rows.index.tolist(), [0, 2])
        for column in frame.n[m], frame.n.loc[m], frame.loc[m, "n"], frame.url[m].map({"a": 1, "b": 3}):
            self.assertEqual(column.tolist(), [1, 3])
        self.assertEqual(frame.url[~m].tolist(), ["x"])
        self.assertEqual(frame.loc[~m, "n"].tolist(), [2])
        frame["seen"] = m
        frame = frame.assign(again=m)
        frame.loc[m, "n"] = 0
        self.assertEqual((frame.seen.dtype, frame.again.tolist(), frame.n.tolist()), (bool, [True, False, True], [0, 2, 0]))
        if int(pandas.__version__.split(".")[0]) > 2:  # older versions test its truth value
            self.assertEqual(pandas.Series(m).tolist(), [True, False, True])
        self.assertEqual(pandas.Series(m.to_pandas()).tolist(), [True, False, True])
        column = pandas.Series([True, True, False], index=[5, 6, 7])
        for combined, expected in ((column & m, [True, False, False]), (m & column, [True, False, False]), (m | column, [True] * 3),
                                   (column ^ ~m, [True, False, False]), (~m ^ column, [True, False, False])):
            self.assertEqual((type(combined), combined.tolist(), combined.index.tolist()), (pandas.Series, expected, [5, 6, 7]))
        self.assertRaises(ValueError, lambda: m & column[1:].to_numpy())
        self.assertRaises((IndexError, ValueError), lambda: frame[m[1:]])

    @unittest.skipUnless(pandas, "needs pandas")
    def test_nulls_do_not_select_pandas_rows(self):
        frame = pandas.DataFrame({"n": [1, 2, 3]})
        for select, rows in (self.nulls, [1]), (~self.nulls, [3]), (self.nulls.fill_null(True), [1, 2]), (self.nulls.is_null(), [2]):
            self.assertEqual(frame[select].n.tolist(), rows)
            self.assertEqual(frame.loc[select, "n"].tolist(), rows)
        self.assertEqual((self.nulls & (frame.n > 0)).fillna(False).tolist(), [True, False, False])
        with self.assertRaisesRegex(ValueError, "fill_null"):
            (frame.n > 0) & self.nulls
        array = self.nulls.to_pandas()
        self.assertEqual((str(array.dtype), array[0], array[1] is pandas.NA, array[2]), ("boolean", True, True, False))

    @unittest.skipUnless(pandas, "needs pandas")
    def test_masked_arrays_are_refused_and_masks_without_nulls_accepted(self):
        whole = pandas.Series([1, 2], dtype="Int64")
        self.assertEqual(list(bloomfile.hash_many(whole)), list(bloomfile.hash_many([1, 2])))
        with self.assertRaisesRegex(TypeError, "compressed"):
            bloomfile.Builder().add_many(numpy.ma.array([1, 2], mask=[0, 1]))

    @unittest.skipUnless(pandas, "needs pandas")
    def test_pandas_columns_of_keys_are_looked_up(self):
        missing = [True, False, None]
        for column in (pandas.Series(["a", "x", None]), pandas.Series(["a", "x", float("nan")], dtype=object),
                       pandas.Series(["a", "x", pandas.NA], dtype="string"), pandas.Series(["a", "x", None], dtype="category"),
                       pandas.Series(["a", "x", None], dtype=object).array, pandas.Series(["a", "x", pandas.NaT], dtype=object)):
            with self.subTest(column.dtype):
                self.assertEqual(self.f.contains_many(column), missing)
                live = bloomfile.Filter.memory(10)
                self.assertEqual(live.add_many(column), [True, True, None])
                self.assertEqual((live.info().keys, live.info().key_kind), (2, None))
        for column in pandas.Index(KEYS), pandas.DataFrame({"k": KEYS, "l": KEYS}).k, pandas.DataFrame([KEYS] * 2, dtype=object).loc[0]:
            self.assertEqual(self.f.contains_many(column), [True, False, True])
        for dtype in "int8", "int64", "uint16", "Int64", "UInt8", "category", object:
            self.assertEqual(self.numbers.contains_many(pandas.Series([1, 20, 3], dtype=dtype)), [True, False, True])
        for dtype in "Int64", "UInt8", "Int8":
            column = pandas.Series([1, None, 20], dtype=dtype)
            self.assertEqual(self.numbers.contains_many(column), [True, None, False])
            self.assertEqual(bloomfile.Filter.memory(10).add_many(column), [True, None, True])
            self.assertRaisesRegex(ValueError, "no place", self.numbers.contains_many, column, out=bytearray(3))
        for dtype in "Int64", "UInt8", object:
            self.assertEqual(self.numbers.contains_many(pandas.Series([1, None, 20], dtype=dtype).astype("category")), [True, None, False])
        self.assertEqual(self.numbers.contains_many(pandas.RangeIndex(3)), [True] * 3)
        self.assertEqual(self.f.contains_many(pandas.Series([], dtype=object)), [])
        self.assertRaises(bloomfile.errors.EKEYKIND, self.f.contains_many, pandas.Series([1]))

    @unittest.skipUnless(pandas, "needs pandas")
    def test_refused_pandas_columns_name_the_cast(self):
        times = pandas.to_datetime(["2026-11-30"])
        for column, words in ((pandas.Series([1.0]), r"float64: cast it with \.astype.'Int64'.*fractions$"), (pandas.Series([1, None]), "float64.*'Int64'"),
                              (pandas.Series([1.0], dtype="Float64"), "Float64.*astype.'float64'..astype.'Int64'"), (pandas.Series([True]), "bool.*'int8'"),
                              (pandas.Series([True], dtype="boolean"), "boolean.*'int8'"), (pandas.Series(times), "datetime64.*astype"),
                              (pandas.Series(times.tz_localize("UTC")), "UTC.*astype.'int64'"), (pandas.Series(times - times), "timedelta.*astype"),
                              (pandas.Series([decimal.Decimal(1)]), "Decimal.*str\\(\\)"), (pandas.Series(pandas.period_range("2026", periods=2)), "period.*astype.str"),
                              (pandas.DataFrame({"a": [1]}), "data frame"), (pandas.Series([datetime.date(2026, 11, 30)]), "date.*str")):
            with self.subTest(words):
                for use in self.f.contains_many, bloomfile.Builder().add_many, bloomfile.Filter.memory(9).add_many:
                    self.assertRaisesRegex(TypeError, words, use, column)
                out = bytearray(len(column))
                self.assertRaises(TypeError, self.f.contains_many, column, out=out)
                self.assertEqual(out, b"\1" * len(column))

    @unittest.skipUnless(numpy, "needs NumPy")
    def test_numpy_columns_of_keys_are_looked_up(self):
        objects = numpy.array(KEYS, dtype=object)
        for array in objects, numpy.array(KEYS), numpy.array([k.encode() for k in KEYS]), numpy.repeat(objects, 2)[::2], objects[::-1]:
            self.assertEqual(self.f.contains_many(array), [True, False, True])
        many = numpy.array([str(i) for i in range(100_000)], dtype=object)
        f = self.build(many[::2], 1e-9, path=self.folder / "many.bloom")
        self.assertEqual(f.info().keys, 50_000)
        self.assertEqual(f.contains_many(many), [True, False] * 50_000)
        self.assertRaisesRegex(TypeError, "NoneType.*leave it out", self.f.contains_many, numpy.array(["a", None], dtype=object))
        self.assertRaisesRegex(TypeError, "NoneType", self.f.contains_many, numpy.empty(3, dtype=object))
        for missing in float("nan"), numpy.float64("nan"), decimal.Decimal("nan"), numpy.datetime64("NaT"), *([pandas.NA, pandas.NaT] if pandas else []):
            for use in self.f.contains_many, bloomfile.Builder().add_many, bloomfile.Filter.memory(9).add_many, bloomfile.hash_many:
                self.assertRaisesRegex(TypeError, "a missing value: drop it", use, ["a", missing])
        self.assertRaisesRegex(TypeError, "a whole number with int", self.f.contains_many, ["a", 1.5])
        for table in (numpy.array([KEYS, KEYS]), numpy.array([KEYS, KEYS], dtype=object), numpy.zeros((2, 2)), numpy.array([[b"a"]]),
                      numpy.array([[1]]), numpy.array([[1]], ">i8"), numpy.empty((0, 2), int), numpy.empty((0, 2), object), numpy.zeros((1, 1), "V8")):
            for use in self.f.contains_many, bloomfile.Builder().add_many, bloomfile.Filter.memory(9).add_many, bloomfile.hash_many:
                self.assertRaisesRegex(TypeError, "this array has 2 dimensions: pass one column", use, table)
                self.assertRaises(TypeError, use, numpy.zeros((), table.dtype))
        for array, cast in ((numpy.zeros(2), "int64"), (numpy.zeros(0), "int64"), (numpy.zeros(2, bool), "int8"),
                            (numpy.zeros(2, "M8[s]"), "int64"), (numpy.zeros(2, "m8[s]"), "int64"), (numpy.zeros(2, complex), "str")):
            self.assertRaisesRegex(TypeError, f"{array.dtype}.*astype.*{cast}".replace("[", ".").replace("]", "."),
                                   self.f.contains_many, array)

    @unittest.skipUnless(polars, "needs polars")
    def test_polars_columns_and_masks_work(self):
        frame, m = polars.DataFrame({"url": KEYS, "n": [1, 2, 3]}), self.f.contains_many(polars.Series(KEYS))
        self.assertEqual(m, [True, False, True])
        self.assertEqual(frame.filter(m)["n"].to_list(), [1, 3])
        self.assertEqual(frame.filter(~m)["n"].to_list(), [2])
        self.assertEqual(frame.lazy().filter(m).collect()["n"].to_list(), [1, 3])
        self.assertEqual(frame.filter(m, polars.col("n") > 1)["n"].to_list(), [3])
        self.assertEqual(frame.filter(m & (frame["n"] > 1))["n"].to_list(), [3])
        self.assertEqual(frame.with_columns(seen=polars.Series(m))["seen"].to_list(), [True, False, True])
        for made in polars.Series(self.nulls), polars.from_arrow(self.nulls), self.nulls.to_polars():
            self.assertEqual((made.dtype, made.to_list()), (polars.Boolean, [True, None, False]))
        self.assertEqual(frame.filter(polars.Series(self.nulls))["n"].to_list(), [1])
        self.assertEqual(self.f.contains_many(polars.Series(["a", None, "x"])), [True, None, False])
        for dtype in polars.Int8, polars.UInt64:
            self.assertEqual(self.numbers.contains_many(polars.Series([1, None, 20], dtype=dtype)), [True, None, False])
        for column in (polars.Series([1.0]), polars.Series([True]), polars.Series([datetime.date(2026, 1, 1)]), polars.Series([datetime.time(1)]),
                       polars.Series([datetime.datetime(2026, 1, 1)]), polars.Series([datetime.timedelta(1)]), polars.Series([decimal.Decimal(1)]),
                       polars.Series(["a"], dtype=polars.Categorical)):
            self.assertRaisesRegex(TypeError, "cast it (to|with)", self.numbers.contains_many, column)
        self.assertRaisesRegex(TypeError, r"this is a data frame: pass one column, such as df\['name'\]", self.f.contains_many, frame)
        for column in polars.Series([uuid.UUID(int=1)]), polars.Series([1, 2], dtype=polars.Object):
            for use in self.numbers.contains_many, bloomfile.Builder().add_many, bloomfile.Filter.memory(9).add_many, bloomfile.hash_many:
                self.assertRaisesRegex(TypeError, r"this column is Object: pass its to_list\(\)", use, column)

    @unittest.skipUnless(pyarrow, "needs pyarrow")
    def test_pyarrow_tables_and_masks_work(self):
        table, m = pyarrow.table({"url": KEYS, "n": [1, 2, 3]}), self.m
        self.assertEqual(table.filter(pyarrow.array(m))["n"].to_pylist(), [1, 3])
        self.assertEqual(pyarrow.array(self.nulls).to_pylist(), [True, None, False])
        self.assertTrue(pyarrow.array(self.nulls).equals(pyarrow.array([True, None, False])))
        many = Answers([True, False, None, True, True] * 1000)
        pyarrow.array(many).validate(full=True)
        self.assertEqual(pyarrow.array(many).to_pylist(), many.tolist())
        for column in (pyarrow.array(["a", None, "x"]), pyarrow.chunked_array([["a", None], ["x"]]), pyarrow.array(["", "a", None, "x"])[1:],
                       pyarrow.array([b"a", None, b"x"]), pyarrow.array(["a", None, "x"], pyarrow.large_string()),
                       pyarrow.array(["a", None, "x"], pyarrow.string_view())):
            self.assertEqual(self.f.contains_many(column), [True, None, False])
        self.assertEqual(self.numbers.contains_many(pyarrow.array([1, None, 20], pyarrow.int16())), [True, None, False])
        for column in (pyarrow.array([1.0]), pyarrow.array([True]), pyarrow.array([datetime.date(2026, 1, 1)]), pyarrow.array([decimal.Decimal(1)]),
                       pyarrow.array(["a"]).dictionary_encode(), pyarrow.array([datetime.timedelta(1)])):
            self.assertRaisesRegex(TypeError, "cast it to", self.numbers.contains_many, column)
        if pandas and hasattr(pandas, "ArrowDtype"):
            self.assertEqual(self.f.contains_many(pandas.Series(["a", None, "x"], dtype=pandas.ArrowDtype(pyarrow.string()))), [True, None, False])
            self.assertEqual(self.numbers.contains_many(pandas.Series([1, None], dtype=pandas.ArrowDtype(pyarrow.int32()))), [True, None])
            self.assertRaisesRegex(TypeError, "cast it to", self.f.contains_many,
                                   pandas.Series([1.0], dtype=pandas.ArrowDtype(pyarrow.float64())))


if __name__ == "__main__":
    unittest.main()
