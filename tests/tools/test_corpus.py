# SPDX-License-Identifier: MIT
"""examples/corpus keeps the same texts as an exact computation: with one process, with many, and after kills."""

import collections
import fcntl
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys

import sessions
from support import SOURCE_ROOT, TIMEOUT, TOOLS, ToolTest, craft, main

CORPUS = SOURCE_ROOT / "examples" / "corpus"
TUTORIAL = (CORPUS / "TUTORIAL.md").read_text(encoding="utf-8")
EXACT = ("-p", "1e-9")
BIG = 12345678901234567890123  # does not fit into 64 bits


def words(text):
    """Splits the texts of this test as the example does."""
    return tuple(re.findall(r"\w+(?:[.'’]\w+)*|[^\w\s]", text))


def exact(documents, unit):
    """The rest of each remaining document, by id, computed with a set."""
    seen, kept = set(), {}
    for number, text in documents:
        if unit == "documents":
            if text not in seen:
                kept[number] = text.split("\n")
            seen.add(text)
            continue
        left, shorter = [], False
        for paragraph in text.split("\n"):
            all_words = words(paragraph)
            grams = [all_words[i:i + 13] for i in range(len(all_words) - 12)] if unit == "grams" else []
            grams = grams or [all_words]
            if len(all_words) >= 5:
                if sum(gram in seen for gram in grams) > 0.8 * len(grams):
                    shorter = True
                    continue
                seen.update(grams)
            left.append(paragraph)
        if not shorter or any(map(words, left)):
            kept[number] = left
    return kept


