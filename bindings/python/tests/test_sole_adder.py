# SPDX-License-Identifier: MIT
"""memory(sole_adder=True): Python code cannot break the promise of a sole adder."""

import os
import threading
import unittest

import bloomfile

from support import Case


class SoleAdder(Case):
    def make(self, capacity=310_000, **params):
        f = bloomfile.Filter.memory(capacity, 0.001, sole_adder=True, **params)
        self.addCleanup(f.close)
        return f

    def test_sole_adder_makes_the_same_answers_and_bits(self):
        keys = [b"%d" % (i % 5000) for i in range(12000)]
        f, g = self.make(), bloomfile.Filter.memory(310_000, 0.001)
        self.assertEqual(f.add_many(keys), g.add_many(keys))
        self.assertEqual([f.add(key) for key in (b"x", b"x")], [True, False])
        g.add(b"x")
        self.assertEqual(f.to_bytes(), g.to_bytes())
        g.close()

    def test_threads_lose_nothing(self):
        """Batches run without the GIL, concurrently with each other and with single adds."""
        digests = [bloomfile.hash_many(b"%d %d" % (part, i) for i in range(150_000)) for part in range(2)]
        singles = [b"%d" % i for i in range(3000)]
        for params in {}, {}, {}, {"capacity": 10_000, "grow": True}:
            f = self.make(**params)
            barrier = threading.Barrier(3)

            def run(function, *arguments):
                barrier.wait()
                for argument in arguments:
                    function(argument)

            threads = [threading.Thread(target=run, args=(f.add_digests, part)) for part in digests]
            threads.append(threading.Thread(target=run, args=(f.add, *singles)))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for part in digests:
                self.assertTrue(all(f.contains_digests(part)))
            self.assertTrue(all(f.contains_many(singles)))

    def test_child_of_a_sole_adder_can_look_up_but_not_add(self):
        f = self.make(1000)
        f.add("a")
        child = os.fork()
        if child == 0:
            refused = 0
            for use in (lambda: f.add("b"), lambda: f.add_many(["b"]), lambda: f.add_digest(1),
                        lambda: f.add_records(b"bb", 1)):
                try:
                    use()
                except ValueError as error:
                    refused += "only the process that created it can add" in str(error)
            os._exit(0 if refused == 4 and "a" in f and "b" not in f else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(f.add("b"))

    def adding(self, f):
        """A thread that only adds until it is stopped."""
        digests, stop = bloomfile.hash_many(b"%d" % i for i in range(300_000)), threading.Event()

        def add():
            while not stop.is_set():
                f.add_digests(digests)
        thread = threading.Thread(target=add)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)

    def test_lookups_do_not_wait_for_adds(self):
        f = self.make()
        f.add("a")
        batches, lookups = [], []

        def add():
            while len(batches) < 200:
                f.add_many(["a"] * 30_000)
                batches.append(1)

        def look_up():
            while len(batches) < 200:
                self.assertEqual(("a" in f, f.contains_many(["a"])), (True, b"\1"))
                lookups.append(1)
        threads = [threading.Thread(target=target) for target in (add, look_up)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertGreater(len(lookups), 200)

    def test_children_forked_during_an_add_look_up(self):
        f = self.make()
        f.add("a")
        self.adding(f)
        for _ in range(20):
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if "a" in f and f.contains_many(["a"]) == b"\1" and f.info().keys >= 0 else 1)
                except BaseException:
                    os._exit(2)
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_sole_adder_of_a_file_is_refused(self):
        self.assertRaises(TypeError, bloomfile.LiveFilter.create, self.path, 10, sole_adder=True)


if __name__ == "__main__":
    unittest.main()
