# SPDX-License-Identifier: MIT
# Sourced with BUILD and SOURCE as arguments: installs into an empty DESTDIR, $root, in a folder of its
# own, $work, which is then the working directory; pkg-config finds the library there.
set -eu
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

DESTDIR=$root meson install -C "$build" --no-rebuild >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
headers=$(dirname "$(find "$root" -name bloomfile.h)")
shared=$(find "$root" -name libbloomfile.so)
libdir=$(dirname "$shared")
if nm "$shared" | grep -q __gcov_; then
    echo "skipped: a build for coverage is not one to install"
    exit 77
fi
PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root LD_LIBRARY_PATH=$libdir
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH
cd "$work"
