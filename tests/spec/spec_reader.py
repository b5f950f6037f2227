#!/usr/bin/env python3
"""A second implementation of format-spec.md, written from its text alone, in its order.

vectors SPEC            check the tables and the test vectors of the text
wholefile SPEC OUT      write the file that section 4 shows
info, verify FILE       print header and record in force as JSON, of a series those of each layer;
                        check the whole body
query FILE              print the keys that may be present (-v: those certainly absent)
write OUT               make a sealed image of keys, by --layout, --m, --k and further options; with
                        --slice I/C only slice I, from 1, of C, of which the options describe the whole
fold FACTOR SOURCE OUT, union|intersection OUT SOURCE ...,
project SOURCE OUT, copy SOURCE OUT, join OUT SLICE ... (--as-is: whatever keys they were given)

Keys are the lines of standard input; with -0 zero bytes end them, with -x N they have N bytes each.
With --hash-id and --self-test, the name of an application's function, they are digests in hexadecimal.
Live images and live series are refused; spec_series.py reads live series.
Errors are written to standard error; the exit status is then 2."""

import argparse
import json
import re
import struct
import sys
from collections import Counter
from functools import partial, reduce
from math import gcd
from operator import and_, or_
from pathlib import Path
from zlib import crc32

import spec_ribbon
import spec_slice
from spec_slice import OF_SLICE

# --- 2 Conventions ---

U64 = 2**64 - 1


def le(data, offset, size=8):
    return int.from_bytes(data[offset:offset + size], "little")


# --- 6 Static header, 7 Commit records: offset (negative: from the end), struct format ---

HEADER = {
    "magic": (0, "8s"), "version": (8, "I"), "header_size": (12, "I"), "compat": (16, "I"),
    "ro_compat": (20, "I"), "incompat": (24, "I"), "provenance": (28, "I"), "layout": (32, "I"),
    "hash_id": (36, "I"), "k": (40, "I"), "key_kind": (44, "I"), "m": (48, "Q"),
    "seed": (56, "Q"), "self_test": (64, "Q"), "body_offset": (72, "Q"), "body_size": (80, "Q"),
    "capacity": (88, "Q"), "fpr": (96, "Q"), "m_unfolded": (104, "Q"), "tag": (112, "16s"),
    "label": (128, "112s"), "header_crc": (-4, "I")}
HAS_KEYS = 1  # bit of `compat`
OF_SERIES = 1  # bit of `incompat`
LAYER = {  # slices.md 2.1
    "series": (240, "Q"), "layer": (248, "Q"), "generations": (256, "I"), "layers": (260, "I"),
    "rest_size": (264, "Q"), "link": (272, "Q"), "series_fpr": (280, "Q"), "period": (288, "Q"),
    "began": (296, "Q")}
MOST_LAYERS = 1000
RECORD = {
    "sequence": (0, "Q"), "state": (8, "I"), "flags": (12, "I"), "n": (16, "Q"),
    "ones": (24, "Q"), "overflow": (32, "Q"), "boot_id": (40, "16s"), "body_crc": (56, "I"),
    "header_crc": (60, "I"), "writers": (64, "I"), "watermark": (72, "32s"),
    "identity": (128, "16s"), "record_crc": (-4, "I")}
MAGIC = bytes.fromhex("BF 42 4C 4D 0D 0A 1A 0A")
TEXT_MODE = [
    "BF 42 4C 4D 0A 1A 0A", "BF 42 4C 4D 0D 0D 0A 1A 0D 0A", "BF 42 4C 4D 0D 0A 1A 0D 0A",
    "BF 42 4C 4D 0D 0D 1A 0D", "BF 42 4C 4D 0A 0A 1A 0A", "3F 42 4C 4D 0D 0A 1A 0A"]
KEY_KINDS = {"unknown": 0, "text": 1, "lower": 2, "integers": 3, "fixed": 4, "bytes": 5}
LOWER, FIXED = KEY_KINDS["lower"], KEY_KINDS["fixed"]
LAYOUTS = {"blocked": 1, "classic": 2, "counting": 3, "ribbon": 4}
BLOCKED, CLASSIC, COUNTING, RIBBON = LAYOUTS.values()
OF_POSITIONS = BLOCKED, CLASSIC, COUNTING
INTERSECTION, UNION, PROJECTION, KNOWN_PROVENANCE = 1, 2, 4, 7
NOT_IN_LABEL = "[\0-\x1f\x7f-\x9f\ud800-\udfff]"  # surrogates stand for bytes that are not UTF-8
LIVE, SEALED, POISONED = 1, 2, 3
SEALED_SEQUENCE, N_ESTIMATED = 2**64 - 1, 1


def parse(fields, part):
    return {name: struct.unpack_from("<" + form, part, offset)[0]
            for name, (offset, form) in fields.items() if offset < len(part)}


def serialise(fields, values, size):
    part = bytearray(size)
    for name, (offset, form) in fields.items():
        if offset >= size:
            continue
        value = values[name] if offset >= 0 else crc32(part[:-4])
        struct.pack_into("<" + form, part, offset, value)
    return bytes(part)


def keys_known(keys):
    """Whether the text defines this key_kind (kind and key_size in one number)."""
    return keys & 255 in KEY_KINDS.values() and (keys & 255 == FIXED) == (keys > 255)


def keys_of(header):
    return header["key_kind"] if header["compat"] & HAS_KEYS else 0


def keys_given(options):
    return KEY_KINDS[options.key_kind] | options.key_size << 8


APPLICATIONS = 0x80000000  # and above: hash_id of app-hashes.md


# --- 9 From key to digest, 10 From digest to positions ---

TEST_STRING = bytes((128 + 157 * i) % 256 for i in range(4096))
SELF_TEST = (0, 1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 144, 240, 241, 1024,
             1025, 1088, 1100)
C = 0x9E3779B97F4A7C15


def self_test(seed):
    result = 0
    for length in SELF_TEST:
        result ^= xxh3(TEST_STRING[:length], seed)
    return result


def digest_of(header, key):
    """app-hashes.md: the keys of this program are the application's digests, in hexadecimal."""
    return int(key, 16) if header["hash_id"] >= APPLICATIONS else xxh3(key, header["seed"])


