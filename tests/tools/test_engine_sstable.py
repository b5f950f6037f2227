# SPDX-License-Identifier: MIT
"""examples/sstable: whatever becomes of a filter or of the program, no row is lost."""

import fcntl
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from support import (NAMESPACE, SANITIZED, TIMEOUT, TOOLS, UNPRIVILEGED, ToolTest, main, needs,
                     numbered, works)

TOOLS["sstable"] = os.environ.get("EXAMPLE_SSTABLE")
STOPPING_DISK = os.environ.get("STOPPING_DISK", "")
FORMS = [], ["--embedded"]
QUICK = ["--compression", "none"]
F_SETPIPE_SZ = 1031  # fcntl has no name for it before Python 3.10
ROWS = 100_000 if SANITIZED else 1_000_000


def text(rows):
    return b"".join(b"%s\t%s\n" % row for row in rows.items())


def table(first, last, value=b"value"):
    return {b"key %d" % i: b"%s %d" % (value, i) for i in range(first, last)}


class SstableTest(ToolTest):
    def put(self, rows, *options, says=b""):
        self.assertEqual(self.output("sstable", "put", "t", *options, stdin=text(rows), says=says), b"")

    def get(self, keys, *options):
        """The rows that are found, what is said, and how many tables were searched."""
        result = self.run_tool("sstable", "get", "--stats", "t", "-", *options,
                               stdin=b"".join(key + b"\n" for key in keys))
        stats = re.search(rb"(?m)^(\d+) keys, (\d+) found, (\d+) searches in (\d+) tables\n",
                          result.stderr)
        self.assertIsNotNone(stats, result.stderr)
        asked, found, searches, _ = map(int, stats.groups())
        rows = dict(line.split(b"\t", 1) for line in result.stdout.split(b"\n")[:-1])
        self.assertEqual((asked, found), (len(keys), len(rows)))
        self.assertEqual(result.returncode, 0 if rows else 1)
        return rows, result.stderr.replace(stats[0], b""), searches

    def delete(self, keys, *options):
        self.output("sstable", "delete", "t", "-", *options,
                    stdin=b"".join(key + b"\n" for key in keys))

    def check_same(self, found, rows):
        """Not as assertEqual(), which would spend hours on the difference of many rows."""
        if found != rows:
            differences = sorted(set(found.items()) ^ set(rows.items()))
            self.fail(f"{len(differences)} rows differ: {differences[:5]}")

    def check(self, rows, absent=()):
        """All rows are there, none of the absent keys is, and nothing is said."""
        found, said, searches = self.get([*rows, *absent])
        self.assertEqual(said, b"")
        self.check_same(found, rows)
        return searches

    def check_said(self, rows, absent, *names):
        found, said, searches = self.get([*rows, *absent])
        self.check_same(found, rows)
        self.check_message("sstable", said, *names)
        return searches

    def states(self):
        """What list says of each table's filter."""
        out = self.run_tool("sstable", "list", "t").stdout.decode()
        return re.findall(r"(?m), ([a-z ]+)$", out)

    def files(self):
        return sorted(os.listdir(self.folder / "t"))


@unittest.skipUnless(TOOLS["sstable"], "built without mtbl")
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


