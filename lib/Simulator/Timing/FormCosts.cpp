//===- FormCosts.cpp - issue costs from the forms of PTX ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without machine code, the order and the stall counts that an assembler would
// choose are guessed by scheduling each straight stretch of PTX: one
// instruction a clock, the longest chain first, a consumer not before the fixed
// latency of its producers is over. The clocks of an instruction are the
// distance to the next one in that order. Results of variable latency (memory,
// MUFU) pull their consumers back in the order, but cost no clocks here: the
// clock waits for them as for scoreboards.
//
//===----------------------------------------------------------------------===//

#include "InstructionClass.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <queue>

using namespace fa4::sim;
using fa4::TimingParameter;
using fa4::TimingParameters;

llvm::StringRef fa4::sim::nameOf(Pipe pipe) {
  static constexpr llvm::StringLiteral names[numPipes] = {
      "FMA",     "FMA of pairs", "IMAD",   "ALU", "ALU or FMA",
      "MUFU",    "conversion",   "double", "LSU", "tensor memory",
      "uniform", "control",      "tensor"};
  return names[unsigned(pipe)];
}

/// Calls `read` with the offset of each register that an instruction reads, its
/// guard first.
static void forEachRead(const Program &program, const Inst &inst,
                        llvm::function_ref<void(uint32_t)> read) {
  if (inst.guard != Inst::noGuard)
    read(inst.guard);
  for (const Operand &operand :
       program.operandsOf(inst).drop_front(inst.numResults))
    if (operand.bank == 0)
      read(operand.offset);
}

/// Calls `write` with the offset of each register that an instruction writes.
static void forEachWrite(const Program &program, const Inst &inst,
                         llvm::function_ref<void(uint32_t)> write) {
  for (const Operand &operand :
       program.operandsOf(inst).take_front(inst.numResults))
    if (operand.bank == 0 && !operand.sink)
      write(operand.offset);
}

namespace {

/// The schedule of one stretch of instructions without a branch or a fence.
class Stretch {
public:
  Stretch(const Program &program, const TimingParameters &parameters,
          IssueCosts &costs)
      : program(program), parameters(parameters), costs(costs) {}

  void run(uint32_t begin, uint32_t end) {
    if (begin == end)
      return;
    first = begin;
    nodes.assign(end - begin, Node());
    findEdges();
    findHeights();
    order.clear();
    listSchedule();
    writeCosts();
  }

private:
  struct Node {
    InstructionClass kind;
    double latency = 0; ///< Of the result, variable ones included.
    double height = 0;  ///< Longest chain of latencies from here on.
    double at = 0;
    unsigned waitsFor = 0; ///< Producers that are not scheduled yet.
    llvm::SmallVector<unsigned, 4> producers, consumers;
  };

  const Inst &inst(unsigned node) const { return program.insts[first + node]; }

  void addEdge(unsigned from, unsigned to) {
    if (from == to || llvm::is_contained(nodes[to].producers, from))
      return;
    nodes[to].producers.push_back(from);
    nodes[from].consumers.push_back(to);
    ++nodes[to].waitsFor;
  }

  /// Edges from the writer of a register to its readers. Operands of removed
  /// instructions (moves) lead through to what they copy.
  void findEdges() {
    llvm::DenseMap<uint32_t, unsigned> writer; ///< By register offset.
    std::optional<unsigned> lastStore;
    for (unsigned i = 0; i < nodes.size(); ++i) {
      Node &node = nodes[i];
      node.kind = classify(inst(i));
      node.latency = resultLatency(node.kind, parameters);
      forEachRead(program, inst(i), [&](uint32_t offset) {
        auto it = writer.find(offset);
        if (it != writer.end())
          addEdge(it->second, i);
      });
      if (node.kind.pipe == Pipe::Lsu) {
        if (lastStore)
          addEdge(*lastStore, i);
        if (node.kind.source == ResultSource::Fixed)
          lastStore = i;
      }
      forEachWrite(program, inst(i),
                   [&](uint32_t offset) { writer[offset] = i; });
    }
  }

  void findHeights() {
    for (unsigned i = nodes.size(); i-- > 0;) {
      double below = 0;
      for (unsigned consumer : nodes[i].consumers)
        below = std::max(below, nodes[consumer].height);
      nodes[i].height = below + std::max(nodes[i].latency, 1.0);
    }
  }

