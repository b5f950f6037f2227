# SPDX-License-Identifier: MIT
"""Files that are not filters, or damaged filters: each tool that reads filters refuses them and gives the reason."""

import os

from support import REFUSED, SANITIZED, UNPRIVILEGED, ToolTest, craft, lines, main, needs, numbered, table

KEYS = numbered(300)
SRC = "SRC"

READERS = {
    "add": ["bfadd", SRC, "keys"],
    "query": ["bfquery", SRC, "keys"],
    "query --verify": ["bfquery", "--verify", SRC, "keys"],
    "fold": ["bffold", SRC, "new"],
    "fold --dry-run": ["bffold", "--dry-run", SRC],
    "merge": ["bfmerge", "new", "good", SRC],
    "merge it first": ["bfmerge", "new", SRC, "good"],
    "project": ["bfmerge", "--project", "new", SRC],
    "seal": ["bfseal", SRC],
    "seal a copy": ["bfseal", SRC, "new"],
    "uniq": ["bfuniq", "--filter", SRC, "keys"],
}
WRITERS = "add", "uniq"  # they complete an interrupted sealing
NO_FILTERS = {
    "no-such-file": "No such file",
    "text/x": "Not a directory",
    ".": "directory",
    "fifo": "not a regular file",
    "/dev/null": "not a regular file",
    "/dev/zero": "not a regular file",
    "text": "not a filter file",
    "empty": "empty",
    "byte": "not a filter file",
    "first byte": "truncated",
}


class Sources(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("keys", lines(*KEYS))
        self.good = self.create("-q", "keys", name="good")

    def refused(self, name, source, says="", **options):
        command = [source if word is SRC else word for word in READERS[name]]
        with self.subTest(name, source=source):
            self.assertIn(says, self.trouble(*command, names=[source], **options))

    def test_every_reader_refuses_a_file_that_is_not_a_filter(self):
        os.mkfifo(self.folder / "fifo")
        for name, data in (("text", b"apple\nbanana\n"), ("empty", b""), ("byte", b"\x89"),
                           ("first byte", b"\xbf")):
            self.write(name, data)
        for reader in READERS:
            for source, says in NO_FILTERS.items():
                if (reader, source) != ("uniq", "no-such-file"):  # bfuniq would make it
                    self.refused(reader, source, says)
            command = ["" if word is SRC else word for word in READERS[reader]]
            self.trouble(*command)

    def test_every_reader_refuses_a_patch(self):
        self.output("bfdelta", "good", "good", "patch")
        for reader in READERS:
            self.refused(reader, "patch", "patch: it is a patch, not a filter (describe it: bfdelta --info")
        self.trouble("bfinspect", "patch", names=["patch: not a filter file; it is a patch, not a filter (describe it: bfdelta --info"],
                     out=b"patch: not a filter file\n"
                         b"  advice        it is a patch, not a filter (describe it: bfdelta --info; apply it: bfdelta --apply)\n")

    def test_every_reader_refuses_the_refused_files(self):
        """Found when the file is opened or completely read. Under a sanitizer, three of the readers get each file."""
        rows = [row for row in table(REFUSED / "index.tsv") if row["error"] != "BLOOMFILE_ELIVE"]
        self.assertGreater(len(rows), 100)
        readers = [name for name in READERS if name not in ("query", "seal")]  # the tools that read the whole body
        for number, row in enumerate(rows):
            for reader in (3 * readers)[number % len(readers)::4][:3] if SANITIZED else readers:
                self.write("bad", (REFUSED / row["file"]).read_bytes())
                self.refused(reader, "bad", changes=reader in WRITERS)

    def test_every_reader_of_the_body_reports_damage(self):
        self.write("bad", craft.flip(self.good, 4096 + 100))
        for reader in "query --verify", "fold", "fold --dry-run", "merge", "merge it first", "seal a copy":
            self.refused(reader, "bad", "bad: a page of the body is damaged")

    @needs(*UNPRIVILEGED)
    def test_every_reader_reports_an_unreadable_file(self):
        (self.folder / "good").rename(self.folder / "mine")
        (self.folder / "mine").chmod(0)
        self.create("-q", "keys", name="good")
        for reader, words in READERS.items():
            with self.subTest(reader):
                command = ["mine" if word is SRC else word for word in words]
                self.assertIn("Permission denied", self.trouble(*command, names=["mine"], before=UNPRIVILEGED))


if __name__ == "__main__":
    main()
