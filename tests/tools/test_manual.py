# SPDX-License-Identifier: MIT
"""--help, --version and the manual pages agree with one another and with the options that the tools accept."""

import gzip
import re
import shutil
import subprocess
import unittest

from support import SOURCE_ROOT, TOOLS, ToolTest, craft, lines, main, numbered

MAN = SOURCE_ROOT / "man"
GROUPS = ["Mode", "Input", "Filter", "Output", "Resources", "Other"]
OWN_WORDS = {"--dry-run", "--all", "--as-is", "--capacity", "--count", "--filter", "--force", "--fpr", "--layout", "--memory",
             "--null", "--project", "--quiet", "--stats", "--svg", "--verify"}


def options_of_manual(tool):
    """The options of the lists in the manual, each with the name of its value, or None."""
    found = {}
    text = (MAN / f"{tool}.1").read_text()
    for line in re.findall(r"^\.It (Fl .*)$", text, re.M):
        kind, last = None, None
        for word in line.replace("\\", "").split():
            if word in ("Fl", "Ar", "Cm"):
                kind = word
            elif kind == "Fl" and word != ",":
                last = "-" + word
                found[last] = None
            elif kind == "Ar" and word != ",":
                found[last] = word.upper()
    return found


def options_of_synopsis(tool):
    text = (MAN / f"{tool}.1").read_text()
    synopsis = text[text.index(".Sh SYNOPSIS"):text.index(".Sh DESCRIPTION")]
    found = set()
    for flags in re.findall(r"Fl ((?:\\-|\w)[\w-]*)", synopsis):
        flags = flags.replace("\\", "")
        found |= {"-" + flags} if flags.startswith("-") else {"-" + flag for flag in flags}
    found |= {"-" + flag for flag in re.findall(r"\| (\w)(?= Ar)", synopsis)}
    found |= {"-" + flag[1:] for flag in re.findall(r"\| (\\-\w[\w-]*)", synopsis)}
    return found


