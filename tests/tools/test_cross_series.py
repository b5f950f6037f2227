# SPDX-License-Identifier: MIT
"""Two implementations of series, working on the same files: layers, answers, counts and sealed copies."""

import os
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress

from support import SOURCE_ROOT, ToolTest, craft, lines, main, numbered

import craft_series
import spec_reader
import spec_series
import spec_writer
from spec_reader import N_ESTIMATED, Series, layers_of, opened
from spec_series import SUCCEEDED, LiveSeries, SeriesWriter, slot_path
from spec_writer import H, LiveImage, present_boot

PROGRAM = [sys.executable, "-B", str(SOURCE_ROOT / "tests" / "spec" / "spec_series.py")]
HANDS = "c", "python"
ABSENT = numbered(300, "absent ")
OTHER_BOOT = bytes(range(16))


class SeriesTest(ToolTest):
    def path(self, name="live"):
        return self.folder / name

    def remove(self, name="live"):
        for path in self.folder.glob(f"{name}*"):
            path.unlink()

    def make(self, by, name="live", layout="blocked", generations=0, capacity=20, fpr=0.001,
             label="", tag="00" * 16, seed=0):
        self.remove(name)
        if by == "c":
            how = ["--generations", generations, "--every", capacity] if generations else \
                ["--grow", "-n", capacity]
            self.create_live(*how, "-l", layout, "-p", fpr, "-s", seed, "--label", label, "--tag",
                             tag, name=name)
        else:
            spec_series.create(self.path(name), spec_series.first_layer(
                {**craft_series.plain(layout, seed), "generations": generations, "period": 0,
                 "capacity": capacity, "label": label.encode(), "tag": bytes.fromhex(tag),
                 "key_kind": 1}, fpr))

    def writer(self, name="live", **options):
        writer = SeriesWriter(self.path(name), **options)
        self.addCleanup(writer.series.close)
        return writer

    def reader(self, name="live", **options):
        reader = LiveSeries(self.path(name), **options)
        self.addCleanup(reader.close)
        return reader

    def add(self, by, keys, name="live", **options):
        if by == "c":
            words = ["--accept-unclean"] if options.get("accept_unclean") else []
            self.output("bfadd", "-q", *words, name, stdin=lines(*keys))
        else:
            writer = self.writer(name, **options)
            writer.add(keys)
            writer.leave()

    def seal(self, by, name="live", out="sealed"):
        if by == "c":
            self.output("bfseal", "-q", "--force", "--discard", name, out)
        else:
            spec_series.seal(self.path(name), self.path(out))
        return self.read(out)

    def images(self, name="live"):
        """The layers as the Python reader sees them, the oldest first."""
        reader = LiveSeries(self.path(name), accept_unclean=True)
        images = [LiveImage(layer.mapping[:], str(layer.image.path), accept_unclean=True)
                  for _, layer in sorted(reader.layers.items())]
        reader.close()
        return images

    def answers(self, keys, name="live"):
        """The keys that may be in the series. Both implementations must agree."""
        data = self.read(name)
        sealed = isinstance(opened_or_none(data), Series)
        reader = opened(data, name) if sealed else self.reader(name)
        found = [key for key in keys if reader.maybe(key)]
        if not sealed:
            self.assertIsNone(reader.error)
        out = self.run_tool("bfquery", name, stdin=lines(*keys))
        self.assertEqual((out.returncode, out.stdout, out.stderr),
                         (0 if found else 1, lines(*found), b""))
        return found

    def check(self, keys, name="live", clean=True):
        """Checks that the series is complete and has all of the keys. Returns its layers."""
        images = self.images(name)
        numbers = [image.header["layer"] for image in images]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        for image in images:
            newest = image is images[-1]
            self.assertEqual(image.record["flags"], 0 if newest else SUCCEEDED)
            if clean:
                self.assertEqual((image.record["writers"], any(image.record["boot_id"])),
                                 (0, False))
            ones, _ = spec_reader.ones_and_overflow(image.header, image.body)
            self.assertEqual(image.record["ones"], ones)
        found = self.answers([*keys, *ABSENT], name)
        self.assertEqual(found[:len(keys)], list(keys))
        self.assertLess(len(found) - len(keys), 10)
        return images

    def check_refused(self, error, name="live"):
        with self.assertRaisesRegex(ValueError, f"BLOOMFILE_{error} "):
            LiveSeries(self.path(name))
        words = self.words(error)
        self.assertIn(words, self.trouble("bfquery", name, stdin=b"a\n", changes=True))
        self.assertIn(words, self.trouble("bfadd", name, stdin=b"a\n", changes=True))

    def words(self, error):
        told = {"EMISSINGLAYER": " is missing", "ESERIES": " layer ", "EISSERIES": "series of layers"}
        if error in told:  # the tools name the file at fault
            return told[error]
        text = (SOURCE_ROOT / "include" / "bloomfile_error.h").read_text()
        return re.search(rf"\bBLOOMFILE_{error} =\s*-\d+,\s*/\* (.*?) \*/", text)[1]


