# SPDX-License-Identifier: MIT
"""Shared by the campaigns kill and errno: every tool and library function that writes, in a folder with the files
it needs, and a judge of the files it leaves."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

from campaign import BUILT, Found

KEYS, REMOVED = 120, 30  # of each process, as in calls.c
TOLD = struct.Struct("=IIiiq")
TIMEOUT = 60
TEMPORARY = r"\.bloomfile\.[0-9a-f]{12}\.tmp"
TOOLS = "bfcreate bfadd bffold bfmerge bfseal bfuniq bfdelta bfcommon bfquery bfinspect".split()
TRACE, CALLS = (str(BUILT / "tests" / "nightly" / "campaign" / name) for name in ("campaign-trace", "campaign-calls"))


def tool(name):
    return str(BUILT / "tools" / name)


def with_numbers(words, process):
    return [word.replace("{p}", str(process)).replace("{k}", str(process + 1)) for word in words]


@dataclasses.dataclass
class Scenario:
    row: str             # in the table
    words: list          # the command; {p} is the number of a process, {k} the number of its keys
    files: str = ""      # the files it needs, by name, copied from Made
    old: str = ""        # the file at the target before
    target: str = "out"
    kind: str = "whole"  # "whole": the target is written whole or not at all; "stream": to standard output; "live": in place
    next: list = None    # the command that continues with the file as it was left; None: the same
    must: tuple = ()     # numbers of files of keys that must be present before
    adds: bool = False   # also the keys of the process, once it got their results
    removes: bool = False
    seals: bool = False     # live before, sealed afterwards
    living: bool = False    # a new file that is live: its bytes may differ between runs
    unclean: bool = False   # a reader may find it unclean
    leaves: str = "$"       # other files that a kill may leave
    alone: bool = True      # several must not run together
    expected: bytes = None  # the contents of the target, or of the stream
    undisturbed: tuple = ()  # the result that a call reported

    @property
    def is_call(self):
        return self.words[0] == CALLS

    @property
    def name(self):
        return " ".join([pathlib.Path(self.words[0]).name, *self.words[1:]])

    def command(self, process=0):
        return with_numbers(self.words, process)


def of_tool(row, *words, **more):
    return Scenario(row, [tool(row.split()[0]), *words], **more)


def of_call(call, **more):
    return Scenario("bloomfile_" + call.split()[0], [CALLS, call, "{p}"], **more)


ADD_AGAIN = [tool("bfadd"), "-q", "--accept-unclean"]
LIVE = {"kind": "live", "target": "live", "files": "live", "must": (0,)}


def adding(target, alone=False, **more):
    """An add to a live file; the next run adds the same keys."""
    return {"kind": "live", "target": target, "files": target, "must": (0,), "adds": True, "alone": alone,
            "unclean": True, "next": [*ADD_AGAIN, target, "keys{k}"], **more}


def of_tools():
    whole = [
        of_tool("bfcreate", "-q", "-j1", "out", "keys1"),
        of_tool("bfcreate", "-q", "-j1", "-f", "out", "keys1", old="b", alone=False),
        of_tool("bfcreate", "-q", "-j3", "-f", "-l", "classic", "out", "keys1", old="b"),
        of_tool("bfcreate", "-q", "-l", "counting", "out", "keys1", alone=False),
        of_tool("bfcreate", "-q", "-l", "ribbon", "-f", "out", "keys1", old="b"),
        of_tool("bfcreate", "-q", "-m163840", "-k5", "-n1000", "--slice", "1/2", "out", "keys1"),
        of_tool("bfcreate", "-q", "--live", "-n1000", "out", living=True),
        of_tool("bfcreate", "-q", "--live", "--allow-empty", "-n1000", "-f", "out", old="b", living=True),
        of_tool("bfcreate", "-q", "--live", "--grow", "-n100", "out", living=True),
        of_tool("bfcreate", "-q", "--live", "--allow-empty", "--generations", "5", "--every", "160", "-f", "out", old="b", living=True),
        of_tool("bffold", "-q", "--factor", "4", "a", "out", files="a"),
        of_tool("bffold", "-q", "--factor", "4", "-f", "a", "a", files="a", target="a", next=["true"]),
        of_tool("bfmerge", "-q", "out", "a", "b", files="a b"),
        of_tool("bfmerge", "-q", "-f", "a", "a", "b", files="a b", target="a", next=["true"]),
        of_tool("bfmerge", "-q", "-f", "--discard", "--intersect", "out", "a", "b", files="a b", old="b", alone=False),
        of_tool("bfmerge", "-q", "out", "live", "b", files="live b"),
        of_tool("bfmerge", "-q", "--slices", "out", "s0", "s1", files="s0 s1"),
        of_tool("bfmerge", "-q", "--project", "-f", "--discard", "out", "counting", files="counting", old="b"),
        of_tool("bfseal", "-q", "live", "out", files="live", must=(0,)),
        of_tool("bfseal", "-q", "-f", "--discard", "grow", "out", files="grow", old="b", must=(0,)),
        of_tool("bfseal", "-q", "--project", "live-counting", "out", files="live-counting", must=(0,)),
        of_tool("bfdelta", "-q", "-j1", "a", "b", "out", files="a b"),
        of_tool("bfdelta", "-q", "-j3", "-f", "a", "b", "out", files="a b", old="patch"),
        of_tool("bfdelta", "--apply", "-q", "-j1", "a", "patch", "out", files="a patch"),
        of_tool("bfdelta", "--apply", "-q", "-j1", "-f", "a", "patch", "a", files="a patch", target="a", next=["true"]),
    ]
    streams = [
        of_tool("bfcreate", "-q", "-", "keys1"),
        of_tool("bffold", "-q", "--factor", "4", "a", "-", files="a"),
        of_tool("bfmerge", "-q", "-", "a", "b", files="a b"),
        of_tool("bfmerge", "-q", "--slices", "-", "s0", "s1", files="s0 s1"),
        of_tool("bfseal", "-q", "live", "-", files="live"),
        of_tool("bfdelta", "-q", "-j1", "a", "b", "-", files="a b"),
        of_tool("bfdelta", "--apply", "-q", "-j1", "a", "patch", "-", files="a patch"),
        of_tool("bfcommon", "-q", "both", "keys1"),
        of_tool("bfcommon", "-q", "-d", "both", "keys1"),
        of_tool("bfuniq", "-q", "-j1", "both"),
    ]
    for stream in streams:
        stream.kind = "stream"
    live = [
        of_tool("bfadd", "-q", "live", "keys{k}", **adding("live")),
        of_tool("bfadd", "-q", "--exact", "live", "keys{k}", **adding("live")),
        of_tool("bfadd", "-q", "--sync", "40", "live", "keys{k}", **adding("live")),
        of_tool("bfadd", "-q", "live-counting", "keys{k}", **adding("live-counting")),
        of_tool("bfadd", "-q", "grow", "keys{k}", **adding("grow")),
        of_tool("bfadd", "-q", "generations", "keys{k}", **adding("generations")),
        of_tool("bfadd", "-q", "--remove", "live-counting", "keys1", kind="live", target="live-counting",
                files="live-counting1", must=(0,), unclean=True, next=["true"]),
        of_tool("bfuniq", "-q", "--filter", "live", "keys{k}", **adding("live")),
        of_tool("bfuniq", "-q", "--filter", "grow", "keys{k}", **adding("grow")),
        of_tool("bfseal", "-q", "live", seals=True, next=[tool("bfseal"), "-q", "--accept-unclean", "live"],
                unclean=True, **LIVE),
    ]
    return whole + streams + live


def of_calls():
    plain = [of_call(call, files=files, living=call.startswith(("create", "rescue")),
                     must=(0,) if call.startswith(("rescue", "copy_sealed")) else ()) for call, files in (
        ("builder_write", ""), ("create", ""), ("create series", ""), ("copy_sealed", "live"), ("copy_sealed series", "grow"),
        ("rescue", "live"), ("fold", "a b"), ("merge", "a b"), ("project", "counting"),
        ("join", "s0 s1"), ("assemble", "a b"), ("delta", "a b"), ("patch", "a patch"))]
    over = [
        of_call("builder_write replace", old="b", alone=False),
        of_call("create replace", old="b", living=True),
        of_call("copy_sealed replace", files="live", old="b", alone=False, must=(0,)),
        of_call("merge replace", files="a b", target="a", next=["true"]),
        # A kill may leave layers without a first layer, which is not a series.
        of_call("rescue series", files="grow", living=True, must=(0,), leaves=r"out\.[0-9]",
                next=[CALLS, "rescue series replace", "0"]),
        of_call("patch replace", files="a patch", target="a", next=["true"]),
    ]
    streams = [of_call(call, files=files, kind="stream") for call, files in (
        ("builder_write_fd", ""), ("copy_sealed_fd", "live"), ("fold_fd", "a b"), ("merge_fd", "a b"),
        ("project_fd", "counting"), ("join_fd", "s0 s1"), ("assemble_fd", "a b"), ("delta_fd", "a b"),
        ("patch_fd", "a patch"))]
    live = [of_call(call, **adding(target)) for call, target in (
        ("add", "live"), ("add exact", "live"), ("add sync", "live"), ("add_many", "live"), ("sync", "live"),
        ("finish", "live"), ("close", "live"), ("add counting", "live-counting"), ("add series", "grow"))]
    live += [
        of_call("open to write", **adding("live", adds=False)),
        of_call("add generations", **adding("generations")),
        of_call("remove", **adding("live-counting", adds=False, removes=True)),
        of_call("seal", **adding("live", alone=True, seals=True,
                                 next=[tool("bfseal"), "-q", "--accept-unclean", "live"])),
    ]
    return plain + over + streams + live


# ------------------------------------------------------------------ files that scenarios need, made once


class Made:
    """A folder with all files that scenarios need, and the files they leave without faults."""

    def __init__(self, folder):
        self.folder = folder / "made"
        self.folder.mkdir()
        for process in range(-1, 4):
            first = KEYS * (process + 1) + 1
            (self.folder / f"keys{process + 1}").write_text("".join(f"{i}\n" for i in range(first, first + KEYS)))
        both = [str(i) for i in range(1, 2 * KEYS + 1)]
        (self.folder / "both").write_text("".join(f"{i}\n" for i in both + both[:KEYS]))
        shape = ["-m163840", "-k5"]
        for words in (
            ["bfcreate", *shape, "a", "keys0"], ["bfcreate", *shape, "b", "keys1"],
            ["bfcreate", "-l", "counting", "-n1000", "counting", "keys0"],
            ["bfcreate", *shape, "-n1000", "--slice", "1/2", "s0", "keys0"],
            ["bfcreate", *shape, "-n1000", "--slice", "2/2", "s1", "keys0"],
            ["bfdelta", "a", "b", "patch"],
            ["bfcreate", "--live", "-m163840", "-k5", "live"], ["bfadd", "live", "keys0"],
            ["bfcreate", "--live", "-l", "counting", "-n5000", "-p1e-6", "live-counting"],
            ["bfadd", "live-counting", "keys0"],
            ["bfcreate", "--live", "--grow", "-n40", "-p1e-6", "grow"], ["bfadd", "grow", "keys0"],
            ["bfcreate", "--live", "--generations", "5", "--every", "160", "-p1e-6", "generations"],
            ["bfadd", "generations", "keys0"],
        ):
            subprocess.run([tool(words[0]), "-q", *words[1:]], cwd=self.folder, check=True)
        (self.folder / "live-counting1").mkdir()
        shutil.copy(self.folder / "live-counting", self.folder / "live-counting1" / "live-counting")
        subprocess.run([tool("bfadd"), "-q", "live-counting1/live-counting", "keys1"], cwd=self.folder, check=True)

    def lay_out(self, scenario, folder, link=True):
        """Makes the folder for the scenario. Returns the names there. `link`: on the same file system."""
        folder.mkdir()
        for name in "keys0 keys1 keys2 keys3 keys4 both".split():
            (os.link if link else shutil.copyfile)(self.folder / name, folder / name)
        for name in scenario.files.split():
            origin = self.folder / name
            if origin.is_dir():
                shutil.copytree(origin, folder, dirs_exist_ok=True)
                continue
            for path in [origin, *self.folder.glob(f"{name}.[0-9]*")]:
                shutil.copyfile(path, folder / path.name)
        if scenario.old:
            shutil.copyfile(self.folder / scenario.old, folder / scenario.target)
        (folder / "temporary").mkdir()
        (folder / "told").write_bytes(bytes(TOLD.size))
        return set(os.listdir(folder))


def run(words, folder, stdout=subprocess.DEVNULL, **more):
    """Runs a command in the folder. Returns its exit status and messages, or (None, ...) if it did not end."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": "temporary", **more}
    with open(folder / "told", "r+b") as told:
        try:
            done = subprocess.run(words, cwd=folder, stdin=told, stdout=stdout, stderr=subprocess.PIPE, timeout=TIMEOUT,
                                  env=environment, check=False)
        except subprocess.TimeoutExpired:
            return None, "it did not end"
    return done.returncode, done.stderr.decode(errors="replace")


