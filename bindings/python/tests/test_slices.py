# SPDX-License-Identifier: MIT
"""Slices are built, queried, joined, and refused where a whole filter is needed."""

import array
import importlib
import os
import shutil
import sys
import types
import unittest
import unittest.mock

import bloomfile
from bloomfile import errors

from support import Case

KEYS = [f"key {i}" for i in range(20000)]
SIZE = {"capacity": 20000, "fpr": 0.01, "seed": 7, "label": "keys"}
SLICES = 5


class Slices(Case):
    def setUp(self):
        super().setUp()
        self.build(KEYS, **SIZE)
        self.parts = [self.folder / f"part{i}" for i in range(SLICES)]
        for i, part in enumerate(self.parts):
            bloomfile.build(part, KEYS, slice=i, slices=SLICES, **SIZE).close()

    def test_slices_join_into_the_whole(self):
        for parts in self.parts, self.parts[::-1], map(bloomfile.Filter, self.parts):
            bloomfile.join(self.folder / "joined", parts, replace=True)
            self.assertEqual((self.folder / "joined").read_bytes(), self.path.read_bytes())
        self.assertRaises(FileExistsError, bloomfile.join, self.folder / "joined", self.parts)

    def test_the_tool_makes_the_same_slices(self):
        for i, part in enumerate(self.parts):
            self.tool("bfcreate", "-q", "--slice", f"{i + 1}/{SLICES}", "-n", "20k", "--seed", "7",
                      self.folder / f"tool{i}", "-", input="".join(f"{key}\n" for key in KEYS).encode())
            with bloomfile.Filter(part) as mine, bloomfile.Filter(self.folder / f"tool{i}") as other:
                self.assertEqual(mine.slice_range(), other.slice_range())
                self.assertEqual(part.read_bytes()[4096:], (self.folder / f"tool{i}").read_bytes()[4096:])

    def test_split_digests_gives_each_slice_its_own(self):
        bits = bloomfile.Filter(self.path).info().bits
        digests = bloomfile.hash_many(KEYS, 7)
        shares = bloomfile.split_digests(bits, SLICES, digests)
        self.assertEqual(sorted(array.array("Q", b"".join(shares))), sorted(array.array("Q", digests)))
        for i, share in enumerate(shares):
            self.assertEqual({bloomfile.slice_of(bits, SLICES, digest) for digest in array.array("Q", share)}, {i})
            with bloomfile.Builder(slice=i, slices=SLICES, key_kind="text", **SIZE) as builder:
                builder.add_digests(share)
                builder.finish(self.folder / "of digests", replace=True)
            self.assertEqual((self.folder / "of digests").read_bytes()[4096:], self.parts[i].read_bytes()[4096:])
            info = bloomfile.inspect(self.folder / "of digests").info
            self.assertEqual((info.keys_read, info.keys_elsewhere), (len(share) // 8, 0))
            os.rename(self.folder / "of digests", self.parts[i])
        bloomfile.join(self.folder / "joined", self.parts)
        self.assertEqual((self.folder / "joined").read_bytes(), self.path.read_bytes())
        self.assertEqual(bloomfile.split_digests(bits, 1, memoryview(digests).cast("Q")), [bytes(digests)])
        self.assertEqual(bloomfile.split_digests(bits, 3, b""), [b"", b"", b""])

    def test_split_digests_drops_repetitions(self):
        bits = bloomfile.Filter(self.path).info().bits
        few = bloomfile.hash_many(["a", "b", "c"] + KEYS[:100], 7)
        for digests in few * 50, array.array("Q", range(5)).tobytes() * 3, array.array("Q", [2**64 - 1, 0, 1] * 9).tobytes():
            shares = bloomfile.split_digests(bits, SLICES, digests)
            got, given = array.array("Q", b"".join(shares)), array.array("Q", digests)
            self.assertEqual(set(got), set(given))
            self.assertLess(len(got), len(set(given)) * 2)
        apart = array.array("Q", [5, 5 + (1 << 16), 5])  # in the same slice
        self.assertEqual(array.array("Q", bloomfile.split_digests(bits, SLICES, apart)[0]), apart)

    def test_a_slice_answers_for_its_range(self):
        info = bloomfile.inspect(self.path).info
        self.assertEqual(bloomfile.Filter(self.path).slice_range(), (0, 2**64 - 1))
        self.assertEqual((info.first_block, info.whole_blocks), (0, 0))
        begin = 0
        for i, part in enumerate(self.parts):
            with bloomfile.Filter(part) as f:
                first, last = f.slice_range()
                self.assertEqual(first, begin)
                begin = last + 1
                self.assertEqual(bloomfile.inspect(part).info.whole_blocks, info.bits // 512)
                self.assertEqual([bloomfile.slice_of(info.bits, SLICES, d) for d in (first, last)], [i, i])
                self.assertEqual(sum(f.contains_many(KEYS)), len(KEYS))
                others = array.array("Q", (d for d in array.array("Q", bloomfile.hash_many(map(str, range(5000)), 7))
                                           if not first <= d <= last))
                self.assertEqual(sum(f.contains_digests(others)), len(others))
        self.assertEqual(begin, 2**64)

    def test_incomplete_or_foreign_slices_do_not_join(self):
        joined = self.folder / "joined"
        bloomfile.build(self.folder / "other", KEYS, slice=1, slices=SLICES, **{**SIZE, "label": "others"}).close()
        for parts in (self.parts[1:], self.parts[:1] + self.parts, self.parts + [self.path],
                      [self.parts[0], self.folder / "other", *self.parts[2:]]):
            with self.subTest(parts), self.assertRaises(errors.EINCOMPLETE) as raised:
                bloomfile.join(joined, parts)
            self.assertEqual(raised.exception.path, str(joined))
        self.assertRaises(errors.EVALUE, bloomfile.join, joined, [])
        self.assertRaises(TypeError, bloomfile.join, joined, self.parts[0])
        self.assertRaises(FileNotFoundError, bloomfile.join, joined, [*self.parts[:4], self.folder / "none"])
        image = bytearray(self.parts[3].read_bytes())
        image[4500] ^= 255
        self.parts[3].write_bytes(image)
        with self.assertRaises(errors.EPAGE) as raised, self.assertWarns(bloomfile.DamageWarning):
            bloomfile.join(joined, self.parts)
        self.assertEqual(raised.exception.path, str(self.parts[3]))
        self.assertFalse(joined.exists())

    def test_slices_of_different_keys_do_not_join(self):
        joined = self.folder / "joined"
        for i, part in enumerate(self.parts):
            bloomfile.build(part, KEYS[i::SLICES], slice=i, slices=SLICES, replace=True, **SIZE).close()
        info = bloomfile.inspect(self.parts[0]).info
        self.assertEqual((info.keys_read, info.keys_elsewhere), (len(KEYS[::SLICES]), len(KEYS[::SLICES]) - info.keys))
        self.assertEqual(info.digest_sum, sum(array.array("Q", bloomfile.hash_many(KEYS[::SLICES], 7))) % 2**64)
        self.assertRaises(errors.EINCOMPLETE, bloomfile.join, joined, self.parts)
        self.assertFalse(joined.exists())
        bloomfile.join(joined, self.parts, accept_incomplete=True)
        self.assertLess(bloomfile.inspect(joined).info.keys, len(KEYS) / 3)

    def test_operations_on_whole_filters_refuse_slices(self):
        part, made = self.parts[2], self.folder / "made"
        for what in (lambda: bloomfile.fold(made, part), lambda: bloomfile.fold(made, part, 2), lambda: bloomfile.fold_plan(part),
                     lambda: bloomfile.fold(made, part, max_fpr=0.5), lambda: bloomfile.merge(made, [part]),
                     lambda: bloomfile.merge(made, [part, self.path]), lambda: bloomfile.merge(made, [self.path, part])):
            with self.assertRaises(errors.EISSLICE) as raised:
                what()
            self.assertEqual(raised.exception.path, str(part))
        with bloomfile.Builder(slice=0, slices=2, **SIZE) as builder:
            self.assertRaises(errors.EISSLICE, builder.to_bytes)
        with self.assertRaises(errors.ENOTCOUNTING) as raised:
            bloomfile.project(made, self.path)
        self.assertEqual(raised.exception.path, str(self.path))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("made")], [])

    def test_invalid_slice_numbers_are_refused(self):
        for error, params in [
                (errors.EVALUE, {"slice": 5, "slices": 5}), (errors.EVALUE, {"slice": 1}), (errors.EVALUE, {"slices": 65537}),
                (errors.EVALUE, {"slices": 100}), (errors.EVALUE, {"slices": 2, "capacity": 0}),
                (OverflowError, {"slice": -1}), (OverflowError, {"slices": 1 << 32}),
                *((errors.EVALUE, {"slices": 2, "layout": layout}) for layout in ("classic", "counting", "ribbon"))]:
            with self.subTest(params):
                self.assertRaises(error, bloomfile.Builder, **{**SIZE, **params})
        for bits, slices in (0, 1), (511, 1), (1000, 1), (512, 0), (512, 2), (4096 * 8 * 2, 3), (1 << 40, 65537):
            self.assertRaisesRegex(ValueError, f"{bits} bits .*{slices} slices", bloomfile.slice_of, bits, slices, 5)
            self.assertRaisesRegex(ValueError, f"{bits} bits .*{slices} slices", bloomfile.split_digests, bits, slices, b"")
        self.assertRaises(OverflowError, bloomfile.slice_of, 512, 1, -1)
        self.assertRaises(ValueError, bloomfile.split_digests, 512, 1, b"1234567")
        self.assertRaises(TypeError, bloomfile.split_digests, 512, 1, array.array("I", [1]))

    def spark_tasks(self):
        """bloomfile.spark.tasks without PySpark, which bloomfile.spark imports."""
        package = types.ModuleType("bloomfile.spark")
        package.__path__ = [os.path.join(os.path.dirname(bloomfile.__file__), "spark")]
        before = set(sys.modules)
        with unittest.mock.patch.dict(sys.modules, {"bloomfile.spark": package}):
            tasks = importlib.import_module("bloomfile.spark.tasks")
            for name in set(sys.modules) - before:
                del sys.modules[name]
        return tasks

    def test_spark_keeps_a_live_filter_that_appears_during_the_join(self):
        tasks = self.spark_tasks()
        target = self.folder / "target"

        def late(publish):
            def published(*arguments):
                with bloomfile.LiveFilter.create(target, 100, replace=True) as live:
                    live.add("a")
                publish(*arguments)
            return published
        for files in self.parts, [self.path]:
            for before in None, self.path:
                with self.subTest(files=len(files), before=before):
                    if before:
                        shutil.copy(before, target)
                    with unittest.mock.patch.object(tasks, "_publish", late(tasks._publish)):
                        self.assertRaisesRegex(ValueError, "it is a live filter", tasks.publish, str(target), str(self.folder),
                                               list(enumerate(map(str, files))), SIZE, len(files), True)
                    self.assertIn("a", bloomfile.Filter(target))
                    target.unlink()
                    tasks.publish(str(target), str(self.folder), list(enumerate(map(str, files))), SIZE, len(files), True)
                    self.assertEqual(target.read_bytes(), self.path.read_bytes())
                    tasks.publish(str(target), str(self.folder), list(enumerate(map(str, files))), SIZE, len(files), True)
                    target.unlink()


if __name__ == "__main__":
    sys.exit(unittest.main())
