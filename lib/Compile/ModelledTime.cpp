//===- ModelledTime.cpp - a kernel under the clock of the simulator -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Compile/ModelledTime.h"
#include "fa4/Simulator/Manifest/Session.h"
#include "fa4/Simulator/Ptx/Parser.h"
#include "fa4/Simulator/Timing/MachineCode.h"
#include "fa4/Simulator/Timing/TimedRun.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <map>
#include <utility>

using namespace fa4;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// What a size that is a length gets: enough blocks for a steady state.
static constexpr int64_t usualLength = 4096;
/// Tensors of more bytes are not allocated.
static constexpr uint64_t mostBytes = uint64_t(4) << 30;
/// Clocks that a CTA is simulated for: some hundred blocks of attention.
static constexpr double mostClocks = 300'000;

static void addLengths(const sim::Manifest &manifest,
                       const sim::ParamSpec &param,
                       std::set<std::string> &lengths) {
  for (const auto &[offset, field] : param.fields)
    addLengths(manifest, field, lengths);
  if (param.kind != sim::ParamSpec::Kind::Map)
    return;
  for (const auto &[dim, box] : llvm::zip(param.map.dims, param.map.box)) {
    // A box whose size depends on the call moves several elements.
    bool isOne = box.tryInteger({}) == 1;
    if (!isOne && dim.symbol() >= 0)
      lengths.insert(manifest.scalars[size_t(dim.symbol())]);
  }
}

static Expected<sim::Manifest> parse(StringRef manifest) {
  return sim::parseManifest(llvm::MemoryBufferRef(manifest, "manifest"));
}

Expected<std::set<std::string>> fa4::findLengths(StringRef text) {
  Expected<sim::Manifest> manifest = parse(text);
  if (!manifest)
    return manifest.takeError();
  std::set<std::string> lengths;
  for (const sim::LaunchSpec &launch : manifest->launches)
    for (const sim::ParamSpec &param : launch.params)
      addLengths(*manifest, param, lengths);
  return lengths;
}

using Sizes = std::map<std::string, int64_t>;

/// The values of the sizes that a manifest leaves open, but for strides, which
/// are then those of row-major tensors.
static Sizes chooseSizes(const sim::Manifest &manifest,
                         const std::set<std::string> &lengths) {
  Sizes sizes;
  for (auto [i, name] : llvm::enumerate(manifest.scalars))
    if (!manifest.defaults[i] && !manifest.isStride(int(i)))
      sizes[name] = lengths.count(name) ? usualLength : 1;
  return sizes;
}

static sim::Values allSizes(const sim::Manifest &manifest,
                            const Sizes &chosen) {
  sim::Values all = manifest.defaults;
  for (const auto &[name, value] : chosen)
    all[size_t(manifest.findScalar(name))] = sim::Number(value);
  manifest.addRowMajorStrides(all);
  return all;
}

static size_t countUnmet(const sim::Manifest &manifest, const Sizes &chosen) {
  sim::Values sizes = allSizes(manifest, chosen);
  return llvm::count_if(
      manifest.requirements, [&](const sim::Requirement &requirement) {
        return requirement.condition.tryInteger(sizes).value_or(0) == 0;
      });
}

/// Gives `value` to sizes that are no lengths where fewer of the manifest's
/// conditions are unmet then: a table has as many elements as there are keys.
static void meetRequirements(const sim::Manifest &manifest,
                             const std::set<std::string> &lengths,
                             int64_t value, Sizes &sizes) {
  size_t unmet = countUnmet(manifest, sizes);
  for (auto &[name, size] : sizes) {
    if (unmet == 0)
      return;
    if (lengths.count(name))
      continue;
    int64_t before = std::exchange(size, value);
    size_t left = countUnmet(manifest, sizes);
    if (left < unmet)
      unmet = left;
    else
      size = before;
  }
}

/// The CTAs of a launch; 0 where the sizes do not say, or the kernel does not
/// take them.
static int64_t countCtas(const sim::Manifest &manifest, const Sizes &chosen) {
  if (countUnmet(manifest, chosen) != 0)
    return 0;
  sim::Values sizes = allSizes(manifest, chosen);
  int64_t ctas = 1;
  for (const sim::Expression &extent : manifest.launches.front().grid)
    ctas *= extent.tryInteger(sizes).value_or(0);
  return ctas;
}

