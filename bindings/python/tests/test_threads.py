# SPDX-License-Identifier: MIT
"""Threads that share a filter, signals, and the GIL."""

import os
import signal
import sys
import threading
import time
import unittest

import bloomfile
from bloomfile import errors

from support import Case, python, until_read

KEYS = [f"key {i}" for i in range(2000)]


def together(*functions):
    """Runs each function in a thread, concurrently. Returns their results or exceptions."""
    results = [None] * len(functions)
    barrier = threading.Barrier(len(functions))

    def run(i):
        barrier.wait()
        try:
            results[i] = functions[i]()
        except Exception as e:
            results[i] = e
    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Sharing(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-5)

    def test_close_during_lookups_raises_or_answers(self):
        digests = bloomfile.hash_many(KEYS * 100)
        for turn in range(10):
            with self.subTest(turn):
                f = self.build(KEYS, 0.01, replace=True)

                def ask():
                    while True:
                        if sum(f.contains_digests(digests)) != len(digests) // 8:
                            return "a key was lost"

                def ask_one_by_one():
                    while True:
                        for key in KEYS:
                            if key not in f:
                                return "a key was lost"

                def ask_lists():
                    while True:
                        if sum(f.contains_many(KEYS)) != len(KEYS):
                            return "a key was lost"

                def close():
                    time.sleep(turn / 500)
                    f.close()
                *others, closed = together(ask, ask, ask_lists, ask_one_by_one, f.verify, close)
                self.assertIsNone(closed)
                self.assertEqual({type(other) for other in others} - {type(None)}, {ValueError})
                self.assertTrue(f.closed)

    def test_seal_during_adds_loses_no_key(self):  # L14
        for turn in range(5):
            f = self.live(100_000, replace=True)
            added = []

            def add():
                for i in range(100_000):
                    keys = [f"{threading.get_ident()} {i} {j}" for j in range(20)]
                    f.add_many(keys)
                    added.extend(keys)

            def seal():
                while not added:
                    time.sleep(0.001)
                f.seal()
            *adders, sealer = together(add, add, seal)
            self.assertIsNone(sealer)
            for adder in adders:
                self.assertIsInstance(adder, (errors.ESEALED, errors.EREADONLY))
            self.assertGreater(len(added), 0)
            self.assertEqual(sum(f.contains_many(added)), len(added))
            f.verify()
            f.close()

    def test_each_key_is_new_to_exactly_one_thread(self):
        f = self.live(100_000, exact=True)

        def add():
            return sum(f.add(key) for key in KEYS)

        def add_many():
            return sum(f.add_many(KEYS))
        told = sum(together(add, add_many, add, add_many))
        self.assertLessEqual(told, 2000)
        self.assertGreaterEqual(told, 1990)
        self.assertEqual(told, f.info().keys)

    def test_series_grown_by_threads_keeps_all_keys(self):
        f = self.live(100, 0.01, grow=True)
        together(*[lambda i=i: [f.add(key) for key in KEYS[i::4]] for i in range(4)])
        self.assertEqual(f.contains_many(KEYS), b"\1" * len(KEYS))

    def test_builder_shared_by_threads_keeps_all_keys(self):
        for threads in 1, 4:
            b = bloomfile.Builder(1e-9, threads=threads, memory=1 << 20)
            parts = [[f"{i} {j}" for j in range(30_000)] for i in range(4)]
            results = together(*[lambda part=part: b.add_many(part) for part in parts],
                               lambda: [b.add(key) for key in KEYS], b.count, b.count)
            self.assertEqual([r for r in results if isinstance(r, Exception)], [])
            self.assertEqual(b.count(), 122_000)
            f = bloomfile.Filter.from_bytes(b.to_bytes())
            for part in parts:
                self.assertEqual(sum(f.contains_many(part)), 30_000)
            b.close()

    def test_finish_during_adds_keeps_every_reported_key(self):
        """Finishing during a batch is an error, and a later batch waits."""
        for threads in 1, 4:
            b = bloomfile.Builder(1e-6, threads=threads)
            added, finished = [], threading.Event()

            def add(name):
                for i in range(100_000):
                    if finished.is_set():
                        break
                    keys = [f"{name} {i} {j}" for j in range(20)]
                    b.add_many(keys)
                    added.extend(keys)

            def finish():
                refused = 0
                while refused < 100:
                    before = list(added)
                    try:
                        image = b.to_bytes()
                    except RuntimeError:
                        refused += 1
                        continue
                    f = bloomfile.Filter.from_bytes(image)
                    if sum(f.contains_many(before)) != len(before):
                        return "a key was lost"
                finished.set()
            self.assertEqual(together(lambda: add("a"), lambda: add("b"), finish), [None] * 3)
            b.close()

    def test_a_builder_does_not_finish_during_a_batch(self):
        """It fails from another thread and from the iterator of the keys."""
        for threads in 1, 4:
            b = bloomfile.Builder(threads=threads)
            inside, go = threading.Event(), threading.Event()

            def keys():
                yield from KEYS
                for finish in lambda: b.finish(self.path), b.to_bytes:
                    self.assertRaisesRegex(RuntimeError, "a batch is being added", finish)
                inside.set()
                go.wait()
                yield "the last"
            adder = threading.Thread(target=b.add_many, args=(keys(),))
            adder.start()
            inside.wait()
            for finish in lambda: b.finish(self.path), b.to_bytes:
                self.assertRaisesRegex(RuntimeError, "a batch is being added", finish)
            self.assertFalse(self.path.exists())
            go.set()
            adder.join()
            self.assertEqual(sum(bloomfile.Filter.from_bytes(b.to_bytes()).contains_many([*KEYS, "the last"])), 2001)
            b.close()

    def test_merge_while_sources_are_closed_succeeds_or_raises(self):
        for turn in range(5):
            path = self.folder / "merged"
            a, b = (self.build(KEYS, path=self.folder / name, capacity=100_000, replace=True) for name in "ab")
            merged, other, *closed = together(
                lambda: bloomfile.merge(path, [a, b], replace=True), lambda: bloomfile.merge(path, [b, a], replace=True),
                a.close, b.close)
            self.assertEqual(closed, [None, None])
            for result in merged, other:
                # EREPLACED: the other merge replaced the file first
                self.assertIn(type(result), {type(None), ValueError, bloomfile.errors.EREPLACED})


