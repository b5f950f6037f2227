# SPDX-License-Identifier: MIT
"""bffold, bfseal and bfdelta --apply replace a filter only if its keys are kept, or --discard drops them."""

from support import ToolTest, craft, lines, main, numbered

KEYS = numbered(2000)
OTHER = numbered(50, "other ")


class DiscardTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.shape("src", *KEYS)
        self.shape("new", *KEYS, b"new")
        self.output("bfdelta", "src", "new", "patch")
        self.live("live")

    def shape(self, name, *keys, bits=512 * 60):
        return self.create("-q", "-f", "-m", bits, "-k", 5, stdin=lines(*keys), name=name)

    def live(self, name, *options, keys=KEYS, of="-m 30720 -k 5 -n 3000"):
        self.create_live("-f", *of.split(), *options, name=name)
        self.output("bfadd", "-q", name, stdin=lines(*keys))

    WAYS = (["bffold", "--factor", 2, "src", "dest"], ["bffold", "--factor", 1, "src", "dest"],
            ["bfseal", "live", "dest"], ["bfdelta", "--apply", "src", "patch", "dest"])

    def kept(self, tool, *words, reason=None):
        source = words[-2] if tool != "bfdelta" else "src"
        reason = reason or f"it may have keys that {source} lacks"
        for force in [], ["-f"]:
            self.assertEqual(self.trouble(tool, *force, *words),
                             f"{tool}: cannot replace dest: {reason} (write to another file; --force --discard would lose its keys)\n")


class Kept(DiscardTest):
    def test_filter_with_other_keys_is_replaced_only_with_discard(self):
        for tool, *words in self.WAYS:
            with self.subTest(tool):
                self.shape("dest", *OTHER, bits=512 * 7)
                self.kept(tool, *words)
                self.assertIn("--discard needs ", self.trouble(tool, "--discard", *words))
                self.output(tool, "-q", "-f", "--discard", *words)
                self.assertEqual(self.query("dest", stdin=lines(*KEYS)), KEYS)

    def test_filter_with_one_more_key_is_kept(self):
        for tool, *words in self.WAYS:
            self.shape("dest", *KEYS, OTHER[0])
            self.kept(tool, *words)

    def test_a_live_filter_is_kept(self):
        for tool, *words in self.WAYS:
            self.create_live("-f", "-n", 100, name="dest")
            self.kept(tool, *words, reason="it is live")

    def test_swapped_operands_lose_nothing(self):
        self.output("bfseal", "live", "copy")
        self.output("bfadd", "-q", "live", stdin=lines("later"))
        self.assertIn("cannot replace live: it is live", self.trouble("bfseal", "-f", "copy", "live"))
        self.output("bffold", "-q", "--factor", 4, "src", "small")
        self.assertIn("cannot replace new: it may have keys that small lacks", self.trouble("bffold", "-f", "small", "new"))

    def test_a_damaged_filter_is_kept(self):
        image = self.shape("dest", *KEYS)
        self.write("dest", craft.flip(image, 4096 + 100))
        for tool, *words in self.WAYS:
            self.kept(tool, *words)
        self.write("dest", craft.flip(image, 0x40))
        for tool, *words in self.WAYS:
            self.kept(tool, *words)

    def test_a_filter_of_another_seed_or_layout_is_kept(self):
        for options in ["-s", 1], ["-l", "classic"], ["-k", 6]:
            self.create("-q", "-f", "-m", 512 * 60, "-k", 5, *options, stdin=lines(*KEYS[:1]), name="dest")
            for tool, *words in self.WAYS:
                self.kept(tool, *words)

    def test_filter_is_kept_if_the_source_is_saturated(self):
        """A saturated source has all bits of any filter."""
        many = numbered(30000, "many ")
        self.shape("src", *many, bits=5120)
        self.live("live", keys=many, of="-m 5120 -k 5 -n 30000")
        for tool, *words in self.WAYS[:3]:
            with self.subTest(words=words):
                self.shape("dest", *OTHER, bits=2560 if 2 in words else 5120)
                self.kept(tool, *words)

    def test_filter_with_few_keys_is_kept(self):
        """Other keys may set all bits of a key."""
        self.shape("src", *KEYS, bits=512 * 20)
        found = next(key for key in numbered(10000, "chance ") if self.found(key))
        self.live("live", of="-m 10240 -k 5 -n 3000")
        for tool, *words in self.WAYS[1:3]:
            with self.subTest(words=words):
                self.shape("dest", found, bits=512 * 20)
                self.kept(tool, *words)

    def found(self, key):
        return self.run_tool("bfquery", "-q", "src", stdin=lines(key)).returncode == 0

    def test_a_filter_that_records_more_keys_is_kept(self):
        """Its bits do not prove that the source has its keys."""
        self.output("bfcreate", "-q", "-f", "-m", 512 * 60, "-k", 5, "dest", stdin=lines(*KEYS[:1500]))
        self.write("copy", self.read("dest"))
        self.output("bfmerge", "-q", "-f", "--disjoint", "dest", "dest", "copy")
        self.assertEqual(self.inspected("dest")["record"]["n"], 3000)
        for tool, *words in self.WAYS[1:3]:
            self.kept(tool, *words)


