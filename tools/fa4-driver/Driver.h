//===- Driver.h - the state behind the driver API --------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One device, whose launches the simulator runs. All work is done when a call
// returns: streams keep no queues, and events are times on the host's clock.
//
// An API function takes the lock (`Call`), looks its handles up, and returns a
// CUresult; what a program did wrong is said on standard error, once for each
// call, as the driver has no text for it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_DRIVER_DRIVER_H
#define FA4_TOOLS_FA4_DRIVER_DRIVER_H

#include "Cuda.h"
#include "fa4/Simulator/Machine/Program.h"
#include "fa4/Simulator/Machine/Simulator.h"
#include "fa4/Simulator/Ptx/Ast.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include <chrono>
#include <map>
#include <mutex>
#include <set>

namespace fa4::driver {

struct Module;
struct Graph;
struct GraphExec;
struct Capture;
struct UserObject;

/// An entry of a module. It is CUfunction and CUkernel alike.
struct Kernel {
  Module *module = nullptr;
  std::string name;
  const sim::EntryInfo *entry = nullptr;
  /// Attributes that a program may set, by their numbers.
  std::map<int, int> attributes;
};

/// What cuModuleLoad* and cuLibraryLoad* make.
struct Module {
  std::shared_ptr<const sim::ptx::Module> source;
  std::unique_ptr<sim::Simulator> simulator;
  std::string text; ///< The PTX.
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
  /// Addresses of its global variables, by name.
  std::map<std::string, uint64_t, std::less<>> globals;
  /// Machine code came instead of PTX: kernels are looked for in the folders of
  /// FA4_DRIVER_PTX, each in a module of its own.
  bool isMachineCode = false;
  /// Of machine code: the kernels that a cubin says it has.
  std::vector<std::string> names;
  std::vector<std::unique_ptr<Module>> found;
};

struct Context {
  bool isPrimary = false;
};

struct Stream {
  unsigned flags = 0;
  int priority = 0;
};

struct Event {
  std::optional<std::chrono::steady_clock::time_point> recorded;
  /// Recorded in a stream that was being captured: in which capture, where, and
  /// behind how much of its work.
  uint64_t capture = 0;
  CUstream stream = nullptr;
  unsigned work = 0;
};

/// Memory that the device can access.
struct Memory {
  uint64_t bytes = 0;
  uint8_t *data = nullptr;
  bool isHost = false;     ///< At the host's address, too.
  bool isManaged = false;  ///< cuMemAllocManaged.
  bool isBorrowed = false; ///< Registered; belongs to the program.
};

/// The environment variables FA4_DRIVER_*; docs/simulator-launch.md lists them.
struct Settings {
  const TargetDescription *chip = nullptr;
  bool check = true;
  std::vector<std::string> allowed;
  uint64_t seed = 0;
  sim::SchedulePolicy policy = sim::SchedulePolicy::Random;
  std::string log, record;
  std::vector<std::string> ptxFolders;
};

struct LaunchRequest {
  Kernel *kernel = nullptr;
  sim::LaunchConfig config;
};

class Driver {
public:
  static Driver &get();

  /// Reads the settings; a bad one is an error for cuInit to return.
  CUresult initialize();
  bool isInitialized() const { return settings.chip != nullptr; }
  const TargetDescription &chip() const { return *settings.chip; }
  /// {10, 0} of sm_100a.
  std::pair<int, int> computeCapability() const;

  //===--- Memory (DriverMemory.cpp) --------------------------------------===//
  CUresult allocate(uint64_t bytes, CUdeviceptr &address, bool isHost = false,
                    bool isManaged = false);
  CUresult release(CUdeviceptr address, bool isHost);
  CUresult registerHost(void *data, uint64_t bytes);
  /// Makes memory of the host accessible in place of whatever was registered
  /// there: its owner may have freed that without a word to the driver.
  CUresult replaceHost(void *data, uint64_t bytes);
  CUresult unregisterHost(void *data);
  /// The bytes behind device addresses; null, after a word on standard error,
  /// if they are not within one allocation.
  uint8_t *resolve(CUdeviceptr address, uint64_t bytes, const char *call);
  /// The memory that holds an address, by its first address.
  const std::pair<const uint64_t, Memory> *findMemory(CUdeviceptr address);
  uint64_t usedBytes() const { return used; }
  uint64_t totalBytes() const { return uint64_t(80) << 30; }

