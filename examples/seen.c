/* SPDX-License-Identifier: MIT
 *
 * seen - print the lines that no process has printed before
 *
 *     produce_urls | seen urls.bloom | xargs -n 1 crawl
 *
 * All processes that run now or later share the filter. It grows with the lines: however many there
 * are, at most one new line in a hundred is dropped as already seen.
 *
 * A line is marked first and printed afterwards, because marking decides which process prints it.
 * So a line is printed at most once. Lines that are in a buffer or in the pipe when this program or
 * its reader ends, as in "seen urls.bloom | head -1", are marked but lost. If lines must not be
 * lost, the program that does the work looks each line up before the work and marks it after the
 * work. Some work is then done twice.
 */
#include <bloomfile.h>
#include <bloomfile_live.h>

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#define CAPACITY 1000000 /* of the first layer */

/* Opens the filter, or creates it; another process may do the same at this moment. Accepts an
 * unclean filter: after a crash of the machine, some of the last lines are printed again. */
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
    if (!feof(stdin)) /* an error, or a line too long for memory */
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
