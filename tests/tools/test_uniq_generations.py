# SPDX-License-Identifier: MIT
"""bfuniq --generations: keys are forgotten after G-1 to G periods, in memory and in files."""

import random
import re
import shutil
import struct

from support import SANITIZED, TIMEOUT, UNPRIVILEGED, craft, lines, main, needs, numbered
from uniq import UniqTest


class Generations:
    """What bfuniq promises, with sets that make no mistakes."""

    def __init__(self, generations, every):
        self.every = every
        self.sets = [set()]
        self.most = generations

    def is_new(self, key):
        if len(self.sets[-1]) >= self.every:
            self.sets = [*self.sets, set()][-self.most:]
        if any(key in keys for keys in self.sets):
            return False
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

    def test_in_memory(self):
        for words, keys, model in self.streams():
            due = [key for key in keys if model.is_new(key)]
            self.assertEqual(self.uniq(*words, stdin=lines(*keys)), due)
            self.assertLess(len(set(due)), len(due))

    def test_the_others(self):
        for words, keys, model in self.streams():
            due = [key for key in keys if not model.is_new(key)]
            self.assertEqual(self.uniq("-d", *words, stdin=lines(*keys)), due)

    def test_in_files_over_several_runs(self):
        for words, keys, model in self.streams():
            if model.every == 1:
                keys = keys[:15]
            name = f"seen {model.most} {model.every}"
            for start in range(0, len(keys), len(keys) // 3):
                part = keys[start:start + len(keys) // 3]
                self.assertEqual(self.uniq(*words, "--filter", name, stdin=lines(*part)),
                                 [key for key in part if model.is_new(key)])
            numbers = sorted(int(path.suffix[1:]) for path in self.folder.glob(name + ".*"))
            self.assertEqual(numbers, list(range(numbers[-1] - model.most + 1, numbers[-1] + 1)))

    def test_a_key_is_not_renewed(self):
        """It expires counted from when it was printed, however often it comes."""
        stream = []
        for i in range(30):
            stream += [b"again", b"other %d" % i]
        model = Generations(3, 5)
        printed = self.uniq(*options(3, 5), stdin=lines(*stream))
        self.assertEqual(printed, [key for key in stream if model.is_new(key)])
        self.assertEqual(printed.count(b"again"), 3)

    def test_rates_of_all_together(self):
        """Each generation has its share of the rate."""
        words = ["--generations", "4", "--every", "1000", "--filter"]
        self.uniq(*words, "given", "-p", "0.01")
        self.uniq(*words, "default")
        for name, rate in ("given.1", 0.01), ("default.1", 0.001):
            image = self.read(name)
            bits = craft.field(image, "fpr").to_bytes(8, "little")
            self.assertEqual(struct.unpack("<d", bits), (rate / 4,))
            self.assertEqual(craft.field(image, "label").rstrip(b"\0"), b"bfuniq --generations 4")


class Files(UniqTest):
    WORDS = options(2, 10, "--filter", "seen")

    def numbers(self):
        return sorted(int(path.suffix[1:]) for path in self.folder.glob("seen.*"))

    def test_numbers_grow(self):
        for i in range(6):
            self.assertEqual(len(self.uniq(*self.WORDS, stdin=lines(*numbered(10, f"{i} ")))), 10)
            self.assertEqual(self.numbers(), [i, i + 1] if i > 0 else [1])

    def test_a_path_with_a_folder(self):
        (self.folder / "folder").mkdir()
        words = options(2, 10, "--filter", "folder/seen")
        self.uniq(*words, stdin=lines(*numbered(25)))
        self.assertEqual(sorted(path.name for path in self.folder.rglob("seen*")),
                         ["seen.2", "seen.3"])

    def test_left_over_by_a_crash(self):
        """One that should have been removed is neither asked nor left."""
        self.uniq(*self.WORDS, stdin=lines(*numbered(10, "old ")))
        shutil.copy(self.folder / "seen.1", self.folder / "copy")
        self.uniq(*self.WORDS, stdin=lines(*numbered(15, "new ")))
        self.assertEqual(self.numbers(), [2, 3])
        shutil.move(self.folder / "copy", self.folder / "seen.1")
        self.assertEqual(self.uniq(*self.WORDS, stdin=lines("new 0", "new 14", "old 0")),
                         [b"old 0"])
        self.assertEqual(self.numbers(), [2, 3])

    def test_who_forgets_to_ask_for_generations_is_told(self):
        """A new file would print all lines again."""
        self.uniq(*self.WORDS, stdin=lines(*numbered(25)))
        for words in [], ["-n", 10], ["-q", "--accept-unclean"]:
            message = self.trouble("bfuniq", "--filter", "seen", *words, stdin=lines("key 0"))
            self.assertRegex(message, r"^bfuniq: cannot make seen: there is seen\.[23], of 'bfuniq "
                                      r"--generations 2' \(give that and --every again, or name a new "
                                      r"file\)\n$")
        self.create_live("-n", 10, name="seen")
        self.assertEqual(self.uniq("--filter", "seen", stdin=lines("key 0")), [b"key 0"])

    def test_generations_do_not_begin_beside_a_filter(self):
        self.uniq("--filter", "seen", "-n", "100", stdin=lines("key 0"))
        before = self.read("seen")
        message = self.trouble("bfuniq", *self.WORDS, stdin=lines("key 0"))
        self.assertIn("cannot begin generations of seen: it is a filter without them", message)
        self.assertEqual(self.numbers(), [])
        self.assertEqual(self.read("seen"), before)

    def test_files_that_are_no_generations_are_in_nobodys_way(self):
        self.create_live("-n", 10, name="seen.1")
        self.write("seen.2", b"text")
        self.assertEqual(self.uniq("--filter", "seen", stdin=lines("key 0")), [b"key 0"])

    def test_files_of_others_stay(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(45)))
        self.assertEqual(self.numbers(), [4, 5])
        self.uniq("--filter", "seen.2", "-n", "10", stdin=b"a\n")
        self.write("seen.1", b"a log\n")
        for name in "seen.007", "seen.9x", "seen.", "seen.-1", "seen.99999999999999999999", "seen":
            self.write(name, b"nothing of ours")
        names = set(self.snapshot())
        self.assertEqual(self.uniq(*self.WORDS, stdin=b"key 44\n"), [])
        self.assertEqual(set(self.snapshot()), names)

    def test_a_newest_that_is_no_filter(self):
        self.write("seen.3", b"a log\n")
        self.trouble("bfuniq", *self.WORDS, stdin=b"a\n", names=["seen.3", "not a filter file"])
        (self.folder / "seen.3").unlink()
        self.uniq("--filter", "seen.3", "-n", "10", stdin=b"a\n")
        self.trouble("bfuniq", *self.WORDS, stdin=b"a\n", names=["seen.3", "labelled ''"],
                     changes=True)

    def test_a_newest_that_leads_nowhere(self):
        (self.folder / "seen.3").symlink_to("missing")
        self.trouble("bfuniq", *self.WORDS, stdin=b"a\n", names=["seen", "gone"])

    def test_a_missing_older_one_is_forgotten(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(15)))
        (self.folder / "seen.1").unlink()
        self.assertEqual(self.uniq(*self.WORDS, stdin=lines("key 0", "key 14")), [b"key 0"])

    def test_contradictions(self):
        self.uniq(*self.WORDS, stdin=b"a\n")
        for words, named in ((["--generations", "3", "--every", "10"],
                              "labelled 'bfuniq --generations 2', not 'bfuniq --generations 3'"),
                             (["--generations", "2", "--every", "11"], "--every 10, not 11"),
                             (["--generations", "2", "--every", "10", "-p", "0.1"],
                              "-p 1e-12, not 0.1"),
                             (["--generations", "2", "--every", "10", "-s", "1"], "-s 0, not 1")):
            self.trouble("bfuniq", "--filter", "seen", *words, stdin=b"b\n",
                         names=["seen.1", named], changes=True)
        self.assertEqual(self.uniq("--filter", "seen", "--generations", "2", "--every", "10",
                                   stdin=b"a\nb\n"), [b"b"])

    def test_later_generations_are_like_the_first(self):
        self.uniq("--filter", "seen", "--generations", "2", "--every", "10", "-p", "0.5", "-l",
                  "classic", "-s", "random")
        first = self.read("seen.1")
        self.uniq("--filter", "seen", "--generations", "2", "--every", "10",
                  stdin=lines(*numbered(100)))
        numbers = self.numbers()
        self.assertGreater(numbers[-1], 3)
        for number in numbers:
            image = self.read(f"seen.{number}")
            for name in "m", "k", "layout", "seed", "capacity", "fpr":
                self.assertEqual(craft.field(image, name), craft.field(first, name), name)

    def test_the_machine_went_down(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(15)))
        for number in 1, 2:
            self.write(f"seen.{number}", craft.edit(self.read(f"seen.{number}"),
                                                    record={"boot_id": b"another machine!"}))
        self.trouble("bfuniq", *self.WORDS, stdin=b"a\n", names=["seen.2", "--accept-unclean"])
        again = lines("key 0", "key 14", "a")
        self.assertEqual(self.uniq("--accept-unclean", *self.WORDS, stdin=again), [b"a"])
        self.assertEqual(self.uniq(*self.WORDS, stdin=again), [])

    def test_an_older_one_that_is_poisoned(self):
        self.uniq(*self.WORDS, stdin=lines(*numbered(15)))
        self.write("seen.1", craft.edit(self.read("seen.1"), record={"state": craft.POISONED}))
        self.trouble("bfuniq", *self.WORDS, stdin=b"a\n", names=["seen.1", "poisoned"],
                     changes=True)

    def test_an_older_one_that_becomes_poisoned(self):
        """From then on it would answer that it has seen everything."""
        process = self.start(*self.WORDS)
        self.take_turn(process, *numbered(15))
        image = craft.edit(self.read("seen.1"), record={"state": craft.POISONED})
        with open(self.folder / "seen.1", "r+b") as file:
            file.write(image)
        out, errors = process.communicate(b"a\n", timeout=TIMEOUT)
        self.assertEqual((process.returncode, out), (2, b""))
        self.check_message("bfuniq", errors, "older generation of seen", "poisoned")

    def test_after_a_kill_the_count_goes_on(self):
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
            if self.numbers() != [1]:
                break
            self.take_turn(process, *keys[i:i + 100])
        self.assertEqual(self.finish(process), [])
        self.assertTrue(0.45 * every < i < 0.55 * every, i)


