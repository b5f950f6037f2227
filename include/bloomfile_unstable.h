/* SPDX-License-Identifier: MIT
 *
 * bloomfile: unstable functions, without a compatibility promise
 *
 * Anything in this header and in bloomfile_block.h may change or be removed in any release, or move
 * to a stable header. The promise of source and binary compatibility excludes it, so its functions
 * have a symbol version of their own: BLOOMFILE_UNSTABLE.
 *
 * A program may use this header only with the library that it was compiled with: link the static
 * library, or require the exact version. A binding may use it only with the library that it ships.
 */
#ifndef BLOOMFILE_UNSTABLE_H
#define BLOOMFILE_UNSTABLE_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------- layouts */

/* The traits of a layout. */
struct bloomfile_traits {
    size_t struct_size;  /* in the library: later versions may add members at the end */
    const char *name;    /* "blocked" */
    const char *unit;    /* "block", "bit", "counter" or "line": folding divides their number */
    const char *cell;    /* "bit" or "counter": m is their number */
    uint32_t unit_cells; /* cells per unit, a power of 2 (512 or 1); m is a multiple of it */
    uint32_t cell_bits;  /* bits of the body that a cell takes: 1 or 4 */
    uint32_t projection; /* the layout of bloomfile_project()'s result; 0: it cannot be projected */
    bool counts;         /* keys can be removed, and filters cannot be intersected */
    bool solved;         /* solved from all keys together: never live, folded, merged or a view */
};

/* Returns the traits of a layout, or NULL if the layout does not exist. The numbers have no gaps:
 * count from 1 until NULL to visit every layout. */
BLOOMFILE_API const struct bloomfile_traits *bloomfile_traits_of(uint32_t layout);

/* ---------------------------------------------------------------------------------- the header */

/* The type of a field's bytes. Numbers are little-endian. */
enum bloomfile_field_kind {
    BLOOMFILE_FIELD_NUMBER = 1,   /* 4 or 8 bytes */
    BLOOMFILE_FIELD_HEX = 2,      /* the same, printed in hexadecimal */
    BLOOMFILE_FIELD_LAYOUT = 3,   /* a number, enum bloomfile_layout */
    BLOOMFILE_FIELD_STATE = 4,    /* a number, enum bloomfile_state */
    BLOOMFILE_FIELD_KEY_KIND = 5, /* a number, enum bloomfile_key_kind plus 256 times the size */
    BLOOMFILE_FIELD_REAL = 6,     /* IEEE 754 binary64 */
    BLOOMFILE_FIELD_BYTES = 7,    /* in order */
    BLOOMFILE_FIELD_TEXT = 8,     /* UTF-8, then zero bytes */
};

/* A field of the header. This struct never changes. */
struct bloomfile_field {
    const char *name; /* in format-spec.md; static */
    int record;       /* 0 or 1: of that commit record; -1: of the static header */
    uint32_t offset;  /* from the start of the image */
    uint32_t size;    /* bytes */
    uint32_t kind;    /* enum bloomfile_field_kind */
};

/* Lists the fields of a header of 4096 or 512 bytes with these bits of `incompat`, in the order of
 * their offsets. For any other size it lists only the static header, whose offsets do not depend on
 * the size. Fills at most `room` fields (`fields` may be NULL with 0) and returns the number of
 * fields that exist. */
BLOOMFILE_API size_t bloomfile_fields(uint32_t header_size, uint32_t incompat,
                                      struct bloomfile_field *fields, size_t room);

/* -------------------------------------------------------------------------------------- bodies */

/* Writes a sealed filter whose body was computed elsewhere, such as by a message-passing reduction.
 *   params      `bits` and `hashes` must be given; members for builders and live filters must be 0.
 *   body        the bytes that m uses.
 *   body_size   (m + 7) / 8 bytes, counting (m + 1) / 2, or the error is BLOOMFILE_EVALUE.
 *   provenance  BLOOMFILE_PROVENANCE_*, or 0 if the body equals a build from its keys.
 *   keys        number of keys; UINT64_MAX estimates it from the set bits.
 * Errors: an errno; those of the destination (bloomfile_io.h); BLOOMFILE_ESTRUCTSIZE;
 * BLOOMFILE_EVALUE for a parameter that is missing, unknown or out of range; BLOOMFILE_EBODY for
 * bits beyond m, or an empty body for one key or more; BLOOMFILE_EISRIBBON; BLOOMFILE_ETOOBIG. */
BLOOMFILE_API int bloomfile_assemble(struct bloomfile_destination *to,
                                     const struct bloomfile_params *params, const void *body,
                                     size_t body_size, uint32_t provenance, uint64_t keys);

/* Returns the bytes of the body that m uses, and their number in *size; format-spec.md defines
 * them. Valid while the handle is open; those of a live filter change as keys are added.
 * bloomfile_verify() checks them. A series returns NULL and 0, because each layer has a body:
 * bloomfile_layer(). */
BLOOMFILE_API const void *bloomfile_body(const bloomfile_filter *f, size_t *size);

/* Splits the body into `cells` equal stretches and sets fill[i] to the fraction of one bits
 * (nonzero counters) in stretch i, 0 to 1; a cell with no bit of its own takes its neighbour's.
 * Reads the whole body. Errors: BLOOMFILE_EVALUE if cells is 0, BLOOMFILE_EISSERIES if it is a
 * series, BLOOMFILE_ECHANGED as for bloomfile_measure(). */
BLOOMFILE_API int bloomfile_measure_map(const bloomfile_filter *f, double *fill, size_t cells);

