/* SPDX-License-Identifier: MIT
 * Bytes and numbers as text for people and for programs. */
#ifndef TOOLS_CLI_TEXT_H
#define TOOLS_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes from a file as text that is safe to print on a terminal. These become \ooo: control
 * characters, invalid UTF-8, invisible characters that reorder other characters, and without
 * `utf8` every byte that is not ASCII. The result is from malloc(). Running out of memory
 * ends the program. */
char *text_safe(const void *bytes, size_t size, bool utf8);

/* text_safe() for programs: UTF-8 is kept, and a backslash becomes \134, so that the text can be
 * converted back. */
char *text_reversible(const void *bytes, size_t size);

bool text_is_utf8(const void *bytes, size_t size);

/* "1,234,567"; the shortest decimal that reads back as the same number. Both return text. */
char *text_count(char *text, size_t size, uint64_t count);
char *text_double(char *text, size_t size, double value);

/* "blocked", or "unknown (7)". Both return text. */
char *text_layout(char *text, size_t size, uint32_t layout);
char *text_state(char *text, size_t size, uint32_t state);

/* Ends the program with a message that memory ran out. */
_Noreturn void text_no_memory(void);

#endif
