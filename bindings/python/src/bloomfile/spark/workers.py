# SPDX-License-Identifier: MIT
"""The work done by Python workers, in sessions without a JVM within reach or without the jar.

The client needs no access to the storage of the filter: checking, joining and publishing are also tasks.
"""

import functools
import json
import math
import os
import re

from pyspark.errors import PythonException
from pyspark.sql import functions as f

from .. import Builder, Error as FilterError, size_for
from .._core import hash_typed
from . import keys as key_types
from . import tasks
from .report import Error, Report

# As FilterBuild.java has them, so that both make the same file.
_SLICE_KEYS = 4 << 20
_MOST_SLICES = 65536
_MOST_BY_DEFAULT = 4096
_ERROR, _ERRORS = 0.01, 3  # the standard error of an estimate, and how many of them are added

# ---- running tasks


def _once(spark, function, *arguments):
    """Runs a function in one worker, and returns its result. The errors of files are not worth another attempt."""
    def task(batches):
        import pyarrow
        for _ in batches:
            pass
        try:
            result = {"result": function(*arguments)}
        except (FilterError, ValueError, FileExistsError, FileNotFoundError, PermissionError, ImportError) as error:
            result = {"error": str(error)}
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([json.dumps(result)])], ["result"])

    with _Errors():
        answer = json.loads(spark.range(0, 1, 1, 1).mapInArrow(task, "result string").first()[0])
    if "error" in answer:
        raise Error(answer["error"])
    return answer["result"]


