/* SPDX-License-Identifier: MIT
 *
 * bloomfile: patches
 *
 * A patch turns one sealed filter, the base, into another, the result, of the same layout, m, k,
 * seed and hash: what a build of today changes in that of yesterday. The result comes out byte for
 * byte, header included. A patch has little more bytes than what changed must have, some tens of
 * bits for each key added or removed; filters that are to be patched are built with `bits` and
 * `hashes` given, so that their shape stays. So do the layers of a series (bloomfile_live.h) that
 * has got keys, but no further layer: two of its sealed copies have a patch, layer by layer.
 *
 * The patch names both by their checksums. A base that is another one, or damaged, is refused, and
 * so is a patch that is damaged; a result that is not the one it names is never published.
 * A patch protects from accidents: sign it, or the result, against people. Its bytes are defined in
 * doc/format/patches.md, and do not depend on the number of threads.
 *
 * Files appear as with bloomfile_builder_finish(), and the result may replace its base, as of
 * bloomfile_seal_to(): programs that have the base open keep the old file. Functions that end in
 * _fd write to a descriptor, as bloomfile_builder_finish_fd(), by way of a temporary file in the
 * folder `spool` (NULL: $TMPDIR, or /tmp). Each filter may be a file or an embedded image; a result
 * has the form of its base. threads: 0 or 1: the calling thread only; at most 1024. A thread takes
 * up to 3 MiB; making takes two more bytes for each page of 4096.
 */
#ifndef BLOOMFILE_PUBLIC_DELTA_H
#define BLOOMFILE_PUBLIC_DELTA_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the patch from `base` to `result` to a file; flags as bloomfile_builder_finish().
 * Errors: BLOOMFILE_ELIVE; BLOOMFILE_EISRIBBON; BLOOMFILE_EDIFFERENTLAYOUT, _EDIFFERENTHASH,
 * _EDIFFERENTHASHCOUNT, _EDIFFERENTSEED, _EDIFFERENTBITS, _EDIFFERENTFORM; those of
 * bloomfile_seal_to(), and bloomfile_status() tells which filter is damaged; BLOOMFILE_EPARAMS for
 * threads. */
BLOOMFILE_API int bloomfile_delta(const char *path, const bloomfile_filter *base,
                                  const bloomfile_filter *result, unsigned threads, unsigned flags);
BLOOMFILE_API int bloomfile_delta_fd(int fd, const bloomfile_filter *base,
                                     const bloomfile_filter *result, unsigned threads,
                                     const char *spool);

/* Writes the result of a patch, which is read from the descriptor `patch` (a pipe will do), from
 * where it stands to the end. Nothing is written before the base was found to be the right one.
 * Errors: BLOOMFILE_EDIFFERENTBASE; BLOOMFILE_EPATCH; of the patch also _EVERSION, _EFEATURE,
 * _ELAYOUT, _ETRUNCATED, _ETRAILING and those of read; BLOOMFILE_ELIVE; those of
 * bloomfile_seal_to(); BLOOMFILE_EPARAMS for threads. */
BLOOMFILE_API int bloomfile_patch(const char *path, const bloomfile_filter *base, int patch,
                                  unsigned threads, unsigned flags);
BLOOMFILE_API int bloomfile_patch_fd(int fd, const bloomfile_filter *base, int patch,
                                     unsigned threads, const char *spool);

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
 * base. Errors: those of the patch, as above; ENOMEM; BLOOMFILE_EPARAMS (struct_size). */
BLOOMFILE_API int bloomfile_get_patch_info(int patch, struct bloomfile_patch_info *info);

#ifdef __cplusplus
}
#endif

#endif
