/* SPDX-License-Identifier: MIT
 * Opening and closing of handles, lookups, and the texts of errors. */
#include <bloomfile.h>
#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/min.h"
#include "format/versioned_struct.h"
#include "handle/lookup.h"
#include "handle/opening.h"
#include "live/handle.h"
#include "os/file.h"
#include "series/series.h"

#define OPEN_FLAGS                                                                                 \
    (BLOOMFILE_OPEN_VERIFY_FULL | BLOOMFILE_OPEN_VERIFY_NONE | BLOOMFILE_OPEN_WRITE |              \
     BLOOMFILE_OPEN_ACCEPT_UNCLEAN | BLOOMFILE_OPEN_ADD_EXACT | BLOOMFILE_OPEN_PREFAULT |          \
     BLOOMFILE_OPEN_LOCK | BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_APP_HASH |                         \
     BLOOMFILE_OPEN_OVER_CAPACITY)

static bool flags_valid(unsigned flags, bool by_path)
{
    const unsigned verify = BLOOMFILE_OPEN_VERIFY_FULL | BLOOMFILE_OPEN_VERIFY_NONE;
    bool writing = (flags & BLOOMFILE_OPEN_WRITE) != 0;
    if ((flags & ~OPEN_FLAGS) != 0 || (flags & verify) == verify)
        return false;
    if (writing && (!by_path || (flags & (verify | BLOOMFILE_OPEN_COPY)) != 0))
        return false;
    return writing || (flags & (BLOOMFILE_OPEN_ADD_EXACT | BLOOMFILE_OPEN_OVER_CAPACITY)) == 0;
}

/* The layers of a series behind the first one, of which there is a handle; then the handle of all.
 */
int bloomfile_open(bloomfile_filter **out, const char *path, unsigned flags)
{
    *out = NULL;
    if (!flags_valid(flags, true))
        return BLOOMFILE_EPARAMS;
    int rest, error = opening_by_path(out, path, flags, &rest);
    if (error == 0 && header_is_layer(&(*out)->header))
        error = (*out)->live != NULL ? series_open_live(out, path, flags)
                                     : series_open_sealed(out, rest, 0, flags);
    if (rest >= 0)
        close(rest);
    return error;
}

int bloomfile_open_fd(bloomfile_filter **out, int fd, uint64_t offset, uint64_t length,
                      unsigned flags)
{
    *out = NULL;
    if (!flags_valid(flags, false))
        return BLOOMFILE_EPARAMS;
    struct stat status;
    int error = file_stat(fd, &status);
    if (error == 0)
        error = opening_range(out, fd, &status, offset, length, flags);
    return error == 0 && header_is_layer(&(*out)->header)
               ? series_open_sealed(out, fd, offset, flags)
               : error;
}

int bloomfile_open_memory(bloomfile_filter **out, const void *image, size_t size, unsigned flags)
{
    *out = NULL;
    const bool held = (flags & (BLOOMFILE_OPEN_LOCK | BLOOMFILE_OPEN_PREFAULT)) != 0;
    if (!flags_valid(flags, false) || (held && (flags & BLOOMFILE_OPEN_COPY) == 0))
        return BLOOMFILE_EPARAMS;
    int error = opening_memory(out, image, size, flags);
    return error == 0 && header_is_layer(&(*out)->header)
               ? series_open_memory(out, image, size, flags)
               : error;
}

void bloomfile_close(bloomfile_filter *f)
{
    if (f != NULL)
        f->operations->close(f);
}

uint64_t bloomfile_seed(const bloomfile_filter *f)
{
    return f->header.seed;
}

const char *bloomfile_kernel_name(const bloomfile_filter *f)
{
    return f->kernel->name;
}

/* ---- Lookups, one or many. */

/* Few instructions, so that the processor overlaps the cache misses of many calls. */
bool bloomfile_contains_digest(const bloomfile_filter *f, bloomfile_digest digest)
{
    if (guard_all_good(&f->guard_storage))
        return f->contains(&f->view, digest);
    return f->doubtful->contains(f, digest);
}

bool bloomfile_contains(const bloomfile_filter *f, const void *key, size_t size)
{
    if (hash_is_applications(f->header.hash_id))
        return app_hash_missed(f, 1, NULL) == 1;
    return bloomfile_contains_digest(f, hash_key(f->header.seed, key, size));
}

size_t bloomfile_contains_digests(const bloomfile_filter *f, const bloomfile_digest *digests,
                                  size_t n, bool *hits)
{
    if (guard_all_good(&f->guard_storage))
        return f->contains_many(&f->view, digests, n, hits);
    return f->doubtful->contains_many(f, digests, n, hits);
}

