# SPDX-License-Identifier: MIT
"""A live file that is replaced or removed while programs add to it: they must not exit with 0."""

import contextlib
import fcntl
import itertools
import os
import re
import signal
import struct
import subprocess
import unittest

from support import SANITIZED, TIMEOUT, ToolTest, lines, main, numbered

KEYS = numbered(30)
ADVICE = ("live was replaced or removed while it was open for writing: add the {} keys of this run again, to the file that is there now (next time, add --rescue NEWFILE to save the filter in memory)\n")
NOT_AT_END = ADVICE.replace("this run again", "this run again, and the rest of the input")


def removed(test):
    os.unlink(test.folder / "live")


def renamed_over(test):
    test.create_live("-n", 100, name="other")
    os.rename(test.folder / "other", test.folder / "live")


def removed_and_made_anew(test):
    removed(test)
    test.create_live("-n", 1000, "-p", "1e-9")


CHANGES = removed, renamed_over, removed_and_made_anew


class ReplacedTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.create_live("-n", 1000, "-p", "1e-9")

    def adder(self, *options):
        """A bfadd that has added KEYS and waits for more."""
        writer = self.start("bfadd", "-v", *options, "live")
        self.feed(writer, *KEYS)
        self.wait_for_key("live", KEYS[-1], writer)
        return writer


class Adding(ReplacedTest):
    def test_bfadd_reports_a_replacement_at_the_end(self):
        for change in CHANGES:
            with self.subTest(change.__name__):
                self.create_live("-f", "-n", 1000, "-p", "1e-9")
                writer = self.adder()
                change(self)
                self.assertEqual(self.result(writer, lines("a", "b")),
                                 (2, b"", f"bfadd: {ADVICE.format(32)}".encode()))

    def test_bfadd_reports_a_replacement_at_the_next_sync(self):
        """It then stops reading, so it ends although its input does not."""
        for change in CHANGES:
            with self.subTest(change.__name__):
                self.create_live("-f", "-n", 1000, "-p", "1e-9")
                writer = self.adder("--sync", 10)
                change(self)
                with contextlib.suppress(BrokenPipeError):  # it may have ended
                    self.feed(writer, *numbered(10, "more "))
                self.assertEqual(writer.wait(TIMEOUT), 2)
                # The sync begun by the first 30 keys may be late and already detect the change.
                self.assertIn(writer.stderr.read().decode(), ["bfadd: " + NOT_AT_END.format(n) for n in (30, 40)])

    def test_added_keys_can_be_rescued(self):
        writer = self.adder("--rescue", "saved")
        renamed_over(self)
        status, out, message = self.result(writer, lines("a"))
        self.assertEqual((status, out), (2, b""))
        self.assertEqual(message, b"bfadd: live was replaced or removed while it was open for "
                                  b"writing: rescued to saved with all its keys (use that file, or "
                                  b"add the 31 keys of this run again, to the file that is there now)\n")
        self.assertEqual(self.inspected("saved")["verdict"], "live, clean")
        self.assertEqual(self.query("saved", stdin=lines(*KEYS, "a", "b")), [*KEYS, b"a"])

    def full(self, *options):
        """The message of an adder whose filter fills up after it was replaced and before its input ends."""
        self.create_live("-f", "-n", 100)
        writer = self.adder(*options)
        renamed_over(self)
        self.create_live("-f", "-n", 10000)
        status, out, message = self.result(writer, lines(*numbered(3000, "more ")))
        self.assertEqual((status, out), (2, b""))
        return message.decode()

    def test_message_counts_unread_keys_to_add_again(self):
        message = self.full()
        read = re.fullmatch("bfadd: " + re.escape(NOT_AT_END).replace(r"\{\}", "([0-9]+)"), message)[1]
        self.assertLess(int(read), 3030)

    def test_rescued_filter_has_no_unread_keys(self):
        message = self.full("--rescue", "saved")
        taken, read = re.search(
            r"rescued to saved after the first ([0-9]+) keys read \(use that file, and add the keys after them; or add the "
            r"([0-9]+) keys of this run again, and the rest of the input, to the file that is there now\)", message).groups()
        self.assertLess(int(taken), int(read))
        keys = [*KEYS, *numbered(3000, "more ")]
        self.output("bfadd", "-q", "--overfull", "saved", stdin=lines(*keys[int(taken):]))
        self.assertEqual(self.query("saved", stdin=lines(*keys)), keys)

    def test_a_signal_ends_the_input_early(self):
        writer = self.adder()
        renamed_over(self)
        writer.send_signal(signal.SIGINT)
        self.assertEqual(self.result(writer), (2, b"", f"bfadd: {NOT_AT_END.format(30)}".encode()))

    def test_message_counts_unread_keys_to_remove(self):
        self.create_live("-f", "-l", "counting", "-n", 1000)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        writer = self.start("bfadd", "--remove", "--sync", 10, "live")
        self.feed(writer, *KEYS[:5])
        self.until(lambda: not self.query_quietly(KEYS[4]), writer)
        renamed_over(self)
        self.assertIn(b"remove the 10 keys of this run again, and the rest of the input, from the file",
                      self.result(writer, lines(*KEYS[5:]))[2])

    def test_message_counts_keys_read_but_not_added(self):
        self.create_live("--grow", "-n", 50, name="series")
        writer = self.start("bfadd", "series")
        self.feed(writer, *numbered(40))
        self.wait_for_key("series", numbered(40)[-1], writer)
        (self.folder / "series").rename(self.folder / "moved")
        self.create_live("--grow", "-n", 50, name="series")
        status, _, message = self.result(writer, lines(*numbered(401, "more ")))  # in one read
        self.assertEqual(status, 2)
        self.assertIn(b"add the 441 keys of this run again", message)

    def test_replacement_during_a_removal_is_reported(self):
        self.create_live("-f", "-l", "counting", "-n", 1000)
        self.output("bfadd", "-q", "live", stdin=lines(*KEYS))
        writer = self.start("bfadd", "--remove", "live")
        self.feed(writer, *KEYS)
        self.until(lambda: not self.query_quietly(KEYS[-1]), writer)
        renamed_over(self)
        status, _, message = self.result(writer)
        self.assertEqual(status, 2)
        self.assertIn(b"remove the 30 keys of this run again, from the file that is there now", message)

    def query_quietly(self, key):
        return self.run_tool("bfquery", "-q", "live", stdin=lines(key)).returncode == 0


