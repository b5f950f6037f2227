/* SPDX-License-Identifier: MIT */
#include "leveldb_tables.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "harness/bench.h"

static bool is_table(const char *name)
{
    static const char ending[] = ".ldb";
    const size_t size = strlen(name), ending_size = sizeof ending - 1;
    return size >= ending_size && strcmp(name + size - ending_size, ending) == 0;
}

void tables_map_pages_alone(void)
{
    char line[8192];
    uintptr_t first, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        bench_fail(errno, "open /proc/self/maps");
    while (fgets(line, sizeof line, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (!is_table(line) || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &end) != 2)
            continue;
        bench_call(madvise((void *)first, end - first, MADV_RANDOM), "advise on a mapping");
        bench_call(madvise((void *)first, end - first, MADV_DONTNEED), "advise on a mapping");
    }
    fclose(maps);
}

uint64_t tables_size(const char *database)
{
    uint64_t bytes = 0;
    DIR *folder = opendir(database);
    if (folder == NULL)
        bench_fail(errno, "open the folder of a database");
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat status;
        if (!is_table(entry->d_name))
            continue;
        bench_call(fstatat(dirfd(folder), entry->d_name, &status, 0), "find the size of a table");
        bytes += (uint64_t)status.st_size;
    }
    closedir(folder);
    return bytes;
}
