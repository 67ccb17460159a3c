//===- ProtocolCases.cpp - sizes to explore a kernel for ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ProtocolCases.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>
#include <random>
#include <set>

using namespace mlir;
using namespace fa4::tile;

/// Choices of small sizes that are tried; of more, so many are drawn.
static constexpr size_t kMaxChoices = 800;
/// Smaller constants are not numbers of rows that somebody divides a size by.
static constexpr int64_t kMinBlock = 8;
/// Large choices that are run of a kernel with loops in loops.
static constexpr size_t kMaxLargeChoices = 8;
/// Ways through the roles that are followed at most.
static constexpr size_t kMaxRuns = 100000;

//===----------------------------------------------------------------------===//
// Numbers to try
//===----------------------------------------------------------------------===//

static TypedAttr toNumber(Type type, int64_t number) {
  if (isa<FloatType>(type))
    return FloatAttr::get(type, double(number));
  unsigned bits = type.getIntOrFloatBitWidth();
  return IntegerAttr::get(type, APInt(64, number).sextOrTrunc(bits));
}

static void keepPossible(const ProtocolInput &input,
                         std::vector<int64_t> &numbers) {
  llvm::sort(numbers);
  numbers.erase(llvm::unique(numbers), numbers.end());
  llvm::erase_if(numbers, [&](int64_t number) {
    return number > input.last || (number < 0 && !input.isSigned);
  });
}

/// Numbers for which loops make few passes: small ones, and those around
/// multiples of what sizes are divided by.
static std::vector<int64_t> getSmallNumbers(const ProtocolInput &input,
                                            ArrayRef<int64_t> constants,
                                            int64_t maxPasses) {
  std::vector<int64_t> numbers;
  if (input.type.isInteger(1))
    return {0, 1};
  for (int64_t number = -1; number <= maxPasses + 1; ++number)
    numbers.push_back(number);
  for (int64_t constant : constants) {
    int64_t last = constant < kMinBlock ? 1 : maxPasses + 1;
    for (int64_t multiple = 1; multiple <= last; ++multiple)
      for (int64_t offset : {-1, 0, 1})
        if (offset != -1 || multiple <= 2)
          numbers.push_back(multiple * constant + offset);
  }
  keepPossible(input, numbers);
  return numbers;
}

/// Numbers at which a type of 8, 16 or 32 bits ends, and the largest.
static std::vector<int64_t> getCornerNumbers(const ProtocolInput &input) {
  std::vector<int64_t> numbers{input.last, input.last - 1, -1};
  for (int exponent : {7, 8, 15, 16, 24, 28, 29, 31})
    for (int64_t offset : {-1, 0, 1}) {
      numbers.push_back((int64_t(1) << exponent) + offset);
      numbers.push_back(-(int64_t(1) << exponent) + offset);
    }
  keepPossible(input, numbers);
  llvm::erase_if(numbers, [](int64_t number) {
    return number < std::numeric_limits<int32_t>::min();
  });
  return numbers;
}

/// All choices of one number for each input, or so many of them.
static std::vector<ProtocolSizes> chooseSmall(const ProtocolInputs &inputs,
                                              int64_t maxPasses) {
  std::vector<std::vector<int64_t>> numbers;
  size_t count = 1;
  for (const ProtocolInput &input : inputs.getInputs()) {
    numbers.push_back(getSmallNumbers(input, inputs.getConstants(), maxPasses));
    count = std::min(count * numbers.back().size(), size_t(1) << 40);
  }
  // The same ones each time.
  std::minstd_rand random;
  std::vector<ProtocolSizes> choices;
  for (size_t i = 0; i < std::min(count, kMaxChoices); ++i) {
    size_t rest = i;
    ProtocolSizes &choice = choices.emplace_back();
    for (auto [input, ofInput] : llvm::zip(inputs.getInputs(), numbers)) {
      size_t number = count <= kMaxChoices ? rest : random();
      choice.push_back(
          {input, toNumber(input.type, ofInput[number % ofInput.size()])});
      rest /= ofInput.size();
    }
  }
  return choices;
}

