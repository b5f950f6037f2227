# SPDX-License-Identifier: MIT
"""bfseal: in place, as a copy during adds, and as a projection."""

import os
import re
import signal
import unittest

from support import (GOLDEN, SANITIZED, UNPRIVILEGED, ToolTest, craft, lines, main, needs,
                     numbered, percent)

KEYS = numbered(500)
OTHERS = numbered(500, "absent ")
LAYOUTS = "blocked", "classic", "counting"


class SealTest(ToolTest):
    def filled(self, *options, name="live"):
        """The bytes of a live filter of KEYS."""
        self.create_live("-f", "-n", 1000, "-p", "1e-9", *options, name=name)
        self.output("bfadd", "-q", name, stdin=lines(*KEYS))
        return self.read(name)

    def check_sealed(self, name, keys=KEYS):
        report = self.inspected(name, "--verify")
        self.assertEqual((report["status"], report["verified"], report["faults"],
                          report["record"]["state"], report["record"]["n"]),
                         (0, True, [], "sealed", len(keys)), report)
        self.assertEqual(self.query("--verify", name, stdin=lines(*KEYS, *OTHERS)), keys)
        self.assertIsNone(craft.refusal(self.read(name)))


class InPlace(SealTest):
    def test_sealed_filter_answers_as_before_and_verifies(self):
        for layout in LAYOUTS:
            before = self.filled("-l", layout)
            self.assertEqual(self.output("bfseal", "live"), b"")
            self.check_sealed("live")
            after = self.read("live")
            self.assertEqual(after[:2048], before[:2048])
            self.assertEqual(craft.body_of(after), craft.body_of(before))

    def test_copy_equals_a_seal_in_place(self):
        for layout in LAYOUTS:
            self.filled("-l", layout, "--label", "all", "-s", 5)
            self.output("bfseal", "-f", "--discard", "live", "copy")
            self.output("bfseal", "live")
            self.assertEqual(self.read("live"), self.read("copy"))

    def test_sealed_file_is_left_unchanged(self):
        self.filled()
        self.output("bfseal", "live")
        sealed = self.read("live")
        self.output("bfseal", "live", says=b"bfseal: live: already sealed\n")
        self.output("bfseal", "-q", "live")
        self.assertEqual(self.read("live"), sealed)
        self.assertIn("sealed", self.trouble("bfadd", "live", stdin=lines("a")))

    def test_an_unfinished_seal_is_completed(self):
        self.filled()
        self.output("bfseal", "live")
        sealed = self.read("live")
        for slot in 2048, 3072:
            self.write("live", craft.flip(sealed, slot + 100))
            self.assertEqual(craft.refusal(self.read("live"))[0], "BLOOMFILE_ERECORD")
            self.trouble("bfquery", "live", stdin=lines("a"))
            self.output("bfseal", "live", says=b"bfseal: live: already sealed\n")
            self.assertEqual(self.read("live"), sealed)

    def test_seal_with_writers_is_refused(self):
        self.filled()
        writer = self.start("bfadd", "-v", "live")
        self.feed(writer, OTHERS[0])
        self.wait_for_key("live", OTHERS[0], writer)
        message = self.trouble("bfseal", "live", names=["live"], changes=True)
        self.assertIn("other programs have it open for writing", message)
        self.assertEqual(self.inspected("live")["verdict"], "live: open for writing by 1 program")
        self.output("bfseal", "live", "copy")
        self.assertEqual(self.query("--verify", "copy", stdin=lines(*KEYS, *OTHERS)),
                         KEYS + OTHERS[:1])
        self.assertEqual(self.result(writer, lines(*OTHERS[1:3])), (0, b"", b"bfadd: live: 3 keys, 3 new\n"))
        self.assertFalse(self.inspected("live")["record"]["n_estimated"])
        self.output("bfseal", "live")
        self.check_sealed("live", KEYS + OTHERS[:3])

    def test_readers_continue_during_a_seal(self):  # R9
        self.filled()
        reader = self.start("bfquery", "live")
        self.feed(reader, KEYS[0])
        self.assertEqual(reader.stdout.readline(), KEYS[0] + b"\n")
        self.output("bfseal", "live")
        self.assertEqual(self.result(reader, lines(OTHERS[0], KEYS[1])), (0, lines(KEYS[1]), b""))

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_killed_seal_leaves_a_live_or_a_sealed_file(self):
        """Killed in any of its syncs, it leaves the file live with all keys, or sealed. The next bfseal completes it."""
        self.write("disk-fails", b"")
        states = []
        for works in range(20):
            self.filled()
            status = self.run_tool("bfseal", "-q", "live", env={
                "LD_PRELOAD": os.environ["FAILING_DISK"], "DISK_FAILS": "disk-fails", "DISK_WORKS": str(works),
                "DISK_KILLS": "1"}).returncode
            states.append(self.inspected("live", "--quick")["record"]["state"])
            self.assertEqual(self.query("--accept-unclean", "live", stdin=lines(*KEYS, *OTHERS)), KEYS)
            if status == 0:
                break
            self.assertEqual(status, -signal.SIGKILL)
            if states[-1] == "live":
                self.output("bfseal", "-q", "--accept-unclean", "live")
            self.output("bfinspect", "-q", "--verify", "live")
            self.assertEqual(self.query("live", stdin=lines(*KEYS, *OTHERS)), KEYS)
        self.assertEqual(set(states), {"live", "sealed"})


