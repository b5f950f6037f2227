/* SPDX-License-Identifier: MIT
 *
 * A module for LD_PRELOAD that runs the command AFTER_LISTING when RocksDB first lists the column
 * families of a database.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

typedef char **list_families(const void *options, const char *name, size_t *count, char **error);

list_families rocksdb_list_column_families;

char **rocksdb_list_column_families(const void *options, const char *name, size_t *count,
                                    char **error)
{
    static list_families *real;
    if (real != NULL)
        return real(options, name, count, error);
    *(void **)&real = dlsym(RTLD_NEXT, "rocksdb_list_column_families");
    char **names = real(options, name, count, error);
    const char *command = getenv("AFTER_LISTING");
    unsetenv("LD_PRELOAD");
    if (command == NULL || system(command) != 0)
        abort();
    return names;
}
