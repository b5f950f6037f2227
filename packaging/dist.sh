#!/bin/sh
# SPDX-License-Identifier: MIT
# Run by `meson dist`: files have the time of the commit, so that nothing depends on when the archive was made.
set -eu
find "$MESON_DIST_ROOT" -exec touch -h -d "@$(git -C "$MESON_SOURCE_ROOT" log -1 --format=%ct)" {} +
