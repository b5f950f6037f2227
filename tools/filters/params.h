/* SPDX-License-Identifier: MIT
 * Options for filters and threads that several tools share; values that need more parsing than a
 * table can describe; the length of a generation. */
#ifndef TOOLS_FILTERS_PARAMS_H
#define TOOLS_FILTERS_PARAMS_H

#include <bloomfile_inspect.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

#define PARAMS_THREADS(request, field)                                                             \
    OPTION('j', "threads", "N", "number of threads (default: one per processor, up to 16)",        \
           OPTIONS_COUNT(request, field, NULL, 1, 1024))

#define PARAMS_LABEL(request, field)                                                               \
    OPTION(0, "label", "TEXT", "store a description for people, up to 112 bytes of UTF-8",         \
           OPTIONS_STRING(request, field, NULL), .value = OPTIONS_A_TEXT)

#define PARAMS_TAG(request, field, take)                                                           \
    OPTION(0, "tag", "HEX", "store an identifier for programs, up to 16 bytes in hexadecimal",     \
           OPTIONS_CALL(request, field, take), .value = OPTIONS_A_TEXT)

#define PARAMS_WATERMARK(request, field)                                                           \
    OPTION(0, "watermark", "TEXT", "store how far the keys are complete, up to 32 bytes of UTF-8", \
           OPTIONS_CALL(request, field, params_take_watermark), .value = OPTIONS_A_TEXT)

/* The caller's data for a filter made of other filters. `given` points into the struct, so
 * do not copy it. */
struct params_metadata {
    struct bloomfile_metadata given;
    uint8_t tag[BLOOMFILE_TAG_SIZE], watermark[BLOOMFILE_WATERMARK_SIZE];
};
#define PARAMS_METADATA_INIT                                                                       \
    {                                                                                              \
        .given = BLOOMFILE_METADATA_INIT                                                           \
    }

#define PARAMS_METADATA(request, field)                                                            \
    PARAMS_LABEL(request, field.given.label), PARAMS_TAG(request, field, params_take_other_tag),   \
        PARAMS_WATERMARK(request, field)

#define PARAMS_RANDOM "random"
#define PARAMS_SEED(request, field, take)                                                          \
    OPTION('s', "seed", "SEED",                                                                    \
           "hash seed (default 0); use '" PARAMS_RANDOM "' for untrusted keys",                    \
           OPTIONS_CALL(request, field, take), .value = OPTIONS_A_TEXT, .special = PARAMS_RANDOM)

/* `file` is the name of the operand in the usage. */
#define PARAMS_ACCEPT_UNCLEAN(request, field, file)                                                \
    OPTION(0, "accept-unclean", NULL, "use " file " even if a crash may have lost recent keys",    \
           OPTIONS_BITS(request, field, BLOOMFILE_OPEN_ACCEPT_UNCLEAN))

/* The forms of numbers that all tools accept, for --help. */
#define PARAMS_NUMBERS "Numbers may be written as 80k, 1.5M, 2Gi or 1e9"
#define PARAMS_RATES   "rates as 0.01, 1e-2 or 1%"

#define PARAMS_OVERFULL "accept a filter over capacity (expected rate above twice the target)"

/* Help of -q. Tools that read keys or several filters also have warnings that -q must not
 * suppress. */
#define PARAMS_QUIET_KEYS   "print only errors and warnings about keys"
#define PARAMS_QUIET_ERRORS "print only errors"

/* Each of the two cancels the other. */
#define PARAMS_QUIET_VERBOSE(request, quietness)                                                   \
    OPTION('q', "quiet", NULL, quietness, OPTIONS_INSTEAD(request, quiet, verbose)),               \
        OPTION('v', "verbose", NULL, "print the summary even if stderr is not a terminal",         \
               OPTIONS_INSTEAD(request, verbose, quiet))

/* A random number from the kernel. A failure ends the program through cli_fail(). arc4random()
 * of libbsd would exit without a message if memory is short, and with status 1, which means
 * "nothing found". */
uint64_t params_random(void);

/* The value of -s/--seed: a number, or PARAMS_RANDOM. Any other text ends the program
 * through cli_usage(). */
uint64_t params_seed(const char *text);

/* For OPTIONS_WORD(), as bloomfile_layout_name(): only layouts that a series can have. */
const char *params_plain_layout(uint32_t layout);

/* For PARAMS_TAG() and PARAMS_WATERMARK(): store into 16 bytes, or into a struct
 * params_metadata. */
void params_take_tag(void *tag, char *value);
void params_take_other_tag(void *metadata, char *value);
void params_take_watermark(void *metadata, char *value);

/* Computes the size from -n, -p, -m and -k. Returns false if no size reaches the rate. */
bool params_size(const struct bloomfile_params *params, struct bloomfile_size *size);

/* The number of processors that this program may use, at most 16. */
uint32_t params_default_threads(void);

/* ---- The length of a generation of a filter that forgets: a number of keys, or a time. */

#define PERIOD_HELP                                                                                \
    "start a new generation after a number of keys (such as 1M) or a time (30s, 10min, 6h, 7d)"

/* Parses the value of --every: sets *keys or *seconds, and the other to 0. Any other text ends the
 * program through cli_usage(). */
void period_take(const char *text, uint64_t *keys, uint64_t *seconds);

/* Writes "90s", "10min", "6h" or "7d" to buffer. Returns buffer. */
char *period_time(char *buffer, size_t size, uint64_t seconds);

#endif
