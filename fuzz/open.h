/* SPDX-License-Identifier: MIT
 * Opening of filters in fuzz targets. */
#ifndef FUZZ_OPEN_H
#define FUZZ_OPEN_H

#include <bloomfile.h>
#include <bloomfile_open.h>
#include <fcntl.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/header.h"

/* Opens a source without expectations. */
static inline int open_from(bloomfile_filter **out, struct bloomfile_source from, unsigned flags)
{
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = flags;
    return bloomfile_open_with(out, &from, &how);
}

static inline int open_named(bloomfile_filter **out, struct bloomfile_source from, unsigned flags,
                             uint32_t hash_id, uint64_t self_test)
{
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = flags;
    how.expect = BLOOMFILE_EXPECT_HASH;
    how.hash_id = hash_id;
    how.self_test = self_test;
    return bloomfile_open_with(out, &from, &how);
}

/* Opens a file. If it has an application's hash, names that hash. */
static inline int open_file_named(bloomfile_filter **out, const char *path, unsigned flags)
{
    uint8_t bytes[HEADER_MAX] = { 0 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, bytes, sizeof bytes, 0) < 0)
        bytes[0] = 0;
    if (fd >= 0)
        close(fd);
    return open_named(out, bloomfile_from_path(path), flags, get32(bytes + AT_hash_id),
                      get64(bytes + AT_self_test));
}

#endif
