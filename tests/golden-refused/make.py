#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of this folder; --check only compares them with the existing files.

    make.py [--check]"""

import argparse
import pathlib
import re
import struct
import sys
from zlib import crc32

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "golden"))

from craft import (LIVE, POISONED, SEALED, SEALED_SEQUENCE, body_of, edit, entries,  # noqa: E402
                   field, flip, header_size, make, write_folder)
import spec_patch  # noqa: E402
from spec_patch import variable  # noqa: E402
from spec_reader import Image, opened, self_test  # noqa: E402
from craft_series import file_name  # noqa: E402
from refused_series import kinds_of_layers, layers, live_series, sealed_series  # noqa: E402
from refused_operations import REFUSED_OPERATIONS  # noqa: E402
from refused_slices import INCOMPLETE, slices  # noqa: E402
from refused_doubt import COLUMNS as DOUBT, doubt, several_layers, several_pages  # noqa: E402

COLUMNS = ["file", "error", "rule"]
KEYS = [b"bloomfile", b"", b"\x80\x1d\xba"]
OTHER_KEYS = [b"other key"]


class Folder:
    def __init__(self):
        self.files, self.rows, self.series = {}, [], []

    def add(self, error, rule, **images):
        """Adds image `page_flipped` as the file page-flipped.bloom."""
        for name, image in images.items():
            file = name.replace("_", "-") + ".bloom"
            self.files[file] = image
            self.rows.append((file, "BLOOMFILE_" + error, rule))

    def add_live(self, error, rule, **series):
        """slot -> bytes; series `without_slot_1` becomes the folder live/without-slot-1."""
        for name, files in series.items():
            folder = "live/" + name.replace("_", "-")
            for slot, image in files.items():
                self.files[f"{folder}/{file_name(slot)}"] = image
            self.series.append((f"{folder}/{file_name(0)}", "BLOOMFILE_" + error, rule))


CLASSIC = make("classic", 100, 3, KEYS, embedded=True, label="a label", fpr=0.05)
BLOCKED = make("blocked", 512, 6, KEYS, embedded=True)
COUNTING = make("counting", 100, 3, KEYS, embedded=True)
RIBBON = make("ribbon", 66 * 512, 0, KEYS)
IN_FILE = make("classic", 100, 3, KEYS)
TWO_PAGES = make("blocked", 512 * 65, 6, KEYS, embedded=True)
OTHER_PAGES = make("blocked", 512 * 65, 6, OTHER_KEYS, embedded=True)  # of the same shape
IDENTITY = bytes(range(0x50, 0x60))
LIVE_RECORD = {"state": LIVE, "sequence": 7, "body_crc": 0, "boot_id": bytes(range(16)),
               "identity": IDENTITY}
LIVE_FILE = edit(IN_FILE, record=LIVE_RECORD)
CREATED = edit(edit(make("classic", 100, 3), record={"state": LIVE, "sequence": 1, "body_crc": 0,
                                                    "identity": IDENTITY}),
               at={3072: bytes(1024)}, checksums=False)


def bits(number):
    """The eight bytes of a float, as an integer."""
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def with_label(label):
    return edit(CLASSIC, header={"label": label})


def not_images(out):
    out.add("EEMPTY", "V1", empty=b"")
    out.add("EMAGIC", "V2", text=b"apple\nbanana\ncherry\n" * 40, zeros=bytes(len(CLASSIC)),
            one_wrong_byte=b"X", magic_first_byte=flip(CLASSIC, 0),
            magic_second_byte=flip(CLASSIC, 1), magic_last_byte=flip(CLASSIC, 7),
            after_one_byte=b"\0" + CLASSIC, textmode_five_bytes=CLASSIC[:4] + b"\n")
    unix = CLASSIC.replace(b"\r\n", b"\n")
    out.add("ETEXTMODE", "V2", textmode_crlf_to_lf=unix,
            textmode_lf_to_crlf=CLASSIC.replace(b"\n", b"\r\n"),
            textmode_lone_lf_to_crlf=re.sub(rb"(?<!\r)\n", b"\r\n", CLASSIC),
            textmode_lf_to_cr=CLASSIC.replace(b"\n", b"\r"),
            textmode_cr_to_lf=CLASSIC.replace(b"\r", b"\n"),
            textmode_seven_bits=bytes(byte & 0x7F for byte in CLASSIC),
            textmode_six_bytes=unix[:6], textmode_seven_bytes=unix[:7])


def truncated(out):
    whole = len(CLASSIC)
    out.add("ETRUNCATED", "V3", **{f"truncated_to_{size}": CLASSIC[:size] for size in (1, 8, 15)})
    out.add("ETRUNCATED", "V5", **{f"truncated_to_{size}": CLASSIC[:size] for size in (16, 511)},
            truncated_file_form_to_4095=IN_FILE[:4095],
            header_size_of_the_other_form=edit(CLASSIC, header={"header_size": 4096},
                                               checksums=False))
    out.add("ETRUNCATED", "V26",
            **{f"truncated_to_{size}": CLASSIC[:size] for size in (512, 513, 575, 576, whole - 1)},
            truncated_file_form_to_4096=IN_FILE[:4096],
            body_of_2_to_57_bytes=edit(CLASSIC, header={"m": 2**60, "body_size": 2**57,
                                                        "m_unfolded": 2**60}),
            counting_body_of_2_to_59_bytes=edit(COUNTING, header={"m": 2**60, "body_size": 2**59,
                                                                  "m_unfolded": 2**60}))
    out.add("ETRAILING", "V27", trailing_byte=CLASSIC + b"\0", trailing_newline=CLASSIC + b"\n",
            trailing_page=IN_FILE + bytes(4096), twice=CLASSIC + CLASSIC,
            live_without_its_last_page_trailing=LIVE_FILE + b"\0")
    out.add("ETRUNCATED", "V26", live_without_room_for_checksums=LIVE_FILE[:-4])


def header(out):
    def changed(image=CLASSIC, **fields):
        return edit(image, header=fields)

    out.add("EFORM", "V4", header_size_0=edit(CLASSIC, at={12: bytes(4)}, checksums=False),
            **{f"header_size_{size}": edit(CLASSIC, at={12: struct.pack("<I", size)},
                                           checksums=False)
               for size in (511, 1024, 8192, 2**32 - 1)})
    out.add("EHEADER", "V6", header_bit_flipped=flip(CLASSIC, 48),
            header_reserved_bit_flipped=flip(CLASSIC, 250, 7),
            header_crc_flipped=flip(CLASSIC, 252), header_last_byte_flipped=flip(IN_FILE, 2047, 7),
            version_2_and_wrong_crc=edit(CLASSIC, header={"version": 2}, checksums=False))
    out.add("EVERSION", "V7", version_0=changed(version=0), version_2=changed(version=2),
            version_all_ones=changed(version=2**32 - 1),
            version_2_and_unknown_feature=changed(version=2, incompat=1))
    out.add("ESLICE", "V19", incompat_bit_1=changed(incompat=2),
            incompat_bits_0_and_1=changed(IN_FILE, incompat=3))
    out.add("EFEATURE", "V8", incompat_bit_2=changed(incompat=4), incompat_bits_0_and_2=changed(
                IN_FILE, incompat=5),
            incompat_bits_1_and_2=changed(IN_FILE, incompat=6),
            incompat_bit_31=changed(incompat=2**31), incompat_all_ones=changed(incompat=2**32 - 1),
            incompat_and_unknown_layout=changed(incompat=6, layout=9),
            incompat_bit_2_and_unknown_layout=changed(incompat=4, layout=9))
    out.add("ELAYOUT", "V9", layout_0=changed(layout=0), layout_5=changed(layout=5),
            layout_all_ones=changed(layout=2**32 - 1))
    out.add("EHASH", "V10", hash_id_0=changed(hash_id=0), hash_id_2=changed(hash_id=2),
            hash_id_2_to_31_minus_1=changed(hash_id=2**31 - 1))
    self_test = field(CLASSIC, "self_test")
    out.add("ESELFTEST", "V11", self_test_flipped=changed(self_test=self_test ^ 1),
            self_test_0=changed(self_test=0), seed_of_another_file=changed(seed=1))
    out.add("EHASHCOUNT", "V12", layout_4=changed(layout=4), k_0=changed(k=0), k_65=changed(k=65),
            k_2_to_31=changed(k=2**31), k_all_ones=changed(k=2**32 - 1))
    out.add("EBITS", "V13", m_0=changed(m=0), m_2_to_60_plus_1=changed(m=2**60 + 1),
            m_all_ones=changed(m=2**64 - 1), blocked_m_0=changed(BLOCKED, m=0),
            blocked_m_511=changed(BLOCKED, m=511), blocked_m_513=changed(BLOCKED, m=513),
            blocked_m_2_to_60_plus_512=changed(BLOCKED, m=2**60 + 512), counting_m_0=changed(
                COUNTING, m=0))
    out.add("EOFFSET", "V14", body_offset_0=changed(body_offset=0),
            body_offset_of_the_other_form=changed(body_offset=4096),
            body_offset_all_ones=changed(body_offset=2**64 - 1), body_size_0=changed(body_size=0),
            body_size_unit_too_many=changed(body_size=128), body_size_without_padding=changed(
                body_size=13), body_size_overflow=changed(body_size=2**64 - 64),
            m_of_a_larger_body=changed(m=513, m_unfolded=513),
            counting_body_size_of_classic=changed(COUNTING, m=300, m_unfolded=300),
            file_form_body_size_of_embedded=changed(IN_FILE, body_size=64))
    out.add("ECAPACITY", "V15", capacity_0=changed(capacity=0),
            capacity_2_to_60_plus_1=changed(capacity=2**60 + 1),
            capacity_all_ones=changed(capacity=2**64 - 1))
    out.add("ERATE", "V16", fpr_1=changed(fpr=bits(1.0)), fpr_2=changed(fpr=bits(2.0)),
            fpr_negative=changed(fpr=bits(-0.01)), fpr_minus_0=changed(fpr=bits(-0.0)),
            fpr_infinite=changed(fpr=bits(float("inf"))), fpr_nan=changed(fpr=bits(float("nan"))),
            fpr_all_ones=changed(fpr=2**64 - 1))
    out.add("EUNFOLDED", "V17", m_unfolded_0=changed(m_unfolded=0),
            m_unfolded_below_m=changed(m_unfolded=50),
            m_unfolded_no_multiple=changed(m_unfolded=150),
            m_unfolded_above_2_to_60=changed(m_unfolded=100 * (2**60 // 100 + 1)))
    out.add("ELABEL", "V18", label_newline=with_label(b"two\nlines"),
            label_escape=with_label(b"\x1b[2J"), label_first_c0=with_label(b"\x01"),
            label_last_c0=with_label(b"a\x1f"), label_delete=with_label(b"a\x7f"),
            label_first_c1=with_label(b"\xc2\x80"), label_last_c1=with_label(b"\xc2\x9f"),
            label_latin_1=with_label(b"caf\xe9"), label_lone_continuation=with_label(b"\x80"),
            label_overlong_2=with_label(b"\xc0\xaf"), label_overlong_3=with_label(b"\xe0\x80\xaf"),
            label_overlong_4=with_label(b"\xf0\x80\x80\xaf"),
            label_surrogate=with_label(b"\xed\xa0\x80"),
            label_above_10ffff=with_label(b"\xf4\x90\x80\x80"), label_ff=with_label(b"\xff"),
            label_cut_in_a_character=with_label(b"x" * 111 + b"\xc3"),
            label_cut_before_zeros=with_label(b"\xe2\x82"),
            label_after_a_zero=with_label(b"one\0two"), label_last_byte=with_label(
                bytes(111) + b"x"))


def records(out):
    def changed(image=CLASSIC, slots=(0, 1), **fields):
        return edit(image, record=fields, records=slots)

    both_damaged = flip(flip(CLASSIC, 256 + 16), 384 + 16)
    crc = field(CLASSIC, "header_crc")
    out.add("ERECORD", "V28", records_damaged=both_damaged,
            records_zero=edit(CLASSIC, at={256: bytes(256)}, checksums=False),
            records_of_another_header=changed(header_crc=crc ^ 1),
            records_of_equal_sequence_differ=changed(slots=[1], n=4),
            live_records_of_equal_sequence_differ=edit(LIVE_FILE, record={"n": 4}, records=[1]))
    sealed_lower = edit(CLASSIC, record={"sequence": 6}, records=[1])
    out.add("ERECORD", "V33", record_0_damaged=flip(CLASSIC, 256 + 16),
            record_1_damaged=flip(CLASSIC, 384 + 16), record_1_reserved_flipped=flip(
                CLASSIC, 384 + 100), record_0_crc_flipped=flip(CLASSIC, 383, 7),
            record_1_zero=edit(CLASSIC, at={384: bytes(128)}, checksums=False),
            record_1_of_another_header=changed(slots=[1], header_crc=crc ^ 1),
            record_1_sealed_with_lower_sequence=sealed_lower,
            record_1_poisoned=edit(IN_FILE, record={**LIVE_RECORD, "state": POISONED}, records=[1]),
            embedded_interrupted_seal=edit(CLASSIC, record=LIVE_RECORD, records=[1]),
            interrupted_seal_torn=flip(edit(IN_FILE, record=LIVE_RECORD, records=[1]), 3072 + 16))
    out.add("ESTATE", "V29", state_0=changed(state=0), state_4=changed(state=4),
            state_all_ones=changed(state=2**32 - 1),
            embedded_live=edit(CLASSIC, record=LIVE_RECORD),
            embedded_poisoned=edit(CLASSIC, record={**LIVE_RECORD, "state": POISONED}),
            sealed_of_low_sequence=changed(sequence=7),
            sealed_of_sequence_0=changed(sequence=0),
            live_of_last_sequence=edit(LIVE_FILE, record={"sequence": SEALED_SEQUENCE}),
            poisoned_of_last_sequence=edit(LIVE_FILE, record={"sequence": SEALED_SEQUENCE,
                                                              "state": POISONED}),
            state_0_of_the_intact_record=flip(changed(state=0), 256 + 16),
            **{f"state_{state}_in_file_form": edit(LIVE_FILE, record={"state": state, "boot_id": bytes(16)})
               for state in (0, 4, 2**32 - 1)})
    out.add("ESTATE", "V30", ones_above_m=changed(ones=101), ones_all_ones=changed(ones=2**64 - 1),
            overflow_in_classic=changed(overflow=1),
            overflow_in_blocked=changed(BLOCKED, overflow=1),
            overflow_above_ones=changed(COUNTING, overflow=field(COUNTING, "ones", 0) + 1),
            sealed_with_boot_id=changed(boot_id=bytes(15) + b"\1"),
            live_with_body_crc=edit(LIVE_FILE, record={"body_crc": 1}),
            poisoned_with_body_crc=edit(LIVE_FILE, record={"body_crc": 1, "state": POISONED}))
    other = {"identity": bytes(15) + b"\1", "sequence": 6}
    out.add("ESTATE", "V31", sealed_with_identity=edit(IN_FILE, record={"identity": bytes(15) + b"\1"}),
            live_without_identity=edit(LIVE_FILE, record={"identity": bytes(16)}),
            poisoned_without_identity=edit(LIVE_FILE, record={"identity": bytes(16),
                                                              "state": POISONED}))
    out.add("ERECORD", "V32", live_records_of_two_files=edit(LIVE_FILE, record=other, records=[0]),
            poisoned_record_of_another_file=edit(
                LIVE_FILE, record={**other, "state": POISONED}, records=[1]))


def not_sealed(out):
    newer = edit(LIVE_FILE, record={"sequence": 8, "n": 5}, records=[1])
    out.add("ELIVE", "V36", live=newer, live_clean=edit(LIVE_FILE, record={"boot_id": bytes(16)}),
            live_just_created=CREATED,
            live_with_a_torn_record=flip(newer, 2048 + 16),
            live_after_a_sealed_record_of_another_header=edit(
                LIVE_FILE, records=[0], record={"sequence": SEALED_SEQUENCE, "state": SEALED,
                                                "header_crc": 1}))
    def sequences(first, second):
        """A live record 0 and a poisoned record 1."""
        image = edit(LIVE_FILE, record={"sequence": first}, records=[0])
        return edit(image, record={"sequence": second, "state": POISONED}, records=[1])

    out.add("EPOISONED", "V35", newer_record_0=sequences(1001, 1000),
            newer_record_0_by_its_high_half=sequences(2**32, 5),
            newer_record_0_by_its_top_bit=sequences(2**63 + 1, 5), newer_record_1=sequences(1000, 1001),
            newer_record_1_by_its_high_half=sequences(5, 2**32),
            newer_record_1_by_its_top_bit=sequences(5, 2**63 + 1))
    out.add("EPOISONED", "V35", poisoned=edit(LIVE_FILE, record={"state": POISONED}),
            poisoned_after_live=edit(LIVE_FILE, record={"state": POISONED, "sequence": 8},
                                     records=[0]),
            poisoned_with_a_torn_record=flip(edit(LIVE_FILE, record={"state": POISONED}), 3072))


def torn_poison(out):
    """The record in force is clean, and the other record is not intact."""
    clean = edit(LIVE_FILE, record={"boot_id": bytes(16)})
    for slot in 0, 1:
        torn = flip(edit(clean, record={"state": POISONED, "sequence": 8}, records=[slot]), 2148 + 1024 * slot)
        out.add("EPOISONED", "V35", **{f"poison_in_torn_record_{slot}": torn})
    out.add("EPOISONED", "V35", poison_in_a_record_of_zeros=edit(
        clean, at={3072: bytes(8) + struct.pack("<I", POISONED) + bytes(1012)}, checksums=False))


def body(out):
    def changed(image, position):
        return flip(body_of(image), position // 8, position % 8)

    H, last = 512, len(TWO_PAGES) - 1
    other = make("classic", 100, 3, OTHER_KEYS, embedded=True)
    first_page, second_page, sums = slice(H, H + 4096), slice(H + 4096, H + 4160), H + 4160
    out.add("EPAGE", "12.4", page_0_bit_flipped=flip(CLASSIC, H + 12),
            page_0_padding_flipped=flip(CLASSIC, H + 63, 7),
            page_1_bit_flipped=flip(TWO_PAGES, H + 4096 + 10),
            page_0_checksum_flipped=flip(CLASSIC, H + 64),
            page_1_checksum_flipped=flip(TWO_PAGES, last, 7),
            page_0_zero=edit(CLASSIC, at={H: bytes(64)}, checksums=False),
            page_checksums_swapped=edit(TWO_PAGES, at={sums: TWO_PAGES[-4:] + TWO_PAGES[-8:-4]}),
            page_checksums_not_bound_to_the_body=edit(TWO_PAGES, at={
                sums: entries(body_of(TWO_PAGES), 0)}),
            body_of_another_file=edit(CLASSIC, at={H: body_of(other)}),
            body_and_pages_of_another_file=CLASSIC[:H] + other[H:],
            page_0_and_its_checksum_of_another_file=edit(TWO_PAGES, at={
                H: OTHER_PAGES[first_page], sums: OTHER_PAGES[sums:sums + 4]}),
            page_1_and_its_checksum_of_another_file=edit(TWO_PAGES, at={
                H + 4096: OTHER_PAGES[second_page], sums + 4: OTHER_PAGES[sums + 4:]}))
    ones = field(CLASSIC, "ones", 0)
    out.add("EBODY", "12.4", body_crc_wrong=edit(TWO_PAGES, record={"body_crc": 1}),
            ones_too_few=edit(CLASSIC, record={"ones": ones - 1}),
            ones_too_many=edit(CLASSIC, record={"ones": ones + 1}),
            overflow_too_many=edit(COUNTING, record={"overflow": 1}),
            counting_ones_too_few=edit(COUNTING, record={"ones": field(COUNTING, "ones", 0) - 1}),
            bit_beyond_m=edit(CLASSIC, body=changed(CLASSIC, 100)),
            bit_beyond_m_counted=edit(CLASSIC, body=changed(CLASSIC, 103),
                                      record={"ones": ones + 1}),
            padding_of_the_body=edit(CLASSIC, body=changed(CLASSIC, 511)),
            padding_of_the_body_in_file_form=edit(IN_FILE, body=changed(IN_FILE, 8 * 4096 - 1)),
            counter_beyond_m=edit(COUNTING, body=flip(body_of(COUNTING), 50)))


def ribbon(out):
    """An image of 66 lines: the page of the last two is padded."""
    def with_head(change, **record):
        """The first page's head is changed."""
        data = body_of(RIBBON)
        value = change(int.from_bytes(data[:8], "little")).to_bytes(8, "little") + data[8:]
        return edit(RIBBON, body=value, record={
            "ones": int.from_bytes(value, "little").bit_count(), **record})

    def with_blocks(blocks):
        return with_head(lambda head: head & ~0xFFFF | blocks)

    m, ones, H = field(RIBBON, "m"), field(RIBBON, "ones", 0), header_size(RIBBON)
    out.add("EHASHCOUNT", "V12", ribbon_k_1=edit(RIBBON, header={"k": 1}))
    out.add("EBITS", "V13", ribbon_m_1=edit(RIBBON, header={"m": m + 1}),
            ribbon_m_0=edit(RIBBON, header={"m": 0}))
    out.add("EUNFOLDED", "V17", ribbon_folded=edit(RIBBON, header={"m_unfolded": 2 * m}))
    out.add("ESTATE", "V29", ribbon_live=edit(RIBBON, record=LIVE_RECORD),
            ribbon_live_clean=edit(RIBBON, record={**LIVE_RECORD, "boot_id": bytes(16)}),
            ribbon_poisoned=edit(RIBBON, record={**LIVE_RECORD, "state": POISONED}))
    out.add("ERECORD", "V33", ribbon_interrupted_seal=edit(RIBBON, record=LIVE_RECORD, records=[1]))
    out.add("ESTATE", "V30", ribbon_overflow=edit(RIBBON, record={"overflow": 1}))
    out.add("EPAGE", "12.4", ribbon_head_flipped=flip(RIBBON, H),
            ribbon_last_page_flipped=flip(RIBBON, H + 4096 + 9),
            ribbon_last_page_padding_flipped=flip(RIBBON, H + 8191))
    out.add("EBODY", "12.4", ribbon_of_1_block=with_blocks(1),
            ribbon_of_512_blocks=with_blocks(512), ribbon_of_65535_blocks=with_blocks(65535),
            ribbon_head_bit_23=with_head(lambda head: head | 1 << 23),
            ribbon_head_bit_31=with_head(lambda head: head | 1 << 31),
            ribbon_keys_too_many=with_head(lambda head: head + (1 << 32)),
            ribbon_keys_too_few=with_head(lambda head: head - (1 << 32)),
            ribbon_n_too_large=edit(RIBBON, record={"n": 4}),
            ribbon_uncounted_keys_too_many=with_head(lambda head: head | (2**32 - 1) << 32),
            ribbon_ones_too_few=edit(RIBBON, record={"ones": ones - 1}),
            ribbon_bit_beyond_m=edit(RIBBON, body=flip(body_of(RIBBON), 4096 + 128),
                                     record={"ones": ones + 1}))


