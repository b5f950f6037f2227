/* SPDX-License-Identifier: MIT
 * bloomfile_verify() with any number of threads returns the same result. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "faults.h"
#include "live/handle.h"

enum {
    KEYS = 50000,
    PAGE = 4096,
    PAGES = 5000, /* more than a thread takes in one step */
    ONES = 24,
    BODY_CRC = 56
};

/* The last page is shorter than the rest, and its last byte is partly used. */
static const struct recipe recipes[] = {
    { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 64 * PAGES - 512 * 7, 6, KEYS, 0 },
    { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 8 * (PAGE * PAGES - 170) - 3, 5, KEYS, 0 },
    { BLOOMFILE_LAYOUT_COUNTING, IN_FILE, 2 * (PAGE * PAGES - 170) - 1, 5, KEYS, 7 },
};
static struct bytes images[ROWS(recipes)];

static const unsigned all_threads[] = { 0, 1, 2, 3, 7, 100, 1024 };

static int make_images(void **state)
{
    for (size_t r = 0; r < ROWS(recipes); r++)
        images[r] = image_from(recipes[r]);
    return 0;
}

static int free_images(void **state)
{
    for (size_t r = 0; r < ROWS(recipes); r++)
        free(images[r].data);
    return 0;
}

/* ---- verdicts */

static void assert_fault_is(const struct bloomfile_fault *fault, int error, const char *field,
                            uint64_t offset)
{
    assert_int_equal(fault->error, error);
    assert_int_equal(fault->offset, offset);
    assert_int_equal(fault->page, UINT64_MAX);
    assert_string_equal(fault->field, field);
}

static void assert_fault(size_t r, int error, const char *field, uint64_t page, uint64_t bad_pages)
{
    for (size_t t = 0; t < ROWS(all_threads); t++) {
        bloomfile_filter *f = open_image(images[r], 0);
        struct bloomfile_fault fault = { 0 };
        assert_error(bloomfile_verify(f, all_threads[t], &fault), error);
        assert_int_equal(fault.error, error);
        assert_int_equal(fault.page, page);
        assert_string_equal(fault.field, field);
        if (page != UINT64_MAX)
            assert_int_equal(fault.offset, recipes[r].header_size + page * PAGE);
        assert_int_equal(bloomfile_check(f), error);
        assert_int_equal(info_of(f).bad_pages, bad_pages);
        bloomfile_close(f);
    }
}

TEST(verification_of_a_sound_body_marks_every_page_good)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        for (size_t t = 0; t < ROWS(all_threads); t++) {
            bloomfile_filter *f = open_image(images[r], 0);
            assert_false(guard_all_good(f->guard));
            assert_error(bloomfile_verify(f, all_threads[t], NULL), 0);
            assert_true(guard_all_good(f->guard));
            assert_int_equal(bloomfile_check(f), 0);
            bloomfile_close(f);
        }
    }
}

TEST(first_bad_page_is_reported_and_all_bad_pages_are_counted)
{
    static const uint64_t bad[] = { PAGES - 1, 4097, 4096, 4095, 2000, 1024, 1023, 1, 0 };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        uint8_t *body = images[r].data + recipes[r].header_size;
        for (size_t i = 0; i < ROWS(bad); i++) {
            body[bad[i] * PAGE] ^= 0x10;
            assert_fault(r, BLOOMFILE_EPAGE, "page", bad[i], i + 1);
        }
        for (size_t i = 0; i < ROWS(bad); i++)
            body[bad[i] * PAGE] ^= 0x10;
    }
}

static void change_records(struct bytes image, unsigned at)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        record_at(image.data, slot)[at] ^= 1;
        reseal_record(image.data, slot);
    }
}

static void change_body_crc(struct bytes image)
{
    change_records(image, BODY_CRC);
    for (unsigned page = 0; page < PAGES; page++)
        image.data[image.size - 4 * PAGES + 4 * page] ^= 1;
}

