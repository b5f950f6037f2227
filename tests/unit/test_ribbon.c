/* SPDX-License-Identifier: MIT
 * The layout ribbon (doc/format/ribbon.md): its solutions and lookups compared with plain
 * implementations, and its use in the library. */
#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <bloomfile_view.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "build/solver.h"
#include "format/bytes.h"
#include "format/header.h"
#include "kernel/dispatch.h"
#include "kernel/ribbon/ribbon.h"
#include "plain_ribbon.h"

enum {
    PAGE = 4096
};

static const char *const names[] = { "scalar", "avx2", "avx512", "neon" };

/* ---- a second implementation, one bit at a time */

/* Gauss-Jordan elimination on whole rows: bits of the slots, then 32 right-hand sides. */
struct matrix {
    uint64_t *words;
    size_t rows, slots, width;
};

static uint64_t *row_of(const struct matrix *m, size_t row)
{
    return m->words + row * m->width;
}

static bool bit_of(const uint64_t *row, size_t i)
{
    return (row[i / 64] >> i % 64 & 1) != 0;
}

static void set_bits(uint64_t *row, size_t at, uint32_t bits)
{
    row[at / 64] |= (uint64_t)bits << at % 64; /* at is a multiple of 32 */
}

/* Sets lead[slot] to its row + 1, or 0. Returns false if the rows are dependent. */
static bool reduce(struct matrix *m, size_t *lead)
{
    size_t done = 0;
    for (size_t slot = 0; slot < m->slots; slot++) {
        size_t row = done;
        while (row < m->rows && !bit_of(row_of(m, row), slot))
            row++;
        lead[slot] = row < m->rows ? ++done : 0;
        if (row == m->rows)
            continue;
        for (size_t w = 0; w < m->width; w++) {
            const uint64_t kept = row_of(m, row)[w];
            row_of(m, row)[w] = row_of(m, done - 1)[w];
            row_of(m, done - 1)[w] = kept;
        }
        for (size_t i = 0; i < m->rows; i++)
            if (i != done - 1 && bit_of(row_of(m, i), slot))
                for (size_t w = 0; w < m->width; w++)
                    row_of(m, i)[w] ^= row_of(m, done - 1)[w];
    }
    return done == m->rows;
}

static bool try_shape(uint8_t *page, unsigned lines, const uint64_t *digests, size_t n, unsigned q,
                      unsigned seed)
{
    const unsigned words = 16 * lines - 2;
    struct matrix m = { .rows = n, .slots = 32 * q, .width = q / 2 + 2 };
    size_t lead[32 * 511];
    m.words = calloc(n * m.width + 1, 8);
    assert_non_null(m.words);
    for (size_t i = 0; i < n; i++) {
        const struct plain_key key = plain_key_of(digests[i], q, seed);
        set_bits(row_of(&m, i), 32 * key.b, (uint32_t)key.a);
        set_bits(row_of(&m, i), 32 * key.b + 32, (uint32_t)(key.a >> 32));
        set_bits(row_of(&m, i), m.slots, (uint32_t)key.h);
    }
    const bool independent = reduce(&m, lead);
    for (unsigned b = 0; independent && b < q; b++) {
        unsigned before;
        const unsigned c = plain_columns_of(q, words, b, &before);
        for (unsigned j = 0; j < c; j++) {
            uint32_t column = 0;
            for (unsigned i = 0; i < 32; i++) {
                const size_t row = lead[32 * b + i];
                column |= (uint32_t)(row != 0 && bit_of(row_of(&m, row - 1), m.slots + j)) << i;
            }
            put32(page + 8 + 4 * (before + j), column);
        }
    }
    if (independent)
        put64(page, q | (uint64_t)seed << 16 | (uint64_t)n << 32);
    free(m.words);
    return independent;
}

static void plain_solution(uint8_t *page, unsigned lines, const uint64_t *digests, size_t n)
{
    memset(page, 0, 64 * lines);
    unsigned q = (unsigned)((41 * n + 1279) / 1280);
    for (q = q < 2 ? 2 : q; q <= (16 * lines - 2) / 2; q++)
        for (unsigned seed = 0; seed < 16; seed++)
            if (try_shape(page, lines, digests, n, q, seed))
                return;
    put64(page, (uint64_t)n << 32);
}

/* ---- kernels */

static struct ribbon_solve_memory *new_memory(void)
{
    struct ribbon_solve_memory *memory = aligned_alloc(64, sizeof *memory);
    assert_non_null(memory);
    return memset(memory, 0xA5, sizeof *memory);
}

