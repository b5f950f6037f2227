/* SPDX-License-Identifier: MIT
 * The cases of bench-file, and the options that they share. */
#ifndef BLOOMFILE_BENCH_FILE_H
#define BLOOMFILE_BENCH_FILE_H

#include <stdint.h>

/* 0: as many as the case takes without the option. */
struct file_options {
    uint64_t mib, keys, turns, memory, threads, quick;
};
extern struct file_options file_options;

/* `given`, or if that is 0 `usual`. */
static inline uint64_t file_number(uint64_t given, uint64_t usual)
{
    return given != 0 ? given : usual;
}

/* Each prints a table. */
void file_verify(void);
void file_doubt(void);
void file_memory(void);
void file_split(void);
void file_scale(void);
void file_oversize(void);

/* Bytes of the files of file_scale(). */
uint64_t file_scale_room(void);

#endif