@unittest.skipUnless(TOOLS["sstable"], "built without mtbl")
class BadFilters(SstableTest):
    """Each is refused with its reason, and all searches are made; compaction mends it."""

    ROWS = table(0, 8000)
    ABSENT = numbered(500, "absent ")

    def setUp(self):
        super().setUp()
        self.put(table(0, 4000), *QUICK)
        self.put(table(4000, 8000), *QUICK)
        self.keys = b"".join(key + b"\n" for key in table(0, 4000))
        self.tag = self.inspected("t/000001.bloom")["header"]["tag"]

    def refused(self, state, *names):
        self.assertGreaterEqual(
            self.check_said(self.ROWS, self.ABSENT, "t/000001.bloom: ", state, *names,
                            "every lookup searches t/000001.mtbl"), 4000 + 500)
        self.assertEqual(self.states(), ["in use", state])

    def mended(self):
        result = self.run_tool("sstable", "compact", "t", *QUICK)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertLess(self.check(self.ROWS, self.ABSENT), 8000 + 500 * 0.1)

    def replace(self, *options, keys=None):
        """With a filter that bfcreate makes."""
        self.write("keys", self.keys if keys is None else keys)
        return self.create(*options, "keys", name="t/000001.bloom")

    def test_the_right_one(self):
        """What the others are compared with: a filter of the right tag is used, though it is not
        the tablet's own; and if it lacked keys, they would be lost."""
        self.replace("--tag", self.tag)
        self.check(self.ROWS, self.ABSENT)
        self.replace("--tag", self.tag, keys=b"none\n")
        self.assertLess(len(self.get(self.ROWS)[0]), 4500)

    def test_missing(self):
        (self.folder / "t/000001.bloom").unlink()
        self.refused("missing", "No such file")
        self.mended()

    def test_of_another_table(self):
        shutil.copy(self.folder / "t/000002.bloom", self.folder / "t/000001.bloom")
        self.refused("stale")
        self.mended()

    def test_of_the_same_name_and_size(self):
        """A table that was rewritten with as many rows of the same sizes."""
        shutil.copy(self.folder / "t/000001.bloom", self.folder / "stale")
        shutil.rmtree(self.folder / "t")
        self.put({key[::-1]: value for key, value in table(0, 4000).items()}, *QUICK)
        self.put(table(4000, 8000), *QUICK)
        os.replace(self.folder / "stale", self.folder / "t/000001.bloom")
        self.ROWS = {**{key[::-1]: value for key, value in table(0, 4000).items()},
                     **table(4000, 8000)}
        self.refused("stale")

    def test_without_tag(self):
        self.replace()
        self.refused("stale")

    def test_other_seed(self):
        self.replace("--tag", self.tag, "--seed", "1")
        self.refused("foreign", "the seeds differ")
        self.mended()

    def test_live(self):
        (self.folder / "t/000001.bloom").unlink()
        self.output("bfcreate", "--live", "-q", "-n", 4000, "--tag", self.tag, "t/000001.bloom")
        self.refused("foreign", "live, not sealed")

    def test_no_filter(self):
        for content, state in ((b"", "damaged"), (b"x" * 8192, "foreign"), (b"\0" * 5000, "foreign")):
            self.write("t/000001.bloom", content)
            self.refused(state)
        (self.folder / "t/000001.bloom").unlink()
        (self.folder / "t/000001.bloom").mkdir()
        self.refused("foreign", "Is a directory")
        (self.folder / "t/000001.bloom").rmdir()
        os.mkfifo(self.folder / "t/000001.bloom")
        self.refused("foreign", "not a regular file")
        self.mended()

    @needs(*UNPRIVILEGED)
    def test_unreadable(self):
        (self.folder / "t/000001.bloom").chmod(0)
        result = self.run_tool("sstable", "get", "t", "key 5", before=UNPRIVILEGED)
        self.assertEqual((result.returncode, result.stdout), (0, b"key 5\tvalue 5\n"))
        self.check_message("sstable", result.stderr, "unreadable (Permission denied)")

    def test_cut_off(self):
        whole = self.read("t/000001.bloom")
        for size in 1, 511, 4096, 5000, len(whole) - 1:
            self.write("t/000001.bloom", whole[:size])
            self.refused("damaged")
        self.write("t/000001.bloom", whole + b"x")
        self.refused("damaged")

    def test_bits_of_the_header(self):
        whole = self.read("t/000001.bloom")
        for bit in range(0, 512 * 8, 97):
            bad = bytearray(whole)
            bad[bit // 8] ^= 1 << bit % 8
            self.write("t/000001.bloom", bytes(bad))
            found, said, _ = self.get(self.ROWS)
            self.check_same(found, self.ROWS)
            if said != b"":  # one of the two commit records may be damaged
                self.check_message("sstable", said, "t/000001.bloom: the filter is ")

    def test_pages_of_the_body(self):
        """Found by lookups, and said once."""
        whole = self.read("t/000001.bloom")
        for page in 1, 2:
            bad = bytearray(whole)
            bad[page * 4096:page * 4096 + 4096] = bytes(4096)
            self.write("t/000001.bloom", bytes(bad))
            self.check_said(self.ROWS, self.ABSENT, "t/000001.bloom: the filter is damaged, more "
                            "lookups than usual search t/000001.mtbl", "a page of the body")
        result = self.run_tool("sstable", "compact", "t", "--merge-filters")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"filters are not merged", result.stderr)
        self.assertLess(self.check(self.ROWS, self.ABSENT), 8000 + 500 * 0.1)

    def embedded(self):
        """A table with a filter inside: its bytes, where the filter begins, and where the footer."""
        shutil.rmtree(self.folder / "t")
        self.put(self.ROWS, "--embedded", *QUICK)
        whole = self.read("t/000001.mtbl")
        footer = len(whole) - 512 - 48
        self.assertEqual(whole[footer:footer + 8], b"\x89TABLE\r\n")
        image = int.from_bytes(whole[footer + 24:footer + 32], "little")
        self.assertEqual((image + 512) % 4096, 0)
        return whole, image, footer

    def test_embedded(self):
        whole, image, footer = self.embedded()
        self.check(self.ROWS, self.ABSENT)
        for at, length, says in ((image, 8, "foreign (not a filter file)"), (image + 40, 1, "damaged"),
                                 (image + 600, 4096, "more lookups than usual"),
                                 (footer, 1, "unknown"), (footer + 10, 1, "unknown"),
                                 (footer + 24, 8, "unknown"), (footer + 32, 8, "unknown"),
                                 (footer + 47, 1, "unknown")):
            bad = bytearray(whole)
            for i in range(at, at + length):
                bad[i] ^= 0xff
            self.write("t/000001.mtbl", bytes(bad))
            searches = self.check_said(self.ROWS, self.ABSENT, "t/000001.mtbl: ", says)
            if "usual" not in says:
                self.assertEqual(searches, 8500)
        self.mended()

    def test_embedded_filter_of_another_table(self):
        other, other_image, other_footer = self.embedded()
        whole, image, footer = self.embedded()
        self.assertEqual((image, footer), (other_image, other_footer))
        self.write("t/000001.mtbl", whole[:image] + other[image:footer] + whole[footer:])
        self.assertEqual(self.check_said(self.ROWS, self.ABSENT, "t/000001.mtbl: the filter is stale"),
                         8500)

    def test_table_of_another_program(self):
        """What mtbl itself wrote: without our end."""
        whole = self.read("t/000001.mtbl")
        self.write("t/000001.mtbl", whole[:-560])
        searches = self.check_said(self.ROWS, self.ABSENT, "t/000001.mtbl: its filter is unknown")
        self.assertGreaterEqual(searches, 4500)
        self.mended()


