# SPDX-License-Identifier: MIT
"""examples/mpi: parts in the memory of MPI's ranks."""

import contextlib
import os
import signal
import subprocess
import unittest

from distributed import INPUTS, Distributed, N
from support import OLD, SANITIZED, TOOLS, UNPRIVILEGED, main, needs

TOOLS["bfcreate_mpi"] = os.environ.get("EXAMPLE_BFCREATE_MPI")

needs_mpi = unittest.skipUnless(TOOLS["bfcreate_mpi"], "built without MPI")


@needs_mpi
class Mpi(Distributed):
    PARTS = 2, 4

    def environment(self, locale="C.UTF-8", **more):
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # Open MPI's
        return super().environment(locale, HWLOC_HIDE_ERRORS="2", **{  # where there is no /sys
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_orte_execute_quiet": "1", "OMPI_MCA_plm": "isolated",  # no other host: it starts in half the time
            "ASAN_OPTIONS": sanitizer, **more})

    @staticmethod
    def ranks(count):
        return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(count)]

    def mpi(self, ranks, *arguments):
        """Makes "filter" of "keys" and checks that the summary is all that is said."""
        result = self.run_tool("bfcreate_mpi", *arguments, "filter", "keys", before=self.ranks(ranks))
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
        self.assertRegex(result.stderr, rb"\Abfcreate_mpi: filter: about \d+ keys, sized for \d+; "
                                        rb"false-positive rate \S+ %, \S+ % promised\n\Z")
        return self.body("filter")

    def test_same_body(self):
        self.check_each_input(lambda ranks, _: self.mpi(ranks, "-f", "-n", N))

    def test_options(self):
        self.write("keys", INPUTS["many"])
        for ranks, options in ((1, []), (3, ["-p", "0.001"]), (3, ["-l", "classic", "-p", "0.03"]),
                               (2, ["-s", "18446744073709551615"]), (2, ["-s", "0xfedcba9876543210"])):
            options = ["-n", 5003, *options]
            self.assertEqual(self.mpi(ranks, "-f", *options), self.serial(*options))

    def test_many_reductions(self):
        """A body is reduced piece by piece, whether or not the pieces divide it."""
        self.write("keys", INPUTS["many"])
        expected = self.serial("-n", N)
        for chunk in 1000, 64, len(expected) - 1, 2**31 - 1:
            self.assertEqual(self.mpi(3, "-f", "-c", chunk, "-n", N), expected)

    def test_every_cut(self):
        """Wherever the parts begin, each line belongs to one rank."""
        for size in range(12, 18):
            self.write("keys", b"ab\ncde\n\nfghijklmnopqr"[:size])
            self.assertEqual(self.mpi(5, "-f", "-n", 10), self.serial("-n", 10))

    def test_one_rank_fails(self):
        """Its message, none from the others, and no file."""
        self.write("keys", INPUTS["many"])
        self.write("shorter", INPUTS["many"][:-1])
        program = TOOLS["bfcreate_mpi"]
        for keys, says in (("missing", "rank 1: cannot open missing: No such file"),
                           (".", "rank 1: cannot open .: Is a directory"),
                           ("/dev/null", "rank 1: cannot open /dev/null: not a regular file"),
                           ("shorter", "rank 1: shorter has 123889 bytes here, but 123890 where")):
            with self.subTest(keys):
                message = self.fails("bfcreate_mpi", "-n", N, "filter", "keys", ":", "-n", 1, program,
                                     "-n", N, "filter", keys, ":", "-n", 1, program, "-n", N,
                                     "filter", "keys", before=self.ranks(1))
                self.assertIn("bfcreate_mpi: " + says, message)
                self.assertEqual(message.count("bfcreate_mpi: "), 1, message)

    def trouble_of_all(self, *arguments, says, before=()):
        self.assertIn("bfcreate_mpi: rank 0: " + says,
                      self.fails("bfcreate_mpi", *arguments, before=[*before, *self.ranks(2)]))

    def test_destination(self):
        self.write("keys", INPUTS["many"])
        self.write("filter", OLD)
        self.trouble_of_all("-n", N, "filter", "keys", says="cannot create filter: File exists")
        self.write("shorter", INPUTS["many"][:-1])
        self.assertIn("cannot create filter: File exists", self.fails(  # before any key is read
            "bfcreate_mpi", "-n", N, "filter", "keys", ":", "-n", 1, TOOLS["bfcreate_mpi"], "-n", N,
            "filter", "shorter", before=self.ranks(1)))
        self.assertEqual(self.mpi(2, "-f", "-n", N), self.serial("-n", N))
        for arguments in ["-n", N, "keys", "keys"], ["-f", "-n", N, "keys", "keys"]:
            self.trouble_of_all(*arguments, says="cannot create keys: it is the file to read keys from")
        self.trouble_of_all("-f", "-n", N, ".", "keys", says="cannot create .: Is a directory")
        self.trouble_of_all("-n", N, "none/filter", "keys", says="cannot create none/filter: No such")
        self.assertEqual(self.read("keys"), INPUTS["many"])

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
        for arguments in (["filter", "keys"], ["-n", 10, "filter"], ["-n", 0, "filter", "keys"],
                          ["-n", "10x", "filter", "keys"], ["-n", 10, "-p", 1, "filter", "keys"],
                          ["-n", 10, "-l", "counting", "filter", "keys"],
                          ["-n", 10, "-c", 2**31, "filter", "keys"], ["-x", "filter", "keys"]):
            self.trouble_of_all(*arguments, says="the command line is wrong\nusage: mpirun")

    def test_killed(self):
        """At any moment: no file, or the whole one."""
        self.write("keys", INPUTS["many"] * (20 if SANITIZED else 100))
        expected = self.serial("-n", N)
        for i in range(6):
            process = self.start("bfcreate_mpi", "-n", N, "filter", "keys", before=self.ranks(2))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.25 * i)
            process.send_signal([signal.SIGINT, signal.SIGTERM][i % 2])
            self.result(process)
            if (self.folder / "filter").exists():
                self.assertEqual(self.body("filter"), expected)
                (self.folder / "filter").unlink()
            self.check_no_litter()


if __name__ == "__main__":
    main()
