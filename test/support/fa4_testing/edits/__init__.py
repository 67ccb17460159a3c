# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random edits of the files of all levels of fa4-compile, and what becomes of them.

`generic` reads and writes MLIR's generic form, `draw` makes one edit, `interpreter`
says what an edited kernel means, `suite` is behind bench/edits."""
