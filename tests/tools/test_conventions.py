# SPDX-License-Identifier: MIT
"""Rules for all tools: options, numbers, rates, and errors on a full disk."""

import contextlib
import json
import os
import re
import subprocess
import unittest

from support import GOLDEN, SANITIZED, SOURCE_ROOT, TIMEOUT, TOOLS, ToolTest, lines, main, numbered


class Options(ToolTest):
    def test_help_fits_80_columns(self):
        for tool in TOOLS:
            text = self.output(tool, "--help").decode()
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [], tool)

    def test_h_is_help(self):
        for tool in TOOLS:
            text = self.output(tool, "--help")
            self.assertEqual(self.output(tool, "-h"), text)
            self.assertEqual(self.output(tool, "-h", "no-such-file", "--nonsense"), text)

    def test_j_means_threads_in_every_tool(self):
        for tool in TOOLS:
            text = self.output(tool, "--help").decode()
            self.assertEqual(" -j" in text, "-j, --threads N" in text, tool)
            if "--threads" in text:
                message = self.trouble(tool, "-j", "some", "x")
                self.assertIn("-j/--threads takes a number from 1 to 1024, not 'some'", message)
        self.create("-q", stdin=lines("a"), name="filter")
        page = self.output("bfinspect", "--verify", "filter")
        self.assertEqual(self.output("bfinspect", "-j2", "--verify", "filter"), page)

    def test_j_never_means_json(self):
        """Scripts, examples and documents must not use it either."""
        for folder in "bench", "doc", "examples", "man", "scripts":
            for path in (SOURCE_ROOT / folder).rglob("*"):
                if path.is_file():
                    self.assertNotRegex(path.read_bytes(),
                                        rb"bfinspect[^|\n]* -[a-iHqx]*j(?![ \d])", path)

    def test_last_of_quiet_and_verbose_applies(self):
        self.write("key", lines("a"))
        self.create_live("-n", 10)
        self.create("-q", "key", name="big")
        for tool, words in (("bfcreate", ["-f", "new", "key"]), ("bfmerge", ["-f", "--discard", "new", "big"]),
                            ("bffold", ["-f", "--factor", 1, "big", "new"]),
                            ("bfdelta", ["-f", "big", "big", "patch"]), ("bfadd", ["live", "key"]),
                            ("bfseal", ["-f", "--discard", "live", "new"])):
            for options in (["-v", "-q"], ["-vq"], ["--verbose", "--quiet"], ["-vqvq"]):
                self.output(tool, *options, *words)
            for options in (["-q", "-v"], ["-qv"], ["--quiet", "--verbose"], ["-vqv"]):
                result = self.run_tool(tool, *options, *words)
                self.assertEqual(result.returncode, 0)
                told = {"bffold": b"big: ", "bfdelta": b"patch: ", "bfadd": b"live: "}.get(tool, b"new: ")
                self.assertIn(told, result.stderr)


    def test_message_names_the_invalid_option(self):
        for words, wrong in (
                (["bfadd", "--sync"], "--sync needs a value"),
                (["bfcreate", "-n"], "-n needs a value"),
                (["bfseal", "--force=x"], "--force takes no value"),
                (["bfquery", "--ver"], "ambiguous option --ver (--verify, --version)"),
                (["bfseal", "--ver"], "ambiguous option --ver (--verbose, --version)"),
                (["bfcreate", "--m=1"], "ambiguous option --m (--missing, --min-keys, --memory)"),
                (["bfuniq", "--nonsense"], "unknown option --nonsense"),
                (["bfcreate", "--capcity", "10"], "unknown option --capcity: did you mean --capacity?"),
                (["bffold", "--factro=10"], "unknown option --factro: did you mean --factor?"),
                (["bfseal", "-ql", "ribbon"], "unknown option -l: it is an option of bfcreate"),
                (["bfuniq", "--=x"], "unknown option --"),
                (["bfcommon", "--csv=x"], "--csv takes no value"),
                (["bfadd", "x", "--reprot", "--sync"], "unknown option --reprot"),
                (["bfmerge", "-z"], "unknown option -z"),
                (["bfcreate", "-qz"], "unknown option -z"),
                (["bfcreate", "--quiet", "-qzv"], "unknown option -z"),
                (["bfuniq", "--filter", "a", "--filter", "b"], "--filter is given twice"),
                (["bfinspect", "--keys", "a", "--keys", "b"], "--keys is given twice"),
                (["bfcommon", "--temp", ""], "--temp takes the name of a folder"),
                (["bfcreate", "-l", "x"], "-l/--layout takes blocked, classic, counting or ribbon, not 'x'"),
                (["bfuniq", "-l", "counting"], "-l/--layout takes blocked or classic, not 'counting'"),
                (["bfmerge", "-p", "2"], "-p/--fpr takes a rate between 0 and 1 such as 0.01, 1e-2 or 1%, not '2'"),
                (["bfcreate", "-p", "1"], "-p/--fpr takes a rate between 0 and 1 such as 0.01, 1e-2 or 1%, "
                                          "not '1'"),
                (["bfcreate", "--memory", "15Mi"], "--memory takes a number of bytes from 16Mi, not '15Mi'"),
                (["bfquery", "-x", "0"], "-x/--record-size takes a number of bytes from 1, not '0'"),
                (["bfuniq", "-n", "0"], "-n/--capacity takes a number from 1 to 2^60, not '0'"),
                (["bfquery", "-0", "-x1"], "-0/--null, -x/--record-size and --crlf are mutually exclusive"),
                (["bffold", "-p1%", "--max-b", "9"],
                 "-p/--fpr, --factor and --max-bytes are mutually exclusive"),
                (["bfmerge", "--project", "--union"],
                 "--union, --intersect, --project and --slices are mutually exclusive")):
            self.assertEqual(self.trouble(*words), f"{words[0]}: {wrong} (try '{words[0]} --help')\n")

    def test_tool_named_for_a_foreign_option_has_it(self):
        options = {tool: set(re.findall(r"^  (?:(-.), )? *(--[\w-]+)", self.output(tool, "--help").decode(), re.M)) for tool in TOOLS}
        options = {tool: {name for pair in pairs for name in pair if name} for tool, pairs in options.items()}
        for option in set.union(*options.values()) - set.intersection(*options.values()):
            other = next(tool for tool in TOOLS if option not in options[tool])
            named = re.search("is an option of (.*) \\(", self.trouble(other, option))
            if named:
                self.assertIn(option, options[named[1]])

    def test_repeated_option_keeps_its_last_value(self):
        self.write("keys", b"a\0b\0")
        for words in ["-00"], ["-0", "--nul"], ["--null", "-n", 7, "-0n9"]:
            self.create("-q", *words, "keys", name="filter")
            self.assertEqual(self.inspected("filter")["header"]["key_kind"], "text")
            self.assertEqual(self.inspected("filter")["header"]["capacity"], 9 if "-n" in words else 2)


