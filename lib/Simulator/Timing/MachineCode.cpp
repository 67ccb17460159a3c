//===- MachineCode.cpp - reading machine code -----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Timing/MachineCode.h"
#include "fa4/Target/NVPTX/Nvdisasm.h"
#include "fa4/Target/NVPTX/Ptxas.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace fa4;
using namespace fa4::sim;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

class Reader {
public:
  Expected<std::vector<MachineFunction>> read(StringRef text);

private:
  Error readInstruction(StringRef line);
  void readControl(uint64_t upper);
  void finishFunction();
  static llvm::Error malformed(StringRef line) {
    return llvm::createStringError("cannot read this line of nvdisasm: '" +
                                   line.trim() + "'");
  }

  std::vector<MachineFunction> functions;
  llvm::StringMap<int> labels;
  /// The labels of the branches of the current function.
  std::vector<std::pair<size_t, std::string>> branches;
  uint32_t ptxLine = 0;
  bool inText = false;
  /// The instruction's second line, with the upper half of its encoding, is
  /// still to come.
  bool halfRead = false;
};

} // namespace

/// Reads "/* 0x0123456789abcdef */".
static bool readEncoding(StringRef text, uint64_t &value) {
  text = text.trim();
  return text.consume_front("/* 0x") && text.consume_back(" */") &&
         text.size() == 16 && !text.getAsInteger(16, value);
}

/// Returns true for a predicate register that is not the constant true.
static bool isPredicate(StringRef operand) {
  operand = operand.trim();
  (void)operand.consume_front("!");
  (void)operand.consume_front("~");
  return operand != "PT" && operand != "UPT" &&
         (operand.starts_with("P") || operand.starts_with("UP")) &&
         operand.size() <= 3;
}

void Reader::readControl(uint64_t upper) {
  // Bits 105 to 125 of the 128, as on all chips from sm_70 on: stall count (4),
  // yield (1), scoreboard of the result (3) and of the operands (3), mask of
  // the scoreboards to wait for (6), reuse of operands (4).
  MachineInst &inst = functions.back().insts.back();
  inst.stall = upper >> 41 & 15;
  inst.resultScoreboard = upper >> 46 & 7;
  inst.operandScoreboard = upper >> 49 & 7;
  inst.waitMask = upper >> 52 & 63;
}

Error Reader::readInstruction(StringRef line) {
  // /*0880*/  @!P0 BRA `(.L_x_8) ;   /* 0x0000004c00088947 */
  auto [body, encoding] = line.split("*/").second.rsplit("/*");
  uint64_t lower;
  body = body.trim();
  if (!body.consume_back(";") || !readEncoding(("/*" + encoding).str(), lower))
    return malformed(line);
  MachineInst inst;
  inst.line = ptxLine;
  if (body.consume_front("@")) {
    auto [guard, rest] = body.split(' ');
    inst.isGuarded = isPredicate(guard);
    body = rest.ltrim();
  }
  auto [opcode, operands] = body.trim().split(' ');
  inst.opcode = opcode.str();
  inst.operands = operands.trim().str();
  StringRef root = inst.root();
  bool jumps = root == "BRA" || root == "JMP";
  if (jumps || root == "EXIT" || root == "RET" || root == "BRX" ||
      root == "KILL") {
    llvm::SmallVector<StringRef> parts;
    operands.split(parts, ',');
    inst.fallsThrough =
        inst.isGuarded || (jumps && llvm::any_of(parts, isPredicate));
  }
  if (jumps) {
    StringRef label = operands.split("`(").second.split(')').first;
    branches.emplace_back(functions.back().insts.size(), label.str());
  }
  functions.back().insts.push_back(std::move(inst));
  halfRead = true;
  return Error::success();
}

void Reader::finishFunction() {
  if (functions.empty())
    return;
  MachineFunction &function = functions.back();
  for (auto &[at, label] : branches)
    if (auto it = labels.find(label);
        it != labels.end() && it->second < int(function.insts.size()))
      function.insts[at].target = it->second;
  branches.clear();
  labels.clear();
  // What stands behind the code fills a multiple of 128 bytes.
  while (!function.insts.empty() && function.insts.back().opcode == "NOP")
    function.insts.pop_back();
  if (function.insts.empty())
    functions.pop_back();
}

