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
 * This header builds, opens and asks filters. Beside it, each complete in itself: bloomfile_live.h
 * (adding in place), bloomfile_combine.h (folding, merging), bloomfile_delta.h (patches),
 * bloomfile_view.h (tiny filters without a file), bloomfile_inline.h (lookups compiled into the
 * caller), bloomfile_inspect.h (sizing, measuring, verifying). The bytes: format-spec.md.
 *
 * The one rule. A wrong "maybe" costs a disk read, a wrong "no" loses a row. So a file that is
 * damaged or not understood is refused when it is opened. Damage found later turns the answers that
 * depend on it into "maybe", and bloomfile_damage() reports it.
 *
 * Errors. Functions that can fail return 0, an errno value (> 0) or one of BLOOMFILE_E* (< 0; see
 * doc/errors.md). bloomfile_error_kind() groups them by what a caller does about them. A lookup
 * cannot fail. A new handle or a destination is the first parameter (after
 * a builder), other outputs are the last. After a failure a handle is NULL; other outputs are
 * unchanged unless a function says otherwise.
 *
 * Ownership. A handle is closed, a builder freed, and an image from this library goes to
 * bloomfile_free(); all three take NULL. Strings returned are static.
 *
 * Threads. Functions that take a const bloomfile_filter, the adds, the removals and
 * bloomfile_sync() may run on one handle in any number of threads at once; anything else needs its
 * handle to itself. The library starts threads only where a parameter says how many, never prints,
 * aborts or catches signals. Do not cut a call short, by pthread_cancel() or by longjmp() out of a
 * signal handler, and make none in such a handler: locks would stay held and adds uncounted, and
 * bloomfile_seal() would take the filter for damaged. Lookups in a single sealed filter are exempt,
 * as after SIGBUS.
 *
 * Cost of an open handle. Sealed: one mapping, no descriptor (a copy of more than 2 MiB: up to
 * three mappings). Live: two mappings and one descriptor. Series: the same for each layer, plus one
 * mapping. Heap: 1 KB per filter or layer, plus 3 bits per 4 KiB of body (ribbon: 35 bits). Stack:
 * up to 4 KB for a lookup, 10 KB for a batch, 6 KB for an add, 21 KB for bloomfile_verify(); in a
 * series, 21 KB for a batch of lookups and 64 KB for a batch of adds.
 *
 * fork. A child may use the handles that it inherits (live ones: bloomfile_live.h). A builder's
 * temporary files are shared: if both go on adding to it, finishing it may be EIO.
 *
 * Structs that begin with struct_size may grow: initialise them with their *_INIT macro (a size
 * that no version has is BLOOMFILE_ESTRUCTSIZE). Of members that only the caller's header has, an
 * older library sets those of outputs to 0, and refuses those of inputs that are not 0. Structs
 * without it never change.
 *
 * Replace files by renaming a new one over them, which leaves readers' mappings whole. Never write
 * to a sealed file in place. Truncating a mapped file takes its bytes away from the readers
 * (SIGBUS). Overwriting changes them: no page is checked twice, so a lookup may say a wrong "no"
 * until bloomfile_check() notices.
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
/* clang-format off */
#define BLOOMFILE_INIT_(type) { .struct_size = sizeof(type) }
/* clang-format on */
#endif

#define BLOOMFILE_MAX_HASHES     64u          /* k: positions per key */
#define BLOOMFILE_MAX_BITS       (1ULL << 60) /* m: bits, or counters in the counting layout */
#define BLOOMFILE_MAX_LABEL      112u         /* bytes of UTF-8 */
#define BLOOMFILE_TAG_SIZE       16u
#define BLOOMFILE_WATERMARK_SIZE 32u

/* ------------------------------------------------------------------------------------ errors
 *
 * The values of errors never change. Their hundreds are the kind, so the kind of an error that a
 * later version adds is known too. Each stands below with the text of bloomfile_strerror().
 */

/* What the caller does about an error. */
enum bloomfile_error_kind {
    BLOOMFILE_KIND_NONE = 0,     /* no error */
    BLOOMFILE_KIND_SYSTEM = 1,   /* retry, or change the system; every errno but EBUSY */
    BLOOMFILE_KIND_DAMAGED = 2,  /* rebuild it or copy it again; trust no answer */
    BLOOMFILE_KIND_FOREIGN = 3,  /* another file, hash, tag or kind of keys belongs here */
    BLOOMFILE_KIND_NEWER = 4,    /* a later version of the library is needed */
    BLOOMFILE_KIND_STATE = 5,    /* reopen the filter, or wait; EBUSY too */
    BLOOMFILE_KIND_USAGE = 6,    /* a bug in the caller */
    BLOOMFILE_KIND_CAPACITY = 7, /* the filter is full, or a rate or size is out of reach */
};

