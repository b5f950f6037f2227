/* SPDX-License-Identifier: MIT
 * Bytes and numbers as text for people and for programs. */
#ifndef TOOLS_CLI_TEXT_H
#define TOOLS_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes from a file as text that no terminal obeys: control characters, what is not UTF-8,
 * invisible characters that change the order of others, and unless `utf8` all that is not ASCII
 * become \ooo. From malloc(); ends the program for lack of memory. */
char *text_safe(const void *bytes, size_t size, bool utf8);

/* The same for programs: with `utf8`, and a backslash as \134 too, so that it can be undone. */
char *text_reversible(const void *bytes, size_t size);

bool text_is_utf8(const void *bytes, size_t size);

/* "1,234,567"; the shortest decimal that reads back as the same number. Return text. */
char *text_count(char *text, size_t size, uint64_t count);
char *text_double(char *text, size_t size, double value);

/* "blocked", or "unknown (7)". Return text. */
char *text_layout(char *text, size_t size, uint32_t layout);
char *text_state(char *text, size_t size, uint32_t state);

/* Ends the program, for lack of memory. */
_Noreturn void text_no_memory(void);

#endif
