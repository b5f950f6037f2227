#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: run.py [--table | --check-table FILE] NAME=COMMAND...

Run the drivers of the languages NAME over the conformance suite, and compare their answers with its tables and with
each other: README.md. The first must be the C library, which makes the random filters. --table prints the table of
languages and abilities; --check-table compares it with FILE. A driver that exits with 77 is skipped, with its reason."""
import contextlib
import csv
import hashlib
import itertools
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
GOLDEN, REFUSED = TREE / "tests/golden", TREE / "tests/golden-refused"
sys.path.insert(0, str(GOLDEN))
import craft  # noqa: E402
import craft_series  # noqa: E402

LACKING = {"BLOOMFILE_ELAYOUT", "BLOOMFILE_EFEATURE", "BLOOMFILE_EHASH", "BLOOMFILE_ELIVE"}
RANDOM_FILTERS, RANDOM_LOOKUPS = 20, 50_000
ABILITIES = {
    "blocked": "blocked", "classic": "classic", "counting": "counting", "ribbon": "ribbon", "slices": "slices",
    "series": "sealed series", "live": "live filters and live series", "applications": "applications' hashes",
    "verify": "verify the body",
    "build-blocked": "build blocked", "build-classic": "build classic", "build-ribbon": "build ribbon", "fold": "fold",
    "union": "union", "join": "join slices", "intersection": "intersection", "diff": "make patches", "apply": "apply patches",
}


class Skipped(Exception):
    pass


class Driver:
    """The driver of a language, running."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.failures = []
        self.checks = 0
        answer = self.process_line("abilities")
        if answer.startswith("skipped: "):
            raise Skipped(answer.removeprefix("skipped: "))
        self.abilities = set(answer.removeprefix("ok\t").split())
        self.typed = "typed" in self.abilities
        self.abilities.discard("typed")
        unknown = self.abilities - ABILITIES.keys()
        if unknown:
            raise ValueError(f"{name} has abilities that no test proves: {unknown}")

    def process_line(self, *words):
        line = "\t".join(map(str, words)).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):  # it has ended, perhaps with a reason
            self.process.stdin.write(line)
            self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise EOFError(f"{self.name} ended at {line!r}")
        return answer.decode().rstrip("\n")

    def ask(self, *words):
        return self.process_line(*words).split("\t")

    def has(self, *abilities):
        return self.abilities.issuperset(abilities)

    def expect(self, claim, got, wanted):
        self.checks += 1
        if got != wanted:
            self.failures.append(f"{claim}: {' '.join(got)}, not {' '.join(wanted)}")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def can_open(driver, *paths):
    """Whether a driver has the abilities for these golden files, by their names."""
    return driver.has("applications") or not any("application" in Path(path).name for path in paths)


def count_lines(path):
    return Path(path).read_bytes().count(b"\n")


def needs(row):
    abilities = {row["layout"]}
    if row.get("first_block", "-") != "-":
        abilities.add("slices")
    if row["hash"] != "xxh3":
        abilities.add("applications")
    if "layers" in row:
        abilities.add("live" if row["file"].startswith("live/") else "series")
    return abilities


def name_of(row):
    return [] if row["hash"] == "xxh3" else row["hash"].split()


def absent_keys(keys):
    return GOLDEN / ("keys/absent.digests" if keys.endswith(".digests") else "keys/absent.keys")


# ------------------------------------------------------------------------------------------------- the suite

def kind_error(driver, row):
    """The error of lookups of other keys than the filter's kind, in a language whose keys have types."""
    kinds = {"newer": "BLOOMFILE_EFEATURE", "fixed": "BLOOMFILE_EKEYKIND", "integers": "BLOOMFILE_EKEYKIND"}
    return kinds.get(row.get("key_kind", "").split(" ")[0]) if driver.typed else None


def expect_lookups(driver, claim, keys, maybes, error=None):
    present, absent = GOLDEN / keys, absent_keys(keys)
    if error:
        for command in ["lookup", "batch"]:
            driver.expect(f"{claim}: {command} of absent keys", driver.ask(command, absent), ["error", error])
        return
    for command in ["lookup", "batch"]:
        lines = count_lines(present)
        driver.expect(f"{claim}: {command} of its keys", driver.ask(command, present), ["ok", str(lines), str(lines)])
        driver.expect(f"{claim}: {command} of absent keys", driver.ask(command, absent),
                      ["ok", str(maybes), str(count_lines(absent))])


