/* SPDX-License-Identifier: MIT
 * Length and range by the first byte. */
#include "format/utf8.h"

/* The length of a sequence by its first byte, and the range its second byte must lie in, which is
 * what rules out overlong forms, surrogates and everything above U+10FFFF. */
static unsigned sequence_length(uint8_t first, uint8_t *low, uint8_t *high)
{
    *low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : first == 0xC2 ? 0xA0 : 0x80;
    *high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (first >= 0x20 && first < 0x7F)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return 2;
    if (first >= 0xE0 && first <= 0xEF)
        return 3;
    if (first >= 0xF0 && first <= 0xF4)
        return 4;
    return 0;
}

bool utf8_is_clean(const uint8_t *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        uint8_t low, high;
        unsigned length = sequence_length(text[at], &low, &high);
        if (length == 0 || length > size - at)
            return false;
        if (length > 1 && (text[at + 1] < low || text[at + 1] > high))
            return false;
        for (unsigned i = 2; i < length; i++)
            if ((text[at + i] & 0xC0) != 0x80)
                return false;
        at += length;
    }
    return true;
}
