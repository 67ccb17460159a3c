# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The errors and warnings of the package."""


class Fa4Error(RuntimeError):
    """The base of fa4's errors. The message is a sentence for people."""


class CompileError(Fa4Error):
    """The compiler has refused an op, or could not run. The message is its own; `diagnostics` has
    all that it said, each as "file:line:column: severity: message"."""

    def __init__(self, message: str, diagnostics: tuple[str, ...] = ()):
        super().__init__(message)
        self.diagnostics = diagnostics


class SimulationError(Fa4Error):
    """fa4-sim has a finding, or could not run. The message is its own."""


class TraceError(Fa4Error):
    """A score_mod or a mask_mod does what no kernel can. The message names the line; `file` and
    `line` are that place."""

    def __init__(self, message: str, file: str = "", line: int = 0):
        super().__init__(message)
        self.file, self.line = file, line


class LibraryNotFoundError(Fa4Error):
    """libfa4.so, or libfa4_runtime.so, is not there or cannot be loaded."""


class LaunchError(Fa4Error):
    """A kernel could not be launched on a GPU. The message is the runtime library's."""


class CompileWarning(UserWarning):
    """The compiler, or ptxas, has a remark on a kernel that it has made."""


class CacheWarning(UserWarning):
    """The cache on disk cannot be used as it is; kernels are compiled anew."""
