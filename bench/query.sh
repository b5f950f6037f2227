#!/bin/sh
# SPDX-License-Identifier: MIT
#
# query.sh - how fast bfquery answers for lines like URLs, of about 60 bytes, from a file in the page
# cache, of which every other one is in the filter; and how fast bfcreate makes a filter of them all.
# Beside `wc -l` of the same file, and, for far fewer lines, beside `grep -F -x -f`. All run in turns,
# and write to /dev/null; the medians are printed.
set -eu
export LC_ALL=C
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

LINES=100000000
FEW=200000
RUNS=3
SLOWER=2 # times as slow as wc -l, at most, with two threads

usage() {
    echo "usage: $0 [-n LINES] [-g LINES FOR GREP] [-r RUNS] BUILD-DIRECTORY [DIRECTORY FOR FILES]" >&2
    exit 2
}

many=$LINES few=$FEW runs=$RUNS
while getopts n:g:r: option; do
    case $option in
    n) many=$OPTARG ;;
    g) few=$OPTARG ;;
    r) runs=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
if [ $# -lt 1 ] || [ $# -gt 2 ] || ! whole_number "$many" || ! whole_number "$few" ||
    ! whole_number "$runs"; then
    usage
fi
build=$1
make_work "${2:-${TMPDIR:-/var/tmp}}" $((many * 64 + many * 4 + few * 96 + 64000000))

# measured NAME COMMAND...: a line of $work/NAME.runs
measured() {
    name=$1
    shift
    "$build/bench/bench-run" "$work/$name.runs" "$@" >/dev/null
}

# row COMMAND NAME CONDITION
row() {
    verdict=
    [ -z "$3" ] || judge "$3"
    awk -v command="$1" -v lines="$lines" -v bytes="$bytes" -v clock="$(median "$2" 1)" \
        -v to_wc="$(median_ratio wc "$2")" -v processor="$(median "$2" 2)" \
        -v peak="$(median "$2" 3)" -v verdict="$verdict" 'BEGIN {
            printf "| %-18s | %8.3f | %11.2f | %5.2f | %19.2f | %11.3f | %13.1f | %-7s |\n", command,
                   clock, lines / clock / 1e6, bytes / clock / 1e9, to_wc, processor, peak / 1024,
                   verdict }'
}

# prepare LINES: $work/lines, and a filter of every other one
prepare() {
    lines=$1
    rm -f "$work"/*
    "$build/bench/bench-genkeys" "$lines" >"$work/lines"
    bytes=$(wc -c <"$work/lines")
    "$build/bench/bench-genkeys" $((lines / 2)) 2 2 | "$build/tools/bfcreate" -q "$work/half.bloom"
}

# Every line of the filter is found, and of the others not more than the rate allows.
check_answers() {
    found=$("$build/tools/bfquery" -c "$work/half.bloom" "$work/lines")
    if [ "$found" -lt $((lines / 2)) ] || [ "$found" -gt $((lines / 2 + lines / 150)) ]; then
        echo "$0: bfquery found $found of $((lines / 2)) lines" >&2
        exit 2
    fi
}

header() {
    awk -v lines="$lines" -v bytes="$bytes" -v runs="$runs" 'BEGIN {
        printf "\n%.0f lines from the page cache, %.1f MB, %.1f bytes each; medians of %d runs\n\n",
               lines, bytes / 1e6, bytes / lines, runs }'
    echo '| command            |  seconds | 10^6 keys/s |  GB/s | times as long as wc | processor s | peak RSS, MiB | verdict |'
    echo '|--------------------|---------:|------------:|------:|--------------------:|------------:|--------------:|---------|'
}

query() {
    name=$1
    shift
    measured "$name" "$build/tools/bfquery" "$@" "$work/half.bloom" "$work/lines"
}

prepare "$many"
check_answers
run=0
while [ $run -lt "$runs" ]; do
    run=$((run + 1))
    measured wc wc -l "$work/lines"
    query one -j 1
    query two -j 2
    query count -j 2 -c
    query all
    measured create "$build/tools/bfcreate" -q -f -j 2 "$work/all.bloom" "$work/lines"
done
header
row 'wc -l' wc ''
row 'bfquery -j 1' one ''
row 'bfquery -j 2' two "$(median_ratio wc two) <= $SLOWER"
row 'bfquery -j 2 -c' count ''
row 'bfquery' all ''
row 'bfcreate -j 2' create "$(median_ratio wc create) <= $SLOWER"

prepare "$few"
check_answers
"$build/bench/bench-genkeys" $((lines / 2)) 2 2 >"$work/patterns"
run=0
while [ $run -lt "$runs" ]; do
    run=$((run + 1))
    measured wc wc -l "$work/lines"
    query all
    measured grep grep -F -x -f "$work/patterns" "$work/lines"
done
header
row 'wc -l' wc ''
row 'bfquery' all ''
row 'grep -F -x -f' grep ''
exit "$missed"
