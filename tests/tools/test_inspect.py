# SPDX-License-Identifier: MIT
"""bfinspect: the page, JSON, --verify and --keys, exit statuses, and bad files."""

import array
import fcntl
import json
import math
import os
import re
import struct
import subprocess
import termios
import unittest

from support import (GOLDEN, REFUSED, SANITIZED, SOURCE_ROOT, TIMEOUT, UNPRIVILEGED, ToolTest,
                     craft, file_form, lines, main, needs, numbered)

KEYS = numbered(300)


class InspectTest(ToolTest):
    """A test with a healthy filter and its keys."""

    def setUp(self):
        super().setUp()
        self.write("filter", file_form("blocked", 6 * 512, 6, KEYS, fpr=0.013))
        self.write("keys", lines(*KEYS))

    def page(self, *arguments, status=0, says=b"", **options):
        return self.output("bfinspect", *arguments, status=status, says=says, **options).decode()

    def report(self, *arguments, **options):
        """The JSON report about one file, which must state the exit status."""
        result = self.run_tool("bfinspect", "--report", "-", *arguments, **options)
        report = json.loads(result.stdout)
        self.assertEqual(result.returncode, report["status"], result)
        self.assertEqual(report["ok"], report["status"] == 0)
        self.assertEqual(bool(result.stderr), report["status"] == 2, result.stderr)
        return report


class Page(InspectTest):
    def test_healthy_filter_has_no_advice(self):
        page = self.page("filter").splitlines()
        self.assertEqual(page[0], "filter: healthy header and fill, body not verified")
        self.assertNotIn("advice", "".join(page))
        text = "\n".join(page)
        for words in "300", "1.3%", "blocked", "3,072 bits", "6 blocks", "sealed", "not verified":
            self.assertIn(words, text)
        for name in "keys", "fill", "actual rate", "target rate", "layout", "k", "size", "state":
            self.assertRegex(text, rf"(?m)^  {name} +\S")

    def test_label_tag_seed_and_provenance_are_shown(self):
        page = self.page(GOLDEN / "blocked-label-tag.bloom")
        self.assertIn("Wörter, слова, λέξεις", page)
        self.assertIn(bytes(range(0xA0, 0xB0)).hex(), page)
        page = self.page(GOLDEN / "blocked-label-tag.bloom", locale="C")
        self.assertTrue(page.isascii())
        self.assertIn(r"W\303\266rter", page)
        self.assertIn("0x0123456789abcdef", self.page(GOLDEN / "blocked-seed.bloom"))
        self.assertRegex(self.page(GOLDEN / "classic-folded.bloom"), "folded +by 5, .*4,015")
        self.assertIn("projection", self.page(GOLDEN / "classic-projected.bloom"))
        self.assertIn("intersection", self.page(GOLDEN / "classic-intersection.bloom"))
        self.assertIn("union", self.page(GOLDEN / "blocked-union.bloom", status=1))

    def test_fields_option_shows_every_field(self):
        for option in "-H", "--fields":
            page = self.page(option, "filter")
            for name, (offset, _) in craft.HEADER.items():
                place = 2044 if offset < 0 else offset
                self.assertRegex(page, rf"(?m)^ +{place} +{name} ")
            for name, (offset, _) in craft.RECORD.items():
                for start in 2048, 3072:
                    place = start + (1020 if offset < 0 else offset)
                    self.assertRegex(page, rf"(?m)^ +{place} +{name} ")
            self.assertNotIn("!", page)

    def test_each_of_several_files_gets_a_verdict(self):
        page = self.page("filter", GOLDEN / "classic-file.bloom", "filter")
        self.assertEqual(len(re.findall(r"(?m)^\S+: healthy header and fill", page)), 3)

    def test_quiet_prints_only_errors(self):
        for option in "-q", "--quiet":
            self.assertEqual(self.page(option, "filter"), "")
            self.trouble("bfinspect", option, "filter", "no-such-file", names=["no-such-file"])

    def test_verdict_states_only_the_checks_that_ran(self):
        for words, verdict in (([], "healthy header and fill, body not verified"),
                               (["--quick"], "healthy header, body not read"),
                               (["--keys", "keys"], "healthy header and fill, body not verified"),
                               (["--verify"], "healthy"),
                               (["--verify", "--keys", "keys"], "healthy")):
            self.assertEqual(self.page(*words, "filter").splitlines()[0], f"filter: {verdict}")
        body = bytearray(self.read("filter"))
        body[4096:4096 + 384] = reversed(body[4096:4096 + 384])  # the same bits, in other places
        self.write("turned", bytes(body))
        self.assertIn("not verified", self.page("turned"))
        self.assertIn("damaged", self.trouble("bfinspect", "-q", "--verify", "turned"))

    def test_quick_does_not_read_the_body(self):
        page = self.page("--quick", "filter")
        self.assertIn("healthy header, body not read", page)
        self.assertNotIn("fill", page)
        self.write("bad", craft.flip(self.read("filter"), 4096 + 10))
        self.assertIn("healthy header", self.page("--quick", "bad"))


