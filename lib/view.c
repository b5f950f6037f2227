/* SPDX-License-Identifier: MIT
 * Filters without a file. */
#include <bloomfile_view.h>
#include <string.h>

#include "format/header.h"
#include "format/invalid.h"
#include "format/layout.h"
#include "kernel/dispatch.h"
#include "kernel/kernel.h"
#include "sizing/sizing.h"

#define CLASSIC_BITS 8192 /* below, whole blocks would take up to 3 times the bits */

/* A view without a kernel: all answers are "maybe". */
static const struct bloomfile_view unknown;

/* The errors are those of a compact form. */
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
    *out = (struct bloomfile_view){ layout, hashes, bits, units, (size_t)size, kernel_for(layout) };
    return 0;
}

int bloomfile_view_init(struct bloomfile_view *out, uint32_t layout, uint64_t bits, uint32_t hashes)
{
    const int error = shape(out, layout, bits, hashes);
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

int bloomfile_view_for(struct bloomfile_view *out, uint32_t layout, uint64_t n, double fpr)
{
    *out = unknown;
    if (layout != 0 && !layout_known(layout))
        return invalid(BLOOMFILE_EVALUE, "layout");
    if (n < 1 || n > GEOMETRY_MAX_CAPACITY)
        return invalid(BLOOMFILE_EVALUE, "n");
    if (!(fpr > 0 && fpr < 1))
        return invalid(BLOOMFILE_EVALUE, "fpr");
    const bool chooses = layout == 0;
    uint32_t hashes = 0;
    if (chooses)
        layout = BLOOMFILE_LAYOUT_CLASSIC;
    uint64_t bits = sizing_bits(layout, n, fpr, &hashes);
    if (chooses && bits >= CLASSIC_BITS) {
        layout = LAYOUT_DEFAULT;
        hashes = 0;
        bits = sizing_bits(layout, n, fpr, &hashes);
    }
    return bits == 0 ? BLOOMFILE_EUNREACHABLE : bloomfile_view_init(out, layout, bits, hashes);
}

void bloomfile_view_add_digests(const struct bloomfile_view *view, void *body,
                                const bloomfile_digest *digests, size_t n)
{
    const struct kernel *kernel = view->kernel;
    if (kernel != NULL)
        kernel->add_part(body, 0, view->units, view->units, view->hashes, digests, n, NULL);
}

static struct kernel_view seen(const struct bloomfile_view *view, const void *body)
{
    return (struct kernel_view){ .body = body, .units = view->units, .k = view->hashes };
}

bool bloomfile_view_contains_digest(const struct bloomfile_view *view, const void *body,
                                    bloomfile_digest digest)
{
    const struct kernel *kernel = view->kernel;
    const struct kernel_view what = seen(view, body);
    return kernel == NULL || kernel->contains(&what, digest);
}

size_t bloomfile_view_contains_digests(const struct bloomfile_view *view, const void *body,
                                       const bloomfile_digest *digests, size_t n, bool *hits)
{
    const struct kernel *kernel = view->kernel;
    const struct kernel_view what = seen(view, body);
    if (kernel != NULL)
        return kernel->contains_many(&what, digests, n, hits);
    for (size_t i = 0; hits != NULL && i < n; i++)
        hits[i] = true;
    return n;
}

void bloomfile_view_write_trailer(const struct bloomfile_view *view, uint64_t seed, void *blob)
{
    if (view->kernel != NULL)
        compact_encode(blob, seed, view);
    else
        memset(blob, 0, BLOOMFILE_TRAILER_SIZE);
}

int bloomfile_view_open_trusted(struct bloomfile_view *out, const void *blob, size_t size)
{
    struct bloomfile_view claimed;
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