def opened_or_none(data):
    with suppress(ValueError):
        return opened(data, "")
    return None


class Growing(SeriesTest):
    def test_implementations_take_turns_on_one_series(self):
        """The two implementations take turns to make, fill, follow and seal layers."""
        keys = numbered(400)
        for layout in "blocked", "classic":
            for maker in HANDS:
                self.make(maker, layout=layout)
                other = HANDS[maker == "c"]
                for turn, by in enumerate((other, maker, other, maker, maker, other, other, maker)):
                    with self.subTest(layout=layout, maker=maker, turn=turn):
                        self.add(by, keys[50 * turn:50 * turn + 50])
                        images = self.check(keys[:50 * turn + 50])
                self.assertEqual([image.header["layer"] for image in images], [0, 1, 2, 3, 4])
                self.assertLessEqual(400 - sum(image.record["n"] for image in images), 2)
                self.assertEqual([image.header["capacity"] for image in images],
                                 [20, 40, 80, 160, 320])
                rates = [spec_series.unpacked(image.header["fpr"]) for image in images]
                for i, rate in enumerate(rates):
                    self.assertAlmostEqual(rate, 0.001 / 8 * (7 / 8) ** i, 12)

    def test_no_layer_exceeds_its_capacity(self):
        for by in HANDS:
            self.make(by, capacity=1000)
            self.add(by, numbered(5000))
            for image in self.check([])[:-1]:
                self.assertLessEqual(image.record["n"], image.header["capacity"] * 1.01)
                self.assertGreaterEqual(image.record["n"], image.header["capacity"] * 0.9)

    def test_key_is_new_only_once(self):
        keys = numbered(150)
        for by, other in (HANDS, HANDS[::-1]):
            self.make(by)
            self.add(by, keys)
            before = [image.record["n"] for image in self.check(keys)]
            self.add(other, keys + keys)
            self.assertEqual([image.record["n"] for image in self.check(keys)], before)

    def test_layer_without_a_successor_mark_is_followed(self):
        """Two layers without the mark of a successor: lookups use both, and the next writer sets the mark."""
        keys = numbered(50)
        for by in HANDS:
            self.make("python", capacity=100)
            self.add("c", keys)
            writer = self.writer()
            writer.succeed(writer.writer, 0, mark=False)
            writer.leave()
            self.assertEqual([image.record["flags"] for image in self.images()], [0, 0])
            self.assertEqual(self.answers(keys), keys)
            self.add(by, [b"the next"])
            images = self.check([*keys, b"the next"])
            self.assertEqual([image.record["n"] for image in images], [50, 1])

    def test_open_readers_see_new_layers(self):
        keys = numbered(300)
        for by in HANDS:
            self.make("c")
            reader, by_c = self.reader(), self.start("bfquery", "live")
            for start in range(0, 300, 30):
                self.add(by, keys[start:start + 30])
                chosen = keys[start + 29]
                self.assertTrue(reader.maybe(chosen))
                self.feed(by_c, ABSENT[0], chosen)
                self.assertEqual(by_c.stdout.readline(), chosen + b"\n")
            self.assertFalse(reader.maybe(ABSENT[0]))
            self.assertEqual(self.result(by_c, lines(*keys)), (0, lines(*keys), b""))

    def test_open_writers_continue_in_new_layers(self):
        """A C writer has joined the first layer while a Python writer makes the next layers."""
        self.make("c", capacity=100)
        by_c = self.start("bfadd", "live")
        self.feed(by_c, b"first of c")
        self.wait_for_key("live", b"first of c", by_c)
        writer = self.writer()
        writer.succeed(writer.writer, 0)
        writer.go_on()
        self.assertEqual(self.result(by_c, lines(*numbered(50)))[0], 0)
        writer.add([b"by python"])
        writer.leave()
        images = self.check([b"first of c", b"by python", *numbered(50)])
        self.assertEqual([image.record["n"] for image in images], [1, 51])

    def test_concurrent_writers_grow_one_series(self):
        """C writers grow the series at the same time, while Python reads it."""
        self.make("c", capacity=50)
        keys = [numbered(600, f"{number} ") for number in range(4)]
        crowd = [self.start("bfadd", "--exact", "live") for _ in keys]
        feeders = [threading.Thread(target=self.result, args=(process, lines(*some)))
                   for process, some in zip(crowd, keys)]
        for feeder in feeders:
            feeder.start()
        while any(feeder.is_alive() for feeder in feeders):
            self.reader().maybe(ABSENT[0])
        for feeder in feeders:
            feeder.join()
        self.assertEqual([process.returncode for process in crowd], [0] * 4)
        images = self.check(sum(keys, []))
        self.assertLessEqual(2400 - sum(image.record["n"] for image in images), 10)
        for image in images[:-1]:
            self.assertLessEqual(image.record["n"], image.header["capacity"] * 1.01 + 4)


