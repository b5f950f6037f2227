/* SPDX-License-Identifier: MIT
 * For LD_PRELOAD: the allocation with the number NOMEM_AT, from 1, fails, and so do the next
 * allocations up to NOMEM_UNTIL. If NOMEM_COUNT is set, their number goes to standard error at the
 * end. With NOMEM_MARKED, only allocations between two calls of getppid() count, by which
 * campaign-calls marks its call. campaign_blocks() returns how many blocks are allocated. libfiu
 * makes allocations fail at random or all together, but not each in turn. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's own functions, reached without dlsym(), which allocates. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

static unsigned long at, until;
static bool marked, counting;
static atomic_ulong calls;
static atomic_uint marks;
static atomic_long blocks;

__attribute__((constructor)) static void begin(void)
{
    const char *first = getenv("NOMEM_AT"), *last = getenv("NOMEM_UNTIL");
    at = first == NULL ? 0 : strtoul(first, NULL, 10);
    until = last == NULL ? at : strtoul(last, NULL, 10);
    marked = getenv("NOMEM_MARKED") != NULL;
    counting = getenv("NOMEM_COUNT") != NULL;
    atomic_store(&calls, 0);
}

__attribute__((destructor)) static void end(void)
{
    if (counting)
        dprintf(STDERR_FILENO, "allocations: %lu\n", atomic_load(&calls));
}

pid_t getppid(void)
{
    atomic_fetch_add(&marks, 1);
    return (pid_t)syscall(SYS_getppid);
}

static bool fails(void)
{
    if (marked && atomic_load(&marks) != 1)
        return false;
    const unsigned long nth = atomic_fetch_add(&calls, 1) + 1;
    if (at == 0 || nth < at || nth > until)
        return false;
    errno = ENOMEM;
    return true;
}

long campaign_blocks(void);
long campaign_blocks(void)
{
    return atomic_load(&blocks);
}

static void *counted(void *memory)
{
    if (memory != NULL)
        atomic_fetch_add(&blocks, 1);
    return memory;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    return old == NULL ? counted(__libc_realloc(old, size)) : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *memory = fails() ? NULL : counted(__libc_memalign(alignment, size));
    if (memory == NULL)
        return ENOMEM;
    *out = memory;
    return 0;
}

void free(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub(&blocks, 1);
    __libc_free(memory);
}
