#!/bin/sh
# SPDX-License-Identifier: MIT
#
# scale.sh - how fast bfcreate turns lines like URLs, of about 60 bytes, into a filter: many from a
# pipe, whose number nobody tells it, and fewer from a file in the page cache. Beside `wc -l` of the
# same, and beside Debian's `bloom create` and `bloom insert`, which are told the number. All run in
# turns; the medians are printed.
set -eu
export LC_ALL=C
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

PIPED=100000000
FILED=10000000
RUNS=3
MEMORY=256 # MiB, of the rows with --memory
ALLOWED=8  # MiB more than that: the program itself
TIMES=10   # as fast as bloom, at least

usage() {
    echo "usage: $0 [-p LINES FROM A PIPE] [-f LINES FROM A FILE] [-r RUNS] BUILD-DIRECTORY [DIRECTORY FOR FILES]" >&2
    exit 2
}

piped=$PIPED filed=$FILED runs=$RUNS
while getopts p:f:r: option; do
    case $option in
    p) piped=$OPTARG ;;
    f) filed=$OPTARG ;;
    r) runs=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
if [ $# -lt 1 ] || [ $# -gt 2 ] || ! whole_number "$piped" || ! whole_number "$filed" ||
    ! whole_number "$runs"; then
    usage
fi
build=$1
if ! command -v bloom >/dev/null; then
    echo "$0: there is no bloom to compare with: apt-get install golang-github-dcso-bloom-cli" >&2
    exit 2
fi
most=$((piped > filed ? piped : filed))
make_work "${2:-${TMPDIR:-/var/tmp}}" $((filed * 64 + most * 16 + 64000000))

# feed COMMAND...: with the lines as its input, from the file $source or else from the generator
feed() {
    if [ -n "$source" ]; then
        "$@" <"$source"
    else
        "$build/bench/bench-genkeys" "$lines" | "$@"
    fi
}

# measured NAME COMMAND...: a line of $work/NAME.runs
measured() {
    name=$1
    shift
    feed "$build/bench/bench-run" "$work/$name.runs" "$@"
}

bfcreate() {
    name=$1
    shift
    measured "$name" "$build/tools/bfcreate" -q -f "$@" "$work/$name.bloom"
}

row() {
    verdict=
    [ -z "$3" ] || judge "$3"
    awk -v command="$1" -v lines="$lines" -v bytes="$bytes" -v clock="$(median "$2" 1)" \
        -v to_wc="$(median_ratio "$2" wc)" -v to_bloom="$(median_ratio "$2" bloom)" \
        -v processor="$(median "$2" 2)" -v peak="$(median "$2" 3)" -v verdict="$verdict" 'BEGIN {
            printf "| %-23s | %8.3f | %11.2f | %5.2f | %8.2f | %22.2f | %11.3f | %13.1f | %-7s |\n",
                   command, clock, lines / clock / 1e6, bytes / clock / 1e9, to_wc, to_bloom,
                   processor, peak / 1024, verdict }'
}

# equal WHAT GOT WANTED
equal() {
    if [ "$2" != "$3" ]; then
        echo "$0: $1: $2, not $3" >&2
        exit 2
    fi
}

# What was counted must be right, and the filters the same bytes whatever threads and memory are.
check_results() {
    equal 'lines counted' "$(cat "$work/counted")" "$lines"
    equal 'different keys in the filter' "$("$build/tools/bfinspect" --json "$work/all.bloom" |
        grep -o '"n":[0-9]*' | head -n 1 | cut -d : -f 2)" "$lines"
    sum=$(cksum <"$work/all.bloom")
    equal 'checksum and size with -j 1' "$(cksum <"$work/one.bloom")" "$sum"
    equal "checksum and size with --memory ${MEMORY}Mi" "$(cksum <"$work/memory.bloom")" "$sum"
}

# turns LINES FILE: the table for so many lines from a file, or from a pipe if it is ''
turns() {
    lines=$1 source=$2
    rm -f "$work"/*.runs "$work"/*.bloom
    run=0
    while [ $run -lt "$runs" ]; do
        run=$((run + 1))
        measured wc wc -l >"$work/counted"
        bfcreate all
        bfcreate one -j 1
        bfcreate memory --memory ${MEMORY}Mi
        rm -f "$work/bloom.bloom"
        # shellcheck disable=SC2016
        measured bloom sh -c 'bloom create -p 0.01 -n "$1" "$2" && bloom insert "$2"' \
            sh "$lines" "$work/bloom.bloom"
    done
    check_results
    bytes=$(feed wc -c)
    awk -v lines="$lines" -v bytes="$bytes" -v from="${source:+the page cache}" -v runs="$runs" '
        BEGIN { printf "\n%.0f lines from %s, %.1f MB, %.1f bytes each; medians of %d runs\n\n",
                       lines, from == "" ? "a pipe" : from, bytes / 1e6, bytes / lines, runs }'
    echo '| command                 |  seconds | 10^6 keys/s |  GB/s | of wc -l | times as fast as bloom | processor s | peak RSS, MiB | verdict |'
    echo '|-------------------------|---------:|------------:|------:|---------:|-----------------------:|------------:|--------------:|---------|'
    row 'wc -l' wc ''
    row bfcreate all "$(median_ratio all bloom) >= $TIMES"
    row 'bfcreate -j 1' one ''
    row "bfcreate --memory ${MEMORY}Mi" memory "$(median memory 3) <= ($MEMORY + $ALLOWED) * 1024"
    row 'bloom create, insert' bloom ''
}

"$build/bench/bench-genkeys" "$filed" >"$work/lines"
turns "$filed" "$work/lines"
rm "$work/lines"
turns "$piped" ''
exit "$missed"
