# SPDX-License-Identifier: MIT
"""Keys in lists, iterables and buffers of every kind, and answers in buffers of the caller."""

import array
import contextlib
import ctypes
import struct
import sys
import unittest

import bloomfile

from arrow_layout import Made, MadeStream, layout
from support import Case

try:
    import numpy
except ImportError:
    numpy = None
try:
    import pyarrow
except ImportError:
    pyarrow = None

KEYS = [f"key {i} {'x' * (i % 40)}" for i in range(300)]


class Keys(Case):
    def setUp(self):
        super().setUp()
        self.f = self.build(["a", "ä", b"\xff", b""])

    def test_str_is_hashed_as_utf_8(self):
        f = self.f
        for key in "a", b"a", bytearray(b"a"), memoryview(b"a"), "ä", "ä".encode(), b"\xff", b"", "", memoryview(b""):
            with self.subTest(key):
                self.assertTrue(key in f and f.contains(key) and f.contains_digest(bloomfile.hash(key)))
                self.assertEqual(f.contains_many([key]), b"\1")
        self.assertFalse("ÿ" in f)
        self.assertFalse("a\0" in f)

    def test_subclasses_of_str_and_bytes_are_keys(self):
        class Text(str):
            pass

        class Bytes(bytes):
            pass
        self.assertTrue(Text("ä") in self.f and Bytes(b"\xff") in self.f)

    def test_str_without_utf_8_names_the_remedy(self):
        for use in (lambda: "\udcff" in self.f, lambda: self.f.contains_many(["a", "\udcff"]),
                    lambda: bloomfile.hash("\udcff"), lambda: bloomfile.Builder().add("\udcff")):
            with self.assertRaises(UnicodeEncodeError) as raised:
                use()
            self.assertIn("os.fsencode()", raised.exception.__notes__[0])

    def test_values_that_are_not_keys_are_refused(self):
        numbers = [(numpy.float64(5), "float64"), (numpy.bool_(True), "bool"), (numpy.datetime64("2026-11-23"), "datetime64"),
                   (numpy.zeros(2), "contiguous bytes")] if numpy else []
        for key, words in [*numbers, (True, "str, bytes or an integer, not <class 'bool'>"), (None, "NoneType"), (0.5, "float"), (["a"], "list"),
                           (array.array("i", [1]), "contains_records"), (memoryview(b"abcd")[::2], "contiguous"),
                           (memoryview(b"abcd").cast("H"), "bytes"), (memoryview(b"abcd").cast("B", (2, 2)), "bytes")]:
            with self.subTest(key), self.assertRaisesRegex(TypeError, words):
                key in self.f
            with self.assertRaisesRegex(TypeError, words):
                self.f.contains_many(["a", key])
            with self.assertRaisesRegex(TypeError, words):
                bloomfile.Builder().add(key)
        for digest in "a", 0.5, None:
            self.assertRaises(TypeError, self.f.contains_digest, digest)
        for digest in -1, 1 << 64:
            self.assertRaises(OverflowError, self.f.contains_digest, digest)

    def test_single_key_is_refused_in_place_of_a_list(self):
        for key in "abc", b"abc", bytearray(b"abc"), memoryview(b"abc"):
            with self.assertRaisesRegex(TypeError, "put it into a list"):
                self.f.contains_many(key)
        self.assertRaises(TypeError, self.f.contains_many, 5)
        self.assertRaises(TypeError, self.f.contains_many)


class Iterables(Case):
    def test_keys_come_from_any_iterable(self):
        f = self.build(KEYS)
        asked = KEYS[:3] + ["absent"]
        for keys in asked, tuple(asked), iter(asked), dict.fromkeys(asked).keys(), (key for key in asked), map(str, asked):
            self.assertEqual(f.contains_many(keys), b"\1\1\1\0")
        self.assertEqual(sum(f.contains_many(set(KEYS))), 300)
        for nothing in [], (), iter(()), {}.keys():
            self.assertEqual(f.contains_many(nothing), b"")

    def test_keys_of_many_chunks_are_answered(self):
        keys = [str(i) for i in range(200_000)]
        f = self.build(keys[::2], 1e-6)
        for asked in keys, tuple(keys), iter(keys):
            self.assertEqual(f.contains_many(asked), b"\1\0" * 100_000)

    def test_exception_of_the_iterator_is_raised(self):
        def keys():
            yield "a"
            raise LookupError("no more")
        f = self.live()
        for use in f.contains_many, f.add_many, bloomfile.hash_many:
            with self.assertRaisesRegex(LookupError, "no more"):
                use(keys())

    def test_list_that_changes_during_the_call_is_an_error(self):
        f = self.build()
        keys = ["a"] * 10

        class Iterable:
            def __iter__(self):
                return iter(keys)
        self.assertEqual(f.contains_many(Iterable()), b"\1" * 10)
        if sys.version_info >= (3, 12):
            class Shrinks:
                def __buffer__(self, flags):
                    keys.pop()
                    return memoryview(b"a")
            keys[3] = Shrinks()
            with self.assertRaises(RuntimeError):
                f.contains_many(keys)

    def test_filter_closed_by_the_iterator_raises(self):
        f = self.build()

        def keys():
            yield "a"
            f.close()
            yield "b"
        self.assertRaises(ValueError, f.contains_many, keys())

    def test_list_that_contains_itself_is_refused(self):
        keys = ["a"]
        keys.append(keys)
        self.assertRaises(TypeError, self.build().contains_many, keys)