enum bloomfile_error {
    /* BLOOMFILE_KIND_SYSTEM */
    BLOOMFILE_EFILESYSTEM = -1101, /* a live filter cannot be shared on this file system */
    BLOOMFILE_ENOBOOT = -1102,     /* the current boot cannot be identified (no boot_id in /proc) */
    /* BLOOMFILE_KIND_DAMAGED */
    BLOOMFILE_EEMPTY = -1201,     /* the file is empty */
    BLOOMFILE_ETEXTMODE = -1202,  /* damaged by a text-mode transfer (line ends were changed) */
    BLOOMFILE_EFORM = -1203,      /* the header size is neither 512 nor 4096 */
    BLOOMFILE_EHEADER = -1204,    /* the header is damaged (checksum mismatch) */
    BLOOMFILE_EHASHCOUNT = -1205, /* the number of hashes k is out of range (1 to 64) */
    BLOOMFILE_EBITS = -1206,      /* the number of bits m is out of range for the layout */
    BLOOMFILE_EOFFSET = -1207,    /* the body's offset or size does not follow from m */
    BLOOMFILE_ECAPACITY = -1208,  /* the capacity is out of range (at least 1) */
    BLOOMFILE_ERATE = -1209,      /* the false-positive rate is out of range (0 < rate < 1) */
    BLOOMFILE_EUNFOLDED = -1210,  /* the size before folding is not a multiple of m */
    BLOOMFILE_ELABEL = -1211,     /* the label is not clean UTF-8 of at most 112 bytes */
    BLOOMFILE_ESLICE = -1212,     /* the header of the slice contradicts itself */
    BLOOMFILE_ETRUNCATED = -1213, /* the file is truncated */
    BLOOMFILE_ETRAILING = -1214,  /* the file has extra bytes at the end */
    BLOOMFILE_ERECORD = -1215,    /* a commit record is damaged */
    BLOOMFILE_ESTATE = -1216,     /* a commit record contradicts its state */
    BLOOMFILE_EPAGE = -1217,      /* a page of the body is damaged (checksum mismatch) */
    BLOOMFILE_EBODY = -1218,      /* the body contradicts the header (checksum, count or padding) */
    BLOOMFILE_EMISSINGLAYER = -1219, /* a layer of the series is missing */
    BLOOMFILE_EPATCH = -1220,        /* not a filter patch, or damaged */
    BLOOMFILE_ENOTCOMPACT = -1221,   /* not a compact filter, damaged, or made with another seed */
    /* BLOOMFILE_KIND_FOREIGN */
    BLOOMFILE_EMAGIC = -1301,           /* not a filter file */
    BLOOMFILE_ENOTREGULAR = -1302,      /* not a regular file */
    BLOOMFILE_EHASH = -1303,            /* its hash function is unknown, or an application's own */
    BLOOMFILE_ESELFTEST = -1304,        /* this build hashes differently from the writer */
    BLOOMFILE_ESERIES = -1305,          /* a layer does not fit into its series */
    BLOOMFILE_EDIFFERENTLAYOUT = -1306, /* the layouts differ */
    BLOOMFILE_EDIFFERENTHASH = -1307,   /* the hash functions differ */
    BLOOMFILE_EDIFFERENTHASHCOUNT = -1308, /* the numbers of hashes k differ */
    BLOOMFILE_EDIFFERENTSEED = -1309,      /* the seeds differ */
    BLOOMFILE_EDIFFERENTBITS = -1310,      /* the numbers of bits m differ */
    BLOOMFILE_EDIFFERENTFORM = -1311,      /* one is a file, the other an embedded image */
    BLOOMFILE_EDIFFERENTBASE = -1312,      /* the patch was made for another filter */
    BLOOMFILE_EINCOMPLETE =
        -1313, /* the slices are not all of one filter, or not of the same keys */
    BLOOMFILE_EDIFFERENTTAG = -1314, /* the tag is not the expected one */
    /* BLOOMFILE_KIND_NEWER */
    BLOOMFILE_EVERSION = -1401, /* written in a newer format version */
    BLOOMFILE_EFEATURE = -1402, /* needs a feature this version does not know */
    BLOOMFILE_ELAYOUT = -1403,  /* unknown layout */
    /* BLOOMFILE_KIND_STATE */
    BLOOMFILE_EPOISONED = -1501, /* poisoned: a write to disk failed, the file cannot be trusted */
    BLOOMFILE_ELIVE = -1502,     /* live, no checksums: seal it first (bfseal) */
    BLOOMFILE_ESEALED = -1503,   /* sealed: it can no longer be changed */
    BLOOMFILE_EUNCLEAN = -1504,  /* the machine, or a writer in a sync, died while it was written */
    BLOOMFILE_EREPLACED = -1505, /* replaced or removed while it was in use */
    BLOOMFILE_ECHANGED = -1506,  /* overwritten while it was open */
    /* BLOOMFILE_KIND_USAGE */
    BLOOMFILE_ESTRUCTSIZE = -1601,  /* unknown struct_size: initialise the struct with its _INIT */
    BLOOMFILE_EFLAGS = -1602,       /* unknown or contradictory flags */
    BLOOMFILE_EVALUE = -1603,       /* invalid value of a parameter */
    BLOOMFILE_EREADONLY = -1604,    /* not opened for writing */
    BLOOMFILE_ENOTCOUNTING = -1605, /* not of the counting layout */
    BLOOMFILE_EISCOUNTING = -1606,  /* counting filters cannot be intersected */
    BLOOMFILE_EISSERIES = -1607,    /* a series of layers, where one filter is needed */
    BLOOMFILE_EISSLICE = -1608,     /* a slice, where a whole filter is needed */
    BLOOMFILE_EISRIBBON = -1609, /* a ribbon filter cannot be changed, folded, merged or patched */
    BLOOMFILE_EABSENT = -1610,   /* the key is certainly not in the filter */
    BLOOMFILE_EFACTOR = -1611,   /* the factor does not divide the number of blocks, or bits */
    /* BLOOMFILE_KIND_CAPACITY */
    BLOOMFILE_EFULL = -1701,        /* over capacity */
    BLOOMFILE_EOVERRATE = -1702,    /* the result's false-positive rate would pass the limit */
    BLOOMFILE_EUNREACHABLE = -1703, /* no size reaches this false-positive rate for so many keys */
    BLOOMFILE_ETOOBIG = -1704,      /* the filter is too big for this machine's address space */
};

