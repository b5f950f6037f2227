/* SPDX-License-Identifier: MIT
 *
 * The database's record of its rows, and the check that it still holds. */
#include "database.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "shipped set"

static void print_files(FILE *out, const struct database *d, unsigned set)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(d->db);
    for (int i = 0; i < rocksdb_livefiles_count(files); i++)
        if (strcmp(rocksdb_livefiles_column_family_name(files, i), database_set_name(set)) == 0)
            fprintf(out, " %s", rocksdb_livefiles_name(files, i));
    rocksdb_livefiles_destroy(files);
}

/* The record that fits the present rows, from malloc(). */
static char *describe(const struct database *d, const struct identity *identity, unsigned set)
{
    char *text, digits[IDENTITY_DIGITS + 1];
    size_t size;
    identity_print(identity, digits);
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        err(2, "cannot list the files of %s", d->path);
    fprintf(out, "%s %s", digits, database_set_name(set));
    print_files(out, d, set);
    if (fclose(out) != 0)
        err(2, "cannot list the files of %s", d->path);
    return text;
}

static bool has_unflushed_rows(const struct database *d, unsigned set)
{
    static const char *const properties[] = { "rocksdb.num-entries-active-mem-table",
                                              "rocksdb.num-entries-imm-mem-tables" };
    uint64_t sum = 0;
    for (unsigned i = 0; i < sizeof properties / sizeof properties[0]; i++) {
        uint64_t count;
        if (rocksdb_property_int_cf(d->db, d->rows[set], properties[i], &count) != 0)
            errx(2, "cannot ask %s for %s", d->path, properties[i]);
        sum += count;
    }
    return sum != 0;
}

static bool parse(const char *text, struct record *record)
{
    char name[16];
    if (!identity_parse(text, &record->identity) ||
        sscanf(text + IDENTITY_DIGITS, " %15s", name) != 1)
        return false;
    for (record->set = 0; record->set < DATABASE_SETS; record->set++)
        if (strcmp(name, database_set_name(record->set)) == 0)
            return true;
    return false;
}

static char *read_text(const struct database *d)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    char *error = NULL, *text = NULL;
    size_t size;
    char *value = rocksdb_get_cf(d->db, options, d->records, KEY, strlen(KEY), &size, &error);
    check_engine(error, "read", d->path);
    if (value != NULL && (text = strndup(value, size)) == NULL)
        err(2, "cannot read %s", d->path);
    rocksdb_free(value);
    rocksdb_readoptions_destroy(options);
    return text;
}

static bool is_as_now(const char *text, const struct database *d, const struct record *record)
{
    char *now = describe(d, &record->identity, record->set);
    const bool same = strcmp(text, now) == 0;
    free(now);
    return same && !has_unflushed_rows(d, record->set);
}

struct record record_read(const struct database *d)
{
    struct record record = { 0 };
    char *text = read_text(d);
    if (text == NULL)
        return record;
    if (!parse(text, &record))
        errx(2,
             "cannot use %s: its record of the set is not understood; ingest the set into a new "
             "database",
             d->path);
    record.is_there = true;
    record.holds = d->rows[record.set] != NULL && is_as_now(text, d, &record);
    free(text);
    return record;
}

void record_write(struct database *d, const struct identity *identity, unsigned set)
{
    rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    char *error = NULL, *text = describe(d, identity, set);
    rocksdb_writeoptions_disable_WAL(options, 1);
    rocksdb_put_cf(d->db, options, d->records, KEY, strlen(KEY), text, strlen(text), &error);
    check_engine(error, "write", d->path);
    rocksdb_flush_cf(d->db, flush, d->records, &error);
    check_engine(error, "write", d->path);
    free(text);
    rocksdb_flushoptions_destroy(flush);
    rocksdb_writeoptions_destroy(options);
}
