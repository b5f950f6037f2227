# SPDX-License-Identifier: MIT
"""README.md: what its sessions print, in order and in one folder, is what it says they print."""

import os
import pathlib
import re
import subprocess

from support import SOURCE_ROOT, TIMEOUT, TOOLS, ToolTest, main

README = (SOURCE_ROOT / "README.md").read_text(encoding="utf-8")
FAQ = (SOURCE_ROOT / "doc/faq.md").read_text(encoding="utf-8")


def sessions():
    """Of each console block: its commands, each with what it prints."""
    for block in re.findall(r"^```console\n(.*?)^```$", README, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


def pattern(printed):
    """What "..." stands for is not shown: the rest of a line, or any lines."""
    pieces = re.split(r"^\.\.\.\n|\.\.\.(?=\n)", printed, flags=re.M)
    marks = re.findall(r"^\.\.\.\n|\.\.\.(?=\n)", printed, flags=re.M)
    fill = [r"(?:.*\n)*" if mark.endswith("\n") else ".*" for mark in marks] + [""]
    return "".join(re.escape(piece) + more for piece, more in zip(pieces, fill))


class Readme(ToolTest):
    def test_sessions(self):
        paths = sorted({str(pathlib.Path(tool).parent) for tool in TOOLS.values()})
        environment = {**os.environ, "LC_ALL": "C",
                       "PATH": os.pathsep.join([*paths, os.environ["PATH"]])}
        count = 0
        for command, printed in sessions():
            with self.subTest(command=command):
                result = subprocess.run(
                    ["sh", "-c", command], cwd=self.folder, env=environment, timeout=TIMEOUT,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
                self.assertRegex(result.stdout, r"\A" + pattern(printed) + r"\Z")
            count += 1
        self.assertGreater(count, 18)

    def test_functions_are_those_of_the_headers(self):
        """And the ways to make and to end a filter that one has to know of are among them."""
        declared = set(re.findall(r"\b(bloomfile_\w+)\(", "".join(
            header.read_text() for header in (SOURCE_ROOT / "include").glob("*.h"))))
        named = set(re.findall(r"\b(bloomfile_\w+)\(", README + FAQ))
        self.assertEqual(named - declared, set())
        self.assertGreaterEqual(named, {"bloomfile_create_memory", "bloomfile_finish",
                                        "bloomfile_rescue", "bloomfile_verify"})
        for words in "`..._fd()`", "`..._memory()`", "Never `cp` over it":
            self.assertIn(words, README + FAQ)

    def test_live_filters_are_not_copied_over(self):
        for tool in "bfadd", "bfuniq":
            page = (SOURCE_ROOT / "man" / f"{tool}.1").read_text()
            self.assertRegex(page, r"Never\n\.Xr cp 1\na file over it")

    def test_every_tool_is_presented(self):
        for tool in TOOLS:
            self.assertRegex(README, rf"\*\*{tool}\*\*|`{tool}`", tool)

    def test_links(self):
        for folder, text in (SOURCE_ROOT, README), (SOURCE_ROOT / "doc", FAQ):
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                self.assertTrue((folder / target).exists(), target)


main()
