# SPDX-License-Identifier: MIT
"""bfadd: counts and removals, several processes on one file, signals and kills."""

import contextlib
import fcntl
import os
import re
import signal
import struct
import subprocess

from support import SANITIZED, TIMEOUT, ToolTest, craft, lines, main, numbered, percent

KEYS = numbered(1000)
OTHERS = numbered(1000, "absent ")
MANY = 20_000 if SANITIZED else 200_000


class AddTest(ToolTest):
    def add(self, *arguments, **options):
        """The counts that bfadd -v prints."""
        return self.added(*arguments, **options).decode()

    @contextlib.contextmanager
    def locked(self, start, size):
        """Holds a lock on bytes of the file, as another process does."""
        lock = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, start, size, 0)
        with open(self.folder / "live", "r+b") as other:
            fcntl.fcntl(other, fcntl.F_OFD_SETLK, lock)
            yield


class Counts(AddTest):
    def test_new_and_present_keys_are_counted(self):
        self.create_live("-n", 5000, "-p", "1e-9")
        for keys, says in ((KEYS, "1000 keys, 1000 new\n"), (KEYS, "1000 keys, 0 new\n"),
                           (KEYS[:1], "1 key, 0 new\n"), (OTHERS[:1], "1 key, 1 new\n"),
                           (OTHERS[:3] * 2, "6 keys, 2 new\n"), ([], "0 keys, 0 new\n")):
            self.assertEqual(self.add("live", stdin=lines(*keys)), says)
        self.assertEqual(self.query("live", stdin=lines(*KEYS, *OTHERS)), KEYS + OTHERS[:3])
        self.assertEqual(self.inspected("live")["record"]["n"], 1003)

    def test_bits_equal_those_of_a_sealed_build(self):
        for layout in "blocked", "classic", "counting":
            options = ["-n", 1000, "-l", layout, "-s", 99]
            self.create_live("-f", *options)
            self.add("live", stdin=lines(*KEYS))
            sealed = self.create("-q", *options, stdin=lines(*KEYS))
            self.assertEqual(craft.body_of(self.read("live")), craft.body_of(sealed))

    def test_files_and_standard_input_are_read_in_order(self):
        self.create_live("-n", 5000, "-p", "1e-9")
        self.write("one", lines(*KEYS[:3])[:-1])
        self.write("two", lines(*KEYS[4:6]))
        self.assertEqual(self.add("live", "one", "-", "two", stdin=lines(KEYS[3])),
                         "6 keys, 6 new\n")
        self.assertEqual(self.query("live", stdin=lines(*KEYS)), KEYS[:6])
        self.assertEqual(self.add("live", "one", "one"), "6 keys, 0 new\n")

    def test_keys_of_any_bytes_and_size_are_added(self):
        keys = [b"", b"\0", b"a\0b", b"a\r", b"\xff\xfe", b"x" * 2**20, b"y" * 3_000_000, b"-q"]
        self.create_live("-n", 100, "-p", "1e-9")
        self.assertEqual(self.add("--as-is", "live", stdin=lines(*keys)), "8 keys, 8 new\n")
        others = [b"\0\0", b"a", b"a\0", b"x" * (2**20 - 1), b"\xfe\xff"]
        self.assertEqual(self.query("live", stdin=lines(*keys, *others)), keys)

    def test_null_option_ends_keys_with_zero_bytes(self):
        self.create_live("-0", "-n", 100, "-p", "1e-9")
        self.assertEqual(self.add("-0", "live", stdin=b"a\nb\0\0c"), "3 keys, 3 new\n")
        self.assertEqual(self.output("bfquery", "-0", "live", stdin=b"a\0a\nb\0\0c\0b\0"),
                         b"a\nb\0\0c\0")

    def test_record_size_option_splits_fixed_records(self):
        self.create_live("-x4", "-n", 100, "-p", "1e-9")
        records = b"".join(struct.pack("<I", 10 * i) for i in range(40))
        self.assertEqual(self.add("-x4", "live", stdin=records), "40 keys, 40 new\n")
        self.assertEqual(self.output("bfquery", "-x4", "live", stdin=b"abcd" + records), records)

    def test_crlf_option_removes_carriage_returns(self):
        self.create_live("--crlf", "-n", 100, "-p", "1e-9")
        self.assertEqual(self.add("--crlf", "live", stdin=b"a\r\nb\na\n"), "3 keys, 2 new\n")
        out = self.run_tool("bfquery", "live", stdin=b"a\nb\na\r\n").stdout
        self.assertEqual(out, b"a\nb\n")

    def test_quiet_prints_nothing(self):
        self.create_live("-n", 100)
        for options in ["-q"], ["--quiet"], ["-vq"]:
            self.output("bfadd", *options, "--overfull", "live", stdin=lines(*KEYS))

    def test_success_prints_nothing(self):
        """cron mails all output of a job."""
        self.create_live("-n", 1000)
        self.assertEqual(self.output("bfadd", "live", stdin=lines(*KEYS[:9])), b"")
        self.assertEqual(self.output("bfadd", "-qv", "live", stdin=b"", says=b"bfadd: live: 0 keys, 0 new\n"), b"")

    def test_adding_over_capacity_warns_of_the_actual_rate(self):
        """The warning states the actual rate."""
        self.create_live("-n", 400)
        self.assertEqual(self.add("live", stdin=lines(*KEYS[:400])), "400 keys, 399 new\n")
        result = self.run_tool("bfadd", "--overfull", "live", stdin=lines(*KEYS))
        self.assertEqual(result.returncode, 0)
        report = self.inspected("live")
        rate = report["measure"]["fpr"]
        self.assertEqual(result.stderr.decode(),
                         f"bfadd: warning: live: {report['record']['n']} keys, more than the capacity of "
                         f"400: the false-positive rate is {percent(rate)}, target 1%\n")
        self.assertGreater(rate, 0.02)

    def test_stream_over_capacity_is_warned_early_and_at_the_end(self):
        self.create_live("-n", 400)
        result = self.run_tool("bfadd", "--overfull", "--sync", 100, "live",
                               stdin=lines(*KEYS[:950]))
        keys = [int(number) for number in re.findall(rb"live: (\d+) keys, more", result.stderr)]
        self.assertEqual(keys[1:], [self.inspected("live")["record"]["n"]])
        self.assertTrue(400 < keys[0] <= 500, keys)