class Copy(SealTest):
    def test_copy_during_adds_has_every_visible_key(self):
        """The copy is complete and has every key that was visible before."""
        count = 20_000 if SANITIZED else 200_000
        keys = numbered(count)
        self.write("keys", lines(*keys))
        self.create_live("-n", 2 * count, "-p", "1e-9")
        writer = self.start("bfadd", "live", "keys", "-")
        self.wait_for_key("live", keys[0], writer)
        for _ in range(5):
            before = self.query("live", "keys", status=None)
            self.output("bfseal", "-f", "live", "copy")
            after = self.query("--verify", "copy", "keys", status=None)
            self.assertLessEqual(set(before), set(after))
        self.assertEqual(self.result(writer)[0], 0)

    def query(self, *arguments, status=0, **options):
        if status is None:
            return self.run_tool("bfquery", *arguments, **options).stdout.splitlines()
        return super().query(*arguments, status=status, **options)

    def test_the_source_stays_live(self):
        before = self.filled()
        self.output("bfseal", "live", "copy")
        self.check_sealed("copy")
        self.assertEqual(self.read("live"), before)
        self.assertEqual(self.added("live", stdin=lines(OTHERS[0])), b"1 key, 1 new\n")

    def test_a_sealed_source_is_verified(self):
        self.create("-q", stdin=lines(*KEYS), name="sealed")
        self.output("bfseal", "sealed", "copy")
        self.assertEqual(self.read("copy"), self.read("sealed"))
        self.write("bad", craft.flip(self.read("sealed"), 4096 + 10))
        message = self.trouble("bfseal", "bad", "from-bad", names=["bad"])
        self.assertIn("cannot copy bad: a page of the body is damaged", message)

    @needs(*UNPRIVILEGED)
    def test_missing_permissions_are_reported(self):
        self.filled()
        (self.folder / "live").chmod(0o444)
        self.assertIn("Permission denied", self.trouble("bfseal", "live", before=UNPRIVILEGED))
        self.output("bfseal", "live", "copy", before=UNPRIVILEGED)
        self.check_sealed("copy")


class Projection(SealTest):
    def test_projection_equals_a_classic_build_of_the_same_keys(self):
        for options in (["-n", 1000], ["-m", 10_007, "-k", 5], ["-n", 300, "-p", 0.1, "-s", 77]):
            self.create_live("-f", "-l", "counting", *options)
            self.output("bfadd", "-q", "--overfull", "live", stdin=lines(*KEYS, *KEYS[:100]))
            self.output("bfadd", "-q", "--remove", "live", stdin=lines(*KEYS[:100]))
            self.output("bfseal", "-q", "-f", "--discard", "--project", "live", "projected")
            header = self.inspected("live")["header"]
            classic = self.create("-q", "-l", "classic", "-m", header["m"], "-k", header["k"], "-s",
                                  f"0x{header['seed']}", stdin=lines(*KEYS))
            self.assertEqual(craft.body_of(self.read("projected")), craft.body_of(classic))
            asked = lines(*KEYS, *OTHERS)
            self.assertEqual(self.query("--verify", "projected", stdin=asked),
                             self.query("filter.bloom", stdin=asked))
            self.assertEqual(self.query("projected", stdin=asked), self.query("live", stdin=asked))
            self.assertIn("projection", self.run_tool("bfinspect", "projected").stdout.decode())

    def test_projection_equals_that_of_the_python_implementation(self):
        self.filled("-l", "counting")
        self.output("bfseal", "live", "sealed")
        self.output("bfseal", "--project", "live", "projected")
        self.assertEqual(self.read("projected"), craft.derive("project", self.read("sealed")))
        self.output("bfseal", "--project", "sealed", "again")
        self.assertEqual(self.read("again"), self.read("projected"))

    def test_other_layouts_are_not_projected(self):
        for name, source in ("live", None), (GOLDEN / "classic-file.bloom", b""):
            if source is None:
                self.filled("-l", "classic")
            message = self.trouble("bfseal", "--project", name, "new", names=[str(name)])
            self.assertIn("cannot project", message)
            self.assertIn("not of the counting layout", message)


