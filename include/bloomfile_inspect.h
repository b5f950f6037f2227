/* SPDX-License-Identifier: MIT
 *
 * bloomfile: planning sizes, and what a filter is and holds
 */
#ifndef BLOOMFILE_PUBLIC_INSPECT_H
#define BLOOMFILE_PUBLIC_INSPECT_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------ sizing */

/* The size of a filter. Members that are 0 are found, so a call may be repeated with its results.
 * A builder with these parameters finds the same. */
struct bloomfile_size {
    size_t struct_size;
    uint32_t layout; /* enum bloomfile_layout; 0: BLOOMFILE_LAYOUT_BLOCKED */
    uint32_t hashes; /* k, up to BLOOMFILE_MAX_HASHES; 0: the best. Ribbon: always 0 */
    uint64_t keys;   /* n, distinct keys, up to 2^60 without `bits`; 0: as many as keep `fpr` */
    uint64_t bits;   /* m, or counters; 0: the fewest that keep `fpr` for `keys` */
    double fpr;      /* in: the target, in (0, 1); 0: 0.01. Out: the expected rate */

    uint32_t want_spread; /* 1: compute `spread` too; takes three times as long */
    uint32_t reserved;    /* 0 */
    double spread;        /* out: how far rates of single filters scatter; ribbon: NaN */
    uint64_t file_size;   /* out: bytes of a file */
    uint64_t image_size;  /* out: bytes of an embedded image (in memory, or in another file) */
};
#define BLOOMFILE_SIZE_INIT BLOOMFILE_INIT_(struct bloomfile_size)

/* Finds the size of a filter before it is made.
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
 * The expected rate is a mean: over how many keys fall into a block, in the layout blocked, and
 * into a page, in ribbon. The classic formula gives 0.86% where 1% is true. Every rate is at least
 * n / 2^64, since digests have 64 bits. Ribbon: never below 2^-32; a target above 0.24 gets the
 * size of 0.24; `bits` is that of an embedded image, and a file has the next multiple of 32768.
 * Rates that differ by less than one part in 2^26 are equal. Every machine finds the same sizes.
 *
 * `spread` is the standard deviation of the rate among filters with different seeds, divided by the
 * mean. It is 0.1 in the layout blocked for 450 keys at 1e-2, 7e3 at 1e-4, 7e4 at 1e-6 and 2.5e6 at
 * 1e-9, since few crowded blocks make up low rates; 0.02 in classic for 1e4 keys at any rate. Such
 * rates are about log-normal: half of the filters with 300 keys at 1e-9 are below a quarter of the
 * mean, one of twelve is above twice the mean.
 *
 * Takes 10 us to 10 ms, most for low rates. A program that makes many filters of one size calls it
 * once, and passes bits and hashes on. Returns 0 or one of
 *   BLOOMFILE_ESTRUCTSIZE    no version has that struct_size
 *   BLOOMFILE_EVALUE         a member is out of range, or `keys` and `bits` are both 0;
 *                            bloomfile_invalid() names the member
 *   BLOOMFILE_EUNREACHABLE   no size up to BLOOMFILE_MAX_BITS keeps the rate, as for a rate of
 *                            n / 2^64 or less */
BLOOMFILE_API int bloomfile_size_for(struct bloomfile_size *size);

/* -------------------------------------------------------------------------------- inspecting */

enum bloomfile_state {
    BLOOMFILE_STATE_LIVE = 1,     /* writable, body not checksummed */
    BLOOMFILE_STATE_SEALED = 2,   /* immutable, checksummed */
    BLOOMFILE_STATE_POISONED = 3, /* a sync failed while it was live */
};

/* The header's contents. O(1): nothing here is computed from the body. Of a live filter the commit
 * record is read anew each time. */
