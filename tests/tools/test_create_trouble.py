# SPDX-License-Identifier: MIT
"""bfcreate: what bad input gets. Nothing may be left behind, and no old file may be harmed."""

import os
import resource
import subprocess
import unittest

from support import (NAMESPACE, NO_MEMORY, SANITIZED, TIMEOUT, UNPRIVILEGED, WITHOUT_PROC,
                     ToolTest, lines, main, needs)

OLD = b"an old file\n" * 1000


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

    def test_rate(self):
        self.values_refused("-p", "--fpr", [
            "0", "1", "-1", "nan", "inf", "-nan", "infinity", "1e-400", "", " ", " 0.01", "0.01 ",
            "0.0", "1.0", "1.5", "-0.01", "+0.01", "0,01", "0%", "100%", "%", "1 %", "1%%", "1e-1%", "-1%", "1e", "0x1p-7", "0.01f", "1e-3x",
            "--", "e-3", ".", "-", "1e400"])

    def test_capacity(self):
        self.values_refused("-n", "--capacity", [
            "0", "-1", "", "x", "1.5", "1e", "1e20", "1e19", "1e-1", "k", "0k", "1K", "1kb", "1 k",
            " 1", "1 ", "+1", "0x10", "18446744073709551615", "18446744073709551616",
            "1152921504606846977", "99999999999999999999999", "9999999T", "17179869184Gi",
            "17179869185Gi", "184467440737095517k", "18446744073709551617", "1ki",
            "1e+3", "--1", "nan"])

    def test_bits(self):
        self.values_refused("-m", "--bits", [
            "0", "-1", "", "x", "1.5", "18446744073709551615", "18446744073709551616",
            "18446744073709552128", "1152921504606846977", "2T2", "1e19", "0x200", "nan"])

    def test_hashes(self):
        self.values_refused("-k", "--hashes", [
            "0", "65", "-1", "", "1.5", "2147483648", "4294967295", "4294967297", "1k", "0x7",
            "18446744073709551617", "nan"])

    def test_layout(self):
        self.values_refused("-l", "--layout", ["", "Blocked", "block", "blocked ", "1", "none"])

    def test_seed(self):
        self.values_refused("-s", "--seed", [
            "", "-1", "0x", "18446744073709551616", "0x10000000000000000", "1k", "randomly", "0xg",
            "1.0", " 1", "0X1F", "1e3"])

    def test_tag(self):
        for value in "", "a", "0g", "0x12", "00" * 17, "0", " 00", "zz":
            self.assertIn("--tag", self.refused("--tag", value))

    def test_label(self):
        for value in ("x" * 113, "é" * 56 + "x", "a\nb", "\x1b[2J", "tab\there", "\x7f", "\u0080",
                      "\u009f", "caf\udce9", "\udcff", "\udced\udca0\udc80", "\udcc0\udcaf"):
            with self.subTest(value):
                self.assertIn("label", self.refused("--label", value))

    def test_record_size(self):
        self.values_refused("-x", "--fixed", ["0", "-1", "", "x", "1.5", "18446744073709551615",
                                              "9223372036854775808", "0x4"])

    def test_no_size_will_do(self):
        message = self.refused("-p", "1e-300", "-k", "1", "-n", "1e17")
        self.assertIn("no size reaches", message)

    def test_more_memory_than_there_is(self):
        self.refused("-m", 2**60, "-l", "classic", names=[])
        self.refused("-m", 2**60, names=[])
        self.refused("-n", 2**57)

    @unittest.skipIf(SANITIZED, "the sanitizer reserves more addresses than that")
    def test_little_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (2**26, 2**26))

        with open(self.folder / "one-long-key", "wb") as file:
            file.truncate(2**26)
        message = self.refused(inputs=["one-long-key"], names=["one-long-key"], preexec_fn=limit)
        self.assertIn(NO_MEMORY, message)
        self.write("many-keys", os.urandom(2**25))
        message = self.refused("-x4", "-j1", inputs=["many-keys"], preexec_fn=limit)
        self.assertRegex(message, "cannot hold more than [1-9][0-9]+ keys: " + NO_MEMORY)

    def test_threads(self):
        self.values_refused("-j", "--threads", ["0", "-1", "", "x", "1.5", "1025", "nan", "+2"])

    def test_memory(self):
        for value in "0", "-1", "", "x", "1.5", "16777215", "16383Ki", "1e20", "20000000T", "64MB":
            self.assertIn("--memory", self.refused("--memory", value))
            self.assertIn("16Mi", self.refused(f"--memory={value}"))