def test_golden_files_answer_as_listed(driver, table):
    """Every golden file opens, is whole, and answers as its row says."""
    for row in rows(GOLDEN / table):
        claim, answer = row["file"], driver.ask("open", GOLDEN / row["file"], *name_of(row))
        if not driver.has(*needs(row)):
            driver.expect(f"{claim} is refused", [answer[0], str(answer[1] in LACKING)], ["error", "True"])
            continue
        form = row.get("form") or ("embedded" if len(answer) > 6 and answer[6] == "embedded" else "file")
        wanted = ["ok", *(row[c] for c in ["layout", "n", "m", "k", "seed"]), form, row["key_kind"]]
        if "layers" in row and answer[2:5] == ["-"] * 3:
            wanted[2:5] = answer[2:5]  # this language does not list layers
        driver.expect(claim, answer, wanted)
        if answer[0] != "ok":
            continue
        if driver.has("verify") and not row["file"].startswith("live/"):
            driver.expect(f"{claim} is whole", driver.ask("verify"), ["ok"])
        expect_lookups(driver, claim, row["keys"], row["maybes"], kind_error(driver, row))


def test_layers_of_two_versions_are_one_series(driver, folder):
    """An older writer makes the next layer without the bits of `compat` that it does not know: slices.md 2.1."""
    row = next(row for row in rows(GOLDEN / "series.tsv") if row["file"] == "series-3.bloom")
    layers = craft_series.split((GOLDEN / row["file"]).read_bytes())
    for number in range(len(layers) if driver.has("series") else 0):
        mixed = [*layers]
        mixed[number] = craft.edit(mixed[number], header={"compat": craft.field(mixed[number], "compat") | 1 << 31})
        (folder / "mixed").write_bytes(craft_series.relinked(mixed))
        claim = f"series-3.bloom with an unknown bit in layer {number}"
        driver.expect(claim, driver.ask("open", folder / "mixed")[:1], ["ok"])
        expect_lookups(driver, claim, row["keys"], row["maybes"])


def test_refused_files_have_the_listed_error(driver, table):
    """Every refused file is refused, with the error of its row."""
    for row in rows(REFUSED / table):
        answer = driver.ask("open", REFUSED / row["file"])
        if answer[0] == "ok":
            if row["rule"] == "12.4" and not driver.has("verify") or row["rule"] == "V36" and driver.has("live"):
                continue
            answer = driver.ask("verify")
        if answer[0] == "error" and answer[1] in LACKING and not driver.has(*ABILITIES.keys() - {"live"}):
            continue  # an earlier rule, for a reader without that ability
        if driver.has("live") and row["rule"] in ("V36", "S2") or table == "series.tsv" and not driver.has("live"):
            driver.expect(f"{row['file']} is refused", answer[:1], ["error"])
        else:
            driver.expect(f"{row['file']} is refused", answer[:2], ["error", row["error"]])


def open_named(driver, row, path):
    """Open a file of doubt.tsv by each of its names. Return the last answer."""
    if row["names"] == "-":
        return driver.ask("open", path)
    answer = []
    for name, error in zip(row["names"].split(","), row["name_errors"].split(",")):
        answer = driver.ask("open", path, *name.split())
        driver.expect(f"{row['file']} under the name {name}", answer[:1] if error == "-" else answer[:2],
                      ["ok"] if error == "-" else ["error", error])
    return answer


def expect_verdict(driver, claim, wanted):
    answer = driver.ask("verify")
    if len(answer) == 2 or answer[2:] == ["-"]:
        answer, wanted = answer[:2], wanted[:2]  # a language need not report the page
    driver.expect(claim, answer, wanted)


