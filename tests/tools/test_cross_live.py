# SPDX-License-Identifier: MIT
"""Two implementations of live files, working on the same files: results, counts and locks."""

import fcntl
import json
import os
import random
import subprocess
import sys
from contextlib import suppress
from unittest import mock

from support import SANITIZED, SOURCE_ROOT, craft, lines, main, numbered
from cross_live import ABSENT, KEYS, MORE, RECORD, CrossTest

import spec_writer
from spec_reader import positions, xxh3
from spec_writer import F_OFD_SETLK, Busy, LiveImage, Writer, lock, present_boot

WRITER = [sys.executable, "-B", str(SOURCE_ROOT / "tests" / "spec" / "spec_writer.py")]
LAYOUTS = {"blocked": (512, 20_480), "classic": (1, 30_000), "counting": (1, 30_000)}
COMBINATIONS = 9 if SANITIZED else 27


def combinations():
    """Parameters of all kinds, the same in every run."""
    chosen = random.Random(20261121)
    for number in range(COMBINATIONS):
        layout = list(LAYOUTS)[number % 3]
        unit, most = LAYOUTS[layout]
        yield {"layout": layout,
               "m": unit if number % 9 < 3 else unit * chosen.randint(1, most // unit),
               "k": chosen.choice([1, 2, 3, 6, 7, 13, 64]),
               "seed": chosen.choice([0, 1, 2**64 - 1, chosen.getrandbits(64)]),
               "capacity": chosen.choice([1, 10**6, 2**60]),
               "fpr": chosen.choice([0.01, 1e-9]),
               "label": chosen.choice(["", "étiquette ☃"]),
               "tag": chosen.choice(["00" * 16, chosen.randbytes(16).hex()])}


class Results(CrossTest):
    def test_the_same_operations_leave_the_same_bytes(self):
        for number, parameters in enumerate(combinations()):
            chosen = random.Random(number)
            keys = chosen.sample(KEYS, chosen.choice([0, 1, 30, 100]))
            again = keys[:chosen.choice([0, 5, 40])] * chosen.choice([1, 16])
            with self.subTest(**parameters, n=len(keys)):
                for by in "c", "python":
                    self.make(by, by, **parameters)
                    self.add(by, by, keys)
                    self.add(by, by, again + MORE)
                    if parameters["layout"] == "counting":
                        self.remove(by, by, again + MORE[:50])
                    self.agreed(by, keys + MORE[50:], ABSENT)
                self.alike("c", "python")
                for by in "c", "python":
                    self.seal(by, by)
                    craft.Image(self.read(by), by).verify()
                self.assertEqual(self.read("c"), self.read("python"))
                self.output("bfquery", "--verify", "-q", "python", stdin=lines(*KEYS, *MORE))

    def test_implementations_take_turns_on_one_file(self):  # L24
        sealed = {layout: craft.make(layout, 30_720, 5, KEYS + MORE, capacity=1000, fpr=0.01,
                                     key_kind="text")
                  for layout in LAYOUTS}
        for layout in LAYOUTS:
            for hands in ("c", "python", "c"), ("python", "c", "python"), \
                         ("c", "c", "python"), ("python", "python", "c"):
                with self.subTest(layout=layout, hands=hands):
                    maker, adder, sealer = hands
                    self.make(maker, "live", layout, 30_720)
                    self.agreed()
                    self.add(adder, "live", KEYS)
                    self.assertEqual(self.agreed("live", KEYS, ABSENT)["n"], len(KEYS))
                    self.add(maker, "live", MORE)
                    self.agreed("live", KEYS + MORE, ABSENT)
                    self.seal(sealer, "live")
                    self.agreed("live", KEYS + MORE, ABSENT)
                    self.assertEqual(self.read("live"), sealed[layout])

    def test_both_count_the_same_new_keys(self):
        """The filter is so small that many keys are false positives."""
        for layout in LAYOUTS:
            for by in "c", "python":
                self.make(by, by, layout, 1536, 4)
            out = self.run_tool("bfadd", "-v", "--overfull", "c",
                                stdin=lines(*KEYS, *MORE, *KEYS)).stderr.decode().splitlines()[-1]
            writer = self.joined("python")
            new = writer.add(KEYS + MORE + KEYS)
            writer.leave()
            self.assertEqual(out, f"bfadd: c: {2 * len(KEYS) + len(MORE)} keys, {new} new")
            self.assertLess(new, len(KEYS + MORE))
            self.alike("c", "python")

    def test_unknown_flags_and_reserved_bytes_are_kept(self):
        for maker, keeper in ("c", "python"), ("python", "c"):
            self.make(maker, "live")
            unknown = {"flags": 0xFFFFFFFC}
            at = {2048 + 1024 * slot + 100: b"reserved" for slot in (0, 1)}
            image = craft.edit(self.read("live"), at=at, record=unknown)
            image = craft.edit(image, header={"compat": 1 << 31})
            self.write("live", image)
            self.add(keeper, "live", KEYS)
            for then in lambda: None, lambda: self.seal(keeper, "live"):
                then()
                image = LiveImage(self.read("live"), "live")
                self.assertEqual(image.record["flags"], 0xFFFFFFFC)
                self.assertEqual(image.slot()[100:108], b"reserved")
            self.output("bfquery", "--verify", "live", stdin=lines(*KEYS))


class Counting(CrossTest):
    def test_random_adds_and_removals_give_the_same_counters(self):
        """Both take turns on one file, and each works on a file of its own. In small filters, counters fill up."""
        for m, k in (1, 1), (1, 5), (3, 7), (60, 3), (997, 4):
            chosen = random.Random(m)
            for name, by in ("both", "c"), ("c", "c"), ("python", "python"):
                self.make(by, name, "counting", m, k)
            there = []
            for turn in range(6):
                added = chosen.choices(KEYS[:50], k=chosen.choice([1, 8, 40]))
                there += added
                chosen.shuffle(there)
                gone, there = there[:len(there) // 2], there[len(there) // 2:]
                for name, by in (("both", ("c", "python")[turn % 2]), ("c", "c"),
                                 ("python", "python")):
                    self.add(by, name, added)
                    self.remove(by, name, gone)
                records = [self.agreed(name, there, ABSENT[:20])
                           for name in ("both", "c", "python")]
                for record in records[1:]:
                    self.assertEqual([record[field] for field in RECORD],
                                     [records[0][field] for field in RECORD])
                self.assertEqual(len({craft.body_of(self.read(name))
                                      for name in ("both", "c", "python")}), 1)

    def test_both_refuse_to_remove_an_absent_key(self):
        for by, other in ("c", "python"), ("python", "c"):
            self.make(by, "live", "counting")
            self.add(other, "live", [*KEYS, b"twice", b"twice"])
            before = craft.body_of(self.read("live"))
            self.remove(by, "live", ABSENT[:5], absent=5)
            self.assertEqual(craft.body_of(self.read("live")), before)
            self.remove(by, "live", [b"twice", ABSENT[0], KEYS[0], b"twice", b"twice"], absent=2)
            self.assertEqual(self.agreed("live", KEYS[1:])["n"], len(KEYS) - 1)
            self.remove(other, "live", KEYS[:2], absent=1)
            self.remove(by, "live", KEYS[2:])
            record = self.agreed("live")
            self.assertEqual((record["n"], record["ones"]), (0, 0))
            self.assertFalse(any(craft.body_of(self.read("live"))))

    def test_counter_must_cover_repeated_positions_of_a_key(self):
        """A counter of 1 is not enough for a key that has two positions on it."""
        header = {"layout": 3, "m": 5, "k": 2}
        twice, once = (next(key for key in numbered(100) if len(set(
            positions(header, xxh3(key, 0)))) == count) for count in (1, 2))
        [at] = set(positions(header, xxh3(twice, 0)))
        once = next(key for key in numbered(100)
                    if sorted(positions(header, xxh3(key, 0))).count(at) == 1)
        for by, other in ("c", "python"), ("python", "c"):
            self.make(by, "live", "counting", 5, 2)
            self.add(by, "live", [once])
            self.remove(other, "live", [twice], absent=1)
            self.add(other, "live", [twice])
            self.remove(by, "live", [twice])
            self.agreed("live", [once])

    def test_saturated_counters_stay_saturated(self):  # L6
        for by, other in ("c", "python"), ("python", "c"):
            self.make(by, "live", "counting", 101, 3)
            self.add(by, "live", [b"often"] * 14)
            self.assertEqual(self.agreed("live", [b"often"])["overflow"], 0)
            self.add(other, "live", [b"often"])
            self.assertEqual(self.agreed("live", [b"often"])["overflow"], 3)
            self.remove(by, "live", [b"often"] * 20)
            record = self.agreed("live", [b"often"])
            self.assertEqual((record["overflow"], record["n"], record["ones"]), (3, 1, 3))


class Together(CrossTest):
    def setUp(self):
        super().setUp()
        self.make("c", "live", "counting")

    def test_writers_are_counted(self):
        by_c = self.adder(*MORE[:3])
        self.assertEqual(self.agreed("live", MORE[:3])["writers"], 1)
        by_python = self.joined()
        record = self.agreed()
        self.assertEqual((record["writers"], record["boot_id"]), (2, present_boot().hex()))
        by_python.synchronise()
        self.assertEqual(self.agreed()["writers"], 2)
        by_python.leave()
        record = self.agreed()
        self.assertEqual((record["writers"], record["n"], record["boot_id"]),
                         (1, 0, present_boot().hex()))
        self.assertEqual(self.result(by_c, lines(*MORE[3:])), (0, b"", b"bfadd: live: 100 keys, 100 new\n"))
        record = self.agreed("live", MORE)
        self.assertEqual((record["writers"], record["n"], record["boot_id"], record["flags"]),
                         (0, len(MORE), "00" * 16, 0))

    def test_python_marks_the_file_clean_if_it_leaves_last(self):  # L2
        by_python = self.joined()
        by_python.add(KEYS)
        by_c = self.adder(*MORE)
        self.result(by_c)
        record = self.agreed("live", KEYS + MORE, ABSENT)
        self.assertEqual((record["writers"], record["n"]), (1, len(MORE)))
        by_python.leave()
        record = self.agreed("live", KEYS + MORE, ABSENT)
        self.assertEqual((record["writers"], record["n"], record["boot_id"], record["flags"]),
                         (0, len(KEYS + MORE), "00" * 16, 0))

    def test_readers_see_adds_of_the_other_implementation(self):
        reader = self.reader()
        by_c = self.start("bfquery", "live")
        for key in MORE[:5]:
            self.assertFalse(reader.maybe(key))
            self.add("c", "live", [key])
            self.assertTrue(reader.maybe(key))
        for key in KEYS[1:5]:
            self.add("python", "live", [key])
            self.feed(by_c, ABSENT[0], key)
            self.assertEqual(by_c.stdout.readline(), key + b"\n")
        self.seal("python", "live")
        self.assertEqual(self.result(by_c, lines(ABSENT[0], KEYS[1])), (0, lines(KEYS[1]), b""))
        self.assertTrue(reader.maybe(MORE[0]))
        self.assertFalse(reader.maybe(ABSENT[0]))

    def test_c_is_refused_while_python_seals(self):
        writer = self.joined()
        writer.hold_writers(fcntl.F_WRLCK)
        before = self.read("live")
        for tool in "bfadd", "bfseal":
            message = self.trouble(tool, "live", stdin=b"a\n")
            self.assertRegex(message, "in use|open for writing|sealed")
        with self.assertRaises(Busy):
            self.joined()
        self.assertEqual(self.query("live", stdin=b"a\n", status=1), [])
        self.assertEqual(self.read("live"), before)
        writer.leave()
        self.add("c", "live", [b"a"])
        self.assertEqual(self.agreed("live", [b"a"])["flags"], 0)

    def test_c_cannot_seal_while_python_writes(self):
        writer = self.joined()
        writer.add(KEYS)
        message = self.trouble("bfseal", "live", changes=True)
        self.assertIn("other programs have it open for writing", message)
        self.assertEqual(self.agreed("live", KEYS)["writers"], 1)
        writer.seal()
        self.assertEqual(self.agreed("live", KEYS)["n"], len(KEYS))
        self.assertEqual(self.read("live"), craft.make("counting", 30_000, 5, KEYS, capacity=1000,
                                                       fpr=0.01, key_kind="text"))

    def test_python_cannot_seal_while_c_writes(self):
        by_c = self.adder(b"a")
        before = self.read("live")
        with self.assertRaises(Busy):
            spec_writer.seal(self.path("live"))
        after = self.read("live")
        self.assertEqual(after[:2048] + after[4096:], before[:2048] + before[4096:])
        by_python = self.joined()
        for refused in lambda: by_python.add(KEYS), by_python.seal, \
                lambda: by_python.remove(b"a"):
            with self.assertRaises(Busy):
                refused()
        self.assertEqual(self.result(by_c), (0, b"", b"bfadd: live: 1 key, 1 new\n"))
        by_python.add(KEYS)
        by_python.seal()
        self.assertEqual(self.agreed("live", [b"a", *KEYS])["n"], len(KEYS) + 1)

    def test_concurrent_commits_do_not_overlap(self):
        """Commits of both implementations must not overlap while processes join and leave."""
        there = []
        for number in range(10):
            keys = [numbered(20, f"{number} {chunk} ") for chunk in range(4)]
            crowd = [self.start("bfadd", "-v", "--sync", 5, "live") for _ in keys]
            for process, chunk in zip(crowd, keys):
                self.feed(process, *chunk[:10])
            for _ in range(5):
                by_python = self.joined()
                by_python.synchronise()
                by_python.leave()
            for process, chunk in zip(crowd, keys):
                self.assertEqual(self.result(process, lines(*chunk[10:])),
                                 (0, b"", b"bfadd: live: 20 keys, 20 new\n"))
            there += sum(keys, [])
            record = self.agreed("live", there if number == 9 else there[-80:])
            self.assertEqual([record[field] for field in ("n", "writers", "flags", "boot_id")],
                             [len(there), 0, 0, "00" * 16])

    def test_python_waits_for_locks_of_c(self):
        """Byte 1 and byte 3 are locks for joining, byte 2 for removing."""
        self.add("c", "live", MORE)
        for byte, command, key in (1, "add", b"x"), (3, "add", b"y"), (2, "remove", MORE[0]):
            before = craft.body_of(self.read("live"))
            with self.file().held(byte):
                process = subprocess.Popen([*WRITER, command, self.path("live")],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE)
                self.addCleanup(self.end, process)
                self.feed(process, key)
                process.stdin.close()
                self.until(lambda: not self.file().is_alone(), process)
                self.until_asleep(process)
                self.assertEqual(craft.body_of(self.read("live")), before)
            self.assertEqual(process.wait(), 0)
            self.assertNotEqual(craft.body_of(self.read("live")), before)

    def test_c_waits_for_locks_of_python(self):
        """Byte 1 is locked to join, byte 2 to remove, and one of bytes 64 to 127 to add exactly."""
        self.add("c", "live", MORE)
        byte = 64 + (xxh3(b"exact", 0) >> 58)
        for held, tool, key in ((1, ["bfadd"], b"x"), (2, ["bfadd", "--remove"], MORE[0]),
                                (byte, ["bfadd", "--exact"], b"exact")):
            before = craft.body_of(self.read("live"))
            with self.file().held(held):
                process = self.start(*tool, "live")
                self.feed(process, key)
                self.until_asleep(process)
                self.assertEqual(craft.body_of(self.read("live")), before)
            self.assertEqual(self.result(process)[0], 0)
            self.assertNotEqual(craft.body_of(self.read("live")), before)

    def test_c_does_not_wait_for_unrelated_lock_bytes(self):
        file = self.file()
        others = [byte for byte in (2, *range(4, 128))
                  if byte != 64 + (xxh3(b"exact", 0) >> 58)]
        for byte in others:
            lock(file.fd, F_OFD_SETLK, fcntl.F_WRLCK, byte)
        self.output("bfadd", "-q", "--exact", "live", stdin=b"exact\n")
        self.agreed("live", [b"exact"])

    def test_writer_joins_the_file_that_now_has_the_name(self):  # L4
        """The keys are added to the file that now has the name."""
        self.make("c", "other", "counting")
        with self.file().held(1):
            by_c = self.start("bfadd", "live")
            self.feed(by_c, b"by c")
            self.until(lambda: not self.file().is_alone(), by_c)
            os.rename(self.path("live"), self.path("old"))
            os.rename(self.path("other"), self.path("live"))
        self.assertEqual(self.result(by_c)[0], 0)
        join = Writer.join

        def renamed(writer, accept_unclean):
            join(writer, accept_unclean)
            with suppress(FileNotFoundError):
                os.rename(self.path("old"), self.path("live"))

        with mock.patch.object(Writer, "join", renamed):
            os.rename(self.path("live"), self.path("first"))
            os.link(self.path("first"), self.path("live"))
            self.add("python", "live", [b"by python"])
        self.assertEqual(self.query("first", stdin=b"by c\nby python\n"), [b"by c"])
        self.assertEqual(self.query("live", stdin=b"by c\nby python\n"), [b"by python"])
        for name in "first", "live":
            record = self.agreed(name)
            self.assertEqual((record["writers"], record["n"], record["boot_id"]), (0, 1, "00" * 16))


class Program(CrossTest):
    def writer(self, command, *arguments, stdin=b"", status=0, says=""):
        """The output of the Python program."""
        result = subprocess.run([*WRITER, command, *map(str, arguments)], input=stdin,
                                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((result.returncode, bool(result.stderr)), (status, bool(says)), result)
        self.assertIn(says, result.stderr.decode())
        return result.stdout

    def test_writer_works_as_a_program(self):
        words = ["--layout", "counting", "--m", 3000, "--k", 5, "--capacity", 100,
                 "--label", "text"]
        self.writer("create", "live", *words)
        self.writer("create", "live", *words, status=2, says="exists")
        self.make("c", "by-c", "counting", 3000, 5, 100, label="text")
        self.writer("add", "live", stdin=lines(*MORE))
        self.writer("remove", "-0", "live", stdin=b"more 1\0more 2\0")
        self.writer("remove", "live", stdin=lines(MORE[1], MORE[3]), status=1,
                    says="EABSENT 1 keys")
        self.assertEqual(self.writer("query", "live", stdin=lines(*MORE[:5])),
                         lines(MORE[0], MORE[4]))
        self.assertEqual(self.writer("query", "-v", "live", stdin=lines(*MORE[:5])),
                         lines(*MORE[1:4]))
        shown, report = json.loads(self.writer("info", "live")), self.inspected("live")
        self.assertEqual((shown["state"], shown["record"]["n"], shown["header"]["label"]),
                         ("live", report["record"]["n"], report["header"]["label"]))
        self.writer("seal", "live", "--until", 4)
        self.assertFalse(json.loads(self.writer("info", "live"))["records_identical"])
        self.writer("seal", "live")
        self.writer("seal", "live", status=2, says="sealed")
        self.writer("add", "live", status=2, says="sealed")
        self.assertEqual(self.agreed("live", [MORE[0], *MORE[4:]])["n"], 97)
        self.writer("add", "by-c", "--die", stdin=lines(*MORE))
        self.assertEqual(self.agreed("by-c", MORE)["writers"], 1)
        self.writer("poison", "by-c")
        self.writer("query", "by-c", status=2, says="EPOISONED rule V35")
        self.trouble("bfquery", "by-c", stdin=b"a\n")


if __name__ == "__main__":
    main()
