/* SPDX-License-Identifier: MIT
 * Filters without a file. */
#include <bloomfile_view.h>
#include <string.h>

#include "format/header.h"
#include "format/invalid.h"
#include "format/layout.h"
#include "format/versioned_struct.h"
#include "kernel/dispatch.h"
#include "kernel/kernel.h"
#include "sizing/sizing.h"

#define SIZE_LEAST VERSIONED_LEAST(struct bloomfile_size, image_size)

#define CLASSIC_BITS                                                                               \
    8192 /* smaller bodies are classic: whole blocks would take up to 3 times the bits */

/* A view without a shape: every lookup returns "maybe". */
static const struct bloomfile_view unknown;

/* The words of a view. Processes may share a view in memory, so it has the layout's number, not the
 * address of a kernel. */
enum {
    WORD_UNITS,
    WORD_BITS,
    WORD_SHAPE, /* layout, and above it hashes */
};

static uint32_t hashes_of(const struct bloomfile_view *view)
{
    return (uint32_t)(view->words[WORD_SHAPE] >> 32);
}

/* Returns NULL if choose_kernel() was not called yet in this process, or if the layout belongs to a
 * later version: then every lookup returns "maybe". */
static const struct kernel *kernel_of(const struct bloomfile_view *view)
{
    const uint32_t layout = (uint32_t)view->words[WORD_SHAPE];
    return layout < KERNEL_CHOSEN
               ? atomic_load_explicit(&kernel_chosen[layout], memory_order_relaxed)
               : NULL;
}

/* Chooses the kernel in a process that received the view from another process. */
static bool choose_kernel(const struct bloomfile_view *view)
{
    const uint32_t layout = (uint32_t)view->words[WORD_SHAPE];
    return layout_known(layout) && kernel_for(layout) != NULL;
}

/* Fills in a view. Returns the errors of a compact form. */
static int shape(struct bloomfile_view *out, uint32_t layout, uint64_t bits, uint32_t hashes)
{
    *out = unknown;
    if (!layout_known(layout))
        return BLOOMFILE_ELAYOUT;
    if (layout_of(layout)->solved)
        return BLOOMFILE_EISRIBBON;
    if (hashes < 1 || hashes > BLOOMFILE_MAX_HASHES)
        return BLOOMFILE_EHASHCOUNT;
    if (!geometry_bits_valid(layout, bits))
        return BLOOMFILE_EBITS;
    const uint64_t units = geometry_units_of(layout, bits), size = geometry_bytes_of(layout, units);
    if (size > PTRDIFF_MAX - BLOOMFILE_TRAILER_SIZE)
        return BLOOMFILE_ETOOBIG;
    *out = (struct bloomfile_view){
        .size = (size_t)size,
        .words = { [WORD_UNITS] = units,
                   [WORD_BITS] = bits,
                   [WORD_SHAPE] = layout | (uint64_t)hashes << 32 },
    };
    return 0;
}

#ifndef BLOOMFILE_NO_BUILD

static int shape_of_size(struct bloomfile_view *out, const struct bloomfile_size *size)
{
    const int error = shape(out, size->layout, size->bits, size->hashes);
    switch (error) {
    case BLOOMFILE_ELAYOUT:
        return invalid(BLOOMFILE_EVALUE, "layout");
    case BLOOMFILE_EHASHCOUNT:
        return invalid(BLOOMFILE_EVALUE, "hashes");
    case BLOOMFILE_EBITS:
        return invalid(BLOOMFILE_EVALUE, "bits");
    default:
        return error;
    }
}

/* Computes the fewest bits for the keys. If the caller named no layout, chooses classic below
 * CLASSIC_BITS, otherwise blocked. */
static int find_bits(struct bloomfile_size *s)
{
    const double fpr = s->fpr == 0 ? SIZING_DEFAULT_FPR : s->fpr;
    if (s->keys < 1 || s->keys > GEOMETRY_MAX_CAPACITY)
        return invalid(BLOOMFILE_EVALUE, "keys");
    if (!(fpr > 0 && fpr < 1))
        return invalid(BLOOMFILE_EVALUE, "fpr");
    if (s->hashes > BLOOMFILE_MAX_HASHES)
        return invalid(BLOOMFILE_EVALUE, "hashes");
    const uint32_t layout = s->layout, hashes = s->hashes;
    if (layout == 0)
        s->layout = BLOOMFILE_LAYOUT_CLASSIC;
    s->bits = sizing_bits(s->layout, s->keys, fpr, &s->hashes);
    if (layout == 0 && s->bits >= CLASSIC_BITS) {
        s->layout = LAYOUT_DEFAULT;
        s->hashes = hashes;
        s->bits = sizing_bits(s->layout, s->keys, fpr, &s->hashes);
    }
    return s->bits == 0 ? BLOOMFILE_EUNREACHABLE : 0;
}

