/* SPDX-License-Identifier: MIT
 * The body is copied as it is; the record tells what is known of it. */
#include "combine/rescue.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine/source.h"
#include "handle/changed.h"

/* Each byte of a boot identity that no boot has: it makes the file unclean. */
#define NO_BOOT 0xFF

/* `doubtful`: pages may have been dropped, and no verdict is asked for. */
static int make_rescue(struct source *s, struct new_image *r, struct header *h, bool doubtful)
{
    uint8_t *stretch = malloc(SOURCE_STRETCH);
    int error = stretch == NULL ? ENOMEM : 0;
    while (error == 0 && s->at < h->body_size) {
        const size_t size = source_next(s, h->body_size);
        source_take(s, stretch, size);
        error = new_image_put(r, stretch, size);
    }
    free(stretch);
    if (error == 0 && !doubtful)
        error = source_verdict(s);
    h->record.ones = s->tally.ones; /* bits that were counted may be lost */
    h->record.overflow = s->tally.overflow;
    return error != 0 ? error : new_image_finish(r, h);
}

int rescue(struct destination to, const bloomfile *f, uint64_t series, bool succeeded)
{
    struct header h;
    struct source s;
    struct new_image r = { 0 };
    bool unreadable = source_describe(f, &h) != 0; /* the page may be among those dropped */
    if (f->live == NULL || h.record.state == BLOOMFILE_SEALED)
        return BLOOMFILE_ESEALED;
    bool doubtful = unreadable || changed_or_damaged(f) != 0;
    h.series = series;
    h.record.state = BLOOMFILE_LIVE;
    h.record.sequence = 1;
    h.record.flags = RECORD_N_ESTIMATED | (succeeded ? RECORD_SUCCEEDED : 0);
    h.record.writers = 0;
    memset(h.record.boot_id, doubtful ? NO_BOOT : 0, sizeof h.record.boot_id);
    int error = source_start(&s, f);
    if (error == 0)
        error = new_image_start(&r, &h, to);
    if (error == 0)
        error = make_rescue(&s, &r, &h, doubtful);
    new_image_abandon(&r);
    source_release(&s);
    return error;
}
