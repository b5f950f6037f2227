# SPDX-License-Identifier: MIT
"""bloomfile.dask: builds equal those of bfcreate even if workers die; lookups by partitions."""

import functools
import http.server
import importlib.util
import logging
import os
import pathlib
import re
import signal
import sys
import threading
import time
import unittest
import unittest.mock
import urllib.request
import warnings

import bloomfile
from bloomfile import errors

from support import IN_MEMORY, SANITIZED, Case, python

HERE = importlib.util.find_spec("dask") is not None
CLUSTERS = HERE and importlib.util.find_spec("distributed") is not None
PANDAS = HERE and importlib.util.find_spec("pandas") is not None
REPEATED = "ONCE_WAS_RUN" in os.environ or SANITIZED  # in another build; nothing here is compiled

if HERE:
    import dask
    import dask.bag
    import dask.callbacks
    import bloomfile.dask

KEYS = [f"key {i % 40000}" for i in range(60000)]
DIFFERENT = 40000


def partition(number, of=6):
    return KEYS[number::of]


def partition_of_the_doomed(marker, number):
    """Kills the first worker that reads this partition."""
    for i, key in enumerate(partition(number)):
        if i == 5000:
            die_once(marker)
        yield key


def die_once(marker):
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def fail(number):
    raise KeyError(f"the source has failed: {number}")


def doom(marker):
    """Runs in a worker: kills the worker after it wrote the first slice."""
    class Doomed(bloomfile.Builder):
        def finish(self, path):
            super().finish(path)
            die_once(marker)
    bloomfile.dask.Builder = Doomed


def spare():
    bloomfile.dask.Builder = bloomfile.Builder


def doom_all():
    """Runs in a worker: makes writing a slice fail."""
    class Full(bloomfile.Builder):
        def finish(self, path):
            raise OSError(28, "the disk is full", path)
    bloomfile.dask.Builder = Full


def blind(folder):
    """Runs in a worker: hides the folder of a test."""
    isdir = os.path.isdir
    os.path.isdir = lambda path: not os.fspath(path).startswith(folder) and isdir(path)


class DaskCase(Case):
    def by_tool(self, *options):
        """Returns the filter that bfcreate makes of the keys."""
        self.tool("bfcreate", "-q", "-f", *options, self.folder / "tool.bloom", "-",
                  input="".join(f"{key}\n" for key in KEYS).encode())
        return (self.folder / "tool.bloom").read_bytes()

    def make(self, keys, **params):
        with bloomfile.dask.build(keys, self.path, replace=True, **params) as made:
            return made.info()

    def assert_only(self, *names):
        """Checks that no other file or folder exists."""
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))


