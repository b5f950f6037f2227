/* SPDX-License-Identifier: MIT
 * Conversion of numbers to and from text. */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Reads digits up to the first other character. */
static bool read_digits(const char **text, uint64_t *out)
{
    const char *at = *text;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    }
    bool any = at != *text;
    *text = at;
    *out = value;
    return any;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The factor that a suffix stands for; 0 if it is unknown or too large. */
static uint64_t read_suffix(const char *text)
{
    static const struct {
        char suffix[3];
        uint64_t factor;
    } units[] = {
        { "", 1 },
        { "k", 1000 },
        { "K", 1000 }, /* 1024 in some tools; here M, G and T are powers of 1000 too */
        { "m", 1000 * 1000 },
        { "M", 1000 * 1000 },
        { "g", 1000 * 1000 * 1000 },
        { "G", 1000 * 1000 * 1000 },
        { "t", 1000ULL * 1000 * 1000 * 1000 },
        { "T", 1000ULL * 1000 * 1000 * 1000 },
        { "Ki", 1ULL << 10 },
        { "Mi", 1ULL << 20 },
        { "Gi", 1ULL << 30 },
        { "Ti", 1ULL << 40 },
    };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(text, units[i].suffix) == 0)
            return units[i].factor;
    }
    uint64_t exponent, factor = 1;
    bool is_exponent = *text++ == 'e' && strlen(text) <= 2 && read_digits(&text, &exponent);
    if (!is_exponent || *text != '\0' || exponent > 19)
        return 0;
    while (exponent-- > 0)
        factor *= 10;
    return factor;
}

struct decimal {
    uint64_t digits;   /* the digits without the point */
    unsigned decimals; /* number of digits after the point */
    bool overflow;
};

/* Reads "1_000.50" up to the first other character. An underscore or the point must be
 * between two digits. */
static bool read_decimal(const char **text, struct decimal *d)
{
    const char *at = *text;
    bool has_point = false;
    *d = (struct decimal){ 0 };
    if (!is_digit(*at))
        return false;
    for (; is_digit(*at) || *at == '_' || (*at == '.' && !has_point); at++) {
        if (!is_digit(*at) && (!is_digit(at[-1]) || !is_digit(at[1])))
            return false;
        has_point |= *at == '.';
        if (!is_digit(*at))
            continue;
        d->decimals += has_point;
        d->overflow |= __builtin_mul_overflow(d->digits, 10, &d->digits) ||
                       __builtin_add_overflow(d->digits, (uint64_t)(*at - '0'), &d->digits);
    }
    *text = at;
    return true;
}

enum cli_count cli_parse_count(const char *text, uint64_t *out)
{
    struct decimal d;
    const bool begins = is_digit(text[0]), is_decimal = read_decimal(&text, &d);
    uint64_t factor = is_decimal ? read_suffix(text) : 0;
    if (factor == 0)
        return begins ? CLI_COUNT_SUFFIX : CLI_COUNT_OTHER;
    for (; d.decimals > 0 && factor % 10 == 0; d.decimals--)
        factor /= 10;
    if (d.overflow || __builtin_mul_overflow(d.digits, factor, &d.digits))
        return CLI_COUNT_OTHER;
    for (; d.decimals > 0; d.decimals--) {
        if (d.digits % 10 != 0)
            return CLI_COUNT_NOT_WHOLE;
        d.digits /= 10;
    }
    *out = d.digits;
    return CLI_COUNT_GOOD;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits) & 15;
}

bool cli_parse_u64(const char *text, uint64_t *out)
{
    if (text[0] != '0' || text[1] != 'x') {
        uint64_t value;
        if (!read_digits(&text, &value) || *text != '\0')
            return false;
        *out = value;
        return true;
    }
    size_t digits = strlen(text + 2);
    uint64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = hex_digit(text[2 + i]);
        if (digit < 0)
            return false;
        value = value << 4 | (uint64_t)digit;
    }
    if (digits < 1 || digits > 16)
        return false;
    *out = value;
    return true;
}

bool cli_parse_rate(const char *text, double *out)
{
    char fraction[64], *end;
    size_t digits = strspn(text, "0123456789.");
    if (digits > 0 && strcmp(text + digits, "%") == 0) { /* the same double as "0.01" */
        if (snprintf(fraction, sizeof(fraction), "%.*se-2", (int)digits, text) >=
            (int)sizeof(fraction))
            return false;
        text = fraction;
    }
    if (text[0] == '\0' || text[strspn(text, "0123456789.eE-")] != '\0' || text[0] == '-')
        return false;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && value < 1))
        return false;
    *out = value;
    return true;
}

bool cli_parse_hex(const char *text, uint8_t *out, size_t size)
{
    size_t digits = strlen(text);
    if (digits == 0 || digits % 2 != 0 || digits / 2 > size)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (hex_digit(text[i]) < 0)
            return false;
    }
    memset(out, 0, size);
    for (size_t i = 0; i < digits; i += 2)
        out[i / 2] = (uint8_t)(hex_digit(text[i]) << 4 | hex_digit(text[i + 1]));
    return true;
}

char *cli_bytes(char *buffer, size_t size, uint64_t bytes)
{
    double value = (double)bytes;
    unsigned prefix = 0;
    for (; value >= 1023.95 && prefix < 6; prefix++)
        value /= 1024;
    if (bytes < 1024)
        snprintf(buffer, size, "%" PRIu64 " byte%s", bytes, cli_s(bytes));
    else
        snprintf(buffer, size, "%.1f %ciB", value, "?KMGTPE"[prefix]);
    return buffer;
}

char *cli_percent(char *buffer, size_t size, double share)
{
    snprintf(buffer, size, "%.3g%%", 100 * share);
    return buffer;
}

const char *cli_s(uint64_t count)
{
    return count == 1 ? "" : "s";
}
