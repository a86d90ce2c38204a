#!/usr/bin/env bash
# `just demo-real`: the same story on the real sglang 0.5.15, on this machine's CPU. Stops what it started.
set -euo pipefail
cd "$(dirname "$0")/.."
began=$SECONDS

cleanup() {
  trap - EXIT INT TERM
  stackctl stop cpu --quiet --no-evidence >/dev/null 2>&1 || true
  stackctl stop cpu-bad --quiet --no-evidence >/dev/null 2>&1 || true
}
trap cleanup EXIT
trap 'cleanup; exit 130' INT TERM

say() { printf '\n\033[1m── %s\033[0m\n' "$*"; }
run() { # EXPECTED-EXIT command...
  local expected=$1 code=0
  shift
  printf '$ %s\n' "$*"
  "$@" || code=$?
  if [ "$code" != "$expected" ]; then
    echo "demo-real: this should have ended with exit $expected, and ended with $code" >&2
    exit 1
  fi
}

cat <<TXT
The real sglang 0.5.15 on a CPU. The first run downloads, through pip as you have set it up:
  sglang's wheel (13 MB), about a hundred packages of its environment (400 MB), and a build of torch
  (200 MB for the CPU; the CUDA build of PyPI, if that is what your pip finds, is 0.9 GB and wants more with it).
Both are kept in \$STACKCTL_HOME (3 GB) for the next run; \`stackctl prune\` removes them. Without downloads it takes
ten to twenty minutes on two cores.
TXT

say "1. The pinned base, the queue, and what is wanted of this machine"
run 0 stackctl check cpu
run 0 stackctl deploy cpu -n

say "2. The real engine behind the real router; every answer of its small model is known"
run 0 stackctl deploy cpu
run 0 stackctl test c60-toolcalls cpu

run 0 stackctl stop cpu

say "3. The same with one patch more, which reads like an improvement"
run 0 stackctl deploy cpu-bad
run 0 stackctl test c1-toolcalls cpu-bad
run 1 stackctl test c60-toolcalls cpu-bad

say "4. Which of a dozen patches and four flags is to blame?"
run 0 stackctl bisect cpu-bad --test c60-toolcalls --new

say "Done in $(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s."
