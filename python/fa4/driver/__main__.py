# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m fa4.driver: see fa4.driver."""

import sys

from fa4.driver import main

sys.exit(main())
