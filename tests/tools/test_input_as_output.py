# SPDX-License-Identifier: MIT
"""An input that is also an output is refused before anything is read, written or changed. So are two outputs that are
the same file."""

import os

from support import ToolTest, lines, main, numbered

KEYS = numbered(1000)
TOOLS_WITH_ANSWERS = (("bfquery", ["filter"]), ("bfquery", ["-v", "filter"]),
                      ("bfquery", ["-c", "filter"]), ("bfcommon", ["others"]), ("bfuniq", []),
                      ("bfuniq", ["-c"]), ("bfadd", ["live"]))


class Output(ToolTest):
    def setUp(self):
        super().setUp()
        self.create("-q", stdin=lines(*KEYS), name="filter")
        self.create_live("-n", 5000)
        self.write("keys", lines(*KEYS))
        self.write("others", lines(*KEYS[::2]))

    def refused(self, tool, *words, how, name, **options):
        """The message if the output is redirected to `name`, which the shell opens with the mode `how`."""
        with open(self.folder / name, how) as out:
            before = self.snapshot()
            result = self.run_tool(tool, *words, stdout=out, **options)
        self.assertEqual(result.returncode, 2, (tool, words))
        self.check_message(tool, result.stderr)
        self.assertEqual(self.snapshot(), before)
        return result.stderr.decode()

    def test_output_that_is_an_input_is_refused(self):
        """Appended to (>>), emptied by the shell (>), or read as standard input."""
        os.link(self.folder / "keys", self.folder / "other name")
        for tool, words in TOOLS_WITH_ANSWERS:
            for name in "keys", "other name":
                self.assertIn(f"cannot read {name}: it is also the output (write to another file)",
                              self.refused(tool, *words, name, how="ab", name="keys"))
            with open(self.folder / "keys", "rb") as stdin:
                message = self.refused(tool, *words, "-", how="ab", name="keys", stdin=stdin)
                self.assertIn("cannot read standard input: it is also the output", message)
        for tool, words in TOOLS_WITH_ANSWERS:
            self.assertIn("cannot read emptied: it is also the output",
                          self.refused(tool, *words, "emptied", how="wb", name="emptied"))

    def test_output_that_is_one_of_several_inputs_is_refused(self):
        self.write("more", b"more\n")
        for tool, words in TOOLS_WITH_ANSWERS:
            self.assertIn("more", self.refused(tool, *words, "keys", "more", how="ab", name="more"))

    def test_output_that_is_the_filter_is_refused(self):
        for tool, *words in (("bfquery", "filter", "keys"), ("bfinspect", "filter"),
                             ("bfuniq", "--filter", "live", "keys")):
            name = "live" if "live" in words else "filter"
            self.assertIn("it is the filter", self.refused(tool, *words, how="ab", name=name))

    def test_output_that_is_any_filter_or_patch_is_refused(self):
        self.output("bfdelta", "filter", "filter", "patch")
        self.create("-q", stdin=lines(*KEYS), name="other")
        for name in "filter", "patch":
            for command in (["bffold", "--dry-run", "other"], ["bfcreate", "--dry-run", "-n", 9], ["bfinspect", "other"], ["bfquery", "other", "keys"],
                            ["bfquery", "-c", "other", "keys"], ["bfuniq", "keys"], ["bfcommon", "keys", "others"], ["bfseal", "--help"],
                            ["bffold", "-v", "other", "new"]):
                with self.subTest(command=command):
                    self.assertIn("cannot write to standard output: it is ", self.refused(*command, how="ab", name=name))
            for command in ["bfadd", "-v", "live", "keys"], ["bfcreate", "-v", "new", "keys"], ["bfquery", "missing", "keys"]:
                before = self.snapshot()
                with open(self.folder / name, "ab") as messages:
                    self.assertEqual(self.run_tool(*command, stderr=messages).returncode, 2)
                self.assertEqual(self.snapshot(), before)
            for command in (["bfcreate", "--report", name, "new", "keys"], ["bfuniq", "--repeated-to", name, "keys"],
                            ["bfuniq", "--report", name, "keys"]):
                what = "filter" if name == "filter" else "patch"
                self.assertIn(f"to {name}: it is a {what} (write to another file)", self.trouble(*command))
        appended = self.output("bfcreate", "--embedded", "-", "keys")
        with open(self.folder / "filter", "ab") as out:
            self.assertEqual(self.run_tool("bfcreate", "--embedded", "-", "keys", stdout=out).returncode, 0)
        self.assertTrue(self.read("filter").endswith(appended))

    def test_output_that_is_a_file_of_a_series_is_refused(self):
        """The existing and the future files of a series. A filter that is not a series has only one file."""
        self.create_live("--grow", "-n", 100, name="grown")
        self.output("bfadd", "-q", "grown", "keys")
        self.create_live("--generations", 3, "--every", 1000, name="ring")
        os.symlink("grown", self.folder / "link")
        for name in "link.1", "grown.9", "ring.2", "ring.3", "filter.1":
            self.write(name, b"")
        for tool, *words in (("bfquery", "link", "keys"), ("bfinspect", "grown"),
                             ("bfquery", "--filter", "filter", "--filter", "grown", "keys"),
                             ("bfuniq", "--filter", "grown", "keys"), ("bfseal", "grown", "-")):
            for name in "grown", "grown.1", "grown.9":
                self.assertIn("it is the filter", self.refused(tool, *words, how="ab", name=name))
        self.assertIn("it is the filter", self.refused("bfquery", "ring", "keys", how="ab", name="ring.2"))
        for words in ["link", "link.1"], ["ring", "ring.3"], ["filter", "filter.1"]:
            with open(self.folder / words[1], "wb") as out:
                self.run_tool("bfinspect", words[0], stdout=out)
            self.assertIn(words[0].encode(), self.read(words[1]))

    def test_output_that_is_one_of_several_filters_is_refused(self):
        """The filters before it are not reported either."""
        self.create("-q", stdin=lines(*KEYS), name="other")
        for words in ["filter", "other"], ["--report", "-", "filter", "other"]:
            self.assertIn("it is the filter", self.refused("bfinspect", *words, how="ab", name="other"))

    def test_output_that_is_the_patch_is_refused(self):
        self.create("-q", "-m", 16384, "-k", 5, "keys", name="old")
        self.create("-q", "-m", 16384, "-k", 5, "others", name="new")
        self.output("bfdelta", "old", "new", "patch")
        for options in [], ["--report", "-"]:
            self.assertIn("it is the patch", self.refused("bfdelta", "--info", *options, "patch", how="ab",
                                                          name="patch"))
            with open(self.folder / "patch", "rb") as stdin:
                self.assertIn("it is the patch", self.refused("bfdelta", "--info", *options, "-", how="ab",
                                                              name="patch", stdin=stdin))

    def test_output_that_is_the_list_is_refused(self):
        """The list is appended to or overwritten, and names keys or filters."""
        self.write("list", lines(*KEYS[:990]))
        self.write("names", b"filter\n")
        for how in "ab", "r+b":
            for name, *command in (("list", "bfquery", "--unless", "list", "filter", "keys"),
                                   ("list", "bfinspect", "--keys", "list", "filter"),
                                   ("list", "bfinspect", "--report", "-", "--keys", "list", "filter"),
                                   ("names", "bfinspect", "--files-from", "names"),
                                   ("names", "bfquery", "--filters-from", "names", "keys"),
                                   ("names", "bfmerge", "-", "--files-from", "names")):
                self.assertIn(f"cannot read {name}: it is also the output (write to another file)",
                              self.refused(*command, how=how, name=name))

    def test_image_or_report_never_replaces_an_input(self):
        """An output must not take the name of an input, whichever option or operand names them."""
        self.write("names", b"filter\n")
        os.link(self.folder / "keys", self.folder / "other name")
        os.symlink("live", self.folder / "link")
        self.write("drawn", b"<svg>\n")  # the only kind of file that an image may replace
        os.link(self.folder / "drawn", self.folder / "other drawn")
        for name, *command in (("drawn", "bfinspect", "-f", "--keys", "drawn", "--svg", "drawn", "filter"),
                               ("drawn", "bfinspect", "-f", "--keys", "drawn", "--svg", "other drawn",
                                "filter"),
                               ("drawn", "bfinspect", "-qf", "--keys", "drawn", "--svg", "drawn", "filter"),
                               ("names", "bfmerge", "-f", "names", "--files-from", "names"),
                               ("names", "bfinspect", "-q", "--files-from", "names", "--report", "names"),
                               ("keys", "bfcreate", "-f", "other name", "others", "keys"),
                               ("link", "bfadd", "live", "link"),
                               ("link", "bfadd", "-q", "live", "keys", "link")):
            with self.subTest(command=command):
                self.assertIn(f"cannot read {name}: it is also the output (write to another file)",
                              self.trouble(*command))
        self.assertIn("cannot read link: it is a filter", self.trouble("bfuniq", "--filter", "live", "link"))
        for name, *command in (("keys", "bfcreate", "-f", "keys"),
                               ("names", "bfmerge", "-f", "names", "--files-from", "-")):
            with self.subTest(command=command), open(self.folder / name, "rb") as stdin:
                self.assertIn(f"cannot read standard input, {name}: it is also the output",
                              self.trouble(*command, stdin=stdin))

    def test_report_never_replaces_a_damaged_filter(self):
        """Its file is not recognized as a filter, also if it is a layer of a series."""
        self.create_live("--generations", 3, "--every", 1000, name="ring")
        damaged = b"\xbe" + self.read("filter")[1:]
        for report, *words in ["bad", "bad"], ["bad", "filter", "bad"], ["ring.2", "ring"], ["other name", "bad"]:
            self.write("bad", damaged)
            self.write("ring.2", damaged)
            (self.folder / "other name").unlink(missing_ok=True)
            os.link(self.folder / "bad", self.folder / "other name")
            with self.subTest(report=report, words=words):
                before = self.snapshot()
                self.assertIn(f"cannot write to {report}: it is the filter to inspect",
                              self.trouble("bfinspect", "-q", "--report", report, *words))
                self.assertEqual(self.snapshot(), before)

    def test_two_outputs_with_one_name_are_refused(self):
        """The outputs exist already, or are made by the command."""
        self.output("bfdelta", "filter", "filter", "patch")
        self.write("there", b"")
        os.link(self.folder / "there", self.folder / "here")
        os.mkdir(self.folder / "folder")
        for one, other in (("t", "t"), ("t", "./t"), ("t", "folder/../t"), ("there", "here"),
                           ("there", "there")):
            with self.subTest(one=one, other=other):
                message = self.trouble("bffold", "-f", "--svg", one, "filter", other)
                self.assertRegex(message, "two outputs to one file|cannot both be t")
        for command in (["bfinspect", "-f", "--svg", "there", "filter"],
                        ["bfinspect", "-f", "--report", "-", "--svg", "there", "filter"],
                        ["bfinspect", "--report", "there", "filter"],
                        ["bfinspect", "--report", "here", "filter", "filter"],
                        ["bfinspect", "--report", "there", "--svg", "-", "filter"],
                        ["bfdelta", "--info", "--report", "there", "patch"],
                        ["bfuniq", "-c", "--report", "there", "keys"],
                        ["bfcommon", "-c", "--report", "there", "keys", "others"],
                        ["bffold", "-f", "--svg", "there", "filter", "-"],
                        ["bffold", "-f", "--svg", "-", "filter", "there"],
                        ["bffold", "-f", "--svg", "there", "--dry-run", "filter"]):
            with self.subTest(command=command):
                self.assertIn("two outputs to one file",
                              self.refused(*command, how="r+b", name="there"))

    def test_report_may_be_standard_output_that_has_nothing_else(self):
        for words in ["--report", "-"], ["-q", "--report", "there"]:
            with open(self.folder / "there", "wb") as out:
                self.run_tool("bfinspect", *words, "filter", stdout=out)
            self.assertEqual(self.read("there").count(b"\n"), 1)

    def test_two_outputs_with_different_names_are_written(self):
        os.mkdir(self.folder / "folder")
        self.write("there", b"")
        self.output("bffold", "-q", "--factor", 1, "--svg", "t", "filter", "folder/t")
        self.output("bffold", "-qf", "--factor", 1, "--svg", "there", "filter", "u")
        self.output("bffold", "-qf", "--factor", 1, "--svg", "filter.svg", "filter", "folder/filter")

    def test_device_may_be_both_input_and_output(self):
        for tool, words in TOOLS_WITH_ANSWERS:
            with open("/dev/null", "r+b") as null:
                result = self.run_tool(tool, *words, *(["-"] if tool == "bfcommon" else []),
                                       stdin=null, stdout=null)
            self.assertIn(result.returncode, (0, 1), (tool, words))
            self.assertEqual(result.stderr, b"")

    def test_output_is_not_checked_if_nothing_is_printed(self):
        with open(self.folder / "keys", "ab") as out:
            for tool, words in ("bfquery", ["-q", "filter"]), ("bfadd", ["-q", "live"]):
                result = self.run_tool(tool, *words, "keys", stdout=out)
                self.assertEqual((result.returncode, result.stderr), (0, b""))


if __name__ == "__main__":
    main()
