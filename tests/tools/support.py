# SPDX-License-Identifier: MIT
"""Shared parts of the tests of the tools: running a tool as a user does, and checking the files it leaves."""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.dont_write_bytecode = True
SOURCE_ROOT = pathlib.Path(os.environ.get("SOURCE_ROOT")
                           or pathlib.Path(__file__).resolve().parents[2])
GOLDEN = SOURCE_ROOT / "tests" / "golden"
REFUSED = SOURCE_ROOT / "tests" / "golden-refused"
sys.path.insert(0, str(GOLDEN))

import craft  # noqa: E402

TOOLS = {name: os.environ[name.upper()] for name in os.environ["TOOLS"].split()}
BFCREATE, BFUNIQ = TOOLS["bfcreate"], TOOLS["bfuniq"]

SANITIZED = b"__asan_init" in pathlib.Path(BFCREATE).read_bytes()
TIMEOUT = 300  # only for hangs: work that ends may take long on a loaded machine
MUSL = b"/ld-musl-" in pathlib.Path(BFCREATE).read_bytes()
DISK_FAILED = "I/O error" if MUSL else "Input/output error"
NO_MEMORY = "Out of memory" if MUSL else "Cannot allocate memory"
IN_32_BITS = pathlib.Path(BFCREATE).read_bytes()[:5] == b"\x7fELF\x01"
# The sanitizer aborts by default if memory runs out. The tools must see the failure instead.
SANITIZER_OPTIONS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")
                     + ":allocator_may_return_null=1"}

# Begins with the magic number, so the tools accept it as a filter to replace.
OLD = bytes.fromhex("bf424c4d0d0a1a0a") + b"what is left of an old filter\n" * 400

# The tests send these signals. A parent that ignores them (a background job, nohup) must not pass that on to the tools.
for ignored in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)

CONTROL = re.compile(rb"[\x00-\x1f\x7f]|\xc2[\x80-\x9f]")
IS_ROOT = os.geteuid() == 0
# Prefixes for commands: a mount namespace of their own; root without the power to ignore permissions.
NAMESPACE = ["unshare", "-m"] if IS_ROOT else ["unshare", "-rm"]
# A file that was made without a name gets its name through /proc. Without /proc it needs a name from the start.
WITHOUT_PROC = [*NAMESPACE, "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
UNPRIVILEGED = "setpriv --bounding-set=-dac_override,-dac_read_search".split() if IS_ROOT else []


def skipping(make):
    """Skips the test if the file system, such as vfat, does not support the operation."""
    def made(*arguments, **options):
        try:
            make(*arguments, **options)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise
            raise unittest.SkipTest(f"the file system refuses {make.__name__}") from error
    return made


def set_mode(path, mode):
    os.chmod(path, mode)
    if stat.S_IMODE(path.stat().st_mode) != mode:
        raise unittest.SkipTest("the file system keeps no permissions")
    denied = "-r" if not mode & 0o444 else "-w" if not mode & 0o222 else None
    if denied and works(*UNPRIVILEGED, "test", denied, path):
        raise unittest.SkipTest("the file system grants root everything, as NFS does")


os.symlink, os.link, os.mkfifo = map(skipping, (os.symlink, os.link, os.mkfifo))  # pathlib calls these too
pathlib.Path.chmod = set_mode


def lines(*keys):
    return craft.lines(key.encode() if isinstance(key, str) else key for key in keys)


def numbered(count, prefix="key "):
    return [b"%s%d" % (prefix.encode(), i) for i in range(count)]


def percent(share):
    """The rate as the tools print it."""
    return f"{100 * share:.3g}%"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def table(path):
    """The rows of a table such as index.tsv, each a dict by the names in the first line."""
    names, *rows = [line.split("\t") for line in path.read_text().splitlines()]
    return [dict(zip(names, row)) for row in rows]


def file_form(layout, m, k, keys=(), **options):
    return craft.make(layout, m, k, keys, **options)


def works(*command):
    """Whether a command that prepares a test works here."""
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=TIMEOUT).returncode == 0
    except OSError:
        return False


# Loops over many cases run completely in scripts/nightly. Other runs take every few of them.
WHOLE = os.environ.get("TESTS") == "whole"


def some(cases, step):
    """All cases in scripts/nightly, else every `step`th, beginning with the first."""
    return list(cases)[::1 if WHOLE else step]


# `scripts/test --ci` sets it in every build after the first. @once marks tests that need not run there again.
REPEATED = "ONCE_WAS_RUN" in os.environ
once = unittest.skipIf(REPEATED, "it was run in another build")


def needs(*prefix):
    """Skips a test if a tool cannot be run with this prefix."""
    return unittest.skipUnless(works(*prefix, BFCREATE, "--version"),
                               f"'{' '.join(prefix)}' cannot be used here")