def corpus(count, seed=1):
    """Documents with repeated, nearly repeated and short paragraphs, and repeated documents."""
    choose = random.Random(seed)
    vocabulary = ["".join(choose.choices("etaoinshrdlu", k=choose.randrange(1, 9))) for _ in range(3000)] + ["don't", "it’s", "café"]

    def paragraph():
        return " ".join(f"“{sentence}”" if choose.random() < 0.2 else f"{sentence}."
                        for sentence in (" ".join(choose.choices(vocabulary, k=choose.randrange(3, 25)))
                                         for _ in range(choose.randrange(1, 6))))

    def near(text):
        parts = text.split(" ")
        parts[choose.randrange(len(parts))] = choose.choice(vocabulary)
        return "  ".join(parts) if choose.random() < 0.3 else " ".join(parts)

    pool, texts = [paragraph() for _ in range(count // 4)], []
    for _ in range(count):
        if texts and choose.random() < 0.1:
            texts.append(choose.choice(texts))
            continue
        kinds = choose.choices("prnse", [60, 15, 15, 5, 5], k=choose.randrange(1, 8))
        texts.append("\n".join({"p": paragraph, "r": lambda: choose.choice(pool), "n": lambda: near(choose.choice(pool)),
                                "s": lambda: "Home | About", "e": str}[kind]() for kind in kinds))
    return list(enumerate(texts))


def by_id(lines):
    return {document["id"]: document["text"].rstrip("\n").split("\n") for document in map(json.loads, lines)}


class Corpus(ToolTest):
    def setUp(self):
        if "EXAMPLE_DEDUPE" not in os.environ:
            self.skipTest("dedupe is not built (Debian: g++ libsimdjson-dev libunistring-dev)")
        if missing := [name for name in ("bash", "zstd") if shutil.which(name) is None]:
            self.skipTest(f"needs {' and '.join(missing)}")
        super().setUp()
        TOOLS["dedupe"], TOOLS["shards.sh"] = os.environ["EXAMPLE_DEDUPE"], str(CORPUS / "shards.sh")
        self.path = [*{str(pathlib.Path(tool).parent) for tool in TOOLS.values()}]

    def packed(self, name, data, unpack=False):
        if name.endswith(".gz"):
            return gzip.decompress(data) if unpack else gzip.compress(data, 1)
        if name.endswith(".zst"):
            return subprocess.run(["zstd", "-qc", *["-d"] * unpack], input=data, stdout=subprocess.PIPE, check=True).stdout
        return data

    def shards(self, documents, names=("in/0.jsonl.gz", "in/1.jsonl.zst", "in/2.jsonl")):
        """The documents in order, a part in each shard."""
        for i, name in enumerate(names):
            part = documents[i * len(documents) // len(names):(i + 1) * len(documents) // len(names)]
            self.write(name, self.packed(name, b"".join(
                json.dumps({"id": number, "text": text, "n": BIG}, ensure_ascii=number % 2 == 0).encode() + b"\n"
                for number, text in part)))
        return names

    def run_shards(self, *arguments, status=0):
        result = subprocess.run([CORPUS / "shards.sh", *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.with_path(), timeout=TIMEOUT, check=False)
        self.assertEqual((result.returncode, result.stdout), (status, b""), result.stderr)
        return result.stderr.decode()

    def dedupe(self, *arguments, stdin, status=0):
        result = self.run_tool("dedupe", *arguments, stdin=stdin)
        self.assertEqual((result.returncode, result.stdout), (status, b""), result.stderr)
        return result.stderr.decode()

    def with_path(self, *more):
        return {**os.environ, "PATH": os.pathsep.join([*more, *self.path, os.environ["PATH"]])}

    def kept_lines(self, folder, names):
        lines = []
        for name in names:
            lines += self.packed(name, self.read(f"{folder}/{name}"), unpack=True).splitlines()
        self.assertTrue(all(b'"n": %d' % BIG in line for line in lines))
        self.assertEqual([str(path) for path in (self.folder / folder).rglob("*.part*")], [])
        return lines

    def paragraphs(self, kept):
        return collections.Counter(words(paragraph) for texts in kept.values() for paragraph in texts if len(words(paragraph)) >= 5)

    # --- kept texts ---

    def test_single_process_keeps_the_texts_of_an_exact_set(self):
        documents = corpus(300)
        names = self.shards(documents)
        for unit in "documents", "paragraphs", "grams":
            with self.subTest(unit=unit):
                self.run_shards("-j", "1", unit, "-u", unit, *EXACT, f"{unit}.bloom", "--", *names)
                expected = exact(documents, unit)
                self.assertLess(len(expected), 290)
                self.assertEqual(by_id(self.kept_lines(unit, names)), {
                    number: "\n".join(left).rstrip("\n").split("\n") for number, left in expected.items()})

    def test_exactly_one_of_many_processes_keeps_each_text(self):
        """All processes have the same documents."""
        documents = corpus(60)
        names = [f"{i}.gz" for i in range(4)]
        for name in names:
            self.shards(documents, [name])
        for unit in "documents", "paragraphs", "grams":
            self.run_shards("-j", "4", unit, "-u", unit, *EXACT, f"{unit}.bloom", "--", *names)
            lines = [json.loads(line) for line in self.kept_lines(unit, names)]
            if unit == "documents":
                self.assertEqual(sorted(line["text"] for line in lines), sorted({text for _, text in documents}))
                continue
            kept = self.paragraphs({i: line["text"].split("\n") for i, line in enumerate(lines)})
            everything = self.paragraphs(exact(documents, "paragraphs"))
            self.assertEqual(set(kept.values()), {1})
            if unit == "paragraphs":
                self.assertEqual(kept.keys(), everything.keys())
            else:
                self.assertLessEqual(kept.keys(), everything.keys())
                self.assertGreaterEqual(len(kept), 0.9 * len(self.paragraphs(exact(documents, unit))))

    def test_words_are_split_by_unicode_rules(self):
        """A paragraph is counted only if it has at least five words."""
        self.dedupe("f.bloom", "none", stdin=b"")
        for count, text in (1, "can't"), (1, "3.14"), (1, "1,000;5"), (1, "a.b:c'd_e1"), (1, "naïve"), (1, "e\u0301x"), (4, "d''t"), \
                (2, "a,"), (3, "a,b"), (3, "1:2"), (1, "it’s"), (3, "“a”"), (2, "日本"), (1, "カタ"), (1, "a\u200db"), (0, "\t \u2003\xa0"), \
                (1, "👩\u200d👧"), (4, "(a)."):
            for fewer in 0, 1:
                line = json.dumps({"text": text + " x" * (5 - count - fewer)}).encode()
                said = self.dedupe("-r", "f.bloom", f"{text.encode().hex()}{fewer}", stdin=line)
                self.assertIn(f"; {1 - fewer} paragraphs, ", said, text)

    def test_low_estimate_loses_no_text(self):
        documents = corpus(150)
        names = self.shards(documents)
        self.run_shards("-j", "1", "kept", "-n", "100", "f.bloom", "--", *names)
        kept, expected = (sum(self.paragraphs(each).values()) for each in
                          (by_id(self.kept_lines("kept", names)), exact(documents, "grams")))
        self.assertGreater(len(list(self.folder.glob("f.bloom.*"))), 4)
        self.assertLessEqual(kept, expected)
        self.assertGreater(kept, 0.995 * expected)

    def test_a_filter_that_cannot_grow_is_an_error(self):
        self.write("f.bloom.1/file", b"")
        names = self.shards(corpus(50))
        self.assertIn("not all shards are done", self.run_shards("kept", "-n", "100", "f.bloom", "--", *names, status=2))
        self.assertEqual([name for name in names if (self.folder / "kept" / name).exists()], [])

    def test_two_hosts_keep_the_texts_of_one_host(self):
        documents = corpus(150)
        names = self.shards(documents)
        for unit in "documents", "paragraphs":
            options = ["-u", unit, *EXACT]
            self.run_shards("-j", "1", "one", *options, "one.bloom", "--", *names)
            self.run_shards("-j", "1", "half", *options, "-s", "0/2", "a.bloom", "--", *names)
            os.chdir(self.folder / "half")
            self.addCleanup(os.chdir, "/")
            self.run_shards("-j", "1", "two", *options, "-s", "1/2", "b.bloom", "--", *(f"half/{name}" for name in names))
            self.assertEqual(self.kept_lines("two/half", names), self.kept_lines("one", names))
            keys = [int(re.search(r"(?m)^  keys +(\d+)", self.output("bfinspect", name).decode())[1]) for name in
                    ("one.bloom", "a.bloom", "b.bloom")]
            self.assertEqual(keys[0], keys[1] + keys[2])
            self.assertLess(max(keys[1:]), 0.65 * keys[0])
            for name in "one", "half", "two":
                shutil.rmtree(self.folder / name)
            for path in self.folder.glob("*.bloom"):
                path.unlink()

    # --- errors and kills ---

    def test_a_killed_process_loses_no_text(self):
        """Killed after it marked a document, with the document partly written or not at all."""
        documents = corpus(40)
        [name] = self.shards(documents, ["0.jsonl"])
        lines, arguments = self.read(name).splitlines(keepends=True), ["-u", "paragraphs", *EXACT, "f.bloom", "out"]
        out = self.folder / "out"
        for count in range(1, 40, 6):
            process = self.start("dedupe", *arguments)
            process.stdin.write(b"".join(lines[:count]))
            process.stdin.flush()
            self.until(lambda: out.exists() and out.read_bytes().count(b"\n") == count, process)  # pylint: disable=W0640
            process.kill()
            process.communicate()
            whole = out.read_bytes()[:-1].rfind(b"\n") + 1
            os.truncate(out, whole + (out.stat().st_size - whole) // 2 * (count % 2))
        self.dedupe(*arguments, stdin=b"".join(lines))
        self.assertEqual(self.read("out").count(b"\n"), 40)
        expected = self.paragraphs(exact(documents, "paragraphs"))
        found = self.paragraphs(by_id(line for line in self.read("out").splitlines() if line))
        self.assertEqual(found.keys(), expected.keys())
        self.assertLess(len(expected), sum(found.values()))
        self.assertLess(sum(found.values()), len(expected) + 7 * 7)

    def test_shard_killed_before_any_command_is_repeated(self):
        documents = corpus(12)
        names = self.shards(documents, ["a/0.gz"])
        (self.folder / "bin").mkdir()
        for command in "mkdir", "gzip", "dedupe", "sed", "sync", "mv", "rm":
            script = self.folder / "bin" / command
            real = shutil.which(command, path=self.with_path()["PATH"])
            script.write_text(f'#!/bin/sh\n[ "$KILL_AT" != "{command} $*" ] || kill -9 0\necho "{command} $*" >> ran\nexec "{real}" "$@"\n')
            script.chmod(0o755)
        command = [CORPUS / "shards.sh", "kept", "-u", "documents", *EXACT, "f.bloom", "--", *names]
        kill_at, ran = [""], None
        while kill_at:
            for left in "kept", "f.bloom", "ran":
                path = self.folder / left
                shutil.rmtree(path, ignore_errors=True)
                path.unlink(missing_ok=True)
            for at in kill_at[0], "":
                process = subprocess.Popen(command, cwd=self.folder, start_new_session=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                                           env={**self.with_path(str(self.folder / "bin")), "KILL_AT": at})
                process.communicate(timeout=TIMEOUT)
                self.assertEqual(process.returncode, -signal.SIGKILL if at else 0, at)
            if ran is None:
                ran = kill_at = [""] + list(dict.fromkeys(self.read("ran").decode().splitlines()))
                self.assertGreater(len(ran), 8)
            kill_at = kill_at[1:]
            texts = [json.loads(line)["text"] for line in self.kept_lines("kept", names)]
            self.assertEqual(set(texts), {text for _, text in documents})
            self.assertLessEqual(len(texts), len(set(texts)) + 1)

    def test_filter_is_refused_and_rebuilt_after_a_crash(self):
        documents = corpus(60)
        names = self.shards(documents)
        run = ["kept", "-u", "documents", *EXACT, "f.bloom", "--"]
        self.run_shards("-j", "1", *run, *names)
        os.rename(self.folder / "kept" / names[2], self.folder / "kept" / (names[2] + ".part"))
        self.write("f.bloom", craft.edit(self.read("f.bloom"), record={"boot_id": bytes(range(16))}))
        self.assertIn("(TUTORIAL.md: After a crash)", self.run_shards(*run, *names, status=2))
        for path in self.folder / "f.bloom", self.folder / "kept" / (names[2] + ".part"):
            path.unlink()
        self.run_shards("again", *run[1:], *(f"kept/{name}" for name in names[:2]))
        self.run_shards(*run, *names)
        self.assertEqual(by_id(self.kept_lines("kept", names)).keys(), exact(documents, "documents").keys())

    def test_lines_that_are_not_documents_are_errors(self):
        good = b'{"text": "a"}\n'
        for line in b"x", b"[]", b'{"a": 1}', b'{"text": 1}', b'{"text": "a"', b'{"text": "a"} {}', b'{"text": "\xff"}', \
                b'{"text": "\\ud800"}', b'{"text": "a" "b": 1}':
            self.write("in.jsonl", good + b"\n" + line + b"\n" + good)
            said = self.run_shards("kept", "f.bloom", "--", "in.jsonl", status=2)
            self.assertIn("dedupe: cannot read line 3: field text: ", said)
            self.assertFalse((self.folder / "kept/in.jsonl").exists())
        self.write("in.jsonl", b"\n" + good + b'{"text": "b"}')
        self.run_shards("kept", "f.bloom", "--", "in.jsonl")
        self.assertEqual(self.read("kept/in.jsonl"), b'{"text": "a"}\n{"text": "b"}\n')

    def test_a_truncated_shard_is_an_error(self):
        names = self.shards(corpus(50), ["0.gz", "1.gz"])
        self.write("0.gz", self.read("0.gz")[:-20])
        self.run_shards("kept", "f.bloom", "--", *names, status=2)
        self.assertEqual([path.name for path in (self.folder / "kept").glob("*.gz")], ["1.gz"])

    def test_a_damaged_or_other_filter_removes_nothing(self):
        documents = corpus(50)
        names = self.shards(documents)
        self.run_shards("-j", "1", "kept", "f.bloom", "--", *names)
        self.output("bfseal", "-q", "f.bloom", "sealed.bloom")
        sealed = bytearray(self.read("sealed.bloom"))
        self.assertIn("tag", self.run_shards("other", "-u", "documents", "f.bloom", "--", *names, status=2))
        self.assertIn("sealed", self.run_shards("other", "sealed.bloom", "--", *names, status=2))
        self.run_shards("none", "-r", "sealed.bloom", "--", *names)
        self.assertEqual(self.read("sealed.bloom"), sealed)
        self.assertEqual(self.paragraphs(by_id(self.kept_lines("none", names))), {})
        for at in range(4096, 3 * len(sealed) // 4, 4096):
            sealed[at + 100] ^= 1
        self.write("sealed.bloom", sealed)
        self.assertIn("cannot rely on sealed.bloom", self.run_shards("damaged", "-r", "sealed.bloom", "--", *names, status=2))
        self.assertEqual([path for path in (self.folder / "damaged").rglob("*.jsonl*") if path.suffix != ".part"], [])

    def test_commands_that_could_lose_a_shard_are_refused(self):
        self.shards(corpus(10), ["0.gz"])
        for arguments, reason in (["kept", "f.bloom", "--", "0.gz", "./0.gz"], "named twice"), \
                (["kept", "f.bloom", "--", "in/../0.gz"], "has .. in its path"), (["kept", "f.bloom", "--"], "usage"), \
                (["kept", "-u", "grams", "-s", "0/2", "f.bloom", "--", "0.gz"], "-s needs"), \
                (["kept", "-s", "2/2", "f.bloom", "--", "0.gz"], "usage: dedupe"), (["kept", "-p", "2", "f.bloom", "--", "0.gz"], "is not a number"):
            self.assertIn(reason, self.run_shards(*arguments, status=2))
        with open(self.folder / "kept/.lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("another run is using kept", self.run_shards("kept", "f.bloom", "--", "0.gz", status=2))
        self.write("out", b"{}\n" * 3)
        self.assertIn("more lines than the input", self.dedupe("f.bloom", "out", stdin=b'{"text": ""}\n', status=2))

    # --- the tutorial ---

    def test_tutorial_runs(self):
        documents = corpus(400)
        self.shards(documents, [f"in/{i}.jsonl.{'gz' if i % 2 else 'zst'}" for i in range(4)])
        asked = [text.split("\n")[0] for _, text in documents if len(words(text.split("\n")[0])) > 30][:5]
        self.write("benchmark.jsonl", b"".join(json.dumps({"text": text}).encode() + b"\n" for text in asked))
        more = str(CORPUS), str(pathlib.Path(os.environ["EXAMPLE_DEDUPE"]).parent)
        self.assertGreater(sessions.check(self, TUTORIAL, self.folder, *more), 10)


if __name__ == "__main__":
    sys.exit(main())
