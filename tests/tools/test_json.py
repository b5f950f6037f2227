# SPDX-License-Identifier: MIT
"""Keys that are values of JSON lines, compared with another parser; lines without a key."""

import json
import os
import random
import subprocess
import unittest

from support import TOOLS, ToolTest, lines, main

EXACT = "-p", "1e-9"
SKIP = " (skip such lines: --missing skip; use an empty key: --missing empty)\n"
WRONG_STRING = "is not valid JSON: a string is open, or has a control byte or wrong escape"
WHOLE, WRONG_NUMBER = "is not one whole JSON value", "is not valid JSON: a number is malformed"
NOT_UTF8, TOO_DEEP = "is not valid JSON: it has bytes that are not UTF-8", "nests arrays and objects more than 1024 deep"

# A document, a path, and the key there.
KEYS = [
    (b'{"a":"x","b":"y"}', "a", b"x"),
    (b'{"a":{"b":["x",{"c":"y"}]}}', "a.b.1.c", b"y"),
    (b'{"a":{"b":["x",{"c":"y"}]}}', "/a/b/0", b"x"),
    (b'{"a/b":1,"m~n":2,"":{"":3}}', "/a~1b", b"1"),
    (b'{"a/b":1,"m~n":2,"":{"":3}}', "/m~0n", b"2"),
    (b'{"a/b":1,"m~n":2,"":{"":3}}', "//", b"3"),
    (b'{"a":{"0":"object","00":"other"}}', "a.00", b"other"),
    (b'{"a":1,"a":2}', "a", b"2"),
    (b'{"a":{"b":1},"a":{"b":"last"}}', "a.b", b"last"),
    (b'{"a":1e2,"a":"last"}', "a", b"last"),
    (rb'{"\u0061":"\u00e9\ud83d\ude00\n\/\"\\\t"}', "a", "é😀\n/\"\\\t".encode()),
    (rb'{"zero":"\u0000"}', "zero", b"\0"),
    ('{"é":"ü"}'.encode(), "é", "ü".encode()),
    (b'{"a":true,"b":false}', "b", b"false"),
    (b'\xef\xbb\xbf {"a" : "marked"} \t\r', "a", b"marked"),
    (b'[[1,[2]],3]', "0.1.0", b"2"),
    *((b'{"z":%b,"a":%b}' % (number, number), "a", number) for number in (
        b"0", b"-0", b"17", b"1.0", b"1.50", b"1E+2", b"-1e-7", b"9007199254740993", b"18446744073709551616",
        b"-9223372036854775809", b"123456789012345678901234567890", b"1e400", b"0.1234567890123456789012345")),
]

# A document and its error. Each is tested again with a number that makes the tool read it in another way.
BROKEN = [
    (b'{"a":1}{"a":1}', WHOLE), (b'{"a":1,}', WHOLE), (b'{"a":1,"b":[1,]}', WHOLE), (b'{"a":1,"b":[1 2]}', WHOLE),
    (b'{"a":1', WHOLE), (b'{"a":1}}', WHOLE), (b'{"a":1,"b":tru}', WHOLE), (b'{"a":1,"b":NaN}', WHOLE),
    (b'{"a":1,"b"}', WHOLE), (b'{"a":1,b:1}', WHOLE), (b'{"a":1,"b":[\0]}', WHOLE), (b'{"a":1}\x0c', WHOLE),
    (b'{"a":1,"b":01}', WRONG_NUMBER), (b'{"a":1,"b":1.}', WRONG_NUMBER), (b'{"a":1,"b":-}', WRONG_NUMBER),
    (b'{"a":1,"b":"x}', WRONG_STRING), (b'{"a":1,"b":"\t"}', WRONG_STRING), (rb'{"a":1,"b":"\x"}', WRONG_STRING),
    (rb'{"a":1,"\ud800":1}', WRONG_STRING), (rb'{"a":1,"b":"\udc00"}', WRONG_STRING),
    (b'{"a":1,"b":"\xff"}', NOT_UTF8), (b'{"a":1,"b":"\xed\xa0\x80"}', NOT_UTF8),
    (b'{"a":1,"b":' + b"[" * 1025 + b"1" + b"]" * 1025 + b"}", TOO_DEEP),
    (b"a,b", WHOLE), (b"2024-01-01 GET /", WHOLE),
]

# A document without a key, and the value at the path "a.b".
KEYLESS = [(b'{"a":{}}', "no value"), (b'{"a":{"b":null}}', "null"), (b'{"a":{"b":{"a":1}}}', "an object"),
           (b'{"a":{"b":[1]}}', "an array"), (b'{"a":"b"}', "no value"), (b'{"a":{"b":1},"a":{}}', "no value"),
           (b"[1]", "no value"), (b'"a"', "no value"), (b"null", "no value"), (b"1e999", "no value"),
           (b'{"a":1e999}', "no value"), (b'{"z":1e999,"a":{"b":null}}', "null"), (b'{"z":1e999,"a":{"b":[]}}', "an array")]



