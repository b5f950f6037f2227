/* SPDX-License-Identifier: MIT
 * Memory in huge pages, aligned for them, and arrays of it that grow by mremap(); memory that
 * fork() wipes. */
#include "os/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define LINE      ((size_t)64) /* bytes of a cache line, and of a block of the blocked layout */
#define PAGES     ((size_t)64 << 10) /* a multiple of every page size */

/* The remainder after the last whole huge page uses small pages, to take no more memory than
 * needed. */
static size_t mapped_size(size_t size)
{
    return (size + PAGES - 1) / PAGES * PAGES;
}

void *hugepages_alloc(size_t size)
{
    if (size < HUGE_PAGE)
        return aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
    if (size > SIZE_MAX / 2)
        return NULL;
    void *pages = aligned_alloc(HUGE_PAGE, (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    if (pages != NULL)
        madvise(pages, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* best effort */
    return pages;
}

/* Maps `size` bytes, aligned to a huge page. */
static void *map_aligned(size_t size)
{
    uint8_t *wide =
        mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wide == MAP_FAILED)
        return NULL;
    const size_t before = -(uintptr_t)wide % HUGE_PAGE;
    if (before > 0)
        munmap(wide, before);
    munmap(wide + before + size, HUGE_PAGE - before);
    madvise(wide + before, size, MADV_HUGEPAGE); /* best effort */
    return wide + before;
}

/* Grows by moving pages, without copying. The result is a single mapping, because mremap() moves
 * only one mapping at a time before Linux 6.17. */
static void *grow_mapped(void *old, size_t old_size, size_t size)
{
    if (size == old_size)
        return old;
    void *pages = map_aligned(size);
    if (pages == NULL)
        return NULL;
    if (mremap(old, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, pages) == MAP_FAILED) {
        munmap(pages, size);
        return NULL;
    }
    return pages;
}

void *hugepages_grow(void *old, size_t old_size, size_t size)
{
    if (size < HUGE_PAGE)
        return realloc(old, size);
    if (size > SIZE_MAX / 2)
        return NULL;
    if (old_size >= HUGE_PAGE)
        return grow_mapped(old, mapped_size(old_size), mapped_size(size));
    void *pages = map_aligned(mapped_size(size));
    if (pages != NULL && old_size > 0) {
        memcpy(pages, old, old_size);
        free(old);
    }
    return pages;
}

void hugepages_free(void *pages, size_t size)
{
    if (size < HUGE_PAGE)
        free(pages);
    else
        munmap(pages, mapped_size(size));
}

/* ---- By madvise(MADV_WIPEONFORK). */

int wipe_on_fork_new(void **out, size_t size)
{
    *out = NULL;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return errno;
    if (madvise(memory, size, MADV_WIPEONFORK) != 0) {
        int error = errno;
        munmap(memory, size);
        return error;
    }
    *out = memory;
    return 0;
}

size_t wipe_on_fork_mapped(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

void wipe_on_fork_free(void *memory, size_t size)
{
    if (memory != NULL)
        munmap(memory, size);
}
