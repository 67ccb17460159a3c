# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of fa4 share, and nothing that a user of the package needs: the tools by command line (gpu, cpu), ops and
random programs with their results in float64 (programs), faults (mutation), edits, upstream's passes between levels."""
