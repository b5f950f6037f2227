/* SPDX-License-Identifier: MIT
 *
 * bloomfile - Bloom filters that live in files
 *
 *     bloomfile_filter *f;
 *     int error = bloomfile_open(&f, "urls.bloom", 0);
 *     if (error != 0)
 *         errx(2, "urls.bloom: %s", bloomfile_strerror(error));
 *     if (bloomfile_contains(f, key, size))
 *         look_it_up_on_disk(key, size); // maybe there; false: certainly not
 *     if (bloomfile_damage(f) != 0)
 *         warnx("urls.bloom: %s", bloomfile_strerror(bloomfile_damage(f)));
 *     bloomfile_close(f);
 *
 * This header opens filters and looks up keys. It includes bloomfile_error.h, bloomfile_io.h
 * (destinations and sources) and bloomfile_build.h. Each other header is complete in itself:
 * bloomfile_open.h (expectations), bloomfile_live.h (adding in place), bloomfile_combine.h
 * (folding, merging), bloomfile_delta.h (patches), bloomfile_view.h (tiny filters without a file),
 * bloomfile_inline.h (lookups compiled into the caller), bloomfile_inspect.h (sizes, verifying).
 * bloomfile_unstable.h may change in any release. format-spec.md defines the bytes.
 *
 * The one rule. A wrong "maybe" costs a disk read, a wrong "no" loses a row. So opening refuses a
 * file that is damaged or not understood. Damage found later turns the answers that depend on it
 * into "maybe", and bloomfile_damage() reports it.
 *
 * Errors. Functions that can fail return 0, an errno value (> 0) or one of BLOOMFILE_E* (< 0).
 * bloomfile_error_kind() groups them by the caller's reaction. A lookup cannot fail. A new handle
 * or a destination is the first parameter (after a builder), other outputs are the last. After a
 * failure a handle is NULL; other outputs are unchanged unless a function says otherwise.
 *
 * Ownership. Close each handle, free each builder, and release each image from this library with
 * bloomfile_free(); all three functions accept NULL. Returned strings are static.
 *
 * Threads. Any number of threads may call these concurrently on one handle: functions that take a
 * const bloomfile_filter, the adds, the removals and bloomfile_sync(). Any other call needs its
 * handle to itself. The library starts threads only where a parameter gives their number. It never
 * prints, aborts or catches signals. Do not call it from a signal handler, and do not leave a call
 * by pthread_cancel() or by a longjmp() from a signal handler: locks would stay held and adds
 * uncounted, and bloomfile_seal() would treat the filter as damaged. Lookups in a single sealed
 * filter are exempt: a SIGBUS handler may leave them by longjmp().
 *
 * Cost of an open handle. Sealed: one mapping, no descriptor (a copy of more than 2 MiB: up to
 * two mappings; BLOOMFILE_OPEN_NOWAIT: one descriptor). Live: two mappings and one descriptor;
 * BLOOMFILE_OPEN_SOLE_ADDER: another mapping; BLOOMFILE_OPEN_NOWAIT: another descriptor.
 * Series: the same for each layer, plus one mapping. Heap: 1 KB per filter or layer, plus 3 bits
 * per 4 KiB of body (ribbon: 35 bits). bloomfile_get_info() reports all of these for a handle.
 * Stack, at most: 5 KB for a single lookup; 16 KB to open, check, sync or add a key; 20 KB for a
 * batch or bloomfile_verify(). In a series: 32 KB for a batch of lookups, 64 KB for any add.
 *
 * fork. A child may use the handles that it inherits (live filters: bloomfile_live.h). A builder's
 * temporary files are shared: if both processes add to it, finishing it may return EIO.
 *
 * Structs that begin with struct_size may grow. Initialise them with their *_INIT macro, or assign
 * it. gcc -Wpedantic warns of it at file scope: write { .struct_size = sizeof(struct ...) } there.
 * A struct set to { 0 } is refused as BLOOMFILE_ESTRUCTSIZE, because the library cannot tell which
 * members the caller's header has. If the caller's header is newer than the library, output members
 * that the library does not know become 0; such input members must be 0, else
 * BLOOMFILE_ESTRUCTSIZE. Other structs keep their size; reserved members are 0.
 *
 * Replace files by renaming a new file over them, which leaves readers' mappings whole. Never write
 * to a sealed file in place. Overwriting changes the bytes that readers see: no page is checked
 * twice, so a lookup may answer a wrong "no" until bloomfile_check() detects the change. After a
 * file was truncated, lookups and adds raise SIGBUS until bloomfile_check() has detected it. Every
 * other call that reads a body (copying, folding, planning, merging, patching, measuring,
 * verifying, syncing, sealing, rescuing) checks first and returns BLOOMFILE_ECHANGED. It can raise
 * SIGBUS if the file is truncated during the call.
 *
 * Digests belong to a filter: make them with bloomfile_digest_of(f). If a filter of another seed or
 * hash is queried with such a digest, a silent "no" is possible, and the library cannot detect it.
 */
