# SPDX-License-Identifier: MIT
"""bfcreate --live: an empty filter of its final size, or nothing."""

import os

from support import OLD, ToolTest, lines, main, numbered

KEYS = numbered(200)


class Made(ToolTest):
    def test_new_live_filter_is_empty_and_clean(self):
        for words in ["-n", 5000], ["-m", 64_000], ["-n", 300, "-l", "counting"]:
            self.create_live("-f", *words)
            report = self.inspected("live")
            self.assertEqual(report["verdict"], "live, clean")
            self.assertEqual((report["status"], report["error"], report["faults"]), (0, None, []))
            self.assertEqual(report["measure"]["ones"], 0)
            self.assertEqual((report["record"]["n"], report["record"]["ones"]), (0, 0))
            self.assertEqual(self.query("-v", "live", stdin=lines(*KEYS)), KEYS)

    def test_new_live_filter_has_its_final_size_and_all_blocks(self):  # L9
        self.create_live("-m", "10M")
        status = (self.folder / "live").stat()
        report = self.inspected("live", "--quick")
        pages = report["header"]["body_size"] // 4096
        self.assertEqual(status.st_size, 4096 + 4100 * pages)
        self.assertGreaterEqual(512 * status.st_blocks, status.st_size)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.output("bfseal", "-q", "live")
        self.assertEqual((self.folder / "live").stat().st_size, status.st_size)

    def test_options_are_recorded(self):
        self.create_live("-n", 700, "-p", 0.003, "-l", "counting", "-k", 5, "-s", "0x1234",
                         "--label", "seen", "--tag", "a0b1")
        header = self.inspected("live", "--quick")["header"]
        self.assertEqual((header["capacity"], header["fpr"], header["layout"], header["k"],
                          header["seed"], header["label"], header["tag"]),
                         (700, 0.003, "counting", 5, f"{0x1234:016x}", "seen", "a0b1" + "00" * 14))

    def test_size_equals_that_of_a_sealed_filter(self):
        for layout in "blocked", "classic", "counting":
            self.create_live("-f", "-n", 9000, "-p", 0.002, "-l", layout)
            self.create("-q", "-n", 9000, "-p", 0.002, "-l", layout, stdin=lines("a"))
            sealed, live = (self.inspected(name, "--quick")["header"]
                            for name in ("filter.bloom", "live"))
            for field in "m", "k", "body_size", "capacity":
                self.assertEqual(live[field], sealed[field], (layout, field))

    def test_capacity_derived_from_bits_keeps_the_rate(self):
        for words, rate in ([], 0.01), (["-p", 0.001], 0.001), (["-k", 3], 0.01), (
                ["-l", "classic", "-p", 0.05], 0.05):
            with self.subTest(words):
                self.create_live("-f", "-m", 51_200, *words)
                room = self.inspected("live", "--quick")["header"]["capacity"]
                bits = [self.bits_for(keys, rate, *words) for keys in (room, room + 40)]
                self.assertLessEqual(bits[0], 51_200 * 1.006)
                self.assertGreater(bits[1], 51_200)

    def bits_for(self, keys, rate, *words):
        self.create_live("-f", "-n", keys, "-p", rate, *words, name="sized")
        return self.inspected("sized", "--quick")["header"]["m"]

    def test_one_bit_has_capacity_one(self):
        self.create_live("-m", 1, "-l", "classic")
        self.assertEqual(self.inspected("live")["header"]["capacity"], 1)

    def test_force_replaces(self):
        self.create_live("-n", 100)
        self.assertIn("--force", self.trouble("bfcreate", "--live", "-n", 200, "live",
                                              names=["live", "File exists"]))
        self.create_live("-f", "-n", 200)
        self.output("bfadd", "-q", "live", stdin=lines("a"))
        self.trouble("bfcreate", "--live", "-f", "-n", 200, "live", names=["live", "its keys would be lost"])
        self.assertEqual(self.query("live", stdin=lines("a")), [b"a"])
        self.create_live("-f", "--allow-empty", "-n", 200)
        self.assertEqual(self.query("-v", "live", stdin=lines("a")), [b"a"])
        self.assertEqual(self.inspected("live")["record"]["n"], 0)

    def test_summary_prints_capacity_rate_and_size(self):
        for words, says in ((["-n", 1000], b"room for 1000 keys at a false-positive rate of 1%, "
                                           b"8.0 KiB"),
                            (["-n", 1, "-p", 0.5], b"room for 1 key at a false-positive rate of "
                                                   b"50%, 8.0 KiB")):
            self.output("bfcreate", "--live", "-f", "-v", *words, "live",
                        says=b"bfcreate: live: live, %s\n" % says)
            self.output("bfcreate", "--live", "-f", "-vq", *words, "live")

    def test_standard_input_is_not_read(self):
        self.output("bfcreate", "--live", "-n", 10, "live", stdin=None,
                    preexec_fn=lambda: os.close(0))
        with open(self.folder / "live", "rb") as itself:
            self.output("bfcreate", "--live", "-f", "-n", 20, "live", stdin=itself)
        self.assertEqual(self.inspected("live")["header"]["capacity"], 20)


class Trouble(ToolTest):
    def refused(self, *options, names=("live",), **more):
        self.write("old", OLD)
        message = self.trouble("bfcreate", "--live", *options, "live", names=names, **more)
        self.trouble("bfcreate", "--live", "-f", *options, "old", **more)
        return message

    def test_wrong_command_lines_are_refused(self):
        for words, says in ((["-n9", "live", "keys"], "bfadd"), (["-n9", "live", "-"], "bfadd"),
                            (["-n9", "-0", "-x4", "live"], "--null"), (["live"], "--capacity"),
                            (["-p0.1", "-k3", "live"], "--bits"), (["-n9"], "missing"),
                            (["-n9", "-"], "standard output"), (["-n0", "live"], "--capacity")):
            message = self.trouble("bfcreate", "--live", *words)
            self.assertIn(says, message)
            self.assertIn("--help", message)

    def test_impossible_parameters_are_refused(self):
        self.assertIn("no size reaches", self.refused("-p", "1e-300", "-k", "1", "-n", "1e17"))
        self.refused("-n", 9, "--label", "x" * 113)
        self.refused("-m", 2**60, names=())


if __name__ == "__main__":
    main()
