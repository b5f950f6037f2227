# SPDX-License-Identifier: MIT
"""Shared parts of the tests of distributed builds, run on one machine.
Each way must make the body of a serial build, and must not make a filter from only some of the parts."""

import os
import pathlib
import signal

from support import BFCREATE, SOURCE_ROOT, ToolTest, lines, numbered

EXAMPLES = SOURCE_ROOT / "examples"
TOOL_FOLDER = str(pathlib.Path(BFCREATE).parent)

HEADER = 4096
FROM_MERGE = 2
N = 5000
NO_KEYS = b"bfmerge: warning: filter: it has no keys, so every lookup returns no\n"
INPUTS = {
    "many": lines(*numbered(N, "https://example.org/")),
    "the last line without its end": lines(*numbered(100))[:-1],
    "any bytes": lines(b"", b"\0", b"a\0b", b"\r", b"c\r", b"\xff\xfe", b" d ",
                       b"'\"\\$x`y` {} {#}") * 9,
    "fewer lines than parts": b"a\nb\n",
    "one byte": b"a",
    "one newline": b"\n",
    "only newlines": b"\n" * 1000,
    "nothing": b"",
    "a long line first": b"x" * 1000000 + b"\n" + lines(*numbered(100)),
    "a long line in the middle": lines(*numbered(100)) + b"y" * 1000000 + b"\n" + lines(*numbered(200)),
    "a long line last": lines(*numbered(100)) + b"z" * 1000000,
    "twice the same": lines(*numbered(300)) * 2,
}

# Stands in for bfcreate. If a part has the line "poison", it makes a filter without some keys, prints an error and
# fails.
POISONED = """#!/bin/sh
part=$TMPDIR/part.$$
cat >"$part"
status=0
if grep -qx poison "$part"; then
    echo poison >"$part"
    echo "bfcreate: poison in a part" >&2
    status=2
fi
"$REAL_BFCREATE" "$@" <"$part"
rm "$part"
exit $status
"""
# Stands in for bfcreate. Records its process ID and never ends.
STUCK = """#!/bin/sh
echo $$ >>"$STARTED"
exec sleep 1000
"""


class Distributed(ToolTest):
    PARTS = 2, 3

    def setUp(self):
        super().setUp()
        self.scratch = self.folder / "scratch of others"
        self.scratch.mkdir()
        self.shims = self.folder / "shims"

    def environment(self, locale="C.UTF-8", **more):
        path = os.pathsep.join([str(self.shims), TOOL_FOLDER, os.environ["PATH"]])
        return super().environment(locale, **{"PATH": path, "TMPDIR": str(self.scratch),
                                              "HOME": str(self.scratch), "REAL_BFCREATE": BFCREATE,
                                              **more})

    def shim(self, name, text):
        self.shims.mkdir(exist_ok=True)
        path = self.shims / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def serial(self, *options):
        """The body of a serial build of the file "keys", and everything after it."""
        return self.create("-q", *options, "keys", name="serial")[HEADER:]

    def body(self, name):
        return self.read(name)[HEADER:]

    def check_each_input(self, make):
        """Calls make(parts, says) for each input. It builds "filter" from "keys" in so many parts and must print `says`."""
        for name, data in INPUTS.items():
            self.write("keys", data)
            expected = self.serial("-n", N)
            says = b"" if data else NO_KEYS
            for parts in self.PARTS:
                with self.subTest(name, parts=parts):
                    make(parts, says)
                    self.assertEqual(self.body("filter"), expected)
            if name == "many":
                self.check_merged("filter", N)
        self.check_no_litter()

    def fails(self, tool, *arguments, file="filter", **options):
        """The messages of a build that must fail. An old filter must remain, and no temporary files."""
        before = self.read(file) if (self.folder / file).exists() else None
        result = self.run_tool(tool, *arguments, **options)
        self.assertNotEqual(result.returncode, 0)
        self.assertNotEqual(result.stderr, b"")
        self.assertEqual(self.read(file) if (self.folder / file).exists() else None, before)
        self.check_no_litter()
        return result.stderr.decode()

    def check_no_litter(self):
        # GNU parallel keeps a home here, and Open MPI a folder for its session.
        self.assertEqual([name for name in os.listdir(self.scratch)
                          if not name.startswith((".parallel", "ompi."))], [])
        self.assertEqual([name for name in os.listdir(self.folder) if "tmp" in name], [])

    def check_interrupted(self, script, *arguments, env=None):
        """Signals a whole process group, as Ctrl-C does. No process may survive, and no file may remain."""
        self.shim("bfcreate", STUCK)
        self.write("keys", INPUTS["many"])
        started = self.folder / "started"
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            process = self.start(script, *arguments, start_new_session=True,
                                 env={"STARTED": str(started), **(env or {})})
            self.until(lambda: started.exists() and started.read_bytes().count(b"\n") == 2, process)
            os.killpg(process.pid, number)
            self.assertNotEqual(self.result(process)[0], 0)
            self.assertFalse((self.folder / "filter").exists())
            self.check_no_litter()
            for part in started.read_text().split():
                self.until(lambda: not os.path.exists(f"/proc/{part}"))
            started.unlink()

    def check_merged(self, name, keys):
        """Checks that the header names a merge as the origin of the body, and that n is an estimate."""
        found = self.inspected(name, "--verify")
        self.assertEqual((found["verdict"], found["header"]["provenance"]), ("healthy", FROM_MERGE))
        self.assertTrue(found["record"]["n_estimated"])
        self.assertAlmostEqual(found["record"]["n"], keys, delta=keys / 20)
