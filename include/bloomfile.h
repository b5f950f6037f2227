/* SPDX-License-Identifier: MIT
 *
 * bloomfile - Bloom filters that live in files
 *
 * A Bloom filter answers "is this key in the set?" with "certainly not" or "maybe". bloomfile
 * keeps the filter in a file that is opened with mmap, so opening costs the same at 1 KB and at
 * 100 GB, and all processes of a host share one copy of it. The bytes are defined in
 * format-spec.md.
 *
 *     bloomfile *f;
 *     int err = bloomfile_open(&f, "urls.bloom", 0);
 *     if (err != 0)
 *         errx(2, "urls.bloom: %s", bloomfile_strerror(err));
 *     if (bloomfile_contains(f, key, size))
 *         look_it_up_on_disk(key, size);       // maybe there
 *     bloomfile_close(f);
 *
 * The one rule. A wrong "maybe" costs the caller a disk read, a wrong "no" loses a row. So a file
 * that is damaged or not understood is refused when it is opened; damage found later turns the
 * answers that depend on it into "maybe" and is remembered in bloomfile_status().
 *
 * Errors. Functions that can fail return 0, or an errno value (> 0), or one of BLOOMFILE_E* (< 0).
 * bloomfile_strerror() words all of them. A lookup cannot fail. What a function makes comes first.
 * When a function fails, handles and images are set to NULL, their sizes to 0, and other outputs
 * are left alone; only bloomfile_verify() and bloomfile_inspect() describe what they return an
 * error for.
 *
 * Ownership. What bloomfile_open*() and bloomfile_builder_new() make is released by
 * bloomfile_close() and bloomfile_builder_free(), which take NULL. Strings returned are static.
 *
 * Threads. There is no global state. Functions that take a const bloomfile, the adds,
 * bloomfile_remove() and bloomfile_sync() may run on one handle in any number of threads at once;
 * everything else needs its handle to itself.
 *
 * Versions. Structs that begin with struct_size may grow: the caller sets it to the sizeof he
 * compiled with (the *_INIT macros do). Members that the library does not know must be zero when
 * passed in, and come back as zero. Structs without it (bloomfile_key, bloomfile_fault) never
 * change.
 *
 * Files change by replacement. A filter is replaced by renaming a new file over it, which
 * leaves existing mappings whole. Truncating or rewriting one in place while it is mapped takes the
 * bytes away from its readers (SIGBUS), as with every mapped file.
 *
 * Digests depend on the seed. A digest made under one seed and used with a filter of another is a
 * silent "no", the one mistake that nothing here can notice: hash with bloomfile_seed(f).
 */
#ifndef BLOOMFILE_H
#define BLOOMFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLOOMFILE_VERSION_MAJOR 0
#define BLOOMFILE_VERSION_MINOR 1
#define BLOOMFILE_VERSION_PATCH 0

#define BLOOMFILE_API __attribute__((visibility("default")))

/* BLOOMFILE_INIT_(struct x): all zero but for struct_size. */
#ifdef __cplusplus
extern "C++" { /* a template cannot be extern "C" */
template <typename T> static inline T bloomfile_init_()
{
    T value = T();
    value.struct_size = sizeof(T);
    return value;
}
}
#define BLOOMFILE_INIT_(type) bloomfile_init_<type>()
#else
#define BLOOMFILE_INIT_(type) { .struct_size = sizeof(type) }
#endif

/* ------------------------------------------------------------------------------------ limits */

#define BLOOMFILE_MAX_HASHES 64u            /* k: positions per key */
#define BLOOMFILE_MAX_BITS (1ULL << 60)     /* m: bits, or counters in the counting layout */
#define BLOOMFILE_MAX_LABEL 112u            /* bytes of UTF-8 */
#define BLOOMFILE_TAG_SIZE 16u

/* ------------------------------------------------------------------------------------ errors */

/* One row an error: name, value, text. The values are part of the ABI and never change. */
#define BLOOMFILE_ERRORS(X)                                                                        \
    X(BLOOMFILE_EEMPTY, -1001, "the file is empty")                                                \
    X(BLOOMFILE_ENOTREGULAR, -1002, "not a regular file")                                          \
    X(BLOOMFILE_EMAGIC, -1003, "not a filter file")                                                \
    X(BLOOMFILE_ETEXTMODE, -1004, "damaged by a text-mode transfer (line ends were changed)")      \
    X(BLOOMFILE_EVERSION, -1005, "written in a newer format version")                              \
    X(BLOOMFILE_EHEADERSIZE, -1006, "the header size is neither 512 nor 4096")                     \
    X(BLOOMFILE_EHEADER, -1007, "the header is damaged (checksum mismatch)")                       \
    X(BLOOMFILE_EFEATURE, -1008, "needs a feature this version does not know")                     \
    X(BLOOMFILE_ELAYOUT, -1009, "unknown layout")                                                  \
    X(BLOOMFILE_EHASH, -1010, "unknown hash function")                                             \
    X(BLOOMFILE_ESELFTEST, -1011, "this build hashes differently from the writer")                 \
    X(BLOOMFILE_EHASHES, -1012, "the number of hashes k is out of range (1 to 64)")                \
    X(BLOOMFILE_EBITS, -1013, "the number of bits m is out of range for the layout")               \
    X(BLOOMFILE_EBODYPLACE, -1014, "the body's offset or size does not follow from m")             \
    X(BLOOMFILE_ECAPACITY, -1015, "the capacity is out of range (at least 1)")                     \
    X(BLOOMFILE_ERATE, -1016, "the false-positive rate is out of range (0 < rate < 1)")            \
    X(BLOOMFILE_EUNFOLDED, -1017, "the size before folding is no multiple of m")                   \
    X(BLOOMFILE_ELABEL, -1018, "the label is not clean UTF-8 of at most 112 bytes")                \
    X(BLOOMFILE_ETRUNCATED, -1019, "the file is truncated")                                        \
    X(BLOOMFILE_ETRAILING, -1020, "the file has extra bytes at the end")                           \
    X(BLOOMFILE_ERECORD, -1021, "a commit record is damaged")                                      \
    X(BLOOMFILE_ESTATE, -1022, "a commit record contradicts its state")                            \
    X(BLOOMFILE_EPOISONED, -1023, "poisoned: a write to disk failed, the file cannot be trusted")  \
    X(BLOOMFILE_ELIVE, -1024, "live, not sealed: it has no checksums and must be opened by path")  \
    X(BLOOMFILE_EPAGE, -1025, "a page of the body is damaged (checksum mismatch)")                 \
    X(BLOOMFILE_EBODY, -1026, "the body contradicts the header (checksum, count or padding)")      \
    X(BLOOMFILE_EPARAMS, -1027, "invalid parameters")                                              \
    X(BLOOMFILE_ETOOBIG, -1028, "the filter is too big for this machine's address space")          \
    X(BLOOMFILE_EUNREACHABLE, -1029, "no size reaches this false-positive rate for so many keys")  \
    X(BLOOMFILE_EUNCLEAN, -1030, "the machine went down while it was open for writing")            \
    X(BLOOMFILE_ESEALED, -1031, "sealed: it cannot be changed any more")                           \
    X(BLOOMFILE_EREADONLY, -1032, "not opened for writing")                                        \
    X(BLOOMFILE_ENOTCOUNTING, -1033, "not of the counting layout")                                 \
    X(BLOOMFILE_EABSENT, -1034, "the key is certainly not in the filter")                          \
    X(BLOOMFILE_EFACTOR, -1035, "the factor does not divide the number of blocks, or bits")        \
    X(BLOOMFILE_ERATEPASSED, -1036, "the result's false-positive rate would pass the limit")       \
    X(BLOOMFILE_EDIFFERENTLAYOUT, -1037, "the layouts differ")                                     \
    X(BLOOMFILE_EDIFFERENTHASH, -1038, "the hash functions differ")                                \
    X(BLOOMFILE_EDIFFERENTHASHES, -1039, "the numbers of hashes k differ")                         \
    X(BLOOMFILE_EDIFFERENTSEED, -1040, "the seeds differ")                                         \
    X(BLOOMFILE_ECOUNTING, -1041, "counting filters cannot be intersected")                        \
    X(BLOOMFILE_ECOMPACT, -1042, "no compact filter, a damaged one, or one of another seed")

