/* SPDX-License-Identifier: MIT
 * File names from the command line and from lists. */
#include "cli/names.h"
#include "cli/cli.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_ROOM = 1 << 16
};

static _Noreturn void no_memory(void)
{
    cli_fail(ENOMEM, "cannot hold more file names");
}

/* The array's capacity is the smallest power of two that holds the count. */
static void append(char ***list, int *count, char *name)
{
    const int n = *count;
    if ((n & (n - 1)) == 0) {
        char **more = reallocarray(*list, n == 0 ? 1 : 2 * (size_t)n, sizeof(*more));
        if (more == NULL)
            no_memory();
        *list = more;
    }
    (*list)[(*count)++] = name;
}

void names_add(void *names, char *name)
{
    struct names *n = names;
    append(&n->list, &n->count, name);
}

void names_add_file(void *names, char *file)
{
    struct names *n = names;
    append(&n->files, &n->files_count, file);
}

static bool is_stdin(const char *name)
{
    return strcmp(name, "-") == 0;
}

/* All bytes of a file, followed by a NUL. */
static char *read_all(const char *path, const char *shown, size_t *size)
{
    const int fd = is_stdin(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t room = FIRST_ROOM;
    char *bytes = malloc(room);
    ssize_t got = 0;
    *size = 0;
    if (fd < 0)
        cli_fail(errno, "cannot open %s", shown);
    while (bytes != NULL && (got = await_read(fd, bytes + *size, room - *size - 1)) > 0) {
        *size += (size_t)got;
        if (*size + 1 < room)
            continue;
        room *= 2;
        char *more = realloc(bytes, room);
        if (more == NULL)
            no_memory();
        bytes = more;
    }
    if (bytes == NULL)
        no_memory();
    if (got < 0)
        cli_fail(errno, "cannot read %s", shown);
    if (fd != STDIN_FILENO)
        close(fd); /* opened for reading: an error loses no data */
    bytes[*size] = '\0';
    return bytes;
}

/* The names are not copied: each points into the text, where a NUL replaces its terminator. */
static void read_file(struct names *n, const char *path)
{
    const char *shown = is_stdin(path) ? "standard input" : path;
    size_t size;
    const int before = n->count;
    char *at = read_all(path, shown, &size), *end = at + size;
    append(&n->texts, &n->texts_count, at);
    const char ends = memchr(at, '\0', size) != NULL ? '\0' : '\n';
    while (at < end) {
        char *next = memchr(at, ends, (size_t)(end - at));
        next = next != NULL ? next : end;
        *next = '\0';
        if (next == at)
            cli_fail(0, "name %d in %s is empty", n->count - before + 1, shown);
        names_add(n, at);
        at = next + 1;
    }
    if (n->count == before)
        cli_fail(0, "%s has no file names", shown);
}

/* Standard input cannot be both a list and an input. */
static void check_stdin(const struct names *n)
{
    for (int i = 0; i < n->count && n->stdin_taken; i++) {
        if (is_stdin(n->list[i]))
            cli_usage("standard input can be read only once: as a list of names, or as an input");
    }
}

void names_read(struct names *n, char *const *operands, int count)
{
    for (int i = 0; i < count; i++)
        names_add(n, operands[i]);
    for (int i = 0; i < n->files_count; i++) {
        if (is_stdin(n->files[i]) && n->stdin_taken)
            cli_usage("standard input can be only one of the lists");
        n->stdin_taken |= is_stdin(n->files[i]);
    }
    check_stdin(n);
    for (int i = 0; i < n->files_count; i++)
        read_file(n, n->files[i]);
    check_stdin(n);
}

void names_free(struct names *n)
{
    for (int i = 0; i < n->texts_count; i++)
        free(n->texts[i]);
    free(n->texts);
    free(n->files);
    free(n->list);
}
