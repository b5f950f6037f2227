# SPDX-License-Identifier: MIT
"""Completions of the tools' command lines in bash, zsh and fish: the tests press TAB in real shells."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest

from support import TIMEOUT, TOOLS, ToolTest, main
from test_manual import options_of_help
from terminal import Screen

MADE = pathlib.Path(os.environ.get("COMPLETIONS", ""))
FILES = ["day.patch", "keys.txt", "two words.bloom", "urls.bloom", "folder/old.bloom"]
FOLDERS = {"folder"}
BLOOMS = {"folder", "two words.bloom", "urls.bloom"}
PATCHES = {"folder", "day.patch"}
ALL_FILES = BLOOMS | PATCHES | {"keys.txt"}

BASH = r"""
PS1='> '
. /usr/share/bash-completion/bash_completion
bind 'set bell-style none'
bind 'set completion-query-items 0'
bind 'set page-completions off'
told() { printf '%s\n' "$READLINE_LINE" >>"$TOLD"; READLINE_LINE= READLINE_POINT=0; }
bind '"\C-xa": insert-completions'
bind '"\C-xc": complete'
bind -x '"\C-xt": told'
PROMPT_COMMAND='echo ready >>"$TOLD"; PROMPT_COMMAND='
"""

ZSH = r"""
PS1='> '
fpath=($FOLDER/zsh $fpath)
autoload -U compinit
compinit -D -u
setopt no_beep no_auto_list
LISTMAX=10000
all() { _main_complete; compstate[insert]=all compstate[list]= }
zle -C all complete-word all
told() { print -r -- "$BUFFER" >>$TOLD; BUFFER= }
zle -N told
bindkey -e
bindkey '^Xa' all
bindkey '^Xc' complete-word
bindkey '^Xt' told
precmd() { echo ready >>$TOLD; precmd() { } }
"""


def environment(folder, **more):
    return {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8",
            "BASH_COMPLETION_USER_DIR": f"{folder}/bash-completion", "ZDOTDIR": str(folder),
            "XDG_DATA_DIRS": f"{folder}:/usr/share", "FOLDER": str(folder), **more}


class Interactive:
    """A shell on a terminal. Certain keys make it write its command line to a file."""

    def __init__(self, folder, *command):
        self.told, self.lines = folder / f"told-{command[0]}", 0
        self.told.touch()
        self.screen = Screen(200)
        self.screen.__enter__()
        self.process = subprocess.Popen(
            command, cwd=folder / "files", start_new_session=True,
            env=environment(folder, TERM="dumb", TOLD=str(self.told)),
            stdin=self.screen.terminal, stdout=self.screen.terminal, stderr=self.screen.terminal)
        self.wait()

    def wait(self):
        deadline = time.monotonic() + TIMEOUT
        while len(lines := self.told.read_text().splitlines()) <= self.lines:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the shell does not answer:\n{self.screen.text.decode()}")
            time.sleep(0.002)
        self.lines = len(lines)
        return lines[-1]

    def keys(self, text):
        os.write(self.screen.screen, text.encode() + b"\x18t")
        return self.wait()

    def completed(self, line):
        """The command line after one TAB."""
        return self.keys(line + "\x18c")

    def candidates(self, line):
        """The candidates for the word at the end. The shell inserts all of them in place of the word."""
        typed = shlex.split(line + "^")[:-1]
        told = self.keys(line + "\x18a")
        return set(shlex.split(told)[len(typed):]) if told != line else set()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.screen.__exit__()


class Fish:
    """fish, which can print its candidates."""

    def __init__(self, folder):
        # read drops blanks at the end of a line, so a full stop follows them
        answer = "while read -l line; complete -C (string sub -e -1 -- $line); echo; end"
        self.process = subprocess.Popen(["fish", "-c", answer], cwd=folder / "files", env=environment(folder), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def candidates(self, line):
        print(line, end=".\n", file=self.process.stdin, flush=True)
        found = set()
        while (row := self.process.stdout.readline()) != "\n":
            if row == "":
                raise AssertionError("fish has ended")
            found.add(row.rstrip("\n").split("\t")[0])
        return found

    def close(self):
        self.process.communicate(timeout=TIMEOUT)


def links(folder):
    """Makes a folder with the completions where the shells look, the tools in PATH, and files to complete."""
    for path in "bash-completion/completions", "fish/vendor_completions.d", "zsh", "files/folder", "bin":
        (folder / path).mkdir(parents=True)
    for name in FILES:
        (folder / "files" / name).touch()
    for tool, path in TOOLS.items():
        (folder / "bin" / tool).symlink_to(path)
        (folder / "bash-completion/completions" / tool).symlink_to(MADE / tool)
        (folder / "zsh" / f"_{tool}").symlink_to(MADE / f"_{tool}")
        (folder / "fish/vendor_completions.d" / f"{tool}.fish").symlink_to(MADE / f"{tool}.fish")
    (folder / "bashrc").write_text(BASH)
    (folder / ".zshrc").write_text(ZSH)


@unittest.skipUnless((MADE / next(iter(TOOLS))).is_file(), "this build could not run its tools, so it has none")
class Completions(ToolTest):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomfile-test-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        links(folder)
        starts = {"bash": lambda: Interactive(folder, "bash", "--noprofile", "--rcfile", folder / "bashrc", "-i"),
                  "zsh": lambda: Interactive(folder, "zsh", "-i"), "fish": lambda: Fish(folder)}
        if not pathlib.Path("/usr/share/bash-completion/bash_completion").is_file():
            del starts["bash"]
        cls.missing = [name for name in ("bash", "zsh", "fish") if name not in starts or not shutil.which(name)]
        cls.shells = {name: start() for name, start in starts.items() if name not in cls.missing}
        for shell in cls.shells.values():
            cls.addClassCleanup(shell.close)

    def check(self, line, expected, shells=("bash", "zsh", "fish")):
        """Compares the candidates for the last word, without its option or redirection and without the slash of folders."""
        option = line.split(" ")[-1].partition("=")[0] + "=" if "=" in line.split(" ")[-1] else ""
        for name in shells:
            if name in self.shells:
                found = self.shells[name].candidates(line) - {option}
                found = {re.sub("^[0-9]*[<>]+", "", word.removeprefix(option)).rstrip("/") for word in found}
                with self.subTest(shell=name, line=line):
                    self.assertEqual(found, expected)

    def test_every_shell_is_installed(self):
        if self.missing:
            self.skipTest(f"needs {', '.join(self.missing)} (bash: with bash-completion)")

    def test_options_match_the_help(self):
        for tool in TOOLS:
            options = set(options_of_help(self.output(tool, "--help").decode()))
            for name, shell in self.shells.items():
                with self.subTest(shell=name, tool=tool):
                    found = {word.rstrip("=") for word in shell.candidates(f"{tool} -")}
                    self.assertEqual(found, options)
                    found = {word.rstrip("=") for word in shell.candidates(f"{tool} --f")}
                    if name == "fish":  # fish 4 also offers options that contain an f later
                        found = {option for option in found if option.startswith("--f")}
                    self.assertEqual(found, {option for option in options if option.startswith("--f")})

    def test_tab_completes_options_and_file_names(self):
        """An option that takes a value ends with =, and file names are quoted."""
        for name in {"bash", "zsh"} & set(self.shells):
            for line, expected in (("bfcreate --lay", "bfcreate --layout="), ("bfseal --acc", "bfseal --accept-unclean "),
                                   ("bfquery --missing=sk", "bfquery --missing=skip "),
                                   ("bfquery tw", "bfquery two\\ words.bloom "), ("bfquery --nons", "bfquery --nons"),
                                   ("bfquery two\\ wo", "bfquery two\\ words.bloom "),
                                   ("bfquery --filter=u", "bfquery --filter=urls.bloom "),
                                   ("bfuniq --temp", "bfuniq --temp")):
                with self.subTest(shell=name, line=line):
                    self.assertEqual(self.shells[name].completed(line), expected)

    def test_option_values_are_completed(self):
        layouts = {"blocked", "classic", "counting", "ribbon"}
        for line in "bfcreate --layout=", "bfcreate --layout ", "bfcreate -l ", "bfcreate new.bloom -fl ":
            self.check(line, layouts)
        self.check("bfuniq -l ", {"blocked", "classic"})
        self.check("bfcreate --layout=c", {"classic", "counting"})
        self.check("bfquery --missing ", {"error", "skip", "empty"})
        self.check("bfcreate -s ", {"random"})

    def test_numbers_and_texts_have_no_candidates(self):
        for line in ("bfcreate -p ", "bfcreate --fpr=", "bfcreate -n ", "bfcreate --label ", "bfuniq --every ",
                     "bfquery -m "):
            self.check(line, set())

    def test_operands_complete_to_filters_or_files(self):
        for line, expected in (
                ("bfquery ", BLOOMS), ("bfquery urls.bloom ", ALL_FILES), ("bfquery urls.bloom keys.txt k", {"keys.txt"}),
                ("bfquery folder/", {"folder/old.bloom"}), ("bfquery --filter=urls.bloom ", ALL_FILES),
                ("bfquery --filter urls.bloom ", ALL_FILES), ("bfcommon ", ALL_FILES), ("bfuniq --fixed ", ALL_FILES),
                ("bfdelta urls.bloom ", BLOOMS), ("bfdelta urls.bloom urls.bloom ", PATCHES),
                ("bfdelta --apply urls.bloom ", PATCHES), ("bfdelta --info ", PATCHES),
                ("bfmerge urls.bloom urls.bloom urls.bloom ", BLOOMS), ("bfcreate --live urls", {"urls.bloom"})):
            # fish shows the other files after these
            self.check(line, expected, ["bash", "zsh"] if expected in (BLOOMS, PATCHES) else ["bash", "zsh", "fish"])
        for line in "bfquery ", "bfdelta --info ":
            self.check(line, ALL_FILES, ["fish"])
        for line in "bfseal urls.bloom new.bloom k", "bfdelta --info day.patch k", "bfcreate --live new.bloom k":
            self.check(line, set())

    def test_option_values_are_not_counted_as_operands(self):
        for line in ("bfquery -m 5 u", "bfquery -m5 u", "bfquery --max-count=5 u", "bfquery --max-count 5 u",
                     "bfquery -cm 5 u", "bfquery -cm5 u", "bfquery --unless keys.txt u", "bfquery -- u"):
            self.check(line + "rls", {"urls.bloom"})
            self.check(line.removesuffix("u") + "keys", {"keys.txt"}, ["fish"])
            self.check(line.removesuffix("u") + "urls.bloom keys", {"keys.txt"})

    def test_redirections_and_pipes_complete_files(self):
        for line in "bffold --dry-run urls.bloom >ke", "bffold --dry-run urls.bloom > ke", "bfseal urls.bloom 2>>ke", "bfdelta <ke":
            self.check(line, {"keys.txt"}, ["bash", "zsh"])
        for line in "bfquery <keys.txt u", "bfquery < keys.txt u", "bfquery 2>keys.txt u", "true | bfquery u", "true; bfquery u":
            self.check(line, {"urls.bloom"})

    def test_option_values_complete_to_files_or_folders(self):
        self.check("bfcommon --temp ", FOLDERS)
        self.check("bfcommon --temp=", FOLDERS)
        self.check("bfquery --unless ", ALL_FILES)
        self.check("bfquery --filter=", BLOOMS, ["bash", "zsh"])
        self.check("bfquery --filter ", BLOOMS, ["bash", "zsh"])
        self.check("bfquery --filter t", {"two words.bloom"})

    def test_all_files_are_shown_if_no_filter_matches(self):
        self.check("bfquery k", {"keys.txt"})

    def test_invalid_words_have_no_candidates(self):
        for line in "bfcreate --nonsense", "bfcreate -- -", "bfcreate --layout=nonsense", "bfcreate -l nonsense":
            self.check(line, set())
        for line in "bfcreate --force=", "bfcreate --nonsense=", "bfcreate --nonsense=k":
            self.check(line, set(), ["bash", "zsh"])


if __name__ == "__main__":
    main()
