# SPDX-License-Identifier: MIT
"""Memory and references are released after success and after errors."""

import array
import contextlib
import copy
import gc
import os
import sys
import sysconfig
import unittest

import bloomfile

from arrow_layout import Made, MadeStream, layout
from support import SANITIZED, Case

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
KEYS = ["a", b"b", bytearray(b"c"), memoryview(b"d"), "ä" * 20]


def blocks():
    return 0 if FREE_THREADED else sys.getallocatedblocks()  # there each thread has a heap, and other caches


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Leaks(Case):
    def works(self):
        """Calls everything, with few keys each."""
        path = self.path
        digests = bloomfile.hash_many(KEYS)
        arrow = layout([bytes(key) if isinstance(key, (bytearray, memoryview)) else key for key in KEYS], "u")
        out = bytearray(len(KEYS))
        f, live = self.build(KEYS), self.live()
        folded, merged, patch = (self.folder / name for name in ("folded", "merged", "patch"))
        odd = self.folder / "odd"
        odd.write_bytes(b"no filter" * 1000)

        class Mine(bloomfile.Filter):
            pass

        def bad_keys():
            yield "a"
            raise KeyError
        yield lambda: [key in f for key in KEYS]
        yield lambda: (f.contains_many(KEYS), f.contains_many(iter(KEYS)), f.contains_many(KEYS, out=out))
        yield lambda: (f.contains_digests(digests), bloomfile.hash_records(digests, 8), f.contains_arrow(array.array("i", [0, 1]), b"a"))
        yield lambda: (f.contains_many(arrow), f.contains_many(MadeStream([arrow, arrow])))
        m = f.contains_many(layout(["a", "b"], "u", b"\1", null_count=1))
        yield lambda: (~m, m & m, m | f.contains_many(["a", "b"]), m == [True, None], m[::-1], list(m), repr(m), m.fill_null(True),
                       m.is_null(), m.tolist(), memoryview(m.fill_null(True)), copy.copy(m), m.__arrow_c_array__(), bloomfile.Answers([True, None]))
        yield lambda: (live.add_many(layout(["a", "b"], "u", b"\1", null_count=1)), bloomfile.Builder().add_many(Made("n", 2, [])))
        yield lambda: (f.info(), f.measure(), f.verify(), f.status, f.stale, f.path, f.seed, repr(f), f.to_bytes())
        yield lambda: bloomfile.Filter(path).close()
        yield lambda: bloomfile.Filter(path)
        yield lambda: setattr(Mine(path), "itself", f)
        yield lambda: bloomfile.Filter.from_bytes(f.to_bytes(), verify=True)
        yield lambda: f.__reduce__()
        yield lambda: bloomfile.build(path, KEYS, label="x", tag=b"y", spool=self.folder, replace=True)
        yield lambda: (bloomfile.Builder().add_many(arrow), bloomfile.Builder().to_bytes())
        yield lambda: (live.add("a"), live.add_many(KEYS), live.add_digests(digests), live.info())
        yield lambda: bloomfile.Filter.memory(100).add_many(KEYS)
        yield lambda: bloomfile.LiveFilter(live.path).close()
        yield lambda: bloomfile.fold(folded, f, replace=True)
        yield lambda: bloomfile.merge(merged, [f, path], replace=True)
        yield lambda: (bloomfile.delta(patch, f, f, replace=True), bloomfile.patch(merged, f, patch, replace=True))
        yield lambda: (bloomfile.inspect(path), bloomfile.inspect(odd), bloomfile.fold_plan(f))
        failing = [
            lambda: 5 in f, lambda: "\udc80" in f, lambda: f.contains_many(["a", 5]), lambda: f.contains_many(bad_keys()),
            lambda: f.contains_many(KEYS, out=bytearray(2)), lambda: f.contains_many(iter(KEYS), out=bytearray(2)),
            lambda: memoryview(m), lambda: bool(m), lambda: m & f.contains_many(["a"]), lambda: bloomfile.Answers([1]), lambda: m[9],
            lambda: m.fill_null(0), lambda: f.contains_digests(b"123"), lambda: f.contains_digests(array.array("d", [1])),
            lambda: f.contains_records(b"123", 2), lambda: f.contains_arrow(array.array("i", [0, 9]), b"a"),
            lambda: f.contains_many(layout(["a"], "u", b"\0", null_count=1), out=bytearray(1)),
            lambda: f.contains_many(MadeStream([arrow], error=5)), lambda: bloomfile.Filter(odd), lambda: bloomfile.Filter("/none"),
            lambda: bloomfile.Filter(path, verify=5), lambda: bloomfile.Filter.from_bytes(b"no"), lambda: bloomfile.Filter.from_fd(10**6),
            lambda: bloomfile.Builder(spool="/none", layout="x"), lambda: bloomfile.Builder(spool="x", label="a" * 200),
            lambda: bloomfile.build(path, bad_keys()), lambda: bloomfile.build(path, KEYS), lambda: f.seal_to(path),
            lambda: bloomfile.LiveFilter(path), lambda: bloomfile.LiveFilter.create(path, 10), lambda: live.rescue(path),
            lambda: bloomfile.Filter.memory(), lambda: bloomfile.merge(merged, [f]), lambda: bloomfile.merge(merged, [5]),
            lambda: bloomfile.merge(merged, [f, odd]), lambda: bloomfile.patch(merged, f, odd), lambda: f.__init__(path)]

        def fail():
            for work in failing:
                with contextlib.suppress(TypeError, ValueError, LookupError, OSError, BufferError, bloomfile.Error):
                    work()
                    raise AssertionError("it did not fail")
        yield fail

    @unittest.skipIf(SANITIZED, "a sanitizer keeps freed memory")
    def test_memory_does_not_grow(self):
        for i, work in enumerate(self.works()):
            with self.subTest(i):
                # A leak grows in every round. Caches of Python fill after some rounds, and the system may reclaim pages.
                rounds = []
                while not any(more < 20 and size < 1 << 16 for more, size in rounds[-1:]):
                    self.assertLess(len(rounds), 60, f"memory grows: {rounds[-5:]}")
                    rounds.append(self.growth(work, 40))

    def growth(self, work, times):
        gc.collect()
        before, size = blocks(), resident()
        for _ in range(times):
            work()
        gc.collect()
        return blocks() - before, resident() - size

    def test_references_are_given_back(self):
        f = self.build(KEYS)
        key, out, digests, held = "a key".encode(), bytearray(1), array.array("Q", [1]), bytearray(b"a key")
        keys = [key]
        counts = [sys.getrefcount(thing) for thing in (key, out, digests, keys, f)]
        for _ in range(10):
            key in f, held in f, bloomfile.hash(held), bloomfile.Builder().add(held), bloomfile.hash_records(held, 1)
            f.contains_many(keys, out=out), f.contains_many([held, held]), f.contains_arrow(array.array("i", [0]), held)
            f.contains_digests(digests, out=out)
            for wrong in [5], [key, 5], (key, None):
                with contextlib.suppress(TypeError):
                    f.contains_many(wrong, out=bytearray(len(wrong)))
            del wrong
        self.assertEqual([sys.getrefcount(thing) for thing in (key, out, digests, keys, f)], counts)
        for buffer in out, digests, held:
            buffer.append(1)  # the buffer is released

    def test_cycles_are_collected(self):
        class Mine(bloomfile.Filter):
            pass
        self.build(KEYS).close()
        open_files = len(os.listdir("/proc/self/fd"))
        for _ in range(10):
            f = Mine(self.path)
            f.itself = f
            b = type("B", (bloomfile.Builder,), {})()
            b.itself = [b, f]
        del f, b
        gc.collect()
        self.assertEqual([o for o in gc.get_objects() if isinstance(o, Mine)], [])
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), open_files)


if __name__ == "__main__":
    sys.exit(unittest.main())
