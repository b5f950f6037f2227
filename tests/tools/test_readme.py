# SPDX-License-Identifier: MIT
"""README.md: what its sessions print, in order and in one folder, is what it says they print."""

import re
import shutil
import subprocess

import sessions
from support import SOURCE_ROOT, TIMEOUT, TOOLS, ToolTest, main

README = (SOURCE_ROOT / "README.md").read_text(encoding="utf-8")
FAQ = (SOURCE_ROOT / "doc/faq.md").read_text(encoding="utf-8")


def headings(page):
    """As GitHub names them."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    titles = re.findall(r"(?m)^#+ (.*)$", text)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).strip().lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


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
        """Of all pages, and the headings that they lead to."""
        pages = [page for page in SOURCE_ROOT.rglob("*.md")
                 if not any(part.startswith(("build", "."))
                            for part in page.relative_to(SOURCE_ROOT).parts)]
        self.assertGreater(len(pages), 30)
        for page in pages:
            text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
            for target, anchor in re.findall(r"\]\(([^)#:\s]*)(#[^)\s]*)?\)", text):
                to = page.parent / target if target else page
                self.assertTrue(to.exists(), f"{page}: {target}")
                if anchor and to.suffix == ".md":
                    self.assertIn(anchor[1:], headings(to), page)

    def test_the_demo_lists_what_it_needs_on_a_system_without_dpkg(self):
        programs = self.folder / "bin"
        programs.mkdir()
        for name in "sh", "dirname", "readlink", "id":
            (programs / name).symlink_to(shutil.which(name))
        result = subprocess.run(["sh", SOURCE_ROOT / "scripts" / "demo"], capture_output=True, text=True, timeout=TIMEOUT,
                                env={"PATH": str(programs), "BUILD": str(self.folder / "build")})
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        says = result.stderr.splitlines()
        self.assertRegex(says[0], r"demo: this system has no dpkg, so install what is needed by hand. Missing:$")
        for name in "meson", "ninja", "pkg-config", "cc", "zlib1g-dev", "libxxhash-dev", "wamerican-insane":
            self.assertIn(f"    {name}", says)
        self.assertNotIn("not found", result.stderr)


main()
