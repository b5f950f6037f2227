# SPDX-License-Identifier: MIT
"""Keys of the wrong kind: inputs that look like something else, and filters of another framing."""

import bz2
import gzip
import lzma
import os
import struct

from support import GOLDEN, ToolTest, craft, lines, main, numbered

TEXT = lines(*numbered(2000))
ZSTD = bytes.fromhex("28b52ffd") + bytes(range(1, 200))
WIDE = TEXT.decode().encode("utf-16-le")
KINDS = {"gz": (gzip.compress(TEXT), "gzip data", "-Z unpacks it"),
         "bz2": (bz2.compress(TEXT), "bzip2 data", "bzip2 -dc"),
         "xz": (lzma.compress(TEXT), "xz data", "xz -dc"),
         "zst": (ZSTD, "zstd data", "-Z unpacks it"),
         "bom": (b"\xff\xfe" + WIDE, "UTF-16 text", "iconv -f UTF-16 "),
         "big bom": (b"\xfe\xff" + TEXT.decode().encode("utf-16-be"), "UTF-16 text", "iconv"),
         "utf-8 bom": (b"\xef\xbb\xbf" + TEXT, "text with a byte order mark", "tail -c +4"),
         "wide": (WIDE, "UTF-16 text", "iconv -f UTF-16LE"),
         "wide big": (TEXT.decode().encode("utf-16-be"), "UTF-16 text", "iconv -f UTF-16BE")}
CRLF = TEXT.replace(b"\n", b"\r\n")


class KindTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.create("-q", "-n", 5000, stdin=TEXT, name="filter")

    def commands(self):
        """Each tool that reads keys, with what comes before them."""
        self.create_live("-f", "-n", "1M")
        self.write("other", b"other\n")
        return (("bfcreate", "-f", "new"), ("bfadd", "live"), ("bfquery", "filter"),
                ("bfuniq",), ("bfcommon", "other"), ("bfquery", "filter", "other", "--unless"),
                ("bfinspect", "filter", "--keys"))

    def said(self, tool, *words, **options):
        result = self.run_tool(tool, *words, **options)
        self.assertLess(result.returncode, 2, result.stderr)
        return result.stderr.decode()


