# SPDX-License-Identifier: MIT
"""Keys that were cut off before they reached bfcreate: the filters that it refuses to replace."""

import gzip
import os
import subprocess

from support import BFCREATE, TIMEOUT, ToolTest, lines, main, numbered

KEYS = numbered(10_000)


class CutOff(ToolTest):
    def setUp(self):
        super().setUp()
        self.create("-q", stdin=lines(*KEYS), name="good")

    def refused(self, *words, names=("good",), **options):
        return self.trouble("bfcreate", "-f", *words, names=names, **options)

    def test_min_keys_refuses_the_output_of_a_broken_archive(self):
        packed = gzip.compress(lines(*KEYS))
        self.write("keys.gz", packed[:len(packed) // 3])
        before = self.snapshot()
        script = 'gzip -dc keys.gz 2>/dev/null | "$0" -f "$@" good'
        for words, status in (["--min-keys", "9000"], 2), ([], 0):
            result = subprocess.run(["sh", "-c", script, BFCREATE, *words], cwd=self.folder,
                                    env=self.environment(), stderr=subprocess.PIPE, timeout=TIMEOUT)
            self.assertEqual(result.returncode, status)
            if status == 2:
                self.assertEqual(self.snapshot(), before)
                self.assertRegex(result.stderr.decode(), r"^bfcreate: cannot create good: \d+ "
                                 r"different keys, fewer than the 9000 of --min-keys \(did the program that writes the keys fail\?\)\n$")

    def test_min_keys_counts_distinct_keys(self):
        for number, keys in (3, ["a", "b"]), (3, ["a", "b", "a", "b"]), (1, []), (10_001, KEYS):
            message = self.refused("--min-keys", number, "good", stdin=lines(*keys))
            self.assertIn(f"{len(set(keys))} different key", message)
            self.assertIn(f"fewer than the {number} of --min-keys", message)
        self.refused("--min-keys", 3, "new", stdin=lines("a", "b"), names=["new"])
        self.refused("--min-keys", 3, "-", stdin=lines("a", "b"), names=["standard output"])
        self.output("bfcreate", "-f", "--min-keys", 3, "good", stdin=lines("a", "b", "c", "a"))
        self.output("bfcreate", "-f", "--min-keys", 10_000, "good", stdin=lines(*KEYS, *KEYS))

    def test_filter_with_keys_is_not_replaced_by_an_empty_filter(self):
        for words in [], ["-q"], ["-n", 1000]:
            message = self.refused(*words, "good", stdin=b"")
            self.assertIn("the input has no keys", message)
            self.assertIn("its keys would be lost, and", message)
        self.output("bfcreate", "-f", "-q", "--allow-empty", "good")
        says = b": it has no keys, so every lookup returns no\n"
        self.output("bfcreate", "-f", "-q", "good", says=b"bfcreate: warning: good" + says)  # an empty filter replaces another
        self.output("bfcreate", "-q", "new", says=b"bfcreate: warning: new" + says)

    def test_filter_that_may_have_keys_is_not_replaced_by_an_empty_filter(self):
        whole = self.read("good")
        self.create_live("-n", 100)
        self.output("bfadd", "-q", "live", stdin=b"a\n")
        self.create_live("-n", 100, name="empty live")
        for name, data in ("text", b"some text\n"), ("cut", whole[:-1]), ("zeros", bytes(9000)):
            self.write(name, data)
        self.write("no bytes", b"")
        os.symlink("good", self.folder / "link")
        for name in "text", "cut", "zeros", "live", "link":
            self.refused("-q", name, stdin=b"", names=[name])
        for name in "no bytes", "empty live":
            self.output("bfcreate", "-f", "-q", "--allow-empty", name)

    def test_min_keys_is_refused_with_live(self):
        self.assertIn("--live", self.refused("--live", "-n", 100, "--min-keys", "1", "good", names=[]))


if __name__ == "__main__":
    main()
