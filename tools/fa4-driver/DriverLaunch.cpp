//===- DriverLaunch.cpp - launches, their findings, log and record -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../fa4-sim/ReportPrinter.h"
#include "Driver.h"
#include "fa4/Simulator/Check/HappensBefore.h"
#include "fa4/Simulator/Manifest/Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace fa4::driver;
using llvm::StringRef;
namespace json = llvm::json;

/// Attributes of a function (CUfunction_attribute) that a launch depends on.
enum { MaxDynamicShared = 8, NonPortableCluster = 14 };
/// Shared memory and CTAs of a cluster without them.
constexpr unsigned kDefaultShared = 48 << 10, kPortableCluster = 8;

static json::Array triple(const fa4::sim::Dim3 &d) {
  return json::Array{int64_t(d.x), int64_t(d.y), int64_t(d.z)};
}

/// What hardware asks of a launch beside that which the simulator checks.
CUresult Driver::checkShape(const LaunchRequest &request) {
  const Kernel &kernel = *request.kernel;
  auto attribute = [&](int number, int otherwise) {
    auto found = kernel.attributes.find(number);
    return found == kernel.attributes.end() ? otherwise : found->second;
  };
  unsigned dynamic = request.config.dynamicSharedBytes;
  unsigned allowed =
      std::max<int>(attribute(MaxDynamicShared, 0),
                    int(kDefaultShared) - int(kernel.entry->staticSharedBytes));
  if (dynamic > allowed)
    return fail(CUDA_ERROR_INVALID_VALUE,
                "entry '" + kernel.name + "': " + llvm::Twine(dynamic) +
                    " bytes of dynamic shared memory are over the " +
                    llvm::Twine(allowed) +
                    " that MAX_DYNAMIC_SHARED_SIZE_BYTES allows");
  uint64_t ctas = request.config.cluster.count();
  if (ctas > kPortableCluster && !attribute(NonPortableCluster, 0))
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE,
                "entry '" + kernel.name + "': a cluster of " +
                    llvm::Twine(ctas) +
                    " CTAs needs NON_PORTABLE_CLUSTER_SIZE_ALLOWED");
  return CUDA_SUCCESS;
}

CUresult Driver::launch(const LaunchRequest &request) {
  if (auto error = checkShape(request))
    return error;
  if (!settings.record.empty() && !writeRecord(request))
    return CUDA_ERROR_UNKNOWN;
  sim::RunOptions options;
  options.seed = settings.seed;
  options.allowed = settings.allowed;
  options.policy = settings.policy;
  options.isStrict = settings.check;
  if (settings.check)
    options.checker = sim::happensBeforeChecker();
  auto result = request.kernel->module->simulator->run(request.config, options);
  ++launches;
  if (!result) {
    writeLog(request, nullptr, CUDA_ERROR_INVALID_VALUE, 0);
    return fail(CUDA_ERROR_INVALID_VALUE, llvm::toString(result.takeError()));
  }
  if (!result->isComplete())
    pending = CUDA_ERROR_LAUNCH_FAILED;
  printReports(*request.kernel, *result);
  writeLog(request, &*result, pending, result->stats.seconds);
  // A launch itself succeeds; the next call that waits for it says more.
  return CUDA_SUCCESS;
}

/// Says what has failed a launch, and what has not: the latter once for each
/// kernel.
void Driver::printReports(const Kernel &kernel, const sim::RunResult &result) {
  bool isNamed = false;
  for (const sim::Report &report : result.reports) {
    bool isError = report.severity == sim::Severity::Error;
    if (!isError && !toldReports.insert({kernel.name, report.key}).second)
      continue;
    if (!isNamed)
      llvm::errs() << "fa4-driver: launch " << launches - 1 << " of '"
                   << kernel.name
                   << (result.isComplete() ? "':\n" : "' failed\n");
    isNamed = true;
    sim::printReport(llvm::errs(), *kernel.module->source, report);
  }
}

