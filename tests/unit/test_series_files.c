/* SPDX-License-Identifier: MIT
 * The files of a series: layers agree in every field, and a foreign file at the next layer's
 * name is refused and left alone. */
#include "live_support.h"

#include <bloomfile_combine.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "format/bytes.h"
#include "format/header.h"
#include "interleave.h"

enum {
    FIRST = 24, /* capacity of the first layer */
    KEY_KIND = BLOOMFILE_KEYS_TEXT
};

static struct bloomfile_params params_of(uint32_t series)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.fpr = 0.0001;
    params.series = series;
    params.period = series == BLOOMFILE_SERIES_GROW ? 0 : 1000000;
    params.key_kind = KEY_KIND;
    params.hash_id = 0x80000005; /* an application's hash without a real self-test */
    params.self_test = 77;
    return params;
}

/* Creates a series and adds until it has this many layers. */
static bloomfile_filter *create(const char *path, uint32_t series, size_t layers)
{
    bloomfile_filter *f;
    const struct bloomfile_params params = params_of(series);
    assert_error(bloomfile_create(&f, path, &params, 0), 0);
    for (uint64_t i = 0; bloomfile_layers(f) < layers; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    return f;
}

static void finish(bloomfile_filter *f)
{
    assert_error(bloomfile_finish(f), 0);
    bloomfile_close(f);
}

static int open_error(const char *path, unsigned flags)
{
    bloomfile_filter *f;
    const int error = open_any(&f, path, flags);
    bloomfile_close(f);
    return error;
}

static bloomfile_filter *open_writer(const char *path)
{
    bloomfile_filter *f;
    const struct bloomfile_params params = params_of(BLOOMFILE_SERIES_GROW);
    assert_error(open_named(&f, bloomfile_from_path(path), BLOOMFILE_OPEN_WRITE, params.hash_id,
                            params.self_test),
                 0);
    return f;
}

/* ---- fields */

struct change {
    const char *name;
    unsigned at, size;
    uint64_t value;
};

static void change_image(uint8_t *image, const struct change *c)
{
    if (c->size == 4)
        put32(image + c->at, (uint32_t)c->value);
    else
        put64(image + c->at, c->value);
    reseal_header(image);
}

static void change_file(const char *path, const struct change *c)
{
    struct bytes file = read_file(path);
    change_image(file.data, c);
    write_file(path, file.data, file.size);
    free(file.data);
}

#define CHANGE(name, size, value)                                                                  \
    {                                                                                              \
#name, AT_##name, size, value                                                              \
    }

static const struct change of_all[] = {
    CHANGE(layout, 4, BLOOMFILE_LAYOUT_CLASSIC),
    CHANGE(hash_id, 4, 0x80000006),
    CHANGE(self_test, 8, 78),
    CHANGE(seed, 8, 1),
    CHANGE(key_kind, 4, 3),
    CHANGE(compat, 4, 0),
    CHANGE(tag, 8, 1),
    CHANGE(label, 4, 'x'),
    CHANGE(series_fpr, 8, 0x3FB999999999999A),
};

static void assert_each_is_foreign(const char *path, const char *file, const struct change *changes,
                                   size_t n)
{
    struct bytes sound = read_file(file);
    assert_error(open_error(path, 0), 0);
    for (size_t i = 0; i < n; i++) {
        change_file(file, &changes[i]);
        for (unsigned flags = 0; flags <= BLOOMFILE_OPEN_WRITE; flags += BLOOMFILE_OPEN_WRITE)
            if (open_error(path, flags) != BLOOMFILE_ESERIES)
                fail_msg("%s differs: %s", changes[i].name,
                         bloomfile_strerror(open_error(path, flags)));
        write_file(file, sound.data, sound.size);
    }
    assert_error(open_error(path, BLOOMFILE_OPEN_WRITE), 0);
    free(sound.data);
}

/* S1, S3. */
TEST_IN_DIR(live_layer_with_any_different_field_is_foreign)
{
    static const struct change of_live[] = { CHANGE(series, 8, 1), CHANGE(layer, 8, 2) };
    static const struct change of_ring[] = { CHANGE(period, 8, 7), CHANGE(generations, 4, 5) };
    finish(create("grow", BLOOMFILE_SERIES_GROW, 3));
    assert_each_is_foreign("grow", "grow.1", of_all, ROWS(of_all));
    assert_each_is_foreign("grow", "grow.1", of_live, ROWS(of_live));
    finish(create("ring", 3, 3));
    assert_each_is_foreign("ring", "ring.1", of_all, ROWS(of_all));
    assert_each_is_foreign("ring", "ring.1", of_live, ROWS(of_live));
    assert_each_is_foreign("ring", "ring.1", of_ring, ROWS(of_ring));
}

/* Section 8: a compat bit that a writer does not know does not hinder it. The writer makes layers
 * without that bit. */
TEST_IN_DIR(writer_grows_a_series_with_an_unknown_compat_bit)
{
    static const struct change later = CHANGE(compat, 4, HEADER_COMPAT_KEYS | 1u << 31);
    for (uint32_t series = BLOOMFILE_SERIES_GROW; series <= 3; series += 2) {
        finish(create("later", series, 1));
        change_file("later", &later);
        for (unsigned i = 0; i < 2; i++) {
            bloomfile_filter *f = open_writer("later");
            for (uint64_t n = 0; bloomfile_layers(f) < 2 + i; n++)
                assert_error(bloomfile_add_digest(f, number(i, n), NULL), 0);
            assert_error(bloomfile_copy_sealed(TO_PATH("sealed", BLOOMFILE_TO_REPLACE), f, NULL),
                         0);
            finish(f);
            assert_error(open_error("later", 0), 0);
            assert_error(open_error("sealed", 0), 0);
        }
        assert_int_equal(info_of_file("later").compat, HEADER_COMPAT_KEYS | 1u << 31);
        assert_int_equal(info_of_file("later.1").compat, HEADER_COMPAT_KEYS);
        assert_error(bloomfile_unlink("later"), 0);
    }
}

static int memory_error(struct bytes image)
{
    bloomfile_filter *f;
    const int error = open_from(&f, bloomfile_from_memory(image.data, image.size), 0);
    bloomfile_close(f);
    return error;
}

static void assert_is_foreign_at(struct bytes image, size_t at, const struct change *c)
{
    uint8_t *sound = malloc(IN_FILE);
    assert_non_null(sound);
    memcpy(sound, image.data + at, IN_FILE);
    change_image(image.data + at, c);
    if (memory_error(image) != BLOOMFILE_ESERIES)
        fail_msg("%s differs: %s", c->name, bloomfile_strerror(memory_error(image)));
    memcpy(image.data + at, sound, IN_FILE);
    free(sound);
}

TEST_IN_DIR(sealed_layer_with_any_different_field_is_foreign)
{
    static const struct change of_second[] = { CHANGE(layers, 4, 7), CHANGE(layer, 8, 2),
                                               CHANGE(link, 8, 1) };
    static const struct change of_first[] = { CHANGE(layer, 8, 1), CHANGE(link, 8, 1) };
    bloomfile_filter *f = create("grow", BLOOMFILE_SERIES_GROW, 3);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    finish(f);
    struct bytes image = read_file("sealed");
    const struct bloomfile_info first = info_of_file("grow");
    const size_t second = (size_t)(first.image_size + 4095) / 4096 * 4096;
    assert_error(memory_error(image), 0);
    for (size_t i = 0; i < ROWS(of_all); i++)
        assert_is_foreign_at(image, second, &of_all[i]);
    for (size_t i = 0; i < ROWS(of_second); i++)
        assert_is_foreign_at(image, second, &of_second[i]);
    for (size_t i = 0; i < ROWS(of_first); i++)
        assert_is_foreign_at(image, 0, &of_first[i]);
    assert_error(memory_error(image), 0);
    free(image.data);
}

/* ---- files */

TEST_IN_DIR(sealed_series_is_refused_as_a_layer)
{
    bloomfile_filter *f = create("grow", BLOOMFILE_SERIES_GROW, 3);
    assert_error(bloomfile_copy_sealed(TO_PATH("grow.3", 0), f, NULL), 0);
    finish(f);
    const size_t before = open_descriptors();
    assert_error(open_error("grow", 0), BLOOMFILE_ESERIES);
    assert_error(open_error("grow", BLOOMFILE_OPEN_WRITE), BLOOMFILE_ESERIES);
    assert_int_equal(open_descriptors(), before);
}

/* S5, V39. Only the name leads to the other layers. */
TEST_IN_DIR(a_live_series_is_not_opened_by_a_descriptor)
{
    bloomfile_filter *none;
    finish(create("grow", BLOOMFILE_SERIES_GROW, 2));
    int fd = open("grow", O_RDONLY | O_CLOEXEC);
    const size_t before = open_descriptors();
    assert_error(open_from(&none, bloomfile_from_fd(fd), 0), BLOOMFILE_ELIVE);
    assert_null(none);
    assert_int_equal(open_descriptors(), before);
    close(fd);
}

/* A sync of a layer whose name exists already would leave the layer unclean if it was killed,
 * though the writer was only adding. */
TEST_IN_DIR(a_new_layer_is_not_synced_by_its_creator)
{
    for (unsigned i = 0; i < 2; i++) {
        const char *path = i == 0 ? "growing" : "forgetting";
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        bloomfile_filter *f = create(path, i == 0 ? BLOOMFILE_SERIES_GROW : 3, 2);
        assert_error(bloomfile_get_info(bloomfile_layer(f, 1), &info), 0);
        assert_int_equal(info.sequence, 2); /* created, joined */
        finish(f);
    }
}

/* For example, a copy of the first file from before the series grew. */
TEST_IN_DIR(an_older_copy_of_a_layer_is_refused)
{
    finish(create("grow", BLOOMFILE_SERIES_GROW, 3));
    for (unsigned slot = 0; slot < 2; slot++)
        set_in_record("grow", slot, RECORD_AT_flags, 4, 0);
    assert_error(open_error("grow", 0), BLOOMFILE_ESERIES);
    assert_error(open_error("grow", BLOOMFILE_OPEN_WRITE), BLOOMFILE_ESERIES);
}

TEST_IN_DIR(removed_ring_never_answers_no)
{
    bloomfile_filter *f, *r;
    struct bloomfile_params params = params_of(2);
    params.hash_id = 0;
    params.self_test = 0;
    params.period = 0;
    assert_error(bloomfile_create(&f, "ring", &params, 0), 0);
    r = opened("ring", 0);
    add_digests_of(f, 0, FIRST + 2);
    finish(f);
    assert_int_equal(unlink("ring") | unlink("ring.1"), 0);
    assert_true(has_numbers(r, ABSENT, ABSENT + 10));
    assert_error(bloomfile_check(r), BLOOMFILE_EMISSINGLAYER);
    bloomfile_close(r);
}

/* ---- files at the next layer's name */

/* Adds until an error; returns it, or 0 after enough keys for another layer. */
static int fill(bloomfile_filter *f)
{
    int error = 0;
    for (uint64_t i = 0; error == 0 && i <= FIRST; i++)
        error = bloomfile_add_digest(f, number(1, i), NULL);
    return error;
}

static void assert_in_the_way(uint32_t series, struct bytes file, const struct change *c)
{
    bloomfile_filter *f = create("series", series, 1);
    struct bytes next = { malloc(file.size), file.size };
    assert_non_null(next.data);
    memcpy(next.data, file.data, file.size);
    put64(next.data + AT_series, info_of(f).series);
    change_image(next.data, c);
    write_file("series.1", next.data, next.size);
    assert_error(fill(f), BLOOMFILE_ESERIES);
    assert_error(bloomfile_check(f), 0);
    assert_file_holds("series.1", next.data, next.size);
    assert_int_equal(unlink("series.1"), 0);
    assert_error(fill(f), 0);
    finish(f);
    assert_int_equal(unlink("series") | unlink("series.1"), 0);
    free(next.data);
}

TEST_IN_DIR(foreign_file_named_as_the_next_layer_is_kept_and_stops_adds)
{
    static const struct change changes[] = {
        CHANGE(layer, 8, 2),    CHANGE(tag, 8, 1),    CHANGE(version, 4, 2),
        CHANGE(incompat, 4, 0), CHANGE(series, 8, 1),
    };
    for (uint32_t series = BLOOMFILE_SERIES_GROW; series <= 2; series++) {
        finish(create("like", series, 2));
        struct bytes next = read_file("like.1");
        for (size_t i = 0; i < ROWS(changes); i++)
            assert_in_the_way(series, next, &changes[i]);
        free(next.data);
        assert_int_equal(unlink("like") | unlink("like.1"), 0);
    }
    bloomfile_filter *f = create("series", BLOOMFILE_SERIES_GROW, 1);
    write_file("series.1", "short", 5);
    assert_error(fill(f), BLOOMFILE_ESERIES);
    assert_file_holds("series.1", "short", 5);
    finish(f);
}

/* The file still belongs to the series: its creator may be about to write to it. */
TEST_IN_DIR(next_layer_with_damaged_records_is_not_recreated)
{
    finish(create("series", BLOOMFILE_SERIES_GROW, 2));
    for (unsigned slot = 0; slot < 2; slot++)
        set_in_record("series", slot, RECORD_AT_flags, 4, 0);
    struct bytes next = read_file("series.1");
    assert_int_equal(rename("series.1", "kept"), 0);
    bloomfile_filter *f = open_writer("series");
    for (unsigned slot = 0; slot < 2; slot++)
        memset(record_at(next.data, slot) + RECORD_AT_n, 0xFF, 8);
    write_file("series.1", next.data, next.size);
    assert_error(fill(f), BLOOMFILE_ERECORD);
    assert_file_holds("series.1", next.data, next.size);
    assert_true(bloomfile_contains_digest(f, number(0, ABSENT)));
    assert_error(bloomfile_check(f), BLOOMFILE_ERECORD);
    bloomfile_close(f);
    free(next.data);
}

/* ---- limits */

/* Each is a copy of the first layer: a reader does not compute their sizes. */
TEST_IN_DIR(series_has_at_most_1000_layers)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < 2 * HEADER_MOST_LAYERS)
        skip("too few files can be open");
    finish(create("grow", BLOOMFILE_SERIES_GROW, 2));
    struct bytes layer = read_file("grow");
    for (unsigned i = 1; i < HEADER_MOST_LAYERS; i++) {
        char path[20];
        snprintf(path, sizeof path, "grow.%u", i);
        for (unsigned slot = 0; i + 1 == HEADER_MOST_LAYERS && slot < 2; slot++)
            put32(record_at(layer.data, slot) + RECORD_AT_flags, 0);
        change_image(layer.data, &(struct change){ "layer", AT_layer, 8, i });
        write_file(path, layer.data, layer.size);
    }
    bloomfile_filter *f = open_writer("grow");
    assert_int_equal(bloomfile_layers(f), HEADER_MOST_LAYERS);
    assert_error(fill(f), BLOOMFILE_ESERIES);
    assert_int_equal(access("grow.1000", F_OK), -1);
    assert_error(bloomfile_check(f), 0);
    bloomfile_close(f);
    free(layer.data);
}

