# SPDX-License-Identifier: MIT
"""Bloom filters that live in files.

    import bloomfile
    bloomfile.build("fruit.bloom", ["apple", "pear"], fpr=0.001)
    with bloomfile.Filter("fruit.bloom") as fruit:
        "apple" in fruit         # True: maybe
        b"stone" in fruit        # False: certainly not

A key is a str, which is its UTF-8, as the tools read lines; an int, of 8 bytes whatever its width was; or bytes. A filter records
which of them its keys are. A lookup of another kind raises EKEYKIND, a TypeError, where the answer would always be "no".
"""

import collections.abc as _abc
import contextlib as _contextlib
import errno as _errno
import fcntl as _fcntl
import functools as _functools
import inspect as _inspect
import os as _os
import stat as _stat
import struct as _struct
import warnings as _warnings

from . import _core, errors
from ._core import (Answers, Builder, Filter, LiveFilter, hash, hash_many, hash_records,
                    library_version, size_for, slice_of, split_digests, unlink, version as __version__)
from .errors import Error
from .json_lines import json_keys
from .records import DamageWarning, FoldChoice, Header, Info, Inspection, Measurement, Size, meant as _meant, merging as _merging

# Not `hash`: `from bloomfile import *` would hide the built-in function.
__all__ = [
    "Answers", "Builder", "DamageWarning", "Error", "Filter", "FoldChoice", "Header", "Info", "Inspection", "LiveFilter",
    "Measurement", "Size", "build", "delta", "errors", "fold", "fold_plan",
    "hash_many", "hash_records", "inspect", "join", "json_keys", "library_version", "merge", "patch", "project", "size_for", "slice_of",
    "split_digests", "unlink",
]

_abc.Sequence.register(Answers)  # polars takes a sequence of bools as a mask

_OPS = {"union": 1, "intersection": 2}