static void assert_solution(unsigned lines, const uint64_t *digests, size_t n)
{
    uint8_t expected[PAGE];
    plain_solution(expected, lines, digests, n);
    for (size_t i = 0; i < ROWS(names); i++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_RIBBON, names[i]);
        if (kernel == NULL)
            continue;
        struct ribbon_solve_memory *memory = new_memory();
        uint8_t *page = calloc(1, 64 * lines); /* the allocation ends with the page */
        assert_non_null(page);
        assert_true(kernel->solve(page, lines, digests, n, memory));
        assert_memory_equal(page, expected, 64 * lines);
        free(page);
        free(memory);
    }
}

static void assert_solved_plainly(unsigned lines, size_t n, uint64_t *state)
{
    uint64_t *digests = malloc((n + 1) * sizeof *digests);
    assert_non_null(digests);
    for (size_t i = 0; i < n; i++)
        digests[i] = random64(state);
    assert_solution(lines, digests, n);
    free(digests);
}

TEST(every_kernel_finds_the_unique_solution)
{
    static const struct {
        unsigned lines;
        size_t n[8];
    } rows[] = {
        { 1, { 0, 1, 2, 20, 62, 100, 200, 300 } },
        { 2, { 1, 31, 32, 33, 130, 250, 400, 600 } },
        { 3, { 5, 63, 64, 65, 66, 200, 700, 720 } },
        { 13, { 0, 40, 281, 700, 900, 1200, 3000, 3300 } },
        { 64, { 0, 1, 960, 1280 } }, /* 31 groups of 32 columns; all slots used */
    };
    uint64_t random = 22;
    for (size_t r = 0; r < ROWS(rows); r++)
        for (size_t i = 0; i < ROWS(rows[r].n); i++)
            assert_solved_plainly(rows[r].lines, rows[r].n[i], &random);
}

/* 64 keys of the first group: at most 32 rows can move to the next group. If no row used one of
 * the slots, that would be 33 rows. */
TEST(kernels_solve_a_group_that_moves_the_most_rows)
{
    enum {
        CROWD = 64
    };
    uint64_t random = 24, digests[CROWD];
    for (unsigned turn = 0; turn < 40; turn++) {
        for (size_t i = 0; i < CROWD;) {
            digests[i] = random64(&random);
            const struct plain_key key = plain_key_of(digests[i], 3, 0);
            i += key.b == 0 && (turn % 2 == 0 || (key.a & 1) == 0);
        }
        assert_solution(2, digests, CROWD);
    }
}

/* The first group has too many keys; the other groups must not suffer. */
TEST(solver_gives_up_a_block_with_far_too_many_keys)
{
    enum {
        CROWD = 400 /* for 13 groups */
    };
    uint64_t random = 25, digests[CROWD];
    for (size_t i = 0; i < CROWD;) {
        digests[i] = random64(&random);
        i += plain_key_of(digests[i], 13, 0).b == 0;
    }
    assert_solution(2, digests, CROWD);
}

/* Too many of the 93 keys begin in the first of three groups, except with the last seed. */
TEST(solver_tries_every_seed)
{
    enum {
        KEYS = 93
    };
    const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_RIBBON, "scalar");
    struct ribbon_solve_memory *memory = new_memory();
    uint64_t random = 25, digests[KEYS];
    uint8_t page[128] = { 0 };
    for (unsigned turn = 0; (get64(page) >> 16 & 127) != 15; turn++) {
        assert_in_range(turn, 0, 100);
        for (size_t i = 0; i < KEYS;) {
            unsigned first = 0;
            digests[i] = random64(&random);
            for (unsigned seed = 0; seed < 15; seed++)
                first += plain_key_of(digests[i], 3, seed).b == 0;
            i += first >= 12;
        }
        memset(page, 0, sizeof page);
        assert_true(kernel->solve(page, 2, digests, KEYS, memory));
    }
    assert_int_equal(get64(page) & 0xFFFF, 3);
    assert_solution(2, digests, KEYS);
    free(memory);
}

/* The digests are not even read then. */
TEST(page_with_more_keys_than_its_head_can_count_is_not_solved)
{
    static const uint64_t counts[] = { 100000, UINT32_MAX, 1ULL << 32, UINT64_MAX };
    struct ribbon_solve_memory *memory = new_memory();
    for (size_t k = 0; k < ROWS(names); k++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_RIBBON, names[k]);
        for (size_t i = 0; kernel != NULL && i < ROWS(counts); i++) {
            uint8_t page[64] = { 0 };
            assert_true(kernel->solve(page, 1, NULL, counts[i], memory));
            assert_int_equal(get64(page), (counts[i] < UINT32_MAX ? counts[i] : UINT32_MAX) << 32);
        }
    }
    free(memory);
}

