# SPDX-License-Identifier: MIT
"""Hand-made arrays of the Arrow C data interface, both valid and invalid."""

import array
import ctypes
import itertools


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                   ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
                  ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p), ("private", ctypes.c_void_p)]
GET_SCHEMA = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Schema))
GET_NEXT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Array))
GET_ERROR = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
Stream._fields_ = [("get_schema", GET_SCHEMA), ("get_next", GET_NEXT), ("get_last_error", GET_ERROR),
                   ("release", ctypes.c_void_p), ("private", ctypes.c_void_p)]

_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def capsule(struct, name):
    return _capsule(ctypes.addressof(struct), name, None)


def buffer(data):
    return None if data is None else ctypes.create_string_buffer(bytes(data), max(len(data), 1))


class Lent:
    """Structs in capsules, which a consumer moves out and releases. This object owns the memory."""

    def __init__(self):
        self.lent = self.released = 0  # structs in use; arrays released
        self.on_release = {kind: RELEASE(lambda at, kind=kind: self.release(kind.from_address(at)))
                           for kind in (Schema, Array, Stream)}

    def release(self, struct):
        self.lent -= 1
        self.released += isinstance(struct, Array)
        struct.release = None

    def lend(self, struct):
        self.lent += 1
        struct.release = ctypes.cast(self.on_release[type(struct)], ctypes.c_void_p)
        return struct


class Made(Lent):
    """An array of a format with these buffers. It owns the targets of its capsules."""

    def __init__(self, fmt, length, buffers, offset=0, null_count=0, dictionary=None):
        super().__init__()
        self.memory = [buffer(data) for data in buffers]
        self.pointers = (ctypes.c_void_p * max(len(buffers), 1))(
            *[ctypes.cast(data, ctypes.c_void_p) if data is not None else None for data in self.memory])
        self.schema = Schema(format=fmt.encode(), dictionary=dictionary)
        self.array = Array(length=length, null_count=null_count, offset=offset, n_buffers=len(buffers),
                           buffers=self.pointers)

    def __arrow_c_array__(self, requested_schema=None):
        return capsule(self.lend(self.schema), b"arrow_schema"), capsule(self.lend(self.array), b"arrow_array")


def layout(keys, fmt, validity=None, **how):
    """Returns keys as an Arrow array of a string or binary format."""
    keys = [key.encode() if isinstance(key, str) else key for key in keys]
    if fmt.startswith("w"):
        return Made(fmt, len(keys), [validity, b"".join(keys)], **how)
    if fmt.startswith("v"):
        return Made(fmt, len(keys), [validity, *views(keys)], **how)
    ends = itertools.accumulate(map(len, keys), initial=0)
    offsets = array.array("q" if fmt.isupper() else "i", ends).tobytes()
    return Made(fmt, len(keys), [validity, offsets, b"".join(keys)], **how)


def views(keys):
    """Views, two buffers of long keys, and their sizes."""
    parts, views_made = [bytearray(), bytearray()], bytearray()
    for i, key in enumerate(keys):
        views_made += len(key).to_bytes(4, "little")
        if len(key) <= 12:
            views_made += key.ljust(12, b"\0")
        else:
            views_made += key[:4] + (i % 2).to_bytes(4, "little") + len(parts[i % 2]).to_bytes(4, "little")
            parts[i % 2] += key
    return [views_made, *parts, b"".join(len(part).to_bytes(8, "little") for part in parts)]


class MadeStream(Lent):
    """A stream of arrays, which may end with an error."""

    def __init__(self, arrays, error=0):
        super().__init__()
        self.arrays, self.next, self.error = arrays, 0, error
        self.text = ctypes.create_string_buffer(b"the producer broke")
        self.stream = Stream(get_schema=GET_SCHEMA(self.get_schema), get_next=GET_NEXT(self.get_next),
                             get_last_error=GET_ERROR(lambda stream: ctypes.addressof(self.text)))

    def get_schema(self, stream, out):
        ctypes.pointer(out.contents)[0] = self.lend(self.arrays[0].schema)
        return 0

    def get_next(self, stream, out):
        if self.next == len(self.arrays):
            out.contents.release = None
            return self.error
        ctypes.pointer(out.contents)[0] = self.lend(self.arrays[self.next].array)
        self.next += 1
        return 0

    def __arrow_c_stream__(self, requested_schema=None):
        return capsule(self.lend(self.stream), b"arrow_array_stream")
