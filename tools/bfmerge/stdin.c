/* SPDX-License-Identifier: MIT
 * Images that come through a pipe are put into a temporary file that has no name. */
#include "bfmerge/sources.h"
#include "os/spool.h"
#include "shared/await.h"
#include "shared/cli.h"
#include "shared/kind.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LEAST_HEADER = 512,
    HEADER_SIZE = 4096,
    COPY_SIZE = 1 << 20
};

struct stream {
    int spool; /* the temporary file */
    const char *folder;
    uint64_t begin,
        end;         /* in the stream, and in the temporary file: of the image; of what was read */
    uint64_t number; /* of the image, from 1 */
    uint8_t buffer[COPY_SIZE];
};

/* ---------------------------------------------------------------------------- temporary file */

static _Noreturn void fail_to_spool(const struct stream *s, int error)
{
    cli_fail(error, "cannot write a temporary file in %s (choose another folder with TMPDIR)",
             s->folder);
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

/* -------------------------------------------------------------------------------------- reading */

/* Fewer than `size` only at the end of the stream. */
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
    uint8_t start[KIND_START];
    struct kind_text is;
    const ssize_t size = pread(s->spool, start, sizeof(start), (off_t)s->begin);
    if (error == BLOOMFILE_EMAGIC && size > 0 &&
        kind_describe(start, (size_t)size, UINT64_MAX, "FILE", &is))
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

/* Of all layers, if it is one. */
static uint64_t size_of(const struct bloomfile_info *info)
{
    return info->layers > 0 ? info->rest_size : info->image_size;
}

/* The size of the image, as its header tells; 0: there is none, the stream has ended. */
static uint64_t take_header(struct stream *s)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    uint8_t header[HEADER_SIZE] = { 0 };
    size_t have = take(s, header, LEAST_HEADER);
    if (have == 0)
        return 0;
    /* The errors of the first bytes come before that of a wrong size. */
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
    if (info.state == BLOOMFILE_LIVE)
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
    bloomfile *f;
    char *name;
    int error = bloomfile_open_fd(&f, s->spool, s->begin, size, BLOOMFILE_APP_HASH);
    if (error != 0)
        fail_for_image(s, error);
    if (asprintf(&name, "standard input, filter %" PRIu64, s->number) < 0)
        name = NULL;
    merge_sources_put(sources, name, f, NULL);
}

void merge_stdin(struct merge_sources *sources)
{
    if (isatty(STDIN_FILENO))
        cli_usage("cannot read a filter from a terminal");
    struct stream *s = calloc(1, sizeof(*s));
    if (s == NULL)
        cli_fail(ENOMEM, "cannot read standard input");
    open_spool(s);
    s->number = 1;
    for (uint64_t size; (size = take_header(s)) > 0; s->number++) {
        take_body(s, size);
        put_image(s, sources, size);
        s->begin = s->end;
    }
    if (s->number == 1)
        cli_fail(BLOOMFILE_EEMPTY, "cannot read standard input");
    close(s->spool);
    free(s);
}
