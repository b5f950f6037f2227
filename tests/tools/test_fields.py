# SPDX-License-Identifier: MIT
"""Keys that are fields of lines: comparison with cut and awk, and lines that lack a field."""

import csv
import io
import os
import random
import subprocess
import threading

from support import ToolTest, lines, main

EXACT = "-p", "1e-9"
QUOTES = b" (write a quote inside quotes twice; without --csv, quotes are ordinary bytes)\n"


def key_of(line, numbers, delimiter=b"\t", empty=False):
    """The key by definition; None if a field is missing."""
    fields = line.split(delimiter)
    if empty:
        fields += [b""] * max(numbers)
    if max(numbers) > len(fields):
        return None
    return delimiter.join(fields[number - 1] for number in numbers)


def by_pieces(data, size):
    """A pipe that gives a reader at most so many bytes at a time."""
    source, sink = os.pipe()

    def write():
        with open(sink, "wb", buffering=0) as out:
            for i in range(0, len(data), size):
                try:
                    out.write(data[i:i + size])
                except BrokenPipeError:
                    return

    threading.Thread(target=write, daemon=True).start()
    return open(source, "rb")


class FieldsTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(7)

    def table(self, rows, delimiter=b"\t", columns=(1, 5), values=40, empty=20):
        """Lines of fields. Some fields are empty, and many lines are the same."""
        made = []
        for _ in range(rows):
            fields = [b"" if self.random.random() < 1 / empty
                      else b"%x" % self.random.randrange(values) * self.random.randrange(1, 9)
                      for _ in range(self.random.randint(*columns))]
            made.append(delimiter.join(fields))
        return made

    def filter_of(self, *keys, name="plain"):
        """A filter of whole lines."""
        self.create(*EXACT, stdin=lines(*keys), name=name)
        return name


class Keys(FieldsTest):
    def test_field_option_equals_cut(self):
        """The files are identical, so a filter of fields is a filter of plain keys."""
        rows = self.table(5000, columns=(3, 5))
        self.write("table", lines(*rows))
        for number in 1, 2, 3:
            cut = subprocess.run(["cut", f"-f{number}", self.folder / "table"], check=True,
                                 stdout=subprocess.PIPE).stdout
            for words in ["-j1"], ["-j4"]:
                self.assertEqual(self.create(*words, "--field", number, "table"),
                                 self.create(stdin=cut))
        awk = subprocess.run(["awk", "-F\t", r'{print $3 "\t" $1}', self.folder / "table"],
                             check=True, stdout=subprocess.PIPE, env={"LC_ALL": "C", **os.environ})
        self.assertEqual(self.create("--field", "3,1", "table"), self.create(stdin=awk.stdout))

    def test_delimiter_may_be_any_byte(self):
        for delimiter in [b",", b" ", b";", b"|", b"\\", b"\xff", b"a", b"\r", b"\x01"]:
            rows = [b"1" + delimiter + b"2" + delimiter + delimiter + b"x y,z", b"3" + delimiter]
            for words, wanted in ((["--field", 1], [b"1", b"3"]), (["--field", 2], [b"2", b""]),
                                  (["--field", "2,1"], [b"2" + delimiter + b"1", delimiter + b"3"])):
                with self.subTest(delimiter=delimiter, words=words):
                    made = self.create("--delimiter", delimiter.decode("utf-8", "surrogateescape"),
                                       *words, stdin=lines(*rows))
                    self.assertEqual(made, self.create(stdin=lines(*wanted)))
        for words in [], ["--delimiter", "\\t"], ["--delimiter", "\t"]:
            self.assertEqual(self.create("--field", 2, *words, stdin=b"a\tb\n"),
                             self.create(stdin=b"b\n"))

    def test_zero_bytes_end_records_only_with_null(self):
        self.create("-0", "--field", 2, stdin=b"a\tx\ny\0b\tz\0")
        self.assertEqual(self.output("bfquery", "-0", "filter.bloom", stdin=b"x\ny\0x\0z\0"), b"x\ny\0z\0")
        self.assertEqual(self.output("bfuniq", "-0", "--field", 2, stdin=b"a\t\n\0b\t\n\0c\td\0"),
                         b"a\t\n\0c\td\0")
        self.assertEqual(self.create("--field", 2, stdin=b"a\tx\0y\n"), self.create(stdin=b"x\0y\n"))

    def test_crlf_removes_the_carriage_return_of_the_last_field(self):
        self.assertEqual(self.create("--crlf", "--field", 2, stdin=b"a\tx\r\nb\ty\r\tz\r\nc\tw\n"),
                         self.create(stdin=b"x\ny\r\nw\n"))

    def test_carriage_return_in_the_last_field_is_warned_of(self):
        says = (b"bfuniq: warning: standard input: each line ends with a carriage return, which becomes part of"
                b" the last field (add --crlf to strip it)\n")
        self.assertEqual(self.output("bfuniq", "--field", 1, stdin=b"a\tx\r\n", says=says), b"a\tx\r\n")

    def test_joined_fields_are_unambiguous(self):
        self.filter_of(b"a\tb")
        for line, found in ((b"b\ta", 1), (b"a\tb", 0), (b"ab\t", 0), (b"\tab", 0)):
            self.assertEqual(self.output("bfquery", "--field", "2,1", "plain", stdin=line + b"\n",
                                         status=0 if found else 1), (line + b"\n") * found)

    def test_records_of_any_length_are_read_in_pieces_of_any_size(self):
        rows = [b"%d\t%s\t%d" % (i, bytes([97 + i % 26]) * size, i) for i, size in
                enumerate([0, 1, 61, 62, 63, 64, 65, 1 << 18, (1 << 18) - 3, 1 << 20, (1 << 20) + 1, 5])]
        data = lines(*rows)
        wanted = {number: self.create("-j1", stdin=lines(*(row.split(b"\t")[number - 1] for row in rows)))
                  for number in (1, 2, 3)}
        for size in 4093, 65536:
            for number in wanted:
                with by_pieces(data, size) as pipe:
                    self.assertEqual(self.create("--field", number, stdin=pipe), wanted[number])
                with by_pieces(data, size) as pipe:
                    self.assertEqual(self.output("bfuniq", "--field", number, stdin=pipe), data)
        small = lines(*self.table(200, columns=(3, 3)))
        whole = self.output("bfuniq", "--field", "3,2", stdin=small)
        for size in 1, 2, 7:
            with by_pieces(small, size) as pipe:
                self.assertEqual(self.output("bfuniq", "--field", "3,2", stdin=pipe), whole)

    def test_the_end_of_a_file_ends_its_last_field(self):
        self.write("a", b"1\tx")
        self.write("b", b"2\ty")
        self.assertEqual(self.create("--field", 2, "a", "b"), self.create(stdin=b"x\ny\n"))
        self.assertEqual(self.create("--field", 1, "a", "b"), self.create(stdin=b"1\n2\n"))