class CommandLine(TroubleTest):
    def test_no_file(self):
        self.trouble("bfcreate")
        self.trouble("bfcreate", "-k", 3)
        self.trouble("bfcreate", "--")

    def test_unknown_options(self):
        for words in ["-Z"], ["--nonsense"], ["-fZ"], ["--null=3"], ["--force=yes"], ["-é"]:
            message = self.trouble("bfcreate", *words, "new.bloom", "keys")
            self.assertIn("--help", message)

    def test_missing_value(self):
        for option in ("-p", "-n", "-m", "-k", "-l", "-s", "-x", "-j", "--label", "--tag", "--fpr",
                       "--memory"):
            message = self.trouble("bfcreate", "new.bloom", option, names=[option])
            self.assertIn("value", message)


class Targets(TroubleTest):
    def test_missing_folder(self):
        self.trouble("bfcreate", "no/such/new.bloom", "keys", names=["no/such/new.bloom"])
        self.trouble("bfcreate", "keys/new.bloom", "keys", names=["keys/new.bloom"])

    def test_empty_name(self):
        self.trouble("bfcreate", "", "keys")
        self.trouble("bfcreate", "-f", "", "keys")

    def test_long_names(self):
        for name in "x" * 256, "x/" * 2100 + "new.bloom":
            self.trouble("bfcreate", name, "keys")

    def test_directory(self):
        (self.folder / "folder").mkdir()
        for name in "folder", "folder/", ".", "..", "/", "new/", "folder/.":
            for force in [], ["-f"]:
                self.trouble("bfcreate", *force, name, "keys", names=[name])

    def test_what_is_no_regular_file(self):
        os.mkfifo(self.folder / "fifo")
        (self.folder / "link-to-fifo").symlink_to("fifo")
        for name in "fifo", "link-to-fifo", "/dev/null", "/dev/full", "/dev/zero", "/dev/stdin":
            for force in [], ["-f"]:
                self.trouble("bfcreate", *force, name, "keys", names=[name])
        self.assertTrue(os.path.exists("/dev/null") and not os.path.isfile("/dev/null"))

    def test_link_in_a_circle(self):
        (self.folder / "a").symlink_to("b")
        (self.folder / "b").symlink_to("a")
        for force in [], ["-f"]:
            self.trouble("bfcreate", *force, "a", "keys", names=["a"])

    @needs(*UNPRIVILEGED)
    def test_folder_that_cannot_be_written(self):
        (self.folder / "sub").mkdir()
        self.write("sub/old.bloom", OLD)
        (self.folder / "sub").chmod(0o555)
        for name in "sub/new.bloom", "sub/old.bloom":
            self.trouble("bfcreate", "-f", name, "keys", names=[name], before=UNPRIVILEGED)

    @needs(*UNPRIVILEGED)
    def test_folder_that_cannot_be_searched(self):
        (self.folder / "sub").mkdir()
        (self.folder / "sub").chmod(0)
        for force in [], ["-f"]:
            self.trouble("bfcreate", *force, "sub/new.bloom", "keys", names=["sub/new.bloom"],
                         before=UNPRIVILEGED)

    def test_control_characters_in_names_are_shown_harmlessly(self):
        for name in "no/\x1b[2Jnew", "no/new\nline", "no/\u009b2J", "no/\udcff\udcfe", "no/\x7f":
            for locale in "C", "C.UTF-8":
                self.trouble("bfcreate", name, "keys", locale=locale, names=["no/"])

    def test_letters_in_names_are_shown_if_the_locale_has_them(self):
        self.trouble("bfcreate", "no/é☃", "keys", names=["no/é☃"])
        self.trouble("bfcreate", "no/é☃", "keys", names=[r"no/\303\251"], locale="C")