Expected<std::vector<MachineFunction>> Reader::read(StringRef text) {
  for (StringRef line : llvm::split(text, '\n')) {
    StringRef rest = line.trim();
    if (halfRead) {
      uint64_t upper;
      if (!readEncoding(rest, upper))
        return malformed(line);
      readControl(upper);
      halfRead = false;
    } else if (rest.consume_front(".section\t") ||
               rest.consume_front(".section ")) {
      finishFunction();
      StringRef name = rest.trim().split(',').first.split('\t').first;
      inText = name.consume_front(".text.");
      if (inText)
        functions.push_back({name.str(), {}});
      ptxLine = 0;
    } else if (!inText) {
      continue;
    } else if (rest.consume_front("//## File \".nv_debug_ptx_txt")) {
      // The name of the embedded text may have a number behind it.
      StringRef number = rest.split("line ").second.split(' ').first;
      if (number.getAsInteger(10, ptxLine))
        return malformed(line);
    } else if (rest.starts_with(".L_") && rest.ends_with(":")) {
      labels[rest.drop_back()] = functions.back().insts.size();
    } else if (rest.starts_with("/*") && !rest.starts_with("/* ")) {
      if (Error error = readInstruction(line))
        return std::move(error);
    }
  }
  if (halfRead)
    return llvm::createStringError("the output of nvdisasm is cut off");
  finishFunction();
  if (functions.empty())
    return llvm::createStringError("nvdisasm has printed no instruction");
  return std::move(functions);
}

Expected<std::vector<MachineFunction>>
fa4::sim::parseMachineCode(StringRef text) {
  return Reader().read(text);
}

//===----------------------------------------------------------------------===//
// Pipes
//===----------------------------------------------------------------------===//

Pipe fa4::sim::machinePipe(StringRef opcode) {
  StringRef root = opcode.split('.').first;
  if (root.ends_with("MMA"))
    return root == "DMMA" ? Pipe::Double : Pipe::Tensor;
  if (root.starts_with("UTCBAR") || root.starts_with("UTCCP") ||
      root.starts_with("UTCSHIFT"))
    return Pipe::Tensor;
  std::optional<Pipe> known =
      llvm::StringSwitch<std::optional<Pipe>>(root)
          .Cases({"FFMA", "FADD", "FMUL"}, Pipe::Fma)
          .Cases({"FFMA2", "FADD2", "FMUL2"}, Pipe::FmaPair)
          .Cases({"HFMA2", "HADD2", "HMUL2", "FSWZADD", "FFMA32I", "FADD32I"},
                 Pipe::Fma)
          .Cases({"IMAD", "IDP", "IDP4A", "IMUL"}, Pipe::FmaHeavy)
          .Cases({"MUFU", "POPC", "FLO", "BREV"}, Pipe::Mufu)
          .Cases({"F2F", "F2I", "I2F", "FRND", "I2I"}, Pipe::Convert)
          .Cases({"DFMA", "DADD", "DMUL", "DSETP"}, Pipe::Double)
          .Cases({"LDS", "STS", "LDSM", "STSM", "MOVM", "SHFL"}, Pipe::Lsu)
          .Cases({"LDG", "STG", "LD", "ST", "LDL", "STL"}, Pipe::Lsu)
          .Cases({"ATOM", "ATOMS", "ATOMG", "RED", "REDG", "REDAS"}, Pipe::Lsu)
          .Cases({"LDGSTS", "STAS", "SYNCS", "MATCH"}, Pipe::Lsu)
          .Cases({"LDTM", "STTM"}, Pipe::TensorMemory)
          .Cases({"USETMAXREG", "UCGABAR_ARV", "UCGABAR_WAIT", "UBAR"},
                 Pipe::Control)
          .Cases({"BRA", "BRX", "JMP", "EXIT", "RET", "CALL"}, Pipe::Control)
          .Cases({"BAR", "DEPBAR", "MEMBAR", "FENCE", "ERRBAR", "B2R"},
                 Pipe::Control)
          .Cases({"CCTL", "CCTLL", "LDGDEPBAR", "ARRIVES", "WARPGROUP"},
                 Pipe::Control)
          .Cases({"NOP", "WARPSYNC", "BSSY", "BSYNC", "BREAK", "YIELD"},
                 Pipe::Control)
          .Cases({"NANOSLEEP", "ACQBULK", "PREEXIT", "ELECT", "BMOV", "BPT"},
                 Pipe::Control)
          .Cases({"S2R", "CS2R", "S2UR", "LDC", "LEPC", "KILL"}, Pipe::Control)
          .Default(std::nullopt);
  if (known)
    return *known;
  return root.starts_with("U") ? Pipe::Uniform : Pipe::Alu;
}

