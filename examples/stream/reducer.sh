#!/bin/bash
# SPDX-License-Identifier: MIT
# reducer.sh <LINES: the union of filters, in and out as mapper.sh prints them, so it is a combiner too.
# Without any input there is no output.
set -euo pipefail
folder=$(dirname "$0")

# Its first byte tells whether there is any.
IFS= read -r -N 1 first || exit 0

# The end of a pipe does not tell whether its writer failed, but what is no filter is refused.
printf 'bloom\t'
{ printf %s "$first"; cat; } | { "$folder/images.sh" || echo failed; } | bfmerge -q - - | base64 -w 0
echo
