/* SPDX-License-Identifier: MIT
 * The lesser of two numbers. What comes in chunks is taken by
 *
 *     for (size_t at = 0, count; (count = MIN(n - at, CHUNK)) > 0; at += count)
 */
#ifndef BLOOMFILE_MIN_H
#define BLOOMFILE_MIN_H

#ifndef MIN /* of a system header */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

#endif