#ifndef BLOOMFILE_H
#define BLOOMFILE_H

#include <bloomfile_error.h>
#include <bloomfile_io.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLOOMFILE_VERSION_MAJOR                   1
#define BLOOMFILE_VERSION_MINOR                   0
#define BLOOMFILE_VERSION_PATCH                   0
#define BLOOMFILE_VERSION_STRING                  "1.0.0-rc1"
#define BLOOMFILE_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
/* As one number: #if BLOOMFILE_VERSION >= BLOOMFILE_VERSION_OF(1, 2, 0) */
#define BLOOMFILE_VERSION BLOOMFILE_VERSION_OF(1, 0, 0)

#define BLOOMFILE_MAX_HASHES     64u          /* k: positions per key */
#define BLOOMFILE_MAX_BITS       (1ULL << 60) /* m: bits, or counters in the counting layout */
#define BLOOMFILE_MAX_LABEL      112u         /* bytes of UTF-8 */
#define BLOOMFILE_TAG_SIZE       16u
#define BLOOMFILE_WATERMARK_SIZE 32u
#define BLOOMFILE_MAX_KEY_SIZE   0xFFFFFFu /* bytes of a record: bloomfile_params.key_size */

BLOOMFILE_API const char *bloomfile_version(void); /* of the library in use */

/* ------------------------------------------------------------------------------- basic types */

typedef struct bloomfile_filter bloomfile_filter;
typedef struct bloomfile_builder bloomfile_builder;

typedef uint64_t bloomfile_digest; /* the hash of a key: all that a filter uses of it */

/* This struct never changes. */
struct bloomfile_key {
    const void *data; /* may be NULL when size is 0 */
    size_t size;      /* bytes */
};

/* How positions map to the body. The values are those of the format. */
enum bloomfile_layout {
    BLOOMFILE_LAYOUT_BLOCKED = 1, /* 512-bit blocks, one cache line per lookup; the default */
    BLOOMFILE_LAYOUT_CLASSIC = 2, /* k independent bits; smaller, up to k lines per lookup */
    BLOOMFILE_LAYOUT_COUNTING =
        3, /* like classic, with 4-bit counters: four times the size, can remove keys */
    BLOOMFILE_LAYOUT_RIBBON = 4, /* linear equations, solved once: a third smaller, no adds */
};

/* The kind of the keys in a filter. The values are those of the format. Integers of any width are 8
 * bytes, little-endian, two's complement; strings are UTF-8. Lookups and adds take bytes and do not
 * check the kind: see bloomfile_check_keys() and BLOOMFILE_EXPECT_KEYS. */
enum bloomfile_key_kind {
    BLOOMFILE_KEYS_UNKNOWN = 0,  /* not recorded */
    BLOOMFILE_KEYS_TEXT = 1,     /* lines and other strings, without terminators */
    BLOOMFILE_KEYS_LOWER = 2,    /* text with the ASCII letters in lower case */
    BLOOMFILE_KEYS_INTEGERS = 3, /* 64-bit integers */
    BLOOMFILE_KEYS_FIXED = 4,    /* records of one size */
    BLOOMFILE_KEYS_BYTES = 5,    /* other bytes */
};

/* Return the name of a layout ("blocked") or of a kind of keys ("text"), as the tools print it, or
 * NULL if this version does not know the number. The known numbers have no gaps. */
