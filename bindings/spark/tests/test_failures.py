# SPDX-License-Identifier: MIT
"""Failures during a build, each repeated ROUNDS times: the filter is correct, or no file appears."""

import glob
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest

from pyspark.sql import functions

from bloomfile.spark import Error, build
from support import ROUNDS, Cluster, SparkTest, read, reference, start, urls

N = 300_000


def processes(program):
    """Running processes of a Java program, and their parents: {process: parent}."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if program.encode() in read(path):
                process = int(path.split("/")[2])
                with open(f"/proc/{process}/stat") as stat:
                    found[process] = int(stat.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    return found


def executors(driver):
    """The executors of the cluster that a driver's JVM has started."""
    return [process for process, parent in processes("CoarseGrainedExecutorBackend").items() if parent == driver]


class Failures(SparkTest):
    slices = 4

    def setUp(self):
        super().setUp()
        self.wanted = reference(os.path.join(self.folder, "wanted"), range(N), "-n", str(N))
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state)

    def old(self):
        """Puts another filter where the new one is to be. Returns its bytes."""
        return reference(self.path, range(9))

    def only_that(self, content):
        self.assertEqual(read(self.path), content)
        self.only("urls.bloom", "wanted", "state")

    def plan(self, plan):
        """Plans faults. Returns the path to make."""
        for name in os.listdir(self.state):
            os.remove(os.path.join(self.state, name))
        conf = self.spark.sparkContext._jsc.hadoopConfiguration()
        conf.set("faulty.plan", plan)
        conf.set("faulty.state", self.state)
        return "faulty://" + self.path

    def make(self, path, keys=None):
        return build(urls(self.spark, 0, N) if keys is None else keys, "url", path, capacity=N, slices=self.slices, replace=True,
                     key_kind="text")


class Tasks(Failures):
    def test_failed_map_task_is_repeated(self):
        def once(url):
            from pyspark import TaskContext
            context = TaskContext.get()
            if context.partitionId() == 2 and context.attemptNumber() == 0 and url.endswith("7"):
                raise RuntimeError("planned")
            return url
        for _ in range(ROUNDS):
            self.old()
            keys = urls(self.spark, 0, N).select(functions.udf(once)("url").alias("url"))
            self.make(self.path, keys)
            self.only_that(self.wanted)

    def test_failed_write_of_a_slice_is_repeated(self):
        for round_ in range(ROUNDS):
            self.old()
            self.make(self.plan(f"once=slice-{round_ % self.slices}-"))
            self.assertEqual(os.listdir(self.state), ["once"])
            self.only_that(self.wanted)

    def test_damaged_slice_fails_the_build_and_keeps_the_old_file(self):
        for round_ in range(ROUNDS):
            old = self.old()
            for fault, error in ("flip", "BLOOMFILE_EPAGE"), ("cut", "BLOOMFILE_ETRUNCATED"):
                with self.assertRaisesRegex(Error, f"slice-{round_ % self.slices}-.*{error}"):
                    self.make(self.plan(f"{fault}=slice-{round_ % self.slices}-"))
                self.only_that(old)

    def test_full_storage_keeps_the_old_file(self):
        for _ in range(ROUNDS):
            old = self.old()
            for what in "slice-1-", "whole":
                with self.assertRaisesRegex(Error, "No space left on device"):
                    self.make(self.plan("full=" + what))
                self.only_that(old)

    def test_faults_of_an_object_store_keep_the_old_object(self):
        for _ in range(ROUNDS):
            old = self.old()
            with self.assertRaisesRegex(Error, "No space left on device"):
                self.make(self.plan("store full=urls.bloom"))
            self.only_that(old)
            with self.assertRaisesRegex(Error, "BLOOMFILE_EPAGE"):
                self.make(self.plan("store flip=slice-2-"))
            self.only_that(old)
            self.make(self.plan("store once=slice-0-"))
            self.only_that(self.wanted)


