# SPDX-License-Identifier: MIT
from _typeshed import ReadableBuffer, StrOrBytesPath
from typing import Any

from ._core import Filter, _KeyKind, _Layout

__all__ = ["build", "contains"]

def build(keys: Any, path: StrOrBytesPath, fpr: float | None = None, *, capacity: int | None = None, column: Any = None,
          slices: int | None = None, replace: bool = False, allow_empty: bool = False, layout: _Layout | None = None,
          bits: int = 0, hashes: int = 0, seed: int = 0, label: str | None = None, tag: ReadableBuffer = b"", key_kind: _KeyKind | None = None,
          threads: int = 1, memory: int = 0, spool: StrOrBytesPath | None = None,
          over_capacity: bool = False) -> Filter: ...
def contains(keys: Any, path: StrOrBytesPath) -> Any: ...
