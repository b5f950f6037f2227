/* SPDX-License-Identifier: MIT
 *
 * The batch job. What matters here is in add_row(): the pass that writes a row to its SST file
 * gives its key to the builder, and all of it to the identity.
 */
#include "set_write.h"
#include "manifest.h"
#include "trouble.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <rocksdb/c.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder while it has no final name, removed at exit. */
static char *unfinished;
static unsigned files_begun;

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    stopped = number;
}

static void remove_file(char *path)
{
    unlink(path);
    free(path);
}

static void remove_unfinished(void)
{
    if (unfinished == NULL)
        return;
    while (files_begun > 0)
        remove_file(manifest_file(unfinished, --files_begun));
    remove_file(join(unfinished, "/", SET_FILTER));
    remove_file(join(unfinished, "/", MANIFEST));
    rmdir(unfinished);
    free(unfinished);
}

/* The program ends by itself, so that it can clean up. */
static void catch_signals(void)
{
    static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
    const struct sigaction action = { .sa_handler = stop };
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (sigaction(ends[i], &action, NULL) == -1)
            err(2, "cannot prepare to clean up");
}

static void begin_folder(const char *folder)
{
    struct stat status;
    if (lstat(folder, &status) == 0)
        errx(2, "cannot create %s: %s", folder, strerror(EEXIST));
    if (atexit(remove_unfinished) != 0)
        errx(2, "cannot prepare to clean up");
    catch_signals();
    char *name = join(folder, ".", "XXXXXX");
    const mode_t mask = umask(0);
    umask(mask);
    if (mkdtemp(name) == NULL || chmod(name, 0777 & ~mask) == -1)
        err(2, "cannot create %s", folder);
    unfinished = name;
}

static void sync_folder(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1 || fsync(fd) == -1)
        err(2, "cannot write %s to disk", path);
    close(fd);
}

static void name_folder(const char *folder)
{
    sync_folder(unfinished);
    if (rename(unfinished, folder) == -1)
        err(2, "cannot create %s", folder);
    free(unfinished);
    unfinished = NULL;
    char *copy = join(folder, "", "");
    sync_folder(dirname(copy));
    free(copy);
}

struct writer {
    rocksdb_sstfilewriter_t *sst;
    bloomfile_builder *keys;
    struct identity_maker *identity;
    char *path;
    bool is_open;
};

static void open_file(struct writer *w)
{
    char *error = NULL;
    w->path = manifest_file(unfinished, files_begun++);
    rocksdb_sstfilewriter_open(w->sst, w->path, &error);
    check_rocksdb(error, "create", w->path);
    w->is_open = true;
}

/* RocksDB syncs the file. */
static void end_file(struct writer *w)
{
    char *error = NULL;
    rocksdb_sstfilewriter_finish(w->sst, &error);
    check_rocksdb(error, "write", w->path);
    free(w->path);
    w->is_open = false;
}

static void add_row(struct writer *w, const struct row *row)
{
    char *error = NULL;
    rocksdb_sstfilewriter_put(w->sst, row->key.data, row->key.size, row->value.data,
                              row->value.size, &error);
    check_rocksdb(error, "write", w->path);
    check_bloomfile(bloomfile_builder_add(w->keys, row->key.data, row->key.size), "add a key to",
                    SET_FILTER);
    identity_add(w->identity, &row->key, &row->value);
}

static void write_files(struct writer *w, const struct rows *rows, uint64_t file_bytes)
{
    for (const struct row *row = rows->row; row < rows->row + rows->count; row++) {
        uint64_t size;
        if (stopped)
            errx(2, "stopped by a signal: %s", strsignal(stopped));
        if (!w->is_open)
            open_file(w);
        add_row(w, row);
        rocksdb_sstfilewriter_file_size(w->sst, &size);
        if (size >= file_bytes)
            end_file(w);
    }
    if (w->is_open)
        end_file(w);
}

static bloomfile_builder *new_builder(double fpr)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.fpr = fpr;
    params.label = "keys of a shipped set";
    bloomfile_builder *builder;
    check_bloomfile(bloomfile_builder_new(&builder, &params), "begin", SET_FILTER);
    return builder;
}

static void write_filter(bloomfile_builder *keys, const struct identity *identity)
{
    bloomfile_builder_set_tag(keys, identity->bytes);
    char *path = join(unfinished, "/", SET_FILTER);
    check_bloomfile(bloomfile_builder_finish(keys, path, 0), "write", path);
    free(path);
}

void set_write(const char *folder, const struct rows *rows, uint64_t file_bytes, double fpr)
{
    rocksdb_envoptions_t *environment = rocksdb_envoptions_create();
    rocksdb_options_t *options = rocksdb_options_create();
    struct writer w = { .sst = rocksdb_sstfilewriter_create(environment, options),
                        .keys = new_builder(fpr),
                        .identity = identity_begin() };
    begin_folder(folder);
    write_files(&w, rows, file_bytes);
    const struct identity identity = identity_end(w.identity);
    write_filter(w.keys, &identity);
    manifest_write(unfinished, &(struct manifest){ identity, rows->count, files_begun });
    name_folder(folder);

    bloomfile_builder_free(w.keys);
    rocksdb_sstfilewriter_destroy(w.sst);
    rocksdb_options_destroy(options);
    rocksdb_envoptions_destroy(environment);
}
