//===- ProtocolHistory.cpp - what roles have done before a finding ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolHistory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::tile;
using llvm::formatv;

/// The largest number of waits that notes mention.
static constexpr unsigned kMaxWaits = 4;

int ProtocolHistory::append(int last, const ProtocolEvent &event) {
  int count = last == kNone ? 0 : entries[last].count + 1;
  entries.push_back({event.step, last, count, event.position, event.pass()});
  return entries.size() - 1;
}

int ProtocolHistory::find(int last, StepKind kind, unsigned channel,
                          std::optional<int64_t> position) const {
  for (; last != kNone; last = entries[last].previous) {
    const Entry &entry = entries[last];
    if (entry.step->kind == kind && entry.step->channel == channel &&
        (!position || entry.position == *position))
      return last;
  }
  return kNone;
}

int ProtocolHistory::findRelaxed(int last, int after) const {
  int found = kNone;
  for (; last != after && last != kNone; last = entries[last].previous) {
    const Step &step = *entries[last].step;
    const ProtocolChannel &channel = model.channels[step.channel];
    if (step.kind == StepKind::Commit
            ? channel.hasRelaxedCommits
            : step.kind == StepKind::Release && channel.hasRelaxedReleases)
      found = last;
  }
  return found;
}

std::optional<ProtocolHistory::Source>
ProtocolHistory::sourceOf(const Entry &entry, unsigned wanted) const {
  const Step &step = *entry.step;
  if (step.strength != Step::Full)
    return {};
  const ProtocolChannel &channel = model.channels[step.channel];
  if (step.kind == StepKind::Wait && entry.position >= channel.initial &&
      channel.producer != -1)
    return Source{unsigned(channel.producer), StepKind::Commit, entry.position};
  int64_t released = entry.position - channel.stages;
  if (step.kind != StepKind::Acquire || released < 0 ||
      channel.consumers.empty())
    return {};
  unsigned role =
      channel.hasConsumer(wanted) ? wanted : channel.consumers.front();
  return Source{role, StepKind::Release, released};
}

std::string ProtocolHistory::inPass(int64_t pass) {
  return pass < 0 ? "" : formatv(" in pass {0} of its loop", pass + 1).str();
}

std::string ProtocolHistory::describe(const Entry &wait, unsigned role,
                                      const Source &source) const {
  return formatv("@{0}{1} waits for {2} number {3} of channel "
                 "\"{4}\" by @{5}",
                 model.roles[role].name, inPass(wait.pass),
                 source.kind == StepKind::Commit ? "commit" : "release",
                 source.position + 1, model.channels[wait.step->channel].label,
                 model.roles[source.role].name);
}

std::string ProtocolHistory::describeClaim(const Entry &entry,
                                           unsigned role) const {
  const Step &step = *entry.step;
  std::string what =
      step.kind == StepKind::Release
          ? step.completes == Agent::Mma
                ? "the MMAs before it, and stores of its stage, have ended"
                : "stores of its stage have ended"
      : step.completes == Agent::Mma  ? "the MMAs before it have ended"
      : step.completes == Agent::Copy ? "the load of its stage has ended"
                                      : "the role has come so far";
  return formatv("this only says that {0}, not that the access has ended",
                 what);
}

std::optional<std::pair<mlir::Operation *, std::string>>
ProtocolHistory::lastWait(int last, unsigned role) const {
  for (; last != kNone; last = entries[last].previous) {
    const Entry &entry = entries[last];
    if (entry.step->kind != StepKind::Wait &&
        entry.step->kind != StepKind::Acquire)
      continue;
    if (std::optional<Source> source = sourceOf(entry, role))
      return std::pair(entry.step->op, describe(entry, role, *source));
  }
  return std::nullopt;
}

ProtocolHistory::Notes
ProtocolHistory::explain(llvm::ArrayRef<int> ends, unsigned role,
                         unsigned oldRole, int old,
                         llvm::function_ref<bool(unsigned)> about) const {
  Notes notes;
  int from = ends[role];
  mlir::Operation *at = from == kNone ? nullptr : opOf(from);
  while (notes.size() < kMaxWaits) {
    std::optional<Source> source;
    for (; from != kNone; from = entries[from].previous) {
      const Entry &entry = entries[from];
      bool mayWait = entry.step->kind == StepKind::Wait ||
                     entry.step->kind == StepKind::Acquire;
      source = mayWait ? sourceOf(entry, oldRole) : std::nullopt;
      if (source && (source->role == oldRole || about(entry.step->channel)))
        break;
      source.reset();
    }
    if (!source) {
      if (at)
        notes.push_back(
            {at, formatv("before that, @{0} waits for nothing in this memory, "
                         "and not for @{1}",
                         model.roles[role].name, model.roles[oldRole].name)});
      return notes;
    }
    const Entry &wait = entries[from];
    notes.push_back(
        {wait.step->op, "before that, " + describe(wait, role, *source)});
    int signal = find(ends[source->role], source->kind, wait.step->channel,
                      source->position);
    if (signal == kNone)
      return notes;
    role = source->role;
    from = signal;
    at = opOf(signal);
    if (role != oldRole)
      continue;
    bool isBefore = old == kNone || entries[signal].count < entries[old].count;
    notes.push_back({at, isBefore ? formatv("which @{0} does{1}, before the "
                                            "access",
                                            model.roles[role].name,
                                            inPass(entries[signal].pass))
                                        .str()
                                  : describeClaim(entries[signal], role)});
    return notes;
  }
  return notes;
}
