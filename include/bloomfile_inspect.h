/* SPDX-License-Identifier: MIT
 *
 * bloomfile: planning sizes, reading headers, and verifying files
 */
#ifndef BLOOMFILE_PUBLIC_INSPECT_H
#define BLOOMFILE_PUBLIC_INSPECT_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------ sizing */

/* The size of a filter. The library computes members that are 0, so a call may be repeated with its
 * results. A builder with these parameters computes the same size. */
struct bloomfile_size {
    size_t struct_size;
    uint32_t layout; /* enum bloomfile_layout; 0: BLOOMFILE_LAYOUT_BLOCKED */
    uint32_t hashes; /* k, up to BLOOMFILE_MAX_HASHES; 0: the best. Ribbon: always 0 */
    uint64_t keys;   /* n, distinct keys, up to 2^60 without `bits`; 0: the most that keep `fpr` */
    uint64_t bits;   /* m, or counters; 0: the fewest that keep `fpr` for `keys` */
    double fpr;      /* in: the target, in (0, 1); 0: 0.01. Out: the expected rate */

    uint32_t want_spread; /* 1: compute `spread` too; takes three times as long */
    uint32_t reserved;    /* 0 */
    double spread;        /* out: standard deviation / mean of the rate; ribbon: NaN */
    uint64_t file_size;   /* out: bytes of a file */
    uint64_t image_size;  /* out: bytes of an embedded image (in memory, or in another file) */
};
#define BLOOMFILE_SIZE_INIT BLOOMFILE_INIT_(struct bloomfile_size)

/* Computes the size of a filter before it is made.
 *
 *     struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
 *     size.keys = 1000000;
 *     size.fpr = 0.001;
 *     int error = bloomfile_size_for(&size); // now size.bits is set
 *
 *   size  in and out; unchanged after an error.
 *         `keys` without `bits`: finds the fewest bits that keep the target rate. They are rounded
 *         up by at most 0.5%, so that many fold factors exist.
 *         `keys` and `bits`: finds the expected rate; a target is not used.
 *         `bits` without `keys`: finds how many keys keep the target rate, at least 1.
 *
 * The expected rate is a mean: in the blocked layout, over how many keys fall into a block; in
 * ribbon, into a page. doc/format/sizes.md defines it; every machine computes the same sizes. The
 * classic formula (1 - e^(-kn/m))^k gives 0.86% for a blocked filter whose true rate is 1%. Every
 * rate is at least n / 2^64, since digests have 64 bits. Rates that differ by less than one part in
 * 2^26 count as equal.
 *
 * Ribbon: the rate is never below 2^-32. A target above 0.24 gets the size of 0.24. `bits` is that
 * of an embedded image; a file has the next multiple of 32768.
 *
 * `spread` is the standard deviation of the rate among filters with different seeds, divided by the
 * mean. A few crowded blocks make up most of a low rate, so in the blocked layout `spread` is still
 * 0.1 for 450 keys at 1e-2, 7e3 at 1e-4, 7e4 at 1e-6 and 2.5e6 at 1e-9. In classic it is 0.02 for
 * 1e4 keys at any rate. Such rates are about log-normal: half of the filters with 300 keys at 1e-9
 * are below a quarter of the mean, one in twelve is above twice the mean.
 *
 * Takes 10 us to 70 ms, most for low rates. A program that makes many filters of the same size
 * calls it once, and passes bits and hashes on. Returns 0 or one of
 *   BLOOMFILE_ESTRUCTSIZE   no version has that struct_size
 *   BLOOMFILE_EVALUE        a member is out of range, or `keys` and `bits` are both 0;
 *                           bloomfile_invalid() names the member
 *   BLOOMFILE_EUNREACHABLE  no size up to BLOOMFILE_MAX_BITS keeps the rate, as for a rate of n /
 *                           2^64 or less */
BLOOMFILE_API int bloomfile_size_for(struct bloomfile_size *size);

/* -------------------------------------------------------------------------------- inspecting */

enum bloomfile_state {
    BLOOMFILE_STATE_LIVE = 1,     /* writable, body not checksummed */
    BLOOMFILE_STATE_SEALED = 2,   /* immutable, checksummed */
    BLOOMFILE_STATE_POISONED = 3, /* a sync failed while it was live */
};

/* The header's contents. Takes constant time: nothing here is computed from the body. If the filter
 * is live, each call reads the commit record again. */
