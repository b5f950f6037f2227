# SPDX-License-Identifier: MIT
"""The ribbon layout in two implementations: the same bytes, answers, rates, and errors on damage.

The Python implementation, tests/spec/spec_ribbon.py, was written from doc/format/ribbon.md alone.
"""

import functools
import json
import random
import subprocess
import sys

from support import SANITIZED, ToolTest, craft, lines, main, numbered

import spec_ribbon
import spec_sizes

ABSENT = numbered(500, "absent ")
# Lines, keys and seed: one page and several, with a short last page; few keys and too many.
SHAPES = [(1, 0, 0), (1, 100, 0), (1, 218, 7), (1, 219, 0), (8, 1966, 0), (9, 1961, 0), (63, 900, 0),
          (64, 960, 3), (64, 1000, 0), (64, 2279, 0), (65, 3000, 0), (70, 5000, 2**64 - 1),
          (128, 40, 0), (130, 4000, 0), (193, 6000, 5), (200, 3, 0)]


@functools.cache
def shaped(number, embedded):
    count_of_lines, count, seed = SHAPES[number]
    return craft.make("ribbon", 512 * count_of_lines, 0, numbered(count), embedded=embedded,
                      seed=seed, key_kind="text")


def with_ones(image, body, **record):
    """The image with another body, which may break only the rule under test."""
    return craft.edit(image, body=bytes(body), record={
        "ones": int.from_bytes(body, "little").bit_count(), **record})


