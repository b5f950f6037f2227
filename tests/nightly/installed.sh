# SPDX-License-Identifier: MIT
# Sourced with BUILD and SOURCE as arguments. $root is an installation (DESTDIR) that all tests of a build share and
# must not change; pkg-config finds the library there. The working directory, $work, belongs to the test.
set -eu
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$build/installation

# The first test after a build makes it.
exec 9>"$root.lock"
flock 9
if [ ! -e "$root/made" ] || [ "$(find "$build/.ninja_log" "$source/include" "$source/man" "$source/share" -newer "$root/made")" ]; then
    rm -rf "$root"
    DESTDIR=$root meson install -C "$build" --no-rebuild >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    touch "$root/made"
fi
exec 9>&-
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