def test_damaged_files_answer_as_listed(driver):
    """Damaged images answer maybe where their damage matters, before and after verification."""
    for row in rows(REFUSED / "doubt.tsv"):
        path = next(folder / row["file"] for folder in [REFUSED, GOLDEN] if (folder / row["file"]).exists())
        if row["names"] != "-" and not driver.has("applications"):
            continue
        claim = f"{row['file']} with names {row['names']}"
        answer = open_named(driver, row, path)
        if answer[0] != "ok":
            if row["names"] == "-" and not (answer[1] in LACKING and not driver.has(*ABILITIES.keys() - {"live"})):
                driver.expect(claim, answer[:2], ["ok"])
            continue
        expect_lookups(driver, claim, row["keys"], row["maybes"])
        if not driver.has("verify"):
            continue
        verdict = ["ok"] if row["verify"] == "-" else ["error", row["verify"]]
        verdict += [row["page"]] if row["verify"] == "BLOOMFILE_EPAGE" else []
        expect_verdict(driver, f"{claim}: verify", verdict)
        expect_lookups(driver, f"{claim}, verified", row["keys"], row["maybes_verified"])
        open_named(driver, row, path)
        expect_verdict(driver, f"{claim}: verify first", verdict)
        expect_lookups(driver, f"{claim}, verified first", row["keys"], row["maybes_verified"])


# ---------------------------------------------------------------------------------- builders and operations

def options_of(row):
    """The options of bfcreate, or None if a driver cannot be given them."""
    words = shlex.split(row["bfcreate"])
    options = dict(zip(words[::2], words[1::2]))
    return options if options and options.keys() <= {"-l", "-m", "-k", "--seed", "--fpr", "--capacity"} else None


def test_builds_equal_the_golden_files(driver, folder):
    """A builder writes the golden bytes."""
    for row in rows(GOLDEN / "index.tsv"):
        options = options_of(row)
        if row["bfcreate"] == "-" or options is None or not driver.has(f"build-{row['layout']}"):
            continue
        distinct = len(set((GOLDEN / row["keys"]).read_bytes().split(b"\n")[:-1]))
        answer = driver.ask("build", row["layout"], distinct, row["m"], options.get("-k", 0), row["seed"],
                            options.get("--fpr", 0), options.get("--capacity", max(distinct, 1)), row["form"],
                            GOLDEN / row["keys"], folder / "built")
        driver.expect(f"{row['file']} is built", answer, ["ok"])
        if answer == ["ok"]:
            driver.expect(f"{row['file']} is built", [sha256(folder / "built")], [row["sha256"]])


def same_image(judge, wanted, made):
    """Whether two images are equal but for their forms and the number of keys: what operations leave to a program."""
    answers = []
    for path in [wanted, made]:
        answer = judge.ask("open", path)
        answers.append([answer[:2] + answer[3:6], judge.ask("verify"), judge.ask("random", 1, 100_000)])
    return answers[0] == answers[1]


def different_files(paths, folder):
    """The paths, with a copy in place of a path that is there before: a program may refuse a source that is named twice."""
    different = []
    for path in paths:
        different.append(shutil.copy(path, folder / f"copy-{path.name}") if path in different else path)
    return different


def test_operations_make_the_golden_results(driver, judge, folder):
    """Operations make the golden results."""
    for row in rows(GOLDEN / "operations.tsv"):
        verb, *factor = row["operation"].split()
        if verb not in ("fold", "union", "intersection") or not driver.has(verb):
            continue
        sources = different_files([GOLDEN / name for name in row["sources"].split(",")], folder)
        if not can_open(driver, *sources):
            continue
        order = [*factor, *sources, folder / "made"] if verb == "fold" else [folder / "made", *sources]
        answer = driver.ask(verb, *order)
        if answer == ["error", "BLOOMFILE_ELAYOUT"] and "counting" in row["sources"]:
            continue  # README.md allows it
        driver.expect(f"{row['result']} is made by {row['operation']}", answer, ["ok"])
        if answer == ["ok"]:
            same = same_image(judge, GOLDEN / row["result"], folder / "made")
            driver.expect(f"{row['result']} is the {verb}", [str(same)], ["True"])


