#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes inputs that are not files of the repository: live files in every state, and compact forms.

    seeds.py FOLDER

Live files come from tests/spec/spec_writer.py, compact forms from tests/vectors.tsv.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WRITER = [sys.executable, "-B", str(ROOT / "tests" / "spec" / "spec_writer.py")]
KEYS = b"".join(b"key %d\n" % i for i in range(30))
DIGESTS = b"".join(b"%016x\n" % (i * 0x9E3779B97F4A7C15 % 2**64) for i in range(30))
NAME = ["--hash-id", "0x80000001", "--self-test", "7"]
FIXED = ["--key-kind", "fixed", "--key-size", "6"]


def run(command, path, *options, keys=b""):
    subprocess.run([*WRITER, command, str(path), *map(str, options)], input=keys, check=True)


def live(path, layout, m, *steps, options=(), keys=KEYS):
    """Each step is a command and its options."""
    path.unlink(missing_ok=True)
    run("create", path, "--layout", layout, "--m", m, "--k", 5, *options)
    for command, *more in steps:
        run(command, path, *more, keys=keys)


def main():
    folder = pathlib.Path(sys.argv[1])
    live(folder / "live-empty.bloom", "blocked", 512)
    live(folder / "live-clean.bloom", "blocked", 1024, ["add"])
    live(folder / "live-in-use.bloom", "classic", 999, ["add"], ["add", "--die"],
         options=["--seed", "9"])
    live(folder / "live-counting.bloom", "counting", 500, ["add"], ["remove"], ["add", "--die"])
    live(folder / "live-key-kind.bloom", "counting", 2**13 + 2, ["add"], options=FIXED)
    live(folder / "live-application.bloom", "blocked", 1024, ["add", *NAME],
         options=[*NAME, "--key-kind", "text"], keys=DIGESTS)
    live(folder / "live-poisoned.bloom", "classic", 999, ["add"], ["poison"])
    clean, poisoned = ((folder / f"live-{name}.bloom").read_bytes()
                       for name in ("clean", "poisoned"))
    # A writer killed during sync, and a writer killed while it poisoned the file: only one record has the new state.
    (folder / "live-sync-begun.bloom").write_bytes(clean[:3072] + bytes(1024) + clean[4096:])
    (folder / "live-poisoned-once.bloom").write_bytes(poisoned[:3072] + bytes(1024) +
                                                      poisoned[4096:])
    for step in range(1, 7):
        live(folder / f"live-seal-{step}.bloom", "classic", 40_000, ["add"],
             ["seal", "--until", step])
    table = (ROOT / "tests" / "vectors.tsv").read_text(encoding="utf-8")
    forms = re.findall(r"^compact\t.*\t([0-9a-f]+)$", table, re.M)
    for number, form in enumerate(forms):
        (folder / f"compact-{number}.bin").write_bytes(bytes.fromhex(form))


if __name__ == "__main__":
    sys.exit(main())
