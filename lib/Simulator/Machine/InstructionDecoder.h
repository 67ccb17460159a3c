//===- InstructionDecoder.h - one instruction of the tree ------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MACHINE_INSTRUCTIONDECODER_H
#define FA4_LIB_SIMULATOR_MACHINE_INSTRUCTIONDECODER_H

#include "Decoder.h"

namespace fa4::sim {

class InstructionDecoder final : public DecodeContext {
public:
  InstructionDecoder(Decoder &decoder, const ptx::Instruction &source);
  void run();

  const ptx::Instruction &source() const override { return ast; }
  Program &program() override { return decoder.program; }
  unsigned numSources() const override { return flat.size(); }
  bool addOperand(unsigned i, unsigned bytes, bool isResult,
                  bool isFloat) override;
  unsigned addVector(unsigned i, unsigned bytes, bool isResult,
                     bool isFloat) override;
  bool addAddress(unsigned i) override;
  unsigned addTensorAddress(unsigned i) override;
  void addConstant(uint64_t value, unsigned bytes) override;
  void addSink() override;
  std::optional<int64_t> immediate(unsigned i) const override;
  bool isVector(unsigned i) const override;
  unsigned vectorSize(unsigned i) const override;
  bool isPredicate(unsigned i) const override;
  bool isAddress(unsigned i) const override;
  bool isLocalParam(unsigned i) const override;
  bool addTarget(unsigned i) override;
  bool addTargetList(unsigned i) override;
  bool addCall() override;
  bool inEntry() const override { return decoder.current->isEntry; }
  unsigned &ctaGroup() override { return decoder.ctaGroups[decoder.current]; }
  bool error(const llvm::Twine &message) override;

private:
  /// The chips that have an instruction (PTX ISA, "Target ISA Notes").
  enum class Chip : uint8_t {
    Any,
    Sm90a,  ///< sm_90a alone.
    Sm100,  ///< sm_100 and later.
    Sm100a, ///< sm_100 and later, of which only the "a" and "f" targets.
  };
  struct RestrictedForm;
  static const RestrictedForm restrictedForms[];
  /// Reports an instruction that the module's chip lacks (Chip.cpp).
  bool checkChip();
  /// Returns true if the module's target is one of these chips. Reports an
  /// error otherwise, of which each `what` gets one in a module.
  bool needs(Chip chip, llvm::StringRef what);
  bool add(const ptx::Operand &op, unsigned bytes, bool isResult, bool isFloat);
  bool addRegister(const ptx::Operand &op, unsigned bytes, bool isResult);
  bool addSymbol(const ptx::Operand &op, unsigned bytes);
  bool addSpecial(const ptx::Operand &op, unsigned bytes);
  bool addBase(const ptx::Operand &address);
  void push(Operand op, bool isResult);
  /// An instruction that runs in front of the decoded one (or behind it).
  Inst helper(Handler handler) const;
  void emit(Inst inst, llvm::ArrayRef<Operand> list, unsigned results);
  bool addCopy(CallInfo &info, const ptx::Operand &actual,
               const ptx::Variable &formal, const ptx::Function &callee,
               bool isResult);
  static uint64_t bitsOf(const ptx::Operand &op, unsigned bytes, bool isFloat);

  Decoder &decoder;
  const ptx::Instruction &ast;
  llvm::SmallVector<const ptx::Operand *, 8> flat; ///< Pairs taken apart.
  llvm::SmallVector<Operand, 8> list;
  unsigned results = 0;
  bool failed = false;
  std::vector<std::pair<Inst, llvm::SmallVector<Operand, 2>>> behind;
  bool isCall = false;
  const ptx::Function *callee = nullptr;
  llvm::SmallVector<std::pair<unsigned, uint32_t>, 1> targets;
  std::vector<std::pair<std::vector<uint32_t> *, std::vector<uint32_t>>> lists;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MACHINE_INSTRUCTIONDECODER_H
