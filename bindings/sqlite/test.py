# SPDX-License-Identifier: MIT
"""Tests of the extension of SQLite, which the script `test` builds and names in BLOOMFILE_EXTENSION."""
import csv
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

EXTENSION = os.environ["BLOOMFILE_EXTENSION"]
TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests"
FOLDER = pathlib.Path(tempfile.mkdtemp())
os.environ["BLOOMFILE_DIRECTORY"] = str(FOLDER)
unittest.addModuleCleanup(shutil.rmtree, FOLDER)


def connect(path=":memory:"):
    db = sqlite3.connect(path)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    db.enable_load_extension(False)
    return db


GOLDEN = unittest.skipUnless((TESTS / "golden").is_dir(), "the golden files are in the source archive only")


class Case(unittest.TestCase):
    def setUp(self):
        self.db = connect()
        self.addCleanup(self.db.close)

    def one(self, sql, *parameters):
        return self.db.execute(sql, parameters).fetchone()[0]

    def build(self, keys, options=""):
        rows = ",".join("(?)" for _ in keys)
        return self.one(f"WITH v(k) AS (VALUES {rows}) SELECT bloom_build(k{options}) FROM v", *keys)

    def contains(self, image, key):
        return self.one("SELECT bloom_contains(?, ?)", image, key)

    def assert_error(self, text, sql, *parameters):
        with self.assertRaisesRegex(sqlite3.Error, text):
            self.db.execute(sql, parameters).fetchall()


class Keys(Case):
    def test_text_integers_and_blobs_are_found(self):
        for keys, absent in (["apple", "Plüm", "", "a\0b"], "stone"), ([0, -1, 2**63 - 1, -2**63], 5), ([b"", b"\xff"], b"x"):
            image = self.build(keys)
            self.assertEqual([self.contains(image, key) for key in keys], [1] * len(keys))
            self.assertEqual(self.contains(image, absent), 0)

    def test_key_of_another_kind_is_an_error_that_names_both_kinds(self):
        for added, key, kinds in ((7, "7", "integers, and this key is text"), ("7", 7, "text, and this key is an integer"),
                                  (b"7", "7", "blobs, and this key is text"), (7, b"12345678", "integers, and this key is a blob of 8 bytes")):
            self.assert_error(f"{kinds} .BLOOMFILE_EKEYKIND.$", "SELECT bloom_contains(?, ?)", self.build([added]), key)

    def test_real_numbers_are_not_keys(self):
        self.assert_error("real number", "SELECT bloom_contains(?, 7.0)", self.build([7]))
        self.assert_error("real number", "SELECT bloom_contains(?, 18446744073709551615)", self.build([-1]))
        self.assert_error("real number", "SELECT bloom_build(7.0)")

    def test_build_of_keys_of_two_kinds_is_an_error(self):
        self.assert_error("EKEYKIND", "WITH v(k) AS (VALUES (1), ('a')) SELECT bloom_build(k) FROM v")

    @GOLDEN
    def test_lower_case_filters_ignore_case(self):
        row = next(r for r in rows("golden/index.tsv") if r["key_kind"] == "lower")
        image = (TESTS / "golden" / row["file"]).read_bytes()
        for key in (TESTS / "golden" / row["keys"]).read_bytes().splitlines():
            self.assertEqual(self.contains(image, key.upper()), 1)

    def test_null_keys_are_null_and_null_filters_are_errors(self):
        image = self.build([7, None])
        self.assertEqual(json.loads(self.one("SELECT bloom_info(?)", image))["n"], 1)
        self.assertIsNone(self.contains(image, None))
        self.assertIsNone(self.contains(None, None))
        self.assert_error("not a filter or NULL", "SELECT bloom_contains(NULL, 7)")
        self.assertIsNone(self.one("SELECT bloom_info(NULL)"))


