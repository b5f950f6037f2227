# SPDX-License-Identifier: MIT
# Empty Debian systems, sourced by scripts/release and scripts/nightly. Each is a directory in $here. Commands run in it as root,
# with their own processes, mounts and devices.

release=${release:-bookworm}

# as_root ARGUMENT...: sets $may_mount. Without root, runs the script again with these arguments, as root of a new
# namespace. If root may not mount, the systems share the processes of this system and have no /proc.
as_root() {
    may_mount=
    if unshare --mount --pid --fork true 2>/dev/null; then
        may_mount=1
    elif [ "$(id -u)" = 0 ]; then
        echo "$0: without the right to mount: some tests need /proc, and fail" >&2
    elif unshare --map-root-user --map-auto true 2>/dev/null; then
        exec unshare --map-root-user --map-auto "$0" "$@"
    else
        echo "$0: needs root, or a user with lines in /etc/subuid and /etc/subgid (and Debian's uidmap)" >&2
        exit 2
    fi
}

# The systems reach Debian's archive with the same options as this system.
reach_options() {
    apt-config dump | grep -iE '^Acquire::(https?::|Check-|Retries|ForceIPv)' || :
}
mirror() {
    apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
        awk -v release="$release" '$2 == "main" && $1 == release { print $3; exit }
            $2 == "main" && $1 ~ /^[a-z]+$/ { other = $3 } END { if (other) print other }' | head -n 1
}

# base_system: makes $base, an archive of a system with only Debian's essential packages and apt.
base=$here/$release.tar
base_system() {
    [ ! -s "$base" ] || return 0
    reach_options >"$here/reach.conf"
    log=$(mktemp)
    mmdebstrap --variant=apt --aptopt="$here/reach.conf" "$release" "$here/new.tar" $(mirror) >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        rm -f "$log" "$here/new.tar"
        echo "$0: cannot make an empty Debian. Is its archive within reach?" >&2
        exit 2
    }
    rm -f "$log"
    mv "$here/new.tar" "$base"
}

# empty NAME: makes a new system in $here/NAME. An old system there must not be running.
empty() {
    rm -rf --one-file-system "${here:?}/$1"
    mkdir -p "$here/$1" "$here/archives/partial"
    tar -C "$here/$1" --numeric-owner ${may_mount:+--exclude='./dev/*'} -xf "$base" # gets this system's devices if it may mount
    chmod 755 "$here/$1"
    cp "$here/reach.conf" "$here/$1/etc/apt/apt.conf.d/00reach"
    cp /etc/resolv.conf /etc/hosts "$here/$1/etc/"
    printf '#!/bin/sh\nexit 101\n' >"$here/$1/usr/sbin/policy-rc.d" # services must not start
    chmod 755 "$here/$1/usr/sbin/policy-rc.d"
    echo force-unsafe-io >"$here/$1/etc/dpkg/dpkg.cfg.d/unsafe-io" # faster; these systems need not survive a power loss
    inside "$1" apt-get update -qq || {
        echo "$0: Debian's archive is out of reach" >&2
        exit 2
    }
}

# gone NAME: deletes the system.
gone() {
    rm -rf --one-file-system "${here:?}/$1"
}

# inside NAME COMMAND...: runs the command there with a clean environment. Packages it downloads are kept for other systems.
inside() {
    system=$here/$1
    shift
    set -- chroot "$system" env -i HOME=/root LANG=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} "$@"
    if [ -z "$may_mount" ]; then
        "$@"
        return
    fi
    unshare --mount --pid --fork --kill-child sh -euc '
        system=$1 archives=$2
        shift 2
        mount -t proc proc "$system/proc"
        mount --rbind /dev "$system/dev"
        mount -t tmpfs tmpfs "$system/dev/shm"
        mount --bind "$archives" "$system/var/cache/apt/archives"
        exec "$@"' sh "$system" "$here/archives" "$@"
}
