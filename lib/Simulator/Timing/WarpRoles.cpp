//===- WarpRoles.cpp - what the warps of a CTA are there for --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Timing/WarpRoles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace fa4::sim;

static unsigned dutiesOf(const WarpTimes &warp) {
  // An epilogue has a reciprocal and a logarithm for each row.
  constexpr double exponentials = 0.03;
  unsigned duties = 0;
  auto has = [&](AsyncWork::Kind kind) { return warp.work[kind] > 0; };
  if (has(AsyncWork::Wgmma) || has(AsyncWork::TensorMma))
    duties |= WarpRole::Mma;
  if (has(AsyncWork::BulkLoad) || has(AsyncWork::CopyAsync))
    duties |= WarpRole::Load;
  if (has(AsyncWork::BulkStore) || has(AsyncWork::BulkReduce))
    duties |= WarpRole::Store;
  double all = 0;
  for (double count : warp.ops)
    all += count;
  if (warp.ops[unsigned(Pipe::Mufu)] > exponentials * all)
    duties |= WarpRole::Softmax;
  else if (has(AsyncWork::TensorStore))
    duties |= WarpRole::Correction;
  else if (warp.ops[unsigned(Pipe::TensorMemory)] > 0)
    duties |= WarpRole::Epilogue;
  return duties;
}

/// True if warps of a warpgroup executed about as many instructions, and waited
/// about as long at each line.
static bool areAlike(const WarpTimes &a, const WarpTimes &b) {
  constexpr double difference = 0.02, mostMoved = 0.1;
  constexpr unsigned warpsPerGroup = 4;
  if (a.cta != b.cta || a.warp / warpsPerGroup != b.warp / warpsPerGroup)
    return false;
  double most = std::max<double>(a.instructions, b.instructions);
  if (std::abs(double(a.instructions) - double(b.instructions)) >
      difference * most)
    return false;
  // The time that one of them spends at lines where the other does not.
  auto moved = [](const WarpTimes &from, const WarpTimes &to) {
    double sum = 0;
    for (auto [line, clocks] : from.waits) {
      auto same = to.waits.find(line);
      sum += std::max(0.0,
                      same == to.waits.end() ? clocks : clocks - same->second);
    }
    return sum / std::max(from.end - from.begin, 1.0);
  };
  return moved(a, b) <= mostMoved && moved(b, a) <= mostMoved;
}

static void addTo(WarpTimes &mean, const WarpTimes &warp, double share) {
  mean.issue += share * warp.issue;
  mean.contention += share * warp.contention;
  mean.scoreboard += share * warp.scoreboard;
  for (unsigned i = 0; i < numPipes; ++i) {
    mean.pipes[i] += share * warp.pipes[i];
    mean.ops[i] += share * warp.ops[i];
  }
  for (auto [sum, count] : llvm::zip(mean.work, warp.work))
    sum += count;
  mean.end = std::max(mean.end, warp.end);
  mean.begin = warp.begin;
  mean.instructions += warp.instructions;
  for (const auto &[line, clocks] : warp.waits)
    mean.waits[line] += share * clocks;
  for (const auto &[line, names] : warp.barriers)
    mean.barriers[line].insert(names.begin(), names.end());
}

std::vector<WarpRole> fa4::sim::findRoles(const TimeResult &time) {
  std::vector<WarpRole> roles;
  for (const WarpTimes &warp : time.warps) {
    auto found = llvm::find_if(roles, [&](const WarpRole &role) {
      return areAlike(*role.warps.front(), warp);
    });
    if (found == roles.end())
      found = roles.insert(roles.end(), WarpRole());
    found->warps.push_back(&warp);
    // One warp of several issues their copies.
    found->duties |= dutiesOf(warp);
  }
  for (WarpRole &role : roles)
    for (const WarpTimes *warp : role.warps)
      addTo(role.mean, *warp, 1.0 / role.warps.size());
  return roles;
}

std::string WarpRole::name() const {
  uint32_t first = warps.front()->warp, last = warps.back()->warp;
  std::string name = first == last
                         ? llvm::formatv("warp {0}", first).str()
                         : llvm::formatv("warps {0}-{1}", first, last).str();
  if (warps.front()->cta)
    name = llvm::formatv("CTA {0} {1}", warps.front()->cta, name).str();
  return name;
}

std::string WarpRole::label() const {
  static constexpr std::pair<Duty, llvm::StringRef> names[] = {
      {Load, "load"},       {Mma, "MMA"},
      {Softmax, "softmax"}, {Correction, "correction"},
      {Store, "store"},     {Epilogue, "epilogue"}};
  llvm::SmallVector<llvm::StringRef> words;
  for (auto [duty, name] : names)
    if (duties & duty)
      words.push_back(name);
  return words.empty() ? "other" : llvm::join(words, " + ");
}

std::vector<RolePair> fa4::sim::matchRoles(const std::vector<WarpRole> &a,
                                           const std::vector<WarpRole> &b) {
  constexpr double leastShared = 0.5;
  std::vector<const WarpRole *> partners(a.size());
  std::vector<bool> taken(b.size());
  // The share of their duties that two roles have in common.
  auto likeness = [](const WarpRole &x, const WarpRole &y) {
    if (x.duties == y.duties)
      return 1.0;
    return double(llvm::popcount(x.duties & y.duties)) /
           llvm::popcount(x.duties | y.duties);
  };
  auto pairUp = [&](double least, bool sameCta) {
    for (auto [role, partner] : llvm::zip_equal(a, partners)) {
      int best = -1;
      for (unsigned i = 0; i < b.size() && !partner; ++i) {
        bool fits = !taken[i] && (!sameCta || b[i].warps.front()->cta ==
                                                  role.warps.front()->cta);
        double like = fits ? likeness(role, b[i]) : 0;
        if (like >= least && (best < 0 || like > likeness(role, b[best])))
          best = i;
      }
      if (best < 0)
        continue;
      partner = &b[best];
      taken[best] = true;
    }
  };
  for (double least : {1.0, leastShared})
    for (bool sameCta : {true, false})
      pairUp(least, sameCta);
  std::vector<RolePair> pairs;
  for (auto [role, partner] : llvm::zip_equal(a, partners))
    pairs.push_back({&role, partner});
  for (auto [role, isTaken] : llvm::zip_equal(b, taken))
    if (!isTaken)
      pairs.push_back({nullptr, &role});
  return pairs;
}