int bloomfile_view_for(struct bloomfile_view *out, struct bloomfile_size *size)
{
    struct bloomfile_size s;
    *out = unknown;
    if (!versioned_take(&s, sizeof s, size, size->struct_size, SIZE_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    if (s.layout != 0 && !layout_known(s.layout))
        return invalid(BLOOMFILE_EVALUE, "layout");
    if (s.layout != 0 && layout_of(s.layout)->solved)
        return BLOOMFILE_EISRIBBON;
    if (s.reserved != 0)
        return invalid(BLOOMFILE_EVALUE, "reserved");
    int error = s.bits == 0 ? find_bits(&s) : 0;
    if (error == 0)
        error = shape_of_size(out, &s);
    if (error != 0)
        return error;
    size->layout = s.layout;
    size->bits = s.bits;
    size->hashes = s.hashes;
    return 0;
}

void bloomfile_view_add_digests(const struct bloomfile_view *view, void *body,
                                const bloomfile_digest *digests, size_t n)
{
    const uint64_t units = view->words[WORD_UNITS];
    if (choose_kernel(view))
        kernel_of(view)->add_part(body, 0, units, units, hashes_of(view), digests, n, NULL);
}

void bloomfile_view_write_trailer(const struct bloomfile_view *view, uint64_t seed, void *blob)
{
    const struct compact_shape shape = { (uint32_t)view->words[WORD_SHAPE], hashes_of(view),
                                         view->words[WORD_BITS], view->size };
    if (layout_known(shape.layout))
        compact_encode(blob, seed, &shape);
    else
        memset(blob, 0, BLOOMFILE_TRAILER_SIZE);
}

#endif

static struct kernel_view seen(const struct bloomfile_view *view, const void *body)
{
    return (
        struct kernel_view){ .body = body, .units = view->words[WORD_UNITS], .k = hashes_of(view) };
}

/* Not inlined, so that the common path of a lookup saves no registers. */
static __attribute__((noinline, cold)) bool
choose_and_look(const struct bloomfile_view *view, const void *body, bloomfile_digest digest)
{
    return !choose_kernel(view) || bloomfile_view_contains_digest(view, body, digest);
}

bool bloomfile_view_contains_digest(const struct bloomfile_view *view, const void *body,
                                    bloomfile_digest digest)
{
    const struct kernel *kernel = kernel_of(view);
    const struct kernel_view what = seen(view, body);
    if (kernel == NULL)
        return choose_and_look(view, body, digest);
    return kernel->contains(&what, digest);
}

size_t bloomfile_view_contains_digests(const struct bloomfile_view *view, const void *body,
                                       const bloomfile_digest *digests, size_t n, bool *hits)
{
    const struct kernel_view what = seen(view, body);
    if (choose_kernel(view))
        return kernel_of(view)->contains_many(&what, digests, n, hits);
    for (size_t i = 0; hits != NULL && i < n; i++)
        hits[i] = true;
    return n;
}

int bloomfile_view_open_trusted(struct bloomfile_view *out, const void *blob, size_t size)
{
    struct compact_shape claimed;
    int error = compact_decode(blob, size, &claimed);
    if (error == 0)
        error = shape(out, claimed.layout, claimed.bits, claimed.hashes);
    if (error == 0 && out->size != claimed.size)
        error = BLOOMFILE_ENOTCOMPACT;
    if (error != 0)
        *out = unknown;
    return error;
}

int bloomfile_view_open(struct bloomfile_view *out, uint64_t seed, const void *blob, size_t size)
{
    if (compact_is_whole(blob, size, seed))
        return bloomfile_view_open_trusted(out, blob, size);
    *out = unknown;
    return BLOOMFILE_ENOTCOMPACT;
}
