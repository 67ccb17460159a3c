//===- TimedRun.cpp - how long a launch takes -----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch has too many CTAs to simulate all of them. Those that are alike take
// equally long: the time of a CTA is taken to be piecewise linear in each of
// its coordinates, and CTAs are simulated until it is known (TimeCurve). CTAs
// then go to SMs in the order of the grid, each to the one that is free first.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Timing/TimedRun.h"
#include "TimedCluster.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

using namespace fa4::sim;
using P = fa4::TimingParameter;

namespace {

/// What is known of a cluster, or interpolated: all of it adds up.
struct Sample {
  double cycles = 0, flops = 0;
  double tensor = 0; ///< Busy time of the tensor cores of an SM.
};

/// What the clusters of an axis do, by their coordinate. Where neighbours along
/// the axis are neighbours in what they do, a place is its own coordinate. A
/// kernel that counts tiles and heads by one index, heaviest tiles first, has
/// as many repeats as heads that are worked on together, and the number of a
/// head's tiles as its period; heads that are left over are the last ones, or
/// the first ones where the kernel counts from the end. With 10 places, 2
/// repeats and a period of 2 the coordinates are 0 0 1 1 | 0 0 1 1 | 0 1.
struct Curve {
  uint64_t count, repeats, period;
  bool fromEnd = false;
  std::map<uint64_t, Sample> samples = {}; ///< By coordinate.

  uint64_t coordinate(uint64_t place) const {
    place = fromEnd ? count - 1 - place : place;
    uint64_t section = repeats * period, whole = count - count % section;
    if (place < whole)
      return place % section / repeats;
    uint64_t left = std::max<uint64_t>(1, (count - whole) / period);
    return std::min((place - whole) / left, period - 1);
  }
};

/// Of the simulated clusters of a persistent kernel: with fewer it is short.
constexpr uint64_t fewInstructions = 2'000'000;

/// Runs clusters of a launch on SMs.
class Launch {
public:
  Launch(const Program &program, GlobalMemory &memory, const IssueCosts &costs,
         const RunOptions &run, const TimeOptions &options)
      : timed(program, costs), memory(memory), run(run), options(options),
        sink(run.keepGoing, run.allowed, run.isStrict),
        grid(memory, sink, run) {
    sink.interruptBy(run.interrupt);
  }

  llvm::Error prepare(const LaunchConfig &config);
  TimedResult time();

private:
  /// SMs that run a cluster at a time, and what runs on them.
  struct Place {
    /// What the units of the first SM had done at a time.
    struct Snapshot {
      double at;
      std::vector<std::pair<llvm::StringRef, double>> busy;
    };
    std::vector<std::unique_ptr<SmModel>> sms;
    std::unique_ptr<CauseLog> log;
    std::vector<Snapshot> snapshots;
    double period = 1000; ///< Clocks between snapshots.

    /// When it is time to take a snapshot.
    double nextWatch() const {
      return snapshots.empty() ? 0 : snapshots.back().at + period;
    }
    /// Takes a snapshot if it is time to. Of many, every other one is kept.
    void watch(double at) {
      constexpr size_t mostSnapshots = 4096;
      if (at < nextWatch())
        return;
      snapshots.push_back({at, sms.front()->busyTimes()});
      if (snapshots.size() < mostSnapshots)
        return;
      for (size_t i = 0; 2 * i < snapshots.size(); ++i)
        std::swap(snapshots[i], snapshots[2 * i]);
      snapshots.resize(mostSnapshots / 2);
      period *= 2;
    }
  };

