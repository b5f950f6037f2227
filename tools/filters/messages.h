/* SPDX-License-Identifier: MIT
 * Messages about a filter file: why it cannot be opened or created, whether its rate exceeds the
 * target, and a summary line. */
#ifndef TOOLS_FILTERS_MESSAGES_H
#define TOOLS_FILTERS_MESSAGES_H

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <stdbool.h>

/* Above this rate a filter is useless. */
#define MESSAGE_USELESS 0.5

/* The remedy for an error, as " (remedy)"; "" if no remedy is known. */
const char *message_advice(int error);

/* The order of the operands, such as "the filter comes first: bfadd FILE KEYFILE...". Messages
 * about a file that is not a filter end with it. A tool sets it before it opens files. NULL: all
 * operands have the same role. */
extern const char *message_order;

/* Prints a message such as "cannot fold x.bloom: a page of the body is damaged (...)", where `what`
 * is "cannot fold". Then exits with CLI_ERROR. */
_Noreturn void message_fail(int error, const char *what, const char *path);

/* Ends the program if the name of a missing filter is "-": a filter cannot be standard input. */
void message_check_name(const char *path);

/* Print a message about an error of the library, with a remedy. Then exit with CLI_ERROR. */
_Noreturn void message_cannot_open(const char *path, const struct bloomfile_open_report *report);
_Noreturn void message_cannot_create(const char *path, int error);

/* Ends the program with the message that another process removed or replaced the file that was to
 * be replaced. */
_Noreturn void message_replaced(const char *path);

/* Ends the program if the filter is a series, which cannot become a single filter. `attempt` is the
 * verb of the message: "cannot fold x: ...". */
void message_if_series(const char *attempt, const char *path, const bloomfile_filter *f);

/* A filter's false-positive rate. */
struct message_rate {
    double rate;   /* measured, or expected for the number of keys */
    bool measured; /* from the bits; messages call an expected rate "about" right */
};

/* The target rate: the recorded rate; without one, the expected rate at capacity. */
double message_promised(const struct bloomfile_info *info);

/* The size of this filter with `keys` keys, for bloomfile_size_for(). */
struct bloomfile_size message_size(const struct bloomfile_info *info, uint64_t keys);

/* The expected false-positive rate with `keys` keys; 0 if `keys` is 0. */
double message_expected(const struct bloomfile_info *info, uint64_t keys);

/* The number of keys estimated from the bits. Use it if the filter's own count is too low. */
uint64_t message_estimate(const struct bloomfile_info *info,
                          const struct bloomfile_measurement *measure);

/* Whether the filter has no keys. In a solved layout about half of the bits are set even then, so
 * the key count decides. */
bool message_is_empty(const struct bloomfile_info *info);
void message_no_keys(const char *path);

/* Warns about a filter without keys, about more keys than its capacity, and about a rate
 * above the target. */
void message_warnings(const char *path, const struct bloomfile_info *info,
                      struct message_rate rate);

/* Prints a summary such as "words.bloom: 663473 keys (2 repeated), 9.95 bits each, false-positive
 * rate 0.985% (target 1%), 812.8 KiB". A rate that was not measured is called "expected
 * false-positive rate". */
void message_summary(const char *path, const struct bloomfile_info *info, struct message_rate rate,
                     uint64_t repeated);

/* ---- Filters that cannot be created because of the requested size or rate. */

enum {
    TOO_LARGE_TEXT = 160
};

/* Explains an error of creating a filter: "-n 1000000000000 needs 1.2 TiB", or "the lowest
 * rate for 100 keys is 5.42e-16% (their number / 2^64)". Returns false if neither -n, -m nor
 * -p is the reason. */
bool too_large_explain(const struct bloomfile_params *params, int error, char text[TOO_LARGE_TEXT]);

/* The target rate of one layer. The layers of a series share the target of the series. In a filter
 * that grows, the first layer gets an eighth of it. */
double too_large_rate(const struct bloomfile_params *params);

/* The bytes that the filter needs; 0 if unknown. */
double too_large_bytes(const struct bloomfile_params *params);

#endif
