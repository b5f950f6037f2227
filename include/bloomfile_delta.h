/* SPDX-License-Identifier: MIT
 *
 * bloomfile: patches
 *
 * A patch turns one sealed filter, the base, into another, the result, of the same layout, m, k,
 * seed and hash: yesterday's build into today's. The result comes out byte for byte, header
 * included. A patch needs some tens of bits for each key added or removed. Build filters that are
 * to be patched with `bits` and `hashes` given, so that their shape stays. The layers of a series
 * (bloomfile_live.h) keep their shape: two sealed copies of it with equally many layers have a
 * patch, layer by layer.
 *
 * The patch names base and result by their checksums. Another base, a damaged base and a damaged
 * patch are refused, and a result with other checksums is never published.
 * A patch protects from accidents: sign it, or the result, against people. Its bytes are defined in
 * doc/format/patches.md, and do not depend on the number of threads.
 *
 * The result may replace its base, as of bloomfile_copy_sealed(): programs that have the base open
 * keep the old file. Each filter may be a file or an embedded image. A result has the form of its
 * base in every destination. threads: 0 or 1: the calling thread only; at most 1024. A thread
 * takes up to 3 MiB; making takes two more bytes for each page of 4096. A patch or a result in
 * memory takes its size twice while it is written.
 */
#ifndef BLOOMFILE_PUBLIC_DELTA_H
#define BLOOMFILE_PUBLIC_DELTA_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the patch from `base` to `result`.
 * Errors: BLOOMFILE_ELIVE; BLOOMFILE_EISRIBBON; BLOOMFILE_EDIFFERENTLAYOUT, _EDIFFERENTHASH,
 * _EDIFFERENTHASHCOUNT, _EDIFFERENTSEED, _EDIFFERENTBITS, _EDIFFERENTFORM; those of
 * bloomfile_copy_sealed(), and bloomfile_check() tells which filter is damaged; BLOOMFILE_EVALUE
 * for threads. */
BLOOMFILE_API int bloomfile_delta(struct bloomfile_destination *to, const bloomfile_filter *base,
                                  const bloomfile_filter *result, unsigned threads);

/* Writes the result of a patch.
 *   patch  is read in order up to its end, which must be that of the source. A descriptor with
 *          BLOOMFILE_FROM_HERE and _FROM_REST may be a pipe.
 * Nothing is written before the base was found to be the right one.
 * Errors: BLOOMFILE_EDIFFERENTBASE; BLOOMFILE_EPATCH; of the patch also _EVERSION, _EFEATURE,
 * _ELAYOUT, _ETRUNCATED, _ETRAILING and those of open and read; BLOOMFILE_ELIVE; those of
 * bloomfile_copy_sealed(); BLOOMFILE_EVALUE for threads. */
BLOOMFILE_API int bloomfile_patch(struct bloomfile_destination *to, const bloomfile_filter *base,
                                  const struct bloomfile_source *patch, unsigned threads);

/* What a patch says of itself. base_header and result_header are CRC-32s of the three checksums of
 * a header, base_body and result_body are bloomfile_info.body_crc. */
struct bloomfile_patch_info {
    size_t struct_size;
    uint32_t version;
    uint32_t layout; /* enum bloomfile_layout, of base and result */
    uint32_t base_header, base_body;
    uint32_t result_header, result_body;
    uint64_t body_size;     /* bytes, of base and result, of all layers together */
    uint64_t patch_size;    /* bytes */
    uint64_t parts;         /* that can be applied side by side */
    uint64_t changed_pages; /* that these parts cover, of 4096 bytes */
    uint32_t layers;        /* of a series, whose first layers the checksums name; 0: one filter */
    uint32_t reserved;      /* 0 */
};
#define BLOOMFILE_PATCH_INFO_INIT BLOOMFILE_INIT_(struct bloomfile_patch_info)

/* Reads all of a patch, as bloomfile_patch() does, and checks all that can be checked without its
 * base. Errors: those of the patch, as above; ENOMEM; BLOOMFILE_ESTRUCTSIZE. */
BLOOMFILE_API int bloomfile_get_patch_info(const struct bloomfile_source *patch,
                                           struct bloomfile_patch_info *info);

#ifdef __cplusplus
}
#endif

#endif