class Digests(Case):
    def setUp(self):
        super().setUp()
        self.f = self.build(KEYS, 1e-6, seed=7)
        self.digests = bloomfile.hash_many([*KEYS[:3], "absent"], 7)

    def test_digests_come_from_any_buffer_of_8_byte_items(self):
        self.assertEqual(self.digests, b"".join(bloomfile.hash(key, 7).to_bytes(8, sys.byteorder)
                                                for key in [*KEYS[:3], "absent"]))
        d = self.digests
        forms = [d, bytes(d), memoryview(d), memoryview(d).cast("Q"), memoryview(d).cast("L"), array.array("Q", bytes(d)),
                 (ctypes.c_uint64 * 4).from_buffer_copy(d), memoryview(d).cast("B", (4, 8)), memoryview(b"." + d)[1:]]
        if numpy:
            forms += [numpy.frombuffer(d, numpy.uint64), numpy.frombuffer(d, numpy.uint8)]
        for form in forms:
            with self.subTest(form):
                self.assertEqual(self.f.contains_digests(form), b"\1\1\1\0")
        self.assertEqual(self.f.contains_digests(b""), b"")

    def test_digests_depend_on_the_seed(self):
        self.assertEqual(sum(self.f.contains_digests(bloomfile.hash_many(KEYS, 8))), 0)

    def test_items_that_are_not_digests_are_refused(self):
        swapped = ctypes.c_uint64.__ctype_be__ if sys.byteorder == "little" else ctypes.c_uint64.__ctype_le__
        for form in (array.array("q", [1]), array.array("I", [1, 2]), array.array("d", [1.0]), (swapped * 2)(1, 2),
                     (ctypes.c_char_p * 1)(), (ctypes.c_bool * 8)()):
            with self.subTest(form), self.assertRaises(TypeError):
                self.f.contains_digests(form)
        for form in b"1234567", memoryview(bytes(32)).cast("Q")[::2]:
            with self.subTest(form), self.assertRaises(ValueError):
                self.f.contains_digests(form)
        for form in [1, 2], "text", None:
            with self.subTest(form), self.assertRaises(TypeError):
                self.f.contains_digests(form)

    def test_large_and_unaligned_digests_are_looked_up(self):
        digests = bloomfile.hash_many(KEYS, 7) * 20_000
        shifted = memoryview(b"." + digests)[1:]
        self.assertEqual(self.f.contains_digests(digests), b"\1" * 6_000_000)
        self.assertEqual(self.f.contains_digests(shifted[:8 * 10_000]), b"\1" * 10_000)


