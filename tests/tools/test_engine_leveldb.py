# SPDX-License-Identifier: MIT
"""examples/leveldb: no row is lost, whatever happens to the filters."""

import os
import random
import re
import signal
import sys
import unittest

from support import (NAMESPACE, SANITIZED, TOOLS, UNPRIVILEGED, ToolTest, lines, main, needs, works)

TOOLS["levelfilter"] = os.environ.get("EXAMPLE_LEVELDB")
N = 20_000 if SANITIZED else 1_000_000
NO_FILTER = b"levelfilter: db: tables have no filter of this policy, or a damaged one: " \
            b"they were read instead\n"


def key(number):
    return b"key%09d" % number


def as_lines(rows):
    return b"".join(b"%s\t%s\n" % row for row in rows.items())


class LevelTest(ToolTest):
    def level(self, *arguments, **options):
        return self.output("levelfilter", *arguments, **options)

    def load(self, rows, *options, db="db"):
        """Loads rows and opens the database again, which moves them into tables with filters of this policy."""
        self.assertEqual(self.level(*options, "load", db, stdin=as_lines(rows)), b"")
        self.level(*options, "get", db, "", status=0 if b"" in rows else 1)

    def check(self, *options, db="db", says=b""):
        """The numbers that check prints, by name. No row may be lost."""
        out = self.level(*options, "check", db, says=says)
        n = {name.decode(): int(value) for name, value in re.findall(rb"(?m)^(\S.*?) +(\d+)$", out)}
        self.assertEqual(n["lost"], 0)
        return n

    def assert_rows(self, rows, *options, db="db"):
        out = self.level(*options, "get", db, "-", stdin=lines(*rows))
        self.assertTrue(out == as_lines(rows), "other rows")

    def tables(self, db="db"):
        return sorted((self.folder / db).glob("*.ldb"))

    def one_table(self, count=600):
        """The rows of a database, and its only table."""
        rows = {key(i): random.Random(i).randbytes(50).hex().encode() for i in range(count)}
        self.load(rows)
        self.assert_rows(rows)
        (table,) = self.tables()
        return rows, table


