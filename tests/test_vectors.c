/* SPDX-License-Identifier: MIT
 * The test vectors of format-spec.md, section 18, taken from the text itself. */
#include "spec_text.h"

#include <bloomfile_inspect.h>
#include <stdio.h>
#include <stdlib.h>

#include "checksum.h"
#include "geometry.h"
#include "hash.h"
#include "kernel.h"
#include "probe.h"

static uint8_t test_string[4096]; /* section 7.2 */

static void the_digests_are_those_of_the_library(void **state)
{
    (void)state;
    struct bytes text = spec_section("18");
    unsigned found = 0, vectors = lines_beginning_with("digest ", text);
    for_each_line(line, text)
    {
        char seed[17], digest[17], word[64];
        unsigned length;
        const void *key = test_string;
        if (sscanf(line, "digest seed=%16[0-9a-f] length=%u : %16[0-9a-f]", seed, &length,
                   digest) != 3) {
            if (sscanf(line, "digest seed=%16[0-9a-f] text=%63s : %16[0-9a-f]", seed, word,
                       digest) != 3)
                continue;
            key = word;
            length = (unsigned)strlen(word);
        }
        assert_true(length <= sizeof test_string);
        assert_int_equal(bloomfile_hash(hex(seed), key, length), hex(digest));
        found++;
    }
    assert_true(found >= 30);
    assert_int_equal(found, vectors);
    free(text.data);
}

static void the_checksums_are_those_of_the_library(void **state)
{
    (void)state;
    struct bytes text = spec_section("18");
    unsigned found = 0, vectors = lines_beginning_with("crc ", text);
    for_each_line(line, text)
    {
        char word[64], crc[9];
        if (sscanf(line, "crc text=%63s : %8[0-9a-f]", word, crc) != 2)
            continue;
        assert_int_equal(checksum((const uint8_t *)word, strlen(word)), hex(crc));
        found++;
    }
    assert_true(found >= 1);
    assert_int_equal(found, vectors);
    free(text.data);
}

static void the_self_tests_are_those_of_the_library(void **state)
{
    (void)state;
    struct bytes text = spec_section("18");
    unsigned vectors = lines_beginning_with("selftest ", text);
    unsigned found = 0;
    for_each_line(line, text)
    {
        char seed[17], self_test[17];
        if (sscanf(line, "selftest seed=%16[0-9a-f] : %16[0-9a-f]", seed, self_test) != 2)
            continue;
        assert_int_equal(hash_self_test(hex(seed)), hex(self_test));
        found++;
    }
    assert_true(found >= 2);
    assert_int_equal(found, vectors);
    free(text.data);
}

static uint32_t layout_named(const char *name)
{
    return strcmp(name, "blocked") == 0   ? BLOOMFILE_BLOCKED
           : strcmp(name, "classic") == 0 ? BLOOMFILE_CLASSIC
                                          : BLOOMFILE_COUNTING;
}

static void probe(uint32_t layout, uint64_t m, unsigned k, uint64_t digest, uint64_t *positions)
{
    uint64_t g = digest;
    for (unsigned i = 0; i < k; i++) {
        if (layout != BLOOMFILE_BLOCKED) {
            positions[i] = probe_reduce(g, m);
            g *= PROBE_MULTIPLIER;
            continue;
        }
        if (i % PROBE_SLICES == 0)
            g *= PROBE_MULTIPLIER;
        positions[i] = PROBE_BLOCK_BITS * probe_reduce(digest, m / PROBE_BLOCK_BITS) +
                       probe_slice(g, i % PROBE_SLICES);
    }
}

/* What adding the key changes in an empty body, bit by bit or counter by counter. */
static void assert_kernel_sets(uint32_t layout, uint64_t m, unsigned k, uint64_t digest,
                               const uint64_t *positions)
{
    struct geometry geometry = geometry_of(layout, m, EMBEDDED);
    uint8_t *body = calloc(1, (size_t)geometry.need);
    unsigned *expected = calloc((size_t)m, sizeof *expected);
    assert_non_null(body);
    assert_non_null(expected);
    for (unsigned i = 0; i < k; i++)
        if (layout == BLOOMFILE_COUNTING)
            expected[positions[i]]++;
        else
            expected[positions[i]] = 1;
    const struct kernel *kernel = kernel_for(layout);
    const struct kernel_view view = { body, geometry.units, k };
    assert_false(kernel->contains(&view, digest));
    kernel->add_part(body, 0, geometry.units, geometry.units, k, &digest, 1);
    for (uint64_t x = 0; x < m; x++)
        assert_int_equal(reference_value(layout, body, x), expected[x]);
    assert_true(kernel->contains(&view, digest));
    free(expected);
    free(body);
}

