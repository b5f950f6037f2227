# SPDX-License-Identifier: MIT
# Sourced by scripts/release: the library as one C file, and the static tools: one program with ten names.

make_amalgamation() {
    one=bloomfile-$version-amalgamation
    meson setup -Dtools=false -Dtests=false "$place/build" "$tree"
    ninja -C "$place/build" lib/bloomfile.c
    mkdir "$place/$one"
    cp "$place/build/lib/bloomfile.c" "$tree/LICENSE" "$place/$one"
    cp -r "$tree/include/." "$place/$one"
    # The headers include each other without -I.
    sed -i 's/#include <\(bloomfile[a-z_]*\.h\)>/#include "\1"/' "$place/$one"/*.h
    archive "$one"
}
compile_amalgamation() {
    example c
    tar -xf "$files/bloomfile-$version-amalgamation.tar.gz" --strip-components 1
    cc -O2 -c bloomfile.c
    cc -I. fruit.c bloomfile.o -pthread -lm -ldeflate
    ./a.out | diff "$here/expected" -
    "$root/tests/nightly/test_one_file.sh" . "$root" all
}

part_amalgamation() {
    need $build_packages g++ clang
    made amalgamation make_amalgamation
    prove "*-amalgamation.tar.gz" "doc/c.md: the example; every set of parts with gcc and clang" compile_amalgamation
}

tool_names=$(basename -s .1 man/bf*.1)
linked="libc6 zlib1g libdeflate0 libzstd1 libbsd0 libmd0 libjson-c5 libxxhash-dev"

# static_simdjson DIRECTORY: builds simdjson there. Debian has only the shared library.
static_simdjson() {
    (
        here=$1
        package_lists "$here/lists" "$(dpkg --print-architecture)" source
        source_of libsimdjson-dev
        g++ -std=c++17 -O3 -DNDEBUG -fno-exceptions -Iinclude -Isrc -c src/simdjson.cpp -o simdjson.o
        ar rcs "$here/libsimdjson.a" simdjson.o
    )
}

# make_tools CPU: builds the program, and packs it with its pages.
make_tools() {
    cpu=$1 strip=strip docs=/usr/share/doc name=bloomfile-$version-linux-$1
    to=$place/$name
    meson setup -Dtests=false -Djava=disabled "$place/native" "$tree"
    ninja -C "$place/native" tools/completions/bfadd
    mkdir -p "$to/bin" "$to/licenses" "$to/share/man/man1" "$to/share/man/man5" "$to/share/bash-completion/completions" \
        "$to/share/zsh/site-functions" "$to/share/fish/vendor_completions.d"
    set -- -Ddefault_library=static -Dprefer_static=true -Dstatic_tools=true -Dtests=false -Djava=disabled
    if [ "$cpu" = aarch64 ]; then # without --json: Debian has no static simdjson for a cross compiler to link
        (here=$BUILD/foreign/arm64 root_of=$BUILD/foreign/arm64/root && machine arm64)
        docs=$BUILD/foreign/arm64/root/usr/share/doc
        strip=$BUILD/foreign/arm64/tools/usr/bin/aarch64-linux-gnu-strip
        LD_LIBRARY_PATH=$BUILD/foreign/arm64/tools/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
        export LD_LIBRARY_PATH
        set -- "$@" -Djson=disabled --cross-file "$BUILD/foreign/arm64/machine.ini"
    else
        static_simdjson "$place"
        LIBRARY_PATH=$place
        export LIBRARY_PATH
        linked="$linked libsimdjson14 libstdc++6"
        set -- "$@" -Djson=enabled
    fi
    meson setup "$@" "$place/static" "$tree"
    ninja -C "$place/static" tools/bloomfile-tools
    "$strip" -o "$to/bin/bfquery" "$place/static/tools/bloomfile-tools"
    for package in $linked; do
        cp -L "$docs/$package/copyright" "$to/licenses/$package"
    done
    cp /usr/share/common-licenses/LGPL-2.1 /usr/share/common-licenses/GPL-3 "$to/licenses"
    cp "$tree/LICENSE" "$to"
    cp "$tree/packaging/tarball.txt" "$to/README"
    cp "$tree/man/bloomfile.5" "$to/share/man/man5"
    for tool in $tool_names; do
        [ "$tool" = bfquery ] || ln "$to/bin/bfquery" "$to/bin/$tool"
        cp "$tree/man/$tool.1" "$to/share/man/man1"
        cp "$place/native/tools/completions/$tool" "$to/share/bash-completion/completions"
        cp "$place/native/tools/completions/_$tool" "$to/share/zsh/site-functions"
        cp "$place/native/tools/completions/$tool.fish" "$to/share/fish/vendor_completions.d"
    done
    archive "$name"
}

# try_tools CPU: unpacks the tools into an empty root, or for an emulator. All machines must make the same filter.
try_tools() {
    rm -rf "$here/root"
    mkdir -p "$here/root/tmp" "$here/path"
    tar -C "$here/root" --strip-components 1 -xf "$files/bloomfile-$version-linux-$1.tar.gz"
    runs="chroot $here/root" at=''
    [ "$1" = "$(uname -m)" ] || runs="qemu-$1" at=$here/root
    for tool in $tool_names; do
        $runs "$at/bin/$tool" --version
        printf '#!/bin/sh\nexec %s "$@"\n' "${at:+$runs }$here/root/bin/$tool" >"$here/path/$tool"
    done
    chmod +x "$here/path"/*
    for keys in 100000 200000; do
        seq $keys | $runs "$at/bin/bfcreate" -m 2M -k 6 "$at/tmp/$keys.bloom" -
    done
    $runs "$at/bin/bfmerge" "$at/tmp/a.bloom" "$at/tmp/100000.bloom" "$at/tmp/200000.bloom"
    $runs "$at/bin/bfinspect" --verify "$at/tmp/a.bloom"
    test "$(seq 200000 | $runs "$at/bin/bfquery" -c "$at/tmp/a.bloom" -)" = 200000
    [ -s "$here/a.bloom" ] || cp "$here/root/tmp/a.bloom" "$here/a.bloom"
    cmp "$here/root/tmp/a.bloom" "$here/a.bloom"
    example tools
    PATH=$here/path:$PATH sh ten.sh | diff "$here/expected" -
    rm -rf "$here/root" "$here/path"
}

part_tarball() {
    need $build_packages dpkg-dev binutils g++ libsimdjson-dev python3 qemu-user
    . "$root/scripts/machines.sh"
    rm -f "$here/a.bloom"
    for cpu in x86_64 aarch64; do
        made "tools for $cpu" make_tools "$cpu"
        where="an empty root"
        [ "$cpu" = "$(uname -m)" ] || where=qemu
        prove "*-linux-$cpu.tar.gz" "unpacked in $where: all tools, README.md" try_tools "$cpu"
    done
}
