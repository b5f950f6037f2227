#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wheels.py SOURCES MATERIAL OUT: makes wheels of the archive of sources, checks them, and runs its tests with each.

MATERIAL has what scripts/release got from the registries:
    tools        a virtual environment with ziglang, auditwheel, abi3audit, twine, setuptools and wheel
    include      the headers of Python 3.11, and xxhash.h
    libdeflate   its sources
    licences     the licences of libdeflate and xxHash
    arm64        a root with Debian's Python for AArch64, which qemu-aarch64 runs
    python-*     roots with Pythons of other releases of Debian, which their dynamic linkers run; may be absent
    musl-libc.so musl's, of the oldest version that wheels may meet
    free-threaded-*, musl-python  interpreters built from Debian's sources; each may be absent
OUT gets the wheels and proofs: what was tested with each wheel. With TWICE each is made again in another folder, and must have the
same bytes. PYTHONS names more interpreters of this machine. Each free-threaded one gets a wheel.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

SOURCES, MATERIAL, OUT = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
TOOLS = MATERIAL / "tools/bin"
WORK = MATERIAL / "work"
# The tag of the platform, and its name in zig. musl has no versions of symbols: those of an old musl are looked for.
PLATFORMS = {
    "manylinux_2_28_x86_64": "x86_64-linux-gnu.2.28",
    "manylinux_2_28_aarch64": "aarch64-linux-gnu.2.28",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
}
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("PYTHON", "BLOOMFILE_", "CC", "CFLAGS", "LDFLAGS", "LD_LIBRARY_PATH"))}
CLEAN |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "ZIG_GLOBAL_CACHE_DIR": str(MATERIAL / "zig")}
# In spawned children sys.argv is the same, and this part does not run again.
RUN = """\
import sys, unittest
if __name__ == "__main__":
    sys.executable = sys.argv[1]
    unittest.main(module=None, argv=["tests", *sys.argv[2:]])
"""
# Errors, but for: the module turns the GIL of a free-threaded Python on; some tests fork while they have threads.
WARNINGS = ["-W", "error", "-W", "default:The global interpreter lock:RuntimeWarning", "-W", "default:This process:DeprecationWarning"]
# Under an emulator, without tests of processes and of speed.
FEW = ["test_buffers", "test_filter", "test_kinds", "test_live", "test_misuse", "test_slices", "test_sole_adder", "test_tools"]
WITHOUT_CTYPES = ["test_filter", "test_processes", "test_slices", "test_sole_adder", "test_threads"]
ADD_AND_LOOK_UP = """\
import sys, bloomfile
with bloomfile.build(sys.argv[1], ["apple", "pear"], replace=True) as f:
    assert "apple" in f and "stone" not in f and sum(f.contains_many(["pear", "stone", "rock"])) == 1, f
"""


def run(*command, cwd=WORK, check=True, **how):
    done = subprocess.run([str(word) for word in command], cwd=cwd, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env={**CLEAN, **how}, timeout=1200)
    if check and done.returncode != 0:
        raise SystemExit(f"wheels: {shlex.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-4000:]}")
    return done if not check else done.stdout


# ---- making