class Removing(AddTest):
    def setUp(self):
        super().setUp()
        self.create_live("-l", "counting", "-n", 5000, "-p", "1e-9")

    def remove(self, keys, status=0):
        return self.add("--remove", "live", stdin=lines(*keys), status=status)

    def test_removed_and_missing_keys_are_counted(self):
        self.add("live", stdin=lines(*KEYS))
        for keys, status, says in (
                (KEYS[:990] + OTHERS[:10], 1, "1000 keys, 990 removed, 10 were not found\n"),
                (KEYS[:1], 1, "1 key, 0 removed, 1 was not found\n"),
                (KEYS[990:993], 0, "3 keys, 3 removed, 0 were not found\n")):
            self.assertEqual(self.remove(keys, status), says)
        self.assertEqual(self.query("live", stdin=lines(*KEYS, *OTHERS)), KEYS[993:])
        report = self.inspected("live")
        self.assertEqual(report["record"]["n"], 7)
        self.assertEqual(report["record"]["ones"], report["measure"]["ones"])

    def test_removal_of_missing_keys_prints_nothing(self):
        for quiet in [], ["-q"]:
            self.assertEqual(self.output("bfadd", *quiet, "--remove", "live", stdin=lines(*OTHERS), status=1), b"")

    def test_key_stays_until_it_is_removed_as_often_as_added(self):
        self.add("live", stdin=lines(*KEYS[:1] * 3))
        self.remove(KEYS[:1] * 2)
        self.assertEqual(self.query("live", stdin=lines(KEYS[0])), KEYS[:1])
        self.remove(KEYS[:1])
        self.assertEqual(self.query("live", stdin=lines(KEYS[0]), status=1), [])
        self.remove(KEYS[:1], status=1)

    def test_saturated_counters_never_lose_a_key(self):
        self.add("live", stdin=lines(*KEYS[:1] * 20))
        self.assertEqual(self.remove(KEYS[:1] * 15), "15 keys, 15 removed, 0 were not found\n")
        self.assertEqual(self.query("live", stdin=lines(KEYS[0])), KEYS[:1])
        self.assertGreater(self.inspected("live")["record"]["overflow"], 0)
        self.remove(KEYS[:1] * 50)
        self.assertEqual(self.query("live", stdin=lines(KEYS[0])), KEYS[:1])

    def test_other_layouts_refuse_removal(self):
        for layout in "blocked", "classic":
            self.create_live("-f", "-n", 100, "-l", layout)
            self.add("live", stdin=lines("a"))
            message = self.trouble("bfadd", "--remove", "live", stdin=lines("a"), names=["live"],
                                   changes=True)
            self.assertIn("not of the counting layout (create it with bfcreate --live -l counting)", message)
            report = self.inspected("live")
            self.assertEqual((report["verdict"], report["record"]["n_estimated"]),
                             ("live, clean", False))
            self.assertEqual(self.query("live", stdin=lines("a")), [b"a"])