class Inputs(KindTest):
    def test_what_looks_like_something_else_is_told_by_each_tool(self):
        for name, (data, what, remedy) in KINDS.items():
            self.write(name, data)
            for tool, *words in self.commands():
                with self.subTest(name, tool=tool):
                    message = self.said(tool, *words, name)
                    self.assertIn(f"{tool}: {name} looks like {what}, and is taken for keys as it "
                                  "is (", message)
                    self.assertIn(remedy, message)
                    self.assertEqual(message.count("looks like"), 1)
                    self.assertEqual(self.said(tool, "-q", *words, name), message)
                    self.assertNotIn("looks", self.said(tool, "--as-is", *words, name))

    def test_a_filter_is_no_list_of_keys(self):
        """It is nearly always the wrong operand."""
        says = (": it is a Bloom filter, and holds no keys (bfquery and bfuniq take it by --filter, bfmerge joins "
                "filters; --as-is takes its bytes for keys)\n")
        self.create_live("-n", 1000, name="live filter")
        for image in sorted(GOLDEN.glob("*-file*.bloom")):
            self.write(image.name, image.read_bytes())
        names = [name for name in os.listdir(self.folder) if name.endswith(("filter", "-file.bloom"))]
        self.assertGreater(len(names), 4)
        for tool, *words in self.commands():
            if tool == "bfcreate":
                words = words[1:]
            for name in names:
                for more in [], ["-q"], ["-Z"], ["-x8"]:
                    with self.subTest(tool, words=more, name=name):
                        result = self.run_tool(tool, *more, *words, name)
                        if "-q" not in more or "other" in words:
                            self.assertEqual(result.returncode, 2, result.stderr)
                        self.assertIn((tool + ": " + name + says).encode(), result.stderr)
                        self.assertFalse((self.folder / "new").exists())
            result = self.run_tool(tool, "--as-is", "-q", *words, names[0])
            self.assertLess(result.returncode, 2, result.stderr)
            (self.folder / "new").unlink(missing_ok=True)
        self.assertIn("filter" + says, self.trouble("bfcreate", "-f", "2", "filter"))
        self.assertIn("standard input" + says, self.trouble("bfcreate", "2", stdin=self.read("filter")))
        self.output("bfquery", "filter", "filter", "-", stdin=b"key 1\n", status=2, says=("bfquery: filter" + says).encode())

    def test_a_patch_is_no_list_of_keys(self):
        """Its beginning is enough: a patch that is cut off, or of a later version, is none either."""
        self.output("bfdelta", "filter", "filter", "patch")
        self.write("patch", self.read("patch")[:40])
        self.write("packed", gzip.compress(self.read("patch")))
        for tool, *words in self.commands():
            for more, name in ([], "patch"), (["-q", "-0"], "patch"), (["-x8"], "patch"), (["-Z"], "packed"):
                with self.subTest(tool, words=more):
                    result = self.run_tool(tool, *more, *words, name)
                    if "-q" not in more or "other" in words:
                        self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertIn(f"{tool}: {name}: it is a patch between Bloom filters, and holds no keys (bfdelta "
                                  "--apply applies it, bfdelta --info describes it; --as-is takes its bytes for "
                                  "keys)\n", result.stderr.decode())
                    self.assertFalse((self.folder / "new").exists())
            self.assertLess(self.run_tool(tool, "--as-is", *words, "patch").returncode, 2)
            (self.folder / "new").unlink(missing_ok=True)

    def test_carriage_returns_at_each_end(self):
        self.write("dos", CRLF)
        for tool, *words in self.commands():
            with self.subTest(tool):
                message = self.said(tool, *words, "dos")
                self.assertIn(f"{tool}: dos: each line ends in a carriage return, which is taken "
                              "for a part of the key (--crlf takes it off)\n", message)
                if tool != "bfadd":  # its filter says that it is for lines
                    self.assertNotIn("carriage return,", self.said(tool, "--crlf", *words, "dos"))
                self.assertEqual(self.said(tool, "-q", *words, "dos"), message)

    def test_standard_input_and_pipes(self):
        for tool, *words in self.commands()[:-2]:
            for data, what in (CRLF, "carriage return"), (KINDS["gz"][0], "gzip data"):
                message = self.said(tool, *words, "-", stdin=data)
                self.assertRegex(message, f"(?m)^{tool}: standard input.*{what}")
        message = self.said("bfcommon", "-", "other", stdin=CRLF)
        self.assertIn("standard input: each line ends", message)
        self.assertEqual(self.said("bfcommon", "--crlf", "-", "other", stdin=CRLF), "")

    def test_one_warning_for_each_input(self):
        self.write("one", CRLF * 200)  # more than is looked at
        self.write("two", CRLF)
        self.write("good", TEXT)
        message = self.said("bfquery", "-c", "filter", "one", "good", "two", "-")
        self.assertEqual([line.split(":")[1] for line in message.splitlines()], [" one", " two"])

    def test_what_is_as_it_should_be_is_not_told(self):
        for data in (b"", b"\n", b"a\n", b"a\r", b"a\r\nb\n", b"\n\r\n", b"a\n\r\n", b"BZhang\n" * 9,
                     b"\x1f\x8b\n", "ünïcödé\n".encode(), b"a\xef\xbb\xbf\n"):
            self.write("keys", data)
            for tool, *words in self.commands()[1:]:
                self.assertEqual(self.said(tool, *words, "keys"), "", (tool, data))

    def test_zero_bytes_are_wanted_in_other_framings(self):
        """What is UTF-16 elsewhere may be strings of one character, or small numbers."""
        self.write("letters", b"".join(b"%c\0" % letter for letter in b"abcdefghijklmnopq"))
        self.write("numbers", b"".join(struct.pack("<H", i) for i in range(1, 200)))
        self.write("dos", b"abc\r\n" * 9)
        for words in ["-0", "letters"], ["-x2", "numbers"], ["-x5", "dos"]:
            for tool in "bfuniq", "bfcreate":
                self.assertEqual(self.said(tool, *(["-f", "new"] if tool == "bfcreate" else []),
                                           *words), "", words)
        self.write("packed", KINDS["gz"][0])
        self.assertIn("gzip data", self.said("bfuniq", "-0", "packed"))

    def told_by_all(self, words, data, message):
        """An input, and the same through a pipe, of which a tool may see little at first."""
        self.write("keys", data)
        commands = self.commands()
        self.write("other", b"other")
        for tool, *others in commands:
            with self.subTest(tool, words=words, data=data[:20]):
                said = self.said(tool, *words, *others, "keys").splitlines()
                said = [line for line in said if " was made for " not in line]
                self.assertEqual(said, [f"{tool}: keys: {message}"] if message else [])
                self.assertNotIn("zero byte", self.said(tool, "--as-is", "-q", *words, *others, "keys")
                                 .replace("that end with a zero byte (-0)", ""))
        process = self.start("bfcommon", *words, "-", "other")
        for piece in data[:5], data[5:]:
            process.stdin.write(piece)
            process.stdin.flush()
            self.until_read(process)
        said = self.result(process)[2].decode()
        self.assertEqual(said, f"bfcommon: standard input: {message}\n" if message else "")

    def test_zero_bytes_in_lines(self):
        """As what find -print0 writes, without -0, and binary data."""
        for data in (b"./a\0./b\0", b"a\0b\n" * 90, TEXT + b"\0", b"\x7fELF\2\1\1\0\0\0\n"):
            self.told_by_all([], data, "there are zero bytes, which are taken for a part of the key "
                                       "(-0 is for keys that end with one)")
        self.assertIn("a part of the key (-0", self.said("bfcreate", "made", stdin=b"./a\0./b\0"))
        self.write("table", b'"a\0",b\n')
        self.assertEqual(self.said("bfuniq", "--csv", "--field", 1, "table"),
                         "bfuniq: table: there are zero bytes, which are taken for a part of the key\n")

    def test_lines_where_keys_end_with_zero_bytes(self):
        for data in b"a\nb\n", b"key\n", b"a\nb", CRLF, TEXT * 40:
            self.told_by_all(["-0"], data, "there are newlines and no zero byte, with which keys "
                                           "end (without -0 each line is a key)")
        for data in b"key", b"two\nlines\0", b"a\nb\0c\nd", b"key 1\nkey 2\n\0" * 9:
            self.told_by_all(["-0"], data, None)

    def test_it_is_told_while_more_is_waited_for(self):
        """An input that does not end would go into memory without a word."""
        for tool, words in ("bfuniq", []), ("bfcommon", ["-", "other"]):
            self.write("other", b"other\0")
            process = self.start(tool, "-0", *words)
            for _ in range(200):
                process.stdin.write(b"a line of a log\n" * 64)
                process.stdin.flush()
                self.until_read(process)
            self.assertIn(b"newlines and no zero byte", process.stderr.readline())
            self.result(process)

    def test_a_list_of_names_is_no_list_of_keys(self):
        self.write("names", b"filter\r\n")
        os.link(self.folder / "filter", self.folder / "filter\r")
        self.assertEqual(self.said("bfmerge", "merged", "--files-from", "names"), "")