@unittest.skipUnless(TOOLS["sstable"], "built without mtbl")
class Trouble(SstableTest):
    def test_tables(self):
        """A table that is missing or no table is an error: its rows cannot be had elsewhere."""
        self.put(table(0, 100))
        self.put(table(100, 200))
        whole = self.read("t/000001.mtbl")
        far = whole[:-512] + b"\xff" * 8 + whole[-504:]  # where the index would be
        for content in b"", b"x", b"x" * 4096, whole[:500], whole[:-1], far:
            self.write("t/000001.mtbl", content)
            for command in ["get", "t", "key 150"], ["list", "t"], ["compact", "t"]:
                self.trouble("sstable", *command, names=["t/000001.mtbl: it is no table, or damaged"])
        (self.folder / "t/000001.mtbl").unlink()
        self.trouble("sstable", "get", "t", "key 150",
                     names=["cannot open table 000001 of t", "No such file"])
        (self.folder / "t/000001.mtbl").mkdir()
        self.trouble("sstable", "get", "t", "key 150", names=["t/000001.mtbl"])

    def test_damaged_rows(self):
        """Compaction makes no new table of them, which would have right checksums."""
        self.put(table(0, 100), *QUICK)
        whole, manifest = self.read("t/000001.mtbl"), self.read("t/MANIFEST")
        fewer = bytearray(whole)
        fewer[-512 + 24] += 1  # the number of rows in mtbl's metadata
        self.write("t/000001.mtbl", bytes(fewer))
        self.trouble("sstable", "compact", "t", changes=True,
                     names=["cannot read all rows of t/000001.mtbl"])
        self.write("t/000001.mtbl", whole.replace(b"value 17", b"value 71"))
        self.assertNotEqual(self.run_tool("sstable", "compact", "t").returncode, 0)
        self.assertEqual(self.read("t/MANIFEST"), manifest)
        self.write("t/000001.mtbl", whole)
        self.check(table(0, 100))

    def test_manifest(self):
        self.trouble("sstable", "get", "t", "key", names=["t/MANIFEST", "No such file"])
        self.put(table(0, 100))
        whole = self.read("t/MANIFEST")
        for content in (b"", whole[:-2], whole[2:], whole.replace(b"\n1\n", b"\n"), whole + b"x",
                        whole + b"\0", b"9" * 50000):
            self.write("t/MANIFEST", content)
            for command in ["get", "t", "key"], ["compact", "t"], ["delete", "t", "key"]:
                self.trouble("sstable", *command, names=["manifest of t" if len(content) > 40000 else "t/MANIFEST"])
        (self.folder / "t/MANIFEST").unlink()
        self.trouble("sstable", "put", "t", names=["cannot make a tablet of t", "but no MANIFEST"])
        self.trouble("sstable", "compact", "t", names=["is no tablet"])

    def test_files_of_others(self):
        """What a tablet removes are leftovers of its own."""
        self.write("t/000001.bloom", b"somebody's")
        self.trouble("sstable", "put", "t", stdin=b"a\tb\n",
                     names=["cannot make a tablet of t: it has 000001.bloom, but no MANIFEST"])
        os.rename(self.folder / "t", self.folder / "other")
        self.put(table(0, 10))
        self.write("t/20261122.bloom", b"somebody's")
        self.put(table(10, 20))
        self.assertEqual(self.read("t/20261122.bloom"), b"somebody's")
        self.check(table(0, 20), [b"absent"])

    def test_command_line(self):
        for arguments in ([], ["get"], ["frobnicate", "t"], ["get", "t"], ["put", "t", "a", "b"],
                          ["--fpr", "2", "put", "t"], ["--compression", "x", "put", "t"],
                          ["compact", "t", "2"], ["list", "t", "u"], ["--tables", "0", "compact", "t"], ["--tables", "x", "compact", "t"]):
            self.trouble("sstable", *arguments, names=["try 'sstable --help'"])
        self.assertEqual(self.run_tool("sstable", "--frobnicate").returncode, 2)
        self.assertTrue(self.output("sstable", "--help").startswith(b"usage: sstable put DIR"))

    def test_input(self):
        self.trouble("sstable", "put", "t", stdin=b"a\tb\nno tab\n", names=["line 2", "no tab"])
        self.trouble("sstable", "put", "t", "missing", names=["missing", "No such file"])
        self.write("file", b"")
        self.trouble("sstable", "put", "file", names=["file", "Not a directory"])
        self.trouble("sstable", "delete", "missing", "key", names=["missing", "No such file"])
        (self.folder / "empty").mkdir()
        self.trouble("sstable", "delete", "empty", "key", names=["empty is no tablet"])
        self.trouble("sstable", "put", "missing/t", names=["missing/t", "No such file"])

    @needs(*UNPRIVILEGED)
    def test_read_only_folder(self):
        rows = table(0, 100)
        self.put(rows)
        (self.folder / "t").chmod(0o555)
        self.trouble("sstable", "delete", "t", "key 5", before=UNPRIVILEGED,
                     names=["cannot make a table in t", "Permission denied"])
        result = self.run_tool("sstable", "get", "t", "-", before=UNPRIVILEGED,
                               stdin=b"".join(key + b"\n" for key in rows))
        self.assertEqual((result.returncode, result.stdout), (0, text(rows)))

    def test_full_output(self):
        self.put(table(0, 100))
        with open("/dev/full", "wb") as full:
            result = self.run_tool("sstable", "get", "t", "key 5", stdout=full)
        self.assertEqual(result.returncode, 2)
        self.check_message("sstable", result.stderr, "standard output", "No space left")

    def test_output_that_fails_for_a_while(self):
        """The pipe takes what is written at the end, and not what came before it."""
        rows = table(0, 300)
        self.put(rows, *QUICK)
        reader, writer = os.pipe2(os.O_NONBLOCK)
        with open(reader, "rb"), open(writer, "wb", buffering=0) as pipe:
            fcntl.fcntl(pipe, F_SETPIPE_SZ, 4096)
            pipe.write(b"x")
            self.assertGreater(len(text(rows)), 4096)
            result = self.run_tool("sstable", "get", "t", "-", stdout=pipe,
                                   stdin=b"".join(key + b"\n" for key in rows))
        self.assertEqual(result.returncode, 2)
        self.check_message("sstable", result.stderr, "cannot write to standard output")

    @unittest.skipUnless(works(*NAMESPACE, "mount", "-t", "tmpfs", "none", "/tmp"),
                         "no file system can be mounted here")
    def test_full_disk(self):
        """mtbl is never handed a disk that cannot take all that it will write."""
        script = 'mount -t tmpfs -o size=$0 none t && cp old/* t && "$@"; status=$?; cp t/* old; exit $status'
        rows = table(0, 1000)
        for form in FORMS:
            shutil.rmtree(self.folder / "t", ignore_errors=True)
            shutil.rmtree(self.folder / "old", ignore_errors=True)
            self.put(rows)
            shutil.move(self.folder / "t", self.folder / "old")
            (self.folder / "t").mkdir()
            before = sorted(os.listdir(self.folder / "old"))
            refused = 0
            for size in range(64, 1600, 128):
                result = self.run_tool("sstable", "put", "t", *form, stdin=text(table(1000, 6000)),
                                       before=[*NAMESPACE, "sh", "-c", script, f"{size}k"])
                if result.returncode == 0:
                    break
                refused += 1
                self.assertEqual(result.returncode, 2, result)
                self.check_message("sstable", result.stderr, "No space left on device")
                self.assertEqual(sorted(os.listdir(self.folder / "old")), before)
            self.assertGreater(refused, 2)
            shutil.rmtree(self.folder / "t")
            shutil.move(self.folder / "old", self.folder / "t")
            self.check({**rows, **table(1000, 6000)})