/* The page overwrites its own digests, so it no longer matches them. */
TEST(page_without_its_keys_is_detected)
{
    struct ribbon_solve_memory *memory = new_memory();
    for (size_t k = 0; k < ROWS(names); k++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_RIBBON, names[k]);
        uint64_t random = 26, digests[PAGE / 8];
        for (size_t i = 0; i < ROWS(digests); i++)
            digests[i] = random64(&random);
        if (kernel != NULL)
            assert_false(kernel->solve((uint8_t *)digests, 64, digests, ROWS(digests), memory));
    }
    free(memory);
}

static bool solve_wrongly(uint8_t *page, unsigned lines, const uint64_t *digests, uint64_t n,
                          struct ribbon_solve_memory *memory)
{
    (void)page, (void)lines, (void)digests, (void)n, (void)memory;
    return false;
}

TEST(unsolvable_page_fails_the_build)
{
    const struct kernel wrong = { .solve = solve_wrongly };
    struct solver *solver;
    uint8_t page[PAGE] = { 0 };
    assert_int_equal(solver_new(&solver, &wrong, 1), 0);
    solver_start(solver, 0, 64);
    assert_error(solver_make(solver, page, 1), BLOOMFILE_EBODY);
    solver_free(solver);
}

/* Random words after a head; `lines` of all pages together. */
static void assert_lookups_agree(uint64_t lines, uint64_t head, uint64_t *state)
{
    enum {
        MOST = 300
    };
    static const size_t counts[] = { 0, 1, 3, 4, 7, 8, 9, 63, 64, 65, 127, 128, 129, 200, MOST };
    uint8_t *body = malloc((size_t)(64 * lines));
    uint64_t digests[MOST];
    bool expected[MOST];
    assert_non_null(body);
    for (size_t i = 0; i < 8 * lines; i++)
        put64(body + 8 * i, i % 512 == 0 ? head : random64(state) & random64(state));
    for (size_t i = 0; i < MOST; i++) {
        digests[i] = random64(state);
        expected[i] = plain_body_has(body, lines, digests[i]);
    }
    for (size_t k = 0; k < ROWS(names); k++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_RIBBON, names[k]);
        for (unsigned known = 0; kernel != NULL && known < 2; known++) {
            _Atomic uint32_t shapes[8] = { 0 };
            const struct kernel_view view = { .body = body,
                                              .units = lines,
                                              .shapes = known ? shapes : NULL };
            bool hits[MOST + 1];
            for (size_t c = 0; c < ROWS(counts); c++) {
                size_t sum = 0;
                for (size_t i = 0; i < counts[c]; i++)
                    sum += expected[i];
                memset(hits, 0xEE, sizeof hits);
                kernel->expect(&view, digests, counts[c]);
                assert_int_equal(kernel->contains_many(&view, digests, counts[c], hits), sum);
                assert_memory_equal(hits, expected, counts[c]);
                assert_int_equal(*(uint8_t *)&hits[counts[c]], 0xEE);
                assert_int_equal(kernel->contains_many(&view, digests, counts[c], NULL), sum);
            }
            for (size_t i = 0; i < MOST; i++)
                assert_int_equal(kernel->contains(&view, digests[i]), expected[i]);
        }
    }
    free(body);
}

TEST(kernels_agree_on_every_page_head)
{
    uint64_t random = 23;
    for (unsigned q = 0; q < 520; q = q < 40 || q > 505 ? q + 1 : q + 7)
        assert_lookups_agree(64 + q % 3, q | (uint64_t)(q % 128) << 16, &random);
    for (unsigned lines = 1; lines < 20; lines++)
        for (unsigned q = 0; q < 9 * lines; q = q < 12 ? q + 1 : 2 * q)
            assert_lookups_agree(lines, q, &random);
    for (unsigned bit = 9; bit < 64; bit++)
        assert_lookups_agree(130, 77 | 1ULL << bit, &random);
}

static void assert_each_kernel_says(const uint8_t *page, uint64_t digest, bool answer)
{
    enum {
        COPIES = 8 /* the lanes of a vector */
    };
    uint64_t digests[COPIES];
    for (size_t i = 0; i < COPIES; i++)
        digests[i] = digest;
    assert_int_equal(plain_page_has(page, 64, digest), answer);
    for (size_t k = 0; k < ROWS(names); k++) {
        const struct kernel *kernel = kernel_named(BLOOMFILE_LAYOUT_RIBBON, names[k]);
        _Atomic uint32_t shape = 0;
        const struct kernel_view view = { .body = page, .units = 64, .shapes = &shape };
        if (kernel == NULL)
            continue;
        assert_int_equal(kernel->contains(&view, digest), answer);
        assert_int_equal(kernel->contains_many(&view, digests, COPIES, NULL), answer * COPIES);
    }
}

