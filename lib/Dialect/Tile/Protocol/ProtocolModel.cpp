//===- ProtocolModel.cpp - roles as programs of synchronisation ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

Unknown::Unknown(unsigned number, ArrayRef<int64_t> passes) : key(number) {
  assert(passes.size() <= 2 && "deeper unknowns are not made");
  for (auto [i, pass] : llvm::enumerate(passes))
    key |= uint64_t(pass + 1) << (i == 0 ? 42 : 21);
}

SmallVector<int64_t, 2> Unknown::passes() const {
  SmallVector<int64_t, 2> result;
  for (uint64_t pass : {key >> 42, (key >> 21) & kMask})
    if (pass != 0)
      result.push_back(int64_t(pass) - 1);
  return result;
}

LinearForm ProtocolModel::instantiate(const LinearForm &form,
                                      ArrayRef<int64_t> passes) const {
  LinearForm result;
  result.constant = form.constant;
  for (auto [unknown, coefficient] : form.terms) {
    unsigned number = unknown.number();
    result.terms[Unknown(number, passes.take_front(depths[number]))] =
        coefficient;
  }
  return result;
}

void LinearForm::add(const LinearForm &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [unknown, coefficient] : other.terms) {
    int64_t &sum = terms[unknown];
    sum += factor * coefficient;
    if (sum == 0)
      terms.erase(unknown);
  }
}

bool ProtocolCondition::holds(Predicate predicate, int64_t value) {
  switch (predicate) {
  case Equal:
    return value == 0;
  case NotEqual:
    return value != 0;
  case Less:
    return value < 0;
  case LessEqual:
    return value <= 0;
  case Greater:
    return value > 0;
  case GreaterEqual:
    return value >= 0;
  }
  llvm_unreachable("covered");
}

void fa4::tile::forEachStep(ArrayRef<Step> steps,
                            llvm::function_ref<void(const Step &)> visit) {
  for (const Step &step : steps) {
    visit(step);
    forEachStep(step.body, visit);
    forEachStep(step.elseBody, visit);
  }
}

/// Returns true if two parts of an exchanged stage may share memory. The result
/// of an exchange lies where the kept and the received tile were.
static bool mayOverlap(StagePart a, StagePart b) {
  auto isOfResult = [](StagePart part) {
    return part == StagePart::Kept || part == StagePart::Received;
  };
  return a == b || (a == StagePart::Result && isOfResult(b)) ||
         (b == StagePart::Result && isOfResult(a));
}

bool ProtocolModel::overlap(unsigned channel, int64_t stage, unsigned other,
                            int64_t otherStage) const {
  const ProtocolChannel &a = channels[channel], &b = channels[other];
  if (a.inTensorMemory != b.inTensorMemory || a.rank != b.rank)
    return false;
  if (a.exchange != -1 && a.exchange == b.exchange &&
      !mayOverlap(a.part, b.part))
    return false;
  if (llvm::is_contained(a.after, other) ||
      llvm::is_contained(b.after, channel))
    return true;
  int64_t beginA = a.offset + stage * a.size;
  int64_t beginB = b.offset + otherStage * b.size;
  return beginA < beginB + b.size && beginB < beginA + a.size;
}
