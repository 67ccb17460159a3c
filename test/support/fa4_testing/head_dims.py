# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Head dims above 128."""

# Of q and k in forward attention.
WIDE = (192, 256)
# Of v, where it is another one than that of q and k.
VALUE_DIMS = {192: 128}
# Of q and k, of v: gradients, whose dq has a kernel of its own.
GRADIENTS = ((192, 128), (192, 192), (160, 128), (144, 96), (128, 160), (256, 128))
