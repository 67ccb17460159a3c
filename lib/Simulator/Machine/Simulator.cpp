//===- Simulator.cpp - launches -------------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/Simulator.h"
#include "fa4/Simulator/Machine/State.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <list>
#include <thread>

using namespace fa4::sim;

std::optional<SchedulePolicy> fa4::sim::findPolicy(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<SchedulePolicy>>(name)
      .Case("random", SchedulePolicy::Random)
      .Case("eager", SchedulePolicy::Eager)
      .Case("lazy", SchedulePolicy::Lazy)
      .Case("priority", SchedulePolicy::Priority)
      .Default(std::nullopt);
}

void Statistics::add(const Statistics &other) {
  warpInstructions += other.warpInstructions;
  laneInstructions += other.laneInstructions;
  mmaInstructions += other.mmaInstructions;
  mmaFlops += other.mmaFlops;
  tmaBytes += other.tmaBytes;
  asyncOperations += other.asyncOperations;
  clusters += other.clusters;
}

llvm::Expected<std::unique_ptr<Simulator>>
Simulator::create(std::shared_ptr<const ptx::Module> module,
                  std::shared_ptr<GlobalMemory> memory,
                  const VariablePlaces &places) {
  std::unique_ptr<Simulator> simulator(new Simulator);
  simulator->module = std::move(module);
  simulator->globalMemory =
      memory ? std::move(memory) : std::make_shared<GlobalMemory>();
  auto program =
      Program::decode(*simulator->module, *simulator->globalMemory, places);
  if (!program)
    return program.takeError();
  simulator->decoded = std::move(*program);
  return simulator;
}

Simulator::~Simulator() = default;

//===----------------------------------------------------------------------===//
// Launch checks
//===----------------------------------------------------------------------===//