#define BLOOMFILE_ERROR_ENUM(name, value, text) name = (value),
enum bloomfile_error { BLOOMFILE_ERRORS(BLOOMFILE_ERROR_ENUM) };
#undef BLOOMFILE_ERROR_ENUM

/* The words for any value a function here returned: 0, an errno, a BLOOMFILE_E*. Static; never
 * NULL. */
BLOOMFILE_API const char *bloomfile_strerror(int error);

/* "BLOOMFILE_EMAGIC" and so on; for an errno its symbol ("ENOENT") where known; static, never
 * NULL. */
BLOOMFILE_API const char *bloomfile_errname(int error);

/* The version of the library in use, "0.1.0". */
BLOOMFILE_API const char *bloomfile_version(void);

/* ------------------------------------------------------------------------------- basic types */

typedef struct bloomfile bloomfile;
typedef struct bloomfile_builder bloomfile_builder;

/* The 64-bit hash of a key. All a filter knows of a key is its digest. */
typedef uint64_t bloomfile_digest;

struct bloomfile_key {
    const void *data; /* may be NULL when size is 0 */
    size_t size;      /* bytes */
};

/* How positions map to the body. The values are those of the format. */
enum bloomfile_layout {
    BLOOMFILE_BLOCKED = 1,  /* 512-bit blocks, one cache line per lookup; the default */
    BLOOMFILE_CLASSIC = 2,  /* k independent bits; smallest, up to k lines per lookup */
    BLOOMFILE_COUNTING = 3, /* as classic with 4-bit counters; four times the size, can forget */
};

enum bloomfile_state {
    BLOOMFILE_LIVE = 1,     /* writable, body not checksummed */
    BLOOMFILE_SEALED = 2,   /* immutable, checksummed */
    BLOOMFILE_POISONED = 3, /* a sync failed while it was live */
};

/* bloomfile_info.provenance: what the filter was made by, where that changes what its numbers
 * mean. */
#define BLOOMFILE_FROM_INTERSECTION 1u /* bits of two filters ANDed: the rate is only an estimate */
#define BLOOMFILE_FROM_MERGE 2u        /* bits of several filters ORed */
#define BLOOMFILE_FROM_PROJECTION 4u   /* a counting filter's nonzero counters */

/* ------------------------------------------------------------------------------------ sizing
 *
 * n keys, m bits (counters in the counting layout), k hashes, p the false-positive rate. For the
 * blocked layout the rate is the expectation over how many keys fall into a block, so the promise
 * holds (the classic formula promises 0.86 % where 1 % is true). Digests of 64 bits put a floor of
 * n / 2^64 under every rate. Only + - * / are used, so every machine gets the same sizes. A
 * `layout` of 0 means BLOOMFILE_BLOCKED. Sizing costs 10 us to 10 ms, most for low rates: who makes
 * many filters of one size should do it once, and pass bits and hashes on.
 */

/* The least m for n keys at rate fpr, rounded up by at most 0.5 % so that many fold factors exist.
 * `hashes` 0: the k that needs the fewest bits. Returns 0 if an argument is out of range (unknown
 * layout, n not in 1 to 2^60, fpr not in (0, 1), hashes > BLOOMFILE_MAX_HASHES), or if no
 * m <= BLOOMFILE_MAX_BITS will do, as for fpr <= n / 2^64. */
BLOOMFILE_API uint64_t bloomfile_bits_for(uint32_t layout, uint64_t n, double fpr,
                                          uint32_t hashes);

/* The k with the lowest rate for n >= 1 keys in m bits; 0 if an argument is out of range. */
BLOOMFILE_API uint32_t bloomfile_hashes_for(uint32_t layout, uint64_t bits, uint64_t n);

/* The expected false-positive rate, 0 to 1; NaN if an argument is out of range. */
BLOOMFILE_API double bloomfile_fpr_for(uint32_t layout, uint64_t bits, uint32_t hashes,
                                       uint64_t n);

/* ----------------------------------------------------------------------------------- hashing */

