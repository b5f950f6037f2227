/* SPDX-License-Identifier: MIT
 * Folding: the result equals a filter of that size built from the same keys. */
#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct shape {
    uint32_t layout, k;
    uint64_t bits, keys;
};

/* Some exceed the size of a read; counters overflow in some. */
static const struct shape shapes[] = {
    { BLOOMFILE_LAYOUT_BLOCKED, 1, 512, 5 },
    { BLOOMFILE_LAYOUT_BLOCKED, 7, 512 * 60, 900 },
    { BLOOMFILE_LAYOUT_BLOCKED, 6, 512 * 97, 900 },
    { BLOOMFILE_LAYOUT_BLOCKED, 8, 512 * 12600, 30000 },
    { BLOOMFILE_LAYOUT_BLOCKED, 64, 512 * 30, 40 },
    { BLOOMFILE_LAYOUT_CLASSIC, 3, 1, 1 },
    { BLOOMFILE_LAYOUT_CLASSIC, 3, 30030, 300 },
    { BLOOMFILE_LAYOUT_CLASSIC, 7, 8 * 3 * 5 * 7 * 11 * 13 * 29, 3000 },
    { BLOOMFILE_LAYOUT_CLASSIC, 5, 5040 * 601, 20000 },
    { BLOOMFILE_LAYOUT_COUNTING, 5, 10100, 2000 },
    { BLOOMFILE_LAYOUT_COUNTING, 4, 1001, 90 },
    { BLOOMFILE_LAYOUT_COUNTING, 5, 2 * 630630, 30000 },
    { BLOOMFILE_LAYOUT_COUNTING, 64, 840, 60 },
};

static struct bloomfile_params params_of(const struct shape *s, uint64_t bits)
{
    return (struct bloomfile_params){ .struct_size = sizeof(struct bloomfile_params),
                                      .layout = s->layout,
                                      .bits = bits,
                                      .hashes = s->k,
                                      .capacity = 77,
                                      .fpr = 0.25,
                                      .seed = 42,
                                      .label = "folded",
                                      .tag = { 9, 8, 7 } };
}

static void build(const char *path, const struct shape *s, uint64_t bits, uint64_t keys)
{
    bloomfile_builder *b = new_builder(params_of(s, bits));
    add_numbers(b, 0, keys);
    assert_error(bloomfile_builder_write(b, TO_PATH(path, BLOOMFILE_TO_REPLACE)), 0);
    bloomfile_builder_free(b);
}

static bloomfile_filter *opened(const char *path)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, BLOOMFILE_OPEN_VERIFY_FULL), 0);
    return f;
}

static uint64_t units_of(const struct shape *s)
{
    return s->layout == BLOOMFILE_LAYOUT_BLOCKED ? s->bits / 512 : s->bits;
}

/* Equal except for the header, which differs only in m before folding. */
static void assert_as_built(const char *folded, const char *built, uint64_t bits)
{
    bloomfile_filter *a = opened(folded), *b = opened(built);
    struct bloomfile_info x = info_of(a), y = info_of(b);
    assert_int_equal(x.bits_unfolded, bits);
    x.bits_unfolded = y.bits_unfolded;
    x.heap_size = y.heap_size; /* the path counts, and it differs */
    assert_memory_equal(&x, &y, sizeof x);
    bloomfile_close(a);
    bloomfile_close(b);
    struct bytes one = read_file(folded), other = read_file(built);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data + IN_FILE, other.data + IN_FILE, one.size - IN_FILE);
    free(one.data);
    free(other.data);
}

TEST(fold_equals_a_build_at_the_smaller_size)
{
    for (size_t i = 0; i < ROWS(shapes); i++) {
        const struct shape *s = &shapes[i];
        build("source", s, s->bits, s->keys);
        bloomfile_filter *source = opened("source");
        for (uint64_t factor = 1; factor <= units_of(s); factor++) {
            int expected = units_of(s) % factor == 0 ? 0 : BLOOMFILE_EFACTOR;
            if (expected != 0 && factor > 100)
                continue;
            assert_error(
                bloomfile_fold(TO_PATH("folded", BLOOMFILE_TO_REPLACE), source, factor, NULL),
                expected);
            if (expected != 0)
                continue;
            build("built", s, s->bits / factor, s->keys);
            assert_as_built("folded", "built", s->bits);
        }
        bloomfile_close(source);
    }
}

