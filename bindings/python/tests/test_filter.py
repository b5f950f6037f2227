# SPDX-License-Identifier: MIT
"""Filters are built, opened, queried and closed."""

import array
import dataclasses
import errno
import gc
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import unittest
import warnings
import weakref

import bloomfile
from bloomfile import errors

from support import Case, python

ABSENT = [f"absent {i}" for i in range(1000)]


class Building(Case):
    def test_keys_are_found_and_most_non_members_are_not(self):
        keys = [f"key {i}" for i in range(10000)]
        f = self.build(keys, 0.01)
        self.assertTrue(all(key in f for key in keys))
        self.assertEqual(f.contains_many(keys), b"\1" * 10000)
        self.assertLess(sum(f.contains_many(ABSENT)), 30)
        self.assertEqual([key in f for key in ABSENT], [bool(hit) for hit in f.contains_many(ABSENT)])

    def test_existing_file_is_replaced_only_with_replace(self):
        self.build(["a"])
        with self.assertRaises(FileExistsError) as raised:
            bloomfile.build(self.path, ["z"])
        self.assertEqual(raised.exception.filename, str(self.path))
        self.assertIn("z", self.build(["z"], replace=True))

    def test_build_over_capacity_is_refused(self):
        keys = [f"key {i}" for i in range(3000)]
        bad = ({"capacity": 1000}, {"capacity": 1000, "bits": 512 * 40}, {"capacity": 1000, "layout": "classic"},
               {"capacity": 300, "layout": "ribbon", "fpr": 0.0001}, {"capacity": 2000})
        good = ({}, {"capacity": 2999}, {"capacity": 1000, "layout": "ribbon"}, {"bits": 4096},
                {"capacity": 3000}, {"capacity": 3000, "bits": 512}, {"capacity": 6000, "slices": 2}, {"capacity": 100, "bits": 512 * 1000, "fpr": 0.01})
        for params in good:
            with self.subTest(params):
                self.build(keys, replace=True, **params).close()
        mild = ({"capacity": 2600}, {"capacity": 2600, "layout": "classic"})
        for params in bad:
            with self.subTest(params):
                self.build(["old"], replace=True).close()
                count = rf" \(3000 keys, capacity {params['capacity']}: leave capacity out or increase it, or pass over_capacity=True\)$" if "slices" not in params else ""
                self.assertRaisesRegex(errors.EFULL, "test.bloom: over capacity" + count, self.build, keys, replace=True, **params)
                with bloomfile.Filter(self.path) as f:
                    self.assertTrue("old" in f)
        for params in *mild, *({**params, "over_capacity": True} for params in bad):
            with self.subTest(params):
                with self.assertWarnsRegex(
                        UserWarning, rf"test.bloom: 3000 keys are in a filter for {params['capacity']}: its rate is [\d.e-]+, not") as told:
                    made = self.build(keys, replace=True, **params)
                self.assertEqual(sum(made.contains_many(keys)), 3000)
                self.assertIn("support.py", told.filename)  # the caller of build()
                with warnings.catch_warnings(action="error"):
                    self.assertRaises(UserWarning, self.build, ["a", *keys], path=self.folder / "other", **params)
                with bloomfile.Filter(self.folder / "other") as f:
                    self.assertEqual(f.info().keys, 3001)
                os.remove(f.path)
        with self.assertWarnsRegex(UserWarning, "1.... keys are in a filter for 7...: its rate is"):
            self.build([f"key {i}" for i in range(30000)], capacity=10_000, slice=0, slices=2, over_capacity=True, replace=True)

    def test_no_keys_replace_nothing_but_an_empty_filter(self):
        said = r"cannot replace .*test.bloom: the input has no keys .* would be lost"
        for params in {"layout": "blocked"}, {"layout": "counting"}, {"layout": "ribbon"}:
            self.build([], replace=True, **params).close()
            self.build([], replace=True, **params).close()
            self.build(["a"], replace=True, **params).close()
            old = self.path.read_bytes()
            self.assertRaisesRegex(ValueError, said, bloomfile.build, self.path, iter(()), replace=True)
            self.assertEqual(self.path.read_bytes(), old)
            self.assertEqual(self.build([], replace=True, allow_empty=True).info().keys, 0)
        whole = {"capacity": 100_000, "slices": 2}
        other = next(i for i in (0, 1) if bloomfile.slice_of(bloomfile.size_for(100_000, 0.01).bits, 2, bloomfile.hash("a")) != i)
        self.build(["a"], replace=True, slice=1 - other, **whole)
        self.assertRaisesRegex(ValueError, said, bloomfile.build, self.path, ["a"], replace=True, slice=other, **whole)
        self.path.unlink()
        self.path.write_bytes(b"a letter")
        self.assertRaisesRegex(ValueError, said, bloomfile.build, self.path, [], replace=True)
        self.path.write_bytes(b"")
        self.build([], replace=True)
        self.assertRaises(FileExistsError, bloomfile.build, self.path, [], allow_empty=True)
        with bloomfile.Builder() as b:  # a builder without keys also replaces the file
            self.build(["a"], replace=True)
            b.finish(self.path, replace=True)
        self.assertEqual(bloomfile.Filter(self.path).info().keys, 0)

    def test_live_filter_of_a_killed_writer_is_not_replaced_by_an_empty_filter(self):
        python("import bloomfile, os, sys; f = bloomfile.LiveFilter.create(sys.argv[1], 1000); f.add('a'); os._exit(0)", self.path)
        self.assertEqual(bloomfile.Filter(self.path).keys, 0)  # a sync would count it
        self.assertRaisesRegex(ValueError, "the input has no keys", bloomfile.build, self.path, [], replace=True)
        self.assertIn("a", bloomfile.Filter(self.path))

    def test_repr_of_an_error_has_its_message(self):
        self.path.write_bytes(b"a letter, which is not a filter")
        with self.assertRaises(errors.EMAGIC) as raised:
            bloomfile.Filter(self.path)
        self.assertEqual(repr(raised.exception), f"EMAGIC({str(raised.exception)!r})")

    def test_live_filter_with_a_writer_is_not_replaced(self):
        with bloomfile.LiveFilter.create(self.path, 1000) as live:
            live.add("a")
            for keys in [], ["b"]:
                with self.assertRaisesRegex(OSError, "its writers add would be lost.*test.bloom") as raised:
                    bloomfile.build(self.path, keys, replace=True, allow_empty=True)
                self.assertEqual(raised.exception.errno, errno.EBUSY)
        self.build(["b"], replace=True)

    def test_live_filter_that_gets_keys_during_a_build_is_not_replaced(self):
        def add(first, key):
            with bloomfile.LiveFilter.create(self.path, 1000) if first else bloomfile.LiveFilter(self.path) as live:
                live.add(key)

        def keys(first, key):
            yield "b"
            add(first, key)
        for first in True, False:  # it appears; it changes
            for key in "a", "c":
                with self.subTest(first=first, key=key):
                    self.path.unlink(missing_ok=True)
                    if not first:
                        add(True, "z")
                        self.until_time_moves()
                    with self.assertRaisesRegex(OSError, "changed it during the build.*test.bloom") as raised:
                        bloomfile.build(self.path, keys(first, key), replace=True)
                    self.assertEqual(raised.exception.errno, errno.EBUSY)
                    self.assertEqual(bloomfile.Filter(self.path).contains_many(["z", key]), bytes([not first, 1]))
        self.assertIn("d", self.build(["d"], replace=True))

    def test_live_filter_that_gets_keys_after_the_last_check_is_not_replaced(self):
        real = bloomfile._may_be_live
        self.addCleanup(setattr, bloomfile, "_may_be_live", real)

        def add_after(path):
            found = real(path)
            with bloomfile.LiveFilter.create(path, 1000, replace=True) as live:
                live.add("a")
            return found
        bloomfile._may_be_live = add_after

        def keys():
            self.build(["x"]).close()
            yield "b"
        self.assertRaisesRegex(OSError, "changed it during the build", bloomfile.build, self.path, keys(), replace=True)
        self.assertIn("a", bloomfile.Filter(self.path))

    def test_signal_handler_replaces_files_during_a_build_that_may_not(self):
        other = self.folder / "other"

        def handle(number, frame):
            bloomfile.LiveFilter.create(other, 1000, replace=True).close()
            source.seal_to(other, replace=True)
            bloomfile.merge(other, [source], replace=True)
            self.build(["y"], path=other, replace=True).close()
            with bloomfile.LiveFilter.create(self.path, 1000) as live:
                live.add("a")
        self.build(["x"], path=other).close()
        source = self.build(["x"], path=self.folder / "source")
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, handle))
        with bloomfile.Builder(layout="ribbon") as builder:
            builder.add_digests(bloomfile.hash_many([0, *range(1_000_000)]))  # the repeated key makes it build twice
            builder._replaces_only(-1)
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            self.assertRaises(errors.EREPLACED, builder.finish, self.path, replace=True)
        self.assertIn("y", bloomfile.Filter(other))
        self.assertIn("a", bloomfile.Filter(self.path))

    def test_sealed_filter_that_appears_or_changes_during_a_build_is_replaced(self):
        def keys():
            for key in "xy":
                self.build([key], replace=True).close()
                yield key + key
        for _ in range(2):
            self.assertEqual(self.build(keys(), replace=True).contains_many(["xx", "yy", "y"]), b"\1\1\0")

    def test_inspect_refuses_a_fifo_without_waiting(self):
        os.mkfifo(self.path)
        self.assertRaises(errors.ENOTREGULAR, bloomfile.inspect, self.path)

    def test_an_exception_of_the_iterator_leaves_no_file(self):
        def keys():
            yield from map(str, range(100000))
            raise KeyError("the source has failed")
        with self.assertRaisesRegex(KeyError, "the source has failed"):
            bloomfile.build(self.path, keys())
        self.assertEqual(os.listdir(self.folder), [])

    def test_parameters_reach_the_header(self):
        f = self.build(["a", "b"], 0.001, layout="classic", seed=2**64 - 1, label="süß", tag=b"tag", key_kind="text", threads=2,
                       watermark=b"7", memory=1 << 20, spool=self.folder)
        info = f.info()
        self.assertEqual((info.layout, info.fpr, info.seed, info.label, info.tag, info.key_kind, info.keys, info.state),
                         ("classic", 0.001, 2**64 - 1, "süß", b"tag" + bytes(13), "text", 2, "sealed"))
        self.assertEqual((f.seed, info.watermark), (2**64 - 1, b"7" + bytes(31)))
        self.assertEqual(self.build(["a"], bits=1024, hashes=5, replace=True).info().bits, 1024)
        self.assertEqual(self.build([b"abcd"], key_kind=4, replace=True).info().key_size, 4)
        for layout in "blocked", "classic", "counting", "ribbon":
            with self.subTest(layout):
                self.assertEqual(self.build(["a"], layout=layout, replace=True).info().layout, layout)

    def test_parameters_out_of_range_are_refused(self):
        for error, params in [
                (errors.EVALUE, {"fpr": 0}), (errors.EVALUE, {"fpr": 1.0}), (errors.EVALUE, {"fpr": -0.1}),
                (errors.EVALUE, {"fpr": float("nan")}), (ValueError, {"layout": "black"}), (TypeError, {"layout": 1}),
                (errors.EVALUE, {"bits": 511}), (OverflowError, {"bits": -1}), (OverflowError, {"bits": 1 << 64}),
                (errors.EVALUE, {"hashes": 65}), (OverflowError, {"hashes": 1 << 32}), (OverflowError, {"seed": 1 << 64}),
                (TypeError, {"seed": 0.5}), (errors.EVALUE, {"label": "x" * 113}), (ValueError, {"label": "a\0b"}),
                (ValueError, {"tag": bytes(17)}), (TypeError, {"tag": "text"}), (ValueError, {"watermark": bytes(33)}),
                (errors.EVALUE, {"threads": 1025}), (ValueError, {"key_kind": "pages"}), (TypeError, {"nonsense": 1}), (FileNotFoundError, {"spool": "/none"})]:
            with self.subTest(params), self.assertRaises(error):
                bloomfile.Builder(memory=1 << 20, **params).add_many(map(str, range(200000)))
        self.assertEqual(os.listdir(self.folder), [])

    def test_error_names_the_parameter_out_of_range(self):
        for kind, said in (
                ({"fpr": 2}, "(fpr=2.0)"), ({"fpr": 0}, "(fpr=0.0)"), ({"fpr": -0.5}, "(fpr=-0.5)"), ({"fpr": float("nan")}, "(fpr=nan)"),
                ({"bits": 100}, "(bits=100)"), ({"hashes": 65}, "(hashes=65)"), ({"capacity": 1 << 61}, f"(capacity={1 << 61})")):
            for make in bloomfile.Builder, lambda **kind: bloomfile.LiveFilter.create(self.path, **{"capacity": 10, **kind}):
                with self.subTest(said), self.assertRaises(bloomfile.Error) as raised:
                    make(**kind)
                for error in raised.exception, pickle.loads(pickle.dumps(raised.exception)):
                    self.assertTrue(str(error).endswith(f"{error.text} {said}"), str(error))
                    self.assertEqual(f"({error.asked})", said)
        with self.assertRaises(errors.EVALUE) as raised:
            bloomfile.Builder(label="x" * 113)
        self.assertEqual(raised.exception.asked, "label")

    def test_invalid_parameters_are_named(self):
        f, path = self.build(), self.folder / "new"
        builder, live = bloomfile.Builder, lambda **params: bloomfile.LiveFilter.create(path, 1000, **params)
        for said, call in (
                ("threads=1025", lambda: builder(threads=1025)), ("key_kind=0", lambda: builder(key_kind=0)),
                ("slice=3", lambda: builder(capacity=10**6, slice=3, slices=3)), ("key_kind=0", lambda: live(key_kind=0)),
                ("slices=70000", lambda: builder(capacity=5, slices=70000)), ("every=5, only with generations", lambda: live(every=5)),
                ("every=5, only with generations", lambda: live(every=5, grow=True)), ("generations=2000", lambda: live(generations=2000)),
                ("bits=512, not with grow", lambda: live(bits=512, grow=True)), ("hashes=3, not with grow", lambda: live(hashes=3, grow=True)),
                ("threads=1025", lambda: f.verify(1025)), ("threads=1025", lambda: bloomfile.delta(path, f, f, threads=1025)),
                ("threads=1025", lambda: bloomfile.patch(path, f, self.path, threads=1025)),
                ("srcs is empty", lambda: bloomfile.merge(path, [])), ("slices is empty", lambda: bloomfile.join(path, [])),
                ("max_fpr=2.0", lambda: bloomfile.merge(path, [f, f], max_fpr=2)), (f"keys={1 << 61}", lambda: bloomfile.merge(
                    path, [f, f], keys=1 << 61)), ("factor=7", lambda: bloomfile.fold(path, f, 7))):
            with self.subTest(said), self.assertRaises(bloomfile.Error) as raised:
                call()
            self.assertIn(said, str(raised.exception))
        self.assertIsNone(f.status)
        self.assertFalse(path.exists())

    def test_path_that_is_not_utf_8_is_escaped_in_messages(self):
        """The text of each error and warning is UTF-8, and its path opens the file."""
        path, keys = os.fsencode(self.folder) + b"/a\xff.bloom", [str(i) for i in range(1000)]
        with self.assertWarnsRegex(UserWarning, r"a\\udcff.bloom: 1000 keys") as warned:
            bloomfile.build(path, keys, capacity=10, over_capacity=True).close()
        texts = [str(warned.warning)]
        with self.assertRaises(ValueError) as raised:
            bloomfile.build(path, [], replace=True)
        texts.append(str(raised.exception))
        with open(path, "r+b") as file:
            file.seek(4096)
            file.write(bytes(100))
        for name in path, os.fsdecode(path):
            with self.assertWarns(bloomfile.DamageWarning) as warned, bloomfile.Filter(name) as f:
                f.contains_many(keys)
            texts.append(str(warned.warning))
            with bloomfile.Filter(name) as f:
                self.assertRaises(errors.EPAGE, f.verify)
                texts.append(str(f.status))
                self.assertEqual(f.status.path, os.fsdecode(path))
        for text in texts:
            self.assertIn(r"a\udcff.bloom", text)
            text.encode()

    def test_builder_accepts_keys_after_it_finishes(self):
        with bloomfile.Builder(0.01) as b:
            b.add("a")
            b.add(b"a")
            b.add_digest(bloomfile.hash("b"))
            b.add_many(["c"])
            self.assertEqual(b.count(), 3)
            b.set_tag(b"end")
            b.finish(self.path)
            b.add("d")
            image = b.to_bytes()
        with bloomfile.Filter(self.path) as f, bloomfile.Filter.from_bytes(image) as g:
            self.assertEqual(f.contains_many("abcd"[i] for i in range(4)), b"\1\1\1\0")
            self.assertEqual(g.contains_many(list("abcd")), b"\1\1\1\1")
            self.assertEqual(f.info().tag, b"end" + bytes(13))
        for use in b.count, b.to_bytes, lambda: b.add("x"), lambda: b.add_many(["x"]), b.__enter__:
            with self.assertRaises(ValueError):
                use()
        b.close()


    def test_builder_that_lost_keys_does_not_finish(self):
        def keys():
            yield "a"
            raise KeyError("the source has failed")
        self.build(["old"])
        for error, name, *arguments in (
                (KeyError, "add_many", keys()), (errors.EKEYKIND, "add_many", ["a", 7]), (ValueError, "add_digests", b"1234567"),
                (TypeError, "add_records", [1]), (ValueError, "add_arrow", array.array("i", [0, 9]), b"a")):
            with self.subTest(arguments), bloomfile.Builder() as b:
                self.assertRaises(error, getattr(b, name), *arguments)
                b.add_digests(bytes(16))
                for end in b.to_bytes, lambda: b.finish(self.path, replace=True):
                    with self.assertRaisesRegex(OSError, "keys may be missing \\(add all keys to a new Builder") as raised:
                        end()
                    self.assertEqual(raised.exception.errno, errno.ECANCELED)
                self.assertEqual(raised.exception.filename, str(self.path))
            self.assertRaises(ValueError, b.to_bytes)
        self.assertIn("old", bloomfile.Filter(self.path))
        with bloomfile.Builder() as b:
            self.assertRaises(TypeError, b.add, 0.5)  # the caller can continue without this key
            b.add("7")
            self.assertIn("7", bloomfile.Filter.from_bytes(b.to_bytes()))