/* The digest of a key: XXH3_64bits_withSeed(key, size, seed). `key` may be NULL when size is 0. */
BLOOMFILE_API bloomfile_digest bloomfile_hash(uint64_t seed, const void *key, size_t size);

/* ---------------------------------------------------------------------------------- building
 *
 * A builder collects the digests of any number of keys, 8 bytes each, and makes a sealed filter of
 * the exact size at the end; equal keys count once. The order of keys does not matter, nor do
 * threads or memory: same keys, same parameters, same bytes.
 *
 * Digests are partitioned by their topmost bits as they come, and so added to the filter from its
 * beginning to its end, in cache. Beyond `memory` they go to temporary files that have no name, as
 * sorted runs, and the filter is written part by part; no part of it is mapped. Nothing remains of
 * them after a crash.
 */

struct bloomfile_params {
    size_t struct_size;
    uint32_t layout;              /* enum bloomfile_layout; 0: BLOOMFILE_BLOCKED */
    uint32_t hashes;              /* k; 0: the best for m (or fpr) and the capacity */
    uint64_t capacity;            /* keys to size for; 0: a builder counts, at least 1 */
    double fpr;                   /* rate to size for, in (0, 1); 0: 0.01 if bits is 0 */
    uint64_t bits;                /* m; 0: from capacity and fpr. blocked: a multiple of 512 */
    uint64_t seed;                /* of the hash; 0 unless keys are chosen by an adversary */
    const char *label;            /* UTF-8, at most BLOOMFILE_MAX_LABEL bytes; or NULL */
    uint8_t tag[BLOOMFILE_TAG_SIZE]; /* the caller's own, e.g. the identity of the SSTable */

    /* Of builders only. */
    uint64_t memory;   /* bytes to take, about, at least 1 MiB; 0: as many as there are */
    const char *spool; /* the folder for temporary files; NULL: $TMPDIR, or /tmp */
    uint32_t threads;  /* to work with, at most 1024; 0: the caller's alone */
    uint32_t reserved; /* 0 */
};
#define BLOOMFILE_PARAMS_INIT BLOOMFILE_INIT_(struct bloomfile_params)

/* Makes a builder; *params is copied. params may be NULL for all defaults. With params->threads
 * above 1, keys may be added from any number of threads at once.
 * Errors: BLOOMFILE_EPARAMS (struct_size, threads), BLOOMFILE_ELAYOUT, _EBITS, _EHASHES, _ERATE,
 * _ECAPACITY (above 2^60), _ELABEL; ENOMEM. */
BLOOMFILE_API int bloomfile_builder_new(bloomfile_builder **out,
                                        const struct bloomfile_params *params);

/* Adds a key. Error: ENOMEM, or one of making or writing a temporary file, after which the builder
 * holds what it held before. */
BLOOMFILE_API int bloomfile_builder_add(bloomfile_builder *b, const void *key, size_t size);

/* Adds n keys, which is faster than one call each. Errors as above, but some of the keys may have
 * been added. */
BLOOMFILE_API int bloomfile_builder_add_many(bloomfile_builder *b, const struct bloomfile_key *keys,
                                             size_t n);

/* Adds n digests, made by bloomfile_hash() WITH THE SEED OF THE PARAMS. Errors as above, but some
 * of the digests may have been added. */
BLOOMFILE_API int bloomfile_builder_add_digests(bloomfile_builder *b,
                                                const bloomfile_digest *digests, size_t n);

/* For functions that make a file: an existing regular file at the path is replaced. */
#define BLOOMFILE_REPLACE 0x100u

/* For the same functions, but for bloomfile_create() and _rescue(): the path is NULL, and the image
 * is written to a descriptor, a pipe for example, from where it stands. It is made in a temporary
 * file without a name (in $TMPDIR, or /tmp) and copied when it is complete; what has been written
 * before an error stays written. fd: 0 to 65534. */
#define BLOOMFILE_TO_FD(fd) (((unsigned)(fd) + 1u) << 16)

/* Builds the filter and publishes it at `path`, atomically: the whole file appears or none, and it
 * is on disk when this returns 0. A symbolic link is followed. Without BLOOMFILE_REPLACE an
 * existing path is EEXIST; anything there but a regular file is never replaced
 * (BLOOMFILE_ENOTREGULAR, EISDIR). A replaced file's permission bits are kept, and owner and group
 * where that is allowed. A failure leaves nothing behind and the old file untouched, with one
 * exception: if the very last step fails, the fsync of the directory, the complete new file is in
 * place all the same. The temporary file has no name; but with BLOOMFILE_REPLACE just before it
 * gets its final one, and where the file system lacks unnamed files all the time, it is called
 * ".bloomfile.XXXXXXXXXXXX.tmp". The calling thread's signals are held back meanwhile; a SIGKILL
 * leaves it there. The builder stays as it was and may add and finish again.
 * flags: BLOOMFILE_REPLACE, or BLOOMFILE_TO_FD().
 * Errors: BLOOMFILE_EPARAMS for unknown flags; those of open, read, write, fsync, link and rename;
 * ENOMEM; BLOOMFILE_EUNREACHABLE; BLOOMFILE_ETOOBIG. */
BLOOMFILE_API int bloomfile_builder_finish(bloomfile_builder *b, const char *path, unsigned flags);

/* The same as an embedded image (512-byte header) in memory from malloc(); the caller frees it. It
 * can be stored anywhere, at any alignment, and opened by bloomfile_open_fd() or _open_memory(). */
BLOOMFILE_API int bloomfile_builder_finish_memory(bloomfile_builder *b, void **image, size_t *size);

/* Sets *count to the number of distinct digests so far. Reads them all, if any were added since
 * the last call. Errors as bloomfile_builder_add(). */
BLOOMFILE_API int bloomfile_builder_count(bloomfile_builder *b, uint64_t *count);

/* Sets the tag, 16 bytes, instead of that of the params: the identity of a table, if it is a hash
 * of all rows, is known after the last one only. */
BLOOMFILE_API void bloomfile_builder_set_tag(bloomfile_builder *b,
                                             const uint8_t tag[BLOOMFILE_TAG_SIZE]);

