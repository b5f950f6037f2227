# SPDX-License-Identifier: MIT
"""The page in headless Chromium: real clicks, drops and keys. Its numbers are those of the command-line tools.

The folder of the tools is the environment variable BLOOMFILE_TOOLS. Without it, tests that compare numbers are skipped.
With ALL=1, every golden file is compared, and a file of 1 GiB is looked up."""
import csv
import functools
import http.server
import os
import re
import subprocess
import tempfile
import threading
import unittest
import zlib
from pathlib import Path

from webdriver import Browser

WEB = Path(__file__).resolve().parent.parent
GOLDEN = WEB.parent / "tests" / "golden"
REFUSED = WEB.parent / "tests" / "golden-refused"
TOOLS = os.environ.get("BLOOMFILE_TOOLS")
ALL = os.environ.get("ALL") == "1"
SHORT = ["blocked-file", "blocked-embedded", "blocked-union", "classic-file", "classic-full", "counting-file", "ribbon-two-pages",
         "ribbon-not-solved", "slice-middle", "application-classic", "key-kind-fixed-1", "blocked-no-keys", "smallest-rate", "extreme-numbers"]
SHORT_REFUSED = ["text", "header-bit-flipped", "blocked-first-page-is-zero", "blocked-one-bit-too-many"]
ARROW_RIGHT, ENTER, TAB = "\ue014", "\ue007", "\ue004"


