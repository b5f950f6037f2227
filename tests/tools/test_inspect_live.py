# SPDX-License-Identifier: MIT
"""bfinspect on live filters: their state, and conclusions from their bits."""

import re

from support import TIMEOUT, ToolTest, craft, lines, main, numbered

KEYS = numbered(300)
OTHER_BOOT = bytes(range(16))


class LiveTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.create_live("-n", 300, "-p", 0.013)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.write("keys", lines(*KEYS))

    def page(self, *words, name="live", status=0):
        return self.output("bfinspect", *words, name, status=status).decode()


class States(LiveTest):
    def test_clean_filter_is_reported_as_clean(self):
        report = self.inspected("live")
        self.assertEqual((report["verdict"], report["status"], report["ok"], report["error"]),
                         ("live, clean", 0, True, None))
        self.assertEqual(report["live"], {"in_use": False, "unclean": False})
        self.assertEqual((report["record"]["state"], report["record"]["writers"],
                          report["record"]["boot_id"]), ("live", 0, "00" * 16))
        self.assertIn("bfseal", report["advice"])
        page = self.page().splitlines()
        self.assertEqual(page[0], "live: live, clean")
        for row in (r"  keys          \d+ recorded, \d+ estimated from the one bits, sized for 300",
                    r"  fill          [\d.]+%",
                    r"  actual rate   [\d.]+%, computed from all bits",
                    r"  target rate   1.3%",
                    r"  body          without checksums until it is sealed",
                    r"  state         live", r"  writers       0"):
            self.assertTrue(any(re.fullmatch(row, line) for line in page), (row, page))

    def test_filter_with_writers_is_reported_as_in_use(self):
        writers = [self.start("bfadd", "live") for _ in range(2)]
        for number, writer in enumerate(writers):
            self.feed(writer, "new %d" % number)
            self.wait_for_key("live", "new %d" % number, writer)
        report = self.inspected("live")
        self.assertEqual((report["verdict"], report["status"]),
                         ("live: open for writing by 2 programs", 0))
        self.assertEqual(report["record"]["writers"], 2)
        self.result(writers.pop())
        self.assertEqual(self.page().splitlines()[0], "live: live: open for writing by 1 program")
        self.result(writers.pop())
        self.assertEqual(self.page().splitlines()[0], "live: live, clean")

    def test_killed_writer_is_reported(self):
        writer = self.start("bfadd", "live")
        self.feed(writer, "new")
        self.wait_for_key("live", "new", writer)
        writer.kill()
        writer.wait(TIMEOUT)
        report = self.inspected("live")
        self.assertEqual((report["verdict"], report["status"], report["live"]["in_use"]),
                         ("live: its last writer was killed", 1, False))
        self.assertIn("bfadd FILE </dev/null", report["advice"])
        self.assertRegex(self.page(status=1), "writers +1, killed")
        self.output("bfadd", "-q", "live")
        self.assertEqual(self.inspected("live")["verdict"], "live, clean")

    def test_unclean_filter_is_an_error_with_a_remedy(self):
        self.write("live", craft.edit(self.read("live"), record={"boot_id": OTHER_BOOT}))
        message = self.trouble("bfinspect", "-q", "live")
        self.assertEqual(message, "bfinspect: live: unclean: the machine crashed, or a writer was "
                                  "killed during a sync; add the keys since the last sync again (bfadd "
                                  "--accept-unclean), or rebuild it\n")
        report = self.inspected("live")
        self.assertEqual((report["error"], report["status"], report["measure"], report["live"]),
                         ("BLOOMFILE_EUNCLEAN", 2, None, {"in_use": False, "unclean": True}))
        report = self.inspected("live", "--accept-unclean", "--keys", "keys")
        self.assertEqual((report["error"], report["status"], report["keys"]["missing"]),
                         (None, 1, 0))
        self.assertIn("live, unclean", report["verdict"])
        self.assertIn("--accept-unclean", report["advice"])
        self.assertGreater(report["measure"]["ones"], 0)

    def test_unclean_filter_is_reported_while_a_writer_has_it_open(self):
        self.write("live", craft.edit(self.read("live"), record={"boot_id": OTHER_BOOT}))
        writer = self.start("bfadd", "--accept-unclean", "live")
        self.feed(writer, "new")
        self.until(lambda: self.run_tool("bfquery", "-q", "--accept-unclean", "live", stdin=b"new\n").returncode == 0, writer)
        report = self.inspected("live", "--accept-unclean")
        self.assertIn("live, unclean: the machine crashed", report["verdict"])
        self.assertEqual((report["status"], report["live"]), (1, {"in_use": True, "unclean": True}))
        self.result(writer)
        self.assertEqual(self.inspected("live")["verdict"], "live, clean")

    def test_poisoned_filter_is_an_error(self):
        self.write("live", craft.edit(self.read("live"), record={"state": craft.POISONED}))
        for words in [], ["--accept-unclean"]:
            report = self.inspected("live", *words)
            self.assertEqual((report["error"], report["status"], report["live"]),
                             ("BLOOMFILE_EPOISONED", 2, None))
            self.assertIn("poisoned", report["verdict"])
            self.assertIn("rebuild it", report["advice"])