/* The words for any value a function here returned: 0, an errno, a BLOOMFILE_E*. Never NULL. */
BLOOMFILE_API const char *bloomfile_strerror(int error);

/* "BLOOMFILE_EMAGIC" and so on; an errno's symbol ("ENOENT") where known. Never NULL. */
BLOOMFILE_API const char *bloomfile_errname(int error);

/* The kind of an error that a function here returned: enum bloomfile_error_kind. */
BLOOMFILE_API int bloomfile_error_kind(int error);

/* The parameter, or member of a struct, that the last BLOOMFILE_ESTRUCTSIZE, _EFLAGS or _EVALUE of
 * this thread is about ("bits"); "" before the first. Static. */
BLOOMFILE_API const char *bloomfile_invalid(void);

BLOOMFILE_API const char *bloomfile_version(void); /* of the library in use, "0.1.0" */

/* ------------------------------------------------------------------------------- basic types */

typedef struct bloomfile_filter bloomfile_filter;
typedef struct bloomfile_builder bloomfile_builder;

typedef uint64_t bloomfile_digest; /* of a key: all that a filter knows of it */

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
        3, /* as classic with 4-bit counters; four times the size, can forget */
    BLOOMFILE_LAYOUT_RIBBON = 4, /* equations in pages; a third smaller, only built and looked up */
};

/* The digest of a key: XXH3_64bits_withSeed(key, size, seed). `key` may be NULL when size is 0. */
BLOOMFILE_API bloomfile_digest bloomfile_hash(uint64_t seed, const void *key, size_t size);

/* Releases an image that a function of this library made. */
BLOOMFILE_API void bloomfile_free(void *image);

/* -------------------------------------------------------------------------------- destinations
 *
 * A function that writes a filter or a patch takes a pointer to a destination. An inline function
 * below fills one, and `kind` says which members count. Fill it before each call:
 *
 *     struct bloomfile_destination to = bloomfile_to_path("urls.bloom", 0);
 *     int error = bloomfile_builder_write(builder, &to);
 *
 * A file, a descriptor and a callback get the same bytes, with a header of 4096. A filter in memory
 * is an embedded image with a header of 512; sealed series and patches have one form everywhere.
 *
 * Only a path is published atomically. The bytes for a descriptor or a callback are made in a
 * temporary file in the folder `spool` and copied at the end: if the copy fails, some may have been
 * written.
 *
 * BLOOMFILE_ESTRUCTSIZE: no version has that struct_size. BLOOMFILE_EFLAGS: flags are unknown, or
 * the kind has none. BLOOMFILE_EVALUE: the kind is unknown, the path or `write` is NULL, the memory
 * is NULL and the size is not 0, or a reserved member is not 0.
 */

enum bloomfile_to_kind {
    BLOOMFILE_TO_PATH = 1,     /* a file at `path` */
    BLOOMFILE_TO_FD = 2,       /* the open file, pipe or socket `fd` */
    BLOOMFILE_TO_MEMORY = 3,   /* new memory, or the `size` bytes at `memory` */
    BLOOMFILE_TO_CALLBACK = 4, /* calls of `write` */
};

#define BLOOMFILE_TO_REPLACE 0x100u /* a flag for paths: replace an existing file */

/* A callback that gets the next bytes of the result, in order, up to 1 MiB at a time. It returns 0,
 * or the error that the call is to return; it is not called again after that. */
typedef int bloomfile_writer(void *context, const void *bytes, size_t size);

struct bloomfile_destination {
    size_t struct_size;
    uint32_t kind;  /* enum bloomfile_to_kind */
    uint32_t flags; /* BLOOMFILE_TO_REPLACE, for a path; else 0 */
    const char *path;
    int fd;       /* the caller's; used only during the call */
    int reserved; /* 0 */
    void *memory;
    size_t size; /* bytes */
    bloomfile_writer *write;
    void *context;     /* for `write` */
    const char *spool; /* for temporary files; NULL: $TMPDIR, or /tmp */
    uint64_t more[4];  /* 0 */
};
#define BLOOMFILE_DESTINATION_INIT BLOOMFILE_INIT_(struct bloomfile_destination)

/* A file, which appears whole or not at all, and is on disk when the call returns 0.
 *   path   of the file. A symbolic link is followed.
 *   flags  BLOOMFILE_TO_REPLACE, or 0: an existing path is EEXIST.
 *
 * Only a regular file is replaced (else BLOOMFILE_ENOTREGULAR, EISDIR), and neither a mount point
 * (EBUSY) nor the first file of a live series that has others (BLOOMFILE_ESERIES;
 * bloomfile_unlink() removes them all). The new file takes over permissions and access control list
 * of the old one, and owner and group where allowed; no user gains a right.
 *
 * A failure leaves nothing behind and the old file untouched. If only the last step fails, the
 * fsync of the directory, the new file is in place nevertheless. Other errors are those of open,
 * read, write, fsync, link and rename.
 *
 * The temporary file has no name or, where that cannot be (NFS, vfat, FUSE, no /proc),
 * ".bloomfile.XXXXXXXXXXXX.tmp". If a signal kills the process, a named temporary file stays. On a
 * local disk the next process that creates a filter in the folder removes it. Elsewhere remove it
 * by hand, or let bloomfile_stop_with() end the call on a signal. */
