# SPDX-License-Identifier: MIT
"""What the tests of examples/mpi share."""

import os
import unittest

from distributed import Distributed
from support import TOOLS

TOOLS["bfcreate_mpi"] = os.environ.get("EXAMPLE_BFCREATE_MPI")

needs_mpi = unittest.skipUnless(TOOLS["bfcreate_mpi"], "built without MPI")


class MpiTest(Distributed):
    PARTS = 2, 4

    def environment(self, locale="C.UTF-8", **more):
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # Open MPI's
        return super().environment(locale, HWLOC_HIDE_ERRORS="2", **{  # where there is no /sys
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_orte_execute_quiet": "1", "OMPI_MCA_plm": "isolated",  # no other host: it starts in half the time
            "OMPI_MCA_btl": "^tcp",  # ranks of one host share memory; Open MPI 5 warns of networks it cannot use
            "ASAN_OPTIONS": sanitizer, **more})

    @staticmethod
    def ranks(count, *options):
        return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(count), *options]

    def mpi(self, ranks, *arguments, says=rb""):
        """Makes "filter" of "keys" and checks that the summary, and what follows it, is all that is said."""
        result = self.run_tool("bfcreate_mpi", *arguments, "filter", "keys", before=self.ranks(ranks))
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
        self.assertRegex(result.stderr, rb"\Abfcreate_mpi: filter: \d+ keys, sized for \d+; "
                                        rb"false-positive rate \S+%, target \S+%\n" + says + rb"\Z")
        return self.read("filter")

    def serial(self, *options):
        return self.create("-q", *options, "keys", name="serial")
