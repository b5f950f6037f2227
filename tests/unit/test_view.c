/* SPDX-License-Identifier: MIT
 * Filters without a file: shapes, bodies at any alignment, the compact form. */
#include "spec_text.h"

#include <bloomfile_inspect.h>
#include <bloomfile_view.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/header.h"
#include "kernel/dispatch.h"

static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                    BLOOMFILE_LAYOUT_COUNTING };

static int make_view(struct bloomfile_view *view, uint32_t layout, uint64_t bits, uint32_t hashes)
{
    struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
    size.layout = layout;
    size.bits = bits;
    size.hashes = hashes;
    return bloomfile_view_for(view, &size);
}

static struct bloomfile_view view_of(uint32_t layout, uint64_t bits, uint32_t hashes)
{
    struct bloomfile_view view;
    assert_error(make_view(&view, layout, bits, hashes), 0);
    return view;
}

static int size_view(struct bloomfile_view *view, uint32_t layout, uint64_t n, double fpr)
{
    struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
    size.layout = layout;
    size.keys = n;
    size.fpr = fpr;
    const struct bloomfile_size before = size;
    const int error = bloomfile_view_for(view, &size);
    if (error != 0) {
        assert_memory_equal(&size, &before, sizeof size);
        return error;
    }
    struct bloomfile_view again; /* for its results */
    assert_error(make_view(&again, size.layout, size.bits, size.hashes), 0);
    assert_memory_equal(&again, view, sizeof again);
    return 0;
}

/* A compact filter of number(seed, 0) to number(seed, n - 1), in memory of its exact size. */
static struct bytes compact_of(const struct bloomfile_view *view, uint64_t seed, uint64_t n)
{
    struct bytes blob = { calloc(1, view->size + BLOOMFILE_TRAILER_SIZE),
                          view->size + BLOOMFILE_TRAILER_SIZE };
    assert_non_null(blob.data);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t digest = number(seed, i);
        bloomfile_view_add_digests(view, blob.data, &digest, 1);
    }
    bloomfile_view_write_trailer(view, seed, blob.data);
    return blob;
}

/* The shape of a view, from the trailer that it makes. */
static struct compact_shape shape_of(const struct bloomfile_view *view)
{
    struct bytes blob = compact_of(view, 0, 0);
    struct compact_shape shape;
    assert_error(compact_decode(blob.data, blob.size, &shape), 0);
    free(blob.data);
    return shape;
}

static void assert_all_maybe(const struct bloomfile_view *view, const void *body)
{
    const uint64_t digests[] = { 0, 1, UINT64_MAX, number(0, 0), number(0, 1000) };
    bool hits[ROWS(digests)] = { false };
    assert_int_equal(bloomfile_view_contains_digests(view, body, digests, ROWS(digests), hits),
                     ROWS(digests));
    assert_int_equal(bloomfile_view_contains_digests(view, body, digests, ROWS(digests), NULL),
                     ROWS(digests));
    for (size_t i = 0; i < ROWS(digests); i++)
        assert_true(hits[i] && bloomfile_view_contains_digest(view, body, digests[i]));
}

/* ---- shapes */

