/* SPDX-License-Identifier: MIT
 * The same keys and parameters make the same bytes, in any order and by any call. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Frees both. */
static void assert_same(struct bytes a, struct bytes b)
{
    assert_bytes(a, b);
    free(b.data);
}

/* ---- same keys, same parameters, same bytes */

static const struct bloomfile_params layouts[] = {
    { .layout = BLOOMFILE_LAYOUT_BLOCKED },
    { .layout = BLOOMFILE_LAYOUT_CLASSIC, .seed = 0x8182838485868788 },
    { .layout = BLOOMFILE_LAYOUT_COUNTING, .fpr = 0.3 },
};

TEST(the_order_of_keys_does_not_matter)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        bloomfile_builder *up = new_builder(layouts[i]), *down = new_builder(layouts[i]);
        add_numbers(up, 0, 3000);
        for (uint64_t key = 3000; key-- > 0;)
            add_numbers(down, key, key + 1);
        assert_same(last_image(up), last_image(down));
    }
}

TEST(equal_keys_count_once)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        bloomfile_builder *once = new_builder(layouts[i]), *often = new_builder(layouts[i]);
        uint64_t count;
        add_numbers(once, 0, 500);
        for (unsigned round = 0; round < 3; round++)
            add_numbers(often, 0, 500);
        assert_int_equal(bloomfile_builder_count(often, &count), 0);
        assert_int_equal(count, 500);
        add_numbers(often, 100, 200);
        assert_int_equal(bloomfile_builder_count(often, &count), 0);
        assert_int_equal(count, 500);
        struct bytes image = last_image(often);
        assert_int_equal(verified_info(image).keys, 500);
        assert_same(last_image(once), image);
    }
}

/* There are too many to be sorted as they arrive. */
TEST(many_repeated_keys_count_once_after_a_count)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        bloomfile_builder *once = new_builder(layouts[i]), *often = new_builder(layouts[i]);
        uint64_t count;
        add_numbers(once, 0, 20000);
        for (unsigned round = 0; round < 2; round++)
            add_numbers(often, 0, 20000);
        assert_error(bloomfile_builder_count(often, &count), 0);
        assert_int_equal(count, 20000);
        assert_same(last_image(once), last_image(often));
    }
}

static void *add_one_more(void *context)
{
    static uint64_t last;
    const uint64_t digest = ++last << 32;
    assert_error(bloomfile_builder_add_digests(context, &digest, 1), 0);
    return NULL;
}

TEST(key_count_does_not_depend_on_the_adding_thread)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .threads = 2 });
    for (uint64_t added = 1; added <= 5; added++) {
        pthread_t thread;
        uint64_t count;
        assert_int_equal(pthread_create(&thread, NULL, add_one_more, b), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_error(bloomfile_builder_count(b, &count), 0);
        assert_int_equal(count, added);
    }
    bloomfile_builder_free(b);
}

TEST(a_builder_makes_the_same_bytes_twice)
{
    bloomfile_builder *b = new_builder(layouts[0]);
    add_numbers(b, 0, 1000);
    assert_same(finish_image(b), finish_image(b));
    bloomfile_builder_free(b);
}

TEST(keys_may_be_added_after_finishing)
{
    bloomfile_builder *b = new_builder(layouts[1]), *at_once = new_builder(layouts[1]);
    add_numbers(b, 0, 1000);
    free(finish_image(b).data);
    add_numbers(b, 500, 1500);
    add_numbers(at_once, 0, 1500);
    assert_same(last_image(b), last_image(at_once));
}

/* There are enough to be partitioned, after the first keys were sorted. */
TEST(many_keys_may_be_added_after_counting)
{
    bloomfile_builder *b = new_builder(layouts[1]), *at_once = new_builder(layouts[1]);
    uint64_t count;
    add_numbers(b, 0, 5000);
    assert_error(bloomfile_builder_count(b, &count), 0);
    add_numbers(b, 5000, 300000);
    add_numbers(at_once, 0, 300000);
    assert_same(last_image(b), last_image(at_once));
}

TEST(adding_digests_equals_adding_their_keys)
{
    enum {
        N = 100000
    };
    uint64_t *digests = calloc(N, sizeof *digests);
    assert_non_null(digests);
    for (uint64_t i = 0; i < N; i++)
        digests[i] = number(layouts[1].seed, i);
    bloomfile_builder *b = new_builder(layouts[1]), *by_key = new_builder(layouts[1]);
    assert_error(bloomfile_builder_add_digests(b, digests, 3), 0);
    assert_error(bloomfile_builder_add_digests(b, digests + 3, N - 3), 0);
    assert_error(bloomfile_builder_add_digests(b, NULL, 0), 0);
    add_numbers(by_key, 0, N);
    assert_same(last_image(b), last_image(by_key));
    free(digests);
}

