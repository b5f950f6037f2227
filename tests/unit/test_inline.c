/* SPDX-License-Identifier: MIT
 * Pins (bloomfile_inline.h): their own lookups while nothing is in doubt, and the library's
 * results otherwise, even if the doubt begins after the pin was made. */
#include <bloomfile_inline.h>

#include "live_support.h"

#include <bloomfile_live.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/header.h"

enum {
    PAGE = 4096,
    PAGES = 16,
    KEYS = 5000,
    GROUP = 64, /* digests that a pin looks up in one group */
};

/* ---- lookups that reach the library: this program's calls go through these */

bool __real_bloomfile_contains_digest(const bloomfile_filter *f, bloomfile_digest digest);
size_t __real_bloomfile_contains_digests(const bloomfile_filter *f, const bloomfile_digest *digests,
                                         size_t n, bool *hits);
bool __wrap_bloomfile_contains_digest(const bloomfile_filter *f, bloomfile_digest digest);
size_t __wrap_bloomfile_contains_digests(const bloomfile_filter *f, const bloomfile_digest *digests,
                                         size_t n, bool *hits);

static unsigned calls;

bool __wrap_bloomfile_contains_digest(const bloomfile_filter *f, bloomfile_digest digest)
{
    calls++;
    return __real_bloomfile_contains_digest(f, digest);
}

size_t __wrap_bloomfile_contains_digests(const bloomfile_filter *f, const bloomfile_digest *digests,
                                         size_t n, bool *hits)
{
    calls++;
    return __real_bloomfile_contains_digests(f, digests, n, hits);
}

/* Without vector instructions, all lookups are the library's. */
static void assert_no_calls(void)
{
    if (BLOOMFILE_PINNED_INLINED_)
        assert_int_equal(calls, 0);
    else
        assert_true(calls > 0);
}

static struct bloomfile_pinned pinned(const bloomfile_filter *f)
{
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    assert_error(bloomfile_pin(f, &pin), 0);
    calls = 0;
    return pin;
}

/* Asserts that the pin's results equal the library's, for present and absent digests. */
static void assert_same_answers(const struct bloomfile_pinned *pin, const bloomfile_filter *f)
{
    for (uint64_t i = 0; i < 2 * KEYS; i += GROUP) {
        uint64_t digests[GROUP];
        bool hits[GROUP];
        size_t found = 0;
        for (unsigned j = 0; j < GROUP; j++) {
            digests[j] = number(bloomfile_seed(f), i + j);
            bloomfile_pinned_prefetch(pin, digests[j]); /* must not change any result */
            const bool expected = __real_bloomfile_contains_digest(f, digests[j]);
            assert_int_equal(bloomfile_pinned_contains_digest(pin, digests[j]), expected);
            found += expected;
        }
        const size_t n = (size_t)(i / GROUP % (GROUP + 1));
        assert_int_equal(bloomfile_pinned_contains_digests(pin, digests, GROUP, NULL), found);
        memset(hits, 2, sizeof hits);
        bloomfile_pinned_contains_digests(pin, digests, n, hits);
        for (unsigned j = 0; j < n; j++)
            assert_int_equal(hits[j], __real_bloomfile_contains_digest(f, digests[j]));
        for (size_t j = n; j < GROUP; j++)
            assert_int_equal(*(const uint8_t *)&hits[j], 2);
    }
}

static void assert_maybe(const struct bloomfile_pinned *pin, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        const uint64_t digest = number(0, i);
        bool hit = false;
        assert_true(bloomfile_pinned_contains_digest(pin, digest));
        assert_int_equal(bloomfile_pinned_contains_digests(pin, &digest, 1, &hit), 1);
        assert_true(hit);
    }
}

TEST(pin_that_was_never_filled_answers_maybe)
{
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    const bloomfile_digest digests[GROUP + 1] = { 0 };
    bool hits[GROUP + 1];
    assert_maybe(&pin, 0, KEYS);
    bloomfile_pinned_prefetch(&pin, 1);
    memset(hits, 0, sizeof hits);
    assert_int_equal(bloomfile_pinned_contains_digests(&pin, digests, ROWS(hits), hits),
                     ROWS(hits));
    for (size_t i = 0; i < ROWS(hits); i++)
        assert_true(hits[i]);
    assert_int_equal(bloomfile_pinned_contains_digests(&pin, digests, ROWS(hits), NULL),
                     ROWS(hits));
}

