/* SPDX-License-Identifier: MIT
 * Completes a sealing that was cut off. */
#include "handle/sealing.h"

#include "format/decode.h"
#include "handle/lock.h"
#include "handle/record.h"
#include "image/body.h"
#include "os/map.h"

static int verify(const struct header *h, const uint8_t *body)
{
    struct guard guard;
    int error = guard_start(&guard, body, h->body_size, h->record.body_crc, false);
    if (error == 0)
        error = body_verify(h, body, &guard, 1, NULL);
    guard_release(&guard);
    return error;
}

/* Holds the locks. Another process may have completed it before that. */
static int complete(int fd, const struct file_identity *own, const struct map *map,
                    struct header *h)
{
    struct header_faults faults = { 0 };
    uint8_t bytes[HEADER_MAX];
    memcpy(bytes, map->bytes, sizeof bytes);
    decode_header(bytes, map->base_size, h, &faults);
    if (!decode_seal_unfinished(h, &faults))
        return faults.first;
    int error = verify(h, map->bytes + h->body_offset);
    if (error == 0)
        error = map_sync(map, HEADER_MAX); /* complete 1: the one in force may not be on disk yet */
    if (error == 0)                        /* complete 2: the same over the other one */
        error = record_write(fd, own, h, &h->record, map->bytes, h->in_force, 1 - h->in_force);
    return error != 0 ? error : map_sync(map, HEADER_MAX); /* complete 3: it is on disk */
}

int sealing_complete(int fd, struct header *h)
{
    struct map map;
    const uint64_t size = geometry_of(h->layout, h->m, h->header_size).image_size;
    struct file_identity own;
    int error = file_identify(fd, &own);
    if (error == 0)
        error = lock_try(fd, LOCK_WRITERS, true);
    if (error != 0)
        return error;
    error = lock_wait(fd, LOCK_RECORDS, 1);
    if (error == 0) {
        error = map_file(&map, fd, 0, size, (struct map_wish){ .writable = true });
        if (error == 0) {
            error = complete(fd, &own, &map, h);
            map_release(&map);
        }
        lock_drop(fd, LOCK_RECORDS, 1);
    }
    lock_drop(fd, LOCK_WRITERS, 1);
    return error;
}
