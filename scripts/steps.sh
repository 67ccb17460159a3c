# shellcheck shell=bash
# Steps of the scripts: run with their output in a log, ended with everything
# that they have started when the script is told to end, one script at a time in
# a checkout. Sourced by lib.sh.
#
# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

FA4_STEP_PID=  # of the step that runs
FA4_END=()     # signal and status of a script that was told to end in start_step
FA4_STEP_SUDO= # not empty if sudo has started it
FA4_LOCK=      # file descriptor of build/.lock
FA4_USER_TMPDIR=

# process_tree PID [PID...]: these processes, their descendants, and whatever else
# is in the process groups of either. A process whose parent has ended is no
# descendant any more, but still in its group.
process_tree() {
  cat /proc/[0-9]*/stat 2>/dev/null |
    sed -n 's/^\([0-9]*\) (.*) \([A-Za-z]\) \([0-9]*\) \([0-9]*\) .*/\1 \2 \3 \4/p' |
    awk -v roots="$*" '
      $2 != "Z" { parent[$1] = $3; group[$1] = $4 }
      END {
        count = split(roots, root, " ")
        for (i = 1; i <= count; ++i) { found[root[i]] = 1; groups[root[i]] = 1 }
        do {
          grown = 0
          for (pid in parent)
            if (!(pid in found) && (parent[pid] in found || group[pid] in groups)) {
              found[pid] = grown = 1
              # Only a leader names a group: the script itself is in none of them.
              if (group[pid] == pid) groups[pid] = 1
            }
        } while (grown)
        for (pid in found) if (pid in parent) print pid
      }'
}

