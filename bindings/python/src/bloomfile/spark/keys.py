# SPDX-License-Identifier: MIT
"""Types of columns that have keys, and how to cast columns of other types. KeyType.java has the same rules."""

import re

# A type that has keys, the kind of the keys, and the type that holds their bytes.
_KEYS = (
    (r"string", "text", "binary"),
    (r"binary", "bytes", "binary"),
    (r"tinyint|smallint|int|bigint|decimal\(([1-9]|1[0-8]),0\)", "integers", "bigint"),
)

# Every other type, and the expression that makes keys from it. The first match counts.
_CASTS = (
    (r"string collate .*", "key COLLATE UTF8_BINARY"),
    (r"boolean", "CAST(key AS INT)"),
    (r"date", "unix_date(key)"),
    (r"timestamp", "unix_micros(key)"),
    (r"float|double|decimal.*", "CAST(key AS BIGINT) or CAST(key AS STRING)"),
    (r"(struct|array|map)<.*", "to_json(key)"),
    (r".*", "CAST(key AS STRING)"),
)

# The cast that makes a column of one kind fit a filter of another kind.
_FITS = {
    "integers": {"text": "CAST(key AS BIGINT)"},
    "text": {"integers": "CAST(key AS STRING)"},
    "lower": {"integers": "CAST(key AS STRING)"},
    "bytes": {"text": "CAST(key AS BINARY)"},
    "records": {"text": "CAST(key AS BINARY)"},
}


def _of(type_name):
    return next(((kind, stored) for pattern, kind, stored in _KEYS if re.fullmatch(pattern, type_name)), (None, None))


def stored(type_name):
    """Returns (kind, type that holds the keys' bytes). A type without keys raises a ValueError that names the cast."""
    kind, holds = _of(type_name)
    if kind is None:
        cast = next(cast for pattern, cast in _CASTS if re.fullmatch(pattern, type_name))
        raise ValueError(f"keys are strings, binary or integers, not {type_name}: write {cast}, the same way in builds and lookups")
    return kind, holds


def _family(kind):
    return "records" if isinstance(kind, int) else kind


def accepted(kind):
    """The kinds of columns that a filter accepts, without binary columns for integers: their nulls need another type."""
    return {"integers": ("integers",), "bytes": ("bytes",), "records": ("bytes",), None: ("text", "bytes", "integers")}.get(
        _family(kind), ("text", "bytes"))


def named(kind):
    return f"records of {kind} bytes" if isinstance(kind, int) else kind


def _remedies(kind):
    """The types that do not fit a filter of this kind: (pattern, expression to write instead). The first match counts."""
    misfits = [(pattern, _FITS.get(_family(kind), {}).get(of, "a cast, as in the build"))
               for pattern, of, _ in _KEYS if of not in accepted(kind)]
    return [*misfits, *_CASTS]


def remedy(type_name, kind):
    return next(cast for pattern, cast in _remedies(kind) if re.fullmatch(pattern, type_name))


def type_check(functions, column, kind):
    """Returns a condition that is always true, and cannot be analysed if the column's type does not fit the filter's kind.

    SQL without a JVM has no function that rejects a type of our choice. But the field of date_part() is a constant that analysis
    computes, and an unknown field is an error that prints it. typeof() is such a constant.
    """
    given = functions.typeof(column)
    fits = given == "void"
    for pattern, of, _ in _KEYS:
        if of in accepted(kind):
            fits = fits | given.rlike(f"^({pattern})$")
    (first, cast), *rest = _remedies(kind)
    write = functions.when(given.rlike(f"^({first})$"), cast)
    for pattern, cast in rest:
        write = write.when(given.rlike(f"^({pattern})$"), cast)
    text = functions.concat(functions.lit(f"a key from a filter of {named(kind) or 'any kind'} with a column of type "), given,
                            functions.lit(": write "), write)
    field = functions.when(fits, "YEAR").otherwise(text)
    return functions.call_function("date_part", field, functions.lit("2000-01-01").cast("date")).isNotNull()
