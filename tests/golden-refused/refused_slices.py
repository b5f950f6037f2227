# SPDX-License-Identifier: MIT
"""Slices that must be refused (doc/format/slices.md 1), and slices that cannot be joined."""

import struct

from craft import LIVE, POISONED, body_of, edit, field, flip, make
from craft_series import as_layer

KEYS = [b"key %d" % i for i in range(20)]
SHAPE = {"capacity": 20, "label": "a label", "fpr": 0.05}
FIRST, MIDDLE, LAST = (make("blocked", 150 * 512, 6, KEYS, slice=f"{i}/3", **SHAPE)
                       for i in (1, 2, 3))
WHOLE_BLOCKS = 150
IN_USE = {"state": LIVE, "sequence": 7, "body_crc": 0, "boot_id": bytes(range(16))}


def as_slice(image, first, whole, **header):
    return edit(image, header={"incompat": 2, **header},
                at={240: struct.pack("<QQ", first, whole)})


def changed(image=MIDDLE, **fields):
    return edit(image, header=fields)


def shapes(out):
    """V19; the place in the whole is correct, if there is a whole."""
    embedded = make("blocked", 64 * 512, 6, KEYS, embedded=True)
    one_page = make("blocked", 64 * 512, 6, KEYS)
    out.add("ESLICE", "V19", slice_in_embedded_form=as_slice(embedded, 0, 64),
            slice_of_classic=as_slice(make("classic", 64 * 512, 6, KEYS), 0, 64),
            slice_of_counters=as_slice(make("counting", 64 * 512, 6, KEYS), 0, 64),
            slice_of_ribbon=as_slice(make("ribbon", 64 * 512, 0, KEYS), 0, 64),
            slice_folded=changed(m_unfolded=2 * field(MIDDLE, "m")),
            slice_of_which_m_unfolded_is_that_of_the_whole=as_slice(
                one_page, 64, 128, m_unfolded=128 * 512),
            slice_that_is_a_layer=changed(incompat=3),
            layer_that_is_a_slice=edit(as_layer(one_page, layers=1, rest_size=len(one_page)),
                                       header={"incompat": 3}),
            slice_in_embedded_form_of_no_whole=as_slice(embedded, 0, 0),
            slice_of_classic_truncated=as_slice(make("classic", 64 * 512, 6, KEYS), 0, 64)[:-1])
    out.add("ELABEL", "V18", slice_of_classic_with_a_wrong_label=as_slice(
        make("classic", 64 * 512, 6, KEYS), 0, 64, label=b"\n"))


def places(out):
    """V20; a whole filter's fields also differ in bits 32 and above."""
    two_pages = make("blocked", 128 * 512, 6, KEYS)
    odd = make("blocked", 65 * 512, 6, KEYS)
    out.add("ESLICE", "V20", slice_of_no_blocks=changed(whole_blocks=0),
            slice_of_2_to_51_plus_1_blocks=changed(whole_blocks=2**51 + 1),
            slice_of_2_to_60_blocks=changed(whole_blocks=2**60),
            slice_of_all_ones_blocks=changed(whole_blocks=2**64 - 1),
            slice_of_fewer_blocks_than_its_own=changed(FIRST, whole_blocks=63),
            slice_beyond_the_end=changed(first_block=128),
            slice_beyond_the_end_by_a_block=changed(LAST, whole_blocks=WHOLE_BLOCKS - 1),
            slice_beyond_the_end_by_2_to_32_blocks=changed(first_block=2**32),
            slice_at_the_end=changed(LAST, first_block=128, whole_blocks=128),
            slice_at_minus_64=changed(FIRST, first_block=2**64 - 64),
            slice_at_minus_64_of_2_to_51_blocks=as_slice(two_pages, 2**64 - 64, 2**51),
            slice_at_2_to_63=changed(first_block=2**63),
            slice_at_all_ones=changed(first_block=2**64 - 1),
            slice_at_1=changed(first_block=1), slice_at_63=changed(first_block=63),
            slice_at_32=changed(first_block=32),
            last_slice_at_65=changed(LAST, first_block=65, whole_blocks=65 + 22),
            slice_with_a_block_of_the_next_page=as_slice(odd, 0, WHOLE_BLOCKS),
            last_slice_in_the_middle=changed(LAST, first_block=64),
            last_slice_of_a_longer_whole=changed(LAST, whole_blocks=WHOLE_BLOCKS + 1),
            slice_beyond_the_end_truncated=changed(first_block=128)[:-1])
    out.add("EFEATURE", "V8", slice_with_an_unknown_feature=changed(incompat=6),
            slice_that_is_a_layer_with_an_unknown_feature=changed(incompat=2**31 | 3))


def states(out):
    """Both records of a slice say sealed."""
    out.add("ETRUNCATED", "V26", slice_without_its_page_checksum=MIDDLE[:-4])
    out.add("ETRAILING", "V27", slices_behind_one_another=MIDDLE + LAST)
    out.add("ESTATE", "V29", slice_live=edit(MIDDLE, record=IN_USE),
            slice_live_clean=edit(MIDDLE, record={**IN_USE, "boot_id": bytes(16)}),
            slice_poisoned=edit(MIDDLE, record={**IN_USE, "state": POISONED}))
    out.add("ESTATE", "V30", slice_with_more_ones_than_bits=edit(LAST, record={"ones": 22 * 512 + 1}))
    out.add("ERECORD", "V33", slice_of_an_interrupted_seal=edit(MIDDLE, record=IN_USE, records=[1]),
            slice_with_a_torn_record=flip(MIDDLE, 3072 + 16))


def bodies(out):
    ones, beyond = field(LAST, "ones", 0), flip(body_of(LAST), 22 * 64)
    out.add("EPAGE", "12.4", slice_with_a_flipped_bit=flip(MIDDLE, 4096 + 100),
            slice_with_the_body_of_another=MIDDLE[:4096] + FIRST[4096:])
    out.add("EBODY", "12.4", slice_with_a_bit_beyond_the_whole=edit(
        LAST, body=beyond, record={"ones": ones + 1}),
            slice_with_too_many_ones=edit(MIDDLE, record={"ones": field(MIDDLE, "ones", 0) + 1}))


def slices(out):
    for add in shapes, places, states, bodies:
        add(out)


# Files of tests/golden, and sets of them that do not make a whole.
A, B, C = (f"slice-{name}.bloom" for name in ("first", "middle", "last"))
INCOMPLETE = [
    [A, B], [B, C], [C, A], [A],
    [A, B, C, C], [A, A, B, C],
    [A, "patched-slice-first.bloom", B, C], ["patched-slice-first.bloom", B, C],
    *([f"slice-{first}.bloom", f"slice-{last}.bloom"] for first, last in (
        ("own-first", "own-last-and-one"), ("own-first", "twice-last"), ("own-first", "half-last"),
        ("half-first", "own-last"), ("half-first", "half-last"), ("twice-first", "own-last"))),
    ["application-slice-1.bloom", "application-slice-2-and-digest-0.bloom"],
    [A, B, C, "slice-of-no-such-cut.bloom"], [A, B, "slice-of-one-block.bloom"],
    ["application-slice-1.bloom", "slice-key-kind.bloom"],
    ["application-slice-ends.bloom", "application-slice-midst.bloom"],
    ["slices-joined.bloom"], ["slices-joined.bloom", A, B, C], ["ribbon-file.bloom"],
    ["blocked-embedded.bloom"], ["series-1.bloom"]]
