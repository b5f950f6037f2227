# SPDX-License-Identifier: MIT
"""A filter that would exceed twice its target rate: bfuniq and bfadd stop, bfcreate makes no file; all exit with 2."""

import re

from support import SANITIZED, SOURCE_ROOT, ToolTest, lines, main, numbered, percent

MANY = 20_000 if SANITIZED else 200_000


class Uniq(ToolTest):
    def stopped(self, *words, keys=numbered(MANY), **options):
        """The number of lines after which bfuniq stopped, and the number of lines it printed."""
        result = self.run_tool("bfuniq", "--fixed", *words, stdin=lines(*keys), **options)
        self.assertEqual(result.returncode, 2, words)
        *warnings, message = result.stderr.splitlines(keepends=True)
        for line in [*warnings, message]:
            self.check_message("bfuniq", line)
        self.assertIn(b"start over with", message)
        self.assertIn(b"a larger -n, or without --fixed)\n", message)
        taken = int(re.search(rb"stopped after (\d+) lines?: ", message)[1])
        return taken, result.stdout.count(b"\n"), warnings, message.decode()

    def test_bfuniq_stops_at_capacity_even_with_quiet(self):
        """The lines up to that point are answered, and nearly all of them are printed."""
        for quiet in [], ["-q"]:
            for capacity in 1, 100, MANY // 20:
                for threads in 1, 4:
                    taken, printed, warnings, _ = self.stopped(*quiet, "-n", capacity, "-j", threads)
                    self.assertGreater(taken, capacity)
                    self.assertLess(taken, 2 * capacity + 20)
                    self.assertGreaterEqual(printed, 0.998 * taken - 1)
                    self.assertFalse(quiet and warnings, warnings)

    def test_the_message_names_the_numbers(self):
        *_, message = self.stopped("-q", "-n", 1000, "-p", 0.01)
        self.assertRegex(message, r"^bfuniq: cannot add to the filter in memory, stopped after 1\d\d\d lines: 1\d\d\d keys in a "
                                  r"filter sized for 1000, and another key would raise its expected false-positive rate above "
                                  r"twice the target of 1% \(start over with a larger -n, or without --fixed\)\n$")

    def test_overfull_continues_beyond_capacity(self):
        out = self.output("bfuniq", "-q", "--fixed", "--overfull", "-n", 1000, stdin=lines(*numbered(MANY)))
        self.assertLess(out.count(b"\n"), MANY // 2)

    def test_file_over_capacity_accepts_no_more_lines(self):
        taken, _, _, message = self.stopped("-q", "-n", 1000, "--filter", "seen")
        self.assertIn("another file and a larger -n", message)
        before = self.read("seen")[4096:]
        keys = self.inspected("seen")["record"]["n"]
        self.assertEqual(self.inspected("seen")["verdict"][:11], "live, clean")
        self.assertLess(keys, taken + 1)
        taken, printed, *_ = self.stopped("-q", "--filter", "seen", keys=numbered(9, "more "))
        self.assertEqual((taken, printed), (0, 0))
        self.assertEqual(self.read("seen")[4096:], before)

    def test_filter_within_capacity_never_stops(self):
        for layout in "blocked", "classic":
            for capacity in 1, 2, 5, 20, 50, 100, 1000:
                for seed in range(20):
                    self.output("bfuniq", "--fixed", "-qcl", layout, "-n", capacity, "-p", 0.1, "-s", seed,
                                stdin=lines(*numbered(capacity)))

    def test_growing_and_forgetting_filters_never_stop(self):
        for words in ["--generations", 2, "--every", 100], ["-n", 1]:
            self.output("bfuniq", *words, stdin=lines(*numbered(5000)))
            self.assertIn("--overfull needs --fixed", self.trouble("bfuniq", *words, "--overfull"))

    def test_the_default_capacity_is_documented(self):
        text = " ".join(self.output("bfuniq", "--help").decode().split())
        self.assertIn("(default 10M)", text)
        self.assertIn("(default 1M; with --every TIME 10M)", text)
        self.assertIn("10 million", (SOURCE_ROOT / "man/bfuniq.1").read_text())


class Add(ToolTest):
    def full(self, message):
        """The two numbers in the message: keys in the filter, and keys read before bfadd stopped."""
        found = re.fullmatch(
            r"bfadd: cannot add to live: (\d+) keys in a filter sized for 400, and another key would raise its expected "
            r"false-positive rate above twice the target of 1%; the first (\d+) keys? read are in it and on "
            r"disk \(build a larger filter from all keys, or a growing filter: bfcreate --live --grow NEWFILE; to add the rest anyway: --overfull\)\n", message)
        self.assertIsNotNone(found, message)
        return int(found[1]), int(found[2])

    def test_bfadd_stops_at_capacity_and_reports_the_keys_added(self):
        self.create_live("-n", 400)
        most = None
        for words in ["-v"], [], ["-q"]:
            result = self.run_tool("bfadd", *words, "live", stdin=lines(*numbered(1000)))
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            keys, before = self.full(result.stderr.decode())
            self.assertEqual(keys, self.inspected("live")["record"]["n"])
            self.assertEqual((keys, before), most or (keys, before))
            most = keys, before
            self.assertTrue(400 < keys < 520, keys)
            self.assertTrue(keys <= before < 1.03 * keys, (keys, before))
            self.assertLess(self.inspected("live")["measure"]["fpr"], 0.025)
            self.assertEqual(len(self.query("live", stdin=lines(*numbered(before)))), before)

    def test_present_keys_are_accepted_at_capacity(self):
        self.create_live("-n", 400)
        _, before = self.full(self.run_tool("bfadd", "-q", "live", stdin=lines(*numbered(1000))).stderr.decode())
        self.output("bfadd", "-q", "live", stdin=lines(*numbered(before) * 30))

    def test_bfadd_stops_reading_a_stream_at_capacity(self):
        """The input does not end, but bfadd must."""
        self.create_live("-n", 400)
        writer = self.start("bfadd", "-q", "--sync", 10, "live")
        self.feed(writer, *numbered(600))
        self.assertLess(self.full(writer.stderr.readline().decode())[1], 600)
        self.assertEqual(writer.wait(60), 2)
        self.result(writer)

    def test_overfull_accepts_keys_over_capacity(self):
        self.create_live("-n", 400)
        self.output("bfadd", "-q", "--overfull", "live", stdin=lines(*numbered(1000)))
        result = self.run_tool("bfadd", "--overfull", "live", stdin=lines("a"))
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"more than the capacity of 400", result.stderr)

    def test_run_without_new_keys_succeeds_at_capacity(self):
        self.create_live("-n", 400)
        self.output("bfadd", "-q", "--overfull", "live", stdin=lines(*numbered(1000)))
        self.output("bfadd", "-q", "live")
        self.assertEqual(self.run_tool("bfadd", "live").returncode, 0)

    def test_keys_of_other_writers_count_towards_capacity(self):
        for killed in False, True:
            with self.subTest(killed=killed):
                self.create_live("-f", "-n", 400)
                other = self.start("bfadd", "-q", "live")
                self.feed(other, *numbered(480))
                self.wait_for_key("live", numbered(480)[-1], other)
                if killed:
                    other.kill()
                    other.wait()
                message = self.trouble("bfadd", "-q", "live", stdin=lines(*numbered(600, "more ")), changes=True)
                keys = re.match("bfadd: cannot add to live: about ([0-9]+) keys in a filter sized for 400, and another key ", message)
                self.assertIsNotNone(keys, message)
                self.assertTrue(440 < int(keys[1]) < 520, message)
                self.result(other)

    def test_concurrent_and_killed_writers_do_not_hide_over_capacity(self):
        """Every recorded count is wrong."""
        self.create_live("-n", 400)
        crowd = [self.start("bfadd", "-q", "--overfull", "live") for _ in range(3)]
        for number, writer in enumerate(crowd):
            self.feed(writer, *numbered(300, f"{number} "))
            self.wait_for_key("live", b"%d 299" % number, writer)
        crowd[0].kill()
        crowd[0].wait()
        self.assertEqual([self.result(writer)[0] for writer in crowd[1:]], [0, 0])
        result = self.run_tool("bfadd", "-q", "live", stdin=b"a\n")
        self.assertEqual(result.returncode, 2)