static inline struct bloomfile_destination bloomfile_to_path(const char *path, unsigned flags)
{
    struct bloomfile_destination to = BLOOMFILE_DESTINATION_INIT;
    to.kind = BLOOMFILE_TO_PATH;
    to.path = path;
    to.flags = flags;
    return to;
}

/* An open file, from its own offset, a pipe or a socket. Errors: EBADF, and those of write and of
 * the temporary file. */
static inline struct bloomfile_destination bloomfile_to_fd(int fd)
{
    struct bloomfile_destination to = BLOOMFILE_DESTINATION_INIT;
    to.kind = BLOOMFILE_TO_FD;
    to.fd = fd;
    return to;
}

/* New memory. The call sets `memory` and `size`: release it with bloomfile_free(). After an error
 * they are NULL and 0. It is aligned to 64 bytes. */
static inline struct bloomfile_destination bloomfile_to_memory(void)
{
    struct bloomfile_destination to = BLOOMFILE_DESTINATION_INIT;
    to.kind = BLOOMFILE_TO_MEMORY;
    return to;
}

/* The caller's memory. The call sets `size` to the bytes it has used.
 *   buffer  aligned to 64 bytes: otherwise the call needs as much memory again, and copies. Its
 *           contents are undefined after an error.
 *   size    of the buffer in bytes. If it is too small, the call writes nothing and returns ERANGE:
 *           `size` is the number of bytes needed, and `memory` is NULL. */
static inline struct bloomfile_destination bloomfile_to_buffer(void *buffer, size_t size)
{
    struct bloomfile_destination to = BLOOMFILE_DESTINATION_INIT;
    to.kind = BLOOMFILE_TO_MEMORY;
    to.memory = buffer;
    to.size = size;
    return to;
}

/* A function of the caller's.
 *   write    is called in the thread of the call.
 *   context  for `write`. */
static inline struct bloomfile_destination bloomfile_to_callback(bloomfile_writer *write,
                                                                 void *context)
{
    struct bloomfile_destination to = BLOOMFILE_DESTINATION_INIT;
    to.kind = BLOOMFILE_TO_CALLBACK;
    to.write = write;
    to.context = context;
    return to;
}

/* ------------------------------------------------------------------------------------ sources
 *
 * A function that reads a filter or a patch takes a pointer to a source. An inline function below
 * fills one, and `kind` says which members count:
 *
 *     struct bloomfile_source from = bloomfile_from_path("monday.patch");
 *     int error = bloomfile_get_patch_info(&from, &info);
 *
 * BLOOMFILE_ESTRUCTSIZE: no version has that struct_size. BLOOMFILE_EVALUE: the kind is unknown,
 * the path is NULL, the memory is NULL and the size is not 0, or a reserved member is not 0.
 */

enum bloomfile_from_kind {
    BLOOMFILE_FROM_PATH = 1,     /* the file at `path` */
    BLOOMFILE_FROM_FD = 2,       /* `length` bytes at `offset` of the open file `fd` */
    BLOOMFILE_FROM_MEMORY = 3,   /* `size` bytes at `memory` */
    BLOOMFILE_FROM_CALLBACK = 4, /* reserved: BLOOMFILE_EVALUE */
};

#define BLOOMFILE_FROM_REST UINT64_MAX /* a length: up to the end of the file */
#define BLOOMFILE_FROM_HERE UINT64_MAX /* an offset: the descriptor's own, as for a pipe */

struct bloomfile_source {
    size_t struct_size;
    uint32_t kind;     /* enum bloomfile_from_kind */
    uint32_t reserved; /* 0 */
    const char *path;
    int fd;        /* the caller's; used only during the call */
    int reserved2; /* 0 */
    uint64_t offset;
    uint64_t length;
    const void *memory; /* the caller's; see the function for how long it must last */
    size_t size;
    uint64_t more[4]; /* 0 */
};
#define BLOOMFILE_SOURCE_INIT BLOOMFILE_INIT_(struct bloomfile_source)

/* The file at a path. */
static inline struct bloomfile_source bloomfile_from_path(const char *path)
{
    struct bloomfile_source from = BLOOMFILE_SOURCE_INIT;
    from.kind = BLOOMFILE_FROM_PATH;
    from.path = path;
    return from;
}

/* Bytes of an open file.
 *   offset  of the first byte. BLOOMFILE_FROM_HERE reads from the descriptor's own offset, and
 *           moves it: this is for patches, also from a pipe, and not for opening a filter.
 *   length  in bytes. BLOOMFILE_FROM_REST: all bytes up to the end. */
static inline struct bloomfile_source bloomfile_from_fd(int fd, uint64_t offset, uint64_t length)
{
    struct bloomfile_source from = BLOOMFILE_SOURCE_INIT;
    from.kind = BLOOMFILE_FROM_FD;
    from.fd = fd;
    from.offset = offset;
    from.length = length;
    return from;
}

/* Bytes in memory. */
static inline struct bloomfile_source bloomfile_from_memory(const void *memory, size_t size)
{
    struct bloomfile_source from = BLOOMFILE_SOURCE_INIT;
    from.kind = BLOOMFILE_FROM_MEMORY;
    from.memory = memory;
    from.size = size;
    return from;
}