class Names(ToolTest):
    def test_empty_name_is_quoted_in_the_message(self):
        """A script that has not set a variable passes an empty name. "cannot open : No such file" would not show that."""
        self.create("-q", stdin=lines("a"), name="filter")
        self.write("key", lines("a"))
        for words in (["bfuniq", ""], ["bfcommon", "", "key"], ["bfquery", "filter", ""],
                      ["bfcreate", "new", ""]):
            result = self.run_tool(*words)
            self.assertEqual(result.returncode, 2)
            self.check_message(words[0], result.stderr, "a file without a name: No such file")


    def test_list_option_names_inputs_or_filters_in_every_tool(self):
        """The listed names come after the operands. The list has lines or NULs, in a file or on standard input."""
        keys = numbered(3000)
        for i in range(3):
            self.write(f"key {i}", lines(*keys[i::3]))
            self.create("-q", "-n", 3000, f"key {i}", name=f"filter {i}")
        self.write("lists", b"key 1\nkey 2")
        self.write("filters", b"filter 1\0filter 2\0")
        self.write("all", lines(*keys))
        whole = self.create("-q", "-n", 3000, "all", name="whole")
        self.assertEqual(self.create("-q", "-n", 3000, "key 0", "--files-from", "lists", name="made"), whole)
        self.assertEqual(self.create("-q", "-n", 3000, "--files-from", "-", name="made", stdin=b"key 0\0key 1\0key 2\0"), whole)
        self.create_live("-n", 3000)
        self.output("bfadd", "-q", "live", "--files-from", "lists", "key 0")
        for words, out in ((["bfuniq", "key 0"], [*keys[::3], *keys[1::3], *keys[2::3]]), (["bfquery", "live", "key 0"], [*keys[::3], *keys[1::3], *keys[2::3]]),
                           (["bfcommon", "-d", "all"], sorted(keys[::3]))):
            self.assertEqual(self.output(*words, "--files-from", "lists"), lines(*out))
        self.assertEqual(self.output("bfquery", "-c", "--filters-from", "filters", "all"), b"%d\n" % len(self.query("--filter", "filter 1", "--filter", "filter 2", "all")))
        self.assertEqual(self.output("bfquery", "--filters-from", "-", "--names", "key 2", "-m", 1, stdin=b"filter 2\n"), b"filter 2\t" + lines(keys[2]))
        self.output("bfmerge", "-q", "made", "filter 0", "--files-from", "filters", "-f", "--discard")
        self.assertEqual(self.read("made")[4096:], whole[4096:])
        self.assertEqual(self.output("bfinspect", "--quick", "--files-from", "filters").count(b"healthy"), 2)

    def test_truncated_list_is_an_error(self):
        """If an empty list were accepted, the tools would read standard input instead."""
        self.create("-q", stdin=lines("a"), name="filter")
        for tool, *words in (("bfcreate", "new"), ("bfadd", "live"), ("bfuniq",), ("bfquery", "filter"), ("bfcommon",), ("bfmerge", "new"), ("bfinspect",)):
            for data, says in ((b"", "list has no file names"), (b"a\n\nb\n", "name 2 in list is empty"), (b"a\0\0", "name 2 in list is empty"),
                               (b"\n", "name 1 in list is empty"), (None, "cannot open missing: No such file")):
                self.write("list", data or b"")
                self.assertIn(says, self.trouble(tool, *words, "--files-from", "list" if data is not None else "missing", stdin=b"a\n"))
            self.assertIn("cannot read .: Is a directory", self.trouble(tool, *words, "--files-from", "."))
            self.assertIn("standard input can be", self.trouble(tool, *words, "-", "--files-from", "-", stdin=b"a\n"))
            self.assertIn("standard input can be", self.trouble(tool, *words, "--files-from", "-", "--files-from", "-", stdin=b"a\n"))
        self.assertIn("standard input can be", self.trouble("bfquery", "--filters-from", "-", stdin=b"filter\n"))
        self.assertIn("standard input has no file names", self.trouble("bfquery", "--filters-from", "-", "--files-from", "-", stdin=b"filter\n"))