void Driver::writeLog(const LaunchRequest &request,
                      const sim::RunResult *result, CUresult status,
                      double seconds) {
  if (settings.log.empty())
    return;
  std::error_code error;
  llvm::raw_fd_ostream os(settings.log, error, llvm::sys::fs::OF_Append);
  if (error) {
    fail(CUDA_ERROR_UNKNOWN, settings.log + ": " + error.message());
    settings.log.clear(); // Once is enough.
    return;
  }
  json::Array reports, notes;
  if (result)
    for (const sim::Report &report : result->reports)
      (report.severity == sim::Severity::Note ? notes : reports)
          .push_back(sim::toJson(*request.kernel->module->source, report));
  json::Object line{
      {"launch", int64_t(launches - 1)},
      {"kernel", request.kernel->name},
      {"grid", triple(request.config.grid)},
      {"block", triple(request.config.block)},
      {"cluster", triple(request.config.cluster)},
      {"dynamic_smem", int64_t(request.config.dynamicSharedBytes)},
      {"status", int64_t(status)},
      {"findings", int64_t(result ? result->findings : 0)},
      {"strict", int64_t(result ? result->strict : 0)},
      {"reports", std::move(reports)},
      {"notes", std::move(notes)},
      {"seconds", seconds}};
  if (result)
    line["stats"] = sim::toJson(result->stats);
  os << json::Value(std::move(line)) << "\n";
}

//===----------------------------------------------------------------------===//
// Records (docs/simulator-manifest.md)
//===----------------------------------------------------------------------===//

static bool writeFile(StringRef path, StringRef contents,
                      std::string &problem) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os << contents;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    problem = path.str() + ": " + error.message();
  return !error;
}

/// Writes launch-N.json with all memory that the launch could see: what the
/// program has allocated, the variables of the kernel's module, and those of
/// other modules, whose addresses it may have.
bool Driver::writeRecord(const LaunchRequest &request) {
  std::string folder = settings.record, problem;
  std::string stem = "launch-" + std::to_string(launches);
  if (auto error = llvm::sys::fs::create_directories(folder))
    return fail(CUDA_ERROR_UNKNOWN, folder + ": " + error.message()), false;
  json::Object tensors, variables;
  bool ok = writeFile(folder + "/" + stem + ".ptx",
                      request.kernel->module->text, problem);
  const auto &own = request.kernel->module->globals;
  for (const auto &block : memory->allocations()) {
    if (!ok)
      break;
    sim::NpyArray array;
    array.kind = 'u';
    array.itemBytes = 1;
    array.shape = {int64_t(block->bytes)};
    array.data.assign(block->data, block->data + block->bytes);
    StringRef name = block->name;
    std::string address = "0x" + llvm::utohexstr(block->address);
    // Variables have a dot before their names; two modules may have the same.
    bool isVariable = name.consume_front(".");
    std::string file = isVariable
                           ? stem + "-variable-" + address.substr(2) + ".npy"
                           : stem + "-" + name.str() + ".npy";
    ok = writeFile(folder + "/" + file, sim::encodeNpy(array), problem);
    auto known = isVariable ? own.find(name) : own.end();
    if (known != own.end() && known->second == block->address)
      variables[name] = json::Object{{"address", address}, {"file", file}};
    else
      tensors[isVariable ? "variable" + address.substr(2) : name.str()] =
          json::Object{{"dtype", "u8"},
                       {"shape", json::Array{int64_t(block->bytes)}},
                       {"strides", json::Array{1}},
                       {"address", address},
                       {"file", file}};
  }
  json::Array params;
  for (const std::vector<uint8_t> &param : request.config.params)
    params.push_back(
        json::Object{{"bytes", llvm::toHex(param, /*LowerCase=*/true)}});
  json::Object record{
      {"kernel", request.kernel->name},
      {"ptx", stem + ".ptx"},
      {"grid", triple(request.config.grid)},
      {"block", triple(request.config.block)},
      {"cluster", triple(request.config.cluster)},
      {"dynamic_smem", int64_t(request.config.dynamicSharedBytes)},
      {"params", std::move(params)},
      {"tensors", std::move(tensors)}};
  if (!variables.empty())
    record["variables"] = std::move(variables);
  ok = ok &&
       writeFile(folder + "/" + stem + ".json",
                 llvm::formatv("{0:2}\n", json::Value(std::move(record))).str(),
                 problem);
  if (!ok)
    fail(CUDA_ERROR_UNKNOWN, problem);
  return ok;
}
