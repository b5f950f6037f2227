/* SPDX-License-Identifier: MIT
 * Lookups, compared with a second implementation of the specification. */
#include "support.h"

#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live/handle.h"

/* The number of keys for which about half of the absent keys are false positives. */
static uint64_t keys_for_even_odds(uint64_t m, uint32_t k)
{
    return (uint64_t)(-log(1 - pow(0.5, 1.0 / k)) * (double)m / k);
}

static void assert_agrees_with_reference(struct recipe recipe)
{
    enum {
        QUERIES = 200
    };
    recipe.keys = keys_for_even_odds(recipe.m, recipe.k);
    struct bytes image = image_from(recipe);
    bloomfile_filter *f = open_image(image, 0);
    for (uint64_t i = 0; i < recipe.keys; i++)
        assert_true(bloomfile_contains_digest(f, number(recipe.seed, i)));
    unsigned found = 0;
    for (uint64_t i = 0; i < QUERIES; i++) {
        uint64_t digest = number(recipe.seed, 1000000 + i);
        bool expected = reference_contains(recipe.layout, image.data + recipe.header_size, recipe.m,
                                           recipe.k, digest);
        assert_int_equal(bloomfile_contains_digest(f, digest), expected);
        uint8_t room[8];
        struct bytes key = number_key(1000000 + i, room);
        assert_int_equal(bloomfile_contains(f, key.data, key.size), expected);
        found += expected;
    }
    if (recipe.m >= 1000)
        assert_in_range(found, QUERIES / 5, QUERIES - QUERIES / 5);
    bloomfile_close(f);
    free(image.data);
}

TEST(blocked_lookups_agree_with_the_specification)
{
    static const uint64_t blocks[] = { 1, 2, 3, 13, 64, 129 };
    for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES; k++)
        for (size_t i = 0; i < ROWS(blocks); i++)
            assert_agrees_with_reference(
                (struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * blocks[i], k, 0, k });
}

TEST(classic_lookups_agree_with_the_specification)
{
    static const uint64_t bits[] = { 1, 2, 7, 8, 100, 511, 1000, 4099, 65537 };
    for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES; k++)
        for (size_t i = 0; i < ROWS(bits); i++)
            assert_agrees_with_reference(
                (struct recipe){ BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, bits[i], k, 0, k });
}

TEST(counting_lookups_agree_with_the_specification)
{
    static const uint64_t counters[] = { 1, 2, 3, 100, 511, 1000, 4099, 16385 };
    for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES; k++)
        for (size_t i = 0; i < ROWS(counters); i++)
            assert_agrees_with_reference(
                (struct recipe){ BLOOMFILE_LAYOUT_COUNTING, IN_FILE, counters[i], k, 0, k });
}

/* ---- batches */

enum {
    MOST = 1000
};

static const struct recipe several_pages[] = {
    { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 300, 3, 60000, 0 },
    { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 512 * 300, 3, 60000, 0 },
    { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 512 * 100, 3, 20000, 0 },
};

