#!/usr/bin/env bash
# `just test`: the tests that start servers run here; the others beside them, and are shown when both are done.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'kill "$beside" 2>/dev/null || true; rm -f "$log"' EXIT
python -m pytest --half beside --durations 10 -p no:cacheprovider "$@" >"$log" 2>&1 &
beside=$!
servers=0 others=0
python -m pytest --half servers --durations 10 "$@" || servers=$?
wait "$beside" || others=$?
cat "$log"
[ "$servers $others" != "5 5" ] || exit 5 # no test was meant
for code in "$servers" "$others"; do
  [ "$code" = 0 ] || [ "$code" = 5 ] || exit "$code"
done