BLOOMFILE_API void bloomfile_builder_free(bloomfile_builder *b);

/* Publishes a sealed filter whose body was computed elsewhere, by a message-passing reduction for
 * example: `body` holds the bytes that m uses, (m + 7) / 8 of them, counting (m + 1) / 2.
 * params->bits and ->hashes must be given. provenance: BLOOMFILE_FROM_*, 0 if it is as if built
 * from its keys. keys: their number, UINT64_MAX if it is to be estimated from the ones.
 * Errors as bloomfile_builder_new() and _finish(); BLOOMFILE_EBODY for bits beyond m;
 * BLOOMFILE_EPARAMS for what is missing or unknown. */
BLOOMFILE_API int bloomfile_assemble(const char *path, const struct bloomfile_params *params,
                                     const void *body, uint32_t provenance, uint64_t keys,
                                     unsigned flags);

/* ----------------------------------------------------------------------------------- opening
 *
 * Opening validates the whole header and checks every size against the file. It does not read the
 * body. By default the checksum of a body page is checked the first time a lookup touches the page;
 * a page that fails answers "maybe" from then on and sets bloomfile_status() to BLOOMFILE_EPAGE.
 *
 * The file is mapped. A page that is not in memory is read from disk when a lookup first needs it,
 * and nothing around it: one read of 4 KiB at most for an absent key (blocked layout), and one of
 * checksums for each 4 MiB of body. A batch has its pages read side by side, in a quarter of the
 * time, unless BLOOMFILE_VERIFY_NONE says not to look at them. A disk that fails then, or a file
 * that somebody truncates, is SIGBUS, in the thread that reads.
 */

#define BLOOMFILE_VERIFY_FULL 1u /* read and check the whole body now; damage is an error here */
#define BLOOMFILE_VERIFY_NONE 2u /* never check the body: something else does */

#define BLOOMFILE_WRITE 4u          /* for adding: the filter must be live */
#define BLOOMFILE_ACCEPT_UNCLEAN 8u /* live: adds since the last sync may be lost, and I know it */
#define BLOOMFILE_ADD_EXACT 16u     /* with WRITE: of racing adders of a new key, one is told so */

/* Where the bytes are in memory. What is asked for and cannot be had is an error of open. Times are
 * those of bench/README.md for 1.25 GB in the page cache, where opening without these takes 0.1 ms
 * and the first million lookups, which find the pages, about twice as long as later ones. */

/* All of the file is read, and its pages are mapped, before open returns: later lookups wait for no
 * disk and take no page faults. 40 ms; from a disk as fast as that reads in order. Pages may leave
 * memory again when it is short. A writer's pages are mapped for reading: the first add to each
 * still takes a fault (otherwise all would count as changed, and be written to disk). Errors: EIO
 * if the disk fails or the file shrinks meanwhile; EHWPOISON for memory that has failed; ENOMEM. */
#define BLOOMFILE_PREFAULT 32u

/* The same, and the pages stay in memory (mlock) until the handle is closed; but not for a child of
 * fork, to which locks do not pass. Costs and gains what PREFAULT does, while memory is not short.
 * Errors as there; EPERM, or ENOMEM beyond RLIMIT_MEMLOCK. */
#define BLOOMFILE_LOCK 64u

/* The file is not mapped but read, into memory of this handle alone, in huge pages where the system
 * has them (transparent_hugepage: madvise or always). So no truncation and no failing disk reaches
 * it any more, and there are fewer TLB misses: lookups take a fifth to a third less time. Costs
 * 0.5 s, and the memory again in each process that does it. Pages are verified as they would be in
 * the file. The filter must be sealed (BLOOMFILE_ELIVE: a copy would not see adds). With LOCK the
 * copy is locked; PREFAULT adds nothing. Errors: those of read; BLOOMFILE_ETRUNCATED; ENOMEM. */
#define BLOOMFILE_COPY 128u

/* Opens a filter file. Without BLOOMFILE_WRITE for reading: a sealed one, or a live one, whose
 * lookups then see every add as soon as it is made; a live body has no checksums. With
 * BLOOMFILE_WRITE see "Live filters" below.
 * Errors: those of open, fstat, read and mmap; EISDIR; BLOOMFILE_ENOTREGULAR; BLOOMFILE_EPARAMS for
 * unknown or contradictory flags; every BLOOMFILE_E* from EEMPTY to EPOISONED; BLOOMFILE_ELIVE for
 * BLOOMFILE_VERIFY_FULL of a live one; BLOOMFILE_EUNCLEAN; with BLOOMFILE_VERIFY_FULL also _EPAGE
 * and _EBODY; ENOMEM; BLOOMFILE_ETOOBIG; those of the flags above. With BLOOMFILE_WRITE also
 * BLOOMFILE_ESEALED; EBUSY while it is being sealed; those of fcntl, write and msync. */
BLOOMFILE_API int bloomfile_open(bloomfile **out, const char *path, unsigned flags);

#define BLOOMFILE_TO_END UINT64_MAX /* a length: as far as the file goes */

/* Opens a filter that occupies exactly `length` bytes at `offset` (any alignment) of an open
 * regular file, for reading. The descriptor stays the caller's and may be closed at once. A live
 * filter must be the whole file, else it is BLOOMFILE_ELIVE. Errors as bloomfile_open;
 * BLOOMFILE_EPARAMS for BLOOMFILE_WRITE. */
BLOOMFILE_API int bloomfile_open_fd(bloomfile **out, int fd, uint64_t offset, uint64_t length,
                                    unsigned flags);

/* Opens a sealed filter in memory, at any alignment. The bytes stay the caller's, must not change,
 * and must outlive the handle; but with BLOOMFILE_COPY they are not needed any more. To fault in or
 * to lock memory of his own is the caller's business: BLOOMFILE_PREFAULT and _LOCK need
 * BLOOMFILE_COPY here. Errors as bloomfile_open, but for those of system calls on files. */
BLOOMFILE_API int bloomfile_open_memory(bloomfile **out, const void *image, size_t size,
                                        unsigned flags);

/* Ends the use of a handle. For one open for writing: what it counted is recorded, and the last
 * writer of a file writes all of it to disk and marks it clean. What fails then is found at the
 * next open: call bloomfile_sync() first to be told. */
