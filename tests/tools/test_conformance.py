# SPDX-License-Identifier: MIT
"""The conformance suite (tests/golden/README.md) fails readers that break a rule.

Each broken reader is tests/spec/spec_reader.py with one rule removed from its text.
"""

import functools
import pathlib
import sys
import types
import unittest

from support import GOLDEN, REFUSED, SOURCE_ROOT, main, table

MODULES = "spec_slice", "spec_ribbon", "spec_reader", "spec_writer", "spec_series"
NO_PAGE_OF_POSITIONS = ("spec_reader", "if self.page_is_right(byte // 4096) and not", "if not")
NO_PAGE_OF_RIBBON = ("spec_reader", "not self.page_is_right(number) or spec_ribbon", "spec_ribbon")
BROKEN = {
    "never checks a page": [NO_PAGE_OF_POSITIONS, NO_PAGE_OF_RIBBON],
    "checks no page of blocked, classic and counting": [NO_PAGE_OF_POSITIONS],
    "checks no page of ribbon": [NO_PAGE_OF_RIBBON],
    "takes the first page for the others": [
        ("spec_reader", "self.page_is_right(byte // 4096)", "self.page_is_right(0)")],
    "ignores a body that contradicts the header": [
        ("spec_reader", "            self.distrust_all_pages()\n", "")],
    "ignores reserved bits of a head": [("spec_ribbon", " and value >> 23 & 511 == 0\n", "\n")],
    "solves a page of one group": [("spec_ribbon", "= 2 <= self.groups", "= 1 <= self.groups")],
    "goes on after a wrong hash name": [
        ("spec_reader", "        self.is_named = False\n        self.need(hash_id", "        self.need(hash_id")],
    "needs no hash name": [
        ("spec_reader", 'self.is_named = self.header["hash_id"] < APPLICATIONS', "self.is_named = True")],
    "takes no name after a wrong one": [
        ("spec_reader", "        self.is_named = True\n        return self", "        return self")],
    "does not compare self_test": [
        ("spec_reader", 'self.need(value == self.header["self_test"], "ESELFTEST")', "pass")],
    "verifies no layer behind a damaged one": [
        ("spec_reader", "                errors.append(refused)\n", "                raise\n")],
    "takes unknown states for live": [
        ("spec_reader", 'r["state"] in (LIVE, POISONED) and may_live', "may_live")],
    "looks for poison in intact records alone": [
        ("spec_reader", '(r["state"], other["state"]), "EPOISONED', '(r["state"], other["state"] * all(intact)), "EPOISONED')],
    "compares whether the kinds of layers are known, and no more": [
        ("spec_reader", 'header["compat"] & HAS_KEYS, keys_of(header)]', 'header["compat"] & HAS_KEYS]')],
    "counts every n as exact": [("spec_reader", "SEALED_SEQUENCE, N_ESTIMATED = 2**64 - 1, 1",
                                 "SEALED_SEQUENCE, N_ESTIMATED = 2**64 - 1, 0")],
    "knows 999 layers": [("spec_reader", "MOST_LAYERS = 1000", "MOST_LAYERS = 999")],
    "knows 999 generations": [("spec_reader", '2 <= h["generations"] <= 1000', '2 <= h["generations"] < 1000')],
    "joins slices of any keys": [("spec_slice", "return len(inputs) == 1 or", "return True or")],
    "joins slices that counted the same": [
        ("spec_slice", '(header["keys_read"], header["digest_sum"])', '(header["keys_read"], 0)')],
    "joins slices of the same sum": [
        ("spec_slice", '(header["keys_read"], header["digest_sum"])', '(0, header["digest_sum"])')],
}


