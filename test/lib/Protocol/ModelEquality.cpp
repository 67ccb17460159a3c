//===- ModelEquality.cpp - whether two models say the same ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ModelEquality.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

bool isSame(const LinearForm &a, const LinearForm &b) {
  return a.terms == b.terms && a.constant == b.constant;
}

bool isSame(const ProtocolCondition &a, const ProtocolCondition &b) {
  return a.predicate == b.predicate && isSame(a.form, b.form) &&
         a.slope == b.slope && a.loop == b.loop && a.role == b.role &&
         a.parents == b.parents;
}

bool isSame(const ProtocolLoop &a, const ProtocolLoop &b) {
  return a.role == b.role && isSame(a.trips, b.trips) &&
         a.atLeast == b.atLeast && a.parents == b.parents &&
         a.inside == b.inside && a.firstPass == b.firstPass;
}

bool isSame(const ProtocolChannel &a, const ProtocolChannel &b) {
  return a.label == b.label && a.stages == b.stages && a.initial == b.initial &&
         a.inTensorMemory == b.inTensorMemory && a.offset == b.offset &&
         a.size == b.size && a.producer == b.producer &&
         a.consumers == b.consumers;
}

bool isSame(const std::pair<const unsigned, LinearForm> &a,
            const std::pair<const unsigned, LinearForm> &b) {
  return a.first == b.first && isSame(a.second, b.second);
}

bool isSame(const ProtocolRole &a, const ProtocolRole &b);

template <typename T> bool areSame(const T &a, const T &b) {
  return a.size() == b.size() &&
         llvm::all_of(llvm::zip_equal(a, b), [](auto pair) {
           return isSame(std::get<0>(pair), std::get<1>(pair));
         });
}

/// Compares the programs of a role in two models. Variables are matched when
/// they are first met.
class StepComparison {
public:
  bool compare(ArrayRef<Step> a, ArrayRef<Step> b) {
    auto first = withoutDropped(a), second = withoutDropped(b);
    return first.size() == second.size() &&
           llvm::all_of(llvm::zip_equal(first, second), [&](auto pair) {
             return compare(*std::get<0>(pair), *std::get<1>(pair));
           });
  }

private:
  static SmallVector<const Step *> withoutDropped(ArrayRef<Step> steps) {
    SmallVector<const Step *> result;
    for (const Step &step : steps)
      if (step.strength != Step::Dropped || step.result != -1)
        result.push_back(&step);
    return result;
  }

  /// Variable 0 stands for values in no stage, a negative number for no
  /// variable.
  bool match(int a, int b) {
    if (a <= 0 || b <= 0)
      return a == b;
    auto [to, isNew] = forward.try_emplace(a, b);
    auto [from, isNewBack] = backward.try_emplace(b, a);
    return to->second == b && from->second == a;
  }
  bool match(const Step::Assignments &a, const Step::Assignments &b) {
    return a.size() == b.size() &&
           llvm::all_of(llvm::zip_equal(a, b), [&](auto pair) {
             auto [x, y] = pair;
             return match(x.first, y.first) && match(x.second, y.second);
           });
  }

  bool compare(const Step &a, const Step &b) {
    return a.kind == b.kind && a.channel == b.channel &&
           match(a.result, b.result) && a.agent == b.agent &&
           a.reads.size() == b.reads.size() &&
           llvm::all_of(llvm::zip_equal(a.reads, b.reads),
                        [&](auto pair) {
                          return match(std::get<0>(pair), std::get<1>(pair));
                        }) &&
           a.readsLast == b.readsLast && match(a.accumulator, b.accumulator) &&
           a.accumulate == b.accumulate && a.writes == b.writes &&
           a.completes == b.completes && a.strength == b.strength &&
           a.number == b.number && match(a.assignments, b.assignments) &&
           compare(a.body, b.body) && compare(a.elseBody, b.elseBody) &&
           match(a.back, b.back);
  }

  std::map<int, int> forward, backward;
};

bool isSame(const ProtocolRole &a, const ProtocolRole &b) {
  return a.name == b.name && a.oneThread == b.oneThread &&
         StepComparison().compare(a.body, b.body);
}

} // namespace

bool fa4::tile::areEqual(const ProtocolModel &a, const ProtocolModel &b) {
  return areSame(a.roles, b.roles) && areSame(a.channels, b.channels) &&
         areSame(a.loops, b.loops) && areSame(a.conditions, b.conditions) &&
         a.depths == b.depths && areSame(a.clamped, b.clamped);
}