class Builds(Case):
    def test_options_choose_rate_and_layout(self):
        for layout in "blocked", "classic", "counting", "ribbon":
            info = json.loads(self.one("SELECT bloom_info(?)", self.build(["a", "b"], f", 0.001, '{layout}'")))
            self.assertEqual((info["layout"], info["fpr"], info["n"], info["key_kind"]), (layout, 0.001, 2, "text"))

    def test_invalid_options_are_errors(self):
        for options in "0", "1", "-1", "'x'", "'0.01zzz'", "x'30'", "0.1, 'round'", "0.1, char(114,105,98,98,111,110,0)":
            for key in "1", "NULL":
                self.assert_error("bloom_build: the rate", f"SELECT bloom_build({key}, {options})")
        self.assert_error("EUNREACHABLE", "SELECT bloom_build(1, 1e-300)")

    def test_null_options_are_the_defaults(self):
        self.assertEqual(self.build(["a"], ", NULL, NULL"), self.build(["a"]))
        self.assertEqual(self.build(["a"], ", '0.5'"), self.build(["a"], ", 0.5"))

    def test_a_set_without_keys_makes_a_filter_without_keys(self):
        self.assertEqual(self.one("SELECT bloom_contains(bloom_build(k), 7) FROM (SELECT 1 AS k WHERE 0)"), 0)
        self.assertEqual(self.one("SELECT bloom_contains(bloom_build(NULL), 'x')"), 0)
        info = json.loads(self.one("SELECT bloom_info(bloom_build(NULL, 0.5, 'classic'))"))
        self.assertEqual((info["layout"], info["fpr"], info["n"]), ("classic", 0.5, 0))

    def test_each_group_builds_its_own_filter(self):
        self.db.execute("CREATE TABLE t AS WITH RECURSIVE s(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM s WHERE x < 999) SELECT x FROM s")
        found = self.db.execute("SELECT g, bloom_contains(f, g), bloom_contains(f, g + 1) FROM (SELECT x % 10 AS g, bloom_build(x, 1e-6) AS f FROM t GROUP BY 1)")
        self.assertEqual([row[1:] for row in found], [(1, 0)] * 10)