def table(folder, name):
    with open(folder / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def tool(name, *arguments):
    return subprocess.run([f"{TOOLS}/{name}", *map(str, arguments)], capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout


def inspected(path):
    """The verdict, the facts and the table of layers that bfinspect prints."""
    first, *lines = tool("bfinspect", "--verify", path).splitlines()
    facts = dict(re.match(r"  (.{12,}?)  ?(\S.*)", line).groups() for line in lines if line.startswith("  ") and line[2] != " "
                 and re.match(r"  [a-z ]{1,12}\S*  ?", line) and not line.startswith("  layer  "))
    layers = [line.split() for line in lines if re.match(r"   +\d+  \d", line)]
    return first.split(": ", 1)[1], {name.strip(): text for name, text in facts.items()}, layers


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.open((WEB / "index.html").as_uri())
        self.browser.resize(1000, 900)

    def tearDown(self):
        self.assertEqual(self.browser.log(), [], "the browser's console is empty")

    def choose(self, *paths):
        self.browser.value("document.getElementById('report').hidden = true")
        self.browser.type("#choose", "\n".join(map(str, paths)))
        self.wait()

    def until(self, condition, *arguments):
        """Waits until a JavaScript expression is true."""
        self.browser.value(f"while (!({condition})) await new Promise((resolve) => setTimeout(resolve, 10));", *arguments)

    def wait(self):
        """Waits until a report is complete."""
        self.until("!report.hidden && document.getElementById('work').hidden")

    def wait_for_answers(self):
        self.until("!/^(Looking up|$)/.test(document.getElementById('answers-summary').textContent)")

    def facts(self):
        return dict(self.browser.value("""
            return [...document.querySelectorAll("#facts dt")].map((dt) => [dt.textContent, dt.nextSibling.textContent]);
        """))

    def rows(self, selector):
        return self.browser.value("""
            const cells = (row) => [...row.cells].map((cell) => cell.textContent);
            return [...document.querySelector(args[0]).tBodies[0].rows].map(cells);
        """, selector)

    def verdict(self):
        return self.browser.text("#verdict")

    def look_up(self, lines, form=None):
        if form:
            self.browser.click(f"#forms [value={form}]")
        self.browser.value("document.getElementById('keys').value = args[0]", "\n".join(lines))
        self.browser.value("document.getElementById('answers-summary').textContent = ''")
        self.browser.click("#lookup-form [type=submit]")
        self.wait_for_answers()
        return self.browser.text("#answers-summary")

    def maybes(self, lines, form):
        match = re.match(r"([\d,]+) keys?: ([\d,]+) maybe", self.look_up(lines, form))
        self.assertIsNotNone(match, self.browser.text("#answers-summary"))
        return int(match[2].replace(",", ""))

    def plan(self, keys, rate, layout):
        self.browser.value("""
            document.getElementById("plan-keys").value = args[0];
            document.getElementById("plan-rate").value = args[1];
            document.querySelector(`#plan [value=${args[2]}]`).click();
            document.getElementById("plan-keys").dispatchEvent(new Event("input", { bubbles: true }));
            await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        """, keys, rate, layout)
        return self.browser.text("#plan-result"), {row[0]: row for row in self.rows("#plan-table")}


class Using(Page):
    def drop(self, path):
        x, y = self.browser.value("const box = document.getElementById('drop').getBoundingClientRect(); return [box.x + 9, box.y + 9]")
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.browser.devtools("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)
        self.wait()

    def test_dropped_folder_is_refused_in_words(self):
        self.drop(GOLDEN)
        self.assertIn("cannot be read", self.verdict())
        self.assertEqual(self.look_up(["some key"]), "1 key: 1 maybe, 0 certainly not. The file was refused.")

    def test_files_chosen_last_are_shown(self):
        self.browser.value("""
            const { arrayBuffer } = Blob.prototype;
            let waits = 500;
            Blob.prototype.arrayBuffer = async function () {
                const wait = waits;
                waits = 0;
                await new Promise((resolve) => setTimeout(resolve, wait));
                return arrayBuffer.call(this);
            };
            for (const name of ["first", "second"]) {
                const chosen = new DataTransfer();
                chosen.items.add(new File(["not a filter"], name));
                document.getElementById("choose").files = chosen.files;
                document.getElementById("choose").dispatchEvent(new Event("change"));
            }
            await new Promise((resolve) => setTimeout(resolve, 1000));
        """)
        self.assertEqual(self.browser.text("#report-title"), "second")

    def test_file_that_changes_on_disk_is_not_healthy(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "filter.bloom"
            path.write_bytes((GOLDEN / "key-kind-text.bloom").read_bytes())
            self.choose(path)
            self.assertEqual(self.verdict(), "Healthy")
            path.write_bytes((GOLDEN / "classic-file.bloom").read_bytes())
            self.assertRegex(self.look_up(["some key"]), r"^No answer: [^.]*\. Treat every key as maybe\.$")
            self.assertIn("cannot be read", self.verdict())

    def test_damage_that_a_lookup_finds_is_the_verdict(self):
        image = bytearray((GOLDEN / "key-kind-text.bloom").read_bytes())
        image[-1] ^= 1
        self.browser.value("""
            const image = new File([Uint8Array.from(args[0])], "filter.bloom"), chosen = new DataTransfer();
            chosen.items.add(image);
            AbortSignal.prototype.throwIfAborted = () => { throw new DOMException("", "AbortError"); };
            document.getElementById("choose").files = chosen.files;
            document.getElementById("choose").dispatchEvent(new Event("change"));
        """, list(image))
        self.wait()
        self.assertEqual(self.verdict(), "Healthy header, body not read")
        self.assertIn("1 key: 1 maybe", self.look_up(["no such key"]))
        self.assertIn("BLOOMFILE_EPAGE", self.verdict())

    def test_lookup_shows_that_it_runs(self):
        self.choose(GOLDEN / "key-kind-text.bloom")
        shown = self.browser.value("""
            document.getElementById("keys").value = "some key";
            document.getElementById("lookup-form").requestSubmit();
            return document.getElementById("answers-summary").textContent;
        """)
        self.assertEqual(shown, "Looking up 1 key…")

    def test_dropped_file_is_shown(self):
        self.drop(GOLDEN / "blocked-file.bloom")
        self.assertEqual(self.browser.text("#report-title"), "blocked-file.bloom")
        self.assertEqual(self.verdict(), "Healthy")

    def test_typed_keys_are_looked_up(self):
        self.choose(GOLDEN / "key-kind-text.bloom")
        key = (GOLDEN / "keys" / "few.keys").read_bytes().split(b"\n")[1].decode()
        self.browser.type("#keys", f"{key}\nno such key")
        self.browser.click("#lookup-form [type=submit]")
        self.wait_for_answers()
        self.assertEqual(self.rows("#answers"), [[key, "maybe"], ["no such key", "certainly not"]])
        self.assertEqual(self.browser.text("#answers-summary"), "2 keys: 1 maybe, 1 certainly not.")

    def test_keys_of_another_kind_get_no_answer(self):
        self.choose(GOLDEN / "key-kind-integers.bloom")
        self.assertIn("1 certainly not", self.look_up(["123456789"]))
        self.assertIn("BLOOMFILE_EKEYKIND", self.look_up(["12"], "text"))
        self.assertIn("Key 1 is not of this form", self.look_up(["xyz"], "hex"))
        self.browser.click("#skip-kind")
        self.assertIn("1 certainly not", self.look_up(["12"], "text"))
        for name, form in (("bytes", "text"), ("text", "hex"), ("lower", "hex")):
            self.choose(GOLDEN / f"key-kind-{name}.bloom")
            self.assertRegex(self.look_up(["00ff"], form), "^No answer: .*BLOOMFILE_EKEYKIND")

    def test_upper_case_is_found_in_a_filter_of_lower_case_keys_when_the_kind_is_ignored(self):
        self.choose(GOLDEN / "key-kind-lower.bloom")
        self.browser.click("#skip-kind")
        self.assertIn("1 maybe", self.look_up(["KEY 1"], "text"))
        self.assertIn("1 maybe", self.look_up([b"KEY 1".hex()], "hex"))

    def test_damage_of_the_whole_body_counts_when_the_kind_is_ignored(self):
        image = bytearray((GOLDEN / "key-kind-text.bloom").read_bytes())
        size = int.from_bytes(image[12:16], "little") // 4
        for record in (2 * size, 3 * size):
            image[record + 24] ^= 1  # of the field ones
            end = record + size - 4
            image[end:end + 4] = zlib.crc32(image[record:end]).to_bytes(4, "little")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "filter.bloom"
            path.write_bytes(image)
            self.choose(path)
            self.assertIn("BLOOMFILE_EBODY", self.verdict())
            self.browser.click("#skip-kind")
            self.assertIn("2 keys: 2 maybe", self.look_up(["no such key", "nor this"]))
            self.assertIn("BLOOMFILE_EBODY", self.browser.text("#answers-summary"))

    def test_text_in_a_filter_of_digests_is_not_reported_as_damage(self):
        self.choose(GOLDEN / "application-blocked.bloom")
        self.assertIn("1 maybe, 0 certainly not. Only digests", self.look_up(["some text"], "text"))
        self.assertRegex(self.look_up(["0" * 16], "digests"), "certainly not.$")

    def test_answers_for_one_file_are_not_shown_under_another(self):
        self.choose(GOLDEN / "blocked-file.bloom", GOLDEN / "classic-file.bloom")
        self.browser.value("""
            const { arrayBuffer } = Blob.prototype;
            Blob.prototype.arrayBuffer = async function () {
                await new Promise((resolve) => setTimeout(resolve, 300));
                return arrayBuffer.call(this);
            };
            document.getElementById("keys").value = "no such key";
            document.getElementById("lookup-form").requestSubmit();
            document.querySelectorAll("[role=tab]")[1].click();
            await new Promise((resolve) => setTimeout(resolve, 1500));
        """)
        self.assertEqual(self.browser.text("#report-title"), "classic-file.bloom")
        self.assertEqual(self.browser.text("#answers-summary"), "")

    def test_file_name_cannot_reverse_the_text_direction(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mo\u202eolb.<b>x"
            path.write_bytes(b"")
            self.choose(path)
            self.assertEqual(self.browser.text("#report-title"), "mo\ufffdolb.<b>x")

    def test_command_has_the_numbers_of_the_form(self):
        for keys, rate, command in [("1M", "1%", "-n 1M -p 1% "), ("1M", "1.2345%", "-n 1M -p 0.012345 "),
                                    ("1e9", "0.999999", "-n 1G -p 0.999999 "), (str(2**60), "1%", f"-n {2**60} ")]:
            self.plan(keys, rate, "classic")
            self.assertIn(command, self.browser.text("#plan-command"))

    def test_slices_are_compared_and_looked_up_together(self):
        slices = [GOLDEN / f"slice-{name}.bloom" for name in ("last", "first", "middle")]
        self.choose(*slices)
        self.assertIn("Yes, these 3 slices", self.browser.text("#slices-verdict"))
        self.assertIn("Looked up in all 3 slices", self.look_up(["no such key"]))
        self.assertIn("1 certainly not", self.browser.text("#answers-summary"))
        self.choose(*slices[:2])
        self.assertIn("BLOOMFILE_EINCOMPLETE", self.browser.text("#slices-verdict"))

    def test_every_set_of_slices_has_the_verdict_of_the_tables(self):
        slices = {row["file"] for row in table(GOLDEN, "index.tsv") if row["first_block"] != "-"}
        for folder, answer in ((GOLDEN, "Yes"), (REFUSED, "No.")):
            for row in table(folder, "slices.tsv"):
                names = row["slices"].split(",")
                if 1 < len(names) == len(set(names)) and slices.issuperset(names):
                    self.choose(*(GOLDEN / name for name in names))
                    self.assertEqual(self.browser.text("#slices-verdict")[:3], answer, row["slices"])

    def test_keyboard_alone_opens_tabs_looks_up_and_plans(self):
        self.choose(GOLDEN / "blocked-file.bloom", GOLDEN / "classic-file.bloom")
        self.browser.value("document.querySelector('[role=tab]').focus()")
        self.browser.press(ARROW_RIGHT)
        self.wait()
        self.assertEqual(self.browser.text("#report-title"), "classic-file.bloom")
        self.assertEqual(self.browser.value("return document.activeElement.textContent"), "classic-file.bloom")
        self.browser.press(TAB, *"apple", TAB, TAB, ENTER)
        self.wait_for_answers()
        self.assertEqual(self.rows("#answers"), [["apple", "certainly not"]])
        self.browser.value("document.getElementById('plan-keys-slider').focus()")
        before = self.browser.text("#plan-result")
        self.browser.press(ARROW_RIGHT, ARROW_RIGHT)
        self.until("document.getElementById('plan-result').textContent !== args[0]", before)

    def test_every_control_has_a_name_for_screen_readers(self):
        self.choose(GOLDEN / "series-3.bloom", GOLDEN / "blocked-file.bloom")
        self.browser.devtools("Accessibility.enable")
        nodes = self.browser.devtools("Accessibility.getFullAXTree")["nodes"]
        controls = [node for node in nodes if any(p["name"] == "focusable" for p in node.get("properties", []))
                    and node["role"]["value"] != "RootWebArea"]
        self.assertGreater(len(controls), 15)
        self.assertEqual([node["role"]["value"] for node in controls if not node["name"].get("value")], [])

    def test_narrow_screen_needs_no_sideways_scrolling(self):
        self.choose(GOLDEN / "blocked-label-tag.bloom")
        self.browser.click("summary")
        self.browser.resize(360, 800)
        self.assertLessEqual(self.browser.value("return document.documentElement.scrollWidth"), 360)

    def test_policy_forbids_connections(self):
        violated = self.browser.value("""
            const seen = new Promise((resolve) => addEventListener("securitypolicyviolation", (e) => resolve(e.effectiveDirective)));
            await fetch("http://127.0.0.1:9/").catch(() => {});
            return await Promise.race([seen, new Promise((resolve) => setTimeout(resolve, 1000, "nothing"))]);
        """)
        self.assertEqual(violated, "connect-src")
        self.browser.log()

    def test_calculator_explains_wrong_numbers(self):
        self.browser.clear("#plan-keys")
        self.browser.type("#plan-keys", "many")
        self.until("document.getElementById('plan-error').textContent.includes('whole number')")
        self.assertEqual(self.browser.value("return document.getElementById('plan-keys').getAttribute('aria-invalid')"), "true")
        self.assertTrue(self.browser.value("return document.getElementById('plan-shown').hidden"), "the result of other numbers")

    @unittest.skipUnless(ALL and TOOLS, "a file of 1 GiB, with --all")
    def test_large_file_is_not_read_to_look_up_a_key(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.bloom"
            subprocess.run([f"{TOOLS}/bfcreate", "-q", "-m", "8Gi", "-k", "6", path], input=b"apple\n", check=True)
            self.browser.value("""
                const slice = Blob.prototype.slice;
                window.bytesRead = 0;
                Blob.prototype.slice = function (from, to) {
                    window.bytesRead += to - from;
                    return slice.call(this, from, to);
                };
            """)
            self.choose(path)
            self.assertEqual(self.verdict(), "Healthy header, body not read")
            self.assertIn("2 keys: 1 maybe", self.look_up(["apple", "pear"]))
            self.assertLess(self.browser.value("return window.bytesRead"), 200_000)
            self.browser.click("#verify")
            self.assertTrue(self.browser.value("return !document.getElementById('work').hidden"))
            self.browser.click("#work-stop")
            self.wait()
            self.assertEqual(self.verdict(), "Healthy header, body not read")
            self.browser.click("#verify")
            self.wait()
            self.assertEqual(self.verdict(), "Healthy")


@unittest.skipUnless(TOOLS, "BLOOMFILE_TOOLS is not set")
class Numbers(Page):
    def golden_files(self, name="index.tsv"):
        rows = table(GOLDEN, name)
        return [row for row in rows if ALL or row["file"].removesuffix(".bloom") in SHORT]

    def compare(self, path):
        verdict, facts, layers = inspected(path)
        self.choose(path)
        with self.subTest(path.name):
            self.assertEqual(self.verdict().lower(), verdict.lower())
            facts.pop("advice", None)
            self.assertEqual(self.facts(), facts)
            for row, expected in zip(self.rows("#layers-table") if layers else [], layers, strict=True):
                self.assertEqual(" ".join(row), " ".join(expected))

    def test_facts_match_bfinspect(self):
        for row in self.golden_files():
            self.compare(GOLDEN / row["file"])

    def test_facts_of_series_match_bfinspect(self):
        for row in table(GOLDEN, "series.tsv"):
            if "/" not in row["file"]:
                self.compare(GOLDEN / row["file"])

    def test_low_rate_within_chance_is_healthy(self):
        """3.8 times the target: four deviations added up would allow 3.0 times."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "low"
            subprocess.run([f"{TOOLS}/bfcreate", "-q", "-p", "1e-9", "-s", "2", path],
                           input="".join(f"key {i}\n" for i in range(100_000)).encode(), check=True)
            self.compare(path)

    def test_verdicts_on_too_many_keys_match_bfinspect(self):
        keys = "".join(f"key {i}\n" for i in range(30_000)).encode()
        with tempfile.TemporaryDirectory() as folder:
            for number, options in enumerate([["-p", "1%", "-n", "10000"], ["-m", "2M", "-n", "10000"], ["-m", "1k", "-k", "4"],
                                              ["-p", "1%", "-n", "1k"], ["-p", "1%", "-l", "ribbon", "-n", "30k"]]):
                path = Path(folder) / str(number)
                subprocess.run([f"{TOOLS}/bfcreate", "-q", "--overfull", *options, path], input=keys, check=True)
                self.compare(path)
            series = Path(folder) / "series"
            subprocess.run([f"{TOOLS}/bfcreate", "-q", "--live", "--grow", "-n", "100", "-p", "1%", series], input=keys, check=True)
            subprocess.run([f"{TOOLS}/bfseal", "-q", series, f"{series}.sealed"], check=True)
            self.compare(Path(f"{series}.sealed"))

    def test_fold_plan_matches_bffold(self):
        # bffold estimates the number of keys of reserved-*.bloom, where bfinspect takes the recorded number.
        for row in [row for row in self.golden_files() if not row["file"].startswith("reserved-")]:
            lines = tool("bffold", "--dry-run", GOLDEN / row["file"]).splitlines()
            expected = [line.replace("*", " ").split()[:6] for line in lines if re.match(r"[* ] +\d+ ", line)]
            self.choose(GOLDEN / row["file"])
            shown = [" ".join(cells).split() for cells in self.rows("#folds-table")]
            if self.browser.value("return document.getElementById('folds').hidden"):
                shown = []
            with self.subTest(row["file"]):
                self.assertEqual([row[:4] + row[5:] for row in shown], [row[:4] + row[5:] for row in expected])
                for row, other in zip(shown, expected, strict=True):  # printf rounds a tie to an even digit, JavaScript up
                    self.assertAlmostEqual(float(row[4][:-1]), float(other[4][:-1]), delta=0.11)

    def test_answers_match_the_tables(self):
        for row in self.golden_files() + (table(GOLDEN, "series.tsv") if ALL else []):
            if "/" in row["file"]:
                continue
            self.choose(GOLDEN / row["file"])
            digests = row["hash"] != "xxh3"
            absent = "keys/absent.digests" if digests else "keys/absent.keys"
            present, others = (self.lines(name, digests) for name in (row["keys"], absent))
            form = "digests" if digests else "hex"
            if not digests and re.match("newer|integers|fixed|text|lower", row["key_kind"]):
                self.browser.click("#skip-kind")
            with self.subTest(row["file"]):
                if present:
                    self.assertEqual(self.maybes(present, form), len(present))
                self.assertEqual(self.maybes(others, form), int(row["maybes"]))

    @functools.cache
    def lines(self, name, digests):
        lines = [line for line in (GOLDEN / name).read_bytes().split(b"\n")[:-1] if line]
        return [line.decode() if digests else line.hex() for line in lines]

    def test_refused_files_show_the_error_and_answer_maybe(self):
        for row in table(REFUSED, "index.tsv"):
            if not ALL and row["file"].removesuffix(".bloom") not in SHORT_REFUSED:
                continue
            self.choose(REFUSED / row["file"])
            with self.subTest(row["file"]):
                self.assertIn(row["error"], self.verdict())
                if row["error"] != "BLOOMFILE_EPAGE":
                    self.assertIn("1 key: 1 maybe", self.look_up(["some key"]))

    def test_flipped_bit_of_a_header_is_named(self):
        for name in ("header-bit-flipped", "header-crc-flipped", "header-last-byte-flipped", "header-reserved-bit-flipped"):
            field, byte = re.search(r"one flipped bit in (.*) \(byte (\d+)\)", tool("bfinspect", REFUSED / f"{name}.bloom")).groups()
            self.choose(REFUSED / f"{name}.bloom")
            self.assertRegex(self.verdict(), rf"one flipped bit, bit \d of byte {byte}, in {field} ")

    def test_live_files_are_refused(self):
        for path in sorted((GOLDEN / "live" / "growing-2").iterdir()):
            self.choose(path)
            self.assertIn("BLOOMFILE_ELIVE", self.verdict())

    def test_sizes_match_bfcreate(self):
        cases = [("1", "1%"), ("1M", "1%"), ("300", "1e-9")]
        if ALL:
            cases += [(n, p) for n in ("7", "80k", "1234567", "1G", "3T") for p in ("50%", "3%", "0.1%", "1e-6", "1e-12")]
        for keys, rate in cases:
            for layout in ("blocked", "classic", "counting"):
                plan = dict(re.split(r"  +", line, maxsplit=1) for line in
                            tool("bfcreate", "--dry-run", "-n", keys, "-p", rate, "-l", layout).splitlines() if "  " in line)
                text, rows = self.plan(keys, rate, layout)
                with self.subTest(keys=keys, rate=rate, layout=layout):
                    if not plan:  # bfcreate refuses the rate
                        self.assertEqual(rows[layout][4], "-")
                        continue
                    self.assertIn(f"m = {int(plan['m'].split()[0]):,} ", text)
                    self.assertEqual(rows[layout][1:4], [plan["bits per key"], plan["k"], plan["expected rate"].split(",")[0]])
                    self.assertEqual(rows[layout][4].replace(",", ""), plan["size"].replace(",", ""))

    def test_sizes_of_ribbon_match_bfcreate(self):
        cases = [("1M", "1%"), ("10M", "0.1%"), ("3k", "1e-6"), ("1M", "50%")]
        if ALL:
            cases += [(n, p) for n in ("1k", "300k", "3M", "1G", "1T") for p in ("99%", "28%", "24%", "10%", "3%", "1e-4", "1e-8")]
        for keys, rate in cases:
            size = re.search(r"size +(\d+)", tool("bfcreate", "--dry-run", "-n", keys, "-p", rate, "-l", "ribbon"))
            shown = self.plan(keys, rate, "ribbon")[1]["ribbon"][4].split()[0].replace(",", "")
            with self.subTest(keys=keys, rate=rate):
                self.assertEqual(shown == "-", size is None, "bfcreate refuses the rate")
                if size:
                    self.assertAlmostEqual(int(shown) / int(size[1]), 1, delta=1e-6)


class Server(http.server.BaseHTTPRequestHandler):
    """Serves the module and a filter that a browser may cache for an hour."""
    protocol_version = "HTTP/1.1"
    image = version = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        start, stop, status, kind = 0, None, 200, "text/html"
        data = (WEB.parent / "bindings/js/bloomfile.js").read_bytes() if self.path == "/bloomfile.js" else b""
        if self.path == "/filter":
            data, kind = self.image, "application/octet-stream"
            start, stop = map(int, re.findall(r"\d+", self.headers["Range"]))
            status = 206 if self.headers.get("If-Match", self.version) == self.version else 412
        part = data[start:None if stop is None else stop + 1] if status < 400 else b""
        self.send_response(status)
        for name, value in (("Content-Type", "text/javascript" if self.path.endswith(".js") else kind), ("ETag", self.version),
                            ("Last-Modified", "Mon, 30 Nov 2020 08:00:00 GMT"), ("Cache-Control", "max-age=3600"),
                            ("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(data)}"), ("Content-Length", len(part))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(part)


class Module(Page):
    def test_url_of_a_replaced_file_opens_again_in_spite_of_the_cache(self):
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
            self.addCleanup(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.browser.open(f"http://127.0.0.1:{server.server_port}/")
            for version, name in enumerate(["key-kind-text", "classic-file", "blocked-file"]):
                Server.image, Server.version = (GOLDEN / f"{name}.bloom").read_bytes(), f'"{version}"'
                error = self.browser.value("""
                    const { openURL } = await import("/bloomfile.js");
                    const filter = await openURL("/filter", { keys: "plain" });
                    await filter.hasAll(["some key", "another"]);
                    return filter.error;
                """)
                self.assertIsNone(error)


class File(unittest.TestCase):
    def test_index_is_current(self):
        subprocess.run([str(WEB / "build.py"), "--check"], check=True)


if __name__ == "__main__":
    unittest.main()
