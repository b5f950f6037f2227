/* SPDX-License-Identifier: MIT
 * Shared mappings, copies in huge pages, and hints about both. */
#include "os/map.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/file.h"

#define HUGE_PAGE    ((size_t)2 << 20)
#define READ_AT_ONCE ((size_t)64 << 10) /* a multiple of every page size */

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#endif

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Rounded up to whole pages. */
static size_t rounded_to_pages(size_t size)
{
    return (size + page_size() - 1) / page_size() * page_size();
}

struct map_cost map_cost(const struct map *map)
{
    const size_t size = map->base != NULL ? rounded_to_pages(map->base_size) : 0;
    const bool divided = map->copied && size > HUGE_PAGE && size % HUGE_PAGE != 0;
    return (struct map_cost){ .mapped = size, .mappings = size == 0 ? 0 : divided ? 2 : 1 };
}

/* ---- mapping */

/* Locks pages as they are faulted in. So exceeding the limit fails before anything is read, and
 * read errors are reported by reading. */
static int lock_pages(const struct map *map, size_t size)
{
    return mlock2(map->bytes, size, MLOCK_ONFAULT) == 0 ? 0 : errno;
}

/* Reads each page by pread() and then touches it: pread() returns an error where a touch alone
 * would raise SIGBUS. The page may still become unreadable in between. */
static int read_and_touch(const struct map *map, int fd, uint64_t offset)
{
    uint8_t piece[READ_AT_ONCE];
    const size_t step = page_size();
    for (size_t at = 0, size; at < map->base_size; at += size) {
        size = map->base_size - at < sizeof piece ? map->base_size - at : sizeof piece;
        int error = file_read(fd, offset + at, piece, size);
        if (error != 0)
            return error == BLOOMFILE_ETRUNCATED ? EIO : error;
        for (size_t page = at; page < at + size; page += step)
            (void)*((const volatile uint8_t *)map->base + page);
    }
    return 0;
}

/* Reads pages into memory. Never writes to a writable mapping, which would make all pages dirty.
 * `offset`: of map->base in the file. */
static int fetch_pages(const struct map *map, int fd, uint64_t offset)
{
    map_expect(map, MAP_SCAN);
    if (madvise(map->base, map->base_size, MADV_POPULATE_READ) == 0)
        return 0;
    if (errno != EINVAL)
        return errno == EFAULT ? EIO : errno; /* where touching would raise SIGBUS */
    return read_and_touch(map, fd, offset);
}

static int map_shared(struct map *map, int fd, uint64_t offset, size_t size, struct map_wish wish)
{
    size_t before = (size_t)(offset % page_size());
    int access = wish.writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *base = mmap(NULL, size + before, access, MAP_SHARED, fd, (off_t)(offset - before));
    if (base == MAP_FAILED)
        return errno;
    *map = (struct map){ .base = base,
                         .base_size = size + before,
                         .bytes = (const uint8_t *)base + before,
                         .locked = wish.locked,
                         .resident = wish.resident || wish.locked };
    int error = wish.locked ? lock_pages(map, size) : 0;
    if (error == 0 && map->resident)
        error = fetch_pages(map, fd, offset - before);
    return error;
}

/* ---- copying */

/* Maps memory for `size` bytes. A large copy is aligned to a huge page, and huge pages are
 * requested only for whole ones. The remainder, and small copies, use small pages, to take no more
 * memory than needed. */
static int map_memory(struct map *map, size_t size, bool locked)
{
    const size_t huge = size / HUGE_PAGE * HUGE_PAGE, base_size = rounded_to_pages(size);
    const size_t spare = huge > 0 ? HUGE_PAGE : 0;
    uint8_t *wide =
        mmap(NULL, base_size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wide == MAP_FAILED)
        return errno;
    const size_t before = huge > 0 ? -(uintptr_t)wide % HUGE_PAGE : 0;
    uint8_t *base = wide + before;
    if (before > 0)
        munmap(wide, before);
    if (spare > before)
        munmap(base + base_size, spare - before);
    if (huge > 0)
        madvise(base, huge, MADV_HUGEPAGE);
    *map = (struct map){
        .base = base, .base_size = base_size, .bytes = base, .copied = true, .locked = locked
    };
    return locked ? lock_pages(map, size) : 0;
}

static int read_into_map(struct map *map, int fd, uint64_t offset, size_t size, bool locked)
{
    int error = map_memory(map, size, locked);
    return error != 0 ? error : file_read(fd, offset, map_bytes(map), size);
}

/* ---- */

/* Releases the map if `error` is not 0. */
static int keep(const struct map *map, int error)
{
    if (error != 0)
        map_release(map);
    else
        map_expect(map, MAP_LOOKUPS);
    return error;
}

