#!/bin/sh
# SPDX-License-Identifier: MIT
# Run by `meson dist`: files have the time of the commit and usual modes, so that nothing depends on when and where the archive was
# made.
set -eu
chmod -R u=rwX,go=rX "$MESON_DIST_ROOT"
find "$MESON_DIST_ROOT" -exec touch -h -d "@$(git -C "$MESON_SOURCE_ROOT" log -1 --format=%ct)" {} +
