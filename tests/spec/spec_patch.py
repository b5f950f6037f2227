#!/usr/bin/env python3
"""Patches, written from doc/format/patches.md alone.

delta BASE RESULT PATCH, apply BASE PATCH RESULT
vectors SPEC            check the test vectors

Errors are written to standard error; the exit status is then 2."""

import argparse
import re
import sys
from pathlib import Path
from zlib import crc32

import spec_reader
import spec_slice
from spec_reader import (BLOCKED, COUNTING, OF_POSITIONS, RECORD, WIDTH, Image, cells, le,
                         load)

MAGIC = bytes.fromhex("BF 44 4C 54 0D 0A 1A 0A")
RAISED, LOWERED, MOVED = range(3)
OF_LAYER, FOLLOWED = 1, 2  # bits of features


def need(condition, error):
    if not condition:
        raise ValueError(f"BLOOMFILE_{error}")


def kinds(layout):
    return (RAISED, LOWERED, MOVED) if layout == COUNTING else (RAISED, LOWERED)


def eligible(layout, kind, value):
    return (value < 2**WIDTH[layout] - 1, value > 0, True)[kind]


def kind_of(old, new):
    return {1: RAISED, -1: LOWERED}.get(new - old, MOVED)


def pack(layout, values):
    bits = WIDTH[layout]
    return bytes(sum(values[at + i] << i * bits for i in range(8 // bits))
                 for at in range(0, len(values), 8 // bits))


# --- patches.md 1 Numbers of variable size ---

def variable(number):
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes(data + bytes([number]))


class Input:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        need(size <= len(self.data) - self.at, "ETRUNCATED")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self):
        value = 0
        for i in range(10):
            [byte] = self.take(1)
            value |= (byte & 127) << 7 * i
            if byte < 128:
                need((byte > 0 or i == 0) and value < 2**64, "EPATCH")
                return value
        raise ValueError("BLOOMFILE_EPATCH")

    def checksum(self, start):
        crc = crc32(self.data[start:self.at])
        need(le(self.take(4), 0, 4) == crc, "EPATCH")


# --- patches.md 2 The head ---

def name_of(header):
    H = len(header)
    return crc32(header[H // 2 - 4:H // 2] + header[3 * H // 4 - 4:3 * H // 4] + header[-4:])


def record_places(H):
    return H // 2, 3 * H // 4


def mix_records(header):
    first, second = record_places(len(header))
    for i in range(len(header) - second):
        header[second + i] ^= header[first + i]


def bind_records(header, body_crc):
    for place in record_places(len(header)):
        at = place + RECORD["body_crc"][0]
        header[at:at + 4] = (le(header, at, 4) ^ body_crc).to_bytes(4, "little")


def reduced(header, body_crc):
    H, header = len(header), bytearray(header)
    header[H // 2 - 4:H // 2] = bytes(4)
    for place in record_places(H):
        at = place + RECORD["header_crc"][0]
        header[at:at + 4] = bytes(4)
        header[place + H // 4 - 4:place + H // 4] = bytes(4)
    bind_records(header, body_crc)
    mix_records(header)
    return header


def restored(header, body_crc):
    H, header = len(header), bytearray(header)
    mix_records(header)
    bind_records(header, body_crc)
    header[H // 2 - 4:H // 2] = crc32(header[:H // 2 - 4]).to_bytes(4, "little")
    for place in record_places(H):
        at, end = place + RECORD["header_crc"][0], place + H // 4 - 4
        header[at:at + 4] = header[H // 2 - 4:H // 2]
        header[end:end + 4] = crc32(header[place:end]).to_bytes(4, "little")
    return bytes(header)


def edits_between(old, new):
    differing = [i for i in range(len(old)) if old[i] != new[i]]
    runs = []
    for i in differing:
        if runs and i - runs[-1][1] < 3:
            runs[-1][1] = i + 1
        else:
            runs.append([i, i + 1])
    data, at = b"", 0
    for start, end in runs:
        data += variable(start - at) + variable(end - start) + bytes(new[start:end])
        at = end
    return data


def edited(header, edits):
    edits, at = Input(edits), 0
    while edits.at < len(edits.data):
        try:
            at += edits.number()
            new = edits.take(edits.number())
        except ValueError:
            raise ValueError("BLOOMFILE_EPATCH") from None
        need(at + len(new) <= len(header), "EPATCH")
        header[at:at + len(new)] = new
        at += len(new)
    return header


def header_of(image):
    return bytes(image.data[:image.header["header_size"]])


# --- patches.md 4 Strings ---

def best(total, n):
    return max((g for g in range(64) if n * 2**(g + 1) <= 2 * total + n), default=0)


class Writer:
    def __init__(self):
        self.bits = []

    def put(self, value, count):
        self.bits += [value >> i & 1 for i in range(count)]

    def rice(self, value, g):
        self.bits += [0] * (value >> g) + [1]
        self.put(value, g)

    def truncated(self, value, u):
        b = u.bit_length() - 1
        s = 2**(b + 1) - u
        if value < s:
            self.put(value, b)
        else:
            self.put(value + s >> 1, b)
            self.put(value + s & 1, 1)

    def string(self):
        bits = self.bits + [0] * (-len(self.bits) % 8)
        return bytes(sum(bit << i for i, bit in enumerate(bits[at:at + 8]))
                     for at in range(0, len(bits), 8))


class Reader:
    def __init__(self, data):
        self.bits, self.left = int.from_bytes(data, "little"), 8 * len(data)

    def get(self, count):
        need(count <= self.left, "EPATCH")
        value = self.bits & 2**count - 1
        self.bits >>= count
        self.left -= count
        return value

    def rice(self, g):
        zeros = 0
        while not self.get(1):
            zeros += 1
        value = zeros * 2**g + self.get(g)
        need(value < 2**62, "EPATCH")
        return value

    def truncated(self, u):
        b = u.bit_length() - 1
        s = 2**(b + 1) - u
        x = self.get(b)
        return x if x < s else 2 * x + self.get(1) - s

    def end(self):
        need(self.left < 8 and self.bits == 0, "EPATCH")


# --- patches.md 3 Parts: strings of the changes of one kind, given the cells of the part's pages ---

def string_of_cells(layout, kind, old, new):
    gaps, moves, skipped = [], [], 0
    for before, after in zip(old, new):
        if before != after and kind_of(before, after) == kind:
            gaps.append(skipped)
            moves.append(after - before)
            skipped = 0
        elif eligible(layout, kind, before):
            skipped += 1
    if not gaps:
        return variable(0), b""
    gap_bits, out = best(sum(gaps), len(gaps)), Writer()
    for gap, by in zip(gaps, moves):
        out.rice(gap, gap_bits)
        if kind == MOVED:
            out.rice(2 * (by - 2) if by > 0 else 2 * (-by - 2) + 1, 0)
    string = out.string()
    return variable(len(gaps)) + bytes([gap_bits]) + variable(len(string)), string


def string_of_blocks(layout, kind, old, new):
    gaps, blocks, skipped = [], [], 0
    for at in range(0, len(old), 512):
        ranks = [new[i] != old[i] for i in range(at, at + 512) if eligible(layout, kind, old[i])]
        if any(ranks):
            gaps.append(skipped)
            blocks.append(ranks)
            skipped = 0
        else:
            skipped += 1
    if not gaps:
        return variable(0), b""
    counts = [sum(ranks) for ranks in blocks]
    gap_bits = best(sum(gaps), len(gaps))
    typical = (2 * sum(counts) + len(gaps)) // (2 * len(gaps))
    codes = [2 * (n - typical) - 1 if n > typical else 2 * (typical - n) for n in counts]
    count_bits, out = best(sum(codes), len(codes)), Writer()
    for gap, ranks, code, i in zip(gaps, blocks, codes, counts):
        out.rice(gap, gap_bits)
        out.rice(code, count_bits)
        u, begin = len(ranks), 0
        while i > 0:
            x = ranks.index(True, begin) - begin
            if i == 1:
                out.truncated(x, u)
            else:
                out.rice(x, best(u - i, i + 1))
            begin, u, i = begin + x + 1, u - x - 1, i - 1
    string = out.string()
    return (variable(len(gaps)) + bytes([gap_bits]) + variable(typical) + bytes([count_bits])
            + variable(len(string)), string)


def change_cells(layout, kind, units, gap_bits, string, old, new):
    bits, places, at = Reader(string), (i for i, v in enumerate(old) if eligible(layout, kind, v)), 0
    for _ in range(units):
        for _ in range(bits.rice(gap_bits) + 1):
            at = next(places, None)
            need(at is not None, "EPATCH")
        if kind == MOVED:
            c = bits.rice(0)
            value = old[at] + c // 2 + 2 if c % 2 == 0 else old[at] - c // 2 - 2
            need(0 <= value <= 15, "EPATCH")
            new[at] = value
        else:
            new[at] += 1 if kind == RAISED else -1
    bits.end()


def change_blocks(layout, kind, units, gap_bits, typical, count_bits, string, old, new):
    bits, block = Reader(string), -1
    for _ in range(units):
        block += bits.rice(gap_bits) + 1
        need(block < len(old) // 512, "EPATCH")
        places = [i for i in range(512 * block, 512 * (block + 1))
                  if eligible(layout, kind, old[i])]
        c = bits.rice(count_bits)
        n = typical + (c + 1) // 2 if c % 2 else typical - c // 2
        need(1 <= n <= len(places), "EPATCH")
        for i in range(n, 0, -1):
            u = len(places)
            x = bits.truncated(u) if i == 1 else bits.rice(best(u - i, i + 1))
            need(x <= u - i, "EPATCH")
            new[places[x]] ^= 1
            places = places[x + 1:]
    bits.end()


# --- patches.md 5 Making and applying ---

def parts_of(changes):
    """First page and number of pages of each part; `changes`: the number of changed cells of each page."""
    page = 0
    while any(changes[page:]):
        while not changes[page]:
            page += 1
        count, end = 0, page
        while any(changes[end:]) and count < 32768 and not (count >= 1024 and end - page >= 1024):
            count += changes[end]
            end += 1
        yield page, end - page
        page = end


def features_of(number, filter_):
    """The features of the patch of a layer; 0 if it is not a patch of a series."""
    if not isinstance(filter_, spec_reader.Series):
        return 0
    return OF_LAYER | (FOLLOWED if number + 1 < len(filter_.layers) else 0)


def make(base, result):
    """The patch between two filters, or the patches of their layers."""
    old, new = spec_reader.layers_of(base), spec_reader.layers_of(result)
    if type(base) is not type(result) or len(old) != len(new):
        raise ValueError("base and result differ in shape")
    return b"".join(make_one(*pair, features_of(i, base)) for i, pair in enumerate(zip(old, new)))


def make_one(base, result, features):
    """The patch between two Images."""
    h, layout = base.need_no_solution().verify().header, base.header["layout"]
    other = result.verify().header
    alike = ("header_size", "layout", "m", "k", "seed", "hash_id", "self_test", *spec_slice.PLACE)
    if any(h.get(name) != other.get(name) for name in alike):
        raise ValueError("base and result differ in shape")
    names = [base.record["body_crc"], result.record["body_crc"]]
    edits = edits_between(reduced(header_of(base), names[0]), reduced(header_of(result), names[1]))
    data = MAGIC + bytes([1, features, layout])
    for image, body_crc in zip((base, result), names):
        data += name_of(header_of(image)).to_bytes(4, "little") + body_crc.to_bytes(4, "little")
    data += variable(h["body_size"]) + variable(len(edits)) + edits
    data += crc32(data).to_bytes(4, "little")
    old, new = cells(h, base.body), cells(h, result.body)
    page = 4096 * 8 // WIDTH[layout]
    changes = [sum(a != b for a, b in zip(old[at:at + page], new[at:at + page]))
               for at in range(0, len(old), page)]
    string_of, done = string_of_blocks if layout == BLOCKED else string_of_cells, 0
    for first, span in parts_of(changes):
        place = slice(first * page, (first + span) * page)
        made = [string_of(layout, kind, old[place], new[place]) for kind in kinds(layout)]
        part = (variable(first - done) + variable(span) + b"".join(head for head, _ in made)
                + b"".join(string for _, string in made))
        data += part + crc32(part).to_bytes(4, "little")
        done = first + span
    return data + variable(len(changes) - done)


def take_parameter(patch):
    [parameter] = patch.take(1)
    need(parameter <= 56, "EPATCH")
    return parameter


def take_kind(patch, layout, room):
    """`room`: for the string."""
    units = patch.number()
    if units == 0:
        return None
    parameters = [take_parameter(patch)]
    if layout == BLOCKED:
        parameters += [patch.number(), take_parameter(patch)]
        need(1 <= parameters[1] <= 512, "EPATCH")
    size = patch.number()
    need(size <= room, "EPATCH")
    return [units, *parameters], size


def apply_part(patch, start, layout, old, new):
    """`start`: of the part in the patch. The cells are those of its pages; they are changed in `new`."""
    taken, room = [], 2**20
    for kind in kinds(layout):
        what = take_kind(patch, layout, room)
        if what:
            taken.append((kind, *what))
            room -= what[1]
    strings = [patch.take(size) for *_, size in taken]
    patch.checksum(start)
    change = change_blocks if layout == BLOCKED else change_cells
    for (kind, parameters, _), string in zip(taken, strings):
        change(layout, kind, *parameters, string, old, new)
    return new


def take_head(patch):
    start = patch.at
    need(patch.take(8) == MAGIC, "EPATCH")
    fixed = patch.take(19)
    version, features, layout = fixed[:3]
    need(version == 1, "EVERSION")
    need(features <= OF_LAYER | FOLLOWED, "EFEATURE")
    need(layout in OF_POSITIONS, "ELAYOUT")
    need(features != FOLLOWED, "EPATCH")
    names = [le(fixed, at, 4) for at in range(3, 19, 4)]
    body_size, edits_size = patch.number(), patch.number()
    need(body_size > 0 and body_size % 64 == 0 and edits_size <= 8192, "EPATCH")
    edits = patch.take(edits_size)
    patch.checksum(start)
    return features, layout, names, body_size, edits


def apply(base, data):
    """The bytes of the patched result."""
    layers = spec_reader.layers_of(base)
    for layer in layers:
        layer.need_no_solution()
    patch, made, before = Input(data), b"", None
    for number, layer in enumerate(layers):
        before = apply_one(layer, patch, features_of(number, base), before)
        made += bytes(-len(made) % 4096) + bytes(before.data[:before.size])
    return made


def apply_one(base, patch, features_due, before):
    """The result of the next patch; `before`: the result of the patch before it."""
    h = base.header
    features, layout, names, size, edits = take_head(patch)
    base_header, base_body, result_header, result_body = names
    body_crc = base.record["body_crc"]
    need((name_of(header_of(base)), body_crc) == (base_header, base_body), "EDIFFERENTBASE")
    need(features == features_due, "EDIFFERENTBASE")
    need((layout, size) == (h["layout"], h["body_size"]), "EPATCH")
    header = restored(edited(reduced(header_of(base), body_crc), edits), result_body)
    need(name_of(header) == result_header, "EPATCH")
    check_header(base, header, result_body, before)
    base.verify()
    body = apply_parts(base, patch)
    need(features & FOLLOWED or patch.at == len(patch.data), "ETRAILING")
    try:
        return image_like(base, header + body + entries_of(body)).verify()
    except ValueError:
        raise ValueError("BLOOMFILE_EPATCH") from None


def apply_parts(base, patch):
    """The body of the result."""
    layout = base.header["layout"]
    old = list(cells(base.header, base.body))
    new, at, page = list(old), 0, 4096 * 8 // WIDTH[layout]
    while True:
        start, left = patch.at, base.pages - at
        skip = patch.number()
        need(skip <= left, "EPATCH")
        if skip == left:
            return pack(layout, new)
        span = patch.number()
        need(1 <= span <= left - skip, "EPATCH")
        place = slice((at + skip) * page, (at + skip + span) * page)
        new[place] = apply_part(patch, start, layout, old[place], new[place])
        need(not any(new[base.header["m"]:]), "EPATCH")  # P12, as early as in the library
        at += skip + span


def entries_of(body):
    return b"".join(entry.to_bytes(4, "little") for entry in spec_reader.page_entries(body))


SHAPE = ("header_size", "layout", "m", "k", "seed", "hash_id", "self_test", "layers", "layer",
         *spec_slice.PLACE)


def image_like(base, data):
    """An Image of the size S of the base."""
    return Image(data.ljust(len(base.data), b"\0"), "the result", True)


def check_header(base, header, result_body, before):
    """P8, of the edited header."""
    try:
        result = image_like(base, header)
    except ValueError:
        raise ValueError("BLOOMFILE_EPATCH") from None
    need(all(result.header.get(name) == base.header.get(name) for name in SHAPE), "EPATCH")
    need(result.record["body_crc"] == result_body, "EPATCH")
    need(result.header.get("link", 0) == (spec_reader.link_of(before) if before else 0), "EPATCH")
    words = spec_reader.series_words
    need(not before or words(result) == words(before), "EPATCH")


# --- patches.md 6 Vectors ---

def image_of(given, keys):
    kind, with_body = spec_reader.understand(f"{given} keys={keys}")
    return Image(spec_reader.whole_image(with_body), "image")


def vectors(spec):
    lines = [(*re.match(r"patch (.*) from=(\d+) to=(\d+)", question).groups(), answer)
             for question, answer in spec_reader.vector_rows(spec) if question.startswith("patch ")]
    for given, begin, end, stated in lines:
        base, result = (image_of("image " + given, keys) for keys in (begin, end))
        made = make(base, result)
        if made.hex() != stated or apply(base, made) != bytes(result.data):
            raise ValueError(f"{given} from={begin} to={end}\nhere: {made.hex()}")
        check_damaged(base, made)
    print(f"{len(lines)} vectors ok")


def check_damaged(base, made):
    """Asserts that no byte can be changed or left out."""
    for at in range(len(made)):
        for bad in made[:at] + bytes([made[at] ^ 1]) + made[at + 1:], made[:at]:
            try:
                apply(base, bad)
            except ValueError as refused:
                if str(refused).startswith("BLOOMFILE_"):
                    continue
            raise ValueError(f"{made.hex()} is not refused when damaged at {at}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["delta", "apply", "vectors"])
    parser.add_argument("paths", nargs="+")
    options = parser.parse_args()
    paths = options.paths
    try:
        if options.command == "vectors":
            vectors(*paths)
        elif options.command == "delta":
            Path(paths[2]).write_bytes(make(load(paths[0]), load(paths[1])))
        else:
            Path(paths[2]).write_bytes(apply(load(paths[0]), Path(paths[1]).read_bytes()))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
