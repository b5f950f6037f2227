/* SPDX-License-Identifier: MIT
 * A clock_nanosleep() that returns immediately, for programs where many writers are refused. The
 * library retries a thousand times, a millisecond apart, and here the lock never becomes free. */
#include <time.h>

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    (void)clock;
    (void)flags;
    (void)time;
    (void)left;
    return 0;
}
