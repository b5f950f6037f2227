/* SPDX-License-Identifier: MIT
 * A sealed file around a body that was computed elsewhere. */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/invalid.h"
#include "format/min.h"
#include "image/body.h"
#include "image/new_image.h"
#include "image/params.h"

#define PROVENANCE                                                                                 \
    (BLOOMFILE_PROVENANCE_INTERSECTION | BLOOMFILE_PROVENANCE_UNION |                              \
     BLOOMFILE_PROVENANCE_PROJECTION)
#define PIECE ((size_t)256 << 10)

static int describe_assembled(struct header *h, const struct bloomfile_params *given,
                              uint32_t provenance, uint64_t keys)
{
    struct bloomfile_params p;
    const bool known = keys != UINT64_MAX;
    int error = params_take(&p, given);
    if (layout_known(p.layout) && layout_of(p.layout)->solved)
        return BLOOMFILE_EISRIBBON; /* this layout has no k, so no k is valid */
    if (error != 0)
        return error;
    error = params_refuse_of_builder(&p);
    if (error == 0)
        error = params_refuse_of_live(&p);
    if (error != 0)
        return error;
    if (p.bits == 0 || p.hashes == 0)
        return invalid(BLOOMFILE_EVALUE, p.bits == 0 ? "bits" : "hashes");
    if ((provenance & ~PROVENANCE) != 0)
        return invalid(BLOOMFILE_EVALUE, "provenance");
    if (known && keys > GEOMETRY_MAX_CAPACITY)
        return invalid(BLOOMFILE_EVALUE, "keys");
    error = params_plan(&p, known ? keys : 0, GEOMETRY_FILE_HEADER, h);
    h->provenance = provenance;
    h->record.state = BLOOMFILE_STATE_SEALED;
    h->record.flags = known ? 0 : RECORD_N_ESTIMATED;
    return error;
}

/* Copies each piece before it is checked, counted and written: the caller may change its buffer
 * during the call. */
static int put_body(struct new_image *r, const struct header *h, const uint8_t *body)
{
    const size_t need = (size_t)r->pass.geometry.need;
    uint8_t *piece = malloc(PIECE);
    int error = piece == NULL ? ENOMEM : 0;
    for (size_t at = 0, size; error == 0 && (size = MIN(need - at, PIECE)) > 0; at += size) {
        const size_t whole = (size + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE * CHECKSUM_PAGE;
        memcpy(piece, body + at, size);
        memset(piece + size, 0, whole - size);
        if (at + size == need && !body_last_page_is_clean(h, piece + whole - CHECKSUM_PAGE))
            error = BLOOMFILE_EBODY;
        else
            error = new_image_put(r, piece, whole);
    }
    free(piece);
    return error;
}

/* sized: the caller gave a capacity. It is kept even if there are more keys. */
static int make_assembled(struct new_image *r, struct header *h, const uint8_t *body, bool sized)
{
    int error = put_body(r, h, body);
    if (error != 0)
        return error;
    new_image_record(r, &h->record);
    if (h->record.ones == 0 && h->record.n > 0)
        return BLOOMFILE_EBODY; /* an empty body would return "no" for its keys */
    if ((h->record.flags & RECORD_N_ESTIMATED) != 0)
        image_estimate_keys(h);
    if (!sized && h->record.n > h->capacity)
        h->capacity = h->record.n;
    return new_image_finish(r, h);
}

int bloomfile_assemble(struct bloomfile_destination *given, const struct bloomfile_params *params,
                       const void *body, size_t body_size, uint32_t provenance, uint64_t keys)
{
    struct destination to;
    struct header h;
    struct new_image r = { 0 };
    int error = destination_take(&to, given);
    if (error == 0)
        error = describe_assembled(&h, params, provenance, keys);
    if (error != 0)
        return error;
    const struct geometry g = geometry_of(h.layout, h.m, h.header_size);
    if (g.image_size > SIZE_MAX / 2)
        return BLOOMFILE_ETOOBIG;
    if (body_size != g.need)
        return invalid(BLOOMFILE_EVALUE, "body_size");
    error = new_image_start(&r, &h, to);
    if (error == 0)
        error = make_assembled(&r, &h, body, params->capacity != 0);
    new_image_abandon(&r);
    return error;
}
