#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh [-f] [-j JOBS] [-S HOST,...] FILE KEYFILE [BFCREATE OPTION...]
# Makes the filter FILE from the lines of KEYFILE by GNU parallel: one part of KEYFILE a job, here or on
# other hosts (by ssh), then a union of the parts' filters. All parts get one size, for the capacity -n
# among the options, or else for one key a line of KEYFILE.
#   -f          replace FILE if it exists
#   -j JOBS     so many jobs at once, here or on each host, and parts (default: one a processor)
#   -S HOST,... on these hosts, which need bfcreate and perl but not KEYFILE; ":" is this one
set -eu

fail() { echo "build.sh: $*" >&2; exit 2; }
usage() { sed -n '3,9s/^# //p' "$0" >&2; exit 2; }

force='' jobs='' hosts=''
while getopts fj:S: option; do
    case $option in
    f) force=-f ;;
    j) jobs=$OPTARG ;;
    S) hosts=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
file=$1 keys=$2
shift 2
case $file in -?*) file=./$file ;; esac # names, and no options of the programs below
case $keys in -*) keys=./$keys ;; esac

[ -f "$keys" ] || fail "cannot use $keys: only a regular file can be read in parts"
[ -n "$force" ] || [ ! -e "$file" ] || fail "cannot create $file: File exists (write to another file; -f would lose this one)"
[ ! "$file" -ef "$keys" ] || fail "cannot create $file: it is the file to read keys from"

# Parts end at newlines, so keys must too, and only the first part has a header. Flags in one word (-q0) and
# abbreviations (--nu) might hide that. Fields in quotes may hold newlines, and then a line has an odd number of quotes.
sized='' quotes=''
for argument in "$@"; do
    case $argument in
    -n* | --ca*) sized=1 ;;
    --cs*) quotes=1 ;;
    --li* | -0* | -x* | --n* | --r* | --he* | -[fqvZ]?*) fail "cannot be used here: $argument" ;;
    esac
done
if [ -n "$quotes" ]; then
    odd=$(LC_ALL=C awk -F '"' 'NF > 0 && NF % 2 == 0 { print NR; exit }' "$keys")
    [ -z "$odd" ] || fail "cannot use $keys: line $odd has an odd number of quotes, and a newline in quotes cannot be split"
fi
if [ -z "$sized" ]; then # no fewer than there are different ones, so the rate is kept
    lines=$(wc -l <"$keys")
    [ "$(tail -c 1 "$keys" | wc -l)" -eq 1 ] || lines=$((lines + 1)) # the last one may lack its end
    set -- "$@" -n "$lines"
fi

work=$(mktemp -d) || fail "cannot make a folder for the parts (TMPDIR chooses another place)"
jobs_process=
trap 'rm -rf "$work"' EXIT
trap 'stop 130' INT
trap 'stop 143' TERM HUP

# SIGTERM makes parallel end its jobs at once; it would let them go on after others.
stop() {
    [ -z "$jobs_process" ] || kill "$jobs_process" 2>/dev/null || :
    wait
    exit "$1"
}

# Without it, parallel takes what jobs on other hosts print for nothing.
export SHELL="${SHELL:-/bin/sh}"

# A part that is lost would be keys that the filter denies: the first job that fails ends it all.
# Each filter goes straight into a file of its own, and what its job says into another; what parallel prints
# is the names of the first. --plain: options of $PARALLEL or ~/.parallel/config might leave out keys.
parallel --plain --pipepart --block -1 --arg-file "$keys" ${jobs:+-j "$jobs"} ${hosts:+-S "$hosts"} \
    --halt now,fail=1 --files --results "$work/part{#}" --tmpdir "$work" -q bfcreate -q "$@" - >"$work/list" &
jobs_process=$!
status=0
wait "$jobs_process" || status=$?
jobs_process=
for said in "$work"/part*.err; do # once what several say
    [ ! -e "$said" ] || cat "$said"
done | awk '!said[$0]++' >&2
[ "$status" -eq 0 ] || fail "cannot create $file: a part failed"
if [ ! -s "$work/list" ]; then # an empty KEYFILE has no parts
    bfcreate -q --allow-empty "$@" "$work/empty" "$keys"
    echo "$work/empty" >"$work/list"
fi
bfmerge ${force:+-f --discard} --files-from "$work/list" "$file"
