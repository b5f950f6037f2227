#!/bin/sh
# SPDX-License-Identifier: MIT
# test_prefix.sh BUILD SOURCE: README.md's commands to install, and doc/c.md's commands for a private folder, word for
# word, in one build. Programs built against the library run, shared and static; so do the tools, even if the folder was
# moved. The same with CMake.
set -eu
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PKG_CONFIG_PATH LD_LIBRARY_PATH
HOME=$work/home CFLAGS="${CFLAGS-} -O0"
export HOME CFLAGS
mkdir "$HOME" "$work/tree"
ln -s $(find "$source" -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name '.*') "$work/tree"
cd "$work/tree"

fail() {
    echo "$*"
    exit 1
}

# block LANGUAGE: the first block of doc/c.md in that language
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p;/^\`\`\`\$/q}" "$source/doc/c.md"; }
printf 'apple: maybe\nstone: no\n' >expected
block c >fruit.c
block cpp >fruit.cc
block cmake >CMakeLists.txt
grep -e '--prefix=\$HOME' -A 3 "$source/doc/c.md" >commands
[ "$(wc -l <commands)" = 4 ] || fail "doc/c.md does not say how to install into a folder of one's own"
{ echo set -e; grep -e '^meson ' "$source/README.md"; } >system.sh
[ "$(wc -l <system.sh)" = 3 ] || fail "README.md does not say how to install"

# runs PROGRAM
runs() {
    "$1" >got || fail "$1: exit status $?"
    cmp expected got || fail "$1 answers wrongly"
}

# Into /usr/local, below a folder that stands for the root.
mkdir bin
printf '#!/bin/sh\n' >bin/ldconfig
chmod +x bin/ldconfig
PATH=$PWD/bin:$PATH DESTDIR=$work/root sh system.sh >log 2>&1 || { cat log; fail "cannot install as README.md says"; }
seq 100 | LD_LIBRARY_PATH=$work/root/usr/local/lib "$work/root/usr/local/bin/bfcreate" seq.bloom - || fail "bfcreate is not in /usr/local/bin"
rm seq.bloom
meson configure build --prefix="$HOME/bloomfile" # in place of the next setup, which would keep a configured folder unchanged

{ echo set -e; sed -n 1,3p commands; } >shared.sh
{ echo set -e; sed -n 2p commands; sed -n 4p commands; } >static.sh
sh shared.sh >log 2>&1 || { cat log; fail "cannot install"; }
runs ./a.out
readelf -d a.out | grep -q 'NEEDED.*bloomfile' || fail "a.out is not linked with the shared library"
sh static.sh >log 2>&1 || { cat log; fail "cannot link statically"; }
runs ./a.out
readelf -d a.out | grep -q 'NEEDED' && fail "a.out is not static"

mv "$HOME/bloomfile" "$HOME/moved"
seq 100 | "$HOME/moved/bin/bfcreate" seq.bloom - || fail "bfcreate does not find its library"
[ "$(seq 100 | "$HOME/moved/bin/bfquery" -c seq.bloom)" = 100 ] || fail "bfquery answers wrongly"
mv "$HOME/moved" "$HOME/bloomfile"

if command -v cmake >/dev/null; then
    configure=$(sed -n 's/.*`\(cmake -B build -G Ninja -D[^`]*\)`.*/\1/p' "$source/doc/c.md")
    mkdir project
    mv fruit.cc CMakeLists.txt project
    cd project
    { eval "$configure" && ninja -C build; } >log 2>&1 || { cat log; fail "cannot build with CMake"; }
    cd ..
    runs project/build/fruit
fi
echo "a folder of one's own: good"
