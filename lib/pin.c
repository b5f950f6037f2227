/* SPDX-License-Identifier: MIT
 * The parts of a handle that lookups in bloomfile_inline.h need. */
#include <bloomfile_inline.h>

#include "format/bytes.h"
#include "format/versioned_struct.h"
#include "live/handle.h"

#define PIN_LEAST VERSIONED_LEAST(struct bloomfile_pinned, blocks)

#ifdef __SIZEOF_INT128__
static bool can_inline(const bloomfile *f)
{
    return f->header.layout == BLOOMFILE_BLOCKED; /* what bloomfile_block.h looks up */
}
#else
static bool can_inline(const bloomfile *f)
{
    (void)f;
    return false;
}
#endif

int bloomfile_pin(const bloomfile *f, struct bloomfile_pinned *pin)
{
    static const uint64_t always_in_doubt = 1;
    if (!versioned_known(pin->struct_size, PIN_LEAST))
        return BLOOMFILE_EPARAMS;
    struct bloomfile_pinned p = { .f = f, .body = f->view.body, .doubts = &always_in_doubt };
    if (can_inline(f)) {
        p.blocks = f->view.units;
        p.hashes = f->view.k;
        p.doubts = (const void *)(uintptr_t)&f->guard_storage.doubts; /* atomic, as ours */
    }
    for (unsigned slot = 0; f->live != NULL && slot < 2; slot++)
        p.state[slot] = (const void *)f->state[slot];
    p.poisoned = BYTES_SWAP32(BLOOMFILE_POISONED);
    versioned_give(pin, pin->struct_size, &p, sizeof p);
    return 0;
}
