# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034 # what it sets is used where it is sourced
#
# Sourced by query.sh, scale.sh and common.sh: a place for files, and medians.

# whole_number TEXT: whether it is one from 1 up
whole_number() {
    case $1 in
    '' | 0* | *[!0-9]*) return 1 ;;
    esac
}

# make_work FOLDER BYTES: $work, a folder for that many bytes which is removed at the end
make_work() {
    room=$(df -Pk "$1" | awk 'NR == 2 { printf "%.0f", $4 * 1024 }')
    [ -n "$room" ] || exit 2
    if [ "$room" -lt "$2" ]; then
        echo "$0: $1 has room for $room bytes, not $2; name another folder" >&2
        exit 2
    fi
    work=$(mktemp -d "$1/bench.XXXXXX") || exit 2
    trap 'rm -rf "$work"' EXIT
    trap 'exit 2' HUP INT PIPE TERM
}

# median NAME COLUMN: of the lines that bench-run wrote to $work/NAME.runs
median() {
    cut -d ' ' -f "$2" "$work/$1.runs" | sort -n | awk '{ v[NR] = $1 }
        END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

# median_ratio NAME OTHER: of the seconds of OTHER to those of NAME, turn by turn
median_ratio() {
    paste -d ' ' "$work/$2.runs" "$work/$1.runs" | awk '{ print $1 / $4 }' | sort -n |
        awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

# judge CONDITION: sets $verdict, to "ok", or to "MISSED" and $missed to 1; the condition is awk's
judge() {
    if awk "BEGIN { exit !($1) }"; then
        verdict=ok
    else
        verdict=MISSED missed=1
    fi
}
missed=0
