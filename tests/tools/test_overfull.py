# SPDX-License-Identifier: MIT
"""A filter whose real rate has passed twice what it promises: bfuniq, bfadd and bfcreate end with
2."""

import re

from support import SANITIZED, SOURCE_ROOT, ToolTest, lines, main, numbered, percent

MANY = 20_000 if SANITIZED else 200_000


class Uniq(ToolTest):
    def stopped(self, *words, keys=numbered(MANY), **options):
        """The number of lines it was stopped after, and how many it printed."""
        result = self.run_tool("bfuniq", "--fixed", *words, stdin=lines(*keys), **options)
        self.assertEqual(result.returncode, 2, words)
        *warnings, message = result.stderr.splitlines(keepends=True)
        for line in [*warnings, message]:
            self.check_message("bfuniq", line)
        self.assertIn(b"begin again with", message)
        self.assertIn(b"a larger -n, or without --fixed\n", message)
        taken = int(re.search(rb"stopped after (\d+) lines?:", message)[1])
        return taken, result.stdout.count(b"\n"), warnings, message.decode()

    def test_it_stops_before_more_lines_are_lost_quiet_or_not(self):
        """Those up to there are answered, and nearly all of them are printed."""
        for quiet in [], ["-q"]:
            for capacity in 1, 100, MANY // 20:
                for threads in 1, 4:
                    taken, printed, warnings, _ = self.stopped(*quiet, "-n", capacity, "-j", threads)
                    self.assertGreater(taken, capacity)
                    self.assertLess(taken, 2 * capacity + 20)
                    self.assertGreaterEqual(printed, 0.998 * taken - 1)
                    self.assertEqual(len(warnings) > 0, not quiet, warnings)

    def test_the_message_names_the_numbers(self):
        *_, message = self.stopped("-q", "-n", 1000, "-p", 0.01)
        self.assertRegex(message, r"^bfuniq: the filter in memory is overfull: 1\d\d\d keys, for a "
                                  r"capacity of 1000: its false-positive rate is 2\.\d+ %, more than "
                                  r"twice the 1 % promised: stopped after 1\d\d\d lines: begin again "
                                  r"with a larger -n, or without --fixed\n$")

    def test_overfull_goes_on(self):
        out = self.output("bfuniq", "-q", "--fixed", "--overfull", "-n", 1000, stdin=lines(*numbered(MANY)))
        self.assertLess(out.count(b"\n"), MANY // 2)

    def test_a_file_that_is_overfull_takes_no_more(self):
        taken, _, _, message = self.stopped("-q", "-n", 1000, "--filter", "seen")
        self.assertIn("another file and a larger -n", message)
        before = self.read("seen")[4096:]
        keys = self.inspected("seen")["record"]["n"]
        self.assertEqual(self.inspected("seen")["verdict"][:11], "live, clean")
        self.assertLess(keys, taken + 1)
        taken, printed, *_ = self.stopped("-q", "--filter", "seen", keys=numbered(9, "more "))
        self.assertEqual((taken, printed), (0, 0))
        self.assertEqual(self.read("seen")[4096:], before)

    def test_within_the_capacity_it_is_never_overfull(self):
        for layout in "blocked", "classic":
            for capacity in 1, 2, 5, 20, 50, 100, 1000:
                for seed in range(20):
                    self.output("bfuniq", "--fixed", "-qcl", layout, "-n", capacity, "-p", 0.1, "-s", seed,
                                stdin=lines(*numbered(capacity)))

    def test_others_are_never_overfull(self):
        for words in ["--generations", 2, "--every", 100], ["-n", 1]:
            self.output("bfuniq", *words, stdin=lines(*numbered(5000)))
            self.assertIn("--overfull needs --fixed", self.trouble("bfuniq", *words, "--overfull"))

    def test_the_default_capacity_is_documented(self):
        text = " ".join(self.output("bfuniq", "--help").decode().split())
        self.assertIn("(default 10M)", text)
        self.assertIn("(default 1M; with --every TIME 10M)", text)
        self.assertIn("10 million", (SOURCE_ROOT / "man/bfuniq.1").read_text())


class Add(ToolTest):
    def overfull(self, message):
        """The keys that a message speaks of."""
        record, measure = (self.inspected("live")[part] for part in ("record", "measure"))
        found = re.fullmatch(
            r"bfadd: live is overfull: (\d+) keys, for a capacity of 400: its false-positive rate "
            r"is ([\d.]+ %), more than twice the 1 % promised: all keys are in it, but make a larger "
            r"one \(bfcreate --live -n (\d+) NEWFILE\) of all its keys, those added earlier too \(--overfull accepts this "
            r"one\)\n", message)
        self.assertIsNotNone(found, message)
        return int(found[1]), found[2], int(found[3]), record["n"], percent(measure["fpr"])

    def test_all_keys_are_added_and_it_ends_with_2(self):
        self.create_live("-n", 400)
        for words in ["-v"], [], ["-q"]:
            result = self.run_tool("bfadd", *words, "live", stdin=lines(*numbered(1000)))
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            message, *summary = result.stderr.decode().splitlines(keepends=True)
            self.assertEqual([line[:22] for line in summary], ["bfadd: live: 1000 keys"] if words == ["-v"] else [])
            keys, rate, advised, there, real = self.overfull(message)
            self.assertEqual((keys, rate), (there, real))
            self.assertTrue(2 * there <= advised <= 2.4 * there, (advised, there))
            self.assertRegex(str(advised), r"^\d\d?0*$")
        self.assertEqual(len(self.query("live", stdin=lines(*numbered(1000)))), 1000)

    def test_what_is_advised_is_enough(self):
        self.create_live("-n", 400)
        message = self.run_tool("bfadd", "-q", "live", stdin=lines(*numbered(1000))).stderr.decode()
        self.create_live("-f", "-n", self.overfull(message)[2])
        self.output("bfadd", "live", "-q", stdin=lines(*numbered(1000)))

    def test_what_is_advised_is_enough_however_many_keys_came(self):
        """When nearly all bits are set, they tell too few keys; the new ones are fewer still."""
        for count in 8000, 40_000:
            for layout in "blocked", "classic":
                self.create_live("-f", "-n", 400, "-l", layout)
                many = lines(*numbered(count))
                result = self.run_tool("bfadd", "-q", "live", stdin=many)
                advised = self.overfull(result.stderr.decode())[2]
                self.assertTrue(0.9 * count <= advised <= 3 * count, (advised, count))
                self.create_live("-f", "-n", advised)
                self.output("bfadd", "live", "-q", stdin=many)

    def test_keys_that_come_again_and_again_are_not_advised_for(self):
        self.create_live("-n", 400)
        message = self.run_tool("bfadd", "-q", "live", stdin=lines(*numbered(1000) * 30)).stderr
        self.assertLess(self.overfull(message.decode())[2], 2500)

    def test_a_stream_is_told_at_once(self):
        """Its input does not end; and at the end again."""
        self.create_live("-n", 400)
        writer = self.start("bfadd", "-q", "--sync", 10, "live")
        self.feed(writer, *numbered(600))
        message = writer.stderr.readline().decode()
        self.assertLess(self.overfull(message)[0], 601)
        status, _, message = self.result(writer, lines(*numbered(400, "more ")))
        self.assertEqual(status, 2)
        self.assertGreater(self.overfull(message.decode())[0], 800)

    def test_overfull_accepts_it(self):
        self.create_live("-n", 400)
        self.output("bfadd", "-q", "--overfull", "live", stdin=lines(*numbered(1000)))
        result = self.run_tool("bfadd", "--overfull", "live", stdin=lines("a"))
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"more than the capacity of 400", result.stderr)

    def test_nothing_added_is_nothing_wrong(self):
        self.create_live("-n", 400)
        self.output("bfadd", "-q", "--overfull", "live", stdin=lines(*numbered(1000)))
        self.output("bfadd", "-q", "live")
        self.assertEqual(self.run_tool("bfadd", "live").returncode, 0)

    def test_too_few_bits_for_the_rate(self):
        """Overfull long before it has as many keys as planned."""
        self.create_live("-n", 1000, "-m", 5120, "-p", "0.001")
        self.output("bfadd", "-q", "live", stdin=lines(*numbered(100)))
        result = self.run_tool("bfadd", "-q", "live", stdin=lines(*numbered(800)))
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"for a capacity of 1000: its false-positive rate", result.stderr)

    def test_several_at_once_and_a_killed_one(self):
        """Nobody's count is right."""
        self.create_live("-n", 400)
        crowd = [self.start("bfadd", "-q", "live") for _ in range(3)]
        for number, writer in enumerate(crowd):
            self.feed(writer, *numbered(300, f"{number} "))
            self.wait_for_key("live", b"%d 299" % number, writer)
        crowd[0].kill()
        crowd[0].wait()
        self.assertEqual([self.result(writer)[0] for writer in crowd[1:]], [2, 2])
        result = self.run_tool("bfadd", "-q", "live", stdin=b"a\n")
        self.assertEqual(result.returncode, 2)


