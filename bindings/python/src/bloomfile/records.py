# SPDX-License-Identifier: MIT
"""What bloomfile tells of filters, and what the extension needs of Python."""

from dataclasses import dataclass


class DamageWarning(UserWarning):
    """A filter that had met damage was closed, and nobody had asked for its status."""

    __module__ = "bloomfile"


@dataclass(frozen=True, slots=True)
class Info:
    """What a header says: the fields of struct bloomfile_info."""

    version: int
    header_size: int
    compat: int
    ro_compat: int
    incompat: int
    provenance: int
    layout: str | int
    hash_id: int
    hashes: int
    state: str | int
    bits: int
    bits_unfolded: int
    seed: int
    self_test: int
    body_offset: int
    body_size: int
    image_size: int
    pages: int
    capacity: int
    fpr: float
    sequence: int
    keys: int
    ones: int
    overflow: int
    bad_pages: int
    keys_estimated: bool
    body_crc: int
    tag: bytes
    boot_id: bytes
    identity: bytes
    watermark: bytes
    label: str
    writers: int
    key_kind: str | int | None
    key_size: int
    layers: int
    generations: int
    layer: int
    rest_size: int
    series: int
    series_fpr: float
    period: int
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
    """What the bytes of a header say, right or wrong, and what is wrong with them."""

    info: Info
    faults: tuple[Exception, ...]


def reopen(kind, path, options):
    """Opens a pickled filter."""
    return kind(path, **options)
