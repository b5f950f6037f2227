/* SPDX-License-Identifier: MIT
 * Reading a patch in order. Every number is checked against a limit before it is used. */
#include "delta/input.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "delta/bits.h"
#include "format/checksum.h"
#include "format/source.h"
#include "os/file.h"

static int open_patch(const char *path, int *fd)
{
    struct stat status;
    int error = file_open(path, false, fd);
    if (error == 0 && (error = file_stat(*fd, &status)) != 0)
        close(*fd);
    return error;
}

int input_start(struct input *in, const struct bloomfile_source *given)
{
    struct bloomfile_source from;
    const int error = source_take(&from, given);
    if (error != 0)
        return error;
    in->fd = from.kind == BLOOMFILE_FROM_FD ? from.fd : -1;
    in->own = from.kind == BLOOMFILE_FROM_PATH;
    in->next = from.kind == BLOOMFILE_FROM_FD ? from.offset : BLOOMFILE_FROM_HERE;
    in->left = from.kind == BLOOMFILE_FROM_FD ? from.length : UINT64_MAX;
    in->memory = NULL;
    if (from.kind == BLOOMFILE_FROM_MEMORY) {
        in->memory = from.memory;
        in->left = from.size;
    }
    in->taken = 0;
    in->crc = 0;
    in->at = in->end = 0;
    return in->own ? open_patch(from.path, &in->fd) : 0;
}

void input_stop(const struct input *in)
{
    if (in->own)
        close(in->fd);
}

void input_restart(struct input *in)
{
    in->crc = 0;
}

/* ---- bytes */

static int fill(struct input *in)
{
    const size_t most = in->left < sizeof in->buffer ? (size_t)in->left : sizeof in->buffer;
    in->at = in->end = 0;
    if (most == 0)
        return 0;
    int error = 0;
    if (in->memory == NULL)
        error = file_read_some(in->fd, in->next, in->buffer, most, &in->end);
    else
        memcpy(in->buffer, in->memory + in->taken, in->end = most);
    if (in->next != BLOOMFILE_FROM_HERE)
        in->next += in->end;
    if (in->left != BLOOMFILE_FROM_REST)
        in->left -= in->end;
    return error;
}

static int take_bytes(struct input *in, uint8_t *to, size_t size)
{
    while (size > 0) {
        int error = in->at == in->end ? fill(in) : 0;
        if (error != 0)
            return error;
        if (in->at == in->end)
            return BLOOMFILE_ETRUNCATED;
        const size_t have = in->end - in->at, now = have < size ? have : size;
        memcpy(to, in->buffer + in->at, now);
        in->at += now;
        in->taken += now;
        to += now;
        size -= now;
    }
    return 0;
}

/* take_bytes() that also updates the CRC. */
static int take_checked(struct input *in, uint8_t *to, size_t size)
{
    int error = take_bytes(in, to, size);
    if (error == 0)
        in->crc = checksum_more(in->crc, to, size);
    return error;
}

static int take_number(struct input *in, uint64_t *number)
{
    *number = 0;
    for (unsigned at = 0;; at++) {
        uint8_t byte;
        int error = take_checked(in, &byte, 1);
        if (error != 0)
            return error;
        const enum patch_taken taken = patch_take_number(number, at, byte);
        if (taken != PATCH_MORE)
            return taken == PATCH_TAKEN ? 0 : BLOOMFILE_EPATCH;
    }
}

static int take_checksum(struct input *in, uint32_t *crc)
{
    uint8_t bytes[4];
    int error = take_bytes(in, bytes, sizeof bytes);
    *crc = error == 0 ? get32(bytes) : 0;
    return error;
}

/* ---- the head */

int input_head(struct input *in, struct patch_head *head)
{
    uint8_t bytes[PATCH_START];
    uint64_t edits_size = 0;
    uint32_t crc = 0;
    int error = take_checked(in, bytes, PATCH_MAGIC);
    if (error == 0 && !patch_begins(bytes))
        return BLOOMFILE_EPATCH; /* not _ETRUNCATED: the file is not a patch */
    if (error == 0)
        error = take_checked(in, bytes + PATCH_MAGIC, sizeof bytes - PATCH_MAGIC);
    if (error == 0)
        error = patch_decode_start(bytes, head);
    if (error == 0)
        error = take_number(in, &head->body_size);
    if (error == 0)
        error = take_number(in, &edits_size);
    if (error == 0 && (edits_size > PATCH_EDITS_MOST || head->body_size == 0 ||
                       head->body_size % CELLS_UNIT_SIZE != 0))
        error = BLOOMFILE_EPATCH;
    head->edits_size = (size_t)edits_size;
    if (error == 0)
        error = take_checked(in, head->edits, head->edits_size);
    if (error == 0)
        error = take_checksum(in, &crc);
    return error == 0 && crc != in->crc ? BLOOMFILE_EPATCH : error;
}

/* ---- a part */

int input_skip(struct input *in, uint64_t *skip)
{
    in->crc = 0;
    return take_number(in, skip);
}

static int take_parameter(struct input *in, uint8_t *parameter)
{
    int error = take_checked(in, parameter, 1);
    return error == 0 && *parameter > BITS_PARAMETER ? BLOOMFILE_EPATCH : error;
}

static int take_stream(struct input *in, enum cells_kind kind, struct part_stream *s)
{
    int error = take_number(in, &s->units);
    if (error != 0 || s->units == 0)
        return error;
    error = take_parameter(in, &s->gap_bits);
    if (error == 0 && kind == CELLS_OF_BLOCKS) {
        error = take_number(in, &s->typical);
        if (error == 0)
            error = take_parameter(in, &s->count_bits);
        if (error == 0 && (s->typical == 0 || s->typical > CELLS_UNIT))
            error = BLOOMFILE_EPATCH;
    }
    return error == 0 ? take_number(in, &s->size) : error;
}

int input_part(struct input *in, enum cells_kind kind, uint64_t pages, struct part *part)
{
    uint64_t size = 0;
    int error = take_number(in, &part->span);
    if (error == 0 && (part->span == 0 || part->span > pages))
        error = BLOOMFILE_EPATCH;
    memset(part->streams, 0, sizeof part->streams);
    for (unsigned i = 0; error == 0 && i < part_streams(kind); i++) {
        error = take_stream(in, kind, &part->streams[i]);
        if (error == 0 && part->streams[i].size > PART_STRINGS_MOST - size)
            error = BLOOMFILE_EPATCH;
        size += part->streams[i].size;
    }
    return error;
}

int input_strings(struct input *in, uint8_t *strings, size_t size, uint32_t *crc)
{
    int error = take_bytes(in, strings, size);
    return error == 0 ? take_checksum(in, crc) : error;
}

int input_end(struct input *in)
{
    int error = in->at == in->end ? fill(in) : 0;
    return error == 0 && in->at < in->end ? BLOOMFILE_ETRAILING : error;
}
