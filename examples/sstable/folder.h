/* SPDX-License-Identifier: MIT
 *
 * A new folder to work in, removed when the program ends. Trouble ends the program.
 */
#ifndef FOLDER_H
#define FOLDER_H

/* Makes it in `parent`, or in $TMPDIR or /tmp, and goes there. */
void folder_make(const char *parent);

/* Removes a folder in it. */
void folder_remove(const char *name);

#endif
