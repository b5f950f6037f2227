/* SPDX-License-Identifier: MIT
 *
 * seen - print the lines that no process has printed before
 *
 *     produce_urls | seen urls.bloom | xargs -n 1 crawl
 *
 * The filter is shared by all that run at once, and by those that run later. It grows with the
 * lines: at most one new line in a hundred is taken for seen, however many there are.
 *
 * A line is marked and then printed, since marking tells which one process prints it: at most once.
 * Lines that are still in a buffer or in the pipe when this program or its reader ends, as in
 * "seen urls.bloom | head -1", are marked and nobody has them. Where none may be lost so, the
 * program that does the work asks before it, and marks after it: some work is then done twice.
 */
#include <bloomfile.h>
#include <bloomfile_live.h>

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#define CAPACITY 1000000 /* of its first layer */

/* Opens the filter, or makes it; another process may do the same at this moment. After the machine
 * went down, lines of the last moments may be printed again: here, that is no reason to stop. */
static int open_or_create(bloomfile_filter **out, const char *path)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = CAPACITY;
    params.fpr = 0.01;
    params.series = BLOOMFILE_SERIES_GROW;
    int error;
    do {
        error = bloomfile_open(out, path,
                               BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ADD_EXACT |
                                   BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
        if (error == ENOENT)
            error = bloomfile_create(out, path, &params, BLOOMFILE_OPEN_ADD_EXACT);
    } while (error == EEXIST);
    return error;
}

int main(int argc, char **argv)
{
    bloomfile_filter *f;
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    if (argc != 2) {
        fputs("usage: seen FILTER <LINES\n", stderr);
        return 2;
    }
    int error = open_or_create(&f, argv[1]);
    if (error != 0)
        errx(2, "cannot open %s: %s", argv[1], bloomfile_strerror(error));

    while ((size = getline(&line, &room, stdin)) != -1) {
        bool was_new;
        if (line[size - 1] == '\n')
            size--;
        error = bloomfile_add(f, line, (size_t)size, &was_new);
        if (error != 0)
            errx(2, "cannot add to %s: %s", argv[1], bloomfile_strerror(error));
        if (was_new &&
            (fwrite(line, 1, (size_t)size, stdout) != (size_t)size || putchar('\n') == EOF))
            err(2, "cannot write to standard output");
    }
    if (!feof(stdin)) /* nor is there memory for every line */
        err(2, "cannot read standard input");
    free(line);
    if (fflush(stdout) != 0)
        err(2, "cannot write to standard output");
    error = bloomfile_sync(f, NULL);
    if (error != 0)
        errx(2, "cannot write %s to disk: %s", argv[1], bloomfile_strerror(error));
    bloomfile_close(f);
    return 0;
}
