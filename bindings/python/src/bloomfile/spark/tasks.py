# SPDX-License-Identifier: MIT
"""The parts of a build and of a query that run in Python workers. Batches are RecordBatches of Arrow."""

import contextlib
import fcntl
import hashlib
import itertools
import logging
import os
import re
import shutil
import tempfile
import threading
import time
import uuid
import zlib

from .. import Builder, Filter, _open_regular, _publish, _replace_checked, errors, inspect, join, split_digests
from .._core import hash_typed, inspect as inspect_head
from ..storage import fetch, place, send
from .keys import remedy

_HEAD = 4096
_MAGIC = b"\xbfBLM\r\n\x1a\n"
_ENOUGH = 8 << 20  # bytes of digests that a task collects before it divides them
_CHUNK = 4096  # bytes of a row: Arrow's batches have 10,000 rows unless the session says otherwise
_MEMORY = 32 << 20  # bytes of digests of a slice; more go to a temporary file
_WEEK = 7 * 24 * 3600
_EXACT = 1 << 53  # below it a float64 is the integer that it was made from

# ---- the build


def share_out(batches, seed, kind, bits, places, digests):
    """From keys to (place, slice, digests). places: for each slice the number that sends it to a partition of its own."""
    import pyarrow

    waiting = bytearray()
    for batch in itertools.chain(batches, [None]):
        if batch is not None:
            keys = batch.column(0)
            waiting += b"".join(keys.to_pylist()) if digests else hash_typed(keys, seed, kind)[0]
        if waiting and (batch is None or len(waiting) >= _ENOUGH):
            parts = split_digests(bits, len(places), waiting) if len(places) > 1 else [waiting]
            rows = [(slice_, bytes(part[at:at + _CHUNK])) for slice_, part in enumerate(parts) for at in range(0, len(part), _CHUNK)]
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array([places[slice_] for slice_, _ in rows], pyarrow.int32()),
                 pyarrow.array([slice_ for slice_, _ in rows], pyarrow.int32()),
                 pyarrow.array([chunk for _, chunk in rows], pyarrow.binary())], ["place", "slice", "digests"])
            waiting = bytearray()


def make_slices(batches, folder, params, slices):
    """From (place, slice, digests), in the order of slices, to (file, keys) of each slice."""
    import pyarrow

    rows = ((slice_, chunk) for batch in batches for slice_, chunk in zip(batch.column(1).to_pylist(), batch.column(2)))
    for number, chunks in itertools.groupby(rows, key=lambda row: row[0]):
        file, keys = _make(number, (chunk.as_buffer() for _, chunk in chunks), folder, params, slices)
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([number], pyarrow.int32()), pyarrow.array([file]),
                                               pyarrow.array([keys], pyarrow.int64())], ["slice", "file", "keys"])


def _make(number, chunks, folder, params, slices):
    """Writes a slice into a file of this attempt's own. The client never reads the files of other attempts."""
    name = f"slice-{number}-{uuid.uuid4().hex}"
    whole = {} if slices == 1 else {"slice": number, "slices": slices}
    with _local(folder) as here, Builder(**params, **whole, memory=_MEMORY, over_capacity=True) as builder:
        for chunk in chunks:
            builder.add_digests(chunk)
        keys = builder.count()
        builder.finish(os.path.join(here, name))
        if here != folder:
            send(os.path.join(here, name), f"{folder}/{name}")
    return f"{folder}/{name}", keys


@contextlib.contextmanager
def _local(folder):
    """The folder itself or, if it is at a URL, a temporary folder."""
    if place(folder)[1] is not None:
        with tempfile.TemporaryDirectory() as here:
            yield here
    elif os.path.isdir(folder):
        yield folder
    else:
        raise FileNotFoundError(f"the folder {folder} is missing: the filter must be on storage that all workers share")


def begin(path, replace):
    """Checks the target. Returns its absolute path, a folder for slices, and folders of other builds."""
    path, storage = place(path)
    _check(path, storage, replace)
    parent, _, name = path.rpartition("/")
    folder = f"{parent}/.{name}.{uuid.uuid4()}.building"
    left = _leftovers(parent, name, storage)
    if storage is None:
        try:
            os.mkdir(folder)
        except FileNotFoundError:
            raise FileNotFoundError(f"cannot make {path}: the folder {parent} is missing (create it)") from None
    return path, folder, left


