# SPDX-License-Identifier: MIT
from _typeshed import FileDescriptorLike, ReadableBuffer, StrOrBytesPath
from collections.abc import Iterable
from typing import Literal

from . import errors as errors
from ._core import (Builder as Builder, Filter as Filter, _KeyKind, _Keys, _Layout, LiveFilter as LiveFilter,
                    hash as hash, hash_many as hash_many,
                    hash_records as hash_records, library_version as library_version,
                    slice_of as slice_of, split_digests as split_digests, unlink as unlink)
from .errors import Error as Error
from .records import (DamageWarning as DamageWarning, FoldChoice as FoldChoice, Info as Info, Inspection as Inspection,
                      Measurement as Measurement, Size as Size)

__version__: str
__all__ = [
    "Builder", "DamageWarning", "Error", "Filter", "FoldChoice", "Info", "Inspection", "LiveFilter",
    "Measurement", "Size", "build", "delta", "errors", "fold", "fold_plan",
    "hash_many", "hash_records", "inspect", "join", "library_version", "merge", "patch", "project", "size_for", "slice_of",
    "split_digests", "unlink",
]

def build(path: StrOrBytesPath, keys: _Keys, fpr: float | None = None, *, replace: bool = False,
          allow_empty: bool = False, layout: _Layout | None = None, bits: int = 0, hashes: int = 0, capacity: int = 0, seed: int = 0,
          label: str | None = None, tag: ReadableBuffer = b"", key_kind: _KeyKind | None = None, threads: int = 1,
          memory: int = 0, spool: StrOrBytesPath | None = None, slice: int = 0, slices: int = 0, over_capacity: bool = False,
          watermark: ReadableBuffer = b"") -> Filter: ...
def fold_plan(src: Filter | StrOrBytesPath, more: int = 0) -> list[FoldChoice]: ...
def fold(dst: StrOrBytesPath, src: Filter | StrOrBytesPath, factor: int | None = None, *, max_fpr: float | None = None,
         replace: bool = False) -> None: ...
def merge(dst: StrOrBytesPath, srcs: Iterable[Filter | StrOrBytesPath], *, op: Literal["union", "intersection"] = "union",
          max_fpr: float | None = None, keys: int = 0, label: str | None = None, tag: ReadableBuffer = b"",
          watermark: ReadableBuffer = b"", replace: bool = False) -> None: ...
def join(dst: StrOrBytesPath, slices: Iterable[Filter | StrOrBytesPath], *, accept_incomplete: bool = False,
         replace: bool = False) -> None: ...
def project(dst: StrOrBytesPath, src: Filter | StrOrBytesPath, *, replace: bool = False) -> None: ...
def delta(dst: StrOrBytesPath, base: Filter | StrOrBytesPath, result: Filter | StrOrBytesPath, *, threads: int = 1,
          replace: bool = False) -> None: ...
def patch(dst: StrOrBytesPath, base: Filter | StrOrBytesPath, patch: StrOrBytesPath | FileDescriptorLike, *,
          threads: int = 1, replace: bool = False) -> None: ...
def inspect(path: StrOrBytesPath) -> Inspection: ...
