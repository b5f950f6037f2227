# SPDX-License-Identifier: MIT
"""bfcommon: errors, the files it leaves behind, and its memory."""

import gzip
import os
import pathlib
import resource
import signal
import subprocess
import sys
import unittest

from support import (NAMESPACE, SANITIZED, TIMEOUT, TOOLS, UNPRIVILEGED, ToolTest, lines, main,
                     needs, numbered, sha256)

MIB = 2**20
SMALL = ["--memory", "16Mi"]
TMPFS = [*NAMESPACE, "sh", "-c", 'mount -t tmpfs -o size=3m none tmp && exec "$@"', "sh"]

# Runs between a large parent and the tool, because a program's peak memory includes the time before its exec.
MEASURE = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE: no huge page counts as used memory
pid = os.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
sys.stderr.write("%d\\n" % usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def url(number):
    return b"http://www.example.com/a/path/%08x/%08x.html\n" % (number * 2654435761 % 2**32, number)


class Trouble(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("a", lines(*numbered(1000)))
        self.write("b", lines(*numbered(2000)))

    def test_wrong_command_lines_are_refused(self):
        for words, says in (([], "at least two files are needed"),
                            (["a"], "at least two files are needed"),
                            (["-", "a", "-"], "standard input can be only one of the files"),
                            (["--memory", "15Mi", "a", "b"], "--memory takes a number of bytes"),
                            (["--memory", "x", "a", "b"], "--memory takes a number of bytes"),
                            (["--memory", "2e19", "a", "b"], "--memory takes a number of bytes"),
                            (["--temp", "", "a", "b"], "--temp takes the name of a folder"),
                            (["-0x3", "a", "b"], "are mutually exclusive"),
                            (["-x", "2Mi", *SMALL, "a", "b"], "need more --memory"),
                            (["-k", "a", "b"], "unknown option -k")):
            with self.subTest(words=words):
                self.assertIn(says, self.trouble("bfcommon", *words))

    @unittest.skipIf(SANITIZED, "the sanitizer knows that name")
    def test_lack_of_memory_is_not_reported_as_no_common_lines(self):
        """libbsd's arc4random() exits with 1 and without a message if memory is short, so no tool may use it."""
        for tool in TOOLS:
            self.assertFalse(b"arc4random" in pathlib.Path(TOOLS[tool]).read_bytes(), tool)

    def test_inputs_after_an_empty_file_are_not_read(self):
        """An empty file has nothing in common with any file."""
        self.write("empty", b"")
        self.write("cut", gzip.compress(self.read("a"))[:-9])
        for others in (["-Z", "empty", "cut"], ["--field", 2, "empty", "a"]):
            self.assertEqual(self.output("bfcommon", *others, status=1), b"")
            self.trouble("bfcommon", "-d", *others, names=[others[-1]])

    def test_unreadable_inputs_are_errors(self):
        os.mkdir(self.folder / "folder")
        self.trouble("bfcommon", "a", "missing", names=["cannot open missing", "No such file"])
        self.trouble("bfcommon", "folder", "a", names=["cannot read folder", "Is a directory"])
        self.trouble("bfcommon", "a", "", names=["cannot open"])
        self.trouble("bfcommon", "a", "new\nline", names=["new\\012line"])
        self.write("records", b"\1\2\3\4\5\6")
        self.trouble("bfcommon", "-x4", "records", "records", names=["cannot read records", "last record has 2 of 4"])

    def test_more_files_than_the_soft_limit_are_compared(self):
        self.write("many", lines(*numbered(20_000)))
        names = ["many"] * 100
        for soft in 80, 150:  # too few for the inputs, then for their temporary files
            out = self.output("bfcommon", *SMALL, *names, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_NOFILE, (soft, 400)))
            self.assertEqual(out, lines(*sorted(numbered(20_000))))

    def test_more_files_than_the_hard_limit_are_compared(self):
        """About 50 files are open at a time. The carriage return at the end of a line is removed only once."""
        names = [f"file {i:03}" for i in range(600)]
        common = [*numbered(300), b"odd\r"]
        for i, name in enumerate(names):
            own = [b"of most %d" % j for j in range(40) if j != i % 40] + [b"own %d" % i]
            self.write(name, b"".join(line + b"\r\n" for line in [*own, *common]))
        few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
        self.assertEqual(self.output("bfcommon", "--crlf", *names, **few), lines(*sorted(common)))
        self.assertEqual(self.output("bfcommon", "--crlf", "-d", *names, **few), b"own 0\n")
        piped = {"stdin": lines(b"odd\r\r", b"more"), **few}
        self.assertEqual(self.output("bfcommon", "--crlf", *names, "-", **piped), b"odd\r\n")
        self.write("none", b"nothing of that\n")
        for place in 0, 300, 600:
            some = [*names[:place], "none", *names[place:]]
            self.assertEqual(self.output("bfcommon", "--crlf", *some, status=1, **few), b"")
        self.write("last", lines(*numbered(3000, "of a later turn ")))  # the largest file
        for options in [], ["--as-is", "--field", 1]:
            self.assertEqual(self.output("bfcommon", "--crlf", *options, *names, "last", status=1, **few), b"")

    def test_file_changed_between_passes_is_an_error(self):
        """There are too few descriptors to keep it open."""
        for change in "replaced", "removed", "appended to":
            with self.subTest(change=change):
                names = [f"file {i:02}" for i in range(60)]
                for name in names:
                    self.write(name, lines(*numbered(1000)))
                process = self.start("bfcommon", "-d", *names, "-", preexec_fn=lambda: (
                    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))))
                self.feed(process, *numbered(100_000))
                if change == "appended to":
                    with open(self.folder / names[0], "ab") as file:
                        file.write(b"more\n")
                else:
                    os.unlink(self.folder / names[0])
                if change == "replaced":
                    self.write(names[0], lines(*numbered(1000)))
                status, out, message = self.result(process, b"last\n")
                self.assertEqual((status, out), (2, b""))
                self.check_message("bfcommon", message, names[0])

    def test_standard_input_changed_in_an_early_turn_is_an_error(self):
        """Six inputs are compared at a time. The pipe ends after the change, and both belong to the first turn."""
        names = [f"file {i:02}" for i in range(20)]
        for name in [*names, "input"]:
            self.write(name, lines(*numbered(100)))
        os.mkfifo(self.folder / "pipe")
        with open(self.folder / "input", "rb") as file:
            process = self.start("bfcommon", "-i", names[0], "-", "pipe", *names[1:], preexec_fn=lambda: (
                os.dup2(file.fileno(), 0), resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))))
        with open(self.folder / "pipe", "wb") as pipe:  # bfcommon has opened its inputs up to the pipe
            with open(self.folder / "input", "ab") as file:
                file.write(b"more\n")
            pipe.write(lines(*numbered(100)))
        out, message = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, out), (2, b""))
        self.check_message("bfcommon", message, "standard input was changed while it was read")

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_temporary_file_with_changed_contents_is_an_error(self):
        """A temporary file reads back with other bytes than were written."""
        self.need_removal()  # failing_disk.c recognises a temporary file by its lack of a name
        forgetful = {"LD_PRELOAD": os.environ["FAILING_DISK"], "DISK_FORGETS": "1"}
        self.write("many", lines(*(b"%060d" % i for i in range(400_000))))
        self.write("more", lines(*(b"%060d" % i for i in range(1, 400_000))))
        for words, stdin in (["many", "more"], b""), (["-d", "many", "b"], b""), (["-d", "-", "a"], b"x\n"):
            message = self.trouble("bfcommon", *SMALL, *words, stdin=stdin, env=forgetful)
            self.assertIn("cannot read a temporary file: its contents changed (choose ", message)

    @unittest.skipIf(SANITIZED, "the sanitizer comes first")
    def test_failed_read_of_the_first_bytes_is_an_error(self):
        """They show whether an input holds keys, and whether it is compressed."""
        for words in [], ["-Z"]:
            for reads in 0, 1, 2:
                hides = {"LD_PRELOAD": os.environ["FAILING_DISK"], "DISK_HIDES": str(reads)}
                self.assertEqual(self.trouble("bfcommon", *words, "a", "b", env=hides), "bfcommon: cannot read a: Input/output error\n")

    def test_pipe_named_twice_is_refused(self):
        """Each of the two would get some of its lines."""
        if not os.path.exists("/dev/stdin"):
            self.skipTest("there is no /proc, where /dev/stdin leads")
        message = self.trouble("bfcommon", "-", "a", "/dev/stdin", stdin=lines("x", "y"))
        self.assertIn("standard input and /dev/stdin are the same pipe", message)

    def test_nonblocking_standard_input_is_read(self):
        process = self.start_unwaited("bfcommon", "a", "-")
        self.feed(process, b"key 1")
        self.until_read(process)
        self.assertEqual(self.result(process, lines("key 2")), (0, lines("key 1", "key 2"), b""))

    @needs(*UNPRIVILEGED)
    def test_unreadable_file_is_an_error(self):
        (self.folder / "b").chmod(0)
        self.trouble("bfcommon", "a", "b", before=UNPRIVILEGED,
                     names=["cannot open b", "Permission denied"])
        (self.folder / "b").chmod(0o600)
        (self.folder / "closed").mkdir()
        (self.folder / "closed").chmod(0o500)
        self.trouble("bfcommon", "--temp", "closed", "a", "b", before=UNPRIVILEGED,
                     names=["temporary file in closed", "--temp", "Permission denied"])

    def test_unusable_temporary_folder_is_an_error(self):
        self.trouble("bfcommon", "--temp", "missing", "a", "b",
                     names=["temporary file in missing", "--temp", "No such file"])
        self.trouble("bfcommon", "--temp", "a", "a", "b", names=["temporary file in a"])
        self.trouble("bfcommon", "a", "b", env={"TMPDIR": "elsewhere"},
                     names=["temporary file in elsewhere"])
        self.output("bfcommon", "a", "b", env={"TMPDIR": ""})

    @needs(*NAMESPACE)
    def test_full_disk_for_temporary_files_is_an_error(self):
        os.mkdir(self.folder / "tmp")
        self.write("big", lines(*numbered(500_000)))
        for options in [], ["-d"]:
            names = ["big", "big"] if options == [] else ["big", "a"]
            self.trouble("bfcommon", "--temp", "tmp", *options, *names, before=TMPFS,
                         names=["cannot write a temporary file in tmp", "No space left"])

    def test_line_larger_than_memory_is_an_error(self):
        self.write("long", b"x\n" + b"y" * (3 * MIB))
        self.trouble("bfcommon", *SMALL, "a", "long",
                     names=["cannot hold a key of 2.0 MiB from long", "--memory"])
        self.assertEqual(self.output("bfcommon", "long", "long"), self.read("long") + b"\n")

    def test_file_changed_during_a_slow_input_is_an_error(self):
        """The pipe is read last, so the file has been read once by then."""
        changes = {"grown": lambda f: f.write(b"more\n"), "shrunk": lambda f: f.truncate(100),
                   "rewritten": lambda f: os.utime(
                       f.fileno(), ns=(0, os.fstat(f.fileno()).st_mtime_ns + 2 * 10**9))}  # vfat has steps of 2 s
        for name, change in changes.items():
            for options in [], ["-d"]:
                with self.subTest(change=name, options=options):
                    self.write(name, lines(*numbered(1000)))
                    process = self.start("bfcommon", *options, name, "-")
                    self.feed(process, *numbered(100_000))
                    with open(self.folder / name, "ab") as file:
                        change(file)
                    status, out, message = self.result(process, b"last\n")
                    self.assertEqual((status, out), (2, b""))
                    self.check_message("bfcommon", message, name, "was changed while it was read")

    def test_open_file_that_is_replaced_is_still_read(self):
        process = self.start("bfcommon", "a", "-")
        self.feed(process, *numbered(100_000))
        self.write("new", b"new\n")
        os.rename(self.folder / "new", self.folder / "a")
        self.assertEqual(self.result(process, b"last\n"),
                         (0, lines(*sorted(numbered(1000))), b""))

    def test_killed_run_leaves_no_temporary_files(self):
        os.mkdir(self.folder / "tmp")
        self.write("big", b"".join(map(url, range(400_000))))
        for how in signal.SIGINT, signal.SIGKILL:
            process = self.start("bfcommon", *SMALL, "--temp", "tmp", "-d", "big", "-")
            process.stdin.write(b"".join(map(url, range(200_000))))
            process.stdin.flush()
            self.assertEqual(self.temporaries(), [])
            process.send_signal(how)
            self.assertEqual(process.wait(TIMEOUT), -how)
            self.assertEqual(self.temporaries(), [])

    def temporaries(self):
        """The temporary files, except those that NFS keeps while they are open."""
        return [name for name in os.listdir(self.folder / "tmp") if not name.startswith(".nfs")]

    def test_two_concurrent_runs_do_not_interfere(self):
        processes = [self.start("bfcommon", "a", "b") for _ in range(2)]
        for process in processes:
            self.assertEqual(self.result(process), (0, lines(*sorted(numbered(1000))), b""))