/* A single wrong column makes a "no": any column, in any number of columns. */
TEST(single_wrong_column_answers_no)
{
    uint64_t random = 28;
    uint8_t page[PAGE];
    for (unsigned columns = 2; columns <= 32; columns++)
        for (unsigned turn = 0; turn < 6; turn++) {
            const unsigned words = PAGE / 4 - 2, q = words / columns;
            const uint64_t digest = random64(&random);
            const struct plain_key key = plain_key_of(digest, q, turn);
            unsigned before;
            const unsigned c = plain_columns_of(q, words, key.b, &before);
            uint8_t *const first = page + 8 + (size_t)4 * before;
            if ((uint32_t)key.a == 0)
                continue;
            for (size_t at = 8; at < PAGE; at += 8)
                put64(page + at, random64(&random));
            put64(page, q | turn << 16);
            const uint32_t bit = (uint32_t)key.a & -(uint32_t)key.a;
            for (unsigned j = 0; j < c; j++) {
                const uint64_t high = get32(first + (size_t)4 * (c + j));
                uint8_t *const word = first + (size_t)4 * j;
                if (plain_parity((get32(word) | high << 32) & key.a) != (key.h >> j & 1))
                    put32(word, get32(word) ^ bit);
            }
            assert_each_kernel_says(page, digest, true);
            for (unsigned j = 0; j < c; j++) {
                uint8_t *const word = first + (size_t)4 * j;
                put32(word, get32(word) ^ bit);
                assert_each_kernel_says(page, digest, false);
                put32(word, get32(word) ^ bit);
            }
        }
}

/* ---- filters */

static const struct bloomfile_params ribbon = { .layout = BLOOMFILE_LAYOUT_RIBBON };

static struct bytes filter_of(struct bloomfile_params params, uint64_t keys)
{
    params.layout = BLOOMFILE_LAYOUT_RIBBON;
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, keys);
    return last_image(b);
}

static void assert_has(struct bytes image, uint64_t keys)
{
    bloomfile_filter *f = open_image(image, 0);
    for (uint64_t i = 0; i < keys; i++)
        assert_true(bloomfile_contains_digest(f, number(0, i)));
    assert_error(bloomfile_check(f), 0);
    bloomfile_close(f);
}

TEST(keys_are_found_and_non_members_match_the_rate_of_the_heads)
{
    static const double rates[] = { 0.3, 0.05, 0.01, 0.001 };
    static const uint64_t keys[] = { 1, 50, 700, 4500, 30000 };
    for (size_t r = 0; r < ROWS(rates); r++)
        for (size_t k = 0; k < ROWS(keys); k++) {
            const uint64_t n = keys[k], queries = 200000;
            struct bytes image = filter_of((struct bloomfile_params){ .fpr = rates[r] }, n);
            bloomfile_filter *f = open_image(image, 0);
            assert_has(image, n);
            assert_int_equal(verified_info(image).keys, n);
            struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
            assert_error(bloomfile_measure(f, &m), 0);
            assert_true(m.keys_estimate == (double)n);
            uint64_t found = 0, plainly = 0;
            for (uint64_t i = 0; i < queries; i++)
                found += bloomfile_contains_digest(f, number(0, n + i));
            for (uint64_t i = 0; i < queries / 20; i++)
                plainly += plain_body_has(image.data + EMBEDDED, info_of(f).bits / 512,
                                          number(0, n + i)) !=
                           bloomfile_contains_digest(f, number(0, n + i));
            assert_int_equal(plainly, 0);
            const double due = m.fpr * (double)queries;
            assert_true(fabs((double)found - due) <= 5 * sqrt(due) + 1);
            assert_true(m.fpr <= rates[r] * 1.15);
            bloomfile_close(f);
            free(image.data);
        }
}

static unsigned unsolved_pages(const bloomfile_filter *f)
{
    unsigned count = 0;
    struct bloomfile_solution page;
    for (uint64_t i = 0; bloomfile_measure_page(f, i, &page) == 0; i++)
        count += page.groups == 0;
    return count;
}

/* Each page has a rate of at most 1/4, or of 1. */
TEST(high_rates_are_kept_with_every_page_solved)
{
    static const double rates[] = { 0.24, 0.25, 0.3, 0.9 };
    for (uint64_t n = 13000; n < 60000; n += n / 12)
        for (size_t r = 0; r < ROWS(rates); r++) {
            struct bytes image = filter_of((struct bloomfile_params){ .fpr = rates[r] }, n);
            bloomfile_filter *f = open_image(image, 0);
            struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
            assert_error(bloomfile_measure(f, &m), 0);
            assert_true(m.fpr <= rates[r] * 1.05);
            assert_int_equal(unsolved_pages(f), 0);
            assert_true(info_of(f).fpr == rates[r]);
            bloomfile_close(f);
            free(image.data);
        }
}

