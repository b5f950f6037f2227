# SPDX-License-Identifier: MIT
"""Kills every tool and library function that writes, before and after every system call.

A point is one run that ends there by SIGKILL: alone, while one or three more processes continue, or together with three.
The files it leaves are judged, and so is the next run."""

# meson: -Dtools=true
# build: plain
# targets: tests/nightly/campaign/campaign-trace tests/nightly/campaign/campaign-calls tools/bfcreate tools/bfadd tools/bffold
# targets: tools/bfmerge tools/bfseal tools/bfuniq tools/bfdelta tools/bfcommon tools/bfquery tools/bfinspect

import contextlib
import shutil
import subprocess
import sys

from campaign import Campaign, main
from writers import (TIMEOUT, TRACE, Judge, Made, TOLD, loading, marked, of_calls, of_tools, prepared, run_scenario,
                     start_scenario, stops_of)

PARTS = 32  # parts of the points of a scenario: each part is a case, with all kinds of moments
KILLED = 128 + 9


class Kill(Campaign):
    unit = "points"
    columns = ("before", "after", "of 2", "of 4", "all 4 killed", "old", "cut", "new", "unclean", "estimated", "temporary",
               "keys", "not reached")

    def prepare(self, folder):
        self.made = Made(folder)
        scenarios = [*of_tools(), *of_calls()]
        prepared(scenarios, self.made, folder)
        self.runs = [(scenario, processes) for scenario in scenarios
                     for processes in ((1,) if scenario.alone else (1, 2, 4))]
        self.stops = {scenario.name: stops_of(self.made, scenario, folder / f"stops-{number}")
                      for number, scenario in enumerate(scenarios)}
        # The loader's calls are the same in all runs of a tool, so one run covers them.
        self.first = {scenario.name: loading(scenario, folder, self.stops[scenario.name]) for scenario in scenarios}
        self.whole = {scenario.words[0]: (scenario, 1) for scenario, processes in reversed(self.runs) if processes == 1}
        self.total = PARTS * len(self.runs)

    def describe(self, case):
        (scenario, processes), part = self.runs[case // PARTS], case % PARTS
        beside = f" beside {processes - 1} others" if processes > 1 else ""
        return f"{scenario.name}{beside}, every {PARTS}th point from {part + 1}"

    def run(self, case, chance, folder):
        (scenario, processes), part = self.runs[case // PARTS], case % PARTS
        columns = {"points": 0}
        stops = self.stops[scenario.name]
        for number in range(part, len(stops), PARTS):
            if number < self.first[scenario.name] and self.whole[scenario.words[0]] != (scenario, processes):
                continue
            moment = stops[number].split()[1]
            columns["points"] += 1
            for column, more in {moment: 1, **self.point(scenario, processes, number + 1, folder / str(number))}.items():
                columns[column] = columns.get(column, 0) + more
        return {scenario.row: columns}

    def point(self, scenario, processes, number, folder):
        stop = self.stops[scenario.name][number - 1]
        before = self.made.lay_out(scenario, folder)
        judge = Judge(self.made, scenario, folder, before, f"killed at stop {number} of {processes} ({stop})")
        together = processes == 4 and number // PARTS % 2 == 1
        with contextlib.ExitStack() as stack:
            others = [self.start_other(scenario, folder, process, stack) for process in range(1, processes)]
            status, said = run_scenario(scenario, folder, [TRACE, "-k", str(number), *marked(scenario)])
            if status not in (0, KILLED):
                judge.accept(status, said)
            ended = [process for process, other in enumerate(others, 1) if self.end_other(judge, other, together)]
        judge.removing = range(1, processes)
        # A process that ends before the kill promises a clean file only if no other process is killed in a sync then.
        judge.judge(killed=status == KILLED or together, ended=status == 0 and not together, others=ended)
        if status != KILLED:
            judge.count("not reached")
        if processes > 1:
            judge.count("all 4 killed" if together else f"of {processes}")
        shutil.rmtree(folder)
        return judge.columns

    def start_other(self, scenario, folder, process, stack):
        told = stack.enter_context(open(folder / f"told{process}", "w+b"))
        told.write(bytes(TOLD.size))
        told.flush()
        keys = process if scenario.kind == "live" else 0
        other = stack.enter_context(start_scenario(scenario, folder, keys, told))
        stack.callback(other.kill)
        return other

    def end_other(self, judge, other, kill):
        """Whether it exited with 0."""
        if kill:
            other.kill()
        try:
            _, said = other.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            judge.fail("another process did not end")
        if other.returncode != 0 and not kill:
            judge.accept(other.returncode, said.decode())
        return other.returncode == 0


if __name__ == "__main__":
    sys.exit(main(Kill))
