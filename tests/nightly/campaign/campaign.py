# SPDX-License-Identifier: MIT
"""The frame of all campaigns: numbered cases that run in parallel, repeat by seed and resume from a state. Findings are
kept with everything needed to repeat them.

A campaign is a class and a last line, main(Class), in a file of its own. Its head lists what scripts/campaign needs:

    # Debian: strace e2fsprogs      packages beyond those that the build needs
    # compiler: clang               default: gcc
    # meson: -Dtools=false          options; campaigns with equal build: share a folder
    # build: plain
    # targets: tools/bfquery        what ninja builds there; default: all
    # alone: scripts/machines       builds more, which takes minutes"""

import argparse
import collections
import concurrent.futures
import concurrent.futures.process
import ctypes
import json
import math
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
SOURCE_ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILT = pathlib.Path(os.environ.get("BUILT", SOURCE_ROOT / "build" / "campaign" / "plain"))
STATE_EVERY = 2  # seconds
PR_SET_PDEATHSIG = 1
CANNOT = 2  # the exit status if a campaign cannot run


class Found(Exception):
    """A finding. Files, by name, are kept next to the message."""

    def __init__(self, message, files=()):
        super().__init__(message)
        self.message, self.files = message, dict(files)

    def __reduce__(self):
        return Found, (self.message, self.files)


class Stopped(Exception):
    """A long case saw `stopping` and ended early: it must run again."""


class Campaign:
    """The base class. One object is made, and copied into each process that runs cases."""

    unit = "cases"   # the column of the table that --count counts
    figure = None    # the units of a whole campaign; None: all cases
    total = None     # the number of cases; None: endless. prepare() may set it
    in_order = False  # False: spread, so that a part of the cases covers all kinds
    columns = ()     # the order of the last columns; unnamed columns come before them
    time = None      # --time in seconds, for a case that lasts that long
    limit = 1800     # seconds before a case counts as hanging, which is a finding; None: no limit
    begins = False   # a run that neither resumes nor repeats one case
    greatest = ()    # columns that show the greatest number, not the sum

    def add_options(self, parser):
        """Adds options to the command line. They come back as self.options."""

    def prepare(self, folder):
        """Runs once, first: makes what cases share, in a folder that is removed at the end."""

    def run(self, case, chance, folder):
        """Runs one case of 0.1 to 10 seconds: chance is a random.Random of the seed and the case, folder is empty.

        Returns {row: {column: number}}, or raises Found. The result may depend only on these arguments."""
        raise NotImplementedError

    def describe(self, case):
        """The case in one line, for the report of a finding."""
        return f"case {case}"

    def finish(self, rows):
        """Runs last, with all counts. Returns a list of faults, such as a missing row."""
        return []


def cannot(message):
    """Exits: the campaign cannot run here."""
    print(f"{sys.argv[0]}: {message}", file=sys.stderr)
    sys.exit(CANNOT)


def duration(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no time, such as 90, 90s, 10m or 2h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def number(text):
    try:
        value = float(text)
        if value < 1 or value != int(value):
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of cases, such as 1000 or 1e6") from None
    return int(value)


def spread(index, total, seed):
    """A permutation of the cases: a partial run samples all kinds."""
    step = int(total * 0.6180339887) | 1
    while math.gcd(step, total) != 1:
        step += 2
    return (index * step + seed) % total


# ------------------------------------------------------------------ one case, in a process of its own


def _run(campaign, case, seed):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomfile-campaign-"))

    def hangs(*_):
        raise Found(f"it has not ended after {campaign.limit} seconds")

    signal.signal(signal.SIGALRM, hangs)
    try:
        signal.alarm(campaign.limit or 0)
        rows = campaign.run(case, random.Random(f"{seed} {case}"), folder)
        return case, {row: dict(columns) for row, columns in rows.items()}, None
    except Found as found:
        return case, {}, found
    finally:
        signal.alarm(0)
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


def _begin(parent, campaign):
    """Runs in each process. An interrupt of the parent must not end a case or its children; no process outlives
    the parent. The process inherits the campaign, which may be large, and gets only numbers of cases."""
    global _campaign
    _campaign = campaign
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for which in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(which, signal.SIG_DFL)
    if os.getppid() != parent:
        os._exit(1)


def _run_here(case, seed):
    return _run(_campaign, case, seed)


# ------------------------------------------------------------------ all cases


class Progress:
    """The completed cases, in a file from which another run resumes."""

    def __init__(self, folder, seed, greatest):
        self.path, self.greatest = folder / "state.json", greatest
        self.seed, self.seconds, self.undone, self.found = seed, 0.0, [], []
        self.skipped = self.next = 0
        self.rows = collections.defaultdict(collections.Counter)
        self.commits = []
        self.saved = 0.0

    def resume(self, total):
        state = json.loads(self.path.read_text())
        if state["total"] != total:
            cannot(f"there are {total} cases now, and were {state['total']}: a resumed run would leave some out")
        self.seed, self.seconds, self.next = state["seed"], state["seconds"], state["next"]
        self.undone, self.found, self.commits = state["undone"], state["found"], state["commits"]
        self.skipped = state["skipped"]
        for row, columns in state["rows"].items():
            self.rows[row].update(columns)

    def begin(self):
        """Keeps the state of a run that may still be resumed."""
        if self.path.exists():
            os.replace(self.path, self.path.with_suffix(".old"))

    def save(self, running, total):
        state = {"seed": self.seed, "total": total, "seconds": round(self.seconds, 1), "next": self.next,
                 "skipped": self.skipped, "commits": self.commits, "undone": sorted([*self.undone, *running]),
                 "found": self.found, "rows": self.rows}
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(state, indent=1))
        os.replace(new, self.path)
        self.saved = time.monotonic()

    def count(self, unit):
        return sum(columns[unit] for columns in self.rows.values())

    def add(self, rows):
        for row, columns in rows.items():
            known = self.rows[row]
            for column, count in columns.items():
                known[column] = max(known[column], count) if column in self.greatest else known[column] + count


