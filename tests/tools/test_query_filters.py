# SPDX-License-Identifier: MIT
"""bfquery of several filters in one pass, and the input, number and filters that it prints with each line."""

import random
import subprocess

from support import ToolTest, lines, main, numbered, sha256

EXACT = "-q", "-p", "1e-9"


class QueryTest(ToolTest):
    def filter_of(self, name, keys, *options):
        self.create(*EXACT, *options, stdin=lines(*keys), name=name)
        return name

    def grep(self, *words):
        return subprocess.run(["grep", *words], cwd=self.folder, stdout=subprocess.PIPE,
                              env=self.environment("C")).stdout


class Places(QueryTest):
    """-n and -H, compared with grep."""

    def setUp(self):
        super().setUp()
        keys = numbered(40_000)
        random.Random(3).shuffle(keys)
        self.filter_of("some", keys[::3])
        self.write("keys", lines(*keys[::3]))
        self.write("a", lines(*keys))
        self.write("b", lines(*keys[:5], b"", b"", keys[0])[:-1])
        self.write("c", b"")

    def test_prefixes_equal_those_of_grep(self):
        for words in ["-n"], ["-H"], ["-nH"], ["-nv"], ["-Hnv"]:
            for threads in "-j1", "-j4":
                wanted = self.grep("-Fx", "-h", *words, "-f", "keys", "a", "b", "c")
                self.assertEqual(self.output("bfquery", *words, threads, "some", "a", "b", "c"), wanted)
        self.assertEqual(self.output("bfquery", "-n", "-m", 3, "some", "a"),
                         self.grep("-Fxn", "-m3", "-f", "keys", "a"))
        self.assertEqual(self.output("bfquery", "-nH", "some", stdin=self.read("b")),
                         self.grep("-FxnH", "-f", "keys", "b").replace(b"b:", b"(standard input):"))
        self.assertEqual(self.output("bfquery", "-qnH", "some", "a"), b"")

    def test_file_names_are_printed_only_with_the_option(self):
        self.assertEqual(self.output("bfquery", "some", "b", "b"), 2 * self.grep("-Fxf", "keys", "b"))

    def test_skipped_lines_count_in_line_numbers(self):
        rows = [b"%d\t%d" % (i, i % 7) if i % 5 else b"%d" % i for i in range(50_000)]
        self.filter_of("seven", [b"3"])
        self.write("rows", lines(*rows))
        wanted = b"".join(b"%d:%s\n" % (i + 1, row) for i, row in enumerate(rows) if row.endswith(b"\t3"))
        for threads in "-j1", "-j4":
            self.assertEqual(self.output("bfquery", "-n", threads, "--field", 2, "--missing", "skip", "seven", "rows",
                                         says=b"bfquery: 10000 lines without the field were left out\n"), wanted)

    def test_line_number_of_a_csv_record_is_that_of_its_first_line(self):
        self.filter_of("x", [b"x"])
        data = b'h,"he\nad"\r\n1,"x"\r\n2,"\n\n"\n3,x\n"4\n",x\n5,x'
        self.assertEqual(self.output("bfquery", "-n", "--csv", "--header", "--field", 2, "x", stdin=data),
                         b'1:h,"he\nad"\r\n3:1,"x"\r\n7:3,x\n8:"4\n",x\n10:5,x\n')

    def test_zero_bytes_end_numbered_records_with_null(self):
        self.filter_of("x", [b"x\ny"])
        self.assertEqual(self.output("bfquery", "-0nH", "x", status=1, stdin=b"a\n\0"), b"")
        self.create("-0", stdin=b"x\ny\0", name="x")
        self.assertEqual(self.output("bfquery", "-0nH", "x", stdin=b"a\n\0x\ny\0"), b"(standard input):2:x\ny\0")

    def test_incompatible_options_are_refused(self):
        for words, says in ((["-cn"], "-n/--line-number and -c/--count are mutually exclusive"),
                            (["-cH"], "-H/--with-filename and -c/--count"), (["-nx4"], "-x/--record-size and -n"),
                            (["-Hx4"], "-x/--record-size and -H"), (["--names", "-x4"], "-x/--record-size and --names")):
            self.assertIn(says, self.trouble("bfquery", *words, "some", "a"))


