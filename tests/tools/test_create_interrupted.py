# SPDX-License-Identifier: MIT
"""bfcreate stopped at each call that changes names or syncs: the file is complete or unchanged, with no other file left."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from support import (OLD, SANITIZED, TIMEOUT, WITHOUT_PROC, ToolTest, lines, main, needs,
                     numbered)

KEYS = 200_000
MANY = 2_500_000  # more than fit into 16 MiB
LAST = b"the last key, from a pipe\n"
OPTIONS = ["-q", "-m", "64M"]  # large enough that writing takes a while


def unnamed_temporaries(folder):
    """Whether files can be made without a name, so that a kill leaves nothing, and be named through /proc."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
        return os.path.exists("/proc/self/fd")
    except OSError:
        return False


class Created(ToolTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="bloomfile-keys-")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.keys = os.path.join(folder, "keys")
        with open(cls.keys, "wb") as file:
            file.write(lines(*numbered(KEYS)))

    def setUp(self):
        super().setUp()
        self.options = OPTIONS
        self.make_whole()

    def make_whole(self):
        self.whole = self.create(*OPTIONS, self.keys, "-", stdin=LAST, name="whole")
        (self.folder / "whole").unlink()

    def start(self, *arguments, before=(), env=None, **options):
        command = self.command("bfcreate", *self.options, *arguments, before=before)
        environment = self.environment(**(env or {}))
        environment["ASAN_OPTIONS"] += ":detect_leaks=0"  # a kill must not arrive while leaks are searched
        return subprocess.Popen(command, cwd=self.folder, env=environment, **options)

    def begin(self, *arguments, **options):
        """A bfcreate whose input ends when its stdin is closed."""
        process = self.start(*arguments, self.keys, "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **options)
        process.stdin.write(LAST)
        process.stdin.flush()
        return process

    def finish(self, process):
        output, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual((output, errors), (b"", b""))
        return process.returncode


@unittest.skipIf(SANITIZED, "the sanitizer comes first")
class Interrupted(Created):
    def interrupted_at(self, at, number, *arguments, **options):
        """The exit status of bfcreate after a signal before its call `at` that changes names or syncs. None if it makes
        fewer calls."""
        def start(**environment):
            process = self.begin(*arguments, env=environment, **options)
            process.stdin.close()
            process.stdin = None
            return process
        process = self.stopped_at(at, start)
        if process is None:
            return None
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        status = self.finish(process)
        self.assertIn(status, [0, -number])
        return status

    def interrupted_while_it_reads(self, number, *arguments, **options):
        process = self.begin(*arguments, **options)
        self.until_read(process)
        process.send_signal(number)
        self.assertEqual(process.wait(TIMEOUT), -number)
        return self.finish(process)

    def left(self, name, status, leftover):
        """Checks and removes the files that a round left. Returns whether the new file is complete."""
        found = [other for other in self.snapshot() if not re.fullmatch(leftover, other)]
        whole = found == [name] and self.read(name) == self.whole
        if not whole:
            self.assertNotIn(status, [0, None])
            self.assertEqual(found, [name] if name == "old" else [])
            if found:
                self.assertEqual(self.read(name), OLD)
        for path in self.folder.iterdir():
            path.unlink()
        return whole

    def rounds(self, number, leftover="none", **options):
        """Interrupts bfcreate at each call, and while it reads, with and without an old file."""
        for name, words in ("new", ["new"]), ("old", ["-f", "old"]):
            whole = set()
            for at in range(100):
                if name == "old":
                    self.write("old", OLD)
                status = self.interrupted_at(at, number, *words, **options)
                whole.add(self.left(name, status, leftover))
                if status is None:
                    break
            self.assertGreater(at, 1)
            # At these calls SIGINT and SIGTERM come too late: the file is completed.
            self.assertEqual(whole, {False, True} if number == signal.SIGKILL else {True})
            if name == "old":
                self.write("old", OLD)
            self.left(name, self.interrupted_while_it_reads(number, *words, **options), leftover)

    def test_sigint_leaves_the_old_file_or_the_new(self):
        self.rounds(signal.SIGINT)

    def test_sigterm_leaves_the_old_file_or_the_new(self):
        self.rounds(signal.SIGTERM)

    def test_sigkill_leaves_the_old_file_or_the_new(self):
        if not unnamed_temporaries(self.folder):
            self.skipTest("this file system has no files without a name")
        # Before the new file replaces the old file it has a temporary name for a moment. A kill in that moment leaves the
        # name.
        self.rounds(signal.SIGKILL, leftover=r"\.bloomfile\.[0-9a-f]+\.tmp")

    def test_signal_with_threads_leaves_no_temporary_files(self):
        if not unnamed_temporaries(self.folder):
            self.skipTest("this file system has no files without a name")
        self.keys = os.path.join(self.folder.parent, self.folder.name + "-more")
        self.addCleanup(os.unlink, self.keys)
        with open(self.keys, "wb") as file:
            file.write(lines(*numbered(MANY)))
        self.options = [*OPTIONS, "-j3", "--memory", "16Mi"]
        self.make_whole()
        self.rounds(signal.SIGINT)

    @needs(*WITHOUT_PROC)
    def test_signal_removes_named_temporary_files(self):
        self.rounds(signal.SIGINT, before=WITHOUT_PROC)
        self.rounds(signal.SIGTERM, before=WITHOUT_PROC)

    def test_stopped_and_continued_run_succeeds(self):
        for at in range(100):
            status = self.interrupted_at(at, signal.SIGCONT, "new")
            self.assertTrue(self.left("new", status, "none"))
            if status is None:
                break
        self.assertGreater(at, 1)


class Other(Created):
    def test_signal_while_waiting_for_keys_leaves_no_file(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL:
            process = self.start("new", stdin=subprocess.PIPE)
            self.write_to(process, lines("a", "b"))
            process.send_signal(number)
            self.assertEqual(process.wait(TIMEOUT), -number)
            process.stdin.close()
            self.assertEqual(self.snapshot(), {})

    def test_one_of_several_concurrent_creators_succeeds(self):
        """Several processes make the same name. The first succeeds, and the rest report that the file exists."""
        processes = [self.begin("new") for _ in range(4)]
        results = [(process.communicate(timeout=TIMEOUT)[1], process.returncode)
                   for process in processes]
        self.assertEqual(sorted(status for _, status in results), [0, 2, 2, 2])
        for message, status in results:
            if status == 2:
                self.check_message("bfcreate", message, "new", "File exists")
        self.assertEqual(list(self.snapshot()), ["new"])
        self.assertEqual(self.read("new"), self.whole)

    def test_readers_see_only_whole_files_during_replacements(self):
        self.output("bfcreate", "-q", "new", stdin=lines("always"))
        for _ in range(3):
            process = self.start("-f", "new", self.keys, "-", stdin=subprocess.PIPE)
            process.stdin.write(lines("always"))
            process.stdin.close()
            while process.poll() is None:
                self.assertEqual(self.query("--verify", "new", stdin=b"always\n"), [b"always"])
            self.assertEqual(process.returncode, 0)


if __name__ == "__main__":
    main()
