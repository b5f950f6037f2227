/* SPDX-License-Identifier: MIT
 * Passes many keys, of any type, to a taker. */
#ifndef BLOOMFILE_PYTHON_BATCH_H
#define BLOOMFILE_PYTHON_BATCH_H

#include "take.h"

/* Takes all keys. Returns the result of the Python method: a bytearray, `out`, or None. Returns
 * NULL with an exception set; the keys before the error may have been taken. */

/* keys: any iterable of keys, or an array or stream of Arrow. */
PyObject *batch_keys(const struct taker *taker, PyObject *keys, PyObject *out);

/* Ends the source. */
PyObject *batch_source(const struct taker *taker, struct source *source, PyObject *out);

/* Like batch_keys(), for the arguments of the methods: (keys), (digests), (records, size=None),
 * (offsets, data), (data, starts, ends), each with `out` if the taker answers. */
PyObject *batch_keys_of(const struct taker *taker, PyObject *args, PyObject *keywords);
PyObject *batch_digests_of(const struct taker *taker, PyObject *args, PyObject *keywords);
PyObject *batch_records_of(const struct taker *taker, PyObject *args, PyObject *keywords);
PyObject *batch_arrow_of(const struct taker *taker, PyObject *args, PyObject *keywords);
PyObject *batch_spans_of(const struct taker *taker, PyObject *args, PyObject *keywords);

#endif
