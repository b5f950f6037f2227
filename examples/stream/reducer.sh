#!/bin/bash
# SPDX-License-Identifier: MIT
# reducer.sh <LINES: the union of filters, in and out as mapper.sh prints them, so it is a combiner too.
# Without any input there is no output.
set -euo pipefail
folder=$(dirname "$0")

# Its first byte tells whether there is any.
IFS= read -r -N 1 first || exit 0

# Nothing is merged, or printed, before all lines have turned out to be good.
images=$(mktemp)
trap 'rm -f "$images"' EXIT
{ printf %s "$first"; cat; } | "$folder/images.sh" >"$images"
union=$(bfmerge -q - - <"$images" | base64 -w 0)
printf 'bloom\t%s\n' "$union"
