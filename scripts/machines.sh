# SPDX-License-Identifier: MIT
# Compilers and libraries for other machines, sourced by scripts/machines. They come from Debian's packages, which are
# unpacked, not installed. $here is the directory of a machine, and $root_of stands for its file system.

gcc=12 # Debian 12's

# logged COMMAND...: runs the command quietly, and prints the end of its output if it fails.
logged() {
    log=$(mktemp)
    "$@" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        rm -f "$log"
        echo "$0: this failed: $*" >&2
        return 1
    }
    rm -f "$log"
}

# package_lists DIRECTORY ARCHITECTURE [source | binary [RELEASE]]: fetches the package lists of this system's sources for
# another architecture or release, as if no package were installed. Sets $APT_CONFIG for the commands after it.
package_lists() {
    lists=$1
    mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial" "$lists/sources"
    : >"$lists/status"
    cat >"$lists/apt.conf" <<END_OF_APT_CONF
APT::Architecture "$2";
APT::Architectures { "$2"; };
APT::Sandbox::User "$(id -un)";
APT::Install-Recommends "false";
Dir::State "$lists";
Dir::State::status "$lists/status";
Dir::Cache "$lists/cache";
END_OF_APT_CONF
    if [ -n "${3-}" ]; then
        codename=$(. /etc/os-release && echo "$VERSION_CODENAME") type=deb
        [ "$3" = binary ] || type=deb-src
        for sources in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
            [ -f "$sources" ] || continue
            sed "s/^deb /$type /; s/^Types:.*/Types: $type/; s/\\b$codename\\b/${4-$codename}/g" "$sources" \
                >"$lists/sources/$(basename "$sources")"
        done
        cat >>"$lists/apt.conf" <<END_OF_APT_CONF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$lists/sources";
END_OF_APT_CONF
    fi
    APT_CONFIG=$lists/apt.conf
    export APT_CONFIG
    apt-get update -qq >/dev/null 2>&1 || : # one source of many may fail; missing packages are reported below
}

# unpack DIRECTORY PACKAGE...: unpacks the packages into the directory.
unpack() {
    into=$1
    shift
    mkdir -p "$into" "$here/packages"
    (cd "$here/packages" && logged apt-get download -qq "$@") || return 1
    for package in "$here/packages"/*.deb; do
        dpkg -x "$package" "$into" || return 1
    done
    rm -rf "$here/packages"
}

# unpack_with_dependencies DIRECTORY PACKAGE...: unpacks the packages and all their dependencies.
unpack_with_dependencies() {
    into=$1
    shift
    mkdir -p "$into"
    logged apt-get install -y --download-only "$@" || return 1
    for package in "$lists/cache/archives"/*.deb; do
        dpkg -x "$package" "$into" || return 1
    done
    apt-get clean
}

# ---- For each machine: compiler, libraries, and a cross file for meson

# glibc_machine ARCHITECTURE CPU-FAMILY ENDIAN GNU-CPU [EMULATOR]
glibc_machine() {
    system=$4-linux-gnu
    libraries=$1
    [ "$4" != i686 ] || libraries=i386
    multiarch=$system
    [ "$4" != i686 ] || multiarch=i386-linux-gnu
    if [ ! -f "$here/complete" ]; then
        package_lists "$here/native-lists" "$(dpkg --print-architecture)"
        unpack "$here/tools" "gcc-$gcc-$system" "cpp-$gcc-$system" "binutils-$system" \
            "libgcc-$gcc-dev-$libraries-cross" || return 1
        package_lists "$here/lists" "$1"
        unpack_with_dependencies "$root_of" libc6-dev zlib1g-dev libdeflate-dev libxxhash-dev libcmocka-dev \
            libbsd-dev libzstd-dev libjson-c-dev || return 1
    fi
    # The libraries that the assembler and linker need.
    LD_LIBRARY_PATH=$here/tools/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
    export LD_LIBRARY_PATH
    bin=$here/tools/usr/bin/$system
    emulator= link_args="'--sysroot=$root_of'"
    if [ -n "${5-}" ]; then
        emulator="'$5', '-L', '$root_of'"
    else # runs here, with its own C library
        link_args="$link_args, '-Wl,--dynamic-linker=$root_of/lib/ld-linux.so.2', '-Wl,--disable-new-dtags',
            '-Wl,-rpath=$root_of/usr/lib/$multiarch:$root_of/lib/$multiarch'"
    fi
    cat >"$here/machine.ini" <<END_OF_MACHINE
[binaries]
c = '$bin-gcc-$gcc'
ar = '$bin-ar'
ld = '$bin-ld'
objcopy = '$bin-objcopy'
strip = '$bin-strip'
pkgconfig = 'pkg-config'
${emulator:+exe_wrapper = [$emulator]}
[properties]
sys_root = '$root_of'
pkg_config_libdir = '$root_of/usr/lib/$multiarch/pkgconfig'
emulator = [$emulator]
[built-in options]
c_args = ['--sysroot=$root_of']
c_link_args = [$link_args]
[host_machine]
system = 'linux'
cpu_family = '$2'
cpu = '$4'
endian = '$3'
END_OF_MACHINE
}

# source_of PACKAGE: fetches the source with Debian's patches, and enters its directory.
source_of() {
    rm -rf "$here/source"
    mkdir -p "$here/source"
    (cd "$here/source" && { apt-get source -qq "$1" >/dev/null 2>&1 ||
        logged apt-get source -qq -t "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$1"; }) || return 1
    cd "$here/source/"*/ || return 1
}

