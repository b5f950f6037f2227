# SPDX-License-Identifier: MIT
"""Filters of keys in Dask collections, built and queried by all workers of a cluster.

    import bloomfile.dask
    bloomfile.dask.build(urls, "/shared/urls.bloom", fpr=0.001)
    known = bloomfile.dask.contains(visits, "/shared/urls.bloom")

Keys are a bag, a column of a dataframe, or delayed partitions: str, bytes or integers; None, NaN and NA are not keys. The filter
lies on storage that the client and all workers share: a path, or a URL that fsspec knows, such as s3://bucket/urls.bloom.
"""

import collections
import contextlib
import errno
import itertools
import operator
import os
import shutil
import tempfile
import threading
import time
import uuid
import warnings

import dask
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.optimization import fuse

from . import (Builder, DamageWarning, Filter, _strict, _check_not_empty, _check_unchanged, _check_unused, _checked, _file_at, _state_of, _is_worth_keeping, _expected_rate, _promised_rate, _publish, _replace_checked, errors,
               inspect, size_for, slice_of, split_digests)
from ._core import hash_typed
from .errors import _printable
from .storage import fetch, place, send, version

__all__ = ["build", "contains"]

_PIECE = 1 << 15  # keys hashed in one call
_SLICE_KEYS = 1 << 24  # keys of a slice by default: 128 MiB of digests
_MOST_CHUNKS = 100_000  # tasks; Dask takes some 0.2 ms for each
_PAGE_BITS = 8 * 4096
_MOST_SLICES = 65536
_RANGES_BITS = 1 << 40  # of a filter whose slices, if their number is a power of two, are exact ranges of digests

# ---- keys


def _is_null(key):
    return key is None or (isinstance(key, float) and key != key) or type(key).__name__ in ("NAType", "NaTType")


def _check_lines(keys):
    """Refuses lines with their newlines. Searches all keys first, since most inputs contain no newline."""
    try:
        if "\n" not in "".join(keys):
            return
    except TypeError:  # some are not str
        pass
    if any(isinstance(key, str) and key.endswith("\n") for key in keys):
        raise ValueError("a key ends in a newline, as lines of dask.bag.read_text() do, and the tools' keys do not: pass "
                         "keys.map(str.rstrip, '\\n'), or, if the newline belongs to the key, keys.map(str.encode)")


def _pieces(part):
    """Yields lists of consecutive keys."""
    if isinstance(part, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"a partition is many keys, and {type(part)} is one: put it into a list")
    if getattr(part, "ndim", 1) > 1:
        raise TypeError("a partition is a dataframe: say which column has the keys")
    elements = iter(part)
    while piece := list(itertools.islice(elements, _PIECE)):
        _check_lines(piece)
        yield piece


def _keys(part):
    """Yields chunks of keys with a null flag for each element, or None without nulls."""
    kind = getattr(getattr(part, "dtype", None), "kind", "O")
    if kind in "bfcmM":
        raise TypeError(f"elements of type {part.dtype} cannot be keys: make them str, bytes or integers; integers with nulls are "
                        "Int64 in pandas, not float64")
    if kind in "iu":
        there = part.dropna() if hasattr(part, "dropna") else part  # NumPy arrays have no nulls
        numbers = there.to_numpy(dtype=f"{kind}8") if hasattr(there, "to_numpy") else there
        yield numbers, part.isna().tolist() if len(there) < len(part) else None
        return
    for piece in _pieces(part):
        nulls = [_is_null(key) for key in piece]
        yield (piece, None) if True not in nulls else ([key for key, null in zip(piece, nulls) if not null], nulls)


# ---- tasks of a build


def _hash(part, seed, kind):
    """The digests of keys of one kind, and the kind; None if the kind is not known."""
    digests = []
    for keys, _ in _keys(part):
        some, kind = hash_typed(keys, seed, kind)
        digests.append(some)
    return b"".join(digests), kind


def _common(kinds):
    """The kind of all keys; the first known kind decides."""
    known = [kind for kind in kinds if kind is not None]
    for kind in known:
        if kind != known[0] and not {kind, known[0]} <= {"text", "bytes"}:
            error = errors.EKEYKIND()
            error.asked = f"keys of some partitions: {known[0]}, of others: {kind}"
            raise error
    return known[0] if known else None


def _split(hashed, bits, slices):
    """Returns a piece for each slice, and the kind of all keys."""
    digests, kind = b"".join(some for some, _ in hashed), _common(kind for _, kind in hashed)
    return [*(split_digests(bits, slices, digests) if slices > 1 else [digests]), kind]


