# SPDX-License-Identifier: MIT
"""Filters in S3, on a server that this test starts: readers only ever see whole files."""

import glob
import os
import socket
import subprocess
import sys
import threading
import time
import unittest

import pyspark
import s3fs

from bloomfile.spark import Error, build, maybe_contains
from support import JARS, SparkTest, reference, start, urls

N = 50_000
BUCKET = "filters"


class Server:
    """S3, as moto has it."""

    def __init__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.program = subprocess.Popen([os.path.join(os.path.dirname(sys.executable), "moto_server"), "-H", "127.0.0.1", "-p", str(port)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with socket.socket() as probe:
            while probe.connect_ex(("127.0.0.1", port)) != 0:
                time.sleep(0.1)
        os.environ.update(AWS_ENDPOINT_URL=self.url, AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION="us-east-1")
        self.files = s3fs.S3FileSystem(use_listings_cache=False)
        self.files.mkdir(BUCKET)

    def close(self):
        self.program.terminate()
        self.program.wait()


class S3(SparkTest):
    """By Python workers with s3fs; with SPARK_JARS by the executors' JVMs with hadoop-aws."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)
        cls.spark = cls.session()
        cls.keys = urls(cls.spark, 0, N, 2)

    @classmethod
    def session(cls):
        if not JARS:
            return start("local[2]")
        (hadoop,) = glob.glob(os.path.join(os.path.dirname(pyspark.__file__), "jars", "hadoop-client-api-*.jar"))
        version = hadoop.rpartition("-")[2].removesuffix(".jar")
        return start("local[2]", spark__jars__packages=f"org.apache.hadoop:hadoop-aws:{version}",
                     spark__hadoop__fs__s3a__endpoint=cls.server.url, spark__hadoop__fs__s3a__access__key="test",
                     spark__hadoop__fs__s3a__secret__key="test", spark__hadoop__fs__s3a__path__style__access="true")

    def setUp(self):
        super().setUp()
        self.url = f"s3a://{BUCKET}/{self.id().rpartition('.')[2]}/urls.bloom"
        self.wanted = reference(self.path, range(N), "-n", str(N))

    def read(self):
        return self.server.files.cat_file(self.url)

    def make(self, keys=None, **options):
        return build(self.keys if keys is None else keys, "url", self.url, capacity=N, **{"slices": 2, **options})

    def test_object_equals_the_file_of_bfcreate(self):
        self.assertEqual(self.make().path, self.url)
        self.assertEqual(self.read(), self.wanted)
        self.assertEqual([name.rpartition("/")[2] for name in self.server.files.find(os.path.dirname(self.url))], ["urls.bloom"])
        asked = maybe_contains(self.url)
        self.assertEqual(self.keys.where(asked("url")).count(), N)
        self.assertLess(urls(self.spark, N, 2 * N).where(asked("url")).count(), 0.02 * N)

    def test_old_object_is_replaced_atomically(self):
        """A reader sees the old file or the new one, whole."""
        self.make(self.keys.where("id < 9"))
        old = self.read()
        with self.assertRaisesRegex(Error, "or allow replacing it"):
            self.make()
        seen, done = set(), threading.Event()

        def look():
            while not done.is_set():
                seen.add(self.read())
        reader = threading.Thread(target=look)
        reader.start()
        self.make(replace=True)
        done.set()
        reader.join()
        self.assertLessEqual(seen, {old, self.wanted})
        self.assertEqual(self.read(), self.wanted)

    def test_failed_build_keeps_the_old_object(self):
        self.make(self.keys.where("id < 9"))
        old = self.read()
        with self.assertRaisesRegex(Error, "sized for 9 keys"):
            build(self.keys, "url", self.url, capacity=9, replace=True)
        with self.assertRaisesRegex(Error, "the new filter has no keys"):
            self.make(self.keys.where("id < 0"), replace=True)
        self.assertEqual(self.read(), old)


if __name__ == "__main__":
    unittest.main()
