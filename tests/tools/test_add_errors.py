# SPDX-License-Identifier: MIT
"""bfadd: bad input, files of a machine that crashed, failing disks."""

import array
import fcntl
import gzip
import json
import os
import resource
import signal
import termios
import unittest

from support import (DISK_FAILED, GOLDEN, NAMESPACE, NO_MEMORY, SANITIZED, TIMEOUT, UNPRIVILEGED, ToolTest, craft,
                     lines, main, needs, numbered)

KEYS = numbered(300)
FAILING_DISK = {"LD_PRELOAD": os.environ.get("FAILING_DISK", ""), "DISK_FAILS": "disk-fails"}
UNCLEAN = ("cannot open live: the machine crashed, or a writer was killed during a sync (add the keys since the last"
           " sync again with bfadd --accept-unclean, or rebuild it)\n")


class TroubleTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.create_live("-n", 1000, "-p", "1e-9")
        self.write("keys", lines(*KEYS))


class CommandLine(TroubleTest):
    def test_invalid_options_are_refused(self):
        self.trouble("bfadd")
        for words in (["-Y"], ["--nonsense"], ["-x"], ["-x0"], ["-0", "-x4"], ["--crlf", "-0"],
                      ["--sync"], ["--sync", "0"], ["--sync", "-1"], ["--sync=x"], ["--sync="],
                      ["--sync", "1.5"], ["--remove", "--exact"], ["--remove", "--overfull"], ["--rescue"], ["--remove=1"]):
            self.assertIn("--help", self.trouble("bfadd", "live", *words, stdin=lines("a")))
        self.trouble("bfadd", "", stdin=lines("a"))

    def test_sealed_filter_is_refused(self):
        self.create("-q", "keys", name="sealed")
        self.write("embedded", (GOLDEN / "classic-embedded.bloom").read_bytes())
        for name, words in ("sealed", "sealed: it can no longer be changed"), ("embedded", "sealed"):
            self.assertIn(words, self.trouble("bfadd", name, "keys", names=[name]))

    @needs(*UNPRIVILEGED)
    def test_missing_permissions_are_reported(self):
        (self.folder / "live").chmod(0o444)
        self.assertIn("Permission denied", self.trouble("bfadd", "live", "keys", names=["live"],
                                                        before=UNPRIVILEGED))
        (self.folder / "live").chmod(0o644)
        self.folder.chmod(0o555)
        self.output("bfadd", "-q", "live", "keys", before=UNPRIVILEGED)
        self.assertEqual(self.query("live", "keys"), KEYS)

    def test_nothing_is_added_if_an_input_is_missing(self):
        (self.folder / "folder").mkdir()
        for bad in "no-such-file", "folder", "":
            self.trouble("bfadd", "live", "keys", bad, names=[bad])
            self.assertEqual(self.query("live", "keys", status=1), [])

    def test_input_with_an_error_does_not_stop_other_inputs(self):
        self.create_live("-f", "-x4", "-n", 1000, "-p", "1e-9")
        self.write("records", b"abcdefghij")
        message = self.trouble("bfadd", "-x4", "live", "records", "-", stdin=b"1234", changes=True,
                               names=["records"])
        self.assertIn("2 of 4 bytes", message)
        self.assertEqual(self.output("bfquery", "-x4", "live", stdin=b"abcdefgh12345678"),
                         b"abcdefgh1234")
        self.assertEqual(self.inspected("live")["verdict"], "live, clean")

    def test_full_or_closed_standard_output_does_not_matter(self):
        """bfadd writes nothing to standard output, so a full or closed output is not an error."""
        with open("/dev/full", "wb") as full:
            result = self.run_tool("bfadd", "-v", "live", stdin=lines("a"), stdout=full)
        self.assertEqual((result.returncode, result.stderr), (0, b"bfadd: live: 1 key, 1 new\n"))
        result = self.run_tool("bfadd", "-v", "live", stdin=lines("b"), stdout=None, stderr=None,
                               preexec_fn=lambda: (os.close(1), os.close(2)))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(self.query("live", stdin=lines("a", "b", "c")), [b"a", b"b"])
        self.assertEqual(self.inspected("live")["verdict"], "live, clean")

    def test_closed_standard_input_is_an_error(self):
        self.trouble("bfadd", "live", stdin=None, names=["standard input"], changes=True,
                     preexec_fn=lambda: os.close(0))

    @unittest.skipIf(SANITIZED, "the sanitizer reserves more addresses than that")
    def test_key_larger_than_memory_is_an_error(self):
        with open(self.folder / "one-long-key", "wb") as file:
            file.truncate(2**26)
        message = self.trouble("bfadd", "--as-is", "live", "one-long-key", names=["one-long-key"],
                               changes=True, preexec_fn=lambda:
                               resource.setrlimit(resource.RLIMIT_AS, (2**26, 2**26)))
        self.assertIn(NO_MEMORY, message)

    def test_control_characters_in_names_are_shown_harmlessly(self):
        for name in "\x1b[2J", "new\nline", "\udcff":
            self.trouble("bfadd", name, "keys")


