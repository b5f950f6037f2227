# SPDX-License-Identifier: MIT
"""The errors of bloomfile: a class for each, bloomfile.errors.EPAGE and so on, below Error.

doc/errors.md has cause and remedy of each. Errors of the system are OSError.
"""

from bloomfile import _core


def _printable(path):
    """Returns the name of a file as text that can be printed: bytes that are not UTF-8 are escaped, as by repr()."""
    return path.encode("utf-8", "backslashreplace").decode()


class Error(Exception):
    """A filter is damaged, not understood, or does not allow the operation."""

    code = 0
    name = ""
    text = "an error of bloomfile"

    def __init__(self, path=None, offset=None, page=None, field=None):
        super().__init__(path, offset, page, field)
        self.path = path
        self.offset = offset
        self.page = page
        self.field = field
        self.asked = None  # the parameter that is refused, as text
        self.done = None  # for a batch of adds: the first `done` keys were added

    def __repr__(self):
        return f"{type(self).__name__}({str(self)!r})"

    def __str__(self):
        text = self.text if self.path is None else f"{_printable(self.path)}: {self.text}"
        if self.page is not None:
            text += f", page {self.page}"
        elif self.field is not None:
            text += f" ({self.field} at byte {self.offset})"
        elif self.asked is not None:
            text += f" ({self.asked})"
        return text


_by_code = {}
_also = {"EVALUE": (ValueError,), "EKEYKIND": (TypeError,)}
__all__ = ["Error"]
for _name, _code, _text in _core.errors():
    _short = _name.removeprefix("BLOOMFILE_")
    _by_code[_code] = globals()[_short] = type(
        _short, (Error, *_also.get(_short, ())), {"__module__": __name__, "__doc__": _text, "code": _code, "name": _name, "text": _text})
    __all__.append(_short)


def _new(code, *details):
    return _by_code[code](*details)