class Turns(Case):
    """Threads that exclude each other take turns: a thread never waits for the next batch of another."""

    MANY = 20_000  # batches: a test makes so many only if a thread waits in vain

    def kinds(self):
        sole = bloomfile.Filter.memory(10**6, sole_adder=True)
        self.addCleanup(sole.close)
        return bloomfile.Builder(), sole

    def test_two_adders_take_turns(self):
        for shared in self.kinds():
            made = []

            def add(name):
                while len(made) < 2000:
                    shared.add_many(KEYS)
                    made.append(name)
            together(lambda: add("a"), lambda: add("b"))
            self.assertGreater(min(made.count("a"), made.count("b")), 200)

    def test_count_and_single_adds_wait_for_an_adder(self):
        b = bloomfile.Builder()
        digests = bytes(8) * 100_000
        for work in b.count, lambda: b.add("key"), lambda: b.set_tag(b"tag"):
            begun, done = threading.Event(), threading.Event()

            def add():
                for made in range(2000):
                    b.add_digests(digests)
                    begun.set()
                    if done.is_set():
                        return made

            def wait():
                begun.wait()
                for _ in range(100):
                    work()
                done.set()
            self.assertIsNotNone(together(add, wait)[0])

    def test_closing_ends_adds(self):
        for shared in self.kinds():
            begun = threading.Event()

            def add():
                for _ in range(self.MANY):
                    shared.add_many(KEYS)
                    begun.set()

            def close():
                begun.wait()
                shared.close()
            added, closed = together(add, close)
            self.assertIsInstance(added, ValueError)
            self.assertIsNone(closed)

    def test_handler_of_a_waiting_thread_never_deadlocks(self):
        digests = bytes(8) * 1_000_000
        for work in "count", "add_digests", "set_tag", "close":
            b = bloomfile.Builder()
            calls = {"count": b.count, "add_digests": lambda: b.add_digests(digests[:8]), "set_tag": lambda: b.set_tag(b"x"),
                     "close": b.close}
            seen, stop = [], threading.Event()

            def add():
                while not stop.is_set():
                    b.add_digests(digests)

            def use(number, frame):
                try:
                    seen.append(calls[work]())
                except ValueError as e:
                    seen.append(e)
                if not stop.is_set():
                    signal.setitimer(signal.ITIMER_REAL, 0.003)  # no signal arrives while one is handled
            self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, use))
            adder = threading.Thread(target=lambda: self.assertRaises(ValueError, add) if work == "close" else add())
            adder.start()
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            try:
                for _ in range(self.MANY):
                    b.count()
                    if len(seen) >= 3:
                        break
            except ValueError:
                self.assertEqual(work, "close")
            finally:
                stop.set()
                signal.setitimer(signal.ITIMER_REAL, 0)
                adder.join()
                b.close()
            self.assertGreater(len(seen), 0)


