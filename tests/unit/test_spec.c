/* SPDX-License-Identifier: MIT
 * The specification's tables and its example of a whole file, read from its text and compared
 * with the library. */
#include "spec_text.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/header.h"

/* ---- sections 6 and 7: the tables of fields */

/* Reads a row of a table of fields; the offset of a checksum counts from H/2 or H/4. Returns
 * false for other lines. */
static bool read_row(const char *line, uint32_t header_size, uint32_t *offset, uint32_t *size,
                     char name[32], char meaning[8])
{
    unsigned share;
    if (sscanf(line, "| %u | %u | `%31[a-z0-9_]` | %7s", offset, size, name, meaning) == 4)
        return true;
    if (sscanf(line, "| H/%u - 4 | %u | `%31[a-z0-9_]` | %7s", &share, size, name, meaning) != 4)
        return false;
    *offset = header_size / share - 4;
    return true;
}

static bool is_number(const struct bloomfile_field *field)
{
    return field->kind >= BLOOMFILE_FIELD_NUMBER && field->kind <= BLOOMFILE_FIELD_KEY_KIND;
}

static void assert_kind(const struct bloomfile_field *field, const char *meaning)
{
    assert_int_equal(strncmp(meaning, "u32", 3) == 0, is_number(field) && field->size == 4);
    assert_int_equal(strncmp(meaning, "u64", 3) == 0, is_number(field) && field->size == 8);
    assert_int_equal(strcmp(meaning, "IEEE") == 0, field->kind == BLOOMFILE_FIELD_REAL);
    assert_int_equal(strncmp(meaning, "UTF-8", 5) == 0, field->kind == BLOOMFILE_FIELD_TEXT);
}

/* Asserts that the section has a row for each of the fields, in order. */
static void assert_table(const char *file, const char *section, uint32_t header_size,
                         uint32_t start, const struct bloomfile_field *fields, size_t count)
{
    struct bytes text = spec_section(file, section);
    size_t found = 0;
    for_each_line(line, text)
    {
        uint32_t offset, size;
        char name[32], meaning[8];
        if (!read_row(line, header_size, &offset, &size, name, meaning))
            continue;
        if (strcmp(name, "identity") == 0 && header_size != IN_FILE)
            continue; /* beyond the end of an embedded record */
        assert_true(found < count);
        assert_string_equal(name, fields[found].name);
        assert_int_equal(offset + start, fields[found].offset);
        assert_int_equal(size, fields[found].size);
        assert_kind(&fields[found], meaning);
        if (strstr(name, "_crc") != NULL)
            assert_int_equal(fields[found].kind, BLOOMFILE_FIELD_HEX);
        found++;
    }
    assert_int_equal(found, count);
    free(text.data);
}

TEST(fields_match_the_tables_of_sections_6_and_7)
{
    static const uint32_t sizes[] = { 512, 4096 };
    struct bloomfile_field fields[100];
    for (size_t i = 0; i < ROWS(sizes); i++) {
        const uint32_t size = sizes[i];
        const size_t count = bloomfile_fields(size, 0, fields, ROWS(fields));
        size_t first = 0;
        for (int record = -1; record < 2; record++) {
            size_t next = first;
            while (next < count && fields[next].record == record)
                next++;
            assert_table(SPEC_CORE, record < 0 ? "6" : "7", size,
                         record < 0 ? 0 : size / 2 + size / 4 * (unsigned)record, fields + first,
                         next - first);
            first = next;
        }
        assert_int_equal(first, count);
    }
}

/* Asserts the fields that an `incompat` bit adds to a file. */
static void assert_added_fields(uint32_t incompat, const char *section)
{
    struct bloomfile_field fields[100], plain[100];
    const size_t more = bloomfile_fields(4096, incompat, fields, ROWS(fields));
    const size_t count = bloomfile_fields(4096, 0, plain, ROWS(plain));
    size_t first = 0;
    while (strcmp(plain[first].name, "header_crc") != 0)
        first++;
    assert_true(more > count);
    for (size_t i = first; i < first + more - count; i++)
        assert_int_equal(fields[i].record, -1);
    assert_table(SPEC_PART("slices"), section, 4096, 0, fields + first, more - count);
    assert_int_equal(bloomfile_fields(512, incompat, fields, 0),
                     bloomfile_fields(512, 0, fields, 0));
}

