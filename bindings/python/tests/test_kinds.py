# SPDX-License-Identifier: MIT
"""Kinds of keys: the table of bloomfile_check_keys() for every type of key and every way to pass it."""

import array
import pathlib
import struct
import unittest

import bloomfile
from bloomfile import errors

from arrow_layout import Made, layout
from support import Case

try:
    import numpy
except ImportError:
    numpy = None

GOLDEN = pathlib.Path(__file__).resolve().parents[3] / "tests" / "golden"
FILTERS = {None: None, "text": "text", "lower": "lower", "integers": "integers", "bytes": "bytes", "fixed 8": 8, "fixed 3": 3}
# The keys, and the filters that accept them; format-spec.md section 6.
KEYS = {"str": ("Abc", {None, "text", "lower"}),
        "int": (7, {None, "integers"}),
        "bytes of 8": (b"12345678", {None, "text", "lower", "integers", "bytes", "fixed 8"}),
        "bytes of 3": (b"Abc", {None, "text", "lower", "bytes", "fixed 3"})}


class Table(Case):
    def check(self, fits, use, key):
        if fits:
            self.assertTrue(use(key))
            return
        with self.assertRaises(errors.EKEYKIND) as raised:
            use(key)
        self.assertIsInstance(raised.exception, TypeError)
        self.assertIn("filter: ", str(raised.exception))

    def test_build_of_two_kinds_names_both(self):
        self.assertRaisesRegex(bloomfile.errors.EKEYKIND, r"\(the first key: text, another: integers\)$", self.build, ["a", 1])
        self.assertRaisesRegex(bloomfile.errors.EKEYKIND, r"\(filter: text, key: integers\)$", self.build, [1], key_kind="text")

    def test_filter_accepts_only_its_kinds_of_keys(self):
        for kind, given in FILTERS.items():
            for name, (key, accepted) in KEYS.items():
                fits = kind in accepted
                with self.subTest(kind=kind, key=name):
                    live = bloomfile.Filter.memory(100, 1e-9, key_kind=given)
                    for use in live.add, live.contains, live.__contains__, lambda key: live.contains_many([key])[0]:
                        self.check(fits, use, key)
                    self.check(fits, lambda key: not live.add_many(iter([key]))[0], key)
                    if isinstance(key, bytes):
                        self.check(fits, lambda key: live.contains_many(layout([key], "z"))[0], key)
                        self.check(fits, lambda key: live.contains_arrow(array.array("i", [0, len(key)]), key)[0], key)
                        self.check(fits and kind not in ("text", "lower"), lambda key: live.contains_records(key, len(key))[0], key)
                    elif name == "str":
                        self.check(fits, lambda key: live.contains_many(layout([key], "u"))[0], key)
                    else:
                        self.check(fits, lambda key: live.contains_many(Made("s", 1, [None, struct.pack("=h", key)]))[0], key)
                        self.check(fits, lambda key: live.contains_records(array.array("i", [key]))[0], key)
                    live.close()
                    if kind is not None:
                        with bloomfile.Builder(key_kind=given) as b:
                            self.check(fits, lambda key: b.add(key) is None and b.count() == 1, key)

    def test_lower_case_folds_text_and_bytes(self):
        for key in "GROẞ-Ä", "GROẞ-Ä".encode(), "X" * 1000:
            folded = (key if isinstance(key, bytes) else key.encode()).lower()
            f = self.build([key], 1e-9, key_kind="lower", replace=True)
            self.assertTrue(f.contains_digest(bloomfile.hash(folded)) and key in f and folded in f)
            self.assertEqual(f.contains_many([key, folded, folded.decode()]), b"\1\1\1")
            self.assertEqual(f.contains_many(layout([key], "u" if isinstance(key, str) else "vz")), b"\1")

    def test_typed_keys_are_refused_for_an_unknown_kind(self):
        for path in sorted(GOLDEN.glob("key-kind-newer-*.bloom")):
            with self.subTest(path.name), bloomfile.Filter(path) as f:
                self.assertEqual(f.kind, "newer")
                self.assertIn("newer", repr(f))
                for key, _ in KEYS.values():
                    self.assertRaises(errors.EFEATURE, f.contains, key)
                    self.assertRaises(errors.EFEATURE, f.contains_many, [key])
                self.assertRaises(errors.EFEATURE, f.contains_records, b"abc", 3)
                self.assertFalse(f.contains_digest(1))


