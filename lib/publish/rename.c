/* SPDX-License-Identifier: MIT
 * renameat2(), by the system call itself. */
#include "publish/rename.h"

#include <sys/syscall.h>
#include <unistd.h>

int renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags)
{
    return (int)syscall(SYS_renameat2, from, old_name, to, new_name, flags);
}
