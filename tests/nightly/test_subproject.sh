#!/bin/sh
# SPDX-License-Identifier: MIT
# test_subproject.sh BUILD SOURCE: the library as a meson subproject, shared and static, of a project that treats
# warnings as errors, optimises at link time, and has functions with the names of the library's own.
set -eu
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p project/subprojects
cp "$source"/tests/nightly/consumers/* project
ln -s "$source" project/subprojects/bloomfile

fail() {
    echo "$kind: $*"
    exit 1
}

# commands: the compiler's
commands() { grep '"command"' build/compile_commands.json; }

kind=doc/c.md
sed -n '/^```meson$/,/^```$/{/^```/!p}' "$source/doc/c.md" >line
[ -s line ] && grep -qxFf line project/meson.build || fail "its line for meson is not the tested one"
for kind in shared static; do
    rm -rf build root
    meson setup build project --wrap-mode=forcefallback --buildtype=plain -Ddefault_library=$kind \
        -Db_lto=true >log && ninja -C build -j 2 >>log || { cat log; fail "does not build"; }
    for program in build/consumer-c build/consumer-cpp build/consumer-header; do
        $program "$work/fruit.bloom" >got || fail "exit status $? of $program"
        echo 'fruit: 3 keys, 2 of 3 found, stone: no' | cmp - got || fail "$program answers wrongly"
        linked=static
        ! readelf -d $program | grep -q 'NEEDED.*bloomfile' || linked=shared
        [ $linked = $kind ] || fail "$program is linked with the $linked library"
    done

    commands | grep -e "-o subprojects/" | grep -q Werror && fail "a newer compiler's warning about the library would be an error"
    commands | grep -ve "-o subprojects/" | grep -qv Werror && fail "warnings about the project's own code are no errors any more"
    [ -z "$(find build/subprojects -type f -perm -u+x ! -name '*.so.*')" ] || fail "builds programs"

    DESTDIR=$work/root meson install -C build --no-rebuild >log || { cat log; fail "cannot be installed"; }
    printf '%s\n' consumer-c consumer-cpp consumer-header bloomfile.hpp builder.hpp error.hpp filter.hpp handle.hpp keys.hpp live.hpp view.hpp \
        bloomfileConfig.cmake bloomfileConfigVersion.cmake bloomfile.h bloomfile_block.h bloomfile_build.h bloomfile_combine.h \
        bloomfile_delta.h bloomfile_error.h bloomfile_inline.h bloomfile_inspect.h bloomfile_io.h bloomfile_live.h bloomfile_open.h \
        bloomfile_unstable.h bloomfile_view.h bloomfile.pc libbloomfile.a libbloomfile.so \
        libbloomfile.so.1 libbloomfile.so.1.0.0 | sort >expected
    find root ! -type d -printf '%f\n' | sort | diff expected - || fail "other files are installed"
    echo "$kind: good"
done
