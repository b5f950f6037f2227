/* SPDX-License-Identifier: MIT
 * By which function the digests that a handle is given are made. */
#ifndef BLOOMFILE_HANDLE_APP_HASH_H
#define BLOOMFILE_HANDLE_APP_HASH_H

#include "handle/handle.h"

/* From now on no lookup is answered with "no", and nothing is added. */
void app_hash_forget(bloomfile *f);

/* Remembers that something was asked whose digest is not known. Returns true: "maybe". */
bool app_hash_missed(const bloomfile *f);

#endif
