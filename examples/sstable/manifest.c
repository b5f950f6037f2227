/* SPDX-License-Identifier: MIT */
#include "manifest.h"
#include "files.h"

#include <bloomfile.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECKSUM "checksum "

enum {
    TEXT_SIZE = 64 + 21 * (MANIFEST_TABLES + 2)
};

/* ---- reading */

static bool take(const char **text, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0)
        return false;
    *text += length;
    return true;
}

static bool take_number(const char **text, uint64_t *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoull(*text, &end, 10);
    *text = end + 1;
    return errno == 0 && *end == '\n';
}

static bool sum_is_right(const char *text, const char *at)
{
    char expected[64];
    snprintf(expected, sizeof expected, CHECKSUM "%016" PRIx64 "\n",
             bloomfile_hash(0, text, (size_t)(at - text)));
    return strcmp(at, expected) == 0;
}

static bool parse(struct manifest *m, const char *text)
{
    const char *at = text;
    m->count = 0;
    if (!take(&at, "sstable 1\nnext ") || !take_number(&at, &m->next))
        return false;
    while (m->count < MANIFEST_TABLES && *at != CHECKSUM[0]) {
        if (!take_number(&at, &m->tables[m->count++]))
            return false;
    }
    return sum_is_right(text, at);
}

int manifest_read(struct manifest *m, const char *directory, const struct reporter *reporter)
{
    char text[TEXT_SIZE];
    char *path = file_path(directory, "MANIFEST");
    size_t size = 0;
    int error = path == NULL ? ENOMEM : read_file(path, text, sizeof text - 1, &size);
    text[size] = '\0';
    if (error == 0 && (memchr(text, '\0', size) != NULL || !parse(m, text))) {
        error = EBADMSG;
        report(reporter, 0, "cannot use %s: it is no manifest, or damaged", path);
    } else if (error != 0 && error != ENOENT) {
        report(reporter, error, "cannot read the manifest of %s", directory);
    }
    free(path);
    return error;
}

bool manifest_names(const struct manifest *m, uint64_t number)
{
    for (size_t i = 0; i < m->count; i++) {
        if (m->tables[i] == number)
            return true;
    }
    return false;
}

/* ---- writing */

static size_t print(const struct manifest *m, char text[TEXT_SIZE])
{
    int used = sprintf(text, "sstable 1\nnext %" PRIu64 "\n", m->next);
    for (size_t i = 0; i < m->count; i++)
        used += sprintf(text + used, "%" PRIu64 "\n", m->tables[i]);
    used +=
        sprintf(text + used, CHECKSUM "%016" PRIx64 "\n", bloomfile_hash(0, text, (size_t)used));
    return (size_t)used;
}

int manifest_write(const struct manifest *m, const char *directory, bool *in_force,
                   const struct reporter *reporter)
{
    char text[TEXT_SIZE];
    char *path = file_path(directory, "MANIFEST"),
         *temporary = file_path(directory, "MANIFEST.tmp");
    *in_force = false;
    int error = path == NULL || temporary == NULL ? ENOMEM : 0;
    if (error == 0)
        error = write_file(temporary, text, print(m, text));
    if (error == 0 && rename(temporary, path) == -1)
        error = errno;
    if (error == 0) {
        *in_force = true;
        error = sync_directory(directory);
    }
    if (error != 0)
        report(reporter, error, "cannot write the manifest of %s", directory);
    free(path);
    free(temporary);
    return error;
}
