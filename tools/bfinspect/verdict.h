/* SPDX-License-Identifier: MIT
 * The parts of a verdict. They set the advice too, and r->status if the target rate is exceeded or
 * keys are missing.
 */
#ifndef BLOOMFILE_TOOLS_VERDICT_H
#define BLOOMFILE_TOOLS_VERDICT_H

#include "bfinspect/inspect.h"

/* Goes behind what the verdict says so far. */
void verdict_add(struct inspect_report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes the place of other advice. */
void verdict_advise(struct inspect_report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Of a file that cannot be read, one without a valid header, and one with a damaged body. */
void verdict_no_bytes(struct inspect_report *r);
void verdict_header(struct inspect_report *r);
void verdict_body(struct inspect_report *r);

/* Of a sound filter: whether it has the keys, keeps its rate, and is of use. */
void verdict_promises(struct inspect_report *r);

#endif
