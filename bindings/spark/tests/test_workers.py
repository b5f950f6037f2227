# SPDX-License-Identifier: MIT
"""Sessions without the jar, in which Python workers do the work: classic, and Spark Connect."""

import os
import unittest

import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession, functions

from bloomfile.spark import Error, build, maybe_contains, register, tasks
from support import CASTS, HEADER, Folder, damaged_live_filters, read, reference, start, urls

N = 20_000
BIG = (1 << 63) - 1


class Workers(Folder):
    """One session for all tests, since a server for Connect takes a while to start."""

    @classmethod
    def setUpClass(cls):
        cls.spark = cls.session()
        cls.keys = urls(cls.spark, 0, N, 3)

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()

    @staticmethod
    def session():
        if not os.environ.get("CONNECT"):
            return start("local[2]")
        builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
        if pyspark.__version__ < "4":  # its package has no server
            builder = builder.config("spark.jars.packages", "org.apache.spark:spark-connect_2.12:3.5.7")
        return builder.getOrCreate()

    def test_file_equals_that_of_bfcreate(self):
        wanted = reference(os.path.join(self.folder, "wanted"), range(N), "-n", str(N), "--label", "größer", "-s", "7")
        twice = self.keys.union(self.keys).union(self.keys.select(functions.lit(None).cast("string"), "id"))
        for slices in 1, 3:
            report = build(twice, "url", self.path, capacity=N, seed=7, label="größer", slices=slices, replace=True)
            self.assertEqual((report.path, report.keys, report.slices, report.leftovers), (self.path, N, slices, []))
            self.assertEqual(read(self.path), wanted)
        self.only("urls.bloom", "wanted")
        with self.assertRaisesRegex(Error, f"sized for {N - 1} keys, and there are {N}"):
            build(self.keys, "url", self.path, capacity=N - 1, replace=True)
        with self.assertRaisesRegex(Error, "or allow replacing it"):
            build(self.keys, "url", self.path, capacity=N)
        with self.assertRaisesRegex(Error, "the new filter has no keys"):
            build(self.keys.where("id < 0"), "url", self.path, capacity=N, replace=True)
        self.assertEqual(read(self.path), wanted)
        self.only("urls.bloom", "wanted")
        self.lookups()

    def lookups(self):
        asked = maybe_contains(self.path)
        self.assertEqual(self.keys.where(asked("url")).count(), N)
        self.assertEqual(self.keys.select(asked("url")).columns, ["maybe_contains[urls.bloom](url)"])
        self.assertLess(urls(self.spark, N, 2 * N).where(asked("url")).count(), 0.02 * N)
        self.assertEqual(asked.damage(), [])
        with open(self.path, "r+b") as file:
            file.seek(HEADER + 10_000)
            file.write(bytes(100))
        self.assertEqual(self.keys.where(maybe_contains(self.path)("url")).count(), N)
        self.assertIn("page 2", maybe_contains(self.path).damage()[0])

    def test_number_of_keys_is_estimated(self):
        report = build(self.keys, "url", self.path)
        self.assertEqual(report.keys, N)
        self.assertEqual(read(self.path), reference(os.path.join(self.folder, "wanted"), range(N), "-n", str(report.capacity)))

    def test_nulls_are_skipped_and_integers_of_all_types_found(self):
        some = self.spark.sql(f"SELECT * FROM VALUES (1L), (NULL), ({BIG}L), (-1L) AS t(x)")
        self.assertEqual(build(some, "x", self.path, capacity=4).keys, 3)
        asked = register(self.spark, "in_ids", self.path)
        self.assertEqual([row[0] for row in some.select(asked("x")).collect()], [True, None, True, True])
        few = some.where("x BETWEEN -1 AND 1")
        for kind in "tinyint", "int", "decimal(18,0)":
            self.assertEqual(few.where(asked(functions.col("x").cast(kind))).count(), 2)
            self.assertEqual(few.where(f"in_ids(CAST(x AS {kind}))").count(), 2)
        with self.assertRaisesRegex(Exception, "too large for that"):
            some.coalesce(1).selectExpr("in_ids(x)").collect()  # in one batch
        asked.unregister()
        with self.assertRaisesRegex(AnalysisException, "in_ids"):
            self.spark.sql("SELECT in_ids(1)").collect()

    def test_columns_of_another_kind_fail_the_analysis(self):
        build(self.keys, "id", self.path, capacity=N)
        asked = register(self.spark, "in_ids", self.path)
        cases = {**CASTS, "'a'": "CAST(key AS BIGINT)"}
        for value, cast in cases.items():
            with self.assertRaisesRegex(AnalysisException, "write " + cast.replace("(", r"\(").replace(")", r"\)")):
                self.spark.range(1).select(asked(functions.expr(value))).schema
        binary = self.keys.select(functions.col("id").cast("binary").alias("b"))
        with self.assertRaisesRegex(AnalysisException, "write a cast, as in the build"):
            binary.select(asked("b")).schema
        for rows, key, kind in (binary, "b", "integers"), (self.keys, "url", "bytes"):
            with self.assertRaisesRegex(Error, "another kind"):
                build(rows, key, self.path, capacity=N, replace=True, key_kind=kind)
        with self.assertRaisesRegex(Exception, "write a cast, as in the build"):
            binary.selectExpr("in_ids(b)").collect()
        records = os.path.join(self.folder, "bytes.bloom")
        build(binary, "b", records, capacity=N)
        with self.assertRaisesRegex(AnalysisException, r"write CAST\(key AS BINARY\)"):
            self.keys.select(maybe_contains(records)("url")).schema
        for value, cast in ("'a'", "BIGINT"), ("1.5D", "BIGINT"):
            with self.assertRaisesRegex(Exception, rf"write CAST\(key AS {cast}\)"):
                self.spark.sql(f"SELECT in_ids({value})").collect()

    def test_replaced_file_is_used_by_the_next_query(self):
        build(self.keys, "url", self.path, capacity=N)
        asked = maybe_contains(self.path)
        build(self.keys.where("id < 9"), "url", self.path, capacity=N, replace=True)
        try:  # a worker that has the old file open goes on with it
            self.assertEqual(self.keys.where(asked("url")).count(), N)
        except Exception as error:
            self.assertIn("Register it again", str(error))

    def test_file_that_is_not_a_filter_is_an_error(self):
        with self.assertRaisesRegex(Error, "nowhere.bloom"):
            maybe_contains(os.path.join(self.folder, "nowhere.bloom"))
        with open(self.path, "w", encoding="ascii") as file:
            file.write("a letter")
        with self.assertRaisesRegex(Error, "urls.bloom: "):
            maybe_contains(self.path)
        with self.assertRaisesRegex(Error, "it is not a filter"):
            build(self.keys, "url", self.path, capacity=N, replace=True)

    def test_live_filter_with_a_damaged_header_is_not_replaced(self):
        for path, damage in damaged_live_filters(self.folder):
            with self.assertRaisesRegex(ValueError, "it is not a filter" if damage[1] < 8 else "it is a live filter", msg=damage):
                tasks.begin(path, True)
        with self.assertRaisesRegex(Error, "it is a live filter"):
            build(self.keys, "url", path, capacity=N, replace=True)

    def test_only_regular_files_are_opened(self):
        """To open a FIFO would wait for a writer."""
        os.mkfifo(self.path)
        with self.assertRaisesRegex(Error, "it is not a filter"):
            build(self.keys, "url", self.path, capacity=N, replace=True)
        with self.assertRaisesRegex(Error, "not a regular file"):
            maybe_contains(self.path)

    def test_damaged_filter_is_not_replaced_by_an_empty_filter(self):
        damaged = bytearray(reference(self.path, [1]))
        damaged[12] ^= 1
        with open(self.path, "wb") as file:
            file.write(damaged)
        with self.assertRaisesRegex(Error, "the new filter has no keys"):
            build(self.keys.where("id < 0"), "url", self.path, capacity=N, replace=True)
        self.assertEqual(read(self.path), damaged)
        build(self.keys, "url", self.path, capacity=N, replace=True)


if __name__ == "__main__":
    unittest.main()
