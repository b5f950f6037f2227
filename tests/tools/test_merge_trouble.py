# SPDX-License-Identifier: MIT
"""bfmerge: what it refuses, and what is left when it is stopped. No file is harmed by either."""

import os
import resource
import signal
import subprocess
import time

from support import (NAMESPACE, REFUSED, TIMEOUT, UNPRIVILEGED, WITHOUT_PROC, ToolTest, craft, lines,
                     main, needs, numbered, table)

KEYS = numbered(3000)
SIZE = 512 * 60


class TroubleTest(ToolTest):
    def setUp(self):
        super().setUp()
        for name, keys in ("a", KEYS[::2]), ("b", KEYS[1::2]):
            self.shard(name, keys=keys)

    def shard(self, name, *options, keys=KEYS):
        return self.create("-q", "-k", 5, "-m", SIZE, "-p", 0.05, "-n", 3000, *options,
                           stdin=lines(*keys), name=name)


class Sources(TroubleTest):
    def test_what_differs_is_named_with_both_values_and_the_remedy(self):
        seed, hashes, layout = (f" (build them with the same {what})" for what in
                                ("-s", "-n, or the same -k", "-l"))
        for options, words in ((["-s", 7], f"c: seed 7, but a: seed 0{seed}"),
                               (["-s", 2**64 - 1], f"c: seed {2**64 - 1}, but a: seed 0{seed}"),
                               (["-k", 6], f"c: k = 6, but a: k = 5{hashes}"),
                               (["-l", "classic"], f"c: layout classic, but a: layout blocked{layout}"),
                               (["-l", "counting"],
                                f"c: layout counting, but a: layout blocked{layout}")):
            self.shard("c", *options)
            for mode in [], ["--intersect"], ["--union"]:
                self.assertEqual(self.trouble("bfmerge", *mode, "new", "a", "b", "c"),
                                 f"bfmerge: cannot merge {words}\n")
                (self.folder / "old").write_bytes(b"old")
                self.trouble("bfmerge", "-f", *mode, "old", "a", "b", "c")

    def test_twice(self):
        os.link(self.folder / "b", self.folder / "hard")
        (self.folder / "link").symlink_to("b")
        self.write("list", b"b\n")
        for words, says in ((["b", "b"], "b: it is there twice"),
                            (["b", "a", "./b"], "./b: it is there twice, also as b"),
                            (["b", "a", "hard"], "hard: it is there twice, also as b"),
                            (["b", "a", "link"], "link: it is there twice, also as b"),
                            (["a", "b", "--files-from", "list"], "b: it is there twice")):
            self.assertEqual(self.trouble("bfmerge", "new", *words),
                             f"bfmerge: cannot merge {says}\n")

    def test_damage(self):
        for offset in 4096, 4096 + 3000:
            self.write("bad", craft.flip(self.read("b"), offset))
            for words in ["new", "a", "bad"], ["new", "bad", "a"], ["-f", "a", "a", "bad"], \
                    ["--intersect", "new", "a", "bad"], ["-", "a", "bad"]:
                message = self.trouble("bfmerge", *words)
                self.assertIn("bfmerge: cannot merge bad: a page of the body is damaged", message)
        self.write("bad", craft.edit(self.read("b"), record={"ones": 5}))
        self.assertIn("cannot merge bad: the body contradicts the header",
                      self.trouble("bfmerge", "new", "a", "bad"))
        self.shard("counting", "-l", "counting")
        self.write("bad", craft.flip(self.read("counting"), 5000))
        self.assertIn("bad: a page", self.trouble("bfmerge", "--project", "new", "bad"))

    def test_refused_files(self):
        rows = [row for row in table(REFUSED / "index.tsv") if row["error"] != "BLOOMFILE_ELIVE"]
        self.assertGreater(len(rows), 100)
        for path in (REFUSED / row["file"] for row in rows):
            self.trouble("bfmerge", "new", path, names=[str(path)])

    def test_what_is_no_filter(self):
        os.mkfifo(self.folder / "fifo")
        self.write("text", b"apple\n")
        self.write("byte", b"\x89")
        self.write("empty", b"")
        for name in "fifo", "text", "byte", "empty", ".", "/dev/null", "no-such-file":
            self.trouble("bfmerge", "new", "a", name, names=[name])

    @needs(*UNPRIVILEGED)
    def test_permissions(self):
        (self.folder / "sub").mkdir(mode=0o555)
        self.assertIn("Permission denied",
                      self.trouble("bfmerge", "sub/new", "a", before=UNPRIVILEGED))
        (self.folder / "b").chmod(0)
        self.assertIn("Permission denied",
                      self.trouble("bfmerge", "new", "a", "b", names=["b"], before=UNPRIVILEGED))

    def shrunk(self, **options):
        """Status and message of one whose source is truncated when it has it open."""
        self.shard("short")
        process = self.start("bfmerge", "new", "short", "-", **options)
        self.until(lambda: "/short\n" in open(f"/proc/{process.pid}/maps").read(), process)
        os.truncate(self.folder / "short", 4096)
        return self.result(process, self.read("a"))

    def test_a_source_that_shrinks(self):
        expected = (2, b"", b"bfmerge: a filter to merge: the file shrank or its disk failed while "
                            b"it was read\n")
        self.assertEqual(self.shrunk(), expected)
        self.assertEqual([name for name in self.snapshot()], ["a", "b", "short"])

    @needs(*WITHOUT_PROC)
    def test_a_source_that_shrinks_while_signals_are_held(self):
        status, out, message = self.shrunk(before=WITHOUT_PROC)
        self.assertEqual((status, out), (2, b""))
        self.assertIn(b"the file shrank or its disk failed", message)
        self.assertFalse((self.folder / "new").exists())

    def test_lists(self):
        for data, says in ((b"", "names no filter"), (b"a\n\nb\n", "name 2 is empty"),
                           (b"a\nb\0c\n", "name 2 has a zero byte in it"),
                           (b"a\nno-such\n", "cannot open no-such")):
            self.write("list", data)
            self.assertIn(says, self.trouble("bfmerge", "new", "--files-from", "list"))
        self.assertIn("No such file", self.trouble("bfmerge", "new", "--files-from", "no"))
        self.assertIn("directory", self.trouble("bfmerge", "new", "--files-from", "."))


