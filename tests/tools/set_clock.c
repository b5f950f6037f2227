/* SPDX-License-Identifier: MIT
 *
 * A module for LD_PRELOAD that sets clocks. The wall clock shows the modification time of the file
 * named by CLOCK; the steady clock shows that of the file named by STEADY_CLOCK.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    struct stat status;
    const bool steady = clock == CLOCK_MONOTONIC;
    const char *path = getenv(steady ? "STEADY_CLOCK" : "CLOCK");
    if ((!steady && clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) || path == NULL ||
        stat(path, &status) != 0)
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = status.st_mtim;
    return 0;
}