class Create(ToolTest):
    """The filter is not made, and an existing file stays unchanged."""
    ANEW = {("-n", 100): "-n 300 or more, or leave out -n",
            ("-m", 1024, "-p", 0.01): "a larger -m, or leave out -m",
            ("-n", 9, "-m", 1024): "a larger -m, or leave out -m",
            ("-l", "classic", "-n", 100): "-n 300 or more, or leave out -n",
            ("-l", "counting", "-n", 100): "-n 300 or more, or leave out -n"}

    def test_old_filter_is_kept_if_the_new_one_is_over_capacity(self):
        self.output("bfcreate", "old", stdin=lines("a"))
        old = self.read("old")
        for words, anew in self.ANEW.items():
            size = f"a filter sized for {words[words.index('-n') + 1]}" if "-n" in words else f"{words[1]} bits"
            for quiet in [], ["-q"], ["-v"]:
                for name, told in ("old", "create old"), ("-", "write to standard output"):
                    with self.subTest(words=words, quiet=quiet, name=name):
                        result = self.run_tool("bfcreate", "-f", *quiet, *words, name, stdin=lines(*numbered(300)))
                        self.assertEqual((result.returncode, result.stdout), (2, b""))
                        self.assertRegex(
                            result.stderr.decode(), rf"^bfcreate: cannot {told}: over capacity: 300 keys in {size} would have a false-positive rate of [\d.]+%, "
                                                    rf"target [\d.e-]+% \(use {anew}; to accept the rate: --overfull\)\n$")
                        self.assertEqual(self.read("old"), old)
                        self.assertEqual([file.name for file in self.folder.iterdir()], ["old"])

    def test_overfull_creates_a_filter_over_capacity(self):
        for words in self.ANEW:
            for name in "new", "-":
                result = self.run_tool("bfcreate", "-f", "--overfull", *words, name,
                                       stdin=lines(*numbered(300)))
                self.assertEqual(result.returncode, 0)
                self.assertRegex(result.stderr.decode(), "more than the capacity|too few bits")
                result = self.run_tool("bfcreate", "-qf", "--overfull", *words, name,
                                       stdin=lines(*numbered(300)))
                self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_advised_capacity_is_enough(self):
        self.output("bfcreate", "-n", 300, "new", stdin=lines(*numbered(300)))

    def test_rate_up_to_twice_the_target_is_a_warning(self):
        result = self.run_tool("bfcreate", "-n", 100, "new", stdin=lines(*numbered(120)))
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"more than the capacity of 100: the false-positive rate is about 1.79%, target",
                      result.stderr)
        self.output("bfcreate", "-qf", "-n", 100, "new", stdin=lines(*numbered(120)))

    def test_size_without_a_target_is_accepted_unless_useless(self):
        for layout, units, few, many in (("blocked", "bits", 300, 500), ("classic", "bits", 350, 370),
                                         ("counting", "counters", 350, 370)):
            self.output("bfcreate", "-f", "-l", layout, "-m", 512, "new", stdin=lines(*numbered(few)))
            kept = self.read("new")
            for quiet, name, told in ([], "new", "create new"), (["-q"], "-", "write to standard output"):
                words = ["-f", *quiet, "-l", layout, "-m", 512]
                result = self.run_tool("bfcreate", *words, name, stdin=lines(*numbered(many)))
                self.assertEqual(result.returncode, 2)
                self.assertRegex(
                    result.stderr.decode(),
                    rf"^bfcreate: cannot {told}: {many} keys in 512 {units}: its false-positive rate would be "
                    rf"[5-9][\d.]+% \(use a larger -m, or leave out -m; to accept the rate: --overfull\)\n$")
                self.assertEqual((self.read("new"), result.stdout), (kept, b""))
                for accept in ["--overfull"], ["-p", 0.9]:
                    self.output("bfcreate", "-q", *words, *accept, "accepted", stdin=lines(*numbered(many)))

    def test_live_filter_that_cannot_reach_its_capacity_is_refused(self):
        for words, keys in ((["-n", 1000, "-m", 5120, "-p", "0.001"], "1000 keys in 5120 bits"),
                            (["-n", 1000, "-m", 1000, "-p", "1e-9"], "1000 keys in 1024 bits"),
                            (["-m", 512, "-k", 1, "-p", "1e-9"], "1 key in 512 bits"),
                            (["-l", "counting", "-n", 9, "-m", 40, "-p", "1%"], "9 keys in 40 counters")):
            with self.subTest(words=words):
                self.assertRegex(self.trouble("bfcreate", "--live", *words, "new"),
                                 rf"^bfcreate: cannot create new: over capacity: {keys} would have a false-positive rate of [\d.]+%, "
                                 r"target [\d.e-]+% \(use a larger -m, or leave out -m; to accept the rate: --overfull\)\n$")
                self.assertEqual(self.snapshot(), {})
                self.output("bfcreate", "--live", "--overfull", *words, "new")
                self.output("bfadd", "-q", "--overfull", "new", stdin=lines(*numbered(2000)))
                (self.folder / "new").unlink()


