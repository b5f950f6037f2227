#!/bin/bash
# SPDX-License-Identifier: MIT
#
# shards.sh - dedupe for packed shards, several at a time
#
#     shards.sh [-j JOBS] FOLDER [DEDUPE-OPTION...] FILTER -- SHARD...
#
# Writes the rest of each SHARD to FOLDER, under the path of the SHARD, when it is complete. After a kill
# or an error, run the same command again. Use each FOLDER with one FILTER only.
set -euo pipefail

fail() {
    echo "shards.sh: $1" >&2
    exit 2
}

if [ "${1-}" = --one ]; then # FOLDER DEDUPE-OPTION... FILTER SHARD
    done=$2/${*: -1}
    part=$done.part
    if [ ! -e "$done" ]; then
        case $done in
        *.gz) pack='gzip -c' unpack='gzip -dc' ;;
        *.zst) pack='zstd -qc' unpack='zstd -qdc' ;;
        *) pack=cat unpack=cat ;;
        esac
        mkdir -p "$(dirname "$done")"
        $unpack <"${*: -1}" | dedupe "${@:3:$#-3}" "$part"
        sed '/^$/d' "$part" | $pack >"$part.packed"
        sync "$part.packed"
        mv "$part.packed" "$done"
        sync "$(dirname "$done")"
    fi
    rm -f "$part"
    exit
fi

jobs=$(nproc)
if [ "${1-}" = -j ]; then
    jobs=$2
    shift 2
fi
words=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    words+=("$1")
    shift
done
[ ${#words[@]} -ge 2 ] && [ $# -ge 2 ] || fail 'usage: shards.sh [-j JOBS] FOLDER [DEDUPE-OPTION...] FILTER -- SHARD...'
shift
[[ "/${*/%//}/" != */../* ]] || fail 'a shard has .. in its path'
twice=$(realpath -e -- "$@" | sort | uniq -d)
[ -z "$twice" ] || fail "named twice: $twice"
mkdir -p "${words[0]}"
exec 9>"${words[0]}/.lock" # workers inherit the lock
flock -n 9 || fail "another run is using ${words[0]}"
printf '%s\0' "$@" | xargs -0 -P "$jobs" -n 1 "$0" --one "${words[@]}" ||
    fail 'not all shards are done (fix the error above, then run the same command again)'
