/* SPDX-License-Identifier: MIT
 *
 * A reader. If the filter cannot be used, it prints a warning and looks every key up in RocksDB.
 */
#include "database.h"
#include "guard.h"

#include <bloomfile_inspect.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct database database;
    struct record record;
    struct guard guard;
    char *filter_path;
    bool damage_reported;
    bool found;
};

static void report(const struct reader *r, const char *why)
{
    warnx("cannot use %s: %s; RocksDB is asked about every key", r->filter_path, why);
}

/* RocksDB lists the column families before it opens some of them. In between, an ingestion may make
 * rows current whose family was not listed. Then the database is opened again. */
static void open_database(struct reader *r, const char *path)
{
    for (unsigned tries = 0; tries < 5; tries++) {
        r->database = database_open_reading(path);
        r->record = record_read(&r->database);
        if (!r->record.is_there)
            errx(2, "cannot use %s: no set has been ingested", path);
        if (r->database.rows[r->record.set] != NULL)
            return;
        database_close(&r->database);
    }
    errx(2, "cannot use %s: the column family %s is missing; ingest the set again", path,
         database_set_name(r->record.set));
}

static struct reader open_reader(const char *path)
{
    struct reader r = { .filter_path = filter_path(path) };
    open_database(&r, path);
    r.guard = (struct guard){ .db = r.database.db,
                              .rows = r.database.rows[r.record.set],
                              .options = rocksdb_readoptions_create() };
    const char *why = "rows were written to the database after the set was ingested";
    if (r.record.holds)
        r.guard.filter = guard_open(r.filter_path, r.record.identity.bytes, &why);
    if (r.guard.filter == NULL)
        report(&r, why);
    return r;
}

static void close_reader(struct reader *r)
{
    bloomfile_close(r->guard.filter);
    free(r->filter_path);
    rocksdb_readoptions_destroy(r->guard.options);
    database_close(&r->database);
}

/* Prints and releases the value. It is NULL if the key is absent. */
static void answer(struct reader *r, const struct bloomfile_key *key,
                   rocksdb_pinnableslice_t *value, char *error)
{
    size_t size;
    check_engine(error, "read", r->database.path);
    if (value == NULL)
        return;
    const char *data = rocksdb_pinnableslice_value(value, &size);
    row_print(&(struct row){ *key, { data, size }, 0 });
    rocksdb_pinnableslice_destroy(value);
    r->found = true;
}

/* A damaged page answers "maybe" instead of "no", so nothing is lost. */
static void report_damage(struct reader *r)
{
    const int damage = guard_confirm(&r->guard);
    if (damage == BLOOMFILE_ECHANGED)
        errx(2, "%s was overwritten during the query; results may be wrong: run it again",
             r->filter_path);
    if (damage == 0 || r->damage_reported)
        return;
    r->damage_reported = true;
    warnx("%s is damaged: %s; RocksDB is asked about the keys concerned", r->filter_path,
          bloomfile_strerror(damage));
}

/* Looks up one key alone, or at most GUARD_BATCH keys in a batch. */
static void ask(struct reader *r, const struct row *rows, size_t count)
{
    struct bloomfile_key keys[GUARD_BATCH];
    rocksdb_pinnableslice_t *values[GUARD_BATCH];
    char *errors[GUARD_BATCH] = { NULL };
    for (size_t i = 0; i < count; i++)
        keys[i] = rows[i].key;
    if (count == 1)
        values[0] = guard_get(&r->guard, keys[0].data, keys[0].size, errors);
    else
        guard_get_many(&r->guard, keys, count, values, errors);
    report_damage(r);
    for (size_t i = 0; i < count; i++)
        answer(r, &keys[i], values[i], errors[i]);
}

bool get_rows(const char *database, char *const *arguments)
{
    struct rows keys = keys_read(arguments);
    struct reader r = open_reader(database);
    for (size_t i = 0, count; i < keys.count; i += count) {
        count = keys.count - i < GUARD_BATCH ? keys.count - i : GUARD_BATCH;
        ask(&r, &keys.row[i], count);
    }
    close_reader(&r);
    rows_free(&keys);
    return r.found;
}

bool print_status(const char *database)
{
    struct reader r = open_reader(database);
    char identity[IDENTITY_DIGITS + 1];
    identity_print(&r.record.identity, identity);
    const bool used = r.guard.filter != NULL;
    printf("set      %s\nfamily   %s\nfilter   %s\n", identity, database_set_name(r.record.set),
           used ? "in use" : "not in use");
    if (used) {
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        bloomfile_get_info(r.guard.filter, &info);
        printf("keys     %" PRIu64 "\nbytes    %" PRIu64 "\n", info.keys, info.image_size);
    }
    close_reader(&r);
    return used;
}
