# SPDX-License-Identifier: MIT
# The place of the tree, and the Debian packages that it needs. Sourced by the other scripts.

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

# The folder for builds. Set BUILD to another folder if the tree must not be written to.
BUILD=${BUILD:-$root/build}

build_packages="gcc libc6-dev meson ninja-build pkg-config zlib1g-dev libdeflate-dev libxxhash-dev libbsd-dev libzstd-dev libjson-c-dev"
# dpkg-dev: with it, meson installs where Debian's pkg-config and CMake look.
ci_packages="dpkg-dev python3 python3-dev python3-setuptools mandoc g++ libsimdjson-dev clang file shared-mime-info libglib2.0-bin
    default-jdk-headless junit4 bash-completion fish zsh"
# More packages for the nightly tests.
nightly_packages="openmpi-bin cmake e2fsprogs xfsprogs parallel python3-pip python3-wheel python3-distributed python3-pandas libunistring-dev curl"

# need PACKAGE...: installs missing packages, or prints the command and exits without root and sudo.
need() {
    missing=
    if ! command -v dpkg-query >/dev/null; then
        need_elsewhere "$@"
        return
    fi
    for package in "$@"; do
        # A package may be installed for several architectures. This one counts unless the name has another.
        architecture=$(dpkg --print-architecture)
        case $package in *:*) architecture=${package#*:} ;; esac
        dpkg-query -W -f '${Architecture} ${db:Status-Status}\n' "$package" 2>/dev/null |
            grep -qxE "(all|$architecture) installed" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    install="apt-get install -y --no-install-recommends$missing"
    if [ "$(id -u)" = 0 ]; then
        sudo=
    elif command -v sudo >/dev/null; then
        sudo="sudo"
    else
        echo "Missing packages. As root, run this, then $0 again:" >&2
        echo "    apt-get update && $install" >&2
        exit 2
    fi
    echo "Installing:$missing" >&2
    log=$(mktemp)
    if ! { $sudo apt-get update -qq &&
        $sudo env DEBIAN_FRONTEND=noninteractive $install; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        echo "$0: cannot install. As root, run this, then $0 again:" >&2
        echo "    apt-get update && $install" >&2
        exit 2
    fi
    rm -f "$log"
    mkdir -p "$BUILD"
    touch "$BUILD/installed"
}

# Lists missing programs and libraries on systems without Debian's packages, and exits.
need_elsewhere() {
    lacking=
    for program in meson ninja pkg-config; do
        command -v "$program" >/dev/null || lacking="$lacking $program"
    done
    command -v "${CC:-cc}" >/dev/null || lacking="$lacking ${CC:-cc}"
    for library in zlib libdeflate libxxhash libbsd libzstd json-c; do
        ! command -v pkg-config >/dev/null || pkg-config --exists "$library" || lacking="$lacking $library"
    done
    case " $* " in *wamerican-insane*)
        for list in american-english-insane ngerman french; do
            [ -e "/usr/share/dict/$list" ] || lacking="$lacking /usr/share/dict/$list"
        done
        ;;
    esac
    [ -n "$lacking" ] || return 0
    echo "$0: this system has no dpkg, so install what is needed by hand. Missing:" >&2
    for item in $lacking; do
        echo "    $item" >&2
    done
    echo "Debian's packages with all that is needed:" >&2
    printf '    %s\n' "$@" >&2
    exit 2
}

# need_engines: installs the packages of the storage engines, as far as possible. Sets $engines for meson: enabled if all
# are installed.
need_engines() {
    engines=enabled
    command -v dpkg-query >/dev/null || { engines=auto && return; }
    set -- libleveldb-dev librocksdb-dev g++
    (need "$@") 2>/dev/null && return
    for package in "$@"; do
        (need "$package") || {
            echo "$0: without $package its example is left out" >&2
            engines=auto
        }
    done
}

# build DIRECTORY [MESON OPTION...]: configures, again if necessary, and compiles all or $targets. Quiet unless it fails.
targets=
build() {
    directory=$1
    shift
    again=
    log=$(mktemp)
    if [ -f "$directory/build.ninja" ]; then
        again=--reconfigure
        # Meson remembers which headers were missing; they may be there now.
        [ ! -e "$BUILD/installed" ] || [ "$directory/set-up" -nt "$BUILD/installed" ] || again=--wipe
    fi
    if ! { meson setup $again "$directory" "$@" && touch "$directory/set-up" && ninja -C "$directory" $targets; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        echo "$0: cannot build in $directory" >&2
        return 2
    fi
    rm -f "$log"
}