BLOOMFILE_API const char *bloomfile_layout_name(uint32_t layout);
BLOOMFILE_API const char *bloomfile_key_kind_name(uint32_t key_kind);

/* Returns the digest of a key: XXH3_64bits_withSeed(key, size, seed). `key` may be NULL when size
 * is 0. */
BLOOMFILE_API bloomfile_digest bloomfile_hash(uint64_t seed, const void *key, size_t size);

/* Frees an image that a function of this library allocated; NULL is allowed. */
BLOOMFILE_API void bloomfile_free(void *image);

/* ----------------------------------------------------------------------------------- opening
 *
 * Opening validates the whole header against the file and does not read the body. A page's checksum
 * is checked the first time a lookup touches the page, unless a flag says otherwise. If it fails,
 * lookups there answer "maybe" from then on, and bloomfile_damage() returns BLOOMFILE_EPAGE. Damage
 * that comes later, when a page has left memory and a bad disk returns other bytes, causes a
 * silent "no" until bloomfile_verify() finds it. A program with a long-lived handle calls it from
 * time to time, or keeps the checked pages by BLOOMFILE_OPEN_LOCK or BLOOMFILE_OPEN_COPY.
 *
 * A page that is not in memory is read when a lookup first needs it, without read-ahead: 4 KiB at
 * most for a key not in the set (blocked, ribbon), and as much of checksums for each 4 MiB of body.
 * A batch reads its pages in parallel. If the disk then fails, or another process truncates the
 * file, the reading thread gets SIGBUS.
 */

/* Flags. No version uses bits 28 to 31: wrappers may. */
#define BLOOMFILE_OPEN_VERIFY_FULL    1u    /* read and check the whole body now */
#define BLOOMFILE_OPEN_VERIFY_NONE    2u    /* never check the body: another layer does */
#define BLOOMFILE_OPEN_WRITE          4u    /* for adding: see bloomfile_live.h */
#define BLOOMFILE_OPEN_ACCEPT_UNCLEAN 8u    /* live: adds since the last sync may be lost */
#define BLOOMFILE_OPEN_ADD_EXACT      16u   /* with WRITE: a new key is new to one adder only */
#define BLOOMFILE_OPEN_SOLE_ADDER     1024u /* with WRITE: the only writer; one thread adds */
#define BLOOMFILE_OPEN_ONE_THREAD     8192u /* with WRITE: one thread adds at a time */
#define BLOOMFILE_OPEN_OVER_CAPACITY  2048u /* with WRITE: accept keys over capacity */

/* How the file is kept in memory. Opening fails if a flag cannot be honoured. bench/README.md:
 * times.
 *
 * PREFAULT reads the file and maps its pages before open returns. Later lookups do not wait for a
 * disk until memory is short. A writer's first add to each page still takes a fault. Errors: EIO if
 * the disk fails or the file shrinks during the call (before Linux 5.14 that can still be SIGBUS);
 * EHWPOISON; ENOMEM.
 *
 * LOCK also keeps the pages in memory (mlock) until the handle is closed, but not for a child of
 * fork. Errors also: EPERM, or ENOMEM beyond RLIMIT_MEMLOCK.
 *
 * COPY reads the file into memory of this handle alone, in huge pages where the system has them
 * (transparent_hugepage: madvise or always). Later truncation or disk failure cannot affect it, and
 * lookups take a fifth to a third less time. Pages are verified as they would be in the file. The
 * filter must be sealed (BLOOMFILE_ELIVE: a copy would not see adds). LOCK locks the copy; PREFAULT
 * adds nothing. Errors: an errno of read; BLOOMFILE_ETRUNCATED; ENOMEM. */
#define BLOOMFILE_OPEN_PREFAULT 32u
#define BLOOMFILE_OPEN_LOCK     64u
#define BLOOMFILE_OPEN_COPY     128u

/* Keeps a descriptor for each sealed file, for bloomfile_contains_digest_nowait(). Memory and a
 * copy do not need it. Locked pages do: a child of fork does not inherit the lock. */
#define BLOOMFILE_OPEN_NOWAIT 4096u