/* ---- the pin's own lookups */

TEST(lookup_in_a_verified_filter_makes_no_call)
{
    static const uint64_t blocks[] = { 1, 7, 64 * PAGES };
    for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES; k += k < 20 ? 1 : 11) {
        for (unsigned i = 0; i < ROWS(blocks); i++) {
            struct bytes image = image_from((struct recipe){
                BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * blocks[i], k, blocks[i] * 8, k });
            bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
            const struct bloomfile_pinned pin = pinned(f);
            assert_same_answers(&pin, f);
            assert_no_calls();
            bloomfile_close(f);
            free(image.data);
        }
    }
}

TEST(other_layouts_and_large_batches_call_the_library)
{
    static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_CLASSIC, BLOOMFILE_LAYOUT_COUNTING,
                                        BLOOMFILE_LAYOUT_RIBBON };
    uint64_t digests[GROUP + 1] = { 0 };
    for (unsigned i = 0; i < ROWS(layouts); i++) {
        struct bytes image =
            image_from((struct recipe){ layouts[i], EMBEDDED, 512 * 200, 5, KEYS, 0 });
        bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
        const struct bloomfile_pinned pin = pinned(f);
        assert_same_answers(&pin, f);
        assert_true(calls > KEYS);
        bloomfile_close(f);
        free(image.data);
    }
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512, 6, 10, 0 });
    bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
    const struct bloomfile_pinned pin = pinned(f);
    bloomfile_pinned_contains_digests(&pin, digests, GROUP, NULL);
    assert_no_calls();
    calls = 0;
    bloomfile_pinned_contains_digests(&pin, digests, GROUP + 1, NULL);
    assert_int_equal(calls, 1);
    bloomfile_close(f);
    free(image.data);
}

TEST(unaligned_pin_is_refused)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512, 6, 10, 0 });
    bloomfile_filter *f = open_image(image, 0);
    const uint8_t zero[64 + sizeof(struct bloomfile_pinned)] = { 0 };
    uint8_t *room = aligned_alloc(64, sizeof zero);
    assert_non_null(room);
    memcpy(room, zero, sizeof zero);
    assert_error(bloomfile_pin(f, (void *)(room + 16)), BLOOMFILE_EVALUE);
    assert_string_equal(bloomfile_invalid(), "pin");
    assert_memory_equal(room, zero, sizeof zero);
    assert_error(bloomfile_pin(f, (void *)(room + 64)), 0);
    assert_memory_equal(room, zero, 64);
    free(room);
    bloomfile_close(f);
    free(image.data);
}

/* ---- damage */

static const struct recipe in_file = {
    BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * 64 * PAGES, 6, KEYS, 0
};

static void write_filter(void)
{
    struct bytes image = image_from(in_file);
    write_file("filter", image.data, image.size);
    free(image.data);
}

static void zero_body(void)
{
    static const uint8_t zeros[PAGE * PAGES];
    int fd = open("filter", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, IN_FILE), sizeof zeros);
    assert_int_equal(close(fd), 0);
}

TEST_IN_DIR(page_is_checked_before_it_answers_no)
{
    write_filter();
    zero_body();
    bloomfile_filter *f = opened("filter", 0);
    const struct bloomfile_pinned pin = pinned(f);
    assert_maybe(&pin, 0, KEYS);
    assert_error(bloomfile_check(f), BLOOMFILE_EPAGE);
    bloomfile_close(f);
}

TEST_IN_DIR(lookups_make_no_calls_once_all_pages_are_checked)
{
    write_filter();
    bloomfile_filter *f = opened("filter", 0);
    const struct bloomfile_pinned pin = pinned(f);
    assert_same_answers(&pin, f);
    assert_true(calls > 0);
    calls = 0;
    assert_same_answers(&pin, f);
    assert_no_calls();
    bloomfile_close(f);
}

