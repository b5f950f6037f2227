# SPDX-License-Identifier: MIT
"""The part of RocksDB's C API with which the tests change a database without the example."""

import ctypes
import ctypes.util

NAME = ctypes.util.find_library("rocksdb")
POINTER, SIZE, BYTES = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p


class Database:
    """A database opened for writing, and a column family of it."""

    def __init__(self, path, family):
        self.path, self.family = str(path).encode(), family.encode()
        self.api = ctypes.CDLL(NAME)

    def call(self, name, *arguments, result=None):
        function = getattr(self.api, "rocksdb_" + name)
        function.restype = result
        return function(*arguments)

    def checked(self, name, *arguments, result=None):
        """Makes a call whose last argument receives the error."""
        error = ctypes.c_char_p()
        value = self.call(name, *arguments, ctypes.byref(error), result=result)
        assert error.value is None, (name, error.value)
        return value

    def new(self, what):
        return POINTER(self.call(what + "_create", result=POINTER))

    def __enter__(self):
        self.options = self.new("options")
        names = [b"default", self.family]
        handles = (POINTER * 2)()
        self.db = POINTER(self.checked(
            "open_column_families", self.options, BYTES(self.path), 2, (BYTES * 2)(*names),
            (POINTER * 2)(self.options, self.options), handles, result=POINTER))
        self.rows = POINTER(handles[1])
        self.handles = handles
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            self.call("column_family_handle_destroy", POINTER(handle))
        self.call("close", self.db)

    def put(self, key, value):
        self.checked("put_cf", self.db, self.new("writeoptions"), self.rows, BYTES(key),
                     SIZE(len(key)), BYTES(value), SIZE(len(value)))

    def delete(self, key):
        self.checked("delete_cf", self.db, self.new("writeoptions"), self.rows, BYTES(key),
                     SIZE(len(key)))

    def put_elsewhere(self, key, value):
        self.checked("put", self.db, self.new("writeoptions"), BYTES(key), SIZE(len(key)),
                     BYTES(value), SIZE(len(value)))

    def create_family(self, name):
        handle = self.checked("create_column_family", self.db, self.options, BYTES(name.encode()),
                              result=POINTER)
        self.call("column_family_handle_destroy", POINTER(handle))

    def flush(self):
        self.checked("flush_cf", self.db, self.new("flushoptions"), self.rows)

    def compact(self):
        self.call("compact_range_cf", self.db, self.rows, None, SIZE(0), None, SIZE(0))

    def compact_by_force(self):
        options = self.new("compactoptions")
        self.call("compactoptions_set_bottommost_level_compaction", options, ctypes.c_ubyte(2))
        self.call("compact_range_cf_opt", self.db, self.rows, options, None, SIZE(0), None, SIZE(0))

    def ingest(self, path):
        self.checked("ingest_external_file_cf", self.db, self.rows, (BYTES * 1)(str(path).encode()),
                     SIZE(1), self.new("ingestexternalfileoptions"))

    def sequence_number(self):
        return self.call("get_latest_sequence_number", self.db, result=ctypes.c_uint64)
