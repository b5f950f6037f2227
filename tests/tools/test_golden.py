# SPDX-License-Identifier: MIT
"""The files in tests/golden and tests/golden-refused, read by both implementations."""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

from support import GOLDEN, REFUSED, SOURCE_ROOT, ToolTest, craft, main, once, sha256, table

import spec_series

GOOD = table(GOLDEN / "index.tsv")
BY_XXH3 = [row for row in GOOD if row["hash"] == "xxh3"]
NEWER = [row for row in GOOD if row["key_kind"] == "newer"]
BAD = table(REFUSED / "index.tsv")
SERIES = table(GOLDEN / "series.tsv")
BAD_SERIES = table(REFUSED / "series.tsv")
SLICES = table(GOLDEN / "slices.tsv")
BAD_SLICES = table(REFUSED / "slices.tsv")
# Messages of the tools for these errors if headers show which layer is wrong.
BLAMED = {
    "BLOOMFILE_ESERIES": r": (its layer \S+ (is|belongs to) (layer|another series|an older|a separate filter)|it is only layer \d"
                         r"|its layer \d, at byte \d+: it was not sealed|it begins with layer \d)",
    "BLOOMFILE_EMISSINGLAYER": r": its layer \S+ is (missing|layer|an older)",
}
WORDS = dict(re.findall(r"(BLOOMFILE_E\w+) =\s*-\d+,\s*/\* (.*?) \*/",
                        (SOURCE_ROOT / "include" / "bloomfile_error.h").read_text()))
# The error for a filter that was live during another boot.
UNCLEAN = ("BLOOMFILE_EUNCLEAN" if pathlib.Path("/proc/sys/kernel/random/boot_id").exists()
           else "BLOOMFILE_ENOBOOT")
STATES = "V35", "V36"  # rules about states; the images are undamaged
# Errors about arguments, the machine and its present boot, special files, and operations that a good file does not
# support.
NOT_OF_FILES = {"BLOOMFILE_ENOTREGULAR", "BLOOMFILE_ESTRUCTSIZE", "BLOOMFILE_EFLAGS", "BLOOMFILE_EVALUE",
                "BLOOMFILE_ETOOBIG",
                "BLOOMFILE_EUNREACHABLE", "BLOOMFILE_ESEALED",
                "BLOOMFILE_EREADONLY", "BLOOMFILE_ENOTCOUNTING", "BLOOMFILE_EABSENT",
                "BLOOMFILE_EFACTOR", "BLOOMFILE_EOVERRATE", "BLOOMFILE_EDIFFERENTLAYOUT",
                "BLOOMFILE_EDIFFERENTHASH", "BLOOMFILE_EDIFFERENTHASHCOUNT",
                "BLOOMFILE_EDIFFERENTSEED", "BLOOMFILE_EDIFFERENTTAG", "BLOOMFILE_EKEYKIND", "BLOOMFILE_EISCOUNTING", "BLOOMFILE_ENOTCOMPACT",
                "BLOOMFILE_EREPLACED", "BLOOMFILE_ECHANGED", "BLOOMFILE_EFILESYSTEM",
                "BLOOMFILE_ENOBOOT", "BLOOMFILE_EDIFFERENTBITS", "BLOOMFILE_EDIFFERENTFORM",
                "BLOOMFILE_EPATCH", "BLOOMFILE_EDIFFERENTBASE", "BLOOMFILE_EISSERIES",
                "BLOOMFILE_EISRIBBON", "BLOOMFILE_EISSLICE", "BLOOMFILE_EFULL"}


def layers_of(row):
    """The bytes of the files of a series, the oldest layer first."""
    path = GOLDEN / row["file"]
    files = [path] if not row["file"].startswith("live/") else path.parent.iterdir()
    return sorted((file.read_bytes() for file in files), key=lambda data: craft.field(data, "layer"))


def application_of(row):
    """hash_id and self_test of an application's hash function; None for XXH3."""
    return None if row["hash"] == "xxh3" else tuple(int(word, 16) for word in row["hash"].split())


def error_of_path(row):
    """The error when opened by path: a live file is refused only if it was in use during another boot."""
    if not row["error"].endswith("ELIVE"):
        return row["error"]
    clean = row["file"] in ("live-clean.bloom", "live-just-created.bloom")
    return None if clean else UNCLEAN


def error_of_series(row):
    return UNCLEAN if row["error"] == "BLOOMFILE_EUNCLEAN" else row["error"]


