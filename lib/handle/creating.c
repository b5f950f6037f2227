/* SPDX-License-Identifier: MIT
 * Creating live images. A file is complete and open before it gets its name. */
#include "handle/creating.h"
#include "format/invalid.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/decode.h"
#include "handle/closing.h"
#include "handle/opening.h"
#include "image/body.h"
#include "image/params.h"
#include "live/file_change.h"
#include "live/join.h"
#include "live/records.h"
#include "os/file.h"
#include "os/host.h"
#include "publish/publish.h"

int creating_plan(const struct bloomfile_params *given, struct header *h)
{
    struct bloomfile_params p = *given;
    if (p.capacity == 0 && p.bits == 0)
        return invalid(BLOOMFILE_EVALUE, "capacity");
    if (p.capacity == 0)
        params_fill(&p);
    int error = params_plan(&p, 0, GEOMETRY_FILE_HEADER, h);
    if (error == 0)
        creating_describe(h);
    return error;
}

void creating_describe(struct header *h)
{
    image_describe(h);
    struct record first = { .state = BLOOMFILE_STATE_LIVE, .sequence = 1 };
    memcpy(first.watermark, h->record.watermark, sizeof first.watermark);
    h->record = first;
}

/* Sets the size of a file in memory. Like malloc(), it uses memory only for pages that are touched,
 * but fails if the size exceeds what the system could ever provide. */
static int reserve_memory(int fd, uint64_t size)
{
    if (size > SIZE_MAX / 2)
        return BLOOMFILE_ETOOBIG;
    if (!file_size_is_allowed(size))
        return EFBIG;
    void *trial =
        mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return errno;
    munmap(trial, (size_t)size);
    return ftruncate(fd, (off_t)size) == 0 ? 0 : errno;
}

/* Writes an empty live image to the new file. Fails if a reader would refuse the header, for
 * example because the number of the layer is too large. */
static int lay_out(int fd, bool on_disk, struct header *h, uint64_t size)
{
    uint8_t bytes[HEADER_MAX];
    struct header decoded;
    struct header_faults faults = { 0 };
    int error = random_identity(h->record.identity, sizeof h->record.identity);
    if (error != 0)
        return error;
    header_encode(h, bytes);
    decode_header(bytes, size, &decoded, &faults);
    if (faults.first != 0)
        return faults.first;
    error = on_disk ? allocate_file(fd, size, true) : reserve_memory(fd, size);
    return error != 0 ? error : file_write(fd, 0, bytes, sizeof bytes);
}

/* Opens a writer of the new file. The caller keeps its descriptor. */
static int open_new(bloomfile_filter **out, int fd, const char *path, struct header *h,
                    unsigned flags)
{
    const uint64_t size = geometry_of(h->layout, h->m, h->header_size).image_size;
    struct map map;
    struct stat status;
    bloomfile_filter *f;
    int error = lay_out(fd, path != NULL, h, size);
    if (error == 0)
        error = map_file(&map, fd, 0, size, (struct map_wish){ .writable = true });
    if (error == 0)
        error = opening_new(&f, h, &map, &(struct opening){ .named = true });
    if (error != 0)
        return error;
    f->live->in_memory = path == NULL;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, FILE_LEAST);
    error = own < 0 ? errno : opening_join(f, own, flags);
    if (error == 0 && path != NULL)
        error = file_stat(own, &status);
    if (error == 0 && path != NULL)
        error = changed_note(f, path, &status);
    if (error != 0)
        handle_close(f);
    else
        *out = f;
    return error;
}

/* Opens a new file by its name, before a key is added. */
static int open_by_name(bloomfile_filter **f, const char *path, const struct header *made,
                        unsigned flags)
{
    const struct opening how = { .flags = flags | BLOOMFILE_OPEN_WRITE, .named = true };
    int none, error = opening_by_path(f, path, &how, &none);
    if (error != 0 || header_same_identity(&(*f)->header.record, &made->record))
        return error;
    handle_close(*f);
    *f = NULL;
    return EBUSY; /* another process replaced the file */
}

int creating_layer(const char *path, const char *like, struct header *h, bool replace)
{
    const uint64_t size = geometry_of(h->layout, h->m, h->header_size).image_size;
    struct publication *p;
    int fd, error = publish_start_like(&p, path, replace, like, &fd);
    if (error != 0)
        return error;
    error = lay_out(fd, true, h, size);
    if (error == 0)
        return publish_finish(p);
    publish_abandon(p);
    return error;
}

int creating_file(bloomfile_filter **out, const char *path, struct header *h, unsigned flags)
{
    return creating_after(out, path, h, flags, NULL, NULL);
}

/* On some file systems the name given by linkat() is a separate inode (filesystem_links_apart()).
 * Processes that open it cannot see the locks on the unnamed inode of this descriptor. There the
 * file gets its name without a writer, and is then opened by name. */
int creating_after(bloomfile_filter **out, const char *path, struct header *h, unsigned flags,
                   int (*before)(const void *), const void *context)
{
    const uint64_t size = geometry_of(h->layout, h->m, h->header_size).image_size;
    struct publication *p;
    bool apart;
    int fd, error = publish_start(&p, path, (flags & BLOOMFILE_TO_REPLACE) != 0, &fd);
    if (error != 0)
        return error;
    *out = NULL;
    error = filesystem_links_apart(fd, &apart);
    if (error == 0)
        error = apart ? lay_out(fd, true, h, size) : open_new(out, fd, path, h, flags);
    publish_call_before(p, before, context);
    if (error == 0)
        error = publish_finish(p);
    else
        publish_abandon(p);
    if (error == 0 && apart)
        return open_by_name(out, path, h, flags & ~BLOOMFILE_TO_REPLACE);
    if (error != 0) {
        handle_close(*out);
        *out = NULL;
    }
    return error;
}

int creating_memory(bloomfile_filter **out, struct header *h, unsigned flags)
{
    int fd = file_apart(memfd_create("bloomfile", MFD_CLOEXEC));
    if (fd < 0)
        return errno;
    int error = open_new(out, fd, NULL, h, flags);
    close(fd);
    return error;
}
