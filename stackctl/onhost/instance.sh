#!/bin/sh
# Runs one instance of a release and writes down how it ended: instance.sh RELEASE-DIR NAME
# It leads the instance's session, stays as long as the instance, and passes signals on by not taking them itself:
# who ends an instance signals the whole group.
set -u
dir=$1
name=$2
run=$dir/run
trap : TERM INT HUP # a caught signal is back to its default in children; an ignored one would stay ignored there
sh "$dir/serve-$name.sh" &
child=$!
while :; do
  wait "$child"
  code=$?
  # a signal interrupts `wait`, and the child may still be at work
  if [ "$code" -le 128 ] || ! kill -0 "$child" 2>/dev/null; then break; fi
done
printf '%s %s\n' "$code" "$(date +%s)" >"$run/$name.exit.new" && mv -f "$run/$name.exit.new" "$run/$name.exit"
exit "$code"
