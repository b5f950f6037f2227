# SPDX-License-Identifier: MIT
"""Live filters on a full disk: test_full.py ext4|xfs|tmpfs.

A filter that does not fit is refused at its creation. A filter that fits can be filled, synced and sealed while
the rest of the disk is full. A file with holes must get SIGBUS there; otherwise this test would prove nothing."""

import errno
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

from machine import Machine, require
from mounts import ENVIRONMENT, TIMEOUT, own_folder, run, unmount, wait_until

FULL, CHECK = os.environ["POWER_FULL"], os.environ["POWER_CHECK"]
MIB = 1 << 20
ROOM = 40 * MIB         # free on the disk
FILTER = 16 * MIB       # the body of a filter that fits
KEYS = 1_000_000        # they touch every page of both
CLEAN = f"read OK\nwrite OK\naccept OK\nstate 1\nlabel \nlost {KEYS} 0\n"
SEALED = f"read OK\nwrite BLOOMFILE_ESEALED\naccept OK\nstate 2\nlabel \nverify OK\nlost {KEYS} 0\n"


class Memory:
    """A tmpfs with the interface of a Machine; it stays on."""

    def __init__(self, where, _):
        self.root = where / "root"
        self.root.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={ROOM + MIB}", "tmpfs", self.root)

    def start(self):
        pass

    def stop(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        unmount(self.root)


class FullDisk(unittest.TestCase):
    folder = file_system = None

    def setUp(self):
        where = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(dir=self.folder)))
        kind = Memory if self.file_system == "tmpfs" else Machine
        self.machine = self.enterContext(kind(where, self.file_system))
        self.machine.start()
        self.root = self.machine.root
        with open(self.root / "ballast", "wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, self.free() - ROOM)
        self.filter = self.root / "filter"

    def free(self):
        status = os.statvfs(self.root)
        return status.f_bavail * status.f_frsize

    def await_free(self, size):
        """XFS frees the space of a removed file with a delay."""
        wait_until(lambda: self.free() >= size, "space is still in use")

    def fill(self):
        """Writes to a file until no block is left, even after everything was written back."""
        with open(self.root / "filling", "ab", buffering=0) as file:
            written = None
            while written != file.tell():
                written = file.tell()
                for size in MIB, 4096, 1:
                    try:
                        while True:
                            file.write(bytes(size))
                    except OSError as error:
                        self.assertEqual(error.errno, errno.ENOSPC)
                run("sync", "--file-system", self.root)

    def restart(self):
        self.machine.stop()
        self.machine.start()

    def use(self, *arguments, **options):
        """The exit status of power-full, and its output."""
        result = subprocess.run([FULL, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                                timeout=TIMEOUT, env=ENVIRONMENT, **options)
        return result.returncode, result.stdout

    def works(self, *arguments):
        self.assertEqual(self.use(*arguments), (0, "OK\n"))

    def refused(self, error, *arguments, **options):
        """The command fails and leaves everything unchanged."""
        names, free = sorted(os.listdir(self.root)), self.free()
        self.assertEqual(self.use(*arguments, **options), (1, f"{error}\n"))
        self.assertEqual(sorted(os.listdir(self.root)), names)
        self.await_free(free)

    def check(self, expected, path=None):
        self.assertEqual(run(CHECK, path or self.filter, str(KEYS)), expected)

    def filled_filter(self):
        self.works("create", self.filter, FILTER * 8)
        self.works("add", self.filter, KEYS)

    def test_filter_larger_than_the_disk_is_refused(self):
        self.refused("ENOSPC", "create", self.filter, 2 * ROOM * 8)
        self.fill()
        self.refused("ENOSPC", "create", self.filter, MIB * 8)

    def test_filter_that_fits_can_be_filled(self):
        size = ROOM
        while self.use("create", self.filter, size * 8)[0] != 0:
            self.refused("ENOSPC", "create", self.filter, size * 8)
            size -= 256 << 10
        self.assertGreater(size, ROOM * 3 // 4)
        self.fill()
        self.works("add", self.filter, KEYS)
        self.restart()
        self.check(CLEAN)

    def test_sealing_works_on_a_full_disk(self):
        self.works("create", self.filter, FILTER * 8)
        self.fill()
        self.works("add", self.filter, KEYS)
        self.works("seal", self.filter)
        self.restart()
        self.check(SEALED)

    def test_copy_without_space_fails_and_keeps_the_source(self):
        self.filled_filter()
        copy, free = self.root / "copy", self.free()
        self.works("copy", self.filter, copy)
        self.check(SEALED, copy)
        copy.unlink()
        self.await_free(free - MIB)
        with open(self.root / "more ballast", "wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, self.free() - FILTER // 2)
        self.refused("ENOSPC", "copy", self.filter, copy)
        self.fill()
        self.refused("ENOSPC", "copy", self.filter, copy)
        self.restart()
        self.check(CLEAN)

    def test_file_size_limit_fails_with_efbig(self):
        """Python ignores SIGXFSZ, and so do its children."""
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB)),
                   "restore_signals": False}
        self.refused("EFBIG", "create", self.filter, FILTER * 8, **limited)
        self.filled_filter()
        self.refused("EFBIG", "copy", self.filter, self.root / "copy", **limited)
        self.check(CLEAN)

    def test_control_add_to_a_file_with_holes_gets_sigbus(self):
        self.works("create", self.filter, FILTER * 8)
        run("fallocate", "--punch-hole", "--offset", "4096", "--length", str(FILTER), self.filter)
        self.fill()
        self.assertEqual(self.use("add", self.filter, KEYS), (-signal.SIGBUS, ""))


def main():
    FullDisk.folder = own_folder()
    FullDisk.file_system = sys.argv.pop()
    if FullDisk.file_system != "tmpfs":
        require(FullDisk.folder, FullDisk.file_system)
    unittest.main()


if __name__ == "__main__":
    main()