  /// `share` is the number of places among which the memory for what happened
  /// is divided.
  Place makePlace(ChipModel &model, uint64_t share = 1);
  /// Starts a cluster on the SMs of a place, of which it takes a slot.
  std::unique_ptr<TimedCluster> start(uint64_t index, Place &place, double at,
                                      unsigned slot);
  /// Runs what is active until one of them is done, which is returned; null
  /// after a finding that ends the run, and after `mostClocks` (0: no limit).
  std::unique_ptr<TimedCluster>
  runUntilDone(std::vector<std::unique_ptr<TimedCluster>> &active,
               double mostClocks, Place *watched = nullptr);
  /// Simulates a cluster together with those that share its SMs.
  Sample sample(uint64_t index);
  /// Simulates clusters on as many threads as the run may have.
  void sampleAll(llvm::ArrayRef<uint64_t> indices);
  /// Simulates the clusters of an axis that it takes to interpolate between
  /// them: 0, step, 2 * step, ...
  Curve sampleAxis(uint64_t count, uint64_t step);
  std::vector<bool> take(std::map<uint64_t, Sample> &curve,
                         const std::vector<uint64_t> &places, uint64_t step);
  bool refine(std::map<uint64_t, Sample> &curve, uint64_t count, uint64_t step,
              size_t most);
  void runEvery();
  void runSampled();
  void runResident();
  bool beginsAlike(uint64_t index, uint64_t wanted, double clocks);
  bool areTilesEven();
  bool runEven();
  void runFirst();
  void runEnds(bool takes);
  void takeTogether();
  void runTakers();
  double schedule(llvm::function_ref<double(uint64_t)> cyclesOf) const;
  void keepLongest(const TimedCluster &cluster, const Place &place,
                   double cycles);
  /// Adds a cluster's share in the work of the whole chip.
  void addCluster(Sample &sum, const Sample &cluster) const {
    sum.flops += cluster.flops;
    sum.tensor += cluster.tensor * grid.ctasPerCluster / chip.busySms;
  }
  /// `sum` is the work of all clusters, of which `simulated` have run.
  void findBounds(const Sample &sum, double simulated);
  double countMovedBytes(double simulated) const;

  TimedProgram timed;
  GlobalMemory &memory;
  const RunOptions &run;
  const TimeOptions &options;
  ReportSink sink;
  Grid grid;
  ChipModel chip;
  unsigned slots = 1;  ///< CTAs that an SM runs at a time.
  uint64_t places = 1; ///< Clusters that the chip runs at a time, per slot.
  uint64_t tiles = 0;  ///< Of the launch, if the manifest tells; 0 otherwise.
  std::map<uint64_t, Sample> samples;
  std::mutex mutex; ///< Of what follows and of chip.touched.
  /// By cluster, what its warps have done turn by turn, if that is counted.
  std::map<uint64_t, std::vector<WarpTurns>> turns;
  TimeResult result;
  double keptWork = 0; ///< Of the CTA that `result` describes.
  Statistics stats;
};

} // namespace

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

/// CTAs that fit onto an SM by registers, threads and shared memory.
static unsigned ctasPerSm(const GridInfo &grid, const IssueCosts &costs,
                          const fa4::TargetDescription &chip) {
  constexpr unsigned maxCtas = 32, maxThreadsPerSm = 2048;
  const EntryInfo &entry = *grid.entry;
  unsigned threads = grid.warpsPerCta * warpSize;
  unsigned count = std::min(maxCtas, maxThreadsPerSm / threads);
  uint64_t shared = uint64_t(entry.staticSharedBytes) +
                    grid.dynamicSharedBytes + sharedReservedBytes;
  uint64_t available = chip.smemBytes + sharedReservedBytes;
  count = std::min<uint64_t>(count, available / shared);
  auto known =
      costs.registers.find(grid.program->functions[entry.function].name);
  unsigned registers =
      known != costs.registers.end() ? known->second : entry.maxNreg;
  if (registers) {
    registers = (registers + chip.registerGranule - 1) / chip.registerGranule *
                chip.registerGranule;
    count = std::min(count, chip.registerFileWords / (registers * threads));
  } else if (entry.minNctaPerSm) {
    count = std::min(count, entry.minNctaPerSm);
  }
  return std::max(1u, count);
}

llvm::Error Launch::prepare(const LaunchConfig &config) {
  if (llvm::Error error = fillGrid(grid, config, timed.program))
    return error;
  grid.seed = run.seed;
  if (run.checker)
    grid.checker = run.checker(grid, memory, sink);
  chip.chip = timed.program.chip;
  chip.parameters = options.parameters;
  slots = ctasPerSm(grid, timed.costs, *chip.chip);
  places = std::max<uint64_t>(1, chip.chip->smCount / grid.ctasPerCluster);
  slots = std::min<uint64_t>(slots, (grid.clusterCount + places - 1) / places);
  tiles = config.widestGrid.count() / grid.ctasPerCluster;
  uint64_t busy = std::min<uint64_t>(places, grid.clusterCount);
  chip.busySms = busy * grid.ctasPerCluster;
  result.ctasPerSm = slots;
  result.busySms = chip.busySms;
  result.ctas = grid.clusterCount * grid.ctasPerCluster;
  result.costSource = timed.costs.source;
  result.clockGHz = chip[P::ClockGHz];
  return llvm::Error::success();
}

