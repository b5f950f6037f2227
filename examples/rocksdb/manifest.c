/* SPDX-License-Identifier: MIT */
#include "manifest.h"
#include "trouble.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *manifest_file(const char *folder, unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "%06u.sst", number + 1);
    return join(folder, "/", name);
}

void manifest_write(const char *folder, const struct manifest *manifest)
{
    char *path = join(folder, "/", MANIFEST), identity[IDENTITY_DIGITS + 1];
    identity_print(&manifest->identity, identity);
    FILE *file = fopen(path, "wxe");
    if (file == NULL)
        err(2, "cannot create %s", path);
    fprintf(file, "set %s\nrows %" PRIu64 "\nfiles %u\n", identity, manifest->rows,
            manifest->files);
    if (fflush(file) != 0 || fsync(fileno(file)) == -1 || fclose(file) != 0)
        err(2, "cannot write %s", path);
    free(path);
}

struct manifest manifest_read(const char *folder)
{
    struct manifest manifest;
    char *path = join(folder, "/", MANIFEST), identity[IDENTITY_DIGITS + 1], end;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        err(2, "cannot open %s", path);
    if (fscanf(file, "set %32s rows %" SCNu64 " files %u%c", identity, &manifest.rows,
               &manifest.files, &end) != 4 ||
        end != '\n' || !identity_parse(identity, &manifest.identity) || manifest.files == 0 ||
        manifest.files > manifest.rows) /* none is empty */
        errx(2, "cannot use %s: it is no list of a set's contents; ship the set again", path);
    fclose(file);
    free(path);
    return manifest;
}
