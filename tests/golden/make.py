#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of this folder; --check only compares them with the existing files.

    make.py [--check]

The images come from tests/spec/spec_reader.py, which was written from format-spec.md alone."""

import argparse
import hashlib
import pathlib
import shlex
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import craft_series  # noqa: E402
import craft_slices  # noqa: E402
from craft import (LIVE, body_of, derive, edit, field, flip, kind_words,  # noqa: E402
                   hash_words, header_size, lines, make, named, write_folder)

import spec_patch  # noqa: E402
import spec_slice  # noqa: E402
from spec_reader import Image, xxh3  # noqa: E402

COLUMNS = ("file keys n layout m k seed hash key_kind sha256 form maybes bfcreate first_block "
           "whole_blocks n_estimated").split()
SERIES = ("file keys layers generations n layout m k seed hash key_kind sha256 sealed_sha256 "
          "maybes").split()

TEST_STRING = bytes((128 + 157 * i) % 256 for i in range(4096)).replace(b"\n", b"\v")
LABEL = "Wörter, слова, λέξεις, 言葉, คำ, 🌸 filter; žluťoučký kůň; 1 % maybe, no false no ✓."

KEYS = {
    "urls.keys": [b"https://example.org/page/%d" % i for i in range(400)],
    "few.keys": [b"key %d" % i for i in range(40)],
    "seen.keys": [b"%07d" % (i * 7919 % 2000) for i in range(2000)],
    "bytes.keys": [TEST_STRING[start:start + size] for start, size in (
        (0, 0), (0, 1), (1, 2), (0, 3), (0, 4), (2, 7), (0, 8), (3, 9), (0, 16), (4, 17), (5, 64),
        (0, 128), (6, 129), (0, 240), (7, 241), (8, 1023), (9, 1024), (10, 1025), (11, 2049))]
        + [b"\0", b"\0\0", b"\r", b"ends in CR\r", b"\xff" * 33, b" ", b"-", "ключ".encode()],
    "three.keys": [b"bloomfile", b"", b"\x80\x1d\xba"],
    "integers.keys": [number.to_bytes(8, "little", signed=True) for number in (
        0, 1, -1, 42, 127, -128, 2**31 - 1, -2**31, 2**53 + 1, 2**63 - 1, -2**63)],
    "none.keys": [],
    "absent.keys": [b"never added %d" % i for i in range(1000)],
}
# An application's hash function, the start of SHA-256. Its keys are listed as digests.
KEYS |= {f"{name}.digests": [hashlib.sha256(key).digest()[7::-1].hex().encode()
                             for key in KEYS[f"{name}.keys"]] for name in ("few", "absent")}
KEYS["few-and-0.digests"] = [*KEYS["few.digests"], b"0" * 16]
# Keys for slices that got only some of them: the keys of each of two slices, and halves of the list.
OWN_M = 66 * 512
OWN = [[key for key in KEYS["few.keys"]
        if spec_slice.slice_of(OWN_M, 2, xxh3(key, 0)) == number] for number in (0, 1)]
KEYS |= {"own-first.keys": OWN[0], "own-last.keys": OWN[1],
         "own-last-and-one.keys": [*OWN[1], OWN[0][0]],
         "half-first.keys": KEYS["few.keys"][:20], "half-last.keys": KEYS["few.keys"][20:],
         "few-twice.keys": 2 * KEYS["few.keys"]}
APPLICATION = {"hash_id": 0x80536841, "self_test": int(KEYS["few.digests"][0], 16)}


class Folder:
    def __init__(self):
        self.files = {f"keys/{name}": lines(keys) for name, keys in KEYS.items()}
        self.images, self.series, self.slices, self.operations = [], [], [], []

    def keys(self, name, keys):
        """Writes keys into a file of their own; returns its name."""
        self.files[f"keys/{name}.keys"] = lines(keys)
        return f"{name}.keys"

    def add(self, name, keys, image, bfcreate="-"):
        self.files[name] = image
        self.images.append((name, keys, image, bfcreate))

    def source(self, name, image):
        """Writes the source of an operation into a folder of its own; returns its name."""
        self.files[f"sources/{name}"] = image
        return f"sources/{name}"

    def derived(self, name, keys, operation, *sources, image=None):
        """The result of an operation on files; image: if spec_reader.py does not make it."""
        command, *words = operation.split()
        if image is None:
            image = derive(command, *map(int, words), *(self.files[source] for source in sources))
        self.add(name, keys, image)
        self.operations.append((operation, ",".join(sources), name, hashlib.sha256(image).hexdigest()))

    def add_sealed(self, name, keys, image):
        self.files[name] = image
        self.series.append((name, keys, image, image))

    def add_joined(self, *names):
        """Slices that form a whole. The whole is not stored, because readers can make it."""
        self.slices.append((",".join(names), hashlib.sha256(craft_slices.joined(
            *(self.files[name] for name in names))).hexdigest()))

    def add_live(self, name, keys, files):
        """files: slot -> bytes. The sealed copy is not stored, because readers can make it."""
        for slot, image in files.items():
            self.files[f"live/{name}/{craft_series.file_name(slot)}"] = image
        self.series.append((f"live/{name}/{craft_series.file_name(0)}", keys,
                            b"".join(craft_series.in_order(files)), craft_series.sealed(files)))

    def make(self, name, keys, layout, m, k, embedded=False, **options):
        """An image that bfcreate can make too, if it has the file form."""
        image = make(layout, m, k, KEYS[keys], embedded=embedded, **options)
        words = ["-l", layout, "-m", m, *(["-k", k] if k else [])]
        for option, value in options.items():
            words += [f"--{option}", value]
        self.add(name, keys, image, "-" if embedded else shlex.join(map(str, words)))
        return image


def layouts(out):
    out.make("blocked-file.bloom", "urls.keys", "blocked", 80 * 512, 7, fpr=0.01)
    out.make("blocked-embedded.bloom", "few.keys", "blocked", 9 * 512, 13, True)
    out.make("classic-file.bloom", "urls.keys", "classic", 40003, 5, fpr=0.001, capacity=3000)
    out.make("classic-embedded.bloom", "few.keys", "classic", 1003, 4, True)
    out.make("counting-file.bloom", "urls.keys", "counting", 9001, 4, fpr=0.02)
    out.make("counting-embedded.bloom", "few.keys", "counting", 1001, 6, True)
    out.make("counting-two-pages-embedded.bloom", "urls.keys", "counting", 8321, 3, True)


def ribbon(out):
    """Pages of all kinds; seen.keys has 2000 keys."""
    out.make("ribbon-file.bloom", "urls.keys", "ribbon", 9 * 512, 0, fpr=0.01)
    out.make("ribbon-embedded.bloom", "few.keys", "ribbon", 512, 0, True)
    out.make("ribbon-32-columns.bloom", "urls.keys", "ribbon", 64 * 512, 0)
    out.make("ribbon-two-pages.bloom", "seen.keys", "ribbon", 70 * 512, 0,
             seed=0x0123456789ABCDEF)
    out.make("ribbon-two-pages-embedded.bloom", "seen.keys", "ribbon", 65 * 512, 0, True,
             label=LABEL, tag=bytes(range(0xA0, 0xB0)).hex(), capacity=100000)
    out.make("ribbon-bytes.bloom", "bytes.keys", "ribbon", 2 * 512, 0, True, seed=2**64 - 1)
    out.make("ribbon-no-keys.bloom", "none.keys", "ribbon", 512, 0, True)
    out.make("ribbon-pages-without-keys.bloom", "three.keys", "ribbon", 130 * 512, 0, True)
    out.make("ribbon-not-solved.bloom", "urls.keys", "ribbon", 512, 0, True)
    out.make("ribbon-not-solved-file.bloom", "seen.keys", "ribbon", 8 * 512, 0)


def keys_and_parameters(out):
    out.make("blocked-bytes.bloom", "bytes.keys", "blocked", 2 * 512, 6)
    out.make("blocked-one-block.bloom", "three.keys", "blocked", 512, 6, True)
    out.make("blocked-k1.bloom", "few.keys", "blocked", 512, 1, True)
    out.make("blocked-k64.bloom", "three.keys", "blocked", 512, 64)
    out.make("classic-k64.bloom", "three.keys", "classic", 999, 64, True)
    out.make("counting-k64-overflow.bloom", "few.keys", "counting", 77, 64, True)
    out.make("classic-m1.bloom", "three.keys", "classic", 1, 1)
    out.make("counting-m1.bloom", "three.keys", "counting", 1, 3, True)
    out.make("classic-m480833.bloom", "seen.keys", "classic", 480833, 3, capacity=100000)
    out.make("classic-full.bloom", "few.keys", "classic", 17, 8, True)
    out.make("blocked-seed.bloom", "bytes.keys", "blocked", 512, 6, seed=0x0123456789ABCDEF)
    out.make("counting-seed.bloom", "bytes.keys", "counting", 401, 5, True, seed=2**64 - 1)
    out.make("blocked-label-tag.bloom", "few.keys", "blocked", 1024, 8, label=LABEL,
             tag=bytes(range(0xA0, 0xB0)).hex(), capacity=100, fpr=0.05)
    out.make("whole-file-of-the-text.bloom", "three.keys", "classic", 100, 3, True, capacity=10,
             fpr=0.05, label="tiny é", tag=bytes(range(0xA0, 0xB0)).hex())
    for layout, m in ("blocked", 512), ("classic", 9), ("counting", 9):
        out.make(f"{layout}-no-keys.bloom", "none.keys", layout, m, 4, embedded=layout != "blocked")


def kinds_of_keys(out):
    """The keys are lines in all rows except for integers, for any kind in the header."""
    for kind, keys in ("text", "few"), ("lower", "few"), ("integers", "integers"), ("bytes", "few"):
        out.make(f"key-kind-{kind}.bloom", f"{keys}.keys", "blocked", 1024, 6, True, key_kind=kind)
    for size in 1, 2**24 - 1:
        out.make(f"key-kind-fixed-{size}.bloom", "few.keys", "classic", 999, 4, True,
                 key_kind="fixed", key_size=size)
    out.add("key-kind-text-counting.bloom", "few.keys",
            make("counting", 501, 4, KEYS["few.keys"], key_kind="text"))
    text, lower, unknown = (make("blocked", 8 * 512, 6, KEYS["few.keys"], embedded=True,
                                 key_kind=kind) for kind in ("text", "lower", "unknown"))
    newer = edit(text, header={"key_kind": 6})
    of_text, of_lower, of_unknown, of_newer = (
        out.source(f"key-kind-{name}.bloom", image)
        for name, image in (("text", text), ("lower", lower), ("unknown", unknown), ("newer", newer)))
    out.derived("key-kind-text-folded.bloom", "few.keys", "fold 4", of_text)
    out.derived("key-kind-newer-folded.bloom", "few.keys", "fold 4", of_newer)
    out.derived("key-kind-text-union.bloom", "few.keys", "union", of_text, of_text)
    out.derived("key-kind-lower-union.bloom", "few.keys", "union", of_lower, of_lower)
    out.derived("key-kinds-united.bloom", "few.keys", "union", of_text, of_unknown)
    for name, compat, value in (
            ("unknown-not-said", 0, 1), ("unknown-not-said-newer", 0, 6), ("unknown-said", 1, 0),
            ("newer-6", 1, 6), ("newer-255", 1, 255), ("newer-unknown-with-a-size", 1, 0x100),
            ("newer-text-with-a-size", 1, 0x101), ("newer-integers-with-a-size", 1, 0x803),
            ("newer-fixed-without-a-size", 1, 4), ("newer-all-ones", 1, 2**32 - 1)):
        out.add(f"key-kind-{name}.bloom", "few.keys",
                edit(text, header={"compat": compat, "key_kind": value}))


def hashes_of_applications(out):
    def add(name, layout, m, k, embedded=True, **options):
        image = make(layout, m, k, KEYS["few.digests"], embedded=embedded,
                     **{**APPLICATION, **options})
        out.add(f"application-{name}.bloom", "few.digests", image)
        return image

    add("blocked", "blocked", 1024, 6)
    add("blocked-file", "blocked", 1024, 6, embedded=False, key_kind="text")
    add("classic", "classic", 999, 4, seed=7)
    add("counting", "counting", 301, 4)
    add("ribbon", "ribbon", 512, 0)
    add("first-id", "blocked", 512, 4, hash_id=0x80000000, self_test=0)
    add("last-id", "classic", 512, 4, hash_id=2**32 - 1, self_test=2**64 - 1)
    wide = make("blocked", 8 * 512, 6, KEYS["few.digests"], embedded=True, **APPLICATION)
    source = out.source("application-wide.bloom", wide)
    out.derived("application-folded.bloom", "few.digests", "fold 4", source)
    out.derived("application-union.bloom", "few.digests", "union", source, source)


def operations(out):
    few, urls = KEYS["few.keys"], KEYS["urls.keys"]
    for layout, m, k, options in (("blocked", 5 * 4 * 512, 6, {"fpr": 0.001}), ("classic", 5 * 803, 6, {}),
                                  ("counting", 5 * 203, 4, {})):
        wide = out.source(f"{layout}-wide.bloom", make(layout, m, k, few, embedded=True, **options))
        out.derived(f"{layout}-folded.bloom", "few.keys", "fold 5", wide)

    out.derived("folded-and-united.bloom", "few.keys", "union", "blocked-folded.bloom")
    halves = [out.source(f"blocked-{name}.bloom", make("blocked", 8 * 512, 6, part, embedded=True))
              for name, part in (("some", few[:20]), ("others", few[15:]))]
    out.derived("blocked-union.bloom", "few.keys", "union", *halves)
    counting = out.source("counting.bloom", make("counting", 777, 4, few, embedded=True))
    out.derived("classic-projected.bloom", "few.keys", "project", counting)
    some, many = (make("classic", 4001, 5, part, embedded=True) for part in (few, few + urls))
    both = bytes(a & b for a, b in zip(body_of(some), body_of(many)))
    sources = [out.source(f"classic-{name}.bloom", image) for name, image in (("few", some), ("many", many))]
    out.derived("classic-intersection.bloom", "few.keys", "intersection", *sources, image=edit(
        some, header={"provenance": 1, "capacity": field(many, "capacity")}, body=both,
        record={"flags": 1, "ones": int.from_bytes(both, "little").bit_count()}))


def odd_but_valid(out):
    few = make("blocked", 1024, 6, KEYS["few.keys"], embedded=True)
    in_file = make("blocked", 1024, 6, KEYS["few.keys"])
    out.add("unknown-compat.bloom", "few.keys",
            edit(few, header={"compat": 0x80000001}))
    out.add("unknown-ro-compat.bloom", "few.keys",
            edit(few, header={"ro_compat": 0x80000001}))
    out.add("unknown-provenance.bloom", "few.keys",
            edit(few, header={"provenance": 0xFFFFFFF8}))
    out.add("unknown-record-flags.bloom", "few.keys",
            edit(few, record={"flags": 0xFFFFFFFE}))
    marked = {"watermark": b"19442107".ljust(32, b"\0")}
    out.add("watermark.bloom", "few.keys", edit(few, record=marked))
    out.add("watermark-file.bloom", "few.keys", edit(in_file, record={"watermark": bytes(range(224, 256))}))
    out.derived("watermark-folded.bloom", "few.keys", "fold 2", "watermark.bloom")
    out.derived("watermark-united.bloom", "few.keys", "union", "watermark.bloom", "watermark-file.bloom")
    out.add("n-estimated.bloom", "few.keys",
            edit(few, record={"flags": 1, "n": 44}))
    out.derived("n-estimated-copied.bloom", "few.keys", "copy", "n-estimated.bloom")
    out.derived("unknown-provenance-copied.bloom", "few.keys", "copy", "unknown-provenance.bloom")
    reserved = {44: b"\xff" * 4}
    for H, image, name in (512, few, "reserved-embedded"), (4096, in_file, "reserved-file"):
        reserved |= {240: b"\xa5" * (H // 2 - 244)}
        for start in H // 2, 3 * H // 4:
            reserved |= {start + 64: b"\x5a" * 8, start + 104: b"\x5a" * 20}
            if H == 4096:
                reserved |= {start + 144: b"\x5a" * (H // 4 - 148)}
        out.add(f"{name}.bloom", "few.keys", edit(image, at=reserved))
    out.add("extreme-numbers.bloom", "few.keys",
            edit(few, header={"capacity": 2**60, "m_unfolded": 2**60, "fpr": 0x3FEFFFFFFFFFFFFF},
                 record={"flags": 1, "n": 2**64 - 1}))
    out.add("smallest-rate.bloom", "few.keys", edit(few, header={"fpr": 1}))
    for slot in 0, 1:
        out.add(f"interrupted-seal-{slot}.bloom", "few.keys",
                edit(in_file, records=[slot],
                     record={"sequence": 2**64 - 2 if slot else 7, "state": LIVE, "n": 3,
                             "ones": 2000, "body_crc": 0, "boot_id": bytes(range(16)),
                             "identity": bytes(range(0x50, 0x60))}))


# Digests of an application's own function: at the edges of the last page of 2^51 blocks, and of the page of a key
# that was never added.
ENDS = [b"%016x" % digest for digest in (
    2**64 - 2**19, 2**64 - 2**19 + 2**13, 2**64 - 2**18 - 1, 2**64 - 1,
    2**64 - 2**19 - 1, 2**63, 0)]
NEAR = int(KEYS["absent.digests"][0], 16) >> 19 << 19
MIDST = [b"%016x" % (NEAR + difference) for difference in (0, 2**19 - 1, -1, 2**19)]


def slices(out):
    """The keys of the other slices are looked up too."""
    urls = {"fpr": 0.01, "capacity": 400}
    out.make("slice-1-of-1.bloom", "few.keys", "blocked", 10 * 512, 6, capacity=40, slice="1/1")
    for i, name in enumerate(("first", "middle", "last"), start=1):
        out.make(f"slice-{name}.bloom", "urls.keys", "blocked", 150 * 512, 7, **urls,
                 slice=f"{i}/3")
    out.make("slices-joined.bloom", "urls.keys", "blocked", 150 * 512, 7, **urls)
    for i, name in enumerate(("one-page", "two-pages"), start=1):
        out.make(f"slice-label-tag-{name}.bloom", "seen.keys", "blocked", 130 * 512, 13, label=LABEL,
                 tag=bytes(range(0xA0, 0xB0)).hex(), seed=0x0123456789ABCDEF, capacity=5000,
                 slice=f"{i}/2")
    out.add("slice-key-kind.bloom", "few.keys",
            make("blocked", 64 * 512, 1, KEYS["few.keys"], key_kind="text", capacity=41, slice="1/1"))
    for i in 1, 2:
        out.add(f"application-slice-{i}.bloom", "few.digests",
                make("blocked", 128 * 512, 6, KEYS["few.digests"], capacity=40, slice=f"{i}/2",
                     **APPLICATION))
    for name, keys, first in ("ends", ENDS, 2**51 - 64), ("midst", MIDST, NEAR >> 13):
        out.files[f"keys/{name}.digests"] = lines(keys)
        out.add(f"application-slice-{name}.bloom", f"{name}.digests",
                craft_slices.of_blocks(first, 64, 2**51, keys, **APPLICATION))
    out.add("slice-of-one-block.bloom", "seen.keys", craft_slices.of_blocks(
        128, 1, 129, KEYS["seen.keys"], k=64))
    out.add("slice-of-no-such-cut.bloom", "urls.keys", craft_slices.of_blocks(
        192, 64, 1000, KEYS["urls.keys"]))
    out.add("slice-middle-unknown-everything.bloom", "urls.keys",
            edit(out.files["slice-middle.bloom"],
                 header={"compat": 0x80000000, "ro_compat": 0x80000001, "provenance": 0xFFFFFFF8,
                         "key_kind": 0x104},
                 record={"flags": 0xFFFFFFFE}, at={280: b"\xa5" * (2044 - 280)}))
    out.make("patched-slice-first.bloom", "few.keys", "blocked", 150 * 512, 7, **urls,
             slice="1/3")
    shape = {"layout": "blocked", "m": OWN_M, "k": 5, "capacity": 40}
    for i, name in enumerate(("first", "last")):
        for kind in "own", "half":
            out.make(f"slice-{kind}-{name}.bloom", f"{kind}-{name}.keys", **shape, slice=f"{i + 1}/2")
        out.make(f"slice-twice-{name}.bloom", "few-twice.keys", **shape, slice=f"{i + 1}/2")
    out.make("slice-own-last-and-one.bloom", "own-last-and-one.keys", **shape, slice="2/2")
    out.add("application-slice-2-and-digest-0.bloom", "few-and-0.digests",
            make("blocked", 128 * 512, 6, KEYS["few-and-0.digests"], capacity=40, slice="2/2",
                 **APPLICATION))
    whole = [f"slice-{name}.bloom" for name in ("last", "first", "middle")]
    out.add_joined("slice-1-of-1.bloom")
    out.add_joined(*whole)
    out.add_joined(*whole[:2], "slice-middle-unknown-everything.bloom")
    out.add_joined("slice-own-last.bloom", "slice-own-first.bloom")
    out.add_joined("slice-twice-first.bloom", "slice-twice-last.bloom")
    out.add_joined("slice-label-tag-two-pages.bloom", "slice-label-tag-one-page.bloom")
    out.add_joined("slice-key-kind.bloom")
    out.add_joined("application-slice-1.bloom", "application-slice-2.bloom")


def patched(out):
    """Images of the same shape as existing images, with other keys, for patches."""
    out.make("patched-blocked.bloom", "three.keys", "blocked", 9 * 512, 13, True)
    out.make("patched-blocked-file.bloom", "few.keys", "blocked", 80 * 512, 7, fpr=0.01)
    out.make("patched-classic.bloom", "three.keys", "classic", 1003, 4, True, label=LABEL)
    out.make("patched-counting.bloom", "urls.keys", "counting", 1001, 6, True)
    out.make("patched-counting-two-pages.bloom", "few.keys", "counting", 8321, 3, True)


PATCHES = [
    ("blocked-embedded", "patched-blocked"), ("patched-blocked", "blocked-embedded"),
    ("blocked-file", "patched-blocked-file"), ("classic-embedded", "patched-classic"),
    ("counting-embedded", "patched-counting"), ("patched-counting", "counting-embedded"),
    ("counting-two-pages-embedded", "patched-counting-two-pages"),
    ("blocked-embedded", "blocked-embedded"), ("reserved-embedded", "unknown-record-flags"),
    ("n-estimated", "unknown-compat"), ("interrupted-seal-0", "reserved-file"),
    ("reserved-file", "interrupted-seal-1"), ("application-blocked", "application-blocked"),
    ("slice-first", "patched-slice-first"), ("slice-middle", "slice-middle-unknown-everything")]


def add_patches(out):
    """The patches, and their index."""
    rows = [["patch", "base", "result", "sha256"]]
    for base, result in PATCHES:
        old, new = (Image(out.files[f"{name}.bloom"], name, True) for name in (base, result))
        name, patch = f"{base}-to-{result}.patch", spec_patch.make(old, new)
        out.files[name] = patch
        rows.append([name, f"{base}.bloom", f"{result}.bloom", hashlib.sha256(patch).hexdigest()])
    out.files["patches.tsv"] = "".join("\t".join(row) + "\n" for row in rows).encode()


def series(out):
    few, digests = KEYS["few.keys"], KEYS["few.digests"]
    header, live = craft_series.header, craft_series.live

    def forgetting(name, count, layers=0, unmarked=False, **options):
        """A series of this many of the keys; some are forgotten."""
        fields = header(capacity=6, **options)
        keys = out.keys(name, craft_series.held(fields, few[:count], layers))
        out.add_live(name, keys, live(fields, few[:count], layers, unmarked))

    growing = header()
    out.add_live("growing-no-keys", "none.keys", live(growing, []))
    out.add_live("growing-1", "three.keys", live(growing, KEYS["three.keys"]))
    out.add_live("growing-2", "few.keys", live(header(capacity=20, m=1024, k=7), few))
    three = live(growing, few)
    out.add_live("growing-3", "few.keys", three)
    out.add_live("growing-2-not-marked-yet", "few.keys",
                 live(header(capacity=40), few, layers=2, unmarked=True))
    torn = live(header(), [], layers=2)
    torn[0] = flip(torn[0], 3072 + 16)
    out.add_live("growing-2-marked-in-a-torn-record", "none.keys", torn)
    classic = {"layout": "classic", "label": LABEL, "tag": bytes(range(0xA0, 0xB0)).hex(),
               "key_kind": "text", "seed": 0x0123456789ABCDEF}
    told = live(header(capacity=25, **classic), few)
    out.add_live("growing-classic", "few.keys", told)
    application = live(header(capacity=20, **APPLICATION), digests)
    out.add_live("growing-application", "few.digests", application)
    forgetting("forgetting-1000-begun", 9, generations=1000)
    forgetting("forgetting-2-begun", 5, generations=2)
    forgetting("forgetting-2-wrapped", 25, generations=2)
    forgetting("forgetting-3-begun", 9, generations=3)
    forgetting("forgetting-3-wrapped", 30, generations=3, layout="classic")
    forgetting("forgetting-3-by-time", 20, layers=5, generations=3, period=86400)
    forgetting("forgetting-2-not-marked-yet", 12, layers=3, unmarked=True, generations=2)

    out.add_sealed("series-1.bloom", "three.keys", craft_series.sealed(live(
        growing, KEYS["three.keys"])))
    out.add_sealed("series-3.bloom", "few.keys", craft_series.sealed(three))
    out.add_sealed("series-classic.bloom", "few.keys", craft_series.sealed(told))
    out.add_sealed("series-application.bloom", "few.digests", craft_series.sealed(application))
    odd = [edit(layer, header={"compat": 0x80000000, "ro_compat": 0x80000001, "series_fpr": fpr,
                               "provenance": 0xFFFFFFF8, "key_kind": number},
                record={"flags": 0xFFFFFFFE}, at={304: b"\xa5" * (2044 - 304)})
           for fpr in (1,) for number, layer in enumerate(
               craft_series.split(craft_series.sealed(live(header(capacity=20), few))))]
    out.add_sealed("series-unknown-everything.bloom", "few.keys", craft_series.relinked(odd, b"\x5a"))


def series_row(name, keys, images, sealed):
    opened = named(sealed, name)
    headers, first = [layer.header for layer in opened.layers], opened.layers[0]
    absent = KEYS["absent" + pathlib.Path(keys).suffix]
    numbers = [h["layer"] for h in headers]
    generations = field(images, "generations")
    if images is not sealed:
        size = [layer.size for layer in opened.layers]
        starts = [sum(size[:i]) for i in range(len(size))]
        numbers = [field(images[start:], "layer") for start in starts]

    def listed(values):
        return ",".join(map(str, values))

    return [name, f"keys/{keys}", listed(numbers), generations,
            listed(layer.record["n"] for layer in opened.layers),
            ("blocked", "classic")[first.header["layout"] - 1],
            listed(h["m"] for h in headers), listed(h["k"] for h in headers),
            first.header["seed"], hash_words(first), kind_words(first),
            hashlib.sha256(images).hexdigest(), hashlib.sha256(sealed).hexdigest(),
            sum(opened.maybe(key) for key in absent)]


def row(name, keys, image, bfcreate):
    slot = int(field(image, "state", 0) == LIVE)
    layout = ("blocked", "classic", "counting", "ribbon")[field(image, "layout") - 1]
    form = "file" if header_size(image) == 4096 else "embedded"
    opened = named(image, name)
    absent = KEYS["absent" + pathlib.Path(keys).suffix]
    maybes = sum(opened.maybe(key) for key in absent)
    estimated = field(image, "flags", slot) & 1
    return [name, f"keys/{keys}", field(image, "n", slot), layout, field(image, "m"),
            field(image, "k"), field(image, "seed"), hash_words(opened), kind_words(opened),
            hashlib.sha256(image).hexdigest(), form, maybes, bfcreate,
            *(opened.header.get(name, "-") for name in ("first_block", "whole_blocks")), estimated]


def table(columns, rows):
    return "".join("\t".join(map(str, cells)) + "\n" for cells in [columns, *rows]).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    out = Folder()
    layouts(out)
    ribbon(out)
    keys_and_parameters(out)
    kinds_of_keys(out)
    hashes_of_applications(out)
    operations(out)
    odd_but_valid(out)
    slices(out)
    patched(out)
    add_patches(out)
    series(out)
    files = {**out.files, "index.tsv": table(COLUMNS, (row(*image) for image in out.images)),
             "series.tsv": table(SERIES, (series_row(*one) for one in out.series)),
             "slices.tsv": table(["slices", "sha256"], out.slices),
             "operations.tsv": table(["operation", "sources", "result", "sha256"], out.operations)}
    different = write_folder(FOLDER, files, options.check)
    for name in different:
        print(f"{FOLDER.name}: {name} " + ("differs" if options.check else "written or foreign"))
    return 1 if options.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
