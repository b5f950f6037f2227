# SPDX-License-Identifier: MIT
"""examples/rocksdb: rows added after the filter, and sets that replace one another."""

import os
import shutil
import subprocess
import unittest

from rocksdb_api import Database
from rocksdb_shipped import ABSENT, ALONE, SEVERAL, Shipped, rows
from support import NAMESPACE, SANITIZED, TOOLS, lines, main, works

STALE = "rows were written to the database after the set was ingested"


class Changes(Shipped):
    """Rows that are written after the set."""

    NEW = b"key 1"
    ROW = b"key 1\tnew"

    def setUp(self):
        super().setUp()
        self.ship_and_ingest(rows(SEVERAL), "-b", 4000)

    def check_new_row(self):
        self.assertFalse(self.in_use())
        found = self.get([self.NEW, *SEVERAL], STALE + "; " + ALONE)
        self.assertEqual(found, [self.ROW, *rows(SEVERAL)])

    def test_put_row_is_found_despite_the_filter(self):
        with self.database() as database:
            database.put(self.NEW, b"new")
        self.check_new_row()
        with self.database() as database:
            database.flush()
        self.check_new_row()
        with self.database() as database:
            database.compact()
        self.check_new_row()

    def test_put_row_is_found_while_the_database_is_open(self):
        with self.database() as database:
            database.put(self.NEW, b"new")
            self.check_new_row()
            database.flush()
            self.check_new_row()

    def test_replaced_row_is_found_despite_an_equal_count(self):
        """The number of rows stays the same."""
        with self.database() as database:
            database.delete(SEVERAL[0])
            database.put(self.NEW, b"new")
            database.compact_by_force()
        found = self.get([self.NEW, *SEVERAL], STALE + "; " + ALONE)
        self.assertEqual(found, [self.ROW, *rows(SEVERAL[1:])])

    def test_rows_of_a_foreign_ingestion_are_found(self):
        """It does not advance the sequence number if its keys do not overlap the other keys."""
        self.ship([b"zzz\tnew"], name="foreign")
        with self.database() as database:
            before = database.sequence_number()
            database.ingest(self.folder / "foreign/000001.sst")
            self.assertEqual(database.sequence_number(), before)
        self.assertFalse(self.in_use())
        self.assertEqual(self.get([b"zzz"], STALE), [b"zzz\tnew"])
        self.check_all_there(STALE)

    def test_rewritten_files_make_the_filter_stale(self):
        """The same rows in other files: nothing is lost, and ingesting again makes the filter usable."""
        with self.database() as database:
            database.compact_by_force()
        self.check_all_there(STALE)
        self.ingest()
        self.assertTrue(self.in_use())
        self.check_all_there()

    def test_other_column_families_do_not_matter(self):
        """Other column families do not matter."""
        with self.database() as database:
            database.put_elsewhere(self.NEW, b"new")
        self.assertTrue(self.in_use())
        self.check_all_there()

    def test_ingesting_again_removes_other_rows(self):
        with self.database() as database:
            database.put(self.NEW, b"new")
        self.ingest()
        self.assertTrue(self.in_use())
        self.check_all_there()

    def test_damaged_record_of_the_set_is_an_error(self):
        for record in b"", b"none", b"x" * 100, self.tag().encode() + b" set-c /000001.sst":
            with Database(self.folder / "db", "set-a") as database:
                database.put_elsewhere(b"shipped set", record)
            self.trouble("shipped", "get", "db", "a", names=["db", "not understood"], changes=True)

    def test_record_of_a_missing_family_is_an_error(self):
        with self.database() as database:
            database.put_elsewhere(b"shipped set", self.tag().encode() + b" set-b /000001.sst")
        self.trouble("shipped", "get", "db", "a", names=["db", "set-b is missing"], changes=True)
        self.ingest()
        self.check_all_there()