class Building(Case):
    def test_the_first_key_decides(self):
        for first, kind, size, refused in [
                ("a", "text", 0, [7]), (7, "integers", 0, ["a", b"abc"]), (b"abcdefgh", "bytes", 0, [7]), (-1, "integers", 0, ["a"])]:
            with self.subTest(first), bloomfile.Builder() as b:
                b.add(first)
                for key in refused:
                    self.assertRaises(errors.EKEYKIND, b.add, key)
                info = bloomfile.Filter.from_bytes(b.to_bytes()).info()
                self.assertEqual((info.key_kind, info.key_size, info.keys), (kind, size, 1))
                with self.assertRaises(errors.EKEYKIND):
                    b.add_many([first, refused[0]])
                self.assertRaisesRegex(OSError, "keys may be missing", b.to_bytes)

    def test_records_set_the_kind_and_digests_do_not(self):
        with bloomfile.Builder() as b:
            b.add_digests(bloomfile.hash_many(["a"]))
            self.assertIsNone(bloomfile.Filter.from_bytes(b.to_bytes()).info().key_kind)
            b.add_records(b"abcdef", 3)
            info = bloomfile.Filter.from_bytes(b.to_bytes()).info()
            self.assertEqual((info.key_kind, info.key_size), ("fixed", 3))
            b.add(b"xyz")
            self.assertRaises(errors.EKEYKIND, b.add, b"wxyz")

    def test_text_builds_equal_those_of_bfcreate(self):
        self.tool("bfcreate", "-q", self.folder / "tool.bloom", input="süß\nsauer\n".encode())
        for keys in ["süß", "sauer"], layout(["süß", "sauer"], "u"), iter(["sauer", "süß", "süß"]):
            self.build(keys, replace=True)
            self.assertEqual(self.path.read_bytes(), (self.folder / "tool.bloom").read_bytes())
        self.assertEqual(self.tool("bfquery", self.path, input="sauer\nbitter\n".encode()), b"sauer\n")


class Integers(Case):
    def test_integers_of_every_width_are_equal_keys(self):
        numbers = [-128, -1, 0, 1, 100, 127]
        f = self.build(array.array("q", [*numbers, 2**40, -2**63, 2**63 - 1]), 1e-9)
        self.assertEqual(f.info().key_kind, "integers")
        self.assertTrue(all(n in f and struct.pack("<q", n) in f for n in [*numbers, 2**40, -2**63]))
        self.assertTrue(2**64 - 1 in f and 2**63 in f)  # the bits of -1 and -2**63
        for code in "bhilq":
            self.assertEqual(bytes(f.contains_many(list(array.array(code, numbers)))), b"\1" * 6)
            if code != "b":
                self.assertEqual(bytes(f.contains_many(array.array(code, numbers))), b"\1" * 6)
                self.assertEqual(bytes(f.contains_records(array.array(code, numbers))), b"\1" * 6)
        for code in "HILQ":
            self.assertEqual(bytes(f.contains_many(array.array(code, [0, 1, 100, 127, 5]))), b"\1\1\1\1\0")
        for code, fmt in ("b", "c"), ("h", "s"), ("i", "i"), ("q", "l"), ("B", "C"), ("H", "S"), ("I", "I"), ("Q", "L"):
            some = array.array(code, numbers[2:])
            self.assertEqual(f.contains_many(Made(fmt, 4, [None, some.tobytes()])), b"\1" * 4)
        self.assertRaises(errors.EKEYKIND, f.contains_many, ["7"])
        self.assertRaises(OverflowError, f.contains, 2**64)
        self.assertRaises(OverflowError, f.contains, -2**63 - 1)
        self.assertEqual(bloomfile.hash(-1), bloomfile.hash(b"\xff" * 8))
        for key in True, 1.0, None:
            self.assertRaises(TypeError, f.contains, key)

    def test_record_size_of_integers_is_refused(self):
        live, builder = bloomfile.Filter.memory(100), bloomfile.Builder()
        for code in "hHiIlLqQ":
            numbers = array.array(code, [1, 2, 3])
            for use in live.add_records, live.contains_records, builder.add_records, bloomfile.hash_records:
                for size in numbers.itemsize, 1, 0, "x":
                    with self.assertRaisesRegex(TypeError, "leave size out"):
                        use(numbers, size)
        live.add_records(numbers)
        self.assertEqual(live.contains_records(numbers), b"\1\1\1")
        live.add_records(array.array("i", [4, 5]).tobytes(), 4)
        self.assertTrue(array.array("i", [5]).tobytes() in live and 5 not in live)

    @unittest.skipUnless(numpy, "needs NumPy")
    def test_an_array_of_integers_is_not_one_key(self):
        f, builder = self.build(range(9)), bloomfile.Builder()
        for dtype in "i1", "u1", "i2", "u8":
            row = numpy.arange(8).astype(dtype)
            for use in f.contains, f.__contains__, builder.add, bloomfile.hash:
                self.assertRaisesRegex(TypeError, "not a key.*contains_many.*tobytes", use, row)
            for keys in [row], row.reshape(2, 4):
                self.assertRaisesRegex(TypeError, "not a key|2 dimensions", f.contains_many, keys)
        few = numpy.arange(8, dtype="u1")
        for key in few.tobytes(), bytearray(few), memoryview(few), array.array("B", few):
            self.assertEqual(bloomfile.hash(key), bloomfile.hash(bytes(range(8))))

    @unittest.skipUnless(numpy, "needs NumPy")
    def test_numpy_integers_of_every_type_are_keys(self):
        f = self.build(numpy.arange(-100, 1000), 1e-9)
        self.assertEqual(f.info().key_kind, "integers")
        for dtype in "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4":
            some = numpy.arange(100).astype(dtype)
            for keys in some, some[::-3], list(some), some.astype(object):
                self.assertEqual(f.contains_many(keys), b"\1" * len(keys))
        self.assertTrue(numpy.int8(-100) in f and numpy.uint64(999) in f)
        for keys in numpy.zeros(3), numpy.zeros(3, bool), numpy.zeros(3, "M8[s]"):
            self.assertRaises(TypeError, f.contains_many, keys)
        for keys in numpy.array(["a", "b"]), numpy.array([b"a", b"b"]), numpy.array(["a", "b"], object):
            self.assertRaises(errors.EKEYKIND, f.contains_many, keys)
        text, some_bytes = self.build(numpy.array(["süß"]), replace=True), self.build(numpy.array([b"a"]), path=self.folder / "b")
        self.assertEqual((text.info().key_kind, some_bytes.info().key_kind), ("text", "bytes"))


