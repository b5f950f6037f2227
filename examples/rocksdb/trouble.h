/* SPDX-License-Identifier: MIT
 *
 * Trouble ends the program with status 2 and a message: "shipped: cannot <what> <name>: <why>".
 */
#ifndef TROUBLE_H
#define TROUBLE_H

/* Unless error is NULL, which RocksDB leaves it at if all is well. */
void check_rocksdb(const char *error, const char *what, const char *name);

/* Unless error is 0. */
void check_bloomfile(int error, const char *what, const char *name);

/* "<folder><separator><name>", from malloc(). */
char *join(const char *folder, const char *separator, const char *name);

#endif
