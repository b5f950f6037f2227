/* SPDX-License-Identifier: MIT
 * Classes of Python programs stand below those of the module, which alone know it. */
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
