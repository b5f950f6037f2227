/* SPDX-License-Identifier: MIT */
#ifndef BLOOMFILE_BOOT_H
#define BLOOMFILE_BOOT_H

#include <stdint.h>

#define BOOT_ID_SIZE 16

/* The identity of the running system's boot; never all zero. An errno if it cannot be learned:
 * ENOENT or EPROTO if the system does not tell it. */
int boot_id(uint8_t id[BOOT_ID_SIZE]);

#endif