static void assert_many_as_one_by_one(const struct recipe *recipe, struct bytes image,
                                      unsigned flags)
{
    static const size_t counts[] = { 0,  1,   2,   3,   4,   5,   63,  64,
                                     65, 127, 128, 129, 192, 256, 257, MOST };
    static uint8_t rooms[MOST][8];
    struct bloomfile_key keys[MOST];
    uint64_t digests[MOST];
    for (uint64_t i = 0; i < MOST; i++) {
        struct bytes key = number_key(recipe->keys - 100 + i, rooms[i]);
        keys[i] = (struct bloomfile_key){ key.data, key.size };
        digests[i] = number(recipe->seed, recipe->keys - 100 + i);
    }
    bloomfile_filter *one_by_one = open_image(image, flags);
    for (size_t c = 0; c < ROWS(counts); c++) {
        size_t n = counts[c], expected = 0;
        for (size_t i = 0; i < n; i++)
            expected += bloomfile_contains_digest(one_by_one, digests[i]);
        if (n == MOST)
            assert_in_range(expected, 200, MOST - 100);
        for (unsigned by_key = 0; by_key < 2; by_key++) {
            bloomfile_filter *f = open_image(image, flags);
            bool hits[MOST + 1];
            memset(hits, 0xEE, sizeof hits);
            assert_int_equal(by_key ? bloomfile_contains_many(f, keys, n, hits)
                                    : bloomfile_contains_digests(f, digests, n, hits),
                             expected);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(hits[i], bloomfile_contains_digest(one_by_one, digests[i]));
            uint8_t after;
            memcpy(&after, &hits[n], 1);
            assert_int_equal(after, 0xEE);
            assert_int_equal(by_key ? bloomfile_contains_many(f, keys, n, NULL)
                                    : bloomfile_contains_digests(f, digests, n, NULL),
                             expected);
            bloomfile_close(f);
        }
    }
    bloomfile_close(one_by_one);
}

TEST(batch_lookups_equal_single_lookups)
{
    for (size_t r = 0; r < ROWS(several_pages); r++) {
        struct bytes image = image_from(several_pages[r]);
        assert_many_as_one_by_one(&several_pages[r], image, 0);
        assert_many_as_one_by_one(&several_pages[r], image, BLOOMFILE_OPEN_VERIFY_FULL);
        image.data[EMBEDDED + 5000] ^= 2;
        assert_many_as_one_by_one(&several_pages[r], image, 0);
        free(image.data);
    }
}

/* Close together, far apart and backwards, in both orders. */
TEST(batch_keys_may_lie_anywhere_in_memory)
{
    enum {
        KEYS = 300,
        SIZE = 8
    };
    static const size_t steps[] = { SIZE, 100, 5000 };
    uint8_t *bytes = calloc(KEYS, 5000);
    struct bloomfile_key keys[KEYS], backwards[KEYS];
    bool hits[KEYS], again[KEYS];
    assert_non_null(bytes);
    for (size_t r = 0; r < ROWS(several_pages); r++) {
        struct bytes image = image_from(several_pages[r]);
        bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
        for (size_t s = 0; s < ROWS(steps); s++) {
            size_t sum = 0;
            for (size_t i = 0; i < KEYS; i++) {
                const struct bytes key =
                    number_key(several_pages[r].keys - 100 + i, bytes + i * steps[s]);
                keys[i] = backwards[KEYS - 1 - i] = (struct bloomfile_key){ key.data, key.size };
                sum += bloomfile_contains(f, key.data, key.size);
            }
            assert_in_range(sum, 100, KEYS - 1);
            assert_int_equal(bloomfile_contains_many(f, keys, KEYS, hits), sum);
            assert_int_equal(bloomfile_contains_many(f, backwards, KEYS, again), sum);
            for (size_t i = 0; i < KEYS; i++) {
                assert_int_equal(hits[i], bloomfile_contains(f, keys[i].data, keys[i].size));
                assert_int_equal(hits[i], again[KEYS - 1 - i]);
            }
        }
        bloomfile_close(f);
        free(image.data);
    }
    free(bytes);
}

