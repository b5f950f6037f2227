# SPDX-License-Identifier: MIT
"""Two implementations of live files: killed writers, damage and failing disks.

Both must reach the same state, and each must continue where the other stopped.
"""

import errno
import os
import random
import unittest
from contextlib import suppress
from unittest import mock

from support import SANITIZED, craft, lines, main
from cross_live import ABSENT, KEYS, MORE, CrossTest

import spec_writer
from spec_writer import LiveImage, present_boot

FLIPS = 60 if SANITIZED else 200
OTHER_BOOT = bytes(range(16))
LIVE_SEQUENCES_END = 2**64 - 4
ALL_STEPS = range(1, 7)
FAILING_DISK = {"LD_PRELOAD": os.environ.get("FAILING_DISK", ""), "DISK_FAILS": "disk-fails"}


class TroubleTest(CrossTest):
    def both_refuse(self, name, error, rule):
        before = self.read(name)
        with self.assertRaisesRegex(ValueError, f"BLOOMFILE_{error} rule {rule}$"):
            LiveImage(before, name)
        self.assertEqual(self.inspected(name)["error"], f"BLOOMFILE_{error}")
        self.trouble("bfquery", name, stdin=b"a\n")
        self.trouble("bfadd", name, stdin=b"a\n")
        with self.assertRaises(ValueError):
            self.joined(name)
        self.assertEqual(self.read(name), before)

    def both_refuse_to_seal(self, name, error, changes=False):
        """With `changes`, the records may change, because a sealer joins before it seals."""
        before = self.read(name)
        for by in "c", "python":
            self.write(name, before)
            if by == "c":
                self.trouble("bfseal", name, changes=changes)
            else:
                with self.assertRaisesRegex(ValueError, f"BLOOMFILE_{error}"):
                    spec_writer.seal(self.path(name))
            after = self.read(name)
            self.assertEqual(after[:2048] + after[4096:], before[:2048] + before[4096:])
            if error == "EBODY":
                self.assertEqual(self.inspected(name, "--quick")["error"], "BLOOMFILE_EPOISONED")


class Deaths(TroubleTest):
    def killed(self, by, name, layout="counting"):
        """A live filter whose only writer was killed after it added KEYS."""
        self.make(by, name, layout)
        if by == "python":
            writer = self.joined(name)
            writer.add(KEYS)
            writer.die()
        else:
            self.end(self.adder(*KEYS, name=name))

    def test_both_estimate_lost_counts(self):
        for victim, next_one in ("c", "python"), ("python", "c"):
            self.killed(victim, "live")
            record = self.agreed("live", KEYS, ABSENT)
            self.assertEqual((record["writers"], record["flags"], record["n"]), (1, 0, 0))
            self.write("copy", self.read("live"))
            self.add(next_one, "live", MORE)
            record = self.agreed("live", KEYS + MORE, ABSENT)
            self.assertEqual((record["writers"], record["flags"], record["n"], record["boot_id"]),
                             (0, 1, len(MORE), "00" * 16))
            self.seal(next_one, "copy")
            record = self.agreed("copy", KEYS, ABSENT)
            self.assertEqual(record["flags"], 1)
            self.assertAlmostEqual(record["n"], len(KEYS), delta=10)
            self.add(victim, "live", [b"one more"])
            self.assertEqual(self.agreed("live", KEYS + MORE)["n"], len(MORE) + 1)

    def test_both_seal_to_the_same_bytes(self):
        """The estimate of these layouts assumes independent positions."""
        for layout in "classic", "counting":
            self.killed("c", "c", layout)
            self.write("python", self.read("c"))
            for by in "c", "python":
                self.seal(by, by)
            self.assertEqual(self.read("c"), self.read("python"))

    def test_last_writer_to_leave_detects_killed_writers(self):
        for last in "c", "python":
            self.make("c", "live")
            by_python, by_c = self.joined(), self.adder(b"a")
            self.assertEqual(self.agreed()["writers"], 2)
            if last == "c":
                by_python.die()
                self.result(by_c)
            else:
                self.end(by_c)
                self.assertEqual(self.agreed()["flags"], 0)
                by_python.leave()
            record = self.agreed("live", [b"a"])
            self.assertEqual((record["writers"], record["flags"], record["boot_id"]),
                             (0, 1, "00" * 16))

    def test_both_refuse_an_unclean_file(self):
        self.make("c", "live")
        self.add("c", "live", KEYS)
        unclean = craft.edit(self.read("live"), record={"boot_id": OTHER_BOOT})
        for writers in 0, 1:
            self.write("live", unclean)
            self.both_refuse("live", "EUNCLEAN", "V38")
            self.both_refuse_to_seal("live", "EUNCLEAN rule V38")
            for by in "c", "python":
                self.write("live", craft.edit(unclean, record={"writers": writers}))
                self.add(by, "live", MORE, accept_unclean=True)
                record = self.agreed("live", KEYS + MORE)
                self.assertEqual((record["flags"], record["writers"], record["boot_id"]),
                                 (1, 0, "00" * 16))
                self.write("live", craft.edit(unclean, record={"writers": writers}))
                self.seal(by, "live", accept_unclean=True)
                self.assertEqual(self.agreed("live", KEYS)["flags"], 1)

    def test_file_left_by_all_writers_but_not_marked_clean_is_accepted(self):
        """Nothing is lost if the last writer to leave saw another process, which then did not join."""
        self.make("c", "live")
        self.add("c", "live", KEYS)
        left = craft.edit(self.read("live"), record={"boot_id": present_boot()})
        for by in "c", "python":
            self.write("live", left)
            self.add(by, "live", MORE)
            record = self.agreed("live", KEYS + MORE)
            self.assertEqual((record["flags"], record["n"]), (0, len(KEYS + MORE)))
            self.write("live", left)
            self.seal(by, "live")
            record = self.agreed("live", KEYS)
            self.assertEqual((record["flags"], record["n"]), (0, len(KEYS)))