TEST(folding_twice_equals_folding_by_the_product)
{
    for (size_t i = 0; i < ROWS(shapes); i++) {
        if (units_of(&shapes[i]) % 30 != 0)
            continue;
        build("source", &shapes[i], shapes[i].bits, shapes[i].keys);
        bloomfile_filter *source = opened("source");
        assert_error(bloomfile_fold(TO_PATH("five", BLOOMFILE_TO_REPLACE), source, 5, NULL), 0);
        assert_error(bloomfile_fold(TO_PATH("fifteen", BLOOMFILE_TO_REPLACE), source, 15, NULL), 0);
        bloomfile_close(source);
        source = opened("five");
        assert_error(bloomfile_fold(TO_PATH("five", BLOOMFILE_TO_REPLACE), source, 3, NULL),
                     0); /* replaces its source */
        bloomfile_close(source);
        struct bytes once = read_file("fifteen");
        assert_file_holds("five", once.data, once.size);
        free(once.data);
    }
}

TEST(plan_predicts_the_measurement_of_each_fold)
{
    for (size_t i = 0; i < ROWS(shapes); i++) {
        const struct shape *s = &shapes[i];
        build("source", s, s->bits, s->keys);
        bloomfile_filter *source = opened("source");
        size_t count, room;
        assert_error(bloomfile_fold_plan(source, 0, NULL, &count), 0);
        struct bloomfile_fold_choice *plan = calloc(count, sizeof *plan);
        room = count;
        assert_error(bloomfile_fold_plan(source, 0, plan, &room), 0);
        assert_int_equal(room, count);
        size_t next = 0;
        for (uint64_t factor = 1; factor <= units_of(s); factor++) {
            if (units_of(s) % factor != 0)
                continue;
            const struct bloomfile_fold_choice *c = &plan[next++];
            assert_int_equal(c->factor, factor);
            assert_int_equal(c->bits, s->bits / factor);
            assert_error(
                bloomfile_fold(TO_PATH("folded", BLOOMFILE_TO_REPLACE), source, factor, NULL), 0);
            bloomfile_filter *folded = opened("folded");
            struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
            assert_error(bloomfile_measure(folded, &m), 0);
            assert_int_equal(c->image_size, info_of(folded).image_size);
            assert_int_equal(c->ones, m.ones);
            assert_true(c->fpr == m.fpr);
            assert_true(fabs(c->fpr_more - c->fpr) <= 1e-9 * c->fpr);
            bloomfile_close(folded);
        }
        assert_int_equal(next, count);
        bloomfile_close(source);
        free(plan);
    }
}

TEST(plan_writes_at_most_the_given_number_of_choices)
{
    build("source", &shapes[1], shapes[1].bits, 100);
    bloomfile_filter *source = opened("source");
    struct bloomfile_fold_choice plan[3] = { { .factor = 99 }, { .factor = 99 }, { .factor = 99 } };
    size_t count = 2;
    assert_error(bloomfile_fold_plan(source, 0, plan, &count), 0);
    assert_int_equal(count, 12); /* 60 = 2 * 2 * 3 * 5 */
    assert_int_equal(plan[0].factor, 1);
    assert_int_equal(plan[1].factor, 2);
    assert_int_equal(plan[2].factor, 99);
    bloomfile_close(source);
}

