# SPDX-License-Identifier: MIT
"""readme.py DIRECTORY: builds and runs in this folder, with what is installed, the examples of doc/c.md, and that in Python of
README.md, in DIRECTORY."""

import pathlib
import re
import subprocess
import sys


def block(text, kind, among=""):
    """The first code block of that kind with that in it."""
    return next(code for language, code in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
                if language == kind and among in code)


def run(what, command, expected):
    printed = subprocess.run(["sh", "-euc", command], stdout=subprocess.PIPE, check=True, text=True).stdout
    if printed != expected:
        sys.exit(f"{what}: {command!r} prints\n{printed}and not\n{expected}")
    print(f"{what}: {command!r} prints what it says")


def main():
    pages = pathlib.Path(sys.argv[1])
    text = (pages / "doc/c.md").read_text(encoding="utf-8")
    session = block(text, "", "$ cc fruit.c ")
    command, _, expected = session.removeprefix("$ ").partition("\n")
    pathlib.Path("fruit.c").write_text(block(text, "c"), encoding="utf-8")
    run("C", command, expected)

    pathlib.Path("fruit.cc").write_text(block(text, "cpp"), encoding="utf-8")
    run("C++", "c++ -std=c++17 fruit.cc $(pkg-config --cflags --libs bloomfile) && ./a.out", expected)

    pathlib.Path("CMakeLists.txt").write_text(block(text, "cmake"), encoding="utf-8")
    run("CMake", "cmake -B build >log && cmake --build build >>log && build/fruit", expected)

    code = block((pages / "README.md").read_text(encoding="utf-8"), "python")
    pathlib.Path("fruit.py").write_text(code, encoding="utf-8")
    run("Python", "python3 fruit.py", "".join(line + "\n" for line in re.findall(r"^ +print\(.*?# (.*)$", code, re.M)))


main()