/* UndefinedBehaviourSanitizer would report arithmetic with NULL. */
TEST(empty_batch_may_be_null)
{
    for (size_t r = 0; r < ROWS(several_pages); r++) {
        struct bytes image = image_from(several_pages[r]);
        bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
        assert_int_equal(bloomfile_contains_digests(f, NULL, 0, NULL), 0);
        assert_int_equal(bloomfile_contains_many(f, NULL, 0, NULL), 0);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(many_keys_may_differ_in_length)
{
    enum {
        LONGEST = 300
    };
    uint8_t bytes[2 * LONGEST];
    struct bloomfile_key keys[LONGEST + 1];
    uint64_t random = 7;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random64(&random);
    for (size_t i = 0; i <= LONGEST; i++)
        keys[i] = (struct bloomfile_key){ bytes + i, (7 * i) % (LONGEST + 1) };

    bloomfile_builder *b = new_builder((struct bloomfile_params){ .bits = 512 * 64, .hashes = 8 });
    for (size_t i = 0; i <= LONGEST; i += 2)
        assert_error(bloomfile_builder_add(b, keys[i].data, keys[i].size), 0);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    bloomfile_filter *f = open_image(image, 0);
    bool hits[LONGEST + 1];
    bloomfile_contains_many(f, keys, LONGEST + 1, hits);
    for (size_t i = 0; i <= LONGEST; i++) {
        assert_int_equal(hits[i], bloomfile_contains(f, keys[i].data, keys[i].size));
        assert_true(hits[i] || i % 2 != 0);
    }
    bloomfile_close(f);
    free(image.data);
}

TEST(nothing_is_read_after_the_last_key)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .bits = 512 * 8, .hashes = 8 });
    add_numbers(b, 0, 1);
    struct bytes image = last_image(b);
    bloomfile_filter *f = open_image(image, 0);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t room[8],
        *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    const struct bytes key = number_key(0, room);
    struct bloomfile_key *keys = (void *)(pages + page);
    for (size_t n = 1; n <= page / sizeof *keys; n++) {
        keys[-(ptrdiff_t)n] = (struct bloomfile_key){ key.data, key.size };
        assert_int_equal(bloomfile_contains_many(f, keys - n, n, NULL), n);
    }
    assert_int_equal(munmap(pages, 2 * page), 0);
    bloomfile_close(f);
    free(image.data);
}

/* On handles in doubt, because a page is bad. */
TEST(nothing_is_read_after_the_last_digest)
{
    static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC,
                                        BLOOMFILE_LAYOUT_COUNTING, BLOOMFILE_LAYOUT_RIBBON };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    uint64_t *digests = (void *)(pages + page);
    for (size_t i = 0; i < ROWS(layouts); i++) {
        struct bytes image =
            image_from((struct recipe){ layouts[i], EMBEDDED, 512 * 640, 4, 8192, 0 });
        image.data[image.size / 2] ^= 1;
        bloomfile_filter *f = open_image(image, 0);
        for (size_t n = 1; n <= page / sizeof *digests; n++) {
            digests[-(ptrdiff_t)n] = number(0, n - 1);
            assert_int_equal(bloomfile_contains_digests(f, digests - n, n, NULL), n);
        }
        bloomfile_close(f);
        free(image.data);
    }
    assert_int_equal(munmap(pages, 2 * page), 0);
}

TEST(the_empty_key_is_a_key)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .bits = 512 * 8, .hashes = 8 });
    assert_error(bloomfile_builder_add(b, NULL, 0), 0);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    bloomfile_filter *f = open_image(image, 0);
    assert_true(bloomfile_contains(f, NULL, 0));
    assert_true(bloomfile_contains(f, "", 0));
    assert_false(bloomfile_contains(f, "", 1));
    assert_int_equal(bloomfile_contains_many(f, (struct bloomfile_key[]){ { NULL, 0 } }, 1, NULL),
                     1);
    assert_int_equal(bloomfile_contains_digest(f, bloomfile_hash(0, NULL, 0)), true);
    bloomfile_close(f);
    free(image.data);
}

TEST(filter_and_pin_compute_the_same_digests)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    params.seed = 77;
    bloomfile_builder *b = new_builder(params);
    const bloomfile_digest digest = bloomfile_hash(77, "key", 3);
    assert_error(bloomfile_builder_add_digests(b, &digest, 1), 0);
    struct bloomfile_destination to = bloomfile_to_memory();
    assert_error(bloomfile_builder_write(b, &to), 0);
    bloomfile_filter *f = open_image((struct bytes){ to.memory, to.size }, 0);
    assert_int_equal(bloomfile_pinned_digest(&pin, "key", 3), 0);
    assert_error(bloomfile_pin(f, &pin), 0);
    assert_int_equal(bloomfile_pinned_digest(&pin, "key", 3), digest);
    assert_int_equal(bloomfile_digest_of(f, "key", 3), digest);
    assert_true(bloomfile_contains(f, "key", 3));
    bloomfile_close(f);
    bloomfile_free(to.memory);
    bloomfile_builder_free(b);
}

