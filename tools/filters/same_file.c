/* SPDX-License-Identifier: MIT
 * Detecting two names for the same file: by device and inode or, if it does not exist yet, by
 * path. */
#include "filters/same_file.h"
#include "cli/cli.h"
#include "filters/series.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool identify(const char *path, int standard, struct stat *st)
{
    int failed = strcmp(path, "-") == 0 ? fstat(standard, st) : stat(path, st);
    return failed == 0 && S_ISREG(st->st_mode);
}

static bool are_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool same_file_is(const char *output, const char *input)
{
    struct stat in, out;
    return identify(output, STDOUT_FILENO, &out) && identify(input, STDIN_FILENO, &in) &&
           are_same(&in, &out);
}

/* The number of files that the filter may have. */
static uint64_t files_of(const char *filter)
{
    struct bloomfile_info first;
    if (series_look(filter, &first) != 0 || first.series == 0)
        return 1;
    return first.generations > 0 ? first.generations : SERIES_MOST;
}

bool same_file_is_filter(const char *output, const char *filter)
{
    struct stat out;
    bool is = same_file_is(output, filter);
    if (is || !identify(output, STDOUT_FILENO, &out))
        return is;
    const uint64_t files = files_of(filter);
    for (uint64_t slot = 1; slot < files && !is; slot++) {
        char *name = series_path(filter, slot);
        is = same_file_is(output, name);
        free(name);
    }
    return is;
}

static void check_input(const char *output, const char *path)
{
    bool in_standard = strcmp(path, "-") == 0, out_standard = strcmp(output, "-") == 0;
    if (!same_file_is(output, path))
        return;
    cli_fail(0, "cannot read %s%s%s: it is also the output (write to another file)",
             in_standard ? "standard input" : path, in_standard && !out_standard ? ", " : "",
             in_standard && !out_standard ? output : "");
}

void same_file_check_inputs(const char *output, char *const *paths, int count)
{
    for (int i = 0; i < count; i++)
        check_input(output, paths[i]);
    if (count == 0)
        check_input(output, "-");
}

void same_file_check_names(const char *output, const struct names *inputs)
{
    same_file_check_inputs(output, inputs->list, inputs->count);
    if (inputs->files_count > 0)
        same_file_check_inputs(output, inputs->files, inputs->files_count);
}

/* ------------------------------------------------------------------------------------ outputs */

static char *copy(const char *path)
{
    char *text = strdup(path);
    if (text == NULL)
        cli_fail(ENOMEM, "cannot continue");
    return text;
}

/* For files that do not exist yet: whether both are the same name in the same folder. */
static bool will_be_same(const char *path, const char *other)
{
    char *folders[2] = { copy(path), copy(other) }, *names[2] = { copy(path), copy(other) };
    struct stat a, b;
    bool same = stat(path, &a) != 0 && stat(other, &b) != 0 && /* both may be a terminal */
                stat(dirname(folders[0]), &a) == 0 && stat(dirname(folders[1]), &b) == 0 &&
                are_same(&a, &b) && strcmp(basename(names[0]), basename(names[1])) == 0;
    for (int i = 0; i < 2; i++) {
        free(folders[i]);
        free(names[i]);
    }
    return same;
}

bool same_file_are_same(const char *output, const char *other)
{
    struct stat a, b;
    bool exists = identify(output, STDOUT_FILENO, &a),
         other_exists = identify(other, STDOUT_FILENO, &b);
    if (exists || other_exists)
        return exists && other_exists && are_same(&a, &b);
    return strcmp(output, "-") != 0 && strcmp(other, "-") != 0 && will_be_same(output, other);
}

void same_file_check_outputs(const char *output, const char *other)
{
    const char *name = strcmp(output, "-") == 0 ? "standard output" : output;
    if (same_file_are_same(output, other))
        cli_fail(0, "cannot write two outputs to one file, %s (write to another file)", name);
}
