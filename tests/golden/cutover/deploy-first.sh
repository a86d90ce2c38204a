#!/bin/sh
# Rendered by stackctl: cut-over of stack main, attempt a77e (deploy).
#   from  nothing
#   to    0123456789ab
# It stops what serves, starts the new release, lets it pass its gate and makes it current. When that fails, the old
# one comes back. Started detached, it goes on to its end without the client, which only reads status.json. Every step
# is written to journal.jsonl before and after it. To run it again is safe: it begins by ending whatever is there.
# shellcheck disable=SC2329 # run_step calls functions by their names
set -u
umask 077

attempt=a77e
kind=deploy
root='/home/ops/.stackctl/ma in'
python='/opt/py thon'
new=0123456789ab
old=''
drain=120         # seconds that requests may take to end
start_within=3600  # seconds until an instance must be healthy
probes='/home/ops/.stackctl/ma in/probes.py'       # the program that asks the questions

cd "$root" || exit 1
exec >cutover.log 2>&1

# --- what is written down ---------------------------------------------------------------------------------------

escaped() { printf '%s' "$1" | tr '\n\t' '  ' | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'; }

# clock ticks since boot at which a process began: with its pid this names it for good
began_at() {
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # shellcheck disable=SC2086  # words are wanted
  set -- ${stat##*) }
  echo "${20}"
}

uptime() { read -r up _ </proc/uptime && echo "$up"; }

boot=$(cat /proc/sys/kernel/random/boot_id)
mine=$(began_at $$)
since=$(date +%s)
steps=''  # of status.json
state=running
step=''
message=''
touched=no  # has anything been stopped yet?
careful=yes # while nothing is broken, a step that cannot be written down is not begun

status() {
  printf '{"attempt": "%s", "kind": "%s", "release": "%s", "old": "%s", "state": "%s", "step": "%s", "message": "%s", "since": %s, "pid": %s, "start": %s, "boot": "%s", "steps": [%s]}\n' \
    "$attempt" "$kind" "$new" "$old" "$state" "$step" "$(escaped "$message")" "$since" $$ "$mine" "$boot" "$steps" \
    >status.json.new && mv -f status.json.new status.json
}

# journal PHASE DETAIL
journal() {
  printf '{"time": %s, "attempt": "%s", "kind": "%s", "release": "%s", "old": "%s", "step": "%s", "phase": "%s", "detail": "%s"}\n' \
    "$(date +%s)" "$attempt" "$kind" "$new" "$old" "$step" "$1" "$(escaped "$2")" >>journal.jsonl
}

# run_step NAME COMMAND... : its output is kept in step.log
run_step() {
  step=$1
  shift
  began=$(uptime)
  if ! { journal begin '' && status; } && [ "$careful" = yes ]; then
    message='the journal cannot be written'
    return 1
  fi
  touched=yes
  if "$@" >step.log 2>&1; then phase='done'; else phase=fail; fi
  seconds=$(awk "BEGIN { printf \"%.2f\", $(uptime) - $began }")
  steps="$steps${steps:+, }{\"name\": \"$step\", \"phase\": \"$phase\", \"seconds\": $seconds}"
  journal "$phase" "$(head -n 3 step.log)" || true
  [ "$phase" = 'done' ] && return 0
  [ -n "$message" ] || message="$step: $(head -n 1 step.log)"
  [ -z "$new" ] || { echo "$step:"; cat step.log; } >>"releases/$new/failure.txt"
  return 1
}

# finish STATE : the last word; frees the hold, when it is still ours
finish() {
  state=$1
  step=''
  journal "$state" "$message" || true
  if grep -q "\"$attempt\"" hold/details.json 2>/dev/null; then
    mv hold "hold.gone.$attempt" && rm -rf "hold.gone.$attempt"
  fi
  status
  exit 0
}

# --- what is done -----------------------------------------------------------------------------------------------

ask() { "$python" -I -S -B "$probes" "$@"; }

stop_all() { ask stop "$root" "$drain"; }

# describe RELEASE : sets release, dir, engines, router, cards, release_python, tree
describe() {
  release=$1
  dir=$root/releases/$1
  engines='' router='' cards='' release_python='' tree=''
  # shellcheck source=/dev/null
  . "$dir/launch.sh"
}

# start_instance NAME : in a session of its own; its pid, start time and boot are its identity
start_instance() {
  rm -f "$dir/run/$1.exit" "$dir/run/$1.pid"
  [ ! -e "$dir/run/$1.log" ] || mv -f "$dir/run/$1.log" "$dir/run/$1.log.1"
  # SPT_NOENV: a program that renames itself (setproctitle) must leave its environment readable
  (
    cd "$dir" || exit 1
    umask 022
    exec env SPT_NOENV=1 STACKCTL_STACK=main STACKCTL_RELEASE="$release" STACKCTL_INSTANCE="$dir/$1" \
      STACKCTL_DIR="$root" STACKCTL_TREE="$tree" STACKCTL_PYTHON="$release_python" \
      setsid sh "$dir/instance.sh" "$dir" "$1" </dev/null >"$dir/run/$1.log" 2>&1
  ) &
  echo "$! $(began_at $!) $boot" >"$dir/run/$1.pid.new" && mv -f "$dir/run/$1.pid.new" "$dir/run/$1.pid"
}

start_all() {
  for name in "$@"; do start_instance "$name" || return 1; done
}

# shellcheck disable=SC2086  # lists of names without spaces
bring_up() {
  describe "$1"
  mkdir -p "$dir/run"
  if [ -n "$cards" ]; then
    run_step "wait for the cards $cards" ask cards "$root" 120 $cards || return 1
  fi
  run_step "start $engines" start_all $engines || return 1
  run_step "wait until $engines answer" ask wait "$dir" "$start_within" $engines || return 1
  if [ -n "$router" ]; then
    run_step "start $router" start_all $router || return 1
  fi
  run_step "gate of release $release" ask gate "$dir" "$start_within" $router
}

# same_model : as its manifest says; what comes back after a failure is not asked, as it is better than nothing
same_model() { [ ! -f "$dir/model.json" ] || run_step "model of release $release" ask model "$dir"; }

# turn LINK RELEASE : symbolic links are replaced by rename, so that there is always one
turn() { ln -s "releases/$2" "$1.new" && mv -fT "$1.new" "$1"; }

commit() {
  was=$(readlink current 2>/dev/null) || was=''
  if [ -n "$was" ] && [ "${was#releases/}" != "$new" ]; then turn previous "${was#releases/}" || return 1; fi
  turn current "$new" || return 1
  printf '{"attempt": "%s", "since": %s, "start_seconds": %s}\n' "$attempt" "$(date +%s)" "$up_seconds" \
    >"releases/$new/deployed.json.new" && mv -f "releases/$new/deployed.json.new" "releases/$new/deployed.json"
}

main() {
  rm -f current.new previous.new
  [ -z "$new" ] || rm -f "releases/$new/failure.txt"
  if ! run_step 'stop what serves' stop_all; then
    [ "$touched" = yes ] || finish untouched
    finish broken
  fi
  [ -n "$new" ] || finish stopped
  began_up=$(uptime)
  if bring_up "$new" && same_model; then
    up_seconds=$(awk "BEGIN { printf \"%.2f\", $(uptime) - $began_up }")
    run_step "make $new current" commit && finish committed
  fi
  why=$message
  careful=no
  run_step "stop release $new" stop_all || finish broken
  if [ -z "$old" ] || [ "$old" = "$new" ]; then finish failed; fi
  message=''
  if bring_up "$old"; then
    message=$why
    finish restored
  fi
  message="$why; and $old did not come back: $message"
  finish broken
}

main
