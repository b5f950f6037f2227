# SPDX-License-Identifier: MIT
"""bffold: the factor it chooses, the filter it makes, and the table of its dry run."""

import re
import xml.etree.ElementTree as ElementTree

from support import ToolTest, craft, lines, main, numbered, percent

KEYS = numbered(3000)
OTHERS = numbered(3000, "absent ")
LAYOUTS = "blocked", "classic", "counting"
BLOCKS = 60  # a number with 12 divisors
SVG = "{http://www.w3.org/2000/svg}"


def divisors(number):
    return [factor for factor in range(1, number + 1) if number % factor == 0]


class FoldTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("keys", lines(*KEYS))

    def filled(self, *options, name="big"):
        """A filter of 3000 keys, sized for ten times as many. Its size has many divisors."""
        return self.create("-q", "-n", 30_000, "-m", 512 * 720, "-p", 0.01, *options, "keys",
                           name=name)

    def rates(self, name, *options):
        """The rows of the table as factor, size in bytes as shown, and rate; and the chosen row."""
        rows, chosen = [], None
        text = self.run_tool("bffold", "--dry-run", *options, name).stdout.decode()
        for row in text.splitlines()[1:]:
            match = re.fullmatch(r"([* ]) +(\d+)  +([\d.]+ (?:bytes|[KM]iB)) +([\d.]+|-) +"
                                 r"([\d.]+)% +([\d.e+-]+)% +([\d.e+-]+)%", row)
            if match:
                fill, rate, later = map(float, match.group(5, 6, 7))
                rows.append((int(match[2]), match[3], fill, rate / 100, later / 100))
                chosen = rows[-1] if match[1] == "*" else chosen
        return rows, chosen

    def rate(self, name):
        return self.inspected(name)["measure"]["fpr"]


class Result(FoldTest):
    def test_every_factor_equals_a_build_of_that_size(self):
        for layout in LAYOUTS:
            unit = 512 if layout == "blocked" else 1
            units = BLOCKS if layout == "blocked" else 5040
            self.create("-q", "-l", layout, "-m", unit * units, "-k", 5, "-p", 0.02, "-s", 9,
                        "--label", "all", "--tag", "c0ffee", "keys", name="big")
            for factor in divisors(units)[::1 if layout == "blocked" else 5]:
                self.output("bffold", "-q", "-f", "--discard", "--factor", factor, "big", "small")
                small = self.read("small")
                built = self.create("-q", "-l", layout, "-m", unit * units // factor, "-k", 5, "-p",
                                    0.02, "-s", 9, "keys")
                self.assertEqual(craft.body_of(small), craft.body_of(built))
                self.assertIsNone(craft.refusal(small))
                self.assertEqual(craft.field(small, "m_unfolded"), unit * units)
                self.assertEqual(craft.field(small, "label").rstrip(b"\0"), b"all")
                self.assertEqual(craft.field(small, "tag")[:3], b"\xc0\xff\xee")
                self.assertEqual(craft.field(small, "n", 1), len(KEYS))

    def test_fold_equals_that_of_the_python_implementation(self):
        for layout in LAYOUTS:
            self.filled("-l", layout, "-m", 23_040, "--label", "x")
            units = craft.field(self.read("big"), "m") // (512 if layout == "blocked" else 1)
            for factor in divisors(units)[:4]:
                self.output("bffold", "-q", "-f", "--discard", "--factor", factor, "big", "small")
                self.assertEqual(self.read("small"), craft.derive("fold", factor, self.read("big")))

    def test_unknown_flags_are_not_copied(self):
        self.filled()
        image = craft.edit(self.read("big"), header={"compat": 6, "provenance": 2**31 + 2},
                           record={"flags": 2**31})
        self.write("big", image)
        self.output("bffold", "-q", "--factor", 2, "big", "small")
        self.assertEqual(self.read("small"), craft.derive("fold", 2, image))
        self.assertEqual([craft.field(self.read("small"), name) for name in
                          ("compat", "provenance")], [0, 2])

    def test_dash_writes_the_filter_to_standard_output(self):
        self.filled()
        self.output("bffold", "big", "small")
        self.assertEqual(self.output("bffold", "big", "-"), self.read("small"))
        self.assertEqual(self.output("bffold", "-f", "-q", "big", "-"), self.read("small"))

    def test_source_can_be_replaced_while_it_is_read(self):
        self.filled()
        self.output("bffold", "big", "small")
        reader = self.start("bfquery", "big")
        self.feed(reader, KEYS[0])
        self.assertEqual(reader.stdout.readline(), KEYS[0] + b"\n")
        self.output("bffold", "-f", "big", "big")
        self.assertEqual(self.read("big"), self.read("small"))
        self.assertEqual(self.result(reader, lines(*KEYS[1:])), (0, lines(*KEYS[1:]), b""))

    def test_live_filter_in_use_is_folded(self):
        self.create_live("-n", 30_000)
        self.output("bfadd", "-q", "live", "keys")
        writer = self.start("bfadd", "-q", "live")
        self.feed(writer, OTHERS[0])
        self.wait_for_key("live", OTHERS[0], writer)
        self.output("bffold", "live", "small")
        self.output("bfinspect", "-q", "--verify", "small")
        self.assertEqual(self.query("small", stdin=lines(*KEYS, OTHERS[0])), [*KEYS, OTHERS[0]])
        self.assertLessEqual(self.rate("small"), 0.01)
        self.assertEqual(self.result(writer, lines(OTHERS[1])), (0, b"", b""))
        message = self.trouble("bffold", "-f", "live", "live", names=["live"])
        self.assertIn("it is the live filter to fold (write to another file)", message)

    def test_unclean_filter_is_refused(self):
        live = self.create_live("-n", 30_000)
        self.output("bfadd", "-q", "live", "keys")
        self.write("live", craft.edit(self.read(live), record={"boot_id": b"x" * 16}))
        self.assertIn("killed during a sync", self.trouble("bffold", "live", "small"))
        self.output("bffold", "--accept-unclean", "live", "small")
        self.assertEqual(self.query("small", "keys"), KEYS)