/* In memory, in a file, sorted, repeated, with several threads, with little memory. */
TEST(equal_keys_make_equal_bytes)
{
    static const uint64_t sizes[] = { 0, 3, 5000, 120000 };
    for (size_t s = 0; s < ROWS(sizes); s++)
        for (unsigned threads = 0; threads <= 3; threads += 3)
            for (unsigned little = 0; little < 2; little++) {
                struct bloomfile_params params = { .layout = BLOOMFILE_LAYOUT_RIBBON,
                                                   .threads = threads,
                                                   .memory = little };
                bloomfile_builder *plain = new_builder(ribbon), *other = new_builder(params);
                add_numbers(plain, 0, sizes[s]);
                for (uint64_t key = sizes[s]; key-- > 0;)
                    add_numbers(other, key, key + 1);
                add_numbers(other, 0, sizes[s] / 3);
                const struct bytes file = finish_file(plain);
                assert_bytes(finish_file(other), file);
                free(file.data);
                struct bytes image = last_image(plain);
                assert_bytes(last_image(other), image);
                assert_has(image, sizes[s]);
                free(image.data);
            }
}

/* The number of columns shrinks in all pages, at last to 0. */
TEST(undersized_ribbon_filter_finds_every_key)
{
    for (uint64_t bits = 512; bits <= 512 * 130; bits += 512 * 43)
        for (uint64_t keys = 1; keys < 70000; keys *= 8) {
            struct bytes image = filter_of((struct bloomfile_params){ .bits = bits }, keys);
            assert_has(image, keys);
            assert_int_equal(verified_info(image).keys, keys);
            free(image.data);
        }
}

TEST(page_over_capacity_does_not_affect_other_pages)
{
    enum {
        CROWD = 20000,
        KEYS = CROWD + 3000
    };
    static uint64_t digests[KEYS];
    uint64_t random = 27;
    for (size_t i = 0; i < KEYS; i++)
        digests[i] =
            random64(&random) / 3 + (i < CROWD ? UINT64_MAX / 3 : i % 2 * (UINT64_MAX / 3 * 2));
    bloomfile_builder *b = new_builder(
        (struct bloomfile_params){ .layout = BLOOMFILE_LAYOUT_RIBBON, .bits = 512 * 64 * 3 });
    assert_error(bloomfile_builder_add_digests(b, digests, KEYS), 0);
    struct bytes image = last_image(b);
    const uint8_t *const body = image.data + EMBEDDED;
    assert_int_equal(verified_info(image).keys, KEYS);
    assert_true((get64(body) & 0xFFFF) > 2 && (get64(body + 2 * PAGE) & 0xFFFF) > 2);
    assert_int_equal(get64(body + PAGE), (uint64_t)CROWD << 32);
    for (size_t i = 0; i < KEYS; i++)
        assert_true(plain_body_has(body, 64 * 3, digests[i]));
    free(image.data);
}

TEST(file_form_of_a_ribbon_has_whole_pages)
{
    bloomfile_builder *b = new_builder(ribbon);
    add_numbers(b, 0, 10000);
    struct bytes file = finish_file(b), image = last_image(b);
    struct bloomfile_info in_file = verified_info(file), embedded = verified_info(image);
    assert_int_equal(in_file.bits, 8 * in_file.body_size);
    assert_true(embedded.bits < in_file.bits && embedded.bits + 512 * 64 > in_file.bits);
    free(file.data);
    free(image.data);
}

TEST(a_page_is_checked_before_the_first_answer)
{
    enum {
        KEYS = 6000
    };
    struct bytes image = filter_of(ribbon, KEYS);
    const size_t size = (size_t)verified_info(image).body_size;
    for (size_t at = 0; at < size; at += 251) {
        image.data[EMBEDDED + at] ^= (uint8_t)(1 << at % 8);
        bloomfile_filter *f = open_image(image, 0), *batch = open_image(image, 0);
        bloomfile_digest digests[KEYS];
        for (uint64_t i = 0; i < KEYS; i++)
            digests[i] = number(0, i);
        for (uint64_t i = 0; i < KEYS; i += 7)
            assert_true(bloomfile_contains_digest(f, digests[i]));
        assert_int_equal(bloomfile_contains_digests(batch, digests, KEYS, NULL), KEYS);
        assert_error(bloomfile_check(batch), BLOOMFILE_EPAGE);
        bloomfile_close(f);
        bloomfile_close(batch);
        image.data[EMBEDDED + at] ^= (uint8_t)(1 << at % 8);
    }
    free(image.data);
}

