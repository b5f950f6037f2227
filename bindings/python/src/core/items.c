/* SPDX-License-Identifier: MIT
 * Checks of buffer formats: equal keys must have equal bytes, or lookups would miss one of them. */
#include "items.h"

#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define THIS_ORDER  '<'
#define OTHER_ORDER '>'
#else
#define THIS_ORDER  '>'
#define OTHER_ORDER '<'
#endif

/* One item of the format, or a part of one. */
struct scan {
    const char *at;
    char order;       /* of bytes: '<' or '>' */
    bool native;      /* sizes are those of this machine's C */
    size_t long_size; /* of 'l' where they are not: 4, but ctypes has its native one there too */
    const char *why;  /* not NULL: its bytes are not its value */
};

static const char *unfit(char code, char order)
{
    if (strchr("cbBs?hHiIlLqQnN", code) != NULL)
        return order == '<' || strchr("cbBs?", code) != NULL
                   ? NULL
                   : "its numbers are big-endian, and would be different keys on other machines";
    if (strchr("efdgF", code) != NULL)
        return "0.0 equals -0.0 and has other bytes: view it as integers, if you mean its bytes";
    if (code == 'x')
        return "it has padding, with unknown contents: pack its fields";
    if (code == 'u' || code == 'w')
        return "its text is UTF-32, and keys are UTF-8: pass a list of str";
    if (strchr("OPX&", code) != NULL)
        return "it has addresses of objects, not their values: pass a list";
    return "items of this format have no bytes of their own";
}

static size_t code_size(const struct scan *scan, char code)
{
    if (strchr("cbBs?", code) != NULL)
        return 1;
    if (strchr("hH", code) != NULL)
        return 2;
    if (strchr("iI", code) != NULL)
        return 4;
    if (strchr("lL", code) != NULL)
        return scan->native ? sizeof(long) : scan->long_size;
    return 8;
}

/* Returns whether it was an order of bytes. */
static bool take_order(struct scan *scan)
{
    const char c = *scan->at;
    if (c == '\0' || strchr("@=^<>!", c) == NULL)
        return false;
    scan->native = c == '@' || c == '^';
    scan->order = c == '<' ? '<' : c == '>' || c == '!' ? '>' : THIS_ORDER;
    scan->at++;
    return true;
}

static size_t take_number(struct scan *scan)
{
    size_t number = 0;
    for (; *scan->at >= '0' && *scan->at <= '9'; scan->at++)
        if (number < SIZE_MAX / 100)
            number = number * 10 + (size_t)(*scan->at - '0');
    return number;
}

/* Reads a repeat count: "5", "(2,3)". Limits it, because no buffer has an item that large. */
static size_t take_count(struct scan *scan)
{
    size_t count = 1;
    for (;; scan->at++) {
        const char c = *scan->at;
        if (c >= '0' && c <= '9') {
            const size_t number = take_number(scan);
            if (__builtin_mul_overflow(count, number, &count))
                count = SIZE_MAX;
            scan->at--;
        } else if (c == '\0' || strchr("(), ", c) == NULL) {
            if (!take_order(scan))
                return count;
            scan->at--;
        }
    }
}

static void take_name(struct scan *scan)
{
    if (*scan->at != ':')
        return;
    const char *end = strchr(scan->at + 1, ':');
    scan->at = end != NULL ? end + 1 : scan->at + strlen(scan->at);
}

#define DEEPEST 32 /* structs in structs */

/* The bytes of all items up to the end, or to that of the struct. */
static size_t take_items(struct scan *scan, unsigned depth)
{
    size_t sum = 0;
    while (scan->why == NULL) {
        const size_t count = take_count(scan);
        const char c = *scan->at;
        size_t size = 0;
        if (c == '\0' || c == '}')
            break;
        scan->at++;
        if (c != 'T' || *scan->at != '{') {
            scan->why = unfit(c, scan->order);
            size = code_size(scan, c);
        } else if (depth == DEEPEST) {
            scan->why = "its structs are nested too deeply";
        } else {
            scan->at++;
            size = take_items(scan, depth + 1);
            scan->at += *scan->at == '}';
        }
        take_name(scan);
        if (__builtin_mul_overflow(size, count, &size) || __builtin_add_overflow(sum, size, &sum))
            sum = SIZE_MAX;
    }
    return sum;
}

/* "6x" alone is what NumPy calls void: bytes. */
static bool is_void(const char *format)
{
    return strspn(format, "0123456789") + 1 == strlen(format) && format[strlen(format) - 1] == 'x';
}

const char *items_unfit(const char *format, Py_ssize_t size)
{
    if (format == NULL || is_void(format))
        return NULL;
    for (size_t long_size = 4; long_size <= 8; long_size += 4) {
        struct scan scan = { format, THIS_ORDER, true, long_size, NULL };
        const size_t sum = take_items(&scan, 0);
        if (scan.why != NULL)
            return scan.why;
        if (sum == (size_t)size)
            return NULL;
    }
    return "it has bytes outside its fields: pack its fields";
}

bool items_are(const Py_buffer *view, size_t size, const char *codes)
{
    const char *format = view->format != NULL ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == THIS_ORDER)
        format++;
    return (size_t)view->itemsize == size && format[0] != '\0' && format[1] == '\0' &&
           strchr(codes, format[0]) != NULL;
}

Py_ssize_t items_integers(const Py_buffer *view)
{
    static const char *const codes[] = { "Bb", "Hh", "ILil", "QLNqln" };
    for (unsigned i = 0; i < 4; i++)
        if (items_are(view, (size_t)1 << i, codes[i]))
            return items_are(view, (size_t)1 << i, "bhilqn") ? -view->itemsize : view->itemsize;
    return 0;
}
