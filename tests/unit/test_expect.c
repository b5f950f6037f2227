/* SPDX-License-Identifier: MIT
 * Opening with expectations, and the report of a failure. */
#include "live_support.h"

#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/header.h"

#define SEED 77u
static const uint8_t tag[BLOOMFILE_TAG_SIZE] = "of this table";

static struct bloomfile_params params_here(void)
{
    struct bloomfile_params params = live_params(BLOOMFILE_LAYOUT_BLOCKED);
    params.seed = SEED;
    params.key_kind = BLOOMFILE_KEYS_INTEGERS;
    memcpy(params.tag, tag, sizeof tag);
    return params;
}

static struct bytes sealed_image(void)
{
    bloomfile_builder *b = new_builder(params_here());
    return last_image(b);
}

static void create_here(const char *path)
{
    const struct bloomfile_params params = params_here();
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, path, &params, 0), 0);
    bloomfile_close(f);
}

static int seal_to(const char *path, const bloomfile_filter *f)
{
    struct bloomfile_destination to = bloomfile_to_path(path, 0);
    return bloomfile_copy_sealed(&to, f, NULL);
}

/* ---- expectations */

static struct bloomfile_open_params expecting(uint32_t expect)
{
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.expect = expect;
    if ((expect & BLOOMFILE_EXPECT_TAG) != 0)
        memcpy(how.tag, tag, sizeof tag);
    if ((expect & BLOOMFILE_EXPECT_SEED) != 0)
        how.seed = SEED;
    if ((expect & BLOOMFILE_EXPECT_HASH) != 0)
        how.hash_id = BLOOMFILE_HASH_XXH3;
    if ((expect & BLOOMFILE_EXPECT_KEYS) != 0)
        how.key_kind = BLOOMFILE_KEYS_INTEGERS;
    return how;
}

static const struct {
    uint32_t expect;
    int error;
    const char *field;
    unsigned at;
} wrong[] = {
    { BLOOMFILE_EXPECT_TAG, BLOOMFILE_EDIFFERENTTAG, "tag", AT_tag },
    { BLOOMFILE_EXPECT_SEED, BLOOMFILE_EDIFFERENTSEED, "seed", AT_seed },
    { BLOOMFILE_EXPECT_HASH, BLOOMFILE_EHASH, "hash_id", AT_hash_id },
    { BLOOMFILE_EXPECT_KEYS, BLOOMFILE_EKEYKIND, "key_kind", AT_key_kind },
};

static struct bloomfile_open_params expecting_wrong(size_t i)
{
    struct bloomfile_open_params how = expecting(wrong[i].expect);
    how.tag[0] ^= how.tag[0] != 0;
    how.seed ^= how.seed != 0;
    if (how.hash_id != 0)
        how.hash_id = BLOOMFILE_APP_HASH_FIRST;
    if (how.key_kind != 0)
        how.key_kind = BLOOMFILE_KEYS_TEXT;
    return how;
}

TEST_IN_DIR(expectations_are_checked_for_every_kind_of_source)
{
    struct bytes image = sealed_image();
    write_file("filter", image.data, image.size);
    const int fd = open("filter", O_RDONLY);
    const struct bloomfile_source from[] = { bloomfile_from_path("filter"),
                                             part_of_fd(fd, 0, image.size),
                                             bloomfile_from_memory(image.data, image.size) };
    for (size_t i = 0; i < ROWS(from); i++) {
        bloomfile_filter *f;
        struct bloomfile_open_params how = expecting(31);
        assert_error(bloomfile_open_with(&f, &from[i], &how), 0);
        assert_error(bloomfile_check(f), 0);
        bloomfile_close(f);
        for (size_t row = 0; row < ROWS(wrong); row++) {
            struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
            how = expecting_wrong(row);
            how.report = &report;
            f = (void *)&f;
            assert_error(bloomfile_open_with(&f, &from[i], &how), wrong[row].error);
            assert_null(f);
            assert_error(report.error, wrong[row].error);
            assert_error(report.file_error, wrong[row].error);
            assert_int_equal(report.reason, BLOOMFILE_REASON_NONE);
            assert_string_equal(report.field, wrong[row].field);
            assert_int_equal(report.offset, wrong[row].at);
            assert_string_equal(report.path, i == 0 ? "filter" : "");
            how = expecting(0);
            assert_error(bloomfile_open_with(&f, &from[i], &how), 0);
            bloomfile_close(f);
        }
    }
    close(fd);
    free(image.data);
}

