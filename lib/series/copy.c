/* SPDX-License-Identifier: MIT
 * A sealed series is one file: its layers, one behind the other. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "combine/combine.h"
#include "os/allocate.h"
#include "os/apart.h"
#include "os/file.h"
#include "os/hugepages.h"
#include "series/lookup.h"
#include "series/series.h"

/* Where a layer ends, and where the one behind it begins. */
static uint64_t image_size(const bloomfile *layer)
{
    const struct header *h = &layer->header;
    return geometry_of(h->layout, h->m, GEOMETRY_FILE_HEADER).image_size;
}

static uint64_t stride(const struct layers *l, size_t i)
{
    const bloomfile *layer = l->list[i];
    return i + 1 < l->count ? header_layer_stride(&layer->header) : image_size(layer);
}

static void describe(struct header *h, const struct layers *l, size_t i, uint64_t rest)
{
    h->series = h->period = h->began = 0;
    h->generations = 0;
    h->layers = (uint32_t)l->count;
    h->layer = i;
    h->rest_size = rest;
}

static int copy_layers(const struct layers *l, int fd, uint64_t size)
{
    uint64_t at = 0, link = 0;
    int error = 0;
    for (size_t i = 0; i < l->count && error == 0; i++) {
        struct header h;
        error = source_describe(l->list[i], &h);
        describe(&h, l, i, size - at);
        h.link = link;
        if (error == 0)
            error = combine_copy(&h, l->list[i], new_image_to_part(fd, at));
        link = h.crc | (uint64_t)h.record.body_crc << 32;
        at += stride(l, i);
    }
    return error;
}

static int copy_to_file(const struct layers *l, struct destination to, uint64_t size)
{
    struct publication *p;
    int fd, error = new_image_publication(&p, &to, &fd);
    if (error != 0)
        return error;
    error = allocate_file(fd, size, false);
    if (error == 0)
        error = copy_layers(l, fd, size);
    if (error == 0)
        return publish_finish(p);
    publish_abandon(p);
    return error;
}

static int copy_to_memory(const struct layers *l, struct destination to, uint64_t size)
{
    if (size > SIZE_MAX / 2)
        return BLOOMFILE_ETOOBIG;
    if (!file_size_is_allowed(size))
        return EFBIG;
    int fd = file_apart(memfd_create("bloomfile", MFD_CLOEXEC));
    if (fd < 0)
        return errno;
    void *image = NULL;
    int error = copy_layers(l, fd, size);
    if (error == 0 && (image = hugepages_alloc((size_t)size)) == NULL)
        error = ENOMEM;
    if (error == 0)
        error = file_read(fd, 0, image, (size_t)size);
    close(fd);
    if (error != 0) {
        free(image);
        return error;
    }
    *to.image = image;
    *to.size = (size_t)size;
    return 0;
}

int series_copy(const bloomfile *f, struct destination to)
{
    const struct layers *l;
    uint64_t size = 0;
    int error = lookup_enter_all(f, &l);
    if (error != 0)
        return error;
    for (size_t i = 0; i < l->count; i++)
        size += stride(l, i);
    error = to.kind == DESTINATION_MEMORY ? copy_to_memory(l, to, size) : copy_to_file(l, to, size);
    layers_leave(f, l);
    return error;
}