class Uniq(ReplacedTest):
    def uniq(self, *words):
        process = self.start("bfuniq", "--filter", *words)
        self.feed(process, b"a")
        self.assertEqual(process.stdout.readline(), b"a\n")
        return process

    def test_bfuniq_reports_a_replacement_at_the_end(self):
        for change in CHANGES:
            with self.subTest(change.__name__):
                self.create_live("-f", "-n", 1000, "-p", "1e-9")
                process = self.uniq("live")
                change(self)
                self.assertEqual(self.result(process, lines("b")), (
                    2, b"b\n", b"bfuniq: live was removed or replaced during the run, and its lines "
                               b"are lost: the next run prints them again\n"))

    def test_removed_newest_generation_is_reported_at_the_end(self):
        process = self.uniq("seen", "--generations", 2, "--every", 10)
        os.unlink(self.folder / "seen")
        status, out, message = self.result(process)
        self.assertEqual((status, out), (2, b""))
        self.check_message("bfuniq", message, "seen was removed or replaced during the run")

    def test_generation_replaced_by_another_process_is_not_an_error(self):
        """It is not an error if another process has replaced the generation."""
        words = ["seen", "--generations", 2, "--every", 10]
        process = self.uniq(*words)
        self.output("bfuniq", "--filter", *words, stdin=lines(*numbered(35)))
        self.assertEqual(self.result(process), (0, b"", b""))


class Sealing(ReplacedTest):
    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_bfseal_reports_the_file_that_was_not_sealed(self):
        message = self.trouble("bfseal", "live", changes=True,
                               env={"LD_PRELOAD": os.environ["FAILING_DISK"], "DISK_REMOVES": "live"})
        self.assertEqual(message, "bfseal: live was replaced or removed during sealing; the file at that path is not the sealed filter\n")
        self.assertFalse((self.folder / "live").exists())


