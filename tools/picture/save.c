/* SPDX-License-Identifier: MIT
 * The output of an image: to a file that appears complete or not at all, or to standard output. */
#include "picture/picture.h"

#include "cli/cli.h"
#include "cli/whole_file.h"
#include "filters/opening.h"
#include "filters/series.h"

#include <bloomfile.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_stdout(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* Whether the file is a filter. An empty file is not. A file that cannot be read may be a filter,
 * and ends the program. */
static bool is_filter(const char *path)
{
    bloomfile_filter *f;
    const int error = opening_any(&f, path, 0);
    if (error == 0)
        bloomfile_close(f);
    if (error > 0)
        cli_fail(error, "cannot write %s: it cannot be read, and may be a filter", path);
    return error != BLOOMFILE_EMAGIC && error != BLOOMFILE_EEMPTY;
}

/* Whether the file is an SVG image, or empty. --force does not replace other files, because the
 * user may have given the wrong name. */
static bool is_image(const char *path)
{
    char start[8];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, start, sizeof(start));
    close(fd); /* opened for reading: an error loses no data */
    return n == 0 || (n >= 5 && (memcmp(start, "<svg", 4) == 0 || memcmp(start, "<?xml", 5) == 0));
}

static void check_existing(const char *path, const struct stat *now, bool replace,
                           const struct stat *keep)
{
    if (!S_ISREG(now->st_mode))
        cli_fail(0, "cannot write %s: it is not a regular file ('-' is standard output)", path);
    if (keep != NULL && now->st_dev == keep->st_dev && now->st_ino == keep->st_ino)
        cli_fail(0, "cannot write %s: it is the filter itself", path);
    if (is_filter(path))
        cli_fail(0, "cannot write %s: it is a filter (write to another file)", path);
    if (!is_image(path))
        cli_fail(0, "cannot write %s: it is not an SVG image (write to another file)", path);
    if (!replace)
        cli_fail(
            0,
            "cannot write %s: it exists (write to another file; --force would overwrite this file)",
            path);
}

static void check_new(const char *path)
{
    if (series_dangles(path))
        cli_fail(0, "cannot write %s: it is a dangling symbolic link", path);
    char *copy = strdup(path);
    if (copy == NULL)
        cli_fail(ENOMEM, "cannot write %s", path);
    if (faccessat(AT_FDCWD, dirname(copy), W_OK | X_OK, AT_EACCESS) != 0)
        cli_fail(errno, "cannot write %s", path);
    free(copy);
}

void picture_check_target(const char *path, bool replace)
{
    struct stat now;
    char why[SERIES_TEXT];
    if (is_stdout(path) && isatty(STDOUT_FILENO))
        cli_usage("cannot write an image to a terminal (redirect standard output)");
    if (is_stdout(path))
        return;
    if (stat(path, &now) == 0)
        check_existing(path, &now, replace, NULL);
    else
        check_new(path);
    if (series_claims(path, why))
        cli_fail(0, "cannot write %s: %s", path, why);
}

/* Notes the file before it is checked, so that a file that appears later is not replaced. */
static struct replace_only note_existing(const char *path)
{
    struct replace_only only;
    int fd, error = replace_open(path, &fd);
    if (error == 0)
        error = replace_only_note(&only, fd);
    if (error != 0)
        cli_fail(error, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    return only;
}

void picture_save(const char *path, const void *bytes, size_t size, bool replace,
                  const struct stat *keep)
{
    if (is_stdout(path)) {
        cli_write(bytes, size);
        return;
    }
    const struct replace_only only = note_existing(path);
    if (only.exists)
        check_existing(path, &only.file, replace, keep);
    const int error = replace ? whole_file_replace_only(path, bytes, size, &only)
                              : whole_file_write(path, bytes, size, false);
    if (error == BLOOMFILE_EREPLACED)
        cli_fail(0,
                 "cannot write %s: another process created or changed it during the run (write to "
                 "another file)",
                 path);
    if (error != 0)
        cli_fail(error, "cannot write %s", path);
}
