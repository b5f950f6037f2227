/* SPDX-License-Identifier: MIT
 * A filter's facts about itself: its header, intact or damaged, and measurements of its bits. */
#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/header.h"
#include "format/versioned_struct.h"

/* ---- contents of the header */

static struct bytes described_image(void)
{
    struct bloomfile_params params = {
        .layout = BLOOMFILE_LAYOUT_COUNTING,
        .capacity = 123,
        .fpr = 0.25,
        .bits = 1000,
        .hashes = 3,
        .seed = 0x8182838485868788,
        .label = "label",
        .tag = { 0xFF, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0x80 },
    };
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, 100);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    put32(image.data + AT_compat, 0xC0000001);
    put32(image.data + AT_ro_compat, 0xC0000002);
    put32(image.data + AT_provenance, BLOOMFILE_PROVENANCE_UNION);
    put64(image.data + AT_m_unfolded, 5000);
    for (unsigned slot = 0; slot < 2; slot++)
        record_at(image.data, slot)[RECORD_AT_flags] = RECORD_N_ESTIMATED;
    reseal_header(image.data);
    return image;
}

static void assert_described(const struct bloomfile_info *info, struct bytes image)
{
    assert_int_equal(info->struct_size, sizeof *info);
    assert_int_equal(info->version, 1);
    assert_int_equal(info->header_size, 512);
    assert_int_equal(info->compat, 0xC0000001);
    assert_int_equal(info->ro_compat, 0xC0000002);
    assert_int_equal(info->incompat, 0);
    assert_int_equal(info->provenance, BLOOMFILE_PROVENANCE_UNION);
    assert_int_equal(info->layout, BLOOMFILE_LAYOUT_COUNTING);
    assert_int_equal(info->hash_id, 1);
    assert_int_equal(info->hashes, 3);
    assert_int_equal(info->state, BLOOMFILE_STATE_SEALED);
    assert_int_equal(info->bits, 1000);
    assert_int_equal(info->bits_unfolded, 5000);
    assert_int_equal(info->seed, 0x8182838485868788);
    assert_int_equal(info->self_test, get64(image.data + AT_self_test));
    assert_int_equal(info->body_offset, 512);
    assert_int_equal(info->body_size, 512);
    assert_int_equal(info->image_size, 512 + 512 + 4);
    assert_int_equal(info->pages, 1);
    assert_int_equal(info->capacity, 123);
    assert_true(info->fpr == 0.25);
    assert_int_equal(info->sequence, UINT64_MAX);
    assert_int_equal(info->keys, 100);
    assert_int_equal(info->ones, get64(record_at(image.data, 0) + RECORD_AT_ones));
    assert_int_equal(info->overflow, 0);
    assert_int_equal(info->bad_pages, 0);
    assert_int_equal(info->keys_estimated, 1);
    assert_int_equal(info->body_crc, get32(record_at(image.data, 0) + RECORD_AT_body_crc));
    assert_memory_equal(info->tag, image.data + AT_tag, 16);
    assert_int_equal(info->boot_id[0], 0);
    assert_string_equal(info->label, "label");
}

TEST(info_matches_the_header)
{
    struct bytes image = described_image();
    bloomfile_filter *f = open_image(image, 0);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    assert_described(&info, image);
    assert_int_equal(bloomfile_layers(f), 0);
    assert_null(bloomfile_layer(f, 0));
    info = BLOOMFILE_INFO_INIT;
    assert_error(bloomfile_inspect(image.data, image.size, &info, NULL, NULL), 0);
    assert_described(&info, image);
    bloomfile_close(f);
    free(image.data);
}

TEST(caller_of_a_later_version_gets_zeros_in_unknown_members)
{
    struct bytes image = described_image();
    bloomfile_filter *f = open_image(image, 0);
    struct bloomfile_info whole = BLOOMFILE_INFO_INIT;
    assert_error(bloomfile_get_info(f, &whole), 0);
    union {
        struct bloomfile_info info;
        uint8_t bytes[sizeof whole + 200];
    } room;
    memset(&room, 0xEE, sizeof room);
    room.info.struct_size = sizeof whole + 100;
    assert_error(bloomfile_get_info(f, &room.info), 0);
    assert_int_equal(room.info.struct_size, sizeof whole + 100);
    for (size_t at = sizeof(size_t); at < sizeof room; at++)
        assert_int_equal(room.bytes[at], at >= sizeof whole + 100 ? 0xEE
                                         : at < sizeof whole      ? ((uint8_t *)&whole)[at]
                                                                  : 0);
    bloomfile_close(f);
    free(image.data);
}

