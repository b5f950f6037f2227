/* SPDX-License-Identifier: MIT
 *
 * Filters that cannot be made because of the size, or the rate, that was requested.
 */
#ifndef TOOLS_FILTERS_TOO_LARGE_H
#define TOOLS_FILTERS_TOO_LARGE_H

#include <bloomfile.h>

#include <stdbool.h>

enum {
    TOO_LARGE_TEXT = 160
};

/* What to add to the words for an error of making a filter: "-n 1000000000000 needs 1.2 TiB", or
 * "the least for 100 keys is 5.42e-16%". false: neither -n, -m nor -p is the reason. */
bool too_large_explain(const struct bloomfile_params *params, int error, char text[TOO_LARGE_TEXT]);

/* The bytes that it needs; 0: not known. */
double too_large_bytes(const struct bloomfile_params *params);

#endif
