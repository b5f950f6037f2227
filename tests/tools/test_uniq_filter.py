# SPDX-License-Identifier: MIT
"""bfuniq --filter: seen lines stay in a file, for the next run and for concurrent runs."""

import gzip
import os
import random
import re
import signal
import threading

from support import (NAMESPACE, SANITIZED, SOURCE_ROOT, TIMEOUT, UNPRIVILEGED, craft, lines, main,
                     needs, numbered)
from uniq import EXACT, UniqTest

FILTER = ["--filter", "seen", *EXACT]
ROOMY = ["--filter", "seen", "-p", "1e-12", "-n", "1M"]
COUNT = 20_000 if SANITIZED else 100_000
SMALL_DISK = [*NAMESPACE, "sh", "-c", 'mkdir small && mount -t tmpfs -o size=100k none small && '
              '{ "$@"; s=$?; ls -A small; exit $s; }', "sh"]


class OneAfterTheOther(UniqTest):
    def test_next_run_continues_with_the_file(self):
        keys = numbered(1000)
        self.assertEqual(self.uniq(*FILTER, stdin=lines(*keys[:600])), keys[:600])
        self.assertEqual(self.uniq(*FILTER, stdin=lines(*keys)), keys[600:])
        self.assertEqual(self.uniq("--filter", "seen", "-d", stdin=lines(*keys, b"other")), keys)
        self.assertEqual(self.output("bfuniq", "-c", "--filter", "seen",
                                     stdin=lines(*keys, "other", "more")),
                         b"1002 lines, 1 new, 1001 repeated\n")
        self.assertEqual(list(self.snapshot()), ["seen"])

    def test_empty_input_creates_the_file(self):
        self.assertEqual(self.uniq(*FILTER), [])
        self.assertEqual(self.uniq(*FILTER, stdin=b"a\n"), [b"a"])

    def test_bfinspect_and_bfquery_read_the_file(self):
        keys = numbered(1000)
        self.uniq(*FILTER, stdin=lines(*keys))
        self.assertEqual(self.query("seen", stdin=lines(*keys, "absent")), keys)

    def test_dangling_link_is_refused(self):
        os.symlink("nothing", self.folder / "seen")
        self.assertIn("a dangling symbolic link", self.trouble("bfuniq", *FILTER, names=["seen"]))

    def test_options_of_the_file_apply_to_later_runs(self):
        """The file is used with its own options if none are given. Equal options cause no message."""
        made = "--fixed -n 5000 -p 0.25 -l classic -s 0xff".split()
        self.uniq("--filter", "seen", *made, stdin=b"a\n")
        self.assertEqual(len(self.read("seen")), 4096 + 4096 + 4)
        self.assertEqual(self.uniq("--filter", "seen", stdin=b"a\nb\n"), [b"b"])
        self.assertEqual(self.uniq("--filter", "seen", *made, stdin=b"b\nc\n"), [b"c"])
        self.assertEqual(self.uniq("--filter", "seen", "-s", "random", stdin=b"c\nd\n"), [b"d"])

    def test_contradictions_name_both_values(self):
        self.uniq("--filter", "seen", "-n", "5000", "-s", "7", stdin=b"a\n")
        before = self.read("seen")
        for option, wanted, made in (("-n", "10M", "-n 5000, not 10000000"),
                                     ("-p", "0.01", "-p 0.001, not 0.01"),
                                     ("-l", "classic", "-l blocked, not classic"),
                                     ("-s", "0", "-s 7, not 0")):
            self.trouble("bfuniq", "--filter", "seen", option, wanted, stdin=b"b\n",
                         names=["seen was made with " + made], changes=True)
        self.assertEqual(self.read("seen")[4096:], before[4096:])

    def test_killed_run_keeps_the_printed_lines(self):
        process = self.start(*FILTER)
        self.take_turn(process, *numbered(500))
        process.kill()
        process.wait(TIMEOUT)
        self.assertEqual(self.uniq(*FILTER, stdin=lines(*numbered(700))), numbered(700)[500:])
        self.assertEqual(self.uniq(*FILTER, stdin=lines(*numbered(700))), [])

    def test_killed_runs_print_no_line_twice(self):
        """No line is printed twice, and only lines that were being printed are missing.
        A file whose writer was killed during a sync has to be accepted. Here no write has failed.
        """
        keys = numbered(COUNT * 4)
        self.write("keys", lines(*keys))
        choose = random.Random(3)
        printed = []
        for _ in range(5):
            process = self.start(*ROOMY, "-q", "--accept-unclean", "keys")
            threading.Timer(choose.uniform(0.002, 0.05), process.kill).start()
            out, _ = process.communicate(timeout=TIMEOUT)
            printed += out.split(b"\n")[:-1]
            for path in self.folder.iterdir():
                self.assertRegex(path.name, r"^(keys|seen|\.bloomfile\..*)$")  # where the temporary file has a name
        printed += self.uniq(*ROOMY, "-q", "--accept-unclean", "keys")
        whole = set(keys)
        printed = [key for key in printed if key in whole]  # the last line before a kill may be cut
        self.assertEqual(len(set(printed)), len(printed))
        self.assertGreater(len(printed), len(keys) // 10)
        self.assertEqual(self.uniq(*ROOMY, "-q", "keys"), [])


class AtTheSameTime(UniqTest):
    def test_three_processes_print_each_line_once(self):
        for number, order in enumerate(["mixed", "equal", "equal"]):
            keys = [b"%d/%d" % (number, i) for i in range(COUNT)]
            processes = []
            for i in range(3):
                if order == "mixed":
                    random.Random(i).shuffle(keys)
                self.write(f"keys {i}", lines(*keys))
                processes.append(self.start("--filter", "seen", "-p1e-12", "-n1M", f"keys {i}"))
            outputs = [self.finish(process) for process in processes]
            printed = [key for output in outputs for key in output]
            self.assertEqual(len(printed), COUNT)
            self.assertEqual(set(printed), set(keys))

    def test_line_seen_by_one_process_is_repeated_for_the_other(self):
        one, two = self.start(*FILTER), self.start(*FILTER)
        self.take_turn(one, b"a", b"b")
        two.stdin.write(b"a\nb\n")
        self.take_turn(two, b"c")
        one.stdin.write(b"b\nc\n")
        self.take_turn(one, b"d")
        self.assertEqual([self.finish(one), self.finish(two)], [[], []])
        self.assertEqual(self.uniq(*FILTER, stdin=lines("a", "b", "c", "d")), [])

    def test_capacity_counts_the_lines_of_all_processes(self):
        """Each process adds fewer keys than the capacity, but together they add more."""
        options = ["--fixed", "--overfull", "--filter", "seen", "-p", "0.001", "-n", "1000"]
        one, two = self.start(*options), self.start(*options)
        self.take_turn(one, *[b"1/%d" % i for i in range(600)])
        two.stdin.write(lines(*[b"2/%d" % i for i in range(600)]))
        out, errors = two.communicate(timeout=TIMEOUT)
        self.assertTrue(out)
        self.check_message("bfuniq", errors, "more than its capacity of 1000")
        one.communicate(timeout=TIMEOUT)


class Trouble(UniqTest):
    def test_unsuitable_files_are_refused(self):
        self.write("text", b"some words\n" * 100)
        self.write("empty", b"")
        self.write("byte", b"x")
        self.write("cut", craft.make("blocked", 512, 3)[:-1])
        for name, reason in (("text", "not a filter file"), ("empty", "empty"),
                             ("byte", "not a filter file"), ("cut", "truncated"),
                             (".", "directory"), ("/dev/null", "not a regular file"),
                             ("missing/seen", "seen: No such file"), ("text/seen", "Not a directory"),
                             ("new/", "")):
            self.assertIn(reason, self.trouble("bfuniq", "--filter", name, stdin=b"a\n",
                                               names=[name]))

    def test_sealed_filter_is_refused(self):
        self.create("-q", stdin=b"a\n", name="sealed")
        self.assertIn("sealed", self.trouble("bfuniq", "--filter", "sealed", stdin=b"a\n",
                                             names=["sealed", "name a new file"]))

    def live(self, *words, **record):
        """A file made by bfuniq, with changed records."""
        self.uniq(*(words or FILTER), stdin=b"a\n")
        self.write("seen", craft.edit(self.read("seen"), record=record, records=(0, 1)))

    def test_poisoned_filter_is_refused(self):
        self.live(state=craft.POISONED)
        self.trouble("bfuniq", "--filter", "seen", stdin=b"a\n",
                     names=["seen", "poisoned", "name a new file"])

    def test_unclean_filter_is_refused_without_accept_unclean(self):
        self.live(boot_id=b"another machine!")
        self.trouble("bfuniq", "--filter", "seen", stdin=b"a\nb\n",
                     names=["seen", "a writer was killed during a sync", "--accept-unclean"])
        self.assertEqual(self.uniq("--accept-unclean", "--filter", "seen", stdin=b"a\nb\n"), [b"b"])
        self.assertEqual(self.uniq("--filter", "seen", stdin=b"b\nc\n"), [b"c"])

    def test_file_remains_unclean_until_a_whole_input_with_lines_was_read(self):
        words = ["--accept-unclean", "--filter", "seen"]
        remains = "seen remains unclean, because not all of the input was read (the next run needs --accept-unclean)"
        part = gzip.compress(random.Random(1).randbytes(1000).hex().encode() + b"\n")
        for kind in FILTER, ["--filter", "seen", "-n", 10, "-p", "1e-12"]:  # the second grows
            self.live(*kind, boot_id=b"another machine!")
            for more, data, says in (([], b"", "because no line was read"), (["-Z"], part[:500], remains),
                                     (["-Z", "-j4"], gzip.compress(lines(*numbered(40))) + part[:500], remains),
                                     (["--field", 2], b"a\tb\nc\n", remains), (["-p", 0.5], b"a\n", "was made with")):
                with self.subTest(kind=kind, more=more):
                    result = self.run_tool("bfuniq", *more, *words, stdin=data)
                    self.assertEqual(result.returncode, 2)
                    self.assertIn(says, result.stderr.decode())
                    self.trouble("bfuniq", "--filter", "seen", stdin=b"a\n", names=["--accept-unclean"])
            for number in signal.SIGINT, signal.SIGKILL:
                process = self.start(*words)
                self.take_turn(process, *numbered(50, f"signal {number} "))
                process.send_signal(number)
                errors = process.communicate(timeout=TIMEOUT)[1].decode()
                self.assertEqual((process.returncode, remains in errors), (-number, number == signal.SIGINT))
                self.trouble("bfuniq", "--filter", "seen", stdin=b"a\n", names=["--accept-unclean"])
            self.assertEqual(self.uniq(*words, stdin=lines("a", "signal 2 49", "new")), [b"new"])
            self.assertEqual(self.uniq("--filter", "seen", stdin=b"new\n"), [])
            for path in self.folder.iterdir():
                path.unlink()

    def test_counting_filter_is_refused(self):
        image = craft.make("counting", 1000, 3)
        self.write("seen", craft.edit(image, record={"state": craft.LIVE, "body_crc": 0,
                                                     "sequence": 1, "identity": bytes(15) + b"1"}))
        self.trouble("bfuniq", "--filter", "seen", stdin=b"a\n", names=["seen", "counting layout"],
                     changes=True)

    @needs(*UNPRIVILEGED)
    def test_unwritable_filter_is_refused(self):
        self.uniq(*FILTER, stdin=b"a\n")
        (self.folder / "seen").chmod(0o400)
        self.trouble("bfuniq", "--filter", "seen", stdin=b"b\n", names=["seen", "Permission"],
                     before=UNPRIVILEGED)
        self.folder.chmod(0o500)
        self.trouble("bfuniq", "--filter", "new", stdin=b"b\n", names=["new", "Permission"],
                     before=UNPRIVILEGED)

    @needs(*NAMESPACE)
    def test_too_small_a_disk_is_reported_before_the_first_line(self):
        """The error is reported before the first line, and no file is left."""
        result = self.run_tool("bfuniq", "--filter", "small/seen", "-n1M", stdin=b"a\n",
                               before=SMALL_DISK)
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.check_message("bfuniq", result.stderr, "small/seen", "No space left")

    def test_file_removed_during_the_run_is_reported(self):
        process = self.start(*FILTER)
        self.take_turn(process, b"a")
        os.unlink(self.folder / "seen")
        out, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, out), (2, b""))
        self.check_message("bfuniq", errors, "seen was removed or replaced")

    def test_truncated_file_is_reported(self):
        process = self.start(*FILTER)
        self.take_turn(process, b"a")
        os.truncate(self.folder / "seen", 4096)
        _, errors = process.communicate(b"b\nc\n", timeout=TIMEOUT)
        self.assertNotIn(process.returncode, [0, -signal.SIGSEGV])
        self.check_message("bfuniq", errors, "seen", "the file shrank")

    def test_documented_messages_are_printed(self):
        """Each documented message is also printed."""
        def said(*words, **options):
            return self.run_tool("bfuniq", *words, **options).stderr.decode()

        generations = ["--filter", "seen", "--every", "10", "--generations"]
        self.uniq(*generations, "2", stdin=lines(*numbered(15)))
        messages = [said(*generations, "3")]
        (self.folder / "seen.1").rename(self.folder / "kept")
        messages.append(said(*generations, "2"))
        (self.folder / "seen").unlink()
        (self.folder / "kept").rename(self.folder / "seen.1")
        messages.append(said(*generations, "2"))
        (self.folder / "seen.1").unlink()
        self.uniq("--filter", "seen", "-n", "1000", stdin=b"a\n")
        messages += [said(*words, stdin=lines(*numbered(1001)))
                     for words in (["--filter", "seen", "-n", "5000"], ["--fixed", "-n", "1000", "-p1e-9"],
                                   ["--fixed", "--filter", "over", "-q", "-n", "100"], ["--repeated-to", "seen"],
                                   ["--generations", "2", "--every", "1h", "-n", "99"])]
        self.write("seen", craft.edit(self.read("seen"), record={"boot_id": b"another machine!"}))
        messages += [said("--filter", "seen"), said("--filter", "seen", "--accept-unclean", "--field", "2", stdin=b"a\n")]
        text = (SOURCE_ROOT / "man" / "bfuniq.1").read_text()
        for message in re.findall(r'^\.It "(.*)"$', text, re.M):
            name = r"(the filter in memory|over|seen)"
            pattern = re.escape(message).replace("FILE", name)
            pattern = re.sub(r"\d+(\\\.\d+)?", r"[\\d.e-]+", pattern)
            elsewhere = "during the run", "also the output", "No space left"
            if not any(words in message for words in elsewhere):
                self.assertRegex("".join(messages), rf"(?m)^bfuniq: {pattern}( \(|$)")

    def test_concurrent_processes_create_one_file(self):
        for i in range(10):
            processes = [self.start("--filter", f"seen {i}", "-n", "1000") for _ in range(3)]
            for process in processes:
                process.stdin.write(b"a\n")
            outputs = sorted(self.finish(process) for process in processes)
            self.assertEqual(outputs, [[], [], [b"a"]])


if __name__ == "__main__":
    main()
