/* SPDX-License-Identifier: MIT
 * Validity rules V19 to V25 and V34, of slices and layers: which values are refused, naming
 * which field, and that their neighbours are valid. */
#include "support.h"

#include <bloomfile_inspect.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/header.h"

enum {
    IDENTITY = 7,
    OWN = IN_FILE + 4096 + 4, /* bytes of each image except the slice's body */
    RATE = 1,                 /* a subnormal number; any rate will do */
};

struct change {
    unsigned at, size;
    uint64_t value;
};

#define SET(name, value)                                                                           \
    {                                                                                              \
        AT_##name, sizeof((struct header *)0)->name, (value)                                       \
    }

/* The images that rows change. The m of each fills the only page of its body in part, or two
 * pages. */
static const struct base {
    struct recipe recipe;
    bool live;
    struct change changes[6];
} bases[] = {
#define LAYER_OF(layout, k)                                                                        \
    { BLOOMFILE_LAYOUT_##layout, IN_FILE, 1024, (k), 5, 0 }, false,                                \
    {                                                                                              \
        SET(incompat, 1), SET(layers, 1), SET(rest_size, OWN)                                      \
    }
#define SLICE_OF(layout, m, k, of)                                                                 \
    { BLOOMFILE_LAYOUT_##layout, IN_FILE, (m), (k), 5, 0 }, false,                                 \
    {                                                                                              \
        SET(incompat, 2), SET(first_block, 64), SET(whole_blocks, (of))                            \
    }
    { LAYER_OF(BLOCKED, 6) },
#define SEALED &bases[0]
    { { BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 1024, 6, 5, 0 },
      true,
      { SET(incompat, 1), SET(series, IDENTITY), SET(fpr, RATE), SET(series_fpr, RATE) } },
#define GROWING &bases[1]
    { { BLOOMFILE_LAYOUT_CLASSIC, IN_FILE, 1024, 6, 5, 0 },
      true,
      { SET(incompat, 1), SET(series, IDENTITY), SET(generations, 2), SET(layer, 5),
        SET(period, 60), SET(began, 1) } },
#define FORGETTING &bases[2]
    { SLICE_OF(BLOCKED, 512 * 128, 6, 256) },
#define SLICE &bases[3]
    { SLICE_OF(BLOCKED, 512 * 100, 6, 164) },
#define LAST_SLICE &bases[4]
    { { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 1024, 6, 5, 0 }, false, { SET(incompat, 1) } },
#define EMBEDDED_LAYER &bases[5]
    { { BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 1024, 6, 5, 0 }, false, { SET(incompat, 2) } },
#define EMBEDDED_SLICE &bases[6]
    { LAYER_OF(CLASSIC, 6) },
#define CLASSIC_LAYER &bases[7]
    { LAYER_OF(COUNTING, 6) },
#define COUNTING_LAYER &bases[8]
    { LAYER_OF(RIBBON, 0) },
#define RIBBON_LAYER &bases[9]
    { SLICE_OF(CLASSIC, 512 * 128, 6, 256) },
#define CLASSIC_SLICE &bases[10]
    { SLICE_OF(RIBBON, 512 * 128, 0, 256) },
#define RIBBON_SLICE &bases[11]
};

static const struct row {
    const char *what;
    const struct base *base;
    int error; /* 0: valid */
    const char *field;
    uint64_t at;
    struct change changes[5];
    size_t more; /* additional faults, of other rules */
} rows[] = {
#define VALID                0, NULL, 0
#define REFUSED(error, name) BLOOMFILE_##error, #name, AT_##name
#define CHANGE(...)          .changes = { __VA_ARGS__ }
    { "sealed", SEALED, VALID, CHANGE(SET(link, 9)) },
    { "growing", GROWING, VALID, CHANGE(SET(layer, 0)) },
    { "forgetting", FORGETTING, VALID, CHANGE(SET(fpr, 0)) },
    { "slice", SLICE, VALID, CHANGE(SET(fpr, RATE)) },
    { "last slice", LAST_SLICE, VALID, CHANGE(SET(fpr, RATE)) },
    { "V21 embedded", EMBEDDED_LAYER, REFUSED(ESERIES, header_size), CHANGE(SET(fpr, RATE)) },
    { "V21 classic", CLASSIC_LAYER, VALID, CHANGE(SET(fpr, RATE)) },
    { "V21 counting", COUNTING_LAYER, REFUSED(ESERIES, layout), CHANGE(SET(fpr, RATE)) },
    { "V21 ribbon", RIBBON_LAYER, REFUSED(ESERIES, layout), CHANGE(SET(fpr, RATE)) },
    { "V9 before V21", SEALED, REFUSED(ELAYOUT, layout), CHANGE(SET(layout, 99)) },
    { "V9, none near", SEALED, REFUSED(ELAYOUT, layout), CHANGE(SET(layout, 1u << 30)) },
    { "V22 growing, nobody's", GROWING, REFUSED(ESERIES, series), CHANGE(SET(series, 0)) },
    { "V22 forgetting, nobody's", FORGETTING, REFUSED(ESERIES, series), CHANGE(SET(series, 0)) },
    { "V22 1 generation", GROWING, REFUSED(ESERIES, generations), CHANGE(SET(generations, 1)) },
    { "V22 1000 generations", FORGETTING, VALID, CHANGE(SET(generations, 1000)) },
    { "V22 1001", FORGETTING, REFUSED(ESERIES, generations), CHANGE(SET(generations, 1001)) },
    { "V22 rest", GROWING, REFUSED(ESERIES, rest_size), CHANGE(SET(rest_size, OWN)) },
    { "V22 link", FORGETTING, REFUSED(ESERIES, link), CHANGE(SET(link, 1)) },
    { "V22 layer 999", GROWING, VALID, CHANGE(SET(layer, 999)) },
    { "V22 layer 1000", GROWING, REFUSED(ESERIES, layer), CHANGE(SET(layer, 1000)) },
    { "V22 layer 2^63-1", FORGETTING, VALID, CHANGE(SET(layer, INT64_MAX)) },
    { "V22 2^63", FORGETTING, REFUSED(ESERIES, layer), CHANGE(SET(layer, 1ULL << 63)) },
    { "V22 no rate", GROWING, REFUSED(ESERIES, series_fpr), CHANGE(SET(fpr, 0)) },
    { "V22 no whole rate", GROWING, REFUSED(ESERIES, series_fpr), CHANGE(SET(series_fpr, 0)) },
    { "V22 period", GROWING, REFUSED(ESERIES, period), CHANGE(SET(period, 1)) },
    { "V22 began", GROWING, REFUSED(ESERIES, began), CHANGE(SET(began, 1)) },
    { "V22 without period", FORGETTING, VALID, CHANGE(SET(period, 0), SET(began, 0)) },
    { "V34 live", GROWING, REFUSED(ESERIES, layers),
      CHANGE(SET(layers, 1), SET(series, 0), SET(rest_size, OWN)) },
    { "V34 sealed", SEALED, REFUSED(ESERIES, layers),
      CHANGE(SET(layers, 0), SET(series, IDENTITY), SET(rest_size, 0), SET(fpr, RATE),
             SET(series_fpr, RATE)) },
    { "V23 1000 layers", SEALED, VALID, CHANGE(SET(layers, 1000), SET(layer, 999)) },
    { "V23 1001", SEALED, REFUSED(ESERIES, layers), CHANGE(SET(layers, 1001), SET(layer, 1000)) },
    { "V23 layer 1 of 1", SEALED, REFUSED(ESERIES, layer), CHANGE(SET(layer, 1)), 1 },
    { "V23 layer 2 of 1", SEALED, REFUSED(ESERIES, layer), CHANGE(SET(layer, 2)), 1 },
    { "V23 series", SEALED, REFUSED(ESERIES, series), CHANGE(SET(series, 1)) },
    { "V23 generations", SEALED, REFUSED(ESERIES, generations), CHANGE(SET(generations, 2)) },
    { "V23 period", SEALED, REFUSED(ESERIES, period), CHANGE(SET(period, 1)) },
    { "V23 began", SEALED, REFUSED(ESERIES, began), CHANGE(SET(began, 1)) },
    { "V25 less", SEALED, REFUSED(ESERIES, rest_size), CHANGE(SET(rest_size, OWN - 1)), 1 },
    { "V25 more", SEALED, REFUSED(ESERIES, rest_size), CHANGE(SET(rest_size, OWN + 1)), 1 },
    { "V25 none behind", SEALED, REFUSED(ESERIES, rest_size),
      CHANGE(SET(layers, 2), SET(rest_size, 3 * 4096)), 1 },
    { "V25 a byte behind", SEALED, BLOOMFILE_ETRUNCATED, "size", OWN,
      CHANGE(SET(layers, 2), SET(rest_size, 3 * 4096 + 1)) },
    { "V24 below 1", SEALED, VALID, CHANGE(SET(series_fpr, 0x3FEFFFFFFFFFFFFF)) },
    { "V24 1", SEALED, REFUSED(ESERIES, series_fpr), CHANGE(SET(series_fpr, 0x3FF0000000000000)) },
    { "V19 embedded", EMBEDDED_SLICE, REFUSED(ESLICE, header_size), CHANGE(SET(fpr, RATE)) },
    { "V19 layer", SLICE, REFUSED(ESLICE, incompat), CHANGE(SET(incompat, 3)) },
    { "V19 classic", CLASSIC_SLICE, REFUSED(ESLICE, layout), CHANGE(SET(fpr, RATE)) },
    { "V19 ribbon", RIBBON_SLICE, REFUSED(ESLICE, layout), CHANGE(SET(fpr, RATE)) },
    { "V9 before V19", SLICE, REFUSED(ELAYOUT, layout), CHANGE(SET(layout, 99)) },
    { "V9, no slice's", SLICE, REFUSED(ELAYOUT, layout), CHANGE(SET(layout, 1u << 30)) },
    { "V19 folded", SLICE, REFUSED(ESLICE, m_unfolded), CHANGE(SET(m_unfolded, 512 * 256)) },
    { "V20 from 0", SLICE, VALID, CHANGE(SET(first_block, 0)) },
    { "V20 from 1", SLICE, REFUSED(ESLICE, first_block), CHANGE(SET(first_block, 1)) },
    { "V20 from 63", SLICE, REFUSED(ESLICE, first_block), CHANGE(SET(first_block, 63)) },
    { "V20 of 2^51", SLICE, VALID, CHANGE(SET(whole_blocks, 1ULL << 51)) },
    { "V20 2^51+1", SLICE, REFUSED(ESLICE, whole_blocks),
      CHANGE(SET(whole_blocks, (1ULL << 51) + 1)) },
    { "V20 behind", SLICE, REFUSED(ESLICE, whole_blocks), CHANGE(SET(whole_blocks, 64)) },
    { "V20 behind, by 1", SLICE, REFUSED(ESLICE, whole_blocks), CHANGE(SET(whole_blocks, 63)) },
    { "V20 up to the end", SLICE, VALID, CHANGE(SET(whole_blocks, 192)) },
    { "V20 beyond it", SLICE, REFUSED(ESLICE, m), CHANGE(SET(whole_blocks, 191)) },
    { "V20 part of a page", LAST_SLICE, REFUSED(ESLICE, m), CHANGE(SET(whole_blocks, 165)) },
};

static void change(uint8_t *image, const struct change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (changes[i].size == 4)
            put32(image + changes[i].at, (uint32_t)changes[i].value);
        else if (changes[i].size == 8)
            put64(image + changes[i].at, changes[i].value);
}

static struct bytes image_of(const struct row *row)
{
    struct bytes image = image_from(row->base->recipe);
    change(image.data, row->base->changes, ROWS(row->base->changes));
    change(image.data, row->changes, ROWS(row->changes));
    if (row->base->live) {
        memset(record_at(image.data, 0), 0, IN_FILE / 2);
        put64(record_at(image.data, 0) + RECORD_AT_sequence, 1);
        put32(record_at(image.data, 0) + RECORD_AT_state, BLOOMFILE_STATE_LIVE);
        record_at(image.data, 0)[RECORD_AT_identity] = 1;
    }
    reseal_header(image.data);
    return image;
}

TEST(each_field_of_a_layer_or_slice_is_checked_against_its_rule)
{
    for (size_t i = 0; i < ROWS(rows); i++) {
        const struct row *row = &rows[i];
        struct bytes image = image_of(row);
        struct bloomfile_fault fault = { 0 };
        size_t count = 1;
        const int error = bloomfile_inspect(image.data, image.size, NULL, &fault, &count);
        if (error != row->error)
            fail_msg("%s: %s, expected %s", row->what, bloomfile_errname(error),
                     bloomfile_errname(row->error));
        if (count != (error != 0) + row->more)
            fail_msg("%s: %zu faults", row->what, count);
        if (error != 0 && (fault.offset != row->at || strcmp(fault.field, row->field) != 0))
            fail_msg("%s: %s at %llu, expected %s", row->what, fault.field,
                     (unsigned long long)fault.offset, row->field);
        free(image.data);
    }
}

TEST(truncated_layer_is_reported_whatever_its_rest_size)
{
    const struct row row = { "V25, V26", SEALED, VALID, CHANGE(SET(rest_size, IN_FILE)) };
    struct bytes image = image_of(&row);
    struct bloomfile_fault faults[2];
    size_t count = 2;
    assert_error(bloomfile_inspect(image.data, OWN - 1, NULL, faults, &count), BLOOMFILE_ESERIES);
    assert_int_equal(faults[1].error, BLOOMFILE_ETRUNCATED);
    assert_int_equal(faults[1].offset, OWN - 1);
    free(image.data);
}

TEST(bytes_reserved_in_a_whole_filter_are_not_fields_of_layers_or_slices)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, IN_FILE, 1024, 6, 5, 0 });
    memset(image.data + AT_series, 0xFF, IN_FILE / 2 - AT_series);
    reseal_header(image.data);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    assert_error(bloomfile_inspect(image.data, image.size, &info, NULL, NULL), 0);
    assert_int_equal(info.series | info.layer | info.generations | info.layers, 0);
    assert_int_equal(info.rest_size | info.period | info.began, 0);
    assert_true(info.series_fpr == 0);
    assert_int_equal(info.first_block | info.whole_blocks, 0);
    free(image.data);
}

