/* SPDX-License-Identifier: MIT
 * Validity rules V28 to V36 of format-spec.md, section 13: commit records, torn and damaged. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/header.h"

static const struct recipe in_file = { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 1024, 6, 5, 0 };
static const struct recipe embedded = { BLOOMFILE_LAYOUT_CLASSIC, EMBEDDED, 100, 3, 5, 7 };
static const struct recipe counting = { BLOOMFILE_LAYOUT_COUNTING, IN_FILE, 99, 4, 5, 0 };

static const char *const slot_names[] = { "record 0", "record 1" };

/* Writes a record as a writer commits it. Tests recognise records by `sequence`. */
static void commit(struct bytes image, unsigned slot, uint64_t order, uint32_t with_state)
{
    uint8_t *record = record_at(image.data, slot);
    put64(record + RECORD_AT_sequence, order);
    put32(record + RECORD_AT_state, with_state);
    put32(record + RECORD_AT_body_crc, 0);
    memset(record + RECORD_AT_boot_id, 0xB0 + (int)slot, sizeof(bytes16));
    if (get32(image.data + AT_header_size) == IN_FILE)
        memset(record + RECORD_AT_identity, 0x50, sizeof(bytes16));
    reseal_record(image.data, slot);
}

/* Record 0 has sequence 4, record 1 has 5. */
static struct bytes live_image(void)
{
    struct bytes image = image_from(in_file);
    commit(image, 0, 4, BLOOMFILE_STATE_LIVE);
    commit(image, 1, 5, BLOOMFILE_STATE_LIVE);
    return image;
}

/* The sequence of the record in force, or UINT64_MAX - 1 if the header is not valid. */
static uint64_t sequence_in_force(struct bytes image)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    int error = bloomfile_inspect(image.data, image.size, &info, NULL, NULL);
    return error == 0 ? info.sequence : UINT64_MAX - 1;
}

static void assert_open_error(struct bytes image, int error)
{
    bloomfile_filter *f;
    assert_error(open_from(&f, bloomfile_from_memory(image.data, image.size), 0), error);
    assert_null(f);
}

/* ---- V35 and V36: live and poisoned images */

TEST(live_image_is_inspected_but_not_opened)
{
    struct bytes image = live_image();
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    assert_error(bloomfile_inspect(image.data, image.size, &info, NULL, NULL), 0);
    assert_int_equal(info.state, BLOOMFILE_STATE_LIVE);
    assert_int_equal(info.sequence, 5);
    assert_int_equal(info.boot_id[15], 0xB1);
    assert_open_error(image, BLOOMFILE_ELIVE);
    free(image.data);
}

TEST(poisoned_image_is_inspected_but_not_opened)
{
    struct bytes image = live_image();
    commit(image, 0, 6, BLOOMFILE_STATE_POISONED);
    assert_int_equal(sequence_in_force(image), 6);
    assert_open_error(image, BLOOMFILE_EPOISONED);
    free(image.data);
}

/* R2. */
TEST(image_with_any_poisoned_record_is_refused)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        struct bytes image = live_image();
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        commit(image, slot, 6, BLOOMFILE_STATE_POISONED);
        commit(image, 1 - slot, 7, BLOOMFILE_STATE_LIVE);
        assert_int_equal(sequence_in_force(image), 7);
        assert_open_error(image, BLOOMFILE_EPOISONED);
        assert_error(bloomfile_inspect(image.data, image.size, &info, NULL, NULL), 0);
        assert_int_equal(info.state, BLOOMFILE_STATE_POISONED); /* as open() reports it */
        record_at(image.data, slot)[1000] ^= 1;
        assert_open_error(image, BLOOMFILE_EPOISONED);
        free(image.data);
    }
}

