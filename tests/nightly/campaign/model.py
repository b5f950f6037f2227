# SPDX-License-Identifier: MIT
# Debian: spin
# build: plain
# targets: tools/bfquery
"""Runs spin on the models in doc/model: each complete, which must satisfy all claims, and with each step left out,
in which spin must find a violation. A case is one verification."""

import re
import shutil
import subprocess
import sys

from campaign import SOURCE_ROOT, Campaign, Found, main

MODELS = SOURCE_ROOT / "doc" / "model"
ONE_KEY = "-DKEYS=1"
NO_KILLS = "-DKEYS=1 -DKILLS=0"
POWER = "-DKEYS=1 -DKILLS=0 -DLOSSES=1"

# Complete models: row, file, switches. The quick runs come first.
WHOLE = [
    ("join", "live", "-DKEYS=1 -DNO_SEALS"),
    ("seal", "live", "-DKEYS=1 -DNO_SYNCS"),
    ("poison", "live", "-DKEYS=1 -DFAIL -DWRITERS=1 -DSESSIONS=2 -DLOSSES=1"),
    ("sole", "sole", ""),
    ("sole", "sole", "-DHOLDS"),
    ("grow", "grow", "-DLAYERS=2 -DKILLS=0 -DFAILS=1"),
    ("grow", "grow", "-DKILLS=0 -DLOSSES=1 -DNO_READER -DNO_EXACT"),
    ("grow", "grow", "-DLAYERS=2 -DKILLS=0 -DREMOVALS=1"),
    ("grow", "grow", "-DLAYERS=2 -DWRITERS=1 -DKILLS=2 -DLOSSES=1 -DHANDS=1"),
    ("seal", "live", "-DKEYS=1 -DNO_SYNCS -DWRITERS=1 -DSESSIONS=2 -DLOSSES=1"),
]
DEEP = [
    ("commit", "live", "-DKEYS=1 -DLOSSES=1 -DNO_SEALS -DKILLS=0"),
    ("commit", "live", "-DKEYS=1 -DLOSSES=1 -DNO_SEALS"),
    ("poison", "live", "-DKEYS=1 -DFAIL -DNO_SEALS"),
    ("seal", "live", "-DKEYS=1 -DLOSSES=1 -DNO_SYNCS"),
    ("join", "live", ""),
    ("grow", "grow", ""),
    ("grow", "grow", "-DLAYERS=2 -DLOSSES=1"),
    ("grow", "grow", "-DLAYERS=2 -DWRITERS=1 -DLOSSES=1 -DREMOVALS=1"),
    ("grow", "grow", "-DG=2 -DLAYERS=2"),
    ("grow", "grow", "-DG=2 -DLAYERS=3 -DKILLS=0 -DNO_EXACT"),
    ("grow", "grow", "-DG=2 -DLAYERS=3 -DWRITERS=1 -DLOSSES=1 -DHANDS=1 -DNO_EXACT"),
]

# Each step to leave out, and the switches with which spin must find the violation.
WITHOUT = {
    "COMMIT_1": "-DKEYS=1 -DLOSSES=1 -DNO_SEALS",
    "COMMIT_2": "-DKEYS=1 -DLOSSES=1 -DNO_SEALS",
    "COMMIT_3": "-DKEYS=1 -DLOSSES=1 -DNO_SEALS",
    "COMMIT_4": "-DKEYS=1 -DFAIL -DNO_SEALS -DKILLS=0",
    "ADD_2": POWER + " -DNO_SEALS",
    "SYNC_1": NO_KILLS + " -DNO_SEALS",
    "SYNC_2": "-DKEYS=1 -DFAIL -DNO_SEALS",
    "SYNC_3": POWER + " -DNO_SEALS",
    "SYNC_4": NO_KILLS + " -DFAIL -DNO_SEALS",
    "JOIN_1": NO_KILLS,
    "JOIN_2": NO_KILLS + " -DNO_SEALS",
    "JOIN_3": ONE_KEY + " -DNO_SEALS",
    "JOIN_4": ONE_KEY,
    "JOIN_5": ONE_KEY + " -DFAIL -DNO_SEALS",
    "JOIN_6": ONE_KEY + " -DNO_SEALS",
    "JOIN_7": POWER + " -DNO_SEALS",
    "LEAVE_1": NO_KILLS + " -DNO_SEALS",
    "LEAVE_2": POWER + " -DNO_SEALS -DNO_SYNCS",
    "LEAVE_4": POWER + " -DNO_SEALS -DNO_SYNCS",
    "LEAVE_6": NO_KILLS + " -DNO_SEALS",
    "SEAL_0": NO_KILLS + " -DNO_SYNCS",
    "SEAL_2": POWER + " -DNO_SYNCS -DWRITERS=1",
    "SEAL_4": POWER + " -DNO_SYNCS -DWRITERS=1",
    "COMPLETE_1": "-DKEYS=1 -DLOSSES=1 -DNO_SYNCS",
}
ROW = {"ADD": "commit", "SYNC": "poison", "LEAVE": "join", "COMPLETE": "seal"}