def test_results_do_not_state_an_unknown_kind_of_keys(driver, folder):
    """A result has bit 0 of `compat` only if it has a kind of keys, and no other bit."""
    source = GOLDEN / "key-kind-unknown-said.bloom"
    for verb, order in {"fold": [1, source, folder / "made"], "union": [folder / "made", source]}.items():
        if driver.has(verb):
            driver.expect(f"{verb} of {source.name}", driver.ask(verb, *order), ["ok"])
            words = (folder / "made").read_bytes()[16:24].hex()
            driver.expect(f"{verb} of {source.name}: compat and ro_compat", [words], ["00" * 8])


def test_refused_operations_have_the_listed_error(driver, folder):
    """Operations on filters that do not fit are refused, with the error of the row."""
    for row in rows(REFUSED / "operations.tsv"):
        verb, *factor = row["operation"].split()
        sources = [GOLDEN / name for name in row["sources"].split(",")]
        if driver.has(verb) and can_open(driver, *sources):
            order = [*factor, *sources, folder / "made"] if verb == "fold" else [folder / "made", *sources]
            answer = driver.ask(verb, *order)
            if answer == ["error", "BLOOMFILE_ELAYOUT"] and "counting" in row["sources"]:
                continue  # README.md allows it
            driver.expect(f"{row['operation']} of {row['sources']}", answer[:2], ["error", row["error"]])


def test_slices_join_as_listed(driver, folder):
    """Slices join into the whole filter, and other sets are refused."""
    if not driver.has("join"):
        return
    for row in rows(GOLDEN / "slices.tsv"):
        slices = [GOLDEN / name for name in row["slices"].split(",")]
        if not can_open(driver, *slices):
            continue
        answer = driver.ask("join", folder / "whole", *slices)
        driver.expect(f"join {row['slices']}", answer, ["ok"])
        if answer == ["ok"]:
            driver.expect(f"join {row['slices']}", [sha256(folder / "whole")], [row["sha256"]])
    for row in rows(REFUSED / "slices.tsv"):
        slices = [GOLDEN / name for name in row["slices"].split(",")]
        answer = driver.ask("join", folder / "refused", *slices)
        if can_open(driver, *slices):
            driver.expect(f"join {row['slices']}", answer[:2], ["error", row["error"]])


def test_patches_equal_the_golden_patches(driver, folder):
    """Patches are made and applied byte for byte, and damaged patches are refused."""
    for row in rows(GOLDEN / "patches.tsv"):
        base, result, patch = (GOLDEN / row[column] for column in ["base", "result", "patch"])
        if not can_open(driver, base):
            continue
        if driver.has("diff"):
            driver.expect(f"make {row['patch']}", driver.ask("diff", base, result, folder / "patch"), ["ok"])
            driver.expect(f"make {row['patch']}", [sha256(folder / "patch")], [row["sha256"]])
        if driver.has("apply"):
            driver.expect(f"apply {row['patch']}", driver.ask("apply", base, patch, folder / "result"), ["ok"])
            driver.expect(f"apply {row['patch']}", [sha256(folder / "result")], [sha256(result)])
    for row in rows(REFUSED / "patches.tsv") if driver.has("apply") else []:
        answer = driver.ask("apply", GOLDEN / row["base"], REFUSED / row["patch"], folder / "refused")
        driver.expect(f"apply {row['patch']}", answer[:2], ["error", row["error"]])


# ------------------------------------------------------------------------------------------ random filters

