# SPDX-License-Identifier: MIT
"""doc/errors.md lists each error of the header once, with its value, a cause and a remedy."""

import re
import unittest

from support import SOURCE_ROOT, main

HEADER = (SOURCE_ROOT / "include" / "bloomfile_error.h").read_text()
WORDS = re.findall(r"BLOOMFILE_(E\w+) =\s*-\d+,\s*/\* (.*?) \*/", HEADER)
PAGE = (SOURCE_ROOT / "doc" / "errors.md").read_text()


class ErrorsPage(unittest.TestCase):
    def test_errors_and_values_match_the_header(self):
        declared = re.findall(r"(BLOOMFILE_E\w+) =\s*(-\d+),", HEADER)
        explained = re.findall(r"^\| (BLOOMFILE_E\w+) \| (-\d+) \|", PAGE, re.M)
        self.assertGreater(len(declared), 40)
        self.assertEqual(sorted(declared), sorted(explained))

    def test_messages_of_the_library_match_the_header(self):
        library = (SOURCE_ROOT / "lib" / "error.c").read_text()
        self.assertEqual(re.findall(r'X\((E\w+), "(.*)"\)', library), WORDS)

    def test_each_error_has_a_cause_and_a_remedy(self):
        for row in re.findall(r"^\| (?:BLOOMFILE_)?E\w+ \|.*$", PAGE, re.M):
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            for cell in cells[2 if row.startswith("| BLOOMFILE") else 1:]:
                self.assertGreater(len(cell), 10, row)
        for before, heads in re.findall(r"^(.+)\n\n\| error \| value \| (.*) \|$", PAGE, re.M):
            self.assertTrue(heads.endswith("remedy") or before[0] != "#", f"no remedy: {before}")

    def test_java_messages_match_the_library(self):
        declared = dict(WORDS)
        java = (SOURCE_ROOT / "bindings/java/src/main/java/io/github/bloomfile/ErrorCode.java").read_text()
        joined = re.sub(r'"\s*\+\s*"', "", java)
        found = re.findall(r'^    (E\w+)\("((?:[^"\\]|\\.)*)",', joined, re.M)
        self.assertGreater(len(found), 50)
        for name, words in found:
            if name != "ETOOBIG":  # the limit is a Java array or the heap
                self.assertIn(words, (declared[name], declared[name].partition(" (")[0]), name)  # remedies differ

    def test_options_named_on_the_page_exist(self):
        for tool, option in re.findall(r"`(bf\w+)[^`]* (--[a-z-]+)", PAGE):
            manual = (SOURCE_ROOT / "man" / f"{tool}.1").read_text().replace("\\", "")
            self.assertIn("Fl " + option[1:], manual, f"{tool} {option}")


if __name__ == "__main__":
    main()
