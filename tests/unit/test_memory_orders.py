# SPDX-License-Identifier: MIT
"""The memory orders that lib/ relies on: tests/nightly/campaign/weak.py needs each of them, and the code has all
of them."""

import os
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ["SOURCE_ROOT"])
sys.path.insert(0, str(ROOT / "tests" / "nightly" / "campaign"))
import weak  # noqa: E402

FUNCTION = re.compile(r"^\w[^;{}]*?\b(\w+)\((?!\()[^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def functions():
    """The bodies of all functions of lib/ and include/ by name; several functions may share a name."""
    found = {}
    for folder in "lib", "include":
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            for name, body in FUNCTION.findall(COMMENT.sub("", path.read_text())):
                found.setdefault(name, []).append(body)
    return found


def has(body, operations):
    """Whether a body has these operations in this order."""
    return re.search(".*?".join(map(re.escape, operations)), body, re.DOTALL) is not None


class Orders(unittest.TestCase):
    def test_models_agree_with_known_litmus_tests(self):
        self.assertGreater(weak.known(), 100)

    def test_no_model_allows_a_forbidden_outcome(self):
        for test in weak.TESTS:
            self.assertEqual(weak.judge(test, None)[2], [], test.__name__)

    def test_each_weaker_order_allows_a_forbidden_outcome(self):
        for test in weak.TESTS:
            for step in test.weakened:
                self.assertTrue(weak.judge(test, step)[2], f"{test.__name__}: {step}")

    def test_code_uses_the_modelled_orders(self):
        bodies = functions()
        for test in weak.TESTS:
            for name, *operations in test.code:
                self.assertIn(name, bodies, test.__name__)
                self.assertTrue(any(has(body, operations) for body in bodies[name]),
                                f"{test.__name__}: {name}() lacks {' ... '.join(operations)}")

    def test_weaker_order_in_the_code_is_detected(self):
        body = "if (atomic_load_explicit(&g->distrust, memory_order_acquire)) f();"
        operations = "atomic_load_explicit(", "distrust", "memory_order_acquire"
        self.assertTrue(has(body, operations))
        self.assertFalse(has(body.replace("acquire", "relaxed"), operations))
        self.assertFalse(has(body.replace("distrust", "doubts"), operations))


if __name__ == "__main__":
    unittest.main()