BUGS = {
    "-DLAYERS=2": "LOOK FIRST LAST LOCKS KEEP MARK_FIRST",
    "-DLAYERS=2 -DKILLS=0 -DLOSSES=1": "NAME DIRECTORY JOIN LEAVE SYNC",
    "-DLAYERS=2 -DWRITERS=1 -DKILLS=2 -DLOSSES=1 -DHANDS=1": "CLEAN",
    "-DLAYERS=2 -DKILLS=0 -DHANDS=1": "REPLACE",
    "-DLAYERS=2 -DKILLS=0 -DREMOVALS=1": "HELD NAMES HERE",
    "-DLAYERS=2 -DKILLS=0 -DHANDS=1 -DG=2 -DNO_EXACT": "OVER GAP",
    "-DKILLS=0 -DLOSSES=1 -DNO_READER -DNO_EXACT": "BEFORE",
    "-DLAYERS=3 -DG=2 -DNO_EXACT": "REMAKE",
    "-DLAYERS=3 -DG=2 -DNO_EXACT -DKILLS=0": "LOCK FOUND AGAIN",
}
SOLE_BUGS = "LOAD SHARED FENCE CHILD"


def cases():
    """(row, file, switches, the step left out or None): steps and complete models alternate; the deep models come
    last."""
    removed = [(ROW.get(step.split("_")[0], step.split("_")[0].lower()), "live", switches, f"WITHOUT_{step}")
               for step, switches in WITHOUT.items()]
    removed += [("grow", "grow", switches, f"BUG_{bug}") for switches, bugs in BUGS.items() for bug in bugs.split()]
    removed += [("sole", "sole", "", f"BUG_{bug}") for bug in SOLE_BUGS.split()]
    removed = [removed[i * 19 % len(removed)] for i in range(len(removed))]
    whole = [(*run, None) for run in WHOLE]
    every = len(removed) // len(whole)
    mixed = []
    for i, case in enumerate(removed, 1):
        mixed.append(case)
        mixed += whole[i // every - 1:i // every] if i % every == 0 else []
    return mixed + [(*run, None) for run in DEEP]


class Model(Campaign):
    unit = "runs"
    in_order = True
    limit = 4 * 3600
    columns = ("states", "hold", "steps left out", "found")

    def prepare(self, folder):
        self.cases = cases()
        self.total = len(self.cases)

    def describe(self, case):
        row, file, switches, without = self.cases[case]
        return f"{row}: spin -a {switches} {'-D' + without if without else ''} doc/model/{file}.pml"

    def run(self, case, chance, folder):
        row, file, switches, without = self.cases[case]
        for model in MODELS.glob("*.pml"):
            shutil.copy(model, folder)
        options = switches.split() + ([f"-D{without}"] if without else [])
        for words in (["spin", "-a", *options, f"{file}.pml"],
                      ["gcc", "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=12000", "-o", "pan", "pan.c"]):
            made = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
            if made.returncode != 0:
                raise Found(f"{' '.join(words)}: {made.stdout}{made.stderr}")
        said = subprocess.run(["./pan", "-m1000000"], cwd=folder, capture_output=True, text=True, check=False).stdout
        errors, states = re.search(r"errors: (\d+)", said), re.search(r"([\d.e+]+) states, stored", said)
        unfinished = re.search("max search depth too small|out of memory|DMEMLIM bound|Search not completed", said)
        if not errors or not states or (unfinished and errors[1] == "0"):
            raise Found(f"not all states were searched:\n{said}")
        violated = re.search(r"pan:\d+: (assertion violated .*|invalid end state.*)", said)
        counts = {"runs": 1, "states": int(float(states[1]))}
        if without:
            if not violated:
                raise Found(f"{without[8:] if without.startswith('W') else without} is not found", {"pan.txt": said})
            return {row: {**counts, "steps left out": 1, "found": 1}}
        if errors[1] != "0":
            trail = subprocess.run(["spin", "-t", "-p", *options, f"{file}.pml"], cwd=folder, capture_output=True,
                                   text=True, check=False).stdout
            raise Found(violated[1] if violated else said, {"pan.txt": said, "trail.txt": trail})
        return {row: {**counts, "hold": 1}}


if __name__ == "__main__":
    sys.exit(main(Model))
