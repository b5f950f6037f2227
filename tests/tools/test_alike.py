# SPDX-License-Identifier: MIT
"""What is the same in all tools: how they print rates and numbers of things."""

import re

from support import GOLDEN, ToolTest, lines, main, numbered


class Rates(ToolTest):
    """In percent, whichever tool prints them and wherever."""

    def said(self, tool, *arguments, **options):
        result = self.run_tool(tool, *arguments, **options)
        self.assertLess(result.returncode, 2, result)
        return (result.stdout + result.stderr).decode()

    def test_every_tool_prints_rates_in_percent(self):
        self.write("keys", lines(*numbered(3000)))
        self.create("-q", "-m", 512 * 720, "-n", 30_000, "-p", 0.01, "keys",
                    name="big")
        self.create_live("-n", 100)
        said = {"bfcreate": self.said("bfcreate", "-v", "-n", 100, "new", "keys"),
                "bfcreate --live": self.said("bfcreate", "-v", "--live", "-n", 100, "other"),
                "bfadd": self.said("bfadd", "live", "keys"),
                "bffold": self.said("bffold", "-v", "--factor", 30, "big", "small"),
                "bffold --dry-run": self.said("bffold", "--dry-run", "big"),
                "bffold --svg": self.said("bffold", "--dry-run", "--svg", "-", "big"),
                "bfmerge": self.said("bfmerge", "-v", "merged", "big"),
                "bfseal": self.said("bfseal", "-v", "live"),
                "bfinspect": self.said("bfinspect", "big"),
                "bfuniq": self.said("bfuniq", "-c", "-n", 100, "keys")}
        for tool, text in said.items():
            with self.subTest(tool):
                rates = re.findall(r"(?:rate|promised|not|now) (?:is |now |about )*"
                                   r"([\d.]+(?:e[-+]\d+)?)(?=[ ,;)\n<]|$)( %)?", text)
                self.assertGreater(len(re.findall(r"\d %", text)), 0, text)
                self.assertEqual([number for number, percent in rates if not percent], [], text)

    def test_a_rate_may_be_given_in_percent(self):
        self.write("keys", lines(*numbered(3000)))
        for percent, fraction in ("1%", "0.01"), ("0.7%", "0.007"), (".01%", "1e-4"):
            self.assertEqual(self.create("-p", percent, "keys"), self.create("-p", fraction, "keys"))


class Plurals(ToolTest):
    def test_one_is_one(self):
        """One of each thing that any tool counts."""
        self.write("one", lines("a"))
        self.create("-q", "one", name="filter")
        self.create("-q", "-l", "classic", "-m", 1, "-k", 1, "one", name="bit")
        self.create_live("-n", 1)
        commands = (("bfcreate", "-v", "-f", "new", "one"),
                    ("bfcreate", "-v", "-f", "--live", "-n", 1, "new"),
                    ("bfadd", "live", "one"), ("bfseal", "-v", "live"),
                    ("bfuniq", "-c", "one"), ("bfcommon", "--stats", "one", "one"),
                    ("bfmerge", "-v", "merged", "filter"),
                    ("bffold", "-v", "--factor", 1, "filter", "folded"),
                    ("bffold", "--dry-run", "--more", 1, "filter"),
                    ("bffold", "--dry-run", "--svg", "-", "filter"),
                    ("bfinspect", "--map", "filter"), ("bfinspect", "--map", "bit"),
                    ("bfinspect", "--svg", "-", "bit"), ("bfinspect", "--keys", "one", "bit"),
                    *(("bfinspect", path) for path in sorted(GOLDEN.glob("*m1.bloom"))))
        for command in commands:
            result = self.run_tool(*command)
            text = (result.stdout + result.stderr).decode()
            with self.subTest(command=command):
                self.assertNotRegex(text, r"(?<![\d.,])1 (more )?(key|line|bit|page|block|byte|"
                                          r"counter|factor|program|name)s\b")


if __name__ == "__main__":
    main()