/* Bytes were bad for a while, on disk or in memory. Verification ends the doubt. */
TEST(verification_clears_data_read_from_a_bad_page)
{
    static const unsigned flags[] = { BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE };
    enum {
        KEYS = 6000
    };
    for (size_t i = 0; i < ROWS(flags); i++) {
        struct bytes image = filter_of(ribbon, KEYS);
        bloomfile_filter *f = open_image(image, flags[i]);
        bloomfile_digest digests[KEYS];
        for (uint64_t key = 0; key < KEYS; key++)
            digests[key] = number(0, key);
        image.data[EMBEDDED + 2] ^= 1; /* the seed of the first page */
        const size_t found = bloomfile_contains_digests(f, digests, KEYS, NULL);
        image.data[EMBEDDED + 2] ^= 1;
        assert_true(flags[i] == BLOOMFILE_OPEN_VERIFY_FULL ? found == KEYS : found < KEYS);
        assert_error(bloomfile_verify(f, 0, NULL), 0);
        assert_int_equal(bloomfile_contains_digests(f, digests, KEYS, NULL), KEYS);
        bloomfile_close(f);
        free(image.data);
    }
}

/* Like a hole in a file. */
TEST(unchecked_page_of_zeros_answers_maybe)
{
    struct bytes image = filter_of(ribbon, 6000);
    memset(image.data + EMBEDDED, 0, PAGE);
    bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_NONE);
    for (uint64_t i = 0; i < 6000; i++)
        assert_true(bloomfile_contains_digest(f, number(0, i)));
    bloomfile_close(f);
    free(image.data);
}

static void assert_contradiction(struct bytes image, const char *field)
{
    bloomfile_filter *f = open_image(image, 0);
    struct bloomfile_fault fault;
    assert_error(bloomfile_verify(f, 0, &fault), BLOOMFILE_EBODY);
    assert_string_equal(fault.field, field);
    assert_int_equal(fault.offset, EMBEDDED);
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(bloomfile_contains_digest(f, random64(&i)));
    bloomfile_close(f);
}

static void change_head(struct bytes image, uint8_t *head, uint64_t now)
{
    const int more = __builtin_popcountll(now) - __builtin_popcountll(get64(head));
    put64(head, now);
    for (unsigned slot = 0; slot < 2; slot++) {
        uint8_t *ones = record_at(image.data, slot) + RECORD_AT_ones;
        put64(ones, get64(ones) + (uint64_t)(int64_t)more);
    }
    reseal_body(image.data);
}

TEST(invalid_head_fails_the_verification)
{
    static const struct {
        uint64_t change;
        const char *field;
    } rows[] = {
        { 1ULL << 23, "head" }, { 1ULL << 31, "head" }, { 0x8000, "head" },
        { 1ULL << 32, "n" },    { 1ULL << 63, "n" },    { 1ULL << 33, "n" },
        { 1ULL << 34, "n" },    { 1ULL << 35, "n" },    { 1ULL << 36, "n" }, /* fewer keys */
    };
    for (size_t i = 0; i < ROWS(rows); i++)
        for (unsigned page = 0; page < 2; page++) {
            struct bytes image = filter_of(ribbon, 6000);
            uint8_t *head = image.data + EMBEDDED + page * PAGE;
            change_head(image, head, get64(head) ^ rows[i].change);
            assert_contradiction(image, rows[i].field);
            free(image.data);
        }
}

/* The smallest number of groups that a builder tries. */
static unsigned first_groups(uint64_t keys)
{
    const uint64_t groups = (41 * keys + 1279) / 1280;
    return groups < 2 ? 2 : (unsigned)groups;
}

/* The pages add up to the filter's own numbers; each page matches its head. */
static void assert_pages_tell(struct bytes image, uint64_t keys)
{
    bloomfile_filter *f = open_image(image, 0);
    const struct bloomfile_info info = info_of(f);
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
    struct bloomfile_solution page;
    uint64_t keys_there = 0, lines = 0;
    double rate = 0;
    assert_error(bloomfile_measure(f, &m), 0);
    for (uint64_t i = 0; i < info.pages; i++, lines += page.lines) {
        const uint64_t head = get64(image.data + EMBEDDED + i * PAGE);
        const unsigned groups = head & 0xFFFF;
        const bool solved = groups != 0 && groups < 0x8000;
        assert_error(bloomfile_measure_page(f, i, &page), 0);
        assert_int_equal(page.keys, head >> 32);
        assert_int_equal(page.groups, solved ? groups : 0);
        assert_int_equal(page.groups_more, solved ? groups - first_groups(page.keys) : 0);
        assert_int_equal(page.seed, solved ? head >> 16 & 127 : 0);
        const double columns = solved ? fmin(32, (16.0 * page.lines - 2) / groups) : 0;
        assert_true(fabs(page.columns - columns) <= 1e-12);
        assert_true(solved ? page.fpr <= exp2(-floor(page.columns)) &&
                                 page.fpr >= exp2(-ceil(page.columns))
                           : page.fpr == 1);
        keys_there += page.keys;
        rate += page.lines * page.fpr;
    }
    assert_int_equal(keys_there, keys);
    assert_int_equal(lines, info.bits / 512);
    assert_true(fabs(rate / (double)lines - m.fpr) <= 1e-6 * m.fpr);
    assert_error(bloomfile_measure_page(f, info.pages, &page), BLOOMFILE_EVALUE);
    assert_error(bloomfile_measure_page(f, UINT64_MAX, &page), BLOOMFILE_EVALUE);
    bloomfile_close(f);
}