@unittest.skipUnless(TOOLS["sstable"], "built without mtbl")
class Interrupted(SstableTest):
    """A change that is cut off has been made or has not, and the next one removes what it left."""

    BEFORE, CHANGED = table(0, 300), table(200, 500, b"new")

    def start(self):
        shutil.rmtree(self.folder / "t", ignore_errors=True)
        self.put(table(0, 200))
        self.put(table(200, 300))

    def stopped(self, at, how, command, form, stdin):
        return self.run_tool("sstable", command, "t", *form, stdin=stdin,
                             env={"LD_PRELOAD": STOPPING_DISK, "STOPS_AT": str(at), "STOPS_BY": how})

    def check_each_stop(self, how, command, form, stdin, changed):
        """Returns how many of the places were before the change took place, and how many after."""
        seen = {False: 0, True: 0}
        for at in range(100):
            self.start()
            result = self.stopped(at, how, command, form, stdin)
            if result.returncode == 0 and result.stderr == b"":
                break
            found, said, _ = self.get({**self.BEFORE, **changed})
            self.assertEqual(said, b"", f"{command} {how} {at}")
            is_changed = self.states() == ["in use"] or found != self.BEFORE
            self.check_same(found, changed if is_changed else self.BEFORE)
            seen[is_changed] += 1
            if how == "kill":
                self.assertEqual(result.returncode, -signal.SIGKILL)
            else:
                self.assertNotEqual(result.stderr, b"")
            self.output("sstable", "delete", "t", "key 0")
            named = re.findall(rb"(?m)^(\d+)$", self.read("t/MANIFEST"))
            left = {name.split(".")[0].lstrip("0").encode() for name in self.files()} - {b"MANIFEST"}
            self.assertEqual(left, set(named))
            self.assertEqual([name for name in self.files() if name.endswith(".tmp")], [])
        else:
            self.fail("it never ends")
        return seen

    def check_stops(self, how):
        for form in FORMS:
            seen = self.check_each_stop(how, "put", form, text(self.CHANGED),
                                        {**self.BEFORE, **self.CHANGED})
            self.assertGreater(seen[False], 4)
            self.assertGreater(seen[True], 0)
            seen = self.check_each_stop(how, "compact", form, b"", self.BEFORE)
            self.assertGreater(seen[False], 4)
            self.assertGreater(seen[True], 3)

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_killed(self):
        self.check_stops("kill")

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_failed(self):
        self.check_stops("fail")

    def calls(self, *arguments, status=0, stops_at=-1, **options):
        """What goes to disk, gets and loses names, in order; names as they are in the folder."""
        result = self.run_tool("sstable", *arguments, **options, env={
            "LD_PRELOAD": STOPPING_DISK, "STOPS_LOG": str(self.folder / "log"),
            "STOPS_AT": str(stops_at)})
        self.assertEqual(result.returncode, status, result)
        log = self.read("log").decode().replace(f"{self.folder.resolve()}", ".").splitlines()
        (self.folder / "log").unlink()
        return [call.replace(" ./t", " t") for call in log]

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_order_of_writes(self):
        """No name gets to disk before what it stands for, which a loss of power would show."""
        manifest = ["fsync t/MANIFEST.tmp", "rename t/MANIFEST", "fsync t"]

        def new_table(number):
            return [f"fsync t/{number}.mtbl.tmp", f"rename t/{number}.mtbl", "fsync t"]

        first = self.calls("put", "t", "--embedded", stdin=b"k\tv\n")
        self.assertEqual(first, ["fsync t", "fsync .", *manifest, *new_table("000001"), *manifest])
        second = self.calls("put", "t", stdin=b"l\tv\n")
        filter_calls = second[1:-6]
        self.assertEqual(second, ["fsync t", *filter_calls, *new_table("000002"), *manifest])
        self.assertRegex(filter_calls[0], "^fsync t/")
        self.assertEqual(filter_calls[-2:], ["rename 000002.bloom", "fsync t"])
        compacted = self.calls("compact", "t", "--embedded")
        self.assertEqual(compacted[:-3], ["fsync t", *new_table("000003"), *manifest])
        self.assertEqual(sorted(compacted[-3:]), [
            "unlinkat 000001.mtbl", "unlinkat 000002.bloom", "unlinkat 000002.mtbl"])
        in_doubt = ["fsync t", *new_table("000004"), *manifest]  # which manifest is on disk
        self.assertEqual(self.calls("compact", "t", "--embedded", status=2,
                                    stops_at=len(in_doubt) - 1), in_doubt)

    def test_killed_while_writing(self):
        """At any moment; nothing is said by the next."""
        rows = table(0, 50000)
        self.write("more", text(rows))
        started = time.monotonic()
        self.output("sstable", "put", "t", "more", *QUICK)
        usual = time.monotonic() - started
        generator = random.Random(1)
        for i in range(4 if SANITIZED else 12):
            command = [["put", "t", "more"], ["compact", "t"]][i % 2]
            process = subprocess.Popen(self.command("sstable", *command, *QUICK), cwd=self.folder,
                                       env=self.environment(), stdin=subprocess.DEVNULL)
            time.sleep(generator.random() * usual)
            process.send_signal([signal.SIGKILL, signal.SIGINT, signal.SIGTERM][i % 3])
            process.wait(timeout=TIMEOUT)
            self.check(rows, [b"absent"])

    def test_one_change_at_a_time(self):
        self.start()
        first = subprocess.Popen(["flock", "t", "sh", "-c", "echo; cat"], cwd=self.folder,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        first.stdout.readline()
        self.trouble("sstable", "compact", "t", names=["cannot change t: another process does"])
        self.check(self.BEFORE)
        first.communicate()
        self.output("sstable", "compact", "t")

    def test_readers_beside_compactions(self):
        """A reader that finds files gone which the manifest named reads the next manifest."""
        rows = {}
        for i in range(40):
            rows.update(table(i * 5, i * 5 + 10, b"v%d" % i))
            self.put(table(i * 5, i * 5 + 10, b"v%d" % i), *QUICK)
        script = ('for i in $(seq 60); do "$0" put t more && "$0" compact t --tables 2 || exit; done')
        self.write("more", text(table(190, 205, b"v39")))
        rows.update(table(190, 205, b"v39"))
        self.put(table(190, 205, b"v39"))
        writer = subprocess.Popen(["sh", "-c", script, TOOLS["sstable"]], cwd=self.folder,
                                  env=self.environment())
        reads = 0
        while writer.poll() is None:
            self.check(rows)
            reads += 1
        self.assertEqual(writer.returncode, 0)
        self.assertGreater(reads, 0)


if __name__ == "__main__":
    if TOOLS["sstable"] is None:
        sys.exit(77)
    main()