TEST(computed_shape_keeps_the_rate)
{
    static const struct {
        uint32_t layout;
        uint64_t n;
        double fpr;
        uint32_t expected;
    } rows[] = {
        { 0, 1, 0.01, BLOOMFILE_LAYOUT_CLASSIC },
        { 0, 30, 0.01, BLOOMFILE_LAYOUT_CLASSIC },
        { 0, 850, 0.01, BLOOMFILE_LAYOUT_CLASSIC },
        { 0, 860, 0.01, BLOOMFILE_LAYOUT_BLOCKED },
        { 0, 1000000, 0.001, BLOOMFILE_LAYOUT_BLOCKED },
        { BLOOMFILE_LAYOUT_BLOCKED, 30, 0.01, BLOOMFILE_LAYOUT_BLOCKED },
        { BLOOMFILE_LAYOUT_COUNTING, 30, 0.01, BLOOMFILE_LAYOUT_COUNTING },
        { BLOOMFILE_LAYOUT_CLASSIC, 1000000, 0.001, BLOOMFILE_LAYOUT_CLASSIC },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bloomfile_view view;
        assert_error(size_view(&view, rows[i].layout, rows[i].n, rows[i].fpr), 0);
        const struct compact_shape shape = shape_of(&view);
        assert_int_equal(shape.layout, rows[i].expected);
        assert_int_equal(shape.bits, bits_for(shape.layout, rows[i].n, rows[i].fpr, 0));
        assert_true(fpr_for(shape.layout, shape.bits, shape.hashes, rows[i].n) <= rows[i].fpr);
        const uint64_t per_byte = shape.layout == BLOOMFILE_LAYOUT_COUNTING ? 2 : 8;
        assert_int_equal(view.size, (shape.bits + per_byte - 1) / per_byte);
    }
}

/* From 1 KiB on, a body has whole blocks, as if that layout had been given. */
TEST(chosen_shape_equals_that_of_the_explicit_layout)
{
    static const double rates[] = { 0.3, 0.1, 0.05, 0.03, 0.01, 0.001 };
    for (uint64_t n = 2; n < 3000; n++) {
        struct bloomfile_view chosen, asked;
        const double fpr = rates[n % ROWS(rates)];
        const uint64_t bits = bits_for(BLOOMFILE_LAYOUT_CLASSIC, n, fpr, 0);
        const uint32_t layout = bits < 8192 ? BLOOMFILE_LAYOUT_CLASSIC : BLOOMFILE_LAYOUT_BLOCKED;
        assert_error(size_view(&chosen, 0, n, fpr), 0);
        assert_error(size_view(&asked, layout, n, fpr), 0);
        assert_int_equal(shape_of(&chosen).layout, layout);
        assert_memory_equal(&chosen, &asked, sizeof asked);
    }
}

TEST(impossible_shape_is_an_error_and_answers_maybe)
{
    static const struct {
        uint32_t layout, hashes;
        uint64_t bits;
        int error;
    } explicit_ones[] = {
        { 0, 7, 512, BLOOMFILE_EVALUE },
        { 5, 7, 512, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_RIBBON, 0, 512, BLOOMFILE_EISRIBBON },
        { BLOOMFILE_LAYOUT_BLOCKED, 7, 511, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_CLASSIC, 7, 0, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_CLASSIC, 7, BLOOMFILE_MAX_BITS + 1, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_CLASSIC, 0, 100, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_COUNTING, 65, 100, BLOOMFILE_EVALUE },
    };
    for (size_t i = 0; i < ROWS(explicit_ones); i++) {
        struct bloomfile_view view = view_of(BLOOMFILE_LAYOUT_CLASSIC, 8, 1);
        assert_error(make_view(&view, explicit_ones[i].layout, explicit_ones[i].bits,
                               explicit_ones[i].hashes),
                     explicit_ones[i].error);
        assert_int_equal(view.size, 0);
        assert_all_maybe(&view, NULL);
    }
    static const struct {
        uint32_t layout;
        uint64_t n;
        double fpr;
        int error;
    } derived[] = {
        { 5, 10, 0.01, BLOOMFILE_EVALUE },
        { BLOOMFILE_LAYOUT_RIBBON, 10, 0.01, BLOOMFILE_EISRIBBON },
        { 0, 0, 0.01, BLOOMFILE_EVALUE },
        { 0, (1ULL << 60) + 1, 0.01, BLOOMFILE_EVALUE },
        { 0, 10, -0.01, BLOOMFILE_EVALUE },
        { 0, 10, 1, BLOOMFILE_EVALUE },
        { 0, 10, (double)NAN, BLOOMFILE_EVALUE },
        { 0, 1000, 1e-17, BLOOMFILE_EUNREACHABLE },
        { BLOOMFILE_LAYOUT_BLOCKED, 1000, 1e-17, BLOOMFILE_EUNREACHABLE },
    };
    for (size_t i = 0; i < ROWS(derived); i++) {
        struct bloomfile_view view = view_of(BLOOMFILE_LAYOUT_CLASSIC, 8, 1);
        assert_error(size_view(&view, derived[i].layout, derived[i].n, derived[i].fpr),
                     derived[i].error);
        assert_int_equal(view.size, 0);
        assert_all_maybe(&view, NULL);
    }
}

