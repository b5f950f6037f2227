/* SPDX-License-Identifier: MIT */
#include "bytes.h"
#include "checksum.h"
#include "filter.h"

static int first_fault(struct bloomfile_fault *fault, int error, uint64_t offset, uint64_t page,
                       const char *field)
{
    if (fault != NULL)
        *fault = (struct bloomfile_fault){ error, offset, page, field };
    return error;
}

/* Whether the body has a one beyond m: in the last byte that m uses, or in the bytes after it. */
static bool padding_is_clean(const bloomfile *f, uint64_t *offset)
{
    const struct header *h = &f->header;
    unsigned used = h->layout == BLOOMFILE_COUNTING ? 4 * (h->m % 2) : h->m % 8;
    *offset = f->geometry.need - 1;
    if (used != 0 && f->body[*offset] >> used != 0)
        return false;
    for (++*offset; *offset < h->body_size; ++*offset)
        if (f->body[*offset] != 0)
            return false;
    return true;
}

int bloomfile_verify(const bloomfile *f, struct bloomfile_fault *fault)
{
    const struct header *h = &f->header;
    const uint8_t *body = f->body, *checksums = body + h->body_size;
    struct checksum_sum sum = { 0 };
    struct kernel_tally tally = { 0 };
    uint64_t first_bad = UINT64_MAX;

    for (uint64_t page = 0; page < f->geometry.pages; page++) {
        const uint64_t at = page * CHECKSUM_PAGE;
        size_t size = guard_page_size(f->guard, page);
        uint32_t crc = checksum(body + at, size);
        bool good = crc == get32(checksums + 4 * page);
        guard_set(f->guard, page, good);
        if (!good && first_bad == UINT64_MAX)
            first_bad = page;
        checksum_append(&sum, crc, size);
        uint64_t used = f->geometry.need - at;
        f->kernel->tally(body + at, used < size ? (size_t)used : size, &tally);
    }
    if (first_bad != UINT64_MAX)
        return first_fault(fault, BLOOMFILE_EPAGE, h->body_offset + first_bad * CHECKSUM_PAGE,
                           first_bad, "page");

    const char *field = NULL;
    uint64_t offset = 0;
    if (sum.crc != h->record.body_crc)
        field = "body_crc";
    else if (tally.ones != h->record.ones)
        field = "ones";
    else if (tally.overflow != h->record.overflow)
        field = "overflow";
    else if (!padding_is_clean(f, &offset))
        field = "padding";
    if (field == NULL)
        return 0;
    guard_set_error(f->guard, BLOOMFILE_EBODY);
    return first_fault(fault, BLOOMFILE_EBODY, h->body_offset + offset, UINT64_MAX, field);
}