TEST_IN_DIR(writer_that_cannot_plan_the_next_layer_adds_nothing)
{
    static const struct {
        struct change change;
        int error;
    } rows[] = {
        { CHANGE(capacity, 8, 1ULL << 60), BLOOMFILE_EUNREACHABLE },
        { CHANGE(fpr, 8, 0x0010000000000000), BLOOMFILE_EUNREACHABLE },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        finish(create("grow", BLOOMFILE_SERIES_GROW, 1));
        change_file("grow", &rows[i].change);
        for (unsigned slot = 0; slot < 2; slot++)
            set_in_record("grow", slot, RECORD_AT_n, 8, 1ULL << 60);
        bloomfile_filter *f = open_writer("grow");
        assert_error(bloomfile_add_digest(f, number(0, 1), NULL), rows[i].error);
        assert_error(bloomfile_check(f), 0);
        finish(f);
        assert_int_equal(access("grow.1", F_OK), -1);
        assert_int_equal(unlink("grow"), 0);
    }
}

static int create_of_rate(bloomfile_filter **f, double fpr)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = FIRST;
    params.fpr = fpr;
    params.series = BLOOMFILE_SERIES_GROW;
    return bloomfile_create_memory(f, &params, 0);
}

TEST_IN_DIR(series_ends_if_the_next_layer_cannot_reach_its_rate)
{
    bloomfile_filter *f;
    double low = 1e-300, high = 0.01; /* the lowest rate that the first layer reaches */
    assert_error(create_of_rate(&f, low), BLOOMFILE_EUNREACHABLE);
    for (int i = 0; i < 1100 && high / low > 1.01; i++) {
        const double middle = high / low > 4 ? high / 2 : (low + high) / 2;
        const bool reached = create_of_rate(&f, middle) == 0;
        bloomfile_close(f);
        *(reached ? &high : &low) = middle;
    }
    assert_error(create_of_rate(&f, high), 0);
    const size_t before = open_descriptors();
    assert_error(fill(f), BLOOMFILE_EUNREACHABLE);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(bloomfile_layers(f), 1);
    assert_true(bloomfile_contains_digest(f, number(1, 0)));
    assert_error(bloomfile_check(f), 0);
    bloomfile_close(f);
}

