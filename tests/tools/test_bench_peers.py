# SPDX-License-Identifier: MIT
"""bench-peers and charts.py: reports of small runs, and contenders that fail."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

PEERS = pathlib.Path(os.environ["BENCH_PEERS"])
CHARTS = PEERS.with_name("charts.py")
SMALL = ["--turns", "1", "--queries", "20000"]

# A contender. With FROM keys or more it loses LOSES of them. It exits instead of answering the request ENDS.
# Keys in batches of CLIFF take it twice the time.
CONTENDER = """#!/usr/bin/env python3
import sys
for line in sys.stdin:
    words = line.split()
    if words[0] == "name":
        answer = NAME + "\\t1.0" if words[1] == "0" else "none"
    elif words[0] == "create":
        keys = int(words[2])
        answer = "ok 0 0"
    elif words[0] == "queries":
        queries = int(words[3])
        answer = "ok 0 0"
    elif words[0] == "lookup":
        found = queries - (LOSES if keys >= FROM else 0) if words[3] == "present" else queries // 100
        answer = f"ok {1 if words[2] == CLIFF else 0.5} {found}"
    else:
        if words[0] == "finish" and NAME == "bloomfile blocked":
            with open("blocked.bloom", "wb") as file:
                file.write(bytes(20000))
        answer = "ok 0.25 1000"
    if words[0] == ENDS and keys >= FROM:
        sys.exit(0)
    print(answer, flush=True)
