# SPDX-License-Identifier: MIT
"""Keys that are values of JSON lines."""

import json


def _steps(path):
    """The names of a path: `a.b`, or a JSON Pointer (RFC 6901) such as `/a/0`."""
    if path.startswith("/"):
        return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]
    steps = path.split(".")
    if "" in steps:
        raise ValueError(f"a JSON path is names with dots between them, or a JSON Pointer such as /a/b, not {path!r}")
    return steps


def _find(value, steps):
    """The value at a path, or None."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and str(int(step)) == step and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def json_keys(lines, path, *, skip_missing=False):
    """Yields the key of each JSON line: the string or integer at `path`, such as "text", "a.b" or "/a/0". Blank lines are ignored.

    lines: an iterable of str or bytes, such as a file opened with "rb". A line without the value, or with null, raises a
    ValueError that names the line, unless skip_missing is true. A value of another type raises a TypeError.
    """
    steps = _steps(path)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            key = _find(json.loads(line), steps)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {number} is not valid JSON: {error}") from error
        if key is None:
            if not skip_missing:
                raise ValueError(f"line {number} has no value at {path!r} (leave out such lines: skip_missing=True)")
        elif type(key) not in (str, int):
            raise TypeError(f"line {number}: keys are strings or integers, and the value at {path!r} is {key!r}")
        else:
            yield key
