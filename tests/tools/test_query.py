# SPDX-License-Identifier: MIT
"""bfquery: the keys it prints, its exit status, and errors."""

import os
import random
import shutil
import signal
import struct
import subprocess
import threading

from support import (IN_32_BITS, REFUSED, SANITIZED, TIMEOUT, ToolTest, craft, file_form, lines,
                     main, numbered)

IN = numbered(50)
OUT = numbered(50, "absent ")


class QueryTest(ToolTest):
    """A test with a filter of IN that is large enough to answer no to all of OUT."""

    def setUp(self):
        super().setUp()
        self.write("filter", file_form("classic", 8000, 9, IN))


class Marks(QueryTest):
    """--mark: one line of output for each line of input."""

    def test_mark_prints_every_line_in_order(self):
        keys = [key for pair in zip(IN, OUT) for key in pair]
        self.write("keys", lines(*keys))
        self.write("list", lines(IN[3]))
        for threads in "-j1", "-j4":
            self.assertEqual(self.output("bfquery", threads, "--mark", "filter", "keys"),
                             b"".join(b"%d\t%s\n" % (key in IN, key) for key in keys))
        for words, stdin, out, status in (
                ([], b"key 1\n\nabsent", b"1\tkey 1\n0\t\n0\tabsent\n", 0), ([], b"absent\n", b"0\tabsent\n", 1), ([], b"", b"", 1),
                (["-nH"], b"x\nkey 1\n", b"0\t(standard input):1:x\n1\t(standard input):2:key 1\n", 0),
                (["--names"], b"x\nkey 1\n", b"0\t\tx\n1\tfilter\tkey 1\n", 0), (["-0"], b"x\0key 1\0", b"0\tx\x001\tkey 1\0", 0),
                (["--header", "--field", 2], b"h\tk\n1\tkey 1\n", b"\th\tk\n1\t1\tkey 1\n", 0),
                (["--field", 2, "--missing", "empty"], b"x\n1\tkey 1\n", b"0\tx\n1\t1\tkey 1\n", 0),
                (["--unless", "list"], lines(*IN[2:4]), b"1\t%s\n0\t%s\n" % (IN[2], IN[3]), 0)):
            self.assertEqual(self.output("bfquery", "--mark", *words, "filter", stdin=stdin, status=status), out)
        for words in ["-v"], ["-c"], ["-q"], ["-m", 1], ["-x", 4], ["--missing", "skip", "--field", 1]:
            self.assertIn("--mark", self.trouble("bfquery", "--mark", *words, "filter", "keys"))

    def turn(self, process, key):
        """Write a key, wait for its answer, write the next."""
        self.feed(process, key)
        return process.stdout.readline()

    def test_a_coprocess_gets_each_answer_before_it_writes_the_next_key(self):
        for words in [], ["-j4"], ["--names"], ["-n"]:
            process = self.start("bfquery", "--mark", *words, "filter")
            for key in IN[0], OUT[0], IN[1], b"", OUT[1]:
                self.assertEqual(self.turn(process, key)[:2], b"1\t" if key in IN else b"0\t")
            process.stdin.close()
            self.assertEqual((process.wait(), process.stderr.read()), (0, b""))

    def test_every_mark_is_1_after_the_filter_changed(self):
        """The file is overwritten in place, replaced, or removed. It may be one of several filters."""
        def touch(path):
            os.utime(path, ns=(1, 1))

        def replace(path):
            shutil.copy(path, self.folder / "copy")
            os.replace(self.folder / "copy", path)

        for change, says in (touch, b"overwritten or touched"), (replace, b"replaced or removed"), (os.unlink, b"replaced or removed"):
            for words in ["filter"], ["--filter", "other", "--filter", "filter"]:
                for name in "filter", "other":
                    self.write(name, file_form("classic", 8000, 9, IN))
                process = self.start("bfquery", "--mark", *words)
                self.assertEqual(self.turn(process, OUT[0]), b"0\t%s\n" % OUT[0])
                change(self.folder / "filter")
                for key in OUT[0], IN[0], OUT[1]:
                    self.assertEqual(self.turn(process, key), b"1\t%s\n" % key)
                process.stdin.close()
                self.assertEqual(process.wait(), 2)
                message = process.stderr.read()
                self.assertEqual((message.count(b"\n"), says in message), (1, True), message)