class Choice(FoldTest):
    def check_greatest(self, rate, *options):
        """The chosen factor keeps the rate, and no greater factor does."""
        self.output("bffold", "-q", "-f", "--discard", *options, "big", "small")
        header = self.inspected("small")["header"]
        chosen = header["m_unfolded"] // header["m"]
        self.assertLessEqual(self.rate("small"), rate)
        rows, marked = self.rates("big", "--all", *options)
        self.assertEqual(marked[0], chosen)
        units = header["m_unfolded"] // (512 if header["layout"] == "blocked" else 1)
        self.assertEqual([row[0] for row in rows], divisors(units))
        for factor in [row[0] for row in rows if row[0] > chosen][:3]:
            self.output("bffold", "-q", "-f", "--discard", "--factor", factor, "big", "smaller")
            self.assertGreater(self.rate("smaller"), rate)
        return chosen

    def test_largest_factor_that_keeps_the_target_is_chosen(self):
        for layout in LAYOUTS:
            for promised in 0.05, 0.001:
                self.filled("-l", layout, "-p", promised)
                self.assertGreater(self.check_greatest(promised), 5)

    def test_default_rate_is_used_if_the_filter_records_none(self):
        self.create("-q", "-m", 512 * 720, "-n", 20_000, "keys", name="big")
        image = craft.edit(self.read("big"), header={"fpr": 0})
        self.write("big", image)
        _, chosen = self.rates("big")
        self.output("bffold", "big", "small")
        self.assertGreater(chosen[0], 1)
        self.assertLess(self.rate("small"), 0.01)

    def test_fpr_option_sets_the_rate(self):
        self.filled()
        factors = [self.check_greatest(rate, "--fpr", rate) for rate in (1e-4, 0.01, 0.2, 0.9)]
        self.assertEqual(sorted(set(factors)), factors)
        self.assertEqual(self.check_greatest(0.01), factors[1])

    def test_max_bytes_limits_the_size(self):
        self.filled()
        rows, _ = self.rates("big", "--all")
        sizes = {}
        for factor, *_ in rows:
            self.output("bffold", "-q", "-f", "--factor", factor, "big", "small")
            sizes[factor] = len(self.read("small"))
        for limit in sorted(set(sizes.values()))[:-1]:
            for more in 0, 1:
                self.output("bffold", "-q", "-f", "--max-bytes", limit + more, "big", "small")
                self.assertEqual(len(self.read("small")), limit)
                header = self.inspected("small")["header"]
                self.assertEqual(header["m_unfolded"] // header["m"],
                                 min(f for f, size in sizes.items() if size <= limit))
        for unit, bytes_in in ("16Ki", 16384), ("16k", 16000):
            self.output("bffold", "-q", "-f", "--max-bytes", unit, "big", "small")
            self.assertLessEqual(len(self.read("small")), bytes_in)

    def test_size_with_a_useless_rate_is_refused(self):
        """--factor makes it anyway. A filter that is already useless may be copied."""
        self.create("-q", "-k", 6, "-m", 512 * 128, stdin=lines(*numbered(20_000)), name="big")
        factor, _, _, rate, _ = self.rates("big", "--all")[0][1]
        size = 9000  # allows a body of one page
        self.assertGreater(rate, 0.5)
        message = self.trouble("bffold", "--max-bytes", size, "big", "new")
        self.assertEqual(message, f"bffold: cannot fold big: at that size its false-positive rate would be {percent(rate)} (to "
                                  f"fold it anyway: --factor {factor})\n")
        result = self.run_tool("bffold", "--dry-run", "--max-bytes", size, "big")
        self.assertEqual((result.returncode, result.stderr.decode()), (2, message))
        self.assertNotIn(b"*", result.stdout)
        self.output("bffold", "-q", "--factor", factor, "big", "new")
        self.output("bffold", "-q", "--max-bytes", size, "new", "copy")
        self.assertEqual(self.read("copy"), self.read("new"))

    def test_factor_1_copies(self):
        self.filled()
        self.output("bffold", "--factor", 1, "big", "copy")
        self.assertEqual(self.read("copy"), self.read("big"))

    def test_filter_without_keys_folds_to_the_smallest_size(self):
        self.create("-q", "-n", 1000, stdin=b"", name="big")
        self.output("bffold", "big", "small", says=b"bffold: warning: small: it has no keys, so every lookup returns no\n")
        self.assertEqual(self.inspected("small")["header"]["m"], 512)
        self.output("bffold", "--dry-run", "--svg", "-", "big")