TEST(body_that_contradicts_its_record_is_detected)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        change_records(images[r], ONES);
        assert_fault(r, BLOOMFILE_EBODY, "ones", UINT64_MAX, 0);
        change_records(images[r], ONES);
        change_body_crc(images[r]);
        assert_fault(r, BLOOMFILE_EBODY, "body_crc", UINT64_MAX, 0);
        change_body_crc(images[r]);
    }
}

static void swap(uint8_t *a, uint8_t *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Swaps the first two stretches, with their checksums. */
static void swap_stretches(struct bytes image)
{
    const size_t pages = 1024;
    uint8_t *body = image.data + EMBEDDED, *table = image.data + image.size - 4 * PAGES;
    swap(body, body + pages * PAGE, pages * PAGE);
    swap(table, table + 4 * pages, 4 * pages);
}

TEST(swapped_stretches_are_detected)
{
    swap_stretches(images[1]);
    assert_fault(1, BLOOMFILE_EBODY, "body_crc", UINT64_MAX, 0);
    swap_stretches(images[1]);
}

/* ---- threads */

TEST(verify_starts_only_the_given_threads)
{
    bloomfile_filter *f = open_image(images[0], 0);
    struct bloomfile_fault fault = { .error = 77 };
    assert_error(bloomfile_verify(f, 1025, &fault), BLOOMFILE_EVALUE);
    assert_fault_is(&fault, BLOOMFILE_EVALUE, "threads", 0);
    assert_error(bloomfile_verify(f, 1025, NULL), BLOOMFILE_EVALUE);
    static const struct {
        unsigned asked, started;
    } rows[] = { { 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 2 }, { 1024, 4 } };
    for (size_t i = 0; i < ROWS(rows); i++) {
        faults_begin(&(struct faults){ 0 });
        int error = bloomfile_verify(f, rows[i].asked, NULL);
        faults_end();
        assert_error(error, 0);
        assert_int_equal(fault_calls(ON_pthread_create), rows[i].started);
    }
    bloomfile_close(f);
}

TEST(verification_works_if_threads_cannot_start)
{
    images[0].data[EMBEDDED + 4000 * PAGE] ^= 1;
    for (unsigned nth = 1; nth < 4; nth++) {
        bloomfile_filter *f = open_image(images[0], 0);
        struct bloomfile_fault fault;
        struct faults faults = from_then_on(ON_pthread_create, nth, EAGAIN);
        faults_begin(&faults);
        int error = bloomfile_verify(f, 5, &fault);
        faults_end();
        assert_int_equal(fault_calls(ON_pthread_create), nth);
        assert_error(error, BLOOMFILE_EPAGE);
        assert_int_equal(fault.page, 4000);
        assert_int_equal(info_of(f).bad_pages, 1);
        bloomfile_close(f);
    }
    images[0].data[EMBEDDED + 4000 * PAGE] ^= 1;
}

static void *look_up(void *argument)
{
    const bloomfile_filter *f = argument;
    uint64_t digests[1000];
    size_t found = 0;
    for (uint64_t from = 0; from < KEYS; from += ROWS(digests)) {
        for (uint64_t i = 0; i < ROWS(digests); i++)
            digests[i] = number(bloomfile_seed(f), from + i);
        found += bloomfile_contains_digests(f, digests, ROWS(digests), NULL);
    }
    return found == KEYS ? NULL : argument;
}

TEST(lookups_continue_during_verification)
{
    for (size_t r = 0; r < ROWS(recipes); r++) {
        uint8_t *byte = images[r].data + recipes[r].header_size + 3000 * PAGE;
        *byte ^= 1;
        bloomfile_filter *f = open_image(images[r], 0);
        pthread_t reader;
        assert_int_equal(pthread_create(&reader, NULL, look_up, f), 0);
        struct bloomfile_fault fault;
        assert_error(bloomfile_verify(f, 3, &fault), BLOOMFILE_EPAGE);
        assert_int_equal(fault.page, 3000);
        void *wrong;
        assert_int_equal(pthread_join(reader, &wrong), 0);
        assert_null(wrong);
        assert_int_equal(info_of(f).bad_pages, 1);
        bloomfile_close(f);
        *byte ^= 1;
    }
}

int main(void)
{
    return run_all(make_images, free_images);
}
