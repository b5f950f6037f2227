# SPDX-License-Identifier: MIT
"""What the tests of the Spark binding share. Environment: SPARK_JARS, files divided by commas; BLOOMFILE_TOOLS, the folder
of bfcreate; ROUNDS, how often each failure is provoked."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

import pyspark
from pyspark.sql import SparkSession, functions

JARS = os.environ.get("SPARK_JARS", "")
TOOLS = os.environ["BLOOMFILE_TOOLS"]
ROUNDS = int(os.environ.get("ROUNDS", "3"))
CLUSTER = "local-cluster[2,1,2048]"
HEADER = 4096

# Values of types without keys, and the cast that the error names.
CASTS = {
    "1.5D": "CAST(key AS BIGINT) or CAST(key AS STRING)",
    "1.5": "CAST(key AS BIGINT) or CAST(key AS STRING)",
    "CAST(1 AS decimal(19,0))": "CAST(key AS BIGINT) or CAST(key AS STRING)",
    "true": "CAST(key AS INT)",
    "DATE '2000-01-01'": "unix_date(key)",
    "TIMESTAMP '2000-01-01 00:00:00'": "unix_micros(key)",
    "TIMESTAMP_NTZ '2000-01-01 00:00:00'": "CAST(key AS STRING)",
    "array(1)": "to_json(key)",
}

OPTIONS = {
    "spark.jars": JARS,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "1g",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.bloomfile.dir": tempfile.gettempdir(),
    "spark.hadoop.fs.faulty.impl": "io.github.bloomfile.spark.FaultyFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.faulty.impl": "io.github.bloomfile.spark.FaultyFileSystem$Context",
    "spark.hadoop.fs.faulty.impl.disable.cache": "true",
}


def start(master=CLUSTER, **options):
    """A session of its own. Two underscores in a name stand for a dot."""
    running = SparkSession.getActiveSession()
    if running:
        running.stop()
    builder = SparkSession.builder.master(master).appName("bloomfile")
    for name, value in {**OPTIONS, **{k.replace("__", "."): v for k, v in options.items()}}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def urls(spark, first, last, parts=4):
    """The keys first to last - 1 as strings, in `url`, with the numbers they come from in `id`."""
    return spark.range(first, last, 1, parts).select(
        functions.concat(functions.lit("http://example.org/"), functions.col("id").cast("string")).alias("url"), "id")


def reference(path, numbers, *options):
    """What bfcreate makes of the keys of urls()."""
    text = "".join(f"http://example.org/{i}\n" for i in numbers)
    subprocess.run([os.path.join(TOOLS, "bfcreate"), "-qf", *options, path, "-"],
                   input=text.encode(), check=True)
    return read(path)


def damaged_live_filters(folder):
    """Yields the path of a live filter, and of the first and a later layer of a live series, and the byte of its header that is
    damaged: each in turn, and size and states also to the values of other filters."""
    subprocess.run([os.path.join(TOOLS, "bfcreate"), "-q", "--live", "-n", "100", os.path.join(folder, "live")], check=True)
    subprocess.run([os.path.join(TOOLS, "bfcreate"), "-q", "--live", "--grow", "-n", "10", os.path.join(folder, "series")], check=True)
    keys = "".join(f"{i}\n" for i in range(300))
    subprocess.run([os.path.join(TOOLS, "bfadd"), "-q", os.path.join(folder, "series")], input=keys.encode(), check=True)
    for name in "live", "series", "series.2":
        with open(os.path.join(folder, name), "r+b", buffering=0) as file:
            good = file.read()
            for at in range(HEADER):
                for flip in (0xFF, 1, 1 ^ 2, 0x10 ^ 0x02) if at in (12, 13, 14, 15, 2048 + 8, 3072 + 8) else (0xFF,):
                    os.pwrite(file.fileno(), bytes([good[at] ^ flip]), at)
                    yield file.name, (name, at, flip)
                os.pwrite(file.fileno(), good[at:at + 1], at)
        assert read(file.name) == good, name


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Cluster:
    """A master and workers of one core each, with addresses of their own: 127.0.0.1, 127.0.0.2 and so on."""

    def __init__(self, workers):
        self.folder = tempfile.mkdtemp(prefix="bloomfile-cluster-")
        self.programs = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"spark://127.0.0.1:{port}"
        self.start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        while not self.is_up(port):
            time.sleep(0.1)
        for i in range(workers):
            self.start("worker.Worker", "--host", f"127.0.0.{i + 1}", "--webui-port", "0", "--cores", "1", "--memory", "2g",
                       "--work-dir", self.folder, self.url)

    @staticmethod
    def is_up(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def start(self, program, *arguments):
        command = [os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-class"), "org.apache.spark.deploy." + program]
        log = open(os.path.join(self.folder, "log"), "ab")
        with log:
            self.programs.append(subprocess.Popen([*command, *arguments], stdout=log, stderr=log))

    def close(self):
        for program in self.programs:
            program.terminate()
            program.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Folder(unittest.TestCase):
    """A folder for each test, and the path of a filter in it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bloomfile-spark-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "urls.bloom")

    def only(self, *names):
        """Nothing else is in the folder."""
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))


class SparkTest(Folder):
    """A session with the jars for each class."""

    master = CLUSTER
    options = {}

    @classmethod
    def setUpClass(cls):
        cls.spark = start(cls.master, **cls.options)

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()
