//===- CauseLog.cpp - the period of a chain of causes ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chain is a text whose letters are places: who did what at which PTX line.
// A letter cuts the text into pieces; those that are equal are the periods of a
// loop. Of all letters, one is wanted whose equal pieces cover most of the text
// with the shortest pieces:
//
//   text         s m t  s m t  s u t  s m t  ...     (s, m, t, u: places)
//   cut at s     [s m t][s m t][s u t][s m t]        3 of 4 are alike
//
// An operation that a loop issues over and over (the steps of a product) counts
// as one letter in the text, so that the loop around it is found.
//
//===----------------------------------------------------------------------===//

#include "CauseLog.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>

using namespace fa4::sim;

namespace {

using Chain = std::vector<const Moment *>;

/// Runs of moments of the same place.
struct Text {
  std::vector<unsigned> letters;
  /// Where each run begins in the chain, and where the last one ends.
  std::vector<size_t> starts;
  unsigned alphabet = 0;
};

/// Runs [first, second) of a text.
using Piece = std::pair<size_t, size_t>;

} // namespace

static std::tuple<unsigned, unsigned, unsigned, unsigned, unsigned>
placeOf(const Moment &moment) {
  // Which warp of a warpgroup is the last to arrive changes from one period to
  // the next.
  constexpr unsigned warpsPerGroup = 4;
  bool isUnit = moment.kind == Moment::Began || moment.kind == Moment::Ended;
  unsigned number = isUnit ? moment.number : moment.number / warpsPerGroup;
  return {moment.kind, moment.cluster, moment.cta, number, moment.line};
}

static Text spell(const Chain &chain) {
  Text text;
  std::map<decltype(placeOf(*chain.front())), unsigned> letters;
  for (auto [i, moment] : llvm::enumerate(chain)) {
    auto [it, isNew] =
        letters.try_emplace(placeOf(*moment), unsigned(letters.size()));
    if (!text.letters.empty() && text.letters.back() == it->second)
      continue;
    text.letters.push_back(it->second);
    text.starts.push_back(i);
  }
  text.starts.push_back(chain.size());
  text.alphabet = letters.size();
  return text;
}

/// The equal pieces of the text that begin with a letter: those that together
/// take the longest.
static std::vector<Piece> equalPieces(const Text &text, const Chain &chain,
                                      llvm::ArrayRef<uint64_t> hashes,
                                      llvm::ArrayRef<uint64_t> powers,
                                      llvm::ArrayRef<size_t> places) {
  struct Group {
    std::vector<Piece> pieces;
    double time = 0;
  };
  llvm::DenseMap<uint64_t, Group> groups;
  std::vector<Piece> best;
  double bestTime = 0;
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    size_t from = places[i], to = places[i + 1];
    // DenseMap reserves the two largest numbers.
    uint64_t hash = (hashes[to] - hashes[from] * powers[to - from]) >> 1;
    Group &group = groups[hash];
    group.pieces.push_back({from, to});
    group.time += chain[text.starts[to]]->at - chain[text.starts[from]]->at;
    if (group.time > bestTime && group.pieces.size() > 1) {
      bestTime = group.time;
      best = group.pieces;
    }
  }
  return best;
}

static double timeOf(const Chain &chain, const Text &text, Piece piece) {
  return chain[text.starts[piece.second]]->at -
         chain[text.starts[piece.first]]->at;
}

/// The piece between the last two occurrences of a letter, where no two pieces
/// are alike: the longest of them, so that it is no loop within another one.
/// Empty if no letter occurs twice.
static std::vector<Piece>
lastRecurrence(const Chain &chain, const Text &text,
               llvm::ArrayRef<std::vector<size_t>> places) {
  std::vector<Piece> longest;
  for (const std::vector<size_t> &letter : places) {
    if (letter.size() < 2)
      continue;
    Piece piece = {letter[letter.size() - 2], letter.back()};
    if (longest.empty() ||
        timeOf(chain, text, piece) > timeOf(chain, text, longest.front()))
      longest = {piece};
  }
  return longest;
}

/// The pieces that are one period each, all alike, in order of time. Empty if
/// nothing repeats itself.
static std::vector<Piece> findPeriods(const Chain &chain, const Text &text) {
  constexpr uint64_t base = 0x9E3779B97F4A7C15ull;
  size_t size = text.letters.size();
  std::vector<uint64_t> hashes(size + 1), powers(size + 1, 1);
  for (size_t i = 0; i < size; ++i) {
    hashes[i + 1] = hashes[i] * base + text.letters[i] + 1;
    powers[i + 1] = powers[i] * base;
  }
  std::vector<std::vector<size_t>> places(text.alphabet);
  for (auto [i, letter] : llvm::enumerate(text.letters))
    places[letter].push_back(i);
  struct Cut {
    std::vector<Piece> pieces;
    double time = 0, mean = 0;
    bool isWake = false;
    double firstStep = 0;
  };
  std::vector<Cut> cuts;
  double most = 0;
  for (const std::vector<size_t> &letter : places) {
    Cut cut;
    cut.pieces = equalPieces(text, chain, hashes, powers, letter);
    if (cut.pieces.empty())
      continue;
    for (Piece piece : cut.pieces)
      cut.time += timeOf(chain, text, piece);
    cut.mean = cut.time / cut.pieces.size();
    size_t begin = text.starts[cut.pieces.front().first];
    cut.isWake = chain[begin]->kind == Moment::Woke;
    cut.firstStep = chain[begin + 1]->at - chain[begin]->at;
    most = std::max(most, cut.time);
    cuts.push_back(std::move(cut));
  }
  // The loop around another one covers a little more than that one.
  constexpr double nearlyAll = 0.6, sameLoop = 1.1;
  llvm::erase_if(cuts,
                 [&](const Cut &cut) { return cut.time < nearlyAll * most; });
  if (cuts.empty())
    return lastRecurrence(chain, text, places);
  double shortest = llvm::min_element(cuts, [](const Cut &a, const Cut &b) {
                      return a.mean < b.mean;
                    })->mean;
  // Any place of the loop would do to begin with. A warp's longest work after a
  // wait is where a reader looks first.
  const Cut *chosen = nullptr;
  for (const Cut &cut : cuts)
    if (cut.mean <= sameLoop * shortest &&
        (!chosen || std::make_pair(cut.isWake, cut.firstStep) >
                        std::make_pair(chosen->isWake, chosen->firstStep)))
      chosen = &cut;
  return chosen->pieces;
}