  /// Fills `order`, greedily.
  void listSchedule() {
    auto isLess = [&](unsigned a, unsigned b) {
      return std::make_pair(nodes[a].height, b) <
             std::make_pair(nodes[b].height, a);
    };
    std::priority_queue<unsigned, std::vector<unsigned>, decltype(isLess)>
        ready(isLess);
    using Pending = std::pair<double, unsigned>;
    std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending;
    // Nothing moves behind the instruction that ends the stretch.
    unsigned last = nodes.size() - 1;
    bool isFenced = nodes[last].kind.isFence;
    nodes[last].waitsFor += isFenced;
    for (unsigned i = 0; i < nodes.size(); ++i)
      if (nodes[i].waitsFor == 0)
        ready.push(i);
    double now = 0;
    while (!ready.empty() || !pending.empty()) {
      if (ready.empty())
        now = std::max(now, pending.top().first);
      while (!pending.empty() && pending.top().first <= now) {
        ready.push(pending.top().second);
        pending.pop();
      }
      unsigned best = ready.top();
      ready.pop();
      order.push_back(best);
      nodes[best].at = now;
      for (unsigned consumer : nodes[best].consumers)
        if (--nodes[consumer].waitsFor == 0)
          pending.push({readyAt(consumer), consumer});
      now += nodes[best].kind.count;
    }
    if (isFenced)
      order.push_back(last);
  }

  double readyAt(unsigned node) const {
    double result = 0;
    for (unsigned producer : nodes[node].producers)
      result = std::max(result, nodes[producer].at + nodes[producer].latency);
    return result;
  }

  /// Issue times in that order with fixed latencies alone, and from them clocks
  /// and waits.
  void writeCosts() {
    double now = 0;
    for (unsigned i : order) {
      Node &node = nodes[i];
      for (unsigned producer : node.producers)
        if (!nodes[producer].kind.isVariable())
          now = std::max(now, nodes[producer].at + nodes[producer].latency);
      node.at = now;
      now += node.kind.count;
    }
    for (unsigned at = 0; at < order.size(); ++at) {
      Node &node = nodes[order[at]];
      IssueCost &cost = costs.of(inst(order[at]));
      cost[node.kind.pipe] += node.kind.count;
      bool isBranch = inst(order[at]).target != 0;
      cost.clocks = (isBranch ? parameters[TimingParameter::BranchClocks] : 0) +
                    (at + 1 < order.size() ? nodes[order[at + 1]].at : now) -
                    node.at;
      for (unsigned producer : node.producers)
        if (nodes[producer].kind.isVariable())
          cost.waits.push_back(
              {inst(producer).line, float(node.at - nodes[producer].at)});
    }
  }

  const Program &program;
  const TimingParameters &parameters;
  IssueCosts &costs;
  uint32_t first = 0;
  std::vector<Node> nodes;
  std::vector<unsigned> order;
};

} // namespace

/// A result of variable latency that a later stretch uses: the distance is not
/// known, and taken as that of the PTX.
static void addFarWaits(const Program &program, const FunctionInfo &function,
                        IssueCosts &costs) {
  struct Writer {
    uint32_t pc = 0;
    double clocks = 0;
  };
  llvm::DenseMap<uint32_t, Writer> writers;
  double clocks = 0;
  // The second pass sees the writers at the end of loops.
  for (unsigned pass = 0; pass < 2; ++pass)
    for (uint32_t pc = function.pc; pc < function.pcEnd; ++pc) {
      const Inst &inst = program.insts[pc];
      IssueCost &cost = costs.of(inst);
      forEachRead(program, inst, [&](uint32_t offset) {
        auto it = writers.find(offset);
        if (it == writers.end())
          return;
        uint32_t line = program.insts[it->second.pc].line;
        bool isKnown = llvm::any_of(
            cost.waits, [&](const auto &wait) { return wait.line == line; });
        bool isLater = it->second.pc >= pc;
        if (!isKnown && (pass == 0 || isLater))
          cost.waits.push_back({line, float(clocks - it->second.clocks)});
      });
      bool isVariable = classify(inst).isVariable();
      forEachWrite(program, inst, [&](uint32_t offset) {
        if (isVariable)
          writers[offset] = {pc, clocks};
        else
          writers.erase(offset);
      });
      clocks += cost.clocks;
    }
}

IssueCosts fa4::sim::issueCostsFromForms(const Program &program) {
  IssueCosts costs(program, "table of PTX forms");
  std::optional<TimingParameters> parameters =
      timingParameters(program.chip->chip);
  if (!parameters)
    return costs;
  std::vector<bool> starts(program.insts.size() + 1);
  for (const Inst &inst : program.insts)
    if (inst.target)
      starts[inst.target] = true;
  Stretch stretch(program, *parameters, costs);
  for (const FunctionInfo &function : program.functions) {
    uint32_t begin = function.pc;
    for (uint32_t pc = function.pc; pc < function.pcEnd; ++pc) {
      if (starts[pc]) {
        stretch.run(begin, pc);
        begin = pc;
      }
      if (classify(program.insts[pc]).isFence) {
        stretch.run(begin, pc + 1);
        begin = pc + 1;
      }
    }
    stretch.run(begin, function.pcEnd);
    addFarWaits(program, function, costs);
  }
  return costs;
}
