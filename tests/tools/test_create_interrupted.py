# SPDX-License-Identifier: MIT
"""bfcreate stopped at any moment: the file is there whole, or as it was, and nothing else is."""

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import (OLD, SANITIZED, TIMEOUT, WITHOUT_PROC, ToolTest, lines, main, needs,
                     numbered)

KEYS = 200_000
ROUNDS = 10 if SANITIZED else 30
MANY, FEW_ROUNDS = 2_500_000, 10  # more than fit into 16 MiB
LAST = b"the last key, from a pipe\n"
OPTIONS = ["-q", "-m", "64M"]  # large enough that writing the file takes a while


def unnamed_temporaries(folder):
    """Whether a file can be without a name, so that a kill leaves nothing, and be given one by /proc."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
        return os.path.exists("/proc/self/fd")
    except OSError:
        return False


class Interrupted(ToolTest):
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
        self.random = random.Random(20261121)
        self.make_whole()

    def make_whole(self):
        self.whole = self.create(*OPTIONS, self.keys, "-", stdin=LAST, name="whole")
        (self.folder / "whole").unlink()

    def start(self, *arguments, before=(), **options):
        command = self.command("bfcreate", *self.options, *arguments, before=before)
        environment = self.environment()
        environment["ASAN_OPTIONS"] += ":detect_leaks=0"  # which a kill must not find at work
        return subprocess.Popen(command, cwd=self.folder, env=environment, **options)

    def begin(self, *arguments, **options):
        """One whose input ends when its stdin is closed."""
        process = self.start(*arguments, self.keys, "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, **options)
        process.stdin.write(LAST)
        process.stdin.flush()
        return process

    def finish(self, process):
        output, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual((output, errors), (b"", b""))
        return process.returncode

    def durations(self, **options):
        """Seconds that it takes to read, and to make the file of it, if nobody interrupts."""
        took = []
        for _ in range(3):
            started = time.monotonic()
            process = self.begin("-f", "whole", **options)
            self.until_read(process)
            has_read = time.monotonic()
            self.assertEqual(self.finish(process), 0)
            took.append((has_read - started, time.monotonic() - has_read))
        (self.folder / "whole").unlink()
        return [min(seconds) for seconds in zip(*took)]

    def interrupted(self, number, in_time, when, *arguments, **options):
        """The exit status of bfcreate when it gets this signal: before its input ends if `in_time`, otherwise so many
        seconds after that."""
        process = self.begin(*arguments, **options)
        if not in_time:
            self.until_read(process)
            process.stdin.close()
            process.stdin = None
        time.sleep(when)
        process.send_signal(number)
        if in_time:
            process.wait(TIMEOUT)
        status = self.finish(process)
        self.assertIn(status, [-number] if in_time else [0, -number])
        return status

    def new_file(self, *moment, **options):
        """One round without an old file."""
        status = self.interrupted(*moment, "new", **options)
        found = self.snapshot()
        if found:
            self.assertEqual(list(found), ["new"])
            self.assertEqual(self.read("new"), self.whole)
            (self.folder / "new").unlink()
        self.assertTrue(found or status)

    def old_file(self, *moment, leftover="none", **options):
        """One round that replaces an old file."""
        self.write("old", OLD)
        status = self.interrupted(*moment, "-f", "old", **options)
        found = [name for name in self.snapshot() if not re.fullmatch(leftover, name)]
        self.assertEqual(found, ["old"])
        self.assertIn(self.read("old"), [OLD, self.whole] if status else [self.whole])
        for path in self.folder.iterdir():
            path.unlink()

    def rounds(self, number, leftover="none", count=ROUNDS, **options):
        """Interrupts at random moments, half of them after the end of the input, when the file is written."""
        durations = self.durations(**options)
        for i in range(count // 2):
            for one_round, more in (self.new_file, {}), (self.old_file, {"leftover": leftover}):
                when = self.random.uniform(0, 1.1 * durations[i % 2])
                one_round(number, i % 2 == 0, when, **more, **options)

    def test_ctrl_c(self):
        self.rounds(signal.SIGINT)

    def test_terminate(self):
        self.rounds(signal.SIGTERM)

    def test_kill(self):
        if not unnamed_temporaries(self.folder):
            self.skipTest("this file system has no files without a name")
        # Between giving the new file a temporary name and renaming it over the old one, a kill
        # leaves that name.
        self.rounds(signal.SIGKILL, leftover=r"\.bloomfile\.[0-9a-f]+\.tmp")

    def test_with_threads_and_temporary_files(self):
        if not unnamed_temporaries(self.folder):
            self.skipTest("this file system has no files without a name")
        self.keys = os.path.join(self.folder.parent, self.folder.name + "-more")
        self.addCleanup(os.unlink, self.keys)
        with open(self.keys, "wb") as file:
            file.write(lines(*numbered(MANY)))
        self.options = [*OPTIONS, "-j3", "--memory", "16Mi"]
        self.make_whole()
        self.rounds(signal.SIGINT, count=FEW_ROUNDS)

    @unittest.skipIf(SANITIZED, "the sanitizer needs /proc")
    @needs(*WITHOUT_PROC)
    def test_files_that_need_a_name_from_the_start(self):
        self.rounds(signal.SIGINT, before=WITHOUT_PROC)
        self.rounds(signal.SIGTERM, before=WITHOUT_PROC)

    def test_stopped_and_continued(self):
        process = self.begin("new")
        process.stdin.close()
        process.stdin = None
        while process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.002)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.002)
        self.assertEqual(self.finish(process), 0)
        self.assertEqual(self.read("new"), self.whole)

    def test_while_waiting_for_keys(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL:
            process = self.start("new", stdin=subprocess.PIPE)
            process.stdin.write(lines("a", "b"))
            process.stdin.flush()
            self.until_read(process)
            process.send_signal(number)
            self.assertEqual(process.wait(TIMEOUT), -number)
            process.stdin.close()
            self.assertEqual(self.snapshot(), {})

    def test_several_at_once(self):
        """Racing for one name: one wins, and the others say so."""
        processes = [self.begin("new") for _ in range(4)]
        results = [(process.communicate(timeout=TIMEOUT)[1], process.returncode)
                   for process in processes]
        self.assertEqual(sorted(status for _, status in results), [0, 2, 2, 2])
        for message, status in results:
            if status == 2:
                self.check_message("bfcreate", message, "new", "File exists")
        self.assertEqual(list(self.snapshot()), ["new"])
        self.assertEqual(self.read("new"), self.whole)

    def test_readers_see_one_whole_file_after_another(self):
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
