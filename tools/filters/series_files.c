/* SPDX-License-Identifier: MIT
 * Names and headers of the files of a series, as doc/format/live.md 9 has them. */
#include "filters/series_files.h"
#include "cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER_SIZE = 4096,
    FIELDS = 80,
    IS_LAYER = 1, /* bit of incompat */
    SUCCEEDED = 4 /* bit of a record's flags */
};

bool layers_is_one(const struct bloomfile_info *info)
{
    return (info->incompat & IS_LAYER) != 0;
}

bool layers_is_live(const struct bloomfile_info *info)
{
    return layers_is_one(info) && info->series != 0;
}

uint64_t layers_slot(const struct bloomfile_info *info)
{
    return info->generations > 0 ? info->layer % info->generations : info->layer;
}

/* -------------------------------------------------------------------------------------- names */

char *layers_path(const char *path, uint64_t slot)
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

void layers_put_name(char *text, size_t size, const char *path, uint64_t slot)
{
    struct stat st;
    char *name = layers_path(path, slot);
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        snprintf(text, size, "%s", name);
    else if (slot == 0)
        snprintf(text, size, "%s", path);
    else
        snprintf(text, size, "%s.%" PRIu64, path, slot);
    free(name);
}

char *layers_name(const char *path, uint64_t slot)
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

/* ------------------------------------------------------------------------------------ headers */

static uint64_t number(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | bytes[size];
    return value;
}

static void read_fields(struct layers_one *l, const uint8_t *bytes)
{
    struct bloomfile_field fields[FIELDS];
    const size_t count = bloomfile_fields(HEADER_SIZE, IS_LAYER, fields, FIELDS);
    for (size_t i = 0; i < count && i < FIELDS; i++) {
        const struct bloomfile_field *f = &fields[i];
        const uint64_t value = f->size <= 8 ? number(bytes + f->offset, f->size) : 0;
        if (f->record >= 0 && strcmp(f->name, "flags") == 0)
            l->succeeded |= (value & SUCCEEDED) != 0;
        if (f->record < 0 && strcmp(f->name, "link") == 0)
            l->link = value;
        if (f->record < 0 && strcmp(f->name, "header_crc") == 0)
            l->next_link = value | (uint64_t)l->info.body_crc << 32;
    }
}

/* A record looks damaged for a moment while it is written. */
static int decode(struct layers_one *l, int fd, uint64_t at)
{
    uint8_t bytes[HEADER_SIZE];
    struct stat st;
    int error = BLOOMFILE_ERECORD;
    for (int tries = 0; tries < 100 && error == BLOOMFILE_ERECORD; tries++) {
        const ssize_t have = fstat(fd, &st) == 0 ? pread(fd, bytes, sizeof(bytes), (off_t)at) : -1;
        if (have < 0)
            return errno;
        l->info = (struct bloomfile_info)BLOOMFILE_INFO_INIT;
        const uint64_t rest = (uint64_t)st.st_size > at ? (uint64_t)st.st_size - at : 0;
        const uint64_t known = have < HEADER_SIZE && (uint64_t)have < rest ? (uint64_t)have : rest;
        error = bloomfile_inspect(bytes, known, &l->info, NULL, NULL);
    }
    if (error == 0)
        read_fields(l, bytes);
    return error;
}

struct layers_one layers_look(const char *path, uint64_t at)
{
    struct layers_one l = { 0 };
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    l.error = fd < 0 ? errno : decode(&l, fd, at);
    if (fd >= 0)
        close(fd);
    return l;
}

struct layers_one layers_look_at_slot(const char *path, uint64_t slot)
{
    char *name = layers_path(path, slot);
    struct layers_one l = layers_look(name, 0);
    free(name);
    return l;
}
