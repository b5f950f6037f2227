/* SPDX-License-Identifier: MIT
 * sigsetjmp() in each thread that reads. */
#include "bfinspect/salvage.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t first, end;
static size_t page_size;
static volatile sig_atomic_t failed;
static struct sigaction before;

/* Returning repeats the access, which is why there must be something now. A jump would not do:
 * other threads may be at work on what the jump leaves behind. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    const uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(page_size - 1);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    failed = 1;
    if (info->si_code <= 0 || at < first || at >= end ||
        mmap((void *)at, end - at, PROT_READ, flags, -1, 0) == MAP_FAILED) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void salvage_begin(const void *mapping, size_t size)
{
    struct sigaction now = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
    first = (uintptr_t)mapping;
    end = first + size;
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    failed = 0;
    sigemptyset(&now.sa_mask);
    sigaction(SIGBUS, &now, &before);
}

bool salvage_end(void)
{
    sigaction(SIGBUS, &before, NULL);
    return failed;
}

bool salvage_failed(void)
{
    return failed;
}
