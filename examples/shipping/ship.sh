#!/bin/sh
# SPDX-License-Identifier: MIT
# Ships filters from a build host to servers, as patches where possible (doc/shipping.md).
#
#     ship.sh publish BUILD.bloom NAME SITE   offer a new build to all servers
#     ship.sh update SITE FOLDER              on a server: go to the latest build
#     ship.sh rollback FOLDER NAME            on a server: back to a build that it still has
#
# SITE is a folder that servers can read. Programs open FOLDER/current.bloom. If a command is killed at any moment, the
# current filter is the complete old or new filter, and the command can be run again. A lock lets only one command at a time
# work on SITE, or on FOLDER. In both folders, each build has a file NAME.sha256 next to it, and the file history lists the
# builds in order. Other filters there stay unchanged. If SHIP_KEY is set in the environment, publish signs. If SHIP_PUBLIC
# is set, update accepts only signed builds. To make the keys:
#     openssl genpkey -algorithm ed25519 -out KEY; openssl pkey -in KEY -pubout -out PUBLIC
set -eu

keep=3 # old builds for which SITE has patches, and which FOLDER keeps for a rollback

say() { printf 'ship.sh: %s\n' "$*" >&2; }

# fetch FROM TO: copies a file of SITE to a temporary name with the command SHIP_FETCH.
fetch() { ${SHIP_FETCH:-cp} "$1" "$2"; }

# work_in FOLDER: locks it. Temporary files of a killed run are removed now; those of this run at its end, even by a signal.
work_in() {
    folder=$1
    exec 9<"$folder"
    flock 9 # until the last process of this run ends
    trap tidy EXIT
    trap 'exit 2' HUP INT TERM
    tidy
}
tidy() {
    for name in build patch sum latest signed signature history link; do
        rm -f "$folder/.$name"
    done
}

# builds FOLDER: prints the names of the builds there, the oldest first.
builds() {
    [ -e "$1/history" ] || return 0
    grep -xE '[A-Za-z0-9_][A-Za-z0-9_-]*' "$1/history" | while read -r name || [ -n "$name" ]; do
        [ ! -e "$1/$name.sha256" ] || printf '%s\n' "$name"
    done
}

# newest N FOLDER NAME: prints the last N builds there, except NAME. oldest N FOLDER NAME: prints the builds before them.
newest() { builds "$2" | grep -vxF -e "$3" | tail -n "$1"; }
oldest() { builds "$2" | grep -vxF -e "$3" | head -n "-$1"; }

# remember FOLDER NAME: records NAME as the newest build there.
remember() {
    { builds "$1" | grep -vxF -e "$2" || :; printf '%s\n' "$2"; } >"$1/.history"
    put "$1/.history" "$1/history"
}

# sync_name FILE: syncs its name. If XFS has lost names after an error, it reports that for files, not for folders.
sync_name() { sync "${1%/*}" "$1"; }

# put FILE TARGET: gives a complete file its name, and syncs before and after.
put() {
    sync "$1"
    mv -f "$1" "$2"
    sync_name "$2"
}

# check_name NAME: refuses paths, options, and names that this script uses itself.
check_name() {
    case $1 in -* | *[!A-Za-z0-9_-]* | '' | current)
        say "a name has letters, digits, - and _ only, and no - first: '$1'"
        exit 2
        ;;
    esac
}

# sum_of FILE NAME: prints the line of NAME.sha256 that fits the file.
sum_of() { sum=$(sha256sum <"$1") && printf '%s  %s.bloom\n' "${sum%% *}" "$2"; }

# The first line of the file latest is SERIAL SUM  NAME.bloom, and the second its signature, if there is one. Serials only grow.
serial_in() { # FILE
    sed -n '1{/^[1-9][0-9]\{0,14\} [0-9a-f]\{64\}  [A-Za-z0-9_][A-Za-z0-9_-]*\.bloom$/s/ .*//p;}' "$1"
}

next_serial() { # SITE
    [ -e "$1/latest" ] || { echo 1; return; }
    last=$(serial_in "$1/latest")
    [ -n "$last" ] || { say "$1/latest is damaged (each server has a copy of the last that it took)"; exit 2; }
    echo $((last + 1))
}

# sign FILE: prints the file, and its signature after it.
sign() {
    cat "$1"
    [ -n "${SHIP_KEY-}" ] || return 0
    openssl pkeyutl -sign -rawin -inkey "$SHIP_KEY" -in "$1" -out "$folder/.signature"
    base64 <"$folder/.signature" | tr -d '\n'
    echo
}

# check_signature FILE: checks the signature of the first line of FILE, which is in .signed.
check_signature() {
    [ -n "${SHIP_PUBLIC-}" ] || return 0
    sed 1d "$1" | base64 -d >"$folder/.signature" || : # then the check below fails
    openssl pkeyutl -verify -rawin -pubin -inkey "$SHIP_PUBLIC" -in "$folder/.signed" -sigfile "$folder/.signature" >&2 ||
        { say "$1 is not signed by the key of $SHIP_PUBLIC"; exit 2; }
}

