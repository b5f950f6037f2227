/* SPDX-License-Identifier: MIT
 * Keys that passed the filters, in an unnamed file. */
#include "bfcommon/spool.h"
#include "cli/cli.h"
#include "os/file.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BUFFER_SIZE = 1 << 18
};

struct spool *spool_new(const char *folder, const struct keys_options *form)
{
    struct spool *s = calloc(1, sizeof(*s));
    if (s == NULL)
        cli_fail(ENOMEM, "cannot keep keys");
    *s = (struct spool){ .folder = folder, .form = *form, .fd = -1 };
    s->form.null = form->null && !keys_are_made(form); /* escaped (lines.h) */
    s->form.crlf = false;                              /* keys have no carriage returns, and */
    s->form.fields = (struct fields){ 0 };             /* their fields were already extracted */
    s->form.key_form = (struct key_form){ 0 };
    return s;
}

static int make_file(const char *folder)
{
    int fd, error = spool_file(folder, &fd);
    if (error != 0)
        cli_fail(0, "cannot create a temporary file in %s: %s (choose another folder with --temp)",
                 folder, bloomfile_strerror(error));
    return fd;
}

static void write_all(struct spool *s, const uint8_t *bytes, size_t size)
{
    if (s->fd < 0 && size > 0)
        s->fd = make_file(s->folder);
    while (size > 0) {
        ssize_t n = write(s->fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            cli_fail(0,
                     "cannot write a temporary file in %s: %s (choose another folder with --temp)",
                     s->folder, bloomfile_strerror(errno));
        bytes += n;
        size -= (size_t)n;
    }
}

static void sum(struct spool *s, const uint8_t *bytes, size_t size)
{
    s->sum = libdeflate_crc32(s->sum, bytes, size);
    s->since = libdeflate_crc32(s->since, bytes, size);
}

static void sum_buffer(struct spool *s)
{
    if (s->used > s->summed)
        sum(s, s->buffer + s->summed, s->used - s->summed);
    s->summed = s->used;
}

static void empty_buffer(struct spool *s)
{
    sum_buffer(s);
    write_all(s, s->buffer, s->used);
    s->used = s->summed = 0;
}

uint32_t spool_mark(struct spool *s)
{
    sum_buffer(s);
    uint32_t since = s->since;
    s->since = 0;
    return since;
}

void spool_flush(struct spool *s)
{
    empty_buffer(s);
    free(s->buffer);
    s->buffer = NULL;
}

static void add_bytes(struct spool *s, const void *bytes, size_t size)
{
    if (s->buffer == NULL && (s->buffer = malloc(BUFFER_SIZE)) == NULL)
        cli_fail(ENOMEM, "cannot keep keys");
    s->bytes += size;
    if (size > BUFFER_SIZE - s->used)
        empty_buffer(s);
    if (size > BUFFER_SIZE) {
        sum(s, bytes, size);
        write_all(s, bytes, size);
        return;
    }
    if (size > 0)
        memcpy(s->buffer + s->used, bytes, size);
    s->used += size;
}

void spool_add_pair(struct spool *s, const struct bloomfile_key *key,
                    const struct bloomfile_key *more)
{
    char end;
    const size_t end_size = lines_end(&s->form, &end), size = key->size + more->size;
    add_bytes(s, key->data, key->size);
    add_bytes(s, more->data, more->size);
    add_bytes(s, &end, end_size);
    s->keys++;
    if (size > s->longest)
        s->longest = size;
}

void spool_add(struct spool *s, const struct bloomfile_key *key)
{
    spool_add_pair(s, key, &(struct bloomfile_key){ 0 });
}

struct stretch spool_all(const struct spool *s, size_t room)
{
    return spool_part(s, 0, s->bytes, s->sum, room);
}

struct stretch spool_part(const struct spool *s, uint64_t from, uint64_t to, uint32_t sum,
                          size_t room)
{
    size_t least = s->longest + 1;
    size_t size = room > least ? room : least;
    return (struct stretch){ .name = "a temporary file",
                             .fd = s->fd,
                             .silent = true,
                             .from = from,
                             .to = to,
                             .summed = true,
                             .sum = sum,
                             .room = size,
                             .limit = size };
}

void spool_free(struct spool *s)
{
    if (s == NULL)
        return;
    if (s->fd >= 0)
        close(s->fd);
    free(s->buffer);
    free(s);
}
