/* SPDX-License-Identifier: MIT
 * The filters to merge: files, lists of files, and images in a stream. */
#include "bfmerge/sources.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "filters/key_kind.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "keys/input_type.h"
#include "os/file.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_ROOM = 16,
    LEAST_HEADER = 512,
    HEADER_SIZE = 4096,
    COPY_SIZE = 1 << 20
};

static _Noreturn void no_memory(void)
{
    cli_fail(ENOMEM, "cannot hold more filters");
}

/* ------------------------------------------------------------------------------------- opening */

/* Adds a filter and takes ownership of it. `file` NULL: it is not a file. */
static void put(struct merge_sources *s, char *name, bloomfile_filter *filter,
                const struct stat *file)
{
    if (s->count == s->room) {
        s->room = s->room == 0 ? FIRST_ROOM : 2 * s->room;
        s->list = reallocarray(s->list, s->room, sizeof(*s->list));
    }
    if (s->list == NULL || name == NULL)
        no_memory();
    message_if_series("merge", name, filter);
    struct merge_source *source = &s->list[s->count++];
    *source = (struct merge_source){ .name = name, .filter = filter, .info = BLOOMFILE_INFO_INIT };
    bloomfile_get_info(filter, &source->info);
    if (bloomfile_traits_of(source->info.layout)->solved && !s->slices)
        message_fail(BLOOMFILE_EISRIBBON, "cannot merge", name);
    if (source->info.whole_blocks > 0 && !s->slices)
        message_fail(BLOOMFILE_EISSLICE, "cannot merge", name);
    if (file != NULL) {
        source->is_file = true;
        source->device = file->st_dev;
        source->inode = file->st_ino;
    }
}

struct stream {
    int spool; /* the temporary file */
    const char *folder;
    uint64_t begin,
        end;         /* offsets, also in the temporary file: start of the image, end of the data */
    uint64_t number; /* of the image, from 1 */
    uint8_t buffer[COPY_SIZE];
};

/* --------------------------------------------------------------------------- images in a stream */

static _Noreturn void fail_to_spool(const struct stream *s, int error)
{
    cli_fail(0, "cannot write a temporary file in %s: %s (choose another folder with TMPDIR)",
             s->folder, bloomfile_strerror(error));
}

static void open_spool(struct stream *s)
{
    s->folder = spool_folder(NULL);
    int error = spool_file(s->folder, &s->spool);
    if (error != 0)
        fail_to_spool(s, error);
}

static void spool(struct stream *s, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(s->spool, bytes, size);
        if (n < 0 && errno != EINTR)
            fail_to_spool(s, errno);
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

/* Reads and spools `size` bytes, fewer only at the end of the stream. */
static size_t take(struct stream *s, uint8_t *bytes, size_t size)
{
    size_t have = 0;
    while (have < size) {
        ssize_t n = await_read(STDIN_FILENO, bytes + have, size - have);
        if (n < 0)
            cli_fail(errno, "cannot read standard input");
        if (n == 0)
            break;
        have += (size_t)n;
    }
    spool(s, bytes, have);
    s->end += have;
    return have;
}

static _Noreturn void fail_for_image(const struct stream *s, int error)
{
    uint8_t start[INPUT_TYPE_START];
    struct input_type_text is;
    const ssize_t size = pread(s->spool, start, sizeof(start), (off_t)s->begin);
    if (error == BLOOMFILE_EMAGIC && size > 0 &&
        input_type_describe(start, (size_t)size, UINT64_MAX, "FILE", &is))
        cli_fail(0, "standard input: filter %" PRIu64 ", which begins at byte %" PRIu64 ": %s (%s)",
                 s->number, s->begin, is.what, is.remedy);
    cli_fail(error, "standard input: filter %" PRIu64 ", which begins at byte %" PRIu64, s->number,
             s->begin);
}

static _Noreturn void fail_for_end(const struct stream *s, uint64_t size)
{
    cli_fail(0,
             "standard input: filter %" PRIu64 ", which begins at byte %" PRIu64
             ", is truncated: %" PRIu64 " of %" PRIu64 " bytes",
             s->number, s->begin, s->end - s->begin, size);
}

/* The size of the image, or of all layers of a series. */
static uint64_t size_of(const struct bloomfile_info *info)
{
    return info->layers > 0 ? info->rest_size : info->image_size;
}

/* Reads a header. Returns the size of the image; 0 at the end of the stream. */
static uint64_t take_header(struct stream *s)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    uint8_t header[HEADER_SIZE] = { 0 };
    size_t have = take(s, header, LEAST_HEADER);
    if (have == 0)
        return 0;
    /* An unknown size lets errors in the first bytes come before the error of a wrong size. */
    int error =
        bloomfile_inspect(header, have < LEAST_HEADER ? have : UINT64_MAX, &info, NULL, NULL);
    bool is_long = have == LEAST_HEADER && info.header_size == HEADER_SIZE &&
                   error != BLOOMFILE_EMAGIC && error != BLOOMFILE_ETEXTMODE &&
                   error != BLOOMFILE_EVERSION;
    if (is_long) {
        have += take(s, header + LEAST_HEADER, HEADER_SIZE - LEAST_HEADER);
        if (have < HEADER_SIZE)
            fail_for_end(s, HEADER_SIZE);
        error = bloomfile_inspect(header, UINT64_MAX, &info, NULL, NULL);
    }
    if (error == BLOOMFILE_ETRAILING)
        error = bloomfile_inspect(header, size_of(&info), &info, NULL, NULL);
    if (error != 0)
        fail_for_image(s, error);
    if (info.state == BLOOMFILE_STATE_LIVE)
        fail_for_image(s, BLOOMFILE_ELIVE);
    return size_of(&info);
}

