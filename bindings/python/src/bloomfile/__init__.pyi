# SPDX-License-Identifier: MIT
# pyright: reportPrivateUsage=false
from _typeshed import FileDescriptorLike, StrOrBytesPath
from collections.abc import Iterable
from typing import Literal

from . import errors as errors
from ._core import (Answers as Answers, Builder as Builder, Filter as Filter, _Buffer, _KeyKind, _Keys, _Layout, LiveFilter as LiveFilter,
                    hash as hash, hash_many as hash_many,
                    hash_records as hash_records, library_version as library_version, size_for as size_for,
                    slice_of as slice_of, split_digests as split_digests, unlink as unlink)
from .errors import Error as Error
from .json_lines import json_keys as json_keys
from .records import (DamageWarning as DamageWarning, FoldChoice as FoldChoice, Header as Header, Info as Info, Inspection as Inspection,
                      Measurement as Measurement, Size as Size)

__version__: str
__all__ = [
    "Answers", "Builder", "DamageWarning", "Error", "Filter", "FoldChoice", "Header", "Info", "Inspection", "LiveFilter",
    "Measurement", "Size", "build", "delta", "errors", "fold", "fold_plan",
    "hash_many", "hash_records", "inspect", "join", "json_keys", "library_version", "merge", "patch", "project", "size_for", "slice_of",
    "split_digests", "unlink",
]

def build(path: StrOrBytesPath, keys: _Keys, fpr: float | None = None, *, replace: bool = False,
          allow_empty: bool = False, layout: _Layout | None = None, bits: int = 0, hashes: int = 0, capacity: int = 0, seed: int = 0,
          label: str | None = None, tag: _Buffer = b"", key_kind: _KeyKind | None = None, threads: int = 1,
          memory: int = 0, spool: StrOrBytesPath | None = None, slice: int = 0, slices: int = 0, over_capacity: bool = False,
          watermark: _Buffer = b"") -> Filter:
    """Makes a sealed filter of all keys at path, and opens it. params: those of Builder.

    If there are more keys than `capacity` and the rate is above its target, a UserWarning gives the rate. If the rate is above twice
    the target, EFULL is raised and nothing is made or replaced, unless over_capacity is true. With replace, an input without keys
    replaces only an empty filter, unless allow_empty is true: most often its source has failed. A live filter that a writer has
    open, or that appears or changes during the build, is not replaced: OSError (EBUSY).
    """
def fold_plan(src: Filter | StrOrBytesPath, more: int = 0) -> list[FoldChoice]:
    """Returns what folding by each possible factor would make, and the rate after `more` more keys."""
def fold(dst: StrOrBytesPath, src: Filter | StrOrBytesPath, factor: int | None = None, *, max_fpr: float | None = None,
         replace: bool = False) -> None:
    """Writes a smaller filter. factor: None makes it as small as max_fpr, or its target rate, allows."""
def merge(dst: StrOrBytesPath, srcs: Iterable[Filter | StrOrBytesPath], *, op: Literal["union", "intersection"] = "union",
          max_fpr: float | None = None, keys: int = 0, label: str | None = None, tag: _Buffer = b"",
          watermark: _Buffer = b"", replace: bool = False) -> None:
    """Writes the union of filters, or with op="intersection" their intersection."""
def join(dst: StrOrBytesPath, slices: Iterable[Filter | StrOrBytesPath], *, accept_incomplete: bool = False,
         replace: bool = False) -> None:
    """Joins slices, in any order, into one filter: byte for byte the same as a build of all keys.

    A slice leaves out keys that belong to another slice. EINCOMPLETE is raised if such keys may be in no slice, because the slices
    were not all made from the same keys; accept_incomplete joins them all the same.
    """
def project(dst: StrOrBytesPath, src: Filter | StrOrBytesPath, *, replace: bool = False) -> None:
    """Writes a counting filter as a classic filter, which is a quarter of the size."""
def delta(dst: StrOrBytesPath, base: Filter | StrOrBytesPath, result: Filter | StrOrBytesPath, *, threads: int = 1,
          replace: bool = False) -> None:
    """Writes the patch that turns `base` into `result`."""
def patch(dst: StrOrBytesPath, base: Filter | StrOrBytesPath, patch: StrOrBytesPath | FileDescriptorLike, *,
          threads: int = 1, replace: bool = False) -> None:
    """Applies a patch, a path or an open binary file, to `base`, and writes the result."""
def inspect(path: StrOrBytesPath) -> Inspection:
    """Reads the header of a file, intact or damaged. Returns its fields and its faults."""