TEST_IN_DIR(pin_answers_maybe_after_damage_is_found)
{
    write_filter();
    bloomfile_filter *f = opened("filter", BLOOMFILE_OPEN_VERIFY_FULL);
    const struct bloomfile_pinned pin = pinned(f);
    assert_maybe(&pin, 0, KEYS);
    zero_body();
    assert_error(bloomfile_verify(f, 1, NULL), BLOOMFILE_ECHANGED);
    assert_maybe(&pin, 0, KEYS);
    assert_error(bloomfile_check(f), BLOOMFILE_ECHANGED);
    bloomfile_close(f);
}

TEST(pin_with_an_unnamed_hash_answers_maybe)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.hash_id = 0x80000001;
    params.self_test = 5;
    params.bits = 512 * 64;
    bloomfile_builder *b = new_builder(params);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
    struct bloomfile_pinned pin = pinned(f);
    assert_maybe(&pin, 0, 10);
    bloomfile_close(f);
    assert_error(open_named(&f, bloomfile_from_memory(image.data, image.size),
                            BLOOMFILE_OPEN_VERIFY_FULL, 0x80000001, 5),
                 0);
    pin = pinned(f);
    calls = 0;
    assert_false(bloomfile_pinned_contains_digest(&pin, 1));
    assert_no_calls();
    bloomfile_close(f);
    free(image.data);
}

/* ---- live files */

TEST_IN_DIR(pin_sees_adds_of_other_handles_immediately)
{
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *reader = opened("filter", 0),
                     *writer = opened("filter", BLOOMFILE_OPEN_WRITE);
    const struct bloomfile_pinned pin = pinned(reader);
    assert_false(bloomfile_pinned_contains_digest(&pin, number(0, ABSENT)));
    add_digests_of(writer, ABSENT, ABSENT + 1);
    assert_maybe(&pin, ABSENT, ABSENT + 1);
    assert_maybe(&pin, 0, LIVE_KEYS);
    assert_no_calls();
    bloomfile_close(writer);
    bloomfile_close(reader);
}

/* In either record, whether in force or not. */
TEST_IN_DIR(pin_checks_for_poison_after_every_miss)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
        bloomfile_filter *f = opened("filter", 0);
        const struct bloomfile_pinned pin = pinned(f);
        const uint64_t digest = number(0, ABSENT);
        assert_false(bloomfile_pinned_contains_digest(&pin, digest));
        assert_int_equal(bloomfile_pinned_contains_digests(&pin, &digest, 1, NULL), 0);
        set_in_record("filter", slot, RECORD_AT_state, 4, BLOOMFILE_STATE_POISONED);
        if (slot == 0)
            assert_true(bloomfile_pinned_contains_digest(&pin, digest));
        else
            assert_int_equal(bloomfile_pinned_contains_digests(&pin, &digest, 1, NULL), 1);
        set_in_record("filter", slot, RECORD_AT_state, 4, BLOOMFILE_STATE_LIVE);
        assert_maybe(&pin, ABSENT, ABSENT + 10); /* permanently */
        assert_error(bloomfile_check(f), BLOOMFILE_EPOISONED);
        bloomfile_close(f);
        assert_int_equal(unlink("filter"), 0);
    }
}

TEST_IN_DIR(pin_stays_valid_after_a_seal)
{
    make_live("filter", BLOOMFILE_LAYOUT_BLOCKED);
    bloomfile_filter *reader = opened("filter", 0), *f = opened("filter", BLOOMFILE_OPEN_WRITE);
    const struct bloomfile_pinned pin = pinned(f), other = pinned(reader);
    assert_error(bloomfile_seal(f, NULL), 0);
    assert_maybe(&pin, 0, LIVE_KEYS);
    assert_false(bloomfile_pinned_contains_digest(&pin, number(0, ABSENT)));
    assert_true(calls > 0); /* pages are checked now */
    assert_false(bloomfile_pinned_contains_digest(&other, number(0, ABSENT)));
    assert_maybe(&other, 0, LIVE_KEYS);
    bloomfile_close(f);
    bloomfile_close(reader);
}

/* ---- layers of a series */