class Opening(Case):
    def test_open_refuses_an_unexpected_kind(self):
        image = self.build([1, 2]).to_bytes()
        for kind in "integers", 8, None:
            bloomfile.Filter(self.path, key_kind=kind).close()
            bloomfile.Filter.from_bytes(image, key_kind=kind)
        for kind in "text", "bytes", 4:
            self.assertRaises(errors.EKEYKIND, bloomfile.Filter, self.path, key_kind=kind)
            self.assertRaises(errors.EKEYKIND, bloomfile.Filter.from_bytes, image, key_kind=kind)
        self.assertRaises(ValueError, bloomfile.Filter, self.path, key_kind="lines")
        with open(self.path, "rb") as file:
            uses = [bloomfile.Builder, lambda key_kind: bloomfile.Filter.memory(10, key_kind=key_kind),
                    lambda key_kind: bloomfile.Filter(self.path, key_kind=key_kind),
                    lambda key_kind: bloomfile.Filter.from_bytes(image, key_kind=key_kind),
                    lambda key_kind: bloomfile.Filter.from_fd(file, key_kind=key_kind),
                    lambda key_kind: bloomfile.LiveFilter(self.path, key_kind=key_kind)]
            for use in uses:
                for size in 0, 2**24:
                    self.assertRaisesRegex(errors.EVALUE, f"key_kind={size}, ", use, key_kind=size)
                for flag in True, False:
                    self.assertRaisesRegex(TypeError, "not a bool", use, key_kind=flag)
        bloomfile.LiveFilter.create(self.folder / "live", 10, key_kind="text").close()
        with bloomfile.LiveFilter(self.folder / "live", key_kind="text") as live:
            live.add("a")
            self.assertRaises(errors.EKEYKIND, live.add, 1)
            with self.assertRaises(errors.EKEYKIND) as raised:
                live.add_many(iter(["b", 1]))
            self.assertEqual(raised.exception.done, 0)
            self.assertNotIn("b", live)
        self.assertRaises(errors.EKEYKIND, bloomfile.LiveFilter, self.folder / "live", key_kind="integers")


if __name__ == "__main__":
    unittest.main()
