# SPDX-License-Identifier: MIT
"""Makes system calls and allocations fail in every tool and library function that writes: each call with each
error of its manual page (errnos.txt), once and twice in a row. It also interrupts calls repeatedly, shortens
transfers, lowers limits and fills disks.

A point is one run. Exit status 0 must not hide a lost key. After an error no file may be left over, the message
must name the cause, and the next run must finish the job."""

# Debian: strace util-linux xfsprogs e2fsprogs mount
# meson: -Dtools=true
# build: plain
# targets: tests/nightly/campaign/campaign-trace tests/nightly/campaign/campaign-calls tests/nightly/campaign/campaign-nomem.so tools/bfcreate
# targets: tools/bfadd tools/bffold tools/bfmerge tools/bfseal tools/bfuniq tools/bfdelta tools/bfcommon tools/bfquery
# targets: tools/bfinspect

import collections
import ctypes
import errno
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys

from campaign import BUILT, Campaign, main
from writers import (CALLS, TRACE, Judge, Made, loading, marked, of_calls, of_tools, prepared, run_scenario, stops_of)

NOMEM = str(BUILT / "tests" / "nightly" / "campaign" / "campaign-nomem.so")
ERRNOS = dict((line.split()[0], line.split()[1:])
              for line in (pathlib.Path(__file__).parent / "errnos.txt").read_text().splitlines()
              if not line.startswith("#"))
PARTS = 16  # parts of the points of a kind
STORMS = "read write pread64 pwrite64 openat fcntl flock fallocate ftruncate getrandom fsync fdatasync poll".split()
SYNCS = ("msync", "fsync", "fdatasync")
LOOKS = ("madvise", "lseek")  # they check whether the file still matches its mapping
LENGTHS = (1, 7, 100, 4095)
EVERY, ENDS = 16, 6  # of a very frequent call: the first and last calls, and every EVERY-th between
FILE_SYSTEMS = ("tmpfs", "ext4", "xfs")
PAGE = 4096
KINDS = {"once": PARTS, "twice": PARTS, "storm": 1, "short": 1, "allocation": 4, "limit": 2,
         **{f"full {name}": 1 for name in FILE_SYSTEMS}}

CALL = re.compile(r"(\d+) +(\w+)\((.*)")
# Calls without errors, or with errors that only a wrong program gets: glibc ends the program then.
SURE = re.compile(r"fcntl\(\d+, F_(GETFD|GETFL|SETFD)|futex\(.*FUTEX_WAKE")


class Point:
    """One disturbance of a run."""

    def __init__(self, what, before=(), environment=(), call=None, error=None, harmless=False):
        self.what, self.before, self.environment = what, list(before), dict(environment)
        self.call, self.error = call, error
        self.harmless = harmless  # the run must succeed all the same


TRACED = "{trace}"  # strace writes its log there


def injected(call, name, first, last):
    where = f"when={first}..{last}" if last != first else f"when={first}"
    return Point(f"{call} no. {first} is {name}" + (", and the next" if last != first else ""),
                 ["strace", "-f", "--seccomp-bpf", "-qq", "-o", TRACED, "-e", f"trace={call}", "-e", "signal=none",
                  "-e", f"inject={call}:error={name}:{where}"], call=call, error=name)


def sampled(numbers):
    """Some numbers of a call, which may be in a loop."""
    if len(numbers) <= 4 * ENDS:
        return numbers
    return sorted({*numbers[:ENDS], *numbers[-ENDS:], *numbers[::EVERY]})


