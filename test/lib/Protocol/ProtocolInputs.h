//===- ProtocolInputs.h - the numbers of a kernel for chosen sizes ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The explorer's answers to what roles ask: whether a loop makes another pass,
// whether a condition holds. It chooses the sizes that the kernel is launched
// on, and computes loop bounds and conditions from them, operation by
// operation, in the types of the IR (ConcreteFolder). The linear forms of the
// model, which the verifier uses, are not looked at.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_PROTOCOLINPUTS_H
#define FA4_TEST_LIB_PROTOCOL_PROTOCOLINPUTS_H

#include "fa4/Dialect/Tile/Analysis/ConcreteFolder.h"
#include "fa4/Dialect/Tile/Protocol/RoleCursor.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace fa4::tile {

/// A number that nothing in the kernel computes. Its name is what it is called
/// in a finding: equal names have equal numbers.
struct ProtocolInput {
  std::string name;
  mlir::Type type;
  /// The largest number that it may be, and whether it may be negative.
  int64_t last;
  bool isSigned;
  /// It is the coordinate along the axis of a cluster, whose CTAs have
  /// neighbouring ones.
  bool isOfCluster = false;
};

class ProtocolInputs {
public:
  /// More passes than any loop makes that ends.
  static constexpr int64_t kEndless = int64_t(1) << 40;

  explicit ProtocolInputs(const ProtocolModel &model);

  /// Sizes, coordinates of the work tile and scalar arguments that decide
  /// numbers of passes or conditions.
  llvm::ArrayRef<ProtocolInput> getInputs() const { return inputs; }
  /// Positive constants that numbers of passes and conditions are computed
  /// with, in increasing order.
  llvm::ArrayRef<int64_t> getConstants() const { return constants; }

  void set(const ProtocolInput &input, mlir::TypedAttr number);
  void erase(const ProtocolInput &input);
  void clear();
  /// From now on, answers are those of the CTA with this number in its cluster.
  void setRank(unsigned number);
  /// For a finding: the numbers of the inputs.
  std::string describe() const;

  /// Passes of a loop, in the present passes of those around it; kEndless for a
  /// loop that does not end. None: see missing().
  std::optional<int64_t> countPasses(unsigned loop, const RoleCursor &cursor);
  /// Whether a condition is true there. None: see missing().
  std::optional<bool> holds(unsigned condition, const RoleCursor &cursor);
  /// What the role at `cursor` asks. None: see missing().
  std::optional<bool> answer(const RoleCursor &cursor);

  /// Why there was no answer: this input has no number yet. Without one, the
  /// sizes are some for which the kernel divides by zero, or shifts by more
  /// bits than there are.
  const std::optional<ProtocolInput> &missing() const { return lacking; }

private:
  void collect(mlir::Value value);
  void addInput(mlir::Value value);
  /// The input that `value` is; none if an operation computes it.
  std::optional<ProtocolInput> getInput(mlir::Value value,
                                        const RoleCursor &cursor);
  bool isAxisOfCluster(unsigned axis) const;
  ProtocolInput getOpaqueInput(mlir::Value value, const RoleCursor &cursor);
  /// The passes of the tile.work of the role at `cursor`.
  int64_t getWorkPass(const RoleCursor &cursor) const;
  /// An element of a tensor in global memory.
  mlir::TypedAttr computeElement(LoadScalarOp load, const RoleCursor &cursor);
  /// Whether passes of loops decide the value.
  bool varies(mlir::Value value);
  mlir::TypedAttr evaluate(mlir::Value value, const RoleCursor &cursor);
  mlir::TypedAttr compute(mlir::Value value, const RoleCursor &cursor);
  mlir::TypedAttr computeInduction(mlir::scf::ForOp loop,
                                   const RoleCursor &cursor);
  mlir::TypedAttr lookUp(const ProtocolInput &input);

  const ProtocolModel &model;
  llvm::DenseMap<mlir::Operation *, unsigned> loopIndex;
  llvm::SmallVector<ProtocolInput> inputs;
  llvm::SmallVector<int64_t> constants;
  llvm::SetVector<mlir::Value> collected;
  std::map<std::string, mlir::TypedAttr> numbers;
  unsigned rank = 0;
  std::optional<ProtocolInput> lacking;
  ConcreteFolder folder;
  llvm::DenseMap<mlir::Value, bool> isVarying;
  /// Values that no passes decide, and those of the present question.
  llvm::DenseMap<mlir::Value, mlir::TypedAttr> fixed, present;
};

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_PROTOCOLINPUTS_H