def _leftovers(parent, name, storage):
    """Folders of builds whose client died, or that are under way. Those a week old are removed from file systems; the folders of
    object stores have no age."""
    pattern = re.compile(re.escape(f".{name}.") + "[0-9a-f-]{36}" + re.escape(".building"))
    if storage is not None:
        storage.invalidate_cache()
        try:
            found = storage.ls(storage._strip_protocol(parent), detail=False)
        except FileNotFoundError:
            return []
        names = sorted({entry.rstrip("/").rpartition("/")[2] for entry in found})
        return [f"{parent}/{entry}" for entry in names if pattern.fullmatch(entry)]
    kept = []
    for entry in sorted(os.listdir(parent)):
        folder = os.path.join(parent, entry)
        if pattern.fullmatch(entry):
            if os.stat(folder).st_mtime < time.time() - _WEEK:
                shutil.rmtree(folder)
            else:
                kept.append(folder)
    return kept


def _head(path, storage):
    """The first bytes of a file and its size; None if there is no file."""
    try:
        if storage is None:
            with _open_regular(path) as file:
                return file.read(_HEAD), os.fstat(file.fileno()).st_size
        storage.invalidate_cache()
        name = storage._strip_protocol(path)
        return storage.cat_file(name, start=0, end=_HEAD), storage.size(name)
    except FileNotFoundError:
        return None, 0


def _check(path, storage, replace):
    """Raises an error if the file cannot be made. Returns whether it replaces a filter that may have keys."""
    if storage is None and os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"cannot replace {path}: it is not a filter (write to another file)")
    head, size = _head(path, storage)
    if head is None:
        return False
    if not replace:
        raise FileExistsError(f"cannot make {path}: it exists (write to another file, or allow replacing it)")
    if head and not head.startswith(_MAGIC):
        raise ValueError(f"cannot replace {path}: it is not a filter (write to another file)")
    info, faults = inspect_head(head, size)
    if info.state in ("live", "poisoned") or faults and _looks_live(head):
        raise ValueError(f"cannot replace {path}: it is a live filter, to which programs may add (write to another file)")
    # the other layers of a series may have keys
    return bool(head) and (bool(faults) or info.keys > 0 or info.keys_estimated or info.layers > 1)


def _looks_live(head):
    """Whether a damaged header has a record that is live or poisoned, and no intact sealed record."""
    records = [head[at:at + 1024] for at in (2048, 3072)]
    states = [int.from_bytes(record[8:12], "little") for record in records]
    sealed = any(state == 2 and zlib.crc32(record[:-4]).to_bytes(4, "little") == record[-4:] for record, state in zip(records, states))
    return not sealed and (1 in states or 3 in states)


def publish(path, folder, files, params, slices, replace):
    """Joins the slices, and makes the file appear at its path."""
    storage = place(path)[1]
    _check(path, storage, replace)
    with tempfile.TemporaryDirectory() as here:
        there = {number: fetch(file, here) if storage is not None else file for number, file in files}
        for number in set(range(slices)) - there.keys():
            there[number] = _make(number, [], here if storage is not None else folder, params, slices)[0]
        empty = not any(inspect(file).info.keys for file in there.values())

        def check(_):
            if _check(path, storage, replace) and empty:
                raise ValueError(f"cannot replace {path}: the new filter has no keys (write to another file)")
        if storage is not None:
            whole = os.path.join(here, "whole")
            _join(whole, list(there.values()), False)
            check(None)  # as late as possible: the join takes a while
            send(whole, path)
        elif replace:
            _replace_checked(path, list(there.values()), check, lambda opened: _publish(path, opened, True))
        else:
            _join(path, list(there.values()), False)


def _join(path, files, replace):
    """A second attempt of this task finds the file of the first attempt."""
    def write(to, replace):
        if len(files) > 1:
            join(to, files, replace=replace)
        else:
            with Filter(files[0]) as only:
                only.seal_to(to, replace=replace)
    try:
        write(path, replace)
    except FileExistsError:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(files[0])) as here:
            again = os.path.join(here, "whole")
            write(again, False)
            if _head(again, None) != _head(path, None):
                raise


def remove(folder):
    """Removes the slices. A task that was not stopped in time may still write a slice."""
    storage = place(folder)[1]
    if storage is None:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        storage.invalidate_cache()
        with contextlib.suppress(FileNotFoundError):
            storage.rm(storage._strip_protocol(folder), recursive=True)