class Opening(Case):
    def test_error_of_open_names_cause_and_path(self):
        self.path.write_bytes(b"x" * 10000)
        with self.assertRaises(bloomfile.Error) as raised:
            bloomfile.Filter(self.path)
        e = raised.exception
        self.assertIs(type(e), errors.EMAGIC)
        self.assertEqual((e.code, e.name, e.path), (-1301, "BLOOMFILE_EMAGIC", str(self.path)))
        self.assertEqual(str(e), f"{self.path}: not a filter file")
        again = pickle.loads(pickle.dumps(e))
        self.assertEqual((type(again), str(again), again.path), (type(e), str(e), e.path))
        with self.assertRaises(FileNotFoundError) as raised:
            bloomfile.Filter(self.folder / "none")
        self.assertEqual(raised.exception.filename, str(self.folder / "none"))
        with self.assertRaises(IsADirectoryError):
            bloomfile.Filter(self.folder)
        for path in 5, None, "a\0b":
            with self.assertRaises((TypeError, ValueError)):
                bloomfile.Filter(path)

    def test_every_error_has_a_class(self):
        for name in "EEMPTY", "EPAGE", "EISRIBBON":
            self.assertTrue(issubclass(getattr(errors, name), bloomfile.Error))
        self.assertEqual(errors.EPAGE.code, -1217)
        self.assertGreater(len(errors.__all__), 50)

    def test_paths_may_be_str_bytes_or_path_objects(self):
        self.build()
        odd = os.fsencode(self.folder) + b"/\xff.bloom"
        os.link(self.path, odd)
        for path in self.path, str(self.path), os.fsencode(self.path), odd, os.fsdecode(odd):
            with bloomfile.Filter(path) as f:
                self.assertIn("a", f)
                self.assertEqual(f.path, os.fsdecode(path))

    def test_every_open_flag_is_accepted(self):
        self.build()
        for flags in {"verify": True}, {"verify": False}, {"prefault": True}, {"copy": True}, {"copy": True, "verify": True}:
            with self.subTest(flags), bloomfile.Filter(self.path, **flags) as f:
                self.assertEqual(f.contains_many(["a", "z"]), b"\1\0")
        with self.assertRaises(TypeError):
            bloomfile.Filter(self.path, verify=1)
        with self.assertRaises(TypeError):
            bloomfile.Filter(self.path, True)

    def test_filters_open_from_bytes_and_descriptors(self):
        with self.build() as f:
            image = bytearray(f.to_bytes())
        with bloomfile.Filter.from_bytes(image) as f:
            self.assertIn("a", f)
            self.assertIsNone(f.path)
            with self.assertRaises(BufferError):
                image.clear()
        image.append(0)
        with self.assertRaises(errors.ETRAILING):
            bloomfile.Filter.from_bytes(image)
        with bloomfile.Filter.from_bytes(image[:-1], copy=True) as f:
            image.clear()
            self.assertIn("a", f)
        self.path.write_bytes(b"before" + self.path.read_bytes() + b"behind")
        with open(self.path, "rb") as file:
            f = bloomfile.Filter.from_fd(file, 6, os.path.getsize(self.path) - 12)
        with f:
            self.assertIn("a", f)
        with self.assertRaises(OSError):
            bloomfile.Filter.from_fd(1 << 20)

    def test_an_object_is_opened_once(self):
        f = self.build()
        with self.assertRaises(ValueError):
            f.__init__(self.path)
        self.assertIn("a", f)
        f.close()
        with self.assertRaises(ValueError):
            f.__init__(self.path)
        unopened = bloomfile.Filter.__new__(bloomfile.Filter)
        with self.assertRaises(ValueError):
            "a" in unopened
        unopened.close()
        unopened.__init__(self.path)
        self.assertIn("a", unopened)
        unopened.close()

    def test_use_after_close_is_an_error_in_every_method(self):
        f = self.live()
        f.close()
        f.close()
        self.assertTrue(f.closed)
        digest = bytes(8)
        uses = [lambda: "a" in f, lambda: f.contains("a"), lambda: f.contains_digest(0), lambda: f.contains_many(["a"]),
                lambda: f.contains_many([]), lambda: f.contains_digests(digest), lambda: f.contains_records(b"a", 1),
                lambda: f.contains_arrow(memoryview(digest).cast("i"), b""), f.info, f.measure, f.verify, f.to_bytes,
                lambda: f.seal_to(self.folder / "x"), lambda: f.status, lambda: f.stale, lambda: f.seed, f.__enter__,
                lambda: f.add("a"), lambda: f.add_digest(0), lambda: f.add_many(["a"]), lambda: f.add_digests(digest),
                lambda: f.add_records(b"a", 1), lambda: f.add_arrow(memoryview(digest).cast("i"), b""), f.sync, f.seal,
                lambda: f.rescue(self.folder / "x"), lambda: f.remove("a"), lambda: pickle.dumps(f),
                lambda: bloomfile.merge(self.folder / "x", [f])]
        for i, use in enumerate(uses):
            with self.subTest(i), self.assertRaises(ValueError):
                use()

    def test_filter_initialized_during_its_own_open_raises(self):
        self.build().close()
        f = bloomfile.Filter.__new__(bloomfile.Filter)

        class Path:
            def __fspath__(path):
                if not f.closed:
                    return str(self.path)
                f.__init__(self.path)
                return str(self.path)
        self.assertRaises(ValueError, f.__init__, Path())
        self.assertIn("a", f)
        f.close()

    def test_filters_support_weak_references(self):
        f = self.build()
        gone = []
        reference = weakref.ref(f, gone.append)
        self.assertIs(reference(), f)
        self.doCleanups()
        del f
        gc.collect()
        self.assertEqual(gone, [reference])
        with bloomfile.Filter.memory(10) as g:
            self.assertIs(weakref.ref(g)(), g)

    def test_filter_can_be_subclassed(self):
        class Mine(bloomfile.Filter):
            def __init__(self, path):
                super().__init__(path)
                self.extra = [self]
        self.build()
        f = Mine(self.path)
        self.assertIn("a", f)
        self.assertIsInstance(bloomfile.Filter.from_bytes(f.to_bytes()), bloomfile.Filter)
        del f
        gc.collect()


