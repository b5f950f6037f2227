#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files that define the format by example are those of tests/frozen.sha256, byte for byte: images, patches, keys and vectors.

A table may have more rows at its end. Files that are not listed may be added and changed; --add lists them, and so freezes
them."""

import hashlib
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
LIST = TESTS / "frozen.sha256"
KINDS = {".bloom", ".digests", ".keys", ".patch", ".tsv"}


def listed():
    """Pairs of a checksum and a name, relative to tests/.."""
    return [line.split("  ", 1) for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def candidates():
    for folder in (TESTS / "golden", TESTS / "golden-refused"):
        for path in folder.rglob("*"):  # layers of a series are NAME.bloom.1
            if path.is_file() and (path.suffix in KINDS or ".bloom." in path.name):
                yield path.relative_to(TESTS.parent).as_posix()
    yield "tests/vectors.tsv"


def is_frozen(path, checksum):
    """Whether the file has the checksum, or is a table whose first rows have it."""
    if not path.is_file():
        return False
    seen = hashlib.sha256()
    for part in path.read_bytes().splitlines(keepends=True) if path.suffix == ".tsv" else [path.read_bytes()]:
        seen.update(part)
        if seen.hexdigest() == checksum:
            return True
    return False


def broken(root, rows):
    return [name for checksum, name in rows if not is_frozen(root / name, checksum)]


class Frozen(unittest.TestCase):
    def test_frozen_files_are_unchanged(self):
        rows = listed()
        self.assertGreater(len(rows), 700)
        self.assertEqual(broken(TESTS.parent, rows), [], "frozen, but changed or missing: restore it, and add a new file instead")

    def test_a_changed_byte_is_found_and_an_added_row_is_allowed(self):
        names = "tests/golden/blocked-file.bloom", "tests/vectors.tsv"
        rows = [row for row in listed() if row[1] in names]
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, name) for name in names]
            for path, name in zip(paths, names):
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TESTS.parent / name, path)
            paths[1].write_bytes(paths[1].read_bytes() + b"a\tnew\trow\t0\n")
            self.assertEqual(broken(Path(folder), rows), [])
            for path, name in zip(paths, names):
                before = path.read_bytes()
                for place in 0, len(before) // 2:
                    path.write_bytes(before[:place] + bytes([before[place] ^ 1]) + before[place + 1:])
                    self.assertEqual(broken(Path(folder), rows), [name])
                path.unlink()
                self.assertEqual(broken(Path(folder), rows), [name])
                path.write_bytes(before)


def add():
    known = {name for _, name in listed()}
    with LIST.open("a", encoding="utf-8") as out:
        for name in sorted(set(candidates()) - known):
            out.write(f"{hashlib.sha256((TESTS.parent / name).read_bytes()).hexdigest()}  {name}\n")


if __name__ == "__main__":
    sys.exit(add() if sys.argv[1:] == ["--add"] else unittest.main())
