# SPDX-License-Identifier: MIT
# Sourced by scripts/release: the Python sources and wheels.

# python_from_source DIRECTORY VERSION RELEASE OPTION...: builds the Python of a release of Debian there.
python_from_source() {
    (
        to=$1 here=$material/sources version=$2 release=$3
        shift 3
        [ ! -x "$to/bin/python3" ] || exit 0
        mkdir -p "$here"
        package_lists "$here/lists" "$(dpkg --print-architecture)" source "$release"
        source_of "python$version" || exit 1
        ./configure -q --prefix="$to" --without-ensurepip --disable-test-modules CFLAGS=-O1 "$@"
        make -s -j"$(nproc)"
        make -s install
        rm -rf "$here"
    )
}

# wheel_material: gets what packaging/wheels.py describes. Compilers come from PyPI, all else from Debian.
wheel_material() {
    python3 -m venv "$material/tools"
    "$material/tools/bin/pip" install -q --upgrade pip ziglang auditwheel abi3audit setuptools wheel twine || {
        not_run "PyPI is out of reach"
    }
    (
        here=$material
        package_lists "$here/lists" "$(dpkg --print-architecture)"
        unpack "$here/native" libxxhash-dev libpython3.11-dev
        package_lists "$here/lists-arm64" arm64
        unpack_with_dependencies "$here/arm64" python3 libpython3.11-stdlib
        package_lists "$here/lists-3.14" "$(dpkg --print-architecture)" binary forky
        unpack_with_dependencies "$here/python-3.14" python3.14
        package_lists "$here/lists-source" "$(dpkg --print-architecture)" source
        source_of libdeflate
        rm -rf "$here/libdeflate"
        cp -r . "$here/libdeflate"
    )
    mkdir -p "$material/include" "$material/licences"
    cp -r "$material/native/usr/include/python3.11" "$material/native/usr/include/xxhash.h" "$material/include"
    # All 64-bit machines have the same in the limited interface.
    cp "$material/native/usr/include"/*-linux-gnu/python3.11/pyconfig.h "$material/include/python3.11"
    cp "$material/libdeflate/COPYING" "$material/licences/libdeflate"
    cp "$material/native/usr/share/doc/libxxhash-dev/copyright" "$material/licences/xxhash"
    cp "/lib/$(uname -m)-linux-musl/libc.so" "$material/musl-libc.so"
    python_from_source "$material/free-threaded-3.13" 3.13 trixie --disable-gil # Debian's packages are not free-threaded
    python_from_source "$material/free-threaded-3.14" 3.14 forky --disable-gil ||
        echo "release: no wheel for free-threaded Python 3.14: its source is out of reach"
    printf '#!/bin/sh\nexec %s -m ziglang cc -target x86_64-linux-musl -dynamic "$@" -Wno-date-time\n' \
        "$material/tools/bin/python" >"$material/musl-cc"
    chmod +x "$material/musl-cc"
    # Without libraries of this system, and without what musl 1.2.3 lacks.
    python_from_source "$material/musl-python" 3.13 trixie CC="$material/musl-cc" PKG_CONFIG=false ac_cv_func_preadv2=no ac_cv_func_pwritev2=no
    touch "$material/complete"
}

# The files that setuptools writes get the time of the commit, and their order is fixed.
make_sdist() {
    cd "$tree/bindings/python" || exit
    "$material/tools/bin/python" setup.py -q sdist -d "$place/sdist"
    tar -C "$place" -xf "$place/sdist"/bloomfile-*.tar.gz
    archive "$(basename -s .tar.gz "$place/sdist"/bloomfile-*.tar.gz)"
}
make_wheels() {
    rm -rf "$here/wheels"
    SOURCE_DATE_EPOCH=$when TWICE=$prove python3 packaging/wheels.py "$files/$sdist" "$material" "$here/wheels"
}
# try_python FILE: installs it in a new environment, and runs the example there. PyPI has setuptools for the sources.
try_python() {
    example python
    /usr/bin/python3 -m venv environment
    environment/bin/pip install -q --no-deps "$1" || not_run "PyPI is out of reach"
    environment/bin/python -m doctest ten.txt
}

part_wheels() {
    need dpkg-dev binutils gcc libc6-dev libdeflate-dev libffi-dev libxxhash-dev make musl python3-dev python3-venv qemu-user zlib1g-dev
    . "$root/scripts/machines.sh"
    material=$here/wheels-material
    mkdir -p "$material"
    [ -e "$material/complete" ] || step "compiler, headers and interpreters for wheels" wheel_material
    made "Python sources" make_sdist
    sdist=$(tail -n 1 "$here/state/wheels.files")
    prove "$sdist" "its README: pip install in a new environment" try_python "$files/$sdist"
    step "wheels, each tested" make_wheels
    publish "$here/wheels"/*.whl
    [ -z "$prove" ] || cat "$here/wheels/proofs" >>"$here/state/wheels.proofs"
    wheel=$(cd "$files" && echo *-cp311-abi3-manylinux*"$(uname -m).whl")
    prove "$wheel" "its README: pip install in a new environment" try_python "$files/$wheel"
}
