# SPDX-License-Identifier: MIT
"""README.md and the user pages in doc/: their commands run, and sessions print the output shown."""

import re
import shutil
import subprocess

import sessions
from support import SOURCE_ROOT, TIMEOUT, TOOLS, ToolTest, main

README = (SOURCE_ROOT / "README.md").read_text(encoding="utf-8")
CLI, *MORE = [(SOURCE_ROOT / "doc" / f"{page}.md").read_text(encoding="utf-8")
              for page in ("cli", "c", "durability", "engines", "faq", "layouts")]
PAGES = "".join([README, CLI, *MORE])


def headings(page):
    """The anchors that GitHub makes of a page's headings."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    titles = re.findall(r"(?m)^#+ (.*)$", text)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).strip().lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def section(text, heading):
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


class Readme(ToolTest):
    def test_readme_is_short(self):
        self.assertLessEqual(len(README.splitlines()), 160)
        self.assertLessEqual(len(README.split()), 1100)

    def test_sessions_of_readme_run(self):
        self.assertEqual(sessions.check(self, README, self.folder), 4)

    def test_sessions_of_cli_page_run(self):
        self.assertGreater(sessions.check(self, CLI, self.folder), 30)

    def test_each_command_of_the_jobs_runs(self):
        commands = re.findall(r"`(bf[^`]*)`", section(README, "Jobs"))
        self.assertGreaterEqual(len(commands), 11)
        made = ("seq 100 > a.txt; seq 50 150 | tee b.txt new.txt > log.txt; cp a.txt table.dat; bfcreate orders.bloom a.txt; "
                "bfcreate -n 200 old.bloom a.txt; seq 101 | bfcreate -n 200 new.bloom -; sha1sum a.txt | cut -c1-40 > sha1.txt; "
                "tr a-f A-F < sha1.txt > mine.txt; echo example.com > list.txt; echo www.Example.com > names.txt; "
                "echo '{\"url\": \"u\"}' > pages.jsonl")
        for command in made, *commands:
            with self.subTest(command=command):
                said = sessions.run(f"{command} && echo good", self.folder)
                self.assertRegex(said, r"good\n\Z|this build has no JSON" if "--json" in command else r"good\n\Z")
        self.assertEqual(self.read("copy.bloom"), self.read("new.bloom"))
        self.assertGreater(len(self.read("table.dat")), len(self.read("a.txt")))

    def test_install_names_the_packages_that_the_scripts_install(self):
        packages = re.search(r'^build_packages="(.*)"', (SOURCE_ROOT / "scripts/setup.sh").read_text(), re.M)[1]
        self.assertIn(f"apt install {packages}\n", README)

    def test_named_functions_exist_in_the_headers(self):
        """The pages must also name the functions that make and finish a filter."""
        declared = set(re.findall(r"\b(bloomfile_\w+)\(", "".join(
            header.read_text() for header in (SOURCE_ROOT / "include").glob("*.h"))))
        named = set(re.findall(r"\b(bloomfile_\w+)\(", PAGES))
        self.assertEqual(named - declared, set())
        self.assertGreaterEqual(named, {"bloomfile_create_memory", "bloomfile_finish", "bloomfile_rescue",
                                        "bloomfile_to_fd", "bloomfile_to_memory", "bloomfile_verify"})
        self.assertIn("Never `cp` over it", PAGES)

    def test_manual_pages_warn_against_copying_over_live_filters(self):
        for tool in "bfadd", "bfuniq":
            page = (SOURCE_ROOT / "man" / f"{tool}.1").read_text()
            self.assertRegex(page, r"Never\n\.Xr cp 1\na file over it")

    def test_every_tool_is_presented(self):
        for tool in TOOLS:
            self.assertIn(f"\n| `{tool}` |", CLI)

    def test_links_lead_to_files_and_headings(self):
        """The files and headings that all pages link to exist."""
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

    def test_sections_of_the_specification_exist(self):
        """Texts, pages and sources refer to them as "core 12.4", "live.md 6" or "format-spec.md, section 6"."""
        number = r"\d+(?:\.\d+)?"
        wanted = re.compile(rf"(format-spec\.md`?,? sections?|[a-z-]+\.md|\bcore|\b[Ss]ections?)(?:\]\([^)]*\))?\s+(?:\* )?"
                            rf"({number}(?:(?:, and |, | and | to | or ){number})*)(?!\.?\w|%)")
        texts = [SOURCE_ROOT / "format-spec.md", *(SOURCE_ROOT / "doc" / "format").glob("*.md")]
        sections = {text.name: set(re.findall(rf"(?m)^###? ({number}) ", text.read_text(encoding="utf-8"))) for text in texts}
        found = 0
        for path in SOURCE_ROOT.rglob("*"):
            if path.suffix not in {".c", ".h", ".java", ".md", ".pml", ".py"} or any(
                    part.startswith(("build", ".", "corpus")) for part in path.relative_to(SOURCE_ROOT).parts):
                continue
            text = path.read_text(encoding="utf-8", errors="replace").replace('"Core 12" is section 12 of', "")
            for name, numbers in wanted.findall(text):
                name = ("format-spec.md" if name == "core" or name.startswith("format-spec") else
                        path.name if path in texts and "ection" in name else name)
                for one in re.findall(number, numbers) if name in sections else []:
                    self.assertIn(one, sections[name], f"{path}: {name} {numbers}")
                    found += 1
        self.assertGreater(found, 250)

    def test_demo_lists_its_requirements_without_dpkg(self):
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
