/* SPDX-License-Identifier: MIT
 * later LIBRARY: a program and a library of different versions, for test_interface.py. Each may
 * have the headers as they are, or headers that have grown: a member `later` at the end of each
 * struct that begins with struct_size, a flag, an error, a layout, a kind of keys. LIBRARY is
 * "grown" if the library in use has these too. Prints what is wrong, and exits with 1. */
#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <bloomfile_view.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef BLOOMFILE_OPEN_LATER /* this program has grown */
#define LATER(room)      (room).is.later
#define SET(room, value) ((room).is.later = (value))
#define LATER_INFO       77
#else
#define LATER(room)      0
#define SET(room, value) ((void)(value))
#define LATER_INFO       0
#endif
#define ERROR_LATER (-1705)
#define IMAGE(room) (room).is.memory, (room).is.size

static int wrong;

static void expect_(int condition, const char *text, int line)
{
    if (!condition && ++wrong != 0)
        printf("line %d: %s\n", line, text);
}
#define EXPECT(condition) expect_(condition, #condition, __LINE__)

/* Expects a result of a call, and the member that it blames. */
static void result_(int found, int error, const char *member, int line)
{
    const int blames =
        error == BLOOMFILE_ESTRUCTSIZE || error == BLOOMFILE_EVALUE || error == BLOOMFILE_EFLAGS;
    if (found != error && ++wrong != 0)
        printf("line %d: %s instead of %s\n", line, bloomfile_errname(found),
               bloomfile_errname(error));
    else if (blames && strcmp(bloomfile_invalid(), member) != 0 && ++wrong != 0)
        printf("line %d: %s is blamed instead of %s\n", line, bloomfile_invalid(), member);
}
#define RESULT(call, error, member) result_(call, error, member, __LINE__)

/* A struct with its initial value, and bytes after it that no library may write. */
#define ROOM(type, name, value)                                                                    \
    union {                                                                                        \
        struct type is;                                                                            \
        unsigned char bytes[sizeof(struct type) + 64];                                             \
    } name;                                                                                        \
    memset(&name, 0xEE, sizeof name);                                                              \
    name.is = value

#define EXPECT_INTACT(room) expect_(is_intact(&room, sizeof room), #room " intact", __LINE__)

static int is_intact(const void *room, size_t size)
{
    for (size_t i = size - 64; i < size; i++)
        if (((const unsigned char *)room)[i] != 0xEE)
            return 0;
    return 1;
}

/* Each growing struct of inputs, with the member `later`. If it is not 0, each call is refused. */
static void try_inputs(const bloomfile_filter *f, uint64_t later)
{
    const int due = later != 0 ? BLOOMFILE_ESTRUCTSIZE : 0;
    const bloomfile_filter *const list[] = { f };
    bloomfile_builder *b = NULL;
    bloomfile_filter *opened = NULL, *live = NULL;
    bloomfile_digest digest;
    struct bloomfile_view view;
    ROOM(bloomfile_params, params, BLOOMFILE_PARAMS_INIT);
    ROOM(bloomfile_destination, to, bloomfile_to_memory());
    ROOM(bloomfile_destination, other, bloomfile_to_memory());
    ROOM(bloomfile_metadata, metadata, BLOOMFILE_METADATA_INIT);
    ROOM(bloomfile_merge_params, merge, BLOOMFILE_MERGE_PARAMS_INIT);
    ROOM(bloomfile_spans, spans, BLOOMFILE_SPANS_INIT);
    ROOM(bloomfile_size, size, BLOOMFILE_SIZE_INIT);
    ROOM(bloomfile_open_params, how, BLOOMFILE_OPEN_PARAMS_INIT);
    SET(params, later);
    SET(metadata, later);
    SET(merge, later);
    SET(spans, later);
    SET(size, later);
    SET(how, later);
    params.is.capacity = size.is.keys = 100;
    spans.is.base = "apple";
    spans.is.size = spans.is.length = 5;
    spans.is.count = 1;
    RESULT(bloomfile_builder_new(&b, &params.is), due, "struct_size");
    RESULT(bloomfile_create_memory(&live, &params.is, 0), due, "struct_size");
    RESULT(bloomfile_digests_of_spans(f, &spans.is, &digest), due, "struct_size");
    RESULT(bloomfile_size_for(&size.is), due, "struct_size");
    RESULT(bloomfile_view_for(&view, &size.is), due, "struct_size");
    RESULT(bloomfile_merge(&other.is, list, 1, &merge.is), due, "struct_size");
    bloomfile_free(other.is.memory);
    other.is = bloomfile_to_memory();
    RESULT(bloomfile_fold(&other.is, f, 1, &metadata.is), due, "metadata");
    SET(to, later);
    RESULT(bloomfile_copy_sealed(&to.is, f, NULL), due, "struct_size");
    ROOM(bloomfile_source, from, bloomfile_from_memory(IMAGE(other)));
    RESULT(bloomfile_open_with(&opened, &from.is, &how.is), due, "struct_size");
    SET(from, later);
    SET(how, 0);
    bloomfile_close(opened);
    RESULT(bloomfile_open_with(&opened, &from.is, &how.is), due, "struct_size");
    EXPECT_INTACT(params);
    EXPECT_INTACT(to);
    EXPECT_INTACT(metadata);
    EXPECT_INTACT(merge);
    EXPECT_INTACT(spans);
    EXPECT_INTACT(size);
    EXPECT_INTACT(how);
    EXPECT_INTACT(from);
    bloomfile_free(to.is.memory);
    bloomfile_free(other.is.memory);
    bloomfile_close(opened);
    bloomfile_close(live);
    bloomfile_builder_free(b);
}

