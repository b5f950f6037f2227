# SPDX-License-Identifier: MIT
"""Foreign bytes for the C library and for a reader that was written from the format's text alone, in Python, Go or Rust.
Both must refuse them with the same error, or return the same results. The campaign fuzz runs it.

    differential.py PARTNER KIND SEED COUNT BUILT KEPT FOLDER...

PARTNER is Python, or the name and the driver of another reader (Go=PATH). Inputs are files of the folders with random
changes, sometimes with corrected checksums. An input with different results is kept in KEPT, and the exit status is then 1.
For images it prints how many both have opened."""

import ctypes
import functools
import os
import pathlib
import random
import struct
import sys
import tempfile
from contextlib import closing
from zlib import crc32

from partners import SOURCE_ROOT, Program, Text, refusal
import spec_patch
import spec_reader
import spec_slice
import spec_writer
from spec_reader import HEADER, LAYER, OF_SERIES, RECORD, U64, le

GOLDEN = SOURCE_ROOT / "tests" / "golden"
ASKED = 12
PRESENT, MOST_PRESENT = 4, 16  # keys of the image that are looked up; that are known
BATCH = 100       # images that a driver gets at once
OF_DIGESTS = 1, 2, 4, 5  # places in the answer of a driver
SEED = HEADER["seed"][0]
SMALL = 1200      # bytes: most inputs are not larger, which makes them cheap
LARGEST = 40_000
ACCEPT_UNCLEAN, EXPECT_HASH = 8, 8
FIELDS = [(offset, struct.calcsize("<" + form)) for table in (HEADER, LAYER, spec_slice.FIELDS)
          for offset, form in table.values() if offset >= 0]
RECORD_FIELDS = [(offset, struct.calcsize("<" + form)) for offset, form in RECORD.values() if offset >= 0]
NUMBERS = [0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 255, 256, 511, 512, 1000, 1001, 4095, 4096, 0x3FF0000000000000]


class Differ(Exception):
    """A difference, and the inputs that show it."""

    def __init__(self, message, *inputs):
        super().__init__(message)
        self.inputs = inputs


# --- Inputs


def value_for(chance, old, bits):
    choice = chance.randrange(6)
    if choice == 0:
        return chance.choice(NUMBERS)
    if choice == 1:
        return (1 << chance.randrange(bits)) - chance.randrange(-1, 2)
    if choice == 2:
        return old + chance.choice((-1, 1, -old, old, 1 << chance.randrange(bits)))
    if choice == 3:
        return old ^ 1 << chance.randrange(bits)
    return chance.getrandbits(bits) if choice == 4 else -chance.randrange(1, 5)


