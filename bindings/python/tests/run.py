#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py BUILD [--driver | TEST...]: builds the extension against the library in a build tree, and runs the tests, or the
driver for tests/languages.

What is built lies in a folder of its own there. CC and SANITIZE are the tree's compiler and sanitizers.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
WARNINGS = ("-Werror -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith "
            "-Wvla -Wformat=2 -Wundef -Wconversion -Wno-sign-conversion -Wno-cast-function-type")
SKIPPED = 77


def sanitizer_libraries(compiler, sanitizers):
    """Returns the sanitizer libraries, which a Python without sanitizers must load first."""
    names = {"address": "libasan.so", "undefined": "libubsan.so"}
    found = [subprocess.run([*compiler, f"-print-file-name={names[name]}"], check=True, capture_output=True,
                            text=True).stdout.strip() for name in sanitizers.split(",") if name in names]
    return " ".join(found)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
        print("skipped: needs Python.h (Debian: python3-dev)")
        return SKIPPED
    try:
        import setuptools  # noqa: F401
    except ImportError:
        print("skipped: needs setuptools (Debian: python3-setuptools)")
        return SKIPPED
    compiler = shlex.split(os.environ.get("CC", "cc"))
    sanitizers = os.environ.get("SANITIZE", "none")
    driver = sys.argv[2:] == ["--driver"]
    folder = build / ("bindings-python-driver" if driver else "bindings-python")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    flags = WARNINGS + ("" if sanitizers == "none" else f" -g -fno-omit-frame-pointer -fsanitize={sanitizers}")
    subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "-q", "egg_info", "--egg-base", folder, "build", "--build-base", folder,
         "--build-lib", folder / "lib"], cwd=HERE.parent, check=True, stdout=sys.stderr,
        env=os.environ | {"BLOOMFILE_SYSTEM": "1", "PKG_CONFIG_PATH": f"{build}/meson-uninstalled",
                          "CC": shlex.join(compiler), "LDSHARED": shlex.join([*compiler, "-shared"]), "CFLAGS": "-O1 -UNDEBUG " + flags,
                          "LDFLAGS": flags})
    environment = os.environ | {"PYTHONPATH": f"{folder}/lib", "LD_LIBRARY_PATH": f"{build}/lib", "PYTHONDONTWRITEBYTECODE": "1"}
    if sanitizers != "none":
        environment["LD_PRELOAD"] = sanitizer_libraries(compiler, sanitizers)
        environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        environment["PYTHONMALLOC"] = "malloc"
    if driver:
        os.execve(sys.executable, [sys.executable, str(HERE / "driver.py")], environment)
    tests = sys.argv[2:] or ["discover", "-s", HERE, "-t", HERE]
    return subprocess.run([sys.executable, "-W", "error", "-m", "unittest", *tests], cwd=HERE, env=environment,
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
