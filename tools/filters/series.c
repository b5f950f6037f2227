/* SPDX-License-Identifier: MIT
 * Series of files (format-spec.md, slices.md): errors in words, names. */
#include "filters/series.h"

#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text.h"

/* -------------------------------------------------------------------------------------- names */

uint64_t series_slot(const struct bloomfile_info *info)
{
    return info->generations > 0 ? info->layer % info->generations : info->layer;
}

char *series_path(const char *path, uint64_t slot)
{
    char *resolved = realpath(path, NULL), *name;
    const char *base = resolved != NULL ? resolved : path;
    const int size =
        slot == 0 ? asprintf(&name, "%s", base) : asprintf(&name, "%s.%" PRIu64, base, slot);
    if (size < 0)
        text_no_memory();
    free(resolved);
    return name;
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* The name that the user of `path` would use. Symbolic links are resolved only if
 * `path` is a link. */
static void put_name(char *text, size_t size, const char *path, uint64_t slot)
{
    const bool link = is_link(path);
    char *name = link ? series_path(path, slot) : NULL;
    if (link || slot == 0)
        snprintf(text, size, "%s", link ? name : path);
    else
        snprintf(text, size, "%s.%" PRIu64, path, slot);
    free(name);
}

char *series_name(const char *path, uint64_t slot)
{
    char suffix[32];
    const int length = snprintf(suffix, sizeof(suffix), ".%" PRIu64, slot);
    const size_t size = strlen(path);
    if (slot == 0 || size <= (size_t)length || strcmp(path + size - length, suffix) != 0)
        return NULL;
    char *name = strndup(path, size - (size_t)length);
    if (name == NULL)
        text_no_memory();
    return name;
}

bool series_dangles(const char *path)
{
    struct stat st;
    return is_link(path) && stat(path, &st) != 0 && errno == ENOENT;
}

char *series_first(const char *path, uint64_t *slot)
{
    const char *dot = strrchr(path, '.');
    const size_t digits = dot != NULL ? strspn(dot + 1, "0123456789") : 0;
    if (digits < 1 || digits > 3 || dot[1 + digits] != '\0')
        return NULL;
    *slot = strtoull(dot + 1, NULL, 10);
    char *name = series_name(path, *slot); /* NULL: leading zeros */
    if (name == NULL || !is_link(name) || series_dangles(name))
        return name;
    free(name);
    return NULL;
}

int series_look(const char *path, struct bloomfile_info *info)
{
    uint8_t bytes[4096];
    struct stat st;
    *info = BLOOMFILE_INFO_INIT;
    if (lstat(path, &st) != 0)
        return ENOENT;
    if (stat(path, &st) != 0)
        return errno == EACCES || errno == EIO ? errno : ENOENT; /* a link that leads nowhere */
    if (!S_ISREG(st.st_mode))
        return BLOOMFILE_ENOTREGULAR; /* do not open a FIFO */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const ssize_t have = fd >= 0 && fstat(fd, &st) == 0 ? pread(fd, bytes, sizeof(bytes), 0) : -1;
    int error = have < 0 ? errno : BLOOMFILE_ETRUNCATED;
    if (have == (ssize_t)sizeof(bytes) || have == st.st_size)
        error = bloomfile_inspect(bytes, (uint64_t)st.st_size, info, NULL, NULL);
    if (fd >= 0)
        close(fd);
    return error == BLOOMFILE_ERECORD ? 0 : error; /* the header is being written */
}

/* Whether series_look() could not read the file. It may be a layer. */
static bool is_unknown(int error)
{
    return error > 0 && error != ENOENT;
}

/* Like is_unknown(), for look_second(). */
static bool may_be_second(int error)
{
    return is_unknown(error) || error == BLOOMFILE_EHEADER;
}

static bool is_layer_of_slot(const struct bloomfile_info *info, uint64_t slot)
{
    return info->series != 0 && series_slot(info) == slot;
}

/* series_look() for the second file of the series `path`. Returns BLOOMFILE_ESERIES if the file is
 * not that layer. */
static int look_second(const char *path, struct bloomfile_info *info)
{
    char *name = series_path(path, 1);
    const int error = series_look(name, info);
    free(name);
    return error == 0 && !is_layer_of_slot(info, 1) ? BLOOMFILE_ESERIES : error;
}

/* ----------------------------------------------------------------------------- explanations */

static const char restore[] = "restore the right file";
static const char restore_or_move[] =
    "restore the right file; if it never existed, move this file away";

static void put_problem(const struct bloomfile_open_report *r, char *is, size_t size,
                        const char **advice)
{
    *advice = restore_or_move;
    switch (r->reason) {
    case BLOOMFILE_REASON_MISSING:
        *advice = series_dangles(r->path)
                      ? "restore its target; if the layer never existed, remove the link"
                      : "restore it, or copy it too: no other file has its keys";
        snprintf(is, size, "is %s",
                 series_dangles(r->path) ? "a dangling symbolic link" : "missing");
        break;
    case BLOOMFILE_REASON_NOT_A_LAYER:
        snprintf(is, size, "is a separate filter, not a layer");
        break;
    case BLOOMFILE_REASON_OTHER_SERIES:
        snprintf(is, size, "belongs to another series");
        break;
    case BLOOMFILE_REASON_WRONG_LAYER:
        *advice = restore;
        snprintf(is, size, "is layer %" PRIu64 ", not %" PRIu64, r->found, r->layer);
        break;
    case BLOOMFILE_REASON_OLDER_COPY:
        *advice = "restore the right file; if the machine lost power, try --accept-unclean";
        snprintf(is, size, "is an older copy, from when it was the last layer");
        break;
    default:
        if (r->file_error == EACCES)
            *advice = "give it the permissions of the first file";
        snprintf(is, size, "cannot be %s: %s",
                 r->file_error == EACCES && access(r->path, R_OK) == 0 ? "written" : "used",
                 bloomfile_strerror(r->file_error));
    }
}

static void explain_layer(const char *path, const struct bloomfile_open_report *r, char *text)
{
    char name[SERIES_TEXT - 300], is[160];
    const char *advice;
    put_problem(r, is, sizeof(is), &advice);
    put_name(name, sizeof(name), path, r->slot);
    snprintf(text, SERIES_TEXT, "its layer %s %s (%s)", name, is, advice);
}

static void explain_name(const char *path, const struct bloomfile_open_report *r, char *text)
{
    char name[SERIES_TEXT - 300];
    put_name(name, sizeof(name), path, r->slot);
    snprintf(text, SERIES_TEXT, "%s %s", r->slot == 0 ? "it" : name,
             r->reason == BLOOMFILE_REASON_MOUNT_POINT
                 ? "is a mount point, and the other layers of its series are in another folder "
                   "(mount that folder, not the file)"
                 : "has a second hard link, and a writer that uses it would create its own layers "
                   "(remove the other link)");
}

static void explain_part(const char *path, const struct bloomfile_open_report *r, char *text)
{
    char *name = series_name(path, r->slot);
    snprintf(text, SERIES_TEXT, "it is only layer %" PRIu64 " of a series of files%s%s%s", r->layer,
             name != NULL ? " (use the first file: " : "", name != NULL ? name : "",
             name != NULL ? ")" : ", and was renamed (restore its name, and use the first file)");
    free(name);
}

static void explain_sealed(const struct bloomfile_open_report *r, char *text)
{
    if (r->image_offset == 0)
        snprintf(text, SERIES_TEXT,
                 "it begins with layer %" PRIu64
                 " of a sealed series, and the layers before it are missing (copy it again)",
                 r->layer);
    else
        snprintf(text, SERIES_TEXT,
                 "its layer %" PRIu64 ", at byte %" PRIu64 ": %s (copy it again)", r->layer,
                 r->image_offset,
                 r->reason == BLOOMFILE_REASON_FILE ? bloomfile_strerror(r->file_error)
                                                    : "it was not sealed with the other layers");
}

/* Explains that the first file of the series is missing, if its second file exists. */
static bool explain_absence(const char *path, char *text)
{
    struct bloomfile_info second;
    const bool is = look_second(path, &second) == 0;
    if (is)
        snprintf(text, SERIES_TEXT,
                 "it is missing: the first file of the series of %.*s.1 (restore it, or copy it "
                 "too: no other file has its keys)",
                 SERIES_TEXT - 200, path);
    return is;
}

/* Errors that tools explain for any live file, and errors that are not caused by the file. */
static bool is_general(int error)
{
    return error == BLOOMFILE_EUNCLEAN || error == BLOOMFILE_EPOISONED || error == EBUSY ||
           error == ENOMEM || error == EMFILE || error == ENFILE;
}

bool series_explain(const char *path, const struct bloomfile_open_report *r, char text[SERIES_TEXT])
{
    switch (r->reason) {
    case BLOOMFILE_REASON_NONE:
        return r->error == ENOENT && explain_absence(path, text);
    case BLOOMFILE_REASON_NOT_FIRST:
        explain_part(path, r, text);
        return true;
    case BLOOMFILE_REASON_NOT_NEXT:
        explain_sealed(r, text);
        return true;
    case BLOOMFILE_REASON_HARD_LINK:
    case BLOOMFILE_REASON_MOUNT_POINT:
        explain_name(path, r, text);
        return true;
    case BLOOMFILE_REASON_FILE:
        if (is_general(r->file_error))
            return false;
        if (r->image_offset > 0) {
            explain_sealed(r, text);
            return true;
        }
        break;
    default:
        break;
    }
    explain_layer(path, r, text);
    return true;
}

bool series_explain_later(const char *path, const bloomfile_filter *f, int error,
                          char text[SERIES_TEXT])
{
    struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
    return bloomfile_layer_report(f, &report) == 0 && report.error == error &&
           report.reason != BLOOMFILE_REASON_NONE && series_explain(path, &report, text);
}

/* ----------------------------------------------------------------------- files to be replaced */

bool series_files(const char *path, char text[SERIES_TEXT])
{
    uint64_t first = 0, last = 0;
    struct stat st;
    for (uint64_t slot = 1; slot < SERIES_MOST; slot++) {
        char *name = series_path(path, slot);
        if (lstat(name, &st) == 0) {
            first = first == 0 ? slot : first;
            last = slot;
        }
        free(name);
    }
    if (first == 0)
        return false;
    char name[2][SERIES_TEXT / 2 - 10];
    put_name(name[0], sizeof(name[0]), path, first);
    put_name(name[1], sizeof(name[1]), path, last);
    snprintf(text, SERIES_TEXT, "%s%s%s", name[0], first < last ? " to " : "",
             first < last ? name[1] : "");
    return true;
}

bool series_holds(const char *path, char text[SERIES_TEXT])
{
    char others[SERIES_TEXT];
    struct bloomfile_info info;
    if (series_look(path, &info) != 0 || info.series == 0)
        return false;
    if (series_slot(&info) != 0) {
        snprintf(text, SERIES_TEXT,
                 "it is layer %" PRIu64 " of a series of files, which cannot be used without it",
                 info.layer);
        return true;
    }
    if (!series_files(path, others))
        return false;
    snprintf(
        text, SERIES_TEXT,
        "it is a series of files, %.*s and %.*s, whose keys would be lost (write to another file)",
        SERIES_TEXT / 4, path, SERIES_TEXT / 2, others);
    return true;
}

static bool explain_unknown(const char *path, uint64_t slot, int error, char text[SERIES_TEXT])
{
    char name[SERIES_TEXT - 300];
    put_name(name, sizeof(name), path, slot);
    snprintf(text, SERIES_TEXT,
             "cannot check whether %s is a layer of a series: %s (write to another file)", name,
             bloomfile_strerror(error));
    return true;
}

/* Whether `path` is missing or damaged, and its second file is a layer. Checks the second file
 * before the first, because a new series gets its second file last. */
static bool lacks_first(const char *path, char text[SERIES_TEXT])
{
    char others[SERIES_TEXT];
    struct bloomfile_info info;
    const int second = look_second(path, &info);
    if (second != 0 && !may_be_second(second))
        return false;
    const int first = series_look(path, &info);
    if (first == 0)
        return false;
    if (may_be_second(second))
        return explain_unknown(path, 1, second, text);
    if (is_unknown(first))
        return explain_unknown(path, 0, first, text);
    if (!series_files(path, others))
        return false;
    snprintf(text, SERIES_TEXT,
             "the series of %.*s needs that name for its first file (restore or repair that file, "
             "or move the other files of the series away)",
             SERIES_TEXT - 200, others);
    return true;
}

/* Whether the series `path` has a layer of this slot, or will have it. Its first file may be
 * missing or damaged. */
static bool needs_layer(const char *path, uint64_t slot, char text[SERIES_TEXT])
{
    struct bloomfile_info info;
    const int first = series_look(path, &info);
    if (is_unknown(first))
        return explain_unknown(path, 0, first, text);
    const int second = first != 0 ? look_second(path, &info) : 0;
    if (may_be_second(second))
        return explain_unknown(path, 1, second, text);
    if (second != 0 || !is_layer_of_slot(&info, first != 0) ||
        (info.generations > 0 && slot >= info.generations))
        return false;
    snprintf(text, SERIES_TEXT, "the series %s needs that name for a layer (choose another name)",
             path);
    return true;
}

static bool is_layer_name(const char *path, char text[SERIES_TEXT])
{
    uint64_t slot;
    char *first = series_first(path, &slot);
    const bool is = first != NULL && needs_layer(first, slot, text);
    free(first);
    return is;
}

bool series_claims(const char *path, char text[SERIES_TEXT])
{
    char *resolved = realpath(path, NULL); /* NULL: the file is missing */
    const bool claims = lacks_first(path, text) || is_layer_name(path, text) ||
                        (resolved != NULL && is_layer_name(resolved, text));
    free(resolved);
    return claims;
}
