#!/usr/bin/env bash
# A host for stacks/demo-ssh.yaml: a real sshd on loopback that runs as a user of its own, who cannot see this
# workspace and has an interpreter with the demo's packages. As root: `tests/ssh_host.sh up [PORT]`, `… down`.
# Further hosts have names, and no interpreter but the system's: `… up PORT NAME`, `… down PORT NAME`.
set -euo pipefail
cd "$(dirname "$0")/.."
workspace=$PWD
name=${3:-demo}
user=stackctl-$name
home=/var/lib/$user
keys=$workspace/.stackctl/ssh-host # the client's key and known_hosts
[ "$name" = demo ] || keys=$keys-$name
port=${2:-22220}
pidfile=$home/sshd.pid

die() { echo "ssh-host: $*" >&2; exit 1; }

make_user() {
  id "$user" >/dev/null 2>&1 || useradd --system --create-home --home-dir "$home" --shell /bin/sh "$user"
  chmod 755 "$home"
}

# an interpreter that this user may run: not one from somebody's home
make_python() {
  local packages python
  packages=$(sed -n 's/^demo = \[\(.*\)\]/\1/p' pyproject.toml | tr -d '",')
  python=$home/venv/bin/python
  # shellcheck disable=SC2086 # words are wanted
  if [ "$(cat "$home/venv/made-of" 2>/dev/null)" != "$packages" ]; then
    echo "ssh-host: making an interpreter with aiohttp, $packages"
    rm -rf "$home/venv"
    /usr/bin/python3 -m venv "$home/venv"
    "$python" -m pip install -q --disable-pip-version-check aiohttp $packages
    echo "$packages" >"$home/venv/made-of"
  fi
}

make_keys() {
  mkdir -p "$keys"
  chmod 700 "$keys"
  [ -f "$keys/id_ed25519" ] || ssh-keygen -q -t ed25519 -N '' -C "$user" -f "$keys/id_ed25519"
  [ -f "$home/host_key" ] || ssh-keygen -q -t ed25519 -N '' -C "$user" -f "$home/host_key"
  mkdir -p "$home/.ssh"
  cp "$keys/id_ed25519.pub" "$home/.ssh/authorized_keys"
  chown -R "$user" "$home/.ssh" "$home/host_key" "$home/host_key.pub"
  chmod 700 "$home/.ssh"
  echo "[127.0.0.1]:$port $(cut -d' ' -f1-2 "$home/host_key.pub")" >"$keys/known_hosts"
}

start() {
  cat >"$home/sshd_config" <<EOF
ListenAddress 127.0.0.1:$port
HostKey $home/host_key
PidFile $pidfile
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers $user
EOF
  # in a mount namespace where the workspace is an empty folder, if this machine allows that
  # shellcheck disable=SC2016 # expanded inside
  local hide='mount --make-rprivate / && mount -t tmpfs -o mode=700 none "$1"' as_user
  as_user="exec setpriv --reuid $user --regid $(id -g "$user") --clear-groups /usr/sbin/sshd -f $home/sshd_config"
  local bare=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" USER="$user" LOGNAME="$user")
  if unshare --mount sh -c "$hide" sh "$workspace" 2>/dev/null; then
    (cd / && "${bare[@]}" unshare --mount sh -c "$hide && $as_user" sh "$workspace") || die "sshd did not start"
  else
    echo "ssh-host: no mount namespaces here: $user sees of $workspace what its permissions allow"
    (cd / && "${bare[@]}" sh -c "$as_user") || die "sshd did not start"
  fi
  for _ in $(seq 100); do
    if [ -s "$pidfile" ]; then return; fi
    sleep 0.05
  done
  die "sshd did not start: see $home"
}

stop_sshd() {
  local pid
  pid=$(cat "$pidfile" 2>/dev/null) || return 0
  # the number may belong to somebody else by now
  if [ "$(ps -o uid= -p "$pid" | tr -d ' ')" = "$(id -u "$user")" ]; then kill "$pid"; fi
  rm -f "$pidfile"
}

case $name in *[!a-z0-9]*) die "a name is of small letters and digits" ;; esac
[ "$(id -u)" = 0 ] || die "this makes a user and starts an sshd: run it as root"
[ -x /usr/sbin/sshd ] || die "there is no /usr/sbin/sshd: apt-get install openssh-server"
case ${1:-up} in
  up)
    make_user
    [ "$name" != demo ] || make_python
    make_keys
    stop_sshd
    start
    echo "ssh-host: $user@127.0.0.1:$port is up"
    [ "$name" != demo ] || echo "ssh-host: try: stackctl deploy demo-ssh"
    ;;
  down)
    id "$user" >/dev/null 2>&1 || exit 0
    stop_sshd
    # whatever this user still runs was started over this sshd
    pkill -KILL -u "$user" || true
    for _ in $(seq 100); do
      pgrep -u "$user" >/dev/null || break
      sleep 0.05
    done
    userdel --remove "$user" 2>/dev/null || true
    rm -rf "$keys" "$home"
    echo "ssh-host: down; its user, home and keys are gone"
    ;;
  *) die "up or down" ;;
esac
