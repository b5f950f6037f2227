/* SPDX-License-Identifier: MIT
 * The builder's parameters, and the filters made from them. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct bloomfile_info built(struct bloomfile_params params, uint64_t keys)
{
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, keys);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    struct bloomfile_info info = verified_info(image);
    free(image.data);
    return info;
}

TEST(each_invalid_parameter_returns_its_error)
{
    static const struct {
        const char *what;
        struct bloomfile_params params;
        int error;
    } rows[] = {
        { "struct_size 0", { .struct_size = 0 }, BLOOMFILE_ESTRUCTSIZE },
        { "struct_size short",
          { .struct_size = sizeof(struct bloomfile_params) - 1 },
          BLOOMFILE_ESTRUCTSIZE },
        { "struct_size never set", { .struct_size = 1025 }, BLOOMFILE_ESTRUCTSIZE },
        { "struct_size never set, huge", { .struct_size = SIZE_MAX / 2 }, BLOOMFILE_ESTRUCTSIZE },
#define WITH .struct_size = sizeof(struct bloomfile_params)
        { "1024 threads", { WITH, .threads = 1024 }, 0 },
        { "over capacity", { WITH, .over_capacity = 1 }, 0 },
        { "over capacity, twice", { WITH, .over_capacity = 2 }, BLOOMFILE_EVALUE },
        { "1025 threads", { WITH, .threads = 1025 }, BLOOMFILE_EVALUE },
        { "a self-test without a hash", { WITH, .self_test = 1 }, BLOOMFILE_EVALUE },
        { "hash 1", { WITH, .hash_id = 1 }, BLOOMFILE_EVALUE },
        { "hash 2^31 - 1", { WITH, .hash_id = 0x7FFFFFFF }, BLOOMFILE_EVALUE },
        { "hash 2^31", { WITH, .hash_id = 0x80000000 }, 0 },
        { "hash 2^32 - 1", { WITH, .hash_id = UINT32_MAX, .self_test = 9 }, 0 },
        { "layout 5", { WITH, .layout = 5 }, BLOOMFILE_EVALUE },
        { "layout 2^32-1", { WITH, .layout = UINT32_MAX }, BLOOMFILE_EVALUE },
        { "513 bits, blocked", { WITH, .bits = 513 }, BLOOMFILE_EVALUE },
        { "1 bit, blocked", { WITH, .bits = 1 }, BLOOMFILE_EVALUE },
        { "1 bit, classic", { WITH, .bits = 1, .layout = BLOOMFILE_LAYOUT_CLASSIC }, 0 },
        { "2^60 bits", { WITH, .bits = 1ULL << 60 }, 0 },
        { "2^60+512 bits", { WITH, .bits = (1ULL << 60) + 512 }, BLOOMFILE_EVALUE },
        { "2^60+1 bits, classic",
          { WITH, .bits = (1ULL << 60) + 1, .layout = BLOOMFILE_LAYOUT_CLASSIC },
          BLOOMFILE_EVALUE },
        { "2^64-512 bits", { WITH, .bits = UINT64_MAX - 511 }, BLOOMFILE_EVALUE },
        { "64 hashes", { WITH, .hashes = 64 }, 0 },
        { "65 hashes", { WITH, .hashes = 65 }, BLOOMFILE_EVALUE },
        { "2^31 hashes", { WITH, .hashes = 1u << 31 }, BLOOMFILE_EVALUE },
        { "rate 1", { WITH, .fpr = 1 }, BLOOMFILE_EVALUE },
        { "rate -1", { WITH, .fpr = -1 }, BLOOMFILE_EVALUE },
        { "rate nan", { WITH, .fpr = NAN }, BLOOMFILE_EVALUE },
        { "rate infinite", { WITH, .fpr = INFINITY }, BLOOMFILE_EVALUE },
        { "least rate", { WITH, .fpr = 4.9e-324 }, 0 },
        { "last rate below 1", { WITH, .fpr = 0x1.fffffffffffffp-1 }, 0 },
        { "capacity 2^60", { WITH, .capacity = 1ULL << 60 }, 0 },
        { "capacity 2^60+1", { WITH, .capacity = (1ULL << 60) + 1 }, BLOOMFILE_EVALUE },
        { "control in label", { WITH, .label = "a\nb" }, BLOOMFILE_EVALUE },
    };
    for (size_t i = 0; i < ROWS(rows); i++) {
        bloomfile_builder *b = (bloomfile_builder *)&b;
        int error = bloomfile_builder_new(&b, &rows[i].params);
        if (error != rows[i].error)
            fail_msg("%s: %s", rows[i].what, bloomfile_errname(error));
        assert_int_equal(b == NULL, error != 0);
        bloomfile_builder_free(b);
    }
}

TEST(params_of_a_later_version_are_accepted_if_new_members_are_0)
{
    struct {
        struct bloomfile_params params;
        uint64_t later[2];
    } caller = { .params = { .struct_size = sizeof caller, .bits = 512 * 3 } };
    bloomfile_builder *b;
    assert_error(bloomfile_builder_new(&b, &caller.params), 0);
    bloomfile_builder_free(b);
    caller.later[1] = 1;
    assert_error(bloomfile_builder_new(&b, &caller.params), BLOOMFILE_ESTRUCTSIZE);
    assert_null(b);
}

TEST(flags_of_open_are_refused_by_write)
{
    bloomfile_builder *b;
    assert_error(bloomfile_builder_new(&b, NULL), 0);
    assert_error(bloomfile_builder_write(b, TO_PATH("never", BLOOMFILE_OPEN_VERIFY_FULL)),
                 BLOOMFILE_EFLAGS);
    assert_error(bloomfile_builder_write(b, TO_PATH("never", BLOOMFILE_OPEN_VERIFY_NONE)),
                 BLOOMFILE_EFLAGS);
    bloomfile_builder_free(b);
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, "never", BLOOMFILE_TO_REPLACE), BLOOMFILE_EFLAGS);
}

TEST(rate_of_minus_zero_counts_as_unset)
{
    struct bloomfile_info info =
        built((struct bloomfile_params){ .fpr = -0.0, .bits = 512, .hashes = 6 }, 10);
    assert_true(info.fpr == 0 && !signbit(info.fpr));
    assert_true(built((struct bloomfile_params){ .fpr = -0.0 }, 10).fpr == 0.01);
}

TEST(the_parameters_are_copied)
{
    char label[] = "before";
    struct bloomfile_params params = { .label = label, .tag = { 1, 2, 3, 0xFF }, .seed = 99 };
    bloomfile_builder *b = new_builder(params);
    memcpy(label, "after!", sizeof label);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    struct bloomfile_info info = verified_info(image);
    assert_string_equal(info.label, "before");
    assert_memory_equal(info.tag, params.tag, sizeof info.tag);
    assert_int_equal(info.seed, 99);
    assert_int_equal(info.provenance | info.compat | info.ro_compat | info.incompat, 0);
    free(image.data);
}

/* Given at the start, or only at the end. */
TEST(tag_may_be_set_after_the_keys)
{
    static const uint8_t tag[BLOOMFILE_TAG_SIZE] = { 9, 8, 7, 0xFF };
    struct bloomfile_params params = { .tag = { 1 } };
    bloomfile_builder *b = new_builder(params);
    add_numbers(b, 0, 10);
    bloomfile_builder_set_tag(b, tag);
    struct bytes late = finish_image(b);
    bloomfile_builder_free(b);
    memcpy(params.tag, tag, sizeof tag);
    b = new_builder(params);
    add_numbers(b, 0, 10);
    struct bytes early = finish_image(b);
    bloomfile_builder_free(b);
    assert_int_equal(late.size, early.size);
    assert_memory_equal(late.data, early.data, early.size);
    free(late.data);
    free(early.data);
}

