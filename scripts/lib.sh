# shellcheck shell=bash
# Shared by the scripts in this folder: timed steps, clear failures, and the way
# from a bare Debian 12 to a build. Sourced, not run.
#
# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail

FA4_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
FA4_LLVM_BIN=/usr/lib/llvm-22/bin
FA4_VENV=$FA4_ROOT/.venv
FA4_LOGS=$FA4_ROOT/build/logs
FA4_STEP_PID=
# Has ptxas, under NVIDIA's licence, and serves where there is no CUDA toolkit.
FA4_PTXAS_WHEEL=nvidia-cuda-nvcc==13.0.88

# What is installed with apt. Nothing else is taken from the system.
FA4_PACKAGES=(
  ca-certificates ccache clang-22 clang-format-22 cmake libgmock-dev libgtest-dev
  libmlir-22-dev lld-22 llvm-22-dev llvm-22-tools mlir-22-tools ninja-build
  python3 python3-venv)

# The time since the script started, in front of every line.
say() { printf '[%4ds] %s\n' "$SECONDS" "$*"; }

# die REASON...: one line that says why, and a non-zero exit.
die() {
  printf '[%4ds] FAILED: %s\n' "$SECONDS" "$*" >&2
  exit 1
}

# A step that the user interrupts must not go on in the background.
fa4_stop_step() {
  if [ -n "$FA4_STEP_PID" ]; then
    kill "$FA4_STEP_PID" 2>/dev/null || true
    wait "$FA4_STEP_PID" 2>/dev/null || true
  fi
}
trap 'fa4_stop_step; exit 130' INT
trap 'fa4_stop_step; exit 143' TERM

# run_logged LOG COMMAND...: runs COMMAND with its output in LOG; a line every
# 20 s shows that it is alive. Returns COMMAND's status.
run_logged() {
  local log=$1 start=$SECONDS next=$((SECONDS + 20)) status=0
  shift
  "$@" >"$log" 2>&1 </dev/null &
  FA4_STEP_PID=$!
  while kill -0 "$FA4_STEP_PID" 2>/dev/null; do
    sleep 0.1
    if ((SECONDS >= next)); then
      say "  ... $((SECONDS - start)) s: $(tail -c 400 "$log" | tr '\r' '\n' |
        grep -av '^ *$' | tail -n 1 | cut -c1-100)"
      next=$((SECONDS + 20))
    fi
  done
  wait "$FA4_STEP_PID" || status=$?
  FA4_STEP_PID=
  return $status
}

# step NAME DESCRIPTION COMMAND...: a step that must succeed. Its output goes to
# build/logs/NAME.log, of which a failure shows the end.
step() {
  local log=$FA4_LOGS/$1.log what=$2 start=$SECONDS
  shift 2
  mkdir -p "$FA4_LOGS"
  say "$what"
  if ! run_logged "$log" "$@"; then
    tail -n 40 "$log" | sed 's/^/    | /' >&2
    die "$what (after $((SECONDS - start)) s; full output in ${log#"$FA4_ROOT"/})"
  fi
}

#===------------------------------------------------------------------------===#
# Packages
#===------------------------------------------------------------------------===#

