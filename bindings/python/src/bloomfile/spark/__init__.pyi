# SPDX-License-Identifier: MIT
# pyright: reportPrivateUsage=false
from os import PathLike
from typing import Any, Protocol, overload, type_check_only

from pyspark.sql import Column, DataFrame, SparkSession

from .._core import _KeyKind
from .report import Error as Error, Report as Report

__all__ = ["Error", "Report", "build", "maybe_contains", "register"]

@type_check_only
class _Keys(Protocol):  # an RDD, which clients of Spark Connect do not have
    def mapPartitions(self, f: Any, preservesPartitioning: bool = False) -> Any: ...

@type_check_only
class _Function(Protocol):
    name: str
    def __call__(self, key: Column | str) -> Column:
        """Returns a column of answers for a column or its name. False is certain, true is "maybe", null is null."""
    def damage(self) -> list[str]:
        """Returns the damage that lookups met. The answers were right: no key is lost. Build the file again."""
    def unregister(self) -> None:
        """Removes the function's name. With the jar, columns made earlier fail when a query is analysed."""

@overload
def build(rows: DataFrame, key: Column | str, path: str | PathLike[str], capacity: int | None = None, fpr: float = 0.01, *,
          replace: bool = False, slices: int | None = None, seed: int = 0, label: str = "",
          key_kind: _KeyKind | None = None) -> Report:
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
@overload
def build(rows: _Keys, key: None, path: str | PathLike[str], capacity: int, fpr: float = 0.01, *, replace: bool = False,
          slices: int | None = None, seed: int = 0, label: str = "", key_kind: _KeyKind | None = None) -> Report: ...
def register(spark: SparkSession, name: str, path: str | PathLike[str], *, strict: bool = False) -> _Function:
    """Makes the filter at `path` the function `name` of SQL, and returns it as a function of columns.

    It keeps answering from the present file: register it again when the file was replaced. strict: a lookup that meets damage fails
    the query instead of answering "maybe". Raises `Error` if the file is not a sealed filter, ValueError if `name` is not a name.
    """
def maybe_contains(path: str | PathLike[str], *, spark: SparkSession | None = None, strict: bool = False) -> _Function:
    """Returns the filter at `path` as a function of columns, without a name in SQL. See `register`."""