TEST_IN_DIR(a_live_filter_is_not_sealed)
{
    bloomfile_filter *f;
    struct bloomfile_open_params how = expecting(BLOOMFILE_EXPECT_SEALED);
    const struct bloomfile_source from = bloomfile_from_path("filter");
    create_here("filter");
    assert_error(bloomfile_open_with(&f, &from, &how), BLOOMFILE_ELIVE);
    how = expecting(BLOOMFILE_EXPECT_TAG | BLOOMFILE_EXPECT_SEED | BLOOMFILE_EXPECT_HASH);
    assert_error(bloomfile_open_with(&f, &from, &how), 0);
    bloomfile_close(f);
}

/* A writer would commit a record to join, and complete an interrupted seal. */
TEST_IN_DIR(a_refused_file_is_not_changed)
{
    const struct bloomfile_source from = bloomfile_from_path("filter");
    bloomfile_filter *f;
    create_here("filter");
    for (unsigned unfinished = 0; unfinished < 2; unfinished++) {
        if (unfinished) {
            assert_error(bloomfile_open(&f, "filter", BLOOMFILE_OPEN_WRITE), 0);
            assert_error(bloomfile_seal(f, NULL), 0);
            bloomfile_close(f);
            struct bytes sealed = read_file("filter");
            memset(sealed.data + HEADER_MAX / 2 + HEADER_RECORD_MAX * (1 - slot_in_force("filter")),
                   0xFF, 64); /* as if the other record was being written */
            write_file("filter", sealed.data, sealed.size);
            free(sealed.data);
        }
        struct bytes before = read_file("filter");
        for (size_t row = 0; row < ROWS(wrong); row++) {
            struct bloomfile_open_params how = expecting_wrong(row);
            how.flags = BLOOMFILE_OPEN_WRITE;
            assert_error(bloomfile_open_with(&f, &from, &how), wrong[row].error);
            assert_file_holds("filter", before.data, before.size);
        }
        struct bloomfile_open_params how = expecting(BLOOMFILE_EXPECT_TAG);
        how.flags = BLOOMFILE_OPEN_WRITE;
        assert_error(bloomfile_open_with(&f, &from, &how), unfinished ? BLOOMFILE_ESEALED : 0);
        bloomfile_close(f);
        struct bytes after = read_file("filter");
        assert_true(memcmp(after.data, before.data, HEADER_MAX) != 0);
        free(after.data);
        free(before.data);
    }
}

TEST_IN_DIR(a_series_is_checked_by_its_first_layer)
{
    struct bloomfile_params params = { .struct_size = sizeof params,
                                       .capacity = 100,
                                       .seed = SEED,
                                       .series = BLOOMFILE_SERIES_GROW,
                                       .key_kind = BLOOMFILE_KEYS_INTEGERS };
    bloomfile_filter *f;
    memcpy(params.tag, tag, sizeof tag);
    assert_error(bloomfile_create(&f, "series", &params, 0), 0);
    assert_error(seal_to("sealed", f), 0);
    bloomfile_close(f);
    for (size_t i = 0; i < 2; i++) {
        const struct bloomfile_source from = bloomfile_from_path(i == 0 ? "series" : "sealed");
        struct bloomfile_open_params how = expecting(31);
        assert_error(bloomfile_open_with(&f, &from, &how), i == 0 ? BLOOMFILE_ELIVE : 0);
        bloomfile_close(f);
        for (size_t row = 0; row < ROWS(wrong); row++) {
            how = expecting_wrong(row);
            assert_error(bloomfile_open_with(&f, &from, &how), wrong[row].error);
        }
    }
}