# library PACKAGE COMMAND...: runs the command in the directory of the source package, to build a library.
library() {
    package=$1
    shift
    (source_of "$package" && logged "$@")
}

configured() {
    CC=$musl_gcc ./configure --prefix="$root_of" "$@" && make -j2 && make install
}

with_cmake() {
    cmake -S . -B build -DCMAKE_C_COMPILER="$musl_gcc" -DCMAKE_C_FLAGS=-fPIC -DCMAKE_INSTALL_PREFIX="$root_of" \
        -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF "$@" &&
        cmake --build build -j2 && cmake --install build
}

libdeflate_library() {
    make -j2 CC="$musl_gcc" CFLAGS='-O2 -fPIC' PREFIX="$root_of" DISABLE_SHARED=1 install
}

zstd_library() {
    make -j2 -C lib CC="$musl_gcc" CFLAGS='-O2 -fPIC' PREFIX="$root_of" LIBDIR="$root_of/lib" \
        install-static install-includes install-pc
}

# Debian has no libraries for musl, so they are built from its source packages.
musl_machine() {
    musl_gcc=$here/musl-gcc
    multiarch=$(dpkg-architecture -qDEB_HOST_GNU_CPU)-linux-musl
    if [ ! -f "$here/complete" ]; then
        package_lists "$here/native-lists" "$(dpkg --print-architecture)"
        unpack_with_dependencies "$root_of" musl-dev || return 1
        unpack "$root_of" musl-tools libxxhash-dev linux-libc-dev || return 1
        # /lib and /usr/lib are the same folder on both systems. musl's packages lack the kernel's headers.
        ln -sfn "$root_of/lib/$multiarch/libc.so" "$root_of/usr/lib/$multiarch/"
        headers=$root_of/usr/include
        ln -sfn "$headers/linux" "$headers/asm-generic" "$headers/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/asm" \
            "$headers/xxhash.h" "$headers/$multiarch/"
        sed "s|/usr/|$root_of/usr/|g; s|-dynamic-linker |&$root_of|" \
            "$root_of/usr/lib/$multiarch/musl-gcc.specs" >"$here/musl-gcc.specs"
        printf '#!/bin/sh\nexec gcc "$@" -specs "%s"\n' "$here/musl-gcc.specs" >"$musl_gcc"
        chmod +x "$musl_gcc"
        PKG_CONFIG_LIBDIR=$root_of/lib/pkgconfig
        CPPFLAGS=-I$root_of/include
        LDFLAGS="-L$root_of/lib -Wl,-rpath=$root_of/lib"
        export PKG_CONFIG_LIBDIR CPPFLAGS LDFLAGS
        package_lists "$here/lists" "$(dpkg --print-architecture)" source
        library zlib configured &&
            library libdeflate libdeflate_library &&
            library libzstd zstd_library &&
            library cmocka with_cmake &&
            library json-c with_cmake -DBUILD_TESTING=OFF &&
            library libmd configured --disable-static &&
            library libbsd configured --disable-static || return 1
        rm -rf "$here/source"
        unset PKG_CONFIG_LIBDIR CPPFLAGS LDFLAGS
    fi
    cat >"$here/machine.ini" <<END_OF_MACHINE
[binaries]
c = '$musl_gcc'
ar = 'ar'
ld = 'ld'
objcopy = 'objcopy'
strip = 'strip'
pkgconfig = 'pkg-config'
[properties]
pkg_config_libdir = '$root_of/lib/pkgconfig'
emulator = []
[built-in options]
c_args = ['-isystem', '$root_of/include']
c_link_args = ['-L$root_of/lib', '-Wl,-rpath=$root_of/lib']
[host_machine]
system = 'linux'
cpu_family = '$(uname -m)'
cpu = '$(uname -m)'
endian = 'little'
END_OF_MACHINE
}

# machine ARCH: gets the compiler and libraries once, and writes the cross file "$here/machine.ini".
machine() {
    [ -f "$here/complete" ] || rm -rf "$here"
    mkdir -p "$here"
    case $1 in
    arm64) glibc_machine arm64 aarch64 little aarch64 qemu-aarch64 ;;
    s390x) glibc_machine s390x s390x big s390x qemu-s390x ;;
    i386) glibc_machine i386 x86 little i686 ;;
    musl) musl_machine ;;
    esac || return 1
    unset APT_CONFIG
    : >"$here/complete"
}
