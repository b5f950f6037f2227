# SPDX-License-Identifier: MIT
"""The EXAMPLES of the manual pages, run as printed, each in its own folder.

Programs that an example uses and a test lacks (ssh, a crawler, a log that grows) are small scripts here. Paths such as
/srv/www are below the folder of the test. Files that an example assumes are made before it runs."""

import os
import pathlib
import re
import shutil
import subprocess

from support import SOURCE_ROOT, TIMEOUT, TOOLS, ToolTest, lines, main, numbered

MAN = SOURCE_ROOT / "man"
ELSEWHERE = "/dev/shm", "/data", "/srv/www", "/srv", "/scratch", "/usr/share/dict"

STUBS = {
    # Each host is a folder; -C compresses.
    "ssh": '[ "$1" = -C ] && shift; mkdir -p "hosts/$1"; cd "hosts/$1"; shift; exec sh -c "$*"',
    "tail": 'exec cat "$2"',
    "dump-keys": "seq 1000",
    "links": "cat urls.txt",
    "fetch": "cat",
    "jq": "cat",
}
# The filters that each example of a page assumes to exist.
SHARDS = ["hosts/a", "hosts/b", "hosts/c"]
GIVEN = {
    "bfadd": [[], ["clients.bloom"], [], ["seen.bloom"]],
    "bfdelta": [["monday.bloom", "tuesday.bloom"], ["monday.bloom", "tuesday.bloom", "hosts/edge"],
                ["monday.bloom", "tuesday.bloom"]],
    "bffold": [[], ["urls.bloom"], ["urls.bloom"]],
    "bfinspect": [["words.bloom"]] * 3,
    "bfmerge": [SHARDS] * 3,
    "bfquery": [["seen.bloom"], ["words.bloom"], [], ["seen.bloom"], ["seen.bloom", "words.bloom"], ["seen.bloom"], ["seen.bloom"],
                ["words.bloom"]],
    "bfseal": [["seen.bloom"]] * 3 + [["sessions.bloom"]],
}
WORDS = [b"apple", b"pear", *numbered(300, "word ")]
URLS = numbered(1000, "http://example.org/")


def plain(line):
    """A line of a literal display, without mdoc's escapes."""
    return line.replace("\\en", "\\n").replace("\\-", "-").replace("\\e", "\\")


def shape(text):
    """The words that a tool prints, with all figures replaced."""
    return re.sub(r"\d[\d.]*(e[-+]\d+)?( bytes| [KMG]iB)?", "9", text)


def examples(tool):
    """The displays of the EXAMPLES section, each a list of commands with their output."""
    found = []
    text = (MAN / f"{tool}.1").read_text()
    section = re.search(r"^\.Sh EXAMPLES\n(.*?)^\.Sh ", text, re.M | re.S)[1]
    for block in re.findall(r"^\.Bd [^\n]*\n(.*?)^\.Ed$", section, re.M | re.S):
        block = "".join(plain(line) for line in block.splitlines(keepends=True))
        if not block.startswith("$ "):
            found.append([(block, "")])
            continue
        commands = []
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command = re.match(r"(?:.*(?:\\|&&|\|)\n)*.*\n", part)[0]
            commands.append((command, part[len(command):]))
        found.append(commands)
    return found


