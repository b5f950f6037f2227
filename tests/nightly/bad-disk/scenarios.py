# SPDX-License-Identifier: MIT
"""Events on the failing disk: random scripts for bad-disk-user."""

from trial import BLOCKED, CLASSIC, COUNTING

COPIES = ["copy_sealed", "fold", "merge", "rescue"]


def layout(rng, counting=True):
    return rng.choice([BLOCKED, BLOCKED, BLOCKED, CLASSIC, COUNTING if counting else CLASSIC])


def some(rng, word, probability):
    return [word] if rng.random() < probability else []


def add(rng):
    return f"add={int(2 ** rng.uniform(3, 11))}"


def pause(rng, most=3000):
    return f"pause={rng.randint(0, most)}"


def copy(trial):
    rng = trial.rng
    return f"copy={rng.choice(COPIES + ['project'] * (trial.layout == COUNTING))}"


def rounds(trial, count, *between, fails=True):
    """More than `count` rounds of adds and syncs; the disk fails in one of them. The words `between` come before
    the sync in some rounds."""
    rng = trial.rng
    failing = rng.randint(0, count) if fails else None
    words = []
    for i in range(count + 1):
        words += ["fail"] if i == failing else []
        words += [add(rng), *some(rng, "write-back", 0.2), *some(rng, "drop", 0.1)]
        for word in between:
            words += some(rng, word, 0.5)
        words += ["sync"] * rng.choice([1, 1, 1, 2])
    return words


def script(*words):
    return " ".join(words)


def ending(rng):
    return rng.choice([["close"], ["seal", "close"], ["kill"], []])


def ending_alone(rng):
    return rng.choice([["finish", "close"], ["finish", "kill"], ending(rng), ending(rng)])


def successor(trial, writer, probability=1):
    """A later writer that trusts the file it finds."""
    if trial.rng.random() < probability:
        trial.use(writer, script("open", add(trial.rng), "sync", "close"))


def writer(trial):
    """One writer, until it gets an error, and a little longer."""
    rng = trial.rng
    trial.use(0, script("open", *rounds(trial, rng.randint(1, 8)), *ending_alone(rng)))
    successor(trial, 1, 0.5)


def copier(trial):
    """A copy by the same handle, in the same thread."""
    rng = trial.rng
    trial.use(0, script("open", *rounds(trial, rng.randint(1, 5), copy(trial)),
                        *ending_alone(rng)))
    successor(trial, 1, 0.5)


def beside(trial, *words):
    """A second thread runs these words while the first one syncs, usually just when the disk fails."""
    rng = trial.rng
    end = rng.choice([["kill"], ["kill"], ["join", "close"]])
    if rng.random() < 0.7:
        trial.use(0, script("open", add(rng), *some(rng, "sync", 0.5), "fail", "add=1500",
                            "thread=1", pause(rng, 6000), "sync", *end),
                  script(pause(rng), *words))
    else:
        many = [word for _ in range(rng.randint(1, 8)) for word in (pause(rng), *words)]
        trial.use(0, script("open", "thread=1", *rounds(trial, rng.randint(1, 8)), *end),
                  script(*many))
    successor(trial, 1, 0.5)


def copier_beside(trial):
    """A copy by the same handle, in another thread."""
    beside(trial, copy(trial))


def syncer_beside(trial):
    """A sync by the same handle, in another thread."""
    beside(trial, "sync", pause(trial.rng, 500), "sync")


def child(trial):
    """A child of fork() copies or syncs with the inherited handle."""
    rng = trial.rng
    words = [word for _ in range(rng.randint(1, 3))
             for word in (pause(rng), rng.choice([copy(trial), copy(trial), "sync",
                                                  "add=100 sync"]))]
    end = rng.choice([["kill"], ["join", "close"], ["close"]])
    trial.use(0, script("open", add(rng), *some(rng, "sync", 0.5), "fail", "add=1000",
                        *some(rng, "write-back", 0.3), "fork=1", *some(rng, "join", 0.7), "sync",
                        *some(rng, add(rng) + " sync", 0.5), *end),
              script(*words, *rng.choice([["close"], ["kill"], []])))
    successor(trial, 2, 0.5)


def reader(trial):
    """A reader copies a filter that a writer has open, or had open."""
    rng = trial.rng
    trial.start(0, script("open", *rounds(trial, rng.randint(0, 2), fails=False), "fail",
                          add(rng), *some(rng, "write-back", 0.8), *some(rng, "drop", 0.5),
                          rng.choice(["kill", "kill", "pause=30000", "sync"])))
    if rng.random() < 0.7:
        trial.wait()
    trial.use(1, script(pause(rng, 20000), *some(rng, "drop", 0.8), "read",
                        *some(rng, "drop", 0.7), copy(trial), *some(rng, copy(trial), 0.5)))


def two_writers(trial):
    """Two writers together, the first is killed; then a third."""
    rng = trial.rng
    trial.start(0, script("open", "thread=1", *rounds(trial, rng.randint(1, 6)), "join"),
                script(pause(rng, 20000), "kill"))
    trial.start(1, script("open", *rounds(trial, rng.randint(1, 6), pause(rng)), *ending(rng)))
    if rng.random() < 0.5:
        trial.wait()
    successor(trial, 2)


def killed(trial):
    """A writer is killed during a sync, perhaps after it got an error and before it could poison the file."""
    rng = trial.rng
    trial.use(0, script("open", add(rng), "sync", "fail", "add=1000", "thread=1", "sync", "join"),
              script(pause(rng, 4000), "kill"))
    successor(trial, 1)


def other_program(trial):
    """Another program's fsync gets the report; the writer has the file open, so it gets its own report."""
    rng = trial.rng
    trial.use(0, script("open", add(rng), "sync", "fail", add(rng), "write-back", "fsync",
                        *rounds(trial, rng.randint(0, 3), "fsync"), *ending(rng)))
    successor(trial, 1)


def nobody(trial):
    """No process of the library can know: the writer is killed before it syncs; then another program's fsync gets
    the report, or the inode leaves memory; only then the next writer comes."""
    rng = trial.rng
    trial.use(0, script("open", "add=1000", "sync", "fail", "add=1000", "write-back", "kill"))
    if rng.random() < 0.5:
        trial.use(0, "fsync")
        trial.exempt = (0,) * trial.ledger().taken
    else:
        trial.disk.remount()
        trial.exempt = (0,)
    successor(trial, 1)


def new_files(trial):
    """Copies of a healthy filter, and new filters, on the failing disk."""
    rng = trial.rng
    trial.copies = trial.disk.root
    words = [rng.choice([copy(trial), "build"]) for _ in range(2)]
    trial.use(0, script("open", "add=3000", *some(rng, "fail", 0.8), "thread=1", *words, "join"),
              script(pause(rng), "fail"))


SCENARIOS = [writer, copier, copier_beside, syncer_beside, child, reader, two_writers, killed,
             other_program, nobody, new_files]
MAKE_FILES_THERE = {new_files}
