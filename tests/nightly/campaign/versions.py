# SPDX-License-Identifier: MIT
# Debian: default-jdk-headless
# build: plain
# targets: tests/nightly/campaign/tomorrow
"""Golden files of each release (tags v*) and of the tree, read by the libraries for C and Java and by
tests/spec/spec_reader.py. Files of tomorrow are made from each: unknown bits, numbers, versions and reserved
bytes, with correct checksums. All readers must follow section 8 of format-spec.md. A case is one golden file."""

import csv
import io
import pathlib
import subprocess
import sys
import tarfile
from zlib import crc32

from campaign import BUILT, SOURCE_ROOT, Campaign, Found, cannot, main

sys.path[:0] = [str(SOURCE_ROOT / "tests" / "spec"), str(SOURCE_ROOT / "tests" / "golden")]
import craft  # noqa: E402
import spec_reader  # noqa: E402

JAVA = SOURCE_ROOT / "bindings" / "java" / "src" / "main" / "java"
USED = "full use"
PROBES = [f"tomorrow {i}" for i in range(200)]
LAYOUTS = [0, 5, 6, 2**16, 2**31, 2**32 - 1]
HASHES = [0, 2, 3, 2**16, 2**31 - 1]
VERSIONS = [0, 2, 3, 2**16, 2**32 - 1]
STATES = [0, 4, 5, 2**31]


def bits(first):
    return [1 << bit for bit in range(first, 32)]