class Unclean(TroubleTest):
    """A file that was open for writing during another boot."""

    def setUp(self):
        super().setUp()
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS[:100]))
        self.write("live", craft.edit(self.read("live"), record={"boot_id": bytes(range(16))}))

    def test_unclean_filter_is_refused(self):
        for tool in "bfadd", "bfquery", "bfseal":
            for words in [], ["copy"] if tool == "bfseal" else ["keys"]:
                message = self.trouble(tool, "live", *words, stdin=lines(*KEYS))
                self.assertEqual(message, f"{tool}: {UNCLEAN}")

    def test_accept_unclean_allows_queries_and_copies(self):
        self.assertEqual(self.query("--accept-unclean", "live", "keys"), KEYS[:100])
        self.output("bfseal", "--accept-unclean", "live", "copy")
        self.assertEqual(self.query("--verify", "copy", "keys"), KEYS[:100])
        self.trouble("bfquery", "live", "keys")

    def test_adding_with_accept_unclean_makes_the_file_clean(self):
        self.assertEqual(self.added("--accept-unclean", "live", "keys"),
                         b"300 keys, 200 new\n")
        report = self.inspected("live")
        self.assertEqual((report["verdict"], report["record"]["n_estimated"]),
                         ("live, clean", True))
        self.assertEqual(self.query("live", "keys"), KEYS)

    def test_file_remains_unclean_until_all_input_was_added(self):
        remains = "live remains unclean, because not all of the input was added"
        for words, data, says in ((["--field", 2], b"a\tb\nc\n", "has no field 2"), (["-x", 4], b"abcd", "holds text keys"),
                                  (["-Z"], gzip.compress(lines(*KEYS))[:50], "cut off"), (["--remove"], b"a\n", "not of the counting layout")):
            message = self.run_tool("bfadd", "--accept-unclean", "--sync", 1, *words, "live", stdin=data)
            self.assertEqual(message.returncode, 2)
            self.assertIn(says, message.stderr.decode())
            self.assertIs(remains in message.stderr.decode(), "--field" in words or "-Z" in words)
            self.assertEqual(self.trouble("bfquery", "live", "keys"), f"bfquery: {UNCLEAN}")
        for number in signal.SIGINT, signal.SIGKILL:
            writer = self.start("bfadd", "--accept-unclean", "--sync", 1, "live")
            self.feed(writer, *KEYS[:150])
            self.until(lambda: len(self.query("--accept-unclean", "live", "keys")) == 150, writer)
            writer.send_signal(number)
            writer.stdin.close()
            self.assertEqual(writer.wait(TIMEOUT), -number)
            self.assertEqual(self.trouble("bfquery", "live", "keys"), f"bfquery: {UNCLEAN}")

    def test_file_remains_unclean_without_descriptors(self):
        for most in range(4, 16):
            self.run_tool("bfadd", "--accept-unclean", "live", stdin=b"", preexec_fn=lambda most=most: resource.setrlimit(
                resource.RLIMIT_NOFILE, (most, most)))
            self.assertEqual(self.trouble("bfquery", "live", "keys"), f"bfquery: {UNCLEAN}")

    def test_file_remains_unclean_if_the_input_has_no_keys(self):
        remains = "bfadd: live remains unclean, because no key was read (add all keys since its last sync again)\n"
        self.write("empty", b"")
        for words in ["live"], ["live", "empty", "empty"], ["--header", "live"]:
            message = self.run_tool("bfadd", "--accept-unclean", "--watermark", "w", *words, stdin=b"head\n" if words[0] != "live" else b"")
            self.assertEqual((message.returncode, message.stderr.decode()), (2, remains), words)
            self.assertEqual(self.trouble("bfquery", "live", "keys"), f"bfquery: {UNCLEAN}")
        self.added("--accept-unclean", "live", "keys")
        self.assertEqual(self.output("bfadd", "--accept-unclean", "live"), b"")  # of a clean file

    def test_series_remains_unclean_if_the_input_has_no_keys(self):
        self.create_live("--grow", "-n", 100, name="series")
        self.write("old", self.read("series"))
        self.output("bfadd", "-q", "series", stdin=lines(*KEYS))
        for name in "series", "series.1", "old":
            if name == "old":  # from when it was the only layer
                self.write("series", self.read("old"))
            else:
                self.write(name, craft.edit(self.read(name), record={"boot_id": bytes(range(16))}, records=(0, 1)))
            self.assertEqual(self.run_tool("bfadd", "--accept-unclean", "series").returncode, 2)
            self.trouble("bfquery", "series", "keys", names=["series"])
            self.added("--accept-unclean", "series", "keys")
            self.assertEqual(self.query("series", "keys"), KEYS)

    def test_accept_unclean_allows_sealing_in_place(self):
        self.output("bfseal", "--accept-unclean", "live")
        self.assertEqual(self.query("--verify", "live", "keys"), KEYS[:100])


