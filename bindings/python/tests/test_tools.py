# SPDX-License-Identifier: MIT
"""Files and answers equal those of the tools."""

import json
import os
import sys
import unittest

import bloomfile
from bloomfile import errors

from support import Case

WORDS = [f"Wort {i} süß {'é' * (i % 5)}" for i in range(2000)]
LINES = "".join(word + "\n" for word in WORDS).encode()


class Sealed(Case):
    def test_builds_equal_those_of_bfcreate(self):
        other = self.folder / "tool.bloom"
        for options, params in [
                ([], {}), (["-p", "0.001"], {"fpr": 0.001}), (["-l", "classic"], {"layout": "classic"}),
                (["-l", "counting"], {"layout": "counting"}), (["-l", "ribbon"], {"layout": "ribbon"}),
                (["-s", "12345"], {"seed": 12345}), (["-n", "50000"], {"capacity": 50000}),
                (["-m", "51200", "-k", "4"], {"bits": 51200, "hashes": 4}),
                (["--label", "süß", "--tag", "0102ff"], {"label": "süß", "tag": b"\1\2\xff"})]:
            with self.subTest(options):
                self.tool("bfcreate", "-q", "-f", *options, other, input=LINES)
                for keys, kind in (WORDS, None), ((word.encode() for word in WORDS), "text"), (reversed(WORDS + WORDS[:10]), None):
                    bloomfile.build(self.path, keys, key_kind=kind, replace=True, **params).close()
                    self.assertEqual(self.path.read_bytes(), other.read_bytes())

    def test_records_equal_those_of_bfcreate(self):
        data = os.urandom(16 * 500)
        self.tool("bfcreate", "-q", "-x", "16", self.folder / "tool.bloom", input=data)
        with bloomfile.Builder(threads=2) as b:
            b.add_records(data, 16)
            b.finish(self.path)
        self.assertEqual(self.path.read_bytes(), (self.folder / "tool.bloom").read_bytes())

    def test_answers_agree_with_bfquery(self):
        f = self.build(WORDS[::2], 0.01)
        hits = f.contains_many(WORDS)
        expected = "".join(word + "\n" for word, hit in zip(WORDS, hits) if hit).encode()
        self.assertEqual(self.tool("bfquery", self.path, input=LINES), expected)
        self.assertLess(sum(hits), 1030)

    def test_info_agrees_with_bfinspect(self):
        f = self.build(WORDS, 0.01, label="words")
        shown = json.loads(self.tool("bfinspect", "--report", "-", self.path))
        info = f.info()
        text = json.dumps(shown)
        for value in info.keys, info.bits, info.capacity, info.label, info.image_size:
            self.assertIn(json.dumps(value), text)


