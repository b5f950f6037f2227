/* SPDX-License-Identifier: MIT
 * Filters of more than 2^36 bits and more than 2^32 keys, in sparse files. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/hash.h"
#include "format/header.h"

enum {
    PAGE = 4096,
    KEYS = 16
};

struct big {
    struct header header;
    struct geometry geometry;
    uint64_t members[KEYS];
};

/* The first positions of the keys are spread over the whole body; the last two lie at its very
 * end. */
static void choose_members(struct big *big)
{
    for (unsigned i = 0; i < KEYS; i++)
        big->members[i] = UINT64_MAX / (KEYS - 1) * i;
    big->members[KEYS - 2] = number(0, 1) | 0xFFFFFFFF00000000;
}

static struct big big_filter(uint32_t layout, uint64_t m, uint32_t k)
{
    struct big big = { .header = { .version = HEADER_VERSION,
                                   .header_size = IN_FILE,
                                   .layout = layout,
                                   .hash_id = HASH_XXH3_64,
                                   .k = k,
                                   .m = m,
                                   .self_test = hash_self_test(0),
                                   .body_offset = IN_FILE,
                                   .capacity = 5000000000,
                                   .m_unfolded = m,
                                   .record = { .sequence = HEADER_SEALED_SEQUENCE,
                                               .state = BLOOMFILE_STATE_SEALED,
                                               .n = 4999999999 } } };
    big.geometry = geometry_of(layout, m, IN_FILE);
    big.header.body_size = big.geometry.body_size;
    choose_members(&big);
    return big;
}

/* Sets the members' bits in the file, and the checksums of their pages in the table. */
static void set_bits(int fd, struct big *big, uint8_t *checksums)
{
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t x[BLOOMFILE_MAX_HASHES];
        reference_positions(big->header.layout, big->header.m, big->header.k, big->members[i], x);
        for (unsigned j = 0; j < big->header.k; j++) {
            uint64_t page = x[j] / 8 / PAGE;
            off_t at = (off_t)(IN_FILE + page * PAGE);
            uint8_t bytes[PAGE], *byte = bytes + x[j] / 8 % PAGE;
            assert_int_equal(pread(fd, bytes, PAGE, at), PAGE);
            big->header.record.ones += (*byte >> x[j] % 8 & 1) == 0;
            *byte |= (uint8_t)(1u << x[j] % 8);
            assert_int_equal(pwrite(fd, bytes, PAGE, at), PAGE);
            put32(checksums + 4 * page, checksum(bytes, PAGE));
        }
    }
}

static void write_body_and_checksums(int fd, struct big *big)
{
    static const uint8_t zeros[PAGE];
    const uint32_t of_zeros = checksum(zeros, PAGE);
    const size_t size = 4 * (size_t)big->geometry.pages;
    uint8_t *checksums = malloc(size);
    assert_non_null(checksums);
    for (uint64_t page = 0; page < big->geometry.pages; page++)
        put32(checksums + 4 * page, of_zeros);
    set_bits(fd, big, checksums);
    struct checksum_sum sum = { 0 };
    for (uint64_t page = 0; page < big->geometry.pages; page++)
        checksum_append(&sum, get32(checksums + 4 * page), PAGE);
    for (uint64_t page = 0; page < big->geometry.pages; page++)
        put32(checksums + 4 * page, get32(checksums + 4 * page) ^ sum.crc);
    big->header.record.body_crc = sum.crc;
    off_t at = (off_t)(IN_FILE + big->geometry.body_size);
    assert_int_equal(pwrite(fd, checksums, size, at), size);
    free(checksums);
}

/* Returns -1 if the file system does not support files of this size. */
static int write_big(struct big *big)
{
    int fd = open("big", O_RDWR | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)big->geometry.image_size) != 0) {
        close(fd);
        return -1;
    }
    write_body_and_checksums(fd, big);
    uint8_t header[IN_FILE];
    header_encode(&big->header, header);
    assert_int_equal(pwrite(fd, header, sizeof header, 0), sizeof header);
    return fd;
}

static void assert_big_filter_works(uint32_t layout, uint64_t m, uint32_t k)
{
    struct big big = big_filter(layout, m, k);
    int fd = write_big(&big);
    if (fd < 0)
        skip("the file system has no large files");
    bloomfile_filter *f;
    if (SIZE_MAX <= UINT32_MAX) {
        assert_error(bloomfile_open(&f, "big", 0), BLOOMFILE_ETOOBIG);
        close(fd);
        return;
    }
    assert_error(bloomfile_open(&f, "big", 0), 0);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    assert_int_equal(info.bits, m);
    assert_int_equal(info.keys, 4999999999);
    assert_int_equal(info.capacity, 5000000000);
    assert_int_equal(info.pages, (m / 8 + PAGE - 1) / PAGE);

    bool hits[KEYS];
    assert_int_equal(bloomfile_contains_digests(f, big.members, KEYS, hits), KEYS);
    for (unsigned i = 0; i < KEYS; i++)
        assert_true(bloomfile_contains_digest(f, big.members[i]));
    unsigned found = 0;
    for (uint64_t i = 0; i < 20; i++)
        found += bloomfile_contains_digest(f, number(0, 100 + i));
    assert_int_equal(found, 0);
    assert_int_equal(bloomfile_check(f), 0);

    /* One flipped bit in the last page: only lookups in that page become "maybe". */
    uint64_t x[BLOOMFILE_MAX_HASHES];
    reference_positions(layout, m, k, UINT64_MAX, x);
    off_t at = (off_t)(IN_FILE + x[0] / 8 / PAGE * PAGE + 1);
    assert_true(at > (off_t)1 << 33);
    assert_int_equal(pwrite(fd, "\x08", 1, at), 1);
    bloomfile_close(f);
    assert_error(bloomfile_open(&f, "big", 0), 0);
    assert_false(bloomfile_contains_digest(f, number(0, 100)));
    assert_int_equal(bloomfile_check(f), 0);
    assert_true(bloomfile_contains_digest(f, UINT64_MAX));
    assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
    bloomfile_get_info(f, &info);
    assert_int_equal(info.bad_pages, 1);
    bloomfile_close(f);
    close(fd);
}

TEST_IN_DIR(a_blocked_filter_of_more_than_2_to_the_36_bits_works)
{
    assert_big_filter_works(BLOOMFILE_LAYOUT_BLOCKED, (1ULL << 36) + 512 * 1001, 8);
}

TEST_IN_DIR(a_classic_filter_of_more_than_2_to_the_36_bits_works)
{
    assert_big_filter_works(BLOOMFILE_LAYOUT_CLASSIC, (1ULL << 36) + 4099, 4);
}

TEST_IN_DIR(filter_inside_a_file_may_begin_beyond_4_gib)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 10, 6, 50, 0 });
    const uint64_t offset = (1ULL << 33) + 12345;
    int fd = open("container", O_RDWR | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    if (pwrite(fd, image.data, image.size, (off_t)offset) != (ssize_t)image.size)
        skip("the file system has no large files");
    bloomfile_filter *f;
    assert_error(
        open_from(&f, part_of_fd(fd, offset, BLOOMFILE_FROM_REST), BLOOMFILE_OPEN_VERIFY_FULL), 0);
    close(fd);
    for (uint64_t i = 0; i < 50; i++)
        assert_true(bloomfile_contains_digest(f, number(0, i)));
    bloomfile_close(f);
    free(image.data);
}

int main(void)
{
    return run_all(NULL, NULL);
}
