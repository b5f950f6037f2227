# SPDX-License-Identifier: MIT
"""Shared parts of the tests that run both implementations of live files.

The Python implementation, tests/spec/spec_writer.py, was written from format-spec.md alone.
"""

from contextlib import suppress

from support import ToolTest, craft, lines, numbered

import spec_writer
from spec_reader import LAYOUTS, N_ESTIMATED, ones_and_overflow
from spec_writer import File, LiveImage, Reader, Writer

KEYS = [b"", *numbered(200), b"long " * 300]
MORE = numbered(100, "more ")
ABSENT = numbered(300, "absent ")
RECORD = "state", "flags", "n", "ones", "overflow", "boot_id", "writers"
STATES = {"live": 1, "sealed": 2, "poisoned": 3}


class CrossTest(ToolTest):
    def path(self, name):
        return str(self.folder / name)

    def joined(self, name="live", **options):
        writer = Writer(self.path(name), **options)
        self.addCleanup(writer.close)
        return writer

    def reader(self, name="live", **options):
        reader = Reader(self.path(name), **options)
        self.addCleanup(reader.close)
        return reader

    def file(self, name="live"):
        file = File(self.path(name))
        self.addCleanup(file.close)
        return file

    def adder(self, *keys, name="live", **options):
        """A running bfadd that has added these keys."""
        process = self.start("bfadd", "-v", name, **options)
        self.feed(process, *keys)
        self.wait_for_key(name, keys[-1], process)
        return process

    # Operations of both implementations; `by` is "c" or "python".

    def make(self, by, name, layout="classic", m=30_000, k=5, capacity=1000, fpr=0.01, seed=0,
             label="", tag="00" * 16):
        with suppress(FileNotFoundError):
            (self.folder / name).unlink()
        if by == "c":
            self.create_live("--overfull", "-l", layout, "-m", m, "-k", k, "-n", capacity, "-p", fpr, "-s", seed,
                             "--label", label, "--tag", tag, name=name)
        else:
            spec_writer.create(self.path(name), {
                "layout": LAYOUTS[layout], "m": m, "k": k, "key_kind": 1, "capacity": capacity,
                "seed": seed,
                "fpr": fpr, "label": label.encode(), "tag": bytes.fromhex(tag)})

    def add(self, by, name, keys, accept_unclean=False):
        if by == "c":
            words = ["--accept-unclean"] if accept_unclean else []
            self.output("bfadd", "-q", "--overfull", *words, name, stdin=lines(*keys))
        else:
            writer = self.joined(name, accept_unclean=accept_unclean)
            writer.add(keys)
            writer.leave()

    def remove(self, by, name, keys, absent=0):
        if by == "c":
            out = self.added("--remove", name, stdin=lines(*keys),
                             status=1 if absent else 0)
            refused = int(out.split()[-4])
        else:
            writer = self.joined(name)
            refused = [writer.remove(key) for key in keys].count(False)
            writer.leave()
        self.assertEqual(refused, absent)

    def seal(self, by, name, accept_unclean=False):
        if by == "c":
            self.output("bfseal", "-q", *["--accept-unclean"] if accept_unclean else [], name)
        else:
            spec_writer.seal(self.path(name), accept_unclean)

    def agreed(self, name="live", keys=(), absent=()):
        """Checks that both implementations agree about the record and about these keys. Returns the record."""
        report = self.inspected(name, "--accept-unclean")
        self.assertIsNone(report["error"])
        image = LiveImage(self.read(name), name, accept_unclean=True)
        by_c, record = report["record"], {**image.record, "boot_id": image.record["boot_id"].hex()}
        self.assertEqual({**{field: by_c[field] for field in RECORD if field != "flags"},
                          "state": STATES[by_c["state"]], "flags": int(by_c["n_estimated"])},
                         {**{field: record[field] for field in RECORD},
                          "flags": record["flags"] & N_ESTIMATED})
        self.assertEqual(int(by_c["sequence"], 16), record["sequence"])
        ones, overflow = ones_and_overflow(image.header, image.body)
        self.assertEqual(report["measure"]["ones"], ones)
        if image.is_clean() and not record["flags"]:
            self.assertEqual((record["ones"], record["overflow"]), (ones, overflow))
        reader = self.reader(name, accept_unclean=True)
        found = [key for key in [*keys, *absent] if reader.maybe(key)]
        self.assertEqual(found[:len(keys)], list(keys))
        out = self.run_tool("bfquery", "--accept-unclean", name, stdin=lines(*keys, *absent)).stdout
        self.assertEqual(out, lines(*found))
        return record

    def alike(self, *names):
        """Compares header, body and counts. Sequences may differ, since each implementation chooses when it commits."""
        first, second = (self.read(name) for name in names)
        self.assertEqual(first[:2048], second[:2048])
        self.assertEqual(craft.body_of(first), craft.body_of(second))
        self.assertEqual(*({field: LiveImage(image, "").record[field] for field in RECORD}
                           for image in (first, second)))
