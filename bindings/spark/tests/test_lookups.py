# SPDX-License-Identifier: MIT
"""Lookups in queries: as SQL functions and column functions, on every executor, in intact and damaged filters."""

import glob
import hashlib
import os
import re
import subprocess
import unittest

from pyspark.errors import AnalysisException
from pyspark.sql import functions

from bloomfile.spark import Error, build, maybe_contains, register
from support import CASTS, HEADER, TOOLS, SparkTest, read, start, urls

N = 200_000


class Lookups(SparkTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = urls(cls.spark, 0, N)
        cls.others = urls(cls.spark, N, 2 * N)

    def setUp(self):
        super().setUp()
        build(self.keys, "url", self.path, capacity=N)

    def test_keys_are_found_and_non_members_keep_the_rate(self):
        asked = maybe_contains(self.path)
        self.assertEqual(self.keys.where(asked("url")).count(), N)
        self.assertLess(self.others.where(asked(functions.col("url"))).count(), 0.013 * N)
        self.assertEqual(asked.damage(), [])

    def test_registered_names_work_in_sql(self):
        register(self.spark, "in_urls", self.path)
        self.keys.union(self.others).createOrReplaceTempView("log")
        counts = [self.spark.sql(f"SELECT count(*) FROM log WHERE {f}(url)").first()[0]
                  for f in ("in_urls", "IN_URLS", "bloomfile.in_urls", "bloomfile.IN_URLS")]
        self.assertGreaterEqual(counts[0], N)
        self.assertLess(counts[0], 1.013 * N)
        self.assertEqual(counts, counts[:1] * 4)
        with self.assertRaisesRegex(Exception, "bloomfile.*in_nothing"):
            self.spark.sql("SELECT bloomfile.in_nothing('a')").collect()

    def test_joins_and_anti_joins_work(self):
        asked = maybe_contains(self.path)
        both = self.keys.where("id % 2 = 0").union(self.others)
        known = self.keys.select("url")
        self.assertEqual(both.where(asked("url")).join(known, "url").count(), N // 2)
        new = both.where(~asked("url")).union(both.where(asked("url")).join(known, "url", "left_anti"))
        self.assertEqual(new.count(), N)

    def test_null_keys_are_null(self):
        register(self.spark, "in_urls", self.path)
        row = self.spark.sql("SELECT in_urls(NULL), bloomfile.in_urls(NULL), in_urls(CAST(NULL AS STRING)),"
                             " bloomfile.in_urls(CAST(NULL AS STRING)), bloomfile.in_urls(CAST(NULL AS BINARY))").first()
        self.assertEqual(list(row), [None] * 5)
        some = self.keys.select(functions.when(functions.col("id") % 2 == 0, functions.col("url")).alias("u"), "id")
        answers = some.select(maybe_contains(self.path)("u").alias("a"), functions.col("id") % 2)
        self.assertEqual(sorted(map(tuple, answers.distinct().collect()), key=str), [(None, 1), (True, 0)])

    def test_integers_of_all_sizes_are_equal_keys(self):
        path = os.path.join(self.folder, "ids.bloom")
        build(self.keys, "id", path, capacity=N)
        asked = register(self.spark, "in_ids", path)
        for kind in "bigint", "int":
            self.assertEqual(self.keys.where(asked(functions.col("id").cast(kind))).count(), N)
            self.assertEqual(self.keys.where(f"in_ids(CAST(id AS {kind}))").count(), N)
        few = self.keys.where("id < 100")
        for kind in "smallint", "tinyint":
            self.assertEqual(few.where(asked(functions.col("id").cast(kind))).count(), 100)
            self.assertEqual(few.where(f"in_ids(CAST(id AS {kind}))").count(), 100)
        self.assertLess(self.others.where(asked("id")).count(), 0.013 * N)

    def test_columns_of_another_kind_fail_the_query(self):
        """Where every row would be "no"."""
        path = os.path.join(self.folder, "ids.bloom")
        build(self.keys, "id", path, capacity=N)
        in_ids, in_urls = register(self.spark, "in_ids", path), register(self.spark, "in_urls", self.path)
        for asked, column, cast in (in_ids, "url", "BIGINT"), (in_urls, "id", "STRING"):
            with self.assertRaisesRegex(AnalysisException, rf"its keys are of another kind .*: write CAST\(key AS {cast}\)"):
                self.keys.select(asked(column))  # not collected
            with self.assertRaisesRegex(Exception, rf"its keys are of another kind .*: write CAST\(key AS {cast}\)"):
                self.keys.where(f"{asked.name}({column})").count()
        for column in "url", "id":  # CAST(id AS BINARY) has 8 bytes, but big-endian
            with self.assertRaisesRegex(AnalysisException, "its keys are of another kind"):
                self.keys.select(in_ids(functions.col(column).cast("binary")))
            with self.assertRaisesRegex(Exception, "its keys are of another kind"):
                self.keys.where(f"in_ids(CAST({column} AS BINARY))").count()
        with self.assertRaisesRegex(Exception, "its keys are of another kind"):
            self.spark.sql("SELECT bloomfile.in_ids(X'0700000000000000')").first()

    def test_strings_and_binary_have_the_same_keys(self):
        register(self.spark, "in_urls", self.path)
        for f in "in_urls", "bloomfile.in_urls":
            self.assertEqual(self.keys.where(f"{f}(CAST(url AS BINARY))").count(), N)

    def test_strings_that_are_not_utf8_are_found(self):
        path = os.path.join(self.folder, "odd.bloom")
        odd = self.spark.range(1000).select(functions.expr("cast(unhex(concat('FFC3', hex(id + 4096))) as string) as s"))
        build(odd, "s", path, capacity=1000)
        asked = register(self.spark, "in_odd", path)
        self.assertEqual(odd.where(asked("s")).count(), 1000)
        self.assertEqual(odd.where("in_odd(s)").count(), 1000)
        absent = self.spark.range(1000).select(functions.expr("cast(unhex(concat('FFC4', hex(id + 4096))) as string) as s"))
        self.assertLess(absent.where(asked("s")).count(), 40)

    def test_other_types_are_refused(self):
        asked = register(self.spark, "in_urls", self.path)
        for value, cast in CASTS.items():
            with self.assertRaisesRegex(AnalysisException, f"keys are strings, .*: write {re.escape(cast)}"):
                self.spark.range(1).select(asked(functions.expr(value)))
        with self.assertRaisesRegex(Exception, "takes one key, not 2"):
            self.spark.sql("SELECT bloomfile.in_urls('a', 'b')")
        with self.assertRaisesRegex(Exception, "keys are strings"):
            self.spark.sql("SELECT in_urls(id / 2) FROM range(3)").collect()

    def test_replaced_file_is_used_by_the_next_query(self):
        asked = maybe_contains(self.path)
        self.assertEqual(self.keys.where(asked("url")).count(), N)
        build(self.others, "url", self.path, capacity=N, replace=True)
        self.assertEqual(self.keys.where(asked("url")).count(), N)
        again = maybe_contains(self.path)
        self.assertEqual(self.others.where(again("url")).count(), N)

    def test_file_overwritten_in_place_loses_no_key(self):
        asked = maybe_contains(self.path)
        other = os.path.join(self.folder, "other.bloom")
        build(self.others, "url", other, capacity=N)
        with open(self.path, "r+b") as file:
            file.write(read(other))
        self.assertEqual(self.keys.where(asked("url")).count(), N)
        self.assertEqual(asked.damage(), [])

    def test_decimals_without_fraction_are_integers(self):
        path = os.path.join(self.folder, "ids.bloom")
        build(self.keys.select(functions.col("id").cast("decimal(18,0)").alias("n")), "n", path, capacity=N)
        asked = register(self.spark, "in_ids", path)
        self.assertEqual(self.keys.where(asked("id")).count(), N)
        self.assertEqual(self.keys.where(asked(functions.col("id").cast("decimal(9,0)"))).count(), N)
        self.assertEqual(self.keys.where("in_ids(CAST(id AS decimal(9,0)))").count(), N)

    def test_calls_for_one_file_share_a_function(self):
        before = self.functions()
        for _ in range(10):
            asked = maybe_contains(self.path)
        self.assertEqual(len(self.functions() - before), 1)
        self.assertEqual(asked.name, "maybe_contains[urls.bloom]")
        self.assertEqual(self.keys.select(asked("url")).columns, ["maybe_contains[urls.bloom](url)"])
        asked.unregister()
        self.assertEqual(self.functions(), before)

    def functions(self):
        catalog = self.spark._jvm.io.github.bloomfile.spark.FilterCatalog()
        nowhere = self.spark.sparkContext._gateway.new_array(self.spark._jvm.java.lang.String, 0)
        return {found.name() for found in catalog.listFunctions(nowhere)}

    def test_unregistered_functions_do_not_exist(self):
        asked = register(self.spark, "in_urls", self.path)
        self.assertTrue(self.spark.catalog.functionExists("in_urls"))
        asked.unregister()
        self.assertFalse(self.spark.catalog.functionExists("in_urls"))
        with self.assertRaisesRegex(AnalysisException, "bloomfile.*in_urls"):
            self.spark.sql("SELECT bloomfile.in_urls('a')")

    def test_files_of_equal_names_in_two_folders_are_distinct(self):
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        build(self.others, "url", os.path.join(other, "urls.bloom"), capacity=N)
        one, two = maybe_contains(self.path), maybe_contains(os.path.join(other, "urls.bloom"))
        self.assertEqual(self.keys.where(one("url")).count(), N)
        self.assertEqual(self.others.where(two("url")).count(), N)
        self.assertLess(self.others.where(one("url") & two("url")).count(), 0.013 * N)

    def test_file_that_is_not_a_filter_is_an_error(self):
        with self.assertRaisesRegex(Error, "nowhere.bloom"):
            maybe_contains(os.path.join(self.folder, "nowhere.bloom"))
        live = os.path.join(self.folder, "live.bloom")
        subprocess.run([os.path.join(TOOLS, "bfcreate"), "-q", "--live", "-n", "9", live], check=True)
        with self.assertRaisesRegex(Error, r"cannot query file:.*live.bloom: live, .* \(seal it first: bfseal FILE\)"):
            maybe_contains(live)
        with open(self.path, "r+b") as file:
            file.seek(100)
            file.write(b"?")
        with self.assertRaisesRegex(Error, "BLOOMFILE_EHEADER"):
            maybe_contains(self.path)
        os.truncate(self.path, 5000)
        with self.assertRaisesRegex(Error, "BLOOMFILE_E"):
            maybe_contains(self.path)

    def damaged(self):
        with open(self.path, "r+b") as file:
            file.seek(HEADER + 10_000)
            file.write(bytes(100))
        return self.path

    def test_damage_answers_maybe_and_is_logged(self):
        asked = maybe_contains(self.damaged())
        self.assertEqual(self.keys.where(asked("url")).count(), N)
        self.assertLess(self.others.where(asked("url")).count(), 0.05 * N)
        self.assertIn("BLOOMFILE_EPAGE", asked.damage()[0])
        self.assertIn("urls.bloom", asked.damage()[0])

    def test_damage_fails_a_strict_query(self):
        asked = register(self.spark, "strictly", self.damaged(), strict=True)
        with self.assertRaisesRegex(Exception, "BLOOMFILE_EPAGE"):
            self.keys.where(asked("url")).count()
        with self.assertRaisesRegex(Exception, "BLOOMFILE_EPAGE"):
            self.keys.where("strictly(url)").count()

    def test_invalid_names_are_refused(self):
        for name in "", "a b", "a.b", "1a", "a`":
            with self.assertRaisesRegex(ValueError, "a name is letters"):
                register(self.spark, name, self.path)


class Sharing(SparkTest):
    """What is on the host: one file for all executors, in a folder that is the user's alone."""

    def setUp(self):
        super().setUp()
        self.shared = os.path.join(self.folder, "shared")
        os.mkdir(self.shared)

    def session(self):
        spark = start(spark__bloomfile__dir=self.shared)
        build(urls(spark, 0, N), "url", self.path, capacity=N, replace=True)
        return spark

    def files(self):
        return glob.glob(os.path.join(self.shared, "*", "*.bloom"))

    def mapped(self, name):
        """The file of that name that each process has mapped: {process: {device and inode}}."""
        found = {}
        for maps in glob.glob("/proc/[0-9]*/maps"):
            try:
                for line in read(maps).decode().splitlines():
                    if line.endswith("/" + name):
                        found.setdefault(int(maps.split("/")[2]), set()).add(" ".join(line.split()[3:5]))
            except OSError:
                pass
        return found

    @staticmethod
    def executors(spark):
        """The processes of this application's executors."""
        found = set()
        for command in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                words = read(command).split(b"\0")
            except OSError:
                continue
            if spark.sparkContext.applicationId.encode() in words and any(w.endswith(b"ExecutorBackend") for w in words):
                found.add(int(command.split("/")[2]))
        return found

    def test_executors_map_one_file(self):
        spark = self.session()
        asked = maybe_contains(self.path, spark=spark)
        for _ in range(50):  # an executor may come late, and get no task
            self.assertEqual(urls(spark, 0, N, 8).where(asked("url")).count(), N)
            self.assertEqual(len(self.files()), 1)
            mapped = self.mapped(os.path.basename(self.files()[0]))
            executors = self.executors(spark)
            if len(executors) == 2 and executors <= mapped.keys():
                break
        self.assertEqual(len(executors), 2)
        status = os.stat(self.files()[0])
        wanted = {f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x} {status.st_ino}"}
        self.assertEqual([mapped.get(process) for process in executors], [wanted] * 2)
        # The driver's JVM outlives sessions, and so does a filter that it has open.
        self.assertIn(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid(), mapped)
        self.assertEqual(os.stat(os.path.dirname(self.files()[0])).st_mode & 0o777, 0o700)
        spark.stop()

    def other(self, spark):
        path = os.path.join(self.folder, "other.bloom")
        build(urls(spark, N, 2 * N), "url", path, capacity=N)
        return path

    def test_copy_with_other_content_is_made_again(self):
        spark = self.session()
        folder = os.path.join(self.shared, f"bloomfile-{os.getuid()}")
        os.mkdir(folder, 0o700)
        os.rename(self.other(spark), os.path.join(folder, hashlib.sha256(read(self.path)).hexdigest() + ".bloom"))
        asked = maybe_contains(self.path, spark=spark)
        self.assertEqual(urls(spark, 0, N).where(~asked("url")).count(), 0)
        self.assertEqual([read(file) for file in self.files()], [read(self.path)])
        spark.stop()

    def test_copy_overwritten_while_mapped_loses_no_key(self):
        spark = self.session()
        asked = maybe_contains(self.path, spark=spark)
        for change in read(self.other(spark)), b"":
            self.assertEqual(urls(spark, 0, N, 8).where(~asked("url")).count(), 0)
            with open(self.files()[0], "r+b") as file:
                file.write(change)
                file.truncate(len(change) or HEADER)
            self.assertEqual(urls(spark, 0, N, 8).where(~asked("url")).count(), 0)
        spark.stop()

    def test_unsafe_folder_is_not_used(self):
        os.mkdir(os.path.join(self.shared, f"bloomfile-{os.getuid()}"))
        os.chmod(os.path.join(self.shared, f"bloomfile-{os.getuid()}"), 0o777)
        spark = self.session()
        asked = maybe_contains(self.path, spark=spark)
        self.assertEqual(urls(spark, 0, N).where(asked("url")).count(), N)
        self.assertEqual(self.files(), [])
        spark.stop()

    def test_unused_shared_files_are_removed(self):
        spark = self.session()
        folder = os.path.join(self.shared, f"bloomfile-{os.getuid()}")
        os.mkdir(folder, 0o700)
        for end in "bloom", "unfinished":
            with open(os.path.join(folder, "0" * 64 + "." + end), "w"):
                pass
        asked = maybe_contains(self.path, spark=spark)
        self.assertEqual(urls(spark, 0, N).where(asked("url")).count(), N)
        self.assertEqual([os.path.basename(f) for f in self.files() if "0000" in f], [])
        self.assertEqual(len(self.files()), 1)
        spark.stop()


if __name__ == "__main__":
    unittest.main()
