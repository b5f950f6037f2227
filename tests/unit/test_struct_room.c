/* SPDX-License-Identifier: MIT
 * The public structs: their sizes, initial values, and room for later members; the version as a
 * number. */
#define BLOOMFILE_API extern /* a program may define it */

#include "support.h"

#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_view.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if BLOOMFILE_VERSION != BLOOMFILE_VERSION_OF(BLOOMFILE_VERSION_MAJOR, BLOOMFILE_VERSION_MINOR,    \
                                              BLOOMFILE_VERSION_PATCH)
#error "the version as a number is another"
#endif
#if BLOOMFILE_VERSION_OF(1, 2, 0) <= BLOOMFILE_VERSION_OF(1, 1, 999)
#error "versions are not in order"
#endif

_Static_assert(sizeof(struct bloomfile_pinned) == 128, "a pin has two cache lines");
_Static_assert(_Alignof(struct bloomfile_pinned) == 64, "a pin begins a cache line");
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(offsetof(struct bloomfile_pinned, live_ignored_) == 64,
               "a lookup reads one of them");
_Static_assert(sizeof(struct bloomfile_view) == 64, "view");
_Static_assert(sizeof(struct bloomfile_fault) == 64, "fault");
_Static_assert(sizeof(struct bloomfile_fold_choice) == 64, "fold_choice");
#endif

TEST(version_matches_the_library)
{
    assert_string_equal(bloomfile_version(), BLOOMFILE_VERSION_STRING);
}

/* The bytes of each struct: used by the first version, then assigned. */
#define ASSIGNED(type, init)                                                                       \
    do {                                                                                           \
        const struct type zero = { .struct_size = sizeof zero };                                   \
        struct type value;                                                                         \
        memset(&value, 0xff, sizeof value);                                                        \
        value = init;                                                                              \
        assert_memory_equal(&value, &zero, sizeof zero);                                           \
    } while (0)

TEST(initial_values_can_be_assigned)
{
    ASSIGNED(bloomfile_params, BLOOMFILE_PARAMS_INIT);
    ASSIGNED(bloomfile_destination, BLOOMFILE_DESTINATION_INIT);
    ASSIGNED(bloomfile_source, BLOOMFILE_SOURCE_INIT);
    ASSIGNED(bloomfile_open_params, BLOOMFILE_OPEN_PARAMS_INIT);
    ASSIGNED(bloomfile_open_report, BLOOMFILE_OPEN_REPORT_INIT);
    ASSIGNED(bloomfile_size, BLOOMFILE_SIZE_INIT);
    ASSIGNED(bloomfile_info, BLOOMFILE_INFO_INIT);
    ASSIGNED(bloomfile_measurement, BLOOMFILE_MEASUREMENT_INIT);
    ASSIGNED(bloomfile_merge_params, BLOOMFILE_MERGE_PARAMS_INIT);
    ASSIGNED(bloomfile_metadata, BLOOMFILE_METADATA_INIT);
    ASSIGNED(bloomfile_patch_info, BLOOMFILE_PATCH_INFO_INIT);
    struct bloomfile_pinned pin;
    memset(&pin, 0, sizeof pin);
    pin = BLOOMFILE_PINNED_INIT;
    assert_true(bloomfile_pinned_contains_digest(&pin, 1));
}

static struct bloomfile_params at_file_scope = { .struct_size = sizeof(struct bloomfile_params) };

TEST(initial_values_work_at_file_scope)
{
    bloomfile_builder *b;
    assert_error(bloomfile_builder_new(&b, &at_file_scope), 0);
    bloomfile_builder_free(b);
}

TEST(struct_of_zeros_is_refused)
{
    struct bytes image =
        image_from((struct recipe){ BLOOMFILE_LAYOUT_BLOCKED, EMBEDDED, 512, 6, 10, 0 });
    bloomfile_filter *f = open_image(image, 0), *none;
    bloomfile_builder *b;
    const struct bloomfile_source from = bloomfile_from_memory(image.data, image.size);
    const bloomfile_filter *const list[] = { f };
    struct bloomfile_destination memory = bloomfile_to_memory(), to = { 0 };
    const struct bloomfile_params params = { 0 };
    const struct bloomfile_open_params how = { 0 };
    const struct bloomfile_source source = { 0 };
    const struct bloomfile_merge_params merge = { 0 };
    const struct bloomfile_metadata metadata = { 0 };
    struct bloomfile_size size = { 0 };
    struct bloomfile_view view;
    struct bloomfile_info info = { 0 };
    struct bloomfile_measurement measurement = { 0 };
    struct bloomfile_patch_info patch = { 0 };
    struct bloomfile_open_report report = { 0 };
    const int errors[] = {
        bloomfile_builder_new(&b, &params),
        bloomfile_create_memory(&none, &params, 0),
        bloomfile_open_with(&none, &from, &how),
        bloomfile_open_with(&none, &source, NULL),
        bloomfile_copy_sealed(&to, f, NULL),
        bloomfile_copy_sealed(&memory, f, &metadata),
        bloomfile_merge(&memory, list, 1, &merge),
        bloomfile_size_for(&size),
        bloomfile_view_for(&view, &size),
        bloomfile_get_info(f, &info),
        bloomfile_inspect(image.data, image.size, &info, NULL, NULL),
        bloomfile_measure(f, &measurement),
        bloomfile_get_patch_info(&from, &patch),
        bloomfile_layer_report(f, &report),
    };
    for (size_t i = 0; i < ROWS(errors); i++)
        if (errors[i] != BLOOMFILE_ESTRUCTSIZE)
            fail_msg("call %zu: %s", i, bloomfile_errname(errors[i]));
    bloomfile_close(f);
    free(image.data);
}

int main(void)
{
    return run_all(NULL, NULL);
}