class Files(Case):
    def write(self, name, keys):
        (FOLDER / ".new").write_bytes(self.build(keys))
        os.rename(FOLDER / ".new", FOLDER / name)

    def file(self, name, key):
        return self.one("SELECT bloom_contains(bloom_file(?), ?)", name, key)

    def test_a_replaced_file_is_seen_by_the_next_statement(self):
        self.write("a.bloom", [5])
        self.assertEqual((self.file("a.bloom", 5), self.file("a.bloom", 6)), (1, 0))
        self.write("a.bloom", [6])
        self.assertEqual((self.file("a.bloom", 5), self.file("a.bloom", 6)), (0, 1))
        os.unlink(FOLDER / "a.bloom")
        self.assert_error("ENOENT", "SELECT bloom_contains(bloom_file('a.bloom'), 5)")

    def test_a_statement_keeps_its_file(self):
        self.write("a.bloom", [5])
        rows = self.db.execute("WITH v(k) AS (VALUES (5), (5), (5)) SELECT bloom_contains(bloom_file('a.bloom'), k) FROM v")
        self.assertEqual(next(rows), (1,))
        self.write("a.bloom", [6])
        self.assertEqual(self.file("a.bloom", 5), 0)
        self.assertEqual([row for row, in rows], [1, 1])

    def test_file_name_may_differ_in_each_row(self):
        for i in range(40):
            self.write(f"{i}.bloom", [i])
        for _ in range(2):
            self.assertEqual(self.one("WITH RECURSIVE s(x) AS (VALUES (0) UNION ALL SELECT x + 1 FROM s WHERE x < 39) "
                                      "SELECT sum(bloom_contains(bloom_file(x || '.bloom'), x)) FROM s"), 40)
        maps = pathlib.Path("/proc/self/maps").read_text()
        self.assertLessEqual(maps.count(str(FOLDER)), 16)

    def test_closing_a_connection_closes_its_files(self):
        self.write("closed.bloom", [5])
        self.assertEqual(self.file("closed.bloom", 5), 1)
        self.db.close()
        self.assertNotIn("closed.bloom", pathlib.Path("/proc/self/maps").read_text())

    def test_names_stay_in_the_folder(self):
        for name in "", ".", "..", "../a", "/etc/passwd", "a/b", ".hidden", "a\0b", "x" * 300:
            self.assert_error("not the name of a file", "SELECT bloom_file(?)", name)
        os.symlink("/etc/passwd", FOLDER / "link")
        self.assert_error("symbolic links are refused .ELOOP", "SELECT bloom_file('link')")
        os.mkfifo(FOLDER / "pipe")
        self.assert_error("ENOTREGULAR", "SELECT bloom_file('pipe')")
        self.assertIsNone(self.one("SELECT bloom_file(NULL)"))

    def test_a_hostile_database_opens_no_files(self):
        self.write("a.bloom", [5])
        self.db.executescript("""
            CREATE TABLE t (k);
            CREATE VIEW v AS SELECT bloom_contains(bloom_file('a.bloom'), 5);
            CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT bloom_file('a.bloom'); END;""")
        self.assert_error("unsafe use", "SELECT * FROM v")
        self.assert_error("unsafe use", "INSERT INTO t VALUES (1)")
        self.assert_error("unsafe use|prohibited", "CREATE TABLE u (k, x AS (bloom_file(k)))")

    def test_pointers_cannot_be_forged_or_stored(self):
        self.write("a.bloom", [5])
        self.assert_error("not a filter", "SELECT bloom_contains('a.bloom', 5)")
        self.assert_error("not a filter", "SELECT bloom_contains(4096, 5)")
        self.db.execute("CREATE TABLE t AS SELECT bloom_file('a.bloom') AS f")
        self.assert_error("not a filter or NULL", "SELECT bloom_contains(f, 5) FROM t")

    def test_images_work_in_views_and_triggers(self):
        self.db.executescript("""
            CREATE TABLE t (k);
            CREATE TABLE f AS SELECT bloom_build(5) AS image;
            CREATE VIEW v AS SELECT k FROM t WHERE bloom_contains((SELECT image FROM f), k);
            CREATE TRIGGER g BEFORE INSERT ON t WHEN bloom_contains((SELECT image FROM f), NEW.k)
                BEGIN SELECT raise(IGNORE); END;
            PRAGMA trusted_schema = OFF;
            INSERT INTO t VALUES (4), (5), (6);""")
        self.assertEqual(self.one("SELECT group_concat(k) FROM t"), "4,6")
        self.assertEqual(self.db.execute("SELECT * FROM v").fetchall(), [])

    def test_without_a_folder_no_file_is_opened(self):
        run = subprocess.run(["sqlite3", "-cmd", f".load {EXTENSION}", ":memory:", "SELECT bloom_file('a.bloom')"],
                             env={name: value for name, value in os.environ.items() if name != "BLOOMFILE_DIRECTORY"},
                             capture_output=True, text=True, check=False)
        self.assertIn("BLOOMFILE_DIRECTORY", run.stderr)


class Damage(Case):
    def answers(self, image, keys):
        """Returns the answers, None for an error."""
        found = []
        for key in keys:
            try:
                found.append(self.contains(image, key))
            except sqlite3.Error:
                found.append(None)
        return found

    def test_changed_bytes_never_lose_a_key(self):
        chance = random.Random(1)
        for layout in "blocked", "classic", "counting", "ribbon":
            image = self.build(list(range(300)), f", 0.01, '{layout}'")
            places = list(range(512)) + [chance.randrange(512, len(image)) for _ in range(300)]
            for place in places:
                damaged = bytearray(image)
                damaged[place] ^= 1 << chance.randrange(8)
                self.assertNotIn(0, self.answers(bytes(damaged), [0, 150, 299]), (layout, place))

    def test_images_of_a_wrong_length_are_refused(self):
        image = self.build(list(range(300)))
        for size in list(range(len(image))) + [len(image) + 1]:
            self.assert_error("BLOOMFILE_E", "SELECT bloom_info(?)", (image + b"\0")[:size])
        self.assert_error("blob: it is empty", "SELECT bloom_info(x'')")

    def test_a_constant_image_with_damage_stays_an_error(self):
        image = bytearray(self.build(list(range(300))))
        image[600] ^= 1
        self.assert_error("EPAGE", "WITH v(k) AS (VALUES (1), (2), (3)) SELECT bloom_contains(?, k) FROM v", bytes(image))

    def test_a_file_with_damage_is_an_error(self):
        image = bytearray(self.build(list(range(300))))
        image[600] ^= 1
        (FOLDER / "damaged.bloom").write_bytes(image)
        self.assert_error("EPAGE", "SELECT bloom_contains(bloom_file('damaged.bloom'), 5)")