# --- Patches between two embedded images, each with one change ---

BASE = ("classic-embedded.bloom", "blocked-embedded.bloom", "counting-embedded.bloom",
        "slice-last.bloom", "slices-joined.bloom", "ribbon-embedded.bloom", "series-classic.bloom")
OLD = [opened((FOLDER.parent / "golden" / name).read_bytes(), name) for name in BASE]
CLASSIC_OLD, BLOCKED_OLD, COUNTING_OLD, SLICE_OLD, JOINED_OLD, RIBBON_OLD, SERIES_OLD = OLD


class Patches:
    def __init__(self):
        self.files, self.rows = {}, [["patch", "base", "error", "rule"]]

    def add(self, error, rule, base=0, **patches):
        for name, patch in patches.items():
            file = "patch-" + name.replace("_", "-") + ".patch"
            self.files[file] = patch
            self.rows.append([file, BASE[base], "BLOOMFILE_" + error, rule])

    def index(self):
        return "".join("\t".join(row) + "\n" for row in self.rows).encode()


def with_crc(data):
    return data + struct.pack("<I", crc32(data))


def head(image=CLASSIC_OLD, result=None, **changes):
    """The head of a patch from an image to `result` (bytes), apart from the changed fields."""
    new = Image(result or bytes(image.data), "result", True)
    crcs = image.record["body_crc"], new.record["body_crc"]
    headers = [spec_patch.header_of(each) for each in (image, new)]
    edits = spec_patch.edits_between(*map(spec_patch.reduced, headers, crcs))
    given = {"magic": spec_patch.MAGIC, "version": 1, "features": 0, "layout": image.header["layout"],
             "names": [spec_patch.name_of(headers[0]), crcs[0], spec_patch.name_of(headers[1]), crcs[1]],
             "body_size": image.header["body_size"], "edits": edits, **changes}
    return with_crc(given["magic"] + bytes([given["version"], given["features"], given["layout"]])
                    + struct.pack("<4I", *given["names"]) + variable(given["body_size"])
                    + variable(len(given["edits"])) + given["edits"])


