//===- Runtime.cpp - the C API
//-------------------------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4-runtime/Runtime.h"
#include "Guard.h"
#include "Program.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace fa4::runtime;

//===----------------------------------------------------------------------===//
// Statuses, texts, structs
//===----------------------------------------------------------------------===//

static void requireNonNull(bool isThere, const char *what) {
  if (!isThere)
    fail(FA4_RUNTIME_BAD_ARGUMENT, std::string(what) + " must not be null");
}

/// The known members of a struct of the caller, whose library may be another:
/// members that this library lacks must be zero.
template <typename T> static T readStruct(const T *from, const char *name) {
  T result = {};
  size_t size = from->size;
  if (size < sizeof(size_t) || size > 65536)
    fail(FA4_RUNTIME_BAD_ARGUMENT, std::string(name) + ".size must be sizeof(" +
                                       name + "), got " + std::to_string(size));
  auto *bytes = reinterpret_cast<const char *>(from);
  std::memcpy(&result, from, std::min(size, sizeof(T)));
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i])
      fail(FA4_RUNTIME_BAD_ARGUMENT,
           std::string(name) +
               " has members that this version of libfa4_runtime does not "
               "know, and they are set");
  result.size = sizeof(T);
  return result;
}

/// The elements of an array of structs, each as large as the first one says.
template <typename T, typename F>
static void forEachStruct(const T *array, size_t count, const char *name, F f) {
  auto *at = reinterpret_cast<const char *>(array);
  requireNonNull(array || !count, name);
  for (size_t i = 0; i < count; ++i)
    f(readStruct(reinterpret_cast<const T *>(at + i * array->size), name));
}

Arguments
Fa4RuntimeProgram::readArguments(const Fa4RuntimeArguments &from) const {
  Arguments arguments;
  arguments.tensors.resize(manifest.tensors.size());
  arguments.scalars.resize(manifest.scalars.size());
  arguments.workspace = from.workspace;
  arguments.workspaceBytes = from.workspaceBytes;
  auto unknown = [&](const std::string &name) {
    std::string known;
    for (const TensorSpec &tensor : manifest.tensors)
      known += (known.empty() ? "" : ", ") + tensor.name;
    for (const std::string &scalar : manifest.scalars)
      known += (known.empty() ? "" : ", ") + scalar;
    fail(FA4_RUNTIME_BAD_ARGUMENT, manifest.file +
                                       ": no tensor or scalar is named '" +
                                       name + "'; there are: " + known);
  };
  forEachStruct(
      from.tensors, from.numTensors, "Fa4RuntimeTensor",
      [&](const Fa4RuntimeTensor &tensor) {
        requireNonNull(tensor.name, "Fa4RuntimeTensor.name");
        int index = manifest.findTensor(tensor.name);
        if (index < 0)
          unknown(tensor.name);
        TensorArgument &to = arguments.tensors[size_t(index)];
        if (to.isGiven)
          fail(FA4_RUNTIME_BAD_ARGUMENT,
               "tensor '" + std::string(tensor.name) + "' is given twice");
        to = {true,        tensor.address, tensor.dtype,
              tensor.rank, tensor.shape,   tensor.strides};
        if (tensor.strides && !tensor.shape)
          fail(FA4_RUNTIME_BAD_ARGUMENT, "tensor '" + std::string(tensor.name) +
                                             "' has strides and no shape");
        // The shape of a scalar has no elements, and may be null.
        static const int64_t none = 0;
        if (!tensor.shape && manifest.tensors[size_t(index)].shape.empty() &&
            tensor.rank == 0)
          to.shape = &none;
      });
  forEachStruct(from.scalars, from.numScalars, "Fa4RuntimeScalar",
                [&](const Fa4RuntimeScalar &scalar) {
                  requireNonNull(scalar.name, "Fa4RuntimeScalar.name");
                  int index = manifest.findScalar(scalar.name);
                  if (index < 0)
                    unknown(scalar.name);
                  if (arguments.scalars[size_t(index)])
                    fail(FA4_RUNTIME_BAD_ARGUMENT,
                         "'" + std::string(scalar.name) + "' is given twice");
                  arguments.scalars[size_t(index)] =
                      scalar.isFloat ? Number(scalar.floating)
                                     : Number(scalar.integer);
                });
  return arguments;
}

