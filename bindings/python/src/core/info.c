/* SPDX-License-Identifier: MIT
 * Turns enumerators into names. An unknown number stays a number. */
#include "info.h"

#include "convert.h"

static const char *const states[] = { NULL, "live", "sealed", "poisoned" };

static PyObject *named(uint32_t number, const char *name)
{
    return name != NULL ? PyUnicode_FromString(name) : PyLong_FromUnsignedLong(number);
}

static PyObject *state_named(uint32_t state)
{
    return named(state, state < sizeof states / sizeof *states ? states[state] : NULL);
}

PyObject *info_layout_object(uint32_t layout)
{
    return named(layout, bloomfile_layout_name(layout));
}

static PyObject *key_kind_named(uint32_t kind)
{
    return kind == BLOOMFILE_KEYS_UNKNOWN ? Py_NewRef(Py_None)
                                          : named(kind, bloomfile_key_kind_name(kind));
}

/* The label as str. In a damaged header its bytes may be arbitrary. */
static PyObject *label_text(const char *label)
{
    Py_ssize_t size = 0;
    while (size < (Py_ssize_t)BLOOMFILE_MAX_LABEL && label[size] != '\0')
        size++;
    return PyUnicode_DecodeUTF8(label, size, "backslashreplace");
}

static PyObject *bytes_of(const uint8_t *bytes)
{
    return PyBytes_FromStringAndSize((const char *)bytes, 16);
}

PyObject *info_object(struct state *state, const char *class_name, const struct bloomfile_info *i)
{
#define U64(field)        #field, (unsigned long long)i->field
#define U32(field)        #field, (unsigned)i->field
#define MADE(field, made) #field, made
    PyObject *fields = Py_BuildValue(
        "{sIsIsIsIsIsIsNsIsIsNsKsKsKsKsKsKsKsKsKsdsKsKsKsKsKsNsIsNsNsNsNsNsIsNsIsIsIsKsKsKsdsKsKsKs"
        "Ks"
        "Ks"
        "KsKsKsKsIsI}",
        U32(version), U32(header_size), U32(compat), U32(ro_compat), U32(incompat), U32(provenance),
        MADE(layout, info_layout_object(i->layout)), U32(hash_id), U32(hashes),
        MADE(state, state_named(i->state)), U64(bits), U64(bits_unfolded), U64(seed),
        U64(self_test), U64(body_offset), U64(body_size), U64(image_size), U64(pages),
        U64(capacity), "fpr", i->fpr, U64(sequence), U64(keys), U64(ones), U64(overflow),
        U64(bad_pages), MADE(keys_estimated, PyBool_FromLong(i->keys_estimated != 0)),
        U32(body_crc), MADE(tag, bytes_of(i->tag)), MADE(boot_id, bytes_of(i->boot_id)),
        MADE(identity, bytes_of(i->identity)), "watermark",
        PyBytes_FromStringAndSize((const char *)i->watermark, (Py_ssize_t)sizeof i->watermark),
        MADE(label, label_text(i->label)), U32(writers),
        MADE(key_kind, key_kind_named(i->key_kind)), U32(key_size), U32(layers), U32(generations),
        U64(layer), U64(rest_size), U64(series), "series_fpr", i->series_fpr, U64(period),
        U64(began), U64(first_block), U64(whole_blocks), U64(keys_read), U64(keys_elsewhere),
        U64(digest_sum), U64(heap_size), U64(mapped_size), U32(mappings), U32(descriptors));
#undef U64
#undef U32
#undef MADE
    return fields != NULL
               ? PyObject_CallMethod(state->records, "make_info", "sN", class_name, fields)
               : NULL;
}

static PyObject *fault_tuple(const struct bloomfile_fault *fault)
{
    return Py_BuildValue("iKz", fault->error, (unsigned long long)fault->offset, fault->field);
}

PyObject *info_inspect(PyObject *module, PyObject *args)
{
    struct bloomfile_fault faults[64];
    size_t count = sizeof faults / sizeof faults[0];
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    Py_buffer bytes;
    uint64_t size;
    if (!PyArg_ParseTuple(args, "y*O&", &bytes, convert_u64, &size))
        return NULL;
    if (bytes.len < 4096 && size > (uint64_t)bytes.len)
        size = (uint64_t)bytes.len;
    bloomfile_inspect(bytes.buf, (size_t)size, &info, faults, &count);
    PyBuffer_Release(&bytes);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count && i < sizeof faults / sizeof faults[0]; i++) {
        PyObject *fault = fault_tuple(&faults[i]);
        if (fault == NULL || PyList_Append(list, fault) != 0)
            Py_CLEAR(list);
        Py_XDECREF(fault);
    }
    if (list == NULL)
        return NULL;
    PyObject *object = info_object(PyModule_GetState(module), "Header", &info);
    return object != NULL ? Py_BuildValue("NN", object, list) : (Py_DECREF(list), NULL);
}
