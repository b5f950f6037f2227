/* SPDX-License-Identifier: MIT
 * bad-disk-check PATH KEYS...: KEYS are the numbers of keys that the filter must have of each
 * writer. Prints
 *
 * open NAME       the result of opening it for reading
 * missing N...    if it was opened: keys whose lookup returns "no"
 * status NAME     after that
 * verify NAME     if it is sealed
 * raw N...        keys that lack bits in the file, ignoring its header */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bloomfile_inspect.h>
#include <bloomfile_view.h>

#include "keys.h"

typedef bool contains(const void *filter, bloomfile_digest digest);

struct raw {
    struct bloomfile_view view;
    const unsigned char *body;
};

static bool handle_contains(const void *filter, bloomfile_digest digest)
{
    return bloomfile_contains_digest(filter, digest);
}

static bool raw_contains(const void *filter, bloomfile_digest digest)
{
    const struct raw *raw = filter;
    return bloomfile_view_contains_digest(&raw->view, raw->body, digest);
}

static void count(const char *name, contains *has, const void *filter, char **numbers)
{
    struct keys *keys = keys_new();
    printf("%s", name);
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        unsigned lost = 0;
        for (unsigned i = 0; i < (unsigned)atoi(numbers[writer]); i++)
            lost += !has(filter, keys_get(keys, writer, i)->digest);
        printf(" %u", lost);
    }
    puts("");
    free(keys);
}

static void check_handle(const char *path, char **numbers)
{
    bloomfile_filter *f;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    int error = bloomfile_open(&f, path, 0);
    printf("open %s\n", bloomfile_errname(error));
    if (error != 0)
        return;
    count("missing", handle_contains, f, numbers);
    printf("status %s\n", bloomfile_errname(bloomfile_check(f)));
    bloomfile_get_info(f, &info);
    if (info.state == BLOOMFILE_STATE_SEALED)
        printf("verify %s\n", bloomfile_errname(bloomfile_verify(f, 1, NULL)));
    bloomfile_close(f);
}

/* Prints nothing without a header, because the file cannot be opened then either. */
static void check_raw(const char *path, char **numbers)
{
    struct stat st;
    struct raw raw;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return;
    const size_t size = (size_t)st.st_size;
    unsigned char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return;
    bloomfile_inspect(bytes, size, &info, NULL, NULL);
    struct bloomfile_size shape = BLOOMFILE_SIZE_INIT;
    shape.layout = info.layout;
    shape.bits = info.bits;
    shape.hashes = info.hashes;
    if (info.body_offset + info.body_size <= size && bloomfile_view_for(&raw.view, &shape) == 0) {
        raw.body = bytes + info.body_offset;
        count("raw", raw_contains, &raw, numbers);
    }
    munmap(bytes, size);
}

int main(int argc, char **argv)
{
    if (argc != 2 + WRITERS)
        errx(4, "wrong number of arguments");
    check_handle(argv[1], argv + 2);
    check_raw(argv[1], argv + 2);
    return fflush(stdout) == 0 ? 0 : 4;
}