class Inspect(FieldsTest):
    def test_bfinspect_checks_fields_as_keys(self):
        rows = self.table(3000, columns=(3, 3))
        self.filter_of(*(key_of(row, [3, 1]) for row in rows[:2000]))
        self.write("in", lines(*rows[:2000]))
        self.write("rows", lines(*rows, b"none"))
        self.assertIn(b"2,000, all present", self.output("bfinspect", "--field", "3,1", "--keys", "in", "plain"))
        wanted = {key_of(row, [3, 1]) for row in rows[:2000]}
        missing = sum(key_of(row, [3, 1]) not in wanted for row in rows)
        self.assertGreater(missing, 10)
        self.assertIn(f"3,000, {missing:,} missing".encode(), self.output(
            "bfinspect", "--field", "3,1", "--missing", "skip", "--keys", "rows", "plain", status=1,
            says=b"bfinspect: 1 line without the field was left out\n"))
        self.assertIn("line 3001 of rows has no field 3", self.trouble("bfinspect", "--field", "3,1", "--keys", "rows", "plain"))
        self.create(*EXACT, "-0", stdin=b"a,b\0c\nd\0", name="quoted")
        self.assertIn(b"2, all present", self.output("bfinspect", "--csv", "--field", 2, "--keys", "-", "quoted",
                                                   stdin=b'1,"a,b"\n2,"c\nd"\n'))
        self.assertIn(b"2, all present", self.output("bfinspect", "--csv", "--header", "--field", 2, "--keys", "-",
                                                   "quoted", stdin=b'id,name\n1,"a,b"\n2,"c\nd"\n'))
        for words in ["--field", 2], ["--header"], ["-Z"], ["--as-is"]:
            self.assertIn("need --keys", self.trouble("bfinspect", *words, "plain"))