class Inspect(ToolTest):
    """The advice of bfinspect about a filter that is over capacity."""

    def advice(self, name):
        result = self.run_tool("bfinspect", name)
        self.assertEqual(result.returncode, 1)
        first, advice = result.stdout.decode().splitlines()[:2]
        return first, advice.split(None, 1)[1]

    def test_number_of_keys_of_a_saturated_filter_is_not_estimated(self):
        """The number of keys cannot be estimated from its bits."""
        self.create_live("-n", 10_000, name="live")
        self.run_tool("bfadd", "-q", "--overfull", "live", stdin=lines(*numbered(MANY * 5)))
        first, advice = self.advice("live")
        self.assertRegex(first, r"too many keys: more than [\d,]+ in a filter sized for 10,000;")
        self.assertEqual(advice, "its bits do not show the number of keys: add all keys to a filter that grows (bfcreate --live --grow)")
        self.output("bfseal", "-q", "live", "sealed")
        self.assertEqual(self.advice("sealed")[1],
                         "its bits do not show the number of keys: rebuild it without -n, and bfcreate counts them")
        self.create("-q", "-n", 1000, stdin=lines(*numbered(MANY // 10)), name="counted")
        self.assertEqual(self.advice("counted")[1], f"rebuild it for {MANY // 10} keys or more (bfcreate --capacity)")


if __name__ == "__main__":
    main()
