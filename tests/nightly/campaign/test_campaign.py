# SPDX-License-Identifier: MIT
"""The frame of all campaigns: a seed repeats, a stopped run resumes, and a finding is kept and can be repeated."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TOY = '''
import os, sys, time
sys.path.insert(0, sys.argv.pop(1))
from campaign import Campaign, Found, main

MORE = "more" in sys.argv
if MORE:
    sys.argv.remove("more")

class Toy(Campaign):
    unit = "throws"
    total = 41 if MORE else 40
    limit = 1 if "hanging" in sys.argv[0] else 60

    def prepare(self, folder):
        (folder / "shared").write_text("here")
        self.shared = folder / "shared"

    def run(self, case, chance, folder):
        assert self.shared.read_text() == "here" and list(folder.iterdir()) == []
        (folder / "left").write_text("removed with the folder")
        if "slow" in sys.argv[0]:
            time.sleep(0.1)
        if "bad" in sys.argv[0] and case == 7:
            raise Found("seven", {"proof": b"7"})
        if "killed" in sys.argv[0] and case == 7:
            os.kill(os.getpid(), 9)
        if "hanging" in sys.argv[0] and case == 7:
            time.sleep(600)
        if "broken" in sys.argv[0] and case == 8:
            raise ValueError("a fault of the campaign")
        return {"even" if case % 2 == 0 else "odd": {"throws": 1, "cases": case, "eyes": chance.randint(1, 6)}}

sys.exit(main(Toy))
'''


class Framework(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)

    def begin(self, name, *arguments):
        path = self.folder / f"{name}.py"
        path.write_text(TOY)
        return subprocess.Popen([sys.executable, "-W", "error", path, HERE, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True,
                                env={**os.environ, "STATE": str(self.folder), "TMPDIR": str(self.folder)})

    def run_toy(self, name, *arguments, status=0):
        run = self.begin(name, *arguments)
        output, errors = run.communicate()
        self.assertEqual(run.returncode, status, output + errors)
        return output, errors

    def rows(self, name):
        state = json.loads((self.folder / name / "state.json").read_text())
        return state["rows"], state

    def test_seed_repeats_a_run_with_any_number_of_processes(self):
        results = []
        for jobs in "1", "3":
            self.run_toy("toy", "--seed", "5", "--jobs", jobs)
            results.append(self.rows("toy")[0])
        self.assertEqual(results[0], results[1])
        self.assertEqual(sum(row["throws"] for row in results[0].values()), 40)
        self.assertEqual(sum(row["cases"] for row in results[0].values()), sum(range(40)))
        self.run_toy("toy", "--seed", "6")
        self.assertNotEqual(self.rows("toy")[0], results[0])

    def test_table_has_all_figures(self):
        output, _ = self.run_toy("toy", "--seed", "5")
        lines = [line.split() for line in output.splitlines()]
        self.assertEqual(lines[0], "| | throws | cases | eyes |".split())
        self.assertEqual(lines[4][:6], "| all | 40 | 780".split())
        self.assertIn("toy: 40 throws", output)
        self.assertIn("seed 5", output)
        self.assertIn("nothing found", output)

    def test_run_ends_by_count_or_time_and_resumes(self):
        self.run_toy("toy", "--seed", "5", "--count", "10", "--jobs", "2")
        self.assertIn(self.rows("toy")[1]["next"], (10, 11))
        self.run_toy("toy", "--resume", "--time", "0s")
        self.run_toy("toy", "--resume")
        rows = self.rows("toy")[0]
        self.run_toy("toy", "--seed", "5")
        self.assertEqual(self.rows("toy")[0], rows)
        output, _ = self.run_toy("toy", "--resume")
        self.assertEqual(self.rows("toy")[0], rows, output)

    def test_run_resumes_on_another_machine(self):
        self.run_toy("toy", "--seed", "5")
        whole = self.rows("toy")[0]
        sums = collections.Counter()
        for arguments in ["--count", "15", "--jobs", "1"], ["--skip", "15"]:
            output, _ = self.run_toy("toy", "--seed", "5", *arguments)
            for name, columns in self.rows("toy")[0].items():
                sums.update({(name, column): count for column, count in columns.items()})
        self.assertEqual(sums, {(name, column): count for name, row in whole.items() for column, count in row.items()})
        self.assertIn("25 of 40 cases behind the first 15", output)
        self.run_toy("slow", "--seed", "5", "--skip", "15", "--count", "5")
        self.run_toy("slow", "--resume")
        self.assertEqual(self.rows("slow")[0], self.rows("toy")[0])

    def test_stopped_run_resumes_and_counts_no_case_twice(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
            run = self.begin("slow", "--seed", "9", "--jobs", "2")
            while not (self.folder / "slow" / "state.json").exists() and run.poll() is None:
                time.sleep(0.02)
            os.killpg(run.pid, number)  # as a terminal does
            output, errors = run.communicate()
            self.assertNotIn("FOUND", output + errors)
            self.assertLess(self.rows("slow")[1]["next"], 40)
            self.run_toy("slow", "--resume")
            rows, state = self.rows("slow")
            self.assertEqual(sum(row["cases"] for row in rows.values()), sum(range(40)), number)
            self.assertEqual((state["next"], state["undone"]), (40, []))
            (self.folder / "slow" / "state.json").unlink()

    def test_findings_are_kept_and_can_be_repeated(self):
        output, errors = self.run_toy("bad", "--seed", "3", status=1)
        self.assertIn("FOUND 1", output)
        self.assertIn("FOUND case 7: seven", errors)
        kept = self.folder / "bad" / "found" / "3-7"
        self.assertEqual((kept / "proof").read_bytes(), b"7")
        self.assertIn("scripts/campaign bad --seed 3 --only 7", (kept / "report.txt").read_text())
        self.assertEqual(sum(row["throws"] for row in self.rows("bad")[0].values()), 39)
        output, _ = self.run_toy("bad", "--seed", "3", "--only", "7", status=1)
        self.assertIn("FOUND seven", output)
        self.run_toy("bad", "--seed", "3", "--only", "8")
        self.run_toy("bad", "--resume", status=1)

    def test_fault_of_a_campaign_is_a_failure(self):
        output, errors = self.run_toy("broken", status=1)
        self.assertIn("a fault of the campaign", errors)
        self.assertIn("FOUND 1", output)

    def test_hanging_case_is_detected(self):
        output, errors = self.run_toy("hanging", "--seed", "3", "--jobs", "2", status=1)
        self.assertIn("it has not ended after 1 seconds", errors)
        self.assertIn("FOUND 1", output)

    def test_killed_process_is_detected_and_its_case_repeated(self):
        output, errors = self.run_toy("killed", "--seed", "3", "--jobs", "2", status=1)
        self.assertIn("a process was killed", errors)
        self.assertIn("FOUND 1", output)
        rows, state = self.rows("killed")
        self.assertIn(7, state["undone"])
        self.assertEqual(sum(row["throws"] for row in rows.values()) + len(state["undone"]), state["next"])

    def test_other_cases_are_not_resumed(self):
        self.run_toy("toy", "--seed", "5", "--count", "10")
        _, errors = self.run_toy("toy", "--resume", "more", status=2)
        self.assertIn("there are 41 cases now, and were 40", errors)

    def test_new_run_keeps_the_state_of_the_old_run(self):
        self.run_toy("toy", "--seed", "5", "--count", "10")
        old = (self.folder / "toy" / "state.json").read_bytes()
        self.run_toy("toy", "--seed", "6")
        self.assertEqual((self.folder / "toy" / "state.old").read_bytes(), old)

    def test_wrong_arguments_are_refused(self):
        for arguments in ["--time", "ten"], ["--count", "0"], ["--count", "1.5"], ["--resume", "--seed", "1"], ["--resume"], ["--skip", "3"]:
            self.run_toy("toy", *arguments, status=2)


if __name__ == "__main__":
    unittest.main()