class Sets(Shipped):
    """A second set replaces the first."""

    OTHER = b"other value of "

    def setUp(self):
        super().setUp()
        self.ship_and_ingest(rows(SEVERAL), name="first")
        self.ship(rows(ABSENT, self.OTHER), name="second")

    def check_first(self, says=""):
        self.assertEqual(self.get(SEVERAL, says), rows(SEVERAL))
        self.assertEqual(self.get(ABSENT, says), [])

    def check_second(self, says=""):
        self.assertEqual(self.get(ABSENT, says), rows(ABSENT, self.OTHER))
        self.assertEqual(self.get(SEVERAL, says), [])

    def test_sets_replace_each_other(self):
        for _ in range(3):
            self.ingest("second")
            self.check_second()
            self.ingest("first")
            self.check_first()
        large = [path for path in self.folder.glob("db/*.sst") if path.stat().st_size > 5000]
        self.assertEqual(len(large), 1, "the rows of sets that are not in force any more")

    def test_filter_of_another_set_is_not_used(self):
        stale = self.read("db.bloom")
        self.ingest("second")
        self.write("db.bloom", stale)
        self.check_second("another set")

    def refused(self, *names):
        self.trouble("shipped", "ingest", "second", "db", names=names, changes=True)
        self.check_first()
        self.assertTrue(self.in_use())

    def test_files_of_two_sets_are_refused(self):
        """An SST file of another set, as an interrupted copy may leave it."""
        shutil.copy(self.folder / "first/000001.sst", self.folder / "second/000001.sst")
        self.refused("second", "other rows")

    def test_damaged_files_are_refused(self):
        path = self.folder / "second/000001.sst"
        data = path.read_bytes()
        path.write_bytes(data[:200] + b"?" + data[201:])
        self.refused("block checksum mismatch", "000")  # in the set or in the database, depending on the version of RocksDB
        path.write_bytes(data[:-100])
        self.refused("second")
        path.unlink()
        self.refused("second")

    def test_ingesting_again_repairs_damaged_rows(self):
        """Ingesting the same set again repairs them."""
        path = max(self.folder.glob("db/*.sst"), key=lambda path: path.stat().st_size)
        data = path.read_bytes()
        path.write_bytes(data[:200] + b"?" + data[201:])
        self.trouble("shipped", "get", "db", "-", stdin=lines(*SEVERAL), names=["read db"],
                     changes=True)
        self.ingest("first")
        self.check_first()
        self.assertTrue(self.in_use())

    def test_filter_without_some_keys_is_refused(self):
        self.create("--tag", self.tag("second"), name="second/set.bloom", stdin=lines(*ABSENT[1:]))
        self.refused("second", "lacks 1 of its keys")

    def test_unusable_filter_is_refused(self):
        data = self.read("second/set.bloom")
        for content, says in ((data[:-1], "truncated"), (b"", "empty"),
                              (self.read("first/set.bloom"), "another set"),
                              (data[:4096] + b"\0\0\0\0" * 500 + data[6096:], "damaged")):
            self.write("second/set.bloom", content)
            self.refused("bloom", says)

    def test_damaged_manifest_is_refused(self):
        whole = self.read("second/MANIFEST")
        for content in b"", b"set 12\n", whole[:-1], whole[:-1] + b"00000000\n":
            self.write("second/MANIFEST", content)
            self.refused("second/MANIFEST", "no list")
        os.unlink(self.folder / "second/MANIFEST")
        self.refused("second/MANIFEST", "No such file")

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_ingestion_killed_at_any_call_keeps_one_set(self):
        """Killed at each call that syncs or renames. The record must never be in the write-ahead log, where a reader could
        see it without the files that it names."""
        shutil.copytree(self.folder / "db", self.folder / "first db")
        seen = []
        while not seen or seen[-1] != 0:
            shutil.rmtree(self.folder / "db")
            shutil.copytree(self.folder / "first db", self.folder / "db")
            shutil.copy(self.folder / "first/set.bloom", self.folder / "db.bloom")
            seen.append(self.run_tool(
                "shipped", "ingest", "second", "db",
                env={"LD_PRELOAD": os.environ["STOPPING_DISK"], "STOPS_AT": str(len(seen)),
                     "STOPS_BY": "kill"}).returncode)
            for log in self.folder.glob("db/*.log"):
                self.assertNotIn(b"shipped set", log.read_bytes())
            found = self.run_tool("shipped", "get", "db", "-", stdin=lines(*SEVERAL, *ABSENT)).stdout
            self.assertIn(found, (lines(*rows(SEVERAL)), lines(*rows(ABSENT, self.OTHER))))
        self.assertGreater(len(seen), 10)
        self.check_second()

    @unittest.skipUnless(works(*NAMESPACE, "mount", "-t", "tmpfs", "none", "/tmp"),
                         "no file system can be mounted here")
    def test_full_disk_keeps_the_old_set(self):
        """A small disk keeps the old set and gives a message; a large disk gets the new set."""
        script = """
            mount -t tmpfs -o size=$0k none disk && cp -r db db.bloom disk || exit 77
            "$1" ingest second disk/db; status=$?
            "$1" get disk/db -
            exit $status"""
        (self.folder / "disk").mkdir()
        used = sum(-path.stat().st_size // 4096 * -4 for path in self.folder.glob("db*/**/*"))
        seen = set()
        for room in range(32, 300, 12):
            result = subprocess.run(
                [*NAMESPACE, "sh", "-c", script, str(used + room), TOOLS["shipped"]],
                input=lines(*SEVERAL, *ABSENT), capture_output=True, cwd=self.folder,
                env=self.environment())
            if result.returncode == 77:  # no room even for the first set
                continue
            self.assertIn(result.returncode, [0, 2], (room, result.stderr))
            the_rows = rows(SEVERAL) if result.returncode else rows(ABSENT, self.OTHER)
            self.assertTrue(result.stdout == lines(*the_rows), (room, result.stderr))
            self.assertEqual(b"No space left" in result.stderr, result.returncode == 2)
            seen.add(result.returncode)
        self.assertEqual(seen, {0, 2})

    def test_second_writer_is_refused(self):
        with self.database():  # nothing in this process may open its lock file, because closing the file drops the lock
            result = self.run_tool("shipped", "ingest", "second", "db")
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.check_message("shipped", result.stderr, "open db", "lock")
        self.check_first()

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_reader_survives_an_ingestion_during_open(self):
        """The second set arrives after a reader has listed the families and before the first set is removed."""
        shutil.copytree(self.folder / "db", self.folder / "first db")
        self.ingest("second")
        with self.database() as database:
            database.create_family("set-a")
        (self.folder / "db").rename(self.folder / "second db")
        (self.folder / "first db").rename(self.folder / "db")
        out = self.output("shipped", "get", "db", "-", stdin=lines(*SEVERAL, *ABSENT),
                          env={"LD_PRELOAD": os.environ["AFTER_LISTING_MODULE"],
                               "AFTER_LISTING": "mv db gone && mv 'second db' db"})
        self.assertTrue(out == lines(*rows(ABSENT, self.OTHER)), "other rows")

    def test_reader_sees_one_complete_set(self):
        """A reader sees one complete set, whichever it is."""
        both = lines(*SEVERAL, *ABSENT)
        script = 'for i in 1 2 3 4 5 6; do "$0" ingest second db; "$0" ingest first db; done'
        writer = subprocess.Popen(["sh", "-ec", script, TOOLS["shipped"]], cwd=self.folder,
                                  env=self.environment())
        self.addCleanup(writer.wait)
        seen = set()
        while writer.poll() is None or not seen:
            result = self.run_tool("shipped", "get", "db", "-", stdin=both)
            if result.returncode == 2 and writer.poll() is None:  # a file was removed while the database was being opened
                self.check_message("shipped", result.stderr, "open db")
                continue
            self.assertIn(result.stdout, (lines(*rows(SEVERAL)), lines(*rows(ABSENT, self.OTHER))))
            seen.add(result.stdout)
        self.assertEqual(writer.returncode, 0)
        self.check_first()


if __name__ == "__main__":
    main()