static void the_positions_are_those_of_the_library(void **state)
{
    (void)state;
    struct bytes text = spec_section("18");
    unsigned vectors = lines_beginning_with("positions ", text);
    unsigned found = 0, by_kernel = 0;
    for_each_line(line, text)
    {
        char name[16], digest[17];
        unsigned long long m;
        unsigned k;
        int length;
        if (sscanf(line, "positions %15[a-z] m=%llu k=%u digest=%16[0-9a-f] :%n", name, &m, &k,
                   digest, &length) != 4)
            continue;
        uint32_t layout = layout_named(name);
        uint64_t expected[BLOOMFILE_MAX_HASHES], positions[BLOOMFILE_MAX_HASHES];
        char *at = line + length;
        for (unsigned i = 0; i < k; i++)
            expected[i] = strtoull(at, &at, 10);
        assert_string_equal(at, "");
        probe(layout, m, k, hex(digest), positions);
        assert_memory_equal(positions, expected, k * sizeof *positions);
        reference_positions(layout, m, k, hex(digest), positions);
        assert_memory_equal(positions, expected, k * sizeof *positions);
        if (m < 10000000) {
            assert_kernel_sets(layout, m, k, hex(digest), expected);
            by_kernel++;
        }
        found++;
    }
    assert_true(found >= 34);
    assert_true(by_kernel >= 31);
    assert_int_equal(found, vectors);
    free(text.data);
}

struct body_vector {
    uint32_t layout;
    unsigned header_size, keys, k;
    unsigned long long m, ones, overflow;
    uint64_t seed, crc;
};

static bool read_body_vector(const char *line, struct body_vector *v)
{
    char name[16], seed[17], crc[9];
    if (sscanf(line,
               "body %15[a-z] m=%llu k=%u seed=%16[0-9a-f] header_size=%u keys=%u : "
               "%8[0-9a-f] %llu %llu",
               name, &v->m, &v->k, seed, &v->header_size, &v->keys, crc, &v->ones,
               &v->overflow) != 9)
        return false;
    v->layout = layout_named(name);
    v->seed = hex(seed);
    v->crc = hex(crc);
    return true;
}

/* The image that holds the first `keys` starts of the test string. */
static struct bytes image_of(const struct body_vector *v)
{
    assert_true(v->keys <= sizeof test_string);
    bloomfile_builder *b = new_builder((struct bloomfile_params){
        .layout = v->layout, .bits = v->m, .hashes = v->k, .seed = v->seed });
    for (unsigned i = 0; i < v->keys; i++)
        assert_error(bloomfile_builder_add(b, test_string, i), 0);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    return v->header_size == IN_FILE ? with_file_header(image) : image;
}

static void the_bodies_are_those_of_the_builder(void **state)
{
    (void)state;
    struct bytes text = spec_section("18");
    unsigned found = 0, vectors = lines_beginning_with("body ", text);
    for_each_line(line, text)
    {
        struct body_vector v;
        if (!read_body_vector(line, &v))
            continue;
        struct bytes image = image_of(&v);
        struct bloomfile_info info = verified_info(image);
        assert_int_equal(info.header_size, v.header_size);
        assert_int_equal(info.keys, v.keys);
        assert_int_equal(info.body_crc, v.crc);
        assert_int_equal(info.ones, v.ones);
        assert_int_equal(info.overflow, v.overflow);
        free(image.data);
        found++;
    }
    assert_true(found >= 10);
    assert_int_equal(found, vectors);
    free(text.data);
}

/* Section 14.1: value j of the folded body, from the f adjacent ones (or blocks) of the source. */
static unsigned folded_value(const struct body_vector *source, const uint8_t *body, uint64_t f,
                             uint64_t j)
{
    unsigned sum = 0;
    for (uint64_t i = 0; i < f; i++) {
        uint64_t x =
            source->layout == BLOOMFILE_BLOCKED ? (j / 512 * f + i) * 512 + j % 512 : j * f + i;
        sum += reference_value(source->layout, body, x);
    }
    unsigned most = source->layout == BLOOMFILE_COUNTING ? 15 : 1;
    return sum < most ? sum : most;
}

static void a_folded_body_is_the_body_of_the_smaller_filter(void **state)
{
    (void)state;
    struct bytes text = spec_section("18");
    unsigned folds = 0;
    struct body_vector before = { .m = 1 }, v;
    for_each_line(line, text)
    {
        if (!read_body_vector(line, &v))
            continue;
        if (v.layout == before.layout && v.keys == before.keys && before.m % v.m == 0) {
            struct bytes larger = image_of(&before), smaller = image_of(&v);
            for (uint64_t j = 0; j < v.m; j++)
                assert_int_equal(
                    folded_value(&before, larger.data + before.header_size, before.m / v.m, j),
                    reference_value(v.layout, smaller.data + v.header_size, j));
            free(larger.data);
            free(smaller.data);
            folds++;
        }
        before = v;
    }
    assert_true(folds >= 6);
    free(text.data);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksums_are_those_of_the_library),
        cmocka_unit_test(the_digests_are_those_of_the_library),
        cmocka_unit_test(the_self_tests_are_those_of_the_library),
        cmocka_unit_test(the_positions_are_those_of_the_library),
        cmocka_unit_test(the_bodies_are_those_of_the_builder),
        cmocka_unit_test(a_folded_body_is_the_body_of_the_smaller_filter),
    };
    for (unsigned i = 0; i < sizeof test_string; i++)
        test_string[i] = (uint8_t)(128 + 157 * i);
    return spec_test_main(argc, argv, tests);
}
