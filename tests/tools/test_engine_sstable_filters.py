# SPDX-License-Identifier: MIT
"""examples/sstable: whatever becomes of a filter, no row is lost."""

import os
import shutil

from sstable_tablet import QUICK, ROWS, SstableTest, table
from support import UNPRIVILEGED, main, needs, numbered


class BadFilters(SstableTest):
    """Each is refused with its reason, and all searches are made; compaction mends it."""

    LAYOUT = []
    ROWS = table(0, 8000)
    ABSENT = numbered(500, "absent ")

    def setUp(self):
        super().setUp()
        self.put(table(0, 4000), *QUICK, *self.LAYOUT)
        self.put(table(4000, 8000), *QUICK, *self.LAYOUT)
        self.keys = b"".join(key + b"\n" for key in table(0, 4000))
        self.tag = self.inspected("t/000001.bloom")["header"]["tag"]

    def refused(self, state, *names):
        self.assertGreaterEqual(
            self.check_said(self.ROWS, self.ABSENT, "t/000001.bloom: ", state, *names,
                            "every lookup searches t/000001.mtbl"), 4000 + 500)
        self.assertEqual(self.states(), ["in use", state])

    def mended(self):
        result = self.run_tool("sstable", "compact", "t", *QUICK, *self.LAYOUT)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertLess(self.check(self.ROWS, self.ABSENT), 8000 + 500 * 0.1)

    def replace(self, *options, keys=None):
        """With a filter that bfcreate makes."""
        self.write("keys", self.keys if keys is None else keys)
        return self.create(*options, "keys", name="t/000001.bloom")

    def test_the_right_one(self):
        """What the others are compared with: a filter of the right tag is used, though it is not
        the tablet's own; and if it lacked keys, they would be lost."""
        self.replace("--tag", self.tag)
        self.check(self.ROWS, self.ABSENT)
        self.replace("--tag", self.tag, keys=b"none\n")
        self.assertLess(len(self.get(self.ROWS)[0]), 4500)

    def test_missing(self):
        (self.folder / "t/000001.bloom").unlink()
        self.refused("missing", "No such file")
        self.mended()

    def test_of_another_table(self):
        shutil.copy(self.folder / "t/000002.bloom", self.folder / "t/000001.bloom")
        self.refused("stale")
        self.mended()

    def test_of_the_same_name_and_size(self):
        """A table that was rewritten with as many rows of the same sizes."""
        shutil.copy(self.folder / "t/000001.bloom", self.folder / "stale")
        shutil.rmtree(self.folder / "t")
        self.put({key[::-1]: value for key, value in table(0, 4000).items()}, *QUICK)
        self.put(table(4000, 8000), *QUICK)
        os.replace(self.folder / "stale", self.folder / "t/000001.bloom")
        self.ROWS = {**{key[::-1]: value for key, value in table(0, 4000).items()},
                     **table(4000, 8000)}
        self.refused("stale")

    def test_without_tag(self):
        self.replace()
        self.refused("stale")

    def test_other_seed(self):
        self.replace("--tag", self.tag, "--seed", "1")
        self.refused("foreign", "the seeds differ")
        self.mended()

    def test_live(self):
        (self.folder / "t/000001.bloom").unlink()
        self.output("bfcreate", "--live", "-q", "-n", 4000, "--tag", self.tag, "t/000001.bloom")
        self.refused("foreign", "live, no checksums")

    def test_no_filter(self):
        for content, state in ((b"", "damaged"), (b"x" * 8192, "foreign"), (b"\0" * 5000, "foreign")):
            self.write("t/000001.bloom", content)
            self.refused(state)
        (self.folder / "t/000001.bloom").unlink()
        (self.folder / "t/000001.bloom").mkdir()
        self.refused("foreign", "Is a directory")
        (self.folder / "t/000001.bloom").rmdir()
        os.mkfifo(self.folder / "t/000001.bloom")
        self.refused("foreign", "not a regular file")
        self.mended()

    @needs(*UNPRIVILEGED)
    def test_unreadable(self):
        (self.folder / "t/000001.bloom").chmod(0)
        result = self.run_tool("sstable", "get", "t", "key 5", before=UNPRIVILEGED)
        self.assertEqual((result.returncode, result.stdout), (0, b"key 5\tvalue 5\n"))
        self.check_message("sstable", result.stderr, "unreadable (Permission denied)")

    def test_cut_off(self):
        whole = self.read("t/000001.bloom")
        for size in 1, 511, 4096, 5000, len(whole) - 1:
            self.write("t/000001.bloom", whole[:size])
            self.refused("damaged")
        self.write("t/000001.bloom", whole + b"x")
        self.refused("damaged")

    def test_bits_of_the_header(self):
        whole = self.read("t/000001.bloom")
        for bit in range(0, 512 * 8, 97):
            bad = bytearray(whole)
            bad[bit // 8] ^= 1 << bit % 8
            self.write("t/000001.bloom", bytes(bad))
            found, said, _ = self.get(self.ROWS)
            self.check_same(found, self.ROWS)
            if said != b"":  # one of the two commit records may be damaged
                self.check_message("sstable", said, "t/000001.bloom: the filter is ")

    def test_pages_of_the_body(self):
        """Found by lookups, and said once."""
        whole = self.read("t/000001.bloom")
        for page in range(1, len(whole) // 4096):
            bad = bytearray(whole)
            bad[page * 4096:page * 4096 + 4096] = bytes(4096)
            self.write("t/000001.bloom", bytes(bad))
            self.check_said(self.ROWS, self.ABSENT, "t/000001.bloom: the filter is damaged, more "
                            "lookups than usual search t/000001.mtbl", "a page of the body")
        result = self.run_tool("sstable", "compact", "t", "--merge-filters")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"filters are not merged", result.stderr)
        self.assertLess(self.check(self.ROWS, self.ABSENT), 8000 + 500 * 0.1)

    def test_overwritten_while_it_is_queried(self):
        """By the sound filter of another table; then the rows that it lacks would seem not to be there."""
        keys = [key.decode() for key in self.ROWS]
        said = self.overwritten_while_it_prints("t/000001.bloom", self.read("t/000002.bloom"), "sstable", "get", "t", *keys)
        self.check_message("sstable", said, "t/000001.bloom was overwritten during the query", "run it again")

    def embedded(self):
        """A table with a filter inside: its bytes, where the filter begins, and where the footer."""
        shutil.rmtree(self.folder / "t")
        self.put(self.ROWS, "--embedded", *QUICK, *self.LAYOUT)
        whole = self.read("t/000001.mtbl")
        footer = len(whole) - 512 - 48
        self.assertEqual(whole[footer:footer + 8], b"\x89TABLE\r\n")
        image = int.from_bytes(whole[footer + 24:footer + 32], "little")
        self.assertEqual((image + 512) % 4096, 0)
        return whole, image, footer

    def test_embedded(self):
        whole, image, footer = self.embedded()
        self.check(self.ROWS, self.ABSENT)
        for at, length, says in ((image, 8, "foreign (not a filter file)"), (image + 40, 1, "damaged"),
                                 (image + 600, 4096, "more lookups than usual"),
                                 (footer, 1, "unknown"), (footer + 10, 1, "unknown"),
                                 (footer + 24, 8, "unknown"), (footer + 32, 8, "unknown"),
                                 (footer + 47, 1, "unknown")):
            bad = bytearray(whole)
            for i in range(at, at + length):
                bad[i] ^= 0xff
            self.write("t/000001.mtbl", bytes(bad))
            searches = self.check_said(self.ROWS, self.ABSENT, "t/000001.mtbl: ", says)
            if "usual" not in says:
                self.assertEqual(searches, 8500)
        self.mended()

    def test_embedded_filter_of_another_table(self):
        other, other_image, other_footer = self.embedded()
        whole, image, footer = self.embedded()
        self.assertEqual((image, footer), (other_image, other_footer))
        self.write("t/000001.mtbl", whole[:image] + other[image:footer] + whole[footer:])
        self.assertEqual(self.check_said(self.ROWS, self.ABSENT, "t/000001.mtbl: the filter is stale"),
                         8500)

    def test_table_of_another_program(self):
        """What mtbl itself wrote: without our end."""
        whole = self.read("t/000001.mtbl")
        self.write("t/000001.mtbl", whole[:-560])
        searches = self.check_said(self.ROWS, self.ABSENT, "t/000001.mtbl: its filter is unknown")
        self.assertGreaterEqual(searches, 4500)
        self.mended()


class BadRibbons(BadFilters):
    """The same of the layout ribbon: a third smaller."""

    LAYOUT = ["--layout", "ribbon"]

    def test_compacted(self):
        """It is built from all keys, so there is no union."""
        self.assertEqual(self.inspected("t/000001.bloom")["header"]["layout"], "ribbon")
        result = self.run_tool("sstable", "compact", "t", "--merge-filters", *QUICK, *self.LAYOUT)
        self.assertEqual(result.returncode, 0)
        self.check_message("sstable", result.stderr, "filters are not merged, it is built from the keys")
        self.assertEqual(self.inspected("t/000003.bloom")["header"]["layout"], "ribbon")
        self.assertLess(self.check(self.ROWS, self.ABSENT), 8000 + 500 * 0.1)


main()
