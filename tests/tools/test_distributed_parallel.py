# SPDX-License-Identifier: MIT
"""examples/parallel: parts built by GNU parallel, here and on other hosts."""

import gzip
import os
import shutil
import subprocess
import unittest

from distributed import EXAMPLES, HEADER, INPUTS, POISONED, TOOL_FOLDER, Distributed, N
from support import OLD, TIMEOUT, TOOLS, lines, main, numbered

TOOLS["build.sh"] = str(EXAMPLES / "parallel" / "build.sh")
BFFOLD = os.path.join(TOOL_FOLDER, "bffold")

needs_parallel = unittest.skipUnless(shutil.which("parallel"), "needs GNU parallel (Debian: parallel)")

# Stands in for ssh: the "host" is a local shell.
SSH = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
echo "$1" >>"$HOSTS_USED"
shift
[ "$1" != -- ] || shift
exec sh -c "$*"
"""


@needs_parallel
class Parallel(Distributed):
    def test_body_equals_that_of_a_serial_build(self):
        self.check_each_input(lambda jobs, says: self.output(
            "build.sh", "-f", "-j", jobs, "filter", "keys", "-n", N, "--as-is", says=says))

    def test_options_reach_every_part(self):
        self.write("my keys", INPUTS["many"])
        for options in (["-m", 100003, "-k", 3, "-l", "classic"], ["-n", N, "-p", 0.1, "-s", 7],
                        ["-n", N, "--label", "the  label's"]):
            expected = self.create(*options, "my keys", name="serial")[HEADER:]
            self.output("build.sh", "-f", "-j", 3, "my filter", "my keys", *options)
            self.assertEqual(self.body("my filter"), expected)

    def test_number_of_lines_becomes_the_capacity(self):
        """The number of lines becomes the capacity."""
        for data, count in ((INPUTS["many"], N), (INPUTS["many"][:-1], N), (b"a", 1),
                            (INPUTS["twice the same"], 600)):
            self.write("keys", data)
            self.output("build.sh", "-f", "-j", 2, "filter", "keys", "-p", 0.001)
            self.assertEqual(self.body("filter"), self.serial("-n", count, "-p", 0.001))

    def test_too_large_a_filter_folds_to_a_serial_build(self):
        """A filter that is too large folds to the same file as a serial build of that size."""
        self.write("keys", INPUTS["many"])
        serial = self.serial("-n", 20 * N)
        self.output("build.sh", "-j", 3, "filter", "keys", "-n", 20 * N)
        self.assertEqual(self.body("filter"), serial)
        for name in "serial", "filter":
            subprocess.run([BFFOLD, "-q", name, name + ".folded"], cwd=self.folder, check=True,
                           env=self.environment(), timeout=TIMEOUT)
        self.assertEqual(self.body("filter.folded"), self.body("serial.folded"))
        self.assertLess(len(self.body("filter.folded")), len(serial) / 10)

    def test_parts_run_on_other_hosts(self):
        ssh = self.shim("fake-ssh", SSH)
        self.write("keys", INPUTS["many"])
        self.output("build.sh", "-S", "alpha,beta", "-j", 1, "filter", "keys", "-n", N,
                    "--label", "a 'label'",
                    env={"PARALLEL_SSH": ssh, "HOSTS_USED": str(self.folder / "hosts")})
        self.assertEqual(self.body("filter"), self.serial("-n", N))
        self.assertEqual(set(self.read("hosts").split()), {b"alpha", b"beta"})
        self.check_no_litter()

    def test_parallel_options_of_users_are_ignored(self):
        """They would drop lines: -n3 gives a job three arguments, and so on."""
        self.write("keys", INPUTS["many"])
        expected = self.serial("-n", N)
        (self.scratch / ".parallel").mkdir()
        for config, variable in ("", "-n3"), ("-n3\n", ""):
            (self.scratch / ".parallel/config").write_text(config)
            self.output("build.sh", "-f", "-j", 2, "filter", "keys", "-n", N, env={"PARALLEL": variable})
            self.assertEqual(self.body("filter"), expected)

    def test_messages_of_parts_are_printed_once(self):
        """Messages of bfcreate about the input, each printed once."""
        text = "\r\n".join(map(str, range(N))) + "\r\n"
        for keys in text.encode(), b"\xef\xbb\xbf" + INPUTS["many"], gzip.compress(text.encode()):
            self.write("keys", keys)
            serial = self.run_tool("bfcreate", "-q", "-n", N, "-f", "serial", stdin=keys)
            expected = serial.stderr.splitlines()
            self.assertEqual(len(expected), 1)
            result = self.run_tool("build.sh", "-f", "-j", 3, "filter", "keys", "-n", N)
            said = result.stderr.splitlines()
            self.assertEqual(result.returncode, serial.returncode, result)
            self.assertIn(expected[0], said)
            self.assertEqual(len(said), len(set(said)))
            self.check_no_litter()

    def test_file_names_that_look_like_options_work(self):
        self.write("-keys", INPUTS["many"][:-1])
        self.output("build.sh", "-j", 2, "--", "-filter", "-keys")
        os.rename(self.folder / "-keys", self.folder / "keys")
        self.assertEqual(self.body("-filter"), self.serial("-n", N))

    def test_failed_part_leaves_no_filter(self):
        self.shim("bfcreate", POISONED)
        for place in 0, N // 2, N:
            keys = numbered(N)
            keys.insert(place, b"poison")
            self.write("keys", lines(*keys))
            message = self.fails("build.sh", "-j", 3, "filter", "keys", "-n", N)
            self.assertEqual(message.count("bfcreate: poison in a part\n"), 1, message)
            self.assertTrue(message.endswith("build.sh: cannot create filter: a part failed\n"), message)

    def test_union_over_capacity_is_refused(self):
        """Each part is within the capacity, but the union is not."""
        self.write("keys", INPUTS["many"])
        message = self.fails("build.sh", "-j", 5, "filter", "keys", "-n", N // 4)
        self.assertTrue(message.startswith("bfmerge: "), message)

    def test_existing_file_needs_force(self):
        self.write("keys", INPUTS["many"])
        self.write("filter", OLD)
        self.trouble("build.sh", "filter", "keys", names=["filter: File exists (write to another file; -f would lose this one)"])
        self.output("build.sh", "-f", "-j", 2, "filter", "keys", "-n", N)
        self.assertEqual(self.body("filter"), self.serial("-n", N))

    def test_wrong_command_lines_are_refused(self):
        self.write("keys", b"a\n")
        os.mkfifo(self.folder / "pipe")
        for keys in ".", "/dev/null", "pipe", "missing":
            self.trouble("build.sh", "filter", keys, names=[keys])
        self.trouble("build.sh", "-f", "keys", "keys", names=["it is the file to read keys from"])
        os.symlink("keys", self.folder / "link")
        self.trouble("build.sh", "-f", "link", "keys", names=["it is the file to read keys from"])
        for word in ("-0", "-q0", "-Z0", "-x2", "-fx2", "-Zx2", "--null", "--nu", "--record-size=2",
                     "--rec=2", "--header", "--hea", "--live", "-vn3"):
            self.trouble("build.sh", "filter", "keys", word, names=["cannot be used here: " + word])
        self.fails("build.sh", "filter", "keys", "--nonsense")
        for arguments in [], ["filter"], ["-x", "filter", "keys"]:
            result = self.run_tool("build.sh", *arguments)
            self.assertEqual((result.returncode, result.stdout), (2, b""))
            self.assertIn(b"build.sh [-f]", result.stderr)

    def test_tables_and_csv_without_quoted_newlines_are_split(self):
        """Tables can be split. CSV can be split unless a newline stands in quotes, where a part might end."""
        rows = [b"%d\tkey %d\tx" % (i, i) for i in range(20_000)]
        self.write("table", b"\n".join(rows) + b"\n")
        self.output("build.sh", "-j", 4, "of-table", "table", "--field", 2)
        quoted = [b'%d,"key ""%d"", and more",x' % (i, i) for i in range(20_000)]
        self.write("csv", b"\n".join(quoted) + b"\n")
        self.output("build.sh", "-j", 4, "of-csv", "csv", "--csv", "--field", 2)
        for name, key in ("of-table", b"key %d"), ("of-csv", b'key "%d", and more'):
            keys = b"".join(key % i + b"\n" for i in range(20_000))
            self.output("bfquery", "--as-is", "-v", "-q", name, stdin=keys, status=1)
        quoted[15_000] = b'1,"key\n",x'
        self.write("csv", b"\n".join(quoted) + b"\n")
        self.trouble("build.sh", "again", "csv", "--csv", "--field", 2,
                     names=["line 15001 has an odd number of quotes, and a newline in quotes cannot be split"])
        self.assertFalse((self.folder / "again").exists())

    def test_signal_leaves_no_files(self):
        self.check_interrupted("build.sh", "-j", 2, "filter", "keys", "-n", N)


if __name__ == "__main__":
    main()