/* The head of a page of a solved layout (ribbon). This struct never changes. */
struct bloomfile_solution {
    uint64_t keys;   /* keys of the page; 2^32 - 1: that many or more */
    double fpr;      /* the page's real rate */
    double columns;  /* mean number of columns of a group: a lookup tests one equation for each */
    uint32_t lines;  /* number of 64-byte lines of the page */
    uint32_t groups; /* 0: not solved, or damaged: every answer is "maybe" */
    uint32_t groups_more; /* groups beyond the number that a builder tries first */
    uint32_t seed;        /* the number of seeds that failed with these groups */
};

/* Describes a page of the body, from 0. Takes a microsecond. Does not check for damage. Error:
 * BLOOMFILE_EVALUE if the page does not exist, or if the filter is a series or of a layout that is
 * not solved. */
BLOOMFILE_API int bloomfile_measure_page(const bloomfile_filter *f, uint64_t page,
                                         struct bloomfile_solution *out);

/* Returns the name of the kernel that runs the lookups of this handle: "vbmi", "avx512", "avx2",
 * "neon" or "scalar", the fastest that the processor supports. All kernels give the same answers.
 * The environment variable BLOOMFILE_KERNEL selects another one, for tests and comparisons; a
 * kernel that this processor or layout does not have is ignored. The variable is read once, when
 * the first filter is opened or created. */
BLOOMFILE_API const char *bloomfile_kernel_name(const bloomfile_filter *f);

/* ------------------------------------------------------------------------------------ building */

/* Replaces the kind of keys of the params, for a caller that learns the kind from its first key.
 * Error: BLOOMFILE_EVALUE, and bloomfile_invalid() is "key_kind" or "key_size". */
BLOOMFILE_API int bloomfile_builder_set_key_kind(bloomfile_builder *b, uint32_t key_kind,
                                                 uint32_t key_size);

/* ----------------------------------------------------------------------------------- replacing */

#define BLOOMFILE_REPLACES_ANY (-2) /* for bloomfile_thread_replaces_only() */

/* Restricts which file this thread may replace, as bloomfile_replace_only() does for one source.
 * This also applies to calls without a source, such as bloomfile_builder_write() and
 * bloomfile_create().
 *   fd  a descriptor of the file, as it is now; the caller keeps it, and may close it. -1: no file
 *       may be replaced. BLOOMFILE_REPLACES_ANY, the default, ends the restriction
 *
 * This holds until the next call. Calls of this thread with BLOOMFILE_TO_REPLACE then return
 * BLOOMFILE_EREPLACED unless this file, unchanged, is at their path. A live filter changes when a
 * writer joins, syncs or leaves. No writer can join or leave between the last check and the rename.
 * A writer that joined earlier gets BLOOMFILE_EREPLACED at its next sync. In a live series only the
 * first file is compared. Under a restriction, bloomfile_rescue() of a series cannot replace files.
 * A source keeps the file that bloomfile_replace_only() set for it. Returns 0, or an errno of
 * fstat() or open(); after an error nothing has changed. */
BLOOMFILE_API int bloomfile_thread_replaces_only(int fd);

/* -------------------------------------------------------------------------------------- slices */

/* Returns the number of the slice that a digest belongs to, from 0.
 *   bits    m of the whole filter, not of a slice: a multiple of 512.
 *   slices  at most 65536, and at most one for each 4096 bytes.
 *   digest  made with the filter's seed.
 * Returns 0 if bits or slices is 0. Does not check that such a filter can exist. */
BLOOMFILE_API uint32_t bloomfile_slice_of(uint64_t bits, uint32_t slices, bloomfile_digest digest);

/* Returns the first block, of 512 bits, of that slice, from 0; for slice `slices`, the end of the
 * last slice. So slice i is the bytes of the whole body from 64 times its first block up to 64
 * times that of the next slice. Returns 0 if `slices` is 0 or less than `slice`. */
BLOOMFILE_API uint64_t bloomfile_slice_begin(uint64_t bits, uint32_t slices, uint32_t slice);

/* Makes the header of the whole filter from the headers of its slices alone, for machines that each
 * write their slice into one file.
 *   header   receives the first 4096 bytes of the whole; unchanged after an error.
 *   headers  the first 4096 bytes of each slice, in any order, without gaps.
 *   count    number of slices, at least 1.
 *   flags    BLOOMFILE_JOIN_ACCEPT_INCOMPLETE, or 0.
 *
 * After its header, the whole has the bodies in the order of their first_block, and then the
 * checksums of their pages, 4 bytes each. A slice has these checksums after its body. In the whole
 * they are the same numbers, little-endian, but XORed with body_crc of the slice and with body_crc
 * of the whole (bloomfile_info). Bodies are not read: damage to a body is found in the whole.
 * Errors: BLOOMFILE_EINCOMPLETE, as for bloomfile_join(); BLOOMFILE_EVALUE (count is 0); _EFLAGS;
 * ENOMEM; the error of bloomfile_inspect() for the first invalid header. */
BLOOMFILE_API int bloomfile_join_headers(void *header, const void *headers, size_t count,
                                         unsigned flags);

/* Sets *first and *last to the range of digests for which a filter can answer "no": a slice's own
 * digests, otherwise all. */
BLOOMFILE_API void bloomfile_slice_range(const bloomfile_filter *f, bloomfile_digest *first,
                                         bloomfile_digest *last);

#ifdef __cplusplus
}
#endif

#endif
