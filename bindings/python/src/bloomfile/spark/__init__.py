# SPDX-License-Identifier: MIT
"""Bloom filters that Spark builds from columns, and looks up in queries.

    from bloomfile.spark import build, maybe_contains
    build(urls, "url", "s3a://bucket/urls.bloom", fpr=0.01)
    log.where(maybe_contains("s3a://bucket/urls.bloom")("url"))

If the session has a JVM within reach with the jar io.github.bloomfile:bloomfile-spark, the executors' JVMs do the work. In any
other session, such as Spark Connect, Python workers do it; they need this package. Both make the same file, byte for byte.
"""

import itertools
import operator

from pyspark.sql import SparkSession

from .report import Error, Report

__all__ = ["Error", "Report", "build", "maybe_contains", "register"]


def _engine(spark):
    """The module that does the work in this session."""
    if getattr(spark, "_jvm", None) is not None:  # only then is py4j installed
        from . import jvm
        if jvm.has_jar(spark):
            return jvm
    from . import workers
    return workers


def build(rows, key, path, capacity=None, fpr=0.01, *, replace=False, slices=None, seed=0, label="", key_kind=None):
    """Builds a filter from a column and publishes it at `path`, complete or not at all. Returns a `Report`.

    rows      a DataFrame; or an RDD of keys, with None for `key` and a capacity
    key       a column or its name: strings (as UTF-8), binary, integers and decimal(n,0) up to n = 18 (8 bytes, little-endian).
              A null is not a key
    path      on storage that all executors share
    capacity  the number of different keys to size it for. More are an error. None: it is estimated first, in another pass
    fpr       the false-positive rate
    replace   whether it may replace a sealed filter
    slices    the number of tasks that write the filter; None: one for each 4 million keys
    seed      of the hash
    label     a text for people, in the file
    key_kind  the kind of the keys: "text", "lower", "integers", "bytes", or the size of records. Every key must fit it. None: the
              column's kind, or that of the first key of an RDD

    Raises `Error`, and leaves the old file at `path` unchanged; ValueError for columns that cannot be keys, and wrong parameters.
    """
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed is 0 to 2^64 - 1, not {seed}")
    if capacity is not None and not 1 <= (capacity := operator.index(capacity)) <= 1 << 60:
        raise ValueError(f"a capacity is 1 to 2^60, or None to estimate it, not {capacity}")
    if not 0 < fpr < 1:
        raise ValueError(f"a rate is above 0 and below 1, not {fpr}")
    params = {"capacity": capacity, "fpr": float(fpr), "seed": seed, "label": label, "key_kind": key_kind}
    digests = hasattr(rows, "mapPartitions") and not hasattr(rows, "mapInArrow")
    if digests:
        if key is not None or capacity is None:
            raise ValueError("an RDD of keys has no columns: key is None, and a capacity is needed")
        rows, params["key_kind"] = _hashed(rows, seed, key_kind)
        key = "digests"
    return _engine(rows.sparkSession).build(rows, key, str(path), params, replace=bool(replace), slices=slices, digests=digests)


def _hashed(rdd, seed, kind):
    """A DataFrame of digests, and the kind of the keys."""
    if kind is None:
        first = rdd.filter(lambda k: k is not None).take(1)
        kind = next(("text" if isinstance(k, str) else "integers" if isinstance(k, int) else "bytes" for k in first), None)
    spark = SparkSession.builder.getOrCreate()
    return spark.createDataFrame(rdd.mapPartitions(lambda keys: _digests(keys, seed, kind)), "digests binary"), kind


def _digests(keys, seed, kind):
    """In a worker: keys as rows of up to 8192 digests. Keys of another kind raise EKEYKIND."""
    from bloomfile import _core

    keys = (k for k in keys if k is not None)
    while some := list(itertools.islice(keys, 8192)):
        yield (_core.hash_typed(some, seed, kind)[0],)


def register(spark, name, path, *, strict=False):
    """Makes the filter at `path` the function `name` of SQL, and returns it as a function of columns.

    It keeps answering from the present file: register it again when the file was replaced. strict: a lookup that meets damage fails
    the query instead of answering "maybe". Raises `Error` if the file is not a sealed filter, ValueError if `name` is not a name.
    """
    return _engine(spark).register(spark, name, str(path), bool(strict))


def maybe_contains(path, *, spark=None, strict=False):
    """Returns the filter at `path` as a function of columns, without a name in SQL. See `register`."""
    spark = spark or SparkSession.getActiveSession()
    if spark is None:
        raise Error("no session is active: pass spark=")
    return _engine(spark).maybe_contains(spark, str(path), bool(strict))
