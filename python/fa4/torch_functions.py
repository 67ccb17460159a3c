# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which function of fa4.math each function of torch is, where functions for torch's FlexAttention are traced.

Functions are compared, not their names: an operator of somebody's own may be called `exp`, too.
"""

import torch

from fa4 import math

NAMES = ("abs", "ceil", "copysign", "exp", "exp2", "floor", "log", "log2", "maximum", "minimum", "round", "rsqrt", "sigmoid", "sqrt", "tanh",
         "trunc", "where")  # fmt: skip
FUNCTIONS = {getattr(torch, name): getattr(math, name) for name in NAMES}
FUNCTIONS |= {torch.absolute: math.abs, torch.clamp_min: math.maximum, torch.clamp_max: math.minimum}


def name_of(function) -> str:
    """A function as a user writes it: `torch.erf`, `torch.ops.mylib.exp`."""
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or function)
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return f"torch.ops.{str(function).removesuffix('.default')}"
    return f"torch.{name.split('.')[-1]}"