/* Linear counting cannot estimate its number of keys. */
TEST_IN_DIR(body_with_all_bits_set_accepts_keys)
{
    bloomfile_filter *f, *second;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = 1000000;
    params.bits = 512;
    params.series = 2;
    assert_error(bloomfile_create(&f, "ring", &params, 0), 0);
    second = opened("ring", BLOOMFILE_OPEN_WRITE);
    for (uint64_t i = 0; i < 10000; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    assert_error(bloomfile_add_digest(second, number(0, ABSENT), NULL), 0);
    assert_true(has_numbers(f, 0, 10000));
    assert_int_equal(bloomfile_layers(second), 1);
    bloomfile_close(second);
    bloomfile_close(f);
}

TEST_IN_DIR(interrupted_getrandom_is_retried)
{
    bloomfile_filter *f;
    const struct bloomfile_params params = params_of(BLOOMFILE_SERIES_GROW);
    const struct faults faults = once(ON_getrandom, 1, EINTR);
    faults_begin(&faults);
    const int error = bloomfile_create(&f, "grow", &params, 0);
    faults_end();
    assert_error(error, 0);
    assert_true(info_of(f).series != 0);
    finish(f);
}

TEST_IN_DIR(series_is_not_created_without_an_identity)
{
    bloomfile_filter *f;
    const struct bloomfile_params params = params_of(BLOOMFILE_SERIES_GROW);
    const struct faults faults = once(ON_getrandom, 1, EIO);
    faults_begin(&faults);
    const int error = bloomfile_create(&f, "grow", &params, 0);
    faults_end();
    assert_error(error, EIO);
    assert_int_equal(entries_in_dir(), 0);
}

TEST_IN_DIR(copy_to_memory_returns_the_error_of_memfd_create)
{
    void *image;
    size_t size;
    bloomfile_filter *f = create("grow", BLOOMFILE_SERIES_GROW, 2);
    const struct faults faults = once(ON_memfd_create, 1, EMFILE);
    faults_begin(&faults);
    const int error = copy_memory(&image, &size, f);
    faults_end();
    assert_error(error, EMFILE);
    finish(f);
}

/* ---- the name used to open the series */

/* No open layer was opened through that name. */
TEST_IN_DIR(link_in_a_folder_replaced_by_a_file_leads_nowhere)
{
    finish(create("ring", 2, 2));
    assert_int_equal(mkdir("folder", 0700), 0);
    make_symlink("../ring", "folder/link");
    bloomfile_filter *f = open_writer("folder/link");
    for (uint64_t i = 0; info_of(f).layer < 3; i++)
        assert_error(bloomfile_add_digest(f, number(1, i), NULL), 0);
    assert_error(bloomfile_sync(f, NULL), 0);
    assert_int_equal(rename("folder", "away"), 0);
    write_file("folder", "", 0);
    assert_int_equal(bloomfile_is_stale(f), 1);
    assert_error(bloomfile_sync(f, NULL), BLOOMFILE_EREPLACED);
    bloomfile_close(f);
}

TEST_IN_DIR(name_that_cannot_be_looked_up_does_not_count_as_removed)
{
    finish(create("grow", BLOOMFILE_SERIES_GROW, 2));
    make_symlink("grow", "link");
    bloomfile_filter *f = open_writer("link");
    const struct faults faults = from_then_on(ON_stat64, 1, EACCES);
    faults_begin(&faults);
    const int error = bloomfile_sync(f, NULL), stale = bloomfile_is_stale(f);
    faults_end();
    assert_true(fault_calls(ON_stat64) > 0);
    assert_error(error, 0);
    assert_int_equal(stale, 1); /* opening it would report EACCES */
    finish(f);
}

/* Also after a change of the current folder, and after the first layer was forgotten. */
TEST_IN_DIR(layers_in_a_folder_without_a_path_stay_in_that_folder)
{
    static const uint32_t kinds[] = { BLOOMFILE_SERIES_GROW, 2 };
    for (size_t i = 0; i < ROWS(kinds); i++) {
        const struct faults faults = from_then_on(ON_getcwd, 1, ENOENT);
        assert_int_equal(mkdir("inner", 0700), 0);
        assert_int_equal(chdir("inner"), 0);
        finish(create("live", kinds[i], 1));
        faults_begin(&faults);
        bloomfile_filter *f = open_writer("live");
        faults_end();
        assert_int_equal(chdir(".."), 0);
        for (uint64_t k = 0; info_of(f).layer < 3; k++)
            assert_error(bloomfile_add_digest(f, number(0, k), NULL), 0);
        assert_int_equal(bloomfile_is_stale(f), 0);
        assert_error(bloomfile_sync(f, NULL), 0);
        assert_int_equal(access("inner/live.1", F_OK), 0);
        assert_int_equal(access("live", F_OK), -1);
        finish(f);
        assert_int_equal(system("rm -r inner"), 0);
    }
}

/* The link would be resolved to a path. */
TEST_IN_DIR(link_to_a_series_in_a_folder_without_a_path_is_refused)
{
    const struct faults faults = from_then_on(ON_getcwd, 1, ENOENT);
    bloomfile_filter *f;
    finish(create("one", BLOOMFILE_SERIES_GROW, 1));
    make_symlink("one", "link");
    faults_begin(&faults);
    const int error = open_any(&f, "link", BLOOMFILE_OPEN_WRITE);
    faults_end();
    assert_error(error, EACCES);
}

/* ---- removal */

/* A series of `layers` files, whose newest layer has the number `newest`. */
static const struct {
    uint32_t series;
    uint64_t newest;
} removed[] = {
    { BLOOMFILE_SERIES_GROW, 0 }, { BLOOMFILE_SERIES_GROW, 3 }, { 3, 1 }, { 3, 3 }, { 3, 5 }
};

static bloomfile_filter *make_removed(size_t i)
{
    bloomfile_filter *f = create("series", removed[i].series, 1);
    for (uint64_t k = 0; info_of(f).layer < removed[i].newest; k++)
        assert_error(bloomfile_add_digest(f, number(0, k), NULL), 0);
    return f;
}

TEST_IN_DIR(unlink_removes_all_files_of_a_filter)
{
    for (size_t i = 0; i < ROWS(removed); i++) {
        finish(make_removed(i));
        assert_error(bloomfile_unlink("series"), 0);
        assert_int_equal(entries_in_dir(), 0);
        assert_error(bloomfile_unlink("series"), ENOENT);
    }
    bloomfile_filter *f = make_removed(1);
    assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
    finish(f);
    set_mode("sealed", 0444);
    make_symlink("sealed", "link");
    assert_error(bloomfile_unlink("link"), 0);
    assert_error(bloomfile_unlink("link"), ENOENT);
    assert_int_equal(access("sealed", F_OK), -1);
    assert_int_equal(unlink("link"), -1);
    assert_error(bloomfile_unlink("series"), 0);
    make_live("live", BLOOMFILE_LAYOUT_BLOCKED);
    assert_error(bloomfile_unlink("live"), 0);
    assert_int_equal(entries_in_dir(), 0);
    assert_error(bloomfile_unlink(NULL), BLOOMFILE_EVALUE);
}

TEST_IN_DIR(unlink_removes_links_and_their_targets)
{
    finish(make_removed(1));
    assert_int_equal(rename("series.2", "elsewhere"), 0);
    make_symlink("elsewhere", "series.2");
    make_symlink("series", "link");
    assert_error(bloomfile_unlink("link"), 0);
    assert_int_equal(entries_in_dir(), 0);
}

TEST_IN_DIR(dangling_link_beyond_the_next_layer_does_not_prevent_removal)
{
    bloomfile_filter *other;
    for (int replaces = 0; replaces < 2; replaces++) {
        const struct bloomfile_params grow = params_of(BLOOMFILE_SERIES_GROW);
        finish(make_removed(1));
        make_symlink("nowhere", "series.9");
        if (replaces) {
            assert_error(bloomfile_create(&other, "series", &grow, BLOOMFILE_TO_REPLACE), 0);
            finish(other);
            assert_int_equal(entries_in_dir(), 2);
        }
        assert_error(bloomfile_unlink("series"), 0);
        assert_int_equal(entries_in_dir(), 1);
        assert_int_equal(unlink("series.9"), 0);
    }
}

/* Its other layers would remain. */
TEST_IN_DIR(single_filter_does_not_replace_a_series_of_several_files)
{
    struct bloomfile_params one = BLOOMFILE_PARAMS_INIT;
    one.capacity = 10;
    for (size_t i = 0; i < ROWS(removed); i++) {
        bloomfile_filter *f = make_removed(i), *other;
        bloomfile_builder *b;
        const size_t layers = bloomfile_layers(f);
        const int expected = layers > 1 ? BLOOMFILE_ESERIES : 0;
        assert_error(bloomfile_copy_sealed(TO_PATH("sealed", 0), f, NULL), 0);
        if (layers > 1)
            assert_error(bloomfile_copy_sealed(TO_PATH("series", BLOOMFILE_TO_REPLACE), f, NULL),
                         BLOOMFILE_ESERIES);
        finish(f);
        make_symlink("series", "link");
        assert_error(bloomfile_builder_new(&b, &one), 0);
        const int created = bloomfile_create(&other, "link", &one, BLOOMFILE_TO_REPLACE);
        assert_error(created, expected);
        if (created == 0)
            finish(other);
        assert_error(bloomfile_builder_write(b, TO_PATH("series", BLOOMFILE_TO_REPLACE)), expected);
        assert_error(bloomfile_builder_write(b, TO_PATH("link", BLOOMFILE_TO_REPLACE)), expected);
        bloomfile_builder_free(b);
        assert_int_equal(entries_in_dir(), layers + 2);
        assert_error(bloomfile_unlink("link"), 0);
        assert_error(bloomfile_unlink("sealed"), 0);
        assert_int_equal(entries_in_dir(), 0);
    }
}

/* S15. */
TEST_IN_DIR(partly_removed_series_is_refused_and_can_be_removed_again)
{
    for (size_t i = 0; i < ROWS(removed); i++)
        for (unsigned nth = 1; nth <= 4; nth++) {
            bloomfile_filter *reader;
            finish(make_removed(i));
            const struct faults faults = once(ON_unlink, nth, EIO);
            faults_begin(&faults);
            const int error = bloomfile_unlink("series");
            faults_end();
            if (error == 0) {
                assert_int_equal(entries_in_dir(), 0);
                continue;
            }
            assert_error(error, EIO);
            const int opens = open_any(&reader, "series", 0);
            assert_error(opens, nth == 1 ? 0 : BLOOMFILE_EMISSINGLAYER);
            bloomfile_close(reader);
            assert_error(bloomfile_unlink("series"), 0);
            assert_int_equal(entries_in_dir(), 0);
        }
}

/* S15. */
TEST_IN_DIR(series_with_writers_or_a_foreign_file_is_not_removed)
{
    bloomfile_filter *f = make_removed(1), *reader;
    assert_error(bloomfile_unlink("series"), EBUSY);
    assert_error(bloomfile_unlink("series.1"), BLOOMFILE_ESERIES);
    finish(f);
    assert_error(bloomfile_unlink("series.1"), BLOOMFILE_ESERIES);
    make_live("series.4", BLOOMFILE_LAYOUT_BLOCKED);
    assert_error(bloomfile_unlink("series"), BLOOMFILE_ESERIES);
    write_file("series.4", "keys", 4);
    assert_error(bloomfile_unlink("series"), BLOOMFILE_EMAGIC);
    assert_int_equal(unlink("series.4"), 0);
    make_symlink("nowhere", "series.4");
    assert_error(bloomfile_unlink("series"), BLOOMFILE_ESERIES);
    assert_int_equal(unlink("series.4"), 0);
    const struct bloomfile_params params = params_of(BLOOMFILE_SERIES_GROW);
    assert_error(
        open_named(&reader, bloomfile_from_path("series"), 0, params.hash_id, params.self_test), 0);
    assert_error(bloomfile_unlink("series"), 0);
    assert_true(bloomfile_contains_digest(reader, number(0, 0)));
    assert_false(bloomfile_contains_digest(reader, number(0, ABSENT)));
    bloomfile_close(reader);
    write_file("keys", "a\nb\n", 4);
    assert_error(bloomfile_unlink("keys"), BLOOMFILE_EMAGIC);
    assert_file_holds("keys", "a\nb\n", 4);
}

/* S15. */
TEST_IN_DIR(a_new_series_replaces_one_of_several_layers)
{
    for (size_t i = 0; i < ROWS(removed); i++) {
        const struct bloomfile_params grow = params_of(BLOOMFILE_SERIES_GROW), five = params_of(5);
        bloomfile_filter *f = make_removed(i), *other;
        const size_t layers = bloomfile_layers(f);
        assert_error(bloomfile_create(&other, "series", &grow, BLOOMFILE_TO_REPLACE), EBUSY);
        finish(f);
        const struct faults failures[] = { once(ON_fallocate64, 1, ENOSPC),
                                           once(ON_fsync, 1, EIO) };
        for (size_t j = 0; j < ROWS(failures); j++) {
            faults_begin(&failures[j]);
            const int error = bloomfile_create(&other, "series", &five, BLOOMFILE_TO_REPLACE);
            faults_end();
            assert_error(error, failures[j].error);
            assert_int_equal(entries_in_dir(), layers);
        }
        write_file("series.4", "", 0);
        int error = bloomfile_create(&other, "series", &five, BLOOMFILE_TO_REPLACE);
        assert_error(error, BLOOMFILE_ESERIES);
        assert_int_equal(unlink("series.4"), 0);
        assert_error(bloomfile_create(&other, "series", &five, BLOOMFILE_TO_REPLACE), 0);
        assert_int_equal(bloomfile_layers(other), 1);
        assert_false(bloomfile_contains_digest(other, number(0, 0)));
        finish(other);
        assert_int_equal(entries_in_dir(), 1);
        assert_error(bloomfile_unlink("series"), 0);
    }
}

static int create_again(void)
{
    bloomfile_filter *f;
    const struct bloomfile_params grow = params_of(BLOOMFILE_SERIES_GROW);
    const int error = bloomfile_create(&f, "series", &grow, BLOOMFILE_TO_REPLACE);
    bloomfile_close(f);
    return error;
}

/* S15. */
TEST_IN_DIR(series_with_a_foreign_later_file_is_not_replaced)
{
    for (size_t i = 0; i < ROWS(removed); i++) {
        bloomfile_filter *f = make_removed(i), *reader;
        const char *const foreign = removed[i].series == 3 ? "series.2" : "series.5";
        if (access(foreign, F_OK) == 0) {
            finish(f);
            assert_error(bloomfile_unlink("series"), 0);
            continue;
        }
        const size_t files = entries_in_dir() + 1;
        for (unsigned open = 2; open-- > 0;) {
            write_file(foreign, "", 0);
            assert_error(create_again(), BLOOMFILE_ESERIES);
            assert_int_equal(entries_in_dir(), files);
            assert_int_equal(unlink(foreign), 0);
            make_symlink(foreign, foreign); /* leads nowhere */
            assert_error(create_again(), BLOOMFILE_ESERIES);
            assert_int_equal(unlink(foreign), 0);
            assert_int_equal(mkdir(foreign, 0777), 0);
            assert_error(create_again(), BLOOMFILE_ESERIES);
            assert_int_equal(rmdir(foreign), 0);
            if (open)
                finish(f);
        }
        assert_error(open_any(&reader, "series", 0), 0);
        assert_true(bloomfile_contains_digest(reader, number(0, 0)));
        bloomfile_close(reader);
        assert_error(bloomfile_unlink("series"), 0);
    }
}

/* Its writers could not be detected. */
TEST_IN_DIR(series_that_may_not_be_written_or_read_is_not_replaced)
{
    const struct faults no_right[] = { { .read_only = true }, from_then_on(ON_open64, 1, EACCES) };
    for (size_t i = 0; i < ROWS(removed); i++) {
        bloomfile_filter *f = make_removed(i);
        const size_t layers = bloomfile_layers(f);
        for (size_t j = 0; j < ROWS(no_right); j++) {
            faults_begin(&no_right[j]);
            const int created = create_again(), removal = bloomfile_unlink("series");
            faults_end();
            assert_error(created, EACCES);
            assert_error(removal, EACCES);
            assert_int_equal(entries_in_dir(), layers);
        }
        finish(f);
        assert_error(bloomfile_unlink("series"), 0);
    }
}

TEST_IN_DIR(single_filter_replaces_an_unreadable_file_that_is_not_a_series_of_several_files)
{
    struct bloomfile_params one = BLOOMFILE_PARAMS_INIT;
    one.capacity = 10;
    for (size_t i = 0; i < ROWS(removed); i++) {
        bloomfile_filter *f = make_removed(i), *other;
        const struct faults unreadable = once(ON_open64, 1, EACCES);
        const size_t layers = bloomfile_layers(f);
        finish(f);
        faults_begin(&unreadable);
        const int error = bloomfile_create(&other, "series", &one, BLOOMFILE_TO_REPLACE);
        faults_end();
        assert_error(error, layers > 1 ? BLOOMFILE_ESERIES : 0);
        if (error == 0)
            finish(other);
        assert_error(bloomfile_unlink("series"), 0);
        assert_int_equal(entries_in_dir(), 0);
    }
}

static int write_one(const char *path, unsigned flags)
{
    struct bloomfile_params one = BLOOMFILE_PARAMS_INIT;
    one.capacity = 10;
    bloomfile_builder *b;
    assert_error(bloomfile_builder_new(&b, &one), 0);
    const int error = bloomfile_builder_write(b, TO_PATH(path, flags));
    bloomfile_builder_free(b);
    return error;
}

/* The new file would hide the keys of the other layers. */
TEST_IN_DIR(new_filter_does_not_take_the_name_of_a_lost_first_file)
{
    for (size_t i = 0; i < ROWS(removed); i++) {
        bloomfile_filter *f = make_removed(i);
        const bool several = bloomfile_layers(f) > 1;
        finish(f);
        const struct bytes whole = read_file("series");
        write_file("series", whole.data, 100); /* truncated */
        make_symlink("series", "link");
        assert_error(write_one("series", 0), EEXIST);
        if (several) {
            assert_error(write_one("series", BLOOMFILE_TO_REPLACE), BLOOMFILE_ESERIES);
            assert_error(write_one("link", BLOOMFILE_TO_REPLACE), BLOOMFILE_ESERIES);
        }
        assert_int_equal(unlink("series"), 0);
        assert_int_equal(unlink("link"), 0);
        if (several) {
            const struct bytes second = read_file("series.1");
            assert_error(write_one("series", BLOOMFILE_TO_REPLACE), BLOOMFILE_ESERIES);
            assert_error(write_one("series", 0), BLOOMFILE_ESERIES);
            const struct faults unreadable = once(ON_open64, 1, EACCES);
            faults_begin(&unreadable);
            int error = write_one("series", 0);
            faults_end();
            assert_error(error, BLOOMFILE_ESERIES);
            struct bytes damaged = read_file("series.1");
            damaged.data[200] ^= 1;
            write_file("series.1", damaged.data, damaged.size);
            free(damaged.data);
            assert_error(write_one("series", 0), BLOOMFILE_ESERIES);
            write_file("series", whole.data, whole.size);
            write_file("series.1", second.data, 100); /* truncated */
            faults_begin(&unreadable);
            error = write_one("series", BLOOMFILE_TO_REPLACE);
            faults_end();
            assert_error(error, BLOOMFILE_ESERIES);
            assert_int_equal(unlink("series.1"), 0);
            if (removed[i].newest > 1) /* there are later layers */
                assert_error(write_one("series", BLOOMFILE_TO_REPLACE), BLOOMFILE_ESERIES);
            write_file("series.1", second.data, second.size);
            free(second.data);
            assert_int_equal(unlink("series"), 0);
        }
        assert_error(write_one("single", 0), 0);
        assert_int_equal(rename("single", "series"), 0); /* perhaps made from that series */
        assert_error(write_one("series", BLOOMFILE_TO_REPLACE), 0);
        write_file("text", "keys", 4);
        write_file("text.1", "keys", 4);
        assert_error(write_one("text", BLOOMFILE_TO_REPLACE), 0);
        write_file("series", whole.data, whole.size);
        free(whole.data);
        assert_error(bloomfile_unlink("series"), 0);
        assert_int_equal(system("rm text text.1"), 0);
        assert_int_equal(entries_in_dir(), 0);
    }
}

TEST_IN_DIR(new_series_does_not_replace_a_socket)
{
    const struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "series" };
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&name, sizeof name), 0);
    assert_error(create_again(), BLOOMFILE_ENOTREGULAR);
    close(fd);
}

