//===- Watch.cpp - who writes to a place ----------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Check/Watch.h"
#include "fa4/Simulator/Machine/State.h"
#include <cstring>

using namespace fa4::sim;

namespace {

struct WatchSetup {
  std::vector<WatchPlace> places;
  std::function<void(const WatchEvent &)> tell;
};

/// Stands between a cluster and its checker.
class ClusterWatch : public ClusterChecker {
public:
  ClusterWatch(Cluster &cluster, const WatchSetup &setup,
               std::unique_ptr<ClusterChecker> inner)
      : cluster(cluster), setup(setup), inner(std::move(inner)) {}

  //===--- Writes ---------------------------------------------------------===//

  void access(const WarpAccess &event) override {
    if (inner)
      inner->access(event);
    if (event.kind == AccessKind::Read)
      return;
    for (size_t i = 0; i < setup.places.size(); ++i)
      forEachLane(event.mask, [&](unsigned lane) {
        uint32_t rank;
        AccessRange range{event.addresses[lane], event.bytes};
        if (touches(setup.places[i], event.space, range, rank))
          tell(i, rank,
               {event.inst, const_cast<Warp *>(event.warp), int(lane), noAgent},
               /*isAsync=*/false);
      });
  }

  AgentId beginAgent(AgentKind kind, const Actor &issuer) override {
    return inner ? inner->beginAgent(kind, issuer) : nextAgent++;
  }

  void agentAccess(AgentId agent, const Actor &issuer, MemSpace space,
                   AccessKind kind, Proxy proxy, const AccessRange *ranges,
                   size_t count, uint32_t mbarrier) override {
    if (inner)
      inner->agentAccess(agent, issuer, space, kind, proxy, ranges, count,
                         mbarrier);
    if (kind == AccessKind::Read)
      return;
    for (size_t i = 0; i < setup.places.size(); ++i)
      for (size_t r = 0; r < count; ++r) {
        uint32_t rank;
        if (touches(setup.places[i], space, ranges[r], rank))
          underWay.push_back({agent, i, rank, issuer});
      }
  }

  void endAgent(AgentId agent) override {
    for (size_t i = 0; i < underWay.size();) {
      if (underWay[i].agent != agent) {
        ++i;
        continue;
      }
      tell(underWay[i].place, underWay[i].rank, underWay[i].issuer,
           /*isAsync=*/true);
      underWay.erase(underWay.begin() + i);
    }
    if (inner)
      inner->endAgent(agent);
  }

  //===--- All else -------------------------------------------------------===//

  void requestWork(const Actor &a) override {
    if (inner)
      inner->requestWork(a);
  }
  void refuseWork(AgentId agent, uint32_t mbarrier) override {
    if (inner)
      inner->refuseWork(agent, mbarrier);
  }
  void fence(const FenceEvent &event) override {
    if (inner)
      inner->fence(event);
  }
  void warpSync(const Warp &w, const Inst &i, LaneMask m) override {
    if (inner)
      inner->warpSync(w, i, m);
  }
  void exitThreads(const Warp &w, LaneMask m) override {
    if (inner)
      inner->exitThreads(w, m);
  }
  void mbarrierInit(const Actor &a, Cta &c, const Mbarrier &b) override {
    if (inner)
      inner->mbarrierInit(a, c, b);
  }
  void mbarrierInval(const Actor &a, Cta &c, const Mbarrier &b) override {
    if (inner)
      inner->mbarrierInval(a, c, b);
  }
  void mbarrierArrive(const Actor &a, Cta &c, const Mbarrier &b,
                      const SyncOrder &o, uint32_t count) override {
    if (inner)
      inner->mbarrierArrive(a, c, b, o, count);
  }
  void mbarrierExpectTx(const Actor &a, Cta &c, const Mbarrier &b,
                        const SyncOrder &o, uint32_t bytes) override {
    if (inner)
      inner->mbarrierExpectTx(a, c, b, o, bytes);
  }
  void mbarrierCompleteTx(const Actor &a, Cta &c, const Mbarrier &b,
                          const SyncOrder &o, uint32_t bytes) override {
    if (inner)
      inner->mbarrierCompleteTx(a, c, b, o, bytes);
  }
  void mbarrierPhase(Cta &c, const Mbarrier &b) override {
    if (inner)
      inner->mbarrierPhase(c, b);
  }
  void mbarrierWait(const Warp &w, const Inst &i, LaneMask m, Cta &c,
                    const Mbarrier &b, uint64_t completed,
                    const SyncOrder &o) override {
    if (inner)
      inner->mbarrierWait(w, i, m, c, b, completed, o);
  }
  void barrierArrive(const Warp &w, const Inst &i, LaneMask m, Cta &c,
                     unsigned barrier, uint64_t generation) override {
    if (inner)
      inner->barrierArrive(w, i, m, c, barrier, generation);
  }
  void barrierLeave(const Warp &w, const Inst &i, LaneMask m, Cta &c,
                    unsigned barrier, uint64_t generation) override {
    if (inner)
      inner->barrierLeave(w, i, m, c, barrier, generation);
  }
  void clusterArrive(const Warp &w, const Inst &i, LaneMask m,
                     uint64_t generation, const SyncOrder &o) override {
    if (inner)
      inner->clusterArrive(w, i, m, generation, o);
  }
  void clusterWait(const Warp &w, const Inst &i, LaneMask m,
                   uint64_t generation, const SyncOrder &o) override {
    if (inner)
      inner->clusterWait(w, i, m, generation, o);
  }
  void agentTensorAccess(AgentId agent, const Actor &a, AccessKind kind,
                         const TensorRange *ranges, size_t count) override {
    if (inner)
      inner->agentTensorAccess(agent, a, kind, ranges, count);
  }
  void agentWillComplete(AgentId agent, uint32_t mbarrier,
                         uint32_t bytes) override {
    if (inner)
      inner->agentWillComplete(agent, mbarrier, bytes);
  }
  void bulkCommit(const Warp &w, const Inst &i, LaneMask m) override {
    if (inner)
      inner->bulkCommit(w, i, m);
  }
  void bulkWait(const Warp &w, const Inst &i, LaneMask m, uint32_t pending,
                bool read) override {
    if (inner)
      inner->bulkWait(w, i, m, pending, read);
  }
  void cpAsyncCommit(const Warp &w, const Inst &i, LaneMask m) override {
    if (inner)
      inner->cpAsyncCommit(w, i, m);
  }
  void cpAsyncWait(const Warp &w, const Inst &i, LaneMask m,
                   uint32_t pending) override {
    if (inner)
      inner->cpAsyncWait(w, i, m, pending);
  }
  void tensorAlloc(const Warp &w, const Inst &i, Cta &c, uint32_t column,
                   uint32_t columns) override {
    if (inner)
      inner->tensorAlloc(w, i, c, column, columns);
  }
  void tensorDealloc(const Warp &w, const Inst &i, Cta &c, uint32_t column,
                     uint32_t columns) override {
    if (inner)
      inner->tensorDealloc(w, i, c, column, columns);
  }
  void tensorAccess(const Warp &w, const Inst &i, LaneMask m, AccessKind kind,
                    const TensorRange *ranges, size_t count) override {
    if (inner)
      inner->tensorAccess(w, i, m, kind, ranges, count);
  }
  void tensorWait(const Warp &w, const Inst &i, LaneMask m,
                  AccessKind kind) override {
    if (inner)
      inner->tensorWait(w, i, m, kind);
  }
  void undefinedRead(const Warp &w, const Inst &i, LaneMask executing,
                     LaneMask come) override {
    if (inner)
      inner->undefinedRead(w, i, executing, come);
  }
  void registersRead(const Warp &w, const Inst &i) override {
    if (inner)
      inner->registersRead(w, i);
  }
  void tensorFence(const Warp &w, const Inst &i, LaneMask m,
                   bool before) override {
    if (inner)
      inner->tensorFence(w, i, m, before);
  }
  void flush() override {
    if (inner)
      inner->flush();
  }
  void finish() override {
    if (inner)
      inner->finish();
  }

private:
  /// An operation that will have written to a place when it is complete.
  struct UnderWay {
    AgentId agent;
    size_t place;
    uint32_t rank;
    Actor issuer;
  };