class Rows(LevelTest):
    def test_rows_survive_overwrites_deletions_and_compactions(self):
        """Rows are inserted at random, overwritten, deleted and compacted. Each step runs in a new process."""
        rows = {key(i): b"value %d" % i for i in range(0, 2 * N, 2)}
        shuffled = random.Random(1).sample(list(rows), N)
        self.load({k: rows[k] for k in shuffled})
        self.assert_rows(rows)
        others = {k: b"other " + k for k in shuffled[::5]}
        self.load(others)
        self.assert_rows(others)
        rows.update(others)
        deleted = shuffled[1::5]
        self.level("delete", "db", "-", stdin=lines(*deleted))
        for k in deleted:
            del rows[k]
        self.assert_rows(rows)
        self.level("compact", "db")
        self.assertEqual(self.check(), {"keys": len(rows), "lost": 0, "without filter": 0})
        self.assertEqual(self.level("get", "db", "-", stdin=lines(*deleted), status=1), b"")
        self.assertTrue(self.level("dump", "db") == as_lines(rows))

    def test_database_of_another_policy_is_read_without_filters(self):
        rows = {key(i): b"value %d" % i for i in range(N // 10)}
        whole = {"keys": len(rows), "lost": 0}
        for writer in "builtin", "none":
            self.load(rows, "-p", writer, db="db")
            self.assertEqual(self.check(says=NO_FILTER), {**whole, "without filter": len(rows)})
            self.assert_rows(rows)
            (self.folder / "db").rename(self.folder / writer)
        self.load(rows)
        for reader in "builtin", "none":
            self.assertEqual(self.check("-p", reader), whole)
            self.assert_rows(rows, "-p", reader)
        self.assertEqual(self.check(), {**whole, "without filter": 0})

    def test_rows_written_with_two_policies_are_read(self):
        rows = {key(i): b"value %d" % i for i in range(N // 10)}
        self.load(dict(list(rows.items())[::2]), "-p", "builtin")
        self.load(dict(list(rows.items())[1::2]), "-b", 16)
        without = self.check(says=NO_FILTER)["without filter"]
        self.assertTrue(0 < without < len(rows), without)
        self.assert_rows(rows)
        self.level("compact", "db")
        self.assertEqual(self.check(), {"keys": len(rows), "lost": 0, "without filter": 0})

    def test_copied_database_has_filters(self):
        rows = {key(i): b"value %d" % i for i in range(1000)}
        self.load(rows, "-p", "builtin", db="old")
        self.level("load", "db", stdin=self.level("dump", "old"))
        self.assertEqual(self.check(), {"keys": 1000, "lost": 0, "without filter": 0})

    def test_keys_may_be_empty_large_or_contain_nul(self):
        rows = {b"": b"empty", b"\0": b"", b"\0\0": b"\t\0", b"a\0b": b"1", b"a": b"2",
                b"\xff\xfe": b"\xff", b"k" * (1 << 20): b"large", b"k" * (1 << 20) + b"k": b"x"}
        self.load(rows)
        for _ in range(2):
            self.assert_rows(rows)
            self.assertEqual(self.check(), {"keys": len(rows), "lost": 0, "without filter": 0})
            self.level("compact", "db")
        self.assertEqual(self.level("get", "db", "-", stdin=b"a\0\n", status=1), b"")

    def test_more_bits_make_larger_filters(self):
        rows = {key(i): b"v" for i in range(10000)}
        sizes = {}
        for bits in 1, 10, 64:
            self.load(rows, "-b", bits, db=f"db{bits}")
            self.assertEqual(self.check(db=f"db{bits}")["without filter"], 0)
            sizes[bits] = sum(path.stat().st_size for path in self.tables(f"db{bits}"))
        self.assertAlmostEqual(sizes[64] - sizes[1], 63 / 8 * 10000, delta=5000)
        self.assertAlmostEqual(sizes[10] - sizes[1], 9 / 8 * 10000, delta=1000)

    def test_keys_and_rows_come_from_arguments_files_or_input(self):
        self.write("rows", b"a\t1\nb\t2")
        self.level("load", "db", "rows")
        self.assertEqual(self.level("get", "db", "b", "a"), b"b\t2\na\t1\n")
        self.assertEqual(self.level("get", "db", "b", "c", status=1), b"b\t2\n")
        self.level("delete", "db", "b", "x")
        self.assertEqual(self.level("dump", "db"), b"a\t1\n")
        self.assertEqual(self.check()["keys"], 1)
        self.level("delete", "db", "a")
        self.assertEqual(self.check(), {"keys": 0, "lost": 0, "without filter": 0})


class Damage(LevelTest):
    def test_flipped_bits_of_filters_lose_no_row(self):
        """Flips bits in the filters, the table of filters, the index and the footer. LevelDB finds every row or reports
        corruption. Some flips must make filters unusable, or the test has missed them."""
        rows, table = self.one_table()
        whole = table.read_bytes()
        seen = {"unusable": 0, "whole": 0, "trouble": 0}
        for at in range(len(whole) - 4000, len(whole), 97 if SANITIZED else 7):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << at % 8
            table.write_bytes(damaged)
            result = self.run_tool("levelfilter", "check", "db")
            self.assertIn(result.returncode, [0, 2], result)
            if result.returncode == 2:
                self.check_message("levelfilter", result.stderr, "db", "orruption")
                seen["trouble"] += 1
                continue
            self.assertRegex(result.stdout, rb"\Akeys +%d\nlost +0\n" % len(rows))
            self.assertIn(result.stderr, [b"", NO_FILTER])
            seen["unusable" if result.stderr else "whole"] += 1
            if sum(seen.values()) % 8 == 0:
                self.assert_rows(rows)
        self.assertGreater(seen["unusable"], 10, seen)
        self.assertGreater(seen["trouble"], 10, seen)
        table.write_bytes(whole)
        self.assertEqual(self.check()["without filter"], 0)

    def test_truncated_or_missing_table_is_an_error(self):
        rows, table = self.one_table()
        whole = table.read_bytes()
        for size in 0, 1, 100, len(whole) // 2, len(whole) - 1:
            table.write_bytes(whole[:size])
            self.trouble("levelfilter", "check", "db", names=["db"], changes=True)
            self.trouble("levelfilter", "get", "db", key(5).decode(), names=["db"], changes=True)
        table.unlink()
        self.trouble("levelfilter", "check", "db", names=["db", "missing"], changes=True)
        table.mkdir()
        self.trouble("levelfilter", "check", "db", names=["db"], changes=True)
        table.rmdir()
        table.write_bytes(whole)
        self.assert_rows(rows)

    def test_killed_load_keeps_whole_batches(self):
        """After a kill at any moment, the database has all rows up to the end of some batch."""
        given = [b"%s\t%s" % (key(i), b"v" * 100) for i in range(100_000)]
        self.write("rows", lines(*given))
        found = []
        for i in range(8):
            db = self.folder / f"db{i}"
            process = self.start("levelfilter", "load", db.name, "rows")
            self.until(lambda: process.poll() is not None or self.size(db) >= i << 19)
            process.send_signal([signal.SIGKILL, signal.SIGINT, signal.SIGTERM][i % 3])
            self.result(process)
            if not (db / "CURRENT").exists():
                continue
            self.check(db=db.name)
            found = self.level("dump", db.name).split(b"\n")[:-1]
            self.assertEqual(found, given[:len(found)])
        self.assertGreater(len(found), 0)

    @staticmethod
    def size(db):
        try:
            return sum(path.stat().st_size for path in db.iterdir())
        except FileNotFoundError:  # the folder is not made yet, or a file was removed
            return 0


class Trouble(LevelTest):
    def test_missing_database_is_an_error(self):
        for command in ["check"], ["dump"], ["compact"], ["get"], ["delete"]:
            arguments = ["x"] if command[0] in ("get", "delete") else []
            self.trouble("levelfilter", *command, "db", *arguments, names=["db", "No such file"])
        self.write("file", b"")
        self.trouble("levelfilter", "check", "file", names=["file", "Not a directory"])
        self.trouble("levelfilter", "load", "file", names=["file"])
        self.trouble("levelfilter", "load", "none/db", names=["none/db"])
        self.trouble("levelfilter", "check", "x" * 5000, names=["too long"])

    def test_missing_or_broken_rows_are_errors(self):
        self.trouble("levelfilter", "load", "db", "nothing", names=["nothing"])
        message = self.trouble("levelfilter", "load", "db", stdin=b"a\t1\nb\n", changes=True)
        self.assertIn("standard input: line 2 has no tab", message)
        self.assertEqual(self.level("dump", "db"), b"a\t1\n")
        self.trouble("levelfilter", "load", "db", ".", names=[".", "Is a directory"], changes=True)

    def test_wrong_command_lines_are_refused(self):
        for arguments in ([], ["check"], ["nonsense", "db"], ["get", "db"], ["check", "db", "x"],
                          ["load", "db", "x", "y"], ["-x", "check", "db"], ["delete", "db"]):
            result = self.run_tool("levelfilter", *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, b""), arguments)
            self.assertIn(b"usage: levelfilter ", result.stderr)
            self.assertEqual(os.listdir(self.folder), [])
        for bits in "0", "65", "x", "", "9" * 30, "-1", "1x":
            self.trouble("levelfilter", "-b", bits, "load", "db", names=["is no number of bits"])
        self.trouble("levelfilter", "-p", "other", "load", "db", names=["other is no policy"])
        self.assertTrue(self.level("--help").startswith(b"usage: levelfilter "))

    def test_database_in_use_is_refused(self):
        self.load({b"a": b"1"})
        process = self.start("levelfilter", "load", "db")
        self.feed(process, *(b"%d\t%s" % (i, b"x" * 1000) for i in range(2000)))  # the database is open by then
        self.trouble("levelfilter", "get", "db", "a", names=["db", "lock"], changes=True)
        self.assertEqual(self.result(process), (0, b"", b""))
        self.assertEqual(self.check()["keys"], 2001)

    @needs(*UNPRIVILEGED)
    def test_read_only_folder_is_an_error(self):
        self.load({b"a": b"1"})
        (self.folder / "db").chmod(0o555)
        for path in (self.folder / "db").iterdir():
            path.chmod(0o444)
        self.trouble("levelfilter", "get", "db", "a", before=UNPRIVILEGED,
                     names=["db", "Permission denied"])

    @unittest.skipUnless(works(*NAMESPACE, "mount", "-t", "tmpfs", "none", "/tmp"),
                         "no file system can be mounted here")
    def test_full_disk_keeps_the_inserted_rows(self):
        """Rows inserted before the disk was full are not lost."""
        script = """
            mount -t tmpfs -o size=3m none disk
            "$@"; status=$?
            cp -r disk/db . && exit $status"""
        (self.folder / "disk").mkdir()
        rows = lines(*(b"%s\t%s" % (key(i), random.Random(i).randbytes(50).hex().encode())
                       for i in range(50000)))
        message = self.trouble("levelfilter", "load", "disk/db", stdin=rows, changes=True,
                               before=[*NAMESPACE, "sh", "-c", script, "sh"])
        self.assertIn("cannot write to disk/db: ", message)
        self.assertIn("No space left", message)
        self.assertGreater(self.check()["keys"], 5000)

    def test_full_standard_output_is_an_error(self):
        self.load({b"a": b"1"})
        for arguments in ["get", "db", "a"], ["dump", "db"], ["check", "db"], ["--help"]:
            with open("/dev/full", "wb") as full:
                result = self.run_tool("levelfilter", *arguments, stdout=full)
            self.assertEqual(result.returncode, 2)
            self.check_message("levelfilter", result.stderr, "standard output", "No space left")


if __name__ == "__main__":
    if TOOLS["levelfilter"] is None:
        print("skipped: needs LevelDB (Debian: libleveldb-dev)")
        sys.exit(77)
    main()
