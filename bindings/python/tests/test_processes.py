# SPDX-License-Identifier: MIT
"""Children by fork and by spawn, and interpreters in one process."""

import multiprocessing
import os
import pathlib
import signal
import sys
import sysconfig
import threading
import time
import unittest

import bloomfile

from support import SANITIZED, Case, python, until_read

KEYS = [f"key {i}" for i in range(2000)]


def ask(arguments):
    f, keys = arguments
    return sum(f.contains_many(keys))


def add(arguments):
    f, keys = arguments
    with f:
        return sum(f.add_many(keys))


def fail(path):
    bloomfile.Filter(path)


def in_child(work):
    """Runs work in a child of fork; returns its exit status: 0 if nothing was raised."""
    pid = os.fork()
    if pid == 0:
        status = 1
        signal.alarm(60)  # ends a child that hangs
        try:
            work()
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Alone(Case):
    def setUp(self):
        """A joined thread may yet be leaving, with a lock of a sanitizer's malloc() that a child of fork then never gets. Threads of
        other libraries, such as polars', never leave."""
        super().setUp()
        threads = pathlib.Path("/proc/self/task")
        while SANITIZED and threads.exists() and len(os.listdir(threads)) > threading.active_count():
            time.sleep(0.001)


class Pools(Alone):
    def test_filters_are_passed_to_workers(self):
        f = self.build(KEYS)
        for method in "fork", "spawn":
            with self.subTest(method), multiprocessing.get_context(method).Pool(2) as pool:
                self.assertEqual(pool.map(ask, [(f, KEYS), (f, KEYS[:10])]), [2000, 10])

    def test_writers_are_passed_to_workers(self):
        f = self.live(100_000, exact=True)
        for i, method in enumerate(("fork", "spawn")):
            keys = [f"{method} {key}" for key in KEYS]
            with self.subTest(method), multiprocessing.get_context(method).Pool(2) as pool:
                told = sum(pool.map(add, [(f, keys), (f, keys[:1500]), (f, keys[500:])], chunksize=1))
                self.assertLessEqual(told, 2000)
                self.assertGreater(told, 1980)
                self.assertEqual(sum(f.contains_many(keys)), 2000)
        self.assertGreater(f.info().keys, 3960)

    def test_exceptions_of_workers_are_raised(self):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.path.write_bytes(b"nothing of the kind" * 1000)
            with self.assertRaises(bloomfile.errors.EMAGIC) as raised:
                pool.apply(fail, [self.path])
            self.assertEqual(raised.exception.path, str(self.path))


class Fork(Alone):
    def test_child_can_look_up(self):
        f = self.build(KEYS)

        def work():
            assert sum(f.contains_many(KEYS)) == 2000 and "key 7" in f
            f.close()
        self.assertEqual(in_child(work), 0)
        self.assertEqual(sum(f.contains_many(KEYS)), 2000)

    def test_child_can_add_to_an_inherited_filter(self):
        f = self.live()
        f.add("parent")

        def work():
            assert "parent" in f
            assert f.add("child") and not f.add("parent")
            f.sync()
            f.close()
        self.assertEqual(in_child(work), 0)
        self.assertIn("child", f)
        f.add("parent again")
        f.close()
        with bloomfile.LiveFilter(f.path) as g:
            self.assertEqual(g.add_many(["parent", "child", "parent again", "neither"]), b"\0\0\0\1")

    def test_child_can_add_to_a_filter_in_memory(self):
        f = bloomfile.Filter.memory(1000)
        self.assertEqual(in_child(lambda: f.add("child")), 0)
        self.assertIn("child", f)

    def test_child_of_a_multithreaded_process_can_look_up(self):
        f = self.build(KEYS)
        g = self.build(KEYS[1:], path=self.folder / "other")
        bloomfile.delta(self.folder / "patch", f, f)
        reading, writing = os.pipe()
        thread = threading.Thread(target=bloomfile.patch, args=(self.folder / "made", f, reading))
        thread.start()
        patch = (self.folder / "patch").read_bytes()
        os.write(writing, patch[:50])
        until_read(reading)  # it has f without the GIL, and waits

        def work():
            assert sum(f.contains_many(KEYS)) == 2000
            f.close()
            assert f.closed
            g.close()
        try:
            self.assertEqual(in_child(work), 0)
        finally:
            os.write(writing, patch[50:])
            os.close(writing)
            thread.join()
            os.close(reading)
        self.assertEqual(sum(f.contains_many(KEYS)), 2000)

    def test_a_builder_stays_with_its_process(self):
        b = bloomfile.Builder(memory=1 << 20, spool=self.folder)
        b.add_many(map(str, range(200_000)))

        def work():
            for use in (lambda: b.add("x"), lambda: b.add_many(KEYS), b.count, b.to_bytes, lambda: b.finish(self.path),
                        b.__enter__, lambda: b.set_tag(b"")):
                try:
                    use()
                except ValueError as e:
                    assert "process" in str(e)
                else:
                    raise AssertionError(use)
            b.close()
            b.__init__  # a builder of its own is its own
            assert bloomfile.Builder().count() == 0
        self.assertEqual(in_child(work), 0)
        self.assertEqual(b.count(), 200_000)
        b.finish(self.path)
        with bloomfile.Filter(self.path) as f:
            self.assertEqual(sum(f.contains_many(map(str, range(200_000)))), 200_000)
        b.close()

    def test_child_forked_during_a_batch_cannot_continue_it(self):
        b, f = bloomfile.Builder(memory=1 << 20), bloomfile.Filter.memory(100_000, sole_adder=True)
        for adder in b.add_many, f.add_many:
            home, children = os.getpid(), []

            def keys():
                yield from KEYS
                children.append(os.fork())  # both processes end the batch
            try:
                adder(keys())
                refused = False
            except ValueError:
                refused = True
            if os.getpid() != home:
                os._exit(0 if refused else 1)
            self.assertFalse(refused)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]), 0)
        self.assertEqual(b.count(), 2000)
        self.assertEqual(sum(f.contains_many(KEYS)), 2000)
        b.close()

    def test_child_forked_in_a_handler_can_close(self):
        f, home, children = self.live(20_000_000), os.getpid(), []

        def handler(*_):
            if not children:
                children.append(os.fork())
                if children[0] == 0:
                    signal.alarm(60)  # ends a child that hangs
                    f.contains("x")
                    f.contains_many(["x", "y"])

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, handler))
        while not children:
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            try:
                f.to_bytes()
            except BaseException:
                if os.getpid() == home:
                    raise
        if os.getpid() != home:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            f.close()
            os._exit(0)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]), 0)
        f.close()

    def test_keys_of_a_killed_writer_stay(self):
        f = self.live()

        def work():
            f.add_many(KEYS)
            os.kill(os.getpid(), 9)
        self.assertEqual(in_child(work), -9)
        self.assertEqual(sum(f.contains_many(KEYS)), 2000)


