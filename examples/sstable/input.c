/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *grown(void *array, size_t *room, size_t size)
{
    *room = *room == 0 ? 1024 : 2 * *room;
    void *larger = reallocarray(array, *room, size);
    if (larger == NULL)
        err(2, "cannot keep the input in memory");
    return larger;
}

static size_t read_text(struct lines *l, int fd, const char *name)
{
    size_t size = 0, room = 0;
    for (;;) {
        if (size == room)
            l->text = grown(l->text, &room, 1);
        const ssize_t got = read(fd, l->text + size, room - size);
        if (got == 0)
            return size;
        if (got == -1 && errno != EINTR)
            err(2, "cannot read %s", name);
        size += got == -1 ? 0 : (size_t)got;
    }
}

static void split(struct lines *l, size_t size)
{
    size_t room = 0;
    for (const char *line = l->text, *const end = l->text + size; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (newline == NULL)
            newline = end;
        if (l->count == room)
            l->lines = grown(l->lines, &room, sizeof *l->lines);
        l->lines[l->count++] = (struct bytes){ (const uint8_t *)line, (size_t)(newline - line) };
        line = newline + 1;
    }
}

struct lines lines_read(const char *path)
{
    struct lines l = { 0 };
    const int fd = path == NULL ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        err(2, "cannot open %s", path);
    split(&l, read_text(&l, fd, path == NULL ? "standard input" : path));
    if (path != NULL)
        close(fd);
    return l;
}

void lines_free(struct lines *l)
{
    free(l->text);
    free(l->lines);
}

/* ---- rows */

/* Of equal keys, which have their places in the input, the last one first. */
static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    const int difference = bytes_compare(a->key, b->key);
    return difference != 0 ? difference : (a->key.data < b->key.data) - (a->key.data > b->key.data);
}

static size_t sort(struct row *rows, size_t count)
{
    size_t kept = 0;
    qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || bytes_compare(rows[kept - 1].key, rows[i].key) != 0)
            rows[kept++] = rows[i];
    }
    return kept;
}

static struct row *new_rows(size_t count)
{
    struct row *rows = calloc(count + 1, sizeof *rows);
    if (rows == NULL)
        err(2, "cannot keep %zu rows in memory", count);
    return rows;
}

struct row *rows_from_lines(const struct lines *l, size_t *count)
{
    struct row *rows = new_rows(l->count);
    for (size_t i = 0; i < l->count; i++) {
        const struct bytes line = l->lines[i];
        const uint8_t *tab = memchr(line.data, '\t', line.size);
        if (tab == NULL)
            errx(2, "line %zu of the input has no tab: a row is \"key<TAB>value\"", i + 1);
        const size_t key_size = (size_t)(tab - line.data);
        rows[i].key = (struct bytes){ line.data, key_size };
        rows[i].value = (struct bytes){ tab + 1, line.size - key_size - 1 };
    }
    *count = sort(rows, l->count);
    return rows;
}

struct row *deletions_of(const struct bytes *keys, size_t *count)
{
    struct row *rows = new_rows(*count);
    for (size_t i = 0; i < *count; i++)
        rows[i] = (struct row){ .key = keys[i], .deleted = true };
    *count = sort(rows, *count);
    return rows;
}
