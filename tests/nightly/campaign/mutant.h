/* SPDX-License-Identifier: MIT
 * Included first by every C file in a build with mutants (tests/nightly/campaign/mutants.py). A
 * process runs the mutant that the environment names: MUTANT=number. With MUTANTS_REACHED=file
 * it runs without mutants, and the byte of each place records the values there: 1 it is reached,
 * 2 with a value that is not 0, 4 with 0. MUTANT_TEST=name runs one test of cmocka's. The
 * symbols are weak, so that each program has them once without a file to define them. The code
 * uses syscall(), because tests replace functions. */
#ifndef BLOOMFILE_TESTS_MUTANT_H
#define BLOOMFILE_TESTS_MUTANT_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MUTANT_WEAK __attribute__((weak, visibility("hidden")))

MUTANT_WEAK unsigned mutant_chosen = -1U;
MUTANT_WEAK unsigned char *mutants_reached;
extern void cmocka_set_test_filter(const char *) __attribute__((weak));

MUTANT_WEAK __attribute__((constructor)) void mutant_choose(void)
{
    const char *chosen = getenv("MUTANT"), *reached = getenv("MUTANTS_REACHED");
    const char *test = getenv("MUTANT_TEST");
    if (chosen != NULL)
        mutant_chosen = (unsigned)strtoul(chosen, NULL, 10);
    if (test != NULL && cmocka_set_test_filter != NULL)
        cmocka_set_test_filter(test);
    if (reached == NULL || mutants_reached != NULL)
        return;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, reached, O_RDWR | O_CLOEXEC);
    const long size = fd < 0 ? 0 : syscall(SYS_lseek, fd, 0L, SEEK_END);
    const long map =
        size <= 0 ? -1 : syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    if (fd >= 0)
        (void)syscall(SYS_close, fd);
    if (map != -1)
        mutants_reached = (unsigned char *)map;
}

static inline __attribute__((always_inline, unused)) int mutant_is(unsigned first, unsigned count)
{
    if (__builtin_expect(mutants_reached != NULL, 0))
        mutants_reached[first] |= 1;
    return __builtin_expect(mutant_chosen - first < count, 0);
}

static inline __attribute__((always_inline, unused)) void mutant_sees(unsigned first, int truth)
{
    if (__builtin_expect(mutants_reached != NULL, 0))
        mutants_reached[first] |= truth ? 2 : 4;
}

#define MUTANT(first, count) mutant_is(first, count)

#endif
