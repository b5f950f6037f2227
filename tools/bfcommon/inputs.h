/* SPDX-License-Identifier: MIT
 *
 * The files whose lines are compared. They stay open, so it does not matter if one is replaced; but
 * if they are too many for that, each is open while it is read.
 */
#ifndef BLOOMFILE_TOOLS_COMMON_INPUTS_H
#define BLOOMFILE_TOOLS_COMMON_INPUTS_H

#include "bfcommon/spool.h"

#include <sys/stat.h>

struct input {
    struct stretch where;
    struct keys_options form;
    struct stat before; /* as it was when it was opened */
    bool was_begun;     /* by input_begin() */
    bool by_turns;      /* it is open between input_begin() and input_end() only */
    struct spool *copy; /* of what can be read only once, if it was made */
    uint64_t lines;     /* estimated; UINT64_MAX if nothing is known */
};

/* Opens a file ("-" is standard input). A key may take up to `limit` bytes, and *form must
 * stay. Ends the program by cli_fail if it cannot be opened or is a directory. */
void input_open(struct input *in, const char *path, const struct keys_options *form, size_t limit);

/* Whether both would read from one pipe, each a part of what comes. */
bool input_is_same_pipe(const struct input *in, const struct input *other);

/* Copies what can be read only once, or is packed, to a temporary file, and turns to that. */
void input_keep(struct input *in, const char *folder, const struct keys_options *form);

/* Bytes, of what is packed about; UINT64_MAX if that is not known. */
uint64_t input_size(const struct input *in);

/* Whether it can be opened again. */
bool input_can_take_turns(const struct input *in);

/* Closes it until input_begin(). */
void input_take_turns(struct input *in);

/* Around each time that it is read. Both end the program by cli_fail if it is not the file, as it
 * was, that was opened at first. */
void input_begin(struct input *in);
void input_end(struct input *in);

/* Reads the header of an input that nobody needed to read. Ends the program by cli_fail if it is
 * another than that of the others. */
void input_check_header(struct input *in);

/* An input of the lines in a spool, which it takes. */
struct input input_of_spool(struct spool *s, size_t room);

/* Ends the program by cli_fail if the file has been written to since it was opened. */
void input_check_unchanged(const struct input *in);

void input_close(struct input *in);

#endif