class Forgetting(SeriesTest):
    def test_implementations_take_turns_on_one_ring(self):
        keys = numbered(400)
        for generations in 2, 3:
            for maker in HANDS:
                self.make(maker, generations=generations)
                other = HANDS[maker == "c"]
                for turn, by in enumerate((other, maker, other, maker, maker, other, other, maker)):
                    with self.subTest(generations=generations, maker=maker, turn=turn):
                        self.add(by, keys[50 * turn:50 * turn + 50])
                        last = 50 * turn + 50
                        # All generations except the newest are full.
                        kept = keys[max(last - 20 * (generations - 1), 0):last]
                        images = self.check(kept)
                        gone = keys[:max(last - 20 * generations - 5, 0)]
                        self.assertLessEqual(len(self.answers(gone)), 2)
                self.assertEqual(len(images), generations)
                self.assertEqual({image.header["capacity"] for image in images}, {20})
                self.assertEqual(len({(image.header["m"], image.header["k"]) for image in images}), 1)

    def test_generation_without_a_successor_mark_is_followed(self):
        for by in HANDS:
            for made in 0, 45:
                keys = numbered(made)
                self.make("c", generations=2)
                self.add("python", keys)
                newest = max(self.reader().layers)
                writer = self.writer()
                writer.succeed(writer.writer, newest, mark=False)
                writer.leave()
                self.answers(keys)
                self.add(by, [b"the next"])
                images = self.check([b"the next"])
                self.assertEqual(images[-1].header["layer"], newest + 1)

    def test_open_readers_see_new_generations(self):  # S7
        keys = numbered(300)
        for by in HANDS:
            self.make("c", generations=3)
            reader, by_c = self.reader(), self.start("bfquery", "live")
            for start in range(0, 300, 30):
                self.add(by, keys[start:start + 30])
                chosen = keys[start + 29]
                self.assertTrue(reader.maybe(chosen))
                self.feed(by_c, ABSENT[0], chosen)
                self.assertEqual(by_c.stdout.readline(), chosen + b"\n")
            self.result(by_c)


    def test_both_make_the_generations_of_elapsed_periods(self):
        """Both make the same number of generations and agree when each began."""
        hour, now = 3600, int(time.time())
        for generations in 2, 3:
            for gone in 0, 1, 2, 3, 4, 7.5:
                began = now - int(gone * hour) - 100
                files = craft_series.live(craft_series.header(
                    generations=generations, period=hour, capacity=100, began=began), numbered(20))
                seen = []
                for by in HANDS:
                    self.remove()
                    craft_series.written(files, self.folder, "live")
                    self.add(by, [b"the next"])
                    seen.append([(image.header["layer"], image.header["began"], image.record["n"])
                                 for image in self.images()])
                with self.subTest(generations=generations, gone=gone):
                    self.assertEqual(*seen)
                    self.assertEqual(seen[0][-1][0], min(int(gone), generations))
                    self.assertLessEqual(0, now - seen[0][-1][1] - 100)
                    self.assertLess(now - seen[0][-1][1] - 100, hour)
                    self.assertEqual(self.answers([b"the next"]), [b"the next"])