static void take_body(struct stream *s, uint64_t size)
{
    while (s->end - s->begin < size) {
        uint64_t rest = size - (s->end - s->begin);
        size_t wanted = rest < COPY_SIZE ? (size_t)rest : COPY_SIZE;
        if (take(s, s->buffer, wanted) < wanted)
            fail_for_end(s, size);
    }
}

static void put_image(const struct stream *s, struct merge_sources *sources, uint64_t size)
{
    bloomfile_filter *f;
    char *name;
    struct bloomfile_source from = bloomfile_from_fd(s->spool);
    from.offset = s->begin;
    from.length = size;
    int error = opening_from(&f, from, 0, OPENING_ANY, NULL);
    if (error != 0)
        fail_for_image(s, error);
    if (asprintf(&name, "standard input, filter %" PRIu64, s->number) < 0)
        name = NULL;
    put(sources, name, f, NULL);
}

static void read_stdin(struct merge_sources *sources)
{
    if (isatty(STDIN_FILENO))
        cli_usage("cannot read a filter from a terminal");
    struct stream *s = calloc(1, sizeof(*s));
    if (s == NULL)
        cli_fail(ENOMEM, "cannot read standard input");
    const bool from_start = lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 &&
                            fstat(STDIN_FILENO, &sources->stdin_file) == 0 &&
                            S_ISREG(sources->stdin_file.st_mode);
    open_spool(s);
    s->number = 1;
    for (uint64_t size; (size = take_header(s)) > 0; s->number++) {
        take_body(s, size);
        put_image(s, sources, size);
        s->begin = s->end;
    }
    if (s->number == 1)
        cli_fail(BLOOMFILE_EEMPTY, "cannot read standard input");
    sources->stdin_whole = from_start && s->end == (uint64_t)sources->stdin_file.st_size;
    close(s->spool);
    free(s);
}

/* --------------------------------------------------------------------------------------- files */

static void take_stdin(struct merge_sources *s)
{
    if (s->stdin_taken)
        cli_usage("standard input can be read only once");
    s->stdin_taken = true;
}

void merge_sources_add(struct merge_sources *s, const char *path)
{
    struct stat file;
    if (strcmp(path, "-") == 0) {
        take_stdin(s);
        read_stdin(s);
        return;
    }
    bloomfile_filter *f = opening_must(path, s->open_flags, OPENING_ANY);
    if (stat(path, &file) != 0)
        cli_fail(errno, "cannot examine %s", path);
    put(s, strdup(path), f, &file);
}

/* ------------------------------------------------------------------------------------ checking */

static int compare_files(const void *a, const void *b)
{
    const struct merge_source *x = *(const struct merge_source *const *)a;
    const struct merge_source *y = *(const struct merge_source *const *)b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return x < y ? -1 : x > y; /* in the order given */
}

