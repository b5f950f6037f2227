# SPDX-License-Identifier: MIT
"""bfquery --unless and --confirm: drop the keys of a list, or print only these."""

import os
import random
import struct
import unittest

from support import SANITIZED, ToolTest, craft, file_form, lines, main, numbered

IN = numbered(50)
OUT = numbered(50, "absent ")


class UnlessTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("filter", file_form("classic", 8000, 9, IN))
        self.write("list", lines(*IN[10:20], *OUT[10:20]))


class Confirm(ToolTest):
    """A filter with a high rate, so that --confirm makes a difference."""

    def setUp(self):
        super().setUp()
        self.keys, self.others = numbered(2000), numbered(2000, "absent ")
        self.write("keys", lines(*self.keys))
        self.create("-q", "-p", 0.3, "keys", name="filter")
        self.mixed = [key for pair in zip(self.keys, self.others) for key in pair]
        self.write("mixed", lines(*self.mixed))

    def confirmed(self, *words, **options):
        return self.output("bfquery", "--confirm", "keys", *words, **options)

    def test_confirm_prints_only_true_matches_in_order(self):
        self.assertGreater(len(self.query("filter", "mixed")), 2400)
        for words in ["-j1"], ["-j4"]:
            self.assertEqual(self.confirmed(*words, "filter", "mixed", "mixed"), 2 * lines(*self.keys))
        self.write("rows", b"".join(b"%d\t%s\n" % row for row in enumerate(self.mixed)))
        for words, out, status in (
                (["-c", "mixed"], b"2000\n", 0), (["-q", "mixed"], b"", 0), (["-m", 3, "mixed"], lines(*self.keys[:3]), 0),
                (["-cm", 3, "mixed"], b"3\n", 0), (["-e", "absent 1", "-e", "key 1"], b"key 1\n", 0), (["-c", "-e", "absent 1"], b"0\n", 1),
                (["-nH", "mixed"], b"".join(b"mixed:%d:%s\n" % (i + 1, key) for i, key in enumerate(self.mixed) if key in self.keys), 0),
                (["--field", 2, "rows"], b"".join(b"%d\t%s\n" % (i, key) for i, key in enumerate(self.mixed) if key in self.keys), 0),
                (["--unless", "keys", "mixed"], b"", 1), (["/dev/null"], b"", 1)):
            self.assertEqual(self.confirmed("filter", *words, status=status), out, words)
        self.assertEqual(self.confirmed("--header", "filter", stdin=b"head\nabsent 2\nkey 9\n"), b"head\nkey 9\n")
        self.create("-q", "-p", 0.3, "-i", "keys", name="folded")
        self.assertEqual(self.confirmed("folded", stdin=b"KEY 7\nABSENT 7\n" + lines(*self.others)), b"KEY 7\n")
        self.assertEqual(self.confirmed("--names", "--filter", "filter", stdin=b"key 1\n"), b"filter\tkey 1\n")

    def test_more_hits_than_memory_holds(self):
        many = numbered(120_000)
        self.write("keys", lines(*many))
        self.create("-q", "-p", 0.3, "keys", name="filter")
        self.write("mixed", lines(*many, *numbered(9000, "absent ")))
        self.assertEqual(self.confirmed("--memory", "16Mi", "filter", "mixed"), lines(*many))

    def test_right_list_is_accepted_if_the_filter_counts_too_many_keys(self):
        """Removing a key brings no counter to 0 if other keys have all its counters."""
        keys = numbered(20_000)
        self.create_live("-l", "counting", "-n", 20_000)
        self.output("bfadd", "-q", "live", stdin=lines(*keys))
        self.output("bfadd", "-q", "--remove", "live", stdin=lines(*keys[:10_000]))
        self.write("rest", lines(*keys[10_000:]))
        self.assertGreater(self.inspected("live")["record"]["n"], 10_000)
        self.assertEqual(self.output("bfquery", "--confirm", "rest", "live", stdin=lines(keys[0], keys[-1])), lines(keys[-1]))

    def test_confirm_list_may_repeat_lines(self):
        """Of all sizes: the number of distinct lines is an estimate."""
        for count in *range(1, 40), 300, 1000, 3000, 20_000, 100_000:
            keys = lines(*numbered(count))
            self.write("keys", 2 * keys)
            self.create("-q", "keys", name=f"sealed {count}")
            self.create_live("--grow", "-n", 100, name=f"live {count}")
            self.added(f"live {count}", "keys")
            for kind in "sealed", "live":
                self.assertEqual(self.confirmed(f"{kind} {count}", "keys"), 2 * keys)
        keys = numbered(1500)
        self.write("keys", lines(*keys, *keys))
        self.create_live("--generations", 3, "--every", 1000, name="ring")
        self.added("ring", "keys")
        self.assertEqual(self.confirmed("ring", stdin=lines(*keys)), lines(*keys))

    def test_incomplete_confirm_list_is_an_error(self):
        """Otherwise a true match would look like a false positive."""
        self.create("-q", "-p", 1e-9, "keys", name="exact")
        for more in b"", lines(b"of another list"):
            self.write("short", lines(*self.keys[:-1]) + more)
            result = self.run_tool("bfquery", "--confirm", "short", "exact", "keys")
            self.assertEqual((result.returncode, result.stdout), (2, lines(*self.keys[:-1])))
            self.check_message("bfquery", result.stderr, "short has 1999 of the 2000 keys of exact")
        self.write("half", lines(*self.keys[:1000]))
        self.write("rest", lines(*self.keys[1000:]))
        for part in "half", "rest":
            self.create("-q", "-n", 2000, part, name="of-" + part)
        self.output("bfmerge", "estimated", "of-half", "of-rest")
        self.assertEqual(self.output("bfquery", "--confirm", "keys", "estimated", "keys"), lines(*self.keys))
        result = self.run_tool("bfquery", "--confirm", "half", "estimated", "keys")
        self.assertEqual((result.returncode, result.stdout), (2, lines(*self.keys[:1000])))
        self.assertRegex(result.stderr.decode(), r"half has about (9[5-9]|10[0-4])\d of the about (19|20)\d\d keys of estimated")
        self.assertEqual(self.output("bfquery", "--confirm", "mixed", "filter", "keys"), lines(*self.keys))
        self.write("repeated", 1999 * lines("key 1") + lines(*self.keys[:1000]))
        for name, keys in ("exact", "2000"), ("estimated", "about (19|20)[0-9]{2}"):
            result = self.run_tool("bfquery", "--confirm", "repeated", name, "keys")
            self.assertEqual((result.returncode, result.stdout), (2, lines(*self.keys[:1000])))
            self.assertRegex(result.stderr.decode(), f"repeated has about (9[89]|10[0-2])[0-9]* of the {keys} keys of {name}:")
        for name, says in ("missing", "cannot read missing"), (".", "cannot use .: --confirm may read it several times"), ("filter", "not keys"):
            self.assertIn(says if name != "filter" else "filter", self.trouble("bfquery", "--confirm", name, "filter", "keys"))
        for words in ["-v"], ["--mark"], ["-c", "--names"]:
            self.assertIn("--confirm and", self.trouble("bfquery", "--confirm", "keys", *words, "filter", "keys"))
        before = self.snapshot()
        with open(self.folder / "keys", "ab") as out:
            self.assertEqual(self.run_tool("bfquery", "--confirm", "keys", "filter", "mixed", stdout=out).returncode, 2)
        self.assertEqual(self.snapshot(), before)

    def test_false_positives_do_not_hide_a_wrong_confirm_list(self):
        """The list may have many other keys, also repeated, if it has those of the filter."""
        others = lines(*numbered(100_000, "absent "))
        right, half = lines(*self.keys), lines(*self.keys[:1000])
        self.create("-q", "-p", 0.02, "keys", name="rare")  # as many false positives as keys
        self.create("-q", "-n", 100_000, "--slice", "2/3", stdin=lines(*numbered(100_000)), name="slice")
        self.create("-q", "-n", 50_000, "-p", 0.05, "--slice", "1/2", stdin=lines(*numbered(50_000)), name="dense")
        for name, wrong in ("rare", others), ("rare", others + half), ("filter", others[:200_000]), ("slice", others + half), ("slice", others):
            self.write("list", wrong)
            result = self.run_tool("bfquery", "-c", "--confirm", "list", name, "keys")
            self.assertEqual(result.returncode, 2, (name, len(wrong)))
            self.check_message("bfquery", result.stderr, "matching keys that it lacks were left out")
        self.write("list", others + half)
        self.assertRegex(self.run_tool("bfquery", "-c", "--confirm", "list", "rare", "keys").stderr.decode(), r"list has about ([89]|1[01])\d\d of")
        for name, keys, count in ("rare", 3 * others + right, 2000), ("slice", others + lines(*numbered(100_000)), 2000), ("dense", lines(*numbered(50_000)), 2000):
            self.write("list", keys)
            out = self.output("bfquery", "-c", "--confirm", "list", name, "keys")
            self.assertEqual(out, b"%d\n" % count)

    def test_incomplete_confirm_list_is_an_error_if_every_key_matches(self):
        keys = numbered(20_000)
        self.create("-q", "-n", 200, "--overfull", stdin=lines(*keys), name="full")
        self.write("all", lines(*keys, *numbered(20_000, "absent ")))
        self.write("half", 3 * lines(*keys[:10_000]))
        self.assertEqual(self.output("bfquery", "-c", "--confirm", "all", "full", stdin=lines(*keys[9_990:])), b"10010\n")
        result = self.run_tool("bfquery", "-c", "--confirm", "half", "full", stdin=lines(*keys[9_990:]))
        self.assertEqual(result.returncode, 2)
        self.check_message("bfquery", result.stderr, "half has about ")