/* No file can have the names of its last slots. */
TEST_IN_DIR(unlink_removes_a_series_with_a_long_name)
{
    static const unsigned sizes[] = { NAME_MAX - 2, NAME_MAX - 3 };
    for (size_t i = 0; i < ROWS(sizes); i++) {
        char name[NAME_MAX + 1] = { 0 };
        memset(name, 'n', sizes[i]);
        finish(create(name, BLOOMFILE_SERIES_GROW, 3));
        assert_error(bloomfile_unlink(name), 0);
        assert_int_equal(entries_in_dir(), 0);
    }
}

/* They cannot be opened. */
TEST_IN_DIR(unlink_removes_poisoned_filters_and_filters_with_damaged_records)
{
    static void (*const acts[])(const char *path) = { poison_records, damage_records };
    static const int errors[] = { BLOOMFILE_EPOISONED, BLOOMFILE_ERECORD };
    for (size_t i = 0; i < ROWS(acts); i++) {
        make_live("live", BLOOMFILE_LAYOUT_BLOCKED);
        finish(make_removed(1));
        acts[i]("live");
        acts[i]("series.1");
        assert_error(open_error("live", 0), errors[i]);
        assert_error(open_error("series", 0), errors[i]);
        assert_error(bloomfile_unlink("live"), 0);
        assert_error(bloomfile_unlink("series"), 0);
        assert_int_equal(entries_in_dir(), 0);
    }
}

