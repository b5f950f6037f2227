# SPDX-License-Identifier: MIT
"""bfmerge: refusals and interruptions, neither of which may damage a file."""

import os

from support import WITHOUT_PROC, ToolTest, craft, lines, main, needs, numbered

KEYS = numbered(3000)
SIZE = 512 * 60


class TroubleTest(ToolTest):
    def setUp(self):
        super().setUp()
        for name, keys in ("a", KEYS[::2]), ("b", KEYS[1::2]):
            self.shard(name, keys=keys)

    def shard(self, name, *options, keys=KEYS):
        return self.create("-q", "-k", 5, "-m", SIZE, "-p", 0.05, "-n", 3000, *options,
                           stdin=lines(*keys), name=name)


class Sources(TroubleTest):
    def test_difference_is_named_with_both_values_and_the_remedy(self):
        seed, hashes, layout = (f" (build them with the same {what})" for what in
                                ("-s", "-n, or the same -k", "-l"))
        for options, words in ((["-s", 7], f"the seeds are 7 and 0{seed}"),
                               (["-s", 2**64 - 1], f"the seeds are {2**64 - 1} and 0{seed}"),
                               (["-k", 6], f"k is 6 and 5{hashes}"),
                               (["-l", "classic"], f"their layouts are classic and blocked{layout}"),
                               (["-l", "counting"], f"their layouts are counting and blocked{layout}"),
                               (["-k", 6, "-s", 7, "-i"], "their kinds of keys are lower and text (build them from keys of one kind)")):
            self.shard("c", *options)
            for mode in [], ["--intersect"], ["--union"]:
                self.assertEqual(self.trouble("bfmerge", *mode, "new", "a", "b", "c"),
                                 f"bfmerge: cannot merge c with a: {words}\n")
                (self.folder / "old").write_bytes(b"old")
                self.trouble("bfmerge", "-f", *mode, "old", "a", "b", "c")

    def test_source_named_twice_is_refused(self):
        os.link(self.folder / "b", self.folder / "hard")
        (self.folder / "link").symlink_to("b")
        self.write("list", b"b\n")
        for words, says in ((["b", "b"], "b: it is named twice"),
                            (["b", "a", "./b"], "./b: it is named twice, also as b"),
                            (["b", "a", "hard"], "hard: it is named twice, also as b"),
                            (["b", "a", "link"], "link: it is named twice, also as b"),
                            (["a", "b", "--files-from", "list"], "b: it is named twice")):
            self.assertEqual(self.trouble("bfmerge", "new", *words),
                             f"bfmerge: cannot merge {says}\n")

    def test_damaged_source_is_named(self):
        for offset in 4096, 4096 + 3000:
            self.write("bad", craft.flip(self.read("b"), offset))
            for words in ["new", "a", "bad"], ["new", "bad", "a"], ["-f", "a", "a", "bad"], \
                    ["--intersect", "new", "a", "bad"], ["-", "a", "bad"]:
                message = self.trouble("bfmerge", *words)
                self.assertIn("bfmerge: cannot merge bad: a page of the body is damaged", message)
        self.write("bad", craft.edit(self.read("b"), record={"ones": 5}))
        self.assertIn("cannot merge bad: the body contradicts the header",
                      self.trouble("bfmerge", "new", "a", "bad"))
        self.shard("counting", "-l", "counting")
        self.write("bad", craft.flip(self.read("counting"), 5000))
        self.assertIn("bad: a page", self.trouble("bfmerge", "--project", "new", "bad"))

    def shrunk(self, **options):
        """Exit status and message of a run whose source is truncated after it was opened."""
        self.shard("short")
        image = self.read("a")
        process = self.start("bfmerge", "new", "short", "-", **options)
        self.write_to(process, image[:100])
        os.truncate(self.folder / "short", 4096)
        return self.result(process, image[100:])

    def test_truncated_source_is_an_error(self):
        expected = (2, b"", b"bfmerge: cannot merge short: overwritten while it was open\n")
        self.assertEqual(self.shrunk(), expected)
        self.assertNotIn("new", self.snapshot())

    @needs(*WITHOUT_PROC)
    def test_truncated_source_is_an_error_with_signals_blocked(self):
        status, out, message = self.shrunk(before=WITHOUT_PROC)
        self.assertEqual((status, out), (2, b""))
        self.assertIn(b"cannot merge short: overwritten while it was open", message)
        self.assertFalse((self.folder / "new").exists())

    def test_invalid_lists_are_refused(self):
        for data, says in ((b"", "list has no file names"), (b"a\n\nb\n", "name 2 in list is empty"),
                           (b"a\0\0c\n", "name 2 in list is empty"),
                           (b"a\nno-such\n", "cannot open no-such")):
            self.write("list", data)
            self.assertIn(says, self.trouble("bfmerge", "new", "--files-from", "list"))
        self.assertIn("No such file", self.trouble("bfmerge", "new", "--files-from", "no"))
        self.assertIn("directory", self.trouble("bfmerge", "new", "--files-from", "."))


