#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""registry.py [PACKAGE...]: tests with packages from the Python registry, which it installs into an environment of its own.

Runs the tests of answers and stubs with the newest NumPy, pandas, polars and pyarrow (or with PACKAGE..., such as
"pandas<3"). Checks the stubs and a program with mypy --strict and pyright, as for Python 3.11 to 3.14, and with stubtest.
The exit status is 77, with a message, if the registry is out of reach.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FRAMES = ["numpy", "pandas", "polars", "pyarrow"]
CHECKERS = ["mypy", "pyright", "dask", "fsspec", "pyspark-client", "py4j"]
VERSIONS = "3.11", "3.12", "3.13", "3.14"
PROGRAM = '''
import numpy as np
import bloomfile

f: bloomfile.Filter = bloomfile.build("x.bloom", ["a"], fpr=0.01, capacity=10)
m: bloomfile.Answers = f.contains_many(["a", "b"])
count: int = (~m & m | m ^ m).sum()
few = np.array([True, False]) & np.asarray(m | np.array([True, False]))
rows = np.array([1, 2])[np.asarray(m)]
found = [key for key, answer in zip(["a", "b"], m) if answer]
filled = f.contains_many(np.arange(2), out=np.empty(2, dtype=bool))
known: bool = f.contains_records(np.zeros((2, 4), dtype=np.uint8))[1:].any()
live: bloomfile.LiveFilter = bloomfile.Filter.memory(capacity=10, fpr=0.1)
new: bool = live.add("a") and live.add(np.int64(1)) and np.int32(2) in live
both: bloomfile.Filter = f | live
same: bool = f == both.copy()
bits: float = f.bits_per_key + f.fpr
crc: int = bloomfile.inspect("x.bloom").info.body_crc
with bloomfile.Filter("x.bloom", key_kind="text") as g:
    print(g.info().keys, g.kind, g.layout)
'''
SPARK = '''
import bloomfile.dask
from bloomfile.spark import Report, build, maybe_contains, register
from pyspark.sql import Column, DataFrame, SparkSession

def count(spark: SparkSession, rows: DataFrame) -> int:
    made: Report = build(rows, "url", "x.bloom", capacity=10, key_kind="text")
    named = register(spark, "in_urls", made.path, strict=True)
    answers: Column = maybe_contains(made.path)(rows["url"]) & named("url")
    f: bloomfile.Filter = bloomfile.dask.build([b"a"], "y.bloom", 0.01, replace=True)
    return rows.where(answers).count() + len(named.damage()) + f.keys
'''


def run(*command, **how):
    print("+", *map(str, command), flush=True)
    return subprocess.run([str(word) for word in command], check=False, **how).returncode


def check_types(python, folder):
    """mypy, pyright and stubtest. Returns how many found errors."""
    tools = python.parent
    stubs = pathlib.Path(subprocess.run([python, "-c", "import bloomfile; print(bloomfile.__path__[0])"], check=True, capture_output=True,
                                        text=True, cwd=folder).stdout.strip())
    programs = {"program.py": PROGRAM, "cluster.py": SPARK}
    for name, text in programs.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "reportUnknownVariableType": false}', encoding="utf-8")
    (folder / "stubtest.ini").write_text("[mypy]\ndisable_error_code = import-untyped\n"
                                         "[mypy-bloomfile.storage,bloomfile.spark.*]\nignore_errors = true\n", encoding="utf-8")
    failed = run(tools / "stubtest", "bloomfile", "--mypy-config-file", "stubtest.ini", cwd=folder)
    for version in VERSIONS:
        failed += run(tools / "mypy", "--strict", "--python-executable", python, "--python-version", version, *programs, cwd=folder)
        failed += run(tools / "pyright", "--pythonpath", python, "--pythonversion", version, *programs, *sorted(stubs.rglob("*.pyi")),
                      cwd=folder)
    return failed


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        python = folder / "env/bin/python"
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        if run(python, "-m", "pip", "-q", "install", *(sys.argv[1:] or FRAMES), *CHECKERS, "setuptools", "wheel") != 0:
            print("skipped: the Python registry is out of reach, or has no such package")
            return 77
        subprocess.run([python, "-m", "pip", "-q", "install", "--no-build-isolation", HERE.parent], check=True)
        failed = run(python, "-W", "error", "-m", "unittest", "test_answers", "test_stubs", "test_buffers", "test_kinds.Integers", "test_docs",
                     cwd=HERE, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
        return 1 if failed + check_types(python, folder) else 0


if __name__ == "__main__":
    sys.exit(main())
