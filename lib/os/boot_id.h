/* SPDX-License-Identifier: MIT
 * The identity of the running system's boot. */
#ifndef BLOOMFILE_OS_BOOT_ID_H
#define BLOOMFILE_OS_BOOT_ID_H

#include <stdint.h>

#define BOOT_ID_SIZE 16

/* The identity of the running system's boot; never all zero. BLOOMFILE_ENOBOOT if the system offers
 * none; an errno. */
int boot_id(uint8_t id[BOOT_ID_SIZE]);

#endif
