# SPDX-License-Identifier: MIT
"""Slices, for spec_reader.py: written from doc/format/slices.md 1 alone, in its order.

A header is a dict of its fields here; only a slice's has the fields of slices.md 1.1."""

OF_SLICE = 2  # bit of `incompat`
BLOCKED = 1
BLOCKS_IN_PAGE = 64
MOST_SLICES = 65536


# --- slices.md 1.1 The header of a slice ---

PLACE = {"first_block": (240, "Q"), "whole_blocks": (248, "Q")}
INPUT = {"keys_read": (256, "Q"), "keys_elsewhere": (264, "Q"), "digest_sum": (272, "Q")}
FIELDS = {**PLACE, **INPUT}


def is_slice(header):
    return "whole_blocks" in header


def has_shape_of_slice(header):
    """V19."""
    return (header["header_size"] == 4096 and header["incompat"] & 1 == 0
            and header["layout"] == BLOCKED and header["m_unfolded"] == header["m"])


def is_in_its_whole(header):
    """V20."""
    whole, first, blocks = header["whole_blocks"], header["first_block"], header["m"] // 512
    return (whole <= 2**51 and first < whole and first % BLOCKS_IN_PAGE == 0
            and (blocks == whole - first
                 or blocks < whole - first and blocks % BLOCKS_IN_PAGE == 0))


# --- slices.md 1.2 Lookups ---

def block_of(header, digest):
    """The number of a digest's block in the body; None if another slice has it."""
    blocks = header["m"] // 512
    if not is_slice(header):
        return digest * blocks >> 64
    block = (digest * header["whole_blocks"] >> 64) - header["first_block"]
    return block if 0 <= block < blocks else None


def is_own(header, digest):
    """Whether a lookup may be "no"."""
    return not is_slice(header) or block_of(header, digest) is not None


def given(header, digests):
    """The header fields of a slice that record the keys it was made from, repetitions included."""
    if not is_slice(header):
        return {}
    elsewhere = sum(not is_own(header, digest) for digest in digests)
    return {"keys_read": len(digests), "keys_elsewhere": elsewhere,
            "digest_sum": sum(digests) % 2**64}


# --- slices.md 1.3 Cutting and joining ---

def pages_of(blocks):
    return -(-blocks // BLOCKS_IN_PAGE)


def cut(header, number, count):
    """The header of a slice, from that of the whole."""
    blocks = header["m"] // 512
    pages = pages_of(blocks)
    if header["layout"] != BLOCKED or not 0 <= number < count <= min(pages, MOST_SLICES):
        raise ValueError(f"no slice {number} of {count}")
    first, end = (min(BLOCKS_IN_PAGE * (pages * i // count), blocks) for i in (number, number + 1))
    m = 512 * (end - first)
    return {**header, "m": m, "m_unfolded": m, "first_block": first, "whole_blocks": blocks,
            **dict.fromkeys(INPUT, 0)}


def slice_of(m, count, digest):
    """The number of the slice, of a whole of m bits, to which a digest belongs."""
    blocks = m // 512
    page = (digest * blocks >> 64) // BLOCKS_IN_PAGE
    return ((page + 1) * count - 1) // pages_of(blocks)


ALIKE = ("hash_id", "self_test", "k", "seed", "key_kind", "capacity", "fpr", "tag", "label",
         "provenance", "whole_blocks")


def in_order(headers):
    """The numbers of the slices, the first slice first; None if they do not all belong to one whole."""
    if not headers or not all(map(is_slice, headers)):
        return None
    if len({tuple(header[name] for name in ALIKE) for header in headers}) != 1:
        return None
    order, end = sorted(range(len(headers)), key=lambda i: headers[i]["first_block"]), 0
    for i in order:
        if headers[i]["first_block"] != end:
            return None
        end += headers[i]["m"] // 512
    return order if end == headers[0]["whole_blocks"] else None


def have_all_keys(headers):
    """Whether no key was left out, or all slices were made from the same keys."""
    inputs = {(header["keys_read"], header["digest_sum"]) for header in headers}
    return len(inputs) == 1 or not any(header["keys_elsewhere"] for header in headers)


def whole_of(header):
    """The header of the whole, from that of any slice."""
    whole = {name: value for name, value in header.items() if name not in FIELDS}
    m = 512 * header["whole_blocks"]
    return {**whole, "m": m, "m_unfolded": m}


# --- slices.md 3.2 Vectors ---

def vector_of_cut(given):
    whole = {"layout": BLOCKED, "m": given["m"]}
    number = slice_of(given["m"], given["slices"], given["digest"])
    header = cut(whole, number, given["slices"])
    if not is_own(header, given["digest"]):
        raise ValueError("the digest is not of its slice")
    return f"{number} {header['first_block']} {header['m']}"