TEST(structs_of_every_size_are_copied_within_the_size_of_the_caller)
{
    struct {
        size_t struct_size;
        uint8_t members[8];
    } ours = { sizeof ours, { 1, 2, 3, 4, 5, 6, 7, 8 } }, taken;
    union {
        size_t struct_size;
        uint8_t bytes[VERSIONED_MOST + 1];
    } theirs;
    for (size_t size = sizeof(size_t); size <= VERSIONED_MOST; size++) {
        memset(&theirs, 0xEE, sizeof theirs);
        theirs.struct_size = size;
        versioned_give(&theirs, size, &ours, sizeof ours);
        assert_int_equal(theirs.struct_size, size);
        for (size_t at = sizeof(size_t); at < sizeof theirs.bytes; at++)
            assert_int_equal(theirs.bytes[at], at >= size         ? 0xEE
                                               : at < sizeof ours ? at - sizeof(size_t) + 1
                                                                  : 0);
        memset(&taken, 0xEE, sizeof taken);
        assert_true(versioned_take(&taken, sizeof taken, &theirs, size, sizeof(size_t)));
        for (size_t i = 0; i < sizeof taken.members; i++)
            assert_int_equal(taken.members[i], sizeof(size_t) + i < size ? ours.members[i] : 0);
        theirs.bytes[size - 1]++;
        assert_int_equal(versioned_take(&taken, sizeof taken, &theirs, size, sizeof(size_t)),
                         size <= sizeof ours);
        assert_false(versioned_take(&taken, sizeof taken, &theirs, size, size + 1));
    }
    assert_false(versioned_known(VERSIONED_MOST + 1, 8));
}

TEST(unset_struct_size_is_refused_and_nothing_is_written)
{
    struct bytes image = described_image();
    bloomfile_filter *f = open_image(image, 0);
    static const size_t sizes[] = {
        0, 1, sizeof(size_t), sizeof(struct bloomfile_measurement) - 1, 1025, SIZE_MAX / 3, SIZE_MAX
    };
    for (size_t i = 0; i < ROWS(sizes); i++) {
        struct bloomfile_info info, before;
        struct bloomfile_measurement measurement, unmeasured;
        memset(&info, 0xEE, sizeof info);
        memset(&measurement, 0xEE, sizeof measurement);
        info.struct_size = measurement.struct_size = sizes[i];
        before = info;
        unmeasured = measurement;
        assert_error(bloomfile_get_info(f, &info), BLOOMFILE_ESTRUCTSIZE);
        assert_error(bloomfile_inspect(image.data, image.size, &info, NULL, NULL),
                     BLOOMFILE_ESTRUCTSIZE);
        assert_memory_equal(&info, &before, sizeof info);
        assert_error(bloomfile_measure(f, &measurement), BLOOMFILE_ESTRUCTSIZE);
        assert_memory_equal(&measurement, &unmeasured, sizeof measurement);
    }
    bloomfile_close(f);
    free(image.data);
}

/* ---- damaged headers */

