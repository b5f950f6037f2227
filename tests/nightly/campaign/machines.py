# SPDX-License-Identifier: MIT
# Debian: libseccomp-dev e2fsprogs xfsprogs btrfs-progs bindfs ntfs-3g util-linux qemu-user user-mode-linux kmod dosfstools iproute2
# build: plain
# targets: tests/nightly/campaign/old-linux
# alone: scripts/machines
"""Runs the suites under older system calls, without /proc, on other file systems, and for other machines.

A case is one test program in one environment. bench/results/campaigns.md gives the reasons for tests left out or
skipped. Other architectures and C libraries take part if scripts/machines has built for them. MACHINES_TESTS=quick
runs only the tests of that suite; MACHINES=PATTERN runs only in environments whose names match."""

import fcntl
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys

from campaign import BUILT, SOURCE_ROOT, Campaign, Found, cannot, main

SKIPPED = 77
FAILED_SETUP = 125
SPEED = os.environ.get("MACHINES_TESTS")
CHOSEN = re.compile(os.environ.get("MACHINES", ".*"))
OF_A_SIGNAL = 128  # a shell's status for signal N is this plus N
FOREIGN = pathlib.Path(os.environ.get("FOREIGN", SOURCE_ROOT / "build" / "foreign"))
IN_UML = str(SOURCE_ROOT / "tests" / "nightly" / "campaign" / "in-uml")
OLD_LINUX = BUILT / "tests" / "nightly" / "campaign" / "old-linux"
# The output of cmocka and unittest for skipped parts, and for a failed part with its messages.
NOT_RUN = re.compile(rb"^\[  SKIPPED \] (\d+) test|^(?:OK|FAILED) \(.*?skipped=(\d+)", re.MULTILINE)
FAILED_PART = re.compile(rb"^\[ RUN      \] (?:(?!^\[ (?:RUN|      OK) ).)*?^\[  FAILED  \] [^\n]*"
                         rb"|^(?:FAIL|ERROR): (?:(?!^={70}).)*", re.MULTILINE | re.DOTALL)

# They compile for this machine only, or make their own file systems.
LEFT_OUT = "consumers|install|subproject|cmake|prefix|python-packages|power-.*|bad-disk|campaign"
# Examples, whose packages are missing; tests that call this machine's compiler; and tests of linked libraries, which are
# static there.
NOT_FOREIGN = "tools-bench_.*|tools-distributed_.*|tools-engine_.*|cplusplus|one-file|tools-linked"
# The emulator cannot run the first group. The tools' tests take minutes, so only the tests of golden files run.
NOT_EMULATED = ("build-scale|changed-files|cold-lookups|cost|create-faults|live-faults|live-fork|live-locks|live-many"
                "|live-moments|memory-flags|interleaved|memory-pages|nowait|open-faults|failed-writes|sole-adder"
                "|(view|query)-avx.*|tools-(?!cross$|golden$).*")


