# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034 # the scripts that source it use its variables
# Functions to run programs and store the output of each in a file. Sourced by scripts/bench and scripts/engines.

mark='<!-- From here on written with --results: the date, the machine, and what the program prints. -->'
missed=0 # whether a figure missed its target
results= # a folder; empty: standard output

# results_in DIRECTORY: sets the folder for results, relative to the folder in which the script was called.
results_in() {
    case $1 in
    /*) results=$1 ;;
    *) results=$called_in/$1 ;;
    esac
    mkdir -p "$results" || exit 2
}

# machine: prints the date, the machine and the versions on which figures depend.
machine() {
    field() { sed -n "s/^$1[^:]*: //p" /proc/cpuinfo | head -n 1; }
    processor="$(field 'model name') (family $(field 'cpu family'), model $(field 'model	'))"
    memory=$(awk '$1 == "MemTotal:" { printf "%.0f", $2 / 1048576 }' /proc/meminfo)
    peers=$(dpkg-query -W -f '${Package} ${Version};' libbloom-dev libleveldb-dev librocksdb-dev \
        golang-github-dcso-bloom-cli 2>/dev/null | sed 's/;$//; s/;/; /g')
    echo "$(date +%Y-%m-%d). ${processor:-unknown processor}, $(nproc) cores, $memory GB; $(uname -sr);" \
        "$(${CC:-cc} --version | head -n 1); release build; bloomfile $(git describe --always --dirty 2>/dev/null);" \
        "$peers."
}

# run TITLE COMMAND [ARGUMENT...]: a figure that misses its target (status 1) does not stop the script; an error does.
run() {
    [ -z "$1" ] || printf '### %s\n\n' "$1"
    shift
    status=0
    "$@" || status=$?
    [ "$status" -le 1 ] || exit "$status"
    [ "$status" -eq 0 ] || missed=1
}

# record NAME COMMAND [ARGUMENT...]: stores the output of COMMAND, a function of the script, in NAME.md. Text above the
# mark, written by hand, stays.
record() {
    name=$1
    shift
    echo "$name ..." >&2
    {
        if [ -f "$results/$name.md" ]; then
            sed "/^$mark\$/q" "$results/$name.md"
        else
            printf '# bench-%s\n\n%s\n' "$name" "$mark"
        fi
        printf '\n%s\n\n' "$(machine)"
        "$@"
    } >"$results/$name.new" || exit
    sed '${/^$/d}' "$results/$name.new" >"$results/$name.md"
    rm "$results/$name.new"
}
