# SPDX-License-Identifier: MIT
"""bfcreate -: the filter on standard output."""

import os
import resource
import unittest

from support import NAMESPACE, SANITIZED, TIMEOUT, ToolTest, lines, main, needs, numbered

KEYS = numbered(5000)


class StandardOutput(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("keys", lines(*KEYS))

    def test_standard_output_gets_the_bytes_of_a_file(self):
        for words in ([], ["-l", "classic", "-m", 12_345, "-k", 3], ["-l", "counting"],
                      ["-n", "10k", "--label", "piped", "--tag", "a0b1"], ["-s", 7, "-j2"],
                      ["-m", "20M", "--memory", "16Mi"]):
            expected = self.create("-q", *words, "keys")
            self.assertEqual(self.output("bfcreate", *words, "-", "keys"), expected)
            self.assertEqual(self.output("bfcreate", *words, "-f", "-", "-",
                                         stdin=lines(*KEYS)), expected)
            self.assertEqual(self.output("bfcreate", *words, "-", stdin=lines(*KEYS)), expected)
            with open(self.folder / "redirected", "wb") as file:
                self.run_tool("bfcreate", *words, "-", "keys", stdout=file)
            self.assertEqual(self.read("redirected"), expected)

    def test_filter_is_written_at_the_offset_of_the_output(self):
        expected = b"before" + self.create("keys")
        with open(self.folder / "redirected", "wb") as file:
            file.write(b"before")
            file.flush()
            self.run_tool("bfcreate", "-", "keys", stdout=file)
        self.assertEqual(self.read("redirected"), expected)

    def test_file_called_dash_can_be_created(self):
        self.assertEqual(self.output("bfcreate", "./-", "keys"), b"")
        self.assertEqual(self.read("-"), self.create("keys"))

    def test_messages_are_the_same_as_for_a_file(self):
        for words in (["-v"], ["-v", "-n", 100], ["-v", "-m", 512, "-p", 0.001], ["-v", "-k", 2],
                      ["-v", "-l", "classic", "-m", 9001], ["-v", "-l", "counting"], ["-n", 9000],
                      ["-n", 100], [], ["-q", "-n", 100], ["-v", "-l", "classic", "-p", "1e-9"]):
            for keys in "keys", "/dev/null":
                to_file = self.run_tool("bfcreate", "-f", "--allow-empty", *words, "new.bloom", keys)
                piped = self.run_tool("bfcreate", "--allow-empty", *words, "-", keys)
                self.assertEqual(to_file.returncode, piped.returncode)
                refused = b"--overfull" in piped.stderr
                self.assertEqual(piped.returncode, 2 if refused else 0)
                self.assertEqual(piped.stderr.replace(b"write to", b"create"),
                                 to_file.stderr.replace(b"new.bloom", b"standard output"))
                self.assertEqual(piped.stdout, b"" if refused else self.read("new.bloom"))

    def test_repeated_keys_are_counted(self):
        message = self.run_tool("bfcreate", "-v", "-", "keys", "keys").stderr
        self.check_message("bfcreate", message, "standard output: 5000 keys (5000 repeated)")

    @unittest.skipIf(SANITIZED, "the sanitizer takes more memory than that")
    def test_filter_too_large_to_map_is_written_completely(self):
        expected = self.create("-m", "1G", "keys")
        result = self.run_tool("bfcreate", "-m", "1G", "-j1", "--memory", "16Mi", "-", "keys",
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                                     (2**26, 2**26)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout == expected)
        self.assertEqual(result.stderr, b"")  # its rate follows from the size, so it need not be mapped

    def test_temporary_files_are_removed(self):
        (self.folder / "temporary").mkdir()
        self.output("bfcreate", "-", "keys", env={"TMPDIR": str(self.folder / "temporary")})
        self.assertEqual(os.listdir(self.folder / "temporary"), [])

    def test_live_filters_are_not_piped(self):
        self.assertIn("live", self.trouble("bfcreate", "--live", "-n", 10, "-"))


class Trouble(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("keys", lines(*KEYS))

    def test_reader_that_closes_the_pipe_ends_the_run(self):
        process = self.start("bfcreate", "-m", "80M", "-", "keys")
        self.assertEqual(len(process.stdout.read(1000)), 1000)
        process.stdout.close()
        self.assertEqual(process.wait(TIMEOUT), 2)
        self.check_message("bfcreate", process.stderr.read(), "standard output", "Broken pipe")

    def test_nothing_is_written_if_an_input_fails(self):
        for words in ["-", "keys", "no-such-file"], ["-x13", "-", "keys"], ["-k", 65, "-", "keys"]:
            self.trouble("bfcreate", *words)
        self.trouble("bfcreate", "--label", "a\nb", "-", "keys", names=["label"])
        self.assertIn("no size", self.trouble("bfcreate", "-p", "1e-300", "-k1", "-", "keys"))

    def test_output_that_is_an_input_is_refused(self):
        for inputs in ["keys"], [], ["-"], ["/dev/null", "keys"]:
            with open(self.folder / "keys", "rb") as keys, open(self.folder / "keys", "ab") as out:
                self.trouble("bfcreate", "-", *inputs, names=["also the output"],
                             stdin=keys, stdout=out, out=None)

    @needs(*NAMESPACE)
    def test_full_disk_for_temporary_files_is_an_error(self):
        script = """
            mount -t tmpfs -o size=64k none disk || exit 77
            TMPDIR=$PWD/disk "$@"; status=$?
            [ -z "$(ls -A disk)" ] || exit 78
            exit $status"""
        (self.folder / "disk").mkdir()
        result = self.run_tool("bfcreate", "-m", "2M", "-", "keys",
                               before=[*NAMESPACE, "sh", "-c", script, "sh"])
        if result.returncode == 77:
            self.skipTest("no file system can be mounted here")
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.check_message("bfcreate", result.stderr, "temporary file", str(self.folder / "disk"),
                           "No space left")


if __name__ == "__main__":
    main()
