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

#ifndef FA4_DIALECT_TILE_ANALYSIS_ROLEPARTITION_H
#define FA4_DIALECT_TILE_ANALYSIS_ROLEPARTITION_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace fa4::tile {

/// In the order in which roles are numbered.
enum class RoleKind { Compute, Correction, Mma, Load, Store };

struct RoleInfo {
  RoleKind kind;
  std::string name;
  /// Starts asynchronous operations and holds no data.
  bool issues() const {
    return kind == RoleKind::Mma || kind == RoleKind::Load ||
           kind == RoleKind::Store;
  }
};

/// What makes a value: an operation, or a loop that carries it.
struct ValueOrigin {
  /// Role of the operation that makes the value (for a carried value, of the
  /// one that makes the next iteration's).
  unsigned role;
  /// The loop and the number of its iter_arg, for a value that a loop carries
  /// (its region argument or its result).
  mlir::scf::ForOp loop;
  unsigned index = 0;
};

/// The value that a loop carries and that `value` is a multiple of
/// (`tile.rescale` and `arith.mulf`), if it is one. `steps` gets the
/// multiplications.
mlir::BlockArgument
findCarriedFactor(mlir::Value value,
                  llvm::SmallVectorImpl<mlir::Operation *> *steps = nullptr);

class RolePartition {
public:
  /// Emits an error on the first operation that has no place.
  static mlir::FailureOr<RolePartition> compute(KernelOp kernel);

  llvm::ArrayRef<RoleInfo> getRoles() const { return roles; }

  /// The role of a data operation; none for one that every role repeats.
  std::optional<unsigned> getRole(mlir::Operation *op) const;

  /// Depends on what is in memory.
  bool isData(mlir::Value value) const { return data.contains(value); }

  /// Where a data value comes from.
  ValueOrigin getOrigin(mlir::Value value) const;

  /// Data values that `op` uses, also in its regions, in order.
  llvm::SmallVector<mlir::Value> getDataOperands(mlir::Operation *op) const;

  /// `op` or an operation in its loops belongs to `role`.
  bool touches(mlir::Operation *op, unsigned role) const;

private:
  mlir::LogicalResult run(KernelOp kernel);
  void findData(KernelOp kernel);
  mlir::LogicalResult collectNodes(mlir::Block &block, bool afterMma);
  void findAccumulatorWork(KernelOp kernel);
  void assignRoles();

  llvm::SmallVector<RoleInfo> roles;
  llvm::DenseSet<mlir::Value> data;
  /// Data operations in program order. An scf.if is one of them, with all that
  /// is in it.
  llvm::SetVector<mlir::Operation *> nodes;
  /// Elementwise work that is for the correction role.
  llvm::DenseSet<mlir::Operation *> accumulatorWork;
  bool correctsInLoop = false;
  llvm::DenseMap<mlir::Operation *, unsigned> roleOf;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROLEPARTITION_H