TEST(page_report_matches_the_heads)
{
    static const uint64_t keys[] = { 0, 1, 700, 4500, 30000, 100000 };
    for (size_t i = 0; i < ROWS(keys); i++) {
        struct bytes image = filter_of((struct bloomfile_params){ .bits = 512 * 200 }, keys[i]);
        assert_pages_tell(image, keys[i]);
        image.data[EMBEDDED + PAGE + 1] ^= 0x80; /* in the groups of page 1 */
        assert_pages_tell(image, keys[i]);
        free(image.data);
    }
    struct bytes image = last_image(new_builder((struct bloomfile_params){ .fpr = 0.01 }));
    bloomfile_filter *blocked = open_image(image, 0);
    struct bloomfile_solution page;
    assert_error(bloomfile_measure_page(blocked, 0, &page), BLOOMFILE_EVALUE);
    bloomfile_close(blocked);
    free(image.data);
}

static void set_keys(struct bytes image, uint64_t n)
{
    for (unsigned slot = 0; slot < 2; slot++)
        put64(record_at(image.data, slot) + RECORD_AT_n, n);
    reseal_body(image.data);
}

/* Its head holds 2^32 - 1 then, and the filter has at least the sum of all heads. */
TEST(page_may_have_more_keys_than_its_head_can_count)
{
    struct bytes image = filter_of(ribbon, 6000);
    const uint64_t sum = UINT32_MAX + (get64(image.data + EMBEDDED + PAGE) >> 32);
    change_head(image, image.data + EMBEDDED, (uint64_t)UINT32_MAX << 32);
    set_keys(image, 3ULL << 32);
    assert_int_equal(verified_info(image).keys, 3ULL << 32);
    set_keys(image, sum);
    assert_int_equal(verified_info(image).keys, sum);
    set_keys(image, sum - 1);
    assert_contradiction(image, "n");
    free(image.data);
}

TEST(ribbon_filters_refuse_operations_that_need_the_keys)
{
    struct bytes image = filter_of(ribbon, 100), made;
    bloomfile_filter *f = open_image(image, 0), *live;
    const bloomfile_filter *const sources[] = { f };
    const struct bloomfile_params params = { .struct_size = sizeof params,
                                             .layout = BLOOMFILE_LAYOUT_RIBBON,
                                             .capacity = 100,
                                             .bits = 512 };
    struct bloomfile_params growing = params, hashed = params;
    struct bloomfile_merge_params merging = BLOOMFILE_MERGE_PARAMS_INIT;
    struct bloomfile_view view;
    struct bloomfile_size shape = BLOOMFILE_SIZE_INIT;
    const uint8_t body[64] = { 0 };
    void *memory;
    size_t size;
    growing.series = BLOOMFILE_SERIES_GROW;
    shape.layout = BLOOMFILE_LAYOUT_RIBBON;
    shape.bits = 512;
    assert_error(bloomfile_create(&live, "live", &params, 0), BLOOMFILE_EISRIBBON);
    assert_error(bloomfile_create(&live, "live", &growing, 0), BLOOMFILE_EISRIBBON);
    assert_error(bloomfile_create_memory(&live, &params, 0), BLOOMFILE_EISRIBBON);
    assert_error(fold_memory(&memory, &size, f, 2), BLOOMFILE_EISRIBBON);
    assert_error(bloomfile_fold_plan(f, 0, NULL, &size), BLOOMFILE_EISRIBBON);
    assert_error(bloomfile_check_merge(f, f), BLOOMFILE_EISRIBBON);
    assert_error(merge_memory(&memory, &size, sources, 1, &merging), BLOOMFILE_EISRIBBON);
    assert_error(project_memory(&memory, &size, f), BLOOMFILE_ENOTCOUNTING);
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &params, body, sizeof body, 0, 0),
                 BLOOMFILE_EISRIBBON);
    hashed.hashes = 5;
    assert_error(bloomfile_assemble(TO_PATH("made", 0), &hashed, body, sizeof body, 0, 0),
                 BLOOMFILE_EISRIBBON);
    assert_error(bloomfile_view_for(&view, &shape), BLOOMFILE_EISRIBBON);
    assert_true(bloomfile_view_contains_digest(&view, body, 1));
    assert_error(bloomfile_delta(TO_PATH("made", 0), f, f, 0), BLOOMFILE_EISRIBBON);
    assert_error(bloomfile_add(f, "key", 3, NULL), BLOOMFILE_ESEALED);
    assert_error(bloomfile_remove(f, "key", 3), BLOOMFILE_ENOTCOUNTING);
    made = (struct bytes){ .size = 0 };
    assert_error(copy_memory((void **)&made.data, &made.size, f), 0);
    assert_bytes(made, image);
    bloomfile_close(f);
    free(image.data);
}