/* Opens a filter.
 *   out    receives the filter; NULL on error. Close it with bloomfile_close().
 *   path   a sealed filter, a live filter, or the first file of a series. It must use the library's
 *          own hash.
 *   flags  BLOOMFILE_OPEN_*, or 0. Lookups in a live filter see every add as soon as it is made;
 *          its body has no checksums.
 *
 * Returns 0; an errno of open, fstat, read, mmap or of the flags above; an error of
 * BLOOMFILE_KIND_DAMAGED, _FOREIGN or _NEWER; or one of
 *   BLOOMFILE_EFLAGS     the flags are unknown or contradictory
 *   BLOOMFILE_EPOISONED  a write failed: rebuild it, or use bloomfile_rescue()
 *   BLOOMFILE_EUNCLEAN, BLOOMFILE_EFILESYSTEM, BLOOMFILE_ENOBOOT  a live filter: bloomfile_live.h
 *   BLOOMFILE_ELIVE      a live filter, with BLOOMFILE_OPEN_VERIFY_FULL or _COPY
 *   BLOOMFILE_ESEALED    a sealed filter, with BLOOMFILE_OPEN_WRITE
 *   BLOOMFILE_EISSERIES  a live series, with BLOOMFILE_OPEN_SOLE_ADDER
 *   EMLINK               a layer of a series is a mount point, with BLOOMFILE_OPEN_WRITE
 *   EBUSY                with BLOOMFILE_OPEN_WRITE, after one second of retries: the filter is
 *                        being sealed or has a sole adder; with BLOOMFILE_OPEN_SOLE_ADDER, also: it
 *                        has a writer
 *   BLOOMFILE_ETOOBIG    too big for this machine's address space
 *   BLOOMFILE_EVALUE     the path is NULL */
BLOOMFILE_API int bloomfile_open(bloomfile_filter **out, const char *path, unsigned flags);

BLOOMFILE_API void bloomfile_close(bloomfile_filter *f); /* writers: see bloomfile_live.h */

/* Returns true if the path of this handle should be opened again: it names another file or no file;
 * size, header or (sealed) times have changed (ctime too, so chmod and link count); or a live file
 * was sealed, so that its pages can be verified. Returns true also if the path cannot be examined;
 * opening it reports the reason. Returns false if the handle was not opened by path. */
BLOOMFILE_API bool bloomfile_is_stale(const bloomfile_filter *f);

/* Returns the handle's sticky error without examining the file: 0, or the error of
 * bloomfile_check() that lookups and other calls on this handle have found so far. It costs one
 * atomic load (one for each layer of a series), so a program can call it after every lookup. */
BLOOMFILE_API int bloomfile_damage(const bloomfile_filter *f);

/* Checks the file for changes (lookups do not) and returns the handle's sticky error:
 *
 *   0                    nothing is known to be wrong
 *   BLOOMFILE_EPAGE      pages are damaged: all answers that depend on them were "maybe"
 *   BLOOMFILE_EBODY      the body contradicts the header: every answer is "maybe"
 *   BLOOMFILE_ECHANGED   the file was written to in place while it was open (a live one can also be
 *                        BLOOMFILE_ERECORD): answers since then may be wrong, and every answer is
 *                        "maybe" from now on
 *   BLOOMFILE_EPOISONED  a writer of the file failed to write it to disk
 *   BLOOMFILE_EUNCLEAN   a writer of the file died in a sync
 *   EBADF                the application closed the descriptor of a live filter. Its number may
 *                        belong to another file now; nothing is written to that file
 *   BLOOMFILE_EHASH      a key was looked up, but only an application can hash keys for this filter
 *                        (see bloomfile_params.hash_id)
 *
 * The call compares the header with the header at opening. If a sealed file was opened by path
 * without BLOOMFILE_OPEN_COPY, it also compares size and times with those before the opening.
 * Another size or mtime is BLOOMFILE_ECHANGED, even after a plain touch. Another ctime alone
 * (chmod, link, or cp --preserve over the file) is not an error: each page is checked again before
 * the next answer relies on it, and bloomfile_recheck() checks the pages that earlier answers
 * relied on. If the path cannot be looked up (EACCES, EIO; not if it names no file), this call
 * checks those pages itself, so it takes longer. It does so too if mtime has changed and the seal
 * was unfinished at opening, because a writer may have completed it. To detect that the path names
 * another file, call bloomfile_is_stale().
 *
 * It cannot detect a write that leaves the header and these times unchanged: within one tick of the
 * file system's clock (up to 10 ms; vfat 2 s) of the last write before the opening; through a
 * shared mapping to a page that is already dirty, or to any page of a tmpfs; to the open file after
 * the path names another or no file; on a network file system, until its server knows of it. It
 * also cannot detect a write outside the header if the handle was opened from a descriptor or
 * memory, or was opened live and sealed since; or bytes that were changed and restored when only
 * ctime shows it. With BLOOMFILE_OPEN_VERIFY_NONE it compares only header, size and mtime.
 *
 * Takes 2 to 8 us; on a network file system a round trip. */