@unittest.skipUnless(HERE, "without dask")
@unittest.skipIf(REPEATED, "it was run in another build")
class Threads(DaskCase):
    """Builds by Dask's threads in this process."""

    def setUp(self):
        super().setUp()
        self.bag = dask.bag.from_delayed([dask.delayed(partition)(i) for i in range(6)])

    def test_build_equals_that_of_bfcreate(self):
        for options, params in (
                ([], {}), (["-n", "50k"], {"capacity": 50000}), (["-p", "0.0001", "--seed", "9"], {"fpr": 0.0001, "seed": 9}),
                (["-n", "50k", "-k", "4", "--label", "x"], {"capacity": 50000, "hashes": 4, "label": "x"}),
                (["-n", "50k", "-m", "1M"], {"capacity": 50000, "bits": 1_000_448})):
            expected = self.by_tool(*options)
            for slices in None, 1, 2, 5, 11:
                with self.subTest(options=options, slices=slices):
                    self.make(self.bag, slices=slices, **params)
                    self.assertEqual(self.path.read_bytes(), expected)
        self.assert_only("test.bloom", "tool.bloom")

    def test_partitions_may_be_delayed_values_or_lists(self):
        expected = self.by_tool()
        parts = [dask.delayed(partition)(i) for i in range(6)]
        for keys, column in (
                (parts, None), (tuple(parts), None), (dask.delayed(KEYS), None), (dask.delayed(map)(str, KEYS), None),
                (self.bag.map(str.encode), None), (self.bag.map(lambda key: {"url": key, "size": 1}), "url"),
                (self.bag.filter(lambda key: key.endswith("7")).repartition(1).map_partitions(lambda part: KEYS), None)):
            with self.subTest(keys=keys):
                self.make(keys, column=column, key_kind="text")
                self.assertEqual(self.path.read_bytes(), expected)

    def test_layouts_other_than_blocked_are_built_by_one_task(self):
        for layout in "classic", "counting", "ribbon":
            expected = self.by_tool("-l", layout, "-n", "50k")
            self.make(self.bag, capacity=50000, layout=layout)
            self.assertEqual(self.path.read_bytes(), expected)
            self.assertRaises(ValueError, self.make, self.bag, layout=layout, slices=2)

    def test_partitions_share_chunks_beyond_a_limit(self):
        most, bloomfile.dask._MOST_CHUNKS = bloomfile.dask._MOST_CHUNKS, 7
        try:
            for params in {"capacity": 50000}, {}:
                self.make(self.bag, slices=5, **params)
                self.assertEqual(self.path.read_bytes(), self.by_tool(*(["-n", "50k"] if params else [])))
        finally:
            bloomfile.dask._MOST_CHUNKS = most

    def test_tasks_pass_digests_instead_of_keys(self):
        """The task that makes a partition also hashes it, if Dask's tasks are tuples."""
        ran = []
        with dask.callbacks.Callback(pretask=lambda key, *_: ran.append(key)):
            self.make(self.bag, capacity=50000, slices=4)
        if int(dask.__version__.split(".")[0]) < 2024:
            self.assertEqual(len(ran), 6 + 6 * 4 + 6 + 1 + 4, ran)

    def test_missing_values_are_not_keys(self):
        for kind, keys, other in (("text", ["text", "Käse", None, float("nan"), b"bytes"], "other"),
                                  ("integers", [None, 7, -1, float("nan"), 2**64 - 2], 8)):
            bag = dask.bag.from_sequence(keys, npartitions=2)
            for slices in None, 1:
                with bloomfile.dask.build(bag, self.path, replace=True, slices=slices) as f:
                    self.assertEqual((f.info().keys, f.info().key_kind), (3, kind))
                    self.assertTrue(all(key in f for key in keys if isinstance(key, (str, bytes, int))))
            answers = bloomfile.dask.contains(dask.bag.concat([bag, dask.bag.from_sequence([other, None])]), self.path)
            self.assertEqual(answers.compute(scheduler="sync"), [None if key is None or key != key else True for key in keys] + [False, None])
            wrong = dask.bag.from_sequence(["7" if kind == "integers" else 7, *keys], npartitions=1)
            self.assertRaises(errors.EKEYKIND, bloomfile.dask.contains(wrong, self.path).compute, scheduler="sync")
            self.assertRaises(errors.EKEYKIND, bloomfile.dask.build, wrong, self.path, replace=True)
        apart = dask.bag.from_sequence(["text", 7], npartitions=2)
        for params in {}, {"capacity": 5}, {"slices": 1}:
            with self.assertRaisesRegex(errors.EKEYKIND, "text, of others: integers"):
                bloomfile.dask.build(apart, self.path, replace=True, **params)
        for keys, error in (([1.5], TypeError), ([True], TypeError), (["\ud800"], UnicodeEncodeError), ([2**64], OverflowError),
                            ([("a",)], TypeError)):
            bad = dask.bag.from_sequence(keys, npartitions=1)
            with self.subTest(keys):
                self.assertRaises(error, bloomfile.dask.build, bad, self.path, replace=True)
                self.assertRaises(error, bloomfile.dask.contains(bad, self.path).compute, scheduler="sync")
        self.assert_only("test.bloom")

    def test_live_filter_that_gets_keys_during_a_build_is_kept(self):
        def keys():
            with bloomfile.LiveFilter(self.path) as live:
                live.add("a")
            return ["b"]
        bloomfile.LiveFilter.create(self.path, 1000).close()
        with dask.config.set(scheduler="sync"):
            self.assertRaisesRegex(OSError, "changed it during the build", bloomfile.dask.build, [dask.delayed(keys)()], self.path, replace=True)
        self.assertIn("a", bloomfile.Filter(self.path))
        self.assert_only(self.path.name)

    def test_live_filter_that_appears_or_gets_keys_during_the_join_is_kept(self):
        """After the last check in Python. Coarse: the clock of the file system did not tick."""
        publish = bloomfile.dask._publish

        def late(*arguments):
            before = self.path.stat() if self.path.exists() else None
            with (bloomfile.LiveFilter if before else bloomfile.LiveFilter.create)(self.path, *([] if before else [1000])) as live:
                live.add("a")
            if coarse:
                os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))
            publish(*arguments)
        for exists, coarse in (False, False), (True, False), (True, True):
            for slices in 1, 3:
                with self.subTest(exists=exists, coarse=coarse, slices=slices):
                    if exists:
                        bloomfile.LiveFilter.create(self.path, 1000).close()
                    with unittest.mock.patch.object(bloomfile.dask, "_publish", late), dask.config.set(scheduler="sync"):
                        self.assertRaisesRegex(OSError, "changed it during the build", self.make, self.bag, slices=slices, capacity=50000)
                    self.assertIn("a", bloomfile.Filter(self.path))
                    self.assert_only(self.path.name)
                    self.path.unlink()

    def test_handlers_and_finalizers_replace_other_files_during_the_join(self):
        """They are not refused, and the file of the outer build stays protected."""
        publish, copy, other = bloomfile.dask._publish, self.folder / "copy", self.folder / "other"
        source = self.build(["x"])
        done = []

        def replace(*_):
            source.seal_to(copy, replace=True)
            bloomfile.merge(copy, [source], replace=True)
            bloomfile.LiveFilter.create(other, 1000, replace=True).close()
            self.build(["y"], path=other, replace=True).close()
            done.append(1)

        class Finalized:
            __del__ = replace

        def late(*arguments):
            run()
            if not target.exists():
                with bloomfile.LiveFilter.create(target, 1000) as live:
                    live.add("a")
            publish(*arguments)
        replace()
        target = self.folder / "target"
        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, replace))
        for run in lambda: signal.raise_signal(signal.SIGUSR1), Finalized:
            for slices in 1, 3:
                with self.subTest(run=run, slices=slices):
                    done.clear()
                    with unittest.mock.patch.object(bloomfile.dask, "_publish", late), dask.config.set(scheduler="sync"):
                        self.assertRaisesRegex(OSError, "changed it during the build", bloomfile.dask.build, self.bag, target, replace=True,
                                               slices=slices, capacity=50000)
                    self.assertEqual(done, [1])
                    self.assertIn("a", bloomfile.Filter(target))
                    target.unlink()

    def test_filter_that_another_build_replaces_is_replaced_too(self):
        publish = bloomfile.dask._publish

        def late(*arguments):
            if others:
                other = threading.Thread(target=lambda: self.build([others.pop()], replace=True).close())
                other.start()
                other.join()
            publish(*arguments)
        self.build(["old"]).close()
        others = ["one", "two"]
        with unittest.mock.patch.object(bloomfile.dask, "_publish", late):
            self.assertEqual(self.make(self.bag, capacity=50000).keys, DIFFERENT)
        self.assertEqual(others, [])

    def test_lines_with_their_newlines_are_refused(self):
        """The last line of a text file may lack the newline, and a file may be one line. Keys that are bytes may end in newlines."""
        for i in range(3):
            (self.folder / f"{i}.txt").write_text("\n".join(f"{i} {j}" for j in range(5)))
        lines = dask.bag.read_text(str(self.folder / "*.txt"))
        self.build(["0 1"])
        late = dask.bag.from_sequence(["key"] * 40_000 + ["a\n", 5], npartitions=1)
        for bag in lines, dask.bag.read_text(str(self.folder / "*.txt"), files_per_partition=3), late:
            with self.assertRaisesRegex(ValueError, "ends in a newline"):
                bloomfile.dask.build(bag, self.path, replace=True)
            with self.assertRaisesRegex(ValueError, "ends in a newline"):
                bloomfile.dask.contains(bag, self.path).compute(scheduler="sync")
        with bloomfile.dask.build(lines.map(str.rstrip, "\n"), self.path, replace=True) as f:
            self.assertEqual(sum(f"{i} {j}" in f for i in range(3) for j in range(5)), 15)
        with bloomfile.dask.build(dask.bag.from_sequence(["a text\nof lines", b"b\n"], npartitions=1), self.path, replace=True) as f:
            self.assertIn("b\n", f)
            self.assertIn("a text\nof lines", f)

    def test_failed_build_leaves_the_old_file(self):
        old = self.by_tool("-n", "50k")
        self.path.write_bytes(old)
        broken = [dask.delayed(partition)(0), dask.delayed(fail)(1)]
        self.assertRaises(FileExistsError, bloomfile.dask.build, self.bag, self.path)
        for error, keys, params in (
                (KeyError, broken, {}), (KeyError, broken, {"capacity": 5}), (TypeError, KEYS, {}), (TypeError, "keys", {}), (TypeError, [], {}),
                (TypeError, dask.delayed("one key"), {}), (errors.EVALUE, self.bag, {"slices": 20, "capacity": 50000}),
                (errors.EVALUE, self.bag, {"slices": 1000}), (ValueError, self.bag, {"slices": 0}), (errors.EVALUE, self.bag, {"fpr": 2}),
                (errors.EVALUE, self.bag, {"bits": 100}), (TypeError, self.bag, {"nonsense": 1})):
            with self.subTest(params=params, error=error):
                self.assertRaises(error, bloomfile.dask.build, keys, self.path, replace=True, **params)
        self.assertEqual(self.path.read_bytes(), old)
        self.assertRaises(FileNotFoundError, bloomfile.dask.build, self.bag, self.folder / "none" / "x")
        self.assertRaises(IsADirectoryError, bloomfile.dask.build, self.bag, self.folder, replace=True)
        self.assert_only("test.bloom", "tool.bloom")

    def test_keys_lost_after_the_count_are_an_error(self):
        with unittest.mock.patch.object(bloomfile.dask, "_count", lambda digests: 30001):
            self.assertRaisesRegex(RuntimeError, "keys were counted, and the slices have another number",
                                   bloomfile.dask.build, self.bag, self.path)
        self.assert_only()

    def test_build_over_capacity_is_refused(self):
        self.build(["old"])
        old = self.path.read_bytes()
        for slices in None, 1:
            with self.assertRaisesRegex(errors.EFULL, "test.bloom: over capacity"):
                self.make(self.bag, capacity=20000, slices=slices)
            self.assertEqual(self.path.read_bytes(), old)
        self.assert_only("test.bloom")
        for slices in None, 1:
            with self.assertWarnsRegex(UserWarning, "test.bloom: 40000 keys are in a filter for 20000: its rate is 0.1.*, not 0.01$") as told:
                self.make(self.bag, capacity=20000, slices=slices, over_capacity=True)
            self.assertEqual(len(told.warnings), 1)
            self.assertEqual(told.filename, __file__)
        none = dask.bag.from_sequence([], npartitions=1)
        self.assertRaisesRegex(ValueError, r"test.bloom: the input has no keys .* would be lost", self.make, none)
        self.assertRaisesRegex(ValueError, "the input has no keys", self.make, none, slices=1)
        self.assert_only("test.bloom")
        self.make(none, allow_empty=True)
        self.make(none)
        with bloomfile.Filter(self.path) as f:
            self.assertEqual((f.info().keys, "a" in f), (0, False))

    def test_live_filter_with_a_writer_is_not_replaced(self):
        with bloomfile.LiveFilter.create(self.path, 100):
            self.assertRaisesRegex(OSError, "open for writing", self.make, dask.bag.from_sequence(["a"], npartitions=1))
            self.assert_only("test.bloom")

    def test_lookups_follow_a_replaced_file(self):
        self.build(["a"])
        bag = dask.bag.from_sequence(["a", "b"], npartitions=2)
        with dask.config.set(scheduler="sync"):
            before = bloomfile.dask.contains(bag, self.path)
            self.assertEqual(before.compute(), [True, False])
            self.build(["b"], replace=True)
            after = bloomfile.dask.contains(bag, self.path)
            self.assertEqual(after.compute(), [False, True])
            self.assertNotEqual(before.name, after.name)  # Dask must not reuse a cached result
            self.path.unlink()
            self.assertRaises(FileNotFoundError, after.compute)
            for keys in ["a"], "a", dask.delayed(["a"]):
                self.assertRaises(TypeError, bloomfile.dask.contains, keys, self.path)

    def test_lookups_are_repeated_if_the_file_is_overwritten(self):
        """In place, while the process that answers has the pages open and checked."""
        images = []
        for seed, more in (1, 0), (2, 5000):
            with bloomfile.build(self.path, KEYS[:20000 + more], capacity=40000, seed=seed, replace=True):
                images.append(self.path.read_bytes())
        many = bloomfile.Filter.contains_many
        left = []

        def overwritten_meanwhile(f, keys):
            if left:
                self.path.write_bytes(images[left.pop()])
            return many(f, keys)
        with unittest.mock.patch.object(bloomfile.dask, "Filter", type("Filter", (bloomfile.Filter,), {"contains_many": overwritten_meanwhile})):
            for count, raised in (1, False), (2, False), (5, True):
                with self.subTest(count):
                    self.path.write_bytes(images[0])
                    self.assertEqual(bloomfile.dask._ask(KEYS[:20000], self.path), [True] * 20000)  # all pages are checked
                    left[:] = [(i + 1) % 2 for i in range(count)]
                    if raised:
                        self.assertRaises(errors.ECHANGED, bloomfile.dask._ask, KEYS[:20000], self.path)
                    else:
                        self.assertEqual(bloomfile.dask._ask(KEYS[:20000], self.path), [True] * 20000)
                    left.clear()

    def test_damaged_page_answers_maybe(self):
        self.build(KEYS).close()
        image = bytearray(self.path.read_bytes())
        image[5000] ^= 255
        self.path.write_bytes(image)
        with self.assertWarnsRegex(bloomfile.DamageWarning, "test.bloom.*page 0|test.bloom.*checksum"):
            self.assertTrue(all(bloomfile.dask.contains(self.bag, self.path).compute(scheduler="sync")))

    def test_bags_work_without_pandas(self):
        code = """if True:
            import sys
            sys.modules["pandas"] = sys.modules["numpy"] = None
            import dask.bag, bloomfile.dask
            bag = dask.bag.from_sequence(["a", "b", b"c"], npartitions=2)
            with bloomfile.dask.build(bag, sys.argv[1]) as f:
                print(f.info().keys, bloomfile.dask.contains(bag, sys.argv[1]).compute(scheduler="sync"))
            """
        self.assertEqual(python(code, self.path), "3 [True, True, True]\n")