class Several(QueryTest):
    SETS = {"a": range(0, 3000), "b": range(2000, 5000), "c": [*range(1000, 2500), *range(8000, 9000)]}

    def setUp(self):
        super().setUp()
        for name, seed, layout in ("a", 0, "blocked"), ("b", 5, "classic"), ("c", 0, "counting"):
            self.filter_of(name, [b"%d" % i for i in self.SETS[name]], "-s", seed, "-l", layout)
        self.keys = list(range(10_000))
        random.Random(5).shuffle(self.keys)
        self.write("keys", lines(*(b"%d" % i for i in self.keys)))
        self.filters = [word for name in "abc" for word in ("--filter", name)]

    def members(self, of, invert=False):
        sets = [set(numbers) for numbers in self.SETS.values()]
        return [i for i in self.keys if of(i in numbers for numbers in sets) != invert]

    def names(self, i):
        return ",".join(name for name in "abc" if i in self.SETS[name]).encode()

    def test_any_and_all_combine_filters(self):
        for threads in "-j1", "-j4":
            for words, of in ([], any), (["--any"], any), (["--all"], all):
                for invert in False, True:
                    chosen = self.members(of, invert)
                    call = ["bfquery", threads, *words, *["-v"] * invert, *self.filters]
                    self.assertEqual(self.output(*call, "keys"), lines(*(b"%d" % i for i in chosen)))
                    self.assertEqual(self.output(*call, "-c", "keys"), b"%d\n" % len(chosen))
                    self.assertEqual(self.output(*call, "-m", 7, "keys"), lines(*(b"%d" % i for i in chosen[:7])))
                    self.assertEqual(self.output(*call, "--names", "keys"),
                                     lines(*(b"%s\t%d" % (self.names(i), i) for i in chosen)))
                    sums = {name: sum(i in self.SETS[name] for i in chosen[:4000]) for name in "abc"}
                    self.assertEqual(self.output(*call, "--names", "-c", "-m", 4000, "keys"),
                                     b"".join(b"%s\t%d\n" % (name.encode(), sums[name]) for name in "abc"))

    def test_several_filters_answer_like_separate_runs(self):
        for name in "abc":
            alone = self.output("bfquery", name, "keys")
            self.assertEqual(self.output("bfquery", "--filter", name, "keys"), alone)
            self.assertEqual(self.output("bfquery", "--filter", name, "--names", "keys"),
                             lines(*(name.encode() + b"\t" + key for key in alone.splitlines())))

    def test_other_options_work_with_several_filters(self):
        self.write("good", b"2200\n")
        self.assertEqual(self.output("bfquery", "--all", *self.filters, "--unless", "good", "-nH",
                                     stdin=b"2199\n2200\n2201\n"),
                         b"(standard input):1:2199\n(standard input):3:2201\n")
        self.assertEqual(self.output("bfquery", "--names", *self.filters, "-nH", "--field", 2, "--header",
                                     stdin=b"what\tnumber\nx\t9999\ny\t2100\n"),
                         b"(standard input):1:\twhat\tnumber\n(standard input):3:a,b,c\ty\t2100\n")
        self.output("bfquery", *self.filters, "-q", stdin=b"9999\n4\n")
        self.output("bfquery", *self.filters, "-q", stdin=b"9999\n", status=1)
        self.output("bfquery", *self.filters, "--all", "-q", stdin=b"4\n", status=1)

    def test_live_and_sealed_filters_are_queried_together(self):
        self.create_live("-n", 1000, name="live")
        process = self.start("bfquery", "--filter", "live", *self.filters, "--names")
        self.feed(process, b"9999", b"1")
        self.assertEqual(process.stdout.readline(), b"a\t1\n")
        self.output("bfadd", "-q", "live", stdin=b"9999\n")
        self.assertEqual(self.result(process, b"9999\n")[:2], (0, b"live\t9999\n"))

    def test_many_filters_are_queried(self):
        names = [self.filter_of(f"f{i}", [b"%d" % i, b"all"], "-s", i % 3) for i in range(90)]
        words = [word for name in names for word in ("--filter", name)]
        wanted = [f"f{i}\t{i}" for i in range(90)] + [",".join(names) + "\tall"]
        self.assertEqual(self.output("bfquery", *words, "--names", stdin=lines(*(b"%d" % i for i in range(100)), b"all")),
                         lines(*wanted))
        self.assertEqual(self.output("bfquery", *words, "--all", stdin=b"3\nall\n"), b"all\n")