TEST(record_with_the_higher_sequence_is_in_force_in_either_slot)
{
    static const uint64_t orders[][2] = {
        { 0, 1 }, { 1, 0 }, { 255, 256 }, { 0x100000000, 0xFFFFFFFF }, { UINT64_MAX - 1, 1 }
    };
    for (size_t i = 0; i < ROWS(orders); i++) {
        struct bytes image = live_image();
        commit(image, 0, orders[i][0], BLOOMFILE_STATE_LIVE);
        commit(image, 1, orders[i][1], BLOOMFILE_STATE_LIVE);
        uint64_t higher = orders[i][0] > orders[i][1] ? orders[i][0] : orders[i][1];
        assert_int_equal(sequence_in_force(image), higher);
        free(image.data);
    }
}

TEST(any_damaged_bit_of_a_live_record_leaves_the_other_in_force)
{
    struct bytes image = live_image();
    for (unsigned slot = 0; slot < 2; slot++) {
        uint8_t *record = record_at(image.data, slot);
        for (unsigned bit = 0; bit < 8 * IN_FILE / 4; bit++) {
            record[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_int_equal(sequence_in_force(image), slot == 0 ? 5 : 4);
            record[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    assert_int_equal(sequence_in_force(image), 5);
    free(image.data);
}

/* The record not in force is overwritten, up to each byte and from each byte on. */
TEST(torn_write_leaves_the_old_or_the_new_record_in_force)
{
    struct bytes image = live_image();
    uint8_t *record = record_at(image.data, 0), before[IN_FILE / 4], after[sizeof before];
    const unsigned size = sizeof before;
    memcpy(before, record, size);
    commit(image, 0, 6, BLOOMFILE_STATE_LIVE);
    put64(record + RECORD_AT_n, 77);
    memset(record + 160, 0xEE, 800);
    reseal_record(image.data, 0);
    memcpy(after, record, size);
    for (unsigned cut = 0; cut <= size; cut++) {
        memcpy(record, after, cut);
        memcpy(record + cut, before + cut, size - cut);
        assert_int_equal(sequence_in_force(image), memcmp(record, after, size) == 0 ? 6 : 5);
        assert_open_error(image, BLOOMFILE_ELIVE);
        memcpy(record, before, cut);
        memcpy(record + cut, after + cut, size - cut);
        assert_int_equal(sequence_in_force(image), memcmp(record, after, size) == 0 ? 6 : 5);
    }
    free(image.data);
}

TEST(record_of_another_file_is_never_in_force)
{
    struct bytes image = live_image();
    record_at(image.data, 1)[RECORD_AT_header_crc] ^= 1;
    reseal_record(image.data, 1);
    assert_int_equal(sequence_in_force(image), 4);
    free(image.data);
}

/* ---- V28 */

TEST(two_damaged_records_are_refused)
{
    static const struct recipe *const recipes[] = { &in_file, &embedded, &counting };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(*recipes[r]);
        record_at(image.data, 0)[RECORD_AT_n] ^= 1;
        record_at(image.data, 1)[RECORD_AT_n] ^= 1;
        assert_verdict("V28 both damaged", image, BLOOMFILE_ERECORD, "record 0",
                       recipes[r]->header_size / 2);
        struct bloomfile_fault both[2];
        size_t count = ROWS(both);
        bloomfile_inspect(image.data, image.size, NULL, both, &count);
        assert_int_equal(count, 2);
        assert_string_equal(both[1].field, "record 1");
        assert_int_equal(both[1].offset, recipes[r]->header_size / 4 * 3);
        reseal_record(image.data, 0);
        reseal_record(image.data, 1);
        assert_verdict("both changed alike", image, 0, NULL, 0);
        for (unsigned slot = 0; slot < 2; slot++) {
            record_at(image.data, slot)[RECORD_AT_header_crc] ^= 1;
            reseal_record(image.data, slot);
        }
        assert_verdict("V28 both of another file", image, BLOOMFILE_ERECORD, "record 0",
                       recipes[r]->header_size / 2);
        free(image.data);
    }
}

TEST(different_records_with_equal_sequences_are_refused)
{
    struct bytes image = live_image();
    commit(image, 0, 5, BLOOMFILE_STATE_LIVE);
    assert_verdict("V28 live", image, BLOOMFILE_ERECORD, "record 1", 3 * IN_FILE / 4);
    free(image.data);

    image = image_from(embedded);
    record_at(image.data, 1)[RECORD_AT_n] ^= 1;
    reseal_record(image.data, 1);
    assert_verdict("V28 sealed", image, BLOOMFILE_ERECORD, "record 1", 3 * EMBEDDED / 4);
    size_t faults = 0;
    bloomfile_inspect(image.data, image.size, NULL, NULL, &faults);
    assert_int_equal(faults, 1);
    free(image.data);
}

TEST(identical_live_records_are_valid)
{
    struct bytes image = live_image();
    memcpy(record_at(image.data, 0), record_at(image.data, 1), IN_FILE / 4);
    assert_int_equal(sequence_in_force(image), 5);
    free(image.data);
}

TEST(the_records_are_checked_after_the_size)
{
    struct bytes image = image_from(embedded);
    record_at(image.data, 0)[RECORD_AT_n] ^= 1;
    image.size--;
    assert_verdict("V26, V28", image, BLOOMFILE_ETRUNCATED, "size", image.size);
    free(image.data);
}

/* ---- V29 and V30: one field of the record in force, both records changed alike */

#define SEALED UINT64_MAX

static const struct row {
    const char *what;
    const struct recipe *recipe;
    uint64_t order; /* its sequence; unless SEALED, commit() makes the record */
    uint32_t as;    /* its state */
    unsigned at, size;
    uint64_t value;
    int error; /* error of bloomfile_inspect() */
} rows[] = {
#define SET(name, value) RECORD_AT_##name, sizeof((struct record *)0)->name, (value)
#define UNCHANGED        0, 0, 0
#define AS_LIVE          5, BLOOMFILE_STATE_LIVE
#define AS_POISONED      5, BLOOMFILE_STATE_POISONED
#define AS_SEALED        SEALED, BLOOMFILE_STATE_SEALED
#define REFUSED          BLOOMFILE_ESTATE
    { "V29 state 0", &in_file, 5, 0, UNCHANGED, REFUSED },
    { "V29 state 4", &in_file, 5, 4, UNCHANGED, REFUSED },
    { "V29 live, in a file", &in_file, AS_LIVE, UNCHANGED, 0 },
    { "V29 poisoned, in a file", &in_file, AS_POISONED, UNCHANGED, 0 },
    { "V29 live, embedded", &embedded, AS_LIVE, UNCHANGED, REFUSED },
    { "V29 poisoned, embedded", &embedded, AS_POISONED, UNCHANGED, REFUSED },
    { "V29 sealed, sequence 2^64-2", &in_file, AS_SEALED, SET(sequence, SEALED - 1), REFUSED },
    { "V29 live, sequence 2^64-1", &in_file, AS_LIVE, SET(sequence, SEALED), REFUSED },
    { "V29 poisoned, sequence 2^64-1", &in_file, AS_POISONED, SET(sequence, SEALED), REFUSED },
    { "V30 ones m", &in_file, AS_SEALED, SET(ones, 1024), 0 },
    { "V30 ones m+1", &in_file, AS_SEALED, SET(ones, 1025), REFUSED },
    { "V30 ones m+1, live", &in_file, AS_LIVE, SET(ones, 1025), REFUSED },
    { "V30 overflow, blocked", &in_file, AS_SEALED, SET(overflow, 1), REFUSED },
    { "V30 overflow, classic", &embedded, AS_SEALED, SET(overflow, 1), REFUSED },
    { "V30 overflow, counting", &counting, AS_SEALED, SET(overflow, 1), 0 },
    { "V30 overflow m", &counting, AS_SEALED, SET(overflow, 99), REFUSED },
    { "V30 sealed, boot_id", &in_file, AS_SEALED, RECORD_AT_boot_id + 8, 8, 1ULL << 56, REFUSED },
    { "V30 sealed, boot_id begins", &in_file, AS_SEALED, RECORD_AT_boot_id, 8, 1, REFUSED },
    { "V30 live, body_crc", &in_file, AS_LIVE, SET(body_crc, 1), REFUSED },
    { "V30 poisoned, body_crc", &in_file, AS_POISONED, SET(body_crc, 1), REFUSED },
    { "V31 sealed, identity", &in_file, AS_SEALED, RECORD_AT_identity + 8, 8, 1ULL << 56, REFUSED },
    { "V31 sealed, identity begins", &in_file, AS_SEALED, RECORD_AT_identity, 8, 1, REFUSED },
    { "V31 live, half of an identity", &in_file, AS_LIVE, RECORD_AT_identity, 8, 0, 0 },
    { "n 0", &in_file, AS_SEALED, SET(n, 0), 0 },
    { "n 2^64-1", &in_file, AS_SEALED, SET(n, UINT64_MAX), 0 },
    { "unknown flags", &in_file, AS_SEALED, SET(flags, UINT32_MAX), 0 },
    { "reserved bytes", &in_file, AS_SEALED, 64, 8, UINT64_MAX, 0 },
};

TEST(each_field_of_the_record_in_force_is_checked_against_its_rule)
{
    for (size_t i = 0; i < ROWS(rows); i++) {
        const struct row *row = &rows[i];
        struct bytes image = image_from(*row->recipe);
        for (unsigned slot = 0; slot < 2; slot++) {
            uint8_t *record = record_at(image.data, slot);
            if (row->order != SEALED) {
                commit(image, slot, row->order, row->as);
                memset(record + RECORD_AT_boot_id, 0xB0, sizeof(bytes16));
            }
            if (row->size == 4)
                put32(record + row->at, (uint32_t)row->value);
            else if (row->size == 8)
                put64(record + row->at, row->value);
            reseal_record(image.data, slot);
        }
        struct bloomfile_fault fault;
        size_t count = 1;
        int error = bloomfile_inspect(image.data, image.size, NULL, &fault, &count);
        if (error != row->error)
            fail_msg("%s: %s", row->what, bloomfile_errname(error));
        if (row->error != 0)
            assert_verdict(row->what, image, row->error, "record 0", row->recipe->header_size / 2);
        free(image.data);
    }
}

TEST(live_records_without_an_identity_are_refused)
{
    static const uint32_t states[] = { BLOOMFILE_STATE_LIVE, BLOOMFILE_STATE_POISONED };
    for (size_t i = 0; i < ROWS(states); i++) {
        struct bytes image = live_image();
        commit(image, 1, 5, states[i]);
        memset(record_at(image.data, 1) + RECORD_AT_identity, 0, sizeof(bytes16));
        reseal_record(image.data, 1);
        record_at(image.data, 0)[RECORD_AT_n] ^= 1; /* not intact */
        assert_verdict("V31", image, BLOOMFILE_ESTATE, "record 1", 3 * IN_FILE / 4);
        free(image.data);
    }
}

TEST(live_records_of_two_files_are_refused)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        struct bytes image = live_image();
        record_at(image.data, slot)[RECORD_AT_identity] ^= 1;
        reseal_record(image.data, slot);
        assert_verdict("V32", image, BLOOMFILE_ERECORD, "record 0", IN_FILE / 2);
        record_at(image.data, 0)[RECORD_AT_n] ^= 1; /* not intact, so it is ignored */
        assert_int_equal(sequence_in_force(image), 5);
        free(image.data);
    }
}

TEST(V30_applies_only_to_the_record_in_force)
{
    struct bytes image = live_image();
    put64(record_at(image.data, 0) + RECORD_AT_ones, UINT64_MAX);
    reseal_record(image.data, 0);
    assert_int_equal(sequence_in_force(image), 5);
    put64(record_at(image.data, 1) + RECORD_AT_ones, UINT64_MAX);
    reseal_record(image.data, 1);
    assert_verdict("V30 in record 1", image, BLOOMFILE_ESTATE, "record 1", 3 * IN_FILE / 4);
    free(image.data);
}

/* ---- V33: sealed images */

TEST(every_flipped_bit_of_a_sealed_header_is_refused)
{
    static const struct recipe *const recipes[] = { &in_file, &embedded, &counting };
    for (size_t r = 0; r < ROWS(recipes); r++) {
        struct bytes image = image_from(*recipes[r]);
        unsigned refused = 0;
        for (unsigned bit = 0; bit < 8 * recipes[r]->header_size; bit++) {
            image.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            bloomfile_filter *f;
            int error = open_from(&f, bloomfile_from_memory(image.data, image.size), 0);
            refused += error != 0 && f == NULL &&
                       bloomfile_inspect(image.data, image.size, NULL, NULL, NULL) == error;
            bloomfile_close(f);
            image.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        assert_int_equal(refused, 8 * recipes[r]->header_size);
        assert_verdict("unchanged", image, 0, NULL, 0);
        free(image.data);
    }
}

TEST(fault_names_the_damaged_record_of_a_sealed_image)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        struct bytes image = image_from(in_file);
        record_at(image.data, slot)[500] ^= 0x10;
        assert_verdict("V33", image, BLOOMFILE_ERECORD, slot_names[slot],
                       IN_FILE / 2 + slot * (IN_FILE / 4));
        free(image.data);
    }
}

