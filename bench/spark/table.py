#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Filters built and looked up in Spark, and Spark's own: seconds, bytes moved, memory, rates. scripts/spark --table runs this.

Each figure comes from a driver and two executors of its own, with one core and 2 GiB each, on this machine. Bytes moved are
those that Spark counts: shuffled bytes, and results sent to the driver. Memory of a task is live memory, without garbage,
above the memory of an idle executor. It comes from a run of its own, in which the executor collects garbage all the time.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

JARS = os.environ["SPARK_JARS"]
HERE = os.path.dirname(os.path.abspath(__file__))
FPR = 0.01
MAPS = 8  # tasks that read the keys, unless the table compares their number


def number(text):
    """Parses numbers such as 100M."""
    return int(float(text.rstrip("kMG")) * {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1))


# ------------------------------------------------------------------ one case, in a process of its own


class Case:
    """A cluster, and the counters of Spark in it."""

    def __init__(self, work, rows, driver="2g", live=False):
        from pyspark.sql import SparkSession
        self.work, self.rows = work, rows
        self.events, self.live = (tempfile.mkdtemp(dir=work) for _ in range(2))
        options = {
            "spark.jars": JARS, "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": driver, "spark.driver.maxResultSize": "0", "spark.executor.memory": "2g",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.local.dir": work, "spark.bloomfile.dir": work,
            "spark.eventLog.enabled": "true", "spark.eventLog.dir": "file:" + self.events,
            "spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false",
            "spark.executor.metrics.pollingInterval": "200ms", "spark.executor.processTreeMetrics.enabled": "true",
            "spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.shuffle.partitions": "64",
        }
        if live:
            options |= {"spark.plugins": "io.github.bloomfile.spark.Live", "spark.bloomfile.live": self.live,
                        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -Xmn16m"}
        builder = SparkSession.builder.master("local-cluster[2,1,2048]").appName("bench")
        for name, value in options.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("OFF")

    def urls(self, first, last, parts=MAPS):
        from pyspark.sql import functions as f
        return self.spark.range(first, last, 1, parts).select(
            f.concat(f.lit("http://example.org/archive/"), f.lpad(f.col("id").cast("string"), 12, "0")).alias("url"))

    def table(self, name):
        return self.spark.read.parquet(os.path.join(self.work, name))

    def path(self):
        return os.path.join(self.work, "urls.bloom")

    def end(self, **figures):
        """Stops the cluster. Returns the figures and the figures of the events."""
        self.spark.stop()
        shuffled = results = heap = process = 0
        for path in glob.glob(os.path.join(self.events, "*")):
            with open(path) as file:
                for event in map(json.loads, file):
                    metrics = event.get("Task Metrics") or {}
                    shuffled += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
                    results += metrics.get("Result Size", 0)
                    if event["Event"] == "SparkListenerTaskEnd":
                        peak = event.get("Task Executor Metrics", {})
                        heap = max(heap, peak.get("JVMHeapMemory", 0))
                        process = max(process, peak.get("ProcessTreeJVMRSSMemory", 0))
        figures |= {"shuffled": shuffled, "results": results, "heap": heap, "process": process}
        lives = []
        for path in glob.glob(os.path.join(self.live, "[0-9]*")):
            with open(path) as file:
                first, most, outside = map(int, file.read().split())
            lives.append(most - first + outside)
        figures["live"] = max(lives, default=0)
        return figures


def warm(case):
    """Loads classes, and makes both executors run something."""
    case.urls(0, 200_000).agg({"url": "max"}).collect()


def case_tables(work, rows):
    """Makes the tables of the joins: `rows` keys, and the first tenth of these keys."""
    case = Case(work, rows)
    case.urls(0, rows).write.mode("overwrite").parquet(os.path.join(work, "log"))
    case.urls(0, rows // 10).write.mode("overwrite").parquet(os.path.join(work, "known"))
    return case.end()


def case_build(work, rows, how, parts=MAPS, slices=None, live=False):
    """Builds a filter of all keys."""
    import bloomfile.spark
    case = Case(work, rows, driver="6g", live=bool(live))
    keys = case.urls(0, rows, int(parts))
    warm(case)
    begun = time.monotonic()
    if how == "slices":
        bloomfile.spark.build(keys, "url", case.path(), capacity=rows, fpr=FPR, replace=True, slices=slices and int(slices))
        seconds = time.monotonic() - begun
        asked = bloomfile.spark.maybe_contains(case.path())
    else:
        filter_ = keys._jdf.stat().bloomFilter("url", rows, FPR)
        seconds = time.monotonic() - begun
        case.spark._jvm.io.github.bloomfile.spark.Sketch.register(case.spark._jsparkSession, "sketch", filter_)
        asked = "sketch(binary(url))"
    rate = 0
    if not live and slices is None:
        absent = min(rows, 10_000_000)
        rate = case.urls(rows, rows + absent).where(asked if isinstance(asked, str) else asked("url")).count() / absent
    return case.end(seconds=seconds, rate=rate)


def case_join(work, rows, how):
    """Counts the rows of log that are not in known."""
    import bloomfile.spark
    case = Case(work, rows)
    log, known = case.table("log"), case.table("known")
    warm(case)
    path = os.path.join(work, "known.bloom")
    begun = time.monotonic()
    if how == "none":
        found = log.join(known, "url", "left_anti").count()
    else:
        if how == "bloomfile":
            bloomfile.spark.build(known, "url", path, capacity=rows // 10, fpr=FPR, replace=True)
            bloomfile.spark.register(case.spark, "asked", path)
            maybe = "bloomfile.asked(url)"
        else:
            filter_ = known._jdf.stat().bloomFilter("url", rows // 10, FPR)
            case.spark._jvm.io.github.bloomfile.spark.Sketch.register(case.spark._jsparkSession, "asked", filter_)
            maybe = "asked(binary(url))"
        built = time.monotonic() - begun
        found = log.where("NOT " + maybe).count() + log.where(maybe).join(known, "url", "left_anti").count()
        print(f"{how}: filter after {built:.1f} s", file=sys.stderr)
    seconds = time.monotonic() - begun
    if found != rows - rows // 10:
        sys.exit(f"{how}: {found} rows, not {rows - rows // 10}")
    return case.end(seconds=seconds)


# ------------------------------------------------------------------ all of them


def run(work, rows, case, **arguments):
    words = [f"{name}={value}" for name, value in arguments.items()]
    print(case, *words, file=sys.stderr)
    run = subprocess.run([sys.executable, __file__, "--rows", str(rows), "--work", work, "--case", case, *words],
                         stdout=subprocess.PIPE, stderr=None, text=True)
    if run.returncode != 0:
        sys.exit(f"table.py: {case} {' '.join(words)} failed")
    return json.loads(run.stdout.splitlines()[-1])


def table(*lines):
    print("\n| " + " | ".join(lines[0]) + " |\n|" + "---|" + "---:|" * (len(lines[0]) - 1))
    for line in lines[1:]:
        print("| " + " | ".join(str(cell) for cell in line) + " |")
    print(flush=True)


def mib(size):
    return f"{size / (1 << 20):.0f} MiB"


def main(work, rows):
    import pyspark
    print(f"## Spark {pyspark.__version__}, {rows:,} keys of 39 bytes, a rate of {FPR:.0%} asked for")
    filter_size = rows * 10 / 8
    builds = {how: run(work, rows, "build", how=how) for how in ("slices", "spark")}
    names = {"slices": "bloomfile, slices", "spark": "`stat.bloomFilter`"}
    table(["build", "seconds", "shuffled", "results to the driver", "a key", "rate"],
          *[[names[how], f"{b['seconds']:.1f}", mib(b["shuffled"]), mib(b["results"]),
             f"{(b['shuffled'] + b['results']) / rows:.2f} bytes", f"{b['rate']:.2%}"] for how, b in builds.items()])
    lines, good = [], True
    for tasks in 4, 8, 16, 32, 64:
        sliced = run(work, rows, "build", how="slices", parts=tasks, slices=tasks, live=1)
        ored = run(work, rows, "build", how="spark", parts=tasks, live=1)
        limit = filter_size / tasks + (64 << 20)
        bytes_ = (sliced["shuffled"] + sliced["results"]) / rows
        kept = bytes_ <= 8.5 and sliced["live"] <= limit
        good = good and kept
        lines.append([tasks, f"{bytes_:.2f}", f"{(ored['shuffled'] + ored['results']) / rows:.2f}", mib(sliced["live"]),
                      mib(limit), mib(ored["live"]), "met" if kept else "MISSED"])
    table(["tasks", "slices: bytes a key", "ORed: bytes a key", "slices: memory of a task", "at most", "ORed: memory of a task",
           "target"], *lines)
    run(work, rows, "tables")
    joins = {how: run(work, rows, "join", how=how) for how in ("bloomfile", "spark", "none")}
    names = {"bloomfile": "bloomfile, mapped", "spark": "Spark's own, broadcast", "none": "no filter"}
    table([f"anti-join with {rows // 10:,} keys", "seconds, with building", "shuffled", "heap of an executor", "process"],
          *[[names[how], f"{j['seconds']:.1f}", mib(j["shuffled"]), mib(j["heap"]), mib(j["process"])]
            for how, j in joins.items()])
    return 0 if good else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=number, default=10_000_000)
    parser.add_argument("--work")
    parser.add_argument("--case")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    if options.case:
        figures = globals()["case_" + options.case](options.work, options.rows,
                                                    **dict(word.split("=") for word in options.words))
        print(json.dumps(figures))
    else:
        folder = tempfile.mkdtemp(prefix="bloomfile-table-")
        try:
            sys.exit(main(folder, options.rows))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
