#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second implementation of live files, written from section 7 of format-spec.md and doc/format/live.md alone.

create FILE             make an empty live image, by --layout, --m, --k and further options
add, remove FILE        join, add keys to the filter or remove them, leave
query FILE              print the keys that may be present (-v: those certainly absent)
seal FILE               seal in place, or complete an unfinished seal
poison FILE             record in both records that the pages on disk are unknown
info FILE               print header and record in force as JSON

Keys are the lines of standard input; with -0 zero bytes end them, with -x N they have N bytes each.
With --hash-id and --self-test, the name of an application's function, they are digests in hexadecimal.
--accept-unclean accepts an image after a crash of the machine; --die ends `add` as if the process
had been killed before it left; --until N ends `seal` after step N of live.md 7. Errors are written
to standard error; the exit status is then 2. `remove` ends with status 1 if it refused a key.

Python has no atomic OR on a mapping. So byte 0 is held exclusively while keys are added or
removed, and that fails if any other writer has the image open."""

import argparse
import ctypes
import errno
import fcntl
import mmap
import os
import secrets
import struct
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from functools import partial
from math import log1p
from pathlib import Path
from zlib import crc32

import spec_reader
from spec_reader import (COUNTING, LAYOUTS, LIVE, N_ESTIMATED, POISONED, RECORD,
                         SEALED, SEALED_SEQUENCE, U64, WIDTH, Image, body_size, cells, le,
                         digest_of, ones_and_overflow, parse, positions, serialise)

# --- 7 Commit records: of 1024 bytes, since live images are in file form ---

H = 4096
SLOTS = (H // 2, 3 * H // 4)
LARGEST_U32 = 2**32 - 1
ZEROS = bytes(16)
SYNC_BEGUN = 2
SUCCEEDED = 4


def changed(slot, **fields):
    """A copy of a record with these fields and a new record_crc; unknown fields are kept."""
    out = bytearray(slot)
    for name, value in fields.items():
        offset, form = RECORD[name]
        struct.pack_into("<" + form, out, offset, value)
    struct.pack_into("<I", out, len(out) - 4, crc32(out[:-4]))
    return bytes(out)


def clamp(x, least, most):
    return max(least, min(x, most))


# --- 13 Validity, 14 Lookups, live.md 2 Reading ---

def present_boot():
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except FileNotFoundError:
        raise ValueError("boot_id: BLOOMFILE_ENOBOOT rule V38") from None
    return bytes.fromhex(text.strip().replace("-", ""))


class LiveImage(Image):
    """An image that may be live, and may then be changing."""

    def __init__(self, data, path, accept_unclean=False, to_complete=False, abandoned=None):
        """`abandoned` returns whether the process that began the sync in this record has died."""
        self.to_complete, self.poisoned = to_complete, False
        super().__init__(data, path, knows_applications=True)
        if not accept_unclean and not self.is_clean():
            self.need(self.record["boot_id"] == present_boot(), "EUNCLEAN rule V38")
            self.need(not self.sync_has_begun() or abandoned is None
                      or not abandoned(self.record["sequence"]), "EUNCLEAN rule V38")

    def need(self, condition, error):
        """Skips V36, and V33 where live.md 7 allows to complete the seal."""
        if not condition and not error.startswith("ELIVE") and not (
                error.endswith("V33") and self.to_complete and not self.other_is_intact()):
            super().need(condition, error)

    def slot(self, other=False):
        start = SLOTS[self.in_force ^ other]
        return bytes(self.data[start:start + H // 4])

    def other_is_intact(self):
        other = parse(RECORD, self.slot(other=True))
        return (other["record_crc"] == crc32(self.slot(other=True)[:-4])
                and other["header_crc"] == self.header["header_crc"])

    def need_place(self, in_series):
        """A layer must not be opened alone, and other images not as a layer."""
        self.need(self.is_layer() == in_series, "ESERIES rule S3" if in_series else "EISSERIES")

    def is_live(self):
        return self.record["state"] == LIVE

    def sync_has_begun(self):
        return self.is_live() and self.record["flags"] & SYNC_BEGUN != 0

    def is_clean(self):
        return not any(self.record["boot_id"])

    def page_is_right(self, page):
        return self.is_live() or super().page_is_right(page)

    def maybe(self, key):
        return self.poisoned or super().maybe(key)


class Reader:
    """A live (or sealed) image that is kept open for lookups. Takes no lock."""

    in_series = False

    def __init__(self, path, accept_unclean=False):
        with open(path, "rb") as file:
            self.image = self.read(file, path, accept_unclean)
            self.image.need_place(self.in_series)
            self.mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        h = self.image.header
        body = memoryview(self.mapping)[h["header_size"]:][:h["body_size"]]
        self.image.body = body

    def read(self, file, path, accept_unclean, tries=100):
        def abandoned(sequence):
            """R5."""
            if lock(file.fileno(), F_OFD_GETLK, fcntl.F_RDLCK, SYNCS) != fcntl.F_UNLCK:
                return False
            again = self.read(file, path, True)
            if again.record["sequence"] == sequence:
                return True
            return again.sync_has_begun() and abandoned(again.record["sequence"])

        while True:
            tries -= 1
            file.seek(0)
            try:
                return LiveImage(file.read(), path, accept_unclean, abandoned=abandoned)
            except ValueError as refused:
                if "ERECORD" not in str(refused) or not tries:
                    raise
            time.sleep(0.001)

    def maybe(self, key):
        """R8."""
        answer = self.image.maybe(key)
        if not answer and self.image.is_live():
            self.image.poisoned |= any(le(self.mapping, slot + 8, 4) == POISONED for slot in SLOTS)
        return answer or self.image.poisoned

    def close(self):
        self.image.body.release()
        self.mapping.close()


# --- live.md 4 Locks ---

F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW = 36, 37, 38
FLOCK = "hhqqi4x"  # l_type, l_whence, l_start, l_len, l_pid
WRITERS, RECORDS, REMOVERS, SYNCS, EXACT = 0, 1, 2, 3, 64


class Busy(ValueError):
    pass


def lock(fd, command, kind, start):
    """The l_type that the kernel returns."""
    request = struct.pack(FLOCK, kind, os.SEEK_SET, start, 1, 0)
    return struct.unpack(FLOCK, fcntl.fcntl(fd, command, request))[0]


class File:
    """An image that is open for writing."""

    in_series = False

    def __init__(self, path):
        self.path, self.image, self.sync_has_failed = path, None, False
        self.on_disk = None  # the sequence of a record known to be on disk
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def close(self):
        """Also releases every lock."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def hold_writers(self, kind):
        """Locks byte 0. If that fails, a lock of the other kind stays. To share it, tries for one second (L1)."""
        end = time.monotonic() + (1 if kind == fcntl.F_RDLCK else 0)
        while True:
            try:
                return lock(self.fd, F_OFD_SETLK, kind, WRITERS)
            except (BlockingIOError, PermissionError):
                if time.monotonic() >= end:
                    raise Busy(f"{self.path}: is being sealed or in use") from None
                time.sleep(0.001)

    def is_alone(self):
        return lock(self.fd, F_OFD_GETLK, fcntl.F_WRLCK, WRITERS) == fcntl.F_UNLCK

    @contextmanager
    def held(self, byte, kind=fcntl.F_WRLCK):
        lock(self.fd, F_OFD_SETLKW, kind, byte)
        try:
            yield
        finally:
            lock(self.fd, F_OFD_SETLK, fcntl.F_UNLCK, byte)

    @contextmanager
    def records(self, **how):
        """Holds byte 1 and reads the records. The body's bytes are those of this moment.

        The first time, a writer that joins also holds byte 3. So no process is in a sync, and a mark is abandoned."""
        with self.held(RECORDS):
            if self.image is None:
                data = os.pread(self.fd, os.fstat(self.fd).st_size, 0)
                self.image = LiveImage(data, self.path, abandoned=lambda sequence: True, **how)
                self.image.need_place(self.in_series)
                unknown = self.image.header["ro_compat"]
                lowest_bit = (unknown & -unknown).bit_length() - 1
                self.image.need(not unknown, f"EFEATURE bit {lowest_bit}")
            else:
                self.reload()
            yield self.image

    def reload(self):
        identity = self.image.record["identity"]
        self.image.data = memoryview(os.pread(self.fd, H, 0))
        self.image.check_records()
        record = self.image.record
        self.image.need(record["state"] == SEALED or record["identity"] == identity, "ECHANGED")

    # --- live.md 6 Commits ---

    def sync(self):
        os.fdatasync(self.fd)

    def write_record(self, slot, data):
        os.pwrite(self.fd, data, SLOTS[slot])

    def write(self, **fields):
        image = self.image
        sequence = image.record["sequence"] + 1
        image.need(sequence + 2 < SEALED_SEQUENCE, "the sequence is at its end")
        if self.on_disk != image.record["sequence"]:
            self.sync_or_poison()
            self.on_disk = image.record["sequence"]
        self.check_kept(image.in_force, image.slot())
        self.write_record(1 - image.in_force, self.next_record(sequence=sequence, **fields))
        self.check_kept(image.in_force, image.slot(), written=True)

    def check_kept(self, slot, data, written=False):
        """Checks that no other file was copied over this one. A record written over a copy hides the copy."""
        kept = os.pread(self.fd, len(data), SLOTS[slot]) == data
        if written and not kept and os.pread(self.fd, H // 2, 0) == self.image.data[:H // 2]:
            self.poison(identity=bytes(byte ^ 0xFF for byte in self.image.record["identity"]))
        self.image.need(kept, "ECHANGED")

    def next_record(self, **fields):
        """The record in force with these fields; a layer with a successor keeps its mark (live.md 9.1)."""
        if self.is_succeeded():
            fields["flags"] = fields.get("flags", self.image.record["flags"]) | SUCCEEDED
        return changed(self.image.slot(), **fields)

    def is_succeeded(self):
        return self.image.is_layer() and any(
            le(os.pread(self.fd, 4, slot + 12), 0, 4) & SUCCEEDED for slot in SLOTS)

    def commit(self, **fields):
        self.write(**fields)
        self.sync_or_poison()
        self.reload()
        self.on_disk = self.image.record["sequence"]

    def begin(self):
        record = self.image.record
        self.image.need(not self.sync_has_failed, "EPOISONED")
        self.image.need(record["sequence"] < SEALED_SEQUENCE - 4, "the sequence is at its end")
        if not record["flags"] & SYNC_BEGUN:
            self.write(flags=record["flags"] | SYNC_BEGUN)
            self.reload()

    def poison(self, **fields):
        """Byte 1 is held. Poisons from the record in force at the last read, even if a record was written since."""
        image = self.image
        for step, slot in (1, 1 - image.in_force), (2, image.in_force):
            sequence = image.record["sequence"] + step
            if sequence < SEALED_SEQUENCE:
                with suppress(OSError):
                    self.write_record(slot, self.next_record(sequence=sequence, state=POISONED, **fields))
                    self.sync()

    def sync_or_poison(self):
        """Byte 1 is held."""
        try:
            self.sync()
        except OSError:
            self.sync_has_failed = True
            self.poison()
            raise


class Writer(File):
    """A writer that has joined a live image."""

    def __init__(self, path, accept_unclean=False, incomplete=False):
        """incomplete: the image is unclean by S2."""
        super().__init__(path)
        self.counted, self.incomplete = Counter(), incomplete
        try:
            self.join(accept_unclean)
        except BaseException:
            self.close()
            raise
        h, now, at_path = self.image.header, os.fstat(self.fd), os.stat(path)
        self.mapping = mmap.mmap(self.fd, 0)
        self.body = memoryview(self.mapping)[H:H + h["body_size"]]
        if (now.st_dev, now.st_ino) != (at_path.st_dev, at_path.st_ino):
            self.leave()
            self.__init__(path, accept_unclean, incomplete)

    def join(self, accept_unclean):
        self.hold_writers(fcntl.F_RDLCK)
        with self.held(SYNCS, fcntl.F_RDLCK), self.records(accept_unclean=accept_unclean) as image:
            image.need(image.is_live(), "is sealed")
            record, boot, alone = image.record, present_boot(), self.is_alone()
            flags = record["flags"] | counts_lost_before(image, boot, alone)
            self.was_unclean = unclean = self.incomplete or is_unclean(image, boot)
            counted = dict(ones=0, overflow=0) if unclean else {}
            self.commit(**counted, boot_id=boot, flags=flags | SYNC_BEGUN if unclean else flags & ~SYNC_BEGUN,
                        writers=1 if alone else min(record["writers"] + 1, LARGEST_U32))

    @contextmanager
    def only_writer(self):
        self.hold_writers(fcntl.F_WRLCK)
        try:
            self.image.need(all(le(os.pread(self.fd, 4, slot + 8), 0, 4) != POISONED
                                for slot in SLOTS), "EPOISONED rule V35")
            yield
        finally:
            self.hold_writers(fcntl.F_RDLCK)

    def cells_of(self, key):
        """The byte, shift and largest value of each position of the key, in order."""
        h = self.image.header
        bits = WIDTH[h["layout"]]
        self.image.need(self.image.is_named, "EHASH")
        for x in positions(h, digest_of(h, key)):
            yield *divmod(x * bits, 8), 2**bits - 1

    def add(self, keys):
        """Returns how many of the keys were new."""
        with self.only_writer():
            return sum(self.add_one(key) for key in keys)

    def add_one(self, key):
        raised = Counter()
        for byte, shift, most in self.cells_of(key):
            value = self.body[byte] >> shift & most
            if value < most:
                self.body[byte] += 1 << shift
                raised[value] += 1
        is_new = raised[0] > 0
        self.counted.update(n=is_new, ones=raised[0], overflow=raised[14])
        return is_new

    def remove(self, key):
        """Returns whether the key was present, as far as the counters show."""
        self.image.need(self.image.header["layout"] == COUNTING, "the layout is not counting")
        with self.held(REMOVERS), self.only_writer():
            hits = Counter(self.cells_of(key))
            for (byte, shift, most), times in hits.items():
                if self.body[byte] >> shift & most < min(times, most):
                    return False
            to_zero = 0
            for byte, shift, most in self.cells_of(key):
                value = self.body[byte] >> shift & most
                if value < most:
                    self.body[byte] -= 1 << shift
                    to_zero += value == 1
            self.counted.subtract(n=to_zero > 0, ones=to_zero)
        return True

    def totals(self):
        """The sum of the record's counts and this writer's."""
        record, counted = self.image.record, self.counted
        ones = clamp(record["ones"] + counted["ones"], 0, self.image.header["m"])
        return {"n": clamp(record["n"] + counted["n"], 0, U64), "ones": ones,
                "overflow": clamp(record["overflow"] + counted["overflow"], 0, ones)}

    def synchronise(self):
        with self.held(SYNCS):
            with self.records() as image:
                self.begin()
                begun = image.record["sequence"]
            try:
                self.sync()
            except OSError:
                self.sync_has_failed = True
                with self.records():
                    self.poison()
                raise
            self.on_disk = begun
            with self.records() as image:
                self.commit(**self.totals(), flags=image.record["flags"] & ~SYNC_BEGUN)
                self.counted.clear()

    def leave(self):
        try:
            with self.held(SYNCS), self.records() as image:
                if self.sync_has_failed:
                    self.poison()
                    return
                alone, totals = self.is_alone(), self.totals()
                writers = max(image.record["writers"] - 1, 0)
                if alone or image.sync_has_begun():
                    self.begin()
                    self.sync_or_poison()
                    self.on_disk = image.record["sequence"]
                flags = image.record["flags"] & ~SYNC_BEGUN
                if alone:
                    self.commit(**totals, writers=0, boot_id=ZEROS,
                                flags=flags | N_ESTIMATED * (writers > 0))
                else:
                    self.commit(**totals, writers=writers, flags=flags)
                lock(self.fd, F_OFD_SETLK, fcntl.F_UNLCK, WRITERS)
        finally:
            self.die()

    def die(self):
        """Leaves the state of a killed writer."""
        self.body.release()
        self.mapping.close()
        self.close()

    def seal(self, until=6):
        """Seals in place. If another process has the image open, the image and this writer stay unchanged."""
        self.hold_writers(fcntl.F_WRLCK)
        with self.held(SYNCS), self.records() as image:
            writers = max(image.record["writers"] - 1, 0)
            seal_body(self, self.totals()["n"],
                      image.record["flags"] | N_ESTIMATED * (writers > 0), until)
        self.die()


def is_unclean(image, boot):
    """Holds while a writer joins: no process syncs then."""
    return not image.is_clean() and (image.record["boot_id"] != boot or image.sync_has_begun())


def counts_lost_before(image, boot, alone):
    """The flag that a joining writer sets."""
    missing = alone and image.record["writers"] > 0 and not image.is_clean()
    return N_ESTIMATED * (missing or is_unclean(image, boot))


def estimate(header, ones):
    """The most likely number of keys; the specification does not define how it is computed."""
    m, k = header["m"], header["k"]
    return round(-m / k * log1p(-min(ones, m - 0.5) / m))


# --- live.md 7 Sealing in place ---

def entries(body):
    return b"".join(struct.pack("<I", crc32(body[p:p + 4096]) ^ crc32(body))
                    for p in range(0, len(body), 4096))


def seal_body(file, n, flags, until):
    """Bytes 0, 3 and 1 are held exclusively. Ends after step `until`."""
    image, h = file.image, file.image.header
    body = os.pread(file.fd, h["body_size"], H)
    image.need(not any(cells(h, body)[h["m"]:]), "EBODY")
    file.begin()
    os.pwrite(file.fd, entries(body), H + len(body))
    if until >= 2:
        file.sync_or_poison()
    file.check_kept(image.in_force, image.slot())
    ones, overflow = ones_and_overflow(h, body)
    counted = file.totals()
    lost = h["layout"] != COUNTING and ones < counted["ones"]
    if not flags & N_ESTIMATED:
        lost = (ones, overflow) != (counted["ones"], counted["overflow"])
    if lost:
        file.write(flags=flags & ~SYNC_BEGUN)
        image.need(False, "EBODY")
    n = estimate(h, ones) if flags & N_ESTIMATED else n
    sealed = changed(image.slot(), sequence=SEALED_SEQUENCE, state=SEALED, n=n,
                     flags=flags & ~SYNC_BEGUN,
                     ones=ones, overflow=overflow, boot_id=ZEROS, body_crc=crc32(body), writers=0,
                     identity=ZEROS)
    if until >= 3:
        file.write_record(1 - image.in_force, sealed)
    if until >= 4:
        file.sync_or_poison()
        file.check_kept(image.in_force, image.slot(), written=True)
    if until >= 5:
        file.write_record(image.in_force, sealed)
        file.check_kept(1 - image.in_force, sealed, written=True)
    if until >= 6:
        file.sync()


def seal(path, accept_unclean=False, until=6):
    """Joins and seals, or completes a seal that was interrupted."""
    if complete(path):
        return
    writer = Writer(path, accept_unclean)
    try:
        writer.seal(until)
    except BaseException as error:
        writer.sync_has_failed |= "EBODY" in str(error)  # L25: leave() poisons then
        writer.leave()
        raise


def complete(path):
    """Returns False if the image is live."""
    file, how = File(path), {"accept_unclean": True, "to_complete": True}
    try:
        with file.records(**how) as image:
            if image.is_live():
                return False
        file.hold_writers(fcntl.F_WRLCK)
        file.image = None
        with file.records(**how) as image:
            image.need(not image.records_identical, "is sealed")
            image.verify()
            file.sync()
            file.write_record(1 - image.in_force, image.slot())
            file.sync()
            return True
    finally:
        file.close()


def poison(path):
    file = File(path)
    try:
        with file.records(accept_unclean=True) as image:
            image.need(image.is_live(), "is sealed")
            file.poison()
    finally:
        file.close()


# --- L9 Creating ---

def created(header, identity=None, watermark=bytes(32)):
    """The bytes of an empty live image, from `header`."""
    header = {"key_kind": 0, "provenance": 0, "m_unfolded": header["m"], **header, "header_size": H}
    static = spec_reader.static_header(header)
    record = dict.fromkeys(RECORD, 0)
    record.update(sequence=1, state=LIVE, boot_id=ZEROS, header_crc=le(static, H // 2 - 4, 4),
                  identity=identity or secrets.token_bytes(16), watermark=watermark)
    size = H + body_size(header) + 4 * (body_size(header) // 4096)
    return (static + serialise(RECORD, record, H // 4)).ljust(size, b"\0")


def move_to_free_name(path, to):
    """Uses renameat2(), or a second name where the file system lacks that call."""
    at_cwd, no_replace = -100, 1
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(at_cwd, os.fsencode(path), at_cwd, os.fsencode(to), no_replace) == 0:
        return
    if ctypes.get_errno() != errno.EINVAL:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path), None, str(to))
    os.link(path, to)


def publish(path, data, replace=False):
    """Writes a file with these bytes to disk, then gives it this name."""
    LiveImage(data, path)
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(temporary, "xb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, len(data))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if replace:
                os.rename(temporary, path)
            else:
                move_to_free_name(temporary, path)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()
    synchronise_folder(path.parent)


def synchronise_folder(path):
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


def create(path, header):
    publish(path, created({**header, "fpr": le(struct.pack("<d", header["fpr"]), 0)}))


# --- The command line ---

def run_create(options):
    label = options.label.encode("utf-8", "surrogateescape")
    if len(label) > 112 or len(options.tag) != 16:
        raise ValueError("the label is longer than 112 bytes, or the tag is not of 16")
    create(options.file, {
        **spec_reader.hash_of(options),
        "layout": LAYOUTS[options.layout], "k": options.k, "m": options.m,
        "capacity": options.capacity, "fpr": options.fpr, "tag": options.tag, "label": label,
        "key_kind": spec_reader.keys_given(options)})


def name_hash(options, image):
    if options.hash_id >= spec_reader.APPLICATIONS:
        image.name(options.hash_id, options.self_test)


def run_add(options):
    keys, _ = spec_reader.read_keys(options)
    writer = Writer(options.file, options.accept_unclean)
    try:
        name_hash(options, writer.image)
        writer.add(keys)
    finally:
        if options.die:
            writer.die()
        else:
            writer.leave()


def run_remove(options):
    keys, _ = spec_reader.read_keys(options)
    writer = Writer(options.file, options.accept_unclean)
    try:
        name_hash(options, writer.image)
        refused = [key for key in keys if not writer.remove(key)]
    finally:
        writer.leave()
    if refused:
        print(f"{options.file}: BLOOMFILE_EABSENT {len(refused)} keys", file=sys.stderr)
    return 1 if refused else 0


def run_query(options):
    reader = Reader(options.file, options.accept_unclean)
    name_hash(options, reader.image)
    keys, end = spec_reader.read_keys(options)
    chosen = [key + end for key in keys if reader.maybe(key) != options.v]
    sys.stdout.buffer.write(b"".join(chosen))
    reader.image.need_right_pages()
    return 0 if chosen else 1


def run_seal(options):
    seal(options.file, options.accept_unclean, options.until)


def run_poison(options):
    poison(options.file)


def run_info(options):
    image = Reader(options.file, options.accept_unclean).image
    spec_reader.print_json(spec_reader.shown(image))


def main():
    commands = {name.removeprefix("run_"): command for name, command in globals().items()
                if name.startswith("run_")}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add, number = parser.add_argument, partial(int, base=0)
    add("command", choices=commands)
    add("file")
    add("-0", dest="nul", action="store_true")
    add("-x", type=number)
    for name in "-v", "--accept-unclean", "--die":
        add(name, action="store_true")
    for name, default in ("--m", 0), ("--k", 0), ("--seed", 0), ("--capacity", 1), ("--until", 6), \
            ("--key-size", 0), ("--hash-id", 1), ("--self-test", 0):
        add(name, type=number, default=default)
    add("--layout", choices=LAYOUTS, default="blocked")
    add("--key-kind", choices=spec_reader.KEY_KINDS, default="unknown")
    add("--fpr", type=float, default=0.0)
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
