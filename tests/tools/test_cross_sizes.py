#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sizes and rates of sizes.md: the C library, the second implementation (tests/spec/spec_sizes.py) and the vectors
agree. CASES in the environment sets the number of random cases."""

import math
import os
import random
import re
import subprocess
import sys
import unittest

from support import SOURCE_ROOT, WHOLE

sys.path.insert(0, str(SOURCE_ROOT / "tests"))
import spec_sizes  # noqa: E402

NUMBERS = {"blocked": 1, "classic": 2, "counting": 3, "ribbon": 4}
CASES = int(os.environ.get("CASES", 50 if WHOLE else 10))


def vectors(kind):
    """Layout, parameters and answer of each vector."""
    for line in (SOURCE_ROOT / "tests" / "vectors.tsv").read_text().splitlines():
        name, layout, given, answer = line.split("\t")
        if name == kind:
            yield layout, dict(pair.split("=") for pair in given.split()), answer.split()


class Library:
    """Queries the C library."""

    def __enter__(self):
        self.process = subprocess.Popen([os.environ["SIZES_CHOSEN"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.communicate()

    def size(self, layout, n, p=0.0, m=0, k=0):
        """m, k, rate and spread, or None."""
        print(NUMBERS[layout], n, p.hex(), m, k, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().split()
        return None if answer == ["none"] else (int(answer[0]), int(answer[1]), *map(float.fromhex, answer[2:]))


class SizesTest(unittest.TestCase):
    def assert_rate(self, rate, expected, what):
        self.assertLessEqual(abs(rate - expected), 2e-9 * expected, what)

    def assert_size(self, library, layout, n, p=0.0, m=0, k=0):
        what = f"{layout} n={n} p={p!r} m={m} k={k}"
        unit = 512 if layout in ("blocked", "ribbon") else 1
        theirs = library.size(layout, n, p, -(-m // unit) * unit, k)
        ours = spec_sizes.size_given(layout, n, m, k) if m else spec_sizes.size(layout, n, p, k)
        self.assertEqual(theirs and theirs[:2], ours, what)
        if ours:
            self.assert_rate(theirs[2], spec_sizes.rate(layout, n, *ours), what)
        return ours

    def test_both_match_the_rate_vectors(self):
        with Library() as library:
            for layout, pairs, (answer,) in vectors("rate"):
                n, m, k = (int(pairs[name]) for name in ("n", "m", "k"))
                self.assert_rate(library.size(layout, n, m=m, k=k)[2], float(answer), pairs)
                self.assert_rate(spec_sizes.rate(layout, n, m, k), float(answer), pairs)

    def test_both_match_the_size_vectors(self):
        with Library() as library:
            for layout, pairs, answer in vectors("size"):
                n, fpr = int(pairs["n"]), float(pairs.get("fpr", 0))
                size = self.assert_size(library, layout, n, fpr, int(pairs.get("m", 0)), int(pairs.get("k", 0)))
                if pairs.get("header_size") == "4096":  # the tools make whole pages of the library's lines
                    size = spec_sizes.size(layout, n, fpr, whole_pages=True)
                self.assertEqual(list(size), [int(number) for number in answer], pairs)

    def test_rates_at_the_documented_sizes_scatter_by_a_tenth(self):
        text = (SOURCE_ROOT / "doc" / "layouts.md").read_text()
        rows = re.findall(r"^\| ([\d.]+%|10\^-\d) \| ([\d,]+) \| ([\d,]+) \|$", text, re.M)
        self.assertEqual(len(rows), 6)
        with Library() as library:
            for rate, *counts in rows:
                p = float(rate[:-1]) / 100 if rate[-1] == "%" else float(rate.replace("10^", "1e"))
                for layout, count in zip(("blocked", "classic"), counts):
                    spread = library.size(layout, int(count.replace(",", "")), p=p)[3]
                    self.assertTrue(0.05 < spread < 0.107, (p, layout, spread))

    def test_manual_of_bfinspect_states_the_limit_of_its_verdict(self):
        text = (SOURCE_ROOT / "man" / "bfinspect.1").read_text()
        [(spread, limit)] = re.findall(r"For 100,000 keys at 1e-9 it is ([\d.]+), and the limit is ([\d.]+) times", text)
        with Library() as library:
            s = library.size("blocked", 100_000, p=1e-9)[3]
        self.assertEqual(f"{s:.2f}", spread)
        self.assertEqual(f"{1.1 * math.exp(4 * math.sqrt(math.log1p(s * s))):.1f}", limit)

    def test_both_choose_the_same_sizes_for_random_parameters(self):
        source = random.Random(int(os.environ.get("SEED", 1)))
        with Library() as library:
            for _ in range(CASES):
                layout = source.choice(list(NUMBERS))
                n = 1 + int(2 ** (source.random() * 59))
                self.assert_size(library, layout, n, p=10 ** (-12 * source.random()) / 2,
                                 k=0 if layout == "ribbon" else source.choice([0, source.randint(1, 64)]))
                self.assert_size(library, layout, n, m=1 + int(2 ** (source.random() * 60)))

    def test_both_choose_the_same_k_for_vanishing_rates(self):
        """Below n / 2^64 many values of k have nearly the same rate, which a few crowded blocks determine."""
        source = random.Random(int(os.environ.get("SEED", 1)))
        with Library() as library:
            for _ in range(CASES):
                layout = source.choice(["blocked", "blocked", "classic"])
                n = source.randint(1, 200)
                self.assert_size(library, layout, n, m=512 * source.randint(1, 8000))
                self.assert_size(library, layout, n, p=n / 2 ** 64 * (1 + 100 * source.random()))


if __name__ == "__main__":
    unittest.main()
