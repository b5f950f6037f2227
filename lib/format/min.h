/* SPDX-License-Identifier: MIT
 * The lesser of two numbers. Loops over chunks have the form
 *
 *     for (size_t at = 0, count; (count = MIN(n - at, CHUNK)) > 0; at += count)
 */
#ifndef BLOOMFILE_MIN_H
#define BLOOMFILE_MIN_H

#ifndef MIN /* a system header may define it */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

#endif