class Answers(UnlessTest):
    def test_keys_of_the_command_line_are_not_in_the_list(self):
        self.assertEqual(self.query("-e", "key 30", "-e", "key 12", "--unless", "list", "filter"), [b"key 30"])

    def test_keys_of_the_list_are_not_printed(self):
        mixed = IN + OUT
        random.Random(3).shuffle(mixed)
        listed = {*IN[10:20], *OUT[10:20]}
        for words, wanted in ([], IN), (["-v"], OUT):
            expected = [key for key in mixed if key in wanted and key not in listed]
            self.assertEqual(self.query(*words, "--unless", "list", "filter", stdin=lines(*mixed)),
                             expected)
            self.assertEqual(self.output("bfquery", *words, "-c", "--unless=list", "filter",
                                         stdin=lines(*mixed)), b"40\n")

    def test_exit_status_shows_whether_a_key_matched(self):
        for words, keys, status in (([], IN[10:20], 1), ([], IN[9:11], 0), ([], OUT, 1),
                                    (["-v"], OUT[10:20], 1), (["-v"], OUT[9:11], 0)):
            for quiet in [], ["-q"]:
                result = self.run_tool("bfquery", *words, *quiet, "--unless", "list", "filter",
                                       stdin=lines(*keys))
                self.assertEqual((result.returncode, result.stderr), (status, b""))
        self.assertEqual(self.output("bfquery", "-c", "--unless", "list", "filter", status=1,
                                     stdin=lines(*IN[10:20])), b"0\n")

    def test_several_lists_are_excluded(self):
        self.write("more", lines(*IN[:10]))
        self.write("empty", b"")
        self.assertEqual(self.query("--unless", "list", "filter", "--unless", "more", "--unless",
                                    "empty", stdin=lines(*IN)), IN[20:])
        self.assertEqual(self.query("--unless", "empty", "filter", stdin=lines(*IN)), IN)

    def test_only_equal_keys_are_excluded(self):
        keys = [b"", b"a", b"a\0", b"a\0b", b"A", b"a ", b"\xff", b"x" * 2**20, b"x" * (2**20 + 1),
                b"x" * (2**20 - 1) + b"y", b"key", b"keys"]
        self.create("-q", stdin=lines(*keys), name="filter")
        for key in keys:
            self.write("list", lines(key))
            self.assertEqual(self.query("--unless", "list", "filter", stdin=lines(*keys)),
                             [other for other in keys if other != key])
        self.write("list", lines(*keys))
        self.assertEqual(self.query("--unless", "list", "filter", stdin=lines(*keys), status=1), [])

    def test_keys_with_equal_digests_are_distinguished(self):
        """The hash cannot distinguish two keys, but the list can."""
        def key(low, high):
            k64 = craft.spec_reader.k64
            return struct.pack("<QQ", low ^ k64(24) ^ k64(32), high ^ k64(40) ^ k64(48))

        number = 0x0123456789ABCDEF
        swapped = int.from_bytes(number.to_bytes(8, "little"), "big")
        one, other = key(0, number), key(swapped, 0)
        self.assertEqual(*(craft.spec_reader.xxh3(data, 0) for data in (one, other)))
        self.create("-q", "-x16", stdin=one, name="filter")
        self.assertEqual(self.output("bfquery", "-x16", "filter", stdin=one + other), one + other)
        self.write("list", one)
        self.assertEqual(self.output("bfquery", "-x16", "--unless", "list", "filter",
                                     stdin=one + other), other)

    def test_known_false_positives_can_be_excluded(self):
        bad, good = numbered(2000, "bad "), numbered(4000, "good ")
        self.create("-q", "-p", 0.05, stdin=lines(*bad), name="bad.bloom")
        self.write("false", self.output("bfquery", "bad.bloom", stdin=lines(*good)))
        self.assertGreater(self.read("false").count(b"\n"), 100)
        self.assertEqual(self.query("--unless", "false", "bad.bloom", stdin=lines(*bad, *good)),
                         bad)

    def test_long_lists_are_read(self):
        count = 10_000 if SANITIZED else 200_000
        keys = numbered(count)
        parts = [b"", b"k", b"ke", b"key", b"key "]
        self.create("-q", stdin=lines(*keys, *parts), name="filter")
        self.write("list", lines(*keys[::2], *keys[::4]))
        self.assertEqual(self.query("--unless", "list", "filter", stdin=lines(*keys, *parts)),
                         keys[1::2] + parts)

    def test_lists_have_the_input_form_of_the_keys(self):
        self.write("filter", file_form("classic", 8000, 9, [b"a\nb", b"", b"c"]))
        self.write("list", b"\0c")
        self.assertEqual(self.output("bfquery", "-0", "--unless", "list", "filter",
                                     stdin=b"a\nb\0\0c\0"), b"a\nb\0")
        records = [struct.pack("<I", 10 * i) for i in range(40)]
        self.write("filter", file_form("classic", 8000, 9, records))
        self.write("list", b"".join(records[5:]))
        self.assertEqual(self.output("bfquery", "-x4", "--unless", "list", "filter",
                                     stdin=b"".join(records)), b"".join(records[:5]))

    def test_crlf_applies_to_the_list(self):
        self.write("list", b"key 1\r\nkey 2\nkey 3\r\r\n")
        asked = b"key 1\nkey 2\r\nkey 3\r\nkey 4\r\n"
        self.assertEqual(self.output("bfquery", "--crlf", "--unless", "list", "filter",
                                     stdin=asked), b"key 3\r\nkey 4\r\n")
        self.assertEqual(self.query("--unless", "list", "filter", stdin=b"key 1\nkey 2\n"),
                         [b"key 1"])

    def test_csv_does_not_strip_carriage_returns_of_the_list(self):
        self.write("list", b"key 1\r\nkey 2\n")
        for words, left in ([], b"key 1,x\n"), (["--crlf"], b""):
            self.assertEqual(self.output("bfquery", "--csv", "--field", 1, *words, "--unless", "list", "filter", stdin=b"key 1,x\nkey 2,y\n",
                                         status=0 if left else 1), left)

    def test_list_can_be_standard_input(self):
        self.write("keys", lines(*IN))
        self.assertEqual(self.query("--unless", "-", "filter", "keys", stdin=lines(*IN[1:])),
                         IN[:1])
        for words in ["-"], [], ["keys", "-"], ["keys", "--unless", "-"]:
            message = self.trouble("bfquery", "--unless", "-", "filter", *words, stdin=lines(*IN))
            self.assertIn("--help", message)

    @unittest.skipUnless(os.path.exists("/dev/stdin"), "it has other names in /proc")
    def test_pipe_as_both_list_and_input_is_refused(self):
        """Also under another name: the list would take the whole input, and no key would be left to look up."""
        for words in (["--unless", "/dev/stdin", "filter"], ["--unless", "/dev/stdin", "filter", "-"],
                      ["--unless", "-", "filter", "/dev/stdin"],
                      ["--unless", "list", "--unless", "/dev/stdin", "filter", "list", "/dev/fd/0"],
                      ["--filters-from", "/dev/stdin"], ["--filters-from", "/dev/stdin", "list", "-"],
                      ["--files-from", "/dev/stdin", "filter", "-"]):
            message = self.trouble("bfquery", *words, stdin=lines("filter", *IN))
            self.assertIn("a pipe cannot be both a list and the keys: ", message)
        with open(self.folder / "list", "rb") as stdin:  # a file can be read twice
            self.assertEqual(self.query("--unless", "/dev/stdin", "filter", stdin=stdin, status=1), [])


class Trouble(UnlessTest):
    def test_unreadable_list_is_an_error(self):
        """It must not count as empty, so nothing is printed."""
        (self.folder / "folder").mkdir()
        for name in "no-such-list", "folder", "":
            self.trouble("bfquery", "--unless", "list", "--unless", name, "filter",
                         stdin=lines(*IN), names=[name])
        self.write("records", b"abcdefghij")
        self.write("filter", file_form("classic", 800, 9, [b"abcd", b"efgh"]))
        message = self.trouble("bfquery", "-x4", "--unless", "records", "filter", stdin=b"abcd",
                               names=["records"])
        self.assertIn("2 of 4 bytes", message)

    def test_unless_needs_a_value(self):
        self.assertIn("--unless needs a value", self.trouble("bfquery", "filter", "--unless"))

    def test_unreadable_input_does_not_stop_other_inputs(self):
        self.write("good", lines(IN[0], IN[10]))
        self.trouble("bfquery", "--unless", "list", "filter", "nothing", "good", names=["nothing"],
                     out=lines(IN[0]))


if __name__ == "__main__":
    main()
