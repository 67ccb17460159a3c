//===- Decoder.cpp - layout of a module, decoding of its functions --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "InstructionDecoder.h"
#include "RegisterSlots.h"
#include "fa4/Simulator/Machine/State.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace fa4::sim;

//===----------------------------------------------------------------------===//
// Opcode table
//===----------------------------------------------------------------------===//

void OpcodeTable::add(llvm::StringRef name, FamilyDecoder decoder) {
  table[name] = decoder;
}

FamilyDecoder OpcodeTable::find(llvm::ArrayRef<llvm::StringRef> words,
                                unsigned &prefixWords) const {
  std::string name;
  FamilyDecoder best = nullptr;
  for (unsigned i = 0; i < words.size(); ++i) {
    name += (i ? "." : "") + words[i].str();
    auto it = table.find(name);
    if (it != table.end()) {
      best = it->second;
      prefixWords = i + 1;
    }
  }
  return best;
}

const OpcodeTable &OpcodeTable::get() {
  static const OpcodeTable table = [] {
    OpcodeTable t;
    registerIntegerOpcodes(t);
    registerFloatOpcodes(t);
    registerConvertOpcodes(t);
    registerMoveOpcodes(t);
    registerControlOpcodes(t);
    registerMemoryOpcodes(t);
    registerMatrixOpcodes(t);
    registerAtomicOpcodes(t);
    registerWarpOpcodes(t);
    registerBarrierOpcodes(t);
    registerMbarrierOpcodes(t);
    registerTensorMapOpcodes(t);
    registerStoreAsyncOpcodes(t);
    registerBulkCopyOpcodes(t);
    registerTcgen05Opcodes(t);
    registerWgmmaOpcodes(t);
    registerLaunchControlOpcodes(t);
    return t;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  alignment = std::max<uint64_t>(alignment, 1);
  return (value + alignment - 1) / alignment * alignment;
}

Decoder::Decoder(const ptx::Module &module, GlobalMemory &memory,
                 Program &program, const llvm::StringMap<uint64_t> &wanted)
    : module(module), memory(memory), program(program), wanted(wanted) {}

void Decoder::error(ptx::Location loc, const llvm::Twine &message) {
  constexpr unsigned maxErrors = 1000;
  if (++errorCount <= maxErrors)
    errors.push_back(module.locate(loc) + ": error: " + message.str());
}

/// Shared variables of the module and of its .funcs come first, then each
/// entry's own; dynamic shared memory starts behind the entry's. (Kernels take
/// its start for aligned when they have no static variables.)
void Decoder::layOutShared() {
  uint32_t end = sharedReservedBytes;
  auto place = [&](const ptx::Variable &v, uint32_t &at) {
    if (v.space != ptx::StateSpace::Shared || v.unsizedArray)
      return;
    at = alignTo(at, v.align);
    places[&v] = {MemSpace::Shared, at};
    at += v.bytes;
  };
  for (const ptx::Variable *v : module.variables)
    place(*v, end);
  for (const ptx::Function &f : module.functions)
    if (!f.isEntry)
      for (const ptx::Variable *v : f.variables)
        place(*v, end);
  uint32_t alignment = 16;
  for (const ptx::Variable &v : module.allVariables)
    if (v.space == ptx::StateSpace::Shared && v.unsizedArray)
      alignment = std::max(alignment, v.align);
  sharedEnd = alignTo(end, alignment);
  for (const ptx::Function &f : module.functions) {
    if (!f.isEntry)
      continue;
    uint32_t at = end;
    for (const ptx::Variable *v : f.variables)
      place(*v, at);
    entrySharedEnd[&f] = alignTo(at, alignment);
    sharedEnd = std::max(sharedEnd, entrySharedEnd[&f]);
  }
  placeDynamicShared(sharedEnd);
}

void Decoder::placeDynamicShared(uint32_t address) {
  for (const ptx::Variable &v : module.allVariables)
    if (v.space == ptx::StateSpace::Shared && v.unsizedArray)
      places[&v] = {MemSpace::Shared, address};
}

bool Decoder::layOutGlobals() {
  llvm::SmallPtrSet<const ptx::Variable *, 4> known;
  for (const ptx::Variable &v : module.allVariables) {
    if (v.space != ptx::StateSpace::Global && v.space != ptx::StateSpace::Const)
      continue;
    std::string name = "." + v.name.str();
    uint64_t bytes = std::max<uint64_t>(v.bytes, 1);
    uint64_t address = wanted.lookup(v.name);
    // Another module of the session may be the same one, with its variables,
    // whose contents stay as they are.
    const Allocation *same = address ? memory.find(address) : nullptr;
    if (same && same->address == address && same->bytes == bytes &&
        same->name == name) {
      places[&v] = {MemSpace::Global, address};
      known.insert(&v);
      continue;
    }
    auto allocation = memory.allocate(name, bytes, address);
    if (!allocation) {
      error(v.loc, llvm::toString(allocation.takeError()));
      return false;
    }
    std::copy(v.initialiser.begin(), v.initialiser.end(), (*allocation)->data);
    places[&v] = {MemSpace::Global, (*allocation)->address};
  }
  for (const ptx::Variable &v : module.allVariables)
    if (!v.relocations.empty() && !known.contains(&v) && !relocate(v))
      return false;
  return true;
}

bool Decoder::relocate(const ptx::Variable &variable) {
  for (const ptx::Relocation &r : variable.relocations) {
    auto it = places.find(r.variable);
    if (!r.variable || it == places.end()) {
      error(r.loc, "initialiser with the address of '" + r.name +
                       "' is not supported");
      continue;
    }
    sharesDynamic |= r.variable->unsizedArray;
    uint64_t value = it->second.address + r.addend;
    if (r.generic && it->second.space == MemSpace::Shared)
      value += sharedWindow;
    value >>= r.shift;
    uint8_t *data =
        memory.resolve(places[&variable].address + r.offset, r.bytes);
    if (data)
      std::memcpy(data, &value, std::min<uint32_t>(r.bytes, 8));
  }
  return true;
}

/// Sizes that no device has room for are an error here, instead of a failed
/// allocation later.
void Decoder::checkSizes() {
  constexpr uint64_t maxShared = 1 << 20, maxLocal = 512 << 10;
  uint64_t shared = 0, local = 0;
  for (const ptx::Variable &v : module.allVariables) {
    uint64_t bytes = std::min<uint64_t>(v.bytes, 1ull << 40);
    if (v.space == ptx::StateSpace::Shared)
      shared += bytes;
    else if (v.space == ptx::StateSpace::Local ||
             v.space == ptx::StateSpace::Param)
      local += bytes;
    if (v.align > 4096)
      error(v.loc, "alignment of '" + v.name + "' is over 4096");
  }
  if (shared > maxShared)
    error({}, llvm::Twine(shared) + " bytes of shared variables are too many");
  if (local > maxLocal)
    error({}, llvm::Twine(local) + " bytes of local variables are too many");
}

/// Predicates, which are small, come before all other registers.
void Decoder::layOutPredicates() {
  static_assert(unsigned(ptx::RegisterClass::Pred) == 0);
  for (const ptx::Function &f : module.functions) {
    registerBase[&f] = {predicateEnd};
    predicateEnd += 4 * f.registerCount[0];
  }
  predicateEnd = registerEnd = alignTo(predicateEnd, 64);
}

/// Other registers, local variables and the parameters that live in local
/// memory.
void Decoder::layOutFunction(const ptx::Function &f) {
  static constexpr uint32_t slotBytes[] = {4, 128, 128, 128, 256, 512};
  std::array<uint32_t, 6> &base = registerBase.find(&f)->second;
  for (unsigned cls = 1; cls < ptx::numRegisterClasses; ++cls) {
    registerEnd = alignTo(registerEnd, 64);
    base[cls] = registerEnd;
    registerEnd += f.registerCount[cls] * slotBytes[cls];
  }
  registerEnd = alignTo(registerEnd, 64);
  auto placeLocal = [&](const ptx::Variable &v) {
    localEnd = alignTo(localEnd, std::max(v.align, 16u));
    places[&v] = {MemSpace::Local, localEnd};
    localEnd += v.bytes;
  };
  for (const ptx::Variable *v : f.variables)
    if (v->space == ptx::StateSpace::Local ||
        v->space == ptx::StateSpace::Param)
      placeLocal(*v);
  for (const ptx::Variable *v : f.params) {
    if (v->space != ptx::StateSpace::Param)
      continue;
    if (f.isEntry)
      places[v] = {MemSpace::Param, v->paramOffset};
    else
      placeLocal(*v);
  }
  for (const ptx::Variable *v : f.results)
    if (v->space == ptx::StateSpace::Param)
      placeLocal(*v);
}

Operand Decoder::registerOperand(const ptx::Register &reg) const {
  static constexpr uint32_t slotBytes[] = {4, 128, 128, 128, 256, 512};
  static constexpr uint8_t widths[] = {0, 4, 4, 4, 8, 16};
  unsigned cls = unsigned(reg.cls);
  Operand op;
  op.offset = registerBase.find(current)->second[cls] + reg.id * slotBytes[cls];
  op.width = widths[cls];
  return op;
}

uint32_t Decoder::constant(uint64_t value, unsigned bytes) {
  unsigned width = bytes == 0 ? 0 : bytes <= 4 ? 4 : bytes;
  if (bytes == 0)
    value = value ? ~0u : 0;
  else if (bytes < 8)
    value &= (1ull << 8 * std::max(bytes, 1u)) - 1;
  auto [it, isNew] = constantMap.try_emplace({value, width}, 0);
  if (!isNew)
    return it->second;
  uint32_t offset = constantBytes.size();
  it->second = offset;
  constantBytes.resize(offset + std::max(64u, width * warpSize));
  for (unsigned l = 0; l < warpSize; ++l) {
    if (width == 4)
      std::memcpy(&constantBytes[offset + 4 * l], &value, 4);
    else if (width >= 8)
      std::memcpy(&constantBytes[offset + 8 * l], &value, 8);
  }
  if (width == 0)
    std::memcpy(&constantBytes[offset], &value, 4);
  return offset;
}

uint32_t Decoder::temporary(unsigned width) {
  unsigned kind = width <= 4 ? 0 : width == 8 ? 1 : 2;
  auto &list = temporaries[kind];
  unsigned n = temporariesUsed[kind]++;
  if (n == list.size()) {
    registerEnd = alignTo(registerEnd, 64);
    list.push_back(registerEnd);
    registerEnd += 128u << kind;
  }
  return list[n];
}

void Decoder::finishConstants() {
  size_t size = constantBytes.size();
  program.constantStorage.reset(new uint8_t[size + 64]);
  uintptr_t raw = reinterpret_cast<uintptr_t>(program.constantStorage.get());
  uint8_t *bank = reinterpret_cast<uint8_t *>((raw + 63) & ~uintptr_t(63));
  std::copy(constantBytes.begin(), constantBytes.end(), bank);
  program.constantBank = bank;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Decoder::decodeFunction(const ptx::Function &f) {
  current = &f;
  FunctionInfo &info = program.functions[functionIndex[&f]];
  info.pc = program.insts.size();
  pcOfInstruction.clear();
  fixups.clear();
  for (const ptx::Instruction &source : f.instructions) {
    pcOfInstruction.push_back(program.insts.size());
    std::fill(std::begin(temporariesUsed), std::end(temporariesUsed), 0);
    InstructionDecoder(*this, source).run();
  }
  pcOfInstruction.push_back(program.insts.size());
  // Control that reaches the end of a function returns from it, or exits the
  // kernel.
  Inst end;
  end.handler = endOfFunction;
  end.form = f.isEntry;
  end.flags = Inst::Helper;
  end.opcode = "ret";
  if (!f.instructions.empty())
    end.line = f.instructions.back().loc.line;
  program.insts.push_back(end);
  info.pcEnd = program.insts.size();
  for (const Fixup &fixup : fixups)
    program.insts[fixup.inst].target = pcOfInstruction[fixup.target];
  for (auto &[list, targets] : listFixups)
    for (uint32_t target : targets)
      list->push_back(pcOfInstruction[target]);
  listFixups.clear();
}

void Decoder::makeEntry(const ptx::Function &f, uint32_t index) {
  EntryInfo entry;
  entry.function = index;
  for (const ptx::Variable *v : f.params)
    entry.params.push_back(
        {v->name.str(), uint32_t(v->paramOffset), uint32_t(v->bytes)});
  entry.paramBytes = f.paramBytes;
  entry.staticSharedBytes =
      (sharesDynamic ? sharedEnd : entrySharedEnd[&f]) - sharedReservedBytes;
  entry.localBytes = alignTo(localEnd, 16);
  for (const ptx::Variable &v : module.allVariables) {
    bool isForeign = v.owner && v.owner->isEntry && v.owner != &f;
    if (v.space != ptx::StateSpace::Shared || isForeign)
      continue;
    uint32_t offset = v.unsizedArray
                          ? sharedReservedBytes + entry.staticSharedBytes
                          : uint32_t(places.lookup(&v).address);
    entry.sharedSymbols.push_back({offset, v.bytes, v.name.str()});
  }
  const ptx::FunctionDirectives &d = f.directives;
  for (unsigned i = 0; i < 3; ++i) {
    entry.reqNtid[i] = d.reqntid[i];
    entry.maxNtid[i] = d.maxntid[i];
    entry.reqCluster[i] = d.reqnctapercluster[i];
  }
  entry.maxNreg = d.maxnreg;
  entry.minNctaPerSm = d.minnctapersm;
  entry.maxClusterRank = d.maxclusterrank;
  entry.explicitCluster = d.explicitcluster;
  const FunctionInfo &info = program.functions[index];
  for (uint32_t pc = info.pc; pc < info.pcEnd; ++pc)
    if (program.insts[pc].opcode.starts_with("setmaxnreg.inc"))
      entry.largestBudget =
          std::max(entry.largestBudget, uint32_t(program.insts[pc].form));
  program.entries.push_back(std::move(entry));
}

/// Marks what touches a register that a wgmma may be using.
void Decoder::markMmaRegisters() {
  llvm::DenseSet<uint32_t> used;
  for (const Inst &inst : program.insts)
    if (inst.flags & Inst::Wgmma)
      for (const Operand &op : program.operandsOf(inst).take_front(inst.form2))
        used.insert(op.offset);
  if (used.empty())
    return;
  for (Inst &inst : program.insts) {
    if (inst.flags & Inst::Wgmma)
      continue;
    for (const Operand &op : program.operandsOf(inst))
      if (op.bank == 0 && op.width == 4 && used.contains(op.offset))
        inst.flags |= Inst::MmaRegisters;
  }
}

/// Each function has one frame for its registers and parameters.
void Decoder::checkRecursion() {
  llvm::DenseMap<const ptx::Function *, int> state;
  std::function<void(const ptx::Function *)> visit =
      [&](const ptx::Function *f) {
        state[f] = 1;
        for (const ptx::Function *callee : calls[f]) {
          if (state[callee] == 1)
            error(callee->loc,
                  "recursive function '" + callee->name + "' is not supported");
          else if (state[callee] == 0)
            visit(callee);
        }
        state[f] = 2;
      };
  for (const ptx::Function &f : module.functions)
    if (state[&f] == 0)
      visit(&f);
}

llvm::Error Decoder::run() {
  program.fileName = module.fileName;
  program.module = &module;
  findChip();
  if (module.addressSize != 64)
    error({}, ".address_size 32 is not supported");
  checkSizes();
  if (errors.empty())
    layOutShared();
  if (errors.empty() && layOutGlobals()) {
    layOutPredicates();
    for (const ptx::Function &f : module.functions) {
      if (!f.hasBody)
        continue;
      layOutFunction(f);
      functionIndex[&f] = program.functions.size();
      FunctionInfo info;
      info.name = f.name.str();
      info.isEntry = f.isEntry;
      info.ast = &f;
      program.functions.push_back(std::move(info));
    }
    for (const ptx::Function &f : module.functions)
      if (f.hasBody && !f.isEntry)
        decodeFunction(f);
    for (const ptx::Function &f : module.functions) {
      if (!f.hasBody || !f.isEntry)
        continue;
      if (!sharesDynamic)
        placeDynamicShared(entrySharedEnd[&f]);
      decodeFunction(f);
    }
    for (auto &[inst, callee] : callFixups)
      program.insts[inst].target = program.functions[functionIndex[callee]].pc;
    checkRecursion();
    for (const ptx::Function &f : module.functions)
      if (f.hasBody && f.isEntry)
        makeEntry(f, functionIndex[&f]);
  }
  if (errorCount > errors.size())
    errors.push_back(module.fileName +
                     ": error: " + std::to_string(errorCount - errors.size()) +
                     " more errors");
  if (!errors.empty())
    return llvm::createStringError(llvm::join(errors, "\n"));
  if (program.entries.empty())
    return llvm::createStringError(module.fileName + ": error: no .entry");
  markMmaRegisters();
  finishConstants();
  shareRegisters(program, predicateEnd, registerEnd);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Program>>
Program::decode(const ptx::Module &module, GlobalMemory &memory,
                const llvm::StringMap<uint64_t> &places) {
  auto program = std::make_unique<Program>();
  if (llvm::Error error = Decoder(module, memory, *program, places).run())
    return std::move(error);
  return program;
}

std::string EntryInfo::describeShared(uint32_t offset) const {
  std::string place = llvm::formatv("shared {0:x}", offset).str();
  for (const SharedSymbol &symbol : sharedSymbols) {
    uint64_t within = uint64_t(offset) - symbol.offset;
    if (offset < symbol.offset || (symbol.bytes && within >= symbol.bytes))
      continue;
    std::string name = symbol.name;
    if (within)
      name += "+" + std::to_string(within);
    return name + " (" + place + ")";
  }
  return place;
}

llvm::SmallVector<uint32_t, 2> Program::successorsOf(uint32_t pc) const {
  const Inst &inst = insts[pc];
  llvm::StringRef root = inst.root();
  llvm::SmallVector<uint32_t, 2> successors;
  if (root == "bra")
    successors.push_back(inst.target);
  if (root == "brx" && inst.extra)
    llvm::append_range(successors,
                       *static_cast<const std::vector<uint32_t> *>(inst.extra));
  bool leaves = root == "bra" || root == "brx" || root == "ret" ||
                root == "exit" || root == "trap";
  if (!leaves || inst.guard != Inst::noGuard)
    successors.push_back(pc + 1);
  return successors;
}

std::string Program::lineOf(const Inst &inst) const {
  std::string text = "line " + std::to_string(inst.line);
  std::string source = module->sourceOf(inst.line);
  return source.empty() ? text : text + " (" + source + ")";
}

std::string Program::locate(const Inst &inst) const {
  return fileName + ":" + std::to_string(inst.line);
}
