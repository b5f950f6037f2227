/* SPDX-License-Identifier: MIT
 * The text of format-spec.md, in parts. */
#include "spec_text.h"

#include <ctype.h>
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

struct bytes spec_all(void)
{
    return spec;
}

struct bytes spec_vectors(void)
{
    static const char *const sections[] = { "18", "Annex B:", "Annex D:" };
    struct bytes all = { NULL, 0 };
    for (size_t i = 0; i < ROWS(sections); i++) {
        struct bytes text = spec_section(sections[i]);
        all.data = realloc(all.data, all.size + text.size + 1);
        assert_non_null(all.data);
        memcpy(all.data + all.size, text.data, text.size + 1);
        all.size += text.size;
        free(text.data);
    }
    return all;
}

size_t spec_bytes(const char *text, uint8_t *bytes, size_t room)
{
    size_t count = 0;
    for (; isxdigit(text[0]) && isxdigit(text[1]) && !isalnum(text[2]); text += 2) {
        assert_true(count < room);
        bytes[count++] = (uint8_t)hex((char[]){ text[0], text[1], '\0' });
        if (text[2] != ' ')
            break;
        text++;
    }
    return count;
}

struct bytes spec_whole_file(void)
{
    struct bytes text = spec_section("19");
    struct bytes image = { calloc(1, 4096), 0 };
    assert_non_null(image.data);
    bool ended = false, zeros = false;
    for_each_line(line, text)
    {
        unsigned offset;
        int length;
        if (strcmp(line, "*") == 0)
            zeros = true;
        if (ended || sscanf(line, "%4X: %n", &offset, &length) != 1)
            continue;
        assert_true(zeros ? offset > image.size : offset == image.size);
        assert_true(offset < 4000);
        zeros = false;
        ended = strcmp(line + length, "end") == 0;
        image.size = offset + (ended ? 0 : spec_bytes(line + length, image.data + offset, 96));
    }
    assert_true(ended);
    free(text.data);
    return image;
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
