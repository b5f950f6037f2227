#!/bin/sh
# SPDX-License-Identifier: MIT
#
# create.sh - how fast bfcreate turns 10^7 keys of about 60 bytes into a filter, beside `wc -l` on the
# same file, and how much memory it takes beside 8 bytes per key and the filter.
#
# Both run in turns, RUNS times, and read the keys from the page cache; the medians are printed. Time
# on the clock depends on what else the machine does, processor time (user + system) hardly.
set -eu

RUNS=5
KEYS=10000000

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: $0 BUILD-DIRECTORY [DIRECTORY FOR 650 MB OF FILES]" >&2
    exit 2
fi
build=$1
work=$(mktemp -d "${2:-${TMPDIR:-/tmp}}/bench-create.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT PIPE TERM

"$build/bench/bench-genkeys" $KEYS >"$work/keys"
run=0
while [ $run -lt $RUNS ]; do
    run=$((run + 1))
    "$build/bench/bench-run" "$work/wc.runs" wc -l "$work/keys" >"$work/lines"
    "$build/bench/bench-run" "$work/bfcreate.runs" \
        "$build/tools/bfcreate" -q -f "$work/keys.bloom" "$work/keys"
done

# median FILE COLUMN
median() {
    cut -d ' ' -f "$2" "$1" | sort -n | awk '{ v[NR] = $1 }
        END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

row() {
    clock=$(median "$work/$2.runs" 1)
    processor=$(median "$work/$2.runs" 2)
    peak=$(median "$work/$2.runs" 3)
    awk -v name="$1" -v bytes="$(wc -c <"$work/keys")" -v clock="$clock" \
        -v processor="$processor" -v peak="$peak" 'BEGIN {
            printf "| %-8s | %7.3f | %5.2f | %11.3f | %14.2f | %13.1f |\n", name, clock,
                   bytes / clock / 1e9, processor, bytes / processor / 1e9, peak * 1024 / 1e6 }'
}

awk -v keys=$KEYS -v bytes="$(wc -c <"$work/keys")" -v runs=$RUNS 'BEGIN {
    printf "%.0f keys, %.1f MB, %.1f bytes per line; medians of %d runs\n\n", keys, bytes / 1e6,
           bytes / keys, runs }'
echo '| command  | seconds |  GB/s | processor s | GB/processor s | peak RSS, MB  |'
echo '|----------|--------:|------:|------------:|---------------:|--------------:|'
row 'wc -l' wc
row bfcreate bfcreate
awk -v keys=$KEYS -v filter="$(wc -c <"$work/keys.bloom")" \
    -v peak="$(median "$work/bfcreate.runs" 3)" 'BEGIN {
        due = 8 * keys + filter
        printf "\n8 bytes per key + the filter: %.1f MB + %.1f MB = %.1f MB; the peak is %.3f of it\n",
               8 * keys / 1e6, filter / 1e6, due / 1e6, peak * 1024 / due }'