def strings(*units):
    """Each kind of change: nothing, or the numbers before its size and the bits of its string."""
    heads, strings_ = b"", b""
    for what in units:
        if what is None:
            heads += variable(0)
            continue
        count, parameters, bits = what
        bits = bits.replace(" ", "")
        string = bytes(int(bits[at:at + 8][::-1].rjust(8, "0"), 2) for at in range(0, len(bits), 8))
        heads += variable(count) + parameters + variable(len(string))
        strings_ += string
    return heads + strings_


def part(*units, skip=0, span=1):
    return with_crc(variable(skip) + variable(span) + strings(*units))


END = b"\0"
SET_FIRST = 1, b"\0", "1"  # one change: of the first eligible cell


def wrong_heads(out):
    good = head() + b"\1"
    out.add("ETRUNCATED", "patches.md 5", empty=b"", start=good[:20], no_end=good[:-1], no_head_crc=good[:-2])
    out.add("EPATCH", "P1", no_magic=b"B" + good[1:], filter=bytes(CLASSIC_OLD.data), text=b"apple\n" * 9)
    out.add("EVERSION", "P2", version_0=head(version=0), version_2=head(version=2))
    out.add("EFEATURE", "P3", feature_2=head(features=4), feature_7=head(features=128))
    out.add("EPATCH", "P5", followed_but_of_no_layer=head(features=2))
    out.add("EDIFFERENTBASE", "P6", of_a_layer=head(features=1), of_a_layer_and_followed=head(features=3))
    out.add("ELAYOUT", "P4", layout_0=head(layout=0), layout_4=head(layout=4))
    at = len(good) - 5
    out.add("EPATCH", "P5", body_size_0=head(body_size=0), body_size_63=head(body_size=63),
            edits_too_large=good[:27] + b"\x80\x01" + variable(8193),
            body_size_in_too_many_bytes=good[:27] + b"\xc0\x81\x80\x00" + good[29:],
            body_size_of_65_bits=good[:27] + b"\xff" * 9 + b"\x02" + good[29:],
            head_crc_flipped=flip(good, at))
    names = struct.unpack("<4I", good[11:27])
    out.add("EDIFFERENTBASE", "P6", other_header=head(names=[names[0] ^ 1, *names[1:]]) + b"\1",
            other_body=head(names=[names[0], names[1] ^ 1, *names[2:]]) + b"\1")
    out.add("EPATCH", "P7", other_layout=head(layout=1) + b"\1", other_body_size=head(body_size=256) + b"\1")
    H = 512
    out.add("EPATCH", "P8", edits_not_applied=head(result=edit(
                bytes(CLASSIC_OLD.data), header={"capacity": 77}), edits=b"") + b"\1",
            edit_beyond_the_header=head(edits=variable(H) + variable(1) + b"x") + b"\1",
            edit_longer_than_the_edits=head(edits=variable(0) + variable(9) + b"x") + b"\1",
            edit_without_a_size=head(edits=variable(1)) + b"\1",
            result_header_invalid=head(**header_without_k()) + b"\1",
            result_header_invalid_and_no_parts=head(**header_without_k()))


