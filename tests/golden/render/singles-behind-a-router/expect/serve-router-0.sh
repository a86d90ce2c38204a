#!/bin/sh
# Rendered by stackctl 1.2.3, do not edit: change the stack file and render again.
#   stack     main
#   variant   as the stack file says
#   instance  router-0 on here
#   tree      7472656500000000000000000000000000000000
#   release   f03980001cdb
# It runs by hand too. STACKCTL_DIR: the folder of the secrets file `env`. STACKCTL_PYTHON: the interpreter.
# shellcheck disable=SC2016  # values are meant as they stand
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
python=${STACKCTL_PYTHON:-python3}

home=$here/../..  # on a host; elsewhere this folder stands alone
[ -d "$home/trees" ] || home=$here
secrets=${STACKCTL_DIR:-"$home"}/env
if [ -f "$secrets" ]; then
  set -a
  # shellcheck source=/dev/null
  . "$secrets"
  set +a
fi

# The router is a package of its own: the patched tree is not on its path.
export PYTHONSAFEPATH=1
export PYTHONDONTWRITEBYTECODE=1
export STACKCTL_RELEASE=f03980001cdb

cd -- "$here"
exec "$python" -m sglang_router.launch_router \
  --host 127.0.0.1 \
  --port 31000 \
  --worker-urls http://127.0.0.1:30000 http://127.0.0.1:30010 \
  --prometheus-port 31009 \
  --disable-retries
