# SPDX-License-Identifier: MIT
"""Paths, and URLs that fsspec knows, for the modules that work on clusters."""

import os
import re

from .errors import _printable


def place(path):
    """Returns (absolute path, None), or (URL, its file system). A URL is never taken for the name of a folder."""
    path = os.fsdecode(path)
    if path.startswith("file:"):
        path = re.sub("^file:(//)?", "", path)
    if not re.match(r"[A-Za-z][\w+.-]*(::[A-Za-z][\w+.-]*)*://", path):
        return os.path.abspath(path), None
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(f"{_printable(path)} is a URL, and without fsspec only paths can be used: pip install fsspec") from None
    storage, name = url_to_fs(path)
    if not name.rstrip("/") or path.endswith("/"):
        raise ValueError(f"{_printable(path)} names no file")
    protocols = [storage.protocol] if isinstance(storage.protocol, str) else storage.protocol
    return (name, None) if "file" in protocols else (path, storage)


def fetch(url, folder):
    """Returns a copy of the file in a folder of this machine."""
    storage = place(url)[1]
    copy = os.path.join(folder, url.rpartition("/")[2])
    storage.get_file(storage._strip_protocol(url), copy)
    return copy


def send(file, url):
    storage = place(url)[1]
    storage.put_file(file, storage._strip_protocol(url))


def version(url):
    """A value that differs after the file at the URL changes. Two changes within a tick of the server's clock may show the same
    value. None if the storage reports no such value."""
    storage = place(url)[1]
    storage.invalidate_cache()
    name = storage._strip_protocol(url)
    info = storage.info(name)
    signs = {field: value for field, value in info.items() if value and _SIGNS.search(field)}
    if not re.match(r"\d{14}", str(signs.get("modify", "0" * 14))):
        del signs["modify"]  # FTP without MLSD: minutes, or days
    return (storage.ukey(name), info["size"], signs) if signs else None  # ukey() alone is constant for HTTP and archives


_SIGNS = re.compile(r"etag|md5|digest|sha\d*$|hex|crc|checksum|commit|generation|time|modif|created|updated", re.IGNORECASE)
