/* SPDX-License-Identifier: MIT
 *
 * The command line of a tool as JSON.
 *
 * This file replaces cli/options.c in a tool built for the completions: options_parse() prints the
 * table instead of parsing. So the completions always match the options that the tool accepts.
 */
#include "cli/cli.h"
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    [OPTIONS_UNSAID] = "number",   [OPTIONS_A_TEXT] = "text",   [OPTIONS_A_FILE] = "file",
    [OPTIONS_A_FILTER] = "filter", [OPTIONS_A_PATCH] = "patch", [OPTIONS_A_FOLDER] = "folder",
};

static void print_string(const char *text)
{
    cli_print("%c", '"');
    for (; text[0] != '\0'; text++) {
        if (text[0] == '\n')
            cli_print("\\n");
        else if (text[0] == '"' || text[0] == '\\')
            cli_print("\\%c", text[0]);
        else
            cli_print("%c", text[0]);
    }
    cli_print("%c", '"');
}

static void print_member(const char *name, const char *text)
{
    cli_print("\"%s\": ", name);
    print_string(text);
    cli_print(", ");
}

static void print_words(const struct options_entry *e)
{
    const char *word, *between = "";
    cli_print("\"words\": [");
    for (uint32_t i = 1; e->to.kind == OPTIONS_IS_WORD && (word = e->to.word(i)) != NULL; i++) {
        if (word[0] == '\0')
            continue;
        cli_print("%s", between);
        print_string(word);
        between = ", ";
    }
    if (e->special != NULL)
        print_string(e->special);
    cli_print("]");
}

/* Refuses a string without a kind of value. The shells would silently complete it as nothing. */
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
    cli_print("  {");
    print_member("letter", letter);
    print_member("name", e->name);
    print_member("metavar", e->metavar != NULL ? e->metavar : "");
    print_member("help", e->help);
    print_member("rival", rival);
    print_member("value", kinds[e->value]);
    cli_print("\"gathers\": %s, ", e->to.kind == OPTIONS_IS_CALL ? "true" : "false");
    cli_print("\"ends\": %s, ", ends ? "true" : "false");
    print_words(e);
    cli_print("}");
}

int options_parse(const struct options *o, void *request, int argc, char **argv)
{
    const char *between = "\n";
    (void)request, (void)argc, (void)argv;
    cli_print("{\"usages\": [");
    for (int i = 0; i < OPTIONS_USAGES && o->usages[i] != NULL; i++) {
        cli_print("%s", i > 0 ? ", " : "");
        print_string(o->usages[i]);
    }
    cli_print("], \"operands\": {");
    for (int i = 0; i < OPTIONS_OPERANDS && o->operands[i].name != NULL; i++) {
        cli_print("%s", i > 0 ? ", " : "");
        print_string(o->operands[i].name);
        cli_print(": ");
        print_string(kinds[o->operands[i].value]);
    }
    cli_print("}, \"options\": [");
    for (int i = 0; i < OPTIONS_MOST; i++) {
        if (o->entries[i].name == NULL)
            continue;
        cli_print("%s", between);
        print_entry(&o->entries[i]);
        between = ",\n";
    }
    cli_print("\n]}\n");
    cli_close_stdout();
    exit(0);
}