TEST(first_key_may_decide_the_kind_of_all_keys)
{
    struct {
        struct bloomfile_params params;
        uint64_t member;
    } later = { BLOOMFILE_PARAMS_INIT, 0 };
    later.params.struct_size = sizeof later;
    bloomfile_builder *b;
    assert_int_equal(bloomfile_builder_new(&b, &later.params), 0);
    assert_int_equal(bloomfile_builder_set_key_kind(b, BLOOMFILE_KEYS_FIXED, 0), BLOOMFILE_EVALUE);
    assert_string_equal(bloomfile_invalid(), "key_size");
    assert_int_equal(bloomfile_builder_set_key_kind(b, BLOOMFILE_KEYS_FIXED, 16), 0);
    add_numbers(b, 0, 10);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    struct bloomfile_info info = verified_info(image);
    assert_int_equal(info.key_kind, BLOOMFILE_KEYS_FIXED);
    assert_int_equal(info.key_size, 16);
    free(image.data);
}

TEST(unset_parameters_are_derived)
{
    bloomfile_builder *b;
    assert_error(bloomfile_builder_new(&b, NULL), 0);
    add_numbers(b, 0, 1000);
    struct bytes image = finish_image(b);
    bloomfile_builder_free(b);
    struct bloomfile_info info = verified_info(image);
    free(image.data);
    assert_int_equal(info.layout, BLOOMFILE_LAYOUT_BLOCKED);
    assert_int_equal(info.capacity, 1000);
    assert_true(info.fpr == 0.01);
    assert_int_equal(info.seed, 0);
    assert_int_equal(info.bits, bits_for(BLOOMFILE_LAYOUT_BLOCKED, 1000, 0.01, 0));
    assert_int_equal(info.bits_unfolded, info.bits);
    assert_string_equal(info.label, "");
}

