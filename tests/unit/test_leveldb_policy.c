/* SPDX-License-Identifier: MIT
 * examples/leveldb: LevelDB may pass any bytes as a filter; no present key ever gets "no". */
#include "policy.h"

#include "faults.h"
#include "support.h"

#include <bloomfile_view.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEYS    36
#define TRAILER BLOOMFILE_TRAILER_SIZE

struct group {
    char text[KEYS][24];
    const char *keys[KEYS];
    size_t sizes[KEYS];
};

static struct policy_counts counts;
static struct policy *policy;

static struct group group_of(const char *prefix)
{
    struct group group;
    for (int i = 0; i < KEYS; i++)
        group.sizes[i] = (size_t)snprintf(group.text[i], sizeof group.text[i], "%s%d", prefix, i);
    return group;
}

static struct bytes filter_of(struct group *group, int count)
{
    struct bytes filter;
    for (int i = 0; i < KEYS; i++)
        group->keys[i] = group->text[i];
    filter.data =
        (uint8_t *)policy_create_filter(policy, group->keys, group->sizes, count, &filter.size);
    assert_non_null(filter.data);
    return filter;
}

/* The filter lies in memory of exactly this size, at an odd address. */
static int maybes(const struct group *group, const uint8_t *filter, size_t size)
{
    int found = 0;
    char *place = malloc(size + 1);
    memcpy(place + 1, filter, size);
    for (int i = 0; i < KEYS; i++)
        found += policy_key_may_match(policy, group->text[i], group->sizes[i], place + 1, size);
    free(place);
    return found;
}

/* "Maybe" for absent keys too shows that the damage was noticed. */
static void assert_unusable(const uint8_t *filter, size_t size, int error)
{
    const struct group absent = group_of("absent ");
    const uint64_t before = counts.unusable;
    assert_int_equal(maybes(&absent, filter, size), KEYS);
    assert_int_equal(counts.unusable, before + KEYS);
    if (error != 0)
        assert_error(counts.error, error);
}

static int set_up(void **state)
{
    policy = policy_new(10, &counts);
    return policy == NULL;
}

static int tear_down(void **state)
{
    free(policy);
    return 0;
}

/* The counts lie in a read-only page here, so a write to memory that threads share would crash. */
TEST(lookups_in_a_sound_filter_write_to_no_counter_that_threads_share)
{
    struct group present = group_of("key ");
    const struct bytes filter = filter_of(&present, KEYS);
    struct policy_counts *shared = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    struct policy *reader = policy_new(10, shared);
    assert_non_null(reader);
    for (int i = 0; i < KEYS; i++)
        assert_true(policy_key_may_match(reader, present.keys[i], present.sizes[i],
                                         (const char *)filter.data, filter.size));
    free(reader);
    assert_int_equal(munmap(shared, 4096), 0);
    free(filter.data);
}

TEST(intact_filter_finds_all_keys)
{
    struct group present = group_of("key ");
    const struct group absent = group_of("absent ");
    for (int n = 1; n <= KEYS; n++) {
        const struct bytes filter = filter_of(&present, n);
        assert_int_equal(filter.size, (n * 10 + 7) / 8 + TRAILER);
        const uint64_t asked = policy_tally.asked, refused = policy_tally.refused;
        assert_true(maybes(&present, filter.data, filter.size) >= n);
        assert_true(maybes(&absent, filter.data, filter.size) <= 4);
        assert_int_equal(policy_tally.asked, asked + 2 * KEYS);
        assert_true(policy_tally.refused >= refused + KEYS - 4);
        assert_int_equal(counts.unusable, 0);
        free(filter.data);
    }
}

TEST(repeated_keys_count_once)
{
    struct group versions = group_of("key ");
    for (int i = 0; i < KEYS; i++) {
        memcpy(versions.text[i], versions.text[i / 3 * 3], sizeof versions.text[i]);
        versions.sizes[i] = versions.sizes[i / 3 * 3];
    }
    const struct bytes filter = filter_of(&versions, KEYS);
    assert_int_equal(filter.size, (KEYS / 3 * 10 + 7) / 8 + TRAILER);
    assert_int_equal(maybes(&versions, filter.data, filter.size), KEYS);
    free(filter.data);
}

TEST(keys_may_be_empty_large_or_contain_nul)
{
    static const char large[1 << 20] = { 0 };
    const char *const keys[] = { "", "\0", "\0\0", "\xff", large };
    const size_t sizes[] = { 0, 1, 2, 1, sizeof large };
    size_t size;
    char *filter = policy_create_filter(policy, keys, sizes, 5, &size);
    assert_int_equal(size, 7 + TRAILER);
    for (int i = 0; i < 5; i++)
        assert_true(policy_key_may_match(policy, keys[i], sizes[i], filter, size));
    free(filter);
}

