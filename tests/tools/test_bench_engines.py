# SPDX-License-Identifier: MIT
"""bench-leveldb and bench-rocksdb: their tables, and removal of their files."""

import os
import re
import signal
import unittest

from support import TOOLS, ToolTest, main

for name in "leveldb", "rocksdb":
    TOOLS["bench-" + name] = os.environ.get("BENCH_" + name.upper())

NUMBER = r"[0-9.e+-]+"


class EngineTest(ToolTest):
    """Checks for each program. The classes below name the program and the options of a brief run."""

    briefly = ["--rounds", 2]

    def table(self, *options):
        """The rows, each a dict by the names in the first row."""
        result = self.run_tool(self.program, *self.briefly, *options, ".")
        self.assertEqual(result.returncode, 0, result.stderr)
        if result.stderr:  # not every file system can evict files from memory
            self.check_message(self.program, result.stderr, "stayed in memory")
        title, blank, *lines, last = result.stdout.decode().splitlines()
        self.assertRegex(title, rf"^### {self.program}: \S")
        self.assertEqual(blank + last, "")
        names, rule, *rows = [line.strip("|").split("|") for line in lines]
        self.assertTrue(all(re.fullmatch("-+:?", cell) for cell in rule), rule)
        self.assertEqual({len(row) for row in [names, rule, *rows]}, {len(names)})
        self.assertEqual(os.listdir(self.folder), [])
        return [{name.strip(): cell.strip() for name, cell in zip(names, row)} for row in rows]

    def check_stopped(self, files):
        """No signal may leave files behind. A folder may exist for a moment after its program has ended."""
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
            process = self.start(self.program, ".")
            self.until(lambda: list(self.folder.glob(f"{self.program}.*/{files}")), process)
            process.send_signal(number)
            self.assertEqual(self.result(process)[:2], (-number, b""))
            self.until(lambda: not os.listdir(self.folder))

    def check_trouble(self, *numbers):
        self.trouble(self.program, "missing", names=["missing", "No such file"])
        for option, value in numbers:
            self.trouble(self.program, option, value, ".", names=[f"'{value}'", "for a number from"])
        for arguments in [".", "."], ["--other"], ["--rows"]:
            result = self.run_tool(self.program, *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(b"usage: " + self.program.encode(), result.stderr)
        self.assertTrue(self.output(self.program, "--help").startswith(
            b"usage: " + self.program.encode()))
        with open("/dev/full", "wb") as full:
            result = self.run_tool(self.program, *self.briefly, ".", stdout=full)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"cannot write to standard output: No space left", result.stderr)
        self.assertEqual(os.listdir(self.folder), [])


@unittest.skipUnless(TOOLS["bench-leveldb"], "built without LevelDB, or C++")
class Leveldb(EngineTest):
    program = "bench-leveldb"
    briefly = ["--rows", 20000, "--rounds", 2, "--warm", 5000, "--cold", 30]

    def test_table_compares_filters_of_databases(self):
        for keys in [], ["--sequential"]:
            none, builtin, ours, larger = rows = self.table(*keys)
            self.assertEqual([row["filters"] for row in rows],
                             ["none", "built-in", "bloomfile", "built-in"])
            self.assertEqual([row["bits a key"] for row in rows], ["", "10", "10", "12"])
            self.assertLess(float(builtin["bytes a key"]), float(ours["bytes a key"]))
            self.assertAlmostEqual(float(larger["bytes a key"]), float(ours["bytes a key"]), delta=0.2)
            self.assertLess(float(ours["false positives"].removesuffix(" %")), 1.5)
            for row in rows:
                self.assertGreater(float(row["present, warm, ns"].split()[0]), 0)

    def test_table_compares_filters_alone(self):
        rows = self.table("--filters", "--rows", 50000)
        self.assertEqual([(row["keys"], row["filters"]) for row in rows],
                         [(n, f) for n in ("20", "30", "40")
                          for f in ("built-in", "bloomfile", "built-in")])
        for row in rows:
            if row["filters"] == "bloomfile":
                self.assertEqual(int(row["bytes"]), (int(row["keys"]) * 10 + 7) // 8 + 8)
                self.assertAlmostEqual(float(row["ratio"]), 1, delta=0.3)

    def test_killed_benchmark_leaves_no_files(self):
        self.check_stopped("0/CURRENT")

    def test_invalid_options_are_refused(self):
        self.check_trouble(("--rows", "x"), ("--rounds", 0), ("--rounds", 102), ("--bits", -1),
                           ("--cold", "9" * 30))


@unittest.skipUnless(TOOLS["bench-rocksdb"], "built without RocksDB")
class Rocksdb(EngineTest):
    program = "bench-rocksdb"
    briefly = ["--rows", 2000, "--gets", 500, "--cold", 20, "--rounds", 2]

    def test_table_compares_filters_of_rocksdb(self):
        rows = self.table()
        self.assertEqual(len(rows), 13)
        self.assertEqual(list(rows[0])[1:5], ["none", "RocksDB's", "bloomfile", "both"])
        for row in rows:
            for cell in list(row.values())[1:5]:
                self.assertRegex(cell, r"\A\d+(\.\d+)?\Z")
        sizes = next(row for row in rows if "filters on disk, KiB" in row.values())
        self.assertEqual(sizes["none"], "0")
        self.assertGreater(int(sizes["RocksDB's"]), 0)
        self.assertGreater(int(sizes["both"]), int(sizes["bloomfile"]))

    def test_killed_benchmark_leaves_no_files(self):
        self.check_stopped("*.sst")

    def test_invalid_options_are_refused(self):
        self.check_trouble(("--rows", 0), ("--rounds", 102), ("--gets", "x"), ("--cold", -1))


if __name__ == "__main__":
    main()
