/* SPDX-License-Identifier: MIT
 *
 * Replaces clock_nanosleep() in programs where many writers are refused. The library tries again a
 * thousand times, a millisecond apart. Here the lock stays as it is. */
#include <time.h>

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    (void)clock;
    (void)flags;
    (void)time;
    (void)left;
    return 0;
}