TEST(flipped_bit_answers_maybe)
{
    struct group present = group_of("key ");
    const struct bytes filter = filter_of(&present, KEYS);
    for (size_t bit = 0; bit < 8 * filter.size; bit++) {
        filter.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_unusable(filter.data, filter.size, 0);
        filter.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(filter.data);
}

TEST(truncated_filter_answers_maybe)
{
    struct group present = group_of("key ");
    const struct bytes filter = filter_of(&present, KEYS);
    for (size_t i = 1; i < filter.size; i++) {
        assert_unusable(filter.data, filter.size - i, 0);
        assert_unusable(filter.data + i, filter.size - i, 0);
    }
    assert_unusable(filter.data, 0, BLOOMFILE_ENOTCOMPACT);
    free(filter.data);
}

TEST(filter_with_extra_bytes_answers_maybe)
{
    struct group present = group_of("key ");
    const struct bytes filter = filter_of(&present, KEYS);
    uint8_t *longer = calloc(2, filter.size);
    for (size_t i = 1; i <= filter.size; i++) {
        memcpy(longer, filter.data, filter.size);
        assert_unusable(longer, filter.size + i, 0);
        memset(longer, 0, i);
        memcpy(longer + i, filter.data, filter.size);
        assert_unusable(longer, filter.size + i, 0);
    }
    memcpy(longer, filter.data, filter.size); /* as if the boundary of two filters were lost */
    memcpy(longer + filter.size, filter.data, filter.size);
    assert_unusable(longer, 2 * filter.size, 0);
    free(longer);
    free(filter.data);
}

TEST(unknown_version_byte_answers_maybe)
{
    struct group present = group_of("key ");
    const struct bytes filter = filter_of(&present, KEYS);
    uint8_t *version = filter.data + filter.size - TRAILER;
    assert_int_equal(*version, 1);
    for (int later = 2; later < 256; later++) {
        *version = (uint8_t)later;
        assert_unusable(filter.data, filter.size, BLOOMFILE_ENOTCOMPACT);
    }
    free(filter.data);
}

/* LevelDB's own filters: bits, then a byte with the number of probes per key, 1 to 30. */
TEST(bytes_of_another_policy_answer_maybe)
{
    uint8_t other[256];
    for (size_t size = 1; size <= sizeof other; size++) {
        for (uint8_t hashes = 1; hashes <= 30; hashes++) {
            for (size_t i = 0; i < size; i++)
                other[i] = (uint8_t)bloomfile_hash(hashes * size, &i, sizeof i);
            other[size - 1] = hashes;
            assert_unusable(other, size, 0);
            memset(other, 0, size - 1);
            assert_unusable(other, size, 0);
        }
    }
}

TEST(different_seed_answers_maybe)
{
    struct bloomfile_view view;
    const bloomfile_digest digest = bloomfile_hash(1, "key", 3);
    uint8_t filter[64 + TRAILER] = { 0 };
    struct bloomfile_size shape = BLOOMFILE_SIZE_INIT;
    shape.layout = BLOOMFILE_LAYOUT_CLASSIC;
    shape.bits = 512;
    shape.hashes = 7;
    assert_error(bloomfile_view_for(&view, &shape), 0);
    bloomfile_view_add_digests(&view, filter, &digest, 1);
    bloomfile_view_write_trailer(&view, 1, filter);
    assert_unusable(filter, sizeof filter, BLOOMFILE_ENOTCOMPACT);
}

TEST(failed_allocation_makes_an_empty_filter_that_answers_maybe)
{
    static const enum fault_call calls[] = { ON_malloc, ON_calloc };
    const char *const key = "key";
    const struct faults none_at_all = once(ON_malloc, 1, ENOMEM);
    faults_begin(&none_at_all);
    assert_null(policy_new(10, NULL));
    faults_end();
    for (size_t i = 0; i < ROWS(calls); i++) {
        const struct faults faults = once(calls[i], 1, ENOMEM);
        size_t size = 1;
        faults_begin(&faults);
        assert_null(policy_create_filter(policy, &key, &(size_t){ 3 }, 1, &size));
        faults_end();
        assert_int_equal(size, 0);
        assert_unusable((const uint8_t *)"", size, BLOOMFILE_ENOTCOMPACT);
    }
}

TEST(bits_per_key_must_be_1_to_64)
{
    static const int wrong[] = { 0, -1, 65, 1 << 30 };
    for (size_t i = 0; i < ROWS(wrong); i++) {
        assert_null(policy_new(wrong[i], NULL));
        assert_null(leveldb_filterpolicy_create_bloomfile(wrong[i], NULL));
    }
    const struct group absent = group_of("absent ");
    for (int bits = 1; bits <= 64; bits++) {
        struct policy *p = policy_new(bits, NULL);
        size_t size;
        const char *const key = "key";
        char *filter = policy_create_filter(p, &key, &(size_t){ 3 }, 1, &size);
        assert_int_equal(size, (bits + 7) / 8 + TRAILER);
        assert_true(policy_key_may_match(p, key, 3, filter, size));
        assert_true(maybes(&absent, (const uint8_t *)filter, size) < KEYS / 2);
        free(filter);
        free(p);
    }
}

int main(void)
{
    return run_all(set_up, tear_down);
}
