/* SPDX-License-Identifier: MIT
 *
 * Fuzzes live series, whose layers are files of one folder. The input changes the files of a valid
 * series, which grows, forgets, or is in use: it changes bytes, sizes and records, removes files,
 * and replaces one file by another, with correct checksums or not. The results for an open series
 * must agree with each other. A key that was added must be found, also after the series is opened
 * again, unless opening fails.
 */
#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "mend.h"
#include "open.h"
#include "target.h"

enum {
    FILES = 5, /* the most files of a series */
    KINDS = 3,
    KEYS = 20,
    NEW_KEYS = 3,
    EDIT = 6, /* bytes: file, what, offset in two bytes, number, value */
    LARGEST = 1 << 20
};

struct file {
    uint8_t *bytes; /* NULL if the file does not exist */
    size_t size;
};

struct series {
    struct file files[FILES];
};

static char folder[128];

static bloomfile_digest digest_of(uint64_t i)
{
    return (i + 1) * 0x9E3779B97F4A7C15u;
}

static const char *path_of(unsigned slot)
{
    static char paths[FILES][160];
    const int size = slot == 0 ? snprintf(paths[0], sizeof paths[0], "%s/s", folder)
                               : snprintf(paths[slot], sizeof paths[slot], "%s/s.%u", folder, slot);
    expect(size > 0 && size < (int)sizeof paths[0]);
    return paths[slot];
}

static void remove_files(void)
{
    for (unsigned i = 0; i < FILES; i++)
        expect(unlink(path_of(i)) == 0 || errno == ENOENT);
    for (unsigned i = FILES; i < 2 * FILES; i++) { /* layers that were added */
        char path[160];
        snprintf(path, sizeof path, "%s/s.%u", folder, i);
        expect(unlink(path) == 0 || errno == ENOENT);
    }
}

static void end(void)
{
    remove_files();
    rmdir(folder);
}