TEST(fields_of_slices_and_layers_are_in_their_own_section)
{
    assert_added_fields(HEADER_INCOMPAT_LAYER, "2");
    assert_added_fields(HEADER_INCOMPAT_SLICE, "1");
}

TEST(fields_are_listed_up_to_the_given_room)
{
    struct bloomfile_field fields[100], few[3] = { { 0 } };
    const size_t all = bloomfile_fields(512, 0, fields, ROWS(fields));
    assert_int_equal(bloomfile_fields(512, 0, NULL, 0), all);
    assert_int_equal(bloomfile_fields(512, 0, few, 2), all);
    assert_string_equal(few[1].name, fields[1].name);
    assert_null(few[2].name);
    const size_t unsized = bloomfile_fields(513, 0, few, 0);
    assert_string_equal(fields[unsized - 1].name, "label");
    assert_string_equal(fields[unsized].name, "header_crc");
}

TEST(every_text_mode_damage_is_recognised)
{
    struct bytes text = spec_section(SPEC_CORE, "6");
    unsigned found = 0;
    for_each_line(line, text)
    {
        if (strncmp(line, "| `", 3) != 0)
            continue;
        uint8_t image[64] = { 0 };
        size_t size = spec_bytes(line + 3, image, sizeof image);
        assert_in_range(size, 7, 10);
        assert_error(bloomfile_inspect(image, sizeof image, NULL, NULL, NULL), BLOOMFILE_ETEXTMODE);
        found++;
    }
    assert_int_equal(found, 6);
    free(text.data);
}

/* ---- section 13 */

static unsigned rules_and_errors(const char *file, const char *section, bool seen[64])
{
    struct bytes text = spec_section(file, section);
    unsigned last = 0, names = 0;
    for_each_line(line, text)
    {
        unsigned rule;
        if (sscanf(line, "| V%u |", &rule) != 1)
            continue;
        assert_in_range(rule, last + 1, 63);
        assert_false(seen[rule]);
        seen[last = rule] = true;
        for (const char *at = line; (at = strstr(at, "BLOOMFILE_E")) != NULL; at++) {
            char name[40];
            assert_int_equal(sscanf(at, "%39[A-Z_]", name), 1);
            assert_string_equal(bloomfile_errname(error_named(name)), name);
            names++;
        }
    }
    free(text.data);
    return names;
}

TEST(rules_of_validity_are_numbered_without_gaps_and_name_known_errors)
{
    bool seen[64] = { true };
    unsigned names = rules_and_errors(SPEC_CORE, "13", seen) +
                     rules_and_errors(SPEC_PART("slices"), NULL, seen) +
                     rules_and_errors(SPEC_PART("live"), NULL, seen);
    for (unsigned rule = 0; rule < 64; rule++)
        assert_int_equal(seen[rule], rule < 40);
    assert_in_range(names, 40, 50);
}

/* ---- section 18 */

static unsigned count_of(const char *text, const char *what)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

TEST(each_error_named_in_the_text_has_one_row_in_section_18)
{
    struct bytes all = spec_all(), table = spec_section(SPEC_CORE, "18");
    unsigned rows = 0;
    for (const char *at = (char *)all.data; (at = strstr(at, "BLOOMFILE_E")) != NULL; at++) {
        char name[40], row[48];
        if (sscanf(at, "%39[A-Z_]", name) != 1)
            continue;
        snprintf(row, sizeof row, "| %s |", name);
        if (count_of((char *)table.data, row) != 1)
            fail_msg("section 18 has not one row of %s", name);
        assert_string_equal(bloomfile_errname(error_named(name)), name);
    }
    for_each_line(line, table) rows += strncmp(line, "| BLOOMFILE_", 12) == 0;
    assert_in_range(rows, 30, 60);
    free(all.data);
    free(table.data);
}

