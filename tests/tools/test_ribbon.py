# SPDX-License-Identifier: MIT
"""The ribbon layout: reports of bfinspect, and messages of tools that cannot work on it."""

import math
import re

from support import ToolTest, craft, lines, main, numbered

PAGE = 4096
KEYS = numbered(20000)


def heads(image):
    """Blocks, seed, keys and lines of each page (doc/format/ribbon.md 2)."""
    lines = craft.field(image, "m") // 512
    for first in range(0, lines, 64):
        at = PAGE + 64 * first
        head = int.from_bytes(image[at:at + 8], "little")
        yield head & 0xFFFF, head >> 16 & 127, head >> 32, min(64, lines - first)


def columns(groups, lines):
    """The columns of each group. The last group is left out, since keys do not begin there (ribbon.md 3)."""
    words = 16 * lines - 2
    fewest = min(32, words // groups)
    few = groups if fewest == 32 else groups * (fewest + 1) - words
    return [fewest + (group >= few) for group in range(groups - 1)]


class RibbonTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.image = self.create("-q", "-l", "ribbon", stdin=lines(*KEYS))

    def page(self, *words, status=0, says=b""):
        return self.output("bfinspect", *words, status=status, says=says).decode()


class Inspect(RibbonTest):
    def test_healthy_ribbon_is_verified(self):
        self.write("keys", lines(*KEYS))
        page = self.page("--verify", "--keys", "keys", "filter.bloom")
        self.assertTrue(page.startswith("filter.bloom: healthy\n"), page)
        for row in (r"keys +20,000 recorded, 20,000 by its pages, sized for 20,000",
                    r"actual rate +0\.\d+%, computed from the heads of all pages",
                    r"target rate +1%", r"layout +ribbon", r"m +163,840 bits, 320 lines",
                    r"groups +1\d\d to 1\d\d of a page, 1[\d.]+ on average",
                    r"columns +\d to \d of a group, 7\.\d\d on average",
                    r"retries +\d pages? took another seed, \d more groups"):
            self.assertRegex(page, f"(?m)^  {row}$")
        self.assertNotRegex(page, "(?m)^  (fill|k|not solved) ")
        self.assertNotIn("estimated", page)

    def test_ribbon_keeps_its_target_rate(self):
        """Few keys and many, in pages of every size."""
        for keys in 1, 100, 5000, 60000:
            for rate in 0.2, 0.01, 1e-4, 1e-9:
                self.create("-q", "-l", "ribbon", "-p", rate, stdin=lines(*numbered(keys)))
                report = self.inspected("filter.bloom")
                self.assertEqual(report["status"], 0, report["verdict"])
                self.assertLessEqual(report["measure"]["fpr"], 1.1 * rate)
                self.assertEqual(report["measure"]["keys_estimate"], keys)

    def test_report_matches_the_heads_of_the_pages(self):
        for option in ("-p", 0.01), ("-p", 1e-8), ("-m", 512 * 200), ("-m", 512 * 64), ("-m", 512):
            image = self.create("-q", "-l", "ribbon", *option, stdin=lines(*KEYS))
            report = self.inspected("filter.bloom")
            solution, pages = report["solution"], list(heads(image))
            solved = [page for page in pages if page[0] > 0]
            rates = [(2.0**-count for count in columns(groups, lines))
                     for groups, _, _, lines in solved]
            rate = sum(page[3] * sum(rates) / (page[0] - 1) for page, rates in zip(solved, rates))
            rate += sum(page[3] for page in pages if page[0] == 0)
            self.assertAlmostEqual(report["measure"]["fpr"] / rate * solution["lines"], 1, 6)
            self.assertEqual(solution["pages"], len(pages))
            self.assertEqual(solution["lines"], report["header"]["m"] // 512)
            self.assertEqual(solution["unsolved"], len(pages) - len(solved))
            self.assertEqual(solution["reseeded"], sum(seed > 0 for _, seed, _, _ in solved))
            first = [max(2, math.ceil(41 * keys / 1280)) for _, _, keys, _ in solved]
            self.assertEqual(solution["enlarged"],
                             sum(page[0] > least for page, least in zip(solved, first)))
            groups = [page[0] for page in solved] or [0]
            self.assertEqual(solution["groups"], {"least": min(groups), "most": max(groups),
                                                  "mean": sum(groups) / len(groups)})
            words = [min(32 * page[0], 16 * page[3] - 2) for page in solved] or [0]
            self.assertAlmostEqual(solution["columns"]["mean"], sum(words) / max(sum(groups), 1), 9)
        self.assertIsNone(self.inspected("filter.bloom", "--quick")["solution"])
        self.create("-q", stdin=lines(*KEYS))
        self.assertIsNone(self.inspected("filter.bloom")["solution"])

    def test_empty_or_too_small_ribbon_is_unhealthy(self):
        self.create("-q", "-l", "ribbon", name="empty")
        self.create("-q", "-l", "ribbon", "-m", 4096, name="small", stdin=lines(*KEYS))
        self.create("-q", "-l", "ribbon", "-m", 100000, "-p", 0.01, name="smaller",
                    stdin=lines(*KEYS))
        for words in [], ["--verify"], ["--quick"]:
            for name, verdict in (("empty", "empty: lookups return no for nearly every key"),
                                  ("small", r"over capacity: its actual rate is (about )?100%")):
                report = self.inspected(name, *words)
                self.assertRegex(report["verdict"], f"^{verdict}$")
                self.assertEqual(report["status"], 1)
        report = self.inspected("smaller")
        self.assertRegex(report["verdict"], "^rate above target; actual rate 3.*%, target 1%$")
        self.assertEqual(report["advice"], "rebuild it, larger")
        self.assertIn("1 of 1 page, which returns maybe for every key",
                      self.page("small", status=1))

    def test_unsolved_pages_are_reported(self):
        groups, seed, keys, _ = list(heads(self.image))[1]
        self.write("unsolved", craft.with_head(self.image, 1, keys << 32))
        page = self.page("--verify", "unsolved", status=1)
        self.assertIn("rate above target: 1 of 5 pages could not be solved; actual rate 20.", page)
        self.assertIn("--seed random", page)
        self.assertIn("not solved    1 of 5 pages, which returns maybe for every key", page)

    def test_invalid_heads_are_refused(self):
        groups, seed, keys, _ = list(heads(self.image))[1]
        for head, verdict in (
                (512 | keys << 32, "damaged: the body has a page with an invalid head"),
                (1 | keys << 32, "damaged: the body has a page with an invalid head"),
                (groups | seed << 16 | keys + 1 << 32, "damaged: the body contradicts the header's n"
                 " (20000 keys recorded, 20001 by the heads of its pages)")):
            self.write("bad", craft.with_head(self.image, 1, head))
            report = self.inspected("bad", "--verify")
            self.assertEqual((report["verdict"], report["error"]), (verdict, "BLOOMFILE_EBODY"))


class Pictures(RibbonTest):
    def setUp(self):
        super().setUp()
        self.image = self.create("-q", "-l", "ribbon", "-p", "1e-7", stdin=lines(*KEYS))
        self.pages = list(heads(self.image))

    def map(self, name, status=0):
        """The cells, the numbers in the rows below them, and the number of unlikely cells."""
        page = self.page("--map", name, status=status)
        cells = "".join(re.findall(r"(?m)^ +\d+ (.*)$", page[page.index("\n\n"):]))
        found = re.search(r"(?m)^  cells +(\d+), (\S+) (pages?) each, columns (\S+) to (\S+)\n"
                          r"  glyphs +▄▅ the median, (\S+);.*blank: not solved\n"
                          r"  unlikely .*: (\d+)$", page)
        self.assertIsNotNone(found, page)
        return cells, found.groups()

    def test_map_shows_the_columns_of_each_page(self):
        """Each cell is a page, shown by its columns."""
        cells, (count, pages, unit, least, most, median, unlikely) = self.map("filter.bloom")
        self.assertEqual((int(count), pages, unit, unlikely), (len(self.pages), "1", "page", "0"))
        there = sorted((16 * lines - 2) / groups for groups, _, _, lines in self.pages)
        for text, columns in ((least, there[0]), (most, there[-1]), (median, there[len(there) // 2])):
            self.assertEqual(text, f"{columns:.2f}")
        self.assertNotIn(" ", cells)
        self.assertLessEqual(set(cells), set("▂▃▄▅▆▇"))

    def test_unusual_pages_stand_out_in_the_map(self):
        """A page that is not solved, and a page with far fewer columns than chance explains."""
        groups, _, keys, _ = self.pages[5]
        for head, glyph in ((0, " "), (2 * groups | 2 * keys << 32, "▁")):
            self.write("odd", craft.with_head(self.image, 5, head))
            self.write("odd", craft.edit(self.read("odd"), record={
                "n": sum(keys for _, _, keys, _ in heads(self.read("odd")))}))
            cells, numbers = self.map("odd", status=1)
            self.assertEqual((cells[5], numbers[-1]), (glyph, "1"))
            self.assertEqual(cells.count(" "), head == 0)

    def test_short_page_shares_the_cell_of_the_page_before(self):
        self.create("-q", "-l", "ribbon", "-m", 512 * 130, stdin=lines(*KEYS[:5000]))
        cells, (count, pages, unit, *_, unlikely) = self.map("filter.bloom")
        self.assertEqual((len(cells), count, pages, unit, unlikely), (2, "2", "1.5", "pages", "0"))

    def test_images_are_well_formed(self):
        self.write("odd", craft.with_head(self.image, 5, 0))
        for name in "filter.bloom", "odd":
            self.run_tool("bfinspect", "-f", "--svg", "svg", name)
            text = self.read("svg").decode()
            for words in "ribbon, ", " columns, actual rate ", "1.2 pages each", "not solved":
                self.assertIn(words, text)
            self.assertRegex(text, r'<text class="middle" [^>]*>2\d\.\d\d</text>')
            self.assertNotIn("k = 0", text)


class Create(RibbonTest):
    def test_equal_keys_make_equal_bytes(self):
        """The keys come from several inputs, are repeated, and are built by several threads, in little memory, to a pipe."""
        self.write("first", lines(*KEYS[:15000]))
        self.write("second", lines(*reversed(KEYS[5000:])))
        for options in [], ["-j", 3], ["--memory", "16Mi", "-j", 2]:
            out = self.create("-q", "-l", "ribbon", *options, "first", "second", name="other")
            self.assertEqual(out, self.image)
        self.assertEqual(self.output("bfcreate", "-q", "-l", "ribbon", "-", "first", "second"),
                         self.image)

    def test_summary_is_the_same_for_file_and_pipe(self):
        """A pipe cannot be read back, but gets the same summary as a file."""
        for option in [], ["-p", "1e-5"], ["-m", "150k"], ["-n", "30k"]:
            words = ["bfcreate", "-f", "-v", "-l", "ribbon", *option]
            told = [self.run_tool(*words, name, stdin=lines(*KEYS)).stderr.decode()
                    for name in ("file", "-")]
            self.assertRegex(told[0], r"^bfcreate: file: 20000 keys, \d+\.\d\d bits each, expected "
                             r"false-positive rate [^ ]+%( \(target \S+%\))?, [\d.]+ KiB\n$")
            self.assertEqual(told[0].replace("file:", "standard output:"), told[1])

    def test_file_has_whole_pages_unless_its_size_is_given(self):
        """A file has whole pages unless its size is given."""
        self.assertEqual(craft.field(self.image, "m"), 5 * PAGE * 8)
        for bits, given in (1, 512), (512, 512), (100_000, 100_352):
            image = self.create("-q", "-l", "ribbon", "-m", bits, stdin=lines(*KEYS[:100]))
            self.assertEqual((craft.field(image, "m"), craft.field(image, "k")), (given, 0))
        report = self.inspected("filter.bloom")
        self.assertEqual(report["status"], 0)

    def test_empty_ribbon_replaces_only_an_empty_ribbon(self):
        """A filter with keys is not replaced by an empty filter without a message."""
        for _ in range(2):
            self.output("bfcreate", "-f", "-q", "-l", "ribbon", "empty",
                        says=b"bfcreate: warning: empty: it has no keys, so every lookup returns no\n")
        self.trouble("bfcreate", "-f", "-l", "ribbon", "filter.bloom", names=["filter.bloom"])

    def test_incompatible_options_are_refused(self):
        for options, words in (
                (["-k", "3"], "-k/--hashes"), (["--live", "-n", "5"], "--live"),
                (["--live", "--grow"], "--grow"),
                (["--live", "--generations", "3", "--every", "5k"], "--generations")):
            message = self.trouble("bfcreate", "-l", "ribbon", *options, "new", names=["ribbon"])
            self.assertIn(words, message)
            if "--live" in options:
                self.assertIn("-l blocked or -l classic", message)
        for rate in "1e-10", "1e-15":
            message = self.trouble("bfcreate", "-l", "ribbon", "-p", rate, "new")
            self.assertIn("use -l blocked or -l classic", message)
        self.assertNotIn("ribbon", self.trouble("bfcreate", "-l", "ribbon", "-p", "1e-30", "new"))


class Others(RibbonTest):
    def setUp(self):
        super().setUp()
        self.write("keys", lines(*KEYS))
        self.create("-q", "-l", "ribbon", "-m", "1M", "keys", name="second")
        self.create("-q", "-m", "1M", "keys", name="blocked")
        self.create_live("-n", 100)

    def test_keys_are_found(self):
        self.assertEqual(self.query("filter.bloom", "keys"), KEYS)
        self.assertEqual(self.query("-v", "--filter", "filter.bloom", "--filter", "second", "keys",
                                    status=1), [])
        strangers = lines(*numbered(20000, "absent "))
        found = int(self.output("bfquery", "-c", "filter.bloom", stdin=strangers))
        rate = self.inspected("filter.bloom")["measure"]["fpr"]
        self.assertLess(abs(found - 20000 * rate), 5 * math.sqrt(20000 * rate))

    def test_bfseal_copies_a_ribbon_unchanged(self):
        self.output("bfseal", "-q", "filter.bloom", "copy")
        self.assertEqual(self.read("copy"), self.image)
        self.output("bfseal", "filter.bloom", says=b"bfseal: filter.bloom: already sealed\n")

    def test_unsupported_operations_are_refused_with_a_remedy(self):
        """Nothing is made or changed. The message gives the reason and the remedy."""
        at_once = "a ribbon filter cannot be changed, folded, merged or patched" \
                  " (build a filter from the keys with bfcreate)"
        for tool, words, names, why in (
                ("bfadd", "filter.bloom keys", "filter.bloom", "create a filter for adding"),
                ("bfadd", "--remove filter.bloom keys", "filter.bloom", "sealed"),
                ("bfuniq", "--filter filter.bloom keys", "filter.bloom", "name a new file"),
                ("bfuniq", "-l ribbon keys", "ribbon", "takes blocked or classic"),
                ("bffold", "filter.bloom new", "filter.bloom", at_once),
                ("bffold", "-f --discard -p 0.5 filter.bloom second", "filter.bloom", at_once),
                ("bffold", "--factor 2 filter.bloom new", "filter.bloom", at_once),
                ("bffold", "--dry-run filter.bloom", "filter.bloom", at_once),
                ("bffold", "--dry-run --svg new filter.bloom", "filter.bloom", at_once),
                ("bfmerge", "new filter.bloom second", "filter.bloom", at_once),
                ("bfmerge", "new filter.bloom", "filter.bloom", at_once),
                ("bfmerge", "new blocked second", "second", at_once),
                ("bfmerge", "-f --discard blocked live second", "second", at_once),
                ("bfmerge", "--intersect new filter.bloom second", "filter.bloom", at_once),
                ("bfseal", "--project filter.bloom new", "filter.bloom", "not of the counting"),
                ("bfdelta", "filter.bloom second new", "filter.bloom", "has no patches (copy NEW"),
                ("bfdelta", "blocked second new", "second", "has no patches (copy NEW instead)")):
            message = self.trouble(tool, *words.split(), names=[names])
            self.assertIn(why, message)
        message = self.trouble("bfmerge", "new", "-", stdin=self.image)
        self.assertIn("standard input, filter 1: " + at_once, message)
        self.output("bfdelta", "-q", "blocked", "blocked", "patch")
        self.assertIn("copy NEW instead",
                      self.trouble("bfdelta", "--apply", "filter.bloom", "patch", "new"))


if __name__ == "__main__":
    main()