def value_at(document, path):
    """Another parser's answer for a path of names; None without a key."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    if document is None or isinstance(document, (dict, list)):
        return None
    return document if isinstance(document, str) else json.dumps(document)


@unittest.skipIf(b"no JSON" in subprocess.run([TOOLS["bfuniq"], "--json", "a"], stdin=subprocess.DEVNULL,
                                              stderr=subprocess.PIPE).stderr, "needs libsimdjson-dev")
class JsonTest(ToolTest):
    def filter_of(self, *keys, name="plain"):
        return self.create(*EXACT, "-0", stdin=b"".join(key + b"\0" for key in keys), name=name)


class Keys(JsonTest):
    def test_each_tool_takes_the_text_at_the_path(self):
        paths = {path: [row[::2] for row in KEYS if row[1] == path] for _, path, _ in KEYS}
        for path, rows in paths.items():
            documents, keys = zip(*rows)
            self.write("in", lines(*documents, b"", b" \t\r", documents[0]))
            made = self.create(*EXACT, "--json", path, "in", name="plain")
            if path != "zero":
                self.assertEqual(made, self.filter_of(*keys), path)
            every = lines(*documents, documents[0])
            self.assertEqual(self.output("bfquery", "--json", path, "plain", "in"), every, path)
            self.assertEqual(self.output("bfuniq", *EXACT, "--json", path, "in"), lines(*documents), path)
            self.assertIn(b"%d, all present" % (len(rows) + 1),
                          self.output("bfinspect", "--json", path, "--keys", "in", "plain"), path)
            self.create_live("-n", 100, name="live")
            self.output("bfadd", "--json", path, "live", "in")
            self.assertEqual(self.output("bfquery", "-c", "--json", path, "live", "in"), b"%d\n" % (len(rows) + 1), path)
            os.unlink(self.folder / "live")

    def test_blank_line_counts_as_a_missing_value_with_mark(self):
        self.create("-q", *EXACT, stdin=b"a\n", name="filter")
        stdin, marked = b' \n{"k":"a"}\n\n', b'0\t \n1\t{"k":"a"}\n0\t\n'
        self.assertEqual(self.output("bfquery", "--mark", "--json", "k", "--missing", "empty", "filter", stdin=stdin), marked)
        self.assertIn("line 1 of standard input has no value at 'k' (",
                      self.trouble("bfquery", "--mark", "--json", "k", "filter", stdin=stdin))

    def test_lines_and_pieces_of_any_length_are_parsed(self):
        """Lines end at every distance from the end of the buffer, and one is longer than a piece."""
        chance = random.Random(7)
        words = ["naïve", "東京", "😀", 'say "yes"', "a\\b", "line\nbreak", "\x7f", "plain", "words", "\u2028"]
        documents, wanted, seen = [], [], set()
        for i in range(4000):
            size = 400_000 if i == 2000 else chance.choice((3, 20, 200))
            text = " ".join(chance.choice(words) for _ in range(chance.randrange(size)))
            value = chance.choice((text, text, text, i % 97, chance.random(), None, True, [text]))
            document = json.dumps({"id": i, "meta": {"text": value, "more": [text[:40], -1.5e-3, {}]}},
                                  ensure_ascii=i % 2 == 0).encode()
            key = value_at(json.loads(document), "meta.text")
            documents.append(document)
            if key is not None and key not in seen:
                wanted.append(document)
            seen.add(key)
        self.write("in", lines(*documents))
        skipped = sum(value_at(json.loads(document), "meta.text") is None for document in documents)
        says = b"bfuniq: %d lines without the value were left out\n" % skipped
        for threads in "-j1", "-j4":
            self.assertEqual(self.output("bfuniq", *EXACT, threads, "--json", "meta.text", "--missing", "skip", "in",
                                         says=says), lines(*wanted))
        for end in b"", b"\r\n":
            self.assertIn(documents[1], self.output("bfuniq", "--json", "id", stdin=documents[1] + end))

    def test_bfcommon_prints_lines_whose_keys_are_in_both(self):
        keys = ["a", "b\n", "b", "\n", "\0", "", "é", "\x01", "\x0b", "c\t", "a\\n", "\\"]
        self.write("a", lines(*(json.dumps({"k": key}).encode() for key in keys), b'{"k": 1.50}', b'{"k":1.50}'))
        self.write("c", lines(*(json.dumps({"k": key}, ensure_ascii=False).encode() for key in keys[3:]), b'{"k":"1.50"}'))
        common = sorted([(key.encode(), json.dumps({"k": key}).encode()) for key in keys[3:]]
                        + [(b"1.50", b'{"k": 1.50}'), (b"1.50", b'{"k":1.50}')])
        self.assertEqual(self.output("bfcommon", "--json", "k", "a", "c"), lines(*(line for _, line in common)))
        self.assertEqual(self.output("bfcommon", "-d", "--json", "/k", "a", "c"),
                         lines(*(json.dumps({"k": key}).encode() for key in ("a", "b", "b\n"))))

    def test_json_strings_equal_plain_text_keys(self):
        self.create("--json", "a", stdin=b'{"a":"caf\\u00e9"}\n', name="filter")
        self.assertEqual(self.output("bfquery", "filter", stdin="café\ncafe\n".encode()), "café\n".encode())


class Faults(JsonTest):
    GOOD = b'{"a":"good"}'

    def check_uniq(self, document, says, *words, path="a"):
        result = self.run_tool("bfuniq", "--json", path, *words, stdin=lines(self.GOOD, document, self.GOOD))
        self.assertEqual((result.returncode, result.stderr.decode(), result.stdout),
                         (2, f"bfuniq: {says}", lines(self.GOOD) if path == "a" else b""), document)

    def test_whole_line_is_checked_even_with_skip(self):
        for document, wrong in BROKEN:
            for shown in document, document.replace(b'"a":1', b'"a":1e999'), document.replace(b'"a":1', b'"a":1.5'):
                self.check_uniq(shown, f"line 2 of standard input {wrong}\n", "--missing", "skip")

    def test_values_without_text_are_missing(self):
        for document, what in KEYLESS:
            says = f"line 1 of standard input has {what} at 'a.b'" + SKIP
            result = self.run_tool("bfuniq", "--json", "a.b", stdin=document)
            self.assertEqual((result.returncode, result.stderr.decode()), (2, f"bfuniq: {says}"), document)
        self.write("in", lines(*(document for document, _ in KEYLESS), b'{"a":{"b":""}}', b'{"a":{"b":"x"}}'))
        says = b"bfuniq: %d lines without the value were left out\n" % len(KEYLESS)
        self.assertEqual(self.output("bfuniq", "--json", "a.b", "--missing", "skip", "in", says=says),
                         b'{"a":{"b":""}}\n{"a":{"b":"x"}}\n')
        self.assertEqual(self.output("bfuniq", "--json", "a.b", "--missing", "empty", "in"),
                         lines(KEYLESS[0][0], b'{"a":{"b":"x"}}'))
        self.assertEqual(self.trouble("bfuniq", "--json", "b.a", "--missing", "skip", "in"),
                         "bfuniq: no line of in has a value at 'b.a'\n")

    def test_every_tool_names_the_first_faulty_line(self):
        rows = [b'{"a":"%d","b":[%d]}' % (i, i) for i in range(60_000)]
        bad = list(rows)
        bad[50_000] = bad[55_000] = b'{"a":1,"b":[}'
        self.write("bad", lines(*bad))
        self.filter_of(*(b"%d" % i for i in range(60_000)))
        self.create_live("-n", 60_000, name="live")
        for tool, words, stdout in (("bfcreate", ["-j4", "new"], b""), ("bfquery", ["-j4", "plain"], lines(*rows[:50_000])),
                                    ("bfuniq", ["-j4", *EXACT], lines(*rows[:50_000])), ("bfadd", ["live"], b""),
                                    ("bfinspect", ["plain", "--keys"], None), ("bfcommon", ["bad"], b"")):
            result = self.run_tool(tool, "--json", "a", *words, "bad")
            self.assertEqual((result.returncode, result.stderr.decode()),
                             (2, f"{tool}: line 50001 of bad {WHOLE}\n"))
            self.assertIn(result.stdout, [stdout if stdout is not None else result.stdout])
        self.assertFalse((self.folder / "new").exists())

    def test_invalid_paths_and_options_are_refused(self):
        names = "a JSON path is names with dots between them, such as a.b, or a JSON Pointer such as /a/b, not "
        for words, says in ((["--json", ""], names + "''"), (["--json", ".a"], names + "'.a': leave out the first dot"),
                            (["--json", "$.a"], "--json takes a PATH such as a.b, not '$.a': leave out '$.', or write /$/a for a name '$'"),
                            (["--json", "a..b"], names + "'a..b'"),
                            (["--json", "/a~2"], "/a~2: in a JSON Pointer, write ~0 for '~' and ~1 for '/'"),
                            (["--json", "/a~"], "/a~: in a JSON Pointer, write ~0 for '~' and ~1 for '/'"),
                            *((["--json", "a", *other], f"a JSON path and {other[0]} are mutually exclusive")
                              for other in (["--field", "1"], ["--csv"], ["--header"], ["--delimiter", ","])),
                            (["--json", "a", "-0"], "a JSON path and -0/--null are mutually exclusive"),
                            (["--json", "a", "-x9"], "a JSON path and -x/--record-size are mutually exclusive")):
            for tool in "bfcreate", "bfadd", "bfquery", "bfuniq", "bfcommon":
                self.assertEqual(self.trouble(tool, *words, "x", "y"), f"{tool}: {says} (try '{tool} --help')\n")


main()
