# SPDX-License-Identifier: MIT
"""examples/rocksdb: no fault of a filter loses a row, and a failure leaves no files."""

import os
import random
import shutil
import signal
import unittest

from rocksdb_shipped import ABSENT, ALONE, SEVERAL, Shipped, rows
from support import NAMESPACE, SANITIZED, UNPRIVILEGED, lines, main, needs, works

MANY = 20_000 if SANITIZED else 1_000_000


class Rows(Shipped):
    def test_keys_are_found_after_reopening_and_compaction(self):
        """Keys in the set and other keys, with reopening and compaction in between."""
        keys = [b"%d" % i for i in range(0, 2 * MANY, 2)]
        absent = [b"%d" % i for i in range(1, 2 * MANY, 2)]
        self.ship_and_ingest(rows(keys), "-b", MANY)
        self.assertGreater(len(list((self.folder / "set").glob("*.sst"))), 1)
        self.check_all_there("", keys, absent)
        with self.database() as database:
            database.compact()
        self.assertTrue(self.in_use())
        self.check_all_there("", keys, absent)

    def test_keys_of_any_bytes_are_found(self):
        keys = [b"", b"\0", b"a\0b", b"a", b"\xff\xfe", b"\r", b" ", b"k" * 1_000_000]
        self.ship_and_ingest(rows(keys))
        self.assertEqual(self.get(keys), rows(keys))
        self.assertEqual(self.get([b"a\0", b"\0\0", b"k" * 999_999]), [])
        self.ship_and_ingest([b"tabs\t\ta\tb\t", b"empty\t"], name="more")
        self.assertEqual(self.get([b"tabs", b"empty"]), [b"tabs\t\ta\tb\t", b"empty\t"])

    def test_keys_come_from_arguments_and_input(self):
        self.ship_and_ingest(rows([b"a", b"b", b"c"]))
        out = self.output("shipped", "get", "db", "c", "-", "a", stdin=b"x\nb")
        self.assertEqual(out, lines(*rows([b"c", b"b", b"a"])))
        self.assertEqual(self.output("shipped", "get", "db", "x", status=1), b"")

    def test_single_lookups_equal_batches(self):
        """The filter is sound, damaged or missing."""
        self.ship_and_ingest(rows(SEVERAL))
        sound = self.read("db.bloom")
        keys = [*SEVERAL[:300], *ABSENT[:300]]
        for content in sound, sound[:4096] + bytes(3000) + sound[7096:], b"":
            self.write("db.bloom", content)
            one_by_one = self.run_tool("shipped", "get", "db", *(key.decode() for key in keys))
            batches = self.run_tool("shipped", "get", "db", "-", stdin=lines(*keys))
            for result in one_by_one, batches:
                self.assertEqual((result.returncode, result.stdout), (0, lines(*rows(SEVERAL[:300]))))
            self.assertEqual(one_by_one.stderr, batches.stderr)

    def test_filter_overwritten_during_a_query_loses_no_row(self):
        """Another sound filter overwrites it. No answer of the current batch is printed."""
        self.ship_and_ingest(rows(SEVERAL))
        other = self.create("-n", len(SEVERAL), stdin=lines(*ABSENT))
        keys = [key.decode() for key in SEVERAL]
        said = self.overwritten_while_it_prints("db.bloom", other, "shipped", "get", "db", *keys)
        self.check_message("shipped", said, "db.bloom was overwritten during the query", "run it again")

    def test_absent_key_alone_does_not_reach_rocksdb(self):
        self.ship_and_ingest(rows(SEVERAL), "-p", "0.000001")
        path = max(self.folder.glob("db/*.sst"), key=lambda path: path.stat().st_size)
        data = path.read_bytes()
        path.write_bytes(data[:100] + bytes(4000) + data[4100:])
        self.assertEqual(self.output("shipped", "get", "db", "key 1", status=1), b"")
        self.trouble("shipped", "get", "db", "key 2", names=["read db"], changes=True)

    def test_equal_rows_make_equal_sets(self):
        self.ship(rows(SEVERAL))
        self.ship(rows(SEVERAL[::-1]), name="again")
        self.assertEqual(self.read("set/MANIFEST"), self.read("again/MANIFEST"))
        self.assertEqual(self.read("set/set.bloom"), self.read("again/set.bloom"))
        for i, other in enumerate([rows(SEVERAL[1:]), rows(SEVERAL, b"other value of "),
                                   [b"a\tbc"], [b"ab\tc"]]):
            self.ship(other, name=f"other {i}")
        self.assertEqual(len({self.tag(f"other {i}") for i in range(4)} | {self.tag()}), 5)

    def test_absent_keys_do_not_reach_rocksdb(self):
        """The database is damaged, so only the filter can have answered."""
        self.ship_and_ingest(rows(SEVERAL), "-p", "0.000001")
        for path in self.folder.glob("db/*.sst"):
            if path.stat().st_size > 2000:
                path.write_bytes(path.read_bytes()[:100] + bytes(4000) +
                                 path.read_bytes()[4100:])
        self.assertEqual(self.get(ABSENT), [])
        self.trouble("shipped", "get", "db", "-", stdin=lines(*SEVERAL), names=["read db"], out=b"",
                     changes=True)


