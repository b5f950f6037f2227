#!/bin/sh
# SPDX-License-Identifier: MIT
# test_cmake.sh BUILD SOURCE: find_package(bloomfile CONFIG) of an installation copied elsewhere: its targets, versions,
# components, the message if a library is missing, and other folders for libraries and headers.
. "$(dirname "$0")/installed.sh"
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH
command -v cmake >/dev/null || { echo "skipped: needs CMake (Debian: cmake)"; exit 77; }

fail() {
    echo "$*"
    exit 1
}

prefix=$(dirname "$headers")
folder=${libdir#"$prefix"/}
mkdir moved
cp -a "$prefix" moved/here
prefix=$work/moved/here

# configure FOLDER OPTION...: to log
configure() {
    rm -rf "$1/build"
    from=$1
    shift
    cmake -G Ninja -S "$from" -B "$work/$from/build" -DCMAKE_PREFIX_PATH="$prefix" "$@" >log 2>&1
}

# runs PROGRAM: its output must be a consumer's
runs() {
    "$1" "$work/fruit.bloom" >got || fail "$1: exit status $?"
    echo 'fruit: 3 keys, 2 of 3 found, stone: no' | cmp - got || fail "$1 answers wrongly"
}

mkdir project
cp "$source"/tests/nightly/consumers/* project
configure project -DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON -DCMAKE_INSTALL_PREFIX="$work/installed" ||
    { cat log; fail "cannot configure"; }
cmake --build project/build >log 2>&1 || { cat log; fail "cannot build"; }
for program in c cpp header static; do
    runs project/build/consumer-$program
done
cmake --install project/build >log 2>&1 || { cat log; fail "cannot install"; }
runs installed/bin/consumer-c
readelf -d installed/bin/consumer-c | grep -q "NEEDED.*libbloomfile\.so\.1]" || fail "consumer-c is not linked with the shared library"
readelf -d installed/bin/consumer-static | grep -q 'NEEDED.*bloomfile' && fail "consumer-static is linked with the shared library"
echo "targets: good"

# Each line is a request and its result: the library found, or words of the message.
mkdir requests
cat >requests/list <<'END'
1|shared static
1.0|shared static
1.0.0|shared static
1.0.0 EXACT|shared static
1.0...2|shared static
0.1...1.0.0|shared static
0...<1.0.0|refused
0.1|refused
1.1|refused
1.0.1|refused
1.0.1...2|refused
2|refused
COMPONENTS static|shared static
COMPONENTS ribbon|no component ribbon
END
cat >requests/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.19)
project(requests LANGUAGES CXX)
file(STRINGS list lines)
foreach(line IN LISTS lines)
  string(REGEX MATCH "^[^|]*" words "${line}")
  string(REPLACE " " ";" request "${words}")
  unset(bloomfile_DIR CACHE)
  find_package(bloomfile ${request} CONFIG)
  set(found "")
  foreach(kind IN ITEMS shared static)
    if(bloomfile_FOUND AND bloomfile_${kind}_FOUND)
      string(APPEND found "${kind} ")
    endif()
  endforeach()
  if(bloomfile_FOUND)
    message(STATUS "request ${words}: ${found}")
  else()
    message(STATUS "request ${words}: refused ${bloomfile_NOT_FOUND_MESSAGE}")
  endif()
endforeach()
END
configure requests || { cat log; fail "cannot ask for versions"; }
while IFS='|' read -r request wanted; do
    grep "^-- request $request: " log | grep -q -- "$wanted" || { cat log; fail "find_package(bloomfile $request) is not: $wanted"; }
done <requests/list
echo "versions: good"

# says WORDS OPTION...: the consumers' project, which wants both libraries, is refused with these words; a project that
# wants either gets the shared library.
says() {
    words=$1
    shift
    ! configure project "$@" || fail "$*: found all the same"
    tr -s '\n ' ' ' <log | grep -q -- "$words" || { cat log; fail "$*: not said: $words"; }
    echo 1.0 >requests/list
    configure requests "$@" || { cat log; fail "$*: the shared library is not found"; }
    grep -q '^-- request 1.0: shared $' log && grep -q 'without the target bloomfile::bloomfile_static' log ||
        { cat log; fail "$*: more is found than is there"; }
}
deflate=$(dirname "$(sed -n 's/^bloomfile_LIBDEFLATE:FILEPATH=//p' project/build/CMakeCache.txt)")
says "its static library needs libdeflate (Debian: libdeflate-dev)" -DCMAKE_IGNORE_PATH="$deflate;/usr$deflate;${deflate#/usr}"
echo "what is missing: good"

# Through a link to the library folder alone, as /lib links to /usr/lib.
mkdir linked
ln -s "$prefix/${folder%%/*}" linked
prefix=$work/linked
configure project || { cat log; fail "not found through a link to its libraries"; }
prefix=$work/moved/here
echo "links: good"

# Other folders: files in the prefix are found by their place, files outside by their installed path.
# folders LIBDIR INCLUDEDIR: of meson. The rest is assembled by hand, because it is the same.
folders() {
    meson setup meson "$source" -Dtests=false -Dtools=false --prefix="$work/put" --libdir="$1" --includedir="$2" \
        >log 2>&1 || { cat log; fail "meson cannot set up $*"; }
    case $2 in /*) includes=$2 ;; *) includes=$work/put/$2 ;; esac
    mkdir -p "put/$1/cmake/bloomfile" "$includes"
    cp -R moved/here/include/. "$includes"
    cp -P "moved/here/$folder"/libbloomfile* "put/$1"
    cp meson/cmake/*.cmake "put/$1/cmake/bloomfile"
    mv put elsewhere
    prefix=$work/elsewhere
    configure project && cmake --build project/build --target consumer-c >log 2>&1 || { cat log; fail "$*: not found"; }
    runs project/build/consumer-c
    rm -r meson elsewhere
}
folders lib include/bloom
folders lib "$work/outside"
echo "folders: good"
