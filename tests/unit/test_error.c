/* SPDX-License-Identifier: MIT
 * Names, texts and kinds of errors, and the name of an invalid argument. */
#include "support.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define KINDS 7

TEST(each_error_has_a_unique_name_a_text_and_a_kind)
{
    const char *texts[KINDS * 100];
    size_t known = 0;
    for (int kind = 1; kind <= KINDS; kind++) {
        int error = -1001 - 100 * kind;
        for (; strcmp(bloomfile_errname(error), "UNKNOWN") != 0; error--) {
            const char *text = bloomfile_strerror(error);
            assert_int_equal(bloomfile_error_kind(error), kind);
            assert_int_equal(error_named(bloomfile_errname(error)), error);
            assert_string_not_equal(text, "unknown error");
            for (size_t i = 0; i < known; i++)
                assert_string_not_equal(text, texts[i]);
            texts[known++] = text;
        }
        assert_true(error < -1001 - 100 * kind); /* each kind has an error */
    }
    assert_true(known > 50);
}

TEST(error_values_are_part_of_the_abi)
{
    assert_int_equal(BLOOMFILE_EFILESYSTEM, -1101);
    assert_int_equal(BLOOMFILE_EPAGE, -1217);
    assert_int_equal(BLOOMFILE_EMAGIC, -1301);
    assert_int_equal(BLOOMFILE_EVERSION, -1401);
    assert_int_equal(BLOOMFILE_EUNCLEAN, -1504);
    assert_int_equal(BLOOMFILE_EFACTOR, -1611);
    assert_int_equal(BLOOMFILE_EFULL, -1701);
}

TEST(errno_values_except_ebusy_are_system_errors)
{
    assert_int_equal(bloomfile_error_kind(0), BLOOMFILE_KIND_NONE);
    assert_int_equal(bloomfile_error_kind(EBUSY), BLOOMFILE_KIND_STATE);
    assert_int_equal(bloomfile_error_kind(EIO), BLOOMFILE_KIND_SYSTEM);
    assert_int_equal(bloomfile_error_kind(ENOENT), BLOOMFILE_KIND_SYSTEM);
}

TEST(error_of_a_later_version_has_a_kind)
{
    assert_int_equal(bloomfile_error_kind(-1299), BLOOMFILE_KIND_DAMAGED);
    assert_int_equal(bloomfile_error_kind(-1799), BLOOMFILE_KIND_CAPACITY);
}

TEST(error_of_a_callback_has_the_kind_system)
{
    static const int callers[] = { -1, -1099, -1800, INT_MIN, INT_MAX };
    for (size_t i = 0; i < sizeof callers / sizeof callers[0]; i++)
        assert_int_equal(bloomfile_error_kind(callers[i]), BLOOMFILE_KIND_SYSTEM);
}

TEST(the_invalid_member_is_named)
{
    bloomfile_filter *f;
    bloomfile_builder *b;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    assert_string_equal(bloomfile_invalid(), "");
    params.bits = 100;
    assert_error(bloomfile_builder_new(&b, &params), BLOOMFILE_EVALUE);
    assert_string_equal(bloomfile_invalid(), "bits");
    assert_error(bloomfile_open(&f, "x", ~0u), BLOOMFILE_EFLAGS);
    assert_string_equal(bloomfile_invalid(), "flags");
    assert_error(bloomfile_open(&f, "/", 0), EISDIR);
    assert_string_equal(bloomfile_invalid(), "flags");
    params.struct_size = 1;
    assert_error(bloomfile_builder_new(&b, &params), BLOOMFILE_ESTRUCTSIZE);
    assert_string_equal(bloomfile_invalid(), "struct_size");
}

TEST(error_0_is_called_no_error)
{
    assert_string_equal(bloomfile_strerror(0), "no error");
    assert_string_equal(bloomfile_errname(0), "OK");
}

TEST(errno_is_described_in_the_words_of_the_system)
{
    assert_string_equal(bloomfile_strerror(ENOENT), "No such file or directory");
    assert_string_equal(bloomfile_errname(ENOENT), "ENOENT");
    assert_string_equal(bloomfile_errname(ENOSPC), "ENOSPC");
}

/* The table has the name of every errno. */
TEST(each_errno_has_a_name_and_its_text_in_the_c_locale)
{
    for (int error = 1; error < 200; error++) {
        char unknown[32];
        snprintf(unknown, sizeof unknown, "Unknown error %d", error);
        const bool known = strcmp(strerror(error), unknown) != 0 &&
                           strcmp(strerror(error), "No error information") != 0;
        assert_string_equal(bloomfile_strerror(error), known ? strerror(error) : "unknown error");
#if !defined __GLIBC_PREREQ
#define HAS_NAMES_OF_ERRORS 0
#else
#define HAS_NAMES_OF_ERRORS __GLIBC_PREREQ(2, 32)
#endif

#if HAS_NAMES_OF_ERRORS
        const char *name = strerrorname_np(error);
        assert_string_equal(bloomfile_errname(error), name != NULL ? name : "UNKNOWN");
#endif
    }
}

TEST(an_unknown_error_is_called_unknown)
{
    static const int unknown[] = { -1, -1000, -1100, INT_MIN, INT_MAX, 9999 };
    for (size_t i = 0; i < ROWS(unknown); i++) {
        assert_string_equal(bloomfile_strerror(unknown[i]), "unknown error");
        assert_string_equal(bloomfile_errname(unknown[i]), "UNKNOWN");
    }
}

int main(void)
{
    return run_all(NULL, NULL);
}