/* Each growing struct of results. `later` is 0, unless the library has set it. */
static void try_outputs(const bloomfile_filter *f, const void *image, size_t image_size, int grown)
{
    struct bloomfile_destination patch = bloomfile_to_memory();
    bloomfile_filter *opened = NULL;
    ROOM(bloomfile_info, info, BLOOMFILE_INFO_INIT);
    ROOM(bloomfile_info, inspected, BLOOMFILE_INFO_INIT);
    ROOM(bloomfile_measurement, measured, BLOOMFILE_MEASUREMENT_INIT);
    ROOM(bloomfile_patch_info, described, BLOOMFILE_PATCH_INFO_INIT);
    ROOM(bloomfile_open_report, report, BLOOMFILE_OPEN_REPORT_INIT);
    ROOM(bloomfile_open_report, layer, BLOOMFILE_OPEN_REPORT_INIT);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    SET(info, 0xEE);
    SET(inspected, 0xEE);
    SET(measured, 0xEE);
    SET(described, 0xEE);
    SET(report, 0xEE);
    SET(layer, 0xEE);
    how.report = &report.is;
    RESULT(bloomfile_get_info(f, &info.is), 0, "");
    RESULT(bloomfile_inspect(image, image_size, &inspected.is, NULL, NULL), 0, "");
    RESULT(bloomfile_measure(f, &measured.is), 0, "");
    RESULT(bloomfile_layer_report(f, &layer.is), 0, "");
    RESULT(bloomfile_delta(&patch, f, f, 1), 0, "");
    struct bloomfile_source from = bloomfile_from_memory(patch.memory, patch.size);
    RESULT(bloomfile_get_patch_info(&from, &described.is), 0, "");
    RESULT(bloomfile_open_with(&opened, &from, &how), BLOOMFILE_EMAGIC, "");
    EXPECT(info.is.keys == 1 && inspected.is.keys == 1 && measured.is.ones > 0);
    EXPECT(described.is.patch_size == patch.size && report.is.error == BLOOMFILE_EMAGIC);
    EXPECT(LATER(info) == (grown ? LATER_INFO : 0));
    EXPECT(LATER(inspected) == 0 && LATER(measured) == 0 && LATER(described) == 0);
    EXPECT(LATER(report) == 0 && LATER(layer) == 0);
    EXPECT_INTACT(info);
    EXPECT_INTACT(inspected);
    EXPECT_INTACT(measured);
    EXPECT_INTACT(described);
    EXPECT_INTACT(report);
    EXPECT_INTACT(layer);
    bloomfile_free(patch.memory);
}

/* Numbers of a later version: an error of the library, names, flags and kinds of the program. */
static void try_numbers(int grown)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct bloomfile_source from = bloomfile_from_path("/");
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    struct bloomfile_destination to = bloomfile_to_memory();
    bloomfile_builder *b;
    bloomfile_filter *f;
    params.label = "later";
    RESULT(bloomfile_builder_new(&b, &params), grown ? ERROR_LATER : 0, "");
    if (!grown) {
        to.kind = 6;
        RESULT(bloomfile_builder_write(b, &to), BLOOMFILE_EVALUE, "kind");
        bloomfile_builder_free(b);
    }
    EXPECT(bloomfile_error_kind(ERROR_LATER) == BLOOMFILE_KIND_CAPACITY);
    EXPECT(strcmp(bloomfile_strerror(ERROR_LATER), grown ? "of later" : "unknown error") == 0);
    EXPECT(strcmp(bloomfile_errname(ERROR_LATER), grown ? "BLOOMFILE_ELATER" : "UNKNOWN") == 0);
    RESULT(bloomfile_open(&f, "/", 16384), grown ? EISDIR : BLOOMFILE_EFLAGS, "flags");
    how.expect = 32;
    RESULT(bloomfile_open_with(&f, &from, &how), BLOOMFILE_EFLAGS, "expect");
    EXPECT(bloomfile_layout_name(5) == NULL && bloomfile_key_kind_name(6) == NULL);
    params.label = NULL;
    params.layout = 5;
    RESULT(bloomfile_builder_new(&b, &params), BLOOMFILE_EVALUE, "layout");
    params.layout = 0;
    params.key_kind = 6;
    RESULT(bloomfile_builder_new(&b, &params), BLOOMFILE_EVALUE, "key_kind");
}

int main(int argc, char **argv)
{
    const int grown = argc > 1 && strcmp(argv[1], "grown") == 0;
    bloomfile_builder *b;
    bloomfile_filter *f;
    struct bloomfile_destination to = bloomfile_to_memory();
    if (bloomfile_builder_new(&b, NULL) != 0 || bloomfile_builder_add(b, "apple", 5) != 0 ||
        bloomfile_builder_write(b, &to) != 0)
        return 2;
    const struct bloomfile_source from = bloomfile_from_memory(to.memory, to.size);
    if (bloomfile_open_with(&f, &from, NULL) != 0 || !bloomfile_contains(f, "apple", 5))
        return 2;
    try_inputs(f, 0);
    try_outputs(f, to.memory, to.size, grown);
    try_numbers(grown);
#ifdef BLOOMFILE_OPEN_LATER
    if (!grown)
        try_inputs(f, 1);
    else { /* a member that the library knows is read */
        struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        params.later = 1;
        RESULT(bloomfile_builder_new(&b, &params), BLOOMFILE_EVALUE, "later");
    }
#ifdef CALL_LATER
    EXPECT(bloomfile_later() == 1);
#endif
#endif
    bloomfile_close(f);
    bloomfile_free(to.memory);
    return wrong != 0;
}