class Numbers(ToolTest):
    HINT = "write it as 80k, 1.5M, 2Gi, 1e9 or 1_000_000"
    TAKERS = (("bfcreate", "-n"), ("bfcreate", "-m"), ("bfcreate", "-k"), ("bfcreate", "-x"),
              ("bfcreate", "--memory"), ("bfadd", "--sync"), ("bffold", "--factor"),
              ("bffold", "--max-bytes"), ("bffold", "--more"), ("bfuniq", "-n"),
              ("bfuniq", "--generations"), ("bfcommon", "--memory"), ("bfquery", "-j"))

    def test_error_of_a_wrong_number_names_the_suffixes(self):
        for tool, option in self.TAKERS:
            for wrong in "1KB", "10MB", "1kb", "5 M", "0x10", "1__000", "1_", "_1", "1._5", "1.M", "1.5.5k", "1e1_0", "1_k":
                begins = wrong[0].isdigit()
                self.assertIn(f"not '{wrong}'{f': {self.HINT}' if begins else ''} (try", self.trouble(tool, option, wrong))

    def test_fractional_counts_are_refused(self):
        for tool, option in self.TAKERS:
            for wrong in "1.5", "0.5", "1.2345k", "1.1Ki", "1.00001e4":
                self.assertIn(f"not '{wrong}': it is not a whole number (try", self.trouble(tool, option, wrong))

    def test_fractions_underscores_and_both_cases_are_accepted(self):
        """The capacity that bfcreate prints shows how it read the number."""
        for text, number in (("1.5M", 1_500_000), ("1.5e6", 1_500_000), ("1_000_000", 10**6), ("10m", 10**7), ("2g", 2 * 10**9),
                             ("1.5Ki", 1536), ("1.0", 1), ("1.50000k", 1500), ("1_0.2_5k", 10250), ("0.000001t", 10**6),
                             ("1.152921504606846976e18", 2**60), ("0.5Mi", 2**19), ("1k", 1000)):
            out = self.output("bfcreate", "--dry-run", "-l", "blocked", "-k", 1, "-m", 2**60, "-n", text).decode()
            self.assertIn(f"capacity       {number} keys", out, text)

    def test_error_quotes_the_wrong_number(self):
        for tool, option in self.TAKERS:
            for wrong in "", "-1", "none", "99999999999999999999":
                message = self.trouble(tool, option, wrong)
                self.assertIn(f"not '{wrong}'", message)
                self.assertNotIn("Ki", message)
        self.assertIn("takes a number from 1 to 64, not '65'", self.trouble("bfcreate", "-k", 65))