class Create(ToolTest):
    """The keys are all in it, so it is made; but who reads the status is told."""
    ANEW = {("-n", 100): "-n 300 at least, or without -n",
            ("-m", 1024, "-p", 0.01): "a larger -m, or without -m",
            ("-n", 9, "-m", 1024): "a larger -m, or without -m",
            ("-l", "classic", "-n", 100): "-n 300 at least, or without -n",
            ("-l", "counting", "-n", 100): "-n 300 at least, or without -n"}

    def test_it_is_made_and_ends_with_2_quiet_or_not(self):
        keys = lines(*numbered(300))
        for words, anew in self.ANEW.items():
            for quiet in [], ["-q"], ["-v"]:
                for name, told in ("new", "new"), ("-", "standard output"):
                    with self.subTest(words=words, quiet=quiet, name=name):
                        result = self.run_tool("bfcreate", "-f", *quiet, *words, name, stdin=keys)
                        self.assertEqual(result.returncode, 2)
                        message, *summary = result.stderr.decode().splitlines(keepends=True)
                        self.assertEqual(len(summary), quiet == ["-v"])
                        self.assertRegex(
                            message, rf"^bfcreate: {told} is overfull: 300 keys, for a capacity of "
                                     rf"\d+: its false-positive rate is [\d.]+ %, more than twice the "
                                     rf"[\d.e-]+ % promised: all keys are in it, but make it anew "
                                     rf"with {anew} \(--overfull accepts this "
                                     rf"one\)\n$")
                        if name == "-":
                            self.write("new", result.stdout)
                        self.assertEqual(len(self.query("new", stdin=keys)), 300)

    def test_overfull_accepts_it(self):
        for words in self.ANEW:
            for name in "new", "-":
                result = self.run_tool("bfcreate", "-f", "--overfull", *words, name,
                                       stdin=lines(*numbered(300)))
                self.assertEqual(result.returncode, 0)
                self.assertRegex(result.stderr.decode(), "more than the capacity|too few bits")
                result = self.run_tool("bfcreate", "-qf", "--overfull", *words, name,
                                       stdin=lines(*numbered(300)))
                self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_what_is_advised_is_enough(self):
        self.output("bfcreate", "-n", 300, "new", stdin=lines(*numbered(300)))

    def test_up_to_twice_the_rate_it_is_a_warning(self):
        result = self.run_tool("bfcreate", "-n", 100, "new", stdin=lines(*numbered(120)))
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"more than the capacity of 100: the false-positive rate is about 1.79 %, not",
                      result.stderr)
        self.output("bfcreate", "-qf", "-n", 100, "new", stdin=lines(*numbered(120)))

    def test_a_size_without_a_promise_is_kept_unless_it_is_useless(self):
        for layout, units, few, many in (("blocked", "bits", 300, 500), ("classic", "bits", 350, 370),
                                         ("counting", "counters", 350, 370)):
            self.output("bfcreate", "-f", "-l", layout, "-m", 512, "new", stdin=lines(*numbered(few)))
            for quiet, name, told in ([], "new", "new"), (["-q"], "-", "standard output"):
                words = ["-f", *quiet, "-l", layout, "-m", 512]
                result = self.run_tool("bfcreate", *words, name, stdin=lines(*numbered(many)))
                self.assertEqual(result.returncode, 2)
                self.assertRegex(
                    result.stderr.decode(),
                    rf"^bfcreate: {told} is overfull: {many} keys in 512 {units}: its false-positive rate "
                    rf"is [5-9][\d.]+ %: all keys are in it, but make it anew with a larger -m, or without "
                    rf"-m \(--overfull accepts this one\)\n$")
                if name == "-":
                    self.write("new", result.stdout)
                self.assertEqual(len(self.query("new", stdin=lines(*numbered(many)))), many)
                for accept in ["--overfull"], ["-p", 0.9]:
                    self.assertEqual(self.run_tool("bfcreate", *words, *accept, "-f", "new",
                                                   stdin=lines(*numbered(many))).returncode, 0)

    def test_live_ones_are_not_filled_here(self):
        self.assertIn("--overfull", self.trouble("bfcreate", "--live", "--overfull", "-n", 9, "new"))


