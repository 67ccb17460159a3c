//===- RoleCursor.h - running a role of the protocol ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cursor runs through the steps of one role of a ProtocolModel and turns them
// into events: operations on channels and accesses to stages, each with the
// position of its value. The caller decides when an event happens, and answers
// the questions that the model leaves open: whether a loop makes another pass,
// and whether a condition holds.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_ROLECURSOR_H
#define FA4_DIALECT_TILE_PROTOCOL_ROLECURSOR_H

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"

namespace fa4::tile {

/// The value in a stage: number `position` of its channel.
struct StageUse {
  int channel = -1;
  int64_t position = 0;
  bool operator==(const StageUse &other) const {
    return channel == other.channel && position == other.position;
  }
};

/// One event of a role. Values of a channel have positions from 0 on; the
/// `initial` values come first.
struct ProtocolEvent {
  StepKind kind = StepKind::Access;
  const Step *step = nullptr;
  /// For Acquire, Commit, Wait and Release.
  unsigned channel = 0;
  int64_t position = 0;
  llvm::SmallVector<StageUse, 3> reads;
  std::optional<StageUse> write;
  /// True if the event reads an accumulator that nobody has written.
  bool readsNothing = false;
  /// The passes of the enclosing loops, outermost first.
  llvm::SmallVector<int64_t, 1> iteration;

  /// Returns the pass of the innermost loop, or -1 outside of loops.
  int64_t pass() const { return iteration.empty() ? -1 : iteration.back(); }
};

/// A question that must be answered before a role can go on.
struct ProtocolQuestion {
  enum Kind { None, AnotherPass, Condition } kind = None;
  /// The number of the loop or of the condition.
  unsigned number = 0;
  /// For AnotherPass: the passes so far. For Condition: the pass of its loop.
  int64_t pass = 0;
};

/// The place at which a role stands in its program. Copyable, so that a run can
/// be continued in several ways.
class RoleCursor {
public:
  RoleCursor(const ProtocolModel &model, unsigned role);

  /// Fetches the next event unless one is fetched already. Returns false at the
  /// end of the role, or if `question` has to be answered first.
  bool fetch();
  const ProtocolEvent &event() const { return next; }
  /// Marks the fetched event as done.
  void pop() { isFetched = false; }

  bool isAtEnd() const { return !isFetched && stack.empty(); }
  const ProtocolQuestion &question() const { return asked; }
  void answer(bool yes);

  /// Returns the number of passes of a loop that were begun, or -1 if the role
  /// has not reached the loop.
  int64_t passes(unsigned loop) const { return loopPasses[loop]; }
  /// Returns true if the loop's last pass, within the present passes of the
  /// loops around it, is over.
  bool isLeft(unsigned loop) const { return loopLeft[loop]; }
  /// Returns true between the entry of the loop and its end.
  bool isIn(unsigned loop) const {
    return loopPasses[loop] >= 0 && !loopLeft[loop];
  }
  /// Returns a number that grows with each answer about a loop. As long as this
  /// number stays the same, so do `passes`, `isLeft` and `isIn` of a role that
  /// has fetched an event.
  uint64_t loopAnswers() const { return answersOfLoops; }
  /// Returns the present passes of these loops, numbered as in an Unknown.
  llvm::SmallVector<int64_t, 2> instance(llvm::ArrayRef<unsigned> loops) const;

  int64_t acquired(unsigned channel) const { return counts[channel][0]; }
  int64_t committed(unsigned channel) const { return counts[channel][1]; }
  int64_t waited(unsigned channel) const { return counts[channel][2]; }
  int64_t released(unsigned channel) const { return counts[channel][3]; }

  llvm::ArrayRef<StageUse> variables() const { return environment; }
  /// Appends numbers that identify the place in the program.
  void appendPlace(llvm::SmallVectorImpl<int64_t> &key) const;

private:
  struct Frame {
    const std::vector<Step> *steps;
    unsigned next;
    /// The loop, or null in a branch and at the top level.
    const Step *loop;
  };
  void advance(const Step &step);
  void makeEvent(const Step &step);
  void makeAccess(const Step &step);
  void assign(const Step::Assignments &assignments);

  const ProtocolModel *model;
  llvm::SmallVector<Frame, 4> stack;
  llvm::SmallVector<StageUse> environment;
  llvm::SmallVector<std::array<int64_t, 4>> counts;
  llvm::SmallVector<int64_t> loopPasses;
  llvm::SmallVector<bool> loopLeft;
  uint64_t answersOfLoops = 0;
  ProtocolEvent next;
  bool isFetched = false;
  ProtocolQuestion asked;
  /// The step that asks a question, and the answer.
  const Step *asking = nullptr;
  std::optional<bool> answered;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_ROLECURSOR_H