TEST(the_answers_depend_on_the_seed)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 100, 8, 100, 77 });
    bloomfile_filter *f = open_image(image, 0);
    for (uint64_t i = 0; i < 100; i++) {
        uint8_t room[8];
        struct bytes key = number_key(i, room);
        assert_true(bloomfile_contains(f, key.data, key.size));
        assert_true(bloomfile_contains_digest(f, bloomfile_hash(77, key.data, key.size)));
        assert_int_equal(bloomfile_digest_of(f, key.data, key.size), number(77, i));
    }
    unsigned found = 0;
    for (uint64_t i = 0; i < 100; i++)
        found += bloomfile_contains_digest(f, number(0, i));
    assert_true(found < 5);
    bloomfile_close(f);
    free(image.data);
}

TEST(kernel_name_is_not_empty)
{
    struct bytes image = image_from(several_pages[1]);
    bloomfile_filter *f = open_image(image, 0);
    assert_string_not_equal(bloomfile_kernel_name(f), "");
    bloomfile_close(f);
    free(image.data);
}

/* ---- threads on one handle */

enum {
    THREADS = 8,
    PAGE = 4096,
    BAD_PAGE = 4
};

struct job {
    const bloomfile_filter *f;
    const struct recipe *recipe;
    const uint8_t *body;
    uint64_t first;
    unsigned wrong;
};

/* A bit in the bad page counts as set. */
static bool expected_answer(const struct job *job, uint64_t digest)
{
    unsigned per_byte = job->recipe->layout == BLOOMFILE_LAYOUT_COUNTING ? 2 : 8;
    uint64_t x[BLOOMFILE_MAX_HASHES];
    reference_positions(job->recipe->layout, job->recipe->m, job->recipe->k, digest, x);
    for (unsigned i = 0; i < job->recipe->k; i++)
        if (x[i] / per_byte / PAGE != BAD_PAGE &&
            reference_value(job->recipe->layout, job->body, x[i]) == 0)
            return false;
    return true;
}

static void *look_up(void *argument)
{
    struct job *job = argument;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t digest = number(job->recipe->seed, job->first + i);
        bool hit;
        if (i % 2 == 0)
            hit = bloomfile_contains_digest(job->f, digest);
        else
            bloomfile_contains_digests(job->f, &digest, 1, &hit);
        job->wrong += hit != expected_answer(job, digest);
    }
    job->wrong += bloomfile_check(job->f) != BLOOMFILE_EPAGE;
    return NULL;
}

static void *verify(void *argument)
{
    struct job *job = argument;
    struct bloomfile_fault fault;
    job->wrong += bloomfile_verify(job->f, 1, &fault) != BLOOMFILE_EPAGE || fault.page != BAD_PAGE;
    return NULL;
}

TEST(threads_share_a_lazily_verified_handle)
{
    for (size_t r = 0; r < 2 * ROWS(several_pages); r++) {
        const struct recipe *recipe = &several_pages[r / 2];
        struct bytes image = image_from(*recipe);
        memset(image.data + EMBEDDED + PAGE * BAD_PAGE, 0, 100);
        bloomfile_filter *f = open_image(image, 0);
        pthread_t threads[THREADS];
        struct job jobs[THREADS];
        for (unsigned t = 0; t < THREADS; t++) {
            jobs[t] = (struct job){ f, recipe, image.data + EMBEDDED, recipe->keys - 1000 * t, 0 };
            void *(*work)(void *) = r % 2 == 1 && t % 4 == 3 ? verify : look_up;
            assert_int_equal(pthread_create(&threads[t], NULL, work, &jobs[t]), 0);
        }
        for (unsigned t = 0; t < THREADS; t++) {
            assert_int_equal(pthread_join(threads[t], NULL), 0);
            assert_int_equal(jobs[t].wrong, 0);
        }
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        bloomfile_get_info(f, &info);
        assert_int_equal(info.bad_pages, 1);
        assert_int_equal(bloomfile_check(f), BLOOMFILE_EPAGE);
        bloomfile_close(f);
        free(image.data);
    }
}