struct bloomfile_info {
    size_t struct_size;
    uint32_t version;     /* of the format */
    uint32_t header_size; /* 4096 in a file, 512 in an embedded image */
    uint32_t compat;      /* feature words */
    uint32_t ro_compat;
    uint32_t incompat;
    uint32_t provenance;    /* BLOOMFILE_PROVENANCE_* */
    uint32_t layout;        /* enum bloomfile_layout; any number in a header that is not valid */
    uint32_t hash_id;       /* 1: XXH3, 64 bits; others: bloomfile.h */
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
    double fpr;              /* the rate it was sized for; 0: none recorded */
    uint64_t sequence;       /* of the commit record in force */
    uint64_t keys;           /* n: distinct keys; live or once so: adds that were new */
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
    uint32_t writers;    /* live files: handles open for writing, and those killed while the
                            others went on */
    uint32_t key_kind;   /* enum bloomfile_key_kind, or a number of a later version */
    uint32_t key_size;   /* BLOOMFILE_KEYS_FIXED: bytes of each key; else 0 in this version */
    /* Of a series; 0 if it is none. Sizes and counts are the sums of its layers, `hashes` and
     * `layer` those of the newest. */
    uint32_t layers;      /* there are now */
    uint32_t generations; /* live: that it remembers; 0: it grows */
    uint64_t layer;       /* number of the layer, from 0 */
    uint64_t rest_size;   /* sealed: bytes of this layer and of all behind it */
    uint64_t series;      /* live: its identity */
    double series_fpr;    /* the rate that all layers keep together; 0: none recorded */
    uint64_t period;      /* seconds that a generation lasts at most; 0: until it is full */
    uint64_t began;       /* with a period: when the layer was made, seconds since 1970 */
    /* Of a slice (bloomfile_combine.h); 0 if it is none. capacity is that of the whole filter. */
    uint64_t first_block;  /* of the whole filter that is the slice's first */
    uint64_t whole_blocks; /* of the whole filter, of 512 bits each */
    /* Of a slice: the keys it was made from, repetitions included. */
    uint64_t keys_read;      /* how many, those of other slices too */
    uint64_t keys_elsewhere; /* how many belong to other slices; they were left out */
    uint64_t digest_sum;     /* of the digests of all keys read, modulo 2^64 */
    /* The cost of this handle, for example for the charge in a block cache; of a series, of all its
     * layers. A cache charges heap_size, and with BLOOMFILE_OPEN_COPY mapped_size too: else mapped
     * pages belong to the file, and the kernel takes them back as it needs. */
    uint64_t heap_size;   /* bytes from malloc() */
    uint64_t mapped_size; /* bytes of address space that are mapped, in whole pages */
    uint32_t mappings;    /* at most */
    uint32_t descriptors;
};
#define BLOOMFILE_INFO_INIT BLOOMFILE_INIT_(struct bloomfile_info)

/* Fills *info, up to info->struct_size bytes. Error: BLOOMFILE_ESTRUCTSIZE. */
BLOOMFILE_API int bloomfile_get_info(const bloomfile_filter *f, struct bloomfile_info *info);

/* Whether keys of a kind may be looked up in a filter, and added to it. With keys of another kind,
 * "no" would be the answer to keys that are in the set. A program with typed keys calls this first:
 * lookups and adds take bytes, and check nothing.
 *
 *   filter    from bloomfile_get_info(); only key_kind and key_size are read.
 *   key_kind  enum bloomfile_key_kind, but not BLOOMFILE_KEYS_UNKNOWN.
 *   key_size  of BLOOMFILE_KEYS_FIXED: bytes of each key. Of BLOOMFILE_KEYS_BYTES: bytes of the
 * key, or 0 if sizes differ. Of other kinds: 0.
 *
 *   filter      accepts
 *   unknown     all kinds
 *   text        text, bytes
 *   lower       text, bytes, lower; the caller replaces A to Z by a to z first
 *   integers    integers; fixed and bytes of 8 bytes
 *   fixed       fixed and bytes of its size
 *   bytes       text, fixed, bytes
 *
 * Returns 0 or one of
 *   BLOOMFILE_EKEYKIND  the filter does not accept such keys
 *   BLOOMFILE_EFEATURE  this version does not know what the filter's keys are
 *   BLOOMFILE_EVALUE    key_kind or key_size is out of range */
BLOOMFILE_API int bloomfile_keys_fit(const struct bloomfile_info *filter, uint32_t key_kind,
                                     uint64_t key_size);