def commit():
    """The commit under test."""
    try:
        words = ["git", "-C", str(SOURCE_ROOT), "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no git"


def keep(folder, name, campaign, seed, case, found):
    """Saves a finding with everything needed to repeat it. Returns its folder."""
    kept = folder / "found" / f"{seed}-{case}"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    (kept / "report.txt").write_text(f"{campaign.describe(case)}\n\n{found.message}\n\nCommit {commit()}. Again:\n"
                                     f"    scripts/campaign {name} --seed {seed} --only {case}\n")
    for file, content in found.files.items():
        (kept / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    return kept


def table(campaign, progress):
    columns = [campaign.unit]
    for row in progress.rows.values():
        columns += [column for column in row if column not in columns and column not in campaign.columns]
    columns += [column for column in campaign.columns if column not in columns
                and any(column in row for row in progress.rows.values())]
    lines = [["", *columns]]
    for name in sorted(progress.rows):
        lines.append([name, *(f"{progress.rows[name][column]:,}" if column in progress.rows[name] else ""
                              for column in columns)])
    if len(progress.rows) > 1:
        lines.append(["all", *("" if column in campaign.greatest else
                               f"{sum(row[column] for row in progress.rows.values()):,}" for column in columns)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns) + 1)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    for line in [lines[0], rule, *lines[1:]]:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        print("| " + " | ".join(cells) + " |")


stopping = multiprocessing.get_context("fork").Event()  # the run ends: long cases check it


class Run:
    def __init__(self, campaign, options, state):
        self.campaign, self.options, self.state = campaign, options, state
        self.progress = Progress(state, options.seed, campaign.greatest)
        self.stopped = self.broken = False
        if options.resume:
            if not self.progress.path.exists():
                cannot(f"there is nothing to resume in {state}")
            self.progress.resume(campaign.total)
        else:
            self.progress.begin()
            self.progress.skipped = self.progress.next = options.skip
        if commit() not in self.progress.commits:
            self.progress.commits.append(commit())

    def cases(self):
        """The next cases; endless without a total."""
        while self.progress.undone:
            yield self.progress.undone.pop(0)
        while self.campaign.total is None or self.progress.next < self.campaign.total:
            self.progress.next += 1
            index = self.progress.next - 1
            given = self.campaign.total is None or self.campaign.in_order
            yield index if given else spread(index, self.campaign.total, self.progress.seed)

    def is_enough(self):
        if self.stopped or self.broken or time.monotonic() > self.end:
            return True
        wanted = self.options.count or (self.campaign.figure if self.options.time is None else None)
        return wanted is not None and self.progress.count(self.campaign.unit) >= wanted

    def stop(self, *_):
        self.stopped = True
        stopping.set()

    def take(self, future, running):
        case = running.pop(future)
        try:
            _, rows, found = future.result()
        except Stopped:
            self.progress.undone.append(case)
            return
        except concurrent.futures.process.BrokenProcessPool as error:
            self.progress.undone.append(case)
            if self.broken or self.stopped:  # the signal may have reached the cases too
                return
            self.broken = True
            rows, found = {}, Found(f"a process was killed while this case was run, or another one: {error}")
        except Exception as error:  # the campaign itself is wrong, or a process was killed
            rows, found = {}, Found(f"the campaign failed: {error!r}\n{getattr(error, '__cause__', '')}")
        self.progress.add(rows)
        if found:
            kept = keep(self.state, self.options.name, self.campaign, self.progress.seed, case, found)
            self.progress.found.append(str(kept))
            print(f"FOUND {self.campaign.describe(case)}: {found.message.splitlines()[0]}\n    {kept}", file=sys.stderr)
            self.save(running)

    def save(self, running):
        self.progress.save(running.values(), self.campaign.total)

    def all(self):
        begun, before = time.monotonic(), self.progress.seconds
        self.end = begun + self.options.time if self.options.time is not None else float("inf")
        for which in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            signal.signal(which, self.stop)
        cases, running = self.cases(), {}
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(self.options.jobs, context, _begin, (os.getpid(), self.campaign)) as pool:
            while True:
                while len(running) < self.options.jobs and not self.is_enough():
                    case = next(cases, None)
                    if case is None:
                        break
                    running[pool.submit(_run_here, case, self.progress.seed)] = case
                if not running:
                    break
                done, _ = concurrent.futures.wait(running, 1, concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    self.take(future, running)
                self.progress.seconds = before + time.monotonic() - begun
                if time.monotonic() > self.progress.saved + STATE_EVERY:
                    self.save(running)
        self.save({})

    def report(self):
        progress = self.progress
        whole = self.campaign.total is not None and progress.skipped == 0
        complete = whole and progress.next >= self.campaign.total and not progress.undone
        faults = self.campaign.finish(progress.rows) if complete or self.campaign.total is None else []
        table(self.campaign, progress)
        of = f" of {self.campaign.total:,} cases" if self.campaign.total is not None else ""
        done = f", {progress.next - progress.skipped - len(progress.undone):,}{of}" if of else ""
        done += f" behind the first {progress.skipped:,}" if progress.skipped else ""
        print(f"\n{self.options.name}: {progress.count(self.campaign.unit):,} {self.campaign.unit} in "
              f"{progress.seconds:,.0f} s{done}; seed {progress.seed}, commit {', '.join(progress.commits)}; "
              + (f"FOUND {len(progress.found) + len(faults)}" if progress.found or faults else "nothing found"))
        for path in progress.found:
            print(f"    {path}")
        for fault in faults:
            print(f"    {fault}")
        return 1 if progress.found or faults else 0


def main(campaign_class):
    name = pathlib.Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(prog=f"scripts/campaign {name}", description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--time", type=duration, metavar="T", help="start no case after this time: 90, 10m, 2h")
    parser.add_argument("--count", type=number, metavar="N", help=f"start no case after N {campaign_class.unit}")
    parser.add_argument("--seed", type=int, metavar="S", help="repeats a run: the same seed, the same cases")
    parser.add_argument("--resume", action="store_true", help="continue the last run")
    parser.add_argument("--skip", type=number, default=0, metavar="N",
                        help="leave out the first N cases of the seed, which ran elsewhere")
    parser.add_argument("--only", type=int, nargs="+", metavar="CASE", help="run these cases, as reports name them")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="J", help="cases that run at once")
    campaign = campaign_class()
    campaign.add_options(parser)
    options = campaign.options = parser.parse_args()
    options.name = name
    if options.resume and options.seed is not None:
        parser.error("--resume goes on with the seed that it began with")
    if options.skip and (options.resume or options.seed is None):
        parser.error("--skip needs the --seed of the run that had those cases, and no --resume")
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10**6)
    state = pathlib.Path(os.environ.get("STATE", SOURCE_ROOT / "build" / "campaign")) / name
    state.mkdir(parents=True, exist_ok=True)
    campaign.time = options.time
    campaign.begins = not options.resume and options.only is None
    shared = pathlib.Path(tempfile.mkdtemp(prefix="bloomfile-campaign-"))
    try:
        campaign.prepare(shared)
        if options.only is not None:
            return only(campaign, options, state)
        run = Run(campaign, options, state)
        run.all()
        return run.report()
    finally:
        shutil.rmtree(shared, ignore_errors=True)


def only(campaign, options, state):
    complaints = 0
    for case in options.only:
        _, rows, found = _run(campaign, case, options.seed)
        print(campaign.describe(case))
        for row, columns in rows.items():
            print(f"    {row}: " + ", ".join(f"{count} {column}" for column, count in columns.items()))
        if found:
            complaints += 1
            print(f"FOUND {found.message}\n    {keep(state, options.name, campaign, options.seed, case, found)}")
    return 1 if complaints else 0