class Table(FoldTest):
    def test_table_predicts_the_actual_rates(self):
        for layout in LAYOUTS:
            self.filled("-l", layout)
            rows, chosen = self.rates("big", "--all")
            self.assertIn(chosen, rows)
            for factor, size, fill, rate, _ in rows[:20]:
                self.output("bffold", "-q", "-f", "--discard", "--factor", factor, "big", "small")
                report = self.inspected("small")
                self.assertEqual(f"{report['measure']['fpr']:.3g}", f"{rate:.3g}")
                self.assertEqual(f"{100 * report['measure']['fill']:.1f}", f"{fill:.1f}")
                shown = self.run_tool("bfinspect", "small").stdout.decode()
                self.assertIn(f"size          {size}, body", shown)

    def test_table_has_aligned_columns(self):
        self.create("-q", "-m", 512 * 4, "-k", 3, "-p", 0.01, stdin=lines(*KEYS[:20]), name="big")
        head, *rows = self.output("bffold", "--dry-run", "--all", "big").decode().splitlines()
        self.assertEqual(head, "    factor         size  bits per key     fill        rate    +20 keys")
        self.assertEqual({len(row) for row in rows}, {len(head)})
        self.assertEqual([row[0] for row in self.rates("big", "--all")[0]], [1, 2, 4])

    def test_table_predicts_the_rate_with_more_keys(self):
        self.filled()
        self.write("more", lines(*OTHERS))
        self.filled("more", name="both")
        now, later = self.rates("big")[0], self.rates("both")[0]
        for one, two in list(zip(now, later))[2:6]:
            self.assertAlmostEqual(one[4] / two[3], 1, delta=0.15)
        none = self.rates("big", "--more", 0)[0]
        for row in none[2:]:
            self.assertAlmostEqual(row[4] / row[3], 1, delta=0.15)
        text = self.output("bffold", "--dry-run", "--more", "5k", "big").decode()
        self.assertIn("+5000 keys\n", text)

    def test_useless_factors_are_summarised(self):
        self.filled()
        every = self.rates("big", "--all")[0]
        text = self.output("bffold", "--dry-run", "big").decode()
        rows = self.rates("big")[0]
        self.assertEqual(rows, [row for row in every if row[3] <= 0.5])
        rest = every[len(rows):]
        self.assertGreater(len(rest), 2)
        self.assertEqual(text.splitlines()[-1],
                         f"{len(rest)} more factors, {rest[0][0]} to {rest[-1][0]}: rate "
                         f"{percent(min(row[3] for row in rest))} or more (--all shows them)")
        last = every[-1]
        rows, chosen = self.rates("big", "--factor", last[0])
        self.assertEqual((rows[-1], chosen), (last, last))

    def test_dry_run_writes_nothing(self):
        self.filled()
        before = self.snapshot()
        self.output("bffold", "--dry-run", "big")
        self.output("bffold", "--dry-run", "big", "small")
        self.assertEqual(self.snapshot(), before)

    def test_dry_run_shows_a_filter_that_cannot_be_folded(self):
        self.filled("-m", 512 * 72, "-n", 3000)
        result = self.run_tool("bffold", "--dry-run", "big")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"big: copied, not folded: factor 2 would give a false-positive rate of", result.stderr)
        self.assertRegex(result.stdout, rb"\n\* +1  .*\n +2  ")
        result = self.run_tool("bffold", "--dry-run", "--max-bytes", 1, "big")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stdout, rb"\n +1  .*\n +2  ")
        self.assertNotIn(b"*", result.stdout)