class Terminal(ToolTest):
    def test_terminal_input_prints_how_to_end_it(self):
        self.create("-q", stdin=lines("a"), name="filter")
        self.create_live("-n", 9)
        for words, form in ((["bfcreate", "new"], b", one per line"), (["bfadd", "-q", "live"], b", one per line"), (["bfuniq"], b", one per line"),
                            (["bfquery", "-x2", "--as-is", "filter"], b""), (["bfquery", "filter", "-"], b", one per line"), (["bfquery", "-e", "a", "filter"], None)):
            screen, terminal = os.openpty()
            os.write(screen, b"a\n\4")
            result = self.run_tool(*words, stdin=terminal)
            os.close(terminal)
            os.close(screen)
            told = b"%s: reading keys from the terminal%s (end the input with Ctrl-D)\n" % (words[0].encode(), form or b"")
            self.assertEqual(result.stderr, b"" if form is None else told, words)


class Report(ToolTest):
    """--report: the results as one JSON object, with the names that bfinspect uses."""

    FILTER = {"file", "size", "layout", "m", "k", "capacity", "fpr", "n", "n_estimated", "expected_fpr", "measure"}
    RUNS = (("bfcreate", ["new", "keys"], FILTER | {"keys_read"}),
            ("bfcreate", ["-n", 9000, "--slice", "1/2", "new", "keys"], FILTER | {"keys_read", "first_block", "whole_blocks"}),
            ("bfcreate", ["--live", "-n", 9, "new"], FILTER | {"keys_read"}),
            ("bfmerge", ["new", "filter"], FILTER | {"sources"}),
            ("bffold", ["--factor", 2, "filter", "new"], FILTER | {"source_size", "factor"}),
            ("bfseal", ["filter", "new"], FILTER), ("bfseal", ["live"], FILTER),
            ("bfuniq", ["-c", "keys"], {"keys_read", "new", "repeated", "lost_estimate"}),
            ("bfcommon", ["-c", "keys", "keys"], {"files", "found"}))

    def setUp(self):
        super().setUp()
        self.write("keys", lines(*numbered(3000), *numbered(10)))
        self.create("-q", "-m", 512 * 120, "-n", 3000, "keys", name="filter")
        self.create_live("-n", 100)
        self.write("names", b"keys\n")

    def test_report_has_the_documented_members_and_the_facts_of_bfinspect(self):
        for tool, words, members in self.RUNS:
            with self.subTest(words):
                for to in "report", "-":
                    self.write("report", b"an old one, which is longer\n" * 99)
                    (self.folder / "new").unlink(missing_ok=True)
                    result = self.run_tool(tool, "-q", "--report", to, *words)
                    self.assertEqual((result.returncode, result.stderr), (0, b""))
                    told = json.loads(self.read("report") if to == "report" else result.stdout.splitlines()[-1])
                    self.assertEqual(set(told), members)
                    if "file" in told:
                        found = self.inspected(told["file"])
                        self.assertEqual([found["size"], *(found["header"][name] for name in ("layout", "m", "k", "capacity")),
                                          *(found["record"][name] for name in ("n", "n_estimated"))],
                                         [told[name] for name in ("size", "layout", "m", "k", "capacity", "n", "n_estimated")])
                        self.assertEqual(found["header"]["fpr"], told["fpr"])
                        self.assertIn(told["measure"], [None, found["measure"]])
                    else:
                        self.assertIn(3000, told.values())

    def test_message_of_a_failed_report_names_the_filter_that_is_written(self):
        for command, name in ((["bfcreate", "-f", "filter", "keys"], "filter"), (["bfmerge", "new", "filter"], "new"),
                              (["bfseal", "filter", "copy"], "copy"), (["bffold", "--factor", 1, "filter", "folded"], "folded")):
            result = self.run_tool(command[0], "--report", "/dev/full", *command[1:])
            self.assertEqual((result.returncode, result.stderr.decode().splitlines()[-1]), (
                2, f"{command[0]}: cannot write the report to /dev/full: No space left on device ({name} is written)"))
            self.query(name, "keys")

    def test_a_report_never_overwrites_filters_or_inputs(self):
        for words, says in (
                (["bfuniq", "--report", "-", "keys"], "standard output has the lines"),
                (["bfcommon", "--report", "-", "keys", "keys"], "standard output has the lines"),
                (["bfcreate", "--report", "-", "-", "keys"], "standard output has the filter"),
                (["bfmerge", "--report", "r", "-", "filter"], "--report needs a file for DEST"),
                (["bfuniq", "--report", "keys", "keys"], "cannot read keys: it is also the output"),
                (["bfcreate", "--report", "keys", "new", "keys"], "cannot read keys: it is also the output"),
                (["bfcreate", "--report", "names", "new", "--files-from", "names"], "cannot read names: it is also the output"),
                (["bfcreate", "--report", "new", "new", "keys"], "cannot write two outputs to one file"),
                (["bfuniq", "--repeated-to", "names", "--files-from", "names"], "cannot read names: it is also the output"),
                (["bfuniq", "--repeated-to", "r", "--report", "r", "keys"], "cannot write two outputs to one file"),
                (["bfuniq", "--filter", "new", "--report", "new.1", "keys"], "the filter new needs that name"),
                (["bfcreate", "--live", "--grow", "--report", "new.1", "new"], "the filter new needs that name"),
                (["bfcreate", "--live", "--generations", 3, "--every", 10, "--report", "./new.2", "new"],
                 "the filter new needs that name"),
                (["bfinspect", "--report", "filter", "filter"], "cannot write to filter: it is the filter to inspect"),
                (["bfseal", "--report", "live", "live"], "cannot write the report to live: it is a filter"),
                (["bfcreate", "--report", "no/r", "new", "keys"], "cannot write the report to no/r: No such file")):
            before = self.snapshot()
            self.assertIn(says, self.trouble(*words))
            self.assertEqual(self.snapshot(), before, words)
        for words in ["bfuniq"], ["bfcreate", "new"]:
            with open(self.folder / "keys", "rb") as keys:
                self.assertIn("cannot read standard input, keys: it is", self.trouble(*words, "--report", "keys", stdin=keys))

    def test_a_failed_run_leaves_the_old_report(self):
        self.write("report", b"old")
        for words in (["bfcreate", "filter", "keys"], ["bfuniq", "-q", "keys", "none"], ["bfseal", "keys"]):
            self.assertEqual(self.run_tool(*words[:1], "--report", "report", *words[1:]).returncode, 2)
            self.assertEqual(self.read("report"), b"old")


