//===- MachineCodeCosts.cpp - machine code charged to PTX -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The line from which a machine instruction comes is not always executed as
// often, or at the same time: ptxas moves invariants out of loops, copies loop
// bodies, and moves arithmetic across barriers and waits. So the instructions
// that keep their places, the *anchors* (synchronising and asynchronous ones),
// divide both texts into stretches, and a machine instruction is charged within
// the stretch, and the loop, in which it stands. Its own line is taken if that
// stands there, too, else the nearest instruction whose line does.
//
//===----------------------------------------------------------------------===//

#include "LoopForest.h"
#include "fa4/Simulator/Timing/MachineCode.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <map>
#include <set>

using namespace fa4::sim;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Anchors
//===----------------------------------------------------------------------===//

namespace {

/// Instructions that ptxas keeps in the order of the PTX, by what they are.
enum class Anchor : uint8_t {
  None,
  Product,
  GroupBegin,
  GroupWait,
  Mbarrier,
  Barrier,
  Fence,
  Copy,
  CopyWait,
  TensorMemory,
  TensorCommit,
  Registers,
  Launch,
};

} // namespace

static Anchor anchorOf(const Inst &inst) {
  StringRef opcode = inst.opcode;
  auto is = [&](StringRef name) { return opcode.starts_with(name); };
  if (is("wgmma.mma_async") || is("tcgen05.mma") || is("tcgen05.cp"))
    return Anchor::Product;
  if (is("wgmma.fence"))
    return Anchor::GroupBegin;
  if (is("wgmma.wait_group"))
    return Anchor::GroupWait;
  if (is("mbarrier.") && !is("mbarrier.init") && !is("mbarrier.inval"))
    return Anchor::Mbarrier;
  if (is("bar.") || is("barrier."))
    return is("bar.warp") ? Anchor::None : Anchor::Barrier;
  if (is("fence.") || is("membar."))
    return Anchor::Fence;
  if (is("cp.async.bulk.wait_group") || is("cp.async.wait"))
    return Anchor::CopyWait;
  if ((is("cp.async.bulk") && !is("cp.async.bulk.commit_group")) ||
      is("cp.reduce.async.bulk"))
    return Anchor::Copy;
  if (is("tcgen05.ld") || is("tcgen05.st"))
    return Anchor::TensorMemory;
  if (is("tcgen05.commit"))
    return Anchor::TensorCommit;
  if (is("setmaxnreg"))
    return Anchor::Registers;
  if (is("griddepcontrol"))
    return Anchor::Launch;
  return Anchor::None;
}

static Anchor anchorOf(const MachineInst &inst) {
  StringRef opcode = inst.opcode, root = inst.root();
  if (machinePipe(opcode) == Pipe::Tensor)
    return root.starts_with("UTCBAR") ? Anchor::TensorCommit : Anchor::Product;
  if (opcode.starts_with("WARPGROUP.ARRIVE"))
    return Anchor::GroupBegin;
  if (opcode.starts_with("WARPGROUP.DEPBAR"))
    return Anchor::GroupWait;
  return llvm::StringSwitch<Anchor>(root)
      .Case("SYNCS", Anchor::Mbarrier)
      .Cases({"BAR", "UCGABAR_ARV", "UCGABAR_WAIT"}, Anchor::Barrier)
      .Cases({"FENCE", "MEMBAR"}, Anchor::Fence)
      .Cases({"DEPBAR", "LDGDEPBAR"}, Anchor::CopyWait)
      .Cases({"UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED"},
             Anchor::Copy)
      .Cases({"LDTM", "STTM"}, Anchor::TensorMemory)
      .Case("USETMAXREG", Anchor::Registers)
      .Cases({"ACQBULK", "PREEXIT"}, Anchor::Launch)
      .Default(Anchor::None);
}

/// Returns true for anchors that only signal, or only begin something: nothing
/// of the own warp waits for them. ptxas delays arrivals until registers are
/// free, behind arithmetic that the PTX has behind them.
static bool isSignal(const MachineInst &inst) {
  StringRef opcode = inst.opcode;
  return anchorOf(inst) == Anchor::Copy ||
         anchorOf(inst) == Anchor::TensorCommit ||
         opcode.starts_with("SYNCS.ARRIVE") || opcode.starts_with("BAR.ARV") ||
         opcode.starts_with("UCGABAR_ARV");
}

