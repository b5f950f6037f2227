# SPDX-License-Identifier: MIT
"""Damage of every kind to small images: each fault is detected, reported and harmless."""

import json
import random
import struct

from support import GOLDEN, REFUSED, SANITIZED, ToolTest, craft, lines, main, table

KEYS = [b"bloomfile", b"", b"\x80\x1d\xba"]
BATCH = 400
# Invalid values of each field of the static header. The header's checksum is valid.
WRONG_VALUES = {
    "version": [0, 2, 2**32 - 1], "incompat": [4, 2**31], "layout": [0, 5, 2**32 - 1],
    "hash_id": [0, 2], "k": [0, 65, 2**31, 2**32 - 1], "m": [0, 2**60 + 1, 2**64 - 1],
    "self_test": [0, 1], "body_offset": [0, 4096, 2**64 - 1], "body_size": [0, 128, 2**64 - 64],
    "capacity": [0, 2**60 + 1], "fpr": [0x3FF0000000000000, 0x7FF8000000000000, 2**63],
    "m_unfolded": [0, 99, 150, 2**64 - 1], "label": [b"\x1b[2J", b"\xff", b"a\0b"],
    "header_crc": [0, 2**32 - 1],
}


class DamageTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.image = craft.make("classic", 100, 3, KEYS, embedded=True)
        self.assertEqual(len(self.image), 580)

    def reports(self, images, *options):
        """The JSON report of bfinspect about each image. One run inspects many images."""
        for start in range(0, len(images), BATCH):
            part = images[start:start + BATCH]
            names = [self.write(str(number), image) for number, image in enumerate(part)]
            result = self.run_tool("bfinspect", "--report", "-", *options, *names)
            found = result.stdout.splitlines()
            self.assertEqual(len(found), len(part))
            messages = result.stderr.splitlines(keepends=True)
            for message in messages:
                self.check_message("bfinspect", message)
            reports = [json.loads(line) for line in found]
            self.assertEqual(len(messages), sum(report["status"] == 2 for report in reports))
            self.assertEqual(result.returncode, max(report["status"] for report in reports))
            yield from reports