class Bits(LiveTest):
    def test_measurements_equal_those_of_a_sealed_copy(self):
        for layout in "blocked", "classic", "counting":
            self.create_live("-f", "-n", 300, "-l", layout)
            self.output("bfadd", "-q", "live", "keys")
            self.output("bfseal", "live", "copy", "-f", "--discard")
            for words in [], ["--keys", "keys"]:
                live, copy = (self.inspected(name, *words) for name in ("live", "copy"))
                for part in "measure", "keys", "header":
                    self.assertEqual(live[part], copy[part])

    def test_lost_bits_are_detected_by_their_count(self):
        """Once all writers have left in order, the recorded number is exact in every layout."""
        for layout in "blocked", "classic", "counting":
            self.create_live("-f", "-n", 20_000, "-l", layout)
            for writers in 1, 3:
                crowd = [self.start("bfadd", "-q", *exact, "live")
                         for exact in [[], ["--exact"], []][:writers]]
                keys = [numbered(3000, f"{writers} {i % 2} ") for i in range(writers)]
                for writer, added in zip(crowd, keys):
                    self.assertEqual(self.result(writer, lines(*added))[0], 0)
                if layout == "counting":
                    self.output("bfadd", "-q", "--remove", "live", stdin=lines(*keys[0][:999]))
                self.assertEqual(self.inspected("live")["verdict"], "live, clean")
            image = bytearray(self.read("live"))
            ones = self.inspected("live")["record"]["ones"]
            for damage in "page", "bit":
                start = 4096 + 4096 * (damage == "page")
                size = 4096 if damage == "page" else 1
                while damage == "bit" and image[start] == 0:
                    start += 1
                image[start:start + size] = bytes(size)
                self.write("damaged", bytes(image))
                there = self.inspected("damaged")["measure"]["ones"]
                self.assertLess(there, ones)
                message = self.trouble("bfinspect", "-q", "damaged")
                self.assertEqual(message, "bfinspect: damaged: damaged: the body contradicts the "
                                          f"header's ones ({ones} recorded, {there} there); restore the file from a copy, or rebuild it\n")
                self.assertEqual(self.inspected("damaged")["error"], "BLOOMFILE_EBODY")

    def test_bit_beyond_m_is_an_error(self):
        for layout in "blocked", "classic", "counting":
            self.create_live("-f", "-n", 9, "-m", 1024 if layout == "blocked" else 1001, "-l", layout)
            bits = 4004 if layout == "counting" else 1024 if layout == "blocked" else 1001
            image = self.read("live")
            for bit in bits - 1, bits, 8 * 4096 - 1:
                self.write("damaged", craft.flip(image, 4096 + bit // 8, bit % 8))
                report = self.inspected("damaged")
                self.assertEqual(report["error"], "BLOOMFILE_EBODY")
                self.assertEqual(report["faults"][0]["field"], "ones" if bit < bits else "padding")
                self.assertEqual(report["verdict"].endswith("the body has one bits beyond m"), bit >= bits)

    def test_outdated_count_of_bits_is_not_a_fault(self):
        """The filter is open or was not closed, or counts were lost before."""
        for words in ({"ones": 3, "flags": 1}, {"ones": 700, "flags": 1}):
            self.write("other", craft.edit(self.read("live"), record=words))
            report = self.inspected("other")
            self.assertEqual((report["verdict"], report["faults"]), ("live, clean", []))
            self.assertNotEqual(report["measure"]["ones"], words["ones"])
        writer = self.start("bfadd", "--overfull", "live")
        self.feed(writer, *numbered(100, "new "))
        self.wait_for_key("live", "new 99", writer)
        for kill in False, True:
            if kill:
                writer.kill()
                writer.wait(TIMEOUT)
            report = self.inspected("live")
            self.assertEqual((report["status"], report["faults"]), (1, []))
            self.assertNotEqual(report["measure"]["ones"], report["record"]["ones"])
        self.output("bfadd", "-q", "live")
        self.assertEqual(self.inspected("live")["faults"], [])
        self.assertTrue(self.inspected("live")["record"]["n_estimated"])

    def test_verify_reports_that_a_live_filter_has_no_checksums(self):
        report = self.inspected("live", "--verify")
        self.assertEqual((report["verified"], report["status"], report["faults"]), (False, 1, []))
        self.assertEqual(report["verdict"], "live, clean; not verified, it has no checksums")
        self.assertIn("without checksums until it is sealed", self.page("--verify", status=1))

    def test_only_a_filter_over_capacity_is_unhealthy(self):
        self.create_live("-f", "-n", 300)
        self.assertEqual((self.inspected("live")["verdict"], self.inspected("live")["status"]), ("live, clean", 0))
        self.create_live("-f", "--bits", 512, "-k", 4)
        self.output("bfadd", "-q", "--overfull", "live", stdin=lines(*numbered(2000)))
        report = self.inspected("live")
        self.assertRegex(report["verdict"], r"^live, clean; too many keys")
        self.assertEqual(report["status"], 1)

    def test_quick_does_not_read_the_body(self):
        page = self.page("--quick")
        self.assertEqual(page.splitlines()[0], "live: live, clean")
        self.assertNotIn("fill", page)
        self.assertIsNone(self.inspected("live", "--quick")["measure"])

    def test_saturated_counters_are_reported(self):
        self.create_live("-f", "-n", 300, "-l", "counting")
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:2] * 20))
        overflow = self.inspected("live")["record"]["overflow"]
        self.assertGreater(overflow, 5)
        self.assertRegex(self.page(), rf"overflow +{overflow} counters stuck at 15")

    def test_filter_over_capacity_is_reported(self):
        self.output("bfadd", "-q", "--overfull", "live", stdin=lines(*numbered(900)))
        report = self.inspected("live")
        self.assertRegex(report["verdict"],
                         r"^live, clean; too many keys: \d+ in a filter sized for 300; "
                         r"actual rate [\d.]+%, target 1.3%$")
        self.assertIn("--capacity", report["advice"])

    def test_missing_keys_are_counted(self):
        self.write("list", lines(*KEYS[:5], b"never added"))
        report = self.inspected("live", "--keys", "list")
        self.assertEqual((report["verdict"], report["status"]),
                         ("live, clean; 1 of 6 keys missing", 1))

    def test_map_and_image_of_a_live_filter_are_drawn(self):
        self.output("bfinspect", "--map", "--svg", "image", "live")
        self.assertIn(b"<svg", self.read("image"))

    def test_record_being_written_is_not_reported_as_damage(self):
        """A record that is being written must not be reported as damage."""
        keys = numbered(3000)
        self.create_live("-f", "-n", 3000)
        self.write("many", lines(*keys))
        writer = self.start("bfadd", "-q", "--sync", 1, "live", "many")
        seen = []
        while writer.poll() is None:
            report = self.inspected("live", "--quick")
            self.assertEqual((report["error"], report["faults"]), (None, []), report)
            seen.append(report["record"]["n"])
        self.assertEqual(seen, sorted(seen))
        self.assertEqual(self.result(writer)[0], 0)


if __name__ == "__main__":
    main()
