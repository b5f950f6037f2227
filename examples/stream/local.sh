#!/bin/bash
# SPDX-License-Identifier: MIT
# local.sh [-f] [-m MAPPERS] FILE KEYFILE
# Does on this machine what Hadoop Streaming does on many: splits KEYFILE at line ends, runs a mapper and
# a combiner on each part, sorts, runs the reducer, and makes the filter FILE of what it printed.
#   -f          replace FILE if it exists
#   -m MAPPERS  so many parts, all at once (default 2)
# BLOOM_OPTIONS: as for mapper.sh.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)

usage() { sed -n '3,8s/^# //p' "$0" >&2; exit 2; }

force='' mappers=2
while getopts fm: option; do
    case $option in
    f) force=-f ;;
    m) mappers=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 2 ] || usage
file=$1 keys=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

split -n "l/$mappers" "$keys" "$work/part."
printf '%s\0' "$work"/part.* |
    xargs -0 -P "$mappers" -n 1 bash -c \
        'set -o pipefail; "$0/mapper.sh" <"$1" | "$0/reducer.sh" >"$1.mapped"' "$folder" ||
    { echo "local.sh: cannot create $file: a mapper failed" >&2; exit 2; }
sort -t $'\t' -k 1,1 "$work"/part.*.mapped | "$folder/reducer.sh" >"$work/reduced"

# Not in one pipe: if images.sh fails in the middle, bfmerge would take that for the end.
"$folder/images.sh" <"$work/reduced" >"$work/images"
bfmerge $force "$file" - <"$work/images"
