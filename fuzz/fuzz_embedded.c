/* SPDX-License-Identifier: MIT
 *
 * Fuzzes images inside larger data: in memory and in a file, at any alignment, with other bytes
 * before and after them. Errors and lookups must be those of the image alone. Each input is used
 * twice: unchanged, and with correct checksums and counts.
 */
#include <bloomfile.h>

#include "mend.h"
#include "open.h"
#include "target.h"

enum {
    ASKED = 16,
    CHOICES = 2, /* bytes at the beginning of the input: the numbers of bytes before and after */
    AROUND = 0xBF
};

struct verdict {
    int opened, verified, status;
    bool hits[ASKED];
};

/* Returns the errors and lookups of a filter, and closes it. */
static struct verdict judge(int opened, bloomfile_filter *f)
{
    struct verdict v = { .opened = opened };
    bloomfile_digest digests[ASKED];
    if (opened != 0)
        return v;
    for (unsigned i = 0; i < ASKED; i++)
        digests[i] = i * (UINT64_MAX / (ASKED - 1));
    bloomfile_contains_digests(f, digests, ASKED, v.hits);
    for (unsigned i = 0; i < ASKED; i++)
        expect(bloomfile_contains_digest(f, digests[i]) >= v.hits[i]);
    v.status = bloomfile_check(f);
    v.verified = bloomfile_verify(f, 1, NULL);
    bloomfile_close(f);
    return v;
}

static struct verdict in_memory(const uint8_t *image, size_t size, unsigned flags)
{
    bloomfile_filter *f;
    const int error = open_from(&f, bloomfile_from_memory(image, size), flags);
    return judge(error, f);
}

static struct verdict in_file(int fd, uint64_t offset, uint64_t length, unsigned flags)
{
    bloomfile_filter *f;
    struct bloomfile_source from = bloomfile_from_fd(fd);
    from.offset = offset;
    from.length = length;
    const int error = open_from(&f, from, flags);
    return judge(error, f);
}

static void expect_same(struct verdict a, struct verdict b)
{
    expect(a.opened == b.opened && a.verified == b.verified && a.status == b.status);
    expect(memcmp(a.hits, b.hits, sizeof a.hits) == 0);
}

static void try_image(const uint8_t *image, size_t size, size_t before, size_t behind,
                      unsigned flags)
{
    const size_t all = before + size + behind;
    uint8_t *data = malloc(all + 1);
    expect(data != NULL);
    memset(data, AROUND, all + 1);
    if (size > 0)
        memcpy(data + before, image, size);
    const struct verdict alone = in_memory(image, size, flags);
    expect_same(in_memory(data + before, size, flags), alone);
    const int fd = fd_of(data, all);
    expect_same(in_file(fd, before, size, flags), alone);
    expect_same(in_file(fd, before, size, flags | BLOOMFILE_OPEN_COPY), alone);
    if (behind == 0)
        expect_same(in_file(fd, before, BLOOMFILE_FROM_REST, flags), alone);
    expect(in_file(fd, before, size + behind + 1, flags).opened == BLOOMFILE_ETRUNCATED);
    close(fd);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned modes[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE };
    if (size < CHOICES)
        return 0;
    const unsigned flags = modes[data[1] % 3];
    const size_t before = data[0], behind = data[1] / 3;
    uint8_t *image = copy_of(data + CHOICES, size - CHOICES);
    try_image(image, size - CHOICES, before, behind, flags);
    const size_t whole = mend_all(image, size - CHOICES);
    if (whole != 0)
        try_image(image, whole, before, behind, flags);
    free(image);
    return 0;
}
