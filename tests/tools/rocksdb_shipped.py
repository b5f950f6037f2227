# SPDX-License-Identifier: MIT
"""Shared parts of the tests of examples/rocksdb: shipping, ingesting and looking up rows."""

import os
import re
import sys

from rocksdb_api import Database
from support import TOOLS, ToolTest, lines

TOOLS["shipped"] = os.environ.get("EXAMPLE_ROCKSDB")
if not TOOLS["shipped"]:
    print("skipped: needs RocksDB (Debian: librocksdb-dev)")
    sys.exit(77)

SEVERAL = [b"key %d" % i for i in range(0, 6000, 2)]
ABSENT = [b"key %d" % i for i in range(1, 6000, 2)]
ALONE = "RocksDB is asked about every key"


def rows(keys, value=b"value of "):
    return [key + b"\t" + value + key[:20] for key in keys]


class Shipped(ToolTest):
    def ship(self, the_rows, *options, name="set"):
        self.assertEqual(self.output("shipped", "ship", *options, name, stdin=lines(*the_rows)), b"")
        return name

    def ingest(self, name="set", database="db"):
        self.assertEqual(self.output("shipped", "ingest", name, database), b"")

    def ship_and_ingest(self, the_rows, *options, name="set"):
        self.ingest(self.ship(the_rows, *options, name=name))

    def get(self, keys, says="", database="db"):
        """The rows found. Standard error must be the expected message, or empty."""
        result = self.run_tool("shipped", "get", database, "-", stdin=lines(*keys))
        self.assertEqual(result.returncode, 0 if result.stdout else 1, result)
        self.assertTrue(result.stdout == b"" or result.stdout.endswith(b"\n"))
        if says:
            self.check_message("shipped", result.stderr, database + ".bloom", says, "RocksDB is asked")
        else:
            self.assertEqual(result.stderr, b"")
        return result.stdout.split(b"\n")[:-1]

    def check_all_there(self, says="", keys=SEVERAL, absent=ABSENT, value=b"value of "):
        both = [key for pair in zip(keys, absent) for key in pair]
        found, expected = self.get(both, says), rows(keys, value)
        self.assertEqual(len(set(expected) - set(found)), 0, "rows are lost")
        self.assertTrue(found == expected, "other rows, or in another order")

    def in_use(self):
        result = self.run_tool("shipped", "status", "db")
        self.assertEqual(result.returncode, 0 if b"\nfilter   in use\n" in result.stdout else 1)
        return result.returncode == 0

    def family(self):
        return re.search(rb"(?m)^family +(\S+)$",
                         self.run_tool("shipped", "status", "db").stdout)[1].decode()

    def database(self):
        return Database(self.folder / "db", self.family())

    def tag(self, name="set"):
        return re.match(rb"set ([0-9a-f]{32})\n", self.read(name + "/MANIFEST"))[1].decode()