class FlippedBits(DamageTest):
    def test_every_flipped_bit_of_the_header_is_refused(self):
        places = [(offset, bit) for offset in range(512) for bit in range(8)]
        images = [craft.flip(self.image, *place) for place in places]
        for place, report in zip(places, self.reports(images)):
            self.assertEqual(report["status"], 2, place)
            self.assertIsNone(report["record"], place)
            flips = [(flip["offset"], flip["bit"]) for flip in report["flipped_bits"]]
            self.assertEqual(flips, [place])

    def test_field_of_a_flipped_bit_is_named(self):
        record = craft.RECORD.keys() - {"identity"}  # only images in file form have it
        for slot, fields in (None, craft.HEADER), (0, record), (1, record):
            for name in fields:
                size, offset, _ = craft.locate(self.image, name, slot)
                images = [craft.flip(self.image, offset), craft.flip(self.image, offset + size - 1)]
                for report in self.reports(images):
                    flip, = report["flipped_bits"]
                    expected = name if slot is None else f"{name} of record {slot}"
                    self.assertEqual(flip["field"], expected)
                    self.assertIn(expected, report["verdict"])

    def test_flipped_bits_of_a_file_header_are_refused(self):
        image = (GOLDEN / "blocked-label-tag.bloom").read_bytes()
        chosen = random.Random(4)
        places = [(chosen.randrange(4096), chosen.randrange(8)) for _ in range(300)]
        for place, report in zip(places, self.reports([craft.flip(image, *place)
                                                       for place in places])):
            self.assertEqual(report["status"], 2)
            flip, = report["flipped_bits"]
            self.assertEqual((flip["offset"], flip["bit"]), place)

    def test_every_flipped_bit_of_the_body_is_detected(self):
        places = [(offset, bit) for offset in range(512, 580) for bit in range(8)]
        images = [craft.flip(self.image, *place) for place in places]
        for place, report in zip(places, self.reports(images, "--verify")):
            self.assertEqual(report["error"], "BLOOMFILE_EPAGE", place)
            self.assertEqual((report["verified"], report["bad_pages"]), (False, 1))
            self.assertEqual(report["faults"][-1]["page"], 0)

    def test_keys_of_a_damaged_filter_are_found(self):
        chosen = random.Random(5)
        places = [(offset, bit) for offset in range(512, 580) for bit in range(8)]
        for place in chosen.sample(places, 60 if SANITIZED else 300):
            self.write("bad", craft.flip(self.image, *place))
            result = self.run_tool("bfquery", "bad", stdin=lines(*KEYS))
            self.assertEqual((result.returncode, result.stdout), (2, lines(*KEYS)), place)

    def test_several_flipped_bits_are_detected(self):
        chosen = random.Random(6)
        images = []
        for _ in range(400):
            image = self.image
            for place in chosen.sample(range(8 * len(image)), chosen.randrange(2, 30)):
                image = craft.flip(image, place // 8, place % 8)
            images.append(image)
        for report in self.reports(images, "--verify"):
            self.assertEqual(report["status"], 2)


class Lengths(DamageTest):
    def test_every_truncation_is_refused(self):
        images = [self.image[:size] for size in range(len(self.image))]
        for size, report in enumerate(self.reports(images)):
            error = "BLOOMFILE_ETRUNCATED" if size else "BLOOMFILE_EEMPTY"
            self.assertEqual((report["error"], report["size"]), (error, size))

    def test_truncations_of_the_file_form_are_refused(self):
        image = (GOLDEN / "classic-m480833.bloom").read_bytes()
        sizes = [1, 4095, 4096, 4097, 8191, 8192, len(image) - 60, len(image) - 4, len(image) - 1]
        for size, report in zip(sizes, self.reports([image[:size] for size in sizes])):
            self.assertEqual(report["error"], "BLOOMFILE_ETRUNCATED")
            if size >= 4096:
                self.assertIn(f"{len(image) - size} of {len(image)} bytes", report["verdict"])

    def test_extra_bytes_are_refused(self):
        extra = [b"\0", b"\n", b"\xff" * 3, bytes(4096), self.image]
        for more, report in zip(extra, self.reports([self.image + more for more in extra])):
            self.assertEqual(report["error"], "BLOOMFILE_ETRAILING")
            self.assertIn(str(len(more)), report["verdict"])


class Fields(DamageTest):
    def test_wrong_field_is_named(self):
        cases = [(name, value) for name, values in WRONG_VALUES.items() for value in values]
        images = [craft.edit(self.image, header={name: value}) for name, value in cases]
        for (name, value), report in zip(cases, self.reports(images)):
            with self.subTest(name, value=value):
                fault = report["faults"][0]
                _, offset, _ = craft.locate(self.image, name)
                self.assertEqual((fault["field"], fault["offset"]), (name, offset))
                self.assertEqual(report["error"], fault["error"])

    def test_all_wrong_fields_are_named(self):
        image = craft.edit(self.image, header={"k": 0, "capacity": 0, "fpr": 2**63, "label": b"\1"})
        report, = self.reports([image])
        self.assertEqual([fault["field"] for fault in report["faults"]],
                         ["k", "capacity", "fpr", "label"])
        self.write("bad", image)
        page = self.run_tool("bfinspect", "bad").stdout.decode()
        for name in "k", "capacity", "fpr", "label":
            self.assertRegex(page, rf"(?m)^ +! +\d+  {name} ")
        self.assertRegex(page, r"(?m)^ +48  m +100$")

    def test_wrong_record_is_named(self):
        cases = [({"state": 9}, [0, 1], "record 0"), ({"n": 5}, [1], "record 1"),
                 ({"ones": 101}, [0, 1], "record 0"), ({"record_crc": 1}, [0], "record 0"),
                 ({"record_crc": 1}, [1], "record 1"), ({"header_crc": 1}, [1], "record 1")]
        images = [craft.edit(self.image, record=record, records=slots)
                  for record, slots, _ in cases]
        for (record, _, name), report in zip(cases, self.reports(images)):
            self.assertEqual(report["faults"][0]["field"], name, record)

    def test_valid_and_invalid_values_are_shown(self):
        report, = self.reports([craft.edit(self.image, header={"k": 2**31, "layout": 77, "m": 3},
                                           checksums=False)])
        self.assertEqual([report["header"][name] for name in ("k", "m", "capacity")],
                         [2**31, 3, 3])
        self.assertIn("77", report["header"]["layout"])
        self.assertEqual(report["records"][1]["n"], 3)

    def test_fields_are_shown_up_to_the_end_of_the_file(self):
        report, = self.reports([self.image[:60]])
        self.assertIn("m", report["header"])
        self.assertNotIn("self_test", report["header"])
        self.assertEqual(report["records"], [])

    def test_random_bytes_are_refused(self):
        chosen = random.Random(7)
        images = [chosen.randbytes(chosen.randrange(1, 6000)) for _ in range(200)]
        images += [self.image[:16] + chosen.randbytes(564) for _ in range(100)]
        images += [self.image[:12] + struct.pack("<I", 4096) + chosen.randbytes(8180)
                   for _ in range(20)]
        for report in self.reports(images, "--verify"):
            self.assertEqual(report["status"], 2)
        for number in 0, 1, 2:
            for locale in "C", "C.UTF-8":
                page = self.run_tool("bfinspect", "-H", str(number), locale=locale).stdout
                self.assertNotRegex(page, rb"[\x00-\x09\x0b-\x1f\x7f]")

    def test_report_of_a_damaged_header_has_no_control_characters(self):
        for row in table(REFUSED / "index.tsv"):
            for locale in "C", "C.UTF-8":
                page = self.run_tool("bfinspect", "-H", REFUSED / row["file"], locale=locale).stdout
                self.assertNotRegex(page, rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", row)
                page.decode("ascii" if locale == "C" else "utf-8")


if __name__ == "__main__":
    main()
