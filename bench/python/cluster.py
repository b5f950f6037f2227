#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bloomfile.dask on worker processes of this machine, compared with one process.

Keys are lines of a file. Each partition reads a stretch of the file. All ways must make the same bytes: the exit status is 1
if they differ, and 2 after an error. Bytes moved are the bytes that workers sent to each other, at most 8.5 a key. The memory
of a worker is its peak above the memory of an idle worker.
"""

import argparse
import contextlib
import logging
import pathlib
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
    """Writes different keys in random order."""
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
    pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    return resident("VmRSS")


def resident(field):
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(field + ":"))


def sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


# ---- figures


class Bench:
    def __init__(self, options, folder):
        self.keys, self.parts, self.workers = options.keys, options.parts, options.workers
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
        with bloomfile.Builder(RATE, capacity=self.keys, key_kind="text") as builder:
            for first, count in stretches(self.keys, self.parts):
                builder.add_many(read(path, first, count))
            builder.finish(made)

    def tool(self, path, made):
        subprocess.run([BFCREATE, "-q", "-n", str(self.keys), "-p", str(RATE), made, path], check=True)

    def only_read(self, path, made):
        """Reads the keys only: the least work of every way of building."""
        import dask
        dask.compute(*[dask.delayed(len)(part) for part in partitions(path, self.keys, self.parts)])
        pathlib.Path(made).write_bytes(b"")

    def dask(self, path, made, **params):
        bloomfile.dask.build(partitions(path, self.keys, self.parts), made, RATE, key_kind="text", **params).close()

    def measured(self, way, *arguments, **params):
        """Returns seconds, bytes moved, and bytes of memory of a worker."""
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


def main(make_scratch):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog=__doc__.split("\n\n", maxsplit=1)[1])
    parser.add_argument("-n", "--keys", type=report.whole, default=10_000_000, metavar="N")
    parser.add_argument("--parts", type=report.whole, default=20, metavar="N", help="partitions")
    parser.add_argument("--workers", type=report.whole, default=2, metavar="N")
    parser.add_argument("folder", nargs="?", help="for files")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = make_scratch(options.folder, 64 * options.keys + (64 << 20))
    Bench(options, folder).figures()


if __name__ == "__main__":
    report.main(main)
