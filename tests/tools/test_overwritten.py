# SPDX-License-Identifier: MIT
"""A filter that is overwritten in place, as cp does, while a tool reads it: never status 0 or 1."""

import os

from support import ToolTest, craft, lines, main, numbered

KEYS, OTHERS = numbered(900), numbered(900, "other ")


class Overwritten(ToolTest):
    """Files of one size, several pages, for keys of which the other has none."""

    def setUp(self):
        super().setUp()
        self.mine, self.other = (craft.make("classic", 8 * 4096 * 3, 5, keys)
                                 for keys in (KEYS, OTHERS))
        self.write("filter", self.mine)

    def overwrite(self):
        with open(self.folder / "filter", "r+b") as file:
            file.write(self.other)

    def test_bfadd_ends_with_2_when_a_backup_is_copied_over_its_file(self):
        self.create_live("-n", "10k")
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:100]))
        backup = self.read("live")
        for options in [], ["--sync", 10]:
            with self.subTest(options):
                writer = self.start("bfadd", *options, "live")
                self.feed(writer, *KEYS[:500])
                self.wait_for_key("live", KEYS[400], writer)  # a copy while it opens is opened, and kept
                with open(self.folder / "live", "r+b") as file:
                    file.write(backup)
                status, out, message = self.result(writer, lines(*OTHERS))
                self.assertEqual((status, out), (2, b""), message)
                self.check_message("bfadd", message, "live was overwritten", "again")
                self.assertEqual(self.read("live")[:4096], backup[:4096])

    def asker(self, *options):
        """One that has looked at all pages, and waits for more."""
        process = self.start("bfquery", *options, "filter")
        self.feed(process, *KEYS)
        return process

    def check_asker(self, process, stdin=lines(*OTHERS)):
        status, _, message = self.result(process, stdin)
        self.assertEqual(status, 2, message)
        self.check_message("bfquery", message, "filter", "overwritten", "ask again")

    def test_bfquery_ends_with_2(self):
        process = self.asker()
        for key in KEYS:
            self.assertEqual(process.stdout.readline(), key + b"\n")
        self.overwrite()
        self.check_asker(process)

    def test_whatever_it_was_asked_for(self):
        for options in ["-c"], ["-v"], ["-q", "-v"], ["-c", "-j", 1]:
            with self.subTest(options):
                self.write("filter", self.mine)
                process = self.start("bfquery", *options, "filter")
                self.feed(process, *KEYS)
                self.until(lambda: self.is_mapped(process))
                self.overwrite()
                self.check_asker(process)

    def is_mapped(self, process):
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
            return str(self.folder / "filter") in maps.read()

    def test_even_if_it_is_not_asked_any_more(self):
        process = self.asker()
        self.assertEqual(process.stdout.readline(), KEYS[0] + b"\n")
        self.overwrite()
        self.check_asker(process, b"")

    def test_bfmerge_makes_nothing(self):
        process = self.start("bfmerge", "merged", "filter", "-")
        process.stdin.write(self.mine[:4096])
        process.stdin.flush()
        self.until(lambda: self.is_mapped(process))
        self.overwrite()
        status, out, message = self.result(process, self.mine[4096:])
        self.assertEqual((status, out), (2, b""))
        self.check_message("bfmerge", message, "filter", "overwritten")
        self.assertNotIn("merged", os.listdir(self.folder))

    def test_bfinspect_says_so(self):
        os.mkfifo(self.folder / "keys")
        process = self.start("bfinspect", "--keys", "keys", "filter")
        with open(self.folder / "keys", "wb") as keys:  # once it is opened for reading, all was read
            self.overwrite()
            keys.write(lines(*KEYS))
        status, out, _ = self.result(process)
        self.assertEqual(status, 2)
        self.assertEqual(out.splitlines()[0].partition(b": what")[0],
                         b"filter: overwritten while it was read")

    def test_a_renamed_file_is_no_matter(self):
        process = self.asker()
        self.until(lambda: self.is_mapped(process))
        self.write("newer", self.other)
        os.rename(self.folder / "newer", self.folder / "filter")
        self.assertEqual(self.result(process), (0, lines(*KEYS), b""))


if __name__ == "__main__":
    main()