class Targets(TroubleTest):
    def test_exists(self):
        self.write("old", b"old")
        for name in "old", "a":
            self.assertIn("File exists (--force replaces it)",
                          self.trouble("bfmerge", name, "a", "b", names=[name]))

    def test_no_regular_file(self):
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "fifo")
        for name in "folder", "fifo", "/dev/null", "no/such", "new/":
            for force in [], ["-f"]:
                self.trouble("bfmerge", *force, name, "a", "b", names=[name])

    def test_standard_output_is_a_source(self):
        for words, stdin in (["a", "b"], b""), (["b", "-"], self.folder / "a"):
            with open(self.folder / "a", "ab") as same:
                stdin = stdin if isinstance(stdin, bytes) else open(stdin, "rb")
                message = self.trouble("bfmerge", "-", *words, stdin=stdin, stdout=same, out=None)
            self.assertIn("cannot write to standard output: it is one of the filters", message)
            if not isinstance(stdin, bytes):
                stdin.close()

    def test_full_disk(self):
        for mode in [], ["--intersect"]:
            message = self.trouble("bfmerge", *mode, "new", "a", "b", preexec_fn=lambda:
                                   resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)))
            self.assertEqual(message, "bfmerge: cannot create new: File too large\n")
        with open("/dev/full", "wb") as full:
            result = self.run_tool("bfmerge", "-", "a", "b", stdout=full, env={"TMPDIR": "/tmp"})
        self.assertEqual((result.returncode, result.stderr),
                         (2, b"bfmerge: cannot write to standard output, or to a temporary file in "
                             b"/tmp: No space left on device\n"))

    def test_full_file_system(self):
        script = """
            mount -t tmpfs -o size=8k none disk && cd disk || exit 77
            echo old >copy
            "$@" copy ../a ../b; status=$?
            ls -A >../left; cat copy >>../left
            exit $status"""
        (self.folder / "disk").mkdir()
        result = subprocess.run(
            [*NAMESPACE, "sh", "-c", script, "sh", *self.command("bfmerge", "-f")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=self.folder, env=self.environment(), timeout=TIMEOUT)
        if result.returncode not in (0, 2):
            self.skipTest("no file system can be mounted here")
        self.assertEqual((result.returncode, result.stderr),
                         (2, b"bfmerge: cannot create copy: No space left on device\n"))
        self.assertEqual(self.read("left"), b"copy\nold\n")

    def test_a_reader_that_goes_away(self):
        reader, writer = os.pipe()
        os.close(reader)
        result = self.run_tool("bfmerge", "-", "a", "b", stdout=writer)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr),
                         (2, b"bfmerge: cannot write the filter to standard output: Broken pipe\n"))

    def test_interrupted(self):
        for name in "large", "larger":
            self.create("-q", "-k", 5, "-m", 512 * 400_000, "-n", "9M", stdin=lines(*KEYS),
                        name=name)
        self.output("bfmerge", "-q", "new", "large", "larger")
        whole = self.read("new")
        statuses = set()
        for i in range(10):
            number = (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)[i % 3]
            self.write("new", b"old")
            process = self.start("bfmerge", "-q", "-f", "new", "large", "larger")
            time.sleep(0.02 * i)
            process.send_signal(number)
            process.wait(TIMEOUT)
            statuses.add(process.returncode)
            self.assertIn(process.returncode, (0, -number))
            self.assertIn(self.read("new"), [whole] if process.returncode == 0 else [b"old", whole])
            left = [name for name in self.snapshot() if not name.startswith(".bloomfile.")]
            self.assertEqual(left, ["a", "b", "large", "larger", "new"])
        self.assertGreater(len(statuses), 1)


class CommandLine(TroubleTest):
    def test_words(self):
        for words, says in ((["-Z", "new", "a"], "unknown"), ([], "DEST is missing"),
                            (["new"], "SRC is missing"), (["", "a"], "DEST is missing"),
                            (["--union", "--intersect", "new", "a"], "exclude"),
                            (["--project", "new", "a", "b"], "one SRC"),
                            (["--project", "new", "--files-from", "a"], "one SRC"),
                            (["--project", "--label", "x", "new", "a"], "keeps the label"),
                            (["--project", "--tag", "aa", "new", "a"], "keeps the label"),
                            (["--intersect", "-p", "0.1", "new", "a"], "--fpr is for unions"),
                            (["--intersect", "--disjoint", "new", "a"], "--disjoint is for unions"),
                            (["-0", "new", "a"], "needs --files-from")):
            message = self.trouble("bfmerge", *words)
            self.assertIn(says, message)
            self.assertIn("--help", message)

    def test_values(self):
        for value in "0", "1.5", "-1", "x", "", "nan":
            self.assertIn("--fpr", self.trouble("bfmerge", f"--fpr={value}", "new", "a"))
        for value in "", "a", "0g", "00" * 17:
            self.assertIn("--tag", self.trouble("bfmerge", f"--tag={value}", "new", "a"))
        self.assertIn("the label is not clean",
                      self.trouble("bfmerge", "--label", "a\nb", "new", "a"))


if __name__ == "__main__":
    main()
