# SPDX-License-Identifier: MIT
"""examples/sstable: rows, deletions, compactions, and filters that spare searches."""

import re
import shutil
import subprocess

from sstable_tablet import FORMS, QUICK, ROWS, SstableTest, table
from support import TIMEOUT, main, numbered


class Tablet(SstableTest):
    def test_newest_wins(self):
        for form in FORMS:
            with self.subTest(form):
                shutil.rmtree(self.folder / "t", ignore_errors=True)
                old, new = table(0, 2000), table(1000, 3000, b"new")
                self.put(old, *form)
                self.put(new, *form)
                rows = {**old, **new}
                self.check(rows, [b"absent %d" % i for i in range(1000)])
                gone = [b"key 5", b"key 1500", b"key 2500"]
                self.delete(gone, *form)
                for key in gone:
                    del rows[key]
                self.check(rows, gone)
                self.output("sstable", "compact", "t", *form)
                self.check(rows, gone)
                self.assertEqual(self.states(), ["in use"])
                self.assertRegex(self.run_tool("sstable", "list", "t").stdout, rb" 2997 rows")

    def test_filters_spare_searches(self):
        for form in FORMS:
            shutil.rmtree(self.folder / "t", ignore_errors=True)
            for i in range(5):
                self.put(table(i * 1000, i * 1000 + 1000), *form, *QUICK)
            absent = numbered(10000, "absent ")
            self.assertLess(self.check({}, absent), 5 * 10000 * 0.03)
            self.assertEqual(self.get(absent, "--no-filters")[2], 5 * 10000)
            rows = table(0, 5000)
            self.assertLess(self.check(rows), 5000 * 1.15)
            self.check_same(self.get(list(rows), "--no-filters")[0], rows)

    def test_one_key(self):
        """Not in a batch."""
        self.put(table(0, 100))
        self.put(table(100, 200))
        self.assertEqual(self.output("sstable", "get", "t", "key 7"), b"key 7\tvalue 7\n")
        self.assertEqual(self.output("sstable", "get", "t", "key 107"), b"key 107\tvalue 107\n")
        self.output("sstable", "delete", "t", "key 7")
        self.assertEqual(self.output("sstable", "get", "t", "key 7", status=1), b"")
        self.assertEqual(self.output("sstable", "get", "t", "absent", status=1), b"")
        self.assertIn(b" 1 found, 1 searches",
                      self.run_tool("sstable", "get", "--stats", "t", "key 107").stderr)

    def test_odd_keys(self):
        rows = {b"": b"empty", b"a\0b": b"zero", b"a": b"", b"\xff\r": b"tab\tin it", b"x" * 10**6: b"long",
                b"long value": b"y" * 10**6}
        for form in FORMS:
            shutil.rmtree(self.folder / "t", ignore_errors=True)
            self.put(dict(list(rows.items())[:3]), *form)
            self.put(dict(list(rows.items())[3:]), *form)
            self.check(rows, [b"a\0", b"a\0c", b"x" * (10**6 - 1)])
            self.output("sstable", "compact", "t", *form)
            self.check(rows)
            self.output("sstable", "delete", "t", "")
            self.assertEqual(self.get([b""])[0], {})

    def test_of_equal_keys_the_last(self):
        self.output("sstable", "put", "t", stdin=b"k\t1\na\t0\nk\t2\nk\t3\nb\t0")
        self.check({b"k": b"3", b"a": b"0", b"b": b"0"})

    def test_nothing(self):
        self.output("sstable", "put", "t", stdin=b"")
        self.assertEqual(self.files(), ["MANIFEST"])
        self.output("sstable", "compact", "t")
        self.output("sstable", "get", "t", "key", status=1)
        self.assertEqual(self.output("sstable", "list", "t"), b"")

    def test_all_deleted(self):
        self.put(table(0, 10))
        self.delete(table(0, 10))
        self.output("sstable", "compact", "t")
        self.assertEqual(self.files(), ["MANIFEST"])
        self.put(table(0, 1))
        self.assertEqual(self.files(), ["000003.bloom", "000003.mtbl", "MANIFEST"])
        self.check(table(0, 1), [b"key 1"])

    def test_deletions_stay_while_they_hide_something(self):
        self.put(table(0, 10))
        self.put(table(20, 30))
        self.output("sstable", "delete", "t", "key 5", "key 25")
        rows = {**table(0, 10), **table(20, 30)}
        del rows[b"key 5"], rows[b"key 25"]
        self.output("sstable", "compact", "t", "--tables", 2, "--newest")
        self.check(rows, [b"key 5", b"key 25"])
        self.assertRegex(self.output("sstable", "list", "t"), rb"\A000004 +11 rows.*\n000001 +10 rows")
        self.output("sstable", "compact", "t", "--tables", 2)
        self.check(rows, [b"key 5", b"key 25"])
        self.assertRegex(self.output("sstable", "list", "t"), rb"\A000005 +18 rows")

    def test_oldest_tables_only(self):
        parts = [table(i * 10, i * 10 + 15, b"v%d" % i) for i in range(4)]
        rows = {}
        for part in parts:
            self.put(part)
            rows.update(part)
        self.output("sstable", "compact", "t", "--tables", 2)
        self.check(rows)
        self.assertEqual(re.findall(rb"(?m)^0*(\d+)", self.output("sstable", "list", "t")),
                         [b"4", b"3", b"5"])

    def test_no_row_is_lost(self):
        """A million rows, in tables that overlap, with compactions in between. What is lost once stays
        lost, so it is enough to look at the end and after each of the last."""
        rows, step = {}, ROWS // 10
        for i in range(10):
            part = table(i * step, i * step + step + step // 4, b"v%d" % i)
            self.put(part, *FORMS[i % 2], *(QUICK if i < 8 else []))
            rows.update(part)
            if i % 4 == 3:
                self.output("sstable", "compact", "t", "--tables", 3, *QUICK)
        self.check(rows)
        for options in ["--merge-filters", "--tables", "4", *QUICK], ["--embedded", *QUICK]:
            self.run_tool("sstable", "compact", "t", *options)
            self.assertEqual(set(self.states()), {"in use"})
            self.check(rows)
        self.assertGreater(len(rows), ROWS)

    def test_merged_filters(self):
        """A union serves if tables have the same keys, and there the filter is not built anew."""
        for form in FORMS:
            shutil.rmtree(self.folder / "t", ignore_errors=True)
            self.put(table(0, 5000, b"old"), *form)
            self.put(table(0, 5000, b"new"), *form)
            self.output("sstable", "delete", "t", "key 1", *form)
            rows = table(0, 5000, b"new")
            del rows[b"key 1"]
            self.output("sstable", "compact", "t", "--tables", 2, "--merge-filters", *form)
            self.check(rows, [b"key 1"])
            if not form:
                self.assertEqual(self.inspected("t/000004.bloom")["ok"], True)
                self.assertEqual(self.inspected("t/000004.bloom")["header"]["provenance"], 2)
            self.put(table(5000, 10000), *form)
            rows.update(table(5000, 10000))
            result = self.run_tool("sstable", "compact", "t", "--merge-filters", *form)
            self.assertEqual(result.returncode, 0)
            self.check_message("sstable", result.stderr, "filters are not merged",
                               "would pass the limit", "built from the keys")
            searches = self.check(rows, numbered(10000, "absent "))
            self.assertLess(searches, len(rows) + 10000 * 0.03)

    def test_filters_to_merge_are_refused(self):
        self.put(table(0, 1000))
        self.put(table(500, 1500))
        (self.folder / "t/000001.bloom").unlink()
        result = self.run_tool("sstable", "compact", "t", "--merge-filters")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"000001.mtbl: filters are not merged, as this one has none", result.stderr)
        self.check(table(0, 1500))
        self.assertEqual(self.states(), ["in use"])

    def test_mtbl_reads_tables(self):
        tools = [tool for tool in ("mtbl_verify", "mtbl_dump", "mtbl_info") if shutil.which(tool)]
        if not tools:
            self.skipTest("mtbl's own tools are not here")
        for i, form in enumerate(FORMS, 1):
            self.put(table(0, 3000), *form)
            for tool in tools:
                out = subprocess.run([tool, f"t/00000{i}.mtbl"], cwd=self.folder, check=True,
                                     stdout=subprocess.PIPE, timeout=TIMEOUT).stdout
                if tool == "mtbl_dump":
                    self.assertEqual(out.count(b"\n"), 3000)


main()
