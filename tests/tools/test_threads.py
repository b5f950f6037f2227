# SPDX-License-Identifier: MIT
"""bfquery and bfuniq with threads: the same output, in the same order, without delay."""

import random
import signal
import subprocess
import threading

from support import SANITIZED, TIMEOUT, ToolTest, craft, lines, main, numbered
from uniq import UniqTest, repeated_ones

THREADS = 1, 2, 8
COUNT = 20_000 if SANITIZED else 40_000
LONG = 2**20


def mixed_keys(count, seed=5):
    """Keys in the filter and other keys, some of them empty, and some longer than any piece."""
    choose = random.Random(seed)
    keys = [choose.choice([b"key %d", b"absent %d", b"key %d" + b"." * 60])
            % choose.randrange(count) for _ in range(count)]
    for place in range(0, count, count // 40):
        keys[place] = b""
    for i, place in enumerate(range(0, count, count // 6)):
        keys[place] = (b"key", b"no")[i % 2] + b"%d" % i * LONG
    return keys


def cut(data, *places):
    return [data[a:b] for a, b in zip((0, *places), (*places, len(data)))]


class Query(ToolTest):
    def setUp(self):
        super().setUp()
        self.keys = mixed_keys(COUNT)
        self.members = {key for key in self.keys if key.startswith(b"key") or key == b""}
        self.create("-q", "-p", "1e-9", stdin=lines(*sorted(self.members)), name="filter")

    def chosen(self, keys, members=None):
        return [key for key in keys if key in (members or self.members)]

    def check(self, data, expected, *words, status=0):
        for threads in THREADS:
            with self.subTest(words=words, threads=threads):
                out = self.output("bfquery", "-j", threads, *words, "filter", stdin=data,
                                  status=status)
                self.assertTrue(out == expected, f"{len(out)} bytes, not {len(expected)}")

    def test_output_keeps_the_order_of_the_input(self):
        data, found = lines(*self.keys), self.chosen(self.keys)
        missed = [key for key in self.keys if key not in self.members]
        self.check(data, lines(*found))
        self.check(data, lines(*missed), "-v")
        self.check(data[:-1], lines(*found))
        self.check(data, b"%d\n" % len(found), "-c")
        self.check(data, b"%d\n" % len(missed), "-cv")
        self.check(data, b"", "-q")
        self.check(lines(*missed), b"", "-q", status=1)
        self.write("known", lines(*found[::3]))
        self.check(data, lines(*self.chosen(found, self.members - set(found[::3]))), "--unless",
                   "known")

    def test_null_terminated_keys_keep_their_order(self):
        found = self.chosen(self.keys)
        data = b"".join(key + b"\0" for key in self.keys)
        self.write("filter", craft.edit(self.read("filter"), header={"compat": 0, "key_kind": 0}))
        self.check(data, b"".join(key + b"\0" for key in found), "-0")
        ends = random.Random(3)
        whole = [(key, ends.choice([b"\n", b"\r\n"])) for key in self.keys]
        self.check(b"".join(key + end for key, end in whole),
                   b"".join(key + end for key, end in whole if key in self.members), "--crlf")

    def test_records_keep_their_order(self):
        records = [b"%-24d" % i for i in range(COUNT)]
        self.create("-q", "-p", "1e-9", "-x24", stdin=b"".join(records[::3]), name="filter")
        self.check(b"".join(records), b"".join(records[::3]), "-x24")
        long = [bytes([i]) * (3 * LONG + 1) for i in range(7)]
        self.create("-q", "-p", "1e-9", "-x", len(long[0]), stdin=b"".join(long[::2]),
                    name="filter")
        self.check(b"".join(long), b"".join(long[::2]), "-x", len(long[0]))

    def test_many_and_missing_files_are_read_in_order(self):
        data = lines(*self.keys)
        names = [self.write(f"part {i}", part.removesuffix(b"\n"))
                 for i, part in enumerate(cut(data, *(data.index(b"\n", place) + 1 for place in
                                                      range(0, len(data) - 2 * LONG, LONG // 3))))]
        expected = lines(*self.chosen(self.keys))
        for threads in THREADS:
            self.assertTrue(self.output("bfquery", "-j", threads, "filter", *names) == expected)
            middle = len(names) // 2
            self.trouble("bfquery", "-j", threads, "filter", *names[:middle], "missing",
                         *names[middle:], names=["missing"], out=expected)

    def test_each_answer_precedes_the_next_key(self):
        """Each answer comes before the next key is sent, with any number of threads."""
        for threads in THREADS:
            process = self.start("bfquery", "-j", threads, "filter")
            timer = threading.Timer(TIMEOUT, process.kill)
            timer.start()
            for key in numbered(30):
                self.feed(process, b"nothing", *self.chosen([key]), b"")
                answer = lines(*self.chosen([key]), b"")
                self.assertEqual(process.stdout.read(len(answer)), answer)
            timer.cancel()
            self.assertEqual(self.result(process), (0, b"", b""))

    def test_quiet_ends_at_the_first_match_with_any_threads(self):
        for threads in THREADS:
            process = self.start("bfquery", "-q", "-j", threads, "filter")
            for _ in range(20):
                self.write_to(process, b"nothing\n")
            self.feed(process, b"")
            self.assertEqual(process.wait(TIMEOUT), 0)

    def test_closed_pipe_ends_the_run(self):
        self.write("keys", lines(b"", *self.keys * 3))
        for threads in THREADS:
            process = self.start("bfquery", "-j", threads, "filter", "keys")
            self.assertEqual(process.stdout.readline(), b"\n")
            process.stdout.close()
            self.assertEqual(process.wait(TIMEOUT), -signal.SIGPIPE)
            self.assertEqual(process.stderr.read(), b"")

    def test_full_standard_output_is_an_error(self):
        for threads in THREADS:
            with open("/dev/full", "wb") as full:
                result = self.run_tool("bfquery", "-j", threads, "filter", stdout=full,
                                       stdin=lines(*self.keys))
            self.assertEqual(result.returncode, 2)
            self.check_message("bfquery", result.stderr, "standard output", "No space left")

    def test_damage_is_reported_once(self):
        """Whichever thread finds the damage, it is reported once, and no key is lost."""
        image = bytearray(craft.make("blocked", 64 * 4096 * 8, 9, numbered(2000)))
        for page in 3, 20, 21, 63:
            image[4096 + 4096 * page + 77] ^= 1
        self.write("damaged", bytes(image))
        many = lines(*numbered(2000), *numbered(COUNT, "absent "))
        results = [self.run_tool("bfquery", "-j", threads, "damaged", stdin=many)
                   for threads in THREADS]
        for result in results:
            self.assertEqual(result.returncode, 2)
            self.check_message("bfquery", result.stderr, "damaged: 4 pages damaged")
            self.assertTrue(result.stdout.startswith(lines(*numbered(2000))))
            self.assertTrue(result.stdout == results[0].stdout)

    def test_invalid_thread_counts_are_refused(self):
        for words in ["-j0"], ["-j", "1025"], ["--threads", "two"], ["-j"]:
            self.trouble("bfquery", *words, "filter", names=["threads" if words[-1] != "-j" else
                                                             "-j"])
        self.assertEqual(self.output("bfquery", "--threads=1024", "filter", stdin=b"\n"), b"\n")


class Uniq(UniqTest):
    def setUp(self):
        super().setUp()
        choose = random.Random(6)
        keys = mixed_keys(COUNT)
        self.keys = [choose.choice(keys) for _ in range(2 * COUNT)]
        self.data = lines(*self.keys)

    def check_same(self, *words, data=None):
        """The output, which must be the same with each number of threads."""
        made = {self.output("bfuniq", "-j", threads, "-q", *words, stdin=data or self.data)
                for threads in THREADS}
        self.assertEqual(len(made), 1)
        return made.pop()

    def test_output_keeps_the_order_of_the_input(self):
        exact = "-p", "1e-12", "-n", 2 * COUNT
        first = list(dict.fromkeys(self.keys))
        self.assertTrue(self.check_same(*exact) == lines(*first))
        self.assertTrue(self.check_same("-d", *exact) == lines(*repeated_ones(self.keys)))
        self.assertEqual(self.check_same("-c", *exact), b"%d lines, %d new, %d repeated\n" % (
            len(self.keys), len(first), len(self.keys) - len(first)))
        self.check_same("-0", *exact, data=self.data.replace(b"\n", b"\0"))
        self.check_same("-x7", "--as-is", *exact, data=self.data[:len(self.data) // 7 * 7])
        self.check_same("--crlf", *exact, data=self.data.replace(b"5\n", b"5\r\n"))

    def test_same_lines_are_lost_with_any_threads(self):
        """In a filter that is far too small, most new lines are false positives."""
        out = self.check_same("--fixed", "--overfull", "-n", COUNT // 20, "-p", "0.01")
        self.assertLess(out.count(b"\n"), len(set(self.keys)))

    def test_generations_do_not_depend_on_threads(self):
        for words in [], ["-d"]:
            self.check_same("--generations", 3, "--every", COUNT // 10, *words)

    def test_files_do_not_depend_on_threads(self):
        """The second run has the lines of the first in its filter. The files are the same except for their tags."""
        half = self.data.index(b"\n", len(self.data) // 2) + 1
        for i, words in enumerate((["-n", COUNT], ["--generations", 3, "--every", COUNT // 10])):
            outs = []
            for threads in THREADS:
                path = ["--filter", f"seen {i} {threads}"]
                outs.append([self.output("bfuniq", "-q", "-j", threads, *words, *path, stdin=part)
                             for part in cut(self.data, half)])
            self.assertTrue(all(out == outs[0] for out in outs))
        bodies = {self.read(f"seen 0 {threads}")[4096:] for threads in THREADS}
        self.assertEqual(len(bodies), 1)

    def test_each_line_is_answered_before_the_next_is_read(self):
        for threads in THREADS:
            process = self.start("-j", str(threads))
            timer = threading.Timer(TIMEOUT, process.kill)
            timer.start()
            for i in range(30):
                self.take_turn(process, b"%d" % i, b"and %d" % i)
            self.assertEqual(self.finish(process), [])
            timer.cancel()

    def test_signal_ends_the_wait_of_any_thread(self):
        """The signal ends the wait, whichever thread waits."""
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            for threads in THREADS:
                process = self.start("-j", str(threads), "--filter", "seen")
                for i in range(5):
                    self.take_turn(process, b"%d %d %d" % (number, threads, i))
                process.send_signal(number)
                out, errors = process.communicate(timeout=TIMEOUT)
                self.assertEqual((process.returncode, out, errors), (-number, b"", b""))
                self.check_closed()

    def test_closed_pipe_ends_the_run(self):
        self.write("keys", lines(*numbered(COUNT)))
        for threads in THREADS:
            name = f"seen {threads}"
            process = self.start("-j", str(threads), "--filter", name, "keys",
                                 stdin=subprocess.DEVNULL)
            self.assertEqual(process.stdout.readline(), b"key 0\n")
            process.stdout.close()
            self.assertEqual((process.wait(TIMEOUT), process.stderr.read()),
                             (-signal.SIGPIPE, b""))
            self.check_closed(name)
            again = self.uniq("--filter", name, "keys")
            self.assertEqual(again, numbered(COUNT)[-len(again):])


if __name__ == "__main__":
    main()
