# SPDX-License-Identifier: MIT
"""bench-commands: tables of small runs, wrong answers, and removal of its files."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

COMMANDS = pathlib.Path(os.environ["BENCH_COMMANDS"])


class CommandsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def table(self, case, *options, statuses=(0, 1)):
        """The rows by their first cells. If there are several tables, those of the last."""
        done = subprocess.run([COMMANDS, case, *options, self.folder], capture_output=True, text=True, timeout=250)
        self.assertIn(done.returncode, statuses, done.stdout + done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()
                if line.startswith("|") and "---" not in line]
        self.rows = [dict(zip(rows[0], row)) for row in rows]
        return {row[0]: dict(zip(rows[0], row)) for row in rows}, done

    def test_common_table_finds_the_common_lines(self):
        rows, _ = self.table("common", "-n", "20000", "-m", "16", statuses=(0,))
        self.assertEqual({row["found"] for name, row in rows.items() if name != "command"}, {"200"})

    def test_ribbon_table_compares_layouts(self):
        rows, done = self.table("ribbon", "-n", "20000", "-r", "1")
        self.assertEqual(rows["bfcreate -l blocked -j 2"]["of blocked"], "1.00")
        self.assertGreater(float(rows["bfcreate -l ribbon -j 1"]["of blocked"]), 0)
        self.assertIn("two threads, times as fast", done.stdout)

    def test_deltas_table_compares_patches(self):
        self.table("deltas", "-n", "20000", "-r", "1")
        ours = [row for row in self.rows if row["program"] == "bfdelta -j 1"]
        self.assertEqual(len(ours), 4)
        for row in ours:
            self.assertLess(int(row["patch, bytes"]), 1.1 * int(row["by block"]) + 100)
            self.assertGreater(int(row["entropy, bytes"]), int(row["by block"]))

    def test_query_table_compares_commands(self):
        rows, done = self.table("query", "-n", "20000", "-g", "2000", "-r", "1")
        self.assertIn("bfcreate -j 2", done.stdout)
        self.assertEqual(rows["wc -l"]["times as long as wc"], "1.00")
        self.assertGreater(float(rows["grep -F -x -f"]["peak RSS, MiB"]), 0)

    @unittest.skipUnless(shutil.which("jq") and shutil.which("xxd"), "needs jq and xxd")
    def test_keys_table_compares_key_options(self):
        rows, done = self.table("keys", "-d", "500", "-n", "5000", "-r", "1", statuses=(0, 1, 2))
        if "no JSON" not in done.stderr:
            self.assertEqual(rows["`bfquery --confirm list half.bloom lines`"]["ratio to bloomfile"], "1.0")

    def test_invalid_options_are_refused(self):
        for words in [], ["other"], ["common", "-n", "0"], ["query", "-g", "x"], ["deltas", "-r", "x"]:
            done = subprocess.run([COMMANDS, *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
        _, done = self.table("common", "-n", str(10**12), statuses=(2,))
        self.assertIn("name another folder", done.stderr)

    def test_killed_benchmark_leaves_no_files(self):
        """No signal may leave files behind."""
        for number in signal.SIGTERM, signal.SIGKILL:
            process = subprocess.Popen([COMMANDS, "common", "-n", "2000000", self.folder],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not list(self.folder.glob("*/a")):
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.send_signal(number)
            process.wait()
            for _ in range(10_000):
                if not list(self.folder.iterdir()):
                    break
                time.sleep(0.01)
            self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
