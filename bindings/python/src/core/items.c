/* SPDX-License-Identifier: MIT
 * Two equal keys must have equal bytes, or one of them is not found. */
#include "items.h"

#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define THIS_ORDER  '<'
#define OTHER_ORDER '>'
#else
#define THIS_ORDER  '>'
#define OTHER_ORDER '<'
#endif

/* Of one code, in the order of bytes that is in force. */
static const char *unfit(char code, char order)
{
    if (strchr("cbBs?", code) != NULL)
        return NULL;
    if (strchr("hHiIlLqQnNefd", code) != NULL)
        return order == '<' ? NULL
                            : "its numbers are big-endian, and would be other keys elsewhere";
    if (code == 'x')
        return "it has padding, in which anything may be: pack its fields";
    if (code == 'u' || code == 'w')
        return "its text is UTF-32, and keys are UTF-8: pass a list of str";
    if (strchr("OPXZ&", code) != NULL)
        return "it has addresses of objects, not their values: pass a list";
    return "items of this format have no bytes of their own";
}

/* Behind a name, ":name:", or the shape of an inner array, "(2,3)". */
static const char *behind(const char *at, char end)
{
    const char *last = strchr(at + 1, end);
    return last != NULL ? last + 1 : at + strlen(at);
}

const char *items_unfit(const char *format, Py_ssize_t size)
{
    char order = THIS_ORDER;
    const char *at = format != NULL ? format : "B";
    if (size < 1)
        return "its items have no bytes";
    while (*at != '\0') {
        const char c = *at;
        if (c == ':' || c == '(') {
            at = behind(at, c == ':' ? ':' : ')');
            continue;
        }
        if (c == '@' || c == '=' || c == '^')
            order = THIS_ORDER;
        else if (c == '<')
            order = '<';
        else if (c == '>' || c == '!')
            order = '>';
        else if (strchr("0123456789 T{}", c) == NULL && unfit(c, order) != NULL)
            return unfit(c, order);
        at++;
    }
    return NULL;
}

bool items_are(const Py_buffer *view, size_t size, const char *codes)
{
    const char *format = view->format != NULL ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == THIS_ORDER)
        format++;
    return (size_t)view->itemsize == size && format[0] != '\0' && format[1] == '\0' &&
           strchr(codes, format[0]) != NULL;
}