static struct series read_files(void)
{
    struct series s = { 0 };
    for (unsigned i = 0; i < FILES; i++) {
        struct stat st;
        const int fd = open(path_of(i), O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        expect(fstat(fd, &st) == 0);
        s.files[i].size = (size_t)st.st_size;
        s.files[i].bytes = malloc(s.files[i].size);
        expect(s.files[i].bytes != NULL);
        expect(read(fd, s.files[i].bytes, s.files[i].size) == (ssize_t)s.files[i].size);
        close(fd);
    }
    return s;
}

static void write_files(const struct series *s)
{
    for (unsigned i = 0; i < FILES; i++) {
        const struct file *file = &s->files[i];
        if (file->bytes == NULL)
            continue;
        const int fd = open(path_of(i), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        expect(fd >= 0 && write(fd, file->bytes, file->size) == (ssize_t)file->size);
        close(fd);
    }
}

static struct series make(unsigned kind)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_filter *f;
    params.capacity = 8;
    params.fpr = 0.01;
    params.series = kind == 1 ? 3 : BLOOMFILE_SERIES_GROW;
    params.layout = kind == 2 ? BLOOMFILE_LAYOUT_CLASSIC : BLOOMFILE_LAYOUT_BLOCKED;
    expect(bloomfile_create(&f, path_of(0), &params, 0) == 0);
    for (uint64_t i = 0; i < KEYS; i++)
        expect(bloomfile_add_digest(f, digest_of(i), NULL) == 0);
    struct series s;
    if (kind == 2)
        s = read_files(); /* the state after its writer is killed */
    bloomfile_close(f);
    if (kind != 2)
        s = read_files();
    remove_files();
    return s;
}

/* Limits the size of files, because changed bytes may demand huge layers. */
static void limit_files(void)
{
    const struct rlimit limit = { LARGEST, RLIM_INFINITY };
    expect(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static const struct series *sound(unsigned kind)
{
    static struct series all[KINDS];
    if (folder[0] == '\0') {
        const char *root = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/fuzz-series-XXXXXX", root != NULL ? root : "/tmp");
        expect(mkdtemp(folder) != NULL && atexit(end) == 0);
        for (unsigned i = 0; i < KINDS; i++)
            all[i] = make(i);
    }
    return &all[kind];
}

/* ---- changes */

static void cut(struct file *file, size_t size)
{
    if (file->bytes != NULL)
        file->size = size < file->size ? size : file->size;
}

static void take_place(struct file *file, const struct file *other)
{
    if (file == other)
        return;
    free(file->bytes);
    *file = *other;
    if (other->bytes != NULL)
        file->bytes = copy_of(other->bytes, other->size);
}

static void change(struct series *s, const uint8_t *edit)
{
    struct file *file = &s->files[edit[0] % FILES];
    const size_t offset = get16(edit + 2);
    const unsigned what = edit[1] % 16;
    if (what == 0) {
        cut(file, offset);
    } else if (what == 1) {
        free(file->bytes);
        *file = (struct file){ 0 };
    } else if (what == 2) {
        take_place(file, &s->files[edit[4] % FILES]);
    } else if (file->size >= 4096) {
        const size_t at = what < 8    ? offset % 304 /* the fields of the static header */
                          : what < 14 ? 2048 + offset % 2 * 1024 + offset / 2 % 68
                                      : offset % file->size;
        file->bytes[at] = edit[4] % 2 != 0 ? edit[5] : file->bytes[at] ^ edit[5];
    }
}

static struct series changed(const uint8_t *data, size_t size)
{
    const struct series *from = sound(data[0] % KINDS);
    struct series s = { 0 };
    for (unsigned i = 0; i < FILES; i++)
        take_place(&s.files[i], &from->files[i]);
    for (const uint8_t *edit = data + 2; edit + EDIT <= data + size; edit += EDIT)
        change(&s, edit);
    for (unsigned i = 0; i < FILES; i++) {
        if ((data[1] >> i & 1) == 0 && s.files[i].bytes != NULL)
            mend_checksums(s.files[i].bytes, s.files[i].size);
    }
    return s;
}

/* ---- use */

static bloomfile_filter *opened(unsigned flags)
{
    bloomfile_filter *f;
    return open_file_named(&f, path_of(0), flags) == 0 ? f : NULL;
}

static void ask(bloomfile_filter *f)
{
    bloomfile_digest digests[KEYS];
    bool hits[KEYS];
    size_t count = 0;
    for (uint64_t i = 0; i < KEYS; i++)
        digests[i] = digest_of(i);
    const size_t found = bloomfile_contains_digests(f, digests, KEYS, hits);
    for (uint64_t i = 0; i < KEYS; i++) {
        count += hits[i];
        expect(bloomfile_contains_digest(f, digests[i]) >= hits[i]);
    }
    expect(count == found);
}

/* A sealed copy must have the keys of its source. */
static void copy(const bloomfile_filter *f, bloomfile_digest last)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    bloomfile_filter *sealed;
    if (bloomfile_copy_sealed(&to, f, NULL) != 0)
        return;
    expect(open_from(&sealed, bloomfile_from_memory(to.memory, to.size),
                     BLOOMFILE_OPEN_VERIFY_FULL) == 0);
    expect(bloomfile_contains_digest(sealed, last));
    bloomfile_close(sealed);
    bloomfile_free(to.memory);
}

/* Adds keys. Returns whether the last new key was added and is on disk. */
static bool add(bloomfile_filter *f, bloomfile_filter *reader, bloomfile_digest *last)
{
    bool added = false;
    for (uint64_t i = 0; i < NEW_KEYS; i++) {
        *last = digest_of(1000 + i);
        added = bloomfile_add_digest(f, *last, NULL) == 0;
        expect(!added || bloomfile_contains_digest(f, *last));
        expect(!added || reader == NULL || bloomfile_contains_digest(reader, *last));
    }
    if (added)
        copy(f, *last);
    return added && bloomfile_sync(f, NULL) == 0;
}

static void use(bool untouched, unsigned flags)
{
    bloomfile_filter *reader = opened(flags), *writer = opened(flags | BLOOMFILE_OPEN_WRITE),
                     *again;
    bloomfile_digest last;
    expect(!untouched || (flags & BLOOMFILE_OPEN_ACCEPT_UNCLEAN) == 0 || reader != NULL);
    if (reader != NULL)
        ask(reader);
    if (writer != NULL) {
        const bool added = add(writer, reader, &last);
        bloomfile_close(writer);
        again = opened(BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
        expect(again == NULL || !added || bloomfile_contains_digest(again, last));
        if (again != NULL)
            bloomfile_close(again);
    }
    if (reader != NULL)
        bloomfile_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct series s = changed(data, size);
    limit_files();
    write_files(&s);
    use(size < 2 + EDIT, data[1] & 0x40 ? 0 : BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    remove_files();
    for (unsigned i = 0; i < FILES; i++)
        free(s.files[i].bytes);
    return 0;
}
