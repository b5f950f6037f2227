/* SPDX-License-Identifier: MIT
 * Patches: made, applied, described. */
#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <errno.h>
#include <stdlib.h>

#include "delta/apply.h"
#include "delta/make.h"
#include "format/versioned.h"
#include "os/team.h"

/* The struct of version 0.1, the oldest that callers can have. */
#define INFO_LEAST sizeof(struct bloomfile_patch_info)

/* ---- making */

static int check_shape(const bloomfile *base, const bloomfile *result)
{
    int error = bloomfile_compatible(base, result);
    if (error != 0)
        return error;
    if (base->header.m != result->header.m)
        return BLOOMFILE_EDIFFERENTBITS;
    return base->header.header_size == result->header.header_size ? 0 : BLOOMFILE_EDIFFERENTFORM;
}

static int delta(struct destination to, const bloomfile *base, const bloomfile *result,
                 unsigned threads)
{
    if (threads > TEAM_MOST)
        return BLOOMFILE_EPARAMS;
    if (base->series != NULL || result->series != NULL)
        return BLOOMFILE_ENOTONE;
    if (base->live != NULL || result->live != NULL)
        return BLOOMFILE_ELIVE;
    int error = check_shape(base, result);
    return error != 0 ? error : make_patch(to, base, result, threads);
}

int bloomfile_delta(const char *path, const bloomfile *base, const bloomfile *result,
                    unsigned threads, unsigned flags)
{
    return delta(new_image_to_file(path, flags), base, result, threads);
}

int bloomfile_delta_fd(int fd, const bloomfile *base, const bloomfile *result, unsigned threads,
                       const char *spool)
{
    return delta(new_image_to_fd(fd, spool), base, result, threads);
}

/* ---- applying */

static int patch(struct destination to, const bloomfile *base, int fd, unsigned threads)
{
    struct input in;
    if (threads > TEAM_MOST)
        return BLOOMFILE_EPARAMS;
    if (base->series != NULL)
        return BLOOMFILE_ENOTONE;
    if (base->live != NULL)
        return BLOOMFILE_ELIVE;
    input_start(&in, fd);
    return apply_patch(to, base, &in, threads);
}

int bloomfile_patch(const char *path, const bloomfile *base, int fd, unsigned threads,
                    unsigned flags)
{
    return patch(new_image_to_file(path, flags), base, fd, threads);
}

int bloomfile_patch_fd(int fd, const bloomfile *base, int patch_fd, unsigned threads,
                       const char *spool)
{
    return patch(new_image_to_fd(fd, spool), base, patch_fd, threads);
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
            return part.skip == left ? input_end(in) : BLOOMFILE_EPATCH;
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

static int describe(struct input *in, uint8_t *strings, struct bloomfile_patch_info *info)
{
    struct patch_head head;
    int error = input_head(in, &head);
    if (error != 0)
        return error;
    *info = (struct bloomfile_patch_info){ .version = PATCH_VERSION,
                                           .layout = head.layout,
                                           .base_header = head.base.header,
                                           .base_body = head.base.body,
                                           .result_header = head.result.header,
                                           .result_body = head.result.body,
                                           .body_size = head.body_size };
    error = read_parts(in, &head, strings, info);
    info->patch_size = in->taken;
    return error;
}

int bloomfile_get_patch_info(struct bloomfile_patch_info *out, int fd)
{
    struct bloomfile_patch_info info;
    struct input in;
    if (!versioned_known(out->struct_size, INFO_LEAST))
        return BLOOMFILE_EPARAMS;
    uint8_t *strings = malloc(PART_STRINGS_MOST);
    if (strings == NULL)
        return ENOMEM;
    input_start(&in, fd);
    int error = describe(&in, strings, &info);
    free(strings);
    if (error == 0)
        versioned_give(out, out->struct_size, &info, sizeof info);
    return error;
}
