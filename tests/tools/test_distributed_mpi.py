# SPDX-License-Identifier: MIT
"""mpirun bfcreate --slice, the commands of doc/distributed.md: each rank builds a slice, and bfmerge joins them."""

import os
import re
import shutil
import unittest

from distributed import INPUTS, Distributed
from support import SOURCE_ROOT, TOOLS, lines, main, numbered

PAGE = (SOURCE_ROOT / "doc" / "distributed.md").read_text()
COMMANDS = re.search(r"\n## MPI\n\n((?: {4}.*\n)+)", PAGE)[1]
TOOLS["sh"] = "sh"
KEYS = 20000  # a filter of five pages, so at most five slices


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun (Debian: openmpi-bin)")
class Mpi(Distributed):
    def environment(self, locale="C.UTF-8", **more):
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # of Open MPI, which leaks
        return super().environment(locale, HWLOC_HIDE_ERRORS="2", **{  # without /sys it would warn
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_orte_execute_quiet": "1", "OMPI_MCA_plm": "isolated",  # no other hosts, which halves the time to start
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "ASAN_OPTIONS": sanitizer, **more})

    def build(self, ranks, **options):
        """Runs the commands of the page, in this folder and with other numbers."""
        script = COMMANDS.replace("-n 16", f"-n {ranks}").replace("10G", str(KEYS)).replace("/shared/", "")
        return self.run_tool("sh", "-c", script, **options)

    def check_same(self, ranks):
        expected = self.create("-q", "-n", KEYS, "keys", name="serial")
        result = self.build(ranks)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read("urls.bloom"), expected)
        for path in self.folder.glob("*.bloom"):
            path.unlink()

    def test_ranks_build_the_file_of_a_single_process(self):
        for name in "many", "any bytes", "a long line in the middle":
            self.write("urls.txt", INPUTS[name])
            self.write("keys", INPUTS[name])
            for ranks in 1, 2, 4:
                with self.subTest(name, ranks=ranks):
                    self.check_same(ranks)

    def test_failed_rank_leaves_no_filter(self):
        self.write("urls.txt", lines(*numbered(1000)))
        self.shim("bfcreate", """#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" != 1 ] || exit 2
exec "$REAL_BFCREATE" "$@"
""")
        result = self.build(3)
        self.assertNotEqual(result.returncode, 0)
        self.assertFalse((self.folder / "urls.bloom").exists())


if __name__ == "__main__":
    main()
