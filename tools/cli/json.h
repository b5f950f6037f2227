/* SPDX-License-Identifier: MIT
 * JSON objects. Running out of memory ends the program. Adding a `value` transfers
 * its ownership. */
#ifndef TOOLS_CLI_JSON_H
#define TOOLS_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct json_object json;

json *json_new(void);
json *json_new_array(void);
json *json_new_text(const char *text);

void json_put(json *object, const char *key, json *value);
void json_append(json *array, json *value);

void json_put_null(json *object, const char *key);
void json_put_text(json *object, const char *key, const char *text);
void json_put_count(json *object, const char *key, uint64_t count);
void json_put_bool(json *object, const char *key, bool value);
void json_put_double(json *object, const char *key, double value); /* null unless it is finite */

/* Lowercase hexadecimal: up to BLOOMFILE_WATERMARK_SIZE bytes; a CRC as eight digits. */
void json_put_hex(json *object, const char *key, const uint8_t *bytes, size_t size);
void json_put_crc(json *object, const char *key, uint32_t crc);

/* A file's name, escaped so that different names give different texts, whatever their bytes. */
void json_put_name(json *object, const char *key, const char *name);

/* Returns the object as one line with a newline, which the caller must free(). Frees the object. */
char *json_line(json *object, size_t *size);

#endif
