//===- SmModel.cpp - the units of a modelled SM ---------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmModel.h"
#include <algorithm>

using namespace fa4::sim;
using P = fa4::TimingParameter;

double SmModel::interval(Pipe pipe) const {
  switch (pipe) {
  case Pipe::Fma:
    return get(P::FmaInterval);
  case Pipe::FmaPair:
    return 2 * get(P::FmaInterval);
  case Pipe::FmaHeavy:
    return get(P::FmaHeavyInterval);
  case Pipe::Alu:
  case Pipe::AluOrFma:
    return get(P::AluInterval);
  case Pipe::Mufu:
    return get(P::MufuInterval);
  case Pipe::Convert:
    return get(P::ConvertInterval);
  case Pipe::Double:
    return get(P::DoubleInterval);
  case Pipe::Uniform:
    return get(P::UniformInterval);
  case Pipe::Lsu:
  case Pipe::TensorMemory:
  case Pipe::Control:
  case Pipe::Tensor:
    return 1;
  }
  return 1;
}

std::vector<std::pair<llvm::StringRef, double>> SmModel::busyTimes() const {
  std::vector<std::pair<llvm::StringRef, double>> times;
  times.push_back({"tensor cores", tensor.busy});
  double issue = 0;
  for (const Part &part : parts)
    issue += part.issue.busy / numParts;
  times.push_back({"issue slots", issue});
  for (unsigned i = 0; i < numPipes; ++i) {
    double busy = 0;
    for (const Part &part : parts)
      busy += part.pipes[i].busy / numParts;
    Pipe pipe = Pipe(i);
    bool isUnit =
        pipe != Pipe::Control && pipe != Pipe::Tensor && pipe != Pipe::Lsu;
    if (isUnit)
      times.push_back({nameOf(pipe), busy});
  }
  times.push_back({"LSU", lsu.busy});
  times.push_back({"shared memory", shared.busy});
  times.push_back({"bulk loads", bulk.busy});
  times.push_back({"bulk stores", bulkStore.busy});
  return times;
}

double SmModel::takeShared(double at, double bytes, bool isRead) {
  double interval = bytes / chip.chip->smemBytesPerClock;
  taken += interval * get(P::SharedContention);
  shared.busy += interval;
  if (isRead && at < tensor.free)
    interval = bytes / get(P::SharedUnderWgmma);
  shared.busy -= interval;
  return shared.take(at, interval) + interval;
}

void SmModel::noteCopy(double bytes) {
  double interval = bytes / chip.chip->smemBytesPerClock;
  taken += interval * get(P::SharedContention);
  shared.busy += interval;
}

double SmModel::productInterval(double interval, double bytes) {
  /// Products that waited for long do not leave more than that.
  constexpr double mostLeft = 512;
  double fetch = bytes / chip.chip->smemBytesPerClock;
  interval = std::max(interval, fetch);
  shared.busy += fetch;
  left = std::min(left + interval - fetch, mostLeft) - taken;
  taken = 0;
  if (left >= 0)
    return interval;
  interval -= left;
  left = 0;
  return interval;
}

double SmModel::loadLatency(uint64_t address, bool mayCache) {
  uint64_t line = address / lineBytes;
  bool isFirst = chip.touched.insert(line).second;
  if (mayCache && !cached.insert(line).second)
    return get(P::L1Latency);
  return isFirst ? get(P::DramLatency) : get(P::L2Latency);
}

void SmModel::touch(const AsyncWork &work) {
  for (const AccessRange &range : work.global)
    for (uint32_t row = 0; row < range.rows; ++row) {
      uint64_t first = range.address + row * range.stride;
      for (uint64_t line = first / lineBytes;
           line * lineBytes < first + range.bytes; ++line)
        chip.touched.insert(line);
    }
}

AsyncTimes SmModel::bulkLoad(double at, const AsyncWork &work) {
  touch(work);
  double rate = std::min(get(P::BulkRate), chip.l2Share());
  double transfer = work.bytes / rate;
  double begin = bulk.take(at, std::max(get(P::BulkIssue), transfer));
  noteCopy(work.bytes);
  // What no other CTA has brought into L2 comes from DRAM. Which loads those
  // are, a run of one CTA cannot tell: each pays its share.
  double miss =
      work.global.empty()
          ? 0
          : get(P::MissShare) * (get(P::DramLatency) - get(P::L2Latency));
  double end = begin + get(P::BulkLatency) + transfer + miss;
  return {begin, end, end, &bulk, nullptr, begin > at};
}