def positions(header, digest):
    g, m = digest, header["m"]
    for i in range(header["k"]):
        if header["layout"] == BLOCKED:
            if i % 6 == 0:
                g = g * C & U64
            yield 512 * spec_slice.block_of(header, digest) + (g >> (55 - 9 * (i % 6)) & 511)
        else:
            yield g * m >> 64
            g = g * C & U64


# --- 11 The body: cells of 1 bit, or of 4, which stay at their highest value ---

WIDTH = {BLOCKED: 1, CLASSIC: 1, COUNTING: 4, RIBBON: 1}
FOLDED_UNIT = {BLOCKED: 512, CLASSIC: 1, COUNTING: 1, RIBBON: 512}


def body_size(header):
    unit = {4096: 4096, 512: 64, 0: 1}[header["header_size"]]  # 0: compact
    need = -(-header["m"] * WIDTH[header["layout"]] // 8)
    return -(-need // unit) * unit


def make_body(header, counts):
    """counts: the number of hits of each position."""
    body, bits = bytearray(body_size(header)), WIDTH[header["layout"]]
    for x, count in counts.items():
        body[x * bits // 8] |= min(count, 2**bits - 1) << x * bits % 8
    return body


def own_digests(header, digests):
    """The digests that a filter, or a slice, holds."""
    return {digest for digest in digests if spec_slice.is_own(header, digest)}


def body_of_keys(header, digests):
    if header["layout"] == RIBBON:
        used = spec_ribbon.body_of_digests(digests, header["m"])
        return used.ljust(body_size(header), b"\0")
    return make_body(header, Counter(x for digest in digests for x in positions(header, digest)))


def cells(header, body):
    bits = WIDTH[header["layout"]]
    return bytes(byte >> shift & 2**bits - 1 for byte in body for shift in range(0, 8, bits))


def ones_and_overflow(header, body):
    if WIDTH[header["layout"]] == 1:
        return int.from_bytes(body, "little").bit_count(), 0
    values = bytes(body).hex()
    return len(values) - values.count("0"), values.count("f")


# --- 12 Checksums, 13 Validity, 14 Lookups, and the making of images ---

class Image:
    """Bytes that satisfy the rules of section 13."""

    def __init__(self, data, path, knows_applications=False):
        self.data, self.path, self.pages_checked = memoryview(data), path, {}
        self.knows_applications = knows_applications
        self.check_header()
        self.is_named = self.header["hash_id"] < APPLICATIONS
        self.check_records()

    def need(self, condition, error):
        if not condition:
            raise ValueError(f"{self.path}: BLOOMFILE_{error}")

    def check_header(self):
        data, need, S = self.data, self.need, len(self.data)
        need(S >= 1, "EEMPTY rule V1")
        text_mode = S >= 6 and any(data[:len(start)] == start[:S]
                                   for start in map(bytes.fromhex, TEXT_MODE))
        need(data[:8] == MAGIC[:S], "ETEXTMODE rule V2" if text_mode else "EMAGIC rule V2")
        need(S >= 16, "ETRUNCATED rule V3")
        H = le(data, 12, 4)
        need(H in (512, 4096), "EFORM rule V4")
        need(S >= H, "ETRUNCATED rule V5")
        self.header = h = parse(HEADER, data[:H // 2])
        m, layout = h["m"], h["layout"]
        need(h["header_crc"] == crc32(data[:H // 2 - 4]), "EHEADER rule V6")
        need(h["version"] == 1, "EVERSION rule V7")
        unknown = h["incompat"] & ~(OF_SERIES | OF_SLICE)
        lowest_bit = (unknown & -unknown).bit_length() - 1
        need(unknown == 0, f"EFEATURE rule V8 bit {lowest_bit}")
        need(layout in WIDTH, "ELAYOUT rule V9")
        of_application = h["hash_id"] >= APPLICATIONS
        need(h["hash_id"] == 1 or of_application and self.knows_applications, "EHASH rule V10")
        need(of_application or h["self_test"] == self_test(h["seed"]), "ESELFTEST rule V11")
        need(h["k"] == 0 if layout == RIBBON else 1 <= h["k"] <= 64, "EHASHCOUNT rule V12")
        need(1 <= m <= 2**60, "EBITS rule V13")
        need(layout not in (BLOCKED, RIBBON) or m % 512 == 0, "EBITS rule V13")
        size = body_size(h)
        need(h["body_offset"] == H and h["body_size"] == size, "EOFFSET rule V14")
        need(1 <= h["capacity"] <= 2**60, "ECAPACITY rule V15")
        need(h["fpr"] < 0x3FF0000000000000, "ERATE rule V16")
        need(m <= h["m_unfolded"] <= 2**60 and h["m_unfolded"] % m == 0, "EUNFOLDED rule V17")
        need(layout != RIBBON or h["m_unfolded"] == m, "EUNFOLDED rule V17")
        self.label = h["label"].rstrip(b"\0").decode("utf-8", "surrogateescape")
        need(not re.search(NOT_IN_LABEL, self.label), "ELABEL rule V18")
        self.pages = -(-size // 4096)
        self.size = H + size + 4 * self.pages
        if h["incompat"] & OF_SLICE:
            self.check_slice()
        elif h["incompat"] & OF_SERIES:
            self.check_layer()
        expected = h["rest_size"] if self.is_sealed_layer() else self.size
        need(S >= expected, "ETRUNCATED rule V26")
        need(S == expected, "ETRAILING rule V27")
        self.body, self.entries = data[H:H + size], data[H + size:self.size]

    def check_slice(self):
        """slices.md 1.1."""
        self.need(spec_slice.has_shape_of_slice(self.header), "ESLICE rule V19")
        self.header.update(parse(spec_slice.FIELDS, self.data[:2048]))
        self.need(spec_slice.is_in_its_whole(self.header), "ESLICE rule V20")

    def check_layer(self):
        """slices.md 2.1."""
        h, need = self.header, self.need
        need(h["header_size"] == 4096 and h["layout"] in (BLOCKED, CLASSIC),
             "ESERIES rule V21")
        h.update(parse(LAYER, self.data[:2048]))
        if h["layers"] == 0:
            need(h["series"] != 0, "ESERIES rule V22")
            need(h["generations"] == 0 or 2 <= h["generations"] <= 1000, "ESERIES rule V22")
            need(h["rest_size"] == h["link"] == 0, "ESERIES rule V22")
            if h["generations"] == 0:
                need(h["layer"] < MOST_LAYERS and h["fpr"] and h["series_fpr"]
                     and h["period"] == h["began"] == 0, "ESERIES rule V22")
            need(h["layer"] < 2**63, "ESERIES rule V22")
        else:
            need(h["layer"] < h["layers"] <= MOST_LAYERS, "ESERIES rule V23")
            need(h["series"] == h["generations"] == h["period"] == h["began"] == 0,
                 "ESERIES rule V23")
        need(h["series_fpr"] < 0x3FF0000000000000, "ESERIES rule V24")
        is_last = h["layer"] == h["layers"] - 1
        need(h["layers"] == 0 or (h["rest_size"] == self.size if is_last else
                                  h["rest_size"] > on_pages(self.size)), "ESERIES rule V25")

    def is_layer(self):
        return self.header["incompat"] & OF_SERIES != 0

    def is_slice(self):
        return spec_slice.is_slice(self.header)

    def is_sealed_layer(self):
        return self.header.get("layers", 0) != 0

    def check_records(self):
        need, h, H = self.need, self.header, self.header["header_size"]
        slots = self.data[H // 2:3 * H // 4], self.data[3 * H // 4:H]
        records = [parse(RECORD, slot) for slot in slots]
        intact = [record["record_crc"] == crc32(slot[:-4])
                  and record["header_crc"] == h["header_crc"]
                  for slot, record in zip(slots, records)]
        first, second = (record["sequence"] for record in records)
        self.records_identical = slots[0] == slots[1]
        need(any(intact), "ERECORD rule V28")
        need(not all(intact) or first != second or self.records_identical, "ERECORD rule V28")
        self.in_force = int(second > first if all(intact) else intact[1])
        self.record = r = records[self.in_force]
        other = records[1 - self.in_force]
        sealed = r["state"] == SEALED
        may_live = H == 4096 and h["layout"] != RIBBON and not self.is_slice()
        need(sealed or (r["state"] in (LIVE, POISONED) and may_live), "ESTATE rule V29")
        need(sealed == (r["sequence"] == SEALED_SEQUENCE), "ESTATE rule V29")
        need(r["overflow"] <= r["ones"] <= h["m"], "ESTATE rule V30")
        need(r["overflow"] == 0 or h["layout"] == COUNTING, "ESTATE rule V30")
        need(not any(r["boot_id"]) if sealed else r["body_crc"] == 0, "ESTATE rule V30")
        need(sealed != any(r.get("identity", ())), "ESTATE rule V31")
        of_live = all(intact) and all(x["state"] in (LIVE, POISONED) for x in records)
        need(not of_live or r["identity"] == other["identity"], "ERECORD rule V32")
        interrupted = (may_live and all(intact) and other["state"] == LIVE
                       and other["sequence"] < SEALED_SEQUENCE)
        need(not sealed or self.records_identical or interrupted, "ERECORD rule V33")
        if self.is_layer():
            need(sealed == self.is_sealed_layer(), "ESERIES rule V34")
        need(sealed or POISONED not in (r["state"], other["state"]), "EPOISONED rule V35")
        need(r["state"] != LIVE, "ELIVE rule V36")

    def name(self, hash_id, value):
        """app-hashes.md: names the function that makes digests. Until the name is right, every lookup is "maybe"."""
        self.is_named = False
        self.need(hash_id == self.header["hash_id"], "EHASH")
        self.need(value == self.header["self_test"], "ESELFTEST")
        self.is_named = True
        return self

    def page_is_right(self, page):
        if page not in self.pages_checked:
            stored = self.body[4096 * page:4096 * (page + 1)]
            entry = le(self.entries, 4 * page, 4)
            self.pages_checked[page] = crc32(stored) ^ self.record["body_crc"] == entry
        return self.pages_checked[page]

    def need_right_pages(self):
        wrong = [str(page) for page, right in sorted(self.pages_checked.items()) if not right]
        self.need(not wrong, "EPAGE page " + ", ".join(wrong))

    def verify(self):
        """Section 12.4; returns the image. Section 14: after EBODY every page counts as wrong."""
        wrong = [page for page in range(self.pages) if not self.page_is_right(page)]
        self.need(not wrong, f"EPAGE page {min(wrong, default=None)}")
        if self.body_contradicts():
            self.distrust_all_pages()
            self.need(False, "EBODY")
        return self

    def body_contradicts(self):
        """Points 2 to 6."""
        h, record, body = self.header, self.record, self.body
        return (crc32(body) != record["body_crc"]
                or ones_and_overflow(h, body) != (record["ones"], record["overflow"])
                or bool(int.from_bytes(body, "little") >> h["m"] * WIDTH[h["layout"]])
                or h["layout"] == RIBBON
                and spec_ribbon.heads_contradict(body, h["m"], record["n"]))

    def distrust_all_pages(self):
        self.pages_checked = dict.fromkeys(range(self.pages), False)

    def maybe(self, key):
        """Section 14: in a page with a wrong checksum, every cell counts as set."""
        bits = WIDTH[self.header["layout"]]
        if not self.is_named:
            return True
        digest = digest_of(self.header, key)
        if self.header["layout"] == RIBBON:
            return self.solution_has(digest)
        if not spec_slice.is_own(self.header, digest):
            return True
        for x in positions(self.header, digest):
            byte, shift = divmod(x * bits, 8)
            if self.page_is_right(byte // 4096) and not self.body[byte] >> shift & 2**bits - 1:
                return False
        return True

    def solution_has(self, digest):
        """ribbon.md 4."""
        number = spec_ribbon.page_of(digest, self.header["m"])
        lines = spec_ribbon.lines_of(self.header["m"])[number]
        page = self.body[4096 * number:][:64 * lines]
        return not self.page_is_right(number) or spec_ribbon.maybe(page, digest)

    def need_no_solution(self):
        self.need(self.header["layout"] != RIBBON, "EISRIBBON")
        return self

    def need_whole(self):
        self.need(not self.is_slice(), "EISSLICE")
        return self


def on_pages(size):
    return -(-size // 4096) * 4096


class Series:
    """slices.md 2.2: all layers of a sealed series."""

    def __init__(self, data, path, knows_applications=False):
        self.data, self.path, self.layers = memoryview(data), path, []
        offset = link = 0
        while offset < len(self.data):
            layer = Image(self.data[offset:], path, knows_applications)
            self.add(layer, link)
            link = link_of(layer)
            offset += on_pages(layer.size)

    def add(self, layer, link):
        first = self.layers[0] if self.layers else layer
        layer.need(layer.is_sealed_layer(), "ESERIES rule slices.md 2.2")
        layer.need(layer.header["layer"] == len(self.layers), "ESERIES rule slices.md 2.2")
        layer.need(layer.header["layers"] == first.header["layers"], "ESERIES rule slices.md 2.1")
        layer.need(series_words(layer) == series_words(first), "ESERIES rule slices.md 2.1")
        layer.need(layer.header["link"] == link, "ESERIES rule slices.md 2.2")
        self.layers.append(layer)

    def name(self, hash_id, value):
        for layer in self.layers:
            layer.name(hash_id, value)
        return self

    def verify(self):
        """Verifies each layer, even after a damaged layer; the error is the first."""
        errors = []
        for layer in self.layers:
            try:
                layer.verify()
            except ValueError as refused:
                errors.append(refused)
        if errors:
            raise errors[0]
        return self

    def maybe(self, key):
        return any([layer.maybe(key) for layer in self.layers])


def series_words(layer):
    """The fields that are equal in all layers of one series (slices.md 2.1)."""
    header = layer.header
    return [header[name] for name in ("hash_id", "self_test", "seed", "layout", "tag", "label", "series_fpr")] + [
        header["compat"] & HAS_KEYS, keys_of(header)]


def link_of(layer):
    """The link that the next layer must have."""
    return layer.header["header_crc"] + (layer.record["body_crc"] << 32)


def opened(data, path, knows_applications=False):
    """The image, or the series that begins with it."""
    image = Image(data, path, knows_applications)
    return Series(data, path, knows_applications) if image.is_sealed_layer() else image


def layers_of(image):
    return image.layers if isinstance(image, Series) else [image]


def load(path, offset=0, length=None, knows_applications=True):
    """An image, or a series."""
    data = Path(path).read_bytes()
    if len(data) < offset + (length or 0):
        raise ValueError(f"{path}: BLOOMFILE_ETRUNCATED")
    return opened(data[offset:][:length], path, knows_applications)


def load_one(path):
    """An image that is not a series: slices.md 2.2 has no such operation on series."""
    image = load(path)
    if isinstance(image, Series):
        raise ValueError(f"{path}: BLOOMFILE_EISSERIES")
    return image


def load_source(path):
    """The source of an operation other than copying."""
    return load_one(path).need_no_solution().need_whole().verify()


def page_entries(body):
    return [crc32(body[p:p + 4096]) ^ crc32(body) for p in range(0, len(body), 4096)]


def static_header(header):
    """The bytes of a header; of a layer or a slice if it has the fields of slices.md 2.1 or 1.1."""
    compat = HAS_KEYS if header["key_kind"] else 0
    further, incompat = ((LAYER, OF_SERIES) if "layer" in header else
                         (spec_slice.FIELDS, OF_SLICE) if spec_slice.is_slice(header) else ({}, 0))
    return serialise({**further, **HEADER}, {
        "hash_id": 1, "self_test": self_test(header["seed"]), **header,
        "magic": MAGIC, "version": 1, "compat": compat, "ro_compat": 0,
        "incompat": incompat,
        "body_offset": header["header_size"], "body_size": body_size(header)},
        header["header_size"] // 2)


def sealed(header, body, n, flags=0, watermark=bytes(32)):
    """The bytes of a sealed image."""
    H, (ones, overflow) = header["header_size"], ones_and_overflow(header, body)
    start = static_header(header)
    record = serialise(RECORD, {
        "sequence": SEALED_SEQUENCE, "state": SEALED, "flags": flags, "n": n, "ones": ones,
        "overflow": overflow, "boot_id": bytes(16), "writers": 0, "watermark": watermark, "identity": bytes(16),
        "body_crc": crc32(body),
        "header_crc": le(start, H // 2 - 4, 4)}, H // 4)
    entries = (struct.pack("<I", entry) for entry in page_entries(body))
    return start + record + record + body + b"".join(entries)


def sealed_series(layers, watermark=bytes(32)):
    """The bytes of a sealed series of these layers: header, body, n and flags of each."""
    rest, link, data = [0], 0, b""
    for header, *_ in reversed(layers):
        size = body_size(header)
        size += 4096 + size // 4096 * 4
        rest.append(rest[-1] + on_pages(size) if rest[-1] else size)
    for number, (header, body, n, flags) in enumerate(layers):
        image = sealed({**header, "series": 0, "layer": number, "generations": 0,
                        "layers": len(layers), "rest_size": rest[-1 - number], "link": link,
                        "period": 0, "began": 0}, body, n, flags,
                       watermark if number == len(layers) - 1 else bytes(32))
        record = parse(RECORD, image[2048:3072])
        link = record["header_crc"] + (record["body_crc"] << 32)
        data = data.ljust(on_pages(len(data)), b"\0") + image
    return data


def seal(path, header, body, n, flags=0, watermark=bytes(32)):
    """Writes a sealed image if it keeps the rules of section 13."""
    data = sealed(header, body, n, flags, watermark)
    Image(data, path, knows_applications=True)
    Path(path).write_bytes(data)


# --- operations.md ---

def combined_body(header, sources):
    """The sum of the sources (pairs of header and body), each folded to the m of `header`."""
    unit, counts = FOLDED_UNIT[header["layout"]], Counter()
    for source, body in sources:
        factor = source["m"] // header["m"]
        for x, value in enumerate(cells(source, body)):
            if value:
                counts[x // unit // factor * unit + x % unit] += value
    return make_body(header, counts)


def common_keys(sources):
    """operations.md 2: the kinds must agree, except for unknown kinds."""
    found = {keys_of(source.header) for source in sources}
    if len(found) > 1 and not all(map(keys_known, found)):
        raise ValueError(f"{sources[0].path}: BLOOMFILE_EFEATURE")
    if len(found - {0}) > 1 or found == {0, LOWER}:
        raise ValueError(f"{sources[0].path}: BLOOMFILE_EKEYKIND")
    return min(found)


def combine(out, sources, provenance=0, **changes):
    """operations.md 6: fields outside `changes` come from the first source."""
    for source in sources:
        provenance |= source.header["provenance"] & KNOWN_PROVENANCE
    header = {**sources[0].header, "key_kind": common_keys(sources), **changes,
              "provenance": provenance}
    record = {**sources[0].record, **changes}
    body = combined_body(header, [(source.header, source.body) for source in sources])
    seal(out, header, body, record["n"], record["flags"] & N_ESTIMATED, record["watermark"])


def fold(_, factor, path, out):
    factor = int(factor, 0)
    source = load_one(path).need_whole().verify() if factor == 1 else load_source(path)
    m, unit = source.header["m"], FOLDED_UNIT[source.header["layout"]]
    if factor < 1 or m // unit % factor:
        raise ValueError(f"{path}: m = {m} cannot be folded by {factor}")
    combine(out, [source], m=m // factor)


def check_alike(out, headers):
    alike = "layout", "k", "seed", "hash_id", "self_test"
    if len({tuple(header[name] for name in alike) for header in headers}) != 1:
        raise ValueError(f"{out}: the sources differ in layout, k, seed or hash")


def count_of_union(sources):
    """n and flags; the specification does not define how n is estimated."""
    counts = [(source.record["n"], source.record["flags"] & N_ESTIMATED) for source in sources]
    having = [count for count in counts if count != (0, 0)]
    flags = having[0][1] if len(having) == 1 else N_ESTIMATED if having else 0
    return {"n": sum(n for n, _ in having), "flags": flags}


def union(_, out, *paths):
    sources = [load_source(path) for path in paths]
    headers = [source.header for source in sources]
    check_alike(out, headers)
    m = gcd(*(h["m"] for h in headers))
    combine(out, sources, UNION, m=m, m_unfolded=m, tag=bytes(16), label=b"",
            capacity=max(h["capacity"] for h in headers), fpr=max(h["fpr"] for h in headers),
            watermark=bytes(32), **count_of_union(sources))


def intersection(_, out, *paths):
    sources = [load_source(path) for path in paths]
    headers = [source.header for source in sources]
    check_alike(out, headers)
    if headers[0]["layout"] == COUNTING:
        raise ValueError(f"{out}: counting filters have no intersection")
    header = {**headers[0], "m": gcd(*(h["m"] for h in headers)),
              "key_kind": common_keys(sources)}
    bodies = [combined_body(header, [(source.header, source.body)]) for source in sources]
    body = bytes(reduce(and_, column) for column in zip(*bodies))
    provenance = reduce(or_, (h["provenance"] & KNOWN_PROVENANCE for h in headers), INTERSECTION)
    seal(out, {**header, "m_unfolded": header["m"], "tag": bytes(16), "label": b"",
               "capacity": max(h["capacity"] for h in headers),
               "fpr": max(h["fpr"] for h in headers), "provenance": provenance},
         body, 0, N_ESTIMATED)


def project(_, path, out):
    source = load_one(path).verify()
    if source.header["layout"] != COUNTING:
        raise ValueError(f"{path}: the layout is not counting")
    combine(out, [source], PROJECTION, layout=CLASSIC)


def copy(_, path, out):
    combine(out, [load_one(path).verify()])


def join(options, out, *paths):
    """slices.md 1.3."""
    sources = [load(path) for path in paths]
    headers = [{**layer.header, "key_kind": keys_of(layer.header),
                "provenance": layer.header["provenance"] & KNOWN_PROVENANCE}
               for source in sources for layer in layers_of(source)]
    order = spec_slice.in_order(headers)
    if order is None or not (options.as_is or spec_slice.have_all_keys(headers)):
        raise ValueError(f"{out}: BLOOMFILE_EINCOMPLETE")
    header = {**spec_slice.whole_of(headers[0]), "header_size": 512 if options.embedded else 4096}
    body = b"".join(sources[i].verify().body for i in order)[:header["m"] // 8]
    n = sum(source.record["n"] for source in sources)
    is_estimate = n > U64 or any(source.record["flags"] & N_ESTIMATED for source in sources)
    seal(out, header, body.ljust(body_size(header), b"\0"), min(n, U64),
         N_ESTIMATED if is_estimate else 0)


# --- compact.md ---

def compact(given, body):
    unused = len(body) * 8 // WIDTH[given["layout"]] - given["m"]
    data = bytes(body) + bytes([1, given["layout"] | unused << 4, 1, given["k"]])
    return data + struct.pack("<I", crc32(data) ^ xxh3(TEST_STRING[:16], given["seed"]) & 2**32 - 1)


def compact_maybe(data, seed):
    """A function from a key to whether the filter may have it."""
    body, (version, layout, hash_id, k) = data[:-8], data[-8:-4] if len(data) > 8 else bytes(4)
    if version != 1 or hash_id != 1 or layout & 15 not in OF_POSITIONS or not 1 <= k <= 64:
        return lambda key: True
    bits = WIDTH[layout & 15]
    header = {"layout": layout & 15, "k": k, "header_size": 0,
              "m": len(body) * 8 // bits - (layout >> 4)}
    if (header["m"] < 1 or body_size(header) != len(body) or compact(
            {**header, "seed": seed}, body) != data or layout & 15 == BLOCKED and header["m"] % 512):
        return lambda key: True
    return lambda key: all(body[x * bits // 8] >> x * bits % 8 & 2**bits - 1
                           for x in positions(header, xxh3(key, seed)))


# --- 20 Test vectors, with the tables of sections 6 and 7; 4 A whole file ---

def section(spec, number, part=None):
    path = Path(spec) if part is None else Path(spec).parent / "doc" / "format" / part
    return re.search(rf"^## {number} .*?(?=^## |\Z)", path.read_text(encoding="utf-8"), re.M | re.S)[0]


def vector_rows(spec):
    """The rows of tests/vectors.tsv, written as in the text: the input, and the answer."""
    rows = (Path(spec).parent / "tests" / "vectors.tsv").read_text(encoding="utf-8").splitlines()
    for kind, layout, given, answer in (row.split("\t") for row in rows[1:]):
        yield " ".join(filter(None, [kind, layout, given])), answer


def examples(spec):
    """The rows that the text and its parts show."""
    for path in Path(spec), *(Path(spec).parent / "doc" / "format").glob("*.md"):
        for fence in re.findall(r"^```\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S):
            yield from re.findall(r"^[a-z]+ .*=.* : .*$", fence, re.M)


def check_table(text, fields, parts):
    stated = re.findall(r"^\| ([^|]+) \| (\d+) \| `(\w+)` \|", text, re.M)
    ours = [(str(offset) if offset >= 0 else f"H/{parts} - {-offset}",
             str(struct.calcsize("<" + form)), name) for name, (offset, form) in fields.items()]
    if stated != ours:
        raise ValueError(f"a table differs: {set(stated) ^ set(ours)}")


def understand(question):
    kind, *words = question.split(" ")
    of_layout, with_body = kind not in PLAIN, kind not in (*PLAIN, *WITHOUT_BODY)
    given = {"layout": LAYOUTS[words.pop(0)], "header_size": 0} if of_layout else {}
    for name, value in (word.split("=") for word in words):
        given[name] = ([int(number) for number in value.split(",")] if "," in value or name == "at" else
                       value.encode() if name == "text" else
                       bytes.fromhex(value) if name in ("bytes", "boot_id", "identity", "watermark") else
                       int(value, 16 if name in HEXADECIMAL else 10))
    if with_body:
        keys = (TEST_STRING[:i] for i in range(given["keys"]))
        given["body"] = body_of_keys(given, {xxh3(key, given["seed"]) for key in keys})
    return kind, {"text": TEST_STRING[:given.get("length", 0)], **given}


PLAIN = "crc", "digest", "selftest", "record", "refused", "layer", "cut"
WITHOUT_BODY = "positions", "series", "slice", "columns", "lookup", "page"
HEXADECIMAL = "seed", "digest", "body_crc", "header_crc", "series", "link", "series_fpr"


def whole_header(given):
    return {**given, "key_kind": 0, "provenance": 0, "capacity": max(given["keys"], 1), "fpr": 0,
            "m_unfolded": given["m"], "tag": bytes(16), "label": b""}


def whole_image(given):
    data = sealed(whole_header(given), given["body"], given["keys"])
    Image(data, "image").verify()
    return data


def whole_series(given):
    layers = []
    for m, k, keys in zip(*([numbers] if isinstance(numbers, int) else numbers
                            for numbers in (given["m"], given["k"], given["keys"]))):
        header = whole_header({**given, "header_size": 4096, "m": m, "k": k, "keys": keys})
        digests = {xxh3(TEST_STRING[:i], given["seed"]) for i in range(keys)}
        layers.append(({**header, "series_fpr": 0}, body_of_keys(header, digests), keys, 0))
    data = sealed_series(layers)
    opened(data, "series").verify()
    return data


def whole_slice(given):
    whole = whole_header({**given, "header_size": 4096})
    header = spec_slice.cut(whole, given["slice"], given["slices"])
    read = [xxh3(TEST_STRING[:i], given["seed"]) for i in range(given["keys"])]
    header.update(spec_slice.given(header, read))
    digests = own_digests(header, set(read))
    data = sealed(header, body_of_keys(header, digests), len(digests))
    Image(data, "slice").verify()
    return data


def size_and_digest(data):
    return f"{len(data)} {xxh3(data, 0):016x}"


def page_solved(given):
    digests = {xxh3(TEST_STRING[:i], given["seed"]) for i in range(given["keys"])}
    return spec_ribbon.vector_of_page(digests, given["lines"])


def record_bytes(given):
    data = serialise(RECORD, given, 1024)
    return f"{data[:144].hex()} {le(data, 1020, 4):08x}"


def refused_by(whole, at=(), bytes=b"", mend=0, size=None, **_):
    """The error and the rule by which section 4's image is refused after the change."""
    data = bytearray(whole)
    for start in at:
        data[start:start + len(bytes)] = bytes
    if mend:
        struct.pack_into("<I", data, 252, crc32(data[:252]))
        for record in 256, 384:
            data[record + 60:record + 64] = data[252:256]
            struct.pack_into("<I", data, record + 124, crc32(data[record:record + 124]))
    size = len(data) if size is None else size
    try:
        opened(data[:size].ljust(size, b"\0"), "image").verify()
    except ValueError as refused:
        error, *rule = str(refused).removeprefix("image: ").split()
        return f"{error} {rule[1] if rule[:1] == ['rule'] else '12.4'}"
    return "none"


ANSWERS = {
    "entries": lambda given: " ".join(f"{entry:08x}" for entry in page_entries(given["body"])),
    "image": lambda given: size_and_digest(whole_image(given)),
    "series": lambda given: size_and_digest(whole_series(given)),
    "slice": lambda given: size_and_digest(whole_slice(given)),
    "cut": spec_slice.vector_of_cut,
    "layer": lambda given: serialise(LAYER, given, 304)[240:].hex(),
    "record": record_bytes,
    "refused": lambda given: refused_by(**given),
    "crc": lambda given: f"{crc32(given['text']):08x}",
    "digest": lambda given: f"{xxh3(given['text'], given['seed']):016x}",
    "selftest": lambda given: f"{self_test(given['seed']):016x}",
    "positions": lambda given: " ".join(map(str, positions(given, given["digest"]))),
    "body": lambda given: "{:08x} {} {}".format(
        crc32(given["body"]), *ones_and_overflow(given, given["body"])),
    "columns": spec_ribbon.vector_of_columns,
    "lookup": spec_ribbon.vector_of_lookup,
    "page": page_solved,
    "compact": lambda given: compact(given, given["body"]).hex()}


def check_compact(given, data):
    maybe = compact_maybe(data, given["seed"])
    absent = [key for key in (TEST_STRING[:i] for i in range(100, 1124)) if not maybe(key)]
    if len(absent) != 1024 - given["maybe"]:
        raise ValueError(f"another number of keys is maybe in {data.hex()}")
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
        for key in absent[:3]:
            if not all(compact_maybe(bad, given["seed"])(key) for bad in (damaged, data[:at])):
                raise ValueError(f"{data.hex()} is not refused when damaged at {at}")


def vectors(_, spec):
    check_table(section(spec, 6), HEADER, 2)
    check_table(section(spec, 7), RECORD, 4)
    check_table(section(spec, 2, "slices.md"), LAYER, 2)
    check_table(section(spec, 1, "slices.md"), spec_slice.FIELDS, 2)
    if re.findall(r"^\| `([\dA-F ]+)` \|", section(spec, 6), re.M) != TEXT_MODE:
        raise ValueError("the table of damaged magics differs")
    text, bodies, whole = section(spec, 20), [], whole_file(spec)
    lines = list(vector_rows(spec))
    shown = list(examples(spec))
    if len(shown) < 30 or not set(shown) <= {f"{question} : {answer}" for question, answer in lines}:
        raise ValueError("the text shows vectors that are not in the table")
    lines = [row for row in lines if row[0].split(" ")[0] in ANSWERS]
    for question, stated in lines:
        kind, given = understand(question)
        given["whole"] = whole
        if stated != ANSWERS[kind](given):
            raise ValueError(f"{question}\nhere: {ANSWERS[kind](given)}")
        bodies += [given] if kind == "body" else []
        if kind == "compact":
            check_compact(given, bytes.fromhex(stated))
    folds = dict(re.findall(r"(\d+) by (\d+)", text))
    for source, target in zip(bodies, bodies[1:]):
        factor = int(folds.get(str(source["m"]), 0))
        if factor and (source["m"] != target["m"] * factor or target["body"]
                       != combined_body(target, [(source, source["body"])])):
            raise ValueError(f"m = {source['m']} folded by {factor}")
    print(f"{len(lines)} vectors ok")


def whole_file(spec):
    data, stated = bytearray(), ""
    row = r"^(\*\n)?([\dA-F]{4,}): (end|[\dA-F]{2}(?: [\dA-F]{2})*)(?:  .*)?$"
    for star, offset, stated in re.findall(row, section(spec, 4), re.M):
        zeros = int(offset, 16) - len(data)
        if zeros < 0 or bool(star) != (zeros > 0):
            raise ValueError(f"{spec}: the row at {offset} does not follow the one before")
        data += bytes(zeros) + (b"" if stated == "end" else bytes.fromhex(stated))
    if stated != "end":
        raise ValueError(f"{spec}: no row with the end of the file")
    return bytes(data)


def wholefile(_, spec, out):
    Path(out).write_bytes(whole_file(spec))


# --- 19 XXH3, 64-bit ---

A1, A2, A3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
A4, A5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
B1, B2, B3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
X1, X2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex("""
    B8 FE 6C 39 23 A4 4B BE 7C 01 81 2C F7 21 AD 1C DE D4 6D E9 83 90 97 DB 72 40 A4 A4 B7 B3 67 1F
    CB 79 E6 4E CC C0 E5 78 82 5A D0 7D CC FF 72 21 B8 08 46 74 F7 43 24 8E E0 35 90 E6 81 3A 26 4C
    3C 28 52 BB 91 C3 00 CB 88 D0 65 8B 1B 53 2E A3 71 64 48 97 A2 0D F9 4E 38 19 EF 46 A9 DE AC D8
    A8 FA 76 3F E3 9C 34 3F F9 DC BB C7 C7 0B 4F 1D 8A 51 E0 4B CD B4 59 31 C8 9F 7E C9 D9 78 73 64
    EA C5 AC 83 34 D3 EB C3 C5 81 A0 FF FA 13 63 EB 17 0D DD 51 B7 F0 DA 49 D3 16 55 26 29 D4 68 9E
    2B 16 BE 58 7D 47 A1 FC 8F F8 B8 D1 7A D0 31 CE 45 CB 3A 8F 95 16 04 28 AF D7 FB CA BB 4B 40 7E
    """)
k64 = partial(le, SECRET)


def swap(x, size):
    return int.from_bytes(x.to_bytes(size, "little"), "big")


def mulfold(a, b):
    return (a * b & U64) ^ (a * b >> 64)


def av64(h):
    h = (h ^ h >> 33) * A2 & U64
    h = (h ^ h >> 29) * A3 & U64
    return h ^ h >> 32


def av3(h):
    h = (h & U64 ^ (h & U64) >> 37) * X1 & U64
    return h ^ h >> 32


def xxh3(data, seed):
    size = len(data)

    def mix16(p, o):
        return mulfold(le(data, p) ^ (k64(o) + seed & U64),
                       le(data, p + 8) ^ (k64(o + 8) - seed & U64))

    if size == 0:
        return av64(seed ^ k64(56) ^ k64(64))
    if size <= 3:
        c = data[0] << 16 | data[size // 2] << 24 | data[-1] | size << 8
        return av64(c ^ ((k64(0, 4) ^ k64(4, 4)) + seed & U64))
    if size <= 8:
        s = seed ^ swap(seed & 0xFFFFFFFF, 4) << 32
        v = le(data, size - 4, 4) + (le(data, 0, 4) << 32)
        h = v ^ ((k64(8) ^ k64(16)) - s & U64)
        h ^= (h << 49 | h >> 15) & U64 ^ (h << 24 | h >> 40) & U64
        h = h * X2 & U64
        h = (h ^ (h >> 35) + size) * X2 & U64
        return h ^ h >> 28
    if size <= 16:
        lo = le(data, 0) ^ ((k64(24) ^ k64(32)) + seed & U64)
        hi = le(data, size - 8) ^ ((k64(40) ^ k64(48)) - seed & U64)
        return av3(size + swap(lo, 8) + hi + mulfold(lo, hi))
    if size <= 128:
        return av3(size * A1 + sum(
            mix16(16 * i, 32 * i) + mix16(size - 16 * (i + 1), 32 * i + 16)
            for i in range((size - 1) // 32 + 1)))
    if size <= 240:
        acc = av3(size * A1 + sum(mix16(16 * i, 16 * i) for i in range(8)))
        acc += sum(mix16(16 * i, 16 * (i - 8) + 3) for i in range(8, size // 16))
        return av3(acc + mix16(size - 16, 119))
    secret = b"".join(struct.pack("<QQ", k64(o) + seed & U64, k64(o + 8) - seed & U64)
                      for o in range(0, 192, 16))
    s64, acc = partial(le, secret), [B3, A1, A2, A3, A4, B2, A5, B1]
    stripes = [(64 * j, 8 * (j % 16)) for j in range((size - 1) // 64)]
    for p, o in [*stripes, (size - 64, 121)]:
        for i in range(8):
            v = le(data, p + 8 * i)
            x = v ^ s64(o + 8 * i)
            acc[i ^ 1] += v
            acc[i] += (x & 0xFFFFFFFF) * (x >> 32)
        if o == 120:
            for i in range(8):
                acc[i] &= U64
                acc[i] = (acc[i] ^ acc[i] >> 47 ^ s64(128 + 8 * i)) * B1 & U64
    return av3(size * A1 + sum(
        mulfold(acc[2 * i] & U64 ^ s64(11 + 16 * i), acc[2 * i + 1] & U64 ^ s64(19 + 16 * i))
        for i in range(4)))


# --- The command line ---

def read_keys(options):
    """The keys, and the byte that ends each."""
    data, size, end = sys.stdin.buffer.read(), options.x, b"\0" if options.nul else b"\n"
    if size is not None:
        if len(data) % size:
            raise ValueError(f"the input is not a number of keys of {size} bytes")
        return [data[i:i + size] for i in range(0, len(data), size)], b""
    keys = data.split(end)
    return keys if keys[-1] else keys[:-1], end


def shown(image):
    """The output of `info`."""
    header = {**image.header, "label": image.label, "key_kind": keys_of(image.header)}
    for rate in {"fpr", "series_fpr"} & set(header):
        [header[rate]] = struct.unpack("<d", struct.pack("<Q", header[rate]))
    report = {"size": image.size, "record_in_force": image.in_force,
              "records_identical": image.records_identical,
              "state": "sealed" if image.record["state"] == SEALED else "live",
              "header": header, "record": image.record}
    if header["layout"] == RIBBON:
        report["rate"] = float(spec_ribbon.rate(image.body, header["m"]))
    return report


def print_json(report):
    print(json.dumps(report, indent=2, default=bytes.hex))


def info(options, path):
    image = load(path, options.offset, options.length)
    reports = [shown(layer) for layer in layers_of(image)]
    print_json(reports if isinstance(image, Series) else reports[0])


def verify(options, path):
    load(path, options.offset, options.length).verify()


def query(options, path):
    image = load(path, options.offset, options.length, options.hash_id >= APPLICATIONS)
    if options.hash_id >= APPLICATIONS:
        image.name(options.hash_id, options.self_test)
    keys, end = read_keys(options)
    chosen = [key + end for key in keys if image.maybe(key) != options.v]
    sys.stdout.buffer.write(b"".join(chosen))
    for layer in layers_of(image):
        layer.need_right_pages()
    return 0 if chosen else 1


def hash_of(options):
    named = options.hash_id >= APPLICATIONS
    return {"hash_id": options.hash_id, "seed": options.seed,
            "self_test": options.self_test if named else self_test(options.seed)}


def write(options, out):
    label = options.label.encode("utf-8", "surrogateescape")
    if len(label) > 112 or len(options.tag) != 16:
        raise ValueError("the label is longer than 112 bytes, or the tag is not of 16")
    function = hash_of(options)
    read = [digest_of(function, key) for key in read_keys(options)[0]]
    digests = set(read)
    header = {
        **function, "key_kind": keys_given(options),
        "header_size": 512 if options.embedded else 4096, "layout": LAYOUTS[options.layout],
        "k": options.k, "m": options.m, "m_unfolded": options.m,
        "capacity": options.capacity or max(len(digests), 1), "tag": options.tag, "label": label,
        "fpr": le(struct.pack("<d", options.fpr), 0), "provenance": 0}
    if options.slice:
        header = spec_slice.cut(header, options.slice[0] - 1, options.slice[1])
    header.update(spec_slice.given(header, read))
    seal(out, header, make_body(header, {}), 0)  # refuses a wrong m or k before they are used
    digests = own_digests(header, digests)
    seal(out, header, body_of_keys(header, digests), len(digests))


def main():
    commands = {command.__name__: command for command in (
        vectors, wholefile, info, verify, query, write, fold, union, intersection, project, copy, join)}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add, number = parser.add_argument, partial(int, base=0)
    add("command", choices=commands)
    add("arguments", nargs="+")
    add("-0", dest="nul", action="store_true")
    add("-v", action="store_true")
    add("--embedded", action="store_true")
    add("--as-is", action="store_true")
    for name in "-x", "--length", "--capacity":
        add(name, type=number)
    for name in "--offset", "--m", "--k", "--seed", "--key-size", "--self-test":
        add(name, type=number, default=0)
    add("--hash-id", type=number, default=1)
    add("--layout", choices=LAYOUTS, default="blocked")
    add("--key-kind", choices=KEY_KINDS, default="unknown")
    add("--fpr", type=float, default=0.0)
    add("--label", default="")
    add("--tag", type=bytes.fromhex, default=bytes(16))
    add("--slice", type=lambda text: [int(number) for number in text.split("/")])
    options = parser.parse_intermixed_args()
    try:
        return commands[options.command](options, *options.arguments)
    except Exception as error:
        print(str(error) or type(error).__name__, file=sys.stderr)
        return 1 if options.command == "vectors" else 2


if __name__ == "__main__":
    sys.exit(main())