def header_without_k():
    """The names and the edits of a result with k = 0, which no reader opens."""
    crc = CLASSIC_OLD.record["body_crc"]
    old = spec_patch.reduced(spec_patch.header_of(CLASSIC_OLD), crc)
    new = bytearray(old)
    new[40] = 0
    names = [spec_patch.name_of(spec_patch.header_of(CLASSIC_OLD)), crc,
             spec_patch.name_of(spec_patch.restored(new, crc)), crc]
    return {"names": names, "edits": spec_patch.edits_between(old, new)}


def wrong_parts(out):
    start, good = head(), part(SET_FIRST, None)
    out.add("ETRUNCATED", "patches.md 5", part_cut=start + good[:-1], string_cut=start + good[:-5],
            part_without_numbers=start + good[:2])
    out.add("EPATCH", "P10", span_0=start + part(None, None, span=0), skip_too_far=start + b"\2",
            span_too_far=start + part(None, None, span=2), span_huge=start + part(None, None, span=2**63),
            skip_huge=start + variable(2**64 - 1),
            gap_bits_57=start + part((1, b"\x39", "1"), None),
            part_crc_flipped=start + flip(good, len(good) - 1) + END,
            number_in_too_many_bytes=start + with_crc(b"\0\x81\0" + strings(SET_FIRST, None)) + END,
            strings_too_large=start + variable(0) + variable(1) + b"\1\0" + variable(2**20) + b"\1\0\1")
    out.add("EPATCH", "P10", base=1,
            typical_0=head(BLOCKED_OLD) + part((1, b"\0\0\0", "1 1"), None),
            typical_513=head(BLOCKED_OLD) + part((1, b"\0" + variable(513) + b"\0", "1 1"), None),
            count_bits_57=head(BLOCKED_OLD) + part((1, b"\0\1\x39", "1 1"), None))
    out.add("ETRAILING", "P11", byte_behind_the_end=start + b"\1\0")