class Records(Case):
    def test_records_come_from_any_buffer_of_their_size(self):
        records = [bytes([i]) * 6 for i in range(200)]
        data = b"".join(records)
        f = self.build(records, 1e-6)
        forms = [(data, 6), (bytearray(data), 6), (memoryview(data).cast("B", (200, 6)), None),
                 (memoryview(data).cast("H", (200, 3)), None), (memoryview(data).cast("B", (200, 2, 3)), None),
                 (((ctypes.c_char * 6) * 200).from_buffer_copy(data), None)]
        if numpy:
            forms += [(numpy.frombuffer(data, "S6"), None), (numpy.frombuffer(data, "V6"), None),
                      (numpy.frombuffer(data, numpy.dtype("<u2,<u4")), None),
                      (numpy.frombuffer(data, numpy.uint8).reshape(200, 6), None)]
        for form, size in forms:
            with self.subTest(form):
                self.assertEqual(f.contains_records(form, size), b"\1" * 200)
                self.assertEqual(bloomfile.hash_records(form, size, 5), bloomfile.hash_many(records, 5))
        self.assertEqual(f.contains_records(b"\xff" * 6 + data[:6], 6), b"\0\1")
        self.assertEqual(f.contains_records(b"", 4), b"")

    def test_numbers_are_hashed_as_little_endian_bytes(self):
        f = self.build(range(100), 1e-6)
        if sys.byteorder == "little":
            self.assertEqual(f.contains_records(array.array("q", range(100))), b"\1" * 100)
        little = (ctypes.c_int64.__ctype_le__ * 100)(*range(100))
        self.assertEqual(f.contains_records(little), b"\1" * 100)
        with self.assertRaisesRegex(TypeError, "big-endian"):
            f.contains_records((ctypes.c_int64.__ctype_be__ * 100)(*range(100)))
        if numpy:
            with self.assertRaisesRegex(TypeError, "big-endian"):
                f.contains_records(numpy.arange(100, dtype=">i8"))

    def test_items_with_padding_are_refused(self):
        class Padded(ctypes.Structure):
            _fields_ = [("x", ctypes.c_char), ("y", ctypes.c_int)]

        class Packed(ctypes.Structure):
            _pack_ = 1
            _layout_ = "ms"  # which Python 3.14 wants with _pack_
            _fields_ = [("x", ctypes.c_char), ("y", ctypes.c_int)]

        class Either(ctypes.Union):
            _fields_ = [("x", ctypes.c_char), ("y", ctypes.c_int)]
        f = self.build([bytes(Packed(b"a", 5))])
        self.assertEqual(f.contains_records(bytes(Packed(b"a", 5)), size=5), b"\1")
        refused = [((Padded * 3)(), "padding|outside its fields"), ((Either * 3)(), "outside its fields"), ((ctypes.py_object * 2)(1, 2), "addresses|objects"),
                   ((ctypes.c_char_p * 2)(), "."), ((ctypes.c_wchar * 3)(), "UTF-32"),
                   (array.array("d", [0.0]), "-0.0"), ((ctypes.c_longdouble * 2)(), ".")]
        if numpy:
            refused += [(numpy.array(["a", "b"]), "UTF-32"), (numpy.array(["a", None], dtype=object), "objects"),
                        (numpy.zeros(3, numpy.dtype("u1,<u4", align=True)), "padding"),
                        (numpy.zeros(3, numpy.longdouble), "-0.0"), (numpy.zeros(3, complex), "no bytes of their own"),
                        (numpy.zeros(3, "f4,u4"), "-0.0"), (numpy.zeros(3, ">u2,u1"), "big-endian")]
        for form, words in refused:
            with self.subTest(form), self.assertRaisesRegex(TypeError, words):
                f.contains_records(form)
            with self.subTest(form), self.assertRaisesRegex(TypeError, words):
                bloomfile.hash_records(form)
        if numpy:
            for form in numpy.zeros((4, 4), "u2")[:, 1:], numpy.zeros((4, 4), "u2").T[:, :2], numpy.uint16(5):
                with self.subTest(form), self.assertRaises(ValueError):
                    f.contains_records(form)

    def test_wrong_record_sizes_are_refused(self):
        f = self.build()
        self.assertRaisesRegex(TypeError, "set the size.*contains_many.*add_many", f.contains_records, b"abc")
        for size in 0, -1, 2, 4:
            self.assertRaises(ValueError, f.contains_records, b"abc", size)
        for size in "1", 0.5:
            self.assertRaises(TypeError, f.contains_records, b"abc", size)
        self.assertRaises(OverflowError, f.contains_records, b"abc", 1 << 70)


