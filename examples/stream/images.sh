#!/bin/bash
# SPDX-License-Identifier: MIT
# images.sh <LINES: the images from what mapper.sh or reducer.sh printed, one after the other, as
# "bfmerge FILE -" reads them. A line that is none of theirs is an error.
set -euo pipefail
exec awk -F '\t' '
    NF != 2 || $1 != "bloom" || $2 == "" {
        print "images.sh: line " NR " holds no filter" >"/dev/stderr"
        exit 1
    }
    {
        print $2 | "base64 -d"
        if (close("base64 -d") != 0) {
            print "images.sh: line " NR " is damaged" >"/dev/stderr"
            exit 1
        }
    }'