class Gil(Case):
    def turns(self, work):
        """Counts how often this thread ran while another worked."""
        span, times = [], []

        def run():
            span.append(time.perf_counter())
            work()
            span.append(time.perf_counter())
        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            time.sleep(1e-4)
            times.append(time.perf_counter())
        thread.join()
        margin = (span[1] - span[0]) / 4
        return sum(span[0] + margin < t < span[1] - margin for t in times)

    def test_other_threads_run_during_batches(self):
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1000)  # no thread must give up the GIL
        f, live = self.build(KEYS), bloomfile.Filter.memory(1000)
        for work in (f.contains_digests, live.add_digests, lambda digests: live.contains_records(digests, 8),
                     bloomfile.Builder().add_digests):
            for more in range(6):  # until it takes long enough
                digests = bytes(8 * 1_000_000 << more)
                turns = self.turns(lambda: work(digests))
                if turns > 3:
                    break
            self.assertGreater(turns, 3)

    def test_other_threads_run_while_a_call_waits_for_a_file(self):
        f = self.build(KEYS, capacity=2000)
        g = self.build(KEYS[1:], capacity=2000, path=self.folder / "new")
        bloomfile.delta(self.folder / "patch", f, g)
        reading, writing = os.pipe()
        patched = threading.Thread(target=bloomfile.patch, args=(self.folder / "made", f, reading))
        patched.start()
        os.write(writing, (self.folder / "patch").read_bytes())
        until_read(reading)
        closing = threading.Thread(target=f.close)
        closing.start()
        closing.join(0.05)
        self.assertTrue(closing.is_alive())  # the other thread still uses it
        os.close(writing)
        patched.join()
        closing.join()
        os.close(reading)
        self.assertEqual((self.folder / "made").read_bytes(), (self.folder / "new").read_bytes())

    def test_calls_that_change_the_handle_wait_for_its_users(self):
        """A patch that is read from a pipe uses the handle; seal() needs it alone, even if it fails."""
        self.build(KEYS[1:], bits=512 * 80, hashes=5, path=self.folder / "new")
        f = bloomfile.LiveFilter.create(self.path, 2000, bits=512 * 80, hashes=5)
        self.addCleanup(f.close)
        f.add_many(KEYS)
        f.seal()
        bloomfile.delta(self.folder / "patch", f, self.folder / "new")
        reading, writing = os.pipe()
        events = []

        def seal():
            with self.assertRaises(errors.ESEALED):
                f.seal()
            events.append("sealed")
        patched = threading.Thread(target=bloomfile.patch, args=(self.folder / "made", f, reading))
        sealing = threading.Thread(target=seal)
        patched.start()
        os.write(writing, (self.folder / "patch").read_bytes())
        until_read(reading)
        sealing.start()
        sealing.join(0.2)  # it waits
        events.append("written")
        os.close(writing)
        for thread in patched, sealing:
            thread.join()
        os.close(reading)
        self.assertEqual(events, ["written", "sealed"])
        self.assertEqual((self.folder / "made").read_bytes(), (self.folder / "new").read_bytes())


