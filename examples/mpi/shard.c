/* SPDX-License-Identifier: MIT
 * The lines of a file that begin in one part of its bytes. */
#include "shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* O_NONBLOCK: a pipe must not make it wait before it is refused. */
int shard_open(struct shard *s, const char *path, struct stat *status)
{
    *s = (struct shard){ 0 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd == -1)
        return errno;
    s->file = fdopen(fd, "r");
    if (s->file == NULL) {
        const int error = errno;
        close(fd);
        return error;
    }
    if (fstat(fd, status) == -1)
        return errno;
    if (S_ISDIR(status->st_mode))
        return EISDIR;
    return S_ISREG(status->st_mode) ? 0 : BLOOMFILE_ENOTREGULAR;
}

static uint64_t part_begin(uint64_t size, unsigned part, unsigned parts)
{
    return size / parts * part + size % parts * part / parts;
}

/* The size of the next line with its newline; 0: there is none, or it cannot be read. */
static size_t next_line(struct shard *s)
{
    const ssize_t size = getline(&s->line, &s->room, s->file);
    if (size == -1)
        return 0;
    s->at += (uint64_t)size;
    return (size_t)size;
}

static int trouble(const struct shard *s)
{
    return feof(s->file) ? BLOOMFILE_ETRUNCATED : errno;
}

int shard_choose(struct shard *s, uint64_t size, unsigned part, unsigned parts)
{
    s->at = part_begin(size, part, parts);
    s->end = part_begin(size, part + 1, parts);
    if (s->at == 0)
        return 0;
    /* A line begins here only if a newline stands before. */
    s->at--;
    if (fseeko(s->file, (off_t)s->at, SEEK_SET) == -1)
        return errno;
    return next_line(s) == 0 ? trouble(s) : 0;
}

int shard_next(struct shard *s, uint64_t seed, bloomfile_digest *digest, bool *more)
{
    *more = s->at < s->end;
    if (!*more)
        return 0;
    size_t size = next_line(s);
    if (size == 0)
        return trouble(s);
    if (s->line[size - 1] == '\n')
        size--;
    *digest = bloomfile_hash(seed, s->line, size);
    return 0;
}

void shard_close(struct shard *s)
{
    if (s->file != NULL)
        fclose(s->file);
    free(s->line);
}
