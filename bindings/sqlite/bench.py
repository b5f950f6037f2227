# SPDX-License-Identifier: MIT
"""Measures lookups of keys that are not in a set, with and without a filter. `test --bench ROWS` runs it."""
import os
import pathlib
import sqlite3
import sys
import tempfile
import time

ROWS = int(sys.argv[1])
NUMBERS = f"WITH RECURSIVE s(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM s WHERE x < {ROWS}) "
MIXED = "(x * 2654435761 % 4294967296)"  # different for different x, in no order
QUERIES = {
    "no condition": "",
    "NOT IN, no index": "WHERE k NOT IN (SELECT k FROM plain)",
    "NOT IN, index": "WHERE k NOT IN (SELECT k FROM seen)",
    "NOT EXISTS, index": "WHERE NOT EXISTS (SELECT 1 FROM seen WHERE seen.k = new.k)",
    "EXCEPT": "WHERE k IN (SELECT k FROM new EXCEPT SELECT k FROM plain)",
    "filter in a file": "WHERE NOT bloom_contains(bloom_file('seen.bloom'), k)",
    "filter in a parameter": "WHERE NOT bloom_contains(:image, k)",
    "filter, then index": "WHERE NOT (bloom_contains(bloom_file('seen.bloom'), k) AND EXISTS (SELECT 1 FROM seen WHERE seen.k = new.k))",
}


def measure(db, label, sql, **parameters):
    """Prints the best processor time of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        result = db.execute(sql, parameters).fetchone()[0]
        times.append(time.process_time() - start)
    print(f"| {label} | {min(times) / ROWS * 1e9:.0f} |")
    return result


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BLOOMFILE_DIRECTORY"] = folder
        db = sqlite3.connect(os.path.join(folder, "bench.db"))
        db.enable_load_extension(True)
        db.load_extension(os.environ["BLOOMFILE_EXTENSION"])
        db.executescript(f"""
            PRAGMA cache_size = -1000000;
            CREATE TABLE new AS {NUMBERS} SELECT 'https://site.example/' || {MIXED} AS k FROM s;
            CREATE TABLE plain AS {NUMBERS} SELECT 'https://site.example/' || (-{MIXED}) AS k FROM s;
            CREATE TABLE seen (k TEXT PRIMARY KEY) WITHOUT ROWID;
            INSERT INTO seen SELECT k FROM plain;""")
        print(f"{ROWS} rows, none of them in a set of {ROWS} keys\n\n| query | ns of processor time a row |\n|---|---:|")
        image = measure(db, "build: bloom_build(k)", "SELECT bloom_build(k) FROM plain")
        pathlib.Path(folder, "seen.bloom").write_bytes(image)
        for label, where in QUERIES.items():
            measure(db, label, f"SELECT count(*) FROM new {where}", **({"image": image} if ":image" in where else {}))
        table, = db.execute("SELECT sum(pgsize) FROM dbstat WHERE name = 'seen'").fetchone()
        print(f"\nfilter {len(image)} bytes, table with its index {table} bytes")


if __name__ == "__main__":
    main()
