#!/bin/sh
# Rendered by stackctl 1.2.3, do not edit: change the stack file and render again.
#   stack     main
#   variant   as the stack file says
#   instance  router-0 on gpu1
#   tree      7472656500000000000000000000000000000000
#   release   6eff8e24b192
# It runs by hand too. STACKCTL_DIR: the folder of the secrets file `env`. STACKCTL_PYTHON: the interpreter.
# shellcheck disable=SC2016  # values are meant as they stand
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
python=${STACKCTL_PYTHON:-'/opt/a path/python'}

home=$here/../..  # on a host; elsewhere this folder stands alone
[ -d "$home/trees" ] || home=$here
secrets=${STACKCTL_DIR:-"$home"}/env
if [ -f "$secrets" ]; then
  set -a
  # shellcheck source=/dev/null
  . "$secrets"
  set +a
fi

export NCCL_P2P_LEVEL=SYS
export SHARED=machine
# The router is a package of its own: the patched tree is not on its path.
export PYTHONSAFEPATH=1
export PYTHONDONTWRITEBYTECODE=1
export STACKCTL_RELEASE=6eff8e24b192

cd -- "$here"
exec "$python" -m sglang_router.launch_router \
  --host 0.0.0.0 \
  --port 31000 \
  --pd-disaggregation \
  --prefill http://127.0.0.1:30000 8998 \
  --prefill http://127.0.0.1:30100 8999 \
  --decode http://127.0.0.1:30300 \
  --prometheus-port 31009 \
  --policy cache_aware
