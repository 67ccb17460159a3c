# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What benches on a card share. To be sourced, with `root` set to the checkout.

# Runs the module of a bench. The report needs Python alone, and a measurement python3 with torch, as the machine with the
# card has it; --compile and --simulate use the checkout's environment.
run_card_bench() {
  local module=$1 python=python3 word
  shift
  for word in "$@"; do
    case $word in
    --compile | --compile=* | --simulate | --simulate=*)
      # shellcheck source=scripts/lib.sh
      source "$root/scripts/lib.sh"
      ensure_venv
      python=$FA4_VENV/bin/python
      ;;
    esac
  done
  PYTHONPATH=$root/python:$root/test/support:$root/bench exec "$python" -m "fa4_bench.$module" "$@"
}