def serve(test, name, versions=True):
    """A server of the files in the folder of a test, and the URL of one of them."""
    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            self.server.fetches += 1
            super().do_GET()

        def send_header(self, keyword, value):
            if versions or keyword != "Last-Modified":
                super().send_header(keyword, value)

        def end_headers(self):
            status = os.stat(self.translate_path(self.path))
            if versions:
                self.send_header("ETag", f'"{int(status.st_mtime):x}-{status.st_size:x}"')
            super().end_headers()

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=test.folder))
    server.fetches = 0
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.enterContext(unittest.mock.patch.dict(os.environ, {"no_proxy": "*"}))
    if importlib.util.find_spec("aiohttp") is None:
        register_http()
    return server, f"http://127.0.0.1:{server.server_port}/{name}"


def register_http():
    """HTTP for fsspec, whose own needs aiohttp. It reports as much as that of 2022."""
    import fsspec

    class Http(fsspec.AbstractFileSystem):
        protocol = "http"

        @classmethod
        def _strip_protocol(cls, path):
            return path

        def ukey(self, path):
            return path

        def info(self, path, **_):
            with urllib.request.urlopen(urllib.request.Request(path, method="HEAD")) as answer:
                return {"name": path, "size": int(answer.headers["Content-Length"]), "ETag": answer.headers["ETag"]}

        def get_file(self, path, copy, **_):
            urllib.request.urlretrieve(path, copy)
    fsspec.register_implementation("http", Http, clobber=True)