class Environment:
    """This machine, with separate mounts and processes, which end with the test.

    setup: a shell script that prepares $FILES, the folder for the files of tests, below $FOLDER, which is in memory.
    refusal: matches the message of operations that are refused here because they cannot work.
    times: the limit of a test, as a multiple of the usual limit."""

    times = 10

    def __init__(self, setup="", prefix=(), left_out=None, refusal=None):
        self.setup, self.prefix, self.built = setup, [str(word) for word in prefix], BUILT
        self.left_out = f"{LEFT_OUT}|{left_out}" if left_out else LEFT_OUT
        self.refusal = refusal and re.compile(refusal)

    def tests(self):
        """The tests that can run, by name."""
        tests = json.loads((self.built / "meson-info" / "intro-tests.json").read_text())
        return {test["name"]: test for test in tests if not re.fullmatch(f"({self.left_out})(-pinned)?", test["name"])}

    def make(self, test):
        """Builds only the programs of the test: building everything first would take minutes."""
        targets = json.loads((self.built / "meson-info" / "intro-targets.json").read_text())
        files = [file for target in targets if target["id"] in test["depends"] for file in target["filename"]]
        with open(self.built / "machines.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            result = subprocess.run(["ninja", "-C", self.built, *(os.path.relpath(file, self.built) for file in files)],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"cannot build {test['name']}: {result.stdout[-3000:]}")

    def command(self, words):
        # The first process of a PID name space has special rules for signals, so make it a shell and not a test.
        script = (f"trap 'exit {FAILED_SETUP}' EXIT\nset -e\n"
                  f'mount -t tmpfs tmpfs "$FOLDER"\nmkdir -m 1777 "$FILES"\n{self.setup}\n'
                  'trap - EXIT\nset +e\n"$@"\nexit $?')
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, "sh",
                *self.prefix, *words]

    def run(self, words, folder, workdir=None, variables=(), timeout=600):
        files = folder / "files"
        return subprocess.run(self.command(words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              stdin=subprocess.DEVNULL, cwd=workdir or self.built, timeout=timeout,
                              env={**os.environ, **dict(variables), "FOLDER": str(folder), "FILES": str(files),
                                   "TMPDIR": str(files)})

    def refuses(self, result):
        """Whether each failed part of the test names the refusal."""
        if self.refusal is None or result.returncode < 0 or result.returncode >= OF_A_SIGNAL:
            return False
        parts = FAILED_PART.findall(result.stdout) or [result.stdout]
        return all(self.refusal.search(part) for part in parts)

    def trouble(self, folder):
        """The reason why the environment cannot be set up, or ""."""
        result = self.run(["true"], folder)
        if result.returncode == 0:
            return ""
        return result.stdout.decode(errors="replace").strip() or f"status {result.returncode}"


class Machine(Environment):
    """Another machine, for which scripts/machines has built."""

    def __init__(self, name, emulator=None, setup=""):
        super().__init__(setup, left_out=f"{NOT_FOREIGN}|{NOT_EMULATED}" if emulator else NOT_FOREIGN)
        self.name, self.emulator, self.built = name, emulator, FOREIGN / name / "build"
        self.times = 30 if emulator else self.times

    def tests(self):
        return {name: {**test, "cmd": self.emulated(test["cmd"])} for name, test in super().tests().items()}

    def make(self, test):
        """scripts/machines has built everything."""

    def emulated(self, words):
        """Runs programs of that machine in the emulator; its tools are scripts that call it themselves."""
        of_machine = self.emulator and words[0].startswith(str(self.built))
        return [self.emulator, "-L", str(self.built.parent / "root"), *words] if of_machine else words

    def trouble(self, folder):
        if not (self.built / "meson-info" / "intro-tests.json").exists():
            return f"not built: scripts/machines {self.name}"
        return super().trouble(folder)


# This machine's files are on a read-only file system there, which refuses live filters.
OWN_GOLDEN = "".join(f"""cp -a {shlex.quote(str(folder))} "$FOLDER/"
mount --bind "$FOLDER/{folder.name}" {shlex.quote(str(folder))}
""" for folder in (SOURCE_ROOT / "tests" / "golden", SOURCE_ROOT / "tests" / "golden-refused"))


class UserModeLinux(Environment):
    """A kernel as a process of this machine, with $FILES prepared there."""

    times = 60  # its system calls are slow

    def __init__(self, inside, left_out=None, refusal=None):
        super().__init__(left_out=left_out, refusal=refusal)
        self.inside = inside

    def command(self, words):
        return super().command([IN_UML, OWN_GOLDEN + self.inside, shlex.join(str(word) for word in words)])


def image(mkfs, mount):
    """A shell script that makes a file system in a file and mounts it."""
    return f'truncate -s 4G "$FOLDER/image"\n{mkfs} "$FOLDER/image" >/dev/null 2>&1\n{mount}\n'


def on_disk(name, mkfs):
    return Environment(image(mkfs, f'mount -t {name} -o loop "$FOLDER/image" "$FILES"\nchmod 1777 "$FILES"'))


# These count calls, of which libfuse needs more; or remove open files, which it renames; or share pages, which it does not.
NOT_ON_FUSE = "create-faults|live-faults|go|postgresql"

HIDE = """mount -t tmpfs -o mode=555 none /sys
mount -t tmpfs -o mode=555 none /dev/shm
umount -l /proc
mount -t tmpfs -o mode=555 none /proc"""
# Live filters need /proc, and so does GNU parallel.
NO_BOOT = b"BLOOMFILE_ENOBOOT|boot_id|mount /proc"  # of its message, which a diff splits anywhere
WAITS_FOR_LIVE = "live-fork|cplusplus|tools-uniq_stopped"
FOLLOWS_LIVE = ("fuzz-replay-(writer|series)|tools-(completions|create_stdout|cross_live(_faults)?|cross_series|example|overwritten"
                "|file_types|merge_errors|packed|readme|recipes|terminal|threads|uniq(_filter|_generations|_growing)?)|python")
LOOKS_INTO_PROC = f"java-.*|js|sqlite|tools-distributed_parallel|hugepages|memory-pages|{WAITS_FOR_LIVE}|{FOLLOWS_LIVE}"
OVERLAY = """mkdir "$FOLDER/lower" "$FOLDER/upper" "$FOLDER/work"
mount -t overlay overlay -o "lowerdir=$FOLDER/lower,upperdir=$FOLDER/upper,workdir=$FOLDER/work" "$FILES"
chmod 1777 "$FILES\""""

# These count the calls of opening a file, and overlayfs needs more.
COUNTS_OPENINGS = "every-call-fails(-pinned)?|open-faults"

# The first needs permissions and unnamed files, which vfat lacks. The rest compile in a folder that is read-only there.
COMPILES = "python|go|rust|sqlite|postgresql"
NOT_ON_VFAT = f"create-faults|{COMPILES}"

# Live filters need a local file system.
NOT_SHARED = b"BLOOMFILE_EFILESYSTEM|cannot be shared|a local disk"
VFAT = """load vfat nls_cp437 nls_iso8859-1
mkfs.vfat /dev/ubda >/dev/null
mount -t vfat -o utf8 /dev/ubda "$FILES\""""
# NFS 4.2 runs without daemons here. The script gives the kernel their data: clients, exports and the end of the grace
# period. Since 6.16 the kernel accepts that end only from its daemon, so the period is as short as possible.
NFS = r"""load nfsd nfsv4
mkfs.ext4 -q -O ^has_journal /dev/ubda
mkdir "$FOLDER/disk" "$FOLDER/recovery"
mount -t ext4 -o init_itable=0 /dev/ubda "$FOLDER/disk"
mkdir -m 1777 "$FOLDER/disk/served"
mount -t nfsd nfsd /proc/fs/nfsd
echo "$FOLDER/recovery" >/proc/fs/nfsd/nfsv4recoverydir
echo -3 >/proc/fs/nfsd/versions
echo 10 >/proc/fs/nfsd/nfsv4gracetime
echo tcp 2049 >/proc/fs/nfsd/portlist
echo 4 >/proc/fs/nfsd/threads
forever=4000000000
echo "nfsd 127.0.0.1 $forever all" >/proc/net/rpc/auth.unix.ip/channel
echo "all $FOLDER/disk/served $forever 0x2402 -2 -2 0" >/proc/net/rpc/nfsd.export/channel
printf '%s\n' "all 1 \x00000000 $forever $FOLDER/disk/served" >/proc/net/rpc/nfsd.fh/channel
echo Y >/proc/fs/nfsd/v4_end_grace
mount -i -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/ "$FILES"
"""

ENVIRONMENTS = {
    "Linux 4.14": Environment(prefix=[OLD_LINUX, "4.14"]),
    "Linux 5.10": Environment(prefix=[OLD_LINUX, "5.10"]),
    "no /proc, /sys, /dev/shm": Environment(HIDE, left_out=LOOKS_INTO_PROC, refusal=NO_BOOT),
    "tmpfs": Environment(),
    "overlayfs": Environment(OVERLAY, left_out=COUNTS_OPENINGS, refusal=NOT_SHARED),
    "ext4": on_disk("ext4", "mkfs.ext4 -q"),
    "XFS": on_disk("xfs", "mkfs.xfs -q"),
    "Btrfs": on_disk("btrfs", "mkfs.btrfs -q"),
    "FUSE: bindfs": Environment('mkdir "$FOLDER/under"\nbindfs "$FOLDER/under" "$FILES"', left_out=NOT_ON_FUSE),
    "FUSE: NTFS": Environment(image("mkfs.ntfs -qQF", 'ntfs-3g -o permissions "$FOLDER/image" "$FILES"'), left_out=NOT_ON_FUSE),
    "vfat": UserModeLinux(VFAT, left_out=NOT_ON_VFAT),
    "NFS": UserModeLinux(NFS, left_out=f"{WAITS_FOR_LIVE}|{FOLLOWS_LIVE}|{COMPILES}", refusal=NOT_SHARED),
    "i386": Machine("i386"),
    "musl": Machine("musl"),
    "arm64": Machine("arm64", "qemu-aarch64"),
    "arm64, 64 KiB pages": Machine("arm64", "qemu-aarch64", "export QEMU_PAGESIZE=65536"),
    "s390x": Machine("s390x", "qemu-s390x"),
}


class Machines(Campaign):
    unit = "tests"
    limit = None  # each test has its own
    columns = ["passed", "refused", "skipped", "parts skipped", "left out", "absent"]

    def prepare(self, folder):
        if platform.machine() != "x86_64" or os.geteuid() != 0:
            cannot("it is for x86-64, and mounts file systems: run it as root")
        self.troubles = {}
        chosen = {name: environment for name, environment in ENVIRONMENTS.items() if CHOSEN.fullmatch(name)}
        if not chosen:
            cannot(f"MACHINES={CHOSEN.pattern} matches none of {', '.join(ENVIRONMENTS)}")
        for number, (name, environment) in enumerate(chosen.items()):
            own = folder / str(number)
            own.mkdir()
            self.troubles[name] = environment.trouble(own)
            if self.troubles[name]:
                print(f"without {name}: {self.troubles[name]}", file=sys.stderr)
        # The numbers of cases must not depend on the environments that work.
        names = sorted(test["name"] for test in json.loads((BUILT / "meson-info" / "intro-tests.json").read_text())
                       if SPEED is None or f"bloomfile:{SPEED}" in test["suite"])
        self.cases = [(environment, name) for environment in chosen for name in names]
        self.total = len(self.cases)

    def describe(self, case):
        return ", ".join(self.cases[case])

    def run(self, case, chance, folder):
        name, test_name = self.cases[case]
        environment = ENVIRONMENTS[name]
        if self.troubles[name]:
            return {name: {"absent": 1}}
        test = environment.tests().get(test_name)
        if test is None:
            return {name: {"left out": 1}}
        environment.make(test)
        try:
            result = environment.run(test["cmd"], folder, test["workdir"], test["env"], environment.times * test["timeout"])
        except subprocess.TimeoutExpired as expired:
            raise Found(f"{self.describe(case)} takes too long", {"output.txt": expired.stdout or b""}) from None
        if result.returncode == FAILED_SETUP:
            raise RuntimeError(f"{name}: {result.stdout.decode(errors='replace')}")
        refused = result.returncode not in (0, SKIPPED) and environment.refuses(result)
        if result.returncode not in (0, SKIPPED) and not refused:
            end = result.stdout.decode(errors="replace")[-3000:]
            raise Found(f"{self.describe(case)}: status {result.returncode}\n{end}", {"output.txt": result.stdout})
        not_run = sum(int(cmocka or python) for cmocka, python in NOT_RUN.findall(result.stdout))
        return {name: {"tests": 1, "passed": int(result.returncode == 0), "refused": int(refused),
                       "skipped": int(result.returncode == SKIPPED), "parts skipped": not_run}}

    def finish(self, rows):
        return [f"{name}: nothing ran. {self.troubles[name]}" for name in self.troubles if rows[name]["passed"] == 0]


if __name__ == "__main__":
    sys.exit(main(Machines))
