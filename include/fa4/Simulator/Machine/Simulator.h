//===- Simulator.h - run kernels of a PTX module ---------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host interface. Typical use:
//
//   auto module = ptx::parseModule(...);
//   auto simulator = Simulator::create(std::move(module));   // decodes
//   simulator->memory().allocate("q", bytes) ... fill data
//   auto result = simulator->run(config, options);
//
// Several launches may share one memory (`memory` argument of create).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_SIMULATOR_H
#define FA4_SIMULATOR_MACHINE_SIMULATOR_H

#include "fa4/Simulator/Machine/Memory.h"
#include "fa4/Simulator/Machine/Report.h"
#include "fa4/Simulator/Machine/TensorMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fa4::sim {

namespace ptx {
struct Module;
}
class Program;
class Checker;
struct GridInfo;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// The arguments of a driver's launch call.
struct LaunchConfig {
  std::string entry; ///< Entry name; empty: the module's only entry.
  Dim3 grid, block, cluster;
  uint32_t dynamicSharedBytes = 0;
  /// The launch may begin before the ones in front of it have ended
  /// (programmatic stream serialization). Launches are run one after the other
  /// all the same, but a checker wants griddepcontrol.wait before each access
  /// to global memory.
  bool programmatic = false;
  /// One per entry parameter, of exactly the parameter's size. A tensor map is
  /// the 128 bytes of a TensorMap.
  std::vector<std::vector<uint8_t>> params;
  /// The grid that the launch would have on a chip of as many SMs as it can
  /// use: a kernel whose CTAs each do several tiles has one for each tile then.
  /// Zeros where that is not known.
  Dim3 widestGrid = {0, 0, 0};
};

/// Decides what runs next: a warp, or asynchronous work such as a copy.
enum class SchedulePolicy : uint8_t {
  Random, ///< Anything that can go on, at random.
  Eager,  ///< Asynchronous work at once, as soon as it can go on.
  Lazy,   ///< Asynchronous work only when no warp can go on.
  /// Warps in a random order: each one runs only when no warp before it can go
  /// on (Burckhardt et al., A Randomized Scheduler with Probabilistic
  /// Guarantees of Finding Bugs, ASPLOS 2010).
  Priority
};

/// The policy of a name on a command line ("random", "eager", "lazy",
/// "priority"); none if it is no such name.
std::optional<SchedulePolicy> findPolicy(llvm::StringRef name);
/// The names, with commas between.
constexpr llvm::StringLiteral policyNames = "random, eager, lazy, priority";

using CheckerFactory = std::function<std::unique_ptr<Checker>(
    const GridInfo &, GlobalMemory &, ReportSink &)>;

struct RunOptions {
  uint64_t seed = 0;
  /// Creates the happens-before engine. If empty, only faults that the machine
  /// itself sees are reported (bounds, alignment, barriers, hangs).
  CheckerFactory checker;
  bool keepGoing = false;
  /// Kinds of findings that are not reported (of `survivableKinds`), and
  /// perhaps `allStrict`.
  std::vector<std::string> allowed;
  /// Whether what the manual forbids and hardware tolerates is a finding; else
  /// it is a note.
  bool isStrict = true;
  unsigned threads = 0; ///< Worker threads; 0: as many as the machine has.
  SchedulePolicy policy = SchedulePolicy::Random;
  /// The largest number of clusters that are resident at once (0: as many as
  /// memory allows).
  unsigned residentClusters = 0;
  /// The number of warp instructions after which a run gives up (0: never).
  uint64_t maxInstructions = 0;
  /// Products of tensor cores are not computed: their results are as if A were
  /// zeros. For timed runs whose results nobody looks at.
  bool skipProducts = false;
  /// Another thread sets the flag to end the run early, which is an error then.
  /// May be null.
  const bool *interrupt = nullptr;
  /// Called now and then from a worker thread with the number of finished
  /// clusters and of all clusters.
  std::function<void(uint64_t, uint64_t)> progress;
};

struct Statistics {
  uint64_t warpInstructions = 0;
  uint64_t laneInstructions = 0; ///< Lanes whose guard held.
  uint64_t mmaInstructions = 0;
  uint64_t mmaFlops = 0;
  uint64_t tmaBytes = 0;
  uint64_t asyncOperations = 0;
  uint64_t clusters = 0;
  double seconds = 0;
  void add(const Statistics &other);
};

struct RunResult {
  std::vector<Report> reports;
  /// Reports with repetitions, without notes; how many of them are strict.
  uint64_t findings = 0, strict = 0;
  Statistics stats;
  bool ok() const { return findings == 0; }
  /// Whether the run came to its end, so that it has results.
  bool isComplete() const { return findings == strict; }
};

/// Addresses of variables (.global, .const), by name.
using VariablePlaces = llvm::StringMap<uint64_t>;

class Simulator {
public:
  /// Decodes the whole module. The error lists every unsupported opcode form,
  /// one per line, as file:line:col. `places` has addresses for some of the
  /// module's variables; the others are put where there is room.
  static llvm::Expected<std::unique_ptr<Simulator>>
  create(std::shared_ptr<const ptx::Module> module,
         std::shared_ptr<GlobalMemory> memory = nullptr,
         const VariablePlaces &places = {});
  ~Simulator();

  GlobalMemory &memory() { return *globalMemory; }
  const Program &program() const { return *decoded; }

  /// Runs one launch to its end. An error is a launch that cannot be made
  /// (sizes, parameters); what the kernel does wrong is in the result.
  llvm::Expected<RunResult> run(const LaunchConfig &config,
                                const RunOptions &options = {});

private:
  Simulator() = default;
  std::shared_ptr<const ptx::Module> module;
  std::shared_ptr<GlobalMemory> globalMemory;
  std::unique_ptr<Program> decoded;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_SIMULATOR_H