/* The mean actual rate of filters with `more` additional keys, over several sets of keys. */
static double rate_with_more(const struct shape *s, uint64_t bits, uint64_t more)
{
    const int rounds = 20;
    double sum = 0;
    for (int i = 0; i < rounds; i++) {
        bloomfile_builder *b = new_builder(params_of(s, bits));
        add_numbers(b, 0, s->keys);
        add_numbers(b, 1000000 * (i + 1), 1000000 * (i + 1) + more);
        assert_error(bloomfile_builder_write(b, TO_PATH("more", BLOOMFILE_TO_REPLACE)), 0);
        bloomfile_builder_free(b);
        bloomfile_filter *f = opened("more");
        struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
        assert_error(bloomfile_measure(f, &m), 0);
        sum += m.fpr;
        bloomfile_close(f);
    }
    return sum / rounds;
}

TEST(plan_predicts_the_rate_with_more_keys)
{
    static const struct shape cases[] = {
        { BLOOMFILE_LAYOUT_BLOCKED, 7, 512 * 240, 3000 },
        { BLOOMFILE_LAYOUT_CLASSIC, 7, 120000, 3000 },
        { BLOOMFILE_LAYOUT_COUNTING, 4, 60000, 3000 },
    };
    for (size_t i = 0; i < ROWS(cases); i++) {
        build("source", &cases[i], cases[i].bits, cases[i].keys);
        bloomfile_filter *source = opened("source");
        struct bloomfile_fold_choice plan[5];
        size_t count = ROWS(plan);
        assert_error(bloomfile_fold_plan(source, 4000, plan, &count), 0);
        for (size_t c = 0; c < ROWS(plan); c++) {
            double real = rate_with_more(&cases[i], plan[c].bits, 4000);
            assert_true(fabs(plan[c].fpr_more / real - 1) < 0.05);
            assert_true(plan[c].fpr_more > plan[c].fpr * 1.5);
        }
        bloomfile_close(source);
    }
}

/* An embedded image, at any address. */
TEST(embedded_filter_folds_to_a_serial_build)
{
    for (size_t i = 0; i < ROWS(shapes); i++) {
        const struct shape *s = &shapes[i];
        if (units_of(s) % 3 != 0)
            continue;
        bloomfile_builder *b = new_builder(params_of(s, s->bits));
        add_numbers(b, 0, s->keys);
        struct bytes image = finish_image(b);
        bloomfile_builder_free(b);
        uint8_t *odd = malloc(image.size + 1);
        memcpy(odd + 1, image.data, image.size);
        bloomfile_filter *source = open_image((struct bytes){ odd + 1, image.size }, 0);
        assert_error(bloomfile_fold(TO_PATH("folded", BLOOMFILE_TO_REPLACE), source, 3, NULL), 0);
        build("built", s, s->bits / 3, s->keys);
        assert_as_built("folded", "built", s->bits);
        bloomfile_close(source);
        free(odd);
        free(image.data);
    }
}

TEST(fold_of_a_live_filter_has_its_current_keys)
{
    for (size_t i = 0; i < ROWS(shapes); i++) {
        const struct shape *s = &shapes[i];
        if (units_of(s) % 2 != 0)
            continue;
        struct bloomfile_params params = params_of(s, s->bits);
        bloomfile_filter *live;
        assert_error(bloomfile_create(&live, "live", &params,
                                      BLOOMFILE_TO_REPLACE | BLOOMFILE_OPEN_OVER_CAPACITY),
                     0);
        for (uint64_t key = 0; key < s->keys; key++)
            assert_error(bloomfile_add_digest(live, number(42, key), NULL), 0);
        assert_error(bloomfile_fold(TO_PATH("folded", BLOOMFILE_TO_REPLACE), live, 2, NULL), 0);
        build("built", s, s->bits / 2, s->keys);
        struct bytes one = read_file("folded"), other = read_file("built");
        assert_int_equal(one.size, other.size);
        assert_memory_equal(one.data + IN_FILE, other.data + IN_FILE, one.size - IN_FILE);
        free(one.data);
        free(other.data);
        bloomfile_close(live);
    }
}