class Destination(TroubleTest):
    """-f may replace a source. Replacing any other filter would lose its keys."""

    IS = ""

    def refusal(self, dest, *words, remedy="", **options):
        before = self.snapshot()
        for force in ["-f"], []:
            self.assertEqual(self.trouble("bfmerge", *force, *words, **options),
                             f"bfmerge: cannot replace {dest}: it is {self.IS}not one of the sources (the destination comes"
                             f" first: bfmerge DEST SRC...; {remedy}--force --discard would lose its keys)\n")
        self.assertEqual(self.snapshot(), before)

    def test_merge_does_not_drop_keys_of_existing_destination(self):
        self.shard("all")
        (self.folder / "link").symlink_to("all")
        self.write("list", b"a\nb\n")
        to_keep = "to keep its keys, name it as a source too: bfmerge -f all all "
        self.refusal("all", "all", "a", remedy=to_keep + "a; ")
        self.refusal("all", "all", "a", "b", remedy=to_keep + "SRC...; ")
        self.refusal("link", "link", "a", remedy=to_keep.replace("all", "link") + "a; ")
        self.refusal("all", "all", "--files-from", "list", remedy=to_keep + "SRC...; ")
        self.refusal("all", "all", "a", "-", stdin=self.read("b"), remedy=to_keep + "SRC...; ")
        self.refusal("all", "all", "-", stdin=self.read("a"))
        self.refusal("all", "--intersect", "all", "a", "b")
        self.shard("counts", "-l", "counting")
        self.refusal("all", "--project", "all", "counts")
        for i in 1, 2:
            self.output("bfcreate", "-q", "--slice", f"{i}/2", "-n", "1M", f"part-{i}", stdin=lines(*KEYS))
        self.refusal("all", "--slices", "all", "part-1", "part-2")

    def test_every_remedy_is_a_command_that_works(self):
        self.shard("other seed", "-s", 7)
        self.shard("more hashes", "-k", 6)
        self.shard("counts", "-l", "counting")
        self.output("bfcreate", "-q", "-l", "ribbon", "solved", stdin=lines(*KEYS))
        self.output("bfcreate", "-q", "--slice", "1/2", "-n", "1M", "part", stdin=lines(*KEYS))
        self.write("damaged", craft.flip(self.shard("damaged"), 0x40))
        for dest in "other seed", "more hashes", "counts", "solved", "part", "damaged":
            with self.subTest(dest):
                self.refusal(dest, dest, "a")
        self.shard("all")
        self.refusal("all", "all", "other seed")
        self.refusal("all", "all", "no such")
        self.refusal("other seed", "other seed", "all")

    def test_command_is_printed_only_if_it_needs_no_quoting(self):
        to_keep = "to keep its keys, name it as a source too; "
        for dest in "a b", "a;b", "$a", "a'", "é":
            self.shard(dest)
            self.refusal(dest, dest, "a", remedy=to_keep)
        self.refusal("é", "é", "a", "b", remedy=to_keep)
        self.shard("./-all")
        self.refusal("-all", "--", "-all", "a", remedy=to_keep)
        self.shard("all")
        self.refusal("all", "all", "a b", remedy=to_keep)
        self.refusal("all", "all", "a b", "b", remedy=to_keep[:-2] + ": bfmerge -f all all SRC...; ")

    def test_sources_are_compared_by_inode(self):
        whole = self.shard("all", keys=KEYS[:100])
        for dest, *sources in (["all", "all", "a"], ["all", "./all", "b"], ["link", "all", "a"], ["all", "hard", "b"],
                               ["hard", "a", "all"], ["all", "--files-from", "list"], ["all", "a", "-"]):
            self.write("all", whole)
            os.link(self.folder / "all", self.folder / "hard")
            (self.folder / "link").symlink_to("all")
            self.write("list", b"a\nlink\n")
            with self.subTest(sources), open(self.folder / "all", "rb") as stdin:
                self.output("bfmerge", "-q", "-f", dest, *sources, stdin=stdin)
                self.assertEqual(self.query("-v", dest, stdin=lines(*KEYS[:100]), status=1), [])
            for name in "all", "hard", "link":
                (self.folder / name).unlink()

    def test_a_live_destination_is_kept(self):
        """It cannot be named as a source either."""
        self.IS = "live, and "
        self.create_live("-n", 3000, "-m", SIZE, "-k", 5)
        self.refusal("live", "live", "a")
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        self.refusal("live", "live", "a")
        self.create_live("--grow", "-n", 3000, name="grows")
        self.refusal("grows", "grows", "a")

    def test_a_destination_without_keys_is_replaced(self):
        self.output("bfcreate", "-q", "--allow-empty", "empty")
        self.assertIn("cannot create empty: File exists (write to another file; --force would overwrite this file)",
                      self.trouble("bfmerge", "empty", "a", "b"))
        self.output("bfmerge", "-q", "-f", "empty", "a", "b")
        self.write("nothing", b"")
        self.output("bfmerge", "-q", "-f", "nothing", "a", "b")
        self.assertEqual(self.read("empty"), self.read("nothing"))

    def test_discard_replaces_the_destination(self):
        self.shard("all")
        before = self.snapshot()
        self.assertIn("--discard needs --force", self.trouble("bfmerge", "--discard", "all", "a"))
        self.assertEqual(self.snapshot(), before)
        self.output("bfmerge", "-q", "-f", "--discard", "all", "a")
        self.assertEqual(self.query("-v", "all", stdin=lines(*KEYS[1::2]))[:3], KEYS[1::2][:3])

    def test_a_filter_that_appears_during_the_merge_is_kept(self):
        self.shard("all", keys=KEYS[:10])
        process = self.start("bfmerge", "-q", "-f", "all", "all", "-")
        image = self.read("a")
        self.write_to(process, image[:100])
        self.shard("other", keys=KEYS[10:20])
        os.rename(self.folder / "other", self.folder / "all")
        self.assertEqual(self.result(process, image[100:]), (2, b"", b"bfmerge: cannot replace all: another "
                         b"process replaced it during the run (check the new file, then run it again)\n"))
        self.assertEqual(self.query("-v", "all", stdin=lines(*KEYS[10:20]), status=1), [])