class Killed(Failures):
    options = {"spark__task__maxFailures": "40", "spark__stage__maxConsecutiveAttempts": "40"}

    def test_killed_executor_does_not_fail_the_build(self):
        """At any moment of a build, which takes some seconds here since its keys come slowly."""
        driver = self.spark._jvm.java.lang.ProcessHandle.current().pid()

        def slowly(url):
            import time
            if url.endswith("000"):
                time.sleep(0.01)
            return url
        self.make(self.path)
        for round_ in range(ROUNDS):
            self.old()
            killed = []

            def kill():
                time.sleep(random.uniform(0, 3))
                killed.extend(random.choices(executors(driver)))
                os.kill(killed[0], signal.SIGKILL)
            killer = threading.Thread(target=kill)
            killer.start()
            self.make(self.path, urls(self.spark, 0, N).select(functions.udf(slowly)("url").alias("url")))
            killer.join()
            self.assertEqual(len(killed), 1)
            self.only_that(self.wanted)
            while len(executors(driver)) < 2:
                time.sleep(0.1)


class Speculation(Failures):
    """On a cluster with one host per worker: Spark never runs two copies of a task on the same host."""

    options = {"spark__speculation": "true", "spark__speculation__interval": "100ms", "spark__speculation__quantile": "0.5",
               "spark__speculation__multiplier": "1.2", "spark__speculation__minTaskRuntime": "100ms"}

    @classmethod
    def setUpClass(cls):
        cluster = Cluster(workers=2)
        cls.addClassCleanup(cluster.close)
        cls.master = cluster.url
        super().setUpClass()

    def test_slow_task_is_overtaken_by_its_copy(self):
        for round_ in range(ROUNDS):
            self.old()
            begun = time.monotonic()
            self.make(self.plan(f"slow=slice-{round_ % self.slices}-"))
            self.assertEqual(os.listdir(self.state), ["slow"])
            self.assertLess(time.monotonic() - begun, 55)
            self.only_that(self.wanted)


class Driver(Failures):
    """Other drivers than this one are killed, at any moment."""

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def setUp(self):
        super().setUp()
        self.whole = 0

    def killed(self, after):
        """Kills a driver so many seconds after its build has begun. Returns whether that had ended."""
        driver = subprocess.Popen([sys.executable, __file__, "driver", self.path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        with driver:
            process = int(driver.stdout.readline())
            time.sleep(after)
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.kill(process, signal.SIGKILL)
            ended = driver.stdout.read() == "done\n"
            driver.kill()
        while processes("CoarseGrainedExecutorBackend").keys() & set(self.children(process)):
            time.sleep(0.1)
        return ended

    def children(self, parent):
        return [process for process, of in processes("java").items() if of == parent]

    def test_killed_driver_leaves_the_old_or_the_new_file(self):
        left = 0
        for round_ in range(ROUNDS):
            old = self.old()
            ended = self.killed(6 * round_ / ROUNDS)
            content = read(self.path)
            self.assertIn(content, (old, self.wanted))
            self.assertTrue(content == self.wanted or not ended)
            self.whole += content == self.wanted
            left = [name for name in os.listdir(self.folder) if name.startswith(".")]
            for name in left:
                self.assertRegex(name, r"^\.urls\.bloom\..*\.building$")
        self.spark = start()
        told = [os.path.basename(path) for path in self.make(self.path).leftovers]
        self.assertEqual(sorted(told), sorted(left))
        self.assertEqual(read(self.path), self.wanted)
        print(f"killed {ROUNDS} drivers: {self.whole} had published, {len(left)} left a folder", file=sys.stderr)
        self.spark.stop()


def driver(path):
    """The driver to be killed: prints its process ID, then "done" after the build."""
    spark = start()
    keys = urls(spark, 0, N).cache()
    keys.count()
    print(spark._jvm.java.lang.ProcessHandle.current().pid(), flush=True)
    build(keys, "url", path, capacity=N, slices=Failures.slices, replace=True, key_kind="text")
    print("done", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["driver"]:
        driver(sys.argv[2])
    else:
        unittest.main()