class Replaced(DiscardTest):
    def test_unchanged_copy_of_few_keys_is_replaced(self):
        self.live("live", keys=KEYS[:1])
        self.output("bfseal", "-q", "live", "dest")
        self.output("bfseal", "-q", "-f", "live", "dest")
        self.shape("src", *numbered(30000), bits=5120)
        for _ in range(2):
            self.output("bffold", "-q", "-f", "--discard", "--factor", 1, "src", "dest")
            self.output("bffold", "-q", "-f", "--factor", 1, "src", "dest")

    def test_copy_of_a_series_is_replaced_after_a_new_layer(self):
        self.live("live", of="--grow -n 500", keys=KEYS[:502])
        self.output("bfseal", "-q", "live", "dest")
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.output("bfseal", "-q", "-f", "live", "dest")
        self.assertEqual(self.query("dest", stdin=lines(*KEYS)), KEYS)

    def test_an_earlier_copy_is_replaced(self):
        for layout in "blocked", "classic", "counting":
            with self.subTest(layout):
                self.live("live", "-l", layout)
                self.output("bfseal", "-q", "-f", "--discard", "live", "dest")
                self.output("bfadd", "-q", "live", stdin=lines(*OTHER))
                self.assertIn("File exists (add --force: live has all its keys)", self.trouble("bfseal", "live", "dest"))
                self.output("bfseal", "-q", "-f", "live", "dest")
                self.assertEqual(self.query("dest", stdin=lines(*KEYS, *OTHER)), [*KEYS, *OTHER])

    def test_an_earlier_projection_is_replaced_until_keys_are_removed(self):
        self.live("live", "-l", "counting", of="-m 30011 -k 5 -n 3000")
        self.output("bfseal", "-q", "--project", "live", "dest")
        self.output("bfadd", "-q", "live", stdin=lines(*OTHER))
        self.output("bfseal", "-q", "-f", "--project", "live", "dest")
        self.output("bfadd", "-q", "--remove", "live", stdin=lines(*OTHER))
        self.kept("bfseal", "--project", "live", "dest")

    def test_an_earlier_copy_of_a_series_is_replaced(self):
        self.live("live", of="--grow -n 500")
        self.output("bfseal", "-q", "live", "dest")
        self.output("bfadd", "-q", "live", stdin=lines(*OTHER, *numbered(3000, "more ")))
        self.output("bfseal", "-q", "-f", "live", "dest")
        self.assertEqual(self.query("dest", stdin=lines(*KEYS, *OTHER)), [*KEYS, *OTHER])
        self.live("other", of="--grow -n 500")
        self.kept("bfseal", "other", "dest")

    def test_an_earlier_fold_is_replaced(self):
        for factor in 2, 1, 4, 3:
            self.output("bffold", "-q", "-f", "--factor", factor, "src", "dest")
        self.shape("src", *KEYS, *OTHER)
        self.output("bffold", "-q", "-f", "--factor", 3, "src", "dest")
        self.assertEqual(self.query("dest", stdin=lines(*KEYS, *OTHER)), [*KEYS, *OTHER])

    def test_force_replaces_only_an_identical_ribbon(self):
        for keys in KEYS[1:], KEYS:
            self.output("bfcreate", "-q", "-f", "-l", "ribbon", "-n", 2000, "dest", stdin=lines(*keys))
            self.output("bfcreate", "-q", "-f", "-l", "ribbon", "-n", 2000, "src", stdin=lines(*KEYS))
            if keys is KEYS:
                self.output("bfseal", "-qf", "src", "dest")
            else:
                self.kept("bfseal", "src", "dest")

    def test_a_filter_without_keys_is_replaced(self):
        for tool, *words in self.WAYS:
            self.shape("dest")
            self.output(tool, "-q", "-f", *words)
            self.write("dest", b"")
            self.output(tool, "-q", "-f", *words)


if __name__ == "__main__":
    main()
