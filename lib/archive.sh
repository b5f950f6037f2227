#!/bin/sh
# SPDX-License-Identifier: MIT
# archive.sh LD OBJCOPY AR INPUT OUTPUT: the archive OUTPUT, one object made of all of INPUT's, in which
# hidden symbols are local.
set -eu
ld=$1 objcopy=$2 ar=$3 input=$4 output=$5
"$ld" -r -o "$output.o" --whole-archive "$input"
"$objcopy" --localize-hidden "$output.o"
rm -f "$output"
"$ar" rcs "$output" "$output.o"
rm -f "$output.o"