class Given(QueryTest):
    """-e: keys on the command line."""

    def test_keys_of_the_command_line_are_looked_up_like_input(self):
        one, two, none = IN[0].decode(), IN[1].decode(), OUT[0].decode()
        self.write("keys", lines(IN[2], OUT[2]))
        for words, out, status in (
                (["-e", one, "-e", none, "--key", two], lines(*IN[:2]), 0), (["-e", none], b"", 1), (["-e", ""], b"", 1),
                (["-c", "-e", one], b"1\n", 0), (["-v", "-e", one, "-e", none], lines(OUT[0]), 0), (["-0", "-e", one], IN[0] + b"\0", 0),
                (["-nH", "-e", none, "-e", one], b"(command line):2:%s\n" % IN[0], 0), (["--crlf", "-e", one + "\r"], IN[0] + b"\r\n", 0)):
            self.assertEqual(self.output("bfquery", *words, "filter", status=status, stdin=lines(*IN)), out)
        self.assertEqual(self.output("bfquery", "-e", one, "filter", "keys"), lines(IN[0], IN[2]))
        self.assertEqual(self.output("bfquery", "-e", one, "filter", "-", stdin=lines(IN[4])), lines(IN[0], IN[4]))
        self.create("-q", "-x4", stdin=b"abcdefgh", name="fours")
        self.assertEqual(self.output("bfquery", "-x4", "-e", "efgh", "-e", "abcd", "fours"), b"efghabcd")
        self.assertIn("'abc' has 3 bytes, not the 4 of -x", self.trouble("bfquery", "-x4", "-e", "abc", "fours"))
        for words in ["--field", 1], ["--header"], ["--csv", "--field", 1], ["--json", "a"]:
            self.assertRegex(self.trouble("bfquery", *words, "-e", "x", "filter"), "-e/--key gives whole keys|this build has no JSON")

    def test_key_of_the_command_line_may_have_newlines(self):
        self.create("-q", "-0", stdin=b"New\nYork\0new\nark\0", name="cities")
        for words, out in (([], b"New\nYork\n"), (["-0"], b"New\nYork\0"), (["-c"], b"1\n"), (["--names"], b"cities\tNew\nYork\n"),
                           (["-nH"], b"(command line):1:New\nYork\n"), (["--crlf"], b"New\nYork\n"),
                           (["-e", "new\nark"], b"new\nark\nNew\nYork\n"),
                           (["-nH", "-e", "absent\nkey", "-e", "new\nark"], b"(command line):2:new\nark\n(command line):3:New\nYork\n")):
            self.assertEqual(self.output("bfquery", *words, "-e", "New\nYork", "cities"), out)
        self.create("-q", "-i", "-0", stdin=b"New\nYork\0", name="folded")
        self.assertEqual(self.output("bfquery", "-i", "-n", "-e", "", "-e", "NEW\nYORK", "folded"), b"2:NEW\nYORK\n")
        self.create("-q", stdin=lines(b"New", b"York"), name="halves")
        self.assertEqual(self.output("bfquery", "-e", "New\nYork", "halves", status=1), b"")

    def test_long_keys_on_the_command_line_are_looked_up(self):
        many = [word for key in IN for word in ("-e", key.decode())] + ["-e", "x" * 100_000]
        self.assertEqual(self.output("bfquery", *many, "filter"), lines(*IN))


