# SPDX-License-Identifier: MIT
"""The driver of SQL for tests/languages: commands on standard input, one answer a line. `test --driver` starts it."""
import json
import os
import re
import sqlite3
import sys
import zlib

FORMS = {512: "embedded", 4096: "file"}
MASK = 2**64 - 1


class Refusal(Exception):
    """An answer `error NAME`, or `error - TEXT`."""


class Driver:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.enable_load_extension(True)
        self.db.load_extension(os.environ["BLOOMFILE_EXTENSION"])
        self.image = None
        self.sticky = None

    def one(self, sql, *parameters):
        try:
            return self.db.execute(sql, parameters).fetchone()[0]
        except sqlite3.Error as error:
            name = re.search(r"\((BLOOMFILE_\w+)\)$", str(error))
            raise Refusal(name[1] if name else f"-\t{error}") from error

    def abilities(self):
        return "ok\tblocked classic counting ribbon slices series typed"

    def open(self, path, *names):
        if names and names[0] != "00000001":
            raise Refusal("BLOOMFILE_EHASH")  # SQL looks up keys, not digests
        with open(path, "rb") as file:
            image = file.read()
        info = json.loads(self.one("SELECT bloom_info(?)", image))
        self.image, self.sticky = image, None
        self.integers = info["key_kind"] == "integers"
        layers = info["layers"] or [info]
        n, m, k = (",".join(str(layer[field]) for layer in layers) for field in "nmk")
        kind = info["key_kind"] + (f" {info['key_size']}" if info["key_kind"] == "fixed" else "")
        return f"{info['layout']}\t{n}\t{m}\t{k}\t{int(info['seed'], 16)}\t{FORMS[info['header_size']]}\t{kind}"

    def keys(self, path):
        """Returns the lines of a file; as integers if these are the filter's keys and the lines have eight bytes."""
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")[:-1]
        return [int.from_bytes(line, "little", signed=True) if self.integers and len(line) == 8 else line for line in lines]

    def contains(self, key):
        """Looks up a key. An error that the C library has as "maybe" and a sticky error is also an error here."""
        try:
            return self.one("SELECT bloom_contains(?, ?)", self.image, key)
        except Refusal as refusal:
            if str(refusal) not in ("BLOOMFILE_EPAGE", "BLOOMFILE_EBODY", "BLOOMFILE_EHASH"):
                raise
            self.sticky = str(refusal)
            return 1

    def lookup(self, path):
        keys = self.keys(path)
        return f"{sum(map(self.contains, keys))}\t{len(keys)}"

    def batch(self, path):
        """Looks up all keys in one statement; damage ends it, so the keys are then looked up one by one."""
        keys = [(key,) for key in self.keys(path)]
        self.db.execute("CREATE TEMP TABLE IF NOT EXISTS keys (key)")
        self.db.execute("DELETE FROM keys")
        self.db.executemany("INSERT INTO keys VALUES (?)", keys)
        try:
            return f"{self.one('SELECT total(bloom_contains(?, key)) FROM keys', self.image):.0f}\t{len(keys)}"
        except Refusal:
            return self.lookup(path)

    def random(self, seed, count):
        state, answers = int(seed), bytearray()
        for _ in range(int(count)):
            state = (state + 0x9E3779B97F4A7C15) & MASK
            z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            answers += b"01"[self.contains((z ^ (z >> 31)).to_bytes(8, "little")):][:1]
        return f"{answers.count(b'1')}\t{zlib.crc32(answers):08x}"

    def error(self):
        if self.sticky:
            raise Refusal(self.sticky)
        return ""

    def build(self, layout, n, m, k, seed, fpr, capacity, form, keys, out):
        """SQL chooses the size from the keys and the rate, so only such a filter can be built."""
        with open(keys, "rb") as file:
            rows = [(key,) for key in file.read().split(b"\n")[:-1]]
        self.db.execute("CREATE TEMP TABLE IF NOT EXISTS keys (key)")
        self.db.execute("DELETE FROM keys")
        self.db.executemany("INSERT INTO keys VALUES (?)", rows)
        image = self.one("SELECT bloom_build(key, ?, ?) FROM keys", float(fpr) or 0.01, layout)
        info = json.loads(self.one("SELECT bloom_info(?)", image))
        made = [info["n"], info["m"], info["k"], int(info["seed"], 16), info["fpr"], info["capacity"]]
        if made != [int(n), int(m), int(k), int(seed), float(fpr), int(capacity)] or form != "embedded":
            raise Refusal("-\tSQL chooses m, k, the seed and the capacity, and makes embedded images")
        with open(out, "wb") as file:
            file.write(image)
        return ""


def answer(driver, words):
    if words[0] not in ("abilities", "open", "lookup", "batch", "random", "error", "build"):
        return f"error\t-\tSQL has no {words[0]}"
    if driver.image is None and words[0] in ("lookup", "batch", "random"):
        return "error\t-\tno image is open"
    try:
        return "\t".join(filter(None, ["ok", getattr(driver, words[0])(*words[1:])]))
    except Refusal as refusal:
        return f"error\t{refusal}"
    except (OSError, TypeError, ValueError) as error:
        return f"error\t-\t{error}"


def main():
    driver = Driver()
    for line in sys.stdin:
        words = line.rstrip("\n").split("\t")
        print(driver.abilities() if words == ["abilities"] else answer(driver, words), flush=True)


if __name__ == "__main__":
    main()
