/* SPDX-License-Identifier: MIT
 * The handle: a valid header, the mapped bytes, and the functions that read them. */
#ifndef BLOOMFILE_LIVE_HANDLE_H
#define BLOOMFILE_LIVE_HANDLE_H

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "format/header.h"
#include "format/layout.h"
#include "image/guard.h"
#include "image/new_image.h"
#include "kernel/kernel.h"
#include "live/session.h"
#include "os/file.h"
#include "os/map.h"
#include "publish/publish.h"

/* The identity of a file, and the values by which its changes are detected. */
struct file_looks {
    dev_t device;
    ino_t inode;
    off_t size;
    bool final;                        /* sealed when opened: its times do not change */
    struct timespec modified, touched; /* st_mtim and st_ctim */
};

/* The members of a handle that only live filters have. */
struct live {
    const uint8_t *header; /* mapped */
    struct session *session;
    int fd;                   /* owned by this handle */
    struct file_identity own; /* the file of `fd` */
    uint64_t limit;           /* of keys, for a writer: capacity_limit() */
    int finished;             /* result of bloomfile_finish() */
    atomic_bool writing;      /* one of the file's writers */
    bool in_memory;           /* a filter in memory, which ends with its processes */
    bool exact;               /* BLOOMFILE_OPEN_ADD_EXACT */
    bool alone;               /* BLOOMFILE_OPEN_SOLE_ADDER */
    bool turns;               /* BLOOMFILE_OPEN_ONE_THREAD, where turns save time */
    bool accept_unclean;      /* BLOOMFILE_OPEN_ACCEPT_UNCLEAN */
    atomic_bool incomplete;   /* unclean, because the layer before it is an older copy of itself */
    unsigned (*set)(uint8_t *body, uint64_t units, unsigned k,
                    uint64_t digest); /* adds one key by the kernel; NULL: use adding() */
};

/* The lookup functions while the guard has doubts. hits may be NULL. contains_many() returns the
 * number of hits.
 */
struct doubtful_lookup {
    bool (*contains)(const bloomfile_filter *f, uint64_t digest);
    size_t (*contains_many)(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                            bool *hits);
    bool (*contains_nowait)(const bloomfile_filter *f, uint64_t digest); /* also without doubts */
};

/* The images of a sealed filter: its layers, or itself. */
struct handle_images {
    bloomfile_filter *const *list;
    size_t count;
    bloomfile_filter *alone;
    bool layers;
};

struct adding_done;

/* The operations behind the public functions, for each kind of handle: sealed, live or a series. */
struct handle_operations {
    int (*add)(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
               struct adding_done *done); /* like adding(), but n may be 0 */
    int (*remove)(bloomfile_filter *f, uint64_t digest);
    int (*sync)(bloomfile_filter *f, const uint8_t *watermark);
    int (*finish)(bloomfile_filter *f);
    int (*seal)(bloomfile_filter *f, const uint8_t *watermark);
    int (*copy)(const bloomfile_filter *f, struct destination to,
                const struct bloomfile_metadata *m);
    int (*rescue)(const bloomfile_filter *f, const char *path, unsigned flags);
    int (*status)(const bloomfile_filter *f);
    void (*recheck)(const bloomfile_filter *f);
    bool (*is_stale)(const bloomfile_filter *f);
    void (*info)(const bloomfile_filter *f, struct bloomfile_info *info);
    int (*measure)(const bloomfile_filter *f, struct bloomfile_measurement *m);
    int (*verify)(const bloomfile_filter *f, unsigned threads, struct bloomfile_fault *fault);
    int (*images)(const bloomfile_filter *f,
                  struct handle_images *images); /* BLOOMFILE_ELIVE, _EISSERIES */
    void (*close)(bloomfile_filter *f);
};

struct series;

struct bloomfile_filter {
    struct kernel_view view; /* owns `shapes` */
    /* The lookup functions while the guard has no doubts: of the kernel, of a live file or of a
     * series. */
    bool (*contains)(const struct kernel_view *view, uint64_t digest);
    size_t (*contains_many)(const struct kernel_view *view, const uint64_t *digests, size_t n,
                            bool *hits);
    const struct doubtful_lookup *_Atomic doubtful; /* app_hash_unmade() may change it */
    const struct handle_operations *operations;
    const struct kernel *kernel;
    const uint8_t *state[2]; /* the `state` fields of a live file's two records, for lookups */
    struct guard *guard;     /* the only part that lookups may write */
    struct live *live;       /* NULL: sealed, or a series */
    struct series *series;   /* the layers, or NULL. The handle of a series has the header of the
                                first layer, and a guard that counts the doubts of all layers */
    struct header header;    /* as at opening */
    struct geometry geometry;
    struct map map;
    char *path;     /* NULL: not opened by path */
    int folder;     /* the folder's descriptor, if `path` goes through /proc/self/fd; else -1 */
    int reader;     /* a descriptor of a sealed file, for lookups that do not wait, or -1 */
    uint64_t start; /* offset of the image in the file of `reader` */
    struct file_looks file;   /* of `path` */
    struct replace_only only; /* the file that its results may replace: bloomfile_replace_only() */
    struct guard guard_storage;
};

/* Returns the handle that contains this `view`. */
static inline const bloomfile_filter *handle_of_view(const struct kernel_view *view)
{
    _Static_assert(offsetof(bloomfile_filter, view) == 0, "a handle begins with its view");
    return (const void *)view;
}

static inline bool handle_is_writing(const bloomfile_filter *f)
{
    return f->live != NULL && f->live->writing;
}

#endif
