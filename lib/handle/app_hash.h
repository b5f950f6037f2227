/* SPDX-License-Identifier: MIT
 * By which function the digests that a handle is given are made. */
#ifndef BLOOMFILE_NAME_H
#define BLOOMFILE_NAME_H

#include "handle/handle.h"

/* From now on no lookup is answered with "no", and nothing is added. */
void name_forget(bloomfile *f);

/* Remembers that something was asked whose digest is not known. Returns true: "maybe". */
bool name_is_missed(const bloomfile *f);

#endif
