# SPDX-License-Identifier: MIT
"""bffold: refusals and interruptions, neither of which may damage a file."""

import os
import re

from support import ToolTest, craft, lines, main, numbered, percent, table

KEYS = numbered(3000)


class TroubleTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.create("-q", "-n", 30_000, "-m", 512 * 720, "-p", 0.01, stdin=lines(*KEYS), name="big")


class Factors(TroubleTest):
    def refused(self, *options, source="big"):
        """The message of a refusal. A dry run prints the same message, and the table."""
        message = self.trouble("bffold", *options, source, "new", names=[source])
        dry = self.run_tool("bffold", "--dry-run", *options, source)
        self.assertEqual((dry.returncode, dry.stderr.decode()), (2, message))
        self.assertTrue(dry.stdout.startswith(b"    factor "))
        return message

    def copied(self, *options, source="big"):
        """The note that a filter was only copied. A dry run prints the same note, and -q suppresses it."""
        result = self.run_tool("bffold", *options, source, "new")
        message = result.stderr.decode()
        self.assertEqual(result.returncode, 0)
        self.check_message("bffold", result.stderr, source, "copied, not folded: ")
        self.assertEqual(self.read("new"), self.read(source))
        self.output("bffold", "-q", "-f", *options, source, "new")
        self.assertEqual(self.read("new"), self.read(source))
        (self.folder / "new").unlink()
        through = self.run_tool("bffold", *options, source, "-")
        self.assertEqual((through.returncode, through.stderr.decode()), (0, message))
        self.assertEqual(through.stdout, self.read(source))
        dry = self.run_tool("bffold", "--dry-run", *options, source)
        self.assertEqual((dry.returncode, dry.stderr.decode()), (0, message))
        self.assertRegex(dry.stdout, rb"\n\* +1  ")
        return message

    def test_factor_that_does_not_divide_is_refused(self):
        for factor in 7, 719, 721, 10**9, 2**60:
            self.assertIn(f"{factor} does not divide its 720 blocks (list the factors with --dry-run)",
                          self.refused("--factor", factor))
        self.create("-q", "-l", "counting", "-m", 1000, "-k", 3, stdin=b"a\n", name="counting")
        self.assertIn("3 does not divide its 1000 counters",
                      self.refused("--factor", 3, source="counting"))

    def test_filter_is_copied_if_no_factor_keeps_the_rate(self):
        fpr = self.inspected("big")["measure"]["fpr"]
        self.assertIn(f"its false-positive rate is already {percent(fpr)}, more than the requested "
                      "rate of 1e-10%", self.refused("-p", "1e-12"))
        self.output("bffold", "--factor", 2, "big", "half")
        half = self.inspected("half")["measure"]["fpr"]
        (self.folder / "half").unlink()
        message = self.copied("-p", (half + fpr) / 2)
        self.assertRegex(message, f"factor 2 would give a false-positive rate of {percent(half)}, more "
                                  "than the requested rate of [0-9.e-]+%\n$")
        message = self.copied("-p", repr(half * (1 - 1e-9)))
        rates = re.search(r"rate of (\S+)%, more than the requested rate of (\S+)%", message).groups()
        self.assertGreater(float(rates[0]) / 100, half * (1 - 1e-9))

    def test_filter_of_one_block_is_copied(self):
        self.create("-q", "-m", 512, "-p", 0.1, stdin=b"a\n", name="block")
        self.assertIn("no factor divides it", self.copied(source="block"))

    def test_filter_over_its_target_rate_is_copied(self):
        """A filter over its target rate is copied, not folded. A lower rate that is requested cannot be reached."""
        self.create("-q", "-m", 512 * 72, "-n", 100, "-p", 1e-4, "-k", 5, stdin=lines(*KEYS),
                    name="full")
        fpr = self.inspected("full")["measure"]["fpr"]
        result = self.run_tool("bffold", "full", "new")
        self.assertEqual((result.returncode, self.read("new")), (0, self.read("full")))
        note, warning = result.stderr.decode().splitlines()
        self.assertEqual(note, f"bffold: warning: full: copied, not folded: its false-positive rate is already {percent(fpr)}, more than "
                               "the target rate of 0.01%")
        self.assertIn(f"new: {len(KEYS)} keys, more than the capacity of 100", warning)
        (self.folder / "new").unlink()
        self.assertIn(f"its false-positive rate is already {percent(fpr)}, more than the requested "
                      "rate of 0.01%", self.refused("-p", 1e-4, source="full"))

    def test_live_filter_that_cannot_fold_becomes_a_sealed_copy(self):
        self.create_live("-n", 3000)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        result = self.run_tool("bffold", "live", "new")
        self.assertEqual(result.returncode, 0)
        self.check_message("bffold", result.stderr, "live: copied, not folded: ")
        self.output("bfinspect", "-q", "--verify", "new")
        self.assertEqual(self.query("new", stdin=lines(*KEYS)), KEYS)

    def test_filter_below_max_bytes_is_copied(self):
        size = len(self.read("big"))
        self.assertIn(f"it is small enough: {size} bytes (52.0 KiB)",
                      self.copied("--max-bytes", size))
        self.copied("--max-bytes", "1Ti")
        self.output("bffold", "-q", "--max-bytes", size - 1, "big", "smaller")
        (self.folder / "smaller").unlink()
        self.assertIn("it cannot be smaller than 8196 bytes (8.0 KiB)",
                      self.refused("--max-bytes", 8195))


