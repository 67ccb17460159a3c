//===- AccessChecks.cpp - accesses to the stages of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AccessChecks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::proof;
using llvm::formatv;

static int64_t stageOf(const ProtocolModel &model, StageUse use) {
  return use.position % model.channels[use.channel].stages;
}

/// Reports an operation that writes its result over one of its operands. An
/// accumulator may be overwritten: it follows the operands in `reads` and is
/// not checked.
void AccessChecks::checkOperands(const Machine &machine, unsigned role,
                                 const ProtocolEvent &event) {
  for (unsigned i = 0; event.write && i < event.step->reads.size(); ++i)
    if (model.overlap(event.reads[i].channel, stageOf(model, event.reads[i]),
                      event.write->channel, stageOf(model, *event.write)))
      return findings.report(
          machine, event.step->op,
          formatv("channel \"{0}\": {1} overwrites an operand of the operation "
                  "itself (channel \"{2}\")",
                  findings.label(event.write->channel), findings.roleName(role),
                  findings.label(event.reads[i].channel)));
}

/// Returns the record of an access. The caller sets the agent and the time.
static Record recordOf(const Machine &machine, unsigned role,
                       const ProtocolEvent &event) {
  Record record;
  record.role = role;
  record.op = event.step->op;
  record.pass = event.pass();
  record.entry = machine.history[role];
  return record;
}

void AccessChecks::access(Machine &machine, unsigned role,
                          const ProtocolEvent &event) {
  if (event.readsNothing)
    return reportReadOfNothing(machine, role, event);
  checkOperands(machine, role, event);
  if (findings.any())
    return;
  Record record = recordOf(machine, role, event);
  Clock &clock = accessClock;
  clock = machine.lanes[role];
  int32_t time = ++machine.lanes[role][role];
  auto accessAll = [&](auto tick) {
    for (StageUse use : event.reads) {
      tick(use);
      read(machine, record, clock, use);
      if (findings.any())
        return;
    }
    if (event.write) {
      tick(*event.write);
      write(machine, record, clock, *event.write);
    }
  };
  switch (event.step->agent) {
  case Agent::Lanes:
    return accessAll([&](StageUse use) {
      bool inTensorMemory = model.channels[use.channel].inTensorMemory;
      record.agent =
          inTensorMemory ? layout.tensorAgent(role) : layout.threadsAgent(role);
      record.time = time;
      if (inTensorMemory)
        machine.lanes[role][record.agent] = time;
      // One thread makes its accesses to shared memory in order, so each access
      // comes after all earlier ones.
      if (!inTensorMemory && model.roles[role].oneThread)
        clock[record.agent] = machine.lanes[role][record.agent] = time;
    });
  case Agent::Mma:
    join(machine.mmas[role], clock);
    record.time = ++machine.mmas[role][layout.mmaAgent(role, true)];
    machine.mmas[role][layout.mmaAgent(role, false)] = record.time;
    clock = machine.mmas[role];
    return accessAll([&](StageUse use) {
      record.agent =
          layout.mmaAgent(role, model.channels[use.channel].inTensorMemory);
    });
  case Agent::Copy:
    return accessAll([&](StageUse use) {
      // A copy from one stage to another has ended its read when it has
      // written.
      if (event.write)
        use = *event.write;
      unsigned slot = layout.slotOf(use.channel, use.position);
      record.agent = layout.copyAgent(slot);
      record.time = ++machine.copies[slot];
    });
  }
}

bool AccessChecks::knows(const Clock &clock, const Record &by, unsigned slot,
                         const Record &record, unsigned recordSlot) const {
  if (record.agent == -1 || clock[record.agent] >= record.time)
    return true;
  // A lane accesses the same bytes of a stage each time, so its own accesses do
  // not conflict.
  return by.agent == record.agent && by.agent == layout.threadsAgent(by.role) &&
         slot == recordSlot;
}