def wrong_strings(out):
    start = head()
    out.add("EPATCH", "P10", string_without_an_end=start + part((1, b"\0", "0" * 8), None) + END,
            string_without_its_low_bits=start + part((1, b"\x08", "1"), None) + END,
            string_with_a_one_behind=start + part((1, b"\0", "1 1"), None) + END,
            string_with_a_byte_behind=start + part((1, b"\0", "1" + "0" * 8), None) + END,
            string_of_too_few=start + part((3, b"\0", "1" * 2), None) + END,
            cell_beyond_the_part=start + part((1, b"\x0b", "01" + "0" * 11), None) + END,
            gap_of_62_bits=start + part((1, b"\x38", "0" * 64 + "1" + "0" * 56), None) + END)
    blocked = head(BLOCKED_OLD)
    nine = "0" * 9 + "1"
    out.add("EPATCH", "P10", base=1,
            block_beyond_the_part=blocked + part((1, b"\0\1\0", nine + "1" + "0" * 9), None) + END,
            count_0=blocked + part((1, b"\0\1\0", "1 001"), None) + END,
            count_above_the_block=blocked + part((1, b"\0" + variable(512) + b"\0", "1 01"), None) + END,
            skip_above_the_block=blocked + part((1, b"\0\2\0", "1 1" + "0" * 40 + "1" + "0" * 9), None) + END)
    counting = head(COUNTING_OLD)
    out.add("EPATCH", "P10", base=2,
            moved_above_15=counting + part(None, None, (1, b"\0", "1" + "0" * 28 + "1")) + END,
            moved_below_0=counting + part(None, None, (1, b"\0", "1" + "0" * 29 + "1")) + END)