class Sealed(SeriesTest):
    def test_both_make_the_same_bytes(self):
        keys = numbered(130)
        for layout in "blocked", "classic":
            for generations in 0, 2, 3:
                self.make("c", layout=layout, generations=generations, label="étiquette ☃",
                          tag="a0" * 16, seed=2**64 - 1)
                for count in 0, 20, 21, 130:
                    with self.subTest(layout=layout, generations=generations, count=count):
                        self.add("c", keys[:count])
                        made = self.seal("c", out="by-c")
                        self.assertEqual(self.seal("python", out="by-python"), made)
                        layers = layers_of(opened(made, "").verify())
                        self.assertEqual(len(layers), len(self.images()))
                        self.assertEqual(self.answers(keys + ABSENT, "by-c"),
                                         self.answers(keys + ABSENT))
                        self.output("bfquery", "--verify", "-q", "by-c", stdin=lines(*keys[:1]),
                                    status=0 if 0 < count < 60 or count and not generations else 1)

    def test_sealed_series_made_by_python_is_read(self):
        for layout in "blocked", "classic":
            files = craft_series.live(craft_series.header(layout), numbered(200))
            self.write("made", craft_series.sealed(files))
            self.assertEqual(self.answers(numbered(200), "made"), numbered(200))
            self.answers(ABSENT, "made")

    def test_sealed_series_inside_a_larger_file_is_read(self):
        image = craft_series.sealed(craft_series.live(craft_series.header(), numbered(40)))
        self.write("larger", b"before " + image + b" behind")
        path = self.path("larger")
        found = spec_reader.load(path, 7, len(image)).verify()
        self.assertTrue(all(found.maybe(key) for key in numbered(40)))
        for offset, length, error in ((7, None, "ETRAILING"), (7, len(image) - 1, "ETRUNCATED"),
                                      (8, len(image), "EMAGIC"),
                                      (0, len(image) + 15, "ETRUNCATED")):
            with self.assertRaisesRegex(ValueError, error):
                spec_reader.load(path, offset, length)


