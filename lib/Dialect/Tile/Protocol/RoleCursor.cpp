//===- RoleCursor.cpp - running a role of the protocol ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/RoleCursor.h"

using namespace fa4::tile;

/// While a loop asks for another pass, its frame has no steps left to run.
static const std::vector<Step> kNothing;

RoleCursor::RoleCursor(const ProtocolModel &model, unsigned role)
    : model(&model), environment(model.roles[role].variables),
      counts(model.channels.size(), {0, 0, 0, 0}),
      loopPasses(model.loops.size(), -1), loopLeft(model.loops.size(), false) {
  stack.push_back({&model.roles[role].body, 0, nullptr});
  // The producer counts initial values as acquired and committed.
  for (auto [channel, count] : llvm::zip(model.channels, counts))
    count[0] = count[1] = channel.initial;
}

bool RoleCursor::fetch() {
  asked = {};
  while (!isFetched && !stack.empty()) {
    Frame &frame = stack.back();
    if (frame.next < frame.steps->size()) {
      const Step &step = (*frame.steps)[frame.next];
      advance(step);
    } else if (frame.loop) {
      // The role stands at the entry of the loop or at the end of a pass.
      const Step &loop = *frame.loop;
      if (answered && asking == &loop) {
        bool again = *answered;
        answered.reset();
        ++answersOfLoops;
        if (again) {
          ++loopPasses[loop.number];
          for (unsigned i = 1; i <= model->loops[loop.number].inside; ++i) {
            loopPasses[loop.number + i] = -1;
            loopLeft[loop.number + i] = false;
          }
          frame.steps = &loop.body;
          frame.next = 0;
          continue;
        }
        loopLeft[loop.number] = true;
        stack.pop_back();
        continue;
      }
      asking = &loop;
      asked = {ProtocolQuestion::AnotherPass, loop.number,
               loopPasses[loop.number]};
      if (frame.steps == &loop.body) {
        assign(loop.back);
        // The back edge has been taken: with no steps left in the frame, a
        // repeated fetch asks again but does not assign again.
        frame.steps = &kNothing;
        frame.next = 0;
      }
    } else {
      stack.pop_back();
    }
    if (asked.kind != ProtocolQuestion::None)
      return false;
  }
  return isFetched;
}

llvm::SmallVector<int64_t, 2>
RoleCursor::instance(llvm::ArrayRef<unsigned> loops) const {
  llvm::SmallVector<int64_t, 2> result;
  for (unsigned loop : loops)
    result.push_back(std::max<int64_t>(loopPasses[loop] - 1, 0) +
                     model->loops[loop].firstPass);
  return result;
}

void RoleCursor::answer(bool yes) { answered = yes; }

void RoleCursor::advance(const Step &step) {
  int condition = step.kind == StepKind::If       ? int(step.number)
                  : step.kind == StepKind::Access ? step.accumulate
                                                  : -1;
  if (condition != -1 && !(answered && asking == &step)) {
    int loop = model->conditions[condition].loop;
    asking = &step;
    asked = {ProtocolQuestion::Condition, unsigned(condition),
             loop == -1 ? 0 : loopPasses[loop] - 1};
    return;
  }
  ++stack.back().next;
  switch (step.kind) {
  case StepKind::Copy:
    assign(step.assignments);
    return;
  case StepKind::Loop: {
    assign(step.assignments);
    loopPasses[step.number] = 0;
    loopLeft[step.number] = false;
    stack.push_back({&kNothing, 0, &step});
    return;
  }
  case StepKind::If:
    stack.push_back({*answered ? &step.body : &step.elseBody, 0, nullptr});
    answered.reset();
    return;
  default:
    makeEvent(step);
  }
}

void RoleCursor::assign(const Step::Assignments &assignments) {
  llvm::SmallVector<StageUse> values;
  for (auto [variable, value] : assignments)
    values.push_back(environment[value]);
  for (auto [assignment, value] : llvm::zip(assignments, values))
    environment[assignment.first] = value;
}

void RoleCursor::makeEvent(const Step &step) {
  if (step.strength == Step::Dropped) {
    if (step.result != -1)
      environment[step.result] = {int(step.channel),
                                  counts[step.channel][2] - 1};
    return;
  }
  next = ProtocolEvent();
  next.kind = step.kind;
  next.step = &step;
  isFetched = true;
  for (const Frame &frame : stack)
    if (frame.loop)
      next.iteration.push_back(loopPasses[frame.loop->number] - 1);
  next.channel = step.channel;
  auto &count = counts[step.channel];
  switch (step.kind) {
  case StepKind::Acquire:
    next.position = count[0]++;
    break;
  case StepKind::Commit:
    next.position = count[1]++;
    break;
  case StepKind::Wait:
    next.position = count[2]++;
    if (step.result != -1)
      environment[step.result] = {int(step.channel), next.position};
    break;
  case StepKind::Release:
    next.position = count[3]++;
    break;
  default:
    makeAccess(step);
  }
}

void RoleCursor::makeAccess(const Step &step) {
  auto read = [&](StageUse use) {
    if (use.channel == -1 || use.position < 0)
      next.readsNothing = true;
    else
      next.reads.push_back(use);
  };
  for (unsigned variable : step.reads)
    read(environment[variable]);
  for (unsigned channel : step.readsLast)
    read({int(channel), counts[channel][2] - 1});
  if (step.accumulator != -1 && (step.accumulate == -1 || *answered)) {
    StageUse use = environment[step.accumulator];
    bool isUndefined = use.channel != -1 &&
                       use.position < model->channels[use.channel].undefined;
    read(isUndefined ? StageUse() : use);
  }
  answered.reset();
  if (step.writes == -1)
    return;
  next.write = StageUse{step.writes, counts[step.writes][1]};
  if (step.result != -1)
    environment[step.result] = *next.write;
}

void RoleCursor::appendPlace(llvm::SmallVectorImpl<int64_t> &key) const {
  key.push_back(isFetched ? -1 : -2);
  for (const Frame &frame : stack) {
    key.push_back(reinterpret_cast<intptr_t>(frame.steps));
    key.push_back(frame.next);
  }
}