TEST(uninitialized_view_answers_maybe_and_adds_nothing)
{
    const struct bloomfile_view zero = { 0 };
    uint8_t blob[BLOOMFILE_TRAILER_SIZE];
    const uint64_t digest = 1;
    memset(blob, 255, sizeof blob);
    assert_all_maybe(&zero, blob);
    bloomfile_view_add_digests(&zero, blob, &digest, 1);
    bloomfile_view_write_trailer(&zero, 0, blob);
    for (size_t i = 0; i < sizeof blob; i++)
        assert_int_equal(blob[i], 0);
    struct bloomfile_view view;
    assert_error(bloomfile_view_open(&view, 0, blob, sizeof blob), BLOOMFILE_ENOTCOMPACT);
    assert_all_maybe(&view, blob);
}

/* The view may be in memory shared with a process that has a newer library. */
TEST(view_of_an_unknown_layout_answers_maybe)
{
    static const uint8_t none[64];
    struct bloomfile_size size = {
        .struct_size = sizeof size, .layout = BLOOMFILE_LAYOUT_BLOCKED, .bits = 512, .hashes = 6
    };
    struct bloomfile_view view;
    assert_error(bloomfile_view_for(&view, &size), 0);
    assert_false(bloomfile_view_contains_digest(&view, none, 1));
    for (size_t i = 0; i < ROWS(view.words); i++)
        if ((uint32_t)view.words[i] == BLOOMFILE_LAYOUT_BLOCKED && view.words[i] >> 32 == 6)
            view.words[i] += 8;
    assert_all_maybe(&view, none);
}

/* ---- bodies */

/* Every layout at every alignment, compared with the second implementation; the body equals an
 * image's. */
TEST(answers_match_the_specification_at_any_alignment)
{
    static const uint64_t sizes[] = { 1, 7, 64, 512, 1000, 5120, 512 * 97 };
    uint64_t digests[300];
    for (unsigned i = 0; i < ROWS(digests); i++)
        digests[i] = number(5, i);
    for (unsigned l = 0; l < ROWS(layouts); l++)
        for (unsigned s = 0; s < ROWS(sizes); s++)
            for (unsigned k = 1; k <= 64; k = 2 * k + 1) {
                const uint64_t m = sizes[s];
                if (layouts[l] == BLOOMFILE_LAYOUT_BLOCKED && m % 512 != 0)
                    continue;
                const struct bloomfile_view view = view_of(layouts[l], m, k);
                const struct recipe recipe = { layouts[l], EMBEDDED, m, k, 200, 5 };
                struct bytes image = image_from(recipe);
                for (unsigned shift = 0; shift < 3; shift++) {
                    uint8_t *room = calloc(1, view.size + shift), *body = room + shift;
                    bool hits[ROWS(digests)];
                    assert_non_null(room);
                    bloomfile_view_add_digests(&view, body, digests, 150);
                    bloomfile_view_add_digests(&view, body, digests + 150, 50);
                    assert_memory_equal(body, image.data + EMBEDDED, view.size);
                    size_t found =
                        bloomfile_view_contains_digests(&view, body, digests, ROWS(digests), hits);
                    for (unsigned i = 0; i < ROWS(digests); i++) {
                        bool expected = reference_contains(layouts[l], body, m, k, digests[i]);
                        assert_int_equal(hits[i], expected);
                        assert_int_equal(bloomfile_view_contains_digest(&view, body, digests[i]),
                                         expected);
                        found -= expected;
                    }
                    assert_int_equal(found, 0);
                    free(room);
                }
                free(image.data);
            }
}

