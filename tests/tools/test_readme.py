# SPDX-License-Identifier: MIT
"""README.md: what its sessions print, in order and in one folder, is what it says they print."""

import re

import sessions
from support import SOURCE_ROOT, TOOLS, ToolTest, main

README = (SOURCE_ROOT / "README.md").read_text(encoding="utf-8")
FAQ = (SOURCE_ROOT / "doc/faq.md").read_text(encoding="utf-8")
RECIPES = (SOURCE_ROOT / "doc/recipes.md").read_text(encoding="utf-8")


class Readme(ToolTest):
    def test_sessions(self):
        self.assertGreater(sessions.check(self, README, self.folder), 18)

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
        for folder, text in (SOURCE_ROOT, README), (SOURCE_ROOT / "doc", FAQ), (SOURCE_ROOT / "doc", RECIPES):
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                self.assertTrue((folder / target).exists(), target)


main()