class FullDisk(ToolTest):
    """Every path to standard output, which is /dev/full. The message must give the reason."""

    def full(self, tool, *arguments, **options):
        with self.subTest(tool=tool, arguments=arguments), open("/dev/full", "wb") as full:
            result = self.run_tool(tool, *arguments, stdout=full, **options)
            self.assertEqual(result.returncode, 2)
            last = result.stderr.splitlines(keepends=True)[-1]
            self.check_message(tool, last, "cannot write to standard output", "No space left on device")

    def test_full_disk_is_reported_for_every_output(self):
        keys = lines(*numbered(20_000))
        self.write("keys", keys)
        self.create("-q", "-m", 512 * 5040, "-n", 20_000, "-p", 0.01, "keys", name="filter")
        self.create_live("-n", 20_000)
        self.create_live("-n", 20_000, "-l", "counting", name="counts")
        self.output("bfadd", "-q", "counts", "keys")
        for tool in TOOLS:
            self.full(tool, "--help")
            self.full(tool, "--version")
        for words in ["keys", "keys"], ["-c", "keys", "keys"], ["-d", "keys", "/dev/null"]:
            self.full("bfcommon", *words)
        for words in ["-", "keys"], ["-q", "-", "keys"], ["-n", "1M", "-", "keys"]:
            self.full("bfcreate", *words)
        for words in (["--dry-run", "filter"], ["--dry-run", "--all", "filter"],
                      ["--dry-run", "--svg", "-", "filter"], ["--svg", "-", "filter", "folded"],
                      ["-f", "filter", "-"], ["-f", "--factor", 2, "filter", "-"]):
            self.full("bffold", *words)
        for words in (["filter"], ["-H", "filter"], ["--report", "-", "filter"], ["--map", "filter"],
                      ["--svg", "-", "filter"], ["keys"],
                      ["filter"] * 9):
            self.full("bfinspect", *words)
        for words in ["-", "filter"], ["--project", "-", "counts"], ["--intersect", "-", "filter"]:
            self.full("bfmerge", *words)
        for words in ["keys"], ["-c", "keys"], ["-v", "keys"], ["-j1", "keys"]:
            absent = "absent" if "-v" in words else "keys"
            self.write("absent", lines(*numbered(20_000, "absent ")))
            self.full("bfquery", *words[:-1], "filter", absent)
        self.full("bfcreate", "-q", "--report", "-", "new", "keys")
        for words in [], ["-c"], ["-d"], ["-j1"], ["--filter", "seen"]:
            self.full("bfuniq", "-n", 40_000, *words, stdin=keys + keys)

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_failed_close_of_standard_output_is_reported(self):
        """A network file system reports some failed writes only then."""
        self.write("keys", lines(*numbered(9)))
        self.create("-q", "keys", name="filter")
        self.output("bfdelta", "filter", "filter", "patch")
        for words in (["bfcommon", "keys", "keys"], ["bfcreate", "-q", "-", "keys"], ["bfdelta", "filter", "filter", "-"],
                      ["bfdelta", "--apply", "filter", "patch", "-"], ["bfdelta", "--info", "patch"], ["bffold", "--factor", 1, "filter", "-"],
                      ["bfinspect", "filter"], ["bfmerge", "-", "filter"], ["bfquery", "filter", "keys"], ["bfquery", "-m1", "filter", "keys"],
                      ["bfquery", "-c", "filter", "keys"], ["bfseal", "filter", "-"], ["bfuniq", "keys"], *([tool, "--help"] for tool in TOOLS)):
            with self.subTest(words=words):
                result = self.run_tool(*words, env={"LD_PRELOAD": os.environ["FAILING_DISK"], "DISK_CLOSES": "1"})
                self.assertEqual(result.returncode, 2)
                self.check_message(words[0], result.stderr, "cannot write to standard output: No space left on device")

    @unittest.skipIf(SANITIZED, "the sanitizer must be loaded first")
    def test_output_that_takes_no_bytes_is_reported(self):
        self.write("keys", lines(*numbered(9)))
        self.create("-q", "keys", name="filter")
        for words in ["bfinspect", "filter"], ["bfquery", "filter", "keys"], ["bfuniq", "keys"], ["bfcreate", "-q", "--embedded", "-", "keys"]:
            result = self.run_tool(*words, env={"LD_PRELOAD": os.environ["FAILING_DISK"], "DISK_STALLS": "1"})
            self.assertEqual(result.returncode, 2)
            self.check_message(words[0], result.stderr, "No space left on device")

    def test_full_disk_is_reported_for_output_of_any_length(self):
        """Pages that fit into the stream's buffer, and pages that do not."""
        self.create("-q", "-m", 512 * 720720, stdin=lines("a"), name="filter")
        for more in [], ["--all"]:
            for rate in 0.1, 0.5, 0.99:
                self.full("bffold", "--dry-run", *more, "-p", rate, "filter")

    def test_closed_pipe_is_reported(self):
        self.create("-q", stdin=lines("a"), name="filter")
        for words in ["--svg", "-", "filter"], ["--map", "filter"], ["filter"]:
            result = self.run_tool("bfinspect", *words, stdout=closed_pipe(self),
                                   restore_signals=False)
            self.assertEqual(result.returncode, 2)
            self.check_message("bfinspect", result.stderr, "standard output", "Broken pipe")


