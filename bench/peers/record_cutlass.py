# Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records how an example of CUTLASS's CuTe-DSL launches its kernels, without a GPU.

usage: record_cutlass.py DIRECTORY NAMES EXAMPLE.py [ARGUMENT]...

The example runs as a program, for sm_90 where it is in a folder `hopper`, else
for sm_100, with ARGUMENTs as its own command line, until it has launched what it
compiled. NAMES are those of its tensors, with commas, in
the order in which it makes CuTe tensors of them. A name that is missing or
empty stands for `t` and a number, a workspace. Run it in an environment that
has nvidia-cutlass-dsl[cu13] and torch (sim-peers makes one).

The tensors are torch's, on the CPU, and claim to be on a device, to the
example's own code, too. DIRECTORY gets, for launch N, launch-N.ptx and
launch-N.json (launch_records.py), and NAME.npy for each tensor of integers: sizes,
strides and pointers that a kernel reads are part of the record."""
import contextlib
import os
import runpy
import shutil
import sys
import types

from launch_records import OnDevice, Recorder, Tensors, start


class Recorded(BaseException):
    """The example has launched its kernels; no code of it shall catch this."""


def find_examples(path):
    """The folder of all examples, in which the shared helpers are."""
    while os.path.basename(path) != "CuTeDSL":
        if path == os.path.dirname(path):
            sys.exit("record_cutlass.py: the example is in no folder CuTeDSL")
        path = os.path.dirname(path)
    return path


def pretend_device(torch, tensors, capability):
    """Lets torch's functions take the CPU where they are told a CUDA device, and addresses be those of the record."""

    def is_device(value):
        return str(value).startswith("cuda") if isinstance(value, (str, torch.device)) else False

    class OnCpu(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, _, arguments=(), keywords=None):
            keywords = dict(keywords or {})
            if function is torch.Tensor.cuda:
                return arguments[0].clone()
            if function is torch.Tensor.data_ptr:
                return tensors.address(arguments[0])
            moved = is_device(keywords.get("device")) or any(map(is_device, arguments))
            if is_device(keywords.get("device")):
                keywords["device"] = "cpu"
            arguments = ["cpu" if is_device(value) else value for value in arguments]
            result = function(*arguments, **keywords)
            # What is copied to the device is other memory than what it was copied from.
            return result.clone() if moved and function is torch.Tensor.to and result is arguments[0] else result

    stream = types.SimpleNamespace(cuda_stream=0)
    torch.cuda.is_available = lambda: True
    torch.cuda.current_stream = torch.cuda.default_stream = torch.cuda.Stream = lambda *_: stream
    torch.cuda.CUDAGraph, torch.cuda.graph = types.SimpleNamespace, lambda *_, **__: contextlib.nullcontext()
    torch.cuda.get_device_capability = lambda *_: capability
    torch.cuda.synchronize = lambda *_: None
    return OnCpu()


def pretend_driver():
    """What the examples ask the driver about."""
    from cuda.bindings import driver

    driver.cuInit = lambda *_: (driver.CUresult.CUDA_SUCCESS,)
    driver.cuDeviceGetCount = lambda: (driver.CUresult.CUDA_SUCCESS, 1)


class Example:
    """One run of an example; its CuTe tensors in order of their making."""

    def __init__(self, recorder, names):
        self.recorder, self.names, self.contents = recorder, names, {}

    def name_tensor(self, tensor):
        tensors = self.recorder.tensors
        name = self.names.pop(0) if self.names else ""
        if name:
            tensors.add(name, tensor)
            self.contents[name] = tensor
        else:
            tensors.add_workspace(tensor)

    def attach(self):
        """Gets the example's tensors and launches out of CuTe-DSL."""
        import cutlass.cute as cute
        import cutlass.torch
        from cutlass.base_dsl import jit_executor
        from cutlass.cute import runtime
        from cutlass.cutlass_dsl import cuda_jit_executor

        make_tensor, torch = runtime._Tensor.__init__, self.recorder.tensors.torch
        execute = jit_executor.JitExecutor.run_compiled_program

        def make(cute_tensor, tensor, *arguments, **keywords):
            if isinstance(tensor, torch.Tensor):
                self.name_tensor(tensor)
                cute_tensor.source = tensor
                tensor = OnDevice(self.recorder.tensors, tensor)
            make_tensor(cute_tensor, tensor, *arguments, **keywords)

        def run(executor, arguments):
            self.recorder.learn_kernels()
            execute(executor, arguments)
            raise Recorded

        runtime._Tensor.__init__ = make
        jit_executor.JitExecutor.run_compiled_program = run
        cuda_jit_executor.CudaDialectJitCompiledFunction.num_devices = 1
        # A kernel of the library that converts elements: torch does so as well.
        cute.testing.convert = lambda source, target: target.source.copy_(source.source)

    def save_integers(self):
        import numpy

        tensors = self.recorder.tensors
        for name, tensor in self.contents.items():
            if not tensor.is_floating_point():
                numpy.save(f"{self.recorder.directory}/{name}.npy", tensor.contiguous().numpy())
                tensors.named[name]["file"] = name + ".npy"


def main():
    directory, names, program, *arguments = sys.argv[1:]
    directory, program = os.path.abspath(directory), os.path.abspath(program)
    is_hopper = "hopper" in program.split(os.sep)
    library = start(directory, "sm_90" if is_hopper else "sm_100")
    import torch

    tensors = Tensors(torch)
    example = Example(Recorder(directory, library, tensors), names.split(","))
    pretend_driver()
    example.attach()
    sys.argv = [program, *arguments]
    sys.path.insert(0, find_examples(program))
    with pretend_device(torch, tensors, (9, 0) if is_hopper else (10, 0)):
        try:
            runpy.run_path(program, run_name="__main__")
            sys.exit("record_cutlass.py: the example has launched nothing")
        except Recorded:
            pass
    example.save_integers()
    example.recorder.write_launches()
    shutil.rmtree(directory + "/build")


if __name__ == "__main__":
    main()
