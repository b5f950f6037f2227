/* SPDX-License-Identifier: MIT
 * Reads the headers of all of them, as format-spec.md, section 21, has them. */
#include "shared/layers.h"
#include "shared/text.h"

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
    PAGE = 4096, /* where sealed layers begin */
    MOST_LAYERS = 1000,
    FIELDS = 80,
    IS_LAYER = 1, /* bit of incompat */
    SUCCEEDED = 4 /* bit of a record's flags */
};

/* One layer, as far as its header tells. */
struct layer {
    int error; /* why there is none: an errno or BLOOMFILE_E* */
    struct bloomfile_info info;
    uint64_t link, next_link; /* of sealed ones: what it says, and what the next one must */
    bool succeeded;
};

bool layers_is_one(const struct bloomfile_info *info)
{
    return (info->incompat & IS_LAYER) != 0;
}

static bool is_live_layer(const struct bloomfile_info *info)
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

/* As the user knows it: not by what a symbolic link leads to, if the other is there too. */
static void put_name(char *text, size_t size, const char *path, uint64_t slot)
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

static void read_fields(struct layer *l, const uint8_t *bytes)
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
static int decode(struct layer *l, int fd, uint64_t at)
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
        error = bloomfile_inspect(bytes, (size_t)known, &l->info, NULL, NULL);
    }
    if (error == 0)
        read_fields(l, bytes);
    return error;
}

static struct layer look(const char *path, uint64_t at)
{
    struct layer l = { 0 };
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    l.error = fd < 0 ? errno : decode(&l, fd, at);
    if (fd >= 0)
        close(fd);
    return l;
}

static struct layer look_at_slot(const char *path, uint64_t slot)
{
    char *name = layers_path(path, slot);
    struct layer l = look(name, 0);
    free(name);
    return l;
}

/* ------------------------------------------------------------------------- a live series: who? */

struct search {
    const char *path;
    struct layer first;
    char *text;
};

static bool blame(const struct search *s, uint64_t slot, const char *is, const char *advice)
{
    char name[LAYERS_TEXT - 200];
    put_name(name, sizeof(name), s->path, slot);
    snprintf(s->text, LAYERS_TEXT, "its layer %s %s (%s)", name, is, advice);
    return true;
}

static bool blame_missing(const struct search *s, uint64_t slot)
{
    return blame(s, slot, "is missing", "put it back: it has keys that are nowhere else");
}

/* What a file is that is there, but is not the layer that should be. */
static bool blame_found(const struct search *s, uint64_t slot, const struct layer *found,
                        uint64_t due)
{
    const struct bloomfile_info *a = &s->first.info, *b = &found->info;
    char is[200];
    const char *advice = "put the right file back";
    if (found->error != 0)
        snprintf(is, sizeof(is), "cannot be used: %s", bloomfile_strerror(found->error));
    else if (!is_live_layer(b))
        snprintf(is, sizeof(is), "is a filter of its own, and no layer");
    else if (a->series != b->series)
        snprintf(is, sizeof(is), "is one of another series");
    else if (b->layer != due)
        snprintf(is, sizeof(is), "is number %" PRIu64 ", and not %" PRIu64, b->layer, due);
    else
        return false;
    if (found->error == EACCES)
        advice = "its permissions must be those of the first";
    else if (found->error != 0 || !is_live_layer(b) || a->series != b->series)
        advice = "put the right file back; if there never was one, move this one away";
    return blame(s, slot, is, advice);
}

static bool search_growing(const struct search *s, int error)
{
    struct layer last = s->first;
    uint64_t slot = 1;
    for (; slot < MOST_LAYERS; slot++) {
        const struct layer next = look_at_slot(s->path, slot);
        if (next.error == ENOENT)
            break;
        if (blame_found(s, slot, &next, slot))
            return true;
        if (error == BLOOMFILE_ESERIES && !last.succeeded &&
            look_at_slot(s->path, slot + 1).error == 0)
            return blame(s, slot - 1, "is an older copy of itself, from when it was the last one",
                         "put the right file back");
        last = next;
    }
    return error == BLOOMFILE_ELAYER && last.succeeded && blame_missing(s, slot);
}

static bool search_ring(const struct search *s, int error)
{
    const uint64_t slots = s->first.info.generations;
    struct layer newest = s->first;
    for (uint64_t slot = 1; slot < slots; slot++) {
        const struct layer l = look_at_slot(s->path, slot);
        if (l.error != ENOENT && blame_found(s, slot, &l, l.info.layer))
            return true;
        if (l.error == 0 && l.info.layer > newest.info.layer)
            newest = l;
    }
    const uint64_t end = newest.info.layer + 1;
    for (uint64_t slot = 0; slot < slots && slot < end; slot++) {
        const struct layer l = look_at_slot(s->path, slot);
        const uint64_t due = end - 1 - (end - 1 - slot) % slots;
        if (l.error == ENOENT)
            return blame_missing(s, slot);
        if (blame_found(s, slot, &l, due))
            return true;
    }
    const uint64_t next = end % slots;
    return error == BLOOMFILE_ELAYER && newest.succeeded &&
           (look_at_slot(s->path, next).error == ENOENT
                ? blame_missing(s, next)
                : blame(s, next, "is an older one, which has been replaced since",
                        "put the right file back"));
}

/* Reading is not what was refused. */
static bool search_refused(const struct search *s)
{
    for (uint64_t slot = 1; slot < MOST_LAYERS; slot++) {
        char *name = layers_path(s->path, slot);
        const int refused = faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) != 0 ? errno : 0;
        free(name);
        if (refused == ENOENT)
            break;
        if (refused == EACCES)
            return blame(s, slot, "cannot be written: Permission denied",
                         "its permissions must be those of the first");
    }
    return false;
}

