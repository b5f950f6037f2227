/* SPDX-License-Identifier: MIT
 *
 * Sizes and rates: from (layout, m, header size) to places in the image, and between keys, bits,
 * hashes and false-positive rates. The only file with floating point.
 *
 * Sizes are computed with + - * / alone, in a fixed order, so that every machine builds the same
 * filter from the same keys.
 */
#ifndef BLOOMFILE_GEOMETRY_H
#define BLOOMFILE_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#define GEOMETRY_FILE_HEADER     4096u
#define GEOMETRY_EMBEDDED_HEADER 512u
#define GEOMETRY_MAX_CAPACITY    (1ULL << 60)
#define GEOMETRY_DEFAULT_FPR     0.01

/* Where things are in an image; every size fits in 63 bits. */
struct geometry {
    uint64_t units;      /* blocks, bits or counters: what the first reduction ranges over */
    uint64_t need;       /* bytes of body that m uses */
    uint64_t body_size;  /* bytes of body stored: need, and zeros up to the form's granularity */
    uint64_t pages;      /* of 4096 bytes in the body */
    uint64_t image_size; /* header, body, page checksums */
};

bool geometry_layout_known(uint32_t layout);

/* m within the limits, and a multiple of 512 if blocked. The layout is known. */
bool geometry_bits_valid(uint32_t layout, uint64_t m);

/* For a known layout, valid m, and a header size of 4096 or 512. */
struct geometry geometry_of(uint32_t layout, uint64_t m, uint32_t header_size);

/* The least m, rounded up for folding, that keeps rate p for n keys. *k 0: set to the best one.
 * 0 if there is none. Arguments are in range: n 1 to 2^60, 0 < p < 1, *k at most 64. */
uint64_t geometry_size(uint32_t layout, uint64_t n, double p, uint32_t *k);

/* The real rate of a body: `ones` of m, or for blocked how many blocks have how many ones. */
double geometry_measured_fpr(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones,
                             const uint64_t blocks[513]);

/* n estimated from the ones (Swamidass & Baldi 2007; for blocked, averaged over the keys of a
 * block). Infinite if all bits are one. */
double geometry_estimated_keys(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones);

#endif
