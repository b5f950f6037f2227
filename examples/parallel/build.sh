#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh [-f] [-j JOBS] [-S HOST,...] FILE KEYFILE [BFCREATE OPTION...]
# Builds the filter FILE from the lines of KEYFILE with GNU parallel. Each job builds a filter from a part of KEYFILE, here
# or on other hosts (by ssh). Then the filters are merged. All get the same size: for the capacity -n among the options,
# or for one key per line of KEYFILE.
#   -f          replace FILE if it exists
#   -j JOBS     number of parallel jobs, here or on each host, and of parts (default: one per processor)
#   -S HOST,... run jobs on these hosts, which need bfcreate and perl but not KEYFILE; ":" is this host
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
case $file in -?*) file=./$file ;; esac # so that the programs below do not take them for options
case $keys in -*) keys=./$keys ;; esac

[ -f "$keys" ] || fail "cannot use $keys: only a regular file can be read in parts"
[ -n "$force" ] || [ ! -e "$file" ] || fail "cannot create $file: File exists (write to another file; -f would lose this one)"
[ ! "$file" -ef "$keys" ] || fail "cannot create $file: it is the file to read keys from"

# Parts end at newlines, so keys must end there too, and only the first part has a header. Options that break this are
# refused, and so are combined flags (-q0) and abbreviations (--nu), which might hide such options. A field in quotes may
# contain a newline; then a line has an odd number of quotes.
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
if [ -z "$sized" ]; then # at least the number of different keys, so the rate is kept
    lines=$(wc -l <"$keys")
    [ "$(tail -c 1 "$keys" | wc -l)" -eq 1 ] || lines=$((lines + 1)) # the last line may lack its newline
    set -- "$@" -n "$lines"
fi

work=$(mktemp -d) || fail "cannot make a folder for the parts (TMPDIR chooses another place)"
jobs_process=
trap 'rm -rf "$work"' EXIT
trap 'stop 130' INT
trap 'stop 143' TERM HUP

# SIGTERM makes parallel kill its jobs immediately. After other signals it would let them continue.
stop() {
    [ -z "$jobs_process" ] || kill "$jobs_process" 2>/dev/null || :
    wait
    exit "$1"
}

# If SHELL is not set, parallel loses the output of jobs on other hosts.
export SHELL="${SHELL:-/bin/sh}"

# If a part were lost, the filter would answer no to its keys. So the first job that fails ends the run.
# Each job writes its filter to one file and its messages to another. parallel prints the names of the filter files.
# --plain ignores $PARALLEL and ~/.parallel/config, whose options might drop keys.
parallel --plain --pipepart --block -1 --arg-file "$keys" ${jobs:+-j "$jobs"} ${hosts:+-S "$hosts"} \
    --halt now,fail=1 --files --results "$work/part{#}" --tmpdir "$work" -q bfcreate -q "$@" - >"$work/list" &
jobs_process=$!
status=0
wait "$jobs_process" || status=$?
jobs_process=
for said in "$work"/part*.err; do # messages of several jobs are printed once
    [ ! -e "$said" ] || cat "$said"
done | awk '!said[$0]++' >&2
[ "$status" -eq 0 ] || fail "cannot create $file: a part failed"
if [ ! -s "$work/list" ]; then # an empty KEYFILE has no parts
    bfcreate -q --allow-empty "$@" "$work/empty" "$keys"
    echo "$work/empty" >"$work/list"
fi
bfmerge ${force:+-f --discard} --files-from "$work/list" "$file"