def unpacked(place):
    with tarfile.open(SOURCES) as archive:
        archive.extractall(place, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(place)
    (folder,) = (path for path in place.iterdir() if path.name.startswith("bloomfile-"))
    for licence in (MATERIAL / "licences").iterdir():  # setuptools takes these names into wheels
        shutil.copy(licence, folder / f"LICENSE.{licence.name}")
    return folder


def make(tree, platform, python, out=OUT):
    """python: a free-threaded interpreter, or None: any from 3.11 on."""
    compiler = f"{TOOLS / 'python'} -m ziglang cc -target {PLATFORMS[platform]}"
    headers = [] if python else [f"-I{MATERIAL / 'include/python3.11'}"]
    how = {"CC": compiler, "LDSHARED": f"{compiler} -shared", "BLOOMFILE_LIBDEFLATE": str(MATERIAL / "libdeflate"),
           "CFLAGS": shlex.join(["-O3", "-DNDEBUG", *headers, f"-I{MATERIAL / 'include'}"])}
    if python:  # it lacks setuptools and wheel
        how["PYTHONPATH"] = run(TOOLS / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        suffix = run(python, "-c", "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))").strip()
        how["SETUPTOOLS_EXT_SUFFIX"] = suffix.replace("x86_64-linux-gnu", re.sub(r"\..*", "", PLATFORMS[platform].replace("gnu.2.28", "gnu")))
    shutil.rmtree(tree / "build", ignore_errors=True)
    made = WORK / "made"
    shutil.rmtree(made, ignore_errors=True)
    run(python or TOOLS / "python", "setup.py", "-q", "build_ext", "--parallel", "1", "bdist_wheel", "--plat-name", platform,
        "--dist-dir", made, cwd=tree, **how)
    (wheel,) = made.iterdir()
    return pathlib.Path(shutil.move(wheel, out / wheel.name))


# ---- checking

def check(wheel, platform, free_threaded):
    """Raises an error for a wrong wheel; returns the C library that it needs."""
    with zipfile.ZipFile(wheel) as archive:
        (core,) = (name for name in archive.namelist() if name.endswith(".so"))
        core = archive.extract(core, WORK / "core")
        licences = sum(b"Yann Collet" in archive.read(name) or b"Eric Biggers" in archive.read(name)
                       for name in archive.namelist() if "LICENSE." in name)
    if licences != 2:
        raise SystemExit(f"wheels: {wheel.name}: without the licences of libdeflate and xxHash")
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", core)))
    symbols = [line.split() for line in run("nm", "-D", core).splitlines()]
    if [words[-1] for words in symbols if words[-2] not in "Uw"] != ["PyInit__core"]:
        raise SystemExit(f"wheels: {wheel.name}: exports more than PyInit__core")
    run(TOOLS / "twine", "check", "--strict", wheel)
    if not free_threaded:
        run(TOOLS / "abi3audit", "--strict", wheel)
    if "musl" in platform:
        theirs = {line.split()[-1] for line in run("nm", "-D", "--defined-only", MATERIAL / "musl-libc.so").splitlines()}
        unknown = sorted(words[-1] for words in symbols if words[-2] == "U" and not words[-1].startswith(("Py", "_Py"))
                         and words[-1] not in theirs)
        if needed != {"libc.so"} or unknown:
            raise SystemExit(f"wheels: {wheel.name}: needs {needed}, and of musl {unknown}")
        return "musl"
    if not needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2"}:
        raise SystemExit(f"wheels: {wheel.name}: needs {needed}")
    said = " ".join(run(TOOLS / "auditwheel", "show", wheel).split())
    tag = re.search(r'following platform tag: "manylinux_2_(\d+)_\w+"', said)
    if tag is None or int(tag[1]) > 28:
        raise SystemExit(f"wheels: {wheel.name}: auditwheel show: {said}")
    return "glibc " + max(re.findall(r"GLIBC_([0-9.]+)", run("readelf", "-V", core)), key=lambda v: [*map(int, v.split("."))])


# ---- running

def wrapper(name, *command):
    """A program that runs the command."""
    path = WORK / name
    path.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, command))} "$@"\n', encoding="ascii")
    path.chmod(0o755)
    return path


def value_in(python, expression):
    """What the interpreter prints of an expression; empty: there is no such interpreter, or the expression fails."""
    where = shutil.which(python)
    done = where and run(where, "-c", f"import sys, sysconfig; print({expression})", check=False)
    return done.stdout.strip() if done and done.returncode == 0 else ""


def is_free_threaded(python):
    return value_in(python, "sysconfig.get_config_var('Py_GIL_DISABLED')") == "1"


def version_of(python):
    return value_in(python, "sys.version.split()[0] if sys.version_info >= (3, 11) else 1 / 0")


NAMED = os.environ.get("PYTHONS", "").split()


def free_threaded():
    """Interpreters, each version once."""
    found = {}
    for python in [*sorted(MATERIAL.glob("free-threaded-*/bin/python3")), *filter(is_free_threaded, NAMED)]:
        found.setdefault(value_in(python, "sys.version_info[:2]"), pathlib.Path(shutil.which(python)))
    return found.values()