TEST(add_many_equals_adding_each_key)
{
    enum {
        N = 3000
    };
    static uint8_t rooms[N + 1][8];
    static struct bloomfile_key keys[N + 1]; /* one more than the test adds */
    for (uint64_t i = 0; i <= N; i++) {
        struct bytes key = number_key(i, rooms[i]);
        keys[i] = (struct bloomfile_key){ .data = key.data, .size = key.size };
    }
    bloomfile_builder *b = new_builder(layouts[1]), *by_key = new_builder(layouts[1]);
    assert_error(bloomfile_builder_add_many(b, keys, 3), 0);
    assert_error(bloomfile_builder_add_many(b, keys + 3, N - 1024 - 3), 0);
    assert_error(bloomfile_builder_add_many(b, keys + N - 1024, 1024), 0); /* hashed together */
    assert_error(bloomfile_builder_add_many(b, NULL, 0), 0);
    add_numbers(by_key, 0, N);
    assert_same(last_image(b), last_image(by_key));
}

TEST(add_of_too_many_digests_fails_and_the_error_persists)
{
    static const size_t counts[] = { SIZE_MAX / 8, SIZE_MAX };
    for (size_t i = 0; i < ROWS(counts); i++) {
        bloomfile_builder *b = new_builder(layouts[0]);
        uint64_t digest = 0;
        void *image;
        size_t size;
        add_numbers(b, 0, 100);
        assert_error(bloomfile_builder_add_digests(b, &digest, counts[i]), ENOMEM);
        assert_error(bloomfile_builder_add_digests(b, &digest, 1), 0);
        assert_error(bloomfile_builder_write(b, TO_PATH("lacking", 0)), ENOMEM);
        assert_error(write_memory(b, &image, &size), ENOMEM);
        bloomfile_builder_free(b);
    }
}

TEST(the_file_and_the_image_in_memory_have_the_same_body_and_parameters)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        bloomfile_builder *b = new_builder(layouts[i]);
        add_numbers(b, 0, 2000);
        assert_error(bloomfile_builder_write(b, TO_PATH("same", BLOOMFILE_TO_REPLACE)), 0);
        struct bytes file = read_file("same"), image = last_image(b);
        struct bloomfile_info in_file = verified_info(file), embedded = verified_info(image);
        assert_int_equal(in_file.header_size, 4096);
        assert_int_equal(embedded.header_size, 512);
        assert_int_equal(in_file.body_size % 4096, 0);
        assert_int_equal(embedded.body_size % 64, 0);
        assert_memory_equal(file.data + 4096, image.data + 512, (size_t)embedded.body_size);
        for (uint64_t at = embedded.body_size; at < in_file.body_size; at++)
            assert_int_equal(file.data[4096 + at], 0);
        assert_int_equal(in_file.bits, embedded.bits);
        assert_int_equal(in_file.ones, embedded.ones);
        assert_int_equal(in_file.hashes, embedded.hashes);
        assert_int_equal(in_file.keys, 2000);
        assert_int_equal(in_file.image_size, file.size);
        assert_int_equal(embedded.image_size, image.size);
        free(file.data);
        free(image.data);
    }
}

TEST(the_reserved_bytes_are_zero)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .label = "label" });
    struct bytes image = last_image(b);
    for (unsigned i = 133; i < 252; i++)
        assert_int_equal(image.data[i], 0);
    for (unsigned i = 64; i < 124; i++)
        assert_int_equal(record_at(image.data, 0)[i] | record_at(image.data, 1)[i], 0);
    free(image.data);
}

/* ---- small and odd filters */

TEST(filter_without_keys_answers_no)
{
    for (size_t i = 0; i < ROWS(layouts); i++) {
        struct bytes image = last_image(new_builder(layouts[i]));
        struct bloomfile_info info = verified_info(image);
        assert_int_equal(info.keys, 0);
        assert_int_equal(info.ones, 0);
        assert_int_equal(info.capacity, 1);
        bloomfile_filter *f;
        assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), 0), 0);
        assert_false(bloomfile_contains(f, NULL, 0));
        assert_false(bloomfile_contains(f, "key", 3));
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(filter_of_any_number_of_bits_holds_its_keys)
{
    for (uint64_t m = 1; m < 140; m++) {
        for (uint32_t layout = BLOOMFILE_LAYOUT_CLASSIC; layout <= BLOOMFILE_LAYOUT_COUNTING;
             layout++) {
            struct bytes image = image_from((struct recipe){ layout, EMBEDDED, m, 4, 5, m });
            struct bloomfile_info info = verified_info(image);
            assert_int_equal(info.bits, m);
            assert_int_equal(info.keys, 5);
            uint64_t ones = 0;
            for (uint64_t x = 0; x < m; x++)
                ones += reference_value(layout, image.data + EMBEDDED, x) != 0;
            assert_int_equal(info.ones, ones);
            for (uint64_t i = 0; i < 5; i++)
                assert_true(reference_contains(layout, image.data + EMBEDDED, m, 4, number(m, i)));
            free(image.data);
        }
    }
}

