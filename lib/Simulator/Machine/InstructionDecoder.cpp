//===- InstructionDecoder.cpp - one instruction of the tree ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InstructionDecoder.h"
#include "Numeric.h"
#include "fa4/Simulator/Machine/State.h"

using namespace fa4::sim;
using Kind = ptx::Operand::Kind;

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

bool DecodeContext::take(llvm::StringRef name) {
  for (unsigned i = 0; i < modifiers.size(); ++i)
    if (!consumed[i] && modifiers[i] == name) {
      consumed[i] = true;
      return true;
    }
  return false;
}

int DecodeContext::takeOneOf(llvm::ArrayRef<llvm::StringRef> names) {
  for (unsigned i = 0; i < modifiers.size(); ++i) {
    if (consumed[i])
      continue;
    for (unsigned n = 0; n < names.size(); ++n)
      if (modifiers[i] == names[n]) {
        consumed[i] = true;
        return n;
      }
  }
  return -1;
}

bool DecodeContext::has(llvm::StringRef name) const {
  for (unsigned i = 0; i < modifiers.size(); ++i)
    if (!consumed[i] && modifiers[i] == name)
      return true;
  return false;
}

llvm::StringRef DecodeContext::peek() const {
  for (unsigned i = 0; i < modifiers.size(); ++i)
    if (!consumed[i])
      return modifiers[i];
  return {};
}

llvm::StringRef DecodeContext::next() {
  for (unsigned i = 0; i < modifiers.size(); ++i)
    if (!consumed[i]) {
      consumed[i] = true;
      return modifiers[i];
    }
  return {};
}

std::string DecodeContext::rest() const {
  std::string text;
  for (unsigned i = 0; i < modifiers.size(); ++i)
    if (!consumed[i])
      text += "." + modifiers[i].str();
  return text;
}

bool DecodeContext::unsupported() {
  return error("unsupported instruction form '" + source().opcode + "'");
}

//===----------------------------------------------------------------------===//
// Set-up and emission
//===----------------------------------------------------------------------===//

InstructionDecoder::InstructionDecoder(Decoder &decoder,
                                       const ptx::Instruction &source)
    : decoder(decoder), ast(source) {
  for (const ptx::Operand &op : ast.operands) {
    if (op.is(Kind::Pair))
      for (const ptx::Operand &element : op.elements)
        flat.push_back(&element);
    else
      flat.push_back(&op);
  }
  inst.line = ast.loc.line;
  inst.column = ast.loc.column;
  inst.opcode = ast.opcode;
  if (ast.guard) {
    inst.guard = decoder.registerOperand(*ast.guard).offset;
    inst.guardNegated = ast.guardNegated;
  }
}

bool InstructionDecoder::error(const llvm::Twine &message) {
  if (!failed)
    decoder.error(ast.loc, message);
  failed = true;
  return false;
}

void InstructionDecoder::run() {
  unsigned prefix = 0;
  FamilyDecoder family = OpcodeTable::get().find(ast.words, prefix);
  if (!family) {
    error("unknown opcode '" + ast.opcode + "'");
    return;
  }
  if (!checkChip())
    return;
  for (llvm::StringRef word : ast.words.drop_front(prefix))
    modifiers.push_back(word);
  consumed.assign(modifiers.size(), false);
  // Modifiers that the family has not consumed make the form unknown.
  if (!family(*this) || !rest().empty()) {
    error("unsupported instruction form '" + ast.opcode + "'");
    return;
  }
  if (llvm::is_contained(ast.words, "aligned"))
    inst.flags |= Inst::Aligned;
  uint32_t pc = decoder.program.insts.size();
  if (isCall)
    decoder.callFixups.push_back({pc, callee});
  for (auto &[operand, target] : targets)
    decoder.fixups.push_back({pc, target});
  for (auto &entry : lists)
    decoder.listFixups.push_back(std::move(entry));
  emit(inst, list, results);
  for (auto &[after, operands] : behind)
    emit(after, operands, 1);
}

void InstructionDecoder::emit(Inst what, llvm::ArrayRef<Operand> operands,
                              unsigned resultCount) {
  Program &program = decoder.program;
  what.firstOperand = program.operands.size();
  what.numOperands = operands.size();
  what.numResults = resultCount;
  program.operands.insert(program.operands.end(), operands.begin(),
                          operands.end());
  program.insts.push_back(what);
}

Inst InstructionDecoder::helper(Handler handler) const {
  Inst h;
  h.handler = handler;
  h.guard = inst.guard;
  h.guardNegated = inst.guardNegated;
  h.line = inst.line;
  h.column = inst.column;
  h.opcode = inst.opcode;
  h.flags = Inst::Helper;
  return h;
}