/// The steps of moments first..last of a chain.
static std::vector<CriticalStep> stepsOf(const Chain &chain, size_t first,
                                         size_t last) {
  std::vector<CriticalStep> steps;
  for (size_t i = first; i < last; ++i) {
    const Moment &from = *chain[i], &to = *chain[i + 1];
    CriticalStep step;
    step.agent = to.agent();
    step.cluster = to.cluster;
    step.cycles = to.at - from.at;
    step.fromLine = from.line;
    step.toLine = to.line;
    switch (to.kind) {
    case Moment::Woke:
      step.kind = CriticalStep::HandOff;
      break;
    case Moment::Signalled:
    case Moment::Issued:
      step.kind = CriticalStep::Warp;
      step.issue = to.parts.issue;
      step.contention = to.parts.contention;
      step.pipe = to.parts.pipe;
      step.scoreboard = to.parts.scoreboard;
      break;
    case Moment::Began:
    case Moment::Ended:
      step.kind = CriticalStep::Unit;
      step.operations = to.kind == Moment::Began && to.isOperation;
      break;
    }
    bool goesOn = !steps.empty() && step.kind == CriticalStep::Unit &&
                  steps.back().kind == CriticalStep::Unit &&
                  steps.back().agent.cta == step.agent.cta &&
                  steps.back().agent.number == step.agent.number;
    // What follows an operation at once (its arrival) is a part of it.
    goesOn |=
        !steps.empty() && step.kind == CriticalStep::Unit && step.cycles == 0;
    if (!goesOn) {
      // An operation's own line, not that of what it waited for.
      if (step.kind == CriticalStep::Unit)
        step.fromLine = to.line;
      steps.push_back(step);
      continue;
    }
    steps.back().cycles += step.cycles;
    steps.back().toLine = step.toLine;
    steps.back().operations += step.operations;
  }
  return steps;
}

CriticalPath CauseLog::findPath(uint64_t last, double start, double end) const {
  // The beginning and the end of a CTA are no loops.
  constexpr double skipFirst = 0.25, skipLast = 0.1;
  constexpr size_t mostMoments = 1 << 15;
  Chain chain;
  double latest = end - skipLast * (end - start);
  double earliest = start + skipFirst * (end - start);
  const Moment *first = nullptr;
  for (const Moment *at = find(last); at && at->at >= earliest;
       at = find(at->cause))
    first = at;
  // Of a long CTA only the end is known.
  if (first && first->at > latest)
    latest = end;
  for (const Moment *at = find(last); at && at->at >= earliest;
       at = find(at->cause)) {
    if (at->at <= latest)
      chain.push_back(at);
    if (chain.size() == mostMoments)
      break;
  }
  std::reverse(chain.begin(), chain.end());
  CriticalPath path;
  if (chain.size() < 3)
    return path;
  Text text = spell(chain);
  double searched = chain.back()->at - chain.front()->at;
  std::vector<std::pair<size_t, size_t>> periods;
  // One operation over and over: each is a period.
  if (text.letters.size() == 1)
    for (size_t i = 0; i + 1 < chain.size(); ++i)
      periods.push_back({i, i + 1});
  else
    for (auto [from, to] : findPeriods(chain, text))
      periods.push_back({text.starts[from], text.starts[to]});
  if (periods.empty())
    return path;
  auto cycles = [&](std::pair<size_t, size_t> period) {
    return chain[period.second]->at - chain[period.first]->at;
  };
  double sum = 0;
  for (const auto &period : periods)
    sum += cycles(period);
  path.alike = periods.size();
  path.mean = sum / periods.size();
  path.share = searched > 0 ? sum / searched : 1;
  // The one of median length stands for all.
  auto middle = periods.begin() + periods.size() / 2;
  std::nth_element(periods.begin(), middle, periods.end(),
                   [&](const auto &a, const auto &b) {
                     return std::make_pair(cycles(a), a) <
                            std::make_pair(cycles(b), b);
                   });
  path.period = cycles(*middle);
  path.begin = chain[middle->first]->at;
  path.steps = stepsOf(chain, middle->first, middle->second);
  return path;
}