TEST(damaged_live_record_next_to_a_sealed_record_is_refused)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        struct bytes image = image_from(in_file);
        commit(image, slot, 9, BLOOMFILE_STATE_LIVE);
        record_at(image.data, slot)[500] ^= 0x10;
        assert_verdict("V33", image, BLOOMFILE_ERECORD, slot_names[slot],
                       IN_FILE / 2 + slot * (IN_FILE / 4));
        free(image.data);
    }
}

TEST(seal_interrupted_between_its_two_writes_counts_as_sealed)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        struct bytes image = image_from(in_file);
        commit(image, slot, 9, BLOOMFILE_STATE_LIVE);
        assert_verdict("V33 the other is live", image, 0, NULL, 0);
        commit(image, slot, UINT64_MAX - 1, BLOOMFILE_STATE_LIVE);
        assert_verdict("V33 the other is live, last sequence", image, 0, NULL, 0);
        bloomfile_filter *f = open_image(image, BLOOMFILE_OPEN_VERIFY_FULL);
        assert_true(bloomfile_contains_digest(f, number(0, 0)));
        bloomfile_close(f);
        free(image.data);
    }
}

TEST(different_record_next_to_a_sealed_record_is_refused)
{
    static const struct {
        const char *what;
        const struct recipe *recipe;
        uint64_t order;
        uint32_t as;
    } others[] = {
        { "V33 poisoned", &in_file, 9, BLOOMFILE_STATE_POISONED },
        { "V33 sealed, lower sequence", &in_file, 9, BLOOMFILE_STATE_SEALED },
        { "V33 unknown state", &in_file, 9, 4 },
        { "V33 live, embedded", &embedded, 9, BLOOMFILE_STATE_LIVE },
    };
    for (unsigned slot = 0; slot < 2; slot++) {
        for (size_t i = 0; i < ROWS(others); i++) {
            struct bytes image = image_from(*others[i].recipe);
            uint32_t size = others[i].recipe->header_size;
            commit(image, slot, others[i].order, others[i].as);
            assert_verdict(others[i].what, image, BLOOMFILE_ERECORD, slot_names[slot],
                           size / 2 + slot * (size / 4));
            free(image.data);
        }
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
