/* SPDX-License-Identifier: MIT
 *
 * Messages of the tools about a filter file: why it cannot be opened or made, whether its rate
 * exceeds the target, and a summary line.
 */
#ifndef TOOLS_FILTERS_MESSAGES_H
#define TOOLS_FILTERS_MESSAGES_H

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <stdbool.h>

/* Beyond this rate a filter is of no use. */
#define MESSAGE_USELESS 0.5

/* What to do about an error, in brackets after a blank: of a damaged file, and those of live files
 * that others have not; or "". */
const char *message_advice(int error);

/* Which operand is the filter, or the file to be made: "the filter comes first: bfadd FILE
 * KEYFILE...". Messages about a file that is not a filter end with it. A tool sets it before it
 * opens files; NULL: the operands are alike. */
extern const char *message_order;

/* "cannot fold x.bloom: a page of the body is damaged (...)", with that; then exits with
 * CLI_TROUBLE. */
_Noreturn void message_fail(int error, const char *what, const char *path);

/* Ends the program if a filter that is not there was to be standard input. */
void message_check_name(const char *path);

/* Messages about what a library function returned, with what to do about it; then exits with
 * CLI_TROUBLE. */
_Noreturn void message_cannot_open(const char *path, const struct bloomfile_open_report *report);
_Noreturn void message_cannot_create(const char *path, int error);

/* The same if the file to replace is not the one that was read. */
_Noreturn void message_replaced(const char *path);

/* Ends the program if a filter that is to become one is a series: "cannot fold x: ...". */
void message_if_series(const char *attempt, const char *path, const bloomfile_filter *f);

/* How much better or worse than promised a filter is. */
struct message_rate {
    double rate;   /* false positives: measured, or expected of so many keys */
    bool measured; /* of the bits; an expected one is "about" right */
};

/* The rate the filter was sized for; what its capacity makes of it where none is recorded. */
double message_promised(const struct bloomfile_info *info);

/* A filter of so many keys, for bloomfile_size_for(). */
struct bloomfile_size message_size(const struct bloomfile_info *info, uint64_t keys);

/* The false-positive rate to expect from so many keys in a filter. */
double message_expected(const struct bloomfile_info *info, uint64_t keys);

/* The number of keys that the bits tell, where the filter's own count is missing some. */
uint64_t message_estimate(const struct bloomfile_info *info,
                          const struct bloomfile_measurement *measure);

/* Whether it has no keys. Half of the bits of a layout that is solved are ones all the same. */
bool message_is_empty(const struct bloomfile_info *info);
void message_no_keys(const char *path);

/* Warns of a filter without keys, of more keys than planned, of a rate that is not kept. */
void message_warnings(const char *path, const struct bloomfile_info *info,
                      struct message_rate rate);

/* "words.bloom: 663473 keys (2 repeated), 9.95 bits each, false-positive rate 0.985% (1%
 * promised), 812.8 KiB"; a rate that is not measured is the "expected false-positive rate". */
void message_summary(const char *path, const struct bloomfile_info *info, struct message_rate rate,
                     uint64_t repeated);

/* ---- Filters that cannot be made because of the size, or the rate, that was requested. */

enum {
    TOO_LARGE_TEXT = 160
};

/* What to add to the words for an error of making a filter: "-n 1000000000000 needs 1.2 TiB", or
 * "the least for 100 keys is 5.42e-16%". false: neither -n, -m nor -p is the reason. */
bool too_large_explain(const struct bloomfile_params *params, int error, char text[TOO_LARGE_TEXT]);

/* The target rate. Each layer of a series has a part of it: in a filter that grows, the first has
 * an eighth. */
double too_large_rate(const struct bloomfile_params *params);

/* The bytes that it needs; 0: not known. */
double too_large_bytes(const struct bloomfile_params *params);

#endif
