# SPDX-License-Identifier: MIT
"""Keys of the wrong kind: inputs that look like something else, and filters of other keys."""

import bz2
import gzip
import io
import lzma
import os
import struct
import zipfile

from support import GOLDEN, ToolTest, craft, lines, main, numbered

TEXT = lines(*numbered(2000))


def zipped(data):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("keys", data)
    return archive.getvalue()


ZSTD = bytes.fromhex("28b52ffd") + bytes(range(1, 200))
WIDE = TEXT.decode().encode("utf-16-le")
LZ4, OLD_LZ4 = (bytes.fromhex(magic) + bytes(range(1, 200)) for magic in ("04224d18", "02214c18"))
KINDS = {"pz": (bytes.fromhex("502a4d180400000001020304") + ZSTD, "zstd-compressed (add -Z"), "gz": (gzip.compress(TEXT), "gzip-compressed (add -Z"),
         "bz2": (bz2.compress(TEXT), "bzip2-compressed (bzip2 -dc unpacks it"),
         "xz": (lzma.compress(TEXT), "xz-compressed (xz -dc unpacks it"),
         "zst": (ZSTD, "zstd-compressed (add -Z"),
         "lz4": (LZ4, "lz4-compressed (lz4 -dc unpacks it"),
         "old lz4": (OLD_LZ4, "lz4-compressed (lz4 -dc unpacks it"),
         "zip": (zipped(TEXT), "a zip archive (unzip -p unpacks it"),
         "7z": (bytes.fromhex("377abcaf271c0004") + bytes(range(1, 200)), "a 7-Zip archive (7z e -so unpacks it"),
         "bom": (b"\xff\xfe" + WIDE, "UTF-16 text (convert it: iconv -f UTF-16 -t UTF-8"),
         "big bom": (b"\xfe\xff" + TEXT.decode().encode("utf-16-be"),
                     "UTF-16 text (convert it: iconv -f UTF-16 -t UTF-8"),
         "wide": (WIDE, "UTF-16 text (convert it: iconv -f UTF-16LE -t UTF-8"),
         "wide big": (TEXT.decode().encode("utf-16-be"), "UTF-16 text (convert it: iconv -f UTF-16BE -t UTF-8")}
CRLF = TEXT.replace(b"\n", b"\r\n")


class KindTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.create("-q", "-n", 5000, stdin=TEXT, name="filter")

    def commands(self):
        """Each tool that reads keys, with the arguments before the keys."""
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
    def refused(self, tool, *words, **options):
        """The message about one input. Nothing may be made, printed or added."""
        before = self.snapshot()
        result = self.run_tool(tool, *words, **options)
        self.assertEqual((result.returncode, result.stdout), (2, b""), result.stderr)
        self.assertEqual(self.snapshot().keys(), before.keys())
        return result.stderr.decode()

    def test_compressed_and_utf_16_input_is_refused_as_keys(self):
        for name, (data, what) in KINDS.items():
            self.write(name, data)
            for tool, *words in self.commands():
                with self.subTest(name, tool=tool):
                    message = self.refused(tool, *words, name)
                    self.assertTrue(message.startswith(f"{tool}: {name}: it is {what}, or --as-is to use "), message)
                    self.assertEqual(message.count("\n"), 1)
                    self.assertEqual(self.refused(tool, "-q", *words, name), message)
                    if tool == "bfadd":
                        self.assertEqual(self.inspected("live")["record"]["n"], 0)
                    self.assertEqual(self.said(tool, "--as-is", "-q", *words, name), "")
                    (self.folder / "new").unlink(missing_ok=True)

    def test_other_inputs_are_still_answered(self):
        self.write("gz", KINDS["gz"][0])
        self.write("good", b"key 1\n")
        for tool, *words in ("bfquery", "filter"), ("bfuniq",):
            result = self.run_tool(tool, *words, "gz", "good")
            self.assertEqual((result.returncode, result.stdout), (2, b"key 1\n"))
        self.assertEqual(self.said("bfuniq", "-Z", "gz"), "")

    def test_fixed_records_may_begin_like_compressed_data(self):
        """A few bytes of a magic number are not enough."""
        for start in b"\x1f\x8b\x08\xff", b"\x1f\x8b\x08\0\0\0\0\0\x90\x03", b"BZh91AY\0", b"\x28\xb5\x2f\0", b"\x50\x2a\x4d\x18\4\0\0\0":
            self.assertEqual(self.said("bfuniq", "-x20", stdin=(start + bytes(range(20)))[:20] * 9), "")

    def test_byte_order_mark_is_warned_of(self):
        self.write("keys", b"\xef\xbb\xbf" + TEXT)
        for tool, *words in self.commands():
            says = (f"{tool}: warning: keys begins with a byte order mark, which becomes part of the first key (to strip it: tail -c +4 FILE)\n")
            self.assertEqual(self.said(tool, "-q", *words, "keys"), says)
            self.assertEqual(self.said(tool, "--as-is", "-q", *words, "keys"), "")

    def test_file_without_newlines_is_one_key_and_warned_of(self):
        for data in b"key 1\rkey 2\r", b"key 1\r":
            self.write("keys", data)
            for tool, *words in self.commands():
                self.assertEqual(self.said(tool, "-q", *words, "keys"), f"{tool}: warning: keys: it has carriage returns but no newlines, "
                                 "so it is one key (to convert it: tr '\\r' '\\n')\n")

    def test_advice_to_leave_out_an_option_has_its_condition(self):
        for option in "-i", "--hex", "--integers", "--domains":
            self.assertIn(f"(if its keys were added as written, leave out {option}; else use a filter created with {option})",
                          self.trouble("bfquery", option, "filter", stdin=b"42\n"))

    def test_wrong_kind_of_filter_operand_is_named(self):
        """Compressed, a patch, or of another project: each tool names the kind and the remedy."""
        words = {"bfquery": ["it", "other"], "bfadd": ["it", "other"], "bfuniq": ["--filter", "it", "other"],
                 "bfinspect": ["it"], "bfmerge": ["new", "it"], "bffold": ["it", "new"], "bfseal": ["it"],
                 "bfdelta": ["it", "filter", "new"]}
        self.write("other", b"other\n")
        self.output("bfdelta", "filter", "filter", "patch")
        image = self.read("filter")
        for data, says in (
                (gzip.compress(image), "it is gzip-compressed (decompress it: gzip -dc < it > NEWFILE)"),
                (ZSTD, "it is zstd-compressed (decompress it: zstd -dc < it > NEWFILE)"),
                (lzma.compress(image), "it is xz-compressed (decompress it: xz -dc < it > NEWFILE)"),
                (LZ4, "it is lz4-compressed (decompress it: lz4 -dc < it > NEWFILE)"),
                (bz2.compress(image), "it is bzip2-compressed (decompress it: bzip2 -dc < it > NEWFILE)"),
                (zipped(image), "it is a zip archive (decompress it: unzip -p it > NEWFILE)"),
                (self.read("patch"), "it is a patch"),
                (b"libbloom2\2\1" + bytes(200), "a filter of libbloom, "),
                (struct.pack(">bBI", 1, 5, 9) + bytes(72), "a filter of Guava, "),
                (struct.pack(">III", 1, 5, 9) + bytes(72), "a filter of Apache Spark, "),
                (struct.pack(">IIII", 2, 5, 0, 9) + bytes(72), "a filter of Apache Spark, "),
                (struct.pack(">QQQ", 570, 5, 570) + bytes(72), "a filter of bits-and-blooms (Go), "),
                (struct.pack("<dQQQQ", 0.01, 7, 30, 9, 9) + bytes(27), "a filter of pybloom, ")):
            self.write("it", data)
            for tool, others in words.items():
                with self.subTest(says, tool=tool):
                    result = self.run_tool(tool, *others)
                    self.assertEqual(result.returncode, 2)
                    self.assertIn(says, result.stderr.decode())
        self.write("it of her", gzip.compress(image))
        self.assertIn("(decompress it: gzip -dc < FILE > NEWFILE)", self.trouble("bfquery", "it of her", "other"))
        self.write("it", gzip.compress(image))
        self.assertIn("begins at byte 0: it is gzip-compressed", self.trouble("bfmerge", "new", "-", stdin=self.read("it")))
        self.assertIn("it is gzip-compressed (the filter comes first", self.trouble("bfcreate", "-f", "it", "other"))
        self.write("packed", gzip.compress(self.read("patch")))
        self.assertIn("cannot use the patch packed: it is gzip-compressed (decompress it: gzip -dc < packed > NEWFILE)",
                      self.trouble("bfdelta", "--apply", "filter", "packed", "new"))
        for data in b"", b"\1", b"key 1\n" * 9, bytes(78), struct.pack(">bBI", 1, 5, 9) + bytes(71):
            self.write("it", data)
            self.assertNotRegex(self.run_tool("bfquery", "it", "other").stderr, b"it is|it looks")

    def test_filter_as_a_list_of_keys_is_refused(self):
        """A filter as a list of keys is nearly always a wrong operand."""
        says = (": it is a Bloom filter, not a list of keys (use it with --filter of bfquery or bfuniq, or merge it with bfmerge; --as-is uses its bytes as keys)\n")
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
                    if more == ["-x8"] and words:
                        continue  # the filter there holds text
                    with self.subTest(tool, words=more, name=name):
                        result = self.run_tool(tool, *more, *words, name)
                        if "-q" not in more or "other" in words:
                            self.assertEqual(result.returncode, 2, result.stderr)
                        message = f"bfuniq: cannot read {name}: it is a filter, not a list" if tool == "bfuniq" else f"{tool}: {name}{says}"
                        self.assertIn(message.encode(), result.stderr)
                        self.assertFalse((self.folder / "new").exists())
            result = self.run_tool(tool, "--as-is", "-q", *words, names[0])
            self.assertLess(result.returncode, 2, result.stderr)
            (self.folder / "new").unlink(missing_ok=True)
        self.assertIn("filter" + says, self.trouble("bfcreate", "-f", "2", "filter"))
        self.assertIn("standard input" + says, self.trouble("bfcreate", "2", stdin=self.read("filter")))
        self.output("bfquery", "filter", "filter", "-", stdin=b"key 1\n", status=2, says=("bfquery: filter" + says).encode())

    def test_patch_as_a_list_of_keys_is_refused(self):
        """Its first bytes are enough: a patch that is truncated or from a later version is recognised too."""
        self.output("bfdelta", "filter", "filter", "patch")
        self.write("patch", self.read("patch")[:40])
        self.write("packed", gzip.compress(self.read("patch")))
        for tool, *words in self.commands():
            for more, name in ([], "patch"), (["-q", "-0"], "patch"), (["-x8"], "patch"), (["-Z"], "packed"):
                if more == ["-x8"] and words:
                    continue
                with self.subTest(tool, words=more):
                    result = self.run_tool(tool, *more, *words, name)
                    if "-q" not in more or "other" in words:
                        self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertIn(f"{tool}: {name}: it is a patch between Bloom filters, not a list of keys (bfdelta "
                                  "--apply applies it, bfdelta --info describes it; --as-is uses its bytes as "
                                  "keys)\n", result.stderr.decode())
                    self.assertFalse((self.folder / "new").exists())
            self.assertLess(self.run_tool(tool, "--as-is", *words, "patch").returncode, 2)
            (self.folder / "new").unlink(missing_ok=True)

    def test_carriage_returns_at_line_ends_are_warned_of(self):
        self.write("dos", CRLF)
        for tool, *words in self.commands():
            with self.subTest(tool):
                message = self.said(tool, *words, "dos")
                self.assertIn(f"{tool}: warning: dos: each line ends with a carriage return, which becomes part of the key (add --crlf to strip it)\n", message)
                self.assertEqual(self.said(tool, "-q", "--crlf", *words, "dos"), "")
                self.assertEqual(self.said(tool, "-q", *words, "dos"), message)

    def test_warnings_name_standard_input_and_pipes(self):
        for tool, *words in self.commands()[:-2]:
            message = self.said(tool, *words, "-", stdin=CRLF)
            self.assertRegex(message, f"(?m)^{tool}: warning: standard input.*carriage return")
            (self.folder / "new").unlink(missing_ok=True)
            self.assertIn(f"{tool}: standard input: it is gzip-compressed", self.refused(tool, *words, "-", stdin=KINDS["gz"][0]))
        message = self.said("bfcommon", "-", "other", stdin=CRLF)
        self.assertIn("standard input: each line ends", message)
        self.assertEqual(self.said("bfcommon", "--crlf", "-", "other", stdin=CRLF), "")

    def test_each_input_is_warned_of_once(self):
        self.write("one", CRLF * 200)  # more than the tool examines
        self.write("two", CRLF)
        self.write("good", TEXT)
        message = self.said("bfquery", "-c", "filter", "one", "good", "two", "-")
        self.assertEqual([line.split(":")[2] for line in message.splitlines()], [" one", " two"])

    def test_normal_input_gives_no_warning(self):
        for data in (b"", b"\n", b"a\n", b"a\r\nb\n", b"\n\r\n", b"a\n\r\n", b"BZhang\n" * 9,
                     b"\x1f\x8b\n", "ünïcödé\n".encode(), b"a\xef\xbb\xbf\n"):
            self.write("keys", data)
            for tool, *words in self.commands()[1:]:
                self.assertEqual(self.said(tool, *words, "keys"), "", (tool, data))

    def test_zero_bytes_in_other_forms_give_no_warning(self):
        """Bytes that look like UTF-16 may be strings of one character, or small numbers."""
        self.write("letters", b"".join(b"%c\0" % letter for letter in b"abcdefghijklmnopq"))
        self.write("numbers", b"".join(struct.pack("<H", i) for i in range(1, 200)))
        self.write("dos", b"abc\r\n" * 9)
        for words in ["-0", "letters"], ["-x2", "numbers"], ["-x5", "dos"]:
            for tool in "bfuniq", "bfcreate":
                self.assertEqual(self.said(tool, *(["-f", "new"] if tool == "bfcreate" else []),
                                           *words), "", words)
        self.write("packed", KINDS["gz"][0])
        self.assertIn("gzip-compressed", self.refused("bfuniq", "-0", "packed"))

    def told_by_all(self, words, data, message):
        """Tests an input as a file and through a pipe, from which a tool may see little at first."""
        self.write("keys", data)
        commands = self.commands()
        self.write("other", b"other")
        for tool, *others in commands:
            with self.subTest(tool, words=words, data=data[:20]):
                said = self.said(tool, *words, *others, "keys").splitlines()
                self.assertEqual(said, [f"{tool}: warning: keys: {message}"] if message else [])
                self.assertEqual(self.said(tool, "--as-is", "-q", *words, *others, "keys"), "")
        process = self.start("bfcommon", *words, "-", "other")
        for piece in data[:5], data[5:]:
            self.write_to(process, piece)
        said = self.result(process)[2].decode()
        self.assertEqual(said, f"bfcommon: warning: standard input: {message}\n" if message else "")

    def test_zero_bytes_in_lines_are_warned_of(self):
        """Output of find -print0 without -0, and binary data."""
        for data in (b"./a\0./b\0", b"a\0b\n" * 90, TEXT + b"\0", b"\x7fELF\2\1\1\0\0\0\n"):
            self.told_by_all([], data, "it has NUL bytes, which become part of the key (add -0 if keys end with NUL)")
        self.assertIn("part of the key (add -0", self.said("bfcreate", "made", stdin=b"./a\0./b\0"))
        self.write("table", b'"a\0",b\n')
        self.assertEqual(self.said("bfuniq", "--csv", "--field", 1, "table"),
                         "bfuniq: warning: table: it has NUL bytes, which become part of the key\n")

    def test_lines_in_place_of_null_terminated_keys_are_warned_of(self):
        for data in b"a\nb\n", b"key\n", b"a\nb", CRLF, TEXT * 40:
            self.told_by_all(["-0"], data, "it has newlines but no NUL bytes, so it is one key (leave out -0 to use each line as a key)")
        for data in b"key", b"two\nlines\0", b"a\nb\0c\nd", b"key 1\nkey 2\n\0" * 9:
            self.told_by_all(["-0"], data, None)

    def test_warning_is_printed_before_the_input_ends(self):
        """An endless input would otherwise fill memory without a message."""
        for tool, words in ("bfuniq", []), ("bfcommon", ["-", "other"]):
            self.write("other", b"other\0")
            process = self.start(tool, "-0", *words)
            for _ in range(200):
                self.write_to(process, b"a line of a log\n" * 64)
            self.assertIn(b"newlines but no NUL bytes", process.stderr.readline())
            self.result(process)

    def test_list_of_file_names_gives_no_warning(self):
        self.write("names", b"filter\r\n")
        os.link(self.folder / "filter", self.folder / "filter\r")
        self.assertEqual(self.said("bfmerge", "merged", "--files-from", "names"), "")


