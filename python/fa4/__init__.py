# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fa4: attention ops to GPU kernels, from Python.

    import fa4
    spec = fa4.sdpa(q="B Sq 32 128", k="B Sk 8 128", dtype="bf16", mask="causal")
    kernel = fa4.compile(spec, chip="sm_100a")
    out = kernel.simulate(q=q, k=k, v=v).out        # on numpy, in the simulator
    kernel.launch(q=q, k=k, v=v, out=out)           # on tensors of a GPU

- `fa4.sdpa`, `fa4.sdpa_backward`: what to compute; `fa4.Mask`, and `fa4.math` for score_mod and mask_mod.
- `fa4.compile`: a spec to a `fa4.Kernel`, which is PTX, a manifest, IR of each level, and calls.
- `fa4.flex`: attention with functions of one's own on tensors of torch; `fa4.torch`: the op in torch, where that is installed;
  `fa4.distributed`: over a sequence of which each rank of a process group has a part.
- `fa4.cache`: compiled kernels on disk. `fa4.reference`: what the ops compute, in numpy.
- `fa4.sim`: PTX from anywhere on numpy arrays, in the simulator. `python -m fa4.driver SCRIPT`: a program of the CUDA driver
  API there; it needs the stand-in library, which a checkout builds and a wheel does not have.
"""

import importlib

__version__ = "0.1.0"

# Modules are imported when a name is first used: `import fa4` loads neither numpy nor the compiler.
_HOMES = {
    "sdpa": "spec", "sdpa_backward": "spec", "Spec": "spec", "SpecError": "spec", "Mask": "spec",
    "compile": "kernel", "Kernel": "kernel", "Results": "arrays", "Time": "kernel",
    "Fa4Error": "errors", "CompileError": "errors", "CompileWarning": "errors", "SimulationError": "errors",
    "TraceError": "errors", "LaunchError": "errors", "LibraryNotFoundError": "errors", "CacheWarning": "errors",
}  # fmt: skip
# Not in `__all__`: they need torch, which need not be installed.
_OF_TORCH = ("flex",)
_MODULES = ("cache", "distributed", "errors", "kernel", "math", "reference", "report", "selftest", "spec", "torch", "tracing")
__all__ = [*_HOMES, "cache", "math", "reference"]


def __getattr__(name):
    if name in _HOMES:
        value = getattr(importlib.import_module(f"fa4.{_HOMES[name]}"), name)
        if _HOMES[name] == "spec":
            # Who makes a spec compiles it next: the time for that is not to be the first compilation's.
            importlib.import_module("fa4.kernel")
        globals()[name] = value
        return value
    if name in _OF_TORCH:
        globals()[name] = value = getattr(importlib.import_module("fa4.torch"), name)
        return value
    if name in _MODULES:
        return importlib.import_module(f"fa4.{name}")
    raise AttributeError(f"module 'fa4' has no attribute '{name}'")


def __dir__():
    return sorted([*globals(), *_HOMES, *_MODULES, *_OF_TORCH])