/// Returns true if a wgmma and its machine instruction have the same shape:
/// "m64n128k16" and "HGMMA.64x128x16". Others have no shape in their names.
static bool haveSameShape(const Inst &ptx, const MachineInst &inst) {
  StringRef shape = StringRef(inst.opcode).split('.').second.split('.').first;
  auto [m, rest] = shape.split('x');
  auto [n, k] = rest.split('x');
  if (k.empty())
    return true;
  std::string wanted = (".m" + m + "n" + n + "k" + k + ".").str();
  return ptx.opcode.contains(wanted);
}

//===----------------------------------------------------------------------===//
// The PTX
//===----------------------------------------------------------------------===//

namespace {

/// What of a PTX function decides where machine code belongs.
struct PtxView {
  PtxView(const Program &program, const FunctionInfo &function);

  bool contains(int pc) const { return pc >= int(first) && pc < int(end); }
  const Inst &at(int pc) const { return program.insts[pc]; }
  int loopOf(int pc) const { return loops.innermost[pc - first]; }
  /// The instruction of the line to which a machine instruction belongs; -1 if
  /// the function has none.
  int find(const MachineInst &inst) const;
  /// The first product of that shape behind an instruction, or -1.
  int nextProduct(int pc, const MachineInst &inst) const;

  const Program &program;
  uint32_t first, end;
  LoopForest loops;
  llvm::DenseMap<uint32_t, llvm::SmallVector<uint32_t, 2>> byLine;
  std::vector<uint32_t> products;
};

} // namespace

/// Takes loops that only wait out of a forest; what they contain belongs to the
/// loops around them. Returns the nodes that were in such loops.
static std::vector<bool>
removeWaits(LoopForest &loops,
            llvm::function_ref<bool(llvm::ArrayRef<unsigned>)> isWait) {
  std::vector<bool> removed(loops.innermost.size());
  for (const LoopForest::Loop &loop : llvm::reverse(loops.loops)) {
    constexpr size_t longest = 12;
    int number = &loop - loops.loops.data();
    bool isInnermost = llvm::none_of(
        loops.loops, [&](const auto &other) { return other.parent == number; });
    if (!isInnermost || loop.nodes.size() > longest || !isWait(loop.nodes))
      continue;
    for (unsigned node : loop.nodes) {
      loops.innermost[node] = loop.parent;
      removed[node] = true;
    }
  }
  return removed;
}

PtxView::PtxView(const Program &program, const FunctionInfo &function)
    : program(program), first(function.pc), end(function.pcEnd) {
  for (uint32_t pc = first; pc < end; pc++) {
    const Inst &inst = program.insts[pc];
    byLine[inst.line].push_back(pc);
    if (anchorOf(inst) == Anchor::Product)
      products.push_back(pc);
  }
  loops = findLoops(findSuccessors(program, first, end));
  removeWaits(loops, [&](llvm::ArrayRef<unsigned> nodes) {
    return llvm::any_of(nodes, [&](unsigned node) {
      StringRef opcode = at(first + node).opcode;
      return opcode.starts_with("mbarrier.try_wait") ||
             opcode.starts_with("mbarrier.test_wait");
    });
  });
}

/// The unit of an instruction as far as it tells those of a line apart.
enum class Unit : uint8_t { Memory, Mufu, Other };

static Unit unitOf(const Inst &inst) {
  return llvm::StringSwitch<Unit>(StringRef(inst.opcode).split('.').first)
      .Cases({"ld", "st", "atom", "red", "shfl", "ldmatrix", "stmatrix"},
             Unit::Memory)
      .Cases({"mbarrier", "match"}, Unit::Memory)
      .Cases({"ex2", "lg2", "rcp", "rsqrt", "sqrt", "tanh", "sin", "cos"},
             Unit::Mufu)
      .Default(Unit::Other);
}

static Unit unitOf(const MachineInst &inst) {
  Pipe pipe = machinePipe(inst.opcode);
  return pipe == Pipe::Lsu    ? Unit::Memory
         : pipe == Pipe::Mufu ? Unit::Mufu
                              : Unit::Other;
}

