#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Driver of the Python package: answers the commands of tests/languages/README.md."""
import sys
import zlib
from pathlib import Path

import bloomfile

ABILITIES = ("blocked classic counting ribbon slices series live verify build-blocked build-classic build-ribbon fold union "
             "intersection join diff apply")
MASK = 2**64 - 1


class Driver:
    """The image that is open."""

    def __init__(self):
        self.filter = bloomfile.Filter.memory(capacity=1)

    def abilities(self):
        return ["ok", ABILITIES]

    def open(self, path, *name):
        self.filter.close()
        self.filter = bloomfile.Filter(path)
        if name:
            return ["error", "-", "a hash function cannot be named"]
        info = bloomfile.inspect(path).info
        kind = self.filter.kind
        kind = "unknown" if kind is None else f"fixed {kind}" if isinstance(kind, int) else kind
        numbers = ["-"] * 3 if self.filter.info().layers else [info.keys, info.bits, info.hashes]
        return ["ok", info.layout, *numbers, info.seed, "embedded" if info.header_size == 512 else "file", kind]

    def digests(self, path):
        return bloomfile.hash_many(lines(path), self.filter.seed)

    def lookup(self, path):
        if self.filter.kind in (None, "text", "bytes"):
            answers = [self.filter.contains(key) for key in lines(path)]
        else:
            answers = [self.filter.contains_digest(digest) for digest in memoryview(self.digests(path)).cast("Q")]
        return ["ok", sum(answers), len(answers)]

    def batch(self, path):
        answers = self.filter.contains_digests(self.digests(path))
        return ["ok", answers.sum(), len(answers)]

    def random(self, seed, count):
        answers = bytes(49 if self.filter.contains(key) else 48 for key in random_keys(int(seed), int(count)))
        return ["ok", answers.count(b"1"), f"{zlib.crc32(answers):08x}"]

    def verify(self):
        try:
            self.filter.verify()
        except bloomfile.errors.EPAGE as error:
            return ["error", error.name, error.page]
        return ["ok"]

    def error(self):
        status = self.filter.status
        return ["ok"] if status is None else ["error", status.name]

    def build(self, layout, n, m, k, seed, fpr, capacity, form, keys, out):
        builder = bloomfile.Builder(float(fpr) or None, layout=layout, bits=int(m), hashes=int(k), seed=int(seed),
                                    capacity=int(capacity), over_capacity=True)
        builder.add_digests(bloomfile.hash_many(lines(keys), int(seed)))
        if form == "embedded":
            Path(out).write_bytes(builder.to_bytes())
        else:
            builder.finish(out, replace=True)
        return ["ok"]

    def fold(self, factor, source, out):
        bloomfile.fold(out, source, int(factor), replace=True)
        return ["ok"]

    def union(self, out, *sources):
        bloomfile.merge(out, sources, max_fpr=1, replace=True)
        return ["ok"]

    def intersection(self, out, *sources):
        bloomfile.merge(out, sources, op="intersection", max_fpr=1, replace=True)
        return ["ok"]

    def join(self, out, *slices):
        bloomfile.join(out, slices, replace=True)
        return ["ok"]

    def diff(self, old, new, out):
        bloomfile.delta(out, old, new, replace=True)
        return ["ok"]

    def apply(self, base, patch, out):
        bloomfile.patch(out, base, patch, replace=True)
        return ["ok"]


def lines(path):
    return Path(path).read_bytes().split(b"\n")[:-1]


def random_keys(state, count):
    """Outputs of SplitMix64."""
    for _ in range(count):
        state = state + 0x9E3779B97F4A7C15 & MASK
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        yield (z ^ z >> 31).to_bytes(8, "little")


def main():
    driver = Driver()
    for line in sys.stdin:
        command, *words = line.rstrip("\n").split("\t")
        try:
            answer = getattr(driver, command)(*words)
        except bloomfile.Error as error:
            answer = ["error", error.name]
        except (OSError, ValueError, TypeError) as error:
            answer = ["error", "-", error]
        print(*answer, sep="\t", flush=True)


main()
