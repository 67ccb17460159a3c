# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mutation suite (bench/mutants): small faults in kernels, and which layer
finds each.

- `faults`, `ir_faults`: in PTX, and in the LLVM and NVVM dialects.
- `channel_mutants`: in the protocol of roles and channels, by fa4-mutate.
- `mutants`: what a kernel is, and how a mutant of it is judged.
- `equivalents`: why those are right that nothing finds.
- `suite`, `page`: the command, and what it writes into bench/results/mutants.md.
"""