@unittest.skipUnless(HERE, "without dask")
@unittest.skipIf(REPEATED, "it was run in another build")
class Urls(DaskCase):
    """Builds in fsspec's memory storage, which is not a file system."""

    def setUp(self):
        super().setUp()
        import fsspec
        self.storage = fsspec.filesystem("memory")
        self.addCleanup(self.storage.store.clear)
        self.addCleanup(self.storage.pseudo_dirs.clear)
        self.bag = dask.bag.from_delayed([dask.delayed(partition)(i) for i in range(6)])
        self.enterContext(dask.config.set(scheduler="sync"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)  # a URL used as a path would make a folder here
        self.url = "memory://shared/urls.bloom"

    def contents(self):
        return {name: self.storage.cat_file(name) for name in self.storage.store}

    def test_build_at_a_url_equals_a_local_build(self):
        with bloomfile.build(self.path, KEYS) as one:
            sealed = pathlib.Path(one.path).read_bytes()
        self.path.unlink()
        for slices in None, 1, 5:
            with bloomfile.dask.build(self.bag, self.url, replace=True, slices=slices) as f:
                self.assertEqual((f.info().keys, "key 5" in f, "none" in f), (DIFFERENT, True, False))
            self.assertEqual(self.contents(), {"/shared/urls.bloom": sealed})
            self.assertTrue(all(bloomfile.dask.contains(self.bag, self.url).compute()))
        with bloomfile.dask.build(self.bag, f"file://{self.folder}/local.bloom") as f:
            self.assertEqual((self.folder / "local.bloom").read_bytes(), sealed)
        self.assertTrue(all(bloomfile.dask.contains(self.bag, f"file://{self.folder}/local.bloom").compute()))
        self.assert_only("local.bloom")

    def test_failed_build_leaves_the_old_object(self):
        bloomfile.dask.build(self.bag, self.url).close()
        old = self.contents()
        none = dask.bag.from_sequence([], npartitions=1)
        broken = [dask.delayed(partition)(0), dask.delayed(fail)(1)]
        for error, keys, params in ((FileExistsError, self.bag, {}), (KeyError, broken, {"replace": True}),
                                    (ValueError, none, {"replace": True}), (errors.EFULL, self.bag, {"replace": True, "capacity": 9000})):
            with self.subTest(error):
                self.assertRaises(error, bloomfile.dask.build, keys, self.url, **params)
                self.assertEqual(self.contents(), old)
        self.assertRaises(FileNotFoundError, bloomfile.dask.contains(self.bag, "memory://shared/none").compute)
        self.assertRaisesRegex(ValueError, "names no file", bloomfile.dask.build, self.bag, "memory://shared/")
        self.assert_only()

    def test_lookups_follow_a_replaced_object(self):
        keys = dask.bag.from_sequence(["a", "b"], npartitions=2)
        for key, expected in ("a", [True, False]), ("b", [False, True]):
            bloomfile.dask.build(dask.bag.from_sequence([key], npartitions=1), self.url, replace=True).close()
            self.assertEqual(bloomfile.dask.contains(keys, self.url).compute(), expected)

    def test_lookups_follow_a_file_that_changes_within_a_second_of_its_http_server(self):
        """The server has ETags of size and whole seconds, as nginx, and its clock is an hour behind."""
        keys = dask.bag.from_sequence(["a", "b"], npartitions=1)
        server, url = serve(self, "a.bloom")
        then = int(time.time()) - 3600

        def put(key, time_):
            self.build([key], path=self.folder / "a.bloom", replace=True).close()
            os.utime("a.bloom", (time_, time_))

        def fetches():
            before = server.fetches
            return bloomfile.dask.contains(keys, url).compute(), server.fetches - before
        for key, found in ("a", [True, False]), ("b", [False, True]), ("a", [True, False]):
            put(key, then)
            self.assertEqual(fetches(), (found, 1))
        time.sleep(bloomfile.dask._TICK + 0.1)
        self.assertEqual(fetches()[0], [True, False])
        self.assertEqual(fetches(), ([True, False], 0))
        for key, found in ("b", [False, True]), ("a", [True, False]):
            put(key, then + 10)
            self.assertEqual(fetches(), (found, 1))

    def test_file_is_fetched_for_each_partition_if_its_server_reports_no_version(self):
        keys = dask.bag.from_sequence(["a", "b"], npartitions=2)
        server, url = serve(self, "a.bloom", versions=False)
        with unittest.mock.patch.object(bloomfile.dask, "_TICK", -1):
            for key, found in ("a", [True, False]), ("b", [False, True]):
                self.build([key], path=self.folder / "a.bloom", replace=True).close()
                self.assertEqual(bloomfile.dask.contains(keys, url).compute(), found)
        self.assertEqual(server.fetches, 4)

    def test_times_of_ftp_listings_are_not_used_as_versions(self):
        """They have minutes."""
        for modify, known in ("20261201102000", True), ("20261201102000.123", True), ("Dec 1 10:20", False), ("Dec 1 2025", False):
            with unittest.mock.patch.object(type(self.storage), "info", lambda *_: {"name": "/a", "size": 1, "modify": modify}):
                self.assertEqual(bloomfile.dask.version("memory://a") is not None, known, modify)

    def test_url_without_fsspec_names_the_package(self):
        with unittest.mock.patch.dict(sys.modules, {"fsspec.core": None}):
            for call in (bloomfile.dask.build, self.bag, self.url), (bloomfile.dask.contains, self.bag, self.url):
                with self.assertRaisesRegex(ImportError, r"memory://shared/urls.bloom is a URL, and without fsspec .*pip install fsspec"):
                    call[0](*call[1:])
        self.assertRaises((ValueError, ImportError), bloomfile.dask.build, self.bag, "no-such-storage://bucket/x")
        self.assert_only()


@unittest.skipUnless(PANDAS, "without dask and pandas")
@unittest.skipIf(REPEATED, "it was run in another build")
class Columns(DaskCase):
    def setUp(self):
        super().setUp()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import dask.dataframe
            import numpy
            import pandas
        self.pandas, self.numpy = pandas, numpy
        frame = pandas.DataFrame({"url": KEYS, "id": range(60000), "null": [None, *KEYS[1:]]})
        frame["whole"] = pandas.array([None, *range(1, 60000)], dtype="Int64")
        frame["small"] = (frame["id"] % 100).astype("int16")
        frame["kind"] = frame["url"].astype("category")
        frame["text"] = frame["null"].astype("string")
        self.frame = dask.dataframe.from_pandas(frame, npartitions=5)
        self.enterContext(dask.config.set(scheduler="sync"))

    def test_columns_of_frames_are_built_and_looked_up(self):
        expected = self.by_tool()
        for keys, column in (self.frame, "url"), (self.frame.url, None), (self.frame, "kind"):
            self.make(keys, column=column)
            self.assertEqual(self.path.read_bytes(), expected)
        self.assertEqual([self.make(self.frame, column=name).keys for name in ("id", "null", "whole", "small", "text")],
                         [60000, DIFFERENT, 59999, 100, DIFFERENT])
        rows = self.pandas.DataFrame(self.numpy.arange(20).reshape(10, 2), columns=["even", "odd"])  # a column lies in strides
        self.assertEqual(self.make([dask.delayed(rows.odd), dask.delayed(rows.odd.to_numpy())]).keys, 10)
        for error, keys in (TypeError, self.frame), (TypeError, self.frame.id / 2), (TypeError, self.frame.id > 2):
            self.assertRaises(error, self.make, keys)
            self.assertRaises(error, lambda keys: bloomfile.dask.contains(keys, self.path).compute(), keys)

    def test_integers_are_the_same_keys_in_all_sizes(self):
        self.make(dask.bag.from_sequence(range(1, 100), npartitions=2))
        for name in "id", "whole", "small":
            answers = bloomfile.dask.contains(self.frame[name], self.path).compute()
            self.assertEqual(answers.dtype, "boolean")
            self.assertEqual((answers.name, answers.index.tolist()), (name, list(range(60000))))
            self.assertTrue(answers[1:100].all())
            self.assertEqual(answers.isna().tolist(), [name == "whole"] + [False] * 59999)
            if name != "small":
                self.assertLess(answers[100:].sum(), 900)

    def test_readme_examples_run(self):
        """The examples of the README run."""
        text = (pathlib.Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8").partition("\n## Dask\n")[2]
        first, second = re.findall(r"^```python\n(.*?)^```$", text.partition("\n## ")[0], re.M | re.S)
        self.assertLessEqual(len(first.splitlines()), 4)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for name, keys in ("urls-1.txt", "ab"), ("urls-2.txt", "bc"), ("others.txt", "adae"):
            pathlib.Path(name).write_text("".join(f"http://{key}\n" for key in keys), encoding="ascii")
        names = {"frame": self.frame}
        exec(first + second, names)
        self.assertEqual(names["new"].compute(), ["http://d", "http://e"])
        self.assertEqual(len(names["unknown"]), 0)
        self.assertIn("http://c", bloomfile.Filter("urls.bloom"))

    def test_answers_select_rows(self):
        self.make(dask.bag.from_sequence(KEYS[:100], npartitions=2), fpr=1e-9)
        for name in "url", "kind", "text":
            known = bloomfile.dask.contains(self.frame[name], self.path)
            self.assertEqual(self.frame[known].compute().id.tolist(),
                             [*range(1 if name == "text" else 0, 100), *range(40000, 40100)])


@unittest.skipUnless(CLUSTERS, "needs dask.distributed (Debian: python3-distributed)")
@unittest.skipUnless(os.environ.get("TESTS") == "whole", "clusters run in scripts/nightly")
@unittest.skipIf(REPEATED, "it was run in another build")
class Cluster(DaskCase):
    """Builds by two worker processes."""

    @classmethod
    def setUpClass(cls):
        options, sys.warnoptions[:] = sys.warnoptions[:], []  # workers get them, and their Dask is older than their Python
        cls.addClassCleanup(sys.warnoptions.extend, options)
        cls.enterClassContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def setUp(self):
        """Each test has its own workers: Dask may take long to restart a worker."""
        super().setUp()
        import distributed
        cluster = self.enterContext(distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL, local_directory=IN_MEMORY))
        self.client = self.enterContext(distributed.Client(cluster))
        self.parts = [dask.delayed(partition)(i) for i in range(6)]

    def check_killed(self, parts, expected, **params):
        """The keys kill one worker, and the build succeeds."""
        self.make(parts, slices=4, **params)
        self.assertEqual(self.path.read_bytes(), expected)
        (self.folder / "marker").unlink()
        self.assert_only("test.bloom", "tool.bloom")

    def test_worker_killed_while_reading_is_replaced(self):
        expected = self.by_tool()
        marker = str(self.folder / "marker")
        self.check_killed([dask.delayed(partition_of_the_doomed)(marker, i) for i in range(6)], expected)

    def test_worker_killed_after_its_slice_is_replaced(self):
        expected = self.by_tool("-n", "50k")
        self.client.run(doom, str(self.folder / "marker"))
        self.check_killed(self.parts, expected, capacity=50000)

    def test_failures_are_raised_and_answers_returned_by_workers(self):
        self.check_failures()
        self.client.run(spare)
        self.check_answers()
        self.check_storage_that_is_not_shared()

    def check_failures(self):
        old = self.by_tool("-n", "50k")
        self.path.write_bytes(old)
        self.assertRaisesRegex(KeyError, "the source has failed: 3", self.make, [*self.parts, dask.delayed(fail)(3)])
        self.client.run(doom_all)
        self.assertRaisesRegex(OSError, "the disk is full", self.make, self.parts, capacity=50000, slices=4)
        self.assertEqual(self.path.read_bytes(), old)
        self.assert_only("test.bloom", "tool.bloom")

    def check_storage_that_is_not_shared(self):
        """Only the client sees the folder."""
        self.client.run(blind, str(self.folder))
        self.assertRaisesRegex(FileNotFoundError, "storage that all workers share.*test.bloom", self.make, self.parts, slices=2)
        self.assert_only("test.bloom", "tool.bloom")

    def check_answers(self):
        self.make(self.parts)
        keys = dask.bag.from_delayed([*self.parts, dask.delayed(["not there"])])
        self.assertEqual(bloomfile.dask.contains(keys, self.path).compute(), [True] * len(KEYS) + [False])
        image = bytearray(self.path.read_bytes())
        image[5000] ^= 255
        self.path.write_bytes(image)
        self.client.run(warnings.simplefilter, "ignore")  # warnings printed by the workers
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertTrue(all(bloomfile.dask.contains(dask.bag.from_delayed(self.parts), self.path).compute()))
            deadline = time.monotonic() + 20
            while not caught and time.monotonic() < deadline:  # they come by another way than results
                time.sleep(0.01)
        self.assertIn(bloomfile.DamageWarning, [warning.category for warning in caught])


if __name__ == "__main__":
    sys.exit(unittest.main())
