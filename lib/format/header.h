/* SPDX-License-Identifier: MIT
 * Encoding and decoding of headers (format-spec.md, sections 6 and 7), and of the trailer of the
 * compact form.
 */
#ifndef BLOOMFILE_FORMAT_HEADER_H
#define BLOOMFILE_FORMAT_HEADER_H

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_view.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/bytes.h"
#include "format/layout.h"

/* For functions that run once for each file: a read-only build compiles them for size. */
#ifdef BLOOMFILE_NO_BUILD
#define ONCE_A_FILE __attribute__((cold))
#else
#define ONCE_A_FILE
#endif

/* ---- lists of the fields (format-spec.md, sections 6 and 7; doc/format/slices.md)
 *
 * These lists define struct header and struct record, their encoding and decoding, and
 * bloomfile_fields(), by which bfinspect prints a header as text, as JSON and as a hexdump. A row
 * has the offset, the size, the name, the type of the member, and the kind of the field (enum
 * bloomfile_field_kind, without the prefix). The checksums at the end of the static header and of a
 * record are not in the lists, because their offsets depend on the size of the header. */

typedef uint8_t bytes8[8], bytes16[16], bytes32[32];
typedef char label_text[BLOOMFILE_MAX_LABEL + 1]; /* with a terminating zero byte */

/* Fields of the static header. */
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
    X(44, 4, key_kind, uint32_t, KEY_KIND)                                                         \
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

/* More fields of the static header of a layer (HEADER_INCOMPAT_LAYER): slices.md 2. */
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

/* More fields of the static header of a slice (HEADER_INCOMPAT_SLICE): slices.md 1. */
#define SLICE_FIELDS(X)                                                                            \
    X(240, 8, first_block, uint64_t, NUMBER)                                                       \
    X(248, 8, whole_blocks, uint64_t, NUMBER)                                                      \
    X(256, 8, keys_read, uint64_t, NUMBER)                                                         \
    X(264, 8, keys_elsewhere, uint64_t, NUMBER)                                                    \
    X(272, 8, digest_sum, uint64_t, HEX)

/* Fields of a commit record. */
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
    X(64, 4, writers, uint32_t, NUMBER)                                                            \
    X(72, 32, watermark, bytes32, BYTES)

/* A field of the records of a file. An embedded image is always sealed, and has no identity. */
#define RECORD_FILE_FIELDS(X) X(128, 16, identity, bytes16, BYTES)

#define FIELD_MEMBER(offset, size, name, type, kind)  type name;
#define FIELD_OFFSET(offset, size, name, type, kind)  AT_##name = (offset),
#define RECORD_OFFSET(offset, size, name, type, kind) RECORD_AT_##name = (offset),

/* Offsets: AT_k of k in an image, RECORD_AT_n of n in a record. */
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
    RECORD_FIELDS(RECORD_OFFSET) RECORD_FILE_FIELDS(RECORD_OFFSET)
};

/* ---- the header */

#define HEADER_MAX             GEOMETRY_FILE_HEADER
#define HEADER_VERSION         1u
#define HEADER_SEALED_SEQUENCE UINT64_MAX
#define HEADER_RECORD_MAX      (HEADER_MAX / 4)

#ifndef HEADER_TRIES     /* fuzzers define it as less: no other process writes their files */
#define HEADER_TRIES 100 /* attempts to read a record, which looks damaged during a write */
#endif

/* Bits of `flags`. */
#define RECORD_N_ESTIMATED 1u
#define RECORD_SYNC_BEGUN  2u
#define RECORD_SUCCEEDED   4u /* the layer has a successor */

#define HEADER_COMPAT_KEYS 1u /* bit of `compat`: the header has a key_kind */

#define HEADER_MOST_LAYERS    1000u
#define HEADER_INCOMPAT_LAYER 1u /* bit of `incompat`: the image is a layer of a series */
#define HEADER_INCOMPAT_SLICE 2u /* bit of `incompat`: the image is a slice of a filter */

