/* SPDX-License-Identifier: MIT
 *
 * Ingestion on the server. The order of the steps in ingest_set() makes it safe: rows, proof,
 * filter, record, and then removal of the old rows.
 */
#include "database.h"
#include "guard.h"

#include <bloomfile_live.h>
#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *filter_path(const char *database)
{
    char *folder = join(database, "", "");
    for (size_t size = strlen(folder); size > 1 && folder[size - 1] == '/'; size--)
        folder[size - 1] = '\0';
    const char *slash = strrchr(folder, '/'), *name = slash == NULL ? folder : slash + 1;
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        errx(2, "cannot use %s: call the database by its name, beside which its filter is",
             database);
    char *path = join(folder, ".", "bloom");
    free(folder);
    return path;
}

static bloomfile_filter *open_filter(const char *folder, const struct identity *identity)
{
    const char *why;
    char *path = join(folder, "/", SET_FILTER);
    bloomfile_filter *filter = guard_open(path, identity->bytes, &why);
    if (filter == NULL)
        errx(2, "cannot use %s: %s; ship the set again", path, why);
    free(path);
    return filter;
}

static void ingest_files(struct database *d, unsigned set, const char *folder, unsigned count)
{
    char *error = NULL, **paths = not_null(calloc(count, sizeof *paths));
    for (unsigned i = 0; i < count; i++)
        paths[i] = set_file(folder, i);
    rocksdb_ingestexternalfileoptions_t *options = rocksdb_ingestexternalfileoptions_create();
    rocksdb_ingest_external_file_cf(d->db, d->rows[set], (const char *const *)paths, count, options,
                                    &error);
    check_engine(error, "ingest", folder);
    rocksdb_ingestexternalfileoptions_destroy(options);
    for (unsigned i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}

struct proof {
    struct identity identity;
    uint64_t missing; /* rows whose keys are not in the filter */
};

static struct proof read_back(const struct database *d, unsigned set,
                              const bloomfile_filter *filter)
{
    struct proof proof = { .missing = 0 };
    struct identity_maker *maker = identity_begin();
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_fill_cache(options, 0);
    rocksdb_iterator_t *at = rocksdb_create_iterator_cf(d->db, options, d->rows[set]);
    for (rocksdb_iter_seek_to_first(at); rocksdb_iter_valid(at); rocksdb_iter_next(at)) {
        struct bloomfile_key key, value;
        key.data = rocksdb_iter_key(at, &key.size);
        value.data = rocksdb_iter_value(at, &value.size);
        identity_add(maker, &key, &value);
        proof.missing += !bloomfile_contains(filter, key.data, key.size);
    }
    char *error = NULL;
    rocksdb_iter_get_error(at, &error);
    check_engine(error, "read", d->path);
    rocksdb_iter_destroy(at);
    rocksdb_readoptions_destroy(options);
    proof.identity = identity_end(maker);
    return proof;
}

/* A copy that was cut off or mixed with another set's files must not get a record. So the rows in
 * RocksDB are compared with those of the batch job, and with the filter. */
static void prove(const struct database *d, unsigned set, const struct identity *identity,
                  const bloomfile_filter *filter, const char *folder)
{
    const struct proof proof = read_back(d, set, filter);
    if (memcmp(&proof.identity, identity, sizeof *identity) != 0)
        errx(2,
             "cannot use %s: its files have other rows than its " MANIFEST " says; ship the set "
             "again",
             folder);
    if (proof.missing != 0)
        errx(2, "cannot use %s: its filter lacks %" PRIu64 " of its keys; ship the set again",
             folder, proof.missing);
}

/* Copies and verifies the filter. The copy appears complete or not at all. */
static void publish_filter(const bloomfile_filter *filter, const char *path)
{
    struct bloomfile_destination to = bloomfile_to_path(path, BLOOMFILE_TO_REPLACE);
    check_bloomfile(bloomfile_copy_sealed(&to, filter, NULL), "write", path);
}

static unsigned other_set(unsigned set)
{
    return (set + 1) % DATABASE_SETS;
}

/* Ingests the rows even if the database already has the set, because its files may be damaged. */
static unsigned ingest_rows(struct database *d, const struct record *current, const char *folder,
                            const struct manifest *manifest)
{
    const unsigned set = current->is_there ? other_set(current->set) : 0;
    if (d->rows[set] != NULL) /* left by an unfinished ingestion */
        database_drop_rows(d, set);
    database_create_rows(d, set);
    ingest_files(d, set, folder, manifest->files);
    return set;
}

void ingest_set(const char *folder, const char *database)
{
    char *path = filter_path(database);
    const struct manifest manifest = manifest_read(folder);
    bloomfile_filter *filter = open_filter(folder, &manifest.identity);
    struct database d = database_open(database);
    const struct record current = record_read(&d);
    const unsigned set = ingest_rows(&d, &current, folder, &manifest);
    prove(&d, set, &manifest.identity, filter, folder);
    publish_filter(filter, path);
    record_write(&d, &manifest.identity, set);
    if (d.rows[other_set(set)] != NULL)
        database_drop_rows(&d, other_set(set));
    database_close(&d);
    bloomfile_close(filter);
    free(path);
}