def _gather(chunks):
    return b"".join(chunks), None


def _count(hashed):
    with Builder() as builder:
        builder.add_digests(hashed[0])
        return builder.count()


def _make(chunks, scratch, number, params, kind):
    """Writes a slice to a file that only this attempt uses, and returns its name. If the worker dies, another repeats it."""
    name = f"{number}.{uuid.uuid4().hex}"
    if place(scratch)[1] is not None:
        with tempfile.TemporaryDirectory() as folder:
            send(_write(chunks, os.path.join(folder, name), params, kind), f"{scratch}/{name}")
        return f"{scratch}/{name}"
    if not os.path.isdir(scratch):
        raise FileNotFoundError(errno.ENOENT, "the folder of the filter is not on storage that all workers share: it is not there",
                                scratch)
    return _write(chunks, os.path.join(scratch, name), params, kind)


def _write(chunks, path, params, kind):
    with Builder(**{**params, "key_kind": kind}) as builder:
        for chunk in chunks:
            builder.add_digests(chunk)
        builder.finish(path)
    return path


# ---- graphs


def _partitions(keys, column):
    """Returns the partitions as Delayed objects."""
    if isinstance(keys, Delayed):
        keys = [keys]
    if isinstance(keys, (list, tuple)) and keys and all(isinstance(part, Delayed) for part in keys):
        return [part if column is None else part[column] for part in keys]
    if not hasattr(keys, "to_delayed"):
        raise TypeError(f"keys are a bag, a column, or a list of delayed partitions, not {type(keys)}")
    if column is not None:
        keys = keys.pluck(column) if hasattr(keys, "pluck") else keys[column]
    if getattr(keys, "ndim", 1) > 1:
        raise TypeError("keys are a dataframe: say which column has them")
    return list(keys.to_delayed())