class Readme(unittest.TestCase):
    def test_readme_commands_print_the_shown_output(self):
        text = (pathlib.Path(__file__).parent / "README.md").read_text(encoding="utf-8")
        block = re.search(r"^```console\n(.*?)^```$", text, re.M | re.S)[1]
        commands = re.findall(r"^\$ (.*)\n", block, re.M)
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(EXTENSION + ".so", os.path.join(folder, "bloomfile.so"))
            run = subprocess.run(["sh", "-ec", "\n".join(commands)], cwd=folder, text=True, check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(run.stdout, re.sub(r"^\$ .*\n", "", block, flags=re.M))


def rows(name):
    with open(TESTS / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@GOLDEN
class Golden(Case):
    def lookups(self, image, keys):
        return sum(self.one("SELECT bloom_contains(bloom_file(?), ?)", image, key) for key in keys)

    def test_golden_files_have_their_keys_and_numbers(self):
        absent = (TESTS / "golden/keys/absent.keys").read_bytes().split(b"\n")[:-1]
        for row in rows("golden/index.tsv"):
            path = TESTS / "golden" / row["file"]
            image = path.read_bytes()
            if row["hash"] != "xxh3" or row["key_kind"] == "newer" or row["key_kind"].startswith("fixed"):
                continue  # their keys are digests, or not of a kind that SQL has
            with self.subTest(row["file"]):
                self.assertEqual(hashlib.sha256(image).hexdigest(), row["sha256"])
                info = json.loads(self.one("SELECT bloom_info(?)", image))
                self.assertEqual((info["layout"], str(info["n"]), str(info["m"]), str(info["k"]), int(info["seed"], 16), info["key_kind"]),
                                 (row["layout"], row["n"], row["m"], row["k"], int(row["seed"]), row["key_kind"]))
                shutil.copy(path, FOLDER / "golden.bloom")
                keys = (TESTS / "golden" / row["keys"]).read_bytes().split(b"\n")[:-1]
                if row["key_kind"] == "integers":
                    keys = [int.from_bytes(key, "little", signed=True) for key in keys]
                self.assertEqual(self.lookups("golden.bloom", keys), len(keys))
                if row["key_kind"] in ("unknown", "text", "bytes"):
                    self.assertEqual(self.lookups("golden.bloom", absent), int(row["maybes"]))

    def test_newer_kinds_of_keys_and_other_hashes_are_errors(self):
        for row in rows("golden/index.tsv"):
            if row["hash"] != "xxh3" or row["key_kind"] == "newer":
                image = (TESTS / "golden" / row["file"]).read_bytes()
                self.assert_error("EHASH|EFEATURE", "SELECT bloom_contains(?, 'x')", image)

    def test_key_of_another_size_is_an_error_that_names_both_sizes(self):
        image = (TESTS / "golden/key-kind-fixed-1.bloom").read_bytes()
        self.assert_error("blobs of 1 bytes, and this key is a blob of 2 bytes ", "SELECT bloom_contains(?, x'0000')", image)

    def test_refused_files_are_errors_or_damaged_bodies(self):
        for row in rows("golden-refused/index.tsv"):
            image = (TESTS / "golden-refused" / row["file"]).read_bytes()
            if row["rule"] != "12.4":
                self.assert_error(row["error"], "SELECT bloom_info(?)", image)


if __name__ == "__main__":
    unittest.main()