size_t bloomfile_contains_many(const bloomfile_filter *f, const struct bloomfile_key *keys,
                               size_t n, bool *hits)
{
    uint64_t digests[LOOKUP_CHUNK];
    size_t found = 0;
    if (hash_is_applications(f->header.hash_id))
        return app_hash_missed(f, n, hits);
    for (size_t start = 0, count; (count = MIN(n - start, LOOKUP_CHUNK)) > 0; start += count) {
        lookup_digests(f, keys + start, count, digests);
        found += bloomfile_contains_digests(f, digests, count, hits != NULL ? hits + start : NULL);
    }
    return found;
}

/* ---- Names and texts of errors. */

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

#define ROW_TEXT(name, value, text)                                                                \
    case name:                                                                                     \
        return text;
#define ROW_NAME(name, value, text)                                                                \
    case name:                                                                                     \
        return #name;

#ifdef __GLIBC__
static const char *system_name(int error)
{
    return strerrorname_np(error);
}
#else
/* Other C libraries have no names for errnos; these are the ones that bloomfile's calls return. */
#define SYSTEM_ERRORS(X)                                                                           \
    X(E2BIG)                                                                                       \
    X(EACCES)                                                                                      \
    X(EAGAIN)                                                                                      \
    X(EBADF)                                                                                       \
    X(EBUSY)                                                                                       \
    X(EDEADLK)                                                                                     \
    X(EDQUOT)                                                                                      \
    X(EEXIST)                                                                                      \
    X(EFAULT)                                                                                      \
    X(EFBIG)                                                                                       \
    X(EILSEQ)                                                                                      \
    X(EINTR)                                                                                       \
    X(EINVAL)                                                                                      \
    X(EIO)                                                                                         \
    X(EISDIR)                                                                                      \
    X(ELOOP)                                                                                       \
    X(EMFILE)                                                                                      \
    X(EMLINK)                                                                                      \
    X(ENAMETOOLONG)                                                                                \
    X(ENFILE)                                                                                      \
    X(ENODEV)                                                                                      \
    X(ENOENT)                                                                                      \
    X(ENOLCK)                                                                                      \
    X(ENOMEM)                                                                                      \
    X(ENOSPC)                                                                                      \
    X(ENOSYS)                                                                                      \
    X(ENOTDIR)                                                                                     \
    X(ENOTEMPTY)                                                                                   \
    X(ENOTSUP)                                                                                     \
    X(ENOTTY)                                                                                      \
    X(ENXIO)                                                                                       \
    X(EOVERFLOW)                                                                                   \
    X(EPERM)                                                                                       \
    X(EPIPE)                                                                                       \
    X(EPROTO)                                                                                      \
    X(ERANGE)                                                                                      \
    X(EROFS)                                                                                       \
    X(ESPIPE)                                                                                      \
    X(ESRCH)                                                                                       \
    X(ESTALE)                                                                                      \
    X(ETIMEDOUT)                                                                                   \
    X(ETXTBSY)                                                                                     \
    X(EXDEV)

#define SYSTEM_NAME(name)                                                                          \
    case name:                                                                                     \
        return #name;

static const char *system_name(int error)
{
    switch (error) {
        SYSTEM_ERRORS(SYSTEM_NAME)
    default:
        return NULL;
    }
}
#endif

const char *bloomfile_strerror(int error)
{
    if (error == 0)
        return "no error";
    switch (error) {
        BLOOMFILE_ERRORS(ROW_TEXT)
    }
    if (error <= 0 || system_name(error) == NULL)
        return "unknown error";
#ifdef __GLIBC__
    return strerrordesc_np(error);
#else
    return strerror(error);
#endif
}

const char *bloomfile_errname(int error)
{
    if (error == 0)
        return "OK";
    switch (error) {
        BLOOMFILE_ERRORS(ROW_NAME)
    }
    const char *name = error > 0 ? system_name(error) : NULL;
    return name != NULL ? name : "UNKNOWN";
}

const char *bloomfile_version(void)
{
    return STRING(BLOOMFILE_VERSION_MAJOR) "." STRING(BLOOMFILE_VERSION_MINOR) "." STRING(
        BLOOMFILE_VERSION_PATCH);
}

/* ---- The parts of a handle that lookups in bloomfile_inline.h need. */

#define PIN_LEAST VERSIONED_LEAST(struct bloomfile_pinned, blocks)

#ifdef __SIZEOF_INT128__
static bool can_inline(const bloomfile_filter *f)
{
    return f->header.layout == BLOOMFILE_LAYOUT_BLOCKED; /* what bloomfile_block.h looks up */
}
#else
static bool can_inline(const bloomfile_filter *f)
{
    (void)f;
    return false;
}
#endif

int bloomfile_pin(const bloomfile_filter *f, struct bloomfile_pinned *pin)
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
    p.poisoned = BYTES_SWAP32(BLOOMFILE_STATE_POISONED);
    versioned_give(pin, pin->struct_size, &p, sizeof p);
    return 0;
}
