/* SPDX-License-Identifier: MIT
 * Options about seeds, layouts, tags and threads. */
#include "filters/params.h"
#include "cli/cli.h"

#include <bloomfile_inspect.h>

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>

enum {
    DEFAULT_THREADS = 16 /* at most */
};

uint64_t params_random(void)
{
    uint64_t value;
    ssize_t n;
    do
        n = getrandom(&value, sizeof(value), 0);
    while (n < 0 && errno == EINTR);
    if (n != sizeof(value))
        cli_fail(n < 0 ? errno : EIO, "cannot get a random number");
    return value;
}

uint64_t params_seed(const char *text)
{
    uint64_t value;
    if (strcmp(text, PARAMS_RANDOM) == 0)
        return params_random();
    if (!cli_parse_u64(text, &value))
        cli_usage("-s/--seed takes 'random' or a number below 2^64 such as 7 or 0x1f, not '%s'",
                  text);
    return value;
}

void params_take_tag(void *tag, char *value)
{
    if (!cli_parse_hex(value, tag, BLOOMFILE_TAG_SIZE))
        cli_usage("--tag takes 2 to 32 hexadecimal digits, two for each byte, not '%s'", value);
}

const char *params_layout(uint32_t layout)
{
    const struct bloomfile_traits *traits = bloomfile_traits_of(layout);
    return traits != NULL ? traits->name : NULL;
}

const char *params_plain_layout(uint32_t layout)
{
    const struct bloomfile_traits *traits = bloomfile_traits_of(layout);
    return traits == NULL ? NULL : traits->counts || traits->solved ? "" : traits->name;
}

uint32_t params_default_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > DEFAULT_THREADS)
        return DEFAULT_THREADS;
    return (uint32_t)CPU_COUNT(&set);
}
