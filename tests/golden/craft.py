# SPDX-License-Identifier: MIT
"""Images for the tests: made by the independent implementation, then changed byte by byte.

make() runs tests/spec/spec_reader.py, so the C library is not tested against itself.
edit() changes fields and updates the checksums, so that only the change is wrong."""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile
from zlib import crc32

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parent.parent
READER = TESTS / "spec" / "spec_reader.py"
sys.path.insert(0, str(TESTS / "spec"))

import spec_reader  # noqa: E402
import spec_slice  # noqa: E402
from spec_reader import KEY_KINDS, HEADER, LAYER, RECORD, Image, keys_of, opened  # noqa: E402

SEALED_SEQUENCE = 2**64 - 1
LIVE, SEALED, POISONED = 1, 2, 3


def reader(*arguments, keys=b""):
    """Runs spec_reader.py and returns its standard output."""
    command = [sys.executable, "-B", str(READER), *map(str, arguments)]
    return subprocess.run(command, input=keys, stdout=subprocess.PIPE, check=True).stdout


def derive(command, *arguments):
    """The image that `fold N`, `union`, `join`, `copy` or `project` makes from images (given as bytes)."""
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for number, argument in enumerate(arguments):
            if isinstance(argument, bytes):
                path = pathlib.Path(folder, f"source-{number}")
                path.write_bytes(argument)
                argument = path
            words.append(argument)
        out = pathlib.Path(folder, "out")
        words.insert(0 if command in ("union", "join") else len(words), out)
        reader(command, *words)
        return out.read_bytes()


def lines(keys):
    return b"".join(key + b"\n" for key in keys)


def feed(keys):
    """An input that holds these keys, and the options to read it with."""
    keys = list(keys)
    if not any(b"\n" in key for key in keys):
        return lines(keys), []
    if not any(b"\0" in key for key in keys):
        return b"".join(key + b"\0" for key in keys), ["-0"]
    if len({len(key) for key in keys}) == 1:
        return b"".join(keys), ["-x", len(keys[0])]
    raise ValueError("no form of input can hold these keys")


def make(layout, m, k, keys=(), *, embedded=False, **options):
    """A sealed image; options are those of `spec_reader.py write`."""
    data, form = feed(keys)
    words = ["--layout", layout, "--m", m, "--k", k, *form]
    for name, value in options.items():
        words += ["--" + name.replace("_", "-"), value]
    if embedded:
        words.append("--embedded")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "image")
        reader("write", *words, out, keys=data)
        return out.read_bytes()


def positions(layout, m, k, key, seed=0):
    """The positions that a key sets, according to the reader."""
    header = {"layout": spec_reader.LAYOUTS[layout], "m": m, "k": k}
    return list(spec_reader.positions(header, spec_reader.xxh3(key, seed)))


def named(image, name):
    """An Image or a Series; with an application's own hash function, as that application sees it."""
    found = opened(image, name, knows_applications=True)
    header = spec_reader.layers_of(found)[0].header
    return found.name(header["hash_id"], header["self_test"])


def hash_words(image):
    """The hash function of an Image, in words."""
    number, value = image.header["hash_id"], image.header["self_test"]
    return "xxh3" if number == 1 else f"{number:08x} {value:016x}"


def refusal(image):
    """The error and the rule by which the reader refuses an image, or None."""
    try:
        opened(image, "image").verify()
    except ValueError as refused:
        error, _, rule = str(refused).removeprefix("image: ").partition(" rule ")
        return error.split()[0], re.match(r"\w+\.md [\d.]+|\w+|", rule)[0] or "12.4"
    return None


def header_size(image):
    return struct.unpack_from("<I", image, 12)[0]


def body_size(image):
    return struct.unpack_from("<Q", image, 80)[0]


def body_of(image):
    H = header_size(image)
    return image[H:H + body_size(image)]


