/* SPDX-License-Identifier: MIT
 * The operation tables of handles of a single image: one for sealed and one for live images. */
#include "handle/operations.h"

#include "combine/combine.h"
#include "handle/closing.h"
#include "handle/inspection.h"
#include "handle/sealing.h"
#include "image/params.h"
#include "live/adding.h"
#include "live/file_change.h"
#include "live/join.h"
#include "live/sync.h"

/* ---- both */

#ifndef BLOOMFILE_NO_BUILD

static int copy_image(const bloomfile_filter *f, struct destination to,
                      const struct bloomfile_metadata *m)
{
    struct header h;
    if (header_is_layer(&f->header))
        return BLOOMFILE_EISSERIES;
    int error = source_destination(&to, &f, 1);
    if (error == 0)
        error = source_describe(f, &h);
    if (error != 0)
        return error;
    metadata_put(&h, m);
    return combine_copy(&h, f, to);
}

static int rescue_image(const bloomfile_filter *f, const char *path, unsigned flags)
{
    if (header_is_layer(&f->header))
        return BLOOMFILE_EISSERIES;
    struct bloomfile_destination given = bloomfile_to_path(path, flags);
    struct destination to;
    const int error = destination_take(&to, &given);
    return error != 0 ? error : rescue(to, f, 0, false);
}

#define COPYING .copy = copy_image, .rescue = rescue_image, .measure = inspection_measure,
#else
#define COPYING
#endif

static void recheck_image(const bloomfile_filter *f)
{
    guard_recheck(f->guard);
}

/* The operations that both tables share. */
#define OF_EITHER                                                                                  \
    COPYING.status = changed_or_damaged, .recheck = recheck_image, .is_stale = changed_is_stale,   \
    .info = inspection_info, .close = handle_close

/* ---- sealed */

static int refuse_add(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
                      struct adding_done *done)
{
    (void)f;
    (void)digests;
    (void)n;
    (void)was_new;
    (void)done;
    return BLOOMFILE_ESEALED;
}

static int refuse_remove(bloomfile_filter *f, uint64_t digest)
{
    (void)f;
    (void)digest;
    return BLOOMFILE_ESEALED;
}

static int refuse_sync(bloomfile_filter *f, const uint8_t *watermark)
{
    (void)f;
    (void)watermark;
    return BLOOMFILE_ESEALED;
}

static int refuse_seal(bloomfile_filter *f, const uint8_t *watermark)
{
    (void)watermark;
    return header_is_layer(&f->header) ? BLOOMFILE_EISSERIES : BLOOMFILE_ESEALED;
}

static int finish_sealed(bloomfile_filter *f)
{
    (void)f;
    return 0;
}

static int sealed_images(const bloomfile_filter *f, struct handle_images *images)
{
    if (header_is_layer(&f->header))
        return BLOOMFILE_EISSERIES;
    *images = (struct handle_images){ .count = 1, .alone = (bloomfile_filter *)(uintptr_t)f };
    images->list = &images->alone; /* is only read */
    return 0;
}

const struct handle_operations operations_sealed = {
    .add = refuse_add,
    .remove = refuse_remove,
    .sync = refuse_sync,
    .finish = finish_sealed,
    .seal = refuse_seal,
    OF_EITHER,
    .verify = inspection_verify_sealed,
    .images = sealed_images,
};

#ifndef BLOOMFILE_NO_LIVE

/* ---- live */

static int seal_live(bloomfile_filter *f, const uint8_t *watermark)
{
    const int error = sealing(f, watermark);
    if (f->live == NULL)
        f->operations = &operations_sealed;
    return error;
}

static int live_images(const bloomfile_filter *f, struct handle_images *images)
{
    (void)images;
    return header_is_layer(&f->header) ? BLOOMFILE_EISSERIES : BLOOMFILE_ELIVE;
}

const struct handle_operations operations_live = {
    .add = adding,
    .remove = removing,
    .sync = sync_all,
    .finish = sync_finish,
    .seal = seal_live,
    OF_EITHER,
    .verify = inspection_verify_live,
    .images = live_images,
};

#endif
