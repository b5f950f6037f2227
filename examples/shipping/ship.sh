#!/bin/sh
# SPDX-License-Identifier: MIT
# A filter from where it is built to where it is asked, as a patch where there is one (doc/shipping.md).
#
#     ship.sh publish BUILD.bloom NAME SITE   offer a new build to all servers
#     ship.sh update SITE FOLDER              on a server: go to the latest build
#     ship.sh rollback FOLDER NAME            on a server: back to a build that it still has
#
# SITE is a folder that servers can read; programs open FOLDER/current.bloom. Killed anywhere, each of these leaves
# the old filter current or the new one, whole, and can be run again. Only one at a time works on SITE, or on FOLDER.
# A build has NAME.sha256 beside it, in both folders. Other filters there stay as they are.
set -eu

keep=3 # builds that SITE has patches from, and that FOLDER keeps for a way back

say() { printf 'ship.sh: %s\n' "$*" >&2; }

# fetch FROM TO: a file of SITE, under a name of its own. Put rsync or curl here.
fetch() { cp "$1" "$2"; }

# work_in FOLDER: what is half made there goes at the end, after a signal too; what a killed run left goes now.
work_in() {
    folder=$1
    trap tidy EXIT
    trap 'exit 2' HUP INT TERM
    tidy
}
tidy() { rm -f "$folder/.build" "$folder/.patch" "$folder/.sum" "$folder/.latest" "$folder/.link"; }

# builds FOLDER: the names of the builds there, the newest first.
# shellcheck disable=SC2012 # find knows no order by time
builds() {
    ls -t "$1" | sed -n 's/^\([A-Za-z0-9_][A-Za-z0-9_-]*\)\.bloom$/\1/p' | while read -r name; do
        [ "$name" = current ] || [ ! -e "$1/$name.sha256" ] || printf '%s\n' "$name"
    done
}

# sync_name FILE: its name is on disk. After an error XFS loses names, and says so of files, not of folders.
sync_name() { sync "${1%/*}" "$1"; }

# put FILE TARGET: gives a complete file its name, on disk before and after.
put() {
    sync "$1"
    mv -f "$1" "$2"
    sync_name "$2"
}

# check_name NAME: neither a path, nor an option, nor one of the names that are used here.
check_name() {
    case $1 in -* | *[!A-Za-z0-9_-]* | '' | current | latest)
        say "a name has letters, digits, - and _ only, and no - first: '$1'"
        exit 2
        ;;
    esac
}

# sum_of FILE NAME: the line of NAME.sha256 that a file should have.
sum_of() { sum=$(sha256sum <"$1") && printf '%s  %s.bloom\n' "${sum%% *}" "$2"; }

publish() { # BUILD NAME SITE
    check_name "$2"
    bfinspect -q --verify "$1" || { say "$1 is not healthy, or live: not offered (see 'bfinspect --verify')"; exit 2; }
    work_in "$3"
    fetch "$1" "$3/.build"
    bfinspect -q --verify "$3/.build"
    sum_of "$3/.build" "$2" >"$3/.sum" # sign this file, if others could write to SITE
    # A copy that is damaged by now has the sum, and is replaced.
    [ ! -e "$3/$2.bloom" ] || cmp -s "$3/.build" "$3/$2.bloom" || grep -qsxF -f "$3/.sum" "$3/$2.sha256" ||
        { say "$3 has another build of that name: $2"; exit 2; }
    for old in $(builds "$3" | grep -vxF -e "$2" | head -n "$keep"); do
        rm -f "$3/$old..$2.patch" # of a run that was killed, perhaps to another build
        bfdelta -q "$3/$old.bloom" "$3/.build" "$3/$old..$2.patch" ||
            say "no patch from $old: servers there fetch all of $2"
    done
    put "$3/.sum" "$3/$2.sha256" # before the build, which is this script's by that
    put "$3/.build" "$3/$2.bloom"
    printf '%s\n' "$2" >"$3/.latest"
    put "$3/.latest" "$3/latest" # from here on servers know of it
    builds "$3" | grep -vxF -e "$2" | tail -n "+$((keep + 1))" | while read -r old; do
        rm -f "$3/$old.bloom" "$3/$old.sha256" "$3/$old"..*.patch # no name has a dot
    done
}

# told FILE NAME: whether it is the build that was published, by the sum that is in .sum.
told() {
    line=$(sum_of "$1" "$2") || { say "$1 has no SHA-256: sha256sum failed"; return 1; }
    grep -qxF -e "$line" "$folder/.sum" || { say "$1 is not what was published"; return 1; }
}

# patched SITE FOLDER OLD NEW: makes FOLDER/.build of the build OLD, if there is a patch.
patched() {
    [ -e "$2/$3.bloom" ] && [ -e "$1/$3..$4.patch" ] && fetch "$1/$3..$4.patch" "$2/.patch" &&
        bfdelta --apply -q "$2/$3.bloom" "$2/.patch" "$2/.build" && told "$2/.build" "$4"
}

# switch_to FOLDER NAME: the programs' next bloomfile_is_stale() says so. Syncs even if the link is right: an earlier run
# may have been killed before its sync.
switch_to() {
    if [ "$(readlink "$1/current.bloom" || :)" != "$2.bloom" ]; then
        ln -s "$2.bloom" "$1/.link"
        mv -fT "$1/.link" "$1/current.bloom"
    fi
    sync_name "$1/current.bloom"
}

update() { # SITE FOLDER
    new=$(cat "$1/latest")
    check_name "$new"
    old=$(readlink "$2/current.bloom" || :)
    old=${old%.bloom}
    work_in "$2"
    fetch "$1/$new.sha256" "$2/.sum"
    grep -qxE "[0-9a-f]{64}  $new\.bloom" "$2/.sum" || { say "$1/$new.sha256 is damaged: no SHA-256 of $new.bloom"; exit 2; }
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
    put "$2/.sum" "$2/$new.sha256"
    [ "$build" != "$2/.build" ] || put "$build" "$2/$new.bloom"
    switch_to "$2" "$new"
    builds "$2" | grep -vxF -e "$new" | tail -n "+$((keep + 1))" | while read -r unused; do
        rm -f "$2/$unused.bloom" "$2/$unused.sha256"
    done
}

rollback() { # FOLDER NAME
    check_name "$2"
    bfinspect -q --verify "$1/$2.bloom"
    work_in "$1"
    switch_to "$1" "$2"
}

case ${1-}$# in
publish4 | update3 | rollback3) "$@" ;;
*) sed -n 's/^#     \(ship\.sh\)/usage: \1/p' "$0" >&2; exit 2 ;;
esac
