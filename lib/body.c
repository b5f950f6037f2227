/* SPDX-License-Identifier: MIT */
#include "body.h"

#include "checksum.h"

void body_walk(const struct header *h, const uint8_t *body, struct body_sums *sums,
               void (*visit)(void *context, uint64_t page, uint32_t crc), void *context)
{
    const struct geometry g = geometry_of(h->layout, h->m, h->header_size);
    const struct kernel *kernel = kernel_for(h->layout);
    struct checksum_sum sum = { 0 };
    *sums = (struct body_sums){ 0 };
    for (uint64_t page = 0; page < g.pages; page++) {
        const uint64_t at = page * CHECKSUM_PAGE, used = g.need - at;
        const size_t size = checksum_page_size(g.body_size, page);
        uint32_t crc = checksum(body + at, size);
        checksum_append(&sum, crc, size);
        kernel->tally(body + at, used < size ? (size_t)used : size, &sums->tally);
        visit(context, page, crc);
    }
    sums->crc = sum.crc;
}

struct verification {
    const struct header *h;
    const uint8_t *checksums;
    struct guard *guard;
    uint64_t first_bad; /* UINT64_MAX: none */
};

static void verify_page(void *context, uint64_t page, uint32_t crc)
{
    struct verification *v = context;
    bool good = crc == checksum_of_entry(v->checksums, page, v->h->record.body_crc);
    guard_set(v->guard, page, good);
    if (!good && v->first_bad == UINT64_MAX)
        v->first_bad = page;
}

bool body_padding_is_clean(const struct header *h, const uint8_t *body, uint64_t *offset)
{
    unsigned used = h->layout == BLOOMFILE_COUNTING ? 4 * (h->m % 2) : h->m % 8;
    *offset = geometry_of(h->layout, h->m, h->header_size).need - 1;
    if (used != 0 && body[*offset] >> used != 0)
        return false;
    for (++*offset; *offset < h->body_size; ++*offset)
        if (body[*offset] != 0)
            return false;
    return true;
}

/* The first thing in which body and record differ, or NULL. */
static const char *contradiction(const struct header *h, const uint8_t *body,
                                 const struct body_sums *sums, uint64_t *offset)
{
    *offset = 0;
    if (sums->crc != h->record.body_crc)
        return "body_crc";
    if (sums->tally.ones != h->record.ones)
        return "ones";
    if (sums->tally.overflow != h->record.overflow)
        return "overflow";
    return body_padding_is_clean(h, body, offset) ? NULL : "padding";
}

int body_verify(const struct header *h, const uint8_t *body, struct guard *guard,
                struct bloomfile_fault *fault)
{
    struct verification v = { h, body + h->body_size, guard, UINT64_MAX };
    struct body_sums sums;
    struct bloomfile_fault unused;
    if (fault == NULL)
        fault = &unused;
    body_walk(h, body, &sums, verify_page, &v);
    if (v.first_bad != UINT64_MAX) {
        *fault = (struct bloomfile_fault){
            .error = BLOOMFILE_EPAGE,
            .offset = h->body_offset + v.first_bad * CHECKSUM_PAGE,
            .page = v.first_bad,
            .field = "page",
        };
        return BLOOMFILE_EPAGE;
    }
    uint64_t offset;
    const char *field = contradiction(h, body, &sums, &offset);
    if (field == NULL)
        return 0;
    guard_distrust(guard, BLOOMFILE_EBODY);
    *fault = (struct bloomfile_fault){
        .error = BLOOMFILE_EBODY,
        .offset = h->body_offset + offset,
        .page = UINT64_MAX,
        .field = field,
    };
    return BLOOMFILE_EBODY;
}