def run_scenario(scenario, folder, before=(), process=0, **more):
    """Runs a process of it, with its standard output in the file "stream" if that is its kind."""
    command = [*before, *scenario.command(process)]
    if scenario.kind != "stream":
        return run(command, folder, **more)
    with open(folder / "stream", "wb") as stream:
        return run(command, folder, stdout=stream, **more)


def start_scenario(scenario, folder, process, told):
    """Starts another process of it concurrently: slowly, so that they meet."""
    return subprocess.Popen([TRACE, *scenario.command(process)], cwd=folder, stdin=told, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, env={"LC_ALL": "C.UTF-8", "TMPDIR": "temporary"})


def marked(scenario):
    return ["-m"] if scenario.is_call else []


def stops_of(made, scenario, folder):
    """The stops that campaign-trace lists."""
    made.lay_out(scenario, folder)
    run_scenario(scenario, folder, [TRACE, "-l", "stops", *marked(scenario)])
    return (folder / "stops").read_text().splitlines()


def loading(scenario, folder, stops):
    """How many of them are the loader's."""
    if scenario.is_call:
        return 0
    subprocess.run([TRACE, "-l", folder / "loading", scenario.words[0], "--version"], stdout=subprocess.DEVNULL, check=True)
    return len(os.path.commonprefix([(folder / "loading").read_text().splitlines(), stops]))