def random_builds(folder):
    """The words of commands that build random filters, always the same."""
    chance = random.Random(1)
    for i in range(RANDOM_FILTERS):
        count = chance.choice([1, 30, 1000, 20_000])
        keys = folder / f"keys-{i}"
        keys.write_bytes(b"".join(chance.randbytes(chance.randint(0, 300)).replace(b"\n", b" ") + b"\n"
                                  for _ in range(count)))
        layout = chance.choice(["blocked", "classic", "ribbon"])
        bits = count * chance.randint(6, 20)
        bits = bits if layout == "classic" else max(512, (bits + 511) // 512 * 512)
        hashes = 0 if layout == "ribbon" else chance.randint(1, 20)
        distinct = len(set(keys.read_bytes().split(b"\n")[:-1]))
        yield layout, ["build", layout, distinct, bits, hashes, chance.getrandbits(64), 0, distinct,
                       chance.choice(["file", "embedded"]), keys]


def test_random_filters_have_equal_answers_and_bytes(drivers, folder):
    """All languages answer alike in random filters, and their builders write the same bytes."""
    judge = drivers[0]
    for i, (layout, words) in enumerate(random_builds(folder)):
        path = folder / f"random-{i}"
        judge.expect(f"random filter {i}", judge.ask(*words, path), ["ok"])
        answers = None
        for driver in drivers:
            if driver.has(layout):
                driver.expect(f"open random filter {i}", driver.ask("open", path)[:1], ["ok"])
                got = [*driver.ask("lookup", words[-1]), *driver.ask("random", i, RANDOM_LOOKUPS)]
                answers = answers or got
                driver.expect(f"random lookups in filter {i}", got, answers)
            if driver is not judge and driver.has(f"build-{layout}"):
                driver.expect(f"build random filter {i}", driver.ask(*words, folder / "again"), ["ok"])
                driver.expect(f"bytes of random filter {i}", [sha256(folder / "again")], [sha256(path)])


# ---------------------------------------------------------------------------------------------------- main

def table_of(drivers):
    """A row for neighbours in ABILITIES that the same drivers have."""
    lines = ["| | " + " | ".join(driver.name for driver in drivers) + " |", "|---" * (len(drivers) + 1) + "|"]
    for has, abilities in itertools.groupby(ABILITIES, lambda ability: [driver.has(ability) for driver in drivers]):
        words = ", ".join(ABILITIES[ability] for ability in abilities)
        lines.append(f"| {words} | " + " | ".join("yes" if one else "-" for one in has) + " |")
    return "\n".join(lines) + "\n"


def cells(table):
    lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines() if line.startswith("|")]
    return {(words, column): cell for line in lines[2:] for words in line[0].split(", ")
            for column, cell in zip(lines[0][1:], line[1:])}


def check_table(drivers, path):
    text = Path(path).read_text()
    recorded = cells(text[text.index("\n| | C"):])
    for (ability, language), cell in cells(table_of(drivers)).items():
        drivers[0].expect(f"{path}: {ability} in {language}", [recorded.get((ability, language), "not there")], [cell])


def start(arguments):
    drivers, skipped = [], []
    for argument in arguments:
        name, command = argument.split("=", 1)
        try:
            drivers.append(Driver(name, command))
        except Skipped as reason:
            skipped.append(f"{name}: skipped: {reason}")
    return drivers, skipped


def test(driver, judge, folder):
    for table in ["index.tsv", "series.tsv"]:
        test_golden_files_answer_as_listed(driver, table)
        test_refused_files_have_the_listed_error(driver, table)
    test_layers_of_two_versions_are_one_series(driver, folder)
    test_damaged_files_answer_as_listed(driver)
    test_builds_equal_the_golden_files(driver, folder)
    test_operations_make_the_golden_results(driver, judge, folder)
    test_results_do_not_state_an_unknown_kind_of_keys(driver, folder)
    test_refused_operations_have_the_listed_error(driver, folder)
    test_slices_join_as_listed(driver, folder)
    test_patches_equal_the_golden_patches(driver, folder)


def main(arguments):
    option = arguments.pop(0) if arguments and arguments[0].startswith("--") else None
    page = arguments.pop(0) if option == "--check-table" else None
    drivers, skipped = start(arguments)
    if option == "--table":
        print(table_of(drivers), end="")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        # A second process of the first driver judges the results of operations.
        judge = Driver(*arguments[0].split("=", 1))
        for driver in drivers:
            test(driver, judge, Path(folder))
        test_random_filters_have_equal_answers_and_bytes(drivers, Path(folder))
    if page:
        check_table(drivers, page)
    for driver in drivers:
        print(f"{driver.name}: {driver.checks} checks, {len(driver.failures)} failures")
        for failure in driver.failures[:20]:
            print("   ", failure)
        driver.close()
    print(*skipped, sep="\n")
    return 1 if any(driver.failures for driver in drivers) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
