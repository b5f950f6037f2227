# SPDX-License-Identifier: MIT
"""examples/stream: parts as lines of text between mappers, combiners and reducers."""

import os
import subprocess

from distributed import EXAMPLES, INPUTS, POISONED, TOOL_FOLDER, Distributed, N
from support import OLD, TIMEOUT, TOOLS, lines, main, numbered

for script in "mapper.sh", "reducer.sh", "images.sh", "local.sh":
    TOOLS[script] = str(EXAMPLES / "stream" / script)
BFMERGE = os.path.join(TOOL_FOLDER, "bfmerge")


class Stream(Distributed):
    OPTIONS = {"BLOOM_OPTIONS": f"-n {N} -p 0.01"}

    def step(self, script, stdin=b"", **options):
        return self.output(script, stdin=stdin, env=self.OPTIONS, **options)

    def test_same_body(self):
        self.check_each_input(lambda mappers, says: self.output(
            "local.sh", "-f", "-m", mappers, "filter", "keys", env=self.OPTIONS, says=says))

    def merged(self, *texts):
        """The body of what the lines make."""
        self.write("images", self.step("images.sh", b"".join(texts)))
        with open(self.folder / "images", "rb") as images:
            subprocess.run([BFMERGE, "-f", "filter", "-"], stdin=images, cwd=self.folder, check=True,
                           env=self.environment(), timeout=TIMEOUT)
        return self.body("filter")

    def test_a_line_a_filter(self):
        for keys in b"", b"a\n":
            line = self.step("mapper.sh", keys)
            self.assertRegex(line, rb"\Abloom\t[A-Za-z0-9+/]+=*\n\Z")
            self.assertRegex(self.step("reducer.sh", line), rb"\Abloom\t[A-Za-z0-9+/]+=*\n\Z")

    def test_any_tree(self):
        """Combined or not, in whatever order, one reducer or several, some of them idle."""
        keys = numbered(N)
        self.write("keys", lines(*keys))
        expected = self.serial("-n", N)
        a, b, c = (self.step("mapper.sh", lines(*keys[i::3])) for i in range(3))
        empty = self.step("mapper.sh")
        reduce = lambda *texts: self.step("reducer.sh", b"".join(texts))
        self.assertEqual(reduce(), b"")
        self.assertEqual(self.merged(reduce(a, b, c)), expected)
        self.assertEqual(self.merged(reduce(reduce(empty, c), reduce(b), reduce(reduce(a), a))),
                         expected)
        self.assertEqual(self.merged(reduce(a, b), reduce(), reduce(c, empty)), expected)
        self.assertEqual(self.merged(c, a, b), expected)

    def test_every_padding(self):
        """Texts in base64 end in different ways, and another may follow each."""
        endings = set()
        for bits in 512, 40960, 81920:  # one page, two, three
            text = [self.output("mapper.sh", stdin=key, env={"BLOOM_OPTIONS": f"-m {bits} -k 4"})
                    for key in (b"a\n", b"b\n")]
            endings.add(text[0].count(b"="))
            self.write("keys", b"a\nb\n")
            self.assertEqual(self.merged(*text), self.serial("-m", bits, "-k", 4))
        self.assertEqual(endings, {0, 1, 2})

    def test_damage(self):
        good = self.step("mapper.sh", lines(*numbered(100)))
        flipped = good[:9000] + (b"B" if good[9000:9001] == b"A" else b"A") + good[9001:]
        for bad in (b"\n", b"bloom\n", b"bloom\t\n", b"bloom\t!\n", good[:2000], good[:2000] + b"\n",
                    good[6:], b"x" + good, good[:-1] + b"\tx\n", flipped):
            for text in bad, good + bad, bad + good:
                result = self.run_tool("reducer.sh", stdin=text)
                self.assertNotEqual(result.returncode, 0, text[:80])
                self.assertIn(result.stdout, (b"", b"bloom\t"))  # no part of a union
                self.assertNotEqual(result.stderr, b"")
        self.assertIn(b"images.sh: line 2 holds no filter\n",
                      self.run_tool("reducer.sh", stdin=good + b"\n").stderr)
        self.assertIn(b"images.sh: line 2 is damaged\n",
                      self.run_tool("reducer.sh", stdin=good + b"bloom\t!\n").stderr)

    def test_sizes_must_agree(self):
        result = self.run_tool("mapper.sh", stdin=b"a\n")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertIn(b"BLOOM_OPTIONS: must give the size", result.stderr)
        other_seed = self.output("mapper.sh", stdin=b"b\n", env={"BLOOM_OPTIONS": f"-n {N} -s 1"})
        result = self.run_tool("reducer.sh", stdin=self.step("mapper.sh", b"a\n") + other_seed)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"seed", result.stderr)

    def test_a_mapper_fails(self):
        self.shim("bfcreate", POISONED)
        for place in 0, N // 2, N:
            keys = numbered(N)
            keys.insert(place, b"poison")
            self.write("keys", lines(*keys))
            message = self.fails("local.sh", "-m", 3, "filter", "keys", env=self.OPTIONS)
            self.assertIn("local.sh: cannot create filter: a mapper failed", message)

    def test_trouble(self):
        self.write("keys", INPUTS["many"])
        self.fails("local.sh", "filter", "missing", env=self.OPTIONS)
        self.fails("local.sh", "filter", "keys", env={"BLOOM_OPTIONS": "--nonsense"})
        self.write("filter", OLD)
        self.assertIn("File exists", self.fails("local.sh", "filter", "keys", env=self.OPTIONS))
        with open("/dev/full", "wb") as full:
            result = self.run_tool("mapper.sh", stdin=b"a\n", env=self.OPTIONS, stdout=full)
        self.assertNotEqual(result.returncode, 0)

    def test_interrupted(self):
        self.check_interrupted("local.sh", "filter", "keys", env=self.OPTIONS)


if __name__ == "__main__":
    main()