TEST(fold_drops_stray_bits_of_a_live_filter)
{
    struct bloomfile_params params = params_of(&shapes[6], shapes[6].bits); /* not whole bytes */
    bloomfile_filter *live;
    assert_error(bloomfile_create(&live, "live", &params, BLOOMFILE_TO_REPLACE), 0);
    bloomfile_close(live);
    int fd = open("live", O_WRONLY);
    assert_int_equal(pwrite(fd, "\x80", 1, IN_FILE + (off_t)params.bits / 8), 1);
    close(fd);
    assert_error(bloomfile_open(&live, "live", 0), 0);
    size_t count = 1;
    struct bloomfile_fold_choice choice;
    assert_error(bloomfile_fold(TO_PATH("result", 0), live, 2, NULL), BLOOMFILE_EBODY);
    assert_error(bloomfile_fold_plan(live, 0, &choice, &count), BLOOMFILE_EBODY);
    assert_int_equal(access("result", F_OK), -1);
    bloomfile_close(live);
}

TEST(fold_of_a_damaged_source_fails)
{
    for (size_t i = 0; i < ROWS(shapes); i++) {
        const struct shape *s = &shapes[i];
        build("source", s, s->bits, s->keys);
        struct bytes image = read_file("source");
        const size_t last = (size_t)((s->layout == BLOOMFILE_LAYOUT_COUNTING ? (s->bits + 1) / 2
                                                                             : (s->bits + 7) / 8) -
                                     1);
        const size_t places[] = { IN_FILE, IN_FILE + last / 2, IN_FILE + last, image.size - 1 };
        for (size_t p = 0; p < ROWS(places); p++) {
            image.data[places[p]] ^= 0x10;
            write_file("damaged", image.data, image.size);
            image.data[places[p]] ^= 0x10;
            bloomfile_filter *f;
            size_t count = 1;
            struct bloomfile_fold_choice choice;
            assert_error(bloomfile_open(&f, "damaged", 0), 0);
            assert_error(bloomfile_fold(TO_PATH("result", 0), f, 1, NULL), BLOOMFILE_EPAGE);
            assert_error(bloomfile_check(f), BLOOMFILE_EPAGE);
            assert_error(bloomfile_fold_plan(f, 0, &choice, &count), BLOOMFILE_EPAGE);
            assert_int_equal(access("result", F_OK), -1);
            bloomfile_close(f);
        }
        free(image.data);
    }
}

TEST(fold_of_a_body_that_contradicts_its_header_fails)
{
    const size_t which[] = { 1, 6, 9 };
    for (size_t i = 0; i < ROWS(which); i++) {
        const struct shape *s = &shapes[which[i]];
        build("source", s, s->bits, s->keys);
        struct bytes image = read_file("source");
        for (unsigned slot = 0; slot < 2; slot++) {
            record_at(image.data, slot)[24] ^= 1; /* the number of bits set */
            reseal_record(image.data, slot);
        }
        write_file("damaged", image.data, image.size);
        free(image.data);
        bloomfile_filter *f;
        size_t count = 1;
        struct bloomfile_fold_choice choice;
        assert_error(bloomfile_open(&f, "damaged", 0), 0);
        assert_error(bloomfile_fold_plan(f, 0, &choice, &count), BLOOMFILE_EBODY);
        bloomfile_close(f);
        assert_error(bloomfile_open(&f, "damaged", 0), 0);
        assert_error(bloomfile_fold(TO_PATH("result", 0), f, 1, NULL), BLOOMFILE_EBODY);
        assert_int_equal(access("result", F_OK), -1);
        bloomfile_close(f);
    }
}

/* Folding reads a verified page from disk again, because the handle may be old. But it never
 * trusts a page again that was bad once. */