BLOOMFILE_API void bloomfile_close(bloomfile *f);

/* 1 if the path given to bloomfile_open() or _create() now names another file, or none: time to
 * open it anew. 0 if not, if it cannot be told, or if the handle has no path. */
BLOOMFILE_API int bloomfile_is_stale(const bloomfile *f);

/* The sticky error: 0, or the first damage a lookup or bloomfile_verify() met on this handle, or
 * BLOOMFILE_EPOISONED if a writer of the file, this one or another, failed to write it to disk. */
BLOOMFILE_API int bloomfile_status(const bloomfile *f);

/* The seed that digests for this filter are made with. */
BLOOMFILE_API uint64_t bloomfile_seed(const bloomfile *f);

/* The name of the code that answers lookups on this handle: "avx512", "avx2", "neon" or "scalar",
 * the fastest that the processor has; all give the same answers. The environment variable
 * BLOOMFILE_KERNEL forces another one, for tests and comparisons; a name that this processor or
 * layout does not have is ignored. */
BLOOMFILE_API const char *bloomfile_kernel_name(const bloomfile *f);

/* ----------------------------------------------------------------------------------- looking up */

/* false: the key is certainly not in the set. true: it may be. */
BLOOMFILE_API bool bloomfile_contains(const bloomfile *f, const void *key, size_t size);

/* The same for a digest, made by bloomfile_hash() WITH THE FILTER'S SEED. */
BLOOMFILE_API bool bloomfile_contains_digest(const bloomfile *f, bloomfile_digest digest);

/* n keys at once, several times faster than one by one on filters larger than the caches. hits[i]
 * is set for each key; hits may be NULL. Returns the number of hits. */
BLOOMFILE_API size_t bloomfile_contains_many(const bloomfile *f, const struct bloomfile_key *keys,
                                             size_t n, bool *hits);
BLOOMFILE_API size_t bloomfile_contains_digests(const bloomfile *f, const bloomfile_digest *digests,
                                                size_t n, bool *hits);

/* ------------------------------------------------------------------------------ live filters
 *
 * A live filter is a file that any number of threads and processes add to and query at once.
 *
 *     int err = bloomfile_open(&f, "seen.bloom", BLOOMFILE_WRITE);
 *     ...
 *     bool was_new;
 *     err = bloomfile_add(f, url, size, &was_new);
 *     if (err == 0 && was_new)
 *         crawl(url, size);
 *
 * Adding sets bits atomically and takes no lock. An add is visible to everybody when it returns,
 * and survives the death of any process; nothing has to be repaired afterwards. It survives the
 * death of the machine once a bloomfile_sync() that began after it, on any handle, has returned 0.
 *
 * Unclean. A file that was open for writing when the machine died is BLOOMFILE_EUNCLEAN afterwards:
 * what was added since the last sync may be lost, and adding it again mends that.
 * BLOOMFILE_ACCEPT_UNCLEAN opens it all the same; with BLOOMFILE_WRITE that speaks for everybody,
 * and the file is not unclean any more. What takes the file system away without the machine (a disk
 * that is pulled out, an error that remounts it, a snapshot of the block device) is not noticed by
 * itself: after that, treat a filter that was open for writing as unclean. All who use a live file
 * must be on one host (no network file system).
 *
 * Disks. A live file never changes its size, and all of it is allocated when it is made: a full
 * disk is ENOSPC then, and never a SIGBUS later (but for what copies on write, such as Btrfs, files
 * with reflinks and thin volumes). A failed write to disk is final, because the kernel then forgets
 * what it had to write. Once a sync, or the opening or closing of a writer, has been told of it,
 * the file is poisoned: every lookup in every process answers "maybe", adds are refused, and
 * bloomfile_rescue() saves what is in memory.
 *
 * Was it new? A key is "not new" if it was added before, or is a false positive. Of several writers
 * that add the same new key at the same moment, at least one is told that it is new. With
 * BLOOMFILE_ADD_EXACT, exactly one of those who use that flag. It costs a lock, which a killed
 * process does not leave behind; a batch waits for all who add one by one, and is not favoured.
 *
 * Counts. n, ones and overflow in bloomfile_info are those of the last commits plus what this
 * handle has added since: advisory while other writers are at work. After all have closed they are
 * exact, n being the number of adds that were new; after a writer was killed, keys_estimated is 1.
 *
 * fork. A child may go on using the handles it inherits, and becomes a writer of its own by its
 * first add, which opens the file anew (it must be allowed to, and needs /proc). A handle that it
 * does not use it should close: a copy of the descriptor keeps the parent's locks. Descriptors are
 * closed by exec.
 */

/* Makes a live filter at `path`, atomically, and opens it for writing; params say how large:
 * `capacity` or `bits` must be given. path NULL: in memory only, for this process and its children;
 * memory is taken as it is touched.
 * flags: BLOOMFILE_REPLACE, BLOOMFILE_ADD_EXACT. Writers of a file that is replaced keep adding to
 * the old one (bloomfile_is_stale).
 * Errors as bloomfile_builder_new() and _finish(), with BLOOMFILE_ECAPACITY if neither capacity nor
 * bits is given; ENOSPC if the disk cannot hold all of it; those of bloomfile_open(). */
BLOOMFILE_API int bloomfile_create(bloomfile **out, const char *path,
                                   const struct bloomfile_params *params, unsigned flags);

/* Adds a key; *was_new (may be NULL) tells whether that changed the filter. In the counting layout
 * every add counts, of a key that is there too.
 * Errors: BLOOMFILE_EREADONLY, _EPOISONED, _ESEALED; with BLOOMFILE_ADD_EXACT those of fcntl; the
 * first time in a child of fork those of bloomfile_open(). After an error the key may or may not
 * have been added. */
BLOOMFILE_API int bloomfile_add(bloomfile *f, const void *key, size_t size, bool *was_new);

/* The same for a digest, made by bloomfile_hash() WITH THE FILTER'S SEED. */
BLOOMFILE_API int bloomfile_add_digest(bloomfile *f, bloomfile_digest digest, bool *was_new);