//===----------------------------------------------------------------------===//
// Running the tools
//===----------------------------------------------------------------------===//

/// Assembles with line numbers. A ptxas that does not know the version of the
/// PTX yet gets the text under the version that it knows: PTX of a newer one
/// that uses nothing new is the same.
static Expected<PtxasResult> assembleWithLines(StringRef ptxas, StringRef ptx,
                                               StringRef chip) {
  std::string option = "-lineinfo";
  Expected<PtxasResult> result = assemble(ptxas, ptx, chip, option);
  if (result)
    return result;
  std::string message = llvm::toString(result.takeError());
  StringRef known = StringRef(message).split("current version is '").second;
  known = known.split('\'').first;
  // The directive is the first one of a text, behind comments at most.
  size_t begin = ptx.starts_with(".version") ? 0 : ptx.find("\n.version") + 1;
  if (known.empty() || !ptx.substr(begin).starts_with(".version"))
    return llvm::createStringError(message);
  StringRef behind = ptx.substr(begin).split('\n').second;
  std::string text =
      (ptx.take_front(begin) + ".version " + known + "\n" + behind).str();
  return assemble(ptxas, text, chip, option);
}

/// The version of ptxas, "13.0.88", which a cubin names; empty if it does not.
static StringRef versionIn(StringRef cubin) {
  StringRef version = cubin.split("Cuda compilation tools, release ").second;
  version = version.split(", V").second;
  return version.take_while(
      [](char c) { return llvm::isDigit(c) || c == '.'; });
}

Expected<IssueCosts> fa4::sim::issueCostsFromMachineCode(const Program &program,
                                                         StringRef ptx,
                                                         StringRef ptxas,
                                                         StringRef nvdisasm) {
  Expected<std::string> assembler = findPtxas(ptxas);
  if (!assembler)
    return assembler.takeError();
  Expected<std::string> disassembler = findNvdisasm(nvdisasm);
  if (!disassembler)
    return disassembler.takeError();
  std::string chip =
      "sm_" + std::to_string(program.smVersion) + program.smSuffix;
  Expected<PtxasResult> assembled = assembleWithLines(*assembler, ptx, chip);
  if (!assembled)
    return assembled.takeError();
  Expected<std::string> text = disassemble(*disassembler, assembled->cubin);
  if (!text)
    return text.takeError();
  Expected<std::vector<MachineFunction>> code = parseMachineCode(*text);
  if (!code)
    return code.takeError();
  for (const EntryInfo &entry : program.entries) {
    const std::string &name = program.functions[entry.function].name;
    if (llvm::none_of(*code, [&](const auto &f) { return f.name == name; }))
      return llvm::createStringError("nvdisasm has printed no machine code of "
                                     "the kernel '" +
                                     name + "'");
  }
  StringRef version = versionIn(assembled->cubin);
  std::string source = "machine code";
  if (!version.empty())
    source += (" (ptxas " + version + ")").str();
  IssueCosts costs = chargeMachineCode(program, *code, source);
  for (const PtxasFunction &function : assembled->report.functions)
    if (function.isEntry)
      costs.registers[function.name] = function.registers;
  return std::move(costs);
}
