/* SPDX-License-Identifier: MIT
 * The file of repeated lines. The lines are copied, because the lines that are printed overwrite
 * them. */
#include "bfuniq/repeated.h"
#include "cli/cli.h"
#include "filters/same_file.h"
#include "filters/series.h"
#include "keys/input_type.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Noreturn void cannot_write(const struct repeated *r)
{
    cli_fail(errno, "cannot write repeated lines to %s", r->path);
}

static bool is_filter(const char *path)
{
    uint8_t bytes[16];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? pread(fd, bytes, sizeof(bytes), 0) : -1;
    if (fd >= 0)
        close(fd); /* read only */
    return n > 0 && input_type_is_filter(bytes, (size_t)n);
}

/* A layer may be yet to make, and so may the filter. */
void repeated_check_name(const struct repeated *r, const char *filter)
{
    const char *dot = strrchr(r->path, '.');
    if (dot == NULL || dot[1] == '\0' || dot[1 + strspn(dot + 1, "0123456789")] != '\0')
        return;
    char *first = strndup(r->path, (size_t)(dot - r->path));
    if (first == NULL)
        cli_fail(ENOMEM, "cannot start");
    const bool same = same_file_are_same(first, filter);
    free(first);
    if (same)
        cli_fail(0,
                 "cannot write repeated lines to %s: --filter %s needs that name (write to another "
                 "file)",
                 r->path, filter);
}

static void open_file(struct repeated *r)
{
    r->fd = open(r->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (r->fd < 0)
        cannot_write(r);
}

/* A start that fails leaves no new file. */
static void check_folder(const struct repeated *r)
{
    char *copy = strdup(r->path);
    if (copy == NULL)
        cli_fail(ENOMEM, "cannot start");
    if (faccessat(AT_FDCWD, dirname(copy), W_OK | X_OK, AT_EACCESS) != 0)
        cannot_write(r);
    free(copy);
}

void repeated_open(struct repeated *r)
{
    struct stat st;
    char why[SERIES_TEXT];
    r->fd = -1;
    if (r->path == NULL)
        return;
    const bool exists = stat(r->path, &st) == 0;
    if (exists && S_ISREG(st.st_mode) && is_filter(r->path))
        cli_fail(0, "cannot write repeated lines to %s: it is a filter (write to another file)",
                 r->path);
    if (!exists && series_claims(r->path, why))
        cli_fail(0, "cannot write repeated lines to %s: %s", r->path, why);
    if (exists)
        open_file(r);
    else
        check_folder(r);
}

void repeated_begin(struct repeated *r)
{
    struct stat st;
    if (r->path == NULL || r->begun)
        return;
    if (r->fd < 0)
        open_file(r);
    if (fstat(r->fd, &st) != 0 || (S_ISREG(st.st_mode) && ftruncate(r->fd, 0) != 0))
        cannot_write(r);
    r->begun = true;
}

void repeated_take(struct repeated *r, const struct batch *b, size_t first, size_t last)
{
    if (r->path == NULL)
        return;
    if (b->piece.size > r->room) {
        free(r->bytes);
        r->room = b->piece.size;
        r->bytes = malloc(r->room);
        if (r->bytes == NULL)
            cli_fail(ENOMEM, "cannot hold %zu bytes of repeated lines", r->room);
    }
    r->size = batch_copy_others(b, first, last, r->bytes);
}

void repeated_write(const struct repeated *r)
{
    if (r->path != NULL && !await_write(r->fd, r->bytes, r->size))
        cannot_write(r);
}

void repeated_write_header(const struct repeated *r, const struct batch *b)
{
    if (r->path != NULL && !batch_write_header(b, r->fd))
        cannot_write(r);
}

void repeated_close(struct repeated *r)
{
    free(r->bytes);
    if (r->fd >= 0 && close(r->fd) != 0)
        cannot_write(r);
}