class Errno(Campaign):
    unit = "points"
    columns = (*KINDS, "0", "told", "old", "cut", "new", "poisoned", "unclean", "keys")

    def prepare(self, folder):
        self.made = Made(folder)
        self.scenarios = [*of_tools(), *of_calls()]
        prepared(self.scenarios, self.made, folder, LD_PRELOAD=NOMEM)
        self.disks = self.mounted(folder)
        self.calls, self.allocations, self.loaded = {}, {}, {}
        self.room = {words[0]: room_for(words[0]) for words in (scenario.words for scenario in self.scenarios)}
        for number, scenario in enumerate(self.scenarios):
            self.watch(scenario, folder / f"watched-{number}")
        self.kinds = [kind for kind, parts in KINDS.items() for _ in range(parts)
                      if not kind.startswith("full ") or kind.split()[1] in self.disks]
        self.total = len(self.scenarios) * len(self.kinds)

    # --- calls that can be disturbed

    def watch(self, scenario, folder):
        """Notes the calls it makes: numbers by name, after the loader's calls or between the marks."""
        self.made.lay_out(scenario, folder)
        run_scenario(scenario, folder, ["strace", "-f", "-o", "log"], LD_PRELOAD=NOMEM)
        calls = self.counted(CALL.findall((folder / "log").read_text()), scenario, folder)
        self.calls[scenario.name] = calls
        self.loaded[scenario.name] = loading(scenario, folder, stops_of(self.made, scenario, folder / "stops")) + 1
        only = {"NOMEM_MARKED": "1"} if scenario.is_call else {}
        there = folder / "nomem"
        self.made.lay_out(scenario, there)
        _, said = run_scenario(scenario, there, LD_PRELOAD=NOMEM, NOMEM_COUNT="1", **only)
        self.allocations[scenario.name] = int(re.search(r"allocations: (\d+)", said)[1])
        shutil.rmtree(folder)

    def counted(self, lines, scenario, folder):
        skip = 0
        if not scenario.is_call:
            subprocess.run(["strace", "-f", "-o", folder / "loading", scenario.words[0], "--version"],
                           stdout=subprocess.DEVNULL, check=True, env={**os.environ, "LD_PRELOAD": NOMEM})
            loaded = [name for _, name, _ in CALL.findall((folder / "loading").read_text())]
            skip = len(os.path.commonprefix([loaded, [name for _, name, _ in lines]]))
        calls, counts, marks = collections.defaultdict(set), collections.Counter(), 0
        first = lines[0][0]
        for number, (thread, name, arguments) in enumerate(lines):
            counts[thread, name] += 1
            marks += name == "getppid"
            inside = marks == 1 if scenario.is_call else number >= skip
            # Numbers count within a thread. Later threads skip numbers that the loader's calls have in the first
            # thread.
            mine = thread == first or counts[thread, name] > counts[first, name]
            if inside and mine and name in ERRNOS and not SURE.match(f"{name}({arguments}"):
                calls[name].add(counts[thread, name])
        return {name: sorted(numbers) for name, numbers in calls.items()}

    def mounted(self, folder):
        """Mounts file systems that only this campaign sees: the available types, by name."""
        if os.geteuid() != 0 or ctypes.CDLL(None, use_errno=True).unshare(0x20000) != 0:  # CLONE_NEWNS
            print("without full disks: root may mount some", file=sys.stderr)
            return {}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["mount", "--make-rprivate", "/"], check=False, **quiet)
        disks = {}
        for name in FILE_SYSTEMS:
            there, image = folder / name, folder / f"{name}.image"
            there.mkdir()
            words = ["-t", "tmpfs", "-o", "size=4m", "tmpfs"]
            if name != "tmpfs":
                with open(image, "wb") as file:
                    file.truncate(8 << 20 if name == "ext4" else 320 << 20)
                subprocess.run([f"mkfs.{name}", *(["-q", "-m", "0"] if name == "ext4" else ["-q"]), image], check=False,
                               **quiet)
                words = ["-o", "loop", image]
            if subprocess.run(["mount", *words, there], check=False, **quiet).returncode == 0:
                disks[name] = there
            else:
                print(f"without {name}: it cannot be mounted", file=sys.stderr)
        return disks

    # --- the points of a kind

    def points(self, scenario, kind):
        if kind in ("once", "twice"):
            for call, numbers in self.calls[scenario.name].items():
                for number in sampled(numbers):
                    for name in ERRNOS[call]:
                        yield injected(call, name, number, number + (kind == "twice"))
        elif kind == "storm":
            for call, numbers in self.calls[scenario.name].items():
                if call in STORMS:
                    yield self.storm(call, numbers[0])
        elif kind == "short":
            for length in LENGTHS:
                yield Point(f"at most {length} bytes at once", [TRACE, "-s", str(length), *marked(scenario), "-a",
                                                                       str(self.loaded[scenario.name])], harmless=True)
        elif kind == "allocation":
            only = {"NOMEM_MARKED": "1"} if scenario.is_call else {}
            for number in range(1, self.allocations[scenario.name] + 1):
                for until, words in (number, ""), (number + 1, ", and the next"), (10**9, ", and all that follow"):
                    yield Point(f"allocation {number} fails" + words, call="malloc", error="ENOMEM", environment={
                        "NOMEM_AT": str(number), "NOMEM_UNTIL": str(until), **only})
        elif kind == "limit":
            yield from self.limits(scenario)

    def storm(self, call, first):
        return Point(f"every other {call} from no. {first} on is interrupted",
                     ["strace", "-f", "--seccomp-bpf", "-qq", "-o", TRACED, "-e", f"trace={call}", "-e", "signal=none",
                      "-e", f"inject={call}:error=EINTR:when={first}+2"], call=call, error="EINTR")

    def limits(self, scenario):
        for size in (0, 1, 511, 512, 4095, *range(PAGE, 16 * PAGE, PAGE)):
            yield Point(f"RLIMIT_FSIZE is {size}", ["prlimit", f"--fsize={size}"], call="limit", error="EFBIG")
        for descriptors in range(3, 16):
            yield Point(f"RLIMIT_NOFILE is {descriptors}", ["prlimit", f"--nofile={descriptors}"], call="limit",
                        error="EMFILE")
        for size in range(self.room[scenario.words[0]], self.room[scenario.words[0]] + 48):
            yield Point(f"RLIMIT_AS is {size} x 64 KiB", ["prlimit", f"--as={size << 16}"], call="limit", error="ENOMEM")

    # --- runs

    def describe(self, case):
        scenario, kind, part = self.of(case)
        return f"{scenario.name}: {kind}" + (f", every {KINDS[kind]}th point from {part + 1}" if KINDS[kind] > 1 else "")

    def of(self, case):
        scenario, index = self.scenarios[case // len(self.kinds)], case % len(self.kinds)
        kind = self.kinds[index]
        return scenario, kind, index - self.kinds.index(kind)

    def run(self, case, chance, folder):
        scenario, kind, part = self.of(case)
        columns = collections.Counter({"points": 0})
        if kind.startswith("full "):
            for free in range(0, 16):
                columns.update(self.on_full_disk(scenario, kind.split()[1], free))
        else:
            for number, point in enumerate(self.points(scenario, kind)):
                if number % KINDS[kind] == part:
                    columns.update(self.point(scenario, point, folder / str(number)))
        columns[kind] = columns["points"]
        return {scenario.row: columns}

    def point(self, scenario, point, folder):
        before = self.made.lay_out(scenario, folder)
        trace = folder.with_suffix(".trace")
        words = [str(trace) if word == TRACED else word for word in point.before]
        status, said = run_scenario(scenario, folder, words, **{"LD_PRELOAD": NOMEM, **point.environment})
        columns = self.judge(scenario, point, folder, before, status, said)
        if TRACED in point.before:
            if "(INJECTED)" not in trace.read_text(errors="replace"):  # fewer such calls this time, because of threads
                columns["not reached"] = columns.pop("points")
            trace.unlink()
        return columns

    def on_full_disk(self, scenario, name, free):
        """Runs with this many pages left on the disk."""
        with open(self.disks[name].parent / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            folder = self.disks[name] / "scenario"
            try:
                before = self.made.lay_out(scenario, folder, link=False)
                (folder / "stream").touch()
                fill(folder / "fill", free * PAGE)
                status, said = run_scenario(scenario, folder)
                (folder / "fill").unlink()
                point = Point(f"{name} with {free} pages left", call="disk", error="ENOSPC")
                return self.judge(scenario, point, folder, before, status, said)
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def judge(self, scenario, point, folder, before, status, said):
        judge = ErrnoJudge(self.made, scenario, folder, before, point.what)
        judge.point, judge.status, judge.said = point, status, said
        judge.count("points")
        judge.end()
        judge.leaks()
        judge.judge(killed=point.call == "unlinkat", ended=status == 0 and not judge.tells_nothing)
        shutil.rmtree(folder)
        return judge.columns


def fill(path, free):
    """Fills a disk except for this many bytes."""
    file = os.open(path, os.O_CREAT | os.O_WRONLY)
    for size in 1 << 20, 1 << 16, PAGE:
        try:
            while True:
                os.write(file, bytes(size))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    os.ftruncate(file, max(0, os.fstat(file).st_size // PAGE * PAGE - free))
    os.fsync(file)
    os.close(file)


def room_for(program):
    """The address space that loading needs, in units of 64 KiB."""
    few, enough = 0, 1 << 10
    while few < enough:
        size = (few + enough) // 2
        words = ["prlimit", f"--as={size << 16}", program, "--list" if program == CALLS else "--version"]
        loaded = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                                env={**os.environ, "LD_PRELOAD": NOMEM}).returncode == 0
        few, enough = (few, size) if loaded else (size + 1, enough)
    return enough


# Errors with a special meaning, and words of the message that gives it.
MEANS = (
    ("fcntl", "EACCES EAGAIN", "Device or resource busy|other programs|it is being sealed|has locked it"),
    ("newfstatat", "ENOENT ENOTDIR ENAMETOOLONG ELOOP",
     "replaced or removed|removed or replaced|another process (replaced|changed) it|a symbolic link to nothing|it is missing"),
    ("newfstatat", None, "it is not one of the sources|it may have keys that"),  # keeps DEST
    ("newfstatat", None, "removed or replaced"),  # a name that cannot be looked up counts as replaced
    ("openat", "ENOENT ENOTDIR", "no boot_id in /proc|it is missing|another process (replaced|changed) it|replaced or removed"),
    (None, "ENOENT", "it is missing"),                                     # twice: the open of the first file also fails
    ("openat", "EEXIST", "a layer does not fit into its series"),          # another series took the name of the next layer
    ("linkat", "EEXIST", "a layer does not fit into its series"),
    ("madvise", "EFAULT", "truncated|overwritten|poisoned|removed or replaced"),  # the mapped page was removed
    ("lseek", None, "overwritten|removed or replaced"),                    # an unknown size counts as a changed size
    (None, "EBUSY", "it is being sealed|another process has locked it"),
    ("openat", None, "its keys would be lost"),                            # a filter that cannot be opened may have keys
    ("msync", None, "poisoned"),
    ("fdatasync", None, "poisoned"),
    ("pwrite64", None, "a writer was killed during a sync"),               # the mark of a sync could not be removed
    ("limit", None, "error while loading shared libraries|cannot be preloaded"),
    ("close", None, "error while loading shared libraries"),
)


class ErrnoJudge(Judge):
    def end(self):
        """The exit status, and whether the message gives the reason."""
        point, status = self.point, self.status
        if status == 0:
            self.count("0")
            return
        self.count("told")
        if point.harmless:
            self.fail(f"it ended with {status}: {self.said}")
        if point.call == "futex" and (status is None or "The futex facility returned an unexpected error code" in self.said):
            return  # another thread's FUTEX_WAKE got the error: a thread waits for ever, or glibc ended the program
        if status is None or status < 0 or status > 128:
            self.fail(f"it was ended by a signal ({status}): {self.said}")
        if not self.said.strip() and self.point.call == "write":
            return  # the message could not be written, or its reader has exited
        if not self.said.strip():
            self.fail(f"it ended with {status} and no message")
        if not self.names_the_cause():
            self.fail(f"the message does not name the cause, {point.error}: {self.said}")

    def names_the_cause(self):
        point = self.point
        return os.strerror(getattr(errno, point.error)) in self.said or any(
            call in (None, point.call) and (names is None or point.error in names.split()) and re.search(words, self.said)
            for call, names, words in MEANS)

    @property
    def tells_nothing(self):
        """close() returns no error: the file reports it at the next open."""
        return self.scenario.words[1:2] == ["close"]

    def may_differ(self):
        """If the check of the source fails, a copy has all keys but may call their number an estimate."""
        return super().may_differ() or self.point.call in LOOKS and bool(self.scenario.must)

    def is_live(self, ended):
        """A rescue whose source is partly missing: the copy reports it, even if the call does not."""
        return super().is_live(ended and self.point.call not in LOOKS)

    def is_complete(self, content):
        expected = self.scenario.expected
        return super().is_complete(content) or (self.point.call in LOOKS and len(content) == len(expected) > PAGE
                                                and content[PAGE:] == expected[PAGE:])

    def sources(self):
        if self.point.call not in SYNCS:  # a call that copies a live filter poisons it if the disk failed
            super().sources()

    def go_on(self, must):
        changed = [name for name in self.scenario.files.split() if name != self.scenario.target
                   for path in self.made.folder.glob(f"{name}*") if re.fullmatch(rf"{name}(\.[0-9]+)?", path.name)
                   and path.is_file() and self.content(path.name) != path.read_bytes()]
        if changed:  # a poisoned source; sources() judged the reason
            self.count("poisoned")
        else:
            super().go_on(must)

    def poisoned(self, said):
        """After a failed write to disk, the state of the kernel's copy is unknown."""
        if self.status == 0 and not self.tells_nothing or self.point.call not in (*SYNCS, "madvise") or "poisoned" not in said:
            return False
        self.count("poisoned")
        return True

    def leaks(self):
        """A call may leave only the descriptors and memory that it leaves without faults."""
        if not self.scenario.is_call or self.point.call in ("close", "munmap"):
            return
        _, ended, _, descriptors, memory = self.told()
        _, _, _, descriptors_before, memory_before = self.scenario.undisturbed
        if ended and (descriptors > descriptors_before or memory > memory_before):
            self.fail(f"leaked: {descriptors - descriptors_before} descriptors, {memory - memory_before} blocks; {self.said}")


if __name__ == "__main__":
    sys.exit(main(Errno))