/* Large batches and large bodies each use other code. */
TEST(batch_add_to_a_view_equals_single_adds)
{
    enum {
        MANY = 1500
    };
    uint64_t digests[MANY];
    for (size_t i = 0; i < ROWS(layouts); i++)
        for (uint64_t bytes = 1u << 13; bytes <= 1u << 25; bytes <<= 12)
            for (uint32_t k = 1; k <= 15; k += 7) {
                const uint64_t units = bytes * (layouts[i] == BLOOMFILE_LAYOUT_COUNTING ? 2 : 8);
                const struct bloomfile_view view = view_of(layouts[i], units, k);
                uint8_t *body = calloc(1, view.size), *expected = calloc(1, view.size);
                assert_non_null(body);
                assert_non_null(expected);
                for (size_t j = 0; j < MANY; j++) {
                    digests[j] = number(k, j);
                    bloomfile_view_add_digests(&view, expected, &digests[j], 1);
                }
                bloomfile_view_add_digests(&view, body, digests, MANY);
                assert_memory_equal(body, expected, view.size);
                free(body);
                free(expected);
            }
}

/* The rates of filters of n = 20 to 40 keys, over many filters: those that bloomfile_size_for()
 * computes, and at most the target. */
TEST(tiny_views_keep_the_target_rate)
{
    enum {
        FILTERS = 400,
        QUERIES = 500
    };
    for (uint64_t n = 20; n <= 40; n += 10) {
        struct bloomfile_view view;
        assert_error(size_view(&view, 0, n, 0.01), 0);
        const struct compact_shape shape = shape_of(&view);
        double promised = fpr_for(shape.layout, shape.bits, shape.hashes, n);
        size_t found = 0;
        for (uint64_t filter = 0; filter < FILTERS; filter++) {
            struct bytes blob = compact_of(&view, filter, n);
            for (uint64_t i = 0; i < QUERIES; i++)
                found += bloomfile_view_contains_digest(&view, blob.data, number(filter, n + i));
            free(blob.data);
        }
        /* The fill varies between filters, so allow more than a binomial's spread. */
        double rate = (double)found / (FILTERS * QUERIES);
        if (!(fabs(rate - promised) < 6 * sqrt(promised / (FILTERS * QUERIES)) + 0.1 * promised))
            fail_msg("n = %" PRIu64 ": rate %g, promised %g", n, rate, promised);
    }
}

/* The view may come from another process, in shared memory. */
TEST(view_contains_no_addresses)
{
    for (unsigned l = 0; l < ROWS(layouts); l++) {
        const struct bloomfile_view view = view_of(layouts[l], 512, 7);
        uint8_t body[256] = { 0 };
        const uint64_t digest = number(1, 1), absent = number(1, 2);
        bool hit;
        for (size_t i = 0; i < ROWS(view.words); i++)
            assert_true(view.words[i] < 1ULL << 36);
        bloomfile_view_add_digests(&view, body, &digest, 1);
        for (unsigned how = 0; how < 2; how++) {
            atomic_store(&kernel_chosen[layouts[l]], NULL);
            assert_true(how == 0
                            ? bloomfile_view_contains_digest(&view, body, digest)
                            : bloomfile_view_contains_digests(&view, body, &digest, 1, &hit) == 1);
            assert_non_null(kernel_chosen[layouts[l]]);
            assert_false(bloomfile_view_contains_digest(&view, body, absent));
        }
    }
}

/* ---- the compact form */

