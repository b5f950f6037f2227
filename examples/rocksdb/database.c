/* SPDX-License-Identifier: MIT
 *
 * A RocksDB database and its column families, opened for writing or reading. */
#include "database.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LOG_ERRORS_ONLY = 3 /* RocksDB's InfoLogLevel */
};

static const char *const set_names[DATABASE_SETS] = { "set-a", "set-b" };

const char *database_set_name(unsigned set)
{
    return set_names[set];
}

static bool has_name(char *const *names, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i < count;
}

/* RocksDB opens column families by name. A writer must open all of them: a foreign family is an
 * error that RocksDB reports. */
static void open_families(struct database *d, char *const *there, size_t count, bool writing,
                          char **error)
{
    const char *names[1 + DATABASE_SETS] = { "default" };
    const rocksdb_options_t *options[1 + DATABASE_SETS] = { d->options, d->options, d->options };
    rocksdb_column_family_handle_t *handles[1 + DATABASE_SETS];
    unsigned sets[1 + DATABASE_SETS];
    int n = 1;
    for (unsigned set = 0; set < DATABASE_SETS; set++)
        if (has_name(there, count, set_names[set])) {
            sets[n] = set;
            names[n++] = set_names[set];
        }
    d->db = writing ? rocksdb_open_column_families(d->options, d->path, n, names, options, handles,
                                                   error)
                    : rocksdb_open_for_read_only_column_families(d->options, d->path, n, names,
                                                                 options, handles, 0, error);
    if (*error != NULL)
        return;
    d->records = handles[0];
    for (int i = 1; i < n; i++)
        d->rows[sets[i]] = handles[i];
}

static bool exists(const char *path)
{
    char *current = join(path, "/", "CURRENT");
    const bool there = access(current, F_OK) == 0 || errno != ENOENT;
    free(current);
    return there;
}

struct database database_open(const char *path)
{
    struct database d = { .path = path, .options = rocksdb_options_create() };
    char *error = NULL, **names = NULL;
    size_t count = 0;
    rocksdb_options_set_create_if_missing(d.options, 1);
    /* RocksDB may abort if it cannot write to its LOG, so a full disk would not be reported. */
    rocksdb_options_set_info_log_level(d.options, LOG_ERRORS_ONLY);
    if (exists(path))
        names = rocksdb_list_column_families(d.options, path, &count, &error);
    check_engine(error, "open", path);
    open_families(&d, names, count, true, &error);
    check_engine(error, "open", path);
    if (names != NULL)
        rocksdb_list_column_families_destroy(names, count);
    return d;
}

/* Tries again, because between the two calls an ingestion may drop a column family or a file. */
struct database database_open_reading(const char *path)
{
    struct database d = { .path = path, .options = rocksdb_options_create() };
    char *error = NULL;
    unsigned tries = 0;
    do {
        size_t count;
        rocksdb_free(error);
        error = NULL;
        char **names = rocksdb_list_column_families(d.options, path, &count, &error);
        if (error == NULL)
            open_families(&d, names, count, false, &error);
        rocksdb_list_column_families_destroy(names, count);
    } while (error != NULL && tries++ < 5 && exists(path));
    check_engine(error, "open", path);
    return d;
}

void database_create_rows(struct database *d, unsigned set)
{
    char *error = NULL;
    d->rows[set] = rocksdb_create_column_family(d->db, d->options, set_names[set], &error);
    check_engine(error, "make a column family in", d->path);
}

void database_drop_rows(struct database *d, unsigned set)
{
    char *error = NULL;
    rocksdb_drop_column_family(d->db, d->rows[set], &error);
    check_engine(error, "drop a column family of", d->path);
    rocksdb_column_family_handle_destroy(d->rows[set]);
    d->rows[set] = NULL;
}

void database_close(struct database *d)
{
    for (unsigned set = 0; set < DATABASE_SETS; set++)
        if (d->rows[set] != NULL)
            rocksdb_column_family_handle_destroy(d->rows[set]);
    rocksdb_column_family_handle_destroy(d->records);
    rocksdb_close(d->db);
    rocksdb_options_destroy(d->options);
}