TEST_IN_DIR(wrong_parameters_are_errors)
{
    struct bytes image = sealed_image();
    write_file("filter", image.data, image.size);
    struct bloomfile_open_report report = { .struct_size = 8 };
    static const int errors[] = { BLOOMFILE_EFLAGS,      BLOOMFILE_EFLAGS, BLOOMFILE_EVALUE,
                                  BLOOMFILE_EVALUE,      BLOOMFILE_EVALUE, BLOOMFILE_ESTRUCTSIZE,
                                  BLOOMFILE_ESTRUCTSIZE, BLOOMFILE_EFLAGS, BLOOMFILE_EFLAGS,
                                  BLOOMFILE_EVALUE,      BLOOMFILE_EVALUE, BLOOMFILE_EVALUE,
                                  BLOOMFILE_EVALUE };
    struct bloomfile_open_params rows[ROWS(errors)];
    for (size_t i = 0; i < ROWS(rows); i++)
        rows[i] = BLOOMFILE_OPEN_PARAMS_INIT;
    rows[0].expect = 1u << 5;
    rows[1].flags = BLOOMFILE_OPEN_WRITE;
    rows[1].expect = BLOOMFILE_EXPECT_SEALED;
    rows[2].key_kind = 1;
    rows[3].key_size = 1;
    rows[4].reserved = 1;
    rows[5].report = &report;
    rows[6].struct_size = 8;
    rows[7].flags = 1u << 9;
    rows[8].flags = BLOOMFILE_OPEN_ADD_EXACT;
    rows[9].tag[BLOOMFILE_TAG_SIZE - 1] = 1; /* expected values without their flags */
    rows[10].seed = SEED;
    rows[11].hash_id = BLOOMFILE_HASH_XXH3;
    rows[12].self_test = 1;
    bloomfile_filter *f;
    struct bloomfile_source from = bloomfile_from_path("filter");
    for (size_t i = 0; i < ROWS(rows); i++)
        assert_error(bloomfile_open_with(&f, &from, &rows[i]), errors[i]);
    struct bloomfile_source bad[] = { bloomfile_from_path(NULL),
                                      bloomfile_from_memory(NULL, 1),
                                      part_of_fd(0, BLOOMFILE_FROM_HERE, 1),
                                      from,
                                      from,
                                      from };
    bad[3].struct_size = 8;
    bad[4].kind = BLOOMFILE_FROM_CALLBACK;
    bad[5].kind = 0;
    for (size_t i = 0; i < ROWS(bad); i++)
        assert_error(bloomfile_open_with(&f, &bad[i], NULL),
                     i == 3 ? BLOOMFILE_ESTRUCTSIZE : BLOOMFILE_EVALUE);
    free(image.data);
}

/* ---- reports */

static struct bloomfile_open_report report_of(const char *path, unsigned flags, int error)
{
    struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
    struct bloomfile_open_params how = { .struct_size = sizeof how,
                                         .flags = flags,
                                         .report = &report };
    const struct bloomfile_source from = bloomfile_from_path(path);
    bloomfile_filter *f;
    assert_error(bloomfile_open_with(&f, &from, &how), error);
    assert_error(report.error, error);
    return report;
}

TEST_IN_DIR(damage_of_a_header_is_reported_by_field)
{
    struct bytes image = sealed_image();
    put32(image.data + AT_k, 0);
    reseal_header(image.data);
    write_file("filter", image.data, image.size);
    const struct bloomfile_open_report r = report_of("filter", 0, BLOOMFILE_EHASHCOUNT);
    assert_string_equal(r.field, "k");
    assert_int_equal(r.offset, AT_k);
    assert_string_equal(r.path, "filter");
    assert_null(report_of("nothing", 0, ENOENT).field);
    free(image.data);
}

