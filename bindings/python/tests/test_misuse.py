# SPDX-License-Identifier: MIT
"""Common mistakes: answers over keys, one buffer for many keys, lines with newlines, an object initialized twice."""

import collections
import ctypes
import io
import mmap
import tempfile
import threading
import types
import unittest

import arrow_layout
import bloomfile
from support import Case

KEYS = [b"%08d" % i for i in range(20_000)]


class Misuse(Case):
    def setUp(self):
        super().setUp()
        self.filter = self.build(KEYS, fpr=1e-9)

    def test_out_may_overlap_keys_already_read(self):
        n = len(KEYS)
        made = arrow_layout.layout(KEYS, "z")
        out = (ctypes.c_ubyte * n).from_buffer(made.memory[2], 8 * n - n)
        self.assertEqual(bytes(self.filter.contains_many(made, out=out)), b"\1" * n)
        memory = bytearray(b"".join(KEYS))
        view = memoryview(memory)
        keys = [view[i:i + 8] for i in range(0, 8 * n, 8)]
        self.assertEqual(bytes(self.filter.contains_many(keys, out=view[7 * n:])), b"\1" * n)
        memory[:] = b"".join(KEYS)
        with bloomfile.Filter.memory(n, 1e-9) as live:
            self.assertEqual(bytes(live.add_many(iter(keys), out=view[7 * n:])), b"\1" * n)
            self.assertEqual(sum(live.contains_many(KEYS)), n)

    def test_failing_keys_leave_maybe_in_out(self):
        """A caller that continues would take old contents of `out` for answers."""
        out = bytearray(4)
        with self.assertRaises(TypeError):
            self.filter.contains_many([KEYS[0], b"absent", 3, KEYS[1]], out=out)
        self.assertEqual(out, b"\1" * 4)

    def test_single_buffer_is_not_a_list_of_keys(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"".join(KEYS))
            file.flush()
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                for one in mapped, ctypes.create_string_buffer(b"apple pear"), bytearray(b"abc"):
                    for take in self.filter.contains_many, bloomfile.Builder().add_many:
                        with self.assertRaisesRegex(TypeError, "many keys are needed"):
                            take(one)

    def test_polars_objects_that_are_not_keys_are_named(self):
        """Stands for polars, which need not be installed."""

        class Dtype(str):
            def is_float(self):
                return self.startswith("Float")

        def made(name, **attributes):
            return type(name, (), {"__module__": "polars.made", **attributes})()
        for keys, words in ((made("Series", dtype=Dtype("Float64")), r"this column is Float64: cast it with \.cast\(pl\.Int64\)"),
                            (made("Series", dtype=Dtype("Object"), __arrow_c_array__=None), r"this column is Object: pass its to_list\(\)"),
                            (made("Expr", map_batches=None), "an Expr of polars .*map_batches"),
                            (made("LazyFrame", map_batches=None, columns=[]), r"a LazyFrame of polars .*collect\(\)")):
            for take in self.filter.contains_many, bloomfile.Builder().add_many, bloomfile.hash_many:
                self.assertRaisesRegex(TypeError, words, take, keys)

    def test_array_without_a_buffer_is_iterated(self):
        """Stands for arrays of other libraries with a dtype of NumPy. The conversion of such an array returned the array itself, and was
        repeated until the stack ended."""

        class Array(list):
            ndim = 1
            newbyteorder = tolist = astype = None

            @property
            def dtype(self):
                return self

            @property
            def kind(self):
                return "O"
        self.assertEqual(self.filter.contains_many(Array([KEYS[0], b"absent"])), [True, False])
        self.assertRaises(TypeError, bloomfile.Builder().add_many, Array([[b"a"]]))
        self.assertRaises(TypeError, bloomfile.hash_many, Array([[b"a"]]))

    def test_list_subclass_is_read_through_its_iterator(self):
        """The keys are those that it yields, as for list()."""

        class Lowered(list):
            def __iter__(self):
                return map(str.lower, super().__iter__())

        class Pair(tuple):
            def __iter__(self):
                return iter(["left", "right"])

        with bloomfile.Filter.memory(10, 1e-9) as live:
            live.add_many(Lowered(["APPLE", "PEAR"]))
            live.add_many(Pair((1, 2)))
            self.assertEqual(live.contains_many(["apple", "pear", "left", "right"]), b"\1" * 4)
            self.assertEqual(live.contains_many(Lowered(["APPLE"])), b"\1")

    def test_lines_of_a_file_are_refused_with_their_newlines(self):
        for file in io.StringIO("apple\npear\n"), io.BytesIO(b"apple\npear\n"):
            with self.assertRaisesRegex(TypeError, "newlines"):
                bloomfile.build(self.folder / "lines", file, key_kind="text")
        bloomfile.build(self.folder / "lines", (line.rstrip("\n") for line in io.StringIO("apple\npear\n"))).close()

    def test_filter_initialized_by_its_own_keys_raises(self):
        """Its seed was not known when the batch began."""
        self.build(["a"], seed=5, replace=True)

        def keys(opened, *arguments, **params):
            opened.__init__(*arguments, **params)
            yield "a"
        f, out = bloomfile.Filter.__new__(bloomfile.Filter), bytearray(1)
        self.assertRaisesRegex(ValueError, "never opened", f.contains_many, keys(f, self.path), out=out)
        self.assertEqual(out, b"\1")
        bloomfile.LiveFilter.create(self.folder / "live", 10, seed=5).close()
        live = bloomfile.LiveFilter.__new__(bloomfile.LiveFilter)
        self.assertRaisesRegex(ValueError, "never opened", live.add_many, keys(live, self.folder / "live"))
        b = bloomfile.Builder.__new__(bloomfile.Builder)
        self.assertRaisesRegex(ValueError, "never opened", b.add_many, keys(b, seed=5))
        live.close()

    def test_use_of_a_closed_filter_names_it(self):
        self.filter.close()
        for use in (lambda: self.filter.contains_many(KEYS), lambda: "a" in self.filter, lambda: self.filter.contains_digest(1),
                    self.filter.info, self.filter.__enter__):
            self.assertRaisesRegex(ValueError, "the filter '.*test.bloom' is closed$", use)

    def test_dict_is_not_a_column_of_keys(self):
        for use in (self.filter.contains_many, bloomfile.Builder().add_many, bloomfile.Filter.memory(9).add_many, bloomfile.hash_many,
                    lambda keys: bloomfile.build(self.folder / "dict.bloom", keys)):
            for keys in {"a": ["b"]}, collections.ChainMap({"a": "b"}), types.MappingProxyType({"a": "b"}), collections.UserDict(a="b"):
                self.assertRaisesRegex(TypeError, "pass one column, such as df.'name'., or its keys", use, keys)
        self.assertEqual(len(self.filter.contains_many({b"a": 1}.keys())), 1)

    def test_object_is_initialized_once(self):
        """Several threads may try concurrently."""
        for _ in range(200):
            f = bloomfile.Filter.__new__(bloomfile.Filter)
            won, ready = [], threading.Barrier(4)

            def make():
                ready.wait()
                try:
                    f.__init__(self.path)
                    won.append(True)
                except ValueError:
                    pass
            threads = [threading.Thread(target=make) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(won), 1)
            self.assertIn(KEYS[0], f)
            f.close()


if __name__ == "__main__":
    unittest.main()
