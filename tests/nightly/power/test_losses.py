# SPDX-License-Identifier: MIT
"""Power losses: test_losses.py FILESYSTEM.

A program adds to a live filter (on every second machine, a growing series), syncs, closes and seals it until the
power fails at any moment. Then the machine restarts with another boot identity. No synced key may be lost, and a
file that may have lost other keys must report it. Keys must be lost with an msync that does nothing; otherwise
this test would prove nothing."""

import collections
import itertools
import random
import statistics
import sys
import time

import life
from machine import DISKS, Machine, possible_kinds
from mounts import own_folder

LOSSES = 25
ON_ONE_MACHINE = 13
SEED = 20261121
CONTROL_PHASES = ["synced", "closed", "sealed"]
COLUMNS = ["losses", "keys", "lost", "right", "wrong"]


class Losses:
    """Losses on machines that run power-writer. `wanted`: the phases of its life in which the power may fail."""

    def __init__(self, where, file_system, kinds, rng, grows=(False, True), wanted=life.PHASES):
        self.where, self.file_system, self.kinds = where, file_system, kinds
        self.random, self.grows, self.wanted = rng, itertools.cycle(grows), wanted
        self.machines = self.lives = 0
        self.to_come = []
        self.durations = collections.defaultdict(lambda: [0.002])  # of the phases, in seconds
        self.figures = collections.defaultdict(collections.Counter)  # by kind of loss
        self.phases = collections.Counter()
        self.sectors = 0, 0
        self.faults = []

    def machine(self):
        self.machines += 1
        where = self.where / str(self.machines)
        where.mkdir()
        self.grows_here = next(self.grows)
        return Machine(where, self.file_system, self.random)

    def delay(self, kind, phase):
        """The delay from the start of the phase to the loss. A disk counts requests instead."""
        usual = statistics.median(self.durations[phase][-9:])
        return 0 if kind in DISKS else self.random.uniform(0, 1.2) * usual

    def live_and_lose(self, machine, phase, before, program):
        """A life that ends in this phase. Returns its plan, its events, and how many came before the loss."""
        self.lives += 1
        plan, index = life.plan(self.random, phase, before, f"filter {self.lives}",
                                self.grows_here, life.LARGEST[self.file_system])
        writer = life.Writer(machine, *plan.command(program, machine))
        try:
            machine.prepare_loss()
            writer.wait_for(index + 1)
            time.sleep(self.delay(machine.kind, phase))
            alive, seen = writer.alive(), len(writer.events)
            machine.lose_power()
        finally:
            events = writer.end(self.random.choice([0, 0.1]))
        for (begin, event, _), (end, _, _) in zip(events[:seen], events[1:seen]):
            self.durations[event].append(end - begin)
        if not alive or seen <= index:
            raise RuntimeError(f"the writer ended before the power did: {plan}: {events}")
        self.phases[events[seen - 1][1]] += 1
        return plan, events, seen

    def lose(self, machine, kind, phase, before, program=life.WRITER):
        """One loss and its result: the outcome (None if it is wrong), keys lost, and a report."""
        machine.start(kind)
        plan, events, seen = self.live_and_lose(machine, phase, before, program)
        machine.stop()
        self.sectors = [sum(pair) for pair in zip(self.sectors, machine.sectors)]
        machine.sectors = 0, 0
        allowed = life.outcomes(before, plan, events, seen)
        machine.start()
        sight = life.Sight(machine, allowed)
        left_over = life.left_over(machine, plan, events)
        machine.stop()
        outcome, lost = sight.judge(allowed)
        history = " ".join(f"{event}:{rest}" for _, event, rest in events)
        report = (f"{kind}: {plan}\n    events ({seen} before the loss): {history}\n"
                  f"    before: {before}\n    allowed: {allowed}\n    found: {sight}\n"
                  f"    left over: {left_over}\n")
        return None if left_over else outcome, lost, report

    def run(self, losses):
        """One machine after another, each until a fault is found on it."""
        kinds = collections.deque(self.kinds[i % len(self.kinds)] for i in range(losses))
        while kinds:
            with self.machine() as machine:
                self.run_machine(machine, kinds)

    def run_machine(self, machine, kinds):
        before = life.ABSENT
        for _ in range(min(ON_ONE_MACHINE, len(kinds))):
            kind = kinds.popleft()
            phase = self.next_phase(life.phases(before, self.grows_here))
            before, lost, report = self.lose(machine, kind, phase, before)
            self.figures[kind].update(losses=1, keys=before.keys if before else 0, lost=lost,
                                      right=before is not None, wrong=before is None)
            if before is None or lost > 0:
                self.faults.append(report)
                return

    def next_phase(self, phases):
        """All phases in turn, in a random order each time."""
        phases = [phase for phase in phases if phase in self.wanted]
        to_come = [phase for phase in self.to_come if phase in phases]
        if not to_come:
            self.to_come = to_come = self.random.sample(phases, len(phases))
        self.to_come.remove(to_come[-1])
        return to_come.pop()

    def control(self, losses, phases=CONTROL_PHASES):
        """An msync that does nothing must lose keys, except in pages that the kernel happens to write.
        The kernel writes everything before it freezes."""
        kinds = [kind for kind in self.kinds if kind not in ("freeze", "torn")]
        figures = self.figures["control"]
        for i in range(losses):
            kind = kinds[i % len(kinds)]
            phase = phases[i // len(kinds) % len(phases)]
            with self.machine() as machine:
                _, lost, report = self.lose(machine, kind, phase, life.ABSENT, life.WRITER_NOSYNC)
            figures.update(losses=1, lost=lost, noticed=lost > 0)
        if figures["noticed"] == 0:
            self.faults.append(f"an msync that does nothing was not noticed: {report}")

    def table(self):
        for kind in self.kinds:
            print(f"{self.file_system:6}{kind:12}", *(f"{self.figures[kind][column]:>13,}"
                                                      for column in COLUMNS))
        print(f"{self.file_system}: at the loss:", ", ".join(f"{phase} {self.phases[phase]}"
                                                            for phase in life.PHASES))
        print(f"{self.file_system}: the disk lost {self.sectors[0]:,} of {self.sectors[1]:,} "
              "sectors that it had not flushed")
        control = self.figures["control"]
        print(f"{self.file_system}: control, msync does nothing: {control['losses']} losses, "
              f"{control['noticed']} noticed, {control['lost']:,} keys lost")


def main():
    file_system = sys.argv[1]
    folder = own_folder()
    losses = Losses(folder, file_system, possible_kinds(folder, file_system), random.Random(SEED))
    losses.run(LOSSES)
    losses.control(3)
    print(f"{'':18}", *(f"{column:>13}" for column in
                         ["losses", "keys checked", "keys lost", "state right", "wrong"]))
    losses.table()
    print(*losses.faults, sep="\n")
    return 1 if losses.faults else 0


if __name__ == "__main__":
    sys.exit(main())