/* The members are the fields above. Fields of layers and of slices are 0 in other images. A boot_id
 * of zeros means clean. The upper 24 bits of a key_kind are the key size; a key_kind of 0 means
 * unknown. */
struct record {
    RECORD_FIELDS(FIELD_MEMBER)
    RECORD_FILE_FIELDS(FIELD_MEMBER)
};

struct header {
    HEADER_FIELDS(FIELD_MEMBER)
    SERIES_FIELDS(FIELD_MEMBER)
    SLICE_FIELDS(FIELD_MEMBER)
    uint32_t crc;         /* checksum of the static header */
    struct record record; /* the record in force; its state is "poisoned" if either record is,
                             unless it is sealed */
    unsigned in_force;    /* the slot of the record in force, 0 or 1 */
    bool other_intact, records_identical;
    bool identities_differ; /* both records are intact, but of different live files */
};

/* The faults found, in the order of the rules. Faults beyond `room` are counted but not listed. */
struct header_faults {
    struct bloomfile_fault *list;
    size_t room, count;
    int first;      /* error of the first fault, or 0 if the header is valid */
    bool xxh3_only; /* report an application's hash as a fault (V10) */
};

/* Adds a fault: of the field at that offset, or of the named part of the image. */
ONCE_A_FILE void header_fault(struct header_faults *faults, int error, uint64_t offset,
                              const char *field);
#define HEADER_FAULT(error, name) header_fault(faults, error, AT_##name, #name)

#define HEADER_FPR_LIMIT 0x3FF0000000000000u /* bits of 1.0: every valid rate is below */

extern const uint8_t header_magic[8];

/* Decode the fields of one part of the header, without checks. */
void header_read_static(const uint8_t *bytes, struct header *to);
void header_read_layer(const uint8_t *bytes, struct header *to);
void header_read_slice(const uint8_t *bytes, struct header *to);
void header_read_record(const uint8_t *bytes, uint32_t header_size, struct record *to);

/* Writes the h->header_size bytes of an image's header, with h->record in both slots if it is
 * sealed and in slot 0 if it is live. Sets h->magic and h->crc. */
void header_encode(struct header *h, uint8_t *bytes);

/* Returns whether this library knows the kind of this key_kind, and the key size is possible for
 * it. */
bool header_keys_known(uint32_t key_kind);

/* Checks whether filters of two kinds of keys can be merged. Returns 0, BLOOMFILE_EKEYKIND or
 * BLOOMFILE_EFEATURE. */
int header_compare_keys(uint32_t key_kind, uint32_t other);

/* Offset and size of a record. */
uint32_t header_record_size(const struct header *h);
uint32_t header_record_offset(const struct header *h, unsigned slot);

/* Writes a record, with the checksum of the static header of *h. Copies the reserved bytes from the
 * record at `kept`; if that is NULL, they are zero. */
void header_encode_record(const struct header *h, const struct record *r, const uint8_t *kept,
                          uint8_t *at);

/* Returns whether the header of an image still equals the header that was decoded to *h: the static
 * part and, if sealed, the record that was in force. */
bool header_is_still(const struct header *h, const uint8_t *image);

/* The state in a record of an image that is or was live: 4 bytes, little-endian. */
static inline const uint8_t *header_state(const uint8_t *image, unsigned slot)
{
    return image + HEADER_MAX / 2 + slot * HEADER_RECORD_MAX + RECORD_AT_state;
}

/* The sequence in such a record: 8 bytes, little-endian. Each new record gets a sequence that
 * differs from those of both old records. */
static inline const uint8_t *header_sequence(const uint8_t *image, unsigned slot)
{
    return image + HEADER_MAX / 2 + slot * HEADER_RECORD_MAX + RECORD_AT_sequence;
}

/* The identity in such a record: 16 bytes. */
static inline const uint8_t *header_identity(const uint8_t *image, unsigned slot)
{
    return image + HEADER_MAX / 2 + slot * HEADER_RECORD_MAX + RECORD_AT_identity;
}

