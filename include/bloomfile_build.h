/* SPDX-License-Identifier: MIT
 *
 * bloomfile: building sealed filters, and hashing keys in one buffer
 *
 * bloomfile.h includes this header.
 *
 * A builder collects the digests of any number of keys, 8 bytes each, and makes a sealed filter of
 * the exact size at the end. Equal keys count once. The same keys and parameters make the same
 * bytes: order, threads and memory do not matter. Digests beyond `memory` go to temporary files: 8
 * bytes a key, or up to 24 for a classic or counting filter many times larger than that.
 *
 * A set that is built once and never changes is a third smaller with BLOOMFILE_LAYOUT_RIBBON: 6.9
 * bits a key at 1% (blocked: 10), and 31.5 at 1e-9 (blocked: 80). A lookup reads about two cache
 * lines of one page, and takes about twice as long; building takes about 30 ns a key more. Ribbon
 * filters are sealed from the beginning. Live filters and views of this layout, folding, merging
 * and patches are BLOOMFILE_EISRIBBON. An open filter takes up to 4 bytes of memory for each page.
 */
#ifndef BLOOMFILE_PUBLIC_BUILD_H
#define BLOOMFILE_PUBLIC_BUILD_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hash functions. An engine that already has a good 64-bit hash of each key need not compute a
 * second hash: it builds and looks up by these digests. Positions come from the top bits of the
 * digest and of its products, so all 64 bits must be uniformly distributed. Two keys with the same
 * digest are one key.
 *
 * The engine chooses a number for its function and a self test. The number is
 * BLOOMFILE_APP_HASH_FIRST or above, for example random: numbers are not assigned. The self test is
 * a value that the function yields, such as its hash of a fixed string under the filter's seed. The
 * filter stores both. A program that opens it for lookups passes both to bloomfile_open_with(),
 * which refuses a changed function and another engine's function with the same number. Functions
 * that take keys do not work with such a filter: lookups answer "maybe" and set the error
 * BLOOMFILE_EHASH; other functions return it. */
#define BLOOMFILE_HASH_XXH3      1u /* bloomfile_hash() */
#define BLOOMFILE_APP_HASH_FIRST 0x80000000u

struct bloomfile_params {
    size_t struct_size;
    uint32_t layout;   /* enum bloomfile_layout; 0: BLOOMFILE_LAYOUT_BLOCKED */
    uint32_t hashes;   /* k; 0: the best for m (or fpr) and capacity. ribbon: 0 */
    uint64_t capacity; /* keys to size for; 0: a builder counts, at least 1 */
    double fpr;        /* rate to size for, in (0, 1); 0: 0.01 if bits is 0 */
    uint64_t bits;     /* m; 0: from capacity and fpr. blocked, ribbon: a multiple of 512 */
    uint64_t seed;     /* of the hash; 0 unless an adversary chooses the keys */
    const char *label; /* UTF-8, at most BLOOMFILE_MAX_LABEL bytes; or NULL */
    uint8_t tag[BLOOMFILE_TAG_SIZE];             /* the caller's own, for example the SSTable's: see
                                                    BLOOMFILE_EXPECT_TAG */
    uint8_t watermark[BLOOMFILE_WATERMARK_SIZE]; /* the caller's own: see bloomfile_sync() */
    uint32_t key_kind;                           /* enum bloomfile_key_kind */
    uint32_t key_size;  /* BLOOMFILE_KEYS_FIXED: bytes of each key; else 0 */
    uint64_t self_test; /* of hash_id; 0 without */
    uint32_t hash_id;   /* of an application's own function; 0: bloomfile_hash() */

    /* For new live filters only: BLOOMFILE_EVALUE elsewhere, unless 0. See bloomfile_live.h. */
    uint32_t
        series; /* BLOOMFILE_SERIES_GROW, or the number of generations, 2 to 1000; 0: one filter */
    uint64_t period; /* seconds that a generation lasts; 0: until it has `capacity` keys */

    /* For builders only: BLOOMFILE_EVALUE elsewhere, unless 0. */
    uint32_t threads;       /* number of threads, at most 1024; 0: only the caller's */
    uint32_t slices;        /* number of slices; 0: the whole filter. See bloomfile_combine.h */
    uint32_t slice;         /* number of the slice to build, from 0 */
    uint32_t over_capacity; /* 1: finish even if the rate is over twice its target; else 0 */
    const char *spool;      /* for temporary files; NULL: $TMPDIR, or /tmp */
    uint64_t memory; /* approximate limit in bytes, at least 1 MiB; 0: no limit. ribbon: up to 1.2
                        MiB more for each thread */
};
#define BLOOMFILE_PARAMS_INIT BLOOMFILE_INIT_(struct bloomfile_params)

/* Creates a builder.
 *   out     receives the builder; NULL on error. Free it with bloomfile_builder_free().
 *   params  is copied, with its strings. NULL: all defaults. If `threads` is above 1, any number of
 *           threads may add keys concurrently.
 * Errors: BLOOMFILE_ESTRUCTSIZE; BLOOMFILE_EVALUE, and bloomfile_invalid() names the member;
 * BLOOMFILE_EUNREACHABLE if no size of a slice's whole filter reaches the rate; ENOMEM;
 * BLOOMFILE_EFEATURE if this build of the library lacks the layout. */
BLOOMFILE_API int bloomfile_builder_new(bloomfile_builder **out,
                                        const struct bloomfile_params *params);

