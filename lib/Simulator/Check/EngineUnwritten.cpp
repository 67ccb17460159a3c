//===- EngineUnwritten.cpp - reads of what nobody has written -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A read that comes before any write of its place is one of two faults: nobody
// writes there, or something that should order a write before the read is
// missing, and in this run the reader was faster. To tell them apart, the
// reader's lanes are held (Cluster::holdReader) while all else goes on. The
// first write to the place then names the writer. If nothing can go on without
// the reader, there is none that should have come before.
//
// What nobody has written may still be loaded in vain: threads whose rows do
// not exist load them, and throw away what they compute. So a load into
// registers is a finding where an instruction needs the value: a store to
// global memory, an address, a branch or the guard of an instruction. A store
// to shared memory hands the value on to those who load it from there.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

using namespace fa4::sim;

static constexpr uint32_t wordBytes = 4;

static uint64_t placeKey(const Access &access, uint64_t address) {
  return access.space == tensorSpace ? address : address & ~uint64_t(3);
}

/// Whether a read is a load of a thread, whose registers are followed.
static bool isLoadOfThread(const Access &access) {
  return access.space == MemSpace::Shared && access.proxy == Proxy::Generic &&
         access.kind == AccessKind::Read && access.inst->numResults &&
         access.inst->opcode.starts_with("ld.");
}

void Engine::readUnwritten(const Access &access, uint64_t address) {
  // What is undefined in a row of A is so in this row of D alone, and what is
  // so in a lane concerns one thread: kernels whose tiles have more rows than
  // the problem leave those unwritten.
  llvm::StringRef kind =
      access.ofUnusedRow ? "uninitialised-row" : "uninitialised";
  if (launch.sink.isAllowed(kind.str()))
    return;
  bool isLoad = isLoadOfThread(access);
  if (isLoad)
    markUndefined(access, address);
  if (!isNew(access, kind, nullptr))
    return;
  UnwrittenRead read;
  read.isLoad = isLoad;
  read.stamp = access.stamp;
  read.space = access.space;
  read.rank = access.rank;
  read.place = placeKey(access, address);
  read.report.kind = kind.str();
  read.report.message = "nothing has written what is read";
  if (access.ofUnusedRow) {
    read.report.severity = Severity::Strict;
    read.report.message =
        access.inst->opcode.starts_with("tcgen05.ld")
            ? "nothing has written this lane of tensor memory, so that the "
              "values of one thread are undefined"
            : "nothing has written this row of matrix A, so that its row of D "
              "is undefined";
  }
  read.report.sites.push_back(siteOf(access, address));
  unwritten.push_back(std::move(read));
  cluster.holdReader();
}

/// No reader is held: the writer may be a cluster that starts when this one has
/// ended.
void Engine::noteUndefined(const Access &access, const Allocation &memory,
                           uint64_t offset, uint64_t bytes) {
  bool reads = launch.options.uninitialised &&
               access.kind != AccessKind::Write &&
               !launch.sink.isAllowed("uninitialised");
  for (uint64_t byte = offset; byte < offset + bytes;
       byte = (byte / wordBytes + 1) * wordBytes) {
    if (reads && !memory.isWritten(byte)) {
      reads = false;
      if (!isNew(access, "uninitialised", nullptr))
        continue;
      Report report;
      report.kind = "uninitialised";
      report.message = "'" + memory.name +
                       "' has no contents before the first launch, and no "
                       "launch has written what is read";
      report.sites.push_back(siteOf(access, memory.address + byte));
      launch.sink.add(std::move(report));
    }
    if (access.writes())
      memory.setWritten(byte);
  }
}

/// What the reader lacks that the writer's kind needs.
static std::string missingBeforeRead(const Access &write) {
  if (write.space == tensorSpace && write.proxy == Proxy::Tensor)
    return "tcgen05.commit and a wait on its mbarrier are missing between "
           "them";
  if (write.proxy == Proxy::Async)
    return "a wait for the asynchronous copy is missing before the read";
  return "a barrier, or an mbarrier arrive and wait, is missing between them";
}

