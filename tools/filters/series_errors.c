/* SPDX-License-Identifier: MIT
 * Errors of a series: the file to blame, and its fault (doc/format/live.md 9.1 and
 * doc/format/slices.md 2.2). */
#include "filters/series_errors.h"
#include "filters/series_files.h"

#include "os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool layers_leads_nowhere(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) != 0 && errno == ENOENT;
}

/* ------------------------------------------------------------------------- a live series: who? */

struct search {
    const char *path;
    struct layers_one first;
    char *text;
};

static bool blame(const struct search *s, uint64_t slot, const char *is, const char *advice)
{
    char name[LAYERS_TEXT - 200];
    layers_put_name(name, sizeof(name), s->path, slot);
    snprintf(s->text, LAYERS_TEXT, "its layer %s %s (%s)", name, is, advice);
    return true;
}

static bool is_mount_point(const struct search *s, uint64_t slot)
{
    char *name = layers_path(s->path, slot);
    const bool is = mount_is_point(AT_FDCWD, name);
    free(name);
    return is;
}

static bool say_name(const struct search *s, uint64_t slot, const char *is_and_advice)
{
    char name[LAYERS_TEXT - 200];
    layers_put_name(name, sizeof(name), s->path, slot);
    snprintf(s->text, LAYERS_TEXT, "%s %s", slot == 0 ? "it" : name, is_and_advice);
    return true;
}

static bool blame_mount(const struct search *s, uint64_t slot)
{
    return say_name(s, slot,
                    "is a mount point, and the other layers of its series are in another folder"
                    " (mount that folder, not the file)");
}

static bool blame_missing(const struct search *s, uint64_t slot)
{
    if (is_mount_point(s, 0))
        return blame_mount(s, 0);
    return blame(s, slot, "is missing", "restore it, or copy it too: no other file has its keys");
}

/* What all layers have in common. */
static bool is_same_series(const struct bloomfile_info *a, const struct bloomfile_info *b)
{
    return a->series == b->series && a->generations == b->generations && a->period == b->period &&
           a->series_fpr == b->series_fpr && a->layout == b->layout && a->hash_id == b->hash_id &&
           a->self_test == b->self_test && a->seed == b->seed && a->compat == b->compat &&
           a->framing == b->framing && a->framing_size == b->framing_size &&
           memcmp(a->tag, b->tag, sizeof(a->tag)) == 0 && strcmp(a->label, b->label) == 0;
}

/* What a file is that is there, but is not the layer that should be. */
static bool blame_found(const struct search *s, uint64_t slot, const struct layers_one *found,
                        uint64_t due)
{
    const struct bloomfile_info *a = &s->first.info, *b = &found->info;
    char is[200];
    const char *advice = "restore the right file";
    if (found->error != 0)
        snprintf(is, sizeof(is), "cannot be used: %s", bloomfile_strerror(found->error));
    else if (!layers_is_live(b))
        snprintf(is, sizeof(is), "is a separate filter, not a layer");
    else if (!is_same_series(a, b))
        snprintf(is, sizeof(is), "belongs to another series");
    else if (b->layer != due)
        snprintf(is, sizeof(is), "is layer %" PRIu64 ", not %" PRIu64, b->layer, due);
    else
        return false;
    if (found->error == EACCES)
        advice = "give it the permissions of the first file";
    else if (found->error != 0 || !layers_is_live(b) || !is_same_series(a, b))
        advice = "restore the right file; if it never existed, move this file away";
    return blame(s, slot, is, advice);
}

static bool blame_older(const struct search *s, uint64_t slot)
{
    return blame(s, slot, "is an older copy, from when it was the last layer",
                 "restore the right file");
}

