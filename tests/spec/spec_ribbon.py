# SPDX-License-Identifier: MIT
"""The layout ribbon, for spec_reader.py: written from doc/format/ribbon.md alone, in its order.

A page is here the bytes of its lines, without padding. Digests are distinct."""

import struct
from collections import defaultdict
from fractions import Fraction
from zlib import crc32

U64 = 2**64 - 1
C = 0x9E3779B97F4A7C15  # section 10
D = 0xD1B54A32D192ED03  # ribbon.md 4

# --- ribbon.md 1 Pages ---


def lines_of(m):
    """The lines of each page."""
    lines = m // 512
    return [min(64, lines - first) for first in range(0, lines, 64)]


def page_of(digest, m):
    return (digest * (m // 512) >> 64) // 64


# --- ribbon.md 2 The head ---

LARGEST_KEYS = 2**32 - 1
SEEDS = 16


def words_in(lines):
    return 16 * lines - 2


class Head:
    def __init__(self, value, lines):
        self.groups, self.seed, self.keys = value & 0xFFFF, value >> 16 & 127, value >> 32
        words = words_in(lines)
        self.is_solved = 2 <= self.groups <= words // 2 and value >> 23 & 511 == 0
        self.is_valid = self.is_solved or value & 0xFF80FFFF == 0
        self.columns = Columns(words, self.groups) if self.is_solved else None


def head_of(page):
    return Head(int.from_bytes(page[:8], "little"), len(page) // 64)


def head_value(groups, seed, keys):
    return groups | seed << 16 | min(keys, LARGEST_KEYS) << 32


# --- ribbon.md 3 Groups and columns ---

class Columns:
    def __init__(self, words, groups):
        self.words, self.groups = words, groups
        self.r = min(32, words // groups)
        self.few = groups if self.r == 32 else groups * (self.r + 1) - words

    def count(self, group):
        return self.r if group < self.few else self.r + 1

    def first_word(self, group):
        return group * self.r + max(0, group - self.few)

    def rate(self):
        return Fraction(self.rates(), (self.groups - 1) << 32)

    def rates(self):
        """The rates of the groups in which keys begin, added up, times 2^32."""
        return sum(2**(32 - self.count(group)) for group in range(self.groups - 1))


# --- ribbon.md 4 Lookups ---

def mix(a, b):
    return a * b >> 64 ^ a * b & U64


def row_of(digest, seed, groups):
    """h, the first group, and the coefficients of its slots and of the next group's slots."""
    h = (mix(digest ^ D, C) ^ seed * C & U64) * D & U64
    return h, (h >> 32) * (groups - 1) >> 32, mix(h ^ 0x8CB92BA72F3D8DD7, C)


def parities(page, columns, group, coefficients):
    """A bit for each column of the group."""
    count, start = columns.count(group), 8 + 4 * columns.first_word(group)
    found = struct.unpack_from(f"<{2 * count}I", page, start)
    return sum(((low | high << 32) & coefficients).bit_count() % 2 << j
               for j, (low, high) in enumerate(zip(found[:count], found[count:])))


def maybe(page, digest):
    """The result of a lookup in a page with a correct checksum."""
    head = head_of(page)
    if not head.is_solved:
        return True
    h, group, coefficients = row_of(digest, head.seed, head.groups)
    known = 2**head.columns.count(group) - 1
    return parities(page, head.columns, group, coefficients) == h & known


# --- ribbon.md 5 The solution ---

def echelon(digests, seed, groups):
    """Slot -> a row that begins there, shifted to it, and its right side; None: rows are dependent.

    In the order of their groups, each row stays in the two groups in which it began."""
    leads = {}
    for h, group, row in sorted((row_of(digest, seed, groups) for digest in digests),
                                key=lambda found: found[1]):
        slot, right = 32 * group, h
        while True:
            if row == 0:
                return None
            zeros = (row & -row).bit_length() - 1
            slot, row = slot + zeros, row >> zeros
            if slot not in leads:
                leads[slot] = row, right
                break
            row, right = row ^ leads[slot][0], right ^ leads[slot][1]
    return leads


def begins_too_often(digests, seed, groups):
    """Lets a writer stop early."""
    rows, over = [0] * groups, 0
    for digest in digests:
        rows[row_of(digest, seed, groups)[1]] += 1
    for begun in rows:
        over = max(0, over + begun - 32)
        if over > 32:
            return True
    return False


def solution(leads, groups, count):
    """A number for each slot; its bit j belongs to column j < count."""
    solved = [0] * 32 * groups
    for slot in sorted(leads, reverse=True):
        row, value = leads[slot]
        for at in range(1, row.bit_length()):
            if row >> at & 1:
                value ^= solved[slot + at]
        solved[slot] = value & 2**count - 1
    return solved


def words_of(solved, columns):
    words = [0] * columns.words
    for group in range(columns.groups):
        slots, first = solved[32 * group:][:32], columns.first_word(group)
        for j in range(columns.count(group)):
            words[first + j] = sum((slot >> j & 1) << i for i, slot in enumerate(slots))
    return words


def solve(digests, lines):
    """The bytes of a page; checks that it has every key."""
    words = words_in(lines)
    for groups in range(max(2, -(-41 * len(digests) // 1280)), words // 2 + 1):
        for seed in range(SEEDS):
            leads = (None if begins_too_often(digests, seed, groups)
                     else echelon(digests, seed, groups))
            if leads is not None:
                columns = Columns(words, groups)
                solved = solution(leads, groups, columns.count(groups - 1))
                page = struct.pack(f"<Q{words}I", head_value(groups, seed, len(digests)),
                                   *words_of(solved, columns))
                if not all(maybe(page, digest) for digest in digests):
                    raise ValueError("a page lost a key")
                return page
    return struct.pack("<Q", head_value(0, 0, len(digests))).ljust(64 * lines, b"\0")


# --- ribbon.md 6 The rate; bodies ---

def pages_of(body, m):
    """The used part of each page."""
    return [body[4096 * number:][:64 * lines] for number, lines in enumerate(lines_of(m))]


def body_of_digests(digests, m):
    """The used part of the body."""
    keys = defaultdict(list)
    for digest in digests:
        keys[page_of(digest, m)].append(digest)
    return b"".join(solve(keys[number], lines) for number, lines in enumerate(lines_of(m)))


def heads_of(body, m):
    return [head_of(page) for page in pages_of(body, m)]


def heads_contradict(body, m, n):
    """Section 12.4, point 6."""
    heads = heads_of(body, m)
    keys = sum(head.keys for head in heads)
    at_least = any(head.keys == LARGEST_KEYS for head in heads)
    return not all(head.is_valid for head in heads) or (keys > n if at_least else keys != n)


def rate(body, m):
    rates = [(head.columns.rate() if head.is_solved else 1) * lines
             for head, lines in zip(heads_of(body, m), lines_of(m))]
    return sum(rates) / (m // 512)


# --- ribbon.md 7 ---

def vector_of_columns(given):
    columns = Columns(words_in(given["lines"]), given["groups"])
    return f"{columns.r} {columns.few} {columns.rates()}"


def vector_of_lookup(given):
    """The words of the page are not a solution."""
    words, groups = words_in(given["lines"]), given["groups"]
    page = struct.pack(f"<Q{words}I", head_value(groups, given["page_seed"], 0),
                       *(((i + 1) * C & U64) >> 32 for i in range(words)))
    h, group, coefficients = row_of(given["digest"], given["page_seed"], groups)
    found = parities(page, Columns(words, groups), group, coefficients)
    return f"{h:016x} {group} {coefficients:016x} {found:08x}"


def vector_of_page(digests, lines):
    page = solve(digests, lines)
    head = int.from_bytes(page[:8], "little")
    maybes = sum(maybe(page, i * C & U64) for i in range(1, 4097))
    return f"{head & 0xFFFF} {head >> 16 & 127} {head >> 32} {crc32(page):08x} {maybes}"
