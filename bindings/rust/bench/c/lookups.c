/* SPDX-License-Identifier: MIT
 *
 * The lookups of src/main.rs with the C library, compiled into the loops where bloomfile_inline.h
 * can.
 */
#include <bloomfile_inline.h>
#include <bloomfile_open.h>
#include <stdlib.h>

/* Opens an image in memory, verifies it and pins it. Returns NULL on an error. */
struct bloomfile_pinned *c_open(const void *image, size_t size)
{
    struct bloomfile_open_params params = BLOOMFILE_OPEN_PARAMS_INIT;
    struct bloomfile_source from = bloomfile_from_memory(image, size);
    struct bloomfile_pinned *pin = aligned_alloc(64, sizeof *pin);
    bloomfile_filter *f;
    params.flags = BLOOMFILE_OPEN_VERIFY_FULL;
    if (pin == NULL || bloomfile_open_with(&f, &from, &params) != 0)
        return NULL;
    *pin = BLOOMFILE_PINNED_INIT;
    return bloomfile_pin(f, pin) == 0 ? pin : NULL;
}

void c_close(struct bloomfile_pinned *pin)
{
    bloomfile_close((bloomfile_filter *)pin->filter_);
    free(pin);
}

size_t c_single(const struct bloomfile_pinned *pin, const uint64_t *digests, size_t n)
{
    size_t hits = 0;
    for (size_t i = 0; i < n; i++)
        hits += bloomfile_pinned_contains_digest(pin, digests[i]);
    return hits;
}

/* Each number is a key of 8 bytes. */
size_t c_keys(const struct bloomfile_pinned *pin, const uint64_t *keys, size_t n)
{
    size_t hits = 0;
    for (size_t i = 0; i < n; i++)
        hits += bloomfile_pinned_contains_digest(pin, bloomfile_pinned_digest(pin, &keys[i], 8));
    return hits;
}

size_t c_batch(const struct bloomfile_pinned *pin, const uint64_t *digests, size_t n, bool *hits)
{
    return bloomfile_contains_digests(pin->filter_, digests, n, hits);
}
