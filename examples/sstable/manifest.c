/* SPDX-License-Identifier: MIT
 *
 * The list of a tablet's tables, read and replaced. */
#include "tablet.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TEXT_SIZE = 64 + 21 * (MANIFEST_TABLES + 2)
};

static size_t print(const struct manifest *m, char text[TEXT_SIZE])
{
    int used = sprintf(text, "sstable 1\nnext %" PRIu64 "\n", m->next);
    for (size_t i = 0; i < m->count; i++)
        used += sprintf(text + used, "%" PRIu64 "\n", m->tables[i]);
    used +=
        sprintf(text + used, "checksum %016" PRIx64 "\n", bloomfile_hash(0, text, (size_t)used));
    return (size_t)used;
}

/* Whatever it has taken, the text must be the one that is printed of it. */
static bool parse(struct manifest *m, const char *text, size_t size)
{
    char expected[TEXT_SIZE], *at;
    int used = 0;
    *m = (struct manifest){ 0 };
    sscanf(text, "sstable 1\nnext %" SCNu64 "%n", &m->next, &used);
    for (const char *from = text + used; m->count < MANIFEST_TABLES; from = at, m->count++) {
        m->tables[m->count] = strtoull(from, &at, 10);
        if (at == from)
            break;
    }
    return size == print(m, expected) && memcmp(text, expected, size) == 0;
}

bool manifest_read(struct manifest *m, const char *directory)
{
    char text[TEXT_SIZE + 1];
    char *path = join(directory, "/", "MANIFEST");
    FILE *file = fopen(path, "re");
    if (file == NULL && errno != ENOENT)
        err(2, "cannot read %s", path);
    if (file != NULL) {
        const size_t size = fread(text, 1, TEXT_SIZE, file);
        if (ferror(file))
            err(2, "cannot read %s", path);
        text[size] = '\0';
        if (!parse(m, text, size))
            errx(2, "cannot use %s: it is no manifest of tables, or damaged", path);
        fclose(file);
    }
    free(path);
    return file != NULL;
}

void manifest_write(const struct manifest *m, const char *directory, bool *in_doubt)
{
    char text[TEXT_SIZE];
    char *path = join(directory, "/", "MANIFEST"), *temporary = join(path, "", ".tmp");
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = fd == -1 ? errno : write_all(fd, text, print(m, text));
    if (error == 0 && (fsync(fd) == -1 || rename(temporary, path) == -1))
        error = errno;
    if (error == 0) {
        *in_doubt = true;
        error = sync_directory(directory);
    }
    check_bloomfile(error, "write the manifest of", directory);
    *in_doubt = false;
    close(fd);
    free(path);
    free(temporary);
}
