# SPDX-License-Identifier: MIT
"""Live filters on overlayfs: test_layers.py. A reader must see a writer's adds, although the first writer gets a
copy of the file. Where a copy cannot be made, a live filter is refused."""

import os
import subprocess
import unittest

from mounts import TIMEOUT, own_folder, run, skip

BFADD, BFCREATE, BFQUERY, BFSEAL = (os.environ[name] for name in
                                    ("BFADD", "BFCREATE", "BFQUERY", "BFSEAL"))
OLD, NEW = "".join(f"old {i}\n" for i in range(100)), "".join(f"new {i}\n" for i in range(1000))


class Layers(unittest.TestCase):
    def setUp(self):
        self.folder = WHERE / self._testMethodName
        for name in "lower", "upper", "work", "merged":
            (self.folder / name).mkdir(parents=True)
        self.below = self.folder / "lower" / "filter"
        self.filter = self.folder / "merged" / "filter"
        run(BFCREATE, "-q", "--live", "--allow-empty", "-n", "10000", "-f", self.below)
        run(BFADD, "-q", self.below, input=OLD)

    def mount(self, lower, *options):
        run("mount", "-t", "overlay", "overlay", "-o", ",".join([f"lowerdir={lower}", *options]),
            self.folder / "merged")

    def mount_writable(self):
        self.mount(self.folder / "lower", f"upperdir={self.folder / 'upper'}",
                   f"workdir={self.folder / 'work'}")

    def query(self, keys):
        return subprocess.run([BFQUERY, self.filter], input=keys, text=True, capture_output=True,
                              timeout=TIMEOUT)

    def test_reader_opened_before_the_copy_up_sees_new_keys(self):
        self.mount_writable()
        with subprocess.Popen([BFQUERY, self.filter], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as reader:
            # The output for a first batch shows that the filter is open.
            reader.stdin.write(OLD)
            reader.stdin.flush()
            self.assertEqual(reader.stdout.readline(), "old 0\n")
            run(BFADD, "-q", self.filter, input=NEW)
            reader.stdin.write(NEW)
            reader.stdin.close()
            answers = reader.stdout.read()
        self.assertEqual("old 0\n" + answers, OLD + NEW)
        self.assertEqual(reader.returncode, 0)

    def test_sealed_filter_has_keys_of_both_layers(self):
        self.mount_writable()
        run(BFADD, "-q", self.filter, input=NEW)
        run(BFSEAL, "-q", self.filter)
        self.assertEqual(self.query(OLD + NEW).stdout, OLD + NEW)

    def test_read_only_mount_is_refused(self):
        (self.folder / "upper" / "other").touch()
        self.mount(f"{self.folder / 'lower'}:{self.folder / 'upper'}")
        result = self.query(OLD)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "")
        self.assertIn("file system", result.stderr)


WHERE = own_folder()
try:
    run("mount", "-t", "tmpfs", "tmpfs", WHERE)  # some file systems cannot hold an overlay
    for layer in "lower", "upper", "work", "merged":
        (WHERE / "trial" / layer).mkdir(parents=True)
    run("mount", "-t", "overlay", "overlay", "-o",
        f"lowerdir={WHERE}/trial/lower,upperdir={WHERE}/trial/upper,workdir={WHERE}/trial/work",
        WHERE / "trial" / "merged")
except RuntimeError as error:
    skip(error)
if __name__ == "__main__":
    unittest.main()
