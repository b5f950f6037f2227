# SPDX-License-Identifier: MIT
"""Shared parts of the tests of bfuniq."""

import re
import struct
import subprocess

from support import TIMEOUT, ToolTest, craft

# A rate so low that tests do not meet a false positive, so answers are exact.
EXACT = ["-p", "1e-12", "-n", "200k"]

SUCCEEDED = 4  # in a record's flags: the layer has a successor


def first_ones(keys):
    """Each key at its first occurrence."""
    return list(dict.fromkeys(keys))


def repeated_ones(keys):
    seen, repeated = set(), []
    for key in keys:
        if key in seen:
            repeated.append(key)
        seen.add(key)
    return repeated


class UniqTest(ToolTest):
    def uniq(self, *arguments, **options):
        """The lines that bfuniq prints."""
        out = self.output("bfuniq", *arguments, **options)
        self.assertTrue(out == b"" or out.endswith(b"\n"))
        return out.split(b"\n")[:-1]

    def start(self, *arguments, **options):
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   **options}
        process = subprocess.Popen(self.command("bfuniq", *arguments), cwd=self.folder,
                                   env=self.environment(**options.pop("env", {})), **options)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait(TIMEOUT)
        for stream in process.stdin, process.stdout, process.stderr:
            if stream is not None and not stream.closed:
                stream.close()

    def take_turn(self, process, *keys):
        """Sends new lines and reads an answer to each."""
        process.stdin.write(b"".join(key + b"\n" for key in keys))
        process.stdin.flush()
        self.assertEqual([process.stdout.readline() for _ in keys], [key + b"\n" for key in keys])

    def finish(self, process):
        """The lines that a process prints until the end of its input."""
        out, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, errors), (0, b""))
        return out.split(b"\n")[:-1]

    def check_closed(self, name="seen"):
        """Checks that a layer was closed properly: no writer remains, and a reboot does not make it unclean."""
        image = self.read(name)
        sequences = [craft.field(image, "sequence", record) for record in (0, 1)]
        record = sequences.index(max(sequences))
        self.assertEqual(craft.field(image, "boot_id", record), bytes(16))
        self.assertIn(craft.field(image, "flags", record), [0, SUCCEEDED])

    def of_series(self, path, name):
        """A field of a layer's header (slices.md 2.1)."""
        at, form = {"series": (240, "<Q"), "layer": (248, "<Q"), "generations": (256, "<I"),
                    "series_fpr": (280, "<d")}[name]
        return struct.unpack_from(form, self.read(path), at)[0]

    def layers(self, name="seen"):
        """The endings of the names of its files."""
        return sorted((path.name[len(name):] for path in self.folder.glob(name + "*")
                       if re.fullmatch(r"(\.\d+)?", path.name[len(name):])),
                      key=lambda end: int(end[1:] or 0))