TEST(fold_detects_damage_after_a_verification)
{
    for (size_t i = 0; i < ROWS(shapes); i++) {
        const struct shape *s = &shapes[i];
        build("source", s, s->bits, s->keys);
        bloomfile_filter *f = opened("source");
        int fd = open("source", O_RDWR);
        uint8_t byte;
        assert_int_equal(pread(fd, &byte, 1, IN_FILE), 1);
        for (int mended = 0; mended < 2; mended++) {
            byte ^= 0x55;
            assert_int_equal(pwrite(fd, &byte, 1, IN_FILE), 1);
            assert_error(bloomfile_fold(TO_PATH("result", 0), f, 1, NULL), BLOOMFILE_ECHANGED);
        }
        close(fd);
        assert_int_equal(access("result", F_OK), -1);
        bloomfile_close(f);
    }
}

TEST(fold_writes_the_same_result_to_a_descriptor)
{
    build("source", &shapes[1], shapes[1].bits, 900);
    bloomfile_filter *source = opened("source");
    assert_error(bloomfile_fold(TO_PATH("folded", BLOOMFILE_TO_REPLACE), source, 4, NULL), 0);
    int fd = open("stream", O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, "before", 6), 6);
    size_t entries = entries_in_dir(), descriptors = open_descriptors();
    assert_error(bloomfile_fold(TO_FD(fd, NULL), source, 4, NULL), 0);
    assert_int_equal(entries_in_dir(), entries);
    assert_int_equal(open_descriptors(), descriptors);
    struct bytes file = read_file("folded"), stream = read_file("stream");
    assert_int_equal(stream.size, 6 + file.size);
    assert_memory_equal(stream.data + 6, file.data, file.size);
    free(file.data);
    free(stream.data);

    assert_error(bloomfile_fold(TO_PATH(NULL, 0), source, 4, NULL), BLOOMFILE_EVALUE);
    close(fd);
    assert_error(bloomfile_fold(TO_FD(fd, NULL), source, 4, NULL), EBADF);
    int full = open("/dev/full", O_WRONLY);
    assert_error(bloomfile_fold(TO_FD(full, NULL), source, 4, NULL), ENOSPC);
    close(full);
    bloomfile_close(source);
}

/* A write to a full pipe fails with EAGAIN. The test reads once the writer waits. */
TEST(fold_writes_everything_to_a_nonblocking_pipe)
{
    build("source", &shapes[3], shapes[3].bits, shapes[3].keys);
    bloomfile_filter *source = opened("source");
    assert_error(bloomfile_fold(TO_PATH("folded", BLOOMFILE_TO_REPLACE), source, 1, NULL), 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    pid_t reader = fork();
    if (reader == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[1]);
        if (falls_asleep(state_of(getppid(), getppid()), NULL))
            execlp("sh", "sh", "-c", "exec cat >stream", (char *)NULL);
        _exit(1);
    }
    close(ends[0]);
    assert_error(bloomfile_fold(TO_FD(ends[1], NULL), source, 1, NULL), 0);
    close(ends[1]);
    assert_child_succeeds(reader);
    struct bytes file = read_file("folded");
    assert_file_holds("stream", file.data, file.size);
    free(file.data);
    bloomfile_close(source);
}

TEST(failed_fold_leaves_no_files)
{
    build("source", &shapes[1], shapes[1].bits, 900);
    bloomfile_filter *source = opened("source");
    size_t entries = entries_in_dir();
    assert_error(bloomfile_fold(TO_PATH("result", 0), source, 0, NULL), BLOOMFILE_EFACTOR);
    assert_error(bloomfile_fold(TO_PATH("result", 0), source, 61, NULL), BLOOMFILE_EFACTOR);
    assert_error(bloomfile_fold(TO_PATH("result", 0), source, 120, NULL), BLOOMFILE_EFACTOR);
    assert_error(bloomfile_fold(TO_PATH("source", 0), source, 2, NULL), EEXIST);
    assert_error(bloomfile_fold(TO_PATH("missing/result", 0), source, 2, NULL), ENOENT);
    assert_error(bloomfile_fold(TO_PATH("result", BLOOMFILE_OPEN_WRITE), source, 2, NULL),
                 BLOOMFILE_EFLAGS);
    assert_int_equal(entries_in_dir(), entries);
    bloomfile_close(source);
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
