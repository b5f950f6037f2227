/* SPDX-License-Identifier: MIT */
#ifndef SET_INGEST_H
#define SET_INGEST_H

/* The filter of a database, beside it: "<database>.bloom", from malloc(). */
char *set_filter_path(const char *database);

/* Makes the set in `folder` the one that the database has, and publishes its filter. Killed at any
 * moment, or ended by trouble, the database has the old set or the new one. */
void set_ingest(const char *folder, const char *database);

#endif
