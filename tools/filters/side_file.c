/* SPDX-License-Identifier: MIT
 * A second output file, checked at the start and emptied before the first write. */
#include "filters/side_file.h"
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

static _Noreturn void cannot_write(const struct side_file *s)
{
    if (s->written == NULL)
        cli_fail(errno, "cannot write %s to %s", s->what, s->path);
    cli_fail(0, "cannot write %s to %s: %s (%s is written)", s->what, s->path,
             bloomfile_strerror(errno), s->written);
}

enum {
    START = 16
};

/* Returns the number of bytes at the beginning of a regular file, at most START; else 0. */
static size_t read_start(const char *path, uint8_t bytes[START])
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? pread(fd, bytes, START, 0) : -1;
    if (fd >= 0)
        close(fd); /* opened for reading: an error loses no data */
    return n > 0 ? (size_t)n : 0;
}

bool side_file_is_filter(const char *path)
{
    uint8_t bytes[START];
    return input_type_is_filter(bytes, read_start(path, bytes));
}

static bool is_patch(const char *path)
{
    uint8_t bytes[START];
    const size_t size = read_start(path, bytes);
    return size >= 4 && input_type_is_patch(bytes, size);
}

/* The filter, or the layer that needs the name, may not exist yet. */
void side_file_check_name(const struct side_file *s, const char *filter)
{
    uint64_t slot;
    char *first = series_first(s->path, &slot);
    const bool same = first != NULL && same_file_are_same(first, filter);
    free(first);
    if (same)
        cli_fail(0, "cannot write %s to %s: the filter %s needs that name (write to another file)",
                 s->what, s->path, filter);
}

static void open_file(struct side_file *s, int flags)
{
    s->fd = open(s->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
    if (s->fd < 0)
        cannot_write(s);
}

/* Checks the folder instead of creating the file: a start that fails must not leave a new file. */
static void check_folder(const struct side_file *s)
{
    char *copy = strdup(s->path);
    if (copy == NULL)
        cli_fail(ENOMEM, "cannot start");
    if (faccessat(AT_FDCWD, dirname(copy), W_OK | X_OK, AT_EACCESS) != 0)
        cannot_write(s);
    free(copy);
}

void side_file_open(struct side_file *s)
{
    char why[SERIES_TEXT];
    s->fd = -1;
    if (s->path == NULL)
        return;
    const bool exists = access(s->path, F_OK) == 0;
    if (side_file_is_filter(s->path) || is_patch(s->path))
        cli_fail(0, "cannot write %s to %s: it is a %s (write to another file)", s->what, s->path,
                 is_patch(s->path) ? "patch" : "filter");
    if (series_claims(s->path, why))
        cli_fail(0, "cannot write %s to %s: %s", s->what, s->path, why);
    if (exists)
        open_file(s, 0);
    else
        check_folder(s);
}

void side_file_begin(struct side_file *s)
{
    struct stat st;
    if (s->path == NULL || s->begun)
        return;
    if (s->fd < 0)
        open_file(s, O_CREAT | O_EXCL); /* another process may have created the file by now */
    if (fstat(s->fd, &st) != 0 || (S_ISREG(st.st_mode) && ftruncate(s->fd, 0) != 0))
        cannot_write(s);
    s->begun = true;
}

void side_file_write(const struct side_file *s, const void *bytes, size_t size)
{
    if (s->path != NULL && !await_write(s->fd, bytes, size))
        cannot_write(s);
}

void side_file_close(struct side_file *s)
{
    if (s->path != NULL && s->fd >= 0 && close(s->fd) != 0)
        cannot_write(s);
    s->fd = -1;
}
