/* SPDX-License-Identifier: MIT
 *
 * The filter of a table that never changes: the part to copy. */
#include "filter.h"

#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    EMBEDDED_HEADER = 512
};

/* ---- with a new table */

int filter_draw_identity(struct filter_options *options)
{
    const ssize_t size = sizeof options->identity;
    return getrandom(options->identity, (size_t)size, 0) == size ? 0 : errno;
}

/* As many hashes for tables of all sizes, or their filters could not be merged. Ribbon has none. */
static uint32_t hashes_for(uint32_t layout, double fpr)
{
    struct bloomfile_size typical = BLOOMFILE_SIZE_INIT;
    typical.layout = layout;
    typical.keys = 1000000;
    typical.fpr = fpr;
    return bloomfile_size_for(&typical) == 0 ? typical.hashes : 0;
}

int filter_begin(bloomfile_builder **out, const struct filter_options *options)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = options->layout;
    params.fpr = options->fpr;
    params.hashes = hashes_for(options->layout, options->fpr);
    params.seed = options->seed;
    memcpy(params.tag, options->identity, sizeof params.tag);
    return bloomfile_builder_new(out, &params);
}

/* The filter's body begins with a page of the file, so that a lookup touches one page of it. */
int filter_embed(int fd, const void *image, size_t size, uint64_t *offset)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end == -1)
        return errno;
    *offset = ((uint64_t)end + EMBEDDED_HEADER + PAGE - 1) / PAGE * PAGE - EMBEDDED_HEADER;
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pwrite(fd, (const char *)image + done, size - done, (off_t)(*offset + done));
        if (n == -1 && errno != EINTR)
            return errno;
        done += n == -1 ? 0 : (size_t)n;
    }
    return 0;
}

/* ---- with a table */

static enum filter_state state_for(int error)
{
    switch (error) {
    case 0:
        return FILTER_IN_USE;
    case ENOENT:
        return FILTER_MISSING;
    case BLOOMFILE_EDIFFERENTTAG:
        return FILTER_STALE;
    case EISDIR:
    case BLOOMFILE_ENOTREGULAR:
    case BLOOMFILE_EMAGIC:
    case BLOOMFILE_EVERSION:
    case BLOOMFILE_EFEATURE:
    case BLOOMFILE_ELAYOUT:
    case BLOOMFILE_EHASH:
    case BLOOMFILE_ESELFTEST:
    case BLOOMFILE_ELIVE:
    case BLOOMFILE_EDIFFERENTSEED:
        return FILTER_FOREIGN;
    default:
        return error > 0 ? FILTER_UNREADABLE : FILTER_DAMAGED;
    }
}

/* A sound filter may still not be this table's. With another seed its digests mean nothing, and
 * live filters have no checksums. */
void filter_open(struct filter *f, const struct filter_options *options, const char *path, int fd,
                 uint64_t offset, uint64_t size)
{
    const struct bloomfile_source from =
        size > 0 ? bloomfile_from_fd(fd, offset, size) : bloomfile_from_path(path);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.expect = BLOOMFILE_EXPECT_TAG | BLOOMFILE_EXPECT_SEED | BLOOMFILE_EXPECT_SEALED |
                 BLOOMFILE_EXPECT_HASH;
    memcpy(how.tag, options->identity, sizeof how.tag);
    how.seed = options->seed;
    how.hash_id = BLOOMFILE_HASH_XXH3;
    atomic_flag_clear(&f->damage_told);
    f->error = bloomfile_open_with(&f->handle, &from, &how);
    f->state = state_for(f->error);
}

void filter_close(struct filter *f)
{
    bloomfile_close(f->handle);
    f->handle = NULL;
}

size_t filter_may_have_many(const struct filter *f, const bloomfile_digest *digests, size_t count,
                            bool *maybe)
{
    if (f->handle != NULL)
        return bloomfile_contains_digests(f->handle, digests, count, maybe);
    memset(maybe, true, count * sizeof *maybe);
    return count;
}

int filter_news_of_damage(struct filter *f)
{
    const int error = f->handle == NULL ? 0 : bloomfile_check(f->handle);
    const bool damage = error != 0 && error != BLOOMFILE_ECHANGED;
    return damage && !atomic_flag_test_and_set(&f->damage_told) ? error : 0;
}

bool filter_was_overwritten(const struct filter *f)
{
    return f->handle != NULL && bloomfile_recheck(f->handle) == BLOOMFILE_ECHANGED;
}

const char *filter_state_name(enum filter_state state)
{
    static const char *const names[] = {
        [FILTER_IN_USE] = "in use",    [FILTER_UNWANTED] = "not used",
        [FILTER_NAMELESS] = "unknown", [FILTER_MISSING] = "missing",
        [FILTER_STALE] = "stale",      [FILTER_FOREIGN] = "foreign",
        [FILTER_DAMAGED] = "damaged",  [FILTER_UNREADABLE] = "unreadable",
    };
    return names[state];
}