# ---- lookups

_open = {}
_opening = threading.Lock()


def identify(path):
    """Returns the absolute path, the identity of its content, and the kind of its keys."""
    path, storage = place(path)
    head, size = _head(path, storage)
    if head is None:
        raise FileNotFoundError(f"cannot open {path}: the file is missing, or the workers cannot reach it")
    info, faults = inspect_head(head, size)
    if faults:
        code, offset, field = faults[0]
        raise errors._new(code, path, offset, None, field)
    if info.state != "sealed":
        raise ValueError(f"cannot open {path}: it is {info.state} (bfseal makes a sealed filter of it)")
    identity = _identity(head, size)
    opened(path, identity)
    return path, identity, info.key_size if info.key_kind == "fixed" else info.key_kind


def _identity(head, size):
    """The header ends in a checksum that chains the checksums of all pages, so it stands for the whole file."""
    return hashlib.sha256(head + size.to_bytes(8, "little")).hexdigest()


def _copied(path, identity):
    """A copy of a remote file that all workers of this executor share, in a folder that Spark removes at the end."""
    from pyspark import SparkFiles

    folder = SparkFiles.getRootDirectory()
    copy = os.path.join(folder, f"{identity}.bloom")
    with open(os.path.join(folder, "bloomfile.lock"), "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(copy):
            with tempfile.TemporaryDirectory(dir=folder) as here:
                os.replace(fetch(path, here), copy)
    return copy


def opened(path, identity):
    """The filter, which each process maps once."""
    with _opening:
        if identity not in _open:
            storage = place(path)[1]
            file = path if storage is None else _copied(path, identity)
            head, size = _head(file, None)
            if head is None or _identity(head, size) != identity:
                raise ValueError(f"cannot look up keys in {path}: the file has changed. Register it again")
            _open[identity] = Filter(file)
        return _open[identity]


# The types of SQL that arrive as objects of these classes.
_SQL = {"str": "string", "bytes": "binary", "int": "bigint", "float": "double", "bool": "boolean", "date": "date",
        "Timestamp": "timestamp", "Decimal": "decimal(38,18)", "dict": "struct<>", "ndarray": "array<>"}


def answers(keys, path, identity, kind, strict):
    """True, False or null for each key of a column of pandas. kind: of the filter's keys."""
    filter_ = opened(path, identity)
    try:
        first = next((key for key in keys if not _is_null(key)), None)
        if kind == "integers" and isinstance(first, (bytes, bytearray)):  # the byte order of 8 bytes is not known
            raise TypeError("its keys are of another kind (filter: integers, key: bytes)")
        found = filter_.contains_many(_exact(keys))
    except TypeError as misfit:
        type_name = _SQL.get(type(first).__name__.removesuffix("64").removesuffix("_"), "other")
        raise TypeError(f"{misfit}: write {remedy(type_name, kind)}") from misfit
    damage = filter_.status
    if damage is not None:
        if strict or isinstance(damage, errors.ECHANGED):
            raise damage
        logging.getLogger("bloomfile.spark").warning("Damage, so more keys than usual are possibly present: %s", damage)
    return found.to_pandas()


def _is_null(key):
    return key is None or key != key


def _exact(keys):
    """Integers with nulls arrive as float64, and decimals as objects."""
    if keys.dtype.kind == "f":
        if keys.isna().all():
            return keys.astype(object).where(keys.notna(), None)
        if not (keys.dropna() % 1 == 0).all():
            raise TypeError("keys are strings, binary or integers, not fractions")
        if not (keys.dropna().abs() < _EXACT).all():
            raise ValueError("integers of a column with nulls arrive as floats, and these are too large for that: use the function of "
                             "columns, or write CASE WHEN key IS NOT NULL THEN name(coalesce(key, 0)) END")
        return keys.astype("Int64")
    first = next((key for key in keys if key is not None), None) if keys.dtype == object else None
    if type(first).__name__ == "Decimal" and first.as_tuple().exponent == 0:
        import pandas
        return pandas.Series([None if key is None else int(key) for key in keys], dtype="Int64")
    return keys


def verify(path, identity):
    """The damage of a file, or None."""
    with contextlib.closing(Filter(opened(path, identity).path)) as file:
        try:
            file.verify()
        except errors.Error as damage:
            return str(damage)