class Together(AddTest):
    """Several processes on one file."""

    def test_two_concurrent_processes_lose_no_key(self):
        keys = numbered(MANY)
        for layout in "blocked", "classic", "counting":
            with self.subTest(layout):
                self.create_live("-f", "-n", MANY, "-p", "1e-9", "-l", layout)
                writers = []
                for part in range(2):
                    self.write(f"keys {part}", lines(*keys[part::2]))
                    writers.append(self.start("bfadd", "-v", "live", f"keys {part}"))
                half = MANY // 2
                for writer in writers:
                    self.assertEqual(self.result(writer),
                                     (0, b"", b"bfadd: live: %d keys, %d new\n" % (half, half)))
                self.assertEqual(self.output("bfquery", "-c", "live", stdin=lines(*keys)),
                                 b"%d\n" % MANY)
                report = self.inspected("live")
                self.assertEqual(report["verdict"], "live, clean")
                self.assertEqual((report["record"]["n"], report["record"]["n_estimated"]),
                                 (MANY, False))
                self.assertEqual(report["record"]["ones"], report["measure"]["ones"])

    def test_exact_adders_count_each_key_once(self):
        count = MANY // 10
        self.write("keys", lines(*numbered(count)))
        self.create_live("-n", count, "-p", "1e-9")
        writers = [self.start("bfadd", "-v", "--exact", "live", "keys") for _ in range(3)]
        results = [self.result(writer) for writer in writers]
        self.assertEqual([(status, out) for status, out, _ in results], [(0, b"")] * 3)
        new = [int(re.fullmatch(rb"bfadd: live: %d keys, (\d+) new\n" % count, said)[1]) for _, _, said in results]
        self.assertEqual(sum(new), count)

    def test_exact_adders_take_turns(self):
        """An exact adder waits for another exact adder's lock. Other adders do not wait."""
        self.create_live("-n", 1000)
        with self.locked(64, 64):
            self.output("bfadd", "-q", "live", stdin=lines("a"))
            exact = self.start("bfadd", "-v", "--exact", "live")
            self.feed(exact, "b")
            with self.assertRaises(subprocess.TimeoutExpired):
                exact.wait(0.3)
            self.assertEqual(self.query("live", stdin=lines("a", "b")), [b"a"])
        self.assertEqual(self.result(exact), (0, b"", b"bfadd: live: 1 key, 1 new\n"))
        self.assertEqual(self.query("live", stdin=lines("a", "b")), [b"a", b"b"])

    def test_keys_are_visible_as_they_arrive(self):
        self.create_live("-n", 1000, "-p", "1e-9")
        writers = [self.start("bfadd", "-v", "live") for _ in range(2)]
        for i, key in enumerate(KEYS[:6]):
            self.feed(writers[i % 2], key)
            self.wait_for_key("live", key, writers[i % 2])
        report = self.inspected("live")
        self.assertEqual(report["verdict"], "live: open for writing by 2 programs")
        self.assertEqual(report["live"], {"in_use": True, "unclean": False})
        for writer in writers:
            self.assertEqual(self.result(writer), (0, b"", b"bfadd: live: 3 keys, 3 new\n"))

    def test_sync_option_commits_periodically(self):
        for words, count, committed in (["--sync", 10], 25, 20), (["--sync", "1k"], 1500, 1000), (
                [], 1500, 0):
            self.create_live("-f", "-n", 9000, "-p", "1e-9")
            keys = numbered(count)
            writer = self.start("bfadd", "-v", *words, "live")
            self.feed(writer, *keys)
            self.wait_for_key("live", keys[-1], writer)
            self.assertEqual(self.inspected("live")["record"]["n"], committed)
            self.assertEqual(self.result(writer), (0, b"", b"bfadd: live: %d keys, %d new\n" % (count, count)))
            self.assertEqual(self.inspected("live")["record"]["n"], count)

    def test_watermark_is_recorded_once_all_keys_are_added(self):
        def shown():
            text = self.output("bfinspect", "live")
            return re.findall(rb"^  watermark +(.*)$", text, re.M)
        self.create_live("-n", 9000)
        self.assertEqual(shown(), [])
        self.output("bfadd", "-q", "--watermark", "block 19442107", "live", stdin=lines(*numbered(10)))
        self.assertEqual(shown(), [b"block 19442107"])
        self.output("bfadd", "-q", "--sync", 10, "live", stdin=lines(*numbered(50)))
        self.assertEqual(shown(), [b"block 19442107"])
        self.write("keys", lines(*numbered(10, "other ")))
        os.mkdir(self.folder / "folder")  # can be opened, but not read
        result = self.run_tool("bfadd", "-q", "--watermark", "block 2", "live", "keys", "folder")
        self.assertEqual((result.returncode, shown()), (2, [b"block 19442107"]))
        full = "é" * 16
        self.output("bfadd", "-q", "--watermark", full, "live", stdin=b"key\n")
        empty = self.run_tool("bfadd", "-q", "--watermark", "block 3", "live", stdin=b"")
        self.assertIn(b"has no keys, so the watermark is not recorded", empty.stderr)
        self.assertEqual(self.inspected("live")["record"]["watermark"], full.encode().hex())
        for text in full + "x", "caf\udce9", "two\nlines":
            self.trouble("bfadd", "--watermark", text, "live", stdin=b"", names=["up to 32 bytes of UTF-8"])
        self.output("bfseal", "-q", "live")
        self.assertEqual(self.inspected("live")["record"]["watermark"], full.encode().hex())


