# SPDX-License-Identifier: MIT
"""Bloom filters from tables, and asked in queries: the PySpark face of bloomfile-spark.jar.

    from bloomfile_spark import build, maybe_contains

    build(urls, "url", "hdfs:///filters/urls.bloom", fpr=0.01)
    in_urls = maybe_contains("hdfs:///filters/urls.bloom")
    log.where(in_urls("url"))

The work is done in the executors' JVMs; no row of a DataFrame passes through Python. A session needs bloomfile.jar and
bloomfile-spark.jar (spark-submit --jars, or the option spark.jars). Spark Connect has no JVM within reach, and is refused.
"""

import itertools
import uuid

from py4j.protocol import Py4JJavaError
from pyspark import RDD
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, SparkSession, functions

__all__ = ["Error", "Function", "Report", "build", "maybe_contains", "register"]


class Error(Exception):
    """A filter could not be made, or not be opened. The text says which, why, and what to do."""


class Report:
    """What `build` has made.

    path       of the file, with its scheme
    keys       number of different keys, exact; nulls not counted
    capacity   for how many keys the filter was sized
    slices     of how many slices it was made
    leftovers  folders of builds of this file that died, or are under way; those a week old are removed and not listed
    """

    def __init__(self, made):
        self.path = made.path()
        self.keys = made.keys()
        self.capacity = made.capacity()
        self.slices = made.slices()
        self.leftovers = list(made.leftovers())

    def __repr__(self):
        return f"Report(path={self.path!r}, keys={self.keys}, capacity={self.capacity}, slices={self.slices})"


class Function:
    """A filter that columns can be asked with: `rows.where(in_urls("url"))`. False is certain, true is maybe, null is null.

    In SQL it is `name(key)` and, with types checked beforehand, `bloomfile.name(key)`.
    """

    def __init__(self, made):
        self._made = made
        self.name = made.name()

    def __call__(self, key):
        """A column of answers for a column, or its name."""
        return functions.call_function("bloomfile." + self.name, functions.col(key) if isinstance(key, str) else key)

    def damage(self):
        """What lookups of finished tasks met, one line for each that met damage: the answers were right, but make the file
        anew. Empty if all is well."""
        return list(self._made.damage())

    def __repr__(self):
        return f"<bloomfile_spark.Function {self.name}>"


def build(rows, key, path, capacity=None, fpr=0.01, *, replace=False, slices=None, seed=0, label="", key_kind=None):
    """Build a filter of a column and publish it at `path`, complete or not at all. Returns a `Report`.

    rows     a DataFrame; or an RDD of keys, with None for `key` and a capacity: Python workers hash them, which need bloomfile
    key      a column, or its name: strings (as UTF-8), binary, or integers (8 bytes, little-endian). A null is no key
    path     on storage that the driver and all executors share
    capacity different keys to size it for. More are an error. None: they are estimated first, in a pass of its own
    fpr      the false-positive rate
    replace  whether a filter that is there may be replaced
    slices   of how many it is made, each by a task; None: one for each 4 million keys
    seed     of the hash
    label    text for people, in the file
    key_kind the kind of the keys: "text", "lower", "integers", "bytes", or the size of records. Every key must fit it, and lookups of
             other kinds are refused. None: as the column, or the first key of an RDD

    Raises `Error`, after which what was at `path` is there as it was; ValueError for what can be no key, or no number.
    """
    signed = _signed(seed)
    if isinstance(rows, RDD):
        if key is not None or capacity is None:
            raise ValueError("an RDD of keys has no columns: key is None, and a capacity is needed")
        spark = SparkSession.builder.getOrCreate()
        if key_kind is None:
            key_kind = _kind_of(rows.filter(lambda k: k is not None).take(1))
        rows = spark.createDataFrame(rows.mapPartitions(lambda keys: _digests(keys, seed, key_kind)), "digests binary")
        java = _package(spark)
        made = java.FilterBuild.ofDigests(rows._jdf, "digests")
    else:
        java = _package(rows.sparkSession)
        made = java.FilterBuild(rows._jdf, (key if isinstance(key, Column) else rows[key])._jc)
    with _Errors():
        made = made.fpr(float(fpr)).seed(signed).label(label).replace(bool(replace))
        if key_kind is not None:
            made = made.keyKind(key_kind if isinstance(key_kind, str) else f"fixed {int(key_kind)}")
        if capacity is not None:
            made = made.capacity(int(capacity))
        if slices is not None:
            made = made.slices(int(slices))
        return Report(made.write(str(path)))


def _kind_of(keys):
    """The kind of the first key."""
    return next(("text" if isinstance(k, str) else "integers" if isinstance(k, int) else "bytes" for k in keys), None)


def _digests(keys, seed, kind):
    """On a worker: keys as rows of up to 8192 digests. Keys of another kind raise EKEYKIND."""
    from bloomfile import _core

    keys = (k for k in keys if k is not None)
    while some := list(itertools.islice(keys, 8192)):
        yield (_core.hash_typed(some, seed, kind)[0],)


def register(spark, name, path, *, strict=False):
    """Make the filter at `path` the function `name` of SQL. Returns a `Function`.

    It keeps answering from the file that is there now; register it again when the file was replaced. strict: a lookup that
    meets damage fails the query, rather than answer "maybe". Raises `Error` if it is no filter, ValueError if
    `name` is no name.
    """
    java = _package(spark)
    with _Errors():
        return Function(java.FilterFunction.register(spark._jsparkSession, name, str(path), bool(strict)))


def maybe_contains(path, *, spark=None, strict=False):
    """The filter at `path` as a function of columns, for those who need no name in SQL. See `register`."""
    return register(spark or SparkSession.active(), f"filter_{uuid.uuid4().hex}", path, strict=strict)


def _signed(seed):
    """A seed of 0 to 2^64 - 1 as Java has it."""
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed is 0 to 2^64 - 1, not {seed}")
    return seed - (1 << 64) if seed >= 1 << 63 else seed


def _package(spark):
    """The package in the session's JVM."""
    if not hasattr(spark, "_jvm"):
        raise Error("filters need a session with a JVM of its own; Spark Connect has none within reach")
    found = spark._jvm.io.github.bloomfile.spark
    if type(found.FilterBuild).__name__ != "JavaClass":
        raise Error("bloomfile.jar and bloomfile-spark.jar are not there: give both as --jars, or in the option spark.jars")
    return found


class _Errors:
    """Turns exceptions of the JVM into those of Python."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, IllegalArgumentException):
            raise ValueError(str(error).split("\n\nJVM stacktrace:")[0]) from None
        if isinstance(error, Py4JJavaError):
            java = error.java_exception
            raise Error(java.getMessage() or java.toString()) from error