class Trouble(SeriesTest):
    def setUp(self):
        super().setUp()
        self.make("c")
        self.add("python", numbered(100))
        self.assertEqual(len(self.check(numbered(100))), 3)
        self.before = {path.name: path.read_bytes() for path in self.folder.glob("live*")}

    def change(self, number, **record):
        name = slot_path(self.path(), number).name
        self.write(name, craft.edit(self.before[name], record=record))

    def test_missing_files_are_refused(self):
        for missing, error in (("live.1", "EMISSINGLAYER"), ("live.2", "EMISSINGLAYER")):
            self.path(missing).unlink()
            self.check_refused(error)
            self.write(missing, self.before[missing])
        self.check(numbered(100))
        self.path("live").rename(self.path("elsewhere"))
        self.trouble("bfquery", "live", stdin=b"a\n")
        with self.assertRaises(FileNotFoundError):
            LiveSeries(self.path())

    def test_layer_cannot_be_opened_by_its_own_name(self):  # V39
        self.check_refused("ESERIES", "live.1")
        self.check_refused("ESERIES", "live.2")
        for name in "live", "live.1":
            for refused in spec_writer.Reader, spec_writer.Writer:
                with self.assertRaisesRegex(ValueError, "EISSERIES"):
                    refused(self.path(name))

    def test_foreign_files_are_refused(self):
        self.make("c", "other")
        self.add("c", numbered(100), "other")
        for foreign in self.read("other.1"), self.before["live.2"], \
                craft.make("blocked", 512, 6), self.seal("c", "other"):
            self.write("live.1", foreign)
            self.check_refused("ESERIES")
        self.write("live.1", self.before["live.1"])
        self.write("live.3", self.before["live.1"])
        self.check_refused("ESERIES")
        self.write("live.3", b"some text that is no filter\n" * 40)
        self.check_refused("EMAGIC")

    def test_foreign_next_file_prevents_the_creation(self):
        self.path("live").unlink()
        for how in ["--grow"], ["--generations", "3", "--every", "10"]:
            self.trouble("bfcreate", "--live", *how, "-n", 20, "live")
        with self.assertRaisesRegex(ValueError, "would be taken for a layer"):
            spec_series.create(self.path(), craft_series.header())

    def test_foreign_next_file_stops_the_growth(self):
        """The file is not overwritten, and keys added before are not lost."""
        foreign = craft.edit(self.before["live.2"], header={"series": 1, "layer": 3})
        for data in foreign, craft.make("blocked", 512, 6), b"text", b"":
            writer, by_c = self.writer(), self.start("bfadd", "live")
            self.feed(by_c, b"of c")
            self.wait_for_key("live", b"of c", by_c)
            self.write("live.3", data)
            with self.assertRaisesRegex(ValueError, "ESERIES|EMAGIC|EEMPTY"):
                writer.succeed(writer.writer, 2)
            writer.leave()
            status, _, message = self.result(by_c, lines(*numbered(200, "more ")))
            self.assertEqual(status, 2)
            self.check_message("bfadd", message, "live")
            self.assertEqual(self.read("live.3"), data)
            self.path("live.3").unlink()
            self.assertEqual(self.answers([b"of c", *numbered(100)]), [b"of c", *numbered(100)])
            for name, image in self.before.items():
                self.write(name, image)

    def test_foreign_file_in_the_next_place_of_a_ring_stops_it(self):
        for data in b"text", craft.make("blocked", 512, 6):
            for by in HANDS:
                self.make("c", "ring", generations=2)
                self.add("c", numbered(30), "ring")
                writer = self.writer("ring") if by == "python" else self.start("bfadd", "ring")
                if by == "c":
                    self.feed(writer, b"of c")
                    self.wait_for_key("ring", b"of c", writer)
                self.path("ring").unlink()
                self.write("ring", data)
                if by == "c":
                    status, _, message = self.result(writer, lines(*numbered(200, "more ")))
                    self.assertEqual(status, 2)
                    self.check_message("bfadd", message, "ring")
                else:
                    with self.assertRaisesRegex(ValueError, "ESERIES|EMAGIC"):
                        writer.succeed(writer.writer, 1)
                    writer.leave()
                self.assertEqual(self.read("ring"), data)

    def test_both_refuse_an_unclean_layer(self):  # S4, S11
        for number in range(3):
            self.change(number, boot_id=OTHER_BOOT)
            self.check_refused("EUNCLEAN")
            for by in HANDS:
                self.change(number, boot_id=OTHER_BOOT)
                self.add(by, [b"a"], accept_unclean=True)
                images = self.images()
                self.assertEqual([any(image.record["boot_id"]) for image in images], [False] * 3)
                self.assertEqual([image.record["flags"] & N_ESTIMATED for image in images],
                                 [int(number == i) for i in range(3)])
                self.assertEqual(self.answers([*numbered(100), b"a"]), [*numbered(100), b"a"])
            self.change(number, boot_id=OTHER_BOOT)
            writer = self.writer(accept_unclean=True)
            writer.add([b"a"])
            writer.die()
            self.check_refused("EUNCLEAN")
            for name, data in self.before.items():
                self.write(name, data)

    def test_lost_bits_are_not_sealed(self):
        """Either the layer is closed, or its writer was killed."""
        data = bytearray(self.before["live"])
        size = self.images()[0].header["body_size"]
        data[H:H + size] = bytes(size)
        for writers, boot in (0, bytes(16)), (1, present_boot()):
            lost = craft.edit(bytes(data), record={"writers": writers, "boot_id": boot})
            self.write("live", lost)
            self.assertIn(self.words("EBODY"), self.trouble("bfseal", "live", "sealed", changes=True))
            self.write("live", lost)
            with self.assertRaisesRegex(ValueError, "BLOOMFILE_EBODY$"):
                spec_series.seal(self.path(), self.path("sealed"))
            self.assertFalse(self.path("sealed").exists())

    def test_killed_writer_loses_no_key(self):
        """Nothing is lost, and the next writer leaves all layers clean."""
        for by in HANDS:
            writer = self.writer()
            writer.add([*numbered(30, "more "), *numbered(100, "and ")])
            writer.die()
            dirty = [image.record["boot_id"] for image in self.images()]
            self.assertEqual(dirty[-1], present_boot())
            self.add(by, [b"a"])
            self.assertFalse(any(any(image.record["boot_id"]) for image in self.images()))
            self.answers([*numbered(100), *numbered(30, "more "), *numbered(100, "and "), b"a"])

    def test_poisoned_layer_makes_the_series_unusable(self):
        """One poisoned layer makes the series unusable, even for processes that have it open. The mark stays."""
        for number in range(3):
            reader, by_c = self.reader(), self.start("bfquery", "live")
            self.feed(by_c, b"key 1")
            self.assertEqual(by_c.stdout.readline(), b"key 1\n")
            self.assertFalse(reader.maybe(ABSENT[0]))
            adder = self.start("bfadd", "live")
            self.feed(adder, b"joined")
            self.wait_for_key("live", b"joined", adder)
            file = spec_series.LayerFile(slot_path(self.path(), number))
            with file.records():
                file.poison()
            file.close()
            data = self.read(slot_path(self.path(), number).name)
            self.assertEqual([craft.field(data, "flags", slot) & SUCCEEDED for slot in (0, 1)],
                             [SUCCEEDED * (number < 2)] * 2)
            self.check_refused("EPOISONED")
            self.assertTrue(reader.maybe(ABSENT[0]))
            self.feed(by_c, ABSENT[0])
            self.assertEqual(by_c.stdout.readline(), ABSENT[0] + b"\n")
            self.end(by_c)
            self.assertEqual(self.result(adder, lines(*numbered(10, "lost ")))[0], 2)
            for name, image in self.before.items():
                self.path(name).unlink()
                self.write(name, image)

    def test_layer_that_cannot_be_opened_makes_readers_answer_maybe(self):
        """A reader that has the other layers open answers maybe to every key."""
        reader, by_c = self.reader(), self.start("bfquery", "live")
        self.feed(by_c, b"key 1")
        self.assertEqual(by_c.stdout.readline(), b"key 1\n")
        writer = self.writer()
        writer.succeed(writer.writer, 2)
        writer.leave()
        os.rename(self.path("live.3"), self.path("gone"))
        self.assertTrue(reader.maybe(ABSENT[0]))
        self.assertIn("EMISSINGLAYER", str(reader.error))
        status, out, message = self.result(by_c, lines(ABSENT[0]))
        self.assertEqual((status, out), (2, lines(ABSENT[0])))
        self.check_message("bfquery", message, "live")

    def test_operations_on_single_filters_are_refused(self):
        words = self.words("EISSERIES")
        self.seal("c")
        self.write("plain", craft.make("blocked", 512, 6))
        for series in "live", "sealed":
            for tool, *arguments in (["bffold", "--factor", 2, series, "out"],
                                     ["bfmerge", "out", series, "plain"],
                                     ["bfmerge", "out", "plain", series]):
                self.assertIn(words, self.trouble(tool, *arguments, names=[series]))
        self.assertIn("series of layers", self.trouble("bfseal", "live", changes=True))
        for command in "fold 1 sealed out", "union out sealed sealed":
            with self.assertRaisesRegex(ValueError, "EISSERIES"):
                name, *arguments = command.split()
                getattr(spec_reader, name)(None, *(
                    self.path(word) if word in ("sealed", "out") else word for word in arguments))


