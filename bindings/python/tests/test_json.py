# SPDX-License-Identifier: MIT
"""Keys of JSON lines."""

import sys
import unittest

from bloomfile import json_keys

from support import Case

LINES = [b'{"id": 7, "a": {"b": "x"}, "l": ["p", {"q/r": "s"}]}\n', b"\n", b'{"id": -1, "a": {"b": "\\u00e4"}, "l": []}\n']


class JsonKeys(Case):
    def test_paths_work_like_those_of_the_tools(self):
        self.assertEqual(list(json_keys(LINES, "id")), [7, -1])
        self.assertEqual(list(json_keys(LINES, "a.b")), ["x", "ä"])
        self.assertEqual(list(json_keys(LINES[:1], "/l/1/q~1r")), ["s"])
        self.assertEqual(list(json_keys(LINES, "l.0", skip_missing=True)), ["p"])
        for path in "", ".a", "a..b":
            self.assertRaisesRegex(ValueError, "JSON path", list, json_keys(LINES, path))

    def test_a_line_without_a_key_is_named(self):
        self.assertRaisesRegex(ValueError, r"line 3 has no value at 'l.0'", list, json_keys(LINES, "l.0"))
        self.assertRaisesRegex(ValueError, r"line 1 has no value", list, json_keys(['{"id": null}'], "id"))
        self.assertRaisesRegex(ValueError, r"line 2 is not valid JSON", list, json_keys([LINES[0], b'{"id": 1'], "id"))
        self.assertRaisesRegex(ValueError, r"not valid JSON", list, json_keys(["[" * 100_000], "id"))
        for value in "1.5", "true", "{}", "[]":
            self.assertRaisesRegex(TypeError, "line 1: keys are strings or integers", list, json_keys(['{"id": %s}' % value], "id"))

    def test_filter_accepts_json_keys(self):
        ids = self.build(json_keys(LINES, "id"))
        self.assertEqual(ids.kind, "integers")
        self.assertEqual(ids.contains_many(json_keys(LINES, "id")), [True, True])

    def test_the_tools_make_the_same_file(self):
        lines = self.folder / "lines"
        lines.write_bytes(b"".join(LINES))
        try:
            self.tool("bfcreate", "--json", "a.b", self.folder / "tool.bloom", lines)
        except AssertionError as error:
            if "has no JSON" in str(error):
                self.skipTest("the tools have no JSON")
            raise
        self.build(json_keys(LINES, "a.b"))
        self.assertEqual(self.path.read_bytes(), (self.folder / "tool.bloom").read_bytes())


if __name__ == "__main__":
    sys.exit(unittest.main())
