//===- Session.h - run a manifest ------------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a manifest, sizes and arrays to memory, parameters and launches:
//
//   Session session(std::move(manifest));
//   session.setArray("q", *readNpy("q.npy")) ...
//   session.prepare({});                          // reads PTX, fills memory
//   for (size_t i = 0; i < session.launchCount(); ++i)
//     session.run(i, options);
//   session.array("o", /*raw=*/false);
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MANIFEST_SESSION_H
#define FA4_SIMULATOR_MANIFEST_SESSION_H

#include "fa4/Simulator/Machine/Simulator.h"
#include "fa4/Simulator/Manifest/Manifest.h"
#include "fa4/Simulator/Manifest/Npy.h"
#include "fa4/Simulator/Ptx/Ast.h"
#include <set>

namespace fa4::sim {

struct PrepareOptions {
  /// Floating-point tensors that need contents and have none get normally
  /// distributed numbers.
  bool randomInputs = false;
  uint64_t fillSeed = 0;
  /// Inputs that nothing gives contents are zeros; otherwise an error.
  bool mayBeZeros = false;
  /// Memory is copied, so that reset() can restore it.
  bool mayReset = true;
};

/// A tensor of the call: all sizes are known.
struct Tensor : TensorLayout {
  const TensorSpec *spec = nullptr;
  uint64_t address = 0;
  bool hasContents = false;
};

/// A few bytes of memory that the user names.
struct MemoryPlace {
  MemSpace space = MemSpace::Global;
  uint64_t address = 0; ///< Shared: the offset in the window of every CTA.
  uint32_t bytes = 4;
  std::optional<DType> type; ///< Of a tensor's element.
};

class Session {
public:
  explicit Session(Manifest manifest);
  ~Session();
  Session(const Session &) = delete;

  const Manifest &manifest() const { return spec; }
  /// The call's value of a size, or of another scalar.
  llvm::Error setSize(llvm::StringRef name, Number value);
  /// Sets the contents of a tensor. If a dimension of the tensor's shape is the
  /// name of a size, the array's dimension also sets that size.
  llvm::Error setArray(llvm::StringRef name, NpyArray array);
  bool isTensor(llvm::StringRef name) const {
    return spec.findTensor(name) >= 0;
  }
  /// True if setSize or setArray take the name.
  bool isDeclared(llvm::StringRef name) const;
  /// The PTX of launches without reading a file: `module` stands for the file
  /// that they name `path` (LaunchSpec::file). To be called before prepare.
  void setModule(llvm::StringRef path,
                 std::shared_ptr<const ptx::Module> module) {
    modules[path] = std::move(module);
  }

  /// Allocates and fills the tensors. To be called once, after the last setSize
  /// and setArray.
  llvm::Error prepare(const PrepareOptions &options);
  /// Restores memory to its state after prepare.
  void reset();

  size_t launchCount() const { return spec.launches.size(); }
  const LaunchConfig &launch(size_t i) const { return configs[i]; }
  /// Whether the launch is on sizes of 0, so that nothing runs and its results
  /// are filled (EmptySpec). Its grid is 0 then. After prepare.
  bool isEmpty(size_t launch) const { return emptyLaunches[launch]; }
  const ptx::Module &module(size_t launch) const;
  llvm::Expected<RunResult> run(size_t launch, const RunOptions &options);
  /// The same with another way to run a program: `execute` gets the decoded
  /// program of the launch. `isChecked` says that a happens-before checker
  /// watches, which notes the memory that the launch writes.
  llvm::Error
  runWith(size_t launch,
          llvm::function_ref<llvm::Error(Simulator &, const LaunchConfig &)>
              execute,
          bool isChecked = false);

  llvm::Expected<NpyArray> array(llvm::StringRef name, bool raw) const;
  const std::vector<Tensor> &tensors() const { return resolved; }
  /// The value of a size or another scalar. After prepare.
  std::optional<Number> size(llvm::StringRef name) const {
    int scalar = spec.findScalar(name);
    return scalar < 0 ? std::nullopt : values[size_t(scalar)];
  }

  /// "out[3]" (an element in row-major order), "out[0,2,5]", an address in
  /// global memory, or "shared:0x408". After prepare.
  llvm::Expected<MemoryPlace> place(llvm::StringRef text) const;
  /// Tensors that could be inputs and are zeros because nothing gives their
  /// contents: all of them where no tensor has contents, else those that
  /// `randomInputs` does not fill. After prepare.
  const std::vector<std::string> &zeroInputs() const { return zeros; }

private:
  struct Image;
  llvm::Error fail(const llvm::Twine &message) const;
  llvm::Error noSuchName(llvm::StringRef name) const;
  llvm::Error bindSize(int scalar, Number value, llvm::StringRef from);
  llvm::Error resolveSizes();
  llvm::Error resolveTensor(const TensorSpec &tensor);
  llvm::Error readFiles();
  llvm::Error allocate();
  llvm::Error checkExclusive() const;
  llvm::Error fill(const PrepareOptions &options);
  void findZeroInputs(const PrepareOptions &options);
  llvm::Error fillTensor(Tensor &tensor, const PrepareOptions &options);
  llvm::Error loadModules();
  llvm::Error fillVariables(const LaunchSpec &launch);
  llvm::Error makeConfigs();
  llvm::Expected<bool> findEmpty(const LaunchSpec &launch) const;
  llvm::Expected<LaunchConfig> makeConfig(const LaunchSpec &launch);
  Dim3 findWidestGrid(const LaunchSpec &launch) const;
  void fillEmpty(const EmptySpec &empty);
  llvm::Error makeTriple(const Expression (&from)[3], Dim3 &to,
                         llvm::StringRef what);
  llvm::Expected<std::vector<uint8_t>> makeParam(const ParamSpec &param);
  llvm::Expected<TensorMap> makeMap(const ParamSpec &param);
  llvm::Expected<uint64_t> integerOf(const Expression &expression,
                                     uint64_t limit);
  const Tensor &tensorOf(int index) const { return resolved[size_t(index)]; }
  uint8_t *dataOf(const Tensor &tensor) const;

  Manifest spec;
  Values values, given; ///< `given`: by the call, beyond question.
  std::vector<std::string> boundBy;
  llvm::StringMap<NpyArray> arrays;
  llvm::StringMap<std::shared_ptr<const ptx::Module>> modules; ///< By path.
  std::vector<Tensor> resolved;
  std::shared_ptr<GlobalMemory> memory;
  std::vector<std::unique_ptr<Image>> images;
  std::vector<Image *> imageOf; ///< By launch.
  std::set<uint64_t> filled;    ///< Addresses of variables with contents.
  std::vector<LaunchConfig> configs;
  std::vector<bool> emptyLaunches;
  std::vector<std::pair<Allocation *, std::vector<uint8_t>>> snapshot;
  std::vector<std::string> zeros;
  std::vector<Allocation *> undefined; ///< Until launches write to them.
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MANIFEST_SESSION_H
