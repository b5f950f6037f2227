# SPDX-License-Identifier: MIT
"""The form of keys: -i, --hex, --key-size, --integers and --domains, in every tool that reads keys."""

import hashlib
import json
import struct
import subprocess

from support import TOOLS, ToolTest, lines, main
from test_fields import by_pieces

SHA1 = ["--hex", "--key-size", 20]
HAS_JSON = b"no JSON" not in subprocess.run([TOOLS["bfuniq"], "--json", "a"], stdin=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE).stderr
ONE_FIELD = ["--field", 1, "--delimiter", ":"]
FIELD = b" (choose a field: --field N --delimiter C, or --json PATH)"
HEADER = FIELD[:-1] + b"; if line 1 is a header, skip it: --header)"

# Each form has lines, some with the same key; the same keys written for other options; lines with other keys.
FORMS = {
    "lower": (["-i"], b"Apple\nPEAR\n\n@[`{\n\xc3\x84pfel\nAPPLE\n", ["-i"], b"apple\npear\n\n@[`{\n\xc3\x84pfel\napple\n",
              b"plum\n\xc3\xa4pfel\n@[`z\n"),
    "hex": (["--hex"], b"0a\nFFee\nffEE\n\n0A0a0A\n" + b"0123456789abcdefABCDEF" * 3 + b"\n", ["--hex"],
            b"0A\nFFEE\nFFEE\n\n0A0A0A\n" + b"0123456789ABCDEFABCDEF" * 3 + b"\n", b"0b\nFFeeFF\n"),
    "fixed": (["--hex", "--key-size", 3], b"000aff\n4A8D09\n4a8d09\n", ["-x", 3], b"\0\n\xffJ\x8d\tJ\x8d\t", b"4A8D0A\n000000\n"),
    "integers": (["--integers"], b"7\n007\n-5\n0\n-0\n18446744073709551615\n-9223372036854775808\n", ["--integers", "-x", 8],
                 struct.pack("<qqqqqQq", 7, 7, -5, 0, 0, 2**64 - 1, -2**63), b"5\n-7\n9223372036854775809\n"),
    "domains": (["--domains"], b"Mail.Example.COM\nmail.example.com\nx_1-2.net\n\xc3\x84.de\n", ["-i"],
                b"mail.example.com\nmail.example.com\nx_1-2.net\n\xc3\x84.de\n", b"example.com\n\nnet\n"),
    "size": (["--key-size", 3], b"abc\nABC\nabc\n", [], b"abc\nABC\nabc\n", b"Abc\nabC\n"),
}
KINDS = {"lower": "lower", "hex": "bytes", "fixed": "fixed 3", "integers": "integers", "domains": "lower", "size": "text"}

BROKEN = (
    (["--hex"], b"0a\n0aB\n", 2, b"'0aB' has an odd number of hexadecimal digits", FIELD),
    (["--hex"], b"\n0a\n0g\n", 3, b"'0g' is not hexadecimal", FIELD),
    (["--hex"], b"00112233445566778899aabbccddeeff/0\n", 1, b"'00112233445566778899aabbccddeeff/0' is not hexadecimal", HEADER),
    (["--hex"], b"\xc3\x8412\n", 1, b"'\xc3\x8412' is not hexadecimal", HEADER),
    (["--hex", "--crlf"], b"0a\r\nx\r\n", 2, b"'x' has an odd number of hexadecimal digits", FIELD),
    (SHA1, b"7C4A8D\n", 1, b"'7C4A8D' has 6 bytes, not 40 hexadecimal digits", HEADER),
    (SHA1, b"7C4A8D09CA3762AF61E59520943DC26494F8941B\n\n", 2, b"'' has 0 bytes, not 40 hexadecimal digits", FIELD),
    (SHA1, b"0" * 50 + b"\n", 1, b"'" + b"0" * 40 + b"...' has 50 bytes, not 40 hexadecimal digits", HEADER),
    (["--key-size", 3], b"abc\nabcd\n", 2, b"'abcd' has 4 bytes, not 3", FIELD),
    (["-i", "--key-size", 1], b"A\n\n", 2, b"'' has 0 bytes, not 1", FIELD),
    *((["--integers"], b"1\n" + wrong + b"\n", 2, b"'" + wrong + b"' is not a decimal integer, with no sign but '-'", FIELD)
      for wrong in (b"", b"-", b"1.5", b"1e3", b"+1", b" 1", b"0x1", b"--1")),
    *((["--integers"], b"1\n" + wrong + b"\n", 2, b"'" + wrong + b"' is out of range: integers are from -2^63 to 2^64 - 1", FIELD)
      for wrong in (b"18446744073709551616", b"-9223372036854775809", b"99999999999999999999999")),
)
BROKEN_NAMES = (b"*.example.com", b".example.com", b"a..b", b"a.b..", b"", b".", b"# list", b"0.0.0.0 a.b", b"||a.b^", b"a/b")


