# SPDX-License-Identifier: MIT
"""bfcreate --live --grow and --generations: files, messages, and options that exclude each other."""

from support import ToolTest, lines, main, numbered

KEYS = numbered(5000)


class Made(ToolTest):
    def series(self):
        """The names of the layers' files."""
        return sorted(path.name for path in self.folder.glob("live*"))

    def header(self):
        return self.inspected("live", "--quick")["header"]

    def test_growing_series_is_created(self):
        self.create_live("--grow", "-n", 300, "-p", 0.002, "--label", "seen", "-l", "classic")
        header = self.header()
        self.assertEqual((header["capacity"], header["series_fpr"], header["generations"],
                          header["layout"], header["label"]), (300, 0.002, 0, "classic", "seen"))
        self.assertEqual(self.series(), ["live"])
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.assertEqual(self.series(), ["live", "live.1", "live.2", "live.3", "live.4"])
        self.assertEqual(self.query("live", stdin=lines(*KEYS)), KEYS)
        strangers = numbered(20_000, "stranger ")
        self.assertLess(len(self.query("live", stdin=lines(*strangers))), 20_000 * 0.004)

    def test_default_capacity_is_a_million(self):
        self.create_live("--grow")
        self.assertEqual(self.header()["capacity"], 1_000_000)

    def test_series_that_forgets_by_keys_is_created(self):
        self.create_live("--generations", 3, "--every", "1k")
        header = self.header()
        self.assertEqual((header["capacity"], header["series_fpr"], header["generations"],
                          header["period"]), (1000, 0.01, 3, 0))
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.assertEqual(self.series(), ["live", "live.1", "live.2"])
        # A key that seems to be in an older generation is not added, and is forgotten with that generation.
        self.assertGreater(len(self.query("live", stdin=lines(*KEYS[-2000:]))), 1980)
        self.assertLess(len(self.query("live", stdin=lines(*KEYS[:1900]))), 50)

    def test_series_that_forgets_by_time_is_created(self):
        for words, seconds in (("30s", 30), ("10min", 600), ("6h", 21_600), ("7d", 604_800)):
            self.create_live("-f", "--generations", 8, "--every", words, "-n", 500)
            header = self.header()
            self.assertEqual((header["capacity"], header["generations"], header["period"]),
                             (500, 8, seconds))
            self.assertGreater(header["began"], 1_700_000_000)

    def test_summary_states_growth_or_generations(self):
        self.output("bfcreate", "--live", "--grow", "-n", 1000, "-v", "live",
                    says=b"bfcreate: live: live, grows, at first with room for 1000 keys at a"
                         b" false-positive rate of 1% in all, 8.0 KiB\n")
        self.output("bfcreate", "--live", "--generations", 5, "--every", 1000, "-fv", "live",
                    says=b"bfcreate: live: live, 5 generations of 1000 keys at a false-positive"
                         b" rate of 1% in all, 8.0 KiB each\n")

    def test_sealed_series_is_one_file(self):
        self.create_live("--grow", "-n", 300)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.output("bfseal", "-q", "live", "sealed")
        for path in self.folder.glob("live*"):
            path.unlink()
        self.assertEqual(self.inspected("sealed", "--verify")["verdict"], "healthy")
        self.assertEqual(self.query("sealed", stdin=lines(*KEYS)), KEYS)
        self.output("bfseal", "-q", "sealed", "again")
        self.assertEqual(self.read("again"), self.read("sealed"))

    def test_series_is_not_sealed_in_place(self):
        self.create_live("--grow", "-n", 300)
        message = self.trouble("bfseal", "live", names=["live"], changes=True)
        self.assertIn("bfseal live DEST)", message)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))


class Refused(ToolTest):
    def refused(self, *words):
        message = self.trouble("bfcreate", *words, "live")
        self.assertIn("--help", message)
        return message

    def test_incompatible_options_are_refused(self):
        forgets = ["--generations", 3]
        for words, says in (
                (["--grow"], "needs --live"),
                ([*forgets, "--every", 10], "needs --live"),
                (["--live", "--grow", *forgets], "mutually exclusive"),
                (["--live", "--grow", "--every", "1d"], "mutually exclusive"),
                (["--live", "--every", "1d"], "needs --generations"),
                (["--live", *forgets, "-n", 10], "needs --every"),
                (["--live", *forgets, "--every", "1d"], "needs -n"),
                (["--live", *forgets, "--every", 10, "-n", 20], "leave out -n"),
                (["--live", "--grow", "-m", 512], "leave out -m"),
                (["--live", "--grow", "-k", 3], "leave out -k"),
                (["--live", *forgets, "--every", 10, "-m", 512], "leave out -m"),
                (["--live", "--grow", "-l", "counting"], "counting"),
                (["--live", "--generations", 1, "--every", 10], "from 2 to 1000"),
                (["--live", "--generations", 1001, "--every", 10], "from 2 to 1000"),
        ):
            with self.subTest(words):
                self.assertIn(says, self.refused(*words))

    def test_invalid_times_are_refused(self):
        says = {"10m": "10min or 10M", "m": "a time", "1.5h": "a time", "-1d": "a time",
                "0s": "a time", "0": "a time", "5w": "a time", "99999999999d": "a time",
                "10 min": "a time", "99999999d": "a time"}
        for value, words in says.items():
            with self.subTest(value):
                self.assertIn(words, self.refused("--live", "--generations", 3, "-n", 10,
                                                  f"--every={value}"))


if __name__ == "__main__":
    main()