static bool search_growing(const struct search *s, int error)
{
    struct layers_one last = s->first;
    bool marked = true; /* the one before the last */
    uint64_t slot = 1;
    for (; slot < LAYERS_MOST; slot++) {
        const struct layers_one next = layers_look_at_slot(s->path, slot);
        if (next.error == ENOENT)
            break;
        if (blame_found(s, slot, &next, slot))
            return true;
        if (error == BLOOMFILE_ESERIES && !last.succeeded &&
            layers_look_at_slot(s->path, slot + 1).error == 0)
            return blame_older(s, slot - 1);
        marked = last.succeeded;
        last = next;
    }
    if (error == BLOOMFILE_ESERIES && slot + 1 < LAYERS_MOST) {
        /* in the way of the one after next */
        const struct layers_one behind = layers_look_at_slot(s->path, slot + 1);
        if (behind.error != ENOENT)
            return blame_found(s, slot + 1, &behind, slot + 1);
    }
    if (error == BLOOMFILE_ESERIES && !marked)
        return blame_older(s, slot - 2);
    return error == BLOOMFILE_EMISSINGLAYER && last.succeeded && blame_missing(s, slot);
}

static bool search_ring(const struct search *s, int error)
{
    const uint64_t slots = s->first.info.generations;
    struct layers_one newest = s->first;
    for (uint64_t slot = 1; slot < slots; slot++) {
        const struct layers_one l = layers_look_at_slot(s->path, slot);
        if (l.error != ENOENT && blame_found(s, slot, &l, l.info.layer))
            return true;
        if (l.error == 0 && l.info.layer > newest.info.layer)
            newest = l;
    }
    const uint64_t end = newest.info.layer + 1;
    for (uint64_t slot = 0; slot < slots && slot < end; slot++) {
        const struct layers_one l = layers_look_at_slot(s->path, slot);
        const uint64_t due = end - 1 - (end - 1 - slot) % slots;
        if (l.error == ENOENT)
            return blame_missing(s, slot);
        if (blame_found(s, slot, &l, due))
            return true;
        if (error == BLOOMFILE_ESERIES && !l.succeeded && l.info.layer < newest.info.layer)
            return blame_older(s, slot);
    }
    const uint64_t next = end % slots;
    return error == BLOOMFILE_EMISSINGLAYER && newest.succeeded &&
           (layers_look_at_slot(s->path, next).error == ENOENT
                ? blame_missing(s, next)
                : blame(s, next, "is an older layer, replaced since", "restore the right file"));
}

/* The one behind the next must be free, too. */
static bool search_broken_link(const struct search *s)
{
    struct stat st;
    unsigned missing = 0;
    for (uint64_t slot = 1; slot < LAYERS_MOST && missing < 2; slot++) {
        char *name = layers_path(s->path, slot);
        const bool broken = layers_leads_nowhere(name);
        missing = lstat(name, &st) == 0 ? 0 : missing + 1;
        free(name);
        if (broken)
            return blame(s, slot, "is a dangling symbolic link",
                         "restore its target; if the layer never existed, remove the link");
    }
    return false;
}

/* Which file has a second name. */
static bool search_named_twice(const struct search *s)
{
    struct stat st;
    for (uint64_t slot = 0; slot < LAYERS_MOST; slot++) {
        char *name = layers_path(s->path, slot);
        const int result = lstat(name, &st);
        free(name);
        if (result == 0 && is_mount_point(s, slot))
            return blame_mount(s, slot);
        if (result == 0 && st.st_nlink > 1)
            return say_name(s, slot,
                            "has a second hard link, and a writer that uses it would create its "
                            "own layers (remove the other link)");
    }
    return false;
}

/* Reading is not what was refused. */
static bool search_refused(const struct search *s)
{
    for (uint64_t slot = 1; slot < LAYERS_MOST; slot++) {
        char *name = layers_path(s->path, slot);
        const int refused = faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) != 0 ? errno : 0;
        free(name);
        if (refused == ENOENT)
            break;
        if (refused == EACCES)
            return blame(s, slot, "cannot be written: Permission denied",
                         "give it the permissions of the first file");
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
                 "it is only layer %" PRIu64 " of a series of files (use the first file: %s)",
                 info->layer, name);
    else
        snprintf(
            s->text, LAYERS_TEXT,
            "it is only layer %" PRIu64
            " of a series of files, and was renamed (restore its name, and use the first file)",
            info->layer);
    free(name);
    return true;
}