class Combined(Case):
    def shards(self, **params):
        paths = [self.folder / f"shard{i}.bloom" for i in range(3)]
        for i, path in enumerate(paths):
            bloomfile.build(path, WORDS[i::3], capacity=len(WORDS), **params).close()
        return paths

    def test_merge_equals_that_of_bfmerge(self):
        paths = self.shards()
        bloomfile.merge(self.path, paths, label="all", tag=b"t", watermark=b"7")
        self.tool("bfmerge", "-q", "--label", "all", "--tag", "74", "--watermark", "7", self.folder / "tool.bloom", *paths)
        self.assertEqual(self.path.read_bytes(), (self.folder / "tool.bloom").read_bytes())
        with bloomfile.Filter(self.path) as f:
            self.assertEqual(f.contains_many(WORDS), b"\1" * len(WORDS))
            bloomfile.merge(self.folder / "both.bloom", (f, paths[0]), op="intersection")
        with bloomfile.Filter(self.folder / "both.bloom") as f:
            self.assertEqual(f.contains_many(WORDS[::3]), b"\1" * len(WORDS[::3]))
            self.assertLess(sum(f.contains_many(WORDS[1::3])), 200)

    def test_merge_of_different_filters_is_refused(self):
        paths = self.shards()
        other = self.folder / "other.bloom"
        bloomfile.build(other, WORDS, seed=5).close()
        with self.assertRaises(errors.EDIFFERENTSEED) as raised:
            bloomfile.merge(self.path, [*paths, other])
        self.assertEqual(raised.exception.path, str(other))
        self.assertRaises(FileExistsError, bloomfile.merge, paths[0], paths)
        self.assertRaises(FileNotFoundError, bloomfile.merge, self.path, [*paths, self.folder / "none"])
        self.assertRaises(errors.EOVERRATE, bloomfile.merge, self.path, paths, max_fpr=1e-9)
        self.assertRaises(errors.EVALUE, bloomfile.merge, self.path, [])
        self.assertRaises(ValueError, bloomfile.merge, self.path, paths, op="xor")
        for srcs in paths[0], str(paths[0]), [5], 5:
            self.assertRaises((TypeError, OSError), bloomfile.merge, self.path, srcs)
        self.assertFalse(self.path.exists())
        image = bytearray(paths[1].read_bytes())
        image[4500] ^= 255
        paths[1].write_bytes(image)
        with self.assertRaises(errors.EPAGE) as raised, self.assertWarns(bloomfile.DamageWarning):
            bloomfile.merge(self.path, paths)
        self.assertEqual(raised.exception.path, str(paths[1]))

    def test_fold_equals_that_of_bffold(self):
        large = self.folder / "large.bloom"
        bloomfile.build(large, WORDS, 0.01, capacity=100_000).close()
        for options, params in ([], {}), (["-p", "0.05"], {"max_fpr": 0.05}), (["--factor", "2"], {"factor": 2}):
            with self.subTest(params):
                bloomfile.fold(self.path, large, replace=True, **params)
                self.tool("bffold", "-q", "-f", *options, large, self.folder / "tool.bloom")
                self.assertEqual(self.path.read_bytes(), (self.folder / "tool.bloom").read_bytes())
        plan = bloomfile.fold_plan(large)
        self.assertEqual((plan[0].factor, plan[0].image_size), (1, large.stat().st_size))
        self.assertGreater(len(plan), 5)
        self.assertEqual(sorted(choice.factor for choice in plan), [choice.factor for choice in plan])
        self.assertRaises(errors.EFACTOR, bloomfile.fold, self.path, large, 10**9 + 7, replace=True)
        self.assertRaises(errors.EOVERRATE, bloomfile.fold, self.path, large, max_fpr=1e-30, replace=True)
        self.assertRaises(TypeError, bloomfile.fold, self.path, large, 2, max_fpr=0.1)
        with bloomfile.Filter(self.path) as f:
            self.assertEqual(f.contains_many(WORDS), b"\1" * len(WORDS))

    def test_patches_equal_those_of_bfdelta(self):
        old, new, patch = (self.folder / name for name in ("old.bloom", "new.bloom", "patch"))
        bloomfile.build(old, WORDS[:-50], bits=51200, hashes=5).close()
        bloomfile.build(new, WORDS, bits=51200, hashes=5).close()
        bloomfile.delta(patch, old, new)
        self.tool("bfdelta", "-q", old, new, self.folder / "tool.patch")
        self.assertEqual(patch.read_bytes(), (self.folder / "tool.patch").read_bytes())
        bloomfile.patch(self.path, old, patch)
        self.assertEqual(self.path.read_bytes(), new.read_bytes())
        with open(patch, "rb") as file, bloomfile.Filter(old) as base:
            bloomfile.patch(self.path, base, file, threads=2, replace=True)
        self.assertEqual(self.path.read_bytes(), new.read_bytes())
        self.assertRaises(errors.EDIFFERENTBASE, bloomfile.patch, self.folder / "x", new, patch)
        self.assertRaises(errors.EPATCH, bloomfile.patch, self.folder / "x", old, new)
        self.assertRaises(errors.EDIFFERENTHASHCOUNT, bloomfile.delta, self.folder / "x", old, self.shards(hashes=6)[0])
        self.assertRaises((TypeError, AttributeError), bloomfile.patch, self.folder / "x", old, None)


if __name__ == "__main__":
    sys.exit(unittest.main())
