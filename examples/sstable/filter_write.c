/* SPDX-License-Identifier: MIT */
#include "filter_write.h"
#include "files.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum {
    PAGE = 4096
};

int filter_writer_start(struct filter_writer *w, const struct bloomfile_params *params)
{
    w->params = *params;
    w->merged = -1;
    return bloomfile_builder_new(&w->builder, params);
}

int filter_writer_merge(struct filter_writer *w, const char *directory,
                        const bloomfile *const *filters, size_t count)
{
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    memcpy(params.tag, w->params.tag, sizeof params.tag);
    params.spool = directory;
    const int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd == -1)
        return errno;
    const int error = bloomfile_merge_fd(fd, filters, count, &params);
    if (error != 0) {
        close(fd);
        return error;
    }
    bloomfile_builder_free(w->builder);
    w->builder = NULL;
    w->merged = fd;
    return 0;
}

int filter_writer_add(struct filter_writer *w, const void *key, size_t size)
{
    return w->builder == NULL ? 0 : bloomfile_builder_add(w->builder, key, size);
}

static int publish_merged(int fd, const char *path)
{
    bloomfile *filter;
    int error = bloomfile_open_fd(&filter, fd, 0, BLOOMFILE_TO_END, 0);
    if (error == 0)
        error = bloomfile_seal_to(path, filter, BLOOMFILE_REPLACE);
    bloomfile_close(filter);
    return error;
}

int filter_writer_publish(struct filter_writer *w, const char *path)
{
    return w->builder == NULL ? publish_merged(w->merged, path)
                              : bloomfile_builder_finish(w->builder, path, BLOOMFILE_REPLACE);
}

/* ---- embedded */

/* The filter's body begins with a page of the file, so that a lookup touches one page of it. */
static int seek_image(int fd, uint64_t header_size, struct footer *footer)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end == -1)
        return errno;
    const uint64_t body = ((uint64_t)end + header_size + PAGE - 1) / PAGE * PAGE;
    footer->image_offset = body - header_size;
    return lseek(fd, (off_t)footer->image_offset, SEEK_SET) == -1 ? errno : 0;
}

static int copy_merged(int from, int to)
{
    off_t offset = 0;
    for (;;) {
        const ssize_t copied = sendfile(to, from, &offset, 1 << 20);
        if (copied == 0)
            return 0;
        if (copied == -1 && errno != EINTR)
            return errno;
    }
}

/* With the header of a file, 4096 bytes. */
static int embed_merged(struct filter_writer *w, int fd, struct footer *footer)
{
    const int error = seek_image(fd, 4096, footer);
    return error != 0 ? error : copy_merged(w->merged, fd);
}

/* With the header of an embedded filter, 512 bytes. */
static int embed_built(struct filter_writer *w, int fd, struct footer *footer)
{
    void *image;
    size_t size;
    int error = bloomfile_builder_finish_memory(w->builder, &image, &size);
    if (error == 0)
        error = seek_image(fd, 512, footer);
    if (error == 0)
        error = write_all(fd, image, size);
    free(image);
    return error;
}

int filter_writer_embed(struct filter_writer *w, int fd, struct footer *footer)
{
    const int error = w->builder == NULL ? embed_merged(w, fd, footer) : embed_built(w, fd, footer);
    const off_t end = lseek(fd, 0, SEEK_CUR);
    if (error != 0 || end == -1)
        return error != 0 ? error : errno;
    footer->image_size = (uint64_t)end - footer->image_offset;
    return 0;
}

void filter_writer_end(struct filter_writer *w)
{
    bloomfile_builder_free(w->builder);
    if (w->merged != -1)
        close(w->merged);
}