# signal_all SIGNAL PID...
signal_all() {
  local signal=$1
  shift
  if (($# > 0)) && ! kill "-$signal" "$@" 2>/dev/null && [ -n "$FA4_STEP_SUDO" ]; then
    sudo -n kill "-$signal" "$@" 2>/dev/null || true
  fi
}

# any_alive PID...
any_alive() {
  local pid
  for pid in "$@"; do
    ! kill -0 "$pid" 2>/dev/null || return 0
  done
  return 1
}

# end_tree PID: ends a step and all that it has started, by TERM and, 1.5 seconds
# later, by KILL. KILL is sent until nothing is left: a shell whose child is killed
# before the shell itself may start another child in between.
end_tree() {
  local all new tries deadline=$((${EPOCHREALTIME/[.,]/} + 1500000))
  mapfile -t all < <(process_tree "$1")
  signal_all TERM "${all[@]}"
  while any_alive "${all[@]}" && ((${EPOCHREALTIME/[.,]/} < deadline)); do
    sleep 0.05
  done
  for ((tries = 0; tries < 50; ++tries)); do
    # What was started meanwhile is found by the group or the parent.
    mapfile -t new < <(process_tree "$1" "${all[@]}")
    ((${#new[@]} > 0)) || break
    signal_all KILL "${new[@]}"
    sleep 0.02
  done
}

# A script that is told to end takes the step along; the other signals of that
# kind must not interrupt it in this.
end_script() {
  trap '' INT TERM HUP
  if [ -n "$FA4_STEP_PID" ]; then
    end_tree "$FA4_STEP_PID"
  fi
  printf '[%4ds] FAILED: ended by SIG%s; to go on, run the same command again\n' \
    "$SECONDS" "$1" >&2 || true
  exit "$2"
}

# note_end SIGNAL STATUS: end_script, as soon as start_step has the step's id.
note_end() {
  FA4_END=("$@")
}

# on_end FUNCTION: has it called where the script is told to end.
on_end() {
  local signal
  for signal in 'INT 130' 'TERM 143' 'HUP 129'; do
    # shellcheck disable=SC2064 # The arguments are those of now.
    trap "$1 $signal" "${signal% *}"
  done
}
on_end end_script

# Ends the step where the script itself was killed with SIGKILL, which it cannot
# see: until then this process waits beside it.
watch_script() {
  local script=$$ step=$1 stat
  [ -z "$FA4_LOCK" ] || exec {FA4_LOCK}>&-
  while kill -0 "$step" 2>/dev/null; do
    stat=$(cat "/proc/$script/stat" 2>/dev/null) || stat=
    stat=${stat##*) }
    if [[ -z $stat || $stat == Z* ]]; then
      end_tree "$step"
      return
    fi
    sleep 0.5
  done
}

# start_step COMMAND...: runs COMMAND beside the script, as FA4_STEP_PID. Between
# the start and the assignment of its id a signal must not end the script, which
# would leave the step running.
start_step() {
  FA4_END=()
  on_end note_end
  # With job control on, a process that is started is in a group of its own.
  set -m
  "$@" </dev/null &
  FA4_STEP_PID=$!
  watch_script "$FA4_STEP_PID" >/dev/null 2>&1 </dev/null &
  FA4_WATCHER_PID=$!
  set +m
  on_end end_script
  if ((${#FA4_END[@]} > 0)); then
    end_script "${FA4_END[@]}"
  fi
}

# finish_step: waits for it; returns its status.
finish_step() {
  local status=0
  wait "$FA4_STEP_PID" 2>/dev/null || status=$?
  FA4_STEP_PID=
  kill -- "-$FA4_WATCHER_PID" 2>/dev/null || true
  wait "$FA4_WATCHER_PID" 2>/dev/null || true
  return $status
}

# run_shown COMMAND...: runs COMMAND, whose output is the script's.
run_shown() {
  start_step "$@"
  finish_step
}

# run_logged LOG COMMAND...: runs COMMAND with its output in LOG; a line every
# 20 s shows that it is alive. Returns COMMAND's status.
run_logged() {
  local log=$1 start=$SECONDS next=$((SECONDS + 20))
  shift
  start_step "$@" >"$log" 2>&1
  while kill -0 "$FA4_STEP_PID" 2>/dev/null; do
    sleep 0.1
    if ((SECONDS >= next)); then
      say "  ... $((SECONDS - start)) s: $(tail -c 400 "$log" | tr '\r' '\n' |
        grep -av '^ *$' | tail -n 1 | cut -c1-100)"
      next=$((SECONDS + 20))
    fi
  done
  finish_step
}

# df_full FOLDER: says so if the file system of FOLDER has less than 1 MiB or no
# inodes left.
df_full() {
  if df --output=avail,iavail "$1" 2>/dev/null |
    awk 'NR == 2 && ($1 < 1024 || $2 == 0 && $2 != "-") { full = 1 } END { exit !full }'; then
    printf 'no space is left on the file system of %s' "$1"
  fi
}

# reason LOG: why a step failed, as far as the log shows what has nothing to do
# with fa4.
reason() {
  if grep -qE 'No space left on device|Disk quota exceeded' "$1"; then
    printf 'no space is left on the disk: '
  elif grep -qE 'Cannot allocate memory|Killed|signal 9|clang frontend command failed due to signal' "$1"; then
    printf 'a process was killed or had no memory; FA4_JOBS=1 needs the least: '
  fi
}

# step NAME DESCRIPTION COMMAND...: a step that must succeed. Its output goes to
# build/logs/NAME.log, of which a failure shows the end.
step() {
  local log=$FA4_LOGS/$1.log what=$2 start=$SECONDS
  shift 2
  say "$what"
  if ! run_logged "$log" "$@"; then
    tail -n 40 "$log" | sed 's/^/    | /' >&2
    die "$(reason "$log")$what (after $((SECONDS - start)) s; full output in ${log#"$FA4_ROOT"/})"
  fi
}

# lock_folder: waits until no other script is at work in this checkout. The steps
# inherit the lock: what outlives its script holds it.
lock_folder() {
  local said=
  exec {FA4_LOCK}>>"$FA4_ROOT/build/.lock"
  until flock -n "$FA4_LOCK"; do
    if [ -z "$said" ]; then
      say "waiting for another script in this checkout to end (it holds build/.lock)"
      said=yes
    fi
    sleep 0.2
  done
}

# unlock_folder: the opposite of lib.sh's prepare_folder, for scripts that go on
# with what is built. The next script to come empties build/tmp.
unlock_folder() {
  exec {FA4_LOCK}>&-
  FA4_LOCK=
  export TMPDIR=$FA4_USER_TMPDIR
  [ -n "$TMPDIR" ] || unset TMPDIR
}