def other_slices(out):
    """The result is valid, but its place in a whole differs from the base's."""
    def changed(image=SLICE_OLD, place=None, **fields):
        at = {240: struct.pack("<QQ", *place)} if place else {}
        return head(image, result=edit(bytes(image.data), header=fields, at=at)) + variable(
            image.pages)

    m = JOINED_OLD.header["m"]
    out.add("EPATCH", "P8", base=3, to_another_place=changed(place=(64, 64 + 22)),
            to_another_whole_around_one_place=changed(place=(0, 22)), of_a_slice_to_a_whole=changed(
                incompat=0))
    out.add("EPATCH", "P8", base=4, of_a_whole_to_a_slice=changed(
        JOINED_OLD, place=(0, m // 512), incompat=2))


def other_keys(out):
    """The result is valid, but places its keys elsewhere than the base."""
    def changed(**fields):
        return head(result=edit(bytes(CLASSIC_OLD.data), header=fields)) + b"\1"

    h = CLASSIC_OLD.header
    out.add("EPATCH", "P8", to_another_k=changed(k=h["k"] + 1),
            to_another_seed=changed(seed=h["seed"] + 1, self_test=self_test(h["seed"] + 1)),
            to_another_hash=changed(hash_id=2**31, self_test=1))


def wrong_bases(out):
    """The base is refused before the patch is read."""
    out.add("EISRIBBON", "patches.md 5", base=5, of_ribbon=head(RIBBON_OLD) + b"\1", text_for_ribbon=b"apple\n" * 9)


def of_layers(*heads):
    """A patch of a series, given the fields of each layer's head; its pages do not change."""
    last = len(SERIES_OLD.layers) - 1
    return b"".join(
        head(layer, features=1 | (number < last) << 1, **changes) + variable(layer.pages)
        for number, (layer, changes) in enumerate(zip(SERIES_OLD.layers, heads)))


def other_layers(out):
    """Patches of a series; errors of one patch come before errors of the next."""
    first, second = (bytes(layer.data) for layer in SERIES_OLD.layers[:2])
    ones = field(first, "ones", 0)
    newer = {"version": 2}
    out.add("EVERSION", "P2", base=6, second_of_version_2=of_layers({}, newer))
    out.add("EPATCH", "P12", base=6, first_of_other_ones_and_second_of_version_2=of_layers(
        {"result": edit(first, record={"ones": ones + 1})}, newer))
    out.add("EPATCH", "P8", base=6,
            first_with_a_link=of_layers({"result": edit(first, header={"link": 1})}),
            second_with_another_link=of_layers({}, {"result": edit(
                second, header={"link": field(second, "link") + 1})}),
            second_of_another_label=of_layers({}, {"result": edit(second, header={"label": b"other"})}),
            first_of_changed_header_and_second_with_the_link_before=of_layers(
                {"result": edit(first, header={"capacity": 77})}, {}))


def wrong_results(out):
    def patch(image, result, *units):
        return head(image, result=result) + part(*units) + END

    old = bytes(CLASSIC_OLD.data)
    changed = bytearray(body_of(old))
    place = next(i for i in range(1003) if not changed[i // 8] >> i % 8 & 1)
    changed[place // 8] |= 1 << place % 8
    ones = field(old, "ones", 0)
    said = edit(old, body=bytes(changed), record={"ones": ones + 1})
    beyond = flip(body_of(old), 1003 // 8, 1003 % 8)
    free = sum(not body_of(old)[i // 8] >> i % 8 & 1 for i in range(1003))
    out.add("EPATCH", "P12", another_cell=patch(CLASSIC_OLD, said, (1, b"\0", "01"), None),
            nothing_changed=head(result=said) + b"\1",
            ones_not_counted=patch(CLASSIC_OLD, edit(said, record={"ones": ones}), SET_FIRST, None),
            bit_beyond_m=patch(CLASSIC_OLD, edit(old, body=beyond, record={"ones": ones}),
                               (1, b"\0", "0" * free + "1"), None))


def table(rows, columns=COLUMNS):
    return "".join("\t".join(cells) + "\n" for cells in [columns, *rows]).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    out = Folder()
    for add in (not_images, truncated, header, records, not_sealed, body, ribbon, layers,
                sealed_series, live_series, slices, several_pages,
                several_layers, torn_poison, kinds_of_layers):
        add(out)
    patches = Patches()
    for add in (wrong_heads, wrong_parts, wrong_strings, other_slices, other_keys, wrong_bases,
                other_layers, wrong_results):
        add(patches)
    files = {**out.files, **patches.files, "index.tsv": table(out.rows),
             "series.tsv": table(out.series), "doubt.tsv": table(doubt(out.files, out.rows), DOUBT),
             "patches.tsv": patches.index(),
             "slices.tsv": table([(",".join(names), "BLOOMFILE_EINCOMPLETE")
                                  for names in INCOMPLETE], ["slices", "error"]),
             "operations.tsv": table(REFUSED_OPERATIONS, ["operation", "sources", "error"])}
    different = write_folder(FOLDER, files, options.check)
    for name in different:
        print(f"{FOLDER.name}: {name} " + ("differs" if options.check else "written or foreign"))
    return 1 if options.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
