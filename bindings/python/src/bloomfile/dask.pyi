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
    """Makes a sealed filter of all keys at path, and opens it: byte for byte what one build of them makes.

    keys: a bag; a column of a dataframe, or the dataframe and `column`, which a bag of dicts takes, too; or a list of delayed
    objects, partitions of keys. path: of a file, or a URL. key_kind: None: the first key's; another kind raises EKEYKIND.
    capacity: of different keys; None counts them. slices: tasks that write the filter. Its layout is
    'blocked'; a single task makes any other layout. The other parameters are those of Builder, for each such task.

    What happens with more keys than `capacity`, and with none, is as in bloomfile.build().

    Workers hold 8 bytes a key, 16 if they are counted, and spill them as they are configured to. Nothing is left of a build that
    fails; of a client that is killed, a folder beside the path, .NAME.*.slices.

    At a URL the file appears when it is complete if the storage does so, as S3 and GCS do; on other storage an interrupted upload
    leaves a truncated file, which is refused. Two builds that do not replace can both find no file: the later one wins. The
    result is a Filter of a local copy, which pickle does not take to other machines: send the URL.
    """
def contains(keys: Any, path: StrOrBytesPath) -> Any:
    """A bag of True (maybe), False (certainly not) and None (a null); of a column, a column of type "boolean".

    Each process maps the file at path once. Of a URL it maps a copy, which it fetches again when the file has changed. Damage makes
    answers True, and the client gets a DamageWarning.
    """
