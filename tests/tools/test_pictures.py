# SPDX-License-Identifier: MIT
"""bfinspect --map and --svg: pictures of the body that other programs can read."""

import os
import re
import xml.etree.ElementTree as ElementTree

from support import (GOLDEN, REFUSED, UNPRIVILEGED, ToolTest, craft, lines, main, needs,
                     numbered)

SVG = "{http://www.w3.org/2000/svg}"
BLOCKS, ASCII = " ▁▂▃▄▅▆▇█", " .:-=+*#@"


class PictureTest(ToolTest):
    def setUp(self):
        super().setUp()
        keys = lines(*numbered(40_000))
        self.create("-q", "-p", "0.01", stdin=keys, name="filter")
        image = self.read("filter")
        self.pages = craft.body_size(image) // 4096
        lost = {4096 * (1 + self.pages // 2): bytes(4096 * 4)}
        self.write("holed", craft.edit(image, at=lost, checksums=False))

    def picture(self, *arguments, status=0):
        result = self.run_tool("bfinspect", *arguments)
        self.assertEqual((result.returncode, bool(result.stderr)), (status, status == 2))
        return result.stdout


class Map(PictureTest):
    def map(self, *arguments, **options):
        """The number of the first page in each row, and the rows."""
        result = self.run_tool("bfinspect", "--map", *arguments, **options)
        text = result.stdout.decode()
        lines_of_map = re.search(r"\n\n +page\n(.*?)\n\n", text, re.S)[1].splitlines()
        found = [re.fullmatch(r" *(\d+) (.*)", line).groups() for line in lines_of_map]
        return [int(page) for page, _ in found], [row for _, row in found]

    def test_map_uses_blocks_or_ascii_by_locale(self):
        for locale, glyphs in ("C.UTF-8", BLOCKS), ("C", ASCII), ("POSIX", ASCII):
            pages, rows = self.map("filter", locale=locale)
            self.assertLessEqual(set("".join(rows)), set(glyphs))
            self.assertGreater(len(set("".join(rows))), 2)
            self.assertEqual(pages[0], 0)
            self.assertEqual(pages, sorted(pages))
            self.assertLess(pages[-1], self.pages)
            self.assertLessEqual(len(rows), 16)
        self.assertTrue(self.output("bfinspect", "--map", "filter", locale="C").isascii())

    def test_map_fits_the_width_of_the_terminal(self):
        for columns in 1, 10, 40, 80, 132, 1000:
            _, rows = self.map("filter", env={"COLUMNS": str(columns)})
            self.assertEqual(len({len(row) for row in rows}), 1)
            text = self.output("bfinspect", "--map", "filter", env={"COLUMNS": str(columns)})
            drawn = [line for line in text.decode().splitlines() if re.match(r" *\d+ [▁-█]", line)]
            self.assertLessEqual(max(map(len, drawn)), max(columns, 10))
        for columns in "", "0", "-5", "x", "99999999999999999999", "10x":
            _, rows = self.map("filter", env={"COLUMNS": columns})
            self.assertLessEqual(len(rows[0]), 80)
            self.assertGreater(len(rows[0]), 40)

    def test_lost_pages_are_blank(self):
        _, healthy = self.map("filter")
        self.assertNotIn(" ", "".join(healthy))
        _, rows = self.map("holed")
        blank = "".join(rows).count(" ") / len("".join(rows))
        self.assertGreater(blank, 2 / self.pages)
        self.assertLess(blank, 6 / self.pages)

    def test_large_hole_does_not_change_the_verdict_of_other_cells(self):
        """No cell next to the hole is unlikely, and the glyphs are those of the complete filter."""
        image = self.read("filter")
        page, before = self.run_tool("bfinspect", "--map", "filter").stdout.decode(), self.map("filter")
        self.assertIn("further from the median than chance explains: 0\n", page)
        for lost in 4, self.pages // 3, self.pages * 2 // 3:
            self.write("lost", craft.edit(image, at={4096: bytes(4096 * lost)}, checksums=False))
            page = self.run_tool("bfinspect", "--map", "lost").stdout.decode()
            rows, whole = "".join(self.map("lost")[1]), "".join(before[1])
            blank = rows.count(" ")
            share = 64 * 512 * lost / craft.field(image, "m")
            self.assertAlmostEqual(blank / len(rows), share, delta=0.01)
            unlikely = int(re.search(r"than chance explains: (\d+)", page)[1])
            self.assertLessEqual(unlikely - blank, 1)  # the cell at the edge of the hole
            same = sum(a == b for a, b in zip(rows[blank + 1:], whole[blank + 1:]))
            self.assertGreater(same / (len(rows) - blank), 0.85)

    def test_smallest_and_empty_filters_have_one_cell(self):
        for name in ("classic-m1", "classic-full", "blocked-one-block", "counting-m1",
                     "blocked-no-keys", "classic-no-keys", "counting-k64-overflow"):
            pages, rows = self.map(GOLDEN / f"{name}.bloom")
            self.assertEqual((pages, len(rows), len(rows[0])), ([0], 1, 1))

    def test_unreadable_file_has_no_map(self):
        for name in "k-0", "live", "truncated-to-576":
            page = self.run_tool("bfinspect", "--map", REFUSED / f"{name}.bloom").stdout
            self.assertNotRegex(page, rb"\n +page\n")


class Svg(PictureTest):
    def svg(self, *arguments, **options):
        self.picture("--svg", "image.svg", "-f", *arguments, **options)
        return ElementTree.fromstring(self.read("image.svg"))

    def test_image_is_well_formed(self):
        root = self.svg("filter")
        self.assertEqual(root.tag, SVG + "svg")
        self.assertGreater(float(root.get("width")), 100)
        rectangles = [element for element in root.iter(SVG + "rect")
                      if element.get("class")]
        self.assertGreater(len(rectangles), 50)
        text = " ".join(element.text or "" for element in root.iter())
        for words in "filter", "blocked", "40,000 keys", "k = ":
            self.assertIn(words, text)

    def test_image_has_a_dark_colour_scheme(self):
        """Each colour has a second value there, and every colour stands in the style sheet."""
        self.svg("filter")
        text = self.read("image.svg").decode()
        light, dark = re.search(r"<style>\n(.*)@media \(prefers-color-scheme: dark\) \{\n(.*)\n\}\n"
                                r"</style>", text, re.S).groups()
        for names in re.findall(r"^([^{\n]*) \{[^}]*fill", light, re.M):
            self.assertIn(names + " {", dark)
        self.assertEqual(len(re.findall(r"^\.c\d+ ", dark, re.M)), 18)
        self.assertNotRegex(text.split("</style>")[1], "#[0-9a-f]{3}")

    def test_any_file_name_is_escaped_in_the_image(self):
        for name in "<&\">'", "]]>", "ünïcödé ☃", "\x1b[31m", "\x01", "\ufffe", "\udcff", "a" * 255:
            if not self.can_be_named(name):
                continue
            self.write(name, (GOLDEN / "blocked-file.bloom").read_bytes())
            title = self.svg("--", name).find(SVG + "title").text
            if name.isprintable():
                self.assertEqual(title, name)

    def test_dash_writes_the_image_to_standard_output(self):
        out = self.picture("--svg", "-", "filter")
        self.picture("--svg", "image.svg", "filter")
        self.assertEqual(out, self.read("image.svg"))

    def test_image_is_reproducible(self):
        self.svg("filter")
        first = self.read("image.svg")
        self.svg("filter")
        self.assertEqual(self.read("image.svg"), first)

    def test_every_golden_file_has_an_image(self):
        for path in sorted(GOLDEN.glob("*.bloom")):
            result = self.run_tool("bfinspect", "--svg", "-", path)
            if craft.field(path.read_bytes(), "incompat") & 1:
                self.assertEqual(result.returncode, 2)
                self.assertIn(b"a series of layers", result.stderr)
                continue
            self.assertEqual(result.stderr, b"")
            ElementTree.fromstring(result.stdout)

    @staticmethod
    def area(cell):
        return int(cell.get("width")) * int(cell.get("height"))

    def test_lost_pages_are_blank(self):
        """The blank cells cover about four pages, in the middle of the rows."""
        result = self.run_tool("bfinspect", "--svg", "-", "holed")
        self.assertEqual(result.returncode, 2)
        cells = list(ElementTree.fromstring(result.stdout).find(SVG + "g"))
        blank = [cell for cell in cells if cell.get("class") == "c17"]
        share = sum(map(self.area, blank)) / sum(map(self.area, cells))
        self.assertGreater(share, 2 / self.pages)
        self.assertLess(share, 6 / self.pages)
        height = max(int(cell.get("y")) + int(cell.get("height")) for cell in cells)
        middle = sum(int(cell.get("y")) for cell in blank) / len(blank)
        self.assertLess(abs(middle / height - 0.55), 0.12)

    def test_legend_shows_every_colour_and_the_fill(self):
        for name in "filter", GOLDEN / "classic-m1.bloom":
            root = ElementTree.fromstring(self.run_tool("bfinspect", "--svg", "-", name).stdout)
            legend = [element.get("class") for element in root.findall(SVG + "rect") if element.get("class")]
            self.assertEqual(legend, ["ground"] + [f"c{i}" for i in range(18)])
            percents = [element.text for element in root.iter(SVG + "text") if re.fullmatch(r"[\d.]+ ?%", element.text)]
            self.assertEqual(len(percents), 3)

    def test_image_and_report_are_written_together(self):
        out = self.picture("--svg", "a.svg", "--map", "--verify", "filter")
        self.assertIn(b"healthy", out)
        ElementTree.fromstring(self.read("a.svg"))


class Targets(PictureTest):
    def test_image_replaces_only_an_image_with_force(self):
        self.write("old", b"precious")
        for words in [], ["--force"]:
            self.trouble("bfinspect", "--svg", "old", *words, "filter", names=["old"])
        (self.folder / "old").unlink()
        self.picture("--svg", "old", "filter")
        drawn = self.read("old")
        self.write("old", drawn + b"\n")
        self.trouble("bfinspect", "--svg", "old", "filter", names=["old"])
        self.picture("--svg", "old", "--force", "filter")
        self.assertEqual(self.read("old"), drawn)

    def test_the_filter_itself_is_never_replaced(self):
        os.link(self.folder / "filter", self.folder / "same")
        (self.folder / "link").symlink_to("filter")
        for name in "filter", "./filter", "same", "link":
            result = self.run_tool("bfinspect", "-q", "-f", "--svg", name, "filter")
            self.assertEqual(result.returncode, 2)
            self.check_message("bfinspect", result.stderr, name)
        self.assertEqual(self.run_tool("bfquery", "-q", "filter", stdin=b"key 1\n").returncode, 0)

    def test_image_needs_a_regular_file(self):
        os.mkfifo(self.folder / "fifo")
        (self.folder / "dangling").symlink_to("nowhere")
        (self.folder / "folder").mkdir()
        for name in "fifo", "folder", "dangling", "/dev/null", "no/such/image", "":
            for force in [], ["-f"]:
                before = self.snapshot()
                result = self.run_tool("bfinspect", "-q", *force, "--svg", name, "filter")
                self.assertEqual(result.returncode, 2)
                self.check_message("bfinspect", result.stderr, name)
                self.assertEqual(self.snapshot(), before)

    def test_unreadable_file_has_no_image(self):
        for name in "k-0", "truncated-to-576", "text", "empty", "live":
            before = self.snapshot()
            result = self.run_tool("bfinspect", "-q", "--svg", "image", REFUSED / f"{name}.bloom")
            self.assertEqual(result.returncode, 2)
            self.assertEqual(self.snapshot(), before)
            for message in result.stderr.splitlines(keepends=True):
                self.check_message("bfinspect", message, name)

    @needs(*UNPRIVILEGED)
    def test_unwritable_folder_is_an_error(self):
        (self.folder / "sub").mkdir()
        (self.folder / "sub").chmod(0o555)
        self.trouble("bfinspect", "-q", "--svg", "sub/image", "filter", names=["sub/image"],
                     before=UNPRIVILEGED)

    def test_full_standard_output_is_an_error(self):
        with open("/dev/full", "wb") as full:
            result = self.run_tool("bfinspect", "--svg", "-", "filter", stdout=full)
        self.assertEqual(result.returncode, 2)
        self.check_message("bfinspect", result.stderr, "standard output")

    def test_permissions_follow_the_umask(self):
        (self.folder / "filter").chmod(0o640)  # skips the test where permissions are not supported
        self.assertEqual(self.run_tool("bfinspect", "-q", "--svg", "image", "filter",
                                       umask=0o027).returncode, 0)
        self.assertEqual((self.folder / "image").stat().st_mode & 0o777, 0o640)
        self.assertEqual(sorted(self.snapshot()), ["filter", "holed", "image"])


if __name__ == "__main__":
    main()
