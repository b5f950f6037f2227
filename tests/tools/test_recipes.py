# SPDX-License-Identifier: MIT
"""doc/recipes.md: its commands and scripts, run as printed, and the crawler killed at each of its commands."""

import gzip
import hashlib
import http.server
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import threading
import unittest
import unittest.mock

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
        self.assertEqual(len(PARTS), 11)
        self.assertEqual(sum(len(sessions.scripts(part)) for part in PARTS.values()), TEXT.count("```sh\n"))

    def test_passwords_recipe_runs(self):
        counts = {sha1(b"password"): 10434004, sha1(b"123456"): 42542807, sha1(b"qwerty"): 11713794}
        while len(counts) < 60_000:
            counts[sha1(self.random.randbytes(9))] = self.random.randrange(1, 5000)
        self.write("pwned.txt", "".join(f"{key}:{count}\n" for key, count in sorted(counts.items())).encode())
        self.write("accounts.txt", b"Tr0ub4dor&3 and so on\n123456\n correct horse  \nqwerty")
        if shutil.which("look") is None:
            self.script(self.bin / "look", '#!/bin/sh\nexec grep "^$1" "$2"\n')
        self.check("Breached passwords", 6)
        self.assertEqual(sessions.run("echo password | ./breached; echo $?", self.folder), "0\n")
        self.assertEqual(sessions.run("printf password | ./breached; echo $?", self.folder), "0\n")
        self.assertEqual(sessions.run("./breached < /dev/null; echo $?", self.folder), "2\n")
        self.script(self.bin / "sha1sum", "#!/bin/sh\nexit 127\n")
        self.assertRegex(sessions.run("echo password | ./breached; echo $?", self.folder, self.bin), "has 0 bytes, not 40 hexadecimal digits.*\n2\n")
        os.unlink(self.folder / "pwned.bloom")
        self.assertRegex(sessions.run("echo password | ./breached; echo $?", self.folder), "No such file.*\n2\n")

    def test_files_recipe_runs(self):
        contents = {"bin/ls": b"\x7fELF list", "etc/empty": b"", "opt/agent": b"\x7fELF agent",
                    "tmp/dropper": b"MZ drops", "tmp/drop\\per": b"MZ \\", "tmp/drop\nper": b"MZ newline", 'home/letter, to "him".txt': b"Dear him,\n"}
        for name, data in contents.items():
            path = self.folder / "evidence" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self.can_be_named(path):
                self.skipTest(f"the file system has no names as {name}")
            path.write_bytes(data)
        rows = ['"SHA-1","MD5","CRC32","FileName","FileSize","ProductCode","OpSystemCode","SpecialCode"']
        known = [contents["bin/ls"], b""] + [self.random.randbytes(20) for _ in range(4999)]
        for i, data in enumerate(known + known[:2500]):
            name = [f"file{i}.dll", f"a, b{i}.txt", f'say ""{i}"".c', f"{i}"][i % 4]
            rows.append(f'"{sha1(data)}","{hashlib.md5(data).hexdigest().upper()}","{i:08X}","{name}",{i},{i % 99},"358",""')
        self.write("NSRLFile.txt.gz", gzip.compress("\r\n".join(rows + [""]).encode()))
        self.write("ours.sha1", f"{sha1(contents['opt/agent'])}\n{sha1(b'other')}\n".encode())
        self.write("bad.sha1", "".join(f"{sha1(contents[name])}\n" for name in contents if "drop" in name).encode())
        self.check("Known files, in forensics", 8)

    def test_blocklists_recipe_runs(self):
        self.write("hosts.txt", b"# a list\n0.0.0.0 Tracker.example\n" + b"".join(b"0.0.0.0 ads%d.example.net\n" % i for i in range(999)))
        self.write("dns.log", b"12:00:01 client7 a.ads.Tracker.example.\n12:00:02 client1 example.net\n12:00:03 client2 tracker.example\n"
                              b"12:00:04 client2 nottracker.example\n")
        self.check("Domain and mail blocklists", 4)

    def test_recipe_for_lines_that_occur_once_runs(self):
        lines = [f"GET /{self.random.randrange(10**9)}" for _ in range(10_000)]
        lines += [f"GET /{i}" for i in range(500)] * 2 + ["", "", "x"] + [f"POST /{i}" for i in range(6)]
        self.random.shuffle(lines)
        self.write("log.txt", "\n".join(lines).encode() + b"\n")
        self.check("Lines that occur once, in a huge file", 4)

    def test_prevalence_recipe_runs(self):
        self.write("counts.txt", b"rare:1\ncommon:2000\n" + b"".join(b"key%d:%d\n" % (i, i) for i in range(500)))
        self.check("How often a key was seen", 2)

    def test_known_list_recipe_runs(self):
        keys = [f"{self.random.randrange(10**12)}\n".encode() for _ in range(40_000)]
        self.write("revoked.txt", b"".join(keys[:10_000]))
        self.write("valid.txt", b"".join(keys[10_000:]))
        self.check("Exact answers about a known list", 3)
        self.assertGreater(len(self.read("wrong.txt").split()), 5)

    @unittest.skipUnless(shutil.which("curl"), "needs curl (Debian: curl)")
    def test_published_list_recipe_runs(self):
        """The server records each request and its response."""
        answers = []

        class Site(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments, folder=self.folder / "site"):
                super().__init__(*arguments, directory=folder)

            def do_GET(self):
                path = pathlib.Path(self.translate_path(self.path))
                data = path.read_bytes() if path.exists() else None
                etag = f'"{hashlib.sha256(data or b"").hexdigest()}"'
                status = 404 if data is None else 304 if self.headers.get("If-None-Match") == etag else 200
                answers.append((path.name, status))
                self.send_response(status)
                self.send_header("ETag", etag)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                if status == 200:
                    self.wfile.write(data)

            def log_message(self, *arguments):  # pylint: disable=arguments-differ
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        threading.Thread(target=server.serve_forever).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        (self.folder / "site").mkdir()
        for day, count in ("monday", 5000), ("tuesday", 5050):
            self.create("-q", "-m", 512 * 130, "-k", 6, stdin=b"".join(b"%d\n" % i for i in range(count)), name=f"{day}.bloom")
        shutil.copy(SOURCE_ROOT / "examples/shipping/ship.sh", self.bin)
        with unittest.mock.patch.dict(os.environ, URL=f"http://127.0.0.1:{server.server_port}"):
            self.check("A list that changes every day, by HTTP", 5)
        self.assertEqual(answers, [
            ("latest", 200), ("latest", 200), ("monday.bloom", 200), ("latest", 304),
            ("latest", 200), ("latest", 200), ("monday..tuesday.patch", 200)])
        self.assertEqual(self.read("client/tuesday.bloom"), self.read("tuesday.bloom"))

    def test_nix_recipe_runs(self):
        hashes = ["".join(self.random.choices("0123456789abcdfghijklmnpqrsvwxyz", k=32)) for _ in range(500)]
        for name in hashes:
            self.write(f"cache/{name}.narinfo", b"")
        self.write("closure.txt", "".join(f"/nix/store/{name}-glibc-2.38\n" for name in [*hashes[::7], 32 * "k"]).encode().replace(
            b"kkkkk-glibc-2.38", b"kkkkk-my-package-1.0"))
        self.check("A Nix cache", 2)

    @unittest.skipIf("no JSON" in sessions.run("bfuniq --json a </dev/null", "."), "needs libsimdjson-dev")
    def test_json_and_columns_recipe_runs(self):
        self.write("crawl.jsonl", b'{"id":1,"text":"caf\\u00e9"}\n{"id":2,"text":"caf\xc3\xa9"}\n{"id":3,"text":"tea"}\n{"id":4}\n')
        self.write("blocked.jsonl", b'{"id":7}\n{"id":"9"}\n')
        self.write("events.jsonl", b"".join(b'{"event":"order","account":{"id":%d}}\n' % i for i in (7, 8, 9)))
        self.write("accounts.csv", b'account_id,name\n7,"Doe, Ann"\n8,Bob\n')
        self.write("orders.csv", b"order,customer\n1,8\n2,10\n3,8\n")
        self.check("Keys in JSON lines and in columns", 5)

    @unittest.skipIf("no JSON" in sessions.run("bfuniq --json a </dev/null", "."), "needs libsimdjson-dev")
    def test_shards_recipe_runs(self):
        for i in 1, 2, 3:
            self.write(f"shards/{i}.jsonl.gz", gzip.compress(b"".join(b'{"id": "order-%d", "v": 1}\n' % k for k in range(100 * i, 100 * i + 50))))
        self.write("more.jsonl", b'{"id": "order-120"}\n')
        self.check("A filter next to each shard", 5)

    # --- the crawler ---

    def links(self, page):
        choose = random.Random(page)
        return [choose.randrange(PAGES) for _ in range(4)] + [page + 1] * (page + 1 < PAGES)

    def make_site(self):
        """Makes pages whose links reach every page in the end. Each fetch is recorded."""
        for page in range(PAGES):
            self.write(f"site/{page}", "".join(f"http://site.example/{to}\n" for to in self.links(page)).encode())
        self.script(self.bin / "fetch", '#!/bin/sh\ncat\n[ ! -e "broken/${1##*/}" ] || exit 1\n'
                                        'echo "$1" >> fetched\nexec cat "site/${1##*/}"\n')

    def fetched(self):
        return [int(line.rpartition(b"/")[2]) for line in self.read("fetched").splitlines()]

    def test_crawler_recipe_fetches_every_page(self):
        self.make_site()
        self.check(CRAWLER, 3)
        self.assertEqual(sorted(self.fetched()), list(range(PAGES)))

    def test_addresses_without_a_final_newline_are_fetched(self):
        """At the end of pages, and of files in todo."""
        self.make_site()
        self.script(self.folder / "crawl", sessions.scripts(PARTS[CRAWLER])["crawl"])
        for page in range(PAGES):
            path = self.folder / "site" / str(page)
            path.write_bytes(path.read_bytes().rstrip(b"\n"))
        self.write("todo/1", b"http://site.example/0")
        self.write("todo/2", b"http://site.example/%d" % (PAGES - 1))
        self.assertTrue(self.crawl())
        self.assertEqual(sorted(self.fetched()), list(range(PAGES)))
        for name in "todo", "done":
            names = [path.read_bytes() for path in (self.folder / name).iterdir()]
            self.assertTrue(all(text.count(b"http") == len(text.split()) for text in names))

    def test_read_loops_keep_a_last_line_without_a_newline(self):
        for loop in re.findall(r"while.*?; do", TEXT):
            if " read " in loop:
                self.assertRegex(loop, r'read -r (\w+)( \w+)* \|\| \[ -n "\$\1" \]; do')

    def test_unreachable_page_ends_the_crawl(self):
        self.make_site()
        self.script(self.folder / "crawl", sessions.scripts(PARTS[CRAWLER])["crawl"])
        self.write("todo/1", b"http://site.example/0\n")
        self.write("broken/7", b"")
        self.assertEqual(sessions.run("./crawl; echo $?", self.folder, self.bin), "1\n")
        self.assertNotEqual(os.listdir(self.folder / "todo"), [])
        os.unlink(self.folder / "broken/7")
        self.crawl()
        self.assertEqual(set(self.fetched()), set(range(PAGES)))

    def crawl(self, kill_at=0):
        """Continues the crawl and kills it before its command number `kill_at`. Returns whether it finished."""
        self.write("calls", b"0\n")
        path = os.pathsep.join([str(self.bin), *sessions.PATH, os.environ["PATH"]])
        process = subprocess.Popen(["./crawl"], cwd=self.folder, start_new_session=True, stderr=subprocess.PIPE,
                                   env={**os.environ, "PATH": path, "KILL_AT": str(kill_at)})
        _, message = process.communicate(timeout=TIMEOUT)
        self.assertEqual(message, b"")
        self.assertIn(process.returncode, [0, -signal.SIGKILL])
        return process.returncode == 0

    def test_killed_crawler_fetches_every_page(self):
        """Killed before each of its commands. Only one link leads to each page, so no page is found twice."""
        pages = 108
        self.script(self.bin / "fetch", '#!/bin/sh\necho "$1" >> fetched\n'
                                        'while read -r link; do echo "$link"; done < "site/${1##*/}"\n')
        for page in range(pages):
            leads_to = range(1, 104) if page == 0 else range(103 + page, pages)[:1]
            self.write(f"site/{page}", b"".join(b"http://site.example/%d\n" % to for to in leads_to))
        for command in "mkdir", "find", "bfcreate", "bfadd", "bfquery", "bfuniq", "rm", "split", "sync", "mv":
            real = shutil.which(command, path=os.pathsep.join([*sessions.PATH, os.environ["PATH"]]))
            self.script(self.bin / command, '#!/bin/sh\nread -r n < calls\necho $((n + 1)) > calls\n'
                                            f'[ $((n + 1)) != "$KILL_AT" ] || kill -9 0\nexec "{real}" "$@"\n')
        self.script(self.folder / "crawl", sessions.scripts(PARTS[CRAWLER])["crawl"])
        kill_at, came_to_its_end = 0, False
        while not came_to_its_end:
            for name in "todo", "done":
                shutil.rmtree(self.folder / name, ignore_errors=True)
            for name in "seen.bloom", "fetched":
                (self.folder / name).unlink(missing_ok=True)
            self.write("todo/1", b"http://site.example/0\n")
            kill_at += 1
            came_to_its_end = self.crawl(kill_at)
            self.assertTrue(self.crawl())
            self.check_all_fetched(kill_at, pages)
        self.assertGreater(kill_at, 30)

    def check_all_fetched(self, kill_at, pages):
        fetched = self.fetched()
        self.assertEqual(set(fetched), set(range(pages)), f"killed before command {kill_at}")
        self.assertLessEqual(len(fetched), pages + 100)
        done = [line for path in (self.folder / "done").iterdir() for line in path.read_bytes().splitlines()]
        self.assertEqual(len(done), len(set(done)))
        self.assertEqual(os.listdir(self.folder / "todo"), [])


if __name__ == "__main__":
    main()
