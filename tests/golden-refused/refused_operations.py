# SPDX-License-Identifier: MIT
"""The rows of operations.tsv: operations that must be refused with any body."""

REFUSED_OPERATIONS = [
    ("union", "sources/key-kind-newer.bloom,sources/key-kind-unknown.bloom", "BLOOMFILE_EFEATURE"),
    ("union", "sources/key-kind-newer.bloom,sources/key-kind-text.bloom", "BLOOMFILE_EFEATURE"),
    ("union", "sources/key-kind-lower.bloom,sources/key-kind-unknown.bloom", "BLOOMFILE_EKEYKIND"),
    ("union", "sources/key-kind-lower.bloom,sources/key-kind-text.bloom", "BLOOMFILE_EKEYKIND"),
    ("intersection", "sources/key-kind-lower.bloom,sources/key-kind-text.bloom", "BLOOMFILE_EKEYKIND"),
    ("union", "blocked-file.bloom,classic-file.bloom", "BLOOMFILE_EDIFFERENTLAYOUT"),
    ("union", "blocked-file.bloom,blocked-seed.bloom", "BLOOMFILE_EDIFFERENTHASHCOUNT"),
    ("union", "blocked-k1.bloom,blocked-k64.bloom", "BLOOMFILE_EDIFFERENTHASHCOUNT"),
    ("union", "blocked-file.bloom,application-blocked.bloom", "BLOOMFILE_EDIFFERENTHASH"),
    ("union", "ribbon-file.bloom", "BLOOMFILE_EISRIBBON"),
    ("union", "series-1.bloom", "BLOOMFILE_EISSERIES"),
    ("union", "slice-first.bloom", "BLOOMFILE_EISSLICE"),
    ("union", "slice-first.bloom,blocked-file.bloom", "BLOOMFILE_EISSLICE"),
    ("intersection", "counting-file.bloom", "BLOOMFILE_EISCOUNTING"),
    ("intersection", "counting-file.bloom,counting-seed.bloom", "BLOOMFILE_EDIFFERENTHASHCOUNT"),
    ("intersection", "blocked-file.bloom,classic-file.bloom", "BLOOMFILE_EDIFFERENTLAYOUT"),
    ("fold 3", "blocked-file.bloom", "BLOOMFILE_EFACTOR"),
    ("fold 0", "blocked-file.bloom", "BLOOMFILE_EFACTOR"),
    ("fold 2", "ribbon-file.bloom", "BLOOMFILE_EISRIBBON"),
    ("fold 2", "series-1.bloom", "BLOOMFILE_EISSERIES"),
    ("fold 2", "slice-first.bloom", "BLOOMFILE_EISSLICE"),
    ("union", "blocked-file.bloom,slice-first.bloom", "BLOOMFILE_EISSLICE"),
    ("union", "blocked-file.bloom,series-1.bloom", "BLOOMFILE_EISSERIES"),
]