class Answers(QueryTest):
    def test_prints_members_in_the_order_of_the_input(self):
        mixed = IN[:25] + OUT[:25] + IN[25:] + OUT[25:]
        random.Random(2).shuffle(mixed)
        self.assertEqual(self.query("filter", stdin=lines(*mixed)),
                         [key for key in mixed if key in IN])
        for option in "-v", "--invert-match":
            self.assertEqual(self.query(option, "filter", stdin=lines(*mixed)),
                             [key for key in mixed if key in OUT])

    def test_repeated_key_is_printed_each_time(self):
        self.assertEqual(self.query("filter", stdin=lines(IN[0], IN[0], OUT[0], IN[0])), IN[:1] * 3)

    def test_exit_status_shows_whether_a_key_matched(self):
        for words, stdin, status, out in (
                ([], IN, 0, lines(*IN)), ([], OUT, 1, b""), ([], [], 1, b""),
                (["-v"], OUT, 0, lines(*OUT)), (["-v"], IN, 1, b""), (["-v"], [], 1, b""),
                (["-c"], IN, 0, b"50\n"), (["-c"], OUT, 1, b"0\n"), (["-c"], [], 1, b"0\n"),
                (["-vc"], OUT + IN[:3], 0, b"50\n"), (["-cv"], IN, 1, b"0\n"),
                (["--count", "--invert-match"], OUT, 0, b"50\n"),
                (["-q"], IN, 0, b""), (["-q"], OUT, 1, b""), (["-q"], OUT + IN[:1], 0, b""),
                (["-qv"], IN, 1, b""), (["-qv"], OUT, 0, b""), (["--quiet"], [], 1, b""),
                (["-qc"], IN, 0, b""), (["-cqv"], IN, 1, b"")):
            with self.subTest(words=words, keys=len(stdin), first=stdin[:1]):
                self.assertEqual(self.output("bfquery", *words, "filter", stdin=lines(*stdin),
                                             status=status), out)

    def test_files_and_standard_input_are_read_in_order(self):
        self.write("one", lines(*IN[:3], *OUT))
        self.write("two", lines(*IN[5:7]))
        self.assertEqual(self.query("filter", "one", "-", "two", stdin=lines(IN[4], OUT[0])),
                         IN[:3] + [IN[4]] + IN[5:7])
        self.assertEqual(self.query("filter", "-", stdin=lines(IN[4])), [IN[4]])
        self.assertEqual(self.query("filter", "two", stdin=lines(IN[4])), IN[5:7])
        self.assertEqual(self.query("filter", "two", "two"), IN[5:7] * 2)

    def test_options_may_follow_operands(self):
        self.write("keys", lines(IN[0], OUT[0]))
        self.assertEqual(self.query("filter", "keys", "-v"), OUT[:1])

    def test_last_line_gets_a_newline(self):
        self.assertEqual(self.output("bfquery", "filter", stdin=IN[0]), IN[0] + b"\n")
        self.write("one", IN[0])
        self.write("two", IN[1])
        self.assertEqual(self.query("filter", "one", "two"), IN[:2])

    def test_keys_of_any_bytes_are_found(self):
        keys = [b"", b"\0", b"a\0b", b"\r", b"a\r", b"\xff\xfe", bytes(range(11, 256)), b" a ",
                b"-v"]
        self.write("filter", file_form("classic", 8000, 9, keys))
        self.assertEqual(self.query("filter", stdin=lines(*keys)), keys)
        self.assertEqual(self.query("-v", "filter", stdin=lines(*keys), status=1), [])
        others = [b"\0\0", b"a", b"a\0", b"a\0c", b"\xfe\xff", b" a"]
        self.assertEqual(self.query("-v", "filter", stdin=lines(*others)), others)

    def test_long_keys_are_found(self):
        keys = [b"x" * 3_000_000, b"y" * 2**20, b"z" * (2**20 - 1)]
        self.create("-q", stdin=lines(*keys), name="filter")
        self.assertEqual(self.query("filter", stdin=lines(*keys, b"", b"short")), keys)

    def test_lines_of_any_length_are_printed_whole(self):
        """Matches are moved to the front of the piece, over the absent line before them."""
        numbers = random.Random(1)
        sizes = [1, 31, 32, 33, 40, 63, 64, 65, 70, 95, 96, 97, 128, 200, 255, 256, 257, 300, 5000]
        present = [numbers.randbytes(size).hex().encode()[:size] for size in sizes]
        self.write("filter", file_form("classic", 8000, 9, present))
        for absent in 1, 2, 15, 30, 31, 32, 63, 500:
            for key in present:
                self.write(f"keys{len(key)}", lines(b"-" * absent, key))
            names = [f"keys{size}" for size in sizes]
            self.assertEqual(self.output("bfquery", "-j1", "filter", *names), lines(*present))

    def test_null_option_ends_keys_with_zero_bytes(self):
        keys = [b"a\nb", b"", b"c"]
        self.write("filter", file_form("classic", 8000, 9, keys))
        for option in "-0", "--null":
            self.assertEqual(self.output("bfquery", option, "filter", stdin=b"a\nb\0\0c\0no\0"),
                             b"a\nb\0\0c\0")
            self.assertEqual(self.output("bfquery", option, "-v", "filter", stdin=b"a\nb\0no"),
                             b"no\0")
            self.assertEqual(self.output("bfquery", option, "-c", "filter", stdin=b"a\nb\0no"),
                             b"1\n")

    def test_record_size_option_splits_fixed_records(self):
        keys = [struct.pack("<I", 10 * i) for i in range(40)]
        self.write("filter", file_form("classic", 8000, 9, keys))
        others = [struct.pack("<I", 10 * i + 1) for i in range(40)]
        for words in ["-x4"], ["--record-size", "4"]:
            self.assertEqual(self.output("bfquery", *words, "filter",
                                         stdin=b"".join(keys + others)), b"".join(keys))
            self.assertEqual(self.output("bfquery", "-v", *words, "filter",
                                         stdin=b"".join(keys + others)), b"".join(others))

    def test_max_count_stops_after_that_many_matches(self):
        keys = numbered(40_000)
        self.create("-q", "-p", "1e-9", stdin=lines(*keys[::2]), name="some")
        self.write("all", lines(*keys))
        for words in ["-j1"], ["-j4"]:
            for most in 1, 2, 999, 19_999, 20_000, 20_001:
                for more, wanted in ([], keys[::2]), (["-v"], keys[1::2]):
                    self.assertEqual(self.output("bfquery", *words, *more, "-m", most, "some", "all"),
                                     lines(*wanted[:most]))
                    self.assertEqual(self.output("bfquery", *words, *more, "-c", "--max-count", most, "some",
                                                 "all"), b"%d\n" % min(most, 20_000))
            self.assertEqual(self.output("bfquery", *words, "-m", 20_001, "some", "all", "all"),
                             lines(*keys[::2], keys[0]))
            self.output("bfquery", *words, "-m", 3, "some", "missing", "all", status=2,
                        says=b"bfquery: cannot open missing: No such file or directory (for a key: bfquery -e KEY FILE)\n")
        for _ in range(20):  # another thread may find matches after the last, which do not count
            process = self.start("bfquery", "-j4", "-v", "-m", 20_000, "some", "all", "missing")
            self.assertEqual(process.stdout.read(), lines(*keys[1::2]))
            self.assertEqual(process.wait(), 0)
        self.output("bfquery", "-m", 1, "some", status=1, stdin=b"none\n")
        process = self.start("bfquery", "-m", 2, "some")
        self.feed(process, *keys[:5])
        self.assertEqual(process.stdout.read(), lines(keys[0], keys[2]))
        self.assertEqual(process.wait(), 0)

    def test_crlf_option_ignores_carriage_returns(self):
        self.assertEqual(self.query("filter", stdin=b"key 1\r\n\n", status=1), [])
        mixed = b"key 1\r\nabsent\r\nkey 2\nkey 3\r\r\nkey 4\r"
        self.assertEqual(self.output("bfquery", "--crlf", "filter", stdin=mixed),
                         b"key 1\r\nkey 2\nkey 4\r\n")
        self.assertEqual(self.output("bfquery", "--crlf", "-v", "filter", stdin=mixed),
                         b"absent\r\nkey 3\r\r\n")

    def test_many_keys_are_found(self):
        count = 20_000 if SANITIZED else 300_000
        keys, others = numbered(count), numbered(count, "absent ")
        mixed = [key for pair in zip(keys, others) for key in pair]
        self.write("mixed", lines(*mixed))
        for layout in "blocked", "classic", "counting":
            self.create("-q", "-l", layout, "-p", "1e-9", stdin=lines(*keys), name="big")
            self.assertEqual(self.query("big", "mixed"), keys)
            self.assertEqual(self.query("-v", "big", "mixed"), others)

    def test_positions_beyond_32_bits_are_found(self):
        """Sparse filters of 16 GiB, built by hand."""
        for layout, m in ("blocked", 2**37), ("classic", 2**37), ("counting", 2**35):
            with self.subTest(layout):
                self.write_sparse("huge", layout, m, 7, IN[:5])
                if IN_32_BITS:
                    self.assertIn("address space",
                                  self.trouble("bfquery", "huge", stdin=lines(*IN[:5]), names=["huge"]))
                    continue
                self.assertEqual(self.query("huge", stdin=lines(*IN[:9], *OUT[:9])), IN[:5])
                report = self.output("bfinspect", "--quick", "--report", "-", "huge")
                self.assertIn(b'"m":%d' % m, report)
                self.assertIn(b'"capacity":5000000000', report)
                self.assertGreater(self.output("bfinspect", "--quick", "huge").count(b"\n"), 9)

    def write_sparse(self, name, layout, m, k, keys):
        """A filter of few keys. Pages without bits are holes in the file."""
        bits, page = 4 if layout == "counting" else 1, 4096
        pages = {}
        for x in (x for key in keys for x in craft.positions(layout, m, k, key)):
            byte, shift = divmod(x * bits, 8)
            pages.setdefault(byte // page, bytearray(page))[byte % page] |= 1 << shift
        size = m * bits // 8
        small = craft.make(layout, 512, k)
        body_crc = craft.field(small, "body_crc", 0)
        header = craft.edit(small, header={"m": m, "body_size": size, "m_unfolded": m,
                                           "capacity": 5 * 10**9},
                            record={"n": len(keys), "ones": k * len(keys)})[:page]
        sums = bytearray(craft.entries(bytes(page), body_crc) * (size // page))
        with open(self.folder / name, "wb") as file:
            file.write(header)
            for number, body in pages.items():
                try:
                    file.seek(page + number * page)
                    file.write(body)
                except OSError as error:
                    self.skipTest(f"the file system has no files as large: {error.strerror}")
                sums[4 * number:4 * number + 4] = craft.entries(body, body_crc)
            file.seek(page + size)
            file.write(sums)


class Streams(QueryTest):
    def test_answers_are_printed_before_more_is_read(self):
        process = subprocess.Popen(self.command("bfquery", "filter"), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, cwd=self.folder,
                                   env=self.environment())
        timer = threading.Timer(TIMEOUT, process.kill)
        timer.start()
        for key in IN[:3]:
            process.stdin.write(OUT[0] + b"\n" + key + b"\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), key + b"\n")
        self.assertEqual(process.communicate()[0], b"")
        timer.cancel()
        self.assertEqual(process.returncode, 0)

    def test_quiet_stops_at_the_first_match(self):
        process = subprocess.Popen(self.command("bfquery", "-q", "filter"), stdin=subprocess.PIPE,
                                   cwd=self.folder, env=self.environment())
        process.stdin.write(IN[0] + b"\n")
        process.stdin.flush()
        self.assertEqual(process.wait(TIMEOUT), 0)
        process.stdin.close()

    def test_pipe_to_head_ends_the_run(self):
        keys = numbered(200_000)
        self.write("many", lines(*keys))
        self.create("-q", "-p", "0.1", "many", name="filter")
        process = subprocess.Popen(self.command("bfquery", "filter", "many"),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=self.folder, env=self.environment())
        self.assertEqual(process.stdout.readline(), keys[0] + b"\n")
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait(TIMEOUT)), (b"", -signal.SIGPIPE))
        process.stderr.close()

    def test_broken_pipe_is_an_error_if_sigpipe_is_ignored(self):
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "wb") as broken:
            result = self.run_tool("bfquery", "filter", stdin=lines(*IN), stdout=broken,
                                   restore_signals=False)
        self.assertEqual(result.returncode, 2)
        self.check_message("bfquery", result.stderr, "standard output")

    def test_full_standard_output_is_an_error(self):
        for words in [], ["-v"], ["-c"], ["--help"], ["--version"]:
            with open("/dev/full", "wb") as full:
                result = self.run_tool("bfquery", *words, "filter", stdin=lines(*IN, *OUT),
                                       stdout=full)
            self.assertEqual(result.returncode, 2, words)
            self.check_message("bfquery", result.stderr, "standard output")

    def test_nothing_to_print_needs_no_standard_output(self):
        with open("/dev/full", "wb") as full:
            for words, status in (["-q"], 0), (["-v"], 1):
                result = self.run_tool("bfquery", *words, "filter", stdin=lines(*IN), stdout=full)
                self.assertEqual((result.returncode, result.stderr), (status, b""))

    def test_closed_standard_output_is_an_error(self):
        result = self.run_tool("bfquery", "filter", stdin=lines(*IN), stdout=None,
                               preexec_fn=lambda: os.close(1))
        self.assertEqual(result.returncode, 2)
        self.check_message("bfquery", result.stderr, "standard output")

    def test_closed_standard_input_is_an_error(self):
        for inputs in [], ["-"]:
            self.trouble("bfquery", "filter", *inputs, stdin=None, names=["standard input"],
                         preexec_fn=lambda: os.close(0))
        self.write("keys", lines(*IN))
        self.assertEqual(self.query("filter", "keys", stdin=None,
                                    preexec_fn=lambda: os.close(0)), IN)

    def test_closed_standard_error_keeps_the_exit_status(self):
        for words, status in (["filter"], 0), (["no-such-filter"], 2), (["filter", "nothing"], 2):
            before = self.snapshot()
            result = self.run_tool("bfquery", *words, stdin=lines(*IN),
                                   preexec_fn=lambda: os.close(2))
            self.assertEqual(result.returncode, status)
            self.assertEqual(self.snapshot(), before)

    def test_sigint_ends_a_waiting_run(self):
        process = subprocess.Popen(self.command("bfquery", "filter"), stdin=subprocess.PIPE,
                                   cwd=self.folder, env=self.environment())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(TIMEOUT), -signal.SIGINT)
        process.stdin.close()


