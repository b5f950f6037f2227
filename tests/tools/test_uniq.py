# SPDX-License-Identifier: MIT
"""bfuniq with its filter in memory: the lines it prints, its counts, and errors."""

import gzip
import os
import random
import re
import subprocess
import unittest

from support import BFUNIQ, SANITIZED, TIMEOUT, lines, main, numbered
from uniq import EXACT, UniqTest, first_ones, repeated_ones


def mixed(count, different, seed=1):
    choose = random.Random(seed)
    return [b"http://site/%d" % choose.randrange(different) for _ in range(count)]


class Answers(UniqTest):
    def test_first_and_repeated_lines_are_separated(self):
        count = 20_000 if SANITIZED else 200_000
        keys = mixed(count, count // 2)
        for layout in "blocked", "classic":
            options = [*EXACT, "-l", layout]
            self.assertEqual(self.uniq(*options, stdin=lines(*keys)), first_ones(keys))
            self.assertEqual(self.uniq("-d", *options, stdin=lines(*keys)), repeated_ones(keys))
            different = len(set(keys))
            self.assertEqual(self.output("bfuniq", "-c", *options, stdin=lines(*keys)),
                             b"%d lines, %d new, %d repeated\n" % (count, different,
                                                                   count - different))

    def test_default_rate_loses_less_than_1_in_1000(self):
        """Far fewer than one new line in a thousand is dropped, and every printed line is new."""
        keys = numbered(100_000)
        printed = self.uniq("--fixed", "-n", "100k", stdin=lines(*keys, *keys))
        different = set(printed)
        self.assertEqual(len(different), len(printed))
        self.assertEqual([key for key in keys if key in different], printed)
        self.assertTrue(0 < len(keys) - len(printed) < 50, len(printed))

    def test_long_options_may_follow_operands(self):
        self.write("one", lines("a", "b", "a"))
        self.write("two", lines("b", "c"))
        self.assertEqual(self.uniq("one", "--capacity", "10", "two", "--fpr=1e-9"),
                         [b"a", b"b", b"c"])
        self.assertEqual(self.uniq("one", "two", "--repeated", "--layout", "classic"),
                         [b"a", b"b"])
        self.assertEqual(self.output("bfuniq", "--count", "one", "two", "--seed", "0x7"),
                         b"5 lines, 3 new, 2 repeated\n")
        self.assertEqual(self.uniq("one", "-", "two", "-s", "random", stdin=b"c\nd\n"),
                         [b"a", b"b", b"c", b"d"])

    def test_the_seed_is_used(self):
        """Another seed gives other false positives."""
        keys = numbered(3000)
        runs = [self.uniq("-q", "--fixed", "--overfull", "-n", "500", "-p", "0.1", "-s", seed, stdin=lines(*keys))
                for seed in ("1", "1", "2")]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])

    def test_all_input_forms_are_read(self):
        for options, stdin, out, others in (
                (["-0"], b"a\nb\0\0c\0a\nb\0\0d", b"a\nb\0\0c\0d\0", b"a\nb\0\0"),
                (["-x3"], b"abcdefabcab\n", b"abcdefab\n", b"abc"),
                (["--crlf"], b"a\r\nb\na\nb\r\nc\r\r\nc\r", b"a\r\nb\nc\r\r\nc\r\n", b"a\nb\r\n"),
                ([], b"a\r\na\n\n\0\n\n\0\0\n", b"a\r\na\n\n\0\n\0\0\n", b"\n")):
            with self.subTest(options=options):
                self.assertEqual(self.output("bfuniq", "--as-is", *options, stdin=stdin), out)
                self.assertEqual(self.output("bfuniq", "--as-is", "-d", *options, stdin=stdin), others)

    def test_count_prints_lines_new_and_repeated(self):
        for options, stdin, out in (
                (["-c"], b"", b"0 lines, 0 new, 0 repeated\n"),
                (["-c"], b"a", b"1 line, 1 new, 0 repeated\n"),
                (["-cd"], b"a\na\n", b"2 lines, 1 new, 1 repeated\n"),
                (["-c0"], b"a\0a\0b", b"3 keys, 2 new, 1 repeated\n"),
                (["-cx1"], b"a", b"1 key, 1 new, 0 repeated\n")):
            with self.subTest(options=options, stdin=stdin):
                self.assertEqual(self.output("bfuniq", *options, stdin=stdin), out)

    def test_empty_input_prints_nothing(self):
        self.write("empty", b"")
        self.assertEqual(self.output("bfuniq"), b"")
        self.assertEqual(self.output("bfuniq", "empty", "/dev/null"), b"")
        self.assertEqual(self.output("bfuniq", "-d", "empty"), b"")

    def test_last_line_gets_a_newline(self):
        self.write("one", b"a\nb")
        self.write("two", b"b\na")
        self.assertEqual(self.output("bfuniq", "one", "two"), b"a\nb\n")
        self.assertEqual(self.output("bfuniq", "-d", "one", "two"), b"b\na\n")

    def test_long_lines_are_compared(self):
        keys = [b"x" * 2**20, b"y" * 3_000_000, b"x" * 2**20, b"x" * (2**20 - 1), b"y" * 3_000_000]
        self.assertEqual(self.uniq(*EXACT, stdin=lines(*keys)), first_ones(keys))
        self.assertEqual(self.uniq("-d", *EXACT, stdin=lines(*keys)), repeated_ones(keys))

    def test_lines_are_printed_before_more_is_read(self):
        process = self.start()
        self.take_turn(process, b"a", b"b")
        process.stdin.write(b"a\nc\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"c\n")
        self.assertEqual(self.finish(process), [])


class Capacity(UniqTest):
    def warnings(self, *arguments, **options):
        result = self.run_tool("bfuniq", *arguments, **options)
        self.assertEqual(result.returncode, 0)
        found = result.stderr.splitlines(keepends=True)
        for message in found:
            self.check_message("bfuniq", message)
        return [tuple(map(float, re.fullmatch(
            r"bfuniq: warning: (?:the filter in memory|seen): (\d+) keys, more than its capacity of (\d+): "
            r"the false-positive rate is now (\S+)% \(target (\S+)%\)\n",
            message.decode()).groups())) for message in found]

    def test_warns_each_time_the_keys_double(self):
        found = self.warnings("--fixed", "--overfull", "-n", "10k", "-p", "0.01",
                              stdin=lines(*numbered(100_000)))
        self.assertEqual({(capacity, promised) for _, capacity, _, promised in found},
                         {(10_000, 1)})
        self.assertGreater(len(found), 1)
        keys = [row[0] for row in found]
        self.assertTrue(10_000 < keys[0] <= 11_024)
        for before, now in zip(keys, keys[1:]):
            self.assertTrue(2 * before < now <= 2 * before + 1024, keys)
        rates = [row[2] for row in found]
        self.assertTrue(0.9 < rates[0] < 2 < 10 < rates[1] < 50, rates)

    def test_no_warning_up_to_capacity(self):
        words = ["--fixed", "-n", "10k"]
        self.assertEqual(self.warnings(*words, *EXACT[:2], stdin=lines(*numbered(10_000))), [])
        many = lines(*numbered(10_001))
        self.assertEqual(len(self.warnings(*words, *EXACT[:2], stdin=many)), 1)
        self.assertEqual(self.warnings("-q", *words, stdin=many), [])

    def test_each_run_warns_of_a_full_file(self):
        options = ["--fixed", "--overfull", "--filter", "seen", "-n", "1000", "-p", "0.01"]
        self.assertEqual(len(self.warnings(*options, stdin=lines(*numbered(1500)))), 1)
        self.assertEqual(len(self.warnings(*options, stdin=b"key 1\n")), 1)


class Trouble(UniqTest):
    def test_wrong_command_lines_are_refused(self):
        for words, named in (
                (["-n", "0"], "-n/--capacity"), (["-n", "x"], "'x'"), (["-p", "1"], "-p/--fpr"),
                (["-l", "counting"], "'counting'"), (["-s", "-1"], "-s/--seed"), (["-y"], "-y"),
                (["--filter"], "--filter needs"), (["--filter", ""], "--filter"),
                (["--accept-unclean"], "--filter"), (["--generations", "1"], "from 2"),
                (["--generations", "1001"], "1000"), (["--every", ""], "--every"),
                (["--generations=2", "--every", "0"], "from 1"), (["--generations=2", "--every", "2e19"], "to 2^60"),
                (["--generations=2", "--every", "10m"], "10min or 10M"),
                (["--generations=2", "--every", "0s"], "a time"), (["--generations=2", "--every", "soon"], "'soon'"),
                (["--fixed", "--generations=2", "--every=5"], "are mutually exclusive"), (["--overfull"], "--fixed"),
                (["--overfull", "--generations=2", "--every=5"], "--fixed"),
                (["--generations", "2"], "--every"), (["--every", "5"], "--generations"),
                (["-n5", "--generations=2", "--every=5"], "leave out -n/--capacity"), (["-0", "-x4"], "-x")):
            with self.subTest(words=words):
                message = self.trouble("bfuniq", *words, names=[named])
                self.assertTrue(message.endswith("(try 'bfuniq --help')\n"))

    def test_filters_larger_than_memory_are_refused(self):
        for words in (["-n", "10T"], ["--generations", "1000", "--every", "10G"], ["-n", "1e15"],
                      ["--fixed", "-n", "10T"], ["--generations", "1000", "--every", "1d", "-n", "10G"]):
            self.trouble("bfuniq", *words, names=["memory", "iB"])
        self.trouble("bfuniq", "-n", "1e18", "-p", "1e-18", names=["no size reaches"])

    def test_no_line_is_printed_if_an_input_is_missing_or_a_filter(self):
        self.write("one", b"a\n")
        self.create("-q", stdin=b"a\n", name="old")
        for bad, reason in ("missing", "No such file"), (".", "Is a directory"), ("old", "it is a filter, not a list"):
            for words in [], ["--filter", "seen"], ["--repeated-to", "again"], ["--report", "report"]:
                self.trouble("bfuniq", *words, "one", bad, names=[f"cannot read {bad}: {reason}"])

    def test_unusable_input_does_not_stop_other_inputs(self):
        self.write("one", lines("a", "b"))
        self.write("packed", gzip.compress(b"a\n"))
        self.write("two", lines("b", "c"))
        self.trouble("bfuniq", "one", "packed", "two", out=b"a\nb\nc\n", names=["packed", "gzip"])
        self.trouble("bfuniq", "one", "-", "two", stdin=self.create("-q", stdin=b"a\n", name="old"), out=b"a\nb\nc\n",
                     names=["standard input: it is a Bloom filter"])

    def test_incomplete_record_is_an_error(self):
        self.assertIn("its last record has 1 of 3 bytes",
                      self.trouble("bfuniq", "-x3", stdin=b"abcd", out=b"abc"))

    def test_full_output_is_an_error(self):
        for words in [], ["-d"], ["-c"], ["--filter", "seen"]:
            with open("/dev/full", "wb") as full:
                result = self.run_tool("bfuniq", *words, stdin=b"a\na\n", stdout=full)
            self.assertEqual(result.returncode, 2, words)
            self.check_message("bfuniq", result.stderr, "standard output", "No space left")
            full = [*words, "-n", "300k"]
            with open("/dev/full", "wb") as target:
                result = self.run_tool("bfuniq", *full, stdin=lines(*numbered(200_000) * 2),
                                       stdout=target)
            self.assertEqual(result.returncode, 2, words)

    def test_closed_output_is_an_error(self):
        command = f"exec {BFUNIQ} >&-"
        result = subprocess.run(["sh", "-c", command], input=b"a\n", stderr=subprocess.PIPE,
                                timeout=TIMEOUT, env=self.environment())
        self.assertEqual(result.returncode, 2)
        self.check_message("bfuniq", result.stderr, "standard output")

    def test_unprinted_lines_are_not_marked_as_seen(self):
        result = subprocess.run(["sh", "-c", f"exec {BFUNIQ} --filter seen >&-"], input=b"a\n",
                                stderr=subprocess.PIPE, timeout=TIMEOUT, cwd=self.folder,
                                env=self.environment())
        self.assertEqual(result.returncode, 2)
        self.assertEqual(self.snapshot(), {})

    def test_nonblocking_output_gets_every_line(self):
        """Another program has made the pipe non-blocking. Every line marked as seen must still be printed."""
        keys = numbered(50_000)
        self.write("keys", lines(*keys))
        source, sink = os.pipe()
        os.set_blocking(sink, False)
        process = self.start(*EXACT, "keys", stdout=sink)
        os.close(sink)
        self.until_asleep(process)
        with open(source, "rb") as out:
            self.assertEqual(out.read(), lines(*keys))
        self.assertEqual(process.wait(TIMEOUT), 0)

    def test_overwritten_input_is_detected(self):
        """Some of its keys may never have been read. An input that is longer than before may simply have grown."""
        keys, more = lines(*numbered(300_000)), lines(*numbered(300_000, "new "))
        for says, data in (("it shrank while it was read", keys[:2**20]),
                           ("it was overwritten while it was read", more), (None, keys + b"more\n")):
            with self.subTest(says):
                path = self.folder / self.write("keys", keys)
                os.utime(path, (10**9, 10**9))
                process = self.start("-j1", "keys")
                process.stdout.readline()
                path.write_bytes(data)  # truncates it first
                _, message = process.communicate(timeout=TIMEOUT)
                self.assertEqual((process.returncode, message.decode()), (
                    (2, f"bfuniq: cannot read keys: {says}\n") if says else (0, "")))

    def test_output_that_is_an_input_is_refused(self):
        self.write("log", lines("a", "a"))
        before = self.read("log")
        with open(self.folder / "log", "ab") as log, open(self.folder / "log", "rb") as again:
            for options in {"stdin": again}, {}:
                words = [] if options else ["log"]
                result = self.run_tool("bfuniq", "-d", *words, stdout=log, **options)
                self.assertEqual(result.returncode, 2)
                self.check_message("bfuniq", result.stderr, "also the output")
        self.assertEqual(self.read("log"), before)

    @unittest.skipIf(SANITIZED, "the sanitizer takes memory of its own")
    def test_memory_does_not_grow_with_the_input(self):
        """It needs only the filter and its buffers, however many lines it reads."""
        keys = [b"%d " % i + b"x" * 90 for i in range(300_000)]
        little = ["sh", "-c", 'ulimit -v 16384 && exec "$@"', "sh"]
        self.assertEqual(self.output("bfuniq", "-n", "300k", "-c", "-p1e-9", "-j1",
                                     stdin=lines(*keys), before=little), b"300000 lines, 300000 new, 0 repeated\n")


if __name__ == "__main__":
    main()
