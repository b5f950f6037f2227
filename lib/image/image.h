/* SPDX-License-Identifier: MIT
 * A sealed image in memory: header, body, page checksums. */
#ifndef BLOOMFILE_IMAGE_H
#define BLOOMFILE_IMAGE_H

#include "format/header.h"
#include "kernel/kernel.h"

/* Computes the rest of *h from what describes the filter: header_size, layout, hash_id, k, framing,
 * m, seed, self_test, capacity, fpr, m_unfolded, provenance, tag, label. */
void image_describe(struct header *h);

/* Turns a record into that of a sealed image with this body; n and flags stay. */
void image_record(struct record *record, uint32_t body_crc, const struct kernel_tally *tally);

/* Turns the pages' CRC-32 into the entries of the table. */
void image_bind_checksums(uint8_t *table, uint64_t pages, uint32_t body_crc);

/* For a complete body, with h->record.n and .flags set: writes the page checksums behind it and
 * turns h->record into that of a sealed image. */
void image_sum(struct header *h, uint8_t *body);

/* After image_sum(), where writers' counts are missing (RECORD_N_ESTIMATED): sets n to the estimate
 * from the ones, which is closer. */
void image_estimate_keys(struct header *h);

/* The number of keys at which the rate of an image, whole or slice, is twice its target: fpr, or if
 * that is 0 the rate at its capacity. UINT64_MAX: it never is. How many keys of all are in a slice
 * is chance, which may add to that. */
uint64_t image_most_keys(const struct header *h);

/* Encodes the header and decodes it as any reader will. 0, or the error for which a reader would
 * refuse it. */
int image_encode(struct header *h, uint8_t *bytes);

#endif