/* n keys, one after the other, several times faster than one by one on filters larger than the
 * caches. was_new[i] is set for each, *new_keys to how many were; both may be NULL. Errors as
 * bloomfile_add(). */
BLOOMFILE_API int bloomfile_add_many(bloomfile *f, const struct bloomfile_key *keys, size_t n,
                                     bool *was_new, size_t *new_keys);
BLOOMFILE_API int bloomfile_add_digests(bloomfile *f, const bloomfile_digest *digests, size_t n,
                                        bool *was_new, size_t *new_keys);

/* Takes back one add of a key, in the counting layout. Only for adds that were made: a key that is
 * certainly not there is refused (BLOOMFILE_EABSENT) and nothing changes, but one that is a false
 * positive cannot be told from one that was added, and removing it may lose other keys. For the
 * same reason a removal that was cut off by the death of its process or machine must not be
 * repeated (what it leaves are false positives), and an add that was cut off must be, before the
 * key may be removed. A counter that has reached 15 stays there: its keys may never go away, and
 * are never lost.
 * Errors: BLOOMFILE_ENOTCOUNTING, _EABSENT; those of bloomfile_add() and fcntl. */
BLOOMFILE_API int bloomfile_remove(bloomfile *f, const void *key, size_t size);

/* Writes all adds to disk: those that returned before this call are there, by whichever handle they
 * were made, when it returns 0. An error of msync poisons the file (see above); any other may be
 * tried again.
 * Errors: BLOOMFILE_EREADONLY, _EPOISONED, _ESEALED; those of msync, fcntl and write. */
BLOOMFILE_API int bloomfile_sync(bloomfile *f);

/* Seals the filter in place: its pages get checksums and nothing is ever added again. The handle
 * stays open, for reading. EBUSY if there are other writers. A crash leaves the file live or
 * sealed; one whose sealing was cut off in the middle of the last write, which readers refuse as
 * BLOOMFILE_ERECORD, is completed when it is next opened with BLOOMFILE_WRITE (which says
 * BLOOMFILE_ESEALED).
 * Errors as bloomfile_sync(); one of that last write comes after the filter is sealed, as
 * bloomfile_get_info() tells. BLOOMFILE_EBODY if the body has bits beyond m, which nobody sets. */
BLOOMFILE_API int bloomfile_seal(bloomfile *f);

/* Writes a sealed copy of a filter to `path`, as bloomfile_builder_finish() does. The source may be
 * live and in use: the copy has every key whose add returned before this call, and the source is
 * synced, so that no page of it can have been lost. A sealed source is verified.
 * Errors as bloomfile_builder_finish(); BLOOMFILE_EPAGE, _EBODY, _EPOISONED for the source; those
 * of msync. */
BLOOMFILE_API int bloomfile_seal_to(const char *path, const bloomfile *f, unsigned flags);

/* The same for a counting filter, as a classic one a quarter the size: a bit is set where a counter
 * is above 0. It answers exactly as a classic filter with the same keys. Errors as
 * bloomfile_seal_to(); BLOOMFILE_ENOTCOUNTING. */
BLOOMFILE_API int bloomfile_project(const char *path, const bloomfile *f, unsigned flags);

/* Writes what a live filter's memory holds to a new live file, poisoned or not, which must not
 * exist. If it is poisoned, pages that the kernel has dropped since the failed write are as they
 * were on disk, so the new file is BLOOMFILE_EUNCLEAN: what was added since the last good sync
 * should be added again. If it turns out to be lost only now, that is an error: call it again.
 * Errors as bloomfile_builder_finish(); BLOOMFILE_ESEALED; those of msync. */
BLOOMFILE_API int bloomfile_rescue(const bloomfile *f, const char *path);

/* ------------------------------------------------------------------------- folding and merging
 *
 * A filter folds by every divisor of its number of blocks (classic: bits, counting: counters): so
 * many adjacent ones become one. The result is, byte for byte, the body that the same keys make at
 * that size, a counter being at most 15; k stays. Filters of different sizes merge at the greatest
 * size that all of them fold to.
 *
 * Sources are verified first, those that are live are synced, and all are left as they are. The
 * result is sealed, and made as by bloomfile_builder_finish(); it may replace a source. Of memory a
 * thousandth of the result is needed, for its checksums, and 256 KiB for each live source.
 */

/* What folding by a factor would make. This struct never changes. */
struct bloomfile_fold_choice {
    uint64_t factor;     /* 1: as it is */
    uint64_t bits;       /* m afterwards */
    uint64_t image_size; /* bytes of the file */
    uint64_t ones;       /* one bits, or counters above 0 */
    double fpr;          /* the real false-positive rate of those bits, as in bloomfile_measure */
    double fpr_more;     /* the rate to expect when `more` further keys have been added */
};

/* Computes what folding by each possible factor would make, from the bits, in one pass over the
 * body: all factors in ascending order, the first *count of them in choices[] (which may be NULL).
 * Sets *count to how many there are; with choices NULL that is all.
 * Errors: ENOMEM; BLOOMFILE_EPAGE, _EBODY, _EPOISONED; those of msync. */
BLOOMFILE_API int bloomfile_fold_plan(const bloomfile *src, uint64_t more,
                                      struct bloomfile_fold_choice *choices, size_t *count);

/* Writes the filter folded by `factor` to dst; flags as bloomfile_builder_finish().
 * Errors: BLOOMFILE_EFACTOR; those of bloomfile_seal_to(). */
BLOOMFILE_API int bloomfile_fold(const char *dst, const bloomfile *src, uint64_t factor,
                                 unsigned flags);

enum bloomfile_merge_op {
    BLOOMFILE_UNION = 1,        /* has the keys of all sources; counters are added */
    BLOOMFILE_INTERSECTION = 2, /* has the keys that all have, and more false positives than a
                                   filter built of these; not of counting filters */
};

struct bloomfile_merge_params {
    size_t struct_size;
    uint32_t op;       /* enum bloomfile_merge_op; 0: BLOOMFILE_UNION */
    uint32_t reserved; /* 0 */
    double max_fpr;    /* union: refuse a result whose real rate is above this, by more than chance
                          (3 standard errors); 0: the greatest that the sources record; 1: never */
    uint64_t keys;     /* distinct keys of the result, if known; 0: see below */
    const char *label; /* of the result; NULL: none */
    uint8_t tag[BLOOMFILE_TAG_SIZE]; /* of the result */
};
#define BLOOMFILE_MERGE_PARAMS_INIT BLOOMFILE_INIT_(struct bloomfile_merge_params)

