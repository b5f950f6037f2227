# SPDX-License-Identifier: MIT
"""bfuniq stopped by a signal or by a reader that closes the pipe: every line marked as seen was printed, the filter is
closed properly, and the process dies by the signal."""

import os
import random
import signal
import subprocess
import threading
import unittest

from support import SANITIZED, TIMEOUT, lines, main, numbered
from terminal import Screen
from uniq import EXACT, UniqTest

SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
FILTER = ["--filter", "seen", "-p", "1e-12", "-n", "1M"]
COUNT = 50_000 if SANITIZED else 600_000


class Stopped(UniqTest):
    def stop(self, process, number):
        process.send_signal(number)
        out, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, errors), (-number, b""))
        return out

    def test_signal_ends_a_waiting_run_with_a_clean_file(self):
        for number in SIGNALS:
            for words in ["--filter", f"seen {number}", "-n", "1000"], ["-n", "1000"]:
                process = self.start(*words)
                self.take_turn(process, b"a", b"b")
                self.write_to(process, b"a part of a line")
                self.assertEqual(self.stop(process, number), b"")
            self.check_closed(f"seen {number}")
            self.assertEqual(self.uniq("--filter", f"seen {number}", stdin=lines(
                "a", "b", "a part of a line")), [b"a part of a line"])

    def test_interrupted_runs_print_each_line_once(self):
        """The lines printed before and in the next run are all lines, each once."""
        keys = numbered(COUNT)
        self.write("keys", lines(*keys))
        choose = random.Random(4)
        printed = []
        for i in range(9):
            number = SIGNALS[i % 3]
            reader, writer = os.pipe()  # the input does not end, so a signal never comes too late
            process = self.start(*FILTER, "keys", "-", stdin=reader)
            os.close(reader)
            timer = threading.Timer(choose.uniform(0.005, 0.1), process.send_signal, [number])
            timer.start()
            out, errors = process.communicate(timeout=TIMEOUT)
            os.close(writer)
            self.assertEqual((process.returncode, errors), (-number, b""))
            self.assertTrue(out == b"" or out.endswith(b"\n"))
            printed += out.split(b"\n")[:-1]
            if os.path.exists(self.folder / "seen"):
                self.check_closed()
        printed += self.uniq(*FILTER, "keys")
        self.assertEqual(len(printed), COUNT)
        self.assertEqual(sorted(printed), sorted(keys))

    def test_signal_between_two_inputs_skips_the_second(self):
        """The next input is not begun."""
        self.write("one", b"a\n")
        process = self.start("-", "one")
        self.take_turn(process, b"b")
        self.assertEqual(self.stop(process, signal.SIGINT), b"")

    def test_signal_prints_the_counts_so_far(self):
        process = self.start("-c")
        self.write_to(process, b"a\na\n")
        self.assertEqual(self.stop(process, signal.SIGINT), b"2 lines, 1 new, 1 repeated\n")

    def test_signal_leaves_clean_generations(self):
        process = self.start("--filter", "seen", "--generations", "2", "--every", "5")
        self.take_turn(process, *numbered(8))
        self.stop(process, signal.SIGTERM)
        for name in "seen", "seen.1":
            self.check_closed(name)

    def test_ignored_signals_stay_ignored(self):
        process = self.start(*FILTER, preexec_fn=lambda: signal.signal(signal.SIGHUP,
                                                                       signal.SIG_IGN))
        self.take_turn(process, b"a")
        process.send_signal(signal.SIGHUP)
        self.take_turn(process, b"b")
        self.assertEqual(self.finish(process), [])

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_a_second_signal_kills_after_a_second(self):
        """A process that cannot print can still be stopped."""
        self.write("keys", lines(*numbered(100_000)))
        self.write("clock", b"")
        clock = self.folder / "clock"
        os.utime(clock, (1000, 1000))
        process = self.start("keys", stdin=subprocess.DEVNULL,
                             env={"LD_PRELOAD": os.environ["SET_CLOCK"], "STEADY_CLOCK": str(clock)})
        self.until_it_writes(process)  # to a pipe that is not read
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            self.until_taken(process)
        self.assertIsNone(process.poll())
        os.utime(clock, (1002, 1002))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(TIMEOUT), -signal.SIGINT)


class Reader(UniqTest):
    def test_sigint_on_a_pipeline_leaves_a_clean_file(self):
        """The signal kills the reader too, so SIGPIPE comes second, while lines are being written."""
        self.write("keys", lines(*numbered(100_000)))
        process = self.start(*FILTER, "keys", stdin=subprocess.DEVNULL)
        self.until_it_writes(process)  # to a pipe that is not read
        process.send_signal(signal.SIGINT)
        self.until_taken(process)
        self.assertIsNone(process.poll())
        process.stdout.close()
        self.assertIn(process.wait(TIMEOUT), [-signal.SIGPIPE, -signal.SIGINT])
        self.assertEqual(process.stderr.read(), b"")
        self.check_closed()


    def go_away(self, **options):
        self.write("keys", lines(*numbered(COUNT)))
        process = self.start(*FILTER, "keys", stdin=subprocess.DEVNULL, **options)
        self.assertEqual(process.stdout.readline(), b"key 0\n")
        process.stdout.close()
        return process.wait(TIMEOUT), process.stderr.read()

    def test_closed_pipe_leaves_a_clean_file(self):
        self.assertEqual(self.go_away(), (-signal.SIGPIPE, b""))
        self.check_closed()
        again = self.uniq(*FILTER, "keys")
        self.assertTrue(0 < len(again) < COUNT)
        self.assertEqual(again, numbered(COUNT)[-len(again):])

    def test_closed_pipe_is_an_error_if_sigpipe_is_ignored(self):
        status, message = self.go_away(restore_signals=False)
        self.assertEqual(status, 2)
        self.check_message("bfuniq", message, "standard output", "Broken pipe")
        self.check_closed()

    def test_full_disk_leaves_a_clean_file(self):
        self.write("keys", lines(*numbered(COUNT)))
        with open("/dev/full", "wb") as full:
            result = self.run_tool("bfuniq", *FILTER, "keys", stdout=full)
        self.assertEqual(result.returncode, 2)
        self.check_message("bfuniq", result.stderr, "standard output", "No space left")
        self.check_closed()
        again = self.uniq(*FILTER, "keys")
        self.assertEqual(again, numbered(COUNT)[-len(again):])


class Progress(UniqTest):
    def seen_on_terminal(self, *words, stdout=subprocess.PIPE):
        self.write("keys", lines(*numbered(COUNT)))
        with Screen(80) as screen:
            result = self.run_tool("bfuniq", *words, "keys", stderr=screen.terminal,
                                   stdout=screen.terminal if stdout is None else stdout)
        self.assertEqual(result.returncode, 0)
        return screen.text

    def test_progress_is_shown_and_erased(self):
        seen = self.seen_on_terminal(*EXACT[:2], "-n", "1M")
        self.assertIn(b"M keys", seen)
        self.assertEqual(seen.split(b"\r")[-1], b"")

    def test_progress_is_not_shown_if_lines_go_to_the_terminal(self):
        self.assertEqual(self.seen_on_terminal(*EXACT[:2], "-n", "1M", stdout=None),
                         lines(*numbered(COUNT)))

    def test_quiet_shows_nothing(self):
        self.assertEqual(self.seen_on_terminal("-q", "--fixed", "--overfull", "-n", "100"), b"")


if __name__ == "__main__":
    main()
