# shellcheck shell=bash
# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Where the benchmarks find FlashAttention-4 and NVIDIA's tools. Sourced, not
# run; the caller has set -euo pipefail.
#
#   FA4_PEERS_SCRATCH      where records and results go (default:
#                          ~/.cache/fa4-peers)
#   FA4_PEERS_ENVIRONMENT  a Python environment with FlashAttention-4; made
#                          there (6 GB) when it does not exist (default:
#                          $FA4_PEERS_SCRATCH/environment)
#   CUDA_HOME              the toolkit (default: that of nvcc)

scratch=$(realpath -m "${FA4_PEERS_SCRATCH:-$HOME/.cache/fa4-peers}")
environment=$(realpath -m "${FA4_PEERS_ENVIRONMENT:-$scratch/environment}")

peers_die() {
  echo "$(basename "$0"): $*" >&2
  exit 2
}

# peers_environment: makes $environment where it is missing, and sets $cuda.
peers_environment() {
  cuda=${CUDA_HOME:-}
  if [ -z "$cuda" ]; then
    local nvcc
    nvcc=$(command -v nvcc) || nvcc=/usr/local/cuda/bin/nvcc
    [ -x "$nvcc" ] || peers_die "neither CUDA_HOME nor nvcc is there"
    cuda=$(dirname "$(dirname "$(realpath "$nvcc")")")
  fi
  if [ ! -x "$environment/bin/python" ]; then
    echo "making $environment (about 6 GB) ..." >&2
    rm -rf "$environment.new"
    python3 -m venv "$environment.new"
    "$environment.new/bin/python" -m pip install -q --pre "flash-attn-4==4.0.0b36" \
      "nvidia-cutlass-dsl[cu13]" numpy
    mv "$environment.new" "$environment"
  fi
  # CuTe-DSL loads the driver's library; the toolkit's stub will do.
  mkdir -p "$scratch/stub"
  ln -sf "$cuda/lib64/stubs/libcuda.so" "$scratch/stub/libcuda.so.1"
}

# peers_python ARGUMENT...: Python of the environment, able to load CuTe-DSL.
peers_python() {
  CUDA_HOME=$cuda LD_LIBRARY_PATH="$scratch/stub" "$environment/bin/python" "$@"
}

# peers_tools: sets $ptxas and $nvdisasm, of one version, from PyPI.
peers_tools() {
  local folder
  folder=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13/bin
  ptxas=$folder/ptxas nvdisasm=$folder/nvdisasm
  if [ ! -e "$ptxas" ] || [ ! -e "$nvdisasm" ]; then
    "$environment/bin/python" -m pip install -q "nvidia-cuda-nvcc==13.*" "nvidia-cuda-nvdisasm==13.*" >&2
  fi
  chmod +x "$ptxas" "$nvdisasm"
}
