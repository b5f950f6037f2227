# SPDX-License-Identifier: MIT
"""bfcreate --slice and bfmerge --slices: joining all slices, and messages if some are missing."""

from support import ToolTest, lines, main, numbered

from spec_reader import xxh3
from spec_slice import slice_of

KEYS = numbered(30_000)


class Slices(ToolTest):
    def slices(self, count, *words, keys=KEYS):
        """Makes all slices and returns their names."""
        names = [f"slice {i}" for i in range(1, count + 1)]
        for i, name in enumerate(names, 1):
            self.create("--slice", f"{i}/{count}", "-n", len(keys), *words, "-f", name, stdin=lines(*keys))
        return names

    def create(self, *words, stdin):
        self.output("bfcreate", *words, "-", stdin=stdin)

    def header(self, name):
        return self.inspected(name, "--quick")["header"]

    def test_slices_join_to_the_filter_of_one_build(self):
        for count, words in (2, ["-p", 0.001, "--label", "Wörter"]), (5, ["--crlf"]), (9, ["-s", 7, "--tag", "beef"]):
            self.create("-f", "-n", len(KEYS), *words, "whole", stdin=lines(*KEYS))
            names = self.slices(count, *words)
            self.output("bfmerge", "--slices", "-f", "--discard", "joined", *reversed(names))
            self.assertEqual(self.read("joined"), self.read("whole"))
            stream = b"".join(self.read(name) for name in names)
            self.output("bfmerge", "--slices", "-f", "--discard", "from stdin", "-", stdin=stream)
            self.assertEqual(self.read("from stdin"), self.read("whole"))
            self.write("list", lines(*[name.encode() for name in names]))
            self.assertEqual(self.output("bfmerge", "--slices", "--files-from", "list", "-"), self.read("whole"))

    def test_single_slice_answers_no_only_for_its_own_keys(self):
        names = self.slices(4)
        strangers = numbered(10_000, "stranger ")
        for name in names:
            self.assertEqual(self.query(name, stdin=lines(*KEYS)), KEYS)
            maybes = len(self.query(name, stdin=lines(*strangers)))
            header = self.header(name)
            others = 1 - header["m"] / 512 / header["whole_blocks"]
            self.assertAlmostEqual(maybes / 10_000, others + 0.01 * (1 - others), delta=0.03)
            self.output("bfinspect", "--verify", name)
        self.assertEqual(sum(self.inspected(name)["records"][0]["n"] for name in names), len(KEYS))
        report = self.output("bfinspect", names[1]).decode()
        self.assertRegex(report, r"slice +blocks 128 to 319 of \d+; lookups of other blocks return maybe\n")
        self.assertIn("sized for 30,000 in all slices", report)
        left = 30_000 - self.inspected(names[1])["records"][0]["n"]
        self.assertRegex(report, rf"made from +30,000 keys, of which {left:,} belong to other slices\n")
        header = self.header(names[1])
        self.assertEqual((header["first_block"], header["incompat"], header["capacity"]), (128, 2, len(KEYS)))

    def test_bfinspect_counts_the_keys_of_its_slice(self):
        """A slice answers maybe to keys of other slices."""
        self.write("keys", lines(*KEYS))
        name = self.slices(3)[1]
        own = self.inspected(name)["records"][0]["n"]
        self.assertEqual(self.inspected(name, "--keys", "keys")["keys"],
                         {"checked": 30_000, "own": own, "missing": 0, "first_missing": []})
        self.assertIn(f"30,000 ({own:,} belong to this slice), all present\n",
                      self.output("bfinspect", "--keys", "keys", name).decode())
        self.write("keys", lines(*numbered(1000, "stranger ")))
        keys = self.inspected(name, "--keys", "keys")["keys"]
        self.assertAlmostEqual(keys["own"], 333, delta=70)
        self.assertAlmostEqual(keys["missing"], 0.99 * keys["own"], delta=15)
        self.assertRegex(self.run_tool("bfinspect", "--keys", "keys", name).stdout.decode(),
                         fr"1,000 \({keys['own']} belong to this slice\), {keys['missing']} missing\n")

    def test_slice_goes_to_standard_output_with_a_summary(self):
        names = self.slices(3)
        result = self.run_tool("bfcreate", "-v", "--slice", "2/3", "-n", len(KEYS), "-", "-", stdin=lines(*KEYS))
        self.assertEqual((result.returncode, result.stdout), (0, self.read(names[1])))
        keys = self.inspected(names[1])["records"][0]["n"]
        words = rb"of 30000 keys read, %d are in this slice, [\d.]+ bits each, expected false-positive rate (0.9|1).*%% \(target 1%%\), 1\d.\d KiB\n"
        self.assertRegex(result.stderr, rb"\Abfcreate: standard output: " + words % keys + rb"\Z")
        to_file = self.run_tool("bfcreate", "-v", "--slice", "2/3", "-n", len(KEYS), "again", "-", stdin=lines(*KEYS))
        self.assertEqual(to_file.stderr.replace(b"again", b"standard output"), result.stderr)

    def test_slices_of_few_keys_join(self):
        """A slice may have any number of few keys by chance."""
        for i in range(1, 8):
            self.create("--slice", f"{i}/7", "-n", 10, "-m", 64 * 8 * 4096, "-k", 6, f"few {i}", stdin=lines(*KEYS[:10]))

    def test_slices_built_from_parts_of_the_keys_are_refused(self):
        """With any -n, each slice leaves out keys that were not read for any other slice."""
        parts = [f"part {i}" for i in range(4)]
        for capacity in len(KEYS), len(KEYS) // 8:
            for i, part in enumerate(parts):
                self.create("--slice", f"{i + 1}/4", "-n", capacity, "-m", 4096 * 64, "-q", "--overfull", "-f", part,
                            stdin=lines(*KEYS[i::4]))
            left = self.header("part 0")["keys_elsewhere"]
            for to in "new", "-":
                self.trouble("bfmerge", "-q", "--slices", to, *parts, names=[
                    f"cannot join part 0: it omits {left} of the 7500 keys it read, and no other slice may have them: part 0 and part 1 were made from different keys (make every slice from the same keys)"])
            self.output("bfmerge", "-q", "--slices", "--as-is", "--overfull", "-f", "--discard", "joined", *parts)
            self.assertLess(len(self.query("joined", stdin=lines(*KEYS))), len(KEYS))
        self.trouble("bfmerge", "--as-is", "new", *parts, names=["--as-is needs --slices"])

    def test_one_slice_of_different_keys_is_refused(self):
        names = self.slices(3)
        for keys, joins in (KEYS[::-1], True), (KEYS + KEYS[:1], False), (KEYS[1:], False), (KEYS[1:] + numbered(1, "x"), False):
            self.create("--slice", "2/3", "-n", len(KEYS), "-f", names[1], stdin=lines(*keys))
            if joins:
                self.output("bfmerge", "--slices", "-f", "--discard", "joined", *names)
            else:
                self.trouble("bfmerge", "--slices", "new", *names, names=["slice 1 and slice 2 were made from different keys"])

    def test_slices_built_from_their_own_keys_join(self):
        self.create("-n", len(KEYS), "whole", stdin=lines(*KEYS))
        self.slices(3)
        own, m = [[] for _ in range(3)], 512 * self.header("slice 1")["whole_blocks"]
        for key in KEYS:
            own[slice_of(m, 3, xxh3(key, 0))].append(key)
        for i in range(3):
            self.create("--slice", f"{i + 1}/3", "-n", len(KEYS), "-f", f"slice {i + 1}", stdin=lines(*own[i], *own[i][:9]))
        self.output("bfmerge", "--slices", "joined", "slice 3", "slice 1", "slice 2")
        self.assertEqual(self.read("joined"), self.read("whole"))

    def test_min_keys_detects_truncated_input_of_a_slice(self):
        self.create("--slice", "1/4", "-n", len(KEYS), "--min-keys", len(KEYS), "slice", stdin=lines(*KEYS))
        self.trouble("bfcreate", "-f", "--slice", "1/4", "-n", len(KEYS), "--min-keys", len(KEYS), "slice", "-",
                     stdin=lines(*KEYS[1:]), names=["29999 different keys, fewer than the 30000"])
        others = self.query("slice", stdin=lines(*numbered(9, "stranger ")))[:1]
        self.trouble("bfcreate", "-f", "--slice", "1/4", "-n", len(KEYS), "slice", "-", stdin=lines(*others),
                     names=["cannot replace slice: its keys would be lost, and this slice has no keys of the 1 key read"])
        self.trouble("bfcreate", "-f", "--slice", "1/4", "-n", len(KEYS), "slice", "-",
                     names=["cannot replace slice: its keys would be lost, and the input has no keys"])

    def test_slice_over_capacity_is_refused(self):
        result = self.run_tool("bfcreate", "--slice", "1/2", "-n", 9000, "over", "-", stdin=lines(*KEYS))
        self.assertEqual(result.returncode, 2)
        self.check_message("bfcreate", result.stderr, "cannot create over: ", "in a slice sized for 3291 (", "make all slices with a larger -n")
        self.assertFalse((self.folder / "over").exists())

    def test_joined_filter_over_capacity_is_refused(self):
        """It is refused where a single build is refused, with the same message."""
        for capacity, over in (12_000, True), (29_000, False):
            for i in range(1, 4):
                self.create("--overfull", "--slice", f"{i}/3", "-n", capacity, "-f", f"slice {i}", stdin=lines(*KEYS))
            names = ["slice 1", "slice 2", "slice 3"]
            whole = self.run_tool("bfcreate", "-q", "-f", "-n", capacity, "whole", "-", stdin=lines(*KEYS))
            joined = self.run_tool("bfmerge", "-q", "--slices", "-f", "--discard", "joined", *names)
            streamed = self.run_tool("bfmerge", "-q", "--slices", "-", *names)
            self.assertEqual([result.returncode for result in (joined, streamed, whole)], [2 * over] * 3)
            says = whole.stderr.decode().partition(" (")[0].replace("bfcreate: cannot create whole", "bfmerge: cannot create joined")
            self.assertEqual(joined.stderr.decode().partition(" (")[0], says)
            if over:
                self.assertEqual(streamed.stdout, b"")
                self.assertFalse((self.folder / "joined").exists())
            else:
                self.assertEqual(self.read("joined"), self.read("whole"))
                self.assertEqual(streamed.stdout, self.read("whole"))
            self.output("bfmerge", "-q", "--slices", "--overfull", "-f", "--discard", "joined", *names)
        self.assertEqual(says, "")
        self.trouble("bfmerge", "--overfull", "new", *names, names=["--overfull needs --slices"])

    def test_incomplete_or_foreign_slices_are_refused(self):
        names = self.slices(4)
        _, two, three, _ = names
        self.create("-f", "-n", len(KEYS), "whole", stdin=lines(*KEYS))
        self.output("bfmerge", "--slices", "-f", "--discard", "joined", *names)
        for says, *given in (
                ("blocks 320 to 447 of 582 are missing", *[name for name in names if name != three]),
                ("blocks 0 to 127 of 582 are missing", *names[1:]), ("blocks 448 to 581 of 582 are missing", *names[:3]),
                ("cannot join whole: it is not a slice", *names, "whole"),
                ("cannot merge slice 2: it is named twice", *names, two)):
            self.trouble("bfmerge", "--slices", "new", *given, names=[says])
        self.write("copy", self.read(two))
        self.trouble("bfmerge", "--slices", "new", *names, "copy", names=["cannot join copy: slice 2 has the block 128"])
        for words, says in ((["-s", 1], "the seed differs (make all slices with the same -s)"), (["-p", 0.02], "the size of the filter"),
                            (["-x", 1], "the kind of keys differs (make all slices with the same key options, such as -x)"),
                            (["--label", "x"], "the label"), (["--tag", "01"], "the tag"), (["-k", 3], "the number of hashes")):
            size = ["-m", 582 * 512] if "-k" in words else []
            self.create("-f", "--slice", "3/4", "-n", len(KEYS), *size, *words, "odd", stdin=lines(*KEYS))
            self.trouble("bfmerge", "--slices", "new", *[name for name in names if name != three], "odd",
                         names=["cannot join odd: it is a slice of a different filter than slice 1: ", says])
        data = bytearray(self.read(three))
        data[5000] ^= 1
        self.write(three, data)
        self.trouble("bfmerge", "--slices", "new", *names, names=["cannot merge slice 3: a page of the body is damaged"])

    def test_operations_on_whole_filters_refuse_slices(self):
        names = self.slices(2)
        for tool, *words in (("bfmerge", "new", *names), ("bfmerge", "--intersect", "new", *names), ("bffold", names[0], "new")):
            self.trouble(tool, *words, names=[f"{names[0]}: a slice, where a whole filter is needed", "join all slices: bfmerge --slices"])
        self.output("bfseal", names[0], "copy")
        self.assertEqual(self.read("copy"), self.read(names[0]))

    def test_invalid_slice_options_are_refused(self):
        for words, says in (
                (["--slice", "0/3", "-n", 9], "--slice takes I/N"), (["--slice", "4/3", "-n", 9], "--slice takes I/N"),
                (["--slice", "1", "-n", 9], "--slice takes I/N"), (["--slice", "1/65537", "-n", 9], "--slice takes I/N"),
                (["--slice", "1/3x", "-n", 9], "--slice takes I/N"), (["--slice", "1/3"], "--slice needs -n"),
                (["--slice", "1/3", "-m", 5120], "--slice needs -n"),
                (["--slice", "1/3", "-m", 5120, "-k", 7], "--slice needs -n"),
                (["--slice", "1/3", "-n", 9, "-l", "classic"], "for the layout blocked"),
                (["--slice", "1/3", "-n", 9, "-l", "ribbon"], "for the layout blocked"),
                (["--slice", "1/3", "-n", 9, "--live"], "not for live ones")):
            self.trouble("bfcreate", *words, "new", names=[says])
        self.assertRegex(self.output("bfcreate", "--help").decode(), r"(?s)--slice I/N .*?;\s+needs -n\n")
        self.trouble("bfcreate", "--slice", "1/3", "-n", 9, "new", names=[
            "cannot create new: 3 slices are not possible: the whole filter has 1 page of 4096 bytes, and each slice needs one "
            "(leave out --slice)"])
        self.trouble("bfcreate", "--slice", "1/65536", "-n", "1M", "-", names=[
            "cannot create standard output: 65536 slices are not possible: the whole filter has 304 pages", "(--slice I/304, or fewer)"])
        self.create("--slice", "304/304", "-n", "1M", "last", stdin=b"")
        self.slices(2)
        for words, says in ((["-p", 0.5], "--fpr needs --union"), (["--disjoint"], "--disjoint needs --union")):
            self.trouble("bfmerge", "--slices", *words, "new", "slice 1", names=[says])


if __name__ == "__main__":
    main()
