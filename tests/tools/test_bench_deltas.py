# SPDX-License-Identifier: MIT
"""bench-deltas: a table of a small run, and that nothing is left of files."""

import os
import pathlib
import subprocess
import tempfile
import unittest

DELTAS = pathlib.Path(os.environ["BENCH_DELTAS"])


class DeltasTest(unittest.TestCase):
    def test_a_small_run(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([DELTAS, "-n", "20000", "-r", "1", folder], capture_output=True, text=True, timeout=250)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertEqual(os.listdir(folder), [])
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()
                if line.startswith("|") and "---" not in line]
        ours = [dict(zip(rows[0], row)) for row in rows if row[1] == "bfdelta -j 1"]
        self.assertEqual(len(ours), 4)
        for row in ours:
            self.assertLess(int(row["patch, bytes"]), 1.1 * int(row["by block"]) + 100)
            self.assertGreater(int(row["entropy, bytes"]), int(row["by block"]))

    def test_usage(self):
        for words in ["-n", "0"], ["-r", "x"]:
            done = subprocess.run([DELTAS, *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main(buffer=True)
