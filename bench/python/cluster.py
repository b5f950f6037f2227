#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bloomfile.dask on worker processes of this machine, beside one process; and with a worker killed at each step.

Keys are lines of a file, of which each partition reads a stretch. All ways must make the same bytes, also where a worker died:
the exit status is 1 if one did not, and 2 if the work could not be done. Bytes moved are what workers have sent to each other,
at most 8.5 a key. The memory of a worker is what it took beyond an idle one, at most.
"""

import argparse
import contextlib
import logging
import os
import pathlib
import signal
import subprocess
import time
import warnings

import bloomfile
import bloomfile.dask
import report
from report import number, print_table, verdict

BFCREATE = pathlib.Path(__file__).resolve().parent.parent / "tools" / "bfcreate"
LINE = 17  # bytes
RATE = 0.01


def write_keys(path, count):
    """Different ones, in no order."""
    with open(path, "wb") as file:
        for first in range(0, count, 100_000):
            file.write(b"".join(b"%016x\n" % (i * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
                                for i in range(first, min(first + 100_000, count))))


def read(path, first, count):
    with open(path, "rb") as file:
        file.seek(first * LINE)
        return file.read(count * LINE).splitlines()


def stretches(count, parts):
    ends = [count * i // parts for i in range(parts + 1)]
    return [(first, end - first) for first, end in zip(ends, ends[1:])]


def partitions(path, count, parts):
    import dask
    return [dask.delayed(read)(str(path), first, number, dask_key_name=f"keys-{first}") for first, number in stretches(count, parts)]


# ---- in a worker


def begin_to_measure():
    pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    return resident("VmRSS")


def resident(field):
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(field + ":"))


def sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def doom(log, step):
    """At the step of this number, counted by all workers, one dies: if it is odd, with the work done."""
    module, builder = bloomfile.dask, bloomfile.Builder

    def doomed(name, function):
        def run(*arguments):
            with open(log, "ab", buffering=0) as file:
                file.write(b".")
                last = file.tell() == step
            result = function(*arguments) if not last or step % 2 else None
            if last:
                pathlib.Path(f"{log}.killed").write_text(name, encoding="ascii")
                os.kill(os.getpid(), signal.SIGKILL)
            return result
        return run
    # What tasks call, and not tasks, for workers keep these as they were when they first had them.
    module.hash_many = doomed("hash", bloomfile.hash_many)
    module.split_digests = doomed("split", bloomfile.split_digests)
    module.Builder = type("Builder", (builder,), {"count": doomed("count", builder.count), "finish": doomed("finish", builder.finish)})


# ---- figures


class Bench:
    def __init__(self, options, folder):
        self.keys, self.kills, self.parts, self.workers = options.keys, options.kills, options.parts, options.workers
        self.folder = folder

    @contextlib.contextmanager
    def at_work(self):
        """New workers."""
        import distributed
        with distributed.LocalCluster(n_workers=self.workers, threads_per_worker=1, dashboard_address=None,
                                      silence_logs=logging.CRITICAL, local_directory=str(self.folder)) as cluster:
            with distributed.Client(cluster) as self.client:
                yield

    def single(self, path, made):
        with bloomfile.Builder(RATE, capacity=self.keys, framing="lines") as builder:
            for first, count in stretches(self.keys, self.parts):
                builder.add_many(read(path, first, count))
            builder.finish(made)

    def tool(self, path, made):
        subprocess.run([BFCREATE, "-q", "-n", str(self.keys), "-p", str(RATE), made, path], check=True)

    def only_read(self, path, made):
        """What no way of building can do without."""
        import dask
        dask.compute(*[dask.delayed(len)(part) for part in partitions(path, self.keys, self.parts)])
        pathlib.Path(made).write_bytes(b"")

    def dask(self, path, made, **params):
        bloomfile.dask.build(partitions(path, self.keys, self.parts), made, RATE, framing="lines", **params).close()

    def measured(self, way, *arguments, **params):
        """Seconds, bytes moved and, of a worker, bytes of memory."""
        idle = self.client.run(begin_to_measure)
        before = sum(self.client.run(sent).values())
        start = time.perf_counter()
        way(*arguments, **params)
        seconds = time.perf_counter() - start
        peaks = self.client.run(resident, "VmHWM")
        return seconds, sum(self.client.run(sent).values()) - before, max(peaks[name] - idle[name] for name in idle)

    def figures(self):
        path = self.folder / "keys"
        write_keys(path, self.keys)
        ways = (("one process: bloomfile.Builder", self.single, {}, False), ("one process: bfcreate -n", self.tool, {}, False),
                ("Dask, the keys only read", self.only_read, {}, True), ("Dask, n given", self.dask, {"capacity": self.keys}, True),
                ("Dask, keys counted", self.dask, {}, True), ("Dask, n given, one slice", self.dask, {"capacity": self.keys, "slices": 1}, True))
        rows, expected = [], None
        for name, way, params, spread in ways:
            made = self.folder / "made"
            with self.at_work():
                seconds, moved, memory = self.measured(way, path, str(made), **params)
            data = made.read_bytes()
            made.unlink()
            expected = expected or data
            rows.append((name, number(seconds, 1), number(moved / self.keys) if spread else "",
                         number(memory / 1e6, 0) if spread else "", "" if not data else verdict(data == expected and moved <= 8.5 * self.keys)))
        print(f"{self.keys} keys of {LINE - 1} bytes, {self.parts} partitions, {self.workers} workers of one thread; "
              f"the filter has {number(len(expected) / 1e6, 1)} MB.\n")
        print_table(("built by", ">seconds", ">bytes moved a key", ">MB a worker", "same bytes, few moved"), rows)

    # ---- killing

    def killed(self, path, count, step, expected, params):
        """Where, and whether all is right all the same."""
        made, log = self.folder / "made", self.folder / "steps"
        with self.at_work():
            self.client.run(doom, str(log), step)
            bloomfile.dask.build(partitions(path, count, 8), str(made), RATE, framing="lines", slices=4, **params).close()
        where = (self.folder / "steps.killed").read_text(encoding="ascii")
        right = made.read_bytes() == expected
        for name in "made", "steps", "steps.killed":
            (self.folder / name).unlink()
        alone = not list(self.folder.glob(".made*"))
        return where, right and alone

    def kill(self):
        path, count = self.folder / "few", min(self.keys, 200_000)
        write_keys(path, count)
        with bloomfile.Builder(RATE, capacity=count, framing="lines") as builder:
            builder.add_many(read(path, 0, count))
            expected = self.folder / "expected"
            builder.finish(expected)
        results = {}
        for turn in range(self.kills):
            params = {"capacity": count} if turn % 2 else {}
            steps = 8 + 8 + 4 if params else 8 + 8 + 2 + 2 + 4
            where, right = self.killed(path, count, 1 + turn * (steps - 1) // max(self.kills - 1, 1), expected.read_bytes(), params)
            results.setdefault((where, "given" if params else "counted"), []).append(right)
        names = {"hash": "a partition is hashed", "split": "digests are shared out", "count": "a range is counted",
                 "finish": "a slice is written"}
        print_table(("a worker killed when", "n", ">times", ">right file"), [
            (names[where], n, len(rights), sum(rights)) for where in names for (at, n), rights in sorted(results.items())
            if at == where])
        total = [right for rights in results.values() for right in rights]
        print(f"{sum(total)} of {len(total)}: {verdict(all(total))}\n")


def main(make_scratch):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog=__doc__.split("\n\n", maxsplit=1)[1])
    parser.add_argument("-n", "--keys", type=report.whole, default=10_000_000, metavar="N")
    parser.add_argument("--parts", type=report.whole, default=20, metavar="N", help="partitions")
    parser.add_argument("--workers", type=report.whole, default=2, metavar="N")
    parser.add_argument("--kills", type=int, default=20, metavar="N", help="builds with a worker killed; 0: no such builds")
    parser.add_argument("folder", nargs="?", help="for files")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = make_scratch(options.folder, 64 * options.keys + (64 << 20))
    bench = Bench(options, folder)
    bench.figures()
    if options.kills:
        bench.kill()


if __name__ == "__main__":
    report.main(main)
