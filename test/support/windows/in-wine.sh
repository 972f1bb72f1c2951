#!/bin/sh
# in-wine.sh WINE NODE MAIN PATH_OF_MAIN [ARGUMENT...]: runs MAIN by a Node.js for Windows. PATH_OF_MAIN, which tests put first, is left out.
# The exit code is that of MAIN. Its output goes through files, because libuv cannot open Wine's pipes. SIGTERM ends it at once.
# With D2S_CONSOLE=1 it runs in a console, where SIGINT types Ctrl-C.
set -u
wine=$1 node=$2 main=$3
shift 4
folder=$(mktemp -d)
: >"$folder/out"
: >"$folder/err"
if [ -n "${D2S_CONSOLE-}" ]; then
  mkfifo "$folder/keys"
  words=$(printf " '%s'" "$wine" "$node" "$main" "$@")
  script --quiet --return --command "exec$words >'$folder/out' 2>'$folder/err'" /dev/null <"$folder/keys" >/dev/null &
  exec 3>"$folder/keys"
  trap 'printf "\003" >&3' INT
else
  "$wine" "$node" "$main" "$@" </dev/null >"$folder/out" 2>"$folder/err" &
fi
program=$!
trap 'kill -KILL "$program"' TERM
tail -s 0.05 -n +1 -f --pid="$program" "$folder/out" &
out=$!
tail -s 0.05 -n +1 -f --pid="$program" "$folder/err" >&2 &
err=$!
wait "$program"
code=$?
# A trap has interrupted it.
while kill -0 "$program" 2>/dev/null; do
  wait "$program"
  code=$?
done
wait "$out" "$err"
rm -r "$folder"
exit "$code"