int PtxView::find(const MachineInst &inst) const {
  auto it = byLine.find(inst.line);
  if (it == byLine.end())
    return -1;
  // Of several instructions of a line, the one of the same kind, else the
  // first one that goes to the same unit, else the first one that the PTX has.
  Anchor kind = anchorOf(inst);
  int first = -1, ofUnit = -1;
  for (uint32_t pc : it->second) {
    if (at(pc).flags & Inst::Helper)
      continue;
    if (first == -1)
      first = pc;
    if (kind != Anchor::None && anchorOf(at(pc)) == kind)
      return pc;
    if (ofUnit == -1 && unitOf(at(pc)) == unitOf(inst))
      ofUnit = pc;
  }
  if (ofUnit != -1)
    return ofUnit;
  return first != -1 ? first : int(it->second.front());
}

int PtxView::nextProduct(int pc, const MachineInst &inst) const {
  for (auto it = llvm::upper_bound(products, pc); it != products.end(); ++it)
    if (haveSameShape(at(*it), inst))
      return *it;
  return -1;
}

//===----------------------------------------------------------------------===//
// Charging
//===----------------------------------------------------------------------===//

namespace {

/// Charges the machine code of one function.
class Charger {
public:
  Charger(const PtxView &ptx, const MachineFunction &code)
      : ptx(ptx), insts(code.insts), nodes(code.insts.size()) {}

  ChargeReport charge(IssueCosts &costs);

private:
  struct Node {
    /// The PTX instruction from which the machine instruction comes; -1 if that
    /// is unknown.
    int own = -1;
    /// The PTX instruction that bears the costs; -1 for none.
    int charged = -1;
    bool isAnchor = false;
    /// Where a stretch begins: the PTX instruction of the anchor; else -1.
    int boundary = -1;
    bool isDropped = false; ///< Bears no costs.
  };

  void findMachineLoops();
  void dropWaits();
  void matchAnchors();
  size_t findEffect(size_t anchor) const;
  void findHomes();
  void dropPeeled();
  void chargeStretches();
  void chargeStretch(size_t begin, size_t end);
  void countCopies();
  float copiesOf(int pc) const;
  void addWaits(IssueCosts &costs);
  void addWait(IssueCosts &costs, size_t node, unsigned scoreboard);
  /// The PTX loop to which the machine loop around a node belongs, or -1.
  int homeOf(size_t node) const {
    int loop = loops.innermost[node];
    return loop == -1 ? -1 : homes[loop];
  }
  /// The innermost loop around a PTX instruction that is a loop of the machine
  /// code, too.
  int loopOf(int pc) const;

  const PtxView &ptx;
  llvm::ArrayRef<MachineInst> insts;
  std::vector<Node> nodes;
  LoopForest loops;
  std::vector<bool> inWait;
  /// Of each machine loop, the PTX loop.
  std::vector<int> homes;
  std::set<int> homeLoops;
  /// Copies of each anchor's PTX instruction.
  std::map<int, unsigned> anchorCopies;
  /// Copies of the bodies of PTX loops without anchors, by the loop.
  std::map<int, unsigned> loopCopies;
  ChargeReport report;
};

} // namespace

void Charger::findMachineLoops() {
  std::vector<llvm::SmallVector<unsigned, 2>> successors(insts.size());
  for (size_t i = 0; i < insts.size(); i++) {
    if (insts[i].target != -1)
      successors[i].push_back(insts[i].target);
    if (insts[i].fallsThrough && i + 1 < insts.size())
      successors[i].push_back(i + 1);
  }
  loops = findLoops(successors);
  inWait = removeWaits(loops, [&](llvm::ArrayRef<unsigned> members) {
    return llvm::any_of(members,
                        [&](unsigned i) { return insts[i].root() == "SYNCS"; });
  });
}