TEST(compact_filter_records_its_shape)
{
    for (unsigned l = 0; l < ROWS(layouts); l++)
        for (uint64_t m = 512; m <= 530; m++) {
            if (layouts[l] == BLOOMFILE_LAYOUT_BLOCKED && m % 512 != 0)
                continue;
            const struct bloomfile_view view = view_of(layouts[l], m, 7);
            struct bytes blob = compact_of(&view, 9, 30);
            struct bloomfile_view found;
            assert_error(bloomfile_view_open(&found, 9, blob.data, blob.size), 0);
            assert_memory_equal(&found, &view, sizeof view);
            memset(&found, 0, sizeof found);
            assert_error(bloomfile_view_open_trusted(&found, blob.data, blob.size), 0);
            assert_memory_equal(&found, &view, sizeof view);
            for (uint64_t i = 0; i < 30; i++)
                assert_true(bloomfile_view_contains_digest(&found, blob.data, number(9, i)));
            free(blob.data);
        }
}

static void assert_refused(const void *blob, size_t size, uint64_t seed, int expected)
{
    struct bloomfile_view view = view_of(BLOOMFILE_LAYOUT_CLASSIC, 8, 1);
    int error = bloomfile_view_open(&view, seed, blob, size);
    if (expected != 0)
        assert_error(error, expected);
    assert_int_not_equal(error, 0);
    assert_int_equal(view.size, 0);
    assert_all_maybe(&view, blob);
}

static void assert_trusted_refused(const void *blob, size_t size, int expected)
{
    struct bloomfile_view view = view_of(BLOOMFILE_LAYOUT_CLASSIC, 8, 1);
    assert_error(bloomfile_view_open_trusted(&view, blob, size), expected);
    assert_all_maybe(&view, blob);
}

TEST(damaged_compact_filter_answers_maybe)
{
    const struct bloomfile_view view = view_of(BLOOMFILE_LAYOUT_CLASSIC, 300, 7);
    struct bytes blob = compact_of(&view, 0, 30);
    for (size_t bit = 0; bit < 8 * blob.size; bit++) {
        blob.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_refused(blob.data, blob.size, 0, 0);
        blob.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t size = 0; size < blob.size; size++) {
        uint8_t *cut = malloc(size > 0 ? size : 1);
        assert_non_null(cut);
        memcpy(cut, blob.data, size);
        assert_refused(cut, size, 0, 0);
        memcpy(cut, blob.data + blob.size - size, size);
        assert_refused(cut, size, 0, 0);
        free(cut);
    }
    assert_refused(blob.data, blob.size, 1, BLOOMFILE_ENOTCOMPACT);
    assert_refused(NULL, 0, 0, BLOOMFILE_ENOTCOMPACT);
    memset(blob.data, 0, blob.size);
    assert_refused(blob.data, blob.size, 0, BLOOMFILE_ENOTCOMPACT);
    memset(blob.data, 255, blob.size);
    assert_refused(blob.data, blob.size, 0, BLOOMFILE_ENOTCOMPACT);
    free(blob.data);
}