/* Merges `count` filters (at least 1) into dst; params may be NULL for all defaults; flags as
 * bloomfile_builder_finish(). The number of keys of a union in which at most one source has any is
 * that one's; otherwise, unless params->keys tells, it is estimated from the bits and marked so.
 * Errors: those of bloomfile_compatible(); BLOOMFILE_ERATEPASSED; BLOOMFILE_ECOUNTING;
 * BLOOMFILE_EPARAMS; BLOOMFILE_ELABEL; BLOOMFILE_ERATE; those of bloomfile_seal_to(), and
 * bloomfile_status() tells which source is damaged. */
BLOOMFILE_API int bloomfile_merge(const char *dst, const bloomfile *const *srcs, size_t count,
                                  const struct bloomfile_merge_params *params, unsigned flags);

/* 0 if the two can be merged, whatever their sizes; otherwise in what they differ, the first of
 * BLOOMFILE_EDIFFERENTLAYOUT, _EDIFFERENTHASH, _EDIFFERENTHASHES, _EDIFFERENTSEED. */
BLOOMFILE_API int bloomfile_compatible(const bloomfile *a, const bloomfile *b);

/* The bytes of the body that m uses, and their number; format-spec.md tells what they mean. Valid
 * while the handle is open; those of a live filter change as keys are added. bloomfile_verify()
 * tells whether they are sound. */
BLOOMFILE_API const void *bloomfile_body(const bloomfile *f, size_t *size);

/* ------------------------------------------------------------------- filters without a file
 *
 * For engines that keep a filter in a few bytes of their own: one for each data block of 20 to 40
 * keys, say, where a header would be larger than the filter. A view is a shape (layout, m, k); the
 * bytes are the caller's, at any alignment, and are passed to each call, so one view serves any
 * number of bodies of its shape. Digests are made by bloomfile_hash(). Only plain loads and stores:
 * many threads may look up, while nobody adds.
 *
 *     struct bloomfile_view view;
 *     int err = bloomfile_view_for(&view, 0, n, 0.01);
 *     ...
 *     uint8_t *blob = calloc(1, view.size + BLOOMFILE_TRAILER_SIZE);
 *     bloomfile_view_add_digests(&view, blob, digests, n);
 *     bloomfile_view_seal(&view, seed, blob);                      // blob is self-describing now
 *     ...
 *     struct bloomfile_view found;
 *     bloomfile_view_open(&found, seed, blob, size);               // "maybe" to all if it fails
 *     if (bloomfile_view_contains_digest(&found, blob, bloomfile_hash(seed, key, length)))
 *         read_the_data_block();
 *
 * A body alone says nothing of its shape and has no checksum: then both are the caller's business.
 * The compact form, a body and a trailer of 8 bytes, has both (format-spec.md, annex B).
 */

/* Made by the functions below, may be copied within the process, needs no release. This struct
 * never changes. */
struct bloomfile_view {
    uint32_t layout;    /* enum bloomfile_layout; 0: unknown, everything is "maybe" */
    uint32_t hashes;    /* k */
    uint64_t bits;      /* m */
    size_t size;        /* bytes of the body: (m + 7) / 8, counting (m + 1) / 2 */
    const void *kernel; /* the library's own, chosen once in a process */
};

/* The shape for n keys at rate fpr. `layout` 0: classic, with the exact m, as long as the body is
 * smaller than 1 KiB, where whole blocks would take up to three times the bits (and save 2 ns of a
 * lookup); else blocked. For 20 to 1600 keys the rates are those of bloomfile_fpr_for()
 * (bench/README.md). Takes the time of bloomfile_bits_for(): for many filters, compute bits a key
 * and k once and use bloomfile_view_init().
 * Errors: BLOOMFILE_ELAYOUT, _ECAPACITY (n not in 1 to 2^60), _ERATE, _EUNREACHABLE, _ETOOBIG; the
 * view then is one that answers "maybe" to everything. */
BLOOMFILE_API int bloomfile_view_for(struct bloomfile_view *out, uint32_t layout, uint64_t n,
                                     double fpr);

/* The shape of these numbers (layout not 0). Errors: BLOOMFILE_ELAYOUT, _EBITS, _EHASHES, _ETOOBIG,
 * and a view of "maybe". */
BLOOMFILE_API int bloomfile_view_init(struct bloomfile_view *out, uint32_t layout, uint64_t bits,
                                      uint32_t hashes);

/* Adds n digests to a body of view->size bytes, which was all zeros before the first; it is the
 * caller's alone meanwhile. Counting: every add counts, of equal digests too. */
BLOOMFILE_API void bloomfile_view_add_digests(const struct bloomfile_view *view, void *body,
                                              const bloomfile_digest *digests, size_t n);

/* false: the key of this digest was certainly not added. true: it may have been. */
BLOOMFILE_API bool bloomfile_view_contains_digest(const struct bloomfile_view *view,
                                                  const void *body, bloomfile_digest digest);

/* n digests at once; hits[i] is set for each, hits may be NULL. Returns the number of hits. */
BLOOMFILE_API size_t bloomfile_view_contains_digests(const struct bloomfile_view *view,
                                                     const void *body,
                                                     const bloomfile_digest *digests, size_t n,
                                                     bool *hits);

#define BLOOMFILE_TRAILER_SIZE 8u

/* Completes the compact form: writes the trailer into the 8 bytes behind the body. `seed` is that
 * of the digests added. */
BLOOMFILE_API void bloomfile_view_seal(const struct bloomfile_view *view, uint64_t seed,
                                       void *blob);

