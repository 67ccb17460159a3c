# shellcheck shell=bash
# The environment that the scripts work in: what the user has set for other work
# (PYTHONPATH, CXXFLAGS, a locale, functions) reaches neither the build nor the
# tests. Sourced by lib.sh, first.
#
# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Environment variables that the scripts and what they start may see, as extended
# regular expressions. All others are unset: a list of those that do harm
# (PYTHONHOME, CMAKE_GENERATOR, LIBRARY_PATH, GIT_DIR, PYTEST_ADDOPTS, ...) would
# never be complete.
FA4_KEPT_VARIABLES=(
  # The user, the terminal, the shell's own.
  PATH HOME USER LOGNAME TERM NO_COLOR TZ CI PWD OLDPWD SHLVL _ 'BASH.*' SHELLOPTS
  'SUDO_.*' DISPLAY
  # The benchmarks' place for temporary files; the scripts have their own.
  TMPDIR
  # The network.
  '(http|https|ftp|all|no)_proxy' '(HTTP|HTTPS|FTP|ALL|NO)_PROXY' APT_CONFIG
  SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
  'PIP_(INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|TRUSTED_HOST|PROXY|CERT|CLIENT_CERT)'
  'PIP_(DEFAULT_TIMEOUT|TIMEOUT|RETRIES|CACHE_DIR|NO_CACHE_DIR|DISABLE_PIP_VERSION_CHECK)'
  # What the scripts, fa4 and the benchmarks document.
  'FA4_.*' 'CCACHE_.*' XDG_CACHE_HOME CMAKE_BUILD_PARALLEL_LEVEL
  'CUDA_(HOME|PATH|ROOT)' '(ASAN|UBSAN|LSAN)_OPTIONS'
  PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED)

# The bin folder of a Python environment that is active in the user's shell
# precedes the system's in PATH, with a python3 and often a cmake of its own.
leave_python_environments() {
  local folder left='' folders
  IFS=: read -ra folders <<<"${PATH-}"
  for folder in "${folders[@]}"; do
    if [ -n "$folder" ] && [ "$folder" != "${VIRTUAL_ENV-}/bin" ] &&
      [ "$folder" != "${CONDA_PREFIX-}/bin" ]; then
      left+=$folder:
    fi
  done
  # Not all of these are in the PATH of each user, and dpkg needs them.
  PATH=${left}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  export PATH
}

clean_environment() {
  local name kept
  leave_python_environments
  kept="^($(IFS='|' && printf '%s' "${FA4_KEPT_VARIABLES[*]}"))$"
  for name in $(compgen -e); do
    if [[ ! $name =~ $kept ]]; then
      unset "$name" 2>/dev/null || true
    fi
  done
  unset BASH_ENV
  # Options of the user's shell are no concern of the shells that are started.
  export -n SHELLOPTS BASHOPTS
  # Messages that are compared are in English, and text is UTF-8.
  export LC_ALL=C.UTF-8 PYTHONUTF8=1 PYTHONNOUSERSITE=1
  # malloc asks for huge pages (glibc manual, "Memory Allocation Tunables"): compilers
  # and tools that hold IR fill hundreds of megabytes, and on a virtual machine whose
  # page faults are dear, clang takes a third of the time then. Others lose nothing.
  export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
  # The user's pip.conf may say otherwise, and .venv has no place for that.
  export PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0
}

# Functions that the user exports would stand in for commands.
for name in $(compgen -A function); do
  case $name in
  leave_python_environments | clean_environment) ;;
  *) unset -f "$name" ;;
  esac
done
unset name
clean_environment