class Damage(Case):
    def damaged(self):
        self.build([str(i) for i in range(100000)], 0.001).close()
        image = bytearray(self.path.read_bytes())
        image[8192 + 100:8192 + 200] = bytes(100)
        self.path.write_bytes(image)

    def test_keys_on_a_damaged_page_are_found_and_status_reports_it(self):
        self.damaged()
        f = bloomfile.Filter(self.path)
        self.assertIsNone(f.status)
        self.assertEqual(f.contains_many(str(i) for i in range(100000)), b"\1" * 100000)
        self.assertIsInstance(f.status, errors.EPAGE)
        self.assertEqual(f.status.path, str(self.path))
        f.close()

    def test_verify_reports_the_damaged_page(self):
        self.damaged()
        for threads in 1, 2:
            with bloomfile.Filter(self.path) as f, self.assertRaises(errors.EPAGE) as raised:
                f.verify(threads)
            e = raised.exception
            self.assertEqual((e.offset, e.page, e.field), (8192, 1, "page"))
            self.assertIn("page 1", str(e))
        with self.assertRaises(errors.EPAGE):
            bloomfile.Filter(self.path, verify=True)

    def test_writing_from_a_damaged_filter_names_it(self):
        self.build(capacity=100_000, path=self.folder / "good.bloom")
        self.build(["a"], capacity=100_000).close()
        image = bytearray(self.path.read_bytes())
        image[-4097] ^= 1
        self.path.write_bytes(image)
        to = self.folder / "copy.bloom"
        with bloomfile.Filter(self.path) as f, bloomfile.Filter(self.folder / "good.bloom") as good:
            for use in (lambda: f.seal_to(to), f.to_bytes, f.copy, lambda: good | f, lambda: f & good, lambda: bloomfile.merge(to, [good, f]),
                        lambda: bloomfile.fold(to, f, 2), lambda: bloomfile.delta(to, good, f), lambda: bloomfile.delta(to, f, good)):
                with self.assertRaises(errors.EPAGE) as raised:
                    use()
                self.assertEqual(raised.exception.path, str(self.path))
            self.assertIsNotNone(f.status)
        self.assertFalse(to.exists())

    def test_unread_damage_is_a_warning_at_close(self):
        self.damaged()
        def ask():
            f = bloomfile.Filter(self.path)
            f.contains_many(str(i) for i in range(100000))
            return f
        with self.assertWarnsRegex(bloomfile.DamageWarning, "test.bloom: a page of the body is damaged.*its status was not read"):
            ask().close()
        with self.assertWarns(bloomfile.DamageWarning):
            with ask():
                pass
        with self.assertWarns(bloomfile.DamageWarning):
            ask()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f = ask()
            self.assertRaises(bloomfile.DamageWarning, f.close)
            self.assertTrue(f.closed)
            f = ask()
            f.status
            f.close()

    def test_unread_damage_is_a_warning_at_exit(self):
        """The interpreter may have cleared the module when it drops the filter."""
        self.damaged()
        code = """if True:
            import bloomfile, functools, sys
            class Holder:
                def __del__(self):
                    try:
                        self.f.contains_many(["a"]).tolist(), self.f.__reduce__(), self.f.stale, repr(self.f), self.f.info()
                    except Exception:
                        pass
            holder = Holder()
            holder.f = bloomfile.Filter(sys.argv[1])
            holder.f.contains_many(str(i) for i in range(100000))
            """
        for keep, warned in (("holder.self = holder", True), ("kept = functools.lru_cache(lambda: holder); kept()", True),
                             ("import types; types.kept = holder", False)):  # sys.stderr ends before that module
            with self.subTest(keep):
                done = subprocess.run([sys.executable, "-W", "default", "-c", code + keep, self.path], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                if warned:
                    self.assertIn("test.bloom: a page of the body is damaged", done.stderr)

    def test_inspect_reads_files_that_cannot_be_opened(self):
        self.build().close()
        self.assertEqual(bloomfile.inspect(self.path).faults, ())
        image = bytearray(self.path.read_bytes())
        image[40] ^= 1
        self.path.write_bytes(image[:-1])
        found = bloomfile.inspect(self.path)
        self.assertEqual({type(fault) for fault in found.faults} & {errors.EHEADER, errors.ETRUNCATED},
                         {errors.EHEADER, errors.ETRUNCATED})
        self.assertEqual(found.faults[0].path, str(self.path))
        self.path.write_bytes(b"")
        self.assertIsInstance(bloomfile.inspect(self.path).faults[0], errors.EEMPTY)
        self.path.write_bytes(image[:100])
        self.assertEqual(bloomfile.inspect(self.path).info.version, 1)


class Knowing(Case):
    def test_header_has_all_fields_of_the_struct(self):
        of_tests = pathlib.Path(__file__).resolve().parents
        include = next(path for path in (of_tests[1] / "library/include", of_tests[3] / "include") if path.is_dir())
        header = (include / "bloomfile_inspect.h").read_text(encoding="utf-8")
        body = header[header.index("struct bloomfile_info {"):]
        body = body[:body.index("\n};")]
        import re
        declared = re.findall(r"(\w+)(?:\[[^\]]*\])?(?=[,;])", re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL))
        self.assertEqual(sorted(name for name in declared if name not in ("struct_size", "reserved")),
                         sorted(field.name for field in dataclasses.fields(bloomfile.Header)))

    def test_measure_size_for_and_is_stale_match_the_filter(self):
        f = self.build([str(i) for i in range(1000)], 0.01)
        m = f.measure()
        self.assertEqual(m.ones, f.info().ones)
        self.assertLess(abs(m.keys_estimate - 1000), 50)
        self.assertLess(m.fpr, 0.012)
        size = bloomfile.size_for(1000, 0.01)
        self.assertEqual((size.bits, size.hashes, size.file_size), (f.info().bits, f.info().hashes, os.path.getsize(f.path)))
        self.assertEqual(len(f.to_bytes()), size.image_size)
        self.assertEqual(bloomfile.size_for(1000, bits=size.bits, hashes=size.hashes), size)
        self.assertGreaterEqual(bloomfile.size_for(bits=size.bits, hashes=size.hashes).n, 1000)
        self.assertLessEqual(size.fpr, 0.01)
        self.assertLess(bloomfile.size_for(10**6, 0.01, layout="ribbon").bits, bloomfile.size_for(10**6, 0.01, layout="classic").bits)
        for wrong in {"n": 0}, {"n": 10, "fpr": 2.0}, {"n": 1, "bits": 1}, {"n": 10, "hashes": 65}:
            self.assertRaises(ValueError, bloomfile.size_for, **wrong)
        self.assertRaises(bloomfile.errors.EUNREACHABLE, bloomfile.size_for, 1, 1e-20)
        self.assertIs(f.stale, False)
        self.build(["z"], replace=True)
        self.assertIs(f.stale, True)
        self.assertIn("7", f)

    def test_repr_describes_the_filter_and_version_is_set(self):
        f = self.build()
        self.assertEqual(repr(f), f"<bloomfile.Filter {str(self.path)!r}: 3 keys (text), fpr 0.01, 8.2 kB, blocked>")
        f.close()
        self.assertEqual(repr(f), f"<bloomfile.Filter {str(self.path)!r}, closed>")
        self.assertEqual(repr(bloomfile.Filter.memory(10)), 
                         "<bloomfile.LiveFilter in memory: 0 of 10 keys, fpr 0.01, 8.2 kB, blocked>")
        self.assertEqual(bloomfile.__version__, bloomfile.library_version.replace("-", ""))

    def test_repr_marks_estimates_folds_and_damage(self):
        made = [self.build([str(i) for i in range(at, at + 1500)], path=self.folder / str(at), capacity=100_000) for at in (0, 1000)]
        self.assertRegex(repr(made[0] | made[1]), r"in memory: about 2,\d{3} of 100,000 keys \(text\), fpr 0.01, ")
        bloomfile.fold(self.path, made[0], 2)
        with bloomfile.Filter(self.path) as f:
            self.assertEqual(repr(f), f"<bloomfile.Filter {f.path!r}: 1,500 keys (text), folded, 69.7 kB, blocked>")
        image = bytearray(self.path.read_bytes())
        image[4500] ^= 255
        self.path.write_bytes(image)
        with self.assertWarns(bloomfile.DamageWarning), bloomfile.Filter(self.path) as f:
            f.contains_many([str(i) for i in range(1500)])
            self.assertRegex(repr(f), "blocked, 1 damaged page>$")


