//===- attention_ffi.cpp - a kernel of fa4 as a function of JAX -----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two handlers for XLA's foreign function interface, of a kernel that is given
// by its manifest and its PTX: one launches on a GPU, on XLA's stream; one runs
// the simulator on arrays of the host. attention_ffi.py builds and calls them.

#include "fa4-c/Simulator.h"
#include "fa4-runtime/Runtime.h"
#include "xla/ffi/api/ffi.h"
#include <map>
#include <mutex>
#include <string>

namespace ffi = xla::ffi;

/// Takes the sentence of a function of fa4; null is none.
template <typename Free>
static ffi::Error failed(char *message, Free freeText) {
  std::string text = message ? message : "fa4 gives no reason";
  freeText(message);
  return ffi::Error::Internal(text);
}

//===----------------------------------------------------------------------===//
// On a GPU
//===----------------------------------------------------------------------===//

/// Loads a kernel on the GPU whose context is current, once.
static Fa4RuntimeStatus load(std::string_view manifest, std::string_view name,
                             std::string_view ptx, int32_t device,
                             Fa4RuntimeProgram *&program, char **message) {
  static std::mutex mutex;
  static std::map<std::pair<int32_t, std::string>, Fa4RuntimeProgram *> loaded;
  std::lock_guard<std::mutex> lock(mutex);
  program = loaded[{device, std::string(manifest)}];
  if (program)
    return FA4_RUNTIME_OK;
  // The driver reads PTX to a zero.
  std::string code(ptx), file(name);
  Fa4RuntimeImage image = {sizeof(image), file.c_str(), code.c_str(),
                           code.size() + 1};
  Fa4RuntimeLoadOptions options = {};
  options.size = sizeof(options);
  options.manifest = manifest.data();
  options.manifestLength = manifest.size();
  options.images = &image;
  options.numImages = 1;
  options.hasDevice = true;
  options.device = device;
  Fa4RuntimeStatus status = fa4RuntimeLoad(&options, &program, message);
  if (status == FA4_RUNTIME_OK)
    loaded[{device, std::string(manifest)}] = program;
  return status;
}

static Fa4RuntimeTensor describe(const char *name, ffi::AnyBuffer buffer) {
  Fa4RuntimeTensor tensor = {};
  tensor.size = sizeof(tensor);
  tensor.name = name;
  tensor.address = reinterpret_cast<uint64_t>(buffer.untyped_data());
  tensor.dtype = "bf16";
  tensor.rank = int32_t(buffer.dimensions().size());
  tensor.shape = buffer.dimensions().begin();
  return tensor;
}

static ffi::Error launch(void *stream, int32_t device, ffi::AnyBuffer q,
                         ffi::AnyBuffer k, ffi::AnyBuffer v,
                         ffi::Result<ffi::AnyBuffer> out,
                         std::string_view manifest, std::string_view name,
                         std::string_view ptx) {
  char *message;
  Fa4RuntimeProgram *program;
  if (load(manifest, name, ptx, device, program, &message))
    return failed(message, fa4RuntimeFreeText);
  Fa4RuntimeTensor tensors[] = {describe("q", q), describe("k", k),
                                describe("v", v), describe("out", *out)};
  Fa4RuntimeArguments arguments = {};
  arguments.size = sizeof(arguments);
  arguments.tensors = tensors;
  arguments.numTensors = 4;
  if (fa4RuntimeRun(program, &arguments, stream, &message))
    return failed(message, fa4RuntimeFreeText);
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(fa4Launch, launch,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void *>>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<std::string_view>("manifest")
                                  .Attr<std::string_view>("name")
                                  .Attr<std::string_view>("ptx"));

//===----------------------------------------------------------------------===//
// In the simulator
//===----------------------------------------------------------------------===//

static ffi::Error simulate(ffi::AnyBuffer q, ffi::AnyBuffer k, ffi::AnyBuffer v,
                           ffi::Result<ffi::AnyBuffer> out,
                           std::string_view manifest, std::string_view name,
                           std::string_view ptx) {
  char *message;
  Fa4Simulation *simulation;
  if (fa4SimulationCreate(manifest.data(), manifest.size(), &simulation,
                          &message))
    return failed(message, fa4FreeText);
  auto set = [&](const char *tensor, ffi::AnyBuffer buffer) {
    return fa4SimulationSetBuffer(
        simulation, tensor, buffer.dimensions().begin(),
        buffer.dimensions().size(), buffer.untyped_data(), buffer.size_bytes(),
        &message);
  };
  bool isDone = !fa4SimulationSetModule(simulation, std::string(name).c_str(),
                                        ptx.data(), ptx.size(), &message) &&
                !set("q", q) && !set("k", k) && !set("v", v) &&
                !fa4SimulationRun(simulation, nullptr, &message) &&
                !fa4SimulationGetBuffer(simulation, "out", out->untyped_data(),
                                        out->size_bytes(), &message);
  fa4SimulationDestroy(simulation);
  return isDone ? ffi::Error::Success() : failed(message, fa4FreeText);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(fa4Simulate, simulate,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::AnyBuffer>()
                                  .Attr<std::string_view>("manifest")
                                  .Attr<std::string_view>("name")
                                  .Attr<std::string_view>("ptx"));