def options_of_help(text):
    """The options as in options_of_manual, from lines such as '  -p, --fpr RATE   what it does'."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"  (-\w, |    )(--[\w-]+)(?: ([A-Z/]+))?(?: {2,}\S|$)", line)
        for name in [match[1][:2], match[2]] if match else []:
            if name != "  ":
                found[name] = match[3]
    return found


class Manual(ToolTest):
    def help(self, tool):
        return self.output(tool, "--help").decode()

    def test_help_has_usage_and_examples(self):
        for tool in TOOLS:
            text = self.help(tool)
            self.assertTrue(text.startswith(f"usage: {tool} "))
            self.assertIn("Examples:", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            self.assertEqual(self.output(tool, "--help", "no-such-file", "--nonsense").decode(),
                             text)

    def test_help_and_manual_name_the_same_options(self):
        for tool in TOOLS:
            of_help, of_manual = options_of_help(self.help(tool)), options_of_manual(tool)
            self.assertGreater(len(of_help), 1)
            self.assertEqual(of_help, of_manual, tool)

    def test_no_option_is_listed_twice(self):
        """getopt would find only the first of two options with the same name."""
        for tool in TOOLS:
            names = re.findall(r"^  (?:-\w, |    )(--[\w-]+)", self.help(tool), re.M)
            self.assertEqual(len(set(names)), len(names), tool)

    def test_help_has_no_other_kinds_of_lines(self):
        """Usage, purpose, titles, options and their continuation lines, notes, examples."""
        for tool in TOOLS:
            head, *sections = self.help(tool).split("\n\n")
            self.assertRegex(head, rf"^(usage:|      ) {tool} .*")
            for section in sections[:-2]:
                title, *rest = section.splitlines()
                self.assertRegex(title, r"^[A-Z][\w ]+:$")
                for line in rest:
                    self.assertTrue(options_of_help(line) or re.match(r" {24}\S", line), line)
            self.assertNotRegex(sections[-2], r"(?m)^ ")
            self.assertRegex(sections[-1], r"^Examples:\n(  .*\n)+$")

    def test_options_are_grouped_in_the_same_order_in_every_tool(self):
        for tool in TOOLS:
            titles = re.findall(r"(?m)^([A-Z]\w+):$", self.help(tool).replace("Examples:", ""))
            self.assertEqual(titles, [title for title in GROUPS if title in titles], tool)
            self.assertIn("Other", titles)

    def test_an_option_has_the_same_words_in_every_tool(self):
        """SRC and FILE count as the same word. OWN_WORDS lists the options that do something else in each tool."""
        texts = {}
        for tool in TOOLS:
            for names, text in re.findall(r"(?m)^  (?:-\w, |    )(--[\w-]+)(.*(?:\n {24}.*)*)", self.help(tool)):
                text = re.sub(r"\b(SRC|DEST|FILE)\b", "FILE", " ".join(text.split())).removeprefix("FILE ")
                texts.setdefault(names, set()).add(re.sub(r"\bwith --(slices|fixed|live): ", "", text))
        self.assertEqual({name for name, found in texts.items() if len(found) > 1} - OWN_WORDS, set())

    def test_exit_status_is_one_line_and_percent_has_no_space(self):
        for tool in TOOLS:
            text = self.help(tool)
            self.assertRegex(text, r"\nExit status: 0 .*, 2 on .*\.\n\nExamples:", tool)
            self.assertNotRegex(text, r"\d %")

    def test_every_option_is_in_the_synopsis(self):
        for tool in TOOLS:
            lines = re.findall(r"^\.It (Fl .*)$", (MAN / f"{tool}.1").read_text(), re.M)
            synopsis = options_of_synopsis(tool)
            for line in lines:
                names = set(re.findall(r"-[\w-]*\w|(?<=Fl )\w", line.replace("\\", "")))
                names = {"-" + name for name in names}
                self.assertTrue(names & synopsis, (tool, line, synopsis))

    def test_every_documented_option_is_accepted(self):
        values = {"-p": "0.1", "--fpr": "0.1", "-l": "classic", "--layout": "classic",
                  "--tag": "00", "--keys": "/dev/null", "--svg": "new.svg"}
        for tool in TOOLS:
            for name, metavar in options_of_manual(tool).items():
                if name in ("-h", "--help", "--version"):
                    continue
                value = [values.get(name, "3")] if metavar else []
                message = self.run_tool(tool, name, *value, "no-such-folder/x").stderr.decode()
                self.assertNotIn("unknown option", message)
                self.assertNotRegex(message, "needs a value|takes no value")

    def test_undocumented_options_are_refused(self):
        for tool in TOOLS:
            documented = options_of_manual(tool)
            for letter in map(chr, [*range(48, 58), *range(65, 91), *range(97, 123)]):
                message = self.run_tool(tool, f"-{letter}").stderr.decode()
                self.assertEqual("unknown option" in message, f"-{letter}" not in documented)

    def test_version_matches_the_project(self):
        version = re.search(r"version: '([^']+)'", (SOURCE_ROOT / "meson.build").read_text())[1]
        for tool in TOOLS:
            self.assertEqual(self.output(tool, "--version").decode(),
                             f"{tool} (bloomfile) {version}\n")

    def messages(self, tool, words):
        """The messages of a command line, which may end with "<" and the name of its input."""
        words, _, name = words.partition(" <")
        stdin = self.read(name) if name else b""
        return self.run_tool(tool, *words.split(), stdin=stdin).stderr.decode()

    def test_documented_messages_match_the_tools(self):
        """Numbers and names may differ. Messages that need a bad disk or another program are left out."""
        self.write("keys", lines(*numbered(120)))
        self.write("more", lines(*numbered(300)))
        self.write("old", b"")
        image = craft.make("blocked", 3 * 4096 * 8, 9, numbered(120))
        self.write("flipped", craft.flip(image, 40))
        self.write("short", image[:-1])
        self.write("count", craft.edit(image, record={"ones": 7}))
        self.write("pages", craft.edit(image, at={4096: bytes(8192)}, checksums=False))
        live = self.create_live("-n", 100)
        self.write("unclean", craft.edit(self.read(live), record={"boot_id": b"x" * 16}))
        self.run_tool("bfadd", "-q", live, "keys")
        self.write("big", craft.make("blocked", 512 * 720, 6, numbered(120), fpr=0.01,
                                     capacity=120))
        self.write("seed", craft.make("blocked", 512 * 720, 6, numbered(120), seed=7, fpr=0.01))
        self.write("seven", craft.make("blocked", 512 * 720, 7, numbered(120), fpr=0.01))
        self.write("text", craft.make("blocked", 512 * 720, 6, numbered(120), key_kind="text"))
        self.write("four", craft.make("blocked", 512 * 720, 6, numbered(120), key_kind="fixed", key_size=4))
        self.write("integers", craft.make("blocked", 512 * 720, 6, numbered(120), key_kind="integers"))
        self.write("newer", craft.edit(self.read("text"), header={"key_kind": 6}))
        self.write("classic", craft.make("classic", 512 * 720, 6, numbered(120), fpr=0.01))
        self.write("block", craft.make("blocked", 512, 6, numbered(120), fpr=0.01))
        self.create("-q", "-k", 6, "-m", 512 * 128, stdin=lines(*numbered(20_000)), name="dense")
        self.write("counts", craft.make("counting", 100, 6, numbered(9)))
        self.write("about", craft.edit(self.read("block"), record={"flags": 1}))
        self.write("exact", craft.make("blocked", 512 * 4, 6, numbered(120), fpr=0.01))
        ribbon = self.create("-q", "-l", "ribbon", "keys", name="ribbon")
        self.write("head", craft.with_head(ribbon, 0, 1))
        self.write("heads", craft.with_head(ribbon, 0, 4 | 119 << 32))
        self.write("long", b"x" * 2**21)
        self.write("dos", b"a\r\n" * 9)
        self.write("quoted", b'"a" b\n')
        self.write("zeros", b"a\0b\0")
        self.write("one-key", b"a\n")
        self.output("bfdelta", "block", "block", "patch")
        self.write("packed", gzip.compress(b"a\n" * 9))
        self.create("-q", "-0", stdin=b"a", name="nul")
        self.create("-q", "-x", 4, stdin=b"abcd", name="fixed")
        self.write("cut", self.read("big") + self.read("big")[:5000])
        self.write("not", self.read("big") + b"apple")
        self.create_live("--grow", "-n", 50, name="grows")
        self.create_live("--grow", "-n", 10, name="gap")
        for name in "grows", "gap":
            self.run_tool("bfadd", "-q", name, "more")
        (self.folder / "gap.2").unlink()
        for i, name in enumerate(["first", "second", "third"], 1):
            self.create("-q", "-n", 20_000, "--slice", f"{i}/3", stdin=lines(*numbered(20_000)), name=name)
        self.create("-q", "-n", 20_000, "--slice", "2/3", "-s", 1, "keys", name="odd")
        shutil.copy(self.folder / "second", self.folder / "again")
        self.write("others", lines(*self.query("first", stdin=lines(*numbered(9, "stranger ")))))
        for i, name in enumerate(["one", "two"], 1):
            self.create("-q", "-n", 20_000, "--slice", f"{i}/2", stdin=lines(*numbered(5000 * i)), name=name)
        for i, name in enumerate(["left", "right"], 1):
            self.create("-q", "-n", 7000, "--slice", f"{i}/2", stdin=lines(*numbered(20_000)), name=name)
        self.write("away.1", b"")
        self.write("away.2", b"")
        ran = {"bfadd": ["pages keys", "unclean keys", "--remove live keys", "live keys",
                         "-q live more", "-x 4 live keys", "gap keys"],
               "bfseal": ["pages", "live pages", "live live", "--project live copy", "live copy",
                          "live copy", "live big", "copy live",
                          "grows"],
               "bfcommon": ["--memory 16Mi long keys"],
               "bfcreate": ["old keys", "-f keys keys", "-f dos keys", "-p 1e-300 -k 1 -n 1e9 new keys",
                            "-x 16 new keys", "-f -n 100 new keys",
                            "-f -m 1536 -p 0.002 new keys", "-f -n 100 new more", "-f new /dev/null", "none /dev/null",
                            "-f --min-keys 200 new keys", "w dos", "t patch", "z2 zeros", "-0 q keys", "z packed", "--hex --key-size 20 h one-key", "u nul",
                            "--field 1 v quoted", "-f grows keys", "--live --grow away", "--live -n 1000 -m 1000 -p 0.001 small", "--slice 1/9 -n 9 sliced keys",
                            "-f -n 20000 --slice 1/3 first others", "-f --live -n 9 first"],
               "bffold": ["-v big folded", "exact y", "grows y", "-f --discard block y", "-f --discard --factor 7 big y",
                          "-f --discard -p 1% block y", "-f --discard --max-bytes 1M big y",
                          "-f --discard --max-bytes 9 big y", "-f --discard --max-bytes 9k dense y", "-f --discard pages y", "-f live live",
                          "-f --discard --factor 720 big folded", "big seed", "big live", "-f --discard ribbon y"],
               "bfmerge": ["x big seed", "x text four", "x big seven", "x big classic", "x big ./big",
                           "x flipped pages", "x pages", "x grows", "x big block",
                           "--intersect x counts", "--project x big", "-f live live",
                           "-f --disjoint x about", "-f x - <cut", "-f x - <not", "x ribbon", "x first", "--slices x first third", "--slices x first second again",
                           "seven seed big", "dense big seed", "-f live big", "big big", "--slices x first odd", "--slices x first big", "--slices few one two", "--slices full left right"],
               "bfquery": ["fixed keys", "integers keys", "newer keys", "-x 4 big keys", "-x 4 nul keys", "packed keys", "nul dos", "keys keys", "-x 16 pages keys", "pages keys",
                           "unclean keys", "gap keys", "gap.3 keys"],
               "bfinspect": ["short", "flipped", "--verify pages", "count", "unclean", "gap", "gap.3",
                             "--verify head", "--verify heads"]}
        not_here = ("disk failed|Input/output error|on device|could not (write|sync)|open for writing \\(|"
                    "was changed while|also the output|two outputs|was replaced or removed|the keys they add|"
                    "keys of this run again|another process |cannot check whether|(shrank|overwritten) while it was read|a mount point|or touched (during the query|while it was read)")
        for tool, commands in ran.items():
            messages = "".join(self.messages(tool, words) for words in commands)
            documented = re.findall(r'^\.It "(.*)"$', (MAN / f"{tool}.1").read_text(), re.M)
            self.assertGreater(len(documented), 2)
            for message in documented:
                pattern = re.sub(r"\b((KEY)?FILE|SRC|DEST(?!\\ (makes|away)))\b", r"\\S+",
                                 re.escape(message))
                pattern = re.sub(r"\d+(\\\.\d+)?", r"[\\d.]+", pattern)
                pattern = pattern.replace("k\\ \\(byte", "\\w+\\ \\(byte")
                if not re.search(not_here, message):
                    self.assertRegex(messages, rf"(?m)^{tool}: {pattern}(;| \(|$)")

    def test_example_summary_matches_bfcreate(self):
        command, summary = re.search(r"^\$ bfcreate (-v .*urls\.txt)\n(bfcreate: .*)$",
                                     (MAN / "bfcreate.1").read_text(), re.M).groups()
        self.write("urls.txt", lines(*numbered(100_000)))
        result = self.run_tool("bfcreate", *command.split())
        self.assertEqual(result.stderr.decode(), summary + "\n")

    def test_manual_pages_contain_no_placeholders(self):
        for tool in TOOLS:
            self.assertNotRegex((SOURCE_ROOT / "man" / f"{tool}.1").read_text(), "@[A-Z_]+@")

    @unittest.skipUnless(shutil.which("mandoc"), "needs mandoc (Debian: mandoc)")
    def test_manuals_are_clean(self):
        for tool in TOOLS:
            result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", MAN / f"{tool}.1"],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual((result.returncode, result.stdout), (0, b""))


if __name__ == "__main__":
    main()