class ToolTest(unittest.TestCase):
    """A test with an empty folder of its own. The tools run in this folder."""

    maxDiff = 2000

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomfile-test-"))
        self.addCleanup(self.remove_folder)

    def remove_folder(self):
        for path in [self.folder, *self.folder.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                os.chmod(path, 0o700)
        shutil.rmtree(self.folder)

    def can_be_named(self, name):
        """Whether the file system keeps the name unchanged. NTFS and vfat accept only UTF-8, and vfat does not accept
        control characters or dots at the end."""
        path = self.folder / name
        try:
            path.write_bytes(b"")
        except OSError:
            return False
        kept = path.name in os.listdir(path.parent)
        path.unlink()
        return kept

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        try:
            path.write_bytes(data)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise unittest.SkipTest("the file system has no such names") from error
        return name

    def read(self, name):
        return (self.folder / name).read_bytes()

    def need_removal(self):
        """Skips the test on NFS, which gives a file that is removed while open another name."""
        with open(self.folder / "removed", "wb") as file:
            os.unlink(file.name)
            if os.fstat(file.fileno()).st_nlink != 0:
                self.skipTest("what is removed while it is open has another name, as on NFS")

    def snapshot(self):
        """Everything in the folder: kind, mode and time, and the contents of files."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            if path.name.startswith(".nfs"):  # NFS's name for a file that was removed while open
                continue
            status = path.lstat()
            is_file = stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK)
            found[str(path.relative_to(self.folder))] = (
                oct(status.st_mode), status.st_ino, status.st_mtime_ns,
                sha256(path.read_bytes()) if is_file else "")
        return found

    # --- running ---

    def command(self, tool, *arguments, before=()):
        return [*before, TOOLS[tool], *map(str, arguments)]

    def environment(self, locale="C.UTF-8", **more):
        return {**os.environ, **SANITIZER_OPTIONS, "LC_ALL": locale, **more}

    def run_tool(self, tool, *arguments, stdin=b"", locale="C.UTF-8", before=(), env=None,
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options):
        """Runs a tool. stdin may be bytes or an open file; stdout and stderr of the result are bytes."""
        feed = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        return subprocess.run(self.command(tool, *arguments, before=before), **feed, stdout=stdout,
                              stderr=stderr, cwd=self.folder, timeout=TIMEOUT,
                              env=self.environment(locale, **(env or {})), **options)

    def output(self, tool, *arguments, status=0, says=b"", **options):
        """Runs a tool, checks its exit status and messages, and returns its standard output."""
        result = self.run_tool(tool, *arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (status, says), result.stdout[:500])
        return result.stdout

    def create(self, *arguments, name="filter.bloom", **options):
        """The bytes of the file that bfcreate makes, with its checks of the input and the rate switched off."""
        self.assertEqual(self.output("bfcreate", "-f", "--as-is", "--allow-empty", "--overfull", name,
                                     *arguments, **options), b"")
        return self.read(name)

    def query(self, *arguments, **options):
        """The keys that bfquery prints."""
        out = self.output("bfquery", "--as-is", *arguments, **options)
        self.assertTrue(out == b"" or out.endswith(b"\n"))
        return out.split(b"\n")[:-1]

    # --- live filters ---

    def create_live(self, *options, name="live"):
        self.output("bfcreate", "--live", "--allow-empty", *options, name)
        return name

    def added(self, *arguments, status=0, **options):
        """The counts that bfadd -v prints, without the names of the tool and the filter."""
        result = self.run_tool("bfadd", "-v", *arguments, **options)
        self.assertEqual((result.returncode, result.stdout), (status, b""), result.stderr)
        self.assertRegex(result.stderr, rb"\Abfadd: [^:]+: [^\n]+\n\Z")
        return result.stderr.split(b": ", 2)[2]

    def inspected(self, name, *options):
        """The report of bfinspect about a file."""
        return json.loads(self.run_tool("bfinspect", "--report", "-", *options, name).stdout)

    def start(self, tool, *arguments, before=(), env=None, out=subprocess.PIPE, **options):
        """Starts a tool that the test feeds through a pipe to its standard input."""
        process = subprocess.Popen(self.command(tool, *arguments, before=before),
                                   stdin=subprocess.PIPE, stdout=out,
                                   stderr=subprocess.PIPE, cwd=self.folder,
                                   env=self.environment(**(env or {})), **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
            with contextlib.suppress(BrokenPipeError):  # unflushed data
                stream.close()

    def feed(self, process, *keys):
        process.stdin.write(lines(*keys))
        process.stdin.flush()

    def until(self, condition, process=None):
        """Waits until the condition holds. The process must not end before."""
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            self.assertLess(time.monotonic(), deadline, "nothing happens")
            if process is not None:
                self.assertIsNone(process.poll())
            time.sleep(0.01)

    @staticmethod
    def in_pipe(end):
        """The number of unread bytes in a pipe."""
        return struct.unpack("i", fcntl.ioctl(end, termios.FIONREAD, bytes(4)))[0]

    def until_read(self, process):
        """Waits until the process has read all its input so far. Everything it does before its first read is then done."""
        self.until(lambda: self.in_pipe(process.stdin) == 0, process)

    def write_to(self, process, data):
        """Writes bytes to a process and waits until it has read them. The files it opens before that input are open then."""
        process.stdin.write(data)
        process.stdin.flush()
        self.until_read(process)

    def until_asleep(self, process):
        """Waits until all threads of a process sleep in system calls and have not run between five looks."""
        looks = []

        def quiet():
            texts = [task.read_text() for task in pathlib.Path(f"/proc/{process.pid}/task").glob("*/status")]
            looks.append([text.partition("voluntary")[2] for text in texts if "State:\tS" in text] or looks)
            return len(looks[-1]) == len(texts) and looks[-5:] == 5 * looks[-1:]
        self.until(quiet, process)

    def until_time_moves(self):
        """Waits until a write to a file gets a later time than the writes before."""
        times = set()

        def moved():
            self.write("probe", b"")
            times.add((self.folder / "probe").stat().st_mtime_ns)
            return len(times) > 1
        self.until(moved)
        (self.folder / "probe").unlink()

    def until_taken(self, process):
        """Waits until no signal is pending, so the process has received all signals that were sent."""
        status = pathlib.Path(f"/proc/{process.pid}/status")
        self.until(lambda: not re.search(r"^(Sig|Shd)Pnd:\s0*[1-9a-f]", status.read_text(), re.MULTILINE), process)

    def stopped_at(self, at, start):
        """A process begun with start(**environment), stopped before its call number `at` of those in stopping_disk.c.
        None if it makes fewer calls; then it has ended."""
        process = start(LD_PRELOAD=os.environ["STOPPING_DISK"], STOPS_AT=str(at), STOPS_BY="stop")
        change = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if change.si_code == os.CLD_STOPPED:
            return process
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0)
        return None

    def start_unwaited(self, tool, *arguments):
        """Starts a tool with a non-blocking standard input, as left by another program that shares it."""
        return self.start(tool, *arguments, preexec_fn=lambda: os.set_blocking(0, False))

    def until_it_writes(self, process):
        """Waits for output, and leaves it in the pipe."""
        self.until(lambda: self.in_pipe(process.stdout) > 0, process)

    def overwritten_while_it_prints(self, name, data, tool, *arguments):
        """Overwrites a file in place, as cp does, once a program's output fills a pipe. The program must exit with 2.
        Returns its standard error."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, 1031, 4096)  # F_SETPIPE_SZ, which fcntl defines since Python 3.10
        with open(reader, "rb") as printed:
            with open(writer, "wb") as pipe:
                process = subprocess.Popen(self.command(tool, *arguments), cwd=self.folder, stdin=subprocess.DEVNULL,
                                           stdout=pipe, stderr=subprocess.PIPE, env=self.environment("C.UTF-8"))
            self.until(lambda: self.in_pipe(printed) == 4096, process)
            with open(self.folder / name, "r+b") as file:
                file.write(data)
            printed.read()
        _, said = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 2, said)
        return said

    def caught(self, start, condition):
        """A process begun with start(), stopped while the condition holds. If it ends too soon, another is started.
        Send it other signals first, then SIGCONT."""
        for _ in range(50):
            process = start()
            self.until(lambda: process.poll() is not None or condition())
            if process.poll() is None:
                process.send_signal(signal.SIGSTOP)
                change = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                if change.si_code == os.CLD_STOPPED:
                    return process
            self.result(process)
        return self.fail("each one was too fast")

    def wait_for_key(self, name, key, process=None):
        self.until(lambda: self.run_tool("bfquery", "-q", name, stdin=lines(key)).returncode == 0,
                   process)

    def result(self, process, stdin=b""):
        """Sends the last input to a process. Returns its exit status, output and messages."""
        out, message = process.communicate(stdin, timeout=TIMEOUT)
        return process.returncode, out, message

    # --- errors ---

    def check_message(self, tool, message, *names):
        """Checks that the message is one line with the tool and these names, and no control characters for a terminal."""
        self.assertTrue(message.endswith(b"\n"), message)
        self.assertEqual(message.count(b"\n"), 1, message)
        self.assertTrue(message.startswith(tool.encode() + b": "), message)
        self.assertNotRegex(message[:-1], CONTROL)
        for name in names:
            self.assertIn(name.encode(), message)

    def trouble(self, tool, *arguments, names=(), changes=False, status=2, out=b"", **options):
        """The message of a tool that must fail and, unless `changes`, must leave every file unchanged."""
        before = self.snapshot()
        result = self.run_tool(tool, *arguments, **options)
        message = result.stderr
        if SANITIZED:
            message = re.sub(rb"(?m)^==\d+==WARNING: AddressSanitizer failed to allocate.*\n", b"",
                             message)
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(result.stdout, out)
        self.check_message(tool, message, *names)
        if not changes:
            self.assertEqual(self.snapshot(), before)
        return message.decode("utf-8", "replace")


def main():
    """Runs the tests of a file and prints why tests were skipped. Exits with 77 if all were skipped."""
    result = unittest.main(module="__main__", buffer=True, exit=False).result
    for reason in dict.fromkeys(reason for _, reason in result.skipped):
        print(f"skipped: {reason}", flush=True)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun <= len(result.skipped) else 0)