/// Corners of one input at a time: the others are at theirs, too, or small.
static std::vector<ProtocolSizes> chooseCorners(const ProtocolInputs &inputs) {
  std::vector<ProtocolSizes> choices;
  for (const ProtocolInput &input : inputs.getInputs()) {
    if (!input.type.isInteger() || input.type.isInteger(1))
      continue;
    for (int64_t number : getCornerNumbers(input))
      for (int64_t elsewhere : {number, int64_t(1), int64_t(0)}) {
        ProtocolSizes &choice = choices.emplace_back();
        for (const ProtocolInput &other : inputs.getInputs()) {
          int64_t least =
              other.isSigned ? elsewhere : std::max<int64_t>(elsewhere, 0);
          choice.push_back(
              {other, toNumber(other.type, other.name == input.name
                                               ? number
                                               : std::min(least, other.last))});
        }
      }
  }
  return choices;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

std::vector<RoleOfCta> fa4::tile::listRolesOfCtas(const ProtocolModel &model) {
  std::vector<RoleOfCta> result;
  unsigned ctas = KernelOp(model.kernel).getClusterSize();
  for (auto [number, role] : llvm::enumerate(model.roles))
    for (unsigned rank = 0; rank < (RoleOp(role.op).getLeader() ? 1 : ctas);
         ++rank)
      result.push_back({unsigned(number), rank});
  return result;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

namespace {

/// Runs one role after the other. Where an answer rests on a value of which
/// nothing is known, several are tried.
class CaseFinder {
public:
  CaseFinder(const ProtocolModel &model, ProtocolInputs &inputs,
             int64_t maxPasses, int64_t maxOuterPasses, size_t maxCases)
      : model(model), inputs(inputs), maxPasses(maxPasses),
        maxOuterPasses(maxOuterPasses), maxCases(maxCases),
        roles(listRolesOfCtas(model)) {
    current.traces.resize(roles.size());
    current.passes.resize(model.loops.size());
  }
  bool run(bool corners, ProtocolChoices &choices);
  ProtocolCases take();

private:
  bool isFull() const { return cases.size() > maxCases || runs > kMaxRuns; }
  void tryChoice(const ProtocolSizes &choice);
  std::vector<int64_t> getPattern();
  void follow(unsigned number, RoleCursor cursor);
  void tryAll(unsigned number, const RoleCursor &cursor, ProtocolInput input);
  void record();

  const ProtocolModel &model;
  ProtocolInputs &inputs;
  int64_t maxPasses, maxOuterPasses;
  size_t maxCases;
  std::vector<RoleOfCta> roles;
  size_t runs = 0;
  /// A loop makes more passes than are explored.
  bool isLarge = false;
  ProtocolCase current;
  std::vector<bool> answers;
  std::set<std::vector<bool>> seen;
  std::set<std::vector<int64_t>> patterns;
  std::vector<ProtocolCase> cases;
  std::vector<ProtocolSizes> large;
};

} // namespace

void CaseFinder::tryAll(unsigned number, const RoleCursor &cursor,
                        ProtocolInput input) {
  std::vector<size_t> events;
  for (const ProtocolTrace &trace : current.traces)
    events.push_back(trace.size());
  auto passes = current.passes;
  size_t answerCount = answers.size();
  for (int64_t value :
       getSmallNumbers(input, {}, std::max(maxPasses, maxOuterPasses))) {
    inputs.set(input, toNumber(input.type, value));
    follow(number, cursor);
    for (auto [trace, size] : llvm::zip(current.traces, events))
      trace.erase(trace.begin() + size, trace.end());
    current.passes = passes;
    answers.resize(answerCount);
  }
  inputs.erase(input);
}

/// Follows the role with this number among those of all CTAs, and all behind
/// it.
void CaseFinder::follow(unsigned number, RoleCursor cursor) {
  inputs.setRank(roles[number].rank);
  while (!isFull()) {
    if (cursor.fetch()) {
      current.traces[number].push_back(cursor.event());
      cursor.pop();
      continue;
    }
    if (cursor.isAtEnd()) {
      if (++number == roles.size())
        return record();
      cursor = RoleCursor(model, roles[number].role);
      inputs.setRank(roles[number].rank);
      continue;
    }
    const ProtocolQuestion &question = cursor.question();
    bool isLoop = question.kind == ProtocolQuestion::AnotherPass;
    std::optional<bool> yes = inputs.answer(cursor);
    if (!yes && inputs.missing())
      return tryAll(number, cursor, *inputs.missing());
    // The kernel is not defined for these sizes.
    if (!yes)
      return;
    int64_t limit = isLoop && model.loops[question.number].inside
                        ? maxOuterPasses
                        : maxPasses;
    if (isLoop && *yes && question.pass == limit) {
      isLarge = true;
      return;
    }
    if (isLoop && !*yes && roles[number].rank == 0)
      current.passes[question.number].push_back(question.pass);
    answers.push_back(*yes);
    cursor.answer(*yes);
  }
}

void CaseFinder::record() {
  ++runs;
  if (!seen.insert(answers).second)
    return;
  current.sizes = inputs.describe();
  cases.push_back(current);
  patterns.insert(getPattern());
}

/// How numbers of passes differ from the largest, of loops that are in no
/// other, and which conditions hold outside of loops.
std::vector<int64_t> CaseFinder::getPattern() {
  inputs.setRank(0);
  std::vector<int64_t> pattern;
  for (auto [i, loop] : llvm::enumerate(model.loops))
    if (loop.parents.empty())
      pattern.push_back(
          inputs.countPasses(i, RoleCursor(model, loop.role)).value_or(-1));
  int64_t most = pattern.empty() ? 0 : *llvm::max_element(pattern);
  for (int64_t &passes : pattern)
    passes -= most;
  for (auto [i, condition] : llvm::enumerate(model.conditions))
    if (condition.parents.empty())
      pattern.push_back(
          inputs.holds(i, RoleCursor(model, condition.role)).value_or(false));
  return pattern;
}

void CaseFinder::tryChoice(const ProtocolSizes &choice) {
  inputs.clear();
  for (const auto &[input, number] : choice)
    inputs.set(input, number);
  for (ProtocolTrace &trace : current.traces)
    trace.clear();
  for (auto &passes : current.passes)
    passes.clear();
  answers.clear();
  isLarge = false;
  ++runs;
  follow(0, RoleCursor(model, 0));
}

bool CaseFinder::run(bool corners, ProtocolChoices &choices) {
  if (model.roles.empty())
    return true;
  bool isKnown = !choices.small.empty() && choices.maxPasses == maxPasses &&
                 choices.maxOuterPasses == maxOuterPasses;
  std::vector<ProtocolSizes> ofUse;
  for (const ProtocolSizes &choice :
       isKnown ? choices.small : chooseSmall(inputs, maxPasses)) {
    size_t count = cases.size();
    tryChoice(choice);
    if (cases.size() > count)
      ofUse.push_back(choice);
  }
  if (choices.small.empty())
    choices = {maxPasses, maxOuterPasses, std::move(ofUse)};
  bool isNested = llvm::any_of(
      model.loops, [](const ProtocolLoop &loop) { return loop.inside > 0; });
  if (!corners)
    return !isFull();
  for (const ProtocolSizes &choice : chooseCorners(inputs)) {
    tryChoice(choice);
    // The numbers of passes of loops in loops differ from pass to pass.
    bool mayDiffer = isNested && large.size() < kMaxLargeChoices;
    if (isLarge && (patterns.insert(getPattern()).second || mayDiffer))
      large.push_back(choice);
  }
  return !isFull();
}

int64_t ProtocolCase::total() const {
  int64_t sum = 0;
  for (const auto &ofLoop : passes)
    sum = std::accumulate(ofLoop.begin(), ofLoop.end(), sum);
  return sum;
}

ProtocolCases CaseFinder::take() {
  llvm::sort(cases, [&](const ProtocolCase &a, const ProtocolCase &b) {
    return std::pair(a.total(), a.passes) < std::pair(b.total(), b.passes);
  });
  return {std::move(cases), std::move(large)};
}

std::optional<ProtocolCases>
fa4::tile::findProtocolCases(const ProtocolModel &model, ProtocolInputs &inputs,
                             int64_t maxPasses, int64_t maxOuterPasses,
                             size_t maxCases, bool corners,
                             ProtocolChoices *choices) {
  CaseFinder finder(model, inputs, maxPasses, maxOuterPasses, maxCases);
  ProtocolChoices unused;
  if (!finder.run(corners, choices ? *choices : unused))
    return std::nullopt;
  return finder.take();
}