def of_tomorrow(image):
    """(kind, changed image, the result of a reader, the result of a writer in place): USED, or the error."""
    def edit(kind, read, write, **changes):
        return kind, craft.edit(image, **changes), read, write

    def header(name):
        return craft.field(image, name)

    H, is_part = craft.header_size(image), header("incompat") != 0
    for value in bits(1):
        yield edit("compat", USED, USED, header={"compat": header("compat") | value})
    for value in bits(0):
        yield edit("ro_compat", USED, "EFEATURE", header={"ro_compat": value})
    for value in bits(2):
        yield edit("incompat", "EFEATURE", "EFEATURE", header={"incompat": header("incompat") | value})
    for value in VERSIONS:
        yield edit("version", "EVERSION", "EVERSION", header={"version": value})
        yield edit("version, all else unknown", "EVERSION", "EVERSION",
                   header={"version": value, "incompat": 2**32 - 1, "layout": 77, "hash_id": 99, "k": 1000, "m": 0})
    for value in LAYOUTS:
        yield edit("layout", "ELAYOUT", "ELAYOUT", header={"layout": value})
    for value in HASHES:
        yield edit("hash", "EHASH", "EHASH", header={"hash_id": value})
    for value in STATES:
        yield edit("state", "ESTATE", "ESTATE", record={"state": value})
    for value in bits(3):
        yield edit("provenance", USED, USED, header={"provenance": header("provenance") | value})
        yield edit("record flags", USED, USED, record={"flags": craft.field(image, "flags", 0) | value})
    reserved = [(H // 2 + 68, H // 4 - 72)] + ([] if is_part else [(240, H // 2 - 244)])
    for start, size in reserved:
        for offset in 0, size // 2, size - 1:
            at = {start + offset: b"\xff"}
            if start > H // 2:  # in both records
                at[start + offset + H // 4] = b"\xff"
            yield edit("reserved", USED, USED, at=at)


class Versions(Campaign):
    unit = "files"
    columns = ("read", "refused as said", "answers compared", "results compared", "written", "writers refused")

    def prepare(self, folder):
        self.classes = folder / "classes"
        made = subprocess.run(["javac", "-d", self.classes, *sorted(JAVA.rglob("[!m]*.java")),
                               SOURCE_ROOT / "tests" / "nightly" / "campaign" / "Tomorrow.java"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if made.returncode != 0:
            cannot(f"javac: {made.stdout}")
        self.cases = [("tree", row["file"], row["keys"], SOURCE_ROOT / "tests" / "golden", False)
                      for row in self.rows(SOURCE_ROOT / "tests")]
        self.cases.append(("tree", "live-clean.bloom", None, SOURCE_ROOT / "tests" / "golden-refused", True))
        for tag in self.tags():
            old = folder / tag
            archive = subprocess.run(["git", "-C", SOURCE_ROOT, "archive", tag, "tests/golden"], stdout=subprocess.PIPE,
                                     check=True).stdout
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(old)
            self.cases += [(tag, row["file"], row["keys"], old / "tests" / "golden", False)
                           for row in self.rows(old / "tests")]
        self.total = len(self.cases)

    def tags(self):
        """The release tags of this repository; an archive has no tags."""
        if not (SOURCE_ROOT / ".git").exists():
            return []
        listed = subprocess.run(["git", "-C", SOURCE_ROOT, "tag", "-l", "v*"], stdout=subprocess.PIPE, text=True, check=False)
        return listed.stdout.split()

    def rows(self, tests):
        with open(tests / "golden" / "index.tsv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        return [row for row in rows if row["hash"] == "xxh3" and "interrupted" not in row["file"]
                and "key-kind" not in row["file"]]  # Java refuses keys of another kind, C is given digests

    def describe(self, case):
        tag, name, *_ = self.cases[case]
        return f"{tag}: {name}"

    # ---- results of the three readers, as lists of words: open, verify, answers, status, fold, merge

    def ask(self, words, paths):
        run = subprocess.run(words, input="\n".join(map(str, paths)) + "\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, check=False)
        lines = run.stdout.replace("BLOOMFILE_", "").splitlines()
        if run.returncode != 0 or len(lines) != len(paths):
            raise Found(f"{pathlib.Path(words[0]).name}: status {run.returncode} after {len(lines)} of {len(paths)} files"
                        f"\n{run.stderr}")
        return [tuple(part.split()[1:] for part in line.replace(" write", "\nwrite").splitlines()) for line in lines]

    def by_python(self, path, keys):
        try:
            image = spec_reader.load(path, knows_applications=False).verify()
        except ValueError as error:
            return [str(error).split("BLOOMFILE_")[1].split()[0]]
        answers = "".join(str(int(image.maybe(key.encode()))) for key in keys)
        return ["ok", "ok", f"{crc32(answers.encode()):08x}", "ok"]

    def run(self, case, chance, folder):
        tag, name, keys_of, golden, is_live = self.cases[case]
        image = (golden / name).read_bytes()
        lines = (golden / keys_of).read_bytes().splitlines()[:100] if keys_of else []
        keys = [key.decode() for key in lines if _is_text(key)] + PROBES
        (folder / "keys").write_text("".join(key + "\n" for key in keys), encoding="utf-8")
        files = [(tag, image, USED, USED), *(of_tomorrow(image) if tag == "tree" else ())]
        paths = [folder / f"{number}.bloom" for number in range(len(files))]
        for path, file in zip(paths, files):
            path.write_bytes(file[1])
        java = self.ask(["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", self.classes, "Tomorrow", folder / "keys",
                         folder / "made"], paths)
        python = [self.by_python(path, keys) for path in paths]
        c = self.ask([BUILT / "tests" / "nightly" / "campaign" / "tomorrow", folder / "keys"], paths)  # last, because it writes
        rows = {}
        for number, (kind, changed, read, write) in enumerate(files):
            (said, wrote), by_java = c[number], java[number][0]
            def need(condition, what):
                if not condition:
                    raise Found(f"{name}, {kind}: {what}: C {said} {wrote}, Java {by_java}, Python {python[number]}",
                                {"file.bloom": changed})
            row = rows.setdefault(f"{'live, ' if is_live else ''}{kind}", dict.fromkeys(("files", *self.columns), 0))
            row["files"] += 1
            if read == USED:
                need(said == c[0][0], "C does not say what it says of the golden file")
                need(by_java == java[0][0] and python[number] == python[0], "another reader says something else")
                need(is_live or said[:4] == by_java[:4] == python[number] and said[0] == "ok", "readers differ")
                need(not is_live or (by_java == python[number] == ["ELIVE"] and said[0] == "ok"), "live files")
                row["read"] += 1
                row["answers compared"] += len(keys) * (1 if is_live else 3)
                row["results compared"] += len(said[4:])
            else:
                need(said == by_java == python[number] == [read], f"{read} is due")
                row["refused as said"] += 1
            if is_live:
                due = ["ok", "ok", "ok", "1"] if write == USED else [write]
                need(wrote == due, f"a writer should say {due}")
                row["written" if write == USED else "writers refused"] += 1
                if write == USED:  # L11: unknown fields are kept
                    kept = paths[number].read_bytes()
                    need(kept[:craft.header_size(image) // 2] == changed[:craft.header_size(image) // 2], "header changed")
                    need(craft.field(kept, "flags", 0) & ~7 == craft.field(changed, "flags", 0) & ~7, "flags are lost")
                    start, end = craft.header_size(image) // 2 + 144, craft.header_size(image) * 3 // 4 - 4
                    need(kept[start:end] == changed[start:end], "reserved bytes are lost")
                else:
                    need(paths[number].read_bytes() == changed, "a refused writer changed the file")
        return rows


def _is_text(key):
    try:
        return key.decode().isprintable() and key != b""
    except UnicodeDecodeError:
        return False


if __name__ == "__main__":
    sys.exit(main(Versions))
