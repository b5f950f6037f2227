/* SPDX-License-Identifier: MIT
 *
 * The header's fields (format-spec.md, sections 4, 5, 21 and 23), in two lists. From these lists
 * come struct header and struct record, their encoding and decoding, and bloomfile_fields(), by
 * which bfinspect prints a header as text, as JSON and as a hexdump.
 *
 * A row: offset, size, name, type of the member, and how the bytes are read (enum
 * bloomfile_field_kind, without the prefix). The two checksums at the ends are not in the lists,
 * since their offsets depend on the header's size.
 */
#ifndef BLOOMFILE_FIELDS_H
#define BLOOMFILE_FIELDS_H

#include <bloomfile.h>

typedef uint8_t bytes8[8], bytes16[16];
typedef char label_text[BLOOMFILE_MAX_LABEL + 1]; /* with a zero byte behind it */

/* Of the static header. */
#define HEADER_FIELDS(X)                                                                           \
    X(0, 8, magic, bytes8, BYTES)                                                                  \
    X(8, 4, version, uint32_t, NUMBER)                                                             \
    X(12, 4, header_size, uint32_t, NUMBER)                                                        \
    X(16, 4, compat, uint32_t, NUMBER)                                                             \
    X(20, 4, ro_compat, uint32_t, NUMBER)                                                          \
    X(24, 4, incompat, uint32_t, NUMBER)                                                           \
    X(28, 4, provenance, uint32_t, NUMBER)                                                         \
    X(32, 4, layout, uint32_t, LAYOUT)                                                             \
    X(36, 4, hash_id, uint32_t, NUMBER)                                                            \
    X(40, 4, k, uint32_t, NUMBER)                                                                  \
    X(44, 4, framing, uint32_t, FRAMING)                                                           \
    X(48, 8, m, uint64_t, NUMBER)                                                                  \
    X(56, 8, seed, uint64_t, HEX)                                                                  \
    X(64, 8, self_test, uint64_t, HEX)                                                             \
    X(72, 8, body_offset, uint64_t, NUMBER)                                                        \
    X(80, 8, body_size, uint64_t, NUMBER)                                                          \
    X(88, 8, capacity, uint64_t, NUMBER)                                                           \
    X(96, 8, fpr, double, REAL)                                                                    \
    X(104, 8, m_unfolded, uint64_t, NUMBER)                                                        \
    X(112, 16, tag, bytes16, BYTES)                                                                \
    X(128, 112, label, label_text, TEXT)

/* Of the static header, too, if it is that of a layer (HEADER_INCOMPAT_LAYER): section 21. */
#define SERIES_FIELDS(X)                                                                           \
    X(240, 8, series, uint64_t, HEX)                                                               \
    X(248, 8, layer, uint64_t, NUMBER)                                                             \
    X(256, 4, generations, uint32_t, NUMBER)                                                       \
    X(260, 4, layers, uint32_t, NUMBER)                                                            \
    X(264, 8, rest_size, uint64_t, NUMBER)                                                         \
    X(272, 8, link, uint64_t, HEX)                                                                 \
    X(280, 8, series_fpr, double, REAL)                                                            \
    X(288, 8, period, uint64_t, NUMBER)                                                            \
    X(296, 8, began, uint64_t, NUMBER)

/* Or if it is that of a slice (HEADER_INCOMPAT_SLICE): section 23. */
#define SLICE_FIELDS(X)                                                                            \
    X(240, 8, first_block, uint64_t, NUMBER)                                                       \
    X(248, 8, whole_blocks, uint64_t, NUMBER)                                                      \
    X(256, 8, keys_read, uint64_t, NUMBER)                                                         \
    X(264, 8, keys_elsewhere, uint64_t, NUMBER)                                                    \
    X(272, 8, digest_sum, uint64_t, HEX)

/* Of a commit record. */
#define RECORD_FIELDS(X)                                                                           \
    X(0, 8, sequence, uint64_t, HEX)                                                               \
    X(8, 4, state, uint32_t, STATE)                                                                \
    X(12, 4, flags, uint32_t, NUMBER)                                                              \
    X(16, 8, n, uint64_t, NUMBER)                                                                  \
    X(24, 8, ones, uint64_t, NUMBER)                                                               \
    X(32, 8, overflow, uint64_t, NUMBER)                                                           \
    X(40, 16, boot_id, bytes16, BYTES)                                                             \
    X(56, 4, body_crc, uint32_t, HEX)                                                              \
    X(60, 4, header_crc, uint32_t, HEX)                                                            \
    X(64, 4, writers, uint32_t, NUMBER)

#define FIELD_MEMBER(offset, size, name, type, kind)  type name;
#define FIELD_OFFSET(offset, size, name, type, kind)  AT_##name = (offset),
#define RECORD_OFFSET(offset, size, name, type, kind) RECORD_AT_##name = (offset),

/* AT_k is where k is in an image, RECORD_AT_n where n is in a record. */
enum {
    HEADER_FIELDS(FIELD_OFFSET)
};
enum {
    SERIES_FIELDS(FIELD_OFFSET)
};
enum {
    SLICE_FIELDS(FIELD_OFFSET)
};
enum {
    RECORD_FIELDS(RECORD_OFFSET)
};

#endif