/* bloomfile_layers() returns how many layers a series has at the moment, 0 if the filter is not a
 * series. bloomfile_layer() returns layer i, the oldest being 0; NULL if there is no such layer. It
 * is for the functions of this header: as it has only some of the series' keys, every lookup in it,
 * pinned or not, answers "maybe". Do not close it. It is valid until the handle of the series is
 * closed; if the series forgets, until any thread uses that handle for anything but inspecting. */
BLOOMFILE_API size_t bloomfile_layers(const bloomfile_filter *f);
BLOOMFILE_API const bloomfile_filter *bloomfile_layer(const bloomfile_filter *f, size_t i);

/* What the bits themselves say. Reads the whole body. */
struct bloomfile_measurement {
    size_t struct_size;
    uint64_t ones;        /* bits that are one; counting: counters above 0 */
    double fill;          /* ones / m; ribbon: about 0.5, and says nothing */
    double fpr;           /* the real false-positive rate of these bits, exactly */
    double keys_estimate; /* n, from the ones (Swamidass & Baldi 2007); infinite if full.
                             ribbon: the sum of what the heads of the pages say */
};
#define BLOOMFILE_MEASUREMENT_INIT BLOOMFILE_INIT_(struct bloomfile_measurement)

/* Computes *out from the body. The rate is exact for this body and keys never added: for blocked
 * the mean over blocks of (ones in the block / 512)^k, for classic and counting (ones / m)^k, for
 * ribbon the mean over lines of 2^-(columns that a lookup there tests). Damage is not looked for.
 * Error: BLOOMFILE_ESTRUCTSIZE. */
BLOOMFILE_API int bloomfile_measure(const bloomfile_filter *f, struct bloomfile_measurement *out);

/* One thing that is wrong with a file. */
struct bloomfile_fault {
    int error;            /* BLOOMFILE_E* */
    uint64_t offset;      /* of the first byte concerned, from the start of the image or series */
    uint64_t page;        /* BLOOMFILE_EPAGE: the page's number, from 0; else UINT64_MAX */
    const char *field;    /* its name in format-spec.md ("k", "record 0", "page", "head"); static */
    uint64_t layer;       /* bloomfile_verify() of a series: the layer's number, from 0; else 0 */
    uint64_t reserved[3]; /* 0 */
};

/* Reads and checks the whole body: page checksums, body checksum, counts, padding. Pages that were
 * found good before are checked again, and lookups may go on in other threads. Damage becomes the
 * sticky error, and *fault (may be NULL) tells the first. From then on damaged pages answer
 * "maybe"; after BLOOMFILE_EBODY, which no page can be blamed for, and BLOOMFILE_ECHANGED every
 * lookup does.
 * threads: to work with, at most 1024; 0 or 1: the caller's alone. What is found does not depend on
 * them. SIGBUS (see bloomfile.h) may come in any of them.
 * Errors: BLOOMFILE_EPAGE, _EBODY, _ECHANGED (as bloomfile_check()); BLOOMFILE_ELIVE if the filter
 * is live, BLOOMFILE_EVALUE (threads), and nothing is checked. *fault tells each of them. */
BLOOMFILE_API int bloomfile_verify(const bloomfile_filter *f, unsigned threads,
                                   struct bloomfile_fault *fault);

/* Decodes and checks the header of an image, whole or damaged; never reads the body. `size` is the
 * image's size; only the first min(size, 4096) bytes are touched. Fills *info (may be NULL) with
 * what the bytes say, right or wrong; zero where there are no bytes. Fills up to *count faults, in
 * the order of the checks, and sets *count to how many there are in all (faults and count may both
 * be NULL). Returns BLOOMFILE_ESTRUCTSIZE, and nothing is filled; or the first fault's
 * error, which is what bloomfile_open_with() would return without expectations, but for
 * BLOOMFILE_ELIVE and _EPOISONED (not faults of the bytes), or 0. */
BLOOMFILE_API int bloomfile_inspect(const void *bytes, uint64_t size, struct bloomfile_info *info,
                                    struct bloomfile_fault *faults, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
