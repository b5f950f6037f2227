# SPDX-License-Identifier: MIT
"""Spark builds the same filters as bfcreate, however the keys are partitioned, and publishes only whole files."""

import contextlib
import glob
import os
import re
import shutil
import subprocess
import threading
import unittest
import uuid

from py4j.protocol import Py4JJavaError
from pyspark.sql import functions
from pyspark.sql.types import StringType

from bloomfile.spark import Error, build, maybe_contains
from support import CASTS, HEADER, TOOLS, SparkTest, damaged_live_filters, read, reference, urls

N = 300_000


class Build(SparkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = urls(cls.spark, 0, N)

    def wanted(self, numbers=range(N), *options):
        return reference(os.path.join(self.folder, "wanted"), numbers, *options)

    def test_file_equals_that_of_bfcreate(self):
        wanted = self.wanted(range(N), "-n", str(N))
        for slices in (1, 2, 7, None):
            report = build(self.keys, "url", self.path, capacity=N, replace=True, slices=slices)
            self.assertEqual(read(self.path), wanted, slices)
            self.assertEqual(report.keys, N)
            self.assertEqual(report.slices, slices or 1)
        self.only("urls.bloom", "wanted")

    def test_rate_seed_and_label_reach_the_header(self):
        wanted = self.wanted(range(N), "-n", "1M", "-p", "0.001", "-s", "0xfedcba9876543210", "--label", "größer")
        build(self.keys, "url", self.path, capacity=1_000_000, fpr=0.001, seed=0xFEDCBA9876543210, label="größer", slices=5)
        self.assertEqual(read(self.path), wanted)

    def test_kind_of_keys_follows_the_column_or_the_option(self):
        """That of the column, unless another one is given that the column fits."""
        wanted = self.wanted(range(N), "-n", str(N))
        bodies = set()
        binary = self.keys.select(functions.col("url").cast("binary").alias("url"))
        for rows, kind in (self.keys, None), (self.keys, "text"), (binary, "bytes"):
            build(rows, "url", self.path, capacity=N, replace=True, key_kind=kind)
            self.assertEqual(read(self.path) == wanted, kind != "bytes", kind)
            bodies.add(read(self.path)[HEADER:])
        self.assertEqual(bodies, {wanted[HEADER:]})
        # CAST(id AS BINARY) has 8 bytes, but big-endian
        for column, kind in ("url", "integers"), ("url", "bytes"), ("url", 32), (functions.col("id").cast("binary"), "integers"):
            with self.assertRaisesRegex(Error, "BLOOMFILE_EKEYKIND"):
                build(self.keys, column, self.path, capacity=N, replace=True, key_kind=kind)
        with self.assertRaisesRegex(Exception, "a key of [0-9]+ bytes does not fit key_kind fixed 3"):
            build(self.keys.select(functions.col("url").cast("binary").alias("b")), "b", self.path, capacity=N, replace=True, key_kind=3)
        build(self.keys.select(functions.upper("url").alias("u")), "u", self.path, capacity=N, replace=True, key_kind="lower")
        self.assertEqual(read(self.path)[HEADER:], wanted[HEADER:])

    def test_repetitions_and_nulls_are_not_counted(self):
        twice = self.keys.union(self.keys).select(functions.when(functions.col("id") % 3 != 0, functions.col("url")).alias("u"))
        wanted = self.wanted([i for i in range(N) if i % 3], "-n", str(N))
        self.assertEqual(build(twice, "u", self.path, capacity=N, slices=3).keys, N - len(range(0, N, 3)))
        self.assertEqual(read(self.path), wanted)

    def test_binary_columns_keep_their_bytes(self):
        build(self.keys.select(functions.col("url").cast("binary").alias("b")), "b", self.path, capacity=N, key_kind="text")
        self.assertEqual(read(self.path), self.wanted(range(N), "-n", str(N)))

    def test_strings_that_are_not_utf8_keep_their_bytes(self):
        keys = self.spark.range(1000).select(functions.expr("cast(unhex(concat('FFC3', hex(id + 4096))) as string) as s"))
        build(keys, "s", self.path, capacity=1000)
        wanted = os.path.join(self.folder, "wanted")
        raw = b"".join(b"\xff\xc3" + (i + 4096).to_bytes(2, "big") for i in range(1000))
        subprocess.run([os.path.join(TOOLS, "bfcreate"), "-q", "-x", "4", "-n", "1000", wanted, "-"], input=raw, check=True)
        self.assertEqual(read(self.path)[HEADER:], read(wanted)[HEADER:])

    def test_rdd_of_keys_is_built(self):
        some = list(range(0, 20_000)) * 2
        keys = self.spark.sparkContext.parallelize(some, 3).map(lambda i: None if i % 2 else f"http://example.org/{i}")
        self.assertEqual(build(keys, None, self.path, capacity=10_000, seed=7).keys, 10_000)
        self.assertEqual(read(self.path), self.wanted(range(0, 20_000, 2), "-n", "10000", "-s", "7"))
        numbers = self.spark.sparkContext.parallelize([-1, 0, 1 << 62])
        other = os.path.join(self.folder, "other")
        build(numbers, None, self.path, capacity=3, replace=True)
        build(self.spark.createDataFrame([(-1,), (0,), (1 << 62,)], "i bigint"), "i", other, capacity=3)
        self.assertEqual(read(self.path), read(other))
        with self.assertRaisesRegex(Exception, "class 'bool'"):
            build(self.spark.sparkContext.parallelize([True]), None, self.path, capacity=3, replace=True)
        for wrong in {"capacity": None}, {"key": "k"}:
            with self.assertRaisesRegex(ValueError, "an RDD of keys has no columns"):
                build(numbers, path=self.path, **{"capacity": 3, "key": None, **wrong})

    def test_integers_are_eight_bytes_little_endian(self):
        numbers = [-(1 << 63), -70000, -1, 0, 1, 127, 128, 70000, (1 << 63) - 1]
        wanted = os.path.join(self.folder, "wanted")
        for kind, bits in ("bigint", 64), ("int", 32), ("smallint", 16), ("tinyint", 8):
            some = [i for i in numbers if -(1 << bits - 1) <= i < 1 << bits - 1]
            keys = self.spark.createDataFrame([(i,) for i in some] + [(None,)], "i bigint").select(
                functions.col("i").cast(kind))
            build(keys, "i", self.path, capacity=9, replace=True)
            raw = b"".join(i.to_bytes(8, "little", signed=True) for i in some)
            subprocess.run([os.path.join(TOOLS, "bfcreate"), "-qf", "-x", "8", "-n", "9", wanted, "-"], input=raw, check=True)
            self.assertEqual(read(self.path)[HEADER:], read(wanted)[HEADER:], kind)

    def test_other_types_are_refused(self):
        for value, cast in CASTS.items():
            with self.assertRaisesRegex(ValueError, f"keys are strings, .*: write {re.escape(cast)}"):
                build(self.spark.range(1).select(functions.expr(value).alias("x")), "x", self.path, capacity=1)
        self.only()

    def test_empty_frame_builds_an_empty_filter(self):
        self.assertEqual(build(self.keys.where("id < 0"), "url", self.path, capacity=N, slices=4).keys, 0)
        self.assertEqual(read(self.path), self.wanted([], "-n", str(N), "--allow-empty"))
        self.assertEqual(build(self.keys.where("id < 0"), "url", self.path, replace=True).capacity, 1)

    def test_number_of_keys_is_estimated(self):
        report = build(self.keys, "url", self.path, slices=3)
        self.assertEqual(report.keys, N)
        self.assertLessEqual(report.keys, report.capacity)
        self.assertLess(report.capacity, 1.07 * N)
        self.assertEqual(read(self.path), self.wanted(range(N), "-n", str(report.capacity)))

    def test_more_keys_than_planned_are_an_error(self):
        with self.assertRaisesRegex(Error, f"sized for {N - 1} keys, and there are {N} \\(set the capacity"):
            build(self.keys, "url", self.path, capacity=N - 1, slices=3)
        self.only()

    def test_existing_file_needs_replace(self):
        build(self.keys.where("id < 9"), "url", self.path, capacity=9)
        before = read(self.path)
        with self.assertRaisesRegex(Error, "or allow replacing it"):
            build(self.keys, "url", self.path, capacity=N)
        self.assertEqual(read(self.path), before)
        build(self.keys, "url", self.path, capacity=N, replace=True)
        self.assertEqual(len(read(self.path)), len(self.wanted()))
        with open(self.path, "wb") as file:
            file.write(b"a letter that somebody wrote")
        with self.assertRaisesRegex(Error, "it is not a filter"):
            build(self.keys, "url", self.path, capacity=N, replace=True)
        self.assertEqual(read(self.path), b"a letter that somebody wrote")
        with self.assertRaisesRegex(Error, "it is not a filter"):
            build(self.keys, "url", self.folder, capacity=N, replace=True)

    def test_live_filter_is_not_replaced(self):
        subprocess.run([os.path.join(TOOLS, "bfcreate"), "-q", "--live", "-n", "100", self.path], check=True)
        before = read(self.path)
        with self.assertRaisesRegex(Error, "it is a live filter"):
            build(self.keys, "url", self.path, capacity=N, replace=True)
        self.assertEqual(read(self.path), before)
        self.only("urls.bloom")

    def test_live_filter_with_a_damaged_header_is_not_replaced(self):
        build_ = self.spark._jvm.io.github.bloomfile.spark.FilterBuild(self.keys._jdf, self.keys["url"]._jc).capacity(N).replace(True)
        for path, damage in damaged_live_filters(self.folder):
            with self.assertRaisesRegex(Py4JJavaError, "it is not a filter" if damage[1] < 8 else "it is a live filter", msg=damage):
                build_.write(path)

    def test_lost_first_file_of_a_live_series_is_not_replaced(self):
        """A new file would hide the keys of the other layers."""
        subprocess.run([os.path.join(TOOLS, "bfcreate"), "-q", "--live", "--grow", "-n", "100", self.path], check=True)
        subprocess.run([os.path.join(TOOLS, "bfadd"), "-q", self.path], check=True,
                       input=b"".join(b"%d\n" % i for i in range(1000)))
        first = read(self.path)
        with open(self.path, "wb") as file:
            file.write(first[:2048] + bytes(2048))  # without records
        with self.assertRaisesRegex(Error, "it is a live filter"):
            build(self.keys, "url", self.path, capacity=N, replace=True)
        link = os.path.join(self.folder, "link")
        os.symlink("urls.bloom", link)
        for content in first[:100], b"", None:
            os.unlink(self.path)
            if content is not None:
                with open(self.path, "wb") as file:
                    file.write(content)
                with self.assertRaisesRegex(Error, "has lost its first file"):
                    build(self.keys, "url", self.path, capacity=N, replace=True)
                self.assertEqual(read(self.path), content)
            with self.assertRaisesRegex(Error, "has lost its first file"):
                build(self.keys, "url", link, capacity=N, replace=True)
        second = read(self.path + ".1")
        for content in second[:100], second[:248] + b"\0" + second[249:], second:
            with open(self.path + ".1", "wb") as file:
                file.write(content)
            with self.assertRaisesRegex(Error, "has lost its first file"):
                build(self.keys, "url", self.path, capacity=N)
            self.assertFalse(os.path.exists(self.path))
        golden = os.path.join(os.path.dirname(__file__), "../../../tests/golden")
        shutil.copy(os.path.join(golden, "application-slice-ends.bloom"), self.path + ".1")
        build(self.keys, "url", self.path, capacity=N)

    def test_only_regular_files_are_opened(self):
        """To open a FIFO would wait for a writer."""
        os.mkfifo(self.path)
        with self.assertRaisesRegex(Error, "it is not a filter"):
            build(self.keys, "url", self.path, capacity=N, replace=True)
        with self.assertRaisesRegex(Error, "it is not a regular file"):
            maybe_contains(self.path)

    def test_link_is_replaced(self):
        os.symlink("nowhere", self.path)
        with self.assertRaisesRegex(Error, "or allow replacing it"):
            build(self.keys, "url", self.path, capacity=N)
        reference(os.path.join(self.folder, "other"), range(9))
        for named in "nowhere", "other":
            os.unlink(self.path)
            os.symlink(named, self.path)
            build(self.keys, "url", self.path, capacity=N, replace=True)
            self.assertFalse(os.path.islink(self.path))
            self.assertEqual(read(self.path), self.wanted(range(N), "-n", str(N)))
        self.only("other", "urls.bloom", "wanted")

    def test_live_filter_that_appears_during_publishing_is_kept(self):
        """A link succeeds only if the name is free: then the filter has not been published, and must not be."""
        live = os.path.join(self.folder, "live")
        subprocess.run([os.path.join(TOOLS, "bfcreate"), "-q", "--live", "-n", "100", live], check=True)
        for _ in range(5):
            linked = []

            def link():
                while not glob.glob(os.path.join(self.folder, ".urls.bloom.*.building", "whole")):
                    if ended.is_set():
                        return
                with contextlib.suppress(FileExistsError):
                    os.link(live, self.path)
                    linked.append(True)
            ended = threading.Event()
            other = threading.Thread(target=link)
            other.start()
            try:
                build(self.keys, "url", self.path, capacity=N, replace=True)
                published = True
            except Error as error:
                self.assertIn("it is a live filter", str(error))
                published = False
            ended.set()
            other.join()
            self.assertNotEqual(published, bool(linked))
            self.assertEqual(read(self.path) == read(live), bool(linked))
            os.unlink(self.path)

    def test_filter_with_keys_is_not_replaced_by_an_empty_filter(self):
        build(self.keys, "url", self.path, capacity=N)
        before = read(self.path)
        with self.assertRaisesRegex(Error, "the new filter has no keys"):
            build(self.keys.where("id < 0"), "url", self.path, capacity=N, replace=True)
        self.assertEqual(read(self.path), before)
        reference(self.path, [1], "-n", "1", "--embedded")
        for damage in 0, 1:  # a damaged filter may have keys
            with self.assertRaisesRegex(Error, "the new filter has no keys"):
                build(self.keys.where("id < 0"), "url", self.path, capacity=N, replace=True)
            with open(self.path, "r+b") as file:
                file.seek(12)
                file.write(b"x")
        build(self.keys, "url", self.path, capacity=N, replace=True)
        self.only("urls.bloom")

    def test_old_file_is_replaced_atomically(self):
        build(self.keys.where("id < 9"), "url", self.path, capacity=9)
        with open(self.path, "rb") as old:
            before = read(self.path)
            build(self.keys, "url", self.path, capacity=N, replace=True)
            self.assertEqual(old.read(), before)

    def test_missing_columns_and_invalid_parameters_are_errors(self):
        for wrong in {"capacity": -1}, {"fpr": 1.5}, {"slices": 0}, {"label": "x" * 113}, {"key_kind": "words"}, {"key_kind": 0}:
            with self.assertRaises((Error, ValueError)):
                build(self.keys, "url", self.path, **{"capacity": 9, **wrong})
        for name, values in {"seed": (-1,), "capacity": (-1, 0, 1 << 64), "fpr": (0, 0.0, 1, float("nan"))}.items():
            for value in values:
                with self.assertRaisesRegex(ValueError, f"a {name.replace('fpr', 'rate')} is "):
                    build(self.keys, "url", self.path, **{"capacity": 9, name: value})
        with self.assertRaises(TypeError):
            build(self.keys, "url", self.path, capacity=1000.7)
        with self.assertRaisesRegex(Exception, "nothing_like_it"):
            build(self.keys, "nothing_like_it", self.path, capacity=9)
        self.only()

    def test_old_leftovers_are_removed_and_young_leftovers_reported(self):
        young, old, other, longer = (
            os.path.join(self.folder, f".{name}.{uuid.uuid4()}.building")
            for name in ("urls.bloom", "urls.bloom", "other.bloom", "urls.bloom.new"))
        for folder in young, old, other, longer:
            os.mkdir(folder)
            with open(os.path.join(folder, "slice-0-1"), "w"):
                pass
        for folder in old, other, longer:
            os.utime(folder, (0, 0))
        self.assertEqual(build(self.keys, "url", self.path, capacity=N).leftovers, ["file:" + young])
        self.only("urls.bloom", *(os.path.basename(folder) for folder in (young, other, longer)))


if __name__ == "__main__":
    unittest.main()