class Curve(FoldTest):
    def svg(self, data):
        root = ElementTree.fromstring(data)
        self.assertEqual(root.tag, SVG + "svg")
        return root, [element.text or "" for element in root.iter(SVG + "text")]

    def test_image_is_well_formed(self):
        self.filled()
        self.output("bffold", "--svg", "curve.svg", "big", "small")
        root, texts = self.svg(self.read("curve.svg"))
        header = self.inspected("small")["header"]
        factor = header["m_unfolded"] // header["m"]
        self.assertEqual(texts[0], "big")
        self.assertIn("target 1%", texts)
        self.assertIn("with 3000 more keys", texts)
        self.assertEqual(len([text for text in texts if text.startswith(f"factor {factor}: ")]), 1)
        circles = [element for element in root.iter(SVG + "circle")]
        rows, chosen = self.rates("big")
        self.assertEqual(len(circles), len(rows) + 2)
        marked, = [element for element in circles if element.get("class") == "chosen"]
        places = {(c.get("cx"), c.get("cy")) for c in circles if c.get("class") is None}
        self.assertIn((marked.get("cx"), marked.get("cy")), places)
        heights = [float(c.get("cy")) for c in circles if c.get("class") is None]
        self.assertEqual(heights, sorted(heights, reverse=True))
        target, = [element for element in root.iter(SVG + "line")
                   if element.get("class") == "target" and element.get("x2") == "920.0"]
        self.assertGreaterEqual(float(marked.get("cy")), float(target.get("y1")))
        for element in root.iter():
            for name in "cx", "cy", "x", "y":
                if element.get(name):
                    self.assertTrue(0 <= float(element.get(name)) <= 960)

    def test_lines_do_not_cross_the_label(self):
        """The chosen factor may be anywhere on the curve."""
        for options in [], ["--factor", 1], ["--factor", 60], ["--factor", 720], ["-p", 0.4]:
            self.filled()
            root, texts = self.svg(self.output("bffold", "--dry-run", "--svg", "-", *options, "big"))
            label, = [text for text in root.iter(SVG + "text")
                      if re.match(r"factor \d+: ", text.text or "")]
            x, y = float(label.get("x")), float(label.get("y"))
            width = 9 * len(label.text)
            left = x - width if "end" in label.get("class") else x
            lines = [[tuple(map(float, point.split(","))) for point in line.get("points").split()]
                     for line in root.iter(SVG + "polyline")]
            lines += [[(float(line.get("x1")), float(line.get("y1"))),
                       (float(line.get("x2")), float(line.get("y2")))]
                      for line in root.iter(SVG + "line")]
            for points in lines:
                for (x1, y1), (x2, y2) in zip(points, points[1:]):
                    for i in range(101):
                        at = x1 + (x2 - x1) * i / 100, y1 + (y2 - y1) * i / 100
                        self.assertFalse(left <= at[0] <= left + width and y - 14 <= at[1] <= y + 4,
                                         (options, label.text, at))

    def test_image_has_a_dark_colour_scheme(self):
        self.filled()
        text = self.output("bffold", "--dry-run", "--svg", "-", "big").decode()
        light, dark = re.search(r"<style>\n(.*)@media \(prefers-color-scheme: dark\) \{\n(.*)\n\}\n"
                                r"</style>", text, re.S).groups()
        for names in re.findall(r"^([^{\n]*) \{[^}]*(?:fill|stroke): #", light, re.M):
            self.assertIn(names + " {", dark)
        self.assertNotRegex(text.split("</style>")[1], "#[0-9a-f]{3}")

    def test_dash_writes_the_image_to_standard_output(self):
        self.filled()
        drawn = self.output("bffold", "--dry-run", "--svg", "-", "--fpr", 0.2, "big")
        self.run_tool("bffold", "--dry-run", "--svg", "a.svg", "--fpr", 0.2, "big")
        self.assertEqual(self.read("a.svg"), drawn)
        self.assertIn("requested 20%", self.svg(drawn)[1])

    def test_any_file_name_is_escaped_in_the_image(self):
        for name in "<&\">'", "ünïcödé ☃", "\x1b[31m", "\udcff", "a" * 255:
            if not self.can_be_named(name):
                continue
            self.filled(name="big")
            (self.folder / "big").rename(self.folder / name)
            root, texts = self.svg(self.output("bffold", "--dry-run", "--svg", "-", "--", name))
            if name.isprintable():
                self.assertEqual((root.find(SVG + "title").text, texts[0]), (name, name))


