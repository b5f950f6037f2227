# SPDX-License-Identifier: MIT
"""bfcommon: it prints exactly the lines that `comm` finds, in any form of input."""

import array
import os
import random
import re
import subprocess
import sys
import threading
import unittest

from support import SANITIZED, ToolTest, lines, main, numbered

SMALL = ["--memory", "16Mi"]


def read_lines(data):
    """The lines of a file, the last of which may lack its newline."""
    found = data.split(b"\n")
    return found[:-1] if found[-1] == b"" else found


class CommonTest(ToolTest):
    def check(self, expected, *arguments, **options):
        """Checks that these lines are printed, and that --count prints their number."""
        expected = sorted(expected)
        status = 0 if expected else 1
        self.assertEqual(self.output("bfcommon", "--as-is", *arguments, status=status, **options),
                         lines(*expected))
        self.assertEqual(self.output("bfcommon", "--as-is", "--count", *arguments, status=status, **options),
                         b"%d\n" % len(expected))

    def check_both(self, *names, options=()):
        """Compares common lines and differences of these files with those of Python's sets."""
        sets = [set(read_lines(self.read(name))) for name in names]
        self.check(set.intersection(*sets), *options, *names)
        self.check(sets[0].difference(*sets[1:]), "-d", *options, *names)


class Answers(CommonTest):
    def test_output_equals_that_of_comm(self):
        choose = random.Random(7)
        for name in "a", "b":
            self.write(name, lines(*(b"%d" % choose.randrange(3000) for _ in range(4000))))
        for options, columns in ([], "-12"), (["-d"], "-23"):
            script = f"sort -u a >a.sorted; sort -u b >b.sorted; comm {columns} a.sorted b.sorted"
            expected = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE,
                                      cwd=self.folder, env={**os.environ, "LC_ALL": "C"}).stdout
            self.assertGreater(len(expected), 1000)
            self.assertEqual(self.output("bfcommon", *options, "a", "b"), expected)

    def test_last_line_may_lack_its_newline_in_every_form(self):
        """Sizes at which malloc() notices a byte too many."""
        for size in 2, 16, 24, 40, 56, 72:
            for form, line in (("--domains", b"A" * size), ("--domains", b"A" * (size - 1) + b"."), ("-i", b"A" * size),
                               ("--hex", b"0A" * (size // 2)), ("--integers", b"1".zfill(size))):
                with self.subTest(form=form, size=size):
                    self.write("a", line)
                    self.assertEqual(self.output("bfcommon", form, "a", "a"), line + b"\n")

    def test_random_files_give_the_exact_result(self):
        kinds = {
            "short": lambda r: bytes(r.choices(b"ab\0\xff", k=r.randrange(7))),
            "zeros": lambda r: bytes(r.choices(b"\0\1", k=r.randrange(20))),
            "prefixes": lambda r: b"x" * r.randrange(40) + bytes(r.choices(b"\0x", k=1)) * 2,
            "urls": lambda r: b"http://www.example.com/%d" % r.randrange(3000),
            "long": lambda r: b"L" * r.choice((1000, 70_000, 300_000)) + b"%d" % r.randrange(9),
        }
        for seed in range(10 if SANITIZED else 40):
            choose = random.Random(seed)
            kind = choose.choice(list(kinds))
            names, before = [], []
            for number in range(choose.randint(2, 5)):
                count = choose.choice((0, 1, 20) if kind == "long" else (0, 1, 300, 5000))
                found = [kinds[kind](choose) for _ in range(count)]
                found += before if choose.random() < 0.4 else []
                end = b"\n" if found and choose.random() < 0.7 else b""
                names.append(self.write(f"file{number}", b"\n".join(found) + end))
                before = found
            with self.subTest(seed=seed, kind=kind, files=len(names)):
                self.check_both(*names, options=SMALL if seed % 2 else [])

    def test_lines_that_are_prefixes_of_others_are_distinct(self):
        """The order of lines that differ only in length or near the end."""
        found = [b"a" * length for length in range(200)]
        found += [b"a" * length + b"\0" for length in range(200)]
        self.write("a", lines(*found))
        self.write("b", lines(*reversed(found)))
        self.check_both("a", "b")

    def test_equal_disjoint_and_empty_files_are_compared(self):
        self.write("a", lines(*numbered(5000), *numbered(100)))
        self.write("b", lines(*numbered(5000, "other ")))
        self.write("empty", b"")
        for names in (["a", "a"], ["a", "a", "a"], ["a", "b"], ["a", "empty"], ["empty", "a"],
                      ["empty", "empty"], ["a", "a", "b"], ["a", "b", "empty"]):
            with self.subTest(names=names):
                self.check_both(*names)
        self.check([], "a", "/dev/null")
        self.check(numbered(5000), "-d", "a", "/dev/null")

    def test_the_first_file_of_a_difference_need_not_be_the_smallest(self):
        self.write("a", lines("x", "y", "z", *numbered(1000)))
        self.write("b", lines("y"))
        self.write("c", lines(*numbered(2000)))
        self.check([b"x", b"z"], "-d", "a", "b", "c")
        self.check([], "-d", "b", "c", "a")
        self.check([b"y"], "a", "b")

    def test_last_line_needs_no_newline(self):
        self.write("a", b"x\ny")
        self.write("b", b"y\nz")
        self.check([b"y"], "a", "b")
        self.check([b"x"], "-d", "a", "b")

    def test_empty_lines_are_compared(self):
        self.write("a", b"\n\nx\n")
        self.write("b", b"\ny\n")
        self.check([b""], "a", "b")
        self.check([b"x"], "-d", "a", "b")

    def test_lines_of_a_megabyte_are_compared(self):
        found = [bytes([97 + i]) * size for i in range(12) for size in (10**6, 2**20)]
        self.write("a", lines(*found, *found[:5]))
        self.write("b", lines(*reversed(found[3:]), "short"))
        self.write("c", lines(*found[4:20]))
        self.check_both("a", "b", "c", options=SMALL)

    def test_csv_records_of_many_lines_may_come_from_pipes(self):
        self.write("a", b'k1,x\nk2,"' + 30_000 * b"a line of text\n" + b'"\nk3,z\n')
        self.write("b", b"k2,1\nk3,2\n")
        self.assertEqual(self.output("bfcommon", "-c", "--csv", "--field", 1, "-", "b", stdin=self.read("a")), b"2\n")

    def test_all_input_forms_are_compared(self):
        for options, a, b, both, only in (
                (["-0"], b"x\ny\0\0z", b"z\0\0x", b"\0z\0", b"x\ny\0"),
                (["-x3"], b"abcdefabc", b"xyzabc", b"abc", b"def"),
                (["--crlf"], b"a\r\nb\nc\r\r\nd\r", b"a\nc\r\nd\r\n", b"a\nd\n", b"b\nc\r\n"),
                ([], b"a\r\nb\n", b"a\nb\n", b"b\n", b"a\r\n")):
            with self.subTest(options=options):
                self.write("a", a)
                self.write("b", b)
                self.assertEqual(self.output("bfcommon", *options, "a", "b"), both)
                self.assertEqual(self.output("bfcommon", *options, "-d", "a", "b"), only)


class Inputs(CommonTest):
    """Each input can be standard input, a pipe, or a file that is read from its middle."""

    def setUp(self):
        super().setUp()
        self.both = numbered(3000)
        self.write("a", lines(*self.both, "only a"))
        self.write("b", lines("only b", *self.both))

    def test_standard_input_can_be_any_file(self):
        data = self.read("b")
        self.check(self.both, "a", "-", stdin=data)
        self.check(self.both, "-", "a", stdin=data)
        self.check([b"only b"], "-d", "-", "a", stdin=data)
        self.check([b"only a"], "-d", "a", "-", stdin=data)

    def test_standard_input_is_read_from_its_offset(self):
        for wanted, options in ((self.both[1:], []), ([], ["-d"])):
            with open(self.folder / "b", "rb") as file:
                file.seek(len(b"only b\nkey 0\n"))
                self.assertEqual(
                    self.output("bfcommon", *options, "-", "a", stdin=file,
                                status=0 if wanted else 1), lines(*sorted(wanted)))

    def test_second_carriage_return_stays_in_the_key(self):
        """The pipe is copied before it is read, and only one carriage return may be removed."""
        self.write("a", b"x\r\n")
        self.check([b"x\r"], "-d", "--crlf", "-", "a", stdin=b"x\r\r\n")
        self.write("a", b"x\r\r\n")
        self.check([b"x\r"], "--crlf", "-", "a", stdin=b"x\r\r\n")

    def test_pipes_can_be_files(self):
        for options, wanted in (([], self.both), (["-d"], [b"only a"])):
            feeders = []
            for name in "a", "b":
                fifo = self.folder / f"fifo {name} {len(options)}"
                os.mkfifo(fifo)
                feeders.append(threading.Thread(target=fifo.write_bytes, args=[self.read(name)]))
                feeders[-1].start()
            out = self.output("bfcommon", *options, *(self.folder / f"fifo {name} {len(options)}"
                                                      for name in "ab"))
            for feeder in feeders:
                feeder.join()
            self.assertEqual(out, lines(*sorted(wanted)))


class Passes(CommonTest):
    def stats(self, *arguments):
        """The passes that --stats prints, as (what, read, kept), and the number of lines found."""
        result = self.run_tool("bfcommon", "--stats", *SMALL, "-c", *arguments)
        *passes, last = result.stderr.decode().splitlines()
        pattern = r"bfcommon: (.*): (\d+) read, (\d+) kept(?:, put into a filter of [\d.]+ \w+)?"
        found = [re.fullmatch(pattern, line).groups() for line in passes]
        count = re.fullmatch(r"bfcommon: (\d+) lines? found", last)[1]
        self.assertEqual(result.stdout.decode(), count + "\n")
        return [(what, int(read), int(kept)) for what, read, kept in found], int(count)

    def test_stats_count_passes_and_lines(self):
        self.write("a", lines(*numbered(1000)))
        self.write("b", lines(*numbered(1200)[700:] * 2))
        self.write("c", lines(*numbered(5000)[900:]))
        passes, count = self.stats("c", "b", "a")
        self.assertEqual(count, 100)
        self.assertEqual([(what, read) for what, read, _ in passes],
                         [("a", 1000), ("b", 1000), ("c", 4100), ("a again", 1000)])
        for (_, _, kept), expected in zip(passes, (1000, 600, 100, 100)):
            self.assertTrue(expected <= kept <= expected + 10, passes)

    def test_files_without_common_lines_are_not_read_twice(self):
        self.write("a", lines(*numbered(3)))
        self.write("b", lines(*numbered(3, "other ")))
        self.write("c", lines(*numbered(9, "third ")))
        self.assertEqual(self.stats("a", "b", "c"), ([("a", 3, 3), ("b", 3, 0)], 0))

    def test_difference_takes_the_expected_passes(self):
        self.write("a", lines(*numbered(1000)))
        self.write("b", lines(*numbered(1200)[700:]))
        passes, count = self.stats("-d", "a", "b")
        self.assertEqual(count, 700)
        self.assertEqual([what for what, _, _ in passes], ["a", "b", "a again"])
        self.assertTrue(300 <= passes[2][2] < 310, passes)

    def test_wrong_line_estimate_does_not_change_the_result(self):
        """Samples are taken where lines are long, so the filter is too small and lets nearly all lines pass."""
        long = [b"%d" % i + b"L" * (2**16 - 7 * 7000 - 3 - i // 10) for i in range(16)]
        short = [b"%06d" % i for i in range(16 * 7000)]
        self.write("a", b"".join(lines(long[i], *short[i * 7000:(i + 1) * 7000])
                                 for i in range(16)))
        self.write("b", lines(*(b"%06d" % i for i in range(50_000, 150_000))))
        passes, _ = self.stats("-d", "a", "b")
        self.assertGreater(passes[1][2], 99_000)
        self.assertGreater(passes[2][2], 99_000)
        self.check_both("a", "b", options=SMALL)
        self.check_both("b", "a", options=SMALL)

    @unittest.skipIf(SANITIZED, "too slow")
    def test_filters_that_are_too_small_do_not_change_the_result(self):
        """A third of the lines pass by mistake. They are filtered again, and the result is exact."""
        count, both = 20_000_000, 100_000
        for name, first in ("a", 0), ("b", count - both):
            records = array.array("I", range(first, first + count))
            if sys.byteorder == "little":
                records.byteswap()
            with open(self.folder / name, "wb") as file:
                records.tofile(file)
        passes, found = self.stats("-x4", "a", "b")
        self.assertEqual(found, both)
        again = [(read, kept) for what, read, kept in passes if what.endswith("kept lines")]
        self.assertGreaterEqual(len(again), 2)
        self.assertTrue(all(both <= kept < read * 2 // 3 for read, kept in again[:2]), passes)
        out = self.output("bfcommon", *SMALL, "-x4", "b", "a")
        expected = array.array("I", range(count - both, count))
        if sys.byteorder == "little":
            expected.byteswap()
        self.assertEqual(out, expected.tobytes())


if __name__ == "__main__":
    main()
