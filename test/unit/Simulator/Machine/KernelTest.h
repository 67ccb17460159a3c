//===- KernelTest.h - run small PTX kernels in tests -----------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_SIMULATOR_MACHINE_KERNELTEST_H
#define FA4_TEST_UNIT_SIMULATOR_MACHINE_KERNELTEST_H

#include "fa4/Simulator/Machine/Simulator.h"
#include "fa4/Simulator/Ptx/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cstring>

namespace fa4::sim::test {

/// A module with its memory; errors of parsing or decoding are in `error`.
struct Kernel {
  explicit Kernel(const std::string &text) {
    auto module = ptx::parseModule(
        llvm::MemoryBuffer::getMemBufferCopy(text, "test.ptx"));
    if (!module) {
      error = llvm::toString(module.takeError());
      return;
    }
    auto made = Simulator::create(std::move(*module));
    if (!made) {
      error = llvm::toString(made.takeError());
      return;
    }
    simulator = std::move(*made);
  }

  uint64_t buffer(const std::string &name, uint64_t bytes,
                  const void *data = nullptr) {
    Allocation *a = llvm::cantFail(simulator->memory().allocate(name, bytes));
    if (data)
      std::memcpy(a->data, data, bytes);
    config.params.push_back(std::vector<uint8_t>(8));
    std::memcpy(config.params.back().data(), &a->address, 8);
    return a->address;
  }
  template <typename T> void scalar(T value) {
    config.params.push_back(std::vector<uint8_t>(sizeof(T)));
    std::memcpy(config.params.back().data(), &value, sizeof(T));
  }
  template <typename T> T *data(const std::string &name) {
    return reinterpret_cast<T *>(simulator->memory().byName(name)->data);
  }
  /// Runs; launch errors fail the test.
  RunResult run(uint64_t seed = 0, bool keepGoing = false) {
    RunOptions options;
    options.seed = seed;
    options.keepGoing = keepGoing;
    options.maxInstructions = 50'000'000;
    auto result = simulator->run(config, options);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {};
    }
    return std::move(*result);
  }

  std::string error;
  std::unique_ptr<Simulator> simulator;
  LaunchConfig config;
};

inline std::string header() {
  return ".version 9.0\n.target sm_100a\n.address_size 64\n";
}

/// "kind: message" of every report.
inline std::string reports(const RunResult &result) {
  std::string text;
  for (const Report &r : result.reports) {
    text += r.kind + ": " + r.message;
    for (const ReportSite &s : r.sites)
      text += " [line " + std::to_string(s.line) + " " + s.opcode + "]";
    text += "\n";
  }
  return text;
}

/// Runs one instruction on 32 lanes. `instruction` uses %a, %b, %c, %e for the
/// inputs and %d for the result; classes are "b16", "b32", "b64" or "pred"
/// (a 32-bit 0 or 1). Values beyond a lane's list repeat the last.
std::vector<uint64_t>
evaluate(const std::string &instruction, const std::string &resultClass,
         const std::vector<std::string> &classes,
         const std::vector<std::vector<uint64_t>> &inputs);

/// The same for one lane's worth of values.
inline uint64_t evaluate1(const std::string &instruction,
                          const std::string &resultClass,
                          const std::vector<std::string> &classes,
                          const std::vector<uint64_t> &inputs) {
  std::vector<std::vector<uint64_t>> lanes;
  for (uint64_t v : inputs)
    lanes.push_back({v});
  return evaluate(instruction, resultClass, classes, lanes)[0];
}

inline uint32_t bits(float x) {
  uint32_t b;
  std::memcpy(&b, &x, 4);
  return b;
}
inline uint64_t bits64(double x) {
  uint64_t b;
  std::memcpy(&b, &x, 8);
  return b;
}
inline float real(uint64_t b) {
  uint32_t low = uint32_t(b);
  float x;
  std::memcpy(&x, &low, 4);
  return x;
}

/// One instruction on one lane, and the bits that the manual says it gives.
struct Case {
  const char *instruction;
  const char *result;
  std::vector<std::string> classes;
  std::vector<uint64_t> inputs;
  uint64_t expected;

  void check() const {
    EXPECT_EQ(evaluate1(instruction, result, classes, inputs), expected)
        << instruction;
  }
};

} // namespace fa4::sim::test

#endif // FA4_TEST_UNIT_SIMULATOR_MACHINE_KERNELTEST_H