class Program(SeriesTest):
    def program(self, *arguments, stdin=b"", status=0, says=""):
        result = subprocess.run([*PROGRAM, *map(str, arguments)], input=stdin, cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((result.returncode, bool(result.stderr)), (status, bool(says)), result)
        self.assertIn(says, result.stderr.decode())
        return result.stdout

    def test_series_program_creates_adds_and_seals(self):
        self.program("create", "live", status=2, says="--grow")
        self.program("create", "live", "--grow", "--capacity", 10)
        self.program("create", "live", "--grow", status=2, says="exists")
        self.assertEqual(self.program("add", "live", stdin=lines(*numbered(25))), b"25 new\n")
        self.assertEqual(self.program("add", "live", stdin=lines(*numbered(25))), b"0 new\n")
        self.program("add", "live", "--die", stdin=b"new\n")
        self.program("succeed", "live", "--unmarked")
        self.assertEqual(self.program("query", "live", stdin=b"new\nkey 1\nabsent\n"),
                         b"new\nkey 1\n")
        self.assertEqual(self.answers(numbered(25)), numbered(25))
        self.program("seal", "live", "out")
        self.assertEqual(self.program("query", "out", "-v", stdin=b"new\nkey 1\nabsent\n"),
                         b"absent\n")
        self.assertEqual(self.program("info", "out").count(b'"sealed"'), 3)
        self.assertEqual(self.program("info", "live").count(b'"live"'), 3)
        self.program("query", "live.1", status=2, says="ESERIES rule V39")
        self.program("create", "ring", "--generations", 2, "--period", 86400, "--capacity", 10)
        self.program("add", "ring", stdin=lines(*numbered(25)))
        self.answers(numbered(25), "ring")


if __name__ == "__main__":
    main()
