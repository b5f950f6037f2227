/* SPDX-License-Identifier: MIT
 * Lines as text: MARK<tab>INPUT:NUMBER:FILTER,FILTER<tab>LINE */
#include "bfquery/filters.h"
#include "cli/cli.h"
#include "keys/split.h"

#include <inttypes.h>
#include <string.h>

bool print_tells(const struct print *p)
{
    return p->marks || p->inputs || p->numbers || p->filters;
}

void print_check_names(const struct print *p)
{
    if (!p->filters)
        return;
    for (size_t i = 0; i < p->names->count; i++) {
        if (strpbrk(p->names->list[i].path, ",\t\n") != NULL)
            cli_usage("--names cannot print a name with a comma, a tab or a newline: '%s'",
                      p->names->list[i].path);
    }
}

static void put_text(struct batch *b, const char *text)
{
    batch_put(b, text, strlen(text));
}

static void put_place(const struct print *p, struct batch *b, uint64_t number)
{
    const char *input = b->piece.operand;
    char text[32];
    if (p->inputs) {
        put_text(b, strcmp(input, "-") == 0 ? "(standard input)" : input);
        put_text(b, ":");
    }
    if (p->numbers) {
        snprintf(text, sizeof(text), "%" PRIu64 ":", number);
        put_text(b, text);
    }
}

static void put_filters(const struct print *p, struct batch *b, size_t key)
{
    const char *between = "";
    for (size_t i = 0; i < p->names->count; i++) {
        if (!filters_has(b, i, key))
            continue;
        put_text(b, between);
        put_text(b, p->names->list[i].path);
        between = ",";
    }
}

/* The header has an empty mark and no filter names. */
static void put_header(const struct print *p, struct batch *b)
{
    if (p->marks)
        put_text(b, "\t");
    put_place(p, b, 1);
    if (p->filters)
        put_text(b, "\t");
    batch_put(b, b->piece.bytes, b->piece.header);
}

void print_header(const struct print *p, struct batch *b)
{
    if (b->piece.is_first_header)
        put_header(p, b);
}

struct print_place print_start(const struct batch *b)
{
    return (struct print_place){ .number = b->piece.line, .counted = b->piece.bytes };
}

void print_line(const struct print *p, struct batch *b, size_t key, struct print_place *at)
{
    const struct bloomfile_key line = batch_line(b, key);
    const uint8_t *start = line.data;
    if (p->numbers)
        at->number += split_count(&b->split, at->counted, (size_t)(start - at->counted));
    at->counted = start;
    if (p->marks)
        put_text(b, b->chosen[key] ? "1\t" : "0\t");
    put_place(p, b, at->number);
    if (p->filters) {
        put_filters(p, b, key);
        put_text(b, "\t");
    }
    batch_put(b, start, line.size);
}

void print_gather(const struct print *p, struct batch *b)
{
    struct print_place at = print_start(b);
    b->text_size = 0;
    print_header(p, b);
    for (size_t i = 0; i < b->count; i++) {
        if (b->chosen[i] || p->marks)
            print_line(p, b, i, &at);
    }
}