class Lines(FieldsTest):
    """Whole lines are printed, with any number of threads."""

    def check_query(self, rows, numbers, *words, delimiter=b"\t"):
        members = {key_of(row, numbers, delimiter, True) for row in rows[:len(rows) // 50]}
        self.filter_of(*members)
        field = ["--field", ",".join(map(str, numbers)), "--missing", "empty", *words]
        chosen = [key_of(row, numbers, delimiter, True) in members for row in rows]
        self.write("table", lines(*rows))
        for threads in "-j1", "-j4":
            for invert in False, True:
                wanted = [row for row, is_in in zip(rows, chosen) if is_in != invert]
                self.assertEqual(self.output("bfquery", threads, *field, *["-v"] * invert, "plain",
                                             "table"), lines(*wanted))
        self.assertEqual(self.output("bfquery", "-c", *field, "plain", "table"), b"%d\n" % sum(chosen))

    def test_bfquery_prints_lines(self):
        self.check_query(self.table(60_000, values=4000), [2])
        self.check_query(self.table(60_000, values=1000), [3, 1])
        self.check_query(self.table(3000, b","), [1], "--delimiter", ",", delimiter=b",")

    def test_bfuniq_prints_the_first_line_with_each_key(self):
        for numbers in [1], [2], [4, 2]:
            rows = self.table(40_000, values=3000)
            seen, first, others = set(), [], []
            for row in rows:
                key = key_of(row, numbers, empty=True)
                (others if key in seen else first).append(row)
                seen.add(key)
            field = ["--field", ",".join(map(str, numbers)), "--missing", "empty", *EXACT]
            for threads in "-j1", "-j4":
                self.assertEqual(self.output("bfuniq", threads, *field, stdin=lines(*rows)), lines(*first))
                self.assertEqual(self.output("bfuniq", threads, "-d", *field, stdin=lines(*rows)),
                                 lines(*others))
        awk = subprocess.run(["awk", "-F\t", "!seen[$2]++"], input=lines(*rows), check=True,
                             stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"}).stdout
        self.assertEqual(self.output("bfuniq", "--field", 2, "--missing", "empty", *EXACT,
                                     stdin=lines(*rows)), awk)

    def test_bfadd_adds_fields(self):
        rows = self.table(3000)
        keys = [key_of(row, [2], empty=True) for row in rows]
        self.create_live("-n", 10_000, *EXACT)
        self.assertEqual(self.added("--field", 2, "--missing", "empty", "live", stdin=lines(*rows)),
                         b"3000 keys, %d new\n" % len(set(keys)))
        self.assertEqual(self.query("-v", "live", stdin=lines(*keys), status=1), [])

    def test_unless_list_contains_keys_and_not_lines(self):
        self.filter_of(b"x", b"y")
        self.write("list", b"y\n")
        self.assertEqual(self.output("bfquery", "--field", 2, "--unless", "list", "plain",
                                     stdin=b"1\tx\n2\ty\n"), b"1\tx\n")

    def test_carriage_returns_are_printed(self):
        self.filter_of(b"x")
        data = b"1\tx\r\n2\tx\n3\ty\r\n"
        self.assertEqual(self.output("bfquery", "--crlf", "--field", 2, "plain", stdin=data), data[:9])
        self.assertEqual(self.output("bfuniq", "--crlf", "--field", 2, stdin=data), b"1\tx\r\n3\ty\r\n")


class Common(FieldsTest):
    @staticmethod
    def wanted(first, others, numbers, difference):
        sets = [{key_of(row, numbers, empty=True) for row in rows} for rows in others]
        chosen = []
        for row in set(first):
            key = key_of(row, numbers, empty=True)
            is_in = [key in keys for keys in sets]
            if not any(is_in) if difference else all(is_in):
                chosen.append((key + b"\t" + row, row))
        return lines(*(row for _, row in sorted(chosen)))

    def check(self, *tables, numbers, before=()):
        names = [self.write(f"table {i}", lines(*rows)) for i, rows in enumerate(tables)]
        field = ["--field", ",".join(map(str, numbers)), "--missing", "empty"]
        for words in [], ["-d"]:
            wanted = self.wanted(tables[0], tables[1:], numbers, "-d" in words)
            status = 0 if wanted else 1
            self.assertEqual(self.output("bfcommon", *words, *field, *names, status=status, before=before),
                             wanted)
            self.assertEqual(self.output("bfcommon", "-c", *words, *field, *names, status=status),
                             b"%d\n" % wanted.count(b"\n"))
            with by_pieces(lines(*tables[0]), 1000) as pipe:
                self.assertEqual(self.output("bfcommon", *words, *field, "-", *names[1:], stdin=pipe,
                                             status=status), wanted)

    def test_bfcommon_prints_lines_of_the_first_file(self):
        for numbers in [1], [2], [3, 1]:
            self.check(*(self.table(2000, values=200) for _ in range(2)), numbers=numbers)
            self.check(*(self.table(2000, values=12) for _ in range(3)), numbers=numbers)
        self.check([b"a\t1", b"a\t2", b"a\t1", b"ab\t3", b"b\t4"], [b"a\tx", b"ab\ty"], numbers=[1])
        self.check([b"a"], [b"b"], numbers=[1])
        self.write("zeros", b"k\tx\ny\0k\n\tz\0" + b"\x0b\t\x01\0")
        self.assertEqual(self.output("bfcommon", "-0", "--field", 1, "zeros", "zeros"), b"\x0b\t\x01\0k\tx\ny\0k\n\tz\0")
        self.check([b""], [b""], numbers=[1])

    def test_more_files_than_descriptors_are_compared(self):
        tables = [[b"%d\t%d" % (i, file) for i in range(file, 200)] for file in range(40)]
        self.check(*tables, numbers=[1], before=["sh", "-c", 'ulimit -n 24 && exec "$@"', "sh"])

    def test_more_lines_than_memory_are_compared(self):
        rows = [b"%d\t%s" % (i % 30_000, b"x" * 300 + b"%d" % i) for i in range(60_000)]
        self.write("a", lines(*rows))
        self.write("b", lines(*(b"%d\tother" % i for i in range(25_000))))
        wanted = self.wanted(rows, [[b"%d" % i for i in range(25_000)]], [1], False)
        self.assertEqual(self.output("bfcommon", "--memory", "16Mi", "--field", 1, "a", "b"), wanted)


class Missing(FieldsTest):
    ROWS = [b"%d\tx%d" % (i, i) for i in range(30_000)]

    def setUp(self):
        super().setUp()
        rows = list(self.ROWS)
        rows[20_000] = rows[25_000] = b"nothing"
        self.write("good", lines(*self.ROWS[:500]))
        self.write("bad", lines(*rows))
        self.says = ("line 20001 of bad has no field 2 (skip such lines: --missing skip; use an empty field: --missing empty; set the field delimiter: --delimiter C)\n")

    def fails(self, tool, *arguments, says=None, stdout=None, **options):
        result = self.run_tool(tool, *arguments, **options)
        self.assertEqual(result.stderr.decode(), f"{tool}: {says or self.says}")
        self.assertEqual(result.returncode, 2)
        if stdout is not None:
            self.assertEqual(result.stdout, stdout)

    def test_line_without_the_field_fails_bfcreate(self):
        for words in ["-j1"], ["-j4"], ["-q"], ["--missing", "error"]:
            for _ in range(3):
                self.fails("bfcreate", *words, "--field", 2, "new", "good", "bad")
                self.assertEqual(sorted(os.listdir(self.folder)), ["bad", "good"])
        self.fails("bfcreate", "--field", "1,2", "-", "good", "bad", stdout=b"")
        old = self.create("good", name="old")
        self.fails("bfcreate", "-f", "--field", 2, "old", "bad")
        self.assertEqual(self.read("old"), old)

    def test_error_names_the_first_line_over_several_pieces(self):
        """The thread with the second piece finds a bad line immediately."""
        good = b"%d\tx\n" % 10**9 * 20_100
        self.write("bad", good + b"nothing\n" * 200_000)
        for _ in range(8):
            self.fails("bfcreate", "-j4", "--memory", "16Mi", "--field", 2, "new", "bad",
                       says=self.says.replace("20001", "20101"))

    def test_error_names_the_first_line_without_the_field(self):
        for number, data in ((1, b"\n"), (1, b"x"), (2, b"a\tb\nc\n"), (3, b"a\tb\n\t\n" + b"c\n" * 70_000)):
            for tool, words in ("bfcreate", ["new"]), ("bfuniq", []):
                self.fails(tool, "--field", 2, *words, stdin=data,
                           says=self.says.replace("bad", "standard input").replace("20001", str(number)))
        self.fails("bfuniq", "--field", "4,2,3", stdin=b"a\tb\tc\n",
                   says=self.says.replace("bad", "standard input").replace("20001", "1").replace("2 (", "4 ("))

    def test_only_lines_before_the_error_are_answered(self):
        self.filter_of(*(b"x%d" % i for i in range(30_000)))
        for words in ["-j1"], ["-j4"]:
            self.fails("bfquery", *words, "--field", 2, "plain", "bad", "good",
                       stdout=lines(*self.ROWS[:20_000]))
            self.fails("bfuniq", *words, *EXACT, "--field", 2, "bad", "good", stdout=lines(*self.ROWS[:20_000]))
        self.fails("bfquery", "-c", "--field", 2, "plain", "bad", stdout=b"20000\n")

    def test_damage_before_the_error_is_reported(self):
        self.filter_of(b"x1")
        image = bytearray(self.read("plain"))
        image[4096] ^= 1
        self.write("torn", bytes(image))
        self.fails("bfquery", "--field", 2, "torn", "bad", stdout=lines(*self.ROWS[:20_000]),
                   says="torn: 1 page damaged: keys on it were treated as present\nbfquery: " + self.says)

    def test_bfadd_keeps_keys_before_the_error(self):
        self.create_live("-n", 30_000, *EXACT)
        self.fails("bfadd", "-v", "--field", 2, "live", "bad", "good",
                   says=self.says + "bfadd: live: 20000 keys, 20000 new\n", stdout=b"")
        self.assertEqual(len(self.query("live", stdin=lines(*(b"x%d" % i for i in range(30_000))))), 20_000)

    def test_line_without_the_field_makes_bfcommon_print_nothing(self):
        for files in ["good", "bad"], ["bad", "good"]:
            for words in [], ["-d"], ["-c"]:
                self.fails("bfcommon", *words, "--field", 2, *files, stdout=b"")

    def test_skip_reports_the_number_of_skipped_lines(self):
        rows = [row for row in self.read("bad").split(b"\n") if b"\t" in row]
        skip = ["--field", 2, "--missing", "skip"]
        said = b": 2 lines without the field were left out\n"
        self.create_live("-n", 30_000, *EXACT)
        self.output("bfadd", "-v", *skip, "live", "bad",
                    says=b"bfadd" + said + b"bfadd: live: 29998 keys, 29998 new\n")
        for words in ["-j1"], ["-j4"]:
            self.assertEqual(self.output("bfuniq", *words, *skip, *EXACT, "bad", says=b"bfuniq" + said),
                             lines(*rows))
            for query in ["-j1"], ["-v"]:
                self.assertEqual(
                    self.output("bfquery", *query, *words, *skip, "live", "bad", says=b"bfquery" + said,
                                status=int(query == ["-v"])), b"" if query == ["-v"] else lines(*rows))
            made = self.create(*words, "-n", 30_000, *skip, "bad", says=b"bfcreate" + said)
            self.assertEqual(made, self.create("-n", 30_000, stdin=lines(*(row.split(b"\t")[1] for row in rows))))
        self.assertEqual(self.output("bfcommon", *skip, "good", "bad",
                                     says=b"bfcommon: bad" + said), lines(*sorted(
                                         self.ROWS[:500], key=lambda row: row.split(b"\t")[1] + b"\t")))
        for tool, words in (("bfadd", ["-q", "live"]), ("bfuniq", ["-q"]), ("bfcreate", ["-qf", "new"])):
            self.run_tool(tool, *words, *skip, "bad")
            self.assertEqual(self.output(tool, *words, *skip, "bad")[:0], b"")

    def test_skipping_every_line_is_an_error(self):
        """A wrong delimiter must not give an empty filter, which would answer no to every key."""
        self.write("none", b"1 x\n2 y\n" * 50_000)
        self.write("nor", b"\n")
        self.filter_of(b"x")
        self.create_live("-n", 100)
        before = sorted(os.listdir(self.folder))
        skip = ["--missing", "skip", "--field"]
        for number, field in (2, "2"), (3, "3,1"):
            for names, files in ("none", ["none"]), ("all inputs", ["none", "nor"]):
                says = f"no line of {names} has field {number} (set the field delimiter: --delimiter C)\n"
                for tool, words in (("bfcreate", ["new"]), ("bfcreate", ["-fq", "plain"]), ("bfcreate", ["-j4", "new"]),
                                    ("bfuniq", []), ("bfuniq", ["-q", "-j1"]), ("bfquery", ["plain"]),
                                    ("bfquery", ["-v", "-j1", "plain"]), ("bfquery", ["-q", "plain"])):
                    self.fails(tool, *skip, field, *words, *files, says=says, stdout=b"")
                self.fails("bfadd", *skip, field, "live", *files, says=says, stdout=b"")
                self.fails("bfadd", *skip, field, "-q", "live", *files, says=says, stdout=b"")
        says = says.replace("all inputs", "none").replace("field 3", "field 2")
        for words in [], ["-d"], ["-qc"]:
            for files in ["good", "none"], ["none", "good"], ["good", "good", "none"]:
                self.fails("bfcommon", *words, *skip, 2, *files, says=says, stdout=b"")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertEqual(self.output("bfuniq", *skip, "2", "none", "good",
                                     says=b"bfuniq: 100000 lines without the field were left out\n"), self.read("good"))
        self.assertEqual(self.output("bfuniq", *skip, "2", "--header", "nor"), b"\n")

    def test_skipped_lines_between_chosen_lines_are_not_printed(self):
        self.filter_of(b"x")
        data = b"1\tx\nno\n2\tx\n\nno\n3\ty\nno\n4\tx\nno\n"
        said = b"bfquery: 5 lines without the field were left out\n"
        self.assertEqual(self.output("bfquery", "--field", 2, "--missing", "skip", "plain", stdin=data, says=said),
                         b"1\tx\n2\tx\n4\tx\n")
        self.assertEqual(self.output("bfquery", "--field", 2, "--missing", "skip", "-v", "plain", stdin=data,
                                     says=said), b"3\ty\n")

    def test_missing_empty_reads_an_empty_field(self):
        self.filter_of(b"", b"a\t\t")
        self.assertEqual(self.output("bfquery", "--field", 2, "--missing", "empty", "plain",
                                     stdin=b"a\nb\tx\nc\t\n\n"), b"a\nc\t\n\n")
        self.assertEqual(self.output("bfquery", "--field", "1,2,3", "--missing", "empty", "plain",
                                     stdin=b"a\na\t\t\t\nb\na\t\n"), b"a\na\t\t\t\na\t\n")
        rows = lines(*[b"x"] * 100_000)
        self.assertEqual(self.output("bfuniq", "--field", ",".join(map(str, range(1, 33))), "--missing",
                                     "empty", stdin=rows), b"x\n")


class Header(FieldsTest):
    def setUp(self):
        super().setUp()
        self.write("a", b"id\tname\n1\tx\n2\ty\n")
        self.write("b", b"id\tname\n3\tx\n")
        self.write("other", b"name\tid\nx\t1\n")
        self.write("only", b"id\tname")

    def test_header_is_not_a_key_and_is_printed_once(self):
        header = ["--header", "--field", 2]
        self.assertEqual(self.create(*header, "a", "b", "only"), self.create(stdin=b"x\ny\nx\n"))
        self.filter_of(b"x", b"name")
        self.assertEqual(self.output("bfquery", *header, "plain", "a", "b"), b"id\tname\n1\tx\n3\tx\n")
        self.assertEqual(self.output("bfquery", *header, "-c", "plain", "a", "b"), b"2\n")
        self.assertEqual(self.output("bfquery", *header, "-q", "plain", "a", "b"), b"")
        self.assertEqual(self.output("bfquery", *header, "plain", "only", status=1), b"id\tname\n")
        self.assertEqual(self.output("bfuniq", *header, "a", "b", "only"), self.read("a"))
        self.assertEqual(self.output("bfuniq", *header, "-c", "a", "b"), b"3 lines, 2 new, 1 repeated\n")
        self.assertEqual(self.output("bfcommon", *header, "a", "b"), b"id\tname\n1\tx\n")
        self.assertEqual(self.output("bfcommon", *header, "-d", "a", "b"), b"id\tname\n2\ty\n")
        self.assertEqual(self.output("bfcommon", *header, "-d", "b", "a", status=1), b"id\tname\n")
        self.create_live("-n", 10)
        self.assertEqual(self.added(*header, "live", "a", "b"), b"3 keys, 2 new\n")

    def test_header_works_without_fields(self):
        self.assertEqual(self.create("--header", "a", "b"), self.create(stdin=b"1\tx\n2\ty\n3\tx\n"))
        self.assertEqual(self.output("bfuniq", "--header", "a", "b", "a"), self.read("a") + b"3\tx\n")
        self.assertEqual(self.output("bfcommon", "--header", "a", "a"), self.read("a"))

    def test_header_may_arrive_in_pieces_or_be_absent(self):
        for size in 1, 5:
            with by_pieces(self.read("a") * 1, size) as pipe:
                self.assertEqual(self.output("bfuniq", "--header", "--field", 2, stdin=pipe), self.read("a"))
        self.assertEqual(self.output("bfuniq", "--header"), b"")

    def test_different_header_is_an_error(self):
        says = (b"other has a different header than a (--header needs the same columns in every input; to remove a"
                b" header: tail -n +2 FILE)\n")
        self.filter_of(b"x")
        header = ["--header", "--field", 2]
        self.output("bfcreate", *header, "new", "a", "other", status=2, says=b"bfcreate: " + says)
        self.assertFalse((self.folder / "new").exists())
        self.assertEqual(self.output("bfquery", *header, "plain", "a", "other", "b", status=2,
                                     says=b"bfquery: " + says), b"id\tname\n1\tx\n3\tx\n")
        self.assertIn("has a different header than", self.trouble("bfcommon", "--header", "a", "other"))

    def test_bfcommon_accepts_files_whose_other_columns_differ(self):
        """Fields exist to compare such files. The header printed is that of the file whose lines are printed."""
        self.write("prices", b"price\tcolour\tname\n9\tred\ty\n8\tblue\tz\n")
        self.write("stock", b"id\tname\tcount\n1\ty\t3\n")
        self.write("people", b"who\tmail\n7\ty\n")
        header = ["--header", "--field", 2]
        for tool, *names in ("bfcommon", "a", "stock"), ("bfcommon", "a", "stock", "b", "-d"):
            found = b"id\tname\n2\ty\n" if "-d" not in names else b"id\tname\n1\tx\n"
            if "-d" in names:
                names.remove("b")
            self.assertEqual(self.output(tool, *header, *names), found)
        self.assertEqual(self.output("bfcommon", *header, "stock", "a"), b"id\tname\tcount\n1\ty\t3\n")
        self.assertEqual(self.output("bfcommon", *header, "stock", "a", "a", "-c"), b"1\n")
        self.assertEqual(self.output("bfcommon", *header, "prices", "a", status=1,
                                     says=b"bfcommon: warning: a: its header and that of prices name the field differently\n"),
                         b"price\tcolour\tname\n")
        says = b"bfcommon: warning: people: its header and that of a name the field differently\n"
        self.assertEqual(self.output("bfcommon", *header, "a", "people", says=says), b"id\tname\n2\ty\n")
        self.assertEqual(self.output("bfcommon", "-q", *header, "a", "people"), b"id\tname\n2\ty\n")
        few = ["sh", "-c", 'ulimit -n 24 && exec "$@"', "sh"]
        self.assertEqual(self.output("bfcommon", *header, "a", *["stock"] * 40, "people", "a", before=few, says=says),
                         b"id\tname\n2\ty\n")
        self.assertEqual(self.output("bfcommon", *header, "-", "stock", stdin=self.read("a")), b"id\tname\n2\ty\n")

    def test_bfcommon_checks_headers_of_unneeded_files(self):
        """The files before it already have nothing in common."""
        header = ["--header"]
        self.write("none", b"id\tname\n1\tnobody\n")
        few = ["sh", "-c", 'ulimit -n 24 && exec "$@"', "sh"]
        for names in ["a", "none", "other"], ["a", "none", *["b"] * 40, "other"], ["a", "none", "a", "other", "a"]:
            self.assertIn(b" has a different header than ", self.run_tool("bfcommon", *header, *names, before=few).stderr)
            self.assertEqual(self.output("bfcommon", *header, *[name.replace("other", "b") for name in names], status=1,
                                         before=few), b"id\tname\n")
        for words in [], ["-Z"]:
            self.assertIn("standard input has a different header than a (", self.trouble(
                "bfcommon", *words, *header, "a", "none", "-", stdin=self.read("other")))
            self.output("bfcommon", *words, *header, "a", "none", "-", stdin=self.read("b"), status=1)

    def test_carriage_return_does_not_make_a_header_different(self):
        self.write("dos", b"id\tname\r\n4\tx\r\n5\tz\r\n")
        header = ["--crlf", "--header", "--field", 2]
        self.assertEqual(self.output("bfuniq", *header, "a", "dos"), self.read("a") + b"5\tz\r\n")
        self.assertEqual(self.output("bfuniq", *header, "dos", "a"), self.read("dos") + b"2\ty\n")
        self.assertEqual(self.output("bfcommon", *header, "a", "dos"), b"id\tname\n1\tx\n")
        self.assertEqual(self.output("bfcommon", *header, "dos", "a"), b"id\tname\r\n4\tx\r\n")
        self.assertEqual(self.output("bfcommon", "--crlf", "--header", "dos", "dos"), b"id\tname\n4\tx\n5\tz\n")
        self.assertEqual(self.output("bfcommon", "--crlf", "--header", "dos", "a", status=1), b"id\tname\n")
        self.assertEqual(self.create(*header, "a", "dos"), self.create(stdin=b"x\ny\nz\n"))
        csv_header = ["--csv", "--header", "--field", 2]
        self.write("a.csv", b"id,name\n1,x\n")
        self.write("b.csv", b"id,name\r\n2,y\r\n")
        self.assertEqual(self.output("bfuniq", *csv_header, "a.csv", "b.csv"), self.read("a.csv") + b"2,y\r\n")
        self.assertIn(b"dos has a different header than a (", self.run_tool("bfuniq", "--header", "a", "dos").stderr)
        self.assertIn(b"dos has a different header than a (", self.run_tool("bfcommon", "--header", "a", "dos").stderr)

    def test_header_counts_as_a_line_in_messages(self):
        self.write("bad", b"id\tname\n1\tx\n2\n")
        for tool, words in ("bfuniq", ["bad"]), ("bfcreate", ["new", "bad"]), ("bfcommon", ["a", "bad"]):
            result = self.run_tool(tool, "--header", "--field", 2, *words)
            self.assertIn(b"line 3 of bad has no field 2", result.stderr)


def in_csv(*rows, delimiter=",", end="\n", quoting=csv.QUOTE_MINIMAL):
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows(rows)
    return out.getvalue().encode()


class Csv(FieldsTest):
    PARTS = ["a", "b", ",", '"', "\n", "\r\n", "", "x y", ";", "long" * 50]

    def rows(self, count, columns=3):
        return [["".join(self.random.choice(self.PARTS) for _ in range(self.random.randrange(4)))
                 for _ in range(columns)] for _ in range(count)]

    def records(self, rows):
        """The rows as CSV, each written in one of several ways."""
        return [in_csv(row, end=self.random.choice(["\n", "\r\n"]),
                       quoting=self.random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])) for row in rows]

    def uniq(self, rows, records, numbers):
        """The records that bfuniq must print, and the keys."""
        seen, printed = set(), []
        for row, record in zip(rows, records):
            fields = [row[number - 1] for number in numbers]
            key = fields[0].encode() if len(fields) == 1 else in_csv(fields, end="\r\n")[:-2]
            if key not in seen:
                printed.append(record)
            seen.add(key)
        return b"".join(printed), seen

    def test_records_equal_those_of_python_csv(self):
        rows = self.rows(20_000)
        records = self.records(rows)
        data = b"".join(records)
        self.assertEqual(list(csv.reader(io.StringIO(data.decode(), newline=""))), rows)
        self.write("table.csv", data)
        for numbers in [1], [2], [3], [3, 1]:
            field = ["--csv", "--field", ",".join(map(str, numbers))]
            printed, keys = self.uniq(rows, records, numbers)
            for words in ["-j1"], ["-j4"]:
                self.assertEqual(self.output("bfuniq", *words, *EXACT, *field, "table.csv"), printed)
                made = self.create(*words, *EXACT, *field, "table.csv")
            self.assertEqual(self.inspected("filter.bloom")["record"]["n"], len(keys))
            self.assertEqual(self.output("bfquery", *field, "filter.bloom", "table.csv"), data)
            self.assertEqual(self.output("bfquery", "-0", "-c", "filter.bloom", stdin=b"\0".join(keys) + b"\0"),
                             b"%d\n" % len(keys))
            self.assertEqual(self.output("bfquery", "-v", *field, "filter.bloom", "table.csv", status=1), b"")
            self.assertEqual(made, self.create(*EXACT, *field, "--memory", "16Mi", "table.csv"))

    def test_record_may_be_split_anywhere_between_pieces(self):
        rows = self.rows(300)
        records = self.records(rows)
        for numbers in [2], [3, 2]:
            printed, _ = self.uniq(rows, records, numbers)
            for size in 1, 3, 64:
                with by_pieces(b"".join(records), size) as pipe:
                    self.assertEqual(self.output("bfuniq", "--csv", "--field", ",".join(map(str, numbers)), *EXACT,
                                                 stdin=pipe), printed)
        long = in_csv(["1", "a\n" * (1 << 20), "z"], ["2", '"' * (1 << 20), "z"], ["3", "x", "y"])
        self.assertEqual(self.output("bfuniq", "--csv", "--field", 2, stdin=long), long)
        self.assertEqual(self.output("bfuniq", "--csv", "--field", 3, stdin=long),
                         in_csv(["1", "a\n" * (1 << 20), "z"], ["3", "x", "y"]))

    def test_joined_csv_fields_are_unambiguous(self):
        data = in_csv(["a,b", "c"], ["a", "b,c"], ['a","b', "c"], ["a", 'b","c']) + b'a"",b\n'
        self.assertEqual(self.output("bfuniq", "--csv", "--field", "1,2", *EXACT, stdin=data), data)
        same = b'a,b"c\n"a","b""c"\r\n'
        self.assertEqual(self.output("bfuniq", "--csv", "--field", "1,2", *EXACT, stdin=same), same[:6])
        self.assertEqual(self.output("bfuniq", "--csv", "--field", "2", *EXACT, stdin=same), same[:6])

    def test_carriage_return_in_quotes_is_data(self):
        self.create(*EXACT, "--csv", "--field", "1,2", stdin=b'"x\r",y\r\n')
        self.assertEqual(self.output("bfquery", "-0", "-c", "filter.bloom", stdin=b'"x\r",y\0'), b"1\n")

    def test_csv_delimiter_can_be_chosen(self):
        data = in_csv(["a;,", 'x;"y'], ["b", 'x;"y'], delimiter=";")
        self.assertEqual(self.output("bfuniq", "--csv", "--delimiter", ";", "--field", 2, stdin=data),
                         in_csv(["a;,", 'x;"y'], delimiter=";"))

    def test_csv_header_may_contain_newlines(self):
        data = b'"id\nof it",name\n1,a\n2,a\n'
        self.assertEqual(self.output("bfuniq", "--csv", "--header", "--field", 2, stdin=data), data[:-4])
        self.assertEqual(self.output("bfuniq", "--csv", "--header", "--field", 2, "-c", stdin=data),
                         b"2 lines, 1 new, 1 repeated\n")
        result = self.run_tool("bfuniq", "--csv", "--header", "--field", 2, stdin=data + b'"\n",x\n3\n')
        self.assertIn(b"line 7 of standard input has no field 2", result.stderr)

    def test_unclosed_quote_is_an_error_and_publishes_nothing(self):
        for end in b"", b"\n", b",x\n" * 100_000:
            self.write("open.csv", b'id,"x\n"\n1,a""\n2,"b' + end)
            says = "line 4 of open.csv opens a quote that is never closed" + QUOTES.decode()
            for words in ["-j1"], ["-j4"]:
                result = self.run_tool("bfcreate", *words, "--csv", "--field", 1, "new", "open.csv")
                self.assertEqual((result.returncode, result.stderr.decode()), (2, "bfcreate: " + says))
                self.assertEqual(os.listdir(self.folder), ["open.csv"])
                self.assertEqual(self.output("bfuniq", *words, "--csv", "--field", 1, "open.csv", status=2,
                                             says=b"bfuniq: " + says.encode()), b'id,"x\n"\n1,a""\n')

    def test_each_input_begins_outside_of_quotes(self):
        self.write("plain", b"1,x")
        self.write("open", b'2,"y')
        self.write("quoted", b'"p\nq",z\n')
        field = ["--csv", "--field", 1]
        self.assertEqual(self.output("bfuniq", *field, "plain", "quoted"), b'1,x\n"p\nq",z\n')
        says = b"bfuniq: line 1 of open opens a quote that is never closed" + QUOTES
        self.assertEqual(self.output("bfuniq", *field, "open", "plain", "quoted", status=2, says=says),
                         b'1,x\n"p\nq",z\n')

    def test_bytes_after_a_closing_quote_are_an_error(self):
        for what in b'"a"b,c\n', b'"a" ,c\n', b'c,"a\n"\rb\n':
            result = self.run_tool("bfuniq", "--csv", "--field", 1, "--missing", "skip", stdin=b'"\n",y\n' + what)
            self.assertEqual((result.returncode, result.stdout), (2, b'"\n",y\n'))
            self.assertEqual(result.stderr, b"bfuniq: line 3 of standard input begins a record with a closing quote"
                                            b" that is not followed by a delimiter" + QUOTES)

    def test_missing_csv_fields_are_skipped_or_errors(self):
        data = b'"a\n",x\n"b"\nc,y\n\n'
        said = b"bfuniq: 2 lines without the field were left out\n"
        field = ["--csv", "--field", 2, "--missing"]
        self.assertEqual(self.output("bfuniq", *field, "skip", stdin=data, says=said), b'"a\n",x\nc,y\n')
        self.assertEqual(self.output("bfuniq", *field, "empty", stdin=data), data[:-1])
        self.assertIn(b"line 3 of standard input has no field 2", self.run_tool("bfuniq", *field, "error", stdin=data).stderr)

    def test_incompatible_csv_options_are_refused(self):
        for tool in "bfcreate", "bfadd", "bfquery", "bfuniq", "bfcommon":
            self.assertIn("--csv needs --field", self.trouble(tool, "--csv", "x", "y"))
            self.assertIn("-0/--null and --csv are mutually exclusive", self.trouble(tool, "--csv", "-0", "--field", 1, "x", "y"))
            self.assertIn("--delimiter cannot be a quote",
                          self.trouble(tool, "--csv", "--delimiter", '"', "--field", 1, "x", "y"))

    def test_bfcommon_compares_fields_of_different_files(self):
        """The keys are in a different column of each file. Records are printed once each, in order of their keys."""
        keys = ["".join(self.random.choice(["a", ",", '"', "\n", "\r", "\0", "\1", "\x0b", "\x0c", "\t"])
                        for _ in range(self.random.randrange(5))) for _ in range(3000)]
        rows = [[key, f"{i % 7}"] for i, key in enumerate(keys[:2000])]
        others = [[f"{i}", key + "x"[:i % 3], key] for i, key in enumerate(keys[1000:])]
        self.write("first", in_csv(["k", "n"], *rows))
        self.write("other", in_csv(["n", "of\nit", "the,key"], *others, end="\r\n", quoting=csv.QUOTE_ALL))
        known = {row[2] for row in others}
        for words, is_wanted in ([], lambda key: key in known), (["-d"], lambda key: key not in known):
            wanted = sorted({(key.encode(), in_csv([key, n])) for key, n in rows if is_wanted(key)})
            wanted = b"k,n\n" + b"".join(record for _, record in wanted)
            for fields in (["-1", "k", "-2", '"the,key"'], ["-1", 1, "-2", 3, "--header"], ["--field", "k", "-2", '"the,key"'],
                           ["-1", "k", "--field", 3]):
                self.assertEqual(self.output("bfcommon", "--as-is", "--csv", *words, *fields, "first", "other"), wanted)
            with by_pieces(self.read("first"), 1000) as pipe:
                self.assertEqual(self.output("bfcommon", "--as-is", "--csv", *words, "-1", "k", "-2", '"the,key"', "-", "other",
                                             stdin=pipe), wanted)
        self.write("moved", in_csv(["x", "k", "n"], *(["", key, "1"] for key in keys[1000:1500])))
        wanted = sorted({(key.encode(), in_csv([key, n])) for key, n in rows if key in set(keys[1000:1500])})
        self.assertEqual(self.output("bfcommon", "--as-is", "--csv", "--field", "k", "first", "moved"),
                         b"k,n\n" + b"".join(record for _, record in wanted))
        pairs = sorted({(in_csv([n, key], end="")) for key, n in rows} & {in_csv(["1", key], end="") for key in keys[1000:1500]})
        self.assertEqual(self.output("bfcommon", "--as-is", "--csv", "--field", "n,k", "-c", "first", "moved"), b"%d\n" % len(pairs))

    def test_bfcommon_refuses_broken_records(self):
        self.write("good", b"id,x\n1,2\n")
        for data, says in ((b'id,x\n1,"2\n\n', "line 2 of bad opens a quote that is never closed"),
                           (b'id,x\n"1"2,x\n', "line 2 of bad begins a record with a closing quote that is not followed"
                                               " by a delimiter")):
            self.write("bad", data)
            for names in ["good", "bad"], ["bad", "good"]:
                result = self.run_tool("bfcommon", "--csv", "--field", "id", *names)
                self.assertEqual((result.returncode, result.stdout, result.stderr.decode()),
                                 (2, b"", f"bfcommon: {says}" + QUOTES.decode()))


class Names(FieldsTest):
    """Columns chosen by their names in the header."""

    DATA = b'\xef\xbb\xbfid,"last, first","say ""id""",1,name,name\r\n7,"Doe, Ann",x,y,z,u\r\n8,"Doe, Ann",x,y,z,u\r\n'

    def test_names_and_numbers_choose_the_same_columns(self):
        self.write("t.csv", self.DATA)
        self.write("t.tsv", b"id\tlast, first\tsay \"id\"\t1\n7\tDoe, Ann\tx\ty\n")
        for names, numbers in (("id", "1"), ('"last, first"', "2"), ('"say ""id"""', "3"), ('"1"', "4"), ("id,\"last, first\"", "1,2"),
                               ('3,id', "3,1")):
            for form in ["--csv", "t.csv"], ["--header", "t.tsv"]:
                header = ["--header", *form]
                made = self.create(*EXACT, "--field", names, *form, name="named")
                self.assertEqual(made, self.create(*EXACT, "--field", numbers, *header, name="plain"))
                for tool, *words in ("bfquery", "plain"), ("bfuniq",), ("bfinspect", "plain", "--keys"), ("bfcommon", form[1]):
                    self.assertEqual(self.output(tool, "--field", names, form[0], *words, form[1]),
                                     self.output(tool, "--field", numbers, "--header", form[0], *words, form[1]))
            self.create_live("-n", 10, name="live")
            self.assertIn(b"2 keys, ", self.added("--csv", "--field", names, "live", "t.csv"))
            os.unlink(self.folder / "live")

    def test_a_missing_or_ambiguous_name_is_an_error(self):
        self.write("t.csv", self.DATA)
        self.write("none", b"a,b\n1,2\n")
        self.write("many", b",".join(b"column%d" % i for i in range(100)) + b"\n")
        self.write("long", b"x" * 100_000 + b"\n")
        columns = '(its columns: id, "last, first", say "id", 1, name, name)'
        many = ", ".join(f"column{i}" for i in range(40))
        for name, names, says in (("t.csv", "nope", f"no column named nope {columns}"), ("t.csv", "id,x", f"no column named x {columns}"),
                                  ("t.csv", "name", "two columns named name (use the number of one: --field N)"),
                                  ("t.csv", "id,1", "one column named 1, and --field has it twice"),
                                  ("t.csv", "id,id", "one column named id, and --field has it twice"),
                                  ("none", "id", "no column named id (its columns: a, b)"),
                                  ("many", "id", f"no column named id (its columns: {many}, ...)"),
                                  ("long", "id", f"no column named id (its columns: {'x' * 200}...)")):
            for tool, *words in ("bfcreate", "new"), ("bfuniq",), ("bfcommon", name):
                self.assertEqual(self.trouble(tool, "--csv", "--field", names, *words, name), f"{tool}: {name} has {says}\n")
        self.assertEqual(self.output("bfuniq", "--csv", "--field", "id", "none", "t.csv", status=2,
                                     says=b"bfuniq: none has no column named id (its columns: a, b)\n"), self.DATA)


class Columns(FieldsTest):
    """If the keys seem to come from the wrong fields, the tools warn, even with -q."""

    def setUp(self):
        super().setUp()
        self.filter_of(b"none")
        self.create_live("-n", 100)
        self.write("nothing", b"")

    def warned(self, data, *words, warning=None):
        self.write("s.log", data)
        says = f"s.log: {warning}\n" if warning else ""
        for tool, arguments in (("bfcreate", ["-qf", "new"]), ("bfadd", ["-q", "live"]), ("bfuniq", ["-q"]),
                                ("bfquery", ["-q", "plain"]), ("bfcommon", ["-q", "-c", "nothing"])):
            result = self.run_tool(tool, *words, *arguments, "s.log")
            self.assertEqual(result.stderr.decode(), f"{tool}: warning: {says}" if says else "")

    def test_delimiter_absent_from_every_line_is_an_error(self):
        for delimiter, name in ("\t", "tab"), (" ", "blank"), (",", "comma"), (";", "semicolon"), ("|", "'|'"), (
                "\x01", "delimiter"):
            for there in " ,;|\t":
                words = ["--field", 1, "--delimiter", delimiter]
                says = f"no line has a {name}, so each whole line is the key (set the field delimiter: --delimiter C)"
                data = f"1{there}x\n2{there}y\n".encode()
                self.warned(data, *words, warning=None if there == delimiter else says)
                self.warned(data + f"3{delimiter}z\n".encode(), *words)
        self.warned(b"a\nb\n", "--field", 1)
        self.warned(b"1 x", "--field", 1, warning="no line has a tab, so each whole line is the key (set the field delimiter: --delimiter C)")
        self.warned(b"1;x\n", "--csv", "--field", 1, warning="no line has a comma, so each whole line is the key (set the field delimiter: --delimiter C)")
        self.warned(b"1 x\n", "--field", "1,2", "--missing", "empty",
                    warning="no line has a tab, so all fields but the first are empty (set the field delimiter: --delimiter C)")

    def test_quotes_in_keys_are_warned_of(self):
        says = "fields are quoted, and the quotes become part of the key (add --csv to strip them)"
        for data in b'1,x\n2,"y, z"\n', b'1,"x"', b'1,"\n':
            self.warned(data, "--field", 2, "--delimiter", ",", warning=says)
            self.warned(data, "--field", "3,2", "--delimiter", ",", "--missing", "empty", warning=says)
            self.warned(data, "--field", 1, "--delimiter", ",")
        self.warned(b'1,x"y"\n', "--field", 2, "--delimiter", ",")
        self.warned(b'1,"x"\n', "--csv", "--field", 2)


class CommandLine(FieldsTest):
    def test_incompatible_options_are_refused(self):
        for words, says in (
                (["--field", "0"], "--field takes the numbers or names of up to 32 different fields such as 2, 3,1"
                                   " or id, not '0'"),
                (["--field", "id"], "--field with a name needs --header or --csv"),
                (["--delimiter", ","], "--delimiter needs --field"),
                (["--missing", "skip"], "--missing needs --field or a JSON path"),
                (["--field", "1", "-x4"], "-x/--record-size and --field are mutually exclusive"),
                (["--header", "-x4"], "-x/--record-size and --header are mutually exclusive"),
                (["--field", "1", "--missing", "x"], "--missing takes error, skip or empty, not 'x'"),
                (["--field", "1", "--delimiter", "\n"], "--delimiter cannot be the end of a line"),
                (["--field", "1", "--delimiter", "ab"], "--delimiter takes one byte, or \\t for a tab, not 'ab'"),
                (["--field", "1", "--delimiter", ""], "--delimiter takes one byte, or \\t for a tab, not ''")):
            for tool in "bfcreate", "bfadd", "bfquery", "bfuniq", "bfcommon":
                self.assertEqual(self.trouble(tool, *words, "x", "y"),
                                 f"{tool}: {says} (try '{tool} --help')\n")
        self.assertIn("-1 and -2", self.trouble("bfcommon", "-1", 2, "x", "y"))
        for wrong in "", ",", "1,", ",1", "1,1", "2,3,2", "99999999999", "a,", '"a', '"a"b', ",".join("abc" * 11):
            self.assertIn("--field takes", self.trouble("bfuniq", "--field", wrong))
        self.assertIn("--live reads no keys", self.trouble("bfcreate", "--live", "-n9", "--field", 1, "x"))

    def test_kind_of_keys_does_not_depend_on_line_endings(self):
        """The keys are text with either line ending."""
        self.create("--crlf", "--field", 2, stdin=b"a\tx\r\n", name="filter")
        self.assertEqual(self.output("bfquery", "filter", stdin=b"x\n"), b"x\n")
        self.assertEqual(self.output("bfquery", "--crlf", "--field", 1, "filter", stdin=b"x\tb\r\n"), b"x\tb\r\n")


if __name__ == "__main__":
    main()
