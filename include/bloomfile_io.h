/* SPDX-License-Identifier: MIT
 *
 * bloomfile: where bytes go and where they come from
 *
 * bloomfile.h includes this header. It also declares bloomfile_stop_with(), which ends long calls.
 */
#ifndef BLOOMFILE_PUBLIC_IO_H
#define BLOOMFILE_PUBLIC_IO_H

#include <bloomfile_error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* BLOOMFILE_INIT_(struct x): a value, all zero but for struct_size. */
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
#define BLOOMFILE_INIT_(type) ((type){ .struct_size = sizeof(type) })
#endif

/* -------------------------------------------------------------------------------- destinations
 *
 * A function that writes a filter or a patch takes a pointer to a destination. An inline function
 * below fills it; `kind` selects the members in use. Fill it before each call:
 *
 *     struct bloomfile_destination to = bloomfile_to_path("urls.bloom", 0);
 *     int error = bloomfile_builder_write(builder, &to);
 *
 * A file, a descriptor and a callback get the same bytes, with a header of 4096. A filter in memory
 * is an embedded image with a header of 512; sealed series and patches have one form everywhere.
 *
 * Only a path is published atomically. The bytes for a descriptor or a callback go to a temporary
 * file in the folder `spool` first. If copying them fails, some may have been written.
 *
 * BLOOMFILE_ESTRUCTSIZE: no version has that struct_size. BLOOMFILE_EFLAGS: flags are unknown, or
 * not for this kind. BLOOMFILE_EVALUE: the kind is unknown, the path or `write` is NULL, the buffer
 * is NULL and the size is not 0, the destination already has memory of an earlier call, or a
 * reserved member is not 0.
 */

enum bloomfile_to_kind {
    BLOOMFILE_TO_PATH = 1,     /* a file at `path` */
    BLOOMFILE_TO_FD = 2,       /* the open file, pipe or socket `fd` */
    BLOOMFILE_TO_MEMORY = 3,   /* new memory: the call sets `memory` and `size` */
    BLOOMFILE_TO_CALLBACK = 4, /* calls of `write` */
    BLOOMFILE_TO_BUFFER = 5,   /* the caller's `size` bytes at `memory` */
};

#define BLOOMFILE_TO_REPLACE 0x100u /* a flag for paths: replace an existing file */

/* A callback that gets the next bytes of the result, in order, up to 1 MiB at a time. It returns 0,
 * or the error that the call is to return. After an error it is not called again. */
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

/* A file. It appears whole or not at all, and is on disk when the call returns 0.
 *   path   of the file. A symbolic link is followed.
 *   flags  BLOOMFILE_TO_REPLACE, or 0: an existing path is EEXIST.
 *
 * Only a regular file is replaced (else BLOOMFILE_ENOTREGULAR, EISDIR), but not a mount point
 * (EBUSY) and not the first of several files of a live series (BLOOMFILE_ESERIES;
 * bloomfile_unlink() removes all). The error is also BLOOMFILE_ESERIES if PATH is missing, damaged
 * or unreadable, and PATH.1 is the second layer of such a series, has a header with a wrong
 * checksum, or may not be read. A series that has lost its first file cannot be opened; a new one
 * would hide the keys of the other layers. The new file gets the mode and the access control list
 * of the old file, its owner and group where allowed; no user gains a right.
 *
 * A failure leaves nothing behind and the old file untouched. If only the last step fails (the
 * fsync of the directory), the new file is in place anyway. Other errors are an errno of open,
 * read, write, fsync, link or rename.
 *
 * The temporary file has no name or, where that is impossible (NFS, vfat, FUSE, no /proc), the name
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

/* An open file (written from its own offset), a pipe or a socket; it may be non-blocking. The call
 * does not sync a file to disk: call fsync() afterwards. A write beyond RLIMIT_FSIZE raises
 * SIGXFSZ. Errors: EBADF if `fd` is not open; an errno of write() or of the temporary file. */
