# SPDX-License-Identifier: MIT
"""The tools on the failing disk: exit status 0 is a promise."""

import mmap

from scenarios import add, pause, rounds, script, some
from trial import COUNTING, KEYS


def fail_some_time(trial):
    """The disk fails now, or during the next commands."""
    rng = trial.rng
    if rng.random() < 0.5:
        trial.use(3, "fail")
    else:
        trial.start(3, script(pause(rng, 60000), "fail"))


def use_filter(trial):
    """A program adds keys and does not sync them; it may be killed."""
    rng = trial.rng
    trial.use(2, script("open", *rounds(trial, rng.randint(0, 2), fails=False), "fail", add(rng),
                        *some(rng, "write-back", 0.5), *some(rng, "drop", 0.5),
                        rng.choice(["kill", "kill", "close"])))


def bfadd(trial):
    """Runs in a row, some of them killed, some concurrent with a program that adds."""
    rng = trial.rng
    count = rng.randint(1, 3)
    failing, end = rng.randrange(count), 0
    for i in range(count):
        if i == failing:
            fail_some_time(trial)
        first, end = end, min(KEYS, end + int(2 ** rng.uniform(4, 12)))
        options = ["--sync", str(rng.randint(1, end))] if rng.random() < 0.5 else []
        tool = trial.start_tool("bfadd", *options, trial.filter, keys=(0, first, end))
        if rng.random() < 0.3:
            trial.start(1, script("open", add(rng), "sync", pause(rng), add(rng), "sync", "close"))
        if trial.end_tool(tool, patience=rng.choice([None, None, rng.uniform(0, 0.03)])):
            trial.promise(0, end)
        else:
            end = first


def repaired(trial):
    """A writer is killed during a failing sync. When the disk works again, bfadd adds all keys again: memory may have
    keys that the disk lacks. Half of the time another process keeps all pages in memory."""
    rng = trial.rng
    trial.use(0, script("open", add(rng), *some(rng, "sync", 0.5), "fail", "add=1000", "thread=1", "sync", "join"),
              script(pause(rng, 6000), "kill"))
    trial.disk.ballast.unlink(missing_ok=True)
    end = trial.ledger().added[0]
    with open(trial.filter, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
        if rng.random() < 0.5:
            pages[:].count(0)
        else:
            pages.close()
        if trial.tool("bfadd", "--accept-unclean", trial.filter, keys=(0, 0, end)):
            trial.promise(0, end)


def bfuniq(trial):
    rng = trial.rng
    fail_some_time(trial)
    end = 0
    for _ in range(rng.randint(1, 2)):
        end = min(KEYS, end + int(2 ** rng.uniform(4, 12)))
        if trial.tool("bfuniq", "--filter", trial.filter, keys=(0, 0, end)):
            trial.promise(0, end)


def bfseal(trial):
    """Seals the filter in place."""
    use_filter(trial)
    added = trial.ledger().added
    if trial.tool("bfseal", trial.filter):
        for writer, end in enumerate(added):
            trial.promise(writer, end)
        trial.extra.append((trial.filter, added))


def copy_to(trial, dest):
    rng = trial.rng
    added = trial.ledger().added
    factor = str(2 ** rng.randint(1, 7))
    commands = [["bfseal", trial.filter, dest],
                ["bffold", "--factor", factor, trial.filter, dest],
                ["bfmerge", "-p", "1", dest, trial.filter]]
    if trial.layout == COUNTING:
        commands.append(["bfseal", "--project", trial.filter, dest])
    if trial.tool(*rng.choice(commands)):
        trial.extra.append((dest, added))


def copied_from(trial):
    """bfseal, bffold or bfmerge copies from the failing disk to a working disk."""
    use_filter(trial)
    copy_to(trial, trial.disk.good / "made")


def copied_to(trial):
    """A healthy filter is copied to a new file on the failing disk."""
    trial.use(0, "open add=5000 close")
    fail_some_time(trial)
    copy_to(trial, trial.disk.root / "made")


def bfcreate(trial):
    """A new filter on the failing disk, sealed or live."""
    rng = trial.rng
    fail_some_time(trial)
    end = int(2 ** rng.uniform(4, 13))
    if rng.random() < 0.5:
        made = trial.disk.root / "made"
        if trial.tool("bfcreate", "-m", str(1 << 20), "-k", "4", made, keys=(0, 0, end)):
            trial.extra.append((made, (end, 0, 0, 0)))
    elif trial.tool("bfcreate", "-f", "--live", "--allow-empty", "-m", str(1 << 26), "-k", "4",
                      "-n", "65536", trial.filter):
        if trial.tool("bfadd", trial.filter, keys=(0, 0, end)):
            trial.promise(0, end)


SCENARIOS = [bfadd, repaired, bfuniq, bfseal, copied_from, copied_to, bfcreate]
MAKE_FILES_THERE = {copied_to, bfcreate}
WITHOUT_COUNTING = {bfuniq}