TEST(ribbon_filters_refuse_a_number_of_hashes)
{
    bloomfile_builder *b;
    const struct bloomfile_params params = { .struct_size = sizeof params,
                                             .layout = BLOOMFILE_LAYOUT_RIBBON,
                                             .hashes = 1 };
    assert_error(bloomfile_builder_new(&b, &params), BLOOMFILE_EVALUE);
    assert_int_equal(bits_for(BLOOMFILE_LAYOUT_RIBBON, 1000, 0.01, 7), 0);
    assert_int_equal(hashes_for(BLOOMFILE_LAYOUT_RIBBON, 51200, 1000), 0);
    assert_true(isnan(fpr_for(BLOOMFILE_LAYOUT_RIBBON, 51200, 7, 1000)));
}

TEST(ribbon_sizes_are_the_smallest_that_keep_the_rate)
{
    static const double rates[] = { 0.1, 0.01, 1e-4, 1e-9 };
    for (size_t r = 0; r < ROWS(rates); r++)
        for (uint64_t n = 1; n < 1000000000u; n *= 9) {
            const uint64_t bits = bits_for(BLOOMFILE_LAYOUT_RIBBON, n, rates[r], 0);
            assert_true(bits >= 512 && bits % 512 == 0);
            assert_true(fpr_for(BLOOMFILE_LAYOUT_RIBBON, bits, 0, n) <= rates[r] * 1.0000001);
            assert_true(bits == 512 ||
                        fpr_for(BLOOMFILE_LAYOUT_RIBBON, bits - 512, 0, n) > rates[r]);
            if (n > 100000)
                assert_true((double)bits / (double)n <= -1.08 * log2(rates[r]));
        }
    assert_int_equal(bits_for(BLOOMFILE_LAYOUT_RIBBON, 1000, 1e-10, 0), 0); /* over 32 columns */
    assert_true(fpr_for(BLOOMFILE_LAYOUT_RIBBON, 512, 0, 1ULL << 40) == 1);
    assert_true(fpr_for(BLOOMFILE_LAYOUT_RIBBON, 512 * 6400, 0, 1ULL << 40) == 1);
    /* A line with three groups of 4, 5 and 5 columns. The first group of a key is one of the
     * first two. */
    assert_true(fabs(fpr_for(BLOOMFILE_LAYOUT_RIBBON, 512, 0, 70) - 0.046875) < 1e-6);
    /* Unchanged since the first release of the layout, so that the same keys make the same
     * bytes. */
    assert_int_equal(bits_for(BLOOMFILE_LAYOUT_RIBBON, 10942651, 0.2, 0), 53808 * 512);
    /* Pages of 15000 to 16000 keys need more groups than pages of 15000 keys. */
    assert_int_equal(bits_for(BLOOMFILE_LAYOUT_RIBBON, 1215847, 0.24, 0), 5199 * 512);
    /* Seven groups of 2 columns, the most that fit into a line. */
    assert_true(fabs(fpr_for(BLOOMFILE_LAYOUT_RIBBON, 512, 0, 215) - 0.25) < 1e-6);
}

/* Over a binomial distribution of the keys. */
TEST(the_rate_of_several_pages_is_the_mean_of_theirs)
{
    static const uint64_t keys[] = { 1, 2, 300, 2600 };
    const uint64_t page = 64 * 512;
    for (size_t i = 0; i < ROWS(keys); i++) {
        const double n = (double)keys[i];
        double mean = 0;
        for (double j = 0; j <= n; j++)
            mean += exp(lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) - n * log(2)) *
                    fpr_for(BLOOMFILE_LAYOUT_RIBBON, page, 0, (uint64_t)j);
        const double rate = fpr_for(BLOOMFILE_LAYOUT_RIBBON, 2 * page, 0, keys[i]);
        assert_true(fabs(rate - mean) <= 1e-8 * mean + ldexp(n, -64));
    }
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
