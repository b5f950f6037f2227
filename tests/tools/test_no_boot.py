# SPDX-License-Identifier: MIT
"""A system that does not tell which boot it is, so that nobody could tell that a machine went
down."""

from support import WITHOUT_PROC, ToolTest, main, needs


class NoBoot(ToolTest):
    @needs(*WITHOUT_PROC)
    def test_bfuniq_does_not_take_that_for_a_missing_file(self):
        self.output("bfuniq", "--filter", "old", stdin=b"a\n")
        for name in "old", "new":
            message = self.trouble("bfuniq", "--filter", name, stdin=b"b\n", names=[name],
                                   before=WITHOUT_PROC)
            self.assertIn("does not tell which boot it is", message)
            self.assertIn("(mount /proc)", message)

    @needs(*WITHOUT_PROC)
    def test_the_others_say_so_too(self):
        self.create_live("-n", 100)
        for tool, *words in ("bfadd", "live"), ("bfseal", "live"), (
                "bfcreate", "--live", "-n", 100, "new"):
            message = self.trouble(tool, *words, names=words[-1:], before=WITHOUT_PROC)
            self.assertIn("(mount /proc)", message)


if __name__ == "__main__":
    main()