/* ---------------------------------------------------------------------------------- building
 *
 * A builder collects the digests of any number of keys, 8 bytes each, and makes a sealed filter of
 * the exact size at the end. Equal keys count once. Same keys, same parameters, same bytes,
 * whatever the order, the threads or the memory. Digests beyond `memory` go to temporary files: 8
 * bytes a key, or up to 24 for a classic or counting filter many times larger than that.
 *
 * A set that is built once and never changes is a third smaller with BLOOMFILE_LAYOUT_RIBBON: 6.9
 * bits a key at 1%, where blocked has 10, and 31.5 at 1e-9, where it has 80. A lookup reads one
 * page, in about two lines, and takes about twice as long; building takes about 30 ns a key more.
 * Its filters are sealed from the beginning. Live filters and views of this layout, folding,
 * merging and patches are BLOOMFILE_EISRIBBON. An open filter takes up to 4 bytes of memory for
 * each page.
 */

/* Hash functions. An engine that has a good 64-bit hash of each key already need not compute a
 * second one: it builds and looks up by these digests. It chooses a number for its function
 * (BLOOMFILE_APP_HASH_FIRST or above, best at random: nobody assigns them) and a self test: a value
 * that the function yields, such as its hash of a fixed string under the filter's seed. Both are in
 * the filter, and whoever opens it for lookups names them (bloomfile_open_with()), so a changed
 * function is detected, and another engine's of the same number. Functions that take keys do not
 * work with such a filter: lookups answer "maybe" and set the error BLOOMFILE_EHASH, the others
 * return it. Bits are chosen by the topmost bits of a digest and of its products, so every bit of a
 * digest must be as good as random. Two keys of one digest are one key. */
#define BLOOMFILE_HASH_XXH3      1u /* bloomfile_hash() */
#define BLOOMFILE_APP_HASH_FIRST 0x80000000u

struct bloomfile_params {
    size_t struct_size;
    uint32_t layout;   /* enum bloomfile_layout; 0: BLOOMFILE_LAYOUT_BLOCKED */
    uint32_t hashes;   /* k; 0: the best for m (or fpr) and capacity. ribbon: 0 */
    uint64_t capacity; /* keys to size for; 0: a builder counts, at least 1 */
    double fpr;        /* rate to size for, in (0, 1); 0: 0.01 if bits is 0 */
    uint64_t bits;     /* m; 0: from capacity and fpr. blocked, ribbon: a multiple of 512 */
    uint64_t seed;     /* of the hash; 0 unless an adversary chooses the keys */
    const char *label; /* UTF-8, at most BLOOMFILE_MAX_LABEL bytes; or NULL */
    uint8_t tag[BLOOMFILE_TAG_SIZE];             /* the caller's own, for example the SSTable's: see
                                                    BLOOMFILE_EXPECT_TAG */
    uint8_t watermark[BLOOMFILE_WATERMARK_SIZE]; /* the caller's own: see bloomfile_sync() */
    uint32_t framing, framing_size; /* how keys were cut from an input: bloomfile_inspect.h */
    uint64_t self_test;             /* of hash_id; 0 without */
    uint32_t hash_id;               /* of an application's own function; 0: bloomfile_hash() */

    /* For new live filters only: BLOOMFILE_EVALUE elsewhere, unless 0. See bloomfile_live.h. */
    uint32_t
        series; /* BLOOMFILE_SERIES_GROW, or the number of generations, 2 to 1000; 0: one filter */
    uint64_t period; /* seconds that a generation lasts; 0: until it has `capacity` keys */

    /* For builders only: BLOOMFILE_EVALUE elsewhere, unless 0. */
    uint32_t threads; /* to work with, at most 1024; 0: the caller's alone */
    uint32_t slices;  /* of which `slice` is built, from 0; 0: the whole. See bloomfile_combine.h */
    uint32_t slice;
    uint32_t over_capacity; /* 1: finish even if the rate is over twice its target; else 0 */
    const char *spool;      /* for temporary files; NULL: $TMPDIR, or /tmp */
    uint64_t memory;        /* bytes to take, about; 1 MiB if less; 0: as many as there are. ribbon:
                               up to 1.2 MiB for each thread come on top */
};
#define BLOOMFILE_PARAMS_INIT BLOOMFILE_INIT_(struct bloomfile_params)

/* Makes a builder; *params is copied, NULL means all defaults. With params->threads above 1, any
 * number of threads may add keys at once.
 * Errors: BLOOMFILE_ESTRUCTSIZE; BLOOMFILE_EVALUE, and bloomfile_invalid() names the member;
 * BLOOMFILE_EUNREACHABLE of a slice; ENOMEM. */
BLOOMFILE_API int bloomfile_builder_new(bloomfile_builder **out,
                                        const struct bloomfile_params *params);

/* Adds a key, or faster n of them, or n digests made by bloomfile_hash() WITH THE SEED OF THE
 * PARAMS. Errors: ENOMEM, those of a temporary file, BLOOMFILE_EHASH of keys that only the
 * application can hash. After an error keys are missing, so counting and finishing return it. */
BLOOMFILE_API int bloomfile_builder_add(bloomfile_builder *b, const void *key, size_t size);
BLOOMFILE_API int bloomfile_builder_add_many(bloomfile_builder *b, const struct bloomfile_key *keys,
                                             size_t n);
BLOOMFILE_API int bloomfile_builder_add_digests(bloomfile_builder *b,
                                                const bloomfile_digest *digests, size_t n);

/* Sets *count to the number of distinct digests so far. Reads them all, if any were added since
 * the last call. Errors as bloomfile_builder_add(). */
BLOOMFILE_API int bloomfile_builder_count(bloomfile_builder *b, uint64_t *count);

/* Replaces the tag of the params, for an identity that is known only after the last row. */
BLOOMFILE_API void bloomfile_builder_set_tag(bloomfile_builder *b,
                                             const uint8_t tag[BLOOMFILE_TAG_SIZE]);