/* Takes the shape from a compact form of `size` bytes, whose body is then used where it lies:
 * `blob` is the body in the calls above. The checksum of all of it is verified, and that it was
 * made with this seed by a library that hashes as this one does: about 20 ns for 50 bytes, 50 ns
 * for 1 KB. Errors: BLOOMFILE_ECOMPACT (damaged, cut short, of another seed, or no such thing at
 * all); BLOOMFILE_EVERSION, _EHASH, _ELAYOUT, _EBITS, _EHASHES (of a writer that knows more than
 * this one); BLOOMFILE_ETOOBIG. *out then answers "maybe" to everything, so a caller who reports
 * nothing may ignore the error. */
BLOOMFILE_API int bloomfile_view_open(struct bloomfile_view *out, uint64_t seed, const void *blob,
                                      size_t size);

/* -------------------------------------------------------------------------------- inspecting */

/* The header's contents. O(1): nothing here is computed from the body. Of a live filter the commit
 * record is read anew each time. */
struct bloomfile_info {
    size_t struct_size;
    uint32_t version;         /* of the format */
    uint32_t header_size;     /* 4096 in a file, 512 in an embedded image */
    uint32_t compat;          /* feature words */
    uint32_t ro_compat;
    uint32_t incompat;
    uint32_t provenance;      /* BLOOMFILE_FROM_* */
    uint32_t layout;          /* enum bloomfile_layout; any number in a header that is not valid */
    uint32_t hash_id;         /* 1: XXH3, 64 bits */
    uint32_t hashes;          /* k */
    uint32_t state;           /* enum bloomfile_state, of the commit record in force */
    uint64_t bits;            /* m */
    uint64_t bits_unfolded;   /* m before folding; equal to bits if never folded */
    uint64_t seed;
    uint64_t self_test;
    uint64_t body_offset;     /* bytes from the start of the image */
    uint64_t body_size;       /* bytes, a multiple of 64 */
    uint64_t image_size;      /* bytes: header, body and page checksums */
    uint64_t pages;           /* of 4096 bytes in the body, the last one perhaps shorter */
    uint64_t capacity;        /* keys it was sized for */
    double fpr;               /* the rate it was sized for; 0: none recorded */
    uint64_t sequence;        /* of the commit record in force */
    uint64_t keys;            /* n: distinct keys; live or once so: adds that were new */
    uint64_t ones;            /* one bits; counting: counters above 0 */
    uint64_t overflow;        /* counting: counters stuck at 15 */
    uint64_t bad_pages;       /* found on this handle so far */
    uint32_t keys_estimated;  /* 1: `keys` is an estimate */
    uint32_t body_crc;
    uint8_t tag[BLOOMFILE_TAG_SIZE];
    uint8_t boot_id[16];      /* live files: the boot during which it was last written */
    char label[BLOOMFILE_MAX_LABEL + 1];
    uint8_t reserved[3];      /* 0 */
    uint32_t writers;         /* live files: handles open for writing, and those killed while the
                                 others went on */
};
#define BLOOMFILE_INFO_INIT BLOOMFILE_INIT_(struct bloomfile_info)

/* Fills *info, up to info->struct_size bytes. */
BLOOMFILE_API void bloomfile_get_info(const bloomfile *f, struct bloomfile_info *info);

/* What the bits themselves say. Reads the whole body. */
struct bloomfile_measure {
    size_t struct_size;
    uint64_t ones;          /* one bits; counting: counters above 0 */
    double fill;            /* ones / m */
    double fpr;             /* the real false-positive rate of these bits, exactly */
    double keys_estimate;   /* n, from the ones (Swamidass & Baldi 2007); infinite if full */
};
#define BLOOMFILE_MEASURE_INIT BLOOMFILE_INIT_(struct bloomfile_measure)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* of g++: the struct has the function's name */
/* Computes *out from the body. The rate is exact for this body and keys never added: for blocked
 * the mean over blocks of (ones in the block / 512)^k, otherwise (ones / m)^k. Damage is not looked
 * for. Error: BLOOMFILE_EPARAMS (struct_size). */
BLOOMFILE_API int bloomfile_measure(const bloomfile *f, struct bloomfile_measure *out);
#pragma GCC diagnostic pop

/* Splits the body into `cells` equal stretches and sets fill[i] to the fraction of one bits
 * (nonzero counters) in stretch i, 0 to 1; a cell with no bit of its own takes its neighbour's.
 * Reads the whole body. Error: BLOOMFILE_EPARAMS if cells is 0. */
BLOOMFILE_API int bloomfile_measure_map(const bloomfile *f, double *fill, size_t cells);

/* One thing that is wrong with a file. */
struct bloomfile_fault {
    int error;          /* BLOOMFILE_E* */
    uint64_t offset;    /* of the first byte concerned, from the start of the image */
    uint64_t page;      /* BLOOMFILE_EPAGE: the page's number, from 0; else UINT64_MAX */
    const char *field;  /* the field's name in format-spec.md ("k", "record 0", "page"); static */
};

/* Reads and checks the whole body: page checksums, body checksum, counts, padding. Damage becomes
 * the sticky error, and *fault (may be NULL) tells the first. From then on damaged pages answer
 * "maybe"; after BLOOMFILE_EBODY, which no page can be blamed for, every lookup does.
 * threads: to work with, at most 1024; 0 or 1: the caller's alone. What is found does not depend on
 * them. SIGBUS (see above) may come in any of them.
 * Errors: BLOOMFILE_EPAGE, _EBODY; BLOOMFILE_ELIVE if the filter is live, BLOOMFILE_EPARAMS
 * (threads), and nothing is checked. */
BLOOMFILE_API int bloomfile_verify(const bloomfile *f, unsigned threads,
                                   struct bloomfile_fault *fault);

/* Decodes and checks the header of an image, whole or damaged; never reads the body. `size` is the
 * image's size; only the first min(size, 4096) bytes are touched. Fills *info (may be NULL) with
 * what the bytes say, right or wrong; zero where there are no bytes. Fills up to *count faults, in
 * the order of the checks, and sets *count to how many there are in all (faults and count may both
 * be NULL). Returns the first fault's error, which is what bloomfile_open_memory() would return but
 * for BLOOMFILE_ELIVE and _EPOISONED (not faults of the bytes), or 0. */
BLOOMFILE_API int bloomfile_inspect(const void *bytes, size_t size, struct bloomfile_info *info,
                                    struct bloomfile_fault *faults, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
