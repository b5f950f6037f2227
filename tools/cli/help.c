/* SPDX-License-Identifier: MIT
 * The text of --help: two columns, in lines of at most 80 characters. */
#include "cli/cli.h"
#include "cli/options.h"

#include <bsd/stdlib.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 80,
    COLUMN = 24, /* where what an option does begins */
    GAP = 2
};

/* Prints text, of which the first line begins at column `at` and each other one at `indent`. */
static void wrap(FILE *out, const char *text, size_t at, size_t indent)
{
    size_t column = at;
    while (text[0] != '\0') {
        const size_t size = strcspn(text, " \n");
        const bool is_first = column == at || column == indent;
        if (!is_first && column + 1 + size > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = at = indent;
        } else if (!is_first) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)size, text);
        column += size;
        text += size;
        if (text[0] == '\n') {
            fprintf(out, "\n%*s", (int)indent, "");
            column = at = indent;
        }
        text += text[0] != '\0';
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const struct options_entry *e)
{
    char letter[] = "    ";
    if (e->letter != 0)
        snprintf(letter, sizeof(letter), "-%c, ", e->letter);
    const bool has_value = e->metavar != NULL;
    const int width = fprintf(out, "  %s--%s%s%s", letter, e->name, has_value ? " " : "",
                              has_value ? e->metavar : "");
    if (width + GAP > COLUMN)
        fputc('\n', out);
    fprintf(out, "%*s", width + GAP > COLUMN ? COLUMN : COLUMN - width, "");
    wrap(out, e->help, COLUMN, COLUMN);
}

void options_help(const struct options *o)
{
    struct cli_page page;
    cli_page_start(&page);
    for (int i = 0; i < OPTIONS_USAGES && o->usages[i] != NULL; i++)
        fprintf(page.out, "%s %s %s\n", i == 0 ? "usage:" : "      ", getprogname(), o->usages[i]);
    wrap(page.out, o->about, 0, 0);
    for (int i = 0; i < OPTIONS_MOST && o->entries[i].help != NULL; i++) {
        const bool is_title = o->entries[i].name == NULL;
        if (is_title)
            fprintf(page.out, "\n%s\n", o->entries[i].help);
        else
            print_option(page.out, &o->entries[i]);
    }
    fputc('\n', page.out);
    wrap(page.out, o->notes, 0, 0);
    fprintf(page.out, "\nExamples:\n%s", o->examples);
    cli_page_print(&page);
    cli_close_stdout();
    exit(0);
}
