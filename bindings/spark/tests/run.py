# SPDX-License-Identifier: MIT
"""Runs the named tests of the Spark binding, or all, and prints how many passed. scripts/spark calls this."""

import os
import sys
import unittest

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)


class Result(unittest.TextTestResult):
    """Counts subtests with their tests."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main(names):
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(names) if names else loader.discover(here, "test_*.py")
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    bad = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    if result.skipped:
        print(len(result.skipped), "skipped")
    print(f"{result.passed} passed, {bad} failed")
    return 0 if result.passed and not bad else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
