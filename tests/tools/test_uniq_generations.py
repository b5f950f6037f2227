# SPDX-License-Identifier: MIT
"""bfuniq --generations: keys are forgotten after G-1 to G periods, in memory and in files."""

import os
import random
import re
import shutil
import struct

from support import SANITIZED, SOURCE_ROOT, TIMEOUT, UNPRIVILEGED, craft, lines, main, needs, numbered
from uniq import UniqTest


class Generations:
    """The documented behaviour of bfuniq, with exact sets."""

    def __init__(self, generations, every):
        self.every = every
        self.sets = [set()]
        self.most = generations

    def is_new(self, key):
        if any(key in keys for keys in self.sets):
            return False
        if len(self.sets[-1]) >= self.every:
            self.sets = [*self.sets, set()][-self.most:]
        self.sets[-1].add(key)
        return True


def options(generations, every, *more):
    return ["--generations", generations, "--every", every, "-p", "1e-12", *more]


class Windows(UniqTest):
    SIZES = [(2, 1), (2, 100), (3, 7), (5, 1000)]

    def streams(self):
        for generations, every in self.SIZES:
            choose = random.Random(generations)
            keys = [b"key %d" % choose.randrange(generations * every * 2) for _ in range(
                min(generations * every * 10, 20_000))]
            yield options(generations, every), keys, Generations(generations, every)

    def test_filter_in_memory_forgets_by_lines(self):
        for words, keys, model in self.streams():
            due = [key for key in keys if model.is_new(key)]
            self.assertEqual(self.uniq(*words, stdin=lines(*keys)), due)
            self.assertLess(len(set(due)), len(due))

    def test_repeated_lines_are_those_within_the_window(self):
        for words, keys, model in self.streams():
            due = [key for key in keys if not model.is_new(key)]
            self.assertEqual(self.uniq("-d", *words, stdin=lines(*keys)), due)

    def test_result_does_not_depend_on_the_arrival_of_lines(self):
        """Lines arrive in one piece, one by one, or in groups: the same keys are forgotten."""
        for words, keys, model in self.streams():
            keys = keys[:600]
            due = [key for key in keys if model.is_new(key)]
            for some in 1, 37:
                process = self.start(*map(str, words), "--repeated-to", "/dev/stderr")
                for i in range(0, len(keys), some):
                    self.write_to(process, lines(*keys[i:i + some]))
                self.assertEqual(process.communicate(timeout=TIMEOUT)[0], lines(*due))

    def test_files_forget_by_lines_over_several_runs(self):
        for words, keys, model in self.streams():
            if model.every == 1:
                keys = keys[:15]
            name = f"seen {model.most} {model.every}"
            for start in range(0, len(keys), len(keys) // 3):
                part = keys[start:start + len(keys) // 3]
                self.assertEqual(self.uniq(*words, "--filter", name, stdin=lines(*part)),
                                 [key for key in part if model.is_new(key)])
            self.assertEqual(self.layers(name),
                             ["", *(f".{slot}" for slot in range(1, model.most))])

    def test_repeated_line_does_not_stay_longer(self):
        """Its age counts from when it was printed, however often it is repeated."""
        stream = []
        for i in range(30):
            stream += [b"again", b"other %d" % i]
        model = Generations(3, 5)
        printed = self.uniq(*options(3, 5), stdin=lines(*stream))
        self.assertEqual(printed, [key for key in stream if model.is_new(key)])
        self.assertEqual(printed.count(b"again"), 3)

    def test_generations_share_the_rate(self):
        """Each generation gets an equal share of the rate."""
        words = ["--generations", "4", "--every", "1000", "--filter"]
        self.uniq(*words, "given", "-p", "0.01")
        self.uniq(*words, "default")
        for name, rate in ("given", 0.01), ("default", 0.001):
            bits = craft.field(self.read(name), "fpr").to_bytes(8, "little")
            self.assertEqual(struct.unpack("<d", bits), (rate / 4,))
            self.assertEqual(self.of_series(name, "series_fpr"), rate)


class Time(UniqTest):
    """Generations begin at whole seconds of the system's clock, so a key may expire up to a second early."""
    WORDS = ["--generations", "3", "--every", "2s", "-n", "1000", "-p", "1e-12"]

    def setUp(self):
        super().setUp()
        self.write("clock", b"")
        self.set_clock(0)

    def set_clock(self, seconds):
        os.utime(self.folder / "clock", 2 * (1_800_000_000 + seconds,))

    def environment(self, locale="C.UTF-8", **more):
        given = super().environment(locale, LD_PRELOAD=os.environ["SET_CLOCK"], CLOCK=str(self.folder / "clock"), **more)
        given["ASAN_OPTIONS"] += ":verify_asan_link_order=0"
        return given

    def forgotten(self, process, key):
        process.stdin.write(lines(key, "other"))
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), key + b"\n")
        self.assertEqual(process.stdout.readline(), b"other\n")

    def due(self, *stream):
        for began in 0, 0.9:
            self.set_clock(began)
            process = self.start(*self.WORDS, "-q", *stream)
            self.take_turn(process, b"again")
            for seconds in 1, 2, 3, 4, 5, 5.9:
                self.set_clock(seconds)
                process.stdin.write(b"again\n")
                self.take_turn(process, b"%f" % seconds)
            self.set_clock(6)
            self.forgotten(process, b"again")
            self.assertEqual(self.finish(process), [])
            for end in self.layers() if stream else []:
                (self.folder / f"seen{end}").unlink()

    def test_filter_in_memory_forgets_by_time(self):
        self.due()

    def test_file_forgets_by_time(self):
        self.due("--filter", "seen")

    def test_line_that_only_repeats_is_forgotten(self):
        for words in [], ["--filter", "seen"]:
            self.set_clock(0)
            process = self.start(*self.WORDS, *words, "--repeated-to", "/dev/stderr")
            self.take_turn(process, b"again")
            for seconds in 1, 2, 5.9:
                self.set_clock(seconds)
                process.stdin.write(b"again\n")
                process.stdin.flush()
                self.assertEqual(process.stderr.readline(), b"again\n")
            self.set_clock(6)
            self.forgotten(process, b"again")
            self.assertEqual(self.finish(process), [])

    def test_file_forgets_by_time_over_runs(self):
        """After a pause longer than all generations, nothing is remembered."""
        words = ["--filter", "seen", "--generations", "2", "--every", "1s"]
        self.assertEqual(self.uniq(*words, stdin=b"a\n"), [b"a"])
        self.set_clock(1)
        self.assertEqual(self.uniq(*words, stdin=b"a\nb\n"), [b"b"])
        self.set_clock(4)
        self.assertEqual(self.uniq("--filter", "seen", stdin=b"a\nb\n"), [b"a", b"b"])

    def test_generation_that_starts_in_the_future_ends_at_the_next_add(self):
        seen = ["-q", "--filter", "seen"]
        self.uniq(*seen, "--generations", "3", "--every", "10s", stdin=b"a\n")
        self.set_clock(604_800)
        self.assertEqual(self.uniq(*seen, stdin=b"b\n"), [b"b"])
        self.set_clock(1)
        self.assertIn("its newest generation starts in the future", self.inspected("seen")["verdict"])
        self.assertEqual(self.uniq("--filter", "seen", stdin=b"b\nc\n"), [b"c"])
        self.assertEqual(self.inspected("seen")["verdict"], "live, clean")
        self.set_clock(40)
        self.assertEqual(self.uniq(*seen, stdin=b"b\nc\n"), [b"b", b"c"])

    def test_generation_full_before_its_time_is_reported_once(self):
        for words in [], ["--filter", "seen"]:
            for quiet in [], ["-q"]:
                said = b"" if quiet else (
                    rb"bfuniq: warning: (seen|the filter in memory): a generation was full after \d+s, not 1h, so lines "
                    rb"are forgotten sooner \(to keep them longer, increase -n\)\n")
                result = self.run_tool("bfuniq", *quiet, *words, "--generations", 3, "--every", "1h", "-n", 100, "-p",
                                       1e-12, stdin=lines(*numbered(1000), b"key 0", b"key 800"))
                self.assertEqual((result.returncode, result.stdout), (0, lines(*numbered(1000), b"key 0")))
                self.assertRegex(result.stderr, rb"\A%b\Z" % said)
                for name in self.layers() if words else []:
                    (self.folder / f"seen{name}").unlink()

    def test_generation_within_its_time_is_not_reported(self):
        self.uniq("--filter", "seen", "--generations", 3, "--every", "1h", "-n", 100, "-q", stdin=lines(*numbered(450)))
        self.uniq("--filter", "seen", stdin=b"one more\n")
        self.uniq("--filter", "of keys", "--generations", 3, "--every", 100, stdin=lines(*numbered(500)))

    def test_default_capacity_by_time_is_ten_million(self):
        self.uniq("--filter", "seen", "--generations", 2, "--every", "7d")
        self.assertEqual(craft.field(self.read("seen"), "capacity"), 10_000_000)
        self.assertIn("10 million if", (SOURCE_ROOT / "man/bfuniq.1").read_text().replace("\n", " "))


