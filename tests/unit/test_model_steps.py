# SPDX-License-Identifier: MIT
"""The models in doc/model and the code name the same steps ("commit 1:"). scripts/campaign model leaves out each
step that a model can leave out."""

import os
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(os.environ["SOURCE_ROOT"])
sys.path.insert(0, str(ROOT / "tests" / "nightly" / "campaign"))
import model  # noqa: E402

PROTOCOLS = "add|commit|poison|sync|join|leave|seal|complete|grow"


def steps(folder, *patterns):
    files = [path for pattern in patterns for path in (ROOT / folder).rglob(pattern)]
    return {step for path in files for step in re.findall(rf"\b((?:{PROTOCOLS}) \d+):", path.read_text())}


def switches(name):
    texts = [path.read_text() for path in (ROOT / "doc" / "model").glob("*.pml")]
    return {switch for text in texts for switch in re.findall(rf"^#ifn?def ({name}_\w+)", text, re.M)}


class Steps(unittest.TestCase):
    def test_model_and_code_have_the_same_steps(self):
        modelled, coded = steps("doc/model", "*.pml"), steps("lib", "*.c", "*.h")
        self.assertEqual(sorted(modelled - coded), [], "not in lib/")
        self.assertEqual(sorted(coded - modelled), [], "not in doc/model/")
        self.assertGreater(len(coded), 40)

    def test_campaign_leaves_out_each_step(self):
        removed = {without for *_, without in model.cases() if without}
        self.assertEqual(switches("WITHOUT") | switches("BUG") - {"BUG_SUCCEEDED"}, removed)

    def test_each_switch_of_the_model_is_a_step(self):
        modelled = steps("doc/model", "*.pml")
        for switch in switches("WITHOUT"):
            self.assertIn(switch[8:].replace("_", " ").lower(), modelled)


if __name__ == "__main__":
    unittest.main()
