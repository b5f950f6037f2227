# SPDX-License-Identifier: MIT
"""A system whose current boot cannot be identified, so a crash of the machine cannot be detected."""

from support import WITHOUT_PROC, ToolTest, main, needs


class NoBoot(ToolTest):
    @needs(*WITHOUT_PROC)
    def test_bfuniq_reports_a_missing_boot_identity_not_a_missing_file(self):
        self.output("bfuniq", "--filter", "old", stdin=b"a\n")
        for name in "old", "new":
            message = self.trouble("bfuniq", "--filter", name, stdin=b"b\n", names=[name],
                                   before=WITHOUT_PROC)
            self.assertIn("current boot cannot be identified", message)
            self.assertIn("(mount /proc)", message)

    @needs(*WITHOUT_PROC)
    def test_every_tool_reports_a_missing_boot_identity(self):
        self.create_live("-n", 100)
        for tool, *words in ("bfadd", "live"), ("bfseal", "live"), (
                "bfcreate", "--live", "-n", 100, "new"):
            message = self.trouble(tool, *words, names=words[-1:], before=WITHOUT_PROC)
            self.assertIn("(mount /proc)", message)

    @needs(*WITHOUT_PROC)
    def test_filters_in_memory_need_no_boot_identity(self):
        self.write("keys", b"a\nb\n")
        for words in ["bfuniq"], ["bfuniq", "-c"], ["bfcommon", "-", "keys"], ["bfuniq", "--generations", "2", "--every", "5"]:
            usual = self.run_tool(*words, stdin=b"b\na\nb\n")
            self.assertEqual((usual.returncode, usual.stderr), (0, b""))
            self.assertEqual(self.output(*words, stdin=b"b\na\nb\n", before=WITHOUT_PROC), usual.stdout)


if __name__ == "__main__":
    main()