void Engine::writeAfterRead(const Access &access, uint64_t address) {
  for (size_t i = 0; i < unwritten.size();) {
    UnwrittenRead &read = unwritten[i];
    bool isSame = read.space == access.space && read.rank == access.rank &&
                  read.place == placeKey(access, address);
    // An operation that reads and writes (an MMA that accumulates) is no writer
    // for itself.
    bool isItself = read.stamp == access.stamp ||
                    (read.stamp.component == access.stamp.component &&
                     read.stamp.step == access.stamp.step);
    if (!isSame || isItself || isOrdered(access, read.stamp)) {
      ++i;
      continue;
    }
    ReportSite writer = siteOf(access, address);
    writer.what = "later " + writer.what;
    read.report.kind = "race";
    read.report.severity = Severity::Error;
    read.report.message =
        "nothing orders the write before the read, which came first in this "
        "run and saw what nobody had written: " +
        missingBeforeRead(access);
    // This is what the write itself would be found for, and a use of the value.
    isNew(access, "race", &read.stamp);
    undefinedLoads.erase(read.stamp.site);
    read.report.sites.push_back(std::move(writer));
    launch.sink.add(std::move(read.report));
    unwritten.erase(unwritten.begin() + i);
  }
  if (unwritten.empty())
    cluster.releaseReaders();
}

void Engine::flush() {
  std::vector<UnwrittenRead> reads = std::move(unwritten);
  unwritten.clear();
  for (UnwrittenRead &read : reads)
    if (!read.isLoad)
      launch.sink.add(std::move(read.report));
}

//===----------------------------------------------------------------------===//
// Registers with what nobody has written
//===----------------------------------------------------------------------===//

void Engine::markUndefined(const Access &access, uint64_t address) {
  uint32_t site = access.stamp.site;
  // One that has raced with a writer, or was used, is known.
  if (!undefinedLoads.count(site)) {
    if (!isNew(access, "undefined-load", nullptr))
      return;
    undefinedLoads[site] = siteOf(access, address);
  }
  const Operand *results =
      &cluster.grid.program->operands[access.inst->firstOperand];
  for (unsigned i = 0; i < access.inst->numResults; ++i)
    markRegister(*access.warp, results[i], access.lane, site);
}

void Engine::markRegister(WarpState &state, const Operand &op, unsigned lane,
                          uint32_t site) {
  if (op.sink || op.bank != 0)
    return;
  auto &values = state.undefined.registers[op.offset];
  values.lanes |= LaneMask(1) << lane;
  values.site = site;
  const_cast<Warp *>(state.warp)->hasUndefined = true;
}

//===----------------------------------------------------------------------===//
// Shared memory with what nobody has written
//===----------------------------------------------------------------------===//

/// A store to shared memory whose registers are followed there.
static bool isFollowedStore(const Inst &inst) {
  return inst.opcode.starts_with("st.shared.") ||
         inst.opcode.starts_with("st.shared::cta.") ||
         inst.opcode.starts_with("stmatrix.");
}

/// Notes what `inst` is about to store; its first operand is the address. Of a
/// matrix, which gathers words of all lanes into rows, only what is undefined
/// as a whole is followed.
void Engine::noteStored(const Warp &warp, const Inst &inst,
                        LaneMask executing) {
  constexpr unsigned rowsOfMatrix = 8;
  UndefinedRegisters &undefined = stateOf(warp).undefined;
  undefined.stored.clear();
  undefined.storedBy = &inst;
  bool isMatrix = inst.opcode.starts_with("stmatrix.");
  const Operand *operands = &cluster.grid.program->operands[inst.firstOperand];
  for (unsigned i = 0; i < inst.numOperands; ++i) {
    UndefinedRegisters::Values values = undefined.get(operands[i]);
    values.lanes &= executing;
    if (!values.lanes)
      continue;
    if (i == 0 || (isMatrix && values.lanes != ~LaneMask(0))) {
      reportUse(warp, inst, values.lanes, values.site);
    } else if (isMatrix) {
      values.lanes = ((LaneMask(1) << rowsOfMatrix) - 1)
                     << rowsOfMatrix * (i - 1);
      undefined.stored.push_back({values, 0, 1});
    } else {
      undefined.stored.push_back({values, i - 1, inst.numOperands - 1u});
    }
  }
}

/// Calls `visit` with the words of a range.
template <typename F>
static void forEachWord(uint32_t address, uint32_t bytes, F visit) {
  for (uint32_t word = address / wordBytes;
       word <= (address + bytes - 1) / wordBytes; ++word)
    visit(word);
}

/// Loads hand on what is in shared memory; other reads of threads need it.
void Engine::loadUndefined(const WarpAccess &event, WarpState &state) {
  const Inst &inst = *event.inst;
  const Operand *results = &cluster.grid.program->operands[inst.firstOperand];
  bool isLoad = inst.opcode.starts_with("ld.") && inst.numResults;
  unsigned elements = isLoad ? inst.numResults : 1;
  uint32_t bytes = event.bytes / elements;
  forEachLane(event.mask, [&](unsigned l) {
    for (unsigned i = 0; i < elements; ++i)
      forEachWord(event.addresses[l] + i * bytes, bytes, [&](uint32_t word) {
        auto undefined = undefinedWords.find(word);
        if (undefined == undefinedWords.end())
          return;
        if (isLoad)
          markRegister(state, results[i], l, undefined->second);
        else
          reportUse(*event.warp, inst, LaneMask(1) << l, undefined->second);
      });
  });
}

