# SPDX-License-Identifier: MIT
"""A machine whose power can fail: a file system of its own on a loop device, and boots."""

import fcntl
import os
import pathlib
import random
import select
import struct
import subprocess
import uuid

from mounts import MKFS, TIMEOUT, run, skip, unmount, wait_until

DISK = os.environ["POWER_DISK"]
MIB = 1 << 20
IMAGE_SIZE = {"ext4": 320 * MIB, "xfs": 320 * MIB,  # mkfs.xfs needs at least 300 MiB
              "btrfs": 1024 * MIB}                 # with less, a touched page waits for room in its journal
# A superblock of Btrfs must be written whole: the kernel does not mount a torn one, and reads no copy.
SECTOR = {"ext4": 512, "xfs": 512, "btrfs": 4096}
FIBMAP = 1
GOING_DOWN = 0x8004587D  # _IOR('X', 125, __u32): XFS_IOC_GOINGDOWN and EXT4_IOC_SHUTDOWN

# The kinds of power loss: the file system stops and writes no more, or the disk does.
SHUTDOWNS = {"freeze": 0,      # after it writes all its memory
             "logflush": 1,    # after it writes the journal
             "nologflush": 2}  # immediately
STOPPABLE = ["ext4", "xfs"]    # file systems with that ioctl; Btrfs lacks it
# disk: the disk loses its cache except for some sectors, in any order.
# torn: the same right after a commit record was written; some bytes of the record survive.
DISKS = ["disk", "torn"]
KINDS = [*SHUTDOWNS, *DISKS]

# Runs a command in a mount namespace of its own, whose boot identity is in the file $0.
IN_BOOT = ["unshare", "-m", "sh", "-c",
           'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"']


class Machine:
    """On, with the file system mounted at .root, or off; .boot is the identity of the boot."""

    def __init__(self, where, file_system, rng=random):
        self.file_system, self.random = file_system, rng
        self.image = where / "image"
        self.cached = where / "disk"
        self.root = where / "root"
        self.boot = where / "boot"
        self.loop = self.disk = None
        self.sectors = 0, 0  # lost by the disk, and in its cache before
        self.root.mkdir()
        self.cached.touch()
        with open(self.image, "wb") as image:
            image.truncate(IMAGE_SIZE[file_system])
        run(*MKFS[file_system], self.image)

    def start(self, kind=None):
        """Turns it on; `kind` is how its power will fail."""
        self.boot.write_text(f"{uuid.uuid4()}\n")
        self.kind = kind
        if kind in DISKS:
            disk = subprocess.Popen([DISK, self.cached, self.image, str(self.random.getrandbits(31)),
                                     str(SECTOR[self.file_system])],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            if disk.stdout.readline() != "ready\n":
                disk.communicate()
                raise RuntimeError("the disk does not start")
            self.disk = disk
        device = self.cached if kind in DISKS else self.image
        run("mount", "-t", self.file_system, "-o", "loop", device, self.root)
        self.header = self.find_header() if kind == "torn" else 0
        number = self.root.stat().st_dev
        self.loop = pathlib.Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/loop")

    def stop(self):
        if self.loop:
            unmount(self.root)
            wait_until(lambda: not self.loop.exists(), "the loop device is in use")
            self.loop = None
        if self.disk:
            unmount(self.cached)
            self.disk.stdin.close()
            self.disk.stdout.close()
            self.disk.wait(TIMEOUT)
            self.disk = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.image.unlink()

    def find_header(self):
        """The offset on the disk of the filter's header and commit records; 0 without a filter."""
        path = self.root / "filter"
        if not path.exists():
            return 0
        with open(path, "rb") as file:
            block, = struct.unpack("i", fcntl.ioctl(file, FIBMAP, struct.pack("i", 0)))
        return block * os.statvfs(self.root).f_bsize

    def prepare_loss(self):
        """Opens the file that an instant loss needs."""
        self.handle = os.open(self.root, os.O_RDONLY)

    def lose_power(self):
        """Nothing reaches the image after this. A disk may finish some requests first."""
        rng = self.random
        if self.kind in DISKS:
            requests = rng.randint(1, 3) if self.header else int(2 ** rng.uniform(0, 6)) - 1
            self.fail_disk(rng.choice([0, 10, 50, 50, 90, 100]), requests)
            if self.file_system in STOPPABLE:
                self.shut_down("nologflush")  # so that it gives up immediately
        else:
            self.shut_down(self.kind)
        os.close(self.handle)

    def shut_down(self, how):
        fcntl.ioctl(self.handle, GOING_DOWN, struct.pack("I", SHUTDOWNS[how]))

    def fail_disk(self, survival, requests):
        """After this many more requests, or after a pause in requests."""
        for countdown in requests, 0:
            self.disk.stdin.write(f"{survival} {countdown} {self.header}\n")
            self.disk.stdin.flush()
            if select.select([self.disk.stdout], [], [], 0.05 if countdown else TIMEOUT)[0]:
                break
        _, lost, _, unflushed = self.disk.stdout.readline().split()
        self.sectors = int(lost), int(unflushed)


def try_loss(folder, file_system, kind):
    """The reason why the power of such a machine cannot fail here, or None."""
    where = folder / f"trial of {kind}"
    where.mkdir()
    try:
        with Machine(where, file_system) as machine:
            machine.start(kind)
            run(*IN_BOOT, machine.boot, "true")
            machine.prepare_loss()
            machine.lose_power()
    except (OSError, RuntimeError) as error:
        return error
    return None


def require(folder, file_system):
    """Skips the test if such a file system cannot be made, mounted and shut down here."""
    trouble = try_loss(folder, file_system, "nologflush")
    if trouble:
        skip(trouble)


def kinds_of(file_system):
    """torn needs the place of the header on the disk, which Btrfs does not give."""
    return KINDS if file_system in STOPPABLE else ["disk"]


def possible_kinds(folder, file_system):
    """The kinds that work here: a separate disk needs FUSE."""
    require(folder, file_system)
    trouble = try_loss(folder, file_system, "disk")
    if trouble:
        print(f"{file_system}: without losses at the disk:", trouble)
    return [kind for kind in kinds_of(file_system) if kind not in DISKS or not trouble]
