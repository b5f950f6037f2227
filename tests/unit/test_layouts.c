/* SPDX-License-Identifier: MIT
 * Each layout has a row in every table, and the rows agree. */
#include "spec_text.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/layout.h"
#include "kernel/dispatch.h"
#include "sizing/sizing.h"

TEST(layouts_have_the_numbers_and_names_of_the_specification)
{
    char expected[200] = "| `layout` | u32:";
    unsigned found = 0;
    for (uint32_t layout = 1; layout < LAYOUT_END; layout++) {
        const size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, " %u %s%s", layout,
                 bloomfile_layout_name(layout), layout + 1 < LAYOUT_END ? "," : " |");
    }
    struct bytes text = spec_section(SPEC_CORE, "6");
    for_each_line(line, text) found += strstr(line, expected) != NULL;
    assert_int_equal(found, 1);
    free(text.data);
}

TEST(unknown_layout_numbers_have_no_traits)
{
    assert_null(bloomfile_traits_of(0));
    assert_null(bloomfile_traits_of(LAYOUT_END));
    assert_null(bloomfile_traits_of(UINT32_MAX));
    assert_null(bloomfile_layout_name(LAYOUT_END));
}

TEST(every_layout_has_all_its_traits)
{
    for (uint32_t layout = 1; layout < LAYOUT_END; layout++) {
        const struct bloomfile_traits *traits = bloomfile_traits_of(layout);
        const struct kernel *kernel = kernel_named(layout, "scalar");
        const unsigned unit_bits = layout_unit_bits(layout);
        assert_non_null(traits->unit);
        assert_non_null(traits->cell);
        assert_int_equal(unit_bits & (unit_bits - 1), 0);
        assert_in_range(unit_bits, 1, 8 * LAYOUT_UNIT_MOST);
        assert_int_equal(traits->counts, kernel->remove_shared != NULL);
        assert_int_equal(traits->projection != 0, kernel->project != NULL);
        assert_int_equal(layout_is_local(layout), kernel->density == KERNEL_LOCAL);
        assert_int_equal(layout_is_local(layout), kernel->put == NULL);
        assert_non_null(sizing_of(layout)->expected);
        if (traits->projection != 0)
            assert_int_equal(layout_of(traits->projection)->cell_bits, 1);
    }
}

int main(int argc, char **argv)
{
    return spec_test_main(argc, argv);
}