class Numbers(InspectTest):
    def test_measurements_match_the_bits(self):
        for name in ("blocked-file", "classic-file", "counting-file", "blocked-one-block",
                     "classic-m480833", "counting-embedded", "classic-no-keys", "blocked-k64"):
            with self.subTest(name):
                path = GOLDEN / f"{name}.bloom"
                measure = self.report(path)["measure"]
                image = craft.Image(path.read_bytes(), name)
                ones, fill, fpr = self.measured(image)
                self.assertEqual(measure["ones"], ones)
                self.assertTrue(math.isclose(measure["fill"], fill, abs_tol=1e-15))
                self.assertTrue(math.isclose(measure["fpr"], fpr, rel_tol=1e-12))
                n = image.record["n"]
                self.assertLessEqual(abs(measure["keys_estimate"] - n), max(0.05 * n, 0.5))

    @staticmethod
    def measured(image):
        m, k, layout = (image.header[name] for name in ("m", "k", "layout"))
        body = bytes(image.body)
        if layout == 3:
            nibbles = [nibble for byte in body for nibble in (byte & 15, byte >> 4)]
            ones = sum(nibble > 0 for nibble in nibbles)
        else:
            ones = int.from_bytes(body, "little").bit_count()
        fpr = (ones / m) ** k
        if layout == 1:
            blocks = [int.from_bytes(body[start:start + 64], "little").bit_count()
                      for start in range(0, m // 8, 64)]
            fpr = sum((ones_of_block / 512) ** k for ones_of_block in blocks) / len(blocks)
        return ones, ones / m, fpr

    def test_truncated_numbers_are_not_shown(self):
        """A number that is cut in two is not shown, not even as zero."""
        image = (GOLDEN / "blocked-file.bloom").read_bytes()
        for size in [*range(1, 260), 511, 512, 513, 2047, 2048, 3071, 4095]:
            self.write("stub", image[:size])
            result = self.run_tool("bfinspect", "stub")
            page = result.stdout.decode()
            self.assertEqual(result.returncode, 2)
            self.assertNotRegex(page, r"(?m)^  (target rate|actual rate|keys|layout|label) ")
            known = f"{len(image) - size} of {len(image)} bytes missing"
            self.assertIn(known if size >= 88 else f"only {size} byte", page.splitlines()[0])
            for offset in map(int, re.findall(r"(?m)^[ !]+(\d+)  \w+ ", page)):
                self.assertLess(offset, size)
        self.write("stub", image[:4096])
        self.assertIn("\n  target rate   1%\n", self.run_tool("bfinspect", "stub").stdout.decode())

    def test_full_filter_has_a_rate_of_1(self):
        measure = self.report(GOLDEN / "classic-full.bloom")["measure"]
        self.assertEqual((measure["fill"], measure["fpr"], measure["keys_estimate"]), (1, 1, None))
        self.page(GOLDEN / "classic-full.bloom", status=1)

    def test_empty_filter_has_a_rate_of_0(self):
        measure = self.report(GOLDEN / "blocked-no-keys.bloom")["measure"]
        self.assertEqual(measure, {"ones": 0, "fill": 0, "fpr": 0, "keys_estimate": 0})

    def test_an_empty_or_overfull_filter_is_not_healthy(self):
        self.create("-q", "/dev/null", name="empty")
        self.create("-q", "-m", 5120, stdin=lines(*numbered(5000)), name="overfull")
        self.create("-q", "-m", 5120, "-p", 0.99, stdin=lines(*numbered(600)), name="as promised")
        for words in [], ["--verify"], ["--quick"]:
            for name, verdict in (("empty", "empty: lookups return no for every key"),
                                  ("overfull", "over capacity: its actual rate is (about )?[\\d.]+%")):
                report = self.inspected(name, *words)
                self.assertRegex(report["verdict"], f"^{verdict}$")
                self.assertEqual((report["status"], report["ok"]), (1, False))
                self.assertIn("rebuild it", report["advice"])
            self.assertEqual(self.inspected("as promised", *words)["verdict"][:7], "healthy")

    def test_measured_rate_equals_the_rate_of_non_members(self):
        absent = lines(*numbered(50_000, "absent "))
        for layout in "blocked", "classic", "counting":
            self.create("-q", "-l", layout, "-p", "0.02", stdin=lines(*numbered(2000)))
            promised = self.report("filter.bloom")["measure"]["fpr"]
            found = int(self.output("bfquery", "-c", "filter.bloom", stdin=absent))
            self.assertLess(abs(found / 50_000 - promised), 4 * math.sqrt(promised / 50_000))


class Json(InspectTest):
    def documented(self):
        """The keys that the section JSON of the manual lists."""
        text = (SOURCE_ROOT / "man" / "bfinspect.1").read_text()
        section = text[text.index(".Sh JSON"):]
        section = section[:section.index("\n.El")]
        return {name for line in re.findall(r"^\.It Cm (.*)$", section, re.M)
                for name in line.replace(",", " ").split()}

    def test_documented_members_are_always_present(self):
        documented = self.documented()
        self.assertGreater(len(documented), 12)
        for path in ("filter", "no-such-file", ".", "/dev/null", REFUSED / "empty.bloom",
                     REFUSED / "text.bloom", REFUSED / "k-0.bloom", REFUSED / "live.bloom",
                     REFUSED / "live-clean.bloom",
                     REFUSED / "page-1-bit-flipped.bloom", REFUSED / "truncated-to-16.bloom"):
            self.assertEqual(set(self.report("--verify", path)), documented)

    def test_report_has_header_and_records(self):
        report = self.report("filter")
        image = craft.Image(self.read("filter"), "filter")
        header, record = image.header, image.record
        self.assertEqual(report["header"], {
            **header, "magic": header["magic"].hex(), "layout": "blocked",
            "key_kind": craft.kind_words(image), "key_size": 0,
            "seed": f"{header['seed']:016x}", "self_test": f"{header['self_test']:016x}",
            "fpr": 0.013, "tag": header["tag"].hex(), "label": "",
            "header_crc": f"{header['header_crc']:08x}"})
        shown = {**record, "sequence": f"{record['sequence']:016x}", "state": "sealed",
                 "boot_id": record["boot_id"].hex(), "identity": record["identity"].hex(), "watermark": record["watermark"].hex(),
                 "body_crc": f"{record['body_crc']:08x}",
                 "header_crc": f"{record['header_crc']:08x}",
                 "record_crc": f"{record['record_crc']:08x}"}
        self.assertEqual(report["records"], [shown, shown])
        in_force = {name: shown[name] for name in ("sequence", "state", "n", "ones", "overflow",
                                                   "boot_id", "identity", "watermark", "writers", "body_crc")}
        self.assertEqual(report["record"], {**in_force, "n_estimated": False})
        self.assertEqual(report["size"], len(self.read("filter")))
        self.assertTrue(self.report(GOLDEN / "n-estimated.bloom")["record"]["n_estimated"])

    def test_record_in_force_of_an_interrupted_seal_is_reported(self):
        for slot in 0, 1:
            report = self.report(GOLDEN / f"interrupted-seal-{slot}.bloom")
            self.assertEqual(report["record"]["n"], 40)
            self.assertEqual([record["state"] for record in report["records"]],
                             ["live", "sealed"] if slot == 0 else ["sealed", "live"])

    def test_largest_numbers_are_printed_exactly(self):
        report = self.report(GOLDEN / "extreme-numbers.bloom", "--quick")
        self.assertEqual((report["record"]["n"], report["header"]["m_unfolded"]),
                         (2**64 - 1, 2**60))
        self.assertEqual(report["header"]["fpr"], 1 - 2**-53)
        self.assertEqual(self.report(GOLDEN / "smallest-rate.bloom")["header"]["fpr"], 5e-324)

    def test_numbers_json_cannot_represent_are_null(self):
        for name in "fpr-nan", "fpr-infinite":
            text = self.run_tool("bfinspect", "--report", "-", REFUSED / f"{name}.bloom").stdout
            report = json.loads(text, parse_constant=lambda word: self.fail(word))
            self.assertIsNone(report["header"]["fpr"])

    def test_report_has_one_line_per_file(self):
        result = self.run_tool("bfinspect", "--report", "-", "filter", "no-such-file", "keys", "filter")
        self.assertEqual(result.returncode, 2)
        reports = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(report["file"], report["status"], report["error"])
                          for report in reports],
                         [("filter", 0, None), ("no-such-file", 2, "ENOENT"),
                          ("keys", 2, "BLOOMFILE_EMAGIC"), ("filter", 0, None)])

    def test_file_names_are_valid_json(self):
        for name, text in (("ünïcödé ☃", "ünïcödé ☃"), ('qu"ote\\', r'qu"ote\134'), ("new\nline", r"new\012line"),
                           ("\x1b[31m", r"\033[31m"), ("\u009b", r"\302\233")):
            self.write(name, self.read("filter"))
            for locale in "C", "C.UTF-8":
                self.assertEqual(self.report(name, locale=locale)["file"], text)
        self.write("caf\udce9", self.read("filter"))
        self.assertEqual(self.report("caf\udce9")["file"], r"caf\351")

    def test_labels_are_valid_json(self):
        for label in "ünïcödé ☃ 🌸", 'qu"ote', "</script>", "x" * 112:
            self.write("filter", file_form("blocked", 512, 6, label=label))
            for locale in "C", "C.UTF-8":
                self.assertEqual(self.report("filter", locale=locale)["header"]["label"], label)

    def test_bytes_of_any_label_can_be_recovered(self):
        """The manual promises it: a byte is a backslash and three octal digits, and a backslash is escaped too."""
        text = "".join((SOURCE_ROOT / "man" / "bfinspect.1").read_text().splitlines(keepends=True))
        self.assertIn("\n.Ql \\eooo ,\na backslash and three octal digits", text)
        image = file_form("blocked", 512, 6, label="x")
        for label in (b"\\", b"\\033", b"\x1b", b"a\\134b", b"\xff\\377", "\u202e☃\\".encode(),
                      bytes(range(1, 113)), bytes(range(113, 225)), b"\0\0x"):
            self.write("filter", craft.edit(image, at={128: label.ljust(112, b"\0")}))
            out = self.run_tool("bfinspect", "--report", "-", "filter").stdout
            shown = json.loads(out)["header"]["label"].encode()
            self.assertNotRegex(shown, rb"[\x00-\x1f\x7f]")
            back = re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), shown)
            self.assertEqual(back, label)

    def test_different_names_give_different_texts(self):
        """The bytes of a file name, like those of a label, can be recovered. So can those of a missing key."""
        image = file_form("blocked", 512, 6)
        names = [b"a\xff", b"a\\377", b"a\\134377", b"\\", b"a\n", b"a\\012", "é☃".encode()]
        names = [name for name in names if self.can_be_named(os.fsdecode(name))]
        shown = []
        for name in names:
            (self.folder / os.fsdecode(name)).write_bytes(image)
            self.write("keys", name.replace(b"\n", b"\r") + b"\n")
            report = json.loads(self.run_tool("bfinspect", "--report", "-", "--as-is", "--keys", "keys", os.fsdecode(name)).stdout)
            shown.append(report["file"])
            for text, data in (report["file"], name), (report["keys"]["first_missing"][0], name.replace(b"\n", b"\r")):
                back = re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), text.encode())
                self.assertEqual(back, data)
        self.assertEqual(len(set(shown)), len(names))

    def test_control_characters_in_labels_are_escaped(self):
        for name in ("label-escape", "label-newline", "label-last-c1", "label-latin-1",
                     "label-after-a-zero", "label-delete"):
            for words in ["--report", "-"], [], ["-H"]:
                result = self.run_tool("bfinspect", *words, REFUSED / f"{name}.bloom")
                self.assertNotRegex(result.stdout, rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
                result.stdout.decode("utf-8")


class Verify(InspectTest):
    def test_sound_file_is_verified(self):
        self.assertIn("verified", self.page("--verify", "filter"))
        self.assertTrue(self.report("--verify", "filter")["verified"])
        self.assertFalse(self.report("filter")["verified"])

    def test_damaged_pages_are_named_and_counted(self):
        image = file_form("blocked", 5 * 64 * 512, 6, KEYS)
        bad = craft.flip(craft.flip(image, 4096 + 2 * 4096 + 9), 4096 + 4 * 4096 + 4095, 7)
        self.write("bad", bad)
        report = self.report("--verify", "bad")
        self.assertEqual((report["error"], report["bad_pages"]), ("BLOOMFILE_EPAGE", 2))
        fault = report["faults"][0]
        self.assertEqual((fault["error"], fault["field"], fault["page"], fault["offset"]),
                         ("BLOOMFILE_EPAGE", "page", 2, 3 * 4096))
        page = self.run_tool("bfinspect", "--verify", "bad").stdout.decode().splitlines()
        self.assertEqual(page[0], "bad: damaged: page 2 (2 of 5 pages bad)")
        self.assertIn("  body          2 of 5 pages bad, the first at byte 12288", page)
        command = self.command("bfinspect", "--verify", "bad")
        both = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder, check=False).stdout
        self.assertEqual(both.decode().splitlines(), page)  # the message would only repeat the page

    def test_lost_bit_is_detected_without_verify(self):
        """Section 12.4 sets the order: the page is reported before the sums."""
        at = self.first_byte_with_a_one()
        self.write("bad", craft.flip(self.read("filter"), at))
        for words in (), ("--verify",):
            report = self.report(*words, "bad")
            self.assertEqual((report["error"], report["verified"], report["bad_pages"]),
                             ("BLOOMFILE_EPAGE", False, 1))
            self.assertEqual(report["faults"][-1]["page"], (at - 4096) // 4096)

    def test_wrong_totals_are_detected_without_verify(self):
        for words in (), ("--verify",):
            report = self.report(*words, REFUSED / "ones-too-few.bloom")
            self.assertEqual((report["error"], report["faults"][-1]["field"]),
                             ("BLOOMFILE_EBODY", "ones"))

    def first_byte_with_a_one(self):
        data = self.read("filter")
        return next(i for i in range(4096, len(data)) if data[i])

    def test_verify_names_the_wrong_part_of_the_body(self):
        for name, field in (("body-crc-wrong", "body_crc"), ("ones-too-few", "ones"),
                            ("overflow-too-many", "overflow"), ("bit-beyond-m-counted", "padding"),
                            ("counter-beyond-m", "padding")):
            report = self.report("--verify", REFUSED / f"{name}.bloom")
            self.assertEqual((report["error"], report["faults"][-1]["field"]),
                             ("BLOOMFILE_EBODY", field))


    def test_report_does_not_depend_on_threads(self):
        self.create("-q", "-n", "2e7", name="good", stdin=lines(*KEYS))
        bad = bytearray(self.read("good"))
        for page in 5000, 3000, 1023:
            bad[4096 * (page + 1)] ^= 1
        self.write("bad", bytes(bad))
        for name in "good", "bad":
            reports = [self.report("--verify", *words, name)
                       for words in ([], ["--threads", "1"], ["--threads=2"], ["--threads=1024"])]
            for report in reports:
                self.assertEqual(report, reports[0])
        self.assertEqual((reports[0]["faults"][0]["page"], reports[0]["bad_pages"]), (1023, 3))


class Keys(InspectTest):
    def test_present_keys_are_confirmed(self):
        self.assertIn("all present", self.page("--keys", "keys", "filter"))
        self.assertEqual(self.report("--keys", "keys", "filter")["keys"],
                         {"checked": 300, "own": 300, "missing": 0, "first_missing": []})
        self.assertIsNone(self.report("filter")["keys"])

    def test_missing_keys_are_counted_and_listed(self):
        others = [b"no 1", b"no \x1b[2J", b"\xff\x00", "né".encode(), b"no " + b"x" * 500, b"no 6"]
        self.write("list", lines(*KEYS[:10], *others))
        self.write("roomy", file_form("classic", 20_000, 10, KEYS))
        report = self.report("--as-is", "--keys", "list", "roomy")
        self.assertEqual((report["status"], report["error"]), (1, None))
        keys = report["keys"]
        self.assertEqual((keys["checked"], keys["missing"]), (16, 6))
        self.assertEqual(keys["first_missing"][:4],
                         ["no 1", r"no \033[2J", r"\377\000", "né"])
        self.assertEqual(len(keys["first_missing"]), 5)
        page = self.page("--as-is", "--keys", "list", "roomy", status=1)
        self.assertIn("6 of 16 keys missing", page.splitlines()[0])
        self.assertIn("and 1 more", page)
        self.assertNotRegex(page, r"[\x00-\x09\x0b-\x1f\x7f]")

    def test_keys_come_from_standard_input(self):
        for stdin, missing in (lines(*KEYS), 0), (b"never added\n", 1), (b"", 0):
            keys = self.report("--keys", "-", "filter", stdin=stdin)["keys"]
            self.assertEqual((keys["checked"], keys["missing"]), (stdin.count(b"\n"), missing))

    def test_keys_may_have_any_input_form(self):
        records = [struct.pack(">I", i) for i in range(10)]
        self.write("filter", file_form("classic", 9000, 9, records))
        for words, stdin in ((["-0"], b"\0".join(KEYS[:3])), (["--crlf"], b"a\r\nb\r\n")):
            self.write("strings", file_form("classic", 9000, 9, KEYS[:3] + [b"a", b"b"]))
            self.assertEqual(self.report("--keys", "-", *words, "strings", stdin=stdin)["keys"][
                "missing"], 0)
        keys = self.report("--keys", "-", "-x4", "filter", stdin=b"".join(records) + b"\xff\0\n\1")
        self.assertEqual(keys["keys"], {"checked": 11, "own": 11, "missing": 1,
                                        "first_missing": ["ff000a01"]})

    def test_unreadable_lists_are_errors(self):
        (self.folder / "folder").mkdir()
        for name in "no-such-list", "folder":
            self.trouble("bfinspect", "--keys", name, "filter", names=[name])
        self.trouble("bfinspect", "--keys", "-", "-x7", "filter", stdin=b"12345678",
                     names=["standard input"])

    def test_list_from_a_pipe_cannot_check_two_filters(self):
        os.mkfifo(self.folder / "fifo")
        for name in "-", "fifo":
            self.trouble("bfinspect", "--keys", name, "filter", "filter")
        page = self.page("--keys", "keys", "filter", "filter")
        self.assertEqual(page.count("all present"), 2)


class Verdicts(InspectTest):
    def verdict(self, *arguments):
        return self.report(*arguments)["verdict"]

    def test_filter_over_capacity_is_not_healthy(self):
        self.create("-q", "-n", 100, stdin=lines(*numbered(400)))
        report = self.report("filter.bloom")
        self.assertEqual(report["status"], 1)
        self.assertIn("too many keys", report["verdict"])
        self.assertIn("400", report["verdict"])
        self.assertTrue(report["advice"])
        self.page("filter.bloom", status=1)

    def test_filter_over_its_rate_is_not_healthy(self):
        self.create("-q", "-m", 1024, "-p", "0.0001", stdin=lines(*numbered(300)))
        self.assertIn("rate above target", self.verdict("filter.bloom"))

    def test_sound_filter_of_any_seed_keeps_a_low_rate(self):
        """A few crowded blocks determine such a rate, so it varies by half."""
        keys = lines(*numbered(100_000))
        for seed in range(40):
            self.create("-q", "-f", "-p", "1e-9", "-s", seed, stdin=keys)
            self.assertEqual(self.verdict("filter.bloom"), "healthy header and fill, body not verified", seed)

    def test_filter_with_half_the_bits_does_not_keep_a_low_rate(self):
        self.create("-q", "-m", 804_864, "-k", 22, "-p", "1e-9", "-n", 20_000, stdin=lines(*numbered(20_000)))
        self.assertIn("rate above target", self.verdict("filter.bloom"))

    def test_file_that_is_not_a_filter_is_an_error(self):
        for name, words in (("empty", "empty"), ("text", "not a filter file"),
                            ("zeros", "not a filter file"), ("version-2", "newer format"),
                            ("incompat-bit-31", "bit 31"), ("textmode-crlf-to-lf", "text-mode"),
                            ("truncated-to-576", "4 of 580 bytes missing"),
                            ("trailing-byte", "1 extra byte"), ("poisoned", "poisoned"),
                            ("live", "unclean"), ("live-clean", "live, clean"), ("k-65", "k")):
            self.assertIn(words, self.verdict(REFUSED / f"{name}.bloom"))

    def test_advice_for_several_filters_in_a_file_keeps_all_keys(self):
        for key in "a", "b":
            self.create("-q", "-n", 100, stdin=lines(key), name=key)
        self.write("images", self.read("a") + self.read("b"))
        message = self.run_tool("bfinspect", "-q", "images").stderr.decode()
        self.assertIn("another filter follows; to merge them all: bfmerge DEST - <FILE\n", message)
        self.output("bfmerge", "both", "-", stdin=self.read("images"))
        self.assertEqual(self.query("both", stdin=lines("a", "b")), [b"a", b"b"])

    def test_advice_for_filters_that_cannot_be_merged_keeps_the_first(self):
        """A ribbon filter, another number of hashes, a slice, a live filter, a series, and bytes that are not a filter."""
        image = self.create("-q", "-n", 100, stdin=lines("a"), name="a")
        others = {name: self.create("-q", *options, stdin=lines("a"), name=name)
                  for name, options in (("ribbon", ["-l", "ribbon"]), ("hashes", ["-n", 100, "-k", 3]),
                                        ("slice", ["-n", 10_000, "--slice", "1/2"]))}
        for name, options in ("live", ["-n", 100]), ("series", ["--grow", "-n", 100]):
            self.create_live(*options, name=name)
            self.output("bfadd", "-q", name, stdin=lines("a"))
            others[name] = self.read(name)
        self.output("bfseal", "-q", "series", "sealed")
        others["sealed"] = self.read("sealed")
        files = {f"{name}-{name}": [other, other] for name, other in others.items() if name != "hashes"}
        files.update({f"{name}-a": [other, image] for name, other in others.items()})
        files.update({f"a-a-{name}": [image, image, other] for name, other in others.items()})
        files.update({"magic": [image, image[:8]], "magic-page": [image, image[:8] + bytes(4088)],
                      "text": [image, image, b"a"], "cut": [image, image, image[:-1]]})
        for name, parts in files.items():
            with self.subTest(name):
                self.write(name, b"".join(parts))
                self.assertIn(f"extract the filter: head -c {len(parts[0])} FILE >COPY",
                              self.run_tool("bfinspect", "-q", name).stderr.decode())
                self.trouble("bfmerge", "merged", "-", stdin=self.read(name))

    def test_truncated_filter_with_a_wrong_record_is_not_called_less_than_a_header(self):
        image = (REFUSED / "state-4.bloom").read_bytes()
        self.write("cut", image[:-1])
        self.assertEqual(self.verdict("cut"), f"truncated: 1 of {len(image)} bytes missing")

    def test_exit_status_is_the_worst_of_all_files(self):
        self.create("-q", "-n", 100, stdin=lines(*numbered(400)), name="crowded")
        for names, status in ((["filter"], 0), (["filter", "crowded"], 1),
                              (["crowded", "filter"], 1),
                              (["keys", "crowded"], 2), (["filter", "keys", "filter"], 2)):
            self.assertEqual(self.run_tool("bfinspect", *names).returncode, status)


class Trouble(InspectTest):
    def test_wrong_command_lines_are_refused(self):
        self.trouble("bfinspect")
        for words in (["-Y"], ["--nonsense"], ["--keys"], ["-0"], ["-x4"], ["--crlf"], ["--svg"],
                      ["--quick", "--verify"], ["--verify", "--threads", "0"],
                      ["--verify", "--threads", "1025"], ["--quick", "--map"], ["--report", "-", "-H"], ["--report", "-", "--map"],
                      ["-q", "--report", "-"], ["-q", "-H"], ["-f"], ["--report="],
                      ["--keys", "keys", "-0", "-x4"], ["--keys", "keys", "-x0"],
                      ["--svg", "-", "--report", "-"], ["--png", "image"], ["--svg", "x", "filter"]):
            with self.subTest(words):
                self.trouble("bfinspect", *words, "filter")

    def test_pipes_folders_and_devices_are_errors(self):
        os.mkfifo(self.folder / "fifo")
        (self.folder / "folder").mkdir()
        for name, words in (("fifo", "FIFO"), ("folder", "directory"), ("/dev/null", "device"),
                            ("/dev/zero", "device"), ("no-such-file", "No such file"),
                            ("", "No such file"), ("filter/x", "Not a directory")):
            self.assertIn(words, self.trouble("bfinspect", name, names=[name]))

    @needs(*UNPRIVILEGED)
    def test_unreadable_file_is_an_error(self):
        (self.folder / "filter").chmod(0)
        self.assertIn("Permission denied",
                      self.trouble("bfinspect", "filter", names=["filter"], before=UNPRIVILEGED))

    def test_full_or_closed_standard_output_is_an_error(self):
        for words in (["filter"], ["--report", "-", "filter"], ["--map", "filter"], ["--help"],
                      ["--version"]):
            with open("/dev/full", "wb") as full:
                result = self.run_tool("bfinspect", *words, stdout=full)
            self.assertEqual(result.returncode, 2, words)
            self.check_message("bfinspect", result.stderr, "standard output")
            result = self.run_tool("bfinspect", *words, stdout=None,
                                   preexec_fn=lambda: os.close(1))
            self.assertEqual(result.returncode, 2, words)
            self.check_message("bfinspect", result.stderr, "standard output")

    def test_closed_input_or_standard_error_does_not_matter(self):
        for closed in 0, 2:
            result = self.run_tool("bfinspect", "filter", stdin=None,
                                   preexec_fn=lambda: os.close(closed))
            self.assertEqual((result.returncode, bool(result.stdout)), (0, True))

    def test_file_truncated_during_the_read_is_an_error(self):
        self.write("big", file_form("classic", 8 * 4096 * 8, 9, KEYS))
        environment = self.environment()
        process = subprocess.Popen(self.command("bfinspect", "--report", "-", "--keys", "-", "big"),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.folder, env=environment)
        process.stdin.write(lines(KEYS[0]))
        process.stdin.flush()
        waiting = array.array("i", [1])
        while waiting[0]:  # once the key has been read, the file is open
            fcntl.ioctl(process.stdin, termios.FIONREAD, waiting)
        os.truncate(self.folder / "big", 0)
        out, message = process.communicate(lines(*KEYS), timeout=TIMEOUT)
        self.assertEqual(process.returncode, 2, message)
        self.assertEqual(json.loads(out)["error"], "EIO")
        self.check_message("bfinspect", message, "big", "shrank")

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_file_truncated_during_verification_is_an_error(self):
        for threads in 1, 2, 5:
            self.create("-q", "-f", "-n", "2e7", name="big", stdin=lines(*KEYS))
            result = self.run_tool("bfinspect", "--report", "-", "--verify", "--threads", threads, "big",
                                   env={"LD_PRELOAD": os.environ["FAILING_DISK"],
                                        "DISK_SHRINKS": "big"})
            report = json.loads(result.stdout)
            self.assertEqual((result.returncode, report["error"]), (2, "EIO"), result)
            self.assertEqual((report["verified"], report["faults"]), (False, []))
            self.check_message("bfinspect", result.stderr, "big", "shrank")

    def test_closed_standard_input_as_a_key_list_is_an_error(self):
        self.trouble("bfinspect", "--keys", "-", "filter", stdin=None, names=["standard input"],
                     preexec_fn=lambda: os.close(0))

    def test_control_characters_in_names_are_shown_harmlessly(self):
        for name in "\x1b[2J", "new\nline", "\u009b2J", "\udcff":
            for locale in "C", "C.UTF-8":
                self.trouble("bfinspect", name, locale=locale)
                self.write(name, self.read("filter"))
                page = self.output("bfinspect", name, locale=locale)
                self.assertNotRegex(page, rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xff")
                (self.folder / name).unlink()


if __name__ == "__main__":
    main()