"""


class DriverTest(unittest.TestCase):
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

    def with_mimic(self, loses=0, ends=None, least=20000, name="mimic", cliff=None, stands_for="bench-peer-libbloom"):
        """bench-peers in a folder where CONTENDER replaces the program for libbloom, or another program."""
        bench = self.folder / "bench"
        bench.mkdir()
        (self.folder / "lib").symlink_to(PEERS.parent.parent / "lib")
        for file in (PEERS.name, CHARTS.name, "bench-limits", "bench-contender-bloomfile", "contenders.py",
                     "report.py", "trial.py"):
            shutil.copy(PEERS.with_name(file), bench)
        mimic = CONTENDER
        for word, value in ("LOSES", loses), ("ENDS", ends), ("FROM", least), ("NAME", name), ("CLIFF", cliff):
            mimic = mimic.replace(word, repr(value))
        (bench / stands_for).unlink(missing_ok=True)
        (bench / stands_for).write_text(mimic)
        (bench / stands_for).chmod(0o755)
        return bench / PEERS.name

    def drawn_names(self, image):
        return [text.text for text in ElementTree.parse(image).iter()
                if text.tag.endswith("text") and text.get("class") == "name"]


class PeersTest(DriverTest):
    def report(self, *args, **how):
        path = self.folder / "report.json"
        done = self.run_peers(*SMALL, "--json", path, *args, **how)
        return done, json.loads(path.read_text())

    def test_report_has_every_contender(self):
        for form in "hashed", "16", "60", "mixed":
            with self.subTest(form=form):
                done, report = self.report("--case", f"{form}:20000:10")
                trial, = report["trials"]
                self.assertEqual((trial["form"], trial["keys"]), (form, 20000))
                ours = [e for e in trial["entrants"] if e["name"].startswith("bloomfile")]
                expected = {f"bloomfile {kind}" for kind in ("blocked", "classic", "counting", "ribbon", "blocked, live")}
                if PEERS.with_name("bench-peer-bloomfile-header").exists():  # built only with a C++ compiler
                    expected |= {f"bloomfile blocked, {how}" for how in ("inlined", "C++", "C++, any")}
                self.assertLessEqual(expected, {e["name"] for e in ours})
                for entrant in ours:
                    self.assertEqual(entrant["lost"], 0)
                    usual = 0.00125 if "ribbon" in entrant["name"] else 0.01
                    self.assertTrue(usual / 2 < entrant["rate"] < usual * 1.5, entrant)
                    self.assertAlmostEqual(entrant["bits_per_key"],
                                           40 if "counting" in entrant["name"] else 10, delta=0.1)
                    for op in "lookup_one_absent", "lookup_acting_absent", "lookup_32_absent", "lookup_batch_present":
                        self.assertGreater(entrant[op]["median_ns"], 0)
                    self.assertEqual(entrant["again_one"]["median_ns"] is not None, entrant["name"].endswith("live"),
                                     "keys are added once more where that takes effect at once")
                    kernel = f", {entrant['kernel']}" if entrant["kernel"] else ""
                    self.assertIn(f"| {entrant['name']}{kernel} ", done.stdout)
                limits = {e["name"] for e in trial["entrants"] if e["limit"]}
                self.assertIn("random lines, 64 ahead", limits)
                self.assertEqual("hashing" in limits, form != "hashed")

    def test_plot_is_well_formed(self):
        image = self.folder / "plot.svg"
        self.run_peers(*SMALL, "--case", "hashed:20000:10", "--svg", image)
        style = re.search(r"<style>\n(.*)</style>", image.read_text(), re.S)[1]
        self.assertEqual(style.count("{"), style.count("}"))
        dark = style.split("@media (prefers-color-scheme: dark) {\n")[1]
        self.assertRegex(dark, r"(?m)^\.ground \{ fill: #[0-3]")
        names = self.drawn_names(image)
        self.assertTrue(any(name.startswith("bloomfile classic") for name in names))
        self.assertFalse(any("counting" in name for name in names), "four times the size")

    def test_lost_keys_are_a_failure(self):
        program = self.with_mimic(loses=7)
        done, report = self.report("--case", "hashed:20000:10", program=program, status=1)
        mimic, = (e for e in report["trials"][0]["entrants"] if e["name"] == "mimic")
        self.assertEqual((mimic["lost"], mimic["rate"]), (7, 0.01))
        self.assertEqual(mimic["lookup_one_present"]["median_ns"], 0.5e9 / 20000)
        self.assertIn("MISSED", done.stdout)

    def test_contender_that_crashes_is_left_out(self):
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

    def test_contender_that_cannot_start_is_left_out(self):
        done, report = self.report("--case", "hashed:20000:10",
                                   program=self.with_mimic(ends="finish", least=1))
        self.assertNotIn("mimic", done.stdout)
        self.assertIn("mimic is left out", done.stderr)

    def test_invalid_options_are_refused(self):
        for args in (["--case", "hashed:10"], ["--case", "other:20000:10"], ["--turns", "0"],
                     ["--case", "hashed:20000:0"], ["--core", "x"], ["--turns", "1000"],
                     ["--sizes", "--quick"], ["extra"]):
            with self.subTest(args=args):
                self.run_peers(*args, status=2)

    def test_unwritable_report_is_an_error(self):
        missing = self.folder / "missing" / "report.json"
        done = self.run_peers(*SMALL, "--case", "hashed:20000:10", "--json", missing, status=2)
        self.assertIn("report.json: No such file", done.stderr)


class CurveTest(DriverTest):
    def curve(self, *args, program=CHARTS, **how):
        """The result of a run, the rows of its table with the heads first, and the path of the picture."""
        image = self.folder / "rate.svg"
        done = self.run_peers("curve", "--keys", "20000", "--lookups", "200000", "--svg", image, *args,
                              program=program, **how)
        rows = [[cell.strip() for cell in line.strip("|").split("|")]
                for line in done.stdout.splitlines() if line.startswith("|") and "---" not in line]
        return done, rows, image

    def test_measured_rates_match_the_expected_rates(self):
        _, (heads, *rows), image = self.curve()
        self.assertEqual([row[0] for row in rows], [str(bits) for bits in range(4, 25, 2)])
        names = self.drawn_names(image)
        for name, at_10 in ("bloomfile blocked", 0.97), ("bloomfile classic", 0.82), ("bloomfile ribbon", 0.13):
            column = heads.index(name)
            rates = [float(row[column].split()[0]) for row in rows if row[column] != "-"]
            self.assertGreaterEqual(len(rates), 4 if "ribbon" in name else 7)
            self.assertEqual(rates[:7], sorted(rates[:7], reverse=True))
            self.assertAlmostEqual(rates[3], at_10, delta=0.15)
            self.assertTrue(any(drawn.startswith(name) for drawn in names), names)
        self.assertEqual(len(names), len(heads) - 1, "each library, and the theory")
        self.assertLess(image.stat().st_size, 30_000)

    def test_image_is_reproducible(self):
        images = [self.curve()[2].read_bytes() for _ in range(2)]
        self.assertEqual(images[0], images[1])

    def test_contender_that_crashes_is_left_out(self):
        for request in "create", "finish", "lookup":
            with self.subTest(request=request):
                program = self.with_mimic(ends=request).with_name(CHARTS.name)
                done, (heads, *_), _ = self.curve(program=program)
                self.assertIn("mimic could not take part", done.stderr)
                self.assertNotIn("mimic", heads)
                self.assertIn("bloomfile blocked", heads)
            shutil.rmtree(program.parent)
            (self.folder / "lib").unlink()

    def test_invalid_options_are_refused(self):
        for args in ["--keys", "0"], ["--lookups", "x"], ["--other"], ["extra"]:
            with self.subTest(args=args):
                self.run_peers("curve", *args, program=CHARTS, status=2)


class BatchesTest(DriverTest):
    def batches(self, cliff=None, status=0):
        """A run of a mimic that takes the same time for all keys, except in batches of `cliff`."""
        program = self.with_mimic(name="bloomfile blocked", cliff=cliff, stands_for="bench-contender-bloomfile")
        image = self.folder / "batches.svg"
        done = self.run_peers("batches", "--keys", "20000", "--keys", "40000", "--turns", "2", "--svg", image,
                              program=program.with_name(CHARTS.name), status=status)
        return done.stdout, self.drawn_names(image)

    def test_report_and_plot_have_every_curve(self):
        report, names = self.batches()
        self.assertEqual(len(re.findall(r"(?m)^\| +64 \|", report)), 2)
        self.assertNotIn("MISSED", report)
        self.assertEqual([name.split(":")[0] for name in names], ["0.025 MB", "0.05 MB"])

    def test_a_cliff_is_a_failure(self):
        report, _ = self.batches(cliff="64", status=1)
        self.assertRegex(report, r"0.05 MB, in doubt: highest step +\| +2.00 x, from 32 to 64 .* MISSED")
        self.assertRegex(report, r"0.05 MB, bloomfile blocked: lowest step +\| +0.50 x, from 64 to 128 .* ok")

    def test_real_filters_are_measured(self):
        done = subprocess.run([CHARTS, "batches", "--keys", "20000", "--turns", "1", self.scratch], capture_output=True,
                              text=True, timeout=250)
        self.assertIn(done.returncode, [0, 1], "as fast as this machine may be")
        self.assertIn("in doubt", done.stdout, done.stderr)

    def test_invalid_options_are_refused(self):
        for args in ["--keys", "0"], ["--turns", "x"], ["extra"]:
            with self.subTest(args=args):
                self.run_peers("batches", *args, program=CHARTS, status=2)


if __name__ == "__main__":
    unittest.main()
