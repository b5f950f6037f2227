# SPDX-License-Identifier: MIT
"""The report of a build, and its exceptions."""

from dataclasses import dataclass


class Error(Exception):
    """A filter could not be built or opened. The text names the file, the reason and the remedy."""

    __module__ = "bloomfile.spark"


@dataclass(frozen=True)
class Report:
    """The result of a build.

    path       of the file
    keys       the number of different keys, exact; nulls not counted
    capacity   the number of keys that the filter was sized for
    slices     the number of slices it was made from
    leftovers  folders that earlier builds of this file left behind, or that concurrent builds use
    """

    __module__ = "bloomfile.spark"

    path: str
    keys: int
    capacity: int
    slices: int
    leftovers: list[str]
