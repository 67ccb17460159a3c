# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with one `attn.sdpa` that are compiled, simulated and compared with
float64.

- `program`: what such a program is, and running it.
- `mods`: score and mask regions, as text and in numpy.
- `forms`: named forms, which the tests and `bench/passes` go through.
- `flaws`: one mistake in a legal program, or pairs of CTAs that it cannot have, and the error it must give.
- `paired`: what makes a pair of CTAs of a program that has been drawn.
- `random_programs`: draws them (bench/random-programs).
- `shrink`: makes one that fails smaller.
"""