def closed_pipe(test):
    """The write end of a pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    test.addCleanup(os.close, writing)
    return writing


class NonBlocking(ToolTest):
    """Another program that shares standard output may have made it non-blocking."""

    def written(self, *command):
        """The output to a slow reader, through a pipe that is full at first."""
        reader, writer = os.pipe2(os.O_NONBLOCK)
        filled = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                filled += os.write(writer, bytes(4096))
        process = self.start_to(writer, *command)
        os.close(writer)
        os.set_blocking(reader, True)
        with open(reader, "rb") as pipe:
            self.until_asleep(process)
            data = pipe.read()
        _, message = process.communicate(timeout=TIMEOUT)
        self.assertLess(process.returncode, 2, message)
        return data[filled:]

    def start_to(self, output, tool, *arguments):
        process = subprocess.Popen(self.command(tool, *arguments), stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.PIPE, cwd=self.folder, env=self.environment())
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_output_waits_for_its_reader(self):
        self.write("keys", lines(*numbered(40_000)))
        self.create("-q", "keys", name="filter")
        self.output("bfdelta", "filter", "filter", "patch")
        for command in (["bfcommon", "keys", "keys"], ["bfcommon", "-c", "keys", "keys"], ["bfquery", "filter", "keys"],
                        ["bfquery", "-c", "filter", "keys"], ["bfuniq", "-q", "keys"], ["bfuniq", "-c", "keys"],
                        ["bfinspect", "--report", "-", *["filter"] * 100], ["bfinspect", "filter"],
                        ["bfinspect", "--svg", "-", "filter"],
                        ["bffold", "--dry-run", "--all", "filter"], ["bfdelta", "--info", "patch"], ["bfadd", "--help"],
                        ["bfseal", "--version"], ["bfcreate", "-q", "-", "keys"], ["bffold", "-q", "filter", "-"],
                        ["bfmerge", "-q", "-", "filter"]):
            with self.subTest(command[:3]):
                self.assertEqual(self.written(*command), self.run_tool(*command).stdout)


class Rates(ToolTest):
    def said(self, tool, *arguments, **options):
        result = self.run_tool(tool, *arguments, **options)
        self.assertLess(result.returncode, 2, result)
        return (result.stdout + result.stderr).decode()

    def test_every_tool_prints_rates_in_percent(self):
        self.write("keys", lines(*numbered(3000)))
        self.create("-q", "-m", 512 * 720, "-n", 30_000, "-p", 0.01, "keys",
                    name="big")
        self.create_live("-n", 100)
        said = {"bfcreate": self.said("bfcreate", "-v", "--overfull", "-n", 100, "new", "keys"),
                "bfcreate --live": self.said("bfcreate", "-v", "--live", "-n", 100, "other"),
                "bfadd": self.said("bfadd", "-v", "--overfull", "live", "keys"),
                "bffold": self.said("bffold", "-v", "--factor", 30, "big", "small"),
                "bffold --dry-run": self.said("bffold", "--dry-run", "big"),
                "bffold --svg": self.said("bffold", "--dry-run", "--svg", "-", "big"),
                "bfmerge": self.said("bfmerge", "-v", "merged", "big"),
                "bfseal": self.said("bfseal", "-v", "live"),
                "bfinspect": self.said("bfinspect", "big"),
                "bfuniq": self.said("bfuniq", "--fixed", "--overfull", "-c", "-n", 100, "keys")}
        for tool, text in said.items():
            with self.subTest(tool):
                rates = re.findall(r"(?:rate|promised|not|now) (?:is |now |about )*"
                                   r"([\d.]+(?:e[-+]\d+)?)(?=[ ,;)\n<]|$)( %)?", text)
                self.assertGreater(len(re.findall(r"\d%", text)), 0, text)
                self.assertEqual([number for number, percent in rates if not percent], [], text)

    def test_a_rate_may_be_given_in_percent(self):
        self.write("keys", lines(*numbered(3000)))
        for percent, fraction in ("1%", "0.01"), ("0.7%", "0.007"), (".01%", "1e-4"):
            self.assertEqual(self.create("-p", percent, "keys"), self.create("-p", fraction, "keys"))


class Plurals(ToolTest):
    def test_singular_is_used_for_a_count_of_one(self):
        """One of each thing that a tool counts."""
        self.write("one", lines("a"))
        self.create("-q", "one", name="filter")
        self.create("-q", "-l", "classic", "-m", 1, "-k", 1, "one", name="bit")
        self.create_live("-n", 1)
        commands = (("bfcreate", "-v", "-f", "new", "one"),
                    ("bfcreate", "-v", "-f", "--live", "--allow-empty", "-n", 1, "new"),
                    ("bfadd", "-v", "live", "one"), ("bfseal", "-v", "live"),
                    ("bfuniq", "-c", "one"), ("bfcommon", "--stats", "one", "one"),
                    ("bfmerge", "-v", "merged", "filter"),
                    ("bffold", "-v", "--factor", 1, "filter", "folded"),
                    ("bffold", "--dry-run", "--more", 1, "filter"),
                    ("bffold", "--dry-run", "--svg", "-", "filter"),
                    ("bfinspect", "--map", "filter"), ("bfinspect", "--map", "bit"),
                    ("bfinspect", "--svg", "-", "bit"), ("bfinspect", "--keys", "one", "bit"),
                    *(("bfinspect", path) for path in sorted(GOLDEN.glob("*m1.bloom"))))
        for command in commands:
            result = self.run_tool(*command)
            text = (result.stdout + result.stderr).decode()
            with self.subTest(command=command):
                self.assertNotRegex(text, r"(?<![\d.,])1 (more )?(key|line|bit|page|block|byte|"
                                          r"counter|factor|program|name)s\b")


class Filters(ToolTest):
    def test_dash_is_refused_as_a_filter(self):
        self.create("-q", stdin=b"a\n", name="good")
        for tool, *words in (("bfquery", "-"), ("bfquery", "--filter", "good", "--filter", "-"), ("bfinspect", "-"),
                             ("bfadd", "-"), ("bfseal", "-", "new"), ("bffold", "-", "new"),
                             ("bfuniq", "--filter", "-")):
            self.assertEqual(self.trouble(tool, *words), f"{tool}: cannot read a filter from standard input: it is memory-mapped (name a file)\n")
        os.rename(self.folder / "good", self.folder / "-")
        self.assertEqual(self.output("bfquery", "-", stdin=b"a\n"), b"a\n")

    def test_message_of_damage_names_the_remedy(self):
        image = bytearray(self.create("-q", stdin=lines(*numbered(9000)), name="good"))
        image[-99] ^= 1
        self.write("page", image)
        image[99] ^= 1
        self.write("header", image)
        self.write("cut", self.read("good")[:-9])
        for name in "page", "header", "cut":
            for tool, *words in (("bffold", name, "new"), ("bfmerge", "new", "good", name), ("bfquery", "--verify", name)):
                self.assertRegex(self.trouble(tool, *words), rf"\A{tool}: cannot (open|fold|merge) {name}: .* "
                                 r"\(restore it from a copy, or rebuild it; bfinspect shows the damage\)\n\Z")


if __name__ == "__main__":
    main()
