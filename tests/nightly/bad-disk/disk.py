# SPDX-License-Identifier: MIT
"""A disk that fails to write.

Its image has holes and lies on a file system that can be filled up. After that, the kernel gets EIO when it
writes back a block that was never written. Blocks written before can be read and written permanently."""

import fcntl
import os
import pathlib
import struct
import subprocess

from mounts import MKFS, run, unmount

MIB = 1 << 20
SIZE = 64 * MIB
BLOCK = 4096
NEW_FILES = 24 * MIB  # blocks for files made later
FIEMAP = 0xC020660B
FIEMAP_SYNC = 1
EXTENTS = 64
LIMITED = "limited"  # the name of a file that holds a setting of a loop device


def lift_limit(limited):
    """The setting outlasts the use of the device."""
    if limited.exists():
        pathlib.Path(limited.read_text()).write_text("0")
        limited.unlink()


def extents(path):
    """The places of a file's blocks on the disk: [(offset, size)]."""
    with open(path, "rb") as file:
        answer = bytearray(32 + 56 * EXTENTS)
        struct.pack_into("QQIIII", answer, 0, 0, 1 << 62, FIEMAP_SYNC, 0, EXTENTS, 0)
        fcntl.ioctl(file, FIEMAP, answer)
    count, = struct.unpack_from("I", answer, 20)
    found = [struct.unpack_from("QQQ", answer, 32 + 56 * i) for i in range(count)]
    return [(physical, size) for _, physical, size in found]


class BadDisk:
    """A disk with a file system at .root. .good is a disk that works."""

    def __init__(self, where):
        self.small, self.root, self.good = (where / name for name in ("small", "root", "good"))
        self.limited = where.parent / LIMITED
        self.image, self.ballast = self.small / "image", self.small / "ballast"
        for path in where, self.small, self.root, self.good:
            path.mkdir()
        self.mounted = []
        self.mount(self.small, "-t", "tmpfs", "-o", f"size={SIZE + MIB}", "tmpfs")
        self.mount(self.good, "-t", "tmpfs", "tmpfs")
        with open(self.image, "wb") as image:
            image.truncate(SIZE)
        run(*MKFS["ext4"], self.image)
        self.mount_root()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.root in self.mounted:
            self.unmount_root()
        while self.mounted:
            unmount(self.mounted.pop())

    def mount(self, path, *how):
        run("mount", *how, path)
        self.mounted.append(path)

    def mount_root(self):
        """The loop driver takes a partial write for a complete write, so each write has one block."""
        self.mount(self.root, "-t", "ext4", "-o", "loop", self.image)
        number = self.root.stat().st_dev
        limit = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/queue/max_sectors_kb"
        self.limited.write_text(limit)
        pathlib.Path(limit).write_text(str(BLOCK >> 10))

    def unmount_root(self):
        subprocess.run(["sync", "--file-system", self.root], stderr=subprocess.DEVNULL)
        lift_limit(self.limited)
        unmount(self.root)
        self.mounted.remove(self.root)

    def remount(self):
        """Removes its pages from memory."""
        self.unmount_root()
        self.mount_root()

    def heal(self):
        """Unwritten data is lost by now; from here on, the disk works."""
        self.unmount_root()
        self.ballast.unlink(missing_ok=True)
        self.mount_root()

    def make_holes(self, rng, paths, new_files=False):
        """Allocates the whole disk except for some blocks of these files, or of later files; then the rest of the
        host's file system too."""
        reserve = self.root / "reserve"
        if new_files:
            with open(reserve, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, NEW_FILES)
            paths = [*paths, reserve]
        holes = [hole for path in paths for offset, size in extents(path)
                 for hole in choose(rng, offset // BLOCK, size // BLOCK)]
        reserve.unlink(missing_ok=True)
        run("sync", "--file-system", self.root)
        with open(self.image, "r+b") as image:
            at = 0
            for start, end in sorted(holes) + [(SIZE // BLOCK,) * 2]:
                if at < start:
                    os.posix_fallocate(image.fileno(), at * BLOCK, (start - at) * BLOCK)
                at = end


def choose(rng, start, count):
    """Some of this many blocks: all, or a few runs of them. The first block is never chosen: it is written."""
    if count < 2:
        return []
    if rng.random() < 0.5:
        return [(start + 1, start + count)]
    holes, at = [], start + int(2 ** rng.uniform(0, 8))
    while at < start + count:
        end = min(start + count, at + int(2 ** rng.uniform(0, 9)))
        holes.append((at, end))
        at = end + int(2 ** rng.uniform(4, 10))
    return holes
