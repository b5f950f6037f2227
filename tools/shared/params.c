/* SPDX-License-Identifier: MIT
 * Suffixes, ranges and contradictions. */
#include "shared/params.h"
#include "shared/cli.h"

#include <bloomfile.h>

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>

enum {
    DEFAULT_THREADS = 16, /* at most */
    MOST_THREADS = 1024
};

static _Noreturn void bad_count(const char *option, const char *text, uint64_t min, uint64_t max)
{
    char wanted[80];
    if (max == BLOOMFILE_MAX_BITS)
        snprintf(wanted, sizeof(wanted), "a number from %" PRIu64 " to 2^60", min);
    else
        snprintf(wanted, sizeof(wanted), "a number from %" PRIu64 " to %" PRIu64, min, max);
    cli_bad_count(option, wanted, text);
}

uint64_t params_count(const char *option, const char *text, uint64_t min, uint64_t max)
{
    uint64_t value;
    if (!cli_parse_count(text, &value) || value < min || value > max)
        bad_count(option, text, min, max);
    return value;
}

double params_rate(const char *text)
{
    double value;
    if (!cli_parse_rate(text, &value))
        cli_usage("-p/--fpr takes a rate between 0 and 1 such as 0.01, 1e-2 or 1%%, not '%s'",
                  text);
    return value;
}

static uint64_t random_seed(void)
{
    uint64_t value;
    ssize_t n;
    do
        n = getrandom(&value, sizeof(value), 0);
    while (n < 0 && errno == EINTR);
    if (n != sizeof(value))
        cli_fail(n < 0 ? errno : EIO, "cannot get a random seed");
    return value;
}

uint64_t params_seed(const char *text)
{
    uint64_t value;
    if (strcmp(text, "random") == 0)
        return random_seed();
    if (!cli_parse_u64(text, &value))
        cli_usage("-s/--seed takes 'random' or a number below 2^64 such as 7 or 0x1f, not '%s'",
                  text);
    return value;
}

uint32_t params_threads(const char *text)
{
    return (uint32_t)params_count("-j/--threads", text, 1, MOST_THREADS);
}

uint32_t params_default_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > DEFAULT_THREADS)
        return DEFAULT_THREADS;
    return (uint32_t)CPU_COUNT(&set);
}