struct bloomfile_info {
    size_t struct_size;
    uint32_t version;     /* of the format */
    uint32_t header_size; /* 4096 in a file, 512 in an embedded image */
    uint32_t compat;      /* feature words */
    uint32_t ro_compat;
    uint32_t incompat;
    uint32_t provenance;    /* BLOOMFILE_PROVENANCE_* */
    uint32_t layout;        /* enum bloomfile_layout; may be any value if the header is invalid */
    uint32_t hash_id;       /* 1: XXH3, 64 bits; other values: an application's */
    uint32_t hashes;        /* k; ribbon: 0 */
    uint32_t state;         /* enum bloomfile_state, of the commit record in force */
    uint64_t bits;          /* m */
    uint64_t bits_unfolded; /* m before folding; equal to bits if never folded */
    uint64_t seed;
    uint64_t self_test;
    uint64_t body_offset;    /* bytes from the start of the image */
    uint64_t body_size;      /* bytes, a multiple of 64 */
    uint64_t image_size;     /* bytes: header, body and page checksums */
    uint64_t pages;          /* of 4096 bytes in the body, the last one perhaps shorter */
    uint64_t capacity;       /* keys it was sized for */
    double fpr;              /* the rate it was sized for; 0: not recorded */
    uint64_t sequence;       /* of the commit record in force */
    uint64_t keys;           /* n: distinct keys; live or once so: adds that were new. Live: may be
                                0 in a filter with keys while `writers` is not 0 */
    uint64_t ones;           /* bits that are one; counting: counters above 0 */
    uint64_t overflow;       /* counting: counters stuck at 15 */
    uint64_t bad_pages;      /* found on this handle so far */
    uint32_t keys_estimated; /* 1: `keys` is an estimate */
    uint32_t body_crc;
    uint8_t tag[BLOOMFILE_TAG_SIZE];
    uint8_t boot_id[16];  /* live files: the boot during which it was last written */
    uint8_t identity[16]; /* live files: random, drawn when the file was made */
    uint8_t watermark[BLOOMFILE_WATERMARK_SIZE]; /* the caller's own: see bloomfile_sync() */
    char label[BLOOMFILE_MAX_LABEL + 1];
    uint8_t reserved[3]; /* 0 */
    uint32_t writers;    /* live files: handles open for writing, plus those whose process was
                            killed since a writer was last alone */
    uint32_t key_kind;   /* enum bloomfile_key_kind, or a number of a later version */
    uint32_t key_size;   /* BLOOMFILE_KEYS_FIXED: bytes of each key; else 0 in this version */
    /* A series; 0 for other filters. Sizes and counts are sums over its layers; `hashes` and
     * `layer` are those of the newest layer. */
    uint32_t layers;      /* current number of layers */
    uint32_t generations; /* live: the number of generations it keeps; 0: it grows */
    uint64_t layer;       /* number of the layer, from 0 */
    uint64_t rest_size;   /* sealed: bytes of this layer and all later layers */
    uint64_t series;      /* live: its identity */
    double series_fpr;    /* the rate that all layers keep together; 0: not recorded */
    uint64_t period;      /* seconds that a generation lasts at most; 0: until it is full */
    uint64_t began;       /* with a period: when the layer was made, seconds since 1970 */
    /* A slice (bloomfile_combine.h); 0 for other filters. capacity is that of the whole filter. */
    uint64_t first_block;  /* number of the slice's first block in the whole filter */
    uint64_t whole_blocks; /* in the whole filter, of 512 bits each */
    /* A slice: the keys it was made from, including repetitions. */
    uint64_t keys_read;      /* their number, including keys of other slices */
    uint64_t keys_elsewhere; /* number of keys left out, since they belong to other slices */
    uint64_t digest_sum;     /* of the digests of all keys read, modulo 2^64 */
    /* The cost of this handle, for example to charge a block cache; for a series, that of all its
     * layers. A cache charges heap_size and, with BLOOMFILE_OPEN_COPY, mapped_size too: mapped
     * pages otherwise belong to the file, and the kernel reclaims them as needed. */
    uint64_t heap_size;   /* bytes from malloc() */
    uint64_t mapped_size; /* bytes of address space that are mapped, in whole pages */
    uint32_t mappings;    /* at most */
    uint32_t descriptors;
};
#define BLOOMFILE_INFO_INIT BLOOMFILE_INIT_(struct bloomfile_info)

/* Fills *info, up to info->struct_size bytes. Returns 0, or BLOOMFILE_ESTRUCTSIZE if no version has
 * that size. */
BLOOMFILE_API int bloomfile_get_info(const bloomfile_filter *f, struct bloomfile_info *info);

/* Checks whether keys of a kind may be looked up in a filter and added to it. Lookups and adds take
 * bytes and do not check the kind: lookups of another kind answer "no" for keys in the set.
 *
 *   filter    from bloomfile_get_info(); only key_kind and key_size are read.
 *   key_kind  enum bloomfile_key_kind, but not BLOOMFILE_KEYS_UNKNOWN.
 *   key_size  bytes of each key for BLOOMFILE_KEYS_FIXED; bytes of the key, or 0 if sizes differ,
 *             for BLOOMFILE_KEYS_BYTES; 0 for other kinds.
 *
 *   filter      accepts
 *   unknown     all kinds
 *   text        text, bytes
 *   lower       text, bytes, lower; the caller replaces A to Z by a to z first
 *   integers    integers; fixed and bytes of 8 bytes
 *   fixed       fixed and bytes of its size
 *   bytes       fixed, bytes; not text, because hexadecimal text is another key than its bytes
 *
 * Returns 0 or one of
 *   BLOOMFILE_EKEYKIND  the filter does not accept such keys
 *   BLOOMFILE_EFEATURE  this version does not know the kind of the filter's keys
 *   BLOOMFILE_EVALUE    key_kind or key_size is out of range */