class Files(UniqTest):
    WORDS = options(2, 10, "--filter", "seen")

    def numbers(self, name="seen"):
        """The generation of each file."""
        return [self.of_series(name + end, "layer") for end in self.layers(name)]

    def test_new_generation_takes_the_name_of_the_oldest(self):
        made = [[0], [0, 1], [2, 1], [2, 3], [4, 3], [4, 5]]
        for i in range(6):
            self.assertEqual(len(self.uniq(*self.WORDS, stdin=lines(*numbered(10, f"{i} ")))), 10)
            self.assertEqual(self.numbers(), made[i])

    def test_generations_stay_in_the_folder_of_the_path(self):
        (self.folder / "folder").mkdir()
        words = options(2, 10, "--filter", "folder/seen")
        self.uniq(*words, stdin=lines(*numbered(25)))
        self.assertEqual(sorted(path.name for path in self.folder.rglob("seen*")), ["seen", "seen.1"])

    def test_generations_follow_a_symbolic_link(self):
        (self.folder / "folder").mkdir()
        self.uniq(*options(2, 10, "--filter", "folder/seen"), stdin=lines(*numbered(5)))
        (self.folder / "link").symlink_to("folder/seen")
        words = options(2, 10, "--filter", "link")
        self.assertEqual(self.uniq(*words, stdin=lines(*numbered(25))), numbered(25)[5:])
        self.assertEqual(self.layers("link"), [""])
        self.assertEqual(sorted(path.name for path in self.folder.rglob("seen*")), ["seen", "seen.1"])

    def test_older_copy_of_a_generation_is_refused(self):
        """The copy lacks the keys added since."""
        self.uniq(*self.WORDS, stdin=lines(*numbered(10, "old ")))
        shutil.copy(self.folder / "seen", self.folder / "copy")
        self.uniq(*self.WORDS, stdin=lines(*numbered(25, "new ")))
        self.assertEqual(self.numbers(), [2, 3])
        shutil.move(self.folder / "copy", self.folder / "seen")
        self.trouble("bfuniq", *self.WORDS, stdin=b"old 0\n", names=["cannot use seen: its layer "])

    def test_run_without_options_continues_the_file(self):
        keys = numbered(25)
        self.uniq(*self.WORDS, stdin=lines(*keys))
        self.assertEqual(self.uniq("--filter", "seen", stdin=lines(*keys[10:], *keys[:10])), keys[:10])
        self.assertEqual(self.numbers(), [2, 3])

    def test_contradictory_mode_is_refused(self):
        """Otherwise keys would be forgotten too early, or never. No file may be made next to it."""
        made = {"forgets": options(2, 10), "grows": ["-n", 100], "fixed": ["--fixed", "-n", 100]}
        said = {"forgets": "--generations 2", "grows": "growing", "fixed": "--fixed"}
        for kind, words in made.items():
            self.uniq("--filter", kind, *words, stdin=b"key 0\n")
        before = set(self.snapshot())
        for kind in made:
            for other, words in made.items():
                if other in (kind, "grows"):
                    continue
                self.assertIn(f"{kind} was made as '{said[kind]}', not '{said[other]}'",
                              self.trouble("bfuniq", "--filter", kind, *words, stdin=b"b\n", changes=True))
            self.assertEqual(self.uniq("--filter", kind, stdin=b"key 0\n"), [])
        self.assertEqual(set(self.snapshot()), before)

    def test_existing_file_with_the_name_of_a_generation_is_an_error(self):
        """Such a file may remain from an older filter of the same name."""
        for there in "seen.1", "seen.2":
            self.write(there, b"a log\n")
            message = self.trouble("bfuniq", *options(3, 10, "--filter", "seen"), stdin=b"a\n", names=["seen"])
            self.assertIn(f"cannot create seen: {there} exists, and later", message)
            (self.folder / there).unlink()
        self.write("seen.3", b"a log\n")
        self.assertEqual(self.uniq(*options(3, 10, "--filter", "seen"), stdin=lines(*numbered(95))), numbered(95))
        self.assertEqual(self.read("seen.3"), b"a log\n")

    def test_foreign_files_are_kept(self):
        names = ["seen.2", "seen.007", "seen.9x", "seen.", "seen.-1", "seen.01", "seen.99999999999999999999"]
        for name in names:
            self.write(name, b"nothing of ours")
        if (self.folder / "seen").exists():  # vfat takes "seen." for "seen"
            (self.folder / "seen").unlink()
            names.remove("seen.")
        self.uniq(*self.WORDS, stdin=lines(*numbered(45)))
        self.assertEqual([self.of_series(name, "layer") for name in ("seen", "seen.1")], [4, 3])
        self.assertEqual({self.read(name) for name in names}, {b"nothing of ours"})

    def test_foreign_generation_is_refused(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(45)))
        self.uniq(*options(2, 10, "--filter", "other"), stdin=lines(*numbered(45)))
        kept = self.read("seen.1")
        self.create_live("-n", 10)
        for name, says in (("other.1", "another"), ("live", ""), ("text", "not a filter file"),
                           ("empty", "empty"), ("seen", "")):
            self.write("text", b"a log of some length\n" * 9)
            self.write("empty", b"")
            shutil.copy(self.folder / name, self.folder / "seen.1")
            self.assertIn(says, self.trouble("bfuniq", *self.WORDS, stdin=b"a\n", changes=True,
                                             names=["cannot use seen: its layer seen.1 "]))
        self.write("seen.1", kept)
        self.assertEqual(self.uniq(*self.WORDS, stdin=lines(*numbered(45)[-5:])), [])

    def test_generation_replaced_during_the_run_is_reported(self):
        """It has the name that the next generation needs."""
        keys = numbered(30)
        process = self.start(*self.WORDS)
        self.take_turn(process, *keys[:8])
        self.create_live("-n", 10)
        shutil.move(self.folder / "live", self.folder / "seen.1")
        out, errors = process.communicate(lines(*keys), timeout=TIMEOUT)
        self.assertEqual((process.returncode, out), (2, lines(*keys[8:10])))
        self.check_message("bfuniq", errors, "cannot add to seen, stopped after 18 lines: its layer seen.1 ")

    def test_missing_generation_is_refused(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(15)))
        shutil.move(self.folder / "seen.1", self.folder / "moved")
        self.trouble("bfuniq", *self.WORDS, stdin=b"key 0\n",
                     names=["cannot use seen: its layer seen.1 is missing (restore it"])
        shutil.move(self.folder / "seen", self.folder / "seen.1")
        self.assertIn("cannot create seen: seen.1 exists, and later",
                      self.trouble("bfuniq", *self.WORDS, stdin=b"key 0\n", names=["seen"]))
        shutil.move(self.folder / "seen.1", self.folder / "seen")
        shutil.move(self.folder / "moved", self.folder / "seen.1")
        self.assertEqual(self.uniq(*self.WORDS, stdin=lines("key 0", "key 14")), [])

    def test_generation_behind_a_dangling_link_is_refused(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(15)))
        (self.folder / "seen.1").unlink()
        (self.folder / "seen.1").symlink_to("nothing")
        self.trouble("bfuniq", *self.WORDS, stdin=b"a\n", names=["cannot use seen: its layer seen.1 "])

    def test_generation_named_alone_is_refused(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(15)))
        self.trouble("bfuniq", "--filter", "seen.1", stdin=b"key 14\n", names=["seen.1", "use the first file: seen"])

    def test_contradictory_options_are_refused(self):
        self.uniq(*self.WORDS, stdin=b"a\n")
        self.uniq("--filter", "timed", "--generations", 2, "--every", "90min", "-n", 50, stdin=b"a\n")
        for name, words, named in (
                ("seen", ["--generations", "3", "--every", "10"], "made as '--generations 2', not '--generations 3'"),
                ("seen", ["--generations", "2", "--every", "11"], "--every 10, not 11"),
                ("seen", ["--generations", "2", "--every", "10s"], "--every 10, not 10s"),
                ("seen", ["--generations", "2", "--every", "10", "-p", "0.1"], "-p 1e-12, not 0.1"),
                ("seen", ["--generations", "2", "--every", "10", "-s", "1"], "-s 0, not 1"),
                ("seen", ["-n", "11"], "--every 10, not 11"),
                ("timed", ["--generations", "2", "--every", "1h"], "--every 90min, not 1h"),
                ("timed", ["--generations", "2", "--every", "50"], "--every 90min, not 50"),
                ("timed", ["--generations", "2", "--every", "5400s", "-n", "49"], "-n 50, not 49"),
                ("timed", ["-n", "49"], "-n 50, not 49")):
            with self.subTest(words=words):
                self.assertIn(f"{name} was made ", self.trouble("bfuniq", "--filter", name, *words, stdin=b"b\n",
                                                               names=[named], changes=True))
        self.assertEqual(self.uniq("--filter", "seen", "--generations", "2", "--every", "10",
                                   stdin=b"a\nb\n"), [b"b"])
        self.assertEqual(self.uniq("--filter", "timed", "--generations", "2", "--every", "5400s", "-n", "50",
                                   stdin=b"a\nb\n"), [b"b"])

    def test_later_generations_are_like_the_first(self):
        self.uniq("--filter", "seen", "--generations", "2", "--every", "10", "-p", "0.5", "-l",
                  "classic", "-s", "random")
        first, series = self.read("seen"), self.of_series("seen", "series")
        self.uniq("--filter", "seen", "--generations", "2", "--every", "10",
                  stdin=lines(*numbered(100)))
        self.assertGreater(max(self.numbers()), 3)
        for end in self.layers():
            image = self.read("seen" + end)
            for name in "m", "k", "layout", "seed", "capacity", "fpr":
                self.assertEqual(craft.field(image, name), craft.field(first, name), name)
            self.assertEqual((self.of_series("seen" + end, "series"), self.of_series("seen" + end, "generations")),
                             (series, 2))

    def edit(self, name, **record):
        self.write(name, craft.edit(self.read(name), record=record, records=(0, 1)))

    def test_unclean_generation_is_refused_without_accept_unclean(self):
        for which in ["seen"], ["seen.1"], ["seen", "seen.1"]:
            self.uniq(*self.WORDS, stdin=lines(*numbered(15)))
            for name in which:
                self.edit(name, boot_id=b"another machine!")
            self.trouble("bfuniq", *self.WORDS, stdin=b"a\n", names=["seen", "--accept-unclean"])
            again = lines("key 0", "key 14", "a")
            self.assertEqual(self.uniq("--accept-unclean", *self.WORDS, stdin=again), [b"a"])
            self.assertEqual(self.uniq(*self.WORDS, stdin=again), [])
            for end in self.layers():
                (self.folder / f"seen{end}").unlink()

    def test_lines_lost_in_a_crash_are_printed_again(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(15)))
        image = bytearray(self.read("seen"))
        image[4096:] = bytes(len(image) - 4096)
        self.write("seen", bytes(image))
        self.edit("seen", boot_id=b"another machine!")
        self.assertEqual(self.uniq("--accept-unclean", *self.WORDS, stdin=lines("key 0", "key 14")), [b"key 0"])

    def test_poisoned_generation_is_refused(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(15)))
        for name in "seen", "seen.1":
            kept = self.read(name)
            self.edit(name, state=craft.POISONED)
            self.trouble("bfuniq", *self.WORDS, "--accept-unclean", stdin=b"a\n", changes=True,
                         names=["seen", "poisoned", "name a new file"])
            self.write(name, kept)

    def test_generation_poisoned_during_the_run_is_reported(self):
        """Every later lookup in it would return maybe."""
        for threads in 1, 4:
            for name, words in (("seen", self.WORDS), ("grown", ["--filter", "grown", "-n", "10", "-p", "1e-12"])):
                process = self.start(*words, "-j", str(threads), "--stats")
                self.take_turn(process, *numbered(15))
                image = craft.edit(self.read(name), record={"state": craft.POISONED}, records=(0, 1))
                with open(self.folder / name, "r+b") as file:
                    file.write(image)
                out, errors = process.communicate(lines("a", "b"), timeout=TIMEOUT)
                self.assertEqual((process.returncode, out), (2, b""))
                self.check_message("bfuniq", errors, f"cannot add to {name}, stopped after 15 lines", "poisoned")
                for end in self.layers(name):
                    (self.folder / f"{name}{end}").unlink()

    def test_count_of_lines_continues_after_a_kill(self):
        every = 10_000
        words = options(2, every, "--filter", "seen")
        self.uniq(*words, stdin=lines(*numbered(100, "first ")))
        process = self.start(*words)
        for i in range(0, every // 2, 100):
            self.take_turn(process, *[b"second %d" % j for j in range(i, i + 100)])
        process.kill()
        process.wait(TIMEOUT)
        keys = numbered(every, "third ")
        process = self.start(*words)
        for i in range(0, every, 100):
            if self.layers() != [""]:
                break
            self.take_turn(process, *keys[i:i + 100])
        self.assertEqual(self.finish(process), [])
        self.assertTrue(0.45 * every < i < 0.55 * every, i)


class SeveralProcesses(UniqTest):
    def test_alternating_processes_share_the_window(self):
        """A key is remembered for G-1 to G periods, whichever process saw it. Counts are estimates."""
        generations, every = 3, 500
        words = options(generations, every, "--filter", "seen")
        one, two = self.start(*words), self.start(*words)
        keys = numbered(8 * every)
        for i in range(0, len(keys), 100):
            self.take_turn(one, *keys[i:i + 50])
            self.take_turn(two, *keys[i + 50:i + 100])
        last = keys[-int(1.9 * every):]
        one.stdin.write(lines(*last))
        two.stdin.write(lines(*last))
        self.assertEqual([self.finish(one), self.finish(two)], [[], []])
        old = keys[:-int(3.2 * every)]
        self.assertEqual(self.uniq(*words, stdin=lines(*old[-every // 2:])), old[-every // 2:])

    def test_stopped_process_continues_with_the_newest_generation(self):
        """It wakes up many generations later, and continues with the newest."""
        words = options(2, 10, "--filter", "seen")
        one = self.start(*words)
        self.take_turn(one, b"a")
        self.uniq(*words, stdin=lines(*numbered(95)))
        self.take_turn(one, b"a", b"b")
        self.assertEqual(self.uniq(*words, "-d", stdin=b"a\nkey 94\nb\n"), [b"a", b"key 94", b"b"])
        self.assertEqual(self.finish(one), [])

    def test_process_finds_a_newer_generation_before_its_next_line(self):
        """A process must find it before its next line, even if its own generation has room."""
        words = options(2, 10, "--filter", "seen")
        one, two = self.start(*words), self.start(*words)
        self.take_turn(one, b"a")
        self.take_turn(two, *numbered(14))
        one.stdin.write(lines("a", *numbered(14)))
        self.take_turn(one, b"c")
        self.assertEqual(self.uniq(*words, "-d", stdin=b"a\nc\nkey 13\n"), [b"a", b"c", b"key 13"])
        self.assertEqual([self.finish(one), self.finish(two)], [[], []])

    def test_generation_removed_during_the_run_is_reported(self):
        """Users must end all processes before they remove the files. A process detects the removal at the end."""
        words = options(2, 10, "--filter", "seen")
        one = self.start(*words)
        self.take_turn(one, b"a")
        (self.folder / "seen").unlink()
        self.take_turn(one, b"b")
        out, errors = one.communicate(timeout=TIMEOUT)
        self.assertEqual((one.returncode, out), (2, b""))
        self.check_message("bfuniq", errors, "seen was removed or replaced during the run")
        self.assertEqual(self.uniq(*words, stdin=b"a\nb\n"), [b"a", b"b"])

    def test_concurrent_rotation_prints_every_line(self):
        """Every line is printed, at most once by each process, and no files are left behind."""
        every, count = 2000, 10_000 if SANITIZED else 40_000
        words = options(4, every, "--filter", "seen")
        keys = numbered(count)
        self.write("keys", lines(*keys))
        processes = [self.start(*words, "keys") for _ in range(3)]
        outputs = [self.finish(process) for process in processes]
        self.assertEqual(set().union(*outputs), set(keys))
        for output in outputs:
            self.assertEqual(len(set(output)), len(output))
        self.assertEqual(self.layers(), ["", ".1", ".2", ".3"])
        numbers = sorted(self.of_series("seen" + end, "layer") for end in self.layers())
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + 4)))

    def test_line_within_the_window_is_printed_by_exactly_one_process(self):
        """Generations rotate during the race, but no key is old enough to be forgotten."""
        count = 5000 if SANITIZED else 20_000
        words = options(20, count // 10, "--filter", "seen")
        for number in range(3):
            keys = [b"%d/%d" % (number, i) for i in range(count // 2)]
            for i in range(3):
                random.Random(i).shuffle(keys)
                self.write(f"keys {i}", lines(*keys))
            processes = [self.start(*words, f"keys {i}") for i in range(3)]
            printed = [key for process in processes for key in self.finish(process)]
            self.assertEqual(sorted(printed), sorted(keys))
        self.assertGreater(len(self.layers()), 10)

    @needs(*UNPRIVILEGED)
    def test_failed_new_generation_loses_no_line(self):
        words, keys = options(3, 3, "--filter", "seen"), numbered(20)
        self.uniq(*words, stdin=lines(*keys[:7]))
        for threads in 1, 4:
            for mode in [], ["-d"]:
                shutil.copytree(self.folder, self.folder / "kept")
                self.folder.chmod(0o555)
                result = self.run_tool("bfuniq", *words, "-j", threads, *mode, stdin=lines(*keys), before=UNPRIVILEGED)
                self.folder.chmod(0o755)
                self.assertEqual(result.returncode, 2)
                self.check_message("bfuniq", result.stderr, "cannot add to seen, stopped after 9 lines",
                                   "Permission denied (its next layer is a file in the same folder)")
                self.assertEqual(result.stdout, lines(*(keys[:7] if mode else keys[7:9])))
                self.assertEqual(self.query("seen", stdin=lines(*keys)), keys[:9])
                if (threads, mode) != (4, ["-d"]):
                    for end in self.layers():
                        shutil.copy(self.folder / "kept" / f"seen{end}", self.folder / f"seen{end}")
                shutil.rmtree(self.folder / "kept")
        self.assertEqual(self.uniq(*words, stdin=lines(*keys[7:12])), keys[9:12])

    def test_only_the_expected_files_are_created(self):
        """Only generations may exist. A process may open or close them while other processes replace them."""
        words = options(2, 50, "--filter", "seen")
        for _ in range(6):
            processes = [self.start(*words) for _ in range(3)]
            for process in processes:
                process.stdin.write(lines(*numbered(1000)))
                process.stdin.close()
            while any(process.poll() is None for process in processes):
                for path in self.folder.iterdir():
                    if not path.name.startswith("."):  # a file that is about to get the name of an older file
                        self.assertTrue(re.fullmatch(r"seen(\.1)?", path.name), path.name)
            self.assertEqual([(process.returncode, process.stderr.read()) for process in processes], 3 * [(0, b"")])
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["seen", "seen.1"])


if __name__ == "__main__":
    main()
