/* SPDX-License-Identifier: MIT
 * The files to compare: opened, measured and read again. */
#include "bfcommon/passes.h"
#include "cli/cli.h"
#include "keys/input_type.h"
#include "keys/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROOM = 1 << 18,
    SAMPLES = 16,
    SAMPLE_SIZE = 1 << 14,
    TEXT_PACKS_TO_ONE_IN = 4 /* approximately */
};

uint64_t input_size(const struct input *in)
{
    const struct stretch *where = &in->where;
    if (where->piped)
        return UINT64_MAX;
    uint64_t end = in->copy != NULL ? where->to : (uint64_t)in->before.st_size;
    uint64_t size = end > where->from ? end - where->from : 0;
    return where->packed ? TEXT_PACKS_TO_ONE_IN * size : size;
}

/* Reads up to `size` bytes that do not move the file offset. Returns how many. */
static size_t sample(const struct stretch *where, uint64_t at, void *bytes, size_t size)
{
    ssize_t n;
    do
        n = pread(where->fd, bytes, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        cli_fail(errno, "cannot read %s", where->name);
    return (size_t)n;
}

/* Estimates the number of lines from the line ends in some samples of the file. */
static uint64_t estimate_lines(const struct input *in, const struct keys_options *form)
{
    uint64_t size = input_size(in), sampled = 0, ends = 0;
    uint8_t piece[SAMPLE_SIZE];
    if (size == UINT64_MAX || in->where.packed)
        return UINT64_MAX;
    if (form->record_size > 0)
        return size / form->record_size + 1;
    uint8_t end_byte = keys_end(form);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        const uint64_t at = in->where.from + size / SAMPLES * i;
        const size_t n = sample(&in->where, at, piece, sizeof(piece));
        for (size_t j = 0; j < n; j++)
            ends += piece[j] == end_byte;
        sampled += n;
    }
    if (sampled == 0)
        return 1;
    double lines = (double)size / (double)sampled * (double)(ends + 1);
    return (uint64_t)(lines * 1.02) + 1;
}

static void judge(const struct input *in, const struct keys_options *form)
{
    uint8_t *bytes = malloc(INPUT_TYPE_SIZE);
    if (bytes == NULL)
        cli_fail(ENOMEM, "cannot start reading %s", in->where.name);
    const size_t n = sample(&in->where, in->where.from, bytes, INPUT_TYPE_SIZE);
    if (n > 0)
        lines_judge(&in->where, form, bytes, n);
    free(bytes);
}

/* A pipe cannot be examined in advance, so it may be compressed. */
static bool may_be_packed(const struct stretch *where)
{
    uint8_t bytes[4];
    if (where->piped)
        return true;
    const size_t n = sample(where, where->from, bytes, sizeof(bytes));
    return n > 0 && unpack_is_packed(bytes, n);
}

void input_open(struct input *in, const char *path, const struct keys_options *form, size_t limit)
{
    bool standard = strcmp(path, "-") == 0;
    *in = (struct input){ .where = { .name = standard          ? "standard input"
                                             : path[0] == '\0' ? "a file without a name"
                                                               : path,
                                     .to = UINT64_MAX,
                                     .room = ROOM < limit ? ROOM : limit,
                                     .limit = limit },
                          .form = *form };
    in->where.fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (in->where.fd < 0 || fstat(in->where.fd, &in->before) != 0)
        cli_fail(errno, "cannot open %s", in->where.name);
    if (S_ISDIR(in->before.st_mode))
        cli_fail(EISDIR, "cannot read %s", in->where.name);
    off_t at = S_ISREG(in->before.st_mode) ? lseek(in->where.fd, 0, SEEK_CUR) : -1;
    in->where.piped = at < 0;
    in->where.from = at < 0 ? 0 : (uint64_t)at;
    in->where.packed = form->packed && may_be_packed(&in->where);
    if (in->where.piped || in->where.packed)
        in->where.judge = form;
    else
        judge(in, form);
    in->lines = estimate_lines(in, form);
}

bool input_is_same_pipe(const struct input *in, const struct input *other)
{
    return S_ISFIFO(in->before.st_mode) && in->before.st_dev == other->before.st_dev &&
           in->before.st_ino == other->before.st_ino;
}

void input_close(struct input *in)
{
    if (in->where.fd > STDIN_FILENO && in->copy == NULL)
        close(in->where.fd); /* opened for reading: an error loses no data */
    spool_free(in->copy);
}

void input_keep(struct input *in, const char *folder, const struct keys_options *form)
{
    if (!in->where.piped && !in->where.packed)
        return;
    struct bloomfile_key keys[KEYS_BATCH];
    struct keys_options whole = *form;
    whole.crlf = false;                  /* carriage returns are stripped and */
    whole.fields = (struct fields){ 0 }; /* keys extracted when the copy is read */
    whole.key_form = (struct key_form){ 0 };
    struct spool *copy = spool_new(folder, &whole);
    struct header_line *header = in->where.header;
    in->where.header = NULL;
    input_begin(in);
    struct lines *l = lines_open(&whole, &in->where);
    for (size_t n; (n = lines_next(l, keys, KEYS_BATCH)) > 0;) {
        for (size_t i = 0; i < n; i++)
            spool_add(copy, &keys[i]);
    }
    lines_close(l);
    spool_flush(copy);
    input_check_unchanged(in);
    if (in->where.fd > STDIN_FILENO)
        close(in->where.fd);
    in->by_turns = false;
    const struct stretch before = in->where;
    in->where = spool_all(copy, before.room);
    in->where.name = before.name;
    in->where.header = header;
    if (in->where.limit < before.limit) /* records may be longer than the lines of the copy */
        in->where.limit = before.limit;
    in->copy = copy;
    in->lines = copy->keys;
}

void input_check_unchanged(const struct input *in)
{
    struct stat now;
    const struct stat *before = &in->before;
    if (in->where.piped || in->copy != NULL || in->where.fd < 0)
        return;
    if (fstat(in->where.fd, &now) != 0)
        cli_fail(errno, "cannot examine %s", in->where.name);
    if (now.st_dev != before->st_dev || now.st_ino != before->st_ino ||
        now.st_size != before->st_size || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != before->st_mtim.tv_nsec)
        cli_fail(0, "%s was changed while it was read", in->where.name);
}

bool input_can_take_turns(const struct input *in)
{
    return in->where.fd > STDIN_FILENO && !in->where.piped && in->copy == NULL;
}

void input_take_turns(struct input *in)
{
    in->by_turns = true;
    input_end(in);
}

void input_begin(struct input *in)
{
    in->was_begun = true;
    if (!in->by_turns)
        return;
    in->where.fd = open(in->where.name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (in->where.fd < 0)
        cli_fail(errno, "cannot open %s again", in->where.name);
    input_check_unchanged(in);
}

void input_end(struct input *in)
{
    if (!in->by_turns)
        return;
    input_check_unchanged(in);
    close(in->where.fd);
    in->where.fd = -1;
}

void input_check_header(struct input *in)
{
    if (in->was_begun || in->where.header == NULL)
        return;
    input_begin(in);
    struct lines *l = lines_open(&in->form, &in->where);
    lines_read_header(l);
    lines_close(l);
    input_end(in);
}

struct input input_of_spool(struct spool *s, size_t room)
{
    return (
        struct input){ .where = spool_all(s, room), .form = s->form, .copy = s, .lines = s->keys };
}