class Filters(Shipped):
    """Filters that do not fit the set, and damaged filters."""

    OPTIONS = []

    def setUp(self):
        super().setUp()
        self.ship_and_ingest(rows(SEVERAL), *self.OPTIONS)

    def flipped(self, offset):
        data = bytearray(self.read("db.bloom"))
        data[offset] ^= 1
        return bytes(data)

    def test_unusable_filter_is_refused_and_loses_no_row(self):
        sound = self.read("db.bloom")
        self.ship(rows(SEVERAL[1:]), name="other")
        foreign, live = self.read("other/set.bloom"), self.create_live("-n", 10, "--tag", self.tag())
        for what, content, says in (
                ("empty", b"", "the file is empty"),
                ("short", sound[:100], "truncated"),
                ("truncated", sound[:-1], "truncated"),
                ("longer", sound + b"x", "extra bytes"),
                ("text", b"some text\n" * 1000, "not a filter file"),
                ("header", self.flipped(100), "header is damaged"),
                ("stale", foreign, "another set"),
                ("foreign", self.create(stdin=b"key\n", name="no tag"), "another set"),
                ("live", self.read(live), "live, without checksums")):
            with self.subTest(what):
                self.write("db.bloom", content)
                self.check_all_there(says)
                self.assertFalse(self.in_use())
        os.unlink(self.folder / "db.bloom")
        self.check_all_there("No such file or directory; " + ALONE)
        (self.folder / "db.bloom").mkdir()
        self.check_all_there("Is a directory; " + ALONE)
        (self.folder / "db.bloom").rmdir()
        os.symlink("/dev/null", self.folder / "db.bloom")
        self.check_all_there("not a regular file; " + ALONE)

    def test_damaged_page_loses_no_row(self):
        """A lookup detects the damage when it touches the page. That key and the rest are not lost."""
        self.write("db.bloom", self.flipped(4096 + 2000))
        self.check_all_there("a page of the body is damaged (checksum mismatch); "
                             "RocksDB is asked about the keys concerned")

    def test_cleared_page_loses_no_row(self):
        """A page without bits is valid except for its checksum."""
        data = self.read("db.bloom")
        self.write("db.bloom", data[:4096] + bytes(3000) + data[7096:])
        self.check_all_there("a page of the body is damaged")

    def test_filter_with_another_seed_is_used(self):
        """Keys are hashed with the seed of the filter."""
        self.create("--seed", 12345, "--tag", self.tag(), "-", name="db.bloom",
                    stdin=lines(*SEVERAL))
        self.check_all_there()
        self.assertTrue(self.in_use())

    def test_ingesting_again_repairs_the_filter(self):
        sound = self.read("db.bloom")
        for content in b"", self.flipped(100), self.flipped(5000):
            self.write("db.bloom", content)
            self.ingest()
            self.assertEqual(self.read("db.bloom"), sound)
            self.check_all_there()

    @needs(*UNPRIVILEGED)
    def test_unreadable_filter_loses_no_row(self):
        (self.folder / "db.bloom").chmod(0)
        result = self.run_tool("shipped", "get", "db", SEVERAL[0].decode(), before=UNPRIVILEGED)
        self.assertEqual((result.returncode, result.stdout), (0, lines(*rows(SEVERAL[:1]))))
        self.check_message("shipped", result.stderr, "db.bloom", "Permission denied", ALONE)

    @needs(*UNPRIVILEGED)
    def test_read_only_database_is_queried(self):
        for path in self.folder, self.folder / "db":
            path.chmod(0o555)
        for path in (self.folder / "db").iterdir():
            path.chmod(0o444)
        result = self.run_tool("shipped", "get", "db", "-", stdin=lines(*SEVERAL),
                               before=UNPRIVILEGED)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, lines(*rows(SEVERAL)), b""))