/* ---- layers that a handle keeps open */

/* Each layer's handle remembers errors that were found in it. */
TEST_IN_DIR(open_layer_is_not_opened_again)
{
    enum {
        GENERATIONS = 5
    };
    bloomfile_filter *f = create("ring", GENERATIONS, GENERATIONS), *r;
    assert_error(open_any(&r, "ring", 0), 0);
    const bloomfile_filter *known[GENERATIONS];
    for (size_t i = 0; i < GENERATIONS; i++)
        known[i] = bloomfile_layer(r, i);
    assert_error(fill(f), 0);
    assert_error(bloomfile_check(r), 0);
    assert_int_equal(info_of(r).layer, GENERATIONS);
    for (size_t i = 0; i + 1 < GENERATIONS; i++)
        assert_ptr_equal(bloomfile_layer(r, i), known[i + 1]);
    bloomfile_close(r);
    finish(f);
}

static int save(const bloomfile_filter *f)
{
    return bloomfile_rescue("saved", f, 0);
}

static int ask_whether_stale(const bloomfile_filter *f)
{
    return bloomfile_is_stale(f);
}

/* The layers that the handle had open before can be closed. */
TEST_IN_DIR(check_is_stale_and_copy_keep_no_layer_open)
{
    int (*const questions[])(const bloomfile_filter *f) = { bloomfile_check, ask_whether_stale,
                                                            save };
    for (size_t i = 0; i < ROWS(questions); i++) {
        bloomfile_filter *f = create("ring", 2, 2), *r;
        const struct bloomfile_info info = info_of(f);
        assert_error(open_named(&r, bloomfile_from_path("ring"), 0, info.hash_id, info.self_test),
                     0);
        assert_error(questions[i](r), 0);
        const size_t before = open_descriptors();
        for (uint64_t at = 0; info_of(f).layer < 12; at++) {
            assert_error(bloomfile_add_digest(f, number(1, at), NULL), 0);
            assert_true(bloomfile_contains_digest(r, number(1, at)));
        }
        assert_int_equal(info_of(r).layer, 12);
        assert_true(open_descriptors() < before + 6);
        bloomfile_close(r);
        finish(f);
        assert_int_equal(system("rm -f ring* saved*"), 0);
    }
}