class Trouble(QueryTest):
    def setUp(self):
        super().setUp()
        self.filter_of("a", numbered(5))
        self.filter_of("b", numbered(20_000))

    def test_filter_that_cannot_be_opened_is_an_error(self):
        self.write("keys", b"key 1\n")
        self.assertIn("(for a key: bfquery -e KEY FILE)", self.trouble("bfquery", "-e", "a", "http://example.org/"))
        for name, says in ("missing", "cannot open missing: No such file"), ("keys", "cannot open keys: not a filter"):
            for words in [name, "a"], ["a", name]:
                self.assertIn(says, self.trouble("bfquery", *(w for n in words for w in ("--filter", n)), "keys"))
        self.assertIn("--filter needs", self.trouble("bfquery", "--filter", "", "keys"))
        self.assertIn("--any and --all", self.trouble("bfquery", "--any", "--all", "a", "keys"))

    def test_damaged_page_is_reported_with_the_name_of_its_filter(self):
        image = bytearray(self.read("b"))
        image[-100] ^= 1
        self.write("b", image)
        says = b"bfquery: b: 1 page damaged: keys on it were treated as present\n"
        for words in [], ["--all"], ["-v"]:
            result = self.run_tool("bfquery", "--filter", "a", *words, "--filter", "b", stdin=lines(*numbered(20_000)))
            self.assertEqual((result.returncode, result.stderr), (2, says))
        found = self.output("bfquery", "--filter", "a", "--filter", "b", stdin=lines(*numbered(20_000)), status=2,
                            says=says)
        self.assertEqual(found, lines(*numbered(20_000)))

    def test_filter_for_another_kind_of_keys_is_an_error(self):
        self.create("-x", 5, stdin=b"key 1", name="fixed")
        self.assertIn("fixed holds 5-byte records, but the input is text",
                      self.trouble("bfquery", "--filter", "a", "--filter", "fixed", stdin=b"key 1\n"))
        self.assertEqual(self.query("--filter", "a", "--filter", "fixed", stdin=b"key 1\n"), [b"key 1"])

    def test_ambiguous_filter_names_are_refused(self):
        for name in filter(self.can_be_named, ("x,y", "x\ty", "x\ny")):
            self.filter_of(name, [b"k"])
            self.assertIn("--names cannot print", self.trouble("bfquery", "--names", "--filter", name, stdin=b"k\n"))
            self.assertEqual(self.output("bfquery", "--filter", name, stdin=b"k\n"), b"k\n")

    def test_output_that_is_a_filter_is_refused(self):
        before = sha256(self.read("b"))
        with open(self.folder / "b", "ab") as out:
            result = self.run_tool("bfquery", "--filter", "a", "--filter", "b", stdin=b"key 1\n", stdout=out)
        self.assertEqual((result.returncode, sha256(self.read("b"))), (2, before))
        self.check_message("bfquery", result.stderr, "it is the filter")


if __name__ == "__main__":
    main()