class Ribbons(Filters):
    """The tests above with the ribbon layout, whose filters are a third smaller."""

    OPTIONS = ["-l", "ribbon"]

    def test_ribbon_sets_have_a_ribbon_filter(self):
        self.assertEqual(self.inspected("db.bloom")["header"]["layout"], "ribbon")


class Trouble(Shipped):
    def check_nothing_made(self, *names):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))

    def test_broken_rows_are_errors(self):
        for text, says in ((b"a\tb\nno tab\n", "line 2 has no tab"), (b"", "no rows"),
                           (b"\33\tb\nb\tc\n\33\tb\n", "have the same key")):
            self.trouble("shipped", "ship", "set", stdin=text, names=[says])
        self.trouble("shipped", "ship", "set", "missing", names=["missing", "No such file"])
        self.trouble("shipped", "ship", "set", ".", names=["Is a directory"])
        self.check_nothing_made()

    def test_existing_or_missing_destinations_are_errors(self):
        self.ship(rows(SEVERAL))
        self.trouble("shipped", "ship", "set", stdin=b"a\tb\n", names=["set", "File exists"])
        self.trouble("shipped", "ship", "none/set", stdin=b"a\tb\n", names=["none/set", "No such"])
        self.trouble("shipped", "ingest", "set", "none/db", names=["none/db"])
        self.write("file", b"")
        self.trouble("shipped", "ingest", "set", "file", names=["file"])

    def test_database_path_without_a_name_is_refused(self):
        """The filter's path is the database's name with a suffix, so the name must not be empty or end with "." or ".."."""
        self.ship_and_ingest(rows(SEVERAL))
        for name in ".", "..", "/", "", "db/.", "db/../", "db/.//":
            for arguments in ["ingest", "set", name], ["get", name, "key 1"], ["status", name]:
                self.trouble("shipped", *arguments, names=[f"cannot use {name}: call the database by its name"])
        self.assertEqual(self.output("shipped", "get", "./db//", "key 2"), lines(*rows([b"key 2"])))

    def test_missing_database_is_an_error(self):
        self.trouble("shipped", "get", "none", "a", names=["open none"])
        self.trouble("shipped", "status", "none", names=["open none"])
        self.ship(rows(SEVERAL))
        self.write("set/MANIFEST", self.read("set/MANIFEST").replace(b"set ", b"set 0")[:37]
                   + self.read("set/MANIFEST")[36:])
        self.trouble("shipped", "ingest", "set", "db", names=["set"])
        self.check_nothing_made("set")

    def test_database_without_a_set_is_an_error(self):
        """A refused ingestion leaves a database without a set."""
        self.ship(rows(SEVERAL))
        (self.folder / "set/000001.sst").unlink()
        self.trouble("shipped", "ingest", "set", "db", names=["set"], changes=True)
        self.trouble("shipped", "get", "db", "a", names=["db", "no set has been ingested"],
                     changes=True)

    def test_wrong_command_lines_are_refused(self):
        for arguments in ([], ["what"], ["ship"], ["ship", "a", "b", "c"], ["ingest", "a"],
                          ["get", "db"], ["status"], ["ship", "-x", "set"], ["ship", "-b"]):
            self.trouble("shipped", *arguments, names=["--help"])
        for arguments in ["-b", "0"], ["-b", "x"], ["-l", "classic"], ["-p", "1"], ["-p", "0"], ["-p", "x"]:
            self.trouble("shipped", "ship", *arguments, "set", names=["is no"])
        self.assertIn(b"usage: shipped ship", self.output("shipped", "--help"))

    def caught_shipping(self, files):
        """A process stopped after it has made so many files, but not all."""
        self.write("rows", lines(*rows([b"%d" % i for i in range(100_000)])))

        def start():
            shutil.rmtree(self.folder / "set", ignore_errors=True)
            return self.start("shipped", "ship", "-b", 1, "set", "rows")

        return self.caught(start, lambda: len(list(self.folder.glob("set.*/*.sst"))) >= files)

    def test_signal_leaves_no_files(self):
        """A signal leaves no files."""
        self.need_removal()
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            process = self.caught_shipping(10)
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)
            status, out, message = self.result(process)
            self.assertEqual((status, out), (2, b""))
            self.check_message("shipped", message, "stopped by a signal")
            self.check_nothing_made("rows")

    def test_killed_ship_leaves_no_set(self):
        """The set does not have its name yet."""
        process = self.caught_shipping(1)
        process.kill()
        process.wait()
        self.assertFalse((self.folder / "set").exists())
        self.ship_and_ingest(rows(SEVERAL))
        self.check_all_there()

    @needs(*UNPRIVILEGED)
    def test_read_only_folder_is_an_error(self):
        self.ship(rows(SEVERAL))
        (self.folder / "closed").mkdir()
        (self.folder / "closed").chmod(0o555)
        self.trouble("shipped", "ship", "closed/set", stdin=b"a\tb\n", before=UNPRIVILEGED,
                     names=["closed/set", "Permission denied"])
        self.trouble("shipped", "ingest", "set", "closed/db", before=UNPRIVILEGED,
                     names=["closed/db", "Permission denied"])

    @unittest.skipUnless(works(*NAMESPACE, "mount", "-t", "tmpfs", "none", "/tmp"),
                         "no file system can be mounted here")
    def test_full_disk_leaves_no_part_of_a_set(self):
        """No part of the set may remain."""
        script = """
            mount -t tmpfs -o size=100k none disk
            "$@"; status=$?
            [ -z "$(ls disk)" ] || exit 77
            exit $status"""
        (self.folder / "disk").mkdir()
        incompressible = [b"%d\t%s" % (i, random.randbytes(50).hex().encode()) for i in range(10_000)]
        self.trouble("shipped", "ship", "disk/set", stdin=lines(*incompressible), changes=True,
                     before=[*NAMESPACE, "sh", "-c", script, "sh"],
                     names=["No space left"])

    def test_full_standard_output_is_an_error(self):
        self.ship_and_ingest(rows(SEVERAL))
        for arguments in ["get", "db", "-"], ["status", "db"], ["--help"]:
            with open("/dev/full", "wb") as full:
                result = self.run_tool("shipped", *arguments, stdin=lines(*SEVERAL), stdout=full)
            self.assertEqual(result.returncode, 2)
            self.check_message("shipped", result.stderr, "standard output", "No space left")


if __name__ == "__main__":
    main()
