# SPDX-License-Identifier: MIT
"""Runs the console blocks of documents: commands after "$ ", each followed by its output."""

import os
import pathlib
import re
import subprocess

from support import TIMEOUT, TOOLS

PATH = sorted({str(pathlib.Path(tool).parent) for tool in TOOLS.values()})


def sessions(text):
    """The commands of all console blocks, each with its printed output."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


def scripts(text):
    """The scripts of all sh blocks, by the name in the second line of each."""
    found = re.findall(r"^```sh\n(#!/bin/sh\n# (\w+): .*?)^```$", text, re.M | re.S)
    return {name: script for script, name in found}


def pattern(printed):
    """A regular expression for printed output. "..." stands for part of a line, or on its own line for any lines."""
    pieces = re.split(r"^\.\.\.\n|\.\.\.(?=[ \n%])", printed, flags=re.M)
    marks = re.findall(r"^\.\.\.\n|\.\.\.(?=[ \n%])", printed, flags=re.M)
    fill = [r"(?:.*\n)*" if mark.endswith("\n") else ".*" for mark in marks] + [""]
    return "".join(re.escape(piece) + more for piece, more in zip(pieces, fill))


def run(command, folder, *more_path):
    """Returns the standard output and the standard error of the command."""
    path = os.pathsep.join([*map(str, more_path), *PATH, os.environ["PATH"]])
    return subprocess.run(["sh", "-c", command], cwd=folder, env={**os.environ, "LC_ALL": "C", "PATH": path},
                          timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True).stdout


def check(test, text, folder, *more_path):
    """Runs all commands in order in one folder. Returns the number of commands."""
    count = 0
    for command, printed in sessions(text):
        with test.subTest(command=command):
            test.assertRegex(run(command, folder, *more_path), r"\A" + pattern(printed) + r"\Z")
        count += 1
    return count
