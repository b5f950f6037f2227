# SPDX-License-Identifier: MIT
"""bfcreate: bad input. No files may be left behind, and no old file may be damaged."""

import os
import re
import resource
import signal
import unittest

from support import (NO_MEMORY, OLD, SANITIZED, UNPRIVILEGED, ToolTest, lines, main, needs,
                     numbered)


class TroubleTest(ToolTest):
    """Each failure is tried with a new name, and with --force on an old file."""

    def setUp(self):
        super().setUp()
        self.write("old.bloom", OLD)
        self.write("keys", lines("a", "b", "c"))

    def refused(self, *options, inputs=("keys",), names=(), **more):
        message = self.trouble("bfcreate", *options, "new.bloom", *inputs, names=names, **more)
        self.trouble("bfcreate", "-f", *options, "old.bloom", *inputs, names=names, **more)
        self.assertEqual(self.read("old.bloom"), OLD)
        return message


class Numbers(TroubleTest):
    def values_refused(self, short, long, values):
        for value in values:
            with self.subTest(option=short, value=value):
                self.assertIn(long, self.refused(short, value))
                self.assertIn(long, self.refused(f"{long}={value}"))

    def test_invalid_rates_are_refused(self):
        self.values_refused("-p", "--fpr", [
            "0", "1", "-1", "nan", "inf", "-nan", "infinity", "1e-400", "", " ", " 0.01", "0.01 ",
            "0.0", "1.0", "1.5", "-0.01", "+0.01", "0,01", "0%", "100%", "%", "1 %", "1%%", "1e-1%", "-1%", "1e", "0x1p-7", "0.01f", "1e-3x",
            "--", "e-3", ".", "-", "1e400"])

    def test_invalid_capacities_are_refused(self):
        self.values_refused("-n", "--capacity", [
            "0", "-1", "", "x", "1.5", "1e", "1e20", "1e19", "1e-1", "k", "0k", "1KI", "1kb", "1 k",
            " 1", "1 ", "+1", "0x10", "18446744073709551615", "18446744073709551616",
            "1152921504606846977", "99999999999999999999999", "9999999T", "17179869184Gi",
            "17179869185Gi", "184467440737095517k", "18446744073709551617", "1ki",
            "1e+3", "--1", "nan"])

    def test_invalid_bits_are_refused(self):
        self.values_refused("-m", "--bits", [
            "0", "-1", "", "x", "1.5", "18446744073709551615", "18446744073709551616",
            "18446744073709552128", "1152921504606846977", "2T2", "1e19", "0x200", "nan"])

    def test_invalid_hashes_are_refused(self):
        self.values_refused("-k", "--hashes", [
            "0", "65", "-1", "", "1.5", "2147483648", "4294967295", "4294967297", "1k", "0x7",
            "18446744073709551617", "nan"])

    def test_invalid_layouts_are_refused(self):
        self.values_refused("-l", "--layout", ["", "Blocked", "block", "blocked ", "1", "none"])

    def test_invalid_seeds_are_refused(self):
        self.values_refused("-s", "--seed", [
            "", "-1", "0x", "18446744073709551616", "0x10000000000000000", "1k", "randomly", "0xg",
            "1.0", " 1", "0X1F", "1e3"])

    def test_invalid_tags_are_refused(self):
        for value in "", "a", "0g", "0x12", "00" * 17, "0", " 00", "zz":
            self.assertIn("--tag", self.refused("--tag", value))

    def test_invalid_labels_are_refused(self):
        for value in ("x" * 113, "é" * 56 + "x", "a\nb", "\x1b[2J", "tab\there", "\x7f", "\u0080",
                      "\u009f", "caf\udce9", "\udcff", "\udced\udca0\udc80", "\udcc0\udcaf"):
            with self.subTest(value):
                self.assertIn("label", self.refused("--label", value))

    def test_invalid_record_sizes_are_refused(self):
        self.values_refused("-x", "--record-size", ["0", "-1", "", "x", "1.5", "18446744073709551615",
                                              "9223372036854775808", "0x4"])

    def test_unreachable_rates_are_refused(self):
        message = self.refused("-p", "1e-300", "-k", "1", "-n", "1e17")
        self.assertIn("no size reaches", message)

    def test_error_of_an_impossible_size_names_the_reason(self):
        """The message must not blame memory or disks."""
        for words in ([], ["-l", "ribbon"], ["-l", "counting"], ["--slice", "1/4"], ["--live"], ["--live", "--grow"],
                      ["--live", "--generations", 9, "--every", "1d"]):
            message = self.trouble("bfcreate", "-n", "1e15", *words, "new", names=["cannot create new: "])
            self.assertRegex(message, r": -n 1000000000000000 needs [\d.]+ [TP]iB\n$")
        for words in [], ["--live"]:
            self.assertRegex(self.trouble("bfcreate", "-m", "1e17", *words, "new"), r": -m 100000000000000000 needs [\d.]+ PiB\n$")
        self.assertRegex(self.trouble("bfuniq", "--filter", "new", "-n", "1e15"), r": -n 1000000000000000 needs [\d.]+ PiB\n$")
        self.assertRegex(self.trouble("bfuniq", "-n", "1e15"), r"has [\d.]+ \wiB, and -n 1000000000000000 needs more \(")

    def test_error_names_the_lowest_rate_that_works(self):
        """The lowest rate for n keys is n / 2^64, because digests have 64 bits."""
        for words, least in (([], "5.42e-09"), (["-l", "classic"], "5.42e-09"), (["--live"], "5.42e-09"),
                             (["--live", "--grow"], "4.34e-08"), (["--live", "--generations", 10, "--every", "1d"], "5.42e-08")):
            self.assertIn(f"for so many keys: the lowest rate for 1000000000 keys is {least}% (their number / 2^64)\n",
                          self.trouble("bfcreate", "-p", "1e-12", "-n", "1e9", *words, "new"))
        self.assertIn("for so many keys: the lowest rate is 5.42e-18%, even for 1 key (number of keys / 2^64)\n",
                      self.trouble("bfcreate", "-p", "1e-30", "new", stdin=b"a\nb\n"))
        self.output("bfcreate", "-q", "new", stdin=b"a\n")
        for words in [], ["--live"], ["--live", "--grow"]:
            least = re.search("keys is (.*)%", self.trouble("bfcreate", "-f", "--allow-empty", "-p", "1e-18", "-n", 1000, *words, "new"))[1]
            self.output("bfcreate", "-f", "--allow-empty", "-p", float(least) * 1.01 / 100, "-n", 1000, "-q", *words, "new", stdin=b"a\n")

    def test_filters_larger_than_memory_are_refused(self):
        self.refused("-m", 2**60, "-l", "classic", names=[])
        self.refused("-m", 2**60, names=[])
        self.refused("-n", 2**57)

    @unittest.skipIf(SANITIZED, "the sanitizer reserves more addresses than that")
    def test_key_larger_than_memory_is_an_error(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (2**26, 2**26))

        with open(self.folder / "one-long-key", "wb") as file:
            file.truncate(2**26)
        message = self.refused("--as-is", inputs=["one-long-key"], names=["one-long-key"], preexec_fn=limit)
        self.assertIn(NO_MEMORY, message)
        self.write("many-keys", os.urandom(2**25))
        message = self.refused("-x4", "-j1", inputs=["many-keys"], preexec_fn=limit)
        self.assertRegex(message, "cannot hold more than [1-9][0-9]+ keys: " + NO_MEMORY)

    def test_invalid_thread_counts_are_refused(self):
        self.values_refused("-j", "--threads", ["0", "-1", "", "x", "1.5", "1025", "nan", "+2"])

    def test_invalid_memory_limits_are_refused(self):
        for value in "0", "-1", "", "x", "1.5", "16777215", "16383Ki", "1e20", "20000000T", "64MB":
            self.assertIn("--memory", self.refused("--memory", value))
            self.assertIn("16Mi", self.refused(f"--memory={value}"))


