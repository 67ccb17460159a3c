//===- ProtocolSteps.h - the steps of a role ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three classes build the steps of a role from its operations. RoleSteps goes
// through blocks, loops and branches. ChannelSteps makes the steps of
// operations on channels and of asynchronous operations. LaneSteps adds the
// accesses that lanes make where they use a value.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLSTEPS_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLSTEPS_H

#include "ProtocolChannels.h"
#include "ProtocolNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa4::tile {

using Steps = std::vector<Step>;

/// The role whose steps are built, and what is known of its values.
struct StepContext {
  ProtocolModel &model;
  ProtocolNumbers &numbers;
  const ProtocolChannels &channels;
  unsigned roleNumber;
  ProtocolRole &role = model.roles[roleNumber];
  /// The variables of values that may be in a stage.
  llvm::DenseMap<mlir::Value, unsigned> variables{};

  /// Returns the variable of a value, or 0 for a value that is in no stage.
  unsigned variableOf(mlir::Value value) const {
    return variables.lookup(value);
  }
  unsigned newVariable(mlir::Value value) {
    return variables[value] = role.variables++;
  }
  mlir::FailureOr<unsigned> addCondition(mlir::Value condition,
                                         mlir::Operation *op) {
    return numbers.addCondition(condition, op, roleNumber);
  }
};

/// The reads of a role of lanes. Lanes read a stage where they use the value of
/// its wait.
class LaneSteps {
public:
  explicit LaneSteps(StepContext &context) : context(context) {}

  /// Adds reads of the operation's operands that are in stages.
  void addReads(mlir::Operation &op, Steps &steps);
  /// Records that lanes will read the value of a wait.
  void expectRead(WaitOp wait);
  /// Adds the reads of waited values that must have happened before `op`. An
  /// operation on a channel may free the buffer, so lanes read the value before
  /// it, even if the arithmetic on the value comes later in the program.
  void readBefore(mlir::Operation &op, Steps &steps);
  mlir::LogicalResult addRead(ReadOp read, Steps &steps);
  /// Adds the reads of a selection: lanes need only the value that they select.
  mlir::LogicalResult addSelection(mlir::arith::SelectOp select, Steps &steps);
  /// Returns the reads that stand in front of a branch but only matter in this
  /// region of it.
  Steps takeReadsOf(mlir::Region &region) { return readsOf.lookup(&region); }

private:
  mlir::LogicalResult addGuarded(mlir::Value condition, bool isTaken,
                                 Step access, Steps &steps);

  StepContext &context;
  /// For each buffer, the waits whose values are not read yet.
  llvm::DenseMap<unsigned, llvm::SmallVector<WaitOp>> waited;
  llvm::DenseMap<mlir::Region *, Steps> readsOf;
};

/// The steps of operations on channels, and of asynchronous operations.
class ChannelSteps {
public:
  ChannelSteps(StepContext &context, LaneSteps &lanes)
      : context(context), lanes(lanes) {}

  /// Adds the steps of an operation on a channel. A step on a stage that is
  /// exchanged acts on the part that is sent and on the part that is kept: the
  /// two are written and handed over together.
  mlir::LogicalResult addChannelOperation(mlir::Operation &op, Steps &steps);
  /// Adds the access of an operation that a role issues.
  mlir::LogicalResult addAsynchronous(mlir::Operation &op, Steps &steps);
  /// Adds the steps of an exchange: the copy to the other CTA, the wait for the
  /// tile that comes from there, and the write of the result.
  mlir::LogicalResult addExchange(ExchangeOp op, Steps &steps);

private:
  void addWait(WaitOp op, Steps &steps);
  mlir::LogicalResult addCommit(CommitOp op, Steps &steps);
  mlir::LogicalResult addForTile(mlir::Operation &op, Steps &steps);
  void addWithKept(Step step, Steps &steps);
  mlir::LogicalResult addMma(MmaOp op, Step &step);
  /// Returns the channel to which the result of an asynchronous operation is
  /// committed.
  mlir::FailureOr<int> findTarget(mlir::Operation *op);
  mlir::LogicalResult needStage(mlir::Operation &op, mlir::Value operand,
                                Step &step);

  StepContext &context;
  LaneSteps &lanes;
  /// Maps the variable of a stage that is sent to the variable of the stage
  /// that is kept.
  std::map<unsigned, unsigned> keptWith;
};

/// The whole program of a role.
class RoleSteps {
public:
  /// The model has its channels.
  RoleSteps(ProtocolModel &model, ProtocolNumbers &numbers,
            const ProtocolChannels &channels, unsigned role)
      : context{model, numbers, channels, role} {}

  /// Fills in the body of the role. Emits an error on an operation that the
  /// model cannot express.
  mlir::LogicalResult build();

private:
  mlir::LogicalResult addBlock(mlir::Block &block, Steps &steps);
  mlir::LogicalResult addOperation(mlir::Operation &op, Steps &steps);
  mlir::LogicalResult addOfLanes(mlir::Operation &op, Steps &steps);
  mlir::LogicalResult addAwait(AwaitOp op, Steps &steps);
  mlir::LogicalResult addIssued(mlir::Operation &op, Steps &steps);
  mlir::LogicalResult addLoop(mlir::scf::ForOp loop, Steps &steps);
  mlir::LogicalResult addWork(WorkOp work, Steps &steps);
  mlir::LogicalResult addRegion(mlir::scf::IfOp branch, mlir::Region &region,
                                Steps &steps);
  mlir::LogicalResult addIf(mlir::scf::IfOp branch, Steps &steps);

  StepContext context;
  LaneSteps lanes{context};
  ChannelSteps onChannels{context, lanes};
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLSTEPS_H