/* ---- syncing */

/* S12. */
TEST_IN_DIR(sync_skips_clean_layers)
{
    finish(create("grow", BLOOMFILE_SERIES_GROW, 4));
    bloomfile_filter *f = open_writer("grow");
    assert_error(bloomfile_add_digest(f, number(0, ABSENT), NULL), 0);
    faults_begin(&(struct faults){ 0 });
    const int error = bloomfile_sync(f, NULL);
    faults_end();
    assert_error(error, 0);
    assert_int_equal(fault_calls(ON_fdatasync), 0);
    finish(f);
}

/* ---- children of fork */

static int sync_in_child(bloomfile_filter *f, struct faults faults)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        faults_begin(&faults);
        int error = bloomfile_sync(f, NULL);
        const bool told = fault_calls(ON_dup3) == (faults.nth != 0 ? faults.nth : 3);
        faults_end();
        _exit(told && error == faults.error ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* An error that the kernel reports to the child is not reported to the parent. */
TEST_IN_DIR(child_reopens_each_layer_before_it_syncs)
{
    need_wipe_on_fork();
    bloomfile_filter *f = create("series", BLOOMFILE_SERIES_GROW, 3);
    assert_int_equal(sync_in_child(f, (struct faults){ 0 }), 0);
    for (unsigned nth = 1; nth <= 3; nth++)
        assert_int_equal(sync_in_child(f, once(ON_dup3, nth, EMFILE)), 0);
    finish(f);
}

/* Adds keys until there is one more layer. Returns the error. *reopened: the number of layers that
 * were opened again. */
static int grow(bloomfile_filter *f, const struct faults *faults, unsigned *reopened)
{
    const size_t layers = bloomfile_layers(f);
    int error = 0;
    faults_begin(faults);
    for (uint64_t i = 1 << 20; error == 0 && bloomfile_layers(f) == layers; i++)
        error = bloomfile_add_digest(f, number(0, i), NULL);
    *reopened = fault_calls(ON_dup3);
    faults_end();
    return error;
}

TEST_IN_DIR(child_reopens_the_layer_whose_mark_it_flushes)
{
    need_wipe_on_fork();
    bloomfile_filter *f = create("series", BLOOMFILE_SERIES_GROW, 3);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        unsigned reopened;
        const int error = grow(f, &(struct faults){ 0 }, &reopened);
        _exit(error == 0 && reopened == 2 ? 0 : 1); /* the newest layer and its predecessor */
    }
    assert_child_succeeds(child);
    finish(f);
}