class WrittenOver(Case):
    """Writes like `cp -p` over the file: size and mtime stay, and no lookup follows."""

    def written_over(self):
        f = bloomfile.build(self.path, ["apple"])
        self.assertNotIn("stone", f)
        self.assertIsNone(f.status)
        before = os.stat(self.path)
        self.until_time_moves()
        with open(self.path, "r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (before.st_size - 4096))
        os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return f

    def test_status_reports_a_write_in_place(self):
        with self.written_over() as f:
            self.assertIsInstance(f.status, errors.ECHANGED)
            self.assertIn("stone", f)

    def test_close_warns_of_a_write_in_place(self):
        with self.assertWarnsRegex(bloomfile.DamageWarning, "ECHANGED|in place|changed|written"):
            self.written_over().close()


class Pickling(Case):
    def test_pickled_filter_opens_its_absolute_path_with_its_options(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        f = bloomfile.build("here.bloom", ["a"])
        os.chdir("/")
        g = pickle.loads(pickle.dumps(f))
        self.assertEqual(g.path, str(self.folder / "here.bloom"))
        self.assertIn("a", g)
        f.close()
        with self.assertRaises(errors.EPAGE):
            image = bytearray(pathlib.Path(g.path).read_bytes())
            h = bloomfile.Filter(g.path, verify=True)
            image[5000] ^= 1
            pathlib.Path(g.path).write_bytes(image)
            pickle.loads(pickle.dumps(h))
        for written_over in g, h:
            self.assertIsInstance(written_over.status, errors.ECHANGED)
            written_over.close()

    def test_pickled_filter_keeps_the_values_that_it_expects(self):
        for kind, key in ("text", "a"), (4, b"abcd"), ("integers", 7):
            with bloomfile.build(self.path, [key], tag=b"monday", seed=5, key_kind=kind, replace=True):
                first = bloomfile.Filter(self.path, tag=b"monday", seed=5, key_kind=kind)
            pickled = pickle.dumps(first)
            with first, pickle.loads(pickled) as again:
                self.assertEqual(pickle.dumps(again), pickled)
            for error, change in ((errors.EDIFFERENTTAG, {"tag": b"friday"}), (errors.EDIFFERENTSEED, {"seed": 6}), (errors.EKEYKIND, {"key_kind": 9})):
                bloomfile.build(self.path, [], replace=True, allow_empty=True, **({"tag": b"monday", "seed": 5, "key_kind": kind} | change)).close()
                self.assertRaises(error, pickle.loads, pickled)
        bloomfile.LiveFilter.create(self.folder / "live", 10, tag=b"monday").close()
        with bloomfile.LiveFilter(self.folder / "live", tag=b"monday", over_capacity=True) as live, pickle.loads(pickle.dumps(live)) as again:
            again.add_many(range(1000))
            pickled = pickle.dumps(live)
        bloomfile.LiveFilter.create(self.folder / "live", 10, tag=b"friday", replace=True).close()
        self.assertRaises(errors.EDIFFERENTTAG, pickle.loads, pickled)

    def test_filters_without_a_path_are_not_pickled(self):
        f = self.build()
        for other in bloomfile.Filter.from_bytes(f.to_bytes()), bloomfile.Filter.memory(10):
            with self.assertRaises(TypeError):
                pickle.dumps(other)


class Facts(Case):
    def test_attributes_match_the_layout_and_size(self):
        for layout, bits in ("blocked", 9.95), ("classic", 9.6), ("counting", 38.4), ("ribbon", 7.2):
            f = self.build(range(100_000), layout=layout, replace=True)
            self.assertEqual((f.fpr, f.capacity, f.keys, f.layout, f.kind), (0.01, 100_000, 100_000, layout, "integers"))
            self.assertAlmostEqual(f.bits_per_key, bits, 1)
            f.close()
            for name in "fpr", "capacity", "keys", "bits_per_key", "layout", "kind":
                self.assertRaises(ValueError, getattr, f, name)
        for kind in "text", "lower", "bytes", 16, None:
            self.assertEqual(bloomfile.Filter.memory(10, key_kind=kind).kind, kind)
        of_bits = self.build(range(1000), bits=10240, replace=True)
        self.assertAlmostEqual(of_bits.fpr, 0.01, 2)
        self.assertEqual(of_bits.bits_per_key, 10.24)
        few = bloomfile.Filter.memory(1000, 0.001)
        few.add("a")
        self.assertEqual((few.capacity, few.keys, few.fpr), (1000, 1, 0.001))
        self.assertTrue(14 < few.bits_per_key < 17)
        parts = [self.build(range(10_000), path=self.folder / f"part{i}", capacity=10_000, slice=i, slices=4) for i in range(4)]
        for part in parts:
            self.assertTrue(9 < part.bits_per_key < 11)
        series = bloomfile.Filter.memory(10, grow=True)
        new = sum(series.add_many(range(1000)))
        self.assertEqual((series.keys, series.fpr), (new, 0.01))
        self.assertGreaterEqual(series.capacity, 1000)

    def test_a_closed_filter_cannot_be_opened_again(self):
        """A running lookup would use digests of the other filter's seed."""
        for f in self.build(["a"]), bloomfile.Filter.memory(10):
            f.close()
            self.assertRaisesRegex(ValueError, "opened before", f.__init__, "other.bloom")

    def test_info_has_no_internals(self):
        info = self.build(["a"], tag=b"x").info()
        header = bloomfile.inspect(self.path).info
        self.assertIsInstance(header, bloomfile.Header)
        self.assertFalse(hasattr(info, "body_crc") or hasattr(info, "heap_size"))
        self.assertEqual((info.tag, info.watermark, header.tag, header.watermark), (b"x" + bytes(15), b"", b"x" + bytes(15), bytes(32)))
        for name in "layout", "keys", "capacity", "fpr", "bits", "key_kind", "image_size":
            self.assertEqual(getattr(info, name), getattr(header, name))

    def test_repr_shows_keys_capacity_rate_and_size(self):
        f = self.build([str(i) for i in range(1234)], path=self.folder / "many", capacity=50_000)
        self.assertEqual(repr(f), f"<bloomfile.Filter {f.path!r}: 1,234 of 50,000 keys (text), fpr 0.01, 69.7 kB, blocked>")
        self.assertIn("1 key (16-byte records), fpr ", repr(self.build([b"x" * 16], key_kind=16)))

        class Mine(bloomfile.Filter):
            pass
        self.assertIn("Mine", repr(Mine(self.path)))

    def test_misspelt_keyword_lists_the_known_keywords(self):
        f = self.build()
        for use, words in ((lambda: bloomfile.build("x", [], capasity=1), r"build\(\) has no keyword 'capasity'; it has path, keys, fpr.*capacity"),
                           (lambda: bloomfile.Builder(capasity=1), r"Builder\(\) .*'capasity'; .*capacity"),
                           (lambda: bloomfile.Filter(self.path, check=True), r"Filter\(\) .*'check'; it has path, verify"),
                           (lambda: bloomfile.LiveFilter.create("x", capacty=1), r"create\(\) .*'capacty'; .*capacity"),
                           (lambda: bloomfile.Filter.memory(capacty=1), r"memory\(\) .*'capacty'; .*capacity"),
                           (lambda: f.contains_many([], into=1), "'into'; it has out"), (lambda: f.verify(thread=1), "'thread'; it has threads"),
                           (lambda: f.seal_to("x", overwrite=True), r"'overwrite'; it has path, replace \(did you mean replace\?\)"),
                           (lambda: bloomfile.Builder(frp=0.1), r"'frp'; .* \(did you mean fpr\?\)$"),
                           (lambda: bloomfile.fold("x", "y", max_frp=1), r"\(did you mean max_fpr\?\)$"),
                           (lambda: bloomfile.build("x", [], "1%"), "^fpr and max_fpr are numbers: write 0.01 for 1%, not '1%'$"),
                           (lambda: bloomfile.merge("x", [], max_fp=1), r"merge\(\) .*'max_fp'; .*max_fpr"),
                           (lambda: bloomfile.json_keys([], "a", skip=True), "'skip'; it has lines, path, skip_missing"),
                           (lambda: bloomfile.size_for(fp=1), "'fp'; it has n, fpr")):
            self.assertRaisesRegex(TypeError, words, use)
        self.assertFalse(pathlib.Path("x").exists())


class Sets(Case):
    def made(self, name, keys, **params):
        return self.build(keys, path=self.folder / name, **{"capacity": 1000, "fpr": 1e-6, **params})

    def test_refused_merge_gives_the_cause(self):
        """Another size does not help if the kinds differ, so they come first."""
        a, other, size = self.made("a", ["a"]), self.made("n", [1], capacity=1003), self.made("s", ["a"], capacity=9, layout="classic")
        classic, same = self.made("c", ["a"], layout="classic"), self.made("m", [1])
        fields = {"one filter: integers, another: text": (a, other), "integers, another: text": (a, same),
                  "build both with the same capacity= and fpr=": (classic, size)}
        for words, pair in fields.items():
            with self.subTest(words):
                self.assertRaisesRegex(bloomfile.Error, words, bloomfile.merge, self.folder / "refused", pair)
                self.assertRaisesRegex(bloomfile.Error, words, lambda: pair[0] | pair[1])

    def test_operators_make_union_and_intersection(self):
        a, b = self.made("a", ["a", "b"]), self.made("b", ["b", "c"])
        both, common = a | b, a & b
        self.assertEqual(both.contains_many("abcd"[i] for i in range(4)), [True, True, True, False])
        self.assertEqual(common.contains_many("abcd"[i] for i in range(4)), [False, True, False, False])
        self.assertEqual((both.path, both.keys, both.kind), (None, 3, "text"))
        self.assertTrue(a | b == b | a == both and a | a == a and a & a == a)
        bloomfile.merge(self.folder / "merged", [a, b])
        self.assertTrue(bloomfile.Filter(self.folder / "merged") == both)
        live = bloomfile.Filter.memory(1000, 1e-6, key_kind="text")
        live.add("d")
        self.assertEqual((a | live).contains_many(["a", "b", "c", "d"]), [True, True, False, True])

    def test_incompatible_filters_do_not_combine(self):
        a = self.made("a", ["a"])
        for name, params in ("seed", {"seed": 1}), ("size", {"capacity": 5000}), ("kind", {"key_kind": "bytes"}), ("ribbon", {"layout": "ribbon", "capacity": 0}):
            other = self.made(name, [b"a"] if name == "kind" else ["a"], **params)
            with self.subTest(name):
                for use in (lambda: a | other), (lambda: a & other):
                    self.assertRaises(bloomfile.Error, use)
                self.assertFalse(a == other)
                self.assertTrue(a != other)
        for other in 1, None, {"a"}, "a":
            self.assertRaises(TypeError, lambda: a | other)
            self.assertRaises(TypeError, lambda: other & a)
            self.assertFalse(a == other)
        with self.assertRaisesRegex(TypeError, "unhashable"):
            hash(a)
        a.close()
        self.assertRaises(ValueError, lambda: a | a)

    def test_equal_means_the_same_answers(self):
        a, b = self.made("a", ["a", "b"], label="one", tag=b"x"), self.made("b", iter(["b", "a", "a"]))
        self.assertTrue(a == b and a == a.copy() and not a != b)
        self.assertFalse(a == self.made("c", ["a", "c"]))
        live = bloomfile.Filter.memory(1000, 1e-6, key_kind="text")
        live.add_many(["a", "b"])
        self.assertTrue(live == a)
        live.add("c")
        self.assertFalse(live == a)
        for params in {"layout": "classic"}, {"layout": "counting"}, {"layout": "ribbon", "capacity": 0}:
            x, y = self.made("x", ["a"], replace=True, **params), self.made("y", ["a"], replace=True, **params)
            self.assertTrue(x == y == x.copy())
        series = bloomfile.Filter.memory(10, grow=True)
        series.add_many(range(500))
        self.assertTrue(series == series.copy() and series.copy() == series.copy())
        series.add_many(range(500, 600))
        self.assertFalse(series.copy() == bloomfile.Filter.memory(10, grow=True))

    def test_a_copy_is_a_snapshot(self):
        live = self.live()
        live.add("a")
        copied = live.copy()
        live.add("b")
        self.assertEqual((type(copied), copied.path, copied.contains_many(["a", "b"])), (bloomfile.Filter, None, [True, False]))
        live.close()
        self.assertIn("a", copied)

    def test_damaged_filter_is_unequal_and_raises_in_operators(self):
        """A damaged page answers maybe; operations and copies never turn that into a "no"."""
        a = self.made("a", [str(i) for i in range(1000)])
        image = bytearray(a.to_bytes())
        image[-600:-590] = bytes(10)
        damaged = bloomfile.Filter.from_bytes(bytes(image))
        for use in damaged.copy, lambda: damaged | a, lambda: damaged == a:
            self.assertRaises(bloomfile.Error, use)
        self.assertIsNotNone(damaged.status)


if __name__ == "__main__":
    sys.exit(unittest.main())