/* Builds the filter and writes it. The builder may then add more keys and write again. A
 * destination without `spool` uses that of the params. Returns 0, an error of an earlier add,
 * ENOMEM, an error of the destination, or one of
 *
 *   BLOOMFILE_EFULL         too many keys: the expected rate is over twice the target (fpr, or if
 *                           that is 0 the rate at capacity). over_capacity = 1 accepts it
 *   BLOOMFILE_EUNREACHABLE  no size reaches the rate
 *   BLOOMFILE_ETOOBIG       too big for memory
 *   BLOOMFILE_EISSLICE      a slice in memory: it has no embedded form
 *   BLOOMFILE_EBODY         a page of the layout ribbon does not answer to all its keys: this
 *                           machine computes wrongly */
BLOOMFILE_API int bloomfile_builder_write(bloomfile_builder *b, struct bloomfile_destination *to);

BLOOMFILE_API void bloomfile_builder_free(bloomfile_builder *b);

/* A callback that can end a long call. It returns 0 to let the call go on, or the error that the
 * call is to return. It must not close or free anything the call uses. Once it has returned an
 * error, it must keep returning that error. */
typedef int bloomfile_stop(void *context);

/* Lets this thread end its own long calls, for example if the handler of a signal has set a flag.
 * Calls that write a filter, from keys or from other filters, to a path, a descriptor or memory,
 * call stop(context) in this thread after every few MiB, before the filter gets its name, and if a
 * signal interrupts a wait for input. A call that is ended leaves nothing behind, as after any
 * error.
 *   stop     NULL, the default: nothing ends them.
 *   context  for `stop`; the caller's. */
BLOOMFILE_API void bloomfile_stop_with(bloomfile_stop *stop, void *context);

/* ----------------------------------------------------------------------------------- opening
 *
 * Opening validates the whole header against the file and does not read the body. By default a
 * page's checksum is checked the first time a lookup touches the page; a page that fails answers
 * "maybe" from then on, and bloomfile_damage() is BLOOMFILE_EPAGE. Damage that comes later, when a
 * page has left memory and a bad disk gives back another, is a silent "no" until bloomfile_verify()
 * finds it: a long-lived handle calls that from time to time, or keeps what was checked by
 * BLOOMFILE_OPEN_LOCK or BLOOMFILE_OPEN_COPY.
 *
 * A page that is not in memory is read when a lookup first needs it, and nothing around it: 4 KiB
 * at most for an absent key (blocked, ribbon), and as much of checksums for each 4 MiB of body. A
 * batch has its pages read side by side. A disk that fails then, or a file that somebody truncates,
 * is SIGBUS in the thread that reads.
 */

/* Flags. No version uses bits 28 to 31: wrappers may. */
#define BLOOMFILE_OPEN_VERIFY_FULL    1u    /* read and check the whole body now */
#define BLOOMFILE_OPEN_VERIFY_NONE    2u    /* never check the body: something else does */
#define BLOOMFILE_OPEN_WRITE          4u    /* for adding: see bloomfile_live.h */
#define BLOOMFILE_OPEN_ACCEPT_UNCLEAN 8u    /* live: adds since the last sync may be lost */
#define BLOOMFILE_OPEN_ADD_EXACT      16u   /* with WRITE: one adder of a new key is told */
#define BLOOMFILE_OPEN_SOLE_ADDER     1024u /* in memory: one thread adds at a time */
#define BLOOMFILE_OPEN_OVER_CAPACITY  2048u /* with WRITE: accept keys over capacity */

/* Where the bytes are in memory. What cannot be had is an error of open; bench/README.md has times.
 *
 * PREFAULT reads the file and maps its pages before open returns: later lookups wait for no disk,
 * until memory is short. A writer's first add to each page still takes a fault. Errors: EIO if the
 * disk fails or the file shrinks meanwhile (before Linux 5.14 that can still be SIGBUS); EHWPOISON;
 * ENOMEM.
 *
 * LOCK also keeps the pages in memory (mlock) until the handle is closed, but not for a child of
 * fork. Errors also: EPERM, or ENOMEM beyond RLIMIT_MEMLOCK.
 *
 * COPY reads the file into memory of this handle alone, in huge pages where the system has them
 * (transparent_hugepage: madvise or always). No truncation and no failing disk reaches it any more,
 * and lookups take a fifth to a third less time. Pages are verified as they would be in the file.
 * The filter must be sealed (BLOOMFILE_ELIVE: a copy would not see adds). With LOCK the copy is
 * locked; PREFAULT adds nothing. Errors: those of read; BLOOMFILE_ETRUNCATED; ENOMEM. */
#define BLOOMFILE_OPEN_PREFAULT 32u
#define BLOOMFILE_OPEN_LOCK     64u
#define BLOOMFILE_OPEN_COPY     128u

/* Opens a filter file: sealed, live, or the first file of a series. Without BLOOMFILE_OPEN_WRITE
 * for reading; lookups in a live filter then see every add as soon as it is made, and its body has
 * no checksums. The filter must use the library's own hash: the call is bloomfile_open_with() with
 * BLOOMFILE_EXPECT_HASH and BLOOMFILE_HASH_XXH3.
 * Errors: those of open, fstat, read and mmap; EISDIR; BLOOMFILE_ENOTREGULAR; BLOOMFILE_EFLAGS for
 * unknown or contradictory flags; every BLOOMFILE_E* from EEMPTY to EPOISONED; of a
 * series BLOOMFILE_ESERIES, _EMISSINGLAYER; BLOOMFILE_ELIVE for
 * BLOOMFILE_OPEN_VERIFY_FULL of a live one; BLOOMFILE_EUNCLEAN, _EFILESYSTEM and _ENOBOOT of a live
 * one (bloomfile_live.h); with BLOOMFILE_OPEN_VERIFY_FULL also _EPAGE and _EBODY; ENOMEM;
 * BLOOMFILE_ETOOBIG; those of the flags above. With BLOOMFILE_OPEN_WRITE also BLOOMFILE_ESEALED;
 * EBUSY while it is being sealed; those of fcntl, write and msync. */