NAMES = {(): "text", ("--crlf",): "text", ("-0",): "text", ("-x", "4"): "fixed 4", ("-x", "1"): "fixed 1"}


class Kinds(ToolTest):
    def kind(self, name):
        header = self.inspected(name)["header"]
        return f"{header['key_kind']} {header['key_size'] or ''}".strip()

    def messages(self, *command, **options):
        result = self.run_tool(*command, **options)
        self.assertLess(result.returncode, 2, result.stderr)
        return result.stderr.decode()

    def test_bfcreate_and_bfuniq_record_the_kind_of_keys(self):
        for words, name in NAMES.items():
            for make in (["bfcreate", "-f", "made"], ["bfcreate", "-f", "--live", "--allow-empty", "-n", 10, "made"],
                         ["bfuniq", "--filter", "made"]):
                (self.folder / "made").unlink(missing_ok=True)
                self.output(*make, *words, **({} if "--live" in make else {"stdin": b"abcd"}))
                self.assertEqual(self.kind("made"), name)
        self.output("bfuniq", "-0", "--filter", "seen", "--generations", 2, "--every", 9)
        self.assertEqual(self.kind("seen"), "text")
        self.output("bfcreate", "-q", "--allow-empty", "-x", 2**24, "huge")  # the size does not fit in the field of the header
        self.assertEqual(self.kind("huge"), "bytes")
        self.assertIn("add --hex for hexadecimal keys, or --as-is if the keys are text", self.trouble("bfquery", "-c", "huge"))
        self.output("bfquery", "-c", "--as-is", "huge", status=1)
        self.output("bfquery", "-c", "-x", 2**24, "huge", status=1)

    def commands(self):
        return (("bfquery", "made", "made"), ("bfquery", "made", "-v", "made"), ("bfquery", "live", "-q", "live"),
                ("bfquery", "made", "--filter", "made"), ("bfadd", "live", "live"), ("bfuniq", "live", "--filter", "live"),
                ("bfinspect", "made", "--keys", "-", "made"))

    def each_pair(self, check):
        """Calls `check` with each kind of filter and each way to read keys."""
        for made in NAMES:
            self.create("-q", *made, stdin=b"abcd", name="made")
            self.create_live("-f", "-n", 100, *made)
            for read in NAMES:
                is_text = not {"-x"} & {*made, *read}
                with self.subTest(made=made, read=read):
                    check(made, read, is_text or made == read)

    def test_keys_of_another_kind_are_an_error(self):
        """The keys must not count as absent. Nothing is printed or added, and no remedy reads records as lines."""
        def what(words):
            return f"{words[1]}-byte records" if "-x" in words else "text"

        def remedy(tool, made, read):
            if "-x" in made and "-x" in read:
                return f"use -x {made[1]}"
            if "-x" in made:
                return f"add --hex --key-size {made[1]} for hexadecimal keys, -x for binary records, or --as-is if each key has {made[1]} bytes"
            if tool in ("bfadd", "bfuniq"):
                return f"create a filter with bfcreate --live -x {read[1]}, or add --as-is to use the keys unchanged"
            return f"use a filter created with -x {read[1]}, or --as-is if its text keys have that length"

        def check(made, read, fits):
            if fits:
                return
            self.output("bfadd", "-q", "live", *made, stdin=b"abcd")
            before = self.inspected("live")["record"]["n"]
            for tool, name, *words in self.commands():
                for quiet in [], ["-q"]:
                    result = self.run_tool(tool, *quiet, *words, *read, stdin=b"abcd")
                    self.assertEqual((result.returncode, result.stdout, result.stderr.decode()),
                                     (2, b"", f"{tool}: {name} holds {what(made)}{' keys' * ('-x' not in made)}, but the input is {what(read)} ({remedy(tool, made, read)})\n"))
                self.assertEqual(self.messages(tool, "-q", "--as-is", *words, *read, stdin=b""), "")
            record = self.inspected("live")["record"]
            self.assertEqual((record["n"], record["n_estimated"], record["writers"]), (before, False, 0))

        self.each_pair(check)

    def test_a_live_filter_without_keys_refuses_another_kind(self):
        """Otherwise it would claim to hold the kind it was made for, and lookups would trust that."""
        for tool, *words in ("bfadd", "live"), ("bfuniq", "--filter", "live"):
            self.create_live("-f", "-n", 100)
            self.assertIn("live holds text keys", self.trouble(tool, *words, "-x4", stdin=b"abcd", changes=True))
            self.create_live("-f", "-n", 100, "-x4")
            self.assertIn("live holds 4-byte records", self.trouble(tool, *words, stdin=b"abcd\n", changes=True))

    def test_text_keys_fit_with_any_terminator(self):
        """No tool warns if a filter of lines meets strings that end with NUL, or the reverse."""
        def check(made, read, fits):
            if not fits:
                return
            for tool, _, *words in self.commands():
                self.assertEqual(self.messages(tool, "-q", *words, *read, stdin=b""), "")

        self.each_pair(check)
        self.create("-q", stdin=b"a\nb\n", name="made")
        self.assertEqual(self.output("bfquery", "--crlf", "made", stdin=b"a\r\nc\r\n"), b"a\r\n")
        self.assertEqual(self.output("bfquery", "-0", "made", stdin=b"a\0c\0"), b"a\0")

    def test_fields_are_text(self):
        self.create("-q", "-x", 4, stdin=b"abcd", name="made")
        self.assertIn("made holds 4-byte records, but the input is text (add --hex --key-size 4 for hexadecimal keys, or --as-is if each key has 4 bytes)",
                      self.trouble("bfquery", "--field", 1, "made", stdin=b"abcd\nx\n"))
        self.assertEqual(self.output("bfquery", "--field", 1, "--as-is", "made", stdin=b"abcd\nx\n"), b"abcd\n")
        self.create("-q", "--field", 1, stdin=b"abcd\n", name="made")
        self.assertEqual(self.query("--field", 1, "made", stdin=b"abcd\n"), [b"abcd"])
        self.create("-q", stdin=b"abcd\n", name="made")
        self.assertIn("made holds text", self.trouble("bfquery", "-x", 2**24, "made", stdin=bytes(2**24)))

    def test_lines_are_refused_as_records(self):
        """Otherwise -x, which a message names for binary records, would answer "no" to each line."""
        for lines, size, remedy in ((b"%064x\n" % 7, 32, "--hex --key-size 32 instead of -x"),
                                    (b"12\n345678901\n", 8, "--integers instead of -x"), (b"a key\r\nanother\n", 4, "leave out -x")):
            self.create("-q", "-x", size, stdin=bytes(size), name="made")
            result = self.run_tool("bfquery", "-v", "-x", size, "made", stdin=lines * 8)
            with self.subTest(lines=lines):
                self.assertEqual((result.returncode, result.stdout), (2, b""))
                self.assertIn(f"lines of text, not {size}-byte records ({remedy}, or --as-is", result.stderr.decode())
        self.create("-q", "--integers", stdin=b"1234567\n", name="made")  # -x 8 would take these lines as records
        self.assertIn("made holds integers, but the input is text (add --integers)\n", self.trouble("bfquery", "-v", "made", stdin=b"1234567\n"))
        self.create("-q", "-x", 8, stdin=b"1234567\n", name="made")  # fixed lines are records
        self.assertEqual(self.output("bfquery", "-x", 8, "made", stdin=b"1234567\n"), b"1234567\n")

    def test_slow_pipe_is_refused_if_it_is_not_keys_after_all(self):
        """Its first bytes may be keys."""
        text, wide = b"abcdefg\nkey1\nkey2\nkey3\n\n", "ab\nkey1\nkey2 long enough\n".encode("utf-16-le")
        self.create("-q", "-x", 8, stdin=bytes(8), name="made")
        self.create_live("-n", 100, "-x", 8)
        self.write("zeros", bytes(8))
        for first, data, says, words in ((8, text, b"lines of text", ["bfquery", "-c", "-x", 8, "made"]), (8, text, b"lines of text", ["bfadd", "-x", 8, "live"]),
                                         (8, text, b"lines of text", ["bfcommon", "-x", 8, "-", "zeros"]), (6, wide, b"UTF-16 text", ["bfuniq"]),
                                         (6, self.read("made"), b"a Bloom filter", ["bfuniq"])):
            process = self.start(*words)
            self.write_to(process, data[:first])
            status, _, message = self.result(process, data[first:])
            self.assertEqual(status, 2, words)
            self.assertIn(says, message)

    def test_records_of_a_slow_pipe_may_begin_like_text(self):
        process = self.start("bfuniq", "-x", 8)
        for piece in b"abcdefgh", b"abc\ndefg":
            self.write_to(process, piece)
        self.assertEqual(self.result(process, bytes(8)), (0, b"abcdefghabc\ndefg" + bytes(8), b""))

    def test_unrecorded_kind_gives_no_warning(self):
        self.write("library", craft.make("blocked", 512, 4, numbered(3)))
        for asked in NAMES:
            self.assertEqual(self.messages("bfquery", "library", *asked, stdin=b""), "")

    def test_bfmerge_refuses_sources_of_different_kinds(self):
        form = "-q", "-n", 99, "-m", 5120, "-k", 4
        self.create(*form, stdin=b"a\n", name="a")
        self.create(*form, "-0", stdin=b"a\0", name="zero")
        self.create(*form, "-x4", stdin=b"abcd", name="four")
        self.create(*form, "-x5", stdin=b"abcde", name="five")
        for kind in "unknown", "lower", "integers", "bytes":
            self.write(kind, craft.make("blocked", 5120, 4, numbered(3), capacity=99, key_kind=kind))
        self.write("newer", craft.edit(self.read("bytes"), header={"key_kind": 6}))
        for sources, merged in ((["a", "zero"], "text"), (["a", "unknown"], "unknown"), (["four", "unknown"], "unknown"),
                                (["unknown", "integers"], "unknown")):
            self.output("bfmerge", "-f", "--discard", "-p", 1, "merged", *sources)
            self.assertEqual(self.kind("merged"), merged)
        for sources, names, kinds in (
                (["a", "four"], "four with a", "fixed 4 and text"),
                (["unknown", "a", "zero", "four"], "four with a", "fixed 4 and text"),
                (["four", "unknown", "five"], "five with four", "fixed 5 and fixed 4"),
                (["integers", "unknown", "bytes"], "bytes with integers", "bytes and integers"),
                (["a", "integers"], "integers with a", "integers and text"),
                (["a", "lower"], "lower with a", "lower and text"),
                (["unknown", "lower"], "lower with unknown", "lower and unknown"),
                (["lower", "unknown"], "unknown with lower", "unknown and lower")):
            for mode in [], ["--intersect"]:
                self.assertIn(f"cannot merge {names}: their kinds of keys are {kinds} (build them from keys of one kind)",
                              self.trouble("bfmerge", *mode, "new", *sources))
        for sources in ["newer", "unknown"], ["bytes", "newer"]:
            self.assertIn("needs a feature this version does not know", self.trouble("bfmerge", "-p", 1, "new", *sources))

    def test_no_tool_answers_no_to_keys_of_another_kind(self):
        """Each kind of filter with each kind of keys."""
        accepted = {"unknown": "text lower integers hex hex4 8 4", "text": "text", "lower": "text lower", "integers": "integers 8",
                    "fixed": "8", "bytes": "hex hex4 8 4", "newer": ""}
        numbers = {**craft.KEY_KINDS, "fixed": 0x804, "newer": 6}
        for kind, fits in accepted.items():
            header = {"compat": 1, "key_kind": numbers[kind]}
            self.write("made", craft.edit(craft.make("blocked", 512, 4, [bytes(8), b"12345678"]), header=header))
            self.create_live("-f", "-n", 100)
            self.write("live", craft.edit(self.read("live"), header=header))
            for keys, words in (("text", []), ("lower", ["-i"]), ("lower", ["--domains"]), ("integers", ["--integers"]), ("hex", ["--hex"]),
                                ("hex4", ["--hex", "--key-size", 4]), ("8", ["-x8"]), ("4", ["-x4"])):
                fitting = keys in fits.split()
                for tool, name, *more in self.commands()[:None if keys in "text 8 4" and not fitting else 1]:
                    with self.subTest(tool=tool, kind=kind, keys=keys):
                        result = self.run_tool(tool, "-q", *more, *words, stdin=b"12345678")
                        self.assertEqual(result.returncode == 2, not fitting, result.stderr)
                        self.assertEqual(result.stdout, b"")
                        self.assertEqual(result.stderr.decode().startswith(f"{tool}: {name} holds "), not fitting)
            as_is = self.run_tool("bfquery", "--as-is", "made", stdin=b"absent 8")
            self.assertEqual((as_is.returncode, as_is.stdout), (2 if kind == "newer" else 1, b""))

    def test_lower_case_filters_ignore_case(self):
        keys = b"Apple\nPEAR\n\n@[`{\n\xc3\x84pfel\nb\n"
        self.create("-q", "-i", stdin=keys, name="made")
        self.create("-q", "-i", stdin=keys.lower(), name="lower")
        self.assertEqual(self.read("made"), self.read("lower"))
        asked = b"aPPLE\npear\n\n@[`{\n`{[@\n\xc3\x84PFEL\n\xc3\xa4pfel\nB\n"
        found = b"aPPLE\npear\n\n@[`{\n\xc3\x84PFEL\nB\n"
        self.assertEqual(self.output("bfquery", "made", stdin=asked), found)
        self.assertEqual(self.output("bfquery", "--field", "2,1", "--delimiter", "A", "lower", stdin=b"A\n", status=1), b"")
        self.create("-q", "--seed", 7, stdin=keys, name="text")
        self.assertEqual(self.output("bfquery", "--filter", "text", "--filter", "made", "--names", stdin=b"apple\nApple\n"),
                         b"made\tapple\ntext,made\tApple\n")
        self.output("bfinspect", "--keys", "-", "made", stdin=keys.upper().replace(b"\xc3\x84PF", b"\xc3\x84pf"))
        self.create_live("-f", "-n", 100, "-i")
        self.output("bfadd", "-q", "live", stdin=b"One\nTWO\n")
        self.assertEqual(self.output("bfuniq", "--filter", "live", stdin=b"one\ntwo\nThree\nthree\nONE\n"), b"Three\n")
        self.assertEqual(self.output("bfquery", "live", stdin=b"oNe\nTWO\nTHREE\nfour\n"), b"oNe\nTWO\nTHREE\n")


if __name__ == "__main__":
    main()