static bloomfile_filter *grown(const char *path, uint64_t keys)
{
    struct bloomfile_params params = { .struct_size = sizeof params,
                                       .capacity = 100,
                                       .series = BLOOMFILE_SERIES_GROW };
    bloomfile_filter *f;
    assert_error(bloomfile_create(&f, path, &params, 0), 0);
    for (uint64_t i = 0; i < keys; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    return f;
}

static void assert_report(struct bloomfile_open_report r, int reason, uint64_t slot,
                          const char *name)
{
    assert_int_equal(r.reason, reason);
    assert_int_equal(r.slot, slot);
    assert_string_equal(strrchr(r.path, '/') != NULL ? strrchr(r.path, '/') + 1 : r.path, name);
    assert_true(reason == BLOOMFILE_REASON_NOT_FIRST || access(r.path, F_OK) == 0 ||
                reason == BLOOMFILE_REASON_MISSING);
}

TEST_IN_DIR(report_names_the_faulty_file_of_a_series)
{
    bloomfile_close(grown("series", 1000));
    bloomfile_close(grown("other", 1000));
    assert_report(report_of("series.2", 0, BLOOMFILE_ESERIES), BLOOMFILE_REASON_NOT_FIRST, 2,
                  "series.2");
    assert_int_equal(rename("series.1", "away"), 0);
    assert_report(report_of("series", 0, BLOOMFILE_EMISSINGLAYER), BLOOMFILE_REASON_MISSING, 1,
                  "series.1");
    assert_int_equal(link("series.2", "series.1"), 0);
    struct bloomfile_open_report r = report_of("series", 0, BLOOMFILE_ESERIES);
    assert_report(r, BLOOMFILE_REASON_WRONG_LAYER, 1, "series.1");
    assert_int_equal(r.layer, 1);
    assert_int_equal(r.found, 2);
    assert_int_equal(rename("other.1", "series.1"), 0);
    assert_report(report_of("series", 0, BLOOMFILE_ESERIES), BLOOMFILE_REASON_OTHER_SERIES, 1,
                  "series.1");
    create_here("single");
    assert_int_equal(rename("single", "series.1"), 0);
    assert_report(report_of("series", 0, BLOOMFILE_ESERIES), BLOOMFILE_REASON_NOT_A_LAYER, 1,
                  "series.1");
    write_file("series.1", "keys", 4);
    r = report_of("series", 0, BLOOMFILE_EMAGIC);
    assert_report(r, BLOOMFILE_REASON_FILE, 1, "series.1");
    assert_error(r.file_error, BLOOMFILE_EMAGIC);
    assert_string_equal(r.field, "magic");
}

TEST_IN_DIR(report_gives_the_place_of_a_damaged_layer_of_a_sealed_series)
{
    bloomfile_filter *f = grown("series", 1000);
    assert_error(seal_to("sealed", f), 0);
    bloomfile_close(f);
    struct bytes file = read_file("sealed");
    size_t at = 4096;
    while (memcmp(file.data + at, header_magic, 8) != 0)
        at += 4096; /* the checksums of pages lie between */
    file.data[at + AT_k] ^= 1;
    write_file("sealed", file.data, file.size);
    const struct bloomfile_open_report r = report_of("sealed", 0, BLOOMFILE_EHEADER);
    assert_int_equal(r.reason, BLOOMFILE_REASON_FILE);
    assert_int_equal(r.layer, 1);
    assert_int_equal(r.image_offset, at);
    assert_string_equal(r.field, "header_crc");
    assert_string_equal(r.path, "sealed");
    free(file.data);
}

TEST_IN_DIR(handle_reports_a_layer_that_goes_missing_later)
{
    bloomfile_filter *f = grown("series", 50), *r;
    struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
    assert_error(bloomfile_open(&r, "series", 0), 0);
    assert_error(bloomfile_layer_report(r, &report), 0);
    assert_error(report.error, 0);
    for (uint64_t i = 50; i < 500; i++)
        assert_error(bloomfile_add_digest(f, number(0, i), NULL), 0);
    assert_int_equal(unlink("series.1"), 0);
    assert_true(bloomfile_contains_digest(r, number(0, ABSENT)));
    assert_error(bloomfile_check(r), BLOOMFILE_EMISSINGLAYER);
    assert_error(bloomfile_layer_report(r, &report), 0);
    assert_error(report.error, BLOOMFILE_EMISSINGLAYER);
    assert_report(report, BLOOMFILE_REASON_MISSING, 1, "series.1");
    report.struct_size = 8;
    assert_error(bloomfile_layer_report(r, &report), BLOOMFILE_ESTRUCTSIZE);
    bloomfile_close(r);
    bloomfile_close(f);
}

TEST_IN_DIR(handle_reports_a_layer_that_cannot_be_created)
{
    bloomfile_filter *f = grown("series", 50);
    struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
    int error = 0;
    assert_int_equal(mkdir("series.1", 0777), 0);
    for (uint64_t i = 50; i < 500 && error == 0; i++)
        error = bloomfile_add_digest(f, number(0, i), NULL);
    assert_error(error, EISDIR);
    assert_error(bloomfile_layer_report(f, &report), 0);
    assert_error(report.error, EISDIR);
    assert_error(report.file_error, EISDIR);
    assert_report(report, BLOOMFILE_REASON_FILE, 1, "series.1");
    bloomfile_close(f);
}

int main(void)
{
    return run_all(NULL, NULL);
}