def reader(changes=()):
    """spec_reader.py and the modules next to it, with some of their text changed."""
    made, kept = {}, {name: sys.modules.pop(name, None) for name in MODULES}
    try:
        for name in MODULES:
            path = SOURCE_ROOT / "tests/spec" / f"{name}.py"
            text = path.read_text()
            for module, old, new in changes:
                if module == name:
                    if text.count(old) != 1:
                        raise ValueError(f"{name}.py has {text.count(old)} times {old!r}")
                    text = text.replace(old, new)
            made[name] = sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__file__ = str(path)
            exec(compile(text, path, "exec"), vars(sys.modules[name]))
        made["spec_reader"].xxh3 = functools.lru_cache(None)(made["spec_reader"].xxh3)
    finally:
        sys.modules.update({name: module for name, module in kept.items() if module})
    return types.SimpleNamespace(**made)


def lines(name):
    return (GOLDEN / name).read_bytes().split(b"\n")[:-1]


def absent(row):
    return lines("keys/absent" + pathlib.Path(row["keys"]).suffix)


def error_of(call, *words):
    """The name of the error and the text after it, or `-` without an error."""
    try:
        call(*words)
    except ValueError as refused:
        return str(refused).partition("BLOOMFILE_")[2] or str(refused)
    return "-"


def path_of(row):
    return next(folder / row["file"] for folder in (REFUSED, GOLDEN) if (folder / row["file"]).exists())


# --- The parts of the suite. Each yields the reader's answers for a row and the expected answers. ---

def in_doubt(of, row):
    image = of.spec_reader.opened(path_of(row).read_bytes(), row["file"], True)
    names = [name.split() for name in row["names"].split(",") if name != "-"]
    yield [error_of(image.name, *(int(word, 16) for word in name)) for name in names], [
        error.removeprefix("BLOOMFILE_") for error in row["name_errors"].split(",")] * bool(names)

    def answers():
        return sum(map(image.maybe, absent(row))), all(map(image.maybe, lines(row["keys"])))

    yield answers(), (int(row["maybes"]), True)
    page = f" page {row['page']}" if row["page"] != "-" else ""
    yield error_of(image.verify), row["verify"].removeprefix("BLOOMFILE_") + page
    yield answers(), (int(row["maybes_verified"]), True)


def refused(of, row):
    error = error_of(lambda: of.spec_reader.opened((REFUSED / row["file"]).read_bytes(), "image").verify())
    yield error.split()[0], row["error"].removeprefix("BLOOMFILE_")


def headers(of, row):
    image = of.spec_reader.opened((GOLDEN / row["file"]).read_bytes(), row["file"], True)
    yield image.record["n"], int(row["n"])
    yield bool(image.record["flags"] & of.spec_reader.N_ESTIMATED), row["n_estimated"] == "1"


def live_series(of, row):
    if row["file"].startswith("live/"):
        name = None if row["hash"] == "xxh3" else tuple(int(word, 16) for word in row["hash"].split())
        series = of.spec_series.LiveSeries(GOLDEN / row["file"], application=name)
        yield all(map(series.maybe, lines(row["keys"]))), True
        series.close()


def no_wholes(of, row):
    options = types.SimpleNamespace(embedded=True, as_is=False)
    of.spec_reader.seal = lambda *_: None
    paths = [GOLDEN / name for name in row["slices"].split(",")]
    yield error_of(of.spec_reader.join, options, "out", *paths), row["error"].removeprefix("BLOOMFILE_")


SUITE = ((in_doubt, REFUSED / "doubt.tsv"), (refused, REFUSED / "index.tsv"), (headers, GOLDEN / "index.tsv"),
         (live_series, GOLDEN / "series.tsv"), (no_wholes, REFUSED / "slices.tsv"))


def failures(of):
    """The rows that a reader fails."""
    for part, path in SUITE:
        for row in table(path):
            try:
                if any(got != wanted for got, wanted in part(of, row)):
                    yield path.name, row
            except Exception as error:  # a crash fails the row too
                yield path.name, row, error


class Conformance(unittest.TestCase):
    def test_reader_that_follows_the_text_passes(self):
        self.assertEqual(list(failures(reader())), [])

    def test_readers_that_break_a_rule_fail(self):
        for rule, changes in BROKEN.items():
            with self.subTest(rule):
                self.assertIsNotNone(next(failures(reader(changes)), None))


if __name__ == "__main__":
    main()