void AccessChecks::read(Machine &machine, const Record &record,
                        const Clock &clock, StageUse use) {
  const ProtocolChannel &channel = model.channels[use.channel];
  const ChannelState &state = machine.channels[use.channel];
  unsigned slotNumber = layout.slotOf(use.channel, use.position);
  SlotState &slot = machine.slots[slotNumber];
  bool isConsumer =
      channel.hasConsumer(record.role) && channel.producer != int(record.role);
  if (isConsumer &&
      use.position < state.released[consumerIndex(channel, record.role)]) {
    findings.report(
        machine, record.op,
        formatv("channel \"{0}\": a stage is read after its release",
                channel.label));
    return findings.noteStep(machine, record.role, StepKind::Release,
                             use.channel, "released");
  }
  for (unsigned other : layout.overlapping(slotNumber)) {
    const Record &write = machine.slots[other].lastWrite;
    if (knows(clock, record, slotNumber, write, other))
      continue;
    findings.report(machine, record.op,
                    formatv("channel \"{0}\": {1} may read a stage{2} while "
                            "{3} writes it (channel \"{4}\")",
                            channel.label, findings.roleName(record.role),
                            inPass(record.pass), findings.roleName(write.role),
                            findings.label(layout.channelOf(other))));
    findings.note(write.op,
                  "the write" + inPass(write.pass) +
                      ", which nothing orders before the read: " +
                      findings.describeMissing(write, record.role, clock));
    return findings.noteOrder(machine, record.role, write, slotNumber, clock);
  }
  if (slot.content != use.position) {
    findings.report(machine, record.op,
                    formatv("channel \"{0}\": {1} reads a value that {2}",
                            channel.label, findings.roleName(record.role),
                            slot.overwriter.op && slot.content == -1
                                ? "has been overwritten"
                                : "is not there: it was not written before"));
    findings.nameChannel(use.channel);
    if (slot.overwriter.op && slot.content == -1)
      findings.note(slot.overwriter.op,
                    "overwritten by " +
                        findings.roleName(slot.overwriter.role) +
                        inPass(slot.overwriter.pass));
    return;
  }
  for (Record &old : slot.reads)
    if (old.agent == record.agent) {
      old = record;
      return;
    }
  slot.reads.push_back(record);
}

void AccessChecks::write(Machine &machine, const Record &record,
                         const Clock &clock, StageUse use) {
  const ProtocolChannel &channel = model.channels[use.channel];
  unsigned slotNumber = layout.slotOf(use.channel, use.position);
  if (layout.isAcquired(use.channel) &&
      machine.channels[use.channel].acquired <= use.position)
    return findings.report(
        machine, record.op,
        formatv("channel \"{0}\": {1} writes a stage that it has not acquired",
                channel.label, findings.roleName(record.role)));
  auto check = [&](const Record &old, unsigned other, StringRef what) {
    if (findings.any() || knows(clock, record, slotNumber, old, other))
      return;
    findings.report(machine, record.op,
                    formatv("channel \"{0}\": {1} may overwrite a stage{2} "
                            "while {3} {4} it (channel \"{5}\")",
                            channel.label, findings.roleName(record.role),
                            inPass(record.pass), findings.roleName(old.role),
                            what, findings.label(layout.channelOf(other))));
    findings.note(old.op,
                  "the access" + inPass(old.pass) +
                      ", which nothing orders before the write: " +
                      findings.describeMissing(old, record.role, clock));
    findings.noteOrder(machine, record.role, old, slotNumber, clock);
  };
  for (unsigned other : layout.overlapping(slotNumber)) {
    SlotState &slot = machine.slots[other];
    // Reads are checked first: a role that has read the value knows that it was
    // written, so an unordered read says more than the write before it.
    for (const Record &old : slot.reads)
      check(old, other, "reads");
    check(slot.lastWrite, other, "writes");
    if (other != slotNumber) {
      slot.content = -1;
      slot.overwriter = record;
    }
  }
  SlotState &slot = machine.slots[slotNumber];
  slot.content = use.position;
  slot.lastWrite = record;
  slot.reads.clear();
}

void AccessChecks::reportReadOfNothing(const Machine &machine, unsigned role,
                                       const ProtocolEvent &event) {
  for (unsigned channel : event.step->readsLast)
    return findings.report(
        machine, event.step->op,
        formatv(
            "channel \"{0}\": {1} reads a stage before it has waited for one",
            findings.label(channel), findings.roleName(role)));
  std::string where;
  if (event.write)
    where = formatv("channel \"{0}\": ", findings.label(event.write->channel));
  findings.report(machine, event.step->op,
                  formatv("{0}{1} reads a value that no one has written", where,
                          findings.roleName(role)));
}
