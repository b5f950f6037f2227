/* SPDX-License-Identifier: MIT
 * Destinations: validity, and images in memory. */
#include "publish/destination.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/versioned_struct.h"
#include "os/memory.h"

#define LEAST VERSIONED_LEAST(struct bloomfile_destination, more)
#define ALIGN 64 /* a block of the layout blocked is one cache line */

static bool is_zero(const uint64_t *more, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all |= more[i];
    return all == 0;
}

static bool is_valid(const struct bloomfile_destination *to)
{
    const uint32_t flags = to->kind == BLOOMFILE_TO_PATH ? BLOOMFILE_TO_REPLACE : 0;
    if ((to->flags & ~flags) != 0 || to->reserved != 0 ||
        !is_zero(to->more, sizeof to->more / sizeof *to->more))
        return false;
    switch (to->kind) {
    case BLOOMFILE_TO_PATH:
        return to->path != NULL;
    case BLOOMFILE_TO_MEMORY:
        return to->memory != NULL || to->size == 0;
    case BLOOMFILE_TO_CALLBACK:
        return to->write != NULL;
    default:
        return to->kind == BLOOMFILE_TO_FD;
    }
}

int destination_take(struct destination *d, struct bloomfile_destination *given)
{
    *d = (struct destination){ .given = given };
    const bool taken = versioned_take(&d->to, sizeof d->to, given, given->struct_size, LEAST);
    return taken && is_valid(&d->to) ? 0 : BLOOMFILE_EPARAMS;
}

int destination_fits(const struct destination *d, uint64_t size)
{
    if (size > SIZE_MAX / 2)
        return BLOOMFILE_ETOOBIG;
    if (d->to.memory == NULL || size <= d->to.size)
        return 0;
    d->given->memory = NULL; /* so that the new size is not taken for that of the buffer */
    d->given->size = (size_t)size;
    return ERANGE;
}

static bool is_own(const struct destination *d, const void *bytes)
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
    if (is_own(d, bytes))
        memcpy(d->to.memory, bytes, size);
    destination_drop(d, bytes);
    d->given->memory = d->to.memory;
}

void destination_drop(const struct destination *d, void *bytes)
{
    if (is_own(d, bytes))
        free(bytes);
}
