/* SPDX-License-Identifier: MIT
 * Destinations and sources as arguments, and results in memory. */
#ifndef BLOOMFILE_TESTS_PLACES_H
#define BLOOMFILE_TESTS_PLACES_H

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>

#define TO_PATH(path, flags)                                                                       \
    ((struct bloomfile_destination[]){ bloomfile_to_path((path), (flags)) })
#define TO_FD(to, folder)                                                                          \
    ((struct bloomfile_destination[]){ { .struct_size = sizeof(struct bloomfile_destination),      \
                                         .kind = BLOOMFILE_TO_FD,                                  \
                                         .fd = (to),                                               \
                                         .spool = (folder) } })
/* Some bytes of an open file. */
static inline struct bloomfile_source part_of_fd(int fd, uint64_t offset, uint64_t length)
{
    struct bloomfile_source from = bloomfile_from_fd(fd);
    from.offset = offset;
    from.length = length;
    return from;
}

#define FROM_FD(from)                                                                              \
    ((struct bloomfile_source[]){ part_of_fd((from), BLOOMFILE_FROM_HERE, BLOOMFILE_FROM_REST) })

static inline int place_take(const struct bloomfile_destination *to, int error, void **image,
                             size_t *size)
{
    *image = to->memory;
    *size = to->size;
    return error;
}

static inline int write_memory(bloomfile_builder *b, void **image, size_t *size)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    const int error = bloomfile_builder_write(b, &to);
    return place_take(&to, error, image, size);
}

static inline int copy_memory(void **image, size_t *size, const bloomfile_filter *f)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    const int error = bloomfile_copy_sealed(&to, f, NULL);
    return place_take(&to, error, image, size);
}

static inline int fold_memory(void **image, size_t *size, const bloomfile_filter *f,
                              uint64_t factor)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    const int error = bloomfile_fold(&to, f, factor, NULL);
    return place_take(&to, error, image, size);
}

static inline int merge_memory(void **image, size_t *size, const bloomfile_filter *const *sources,
                               size_t count, const struct bloomfile_merge_params *params)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    const int error = bloomfile_merge(&to, sources, count, params);
    return place_take(&to, error, image, size);
}

static inline int join_memory(void **image, size_t *size, const bloomfile_filter *const *slices,
                              size_t count, unsigned flags)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    const int error = bloomfile_join(&to, slices, count, NULL, flags);
    return place_take(&to, error, image, size);
}

static inline int project_memory(void **image, size_t *size, const bloomfile_filter *f)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    const int error = bloomfile_project(&to, f, NULL);
    return place_take(&to, error, image, size);
}

static inline int assemble_memory(void **image, size_t *size, const struct bloomfile_params *params,
                                  const void *body, size_t body_size, uint32_t provenance,
                                  uint64_t keys)
{
    struct bloomfile_destination to = bloomfile_to_memory();
    const int error = bloomfile_assemble(&to, params, body, body_size, provenance, keys);
    return place_take(&to, error, image, size);
}

#endif
