#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bits a key of a growing series, for several ways to grow, compared with one filter for a known number of keys.

Prints Markdown. Nothing is built: the library computes the size of each layer, so every run prints the same.
"""

import argparse
import ctypes
import functools
import math
import pathlib

import report

LIBRARY = pathlib.Path(__file__).resolve().parent.parent / "lib" / "libbloomfile.so"
LAYOUTS = {"blocked": 1, "classic": 2}
KEYS = [10**e for e in range(4, 11)]
FIRSTS = [10**4, 10**6]  # capacities of the first layer; the second is the default
RATES = [0.01, 0.001]
FACTORS = [2, 4]
TIGHTENINGS = {"1/2": 1 / 2, "3/4": 3 / 4, "7/8": 7 / 8}
STEPS = 16  # numbers of keys between N and N times the factor, their logarithms evenly spread


def theory(keys, rate):
    """RedisBloom's own formula."""
    return keys * -math.log(rate) / math.log(2) ** 2


def of_library(path):
    """Bits of a filter; infinity if digests of 64 bits are too few for so low a rate."""
    library = ctypes.CDLL(str(path))

    class Size(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_size_t), ("layout", ctypes.c_uint32), ("hashes", ctypes.c_uint32),
                    ("keys", ctypes.c_uint64), ("bits", ctypes.c_uint64), ("fpr", ctypes.c_double),
                    ("want_spread", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("spread", ctypes.c_double),
                    ("file_size", ctypes.c_uint64), ("image_size", ctypes.c_uint64)]

    @functools.lru_cache(None)
    def bits(layout, keys, rate):
        size = Size(ctypes.sizeof(Size), LAYOUTS[layout], 0, keys, 0, rate)
        return math.inf if library.bloomfile_size_for(ctypes.byref(size)) else size.bits

    return bits


def layers(bits, first, rate, factor, tightening):
    """Yields (keys, bits) of a series when a layer is added. The rates of all layers sum up to less than `rate`."""
    room = size = 0
    capacity, share = first, rate * (1 - tightening)
    while room < factor * KEYS[-1]:
        room += capacity
        size += bits(capacity, share)
        yield room, size
        capacity, share = factor * capacity, tightening * share


def cells(grown, first, factor):
    """Bits a key of a full first layer; mean and worst bits a key at each number of keys; layers at the greatest."""
    def at(keys):
        return next(i for i, (room, _) in enumerate(grown) if room >= keys)

    row = [f"{grown[0][1] / first:.1f}"]
    for keys in KEYS:
        if keys < first:
            row.append("")
            continue
        some = [round(keys * factor ** (i / STEPS)) for i in range(STEPS)]
        each = [grown[at(n)][1] / n for n in some]
        # The worst number is that of a layer's first key.
        each_layer = [grown[i + 1][1] / (room + 1) for i, (room, _) in enumerate(grown[:-1])
                      if keys <= room + 1 <= keys * factor]
        mean, worst = sum(each) / len(each), max(each + each_layer)
        row.append(f"{mean:.1f} / {worst:.1f}" if worst < math.inf else "none")
    return row + [str(at(KEYS[-1]) + 1)]


def table(bits, layout, rate, first):
    def size(keys, share):
        return bits(layout, keys, share)

    one = [f"{size(keys, rate) / keys:.1f}" if keys >= first else "" for keys in KEYS]
    rows = [["one filter", "", f"{size(first, rate) / first:.1f}"] + one + ["1"]]
    for factor in FACTORS:
        for name, tightening in TIGHTENINGS.items():
            grown = list(layers(size, first, rate, factor, tightening))
            rows.append([f"factor {factor}", name] + cells(grown, first, factor))
    if layout == "classic":
        rows.append(["RedisBloom", "1/2"] + cells(list(layers(theory, first, rate, 2, 1 / 2)), first, 2))
    print(f"{layout}, rate {rate}, a first layer for 10^{round(math.log10(first))} keys:\n")
    report.print_table(["", "tightening", ">first"] + [f">10^{round(math.log10(keys))}" for keys in KEYS] + [">layers"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", default=LIBRARY, help="libbloomfile.so; that of the build if left out")
    bits = of_library(parser.parse_args().library)
    print("Bits a key: of a first layer that is full; then mean / worst:\n")
    for layout in LAYOUTS:
        for rate in RATES:
            for first in FIRSTS:
                table(bits, layout, rate, first)


if __name__ == "__main__":
    report.main(lambda _: main())