template <typename... Args>
static llvm::Error fail(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

static std::string text(const Dim3 &d) {
  return llvm::formatv("({0},{1},{2})", d.x, d.y, d.z).str();
}

static bool equal(const Dim3 &d, const uint32_t other[3]) {
  return d.x == other[0] && d.y == other[1] && d.z == other[2];
}

static llvm::Expected<const EntryInfo *> findEntry(const Program &program,
                                                   const std::string &name) {
  if (name.empty() && program.entries.size() == 1)
    return &program.entries.front();
  for (const EntryInfo &entry : program.entries)
    if (program.functions[entry.function].name == name)
      return &entry;
  std::string known;
  for (const EntryInfo &entry : program.entries)
    known += " " + program.functions[entry.function].name;
  return fail("{0}: no entry '{1}'; there is:{2}", program.fileName, name,
              known.empty() ? " none" : known);
}

static llvm::Error fillParams(GridInfo &info, const LaunchConfig &config,
                              const std::string &name) {
  const EntryInfo &entry = *info.entry;
  if (config.params.size() != entry.params.size())
    return fail("entry '{0}' has {1} parameters, the launch gives {2}", name,
                entry.params.size(), config.params.size());
  info.params.assign(entry.paramBytes, 0);
  for (size_t i = 0; i < entry.params.size(); ++i) {
    const ParamInfo &param = entry.params[i];
    if (config.params[i].size() != param.bytes)
      return fail("entry '{0}': parameter {1} ({2}) is {3} bytes, the launch "
                  "gives {4}",
                  name, i, param.name, param.bytes, config.params[i].size());
    std::copy(config.params[i].begin(), config.params[i].end(),
              info.params.begin() + param.offset);
  }
  return llvm::Error::success();
}

llvm::Error fa4::sim::fillGrid(GridInfo &info, const LaunchConfig &config,
                               const Program &program) {
  auto entry = findEntry(program, config.entry);
  if (!entry)
    return entry.takeError();
  const EntryInfo &e = **entry;
  const std::string &name = program.functions[e.function].name;
  info.program = &program;
  info.entry = &e;
  info.grid = config.grid;
  info.block = config.block;
  info.cluster = config.cluster;
  if (e.reqCluster[0] && config.cluster.count() == 1)
    info.cluster = {e.reqCluster[0], e.reqCluster[1], e.reqCluster[2]};
  info.dynamicSharedBytes = config.dynamicSharedBytes;
  info.programmatic = config.programmatic;
  const Dim3 &c = info.cluster;
  if (!info.grid.count() || !info.block.count() || !c.count())
    return fail("entry '{0}': grid {1}, block {2} or cluster {3} is empty",
                name, text(info.grid), text(info.block), text(c));
  const fa4::TargetDescription &chip = *program.chip;
  if (info.block.count() > chip.maxThreads || info.block.z > 64)
    return fail("entry '{0}': block {1} is over {2} threads (or z over 64)",
                name, text(info.block), chip.maxThreads);
  if (info.grid.x > 0x7FFFFFFF || info.grid.y > 65535 || info.grid.z > 65535)
    return fail("entry '{0}': grid {1} is too large", name, text(info.grid));
  if (e.reqNtid[0] && !equal(info.block, e.reqNtid))
    return fail("entry '{0}' requires block ({1},{2},{3}), the launch gives "
                "{4}",
                name, e.reqNtid[0], e.reqNtid[1], e.reqNtid[2],
                text(info.block));
  if (e.maxNtid[0] &&
      info.block.count() > uint64_t(e.maxNtid[0]) * e.maxNtid[1] * e.maxNtid[2])
    return fail("entry '{0}': block {1} is over its .maxntid", name,
                text(info.block));
  if (e.reqCluster[0] && !equal(c, e.reqCluster))
    return fail("entry '{0}' requires cluster ({1},{2},{3}), the launch gives "
                "{4}",
                name, e.reqCluster[0], e.reqCluster[1], e.reqCluster[2],
                text(c));
  if (info.grid.x % c.x || info.grid.y % c.y || info.grid.z % c.z)
    return fail("entry '{0}': grid {1} is not a multiple of cluster {2}", name,
                text(info.grid), text(c));
  if (e.maxClusterRank && c.count() > e.maxClusterRank)
    return fail("entry '{0}': cluster {1} has more CTAs than its "
                ".maxclusterrank, {2}",
                name, text(c), e.maxClusterRank);
  if (c.count() > 16)
    return fail("entry '{0}': cluster {1} is over 16 CTAs", name, text(c));
  if (uint64_t(e.staticSharedBytes) + info.dynamicSharedBytes > chip.smemBytes)
    return fail("entry '{0}' wants {1} static and {2} dynamic bytes of shared "
                "memory; an SM has {3}",
                name, e.staticSharedBytes, info.dynamicSharedBytes,
                chip.smemBytes);
  info.threadsPerCta = info.block.count();
  info.warpsPerCta = (info.threadsPerCta + warpSize - 1) / warpSize;
  info.ctasPerCluster = c.count();
  info.clusterCount = info.grid.count() / info.ctasPerCluster;
  return fillParams(info, config, name);
}

//===----------------------------------------------------------------------===//
// Clusters on worker threads
//===----------------------------------------------------------------------===//

bool Grid::takeCluster(uint64_t &index, uint32_t firstCta[3]) {
  uint64_t position =
      nextCluster.fetch_add(takenTogether, std::memory_order_relaxed);
  if (position >= clusterCount)
    return false;
  index = order.empty() ? position : order[position];
  firstCtaOf(index, firstCta);
  return true;
}

void GridInfo::firstCtaOf(uint64_t index, uint32_t firstCta[3]) const {
  uint64_t nx = grid.x / cluster.x, ny = grid.y / cluster.y;
  firstCta[0] = index % nx * cluster.x;
  firstCta[1] = index / nx % ny * cluster.y;
  firstCta[2] = index / nx / ny * cluster.z;
}

namespace {

/// Runs all clusters of a grid. A cluster that only waits for memory is put
/// aside, so that what it waits for can run, however few clusters fit at once.
class Workers {
public:
  Workers(Grid &grid, unsigned threads, unsigned residentLimit)
      : grid(grid), threads(threads), residentLimit(residentLimit) {}

  void run() {
    std::vector<std::thread> pool;
    for (unsigned i = 1; i < threads; ++i)
      pool.emplace_back([this] { work(); });
    work();
    for (std::thread &thread : pool)
      thread.join();
  }

  Statistics stats;

private:
  struct Job {
    std::unique_ptr<Cluster> cluster;
    uint64_t stalledAt = ~0ull; ///< globalEpoch when it last stalled.
    unsigned stalls = 0;        ///< In a row, without any progress anywhere.
  };

  /// Returns the next job, or nothing if all are done or the run has stopped.
  std::unique_ptr<Job> take(std::unique_lock<std::mutex> &lock) {
    while (true) {
      if (grid.sink.shouldStop())
        return nullptr;
      bool mayStart = grid.nextCluster.load() < grid.clusterCount;
      if (!ready.empty())
        return pop(ready);
      if (mayStart && (running + stalled.size() < residentLimit || stuck())) {
        if (auto job = start(lock))
          return job;
        continue;
      }
      if (!stalled.empty())
        return pop(stalled);
      if (running == 0)
        return nullptr;
      wake.wait(lock);
    }
  }

  /// Returns true if all resident clusters have waited in vain, so that only a
  /// new cluster may help.
  bool stuck() const {
    for (const auto &job : stalled)
      if (job->stalls == 0)
        return false;
    return hopeful == 0;
  }

  std::unique_ptr<Job> pop(std::list<std::unique_ptr<Job>> &list) {
    auto job = std::move(list.front());
    list.pop_front();
    ++running;
    hopeful += job->stalls == 0;
    return job;
  }

  std::unique_ptr<Job> start(std::unique_lock<std::mutex> &lock) {
    uint64_t index;
    uint32_t first[3];
    if (!grid.takeCluster(index, first))
      return nullptr;
    ++running;
    ++hopeful;
    lock.unlock();
    auto job = std::make_unique<Job>();
    job->cluster = std::make_unique<Cluster>(
        grid, index, first, grid.seed * 0x9E3779B97F4A7C15ull + index);
    lock.lock();
    return job;
  }

  void work() {
    std::unique_lock<std::mutex> lock(mutex);
    while (auto job = take(lock)) {
      uint64_t before = job->cluster->stats.warpInstructions;
      lock.unlock();
      uint64_t limit = grid.options.maxInstructions;
      Cluster::Status status = job->cluster->run(
          limit ? std::min<uint64_t>(limit, 1 << 20) : 1 << 20);
      lock.lock();
      --running;
      hopeful -= job->stalls == 0;
      uint64_t total = grid.totalInstructions +=
          job->cluster->stats.warpInstructions - before;
      if (grid.options.maxInstructions && total > grid.options.maxInstructions)
        giveUp(*job);
      else
        put(std::move(job), status);
      wake.notify_all();
    }
    wake.notify_all();
  }

  void put(std::unique_ptr<Job> job, Cluster::Status status) {
    switch (status) {
    case Cluster::Status::Done: {
      job->cluster->stats.clusters = 1;
      job->cluster->stats.asyncOperations = job->cluster->async.issued;
      stats.add(job->cluster->stats);
      uint64_t done = ++grid.doneClusters;
      anyProgress();
      if (grid.options.progress)
        grid.options.progress(done, grid.clusterCount);
      return;
    }
    case Cluster::Status::Running:
      anyProgress();
      ready.push_back(std::move(job));
      return;
    case Cluster::Status::Stalled:
      stall(std::move(job));
      return;
    case Cluster::Status::Stuck:
      hang(*job);
      return;
    }
  }

  void anyProgress() {
    for (auto &job : stalled)
      job->stalls = 0;
  }

  void stall(std::unique_ptr<Job> job) {
    // A cluster that polls in vain is declared hung sooner than one that only
    // computes.
    constexpr unsigned hopeless = 500, pollWeight = 25;
    uint64_t epoch = grid.globalEpoch.load(std::memory_order_relaxed);
    if (epoch != job->stalledAt)
      job->stalls = 0;
    job->stalledAt = epoch;
    bool others = grid.nextCluster.load() < grid.clusterCount || hopeful ||
                  !ready.empty();
    job->stalls += job->cluster->polled ? pollWeight : 1;
    if (job->stalls > hopeless && !others)
      return hang(*job);
    stalled.push_back(std::move(job));
  }

  void hang(Job &job) {
    job.cluster->reportHang();
    stats.add(job.cluster->stats);
  }

  void giveUp(Job &job) {
    Report finding;
    finding.kind = "instruction-limit";
    finding.message =
        "the instruction limit is reached:\n" + job.cluster->hangTable();
    grid.sink.add(std::move(finding));
    grid.sink.requestStop();
  }

  Grid &grid;
  unsigned threads, residentLimit;
  std::mutex mutex;
  std::condition_variable wake;
  std::list<std::unique_ptr<Job>> ready, stalled;
  unsigned running = 0;
  /// The number of running jobs that have not just waited in vain.
  unsigned hopeful = 0;
};

} // namespace

/// Returns the number of clusters that may be resident at once without using
/// too much memory.
static unsigned residentByMemory(const GridInfo &info) {
  uint64_t warps = uint64_t(info.warpsPerCta) * info.ctasPerCluster;
  uint64_t bytes = warps * (info.program->registerBytes +
                            uint64_t(info.entry->localBytes) * warpSize) +
                   uint64_t(info.ctasPerCluster) * (512u << 10);
  return std::max<uint64_t>(1, (256u << 20) / std::max<uint64_t>(bytes, 1));
}

llvm::Expected<RunResult> Simulator::run(const LaunchConfig &config,
                                         const RunOptions &options) {
  auto begin = std::chrono::steady_clock::now();
  ReportSink sink(options.keepGoing, options.allowed, options.isStrict);
  sink.interruptBy(options.interrupt);
  Grid grid(*globalMemory, sink, options);
  if (llvm::Error error = fillGrid(grid, config, *decoded))
    return std::move(error);
  grid.seed = options.seed;
  if (options.checker)
    grid.checker = options.checker(grid, *globalMemory, sink);
  // Seed 0 keeps the order that hardware usually shows.
  if (options.seed != 0 && grid.clusterCount <= (1u << 24)) {
    grid.order.resize(grid.clusterCount);
    for (uint64_t i = 0; i < grid.clusterCount; ++i)
      grid.order[i] = i;
    Random random(options.seed);
    for (uint64_t i = grid.clusterCount; i > 1; --i)
      std::swap(grid.order[i - 1], grid.order[random.below(i)]);
  }
  unsigned threads = options.threads
                         ? options.threads
                         : std::max(1u, std::thread::hardware_concurrency());
  threads = std::min<uint64_t>(threads, grid.clusterCount);
  unsigned resident = options.residentClusters ? options.residentClusters
                                               : residentByMemory(grid);
  Workers workers(grid, threads, std::max(resident, threads));
  workers.run();
  if (sink.isInterrupted())
    return llvm::createStringError("the run was interrupted");
  if (grid.checker && !sink.shouldStop())
    grid.checker->finish();
  RunResult result;
  result.stats = workers.stats;
  result.findings = sink.total();
  result.strict = sink.totalStrict();
  result.reports = sink.take();
  result.stats.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  return result;
}