class Inspect(ToolTest):
    """What bfinspect advises for a filter that is over capacity."""

    def advice(self, name):
        result = self.run_tool("bfinspect", name)
        self.assertEqual(result.returncode, 1)
        first, advice = result.stdout.decode().splitlines()[:2]
        return first, advice.split(None, 1)[1]

    def test_a_saturated_filter_does_not_show_its_keys(self):
        """The number of its bits is no number of keys."""
        self.create_live("-n", 10_000, name="live")
        self.run_tool("bfadd", "-q", "--overfull", "live", stdin=lines(*numbered(MANY * 5)))
        first, advice = self.advice("live")
        self.assertRegex(first, r"over capacity: more than [\d,]+ keys in a filter sized for 10,000;")
        self.assertEqual(advice, "its bits do not show how many keys it has: add all of them to a filter that grows"
                                 " (bfcreate --live --grow)")
        self.output("bfseal", "-q", "live", "sealed")
        self.assertEqual(self.advice("sealed")[1],
                         "its bits do not show how many keys it has: build it again without -n, which counts them")
        self.create("-q", "-n", 1000, stdin=lines(*numbered(MANY // 10)), name="counted")
        self.assertEqual(self.advice("counted")[1], f"build it again for {MANY // 10} keys or more (bfcreate --capacity)")


if __name__ == "__main__":
    main()
