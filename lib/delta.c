/* SPDX-License-Identifier: MIT
 * Patches: making, applying and describing them. */
#include <bloomfile_delta.h>
#include <errno.h>
#include <stdlib.h>

#include "combine/combine.h"
#include "delta/patch.h"
#include "format/invalid.h"
#include "format/versioned_struct.h"
#include "live/file_change.h"
#include "os/thread.h"

#define INFO_LEAST VERSIONED_LEAST(struct bloomfile_patch_info, reserved)

/* ---- making */

static int check_shape(const struct header *base, const struct header *result)
{
    int error = combine_compatible(base, result);
    if (error != 0)
        return error;
    if (base->m != result->m || !header_same_place(base, result))
        return BLOOMFILE_EDIFFERENTBITS;
    return base->header_size == result->header_size ? 0 : BLOOMFILE_EDIFFERENTFORM;
}

static int images_of(const bloomfile_filter *f, struct handle_images *images)
{
    int error = f->operations->images(f, images);
    if (error == 0 && layout_of(f->header.layout)->solved)
        error = BLOOMFILE_EISRIBBON;
    for (size_t i = 0; error == 0 && i < images->count; i++)
        error = changed_before_reading(images->list[i]);
    return error;
}

int bloomfile_delta(struct bloomfile_destination *given, const bloomfile_filter *base,
                    const bloomfile_filter *result, unsigned threads)
{
    struct destination to;
    struct handle_images from, into;
    int error = destination_take(&to, given);
    if (threads > TEAM_MOST)
        error = invalid(BLOOMFILE_EVALUE, "threads");
    if (error == 0)
        error = images_of(base, &from);
    if (error == 0)
        error = images_of(result, &into);
    if (error == 0 && (from.count != into.count || from.layers != into.layers))
        error = BLOOMFILE_EDIFFERENTBITS;
    for (size_t i = 0; error == 0 && i < from.count; i++)
        error = check_shape(&from.list[i]->header, &into.list[i]->header);
    return error != 0 ? error
                      : make_patch(to, from.list, into.list, from.count, from.layers, threads);
}

/* ---- applying */

int bloomfile_patch(struct bloomfile_destination *given, const bloomfile_filter *base,
                    const struct bloomfile_source *patch, unsigned threads)
{
    struct destination to;
    struct handle_images from;
    struct input in;
    int error = destination_take(&to, given);
    if (threads > TEAM_MOST)
        error = invalid(BLOOMFILE_EVALUE, "threads");
    if (error == 0)
        error = images_of(base, &from);
    if (error == 0)
        error = source_destination(&to, &base, 1);
    if (error == 0) /* all layers of a sealed series are in one file */
        error = source_check_path(&to, from.list[0], from.list[0]->path);
    if (error == 0)
        error = input_start(&in, patch);
    if (error != 0)
        return error;
    error = apply_patch(to, from.list, from.count, from.layers, &in, threads);
    input_stop(&in);
    return error;
}

/* ---- describing */

static int read_parts(struct input *in, const struct patch_head *head, uint8_t *strings,
                      struct bloomfile_patch_info *info)
{
    uint64_t left = checksum_pages(head->body_size);
    for (;;) {
        struct part part;
        uint32_t crc;
        int error = input_skip(in, &part.skip);
        if (error != 0)
            return error;
        if (part.skip >= left)
            return part.skip == left ? 0 : BLOOMFILE_EPATCH;
        left -= part.skip;
        error = input_part(in, part_kind(head->layout), left, &part);
        const size_t size = part_size(&part);
        if (error == 0)
            error = input_strings(in, strings, size, &crc);
        if (error != 0)
            return error;
        if (checksum_more(in->crc, strings, size) != crc)
            return BLOOMFILE_EPATCH;
        left -= part.span;
        info->changed_pages += part.span;
        info->parts++;
    }
}

static int describe_one(struct input *in, struct patch_head *head, uint8_t *strings,
                        struct bloomfile_patch_info *info)
{
    input_restart(in);
    int error = input_head(in, head);
    if (error != 0)
        return error;
    if (info->version == 0)
        *info = (struct bloomfile_patch_info){ .version = PATCH_VERSION,
                                               .layout = head->layout,
                                               .base_header = head->base.header,
                                               .base_body = head->base.body,
                                               .result_header = head->result.header,
                                               .result_body = head->result.body };
    else if ((head->features & PATCH_OF_LAYER) == 0)
        return BLOOMFILE_EPATCH;
    info->layers += (head->features & PATCH_OF_LAYER) != 0;
    info->body_size += head->body_size;
    return read_parts(in, head, strings, info);
}

static int describe_patch(struct input *in, uint8_t *strings, struct bloomfile_patch_info *info)
{
    struct patch_head head;
    int error;
    *info = (struct bloomfile_patch_info){ .version = 0 };
    do
        error = describe_one(in, &head, strings, info);
    while (error == 0 && (head.features & PATCH_FOLLOWED) != 0);
    if (error == 0)
        error = input_end(in);
    info->patch_size = in->taken;
    return error;
}

int bloomfile_get_patch_info(const struct bloomfile_source *patch, struct bloomfile_patch_info *out)
{
    struct bloomfile_patch_info info;
    struct input in;
    if (!versioned_known(out->struct_size, INFO_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    uint8_t *strings = malloc(PART_STRINGS_MOST);
    int error = strings == NULL ? ENOMEM : input_start(&in, patch);
    if (error == 0) {
        error = describe_patch(&in, strings, &info);
        input_stop(&in);
    }
    free(strings);
    if (error == 0)
        versioned_give(out, out->struct_size, &info, sizeof info);
    return error;
}
