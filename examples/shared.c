/* SPDX-License-Identifier: MIT
 *
 * Shared functions of the example programs, not meant to be copied. */
#include "shared.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

void take_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            exit(2); /* a message might have no place to go */
    }
}

void check_bloomfile(int error, const char *what, const char *name)
{
    if (error != 0)
        errx(2, "cannot %s %s: %s", what, name, bloomfile_strerror(error));
}

void check_engine(const char *error, const char *what, const char *name)
{
    if (error != NULL)
        errx(2, "cannot %s %s: %s", what, name, error);
}

void *not_null(void *memory)
{
    if (memory == NULL)
        err(2, "cannot get memory");
    return memory;
}

char *join(const char *folder, const char *separator, const char *name)
{
    char *path;
    if (asprintf(&path, "%s%s%s", folder, separator, name) == -1)
        err(2, "cannot name a file in %s", folder);
    return path;
}

/* ---- lines and rows */

struct lines lines_open(const char *path)
{
    if (path == NULL || strcmp(path, "-") == 0)
        return (struct lines){ .file = stdin, .name = "standard input" };
    struct lines l = { .file = fopen(path, "re"), .name = path };
    if (l.file == NULL)
        err(2, "cannot open %s", path);
    return l;
}

bool lines_next(struct lines *l, struct bloomfile_key *line)
{
    ssize_t size = getline(&l->text, &l->room, l->file);
    if (size == -1 && !feof(l->file))
        err(2, "cannot read %s", l->name);
    if (size == -1)
        return false;
    if (l->text[size - 1] == '\n')
        size--;
    *line = (struct bloomfile_key){ l->text, (size_t)size };
    l->count++;
    return true;
}

void lines_close(struct lines *l)
{
    free(l->text);
    if (l->file != stdin)
        fclose(l->file);
}

bool row_parse(const struct lines *l, struct bloomfile_key line, struct row *row)
{
    const char *const text = line.data, *const tab = memchr(text, '\t', line.size);
    if (tab == NULL)
        return false;
    const size_t size = (size_t)(tab - text);
    *row = (struct row){ { text, size }, { tab + 1, line.size - size - 1 }, l->count };
    return true;
}

void row_print(const struct row *row)
{
    fwrite(row->key.data, 1, row->key.size, stdout);
    putchar('\t');
    fwrite(row->value.data, 1, row->value.size, stdout);
    putchar('\n');
}

/* Appends a row with a copy of the line. */
static struct row *add_row(struct rows *rows, struct bloomfile_key line)
{
    const size_t n = rows->count++;
    if (n == 0 || (n >= 1024 && (n & (n - 1)) == 0))
        rows->row = not_null(reallocarray(rows->row, n == 0 ? 1024 : 2 * n, sizeof *rows->row));
    void *copy = not_null(malloc(line.size + 1));
    rows->row[n] = (struct row){ .key = { memcpy(copy, line.data, line.size), line.size },
                                 .line = rows->count };
    return &rows->row[n];
}

struct rows rows_read(const char *path)
{
    struct rows rows = { 0 };
    struct lines l = lines_open(path);
    for (struct bloomfile_key line; lines_next(&l, &line);) {
        struct row *row = add_row(&rows, line);
        if (!row_parse(&l, row->key, row))
            errx(2, "cannot use %s: line %zu has no tab between key and value", l.name, l.count);
    }
    lines_close(&l);
    rows_sort(&rows);
    return rows;
}

struct rows keys_read(char *const *arguments)
{
    struct rows rows = { 0 };
    struct lines l = lines_open(NULL);
    for (struct bloomfile_key line; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, "-") != 0)
            add_row(&rows, (struct bloomfile_key){ *arguments, strlen(*arguments) });
        else
            while (lines_next(&l, &line))
                add_row(&rows, line);
    }
    lines_close(&l);
    return rows;
}

int key_compare(const struct bloomfile_key *a, const struct bloomfile_key *b)
{
    const size_t common = a->size < b->size ? a->size : b->size;
    const int difference = common == 0 ? 0 : memcmp(a->data, b->data, common);
    return difference != 0 ? difference : (a->size > b->size) - (a->size < b->size);
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    const int difference = key_compare(&a->key, &b->key);
    return difference != 0 ? difference : (a->line > b->line) - (a->line < b->line);
}

void rows_sort(struct rows *rows)
{
    if (rows->count > 0)
        qsort(rows->row, rows->count, sizeof *rows->row, compare_rows);
}

void rows_free(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free((void *)(uintptr_t)rows->row[i].key.data);
    free(rows->row);
}

/* ---- command lines */

bool parse_number(const char *text, uint64_t least, uint64_t greatest, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *number >= least &&
           *number <= greatest;
}

bool parse_rate(const char *text, double *rate)
{
    char *end;
    *rate = strtod(text, &end);
    return end != text && *end == '\0' && *rate > 0 && *rate < 1;
}

bool parse_layout(const char *text, uint32_t *layout)
{
    *layout = strcmp(text, "ribbon") == 0 ? BLOOMFILE_LAYOUT_RIBBON : BLOOMFILE_LAYOUT_BLOCKED;
    return *layout == BLOOMFILE_LAYOUT_RIBBON || strcmp(text, "blocked") == 0;
}

/* fclose() reports only an error of the last write. */
void finish_output(void)
{
    const bool failed = ferror(stdout) != 0;
    errno = EIO;
    if (fclose(stdout) != 0 || failed)
        err(2, "cannot write to standard output");
}

/* ---- files */

int write_all(int fd, const void *data, size_t size)
{
    for (const char *next = data; size > 0;) {
        const ssize_t written = write(fd, next, size);
        if (written == -1 && errno == EINTR)
            continue;
        if (written == -1)
            return errno;
        next += written;
        size -= (size_t)written;
    }
    return 0;
}

int sync_directory(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1)
        return errno;
    struct stat status; /* XFS: after lost names fsync() returns 0, but fstat() EIO */
    int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    if (error == 0 && fstat(fd, &status) == -1)
        error = errno;
    close(fd);
    return error;
}

/* ---- bytes of files */

void write_bytes(FILE *file, const void *bytes, size_t size)
{
    if (size > 0 && fwrite(bytes, 1, size, file) != size)
        err(2, "cannot write a file");
}

void read_bytes(int fd, void *bytes, size_t size, uint64_t offset)
{
    const ssize_t n = pread(fd, bytes, size, (off_t)offset);
    if (n < 0)
        err(2, "cannot read a file");
    if ((size_t)n != size)
        errx(2, "a file is truncated");
}