enum {
    MANY_PAGES = 128,
    ROUNDS = 50
};

static pthread_barrier_t start;

/* Digests spread evenly over the blocks: a digest for each page, in order. */
static void *touch_every_page(void *argument)
{
    const bloomfile_filter *f = argument;
    pthread_barrier_wait(&start);
    for (uint64_t page = 0; page < MANY_PAGES; page++)
        bloomfile_contains_digest(f, UINT64_MAX / MANY_PAGES * page + 1000000);
    return NULL;
}

TEST(page_checked_by_several_threads_is_counted_once)
{
    struct bytes image = image_from(
        (struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 8 * PAGE * MANY_PAGES, 3, 60000, 0 });
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        const bool damaged = round >= ROUNDS;
        if (round == ROUNDS)
            memset(image.data + IN_FILE, 0xEE, PAGE);
        bloomfile_filter *f = open_image(image, 0);
        pthread_t threads[THREADS];
        assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
        for (unsigned t = 0; t < THREADS; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, touch_every_page, f), 0);
        for (unsigned t = 0; t < THREADS; t++)
            assert_int_equal(pthread_join(threads[t], NULL), 0);
        pthread_barrier_destroy(&start);
        assert_int_equal(info_of(f).bad_pages, damaged);
        assert_int_equal(atomic_load(&f->guard->doubts), damaged);
        assert_int_equal(bloomfile_check(f), damaged ? BLOOMFILE_EPAGE : 0);
        bloomfile_close(f);
    }
    free(image.data);
}

/* ---- spans */

static const char text[] = "to be or not to be";

static struct bloomfile_spans spans_of_text(void)
{
    struct bloomfile_spans spans = BLOOMFILE_SPANS_INIT;
    spans.base = text;
    spans.size = sizeof text - 1;
    return spans;
}

static void assert_spans(const struct bloomfile_spans *spans, const uint64_t *starts,
                         const uint64_t *ends)
{
    const uint64_t seed = 11;
    uint64_t digests[20], of_builder[20];
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .seed = seed });
    assert_error(bloomfile_builder_digests_of_spans(b, spans, of_builder), 0);
    const struct bytes image = last_image(b);
    bloomfile_filter *f = open_image(image, 0);
    assert_error(bloomfile_digests_of_spans(f, spans, digests), 0);
    for (size_t i = 0; i < spans->count; i++) {
        assert_int_equal(digests[i],
                         bloomfile_hash(seed, text + starts[i], (size_t)(ends[i] - starts[i])));
        assert_int_equal(of_builder[i], digests[i]);
    }
    bloomfile_close(f);
    free(image.data);
}

TEST(digests_of_spans_equal_digests_of_their_bytes)
{
    static const uint64_t words[] = { 0, 3, 6, 9, 13, 16, 18 }, starts[] = { 3, 0, 17, 18 },
                          ends[] = { 18, 5, 18, 18 }, all[] = { 0, 1, 2, 3, 4, 5, 6, 7 },
                          behind[] = { 5, 6, 7, 8, 9, 10, 11, 12 };
    struct bloomfile_spans columns = spans_of_text(), pairs = columns, grams = columns;
    columns.count = 6;
    columns.starts = words;
    columns.ends = words + 1;
    assert_spans(&columns, words, words + 1);
    pairs.count = 4;
    pairs.starts = starts;
    pairs.ends = ends;
    assert_spans(&pairs, starts, ends);
    grams.count = 8;
    grams.step = 1;
    grams.length = 5;
    assert_spans(&grams, all, behind);
    grams.step = 0;
    grams.starts = all;
    assert_spans(&grams, all, behind);
    struct bloomfile_spans none = BLOOMFILE_SPANS_INIT;
    assert_spans(&none, all, all);
}