class CommandLine(TroubleTest):
    def test_missing_file_operand_is_an_error(self):
        self.trouble("bfcreate")
        self.trouble("bfcreate", "-k", 3)
        self.trouble("bfcreate", "--")

    def test_unknown_options_are_refused(self):
        for words in ["-Y"], ["--nonsense"], ["-fY"], ["--null=3"], ["--force=yes"], ["-é"]:
            message = self.trouble("bfcreate", *words, "new.bloom", "keys")
            self.assertIn("--help", message)

    def test_missing_option_values_are_errors(self):
        for option in ("-p", "-n", "-m", "-k", "-l", "-s", "-x", "-j", "--label", "--tag", "--fpr",
                       "--memory"):
            message = self.trouble("bfcreate", "new.bloom", option, names=[option])
            self.assertIn("value", message)


class Names(TroubleTest):

    def test_control_characters_in_names_are_shown_harmlessly(self):
        for name in "no/\x1b[2Jnew", "no/new\nline", "no/\u009b2J", "no/\udcff\udcfe", "no/\x7f":
            for locale in "C", "C.UTF-8":
                self.trouble("bfcreate", name, "keys", locale=locale, names=["no/"])

    def test_letters_in_names_are_shown_if_the_locale_has_them(self):
        self.trouble("bfcreate", "no/é☃", "keys", names=["no/é☃"])
        self.trouble("bfcreate", "no/é☃", "keys", names=[r"no/\303\251"], locale="C")


