# shellcheck shell=bash
# Shared by the scripts in this folder: timed steps, clear failures, and the way
# from a bare Debian 12 to a build. Sourced, not run.
#
# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set -euo pipefail

# A shell that starts a script with & and without job control has it ignore SIGINT,
# and bash cannot trap what was ignored when it started.
if [[ -n $(trap -p INT) && -z ${FA4_SIGNALS_RESET-} ]]; then
  FA4_SIGNALS_RESET=1 exec env --default-signal=INT "$BASH" "$0" "$@"
fi
unset CDPATH FA4_SIGNALS_RESET

# The physical folder: CMake compares it with the one it has configured.
FA4_ROOT=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
# shellcheck source=scripts/environment.sh
source "$FA4_ROOT/scripts/environment.sh"

FA4_LLVM_BIN=/usr/lib/llvm-22/bin
FA4_VENV=$FA4_ROOT/.venv
FA4_LOGS=$FA4_ROOT/build/logs
# Have ptxas and nvdisasm, under NVIDIA's licence, and serve where there is no CUDA
# toolkit. PyPI has no nvdisasm of that version; a later one reads its machine code.
FA4_PTXAS_WHEEL=nvidia-cuda-nvcc==13.0.88
FA4_NVDISASM_WHEEL=nvidia-cuda-nvdisasm==13.5.37

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

# shellcheck source=scripts/steps.sh
source "$FA4_ROOT/scripts/steps.sh"

# prepare_folder: the checkout can be built in, and no other script is at work in
# it until this one ends or calls unlock_folder. Temporary files go to build/tmp.
prepare_folder() {
  local reason
  [ -z "$FA4_LOCK" ] || return 0
  # CMake has ; between the entries of a list, PATH has :, and others are special
  # to lit, or in command lines of ninja, even between quotes.
  local bad="[][:cntrl:]\"'\\\$%#;:\`*?|<>()&!^{}[]"
  if [[ $FA4_ROOT =~ $bad ]]; then
    die "the path of the checkout has other characters than letters, digits, spaces and / . _ - + , = @ ~, which CMake, ninja or lit cannot take: $FA4_ROOT"
  fi
  if ! reason=$(mkdir -p "$FA4_LOGS" "$FA4_ROOT/build/tmp" 2>&1 &&
    printf 'writable\n' 2>&1 >"$FA4_LOGS/.writable"); then
    die "cannot write to $FA4_ROOT/build: ${reason##*: }"
  fi
  lock_folder
  # What a run that was killed has left.
  find "$FA4_ROOT/build/tmp" -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +
  FA4_USER_TMPDIR=${TMPDIR-}
  export TMPDIR=$FA4_ROOT/build/tmp
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

# as_root COMMAND...: with the permissions of files that apt needs, whatever the
# user's umask is.
as_root() {
  local sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo -n)
  umask 022
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "$@"
}

# may_sudo: whether sudo gives the user root's permissions; asks for the password
# where there is a terminal.
may_sudo() {
  command -v sudo >/dev/null || return
  sudo -n true 2>/dev/null && return
  [ -t 0 ] || return
  # In the background, so that a signal ends the script and not only the question.
  sudo -v <&0 &
  wait $!
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
  if [ "$(id -u)" != 0 ] && ! may_sudo; then
    die "these packages are missing, and $(id -un) cannot install them (no root, no sudo). An administrator can, with: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  [ "$(id -u)" = 0 ] || FA4_STEP_SUDO=yes
  prepare_folder
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
  # An installation that was killed half way, here or elsewhere, has to be ended
  # before apt takes another.
  run_logged "$FA4_LOGS/dpkg-configure.log" as_root dpkg --configure -a || true
  say "installing ${#missing[@]} packages and what they need: ${missing[*]}"
  if ! run_logged "$log" as_root apt-get install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 \
    "${missing[@]}"; then
    tail -n 20 "$log" | sed 's/^/    | /' >&2
    if network_failed "$log"; then
      die "no network, or the package mirror did not answer (${log#"$FA4_ROOT"/})"
    fi
    die "$(reason "$log")apt-get could not install ${missing[*]} (${log#"$FA4_ROOT"/})"
  fi
  FA4_STEP_SUDO=
}

#===------------------------------------------------------------------------===#
# Python
#===------------------------------------------------------------------------===#

