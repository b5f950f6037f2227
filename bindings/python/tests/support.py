# SPDX-License-Identifier: MIT
"""Shared by the tests: temporary folders and the tools."""

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import bloomfile

IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where a sync takes no time
SANITIZED = os.environ.get("SANITIZE", "none") != "none"
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it, and so would interrupted children


def python(code, *arguments, options=()):
    """Runs Python code in a new process and returns its output."""
    return subprocess.run([sys.executable, *options, "-c", code, *map(str, arguments)], check=True, capture_output=True,
                          text=True).stdout


def until_read(pipe):
    """Waits until a pipe is empty."""
    while fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) != bytes(4):
        time.sleep(0.001)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=IN_MEMORY)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "test.bloom"

    def until_time_moves(self):
        """Waits until a write gets a later modification time than earlier writes."""
        times = set()
        while len(times) < 2:
            (self.folder / "probe").write_bytes(b"")
            times.add((self.folder / "probe").stat().st_mtime_ns)

    def tool(self, name, *arguments, input=b"", status=0):
        if name.upper() not in os.environ:  # the archive of sources has no tools
            self.skipTest(f"needs {name.upper()}, the path of {name}")
        done = subprocess.run([os.environ[name.upper()], *map(os.fspath, arguments)], check=False, input=input,
                              capture_output=True, env=os.environ | {"LD_PRELOAD": ""})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def build(self, keys=("a", "b", "c"), *arguments, path=None, **params):
        made = bloomfile.build(path or self.path, keys, *arguments, **params)
        self.addCleanup(made.close)
        return made

    def live(self, capacity=10000, *arguments, **params):
        made = bloomfile.LiveFilter.create(self.folder / "live.bloom", capacity, *arguments, **params)
        self.addCleanup(made.close)
        return made