@once
class Folders(unittest.TestCase):
    def test_files_equal_the_output_of_the_scripts(self):
        for folder in GOLDEN, REFUSED:
            result = subprocess.run([sys.executable, "-B", str(folder / "make.py"), "--check"],
                                    stdout=subprocess.PIPE)
            self.assertEqual((result.returncode, result.stdout), (0, b""))

    def test_files_match_their_checksums(self):
        for row in GOOD:
            self.assertEqual(sha256((GOLDEN / row["file"]).read_bytes()), row["sha256"], row)
        for row in SERIES:
            self.assertEqual(sha256(b"".join(layers_of(row))), row["sha256"], row)

    def test_folder_stays_small(self):
        sizes = [path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()]
        self.assertLess(sum(sizes), 1_100_000)

    def test_every_layout_has_a_file_in_both_forms(self):
        found = {(row["layout"], row["form"]) for row in GOOD}
        self.assertEqual(found, {(layout, form) for layout in ("blocked", "classic", "counting", "ribbon")
                                 for form in ("file", "embedded")})

    def test_every_error_of_a_file_has_a_file(self):
        names = set(WORDS)
        self.assertGreater(len(names), 20)
        refused = {row["error"] for row in BAD + BAD_SERIES + BAD_SLICES}
        self.assertEqual(refused, names - NOT_OF_FILES)

    def test_every_rule_has_a_file(self):
        text = "".join((SOURCE_ROOT / name).read_text() for name in ("format-spec.md", "doc/format/slices.md"))
        rules = dict(re.findall(r"^\| (V\d+) \|.*\| (BLOOMFILE_\w+(?: or BLOOMFILE_\w+)?) \|$",
                                text, re.M))
        self.assertGreaterEqual(len(rules), 36)
        used = {}
        for row in BAD:
            used.setdefault(row["rule"], set()).add(row["error"])
        self.assertEqual({rule: set(errors.split(" or ")) for rule, errors in rules.items()},
                         {rule: used.get(rule) for rule in rules})


class Slices(ToolTest):
    """The files of each row, joined by both implementations."""

    def join(self, row):
        paths = [GOLDEN / name for name in row["slices"].split(",")]
        python = subprocess.run(
            [sys.executable, "-B", craft.READER, "join", "by-python", *paths],
            cwd=self.folder, stderr=subprocess.PIPE)
        result = self.run_tool("bfmerge", "--slices", "-f", "--discard", "-q", "by-c", *paths)
        self.assertEqual(python.returncode, result.returncode, result.stderr)
        return python.stderr.decode(), result.stderr

    def test_golden_slices_join(self):
        for row in SLICES:
            with self.subTest(row["slices"]):
                self.assertEqual(self.join(row), ("", b""))
                self.assertEqual(sha256(self.read("by-python")), row["sha256"])
                self.assertEqual(self.read("by-c"), self.read("by-python"))

    def test_whole_of_a_golden_join_is_a_golden_file(self):
        self.assertGreaterEqual({row["sha256"] for row in GOOD}, {SLICES[1]["sha256"]})

    def test_incomplete_sets_are_refused(self):
        self.assertGreater(len(BAD_SLICES), 10)
        for row in BAD_SLICES:
            with self.subTest(row["slices"]):
                by_python, by_c = self.join(row)
                self.assertEqual(by_python, f"by-python: {row['error']}\n")
                self.check_message("bfmerge", by_c)
                self.assertEqual(list(self.folder.iterdir()), [])

    def test_single_slice_is_not_joined(self):
        for row in GOOD:
            if row["whole_blocks"] != "-":
                with self.subTest(row["file"]):
                    path = GOLDEN / row["file"]
                    for tool, words in ("bffold", ["--factor", 1, path, "out"]), (
                            "bfmerge", ["out", path]):
                        self.assertIn(WORDS["BLOOMFILE_EISSLICE"], self.trouble(tool, *words))