class Interpreters(Case):
    def test_module_works_in_interpreters_with_their_own_gil(self):
        self.build(KEYS).close()
        code = """if True:
            import sys
            if sys.version_info >= (3, 13):
                import _interpreters as interpreters
                run, how = interpreters.exec, ["isolated"]
            else:
                import _xxsubinterpreters as interpreters
                run, how = interpreters.run_string, []  # from 3.12 on isolated
            import bloomfile
            f = bloomfile.Filter(sys.argv[1])
            for i in range(3):
                child = interpreters.create(*how)
                failed = run(child, f'''if True:
                    import sys
                    sys.path[:] = {sys.path!r}
                    import bloomfile
                    f = bloomfile.Filter({sys.argv[1]!r})
                    assert "key 5" in f and sum(f.contains_many(["key 1", "none of them"])) == 1
                    try:
                        bloomfile.Filter("/dev/null")
                    except bloomfile.Error as e:
                        assert type(e).__module__ == "bloomfile.errors"
                    ''')
                assert failed is None, failed
                interpreters.destroy(child)
                assert "key 5" in f
            print("good")
            """
        self.assertEqual(python(code, self.path), "good\n")

    @unittest.skipUnless(sysconfig.get_config_var("Py_GIL_DISABLED"), "this Python cannot be without a GIL")
    def test_import_without_a_gil_is_refused(self):
        code = """if True:
            try:
                import bloomfile
            except ImportError as e:
                print(e)
            """
        self.assertIn("needs the GIL", python(code, options=["-X", "gil=0"]))

    def test_module_can_be_imported_again(self):
        code = """if True:
            import gc, sys, bloomfile
            first = bloomfile
            for name in [name for name in sys.modules if name.split(".")[0] == "bloomfile"]:
                del sys.modules[name]
            import bloomfile
            f = first.Filter(sys.argv[1])
            assert "key 5" in f and first.Filter is not bloomfile.Filter
            try:
                bloomfile.merge("x", [f])
            except TypeError:
                print("good")
            del first, f
            gc.collect()
            """
        self.build(KEYS).close()
        self.assertEqual(python(code, self.path), "good\n")

    def test_writer_open_at_exit_leaves_cleanly(self):
        code = """if True:
            import sys, bloomfile
            f = bloomfile.LiveFilter(sys.argv[1])
            f.add("last words")
            """
        self.live().close()
        python(code, self.folder / "live.bloom")
        with bloomfile.LiveFilter(self.folder / "live.bloom") as f:
            self.assertIn("last words", f)
            self.assertEqual(f.info().writers, 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