class SeveralProcesses(UniqTest):
    def test_taking_turns(self):
        """A key is remembered for G-1 to G periods, whoever has seen it; counts are estimates."""
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

    def test_one_that_slept(self):
        """It wakes up many generations later, and goes on with the newest."""
        words = options(2, 10, "--filter", "seen")
        one = self.start(*words)
        self.take_turn(one, b"a")
        self.uniq(*words, stdin=lines(*numbered(95)))
        self.take_turn(one, b"a", b"b")
        self.assertEqual(self.uniq(*words, "-d", stdin=b"a\nkey 94\nb\n"), [b"a", b"key 94", b"b"])
        self.assertEqual(self.finish(one), [])

    def test_a_newer_one_by_another_process(self):
        """It is found before the next line, full as this one may not be."""
        words = options(2, 10, "--filter")
        one = self.start(*words, "seen")
        self.take_turn(one, b"a")
        self.uniq(*words, "other", stdin=b"b\n")
        (self.folder / "other.1").rename(self.folder / "seen.2")
        one.stdin.write(b"a\nb\n")
        self.take_turn(one, b"c")
        self.assertEqual(self.uniq(*words, "seen", "-d", stdin=b"a\nb\nc\n"), [b"a", b"b", b"c"])
        self.assertEqual(self.finish(one), [])

    def test_removed_while_in_use(self):
        """The next one begins where the next process finds it."""
        words = options(2, 10, "--filter", "seen")
        one = self.start(*words)
        self.take_turn(one, b"a")
        (self.folder / "seen.1").unlink()
        self.take_turn(one, b"a", b"b")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["seen.2"])
        self.assertEqual(self.uniq(*words, stdin=b"a\nb\n"), [])
        self.assertEqual(self.finish(one), [])

    def test_rotating_at_the_same_time(self):
        """All is printed; twice only what was on its way just then; and nothing is left behind."""
        every, count = 2000, 10_000 if SANITIZED else 40_000
        words = options(4, every, "--filter", "seen")
        keys = numbered(count)
        self.write("keys", lines(*keys))
        processes = [self.start(*words, "keys") for _ in range(2)]
        outputs = [self.finish(process) for process in processes]
        self.assertEqual(set(outputs[0]) | set(outputs[1]), set(keys))
        for output in outputs:
            self.assertEqual(len(set(output)), len(output))
        numbers = sorted(int(path.suffix[1:]) for path in self.folder.glob("seen.*"))
        self.assertEqual(len(numbers), 4)
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + 4)))

    @needs(*UNPRIVILEGED)
    def test_a_generation_that_cannot_be_made_loses_no_line(self):
        words, keys = options(3, 3, "--filter", "seen"), numbered(20)
        self.uniq(*words, stdin=lines(*keys[:7]))
        self.folder.chmod(0o555)
        result = self.run_tool("bfuniq", *words, stdin=lines(*keys), before=UNPRIVILEGED)
        self.folder.chmod(0o755)
        self.assertEqual(result.returncode, 2)
        self.check_message("bfuniq", result.stderr, "seen.4")
        self.assertEqual(result.stdout, lines(*keys[7:9]))
        self.assertEqual(self.query("seen.3", stdin=lines(*keys)), keys[6:9])
        self.assertEqual(self.uniq(*words, stdin=lines(*keys[7:12])), keys[9:12])

    def test_a_generation_is_no_filter_of_its_own(self):
        self.uniq(*options(2, 5, "--filter", "seen"), stdin=b"a\n")
        self.assertIn("one of 'bfuniq --generations 2'",
                      self.trouble("bfuniq", "--filter", "seen.1", names=["seen.1"], changes=True))
        self.assertEqual(self.inspected("seen.1")["record"]["n"], 1)

    def test_names_in_the_folder(self):
        """Nothing but generations is ever there."""
        words = options(2, 50, "--filter", "seen")
        processes = [self.start(*words) for _ in range(3)]
        for process in processes:
            process.stdin.write(lines(*numbered(1000)))
            process.stdin.close()
        while any(process.poll() is None for process in processes):
            for path in self.folder.iterdir():
                self.assertTrue(re.fullmatch(r"seen\.[1-9]\d*", path.name), path.name)
        self.assertEqual([process.returncode for process in processes], [0, 0, 0])
        self.assertEqual(len(list(self.folder.iterdir())), 2)


if __name__ == "__main__":
    main()
