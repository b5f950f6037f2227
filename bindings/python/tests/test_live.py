# SPDX-License-Identifier: MIT
"""Live filters: alone, with the tools, growing, forgetting, failing."""

import array
import datetime
import errno
import gc
import os
import pickle
import sys
import unittest
import warnings
import zlib

import bloomfile
from bloomfile import errors

from arrow_layout import MadeStream, layout
from support import Case


class Adding(Case):
    def test_add_returns_true_once_per_key(self):
        f = self.live()
        self.assertIs(f.add("a"), True)
        self.assertIs(f.add(b"a"), False)
        self.assertIs(f.add_digest(bloomfile.hash("a")), False)
        self.assertEqual(f.add_many(["a", "b", "b", b"c"]), b"\0\1\0\1")
        self.assertEqual(f.add_digests(bloomfile.hash_many(["c", "d"])), b"\0\1")
        self.assertEqual(f.add_records(b"de", 1), b"\0\1")
        self.assertEqual(f.add_arrow(array.array("i", [0, 1, 2]), b"ef"), b"\0\1")
        self.assertEqual(f.contains_many(list("abcdefg")), b"\1\1\1\1\1\1\0")
        self.assertEqual(f.info().keys, 6)

    def test_watermark_is_recorded_by_sync(self):
        f = self.live()
        self.assertEqual(f.info().watermark, b"")
        f.sync(watermark=b"block 7")
        f.sync()
        self.assertEqual(f.info().watermark, b"block 7".ljust(32, b"\0"))
        f.sync(watermark=None)
        self.assertRaises(ValueError, f.sync, watermark=bytes(33))
        self.assertRaises(TypeError, f.sync, watermark="block 8")
        self.assertEqual(f.info().watermark, b"block 7".ljust(32, b"\0"))

    def test_filter_with_a_seed_finds_digests_of_that_seed(self):
        f = self.live(seed=99)
        f.add_many(["a", "b"])
        self.assertEqual(f.contains_digests(bloomfile.hash_many(["a", "b"], f.seed)), b"\1\1")

    def test_removed_keys_are_not_found(self):
        f = self.live(layout="counting")
        f.add_many(["a", "a", "b"])
        f.remove("a")
        self.assertIn("a", f)
        f.remove("a")
        self.assertNotIn("a", f)
        with self.assertRaises(errors.EABSENT):
            f.remove("a")
        with self.assertRaises(errors.ENOTCOUNTING):
            bloomfile.Filter.memory(10).remove("a")
        f.seal_to(self.path)
        bloomfile.project(self.folder / "classic.bloom", self.path)
        with bloomfile.Filter(self.folder / "classic.bloom") as g:
            self.assertEqual((g.info().layout, "b" in g, "a" in g), ("classic", True, False))

    def test_error_never_reports_an_unadded_key_as_present(self):
        """A key that was not added is never reported as present, in several chunks, groups and Arrow arrays."""
        keys = [b"%08d" % i for i in range(100_000)]
        records, ends = b"".join(keys), range(0, 8 * len(keys) + 1, 8)
        ints, longs = array.array("i", ends), array.array("q", ends)
        arrays = {fmt: layout(keys, fmt) for fmt in ("u", "U", "vu", "w:8")}
        halves = [layout(keys[:50_000], "z"), layout(keys[50_000:], "z")]
        ways = {"list": lambda f, out: f.add_many(keys, out=out), "tuple": lambda f, out: f.add_many(tuple(keys), out=out),
                "iterator": lambda f, out: f.add_many(iter(keys), out=out),
                "digests": lambda f, out: f.add_digests(bloomfile.hash_many(keys, f.seed), out=out),
                "unaligned": lambda f, out: f.add_digests(memoryview(b"." + bloomfile.hash_many(keys, f.seed))[1:], out=out),
                "records": lambda f, out: f.add_records(records, 8, out=out),
                "int": lambda f, out: f.add_arrow(ints, records, out=out),
                "long": lambda f, out: f.add_arrow(longs, records, out=out),
                "stream": lambda f, out: f.add_many(MadeStream(halves), out=out),
                **{fmt: lambda f, out, made=made: f.add_many(made, out=out) for fmt, made in arrays.items()}}
        for name, how in ways.items():
            path = self.folder / f"grows {name}"
            with self.subTest(name), bloomfile.LiveFilter.create(path, 3000, 0.001, grow=True) as f:
                (self.folder / f"grows {name}.1").write_bytes(b"in the way of its next layer")
                out = bytearray(len(keys))
                self.assertRaises(errors.ESERIES, how, f, out)
                self.assertEqual(sum(answer != 1 and not there for answer, there in zip(out, f.contains_many(keys))), 0)
                self.assertLessEqual(set(out), {0, 1})

    def test_error_in_the_first_piece_never_reports_an_unadded_key_as_present(self):
        digests = os.urandom(8 * ((1 << 22) + 1000))
        with bloomfile.LiveFilter.create(self.path, 3000, 0.001, grow=True) as f:
            (self.folder / "test.bloom.1").write_bytes(b"in the way of its next layer")
            out = bytearray(len(digests) // 8)
            self.assertRaises(errors.ESERIES, f.add_digests, digests, out=out)
            self.assertGreater(out.count(1), len(out) - 9)

    def test_error_of_a_full_filter_reports_the_keys_added(self):
        keys = [b"%d" % i for i in range(100_000)]
        ways = {"list": lambda f, out: f.add_many(keys, out=out), "iterator": lambda f, out: f.add_many(iter(keys), out=out),
                "digests": lambda f, out: f.add_digests(bloomfile.hash_many(keys), out=out),
                "records": lambda f, out: f.add_records(b"".join(b"%05d" % i for i in range(100_000)), 5, out=out)}
        for name, add in ways.items():
            with self.subTest(name), bloomfile.Filter.memory(50_000, 0.01) as f:
                out = bytearray(len(keys))
                with self.assertRaises(errors.EFULL) as raised:
                    add(f, out)
                done = raised.exception.done
                self.assertTrue(50_000 < done < 65_000, done)
                self.assertEqual(out[:done].count(1), f.info().keys)
                self.assertEqual(out[done:].count(1), len(keys) - done)
                if name != "records":
                    self.assertTrue(all(f.contains_many(keys[:done])))
                    self.assertFalse(f.add(keys[0]))
                    self.assertFalse(f.contains(keys[done]))
                    with self.assertRaises(errors.EFULL) as raised:
                        f.add(keys[done])
                    self.assertIsNone(raised.exception.done)
                self.assertRegex(str(raised.exception), r"over capacity.* \(5\d{4} keys, capacity 50000: .*grow=True.*over_capacity=True\)")
                self.assertIsNone(f.status)

    def test_every_exception_of_a_batch_of_adds_reports_the_keys_added(self):
        keys = [str(i) for i in range(40_000)]

        def failing():
            yield from keys
            raise KeyError

        def closing(f):
            yield from keys
            f.close()
            yield from keys

        for keys_of, error in [(lambda f: failing(), KeyError), (closing, ValueError),
                               (lambda f: [*keys, None], TypeError), (lambda f: [*keys, "\ud800"], UnicodeEncodeError),
                               (lambda f: [*keys, 1 << 70], OverflowError), (lambda f: [*keys, 1], TypeError), (lambda f: b"one key", TypeError)]:
            f = bloomfile.Filter.memory(100_000, key_kind="text")
            with self.subTest(error), self.assertRaises(error) as raised:
                f.add_many(keys_of(f))
            done = raised.exception.done
            self.assertIn(done, (0, 32768))
            if not f.closed:
                self.assertEqual(f.contains_many(keys[:done]).sum(), f.keys)
                self.assertLessEqual(done, f.keys + 10)

    def test_over_capacity_is_accepted_only_with_its_option(self):
        keys = [b"%d" % i for i in range(3000)]
        with bloomfile.LiveFilter.create(self.path, 1000, 0.01, over_capacity=True) as f:
            f.add_many(keys)
        with bloomfile.LiveFilter(self.path) as f:
            self.assertRaises(errors.EFULL, f.add_many, [b"new %d" % i for i in range(100)])
        with bloomfile.LiveFilter(self.path, over_capacity=True) as f:
            f.add_many([b"new %d" % i for i in range(100)])
        with bloomfile.Filter.memory(1000, 0.01, over_capacity=True) as f:
            f.add_many(keys)
        for accepts in False, True:
            with bloomfile.Builder(0.01, capacity=1000, over_capacity=accepts) as b:
                b.add_many(keys)
                if accepts:
                    b.to_bytes()
                else:
                    self.assertRaisesRegex(errors.EFULL, f"{len(keys)} keys, capacity 1000: leave", b.to_bytes)

    def test_answers_before_an_error_are_kept(self):
        f = self.live(50_000)
        f.add_many(map(str, range(40_000)))

        def keys():
            yield from map(str, range(40_000))
            raise LookupError
        out = bytearray(b"\7" * 50_000)
        self.assertRaises(LookupError, f.add_many, keys(), out=out)
        self.assertEqual(out, bytes(32_768) + b"\1" * (50_000 - 32_768))

    def test_filter_in_memory_seals_to_bytes(self):
        f = bloomfile.Filter.memory(1000, 0.001, layout="classic")
        f.add("a")
        with bloomfile.Filter.from_bytes(f.to_bytes()) as g:
            self.assertEqual(g.contains_many(["a", "b"]), b"\1\0")
        f.seal_to(self.path)
        self.assertIsNone(f.path)
        with bloomfile.Filter(self.path) as g:
            self.assertIn("a", g)
        self.assertRaises(errors.EVALUE, bloomfile.Filter.memory)

    def test_sealed_filter_is_read_only(self):
        f = self.live()
        f.add("a")
        f.sync()
        f.seal(watermark=b"end")
        self.assertEqual(f.info().watermark.rstrip(b"\0"), b"end")
        self.assertEqual(f.info().state, "sealed")
        f.verify()
        self.assertIn("a", f)
        for use in f.sync, f.seal, lambda: f.add("b"), lambda: f.add_many([]), lambda: f.add_many(["b"]):
            with self.assertRaises((errors.ESEALED, errors.EREADONLY)) as raised:
                use()
            self.assertEqual(raised.exception.path, str(self.folder / "live.bloom"))
        f.close()
        self.assertRaises(errors.ESEALED, bloomfile.LiveFilter, self.folder / "live.bloom")

    def test_a_reader_cannot_add(self):
        f = self.live()
        with bloomfile.Filter(f.path) as reader:
            self.assertFalse(hasattr(reader, "add"))
            f.add("a")
            self.assertIn("a", reader)
            self.assertRaises(errors.ELIVE, reader.verify)

    def test_parameters_reach_the_header(self):
        f = self.live(fpr=0.001, layout="classic", label="seen", tag=b"\1", watermark=b"\2", key_kind="text", replace=True)
        info = f.info()
        self.assertEqual((info.state, info.fpr, info.layout, info.label, info.tag[0], info.watermark[0], info.key_kind),
                         ("live", 0.001, "classic", "seen", 1, 2, "text"))
        self.assertRaises(FileExistsError, bloomfile.LiveFilter.create, f.path, 10)
        for error, params in [
                (errors.EISRIBBON, {"layout": "ribbon"}), (ValueError, {"generations": 1}), (errors.ESERIES, {"generations": 1001}),
                (ValueError, {"grow": True, "generations": 3}), (ValueError, {"generations": 3, "every": 0.5}),
                (TypeError, {"generations": 3, "every": "1d"}), (OverflowError, {"generations": 3, "every": -5}),
                (errors.EVALUE, {"every": 60}), (TypeError, {"threads": 2}), (errors.ESERIES, {"grow": True, "layout": "counting"})]:
            with self.subTest(params), self.assertRaises((error, errors.EVALUE) if error is errors.ESERIES else error):
                bloomfile.Filter.memory(100, **params)


class Beside(Case):
    def test_tools_add_to_the_same_file(self):
        f = self.live()
        f.add_many(["a", "ä"])
        self.tool("bfadd", "-q", f.path, input="b\nä\nc\n".encode())
        self.assertEqual(f.add_many(["b", "c", "d"]), b"\0\0\1")
        self.assertEqual(self.tool("bfquery", f.path, input="a\nz\nä\nd\n".encode()), "a\nä\nd\n".encode())
        f.close()
        self.tool("bfseal", "-q", f.path)
        with bloomfile.Filter(f.path, verify=True) as g:
            self.assertEqual(g.contains_many(["a", "b", "c", "d", "ä", "z"]), b"\1\1\1\1\1\0")
            self.assertEqual(g.info().keys, 5)

    def test_file_created_by_bfcreate_accepts_keys(self):
        self.tool("bfcreate", "-q", "--live", "-n", "1000", self.path)
        with bloomfile.LiveFilter(self.path, exact=True) as f:
            self.assertTrue(f.add("a"))
            self.assertEqual(f.info().writers, 1)
        self.assertEqual(self.tool("bfquery", self.path, input=b"a\nb\n"), b"a\n")


class Series(Case):
    def test_growing_series_keeps_all_keys(self):
        keys = [f"key {i}" for i in range(20_000)]
        with self.live(1000, 0.01, grow=True) as f:
            self.assertGreater(sum(f.add_many(keys[:10_000])), 9800)
            for key in keys[10_000:]:
                f.add(key)
            self.assertEqual(f.contains_many(keys), b"\1" * 20_000)
            self.assertGreater(f.info().layers, 3)
            with bloomfile.Filter(f.path) as reader:
                self.assertEqual(reader.contains_many(keys), b"\1" * 20_000)
                self.assertLess(sum(reader.contains_many(f"no {i}" for i in range(10_000))), 150)
            self.assertEqual(sum(f.add_many(keys)), 0)
            self.assertRaises(errors.EISSERIES, f.seal)
            f.seal_to(self.path)
        with bloomfile.Filter(self.path, verify=True) as sealed:
            self.assertEqual(sealed.contains_many(keys), b"\1" * 20_000)

    def test_forgetting_series_drops_old_keys(self):
        with self.live(100, generations=2, every=datetime.timedelta(days=1)) as f:
            self.assertEqual((f.info().generations, f.info().period), (2, 86400))
            for i in range(1000):
                f.add(f"key {i}")
            self.assertIn("key 999", f)
            self.assertLess(sum(f"key {i}" in f for i in range(500)), 50)
            self.assertEqual(f.info().layers, 2)

    def test_file_with_the_name_of_a_layer_is_an_error(self):
        f = self.live(100, grow=True)
        with open(f.path + ".1", "wb"):
            pass
        with self.assertRaises((bloomfile.Error, OSError)) as raised:
            f.add_many(map(str, range(1000)))
        self.assertIsNotNone(raised.exception.__class__)
        self.assertEqual(f.contains_many(["0", "1"]), b"\1\1")


class Ending(Case):
    def test_failed_close_leaves_the_filter_for_rescue(self):
        f = self.live()
        f.add("a")
        os.rename(f.path, self.folder / "away")
        with self.assertRaises(errors.EREPLACED) as raised:
            f.close()
        self.assertEqual(raised.exception.path, f.path)
        self.assertFalse(f.closed)
        self.assertIn("a", f)
        self.assertRaises(errors.EREADONLY, f.add, "b")
        f.rescue(self.path)
        f.close()
        self.assertTrue(f.closed)
        with bloomfile.LiveFilter(self.path) as g:
            self.assertIn("a", g)
            self.assertRaises(FileExistsError, g.rescue, self.path)

    def test_replace_and_unlink_cover_all_files_of_a_series(self):
        def grown(**more):
            return bloomfile.LiveFilter.create(self.path, 10, grow=True, **more)

        for _ in range(2):
            with grown(replace=True) as f:
                f.add_many(map(str, range(500)))
                self.assertRaises(OSError, grown, replace=True)
                with self.assertRaises(OSError) as raised:
                    bloomfile.unlink(self.path)
                self.assertEqual((raised.exception.errno, raised.exception.filename), (errno.EBUSY, f.path))
            self.assertGreater(len(os.listdir(os.path.dirname(f.path))), 3)
        with self.assertRaises(errors.ESERIES):
            bloomfile.LiveFilter.create(self.path, 100, replace=True)
        with grown(replace=True) as f:
            self.assertNotIn("1", f)
        self.assertEqual(len(os.listdir(os.path.dirname(f.path))), 1)
        link = f"{self.path}.link"
        os.symlink(self.path, link)
        bloomfile.unlink(os.fsencode(link))
        self.assertEqual(os.listdir(os.path.dirname(f.path)), [])
        self.assertRaises(FileNotFoundError, bloomfile.unlink, self.path)
        with open(self.path, "wb") as file:
            file.write(b"keys\n")
        self.assertRaises(errors.EMAGIC, bloomfile.unlink, self.path)

    def test_with_statement_raises_the_error_of_close(self):
        with self.assertRaises(errors.EREPLACED):
            with self.live() as f:
                os.unlink(f.path)
        f.close()
        with self.assertRaises(errors.EREPLACED) as raised:
            with self.live(replace=True) as f:
                os.unlink(f.path)
                raise KeyError("the first")
        self.assertIsInstance(raised.exception.__context__, KeyError)
        f.close()

    def test_unclean_file_is_clean_only_after_a_sync_or_close(self):
        """Gives both records another boot_id, as after a power failure."""
        path = self.folder / "live.bloom"
        f = self.live()
        data = bytearray(path.read_bytes())
        f.close()
        for record in 2048, 3072:
            if any(data[record:record + 1024]):
                data[record + 40:record + 56] = b"\x11" * 16
                data[record + 1020:record + 1024] = zlib.crc32(data[record:record + 1020]).to_bytes(4, "little")
        path.write_bytes(data)
        with self.assertRaises(KeyError), bloomfile.LiveFilter(path, accept_unclean=True) as f:
            f.add("a")
            raise KeyError
        self.assertRaises(errors.EUNCLEAN, bloomfile.Filter, path)
        with bloomfile.LiveFilter(path, accept_unclean=True) as f:
            f.add("a")
        self.assertIn("a", bloomfile.Filter(path))

    def test_dropped_filter_gives_a_resource_warning(self):
        f = bloomfile.LiveFilter.create(self.path, 100)
        f.add("a")
        with self.assertWarnsRegex(ResourceWarning, "test.bloom"):
            del f
            gc.collect()
        with bloomfile.LiveFilter(self.path) as g:
            self.assertIn("a", g)
        f = bloomfile.LiveFilter(self.path)
        os.unlink(self.path)
        seen = []
        hook, sys.unraisablehook = sys.unraisablehook, lambda failed: seen.append(failed.exc_value)
        self.addCleanup(setattr, sys, "unraisablehook", hook)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            del f
            gc.collect()
        self.assertIsInstance(seen[0], errors.EREPLACED)
        self.assertEqual(len(seen), 1)

    def test_unpickled_writer_is_a_second_writer(self):
        f = self.live(exact=True)
        with pickle.loads(pickle.dumps(f)) as g:
            self.assertIs(type(g), bloomfile.LiveFilter)
            g.add("a")
            self.assertIs(f.add("a"), False)
            self.assertEqual(f.info().writers, 2)


if __name__ == "__main__":
    sys.exit(unittest.main())
