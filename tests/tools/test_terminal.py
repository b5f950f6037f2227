# SPDX-License-Identifier: MIT
"""The tools on a terminal: progress, the summary, and output that must not appear there."""

import errno
import re
import subprocess
import threading

from support import GOLDEN, SANITIZED, ToolTest, craft, lines, main, numbered
from terminal import Screen

KEYS = 100_000 if SANITIZED else 2_000_000


class Terminal(ToolTest):
    def on_terminal(self, stream, tool, *arguments, columns=80, **options):
        """The result of a tool and the text on the terminal, which is its `stream` ("stdout" or "stderr")."""
        with Screen(columns) as screen:
            result = self.run_tool(tool, *arguments, **{stream: screen.terminal}, **options)
        return result, screen.text

    def test_progress_is_replaced_by_the_summary(self):
        self.write("keys", lines(*numbered(KEYS)))
        result, seen = self.on_terminal("stderr", "bfcreate", "new.bloom", "keys")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"keys\r", seen.replace(b" ", b""))
        last = seen.rsplit(b"\r", 1)[1]
        self.check_message("bfcreate", last, "new.bloom", f"{KEYS} keys", "target 1%")
        self.assertNotRegex(seen, rb"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]")

    def sparse(self, size):
        """The arguments for a filter from a sparse input of so many GiB."""
        with open(self.folder / "sparse", "wb") as file:
            try:
                file.truncate(size * 2**30)
            except OSError as error:
                if error.errno != errno.EFBIG:
                    raise
                self.skipTest("the file system has no such large files")
        return "-x256", "-j1", "-f", "new.bloom", "sparse"

    def progress(self, pattern, words, columns=80, piece=b""):
        """The terminal text of bfcreate until the pattern matches. Its input is endless and repeats `piece`."""
        shown = threading.Event()
        with Screen(columns, lambda text: re.search(pattern, text) and shown.set()) as screen:
            process = subprocess.Popen(self.command("bfcreate", *words), stdin=subprocess.PIPE, stderr=screen.terminal,
                                       cwd=self.folder, env=self.environment())
            self.addCleanup(self.end, process)
            self.until(lambda: process.stdin.write(piece) is not None and shown.is_set(), process)
            self.end(process)
        return screen.text

    def test_progress_shows_rate_and_time_left(self):
        """At the beginning of a long input, and throughout a shorter input."""
        pattern = (rb"\r\d+\.\d M keys, (\d+)% of (\d+)\.0 GiB, \d+\.\d M/s, "
                   rb"(\d+\.\d) ([MG])iB/s, (\d+):(\d\d) left: sparse *\r")
        _, seen = self.on_terminal("stderr", "bfcreate", *self.sparse(1 if SANITIZED else 2))
        for percent, size, speed, unit, minutes, seconds in (
                re.findall(pattern, self.progress(pattern, self.sparse(16)) + seen)):
            whole = int(size) * (1024 if unit == b"M" else 1) / float(speed)
            left = 60 * int(minutes) + int(seconds)
            self.assertAlmostEqual(left, (1 - int(percent) / 100) * whole, delta=1 + whole / 20)
        self.assertNotRegex(seen, rb"keys, (10[1-9]|1[1-9]\d|[2-9]\d\d|\d{4})%")

    def test_progress_of_a_pipe_shows_no_time_left(self):
        seen = self.progress(rb"\r\d\.\d M keys, \d+\.\d [KM]iB, \d\.\d M/s, \d+\.\d [KM]iB/s: standard input *\r",
                             ["new.bloom"], piece=lines(*[b"%099d" % i for i in range(4000)]))
        self.assertNotIn(b"left", seen)

    def test_progress_fits_the_terminal(self):
        name = "a long name " * 15
        self.write(name, lines(*numbered(1000)))
        for columns in 20, 80, 300:
            _, seen = self.on_terminal("stderr", "bfcreate", "-f", "new.bloom", name,
                                       columns=columns)
            progress = seen.rsplit(b"bfcreate: ", 1)[0]
            self.assertLess(max(map(len, re.split(rb"[\r\n]", progress))), columns)

    def test_a_narrow_terminal_shows_the_time_left_longest(self):
        """If a line does not fit, the name is dropped first and the time left last."""
        size, rate, left = rb" of \d+\.0 GiB", rb"\d+\.\d M/s", rb"\d+:\d\d left"
        keys, done = rb"\d+\.\d M keys", rb"\d+%"
        for columns, shown in ((100, (keys, done + size, rate, rb"\d+\.\d [MG]iB/s", left)),
                               (55, (keys, done + size, rate, left)),
                               (40, (keys, done + rb"(?:" + size + rb")?", left)),
                               (35, (keys, done, left)), (20, (done, left))):
            pattern = rb"\r" + rb", ".join(shown) + rb"(?:: [spare]*)? *(?=\r)"
            found = re.findall(pattern, self.progress(pattern, self.sparse(16), columns))
            self.assertLess(max(map(len, found)), columns + 1)

    def test_every_tool_that_reads_keys_shows_progress(self):
        """Progress is not shown if keys are printed to the terminal, or with -q."""
        self.write("keys", lines(*numbered(KEYS)))
        self.create("-q", "keys", name="filter")
        for tool, loud, silent in (("bfquery", [["filter", "keys"], ["-c", "filter", "keys"],
                                                ["-v", "filter", "keys"]],
                                    [["-q", "filter", "keys"], ["-vq", "filter", "keys"]]),
                                   ("bfuniq", [["keys"], ["-c", "keys"]], [["-q", "keys"]]),
                                   ("bfcommon", [["keys", "keys"]], [["-q", "keys", "keys"]])):
            for words in loud:
                result, seen = self.on_terminal("stderr", tool, *words)
                self.assertLess(result.returncode, 2)
                self.assertRegex(seen, rb"\r\d+\.\d M keys, .*: keys")
                self.assertEqual(seen.replace(b" ", b"").split(b"\r")[-1], b"")
            for words in silent:
                self.assertEqual(self.on_terminal("stderr", tool, *words)[1], b"")

    def test_quiet_shows_no_progress(self):
        result, seen = self.on_terminal("stderr", "bfcreate", "-q", "new.bloom",
                                        stdin=lines(*numbered(1000)))
        self.assertEqual((result.returncode, seen), (0, b""))

    def test_names_of_inputs_are_shown_harmlessly(self):
        self.write("\x1b[2J", lines("a"))
        _, seen = self.on_terminal("stderr", "bfcreate", "new.bloom", "\x1b[2J")
        self.assertIn(rb"\033[2J", seen)
        self.assertNotIn(b"\x1b", seen)

    def test_error_is_printed_on_its_own_line(self):
        self.write("keys", b"123456789" * 10_000)
        result, seen = self.on_terminal("stderr", "bfcreate", "-x7", "new.bloom", "keys")
        self.assertEqual(result.returncode, 2)
        self.check_message("bfcreate", seen.rsplit(b"\r", 1)[1], "keys")

    def test_fault_of_a_file_is_printed_once(self):
        """The page reports it. A message reports it if the page goes elsewhere or is not printed."""
        self.create("-q", stdin=b"a\n", name="filter")
        self.write("bad", craft.flip(self.read("filter"), 40))
        for words, stdout_too, count in ([], True, 1), ([], False, 1), (["-q"], True, 1), (["--report", "-"], True, 2):
            with Screen(200) as screen:
                self.run_tool("bfinspect", *words, "bad", stderr=screen.terminal,
                              stdout=screen.terminal if stdout_too else subprocess.DEVNULL)
            self.assertEqual(screen.text.count(b"damaged header"), count, screen.text)
        with Screen(200) as screen:
            self.run_tool("bfinspect", "missing", stderr=screen.terminal, stdout=screen.terminal)
        self.assertEqual(screen.text.count(b"No such file"), 1)

    def test_progress_is_not_shown_without_a_terminal(self):
        self.write("keys", lines(*numbered(KEYS)))
        self.assertEqual(self.output("bfcreate", "new.bloom", "keys"), b"")
        self.assertEqual(self.output("bfinspect", "-q", "--keys", "keys", "new.bloom"), b"")

    def test_inspecting_keys_leaves_no_progress(self):
        self.create("-q", stdin=lines("a", "b"), name="filter")
        self.write("keys", lines("a", "b"))
        result, seen = self.on_terminal("stderr", "bfinspect", "--verify", "--keys", "keys",
                                        "filter")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(seen.replace(b" ", b"").split(b"\r")[-1], b"")

    def test_adding_shows_progress(self):
        self.write("keys", lines(*numbered(KEYS)))
        self.create_live("-n", KEYS)
        result, seen = self.on_terminal("stderr", "bfadd", "live", "keys")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout, b"")
        self.assertIn(b"M keys", seen)
        self.assertRegex(seen, rb"\r *\rbfadd: live: %d keys, \d+ new\r?\n\Z" % KEYS)
        _, seen = self.on_terminal("stderr", "bfadd", "-q", "live", "keys")
        self.assertEqual(seen, b"")

    def test_creating_and_sealing_live_filters_show_progress(self):
        for tool, words, doing, says in (
                ("bfcreate", ["--live", "-n", 1000, "live"], b"allocating", "room for 1000 keys"),
                ("bfseal", ["live", "copy"], b"sealing", "0 keys"),
                ("bfseal", ["live"], b"sealing", "0 keys")):
            result, seen = self.on_terminal("stderr", tool, *words)
            self.assertEqual(result.returncode, 0)
            self.assertIn(b"\r" + doing, seen)
            self.check_message(tool, seen.rsplit(b"\r", 1)[1].splitlines(True)[-1], says)

    def test_filters_are_not_written_to_a_terminal(self):
        for force in [], ["-f"]:
            result, seen = self.on_terminal("stdout", "bfcreate", *force, "-", stdin=lines("a"))
            self.assertEqual((result.returncode, seen), (2, b""))
            self.check_message("bfcreate", result.stderr, "cannot write a filter to a terminal")

    def test_images_are_not_written_to_a_terminal(self):
        result, seen = self.on_terminal("stdout", "bfinspect", "--svg", "-",
                                        GOLDEN / "blocked-file.bloom")
        self.assertEqual((result.returncode, seen), (2, b""))
        self.check_message("bfinspect", result.stderr, "terminal")

    def test_map_is_as_wide_as_the_terminal(self):
        environment = {"COLUMNS": ""}
        for columns in 40, 132:
            _, seen = self.on_terminal("stdout", "bfinspect", "--map", columns=columns,
                                       *[GOLDEN / "classic-m480833.bloom"], env=environment)
            rows = re.findall(r"(?m)^ *\d+ [▁-█ ]+$", seen.decode())
            self.assertGreater(len(rows), 5)
            self.assertEqual({len(row) for row in rows}, {columns})


if __name__ == "__main__":
    main()