/* Asserts that no lookup in a layer's handle returns "no", for keys of other layers or any key,
 * while the series still does. */
static void assert_layers_answer_maybe(bloomfile_filter *f)
{
    assert_true(bloomfile_layers(f) > 1);
    for (size_t i = 0; i < bloomfile_layers(f); i++) {
        const bloomfile_filter *layer = bloomfile_layer(f, i);
        const struct bloomfile_pinned pin = pinned(layer);
        assert_maybe(&pin, 0, KEYS);
        assert_maybe(&pin, ABSENT, ABSENT + 100);
        for (uint64_t at = 0; at < KEYS; at += GROUP) {
            uint8_t bytes[GROUP][8];
            struct bloomfile_key keys[GROUP];
            uint64_t digests[GROUP];
            bool hits[2][GROUP] = { { false } };
            for (unsigned j = 0; j < GROUP; j++) {
                const struct bytes key = number_key(at + j, bytes[j]);
                keys[j] = (struct bloomfile_key){ key.data, key.size };
                digests[j] = number(0, at + j);
                assert_true(bloomfile_contains(layer, key.data, key.size));
                assert_true(bloomfile_contains_digest(layer, digests[j]));
            }
            assert_int_equal(bloomfile_contains_many(layer, keys, GROUP, hits[0]), GROUP);
            assert_int_equal(bloomfile_contains_digests(layer, digests, GROUP, hits[1]), GROUP);
            assert_int_equal(bloomfile_contains_digests(layer, digests, GROUP, NULL), GROUP);
            assert_int_equal(bloomfile_pinned_contains_digests(&pin, digests, GROUP, NULL), GROUP);
            for (unsigned j = 0; j < GROUP; j++)
                assert_true(hits[0][j] && hits[1][j]);
        }
        assert_error(bloomfile_check(layer), 0);
    }
    unsigned maybe = 0;
    for (uint64_t i = ABSENT; i < ABSENT + 1000; i++)
        maybe += __real_bloomfile_contains_digest(f, number(0, i));
    assert_in_range(maybe, 0, 100);
}

TEST_IN_DIR(layer_of_a_live_series_never_answers_no_alone)
{
    static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC };
    static const uint32_t kinds[] = { BLOOMFILE_SERIES_GROW, 3 };
    for (unsigned i = 0; i < 8; i++) {
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        params.layout = layouts[i % 2];
        params.series = kinds[i / 2 % 2];
        params.capacity = 500;
        bloomfile_filter *f;
        assert_error(i < 4 ? bloomfile_create_memory(&f, &params, 0)
                           : bloomfile_create(&f, "series", &params, BLOOMFILE_TO_REPLACE),
                     0);
        add_digests_of(f, 0, KEYS);
        assert_layers_answer_maybe(f);
        bloomfile_close(f);
        if (i >= 4) {
            assert_layers_answer_maybe(f = opened("series", 0));
            bloomfile_close(f);
        }
    }
}

TEST_IN_DIR(layer_of_a_sealed_series_never_answers_no_alone)
{
    static const uint32_t layouts[] = { BLOOMFILE_LAYOUT_BLOCKED, BLOOMFILE_LAYOUT_CLASSIC };
    static const unsigned flags[] = { 0, BLOOMFILE_OPEN_VERIFY_FULL, BLOOMFILE_OPEN_VERIFY_NONE,
                                      BLOOMFILE_OPEN_COPY | BLOOMFILE_OPEN_VERIFY_FULL };
    for (unsigned i = 0; i < ROWS(layouts); i++) {
        struct bytes image = series_image(layouts[i], 2 * KEYS);
        write_file("series", image.data, image.size);
        for (unsigned j = 0; j < ROWS(flags); j++) {
            bloomfile_filter *f = opened("series", flags[j]),
                             *in_memory = open_image(image, flags[j]);
            assert_layers_answer_maybe(f);
            assert_error(bloomfile_verify(f, 1, NULL), 0);
            assert_layers_answer_maybe(f);
            assert_layers_answer_maybe(in_memory);
            bloomfile_close(f);
            bloomfile_close(in_memory);
        }
        free(image.data);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
