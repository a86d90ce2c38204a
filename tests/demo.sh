#!/usr/bin/env bash
# `just demo`: the whole story on the stand-in engine, with progress. Stops what it started, also on Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."
began=$SECONDS
scratch=$(mktemp -d)
host_dir=$HOME/.stackctl/demo
had_host_dir=$([ -e "$host_dir" ] && echo yes || echo no)

cleanup() {
  trap - EXIT INT TERM
  stackctl stop demo --quiet >/dev/null 2>&1 || true
  [ "$had_host_dir" = yes ] || rm -rf "$host_dir"
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'cleanup; exit 130' INT TERM

bold='' plain=''
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '\n%s── %s%s\n' "$bold" "$*" "$plain"; }
run() { # EXPECTED-EXIT command...
  local expected=$1 code=0
  shift
  printf '$ %s\n' "$*"
  "$@" || code=$?
  if [ "$code" != "$expected" ]; then
    echo "demo: this should have ended with exit $expected, and ended with $code" >&2
    exit 1
  fi
}

say "1. The real thing: a production stack on sglang 0.5.15, checked and rendered"
run 0 stackctl check prod
run 0 stackctl render prod --out "$scratch/out"

say "2. A stack that runs anywhere: the stand-in engine behind the real router"
run 0 stackctl deploy demo

say "3. One request at a time all is well; sixty at once, it is not"
run 0 stackctl test c1-toolcalls demo
run 1 stackctl test c60-toolcalls demo

say "4. Which patch, flag, or pair of them is to blame?"
run 0 stackctl bisect demo --test c60-toolcalls --new

say "Done in $((SECONDS - began)) s. Next: README.md, and stacks/example.yaml for every key."
