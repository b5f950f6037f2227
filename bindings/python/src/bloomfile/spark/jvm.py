# SPDX-License-Identifier: MIT
"""The work done in the executors' JVMs, by the jar io.github.bloomfile:bloomfile-spark."""

from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, functions

from .report import Error, Report


def _package(spark):
    return spark._jvm.io.github.bloomfile.spark


def has_jar(spark):
    return type(_package(spark).FilterBuild).__name__ == "JavaClass"


def build(rows, key, path, params, *, replace, slices, digests):
    java = _package(rows.sparkSession)
    with _Errors():
        if digests:
            made = java.FilterBuild.ofDigests(rows._jdf, key)
        else:
            made = java.FilterBuild(rows._jdf, (rows[key] if isinstance(key, str) else key)._jc)
        made = made.fpr(params["fpr"]).seed(_signed(params["seed"])).label(params["label"]).replace(replace)
        kind, capacity = params["key_kind"], params["capacity"]
        if kind is not None:
            made = made.keyKind(kind if isinstance(kind, str) else f"fixed {int(kind)}")
        if capacity is not None:
            made = made.capacity(int(capacity))
        if slices is not None:
            made = made.slices(int(slices))
        done = made.write(path)
    return Report(done.path(), done.keys(), done.capacity(), done.slices(), list(done.leftovers()))


def _signed(seed):
    """The seed as Java has it."""
    return seed - (1 << 64) if seed >= 1 << 63 else seed


def register(spark, name, path, strict):
    with _Errors():
        return Function(_package(spark).FilterFunction.register(spark._jsparkSession, name, path, strict))


def maybe_contains(spark, path, strict):
    with _Errors():
        return Function(_package(spark).FilterFunction.of(spark._jsparkSession, path, strict))


class Function:
    """A filter as a function of columns: `rows.where(in_urls("url"))`. False is certain, true is "maybe", null is null."""

    def __init__(self, made):
        self._made = made
        self.name = made.name()

    def __call__(self, key):
        """Returns a column of answers for a column or its name."""
        return Column(self._made.maybeContains((functions.col(key) if isinstance(key, str) else key)._jc))

    def damage(self):
        """Returns the damage that lookups of finished tasks met, one line for each task. The answers were right: no key is lost.
        Build the file again. A task whose file is overwritten fails instead."""
        return list(self._made.damage())

    def unregister(self):
        """Removes the function's name. Columns made earlier fail when a query is analysed."""
        self._made.unregister()

    def __repr__(self):
        return f"<bloomfile.spark function {self.name}>"


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
