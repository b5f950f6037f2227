/* SPDX-License-Identifier: MIT
 * The structs of the Arrow C data interface, whose layout is an ABI. An object gives them in
 * capsules. A struct whose `release` is NULL was moved or released, and its other members mean
 * nothing. */
#ifndef BLOOMFILE_PYTHON_ARROW_ABI_H
#define BLOOMFILE_PYTHON_ARROW_ABI_H

#include <stdint.h>

struct arrow_schema {
    const char *format;
    const char *name, *metadata;
    int64_t flags, n_children;
    struct arrow_schema **children, *dictionary;
    void (*release)(struct arrow_schema *);
    void *private_data;
};

struct arrow_array {
    int64_t length, null_count, offset;
    int64_t n_buffers, n_children;
    const void **buffers;
    struct arrow_array **children, *dictionary;
    void (*release)(struct arrow_array *);
    void *private_data;
};

struct arrow_stream {
    int (*get_schema)(struct arrow_stream *, struct arrow_schema *);
    int (*get_next)(struct arrow_stream *, struct arrow_array *);
    const char *(*get_last_error)(struct arrow_stream *);
    void (*release)(struct arrow_stream *);
    void *private_data;
};

#endif