def natives():
    """Interpreters of this machine, each version once."""
    found = {}
    for root in sorted(MATERIAL.glob("python-*")):
        libraries = root / "usr/lib" / f"{os.uname().machine}-linux-gnu"
        (linker,) = libraries.glob("ld-linux-*.so.2")
        python = wrapper(root.name, linker, "--library-path", libraries, root / "usr/bin" / root.name.replace("-", ""))
        found[version_of(python)] = python, ["discover", "-s"]
    for python in [*NAMED, "/usr/bin/python3", "python3.11", "python3.12", "python3.13", "python3.14"]:
        version = version_of(python)
        if version and not is_free_threaded(python):
            found.setdefault(version, (pathlib.Path(shutil.which(python)), ["discover", "-s"]))
    return found


def interpreters(tree, platform, python):
    """Returns path and tests of each interpreter, by its description."""
    if python:
        # Pages of output lack its warning about the GIL.
        tests = sorted(path.stem for path in tree.glob("tests/test_*.py") if path.stem != "test_docs")
        return {f"{version_of(python)}, free-threaded": (python, tests)} if platform == "manylinux_2_28_x86_64" else {}
    if platform == "manylinux_2_28_x86_64":
        return natives()
    if platform == "manylinux_2_28_aarch64" and shutil.which("qemu-aarch64"):
        root = MATERIAL / "arm64"
        return {"3.11, qemu-aarch64": (wrapper("python-arm64", "qemu-aarch64", "-L", root, root / "usr/bin/python3.11"), FEW)}
    musl = MATERIAL / "musl-python/bin/python3"
    if platform == "musllinux_1_2_x86_64" and musl.exists():
        return {"3.13, musl": (musl, WITHOUT_CTYPES)}
    return {}


def try_with(wheel, tree, python, tests):
    """Installs the wheel by pip, which checks its tags, and runs the tests of the archive. Returns the last lines."""
    folder = WORK / "installed"
    shutil.rmtree(folder, ignore_errors=True)
    if "musl" in wheel.name:  # that interpreter has no zlib, which pip needs
        run(TOOLS / "pip", "install", "-q", "--no-index", "--no-deps", "--target", folder, "--platform", "musllinux_1_2_x86_64",
            "--python-version", "3.13", "--only-binary", ":all:", wheel)
    else:
        run(TOOLS / "python", "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", "--target", folder, wheel)
    empty = WORK / "empty"
    shutil.rmtree(empty, ignore_errors=True)
    empty.mkdir()
    how = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    run(python, "-c", ADD_AND_LOOK_UP, empty / "x.bloom", cwd=empty, **how)
    (WORK / "run.py").write_text(RUN, encoding="ascii")
    if tests[0] == "discover":
        tests = [*tests, tree / "tests"]
    else:
        how["PYTHONPATH"] += f":{tree / 'tests'}"
    said = run(python, *WARNINGS, WORK / "run.py", python, *tests, cwd=empty, **how)
    (count,) = re.findall(r"^Ran (\d+) tests", said, re.MULTILINE)
    if int(count) < 50:
        raise SystemExit(f"wheels: only {count} tests were run\n{said[-2000:]}")
    return f"{count} tests, {said.splitlines()[-1]}"


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    OUT.mkdir(exist_ok=True)
    run(TOOLS / "twine", "check", "--strict", SOURCES)
    tree = unpacked(WORK)
    again = unpacked(WORK / "elsewhere") if os.environ.get("TWICE") else None
    rows = []
    for python in [None, *free_threaded()]:
        for platform in PLATFORMS:
            if python and platform.startswith("musl"):
                continue
            wheel = make(tree, platform, python)
            if again and make(again, platform, python, WORK / "elsewhere").read_bytes() != wheel.read_bytes():
                raise SystemExit(f"wheels: {wheel.name}: made twice, with other bytes")
            needs, runs = check(wheel, platform, python is not None), interpreters(tree, platform, python)
            rows += [(wheel.name, "made twice", "passed")] * (again is not None)
            rows.append((wheel.name, f"needs {needs}; auditwheel, abi3audit, twine", "passed"))
            for name, (where, tests) in runs.items():
                started = time.time()
                rows.append((wheel.name, f"tests with {name}", try_with(wheel, tree, where, tests)))
                print(*rows[-1], f"{time.time() - started:.0f} s", sep="; ", flush=True)
            if not runs:
                rows.append((wheel.name, "tests", "not run: needs an interpreter of that platform"))
            (OUT / "proofs").write_text("".join("\t".join(row) + "\n" for row in rows), encoding="ascii")


main()
