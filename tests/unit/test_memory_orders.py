# SPDX-License-Identifier: MIT
"""The orders of memory that lib/ relies on: none can be left out in tests/nightly/campaign/weak.py, and all are in the code."""

import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ["SOURCE_ROOT"])
sys.path.insert(0, str(ROOT / "tests" / "nightly" / "campaign"))
import weak  # noqa: E402


class Orders(unittest.TestCase):
    def test_the_models_of_memory(self):
        self.assertGreater(weak.known(), 100)

    def test_nothing_forbidden_happens(self):
        for test in weak.TESTS:
            self.assertEqual(weak.judge(test, None)[2], [], test.__name__)

    def test_each_order_is_needed(self):
        for test in weak.TESTS:
            for step in test.weakened:
                self.assertTrue(weak.judge(test, step)[2], f"{test.__name__}: {step}")

    def test_the_code_has_them(self):
        for test in weak.TESTS:
            for file, text in test.code:
                self.assertTrue(text in (ROOT / file).read_text(), f"{test.__name__}: {file} lacks {text}")


if __name__ == "__main__":
    unittest.main()