BLOOMFILE_API int bloomfile_check_keys(const struct bloomfile_info *filter, uint32_t key_kind,
                                       uint64_t key_size);

/* bloomfile_layers() returns the current number of layers of a series, 0 if the filter is not a
 * series. bloomfile_layer() returns layer i, from 0 for the oldest; NULL if it does not exist. Use
 * the layer only with the functions in this header: it has only some of the series' keys, so every
 * lookup in it, pinned or not, answers "maybe". The series owns it: do not close it. Closing the
 * series invalidates it. In a forgetting series, any use of the series' handle other than
 * inspection, by any thread, also invalidates it. */
BLOOMFILE_API size_t bloomfile_layers(const bloomfile_filter *f);
BLOOMFILE_API const bloomfile_filter *bloomfile_layer(const bloomfile_filter *f, size_t i);

/* Numbers computed from the bits themselves. */
struct bloomfile_measurement {
    size_t struct_size;
    uint64_t ones;        /* bits that are one; counting: counters above 0 */
    double fill;          /* ones / m; ribbon: about 0.5, meaningless */
    double fpr;           /* the actual false-positive rate of these bits, exactly */
    double keys_estimate; /* n, estimated from the one bits (Swamidass & Baldi 2007); infinite if
                             full. ribbon: the sum of the key counts in the page heads */
};
#define BLOOMFILE_MEASUREMENT_INIT BLOOMFILE_INIT_(struct bloomfile_measurement)

/* Computes *out from the body, all of which it reads. The rate is exact for this body and keys
 * never added. It is, for blocked, the mean over blocks of (one bits in the block / 512)^k; for
 * classic and counting, (ones / m)^k; for ribbon, the mean over lines of 2^-(columns that a lookup
 * there tests). In a series it is the probability that at least one layer answers "maybe". Does
 * not check for damage. Returns 0, BLOOMFILE_ECHANGED if the file was written to while it was open,
 * or BLOOMFILE_ESTRUCTSIZE if no version has that size. */
BLOOMFILE_API int bloomfile_measure(const bloomfile_filter *f, struct bloomfile_measurement *out);

/* A fault of a file. */
struct bloomfile_fault {
    int error;            /* BLOOMFILE_E* */
    uint64_t offset;      /* of the first byte concerned, from the start of the image or series */
    uint64_t page;        /* BLOOMFILE_EPAGE: the page's number, from 0; else UINT64_MAX */
    const char *field;    /* its name in format-spec.md ("k", "record 0", "page", "head"); static */
    uint64_t layer;       /* bloomfile_verify() of a series: the layer's number, from 0; else 0 */
    uint64_t reserved[3]; /* 0 */
};

/* Reads and checks the whole body: page checksums, body checksum, counts, padding. Pages that were
 * good before are checked again; other threads may continue to look up keys. Damage becomes the
 * sticky error, and lookups on damaged pages answer "maybe". The bytes between the layers of a
 * series mean nothing and are not checked. After BLOOMFILE_EBODY, which concerns no single page,
 * and after BLOOMFILE_ECHANGED, every lookup does.
 *
 *   threads  to work with, at most 1024. 0 or 1: the caller's alone. The result does not depend on
 *            their number. Any of them may get SIGBUS (see bloomfile.h).
 *   fault    describes the first fault, or the error; may be NULL.
 *
 * Returns 0 or one of
 *   BLOOMFILE_EPAGE     a page is damaged
 *   BLOOMFILE_EBODY     the body contradicts the header
 *   BLOOMFILE_ECHANGED  the file was written to while it was open, as by bloomfile_check()
 *   BLOOMFILE_ELIVE     the filter is live: nothing is checked
 *   BLOOMFILE_EVALUE    threads: nothing is checked */
BLOOMFILE_API int bloomfile_verify(const bloomfile_filter *f, unsigned threads,
                                   struct bloomfile_fault *fault);

/* Decodes and checks the header of an image, whole or damaged; never reads the body.
 *   bytes   the start of the image; only the first min(size, 4096) bytes are touched.
 *   size    of the whole image, in bytes.
 *   info    receives the values in the bytes, right or wrong, and zero beyond the last byte; may be
 *           NULL. Set its struct_size first.
 *   faults  receives up to *count faults, in the order of the checks. faults and count may both be
 *           NULL.
 *   count   in: room in faults[]. Out: the number of all faults.
 *
 * Returns 0 or the first fault's error. bloomfile_open_with() without expectations would return the
 * same error, except for BLOOMFILE_ELIVE, _EPOISONED and _EUNCLEAN (not faults of the bytes), and
 * for faults of later layers of a series. Returns BLOOMFILE_ESTRUCTSIZE if no version has the
 * struct_size of *info; nothing is filled then. */
BLOOMFILE_API int bloomfile_inspect(const void *bytes, uint64_t size, struct bloomfile_info *info,
                                    struct bloomfile_fault *faults, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