/* Violations of compact.md in trailers with a correct checksum. */
TEST(invalid_trailers_answer_maybe)
{
    static const struct {
        size_t size; /* of the body */
        uint8_t trailer[4];
        int error;
    } rows[] = {
        { 64, { 2, 1, 1, 7 }, BLOOMFILE_EVERSION },
        { 64, { 1, 1, 2, 7 }, BLOOMFILE_EHASH },
        { 64, { 1, 0, 1, 7 }, BLOOMFILE_ELAYOUT },
        { 64, { 1, 4, 1, 7 }, BLOOMFILE_ELAYOUT },
        { 64, { 1, 0x11, 1, 7 }, BLOOMFILE_EBITS },
        { 63, { 1, 1, 1, 7 }, BLOOMFILE_EBITS },
        { 1, { 1, 0x82, 1, 7 }, BLOOMFILE_EBITS },
        { 1, { 1, 0xF2, 1, 7 }, BLOOMFILE_EBITS },
        { 1, { 1, 0x23, 1, 7 }, BLOOMFILE_EBITS },
        { 64, { 1, 1, 1, 0 }, BLOOMFILE_EHASHCOUNT },
        { 64, { 1, 1, 1, 65 }, BLOOMFILE_EHASHCOUNT },
        { 2, { 1, 0x82, 1, 7 }, BLOOMFILE_ENOTCOMPACT },
        { 2, { 1, 0x23, 1, 7 }, BLOOMFILE_ENOTCOMPACT },
        /* Several violations: the first rule wins, in the order of the rules for images. */
        { 63, { 9, 9, 9, 0 }, BLOOMFILE_EVERSION },
        { 63, { 1, 9, 9, 0 }, BLOOMFILE_ELAYOUT },
        { 63, { 1, 1, 9, 0 }, BLOOMFILE_EHASH },
        { 63, { 1, 1, 1, 0 }, BLOOMFILE_EHASHCOUNT },
        { 63, { 1, 1, 1, 7 }, BLOOMFILE_EBITS },
    };
    const struct bloomfile_view any = view_of(BLOOMFILE_LAYOUT_BLOCKED, 512, 7);
    struct bytes blob = compact_of(&any, 3, 0);
    const uint32_t mark = checksum(blob.data, 68) ^ get32(blob.data + 68);
    for (size_t i = 0; i < ROWS(rows); i++) {
        uint8_t *trailer = blob.data + rows[i].size;
        memset(blob.data, 0, rows[i].size);
        memcpy(trailer, rows[i].trailer, sizeof rows[i].trailer);
        put32(trailer + 4, checksum(blob.data, rows[i].size + 4) ^ mark);
        assert_refused(blob.data, rows[i].size + BLOOMFILE_TRAILER_SIZE, 3, rows[i].error);
        put32(trailer + 4, 0);
        assert_trusted_refused(blob.data, rows[i].size + BLOOMFILE_TRAILER_SIZE, rows[i].error);
    }
    memset(blob.data, 0, blob.size);
    assert_trusted_refused(blob.data, blob.size, BLOOMFILE_EVERSION);
    for (size_t size = 0; size <= BLOOMFILE_TRAILER_SIZE; size++)
        assert_trusted_refused(blob.data, size, BLOOMFILE_ENOTCOMPACT);
    free(blob.data);
}

TEST(compact_filters_match_the_vectors)
{
    uint8_t test_string[1124];
    for (unsigned i = 0; i < sizeof test_string; i++)
        test_string[i] = (uint8_t)(128 + 157 * i);
    for_each_vector(line, "compact", 6)
    {
        char layout[16], seed_digits[17], expected[512];
        uint64_t m;
        unsigned k, keys, maybe;
        if (sscanf(line, "compact %15s m=%" SCNu64 " k=%u seed=%16s keys=%u maybe=%u %511s", layout,
                   &m, &k, seed_digits, &keys, &maybe, expected) != 7)
            fail_msg("not understood: %s", line);
        const uint64_t seed = hex(seed_digits);
        const struct bloomfile_view view = view_of(layout[0] == 'b'   ? BLOOMFILE_LAYOUT_BLOCKED
                                                   : layout[1] == 'l' ? BLOOMFILE_LAYOUT_CLASSIC
                                                                      : BLOOMFILE_LAYOUT_COUNTING,
                                                   m, k);
        struct bytes blob = compact_of(&view, seed, 0);
        for (unsigned i = 0; i < keys; i++) {
            const uint64_t digest = bloomfile_hash(seed, test_string, i);
            bloomfile_view_add_digests(&view, blob.data, &digest, 1);
        }
        bloomfile_view_write_trailer(&view, seed, blob.data);
        char digits[512] = "";
        for (size_t i = 0; i < blob.size; i++)
            snprintf(digits + 2 * i, 3, "%02x", blob.data[i]);
        assert_string_equal(digits, expected);
        for (unsigned i = 100; i < sizeof test_string; i++)
            maybe -= bloomfile_view_contains_digest(&view, blob.data,
                                                    bloomfile_hash(seed, test_string, i));
        assert_int_equal(maybe, 0);
        free(blob.data);
    }
}

int main(int argc, char **argv)
{
    if (lacks_kernel())
        return skipped("this processor lacks the kernel");
    return spec_test_main(argc, argv);
}