static inline struct bloomfile_destination bloomfile_to_fd(int fd)
{
    struct bloomfile_destination to = BLOOMFILE_DESTINATION_INIT;
    to.kind = BLOOMFILE_TO_FD;
    to.fd = fd;
    return to;
}

/* New memory, aligned to 64 bytes. The call sets `memory` and `size`; after an error they are NULL
 * and 0. Release the memory with bloomfile_free(). */
static inline struct bloomfile_destination bloomfile_to_memory(void)
{
    struct bloomfile_destination to = BLOOMFILE_DESTINATION_INIT;
    to.kind = BLOOMFILE_TO_MEMORY;
    return to;
}

/* The caller's buffer. The call sets `size` to the number of bytes used.
 *   buffer  aligned to 64 bytes; otherwise the call allocates a second buffer of this size, and
 *           copies. Its contents are undefined after an error.
 *   size    of the buffer in bytes. If it is too small, the call writes nothing and returns ERANGE:
 *           `size` is the number of bytes needed, and `memory` is NULL. Pass NULL and 0 to
 *           determine the size only. It need not be a multiple of 64: round it up for
 *           aligned_alloc(). */
static inline struct bloomfile_destination bloomfile_to_buffer(void *buffer, size_t size)
{
    struct bloomfile_destination to = BLOOMFILE_DESTINATION_INIT;
    to.kind = BLOOMFILE_TO_BUFFER;
    to.memory = buffer;
    to.size = size;
    return to;
}

/* A callback that receives the bytes. The call returns the callback's error, or an errno of the
 * temporary file.
 *   write    is called in the thread of the call.
 *   context  for `write`; the caller's. */
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
 * A function that reads a filter or a patch takes a source, which an inline function below fills:
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

/* The file at a path. The string must last until the call that reads it returns. */
static inline struct bloomfile_source bloomfile_from_path(const char *path)
{
    struct bloomfile_source from = BLOOMFILE_SOURCE_INIT;
    from.kind = BLOOMFILE_FROM_PATH;
    from.path = path;
    return from;
}

/* All bytes of an open file. To read only a part, set two members of the result:
 *   offset  of the first byte, here 0. BLOOMFILE_FROM_HERE reads from the descriptor's own offset,
 *           and moves it: use it for patches (also from a pipe), not for opening a filter.
 *   length  in bytes, here BLOOMFILE_FROM_REST: all bytes up to the end. */
static inline struct bloomfile_source bloomfile_from_fd(int fd)
{
    struct bloomfile_source from = BLOOMFILE_SOURCE_INIT;
    from.kind = BLOOMFILE_FROM_FD;
    from.fd = fd;
    from.length = BLOOMFILE_FROM_REST;
    return from;
}

/* Bytes in memory, at any address. `memory` may be NULL when size is 0. */
static inline struct bloomfile_source bloomfile_from_memory(const void *memory, size_t size)
{
    struct bloomfile_source from = BLOOMFILE_SOURCE_INIT;
    from.kind = BLOOMFILE_FROM_MEMORY;
    from.memory = memory;
    from.size = size;
    return from;
}

/* ------------------------------------------------------------------------ ending long calls */

/* A callback that can end a long call. It returns 0 to let the call go on, or the error that the
 * call is to return. It must not close or free anything the call uses. Once it has returned an
 * error, it must keep returning that error. */
typedef int bloomfile_stop(void *context);

/* Lets this thread end its own long calls, for example after a signal handler has set a flag. Calls
 * that write a filter or a patch, from keys or from filters, to a path, a descriptor or memory,
 * call stop(context) in this thread: after every few MiB, before a filter gets its name, and if a
 * signal interrupts a wait for input. Opening, verifying, planning and syncing never call it. A
 * call that is ended returns the error of stop(context) and, as after any error, leaves nothing
 * behind.
 *
 *   stop     NULL, the default: calls are not ended.
 *   context  for `stop`; the caller's. */
BLOOMFILE_API void bloomfile_stop_with(bloomfile_stop *stop, void *context);

#ifdef __cplusplus
}
#endif

#endif
