# SPDX-License-Identifier: MIT
"""Documents with sessions in them: console blocks, of commands behind "$ " and what they print."""

import os
import pathlib
import re
import subprocess

from support import TIMEOUT, TOOLS

PATH = sorted({str(pathlib.Path(tool).parent) for tool in TOOLS.values()})


def sessions(text):
    """Of each console block: its commands, each with what it prints."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


def scripts(text):
    """What sh blocks hold, by the names that their second lines give."""
    found = re.findall(r"^```sh\n(#!/bin/sh\n# (\w+): .*?)^```$", text, re.M | re.S)
    return {name: script for script, name in found}


def pattern(printed):
    """What "..." stands for is not shown: a part of a line, or any lines."""
    pieces = re.split(r"^\.\.\.\n|\.\.\.(?=[ \n%])", printed, flags=re.M)
    marks = re.findall(r"^\.\.\.\n|\.\.\.(?=[ \n%])", printed, flags=re.M)
    fill = [r"(?:.*\n)*" if mark.endswith("\n") else ".*" for mark in marks] + [""]
    return "".join(re.escape(piece) + more for piece, more in zip(pieces, fill))


def run(command, folder, *more_path):
    """What it prints, on both of its outputs."""
    path = os.pathsep.join([*map(str, more_path), *PATH, os.environ["PATH"]])
    return subprocess.run(["sh", "-c", command], cwd=folder, env={**os.environ, "LC_ALL": "C", "PATH": path},
                          timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True).stdout


def check(test, text, folder, *more_path):
    """Runs all commands, in order and in one folder. Returns how many there were."""
    count = 0
    for command, printed in sessions(text):
        with test.subTest(command=command):
            test.assertRegex(run(command, folder, *more_path), r"\A" + pattern(printed) + r"\Z")
        count += 1
    return count