  //===--- Modules (DriverModule.cpp) -------------------------------------===//
  CUresult load(const void *image, Module *&module);
  CUresult unload(Module *module);
  CUresult findKernel(Module &module, llvm::StringRef name, Kernel *&kernel);
  bool isModule(const Module *module) const;
  /// All kernels, those of machine code as far as their PTX is found.
  std::vector<Kernel *> listKernels(Module &module);

  //===--- Launches (DriverLaunch.cpp) ------------------------------------===//
  CUresult launch(const LaunchRequest &request);
  /// The error that a launch has left; it stays until the context is reset.
  CUresult pending = CUDA_SUCCESS;

  /// Says something on standard error; returns `result`.
  CUresult fail(CUresult result, const llvm::Twine &message);
  /// What `fail` has said last.
  std::string lastMessage;
  /// The same for a call that is not there; each name once.
  CUresult unsupported(llvm::StringRef call);

  std::recursive_mutex mutex;
  Context primary{true};
  unsigned primaryUses = 0;
  std::set<Context *> contexts;
  std::set<Stream *> streams;
  std::set<Event *> events;
  std::set<Graph *> graphs;
  std::set<GraphExec *> graphExecs;
  std::vector<std::unique_ptr<Capture>> captures; ///< In progress.
  /// Those to which the program has references.
  std::map<UserObject *, std::shared_ptr<UserObject>> userObjects;
  uint64_t captureCount = 0;
  /// The default streams have fixed handles: legacy (0, 1) and per thread (2).
  bool isStream(CUstream stream) const;
  std::shared_ptr<sim::GlobalMemory> memory;

private:
  Driver();
  ~Driver();
  CUresult loadPtx(std::string text, llvm::StringRef name, Module &module);
  CUresult checkTarget(const Module &module);
  void releaseGlobals(Module &module);
  std::unique_ptr<Module> searchPtx(llvm::StringRef kernel);
  CUresult checkShape(const LaunchRequest &request);
  void printReports(const Kernel &kernel, const sim::RunResult &result);
  void writeLog(const LaunchRequest &request, const sim::RunResult *result,
                CUresult status, double seconds);
  bool writeRecord(const LaunchRequest &request);

  Settings settings;
  std::map<uint64_t, Memory> blocks;
  uint64_t used = 0;
  std::vector<std::unique_ptr<Module>> modules;
  unsigned loaded = 0, launches = 0, allocations = 0;
  std::set<std::string> toldUnsupported;
  /// Findings that fail no launch, which are said once: kernel and key.
  std::set<std::pair<std::string, std::string>> toldReports;
};

/// What every API function begins with: the lock, and whether cuInit was
/// called, a context is current, and no launch has failed.
class Call {
public:
  enum Needs { Nothing, Init, Context, Healthy };
  explicit Call(Needs needs);
  CUresult error = CUDA_SUCCESS;
  Driver *operator->() { return &driver; }
  Driver &driver;

private:
  std::lock_guard<std::recursive_mutex> lock;
};

/// Fills in what a program asks to launch; the parameters are copied.
CUresult makeLaunch(const CUlaunchConfig &config, CUfunction function,
                    void **params, void **extra, LaunchRequest &request);

/// The context that is current in this thread; null if there is none.
Context *currentContext();

/// Begins an API function: `call` is the driver, locked. Returns from the
/// function if the call is not possible now.
#define FA4_CALL(needs)                                                        \
  fa4::driver::Call call(fa4::driver::Call::needs);                            \
  if (call.error != CUDA_SUCCESS)                                              \
  return call.error

} // namespace fa4::driver

#endif // FA4_TOOLS_FA4_DRIVER_DRIVER_H