/// Makes a size that is no length so large that each SM has a CTA, if there is
/// one: CTAs share L2 with those of all other SMs.
static void fillSms(const sim::Manifest &manifest,
                    const std::set<std::string> &lengths, int64_t sms,
                    Sizes &sizes) {
  int64_t ctas = countCtas(manifest, sizes);
  if (ctas == 0 || ctas >= sms)
    return;
  for (const auto &[name, value] : sizes) {
    if (lengths.count(name))
      continue;
    Sizes larger = sizes;
    larger[name] = (sms + ctas - 1) / ctas;
    meetRequirements(manifest, lengths, larger[name], larger);
    if (countCtas(manifest, larger) > ctas)
      return void(sizes = larger);
  }
}

/// The bytes of all tensors.
static Expected<uint64_t> countBytes(const sim::Manifest &manifest,
                                     const Sizes &chosen) {
  sim::Values sizes = allSizes(manifest, chosen);
  double bytes = 0;
  for (const sim::TensorSpec &tensor : manifest.tensors) {
    double elements = 1;
    for (const sim::Expression &extent : tensor.shape) {
      Expected<int64_t> count = sim::evaluateInteger(extent, sizes);
      if (!count)
        return count.takeError();
      elements *= double(*count);
    }
    bytes += elements * sim::dtypeBytes(tensor.dtype);
  }
  constexpr double most = 1e18;
  return uint64_t(std::min(bytes, most));
}