pip_network_failed() {
  grep -qE 'NewConnectionError|Name or service|name resolution|Network is unreachable|ConnectTimeout|Read timed out' "$1"
}

# create_venv: .venv, or its repair. Only what an interrupted run of this function
# has left is removed first; packages that the user has added stay.
create_venv() {
  local clear=()
  [ ! -e "$FA4_VENV/.fa4-incomplete" ] || clear=(--clear)
  mkdir -p "$FA4_VENV"
  touch "$FA4_VENV/.fa4-incomplete"
  # --clear removes the mark as well.
  /usr/bin/python3 -m venv "${clear[@]}" "$FA4_VENV"
  rm -f "$FA4_VENV/.fa4-incomplete"
}

# ensure_venv: .venv with the pinned packages of python/requirements-test.txt.
ensure_venv() { ensure_requirements test ""; }

# ensure_frameworks: torch and jax in .venv, python/requirements-frameworks.txt.
ensure_frameworks() {
  if [ "${FA4_FRAMEWORKS-1}" = 0 ]; then
    say "going on without torch and jax (FA4_FRAMEWORKS=0): the tests that need them are skipped"
    return
  fi
  ensure_requirements frameworks "; FA4_FRAMEWORKS=0 goes on without torch and jax" --no-deps
}

# ensure_requirements NAME HINT [PIP-OPTION...]: the packages of
# python/requirements-NAME.txt in .venv. A stamp with their hash and Python's
# version says that nothing is to be done. HINT follows the reason of a failure.
ensure_requirements() {
  local name=$1 hint=$2 requirements=$FA4_ROOT/python/requirements-$1.txt
  local stamp=$FA4_VENV/.fa4-requirements mark=$FA4_VENV/.fa4-installing
  local wanted log unlock= again=()
  shift 2
  if [ "$name" != test ]; then
    stamp+=-$name mark+=-$name
  fi
  wanted=$(sha256sum <"$requirements")
  if [ "$(cat "$stamp" 2>/dev/null)" = "$("$FA4_VENV/bin/python" --version 2>/dev/null) $wanted" ]; then
    return
  fi
  [ -n "$FA4_LOCK" ] || unlock=yes
  prepare_folder
  if [ -e "$FA4_VENV/.fa4-incomplete" ] ||
    ! "$FA4_VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    step venv "creating the Python environment .venv" create_venv
  fi
  log=$FA4_LOGS/pip${mark#"$FA4_VENV/.fa4-installing"}.log
  say "installing Python packages into .venv: $(sed -n 's/^\([a-zA-Z][^ #]*\).*/\1/p' "$requirements" | tr '\n' ' ')"
  # A package that an interrupted run has written in part passes for installed.
  [ ! -e "$mark" ] || again=(--ignore-installed)
  touch "$mark"
  if ! run_logged "$log" "$FA4_VENV/bin/python" -m pip install "${again[@]}" "$@" \
    --disable-pip-version-check -r "$requirements"; then
    tail -n 20 "$log" | sed 's/^/    | /' >&2
    if pip_network_failed "$log"; then
      die "no network, or PyPI did not answer (${log#"$FA4_ROOT"/})$hint"
    fi
    die "$(reason "$log")pip could not install python/requirements-$name.txt (${log#"$FA4_ROOT"/})$hint"
  fi
  rm -f "$mark"
  printf '%s' "$("$FA4_VENV/bin/python" --version) $wanted" >"$stamp"
  [ -z "$unlock" ] || unlock_folder
}

# find_cuda_tool NAME: the path of ptxas or nvdisasm, or nothing; the places of
# fa4-compile, which are listed in include/fa4/Target/NVPTX/Ptxas.h.
find_cuda_tool() {
  local name=$1 variable=FA4_${1^^} path
  for path in "${!variable-}" "${CUDA_HOME:+$CUDA_HOME/bin/$name}" \
    "${CUDA_PATH:+$CUDA_PATH/bin/$name}" "${CUDA_ROOT:+$CUDA_ROOT/bin/$name}" \
    "$(command -v "$name")" "/usr/local/cuda/bin/$name" \
    "$FA4_VENV"/lib/python3*/site-packages/nvidia/{cu13,cuda_nvcc,cuda_nvdisasm}/bin/"$name"; do
    if [ -n "$path" ] && [ -f "$path" ] && [ -x "$path" ]; then
      printf '%s\n' "$path"
      return
    fi
  done
}

# ensure_cuda_tool NAME WHEEL WITHOUT: the tool from PyPI where there is no toolkit.
# Where that fails, one line says what there is not without it, and all else goes on.
ensure_cuda_tool() {
  local name=$1 wheel=$2 without=$3 log=$FA4_LOGS/pip-$1.log
  local why="pip could not install it"
  if [ -n "$(find_cuda_tool "$name")" ]; then
    return
  fi
  prepare_folder
  say "installing $name into .venv: $wheel"
  # What the wheels depend on serves nvcc.
  if ! run_logged "$log" "$FA4_VENV/bin/python" -m pip install --no-deps \
    --retries 1 --timeout 20 --disable-pip-version-check "$wheel" ||
    [ -z "$(find_cuda_tool "$name")" ]; then
    ! pip_network_failed "$log" || why="no network, or PyPI did not answer"
    say "no $name ($why; ${log#"$FA4_ROOT"/}): $without, and the tests that need it are skipped"
  fi
}

# ensure_cuda_tools: ptxas for cubins and spills, and nvdisasm for the clock.
ensure_cuda_tools() {
  ensure_cuda_tool ptxas "$FA4_PTXAS_WHEEL" "no cubins"
  ensure_cuda_tool nvdisasm "$FA4_NVDISASM_WHEEL" "fa4-sim --time takes costs from PTX"
}

#===------------------------------------------------------------------------===#
# Build
#===------------------------------------------------------------------------===#

# use_ccache: ccache keeps objects between build folders. Where the user's cache
# cannot be written (no home folder, or another user's), it is build/ccache.
use_ccache() {
  local folder
  folder=$(ccache -k cache_dir 2>/dev/null) || folder=
  if [ -z "$folder" ] || ! mkdir -p "$folder" 2>/dev/null ||
    ! { : >"$folder/.fa4-writable"; } 2>/dev/null; then
    export CCACHE_DIR=$FA4_ROOT/build/ccache
  else
    rm -f "$folder/.fa4-writable"
  fi
}

# default_jobs: as many compilations at a time as there are processors, with 1.5
# GiB of free memory for each.
default_jobs() {
  awk -v processors="$(nproc)" '
    /^MemAvailable:/ { jobs = int($2 / 1572864) }
    END { if (!jobs) jobs = 1; print jobs < processors ? jobs : processors }
  ' /proc/meminfo
}

# build PRESET [TARGET...]: configures once and builds build/PRESET, or some
# targets of it.
build() {
  local preset=$1 dir=$FA4_ROOT/build/$1 unlock= configured
  shift
  [ -n "$FA4_LOCK" ] || unlock=yes
  prepare_folder
  use_ccache
  [[ ${FA4_JOBS-1} =~ ^[1-9][0-9]*$ ]] || die "FA4_JOBS must be a number of jobs, not '$FA4_JOBS'"
  cd "$FA4_ROOT"
  # --fresh, as a configuration that was broken off may leave either file, and one
  # of another folder (a checkout that was moved) is of no use.
  configured=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$dir/CMakeCache.txt" 2>/dev/null) || true
  if [ ! -f "$dir/build.ninja" ] || [ ! -f "$dir/CMakeFiles/rules.ninja" ] ||
    [ ! "$configured" -ef "$FA4_ROOT" ]; then
    step "configure-$preset" "configuring build/$preset" \
      cmake --fresh --preset "$preset"
  fi
  step "build-$preset" "building build/$preset" \
    cmake --build "$dir" --parallel "${FA4_JOBS:-$(default_jobs)}" ${1:+--target "$@"}
  [ -z "$unlock" ] || unlock_folder
}

# Where Python finds the packages of a checkout: what users import, what tests share, benchmarks.
FA4_PYTHONPATH=$FA4_ROOT/python:$FA4_ROOT/test/support:$FA4_ROOT/bench

# Where tests, the Python package and the demo find the tools.
export_tools() {
  export FA4_OPT=$FA4_ROOT/build/$1/bin/fa4-opt
  export FA4_LLVM_BIN FA4_VENV
  export PYTHONPATH=$FA4_PYTHONPATH
}
