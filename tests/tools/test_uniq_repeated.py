# SPDX-License-Identifier: MIT
"""bfuniq --repeated-to and --stats: what becomes of the lines that are not printed."""

import gzip
import os
import re
import subprocess
import threading
import unittest

from support import craft, lines, main, numbered
from uniq import EXACT, UniqTest, first_ones, repeated_ones


def mixed(count):
    return [b"%d of %d" % (i * i % (count // 3), i % 2) for i in range(count)]


class Repeated(UniqTest):
    def test_repeated_lines_are_written_to_the_file(self):
        keys = mixed(60_000)
        first, others = lines(*first_ones(keys)), lines(*repeated_ones(keys))
        self.assertGreater(len(others), 100_000)
        for words in ["-j1"], ["-j4"]:
            self.assertEqual(self.output("bfuniq", *EXACT, *words, "--repeated-to", "again",
                                         stdin=lines(*keys)), first)
            self.assertEqual(self.read("again"), others)
            self.assertEqual(self.output("bfuniq", "-c", *EXACT, *words, "--repeated-to", "again",
                                         stdin=lines(*keys[:3], *keys[:2])), b"5 lines, 3 new, 2 repeated\n")
            self.assertEqual(self.read("again"), lines(*keys[:2]))

    def test_all_input_forms_are_written(self):
        for options, stdin, others in (
                (["-0"], b"a\nb\0\0c\0a\nb\0\0d", b"a\nb\0\0"), (["-x3"], b"abcdefabcab\n", b"abc"),
                (["--crlf"], b"a\r\nb\na\nb\r\nc\r\r\nc\r", b"a\nb\r\n"), ([], b"a\nb\na", b"a\n"),
                ([], b"", b""), (["--field", 1, "--header"], b"h\t1\na\t1\na\t2", b"h\t1\na\t2\n"),
                (["--csv", "--field", 2], b'1,"a\nb"\r\n2,"a\nb"\r\n', b'2,"a\nb"\r\n')):
            with self.subTest(options=options):
                self.output("bfuniq", *options, "--repeated-to", "again", stdin=stdin)
                self.assertEqual(self.read("again"), others)
        self.output("bfuniq", "--missing", "skip", "--field", 2, "--repeated-to", "again", stdin=b"a\tb\nc\nd\tb\n",
                    says=b"bfuniq: 1 line without the field was left out\n")
        self.assertEqual(self.read("again"), b"d\tb\n")

    def test_header_of_several_inputs_is_written_once(self):
        self.write("one", b"h\na\n")
        self.write("two", b"h\na\n")
        self.assertEqual(self.output("bfuniq", "--header", "--repeated-to", "again", "one", "two"), b"h\na\n")
        self.assertEqual(self.read("again"), b"h\na\n")

    def test_repeated_lines_are_written_as_they_arrive(self):
        process = self.start("--repeated-to", "again")
        self.take_turn(process, b"a")
        process.stdin.write(b"a\nb\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"b\n")
        self.until(lambda: self.read("again") == b"a\n")
        self.assertEqual(self.finish(process), [])

    def test_repeated_lines_can_go_to_a_pipe(self):
        os.mkfifo(self.folder / "pipe")
        process = self.start("--repeated-to", "pipe")
        with open(self.folder / "pipe", "rb") as pipe:
            process.stdin.write(b"a\na\n")
            process.stdin.close()
            self.assertEqual(pipe.read(), b"a\n")
        self.assertEqual(process.wait(), 0)

    def test_repeated_lines_are_written_over_generations_and_runs(self):
        again = ["--repeated-to", "again", "--filter", "seen"]
        self.output("bfuniq", *again, stdin=b"a\nb\n")
        self.assertEqual(self.read("again"), b"")
        self.assertEqual(self.output("bfuniq", *again, stdin=b"b\nc\na\n"), b"c\n")
        self.assertEqual(self.read("again"), b"b\na\n")
        keys = numbered(3000)
        self.output("bfuniq", *EXACT[:2], "--repeated-to", "again", "--generations", 2, "--every", 1000,
                    stdin=lines(*keys, *keys[-500:], *keys[:500]))
        self.assertEqual(self.read("again"), lines(*keys[-500:]))


class Stats(UniqTest):
    def test_stats_go_to_standard_error(self):
        for options, says in ([], b""), (["-q"], b""), (["-d"], b"a\n"):
            self.assertEqual(self.output("bfuniq", "--stats", *options, stdin=b"a\nb\na\n",
                                         says=b"bfuniq: 3 lines, 2 new, 1 repeated (about 0 of them new, by the"
                                              b" false-positive rate)\n"), says or b"a\nb\n")
        self.assertEqual(self.output("bfuniq", "-c0", "--stats", stdin=b"a", says=b"bfuniq: 1 key, 1 new, 0"
                                     b" repeated\n"), b"1 key, 1 new, 0 repeated\n")

    def test_stats_are_printed_before_an_error(self):
        keys = numbered(30_000, "k\t")
        self.write("bad", lines(*keys, *keys[:10], b"nothing", *keys))
        sums = b"30010 lines, 30000 new, 10 repeated\n"
        for words in ["-j1"], ["-j4"]:
            for options, out, says in (["-c"], sums, b""), (["--stats"], lines(*keys), b"bfuniq: " + sums[:-1] + b" (about 0 of"
                                                          b" them new, by the false-positive rate)\n"):
                result = self.run_tool("bfuniq", *words, *options, *EXACT, "--repeated-to", "again", "--field", 2,
                                       "bad")
                self.assertEqual((result.returncode, result.stdout), (2, out))
                self.assertTrue(result.stderr.startswith(says + b"bfuniq: line 30011 of bad has no field 2 ("))
                self.assertEqual(self.read("again"), lines(*keys[:10]))

    def test_stats_estimate_the_new_lines_dropped(self):
        """All lines are different, so each repeated one is a false positive."""
        keys = 60_000
        data = lines(*numbered(keys))
        for words in (["--fixed", "-n", keys, "-p", "5%"], ["--fixed", "-n", keys, "-p", "2%", "-l", "classic"],
                      ["-n", 5000, "-p", "10%"], ["--fixed", "--overfull", "-n", keys // 3, "-p", "2%"],
                      ["--generations", 3, "--every", keys // 4, "-p", "10%"],
                      ["--filter", "seen", "-n", 5000, "-p", "10%"], ["--filter", "seen", "-p", "10%", "-d"]):
            with self.subTest(words):
                says = self.run_tool("bfuniq", "-q", "--stats", *words, stdin=data).stderr.decode()
                new, repeated, about = map(int, re.findall(r" (\d+) (?:new,|repeated|of them new)", says))
                self.assertEqual(new + repeated, keys)
                if "-d" in words:  # all lines were seen before
                    self.assertLess(about, repeated / 50)
                    continue
                self.assertGreater(repeated, 200)
                self.assertLess(abs(about - repeated), 6 * repeated ** 0.5 + repeated / 10, says)

    def test_stats_are_printed_after_a_signal(self):
        process = self.start("--stats")
        self.take_turn(process, b"a")
        process.terminate()
        self.assertEqual(process.communicate()[1], b"bfuniq: 1 line, 1 new, 0 repeated\n")


class Trouble(UniqTest):
    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_full_disk_is_an_error(self):
        for words in ["-j1"], ["-j4"]:
            self.assertEqual(self.output("bfuniq", *words, "--repeated-to", "/dev/full", stdin=b"a\nb\n"),
                             b"a\nb\n")
            message = self.trouble("bfuniq", *words, "--repeated-to", "/dev/full", stdin=b"a\nb\na\n",
                                   out=b"a\nb\n")
            self.assertEqual(message, "bfuniq: cannot write repeated lines to /dev/full: No space left on device\n")
        self.output("bfuniq", "--filter", "seen", "--repeated-to", "/dev/full", stdin=b"a\na\n", status=2,
                    says=message.encode())
        self.check_closed()

    def test_closed_pipe_ends_the_run(self):
        os.mkfifo(self.folder / "pipe")
        reader = threading.Thread(target=lambda: open(self.folder / "pipe", "rb").close())
        reader.start()
        process = self.start("--repeated-to", "pipe")
        reader.join()
        out, message = process.communicate(b"a\na\n")
        self.assertEqual((process.returncode, out, message),
                         (2, b"a\n", b"bfuniq: cannot write repeated lines to pipe: Broken pipe\n"))

    def test_file_in_use_is_refused(self):
        self.write("keys", lines(*numbered(10)))
        os.link(self.folder / "keys", self.folder / "link")
        self.create("keys", name="sealed")
        self.output("bfuniq", "-c", "--filter", "seen", "--generations", 2, "--every", 1000, "keys")
        self.create_live("-n", 1000)
        for name in "seen.1", "seen.2", "live.17":
            self.assertIn("needs that name (write to another file)", self.trouble(
                "bfuniq", "--repeated-to", name, "--filter", name[:4], "keys", names=[name]))
        os.symlink("seen", self.folder / "seen by link")
        for words in (["./seen.5", "--filter", "seen"], ["seen.5", "--filter", "./seen"],
                      ["seen.5", "--filter", self.folder / "seen"],
                      ["seen.5", "--filter", "seen by link"], ["./new.1", "--filter", "new"]):
            self.assertIn("needs that name (write to another file)", self.trouble(
                "bfuniq", "--repeated-to", *words, "keys"))
            self.assertFalse((self.folder / words[0]).exists())
        for words, says in ((["link", "keys"], "cannot read keys: it is also the output"),
                            (["sealed", "keys"], "it is a filter (write to another file)"),
                            (["seen", "--filter", "other", "keys"], "it is a filter"),
                            (["live", "--filter", "live"], "two outputs"),
                            (["new", "--filter", "new"], "two outputs"),
                            (["missing/file", "keys"], "No such file or directory"), ([".", "keys"], "s a directory"),
                            (["", "keys"], "--repeated-to"), (["-", "keys"], "--repeated-to takes the name of a file"),
                            (["x", "-d", "keys"], "are mutually exclusive")):
            with self.subTest(words=words):
                self.assertIn(says, self.trouble("bfuniq", "--repeated-to", *words))
        with open(self.folder / "out", "wb") as out:
            result = self.run_tool("bfuniq", "--repeated-to", "out", "keys", stdout=out)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"cannot write two outputs to one file", result.stderr)

    def test_run_without_lines_leaves_the_file_unchanged(self):
        self.write("list", b"a\nb\na\n")
        self.write("packed", gzip.compress(b"a\n"))
        self.write("old", b"precious\n")
        self.create_live("-n", 1000)
        self.write("broken", craft.flip(self.read("live"), 40))
        self.write("sealed", self.create("list"))
        for words in (["--no-such", "list"], ["list", "missing"], ["packed"], ["."],
                      ["--filter", "broken", "list"], ["--filter", "sealed", "list"], ["--filter", "no/such", "list"],
                      ["-n", "1E", "list"], ["-n", "1T", "--fixed", "list"],
                      ["--field", 9, "list"], ["-p", 3, "list"], ["--header", "--csv", "--field", "none", "list"]):
            with self.subTest(words):
                self.trouble("bfuniq", "--repeated-to", "old", *words)
                self.trouble("bfuniq", "--repeated-to", "new", *words)
        self.assertEqual(self.run_tool("bfuniq", "--repeated-to", "old", "list", "packed").returncode, 2)
        self.assertEqual(self.read("old"), b"a\n")
        self.output("bfuniq", "--repeated-to", "old", stdin=b"")
        self.assertEqual(self.read("old"), b"")
        self.run_tool("bfuniq", "--header", "--field", 2, "--repeated-to", "new", stdin=b"a\tb\nc\n")
        self.assertEqual(self.read("new"), b"a\tb\n")


if __name__ == "__main__":
    main()
