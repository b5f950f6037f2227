#!/bin/sh
# SPDX-License-Identifier: MIT
#
# uniq.sh - how fast bfuniq finds the different ones among 2 * 10^7 lines of about 60 bytes, a quarter of
# them repeated, beside `sort -u` and awk, which are exact; how much memory each takes; and how many
# lines bfuniq drops by mistake, beside the number that theory expects and the one that is promised.
#
# All run in turns, RUNS times, and read the lines from the page cache; the medians are printed.
set -eu
export LC_ALL=C

RUNS=3
QUARTER=5000000
RATE=0.001
different=$((3 * QUARTER))

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: $0 BUILD-DIRECTORY [DIRECTORY FOR 6 GB OF FILES]" >&2
    exit 2
fi
build=$1
work=$(mktemp -d "${2:-${TMPDIR:-/var/tmp}}/bench-uniq.XXXXXX")
memory=$(mktemp -d /dev/shm/bench-uniq.XXXXXX)
trap 'rm -rf "$work" "$memory"' EXIT
trap 'exit 2' HUP INT PIPE TERM

# Each fourth line repeats one of the first of every four, before or after it.
for part in 0 1 2; do
    "$build/bench/bench-genkeys" $QUARTER $((part * QUARTER + 1)) >"$work/part$part"
done
shuf --random-source="$work/part1" -o "$work/repeated" "$work/part0"
paste -d '\n' "$work/part0" "$work/part1" "$work/part2" "$work/repeated" >"$work/lines"
rm "$work/part0" "$work/part1" "$work/part2" "$work/repeated"
lines=$((4 * QUARTER))

# measured NAME COMMAND...: a line of $work/NAME.runs; its output is $work/NAME.out
measured() {
    name=$1
    shift
    cat "$work/lines" >/dev/null
    "$build/bench/bench-run" "$work/$name.runs" "$@" >"$work/$name.out"
}

bfuniq() {
    measured "$1" "$build/tools/bfuniq" -q -n $different -p $RATE "$2" "$3" "$work/lines"
}

awks=
for awk in mawk gawk; do
    if command -v $awk >/dev/null; then
        awks="$awks $awk"
    fi
done
run=0
while [ $run -lt $RUNS ]; do
    run=$((run + 1))
    rm -f "$work/seen" "$memory/seen"
    bfuniq memory -l blocked
    bfuniq disk --filter "$work/seen"
    bfuniq shm --filter "$memory/seen"
    measured sort sort -u -T "$work" "$work/lines"
    for awk in $awks; do
        measured "$awk" "$awk" '!s[$0]++' "$work/lines"
    done
done

# median FILE COLUMN
median() {
    cut -d ' ' -f "$2" "$1" | sort -n | awk '{ v[NR] = $1 }
        END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

# dropped NAME: how many of the different lines are not in its output, which has no others, and each
# but once
dropped() {
    sort "$work/$1.out" | comm -3 "$work/sort.out" - | awk '
        /^\t/ { wrong = 1 }
        END { if (wrong) { print "printed lines that it should not" | "cat >&2"; exit 1 }
              print NR }'
}

json_number() {
    "$build/tools/bfinspect" --json "$memory/seen" 2>/dev/null | grep -o "\"$1\":[0-9]*" | head -n 1 |
        cut -d : -f 2
}

# The rate of a blocked filter is the mean of fill^k, over how many keys fall into a block, which is a
# Poisson number, and over the fill they leave there, by its variance to the second order. The sum of
# the rates at 0 to n - 1 keys is what is expected to be dropped.
expected=$(awk -v n=$different -v m="$(json_number m)" -v k="$(json_number k)" '
    function power_of_fill(bits,    empty, both, fill, variance) {
        if (bits == 0)
            return 0
        empty = (1 - 1 / 512) ^ bits
        both = (1 - 2 / 512) ^ bits
        fill = 1 - empty
        variance = (empty + 511 * both) / 512 - empty * empty
        return fill ^ k * (1 + k * (k - 1) / 2 * variance / (fill * fill))
    }
    function rate(keys,    mean, j, p, sum) {
        mean = keys / (m / 512)
        p = exp(-mean)
        for (j = 0; j < 4 * mean + 40; j++) {
            sum += p * power_of_fill(k * j)
            p *= mean / (j + 1)
        }
        return sum
    }
    BEGIN {
        steps = 1000
        for (i = 0; i < steps; i++)
            sum += rate((i + 0.5) * n / steps) * n / steps
        printf "%.0f", sum
    }')
promised=$(awk -v n=$different -v p=$RATE 'BEGIN { printf "%.0f", n * p }')

# row COMMAND NAME EXPECTED PROMISED
row() {
    awk -v command="$1" -v lines=$lines -v clock="$(median "$work/$2.runs" 1)" \
        -v processor="$(median "$work/$2.runs" 2)" -v peak="$(median "$work/$2.runs" 3)" \
        -v printed="$(wc -l <"$work/$2.out")" -v dropped="$(dropped "$2")" -v expected="$3" \
        -v promised="$4" 'BEGIN {
            printf "| %-27s | %7.2f | %9.2f | %11.2f | %12.1f | %8d | %7d | %8s | %8s |\n", command,
                   clock, lines / clock / 1e6, processor, peak * 1024 / 1e6, printed, dropped,
                   expected, promised }'
}

awk -v lines=$lines -v bytes="$(wc -c <"$work/lines")" -v runs=$RUNS 'BEGIN {
    printf "%d lines, %.1f MB, %.1f bytes per line; medians of %d runs\n\n", lines, bytes / 1e6,
           bytes / lines, runs }'
echo '| command                     | seconds | M lines/s | processor s | peak RSS, MB | printed  | dropped | expected | promised |'
echo '|-----------------------------|--------:|----------:|------------:|-------------:|---------:|--------:|---------:|---------:|'
row 'bfuniq' memory "$expected" "<= $promised"
row 'bfuniq --filter, on disk' disk "$expected" "<= $promised"
row 'bfuniq --filter in /dev/shm' shm "$expected" "<= $promised"
row 'sort -u' sort 0 0
for awk in $awks; do
    row "$awk '!s[\$0]++'" "$awk" 0 0
done