class Inputs(TroubleTest):
    def test_missing(self):
        message = self.refused(inputs=["keys", "no-such-file"], names=["no-such-file"])
        self.assertIn("No such file", message)

    @needs(*UNPRIVILEGED)
    def test_unreadable(self):
        self.write("secret", lines("a"))
        (self.folder / "secret").chmod(0)
        message = self.refused(inputs=["keys", "secret"], names=["secret"], before=UNPRIVILEGED)
        self.assertIn("Permission denied", message)

    def test_directory(self):
        (self.folder / "folder").mkdir()
        for inputs in ["folder"], ["keys", "folder"]:
            self.assertIn("directory", self.refused(inputs=inputs, names=["folder"]))

    def test_directory_as_standard_input(self):
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        self.refused(inputs=[], names=["standard input"], stdin=folder)

    def test_the_filter_would_replace_its_keys(self):
        self.write("precious", lines(b"one", b"two"))
        for inputs in [], ["-"], ["precious"], ["keys", "-"]:
            with open(self.folder / "precious", "rb") as keys:
                self.trouble("bfcreate", "-f", "precious", *inputs, names=["precious"],
                             stdin=keys)

    def test_empty_name(self):
        self.refused(inputs=[""])

    def test_closed_standard_input(self):
        for inputs in [], ["-"], ["keys", "-"]:
            self.refused(inputs=inputs, names=["standard input"], stdin=None,
                         preexec_fn=lambda: os.close(0))

    def test_standard_input_that_cannot_be_read(self):
        with open("/dev/null", "wb") as stdin:
            self.refused(inputs=[], names=["standard input"], stdin=stdin)


class Output(TroubleTest):
    """Where messages cannot go, the status tells; and no file is taken for standard error."""

    def test_closed_descriptors(self):
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

    def test_full_standard_error(self):
        with open("/dev/full", "wb") as full:
            result = self.run_tool("bfcreate", "-f", "old.bloom", "no-such-file", stderr=full)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(self.read("old.bloom"), OLD)

    def test_help_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            for option in "--help", "--version":
                result = self.run_tool("bfcreate", option, stdout=full)
                self.assertEqual(result.returncode, 2)
                self.check_message("bfcreate", result.stderr, "standard output")


class FullDisk(TroubleTest):
    @staticmethod
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    def test_limit_on_the_size_of_files(self):
        for ignored in True, False:  # Python ignores SIGXFSZ, and a tool may inherit that
            self.refused("-m", "1M", preexec_fn=self.limit, restore_signals=not ignored,
                         names=["bloom"])

    @unittest.skipIf(SANITIZED, "the sanitizer needs /proc")
    @needs(*WITHOUT_PROC)
    def test_limit_on_the_size_of_files_that_need_a_name_from_the_start(self):
        self.refused("-m", "1M", preexec_fn=self.limit, names=["bloom"],
                     before=WITHOUT_PROC)

    def test_full_file_system(self):
        script = """
            mount -t tmpfs -o size=64k none disk && cd disk || exit 77
            if [ "$1" = old ]; then cp ../old.bloom new.bloom && shift; fi
            ls -A >../before; cat * >../contents-before 2>/dev/null
            "$@" new.bloom ../keys; status=$?
            ls -A >../after; cat * >../contents-after 2>/dev/null
            exit $status"""
        (self.folder / "disk").mkdir()
        for old in [], ["old"]:
            for bits in "500k", "2M", "200M":
                result = subprocess.run(
                    [*NAMESPACE, "sh", "-c", script, "sh", *old,
                     *self.command("bfcreate", "-f", "-m", bits)], stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                    env=self.environment(), timeout=TIMEOUT)
                if result.returncode not in (0, 2):
                    self.skipTest("no file system can be mounted here")
                self.assertEqual(result.returncode, 2)
                self.check_message("bfcreate", result.stderr, "new.bloom", "No space left")
                self.assertEqual(self.read("after"), self.read("before"))
                self.assertEqual(self.read("contents-after"), self.read("contents-before"))
                self.assertEqual(self.read("contents-after"), OLD if old else b"")


if __name__ == "__main__":
    main()
