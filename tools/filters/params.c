/* SPDX-License-Identifier: MIT
 * Options for seeds, layouts, tags, watermarks and threads. */
#include "filters/params.h"

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/cli.h"
#include "cli/text.h"

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

void params_take_other_tag(void *metadata, char *value)
{
    struct params_metadata *m = metadata;
    params_take_tag(m->tag, value);
    m->given.tag = m->tag;
}

void params_take_watermark(void *metadata, char *value)
{
    struct params_metadata *m = metadata;
    const size_t size = strlen(value);
    char *safe = text_safe(value, size, true);
    if (size > sizeof(m->watermark) || strcmp(safe, value) != 0)
        cli_usage("--watermark takes up to %zu bytes of UTF-8 without control characters, not"
                  " '%s' (%zu bytes)",
                  sizeof(m->watermark), safe, size);
    free(safe);
    memset(m->watermark, 0, sizeof(m->watermark));
    memcpy(m->watermark, value, size);
    m->given.watermark = m->watermark;
}

const char *params_plain_layout(uint32_t layout)
{
    const struct bloomfile_traits *traits = bloomfile_traits_of(layout);
    return traits == NULL ? NULL : traits->counts || traits->solved ? "" : traits->name;
}

bool params_size(const struct bloomfile_params *params, struct bloomfile_size *size)
{
    *size = BLOOMFILE_SIZE_INIT;
    size->layout = params->layout;
    size->hashes = params->hashes;
    size->keys = params->capacity;
    size->bits = params->bits;
    size->fpr = params->fpr;
    return bloomfile_size_for(size) == 0;
}

uint32_t params_default_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > DEFAULT_THREADS)
        return DEFAULT_THREADS;
    return (uint32_t)CPU_COUNT(&set);
}

/* ---- The length of a generation. A number of keys takes the usual suffixes. A time has its own,
 * because "m" could mean minutes or millions. */

#define MOST_SECONDS (1ull << 32)
#define MOST_DIGITS  10

static const struct {
    const char *suffix;
    uint64_t seconds;
} units[] = { { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };

enum {
    UNITS = sizeof(units) / sizeof(units[0])
};

/* Returns the seconds; 0 if the text is not a time. */
static uint64_t time_of(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > MOST_DIGITS)
        return 0;
    const uint64_t number = strtoull(text, NULL, 10);
    for (size_t i = 0; i < UNITS; i++) {
        const bool fits = number <= MOST_SECONDS / units[i].seconds;
        if (fits && strcmp(text + digits, units[i].suffix) == 0)
            return number * units[i].seconds;
    }
    return 0;
}

void period_take(const char *text, uint64_t *keys, uint64_t *seconds)
{
    *keys = 0;
    const bool is_count = cli_parse_count(text, keys) == CLI_COUNT_GOOD;
    const int digits = (int)strspn(text, "0123456789");
    const bool millions = digits > 0 && text[strlen(text) - 1] == 'm';
    *seconds = time_of(text);
    if (*seconds > 0) {
        *keys = 0;
        return;
    }
    if (millions && text[digits + 1] == '\0')
        cli_usage("--every %s may be minutes or millions: write %.*smin or %.*sM", text, digits,
                  text, digits, text);
    if (!is_count || millions || *keys < 1 || *keys > BLOOMFILE_MAX_BITS)
        cli_usage("--every takes a number of keys such as 10M, from 1 to 2^60, or a time such as"
                  " 30s, 10min, 6h or 7d, not '%s'",
                  text);
}

char *period_time(char *buffer, size_t size, uint64_t seconds)
{
    size_t unit = UNITS - 1;
    while (unit > 0 && (seconds == 0 || seconds % units[unit].seconds != 0))
        unit--;
    snprintf(buffer, size, "%" PRIu64 "%s", seconds / units[unit].seconds, units[unit].suffix);
    return buffer;
}
