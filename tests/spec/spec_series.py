#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second implementation of live series, written from doc/format/live.md 9 alone.

create NAME             make a series of one layer: --grow, or --generations G with --period SECONDS
add NAME                join, add keys to the newest layer, leave; makes layers as needed
succeed NAME            make another layer, whether the newest layer is full or not
query NAME              print the keys that may be present (-v: those certainly absent)
seal NAME OUT           make a sealed series of it (operations.md 5)
info NAME               print header and record in force of each layer as JSON

NAME may also be a sealed series, for `query` and `info`. Keys are read as by spec_writer.py, whose
other options work too; --fpr is the rate of the whole series, and --m and --k describe the first
layer. --die ends `add` as if the process had been killed before it left. --unmarked ends `succeed`
in the same way before it marks the layer that got a successor. Errors are written to standard
error; the exit status is then 2."""

import argparse
import fcntl
import os
import secrets
import struct
import sys
import time
from contextlib import contextmanager
from functools import partial
from math import ceil, log, log2
from pathlib import Path

import spec_reader
import spec_writer
from spec_reader import (BLOCKED, COUNTING, KNOWN_PROVENANCE, LAYER, LAYOUTS, N_ESTIMATED,
                         WIDTH, le, ones_and_overflow, opened, sealed_series, series_words)
from spec_writer import (F_OFD_SETLK, F_OFD_SETLKW, FLOCK, H, POISONED, RECORDS, SLOTS, SUCCEEDED,
                         SYNCS, File, Reader, Writer, created, estimate, publish,
                         synchronise_folder)

# --- live.md 9.1 The files of a live series ---

READINGS = 100


def slot_path(name, slot):
    return name.with_name(f"{name.name}.{slot}") if slot else name


def slot_of(header):
    return header["layer"] % header["generations"] if header["generations"] else header["layer"]


def live_words(layer):
    """The fields that are equal in all layers of one live series (slices.md 2.1)."""
    return series_words(layer) + [layer.header[name]
                                  for name in ("series", "generations", "period")]


class Layer(Reader):
    """A layer that is kept open for lookups."""

    in_series = True

    def is_succeeded(self):
        """S2 and S6: in either record, intact or not."""
        return any(le(self.mapping, slot + 12, 4) & SUCCEEDED for slot in SLOTS)

    def is_poisoned(self):
        return any(le(self.mapping, slot + 8, 4) == POISONED for slot in SLOTS)

    def has_keys(self):
        return self.image.record["n"] > 0 or self.image.record["ones"] > 0 or any(self.image.body)


class LayerFile(File):
    in_series = True


class LayerWriter(Writer):
    in_series = True


class Incomplete(Exception):
    """The files read are not a whole series; they may be when they are read again."""


class LiveSeries:
    """A live series that is kept open for lookups."""

    def __init__(self, path, accept_unclean=False, application=None):
        """`application`: hash_id and self_test, of app-hashes.md."""
        self.name = Path(os.path.realpath(path))
        self.accept_unclean, self.application = accept_unclean, application
        self.layers, self.error = {}, None
        self.read()

    # S1 to S3

    def read(self):
        """Opens the layers that exist; keeps open layers open."""
        missing = None
        for _ in range(READINGS):
            found = {}
            try:
                self.read_once(found)
            except Incomplete as reason:
                missing = reason
            except BaseException:
                close(found)
                raise
            else:
                for number in sorted(set(found) & set(self.layers)):
                    found.pop(number).close()
                self.layers |= found
                return
            close(found)
            time.sleep(0.001)
        raise ValueError(f"{self.name}: BLOOMFILE_EMISSINGLAYER rule S2 {missing}")

    def read_once(self, found):
        first = self.read_slot(0, found, None)
        generations = first.image.header["generations"]
        slot = 1
        while slot < generations or not generations:
            try:
                self.read_slot(slot, found, first)
            except FileNotFoundError:
                if not generations:
                    break
            slot += 1
        newest = max(found)
        first_number = max(newest - generations + 1, 0) if generations else 0
        for number in range(first_number, newest + 1):
            if number not in found:
                raise Incomplete(f"layer {number} is missing")
        if found[newest].is_succeeded():
            raise Incomplete(f"layer {newest + 1} is missing")
        due = newest if found[newest].has_keys() and not self.accept_unclean else newest - 1
        for number in range(first_number, due):
            first.image.need(found[number].is_succeeded(), "ESERIES rule S2")

    def read_slot(self, slot, found, first):
        layer = Layer(slot_path(self.name, slot), self.accept_unclean)
        image = layer.image
        try:
            image.need(not image.is_sealed_layer(), "ESERIES rule S3")
            if first:
                image.need(live_words(image) == live_words(first.image), "ESERIES rule slices.md 2.1")
            image.need(slot_of(image.header) == slot, "ESERIES rule " + ("S3" if slot else "V39"))
            if self.application:
                image.name(*self.application)
        except BaseException:
            layer.close()
            raise
        found[image.header["layer"]] = layer
        return layer

    @property
    def newest(self):
        return self.layers[max(self.layers)]

    # live.md 9.2 Lookups

    def maybe(self, key):
        """S6."""
        asked = set()
        while True:
            for number in sorted(set(self.layers) - asked):
                if self.layers[number].maybe(key):
                    return True
                asked.add(number)
            if not self.newest.is_succeeded():
                return False
            try:
                self.read()
            except (OSError, ValueError) as error:
                self.error = error
                return True

    def close(self):
        close(self.layers)


def close(layers):
    while layers:
        layers.popitem()[1].close()


# --- live.md 9.3 Another layer ---

class SeriesWriter:
    """A writer that has joined the newest layer of a series."""

    def __init__(self, path, accept_unclean=False, application=None):
        self.accept_unclean, self.application = accept_unclean, application
        self.series = LiveSeries(path, accept_unclean, application)
        self.writer = None
        self.unclean = {}  # the writers of older layers that were unclean
        try:
            self.begin()
        except BaseException:
            self.series.close()
            raise

    def begin(self):
        """S8 and S11."""
        newest = max(self.series.layers)
        older = self.series.layers.get(newest - 1)
        if older and not older.is_succeeded() and self.series.newest.has_keys():
            self.writer = self.join(newest, incomplete=True)
        for number, layer in sorted(self.series.layers.items()):
            if number < newest and not layer_is_clean(layer):
                writer = self.join(number)
                if writer.was_unclean:
                    self.unclean[number] = writer
                else:
                    writer.leave()
        if older and not older.is_succeeded():
            before = self.unclean.get(newest - 1) or self.join(newest - 1)
            try:
                self.succeed(before, newest - 1)
            finally:
                if not before.was_unclean:
                    before.leave()
        self.writer = self.writer or self.join(newest)

    def path(self, number):
        header = self.series.newest.image.header
        return slot_path(self.series.name, slot_of({**header, "layer": number}))

    def join(self, number, incomplete=False):
        writer = LayerWriter(self.path(number), self.accept_unclean, incomplete)
        try:
            known = self.series.layers[number].image
            writer.image.need(live_words(writer.image) == live_words(known)
                              and writer.image.header["layer"] == number, "ESERIES rule S3")
            if self.application:
                writer.image.name(*self.application)
        except BaseException:
            writer.leave()
            raise
        return writer

    def go_on(self):
        """Leaves a layer that has a successor and joins the newest layer."""
        while self.series.newest.is_succeeded():
            self.series.read()
        number = max(self.series.layers)
        if self.writer.image.header["layer"] != number:
            self.writer.leave()
            self.writer = self.join(number)

    def add(self, keys):
        """Returns how many of the keys were new."""
        return sum([self.add_one(key) for key in keys])

    def add_one(self, key):
        self.go_on()
        while self.series.maybe(key):
            self.need_known()
            if not self.generations() or not self.series.newest.is_succeeded():
                return False
            self.go_on()
        while self.is_full():
            self.make_next()
        is_new = self.writer.add([key]) > 0
        while self.generations() and self.series.newest.is_succeeded():  # S10
            self.go_on()
            self.writer.add([key])
        return is_new

    def need_known(self):
        """If a lookup is "maybe" only because of an error, the key does not count as old."""
        if self.series.error:
            raise self.series.error
        for layer in self.series.layers.values():
            layer.image.need(not layer.is_poisoned(), "EPOISONED rule V35")

    def generations(self):
        return self.writer.image.header["generations"]

    # live.md 9.4

    def is_full(self):
        header = self.writer.image.header
        return (self.writer.totals()["n"] >= header["capacity"]
                or header["period"] and (time.time() >= header["began"] + header["period"]
                                         or self.began_ahead(int(time.time()))))

    def began_ahead(self, now):
        header = self.writer.image.header
        return header["began"] - now > -(-header["period"] // 10)

    def make_next(self):
        """Makes as many layers as are due: with a period, that may be several."""
        header, began = self.writer.image.header, int(time.time())
        period, most, due = header["period"], header["generations"], 1
        if period and began >= header["began"] + period:
            passed = (began - header["began"]) // period
            due = min(passed, most)
            began = header["began"] + period * (passed - due + 1)
        for number in range(due):
            self.succeed(self.writer, self.writer.image.header["layer"], began + number * period)
            self.go_on()

    def succeed(self, writer, number, began=None, mark=True):
        """`writer` has joined layer `number`."""
        with writer.records() as image:
            if writer.is_succeeded():
                return
            image.need(image.is_live() and not writer.sync_has_failed, "EPOISONED rule V35")
            generations = image.header["generations"]
            for own in {number, number if generations else 0}:
                image.need(self.number_at(image, own) == own, "EREPLACED rule S11")
            image.need(self.path(number).stat().st_nlink == 1, "EMLINK rule S14")
            mounted = any(self.path(own).is_mount() for own in (0, number, number + 1))
            image.need(not mounted, "EMLINK rule S14")
            found = self.number_at(image, number + 1)
            if found != number + 1:
                replaced = number + 1 - generations if generations else -1
                image.need(found == (replaced if replaced >= 0 else None), "ESERIES rule S3")
                publish(self.path(number + 1), created(next_layer(image.header, began),
                                                       watermark=image.record["watermark"]),
                        replace=replaced >= 0)
            synchronise_folder(self.series.name.parent)
            if mark:
                with all_exact(writer):
                    writer.commit(flags=image.record["flags"] | SUCCEEDED)

    def number_at(self, image, number):
        """The number of the layer of this series whose file is at the place of layer `number`."""
        try:
            layer = Layer(self.path(number), accept_unclean=True)
        except FileNotFoundError:
            return None
        try:
            layer.image.need(live_words(layer.image) == live_words(image), "ESERIES rule S3")
            return layer.image.header["layer"]
        finally:
            layer.close()

    def synchronise(self):
        """S12."""
        self.go_on()
        self.leave_older()
        for number, layer in sorted(self.series.layers.items()):
            if number != self.writer.image.header["layer"] and not layer_is_clean(layer):
                self.join(number).leave()
        self.writer.synchronise()

    def leave_older(self):
        while self.unclean:
            self.unclean.pop(min(self.unclean)).leave()

    def leave(self):
        self.leave_older()
        self.writer.leave()
        self.series.close()

    def die(self):
        for writer in [*self.unclean.values(), self.writer]:
            writer.die()
        self.series.close()


def layer_is_clean(layer):
    """According to the record in force now."""
    with open(layer.image.path, "rb") as file:
        return layer.read(file, layer.image.path, accept_unclean=True).is_clean()


@contextmanager
def all_exact(file):
    """Locks bytes 64 to 127 in one call."""
    def change(command, kind):
        fcntl.fcntl(file.fd, command, struct.pack(FLOCK, kind, os.SEEK_SET, 64, 64, 0))

    change(F_OFD_SETLKW, fcntl.F_WRLCK)
    try:
        yield
    finally:
        change(F_OFD_SETLK, fcntl.F_UNLCK)


# --- live.md 9.4 When, and how large ---

def packed(rate):
    return le(struct.pack("<d", rate), 0)


def unpacked(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def size_for(layout, capacity, fpr):
    """m and k; the specification does not define how they are compared."""
    k = max(1, min(64, ceil(-log2(fpr)) if fpr else 7))
    m = ceil(capacity * k / log(2) * (1.2 if layout == BLOCKED else 1))
    return (-(-m // 512) * 512 if layout == BLOCKED else m), k


def first_layer(header, fpr, m=0, k=0):
    """The header of layer 0, from `header`, which has the fields specific to the series."""
    own = fpr / (header["generations"] or 8)
    sizes = (m, k) if m and k else size_for(header["layout"], header["capacity"], own)
    began = int(time.time()) if header["period"] else 0
    return {**dict.fromkeys(LAYER, 0), "series": secrets.randbits(64) or 1, "began": began, **header,
            "series_fpr": packed(fpr), "fpr": packed(own), "m": sizes[0], "k": sizes[1]}


def next_layer(header, began=None):
    """`began`: the begin of its period, by default the present time."""
    header = {**header, "layer": header["layer"] + 1}
    if not header["generations"]:
        fpr = 7 / 8 * unpacked(header["fpr"])
        header |= {"capacity": 2 * header["capacity"], "fpr": packed(fpr)}
        header["m"], header["k"] = size_for(header["layout"], header["capacity"], fpr)
        header["m_unfolded"] = header["m"]
    if header["period"]:
        header["began"] = int(time.time()) if began is None else began
    return header


def create(path, header):
    """Makes layer 0. Fails if it exists, or a file that would be taken for another layer."""
    path = Path(path)
    for slot in range(1, max(header["generations"], 2)):
        if slot_path(path, slot).exists():
            raise ValueError(f"{slot_path(path, slot)}: would be taken for a layer")
    publish(path, created(header))


# --- slices.md 2.2 Sealed series ---

def copy_of(path, layer, accept_unclean):
    """R10, operations.md 5 and 6: header, body, n and flags of a sealed copy of a layer."""
    header, file = layer.image.header, LayerFile(path)

    def read():
        return spec_writer.LiveImage(os.pread(file.fd, os.fstat(file.fd).st_size, 0), path, accept_unclean,
                                     abandoned=lambda sequence: True)
    try:
        then = read()
        before = then.record
        body = os.pread(file.fd, header["body_size"], H)
        with file.held(SYNCS, fcntl.F_RDLCK), file.held(RECORDS):
            file.sync()
            image = read()
        image.need(live_words(image) == live_words(layer.image)
                   and image.header["layer"] == header["layer"], "EMISSINGLAYER")
        record = image.record
    finally:
        file.close()
    image.need(not any(spec_reader.cells(header, body)[header["m"]:]), "EBODY")
    ones, overflow = ones_and_overflow(header, body)
    if before["writers"] == 0 and not before["flags"] & N_ESTIMATED and record == before:
        image.need((ones, overflow) == (before["ones"], before["overflow"]), "EBODY")
    elif header["layout"] != COUNTING and not (
            accept_unclean and spec_writer.is_unclean(then, spec_writer.present_boot())):
        image.need(ones >= before["ones"], "EBODY")
    flags = record["flags"] & N_ESTIMATED | N_ESTIMATED * (record["writers"] > 0)
    n = estimate(header, ones) if flags else record["n"]
    return {**header, "key_kind": spec_reader.keys_of(header), "provenance": header["provenance"] & KNOWN_PROVENANCE}, \
        body, n, flags


def seal(path, out, accept_unclean=False):
    series = LiveSeries(path, accept_unclean)
    try:
        while series.newest.is_succeeded():
            series.read()
        newest, watermark = max(series.layers), series.newest.image.record["watermark"]
        generations = series.newest.image.header["generations"]
        oldest = max(newest - generations + 1, 0) if generations else 0
        copies = [copy_of(series.layers[number].image.path, series.layers[number], accept_unclean)
                  for number in range(oldest, newest + 1)]
    finally:
        series.close()
    data = sealed_series(copies, watermark)
    opened(data, out, knows_applications=True).verify()
    Path(out).write_bytes(data)


# --- The command line ---

def application(options):
    named = options.hash_id >= spec_reader.APPLICATIONS
    return (options.hash_id, options.self_test) if named else None


def open_any(options):
    """A live or a sealed series."""
    data = Path(options.name).read_bytes()
    sealed = len(data) >= H and le(data, 24, 4) == spec_reader.OF_SERIES and le(data, 260, 4)
    if not sealed:
        return LiveSeries(options.name, options.accept_unclean, application(options))
    image = opened(data, options.name, knows_applications=True)
    return image.name(*application(options)) if application(options) else image


def layers_of(series):
    if isinstance(series, spec_reader.Series):
        return series.layers
    return [layer.image for _, layer in sorted(series.layers.items())]


def run_create(options):
    if not options.grow and not options.generations:
        raise ValueError("either --grow or --generations")
    header = {**spec_reader.hash_of(options), "generations": options.generations,
              "period": options.period, "layout": LAYOUTS[options.layout],
              "capacity": options.capacity, "tag": options.tag, "label": options.label.encode(),
              "key_kind": spec_reader.keys_given(options)}
    create(options.name, first_layer(header, options.fpr, options.m, options.k))


def run_add(options):
    keys, _ = spec_reader.read_keys(options)
    writer = SeriesWriter(options.name, options.accept_unclean, application(options))
    try:
        print(writer.add(keys), "new")
    finally:
        if options.die:
            writer.die()
        else:
            writer.leave()


def run_succeed(options):
    writer = SeriesWriter(options.name, options.accept_unclean, application(options))
    try:
        writer.succeed(writer.writer, writer.writer.image.header["layer"],
                       mark=not options.unmarked)
    finally:
        writer.leave()


def run_query(options):
    keys, end = spec_reader.read_keys(options)
    series = open_any(options)
    chosen = [key + end for key in keys if series.maybe(key) != options.v]
    sys.stdout.buffer.write(b"".join(chosen))
    if isinstance(series, LiveSeries) and series.error:
        raise series.error
    for layer in layers_of(series):
        layer.need_right_pages()
    return 0 if chosen else 1


def run_seal(options):
    seal(options.name, options.out, options.accept_unclean)


def run_info(options):
    spec_reader.print_json([spec_reader.shown(layer) for layer in layers_of(open_any(options))])


def main():
    commands = {name.removeprefix("run_"): command for name, command in globals().items()
                if name.startswith("run_")}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add, number = parser.add_argument, partial(int, base=0)
    add("command", choices=commands)
    add("name")
    add("out", nargs="?")
    add("-0", dest="nul", action="store_true")
    add("-x", type=number)
    for name in "-v", "--accept-unclean", "--die", "--grow", "--unmarked":
        add(name, action="store_true")
    for name, default in ("--m", 0), ("--k", 0), ("--seed", 0), ("--capacity", 1), \
            ("--key-size", 0), ("--hash-id", 1), ("--self-test", 0), ("--generations", 0), \
            ("--period", 0):
        add(name, type=number, default=default)
    add("--layout", choices=["blocked", "classic"], default="blocked")
    add("--key-kind", choices=spec_reader.KEY_KINDS, default="unknown")
    add("--fpr", type=float, default=0.01)
    add("--label", default="")
    add("--tag", type=bytes.fromhex, default=bytes(16))
    options = parser.parse_intermixed_args()
    try:
        return commands[options.command](options)
    except Exception as error:
        print(str(error) or type(error).__name__, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