WORDS = {(): "lines", ("--crlf",): r"lines without their carriage returns \(--crlf\)",
         ("-0",): r"strings that end with a zero byte \(-0\)", ("-x", "4"): r"records of 4 bytes \(-x 4\)",
         ("-x", "1"): r"records of 1 byte \(-x 1\)"}
NAMES = {(): "lines", ("--crlf",): "lines-crlf", ("-0",): "null", ("-x", "4"): "fixed 4",
         ("-x", "1"): "fixed 1"}


class Framings(ToolTest):
    def messages(self, *command, **options):
        result = self.run_tool(*command, **options)
        self.assertLess(result.returncode, 2, result.stderr)
        return result.stderr.decode()

    def check(self, made, asked, text, tool, name):
        if made == asked:
            self.assertEqual(text, "")
        else:
            self.assertRegex(text, rf"\A{tool}: {name} was made for {WORDS[made]}, but these keys "
                                   rf"are {WORDS[asked]}: what is in it may look absent\n\Z")

    def test_bfcreate_and_bfuniq_record_it(self):
        for words, name in NAMES.items():
            for make in (["bfcreate", "-f", "made"], ["bfcreate", "-f", "--live", "-n", 10, "made"],
                         ["bfuniq", "--filter", "made"]):
                (self.folder / "made").unlink(missing_ok=True)
                self.output(*make, *words, **({} if "--live" in make else {"stdin": b"abcd"}))
                self.assertEqual(self.inspected("made")["header"]["framing"], name)
        self.output("bfuniq", "-0", "--filter", "seen", "--generations", 2, "--every", 9)
        self.assertEqual(self.inspected("seen")["header"]["framing"], "null")
        self.output("bfcreate", "-q", "--allow-empty", "-x", 2**24, "huge")  # more than the field holds
        self.assertEqual(self.inspected("huge")["header"]["framing"], "unknown")
        self.output("bfquery", "-c", "huge", status=1)

    def test_who_asks_in_another_framing_is_told_both(self):
        for made in WORDS:
            self.create("-q", *made, stdin=b"abcd", name="made")
            self.create_live("-f", "-n", 100, *made)
            for asked in WORDS:
                with self.subTest(made=made, asked=asked):
                    for tool, name, *words in (
                            ("bfquery", "made", "made"), ("bfquery", "live", "-q", "live"),
                            ("bfadd", "live", "live"), ("bfuniq", "live", "--filter", "live"),
                            ("bfinspect", "made", "--keys", "-", "made")):
                        for quiet in [], ["-q"]:
                            message = self.messages(tool, *quiet, *words, *asked, stdin=b"")
                            self.check(made, asked, message, tool, name)

    def test_what_nobody_recorded_is_not_told(self):
        self.write("library", craft.make("blocked", 512, 4, numbered(3)))
        for asked in WORDS:
            self.assertEqual(self.messages("bfquery", "library", *asked, stdin=b""), "")

    def test_bfmerge_tells_of_sources_that_differ(self):
        self.create("-q", "-n", 99, "-m", 5120, "-k", 4, stdin=b"a\n", name="a")
        self.create("-q", "-n", 99, "-m", 5120, "-k", 4, "-0", stdin=b"a\0", name="b")
        self.write("c", craft.make("blocked", 5120, 4, numbered(3), capacity=99))
        says = (b"bfmerge: b was made for strings that end with a zero byte (-0), but a for lines: "
                b"whichever way they are asked together, what is in one of them may look absent\n")
        for sources in ["a", "b"], ["c", "a", "b"], ["a", "c", "b", "c2"]:
            if "c2" in sources:
                self.create("-q", "-n", 99, "-m", 5120, "-k", 4, "-x4", stdin=b"abcd", name="c2")
            self.output("bfmerge", "-f", "--discard", "-p", 1, "merged", *sources, says=says)
            self.assertEqual(self.inspected("merged")["header"]["framing"], "unknown")
            self.output("bfmerge", "-qf", "--discard", "-p", 1, "merged", *sources, says=says)
        self.output("bfmerge", "-f", "--discard", "-p", 1, "merged", "a", "c")


if __name__ == "__main__":
    main()
