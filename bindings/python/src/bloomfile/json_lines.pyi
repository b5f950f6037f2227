# SPDX-License-Identifier: MIT
from collections.abc import Iterable, Iterator

def json_keys(lines: Iterable[str | bytes], path: str, *, skip_missing: bool = False) -> Iterator[str | int]:
    """Yields the key of each JSON line: the string or integer at `path`, such as "text", "a.b" or "/a/0". Blank lines are ignored.

    lines: an iterable of str or bytes, such as a file opened with "rb". A line without the value, or with null, raises a
    ValueError that names the line, unless skip_missing is true. A value of another type raises a TypeError.
    """