class CrossRibbon(ToolTest):
    def report(self, name):
        return json.loads(self.run_tool("bfinspect", "--verify", "--report", "-", name).stdout)

    def both_say(self, image):
        """The error with which both refuse an image. If both open it, their lookups must agree."""
        self.write("image", image)
        error = (craft.refusal(image) or [None])[0]
        self.assertEqual(self.report("image")["error"], error)
        try:
            opened = craft.Image(image, "image")
        except ValueError:
            return error
        mixed = numbered(100) + ABSENT
        expected = lines(*(key for key in mixed if opened.maybe(key)))
        self.assertEqual(self.run_tool("bfquery", "image", stdin=lines(*mixed)).stdout, expected)
        return error

    def test_both_write_the_same_bytes(self):
        for number, (count_of_lines, count, seed) in enumerate(SHAPES):
            with self.subTest(lines=count_of_lines, n=count, seed=seed):
                by_c = self.create("-q", "-l", "ribbon", "-m", 512 * count_of_lines, "--seed", seed,
                                   stdin=lines(*numbered(count)))
                self.assertEqual(by_c, shaped(number, False))

    def test_c_reads_what_python_writes(self):
        for number, (count_of_lines, count, seed) in enumerate(SHAPES):
            for embedded in False, True:
                with self.subTest(lines=count_of_lines, n=count, seed=seed, embedded=embedded):
                    image = shaped(number, embedded)
                    self.assertIsNone(self.both_say(image))
                    found = self.run_tool("bfquery", "-c", "image", stdin=lines(*numbered(count)))
                    self.assertEqual(found.stdout, b"%d\n" % count)
                    self.assertEqual(self.report("image")["record"]["n"], count)

    def test_python_reads_what_c_writes(self):
        """The filters have the sizes that bfcreate chooses. The rate follows from the heads."""
        for count, rate in (1, 0.5), (50, 0.01), (1500, 0.2), (3000, 0.004), (1500, 1e-6), (500, 1e-9):
            with self.subTest(n=count, rate=rate):
                keys = numbered(count)
                data = self.create("-q", "-l", "ribbon", "-p", rate, stdin=lines(*keys), name="by-c")
                image = craft.Image(data, "by-c").verify()
                self.assertTrue(all(image.maybe(key) for key in keys))
                self.assertEqual(image.header["m"], spec_sizes.size("ribbon", count, rate, whole_pages=True)[0])
                told = float(spec_ribbon.rate(image.body, image.header["m"]))
                self.assertLessEqual(told, 1.1 * rate)
                chosen, tries = random.Random(count), 10_000
                maybes = sum(image.solution_has(chosen.getrandbits(64)) for _ in range(tries))
                self.assertLess(abs(maybes - tries * told), 4 * (tries * told)**0.5 + 1)

    def test_flipped_bits_are_detected_by_both(self):
        for embedded in False, True:
            image, chosen = shaped(11, embedded), random.Random(22)
            H, end = craft.header_size(image), len(image)
            places = [0, H // 2, H - 1, H, H + 2, H + 7, H + 4095, H + 4096, end - 8, end - 1]
            places += [chosen.randrange(H, end) for _ in range(5 if SANITIZED else 10)]
            for place in places:
                with self.subTest(place=place, embedded=embedded):
                    self.assertIsNotNone(self.both_say(craft.flip(image, place, chosen.randrange(8))))

    def test_implementations_agree_on_heads_that_no_writer_makes(self):
        """Their checksums are valid."""
        image = shaped(10, True)
        body = craft.body_of(image)
        head, keys = craft.struct.unpack_from("<II", body)
        for other, expected in (
                (head & ~0xFFFF, None), (head & ~0xFFFF | 1, "BLOOMFILE_EBODY"),
                (head & ~0xFFFF | 511, None), (head & ~0xFFFF | 512, "BLOOMFILE_EBODY"),
                (head | 0xFFFF, "BLOOMFILE_EBODY"), (head ^ 127 << 16, None),
                (head | 1 << 23, "BLOOMFILE_EBODY"), (head | 1 << 31, "BLOOMFILE_EBODY")):
            with self.subTest(head=hex(other)):
                changed = craft.struct.pack("<II", other, keys) + body[8:]
                self.assertEqual(self.both_say(with_ones(image, changed)), expected)
        for other, n, expected in ((keys + 1, 3000, "BLOOMFILE_EBODY"), (keys + 1, 3001, None),
                                   (0, 3000 - keys, None), (2**32 - 1, 3000, "BLOOMFILE_EBODY"),
                                   (2**32 - 1, 2**32 + 2999 - keys, None),
                                   (2**32 - 1, 2**32 + 2998 - keys, "BLOOMFILE_EBODY"),
                                   (2**32 - 1, 2**64 - 1, None)):
            with self.subTest(keys=other, n=n):
                changed = craft.struct.pack("<II", head, other) + body[8:]
                self.assertEqual(self.both_say(with_ones(image, changed, n=n)), expected)

    def test_unchecked_words_are_ignored_by_both(self):
        """The words after the last column, and those of a page without a solution."""
        for number, first in (12, 4088), (3, 12):
            image = shaped(number, True)
            body = bytearray(craft.body_of(image))
            self.assertEqual(body[first:first + 8], bytes(8))
            body[first:first + 8] = b"\xa5" * 8
            self.assertIsNone(self.both_say(with_ones(image, body)))

    def test_operations_that_need_the_keys_are_refused_by_both(self):
        """Both refuse sound and damaged filters. Only a copy can be made."""
        image = shaped(1, True)
        for source in image, craft.flip(image, 550):
            self.write("source", source)
            for tool, words, command in (
                    ("bffold", ["--factor", 2, "source", "out"], ["fold", 2, "source", "out"]),
                    ("bfmerge", ["out", "source"], ["union", "out", "source"])):
                with self.subTest(command[0], damaged=source != image):
                    self.assertIn("a ribbon filter", self.trouble(tool, *words))
                    result = subprocess.run([sys.executable, "-B", craft.READER, *map(str, command)],
                                            cwd=self.folder, stderr=subprocess.PIPE)
                    self.assertEqual((result.returncode, result.stderr),
                                     (2, b"source: BLOOMFILE_EISRIBBON\n"))
        image = shaped(1, False)
        self.write("source", image)
        craft.reader("fold", 1, self.folder / "source", self.folder / "by-python")
        self.output("bfseal", "source", "by-c")
        self.assertEqual((self.read("by-python"), self.read("by-c")), (image, image))


if __name__ == "__main__":
    main()
