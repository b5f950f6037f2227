# SPDX-License-Identifier: MIT
"""bench-distributed: a table of a small run, and that nothing is left of files."""

import os
import pathlib
import subprocess
import tempfile
import unittest

DISTRIBUTED = pathlib.Path(os.environ["BENCH_DISTRIBUTED"])


class DistributedTest(unittest.TestCase):
    def test_a_small_run(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([DISTRIBUTED, "-n", "100000", "--tasks", "2,5", folder], capture_output=True, text=True,
                                  timeout=250)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertEqual([name for name in os.listdir(folder) if not name.startswith("ompi.")], [])
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()
                if line.startswith("|") and "---" not in line]
        self.assertEqual([row[0] for row in rows], ["tasks", "2", "5"])
        for row in rows[1:]:
            row = dict(zip(rows[0], row))
            tasks, sent = int(row["tasks"]), float(row["bytes sent a key"])
            self.assertAlmostEqual(sent, 8 * (tasks - 1) / tasks, delta=0.5)
            self.assertGreater(float(row["peak memory"]), float(row["of it MPI"]))

    def test_usage(self):
        for words in ["-n", "0"], ["--tasks", "4,x"]:
            done = subprocess.run([DISTRIBUTED, *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))


if __name__ == "__main__":
    unittest.main(buffer=True)