class Inputs(TroubleTest):
    def test_missing_input_is_an_error(self):
        message = self.refused(inputs=["keys", "no-such-file"], names=["no-such-file"])
        self.assertIn("No such file", message)

    @needs(*UNPRIVILEGED)
    def test_unreadable_input_is_an_error(self):
        self.write("secret", lines("a"))
        (self.folder / "secret").chmod(0)
        message = self.refused(inputs=["keys", "secret"], names=["secret"], before=UNPRIVILEGED)
        self.assertIn("Permission denied", message)

    def test_directory_as_input_is_an_error(self):
        (self.folder / "folder").mkdir()
        for inputs in ["folder"], ["keys", "folder"]:
            self.assertIn("directory", self.refused(inputs=inputs, names=["folder"]))

    def test_directory_as_standard_input_is_an_error(self):
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        self.refused(inputs=[], names=["standard input"], stdin=folder)

    def test_overwritten_input_is_detected(self):
        """Keys may have been written to a part that was already read."""
        keys = lines(*numbered(1_000_000))
        path = self.folder / "many"

        def start():
            self.write("old.bloom", OLD)
            path.write_bytes(keys)
            os.utime(path, (10**9, 10**9))
            self.stdin = os.open(path, os.O_RDONLY)
            self.addCleanup(os.close, self.stdin)
            return self.start("bfcreate", "-j1", "-f", "old.bloom", preexec_fn=lambda: os.dup2(self.stdin, 0))

        process = self.caught(start, lambda: 0 < os.lseek(self.stdin, 0, os.SEEK_CUR) < len(keys) // 2)
        with open(path, "r+b") as file:
            file.write(b"new")
        process.send_signal(signal.SIGCONT)
        self.assertEqual(self.result(process), (
            2, b"", b"bfcreate: cannot read standard input: it was overwritten while it was read\n"))
        self.assertEqual(self.read("old.bloom"), OLD)

    def test_filter_never_replaces_its_input(self):
        self.write("precious", lines(b"one", b"two"))
        for inputs in [], ["-"], ["precious"], ["keys", "-"]:
            with open(self.folder / "precious", "rb") as keys:
                self.trouble("bfcreate", "-f", "precious", *inputs, names=["precious"],
                             stdin=keys)

    def test_empty_file_name_is_an_error(self):
        self.refused(inputs=[""])

    def test_closed_standard_input_is_an_error(self):
        for inputs in [], ["-"], ["keys", "-"]:
            self.refused(inputs=inputs, names=["standard input"], stdin=None,
                         preexec_fn=lambda: os.close(0))

    def test_nonblocking_standard_input_is_read(self):
        for tool, words, out in (("bfcreate", ["-q", "new.bloom"], b""),
                                 ("bfquery", ["new.bloom"], lines("a", "b"))):
            with self.subTest(tool):
                process = self.start_unwaited(tool, *words)
                self.feed(process, b"a")
                self.until_read(process)
                self.assertEqual(self.result(process, lines("b")), (0, out, b""))

    def test_unreadable_standard_input_is_an_error(self):
        with open("/dev/null", "wb") as stdin:
            self.refused(inputs=[], names=["standard input"], stdin=stdin)


class Output(TroubleTest):
    """If messages cannot be written, the exit status still shows the error. No output file becomes standard error."""

    def test_closed_descriptors_do_not_corrupt_the_filter(self):
        for closed in [0], [1], [2], [0, 1], [1, 2], [0, 1, 2]:
            def close(closed=closed):
                for descriptor in closed:
                    os.close(descriptor)

            result = self.run_tool("bfcreate", "-v", "-f", "new.bloom", "keys", "keys",
                                   stdin=None, preexec_fn=close)
            self.assertEqual(result.returncode, 0, closed)
            self.assertEqual(self.query("new.bloom", "keys"), [b"a", b"b", b"c"])
            self.refused_quietly("no-such-file", close)

    def refused_quietly(self, name, close):
        before = self.snapshot()
        result = self.run_tool("bfcreate", "-f", "old.bloom", name, stdin=None, preexec_fn=close)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(self.snapshot(), before)

    def test_full_standard_error_keeps_exit_status_and_old_file(self):
        with open("/dev/full", "wb") as full:
            result = self.run_tool("bfcreate", "-f", "old.bloom", "no-such-file", stderr=full)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(self.read("old.bloom"), OLD)

    def test_help_to_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            for option in "--help", "--version":
                result = self.run_tool("bfcreate", option, stdout=full)
                self.assertEqual(result.returncode, 2)
                self.check_message("bfcreate", result.stderr, "standard output")


if __name__ == "__main__":
    main()