class Memory(ToolTest):
    """Files many times larger than the memory limit, so that everything spills."""

    LINES = 600_000 if SANITIZED else 2_000_000

    def write_urls(self, name, numbers):
        with open(self.folder / name, "wb") as file:
            for start in range(numbers.start, numbers.stop, 50_000):
                file.write(b"".join(map(url, range(start, min(start + 50_000, numbers.stop)))))

    def run_measured(self, *arguments):
        """The digest of the output, its number of lines, and the peak resident memory in bytes."""
        command = [sys.executable, "-c", MEASURE, *self.command("bfcommon", *SMALL, *arguments)]
        with open(self.folder / "out", "wb") as out:
            result = subprocess.run(command, cwd=self.folder, stdout=out, stderr=subprocess.PIPE,
                                    env=self.environment(), timeout=TIMEOUT)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rb"^\d+\n$")
        out = self.read("out")
        return sha256(out), out.count(b"\n"), int(result.stderr) * 1024

    def check(self, numbers, *arguments):
        expected = sha256(b"".join(sorted(map(url, numbers))))
        found, count, memory = self.run_measured(*arguments)
        self.assertEqual(count, len(numbers))
        self.assertEqual(found, expected)
        if not SANITIZED:
            self.assertLess(memory, 24 * MIB)

    def test_memory_is_bounded(self):
        half = self.LINES // 2
        self.write_urls("a", range(self.LINES))
        self.write_urls("b", range(half, half + self.LINES))
        self.check(range(half, self.LINES), "a", "b")
        self.check(range(half), "-d", "a", "b")

    @unittest.skipIf(SANITIZED, "it needs memory of its own")
    def test_memory_is_bounded_with_many_short_keys(self):
        """The filters would take 60 MB each without the limit."""
        keys = os.urandom(80_000_000)
        self.write("a", keys)
        self.write("b", keys[::-1])
        _, _, memory = self.run_measured("-x4", "-c", "a", "b")
        self.assertLess(memory, 24 * MIB)

    @unittest.skipIf(SANITIZED, "it needs memory of its own")
    def test_memory_is_bounded_with_long_lines(self):
        found = [b"%03d" % i + b"x" * 10**6 + b"\n" for i in range(100)]
        self.write("a", b"".join(found))
        self.write("b", b"".join(reversed(found)))
        digest, count, memory = self.run_measured("a", "b")
        self.assertEqual((digest, count), (sha256(b"".join(found)), 100))
        self.assertLess(memory, 24 * MIB)


if __name__ == "__main__":
    main()
