# SPDX-License-Identifier: MIT
"""bfinspect of series: each layer and the sum, live and sealed, sound and damaged."""

import array
import fcntl
import json
import os
import pathlib
import re
import termios

from support import REFUSED, ToolTest, craft, lines, main, numbered

KEYS = numbered(5000)


class InspectSeries(ToolTest):
    def setUp(self):
        super().setUp()
        self.create_live("--grow", "-n", 500)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.output("bfseal", "-q", "live", "sealed")

    def page(self, *words, status=0, says=b""):
        return self.output("bfinspect", *words, status=status, says=says).decode()

    def bad(self, *words):
        """The page and the message about a series that cannot be used."""
        result = self.run_tool("bfinspect", *words)
        self.assertEqual(result.returncode, 2)
        self.check_message("bfinspect", result.stderr)
        return result.stdout.decode(), result.stderr.decode()

    def test_live_series_is_described(self):
        page = self.page("live")
        self.assertTrue(page.startswith("live: live, clean\n"))
        for row in (r"series +it grows, 4 layers so far", r"keys +[\d,]+ recorded, .*, sized for"
                    r" 7,500 so far", r"actual rate +0\.\d+%, computed", r"target rate +1%",
                    r"k +7 to 9", r"size +36\.\d KiB, body [\d.]+ KiB in 5 pages"):
            self.assertRegex(page, f"(?m)^  {row}")
        table = re.findall(r"(?m)^ +(\d) +(live\S*) +([\d,]+) +([\d,]+) .* +clean$", page)
        self.assertEqual([row[:2] for row in table],
                         [("0", "live"), ("1", "live.1"), ("2", "live.2"), ("3", "live.3")])
        self.assertEqual([row[3] for row in table], ["500", "1,000", "2,000", "4,000"])
        self.assertIn("bfseal FILE COPY", page)

    def test_sums_equal_those_of_the_layers(self):
        for name in "live", "sealed":
            report = self.inspected(name)
            layers = report["layers"]
            self.assertEqual([layer["layer"] for layer in layers], [0, 1, 2, 3])
            for key in "n", "ones":
                self.assertEqual(report["record"][key], sum(layer[key] for layer in layers))
            sure = 1
            for layer in layers:
                self.assertEqual(layer["measure"]["ones"], layer["ones"])
                self.assertIsNone(layer["error"])
                sure *= 1 - layer["measure"]["fpr"]
            self.assertAlmostEqual(report["measure"]["fpr"], 1 - sure, 12)
            self.assertLess(report["measure"]["fpr"], 0.01)
            self.assertEqual(report["measure"]["ones"], report["record"]["ones"])
            self.assertAlmostEqual(report["measure"]["keys_estimate"], report["record"]["n"],
                                   delta=100)
        self.assertEqual([pathlib.Path(layer["file"]).name for layer in self.inspected("live")["layers"]],
                         ["live", "live.1", "live.2", "live.3"])
        report = self.inspected("live")
        self.assertEqual(report["size"], sum(layer["size"] for layer in report["layers"]))
        self.create("-q", name="one", stdin=lines("a"))
        self.assertIsNone(self.inspected("one")["layers"])

    def test_sealed_series_is_described_and_verified(self):
        self.assertTrue(self.page("sealed").startswith(
            "sealed: healthy header and fill, body not verified\n"))
        page = self.page("--verify", "sealed")
        self.assertTrue(page.startswith("sealed: healthy\n"))
        self.assertRegex(page, r"(?m)^  series +4 layers, sealed$")
        self.assertRegex(page, r"(?m)^  body +verified, all 5 pages good$")
        self.assertEqual(len(re.findall(r"(?m) good$", page)), 5)
        report = self.inspected("sealed", "--verify")
        self.assertTrue(report["verified"])
        end = 0
        for layer in report["layers"]:
            self.assertEqual((layer["offset"], layer["file"], layer["verified"]),
                             (-(-end // 4096) * 4096, None, True))
            end = layer["offset"] + layer["size"]
        self.assertEqual((report["size"], end), (end, len(self.read("sealed"))))

    def test_quick_does_not_read_the_bodies(self):
        page = self.page("--quick", "live")
        self.assertIn("not measured", page)
        self.assertTrue(self.page("--quick", "sealed").startswith(
            "sealed: healthy header, body not read\n"))
        self.assertIsNone(self.inspected("sealed", "--quick")["layers"][1]["measure"])

    def test_keys_are_checked_in_all_layers(self):
        self.write("keys", lines(*KEYS))
        for name in "live", "sealed":
            self.assertRegex(self.page("--keys", "keys", name),
                             r"(?m)^  keys checked  5,000, all present$")

    def test_the_header_has_the_fields_of_a_layer(self):
        page = self.page("-H", "live")
        for row in r"240  series +0x[0-9a-f]{16}", r"248  layer +0", r"280  series_fpr +0\.01":
            self.assertRegex(page, f"(?m)^ +{row}$")

    def test_forgetting_series_is_described(self):
        self.create_live("--generations", 4, "--every", "2d", "-n", 1000, name="week")
        self.output("bfadd", "-q", "week", stdin=lines(*KEYS[:1500]))
        page = self.page("week")
        self.assertRegex(page, r"(?m)^  series +it forgets, 2 of 4 generations, number 0 to 1$")
        self.assertRegex(page, r"(?m)^  a generation +2 days at most, the last one since 20\d\d-.* UTC$")
        self.output("bfadd", "-q", "week", stdin=lines(*KEYS, *numbered(3000, "more ")))
        page = self.page("week")
        self.assertRegex(page, r"(?m)^  series +it forgets, 4 of 4 generations, number \d to \d$")
        self.assertTrue(page.startswith("week: live, clean\n"), page)

    def test_series_with_writers_is_reported_as_in_use(self):
        writer = self.start("bfadd", "--sync", 1, "live")
        self.feed(writer, "new")
        self.wait_for_key("live", "new", writer)
        page = self.page("live")
        self.assertTrue(page.startswith("live: live: open for writing by 1 program\n"), page)
        self.assertRegex(page, r"(?m) live\.3 .* open for writing$")
        self.assertTrue(self.inspected("live")["live"]["in_use"])
        self.assertEqual(self.result(writer)[0], 0)
        self.assertTrue(self.page("live").startswith("live: live, clean\n"))

    def test_killed_writer_is_reported(self):
        writer = self.start("bfadd", "live")
        self.feed(writer, *numbered(3000, "more "))
        self.wait_for_key("live", "more 2999", writer)
        writer.kill()
        writer.wait()
        self.assertTrue(self.page("live", status=1).startswith(
            "live: live: its last writer was killed\n"))

    def test_map_is_drawn_for_each_layer(self):
        page = self.page("--map", "sealed")
        self.assertEqual(re.findall(r"(?m)^  layer (\d)$", page), ["0", "1", "2", "3"])
        self.assertEqual(page.count("  glyphs "), 4)
        message = self.trouble("bfinspect", "-q", "--svg", "image.svg", "sealed")
        self.assertIn("no image written: it is a series of layers", message)

    def test_single_file_of_a_series_is_refused(self):
        page, message = self.bad("live.2")
        says = "live.2: layer 2 of a growing series of files, not a filter by itself"
        self.assertTrue(page.startswith(says + "\n"))
        self.assertEqual(message, f"bfinspect: {says}; inspect the first file of the series: bfinspect live\n")
        self.assertIn("the rest describes layer 2 only", page)
        report = self.inspected("live.2")
        self.assertEqual((report["error"], report["status"], report["header"]["layer"]),
                         ("BLOOMFILE_ESERIES", 2, 2))
        (self.folder / "live.2").rename(self.folder / "moved")
        self.assertIn("restore its name", self.bad("moved")[1])

    def test_missing_or_foreign_file_is_an_error(self):
        (self.folder / "live.2").rename(self.folder / "away")
        says = "cannot be opened: its layer live.2 is missing"
        page, message = self.bad("live")
        self.assertTrue(page.startswith(f"live: {says}"))
        self.assertIn(says, message)
        self.assertEqual(self.inspected("live")["error"], "BLOOMFILE_EMISSINGLAYER")
        self.write("live.2", self.read("live.1"))
        self.assertIn("its layer live.2 is layer 1, not 2", self.bad("live")[1])
        (self.folder / "away").rename(self.folder / "live.2")
        self.page("live")

    def test_damaged_layer_is_named(self):
        image = self.read("sealed")
        second, third = (layer["offset"] for layer in self.inspected("sealed")["layers"][1:3])
        at = second + 4096
        self.write("bad", image[:at] + bytes(256) + image[at + 256:])
        for words in [], ["--verify"]:
            page, message = self.bad(*words, "bad")
            self.assertIn("bad: damaged: page 0 of layer 1 (1 of 5 pages bad)", page)
            self.assertRegex(page, r"(?m)^ +1 .* 1 of 1 page bad$")
        report = self.inspected("bad", "--verify")
        self.assertEqual([layer["error"] for layer in report["layers"]],
                         [None, "BLOOMFILE_EPAGE", None, None])
        self.assertEqual(report["faults"][0]["offset"], at)
        both = bytearray(image)
        both[at] ^= 1
        both[third + 4096] ^= 1
        self.write("worse", bytes(both))
        report = self.inspected("worse", "--verify")
        self.assertEqual((report["bad_pages"], len(report["faults"])), (2, 2))
        self.assertIn("page 0 of layer 1 (2 of 5 pages bad)", report["verdict"])
        header = bytearray(image)
        header[third + 100] ^= 1
        self.write("header", bytes(header))
        self.assertIn(f"cannot be opened: its layer 2, at byte {third}: ", self.bad("header")[1])

    def test_lost_bits_of_a_live_layer_are_detected(self):
        image = self.read("live.1")
        self.write("live.1", image[:4096] + bytes(64) + image[4160:])
        self.assertIn("live: damaged: the body of layer 1 contradicts the header's ones (",
                      self.bad("live")[1])

    def test_layer_without_successor_bit_is_accepted_as_unclean(self):
        for name in "growing-first-of-two", "ring-last-layer-but-one":
            for path in (REFUSED / "live" / f"{name}-is-not-marked").iterdir():
                self.write(path.name, path.read_bytes())
            self.assertIn("try --accept-unclean", self.bad("filter.bloom")[1])
            report = self.inspected("filter.bloom", "--accept-unclean")
            self.assertEqual((report["status"], report["error"]), (1, None))
            self.assertIn("live, unclean: its layer ", report["verdict"])

    def test_boot_of_a_later_layer_is_checked_before_its_name(self):
        self.write("live.1", craft.edit(self.read("live.1"), record={"boot_id": bytes(range(16))}))
        for options, error in ([], "BLOOMFILE_EUNCLEAN"), (["--accept-unclean"], "BLOOMFILE_ESERIES"):
            report = self.inspected("live.1", *options)
            self.assertEqual((report["error"], report["status"]), (error, 2))
            self.assertIn("layer 1 of a growing series of files", report["verdict"])

    def test_truncated_or_extended_series_is_an_error(self):
        image = self.read("sealed")
        self.write("cut", image[:-100])
        self.assertIn(f"cut: truncated: 100 of {len(image)} bytes missing", self.bad("cut")[1])
        self.write("long", image + b"more")
        self.assertIn(f"long: 4 extra bytes at the end; copy it again, or extract the filter: head -c"
                      f" {len(image)} ", self.bad("long")[1])
        first = self.inspected("sealed")["layers"][1]["offset"]
        self.write("first", image[:first])
        self.assertIn(f"{len(image) - first} of {len(image)} bytes missing", self.bad("first")[1])
        self.write("rest", image[first:])
        self.assertIn("it begins with layer 1 of a sealed series", self.bad("rest")[1])

    def test_file_truncated_during_the_read_is_an_error(self):
        for name, file in ("sealed", "sealed"), ("live", "live.2"):
            process = self.start("bfinspect", "--report", "-", "--keys", "-", name)
            self.feed(process, KEYS[0])
            waiting = array.array("i", [1])
            while waiting[0]:  # once the key has been read, the files are open
                fcntl.ioctl(process.stdin, termios.FIONREAD, waiting)
            os.truncate(self.folder / file, 4096)
            status, out, message = self.result(process, lines(*KEYS))
            self.assertEqual((status, json.loads(out)["error"]), (2, "EIO"), message)
            self.check_message("bfinspect", message, name, "shrank")

    def test_flipped_bit_in_the_first_header_is_named(self):
        self.write("flipped", craft.flip(self.read("sealed"), 248))
        self.assertIn("one flipped bit in layer (byte 248)", self.bad("flipped")[1])

    def test_names_of_other_files_are_shown_harmlessly(self):
        for name in "\x1b[2J", "new\nline", "\u009b2J", "\udcff":
            if not self.can_be_named(name):
                continue
            self.create_live("--grow", "-n", 500, name=name)
            self.output("bfadd", "-q", name, stdin=lines(*KEYS))
            (self.folder / (name + ".2")).unlink()
            for locale in "C", "C.UTF-8":
                for words in [name], [name + ".1"]:
                    result = self.run_tool("bfinspect", *words, locale=locale)
                    self.assertEqual(result.returncode, 2)
                    self.assertNotRegex(result.stdout + result.stderr,
                                        rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xff")
                    self.check_message("bfinspect", result.stderr)
                    result = self.run_tool("bfinspect", "--report", "-", *words, locale=locale)
                    self.assertEqual(json.loads(result.stdout.decode())["status"], 2)



if __name__ == "__main__":
    main()
