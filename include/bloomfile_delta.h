/* SPDX-License-Identifier: MIT
 *
 * bloomfile: patches
 *
 * A patch turns one sealed filter (the base) into another (the result), for example yesterday's
 * build into today's. Both have the same layout, m, k, seed and hash. The result is the same byte
 * for byte, header included. A patch needs some tens of bits for each key added or removed. Build
 * filters that are to be patched with `bits` and `hashes` given, so that their shape stays. The
 * layers of a series (bloomfile_live.h) keep their shape: two sealed copies of it with equally many
 * layers have a patch, layer by layer.
 *
 * The patch names base and result by their checksums. A wrong or damaged base and a damaged patch
 * are refused, and a result with other checksums is never published. This protects from accidents,
 * not from attackers: against them, sign the patch or the result. doc/format/patches.md defines the
 * bytes of a patch, which do not depend on the number of threads.
 *
 * The result may replace its base, with the checks of bloomfile_copy_sealed(): programs that have
 * the base open keep the old file. Each filter may be a file or an embedded image. A result has the
 * form of its base in every destination.
 *
 * Memory. A thread takes up to 3 MiB; making a patch takes two more bytes for each page of 4096. A
 * patch or a result in memory takes its size twice while it is written.
 */
#ifndef BLOOMFILE_PUBLIC_DELTA_H
#define BLOOMFILE_PUBLIC_DELTA_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the patch from `base` to `result`.
 *   to       receives the patch.
 *   base     the sealed filter that the patch will be applied to.
 *   result   the sealed filter that it will make.
 *   threads  to work with, at most 1024. 0 or 1: the calling thread only.
 * Errors: an errno; those of the destination (bloomfile_io.h); BLOOMFILE_ELIVE, _EISRIBBON,
 * _EISSERIES (a layer from bloomfile_layer()), _EVALUE (threads), _ETOOBIG. If the filters differ:
 * BLOOMFILE_EDIFFERENTLAYOUT, _EDIFFERENTHASH, _EDIFFERENTHASHCOUNT, _EDIFFERENTSEED,
 * _EDIFFERENTBITS (also other slices, or another number of layers), _EDIFFERENTFORM. If a filter is
 * damaged: BLOOMFILE_EPAGE, _EBODY, _ECHANGED; bloomfile_check() shows which filter. */
BLOOMFILE_API int bloomfile_delta(struct bloomfile_destination *to, const bloomfile_filter *base,
                                  const bloomfile_filter *result, unsigned threads);

/* Applies a patch and writes the result. Checks first that the base is the one of the patch.
 *   to       receives the result.
 *   base     the sealed filter that the patch was made from.
 *   patch    is read in order up to its end, which must be the end of the source. A descriptor with
 *            BLOOMFILE_FROM_HERE and BLOOMFILE_FROM_REST may be a pipe.
 *   threads  to work with, at most 1024. 0 or 1: the calling thread only.
 * Errors: an errno; those of the destination and the source (bloomfile_io.h). If the patch is bad:
 * BLOOMFILE_EPATCH, _EVERSION, _EFEATURE, _ELAYOUT, _ETRUNCATED (it ends too early), _ETRAILING
 * (bytes after its end), _ENOTREGULAR (its path). If the base is: BLOOMFILE_EDIFFERENTBASE, _ELIVE,
 * _EISRIBBON, _EISSERIES (a layer from bloomfile_layer()), _EPAGE, _EBODY, _ECHANGED. Also
 * BLOOMFILE_EREPLACED, as for bloomfile_copy_sealed(); _EVALUE (threads); _ETOOBIG. */
BLOOMFILE_API int bloomfile_patch(struct bloomfile_destination *to, const bloomfile_filter *base,
                                  const struct bloomfile_source *patch, unsigned threads);

/* The contents of a patch. base_header and result_header are CRC-32s of the three checksums of a
 * header; base_body and result_body are bloomfile_info.body_crc. */
struct bloomfile_patch_info {
    size_t struct_size;
    uint32_t version;
    uint32_t layout; /* enum bloomfile_layout, of base and result */
    uint32_t base_header, base_body;
    uint32_t result_header, result_body;
    uint64_t body_size;     /* bytes, of base and result, of all layers together */
    uint64_t patch_size;    /* bytes */
    uint64_t parts;         /* that can be applied in parallel */
    uint64_t changed_pages; /* pages of 4096 bytes that these parts cover */
    uint32_t layers;        /* of a series (the checksums are those of its first layer); else 0 */
    uint32_t reserved;      /* 0 */
};
#define BLOOMFILE_PATCH_INFO_INIT BLOOMFILE_INIT_(struct bloomfile_patch_info)

/* Reads a whole patch, as bloomfile_patch() does, and checks all that can be checked without its
 * base. Errors: an errno; those of the source (bloomfile_io.h); BLOOMFILE_EPATCH, _EVERSION,
 * _EFEATURE, _ELAYOUT, _ETRUNCATED, _ETRAILING, _ENOTREGULAR, as for bloomfile_patch();
 * _ESTRUCTSIZE (info). *info is then unchanged. */
BLOOMFILE_API int bloomfile_get_patch_info(const struct bloomfile_source *patch,
                                           struct bloomfile_patch_info *info);

#ifdef __cplusplus
}
#endif

#endif
