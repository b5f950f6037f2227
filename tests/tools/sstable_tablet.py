# SPDX-License-Identifier: MIT
"""What the tests of examples/sstable share: rows into a tablet and out of it."""

import os
import re
import sys

from support import SANITIZED, TOOLS, ToolTest

TOOLS["sstable"] = os.environ.get("EXAMPLE_SSTABLE")
if not TOOLS["sstable"]:
    print("skipped: needs mtbl (Debian: libmtbl-dev)")
    sys.exit(77)

STOPPING_DISK = os.environ.get("STOPPING_DISK", "")
FORMS = [], ["--embedded"]
QUICK = ["--compression", "none"]
F_SETPIPE_SZ = 1031  # fcntl has no name for it before Python 3.10
ROWS = 100_000 if SANITIZED else 1_000_000


def text(rows):
    return b"".join(b"%s\t%s\n" % row for row in rows.items())


def table(first, last, value=b"value"):
    return {b"key %d" % i: b"%s %d" % (value, i) for i in range(first, last)}


class SstableTest(ToolTest):
    def put(self, rows, *options, says=b""):
        self.assertEqual(self.output("sstable", "put", "t", *options, stdin=text(rows), says=says), b"")

    def get(self, keys, *options):
        """The rows that are found, what is said, and how many tables were searched."""
        result = self.run_tool("sstable", "get", "--stats", "t", "-", *options,
                               stdin=b"".join(key + b"\n" for key in keys))
        stats = re.search(rb"(?m)^(\d+) keys, (\d+) found, (\d+) searches in (\d+) tables\n",
                          result.stderr)
        self.assertIsNotNone(stats, result.stderr)
        asked, found, searches, _ = map(int, stats.groups())
        rows = dict(line.split(b"\t", 1) for line in result.stdout.split(b"\n")[:-1])
        self.assertEqual((asked, found), (len(keys), len(rows)))
        self.assertEqual(result.returncode, 0 if rows else 1)
        return rows, result.stderr.replace(stats[0], b""), searches

    def delete(self, keys, *options):
        self.output("sstable", "delete", "t", "-", *options,
                    stdin=b"".join(key + b"\n" for key in keys))

    def check_same(self, found, rows):
        """Not as assertEqual(), which would spend hours on the difference of many rows."""
        if found != rows:
            differences = sorted(set(found.items()) ^ set(rows.items()))
            self.fail(f"{len(differences)} rows differ: {differences[:5]}")

    def check(self, rows, absent=()):
        """All rows are there, none of the absent keys is, and nothing is said."""
        found, said, searches = self.get([*rows, *absent])
        self.assertEqual(said, b"")
        self.check_same(found, rows)
        return searches

    def check_said(self, rows, absent, *names):
        found, said, searches = self.get([*rows, *absent])
        self.check_same(found, rows)
        self.check_message("sstable", said, *names)
        return searches

    def states(self):
        """What list says of each table's filter."""
        out = self.run_tool("sstable", "list", "t").stdout.decode()
        return re.findall(r"(?m), ([a-z ]+)$", out)

    def files(self):
        return sorted(os.listdir(self.folder / "t"))