class Replacing(ReplacedTest):
    """Tools that replace files refuse to replace a filter that programs add to."""

    def refused(self, tool, *words):
        self.assertEqual(
            self.trouble(tool, *words),
            f"{tool}: cannot replace live: other programs have it open for writing, and the keys they add would be lost (write to another file)\n")

    def test_a_live_filter_with_writers_is_not_replaced(self):
        self.create("-q", stdin=lines(*KEYS), name="sealed")
        self.write("keys", lines(*KEYS))
        writer = self.adder()
        self.refused("bfcreate", "-f", "live", "keys")
        self.refused("bfcreate", "-f", "--live", "-n", 100, "live")
        self.refused("bffold", "-f", "--factor", 1, "sealed", "live")
        self.refused("bfmerge", "-f", "live", "sealed")
        self.refused("bfseal", "-f", "sealed", "live")
        self.assertEqual(self.result(writer, lines("a")), (0, b"", b"bfadd: live: 31 keys, 31 new\n"))
        for tool, *words in (("bfcreate", "-f", "live", "keys"),
                             ("bfcreate", "-f", "--live", "--allow-empty", "-n", 100, "live"),
                             ("bfmerge", "-qf", "--discard", "live", "sealed")):
            self.output(tool, *words)

    def test_writer_that_joins_during_the_run_prevents_replacement(self):
        creator = self.start("bfcreate", "-f", "live")
        self.feed(creator, "a")
        writer = self.adder()
        status, _, message = self.result(creator)
        self.assertEqual(status, 2)
        self.assertIn(b"cannot replace live: other programs have it open for writing", message)
        self.assertEqual(self.result(writer), (0, b"", b"bfadd: live: 30 keys, 30 new\n"))

    def test_keys_added_during_the_run_prevent_replacement(self):
        """To the old file, or to a file that did not exist when the run began."""
        for name in "live", "late":
            creator = self.start("bfcreate", "-f", name)
            self.feed(creator, *numbered(30000))  # more than a pipe holds, so its checks are done
            if name == "late":
                self.create_live("-n", 100, name=name)
            self.output("bfadd", "-q", name, stdin=b"b\n")
            self.assertEqual(self.result(creator), (2, b"", f"bfcreate: cannot replace {name}: another process changed it during the run, "
                                                            "and the keys that it added would be lost (write to another file)\n".encode()))
            self.assertEqual(self.query(name, stdin=b"b\n"), [b"b"])

    def test_lock_of_another_program_on_a_live_filter_is_reported(self):
        self.create_live("-n", 100, name="free")
        self.write("keys", lines("a"))
        with open(self.folder / "free", "r+b") as file:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 1, 1, 0))
            self.assertEqual(self.trouble("bfcreate", "-f", "free", "keys"),
                             "bfcreate: cannot replace free: another process has locked it (try again later, or write to another file)\n")
        self.output("bfcreate", "-f", "free", "keys")

    def test_killed_writer_does_not_prevent_replacement(self):
        writer = self.adder()
        writer.kill()
        writer.wait()
        self.create_live("-f", "--allow-empty", "-n", 100)


@unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
class AddedWhileReplaced(ToolTest):
    """A program adds keys while bfcreate is stopped at a call. Not both exit with 0 unless the file has the keys."""

    WAYS = (["-q", "keys"], ["-q", "--embedded", "keys"], ["--live", "-n", 100], ["-q", "--slice", "1/1", "-n", 1000, "keys"])

    def setUp(self):
        super().setUp()
        self.write("keys", lines("a"))
        self.write("more", lines("b"))

    def check_keys_are_kept_or_reported(self, options, before, between, calls=None):
        for at in calls or itertools.count():
            (self.folder / "live").unlink(missing_ok=True)
            before()
            creator = self.stopped_at(at, lambda **env: self.start("bfcreate", "-f", "live", *options, env=env))
            if creator is None:
                return at
            between()
            adder = self.start("bfadd", "-q", "live", "more")
            with contextlib.suppress(subprocess.TimeoutExpired):  # it waits for the creator
                adder.wait(0.5)
            creator.send_signal(signal.SIGCONT)
            ends = [process.wait(TIMEOUT) for process in (creator, adder)]
            if ends == [0, 0]:
                self.assertEqual(self.query("live", stdin=lines("b")), [b"b"], (options, at))
            else:
                self.assertEqual(sorted(ends), [0, 2], (options, at))
            if ends[0] == 2:
                self.assertIn(b"another process changed it during the run", creator.stderr.read())
                self.assertEqual(self.query("live", stdin=lines("b")), [b"b"])

    def test_keys_added_to_the_old_file_are_kept_or_reported(self):
        for options in self.WAYS:
            self.assertGreater(self.check_keys_are_kept_or_reported(
                options, lambda: self.create_live("-n", 1000), lambda: None), 1, options)

    def test_keys_added_to_a_file_that_appears_are_kept_or_reported(self):
        def appear():
            if not (self.folder / "live").exists():
                self.create_live("-n", 1000)
        for options in self.WAYS:
            self.assertGreater(self.check_keys_are_kept_or_reported(options, lambda: None, appear), 1, options)

    def test_keys_added_to_a_live_file_that_replaces_a_sealed_file_are_kept(self):
        def appear():
            self.create_live("-n", 1000, name="other")
            os.rename(self.folder / "other", self.folder / "live")
        self.check_keys_are_kept_or_reported(self.WAYS[0], lambda: self.create("-q", "-f", stdin=lines("a"), name="live"),
                                             appear, [0])


@unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
class Together(ToolTest):
    """Two programs replace a filter that both have read. The first replaces it; the second fails and leaves its file."""

    def setUp(self):
        super().setUp()
        self.build("old", *KEYS)
        self.build("a", *KEYS, b"a")
        self.build("b", *KEYS, b"b")
        self.output("bfdelta", "old", "a", "patch")

    def build(self, name, *keys):
        self.create("-q", "-f", "-m", 5120, "-k", 5, stdin=lines(*keys), name=name)

    def stop_before(self, call, tool, *words, last=False):
        """The environment that stops a program before its first or last call of this kind."""
        disk = {"LD_PRELOAD": os.environ["STOPPING_DISK"]}
        self.write("all", self.read("old"))
        self.output(tool, *words, env={**disk, "STOPS_LOG": str(self.folder / "log")})
        calls = [line.split()[0] for line in self.read("log").decode().splitlines()]
        (self.folder / "log").unlink()
        (self.folder / "new").unlink(missing_ok=True)
        self.write("all", self.read("old"))
        at = len(calls) - 1 - calls[::-1].index(call) if last else calls.index(call)
        return disk | {"STOPS_AT": str(at), "STOPS_BY": "stop"}

    def stopped(self, call, tool, *words):
        return self.started(self.stop_before(call, tool, *words), tool, *words)

    def started(self, env, tool, *words):
        process = self.start(tool, *words, env=env)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return process

    def stopped_after_the_last_look(self, tool, *words):
        disk = {"LD_PRELOAD": os.environ["STOPPING_DISK"], "STOPS_BEFORE_RESULT": "1"}
        return self.started(disk, tool, *words)

    def go_on(self, process):
        process.send_signal(signal.SIGCONT)
        return self.result(process)

    WAYS = (["bfmerge", "-qf", "all", "all", "a"], ["bffold", "-qf", "--factor", 1, "all", "all"],
            ["bfdelta", "-q", "--apply", "-f", "all", "patch", "all"])

    def test_merge_keeps_the_result_of_a_concurrent_merge(self):
        for words in self.WAYS:
            with self.subTest(words[0]):
                process = self.stopped("fsync", *words)
                self.output("bfmerge", "-qf", "all", "all", "b")
                self.assertEqual(self.go_on(process), (
                    2, b"", f"{words[0]}: cannot replace all: another process replaced it during the run "
                            "(check the new file, then run it again)\n".encode()))
                self.assertEqual(self.query("all", stdin=lines("b", *KEYS)), [b"b", *KEYS])
                self.assertEqual(list(self.snapshot()), ["a", "all", "b", "old", "patch"])

    def test_the_remedy_keeps_the_keys_of_both(self):
        process = self.stopped("fsync", "bfmerge", "-qf", "all", "all", "a")
        self.output("bfmerge", "-qf", "all", "all", "b")
        self.assertEqual(self.go_on(process)[0], 2)
        self.output("bfmerge", "-qf", "all", "all", "a")
        self.assertEqual(self.query("all", stdin=lines("a", "b", *KEYS)), [b"a", b"b", *KEYS])

    def test_remedy_never_folds_a_filter_twice(self):
        """It does not drop the keys of the new file either."""
        for words in (["bffold", "-qf", "--factor", 2, "all", "all"], ["bffold", "-qf", "--discard", "--factor", 1, "a", "all"],
                      ["bfseal", "-qf", "--discard", "a", "all"]):
            with self.subTest(words=words):
                process = self.stopped("fsync", *words)
                self.output("bffold", "-qf", "--factor", 2, "all", "all")
                self.assertIn(b"another process replaced it during the run (check the new file, ", self.go_on(process)[2])
                self.assertEqual(self.query("all", stdin=lines(*KEYS)), KEYS)

    def test_rights_changed_during_the_run_are_kept(self):
        self.write("keys", lines("a"))
        for mode, words in (0o600, []), (0o640, ["--embedded"]):
            process = self.stopped("fsync", "bfcreate", "-qf", *words, "all", "keys")
            os.chmod(self.folder / "all", mode)
            self.assertEqual(self.go_on(process), (0, b"", b""))
            self.assertEqual(os.stat(self.folder / "all").st_mode & 0o777, mode)

    def test_removed_filter_is_not_recreated(self):
        process = self.stopped("fsync", "bfmerge", "-qf", "all", "all", "a")
        (self.folder / "all").unlink()
        self.assertIn(b"cannot replace all: another process removed it during the run (restore it if it is a source, "
                      b"then run it again)", self.go_on(process)[2])
        self.assertFalse((self.folder / "all").exists())

    def test_a_filter_that_appears_is_kept(self):
        process = self.stopped("fsync", "bfmerge", "-qf", "new", "a")
        self.build("new", b"b")
        self.assertIn(b"cannot replace new: another process replaced it", self.go_on(process)[2])
        self.assertEqual(self.query("new", stdin=lines("b")), [b"b"])

    def test_replacement_before_the_rename_is_detected(self):
        kind = subprocess.check_output(["stat", "-f", "-c", "%T", self.folder], text=True).strip()
        if kind in ("msdos", "fuseblk", "fuse", "nfs"):
            self.skipTest("replacing takes no lock on this file system (doc/portability.md)")
        waits = "bfmerge", "-qf", "all", "all", "b"
        at_fsync = self.stop_before("fsync", *waits)  # then it has read its sources
        for words in self.WAYS:
            with self.subTest(words[0]):
                first = self.stopped("rename", *words)
                second = self.started(at_fsync, *waits)
                second.send_signal(signal.SIGCONT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    second.wait(0.25)  # it waits for the first program, but at most a second
                self.assertEqual(self.go_on(first), (0, b"", b""))
                status, _, message = self.result(second)
                self.assertEqual(status, 2)
                self.check_message("bfmerge", message, "cannot replace all: another process ")

    EARLIER = (["bfmerge", "-qf", "dest", "a"], ["bfmerge", "-qf", "--intersect", "dest", "a"],
               ["bffold", "-qf", "--factor", 1, "a", "dest"], ["bfseal", "-qf", "a", "dest"],
               ["bfdelta", "-q", "--apply", "-f", "old", "patch", "dest"],
               ["bfseal", "-qf", "--project", "counts", "dest"])

    def test_filter_that_appears_after_the_comparison_is_kept(self):
        """The file at DEST has no keys, is missing, or is a link to the source. Then an unrelated filter gets its name."""
        self.create("-q", "-l", "counting", "-m", 30011, "-k", 5, stdin=lines(*KEYS), name="counts")
        for words in self.EARLIER:
            for before in "empty", "missing":
                for live in False, True:
                    with self.subTest(words=words, before=before, live=live):
                        (self.folder / "dest").unlink(missing_ok=True)
                        if before == "empty":
                            self.build("dest")
                        process = self.stopped_after_the_last_look(*words)
                        self.put_unrelated("dest", live)
                        status, out, message = self.go_on(process)
                        self.assertEqual((status, out), (2, b""))
                        self.assertIn(b"cannot replace dest: another process replaced it during the run", message)
                        self.assertEqual(self.query("dest", stdin=lines("unrelated")), [b"unrelated"])

    def test_filter_that_appears_during_a_comparison_is_not_replaced_by_the_patch(self):
        for before in b"", self.read("patch"), None:
            for live in False, True:
                with self.subTest(before=before, live=live):
                    (self.folder / "new").unlink(missing_ok=True)
                    if before is not None:
                        self.write("new", before)
                    process = self.stopped_after_the_last_look("bfdelta", "-q", "-f", "old", "a", "new")
                    self.put_unrelated("new", live)
                    self.assertEqual(self.go_on(process), (
                        2, b"", b"bfdelta: cannot replace new: another process replaced it during the run (check the new file, "
                                b"then run it again)\n"))
                    self.assertEqual(self.query("new", stdin=lines("unrelated")), [b"unrelated"])

    def test_filter_that_appears_is_not_replaced_by_an_image(self):
        disk = {"LD_PRELOAD": os.environ["STOPPING_DISK"], "STOPS_AT": "0", "STOPS_BY": "stop"}
        for before in b"<svg/>", None:
            for live in False, True:
                with self.subTest(before=before, live=live):
                    (self.folder / "new").unlink(missing_ok=True)
                    if before is not None:
                        self.write("new", before)
                    process = self.started(disk, "bfinspect", "-q", "--svg", "new", "-f", "old")
                    self.put_unrelated("new", live)
                    self.assertEqual(self.go_on(process), (
                        2, b"", b"bfinspect: cannot write new: another process created or changed it during the run (write to "
                                b"another file)\n"))
                    self.assertEqual(self.query("new", stdin=lines("unrelated")), [b"unrelated"])

    def test_source_replaced_under_another_name_is_kept(self):
        for words in (["bfmerge", "-qf", "link", "a"], ["bffold", "-qf", "--factor", 1, "a", "link"]):
            with self.subTest(words[0]):
                (self.folder / "link").unlink(missing_ok=True)
                os.link(self.folder / "a", self.folder / "link")
                process = self.stopped_after_the_last_look(*words)
                self.put_unrelated("link", False)
                self.assertIn(b"cannot replace link: another process replaced it", self.go_on(process)[2])
                self.assertEqual(self.query("link", stdin=lines("unrelated")), [b"unrelated"])

    def test_an_unchanged_file_is_replaced_after_the_comparison(self):
        self.create("-q", "-l", "counting", "-m", 30011, "-k", 5, stdin=lines(*KEYS), name="counts")
        for words in self.EARLIER:
            with self.subTest(words=words):
                self.build("dest")
                self.assertEqual(self.go_on(self.stopped_after_the_last_look(*words))[0], 0)
                self.assertEqual(self.query("dest", stdin=lines(*KEYS)), KEYS)

    def put_unrelated(self, name, live):
        if live:
            self.create_live("-f", "-n", 100, name="unrelated")
            self.output("bfadd", "-q", "unrelated", stdin=lines("unrelated"))
        else:
            self.build("unrelated", b"unrelated")
        os.rename(self.folder / "unrelated", self.folder / name)

    def test_filter_of_another_process_is_not_described_as_the_result(self):
        """It has more keys than were read, or fewer."""
        self.write("keys", lines(*KEYS))
        words = "bfcreate", "-q", "--report", "report", "-f", "all", "keys"
        for other in [b"b"], numbered(200):
            stops = self.stop_before("fsync", *words, last=True)
            (self.folder / "report").unlink()
            process = self.started(stops, *words)
            self.build("other", *other)
            os.rename(self.folder / "other", self.folder / "all")
            self.assertEqual(self.go_on(process), (
                2, b"", b"bfcreate: cannot describe all: it was created, and then another process replaced it (check the new "
                        b"file)\n"))
            self.assertFalse((self.folder / "report").exists())

    def test_rebuild_replaces_any_file(self):
        process = self.stopped("fsync", "bfcreate", "-qf", "all", "patch", "--as-is")
        self.output("bfmerge", "-qf", "all", "all", "b")
        self.assertEqual(self.go_on(process), (0, b"", b""))
        self.assertEqual(self.query("all", stdin=lines("b"), status=1), [])


if __name__ == "__main__":
    main()