/// A wait for an mbarrier is tried once in line, and goes on in a loop behind
/// the function's code. The machine executes the try alone.
void Charger::dropWaits() {
  std::set<int> tried;
  for (size_t i = 0; i < insts.size(); i++)
    if (insts[i].root() == "SYNCS" && !inWait[i])
      tried.insert(nodes[i].own);
  bool drops = false;
  for (size_t i = 0; i < insts.size(); i++) {
    if (inWait[i]) {
      if (insts[i].root() == "SYNCS")
        drops = tried.count(nodes[i].own);
      nodes[i].isDropped = drops;
    } else if (i && inWait[i - 1] && nodes[i - 1].isDropped) {
      // The branch back from the loop into the code.
      nodes[i].isDropped = insts[i].root() == "BRA" && !insts[i].fallsThrough;
    }
    report.waiting += nodes[i].isDropped;
  }
}

/// Returns the instruction at which an anchor holds the warp up: itself, or,
/// for a try of an mbarrier, the first one that needs the result. What stands
/// between the two is executed while the warp waits.
size_t Charger::findEffect(size_t anchor) const {
  constexpr size_t farthest = 1000;
  const MachineInst &inst = insts[anchor];
  if (inst.root() != "SYNCS" ||
      inst.resultScoreboard == MachineInst::noScoreboard)
    return anchor;
  size_t end = std::min(anchor + farthest, insts.size());
  for (size_t i = anchor + 1; i < end; i++)
    if (insts[i].waitMask >> inst.resultScoreboard & 1)
      return i;
  return anchor;
}

/// nvdisasm names no line for products of warpgroups: they follow each other in
/// the order of the PTX.
void Charger::matchAnchors() {
  int last = int(ptx.first) - 1;
  for (size_t i = 0; i < insts.size(); i++) {
    Node &node = nodes[i];
    Anchor kind = anchorOf(insts[i]);
    if (node.isDropped || kind == Anchor::None)
      continue;
    bool isNamed = node.own != -1 && anchorOf(ptx.at(node.own)) == kind;
    if (kind == Anchor::Product &&
        (!isNamed || insts[i].root().ends_with("GMMA"))) {
      int product = ptx.nextProduct(last, insts[i]);
      isNamed = product != -1;
      if (isNamed)
        node.own = product;
    }
    node.isAnchor = isNamed;
    if (!isNamed)
      continue;
    last = node.own;
    if (!isSignal(insts[i]))
      nodes[findEffect(i)].boundary = node.own;
  }
}

/// Most lines of a machine loop are lines of its PTX loop.
void Charger::findHomes() {
  homes.assign(loops.loops.size(), -1);
  std::vector<std::map<int, unsigned>> votes(loops.loops.size());
  for (size_t i = 0; i < insts.size(); i++)
    if (int loop = loops.innermost[i];
        loop != -1 && !nodes[i].isDropped && nodes[i].own != -1)
      votes[loop][ptx.loopOf(nodes[i].own)]++;
  for (size_t loop = 0; loop < votes.size(); loop++) {
    unsigned most = 0;
    for (auto [home, count] : votes[loop])
      if (count > most) {
        most = count;
        homes[loop] = home;
      }
    homeLoops.insert(homes[loop]);
  }
}

int Charger::loopOf(int pc) const {
  int loop = ptx.loopOf(pc);
  while (loop != -1 && !homeLoops.count(loop))
    loop = ptx.loops.loops[loop].parent;
  return loop;
}

/// Where ptxas has copied iterations out of a loop, the loop itself says what
/// an iteration costs.
void Charger::dropPeeled() {
  // By PTX instruction and opcode: whether the loop has it.
  std::set<std::pair<int, StringRef>> inLoop;
  for (size_t i = 0; i < insts.size(); i++)
    if (nodes[i].own != -1 && homeOf(i) == loopOf(nodes[i].own))
      inLoop.insert({nodes[i].own, insts[i].root()});
  for (size_t i = 0; i < insts.size(); i++) {
    Node &node = nodes[i];
    if (node.isDropped || node.own == -1)
      continue;
    int home = homeOf(i), loop = loopOf(node.own);
    bool isOutside = home != loop && ptx.loops.contains(home, loop);
    if (home == -1)
      isOutside = loop != -1;
    if (isOutside && inLoop.count({node.own, insts[i].root()})) {
      node.isDropped = true;
      node.isAnchor = false;
      nodes[findEffect(i)].boundary = -1;
      report.peeled++;
    }
  }
}

