/* SPDX-License-Identifier: MIT
 *
 * Filters with typed keys, for the extensions of SQLite and PostgreSQL.
 *
 * No function here ends by longjmp, so a caller that reports errors by longjmp does it afterwards.
 */
#ifndef BLOOMFILE_SQL_FILTER_H
#define BLOOMFILE_SQL_FILTER_H

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sql_key {
    uint32_t kind; /* BLOOMFILE_KEYS_TEXT, _INTEGERS or _BYTES; _UNKNOWN: not a type of keys */
    const void *data;
    size_t size;
    int64_t integer; /* of which `data` is the address */
};

struct sql_filter {
    bloomfile_filter *handle;
    struct bloomfile_info info;
};

/* Makes *key an integer. It refers to itself, so it is not returned by value. */
static inline void sql_key_integer(struct sql_key *key, int64_t value)
{
    key->kind = BLOOMFILE_KEYS_INTEGERS;
    key->integer = (int64_t)htole64((uint64_t)value);
    key->data = &key->integer;
    key->size = sizeof key->integer;
}

/* ----------------------------------------------------------------------------------- opening */

/* Opens a filter of a source. Sealed filters only: a live filter has no checksums, and its answers
 * change during a statement. */
static inline int sql_open(struct sql_filter *f, const struct bloomfile_source *from,
                           unsigned flags)
{
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = flags;
    how.expect = BLOOMFILE_EXPECT_SEALED;
    int error = bloomfile_open_with(&f->handle, from, &how);
    if (error != 0)
        return error;
    f->info = (struct bloomfile_info)BLOOMFILE_INFO_INIT;
    error = bloomfile_get_info(f->handle, &f->info);
    if (error != 0) {
        bloomfile_close(f->handle);
        f->handle = NULL;
    }
    return error;
}

static inline int sql_open_image(struct sql_filter *f, const void *bytes, size_t size,
                                 unsigned flags)
{
    const struct bloomfile_source from = bloomfile_from_memory(bytes, size);
    return sql_open(f, &from, flags);
}

/* Opens an open file, whose status becomes *status, and closes the descriptor. */
static inline int sql_open_fd(struct sql_filter *f, int fd, struct stat *status)
{
    const struct bloomfile_source from = bloomfile_from_fd(fd);
    int error = fstat(fd, status) == 0 ? 0 : errno;
    if (error == 0)
        error = sql_open(f, &from, 0);
    close(fd);
    return error;
}

/* Flags to open a file with: a link at its name could lead out of the folder, and opening a FIFO
 * could wait forever. */
#define SQL_OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* Returns whether a name stays within its folder. Names that begin with a dot are hidden files,
 * "." and "..". */
static inline bool sql_name_is_safe(const char *name, size_t size)
{
    return size > 0 && name[0] != '.' && !memchr(name, '/', size) && !memchr(name, 0, size);
}

/* Returns whether two statuses are those of one unchanged file. */
static inline bool sql_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Describes an error. ELOOP is a symbolic link, which SQL_OPEN_FLAGS refuse. */
static inline const char *sql_strerror(int error)
{
    if (error == ELOOP)
        return "symbolic links are refused";
    return error == BLOOMFILE_EEMPTY ? "it is empty" : bloomfile_strerror(error);
}

/* ----------------------------------------------------------------------------------- looking up */

/* Returns an error if a key does not fit a filter. Byte strings do not fit integers, because no
 * function of SQL makes the bytes of an integer key. */
static inline int sql_check_key(const struct sql_filter *f, const struct sql_key *key)
{
    const bool is_sized = key->kind == BLOOMFILE_KEYS_BYTES;
    const int error = bloomfile_check_keys(&f->info, key->kind, is_sized ? key->size : 0);
    const bool is_refused = is_sized && f->info.key_kind == BLOOMFILE_KEYS_INTEGERS;
    return error == 0 && is_refused ? BLOOMFILE_EKEYKIND : error;
}

/* Looks up a key in a filter of lower-case text. */
static inline int sql_contains_lower(const struct sql_filter *f, const struct sql_key *key,
                                     bool *maybe)
{
    char small[256];
    const char *from = key->data;
    char *to = key->size <= sizeof small ? small : malloc(key->size);
    if (!to)
        return ENOMEM;
    for (size_t i = 0; i < key->size; i++)
        to[i] = (char)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] + ('a' - 'A') : from[i]);
    *maybe = bloomfile_contains(f->handle, to, key->size);
    if (to != small)
        free(to);
    return 0;
}

/* Looks up a key. Returns 0 and sets *maybe, or returns an error. SQL has no place for a sticky
 * error, so damage that made the answer "maybe" is an error. */
static inline int sql_contains(const struct sql_filter *f, const struct sql_key *key, bool *maybe)
{
    int error = sql_check_key(f, key);
    if (error == 0 && f->info.key_kind == BLOOMFILE_KEYS_LOWER)
        error = sql_contains_lower(f, key, maybe);
    else if (error == 0)
        *maybe = bloomfile_contains(f->handle, key->data, key->size);
    if (error == 0 && *maybe)
        error = bloomfile_damage(f->handle);
    return error;
}

/* ------------------------------------------------------------------------------------- building */

struct sql_build {
    bloomfile_builder *builder; /* NULL before sql_build_start() */
    uint32_t kind;              /* of all keys */
    uint32_t layout;
    double fpr;
};

/* Returns the layout of a name; 0 for an unknown name. */
static inline uint32_t sql_layout(const char *name, size_t size)
{
    const char *known;
    uint32_t layout = 1;
    while ((known = bloomfile_layout_name(layout)) &&
           (strlen(known) != size || memcmp(name, known, size) != 0))
        layout++;
    return known ? layout : 0;
}

#define SQL_BAD_OPTIONS                                                                            \
    "the rate is above 0 and below 1, and the layout is blocked, classic, counting or ribbon"

static inline bool sql_build_is_possible(const struct sql_build *build)
{
    return build->layout != 0 && build->fpr > 0 && build->fpr < 1;
}

/* Starts a build of keys of this kind, which may be unknown if there are no keys. */
static inline int sql_build_start(struct sql_build *build, uint32_t kind,
                                  struct bloomfile_params *params)
{
    params->key_kind = kind;
    params->layout = build->layout;
    params->fpr = build->fpr;
    build->kind = kind;
    return bloomfile_builder_new(&build->builder, params);
}

/* Adds a key. Returns BLOOMFILE_EKEYKIND if earlier keys are of another kind. */
static inline int sql_build_add(struct sql_build *build, const struct sql_key *key)
{
    return key->kind == build->kind ? bloomfile_builder_add(build->builder, key->data, key->size)
                                    : BLOOMFILE_EKEYKIND;
}

#endif