class Rescue(TroubleTest):
    def test_impossible_rescue_name_is_refused_at_the_start(self):
        self.create_live("--grow", "-n", 1000, name="series")
        for name, says in (("", "--rescue takes the name of a file"), ("no/such", "cannot create no/such in the folder no"),
                           ("live/such", "cannot create live/such"), ("new/", "Is a directory"),
                           ("series.1", "the series series needs that name")):
            self.assertIn(says, self.trouble("bfadd", "--rescue", name, "live", "keys"))


@unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
class FailingDisk(TroubleTest):
    """A disk that cannot be written, as failing_disk.c simulates it."""

    def failing_adder(self, *options):
        """A bfadd that has synced KEYS[:10] and added KEYS[10:13]. Its disk fails from now on."""
        writer = self.start("bfadd", "--sync", 10, *options, "live", env=FAILING_DISK)
        self.feed(writer, *KEYS[:13])
        self.wait_for_key("live", KEYS[12], writer)
        self.until(lambda: self.inspected("live")["record"]["n"] == 10)
        self.write("disk-fails", b"")
        return writer

    def test_failed_write_poisons_the_file(self):
        status, out, message = self.result(self.failing_adder(), lines(*KEYS[13:]))
        self.assertEqual((status, out), (2, b""))
        self.assertEqual(message, b"bfadd: cannot write live to disk: %s: rebuild it "
                                  b"from all its keys (next time, add --rescue NEWFILE to "
                                  b"save the filter in memory)\n" % DISK_FAILED.encode())
        (self.folder / "disk-fails").unlink()
        for tool, words in ("bfadd", ["keys"]), ("bfquery", ["keys"]), ("bfseal", []), (
                "bfadd", ["--accept-unclean", "keys"]):
            message = self.trouble(tool, "live", *words)
            self.assertIn("live: poisoned: a write to disk failed", message)
            self.assertIn("(rebuild it from its keys)", message)
        message = self.trouble("bfinspect", "-q", "live", names=["poisoned"])
        self.assertIn("rebuild it", message)

    def test_rescue_saves_all_added_keys(self):
        status, out, message = self.result(self.failing_adder("--rescue", "saved"))
        self.assertEqual((status, out), (2, b""))
        self.assertEqual(message, b"bfadd: cannot write live to disk: %s: rescued "
                                  b"to saved (add the keys since the last sync to it again "
                                  b"with bfadd --accept-unclean, including the last 3 of this run)\n"
                         % DISK_FAILED.encode())
        (self.folder / "disk-fails").unlink()
        self.assertEqual(self.query("--accept-unclean", "saved", "keys"), KEYS[:13])
        for words, before in ([], "unclean"), (["--accept-unclean"], "live, unclean"):
            self.assertEqual(self.inspected("saved", *words)["verdict"],
                             f"{before}: rescued from a file that could not be written to disk")
        self.assertEqual(self.added("--accept-unclean", "saved", stdin=lines(*KEYS[10:])),
                         b"290 keys, 287 new\n")
        self.assertEqual(self.inspected("saved")["verdict"], "live, clean")
        self.output("bfseal", "saved")
        self.assertEqual(self.query("--verify", "saved", "keys"), KEYS)
        self.assertEqual(sorted(self.snapshot()), ["keys", "live", "saved"])

    def test_message_counts_unread_keys_to_add_to_a_rescued_filter(self):
        writer = self.failing_adder("--rescue", "saved")
        message = self.result(writer, lines(*KEYS[13:]))[2]
        self.assertIn(b"rescued to saved (add the keys since the last sync to it again with bfadd --accept-unclean, "
                      b"including the last 10 of this run, and the rest of the input)", message)

    def test_failed_rescue_is_reported(self):
        self.assertIn("File exists", self.trouble("bfadd", "--rescue", "keys", "live",
                                                  stdin=lines("a"), names=["keys"]))
        (self.folder / "no").mkdir()
        writer = self.failing_adder("--rescue", "no/such")
        (self.folder / "no").rmdir()
        status, out, message = self.result(writer)
        self.assertEqual((status, out), (2, b""))
        self.assertEqual(message, b"bfadd: cannot write live to disk: %s: rebuild it "
                                  b"from all its keys; cannot rescue to no/such: No such file "
                                  b"or directory\n" % DISK_FAILED.encode())

    @staticmethod
    def has_read(process):
        """Whether a tool has read its input. Its filter is open by then."""
        waiting = array.array("i", [1])
        fcntl.ioctl(process.stdin, termios.FIONREAD, waiting)
        return waiting[0] == 0

    def test_every_process_with_the_file_open_reports_the_poison(self):
        reader, other = self.start("bfquery", "live"), self.start("bfadd", "live")
        self.feed(reader, KEYS[50])
        self.feed(other, KEYS[20])
        inspector = self.start("bfinspect", "--report", "-", "--keys", "-", "live")
        self.feed(inspector, KEYS[20])
        self.wait_for_key("live", KEYS[20], other)
        self.until(lambda: self.has_read(reader) and self.has_read(inspector))
        self.result(self.failing_adder())
        status, out, message = self.result(reader, lines(*KEYS[60:62]))
        self.assertEqual((status, out), (2, lines(*KEYS[60:62])))
        self.assertEqual(message, b"bfquery: live: a writer could not sync it; keys looked up since then were "
                                  b"treated as present\n")
        status, out, message = self.result(inspector, lines(*KEYS[60:62]))
        self.assertEqual(status, 2)
        self.assertEqual(json.loads(out)["error"], "BLOOMFILE_EPOISONED")
        self.assertIn(b"live: poisoned: a write to the disk failed, or damage was found; rebuild it", message)
        status, out, message = self.result(other, lines(*KEYS[21:23]))
        self.assertEqual((status, out), (2, b""))
        self.assertIn(b"cannot write live to disk: poisoned", message)

    def test_failed_write_during_a_seal_is_reported(self):
        self.output("bfadd", "-q", "live", "keys")
        self.write("disk-fails", b"")
        message = self.trouble("bfseal", "live", changes=True,
                               env={**FAILING_DISK, "DISK_WORKS": "2"})
        self.assertEqual(message, f"bfseal: cannot seal live: {DISK_FAILED} (rebuild it from all its keys)\n")
        self.assertIn("poisoned", self.trouble("bfquery", "live", "keys"))

    def test_disk_that_fails_from_the_start_is_reported(self):
        self.write("disk-fails", b"")
        for tool, words in ("bfadd", ["keys"]), ("bfseal", []):
            self.create_live("-f", "-n", 1000)
            message = self.trouble(tool, "live", *words, env=FAILING_DISK, changes=True)
            self.assertEqual(message, f"{tool}: cannot open live: {DISK_FAILED}\n")
            self.assertIn("poisoned", self.trouble("bfquery", "live", "keys"))


class SparseCopy(ToolTest):
    @needs(*NAMESPACE)
    def test_hole_on_a_full_disk_is_not_reported_as_a_truncated_file(self):
        self.create_live("-n", "1M")
        self.write("keys", lines(*numbered(200_000)))
        script = """
            mount -t tmpfs -o size=600k none disk || exit 77
            cp --sparse=always live disk/live || exit 77
            "$@" keys"""
        (self.folder / "disk").mkdir()
        for tool, *words in ("bfadd", "-q", "disk/live"), ("bfuniq", "-q", "--fixed", "--filter", "disk/live"):
            result = self.run_tool(tool, *words, before=[*NAMESPACE, "sh", "-c", script, "sh"])
            if result.returncode == 77:
                self.skipTest("no file system can be mounted here")
            self.assertEqual((result.returncode, result.stderr.decode()),
                             (2, f"{tool}: disk/live: its disk is full, and the file has holes that need room (make room,"
                                 " or copy it with 'cp --sparse=never')\n"))


if __name__ == "__main__":
    main()
