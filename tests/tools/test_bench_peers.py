# SPDX-License-Identifier: MIT
"""bench-peers: the report of a small run, and contenders that lose keys or end early."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PEERS = pathlib.Path(os.environ["BENCH_PEERS"])
SMALL = ["--turns", "1", "--queries", "20000"]

# Answers as a contender does. With FROM keys or more it loses LOSES of them, and ends instead of
# answering the request ENDS.
CONTENDER = """#!/usr/bin/env python3
import sys
for line in sys.stdin:
    words = line.split()
    if words[0] == "name":
        answer = "mimic\\t1.0" if words[1] == "0" else "none"
    elif words[0] == "create":
        keys = int(words[2])
        answer = "ok 0 0"
    elif words[0] == "queries":
        queries = int(words[3])
        answer = "ok 0 0"
    elif words[0] == "lookup":
        found = queries - (LOSES if keys >= FROM else 0) if words[3] == "present" else queries // 100
        answer = f"ok 0.5 {found}"
    else:
        answer = "ok 0.25 1000"
    if words[0] == ENDS and keys >= FROM:
        sys.exit(0)
    print(answer, flush=True)
"""


class PeersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def run_peers(self, *args, program=PEERS, status=0):
        done = subprocess.run([program, *args, self.scratch], capture_output=True, text=True,
                              timeout=250)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(list(self.scratch.iterdir()), [])
        return done

    def report(self, *args, **how):
        path = self.folder / "report.json"
        done = self.run_peers(*SMALL, "--json", path, *args, **how)
        return done, json.loads(path.read_text())

    def with_mimic(self, loses=0, ends=None, least=20000):
        """bench-peers in a folder where a program that was written here stands for libbloom."""
        bench = self.folder / "bench"
        bench.mkdir()
        (self.folder / "lib").symlink_to(PEERS.parent.parent / "lib")
        for name in PEERS.name, "bench-limits", "bench-contender-bloomfile":
            shutil.copy(PEERS.with_name(name), bench)
        mimic = CONTENDER
        for name, value in ("LOSES", loses), ("ENDS", ends), ("FROM", least):
            mimic = mimic.replace(name, repr(value))
        (bench / "bench-peer-libbloom").write_text(mimic)
        (bench / "bench-peer-libbloom").chmod(0o755)
        return bench / PEERS.name

    def test_report(self):
        for form in "hashed", "16", "60", "mixed":
            with self.subTest(form=form):
                done, report = self.report("--case", f"{form}:20000:10")
                trial, = report["trials"]
                self.assertEqual((trial["form"], trial["keys"]), (form, 20000))
                ours = [e for e in trial["entrants"] if e["name"].startswith("bloomfile")]
                self.assertLessEqual({"bloomfile blocked", "bloomfile classic",
                                      "bloomfile counting", "bloomfile blocked, live"},
                                     {e["name"] for e in ours})
                for entrant in ours:
                    self.assertEqual(entrant["lost"], 0)
                    self.assertTrue(0.005 < entrant["rate"] < 0.015, entrant)
                    self.assertAlmostEqual(entrant["bits_per_key"],
                                           40 if "counting" in entrant["name"] else 10, delta=0.1)
                    for op in "lookup_one_absent", "lookup_batch_present":
                        self.assertGreater(entrant[op]["median_ns"], 0)
                    self.assertIn(f"| {entrant['name']}, {entrant['kernel']} ", done.stdout)
                limits = {e["name"] for e in trial["entrants"] if e["limit"]}
                self.assertIn("random lines, 64 ahead", limits)
                self.assertEqual("hashing" in limits, form != "hashed")

    def test_plot(self):
        image = self.folder / "plot.svg"
        self.run_peers(*SMALL, "--case", "hashed:20000:10", "--svg", image)
        names = [text.text for text in ElementTree.parse(image).iter()
                 if text.tag.endswith("text") and text.get("class") == "name"]
        self.assertTrue(any(name.startswith("bloomfile classic") for name in names))
        self.assertFalse(any("counting" in name for name in names), "four times the size")

    def test_lost_keys_are_a_failure(self):
        program = self.with_mimic(loses=7)
        done, report = self.report("--case", "hashed:20000:10", program=program, status=1)
        mimic, = (e for e in report["trials"][0]["entrants"] if e["name"] == "mimic")
        self.assertEqual((mimic["lost"], mimic["rate"]), (7, 0.01))
        self.assertEqual(mimic["lookup_one_present"]["median_ns"], 0.5e9 / 20000)
        self.assertIn("MISSED", done.stdout)

    def test_a_contender_that_ends(self):
        for request in "create", "add", "finish", "lookup":
            with self.subTest(request=request):
                program = self.with_mimic(ends=request)
                done, report = self.report("--case", "hashed:20000:10", program=program)
                names = {e["name"] for e in report["trials"][0]["entrants"]}
                self.assertIn("bloomfile blocked", names)
                self.assertNotIn("mimic", names)
                self.assertIn("mimic could not take part", done.stdout)
            shutil.rmtree(program.parent)
            (self.folder / "lib").unlink()

    def test_a_contender_that_cannot_begin(self):
        done, report = self.report("--case", "hashed:20000:10",
                                   program=self.with_mimic(ends="finish", least=1))
        self.assertNotIn("mimic", done.stdout)
        self.assertIn("mimic is left out", done.stderr)

    def test_usage(self):
        for args in (["--case", "hashed:10"], ["--case", "other:20000:10"], ["--turns", "0"],
                     ["--case", "hashed:20000:0"], ["--core", "x"], ["--turns", "1000"],
                     ["extra"]):
            with self.subTest(args=args):
                self.run_peers(*args, status=2)

    def test_report_that_cannot_be_written(self):
        missing = self.folder / "missing" / "report.json"
        done = self.run_peers(*SMALL, "--case", "hashed:20000:10", "--json", missing, status=2)
        self.assertIn("report.json: No such file", done.stderr)


if __name__ == "__main__":
    unittest.main()