class Examples(ToolTest):
    def setUp(self):
        super().setUp()
        paths = sorted({str(pathlib.Path(tool).parent) for tool in TOOLS.values()})
        stubs = self.folder / "bin"
        stubs.mkdir()
        for name, script in STUBS.items():
            (stubs / name).write_text("#!/bin/sh\n" + script + "\n")
            (stubs / name).chmod(0o755)
        self.variables = {**os.environ, "LC_ALL": "C", "url": "http://example.org/700",
                          "PATH": os.pathsep.join([str(stubs), *paths, os.environ["PATH"]])}
        self.place = None

    def prepare(self, number, given):
        """Makes a new folder with everything that an example assumes."""
        self.place = self.folder / f"example-{number}"
        self.place.mkdir()
        for name in ELSEWHERE:
            (self.place / name[1:]).mkdir(parents=True, exist_ok=True)
        texts = {"urls.txt": URLS, "all-urls.txt": numbered(100_000), "bad-urls.txt": URLS[:99], "good-urls.txt": URLS[99:],
                 "requests.txt": URLS[50:150], "requests.log": [b"GET " + key for key in URLS[50:150]],
                 "candidates.txt": [b"apple", b"aple"],
                 "words": WORDS, "usr/share/dict/words": WORDS, "app.log": URLS[:20] * 3,
                 "access.log": [key + b" GET /" for key in URLS[:50] * 2], "opened.txt": URLS[:20],
                 "closed.txt": URLS[:9], "mon.urls": URLS[:600], "tue.urls": URLS[300:],
                 "a.urls": URLS[:600], "b.urls": URLS[300:], "addresses.txt": URLS,
                 "blocked-1.txt": URLS[:9], "blocked-2.txt": URLS[5:20], "srv/one": WORDS}
        for name, keys in texts.items():
            (self.place / name).write_bytes(lines(*keys))
        for name in "today.list", "yesterday.list":
            (self.place / name).write_bytes(b"words\0" + name.encode() + b"\0")
        for name in given:
            self.make(name)

    def make(self, name):
        live = "bfcreate --live -n 10k {0} && bfadd -q {0} good-urls.txt"
        make = {"words.bloom": "bfcreate {0} words",
                "urls.bloom": "bfcreate -n 100k {0} urls.txt",
                "monday.bloom": "bfcreate -m 1M -k 6 {0} mon.urls",
                "tuesday.bloom": "bfcreate -m 1M -k 6 {0} tue.urls",
                "hosts/edge": "mkdir -p {0} && cp monday.bloom {0}/urls.bloom",
                "seen.bloom": live, "clients.bloom": live,
                "sessions.bloom": live.replace("--live", "--live -l counting"),
                **{host: "mkdir -p {0} shards && split -n l/3 urls.txt {0}/part. && "
                         f"bfcreate -n 1000 {{0}}/urls.bloom {{0}}/part.a{host[-1]} && "
                         f"cp {{0}}/urls.bloom shard-{host[-1]}.bloom && "
                         f"cp {{0}}/urls.bloom shards/{host[-1]}.bloom" for host in SHARDS}}
        self.run_here(make[name].format(name))

    def run_here(self, command):
        command = re.sub(r"(?<![\w.])(" + "|".join(ELSEWHERE) + r")(?=[/ \n]|$)",
                         lambda match: f"{self.place}{match[1]}", command)
        command = re.sub(r"(?<=find )/(?= )", str(self.place), command).replace("-n 1G", "-n 1M")
        shell = shutil.which("bash") or "sh"
        result = subprocess.run([shell, "-c", command], cwd=self.place, env=self.variables,
                                timeout=TIMEOUT, stdin=subprocess.DEVNULL, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.returncode, 0, (command, result.stdout[-800:]))
        return result.stdout.decode()

    def run_example(self, tool, number):
        """Runs an example. Its output must be as printed, apart from figures."""
        self.prepare(f"{tool}-{number}", GIVEN[tool][number] if tool in GIVEN else [])
        for command, printed in examples(tool)[number]:
            found = self.run_here(command)
            if printed:
                self.assertEqual(shape(found), shape(printed))

    def test_every_example_runs(self):
        for tool in TOOLS:
            count = len(examples(tool))
            self.assertEqual(count, len(GIVEN.get(tool, range(count))), tool)
            for number in range(count):
                with self.subTest(tool=tool, number=number):
                    self.run_example(tool, number)

    def test_shards_of_other_hosts_merge(self):
        """The union has all keys, meets its target rate, and is as small as the rate allows."""
        number, = (i for i, commands in enumerate(examples("bfmerge"))
                   if "ssh" in commands[0][0])
        self.run_example("bfmerge", number)
        self.assertEqual(self.run_here("bfquery -c all.bloom urls.txt"), "1000\n")
        self.run_here("bfinspect -q --verify --keys urls.txt all.bloom")

    def test_failed_host_fails_the_merge(self):
        """Its shard must not be left out, so the union is not made."""
        number, = (i for i, commands in enumerate(examples("bfmerge"))
                   if "ssh" in commands[0][0])
        self.prepare("failing", SHARDS)
        (self.place / "hosts" / "b" / "urls.bloom").unlink()
        with self.assertRaises(AssertionError):
            self.run_here(examples("bfmerge")[number][0][0])
        self.assertFalse((self.place / "all.bloom").exists())


if __name__ == "__main__":
    main()
