#!/bin/bash
# SPDX-License-Identifier: MIT
# mapper.sh <KEYS: a filter of the lines of standard input, as one line of text: "bloom", a tab, and the
# image in base64. Without any input, that of an empty filter.
# BLOOM_OPTIONS are bfcreate's; they must give the size (-n, or -m and -k), the same for all mappers.
set -euo pipefail
: "${BLOOM_OPTIONS:?must give the size of the filter, as in '-n 10M -p 0.01'}"

# What is written before a failure does not count: the exit status tells the framework.
printf 'bloom\t'
# shellcheck disable=SC2086 # they are several words
bfcreate -q --allow-empty $BLOOM_OPTIONS - | base64 -w 0
echo