AsyncTimes SmModel::bulkWrite(double at, const AsyncWork &work) {
  touch(work);
  bool isReduction = work.kind == AsyncWork::BulkReduce;
  double ofChip = get(isReduction ? P::ReduceRate : P::StoreRate);
  double rate =
      std::min(get(isReduction ? P::BulkReduceRate : P::BulkStoreRate),
               ofChip / chip.busySms);
  double begin =
      bulkStore.take(at, std::max(get(P::BulkIssue), work.bytes / rate));
  double latency = get(P::BulkStoreLatency);
  noteCopy(work.bytes);
  // The copy engine reads what it can send.
  double read =
      begin + latency / 2 + work.bytes / std::min(rate, get(P::BulkReadRate));
  return {
      begin,      read,    std::max(read, begin + latency + work.bytes / rate),
      &bulkStore, nullptr, begin > at};
}

AsyncTimes SmModel::copyAsync(double at, const AsyncWork &work) {
  touch(work);
  double transfer = work.bytes / std::min(get(P::BulkRate), chip.l2Share());
  double begin = bulk.take(at, transfer);
  double end = begin + get(P::CopyAsyncLatency) + transfer;
  return {begin, end, end, &bulk, nullptr, begin > at};
}

AsyncTimes SmModel::remoteStore(double at, const AsyncWork &work) {
  double transfer = work.bytes / get(P::RemoteRate);
  double begin = link.take(at, transfer);
  double end = begin + get(P::MbarrierRemote) + transfer;
  return {begin, end, end, &link, nullptr, begin > at};
}

fa4::MmaShape fa4::sim::instructionShape(const AsyncWork &work,
                                         const TargetDescription &chip) {
  // One instruction takes kBytes of each row, whatever the type.
  return {work.m, work.n, chip.mma.kBytes, 1, work.sharedA, work.ctas};
}

AsyncTimes SmModel::wgmma(double at, const AsyncWork &work) {
  fa4::MmaShape shape = instructionShape(work, *chip.chip);
  double interval = chip.chip->mmaCycles(shape);
  if (!work.sharedA)
    interval = std::max(interval, get(P::WgmmaRegisterInterval));
  double whole = productInterval(interval, chip.chip->mmaSharedBytes(shape));
  double delayed = whole - interval;
  double begin = tensor.take(at, whole);
  tensor.busy -= delayed;
  double product = double(work.n) / chip.chip->mma.columnsPerClock;
  double latency =
      get(work.sharedA ? P::WgmmaLatencyShared : P::WgmmaLatencyRegisters);
  return {begin,   begin,   begin + product + delayed + latency,
          &tensor, nullptr, begin > at};
}

AsyncTimes SmModel::tensorMma(double at, const AsyncWork &work,
                              llvm::ArrayRef<SmModel *> sms) {
  SmModel &own = *sms.front();
  const TargetDescription &chip = *own.chip.chip;
  fa4::MmaShape shape = instructionShape(work, chip);
  double interval = chip.mmaCycles(shape), whole = interval, begin = at;
  SmModel *latest = &own;
  for (SmModel *sm : sms) {
    if (sm->tensor.free > begin)
      latest = sm;
    begin = std::max(begin, sm->tensor.free);
    whole = std::max(whole,
                     sm->productInterval(interval, chip.mmaSharedBytes(shape)));
  }
  for (SmModel *sm : sms) {
    sm->tensor.take(begin, whole);
    sm->tensor.busy -= whole - interval;
  }
  double tensorTime = chip.mmaLatency(shape) - chip.mmaCycles(shape) +
                      double(work.n) / chip.mma.columnsPerClock;
  double end = begin + whole - interval + std::max(tensorTime, interval);
  SmModel *other = latest == &own ? sms.back() : &own;
  return {begin, end, end, &latest->tensor, &other->tensor, begin > at};
}

AsyncTimes SmModel::tensorCopy(double at, const AsyncWork &work) {
  double interval = work.bytes / get(P::TensorCopyRate);
  double begin = tensor.take(at, interval);
  noteCopy(work.bytes);
  double end = begin + interval + get(P::TensorCopyLatency);
  return {begin, end, end, &tensor, nullptr, begin > at};
}

AsyncTimes SmModel::tensorStore(double at, const AsyncWork &work) {
  double end =
      at + get(P::TensorStoreLatency) + work.bytes / get(P::TensorStoreRate);
  return {at, end, end};
}