void Engine::followUndefined(const WarpAccess &event, WarpState &state) {
  UndefinedRegisters &undefined = state.undefined;
  bool stores = undefined.storedBy == event.inst && !undefined.stored.empty();
  if (undefinedWords.empty() && !stores)
    return;
  if (event.kind != AccessKind::Write)
    loadUndefined(event, state);
  if (event.kind == AccessKind::Read)
    return;
  forEachLane(event.mask, [&](unsigned l) {
    forEachWord(event.addresses[l], event.bytes,
                [&](uint32_t word) { undefinedWords.erase(word); });
  });
  if (!stores)
    return;
  for (const UndefinedRegisters::Stored &stored : undefined.stored)
    forEachLane(event.mask & stored.values.lanes, [&](unsigned l) {
      uint32_t bytes = event.bytes / stored.parts;
      forEachWord(
          event.addresses[l] + stored.part * bytes, bytes,
          [&](uint32_t word) { undefinedWords[word] = stored.values.site; });
    });
  undefined.stored.clear();
}

void Engine::followUndefined(const Access &access, uint32_t address,
                             uint32_t bytes) {
  if (undefinedWords.empty() || bytes == 0)
    return;
  forEachWord(address, bytes, [&](uint32_t word) {
    auto undefined = undefinedWords.find(word);
    if (undefined == undefinedWords.end())
      return;
    if (access.writes())
      undefinedWords.erase(undefined);
    else
      reportUse(*access.warp->warp, *access.inst, LaneMask(1) << access.lane,
                undefined->second);
  });
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

void Engine::reportUse(const Warp &warp, const Inst &inst, LaneMask lanes,
                       uint32_t site) {
  auto load = undefinedLoads.find(site);
  if (load == undefinedLoads.end())
    return;
  flush();
  Report report;
  report.kind = "uninitialised";
  report.message = "nothing has written what is read";
  report.sites.push_back(load->second);
  Actor actor{&inst, const_cast<Warp *>(&warp), int(__builtin_ctz(lanes)),
              noAgent};
  report.sites.push_back(cluster.site(actor, "needs the value"));
  undefinedLoads.erase(load);
  launch.sink.add(std::move(report));
}

void Engine::undefinedRead(const Warp &warp, const Inst &inst,
                           LaneMask executing, LaneMask come) {
  WarpState &state = stateOf(warp);
  auto &registers = state.undefined.registers;
  if (inst.guard != Inst::noGuard) {
    auto guard = registers.lookup(inst.guard);
    if (LaneMask lanes = guard.lanes & come)
      reportUse(warp, inst, lanes, guard.site);
  }
  if (isFollowedStore(inst))
    return noteStored(warp, inst, executing);
  const Operand *operands = &cluster.grid.program->operands[inst.firstOperand];
  UndefinedRegisters::Values sources;
  for (unsigned i = inst.numResults; i < inst.numOperands; ++i) {
    auto values = state.undefined.get(operands[i]);
    if (LaneMask lanes = values.lanes & executing)
      sources = {sources.lanes | lanes, values.site};
  }
  RegisterFlow flow = launch.registerFlow[cluster.grid.program->pcOf(inst)];
  bool isPassedOn =
      flow == RegisterFlow::Moves || flow == RegisterFlow::Computes;
  if (sources.lanes && !isPassedOn) {
    reportUse(warp, inst, sources.lanes, sources.site);
    sources.lanes = 0;
  }
  // Results of these are of all lanes that take part.
  for (const char *shared : {"shfl.", "vote.", "match.", "redux."})
    if (sources.lanes && inst.opcode.starts_with(shared))
      sources.lanes = executing;
  for (unsigned i = 0; i < inst.numResults; ++i) {
    if (operands[i].sink || operands[i].bank != 0)
      continue;
    auto known = registers.find(operands[i].offset);
    LaneMask kept =
        known == registers.end() ? 0 : known->second.lanes & ~executing;
    if (sources.lanes)
      registers[operands[i].offset] = {kept | sources.lanes, sources.site};
    else if (kept)
      known->second.lanes = kept;
    else if (known != registers.end())
      registers.erase(known);
  }
  if (registers.empty())
    const_cast<Warp &>(warp).hasUndefined = false;
}
