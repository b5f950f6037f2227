/* SPDX-License-Identifier: MIT
 * Bytes of a file in memory: mappings and copies. */
#ifndef BLOOMFILE_MAP_H
#define BLOOMFILE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
    void *base; /* NULL: the bytes belong to the caller */
    size_t base_size;
    const uint8_t *bytes;
    bool copied; /* to private memory: the file may change */
    bool locked; /* in memory for as long as it is mapped */
};

/* How to have the bytes in memory. */
struct map_wish {
    bool writable; /* a mapping, at offset 0 */
    bool copied;   /* not mapped, but read into private memory, in huge pages if possible */
    bool resident; /* in memory before the first use */
    bool locked;   /* resident, and for as long as they are mapped */
};

/* What a map takes of the process's address space. Huge pages are a mapping of their own. */
struct map_cost {
    size_t mapped; /* bytes, in whole pages */
    uint32_t mappings;
};
struct map_cost map_cost(const struct map *map);

/* Maps `size` > 0 bytes at any offset, shared, or copies them. BLOOMFILE_ETOOBIG, _ETRUNCATED or an
 * errno; EIO also if the file has become shorter than the mapping. */
int map_file(struct map *map, int fd, uint64_t offset, uint64_t size, struct map_wish wish);

/* Copies the bytes, into huge pages if possible. 0 or an errno. */
int map_copy(struct map *map, const void *bytes, size_t size, bool locked);

/* The bytes of a writable mapping, or of a copy. */
uint8_t *map_bytes(const struct map *map);

/* Opens the file of a descriptor again, in place of the descriptor and of a writable mapping of
 * it. */
int map_reopen(const struct map *map, int fd);

/* Writes the first `size` bytes to disk, whether changed through the mapping or by file_write().
 * The mapping must be writable: otherwise the kernel writes nothing and returns 0. */
int map_sync(const struct map *map, size_t size);

/* How the bytes will be read next. After map_file() it is MAP_LOOKUPS: scattered lines, for which
 * reading ahead is wasted. A hint; failure has no consequence. */
enum map_use {
    MAP_LOOKUPS,
    MAP_SCAN,
};
void map_expect(const struct map *map, enum map_use use);

/* Maps the pages of `bytes` in one call, if the middle page is not mapped yet. In tmpfs
 * this takes half the time of page faults. Touches one byte, which may raise SIGBUS. */
void map_fetch(const uint8_t *bytes, size_t size);

/* How often the calling thread has waited for a disk to read a page, of any mapping. */
long map_waits(void);

/* Starts reading the bytes from disk without waiting. Also a hint. */
void map_announce(const struct map *map, const uint8_t *bytes, size_t size);

/* Whether bytes of a mapping, on at most two pages, can be read. They cannot if the file has become
 * too short or its disk fails: touching them would raise SIGBUS. */
bool map_is_there(const struct map *map, const uint8_t *bytes, size_t size);

void map_release(const struct map *map);

#endif
