//===- Ptxas.h - finding and running NVIDIA's assembler -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ptxas is the one part of the tool chain that is not free software, so it is a
// program that is found and run. It is needed for cubins only.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_NVPTX_PTXAS_H
#define FA4_TARGET_NVPTX_PTXAS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fa4 {

/// The environment in which findPtxas searches; the default is that of this
/// process.
struct PtxasSearch {
  /// Returns the value of an environment variable.
  std::function<std::optional<std::string>(llvm::StringRef)> getEnv;
  /// The folder into which CUDA's installer puts its programs.
  std::string defaultDirectory = "/usr/local/cuda/bin";
  /// The Python environment of this installation, or empty: see
  /// findEnvironmentOf. Never that of the folder one stands in, which may be
  /// anybody's.
  std::string environment;

  PtxasSearch();
};

/// The Python environment that belongs to fa4's program or library at `path`:
/// the one in whose site-packages it is, or `.venv` of the checkout in whose
/// folder `build` CMake has built it. Empty if there is neither.
std::string findEnvironmentOf(llvm::StringRef path);

/// Path of ptxas: the first that is an executable file of
///
/// 1. `path`, if not empty (a command line's flag), else the environment
///    variable FA4_PTXAS. If one of these is given and is no executable, it is
///    an error, as somebody meant it;
/// 2. `bin/ptxas` under CUDA_HOME, CUDA_PATH, CUDA_ROOT;
/// 3. PATH;
/// 4. /usr/local/cuda/bin;
/// 5. the wheel `nvidia-cuda-nvcc` in the Python environments VIRTUAL_ENV,
///    FA4_VENV, and that of the installation (findEnvironmentOf), in
///    `lib/python3*/site-packages/nvidia/{cu13,cuda_nvcc}/bin`.
///
/// The error names every place looked at.
llvm::Expected<std::string> findPtxas(llvm::StringRef path = {},
                                      const PtxasSearch &search = {});

/// The resources of a function according to `ptxas -v`. Sizes are bytes of one
/// thread unless a field says otherwise.
struct PtxasFunction {
  std::string name;
  /// True for a kernel, false for a function that is called and was not
  /// inlined.
  bool isEntry = false;
  /// Registers per thread at entry, for kernels only. setmaxnreg changes the
  /// number in a part of the kernel.
  unsigned registers = 0;
  /// Named barriers, for kernels only.
  unsigned barriers = 0;
  /// Static shared memory of a CTA, for kernels only.
  uint64_t sharedBytes = 0;
  uint64_t stackBytes = 0;
  uint64_t spillStoreBytes = 0;
  uint64_t spillLoadBytes = 0;

  /// True if ptxas has put registers or arrays into local memory.
  bool usesLocalMemory() const {
    return stackBytes || spillStoreBytes || spillLoadBytes;
  }
};

struct PtxasReport {
  /// The functions, in the order in which ptxas prints them.
  std::vector<PtxasFunction> functions;
  /// Warnings, and notes with a number such as "(C7508) Potential Performance
  /// Loss: 'setmaxnreg' ignored ...", which do not make ptxas fail.
  std::vector<std::string> advisories;
};

struct PtxasResult {
  /// The bytes of the ELF file.
  std::string cubin;
  PtxasReport report;
  /// The whole output of ptxas.
  std::string log;
};

/// Reads what `ptxas -v` printed. An error if it has no entry, or a line that
/// is not what ptxas 12 and 13 print.
llvm::Expected<PtxasReport> parsePtxasLog(llvm::StringRef log);

/// Whether an error of assemble() says that this ptxas knows the version of the
/// PTX or the chip not yet, which says nothing of the PTX.
bool isPtxasTooOld(llvm::StringRef message);

/// Runs `ptxas -v -arch=CHIP` on PTX text, with `arguments` behind. Spills and
/// stack are no errors here. Leaves no file behind.
llvm::Expected<PtxasResult>
assemble(llvm::StringRef ptxas, llvm::StringRef ptx, llvm::StringRef chip,
         llvm::ArrayRef<std::string> arguments = {});

} // namespace fa4

#endif // FA4_TARGET_NVPTX_PTXAS_H