/* "| V7 | ... | BLOOMFILE_EVERSION |": section 18 must name V7 in the row of that error. */
static void assert_rules_are_named(const char *file, const char *section, unsigned expected)
{
    struct bytes text = spec_section(file, section), table = spec_section(SPEC_CORE, "18");
    unsigned checked = 0;
    for_each_line(line, text)
    {
        char rule[8], name[40], row[48];
        if (sscanf(line, "| %7[VB0-9] |", rule) != 1)
            continue;
        for (const char *at = line; (at = strstr(at, "BLOOMFILE_E")) != NULL; at++) {
            assert_int_equal(sscanf(at, "%39[A-Z_]", name), 1);
            snprintf(row, sizeof row, "| %s |", name);
            char *start = strstr((char *)table.data, row);
            assert_non_null(start);
            start += strlen(row);
            const size_t cell = strcspn(start, "|"), length = strlen(rule);
            bool found = false;
            for (const char *in = start; (in = strstr(in, rule)) != NULL && in < start + cell; in++)
                found |= in[length] < '0' || in[length] > '9';
            if (!found)
                fail_msg("section 18 does not name %s in the row of %s", rule, name);
            checked++;
        }
    }
    assert_true(checked >= expected);
    free(text.data);
    free(table.data);
}

TEST(section_18_names_the_rules_of_each_error)
{
    assert_rules_are_named(SPEC_CORE, "13", 29);
    assert_rules_are_named(SPEC_PART("slices"), NULL, 8);
    assert_rules_are_named(SPEC_PART("live"), NULL, 4);
    assert_rules_are_named(SPEC_PART("compact"), NULL, 8);
}

/* ---- section 4: the whole file */

static const struct bloomfile_key tiny_keys[] = {
    { "bloomfile", 9 },
    { NULL, 0 },
    { "\x80\x1D\xBA", 3 },
};

TEST(builder_makes_the_file_of_section_4)
{
    struct bytes expected = spec_whole_file();
    assert_int_equal(expected.size, 0x244);
    struct bloomfile_params params = {
        .struct_size = sizeof params,
        .layout = BLOOMFILE_LAYOUT_CLASSIC,
        .capacity = 10,
        .fpr = 0.05,
        .bits = 100,
        .hashes = 3,
        .label = "tiny \xC3\xA9",
    };
    for (unsigned i = 0; i < BLOOMFILE_TAG_SIZE; i++)
        params.tag[i] = (uint8_t)(0xA0 + i);
    bloomfile_builder *b;
    assert_error(bloomfile_builder_new(&b, &params), 0);
    for (size_t i = 0; i < ROWS(tiny_keys); i++)
        assert_error(bloomfile_builder_add(b, tiny_keys[i].data, tiny_keys[i].size), 0);
    void *image;
    size_t size;
    assert_error(write_memory(b, &image, &size), 0);
    assert_int_equal(size, expected.size);
    assert_memory_equal(image, expected.data, size);
    bloomfile_builder_free(b);
    free(image);
    free(expected.data);
}

TEST(the_file_of_section_4_opens_verifies_and_answers)
{
    struct bytes image = spec_whole_file();
    bloomfile_filter *f;
    assert_error(
        open_from(&f, bloomfile_from_memory(image.data, image.size), BLOOMFILE_OPEN_VERIFY_FULL),
        0);
    assert_error(bloomfile_verify(f, 1, NULL), 0);
    for (size_t i = 0; i < ROWS(tiny_keys); i++)
        assert_true(bloomfile_contains(f, tiny_keys[i].data, tiny_keys[i].size));
    assert_false(bloomfile_contains(f, "bloomfilf", 9));
    assert_false(bloomfile_contains(f, "", 1));
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    assert_int_equal(info.keys, 3);
    assert_int_equal(info.ones, 8);
    assert_string_equal(info.label, "tiny \xC3\xA9");
    bloomfile_close(f);
    free(image.data);
}

int main(int argc, char **argv)
{
    return spec_test_main(argc, argv);
}