BLOOMFILE_API int bloomfile_open(bloomfile_filter **out, const char *path, unsigned flags);

/* What the caller expects of a filter: bits of bloomfile_open_params.expect. A filter that differs
 * is refused before anything is mapped or changed. */
#define BLOOMFILE_EXPECT_TAG    1u /* its tag; else BLOOMFILE_EDIFFERENTTAG */
#define BLOOMFILE_EXPECT_SEED   2u /* its seed; else BLOOMFILE_EDIFFERENTSEED */
#define BLOOMFILE_EXPECT_SEALED 4u /* no live filter; else BLOOMFILE_ELIVE */
#define BLOOMFILE_EXPECT_HASH   8u /* its hash; else BLOOMFILE_EHASH, BLOOMFILE_ESELFTEST */

/* Why one file of a series is to blame for an error: bloomfile_open_report.reason. */
enum bloomfile_reason {
    BLOOMFILE_REASON_NONE = 0,         /* `error` says all */
    BLOOMFILE_REASON_FILE = 1,         /* the file cannot be used: see file_error */
    BLOOMFILE_REASON_MISSING = 2,      /* no file, or a symbolic link to none */
    BLOOMFILE_REASON_NOT_FIRST = 3,    /* the file that was named is a later layer of a series */
    BLOOMFILE_REASON_NOT_A_LAYER = 4,  /* a filter of its own */
    BLOOMFILE_REASON_OTHER_SERIES = 5, /* a layer of another series */
    BLOOMFILE_REASON_WRONG_LAYER = 6,  /* layer `found`, where layer `layer` belongs */
    BLOOMFILE_REASON_OLDER_COPY = 7,   /* a copy from when the layer was the newest */
    BLOOMFILE_REASON_NOT_NEXT = 8,     /* not sealed together with the layers before it */
    BLOOMFILE_REASON_HARD_LINK = 9,    /* the file has a second name */
    BLOOMFILE_REASON_MOUNT_POINT = 10, /* the file is mounted from another folder */
};

/* Which file, and what in it, an error is about. */
struct bloomfile_open_report {
    size_t struct_size;
    int error;             /* the error that the function returned */
    int file_error;        /* that of the file: an errno or BLOOMFILE_E* */
    int reason;            /* enum bloomfile_reason */
    uint32_t reserved;     /* 0 */
    uint64_t slot;         /* of a live series: 0 for PATH, 1 for PATH.1, and so on */
    uint64_t layer;        /* number of the layer that should be there */
    uint64_t found;        /* number of the layer that is there, for WRONG_LAYER */
    uint64_t image_offset; /* of a sealed series: where the layer begins, from its first byte */
    uint64_t offset;       /* where `field` is, from there */
    const char *field;     /* name in format-spec.md; NULL: no field is to blame */
    char path[4096];       /* of the file; "" for a descriptor or memory */
};
#define BLOOMFILE_OPEN_REPORT_INIT BLOOMFILE_INIT_(struct bloomfile_open_report)

struct bloomfile_open_params {
    size_t struct_size;
    uint32_t flags;  /* BLOOMFILE_OPEN_* */
    uint32_t expect; /* BLOOMFILE_EXPECT_* */
    uint8_t tag[BLOOMFILE_TAG_SIZE];
    uint64_t seed;
    uint32_t hash_id;                        /* as in bloomfile_params; BLOOMFILE_HASH_XXH3 */
    uint32_t key_kind;                       /* 0 */
    uint64_t self_test;                      /* as in bloomfile_params; 0 for BLOOMFILE_HASH_XXH3 */
    uint64_t (*self_test_of)(uint64_t seed); /* not NULL: instead of self_test, for a function whose
                                                self test depends on the filter's seed */
    uint32_t key_size;                       /* 0 */
    uint32_t reserved;                       /* 0 */
    struct bloomfile_open_report *report;    /* filled after an error; may be NULL */
};
#define BLOOMFILE_OPEN_PARAMS_INIT BLOOMFILE_INIT_(struct bloomfile_open_params)