class Trouble(QueryTest):
    def test_wrong_command_lines_are_refused(self):
        self.trouble("bfquery")
        self.trouble("bfquery", "-v")
        for words in ["-Y"], ["--nonsense"], ["-x"], ["--record-size"], ["-x0"], ["-x", ""], ["-x-1"], [
                "-0", "-x4"], ["--crlf", "-0"], ["-x4", "--crlf"], ["--verify=1"], ["-x1.5"]:
            message = self.trouble("bfquery", "filter", *words)
            self.assertIn("--help", message)

    def test_unreadable_key_file_does_not_stop_the_query(self):
        self.write("good", lines(IN[0], OUT[0]))
        (self.folder / "folder").mkdir()
        for bad in "no-such-file", "folder", "":
            self.trouble("bfquery", "filter", bad, "good", names=[bad], out=IN[0] + b"\n")
            self.trouble("bfquery", "filter", "good", bad, names=[bad], out=IN[0] + b"\n")
            self.trouble("bfquery", "-c", "filter", bad, "good", names=[bad], out=b"1\n")
            self.trouble("bfquery", "filter", bad, names=[bad])
        self.assertEqual(self.run_tool("bfquery", "-q", "filter", "nothing", "good").returncode, 0)
        self.assertEqual(self.run_tool("bfquery", "-q", "filter", "good", "nothing").returncode, 0)

    def test_incomplete_record_is_an_error(self):
        keys = [b"abcd", b"efgh"]
        self.write("filter", file_form("classic", 800, 9, keys))
        message = self.trouble("bfquery", "-x4", "filter", stdin=b"abcdefghij", out=b"abcdefgh")
        self.assertIn("2 of 4 bytes", message)

    def test_control_characters_in_names_are_shown_harmlessly(self):
        for name in "\x1b[2J", "new\nline", "\u009b2J", "\udcff":
            for locale in "C", "C.UTF-8":
                self.trouble("bfquery", name, locale=locale)
                self.trouble("bfquery", "filter", name, locale=locale)


