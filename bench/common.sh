#!/bin/sh
# SPDX-License-Identifier: MIT
#
# common.sh - the lines that two files have in common, by bfcommon in bounded memory and by sorting
# both. Each file has as many different lines like URLs as it is told, and exactly one in a hundred is
# in the other one too, spread all over it. Both commands run once, the files are in the page cache as
# far as it goes, and their outputs must be the same bytes.
#
# The other way sorts both files at the same time, and each sort is given the same memory, so that it
# has twice as much. The peak is that of its largest process.
set -eu
export LC_ALL=C
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

LINES=50000000
MEMORY=512 # MiB
ALLOWED=8  # MiB more than that: the program itself

usage() {
    echo "usage: $0 [-n LINES] [-m MIB] BUILD-DIRECTORY [DIRECTORY FOR FILES]" >&2
    exit 2
}

lines=$LINES memory=$MEMORY
while getopts n:m: option; do
    case $option in
    n) lines=$OPTARG ;;
    m) memory=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
if [ $# -lt 1 ] || [ $# -gt 2 ] || ! whole_number "$lines" || ! whole_number "$memory"; then
    usage
fi
build=$1
make_work "${2:-${TMPDIR:-/var/tmp}}" $((lines * 64 * 5 + 16000000))

# Lines 99, 198 ... and 100, 200 ...: those they share are the multiples of 9900.
"$build/bench/bench-genkeys" "$lines" 99 99 >"$work/a"
"$build/bench/bench-genkeys" "$lines" 100 100 >"$work/b"
common=$((lines / 100))

# measured NAME COMMAND...: a line of $work/NAME.runs; its output is $work/NAME.out
measured() {
    name=$1
    shift
    cat "$work/a" "$work/b" >/dev/null
    "$build/bench/bench-run" "$work/$name.runs" "$@" >"$work/$name.out"
}

measured bfcommon "$build/tools/bfcommon" -q --memory "${memory}Mi" --temp "$work" "$work/a" \
    "$work/b"
# As comm -12 <(sort a) <(sort b), in one pipeline that ends all at once.
# shellcheck disable=SC2016
measured comm sh -c 'sort -S "$2M" -T "$1" "$1/a" |
    { sort -S "$2M" -T "$1" "$1/b" | comm -12 /dev/fd/3 -; } 3<&0' sh "$work" "$memory"
if ! cmp -s "$work/bfcommon.out" "$work/comm.out"; then
    echo "$0: bfcommon and comm found different lines" >&2
    missed=1
fi

# row COMMAND NAME CONDITION: CONDITION for the peak memory, in KiB
row() {
    verdict=
    [ -z "$3" ] || judge "$3"
    found=$(wc -l <"$work/$2.out")
    [ "$found" -eq $common ] || verdict=MISSED missed=1
    awk -v command="$1" -v found="$found" -v clock="$(median "$2" 1)" \
        -v ratio="$(median_ratio "$2" comm)" -v processor="$(median "$2" 2)" \
        -v peak="$(median "$2" 3)" -v verdict="$verdict" 'BEGIN {
            printf "| %-26s | %9d | %8.2f | %24.2f | %11.2f | %13.1f | %-7s |\n", command, found,
                   clock, ratio, processor, peak / 1024, verdict }'
}

awk -v lines="$lines" -v bytes="$(wc -c <"$work/a")" -v common=$common 'BEGIN {
    printf "two files of %.0f lines, %.1f MB each, %d lines in common\n\n", lines, bytes / 1e6,
           common }'
echo '| command                    |     found |  seconds | times as fast as sorting | processor s | peak RSS, MiB | verdict |'
echo '|----------------------------|----------:|---------:|-------------------------:|------------:|--------------:|---------|'
row "bfcommon --memory ${memory}Mi" bfcommon \
    "$(median bfcommon 3) <= ($memory + $ALLOWED) * 1024"
row "sort -S ${memory}M twice, comm" comm ''
exit "$missed"