static bool explain_live(const struct search *s, int error)
{
    if (layers_slot(&s->first.info) != 0)
        return explain_place(s);
    if (error == EMLINK)
        return search_named_twice(s);
    if (search_broken_link(s))
        return true;
    if (s->first.info.generations > 0 ? search_ring(s, error) : search_growing(s, error))
        return true;
    return error == EACCES && search_refused(s);
}

/* ------------------------------------------------------------------------- a sealed one: where? */

static bool explain_sealed(const struct search *s)
{
    struct layers_one last = s->first;
    uint64_t at = 0;
    if (last.info.layer != 0) {
        snprintf(s->text, LAYERS_TEXT,
                 "it begins with layer %" PRIu64
                 " of a sealed series, and the layers before it are missing (copy it again)",
                 last.info.layer);
        return true;
    }
    for (uint64_t i = 1; i < last.info.layers; i++) {
        at += (last.info.image_size + LAYERS_PAGE - 1) / LAYERS_PAGE * LAYERS_PAGE;
        const struct layers_one next = layers_look(s->path, at);
        const bool fits =
            next.info.layer == i && layers_is_one(&next.info) && next.link == last.next_link;
        if (next.error != 0 || !fits) {
            snprintf(s->text, LAYERS_TEXT,
                     "its layer %" PRIu64 ", at byte %" PRIu64 ": %s (copy it again)", i, at,
                     next.error != 0 ? bloomfile_strerror(next.error)
                                     : "it was not sealed with the other layers");
            return true;
        }
        last = next;
    }
    return false;
}

/* The first file itself is missing. */
static bool explain_absence(const char *path, char text[LAYERS_TEXT])
{
    const struct layers_one second = layers_look_at_slot(path, 1);
    if (second.error != 0 || !layers_is_live(&second.info) || layers_slot(&second.info) != 1)
        return false;
    snprintf(text, LAYERS_TEXT,
             "it is missing: the first file of the series of %.*s.1 (restore it, or "
             "copy it too: no other file has its keys)",
             LAYERS_TEXT - 200, path);
    return true;
}

bool layers_explain(const char *path, int error, char text[LAYERS_TEXT])
{
    const struct search s = { path, layers_look(path, 0), text };
    if (s.first.error == ENOENT)
        return explain_absence(path, text);
    if (s.first.error != 0 || !layers_is_one(&s.first.info))
        return false;
    return layers_is_live(&s.first.info) ? explain_live(&s, error) : explain_sealed(&s);
}

/* ---------------------------------------------------------------------------- what is replaced */

bool layers_beside(const char *path, char text[LAYERS_TEXT])
{
    uint64_t first = 0, last = 0;
    struct stat st;
    for (uint64_t slot = 1; slot < LAYERS_MOST; slot++) {
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
    layers_put_name(name[0], sizeof(name[0]), path, first);
    layers_put_name(name[1], sizeof(name[1]), path, last);
    snprintf(text, LAYERS_TEXT, "%s%s%s", name[0], first < last ? " to " : "",
             first < last ? name[1] : "");
    return true;
}

bool layers_hold(const char *path, char text[LAYERS_TEXT])
{
    char others[LAYERS_TEXT];
    const struct layers_one l = layers_look(path, 0);
    if (l.error != 0 || !layers_is_live(&l.info))
        return false;
    const uint64_t slot = layers_slot(&l.info);
    if (slot != 0) {
        snprintf(text, LAYERS_TEXT,
                 "it is layer %" PRIu64 " of a series of files, which cannot be used without it",
                 l.info.layer);
        return true;
    }
    if (!layers_beside(path, others))
        return false;
    snprintf(
        text, LAYERS_TEXT,
        "it is a series of files, %.*s and %.*s, whose keys would be lost (write to another file)",
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
    const struct layers_one l = layers_look(base, 0);
    const bool claimed = l.error == 0 && layers_is_live(&l.info) && layers_slot(&l.info) == 0 &&
                         (l.info.generations == 0 || slot < l.info.generations);
    if (claimed)
        snprintf(text, LAYERS_TEXT,
                 "the series %s needs that name for a layer (choose another name)", base);
    free(base);
    return claimed;
}