Launch::Place Launch::makePlace(ChipModel &model, uint64_t share) {
  /// 12 MiB, some hundred steps of a loop in each of 16 warps.
  constexpr size_t allMoments = 1 << 18, fewestMoments = 1 << 11;
  Place place;
  if (!options.onlyFirst && options.mostClocks <= 0)
    place.log = std::make_unique<CauseLog>(
        std::max<size_t>(allMoments / share, fewestMoments));
  for (unsigned i = 0; i < grid.ctasPerCluster; ++i)
    place.sms.push_back(std::make_unique<SmModel>(model));
  return place;
}

std::unique_ptr<TimedCluster> Launch::start(uint64_t index, Place &place,
                                            double at, unsigned slot) {
  uint32_t first[3];
  grid.firstCtaOf(index, first);
  std::vector<SmModel *> sms;
  for (auto &sm : place.sms)
    sms.push_back(sm.get());
  auto cluster =
      std::make_unique<Cluster>(grid, index, first, grid.seed + index);
  auto result = std::make_unique<TimedCluster>(timed, std::move(cluster),
                                               std::move(sms), at);
  result->log = place.log.get();
  result->number = slot;
  if (index == 0)
    result->trace = options.trace;
  return result;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

std::unique_ptr<TimedCluster>
Launch::runUntilDone(std::vector<std::unique_ptr<TimedCluster>> &active,
                     double mostClocks, Place *watched) {
  /// Rounds of expired waits after which a launch counts as stuck.
  constexpr unsigned maxIdleRounds = 64;
  /// Instructions of a cluster that polls memory in vain.
  constexpr uint64_t patience = 4'000'000;
  unsigned idleRounds = 0;
  // A cluster changes its own next time only.
  std::vector<double> times;
  for (auto &cluster : active)
    times.push_back(cluster->nextTime());
  while (!sink.shouldStop()) {
    size_t next = std::min_element(times.begin(), times.end()) - times.begin();
    if (mostClocks > 0 && times[next] >= mostClocks &&
        times[next] < TimedCluster::never)
      return nullptr;
    if (times[next] < TimedCluster::never) {
      // Others, the limit of clocks and snapshots come in their turn.
      double limit = mostClocks > 0 ? mostClocks : TimedCluster::never;
      if (watched) {
        watched->watch(times[next]);
        limit = std::min(limit, watched->nextWatch());
      }
      for (size_t i = 0; i < times.size(); ++i)
        limit = i == next ? limit : std::min(limit, times[i]);
      uint64_t epoch = active[next]->cluster->epoch;
      active[next]->advance(limit);
      if (active[next]->isDone()) {
        std::unique_ptr<TimedCluster> done = std::move(active[next]);
        active.erase(active.begin() + next);
        done->finish();
        std::lock_guard<std::mutex> lock(mutex);
        stats.add(done->cluster->stats);
        return done;
      }
      times[next] = active[next]->nextTime();
      if (active[next]->cluster->epoch != epoch)
        idleRounds = 0;
      // Nobody does more than poll, or wait.
      bool isVain = active[next]->cluster->sinceProgress() >= patience;
      for (size_t i = 0; isVain && i < active.size(); ++i)
        isVain = times[i] == TimedCluster::never ||
                 active[i]->cluster->sinceProgress() >= patience;
      if (!isVain)
        continue;
      active[next]->cluster->reportHang();
      return nullptr;
    }
    bool any = false;
    for (size_t i = 0; i < active.size(); ++i) {
      any |= active[i]->expireWaits();
      times[i] = active[i]->nextTime();
    }
    if (!any || ++idleRounds > maxIdleRounds) {
      active.front()->cluster->reportHang();
      return nullptr;
    }
  }
  return nullptr;
}

void Launch::keepLongest(const TimedCluster &cluster, const Place &place,
                         double cycles) {
  std::lock_guard<std::mutex> lock(mutex);
  result.simulatedCtas += grid.ctasPerCluster;
  // Where only a part is simulated, a CTA may have waited for others that are
  // not there: then the work that it has done counts first.
  double work = options.mostClocks > 0 ? place.sms.front()->tensor.busy : 0;
  if (std::make_pair(work, cycles) <=
      std::make_pair(keptWork, result.ctaCycles))
    return;
  keptWork = work;
  result.ctaCycles = cycles;
  std::copy_n(cluster.cluster->ctas.front().id, 3, result.ctaId);
  result.warps = cluster.timesOfWarps();
  if (place.log)
    result.path =
        place.log->findPath(cluster.lastMoment, cluster.start, cluster.end);
  result.units.clear();
  auto busy = place.sms.front()->busyTimes();
  // The snapshots nearest to the quarters of the CTA's time.
  auto snapshotAt = [&](double share) -> const Place::Snapshot * {
    double at = cluster.start + share * cycles;
    auto found = llvm::partition_point(
        place.snapshots, [&](const auto &shot) { return shot.at < at; });
    return found == place.snapshots.end() ? nullptr : &*found;
  };
  const Place::Snapshot *from = snapshotAt(0.25), *to = snapshotAt(0.75);
  bool isSteady = from && to && to->at > from->at;
  for (size_t i = 0; i < busy.size(); ++i) {
    if (busy[i].second <= 0)
      continue;
    double share = busy[i].second / cycles, steady = share;
    if (isSteady)
      steady =
          (to->busy[i].second - from->busy[i].second) / (to->at - from->at);
    result.units.push_back({busy[i].first.str(), share, steady});
  }
}

Sample Launch::sample(uint64_t index) {
  ChipModel own = chip;
  Place place = makePlace(own);
  std::vector<std::unique_ptr<TimedCluster>> active;
  for (unsigned slot = 0; slot < slots; ++slot)
    active.push_back(
        start(std::min(index + slot * places, grid.clusterCount - 1), place, 0,
              slot));
  Sample found;
  while (!active.empty()) {
    std::unique_ptr<TimedCluster> done =
        runUntilDone(active, options.mostClocks, &place);
    if (!done) {
      auto own = llvm::find_if(active, [&](const auto &cluster) {
        return cluster->cluster->index == index;
      });
      // The run stopped at `mostClocks` with the cluster unfinished. Its path
      // so far is kept: by then the loop repeats.
      if (options.mostClocks > 0 && !sink.shouldStop())
        keepLongest(**own, place, options.mostClocks);
      break;
    }
    // Those beside it are there for what they take from it.
    if (done->cluster->index != index)
      continue;
    found.cycles = done->end;
    found.flops = double(done->cluster->stats.mmaFlops);
    keepLongest(*done, place, done->end);
    std::lock_guard<std::mutex> lock(mutex);
    turns[index] = std::move(done->turns);
    break;
  }
  found.tensor = place.sms.front()->tensor.busy / slots;
  std::lock_guard<std::mutex> lock(mutex);
  chip.touched.insert(own.touched.begin(), own.touched.end());
  return found;
}

void Launch::sampleAll(llvm::ArrayRef<uint64_t> indices) {
  std::vector<std::pair<const uint64_t, Sample> *> open;
  for (uint64_t index : indices)
    if (auto [it, isNew] = samples.try_emplace(index); isNew)
      open.push_back(&*it);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < open.size() && !sink.shouldStop(); i = next++)
      open[i]->second = sample(open[i]->first);
  };
  unsigned threads = run.threads
                         ? run.threads
                         : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads && i < open.size(); ++i)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
}