# missing_packages PACKAGE...: those that are not installed.
missing_packages() {
  local installed
  # shellcheck disable=SC2016 # dpkg's own variables
  installed=$(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' "$@" \
    2>/dev/null | sed -n 's/^ii //p') || true
  printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "$installed") || true
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

distribution() {
  # shellcheck disable=SC1091
  (. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-this system}") ||
    echo "this system"
}

network_failed() {
  grep -qE 'Temporary failure resolving|Could not resolve|Failed to fetch|Could not connect|Unable to connect|Network is unreachable|Connection failed' "$1"
}

# ensure_packages PACKAGE...: installs with apt what is missing.
ensure_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "$(distribution) has no apt. fa4 builds against Debian 12's packages: ${FA4_PACKAGES[*]}"
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    return
  fi
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      die "these packages are missing, and only root (or sudo, which is not here) can install them: ${missing[*]}"
    # The question for the password belongs on the terminal, not into a log.
    sudo -v || die "sudo was refused; these packages are missing: ${missing[*]}"
  fi
  mkdir -p "$FA4_LOGS"
  local log=$FA4_LOGS/apt-update.log package absent=()
  say "reading the package lists (apt-get update)"
  run_logged "$log" as_root apt-get -o DPkg::Lock::Timeout=300 update || true
  for package in "${missing[@]}"; do
    LC_ALL=C apt-cache policy "$package" 2>/dev/null |
      grep 'Candidate: [^(]' >/dev/null || absent+=("$package")
  done
  if ((${#absent[@]} > 0)); then
    tail -n 20 "$log" | sed 's/^/    | /' >&2
    if network_failed "$log"; then
      die "no network, or no package mirror: apt-get update could not read the package lists (${log#"$FA4_ROOT"/})"
    fi
    die "$(distribution) has no package ${absent[*]}. fa4 needs Debian 12 with the suite bookworm-security, which has LLVM 22, among apt's sources"
  fi
  log=$FA4_LOGS/apt-install.log
  say "installing ${#missing[@]} packages and what they need: ${missing[*]}"
  if ! run_logged "$log" as_root apt-get install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 \
    "${missing[@]}"; then
    tail -n 20 "$log" | sed 's/^/    | /' >&2
    if network_failed "$log"; then
      die "no network, or the package mirror did not answer (${log#"$FA4_ROOT"/})"
    fi
    die "apt-get could not install ${missing[*]} (${log#"$FA4_ROOT"/})"
  fi
}

#===------------------------------------------------------------------------===#
# Python
#===------------------------------------------------------------------------===#

pip_network_failed() {
  grep -qE 'NewConnectionError|Name or service|name resolution|Network is unreachable|ConnectTimeout|Read timed out' "$1"
}

create_venv() { rm -rf "$FA4_VENV" && /usr/bin/python3 -m venv "$FA4_VENV"; }

# ensure_venv: .venv with the pinned packages of python/requirements-test.txt. A
# stamp with their hash and Python's version says that nothing is to be done.
ensure_venv() {
  local requirements=$FA4_ROOT/python/requirements-test.txt
  local stamp=$FA4_VENV/.fa4-requirements wanted log
  if ! "$FA4_VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    step venv "creating the Python environment .venv" create_venv
  fi
  wanted="$("$FA4_VENV/bin/python" --version) $(sha256sum <"$requirements")"
  if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
    return
  fi
  mkdir -p "$FA4_LOGS"
  log=$FA4_LOGS/pip.log
  say "installing Python packages into .venv: $(sed -n 's/^\([a-zA-Z][^ #]*\).*/\1/p' "$requirements" | tr '\n' ' ')"
  if ! run_logged "$log" "$FA4_VENV/bin/python" -m pip install \
    --disable-pip-version-check -r "$requirements"; then
    tail -n 20 "$log" | sed 's/^/    | /' >&2
    if pip_network_failed "$log"; then
      die "no network, or PyPI did not answer (${log#"$FA4_ROOT"/})"
    fi
    die "pip could not install python/requirements-test.txt (${log#"$FA4_ROOT"/})"
  fi
  printf '%s' "$wanted" >"$stamp"
}

# find_ptxas: its path, or nothing; the places of fa4-compile, which are listed in
# include/fa4/Target/NVPTX/Ptxas.h.
find_ptxas() {
  local path
  for path in "${FA4_PTXAS-}" "${CUDA_HOME:+$CUDA_HOME/bin/ptxas}" \
    "${CUDA_PATH:+$CUDA_PATH/bin/ptxas}" "${CUDA_ROOT:+$CUDA_ROOT/bin/ptxas}" \
    "$(command -v ptxas)" /usr/local/cuda/bin/ptxas \
    "$FA4_VENV"/lib/python3*/site-packages/nvidia/{cu13,cuda_nvcc}/bin/ptxas; do
    if [ -n "$path" ] && [ -f "$path" ] && [ -x "$path" ]; then
      printf '%s\n' "$path"
      return
    fi
  done
}

# ensure_ptxas: ptxas for the cubins, from PyPI where there is no toolkit. Only
# cubins need it: without it, one line says so, and all else goes on.
ensure_ptxas() {
  local log=$FA4_LOGS/pip-ptxas.log why="pip could not install it"
  if [ -n "$(find_ptxas)" ]; then
    return
  fi
  mkdir -p "$FA4_LOGS"
  say "installing ptxas into .venv: $FA4_PTXAS_WHEEL"
  # What the wheel depends on serves nvcc, not ptxas.
  if ! run_logged "$log" "$FA4_VENV/bin/python" -m pip install --no-deps \
    --retries 1 --timeout 20 --disable-pip-version-check "$FA4_PTXAS_WHEEL" ||
    [ -z "$(find_ptxas)" ]; then
    ! pip_network_failed "$log" || why="no network, or PyPI did not answer"
    say "no ptxas ($why; ${log#"$FA4_ROOT"/}): no cubins, and the tests that need it are skipped"
  fi
}

#===------------------------------------------------------------------------===#
# Build
#===------------------------------------------------------------------------===#

# build PRESET: configures once and builds build/PRESET. ccache keeps objects
# between build folders.
build() {
  local preset=$1 dir=$FA4_ROOT/build/$1
  cd "$FA4_ROOT"
  # A folder that was configured elsewhere (a moved checkout) is of no use.
  if [ -f "$dir/CMakeCache.txt" ] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$FA4_ROOT" "$dir/CMakeCache.txt"; then
    rm -rf "$dir"
  fi
  # --fresh, as a configuration that was broken off may leave either file.
  if [ ! -f "$dir/build.ninja" ] || [ ! -f "$dir/CMakeFiles/rules.ninja" ]; then
    step "configure-$preset" "configuring build/$preset" \
      cmake --fresh --preset "$preset"
  fi
  step "build-$preset" "building build/$preset" \
    cmake --build "$dir" ${FA4_JOBS:+--parallel "$FA4_JOBS"}
}

# Where tests, the Python package and the demo find the tools.
export_tools() {
  export PYTHONUTF8=1
  export FA4_OPT=$FA4_ROOT/build/$1/bin/fa4-opt
  export FA4_LLVM_BIN FA4_VENV
  export PYTHONPATH=$FA4_ROOT/python${PYTHONPATH:+:$PYTHONPATH}
}