class Stopped(AddTest):
    def setUp(self):
        super().setUp()
        self.create_live("-n", MANY, "-p", "1e-9")

    def waiting(self):
        """A bfadd that has added KEYS[:3] and waits for more."""
        writer = self.start("bfadd", "-v", "live")
        self.feed(writer, *KEYS[:3])
        self.wait_for_key("live", KEYS[2], writer)
        return writer

    def test_kill_needs_no_recovery(self):
        writer = self.waiting()
        writer.kill()
        writer.wait(TIMEOUT)
        self.assertEqual(self.inspected("live")["verdict"], "live: its last writer was killed")
        self.assertEqual(self.query("live", stdin=lines(*KEYS[:5])), KEYS[:3])
        self.assertEqual(self.add("live", stdin=lines(*KEYS[:5])), "5 keys, 2 new\n")
        report = self.inspected("live")
        self.assertEqual((report["verdict"], report["record"]["n_estimated"]),
                         ("live, clean", True))

    def killed_with(self, capacity, keys):
        self.create_live("-f", "-n", capacity)
        self.write("keys", lines(*keys))
        writer = self.start("bfadd", "--overfull", "live")
        self.feed(writer, *keys)  # any of them may be a false positive before it is added
        self.until(lambda: self.run_tool("bfquery", "-c", "live", "keys").stdout == b"%d\n" % len(keys), writer)
        writer.kill()
        writer.wait(TIMEOUT)

    def test_over_capacity_is_detected_after_the_counting_writer_was_killed(self):
        self.killed_with(500, numbered(1500))
        message = self.run_tool("bfadd", "-q", "live").stderr
        self.assertEqual(message, b"")
        message = self.run_tool("bfadd", "live").stderr.decode()
        self.assertRegex(message, "^bfadd: warning: live: about 1[45][0-9][0-9] keys, more than the capacity "
                                  "of 500: the false-positive rate is [0-9.]+%, target 1%\n$")
        self.assertRegex(self.inspected("live")["verdict"], "; too many keys: 1,[45][0-9][0-9] in ")

    def test_saturated_filter_is_reported_after_its_writer_was_killed(self):
        self.killed_with(50, numbered(10_000))
        message = self.run_tool("bfseal", "live").stderr.decode()
        keys = re.match("bfseal: warning: live: about ([0-9]+) keys, more than the capacity of 50: "
                        "the false-positive rate is 100%, target 1%\n$", message)
        self.assertGreater(int(keys[1]), 300)

    def test_filter_of_a_killed_writer_is_not_replaced_by_an_empty_filter(self):
        self.killed_with(500, numbered(100))
        self.assertIn("cannot replace live: its keys would be lost", self.trouble("bfcreate", "-f", "live"))

    def test_writer_of_an_overwritten_file_advises_to_rebuild_it(self):
        before = self.read("live")
        self.add("live", stdin=lines(*KEYS[:5]))
        writer = self.start("bfadd", "live")
        self.feed(writer, KEYS[9])
        self.wait_for_key("live", KEYS[9])
        self.write("live", before)
        _, message = writer.communicate(timeout=TIMEOUT)
        self.assertEqual(writer.returncode, 2)
        self.check_message("bfadd", message, "overwritten while it was open for writing", "rebuild it from all its keys")

    def test_closed_standard_error_leaves_a_clean_file(self):
        writer = self.start("bfadd", "-v", "live")
        writer.stderr.close()
        self.feed(writer, *KEYS[:3])
        writer.stdin.close()
        self.assertEqual(writer.wait(TIMEOUT), -signal.SIGPIPE)
        self.assertEqual(writer.stdout.read(), b"")
        self.assertEqual(self.inspected("live")["verdict"], "live, clean")
        self.assertEqual(self.query("live", stdin=lines(*KEYS[:5])), KEYS[:3])

    def test_killed_writer_leaves_the_first_keys_it_read(self):
        keys = numbered(MANY)
        self.write("keys", lines(*keys))
        writer = self.start("bfadd", "--sync", 5000, "live", "keys", "-")
        self.wait_for_key("live", keys[MANY // 4])
        writer.kill()
        writer.wait(TIMEOUT)
        unclean = ["--accept-unclean"]  # needed if the kill came during a sync
        seen = self.query(*unclean, "live", "keys")
        self.assertGreater(len(seen), MANY // 4)
        self.assertEqual(seen, keys[:len(seen)])
        self.output("bfseal", *unclean, "live")
        self.output("bfinspect", "-q", "--verify", "live")
        self.assertEqual(self.query("live", "keys"), seen)

    def test_signal_ends_the_run_with_a_clean_file(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            self.create_live("-f", "-n", 1000, "-p", "1e-9")
            writer = self.waiting()
            writer.send_signal(number)
            self.assertEqual(writer.wait(TIMEOUT), -number)
            self.assertEqual((writer.stdout.read(), writer.stderr.read()),
                             (b"", b"bfadd: live: 3 keys, 3 new\n"))
            report = self.inspected("live")
            self.assertEqual((report["verdict"], report["record"]["n"]), ("live, clean", 3))

    def test_count_matches_the_file_after_a_signal(self):
        """The reported counts match the keys in the file."""
        keys = numbered(MANY)
        self.write("keys", lines(*keys))
        for number in (signal.SIGINT, signal.SIGTERM) * 3:
            self.create_live("-f", "-n", MANY, "-p", "1e-9")
            writer = self.start("bfadd", "-v", "live", "keys", "-")
            self.wait_for_key("live", keys[10])
            writer.send_signal(number)
            self.assertEqual(writer.wait(TIMEOUT), -number)
            added = int(re.fullmatch(rb"bfadd: live: (\d+) keys, \1 new\n", writer.stderr.read())[1])
            self.assertEqual(self.query("live", "keys"), keys[:added])
            report = self.inspected("live")
            self.assertEqual((report["verdict"], report["record"]["n"]), ("live, clean", added))

    def test_second_signal_ends_immediately(self):
        writer = self.waiting()
        with self.locked(1, 1):  # the lock of the commit records, so a sync cannot finish
            writer.send_signal(signal.SIGINT)
            with self.assertRaises(subprocess.TimeoutExpired):
                writer.wait(1.2)
            writer.send_signal(signal.SIGTERM)
            self.assertEqual(writer.wait(TIMEOUT), -signal.SIGTERM)
        self.assertEqual(writer.stderr.read(), b"")
        self.assertEqual(self.query("live", stdin=lines(*KEYS[:5])), KEYS[:3])

    def test_repeated_signal_of_timeout_does_not_kill(self):
        """timeout(1) signals the child, and then the group that the child is in."""
        writer = self.waiting()
        with self.locked(1, 1):
            for _ in range(3):
                writer.send_signal(signal.SIGTERM)
                with self.assertRaises(subprocess.TimeoutExpired):
                    writer.wait(0.1)
        self.assertEqual(writer.wait(TIMEOUT), -signal.SIGTERM)
        self.assertEqual(writer.stderr.read(), b"bfadd: live: 3 keys, 3 new\n")
        self.assertEqual(self.inspected("live")["verdict"], "live, clean")

    def test_signal_ends_an_endless_batch(self):
        """The batch does not end, since /dev/zero never does."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) * 2:
            self.create_live("-f", "-x8", "-n", 1000)
            writer = self.start("bfadd", "-v", "-x8", "live", "/dev/zero")
            self.until(self.has_zero, writer)
            writer.send_signal(number)
            self.assertEqual(writer.wait(TIMEOUT), -number)
            self.assertRegex(writer.stderr.read(), rb"\Abfadd: live: \d+ keys, 1 new\n\Z")
            self.assertEqual(writer.stdout.read(), b"")
            self.assertEqual(self.inspected("live")["verdict"], "live, clean")

    def has_zero(self):
        return self.run_tool("bfquery", "-x8", "-q", "live", stdin=bytes(8)).returncode == 0

    def test_ignored_signals_stay_ignored(self):
        writer = self.start("bfadd", "-v", "live", preexec_fn=lambda:
                            signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.feed(writer, KEYS[0])
        self.wait_for_key("live", KEYS[0], writer)
        writer.send_signal(signal.SIGINT)
        self.feed(writer, KEYS[1])
        self.wait_for_key("live", KEYS[1], writer)
        self.assertEqual(self.result(writer), (0, b"", b"bfadd: live: 2 keys, 2 new\n"))


if __name__ == "__main__":
    main()