/* In either of the two layers. */
TEST_IN_DIR(child_that_cannot_reopen_a_layer_does_not_grow_the_series)
{
    need_wipe_on_fork();
    for (unsigned nth = 1; nth <= 2; nth++) {
        bloomfile_filter *f = create("series", BLOOMFILE_SERIES_GROW, 3);
        const pid_t child = fork();
        if (child == 0) {
            const struct faults faults = once(ON_dup3, nth, EMFILE);
            unsigned tried;
            alarm(20);
            _exit(grow(f, &faults, &tried) == EMFILE && tried == nth ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        finish(f);
        assert_int_equal(unlink("series") | unlink("series.1") | unlink("series.2"), 0);
    }
}

/* The child never wrote to this layer, which was full when the parent opened it. */
TEST_IN_DIR(child_that_gets_a_write_error_poisons_the_layer)
{
    need_wipe_on_fork();
    bloomfile_filter *other = create("series", BLOOMFILE_SERIES_GROW, 3),
                     *f = open_writer("series");
    const pid_t child = fork();
    if (child == 0) {
        const struct faults faults = once(ON_msync, 1, EIO); /* of that layer's mark */
        unsigned reopened;
        alarm(20);
        if (bloomfile_sync(f, NULL) != 0)
            _exit(1);
        _exit(grow(f, &faults, &reopened) == EIO ? 0 : 2);
    }
    assert_child_succeeds(child);
    assert_error(open_error("series", 0), BLOOMFILE_EPOISONED);
    assert_error(bloomfile_sync(f, NULL), BLOOMFILE_EPOISONED);
    bloomfile_close(f);
    bloomfile_close(other);
}

int main(void)
{
    return run_all(NULL, NULL);
}
