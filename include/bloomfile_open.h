/* SPDX-License-Identifier: MIT
 *
 * bloomfile: opening with expectations, and from descriptors and memory
 *
 * bloomfile_open() opens a path. bloomfile_open_with() also opens part of a file or memory. It can
 * refuse an unexpected filter, and report which file caused an error.
 */
#ifndef BLOOMFILE_PUBLIC_OPEN_H
#define BLOOMFILE_PUBLIC_OPEN_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's expectations: bits of bloomfile_open_params.expect. A filter that differs is refused
 * before anything is mapped or changed. */
#define BLOOMFILE_EXPECT_TAG    1u  /* its tag; else BLOOMFILE_EDIFFERENTTAG */
#define BLOOMFILE_EXPECT_SEED   2u  /* its seed; else BLOOMFILE_EDIFFERENTSEED */
#define BLOOMFILE_EXPECT_SEALED 4u  /* it is sealed; else BLOOMFILE_ELIVE */
#define BLOOMFILE_EXPECT_HASH   8u  /* its hash; else BLOOMFILE_EHASH, BLOOMFILE_ESELFTEST */
#define BLOOMFILE_EXPECT_KEYS   16u /* bloomfile_check_keys(); else its error */

/* Why a file of a series caused an error: bloomfile_open_report.reason. */
enum bloomfile_reason {
    BLOOMFILE_REASON_NONE = 0,         /* see `error` */
    BLOOMFILE_REASON_FILE = 1,         /* the file cannot be used: see file_error */
    BLOOMFILE_REASON_MISSING = 2,      /* no file, or a dangling symbolic link */
    BLOOMFILE_REASON_NOT_FIRST = 3,    /* the named file is a later layer of a series */
    BLOOMFILE_REASON_NOT_A_LAYER = 4,  /* a single filter, not part of a series */
    BLOOMFILE_REASON_OTHER_SERIES = 5, /* a layer of another series */
    BLOOMFILE_REASON_WRONG_LAYER = 6,  /* layer `found`, where layer `layer` belongs */
    BLOOMFILE_REASON_OLDER_COPY = 7,   /* an old copy, made while the layer was the newest */
    BLOOMFILE_REASON_NOT_NEXT = 8,     /* not sealed together with the layers before it */
    BLOOMFILE_REASON_HARD_LINK = 9,    /* the file has a second name */
    BLOOMFILE_REASON_MOUNT_POINT = 10, /* the file is mounted from another folder */
};

/* The file, and the part of it, that caused an error. */
struct bloomfile_open_report {
    size_t struct_size;
    int error;             /* the error that the function returned */
    int file_error;        /* the file's own error: an errno or BLOOMFILE_E* */
    int reason;            /* enum bloomfile_reason */
    uint32_t reserved;     /* 0 */
    uint64_t slot;         /* of a live series: 0 for PATH, 1 for PATH.1, and so on */
    uint64_t layer;        /* number of the layer that should be there */
    uint64_t found;        /* number of the layer that is there, for WRONG_LAYER */
    uint64_t image_offset; /* of a sealed series: where the layer begins in the series */
    uint64_t offset;       /* where `field` is in the layer or file */
    const char *field;     /* name in format-spec.md; NULL: the error is not in a field */
    char path[4096];       /* of the file; "" for a descriptor or memory */
};
#define BLOOMFILE_OPEN_REPORT_INIT BLOOMFILE_INIT_(struct bloomfile_open_report)

struct bloomfile_open_params {
    size_t struct_size;
    uint32_t flags;  /* BLOOMFILE_OPEN_* */
    uint32_t expect; /* BLOOMFILE_EXPECT_* */
    uint8_t tag[BLOOMFILE_TAG_SIZE];
    uint64_t seed;
    uint32_t hash_id;   /* BLOOMFILE_HASH_XXH3, or the application's number */
    uint32_t key_kind;  /* of the caller's keys, for bloomfile_check_keys() */
    uint64_t self_test; /* as in bloomfile_params; 0 for BLOOMFILE_HASH_XXH3 */
    /* Computes the self test, if it depends on the seed. NULL: `self_test` is used. */
    uint64_t (*self_test_of)(void *context, uint64_t seed);
    void *context;                        /* for self_test_of; the caller's */
    uint32_t key_size;                    /* of the caller's keys */
    uint32_t reserved;                    /* 0 */
    struct bloomfile_open_report *report; /* filled after an error; may be NULL */
};
#define BLOOMFILE_OPEN_PARAMS_INIT BLOOMFILE_INIT_(struct bloomfile_open_params)

/* Opens a filter from a path, a descriptor or memory, if it meets the caller's expectations.
 *
 *     struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
 *     struct bloomfile_source from = bloomfile_from_path(path);
 *     how.expect = BLOOMFILE_EXPECT_TAG | BLOOMFILE_EXPECT_SEALED;
 *     memcpy(how.tag, table_id, sizeof how.tag);
 *     int error = bloomfile_open_with(&f, &from, &how);
 *
 *   out     receives the filter; NULL on error.
 *   from    A path, as for bloomfile_open(). A descriptor: the filter must occupy exactly `length`
 *           bytes at `offset` of a regular file; the descriptor may be closed after the call. A
 *           live filter must be the whole file, and not a series: else BLOOMFILE_ELIVE. Memory: a
 *           sealed filter, at any address. The bytes must not change and must outlive the handle;
 *           with BLOOMFILE_OPEN_COPY neither is required, and the copy is aligned. Prefer an
 *           address or offset that is a multiple of 64: a block of the blocked layout then lies in
 *           one cache line; otherwise a lookup reads two, which takes up to twice as long in a
 *           large filter. Only a handle opened by path goes stale.
 *   params  NULL: no flags, no expectations.
 *
 * Lookups in a filter with an application's hash need BLOOMFILE_EXPECT_HASH: it names the function
 * that makes the digests. A handle opened without it can be folded, merged, copied, sealed and
 * verified, but each lookup answers "maybe" and sets the error BLOOMFILE_EHASH, and each add
 * returns that error.
 *
 * Returns 0; an errno; any error listed at bloomfile_open(); the error of an expectation that is
 * not met (see BLOOMFILE_EXPECT_TAG and its neighbours); or one of
 *   BLOOMFILE_ESTRUCTSIZE  no version has the struct_size of `from`, `params` or params->report
 *   BLOOMFILE_ELIVE        a live filter in memory or in a part of a file, or a live series by
 *                          descriptor
 *   BLOOMFILE_EVALUE       an offset BLOOMFILE_FROM_HERE; a tag, seed, hash or kind of keys other
 *                          than 0 without its BLOOMFILE_EXPECT_ flag; key_kind or key_size out of
 *                          range; or an invalid member of `from`
 *   BLOOMFILE_EFLAGS       unknown or contradictory flags; BLOOMFILE_OPEN_WRITE without a path or
 *                          with BLOOMFILE_EXPECT_SEALED; BLOOMFILE_OPEN_PREFAULT or _LOCK of memory
 *                          without _COPY */
BLOOMFILE_API int bloomfile_open_with(bloomfile_filter **out, const struct bloomfile_source *from,
                                      const struct bloomfile_open_params *params);

#ifdef __cplusplus
}
#endif

#endif
