# SPDX-License-Identifier: MIT
"""Measures lookups of keys that are not in a set, with and without a filter. `test --bench ROWS` runs it."""
import os
import pathlib
import sys

from sessions import FOLDER, Session, export

ROWS = int(sys.argv[1])
ANTI = "SELECT count(*) FROM new WHERE NOT EXISTS (SELECT FROM seen WHERE seen.k = new.k)"
WHERE = "SELECT count(*) FROM new WHERE NOT "
QUERIES = {
    "no condition": ("", "SELECT count(k) FROM new"),
    "NOT IN, hashed": ("SET work_mem = '1GB'", WHERE + "k IN (SELECT k FROM seen)"),
    "hash anti-join": ("SET work_mem = '1GB'", ANTI),
    "hash anti-join, work_mem 4MB": ("SET work_mem = '4MB'", ANTI),
    "index anti-join": ("SET enable_hashjoin = off; SET enable_mergejoin = off", ANTI),
    "filter in a file": ("", WHERE + "bloom_contains('seen.bloom', k)"),
    "filter in a table": ("", WHERE + "bloom_contains((SELECT image FROM filters), k)"),
    "filter of a CTE": ("", "WITH b AS MATERIALIZED (SELECT image || ''::bytea AS image FROM filters) "
                        "SELECT count(*) FROM b, new WHERE NOT bloom_contains(b.image, k)"),
    "filter, then index": ("", WHERE + "(bloom_contains('seen.bloom', k) AND EXISTS (SELECT FROM seen WHERE seen.k = new.k))"),
}


def run(session, statement):
    answer = session.sql(statement)
    if "ERROR:" in answer:
        raise RuntimeError(f"{statement}: {answer}")
    return answer


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_statement(label, statement, count=5000):
    """Prints the processor time of a short statement of its own."""
    session = Session()
    pid = session.pid()
    run(session, statement)
    start = processor_seconds(pid)
    session.sql(";\n".join([statement] * count))
    print(f"| {label} | {(processor_seconds(pid) - start) / count * 1e9:.0f} |", flush=True)
    session.close()


def measure(label, setting, query, rows=ROWS):
    """Prints the best processor time of three runs."""
    session = Session()
    pid = session.pid()
    session.sql("SET max_parallel_workers_per_gather = 0; SET jit = off")
    session.sql(setting or "SELECT 1")
    times = []
    for _ in range(3):
        start = processor_seconds(pid)
        run(session, query)
        times.append(processor_seconds(pid) - start)
    session.close()
    print(f"| {label} | {min(times) / rows * 1e9:.0f} |", flush=True)


def main():
    FOLDER.mkdir(exist_ok=True)
    admin = Session()
    keys = f"SELECT 'https://site.example/' || %s(x * 2654435761 %% 4294967296) AS k FROM generate_series(1::bigint, {ROWS}) x"
    for statement in ("CREATE EXTENSION bloomfile", "CREATE TABLE new AS " + keys % "", "CREATE TABLE seen AS " + keys % "-",
                      "CREATE UNIQUE INDEX ON seen (k)", "CREATE TABLE filters AS SELECT bloom_build(k) AS image FROM seen",
                      "VACUUM ANALYZE", f"ALTER SYSTEM SET bloomfile.directory = '{FOLDER}'", "SELECT pg_reload_conf()"):
        run(admin, statement)
    export(admin, "seen.bloom", "SELECT image FROM filters")
    print(f"{ROWS} rows, none of them in a set of {ROWS} keys\n\n| query | ns of processor time a row |\n|---|---:|")
    measure("build: bloom_build(k)", "SET work_mem = '256MB'", "SELECT length(bloom_build(k)) FROM seen")
    measure("build, work_mem 4MB", "", "SELECT length(bloom_build(k)) FROM seen")
    for label, (setting, query) in QUERIES.items():
        measure(label, setting, query)
    print("\n| statement of its own | ns |\n|---|---:|")
    measure_statement("constant", "SELECT 'seen.bloom' = 'x'")
    measure_statement("filter in a file", "SELECT bloom_contains('seen.bloom', 'x')")
    measure_statement("index", "SELECT EXISTS (SELECT FROM seen WHERE k = 'x')")
    print("\nbytes of the filter, the index:", admin.sql("SELECT length(image), pg_relation_size('seen_k_idx') FROM filters"))


if __name__ == "__main__":
    main()