TEST(all_faults_are_listed_in_the_order_of_the_rules)
{
    static const char *const fields[] = { "magic", "header_crc", "version",  "k",
                                          "fpr",   "size",       "record 0", "record 1" };
    static const int errors[] = { BLOOMFILE_EMAGIC,     BLOOMFILE_EHEADER, BLOOMFILE_EVERSION,
                                  BLOOMFILE_EHASHCOUNT, BLOOMFILE_ERATE,   BLOOMFILE_ETRAILING,
                                  BLOOMFILE_ERECORD,    BLOOMFILE_ERECORD };
    struct bytes image = described_image();
    image.data[0] = 0;
    image.data[AT_version] = 9;
    image.data[AT_k] = 0;
    image.data[AT_fpr + 7] = 0xBF;
    record_at(image.data, 0)[0] ^= 1;
    record_at(image.data, 1)[0] ^= 1;
    image.data = realloc(image.data, image.size + 10);
    image.size += 10;
    memset(image.data + image.size - 10, 0, 10);
    for (size_t room = 0; room < ROWS(fields) + 2; room++) {
        struct bloomfile_fault faults[ROWS(fields) + 2] = { { 0 } };
        size_t count = room;
        assert_error(bloomfile_inspect(image.data, image.size, NULL, faults, &count),
                     BLOOMFILE_EMAGIC);
        assert_int_equal(count, ROWS(fields));
        for (size_t i = 0; i < ROWS(faults); i++) {
            assert_error(faults[i].error, i < room && i < count ? errors[i] : 0);
            if (faults[i].error != 0)
                assert_string_equal(faults[i].field, fields[i]);
        }
    }
    size_t count = 99;
    assert_error(bloomfile_inspect(image.data, image.size, NULL, NULL, &count), BLOOMFILE_EMAGIC);
    assert_int_equal(count, ROWS(fields));
    struct bloomfile_fault untouched = { .error = 77 };
    assert_error(bloomfile_inspect(image.data, image.size, NULL, &untouched, NULL),
                 BLOOMFILE_EMAGIC);
    assert_int_equal(untouched.error, 77);
    free(image.data);
}

TEST(header_of_a_newer_version_has_only_the_version_fault)
{
    struct bytes image = described_image();
    image.data[AT_version] = 2;
    image.data[AT_k] = 0;
    reseal_header(image.data);
    struct bloomfile_fault faults[2];
    size_t count = 2;
    assert_error(bloomfile_inspect(image.data, image.size, NULL, faults, &count),
                 BLOOMFILE_EVERSION);
    assert_int_equal(count, 1);
    free(image.data);
}

TEST(inspect_reports_the_readable_fields_of_a_damaged_header)
{
    struct bytes image = described_image();
    image.data[0] = 'X';
    put32(image.data + AT_layout, 77);
    put32(image.data + AT_k, 1000);
    put64(image.data + AT_capacity, 0);
    memset(image.data + AT_label, 0xFF, 112);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    assert_error(bloomfile_inspect(image.data, image.size, &info, NULL, NULL), BLOOMFILE_EMAGIC);
    assert_int_equal(info.layout, 77);
    assert_int_equal(info.hashes, 1000);
    assert_int_equal(info.capacity, 0);
    assert_int_equal(info.bits, 1000);
    assert_int_equal(info.pages, 0);
    assert_int_equal(info.image_size, 0);
    assert_int_equal(strlen(info.label), 112);
    free(image.data);
}

TEST(inspect_reports_the_present_fields_of_a_truncated_header)
{
    struct bytes image = described_image();
    for (size_t size = 0; size < image.size; size++) {
        uint8_t *start = malloc(size);
        memcpy(start, image.data, size);
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        assert_error(bloomfile_inspect(start, size, &info, NULL, NULL),
                     size == 0 ? BLOOMFILE_EEMPTY : BLOOMFILE_ETRUNCATED);
        assert_int_equal(info.version, size > AT_version);
        assert_int_equal(info.layout, size > AT_layout ? BLOOMFILE_LAYOUT_COUNTING : 0);
        assert_int_equal(info.hashes, size > AT_k ? 3 : 0);
        assert_int_equal(info.capacity, size > AT_capacity ? 123 : 0);
        assert_int_equal(info.label[0], size > AT_label ? 'l' : 0);
        assert_int_equal(info.keys, size >= 512 ? 100 : 0);
        free(start);
    }
    free(image.data);
}

/* ---- measurements of the bits */

static struct bloomfile_measurement measured(struct bytes image)
{
    bloomfile_filter *f = open_image(image, 0);
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    assert_error(bloomfile_measure(f, &measure), 0);
    bloomfile_close(f);
    return measure;
}

