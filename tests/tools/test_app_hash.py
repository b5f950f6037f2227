# SPDX-License-Identifier: MIT
"""Filters of an application's own hash function: operations without keys work, every other operation is refused."""

import json
import subprocess
import sys

from support import GOLDEN, SOURCE_ROOT, ToolTest, craft, lines, main, table

ROWS = [row for row in table(GOLDEN / "index.tsv") if row["hash"] != "xxh3"]
NAME = {"hash_id": 0x80536841, "self_test": 0x62aeed19e25dac49}
WRITER = [sys.executable, "-B", str(SOURCE_ROOT / "tests" / "spec" / "spec_writer.py")]
UNKNOWN = "its hash function is unknown, or an application's own"


def digests(suffix="few"):
    return (GOLDEN / "keys" / f"{suffix}.digests").read_bytes().splitlines()


class AppHash(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("app.bloom", craft.make("counting", 3000, 4, digests(), **NAME))

    def assert_has_them(self, name, layout="counting", **parameters):
        image = craft.named(self.read(name), name).verify()
        words = {"hash_id": image.header["hash_id"], "self_test": image.header["self_test"]}
        self.assertEqual((words, image.header["layout"]),
                         (NAME, craft.spec_reader.LAYOUTS[layout]))
        self.assertTrue(all(image.maybe(digest) for digest in digests()))
        self.assertLess(sum(image.maybe(digest) for digest in digests("absent")), 300)
        return image

    def make_live(self):
        words = [word for name, value in NAME.items()
                 for word in ("--" + name.replace("_", "-"), str(value))]
        for command, keys in (["create", "--m", "1024", "--k", "6"], []), (["add"], digests()):
            result = subprocess.run([*WRITER, *command, *words, "live"], input=lines(*keys), check=False,
                                    cwd=self.folder, stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_golden_file_with_an_application_hash_is_refused_by_bfquery(self):
        self.assertGreater(len(ROWS), 6)
        for row in ROWS:
            self.write(row["file"], (GOLDEN / row["file"]).read_bytes())
            self.trouble("bfquery", row["file"], stdin=b"key\n", names=[row["file"], UNKNOWN])

    def test_bfinspect_shows_the_hash(self):
        page = self.output("bfinspect", "--verify", "app.bloom").decode()
        self.assertIn("app.bloom: healthy\n", page)
        self.assertIn("  hash          an application's own: id 0x80536841, self-test 0x62aeed19e25dac49\n", page)
        report = json.loads(self.output("bfinspect", "--report", "-", "app.bloom"))
        self.assertEqual((report["header"]["hash_id"], report["header"]["self_test"]),
                         (0x80536841, "62aeed19e25dac49"))
        self.assertNotIn(b"\n  hash ", self.output("bfinspect", GOLDEN / "blocked-file.bloom"))

    def test_bfinspect_refuses_to_check_keys(self):
        result = self.run_tool("bfinspect", "--verify", "--keys", "-", "app.bloom", stdin=b"key\n")
        self.assertEqual(result.returncode, 2)
        self.check_message("bfinspect", result.stderr, "app.bloom", "only the application")
        self.assertNotIn(b"missing", result.stdout)
        self.assertNotIn(b"damaged", result.stdout)
        self.assertRegex(result.stdout, b"actual rate +[0-9.]+%, computed from all bits\n")

    def test_tools_that_hash_keys_refuse(self):
        self.write("keys", b"key\n")
        self.trouble("bfquery", "app.bloom", "keys", names=["app.bloom", UNKNOWN])
        self.trouble("bfquery", "-v", "app.bloom", "keys", names=["app.bloom", UNKNOWN])
        self.trouble("bfuniq", "--filter", "app.bloom", "keys", names=["app.bloom"])
        self.make_live()
        self.trouble("bfadd", "live", "keys", names=["live", UNKNOWN])

    def test_folding_and_projecting_keep_the_hash(self):
        self.run_tool("bffold", "-q", "--factor", 2, "app.bloom", "folded.bloom")
        self.assertEqual(self.assert_has_them("folded.bloom").header["m"], 1500)
        self.run_tool("bfmerge", "-q", "--project", "projected.bloom", "app.bloom")
        self.assert_has_them("projected.bloom", "classic")

    def test_merging_keeps_the_hash(self):
        for layout, options in ("counting", ["--fpr", 1]), ("classic", ["--intersect"]):
            self.write("one", craft.make(layout, 3000, 4, digests()[:30], **NAME))
            self.write("other", craft.make(layout, 3000, 4, digests()[:40], **NAME))
            self.output("bfmerge", "-q", "-f", "--discard", *options, "merged", "one", "other")
            image = craft.named(self.read("merged"), "merged").verify()
            self.assertTrue(all(image.maybe(digest) for digest in digests()[:30]))

    def test_filters_of_different_hashes_are_not_merged(self):
        others = {"xxh3": {}, "id": {**NAME, "hash_id": 0x80536842},
                  "value": {**NAME, "self_test": 1}}
        for name, hash_name in others.items():
            keys = digests() if hash_name else [b"key"]
            self.write(name, craft.make("counting", 3000, 4, keys, **hash_name))
            self.trouble("bfmerge", "merged", "app.bloom", name, names=["app.bloom", name])

    def test_sealing_keeps_the_hash(self):
        self.make_live()
        self.output("bfseal", "-q", "live", "copy")
        self.assert_has_them("copy", "blocked")
        self.output("bfseal", "-q", "live")
        self.assert_has_them("live", "blocked")
        for name in "live", "copy":
            self.assertTrue(self.inspected(name, "--verify")["verified"])


if __name__ == "__main__":
    main()