class _Errors:
    """Turns the failure of a task into its cause."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, FilterError):
            raise Error(str(error)) from error
        if isinstance(error, PythonException) and "No module named 'bloomfile" in str(error):
            raise Error("the Python of the workers has no bloomfile: install it there (PYSPARK_PYTHON names that Python)") from error
        if isinstance(error, PythonException):
            found = re.findall(r"^\w[\w.]*(?:Error|Exception|E[A-Z]+)\b: .*", str(error), re.MULTILINE)
            raise Error(found[-1] if found else str(error)) from error


# ---- the build


def build(rows, key, path, params, *, replace, slices, digests):
    spark = rows.sparkSession
    if slices is not None and not 1 <= slices <= _MOST_SLICES:
        raise ValueError(f"there are 1 to {_MOST_SLICES} slices, not {slices}")
    column, params = _keys(rows, key, path, params, digests)
    path, folder, leftovers = _once(spark, tasks.begin, path, replace)
    try:
        wanted = params["capacity"] or _estimate(column)
        made = _attempt(column, params, wanted, folder, slices, digests)
        if made.keys > wanted and params["capacity"] is None:
            wanted = made.keys
            made = _attempt(column, params, wanted, folder, slices, digests)
        if made.keys > wanted:
            raise Error(f"cannot make {path}: it was sized for {wanted} keys, and there are {made.keys} (set the capacity to that number)")
        _once(spark, tasks.publish, path, folder, made.files, made.params, made.slices, replace)
    finally:
        _once(spark, tasks.remove, folder)
    return Report(path, made.keys, wanted, made.slices, leftovers)


def _keys(rows, key, path, params, digests):
    """The column of keys as binary or bigint, and parameters with the kind of keys, both checked."""
    column = rows[key] if isinstance(key, str) else key
    selected = rows.select(column.alias("key"))
    kind, stored = key_types.stored(selected.schema[0].dataType.simpleString())
    if digests:
        kind = params["key_kind"]
    else:
        params = {**params, "key_kind": kind if params["key_kind"] is None else params["key_kind"]}
    with _Errors():
        with Builder(**{**params, "capacity": params["capacity"] or 0}):
            pass
        if not digests and kind != "bytes":
            hash_typed(["" if kind == "text" else 0], 0, params["key_kind"])
    if not digests and (kind, params["key_kind"]) == ("bytes", "integers"):  # the byte order of 8 bytes is not known
        raise Error(f"cannot make {path}: its keys are of another kind (filter: integers, key: bytes): write a column of integers")
    return selected.select(f.col("key").cast(stored)).where(f.col("key").isNotNull()), params


def _estimate(column):
    found = column.agg(f.approx_count_distinct("key", _ERROR)).first()[0]
    return max(1, math.ceil(found * (1 + _ERRORS * _ERROR)))


class _Made:
    def __init__(self, files, keys, params, slices):
        self.files, self.keys, self.params, self.slices = files, keys, params, slices


def _attempt(column, params, wanted, folder, slices, digests):
    """Builds the slices of a filter for `wanted` keys."""
    params = {**params, "capacity": wanted}
    bits = size_for(wanted, params["fpr"]).bits
    pages = (bits // 512 + 63) // 64
    slices = min(slices or min(_MOST_BY_DEFAULT, 1 + wanted // _SLICE_KEYS), pages)
    shared = functools.partial(tasks.share_out, seed=params["seed"], kind=params["key_kind"], bits=bits, places=_places(slices),
                               digests=digests)
    sliced = functools.partial(tasks.make_slices, folder=folder, params=params, slices=slices)
    with _Errors():
        made = (column.mapInArrow(shared, "place int, slice int, digests binary").repartition(slices, "place")
                .sortWithinPartitions("slice").mapInArrow(sliced, "slice int, file string, keys bigint").collect())
    return _Made([(row.slice, row.file) for row in made], sum(row.keys for row in made), params, slices)


def _places(count):
    """Returns an integer for each slice, chosen so that repartition() sends each to another partition: Spark takes the
    hash modulo the number of partitions."""
    places, number = {}, 0
    while len(places) < count:
        places.setdefault(_spark_hash(number) % count, number)
        number += 1
    return [places[i] for i in range(count)]


def _spark_hash(number):
    """Spark's hash of an int, Murmur3 with the seed 42."""
    def rotated(x, bits):
        return (x << bits | x >> 32 - bits) & 0xFFFFFFFF
    mixed = rotated(number * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
    h = (rotated(42 ^ mixed, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF) ^ 4
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


# ---- lookups


def register(spark, name, path, strict):
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"cannot register {path} as '{name}': a name is letters, digits and _")
    function = _function(spark, name, path, strict)
    spark.udf.register(name, function.udf)
    function.registered = True
    return function


def maybe_contains(spark, path, strict):
    return _function(spark, f"maybe_contains[{os.path.basename(path)}]", path, strict)


def _function(spark, name, path, strict):
    path, identity, kind = _once(spark, tasks.identify, path)
    return Function(spark, name, path, identity, kind, strict)


class Function:
    """A filter as a function of columns: `rows.where(in_urls("url"))`. False is certain, true is "maybe", null is null."""

    registered = False

    def __init__(self, spark, name, path, identity, kind, strict):
        self._spark, self._path, self._identity, self._kind = spark, path, identity, kind
        self.name = name
        self.udf = _udf(name, path, identity, kind, strict)

    def __call__(self, key):
        """Returns a column of answers for a column or its name."""
        column = f.col(key) if isinstance(key, str) else key
        there = key_types.type_check(f, column, self._kind) & column.isNotNull()
        return f.when(there, self.udf(self._whole(column))).alias(f"{self.name}({_text(column)})")

    def _whole(self, column):
        """The column as workers get it unchanged: strings that are not UTF-8 as binary, and integers without nulls, with which they
        would be floats."""
        if self._kind == "integers":
            return f.coalesce(column, f.lit(0)).cast("bigint")
        return column if self._kind is None else column.cast("binary")

    def damage(self):
        """Reads the whole file, and returns its damage, if any. Answers are right in spite of it: no key is lost. Build the file
        again."""
        damage = _once(self._spark, tasks.verify, self._path, self._identity)
        return [] if damage is None else [damage]

    def unregister(self):
        """Removes the function's name. Columns made earlier go on working."""
        if self.registered:
            self._spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {self.name}")

    def __repr__(self):
        return f"<bloomfile.spark function {self.name}, in Python workers>"


def _text(column):
    """The expression of a column, from its repr: Column<'url'>."""
    return re.sub(r"^Column<'(.*)'>$", r"\1", str(column), flags=re.DOTALL)


def _udf(name, path, identity, kind, strict):
    from collections.abc import Iterator

    import pandas

    def lookup(columns: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
        for column in columns:
            yield pandas.Series(tasks.answers(column, path, identity, kind, strict))
    lookup.__name__ = name
    return f.pandas_udf(lookup, "boolean")