class Signals(Case):
    def test_ctrl_c_ends_an_endless_build(self):
        code = """if True:
            import itertools, os, signal, sys, threading, bloomfile
            def keys():
                for i in itertools.count():
                    if i == 100_000:
                        os.kill(os.getpid(), signal.SIGINT)
                    yield b"%d" % i
            try:
                bloomfile.build(sys.argv[1], keys())
            except KeyboardInterrupt:
                print("interrupted", os.listdir(os.path.dirname(sys.argv[1])))
            """
        self.assertEqual(python(code, self.path), "interrupted []\n")

    def test_a_signal_ends_a_batch_between_pieces(self):
        class Ended(Exception):
            pass

        def end(number, frame):
            raise Ended
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, end))
        f = self.build(KEYS)
        n = (1 << 22) * 3
        digests = b"12345678" * n
        self.assertEqual(f.contains_digests(digests[:8]), b"\0")
        for more in range(10):  # until it comes during the batch
            out = bytearray(n)
            with self.assertRaises(Ended):
                signal.setitimer(signal.ITIMER_REAL, 0.001 * 2**more)
                f.contains_digests(digests, out=out)
                time.sleep(10)
            if out[-1:] == b"\1":
                break
        self.assertEqual(out[-1:], b"\1")

    def test_signal_interrupts_calls_that_write_a_filter(self):
        """The signal arrives before the file has its name. The handler must not wait for the interrupted call."""
        class Ended(Exception):
            pass
        waited = []

        def end(number, frame):
            try:
                waited.append(b.count())
            except RuntimeError as e:
                waited.append(e)
            raise Ended
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, end))
        b, f = bloomfile.Builder(), self.build(KEYS, bits=1 << 24, hashes=4, path=self.folder / "source")

        def was_inside():
            return type(waited[-1]) is RuntimeError
        for work, ended in ((lambda n: b.finish(self.path), was_inside), (lambda n: b.to_bytes(), was_inside),
                            (lambda n: bloomfile.merge(self.path, [f] * (50 << n)), lambda: not self.path.exists())):
            for more in range(7):  # until it takes long enough
                b.add_digests(os.urandom(1_000_000 << more))
                with self.assertRaises(Ended):
                    signal.setitimer(signal.ITIMER_REAL, 0.002)
                    work(more)
                    time.sleep(10)
                if ended():
                    break
                self.path.unlink(missing_ok=True)
            else:
                self.fail("it was not ended")
            self.assertEqual(os.listdir(self.folder), ["source"])
        self.assertEqual(bloomfile.Filter.from_bytes(b.to_bytes()).info().keys, b.count())  # both are unchanged
        f.verify()

    def test_handler_can_use_a_filter_whose_close_waits(self):
        base, other = self.build(KEYS), self.build(KEYS[1:], path=self.folder / "other")
        reading, writing = os.pipe()
        busy = threading.Thread(target=lambda: self.assertRaises(bloomfile.Error, bloomfile.patch, self.folder / "x", base,
                                                                  reading))
        busy.start()
        os.write(writing, b"a part of a patch")
        until_read(reading)
        seen = []

        def send():
            while not base.closed:
                time.sleep(0.001)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)

        def look(number, frame):
            try:
                seen.append("key 1" in base)
            except ValueError as e:
                seen.append(e)
            os.close(writing)
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, look))
        sender = threading.Thread(target=send)
        sender.start()
        base.close()
        sender.join()
        busy.join()
        os.close(reading)
        self.assertIsInstance(seen[0], ValueError)
        self.assertTrue(base.closed)
        other.close()


if __name__ == "__main__":
    sys.exit(unittest.main())