/* Returns whether a record of a live layer, intact or not, has RECORD_SUCCEEDED. */
static inline bool header_has_successor(const uint8_t *image)
{
    const uint8_t *flags[2];
    for (unsigned slot = 0; slot < 2; slot++)
        flags[slot] = image + HEADER_MAX / 2 + slot * HEADER_RECORD_MAX + RECORD_AT_flags;
    return ((shared_load32(flags[0]) | shared_load32(flags[1])) & RECORD_SUCCEEDED) != 0;
}

/* Returns whether both records belong to the same live file, or to sealed files. */
static inline bool header_same_identity(const struct record *a, const struct record *b)
{
    return memcmp(a->identity, b->identity, sizeof a->identity) == 0;
}

/* Returns whether the last writer of a live image closed it cleanly, or no writer has opened it
 * yet. */
static inline bool header_is_clean(const struct record *r)
{
    static const uint8_t zero[sizeof r->boot_id];
    return memcmp(r->boot_id, zero, sizeof zero) == 0;
}

static inline bool header_is_layer(const struct header *h)
{
    return (h->incompat & HEADER_INCOMPAT_LAYER) != 0;
}

static inline bool header_is_slice(const struct header *h)
{
    return (h->incompat & HEADER_INCOMPAT_SLICE) != 0;
}

/* Returns whether a generation has ended at time `now` (doc/format/live.md 9.4): its period is
 * over, or the clock was ahead when it began. */
static inline bool header_is_over(const struct header *h, uint64_t now)
{
    const uint64_t tenth = h->period / 10 + (h->period % 10 != 0);
    return now < h->began ? h->began - now > tenth : now - h->began >= h->period;
}

/* Returns whether both are whole filters, or both the same slice of filters of equal size. */
static inline bool header_same_place(const struct header *a, const struct header *b)
{
    return a->first_block == b->first_block && a->whole_blocks == b->whole_blocks;
}

/* The range of a digest's first reduction: the units of the whole filter. */
static inline uint64_t header_range(const struct header *h)
{
    return header_is_slice(h) ? h->whole_blocks : geometry_units_of(h->layout, h->m);
}

/* Returns 0 if the image is a whole filter, or the error of functions that need a whole filter. */
static inline int header_refuse_partial(const struct header *h)
{
    return header_is_layer(h) ? BLOOMFILE_EISSERIES : header_is_slice(h) ? BLOOMFILE_EISSLICE : 0;
}

/* The distance in bytes from the start of a sealed layer to the start of the next layer. */
uint64_t header_layer_stride(const struct header *h);

/* The size of an image by its header, which must be valid; with all layers after a sealed layer. */
uint64_t header_whole_size(const struct header *h);

/* Returns whether a label is at most BLOOMFILE_MAX_LABEL bytes of UTF-8 without control
 * characters. */
bool header_label_valid(const char *label, size_t size);

/* ---- UTF-8 in labels */

/* Returns whether a text is well-formed UTF-8 (RFC 3629) without control characters (U+0000 to
 * U+001F, U+007F to U+009F). */
bool utf8_is_clean(const uint8_t *text, size_t size);

/* ---- the compact form: a body and a trailer of 8 bytes (doc/format/compact.md) */

struct compact_shape {
    uint32_t layout, hashes;
    uint64_t bits;
    size_t size; /* bytes of the body */
};

/* Writes the trailer after a body of shape->size bytes. */
void compact_encode(uint8_t *bytes, uint64_t seed, const struct compact_shape *shape);

/* Returns whether the checksum in the trailer is right for these bytes and this seed. */
bool compact_is_whole(const uint8_t *bytes, size_t size, uint64_t seed);

/* Decodes the shape in the trailer. Checks that the layout is known, but not that hashes, bits and
 * size agree. Returns 0, BLOOMFILE_ENOTCOMPACT, _EVERSION, _ELAYOUT or _EHASH. */
int compact_decode(const uint8_t *bytes, size_t size, struct compact_shape *shape);

#endif
