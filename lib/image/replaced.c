/* SPDX-License-Identifier: MIT
 * The other files of a live series: NAME.1, NAME.2 and so on. */
#include "image/replaced.h"

#include <bloomfile.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/decode.h"
#include "os/file.h"
#include "os/path.h"

int replaced_read_header(int fd, uint64_t size, struct header *h)
{
    uint8_t bytes[HEADER_MAX];
    struct header_faults faults = { 0 };
    int error = file_read(fd, 0, bytes, size < sizeof bytes ? (size_t)size : sizeof bytes);
    if (error != 0)
        return error;
    decode_header(bytes, size, h, &faults);
    return faults.first == BLOOMFILE_ERECORD ? 0 : faults.first;
}

/* Opens only regular files. */
static int read_file(const char *path, struct header *h)
{
    struct stat status;
    int fd;
    if (stat(path, &status) != 0)
        return errno;
    int error = S_ISREG(status.st_mode) ? file_open(path, false, &fd) : BLOOMFILE_ENOTREGULAR;
    if (error != 0)
        return error;
    error = file_stat(fd, &status);
    if (error == 0)
        error = replaced_read_header(fd, (uint64_t)status.st_size, h);
    close(fd);
    return error;
}

static bool is_first_of_series(const struct header *h)
{
    return header_is_layer(h) && h->layers == 0 &&
           (h->generations != 0 ? h->layer % h->generations == 0 : h->layer == 0);
}

static int check_others(const char *path, unsigned end)
{
    int error = 0;
    for (unsigned slot = 1; slot < end && error == 0; slot++) {
        char *name;
        if (asprintf(&name, "%s.%u", path, slot) < 0)
            return ENOMEM;
        error = access(name, F_OK) == 0 ? BLOOMFILE_ESERIES : 0;
        free(name);
    }
    return error;
}

/* What may not be read, or is no filter, has no other files. */
int replaced_check(const char *path, unsigned flags)
{
    struct header h = { 0 };
    if ((flags & BLOOMFILE_REPLACE) == 0)
        return 0;
    int error = read_file(path, &h);
    if (error != 0)
        return error < 0 || error == ENOENT || error == EACCES ? 0 : error;
    if (!is_first_of_series(&h))
        return 0;
    char *real = path_without_links(path);
    error = check_others(real != NULL ? real : path, h.generations != 0 ? h.generations : 2);
    free(real);
    return error;
}
