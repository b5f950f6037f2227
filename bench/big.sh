#!/bin/sh
# SPDX-License-Identifier: MIT
#
# big.sh - sizes beyond 32 bits, with real filters: one of more than 2^36 bits, one for more than 2^32
# keys. Each is created, sized up, queried with present and absent keys, inspected, verified and
# removed. That positions reach everywhere is seen in the bytes themselves: the last 1024th of the
# body, and the one that begins at byte 2^32, hold about as many bytes above zero as the first.
set -eu

KEYS=1000000
NEED_DISK=10000000000
NEED_MEMORY=9500000000

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: $0 BUILD-DIRECTORY [DIRECTORY WITH 10 GB OF ROOM]" >&2
    exit 2
fi
build=$1
where=${2:-${TMPDIR:-/var/tmp}}

room=$(df -Pk "$where" | awk 'NR == 2 { printf "%.0f", $4 * 1024 }')
if [ "$room" -lt $NEED_DISK ]; then
    echo "$0: $where has room for $room bytes, not $NEED_DISK" >&2
    exit 2
fi
memory=$(awk '$1 == "MemAvailable:" { printf "%.0f", $2 * 1024 }' /proc/meminfo)
if [ "$memory" -lt $NEED_MEMORY ]; then
    echo "$0: $memory bytes of memory are available, not $NEED_MEMORY" >&2
    exit 2
fi
work=$(mktemp -d "$where/bench-big.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT PIPE TERM
filter=$work/big.bloom
missed=0

# check WHAT GOT WANTED
check() {
    if [ "$2" = "$3" ]; then
        printf '| %-34s | %12s |             |           | ok      |\n' "$1" "$2"
    else
        printf '| %-34s | %12s |             |           | MISSED  | (not %s)\n' "$1" "$2" "$3"
        missed=1
    fi
}

# timed WANTED-EXIT-STATUS WHAT COMMAND...: its standard output goes to $work/output
timed() {
    wanted=$1
    what=$2
    shift 2
    status=0
    "$build/bench/bench-run" "$work/figures" "$@" >"$work/output" || status=$?
    tail -n 1 "$work/figures" | awk -v what="$what" '{
        printf "| %-34s | %10.2f s | %9.2f s | %5.0f MiB | ", what, $1, $2, $3 / 1024 }'
    if [ $status -eq "$wanted" ]; then
        echo 'ok      |'
    else
        echo "MISSED  | (exit status $status)"
        missed=1
    fi
}

# set_bytes PAGE COUNT: how many bytes above zero are in that part of the body
set_bytes() {
    dd if="$filter" bs=4096 skip=$((1 + $1)) count="$2" status=none | tr -d '\000' | wc -c
}

# part WHAT PAGE COUNT REFERENCE: within 20 % of the reference, more than four standard deviations
part() {
    got=$(set_bytes "$2" "$3")
    if [ $((got * 10)) -ge $(($4 * 8)) ] && [ $((got * 10)) -le $(($4 * 12)) ]; then
        check "$1" "$got" "$got"
    else
        check "$1" "$got" "about $4"
    fi
}

json_number() {
    grep -o "\"$1\":[0-9]*" "$work/json" | head -n 1 | cut -d : -f 2
}

# big TITLE OPTION...: one filter, from creation to removal
big() {
    printf '\n| %-34s |     %8s | processor   | peak RSS  | verdict |\n' "$1" ''
    echo '|------------------------------------|-------------:|------------:|----------:|---------|'
    shift
    timed 0 bfcreate "$build/tools/bfcreate" -q "$@" "$filter" "$work/present"
    timed 0 'bfquery, present keys' "$build/tools/bfquery" -c "$filter" "$work/present"
    check 'present keys found' "$(cat "$work/output")" $KEYS
    timed 1 'bfquery, absent keys' "$build/tools/bfquery" -c "$filter" "$work/absent"
    check 'absent keys found' "$(cat "$work/output")" 0
    timed 0 'bfinspect --json' "$build/tools/bfinspect" --json "$filter"
    cp "$work/output" "$work/json"
    timed 0 'bfinspect --verify' "$build/tools/bfinspect" --verify "$filter"

    bits=$(json_number m)
    pages=$(((bits + 32767) / 32768))
    part=$((pages / 1024))
    check 'm' "$bits" "${wanted_bits:-$bits}"
    check 'capacity' "$(json_number capacity)" "${wanted_capacity:-$(json_number capacity)}"
    check 'bytes in the file' "$(wc -c <"$filter")" $((4096 + 4096 * pages + 4 * pages))
    reference=$(set_bytes 0 $part)
    part 'set bytes, first 1024th' 0 $part "$reference"
    part 'set bytes, a 1024th from byte 2^32' 1048576 $part "$reference"
    part 'set bytes, last 1024th' $((pages - part)) $part "$reference"
    rm "$filter"
}

"$build/bench/bench-genkeys" $KEYS >"$work/present"
"$build/bench/bench-genkeys" $KEYS $((KEYS + 1)) >"$work/absent"

wanted_bits=$((68719476736 + 512 * 12345)) wanted_capacity=
big 'm = 2^36 + 512 * 12345' -m "$wanted_bits" -k 7

wanted_bits='' wanted_capacity=5000000000
big 'room for 5 * 10^9 keys at 0.01' -n $wanted_capacity -p 0.01

exit $missed