//===----------------------------------------------------------------------===//
// Calls that are kept
//===----------------------------------------------------------------------===//

/// All of the arguments as bytes. Names of dtypes are checked the first time,
/// and count by their pointers' texts.
static std::string makeKey(const Arguments &arguments) {
  std::string key;
  auto add = [&](const auto &value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  key.reserve(512);
  add(arguments.workspace);
  add(arguments.workspaceBytes);
  for (const TensorArgument &tensor : arguments.tensors) {
    add(tensor.isGiven);
    add(tensor.address);
    add(tensor.rank);
    key += tensor.dtype ? tensor.dtype : "";
    key += '\0';
    add(bool(tensor.shape));
    add(bool(tensor.strides));
    for (int32_t d = 0; d < tensor.rank && tensor.shape; ++d)
      add(tensor.shape[d]);
    for (int32_t d = 0; d < tensor.rank && tensor.strides; ++d)
      add(tensor.strides[d]);
  }
  for (const std::optional<Number> &scalar : arguments.scalars) {
    Number number = scalar.value_or(Number());
    add(scalar.has_value());
    add(number.isFloat);
    add(number.integer);
    add(number.floating);
  }
  return key;
}

std::shared_ptr<const Fa4RuntimeCall>
Fa4RuntimeProgram::findCall(const std::string &key) {
  std::lock_guard<std::mutex> lock(mutex);
  auto known =
      std::find_if(calls.begin(), calls.end(),
                   [&](const KeptCall &kept) { return kept.key == key; });
  if (known == calls.end())
    return nullptr;
  calls.splice(calls.begin(), calls, known);
  return known->call;
}

std::shared_ptr<const Fa4RuntimeCall>
Fa4RuntimeProgram::prepareAndKeep(std::string key, const Arguments &arguments) {
  constexpr size_t kMaxKept = 256;
  auto made = std::make_shared<const Fa4RuntimeCall>(*this, arguments);
  std::lock_guard<std::mutex> lock(mutex);
  // Another thread may have been as fast: then there are two that are alike.
  calls.push_front({std::move(key), made});
  if (calls.size() > kMaxKept)
    calls.pop_back();
  return made;
}

void Fa4RuntimeProgram::run(Arguments arguments, CUstream stream) {
  StreamState state(driver, stream);
  arguments.isMemoryChecked = !state.isCaptured;
  // Held until the launches are on their way; then the stream holds it.
  WorkspaceRef workspace;
  auto place = [&] {
    arguments.workspace = workspace ? workspace->address : 0;
    arguments.workspaceBytes = workspace ? workspace->bytes : 0;
  };
  bool isPooled = hasWorkspaces && !arguments.workspace;
  if (isPooled) {
    workspace = pool->find(state);
    place();
  }
  std::string key = makeKey(arguments);
  std::shared_ptr<const Fa4RuntimeCall> call = findCall(key);
  if (!call && isPooled) {
    if (uint64_t bytes = countWorkspaceBytes(*this, arguments, true)) {
      workspace.reset();
      workspace = pool->acquire(state, bytes);
      place();
      key = makeKey(arguments);
    }
  }
  if (!call)
    call = prepareAndKeep(std::move(key), arguments);
  call->launch(state);
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

const char *fa4RuntimeVersion(void) { return FA4_VERSION; }

void fa4RuntimeFreeText(char *text) { std::free(text); }

Fa4RuntimeStatus fa4RuntimeLoad(const Fa4RuntimeLoadOptions *options,
                                Fa4RuntimeProgram **program, char **message) {
  if (program)
    *program = nullptr;
  return guard(message, [&] {
    requireNonNull(options && program, "fa4RuntimeLoad: options and program");
    Fa4RuntimeLoadOptions known = readStruct(options, "Fa4RuntimeLoadOptions");
    forEachStruct(known.images, known.numImages, "Fa4RuntimeImage",
                  [](const Fa4RuntimeImage &image) {
                    requireNonNull(image.data, "Fa4RuntimeImage.data");
                  });
    *program = new Fa4RuntimeProgram(known);
  });
}

void fa4RuntimeUnload(Fa4RuntimeProgram *program) { delete program; }

size_t fa4RuntimeGetNumTensors(const Fa4RuntimeProgram *program) {
  return program ? program->manifest.tensors.size() : 0;
}

static_assert(int(Role::In) == FA4_RUNTIME_IN &&
                  int(Role::Out) == FA4_RUNTIME_OUT &&
                  int(Role::InOut) == FA4_RUNTIME_INOUT &&
                  int(Role::Workspace) == FA4_RUNTIME_WORKSPACE,
              "a role is cast");

bool fa4RuntimeGetTensor(const Fa4RuntimeProgram *program, size_t index,
                         Fa4RuntimeTensorInfo *info) {
  if (!info || index >= fa4RuntimeGetNumTensors(program) ||
      info->size < sizeof(size_t))
    return false;
  const TensorSpec &tensor = program->manifest.tensors[index];
  Fa4RuntimeTensorInfo known = {info->size,
                                tensor.name.c_str(),
                                dtypeName(tensor.dtype),
                                Fa4RuntimeRole(tensor.role),
                                int32_t(tensor.shape.size()),
                                tensor.alignment};
  std::memcpy(info, &known, std::min(info->size, sizeof(known)));
  return true;
}

size_t fa4RuntimeGetNumScalars(const Fa4RuntimeProgram *program) {
  return program ? program->manifest.scalars.size() : 0;
}

const char *fa4RuntimeGetScalar(const Fa4RuntimeProgram *program,
                                size_t index) {
  return index < fa4RuntimeGetNumScalars(program)
             ? program->manifest.scalars[index].c_str()
             : nullptr;
}

size_t fa4RuntimeGetNumLaunches(const Fa4RuntimeProgram *program) {
  return program ? program->manifest.launches.size() : 0;
}

int32_t fa4RuntimeGetDevice(const Fa4RuntimeProgram *program) {
  return program ? program->gpu.device : -1;
}

Fa4RuntimeStatus
fa4RuntimeGetWorkspaceBytes(Fa4RuntimeProgram *program,
                            const Fa4RuntimeArguments *arguments,
                            uint64_t *bytes, char **message) {
  return guard(message, [&] {
    requireNonNull(program && arguments && bytes,
                   "fa4RuntimeGetWorkspaceBytes: program, arguments and bytes");
    *bytes = countWorkspaceBytes(
        *program,
        program->readArguments(readStruct(arguments, "Fa4RuntimeArguments")),
        /*checkAddresses=*/false);
  });
}

Fa4RuntimeStatus fa4RuntimePrepare(Fa4RuntimeProgram *program,
                                   const Fa4RuntimeArguments *arguments,
                                   Fa4RuntimeCall **call, char **message) {
  if (call)
    *call = nullptr;
  return guard(message, [&] {
    requireNonNull(program && arguments && call,
                   "fa4RuntimePrepare: program, arguments and call");
    *call = new Fa4RuntimeCall(
        *program,
        program->readArguments(readStruct(arguments, "Fa4RuntimeArguments")));
  });
}

Fa4RuntimeStatus fa4RuntimeLaunch(const Fa4RuntimeCall *call, void *stream,
                                  char **message) {
  return guard(message, [&] {
    requireNonNull(call, "fa4RuntimeLaunch: call");
    call->launch({call->program.driver, static_cast<CUstream>(stream)});
  });
}

void fa4RuntimeDestroyCall(Fa4RuntimeCall *call) { delete call; }

Fa4RuntimeStatus fa4RuntimeRun(Fa4RuntimeProgram *program,
                               const Fa4RuntimeArguments *arguments,
                               void *stream, char **message) {
  return guard(message, [&] {
    requireNonNull(program && arguments,
                   "fa4RuntimeRun: program and arguments");
    program->run(
        program->readArguments(readStruct(arguments, "Fa4RuntimeArguments")),
        static_cast<CUstream>(stream));
  });
}
