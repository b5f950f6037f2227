# SPDX-License-Identifier: MIT
"""Tests of the extension with several sessions, which the script `test` runs on its own server."""
import os
import pathlib
import re
import subprocess
import threading
import time
import unittest

FOLDER = pathlib.Path(os.environ["BLOOMFILE_TEST_FOLDER"]) / "filters"
END = "--end--"


class Session:
    """A session of psql: sql() returns the output of a statement, with errors."""

    def __init__(self, **environment):
        self.psql = subprocess.Popen(["psql", "-XqAt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, env=os.environ | environment)

    def sql(self, statement):
        self.psql.stdin.write(f"{statement};\n\\echo {END}\n")
        self.psql.stdin.flush()
        lines = []
        for line in self.psql.stdout:
            if line.rstrip("\n") == END:
                return "\n".join(lines)
            lines.append(line.rstrip("\n"))
        raise AssertionError("the session ended: " + "\n".join(lines))

    def close(self):
        self.psql.communicate()

    def pid(self):
        return int(self.sql("SELECT pg_backend_pid()"))


def export(session, name, query):
    """Writes an image to a new file and renames it to its name."""
    image = f"({query})"
    session.sql("SELECT lo_unlink(7) WHERE EXISTS (SELECT FROM pg_largeobject_metadata WHERE oid = 7)")
    session.sql(f"SELECT lo_from_bytea(7, {image})")
    session.sql(f"SELECT lo_export(7, '{FOLDER}/.new')")
    os.rename(FOLDER / ".new", FOLDER / name)


def integers(first, last):
    return f"SELECT bloom_build(k) FROM generate_series({first}, {last}) k"


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        FOLDER.mkdir()
        cls.admin = Session()
        cls.admin.sql("CREATE EXTENSION bloomfile")
        cls.admin.sql(f"ALTER SYSTEM SET bloomfile.directory = '{FOLDER}'")
        cls.admin.sql("SELECT pg_reload_conf()")
        export(cls.admin, "big.bloom", integers(1, 1000000))

    @classmethod
    def tearDownClass(cls):
        cls.admin.sql("DROP EXTENSION bloomfile CASCADE")
        cls.admin.close()

    def session(self, **environment):
        session = Session(**environment)
        self.addCleanup(session.close)
        return session

    def test_sessions_share_one_mapping_of_the_file(self):
        pages = []
        for session in self.session(), self.session():
            self.assertEqual(session.sql("SELECT count(*) FROM generate_series(1, 100000) k "
                                         "WHERE bloom_contains('big.bloom', k)"), "100000")
            smaps = pathlib.Path(f"/proc/{session.pid()}/smaps").read_text()
            mapping = re.search(r"^\S+ r--s .*/big\.bloom\n((?:[A-Z].*\n)*)", smaps, re.M)
            self.assertIsNotNone(mapping, "no shared read-only mapping")
            pages.append(dict(re.findall(r"^(\w+): +(\d+) kB$", mapping[1], re.M)))
        self.assertEqual(pages[1]["Private_Dirty"], "0")
        self.assertLess(int(pages[1]["Pss"]), int(pages[1]["Rss"]) * 3 // 4)

    def test_the_next_statement_sees_a_replaced_file(self):
        export(self.admin, "turn.bloom", integers(1, 1000))
        session = self.session()
        both = "SELECT bloom_contains('turn.bloom', 5), bloom_contains('turn.bloom', 5005)"
        self.assertEqual(session.sql(both), "t|f")
        export(self.admin, "turn.bloom", integers(5001, 6000))
        self.assertEqual(session.sql(both), "f|t")
        os.unlink(FOLDER / "turn.bloom")
        self.assertIn("No such file or directory", session.sql(both))
        export(self.admin, "turn.bloom", integers(1, 1000))
        self.assertEqual(session.sql(both), "t|f")

    def test_a_transaction_of_a_procedure_sees_a_replaced_file(self):
        export(self.admin, "turn.bloom", integers(1, 1000))
        export(self.admin, "next.bloom", integers(5001, 6000))
        session = self.session()
        session.sql(f"""CREATE PROCEDURE watch() LANGUAGE plpgsql AS $$ BEGIN
            RAISE NOTICE '%', bloom_contains('turn.bloom', 5005);
            COPY (SELECT 1 WHERE false) TO PROGRAM 'mv {FOLDER}/next.bloom {FOLDER}/turn.bloom';
            RAISE NOTICE '%', bloom_contains('turn.bloom', 5005);
            COMMIT;
            RAISE NOTICE '%', bloom_contains('turn.bloom', 5005); END $$""")
        self.assertEqual(re.findall("NOTICE: +(.)", session.sql("CALL watch()")), ["f", "f", "t"])

    def test_a_statement_keeps_its_file(self):
        export(self.admin, "turn.bloom", integers(1, 1000))
        session = self.session()
        # Row 35 names a new file, while the session's list of files is full and turn.bloom is the oldest.
        for i in range(32):
            (FOLDER / f"turn{i}").write_bytes((FOLDER / "turn.bloom").read_bytes())
        session.sql("SELECT bloom_contains('turn.bloom', 5)")
        session.sql("SELECT count(bloom_contains('turn' || i, 5)) FROM generate_series(1, 31) i")
        running = threading.Event()

        def replace():
            running.wait()
            time.sleep(0.3)
            export(self.admin, "turn.bloom", integers(5001, 6000))

        thread = threading.Thread(target=replace)
        thread.start()
        running.set()
        answers = session.sql("SELECT bool_and(bloom_contains(CASE k WHEN 35 THEN 'turn0' ELSE 'turn.bloom' END, 5)) FROM generate_series(1, 40) k, "
                              "LATERAL (SELECT pg_sleep(0.02 + 0 * k)) s")
        thread.join()
        self.assertEqual(answers, "t")
        self.assertEqual(session.sql("SELECT bloom_contains('turn.bloom', 5)"), "f")

    def test_links_and_pipes_are_refused(self):
        session = self.session()
        os.symlink("/etc/passwd", FOLDER / "link")
        self.assertRegex(session.sql("SELECT bloom_contains('link', 7)"), "link: symbolic links are refused\n.*ELOOP")
        self.assertEqual(session.sql("\\echo :SQLSTATE"), "42501;")
        os.symlink("big.bloom", FOLDER / "inner")
        self.assertIn("ELOOP", session.sql("SELECT bloom_contains('inner', 7)"))
        os.mkfifo(FOLDER / "pipe")
        self.assertIn("ENOTREGULAR", session.sql("SELECT bloom_contains('pipe', 7)"))

    def test_a_cached_name_cannot_become_a_link(self):
        export(self.admin, "turn.bloom", integers(1, 1000))
        session = self.session()
        self.assertEqual(session.sql("SELECT bloom_contains('turn.bloom', 5)"), "t")
        os.unlink(FOLDER / "turn.bloom")
        os.symlink("big.bloom", FOLDER / "turn.bloom")
        self.assertIn("ELOOP", session.sql("SELECT bloom_contains('turn.bloom', 5)"))
        os.unlink(FOLDER / "turn.bloom")

    def test_a_user_cannot_set_the_folder_before_the_library_is_loaded(self):
        self.admin.sql("CREATE ROLE guest LOGIN")
        session = self.session(PGUSER="guest", PGDATABASE="postgres")
        session.sql("SET bloomfile.directory = '/etc'")
        self.assertIn("WARNING", session.sql("SELECT bloom_contains('big.bloom', 7)"))
        self.assertEqual(session.sql("SELECT bloom_contains('big.bloom', 7)"), "t")
        self.assertIn("No such file", session.sql("SELECT bloom_contains('passwd', 7)"))

    def test_errors_and_many_files_leave_no_handle_open(self):
        session = self.session()
        export(self.admin, "zero.bloom", integers(1, 10))
        for i in range(100):
            (FOLDER / f"copy{i}").write_bytes((FOLDER / "zero.bloom").read_bytes())
        for _ in range(3):
            for i in range(100):
                session.sql(f"SELECT bloom_contains('copy{i}', 'text'), 1")
                self.assertEqual(session.sql(f"SELECT bloom_contains('copy{i}', 7)"), "t")
            for _ in range(50):
                session.sql("SELECT bloom_contains('PG_VERSION', 7)")
                session.sql("SELECT bloom_contains(bloom_build(k), 'x') FROM generate_series(1, 3) k")
                session.sql("SELECT 1 / (k - 3), bloom_build(k) OVER (ORDER BY k) FROM generate_series(1, 3) k")
        process = pathlib.Path(f"/proc/{session.pid()}")
        self.assertLessEqual(process.joinpath("maps").read_text().count(str(FOLDER)), 32)
        opened = [os.readlink(fd) for fd in process.joinpath("fd").iterdir() if fd.exists()]
        self.assertFalse([name for name in opened if str(FOLDER) in name])

    def test_memory_stays_bounded_over_many_statements(self):
        session = self.session()
        session.sql("CREATE TEMP TABLE f AS " + integers(1, 100000))

        def resident():
            for _ in range(100):
                session.sql("SELECT count(*) FROM f, generate_series(1, 100) k WHERE bloom_contains(bloom_build, k)")
                session.sql("SELECT length(bloom_build(k)) FROM generate_series(1, 20000) k")
                session.sql("SELECT bloom_contains(bloom_build, 'x') FROM f")
            status = pathlib.Path(f"/proc/{session.pid()}/status").read_text()
            return int(re.search(r"RssAnon:\s+(\d+)", status)[1])

        before = resident()
        self.assertLess(resident(), before + 2000)

    def test_a_build_can_be_cancelled(self):
        session = self.session()
        session.sql("SET statement_timeout = '300ms'")
        self.assertIn("canceling statement", session.sql(integers(1, 30000000)))
        session.sql("RESET statement_timeout")
        self.assertEqual(session.sql("SELECT 1"), "1")

    def test_spilled_keys_leave_no_files(self):
        session = self.session()
        session.sql("SET work_mem = '64kB'")
        self.assertEqual(session.sql("SELECT bloom_info(bloom_build(k)) -> 'n' FROM generate_series(1, 500000) k"), "500000")
        self.assertEqual(session.sql("SELECT count(*) FROM pg_ls_tmpdir()"), "0")

    def test_spilled_and_resident_builds_are_equal(self):
        session = self.session()
        build = "SELECT md5(bloom_build(k::text)) FROM generate_series(1, 300000) k"
        resident = session.sql("SET work_mem = '64MB'; " + build)
        self.assertEqual(session.sql("SET work_mem = '64kB'; " + build), resident)

    def test_parallel_workers_give_the_same_answers(self):
        session = self.session()
        session.sql("CREATE TABLE rows AS SELECT k FROM generate_series(1, 200000) k; ANALYZE rows")
        session.sql("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0")
        query = "SELECT count(*) FROM rows WHERE bloom_contains('big.bloom', k)"
        self.assertIn("Parallel Seq Scan", session.sql("EXPLAIN " + query))
        self.assertEqual(session.sql(query), "200000")

    def test_text_keys_are_utf8_in_every_database(self):
        self.admin.sql("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        export(self.admin, "text.bloom", "SELECT bloom_build(k) FROM (VALUES ('Plüm')) v(k)")
        latin = self.session(PGDATABASE="latin", PGCLIENTENCODING="UTF8")
        latin.sql("CREATE EXTENSION bloomfile")
        self.assertEqual(latin.sql("SELECT bloom_contains('text.bloom', 'Plüm'), bloom_contains('text.bloom', 'Plum')"), "t|f")
        export(self.admin, "é.bloom", "SELECT bloom_build(k) FROM (VALUES ('Plüm')) v(k)")
        self.assertEqual(latin.sql("SELECT bloom_contains('é.bloom', 'Plüm'), bloom_info('é.bloom') -> 'n'"), "t|1")
        self.assertEqual(latin.sql("SELECT bloom_contains(bloom_build(k), convert_to('Plüm', 'UTF8')) FROM (VALUES ('Plüm')) v(k)"), "t")

    def test_readme_commands_print_the_shown_output(self):
        text = (pathlib.Path(__file__).parent / "README.md").read_text(encoding="utf-8")
        statements = re.search(r"^```sql\n(.*?)^```$", text, re.M | re.S)[1]
        printed = re.search(r"^```text\n(.*?)^```$", text, re.M | re.S)[1]
        session = self.session()
        session.sql("SET search_path = pg_temp, public")  # so that its tables do not stay
        self.assertEqual(session.sql(statements) + "\n", printed)

    def test_a_file_overwritten_in_place_is_opened_again(self):
        export(self.admin, "turn.bloom", integers(1, 1000))
        session = self.session()
        self.assertEqual(session.sql("SELECT bloom_contains('turn.bloom', 5)"), "t")
        with open(FOLDER / "turn.bloom", "r+b") as file:
            file.seek(600)
            byte = file.read(1)[0]
            file.seek(600)
            file.write(bytes([byte ^ 1]))
        self.assertIn("BLOOMFILE_EPAGE", session.sql("SELECT bloom_contains('turn.bloom', 5)"))


if __name__ == "__main__":
    unittest.main()
