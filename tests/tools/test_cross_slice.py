# SPDX-License-Identifier: MIT
"""Slices in two implementations: the same bytes, answers and joined filters, and the same refusals.

The Python implementation, tests/spec/spec_slice.py, was written from doc/format/slices.md 1 alone.
"""

import json
import random
import struct
import types
from functools import partial

from support import GOLDEN, REFUSED, SANITIZED, ToolTest, craft, lines, main, numbered

import spec_patch
import spec_reader
import spec_slice

ROUNDS = 8 if SANITIZED else 16
ABSENT = numbered(150, "absent ")
COMPLAINTS = {  # messages of bfmerge --slices
    "BLOOMFILE_EINCOMPLETE": "are not all of one filter|blocks? .* missing|has the blocks? .* already"
                             "|a slice of a different filter than|it is not a slice|it is a series|it omits \\d+ of",
    "BLOOMFILE_EPAGE": "page .*damaged|damaged page|a page", "BLOOMFILE_EBODY": "body"}


def whole_header(blocks, k, **fields):
    seed = fields.get("seed", 0)
    m = 512 * blocks
    return {"header_size": 4096, "provenance": 0, "layout": spec_reader.BLOCKED, "hash_id": 1, "k": k,
            "key_kind": spec_reader.KEY_KINDS["text"], "m": m, "m_unfolded": m, "seed": seed,
            "self_test": spec_reader.self_test(seed), "capacity": 1, "fpr": 0, "tag": bytes(16),
            "label": b"", **fields}


def image_of(header, keys):
    read = [spec_reader.xxh3(key, header["seed"]) for key in keys]
    header = {**header, **spec_slice.given(header, read)}
    digests = spec_reader.own_digests(header, set(read))
    return spec_reader.sealed(header, spec_reader.body_of_keys(header, digests), len(digests))


