/* SPDX-License-Identifier: MIT
 * The parts of a verdict. They also set the advice, and r->status if the target rate is exceeded or
 * keys are missing. */
#ifndef BLOOMFILE_TOOLS_VERDICT_H
#define BLOOMFILE_TOOLS_VERDICT_H

#include "bfinspect/inspect.h"

/* Appends to the verdict. */
void verdict_add(struct inspect_report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Replaces the advice. */
void verdict_advise(struct inspect_report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The verdict on a file that cannot be read, a file without a valid header, and a damaged body. */
void verdict_no_bytes(struct inspect_report *r);
void verdict_header(struct inspect_report *r);
void verdict_body(struct inspect_report *r);

/* The verdict on a sound filter: whether it has the keys, keeps its target rate, and is useful. */
void verdict_promises(struct inspect_report *r);

#endif