class Operations(ToolTest):
    """The rows of operations.tsv, done by the tools. The results are those of spec_reader.py."""

    COMMANDS = {"fold": lambda sources, factor: ("bffold", "--factor", factor, *sources, "made"),
                "union": lambda sources: ("bfmerge", "-p", 1, "made", *sources),
                "intersection": lambda sources: ("bfmerge", "--intersect", "made", *sources),
                "project": lambda sources: ("bfmerge", "--project", "made", *sources),
                "copy": lambda sources: ("bfseal", *sources, "made")}

    def comparable(self, image, name, operation):
        """The parts that do not depend on the form, without n if the program estimates it."""
        opened = craft.Image(image, name, True)
        of_form = "header_size", "body_offset", "body_size", "header_crc"
        header = {field: value for field, value in opened.header.items() if field not in of_form}
        known = ["flags", "ones", "overflow", "state"] + ["n"] * (operation not in ("union", "intersection"))
        used = -(-opened.header["m"] * craft.spec_reader.WIDTH[opened.header["layout"]] // 8)
        return header, {field: opened.record[field] for field in known}, bytes(opened.body[:used])

    def sources(self, row):
        """Copies of the sources, because bfmerge refuses a file that is named twice."""
        for number, name in enumerate(row["sources"].split(",")):
            yield self.write(f"source-{number}", (GOLDEN / name).read_bytes())

    def test_results_match_the_table(self):
        rows = table(GOLDEN / "operations.tsv")
        self.assertEqual({row["operation"].split()[0] for row in rows}, set(self.COMMANDS))
        for row in rows:
            with self.subTest(row["result"]):
                operation, *words = row["operation"].split()
                result = (GOLDEN / row["result"]).read_bytes()
                self.assertEqual(sha256(result), row["sha256"])
                tool, *command = self.COMMANDS[operation](list(self.sources(row)), *words)
                (self.folder / "made").unlink(missing_ok=True)
                result_of_tool = self.run_tool(tool, "-q", *command)
                self.assertEqual(result_of_tool.returncode, 0, result_of_tool.stderr)
                self.assertEqual(self.comparable(self.read("made"), "made", operation),
                                 self.comparable(result, row["result"], operation))


def kind_of(header):
    """The kind of keys as index.tsv states it."""
    return f"fixed {header['key_size']}" if header["key_kind"] == "fixed" else header["key_kind"]


def without_kind(image):
    return craft.edit(image, header={"compat": 0, "key_kind": 0})


class Good(ToolTest):
    def test_files_open_verify_and_contain_their_keys(self):
        for row in GOOD:
            with self.subTest(row["file"]):
                keys = ["--as-is", "--keys", GOLDEN / row["keys"]] if row in BY_XXH3 and row not in NEWER else []
                result = self.run_tool("bfinspect", "--report", "-", "--verify", *keys,
                                       GOLDEN / row["file"])
                self.assertEqual(result.stderr, b"")
                report = json.loads(result.stdout)
                header, record = report["header"], report["record"]
                self.assertEqual((report["error"], report["faults"]), (None, []))
                self.assertTrue(report["verified"])
                if row in BY_XXH3:
                    self.assertEqual((report["keys"] or {}).get("missing", 0), 0)
                    self.assertEqual(header["hash_id"], 1)
                else:
                    self.assertEqual(f"{header['hash_id']:08x} {header['self_test']}", row["hash"])
                self.assertEqual(record["state"], "sealed")
                self.assertEqual(record["n_estimated"], row["n_estimated"] == "1")
                self.assertEqual(
                    [str(record["n"]), header["layout"], str(header["m"]), str(header["k"]),
                     str(int(header["seed"], 16)), kind_of(header), header["header_size"]],
                    [row["n"], row["layout"], row["m"], row["k"], row["seed"], row["key_kind"],
                     4096 if row["form"] == "file" else 512])
                for name in "first_block", "whole_blocks":
                    self.assertEqual(str(header.get(name, "-")), row[name])

    def test_bfquery_answers_as_listed(self):
        absent = GOLDEN / "keys" / "absent.keys"
        for row in BY_XXH3:
            with self.subTest(row["file"]):
                path, keys = GOLDEN / row["file"], GOLDEN / row["keys"]
                maybes = int(row["maybes"])
                if row in NEWER:
                    self.assertIn("holds keys of a kind that this version does not know", self.trouble("bfquery", "--as-is", path, keys))
                    continue
                for words, names, status, out in ((["-c"], absent, 0 if maybes else 1, b"%d\n" % maybes),
                                                  (["-v"], keys, 1, b"")):
                    result = self.run_tool("bfquery", "--as-is", *words, path, names)
                    self.assertEqual((result.returncode, result.stdout), (status, out))
                    self.assertEqual(result.stderr, b"")

    def test_python_reader_agrees_on_every_answer(self):
        for row in GOOD:
            with self.subTest(row["file"]):
                path = GOLDEN / row["file"]
                image = craft.named(path.read_bytes(), row["file"]).verify()
                keys = (GOLDEN / row["keys"]).read_bytes()
                self.assertTrue(all(image.maybe(key) for key in keys.split(b"\n")[:-1]))
                suffix = pathlib.Path(row["keys"]).suffix
                absent = (GOLDEN / "keys" / f"absent{suffix}").read_bytes()
                maybe = craft.lines(key for key in absent.splitlines() if image.maybe(key))
                self.assertEqual(maybe.count(b"\n"), int(row["maybes"]))
                if row in BY_XXH3 and row not in NEWER:
                    self.assertEqual(self.run_tool("bfquery", "--as-is", path, stdin=absent).stdout, maybe)

    def test_bfinspect_names_the_kind_of_keys(self):
        for row in GOOD:
            with self.subTest(row["file"]):
                page = self.run_tool("bfinspect", "--fields", GOLDEN / row["file"]).stdout.decode()
                self.assertRegex(page, rf"(?m)^ +44  key_kind +{row['key_kind']}$")
                recorded = row["key_kind"] != "unknown"
                self.assertEqual(f"  key kind      {row['key_kind']}\n" in page, recorded)

    def test_bfcreate_makes_the_golden_bytes(self):
        expressible = [row for row in GOOD if row["bfcreate"] != "-"]
        self.assertGreater(len(expressible), 8)
        for row in expressible:
            with self.subTest(row["file"]):
                made = self.create("-q", *shlex.split(row["bfcreate"]), GOLDEN / row["keys"])
                golden = (GOLDEN / row["file"]).read_bytes()
                self.assertEqual(without_kind(made), without_kind(golden))

    def test_whole_file_equals_that_of_the_specification(self):
        craft.reader("wholefile", SOURCE_ROOT / "format-spec.md", self.folder / "whole")
        self.assertEqual(self.read("whole"), (GOLDEN / "whole-file-of-the-text.bloom").read_bytes())


class Series(ToolTest):
    def opened(self, row):
        """The filter, opened by the Python reader."""
        path, application = GOLDEN / row["file"], application_of(row)
        if row["file"].startswith("live/"):
            series = spec_series.LiveSeries(path, application=application)
            self.addCleanup(series.close)
            return series
        return craft.named(path.read_bytes(), row["file"]).verify()

    def test_series_cover_live_sealed_both_kinds_and_layouts(self):
        found = {(row["file"].startswith("live/"), row["generations"] != "0", row["layout"])
                 for row in SERIES}
        self.assertGreaterEqual(found, {(True, forgets, layout) for forgets in (True, False)
                                        for layout in ("blocked", "classic")})
        self.assertGreaterEqual(found, {(False, False, "blocked"), (False, False, "classic")})

    def test_header_fields_match_the_table(self):
        for row in SERIES:
            with self.subTest(row["file"]):
                series = self.opened(row)
                images = spec_series.layers_of(series)
                for column, values in (
                        ("layers", [image.header["layer"] for image in images]),
                        ("n", [image.record["n"] for image in images]),
                        ("m", [image.header["m"] for image in images]),
                        ("k", [image.header["k"] for image in images])):
                    self.assertEqual(",".join(map(str, values)), row[column])
                self.assertEqual([(craft.hash_words(image), craft.kind_words(image),
                                   str(image.header["seed"]), str(image.header["generations"]))
                                  for image in images],
                                 [(row["hash"], row["key_kind"], row["seed"],
                                   row["generations"])] * len(images))

    def test_bfquery_answers_series_as_listed(self):
        for row in SERIES:
            with self.subTest(row["file"]):
                series = self.opened(row)
                keys = (GOLDEN / row["keys"]).read_bytes()
                suffix = pathlib.Path(row["keys"]).suffix
                absent = (GOLDEN / "keys" / f"absent{suffix}").read_bytes()
                self.assertTrue(all(series.maybe(key) for key in keys.split(b"\n")[:-1]))
                maybe = craft.lines(key for key in absent.splitlines() if series.maybe(key))
                self.assertEqual(maybe.count(b"\n"), int(row["maybes"]))
                if application_of(row):
                    continue
                for stdin, out in (keys, keys), (absent, maybe):
                    result = self.run_tool("bfquery", "--as-is", GOLDEN / row["file"], stdin=stdin)
                    self.assertEqual((result.returncode, result.stdout, result.stderr), (0 if out else 1, out, b""))

    def test_sealed_copies_equal_the_golden_files(self):
        for row in SERIES:
            if row["file"].startswith("live/"):
                with self.subTest(row["file"]):
                    spec_series.seal(GOLDEN / row["file"], self.folder / "by-python")
                    self.assertEqual(sha256(self.read("by-python")), row["sealed_sha256"])
                    self.output("bfseal", "-q", "--force", "--discard", GOLDEN / row["file"], "by-c")
                    self.assertEqual(self.read("by-c"), self.read("by-python"))
            else:
                self.assertEqual(row["sealed_sha256"], row["sha256"])

    def test_bfinspect_verifies_sealed_series(self):
        for row in SERIES:
            if not row["file"].startswith("live/"):
                with self.subTest(row["file"]):
                    report = self.inspected(GOLDEN / row["file"], "--verify")
                    self.assertEqual((report["error"], report["faults"], report["verified"]),
                                     (None, [], True))

    def test_a_layer_alone_is_refused(self):
        for row in SERIES:
            if application_of(row):
                continue
            for path in (GOLDEN / row["file"]).parent.glob("filter.bloom.*"):
                self.assertRegex(self.trouble("bfquery", path, stdin=b"a\n"),
                                 BLAMED["BLOOMFILE_ESERIES"])
                with self.assertRaisesRegex(ValueError, "ESERIES rule V39"):
                    spec_series.LiveSeries(path)


class RefusedSeries(ToolTest):
    def test_bfquery_refuses_series_with_the_listed_error(self):
        for row in BAD_SERIES:
            with self.subTest(row["file"]):
                message = self.trouble("bfquery", REFUSED / row["file"], stdin=b"bloomfile\n")
                error = error_of_series(row)
                self.assertRegex(message, BLAMED.get(error, ": " + re.escape(WORDS[error])))

    def test_bfinspect_and_bfseal_refuse_series(self):
        for row in BAD_SERIES:
            with self.subTest(row["file"]):
                self.assertIn(self.run_tool("bfinspect", REFUSED / row["file"]).returncode, (1, 2))
                self.trouble("bfseal", REFUSED / row["file"], "out")

    def test_python_reader_refuses_series(self):
        for row in BAD_SERIES:
            with self.subTest(row["file"]):
                with self.assertRaises(ValueError) as refused:
                    spec_series.LiveSeries(REFUSED / row["file"])
                found = re.search(r": (\w+) rule (\w+\.md [\d.]+|\w+)", str(refused.exception))
                self.assertEqual(found.groups() if found else str(refused.exception), (error_of_series(row), row["rule"]))


def is_behind_the_first_header(row):
    """Whether the fault is in a later layer of a series, or in the order of its layers."""
    if row["rule"] == "12.4":
        return False
    try:
        craft.Image((REFUSED / row["file"]).read_bytes(), row["file"])
    except ValueError:
        return False
    return True


class Refused(ToolTest):
    def test_bfinspect_names_the_error(self):
        files = [REFUSED / row["file"] for row in BAD]
        result = self.run_tool("bfinspect", "--report", "-", "--verify", *files)
        self.assertEqual(result.returncode, 2)
        reports = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(len(reports), len(BAD))
        for row, report in zip(BAD, reports):
            with self.subTest(row["file"]):
                error = error_of_path(row)
                self.assertEqual(report["error"], error)
                self.assertEqual(report["status"], 2 if error else 1)
                self.assertFalse(report["verified"])
                if row["rule"] in STATES:
                    continue
                faults = [fault["error"] for fault in report["faults"]]
                if is_behind_the_first_header(row):
                    self.assertEqual(faults, [])
                else:
                    self.assertEqual(faults[0], row["error"])

    def test_bfinspect_prints_one_line_per_file(self):
        for row in BAD:
            with self.subTest(row["file"]):
                live = error_of_path(row) is None
                result = self.run_tool("bfinspect", "--verify", REFUSED / row["file"])
                self.assertEqual(result.returncode, 1 if live else 2)
                self.assertNotRegex(result.stdout, rb"[\x00-\x09\x0b-\x1f\x7f]")
                if live:
                    self.assertEqual(result.stderr, b"")
                else:
                    self.check_message("bfinspect", result.stderr, row["file"])

    def test_bfquery_refuses_with_the_listed_error(self):
        for row in BAD:
            for option in ("--verify", "--") if row["rule"] in STATES else ("--verify",):
                error = row["error"] if option == "--verify" else error_of_path(row)
                if error is None:
                    continue
                with self.subTest(row["file"], option=option):
                    message = self.trouble("bfquery", option, REFUSED / row["file"],
                                           stdin=b"bloomfile\n", names=[row["file"]])
                    if error.endswith("ELIVE"):
                        self.assertIn("cannot verify", message)
                        self.assertIn("it is live", message)
                    else:
                        blamed = BLAMED.get(error, "no file")
                        self.assertRegex(message, f": {re.escape(WORDS[error])}|{blamed}")

    def test_python_reader_refuses_with_the_listed_error(self):
        for row in BAD:
            with self.subTest(row["file"]):
                self.assertEqual(craft.refusal((REFUSED / row["file"]).read_bytes()),
                                 (row["error"], row["rule"]))


if __name__ == "__main__":
    main()
