# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Head dims above 128, which forward attention alone has."""

# Of q and k.
WIDE = (192, 256)
# Of v, where it is another one than that of q and k.
VALUE_DIMS = {192: 128}
