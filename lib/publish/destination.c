/* SPDX-License-Identifier: MIT
 * Destinations: validity, and images in memory. */
#include "publish/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/invalid.h"
#include "format/versioned_struct.h"
#include "os/memory.h"

#define LEAST VERSIONED_LEAST(struct bloomfile_destination, more)
#define ALIGN 64 /* bytes of a cache line, and of a block of the blocked layout */

static bool is_zero(const uint64_t *more, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all |= more[i];
    return all == 0;
}

static int unless(bool valid, const char *member)
{
    return valid ? 0 : invalid(BLOOMFILE_EVALUE, member);
}

static int check_destination(const struct bloomfile_destination *to)
{
    const uint32_t flags = to->kind == BLOOMFILE_TO_PATH ? BLOOMFILE_TO_REPLACE : 0;
    if ((to->flags & ~flags) != 0)
        return invalid(BLOOMFILE_EFLAGS, "flags");
    if (to->reserved != 0 || !is_zero(to->more, sizeof to->more / sizeof *to->more))
        return invalid(BLOOMFILE_EVALUE, "reserved");
    switch (to->kind) {
    case BLOOMFILE_TO_PATH:
        return unless(to->path != NULL, "path");
    case BLOOMFILE_TO_MEMORY: /* memory of an earlier call may be in use */
        return unless(to->memory == NULL && to->size == 0, "memory");
    case BLOOMFILE_TO_BUFFER:
        return unless(to->memory != NULL || to->size == 0, "memory");
    case BLOOMFILE_TO_CALLBACK:
        return unless(to->write != NULL, "write");
    default:
        return unless(to->kind == BLOOMFILE_TO_FD, "kind");
    }
}

int destination_take(struct destination *d, struct bloomfile_destination *given)
{
    *d = (struct destination){ .given = given };
    if (!versioned_take(&d->to, sizeof d->to, given, given->struct_size, LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    return check_destination(&d->to);
}

int destination_fits(const struct destination *d, uint64_t size)
{
    if (size > SIZE_MAX / 2)
        return BLOOMFILE_ETOOBIG;
    if (d->to.kind == BLOOMFILE_TO_MEMORY || size <= d->to.size)
        return 0;
    d->given->memory = NULL; /* so that the size needed is not mistaken for the size of a buffer */
    d->given->size = (size_t)size;
    return ERANGE;
}

static bool is_own_buffer(const struct destination *d, const void *bytes)
{
    return bytes != d->to.memory;
}

void *destination_bytes(const struct destination *d, size_t size)
{
    const bool usable = d->to.memory != NULL && (uintptr_t)d->to.memory % ALIGN == 0;
    return usable ? d->to.memory : hugepages_alloc(size);
}

void destination_give(const struct destination *d, void *bytes, size_t size)
{
    d->given->memory = bytes;
    d->given->size = size;
    if (d->to.memory == NULL)
        return;
    if (is_own_buffer(d, bytes))
        memcpy(d->to.memory, bytes, size);
    destination_drop(d, bytes);
    d->given->memory = d->to.memory;
}

void destination_drop(const struct destination *d, void *bytes)
{
    if (is_own_buffer(d, bytes))
        free(bytes);
}