class Shrinking(ToolTest):
    def test_filter_truncated_during_a_query_is_an_error(self):
        self.write("big", file_form("classic", 8 * 4096 * 8, 9, [b"key"]))
        with subprocess.Popen(self.command("bfquery", "big"), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              env=self.environment()) as process:
            process.stdin.write(b"key\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), b"key\n")
            os.truncate(self.folder / "big", 0)
            _, message = process.communicate(lines(*(b"%d" % i for i in range(99))),
                                             timeout=TIMEOUT)
        self.assertEqual(process.returncode, 2, message)
        self.check_message("bfquery", message, "big", "shrank")


class Damage(ToolTest):
    """A filter of two pages. Every key must be found, wherever the damage is."""

    def setUp(self):
        super().setUp()
        self.keys = numbered(900)
        self.image = craft.make("blocked", 64 * 512 + 20 * 512, 9, self.keys, embedded=True)
        self.others = lines(*numbered(2000, "absent "))

    def damaged(self, image, pages):
        """Checks a damaged body: all keys are printed, the status is 2, and one line gives the reason."""
        self.write("bad", image)
        result = self.run_tool("bfquery", "bad", stdin=lines(*self.keys))
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, lines(*self.keys))
        self.check_message("bfquery", result.stderr, "bad", f"{pages} page", "damaged")

    def test_damaged_page_answers_maybe(self):
        self.write("good", self.image)
        self.assertEqual(self.query("good", stdin=self.others, status=1), [])
        self.damaged(craft.flip(self.image, 512 + 100), 1)
        result = self.run_tool("bfquery", "bad", stdin=self.others)
        self.assertEqual(result.returncode, 2)
        on_the_page = [key for key in self.others.splitlines()
                       if craft.positions("blocked", 84 * 512, 1, key)[0] < 8 * 4096]
        self.assertEqual(result.stdout, lines(*on_the_page))

    def test_lost_pages_answer_maybe(self):
        for start, size, pages in (0, 4096, 1), (4096, 1280, 1), (0, 5376, 2):
            for fill in b"\0", b"\xff":
                at = {512 + start: fill * size}
                self.damaged(craft.edit(self.image, at=at, checksums=False), pages)

    def test_pages_of_another_filter_answer_maybe(self):
        """They have valid checksums, as an interrupted copy over an old file leaves them."""
        other = craft.make("blocked", 84 * 512, 9, numbered(900, "other "), embedded=True)
        sums = 512 + 5376
        for at in ({512: other[512:4608], sums: other[sums:sums + 4]},
                   {4608: other[4608:sums], sums + 4: other[sums + 4:]}):
            self.damaged(craft.edit(self.image, at=at), 1)
        self.damaged(self.image[:512] + other[512:], 2)

    def test_swapped_and_wrong_checksums_answer_maybe(self):
        sums = 512 + 5376
        self.damaged(craft.edit(self.image, at={sums: self.image[-4:] + self.image[sums:sums + 4]},
                                checksums=False), 2)
        self.damaged(craft.flip(self.image, sums + 4), 1)

    def test_any_flipped_bit_answers_maybe(self):
        chosen = random.Random(3)
        for _ in range(20 if SANITIZED else 100):
            offset = chosen.randrange(512, len(self.image))
            self.damaged(craft.flip(self.image, offset, chosen.randrange(8)), 1)

    def test_damage_of_other_pages_is_found_only_with_verify(self):
        first = [key for key in self.keys
                 if all(x < 8 * 4096 for x in craft.positions("blocked", 84 * 512, 9, key))]
        self.write("bad", craft.flip(self.image, 512 + 4096 + 9))
        self.assertEqual(self.query("bad", stdin=lines(*first)), first)
        message = self.trouble("bfquery", "--verify", "bad", stdin=lines(*first), names=["bad"])
        self.assertIn("page", message)

    def test_keys_on_a_damaged_page_match_with_count_and_quiet(self):
        self.write("bad", craft.flip(self.image, 512 + 100))
        result = self.run_tool("bfquery", "-c", "bad", stdin=lines(*self.keys))
        self.assertEqual((result.returncode, result.stdout), (2, b"900\n"))
        self.assertEqual(self.run_tool("bfquery", "-q", "bad", stdin=lines(*self.keys)).returncode,
                         0)
        self.assertEqual(self.run_tool("bfquery", "-qv", "bad", stdin=lines(*self.keys)).returncode,
                         2)

    def test_damaged_headers_are_refused(self):
        for name in "header-bit-flipped", "truncated-to-576", "trailing-byte", "record-0-damaged":
            self.trouble("bfquery", REFUSED / f"{name}.bloom", stdin=b"bloomfile\n", names=[name])

    def test_verify_of_a_sound_file_succeeds(self):
        self.write("good", self.image)
        self.assertEqual(self.query("--verify", "good", stdin=lines(*self.keys)), self.keys)


if __name__ == "__main__":
    main()
