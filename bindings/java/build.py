# SPDX-License-Identifier: MIT
"""Compiles Java sources into a jar: build.py --javac JAVAC --jar JAR [--flags FLAGS]... [--path JARS]... --out JAR SOURCE..."""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--javac", required=True)
parser.add_argument("--jar", required=True)
parser.add_argument("--flags", action="append", default=[])
parser.add_argument("--path", action="append", default=[])
parser.add_argument("--out", required=True, type=pathlib.Path)
parser.add_argument("sources", nargs="+")
args = parser.parse_args()

path = ["-cp", ":".join(args.path)] if args.path else []
with tempfile.TemporaryDirectory(dir=args.out.resolve().parent) as folder:
    classes, made = pathlib.Path(folder, "classes"), pathlib.Path(folder, "made.jar")
    for command in ([args.javac, *" ".join(args.flags).split(), *path, "-d", str(classes), *args.sources],
                    [args.jar, "--create", "--file", str(made), "-C", str(classes), "."]):
        status = subprocess.run(command).returncode
        if status:
            sys.exit(status)
    shutil.move(made, args.out)
