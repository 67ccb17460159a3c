//===- RolePartition.h - which role executes what ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Partition of a tile program among roles: decoupled software pipelining, with
// the cuts where values change their home (Ottoni et al., "Automatic Thread
// Extraction with Decoupled Software Pipelining", MICRO 2005).
//
// Operations fall in two classes. *Data* operations make or use tiles that come
// from memory; everything else (index arithmetic, constants) is cheap and is
// repeated by each role that needs it. A data operation's role follows from
// what it is:
//
//   tile.load                                    load
//   tile.mma                                     mma
//   tile.store, tile.reduce_add of matrices      store
//   elementwise work on an accumulator, in a     correction (epilogue, where
//   loop that carries it or after the loop       there is none in a loop)
//   other elementwise work and reductions        compute0, compute1, ...: one
//                                                a connected piece
//
// On a chip whose MMAs accumulate in registers, the threads that hold a result
// start the MMA. A tile.mma is then work like any other: it belongs to the
// connected piece of its result, of its accumulator and of an operand A that
// lanes compute. There is neither a role `mma` nor one for accumulators. What
// such a role computes for the shared memory that MMAs read goes there by a
// channel, even where the role's own MMAs read it.

#ifndef FA4_DIALECT_TILE_ANALYSIS_ROLEPARTITION_H
#define FA4_DIALECT_TILE_ANALYSIS_ROLEPARTITION_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace fa4::tile {

/// The tasks of roles, in the order in which roles are numbered.
enum class RoleTask { Compute, Correction, Mma, Load, Store, Exchange };

struct RoleInfo {
  RoleTask task;
  std::string name;
  /// True for a task of lanes that start MMAs.
  bool startsMmas = false;
  /// Returns the kind of role that has the task.
  RoleKind getKind() const {
    if (startsMmas)
      return RoleKind::Matrix;
    bool computes = task == RoleTask::Compute || task == RoleTask::Correction;
    return computes ? RoleKind::Vector : RoleKind::Issuer;
  }
};

/// The origin of a value: an operation, or a loop that carries the value.
struct ValueOrigin {
  /// The role of the operation that makes the value. For a carried value, the
  /// role that makes the value of the next iteration.
  unsigned role;
  /// For a value that a loop carries (its region argument or its result): the
  /// loop and the number of the iter_arg.
  mlir::scf::ForOp loop;
  unsigned index = 0;
};

/// Returns the loop-carried value that `value` is a multiple of (by
/// `tile.rescale` and `arith.mulf`), or null. Sets `steps` to the
/// multiplications.
mlir::BlockArgument
findCarriedFactor(mlir::Value value,
                  llvm::SmallVectorImpl<mlir::Operation *> *steps = nullptr);

class RolePartition {
public:
  /// Computes the partition. Emits an error on the first operation that belongs
  /// to no role.
  static mlir::FailureOr<RolePartition> compute(KernelOp kernel);

  llvm::ArrayRef<RoleInfo> getRoles() const { return roles; }

  /// Returns the role of a data operation, or nothing for an operation that
  /// every role repeats.
  std::optional<unsigned> getRole(mlir::Operation *op) const;

  /// Returns true if the value depends on tiles that come from memory.
  bool isData(mlir::Value value) const { return data.contains(value); }

  /// Returns the origin of a data value.
  ValueOrigin getOrigin(mlir::Value value) const;

  /// Returns the data values that `op` uses, also in its regions, in order.
  /// Where an MMA reads a part of a loaded tile, that is the tile: each role
  /// repeats the operation that takes the part.
  llvm::SmallVector<mlir::Value> getDataOperands(mlir::Operation *op) const;

  /// Returns true for an operand that an MMA takes from shared memory, whoever
  /// has computed it: registers can be its A, as it is, and its accumulator.
  static bool isReadFromMemory(mlir::Operation *op, mlir::Value operand);

  /// Returns true if `op`, or an operation in its regions, belongs to `role`.
  bool touches(mlir::Operation *op, unsigned role) const;

private:
  mlir::LogicalResult run(KernelOp kernel);
  void findData(KernelOp kernel);
  void addAccumulatorWork(mlir::Operation *op);
  mlir::LogicalResult collectNodes(mlir::Block &block, bool afterMma);
  void findAccumulatorWork(KernelOp kernel);
  void findLastResults();
  /// True for elementwise operations that are no work on accumulators, and for
  /// MMAs that lanes start.
  bool isCompute(mlir::Operation *op) const;
  /// Returns the sets of compute operations that values connect.
  llvm::EquivalenceClasses<mlir::Operation *> findPieces() const;
  void joinMakers(llvm::EquivalenceClasses<mlir::Operation *> &pieces) const;
  mlir::Value getViewed(mlir::Value value) const;
  void assignRoles();

  /// True if the lanes that hold the result of an MMA start it.
  bool lanesStartMmas = false;
  llvm::SmallVector<RoleInfo> roles;
  llvm::DenseSet<mlir::Value> data;
  /// The data operations in program order. An scf.if counts as one operation
  /// together with its regions.
  llvm::SetVector<mlir::Operation *> nodes;
  /// The parts of loaded tiles that only MMAs read. They are no nodes.
  llvm::DenseSet<mlir::Operation *> views;
  /// The elementwise operations that belong to the correction role.
  llvm::DenseSet<mlir::Operation *> accumulatorWork;
  bool correctsInLoop = false;
  llvm::DenseMap<mlir::Operation *, unsigned> roleOf;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROLEPARTITION_H
