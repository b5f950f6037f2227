/* SPDX-License-Identifier: MIT
 * The texts of the specification: format-spec.md, its parts in doc/format, tests/vectors.tsv. */
#include "spec_text.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

static const char *root;

void spec_load(const char *folder)
{
    root = folder;
}

static struct bytes read_text(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return read_file(path);
}

struct bytes spec_section(const char *file, const char *number)
{
    struct bytes all = read_text(file);
    if (number == NULL)
        return all;
    char heading[16];
    snprintf(heading, sizeof heading, "\n## %s ", number);
    char *start = strstr((char *)all.data, heading);
    assert_non_null(start);
    start = strchr(start + 1, '\n') + 1;
    const char *end = strstr(start, "\n## ");
    size_t size = end != NULL ? (size_t)(end - start) + 1 : strlen(start);
    struct bytes text = { (uint8_t *)strndup(start, size), size };
    assert_non_null(text.data);
    free(all.data);
    return text;
}

struct bytes spec_all(void)
{
    char pattern[4096];
    glob_t parts;
    struct bytes all = read_text("format-spec.md");
    snprintf(pattern, sizeof pattern, "%s/doc/format/*.md", root);
    assert_int_equal(glob(pattern, 0, NULL, &parts), 0);
    assert_true(parts.gl_pathc >= 8);
    for (size_t i = 0; i < parts.gl_pathc; i++) {
        struct bytes text = read_text(parts.gl_pathv[i] + strlen(root) + 1);
        all.data = realloc(all.data, all.size + text.size + 1);
        assert_non_null(all.data);
        memcpy(all.data + all.size, text.data, text.size + 1);
        all.size += text.size;
        free(text.data);
    }
    globfree(&parts);
    return all;
}

struct bytes spec_vectors(void)
{
    return read_text("tests/vectors.tsv");
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
    struct bytes text = spec_section(SPEC_CORE, "4");
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

struct vectors vectors_of(const char *kind, unsigned least)
{
    const struct bytes text = spec_vectors();
    return (struct vectors){ text, kind, least, (char *)text.data, NULL };
}

bool next_vector(struct vectors *all)
{
    const size_t size = strlen(all->kind);
    while ((all->line = strsep(&all->rest, "\n")) != NULL)
        if (strncmp(all->line, all->kind, size) == 0 && all->line[size] == '\t') {
            all->least -= all->least > 0;
            return true;
        }
    assert_int_equal(all->least, 0);
    free(all->text.data);
    return false;
}

uint64_t hex(const char *digits)
{
    return strtoull(digits, NULL, 16);
}