class Forms(ToolTest):
    def made(self, *words, stdin, name="made"):
        return self.create("-q", "-f", "-p", "1e-9", *words, stdin=stdin, name=name)

    def test_key_form_equals_prior_conversion(self):
        for form, (words, written, other, converted, _) in FORMS.items():
            wanted = self.made(*other, stdin=converted)
            header = self.inspected("made")["header"]
            self.assertEqual(f"{header['key_kind']} {header['key_size'] or ''}".strip(), KINDS[form])
            columns = b"".join(line + b":x\n" for line in written.splitlines())
            documents = b"".join(b'{"k":%s}\n' % json.dumps(line.decode()).encode() for line in written.splitlines())
            for more, data in (([], written), (["-j4"], written), (["-0"], written.replace(b"\n", b"\0")),
                               (["--crlf"], written.replace(b"\n", b"\r\n")), (["--header"], b"KEYS\n" + written),
                               (ONE_FIELD, columns), ([*ONE_FIELD, "--csv"], columns.replace(b":x", b":\"x\ny\"")),
                               ([*ONE_FIELD, "--missing", "skip"], columns), *[(["--json", "k"], documents)][:HAS_JSON]):
                with self.subTest(form=form, more=more):
                    self.assertEqual(self.made(*words, *more, stdin=data), wanted)
            for size in 1, 7:
                with by_pieces(written, size) as pipe:
                    self.assertEqual(self.made(*words, stdin=pipe), wanted)

    def test_every_tool_converts_keys(self):
        """A key is found in every spelling, and whole lines are printed unchanged."""
        for form, (words, written, _, _, absent) in FORMS.items():
            with self.subTest(form=form):
                self.made(*words, stdin=written)
                rows = written.splitlines(True)
                asked = b"".join(rows[::-1])
                for more in ["-j1"], ["-j3"]:
                    self.assertEqual(self.output("bfquery", *more, *words, "made", stdin=asked + absent), asked)
                    self.assertEqual(self.output("bfquery", "-v", *more, *words, "made", stdin=asked + absent), absent)
                self.assertEqual(self.output("bfquery", "-n", *words, "made", stdin=absent + asked).splitlines()[0],
                                 b"%d:%s" % (absent.count(b"\n") + 1, rows[-1].rstrip(b"\n")))
                self.output("bfinspect", "-q", *words, "--keys", "-", "made", stdin=asked)
                self.write("list", rows[0])
                once = self.output("bfquery", *words, "--unless", "list", "made", stdin=written)
                self.assertNotIn(rows[0], once.splitlines(True))
                self.create_live("-f", "-n", 100, *words)
                self.output("bfadd", "-q", *words, "live", stdin=written)
                self.assertEqual(self.output("bfquery", *words, "live", stdin=asked + absent), asked)
                (self.folder / "seen").unlink(missing_ok=True)
                for stdin, kept in ((written, None), (asked, b""), (absent, absent)):
                    out = self.output("bfuniq", "--filter", "seen", *words, stdin=stdin)
                    distinct = self.inspected("made")["record"]["n"]
                    self.assertEqual(out if kept is not None else out.count(b"\n"), distinct if kept is None else kept)
                self.write("a", written)
                self.write("b", asked + absent)
                self.assertEqual(sorted(self.output("bfcommon", *words, "a", "b").splitlines()), sorted({*written.splitlines()}))
                self.assertEqual(sorted(self.output("bfcommon", "-d", *words, "b", "a").splitlines()), sorted(absent.splitlines()))

    def test_keys_may_be_longer_than_their_lines(self):
        """Empty fields with delimiters between them, and integers."""
        many = ["-i", "--field", ",".join(map(str, range(1, 33))), "--missing", "empty"]
        self.assertEqual(self.made(*many, stdin=b"A\nb\n" * 300000), self.made("-i", stdin=lines(b"a" + b"\t" * 31, b"b" + b"\t" * 31)))
        self.write("a", b"A\nb\n" * 30000)
        self.assertEqual(self.output("bfcommon", *many, "a", "-", stdin=b"a\n"), b"A\n")
        self.assertEqual(self.made("--integers", stdin=b"7\n" * 600000), self.made("--integers", stdin=b"7\n"))
        self.write("a", b"7\n" * 30000)
        self.assertEqual(self.output("bfcommon", "--integers", "a", "-", stdin=b"07\n"), b"7\n")

    def test_integers_with_the_same_bytes_are_one_key_in_every_tool(self):
        pairs = (b"-1", b"18446744073709551615"), (b"-9223372036854775808", b"9223372036854775808"), (b"-0", b"0")
        for one, other in (*pairs, *(pair[::-1] for pair in pairs)):
            self.write("other", lines(other))
            self.made("--integers", stdin=lines(other))
            self.assertEqual(self.output("bfcommon", "--integers", "-", "other", stdin=lines(one)), lines(one))
            self.assertEqual(self.output("bfcommon", "-d", "--integers", "-", "other", stdin=lines(one), status=1), b"")
            self.assertEqual(self.output("bfuniq", "--integers", stdin=lines(one, other)), lines(one))
            self.assertEqual(self.output("bfquery", "--integers", "--confirm", "other", "made", stdin=lines(one)), lines(one))

    def test_a_broken_key_is_an_error_with_its_line(self):
        """--missing skip does not hide it. Each kind of error is tested with one tool, and some with all tools."""
        self.write("other", b"")
        names = tuple((["--domains"], b"a.b\n" + wrong + b"\n", 2, b"'" + wrong + b"' is not a domain name: letters, digits, '-' and '_' between single dots", FIELD)
                      for wrong in BROKEN_NAMES)
        for turn, (words, data, line, says, remedy) in enumerate(BROKEN + names):
            strict = words[0] == "--domains"
            tools = [["bfcreate", "new"]] if turn % 2 or strict else [["bfuniq"]]
            if turn in (1, len(BROKEN)):
                self.made(*words, stdin=b"")
                self.create_live("-f", "-n", 9, *words)
                tools = [["bfcreate", "new"], ["bfadd", "live"]] 
                if not strict:
                    tools += [["bfuniq"], ["bfcommon", "-", "other"], ["bfquery", "made"], ["bfinspect", "--keys", "-", "made"]]
            for tool, *more in tools:
                fields = ["--field", 1, "--missing", "skip", "--delimiter", "~"][:6 * (turn % 3 == 0 or len(tools) > 1)]
                with self.subTest(tool=tool, words=words, data=data, fields=fields):
                    result = self.run_tool(tool, *words, *fields, *more, stdin=data)
                    self.assertEqual(result.returncode, 2)
                    self.assertIn(b"%s: line %d of standard input: the key %s%s\n" % (tool.encode(), line, says, remedy), result.stderr)
                    self.assertFalse((self.folder / "new").exists())

    def test_the_first_broken_key_is_named_at_any_position(self):
        rows = [b"%08x" % i for i in range(300000)]
        for at, words in ((0, 123456, 299999), "-j4"), ((200000, 240000), "-j4"), ((299998,), "-j1"):
            broken = list(rows)
            for i in at:
                broken[i] = b"x"
            says = self.trouble("bfcreate", words, "--hex", "--key-size", 4, "new", stdin=lines(*broken))
            self.assertIn(f"line {at[0] + 1} of standard input: the key 'x' has 1 byte, not 8 hexadecimal digits", says)

    def test_the_remedy_fits_the_origin_of_the_key(self):
        self.made("--hex", stdin=b"0a\n")
        self.assertEqual(self.trouble("bfquery", "--hex", "-e", "xy", "made"), "bfquery: the key 'xy' is not hexadecimal (write two digits for each byte, such as 00ff)\n")
        self.assertIn("holds byte strings, but the keys of -e are text (add --hex for a key such as 00ff, or", self.trouble("bfquery", "-e", "xy", "made"))
        self.made("--integers", stdin=b"7\n")
        self.assertIn("holds integers, but the keys of -e are text (add --integers for a key such as 42)", self.trouble("bfquery", "-e", "x", "made"))
        self.assertIn("'x' is not a decimal integer, with no sign but '-' (write an integer such as 42 or -7)", self.trouble("bfquery", "--integers", "-e", "x", "made"))
        self.made("--hex", stdin=b"0a\n")
        for more, remedy in ([], b" (the line ends with a carriage return: add --crlf to strip it)"), (["-0"], HEADER):
            result = self.run_tool("bfquery", "--as-is", "--hex", *more, "made", stdin=b"0a\r" + (b"\0" if more else b"\n"))
            self.assertEqual((result.returncode, result.stderr), (2, b"bfquery: line 1 of standard input: the key '0a\\015' has an"
                                                                  b" odd number of hexadecimal digits" + remedy + b"\n"))

    def test_a_header_is_skipped_only_if_line_1_may_be_one(self):
        for words, data, remedy in ((["--integers"], b"\xef\xbb\xbf17\n18\n", FIELD), (["--integers", "--json", "a"], b'{"a": "x"}\n', b""),
                                    (["--integers", "--header"], b"id\n+17\n", FIELD), (["--integers"], b"+17\n18\n", HEADER)):
            says = self.run_tool("bfcreate", *words, "new", stdin=data).stderr
            self.assertTrue(says.endswith(b"is not a decimal integer, with no sign but '-'" + remedy + b"\n"), says)

    def test_a_name_with_a_final_dot_is_found_in_both_forms(self):
        self.create_live("-n", 9, "--domains")
        for tool, name in ("bfcreate", "new"), ("bfadd", "live"):
            for words, stdin in ([], b"a.b\nExample.com.\n"), (["--field", 2], b"x\ta.b\nx\tExample.com.\n"):
                result = self.run_tool(tool, "--domains", *words, name, stdin=stdin)
                self.assertEqual((result.returncode, result.stderr.decode()), (2, f"{tool}: line 2 of standard input: the key 'Example.com.' "
                                                                               "ends with a dot (delete the dot: sed 's/\\.$//')\n"))
        self.output("bfadd", "live", stdin=b"a.example.com.\n")
        self.made("-i", stdin=b"a.example.com.\n")
        asked = b"A.example.com.\nexample.com.\na.example.com\n.\nX.y.A.example.com.\nxa.example.com.\nx.a.example.com\n"
        for filters in (["live"], ["made"], ["--filter", "live", "--filter", "made"]):
            self.assertEqual(self.output("bfquery", "--domains", *filters, stdin=asked), b"A.example.com.\nX.y.A.example.com.\n")
        self.write("listed", b"a.example.com\n")
        self.assertEqual(self.output("bfquery", "--domains", "--unless", "listed", "made", stdin=asked, status=1), b"")
        asked = b"A.example.com.\nexample.com.\na.example.com\n.\n"
        self.assertEqual(self.output("bfuniq", "--domains", stdin=asked), b"A.example.com.\nexample.com.\n.\n")

    def test_invalid_names_are_accepted_in_queries(self):
        """A log may contain names that bfcreate refuses. They must not end a query."""
        self.made("--domains", stdin=b"b.example\n")
        asked = b"*.b.example\n..b.example\nx y.b.example.\n\n.\n..\na b\n"
        self.assertEqual(self.output("bfquery", "--domains", "made", stdin=asked), b"".join(asked.splitlines(True)[:3]))

    def test_name_matches_through_its_parent_domains(self):
        self.made("--domains", stdin=b"example.com\ndeep.a.b.example.org\nzip\n", name="one")
        self.made("--domains", "--seed", 5, stdin=b"a.example.com\nnet\n", name="two")
        in_one = b"example.com\nEXAMPLE.com.\na.example.com\nx.y.a.Example.Com\nq.deep.a.b.example.org\nzip\nfile.zip\n"
        absent = b"com\nxample.com\nnotexample.com\nexample.com.org\na.b.example.org\norg\nzip.org\n"
        in_two = b"a.example.com\nb.a.example.com\nx.net\n"
        ask = lambda *words, stdin, status=0: self.output("bfquery", "--domains", *words, stdin=stdin, status=status)
        for more in ["-j1"], ["-j3"]:
            self.assertEqual(ask(*more, "one", stdin=in_one + absent), in_one)
            self.assertEqual(ask(*more, "-v", "one", stdin=in_one + absent), absent)
        both = ["--filter", "one", "--filter", "two"]
        self.assertEqual(ask(*both, stdin=in_one + absent + in_two), in_one + in_two)
        self.assertEqual(ask(*both, "--all", stdin=in_one + in_two), b"a.example.com\nx.y.a.Example.Com\na.example.com\nb.a.example.com\n")
        self.assertEqual(ask(*both, "--names", stdin=b"q.a.example.com\nx.net\n"), b"one,two\tq.a.example.com\ntwo\tx.net\n")
        self.write("listed", b"COM.\nexample.com\n")
        self.assertEqual(ask("one", "--unless", "listed", stdin=b"example.com\na.example.com\nx.zip\n"), b"x.zip\n")
        long = b"x." * 500000 + b"example.com\n"
        self.assertEqual(ask("one", stdin=long), long)
        self.assertIn("is not a domain name", self.trouble("bfcreate", "--domains", "new", stdin=b"a." * 600))
        names = lines(*(f"{i}.{i % 7}.example.{'com' if i % 3 else 'net'}" for i in range(3000)))
        wanted = [name for name in names.splitlines(True) if name.endswith(b"com\n")]
        self.assertEqual(ask("one", stdin=names), b"".join(wanted))
        # Other tools match only the name itself:
        self.output("bfinspect", "-q", "--domains", "--keys", "-", "one", stdin=b"a.example.com\n", status=1)

    def test_lists_of_hashes_are_read(self):
        """Published lists, looked up with the output of sha1sum."""
        digests = [hashlib.sha1(b"%d" % i).hexdigest() for i in range(3000)]
        self.write("list", lines(*(f"{digest.upper()}:{i}" for i, digest in enumerate(digests))))
        self.made(*ONE_FIELD, *SHA1, "list", stdin=b"")
        self.write("password", b"17")
        summed = subprocess.run(["sha1sum", "password"], cwd=self.folder, check=True, stdout=subprocess.PIPE).stdout
        for words, stdin in (([*SHA1, "--field", 1, "--delimiter", " "], summed), ([*SHA1, *ONE_FIELD], self.read("list")),
                             (["-x", 20], bytes.fromhex("".join(digests)))):
            self.assertEqual(self.output("bfquery", *words, "made", stdin=stdin), stdin)
        self.assertEqual(self.made("-x", 20, stdin=bytes.fromhex("".join(digests))), self.read("made"))
        page = self.run_tool("bfinspect", *SHA1, "--keys", "-", "made", stdin=b"00" * 20 + b"\n").stdout
        self.assertIn(b"00" * 20, page)
        self.made("--integers", stdin=b"1\n")
        page = self.run_tool("bfinspect", "--integers", "--keys", "-", "made", stdin=b"-0012\n").stdout
        self.assertRegex(page, rb"missing +-12\n")

    def test_mutually_exclusive_options_are_refused(self):
        both = "-i/--lower, --hex, --integers and --domains are mutually exclusive"
        for words, says in ((["-i", "--hex"], both), (["--integers", "--domains"], both),
                            (["-x4", "--hex"], "-x/--record-size and --hex are mutually exclusive"),
                            (["-x4", "-i"], "-x/--record-size and -i are mutually exclusive"),
                            (["-x4", "--key-size", 4], "-x/--record-size and --key-size are mutually exclusive"),
                            (["-x4", "--integers"], "--integers takes records of 8 bytes: -x 8"),
                            (["--integers", "--key-size", 8], "--key-size and --integers are mutually exclusive"),
                            (["--domains", "--key-size", 8], "--key-size and --domains are mutually exclusive"),
                            (["--hex", "--field", "1,2"], "--hex takes one --field, not several"),
                            (["--key-size", 0], "--key-size takes a number of bytes from 1, not '0'"),
                            (["--key-size", 2**24], "--key-size takes a number of bytes from 1")):
            for tool, *more in ["bfcreate", "new"], ["bfadd", "f"], ["bfquery", "f"], ["bfuniq"], ["bfcommon", "a", "b"], ["bfinspect", "f"]:
                self.assertIn(f"{tool}: {says}", self.trouble(tool, *words, *more))


if __name__ == "__main__":
    main()
