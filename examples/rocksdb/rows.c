/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_SIZE ((size_t)1 << 20)

static void *resize(void *memory, size_t size, const char *path)
{
    void *resized = realloc(memory, size);
    if (resized == NULL)
        err(2, "cannot read the rows of %s", path);
    return resized;
}

static char *read_all(FILE *file, const char *path, size_t *size)
{
    size_t room = 2 * READ_SIZE;
    char *text = resize(NULL, room, path);
    *size = 0;
    for (size_t got; (got = fread(text + *size, 1, room - *size, file)) != 0;) {
        *size += got;
        if (room - *size < READ_SIZE) {
            room *= 2;
            text = resize(text, room, path);
        }
    }
    if (ferror(file))
        err(2, "cannot read %s", path);
    return text;
}

static struct row parse(const char *line, size_t size, const char *path, size_t number)
{
    const char *tab = memchr(line, '\t', size);
    if (tab == NULL)
        errx(2, "cannot use %s: line %zu has no TAB after its key", path, number);
    const size_t key_size = (size_t)(tab - line);
    return (struct row){ { line, key_size }, { tab + 1, size - key_size - 1 } };
}

static void split(struct rows *rows, size_t size, const char *path)
{
    size_t room = 0;
    for (const char *line = rows->text, *end = line + size; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline != NULL ? newline : end;
        if (rows->count == room) {
            room = room == 0 ? 1024 : 2 * room;
            rows->row = resize(rows->row, room * sizeof *rows->row, path);
        }
        rows->row[rows->count] = parse(line, (size_t)(stop - line), path, rows->count + 1);
        rows->count++;
        line = stop + 1;
    }
}

static int compare(const void *a, const void *b)
{
    const struct bloomfile_key *x = &((const struct row *)a)->key;
    const struct bloomfile_key *y = &((const struct row *)b)->key;
    const int difference = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);
    return difference != 0 ? difference : (x->size > y->size) - (x->size < y->size);
}

static size_t line_of(const struct rows *rows, const struct row *row)
{
    size_t line = 1;
    for (const char *at = rows->text; at < (const char *)row->key.data; at++)
        line += *at == '\n';
    return line;
}

/* A key that is printed could be an order to the terminal. */
static void check_unique(const struct rows *rows, const char *path)
{
    for (size_t i = 1; i < rows->count; i++)
        if (compare(&rows->row[i - 1], &rows->row[i]) == 0)
            errx(2, "cannot use %s: lines %zu and %zu have the same key", path,
                 line_of(rows, &rows->row[i - 1]), line_of(rows, &rows->row[i]));
}

struct rows rows_read(const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    if (file == NULL)
        err(2, "cannot open %s", path);
    struct rows rows = { 0 };
    size_t size;
    rows.text = read_all(file, path, &size);
    if (!standard)
        fclose(file);
    split(&rows, size, path);
    if (rows.count != 0)
        qsort(rows.row, rows.count, sizeof *rows.row, compare);
    check_unique(&rows, path);
    return rows;
}

void rows_free(struct rows *rows)
{
    free(rows->row);
    free(rows->text);
}
