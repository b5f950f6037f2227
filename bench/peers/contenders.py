# SPDX-License-Identifier: MIT
"""The programs that serve.c makes of contenders: the list of players, and requests to them."""

import collections
import os
import pathlib
import platform
import subprocess
import sys

import report

FOLDER = pathlib.Path(__file__).resolve().parent  # folder of the programs
FORMS = ["hashed", "16", "60", "mixed"]  # forms of keys, by the number in requests
HASHED = 0
SMALL = 1000  # keys

Program = collections.namedtuple("Program", "file needs limits slow kernels twin at_once",
                                 defaults=["", False, False, False, False, False])
# A player that is `slow` to fill is left out of short runs. A `twin` has the filters of the player before. `at_once`:
# adds take effect immediately, not when the filter is finished.
PROGRAMS = [
    Program("bench-limits", limits=True),
    Program("bench-contender-bloomfile", kernels=True),
    Program("bench-peer-bloomfile-header", needs="C++", twin=True),
    Program("bench-peer-bloomfile-header-any", needs="C++", twin=True),
    Program("bench-peer-libbloom", needs="libbloom-dev", slow=True, at_once=True),
    Program("bench-peer-leveldb", needs="libleveldb-dev", slow=True),
    Program("bench-peer-rocksdb", needs="librocksdb-dev"),
    Program("bench-peer-rocksdb-avx2", needs="-Drocksdb_avx2", twin=True),
    Program("bench-peer-rocksdb-inlined", needs="-Drocksdb_avx2", twin=True, at_once=True),
    Program("bench-peer-boost", needs="Boost.Bloom", at_once=True),
    Program("bench-peer-libfilter", needs="libfilter", at_once=True),
    Program("bench-peer-fuse", needs="xor_singleheader", slow=True),
]
# The widest kernel comes first: it makes the files for all kernels.
KERNELS = {"x86_64": ["vbmi", "avx512", "avx2"], "aarch64": ["neon"]}.get(platform.machine(), []) + ["scalar"]

OK, NONE, NO = "ok", "none", "no"  # NONE: the contender lacks the function; NO: an error, or the program has ended
Reply = collections.namedtuple("Reply", "answer seconds number text", defaults=[0.0, 0, ""])


class Process:
    """A contender's program on one core, in the folder for files."""

    def __init__(self, program, kernel, core, scratch):
        environment = {k: v for k, v in os.environ.items() if k != "BLOOMFILE_KERNEL"}
        if kernel:
            environment["BLOOMFILE_KERNEL"] = kernel
        self.process = subprocess.Popen([FOLDER / program.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment, cwd=scratch,
                                        preexec_fn=lambda: os.sched_setaffinity(0, [core]))

    def ask(self, *words):
        try:
            print(*words, file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        if line in ("", "no\n"):
            return Reply(NO)
        if line == "none\n":
            return Reply(NONE)
        numbers = line.split()[1:] if line.startswith("ok ") else [0, 0]
        return Reply(OK, float(numbers[0]), int(numbers[1]), line.rstrip("\n"))

    def ask_either(self, verb, index, rest):
        """Requests a batch, or single calls if the contender has no batch call."""
        reply = self.ask(verb, index, "batch", rest)
        return self.ask(verb, index, "one", rest) if reply.answer == NONE else reply

    def end(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        self.process.stdout.close()
        self.process.wait()


class Player(collections.namedtuple("Player", "program kernel index name version")):
    @property
    def live(self):
        return self.name == "bloomfile blocked, live"

    @property
    def at_once(self):
        return self.live or self.program.at_once


def works(process, index):
    """Whether a player can make a filter that finds its keys."""
    return (process.ask("create", index, SMALL, 10, HASHED).answer == OK and
            process.ask("add", index, "one", SMALL).answer == OK and
            process.ask("finish", index).answer == OK and
            process.ask("lookup", index, "one", "present").number == SMALL and
            process.ask("drop", index).answer == OK)


def players_of(program, kernel, core, scratch):
    process = Process(program, kernel, core, scratch)
    process.ask("queries", HASHED, SMALL, SMALL)
    index = 0
    while (reply := process.ask("name", index)).answer == OK:
        player = Player(program, kernel, index, *reply.text.split("\t"))
        if program.limits or works(process, index):
            yield player
        elif kernel is None:
            print(f"{player.name} is left out: it cannot make a filter of {SMALL} keys", file=sys.stderr)
        index += 1
    process.end()


def roster(core, scratch):
    """Returns all players, and the requirements of players that were not built. Only one player is live, with the widest
    kernel, because filling it takes longest, and kernels are compared on sealed filters."""
    players, absent = [], []
    for program in PROGRAMS:
        if not os.access(FOLDER / program.file, os.X_OK):
            absent += [program.needs] if program.needs not in absent else []
            continue
        for kernel in KERNELS if program.kernels else [None]:
            for player in players_of(program, kernel, core, scratch):
                if not (player.live and any(other.live for other in players)):
                    players.append(player)
    return players, absent


def last_core():
    return max(os.sched_getaffinity(0))
