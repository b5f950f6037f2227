/* SPDX-License-Identifier: MIT
 * Which function makes the digests that a handle is given. */
#ifndef BLOOMFILE_HANDLE_APP_HASH_H
#define BLOOMFILE_HANDLE_APP_HASH_H

#include "handle/handle.h"

/* From now on no lookup answers "no", and nothing can be added. */
void app_hash_forget(bloomfile *f);

/* Remembers a lookup whose digest is unknown. Returns true: "maybe". */
bool app_hash_missed(const bloomfile *f);

/* The same for n of them; hits may be NULL. Returns n. */
size_t app_hash_missed_many(const bloomfile *f, size_t n, bool *hits);

#endif
