# SPDX-License-Identifier: MIT
"""Series for the tests, live and sealed, made in memory by the independent implementation.

live() returns the files of a live series by slot; sealed() returns a sealed copy of it.
relinked() updates rest_size and link of changed layers, so that only the change is wrong."""

import pathlib
import struct
import tempfile

from craft import KEY_KINDS, edit, field, spec_reader

import spec_series
from spec_reader import LAYOUTS, OF_SERIES, Image, layers_of, on_pages, self_test
from spec_series import SUCCEEDED, first_layer, next_layer, slot_of
from spec_writer import H, LiveImage, changed, created

IDENTITY = 0x0123456789ABCDEF
BEGAN = 1_800_000_000


def header(layout="blocked", capacity=8, fpr=0.05, generations=0, key_kind="unknown", label="",
           tag="00" * 16, seed=0, m=0, k=0, period=0, began=BEGAN, **name):
    """The header of layer 0; `name`: hash_id and self_test of app-hashes.md."""
    return first_layer({
        "series": IDENTITY, "hash_id": 1, "self_test": self_test(seed), **name, "seed": seed,
        "layout": LAYOUTS[layout], "capacity": capacity, "generations": generations,
        "period": period, "began": began if period else 0, "label": label.encode(),
        "tag": bytes.fromhex(tag), "key_kind": KEY_KINDS[key_kind],
        "provenance": 0}, fpr, m, k)


def plain(layout, seed):
    """The fields of layer 0 that spec_series.py needs and does not compute."""
    return {"hash_id": 1, "self_test": self_test(seed), "seed": seed, "layout": LAYOUTS[layout]}


class Filling:
    """A layer while keys are added."""

    def __init__(self, fields):
        self.header, self.keys, self.digests = {**fields, "header_size": H}, [], []

    def positions(self, digest):
        return spec_reader.positions(self.header, digest)

    def image(self, flags):
        """The image after its last writer left: record 0 is still the creator's."""
        layer = self.header["layer"].to_bytes(8, "little")
        data = bytearray(created(self.header, identity=bytes(range(0x50, 0x58)) + layer))
        body = spec_reader.body_of_keys(self.header, self.digests)
        data[H:H + len(body)] = body
        ones, _ = spec_reader.ones_and_overflow(self.header, body)
        data[3072:H] = changed(data[2048:3072], sequence=2, n=len(self.digests), ones=ones,
                               flags=flags)
        return bytes(data)


def fill(fields, keys, layers=0):
    """The layers that a series of these keys has had; at least this many."""
    made, bits = [Filling(fields)], [set()]
    for key in keys:
        digest = spec_reader.digest_of(fields, key)
        kept = -(fields["generations"] or len(made))
        if any(set(layer.positions(digest)) <= ones
               for layer, ones in list(zip(made, bits))[kept:]):
            continue
        if len(made[-1].digests) >= made[-1].header["capacity"]:
            further(made, bits)
        made[-1].keys.append(key)
        made[-1].digests.append(digest)
        bits[-1] |= set(made[-1].positions(digest))
    while len(made) < layers:
        further(made, bits)
    return made


def further(made, bits):
    before = made[-1].header
    made.append(Filling(next_layer(before, before["began"] + before["period"])))
    bits.append(set())


def held(fields, keys, layers=0):
    """The keys in the layers that the series still has."""
    kept = fill(fields, keys, layers)[-fields["generations"]:]
    return [key for layer in kept for key in layer.keys]


def live(fields, keys, layers=0, unmarked=False):
    """slot -> the bytes of its file. unmarked: the last layer but one lacks bit 2."""
    made = fill(fields, keys, layers)
    images = [layer.image(SUCCEEDED if number < len(made) - 1 - unmarked else 0)
              for number, layer in enumerate(made)]
    return {slot_of(layer.header): image for layer, image in zip(made, images)}


def file_name(slot, name="filter.bloom"):
    return f"{name}.{slot}" if slot else name


def in_order(files):
    """The files of a live series, the oldest layer first."""
    return sorted(files.values(), key=lambda image: LiveImage(image, "").header["layer"])


def written(files, folder, name="filter.bloom"):
    """Writes them into a folder; returns the path of the series."""
    for slot, image in files.items():
        pathlib.Path(folder, file_name(slot, name)).write_bytes(image)
    return pathlib.Path(folder, name)


def sealed(files):
    """The bytes of a sealed copy of a live series."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "sealed")
        spec_series.seal(written(files, folder), out)
        return out.read_bytes()


def split(series):
    """The layers of a sealed series, as bytes."""
    layers = layers_of(spec_reader.opened(series, "", knows_applications=True))
    return [bytes(layer.data[:layer.size]) for layer in layers]


def relinked(layers, between=b"\0"):
    """The layers in a row, each with its place computed from its neighbours."""
    out, before = [], 0
    for number, layer in enumerate(layers):
        layer = edit(layer, header={"link": before, "rest_size": len(joined(layers[number:]))})
        before = field(layer, "header_crc") + (field(layer, "body_crc", 0) << 32)
        out.append(layer)
    return joined(out, between)


def joined(layers, between=b"\0"):
    """The layers in a row, each at a multiple of 4096."""
    out = b""
    for layer in layers:
        out = out.ljust(on_pages(len(out)), between) + layer
    return out


def as_layer(image, **fields):
    """An image with the fields of a layer."""
    return edit(image, header={"incompat": OF_SERIES, **fields})


def live_refusal(files):
    """The error and the rule by which the reader refuses a live series, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(files, folder)
        try:
            spec_series.LiveSeries(path).close()
        except ValueError as refused:
            _, error, _, rule, *_ = str(refused).split()
            return error, rule
    return None


def answers(files, keys, name=None):
    """How many of the keys are "maybe" in a live series."""
    with tempfile.TemporaryDirectory() as folder:
        series = spec_series.LiveSeries(written(files, folder), application=name)
        found = sum(series.maybe(key) for key in keys)
        series.close()
    return found
