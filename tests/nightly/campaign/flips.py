# SPDX-License-Identifier: MIT
# build: plain
# targets: tests/nightly/campaign/flips tools/bfquery tools/bfinspect tools/bffold tools/bfmerge tools/bfseal
"""Damaged files: every bit, every truncation, and random damage, of every golden file. All keys are looked up
singly, in batches, through the inline header, in copies, and by the tools: no result may be "no"."""

import collections
import csv
import pathlib
import shutil
import struct
import subprocess
import sys

from campaign import BUILT, SOURCE_ROOT, Campaign, Found, main

GOLDEN = SOURCE_ROOT / "tests" / "golden"
PAGE, HEADER = 4096, 4096
BLOCK = 2048   # bits or lengths in one case
CHANCE = 1000  # random damages in one case
CHANCES = 1_000_000
HANGS = 600  # seconds; some damages take one second
TOOLS_EVERY = 500  # also through the tools, which take milliseconds


class Target:
    """A file to be damaged, and how it is opened."""

    def __init__(self, row, first, name, kind):
        self.first, self.name, self.kind = first, name, kind  # first: the path that is opened, relative to GOLDEN
        self.keys, self.key_kind = row["keys"], row["key_kind"]
        self.hash = [] if row["hash"] == "xxh3" else row["hash"].split()
        self.live = kind == "live series"
        self.size = (GOLDEN / name).stat().st_size
        # Bodies of live files have no checksums: only damage to the header can be detected.
        self.bits = 8 * (min(self.size, HEADER) if self.live else self.size)
        self.ignored = set(gaps((GOLDEN / name).read_bytes())) if kind == "sealed series" else set()

    def may_be_kept(self, damage):
        """Whether the damage may go unnoticed: live bodies have no checksums, and bytes between layers are
        ignored."""
        return self.live or damage[0] == "x" and self.ignored.issuperset(
            int(word.split(":")[0], 16) for word in damage.split()[1:])

    def ask(self, folder, damages, keys=None):
        """The result of flips for each damage to a copy in the folder."""
        for path in (GOLDEN / self.first).parent.glob(pathlib.Path(self.first).name + ("*" if self.live else "")):
            shutil.copy(path, folder)
        words = [BUILT / "tests/nightly/campaign/flips", folder / pathlib.Path(self.first).name,
                 folder / pathlib.Path(self.name).name, keys or GOLDEN / self.keys, *self.hash]
        try:
            run = subprocess.run(words, input="\n".join(damages) + "\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, timeout=HANGS, check=False)
        except subprocess.TimeoutExpired:
            raise Found(f"{self.name}: a lookup hangs, after one of the damages of this case") from None
        answers = run.stdout.splitlines()
        if run.returncode != 0 or len(answers) != len(damages):
            last = damages[min(len(answers), len(damages) - 1)]
            raise Found(f"{self.name}: flips ended with {run.returncode} at the damage '{last}'\n{run.stderr}",
                        {"damage": last})
        return answers


def rows_of(name):
    with open(GOLDEN / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def gaps(content):
    """The offsets of the bytes between the layers of a sealed series: slices.md 2.2."""
    at = 0
    while at < len(content):
        body_offset, body_size = struct.unpack_from("<QQ", content, at + 72)
        end = at + body_offset + body_size + 4 * -(-body_size // PAGE)
        at = -(-end // PAGE) * PAGE
        yield from range(end, min(at, len(content)))


def damaged(content, damage):
    if damage[0] == "c":
        return content[:int(damage[2:])]
    changed = bytearray(content)
    for word in damage.split()[1:]:
        offset, byte = (int(part, 16) for part in word.split(":"))
        changed[offset] ^= byte
    return bytes(changed)


def changes(content, other):
    """The damage that turns one into the other."""
    return "x " + " ".join(f"{i:x}:{a ^ b:x}" for i, (a, b) in enumerate(zip(content, other)) if a != b)


def by_chance(chance, content):
    """A kind, and a damage of that kind; None if the file stays the same."""
    size = len(content)
    kind = chance.choice(["1 bit", "2 bits", "3 bits", "burst", "bytes", "sector", "page", "pages exchanged"])
    new = bytearray(content)
    if kind in ("1 bit", "2 bits", "3 bits"):
        near = chance.random() < 0.5  # in one page, or anywhere
        at = chance.randrange(size)
        for _ in range(int(kind[0])):
            new[at] ^= 1 << chance.randrange(8)
            at = min(at - at % PAGE + chance.randrange(PAGE), size - 1) if near else chance.randrange(size)
    elif kind == "burst":  # at most 32 bits long
        first = chance.randrange(8 * size)
        for bit in range(first, min(first + chance.randint(2, 32), 8 * size)):
            new[bit // 8] ^= chance.randrange(2) << bit % 8
    elif kind == "bytes":
        at = chance.randrange(size)
        length = chance.randint(1, 64)
        new[at:at + length] = chance.choice([bytes(length), b"\xff" * length, chance.randbytes(length)])[:size - at]
    elif kind == "sector":
        at = chance.randrange(0, size, 512)
        new[at:at + 512] = chance.choice([bytes(512), chance.randbytes(512), content[:512]])[:size - at]
    elif kind == "page":
        at = chance.randrange(0, size, PAGE)
        new[at:at + PAGE] = chance.choice([bytes(PAGE), b"\xff" * PAGE])[:size - at]
    else:
        a, b = (PAGE * chance.randrange((size + PAGE - 1) // PAGE) for _ in range(2))
        length = min(PAGE, size - a, size - b)
        new[a:a + length], new[b:b + length] = content[b:b + length], content[a:a + length]
    return (kind, changes(content, new)) if new != content else None


class Flips(Campaign):
    unit = "damages"
    columns = ("refused", "maybe", "kept", "through tools")

    def prepare(self, folder):
        self.targets = []
        for row in rows_of("index.tsv"):
            kind = "slice" if row["first_block"] != "-" else row["layout"]
            self.targets.append(Target(row, row["file"], row["file"], kind))
        for row in rows_of("series.tsv"):
            path = GOLDEN / row["file"]
            if path.parent == GOLDEN:
                self.targets.append(Target(row, row["file"], row["file"], "sealed series"))
            else:
                self.targets += [Target(row, row["file"], str(layer.relative_to(GOLDEN)), "live series")
                                 for layer in sorted(path.parent.glob(path.name + "*"))]
        self.blocks = []
        for number, target in enumerate(self.targets):
            self.blocks += [("bits", number, first) for first in range(0, target.bits, BLOCK)]
            self.blocks += [("lengths", number, first) for first in range(0, target.size, BLOCK)]
        sealed = [number for number, target in enumerate(self.targets) if not target.live]
        self.blocks += [("chance", sealed[i % len(sealed)], 0) for i in range(CHANCES // CHANCE)]
        self.total = len(self.blocks)

    def describe(self, case):
        how, number, first = self.blocks[case]
        return f"{self.targets[number].name}: {how}" + (f" from {first}" if how != "chance" else "")

    def run(self, case, chance, folder):
        how, number, first = self.blocks[case]
        target = self.targets[number]
        content = (GOLDEN / target.name).read_bytes()
        if how == "bits":
            kinds = ["every bit"] * len(damages := [f"x {bit // 8:x}:{1 << bit % 8:x}" for bit in
                                                    range(first, min(first + BLOCK, target.bits))])
        elif how == "lengths":
            kinds = ["every length"] * len(damages := [f"c {length}" for length in
                                                       range(first, min(first + BLOCK, target.size))])
        else:
            pairs = [pair for _ in range(CHANCE) if (pair := by_chance(chance, content))]
            kinds, damages = zip(*pairs)
        rows = collections.defaultdict(collections.Counter)
        for kind, damage, answer in zip(kinds, damages, target.ask(folder, damages)):
            if answer == "unseen verify" and target.may_be_kept(damage):
                answer = "kept"
            if answer not in ("refused", "maybe", "kept") or (answer == "kept" and not target.may_be_kept(damage)):
                raise Found(f"{target.name}: {kind}: {answer} after the damage '{damage}'",
                            {"damaged.bloom": damaged(content, damage), "damage": damage})
            rows[f"{target.kind}: {kind}"].update({self.unit: 1, answer: 1})
        if not target.live and not target.hash:
            tools = folder / "tools"
            tools.mkdir()
            for kind, damage in list(zip(kinds, damages))[chance.randrange(TOOLS_EVERY)::TOOLS_EVERY]:
                self.ask_tools(target, damaged(content, damage), tools, target.may_be_kept(damage))
                rows[f"{target.kind}: {kind}"]["through tools"] += 1
        return rows

    def ask_tools(self, target, content, folder, kept):
        """bfquery must find all keys or fail; a tool that copies must fail or make a file with all keys."""
        keys = GOLDEN / target.keys
        path, copy = folder / "damaged.bloom", folder / "copy.bloom"
        path.write_bytes(content)

        def run(tool, *words):
            run = subprocess.run([BUILT / "tools" / tool, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=300, check=False)
            if run.returncode not in (0, 1, 2):
                raise Found(f"{target.name}: {tool} ended with {run.returncode}", {"damaged.bloom": content})
            return run

        asked = run("bfquery", "--as-is", path, keys)
        if asked.returncode != 2 and asked.stdout != keys.read_bytes():
            raise Found(f"{target.name}: bfquery lost a key and ended with {asked.returncode}", {"damaged.bloom": content})
        if run("bfinspect", "--verify", path).returncode == 0 and not kept:
            raise Found(f"{target.name}: bfinspect --verify takes it for whole", {"damaged.bloom": content})
        for words in ("bffold", "--factor", "1", path, copy), ("bfmerge", copy, path):
            if run(*words).returncode == 0 and target.key_kind != "newer":  # bfquery refuses such files
                asked = run("bfquery", "--as-is", copy, keys)
                if asked.returncode != 0 or asked.stdout != keys.read_bytes():
                    raise Found(f"{target.name}: {words[0]} made a copy of a damaged file, without all keys",
                                {"damaged.bloom": content, "copy.bloom": copy.read_bytes()})
                copy.unlink()


if __name__ == "__main__":
    sys.exit(main(Flips))