class Sources(TroubleTest):
    def test_damaged_source_is_refused(self):
        self.write("bad", craft.flip(self.read("big"), 4096 + 5000))
        for words in ["bad", "new"], ["--dry-run", "bad"], ["-f", "bad", "bad"], ["bad", "-"]:
            message = self.trouble("bffold", *words, names=["bad"])
            self.assertIn("cannot fold bad: a page of the body is damaged", message)


class Targets(TroubleTest):
    def test_image_never_replaces_or_shares_a_destination(self):
        self.write("old", b"<svg/>")
        self.assertIn("--force would overwrite this file", self.trouble("bffold", "--svg", "old", "big", "new"))
        self.assertIn("cannot both be new", self.trouble("bffold", "--svg", "new", "big", "new"))
        self.assertIn("cannot both be standard output",
                      self.trouble("bffold", "--svg", "-", "big", "-"))
        os.link(self.folder / "old", self.folder / "same")
        self.assertIn("two outputs to one file, old",
                      self.trouble("bffold", "-f", "--svg", "old", "big", "same"))
        self.assertIn("it is a filter",
                      self.trouble("bffold", "-f", "--svg", "big", "big", "new"))

    def test_failed_fold_draws_no_image(self):
        for words in ["--svg", "curve.svg", "big", "new"], ["--svg", "-", "big", "new"]:
            message = self.trouble("bffold", "-q", "--factor", 1, *words, before=["prlimit", "--fsize=8192"])
            self.assertIn("cannot create new: File too large", message)

    def test_failed_image_leaves_no_filter(self):
        for name in "no-folder/curve.svg", "":
            self.trouble("bffold", "--svg", name, "big", "new", names=[name])

    def test_missing_temporary_folder_is_an_error(self):
        message = self.trouble("bffold", "big", "-", env={"TMPDIR": str(self.folder / "no")})
        self.assertEqual(message, f"bffold: cannot write a temporary file in {self.folder}/no: "
                                  "No such file or directory (choose another folder with TMPDIR)\n")


class CommandLine(TroubleTest):
    def test_wrong_command_lines_are_refused(self):
        for words, says in ((["-Z", "big", "new"], "unknown"), ([], "missing"),
                            (["big"], "--dry-run"), (["big", "a", "b"], "one DEST"),
                            (["", "new"], "missing"),
                            (["big", ""], "empty"),
                            (["-p", "0.1", "--factor", 2, "big", "new"], "mutually exclusive"),
                            (["--max-bytes", "1k", "--factor", 2, "big", "new"], "mutually exclusive")):
            message = self.trouble("bffold", *words)
            self.assertIn(says, message)
            self.assertIn("--help", message)

    def test_invalid_option_values_are_refused(self):
        for option, values in (("--fpr", ("0", "1", "-1", "x", "")),
                               ("--factor", ("0", "-1", "1.5")),
                               ("--max-bytes", ("0", "x", "1KB")), ("--more", ("-1", "", "x"))):
            for value in values:
                self.assertIn(option, self.trouble("bffold", f"{option}={value}", "big", "new"))


if __name__ == "__main__":
    main()