class Arrow(Case):
    def setUp(self):
        super().setUp()
        self.f = self.build(KEYS, 1e-6)
        self.asked = [*KEYS[:60], "absent", ""]
        self.expected = b"\1" * 60 + b"\0\0"

    def test_arrow_offsets_and_data_are_looked_up(self):
        data = "".join(self.asked).encode()
        offsets = [0]
        for key in self.asked:
            offsets.append(offsets[-1] + len(key))
        for code in "iq":
            self.assertEqual(self.f.contains_arrow(array.array(code, offsets), data), self.expected)
            sliced = memoryview(array.array(code, offsets))[50:]
            self.assertEqual(self.f.contains_arrow(sliced, data), self.expected[50:])
        self.assertEqual(self.f.contains_arrow(array.array("i", [0]), b""), b"")
        for wrong in [0, 5, 3], [-1, 2], [0, 10**9], [5, len(data) + 1]:
            for code in "iq":
                with self.subTest(wrong), self.assertRaisesRegex(ValueError, "offsets"):
                    self.f.contains_arrow(array.array(code, wrong), data)
        self.assertRaises(ValueError, self.f.contains_arrow, array.array("i"), b"")
        for wrong in array.array("I", [0, 1]), array.array("h", [0, 1]), array.array("d", [0, 1]), bytes(8):
            self.assertRaises(TypeError, self.f.contains_arrow, wrong, b"a")
        self.assertRaises(TypeError, self.f.contains_arrow, array.array("i", [0, 1]), array.array("i", [1]))
        self.assertRaises(TypeError, self.f.contains_arrow, array.array("i", [0, 1]), "a")

    def test_spans_are_added_and_looked_up(self):
        text = b"ACGTACGGTA"
        starts = array.array("q", range(len(text) - 2))
        ends = array.array("Q", (start + 3 for start in starts))
        kmers = [text[start:start + 3] for start in starts]
        live, builder = bloomfile.Filter.memory(100, 1e-9), bloomfile.Builder(1e-9)
        self.assertEqual(live.add_spans(text, starts, ends), [kmer not in kmers[:i] for i, kmer in enumerate(kmers)])
        builder.add_spans(text, starts, ends)
        for f in live, bloomfile.Filter.from_bytes(builder.to_bytes()):
            self.assertEqual((f.keys, f.contains_many(kmers).all()), (len(set(kmers)), True))
            self.assertEqual(f.contains_spans(b"--ACGTTT", array.array("q", [2, 5, 8, 0]), array.array("q", [5, 8, 8, 8])),
                             [True, False, False, False])
        out = bytearray(len(starts))
        self.assertEqual(live.contains_spans(text, starts, ends, out=out), b"\1" * len(starts))
        self.assertEqual(live.contains_spans(b"", array.array("q"), array.array("q")), [])
        for start, end in (-1, 2), (5, 4), (0, 11), (11, 11), (-2**63, 2**63 - 1):
            with self.subTest((start, end)), self.assertRaisesRegex(ValueError, "outside the data"):
                live.contains_spans(text, array.array("q", [0, start]), array.array("q", [1, end]))
        with self.assertRaisesRegex(ValueError, "outside the data"):
            live.contains_spans(text, array.array("Q", [2**64 - 1]), array.array("Q", [2**64 - 1]))
        self.assertRaisesRegex(ValueError, "as many", live.contains_spans, text, starts, ends[1:])
        for wrong in (array.array("i", [0]), starts), (starts, array.array("d", starts)), (list(starts), ends):
            self.assertRaises(TypeError, live.contains_spans, text, *wrong)
        self.assertRaises(TypeError, live.contains_spans, "text", starts, ends)
        self.assertRaisesRegex(TypeError, "'out'", builder.add_spans, text, starts, ends, out=out)
        self.assertRaisesRegex(ValueError, "overlaps", live.contains_spans, text, starts, starts, out=memoryview(starts).cast("B")[:8])

    def test_arrow_arrays_of_every_string_format_are_looked_up(self):
        for fmt in "u", "U", "z", "Z", "vu", "vz":
            with self.subTest(fmt):
                self.assertEqual(self.f.contains_many(layout(self.asked, fmt)), self.expected)
                sliced = layout(self.asked, fmt)
                sliced.array.offset, sliced.array.length = 7, 50
                self.assertEqual(self.f.contains_many(sliced), self.expected[7:57])
                self.assertEqual(self.f.contains_many(layout([], fmt)), b"")
                f = bloomfile.Builder(1e-6, key_kind="text")
                f.add_many(layout(KEYS, fmt))
                self.assertEqual(f.to_bytes(), bloomfile.Filter(self.path).to_bytes())
        g = self.build([b"abc", b"def"], replace=True)
        self.assertEqual(g.contains_many(layout([b"abc", b"def", b"ghi"], "w:3")), b"\1\1\0")
        self.assertEqual(g.contains_many(Made("z", 0, [None, None, None])), b"")

    def test_arrow_streams_are_looked_up_and_released(self):
        stream = MadeStream([layout(KEYS[:30], "u"), layout([], "u"), layout(["absent"], "u"), layout(KEYS[30:], "u")])
        self.assertEqual(self.f.contains_many(stream), b"\1" * 30 + b"\0" + b"\1" * 270)
        self.assertEqual(stream.released, 4)
        stream = MadeStream([layout(KEYS[:30], "u")], error=5)
        with self.assertRaisesRegex(OSError, "the producer broke"):
            self.f.contains_many(stream)
        stream = MadeStream([layout(KEYS[:30], "u"), layout(KEYS[:30], "u", b"\1\0\0\0", null_count=-1)])
        self.assertEqual(self.f.contains_many(stream), [True] * 31 + [None] * 29)
        self.assertEqual(stream.released, 2)

    def test_capsule_is_consumed_once(self):
        """A capsule that was moved or released has no keys. Any consumer empties it."""

        class Same:
            def __init__(self, name, capsules):
                setattr(self, name, lambda requested_schema=None: capsules)
        for made in (layout(KEYS, "u"), MadeStream([layout(KEYS, "u")]),
                     *([pyarrow.array(KEYS), pyarrow.chunked_array([KEYS])] if pyarrow else [])):
            name = "__arrow_c_stream__" if hasattr(made, "__arrow_c_stream__") else "__arrow_c_array__"
            live, builder = bloomfile.Filter.memory(999), bloomfile.Builder()
            for first in self.f.contains_many, live.add_many, builder.add_many:
                same = Same(name, getattr(made, name)())
                if isinstance(made, MadeStream):
                    made.next = 0
                first(same)
                for again in self.f.contains_many, live.add_many, builder.add_many:
                    self.assertRaisesRegex(ValueError, "consumed or released", again, same)
                out = bytearray(300)
                self.assertRaises(ValueError, self.f.contains_many, same, out=out)
                self.assertEqual(out, b"\1" * 300)
        moved = layout(KEYS, "u")
        for struct in "schema", "array":
            same = Same("__arrow_c_array__", moved.__arrow_c_array__())
            getattr(moved, struct).release = None
            self.assertRaisesRegex(ValueError, "consumed or released", self.f.contains_many, same)

    def test_contents_of_a_capsule_are_released(self):
        integers = Made("i", 1, [None, bytes(4)])
        for made in layout(KEYS, "u"), integers, MadeStream([layout(KEYS, "u"), layout(KEYS, "z")]), MadeStream([integers]):
            for out in None, bytearray(2), bytearray(600):
                with contextlib.suppress(TypeError, ValueError):
                    self.f.contains_many(made, out=out)
                self.assertEqual(made.lent, 0)

    def test_null_is_never_added_and_answers_null(self):
        for null_count in -1, 1:
            a = layout(["a", "b", "c"], "u", b"\5", null_count=null_count)
            live, builder = bloomfile.Filter.memory(9, 1e-6), bloomfile.Builder(1e-6)
            self.assertEqual(self.f.contains_many(a), [False, None, False])
            self.assertEqual(live.add_many(a), [True, None, True])
            self.assertEqual(live.add_many(a), [False, None, False])
            builder.add_many(a)
            self.assertEqual(builder.count(), 2)
            for f in live, bloomfile.Filter.from_bytes(builder.to_bytes()):
                self.assertEqual(f.contains_many(["a", "b", "c", ""]), [True, False, True, False])
            out = bytearray(3)
            self.assertRaisesRegex(ValueError, "no place", self.f.contains_many, a, out=out)
            self.assertEqual(out, b"\1\1\1")
            self.assertRaisesRegex(ValueError, "no place", live.add_many, a, out=out)
            self.assertRaisesRegex(ValueError, "no digest", bloomfile.hash_many, a)
            a.array.offset, a.array.length = 2, 1  # only the nulls of the slice count
            self.assertEqual(self.f.contains_many(a), [False])
        self.assertEqual(self.f.contains_many(layout(["a"], "u", b"\1", null_count=-1)), [False])
        self.assertEqual(self.f.contains_many(Made("n", 2, [])), [None, None])
        self.assertRaisesRegex(ValueError, "does not say which", self.f.contains_many, layout(["a"], "u", null_count=1))

    def test_bytes_of_a_null_are_not_read(self):
        wild = struct.pack("<i4sii", 20, b"abcd", 99, 7)
        short = struct.pack("<i12s", 5, b"key 0")
        self.assertEqual(self.f.contains_many(Made("vu", 3, [b"\5", short + wild + short, struct.pack("<q", 0)], null_count=1)),
                         [False, None, False])

    def test_nulls_at_any_place_answer_null(self):
        """More keys than one batch, with nulls at every place."""
        for step in 1, 2, 3, 1000, 4096, 9999:
            keys = [f"key {i}" for i in range(10_000)]
            valid, expected = bytearray(1250), []
            for i in range(10_000):
                valid[i // 8] |= (i % step != 0) << i % 8
                expected.append(True if i % step != 0 else None)
            live = bloomfile.Filter.memory(10_000, 1e-9)
            self.assertEqual(live.add_many(layout(keys, "u", bytes(valid), null_count=-1)), expected)
            self.assertEqual(live.info().keys, expected.count(True))
            self.assertEqual(live.contains_many(layout(keys, "u", bytes(valid), null_count=-1)), expected)
            self.assertEqual(sum(live.contains_many(keys)), expected.count(True))

    def test_error_reports_the_rows_done_including_nulls(self):
        live = bloomfile.Filter.memory(1000, 1e-9)
        keys = [f"key {i}" for i in range(5000)]
        valid = bytes([0b10101010]) * 625
        with self.assertRaises(bloomfile.errors.EFULL) as raised:
            live.add_many(layout(keys, "u", valid, null_count=-1))
        done = raised.exception.done
        self.assertEqual(live.contains_many(keys[:done]).sum(), done // 2)
        self.assertFalse(all(live.contains_many(keys[done + 1::2])))

    def test_contradictory_arrow_arrays_are_refused(self):
        for fmt in "I", "L", "g", "b", "+l", "+s", "w:0", "w:", "w:99999999999999999999999", "tdD", "":
            with self.subTest(fmt), self.assertRaisesRegex((TypeError, ValueError), "strings, binary or integers|contradicts|this is a table"):
                bloomfile.hash_many(Made(fmt, 1, [None, bytes(8), bytes(8)] if fmt in "gb+l+s" else [None]))
        with self.assertRaisesRegex(TypeError, "dictionary"):
            self.f.contains_many(layout(["a"], "u", dictionary=1))
        for length, offset, buffers in (-1, 0, 3), (1, -1, 3), (1, 0, 2), (1, 0, 0), (2**63 - 1, 1, 3):
            a = Made("u", length, [None, bytes(8), b""][:buffers], offset=offset)
            with self.subTest((length, offset, buffers)), self.assertRaises((ValueError, MemoryError)):
                self.f.contains_many(a)
        for buffers in [None, None, b""], [None, struct.pack("<2i", 0, 1), None]:
            self.assertRaises(ValueError, self.f.contains_many, Made("u", 1, buffers))
        backwards = Made("u", 2, [None, struct.pack("<3i", 0, 9, 4), b"abcdefghi"])
        self.assertRaises(ValueError, self.f.contains_many, backwards)
        for size, part, place in (-1, 0, 0), (20, 1, 0), (20, -1, 0), (20, 0, -1), (20, 0, 11), (2**31 - 1, 0, 2**31 - 1):
            view = struct.pack("<i4sii", size, b"abcd", part, place)
            a = Made("vz", 1, [None, view, bytes(30), struct.pack("<q", 30)])
            with self.subTest((size, part, place)), self.assertRaises(ValueError):
                self.f.contains_many(a)

    def test_objects_with_invalid_arrow_capsules_are_refused(self):
        class Lies:
            def __init__(self, value):
                self.value = value

            def __arrow_c_array__(self, requested_schema=None):
                if isinstance(self.value, Exception):
                    raise self.value
                return self.value

            def __iter__(self):
                return iter(["absent"])
        for value in 5, (1, 2), None, (), MadeStream([layout([], "u")]).__arrow_c_stream__():
            with self.subTest(value), self.assertRaises((TypeError, ValueError)):
                self.f.contains_many(Lies(value))
        self.assertRaises(KeyError, self.f.contains_many, Lies(KeyError()))
        self.assertEqual(self.f.contains_many(Lies(ImportError())), b"\0")

    @unittest.skipUnless(pyarrow, "pyarrow is not here")
    def test_pyarrow_arrays_of_every_string_type_are_looked_up(self):
        for kind in pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.string_view():
            a = pyarrow.array(self.asked, kind)
            self.assertEqual(self.f.contains_many(a), self.expected)
            self.assertEqual(self.f.contains_many(a[7:20]), self.expected[7:20])
            self.assertEqual(self.f.contains_many(pyarrow.chunked_array([a[:7], a[7:]])), self.expected)
        self.assertEqual(self.f.contains_many(pyarrow.array(["a", None])), [False, None])
        self.assertRaises(TypeError, self.f.contains_many, pyarrow.array([1, 2]))
        a = pyarrow.array(self.asked)
        validity, offsets, data = a.buffers()
        self.assertEqual(self.f.contains_arrow(memoryview(offsets).cast("i"), data), self.expected)


class Answers(Case):
    def setUp(self):
        super().setUp()
        self.f = self.build(KEYS, 1e-6)
        self.asked = [KEYS[0], "absent", KEYS[1]]

    def ways(self, f):
        """Looks up the same three keys by every method."""
        digests = bloomfile.hash_many(self.asked)
        data = "".join(self.asked).encode()
        ends = [0]
        for key in self.asked:
            ends.append(ends[-1] + len(key))
        return [lambda out: f.contains_many(self.asked, out=out), lambda out: f.contains_many(iter(self.asked), out=out),
                lambda out: f.contains_digests(digests, out=out),
                lambda out: f.contains_arrow(array.array("i", ends), data, out=out),
                lambda out: f.contains_many(layout(self.asked, "u"), out=out),
                lambda out: f.contains_many(MadeStream([layout(self.asked, "u")]), out=out)]

    def test_out_may_be_any_writable_byte_buffer(self):
        for ask in self.ways(self.f):
            outs = [bytearray(3), array.array("B", bytes(3)), memoryview(bytearray(3)), (ctypes.c_bool * 3)(),
                    memoryview(bytearray(5))[1:4]]
            if numpy:
                outs += [numpy.zeros(3, bool), numpy.zeros(3, numpy.uint8)]
            for out in outs:
                with self.subTest(out):
                    self.assertIs(ask(out), out)
                    self.assertEqual(bytes(out), b"\1\0\1")

    def test_out_of_a_wrong_size_or_type_is_refused(self):
        for ask in self.ways(self.f):
            for size in 0, 2, 4:
                self.assertRaises(ValueError, ask, bytearray(size))
            for out in array.array("H", [0] * 3), array.array("I", [0] * 3):
                self.assertRaises((TypeError, ValueError), ask, out)
            self.assertRaises(ValueError, ask, memoryview(bytearray(6))[::2])
            for out in b"123", memoryview(b"123"):
                self.assertRaises(BufferError, ask, out)
            self.assertRaises(TypeError, ask, [0, 0, 0])

    def test_no_key_is_added_if_out_is_too_small(self):
        f = self.live()
        digests = bloomfile.hash_many(self.asked)
        for add in (lambda out: f.add_many(self.asked, out=out), lambda out: f.add_digests(digests, out=out),
                    lambda out: f.add_records(digests, 8, out=out), lambda out: f.add_many(layout(self.asked, "u"), out=out)):
            self.assertRaises(ValueError, add, bytearray(2))
        self.assertEqual(f.info().keys, 0)

    def test_out_is_held_while_it_is_written(self):
        out = bytearray(3)

        def keys():
            yield self.asked[0]
            with self.assertRaises(BufferError):
                out.clear()
            yield from self.asked[1:]
        self.f.contains_many(keys(), out=out)
        self.assertEqual(out, b"\1\0\1")
        out.clear()

    def test_out_must_not_lie_in_the_keys(self):
        memory = bytearray(bloomfile.hash_many(KEYS))
        view = memoryview(memory)
        with self.assertRaisesRegex(ValueError, "memory of the keys"):
            self.f.contains_digests(view, out=view[100:400])
        self.assertEqual(memory, bloomfile.hash_many(KEYS))
        self.assertEqual(self.f.contains_digests(view[:800], out=view[800:900])[:], b"\1" * 100)

    def failing(self):
        """Calls that fail after some of 50,000 answers, by every method and for every reason."""
        keys = [b"absent %08d" % i for i in range(50_000)]
        size, data, digests = len(keys[0]), b"".join(keys), bloomfile.hash_many(keys)
        ends = array.array("i", range(0, len(data) + 1, size))
        shut = self.build(path=self.folder / "shut")
        shut.close()

        def breaks(n):
            yield from keys[:n]
            raise LookupError

        class Breaks:
            def __iter__(self):
                raise LookupError

        class BreaksAsArray:
            def __arrow_c_array__(self):
                raise LookupError

        class BreaksAsStream:
            def __arrow_c_stream__(self):
                raise LookupError

        def bad_ends(at):
            bad = ends[:]
            bad[at] = -1
            return bad
        first, null = layout(keys[:30_000], "z"), layout(keys[30_000:], "z", b"\0" * 2500, null_count=-1)
        for what, method, arguments, answered, error in [
                ("a list with a number", "many", [[*keys[:40_000], 5.0, *keys[40_001:]]], 32_768, TypeError),
                ("a tuple with a number", "many", [(5.0, *keys[1:])], 0, TypeError),
                ("an iterator that breaks", "many", [breaks(40_000)], 32_768, LookupError),
                ("one that breaks at once", "many", [breaks(0)], 0, LookupError),
                ("no iterator", "many", [Breaks()], 0, LookupError), ("no array", "many", [BreaksAsArray()], 0, LookupError),
                ("no stream", "many", [BreaksAsStream()], 0, LookupError),
                ("too few keys", "many", [iter(keys[:40_000])], 40_000, ValueError),
                ("too many keys", "many", [iter([*keys, b"one more"])], 32_768, ValueError),
                ("offsets", "arrow", [bad_ends(30_000), data], 28_672, ValueError),
                ("the first offset", "arrow", [bad_ends(0), data], 0, ValueError),
                ("offsets of Arrow", "many", [Made("z", 50_000, [None, bad_ends(30_000).tobytes(), data])], 28_672, ValueError),
                ("an array with nulls", "many", [layout(keys, "z", b"\0" * 6250, null_count=-1)], 0, ValueError),
                ("a stream with nulls", "many", [MadeStream([first, null])], 30_000, ValueError),
                ("a stream that breaks", "many", [MadeStream([first], error=5)], 30_000, OSError),
                ("a stream of numbers", "many", [MadeStream([Made("f", 50_000, [None, bytes(200_000)])])], 0, TypeError)]:
            yield what, self.f, method, arguments, answered, error
        for method, arguments in [("many", [keys]), ("many", [iter(keys)]), ("many", [layout(keys, "z")]), ("digests", [digests]),
                                  ("records", [data, size]), ("arrow", [ends, data])]:
            yield "a closed filter", shut, method, arguments, 0, ValueError

    def test_unanswered_lookups_are_maybe_in_out(self):
        for what, f, method, arguments, answered, error in self.failing():
            with self.subTest(what, method=method):
                out = bytearray(50_000)
                self.assertRaises(error, getattr(f, "contains_" + method), *arguments, out=out)
                self.assertEqual((out.count(0), out.count(0, 0, answered), out.count(1)), (answered, answered, 50_000 - answered))

    def test_unanswered_adds_are_new_in_out(self):
        for what, f, method, arguments, answered, error in self.failing():
            if f is self.f:
                f = bloomfile.Filter.memory(50_000, 1e-6)
                f.add_records(b"".join(b"absent %08d" % i for i in range(50_000)), 15)
                with self.subTest(what, method=method):
                    out = bytearray(50_000)
                    self.assertRaises(error, getattr(f, "add_" + method), *arguments, out=out)
                    self.assertEqual((out.count(0), out.count(0, 0, answered), out.count(1)), (answered, answered, 50_000 - answered))

    def test_refused_arguments_leave_out_unchanged(self):
        for method, arguments in [("many", ["abc"]), ("many", [["a"]]), ("digests", [b"1234567"]), ("records", [b"abc", 2]),
                                  ("digests", [bytes(16)]), ("arrow", [array.array("H", [0, 1]), b"a"])]:
            with self.subTest(method):
                out = bytearray(b"???")
                self.assertRaises((TypeError, ValueError), getattr(self.f, "contains_" + method), *arguments, out=out)
                self.assertEqual(out, b"???")
        out = bytearray(b"???")
        self.assertRaises(TypeError, self.f.contains_many, out, out=out)
        self.assertEqual(out, b"???")

    def test_failed_hash_many_leaves_out_unchanged(self):
        out = array.array("Q", [7] * 3)
        self.assertRaises(TypeError, bloomfile.hash_many, ["a", "b", 5.0], out=out)
        self.assertEqual(out.tolist(), [7] * 3)

    def test_error_names_the_size_that_out_needs(self):
        for keys in ["a"], iter(["a"]):
            self.assertRaisesRegex(ValueError, "9 bytes, not a multiple of 8", bloomfile.hash_many, keys, out=bytearray(9))
        for keys in ["a"], iter(["a"]):
            self.assertRaisesRegex(ValueError, "room for 2 answers.* 1 key", bloomfile.hash_many, keys, out=bytearray(16))

    def test_hash_many_equals_hash_of_each_key(self):
        expected = array.array("Q", [bloomfile.hash(key, 3) for key in self.asked])
        self.assertEqual(bloomfile.hash_many(self.asked, 3), expected.tobytes())
        self.assertEqual(bloomfile.hash_many(iter(self.asked), seed=3), expected.tobytes())
        self.assertEqual(bloomfile.hash_many(layout(self.asked, "u"), 3), expected.tobytes())
        for out in array.array("Q", [0] * 3), bytearray(24), memoryview(bytearray(24)).cast("L"), memoryview(bytearray(25))[1:]:
            self.assertIs(bloomfile.hash_many(self.asked, 3, out=out), out)
            self.assertEqual(bytes(out), expected.tobytes())
        for out in bytearray(23), bytearray(16), array.array("Q", [0] * 4):
            self.assertRaises(ValueError, bloomfile.hash_many, self.asked, out=out)
        for out in array.array("q", [0] * 3), array.array("I", [0] * 6):
            self.assertRaises(TypeError, bloomfile.hash_many, self.asked, out=out)
        self.assertRaises(OverflowError, bloomfile.hash_many, [], -1)


if __name__ == "__main__":
    sys.exit(unittest.main())
