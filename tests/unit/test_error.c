/* SPDX-License-Identifier: MIT
 * Every error has its own value, name and text. */
#include "support.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

static const struct {
    const char *name;
    int value;
    const char *text;
} errors[] = {
#define ROW(name, value, text) { #name, value, text },
    BLOOMFILE_ERRORS(ROW)
};

TEST(every_error_has_its_own_value_name_and_text)
{
    for (size_t i = 0; i < ROWS(errors); i++) {
        assert_true(errors[i].value < 0);
        assert_string_equal(bloomfile_errname(errors[i].value), errors[i].name);
        assert_string_equal(bloomfile_strerror(errors[i].value), errors[i].text);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(errors[i].value, errors[j].value);
            assert_string_not_equal(errors[i].name, errors[j].name);
            assert_string_not_equal(errors[i].text, errors[j].text);
        }
    }
}

TEST(the_values_are_part_of_the_abi)
{
    assert_int_equal(BLOOMFILE_EEMPTY, -1001);
    assert_int_equal(BLOOMFILE_EMAGIC, -1003);
    assert_int_equal(BLOOMFILE_EHASHCOUNT, -1012);
    assert_int_equal(BLOOMFILE_ERECORD, -1021);
    assert_int_equal(BLOOMFILE_EPAGE, -1025);
    assert_int_equal(BLOOMFILE_EUNREACHABLE, -1029);
    assert_int_equal(BLOOMFILE_EUNCLEAN, -1030);
    assert_int_equal(BLOOMFILE_EABSENT, -1034);
    assert_int_equal(BLOOMFILE_EISCOUNTING, -1041);
    assert_int_equal(BLOOMFILE_ENOTCOMPACT, -1042);
}

TEST(no_error_is_called_so)
{
    assert_string_equal(bloomfile_strerror(0), "no error");
    assert_string_equal(bloomfile_errname(0), "OK");
}

TEST(an_errno_has_the_system_s_words)
{
    assert_string_equal(bloomfile_strerror(ENOENT), "No such file or directory");
    assert_string_equal(bloomfile_errname(ENOENT), "ENOENT");
    assert_string_equal(bloomfile_errname(ENOSPC), "ENOSPC");
}

TEST(an_unknown_error_is_called_unknown)
{
    static const int unknown[] = { -1, -1000, -1100, INT_MIN, INT_MAX, 9999 };
    for (size_t i = 0; i < ROWS(unknown); i++) {
        assert_string_equal(bloomfile_strerror(unknown[i]), "unknown error");
        assert_string_equal(bloomfile_errname(unknown[i]), "UNKNOWN");
    }
}

TEST(the_version_is_that_of_the_header)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", BLOOMFILE_VERSION_MAJOR, BLOOMFILE_VERSION_MINOR,
             BLOOMFILE_VERSION_PATCH);
    assert_string_equal(bloomfile_version(), version);
}

int main(void)
{
    return run_all(NULL, NULL);
}