publish() { # BUILD NAME SITE
    check_name "$2"
    bfinspect -q --verify "$1" || { say "$1 is not healthy, or live: not offered (see 'bfinspect --verify')"; exit 2; }
    work_in "$3"
    serial=$(next_serial "$3")
    fetch "$1" "$3/.build"
    bfinspect -q --verify "$3/.build"
    sum_of "$3/.build" "$2" >"$3/.sum"
    # The same build, damaged since: it has the same sum, and is replaced.
    [ ! -e "$3/$2.bloom" ] || cmp -s "$3/.build" "$3/$2.bloom" || grep -qsxF -f "$3/.sum" "$3/$2.sha256" ||
        { say "$3 has another build of that name: $2"; exit 2; }
    for old in $(newest "$keep" "$3" "$2"); do
        rm -f "$3/$old..$2.patch" # left by a killed run, perhaps of another build
        bfdelta -q "$3/$old.bloom" "$3/.build" "$3/$old..$2.patch" ||
            say "no patch from $old: servers there fetch all of $2"
    done
    { printf '%s ' "$serial" && cat "$3/.sum"; } >"$3/.signed"
    sign "$3/.signed" >"$3/.latest"
    remember "$3" "$2"           # first, so that every file is in history
    put "$3/.sum" "$3/$2.sha256" # before the build, which it marks as published by this script
    put "$3/.build" "$3/$2.bloom"
    put "$3/.latest" "$3/latest" # from now on servers see it
    for old in $(oldest "$keep" "$3" "$2"); do
        rm -f "$3/$old.bloom" "$3/$old.sha256" "$3/$old"..*.patch # names do not contain dots
    done
}

# told FILE NAME: whether the file is the published build, by the sum in .sum.
told() {
    line=$(sum_of "$1" "$2") || { say "$1 has no SHA-256: sha256sum failed"; return 1; }
    grep -qxF -e "$line" "$folder/.sum" || { say "$1 is not what was published"; return 1; }
}

# patched SITE FOLDER OLD NEW: makes FOLDER/.build from the build OLD if SITE has a patch.
patched() {
    [ -e "$2/$3.bloom" ] && fetch "$1/$3..$4.patch" "$2/.patch" 2>/dev/null &&
        bfdelta --apply -q "$2/$3.bloom" "$2/.patch" "$2/.build" && told "$2/.build" "$4"
}

# switch_to FOLDER NAME: makes the build current. The next bloomfile_is_stale() of each program detects that. Syncs even if
# the link is right, because an earlier run may have been killed before its sync.
switch_to() {
    if [ "$(readlink "$1/current.bloom" || :)" != "$2.bloom" ]; then
        ln -s "$2.bloom" "$1/.link"
        mv -fT "$1/.link" "$1/current.bloom"
    fi
    sync_name "$1/current.bloom"
}

# check_current FOLDER: refuses a regular file named current.bloom, which this script did not make.
check_current() {
    [ -L "$1/current.bloom" ] || [ ! -e "$1/current.bloom" ] ||
        { say "$1/current.bloom is not a symbolic link, so it is not replaced: move it away"; exit 2; }
}

# accept SITE FOLDER: takes the latest build unless the server has taken a newer build. Sets new, and writes .sum.
accept() {
    fetch "$1/latest" "$2/.latest"
    sed -n 1p "$2/.latest" >"$2/.signed"
    check_signature "$2/.latest"
    serial=$(serial_in "$2/.latest")
    [ -n "$serial" ] || { say "$1/latest is damaged: no serial, SHA-256 and name"; exit 2; }
    cut -d ' ' -f 2- "$2/.signed" >"$2/.sum"
    new=$(sed 's/.*  \(.*\)\.bloom$/\1/' "$2/.sum")
    check_name "$new"
    [ -e "$2/latest" ] || return 0
    taken=$(serial_in "$2/latest")
    [ -n "$taken" ] || { say "$2/latest is damaged (remove it, to take any serial)"; exit 2; }
    [ "$serial" -gt "$taken" ] || sed -n 1p "$2/latest" | grep -qxF -f "$2/.signed" ||
        { say "$1/latest is older than what $2 has: serial $serial, not $taken"; exit 2; }
}

update() { # SITE FOLDER
    work_in "$2"
    check_current "$2"
    accept "$1" "$2"
    old=$(readlink "$2/current.bloom" || :)
    old=${old%.bloom}
    build=$2/$new.bloom
    if [ ! -e "$build" ] || ! told "$build" "$new"; then
        [ ! -e "$build" ] || [ -e "$2/$new.sha256" ] ||
            { say "$build has no $new.sha256 beside it, so it is not replaced: move it away"; exit 2; }
        build=$2/.build
        patched "$1" "$2" "$old" "$new" || {
            say "without a patch: all of $new is fetched"
            fetch "$1/$new.bloom" "$build"
            told "$build" "$new" || exit 2
        }
    fi
    bfinspect -q --verify "$build"
    remember "$2" "$new"
    put "$2/.sum" "$2/$new.sha256"
    [ "$build" != "$2/.build" ] || put "$build" "$2/$new.bloom"
    put "$2/.latest" "$2/latest"
    switch_to "$2" "$new"
    for unused in $(oldest "$keep" "$2" "$new"); do
        rm -f "$2/$unused.bloom" "$2/$unused.sha256"
    done
}

rollback() { # FOLDER NAME
    check_name "$2"
    work_in "$1"
    check_current "$1"
    bfinspect -q --verify "$1/$2.bloom"
    switch_to "$1" "$2"
}

case ${1-}$# in
publish4 | update3 | rollback3) "$@" ;;
*) sed -n 's/^#     \(ship\.sh\)/usage: \1/p' "$0" >&2; exit 2 ;;
esac
