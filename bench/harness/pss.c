/* SPDX-License-Identifier: MIT
 * By /proc/PID/smaps. */
#include "harness/pss.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"

/* "start-end permissions offset device inode   path" begins the entry of a mapping; lines such as
 * "Pss:   12 kB" follow. */
static bool begins_entry(const char *line)
{
    uint64_t start, end;
    return sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2;
}

static bool names_file(const char *line, const char *path)
{
    const char *name = strchr(line, '/');
    return name != NULL && strncmp(name, path, strlen(path)) == 0 &&
           strcmp(name + strlen(path), "\n") == 0;
}

void pss_add(struct pss *sum, pid_t pid, const char *file)
{
    char name[64], *path = realpath(file, NULL), *line = NULL;
    size_t size = 0;
    snprintf(name, sizeof name, "/proc/%ld/smaps", (long)pid);
    FILE *smaps = fopen(name, "r");
    if (path == NULL || smaps == NULL)
        bench_fail(errno, "look into a process");

    bool of_file = false;
    while (getline(&line, &size, smaps) != -1) {
        uint64_t kib;
        if (begins_entry(line))
            of_file = names_file(line, path);
        else if (sscanf(line, "Pss: %" SCNu64 " kB", &kib) == 1)
            *(of_file ? &sum->mapping : &sum->rest) += 1024 * kib;
        else if (of_file && sscanf(line, "Rss: %" SCNu64 " kB", &kib) == 1)
            sum->mapping_resident += 1024 * kib;
    }
    if (ferror(smaps))
        bench_fail(errno, "look into a process");
    fclose(smaps);
    free(line);
    free(path);
}
