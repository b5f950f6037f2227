/* SPDX-License-Identifier: MIT
 *
 * Messages. A storage engine does not print: what goes wrong is said to whoever opened it.
 */
#ifndef REPORT_H
#define REPORT_H

/* `say` may be called by several threads at once, if several use a tablet. */
struct reporter {
    void (*say)(void *context, const char *message);
    void *context;
};

/* Says what happened and, if error is not 0, why: ": No such file or directory". error is an errno
 * or a BLOOMFILE_E*, and is returned. */
int report(const struct reporter *r, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