def _strict(function):
    """A keyword that the function does not have raises a TypeError that lists the keywords that it has."""
    names = [p.name for p in _inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    known = names if len(names) == len(_inspect.signature(function).parameters) else names + _BUILDER

    @_functools.wraps(function)
    def checked(*args, **keywords):
        for name in keywords.keys() - known:
            raise TypeError(f"{function.__name__}() has no keyword {name!r}; it has {', '.join(known)}{_meant(name, known)}")
        return function(*args, **keywords)
    return checked


json_keys = _strict(json_keys)
_BUILDER = [name for name in _inspect.signature(Builder).parameters if name != "fpr"]


@_strict
def build(path, keys, fpr=None, *, replace=False, allow_empty=False, **params):
    """Makes a sealed filter of all keys at path, and opens it. params: those of Builder.

    If there are more keys than `capacity` and the rate is above its target, a UserWarning gives the rate. If the rate is above twice
    the target, EFULL is raised and nothing is made or replaced, unless over_capacity is true. With replace, an input without keys
    replaces only an empty filter, unless allow_empty is true: most often its source has failed. A live filter that a writer has
    open, or that appears or changes during the build, is not replaced: OSError (EBUSY).
    """
    with Builder(fpr, **params) as builder:
        if not replace:
            builder.add_many(keys)
            builder.finish(path)
            return _checked(Filter(path))
        with _file_at(path) as file:
            first = _state_of(file)
            _check_unused(path)
        builder.add_many(keys)
        _replace(builder, path, first, allow_empty)
    return _checked(Filter(path))


_TRIES = 1000  # to replace a file that other processes replace too


def _replace(builder, path, first, allow_empty):
    """Writes again if another sealed filter took the name while this filter was written. first: the file before keys were added."""
    for left in reversed(range(_TRIES)):
        with _file_at(path) as file:
            builder._replaces_only(file)  # before the checks: changes after them are detected
            if not allow_empty and _is_worth_keeping(path):
                _check_not_empty(path, builder.count())
            _check_unused(path)
            _check_unchanged(path, file, first)
            try:
                return builder.finish(path, replace=True)
            except errors.EREPLACED:
                if left == 0:
                    raise


def _replace_checked(path, sources, check, write):
    """Calls check() with the file at path (-1: no file), then write() with the opened sources. Their result may replace only that
    file. Repeats both if another file took the name."""
    for left in reversed(range(_TRIES)):
        with _file_at(path) as file, _opened(sources) as opened:
            opened[0]._replaces_only(file)  # before the checks: changes after them are detected
            try:
                check(file)
                return write(opened)
            except errors.EREPLACED:
                if left == 0:
                    raise


@_contextlib.contextmanager
def _file_at(path):
    """A descriptor of the file, or -1."""
    try:
        try:
            file = _os.open(path, _os.O_RDONLY | _os.O_NONBLOCK | _os.O_NOCTTY)
        except PermissionError:
            file = _os.open(path, _os.O_PATH)
    except (FileNotFoundError, NotADirectoryError):
        yield -1
        return
    try:
        yield file
    finally:
        _os.close(file)


def _state_of(file):
    if file < 0:
        return None
    now = _os.fstat(file)
    try:
        head = _os.pread(file, 4096, 0)  # changes with the keys; two changes may have the same time
    except OSError:
        head = None
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, head


def _check_unchanged(path, file, first):
    """Refuses to replace a live filter that appeared or got keys. file: of the path now; first: the state of the file before."""
    if _state_of(file) != first and _may_be_live(path):
        raise OSError(_errno.EBUSY, "another process changed it during the build, and the keys that it added would be lost",
                      _os.fsdecode(path))


def _may_be_live(path):
    try:
        with Filter(path) as found:
            return found.info().state == "live"
    except (FileNotFoundError, errors.EEMPTY):
        return False
    except (Error, OSError):
        return True


def _is_worth_keeping(path):
    """Whether replacing the file at path could lose keys."""
    try:
        with Filter(path) as old:
            info = old.info()
            ones = old.measure().ones if info.state == "live" else info.ones  # the record of a live filter lacks later adds
    except (FileNotFoundError, errors.EEMPTY):
        return False
    except (Error, OSError):
        return True
    return info.keys > 0 or (info.layout != "ribbon" and ones > 0)


def _open_regular(path):
    """Opens a file for reading, without waiting for the writer of a FIFO."""
    file = open(path, "rb", buffering=0, opener=lambda name, flags: _os.open(name, flags | _os.O_NONBLOCK))
    if not _stat.S_ISREG(_os.fstat(file.fileno()).st_mode):
        file.close()
        raise errors.ENOTREGULAR(_os.fsdecode(path))
    return file


def _check_unused(path):
    """Refuses to replace a live filter that has writers: each holds a lock on the first byte (doc/format/live.md)."""
    try:
        with _open_regular(path) as file:
            lock = _fcntl.fcntl(file, _fcntl.F_OFD_GETLK, _struct.pack("hhqqi0q", _fcntl.F_WRLCK, _os.SEEK_SET, 0, 1, 0))
    except (FileNotFoundError, errors.ENOTREGULAR):
        return
    if _struct.unpack_from("h", lock)[0] != _fcntl.F_UNLCK:
        raise OSError(_errno.EBUSY, "it is open for writing, and the keys that its writers add would be lost", _os.fsdecode(path))


def _check_not_empty(path, keys):
    if keys == 0:
        raise ValueError(f"cannot replace {errors._printable(_os.fsdecode(path))}: the input has no keys (did its source fail?), and its keys "
                         "would be lost")


def _checked(built):
    """What build() returns, after a warning to its caller if there are too many keys for size and rate."""
    try:
        _warn_if_too_many(built.path, built._header())
    except Warning:
        built.close()
        raise
    return built


def _expected_rate(info, n, bits):
    return size_for(n, bits=bits, hashes=info.hashes, layout=info.layout).fpr if n else 0.0


def _promised_rate(info):
    return info.fpr or _expected_rate(info, info.capacity, info.whole_blocks * 512 or info.bits)


def _warn_if_too_many(path, info):
    whole = info.whole_blocks * 512 or info.bits
    room = info.capacity
    if whole != info.bits:  # how many keys a slice has is chance: Poisson's distribution, and 6 of its deviations
        share = info.capacity * info.bits / whole
        room = share + 6 * (share ** 0.5 + 1)
    if info.keys <= room:
        return
    promised = _promised_rate(info)
    rate = _expected_rate(info, info.keys, info.bits)
    if rate > promised:
        _warnings.warn(f"{errors._printable(path)}: {info.keys} keys are in a filter for {room:.0f}: its rate is {rate:.2g}, not {promised:.2g}",
                       stacklevel=5)


@_contextlib.contextmanager
def _opened(sources):
    """Filters, and paths of filters, which are closed again."""
    with _contextlib.ExitStack() as stack:
        yield tuple(source if isinstance(source, Filter) else stack.enter_context(Filter(source))
                    for source in sources)


@_strict
def fold_plan(src, more=0):
    """Returns what folding by each possible factor would make, and the rate after `more` more keys."""
    with _opened([src]) as opened:
        return [FoldChoice(*choice) for choice in _core.fold_plan(opened, more)]


def _factor(dst, filters, max_fpr):
    """The greatest factor whose result keeps max_fpr, or the target rate; 1 if no factor keeps the target rate."""
    limit = filters[0].info().fpr if max_fpr is None else max_fpr
    factors = [factor for factor, _, _, _, fpr, _ in _core.fold_plan(filters, 0) if fpr <= limit]
    if not factors and max_fpr is not None:
        raise errors.EOVERRATE(_os.fsdecode(dst))
    return max(factors, default=1)


@_strict
def fold(dst, src, factor=None, *, max_fpr=None, replace=False):
    """Writes a smaller filter. factor: None makes it as small as max_fpr, or its target rate, allows."""
    if factor is not None and max_fpr is not None:
        raise TypeError("factor and max_fpr exclude each other")
    with _opened([src]) as opened:
        _core.fold(dst, opened, _factor(dst, opened, max_fpr) if factor is None else factor, replace)


def _check_several(name, filters):
    if isinstance(filters, (str, bytes, _os.PathLike, Filter)):
        raise TypeError(f"{name} are several filters: put one into a list")


@_strict
def merge(dst, srcs, *, op="union", max_fpr=None, keys=0, label=None, tag=b"", watermark=b"", replace=False):
    """Writes the union of filters, or with op="intersection" their intersection."""
    _check_several("srcs", srcs)
    if op not in _OPS:
        raise ValueError(f"op is 'union' or 'intersection', not {op!r}")
    with _opened(srcs) as opened, _merging(opened):
        _core.merge(dst, opened, _OPS[op], max_fpr, keys, label, tag, watermark, replace)


@_strict
def join(dst, slices, *, accept_incomplete=False, replace=False):
    """Joins slices, in any order, into one filter: byte for byte the same as a build of all keys.

    A slice leaves out keys that belong to another slice. EINCOMPLETE is raised if such keys may be in no slice, because the
    slices were not all made from the same keys; accept_incomplete joins them all the same.
    """
    _check_several("slices", slices)
    with _opened(slices) as opened:
        _core.join(dst, opened, accept_incomplete, replace)


def _publish(path, sources, replace):
    """Joins the slices, or copies the only filter, which need not be a slice."""
    with _opened(sources) as opened:
        if len(opened) == 1:
            opened[0].seal_to(path, replace=replace)
        else:
            join(path, opened, replace=replace)


@_strict
def project(dst, src, *, replace=False):
    """Writes a counting filter as a classic filter, which is a quarter of the size."""
    with _opened([src]) as opened:
        _core.project(dst, opened, replace)


@_strict
def delta(dst, base, result, *, threads=1, replace=False):
    """Writes the patch that turns `base` into `result`."""
    with _opened([base, result]) as opened:
        _core.delta(dst, opened, threads, replace)


@_strict
def patch(dst, base, patch, *, threads=1, replace=False):
    """Applies a patch, a path or an open binary file, to `base`, and writes the result."""
    with _contextlib.ExitStack() as stack:
        if isinstance(patch, (str, bytes, _os.PathLike)):
            patch = stack.enter_context(open(patch, "rb", buffering=0))
        fd = patch if isinstance(patch, int) else patch.fileno()
        opened = stack.enter_context(_opened([base]))
        _core.patch(dst, opened, fd, threads, replace)


@_strict
def inspect(path):
    """Reads the header of a file, intact or damaged. Returns its fields and its faults."""
    with _open_regular(path) as file:
        size = _os.fstat(file.fileno()).st_size
        head = file.read(4096)
    info, faults = _core.inspect(head, size)
    return Inspection(info, tuple(errors._new(code, _os.fsdecode(path), offset, None, field)
                                  for code, offset, field in faults))