/* Adds a key, n keys (faster), or n digests made with the seed of the params. After an error keys
 * are missing, so counting and writing return the first such error. Errors: ENOMEM; an errno of a
 * temporary file; BLOOMFILE_EHASH for keys that only the application can hash. */
BLOOMFILE_API int bloomfile_builder_add(bloomfile_builder *b, const void *key, size_t size);
BLOOMFILE_API int bloomfile_builder_add_many(bloomfile_builder *b, const struct bloomfile_key *keys,
                                             size_t n);
BLOOMFILE_API int bloomfile_builder_add_digests(bloomfile_builder *b,
                                                const bloomfile_digest *digests, size_t n);

/* Sets *count to the number of distinct digests so far. Reads them all, if any were added since the
 * last call. Errors: the error of an earlier add; ENOMEM; an errno of a temporary file. */
BLOOMFILE_API int bloomfile_builder_count(bloomfile_builder *b, uint64_t *count);

/* Replaces the tag of the params, for an identity that the caller knows only after the last row. */
BLOOMFILE_API void bloomfile_builder_set_tag(bloomfile_builder *b,
                                             const uint8_t tag[BLOOMFILE_TAG_SIZE]);

/* Builds the filter and writes it. The builder may then add more keys and write again. A
 * destination without `spool` uses the `spool` of the params. Returns 0, the error of an earlier
 * add, an errno, an error of the destination (bloomfile_io.h), or one of
 *
 *   BLOOMFILE_EFULL         too many keys: the expected rate is over twice the target (fpr, or if
 *                           that is 0 the rate at capacity). over_capacity = 1 accepts it
 *   BLOOMFILE_EUNREACHABLE  no size reaches the rate
 *   BLOOMFILE_ETOOBIG       too big for memory
 *   BLOOMFILE_EISSLICE      a slice in memory: it has no embedded form
 *   BLOOMFILE_EBODY         a lookup in a finished ribbon page failed: this machine computes
 *                           wrongly */
BLOOMFILE_API int bloomfile_builder_write(bloomfile_builder *b, struct bloomfile_destination *to);

/* Removes all keys and any error of an add. The builder then builds its next filter from the same
 * params, including their tag. It keeps its memory: after a large filter, free it instead. No other
 * thread may use the builder during the call. */
BLOOMFILE_API void bloomfile_builder_reset(bloomfile_builder *b);

BLOOMFILE_API void bloomfile_builder_free(bloomfile_builder *b);

/* Label, tag and watermark of a filter made from others. A NULL member keeps the source's value. */
struct bloomfile_metadata {
    size_t struct_size;
    const char *label;        /* UTF-8, at most BLOOMFILE_MAX_LABEL bytes; "" clears it */
    const uint8_t *tag;       /* BLOOMFILE_TAG_SIZE bytes */
    const uint8_t *watermark; /* BLOOMFILE_WATERMARK_SIZE bytes */
};
#define BLOOMFILE_METADATA_INIT BLOOMFILE_INIT_(struct bloomfile_metadata)

/* -------------------------------------------------------------------------- keys in one buffer */

/* Keys in one buffer. They may overlap, as n-grams of a text do. Key i has the bytes from starts[i]
 * up to, but not including, ends[i]. For an Arrow column with n + 1 offsets, set starts = offsets
 * and ends = offsets + 1. The caller owns all members, and must not change them during the call. */
struct bloomfile_spans {
    size_t struct_size;
    const void *base;       /* the buffer */
    uint64_t size;          /* its bytes */
    size_t count;           /* keys */
    const uint64_t *starts; /* NULL: key i starts at i * step */
    const uint64_t *ends;   /* NULL: each key has `length` bytes */
    uint64_t step;          /* 0 if starts is not NULL */
    uint64_t length;        /* 0 if ends is not NULL */
};
#define BLOOMFILE_SPANS_INIT BLOOMFILE_INIT_(struct bloomfile_spans)

/* Hashes spans for a filter, with its seed. Pass the digests to the batch calls. No key is copied.
 *
 *     struct bloomfile_spans kmers = BLOOMFILE_SPANS_INIT;
 *     kmers.base = genome;
 *     kmers.size = size;
 *     kmers.step = 1;
 *     kmers.length = 31;
 *     kmers.count = size - 30;
 *     error = bloomfile_digests_of_spans(f, &kmers, digests);
 *
 *   digests  room for spans->count digests; unchanged after an error.
 *
 * Returns 0 or one of
 *   BLOOMFILE_ESTRUCTSIZE  no version has that struct_size
 *   BLOOMFILE_EVALUE       a span is not within the buffer, or a member that must be 0 is not
 *   BLOOMFILE_EHASH        only the application can hash keys of this filter; the handle then
 *                          treats its hash as unknown, as after bloomfile_digest_of() */
BLOOMFILE_API int bloomfile_digests_of_spans(const bloomfile_filter *f,
                                             const struct bloomfile_spans *spans,
                                             bloomfile_digest *digests);

/* Like bloomfile_digests_of_spans(), with the seed of the params, and with the same errors. A
 * failure counts as a failed add: counting and writing return it as well. */
BLOOMFILE_API int bloomfile_builder_digests_of_spans(bloomfile_builder *b,
                                                     const struct bloomfile_spans *spans,
                                                     bloomfile_digest *digests);

#ifdef __cplusplus
}
#endif

#endif
