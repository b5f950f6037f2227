/* SPDX-License-Identifier: MIT
 * A SIGBUS handler that maps zeros over unreadable pages. */
#include "bfinspect/bus_errors.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mapping {
    uintptr_t first, end;
} mappings[BUS_ERROR_MOST];
static size_t count, page_size;
static volatile sig_atomic_t failed;
static struct sigaction before;

/* The end of the mapping that has the address, or 0. */
static uintptr_t end_of_mapping(uintptr_t address)
{
    for (size_t i = 0; i < count; i++)
        if (address >= mappings[i].first && address < mappings[i].end)
            return mappings[i].end;
    return 0;
}

/* When the handler returns, the access is repeated, so it must find a readable page. longjmp() out
 * of the handler is not possible: other threads may be using data that it would abandon. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    const uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(page_size - 1);
    const uintptr_t end = end_of_mapping((uintptr_t)info->si_addr);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    failed = 1;
    if (info->si_code <= 0 || end == 0 ||
        mmap((void *)at, end - at, PROT_READ, flags, -1, 0) == MAP_FAILED) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void bus_error_begin(void)
{
    struct sigaction now = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    count = 0;
    failed = 0;
    sigemptyset(&now.sa_mask);
    sigaction(SIGBUS, &now, &before);
}

void bus_error_add(const void *mapping, size_t size)
{
    const uintptr_t at = (uintptr_t)mapping;
    if (count < BUS_ERROR_MOST)
        mappings[count++] = (struct mapping){ at, at + size };
}

bool bus_error_end(void)
{
    sigaction(SIGBUS, &before, NULL);
    return failed;
}

bool bus_error_failed(void)
{
    return failed;
}
