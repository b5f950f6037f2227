# SPDX-License-Identifier: MIT
"""A disk that fails at any write of a live file, including the last. The tool must not exit with 0, and no message may
report a finished change as undone. See failing_disk.c."""

import os
import signal
import unittest

from support import SANITIZED, ToolTest, lines, main, numbered

KEYS = numbered(300)
CALLS = 12  # more than any of these tools makes


@unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
class LastWrite(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("keys", lines(*KEYS))

    def runs(self, tool, *words, live=True, **options):
        """Yields the result of each call that may fail, and bfinspect's report about the file."""
        for works in range(CALLS):
            for name in "live", "saved":
                (self.folder / name).unlink(missing_ok=True)
            if live:
                self.create_live("-n", 1000, "-p", "1e-9")
            self.write("disk-fails", b"")
            result = self.run_tool(tool, *words, env={
                "LD_PRELOAD": os.environ["FAILING_DISK"], "DISK_FAILS": "disk-fails",
                "DISK_WORKS": str(works)}, **options)
            (self.folder / "disk-fails").unlink()
            if result.returncode != 0:
                self.check_message(tool, result.stderr, "live")
            yield result, self.inspected("live") if (self.folder / "live").exists() else None

    def check_statuses(self, results):
        """Early failures must be reported. Calls after the last one are not made, so the status is 0."""
        statuses = [result.returncode for result, _ in results]
        self.assertEqual((statuses[0], statuses[-1]), (2, 0), statuses)
        self.assertEqual(statuses, sorted(statuses, reverse=True))

    def test_bfadd_never_ends_with_0_and_leaves_a_poisoned_file(self):
        results = list(self.runs("bfadd", "live", "keys"))
        self.check_statuses(results)
        for result, report in results:
            good = report["verdict"] == "live, clean" and report["record"]["n"] == len(KEYS)
            self.assertEqual(result.returncode == 0, good, (result, report["verdict"]))
            if result.returncode != 0 and report["verdict"].startswith("poisoned") and (
                    b"cannot open" not in result.stderr):
                self.assertIn(b"next time, add --rescue NEWFILE", result.stderr)

    def test_keys_of_a_failed_last_write_can_be_rescued(self):
        rescued = 0
        for result, _ in self.runs("bfadd", "--rescue", "saved", "live", "keys"):
            if b"rescued to saved" in result.stderr:
                self.assertEqual(self.query("--accept-unclean", "saved", "keys"), KEYS)
                rescued += 1
        self.assertGreater(rescued, 0)

    def ask_while_a_writer_dies_in_a_sync(self, *options):
        """Status and output for a key that is not in the filter, and for the writer's keys."""
        self.create_live("-f", "-n", 1000, "-p", "1e-9")
        reader = self.start("bfquery", *options, "live")
        self.write_to(reader, b"str")
        self.write("disk-fails", b"")
        killed = self.run_tool("bfadd", "--sync", 10, "live", "keys", env={
            "LD_PRELOAD": os.environ["FAILING_DISK"], "DISK_FAILS": "disk-fails",
            "DISK_WORKS": "2", "DISK_KILLS": "1"})
        (self.folder / "disk-fails").unlink()
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        status, out, message = self.result(reader, lines("anger", *KEYS))
        self.check_message("bfquery", message, "live", "was killed during a sync", "--accept-unclean")
        return status, out

    def test_bfquery_reports_a_writer_that_died_in_a_sync(self):
        self.assertEqual(self.ask_while_a_writer_dies_in_a_sync()[0], 2)

    def test_key_is_never_reported_absent_after_a_writer_died_in_a_sync(self):
        """A key that may be present is still reported as possibly present."""
        self.assertEqual(self.ask_while_a_writer_dies_in_a_sync("-v", "-q"), (2, b""))
        self.assertEqual(self.ask_while_a_writer_dies_in_a_sync("-q"), (0, b""))

    def test_bfuniq_reports_a_failed_last_write(self):
        results = list(self.runs("bfuniq", "--filter", "live", "keys"))
        self.check_statuses(results)
        advised = 0
        for result, report in results:
            good = report["verdict"] == "live, clean" and report["record"]["n"] == len(KEYS)
            self.assertEqual(result.returncode == 0, good, (result, report["verdict"]))
            advised += b"name a new file; lines seen before are then printed again" in result.stderr
        self.assertGreater(advised, 0)

    def test_bfcreate_live_reports_a_failed_last_write(self):
        for result, report in self.runs("bfcreate", "--live", "-n", 1000, "live", live=False):
            good = report is not None and report["verdict"] == "live, clean"
            self.assertEqual(result.returncode == 0, good, result)

    def test_bfseal_reports_success_exactly_if_the_file_is_sealed(self):
        told = 0
        results = list(self.runs("bfseal", "-q", "live"))
        self.check_statuses(results)
        for result, report in results:
            if result.returncode == 0:
                self.assertEqual(report["record"]["state"], "sealed")
            elif report["record"]["state"] == "sealed" and report["error"] is None:
                self.assertIn(b"live is sealed, but the last write of its header failed",
                              result.stderr)
                self.assertNotIn(b"cannot seal", result.stderr)
                told += 1
            else:
                self.assertRegex(result.stderr, b"cannot (seal|open) live")
        self.assertGreater(told, 0)


if __name__ == "__main__":
    main()