class Words(FoldTest):
    def test_summary_prints_sizes_and_rates(self):
        self.filled()
        message = self.run_tool("bffold", "-v", "big", "small").stderr.decode()
        pages = [self.run_tool("bfinspect", name).stdout.decode() for name in ("big", "small")]
        sizes = [re.search(r"size +([\d.]+ \w+),", page)[1] for page in pages]
        header = self.inspected("small")["header"]
        self.assertEqual(message,
                         f"bffold: big: {sizes[0]} -> {sizes[1]}, factor "
                         f"{header['m_unfolded'] // header['m']}, rate {percent(self.rate('small'))} "
                         "(target 1%)\n")
        again = self.run_tool("bffold", "-v", "big", "-")
        self.assertEqual(again.stderr.decode(), message)
        self.output("bffold", "-vqf", "big", "small")

    def test_rate_over_the_target_is_warned_of(self):
        self.filled()
        rows, chosen = self.rates("big", "--all")
        factor, size, _, rate, _ = rows[rows.index(chosen) + 1]
        warning = f"bffold: warning: small: the false-positive rate is {percent(rate)}, target 1%\n"
        self.output("bffold", "--factor", factor, "big", "small", says=warning.encode())
        self.output("bffold", "-qf", "--factor", factor, "big", "small")
        self.output("bffold", "-f", "--fpr", 1.01 * rate, "big", "small")  # the rate was requested
        self.assertGreater(self.rate("small"), 0.01)
        self.filled("-p", 1e-4)
        result = self.run_tool("bffold", "-f", "--max-bytes", "9k", "big", "small")
        self.assertEqual(result.stderr.decode(), "bffold: warning: small: the false-positive rate is "
                         f"{percent(self.rate('small'))}, target 0.01%\n")


if __name__ == "__main__":
    main()
