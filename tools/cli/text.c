/* SPDX-License-Identifier: MIT
 * Text that is safe to print on a terminal; names of layouts and states; formatted numbers. */
#include "cli/text.h"

#include "cli/cli.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_no_memory(void)
{
    cli_fail(ENOMEM, "cannot continue");
}

/* The length of the well-formed UTF-8 sequence (RFC 3629) at `at`, or 0. */
static size_t decode(const uint8_t *at, size_t left, uint32_t *point)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xC0 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    if (size == 0 || size > left || at[0] > 0xF4)
        return 0;
    *point = size == 1 ? at[0] : at[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        *point = *point << 6 | (at[i] & 0x3F);
    }
    bool surrogate = *point >= 0xD800 && *point <= 0xDFFF;
    return *point < least[size] || surrogate || *point > 0x10FFFF ? 0 : size;
}

/* Whether a character is visible text: not a control character, a line separator, a direction mark
 * or a noncharacter. */
static bool is_harmless(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } harmful[] = { { 0x00, 0x1F },     { 0x7F, 0x9F },     { 0x200E, 0x200F },
                    { 0x2028, 0x202E }, { 0x2066, 0x2069 }, { 0xFEFF, 0xFEFF },
                    { 0xFFF9, 0xFFFB }, { 0xFFFE, 0xFFFF }, { 0xE0000, 0xE007F } };
    for (size_t i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++)
        if (point >= harmful[i].first && point <= harmful[i].last)
            return false;
    return true;
}

static char *make_safe(const void *bytes, size_t size, bool utf8, bool reversible)
{
    const uint8_t *at = bytes, *end = at + size;
    char *text = malloc(4 * size + 1), *out = text;
    if (text == NULL)
        text_no_memory();
    while (at < end) {
        uint32_t point;
        size_t length = decode(at, (size_t)(end - at), &point);
        bool is_mark = reversible && *at == '\\';
        if (length > 0 && is_harmless(point) && (utf8 || point < 0x80) && !is_mark) {
            memcpy(out, at, length);
            out += length;
            at += length;
        } else {
            out += sprintf(out, "\\%03o", *at++);
        }
    }
    *out = '\0';
    return text;
}

char *text_safe(const void *bytes, size_t size, bool utf8)
{
    return make_safe(bytes, size, utf8, false);
}

char *text_reversible(const void *bytes, size_t size)
{
    return make_safe(bytes, size, true, true);
}

bool text_is_utf8(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint32_t point;
    for (size_t length; size > 0; at += length, size -= length) {
        length = decode(at, size, &point);
        if (length == 0)
            return false;
    }
    return true;
}

char *text_count(char *text, size_t size, uint64_t count)
{
    char digits[24], grouped[32];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    char *out = grouped;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    snprintf(text, size, "%s", grouped);
    return text;
}

char *text_double(char *text, size_t size, double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (!isfinite(value) || strtod(text, NULL) == value)
            break;
    }
    return text;
}

static char *name_or_number(char *text, size_t size, const char *name, uint32_t value)
{
    if (name != NULL)
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "unknown (%" PRIu32 ")", value);
    return text;
}

char *text_layout(char *text, size_t size, uint32_t layout)
{
    return name_or_number(text, size, bloomfile_layout_name(layout), layout);
}

char *text_state(char *text, size_t size, uint32_t state)
{
    static const char *const names[] = { [BLOOMFILE_STATE_LIVE] = "live",
                                         [BLOOMFILE_STATE_SEALED] = "sealed",
                                         [BLOOMFILE_STATE_POISONED] = "poisoned" };
    const bool known = state < sizeof(names) / sizeof(names[0]);
    return name_or_number(text, size, known ? names[state] : NULL, state);
}