class _Graph:
    """Tasks that depend on partitions."""

    def __init__(self, parts):
        self.parts = parts
        self.name = "bloomfile-" + uuid.uuid4().hex  # a new computation: files may have changed since the last
        self.tasks = {}
        self.hashes = False

    def add(self, what, number, *task):
        key = (f"{self.name}-{what}", *number)
        self.tasks[key] = task
        return key

    def hash(self, seed, kind):
        self.hashes = True
        return [self.add("hash", (i,), _hash, part.key, seed, kind) for i, part in enumerate(self.parts)]

    def split(self, digests, bits, slices, wanted=None):
        """The chunks of each slice, of each group of `digests`, and the kind of all keys. wanted(group): slices that can have any."""
        at_once = -(-len(digests) * slices // _MOST_CHUNKS)
        groups = [digests[i:i + at_once] for i in range(0, len(digests), at_once)]
        chunks, kinds = [[] for _ in range(slices)], []
        for g, group in enumerate(groups):
            whole = self.add("split", (g,), _split, group, bits, slices)
            kinds.append(self.add("kind", (g,), operator.getitem, whole, slices))
            for i in wanted(g) if wanted is not None and at_once == 1 else range(slices):
                chunks[i].append(self.add("chunk", (g, i), operator.getitem, whole, i))
        return chunks, self.add("kinds", (), _common, kinds)

    def delayed(self, keys):
        """Returns a Delayed for each key. The task that makes a partition also hashes it: its keys as objects take ten times the
        memory, and Dask may make all partitions before it hashes the first."""
        graph = HighLevelGraph.from_collections(self.name, self.tasks, dependencies=self.parts)
        if self.hashes:
            tasks = fuse(graph.to_dict(), keys, ave_width=1, rename_keys=False)[0]
            graph = HighLevelGraph.from_collections(self.name, tasks)
        return [Delayed(key, graph, layer=self.name) for key in keys]


def _threads():
    """The approximate number of concurrent tasks."""
    try:
        from distributed import default_client
        return max(1, sum(default_client().nthreads().values()))
    except (ImportError, ValueError):
        return os.cpu_count() or 1


def _slices_for(capacity, bits):
    pages = -(-bits // _PAGE_BITS)
    return min(max(_threads(), -(-capacity // _SLICE_KEYS)), pages, _MOST_SLICES)


def _ranges_for(parts):
    """A power of two."""
    return 1 << (min(max(_threads(), parts // 8, 1), 1024) - 1).bit_length()


def _counted(parts, seed, kind):
    """Returns the digests of all keys, divided into ranges, which stay with the workers; the number of distinct keys; and the kind
    of keys."""
    graph = _Graph(parts)
    chunks, kinds = graph.split(graph.hash(seed, kind), _RANGES_BITS, _ranges_for(len(parts)))
    *kept, kind = dask.persist(*graph.delayed([*(graph.add("range", (i,), _gather, some) for i, some in enumerate(chunks)), kinds]))
    counts = _Graph(kept)
    *numbers, kind = dask.compute(*counts.delayed([counts.add("count", (i,), _count, part.key) for i, part in enumerate(kept)]), kind)
    return kept, sum(numbers), kind


def _slices_of_range(number, ranges, bits, slices):
    step = (1 << 64) // ranges
    return range(slice_of(bits, slices, number * step), slice_of(bits, slices, (number + 1) * step - 1) + 1)


# ---- building


@contextlib.contextmanager
def _scratch(path, storage):
    """Makes a folder next to the file. A late worker may still write into it after the build."""
    if storage is not None:
        parent, _, name = path.rpartition("/")
        folder = f"{parent}/.{name[:40]}.{uuid.uuid4().hex}.slices"
        try:
            yield folder
        finally:
            with contextlib.suppress(FileNotFoundError):  # of an object store that has no folders
                storage.rm(storage._strip_protocol(folder), recursive=True)
        return
    folder = tempfile.mkdtemp(prefix=f".{os.path.basename(path)[:40]}.", suffix=".slices", dir=os.path.dirname(path))
    try:
        yield folder
    finally:
        for _ in range(100):
            shutil.rmtree(folder, ignore_errors=True)
            if not os.path.exists(folder):
                break
            time.sleep(0.05)


def _sized(capacity, fpr, layout, bits, hashes):
    """Returns the bits of the whole filter, as a Builder chooses them."""
    return bits or size_for(capacity, 0.01 if fpr is None else fpr, hashes=hashes, layout=layout).bits


def _check(params):
    """Raises an error for invalid parameters before any work starts."""
    with Builder(**params):
        pass


def _check_capacity(path, info, keys):
    """Raises EFULL if the joined filter would be over capacity. info: of any slice."""
    if _expected_rate(info, keys, info.whole_blocks * 512 or info.bits) > 2 * _promised_rate(info):
        raise errors.EFULL(path)


@_strict
def build(keys, path, fpr=None, *, capacity=None, column=None, slices=None, replace=False, allow_empty=False, layout=None,
          bits=0, hashes=0, seed=0, label=None, tag=b"", key_kind=None, threads=1, memory=0, spool=None, over_capacity=False):
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
    path, storage = place(path)
    params = {"fpr": fpr, "layout": layout, "bits": bits, "hashes": hashes, "seed": seed, "label": label, "tag": tag,
              "key_kind": key_kind, "threads": threads, "memory": memory, "spool": spool, "over_capacity": True}
    _check(params)
    if not replace and (os.path.exists(path) if storage is None else storage.exists(storage._strip_protocol(path))):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    with _file_at(path if storage is None else "") as file:
        first = _state_of(file)
    whole = layout not in (None, "blocked")
    if slices is not None and slices < 1:
        raise ValueError("slices are at least 1")
    if whole and slices not in (None, 1):
        raise ValueError(f"the layout {layout} has no slices, blocked has")
    parts = _partitions(keys, column)
    digests = count = None
    if capacity is None and not whole and slices != 1:
        parts, count, params["key_kind"] = _counted(parts, seed, key_kind)
        digests = [part.key for part in parts]
        capacity = max(count, 1)
    if whole or slices == 1:
        slices, size = 1, 0
    else:
        size = _sized(capacity, fpr, layout, bits, hashes)
        slices = _slices_for(capacity, size) if slices is None else slices
    params["capacity"] = capacity or 0
    each = [{**params, **({} if slices == 1 else {"slice": i, "slices": slices})} for i in range(slices)]
    _check(each[0])
    with _scratch(path, storage) as folder, tempfile.TemporaryDirectory() as here:
        graph = _Graph(parts)
        ranges = len(parts)
        chunks, kind = graph.split(
            graph.hash(seed, key_kind) if digests is None else digests, size, slices,
            None if digests is None or slices == 1 else lambda i: _slices_of_range(i, ranges, size, slices))
        made = [graph.add("slice", (i,), _make, some, folder, i, each[i], kind if digests is None else params["key_kind"]) for i, some in enumerate(chunks)]
        files = dask.compute(*graph.delayed(made))
        target = path
        if storage is not None:
            files = [fetch(file, here) for file in files]
            target = os.path.join(here, path.rpartition("/")[2])
        infos = [inspect(file).info for file in files]
        keys = sum(info.keys for info in infos)
        if count is not None and keys != count:
            raise RuntimeError(f"{_printable(path)}: {count} keys were counted, and the slices have another number; are there other keys "
                               "each time that partitions are read?")
        if keys == 0 and replace and not allow_empty:
            if storage is not None:
                with contextlib.suppress(FileNotFoundError):
                    fetch(path, here)
            if _is_worth_keeping(target):
                _check_not_empty(path, keys)
        if slices > 1 and infos[0].whole_blocks * 512 != size:
            raise RuntimeError(f"{_printable(path)}: keys were divided for {size} bits, but the slices are of another filter")
        if not over_capacity:
            _check_capacity(path, infos[0], keys)
        if replace and storage is None:
            _replace_checked(path, files, lambda file: (_check_unused(path), _check_unchanged(path, file, first)),
                             lambda opened: _publish(path, opened, True))
        else:
            _publish(target, files, replace)
        if storage is None:
            return _checked(Filter(path))
        send(target, path)
        return _checked(Filter(target))


# ---- lookups

_open = {}
_opening = threading.Lock()
_Open = collections.namedtuple("_Open", "filter version since began")  # since when the version is known; when the fetch began
_TICK = 3  # seconds: two changes within a tick of the server's clock may show the same version; FAT has ticks of 2 s


def _opened(path):
    """One handle for all threads of a process, as long as the path or URL names the same file."""
    with _opening:
        known = _open.get(path)
        remote = place(path)[1] is not None
        now = version(path) if remote else None
        began = time.monotonic()
        since = known.since if known is not None and known.version == now else began  # later than known.began if it is new
        if known is None or (now is None or known.began - since <= _TICK if remote else known.filter.stale):
            if known is not None:
                known.filter.status  # no warning when it is dropped: _ask() read the status after the answers
            with tempfile.TemporaryDirectory() as here:
                known = _Open(Filter(fetch(path, here) if remote else path), now, since, began)
            _open[path] = known
        return known.filter


def _warn(text):
    """Reports the damage to the client, if there is a client."""
    try:
        from distributed import warn
    except ImportError:
        warn = warnings.warn
    warn(text, DamageWarning)


_TRIES = 3  # to look up a partition while the file is overwritten


def _ask(part, path):
    """True, False or None of each element."""
    pieces = list(_keys(part))
    for left in reversed(range(_TRIES)):
        f = _opened(path)
        answers = []
        for keys, nulls in pieces:
            hits = map(bool, f.contains_many(keys))
            answers.extend(hits if nulls is None else (None if null else next(hits) for null in nulls))
        damage = f.status
        if not isinstance(damage, errors.ECHANGED):
            break
        _forget(path, f)  # some answers may be False by mistake
        if left == 0:
            raise damage
    if damage is not None:
        _warn(f"{damage}: where that is met the answer is True, maybe")
    return answers


def _forget(path, f):
    with _opening:
        if _open.get(path, (None,))[0] is f:
            del _open[path]


def _ask_bag(part, path, call):
    return _ask(part, path)


def _ask_series(series, path, call):
    import pandas
    return pandas.Series(_ask(series, path), index=series.index, name=series.name, dtype="boolean")


@_strict
def contains(keys, path):
    """Returns a bag of True (maybe), False (certainly not) and None (a null); for a column, a column of type "boolean".

    Each process maps the file at path once. For a URL it maps a copy, and fetches it again after the file changes. It fetches the
    file for each partition if the storage reports neither a time nor a checksum, and for 3 seconds after it first sees a change.
    A new file that has the size, time and checksum (ETag) of the old file is not detected. Damage makes answers True, and the
    client gets a DamageWarning. If the file is overwritten during the lookups, they are repeated, and ECHANGED is raised if it is
    overwritten again and again.
    """
    path = place(path)[0]
    call = uuid.uuid4().hex  # so that Dask does not reuse answers from an older file
    if isinstance(keys, Delayed) or not hasattr(keys, "map_partitions"):
        raise TypeError(f"keys are a bag or a column, not {type(keys)}")
    if getattr(keys, "ndim", 1) > 1:
        raise TypeError("keys are a dataframe: pass one column")
    if hasattr(keys, "pluck"):
        return keys.map_partitions(_ask_bag, path, call)
    return keys.map_partitions(_ask_series, path, call, meta=(keys.name, "boolean"))
