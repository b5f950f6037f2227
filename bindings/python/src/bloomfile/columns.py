# SPDX-License-Identifier: MIT
"""Columns of pandas and arrays of NumPy, as the extension takes them; and answers as pandas takes them."""

import importlib
from typing import Any

_FRAME = "keys are one column, and this is a data frame: pass one column, such as df['name']"
_CASTS = {
    "f": ".astype('int64') if all are whole numbers, since it drops fractions",
    "b": ".astype('int8') or .astype(str)",
    "M": ".astype('int64') or .astype(str)",
    "m": ".astype('int64') or .astype(str)",
}


_PANDAS_FLOAT = ".astype('float64').astype('Int64'), which refuses fractions"  # from Float64 to Int64 alone drops them


def _refused(dtype: Any, pandas: bool = False) -> TypeError:
    kind = getattr(dtype, "kind", "")
    cast = _PANDAS_FLOAT if pandas and kind == "f" else _CASTS.get(kind, ".astype(str)")
    if str(dtype) == "float64":
        cast = cast.removeprefix(".astype('float64')")
    return TypeError(f"keys are strings, bytes or integers, and this column is {dtype}: cast it with {cast}")


def _of_numpy(array: Any, nulls: bool) -> tuple[Any, Any, bool] | None:
    kind = array.dtype.kind
    if array.ndim > 1:
        raise TypeError(f"keys are one column, and this array has {array.ndim} dimensions: pass one column, such as array[:, 0], or its ravel()")
    if kind == "O":
        return array, None, nulls
    if kind in "iu":
        return array.astype(array.dtype.newbyteorder("="), order="C", copy=False), None, False
    if kind in "US":
        return array.tolist(), None, False
    if kind in "fcbMm":
        raise _refused(array.dtype)
    return None


def _of_pandas(column: Any) -> tuple[Any, Any, bool] | None:
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    values = getattr(column, "array", column)
    if type(dtype).__name__ == "ArrowDtype" or getattr(dtype, "storage", None) == "pyarrow":
        return values.__arrow_array__(), None, False  # the column's own memory
    if type(dtype).__name__.startswith(("Int", "UInt")) and kind in "iu":
        return column.to_numpy(dtype=f"{kind}8", na_value=0), values.isna(), False
    if type(dtype).__name__ == "CategoricalDtype" and dtype.categories.dtype.kind in "iu":  # with nulls, to_numpy() makes floats
        return _of_pandas(column.astype(f"{'U' * (dtype.categories.dtype.kind == 'u')}Int64"))
    if kind in "fcbMm" or type(dtype).__name__ in ("PeriodDtype", "IntervalDtype"):
        raise _refused(dtype, pandas=True)
    return _of_numpy(column.to_numpy(), True)


def _check_polars(keys: Any, name: str) -> None:
    """Refuses columns of polars that are not keys, by names instead of letters of Arrow, and columns without values yet."""
    if name == "Expr":
        raise TypeError("an Expr of polars has no values yet: pass a Series, or call map_batches() on it")
    if name == "DataFrame":
        raise TypeError(_FRAME)
    if name == "LazyFrame":
        raise TypeError("a LazyFrame of polars has no values yet: collect() it, and pass one column")
    if name == "Series" and str(keys.dtype) == "Object":  # its Arrow array has the addresses of the objects
        raise TypeError("keys are strings, bytes or integers, and this column is Object: pass its to_list(), or the str() of each item")
    if name == "Series" and keys.dtype.is_float():
        raise TypeError(f"keys are strings, bytes or integers, and this column is {keys.dtype}: cast it with .cast(pl.Int64) if all are whole numbers, since it drops fractions")


def plain(keys: Any) -> tuple[Any, Any, bool] | None:
    """Returns (keys, mask, nulls) for a column of pandas or an array of NumPy, and None for another object.

    keys: an array, a list, or an object of Arrow. mask: True for each null; None: there is no mask. nulls: objects such as None are nulls.
    """
    for kind in type(keys).__mro__:
        if kind.__module__.partition(".")[0] == "polars":
            _check_polars(keys, kind.__name__)
            return None
    if getattr(keys, "ndim", 1) == 2 and hasattr(keys, "columns"):
        raise TypeError(_FRAME)
    if hasattr(keys, "to_numpy") and hasattr(keys, "isna"):
        return _of_pandas(keys)
    if hasattr(getattr(keys, "dtype", None), "newbyteorder") and hasattr(keys, "tolist") and getattr(keys, "ndim", 0) > 0:
        return _of_numpy(keys, False)
    return None


def to_numpy(answers: Any) -> Any:
    return answers.to_numpy()


def dtype(_: Any) -> Any:
    try:
        return importlib.import_module("numpy").dtype(bool)
    except ImportError:
        raise AttributeError("dtype needs NumPy") from None


def like(answers: Any, column: Any) -> Any:
    """The answers as the library of the column combines them with it."""
    library = type(column).__module__.partition(".")[0]
    if library == "polars":
        return answers.to_polars()
    return answers.to_pandas() if library == "pandas" and answers.null_count else answers.to_numpy()


class _Arrow:
    """Only what Arrow needs of answers: polars takes a sequence item by item."""

    def __init__(self, answers: Any) -> None:
        self.__arrow_c_array__ = answers.__arrow_c_array__


def to_polars(answers: Any) -> Any:
    return importlib.import_module("polars").Series(_Arrow(answers))


def to_pandas(answers: Any) -> Any:
    return importlib.import_module("pandas").arrays.BooleanArray(answers.fill_null(False).to_numpy().copy(), answers.is_null().to_numpy().copy())