class CommandLine(TroubleTest):
    def test_wrong_command_lines_are_refused(self):
        self.write("list", b"a\nb\n")
        for words, says in ((["-Z", "new", "a"], "unknown"), ([], "DEST is missing"),
                            (["new"], "SRC is missing"), (["", "a"], "DEST is missing"),
                            (["--union", "--intersect", "new", "a"], "mutually exclusive"),
                            (["--project", "new", "a", "b"], "one SRC"),
                            (["--project", "new", "--files-from", "list"], "one SRC"),
                            (["--intersect", "-p", "0.1", "new", "a"], "--fpr needs --union"),
                            (["--intersect", "--disjoint", "new", "a"], "--disjoint needs --union"),
                            (["-0", "new", "a"], "unknown")):
            message = self.trouble("bfmerge", *words)
            self.assertIn(says, message)
            self.assertIn("--help", message)

    def test_invalid_option_values_are_refused(self):
        for value in "0", "1.5", "-1", "x", "", "nan":
            self.assertIn("--fpr", self.trouble("bfmerge", f"--fpr={value}", "new", "a"))
        for value in "", "a", "0g", "00" * 17:
            self.assertIn("--tag", self.trouble("bfmerge", f"--tag={value}", "new", "a"))
        self.assertIn("the label is not clean",
                      self.trouble("bfmerge", "--label", "a\nb", "new", "a"))


if __name__ == "__main__":
    main()