static std::string describe(const Sizes &sizes) {
  std::string text;
  for (const auto &[name, value] : sizes)
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  return text;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static sim::IssueCosts findCosts(const sim::Program &program, StringRef ptx,
                                 StringRef ptxas) {
  if (!ptxas.empty()) {
    auto costs = sim::issueCostsFromMachineCode(program, ptx, ptxas);
    if (costs)
      return std::move(*costs);
    llvm::consumeError(costs.takeError());
  }
  return sim::issueCostsFromForms(program);
}

static Expected<sim::TimedResult> runCtas(sim::Session &session, StringRef ptx,
                                          StringRef ptxas) {
  std::optional<sim::TimedResult> result;
  auto execute = [&](sim::Simulator &simulator,
                     const sim::LaunchConfig &config) -> Error {
    const sim::Program &program = simulator.program();
    auto parameters = timingParameters(program.chip->chip);
    if (!parameters)
      return llvm::createStringError("there is no table of latencies and rates "
                                     "of the chip " +
                                     program.chip->chip);
    sim::TimeOptions options;
    options.parameters = *parameters;
    options.mostClocks = mostClocks;
    sim::RunOptions run;
    run.threads = 1;
    run.skipProducts = true;
    sim::IssueCosts costs = findCosts(program, ptx, ptxas);
    // The last CTA may wait for others, which are not simulated; then the first
    // one has to do.
    for (bool isHang = false; !result || isHang;) {
      options.onlyFirst = isHang;
      auto done = sim::runTimed(program, simulator.memory(), costs, config, run,
                                options);
      if (!done)
        return done.takeError();
      result = std::move(*done);
      isHang = !options.onlyFirst &&
               llvm::any_of(result->run.reports, [](const sim::Report &report) {
                 return report.kind == "hang";
               });
    }
    return Error::success();
  };
  if (Error error = session.runWith(0, execute))
    return std::move(error);
  if (!result->run.ok())
    return llvm::createStringError("the simulator has a finding: " +
                                   result->run.reports.front().message);
  return std::move(*result);
}

Expected<ModelledTime> fa4::modelTime(StringRef text, StringRef ptx,
                                      const std::set<std::string> &lengths,
                                      StringRef ptxas) {
  Expected<sim::Manifest> manifest = parse(text);
  if (!manifest)
    return manifest.takeError();
  auto module = sim::ptx::parseModule(
      llvm::MemoryBuffer::getMemBufferCopy(ptx, manifest->launches[0].file));
  if (!module)
    return module.takeError();
  Sizes sizes = chooseSizes(*manifest, lengths);
  meetRequirements(*manifest, lengths, usualLength, sizes);
  const TargetDescription *target = nullptr;
  if (!(*module)->targets.empty())
    target = lookupTarget((*module)->targets.front());
  fillSms(*manifest, lengths, target ? target->smCount : 1, sizes);
  ModelledTime time;
  time.sizes = describe(sizes);
  Expected<uint64_t> bytes = countBytes(*manifest, sizes);
  if (!bytes)
    return bytes.takeError();
  if (*bytes > mostBytes)
    return llvm::createStringError(
        llvm::formatv("its tensors take {0} MiB", *bytes >> 20));
  for (const sim::TensorSpec &tensor : manifest->tensors)
    if (tensor.role == sim::Role::In && !sim::isFloat(tensor.dtype))
      time.zeros.push_back(tensor.name);
  std::string path = manifest->launches[0].file;
  sim::Session session(std::move(*manifest));
  session.setModule(path, *module);
  for (const auto &[name, value] : sizes)
    if (Error error = session.setSize(name, sim::Number(value)))
      return std::move(error);
  sim::PrepareOptions prepare;
  prepare.mayBeZeros = true;
  prepare.mayReset = false;
  if (Error error = session.prepare(prepare))
    return std::move(error);
  Expected<sim::TimedResult> result = runCtas(session, ptx, ptxas);
  if (!result)
    return result.takeError();
  const sim::TimeResult &found = result->time;
  time.costs = found.costSource;
  time.clocks = found.ctaCycles;
  time.isWhole = found.ctaCycles < mostClocks;
  std::copy_n(found.ctaId, 3, time.cta);
  for (const sim::UnitShare &unit : found.units)
    time.units.emplace_back(unit.name, unit.steady);
  llvm::sort(time.units, [](const auto &a, const auto &b) {
    return std::make_pair(-a.second, a.first) <
           std::make_pair(-b.second, b.first);
  });
  return time;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// The roofline's cycles on a unit of the clock; 0 if it has none.
static double roofOf(StringRef unit, const tile::ExpBounds &bounds) {
  const std::pair<StringRef, double> known[] = {
      {"tensor cores", bounds.mma},  {"MUFU", bounds.mufu},
      {"FMA", bounds.fma},           {"ALU", bounds.alu},
      {"issue slots", bounds.issue}, {"tensor memory", bounds.tmem}};
  for (const auto &[name, cycles] : known)
    if (name == unit)
      return cycles;
  return 0;
}

/// A unit that is busy for that share of the time bounds it.
static constexpr double boundShare = 0.9;
/// Times that differ by more than this share disagree.
static constexpr double agreement = 0.1;

static void printBound(const ModelledTime &time, llvm::raw_ostream &os) {
  const auto &[name, share] = time.units.front();
  if (share >= boundShare)
    os << llvm::formatv("bound by: {0}\n", name);
  else
    os << llvm::formatv("bound by: dependences and waits, as no unit is busy "
                        "for {0:P0} of the time\n",
                        boundShare);
}

void ModelledTime::print(StringRef kernel, const tile::ExpSplit *roofline,
                         llvm::raw_ostream &os) const {
  constexpr double least = 0.005; // A share that would be printed as 0%.
  os << llvm::formatv("modelled time of @{0}{1}{2}\n", kernel,
                      sizes.empty() ? "" : ", ", sizes);
  os << llvm::formatv("costs of instructions: {0}\n", costs);
  os << llvm::formatv("CTA ({0}, {1}, {2}): {3}{4:F0} cycles\n", cta[0], cta[1],
                      cta[2], isWhole ? "" : "more than ", clocks);
  if (!zeros.empty())
    os << llvm::formatv("integers are zeros, and the work that they decide on "
                        "is not there: {0}\n",
                        llvm::join(zeros, ", "));
  // The products of an iteration are known, and so is their share of its time.
  auto tensor = llvm::find_if(
      units, [](const auto &unit) { return unit.first == "tensor cores"; });
  double mma = roofline ? roofline->chosen.mma : 0;
  double busy = tensor != units.end() ? tensor->second : 0;
  constexpr double leastIterations = 4;
  bool hasPeriod = mma > 0 && busy * clocks / 2 > leastIterations * mma;
  double period = hasPeriod ? mma / busy : 0;
  os << llvm::formatv("  {0,-14} {1,6}", "unit", "busy");
  if (hasPeriod)
    os << llvm::formatv(" {0,8} {1,9}", "cycles", "roofline");
  os << "\n";
  for (const auto &[name, share] : units) {
    if (share < least)
      continue;
    os << llvm::formatv("  {0,-14} {1,6:P0}", name, share);
    if (hasPeriod) {
      os << llvm::formatv(" {0,8:F0}", share * period);
      if (double cycles = roofOf(name, roofline->chosen))
        os << llvm::formatv(" {0,9:F0}", cycles);
    }
    os << "\n";
  }
  if (hasPeriod) {
    double largest = roofline->chosen.largest();
    os << llvm::formatv("  {0,-14} {1,6} {2,8:F0} {3,9:F0}\n", "iteration", "",
                        period, largest);
  }
  printBound(*this, os);
  if (!hasPeriod)
    return;
  double more = period / roofline->chosen.largest() - 1;
  if (std::abs(more) > agreement)
    os << llvm::formatv("the roofline disagrees: it has {0} as the bound, and "
                        "the model takes {1:P0} {2}\n",
                        roofline->chosen.limiter(), std::abs(more),
                        more > 0 ? "longer" : "less");
}