class Metadata(SealTest):
    def shown(self, name):
        report = self.inspected(name, "--verify")
        watermark = bytes.fromhex(report["record"]["watermark"]).rstrip(b"\0").decode()
        return report["header"]["label"], report["header"]["tag"][:4], watermark

    def test_copy_keeps_metadata_that_is_not_given(self):
        self.filled("--label", "live", "--tag", "0102")
        self.output("bfadd", "-q", "--watermark", "block 6", "live", stdin=b"key\n")
        for words, shown in (([], ("live", "0102", "block 6")), (["--label", "day"], ("day", "0102", "block 6")),
                             (["--label", "", "--tag", "0304", "--watermark", "7"], ("", "0304", "7"))):
            self.output("bfseal", "-q", "-f", "--discard", *words, "live", "copy")
            self.assertEqual(self.shown("copy"), shown)
        self.assertEqual(self.shown("live"), ("live", "0102", "block 6"))

    def test_seal_in_place_accepts_only_a_watermark(self):
        self.filled("--label", "live")
        for words in ["--label", "x"], ["--tag", "01"]:
            self.trouble("bfseal", *words, "live", names=[words[0] + " needs DEST"])
        self.trouble("bfseal", "--watermark", 33 * "x", "live", names=["up to 32 bytes of UTF-8"])
        self.output("bfseal", "-q", "--watermark", "block 8", "live")
        self.assertEqual(self.shown("live"), ("live", "0000", "block 8"))
        self.trouble("bfseal", "--watermark", "block 9", "live", names=["cannot store a watermark in live: it is already sealed"])


class Words(SealTest):
    def test_wrong_command_lines_are_refused(self):
        self.filled()
        self.trouble("bfseal")
        for words, says in ((["-Z", "live"], "unknown"), (["live", "a", "b"], "one DEST"),
                            (["--project", "live"], "--project needs DEST"),
                            (["-f", "live"], "--force needs DEST"), (["", "new"], "missing"),
                            (["live", ""], "empty")):
            message = self.trouble("bfseal", *words)
            self.assertIn(says, message)
            self.assertIn("--help", message)

    def test_dash_writes_the_copy_to_standard_output(self):
        """A pipe gets the bytes that a file would get, and nothing else, as with the other tools."""
        for layout, options in ("blocked", []), ("counting", []), ("counting", ["--project"]):
            self.create_live("-f", "-l", layout, "-n", 500)
            self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:400]))
            self.output("bfseal", "-f", "--discard", *options, "live", "copy")
            self.assertEqual(self.output("bfseal", "-v", *options, "live", "-"), self.read("copy"))
            self.assertEqual(self.output("bfseal", "-q", "-f", "copy", "-"), self.read("copy"))

    def test_summary_prints_keys_and_rate(self):
        self.create_live("-n", 500)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        copied = self.run_tool("bfseal", "-v", "live", "copy").stderr.decode()
        sealed = self.run_tool("bfseal", "-v", "live").stderr.decode()
        rate = self.inspected("live")["measure"]["fpr"]
        keys = self.inspected("live")["record"]["n"]
        for name, summary in ("copy", copied), ("live", sealed):
            self.assertRegex(summary, f"^bfseal: {name}: {keys} keys, [0-9.]+ bits each, "
                                      f"false-positive rate {re.escape(percent(rate))} "
                                      r"\(target 1%\), 8.0 KiB\n$")
        self.output("bfseal", "-vq", "live", "quiet")

    def test_keys_of_a_filter_in_use_are_estimated(self):
        """Keys added since the last sync are not counted in any record."""
        self.create_live("-n", 400)
        writer = self.start("bfadd", "-q", "--overfull", "live")
        self.feed(writer, *KEYS)
        self.wait_for_key("live", KEYS[-1], writer)
        message = self.run_tool("bfseal", "-v", "live", "copy").stderr.decode().splitlines()
        self.assertEqual(self.inspected("copy")["record"]["n_estimated"], True)
        for line, after in zip(message, (", more than the capacity of 400", ", "), strict=True):
            keys = re.match(rf"bfseal: (?:warning: )?copy: about (\d+) keys{after}", line)
            self.assertTrue(450 < int(keys[1]) < 550, line)
        self.result(writer)

    def test_filters_without_keys_or_over_capacity_are_warned_of(self):
        self.create_live("-n", 100)
        self.output("bfseal", "live", "none", says=b"bfseal: warning: none: it has no keys, so every lookup returns no\n")
        self.output("bfadd", "-q", "--overfull", "live", stdin=lines(*KEYS))
        keys, rate = self.inspected("live")["record"]["n"], self.inspected("live")["measure"]["fpr"]
        self.output("bfseal", "live", says=b"bfseal: warning: live: %d keys, more than the capacity of 100: "
                                           b"the false-positive rate is %s, target 1%%\n"
                                           % (keys, percent(rate).encode()))


if __name__ == "__main__":
    main()
