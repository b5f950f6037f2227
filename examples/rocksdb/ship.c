/* SPDX-License-Identifier: MIT
 *
 * The batch job. The important part is add_row(): in one pass, it writes a row to its SST file,
 * adds the key to the builder, and hashes the row into the identity.
 */
#include "set.h"

#include <err.h>
#include <rocksdb/c.h>
#include <stdlib.h>

struct writer {
    const char *folder;
    unsigned files;
    rocksdb_sstfilewriter_t *sst;
    bloomfile_builder *keys;
    struct identity_maker *identity;
    char *path; /* of the open SST file, or NULL */
};

static void begin_file(struct writer *w)
{
    char *error = NULL;
    w->path = set_file(w->folder, w->files++);
    rocksdb_sstfilewriter_open(w->sst, w->path, &error);
    check_engine(error, "create", w->path);
}

/* RocksDB syncs the file. */
static void end_file(struct writer *w)
{
    char *error = NULL;
    rocksdb_sstfilewriter_finish(w->sst, &error);
    check_engine(error, "write", w->path);
    free(w->path);
    w->path = NULL;
}

static void add_row(struct writer *w, const struct row *row)
{
    char *error = NULL;
    rocksdb_sstfilewriter_put(w->sst, row->key.data, row->key.size, row->value.data,
                              row->value.size, &error);
    check_engine(error, "write", w->path);
    check_bloomfile(bloomfile_builder_add(w->keys, row->key.data, row->key.size), "add a key to",
                    SET_FILTER);
    identity_add(w->identity, &row->key, &row->value);
}

static void write_files(struct writer *w, const struct rows *rows, uint64_t file_bytes)
{
    for (size_t i = 0; i < rows->count; i++) {
        uint64_t size;
        folder_check_signals();
        if (w->path == NULL)
            begin_file(w);
        add_row(w, &rows->row[i]);
        rocksdb_sstfilewriter_file_size(w->sst, &size);
        if (size >= file_bytes || i + 1 == rows->count)
            end_file(w);
    }
}

static bloomfile_builder *new_builder(uint32_t layout, double fpr)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = layout;
    params.fpr = fpr;
    params.label = "keys of a shipped set";
    bloomfile_builder *builder;
    check_bloomfile(bloomfile_builder_new(&builder, &params), "begin", SET_FILTER);
    return builder;
}

static void write_filter(struct writer *w, const struct identity *identity)
{
    char *path = join(w->folder, "/", SET_FILTER);
    bloomfile_builder_set_tag(w->keys, identity->bytes);
    struct bloomfile_destination to = bloomfile_to_path(path, 0);
    check_bloomfile(bloomfile_builder_write(w->keys, &to), "write", path);
    free(path);
}

/* Prints line numbers, because a key could contain control characters for the terminal. */
static void check_unique(const struct rows *rows, const char *path)
{
    for (size_t i = 1; i < rows->count; i++)
        if (key_compare(&rows->row[i - 1].key, &rows->row[i].key) == 0)
            errx(2, "cannot use %s: lines %zu and %zu have the same key", path,
                 rows->row[i - 1].line, rows->row[i].line);
}

void ship_set(const char *folder, const char *path, uint64_t file_bytes, uint32_t layout,
              double fpr)
{
    struct rows rows = rows_read(path);
    check_unique(&rows, path);
    if (rows.count == 0)
        errx(2, "cannot ship %s: it has no rows", path);
    rocksdb_envoptions_t *environment = rocksdb_envoptions_create();
    rocksdb_options_t *options = rocksdb_options_create();
    struct writer w = { .sst = rocksdb_sstfilewriter_create(environment, options),
                        .keys = new_builder(layout, fpr),
                        .identity = identity_begin(),
                        .folder = folder_begin(folder) };
    write_files(&w, &rows, file_bytes);
    const struct identity identity = identity_end(w.identity);
    write_filter(&w, &identity);
    manifest_write(w.folder, &(struct manifest){ identity, rows.count, w.files });
    folder_finish(folder);

    rows_free(&rows);
    bloomfile_builder_free(w.keys);
    rocksdb_sstfilewriter_destroy(w.sst);
    rocksdb_options_destroy(options);
    rocksdb_envoptions_destroy(environment);
}
