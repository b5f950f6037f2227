# SPDX-License-Identifier: MIT
"""examples/mpi: a rank that fails or is killed, and what cannot be made."""

import contextlib
import os
import pathlib
import signal
import subprocess
import unittest

from distributed import INPUTS, N
from mpi_ranks import MpiTest, needs_mpi
from support import NAMESPACE, OLD, SANITIZED, TOOLS, UNPRIVILEGED, lines, main, needs, numbered

STOPPING_DISK = os.environ.get("STOPPING_DISK", "")
SHORTER_THAN_IT_SAYS = "/sys/kernel/mm/transparent_hugepage/enabled"  # 4096 bytes, of which few can be read
NO_ROOM = [*NAMESPACE, "sh", "-c", 'mount -t tmpfs -o size=1m none disk || exit 77; "$@"', "sh"]
LIMITED = ["sh", "-c", 'trap "" XFSZ; ulimit -f 800; exec "$@"', "sh"]  # files of at most 400 KiB
TEMPORARY = r"\./\.bfcreate_mpi\.[0-9a-f]{12}\.tmp"


@needs_mpi
class MpiTrouble(MpiTest):
    def contexts(self, *ranks, options=("-n", N)):
        """What runs ranks that differ: for each its options for mpirun, and its file of keys."""
        (first, keys), *others = ranks
        words = [*options, "filter", keys]
        for mpirun, keys in others:
            words += [":", "-n", 1, *mpirun, TOOLS["bfcreate_mpi"], *options, "filter", keys]
        return {"before": self.ranks(1, *first)}, words

    def ranks_fail(self, *ranks, options=("-n", N)):
        """One rank says why, and there is no file, or the old one."""
        before, words = self.contexts(*ranks, options=options)
        message = self.fails("bfcreate_mpi", *words, **before)
        self.assertEqual(message.count("bfcreate_mpi: "), 1, message)
        return message

    def test_one_rank_fails(self):
        """Its message, none from the others, and no file."""
        self.write("keys", INPUTS["many"])
        self.write("shorter", INPUTS["many"][:-1])
        for keys, says in (("missing", "rank 1: cannot open missing: No such file"),
                           (".", "rank 1: cannot open .: Is a directory"),
                           ("/dev/null", "rank 1: cannot open /dev/null: not a regular file"),
                           ("shorter", "rank 1: shorter has 123889 bytes here, but 123890 where")):
            for old in False, True:
                with self.subTest(keys, old=old):
                    if old:
                        self.write("filter", OLD)
                    message = self.ranks_fail(([], "keys"), ([], keys), ([], "keys"),
                                              options=["-f", "-n", N] if old else ["-n", N])
                    self.assertIn("bfcreate_mpi: " + says, message)
            (self.folder / "filter").unlink()

    @unittest.skipUnless(os.path.exists(SHORTER_THAN_IT_SAYS), "there is no such file here")
    def test_a_file_that_ends_too_early(self):
        """In the first of many rounds, and before them."""
        self.write("keys", (lines(*numbered(1000)))[:4095] + b"\n")
        for at in range(3):
            ranks = [([], SHORTER_THAN_IT_SAYS if i == at else "keys") for i in range(3)]
            message = self.ranks_fail(*ranks, options=["-n", N, "-b", 1])
            self.assertIn(f"bfcreate_mpi: rank {at}: cannot read {SHORTER_THAN_IT_SAYS}: ", message)

    def stopped(self, rank, at, how):
        """Of the calls by which that rank writes to disk, the one with that number fails, or kills it."""
        disk = ["-x", f"LD_PRELOAD={STOPPING_DISK}", "-x", f"STOPS_AT={at}", "-x", f"STOPS_BY={how}"]
        ranks = [(disk if i == rank else [], "keys") for i in range(3)]
        before, words = self.contexts(*ranks, options=["-f", "-n", N])
        result = self.run_tool("bfcreate_mpi", *words, **before)
        self.check_no_litter()
        self.assertNotEqual(result.returncode, 0)
        return result.stderr.decode()

    @unittest.skipIf(SANITIZED, "the sanitizer's library would have to come first")
    def test_a_disk_that_fails(self):
        """The old file stays, until the new one takes its place; a rank that is killed leaves nothing behind."""
        self.write("keys", INPUTS["many"])
        expected = self.serial("-n", N)
        for rank, at, says in ((0, 0, f"rank 0: cannot write {TEMPORARY}, which is to become filter: "),
                               (1, 0, f"rank 1: cannot write {TEMPORARY}, which is to become filter: "),
                               (0, 1, "rank 0: cannot create filter: Input/output error"),
                               (0, 2, "rank 0: cannot create filter: Input/output error"),
                               (0, 3, "rank 0: filter is in place, but perhaps not on disk: Input/output error")):
            for how in "fail", "kill":
                with self.subTest(rank=rank, at=at, how=how):
                    self.write("filter", OLD)
                    message = self.stopped(rank, at, how)
                    self.assertEqual(self.read("filter"), expected if at == 3 else OLD)
                    if how == "fail":
                        self.assertRegex(message, f"\\Abfcreate_mpi: {says}")

    def test_a_write_that_fails(self):
        """Of the last rank, whose part of the file lies beyond what it may write."""
        self.write("keys", INPUTS["many"])
        for old in False, True:
            if old:
                self.write("filter", OLD)
            before, words = self.contexts(([], "keys"), (LIMITED, "keys"), options=["-f", "-n", 400000])
            message = self.fails("bfcreate_mpi", *words, env={"OMPI_MCA_btl": "self,tcp"}, **before)
            self.assertRegex(message, f"bfcreate_mpi: rank 1: cannot write {TEMPORARY}, which is to become filter: ")
            self.assertEqual(message.count("bfcreate_mpi: "), 1, message)

    @needs(*NAMESPACE)
    def test_no_room(self):
        """For the file: before any key is read. For temporary files: when they are written."""
        (self.folder / "disk").mkdir()
        self.write("keys", lines(*numbered(300000)))
        if self.run_tool("bfcreate", "--version", before=NO_ROOM).returncode == 77:
            self.skipTest("no file system can be mounted here")
        self.assertIn("bfcreate_mpi: rank 0: cannot create disk/filter: No space left on device", self.fails(
            "bfcreate_mpi", "-n", 2000000, "disk/filter", "keys", before=[*NO_ROOM, *self.ranks(2)]))
        self.assertRegex(self.fails(
            "bfcreate_mpi", "-n", 300000, "-M", 1, "filter", "keys",
            before=[*NO_ROOM, *self.ranks(2, "-x", "TMPDIR=disk")]),
            "bfcreate_mpi: rank [01]: cannot keep digests in a temporary file in disk: No space left on device")
        self.assertRegex(self.fails(
            "bfcreate_mpi", "-n", 4000000, "filter", "keys", before=[*NO_ROOM, *self.ranks(2, "-x", "TMPDIR=disk")]),
            "bfcreate_mpi: rank [01]: cannot make a slice in a temporary file in disk: No space left on device")

    def trouble_of_all(self, *arguments, says, before=()):
        self.assertIn("bfcreate_mpi: rank 0: " + says,
                      self.fails("bfcreate_mpi", *arguments, before=[*before, *self.ranks(2)]))

    def test_destination(self):
        self.write("keys", INPUTS["many"])
        self.write("filter", OLD)
        self.trouble_of_all("-n", N, "filter", "keys", says="cannot create filter: File exists")
        self.write("shorter", INPUTS["many"][:-1])
        self.assertIn("cannot create filter: File exists",  # before any key is read
                      self.ranks_fail(([], "keys"), ([], "shorter")))
        self.assertEqual(self.mpi(2, "-f", "-n", N), self.serial("-n", N))
        for arguments in ["-n", N, "keys", "keys"], ["-f", "-n", N, "keys", "keys"]:
            self.trouble_of_all(*arguments, says="cannot create keys: it is the file to read keys from")
        self.trouble_of_all("-f", "-n", N, ".", "keys", says="cannot create .: Is a directory")
        self.trouble_of_all("-f", "-n", N, "/dev/null", "keys", says="cannot create /dev/null: not a regular file")
        self.trouble_of_all("-n", N, "none/filter", "keys", says="cannot create none/filter: No such")
        self.assertEqual(self.read("keys"), INPUTS["many"])
        self.write("none", b"")
        self.trouble_of_all("-f", "-n", N, "filter", "none", says="cannot replace filter: the input has no keys")

    def check_kept(self, name, says):
        """Not even -f replaces it, and all files are as they were."""
        before = {path: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        self.trouble_of_all("-f", "-n", N, name, "keys", says=f"cannot replace {name}: {says}")
        self.assertEqual({path: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}, before)

    def test_what_is_not_replaced(self):
        """As bfcreate -f: neither what is no filter, nor what others add to, nor a file of a series."""
        self.write("keys", INPUTS["many"])
        for text in b"precious\n" * 1000, b"few bytes":
            self.write("precious.txt", text)
            self.check_kept("precious.txt", "it is not a filter (write to another file)")
        for name, options in ("grows", ["--grow", "-n", 100]), ("forgets", ["--generations", 3, "--every", 100]):
            self.create_live(*options, name=name)
            self.output("bfadd", "-q", name, stdin=lines(*numbered(150)))
            for file in name, name + ".1":
                self.check_kept(file, "it is a file of a series, ")
        writer = self.start("bfadd", "-q", self.create_live("-n", N))
        self.feed(writer, "a key")
        self.until_read(writer)
        self.check_kept("live", "other programs have it open for writing, and the keys they add would be lost")
        self.assertEqual(self.result(writer, lines("another")), (0, b"", b""))
        self.assertEqual(self.query("live", stdin=lines("a key", "another", "third")), [b"a key", b"another"])

    def test_what_is_replaced(self):
        """As bfcreate -f: a live filter that nobody uses, a series of one file, what is empty or damaged."""
        self.write("keys", INPUTS["many"])
        expected = self.serial("-n", N)
        for name, make in (("live", lambda: self.create_live("-n", N, name="filter")),
                           ("series", lambda: self.create_live("-f", "--grow", "-n", N, name="filter")),
                           ("empty", lambda: self.write("filter", b"")),
                           ("damaged", lambda: self.write("filter", expected[:-1]))):
            with self.subTest(name):
                make()
                self.assertEqual(self.mpi(2, "-f", "-n", N), expected)

    @needs(*UNPRIVILEGED)
    def test_read_only_folder(self):
        self.write("keys", INPUTS["many"])
        folder = self.folder / "closed"
        folder.mkdir()
        folder.chmod(0o555)
        self.trouble_of_all("-n", N, "closed/filter", "keys", before=UNPRIVILEGED,
                            says="cannot create closed/filter: Permission denied")

    def test_wrong_use(self):
        self.write("keys", b"a\n")
        for arguments in (["-n", 10, "filter"], ["-n", 0, "filter", "keys"], ["-n", 10, "-l", "none", "filter", "keys"],
                          ["-n", "10x", "filter", "keys"], ["-n", 10, "-p", 1, "filter", "keys"],
                          ["-n", 10, "-b", 0, "filter", "keys"], ["-x", "filter", "keys"]):
            self.trouble_of_all(*arguments, says="the command line is wrong\nusage: mpirun")
        self.trouble_of_all("filter", "keys", says="give the capacity with -n: ")
        self.trouble_of_all("-n", 10**18, "-p", "1e-18", "filter", "keys", says="cannot make a filter for 10")
        for layout in "classic", "counting":
            self.trouble_of_all("-n", N, "-l", layout, "filter", "keys",
                                says=f"the layout {layout} has no slices: make a filter of each part of the keys with "
                                     f"bfcreate -l {layout} -n CAPACITY, and join them with bfmerge\n")
        self.trouble_of_all("-n", N, "-l", "ribbon", "filter", "keys",
                            says="the layout ribbon is built from all keys at once: use bfcreate -l ribbon, ")

    @staticmethod
    def ranks_of(process):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            children = [path.read_text() for path in pathlib.Path(f"/proc/{process.pid}/task").glob("*/children")]
            return list(map(int, " ".join(children).split()))
        return []

    def ended(self, process, expected):
        """It left no file, or the whole one."""
        self.result(process)
        if (self.folder / "filter").exists():
            self.assertEqual(self.read("filter"), expected)
            (self.folder / "filter").unlink()
        self.check_no_litter()

    def test_interrupted(self):
        """At any moment."""
        self.write("keys", INPUTS["many"] * (20 if SANITIZED else 100))
        expected = self.serial("-n", N)
        for i in range(6):
            process = self.start("bfcreate_mpi", "-n", N, "-b", 4000, "filter", "keys", before=self.ranks(2))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.25 * i)
            process.send_signal([signal.SIGINT, signal.SIGTERM][i % 2])
            self.ended(process, expected)

    def temporaries(self):
        return [name for name in os.listdir(self.folder) if name.startswith(".bfcreate_mpi.")]

    def test_a_rank_is_killed(self):
        """While digests are exchanged, and later: mpirun ends the others, and these remove the temporary."""
        self.write("keys", INPUTS["many"] * 20)
        expected = self.serial("-n", N)
        killed = 0
        for i in range(6):
            process = self.start("bfcreate_mpi", "-n", N, "-b", 400, "filter", "keys", before=self.ranks(3))
            self.until(lambda: self.temporaries() or process.poll() is not None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02 + 0.1 * (i // 3))
            ranks = self.ranks_of(process)
            if len(ranks) == 3:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(ranks[i % 3], signal.SIGKILL)
                    killed += 1
            self.ended(process, expected)
        self.assertGreater(killed, 0)


if __name__ == "__main__":
    main()
