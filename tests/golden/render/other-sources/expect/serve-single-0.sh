#!/bin/sh
# Rendered by stackctl 1.2.3, do not edit: change the stack file and render again.
#   stack     main
#   variant   as the stack file says
#   instance  single-0 on a
#   tree      7472656500000000000000000000000000000000
#   tree      6465657067656d6d000000000000000000000000 of source deepgemm
#   tree      666c617368696e66657200000000000000000000 of source flashinfer
#   release   be3b8a0eebbe
# It runs by hand too. STACKCTL_DIR: the folder of the secrets file `env`. STACKCTL_TREE: the patched tree.
# STACKCTL_PYTHON: the interpreter. STACKCTL_TREES: the folder of the trees of other sources.
# shellcheck disable=SC2016  # values are meant as they stand
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tree_id=7472656500000000000000000000000000000000
tree=${STACKCTL_TREE:-"$here/../../trees/$tree_id"}
python=${STACKCTL_PYTHON:-python3}

if [ ! -d "$tree/python" ]; then
  echo "$0: no patched tree in $tree: without it the unpatched package would serve. Set STACKCTL_TREE." >&2
  exit 1
fi

trees=${STACKCTL_TREES:-"$here/../../trees"}
for id in 6465657067656d6d000000000000000000000000 666c617368696e66657200000000000000000000; do
  if [ ! -d "$trees/$id/python" ]; then
    echo "$0: no patched tree in $trees/$id: without it the unpatched package would serve. Set STACKCTL_TREES." >&2
    exit 1
  fi
done

home=$here/../..  # on a host; elsewhere this folder stands alone
[ -d "$home/trees" ] || home=$here
secrets=${STACKCTL_DIR:-"$home"}/env
if [ -f "$secrets" ]; then
  set -a
  # shellcheck source=/dev/null
  . "$secrets"
  set +a
fi

# The patched tree goes before the installed package, and the current folder goes nowhere.
export PYTHONPATH="$tree/python:$trees/6465657067656d6d000000000000000000000000/python:$trees/666c617368696e66657200000000000000000000/python${PYTHONPATH:+:$PYTHONPATH}"
export PYTHONSAFEPATH=1
export PYTHONDONTWRITEBYTECODE=1
export STACKCTL_RELEASE=be3b8a0eebbe

cd -- "$here"
exec "$python" -m sglang.launch_server \
  --host 127.0.0.1 \
  --port 30000 \
  --model-path /models/m \
  --served-model-name m \
  --weight-version be3b8a0eebbe