  /// `rank`: of the CTA whose shared memory it is.
  static bool touches(const WatchPlace &place, MemSpace space,
                      const AccessRange &range, uint32_t &rank) {
    if (place.space != space)
      return false;
    uint64_t begin = range.address;
    rank = 0;
    if (space == MemSpace::Shared) {
      rank = uint32_t(begin) >> sharedRankShift;
      begin &= sharedOffsetMask;
    }
    for (uint32_t row = 0; row < range.rows; ++row, begin += range.stride)
      if (begin < place.address + place.bytes &&
          place.address < begin + range.bytes)
        return true;
    return false;
  }

  void tell(size_t index, uint32_t rank, const Actor &actor, bool isAsync) {
    const WatchPlace &place = setup.places[index];
    WatchEvent event;
    event.place = unsigned(index);
    event.site = cluster.site(actor);
    event.isAsync = isAsync;
    event.time = cluster.time;
    const uint8_t *host =
        place.space == MemSpace::Shared
            ? cluster.resolveShared(rank << sharedRankShift |
                                        uint32_t(place.address),
                                    place.bytes)
            : cluster.grid.memory.resolve(place.address, place.bytes);
    if (host)
      std::memcpy(&event.value, host, place.bytes);
    setup.tell(event);
  }

  Cluster &cluster;
  const WatchSetup &setup;
  std::unique_ptr<ClusterChecker> inner;
  std::vector<UnderWay> underWay;
  AgentId nextAgent = 0;
};

class LaunchWatch : public Checker {
public:
  LaunchWatch(WatchSetup setup, std::unique_ptr<Checker> inner)
      : setup(std::move(setup)), inner(std::move(inner)) {}

  std::unique_ptr<ClusterChecker> beginCluster(Cluster &cluster) override {
    return std::make_unique<ClusterWatch>(
        cluster, setup, inner ? inner->beginCluster(cluster) : nullptr);
  }
  void finish() override {
    if (inner)
      inner->finish();
  }

private:
  WatchSetup setup;
  std::unique_ptr<Checker> inner;
};

} // namespace

CheckerFactory
fa4::sim::watchWrites(std::vector<WatchPlace> places,
                      std::function<void(const WatchEvent &)> tell,
                      CheckerFactory inner) {
  WatchSetup setup{std::move(places), std::move(tell)};
  return [setup, inner](const GridInfo &info, GlobalMemory &memory,
                        ReportSink &sink) -> std::unique_ptr<Checker> {
    return std::make_unique<LaunchWatch>(
        setup, inner ? inner(info, memory, sink) : nullptr);
  };
}