TEST(capacity_rate_bits_and_hashes_combine)
{
    for (uint32_t l = BLOOMFILE_LAYOUT_BLOCKED; l <= BLOOMFILE_LAYOUT_COUNTING; l++) {
        struct bloomfile_info info =
            built((struct bloomfile_params){ .layout = l, .capacity = 5000, .fpr = 0.02 }, 10);
        assert_int_equal(info.capacity, 5000);
        assert_int_equal(info.keys, 10);
        assert_true(info.fpr == 0.02);
        assert_int_equal(info.bits, bits_for(l, 5000, 0.02, 0));
        assert_true(fpr_for(l, info.bits, info.hashes, 5000) <= 0.02);

        info = built((struct bloomfile_params){ .layout = l, .fpr = 0.02, .hashes = 3 }, 700);
        assert_int_equal(info.hashes, 3);
        assert_int_equal(info.capacity, 700);
        assert_int_equal(info.bits, bits_for(l, 700, 0.02, 3));

        info = built((struct bloomfile_params){ .layout = l, .bits = 10240 }, 700);
        assert_int_equal(info.bits, 10240);
        assert_int_equal(info.hashes, hashes_for(l, 10240, 700));
        assert_true(info.fpr == 0);

        info = built(
            (struct bloomfile_params){
                .layout = l, .bits = 10240, .capacity = 200, .over_capacity = 1 },
            700);
        assert_int_equal(info.hashes, hashes_for(l, 10240, 200));
        assert_int_equal(info.capacity, 200);
        assert_int_equal(info.keys, 700);

        info = built(
            (struct bloomfile_params){ .layout = l, .bits = 512, .hashes = 64, .fpr = 0.5 }, 1);
        assert_int_equal(info.hashes, 64);
        assert_true(info.fpr == 0.5);
    }
}

TEST(an_unreachable_rate_is_an_error_of_finishing)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .capacity = 1ULL << 60 });
    void *image = &image;
    size_t size;
    assert_error(write_memory(b, &image, &size), BLOOMFILE_EUNREACHABLE);
    assert_null(image);
    assert_error(bloomfile_builder_write(b, TO_PATH("unreachable", 0)), BLOOMFILE_EUNREACHABLE);
    assert_int_equal(entries_in_dir(), 0);
    bloomfile_builder_free(b);
}

TEST(a_filter_larger_than_memory_is_an_error_of_finishing)
{
    bloomfile_builder *b = new_builder((struct bloomfile_params){ .bits = BLOOMFILE_MAX_BITS });
    void *image;
    size_t size;
    assert_error(write_memory(b, &image, &size),
                 SIZE_MAX > UINT32_MAX ? ENOMEM : BLOOMFILE_ETOOBIG);
    bloomfile_builder_free(b);
}

int main(void)
{
    return run_all(enter_temp_dir, leave_temp_dir);
}
