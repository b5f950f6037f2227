/* SPDX-License-Identifier: MIT
 * A file appears whole, or not at all. */
#include "harness/save.h"

#include <errno.h>
#include <unistd.h>

#include "harness/bench.h"

void save(const char *path, void (*write)(FILE *out, const void *what), const void *what)
{
    char fresh[4096], attempt[sizeof fresh + 32];
    if (path == NULL)
        return;
    const int length = snprintf(fresh, sizeof fresh, "%s.new", path);
    snprintf(attempt, sizeof attempt, "write %s", path);
    if (length < 0 || (size_t)length >= sizeof fresh)
        bench_fail(ENAMETOOLONG, attempt);
    FILE *out = fopen(fresh, "we");
    if (out == NULL)
        bench_fail(errno, attempt);
    write(out, what);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed || rename(fresh, path) != 0) {
        const int error = errno;
        unlink(fresh);
        bench_fail(error, attempt);
    }
}
