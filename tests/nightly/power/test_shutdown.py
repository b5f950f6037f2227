# SPDX-License-Identifier: MIT
"""A file system that shuts down between the rename of a file and the sync of its folder: test_shutdown.py ext4|xfs.

The name is lost. XFS does not report that when the folder is synced, but no exit status may be 0 then."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from machine import Machine, require
from mounts import TIMEOUT, own_folder, run

SHUTDOWN = os.environ["SHUTDOWN_MODULE"]
SHIP = pathlib.Path(os.environ["SOURCE_ROOT"]) / "examples" / "shipping" / "ship.sh"
TOOLS = {name: os.environ[name.upper()] for name in "bfadd bfcreate bfdelta bffold bfinspect bfmerge bfquery bfseal".split()}
SHAPE = ["-m", "65536", "-k", "5"]
OLD, NEW = (list(range(first, first + 100)) for first in (0, 100))


def lines(keys):
    return "".join(f"{key}\n" for key in keys)


class Shutdown(unittest.TestCase):
    folder = file_system = None

    def setUp(self):
        where = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(dir=self.folder)))
        self.machine = self.enterContext(Machine(where, self.file_system))
        self.machine.start()
        self.root = self.machine.root
        paths = sorted({str(pathlib.Path(tool).parent) for tool in TOOLS.values()})
        self.environment = {**os.environ, "PATH": os.pathsep.join([*paths, os.environ["PATH"]])}
        for name, keys in ("a", OLD), ("b", NEW):
            self.tool("bfcreate", "-q", *SHAPE, name, keys=keys)

    def tool(self, name, *words, keys=()):
        run(TOOLS[name], *words, cwd=self.root, input=lines(keys), env=self.environment)

    def shut_down_at(self, name, *words, keys=()):
        """The exit status of a command during which the file system shut down as a file got `name`; mounts it
        again."""
        run("sync", "--file-system", self.root)
        result = subprocess.run(words, cwd=self.root, input=lines(keys), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, timeout=TIMEOUT,
                                env={**self.environment, "LD_PRELOAD": SHUTDOWN, "SHUTDOWN_NAME": name})
        self.assertNotIn("cannot shut", result.stderr)
        self.assertRaises(OSError, (self.root / "a").read_bytes)  # fails unless it has shut down
        self.machine.stop()
        self.machine.start()
        return result.returncode

    def loses(self, name, *words, keys=()):
        path = self.root / name
        before = path.read_bytes() if path.exists() else None
        status = self.shut_down_at(name, TOOLS[words[0]], *words[1:], keys=keys)
        self.assertEqual(path.read_bytes() if path.exists() else None, before)
        self.assertEqual(status, 2, words)

    def test_lost_name_of_a_new_file_is_an_error(self):
        self.tool("bfcreate", "-q", "--live", *SHAPE, "live")
        self.tool("bfdelta", "-q", "a", "b", "patch")
        for words in (["bfcreate", "-q", "out"], ["bfcreate", "-q", "--live", *SHAPE, "out"],
                      ["bfcreate", "-q", "--live", "--grow", "-n", "100", "out"], ["bffold", "-q", "--factor", "4", "a", "out"],
                      ["bfmerge", "-q", "out", "a", "b"], ["bfseal", "-q", "live", "out"], ["bfdelta", "-q", "a", "b", "out"],
                      ["bfdelta", "--apply", "-q", "a", "patch", "out"]):
            with self.subTest(words=words):
                self.loses("out", *words, keys=OLD)

    def test_a_lost_replacement_is_an_error(self):
        self.tool("bfdelta", "-q", "a", "b", "patch")
        for words in (["bfcreate", "-q", "-f", "a"], ["bfcreate", "-q", "--live", "--allow-empty", *SHAPE, "-f", "a"],
                      ["bffold", "-q", "--factor", "4", "-f", "a", "a"], ["bfmerge", "-q", "-f", "a", "a", "b"],
                      ["bfdelta", "--apply", "-q", "-f", "a", "patch", "a"]):
            with self.subTest(words=words):
                self.loses("a", *words, keys=NEW)

    def test_a_lost_layer_is_an_error(self):
        self.tool("bfcreate", "-q", "--live", "--grow", "-n", "100", "grow")
        self.tool("bfadd", "-q", "grow", keys=OLD)
        self.assertEqual(self.shut_down_at("grow.1", TOOLS["bfadd"], "-q", "grow", keys=NEW), 2)
        asked = subprocess.run([TOOLS["bfquery"], "-q", "--accept-unclean", "grow"], cwd=self.root, input=lines(OLD),
                               text=True, capture_output=True, timeout=TIMEOUT, check=False)
        self.assertEqual((asked.returncode, asked.stderr), (0, ""))

    def test_a_lost_publication_is_an_error(self):
        for name in "site", "server":
            (self.root / name).mkdir()
        ship = str(SHIP)
        self.assertNotEqual(self.shut_down_at("latest", ship, "publish", "a", "first", "site"), 0)
        self.assertFalse((self.root / "site" / "latest").exists())
        run(ship, "publish", "a", "first", "site", cwd=self.root, env=self.environment)
        self.assertNotEqual(self.shut_down_at("current.bloom", ship, "update", "site", "server"), 0)
        self.assertFalse((self.root / "server" / "current.bloom").is_symlink())
        run(ship, "update", "site", "server", cwd=self.root, env=self.environment)


if __name__ == "__main__":
    Shutdown.folder = own_folder()
    Shutdown.file_system = sys.argv.pop(1)
    require(Shutdown.folder, Shutdown.file_system)
    unittest.main()
