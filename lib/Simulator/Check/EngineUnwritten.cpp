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
//===----------------------------------------------------------------------===//

#include "Engine.h"

using namespace fa4::sim;

static uint64_t placeKey(const Access &access, uint64_t address) {
  return access.space == tensorSpace ? address : address & ~uint64_t(3);
}

void Engine::readUnwritten(const Access &access, uint64_t address) {
  // What is undefined in a row of A is so in this row of D alone, and what is
  // so in a lane concerns one thread: kernels whose tiles have more rows than
  // the problem leave those unwritten.
  llvm::StringRef kind =
      access.ofUnusedRow ? "uninitialised-row" : "uninitialised";
  if (!isNew(access, kind, nullptr) || launch.sink.isAllowed(kind.str()))
    return;
  UnwrittenRead read;
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
    // This is what the write itself would be found for.
    isNew(access, "race", &read.stamp);
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
    launch.sink.add(std::move(read.report));
}
