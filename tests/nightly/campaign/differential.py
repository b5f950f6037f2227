# SPDX-License-Identifier: MIT
"""Foreign bytes for the C library and for the Python reader, which was written from the format's text alone. Both must
refuse them with the same error, or return the same results. The campaign fuzz runs it.

    differential.py KIND SEED COUNT LIBRARY KEPT FOLDER...

Inputs are files of the folders with random changes, sometimes with corrected checksums. An input with different results
is kept in KEPT, and the exit status is then 1."""

import ctypes
import functools
import os
import pathlib
import random
import struct
import sys
from zlib import crc32

SOURCE_ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE_ROOT / "tests" / "spec"))

import spec_patch
import spec_reader
import spec_slice
import spec_writer
from spec_reader import APPLICATIONS, HEADER, LAYER, OF_SERIES, RECORD, U64, le

ASKED = 12
SMALL = 1200      # bytes: most inputs are not larger, which makes them cheap
LARGEST = 40_000
ACCEPT_UNCLEAN, EXPECT_HASH = 8, 8
FIELDS = [(offset, struct.calcsize("<" + form)) for table in (HEADER, LAYER, spec_slice.FIELDS)
          for offset, form in table.values() if offset >= 0]
RECORD_FIELDS = [(offset, struct.calcsize("<" + form)) for offset, form in RECORD.values() if offset >= 0]
NUMBERS = [0, 1, 2, 3, 4, 5, 7, 8, 63, 64, 65, 255, 256, 511, 512, 1000, 1001, 4095, 4096, 0x3FF0000000000000]


class Differ(Exception):
    pass


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
    if len(data) < 16:
        return
    kind = chance.randrange(8)
    if kind == 0:
        return
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


# --- Comparisons


def refusal(function, *arguments, **named):
    """The result, and the name of the error by which it refused."""
    try:
        return function(*arguments, **named), ""
    except ValueError as error:
        words = str(error).replace(":", " ").split()
        return None, next((word for word in words if word.startswith("BLOOMFILE_")), str(error))


def need_same(what, c, python):
    if c != python:
        raise Differ(f"{what}: {c or 'none'} in C, {python or 'none'} in Python")


def digests_for(chance):
    edges = [chance.choice((0, U64, 1, 1 << 63)), chance.getrandbits(64) >> chance.randrange(64)]
    return edges + [chance.getrandbits(64) for _ in range(ASKED - len(edges))]


def compare_answers(image, handle, digests, named):
    if not named:
        need_same("answers before the hash is named", handle.answers(digests), [True] * len(digests))
    first = spec_reader.layers_of(image)[0]
    if first.header["hash_id"] >= APPLICATIONS:
        handle.open(expect=EXPECT_HASH, hash_id=first.header["hash_id"], self_test=first.header["self_test"])
        image.name(first.header["hash_id"], first.header["self_test"])
    # Digests take the place of keys: Image calls digest_of(), which returns them unchanged.
    need_same(f"answers to {[hex(digest) for digest in digests]}", handle.answers(digests),
              [image.maybe(digest) for digest in digests])


def compare_image(chance, data):
    handle = opened_in_memory(data)
    try:
        image, error = refusal(spec_reader.opened, data, "image", knows_applications=True)
        need_same("verdict", handle.error, error)
        if error:
            return
        compare_answers(image, handle, digests_for(chance), image_is_named(image))
        need_same("verification", error_name(C.bloomfile_verify(handle.pointer, 1, None)), refusal(image.verify)[1])
    finally:
        handle.close()


def image_is_named(image):
    return all(layer.is_named for layer in spec_reader.layers_of(image))


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
                compare_answers(image, handle, digests_for(chance), image.is_named)
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


class Embedded:
    embedded, as_is = True, False


def compare_patch(chance, data):
    """Compares with the filter that it names, or with any other."""
    base = BASES.get(bytes(data[11:19])) or chance.choice(list(BASES.values()))
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
    "images": (compare_image, change_image, mend),
    "live files": (compare_live, change_image, mend),
    "compact forms": (compare_compact, change_compact, mend_compact),
    "slices": (compare_join, None, None),
    "patches": (compare_patch, change_patch, mend_patch),
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
    golden = SOURCE_ROOT / "tests" / "golden"
    for file in sorted(golden.glob("*.bloom")):
        data = file.read_bytes()
        image = spec_reader.opened(data, file, knows_applications=True).verify()
        if isinstance(image, spec_reader.Series) or image.header["layout"] == spec_reader.RIBBON:
            continue
        names = spec_patch.name_of(spec_patch.header_of(image)), image.record["body_crc"]
        BASES[struct.pack("<II", *names)] = data
    for row in (golden / "slices.tsv").read_text().splitlines()[1:]:
        WHOLES.append([(golden / name).read_bytes() for name in row.split("\t")[0].split(",")])


def main():
    kind, seed, count, library, kept, *folders = sys.argv[1:]
    global C
    C = load_library(library)
    read_golden()
    spec_reader.self_test = functools.lru_cache(None)(spec_reader.self_test)
    spec_reader.xxh3 = xxh3_of
    spec_reader.digest_of = lambda header, digest: digest
    compare, *how = KINDS[kind]
    chance, inputs = random.Random(int(seed)), Inputs(folders)
    for _ in range(int(count)):
        made = make(chance, inputs, *how)
        try:
            compare(chance, made)
        except Exception as error:
            parts = made if isinstance(made, list) else [made]
            for number, part in enumerate(parts):
                (pathlib.Path(kept) / f"input-{number}").write_bytes(part)
            if not isinstance(error, Differ):
                raise
            print(error)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
