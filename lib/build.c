/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "image.h"
#include "kernel.h"
#include "params.h"
#include "publish.h"
#include "sort.h"

struct bloomfile_builder {
    struct bloomfile_params params;
    char label[BLOOMFILE_MAX_LABEL + 1];
    uint64_t *digests;
    size_t count, room;
    size_t sorted; /* so many digests at the start are ascending and distinct */
};

int bloomfile_builder_new(bloomfile_builder **out, const struct bloomfile_params *params)
{
    *out = NULL;
    struct bloomfile_params p;
    int error = params_take(&p, params);
    if (error != 0)
        return error;
    bloomfile_builder *b = calloc(1, sizeof *b);
    if (b == NULL)
        return ENOMEM;
    b->params = p;
    if (p.label != NULL)
        b->params.label = memcpy(b->label, p.label, strlen(p.label));
    *out = b;
    return 0;
}

static int make_room(bloomfile_builder *b, size_t more)
{
    if (more <= b->room - b->count)
        return 0;
    if (more > SIZE_MAX / 2 / sizeof *b->digests - b->room)
        return ENOMEM;
    size_t room = b->room + (b->room > more ? b->room : more);
    uint64_t *digests = realloc(b->digests, room * sizeof *digests);
    if (digests == NULL)
        return ENOMEM;
    b->digests = digests;
    b->room = room;
    return 0;
}

int bloomfile_builder_add_digests(bloomfile_builder *b, const bloomfile_digest *digests, size_t n)
{
    int error = make_room(b, n);
    if (error == 0 && n > 0) {
        memcpy(b->digests + b->count, digests, n * sizeof *digests);
        b->count += n;
    }
    return error;
}

int bloomfile_builder_add(bloomfile_builder *b, const void *key, size_t size)
{
    uint64_t digest = hash_key(b->params.seed, key, size);
    return bloomfile_builder_add_digests(b, &digest, 1);
}

int bloomfile_builder_count(bloomfile_builder *b, uint64_t *count)
{
    if (b->sorted != b->count)
        b->count = b->sorted = sort_unique(b->digests, b->count);
    *count = b->count;
    return 0;
}

static int build(bloomfile_builder *b, uint32_t header_size, uint8_t **image, size_t *size)
{
    struct header h;
    uint64_t n;
    int error = bloomfile_builder_count(b, &n);
    if (error == 0)
        error = params_plan(&b->params, n, header_size, &h);
    if (error == 0)
        error = image_new(&h, image, size);
    if (error != 0)
        return error;
    uint64_t units = geometry_of(h.layout, h.m, h.header_size).units;
    kernel_for(h.layout)->add_many(image_body(&h, *image), units, h.k, b->digests, b->count);
    image_seal(&h, *image);
    struct header_faults faults = { 0 };
    header_decode(*image, *size, &h, &faults);
    if (faults.first != 0)
        free(*image);
    return faults.first;
}

int bloomfile_builder_finish(bloomfile_builder *b, const char *path, unsigned flags)
{
    uint8_t *image;
    size_t size;
    int error = build(b, GEOMETRY_FILE_HEADER, &image, &size);
    if (error != 0)
        return error;
    error = publish(path, image, size, flags);
    free(image);
    return error;
}

int bloomfile_builder_finish_memory(bloomfile_builder *b, void **image, size_t *size)
{
    *image = NULL;
    *size = 0;
    uint8_t *bytes;
    size_t length;
    int error = build(b, GEOMETRY_EMBEDDED_HEADER, &bytes, &length);
    if (error != 0)
        return error;
    *image = bytes;
    *size = length;
    return 0;
}

void bloomfile_builder_free(bloomfile_builder *b)
{
    if (b == NULL)
        return;
    free(b->digests);
    free(b);
}