static bool explain_place(const struct search *s)
{
    const struct bloomfile_info *info = &s->first.info;
    const uint64_t slot = layers_slot(info);
    char *name = layers_name(s->path, slot);
    if (name != NULL)
        snprintf(s->text, LAYERS_TEXT,
                 "it is only layer %" PRIu64 " of a series of files, which is used by the name of"
                 " the first (%s)",
                 info->layer, name);
    else
        snprintf(s->text, LAYERS_TEXT,
                 "it is only layer %" PRIu64 " of a series of files, which is used by the name of"
                 " the first, and has its own name no more",
                 info->layer);
    free(name);
    return true;
}

static bool explain_live(const struct search *s, int error)
{
    if (layers_slot(&s->first.info) != 0)
        return explain_place(s);
    if (s->first.info.generations > 0 ? search_ring(s, error) : search_growing(s, error))
        return true;
    return error == EACCES && search_refused(s);
}

/* ------------------------------------------------------------------------- a sealed one: where? */

static bool explain_sealed(const struct search *s)
{
    struct layer last = s->first;
    uint64_t at = 0;
    if (last.info.layer != 0) {
        snprintf(s->text, LAYERS_TEXT,
                 "it begins with layer %" PRIu64 " of a sealed series, which has lost what is"
                 " before that (copy it again)",
                 last.info.layer);
        return true;
    }
    for (uint64_t i = 1; i < last.info.layers; i++) {
        at += (last.info.image_size + PAGE - 1) / PAGE * PAGE;
        const struct layer next = look(s->path, at);
        const bool fits =
            next.info.layer == i && layers_is_one(&next.info) && next.link == last.next_link;
        if (next.error != 0 || !fits) {
            snprintf(s->text, LAYERS_TEXT,
                     "its layer %" PRIu64 ", at byte %" PRIu64 ": %s (copy it again)", i, at,
                     next.error != 0 ? bloomfile_strerror(next.error)
                                     : "it is not the one that was sealed with the others");
            return true;
        }
        last = next;
    }
    return false;
}

/* The first file itself is missing. */
static bool explain_absence(const char *path, char text[LAYERS_TEXT])
{
    const struct layer second = look_at_slot(path, 1);
    if (second.error != 0 || !is_live_layer(&second.info) || layers_slot(&second.info) != 1)
        return false;
    snprintf(text, LAYERS_TEXT,
             "it is missing, the first file of a series of which %.*s.1 is there (put it back: it"
             " has keys that are nowhere else)",
             LAYERS_TEXT - 200, path);
    return true;
}

bool layers_explain(const char *path, int error, char text[LAYERS_TEXT])
{
    const struct search s = { path, look(path, 0), text };
    if (s.first.error == ENOENT)
        return explain_absence(path, text);
    if (s.first.error != 0 || !layers_is_one(&s.first.info))
        return false;
    return is_live_layer(&s.first.info) ? explain_live(&s, error) : explain_sealed(&s);
}

/* ---------------------------------------------------------------------------- what is replaced */

bool layers_beside(const char *path, char text[LAYERS_TEXT])
{
    uint64_t first = 0, last = 0;
    struct stat st;
    for (uint64_t slot = 1; slot < MOST_LAYERS; slot++) {
        char *name = layers_path(path, slot);
        if (lstat(name, &st) == 0) {
            first = first == 0 ? slot : first;
            last = slot;
        }
        free(name);
    }
    if (first == 0)
        return false;
    char name[2][LAYERS_TEXT / 2 - 10];
    put_name(name[0], sizeof(name[0]), path, first);
    put_name(name[1], sizeof(name[1]), path, last);
    snprintf(text, LAYERS_TEXT, "%s%s%s", name[0], first < last ? " to " : "",
             first < last ? name[1] : "");
    return true;
}

bool layers_hold(const char *path, char text[LAYERS_TEXT])
{
    char others[LAYERS_TEXT];
    const struct layer l = look(path, 0);
    if (l.error != 0 || !is_live_layer(&l.info))
        return false;
    const uint64_t slot = layers_slot(&l.info);
    if (slot != 0) {
        snprintf(text, LAYERS_TEXT,
                 "it is layer %" PRIu64 " of a series of files, which would be"
                 " lost without it",
                 l.info.layer);
        return true;
    }
    if (!layers_beside(path, others))
        return false;
    snprintf(text, LAYERS_TEXT, "it is a series of files: remove all of them first, %.*s and %.*s",
             LAYERS_TEXT / 4, path, LAYERS_TEXT / 2, others);
    return true;
}

bool layers_claim(const char *path, char text[LAYERS_TEXT])
{
    uint64_t slot = 0;
    const char *dot = strrchr(path, '.');
    const size_t digits = dot != NULL ? strspn(dot + 1, "0123456789") : 0;
    if (digits < 1 || digits > 3 || dot[1 + digits] != '\0')
        return false;
    for (size_t i = 1; i <= digits; i++)
        slot = 10 * slot + (uint64_t)(dot[i] - '0');
    char *base = layers_name(path, slot); /* NULL: digits with zeros before them */
    if (base == NULL)
        return false;
    const struct layer l = look(base, 0);
    const bool claimed = l.error == 0 && is_live_layer(&l.info) && layers_slot(&l.info) == 0 &&
                         (l.info.generations == 0 || slot < l.info.generations);
    if (claimed)
        snprintf(text, LAYERS_TEXT,
                 "that is the name of a further layer of the series %s (take another name)", base);
    free(base);
    return claimed;
}