TEST(counters_count_positions_and_stop_at_15)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 3, 2, 3, 0 });
    const uint8_t *counters = image.data + EMBEDDED;
    assert_int_equal(counters[0] % 16 + counters[0] / 16 + counters[1], 2 * 3);
    assert_int_equal(verified_info(image).overflow, 0);
    free(image.data);
    image = image_from((struct recipe){ BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 3, 2, 100, 0 });
    assert_int_equal(image.data[EMBEDDED], 0xFF);
    assert_int_equal(image.data[EMBEDDED + 1], 0x0F);
    assert_int_equal(verified_info(image).overflow, 3);
    assert_int_equal(verified_info(image).ones, 3);
    free(image.data);
}

TEST(freeing_a_null_builder_does_nothing)
{
    bloomfile_builder_free(NULL);
}

/* ---- reset */

static struct bytes image_of_numbers(bloomfile_builder *b, uint64_t from, uint64_t to)
{
    add_numbers(b, from, to);
    return finish_image(b);
}

/* In memory, in partitions and in runs on disk; of slices too. */
TEST(reset_builder_makes_the_bytes_of_a_new_builder)
{
    static const struct {
        struct bloomfile_params params;
        uint64_t keys;
    } rows[] = {
        { { .tag = { 7 }, .label = "a" }, 1000 },
        { { .threads = 3, .layout = BLOOMFILE_LAYOUT_RIBBON }, 1000 },
        { { .memory = 1 << 20 }, 300000 },
        { { .bits = 512 * 5000 }, 900000 },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        static const uint8_t other_tag[BLOOMFILE_TAG_SIZE] = { 9 };
        struct bloomfile_params params = rows[i].params;
        params.over_capacity = 1;
        bloomfile_builder *b = new_builder(params), *fresh = new_builder(params);
        bloomfile_builder_set_tag(b, other_tag);
        struct bytes first = image_of_numbers(b, 5, rows[i].keys);
        free(first.data);
        add_numbers(b, 0, 10); /* must be in no filter */
        bloomfile_builder_reset(b);
        uint64_t count;
        assert_error(bloomfile_builder_count(b, &count), 0);
        assert_int_equal(count, 0);
        for (int times = 0; times < 2; times++) {
            struct bytes again = image_of_numbers(b, 100, 400);
            struct bytes expected = image_of_numbers(fresh, 100, 400);
            assert_bytes(again, expected);
            free(expected.data);
        }
        bloomfile_builder_free(b);
        bloomfile_builder_free(fresh);
    }
}

TEST(reset_clears_the_error_of_an_add)
{
    bloomfile_builder *b = new_builder(
        (struct bloomfile_params){ .hash_id = BLOOMFILE_APP_HASH_FIRST, .self_test = 1 });
    const uint64_t digest = 7;
    uint64_t count;
    assert_error(bloomfile_builder_add(b, "x", 1), BLOOMFILE_EHASH);
    assert_error(bloomfile_builder_count(b, &count), BLOOMFILE_EHASH);
    bloomfile_builder_reset(b);
    assert_error(bloomfile_builder_add_digests(b, &digest, 1), 0);
    assert_error(bloomfile_builder_count(b, &count), 0);
    assert_int_equal(count, 1);
    bloomfile_builder_free(b);
}

/* ---- written in large pieces, by one thread and by two */

TEST(gathered_parts_are_copied_to_their_places)
{
    for (unsigned threads = 1; threads <= 2; threads++) {
        const uint64_t blocks = (threads == 1 ? 9 << 14 : 65 << 14) + 5;
        bloomfile_builder *b = new_builder((struct bloomfile_params){
            .bits = 512 * blocks, .hashes = 6, .capacity = 1000000, .threads = threads });
        struct bloomfile_destination to = bloomfile_to_path("large", 0),
                                     other = bloomfile_to_memory();
        bloomfile_filter *f, *g;
        size_t size, other_size;
        add_numbers(b, 0, 300000);
        assert_error(bloomfile_builder_write(b, &to), 0);
        assert_error(bloomfile_builder_write(b, &other), 0);
        assert_error(bloomfile_open(&f, "large", BLOOMFILE_OPEN_VERIFY_FULL), 0);
        assert_error(open_from(&g, bloomfile_from_memory(other.memory, other.size), 0), 0);
        const void *body = bloomfile_body(f, &size), *expected = bloomfile_body(g, &other_size);
        assert_int_equal(size, other_size);
        assert_true(memcmp(body, expected, size) == 0);
        bloomfile_close(f);
        bloomfile_close(g);
        bloomfile_free(other.memory);
        bloomfile_builder_free(b);
        assert_int_equal(unlink("large"), 0);
    }
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