void InstructionDecoder::push(Operand op, bool isResult) {
  list.push_back(op);
  results += isResult;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static unsigned slotWidth(unsigned bytes) {
  return bytes == 0 ? 0 : bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
}

bool InstructionDecoder::addRegister(const ptx::Operand &op, unsigned bytes,
                                     bool isResult) {
  Operand reg = decoder.registerOperand(*op.reg);
  reg.negated = op.negated;
  unsigned width = slotWidth(bytes);
  if (reg.width == width || (anyWidth && reg.width > width && width)) {
    push(reg, isResult);
    return true;
  }
  if (reg.width < width || width == 0 || reg.width == 0 || reg.width == 16 ||
      ast.root() != "cvt")
    return error("register '" + op.name + "' does not have the size that '" +
                 ast.opcode + "' needs");
  // A wider register: cvt works on its low half.
  Operand temp;
  temp.width = 4;
  temp.offset = decoder.temporary(4);
  if (isResult) {
    Inst widen = helper(widenTo64);
    widen.form = resultSigned;
    widen.form2 = 8 * bytes;
    behind.push_back({widen, {reg, temp}});
  } else {
    emit(helper(narrowTo32), {temp, reg}, 1);
  }
  push(temp, isResult);
  return true;
}

uint64_t InstructionDecoder::bitsOf(const ptx::Operand &op, unsigned bytes,
                                    bool isFloat) {
  if (op.is(Kind::Integer)) {
    if (!isFloat)
      return op.integer;
    double value =
        op.isUnsigned ? double(uint64_t(op.integer)) : double(op.integer);
    return bytes == 8 ? bitCast<uint64_t>(value)
                      : bitCast<uint32_t>(float(value));
  }
  if (bytes == 8 && op.floatBits != 32)
    return bitCast<uint64_t>(op.floating);
  if (bytes == 8 && isFloat)
    return bitCast<uint64_t>(op.floating);
  return bitCast<uint32_t>(float(op.floating));
}

bool InstructionDecoder::addSymbol(const ptx::Operand &op, unsigned bytes) {
  auto it = decoder.places.find(op.variable);
  if (!op.variable || it == decoder.places.end())
    return error("the address of '" + op.name + "' is not known");
  if (slotWidth(bytes) < 4)
    return error("an address where a predicate is needed");
  const VariablePlace &place = it->second;
  if (op.variable->unsizedArray && !decoder.current->isEntry)
    decoder.sharesDynamic = true;
  uint64_t value = place.address + op.offset;
  if (place.space != MemSpace::Shared) {
    addConstant(value, bytes < 4 ? 4 : bytes);
    return true;
  }
  // The shared window of a CTA depends on its rank, so the address is computed
  // at run time.
  Operand temp;
  temp.width = slotWidth(bytes);
  temp.offset = decoder.temporary(temp.width);
  Inst address = helper(sharedAddress);
  address.form = value;
  emit(address, {temp}, 1);
  push(temp, false);
  return true;
}

bool InstructionDecoder::addSpecial(const ptx::Operand &op, unsigned bytes) {
  unsigned size = 0;
  uint64_t form = 0;
  Handler handler = specialRegister(op.name, size, form);
  if (!handler)
    return error("unknown special register '" + op.name + "'");
  unsigned width = slotWidth(bytes);
  if ((width == 0) != (size == 0))
    return error("special register '" + op.name + "' is " +
                 (size ? "not a predicate" : "a predicate"));
  Operand temp;
  temp.width = width;
  temp.offset = decoder.temporary(width);
  Inst read = helper(handler);
  read.form = form;
  emit(read, {temp}, 1);
  push(temp, false);
  return true;
}

bool InstructionDecoder::add(const ptx::Operand &op, unsigned bytes,
                             bool isResult, bool isFloat) {
  switch (op.kind) {
  case Kind::Register:
    return addRegister(op, bytes, isResult);
  case Kind::Sink: {
    Operand sink;
    sink.sink = true;
    sink.width = slotWidth(bytes);
    sink.offset = decoder.temporary(std::max<unsigned>(sink.width, 4));
    push(sink, isResult);
    return true;
  }
  case Kind::Integer:
  case Kind::Float:
    if (isResult)
      return error("a constant cannot be written");
    addConstant(bitsOf(op, bytes, isFloat), bytes);
    return true;
  case Kind::Symbol:
    return isResult ? error("a symbol cannot be written")
                    : addSymbol(op, bytes);
  case Kind::Special:
    return isResult ? error("a special register cannot be written")
                    : addSpecial(op, bytes);
  default:
    return error("operand of the wrong kind");
  }
}

bool InstructionDecoder::addOperand(unsigned i, unsigned bytes, bool isResult,
                                    bool isFloat) {
  if (i >= flat.size())
    return error("too few operands");
  return add(*flat[i], bytes, isResult, isFloat);
}

unsigned InstructionDecoder::addVector(unsigned i, unsigned bytes,
                                       bool isResult, bool isFloat) {
  if (i >= flat.size()) {
    error("too few operands");
    return 0;
  }
  const ptx::Operand &op = *flat[i];
  if (!op.is(Kind::Vector))
    return add(op, bytes, isResult, isFloat);
  for (const ptx::Operand &element : op.elements)
    if (!add(element, bytes, isResult, isFloat))
      return 0;
  return op.elements.size();
}

bool InstructionDecoder::addBase(const ptx::Operand &address) {
  const ptx::Operand &base =
      address.is(Kind::Address) ? address.base() : address;
  int64_t offset = address.is(Kind::Address) ? address.offset : 0;
  if (address.index)
    return error("an address with an index register is not supported");
  switch (base.kind) {
  case Kind::Register: {
    Operand reg = decoder.registerOperand(*base.reg);
    if (reg.width != 4 && reg.width != 8)
      return error("register '" + base.name + "' cannot hold an address");
    if (offset != int32_t(offset))
      return error("the address offset is over 32 bits");
    reg.displacement = offset;
    push(reg, false);
    return true;
  }
  case Kind::Symbol: {
    ptx::Operand symbol = base;
    symbol.offset += offset;
    return addSymbol(symbol, 8);
  }
  case Kind::Integer:
    addConstant(base.integer + offset, 8);
    return true;
  default:
    return error("not an address");
  }
}

bool InstructionDecoder::addAddress(unsigned i) {
  if (i >= flat.size())
    return error("too few operands");
  const ptx::Operand &op = *flat[i];
  if (!op.is(Kind::Address))
    return error("operand " + llvm::Twine(i + 1) + " must be an address");
  if (op.elements.size() > 1)
    return error("too many items in an address");
  return addBase(op);
}

unsigned InstructionDecoder::addTensorAddress(unsigned i) {
  if (i >= flat.size() || !flat[i]->is(Kind::Address)) {
    error("operand " + llvm::Twine(i + 1) + " must be an address");
    return 0;
  }
  const ptx::Operand &op = *flat[i];
  if (op.elements.size() != 2 || !op.elements[1].is(Kind::Vector)) {
    error("a tensor's address needs coordinates: [map, {..}]");
    return 0;
  }
  if (!addBase(op))
    return 0;
  for (const ptx::Operand &coordinate : op.elements[1].elements)
    if (!add(coordinate, 4, false, false))
      return 0;
  return 1 + op.elements[1].elements.size();
}

void InstructionDecoder::addConstant(uint64_t value, unsigned bytes) {
  Operand op;
  op.bank = 1;
  op.width = slotWidth(bytes);
  op.offset = decoder.constant(value, bytes);
  push(op, false);
}

void InstructionDecoder::addSink() {
  Operand sink;
  sink.sink = true;
  sink.offset = decoder.temporary(4);
  push(sink, true);
}

std::optional<int64_t> InstructionDecoder::immediate(unsigned i) const {
  if (i < flat.size() && flat[i]->is(Kind::Integer))
    return flat[i]->integer;
  return std::nullopt;
}

bool InstructionDecoder::isVector(unsigned i) const {
  return i < flat.size() && flat[i]->is(Kind::Vector);
}
unsigned InstructionDecoder::vectorSize(unsigned i) const {
  return isVector(i) ? flat[i]->elements.size() : 1;
}
bool InstructionDecoder::isPredicate(unsigned i) const {
  return i < flat.size() && flat[i]->isPredicate();
}
bool InstructionDecoder::isAddress(unsigned i) const {
  return i < flat.size() && flat[i]->is(Kind::Address);
}
bool InstructionDecoder::isLocalParam(unsigned i) const {
  if (!isAddress(i) || !flat[i]->base().is(Kind::Symbol))
    return false;
  auto it = decoder.places.find(flat[i]->base().variable);
  return it != decoder.places.end() && it->second.space == MemSpace::Local;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

bool InstructionDecoder::addTarget(unsigned i) {
  if (i >= flat.size() || !flat[i]->is(Kind::Label))
    return error("needs a label");
  targets.push_back({i, flat[i]->target});
  return true;
}

bool InstructionDecoder::addTargetList(unsigned i) {
  if (i >= flat.size() || !flat[i]->is(Kind::LabelList))
    return error("needs the name of a .branchtargets list");
  const ptx::LabelList &labels = decoder.current->labelLists[flat[i]->target];
  if (labels.kind != ptx::LabelList::Kind::Branches)
    return error("'" + labels.name + "' is not a .branchtargets list");
  auto *pcs = const_cast<std::vector<uint32_t> *>(
      program().keepAlive(std::vector<uint32_t>()));
  inst.extra = pcs;
  lists.push_back({pcs, labels.targets});
  return true;
}

bool InstructionDecoder::addCopy(CallInfo &info, const ptx::Operand &actual,
                                 const ptx::Variable &formal,
                                 const ptx::Function &function, bool isResult) {
  CallCopy copy;
  copy.bytes = formal.bytes ? formal.bytes : ptx::typeBytes(formal.type);
  // The place on the callee's side.
  bool &calleeLocal = isResult ? copy.fromLocal : copy.toLocal;
  uint32_t &calleeOffset = isResult ? copy.fromOffset : copy.toOffset;
  if (formal.space == ptx::StateSpace::Param) {
    calleeLocal = true;
    calleeOffset = decoder.places[&formal].address;
  } else {
    const ptx::Function *saved = decoder.current;
    decoder.current = &function;
    (isResult ? copy.from : copy.to) = decoder.registerOperand(*formal.reg);
    decoder.current = saved;
  }
  // The place on the caller's side.
  bool &callerLocal = isResult ? copy.toLocal : copy.fromLocal;
  uint32_t &callerOffset = isResult ? copy.toOffset : copy.fromOffset;
  Operand &callerOperand = isResult ? copy.to : copy.from;
  if (actual.is(Kind::Symbol)) {
    auto it = decoder.places.find(actual.variable);
    if (it == decoder.places.end() || it->second.space != MemSpace::Local)
      return error("argument '" + actual.name +
                   "' is neither a .param variable nor a register");
    callerLocal = true;
    callerOffset = it->second.address;
  } else if (actual.isRegister()) {
    callerOperand = decoder.registerOperand(*actual.reg);
  } else if (!isResult &&
             (actual.is(Kind::Integer) || actual.is(Kind::Float))) {
    callerOperand.bank = 1;
    callerOperand.width = slotWidth(copy.bytes);
    callerOperand.offset = decoder.constant(
        bitsOf(actual, copy.bytes, ptx::isFloatType(formal.type)), copy.bytes);
  } else if (isResult && actual.is(Kind::Sink)) {
    return true;
  } else {
    return error("argument of an unsupported kind");
  }
  info.copies.push_back(copy);
  return true;
}

bool InstructionDecoder::addCall() {
  const ptx::Operand *resultList = nullptr, *argumentList = nullptr,
                     *target = nullptr;
  for (const ptx::Operand *op : flat) {
    if (op->is(Kind::List))
      (target ? argumentList : resultList) = op;
    else if (!target)
      target = op;
  }
  if (!target || !target->is(Kind::Symbol))
    return error("indirect calls are not supported");
  llvm::StringRef name = target->name;
  callee = target->function;
  if (callee && !callee->hasBody)
    callee = decoder.module.findFunction(name);
  if (!callee || !callee->hasBody) {
    if (name == "__assertfail") {
      inst.handler = assertFail;
      return true;
    }
    // vprintf prints nothing here, because its output is no result of the
    // kernel.
    if (name == "vprintf") {
      inst.handler = [](Exec &, const Inst &) { return Flow::Next; };
      return true;
    }
    return error("call of '" + name + "', which has no body");
  }
  isCall = true;
  decoder.calls[decoder.current].push_back(callee);
  inst.handler = callFunction;
  CallInfo arguments, returns;
  auto elements = [](const ptx::Operand *op) {
    return op ? op->elements : llvm::ArrayRef<ptx::Operand>();
  };
  if (elements(argumentList).size() != callee->params.size() ||
      elements(resultList).size() != callee->results.size())
    return error("call of '" + name + "' with the wrong number of arguments");
  for (auto [actual, formal] :
       llvm::zip(elements(argumentList), callee->params))
    if (!addCopy(arguments, actual, *formal, *callee, false))
      return false;
  for (auto [actual, formal] : llvm::zip(elements(resultList), callee->results))
    if (!addCopy(returns, actual, *formal, *callee, true))
      return false;
  inst.extra = program().keepAlive(std::move(arguments));
  if (!returns.copies.empty()) {
    Inst after = helper(copyResults);
    after.extra = program().keepAlive(std::move(returns));
    behind.push_back({after, {}});
  }
  return true;
}
