# SPDX-License-Identifier: MIT
"""doc/recipes.md: its commands and scripts, run as they stand there, and the crawler killed on its way."""

import gzip
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess

import sessions
from support import SOURCE_ROOT, TIMEOUT, ToolTest, main

TEXT = (SOURCE_ROOT / "doc/recipes.md").read_text(encoding="utf-8")
PARTS = {part.partition("\n")[0]: part for part in re.split(r"^## ", TEXT, flags=re.M)[1:]}
CRAWLER = "A crawler's frontier that survives restarts"
PAGES = 1000


def sha1(data):
    return hashlib.sha1(data).hexdigest().upper()


class Recipes(ToolTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(11)
        self.bin = self.folder / "bin"
        self.bin.mkdir()

    def script(self, path, text):
        path.write_text(text)
        path.chmod(0o755)

    def check(self, heading, least):
        for name, text in sessions.scripts(PARTS[heading]).items():
            self.script(self.folder / name, text)
        self.assertGreaterEqual(sessions.check(self, PARTS[heading], self.folder, self.bin), least)

    def test_all_recipes_are_run(self):
        self.assertEqual(len(PARTS), 3)
        self.assertEqual(sum(len(sessions.scripts(part)) for part in PARTS.values()), TEXT.count("```sh\n"))

    def test_passwords(self):
        counts = {sha1(b"password"): 10434004, sha1(b"123456"): 42542807, sha1(b"qwerty"): 11713794}
        while len(counts) < 60_000:
            counts[sha1(self.random.randbytes(9))] = self.random.randrange(1, 5000)
        self.write("pwned.txt", "".join(f"{key}:{count}\n" for key, count in sorted(counts.items())).encode())
        self.write("accounts.txt", b"Tr0ub4dor&3 and so on\n123456\nqwerty\n correct horse  \n")
        if shutil.which("look") is None:
            self.script(self.bin / "look", '#!/bin/sh\nexec grep "^$1" "$2"\n')
        self.check("Breached passwords", 6)
        self.assertEqual(sessions.run("echo password | ./breached; echo $?", self.folder), "0\n")
        self.script(self.bin / "sha1sum", "#!/bin/sh\nexit 127\n")
        self.assertEqual(sessions.run("echo password | ./breached; echo $?", self.folder, self.bin), "2\n")
        os.unlink(self.folder / "pwned.bloom")
        self.assertRegex(sessions.run("echo password | ./breached; echo $?", self.folder), "No such file.*\n2\n")

    def test_files(self):
        contents = {"bin/ls": b"\x7fELF list", "etc/empty": b"", "opt/agent": b"\x7fELF agent",
                    "tmp/dropper": b"MZ drops", 'home/letter, to "him".txt': b"Dear him,\n"}
        for name, data in contents.items():
            path = self.folder / "evidence" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        rows = ['"SHA-1","MD5","CRC32","FileName","FileSize","ProductCode","OpSystemCode","SpecialCode"']
        known = [contents["bin/ls"], b""] + [self.random.randbytes(20) for _ in range(4999)]
        for i, data in enumerate(known + known[:2500]):
            name = [f"file{i}.dll", f"a, b{i}.txt", f'say ""{i}"".c', f"{i}"][i % 4]
            rows.append(f'"{sha1(data)}","{hashlib.md5(data).hexdigest().upper()}","{i:08X}","{name}",{i},{i % 99},"358",""')
        self.write("NSRLFile.txt.gz", gzip.compress("\r\n".join(rows + [""]).encode()))
        self.write("ours.sha1", f"{sha1(contents['opt/agent'])}\n{sha1(b'other')}\n".encode())
        self.write("bad.sha1", f"{sha1(contents['tmp/dropper'])}\n".encode())
        self.check("Known files, in forensics", 9)

    # --- the crawler ---

    def links(self, page):
        choose = random.Random(page)
        return [choose.randrange(PAGES) for _ in range(4)] + [page + 1] * (page + 1 < PAGES)

    def make_site(self):
        """Pages whose links lead to all others, in the end; each fetch is noted."""
        for page in range(PAGES):
            self.write(f"site/{page}", "".join(f"http://site.example/{to}\n" for to in self.links(page)).encode())
        self.script(self.bin / "fetch", '#!/bin/sh\ncat\n[ ! -e "broken/${1##*/}" ] || exit 1\n'
                                        'echo "$1" >> fetched\nexec cat "site/${1##*/}"\n')

    def fetched(self):
        return [int(line.rpartition(b"/")[2]) for line in self.read("fetched").splitlines()]

    def test_crawler(self):
        self.make_site()
        self.check(CRAWLER, 3)
        self.assertEqual(sorted(self.fetched()), list(range(PAGES)))

    def test_a_page_that_cannot_be_fetched_ends_it(self):
        self.make_site()
        self.script(self.folder / "crawl", sessions.scripts(PARTS[CRAWLER])["crawl"])
        self.write("todo/1", b"http://site.example/0\n")
        self.write("broken/7", b"")
        self.assertEqual(sessions.run("./crawl; echo $?", self.folder, self.bin), "1\n")
        self.assertNotEqual(os.listdir(self.folder / "todo"), [])
        os.unlink(self.folder / "broken/7")
        self.crawl()
        self.assertEqual(set(self.fetched()), set(range(PAGES)))

    def crawl(self, seconds=TIMEOUT):
        """For so long; whether it came to its end."""
        path = os.pathsep.join([str(self.bin), *sessions.PATH, os.environ["PATH"]])
        process = subprocess.Popen(["./crawl"], cwd=self.folder, env={**os.environ, "PATH": path}, start_new_session=True,
                                   stderr=subprocess.PIPE)
        try:
            _, message = process.communicate(timeout=seconds)
            self.assertEqual((process.returncode, message), (0, b""))
            return True
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return False

    def test_crawler_that_is_killed(self):
        self.make_site()
        self.script(self.folder / "crawl", sessions.scripts(PARTS[CRAWLER])["crawl"])
        self.write("todo/1", b"http://site.example/0\n")
        kills = 0
        while kills < 30 and not self.crawl(0.05 + self.random.random() * 0.6):
            kills += 1
            if kills % 7 == 0:  # the filter is lost, too
                (self.folder / "seen.bloom").unlink(missing_ok=True)
        self.crawl()
        self.assertGreater(kills, 3)
        fetched = self.fetched()
        self.assertEqual(set(fetched), set(range(PAGES)))
        self.assertLessEqual(len(fetched), PAGES + 101 * kills)
        done = [line for path in (self.folder / "done").iterdir() for line in path.read_bytes().splitlines()]
        self.assertEqual(len(done), len(set(done)))
        self.assertEqual(os.listdir(self.folder / "todo"), [])


if __name__ == "__main__":
    main()
