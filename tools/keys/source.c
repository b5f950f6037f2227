/* SPDX-License-Identifier: MIT
 * Reading the bytes of the inputs in turn: read(), after poll() if a signal may interrupt it. */
#include "keys/source.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "keys/unpack.h"

#include <bloomfile.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    APPEND = 10000, /* microseconds between two checks of a file that may be growing */
    APPENDS = 100   /* number of checks */
};

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *source_name(const char *path)
{
    if (path[0] == '\0')
        return "a file without a name";
    return is_standard_input(path) ? "standard input" : path;
}

int source_survey(const char *path, uint64_t *size)
{
    struct stat st;
    const bool standard = is_standard_input(path);
    *size = 0;
    if ((standard ? fstat(STDIN_FILENO, &st) : stat(path, &st)) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (!standard && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
        return errno;
    const off_t at = standard ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    if (S_ISREG(st.st_mode) && at >= 0 && at < st.st_size)
        *size = (uint64_t)(st.st_size - at);
    return 0;
}

static void wait_for_input(const struct source *s)
{
    struct pollfd either[] = { { .fd = s->fd, .events = POLLIN },
                               { .fd = interrupt_fd, .events = POLLIN } };
    while (poll(either, 2, -1) < 0 && errno == EINTR)
        continue;
}

static ssize_t read_bytes(void *source, uint8_t *to, size_t size)
{
    struct source *s = source;
    ssize_t n;
    do {
        if (s->stoppable)
            wait_for_input(s);
        if (s->stoppable && interrupt_signal != 0) {
            errno = ECANCELED;
            return -1;
        }
        n = s->stoppable ? read(s->fd, to, size) : await_read(s->fd, to, size);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN)); /* another process took the input */
    s->bytes += n > 0 ? (uint64_t)n : 0;
    return n;
}

/* Returns 0 or an errno. Sets *st to zeros if the input is not a regular file. */
static int look(const struct source *s, struct stat *st)
{
    if (fstat(s->fd, st) != 0)
        return errno;
    if (!S_ISREG(st->st_mode))
        *st = (struct stat){ 0 };
    return 0;
}

/* Whether the file was written to but has the same size. */
static bool is_overwritten(const struct stat *before, const struct stat *now)
{
    return now->st_size == before->st_size && (now->st_mtim.tv_sec != before->st_mtim.tv_sec ||
                                               now->st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

/* Whether the file stayed complete until its end was read. */
static bool has_all(const struct source *s, const char **reason)
{
    struct stat now;
    int error = look(s, &now);
    *reason = NULL;
    /* A program that appends may change the time before the size: wait for the size. */
    for (int i = 0; i < APPENDS && error == 0 && is_overwritten(&s->before, &now); i++) {
        usleep(APPEND);
        error = look(s, &now);
    }
    if (error != 0)
        *reason = bloomfile_strerror(error);
    else if (now.st_size < s->before.st_size)
        *reason = "it shrank while it was read";
    else if (is_overwritten(&s->before, &now))
        *reason = "it was overwritten while it was read";
    return *reason == NULL;
}

int source_open(struct source *s, const char *path)
{
    s->fd = is_standard_input(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (s->fd < 0)
        return errno;
    s->is_open = true;
    const int error = look(s, &s->before);
    if (error != 0) {
        source_close(s);
        return error;
    }
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (s->packed)
        s->unpack = unpack_new(read_bytes, s);
    return 0;
}

ssize_t source_read(struct source *s, uint8_t *to, size_t size, const char **reason)
{
    const ssize_t n =
        s->unpack != NULL ? unpack_read(s->unpack, to, size) : read_bytes(s, to, size);
    const int error = errno;
    if (n < 0 && s->unpack != NULL && (*reason = unpack_trouble(s->unpack)) != NULL)
        return -1;
    if (n < 0)
        *reason = bloomfile_strerror(error);
    return n == 0 && !has_all(s, reason) ? -1 : n;
}

void source_close(struct source *s)
{
    unpack_free(s->unpack);
    s->unpack = NULL;
    if (s->is_open && s->fd > STDIN_FILENO)
        close(s->fd); /* opened for reading: an error loses no data */
    s->is_open = false;
}