TEST(spans_beyond_the_buffer_are_refused_and_nothing_is_hashed)
{
    static const uint64_t outside[] = { 0, 19 }, wrapped[] = { 0, UINT64_MAX - 1 },
                          ends[] = { 1, 1 };
    const struct bloomfile_spans base = spans_of_text();
    const struct {
        const char *name;
        struct bloomfile_spans spans;
    } rows[] = {
        { "starts", { .count = 2, .starts = outside, .length = 1 } },
        { "starts", { .count = 2, .starts = wrapped, .length = 4 } },
        { "ends", { .count = 2, .starts = (const uint64_t[]){ 0, 5 }, .ends = ends } },
        { "ends", { .count = 2, .ends = outside } },
        { "step", { .count = 19, .step = 1, .length = 1 } },
        { "step", { .count = 3, .step = UINT64_MAX / 2, .length = 1 } },
        { "step", { .count = 1, .step = 1, .starts = ends, .length = 1 } },
        { "length", { .count = 1, .length = 19 } },
        { "length", { .count = 1, .length = 1, .starts = ends, .ends = ends } },
    };
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512, 1, 0, 0 });
    bloomfile_filter *f = open_image(image, 0);
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct bloomfile_spans spans = rows[i].spans;
        uint64_t digests[20] = { 42, 42 };
        spans.struct_size = sizeof spans;
        spans.base = base.base;
        spans.size = base.size;
        assert_error(bloomfile_digests_of_spans(f, &spans, digests), BLOOMFILE_EVALUE);
        assert_string_equal(bloomfile_invalid(), rows[i].name);
        assert_true(digests[0] == 42 && digests[1] == 42);
    }
    struct bloomfile_spans unset = base;
    unset.struct_size = 0;
    assert_error(bloomfile_digests_of_spans(f, &unset, NULL), BLOOMFILE_ESTRUCTSIZE);
    bloomfile_close(f);
    free(image.data);
}

TEST(spans_that_only_the_application_can_hash_are_an_error)
{
    struct bloomfile_spans spans = spans_of_text();
    spans.count = 1;
    spans.length = 1;
    uint64_t digest;
    bloomfile_filter *f;
    bloomfile_builder *b = new_builder(
        (struct bloomfile_params){ .hash_id = BLOOMFILE_APP_HASH_FIRST, .self_test = 1 });
    struct bloomfile_destination to = bloomfile_to_memory();
    assert_error(bloomfile_builder_digests_of_spans(b, &spans, &digest), BLOOMFILE_EHASH);
    assert_error(bloomfile_builder_write(b, &to), BLOOMFILE_EHASH);
    bloomfile_builder_reset(b);
    const struct bytes image = last_image(b);
    const struct bloomfile_source from = bloomfile_from_memory(image.data, image.size);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.expect = BLOOMFILE_EXPECT_HASH;
    how.hash_id = BLOOMFILE_APP_HASH_FIRST;
    how.self_test = 1;
    assert_error(bloomfile_open_with(&f, &from, &how), 0);
    assert_false(bloomfile_contains_digest(f, 1));
    assert_error(bloomfile_digests_of_spans(f, &spans, &digest), BLOOMFILE_EHASH);
    assert_error(bloomfile_damage(f), BLOOMFILE_EHASH);
    assert_true(bloomfile_contains_digest(f, 1)); /* the caller may have missed the error */
    bloomfile_close(f);
    free(image.data);
}

int main(void)
{
    if (lacks_kernel())
        return skipped("this processor lacks the kernel");
    return run_all(NULL, NULL);
}
