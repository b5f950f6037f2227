/* SPDX-License-Identifier: MIT */
#include "spec_text.h"

#include <stdio.h>
#include <stdlib.h>

static struct bytes spec;

void spec_load(const char *path)
{
    spec = read_file(path);
}

int spec_release(void **state)
{
    (void)state;
    free(spec.data);
    return 0;
}

struct bytes spec_section(const char *number)
{
    char heading[16];
    snprintf(heading, sizeof heading, "\n## %s ", number);
    char *start = strstr((char *)spec.data, heading);
    assert_non_null(start);
    start = strchr(start + 1, '\n') + 1;
    const char *end = strstr(start, "\n## ");
    size_t size = end != NULL ? (size_t)(end - start) + 1 : strlen(start);
    struct bytes text = { (uint8_t *)strndup(start, size), size };
    assert_non_null(text.data);
    return text;
}

unsigned lines_beginning_with(const char *word, struct bytes text)
{
    unsigned count = 0;
    for (const char *at = (char *)text.data; (at = strstr(at, word)) != NULL; at++)
        count += at[-1] == '\n';
    return count;
}

uint64_t hex(const char *digits)
{
    return strtoull(digits, NULL, 16);
}
