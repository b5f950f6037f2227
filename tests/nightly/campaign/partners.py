# SPDX-License-Identifier: MIT
"""The readers that differential.py compares with the C library: the Python reader of tests/spec, and the drivers of
tests/languages, which take many images with one command."""

import contextlib
import os
import pathlib
import shlex
import struct
import subprocess
import sys

SOURCE_ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(SOURCE_ROOT / "tests" / "spec"), str(SOURCE_ROOT / "tests" / "languages")]

import spec_reader
from run import Driver
from spec_reader import APPLICATIONS, le

# Where `bindings/LANGUAGE/test --driver` leaves the program in $BUILD.
PROGRAMS = {"Go": "driver", "Rust": "target/release/examples/driver"}
NAMES = "Python", *PROGRAMS
SKIPPED = 77


class Missing(Exception):
    """A language that cannot be compared here, and why."""


def build(name, folder):
    """Builds the driver of a language. Returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    script = SOURCE_ROOT / "bindings" / name.lower() / "test"
    ended = subprocess.run([script, "--driver"], env={**os.environ, "BUILD": str(folder)}, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode != 0:
        raise Missing(ended.stdout.strip().removeprefix("skipped: ") if ended.returncode == SKIPPED else
                      f"its driver cannot be built: {script} --driver exits with {ended.returncode}")
    return folder / PROGRAMS[name]


def packed(questions):
    """The file of the command `images`: tests/languages/README.md."""
    parts = []
    for data, digests in questions:
        parts += struct.pack("<II", len(data), len(digests)), data, struct.pack(f"<{len(digests)}Q", *digests)
    return b"".join(parts)


class Program:
    """A driver."""

    def __init__(self, name, path):
        self.name, self.driver, self.file = name, Driver(name, shlex.quote(path)), os.memfd_create("images")

    def images(self, questions):
        """A word for each question, which is an image and digests to look up."""
        os.ftruncate(self.file, 0)
        os.pwrite(self.file, packed(questions), 0)
        verdict, *answers = self.driver.ask("images", f"/proc/{os.getpid()}/fd/{self.file}")
        if verdict != "ok" or len(answers) != len(questions):
            raise ValueError(f"{self.name} answers {verdict} {answers[:2]} to {len(questions)} images")
        return answers

    def result(self, command, out, *sources):
        """The answer to a command, and the bytes of the file `out` that it makes."""
        with contextlib.suppress(FileNotFoundError):
            out.unlink()
        words = [out, *sources] if command == "join" else [*sources, out]
        answer = self.driver.ask(command, *words)
        return " ".join(answer[:2]), out.read_bytes() if out.exists() else b""

    def close(self):
        os.close(self.file)
        with self.driver.process:
            pass


class Text:
    """The Python reader. Digests take the place of keys."""

    name = "Python"

    def images(self, questions):
        return [answer_by_text(data, digests) for data, digests in questions]

    def close(self):
        pass


def refusal(function, *arguments, **named):
    """The result, and the name of the error by which it refused."""
    try:
        return function(*arguments, **named), ""
    except ValueError as error:
        words = str(error).replace(":", " ").split()
        return None, next((word for word in words if word.startswith("BLOOMFILE_")), str(error))


def answer_by_text(data, digests):
    image, error = refusal(spec_reader.opened, data, "image", knows_applications=True)
    if error:
        return error

    def answers(some):
        return "".join("01"[image.maybe(digest)] for digest in some)

    header = spec_reader.layers_of(image)[0].header
    if header["hash_id"] < APPLICATIONS:
        first = answers(spec_reader.xxh3(struct.pack("<Q", digest), header["seed"]) for digest in digests)
    else:
        first = answers(digests)
        image.name(header["hash_id"], header["self_test"])
    before, verdict = answers(digests), "ok"
    try:
        image.verify()
    except ValueError as refused:
        verdict = str(refused).removeprefix("image: ").replace(" page", "")
    after = answers(digests)
    return f"{first}:{before}:{before}:{verdict}:{after}:{after}:"