void Charger::chargeStretches() {
  size_t begin = 0;
  for (size_t i = 0; i <= insts.size(); i++)
    if (i == insts.size() || (nodes[i].boundary != -1 && i != begin)) {
      chargeStretch(begin, i);
      begin = i;
    }
}

/// The machine instructions from `begin`, a boundary except at the function's
/// begin, to `end`, the next boundary.
void Charger::chargeStretch(size_t begin, size_t end) {
  int from = nodes[begin].boundary;
  if (from == -1)
    from = ptx.first;
  int to = end < insts.size() ? nodes[end].boundary : int(ptx.end);
  auto isBetween = [&](int pc) {
    // A stretch that runs over the end of a loop begins at the loop's head.
    return from <= to ? pc >= from && pc <= to : pc >= from || pc <= to;
  };
  auto fits = [&](size_t i) {
    const Node &node = nodes[i];
    return !node.isDropped && node.own != -1 && isBetween(node.own) &&
           loopOf(node.own) == homeOf(i);
  };
  // The nearest instruction before or behind one that bears its own costs. A
  // boundary's costs come before it takes effect, and so those of the code
  // behind it are not among them, but may be among those of the next boundary.
  auto nearest = [&](size_t i) -> int {
    auto takes = [&](size_t other) {
      return nodes[other].boundary == -1 && fits(other) &&
             homeOf(other) == homeOf(i);
    };
    // What stands behind a signal does not delay it, and what stands in front
    // of it does.
    bool isBehind = true, isBefore = true;
    for (size_t distance = 1; distance < end - begin; distance++) {
      isBehind &= i >= begin + distance && !nodes[i - distance].isAnchor;
      if (isBehind && takes(i - distance))
        return nodes[i - distance].own;
      if (isBefore && i + distance < end) {
        if (takes(i + distance))
          return nodes[i + distance].own;
        isBefore = !nodes[i + distance].isAnchor;
      }
    }
    for (int pc : {end < insts.size() ? to : -1, from + 1, from})
      if (ptx.contains(pc) && loopOf(pc) == homeOf(i))
        return pc;
    return nodes[i].own;
  };
  for (size_t i = begin; i < end; i++) {
    Node &node = nodes[i];
    if (node.isDropped)
      continue;
    node.charged = node.isAnchor || fits(i) ? node.own : nearest(i);
    report.moved += node.charged != node.own;
  }
}

/// ptxas copies whole stretches of code, with their anchors.
void Charger::countCopies() {
  using Counts = llvm::MapVector<StringRef, unsigned>;
  std::map<int, Counts> counts;
  for (size_t i = 0; i < insts.size(); i++)
    if (nodes[i].charged != -1 && nodes[i].charged == nodes[i].own)
      counts[nodes[i].own][insts[i].opcode]++;
  auto least = [](const Counts &of) {
    unsigned result = ~0u;
    for (auto [opcode, count] : of)
      result = std::min(result, count);
    return result;
  };
  for (size_t i = 0; i < insts.size(); i++)
    if (nodes[i].isAnchor)
      anchorCopies[nodes[i].own] = least(counts[nodes[i].own]);
  // Where there is no anchor: as many copies as most instructions have. ptxas
  // merges the steps of counters, and so some lines have less.
  std::map<int, std::map<unsigned, unsigned>> votes;
  for (auto &[pc, of] : counts)
    votes[loopOf(pc)][least(of)] += least(of);
  for (auto &[loop, byCopies] : votes) {
    auto most = llvm::max_element(byCopies, [](const auto &a, const auto &b) {
      return a.second < b.second;
    });
    loopCopies[loop] = most->first;
  }
}

float Charger::copiesOf(int pc) const {
  int loop = loopOf(pc);
  auto behind = anchorCopies.upper_bound(pc);
  for (auto it = behind; it != anchorCopies.begin();) {
    --it;
    if (loopOf(it->first) == loop)
      return it->second;
  }
  for (auto it = behind; it != anchorCopies.end(); ++it)
    if (loopOf(it->first) == loop)
      return it->second;
  auto it = loopCopies.find(loop);
  return it == loopCopies.end() ? 1 : it->second;
}

