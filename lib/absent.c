/* SPDX-License-Identifier: MIT
 * Stubs for parts that this build leaves out, so that the other parts link. A file that needs a
 * missing part cannot be opened: BLOOMFILE_EFEATURE. */
#include "handle/closing.h"
#include "handle/operations.h"
#include "live/adding.h"
#include "live/capacity.h"
#include "live/file_change.h"
#include "live/flush.h"
#include "live/join.h"
#include "live/sync.h"
#include "series/series.h"

#ifdef BLOOMFILE_NO_LIVE

const struct handle_operations operations_live = { .close = handle_close };

int join_check_clean(int fd, const struct header *h, bool accept_unclean)
{
    (void)fd, (void)h, (void)accept_unclean;
    return BLOOMFILE_EFEATURE;
}

int join_writers(const bloomfile_filter *f)
{
    (void)f;
    return BLOOMFILE_EFEATURE;
}

void join_close(const bloomfile_filter *f)
{
    (void)f;
}

int join_leave(const bloomfile_filter *f)
{
    (void)f;
    return BLOOMFILE_EFEATURE;
}

int join_find_abandoned(int fd, const struct header *h, bool *abandoned)
{
    (void)fd, (void)h, (void)abandoned;
    return BLOOMFILE_EFEATURE;
}

int seal_recovery_complete(int fd, struct header *h)
{
    (void)fd, (void)h;
    return BLOOMFILE_EFEATURE;
}

int live_new(bloomfile_filter *f, const uint8_t *header)
{
    (void)f, (void)header;
    return BLOOMFILE_EFEATURE;
}

void live_free(struct live *l)
{
    (void)l;
}

int live_load(const bloomfile_filter *f, struct header *now)
{
    *now = f->header;
    return BLOOMFILE_EFEATURE;
}

/* The header of a sealed image does not change. */
int live_header_now(const bloomfile_filter *f, struct header *h)
{
    *h = f->header;
    return 0;
}

size_t session_mapped(void)
{
    return 0;
}

bool session_count(struct session *s, const struct kernel_change *change)
{
    (void)s, (void)change;
    return false;
}

void capacity_renew(const bloomfile_filter *f)
{
    (void)f;
}

void adding_next_turn(bloomfile_filter *f, size_t left)
{
    (void)f, (void)left;
}

uint64_t capacity_limit(const struct header *h, unsigned flags)
{
    (void)h, (void)flags;
    return 0;
}

int sync_prepare(const bloomfile_filter *f)
{
    (void)f;
    return BLOOMFILE_EFEATURE;
}

int sync_source(const bloomfile_filter *f)
{
    (void)f;
    return BLOOMFILE_EFEATURE;
}

#endif

#ifdef BLOOMFILE_NO_SERIES

static int refuse(bloomfile_filter **out)
{
    handle_close(*out);
    *out = NULL;
    return BLOOMFILE_EFEATURE;
}

int series_open_live(bloomfile_filter **out, const char *path, const struct opening *how)
{
    (void)path, (void)how;
    return refuse(out);
}

int series_open_sealed(bloomfile_filter **out, int fd, uint64_t offset, const struct opening *how)
{
    (void)fd, (void)offset, (void)how;
    return refuse(out);
}

int series_open_memory(bloomfile_filter **out, const void *image, const struct opening *how)
{
    (void)image, (void)how;
    return refuse(out);
}

int series_create(bloomfile_filter **out, const char *path, const struct bloomfile_params *p,
                  unsigned flags)
{
    (void)out, (void)path, (void)p, (void)flags;
    return BLOOMFILE_EFEATURE;
}

bool series_is_next(const struct header *before, const struct header *h)
{
    (void)before, (void)h;
    return false;
}

int series_damage(const bloomfile_filter *f)
{
    (void)f;
    return 0;
}

#endif
