/* SPDX-License-Identifier: MIT
 * All tools in a single program, which runs the tool named by argv[0]. */
#include <stdio.h>
#include <string.h>

#include "tool_list.h"

#define TOOL(name) int name##_main(int argc, char **argv);
TOOLS
#undef TOOL

#define TOOL(name) { #name, name##_main },
static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} tools[] = { TOOLS };

int main(int argc, char **argv)
{
    const char *called = argc > 0 ? argv[0] : "";
    const char *slash = strrchr(called, '/');
    const char *name = slash != NULL ? slash + 1 : called;
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        if (strcmp(tools[i].name, name) == 0)
            return tools[i].main(argc, argv);
    fprintf(stderr,
            "%s: cannot run: this is not the name of a tool (call it bfquery, bfcreate, ...)\n",
            name);
    return 2;
}
