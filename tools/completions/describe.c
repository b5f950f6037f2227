/* SPDX-License-Identifier: MIT
 *
 * Stands in for getopt in a tool that is built to tell its command line instead of obeying it:
 * options_parse() prints the table as JSON. What makes the completions reads that, so that the
 * shells know the options which the tool itself goes by.
 */
#include "shared/cli.h"
#include "shared/options.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    [OPTIONS_UNSAID] = "number",   [OPTIONS_A_TEXT] = "text",   [OPTIONS_A_FILE] = "file",
    [OPTIONS_A_FILTER] = "filter", [OPTIONS_A_PATCH] = "patch", [OPTIONS_A_FOLDER] = "folder",
};

static void print_string(const char *text)
{
    putchar('"');
    for (; text[0] != '\0'; text++) {
        if (text[0] == '\n')
            printf("\\n");
        else if (text[0] == '"' || text[0] == '\\')
            printf("\\%c", text[0]);
        else
            putchar(text[0]);
    }
    putchar('"');
}

static void print_member(const char *name, const char *text)
{
    printf("\"%s\": ", name);
    print_string(text);
    printf(", ");
}

static void print_words(const struct options_entry *e)
{
    const char *word, *between = "";
    printf("\"words\": [");
    for (uint32_t i = 1; e->to.kind == OPTIONS_IS_WORD && (word = e->to.word(i)) != NULL; i++) {
        if (word[0] == '\0')
            continue;
        printf("%s", between);
        print_string(word);
        between = ", ";
    }
    if (e->special != NULL)
        print_string(e->special);
    printf("]");
}

/* A value that nobody has said anything about would be completed as nothing, without a word. */
static void check(const struct options_entry *e)
{
    const bool is_any = e->to.kind == OPTIONS_IS_STRING || e->to.kind == OPTIONS_IS_CALL;
    if (is_any && e->value == OPTIONS_UNSAID)
        cli_fail(0, "--%s lacks its kind of value: .value = OPTIONS_A_FILE or the like", e->name);
}

static void print_entry(const struct options_entry *e)
{
    const char letter[] = { e->letter, '\0' }, rival[] = { e->rival, '\0' };
    const bool ends = e->to.kind == OPTIONS_IS_HELP || e->to.kind == OPTIONS_IS_VERSION;
    check(e);
    printf("  {");
    print_member("letter", letter);
    print_member("name", e->name);
    print_member("metavar", e->metavar != NULL ? e->metavar : "");
    print_member("help", e->help);
    print_member("rival", rival);
    print_member("value", kinds[e->value]);
    printf("\"gathers\": %s, ", e->to.kind == OPTIONS_IS_CALL ? "true" : "false");
    printf("\"ends\": %s, ", ends ? "true" : "false");
    print_words(e);
    printf("}");
}

int options_parse(const struct options *o, void *request, int argc, char **argv)
{
    const char *between = "\n";
    (void)request, (void)argc, (void)argv;
    printf("{\"usages\": [");
    for (int i = 0; i < OPTIONS_USAGES && o->usages[i] != NULL; i++) {
        printf("%s", i > 0 ? ", " : "");
        print_string(o->usages[i]);
    }
    printf("], \"operands\": {");
    for (int i = 0; i < OPTIONS_OPERANDS && o->operands[i].name != NULL; i++) {
        printf("%s", i > 0 ? ", " : "");
        print_string(o->operands[i].name);
        printf(": ");
        print_string(kinds[o->operands[i].value]);
    }
    printf("}, \"options\": [");
    for (int i = 0; i < OPTIONS_MOST; i++) {
        if (o->entries[i].name == NULL)
            continue;
        printf("%s", between);
        print_entry(&o->entries[i]);
        between = ",\n";
    }
    printf("\n]}\n");
    cli_close_stdout();
    exit(0);
}