TEST(an_embedded_header_has_no_fields_of_layers_or_slices)
{
    for (uint32_t incompat = 1; incompat <= 3; incompat++) {
        struct bytes image =
            image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 1024, 6, 5, 0 });
        put32(image.data + AT_incompat, incompat);
        put64(image.data + AT_series, UINT64_MAX);
        reseal_header(image.data);
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        size_t count = 0;
        bloomfile_inspect(image.data, image.size, &info, NULL, &count);
        assert_int_equal(count, 1);
        assert_int_equal(info.series | info.layer | info.generations | info.layers, 0);
        assert_int_equal(info.first_block | info.whole_blocks, 0);
        free(image.data);
    }
}

TEST(the_next_layer_begins_at_a_multiple_of_4096)
{
    static const struct {
        uint64_t blocks, size; /* of the layer, without the padding before the next layer */
    } layers[] = {
        { 1, 3 * 4096 },
        { 64, 3 * 4096 },
        { 65, 4 * 4096 },
        { 64 * 1023, 1025 * 4096 },
        { 64 * 1024, 1026 * 4096 },
        { 64 * 1025, 1028 * 4096 },
        { 64 * 4096, 4101 * 4096 },
        { 64 * 4097, 4103 * 4096 },
    };
    for (size_t i = 0; i < ROWS(layers); i++) {
        const struct header h = { .layout = BLOOMFILE_LAYOUT_BLOCKED,
                                  .m = 512 * layers[i].blocks,
                                  .header_size = IN_FILE };
        assert_int_equal(header_layer_stride(&h), layers[i].size);
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
