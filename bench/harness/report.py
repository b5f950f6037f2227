# SPDX-License-Identifier: MIT
"""Functions that the programs in Python share: tables, verdicts, folders for files, and exit statuses."""

import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

missed = False  # whether a figure missed its target


def verdict(kept):
    global missed
    missed |= not kept
    return "ok" if kept else "MISSED"


def number(value, decimals=2):
    """The number as text for a cell; "" without a number."""
    return "" if math.isnan(value) else f"{value:.{decimals}f}"


def print_table(heads, rows):
    """Prints a table. A head that begins with '>' belongs to a column of numbers."""
    rows = [[head.lstrip(">") for head in heads]] + [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    right = [head.startswith(">") for head in heads]
    lines = ["| " + " | ".join(cell.rjust(w) if r else cell.ljust(w)
                               for cell, w, r in zip(row, widths, right)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 1) + "-:"[r] for w, r in zip(widths, right)) + "|")
    print("\n".join(lines) + "\n", flush=True)


def machine_words():
    """'Intel(R) Xeon(R) Processor, 4 cores, Linux 6.1.0'; not all processors have a name."""
    name = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    system = os.uname()
    return f"{name}, {os.cpu_count()} cores, {system.sysname} {system.release.split('-')[0]}"


def save(path, text):
    """Writes a file, which appears whole or not at all."""
    fresh = pathlib.Path(f"{path}.new")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.rename(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise OSError(f"cannot write {path}: {error.strerror}") from error


def whole(text):
    """The type of an option: a number from 1 on."""
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(text)
    return int(text)


def trouble(message):
    raise RuntimeError(message)


def scratch(folder, room):
    """Makes a new folder for files in this folder, or in $TMPDIR or /var/tmp. Its keeper removes it: a process that
    outlives the program and its terminal, and waits until the other end of a pipe is closed, even by SIGKILL."""
    folder = pathlib.Path(folder or os.environ.get("TMPDIR", "/var/tmp"))
    free = shutil.disk_usage(folder).free
    if free < room:
        trouble(f"{folder} has room for {free >> 20} MiB, not {int(room) >> 20}; name another folder")
    path = tempfile.mkdtemp(prefix="bench.", dir=folder)
    watched, held = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        os.setsid()
        os.close(held)
        os.read(watched, 1)
        shutil.rmtree(path, ignore_errors=True)
        os._exit(0)
    os.close(watched)
    return pathlib.Path(path), (held, keeper)


def main(run):
    """Runs a program, and exits: with 1 if a figure missed its target, with 2 after an error."""
    kept = []

    def make_scratch(folder, room):
        path, keeper = scratch(folder, room)
        kept.append(keeper)
        return path

    for stop in signal.SIGHUP, signal.SIGINT, signal.SIGTERM:
        signal.signal(stop, lambda *_: sys.exit(2))
    status = 2
    try:
        run(make_scratch)
        status = 1 if missed else 0
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"{pathlib.Path(sys.argv[0]).name}: {error}", file=sys.stderr)
    finally:
        for held, keeper in kept:
            os.close(held)
            os.waitpid(keeper, 0)
    sys.exit(status)
