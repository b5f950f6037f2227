/* SPDX-License-Identifier: MIT
 * The reader of a file, which reads as much as was requested and is readable. */
#include "bfinspect/inspect.h"

#include "bfinspect/bus_errors.h"
#include "cli/cli.h"
#include "filters/key_kind.h"
#include "filters/opening.h"
#include "filters/series.h"
#include "filters/target_file.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    READ_TRIES = 100, /* a record may look damaged while it is being written */
    SHOWN_BYTES = 60
};

/* --------------------------------------------------------------------------------------- header */

static int open_file(struct inspect_report *r)
{
    int fd;
    do
        fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 || fstat(fd, &r->stat) != 0) {
        r->error = errno;
    } else if (S_ISDIR(r->stat.st_mode)) {
        r->error = EISDIR;
    } else if (!S_ISREG(r->stat.st_mode)) {
        r->error = BLOOMFILE_ENOTREGULAR;
    } else {
        r->size = (uint64_t)r->stat.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static bool read_header(struct inspect_report *r, int fd)
{
    r->have = 0;
    r->error = 0;
    size_t wanted = r->size < sizeof(r->bytes) ? (size_t)r->size : sizeof(r->bytes);
    while (r->have < wanted) {
        ssize_t n = pread(fd, r->bytes + r->have, wanted - r->have, (off_t)r->have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r->error = errno;
        if (n == 0)
            r->size = r->have;
        if (n <= 0)
            break;
        r->have += (size_t)n;
    }
    return r->error == 0;
}

static void inspect_bytes(struct inspect_report *r)
{
    r->info.struct_size = sizeof(r->info);
    r->fault_count = INSPECT_FAULTS;
    r->error = bloomfile_inspect(r->bytes, r->size, &r->info, r->faults, &r->fault_count);
    if (r->fault_count > INSPECT_FAULTS)
        r->fault_count = INSPECT_FAULTS;
}

/* Opens the sealed filter at *offset, and moves *offset to its end. NULL: it cannot be opened. */
static bloomfile_filter *open_next(int fd, uint64_t *offset)
{
    bloomfile_filter *f;
    uint8_t bytes[INSPECT_HEADER_SIZE] = { 0 };
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_source from = bloomfile_from_fd(fd);
    if (pread(fd, bytes, sizeof(bytes), (off_t)*offset) <= 0 ||
        bloomfile_inspect(bytes, UINT64_MAX, &info, NULL, NULL) != BLOOMFILE_ETRAILING)
        return NULL;
    from.offset = *offset;
    from.length = inspect_whole_size(&info);
    *offset += from.length;
    return opening_from(&f, from, 0, OPENING_ANY, NULL) == 0 ? f : NULL;
}

/* Whether all filters in the file can be merged. The merge may still need a larger -p. */
static bool is_mergeable(int fd, uint64_t size)
{
    uint64_t offset = 0;
    bloomfile_filter *first = open_next(fd, &offset);
    bool is = first != NULL;
    while (is && offset < size) {
        bloomfile_filter *f = open_next(fd, &offset);
        is = f != NULL && bloomfile_check_merge(first, f) == 0;
        bloomfile_close(f);
    }
    bloomfile_close(first);
    return is;
}

static void judge_bytes(struct inspect_report *r, int fd)
{
    r->is_stream = r->error == BLOOMFILE_ETRAILING && is_mergeable(fd, r->size);
    r->depth = r->have > 0 ? INSPECT_BYTES : INSPECT_NOTHING;
    if (r->error != 0 && r->error != BLOOMFILE_ETRAILING)
        inspect_find_flips(r);
    if (r->error == 0)
        r->depth = INSPECT_HEADER;
}

/* ----------------------------------------------------------------------------------------- body */

static int64_t integer_of(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (size_t i = 8; i-- > 0;)
        value = value << 8 | bytes[i];
    return (int64_t)value;
}

static char *shown_key(const struct bloomfile_key *key, const struct inspect_options *options)
{
    const uint8_t *bytes = key->data;
    size_t size = key->size < SHOWN_BYTES ? key->size : SHOWN_BYTES;
    const char *more = size < key->size ? "..." : "";
    char digits[2 * SHOWN_BYTES + 1] = "", *safe = NULL, *text;
    const struct keys_options *form = &options->keys_form;
    if (form->key_form.integers) {
        snprintf(digits, sizeof(digits), "%" PRId64, integer_of(bytes));
    } else if (form->record_size > 0 || form->key_form.hex) {
        for (size_t i = 0; i < size; i++)
            snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
    } else {
        safe = report_wanted(&options->report) ? text_reversible(bytes, size)
                                               : text_safe(bytes, size, options->utf8);
    }
    if (asprintf(&text, "%s%s", safe != NULL ? safe : digits, more) < 0)
        text_no_memory();
    free(safe);
    return text;
}

static void note_missing(struct inspect_report *r, const struct bloomfile_key *key,
                         const struct inspect_options *options)
{
    if (r->keys_missing < INSPECT_MISSING)
        r->missing[r->keys_missing] = shown_key(key, options);
    r->keys_missing++;
}

/* The number of keys that belong to the slice. */
static size_t count_own(const bloomfile_filter *f, const struct bloomfile_key *keys, size_t n)
{
    size_t own = 0;
    bloomfile_digest first, last;
    bloomfile_slice_range(f, &first, &last);
    for (size_t i = 0; i < n; i++) {
        const bloomfile_digest digest = bloomfile_digest_of(f, keys[i].data, keys[i].size);
        own += digest >= first && digest <= last;
    }
    return own;
}

static void check_keys(struct inspect_report *r, const bloomfile_filter *f,
                       const struct inspect_options *options)
{
    struct bloomfile_key keys[KEYS_BATCH];
    bool hits[KEYS_BATCH];
    key_kind_check(r->path, f, &options->keys_form, KEY_KIND_LOOK_UP);
    struct keys_options form = options->keys_form;
    key_kind_fold(f, &form);
    struct keys *source = keys_new(&form, &options->keys, 1);
    struct cli_progress progress = { .doing = "checking keys", .total = keys_total(source) };
    for (size_t n; (n = keys_next(source, keys, KEYS_BATCH)) > 0;) {
        if (bloomfile_contains_many(f, keys, n, hits) < n)
            for (size_t i = 0; i < n; i++)
                if (!hits[i])
                    note_missing(r, &keys[i], options);
        r->keys_count += n;
        r->keys_own += r->info.whole_blocks > 0 ? count_own(f, keys, n) : n;
        progress.keys = r->keys_count;
        progress.bytes = keys_bytes(source);
        cli_progress_step(&progress);
    }
    cli_progress_end(&progress);
    keys_tell_skipped(source, r->keys_count, options->quiet);
    keys_free(source);
    r->keys_checked = true;
}

bool inspect_hash_is_applications(const struct inspect_report *r)
{
    return r->info.hash_id >= BLOOMFILE_APP_HASH_FIRST;
}

static void read_mapping(struct inspect_report *r, const bloomfile_filter *f,
                         const struct inspect_options *options)
{
    inspect_bodies(r, f, options);
    if (options->keys != NULL && inspect_hash_is_applications(r))
        r->error = r->error != 0 ? r->error : BLOOMFILE_EHASH;
    else if (options->keys != NULL && !bus_error_failed())
        check_keys(r, f, options);
    const int status = r->rewritten ? BLOOMFILE_ECHANGED : bloomfile_recheck(f);
    if (r->error == 0 || status == BLOOMFILE_ECHANGED)
        r->error = status;
    bloomfile_get_info(f, &r->info);
    if (r->info.series != 0)
        r->size = r->info.image_size; /* total size of the series' files */
}

static void salvage_body(const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    size_t used;
    const uint8_t *body = bloomfile_body(f, &used);
    bloomfile_get_info(f, &info);
    bus_error_add(body - info.body_offset, (size_t)info.image_size);
}

/* Reads the body, and discards the results if the file shrank or its disk failed. */
static void read_shrinking(struct inspect_report *r, const bloomfile_filter *f,
                           const struct inspect_options *options)
{
    const struct inspect_report before = *r;
    const size_t layers = bloomfile_layers(f);
    bus_error_begin();
    for (size_t i = 0; i < (layers > 0 ? layers : 1); i++)
        salvage_body(layers > 0 ? bloomfile_layer(f, i) : f);
    read_mapping(r, f, options);
    if (bus_error_end()) {
        inspect_free(r);
        *r = before;
        r->interrupted = true;
        r->error = EIO;
    }
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Opens a sealed filter by path, so that the library notices later changes. Also checks whether the
 * file changed after its header was read. */
static int open_sealed(struct inspect_report *r, int fd, unsigned flags, bloomfile_filter **f,
                       struct bloomfile_open_report *report)
{
    struct stat now;
    const int error = opening_from(f, bloomfile_from_path(r->path), flags, OPENING_ANY, report);
    const bool same =
        stat(r->path, &now) == 0 && now.st_dev == r->stat.st_dev && now.st_ino == r->stat.st_ino;
    if (!same) { /* it was replaced: inspect the file that was opened first */
        bloomfile_close(*f);
        return opening_from(f, bloomfile_from_fd(fd), flags, OPENING_ANY, report);
    }
    r->rewritten = now.st_size != r->stat.st_size || !same_time(now.st_mtim, r->stat.st_mtim);
    return error;
}

/* A live series is opened by path, because its layers are found by the name of the first file. */
static int open_as(struct inspect_report *r, int fd, unsigned flags, bloomfile_filter **f,
                   struct bloomfile_open_report *report)
{
    const bool series = r->info.series != 0;
    if (!series && r->info.state == BLOOMFILE_STATE_SEALED)
        return open_sealed(r, fd, flags, f, report);
    return opening_from(f, series ? bloomfile_from_path(r->path) : bloomfile_from_fd(fd), flags,
                        OPENING_ANY, report);
}

static bloomfile_filter *open_filter(struct inspect_report *r, int fd, unsigned open_flags)
{
    bloomfile_filter *f;
    if (r->info.state == BLOOMFILE_STATE_LIVE)
        writers_have(fd, &r->in_use);
    struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
    r->error = open_as(r, fd, 0, &f, &report);
    r->is_explained = r->error != 0 && series_explain(r->path, &report, r->explanation);
    r->unclean = r->error == BLOOMFILE_EUNCLEAN;
    if (open_flags != 0 && (r->unclean || report.reason == BLOOMFILE_REASON_OLDER_COPY)) {
        r->error = open_as(r, fd, open_flags, &f, &report);
        r->unclean |= r->error == 0;
        r->is_explained = r->error != 0 && series_explain(r->path, &report, r->explanation);
    }
    return f;
}

bool inspect_is_part(const struct inspect_report *r)
{
    return r->info.series != 0 && series_slot(&r->info) != 0;
}

static void read_body(struct inspect_report *r, int fd, const struct inspect_options *options)
{
    bloomfile_filter *f = open_filter(r, fd, options->open_flags);
    if (f == NULL)
        return;
    r->depth = INSPECT_BODY;
    bloomfile_get_info(f, &r->info);
    read_shrinking(r, f, options);
    bloomfile_close(f);
}

void inspect_read(struct inspect_report *r, const struct inspect_options *options)
{
    int fd = open_file(r), tries = 0;
    bool have_bytes;
    if (fd < 0)
        return;
    do {
        have_bytes = read_header(r, fd);
        if (have_bytes)
            inspect_bytes(r);
    } while (have_bytes && r->error == BLOOMFILE_ERECORD && ++tries < READ_TRIES);
    if (have_bytes)
        judge_bytes(r, fd);
    if (have_bytes && r->error == 0)
        read_body(r, fd, options);
    if (have_bytes)
        inspect_list_fields(r);
    close(fd);
}

void inspect_free(struct inspect_report *r)
{
    for (size_t i = 0; i < r->layer_count; i++) {
        picture_free(&r->layers[i].map);
        free(r->layers[i].name);
    }
    free(r->layers);
    picture_free(&r->map);
    picture_free(&r->image);
    free(r->fields);
    for (size_t i = 0; i < INSPECT_MISSING; i++)
        free(r->missing[i]);
}
