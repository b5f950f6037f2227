# SPDX-License-Identifier: MIT
"""Folding, merging and projecting by both implementations: the same bytes from the same sources.

The format does not define the estimated number of keys of a union or an intersection. The form of the result is the
program's choice; the Python program keeps the form of the first source.
"""

import random
import subprocess
import sys
from math import gcd

from support import REPEATED, SANITIZED, ToolTest, craft, main

READER = [sys.executable, "-B", str(craft.READER)]
ROUNDS = 12 if SANITIZED or REPEATED else 40
UNITS = {"blocked": 512, "classic": 1, "counting": 1}
RECORDS = 2048  # their offset in a file


def divisors(number):
    return [factor for factor in range(1, number + 1) if number % factor == 0]


class CrossCombine(ToolTest):
    def setUp(self):
        super().setUp()
        self.chosen = random.Random(20261122)

    def by_python(self, *arguments):
        subprocess.run([*READER, *map(str, arguments)], cwd=self.folder, check=True)

    def source(self, name, layout, units, k, seed, most=400):
        keys = [b"%d" % self.chosen.randrange(2 * most)
                for _ in range(self.chosen.randint(0, most))]
        image = craft.make(layout, UNITS[layout] * units, k, sorted(set(keys)), seed=seed,
                           embedded=name[-1] in "123" and self.chosen.random() < 0.5,
                           fpr=self.chosen.choice([0.99, 0.999]),
                           label="label of " + name, capacity=self.chosen.randint(1, 1000))
        self.write(name, image)

    def common(self, layout):
        """k, seed, and the minimum number of units."""
        return (self.chosen.choice([1, 2, 7, 13]), self.chosen.choice([0, 5, 2**64 - 1]),
                self.chosen.randint(1, 20 if layout == "blocked" else 700))

    def assert_same_but_n(self, one, other):
        a, b = self.read(one), self.read(other)
        self.assertEqual(a[:RECORDS], b[:RECORDS])
        self.assertEqual(a[4096:], b[4096:])
        x, y = (craft.Image(image, "image").record for image in (a, b))
        for record in x, y:
            del record["n"], record["record_crc"]
        self.assertEqual(x, y)

    def test_folds_are_equal(self):
        for number in range(ROUNDS):
            layout = list(UNITS)[number % 3]
            k, seed, units = self.common(layout)
            units *= self.chosen.choice([1, 2, 6, 12])
            self.source("source", layout, units, k, seed)
            for factor in self.chosen.sample(divisors(units), min(3, len(divisors(units)))):
                with self.subTest(layout=layout, units=units, factor=factor, k=k):
                    self.by_python("fold", factor, "source", "by-python")
                    self.run_tool("bffold", "-f", "--discard", "-q", "--factor", factor, "source", "by-c")
                    self.assertEqual(self.read("by-c"), self.read("by-python"))

    def test_unions_and_intersections_are_equal(self):
        for number in range(ROUNDS):
            layout = list(UNITS)[number % 3]
            k, seed, units = self.common(layout)
            names = [f"source-{i}" for i in range(self.chosen.randint(1, 4))]
            sizes = [units * self.chosen.choice([1, 2, 3, 4, 6]) for _ in names]
            for name, size in zip(names, sizes):
                self.source(name, layout, size, k, seed)
            with self.subTest(layout=layout, sizes=sizes, common=gcd(*sizes), k=k):
                self.by_python("union", "by-python", *names)
                self.run_tool("bfmerge", "-f", "--discard", "-q", "--fpr", 1, "by-c", *names)
                if len(names) > 1:
                    self.assert_same_but_n("by-c", "by-python")
                if layout == "counting":
                    continue
                self.by_python("intersection", "by-python", *names)
                self.run_tool("bfmerge", "-f", "--discard", "-q", "--intersect", "by-c", *names)
                if len(names) > 1:
                    self.assert_same_but_n("by-c", "by-python")

    def test_projections_are_equal(self):
        for _ in range(ROUNDS // 3):
            k, seed, units = self.common("counting")
            self.source("source", "counting", units, k, seed)
            with self.subTest(units=units, k=k):
                self.by_python("project", "source", "by-python")
                self.run_tool("bfmerge", "-f", "--discard", "-q", "--project", "by-c", "source")
                self.assertEqual(self.read("by-c"), self.read("by-python"))


if __name__ == "__main__":
    main()