int map_file(struct map *map, int fd, uint64_t offset, uint64_t size, struct map_wish wish)
{
    *map = (struct map){ 0 };
    if (size > SIZE_MAX / 2 - HUGE_PAGE)
        return BLOOMFILE_ETOOBIG;
    return keep(map, wish.copied ? read_into_map(map, fd, offset, (size_t)size, wish.locked)
                                 : map_shared(map, fd, offset, (size_t)size, wish));
}

int map_copy(struct map *map, const void *bytes, size_t size, bool locked)
{
    *map = (struct map){ 0 };
    int error = map_memory(map, size, locked);
    if (error == 0)
        memcpy(map_bytes(map), bytes, size);
    return keep(map, error);
}

uint8_t *map_bytes(const struct map *map)
{
    return (uint8_t *)map->base + (map->bytes - (const uint8_t *)map->base);
}

int map_reopen(const struct map *map, int fd)
{
    int own, error = file_open_again(fd, true, &own);
    if (error != 0)
        return error;
    const int flags = MAP_SHARED | MAP_FIXED;
    if (mmap(map->base, map->base_size, PROT_READ | PROT_WRITE, flags, own, 0) == MAP_FAILED ||
        dup3(own, fd, O_CLOEXEC) < 0)
        error = errno;
    close(own);
    map_expect(map, MAP_LOOKUPS);
    return error;
}

/* Repeated after EINTR: an interrupted call has not reported an I/O error, the next call will. */
int map_sync(const struct map *map, size_t size)
{
    int result;
    do
        result = msync(map->base, size, MS_SYNC);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

/* Pages that are mapped or locked would not be dropped. The process may have locked all its memory
 * (mlockall). */
int map_forget(const struct map *map, int fd)
{
    const bool locked = madvise(map->base, map->base_size, MADV_DONTNEED) != 0 && errno == EINVAL;
    if (locked && munlock(map->base, map->base_size) == 0)
        madvise(map->base, map->base_size, MADV_DONTNEED);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    int error = locked ? lock_pages(map, map->base_size) : 0;
    if (error == 0 && (locked || map->resident))
        error = fetch_pages(map, fd, 0);
    map_expect(map, MAP_LOOKUPS);
    return error;
}

void map_expect(const struct map *map, enum map_use use)
{
    if (map->base != NULL)
        madvise(map->base, map->base_size, use == MAP_SCAN ? MADV_SEQUENTIAL : MADV_RANDOM);
}

static struct rusage usage_of_thread(void)
{
    struct rusage usage = { 0 };
    getrusage(RUSAGE_THREAD, &usage); /* cannot fail */
    return usage;
}

/* Counts major faults. mincore() would predict them, but only for processes that may write to the
 * file. */
long map_waits(void)
{
    return usage_of_thread().ru_majflt;
}

void map_announce(const struct map *map, const uint8_t *bytes, size_t size)
{
    const size_t before = (uintptr_t)bytes % page_size();
    if (map->base != NULL)
        madvise((void *)((uintptr_t)bytes - before), size + before, MADV_WILLNEED);
}

void map_fetch(const uint8_t *bytes, size_t size)
{
    const size_t before = (uintptr_t)bytes % page_size();
    const long faults = usage_of_thread().ru_minflt;
    (void)*(const volatile uint8_t *)(bytes + size / 2);
    if (usage_of_thread().ru_minflt != faults)
        madvise((void *)((uintptr_t)bytes - before), size + before, MADV_POPULATE_READ);
}

/* A substitute for MADV_POPULATE_READ on older kernels: reads the first and the last byte, which
 * are on different pages if a header crosses one. */
static bool can_be_read(const uint8_t *bytes, size_t size)
{
    uint8_t both[2];
    const struct iovec to = { both, sizeof both };
    const struct iovec from[] = { { (void *)(uintptr_t)bytes, 1 },
                                  { (void *)(uintptr_t)(bytes + size - 1), 1 } };
    const ssize_t got = process_vm_readv(getpid(), &to, 1, from, 2, 0);
    return got < 0 ? errno != EFAULT : got == (ssize_t)sizeof both;
}

bool map_is_there(const struct map *map, const uint8_t *bytes, size_t size)
{
    const size_t before = (uintptr_t)bytes % page_size();
    if (map->base == NULL ||
        madvise((void *)((uintptr_t)bytes - before), size + before, MADV_POPULATE_READ) == 0)
        return true;
    if (errno != EINVAL)
        return errno != EFAULT && errno != EHWPOISON;
    return can_be_read(bytes, size);
}

void map_release(const struct map *map)
{
    if (map->base != NULL)
        munmap(map->base, map->base_size);
}