def shapes():
    """Header of the whole filter, keys, and number of slices; the same in every run."""
    chosen = random.Random(20261123)
    for number in range(ROUNDS):
        blocks = ([1, 63, 64, 65, 128, 129, 641][number] if number < 7
                  else chosen.randint(2, 700))
        pages = -(-blocks // 64)
        header = whole_header(
            blocks, chosen.choice([1, 2, 6, 7, 13, 64]),
            seed=chosen.choice([0, 1, 2**64 - 1, chosen.getrandbits(64)]),
            capacity=chosen.choice([1, 500, 2**60]),
            fpr=craft.struct.unpack("<Q", struct.pack("<d", chosen.choice([0, 0.01, 1e-9])))[0],
            label=chosen.choice(["", "étiquette ☃"]).encode(),
            tag=chosen.choice([bytes(16), chosen.randbytes(16)]))
        yield header, numbered(chosen.choice([0, 1, 400])), chosen.choice(
            [1, pages, chosen.randint(1, pages)])


def options(header):
    [fpr] = struct.unpack("<d", struct.pack("<Q", header["fpr"]))
    words = {"m": header["m"], "k": header["k"], "seed": header["seed"],
             "capacity": header["capacity"], "label": header["label"].decode(),
             "tag": header["tag"].hex()}
    return [word for name, value in {**words, **({"fpr": fpr} if fpr else {})}.items()
            for word in (f"-{name}" if len(name) == 1 else f"--{name}", value)]


def of_pages(header, first, end):
    """The header of a slice with these pages of the whole filter."""
    blocks = header["m"] // 512
    m = 512 * (min(64 * end, blocks) - 64 * first)
    return {**header, "m": m, "m_unfolded": m, "first_block": 64 * first, "whole_blocks": blocks}


class CrossSlice(ToolTest):
    def setUp(self):
        super().setUp()
        self.chosen = random.Random(23)

    def write_all(self, images):
        return [self.write(f"slice-{i}", image) for i, image in enumerate(images)]

    def joined(self, images, embedded=False):
        """The whole filter or the error, after both joined the images in random order."""
        names = self.write_all(images)
        self.chosen.shuffle(names)
        result = self.run_tool("bfmerge", "--slices", "--overfull", "-f", "--discard", "-q", "by-c", *names)
        try:
            spec_reader.join(types.SimpleNamespace(embedded=embedded, as_is=False), self.folder / "by-python",
                             *(self.folder / name for name in names))
        except ValueError as refused:
            error = str(refused).split()[1]
            self.assertEqual(result.returncode, 2, result)
            self.check_message("bfmerge", result.stderr)
            self.assertRegex(result.stderr.decode(), COMPLAINTS[error])
            self.assertFalse((self.folder / "by-c").exists())
            return error
        by_c = self.read("by-c")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(by_c[:4096], self.read("by-python")[:4096])
        self.assertEqual(by_c, self.read("by-python"))
        (self.folder / "by-c").unlink()
        return by_c

    def answers(self, image, keys):
        """The lookups that match in an image. Both must agree."""
        self.write("image", image)
        opened = craft.Image(image, "image")
        expected = lines(*(key for key in keys if opened.maybe(key)))
        self.assertEqual(self.run_tool("bfquery", "image", stdin=lines(*keys)).stdout, expected)
        return expected

    def errors(self, images):
        """The error that bfinspect reports for each image."""
        names = self.write_all(images)
        result = self.run_tool("bfinspect", "--report", "-", "--verify", *names)
        return [json.loads(report)["error"] for report in result.stdout.splitlines()]

    def test_both_make_the_same_slices_answers_and_wholes(self):
        for header, keys, count in shapes():
            with self.subTest(blocks=header["m"] // 512, k=header["k"], slices=count, n=len(keys)):
                by_python = [image_of(spec_slice.cut(header, i, count), keys) for i in range(count)]
                for i in self.chosen.sample(range(count), min(count, 3)):
                    by_c = self.create("-q", *options(header), "--slice", f"{i + 1}/{count}",
                                       stdin=lines(*keys))
                    self.assertEqual(by_c[:4096], by_python[i][:4096])
                    self.assertEqual(by_c, by_python[i])
                    found = self.answers(by_c, keys + ABSENT)
                    self.assertTrue(found.startswith(lines(*keys)))
                whole = self.create("-q", *options(header), stdin=lines(*keys))
                self.assertEqual(whole, image_of(header, keys))
                self.assertEqual(self.joined(by_python), whole)

    def test_implementations_agree_on_slices_of_any_pages(self):
        for header, keys, _ in shapes():
            pages = -(-header["m"] // 512 // 64)
            ends = sorted(self.chosen.sample(range(1, pages), self.chosen.randint(0, pages - 1)))
            with self.subTest(blocks=header["m"] // 512, ends=ends):
                cuts = zip([0, *ends], [*ends, pages])
                images = [image_of(of_pages(header, *cut), keys) for cut in cuts]
                self.assertEqual(self.errors(images), [None] * len(images))
                self.answers(self.chosen.choice(images), keys + ABSENT)
                self.assertEqual(self.joined(images), image_of(header, keys))

    def test_unknown_fields_are_ignored_by_both(self):
        """Unknown bits, reserved bytes, unspecified kinds of keys."""
        header = whole_header(150, 7, capacity=400, key_kind=0)
        images = [image_of(spec_slice.cut(header, i, 3), numbered(400)) for i in range(3)]
        whole = image_of(header, numbered(400))
        for number, fields in enumerate(({"compat": 0x80000000}, {"ro_compat": 1}, {"provenance": 8},
                                         {"key_kind": 3}, {"compat": 1}, {"key_kind": 0x101})):
            with self.subTest(**fields):
                other = craft.edit(images[number % 3], header=fields, at={280: b"\xa5" * 1764})
                self.assertEqual(self.joined([*images[:number % 3], other,
                                              *images[number % 3 + 1:]]), whole)

    def test_joined_slices_record_the_sum_of_their_keys(self):
        """The whole records their sum. It is an estimate if one of them is, or if the sum does not fit."""
        header = whole_header(150, 7, capacity=400)
        images = [image_of(spec_slice.cut(header, i, 3), numbered(400)) for i in range(3)]
        for numbers, flags in (((1, 2, 3), (0, 0, 0)), ((0, 2**63, 7), (0, 0xFFFFFFFE, 0)),
                               ((5, 5, 5), (1, 0, 0)), ((2**64 - 1, 0, 0), (0, 0, 0)),
                               ((2**64 - 1, 1, 0), (0, 0, 0)), ((2**63, 2**63, 9), (0, 0, 1)),
                               ((2**64 - 1,) * 3, (0, 0, 0))):
            with self.subTest(numbers=numbers, flags=flags):
                told = [craft.edit(image, record={"n": n, "flags": bits})
                        for image, n, bits in zip(images, numbers, flags)]
                n = sum(numbers)
                record = craft.Image(self.joined(told), "whole").record
                self.assertEqual((record["n"], record["flags"]), (
                    min(n, 2**64 - 1), int(n >= 2**64 or any(bits & 1 for bits in flags))))

    def test_slices_of_different_keys_are_refused_by_both(self):
        """A difference of one key or one repetition is enough. How many keys each slice has does not matter."""
        keys, whole = numbered(400), whole_header(150, 7, capacity=90)
        own = [[key for key in keys if spec_slice.slice_of(whole["m"], 3, spec_reader.xxh3(key, 0)) == i]
               for i in range(3)]
        for given, joins in (
                ([keys, keys, keys], True), ([keys, keys[::-1], keys], True), (own, True),
                ([own[0] * 2, own[1], own[2][:1]], True), ([[], [], []], True), ([[], own[1], own[2]], True),
                ([keys[0::3], keys[1::3], keys[2::3]], False), ([keys, keys, keys[1:]], False),
                ([keys, keys + keys[:1], keys], False), ([own[0], own[1], own[2] + own[0][:1]], False),
                ([own[1], own[2], own[0]], False), ([own[0], own[1], keys], False)):
            with self.subTest(sizes=[len(some) for some in given]):
                images = [image_of(spec_slice.cut(whole, i, 3), some) for i, some in enumerate(given)]
                made = self.joined(images)
                if joins:
                    self.assertEqual(made, image_of(whole, [key for some in given for key in some]))
                else:
                    self.assertEqual(made, "BLOOMFILE_EINCOMPLETE")

    def test_incomplete_slices_are_refused_by_both(self):
        header = whole_header(4 * 64 + 9, 6, capacity=400, label=b"one", fpr=1)
        keys = numbered(300)
        images = [image_of(spec_slice.cut(header, i, 5), keys) for i in range(5)]
        pages = partial(of_pages, header)
        self.assertEqual(self.joined(images), image_of(header, keys))
        changes = [{"k": 7}, {"seed": 1, "self_test": spec_reader.self_test(1)}, {"capacity": 401},
                   {"fpr": 2}, {"fpr": 0}, {"label": b"two"}, {"tag": bytes(15) + b"\1"},
                   {"provenance": 2}, {"key_kind": 3}, {"key_kind": 6}, {"key_kind": 0}]
        foreign = [image_of(spec_slice.cut({**header, **change}, 3, 5), keys) for change in changes]
        longer = image_of(spec_slice.cut({**header, "m": header["m"] + 512}, 4, 5), keys)
        of_application = craft.edit(images[1], header={"hash_id": 0x80000000})
        for what, these in (
                ("missing", images[1:]), ("missing", images[:-1]), ("missing", images[:2] + images[3:]),
                ("alone", images[2:3]), ("twice", [*images, images[2]]), ("last twice", [*images, images[4]]),
                ("overlapping", [*images[:2], image_of(pages(1, 3), keys), *images[3:]]),
                ("overlapping, none missing", [*images[:2], image_of(pages(1, 3), keys), *images[2:]]),
                ("within another", [image_of(pages(0, 5), keys), images[2]]),
                ("whole", [image_of(header, keys)]), ("whole too", [*images, image_of(header, keys)]),
                ("other numbers of blocks", [*images[:4], longer]),
                ("application", [images[0], of_application, *images[2:]]),
                *((str(change), [*images[:3], other, images[4]])
                  for change, other in zip(changes, foreign)),
                *((name, [(GOLDEN / name).read_bytes()])
                  for name in ("series-3.bloom", "counting-file.bloom", "ribbon-file.bloom")),
                ("damaged, and one is missing", [craft.flip(images[0], 5000), *images[2:]])):
            with self.subTest(what):
                self.assertEqual(self.joined(these), "BLOOMFILE_EINCOMPLETE")

    def test_damaged_slices_are_not_joined(self):
        header = whole_header(2 * 64 + 9, 6, capacity=400)
        images = [image_of(spec_slice.cut(header, i, 3), numbered(300)) for i in range(3)]
        for i in range(3):
            damaged = [*images[:i], craft.flip(images[i], 4096 + 300, i), *images[i + 1:]]
            self.assertEqual(self.joined(damaged), "BLOOMFILE_EPAGE")
            damaged[i] = craft.edit(images[i], record={"ones": craft.field(images[i], "ones", 0) + 1})
            self.assertEqual(self.joined(damaged), "BLOOMFILE_EBODY")

    def test_both_give_the_same_error_for_extreme_headers(self):
        """Numbers near the bounds in any fields: both give the same error, or the same answers."""
        header = whole_header(3 * 64 + 9, 5, capacity=400)
        images = [image_of(spec_slice.cut(header, i, 4), numbered(200)) for i in range(4)]
        values = {"first_block": [0, 1, 64, 128, 192, 201, 2**51 - 64, 2**63, 2**64 - 64, 2**32 + 64],
                  "whole_blocks": [0, 1, 9, 64, 73, 128, 201, 2**51, 2**51 + 1, 2**64 - 1, 2**32 + 201],
                  "incompat": [0, 1, 2, 3, 4, 6, 7], "layout": [1, 1, 1, 2, 4],
                  "m_unfolded": [512 * 9, 512 * 64, 512 * 128], "k": [5, 0], "capacity": [1, 0]}
        made = []
        while len(made) < (60 if SANITIZED else 200):
            fields = self.chosen.sample([*values] + ["first_block", "whole_blocks"] * 3,
                                        self.chosen.choice([1, 1, 2, 2, 3]))
            made.append(craft.edit(self.chosen.choice(images), header={
                name: self.chosen.choice(values[name]) for name in fields}))
        expected = [(craft.refusal(image) or [None])[0] for image in made]
        self.assertGreaterEqual({*expected}, {None, "BLOOMFILE_ESLICE", "BLOOMFILE_EFEATURE"})
        self.assertEqual(self.errors(made), expected)
        for image, error in zip(made, expected):
            if error is None:
                self.answers(image, numbered(50) + ABSENT)

    def test_flipped_bits_are_detected_by_both(self):
        header = whole_header(64 + 9, 5, capacity=400)
        for image in (image_of(spec_slice.cut(header, i, 2), numbered(200)) for i in range(2)):
            places = [0, 24, 240, 255, 256, 2047, 2048, 4096, 8191, 8192, len(image) - 1]
            places += [self.chosen.randrange(len(image)) for _ in range(10)]
            made = [craft.flip(image, place, self.chosen.randrange(8)) for place in places]
            expected = [craft.refusal(damaged)[0] for damaged in made]
            self.assertEqual(self.errors(made), expected)
            for damaged, error in zip(made, expected):
                if error == "BLOOMFILE_EPAGE":
                    self.answers(damaged, numbered(200) + ABSENT)

    def test_copies_and_patches_are_equal(self):
        header = whole_header(150, 7, capacity=400, label=b"one")
        for i in range(3):
            old, new = (image_of(spec_slice.cut({**header, "label": label}, i, 3), keys)
                        for label, keys in ((b"one", numbered(300)), (b"two", numbered(400))))
            odd = craft.edit(old, header={"compat": 0x80000001, "ro_compat": 1, "provenance": 9},
                             record={"flags": 2**32 - 1}, at={280: b"\xa5" * 1764})
            for name, image in ("old", old), ("new", new), ("odd", odd):
                self.write(name, image)
            for name in "old", "odd":
                craft.reader("copy", self.folder / name, self.folder / "by-python")
                self.output("bfseal", "-q", "-f", "--discard", name, "by-c")
                self.assertEqual(self.read("by-c"), self.read("by-python"))
            for base, result in ("old", "new"), ("new", "odd"):
                patch = spec_patch.make(*(craft.Image(self.read(name), name) for name in (base, result)))
                self.output("bfdelta", "-q", "-f", base, result, "patch")
                self.assertEqual(self.read("patch"), patch)
                self.output("bfdelta", "-q", "-f", "--discard", "--apply", base, "patch", "by-c")
                self.assertEqual(self.read("by-c"), self.read(result))
                self.assertEqual(spec_patch.apply(craft.Image(self.read(base), base), patch),
                                 self.read(result))

    def test_patch_to_another_slice_is_refused(self):
        """A patch does not lead to a slice of equal m, or to a whole filter."""
        header = whole_header(192, 7, capacity=400)
        first, second = (image_of(spec_slice.cut(header, i, 3), numbered(300)) for i in range(2))
        of_another = image_of(spec_slice.cut({**header, "m": 512 * 200}, 0, 3), numbered(300))
        only, whole = (image_of(each, numbered(300)) for each in (
            spec_slice.cut({**header, "m": 512 * 64}, 0, 1), {**header, "m": 512 * 64, "m_unfolded": 512 * 64}))
        for base, result in (first, second), (first, of_another), (only, whole), (whole, only):
            self.write("base", base)
            self.write("result", result)
            with self.assertRaises(ValueError):
                spec_patch.make(craft.Image(base, "base"), craft.Image(result, "result"))
            self.trouble("bfdelta", "base", "result", "patch")

    def test_operations_on_whole_filters_are_refused_by_both(self):
        """Sound or damaged. A slice that covers its whole filter is refused too."""
        header = whole_header(64, 7, capacity=400)
        image = image_of(spec_slice.cut(header, 0, 1), numbered(300))
        for source in image, craft.flip(image, 5000):
            self.write("source", source)
            for tool, words, command in (
                    ("bffold", ["--factor", 1], "fold"), ("bffold", ["--factor", 2], "fold"),
                    ("bfmerge", [], "union"), ("bfmerge", ["--intersect"], "intersection")):
                with self.subTest(command, words=words, damaged=source != image):
                    names = ["source", "out"] if tool == "bffold" else ["out", "source"]
                    self.assertIn("a slice, where a whole filter is needed", self.trouble(tool, *words, *names))
                    with self.assertRaisesRegex(ValueError, "BLOOMFILE_EISSLICE"):
                        getattr(spec_reader, command)(None, *map(str, words[1:]), *(
                            self.folder / name for name in names))

    def test_every_refused_slice_is_refused_when_joining(self):
        """Also together with the two slices that would complete the filter."""
        names = sorted(path for path in REFUSED.glob("*slice*.bloom"))
        self.assertGreater(len(names), 30)
        others = [GOLDEN / "slice-first.bloom", GOLDEN / "slice-last.bloom"]
        for name in names:
            self.trouble("bfmerge", "--slices", "out", name, *others)


if __name__ == "__main__":
    main()
