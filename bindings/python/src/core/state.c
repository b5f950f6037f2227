/* SPDX-License-Identifier: MIT
 * Finding the module's state from an object: its class may be a Python subclass of a class of the
 * module. */
#include "state.h"

struct state *state_of(PyTypeObject *type)
{
    for (; type != NULL; type = PyType_GetSlot(type, Py_tp_base)) {
        PyObject *module = PyType_GetModule(type);
        if (module == NULL)
            PyErr_Clear();
        else if (PyModule_GetDef(module) == &module_definition)
            return PyModule_GetState(module);
    }
    PyErr_SetString(PyExc_TypeError, "not a class of bloomfile");
    return NULL;
}

bool state_is_usable(const struct state *state)
{
    if (state->records == NULL)
        PyErr_SetString(PyExc_RuntimeError, "the interpreter ends, and bloomfile was removed");
    return state->records != NULL;
}