BLOOMFILE_API int bloomfile_check(const bloomfile_filter *f);

/* Like bloomfile_check(), but for answers already given: call it after the last lookup and before
 * using the answers. If ctime has changed, it also checks again the pages (and only those) that
 * answers relied on. If such a page is wrong now, the error is BLOOMFILE_ECHANGED. */
BLOOMFILE_API int bloomfile_recheck(const bloomfile_filter *f);

/* Returns the seed of the filter's hash function. */
BLOOMFILE_API uint64_t bloomfile_seed(const bloomfile_filter *f);

/* Returns the digest of a key, for this handle and for other filters of the same seed and hash.
 *   key   may be NULL when size is 0
 *   size  bytes
 *
 * If only the application can make the filter's digests, this returns 0 and sets the sticky error
 * BLOOMFILE_EHASH. Every later lookup of the handle then answers "maybe", and every add or removal
 * returns BLOOMFILE_EHASH. Do not pass this 0 to another handle, or one from a layer to its series.
 */
BLOOMFILE_API bloomfile_digest bloomfile_digest_of(const bloomfile_filter *f, const void *key,
                                                   size_t size);

/* ----------------------------------------------------------------------------------- looking up */

/* Looks up a key, or its digest. Returns false if the key is certainly not in the set, and true if
 * it may be in the set. `key` may be NULL when size is 0; size is in bytes. */
BLOOMFILE_API bool bloomfile_contains(const bloomfile_filter *f, const void *key, size_t size);
BLOOMFILE_API bool bloomfile_contains_digest(const bloomfile_filter *f, bloomfile_digest digest);

/* Looks up n keys. Sets hits[i] for each key; hits may be NULL. Returns the number of hits. In a
 * filter larger than the caches, 32 keys or more take a quarter to a half of the time of single
 * lookups, in a smaller filter two thirds. A few keys take as long as single lookups. */
BLOOMFILE_API size_t bloomfile_contains_many(const bloomfile_filter *f,
                                             const struct bloomfile_key *keys, size_t n,
                                             bool *hits);
BLOOMFILE_API size_t bloomfile_contains_digests(const bloomfile_filter *f,
                                                const bloomfile_digest *digests, size_t n,
                                                bool *hits);

/* Looks up a digest without waiting for a disk, for a thread that serves many requests. It looks
 * for the page in the page cache (preadv2() with RWF_NOWAIT) and then looks up the digest as
 * bloomfile_contains_digest() does. If the page leaves memory in between, the call waits for it.
 *   f  opened with BLOOMFILE_OPEN_NOWAIT, unless it is live or in memory.
 *
 * Returns false if the key is certainly not in the set. Returns true if the key may be present, if
 * the page is not in memory, if the kernel or the file system cannot report that (tmpfs, FUSE,
 * NFS), or if the flag is missing. The kernel may begin to read the page, so a later call may find
 * it in memory. After a series gets more layers, the call returns true until another lookup has
 * opened them. Takes about 0.5 us more than bloomfile_contains_digest(), and as much for each
 * position in the classic and counting layouts. */
BLOOMFILE_API bool bloomfile_contains_digest_nowait(const bloomfile_filter *f,
                                                    bloomfile_digest digest);

#ifdef __cplusplus
}
#endif

#include <bloomfile_build.h>

#endif
