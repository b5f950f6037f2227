/* SPDX-License-Identifier: MIT
 * The bytes of a file in memory: mappings and copies. */
#ifndef BLOOMFILE_MAP_H
#define BLOOMFILE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
    void *base; /* NULL: the bytes belong to the caller */
    size_t base_size;
    const uint8_t *bytes;
    bool copied;   /* in private memory: later changes of the file have no effect */
    bool locked;   /* locked in memory while it is mapped */
    bool resident; /* was fetched at once */
};

/* How to bring the bytes into memory. */
struct map_wish {
    bool writable; /* a mapping, at offset 0 */
    bool copied;   /* read into private memory instead of mapped, in huge pages if possible */
    bool resident; /* in memory before the first use */
    bool locked;   /* resident, and locked while mapped */
};

/* The address space of a map. Huge pages are a separate mapping. */
struct map_cost {
    size_t mapped; /* bytes, in whole pages */
    uint32_t mappings;
};
struct map_cost map_cost(const struct map *map);

/* Maps `size` > 0 bytes at any offset, shared, or copies them. Returns 0, BLOOMFILE_ETOOBIG,
 * _ETRUNCATED or an errno; EIO also if the file has become shorter than the mapping. */
int map_file(struct map *map, int fd, uint64_t offset, uint64_t size, struct map_wish wish);

/* Copies the bytes, into huge pages if possible. Returns 0 or an errno. */
int map_copy(struct map *map, const void *bytes, size_t size, bool locked);

/* Returns the bytes of a writable mapping or of a copy, as writable. */
uint8_t *map_bytes(const struct map *map);

/* Opens the file again, and replaces the descriptor and its writable mapping in place. */
int map_reopen(const struct map *map, int fd);

/* Writes the first `size` bytes to disk, whether changed through the mapping or by file_write().
 * The mapping must be writable: otherwise the kernel writes nothing and returns 0. */
int map_sync(const struct map *map, size_t size);

/* Has the kernel drop the file's pages from memory. Pages that are to be written, and those of
 * other mappings, stay. Then locks and fetches the pages again if they were locked or fetched at
 * once. Returns 0 or an errno. */
int map_forget(const struct map *map, int fd);

/* A hint about the next reads. map_file() starts with MAP_LOOKUPS: scattered lines, for which
 * read-ahead is wasted. */
enum map_use {
    MAP_LOOKUPS,
    MAP_SCAN,
};
void map_expect(const struct map *map, enum map_use use);

/* Faults in the pages of `bytes` by one call, unless the middle page is mapped already. On tmpfs
 * this takes half the time of page faults. Touches one byte, which may raise SIGBUS. */
void map_fetch(const uint8_t *bytes, size_t size);

/* Returns how often the calling thread has waited for a disk to read a page of any mapping. */
long map_waits(void);

/* Starts reading the bytes from disk, without waiting. A hint. */
void map_announce(const struct map *map, const uint8_t *bytes, size_t size);

/* Returns whether bytes of a mapping, on at most two pages, can be read. If the file has become too
 * short or its disk fails, touching them would raise SIGBUS. */
bool map_is_there(const struct map *map, const uint8_t *bytes, size_t size);

void map_release(const struct map *map);

#endif