static _Noreturn void fail_for_twins(const struct merge_source *a, const struct merge_source *b)
{
    if (strcmp(a->name, b->name) == 0)
        cli_fail(0, "cannot merge %s: it is named twice", b->name);
    cli_fail(0, "cannot merge %s: it is named twice, also as %s", b->name, a->name);
}

static void check_each_once(const struct merge_sources *s)
{
    const struct merge_source **files = calloc(s->count, sizeof(*files));
    const struct merge_source *first = NULL, *second = NULL;
    size_t count = 0;
    if (files == NULL)
        no_memory();
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].is_file)
            files[count++] = &s->list[i];
    }
    qsort(files, count, sizeof(*files), compare_files);
    for (size_t i = 1; i < count && second == NULL; i++) {
        bool same =
            files[i]->device == files[i - 1]->device && files[i]->inode == files[i - 1]->inode;
        first = files[i - 1];
        second = same ? files[i] : NULL;
    }
    free(files);
    if (second != NULL)
        fail_for_twins(first, second);
}

#define PAIR "cannot merge %s with %s: "

static _Noreturn void fail_for_difference(const struct merge_source *first,
                                          const struct merge_source *other, int error)
{
    const struct bloomfile_info *a = &first->info, *b = &other->info;
    char texts[2][KEY_KIND_ROOM];
    const bool is_known =
        a->key_kind != BLOOMFILE_KEYS_UNKNOWN && b->key_kind != BLOOMFILE_KEYS_UNKNOWN;
    const bool differ = is_known && (a->key_kind != b->key_kind || a->key_size != b->key_size);
    if (differ && bloomfile_error_kind(error) == BLOOMFILE_KIND_FOREIGN)
        error = BLOOMFILE_EKEYKIND; /* a rebuild with the same options would not help */
    switch (error) {
    case BLOOMFILE_EDIFFERENTLAYOUT:
        cli_fail(0, PAIR "their layouts are %s and %s (build them with the same -l)", other->name,
                 first->name, text_layout(texts[0], sizeof(texts[0]), b->layout),
                 text_layout(texts[1], sizeof(texts[1]), a->layout));
    case BLOOMFILE_EDIFFERENTHASHCOUNT:
        cli_fail(0,
                 PAIR "k is %" PRIu32 " and %" PRIu32
                      " (build them with the same -n, or the same -k)",
                 other->name, first->name, b->hashes, a->hashes);
    case BLOOMFILE_EDIFFERENTSEED:
        cli_fail(0, PAIR "the seeds are %" PRIu64 " and %" PRIu64 " (build them with the same -s)",
                 other->name, first->name, b->seed, a->seed);
    case BLOOMFILE_EKEYKIND:
        cli_fail(0, PAIR "their kinds of keys are %s and %s (build them from keys of one kind)",
                 other->name, first->name, key_kind_text(texts[0], b), key_kind_text(texts[1], a));
    default:
        cli_fail(error, "cannot merge %s with %s", other->name, first->name);
    }
}

/* Compares each source with the first source, and with the first source that has a known
 * kind of keys. */
void merge_sources_check(const struct merge_sources *s)
{
    const struct merge_source *known = &s->list[0];
    check_each_once(s);
    for (size_t i = 1; i < s->count && !s->slices; i++) {
        const struct merge_source *first = &s->list[0], *source = &s->list[i];
        int error = bloomfile_check_merge(first->filter, source->filter);
        if (error == 0) {
            first = known;
            error = bloomfile_check_merge(first->filter, source->filter);
        }
        if (error != 0)
            fail_for_difference(first, source, error);
        if (known->info.key_kind == BLOOMFILE_KEYS_UNKNOWN)
            known = source;
    }
}

void merge_sources_check_damage(const struct merge_sources *s)
{
    for (size_t i = 0; i < s->count; i++) {
        int error = bloomfile_check(s->list[i].filter);
        if (error != 0)
            message_fail(error, "cannot merge", s->list[i].name);
    }
}

const bloomfile_filter **merge_sources_filters(const struct merge_sources *s)
{
    const bloomfile_filter **filters = calloc(s->count, sizeof(*filters));
    if (filters == NULL)
        no_memory();
    for (size_t i = 0; i < s->count; i++)
        filters[i] = s->list[i].filter;
    return filters;
}

void merge_sources_close(struct merge_sources *s)
{
    for (size_t i = 0; i < s->count; i++) {
        bloomfile_close(s->list[i].filter);
        free(s->list[i].name);
    }
    free(s->list);
}
