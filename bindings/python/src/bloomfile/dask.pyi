# SPDX-License-Identifier: MIT
# pyright: reportPrivateUsage=false
from _typeshed import StrOrBytesPath
from typing import Any

from ._core import Filter, _Buffer, _KeyKind, _Layout

__all__ = ["build", "contains"]

def build(keys: Any, path: StrOrBytesPath, fpr: float | None = None, *, capacity: int | None = None, column: Any = None,
          slices: int | None = None, replace: bool = False, allow_empty: bool = False, layout: _Layout | None = None,
          bits: int = 0, hashes: int = 0, seed: int = 0, label: str | None = None, tag: _Buffer = b"", key_kind: _KeyKind | None = None,
          threads: int = 1, memory: int = 0, spool: StrOrBytesPath | None = None,
          over_capacity: bool = False) -> Filter:
    """Builds a sealed filter of all keys at path and opens it. Its bytes equal those of a single build.

    keys: a bag; a column of a dataframe; a dataframe or a bag of dicts, with `column`; or a list of delayed partitions of
    keys. path: a file or a URL. key_kind: None takes that of the first key; another kind raises EKEYKIND. capacity: the number of
    distinct keys; None counts them. slices: the number of tasks that write the filter, for the layout 'blocked'; a single task
    makes any other layout. The other parameters are those of Builder, for each such task.

    More keys than `capacity` and an empty input have the same effect as in bloomfile.build().

    Workers hold 8 bytes per key, 16 if keys are counted, and spill as configured. A failed build leaves no files. A killed client
    leaves a folder .NAME.*.slices next to the path.

    At a URL the file appears when it is complete if the storage does so, as S3 and GCS do; on other storage an interrupted upload
    leaves a truncated file, which is refused. Two builds that do not replace can both find no file: the later one wins. The
    result is a Filter of a local copy, which pickle does not take to other machines: send the URL.
    """
def contains(keys: Any, path: StrOrBytesPath) -> Any:
    """Returns a bag of True (maybe), False (certainly not) and None (a null); for a column, a column of type "boolean".

    Each process maps the file at path once. For a URL it maps a copy, and fetches it again after the file changes. It fetches the
    file for each partition if the storage reports neither a time nor a checksum, and for 3 seconds after it first sees a change.
    A new file that has the size, time and checksum (ETag) of the old file is not detected. Damage makes answers True, and the
    client gets a DamageWarning. If the file is overwritten during the lookups, they are repeated, and ECHANGED is raised if it is
    overwritten again and again.
    """
