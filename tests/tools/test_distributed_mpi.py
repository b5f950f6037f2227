# SPDX-License-Identifier: MIT
"""examples/mpi: each rank makes a slice, and all write one file."""

import os
import re
import stat

from distributed import INPUTS, N
from mpi_ranks import MpiTest, needs_mpi
from support import OLD, lines, main


@needs_mpi
class Mpi(MpiTest):
    def test_same_file(self):
        """Header and all, whatever the keys are."""
        for name, data in INPUTS.items():
            self.write("keys", data)
            expected = self.serial("-n", N)
            says = b"" if data else b"bfcreate_mpi: filter: it has no keys, so every lookup returns no\n"
            for ranks in self.PARTS:
                with self.subTest(name, ranks=ranks):
                    (self.folder / "filter").unlink(missing_ok=True)
                    self.assertEqual(self.mpi(ranks, "-n", N, says=says), expected)
        self.check_no_litter()

    def test_options(self):
        """With more slices than ranks can be given one page, and with fewer."""
        self.write("keys", INPUTS["many"])
        for ranks, options in ((1, []), (3, ["-p", "0.001"]), (5, ["-n", 100003]), (9, ["-n", 30000]),
                               (2, ["-s", "18446744073709551615"]), (2, ["-s", "0xfedcba9876543210"])):
            options = ["-n", 5003, *options]
            with self.subTest(options):
                self.assertEqual(self.mpi(ranks, "-f", *options), self.serial(*options))

    def test_pieces(self):
        """A slice of more bytes than are written at once, and digests beyond the memory."""
        self.write("keys", INPUTS["many"])
        expected = self.serial("-n", "4M")
        for options in [], ["-M", 1]:
            self.assertEqual(self.mpi(3, "-f", *options, "-n", 4000000), expected)

    def rounds(self, *arguments):
        """How many there were, and the bytes that were sent."""
        result = self.run_tool("bfcreate_mpi", "-f", "-v", *arguments, "filter", "keys", before=self.ranks(3))
        self.assertEqual(result.returncode, 0, result.stderr)
        found = re.match(rb"bfcreate_mpi: (\d+) lines, (\d+) bytes sent .* in (\d+) rounds, \d+ KiB ", result.stderr)
        self.assertIsNotNone(found, result.stderr)
        count, sent, rounds = map(int, found.groups())
        self.assertEqual(count, len(self.read("keys").splitlines()))
        return rounds, sent

    def test_rounds(self):
        """A round moves no more than it may, even if all keys belong to one rank, as in a filter of one page."""
        self.write("keys", INPUTS["many"])
        headers, turn = 2 * 4096, 6 * 4
        for options in ["-n", N], ["-n", N, "-p", 0.1]:
            expected = self.serial(*options)
            rounds, sent = self.rounds(*options)
            self.assertEqual(rounds, 1)
            self.assertLessEqual(sent, 8 * N + turn + headers)
            few, sent = self.rounds(*options, "-b", 3 * 8 * 100)
            self.assertGreaterEqual(few, N / 3 / 300)
            self.assertLessEqual(few, N / 3 / 100 + 5)  # the ranks have as many bytes, not lines
            self.assertLessEqual(sent, 8 * N + few * turn + headers)
            self.assertEqual(self.read("filter"), expected)
        self.write("keys", INPUTS["many"][:3000])
        self.rounds("-n", N, "-b", 1)
        self.assertEqual(self.read("filter"), self.serial("-n", N))

    def test_frequent_keys(self):
        """Are sent once by each rank, and not lost, be they as frequent as they may; others that follow are sent."""
        self.write("keys", lines("the same") * N + lines("another", "the same", "another") * 10)
        expected = self.serial("-n", N)
        _, sent = self.rounds("-n", N, "-b", 1)
        self.assertLessEqual(sent, 8 * 4 + 3 * 6 * 4 + 2 * 4096)
        self.assertEqual(self.read("filter"), expected)
    def test_every_cut(self):
        """Wherever the parts begin, each line belongs to one rank."""
        for size in range(12, 18):
            self.write("keys", b"ab\ncde\n\nfghijklmnopqr"[:size])
            self.assertEqual(self.mpi(5, "-f", "-n", 10), self.serial("-n", 10))

    def test_overfull(self):
        """No file is made, and an old one stays, as bfcreate without --overfull does it."""
        self.write("keys", INPUTS["many"])
        self.write("filter", OLD)
        result = self.run_tool("bfcreate_mpi", "-f", "-n", 1000, "filter", "keys", before=self.ranks(2))
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"cannot create filter of 5000 keys: over capacity", result.stderr)
        self.assertEqual(self.read("filter"), OLD)

    def test_rights(self):
        """Those of the file that is replaced, behind a link or not; of a new one by the umask."""
        self.write("keys", INPUTS["many"])
        expected = self.serial("-n", N)
        for mode in 0o640, 0o604, 0o400:
            self.write("elsewhere", OLD)
            (self.folder / "elsewhere").chmod(mode)
            (self.folder / "filter").unlink(missing_ok=True)
            (self.folder / "filter").symlink_to("elsewhere")
            self.assertEqual(self.mpi(2, "-f", "-n", N), expected)
            self.assertTrue((self.folder / "filter").is_symlink())
            self.assertEqual(stat.S_IMODE((self.folder / "elsewhere").stat().st_mode), mode)
            (self.folder / "elsewhere").unlink()
        (self.folder / "filter").unlink()
        self.mpi(2, "-n", N)
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(stat.S_IMODE((self.folder / "filter").stat().st_mode), 0o666 & ~mask)


if __name__ == "__main__":
    main()
