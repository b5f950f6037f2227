# SPDX-License-Identifier: MIT
# Sourced by scripts/release: the source archive and the Debian packages.

make_dist() {
    umask 022
    empty dist
    mkdir "$here/dist/work"
    cp -r "$tree" "$here/dist/work/project"
    install_in dist $build_packages git libcmocka-dev mandoc python3 xz-utils
    user_in dist '
        export GIT_AUTHOR_DATE="@$1 +0000" GIT_COMMITTER_DATE="@$1 +0000"
        cd project
        git init -q
        git add -A
        git -c user.name=release -c user.email=release@localhost commit -q -m "The sources of the release"
        meson setup -Dtools=false -Dtests=false ../configured
        meson dist -C ../configured --no-tests --formats xztar
    ' "$when"
    cp "$here/dist/work/configured/meson-dist/$tarball" "$out/"
}

test_dist() {
    case ${DEB_BUILD_OPTIONS-} in *nocheck*) not_run "nocheck in DEB_BUILD_OPTIONS" ;; esac
    user_in dist '
        tar xf configured/meson-dist/*.tar.xz
        cd bloomfile-*
        meson setup build
        ninja -C build
        meson test -C build --no-rebuild --suite quick --suite short --print-errorlogs
    '
    grep -A 9 '^Ok:' "$here/dist/work"/bloomfile-*/build/meson-logs/testlog.txt
}

# As a user does after reading README.md.
install_dist() {
    empty source
    install_in source xz-utils
    mkdir "$here/source/work"
    tar -C "$here/source/work" --no-same-owner -xf "$files/$tarball"
    example install
    inside source sh -euc "cd /work/bloomfile-*; $(cat ten.sh)" >&2
    example_in source tools '. ./ten.sh'
    example_in source look 'seq 17 | bfcreate orders.bloom -; . ./ten.sh'
    gone source
}

part_dist() {
    made "source archive" make_dist
    prove "$tarball" "quick tests in an empty Debian 12" test_dist
    prove "$tarball" "README.md: install, tools, C in an empty Debian 12" install_dist
    gone dist
}

# unpack_in PLACE: unpacks the sources of the packages.
unpack_in() {
    user_in build '
        mkdir -p "$1"
        cp bloomfile_*.orig.tar.xz "$1"
        cd "$1"
        tar xf bloomfile_*.orig.tar.xz
        cd bloomfile-*/
        cp -r packaging/debian debian
    ' "$1"
}
prepare_build() {
    empty build
    install_in build dpkg-dev lintian
    mkdir -p "$here/build/work"
    cp "$files/$tarball" "$here/build/work/bloomfile_$debian_version.orig.tar.xz"
    unpack_in one
    inside build sh -euc 'cd /work/one/bloomfile-*/ && apt-get build-dep -y -qq --no-install-recommends -P "$1" ./' \
        sh "${DEB_BUILD_PROFILES-}"
}
build_in() {
    user_in build '
        cd "$1"/bloomfile-*/
        DEB_BUILD_OPTIONS="$2" DEB_BUILD_PROFILES="$3" dpkg-buildpackage -us -uc
    ' "$1" "parallel=$(nproc) ${DEB_BUILD_OPTIONS-}" "${DEB_BUILD_PROFILES-}"
}
build_again() {
    unpack_in another/place
    DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS-}"
    (umask 077 && build_in another/place)
    user_in build 'cd another/place && for file in *.deb *.dsc *.debian.tar.xz; do cmp "$file" "/work/one/$file"; done'
}
lint() {
    user_in build 'lintian --pedantic --display-info --fail-on error,warning,pedantic \
        one/*.changes'
}

# As a user does after reading the page, with a compiler installed.
install_packages() {
    empty install
    mkdir "$here/install/packages"
    cp "$files"/*.deb "$files"/bloomfile_* "$here/install/packages/"
    inside install sh -c 'apt-get install -y -qq --no-install-recommends $(ls /packages/*.deb | grep -v dbgsym)'
    install_in install g++ gcc libc6-dev pkg-config cmake make python3
    example_in install tools '. ./ten.sh'
    example_in install c '. ./ten.sh'
    example_in install c 'c++ -std=c++17 fruit.cc $(pkg-config --cflags --libs bloomfile) && ./a.out'
    example_in install c '(cmake -B build && cmake --build build) >log && build/fruit'
    example_in install python_module 'python3 ten.py'
}
autopkgtests() {
    install_in install autopkgtest
    inside install sh -c 'autopkgtest --apt-upgrade -B /packages/*.deb /packages/*.dsc -- null'
}

part_deb() {
    [ -f "$files/$tarball" ] || { echo "release: deb needs the part dist" >&2 && exit 1; }
    step "system with what the packages need" prepare_build
    step "Debian packages" build_in one
    cp "$here/build/work/one"/*_* "$here/build"
    publish "$here/build"/*_*
    prove "*.deb *.dsc *.debian.tar.xz" "made twice" build_again
    prove "*.deb" lintian lint
    gone build
    prove "*.deb" "the examples in C, C++, CMake, Python, of the tools in an empty Debian 12" install_packages
    prove "*.deb" autopkgtest autopkgtests
    [ -z "$prove" ] || grep -aE '^[a-z]+ +(PASS|FAIL|SKIP)' "$log"
    gone install
}
