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

/// What findPtxas looks at; the default is this process's.
struct PtxasSearch {
  /// Value of an environment variable.
  std::function<std::optional<std::string>(llvm::StringRef)> getEnv;
  /// Where CUDA's installer puts its programs.
  std::string defaultDirectory = "/usr/local/cuda/bin";
  /// Folder whose `.venv` is looked at.
  std::string workingDirectory = ".";

  PtxasSearch();
};

/// Path of ptxas: the first that is an executable file of
///
/// 1. `path`, if not empty (a command line's flag), else the environment
///    variable FA4_PTXAS. If one of these is given and is no executable, it is
///    an error, as somebody meant it;
/// 2. `bin/ptxas` under CUDA_HOME, CUDA_PATH, CUDA_ROOT;
/// 3. PATH;
/// 4. /usr/local/cuda/bin;
/// 5. the wheel `nvidia-cuda-nvcc` in the Python environments VIRTUAL_ENV,
///    FA4_VENV, and `.venv` of the working directory, in
///    `lib/python3*/site-packages/nvidia/{cu13,cuda_nvcc}/bin`.
///
/// The error names every place looked at.
llvm::Expected<std::string> findPtxas(llvm::StringRef path = {},
                                      const PtxasSearch &search = {});

/// What `ptxas -v` tells of a function. Sizes are bytes, of a thread unless
/// said otherwise.
struct PtxasFunction {
  std::string name;
  /// Else a function that was called and not inlined.
  bool isEntry = false;
  /// Registers at entry; of entries only. setmaxnreg changes it for a part of
  /// the kernel.
  unsigned registers = 0;
  /// Named barriers; of entries only.
  unsigned barriers = 0;
  /// Static shared memory of a CTA; of entries only.
  uint64_t sharedBytes = 0;
  uint64_t stackBytes = 0;
  uint64_t spillStoreBytes = 0;
  uint64_t spillLoadBytes = 0;

  /// Registers or arrays that ended in local memory.
  bool usesLocalMemory() const {
    return stackBytes || spillStoreBytes || spillLoadBytes;
  }
};

struct PtxasReport {
  /// In ptxas's order.
  std::vector<PtxasFunction> functions;
  /// Warnings, and notes with a number such as "(C7508) Potential Performance
  /// Loss: 'setmaxnreg' ignored ...", with which ptxas does not fail.
  std::vector<std::string> advisories;
};

struct PtxasResult {
  /// The ELF file's bytes.
  std::string cubin;
  PtxasReport report;
  /// All that ptxas printed.
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
