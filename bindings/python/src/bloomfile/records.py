# SPDX-License-Identifier: MIT
"""Results with several fields, and the parts of Filter that are written in Python."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._core import Filter


class DamageWarning(UserWarning):
    """A filter that had met damage was closed, and its status was never read."""

    __module__ = "bloomfile"


@dataclass(frozen=True)
class Info:
    """A filter's size, keys and state."""

    layout: str | int
    state: str | int
    keys: int
    keys_estimated: bool
    capacity: int
    fpr: float
    key_kind: str | int | None
    key_size: int
    bits: int
    hashes: int
    ones: int
    image_size: int
    seed: int
    label: str
    tag: bytes
    watermark: bytes
    writers: int
    layers: int
    generations: int
    period: int


@dataclass(frozen=True)
class Header(Info):
    """All that a header says: the fields of struct bloomfile_info. `bad_pages` and the fields from `heap_size` on describe an open
    filter, and are 0 in what inspect() returns."""

    version: int
    header_size: int
    compat: int
    ro_compat: int
    incompat: int
    provenance: int
    hash_id: int
    bits_unfolded: int
    self_test: int
    body_offset: int
    body_size: int
    pages: int
    sequence: int
    overflow: int
    bad_pages: int
    body_crc: int
    boot_id: bytes
    identity: bytes
    layer: int
    rest_size: int
    series: int
    series_fpr: float
    began: int
    first_block: int
    whole_blocks: int
    keys_read: int
    keys_elsewhere: int
    digest_sum: int
    heap_size: int
    mapped_size: int
    mappings: int
    descriptors: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """What the bits say: the fields of struct bloomfile_measurement."""

    ones: int
    fill: float
    fpr: float
    keys_estimate: float


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a filter before it is made: the numbers of struct bloomfile_size."""

    n: int
    fpr: float
    bits: int
    hashes: int
    file_size: int
    image_size: int


@dataclass(frozen=True, slots=True)
class FoldChoice:
    """What folding by a factor would make: the fields of struct bloomfile_fold_choice."""

    factor: int
    bits: int
    image_size: int
    ones: int
    fpr: float
    fpr_more: float


@dataclass(frozen=True, slots=True)
class Inspection:
    """The fields of a header, valid or not, and its faults."""

    info: Header
    faults: tuple[Exception, ...]


_CLASSES = {kind.__name__: (kind, [field.name for field in fields(kind)]) for kind in (Info, Header)}


def make_info(name: str, numbers: dict[str, Any]) -> Info:
    """An Info or a Header, by the fields of struct bloomfile_info."""
    kind, names = _CLASSES[name]
    if kind is Info:
        numbers["fpr"] = numbers["series_fpr"] or numbers["fpr"]
        for field in "tag", "watermark":
            numbers[field] = numbers[field] if any(numbers[field]) else b""
    return kind(*[numbers[field] for field in names])


_ALSO_CALLED = {"overwrite": "replace", "error_rate": "fpr", "false_positive_rate": "fpr"}


def meant(name: str, known: Sequence[str]) -> str:
    """The end of the message about a keyword that does not exist: the keyword most like it."""
    import difflib
    like = [_ALSO_CALLED[name]] if _ALSO_CALLED.get(name) in known else difflib.get_close_matches(name, known, 1)
    return f" (did you mean {like[0]}?)" if like else ""


def reopen(kind: type[Filter], path: str, options: dict[str, Any]) -> Filter:
    """Opens a pickled filter."""
    return kind(path, **options)


def _size(number: float) -> str:
    for unit in "bytes", "kB", "MB", "GB":
        if number < 1000:
            break
        number /= 1000
    return f"{number:.0f} {unit}" if number >= 100 or unit == "bytes" else f"{number:.1f} {unit}"


def describe(f: Filter) -> str:
    """The repr of an open filter."""
    info = f._header()
    kind = f.kind
    folded = info.bits_unfolded > info.bits and not info.whole_blocks  # its capacity and target rate are those before
    keys = "about " * info.keys_estimated
    keys += f"{info.keys:,} of {info.capacity:,} keys" if info.keys < info.capacity and not folded else f"{info.keys:,} key{'s' * (info.keys != 1)}"
    facts = [f"{keys} ({f'{kind}-byte records' if isinstance(kind, int) else kind})" if kind is not None else keys,
             "folded" if folded else f"fpr {f.fpr:.2g}", _size(info.image_size), f.layout]
    if info.bad_pages:
        facts.append(f"{info.bad_pages:,} damaged page{'s' * (info.bad_pages != 1)}")
    place = "in memory" if f.path is None else repr(f.path)
    return f"<bloomfile.{type(f).__qualname__} {place}: {', '.join(map(str, facts))}>"


def union(a: Filter, b: Filter) -> Filter:
    return _merged(a, b, 1)


def intersection(a: Filter, b: Filter) -> Filter:
    return _merged(a, b, 2)


def _merged(a: Filter, b: Filter, op: int) -> Filter:
    from . import _core
    with merging((a, b)):
        return _core.Filter.from_bytes(_core.merge_to_bytes((a, b), op))


@contextlib.contextmanager
def merging(filters: Sequence[Filter]) -> Iterator[None]:
    """Adds the cause to an error of a merge: keys of two kinds, which no other size would help, or two shapes."""
    from . import errors
    try:
        yield
    except errors.Error as error:
        if not error.name.startswith(("BLOOMFILE_EDIFFERENT", "BLOOMFILE_EKEYKIND")):
            raise
        kinds = sorted({f"{kind}-byte records" if isinstance(kind, int) else kind for f in filters if (kind := f.kind) not in (None, "newer")})
        if len(kinds) > 1:
            different = errors.EKEYKIND(error.path)
            different.asked = f"one filter: {kinds[0]}, another: {kinds[1]}"
            raise different from None
        if error.name in ("BLOOMFILE_EDIFFERENTBITS", "BLOOMFILE_EDIFFERENTHASHCOUNT"):
            error.asked = "build both with the same capacity= and fpr="
        raise


def copy(f: Filter) -> Filter:
    from ._core import Filter
    return Filter.from_bytes(f.to_bytes())


_SHAPE = ("layout", "bits", "hashes", "seed", "hash_id", "key_kind", "key_size", "first_block", "whole_blocks", "layers")


def equal(a: Any, b: Any) -> bool:
    """Whether two filters give the same answers: they have the same shape, seed and kind of keys, and the same bits."""
    if a is b:
        return True
    header, other = a._header(), b._header()
    if any(getattr(header, name) != getattr(other, name) for name in _SHAPE):
        return False
    return _body(a) == _body(b)


def _body(f: Filter) -> bytes:
    from . import _core
    image = f.to_bytes()
    return image[_core.inspect(image[:4096], len(image))[0].body_offset:]