class Records(TroubleTest):
    def setUp(self):
        super().setUp()
        self.make("c", "live")
        self.add("c", "live", KEYS)
        self.image = self.read("live")
        self.in_force = LiveImage(self.image, "live").in_force

    def test_a_torn_commit_leaves_the_older_record(self):
        start = 2048 + 1024 * self.in_force
        for by in "c", "python":
            for size in 0, 8, 512, 1020:
                torn = self.image[:start] + self.image[start:start + size] \
                    + bytes(1024 - size) + self.image[start + 1024:]
                self.write("live", torn)
                before = self.agreed("live", KEYS)
                self.assertEqual(before["sequence"], craft.field(self.image, "sequence",
                                                                 self.in_force) - 1)
                self.add(by, "live", MORE, accept_unclean=True)
                self.assertGreater(self.agreed("live", KEYS + MORE)["sequence"],
                                   before["sequence"])

    def test_both_give_the_same_error(self):
        """Bits flip anywhere in the records, with and without corrected checksums."""
        chosen, seen = random.Random(5), set()
        for number in range(FLIPS):
            at = 2048 + 1024 * chosen.randrange(2) + chosen.choice(
                [chosen.randrange(72), chosen.randrange(16), chosen.randrange(1024)])
            image = craft.flip(self.image, at, chosen.randrange(8))
            if number % 4:
                image = craft.edit(image)
            self.write("live", image)
            refused = None
            try:
                LiveImage(image, "live", abandoned=lambda sequence: True)
            except ValueError as error:
                refused = str(error).split()[1]
            self.assertEqual(self.inspected("live", "--quick")["error"], refused, (at, number))
            seen.add(refused)
        self.assertGreaterEqual(seen, {None, "BLOOMFILE_ESTATE", "BLOOMFILE_EUNCLEAN"})

    def test_both_refuse_unusable_records(self):
        older = 1 - self.in_force
        sequence = craft.field(self.image, "sequence", self.in_force)
        for error, rule, image in (
                ("ERECORD", "V28", craft.flip(craft.flip(self.image, 2100), 3100)),
                ("ERECORD", "V28", craft.edit(self.image, record={"sequence": sequence},
                                              records=[older])),
                ("ESTATE", "V29", craft.edit(self.image, record={"state": 4})),
                ("ESTATE", "V29", craft.edit(self.image, record={"sequence": 2**64 - 1},
                                             records=[older])),
                ("ESTATE", "V30", craft.edit(self.image, record={"ones": 30_001})),
                ("ESTATE", "V30", craft.edit(self.image, record={"overflow": 1})),
                ("ESTATE", "V30", craft.edit(self.image, record={"body_crc": 1})),
                ("EPOISONED", "V35", craft.edit(self.image, record={"state": 3}))):
            with self.subTest(error=error, rule=rule):
                self.write("live", image)
                self.both_refuse("live", error, rule)
                self.assertEqual(self.read("live"), image)

    def test_both_clamp_counts_to_their_range(self):  # L22
        for by in "c", "python":
            self.write("live", craft.edit(self.image, record={"n": 2**64 - 3, "ones": 29_990}))
            self.add(by, "live", MORE)
            record = LiveImage(self.read("live"), "live").record
            self.assertEqual((record["n"], record["ones"]), (2**64 - 1, 30_000))
        self.make("c", "live", "counting")
        self.add("c", "live", KEYS)
        counted = self.read("live")
        for by in "c", "python":
            self.write("live", craft.edit(counted, record={"n": 1, "ones": 2, "overflow": 0}))
            self.remove(by, "live", KEYS[:5])
            record = LiveImage(self.read("live"), "live").record
            self.assertEqual((record["n"], record["ones"]), (0, 0))

    def test_both_fail_at_the_last_sequence(self):
        image = craft.edit(self.image, record={"sequence": LIVE_SEQUENCES_END},
                           records=[self.in_force])
        self.write("live", image)
        self.agreed("live", KEYS)
        self.trouble("bfadd", "live", stdin=b"a\n")
        with self.assertRaisesRegex(ValueError, "sequence"):
            self.joined()
        self.assertEqual(self.read("live"), image)

    def test_unknown_ro_compat_bit_is_refused_by_writers(self):
        image = craft.edit(self.image, header={"ro_compat": 1 << 9})
        self.write("live", image)
        self.agreed("live", KEYS)
        self.assertIn("feature", self.trouble("bfadd", "live", stdin=b"a\n"))
        with self.assertRaisesRegex(ValueError, "EFEATURE bit 9"):
            self.joined()
        self.both_refuse_to_seal("live", "EFEATURE bit 9")

    def test_bits_beyond_m_are_not_sealed(self):
        for layout, m in ("classic", 29_999), ("counting", 29_999), ("blocked", 512):
            self.make("c", "live", layout, m)
            self.add("c", "live", KEYS[:20])
            image = self.read("live")
            for at in 4096 + craft.body_size(image) - 1, 4096 + (m + 1) // 8:
                if layout == "counting":
                    at = max(at, 4096 + m // 2)
                self.write("live", craft.flip(image, at, 7))
                self.assertEqual(self.query("live", stdin=lines(*KEYS[:20])), KEYS[:20])
                self.assertEqual(self.inspected("live", "--quick")["verdict"], "live, clean")
                self.assertEqual(self.inspected("live")["error"], "BLOOMFILE_EBODY")
                self.both_refuse_to_seal("live", "EBODY", changes=True)

    def test_body_with_fewer_bits_than_counted_is_not_sealed(self):
        """Also after a writer was killed and another writer joined. An accepted loss is not an error."""
        for layout in "blocked", "classic":
            self.make("c", "live", layout, 512 * 60)
            self.add("c", "live", KEYS)
            image = self.read("live")
            size = craft.body_size(image)
            lost = image[:4096] + bytes(size) + image[4096 + size:]
            killed = craft.edit(lost, record={"writers": 1, "boot_id": present_boot()})
            for by in None, "c", "python":
                self.write("live", killed)
                if by:
                    self.add(by, "live", [])
                self.assertEqual(self.inspected("live")["error"], "BLOOMFILE_EBODY")
                self.both_refuse_to_seal("live", "EBODY", changes=True)
            for by in "c", "python":
                self.write("live", craft.edit(killed, record={"boot_id": OTHER_BOOT}))
                self.add(by, "live", KEYS[:1], accept_unclean=True)
                self.assertEqual(self.inspected("live")["faults"], [])
                self.output("bfseal", "-q", "live")


class UnfinishedSeals(TroubleTest):
    def check(self, sealed, image):
        """Checks an image whose sealing was interrupted. Each implementation must complete it to the intended file."""
        self.write("live", image)
        if craft.refusal(image) != ("BLOOMFILE_ERECORD", "V33"):
            self.agreed("live", KEYS, ABSENT)
        for by in "c", "python":
            self.write("live", image)
            if by == "python" and image == sealed:
                continue
            self.seal(by, "live")
            self.assertEqual(self.read("live"), sealed)

    def check_abandoned(self, sealed, image):
        """Checks an image that was abandoned before it was sealed."""
        self.write("live", image)
        self.trouble("bfquery", "live", stdin=b"a\n")
        with self.assertRaisesRegex(ValueError, "EUNCLEAN rule V38"):
            spec_writer.Reader(self.path("live"))
        for by in "c", "python":
            self.write("live", image)
            self.both_refuse_to_seal("live", "EUNCLEAN rule V38")
            self.seal(by, "live", accept_unclean=True)
            self.assertEqual(self.read("live")[4096:], sealed[4096:])
            self.agreed("live", KEYS, ABSENT)

    def test_seal_is_completed_after_each_step(self):
        for layout in "blocked", "classic", "counting":
            self.make("c", "live", layout, 30_720)
            self.add("c", "live", KEYS)
            before = self.read("live")
            self.seal("c", "live")
            sealed, states = self.read("live"), []
            for step in ALL_STEPS:
                self.write("live", before)
                spec_writer.seal(self.path("live"), until=step)
                image = self.read("live")
                states.append(self.inspected("live")["record"]["state"])
                with self.subTest(layout=layout, step=step):
                    if step < 3:
                        self.check_abandoned(sealed, image)
                    else:
                        self.check(sealed, image)
            self.assertEqual(states, ["live"] * 2 + ["sealed"] * 4)

    def test_torn_records_of_a_seal_are_completed(self):
        self.make("python", "live")
        self.add("python", "live", KEYS)
        before = self.read("live")
        self.seal("c", "live")
        sealed = self.read("live")
        in_force = LiveImage(before, "live").in_force
        other, last = (2048 + 1024 * slot for slot in (1 - in_force, in_force))
        for size in 1, 8, 100, 512, 1020:
            torn = before[:other] + sealed[other:other + size] + before[other + size:4096] \
                + sealed[4096:]
            self.check(sealed, torn)
            torn = sealed[:last] + sealed[last:last + size] + before[last + size:last + 1024] \
                + sealed[last + 1024:]
            self.check(sealed, torn)

    def test_other_records_are_not_an_unfinished_seal(self):
        self.make("c", "live")
        self.add("c", "live", KEYS)
        before = self.read("live")
        self.seal("c", "live")
        sealed = self.read("live")
        in_force = LiveImage(before, "live").in_force
        last = 2048 + 1024 * in_force
        unfinished = sealed[:last] + before[last:last + 1024] + sealed[last + 1024:]
        for refusal, image in (
                ("EPAGE", craft.flip(unfinished, 5000)),
                ("EPAGE", craft.flip(craft.flip(sealed, last + 100), 5000)),
                ("ERECORD", craft.edit(unfinished, record={"state": 3}, records=[in_force]))):
            self.write("live", image)
            self.assertIsNotNone(craft.refusal(image))
            self.both_refuse_to_seal("live", refusal)


class Poison(TroubleTest):
    def test_poison_written_by_python_is_seen_by_c(self):
        self.make("c", "live")
        self.add("c", "live", KEYS)
        reader, adder = self.start("bfquery", "live"), self.adder(b"a")
        self.feed(reader, ABSENT[0], KEYS[1])
        self.assertEqual(reader.stdout.readline(), KEYS[1] + b"\n")
        spec_writer.poison(self.path("live"))
        self.both_refuse("live", "EPOISONED", "V35")
        self.feed(reader, ABSENT[0])
        self.assertEqual(reader.stdout.readline(), ABSENT[0] + b"\n")
        self.assertEqual(self.result(adder, lines(*MORE))[0], 2)
        self.both_refuse_to_seal("live", "EPOISONED rule V35")

    @unittest.skipIf(SANITIZED, "a library cannot be put before the sanitizer's")
    def test_poison_written_by_c_is_seen_by_python(self):
        self.make("python", "live")
        self.add("python", "live", KEYS)
        reader, writer = self.reader(), self.joined()
        self.assertFalse(reader.maybe(ABSENT[0]))
        self.write("disk-fails", b"")
        self.run_tool("bfadd", "live", stdin=lines(*MORE), env={**FAILING_DISK, "DISK_WORKS": "1"})
        self.both_refuse("live", "EPOISONED", "V35")
        self.assertTrue(reader.maybe(ABSENT[0]))
        before = self.read("live")
        for refused in lambda: writer.add([b"a"]), writer.synchronise, writer.seal, writer.leave:
            with self.assertRaisesRegex(ValueError, "EPOISONED"):
                refused()
        self.assertEqual(self.read("live"), before)

    @unittest.skipIf(SANITIZED, "a library cannot be put before the sanitizer's")
    def test_both_leave_the_same_file_after_a_failed_sync(self):
        """The disk fails at each sync in the life of a writer, and of a sealer."""
        self.make("c", "live")
        self.add("c", "live", KEYS)
        start = self.read("live")
        self.write("disk-fails", b"")
        for life, tool in ("add", "bfadd"), ("seal", "bfseal"):
            ends = set()
            for works in range(8):
                self.write("live", start)
                self.run_tool(tool, "live", stdin=lines(*MORE) if tool == "bfadd" else b"",
                              env={**FAILING_DISK, "DISK_WORKS": str(works)})
                by_c = self.read("live")
                self.write("live", start)
                self.fail_after(works, life)
                with self.subTest(life=life, works=works):
                    self.assertEqual(self.read("live"), by_c)
                ends.add(craft.refusal(by_c))
            self.assertIn(("BLOOMFILE_EPOISONED", "V35"), ends)
            self.assertGreater(len(ends), 1)

    def fail_after(self, works, life):
        real, calls = spec_writer.File.sync, iter(range(works))

        def sync(file):
            if next(calls, None) is None:
                raise OSError(errno.EIO, "the disk fails")
            real(file)

        with mock.patch.object(spec_writer.File, "sync", sync):
            with suppress(OSError, ValueError):
                writer = self.joined()
                with suppress(OSError, ValueError):
                    if life == "seal":
                        writer.seal()
                        return
                    writer.add(MORE)
                    writer.synchronise()
                writer.leave()


if __name__ == "__main__":
    main()
