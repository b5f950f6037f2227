# SPDX-License-Identifier: MIT
# build: crowd
# meson: -Dtools=false -Dengines=disabled
# targets: tests/nightly/campaign/crowd
"""Crowds at full speed, for two hours or --time: a growing series and a blocked filter, each replaced at a given
size, and a series that forgets. Each has writers, readers that reopen stale files, and a process that copies,
folds, merges and patches. Descriptors, mappings, memory, disk and times of the last fifth of the run are
compared with the second fifth. LEAK=descriptor, mapping or memory leaks one at each reload, which must be
found."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

from campaign import BUILT, Campaign, Found, Stopped, main, stopping

PROGRAM = BUILT / "tests" / "nightly" / "campaign" / "crowd"
HOURS_2 = 7200
# Shorter runs measure the scheduler instead of times; and their few samples depend on the files open just then.
TIMES_FROM, ALL_BUT_TIMES_FROM = 600, 60
PLANS = {
    "growing": ["series=1", "capacity=1000", "total=60000", "seals=0"],
    "forgetting": ["series=4", "capacity=30000", "seals=0"],
    "replaced": ["series=0", "total=100000", "seals=1"],
}
ALL = ["layout=1", "writers=1", "threads=2", "queriers=1", "copiers=1", "kills=0", "stops=0", "jitter=0", "batch=512",
       "syncs=500", "last_kill=0"]
LEAKS = {"": 0, "descriptor": 1, "mapping": 2, "memory": 3}

# The statistic for comparing two stretches of time, and the allowed increase: a fraction and a number. A process at
# rest has no filter open, so not one descriptor more. While it works, a leak raises the minimum, by more than the
# layers that happen to be open. Other load on the machine raises times.
MEASURES = {
    "descriptors at rest": (min, 0, 0),
    "mappings at rest": (min, 0, 2),
    "descriptors": (min, 0, 4),
    "mappings": (min, 0, 10),
    "heap KiB": (min, 0.05, 2048),
    "resident KiB": (min, 0.10, 4096),
    "disk KiB": (statistics.median, 0.20, 4096),
    "lookup ns": (statistics.median, 1, 200),
    "add ns": (statistics.median, 1, 1000),
    "lookup 99 %": (statistics.median, 4, 5000),
    "add 99 %": (statistics.median, 4, 20000),
}
TIMES = "lookup ns", "add ns", "lookup 99 %", "add 99 %"
DONE = "adds", "lookups", "copies", "deltas", "replaces", "reloads"  # the counts of a crowd that are shown


def of_process(pid):
    """Facts from /proc."""
    folder = pathlib.Path("/proc", pid)
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return {"descriptors": len(os.listdir(folder / "fd")),
            "mappings": (folder / "maps").read_text().count("\n"),
            "heap KiB": int(status["RssAnon"].split()[0]),
            "resident KiB": int(status["VmRSS"].split()[0])}


def of_disk(folder):
    blocks = 0
    for path in folder.iterdir():
        try:
            blocks += path.stat().st_blocks
        except FileNotFoundError:
            pass
    return blocks // 2


class Crowd:
    """A crowd, and its measurements: {row: [sample]}."""

    def __init__(self, name, seed, seconds, every, folder):
        self.name, self.folder, self.rows = name, folder, {}
        folder.mkdir()
        leak = LEAKS[os.environ.get("LEAK", "")]
        words = [PROGRAM, f"seed={seed}", f"milliseconds={seconds * 1000:.0f}", f"report={every * 1000:.0f}",
                 f"leak={leak}", *ALL, *PLANS[name]]
        self.process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def add(self, row, sample):
        self.rows.setdefault(f"{self.name}, {row}", []).append(sample)

    def read(self):
        self.counts = {}
        for line in self.process.stdout:
            words = line.split()
            if words[0] != "report":
                self.counts[words[0]] = int(words[1])
                continue
            for role, pid, *at_rest in (word.split(":") for word in words[1:-4]):
                try:
                    sample = of_process(pid)
                except (OSError, KeyError):  # it has ended
                    continue
                rested = dict(zip(["descriptors at rest", "mappings at rest"], map(int, at_rest)))
                self.add(role, sample | {name: value for name, value in rested.items() if value >= 0})
            names = "lookup ns", "lookup 99 %", "add ns", "add 99 %"  # in the order in which the program prints them
            self.add("all", {"disk KiB": of_disk(self.folder), **dict(zip(names, map(int, words[-4:])))})

    def end(self):
        """Returns the finding, or ""."""
        with self.process:
            self.thread.join()
            errors = self.process.stderr.read().strip()
        return errors or f"status {self.process.returncode}" if self.process.returncode != 0 else ""


def stretches(samples, measure):
    """The second fifth and the last fifth; the first is for warming up."""
    values = [sample[measure] for sample in samples if measure in sample]
    fifth = len(values) // 5
    return (values[fifth:2 * fifth], values[-fifth:]) if fifth > 0 else ([], [])


class Soak(Campaign):
    unit = "samples"
    total = 1
    limit = None

    def run(self, case, chance, folder):
        seconds = self.time or HOURS_2
        every = max(0.5, min(10, seconds / 240))
        crowds = [Crowd(name, chance.getrandbits(62), seconds, every, folder / name) for name in PLANS]
        while any(crowd.process.poll() is None for crowd in crowds):
            time.sleep(0.5)
            if stopping.is_set() or any(crowd.process.poll() for crowd in crowds):
                for crowd in crowds:
                    crowd.process.terminate()
        found = [f"{crowd.name}: {message}" for crowd in crowds if (message := crowd.end())]
        if found:
            raise Found("\n".join(found), {"samples.json": json.dumps({crowd.name: crowd.rows for crowd in crowds})})
        if stopping.is_set():
            raise Stopped
        return {row: self.compared(samples) for crowd in crowds for row, samples in crowd.rows.items()} | {
            f"{crowd.name}, all": {**self.compared(crowd.rows[f"{crowd.name}, all"]),
                                   **{name: crowd.counts[name] for name in DONE}} for crowd in crowds}

    @staticmethod
    def compared(samples):
        columns = {"samples": len(samples)}
        for measure, (of, _, _) in MEASURES.items():
            then, now = stretches(samples, measure)
            if then:
                columns[measure], columns[measure + " later"] = round(of(then)), round(of(now))
        return columns

    def is_judged(self, measure):
        if "at rest" in measure:
            return True
        return (self.time or HOURS_2) >= (TIMES_FROM if measure in TIMES else ALL_BUT_TIMES_FROM)

    def finish(self, rows):
        faults = []
        for row, columns in sorted(rows.items()):
            if columns["samples"] < 5:
                faults.append(f"{row}: {columns['samples']} samples are too few")
            for measure, (_, fraction, number) in MEASURES.items():
                if not self.is_judged(measure):
                    continue
                then, now = columns[measure], columns[measure + " later"]
                if now > then * (1 + fraction) + number:
                    faults.append(f"{row}: {measure} grew from {then:,} to {now:,}")
        return faults


if __name__ == "__main__":
    sys.exit(main(Soak))