/// Every cluster, each on SMs of its own until these are used up.
void Launch::runEvery() {
  std::vector<Place> all;
  std::vector<std::unique_ptr<TimedCluster>> active;
  std::map<const TimedCluster *, size_t> placeOf;
  uint64_t next = 0;
  double last = 0;
  Sample sum;
  auto begin = [&](size_t place, double at, unsigned slot) {
    active.push_back(start(next++, all[place], at, slot));
    placeOf[active.back().get()] = place;
  };
  uint64_t used = std::min<uint64_t>(places, grid.clusterCount);
  for (size_t i = 0; i < used; ++i)
    all.push_back(makePlace(chip, used));
  grid.nextCluster = std::min<uint64_t>(places * slots, grid.clusterCount);
  for (unsigned slot = 0; slot < slots; ++slot)
    for (size_t i = 0; i < all.size() && next < grid.clusterCount; ++i)
      begin(i, 0, slot);
  while (!active.empty()) {
    std::unique_ptr<TimedCluster> done =
        runUntilDone(active, options.mostClocks);
    if (!done)
      return;
    size_t place = placeOf[done.get()];
    last = std::max(last, done->end);
    sum.flops += done->cluster->stats.mmaFlops;
    keepLongest(*done, all[place], done->end - done->start);
    uint32_t first[3];
    if (grid.takeCluster(next, first))
      begin(place, done->end + chip[P::CtaStart], done->number);
  }
  for (Place &place : all)
    for (auto &sm : place.sms)
      sum.tensor += sm->tensor.busy / chip.busySms;
  result.cycles = last;
  findBounds(sum, grid.clusterCount);
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

static Sample between(const Sample &a, const Sample &b, double share) {
  auto mix = [&](double x, double y) { return x + (y - x) * share; };
  return {mix(a.cycles, b.cycles), mix(a.flops, b.flops),
          mix(a.tensor, b.tensor)};
}

/// Interpolates between the samples of a curve at a coordinate.
static Sample lookup(const std::map<uint64_t, Sample> &curve, uint64_t at) {
  auto high = curve.lower_bound(at);
  if (high == curve.end())
    return std::prev(high)->second;
  if (high->first == at || high == curve.begin())
    return high->second;
  auto low = std::prev(high);
  return between(low->second, high->second,
                 double(at - low->first) / double(high->first - low->first));
}

static Sample lookup(const Curve &curve, uint64_t place) {
  return lookup(curve.samples, curve.coordinate(place));
}

/// Returns how far samples are from what the others say at their coordinate of
/// `curve`, as a mean of shares. The ends count only where several samples
/// fall onto one. Fills in the curve's samples, each a mean.
static double fit(const std::map<uint64_t, Sample> &places, Curve &curve) {
  std::map<uint64_t, std::vector<Sample>> groups;
  for (const auto &[place, sample] : places)
    groups[curve.coordinate(place)].push_back(sample);
  auto mean = [](const std::vector<Sample> &group) {
    Sample sum;
    for (const Sample &each : group)
      sum = {sum.cycles + each.cycles, sum.flops + each.flops,
             sum.tensor + each.tensor};
    double count = group.size();
    return Sample{sum.cycles / count, sum.flops / count, sum.tensor / count};
  };
  for (const auto &[coordinate, group] : groups)
    curve.samples[coordinate] = mean(group);
  double error = 0;
  unsigned judged = 0;
  for (const auto &[coordinate, group] : groups) {
    const Sample own = curve.samples[coordinate];
    double expected = own.cycles;
    if (group.size() == 1) {
      if (coordinate == groups.begin()->first ||
          coordinate == groups.rbegin()->first)
        continue;
      curve.samples.erase(coordinate);
      expected = lookup(curve.samples, coordinate).cycles;
      curve.samples[coordinate] = own;
    }
    for (const Sample &each : group)
      error += std::abs(each.cycles - expected) / each.cycles;
    judged += group.size();
  }
  return 2 * judged > places.size() ? error / judged
                                    : std::numeric_limits<double>::infinity();
}

/// Returns the curve that `places` of an axis of `count` clusters are on. A
/// period is believed where samples say of each other what they do several
/// times as well as along the axis.
static Curve findCurve(const std::map<uint64_t, Sample> &places,
                       uint64_t count) {
  constexpr uint64_t mostRepeats = 512;
  constexpr double muchBetter = 0.25;
  Curve best{count, 1, count};
  double least = fit(places, best) * muchBetter;
  auto attempt = [&](uint64_t repeats, uint64_t period) {
    for (bool fromEnd : {false, true}) {
      Curve curve{count, repeats, period, fromEnd};
      double error = fit(places, curve);
      if (error < least) {
        least = error;
        best = std::move(curve);
      }
    }
  };
  for (uint64_t period = 2; period <= count / 2; ++period) {
    if (count % period != 0)
      continue;
    uint64_t all = count / period;
    for (uint64_t repeats = 1; repeats <= std::min(all, mostRepeats); ++repeats)
      attempt(repeats, period);
    if (all > mostRepeats)
      attempt(all, period);
  }
  return best;
}

/// The share of an interval at which it is cut, by the golden section: halves
/// would fall onto the same place of each period where CTAs of several heads
/// follow each other.
static constexpr double goldenShare = 0.381966;

/// Runs clusters at places of an axis, and adds them to its curve. Tells of
/// each place if interpolation had known it.
std::vector<bool> Launch::take(std::map<uint64_t, Sample> &curve,
                               const std::vector<uint64_t> &places,
                               uint64_t step) {
  constexpr double tolerance = 0.01;
  std::vector<uint64_t> indices;
  for (uint64_t place : places)
    indices.push_back(place * step);
  sampleAll(indices);
  std::vector<bool> known;
  for (uint64_t place : places) {
    double expected = curve.empty() ? 0 : lookup(curve, place).cycles;
    double cycles = samples[place * step].cycles;
    known.push_back(std::abs(cycles - expected) <= tolerance * cycles);
  }
  for (uint64_t place : places)
    curve[place] = samples[place * step];
  return known;
}

/// Adds places to the curve where interpolation does not know them, until it
/// has `most`. Returns whether interpolation knows all intervals then.
bool Launch::refine(std::map<uint64_t, Sample> &curve, uint64_t count,
                    uint64_t step, size_t most) {
  std::vector<std::pair<uint64_t, uint64_t>> open = {{0, count - 1}};
  while (!open.empty() && curve.size() < most && !sink.shouldStop()) {
    llvm::erase_if(open, [](const auto &interval) {
      return interval.second - interval.first < 2;
    });
    std::vector<uint64_t> cuts;
    for (auto [from, to] : open)
      cuts.push_back(from + std::max<uint64_t>(1, (to - from) * goldenShare));
    std::vector<bool> known = take(curve, cuts, step);
    std::vector<std::pair<uint64_t, uint64_t>> parts;
    for (auto [interval, cut, isKnown] : llvm::zip_equal(open, cuts, known)) {
      if (isKnown)
        continue;
      parts.push_back({interval.first, cut});
      parts.push_back({cut, interval.second});
    }
    open = std::move(parts);
  }
  return open.empty();
}

/// Places `first` to `last` of a sequence that spreads over an axis.
static std::vector<uint64_t> spread(size_t first, size_t last, uint64_t count) {
  std::vector<uint64_t> places;
  for (size_t i = first; i < last; ++i) {
    double share = i * (1 - goldenShare);
    places.push_back(uint64_t((share - std::floor(share)) * count));
  }
  return places;
}

Curve Launch::sampleAxis(uint64_t count, uint64_t step) {
  /// The clusters between the ends of an axis at most.
  constexpr size_t mostRefined = 16, mostSpread = 32;
  std::map<uint64_t, Sample> curve;
  take(curve, {0, count - 1}, step);
  bool isKnown = refine(curve, count, step, mostRefined);
  // Points that nothing leads to find out whether that was all; if not, points
  // are spread over the whole axis.
  constexpr size_t tests = 3;
  if (count > mostRefined) {
    std::vector<bool> known = take(curve, spread(1, 1 + tests, count), step);
    if (!isKnown || llvm::is_contained(known, false)) {
      take(curve, spread(1 + tests, mostSpread, count), step);
      return findCurve(curve, count);
    }
  }
  return {count, 1, count, false, std::move(curve)};
}

double Launch::schedule(llvm::function_ref<double(uint64_t)> cyclesOf) const {
  using Slots =
      std::priority_queue<double, std::vector<double>, std::greater<>>;
  Slots free;
  uint64_t count = std::min<uint64_t>(places * slots, grid.clusterCount);
  for (uint64_t i = 0; i < count; ++i)
    free.push(0);
  double last = 0;
  for (uint64_t i = 0; i < grid.clusterCount; ++i) {
    double end = free.top() + cyclesOf(i);
    free.pop();
    last = std::max(last, end);
    free.push(end + chip[P::CtaStart]);
  }
  return last;
}

void Launch::runSampled() {
  uint64_t counts[3] = {grid.grid.x / grid.cluster.x,
                        grid.grid.y / grid.cluster.y,
                        grid.grid.z / grid.cluster.z};
  uint64_t steps[3] = {1, counts[0], counts[0] * counts[1]};
  std::vector<Curve> curves;
  for (unsigned axis = 0; axis < 3; ++axis)
    curves.push_back(sampleAxis(counts[axis], steps[axis]));
  if (sink.shouldStop())
    return;
  const Sample origin = samples[0];
  auto interpolate = [&](uint64_t index) {
    Sample value = lookup(curves[0], index % counts[0]);
    for (unsigned axis = 1; axis < 3; ++axis) {
      if (counts[axis] == 1)
        continue;
      Sample other = lookup(curves[axis], index / steps[axis] % counts[axis]);
      auto scale = [](double &x, double to, double from) {
        x = from > 0 ? x * to / from : x + to;
      };
      scale(value.cycles, other.cycles, origin.cycles);
      scale(value.flops, other.flops, origin.flops);
      scale(value.tensor, other.tensor, origin.tensor);
    }
    return value;
  };
  Sample sum;
  result.cycles = schedule([&](uint64_t index) {
    Sample value = interpolate(index);
    addCluster(sum, value);
    return value.cycles;
  });
  findBounds(sum, samples.size());
}

void Launch::runFirst() {
  sampleAll({0});
  result.cycles = samples[0].cycles;
  findBounds(samples[0], samples.size());
  result.cycles = samples[0].cycles;
}

/// Clusters that take over the work of others (clusterlaunchcontrol) all go on
/// at the pace of the one that is simulated.
void Launch::takeTogether() {
  uint64_t running = std::min<uint64_t>(places * slots, grid.clusterCount);
  grid.takenTogether = running;
  grid.nextCluster = running;
}

/// The first and the last cluster; of those that take over the work of others
/// the first.
void Launch::runEnds(bool takes) {
  std::set<uint64_t> ends = {0};
  if (takes) {
    takeTogether();
    slots = 1;
  } else if (!options.onlyFirst) {
    ends.insert(grid.clusterCount - 1);
  }
  // One after the other: of two that take equally long the first counts.
  for (uint64_t index : ends)
    sampleAll({index});
  result.cycles = result.ctaCycles;
}

/// Runs a cluster for its first turns. Returns whether they are those of the
/// first cluster, whose turns take so many clocks.
bool Launch::beginsAlike(uint64_t index, uint64_t wanted, double clocks) {
  // Warps that are behind end a turn while others are in the next one.
  constexpr double step = 0.25, enough = 2;
  ChipModel own = chip;
  Place place = makePlace(own);
  place.log.reset(); // Nobody asks for its path.
  std::vector<std::unique_ptr<TimedCluster>> active;
  active.push_back(start(index, place, 0, 0));
  for (double passed = wanted; passed < wanted + enough; passed += step) {
    if (runUntilDone(active, passed * clocks) || sink.shouldStop())
      return false;
    if (beginAlike(turns[0], active.front()->turns, wanted))
      return true;
  }
  return false;
}

/// Returns whether all that clusters differ in is that the first ones have a
/// tile more than the others. The first cluster has been simulated: its turns
/// are alike, as many as such a launch has. Where they are few, the last
/// cluster is simulated, too; where they are many, it is enough that the first
/// of them are the same in clusters all over the launch.
bool Launch::areTilesEven() {
  uint64_t last = grid.clusterCount - 1, most = tiles / grid.clusterCount + 1;
  if (sink.shouldStop() || !areAlike(turns[0], most))
    return false;
  double clocks = samples[0].cycles / most;
  if (samples.count(last))
    return differByATurn(turns[0], turns[last]) &&
           beginsAlike(last / 2, 1, clocks);
  return beginsAlike(last, 2, clocks) && beginsAlike(last / 2, 1, clocks) &&
         beginsAlike(last / 4, 1, clocks);
}

/// Simulates as few clusters of a launch with even tiles as it takes. Returns
/// false if its tiles are not even or it is short.
bool Launch::runEven() {
  constexpr uint64_t manyTiles = 8;
  uint64_t count = grid.clusterCount, longer = tiles % count;
  uint64_t most = tiles / count + 1;
  // Without a rest, the last cluster may be the one that takes the longest.
  if (tiles < count || longer == 0 || slots != 1)
    return false;
  llvm::SmallVector<uint64_t, 2> first = {0};
  if (most < manyTiles)
    first.push_back(count - 1);
  sampleAll(first);
  if (stats.warpInstructions < fewInstructions || !areTilesEven())
    return false;
  const Sample &found = samples[0];
  double share = (longer * most + (count - longer) * (most - 1)) / double(most);
  Sample sum;
  addCluster(sum, {0, found.flops * share, found.tensor * share});
  result.cycles = found.cycles;
  findBounds(sum, samples.size());
  return true;
}

/// All clusters run at the same time, as those of persistent kernels do: the
/// launch is over when the last one is. Long ones mostly have equal work, the
/// first ones a little more.
void Launch::runResident() {
  constexpr double tolerance = 0.01;
  timed.countTurns();
  if (runEven())
    return;
  uint64_t last = grid.clusterCount - 1;
  sampleAll({0, last});
  double difference = samples[0].cycles - samples[last].cycles;
  if (std::abs(difference) > tolerance * samples[0].cycles)
    sampleAll({last / 2});
  // More of them where that costs little: CTAs of short launches often differ.
  constexpr unsigned more = 8;
  if (stats.warpInstructions < fewInstructions) {
    std::vector<uint64_t> places;
    for (unsigned i = 1; i <= more; ++i)
      places.push_back(last * i / (more + 1));
    sampleAll(places);
  }
  if (sink.shouldStop())
    return;
  Sample sum;
  for (uint64_t i = 0; i < grid.clusterCount; ++i)
    addCluster(sum, lookup(samples, i));
  for (const auto &[index, found] : samples)
    result.cycles = std::max(result.cycles, found.cycles);
  findBounds(sum, samples.size());
}

void Launch::runTakers() {
  uint64_t running = std::min<uint64_t>(places * slots, grid.clusterCount);
  takeTogether();
  unsigned together = slots;
  slots = 1;
  Sample found = sample(0);
  slots = together;
  result.cycles = found.cycles;
  Sample sum = found;
  double rounds = double(grid.clusterCount) / running;
  sum.flops = found.flops / std::ceil(rounds) * grid.clusterCount;
  sum.tensor = found.tensor * rounds / std::ceil(rounds);
  findBounds(sum, rounds);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Returns how many bytes DRAM moves at least: what the simulated clusters have
/// touched, for all clusters as many times as these are, but no tensor more
/// than once.
double Launch::countMovedBytes(double simulated) const {
  // What a sample leaves out of a tensor may be chance, if it is little.
  constexpr double nearlyAll = 0.9;
  llvm::DenseMap<const Allocation *, uint64_t> touched;
  for (uint64_t line : chip.touched)
    if (const Allocation *allocation = memory.find(line * SmModel::lineBytes))
      touched[allocation] += SmModel::lineBytes;
  double bytes = 0;
  for (auto [allocation, count] : touched) {
    double all = allocation->bytes;
    double moved = count * grid.clusterCount / simulated;
    bytes += moved > nearlyAll * all ? all : moved;
  }
  return bytes;
}

void Launch::findBounds(const Sample &sum, double simulated) {
  result.flops = sum.flops;
  if (sum.tensor > 0)
    result.bounds.push_back({"tensor cores", sum.tensor});
  double bytes = countMovedBytes(simulated);
  double bytesPerClock = chip[P::DramRate] * 1e3 / chip[P::ClockGHz];
  if (bytes > 0)
    result.bounds.push_back({"DRAM", bytes / bytesPerClock});
  for (const auto &[name, cycles] : result.bounds)
    result.cycles = std::max(result.cycles, cycles);
  result.seconds =
      result.cycles / (result.clockGHz * 1e9) + chip[P::LaunchOverhead] * 1e-9;
}

/// Whether CTAs wait for each other through global memory: for their turns, or
/// for all of them to arrive. The time of such a CTA is not its own, and one
/// that runs without those it waits for never ends.
static bool waitsForOthers(const Program &program) {
  return llvm::any_of(program.insts, [](const Inst &inst) {
    return inst.opcode.starts_with("ld.acquire.gpu.global") ||
           inst.opcode.starts_with("ld.acquire.sys.global");
  });
}

TimedResult Launch::time() {
  auto begin = std::chrono::steady_clock::now();
  bool takes = llvm::any_of(timed.program.insts, [](const Inst &inst) {
    return inst.opcode.starts_with("clusterlaunchcontrol.try_cancel");
  });
  /// Launches that are so small are simulated in full.
  constexpr uint64_t fewClusters = 4;
  if (options.mostClocks > 0)
    runEnds(takes);
  else if (options.onlyFirst)
    runFirst();
  else if (options.everyCta || grid.clusterCount <= fewClusters ||
           waitsForOthers(timed.program))
    runEvery();
  else if (takes)
    runTakers();
  else if (grid.clusterCount <= places * slots)
    runResident();
  else
    runSampled();
  if (grid.checker && !sink.shouldStop())
    grid.checker->finish();
  TimedResult timedResult;
  timedResult.time = std::move(result);
  timedResult.run.stats = stats;
  timedResult.run.findings = sink.total();
  timedResult.run.strict = sink.totalStrict();
  timedResult.run.reports = sink.take();
  timedResult.run.stats.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  return timedResult;
}

llvm::Expected<TimedResult>
fa4::sim::runTimed(const Program &program, GlobalMemory &memory,
                   const IssueCosts &costs, const LaunchConfig &config,
                   const RunOptions &run, const TimeOptions &options) {
  Launch launch(program, memory, costs, run, options);
  if (llvm::Error error = launch.prepare(config))
    return std::move(error);
  TimedResult result = launch.time();
  if (run.interrupt && __atomic_load_n(run.interrupt, __ATOMIC_RELAXED))
    return llvm::createStringError("the run was interrupted");
  return result;
}