# ------------------------------------------------------------------ the files left


class Judge:
    """Judges a folder after a process of a scenario ended, killed or not. Forbidden results raise Found."""

    def __init__(self, made, scenario, folder, before, what):
        self.made, self.scenario, self.folder, self.before, self.what = made, scenario, folder, before, what
        self.columns, self.removing = {}, ()  # other processes, each of which removes its part

    def judge(self, killed, ended, others=()):
        """`killed`: a process was killed; `ended`: it was not killed, and exited with 0; `others`: more processes
        like that."""
        self.temporaries(killed)
        self.sources()
        must = []
        if self.scenario.kind == "live":
            must = self.live(ended, others)
            if must is None:
                return self.columns
        elif self.scenario.kind == "stream":
            self.stream(ended)
        else:
            self.whole(ended or others)
        self.go_on(must)
        return self.columns

    def fail(self, message):
        files = {}
        for path in self.folder.iterdir():
            if path.is_file() and path.name not in ("both",) and not path.name.startswith("keys"):
                files[path.name.lstrip(".")] = path.read_bytes()
        raise Found(f"{self.scenario.name}, {self.what}: {message}", files)

    def count(self, column, more=1):
        self.columns[column] = self.columns.get(column, 0) + more

    def content(self, name):
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def told(self):
        return TOLD.unpack(self.content("told"))

    def run(self, words):
        return run(with_numbers(words, 0), self.folder)

    def extra(self):
        """Unexpected names: temporary files, and files that are not layers of a series."""
        known = {"stream", self.scenario.target}
        layer = re.compile(rf"{re.escape(self.scenario.target)}\.[0-9]+" if self.content(self.scenario.target) else "$")
        return sorted(name for name in set(os.listdir(self.folder)) - self.before - known
                      if not name.startswith("told") and not layer.fullmatch(name))

    def temporaries(self, killed):
        """A kill may leave a temporary file that has a name; an error may not."""
        extra = self.extra()
        if os.listdir(self.folder / "temporary"):
            self.fail(f"left in TMPDIR: {os.listdir(self.folder / 'temporary')}")
        if extra and not (killed and all(re.fullmatch(f"{TEMPORARY}|{self.scenario.leaves}", name) for name in extra)):
            self.fail(f"left behind: {extra}")
        if extra:
            self.count("temporary")

    def sources(self):
        for name in self.scenario.files.split():
            origin = self.made.folder / name
            if name != self.scenario.target and origin.is_file() and self.content(name) != origin.read_bytes():
                self.fail(f"{name} has changed")

    def whole(self, ended):
        """The target must be unchanged or complete. `ended`: the command exited with 0."""
        content = self.content(self.scenario.target)
        if content == self.scenario.expected:
            self.count("new")
        elif self.may_differ() and content != self.content_before() and self.is_live(ended):
            self.count("new")
        elif ended:
            self.fail("it exited with 0, and the file is not the new one")
        elif content == self.content_before():
            self.count("old")
        else:
            self.fail("the file is neither the old nor the new one")

    def may_differ(self):
        return self.scenario.living

    def is_complete(self, content):
        return content == self.scenario.expected

    def is_live(self, ended):
        """Whether a new live file can be used. If its creator was killed while it closed it, a process that
        accepts that."""
        keys = [f"{KEYS * number + 1 + i}" for number in self.scenario.must for i in range(KEYS)]
        absent, said = self.missing(keys, accept=False)
        if absent:
            self.fail(f"{len(absent)} keys of the source are lost, such as {absent[0]}")
        if absent is None and not ended and re.search("killed during a sync|rescued", said):
            self.count("unclean")
            absent, said = self.missing([], accept=True)
        return absent is not None or self.poisoned(said)

    def content_before(self):
        made = self.made.folder
        if self.scenario.old:
            return (made / self.scenario.old).read_bytes()
        if self.scenario.target in self.scenario.files.split():
            return (made / self.scenario.target).read_bytes()
        return None

    def stream(self, ended):
        """The output must be the beginning of the complete output. A part of a filter is refused."""
        content = self.content("stream")
        complete = self.is_complete(content)
        if ended and not complete:
            self.fail("it exited with 0, and the output is not complete")
        if not complete and not self.scenario.expected.startswith(content):
            self.fail("the output is another one")
        self.count("new" if complete else "cut" if content else "old")

    def accept(self, status, said):
        """A process that was not killed may fail only because of another process, and its message says so."""
        if status is None or status > 2 or status < 0 or not re.search("File exists|killed during a sync|another process replaced it|replaced or removed while", said):
            self.fail(f"a process ended with {status}: {said}")
        self.count("told")

    # --- live files

    def missing(self, keys, accept):
        """The keys that are certainly absent to a reader; None if it refuses the file."""
        accepting = ["--accept-unclean"] if accept else []
        path = self.folder / "asked"
        path.write_text("".join(f"{key}\n" for key in keys))
        with open(self.folder / "answer", "wb") as answer:
            status, said = run([tool("bfquery"), "-v", *accepting, self.scenario.target, "asked"], self.folder,
                               stdout=answer)
        absent = (self.folder / "answer").read_text().split()
        path.unlink()
        (self.folder / "answer").unlink()
        if status is None or status < 0 or status > 2:
            self.fail(f"bfquery ended with {status}: {said}")
        if status == 2:
            return None, said
        return absent, said

    def live(self, ended, others=()):
        """The keys are present, or the file reports that they may be lost; the next writer continues."""
        scenario = self.scenario
        must = [f"{KEYS * number + 1 + i}" for number in scenario.must for i in range(KEYS)]
        if scenario.removes:  # each process removes its own
            must = [key for i, key in enumerate(must) if i // REMOVED not in self.removing and i >= self.told()[0]]
        if scenario.adds and scenario.is_call:
            must += [f"{KEYS + 1 + i}" for i in range(self.told()[0])]
        elif scenario.adds and ended:
            must += [f"{KEYS + 1 + i}" for i in range(KEYS)]
        for process in others if scenario.adds else ():
            must += [f"{KEYS * (process + 1) + 1 + i}" for i in range(KEYS)]
        absent, said = self.missing(must, accept=False)
        if absent is None:
            if ended and not others:
                self.fail(f"it exited with 0, and a reader says: {said}")
            if self.poisoned(said):
                return None
            if not (scenario.unclean and "killed during a sync" in said):
                self.fail(f"a reader says: {said}")
            self.count("unclean")
            absent, said = self.missing(must, accept=True)
            if absent is None:
                self.fail(f"a reader that accepts an unclean file says: {said}")
        if absent:
            self.fail(f"{len(absent)} keys are lost, such as {absent[0]}")
        self.count("keys", len(must))
        return must

    def poisoned(self, said):
        """Whether the file may be in the state that a reader reports: untrusted, to be rebuilt."""
        return False

    def go_on(self, must):
        """Locks are free, temporary files are removed, the next run completes the job, and counts are exact or
        marked as estimates."""
        scenario = self.scenario
        words = scenario.next or scenario.command()
        if words == ["true"] and scenario.kind == "whole" and self.content(scenario.target) == self.content_before():
            words = scenario.command()  # the source still exists
        if scenario.kind == "whole" and scenario.next is None:
            if self.content(scenario.target) is not None and not scenario.old and scenario.target not in self.before:
                for path in self.folder.glob(f"{scenario.target}*"):
                    path.unlink()
        if scenario.kind == "stream":
            status, said = run_scenario(scenario, self.folder)
        else:
            status, said = self.run(words)
        if status != 0:
            self.fail(f"the next run ended with {status}: {said}")
        left = self.extra()
        if left and words != ["true"]:
            self.fail(f"also left behind by the next run: {left}")
        if scenario.kind == "live":
            self.after_next(must)
        elif words != ["true"]:
            made = self.content("stream" if scenario.kind == "stream" else scenario.target)
            if made != scenario.expected and not (scenario.living and self.is_live(True)):
                self.fail("the next run made another file")

    def after_next(self, must):
        scenario = self.scenario
        if scenario.adds and not scenario.seals:
            must = sorted({*must, *(f"{KEYS + 1 + i}" for i in range(KEYS))})
        absent, said = self.missing(must, accept=scenario.next == ["true"])
        if absent is None:
            self.fail(f"after the next run a reader says: {said}")
        if absent:
            self.fail(f"after the next run {len(absent)} keys are lost, such as {absent[0]}")
        with open(self.folder / "answer", "wb") as answer:
            status, said = run([tool("bfinspect"), "--report", "-", scenario.target], self.folder, stdout=answer)
        report = json.loads(self.content("answer") or "{}")
        (self.folder / "answer").unlink()
        if scenario.seals and (status != 0 or not report["ok"]):
            self.fail(f"after the next run bfinspect says: {report.get('verdict')} {report.get('error')} {said}")
        self.counts(report, must)

    def counts(self, report, must):
        """Exact, or marked as an estimate."""
        if not self.scenario.adds or report.get("record") is None:
            return
        records = report.get("layers") or [report["record"]]
        n, estimated = sum(record["n"] for record in records), any(record["n_estimated"] for record in records)
        if estimated:
            self.count("estimated")
        elif n < len(must):
            self.fail(f"{n} keys are said to be all, where {len(must)} were added")


def prepared(scenarios, made, folder, **environment):
    """Runs each scenario once without faults: for its results, and to show that it works."""
    for number, scenario in enumerate(scenarios):
        there = folder / f"undisturbed-{number}"
        made.lay_out(scenario, there)
        status, said = run_scenario(scenario, there, **environment)
        if status != 0:
            raise RuntimeError(f"{scenario.name} does not work undisturbed: {status}: {said}")
        if scenario.kind != "live":
            scenario.expected = (there / ("stream" if scenario.kind == "stream" else scenario.target)).read_bytes()
        scenario.undisturbed = TOLD.unpack((there / "told").read_bytes())
        shutil.rmtree(there)
