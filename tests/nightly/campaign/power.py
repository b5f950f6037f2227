# SPDX-License-Identifier: MIT
# Debian: e2fsprogs xfsprogs btrfs-progs libleveldb-dev librocksdb-dev g++
# build: plain
# targets: tests/nightly/power/power-writer tests/nightly/power/power-writer-nosync tests/nightly/power/power-check tests/nightly/power/power-disk
# targets: tools/bfcreate tools/bfdelta tools/bffold tools/bfinspect tools/bfmerge examples/guard
# targets: examples/rocksdb/shipped examples/leveldb/levelfilter
"""Power losses on ext4, XFS and Btrfs: no data that was acknowledged as on disk may be lost (L16, L10).

A case is a machine with its own file system, on which one program runs while the power fails repeatedly. The file
system stops, with or without its journal; or the disk loses unflushed sectors except for some, in any order,
perhaps torn. Then the machine restarts, and the files are compared with the acknowledgements. In control rows an
msync that does nothing must lose keys; otherwise the campaign could not notice a loss."""

import ctypes
import os
import pathlib
import subprocess
import sys

from campaign import BUILT, SOURCE_ROOT, Campaign, Found, cannot, main

sys.path.append(str(SOURCE_ROOT / "tests" / "nightly" / "power"))
for program_ in "writer", "writer-nosync", "check", "disk":
    os.environ[f"POWER_{program_.replace('-', '_').upper()}"] = str(BUILT / "tests" / "nightly" / "power" / f"power-{program_}")

import life  # noqa: E402
import losing  # noqa: E402
from machine import Machine, kinds_of, try_loss  # noqa: E402
from mounts import run  # noqa: E402
from test_losses import CONTROL_PHASES, Losses  # noqa: E402

LOSSES = 5  # per machine
CLONE_NEWNS = 0x20000
FILE_SYSTEMS = ["ext4", "xfs", "btrfs"]
SEALING = ["sealing", "sealed"]
WRITERS = {  # how test_losses.Losses uses power-writer
    "live": {"grows": (False,), "wanted": [phase for phase in life.PHASES if phase not in SEALING]},
    "growing": {"grows": (True,)},
    "sealing": {"grows": (False,), "wanted": SEALING},
}
SCENARIOS = [*WRITERS, *losing.SCENARIOS, "control"]


def leave_mounts():
    """Gives this process its own mounts, which end with it."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "cannot have mounts of its own")
    run("mount", "--make-rprivate", "/")


def unmount_all(folder):
    mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    for path in reversed(mounts):
        if path.startswith(f"{folder}/") or path == str(folder):
            subprocess.run(["umount", "-l", path], check=False, stderr=subprocess.DEVNULL)


class Power(Campaign):
    unit = "losses"
    figure = 10_000
    columns = ["keys", "sectors lost", "controls", "noticed"]

    def prepare(self, folder):
        if os.geteuid() != 0:
            cannot("it mounts file systems of its own: run it as root")
        if not pathlib.Path("/dev/fuse").exists():
            cannot("a disk of its own takes FUSE, and there is no /dev/fuse")
        self.shared = folder
        losing.prepare(folder)
        self.file_systems = [name for name in FILE_SYSTEMS if self.works(name)]
        if not self.file_systems:
            cannot("no file system can be mounted by a loop device")

    def works(self, file_system):
        """Tests it in a process of its own, which may leave the mounts."""
        pid = os.fork()
        if pid == 0:
            trial = self.shared / f"trial of {file_system}"
            trial.mkdir()
            try:
                leave_mounts()
                run("mount", "-t", "tmpfs", "tmpfs", trial)
                trouble = try_loss(trial, file_system, "disk")
                unmount_all(trial)
            except (OSError, RuntimeError) as error:
                trouble = error
            if trouble:
                print(f"without {file_system}: {trouble}", file=sys.stderr)
            os._exit(1 if trouble else 0)
        return os.waitpid(pid, 0)[1] == 0

    def place(self, case):
        """All in turn; the file system changes fastest."""
        count = len(self.file_systems)
        return self.file_systems[case % count], SCENARIOS[case // count % len(SCENARIOS)]

    def describe(self, case):
        return "{}, {}".format(*self.place(case))

    def run(self, case, chance, folder):
        file_system, scenario = self.place(case)
        leave_mounts()
        run("mount", "-t", "tmpfs", "tmpfs", folder)
        try:
            kinds = kinds_of(file_system)
            kinds = [kinds[(case + i) % len(kinds)] for i in range(LOSSES)]
            if scenario in losing.SCENARIOS:
                figures = self.use_tools(folder, file_system, scenario, kinds, chance)
            elif scenario in WRITERS:
                figures = self.use_writer(folder, file_system, kinds, chance, **WRITERS[scenario])
            else:
                figures = self.control(folder, file_system, chance)
        finally:
            unmount_all(folder)
        return {f"{file_system} {scenario}": figures}

    def use_writer(self, folder, file_system, kinds, chance, **how):
        losses = Losses(folder, file_system, kinds, chance, **how)
        losses.run(LOSSES)
        if losses.faults:
            raise Found("\n".join(losses.faults))
        columns = ("losses", "keys")
        return {column: sum(figures[column] for figures in losses.figures.values()) for column in columns} | {
            "sectors lost": losses.sectors[0]}

    def control(self, folder, file_system, chance):
        kinds = [kind for kind in kinds_of(file_system) if kind not in ("freeze", "torn")]
        losses = Losses(folder, file_system, [chance.choice(kinds)], chance, grows=(False,))
        losses.control(1, [chance.choice(CONTROL_PHASES)])
        return {"controls": 1, "noticed": losses.figures["control"]["noticed"]}

    def use_tools(self, folder, file_system, scenario, kinds, chance):
        where = folder / "machine"
        where.mkdir()
        figures = dict.fromkeys(("losses", "keys", "sectors lost"), 0)
        with Machine(where, file_system, chance) as machine:
            user = losing.SCENARIOS[scenario](self.shared, machine.root, chance)
            machine.start()
            user.begin()
            machine.stop()
            for kind in kinds:
                self.lose(machine, kind if kind != "torn" else "disk", user, figures)
        return figures

    def lose(self, machine, kind, user, figures):
        machine.start(kind)
        steps = user.steps()
        statuses, fault = losing.live_and_lose(machine, steps, user.rng, machine.root.parent / "errors")
        machine.stop()
        machine.start()
        keys, faults = user.judge(losing.after([user.state], steps, statuses))
        machine.stop()
        if fault or faults:
            history = [f"    {step.command}: {status}" for step, status in zip(steps, statuses)]
            raise Found("\n".join([f"{kind}: {' '.join([*filter(None, [fault]), *faults])}", *history]))
        figures["losses"] += 1
        figures["keys"] += keys
        figures["sectors lost"] += machine.sectors[0]
        machine.sectors = 0, 0

    def finish(self, rows):
        controls, noticed = (sum(row.get(column, 0) for row in rows.values()) for column in ("controls", "noticed"))
        return ["an msync that does nothing was never noticed"] if controls >= 3 and noticed == 0 else []


if __name__ == "__main__":
    sys.exit(main(Power))