/// The bytes that an instruction moves between a lane's registers and local
/// memory; 0 for one that does something else.
static unsigned localBytes(const MachineInst &inst) {
  if (inst.root() != "LDL" && inst.root() != "STL")
    return 0;
  StringRef opcode = inst.opcode;
  return opcode.ends_with(".128") ? 16 : opcode.ends_with(".64") ? 8 : 4;
}

/// Adds to the costs of a machine instruction that it waits for the last one
/// before it that signals on the scoreboard: in the code before it, or at the
/// end of the loop around it.
void Charger::addWait(IssueCosts &costs, size_t node, unsigned scoreboard) {
  constexpr size_t farthest = 2000;
  int loop = loops.innermost[node];
  float distance = 0;
  bool wrapped = false;
  size_t i = node;
  for (size_t steps = 0; steps < farthest; steps++) {
    bool isFirst = loop != -1 && i == loops.loops[loop].nodes.front();
    if (isFirst && wrapped)
      return;
    wrapped |= isFirst;
    if (i == 0 && !isFirst)
      return;
    i = isFirst ? loops.loops[loop].nodes.back() : i - 1;
    if (i == node)
      return;
    const MachineInst &inst = insts[i];
    if (nodes[i].isDropped)
      continue;
    distance += inst.stall;
    bool isResult = inst.resultScoreboard == scoreboard;
    if (!isResult && inst.operandScoreboard != scoreboard)
      continue;
    // Operands have been read soon; what waits for that never waits long. The
    // producer is the instruction that bears the producer's costs: that is when
    // the machine puts it on its pipe.
    if (!isResult || nodes[i].charged == -1)
      return;
    IssueCost &cost = costs.of(ptx.at(nodes[node].charged));
    bool isLocal = localBytes(inst) > 0;
    if (nodes[i].charged == nodes[node].charged) {
      if (isLocal)
        cost.localDistance =
            std::min(cost.localDistance.value_or(distance), distance);
      return;
    }
    uint32_t line = ptx.at(nodes[i].charged).line;
    auto known = llvm::find_if(cost.waits, [&](const auto &wait) {
      return wait.line == line && wait.isLocal == isLocal;
    });
    if (known == cost.waits.end())
      cost.waits.push_back({line, distance, isLocal});
    else
      known->distance = std::min(known->distance, distance);
    return;
  }
}

void Charger::addWaits(IssueCosts &costs) {
  for (size_t i = 0; i < insts.size(); i++)
    if (nodes[i].charged != -1 && !nodes[i].isDropped)
      for (unsigned scoreboard = 0; scoreboard < 6; scoreboard++)
        if (insts[i].waitMask >> scoreboard & 1)
          addWait(costs, i, scoreboard);
}

ChargeReport Charger::charge(IssueCosts &costs) {
  for (size_t i = 0; i < insts.size(); i++)
    nodes[i].own = ptx.find(insts[i]);
  findMachineLoops();
  dropWaits();
  matchAnchors();
  for (const Node &node : nodes)
    report.withoutLine += node.own == -1;
  findHomes();
  dropPeeled();
  chargeStretches();
  countCopies();
  for (size_t i = 0; i < insts.size(); i++) {
    if (nodes[i].isDropped || nodes[i].charged == -1)
      continue;
    float copies = copiesOf(nodes[i].charged);
    IssueCost &cost = costs.of(ptx.at(nodes[i].charged));
    cost[machinePipe(insts[i].opcode)] += 1 / copies;
    cost.clocks += insts[i].stall / copies;
    if (unsigned bytes = localBytes(insts[i])) {
      cost.localOps += 1 / copies;
      cost.localBytes += bytes / copies;
    }
  }
  addWaits(costs);
  report.instructions = insts.size();
  return report;
}

IssueCosts fa4::sim::chargeMachineCode(const Program &program,
                                       llvm::ArrayRef<MachineFunction> code,
                                       std::string source,
                                       std::vector<ChargeReport> *reports) {
  IssueCosts costs(program, std::move(source));
  for (const FunctionInfo &function : program.functions) {
    auto it = llvm::find_if(
        code, [&](const auto &f) { return f.name == function.name; });
    if (it == code.end())
      continue;
    PtxView ptx(program, function);
    ChargeReport report = Charger(ptx, *it).charge(costs);
    if (reports)
      reports->push_back(report);
  }
  return costs;
}