def field(image, name, record=None):
    """The value of a field of the static header, or of commit record 0 or 1."""
    _, start, form = locate(image, name, record)
    return struct.unpack_from("<" + form, image, start)[0]


def kind_words(image):
    """The kind of an Image's keys, in words."""
    value = keys_of(image.header)
    if not spec_reader.keys_known(value):
        return "newer"
    kind = next(word for word, number in KEY_KINDS.items() if number == value & 255)
    return f"{kind} {value >> 8}" if kind == "fixed" else kind


def locate(image, name, record=None):
    """A field's size, offset in the image, and struct format."""
    H = header_size(image)
    fields, start, size = (({**HEADER, **LAYER, **spec_slice.FIELDS}, 0, H // 2) if record is None
                           else (RECORD, H // 2 + H // 4 * record, H // 4))
    offset, form = fields[name]
    return struct.calcsize("<" + form), start + offset % size, form


def entries(body, body_crc):
    """The page checksums of a sealed image."""
    return b"".join(struct.pack("<I", crc32(body[p:p + 4096]) ^ body_crc)
                    for p in range(0, len(body), 4096))


def edit(image, header=(), record=(), records=(0, 1), at=(), body=None, checksums=True):
    """Returns a changed copy.

    header, record: fields and their values; the record's are set in `records`.
    at:             offset -> bytes, for bytes without a name.
    body:           the new body; body_crc follows.
    checksums:      recompute header_crc and record_crc (unless set by `header` or `record`), and
                    the page checksums if the body or body_crc is new."""
    out = bytearray(image)
    H, record = header_size(image), dict(record)
    for offset, data in dict(at).items():
        out[offset:offset + len(data)] = data
    for name, value in dict(header).items():
        _, offset, form = locate(image, name)
        struct.pack_into("<" + form, out, offset, value)
    if body is not None:
        out[H:H + len(body)] = body
        record.setdefault("body_crc", crc32(body))
    if checksums and record.get("body_crc"):
        size = body_size(image)
        out[H + size:] = entries(out[H:H + size], record["body_crc"])
    if checksums and "header_crc" not in dict(header):
        struct.pack_into("<I", out, H // 2 - 4, crc32(out[:H // 2 - 4]))
    for slot in 0, 1:
        start, size = H // 2 + H // 4 * slot, H // 4
        if checksums:
            out[start + 60:start + 64] = out[H // 2 - 4:H // 2]
        if slot in records:
            for name, value in record.items():
                offset, form = RECORD[name]
                if offset >= size:
                    continue
                struct.pack_into("<" + form, out, start + offset % size, value)
        if checksums and not (slot in records and "record_crc" in record):
            struct.pack_into("<I", out, start + size - 4, crc32(out[start:start + size - 4]))
    return bytes(out)


def with_head(image, page, head):
    """A ribbon image with another head in that page, and correct checksums."""
    body = bytearray(body_of(image))
    body[4096 * page:4096 * page + 8] = head.to_bytes(8, "little")
    return edit(image, body=bytes(body),
                record={"ones": int.from_bytes(body, "little").bit_count()})


def flip(image, offset, bit=0):
    out = bytearray(image)
    out[offset] ^= 1 << bit
    return bytes(out)


def write_folder(folder, files, check):
    """Writes the files (name -> bytes); with `check`, only compares them and prints the names that differ."""
    different = []
    for name, data in files.items():
        path = folder / name
        if path.is_file() and path.read_bytes() == data:
            continue
        different.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    known = {".gitattributes", "README.md", "make.py", "craft.py", "craft_series.py",
             "craft_slices.py", "refused_series.py", "refused_slices.py", "refused_doubt.py",
             "refused_operations.py"} | set(files)
    different += [str(path.relative_to(folder)) for path in sorted(folder.rglob("*"))
                  if path.is_file() and "__pycache__" not in path.parts
                  and str(path.relative_to(folder)) not in known]
    return different
