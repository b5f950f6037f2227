# SPDX-License-Identifier: MIT
"""An input that is also the output is refused before anything is read, written or changed."""

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
        """With its output redirected to `name`, which the shell opens as `how` says."""
        with open(self.folder / name, how) as out:
            before = self.snapshot()
            result = self.run_tool(tool, *words, stdout=out, **options)
        self.assertEqual(result.returncode, 2, (tool, words))
        self.check_message(tool, result.stderr)
        self.assertEqual(self.snapshot(), before)
        return result.stderr.decode()

    def test_an_input_that_is_the_output_is_refused(self):
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

    def test_one_of_several_inputs(self):
        self.write("more", b"more\n")
        for tool, words in TOOLS_WITH_ANSWERS:
            self.assertIn("more", self.refused(tool, *words, "keys", "more", how="ab", name="more"))

    def test_the_filter_is_not_written_to(self):
        for tool, *words in (("bfquery", "filter", "keys"), ("bfinspect", "filter"),
                             ("bfadd", "live", "keys"), ("bfuniq", "--filter", "live", "keys")):
            name = "live" if "live" in words else "filter"
            self.assertIn("it is the filter", self.refused(tool, *words, how="ab", name=name))

    def test_a_list_may_be_appended_to(self):
        """It is read before the first answer; but not if the shell has emptied it."""
        words = ["--unless", "list", "filter", "keys"]
        self.write("list", lines(*KEYS[:990]))
        self.refused("bfquery", *words, how="r+b", name="list")
        with open(self.folder / "list", "ab") as out:
            result = self.run_tool("bfquery", *words, stdout=out)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(self.read("list"), lines(*KEYS))

    def test_keys_of_bfinspect(self):
        self.assertIn("also the output", self.refused("bfinspect", "--keys", "keys", "filter",
                                                      how="wb", name="keys"))

    def test_what_is_no_regular_file_may_be_both(self):
        for tool, words in TOOLS_WITH_ANSWERS:
            with open("/dev/null", "r+b") as null:
                result = self.run_tool(tool, *words, *(["-"] if tool == "bfcommon" else []),
                                       stdin=null, stdout=null)
            self.assertIn(result.returncode, (0, 1), (tool, words))
            self.assertEqual(result.stderr, b"")

    def test_no_answers_no_output(self):
        with open(self.folder / "keys", "ab") as out:
            for tool, words in ("bfquery", ["-q", "filter"]), ("bfadd", ["-q", "live"]):
                result = self.run_tool(tool, *words, "keys", stdout=out)
                self.assertEqual((result.returncode, result.stderr), (0, b""))


if __name__ == "__main__":
    main()
