#!/bin/sh
# in-wine.sh WINE NODE MAIN PATH_OF_MAIN [ARGUMENT...]: runs MAIN by a Node.js for Windows. PATH_OF_MAIN, which tests put first, is left out.
# The exit code is that of MAIN. Its output goes through files, because libuv cannot open Wine's pipes. SIGTERM ends it at once.
set -u
wine=$1 node=$2 main=$3
shift 4
folder=$(mktemp -d)
: >"$folder/out"
: >"$folder/err"
"$wine" "$node" "$main" "$@" </dev/null >"$folder/out" 2>"$folder/err" &
program=$!
trap 'kill -KILL "$program"' TERM
tail -s 0.05 -n +1 -f --pid="$program" "$folder/out" &
out=$!
tail -s 0.05 -n +1 -f --pid="$program" "$folder/err" >&2 &
err=$!
wait "$program"
code=$?
wait "$out" "$err"
rm -r "$folder"
exit "$code"