def change_field(chance, data, start, fields):
    offset, size = chance.choice(fields)
    offset += start
    if size > 8:
        offset, size = offset + chance.randrange(size), 1
    if offset + size <= len(data):
        value = value_for(chance, le(data, offset, size), 8 * size)
        data[offset:offset + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def change_bytes(chance, data):
    for _ in range(chance.randrange(1, 4)):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def change_body(chance, data, header):
    """Makes a stretch of it so dense that some keys may be present."""
    if len(data) <= header:
        return
    start = chance.randrange(header, len(data))
    size = chance.randrange(1, len(data) - start + 1)
    kind = chance.randrange(4)
    data[start:start + size] = (b"\xFF" * size if kind == 0 else bytes(size) if kind == 1 else
                                chance.randbytes(size) if kind == 2 else
                                bytes(a | b for a, b in zip(data[start:start + size], chance.randbytes(size))))


def change_size(chance, data):
    kind = chance.randrange(3)
    if kind == 0:
        del data[chance.randrange(len(data) + 1):]
    elif kind == 1:
        data += bytes(chance.randrange(1, 70))
    else:
        data += data[:chance.randrange(len(data) + 1)]


def change_image(chance, data):
    header = 4096 if le(data, 12, 4) == 4096 else 512
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        kind = chance.randrange(16)
        if kind < 6:
            change_field(chance, data, 0, FIELDS)
        elif kind < 9:
            change_field(chance, data, header // 2 + chance.choice((0, header // 4)), RECORD_FIELDS)
        elif kind < 11:
            data[header // 2:header * 3 // 4] = data[header * 3 // 4:header]
        elif kind < 14:
            change_body(chance, data, header)
        elif kind == 14:
            change_bytes(chance, data)
        else:
            change_size(chance, data)


def mend_header(data, start=0):
    H = 4096 if le(data, start + 12, 4) == 4096 else 512
    if len(data) < start + H:
        return
    struct.pack_into("<I", data, start + H // 2 - 4, crc32(data[start:start + H // 2 - 4]))
    for record in start + H // 2, start + 3 * H // 4:
        data[record + 60:record + 64] = data[start + H // 2 - 4:start + H // 2]
        struct.pack_into("<I", data, record + H // 4 - 4, crc32(data[record:record + H // 4 - 4]))


def mend_all(data, start=0):
    """Corrects the body's sums and counts in the image that begins there. Returns its end, or None."""
    H = 4096 if le(data, start + 12, 4) == 4096 else 512
    header = {"layout": le(data, start + 32, 4), "m": le(data, start + 48), "header_size": H}
    if header["layout"] not in spec_reader.WIDTH or len(data) < start + H or not header["m"]:
        return None
    size = spec_reader.body_size(header)
    end = start + H + size + -(-size // 4096) * 4
    if end > len(data):
        return None
    struct.pack_into("<QQ", data, start + 72, H, size)
    body = bytes(data[start + H:start + H + size])
    ones, overflow = spec_reader.ones_and_overflow(header, body)
    entries = spec_reader.page_entries(body)
    struct.pack_into(f"<{len(entries)}I", data, start + H + size, *entries)
    for record in start + H // 2, start + 3 * H // 4:
        struct.pack_into("<QQ", data, record + 24, ones, overflow)
        struct.pack_into("<I", data, record + 56, crc32(body))
    mend_header(data, start)
    return end


def mend_series(data):
    """Corrects all layers and their links."""
    start = link = 0
    while len(data) - start >= 4096:
        struct.pack_into("<QQ", data, start + LAYER["rest_size"][0], len(data) - start, link)
        end = mend_all(data, start)
        if end is None:
            return
        link = le(data, start + 2044, 4) + (le(data, start + 2048 + 56, 4) << 32)
        start = -(-end // 4096) * 4096


def mend(chance, data):
    """Returns whether it may have corrected a checksum."""
    kind = chance.randrange(8)
    if len(data) < 16 or kind == 0:
        return False
    if kind < 4:
        mend_header(data)
    elif len(data) > 28 and data[24] & OF_SERIES:
        mend_series(data)
    else:
        end = mend_all(data)
        if end is None:
            mend_header(data)
        elif kind < 7:
            del data[end:]
    return True


# --- The C library


class Destination(ctypes.Structure):
    """Memory that the library allocates."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("kind", ctypes.c_uint32), ("flags", ctypes.c_uint32),
                ("path", ctypes.c_char_p), ("fd", ctypes.c_int), ("reserved", ctypes.c_int), ("memory", ctypes.c_void_p),
                ("size", ctypes.c_size_t), ("write", ctypes.c_void_p), ("context", ctypes.c_void_p),
                ("spool", ctypes.c_char_p), ("more", ctypes.c_uint64 * 4)]

    def __init__(self):
        super().__init__(struct_size=ctypes.sizeof(self), kind=3)

    def take(self):
        taken = ctypes.string_at(self.memory, self.size) if self.memory else b""
        C.bloomfile_free(self.memory)
        return taken


class Source(ctypes.Structure):
    """struct bloomfile_source"""
    FROM_PATH, FROM_MEMORY = 1, 3
    _fields_ = [("struct_size", ctypes.c_size_t), ("kind", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("path", ctypes.c_char_p), ("fd", ctypes.c_int), ("reserved2", ctypes.c_int),
                ("offset", ctypes.c_uint64), ("length", ctypes.c_uint64), ("memory", ctypes.c_char_p),
                ("size", ctypes.c_size_t), ("more", ctypes.c_uint64 * 4)]

    def __init__(self, **members):
        super().__init__(struct_size=ctypes.sizeof(self), **members)


class OpenParams(ctypes.Structure):
    """struct bloomfile_open_params"""
    _fields_ = [("struct_size", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("expect", ctypes.c_uint32),
                ("tag", ctypes.c_uint8 * 16), ("seed", ctypes.c_uint64), ("hash_id", ctypes.c_uint32),
                ("key_kind", ctypes.c_uint32), ("self_test", ctypes.c_uint64), ("self_test_of", ctypes.c_void_p),
                ("context", ctypes.c_void_p), ("key_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("report", ctypes.c_void_p)]

    def __init__(self, **members):
        super().__init__(struct_size=ctypes.sizeof(self), **members)


def load_library(path):
    c = ctypes.CDLL(path)
    handle, u64 = ctypes.c_void_p, ctypes.c_uint64
    for name, result, *arguments in (
            ("open_with", ctypes.c_int, handle, handle, handle),
            ("close", None, handle),
            ("verify", ctypes.c_int, handle, ctypes.c_uint, handle),
            ("errname", ctypes.c_char_p, ctypes.c_int),
            ("hash", u64, u64, ctypes.c_char_p, ctypes.c_size_t),
            ("free", None, handle),
            ("join", ctypes.c_int, handle, handle, ctypes.c_size_t, ctypes.c_uint),
            ("patch", ctypes.c_int, handle, handle, handle, ctypes.c_uint),
            ("view_open", ctypes.c_int, handle, u64, ctypes.c_char_p, ctypes.c_size_t),
            ("view_contains_digests", ctypes.c_size_t, handle, ctypes.c_char_p, handle, ctypes.c_size_t, handle),
            ("contains_digest", ctypes.c_bool, handle, u64),
            ("contains_digests", ctypes.c_size_t, handle, handle, ctypes.c_size_t, handle)):
        function = getattr(c, "bloomfile_" + name)
        function.restype, function.argtypes = result, arguments
    return c


@functools.lru_cache(None)
def error_name(number):
    return C.bloomfile_errname(number).decode() if number else ""


class Handle:
    """C's view of the bytes."""

    def __init__(self, source, flags=0):
        self.source, self.flags, self.pointer = source, flags, None
        self.open()

    def open(self, **expected):
        pointer, how = ctypes.c_void_p(), OpenParams(flags=self.flags, **expected)
        self.close()
        error = C.bloomfile_open_with(ctypes.byref(pointer), ctypes.byref(self.source), ctypes.byref(how))
        self.error, self.pointer = error_name(error), pointer if error == 0 else None

    def close(self):
        if self.pointer:
            C.bloomfile_close(self.pointer)
        self.pointer = None

    def answers(self, digests):
        wanted, hits = (ctypes.c_uint64 * len(digests))(*digests), (ctypes.c_bool * len(digests))()
        C.bloomfile_contains_digests(self.pointer, wanted, len(digests), hits)
        for digest, hit in zip(digests[:2], hits):
            if C.bloomfile_contains_digest(self.pointer, digest) < hit:
                raise Differ(f"asked alone, digest {digest:#x} is absent")
        return list(hits)


def opened_in_memory(data):
    return Handle(Source(kind=Source.FROM_MEMORY, memory=data, size=len(data)))


def opened_file(path, flags):
    return Handle(Source(kind=Source.FROM_PATH, path=path), flags)


# --- Comparisons of images, many at once


def golden_keys():
    """Keys of the golden files, and digests."""
    keys, digests = {spec_reader.TEST_STRING[:size] for size in range(30)}, []
    for file in sorted((GOLDEN / "keys").iterdir()):
        lines = file.read_bytes().split(b"\n")[:30]
        if file.suffix == ".digests":
            digests += [int(line, 16) for line in lines if line]
        else:
            keys.update(lines)
    return sorted(keys), digests


def keys_present(inputs):
    """Returns, for each input, digests that it answers with maybe, and whether they are certainly in it."""
    chance, present = random.Random(1), {}
    keys, others = golden_keys()
    others += [chance.getrandbits(64) for _ in range(500)]
    of_seed = functools.lru_cache(None)(lambda seed: [spec_reader.xxh3(key, seed) for key in keys])
    for data in inputs:
        digests = of_seed(le(data, SEED)) + others
        (answer,) = LIBRARY.images([(data, digests)])
        if ":" not in answer:
            present[data] = [], False
            continue
        _, hits, _, verdict, *_ = answer.split(":")
        found = [digest for digest, hit in zip(digests, hits) if hit == "1"]
        present[data] = found[:MOST_PRESENT], verdict == "ok"
    return present


def make_question(chance, inputs, present):
    """An image and digests, and whether the first of these must not be answered with no."""
    data = inputs.choose(chance)
    known, are_certain = present[bytes(data)]
    change_image(chance, data)
    are_certain = not mend(chance, data) and are_certain
    asked = chance.sample(known, min(len(known), PRESENT))
    return (bytes(data), asked + digests_for(chance)[len(asked):]), "1" * len(asked) if are_certain else ""


def check_answers(question, certain, c, partner):
    data, digests = question
    asked = f"to digests {' '.join(format(digest, '016x') for digest in digests)}"
    if c != partner:
        raise Differ(f"{c} in C, {partner} in {PARTNER.name}, {asked}", data)
    answers = c.split(":")
    if len(answers) > 1 and not all(answers[i].startswith(certain) for i in OF_DIGESTS):
        raise Differ(f"{c}, {asked}: the first {len(certain)} are in the undamaged image", data)


def compare_images(chance, inputs, count):
    """Returns how many images both readers have opened."""
    opened, present = 0, keys_present(inputs.small + inputs.large)
    for first in range(0, count, BATCH):
        made = [make_question(chance, inputs, present) for _ in range(min(BATCH, count - first))]
        questions = [question for question, _ in made]
        try:
            answers = list(zip(LIBRARY.images(questions), PARTNER.images(questions)))
        except Exception as error:
            raise Differ(f"{error!r}; the input is the file of the command", packed(questions)) from error
        for (question, certain), pair in zip(made, answers):
            check_answers(question, certain, *pair)
        opened += sum(":" in c for c, _ in answers)
    return opened


# --- Comparisons of other kinds, one by one


def need_same(what, c, partner):
    if c != partner:
        raise Differ(f"{what}: {c or 'none'} in C, {partner or 'none'} in {PARTNER.name}")


def digests_for(chance):
    edges = [chance.choice((0, U64, 1, 1 << 63)), chance.getrandbits(64) >> chance.randrange(64)]
    return edges + [chance.getrandbits(64) for _ in range(ASKED - len(edges))]


def compare_answers(image, handle, digests):
    header = image.header
    if not image.is_named:
        need_same("answers before the hash is named", handle.answers(digests), [True] * len(digests))
        handle.open(expect=EXPECT_HASH, hash_id=header["hash_id"], self_test=header["self_test"])
        image.name(header["hash_id"], header["self_test"])
    # Digests take the place of keys: Image calls digest_of(), which returns them unchanged.
    need_same(f"answers to {[hex(digest) for digest in digests]}", handle.answers(digests),
              [image.maybe(digest) for digest in digests])


def compare_live(chance, data):
    if len(data) > 28 and data[24] & OF_SERIES:
        alone = bytearray(data)
        alone[24] &= ~OF_SERIES
        mend_header(alone)
        data = bytes(alone)
    flags = chance.choice((0, ACCEPT_UNCLEAN))
    fd = os.memfd_create("live")
    try:
        os.write(fd, data)
        handle = opened_file(f"/proc/self/fd/{fd}".encode(), flags)
        try:
            image, error = refusal(spec_writer.LiveImage, data, "image", accept_unclean=flags != 0,
                                   abandoned=lambda sequence: True)
            need_same(f"verdict, with flags {flags}", handle.error, error)
            if not error:
                compare_answers(image, handle, digests_for(chance))
        finally:
            handle.close()
    finally:
        os.close(fd)


KEYS = [b"%d" % i * (i % 5) for i in range(60)]


def compare_compact(chance, data):
    seed = chance.choice((0, 0, 0, 5))
    view, keys = ctypes.create_string_buffer(64), chance.sample(KEYS, ASKED)
    digests = (ctypes.c_uint64 * ASKED)(*(xxh3_of(key, seed) for key in keys))
    hits = (ctypes.c_bool * ASKED)()
    error = C.bloomfile_view_open(view, seed, data, len(data))
    C.bloomfile_view_contains_digests(view, data, digests, ASKED, hits)
    maybe = spec_reader.compact_maybe(data, seed)
    need_same("answers", list(hits), [maybe(key) for key in keys])
    if error and not all(hits):
        raise Differ(f"{error_name(error)}, and a key is said not to be there")


def change_compact(chance, data):
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.randrange(5)
        if kind == 0:
            change_size(chance, data)
        elif kind == 1 and len(data) >= 8:
            data[-8 + chance.randrange(4)] = chance.choice((0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 0x11, 0x71, 0x72, 64, 65, 255))
        elif kind == 2 and len(data) > 8:
            body = chance.randbytes(len(data) - 8)
            data[:-8] = bytes(a | b for a, b in zip(data[:-8], body))
        else:
            change_bytes(chance, data)


def mend_compact(chance, data):
    if len(data) >= 8 and chance.randrange(4):
        own = xxh3_of(spec_reader.TEST_STRING[:16], chance.choice((0, 0, 0, 5))) & 2**32 - 1
        struct.pack_into("<I", data, len(data) - 4, crc32(data[:-4]) ^ own)


def make_slices(chance):
    """The slices of a whole, where a slice may be changed, missing or repeated."""
    parts = list(chance.choice(WHOLES))
    place = chance.randrange(len(parts))
    if chance.randrange(16) == 0:
        parts[place:place + 1] = [parts[place]] * (chance.choice((0, 2)) if len(parts) > 1 else 2)
    elif chance.randrange(8):
        part = bytearray(parts[place])
        change_image(chance, part)
        mend(chance, part)
        parts[place] = bytes(part)
    chance.shuffle(parts)
    return parts


def compare_join(_, parts):
    handles = [opened_in_memory(part) for part in parts]
    to = Destination()
    try:
        need_same("opening", [handle.error for handle in handles],
                  [refusal(spec_reader.opened, part, "image", True)[1] for part in parts])
        if any(handle.error for handle in handles):
            return
        pointers = (ctypes.c_void_p * len(parts))(*(handle.pointer.value for handle in handles))
        error = C.bloomfile_join(ctypes.byref(to), pointers, len(parts), 0, None)
        joined, refused = refusal(joined_by_text, parts)
        need_same("joining", error_name(error), refused)
        if not error:
            need_same("what was joined", to.take().hex(), joined.hex())
    finally:
        for handle in handles:
            handle.close()


def joined_by_text(parts):
    made = []
    spec_reader.load, load = lambda path: spec_reader.opened(parts[path], "image", True), spec_reader.load
    spec_reader.seal, seal = lambda _, *words: made.append(spec_reader.sealed(*words)), spec_reader.seal
    try:
        spec_reader.join(Embedded, "joined", *range(len(parts)))
    finally:
        spec_reader.load, spec_reader.seal = load, seal
    return made[0]


def compare_join_of_programs(_, parts):
    names = [FOLDER / f"slice-{number}" for number in range(len(parts))]
    for name, part in zip(names, parts):
        name.write_bytes(part)
    need_same("joining", *(of.result("join", FOLDER / of.name, *names) for of in (LIBRARY, PARTNER)))


class Embedded:
    embedded, as_is = True, False


def base_of(chance, data):
    """The file and bytes of the filter that a patch names, or of any other filter."""
    return BASES.get(bytes(data[11:19])) or chance.choice(list(BASES.values()))


def compare_patch_of_programs(chance, data):
    patch = FOLDER / "patch"
    patch.write_bytes(data)
    base, _ = base_of(chance, data)
    need_same("patch", *(of.result("apply", FOLDER / of.name, base, patch) for of in (LIBRARY, PARTNER)))


def compare_patch(chance, data):
    base = base_of(chance, data)[1]
    handle, to, patch = opened_in_memory(base), Destination(), Source(kind=Source.FROM_MEMORY, memory=bytes(data), size=len(data))
    try:
        error = C.bloomfile_patch(ctypes.byref(to), handle.pointer, ctypes.byref(patch), 1)
        made, refused = refusal(spec_patch.apply, spec_reader.opened(base, "base", True), data)
        need_same("patch", error_name(error), refused)
        need_same("result", to.take().hex(), (made or b"").hex())
    finally:
        handle.close()


def change_patch(chance, data):
    if chance.randrange(8):
        change_bytes(chance, data)
    else:
        change_size(chance, data)


def mend_patch(chance, data):
    """Corrects the checksum of its head, and sometimes of a part that ends where it does."""
    head = spec_patch.Input(bytes(data))
    try:
        head.take(27)
        head.number()
        head.take(head.number())
    except ValueError:
        return
    if head.at + 4 <= len(data) and chance.randrange(4):
        struct.pack_into("<I", data, head.at, crc32(data[:head.at]))
    start = head.at + 4
    if start + 5 < len(data) and chance.randrange(2):
        struct.pack_into("<I", data, len(data) - 5, crc32(data[start:-5]))


# Kind: the comparison, the change and the correction of inputs.
KINDS = {
    "live files": (compare_live, change_image, mend),
    "compact forms": (compare_compact, change_compact, mend_compact),
    "slices": (compare_join, None, None),
    "patches": (compare_patch, change_patch, mend_patch),
}
OF_PROGRAMS = {
    "slices": (compare_join_of_programs, None, None),
    "patches": (compare_patch_of_programs, change_patch, mend_patch),
}


class Inputs:
    def __init__(self, folders):
        files = [file for folder in folders for file in sorted(pathlib.Path(folder).iterdir())]
        inputs = [file.read_bytes() for file in files if 0 < file.stat().st_size <= LARGEST]
        self.small = [data for data in inputs if len(data) <= SMALL]
        self.large = [data for data in inputs if len(data) > SMALL]

    def choose(self, chance):
        rare = self.large and (not self.small or chance.randrange(8) == 0)
        return bytearray(chance.choice(self.large if rare else self.small))


def make(chance, inputs, change, put_right):
    if change is None:
        return make_slices(chance)
    data = inputs.choose(chance)
    change(chance, data)
    put_right(chance, data)
    return bytes(data)


xxh3_of = functools.lru_cache(None)(spec_reader.xxh3)
WHOLES, BASES = [], {}  # whole sets of slices; filters, by the names that patches use


def read_golden():
    for file in sorted(GOLDEN.glob("*.bloom")):
        data = file.read_bytes()
        image = spec_reader.opened(data, file, knows_applications=True).verify()
        if isinstance(image, spec_reader.Series) or image.header["layout"] == spec_reader.RIBBON:
            continue
        names = spec_patch.name_of(spec_patch.header_of(image)), image.record["body_crc"]
        BASES[struct.pack("<II", *names)] = file, data
    for row in (GOLDEN / "slices.tsv").read_text().splitlines()[1:]:
        WHOLES.append([(GOLDEN / name).read_bytes() for name in row.split("\t")[0].split(",")])


def compare_each(kind, chance, inputs, count):
    compare, *how = (KINDS if PARTNER.name == "Python" else OF_PROGRAMS)[kind]
    for _ in range(count):
        made = make(chance, inputs, *how)
        try:
            compare(chance, made)
        except Exception as error:
            made = made if isinstance(made, list) else [made]
            raise Differ(str(error) if isinstance(error, Differ) else repr(error), *made) from error


def main():
    partner, kind, seed, count, built, kept, *folders = sys.argv[1:]
    name, _, path = partner.partition("=")
    global C, LIBRARY, PARTNER, FOLDER
    C = load_library(pathlib.Path(built) / "lib" / "libbloomfile.so")
    LIBRARY = Program("C", f"{built}/tests/languages/driver")
    PARTNER = Program(name, path) if path else Text()
    read_golden()
    spec_reader.self_test = functools.lru_cache(None)(spec_reader.self_test)
    spec_reader.xxh3 = xxh3_of
    spec_reader.digest_of = lambda header, digest: digest
    what = random.Random(int(seed)), Inputs(folders), int(count)
    try:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, closing(LIBRARY), closing(PARTNER):
            FOLDER = pathlib.Path(folder)
            if kind == "images":
                print(compare_images(*what))
            else:
                compare_each(kind, *what)
    except Differ as differ:
        for number, part in enumerate(differ.inputs):
            (pathlib.Path(kept) / f"input-{number}").write_bytes(part)
        print(differ)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