static void assert_close(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

TEST(measured_rate_matches_the_bits)
{
    static const struct recipe recipes[] = {
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 80, 6, 4000, 0 },
        { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 512 * 3, 3, 60, 0 },
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 400, 40, 2000, 0 },
        { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 40003, 6, 4000, 0 },
        { BLOOMFILE_LAYOUT_COUNTING, IN_FILE, 39999, 6, 4000, 0 },
    };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        const struct recipe *recipe = &recipes[r];
        struct bytes image = image_from(*recipe);
        const uint64_t stretch = recipe->layout == BLOOMFILE_LAYOUT_BLOCKED ? 512 : recipe->m;
        double rate = 0;
        uint64_t ones = 0;
        for (uint64_t start = 0; start < recipe->m; start += stretch) {
            uint64_t here = 0;
            for (uint64_t x = start; x < start + stretch; x++)
                here += reference_value(recipe->layout, image.data + recipe->header_size, x) != 0;
            ones += here;
            rate += pow((double)here / (double)stretch, recipe->k);
        }
        struct bloomfile_measurement measure = measured(image);
        assert_int_equal(measure.ones, ones);
        assert_close(measure.fill, (double)ones / (double)recipe->m, 1e-12);
        assert_close(measure.fpr, rate * (double)stretch / (double)recipe->m, 1e-9);
        assert_close(measure.keys_estimate, (double)recipe->keys, 0.02);
        free(image.data);
    }
}

TEST(rate_of_an_empty_body_is_0_and_of_a_full_body_1)
{
    static const struct recipe recipes[] = {
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512, 6, 0, 0 },
        { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 1, 6, 0, 0 },
        { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 1, 6, 0, 0 },
    };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct recipe recipe = recipes[r];
        struct bytes empty = image_from(recipe);
        recipe.keys = 4000;
        struct bytes full = image_from(recipe);
        assert_true(measured(empty).fpr == 0 && measured(empty).keys_estimate == 0);
        assert_true(measured(full).fpr == 1 && isinf(measured(full).keys_estimate));
        assert_true(measured(full).fill == 1);
        free(empty.data);
        free(full.data);
    }
}

/* ---- the map of the fill */

TEST(fill_map_averages_to_the_fill)
{
    static const struct recipe recipes[] = {
        { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512 * 7, 3, 300, 0 },
        { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 8 * 77, 3, 100, 0 },
        { BLOOMFILE_LAYOUT_COUNTING, EMBEDDED, 2 * 77, 3, 30, 0 },
    };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(recipes[r]);
        bloomfile_filter *f = open_image(image, 0);
        static const size_t counts[] = { 1, 7, 77, 770 };
        for (size_t c = 0; c < ROWS(counts); c++) {
            double fill[770], sum = 0;
            assert_error(bloomfile_measure_map(f, fill, counts[c]), 0);
            for (size_t i = 0; i < counts[c]; i++) {
                assert_true(fill[i] >= 0 && fill[i] <= 1);
                sum += fill[i];
            }
            assert_close(sum / (double)counts[c], measured(image).fill, 1e-9);
        }
        assert_error(bloomfile_measure_map(f, NULL, 0), BLOOMFILE_EVALUE);
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(fill_map_counts_only_bits_below_m)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 35, 1, 0, 0 });
    memcpy(image.data + EMBEDDED, "\xFF\x00\x0F\x00\x07", 5);
    bloomfile_filter *f;
    assert_error(
        open_from(&f, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_VERIFY_NONE),
        0);
    double fill[5];
    assert_error(bloomfile_measure_map(f, fill, 5), 0);
    static const double expected[] = { 1, 0, 0.5, 0, 1 };
    assert_memory_equal(fill, expected, sizeof fill);
    assert_error(bloomfile_measure_map(f, fill, 2), 0);
    assert_true(fill[0] == 0.5 && fill[1] == 7.0 / 19);
    bloomfile_close(f);
    free(image.data);
}

/* operations.md 6. */
TEST(results_do_not_inherit_unknown_features)
{
    struct bytes image = described_image(), made[2];
    bloomfile_filter *f = open_image(image, 0);
    const bloomfile_filter *const sources[] = { f };
    assert_error(project_memory((void **)&made[0].data, &made[0].size, f), 0);
    assert_error(merge_memory((void **)&made[1].data, &made[1].size, sources, 1, NULL), 0);
    for (size_t i = 0; i < ROWS(made); i++) {
        const struct bloomfile_info info = verified_info(made[i]);
        assert_int_equal(info.compat | info.ro_compat | info.incompat, 0);
        free(made[i].data);
    }
    bloomfile_close(f);
    free(image.data);
}

int main(void)
{
    return run_all(NULL, NULL);
}
