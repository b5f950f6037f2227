# SPDX-License-Identifier: MIT
"""Slices for the tests (doc/format/slices.md 1), made by the independent implementation."""

from craft import derive
from spec_reader import body_of_keys, digest_of, own_digests, sealed, self_test
from spec_slice import given


def of_blocks(first, blocks, whole, keys, k=7, *, hash_id=1, self_test=self_test(0), capacity=1000):
    """The slice of these blocks; a cut by slices.md 1.3 may differ."""
    m = 512 * blocks
    header = {"header_size": 4096, "provenance": 0, "layout": 1, "hash_id": hash_id, "k": k,
              "key_kind": 0, "m": m, "m_unfolded": m, "seed": 0, "self_test": self_test,
              "capacity": capacity, "fpr": 0, "tag": bytes(16), "label": b"",
              "first_block": first, "whole_blocks": whole}
    read = [digest_of(header, key) for key in keys]
    header.update(given(header, read))
    digests = own_digests(header, set(read))
    return sealed(header, body_of_keys(header, digests), len(digests))


def joined(*images):
    return derive("join", *images)