/* Opens a filter with expectations, from anywhere.
 *
 *     struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
 *     struct bloomfile_source from = bloomfile_from_path(path);
 *     how.expect = BLOOMFILE_EXPECT_TAG | BLOOMFILE_EXPECT_SEALED;
 *     memcpy(how.tag, table_id, sizeof how.tag);
 *     int error = bloomfile_open_with(&f, &from, &how);
 *
 *   out     receives the filter; NULL on error.
 *   from    A path, as for bloomfile_open(). A descriptor: the filter must occupy exactly
 *           `length` bytes at `offset` of a regular file; the descriptor may be closed after the
 *           call. A live filter must be the whole file, and not a series: else BLOOMFILE_ELIVE.
 *           Memory: a sealed filter, at any address. The bytes must not change and must outlive
 *           the handle; BLOOMFILE_OPEN_COPY lifts both, and aligns the copy. Prefer an address or
 *           offset that is a multiple of 64: a block of the layout blocked then lies in one cache
 *           line; elsewhere a lookup reads two, which in a large filter takes up to twice as long.
 *           Only a handle of a path goes stale.
 *   params  NULL: no flags, no expectations.
 *
 * Of a filter of an application's hash, lookups need BLOOMFILE_EXPECT_HASH: it names the function
 * that makes the digests. Opened without it, the handle is for everything else (folding, merging,
 * copying, sealing, verifying): each lookup answers "maybe" and sets the error BLOOMFILE_EHASH, and
 * each add returns that.
 *
 * Errors: those of bloomfile_open() and of the expectations. BLOOMFILE_EVALUE or _EFLAGS also for
 * BLOOMFILE_OPEN_WRITE without a path or with BLOOMFILE_EXPECT_SEALED; for BLOOMFILE_OPEN_PREFAULT
 * and _LOCK of memory without BLOOMFILE_OPEN_COPY; for an offset BLOOMFILE_FROM_HERE. */
BLOOMFILE_API int bloomfile_open_with(bloomfile_filter **out, const struct bloomfile_source *from,
                                      const struct bloomfile_open_params *params);

BLOOMFILE_API void bloomfile_close(bloomfile_filter *f); /* of a writer see bloomfile_live.h */

/* Whether it is time to open the path given to bloomfile_open() or _create() anew: it names another
 * file by now, or none; or the file has another size or header or, if it was opened sealed, other
 * times (ctime too, so a new mode or link counts); or it was live and is sealed now, so that pages
 * can be verified. False if that cannot be told, or if the handle has no path. */
BLOOMFILE_API bool bloomfile_is_stale(const bloomfile_filter *f);

/* The handle's sticky error, without a look at the file: an atomic load (of a series, one for each
 * layer), so a program may call it after each lookup. Returns 0, or an error of bloomfile_check()
 * that lookups and other calls on this handle have met so far. */
BLOOMFILE_API int bloomfile_damage(const bloomfile_filter *f);

/* Looks at the file, which lookups do not, and returns the handle's sticky error:
 *
 *   0                    nothing is known to be wrong
 *   BLOOMFILE_EPAGE      pages are damaged: all answers that depend on them were "maybe"
 *   BLOOMFILE_EBODY      the body contradicts the header: every answer is "maybe"
 *   BLOOMFILE_ECHANGED   the file was written to in place while it was open (a live one can also be
 *                        BLOOMFILE_ERECORD): answers since then may be wrong, and every answer is
 *                        "maybe" from now on
 *   BLOOMFILE_EPOISONED  a writer of the file failed to write it to disk
 *   BLOOMFILE_EUNCLEAN   a writer of the file died in a sync
 *   EBADF                the application closed the descriptor of a live filter; its number may
 *                        belong to another file by now, and nothing is written to that file
 *   BLOOMFILE_EHASH      a key was looked up whose digest is unknown: its hash is an
 *                        application's (see bloomfile_params.hash_id)
 *
 * The look compares the header with the one that was opened. For a sealed file that was opened by
 * path without BLOOMFILE_OPEN_COPY it also compares size and times with those before the opening.
 * Another size or mtime is BLOOMFILE_ECHANGED, so a plain touch is, too. Another ctime alone
 * (chmod, link, or cp --preserve over the file) is no error: each page is checked again before the
 * next answer relies on it, and bloomfile_recheck() checks those that earlier answers relied on. If
 * the path names another file, that is bloomfile_is_stale().
 *
 * It cannot detect a write that leaves the header and these times unchanged: within one tick of the
 * file system's clock (up to 10 ms; vfat 2 s) of the last write before the opening; through a
 * shared mapping to a page that is already dirty, or to any page of a tmpfs; to the open file after
 * the path names another file, or none; on a network file system, until its server knows of it. It
 * also cannot detect a write outside the header of a file that was opened live and sealed since,
 * or bytes that were changed and restored when only ctime shows it.
 *
 * Takes 2 to 8 us; on a network file system a round trip. */
BLOOMFILE_API int bloomfile_check(const bloomfile_filter *f);

/* Like bloomfile_check(), but for answers already given: call it after the last lookup and before
 * using the answers. If ctime has changed, it also checks again the pages that answers relied on,
 * and no others. If such a page is wrong now, the error is BLOOMFILE_ECHANGED. */
BLOOMFILE_API int bloomfile_recheck(const bloomfile_filter *f);

BLOOMFILE_API uint64_t
bloomfile_seed(const bloomfile_filter *f); /* that its digests are made with */

/* ----------------------------------------------------------------------------------- looking up */

/* false: the key is certainly not in the set. true: it may be. A digest is made by bloomfile_hash()
 * WITH THE FILTER'S SEED. */
BLOOMFILE_API bool bloomfile_contains(const bloomfile_filter *f, const void *key, size_t size);
BLOOMFILE_API bool bloomfile_contains_digest(const bloomfile_filter *f, bloomfile_digest digest);

/* n keys at once, several times faster than one by one on filters larger than the caches. hits[i]
 * is set for each key; hits may be NULL. Returns the number of hits. */
BLOOMFILE_API size_t bloomfile_contains_many(const bloomfile_filter *f,
                                             const struct bloomfile_key *keys, size_t n,
                                             bool *hits);
BLOOMFILE_API size_t bloomfile_contains_digests(const bloomfile_filter *f,
                                                const bloomfile_digest *digests, size_t n,
                                                bool *hits);

#ifdef __cplusplus
}
#endif

#endif
