//===- Chip.cpp - the chip that a module is for ---------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "InstructionDecoder.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace fa4::sim;

/// The table of a chip. A target without a suffix promises what later chips
/// have, too: an older one runs on the oldest chip with a table.
static const fa4::TargetDescription *tableOf(unsigned version,
                                             llvm::StringRef suffix) {
  if (suffix.empty() && version < 90)
    version = 90;
  if (suffix.empty() || suffix == "a" || suffix == "f")
    return fa4::lookupTarget(("sm_" + llvm::Twine(version) + "a").str());
  return nullptr;
}

void Decoder::findChip() {
  program.chip = lookupTarget("sm_100a");
  for (llvm::StringRef target : module.targets) {
    llvm::StringRef suffix = target;
    unsigned version = 0;
    if (!suffix.consume_front("sm_") || suffix.consumeInteger(10, version))
      continue;
    program.smVersion = version;
    program.smSuffix = suffix.str();
    program.chip = tableOf(version, suffix);
    if (!program.chip)
      error(module.targetLoc, "no table of the chip " + target +
                                  "; there are tables of " +
                                  llvm::join(knownTargets(), ", "));
  }
}

/// Forms that not all chips have: an opcode of this root that has the word. The
/// first one that fits counts.
/// (PTX ISA, "Target ISA Notes" of each; ptxas 13.5 refuses the same.)
struct InstructionDecoder::RestrictedForm {
  llvm::StringLiteral root, word;
  Chip chip;
};

const InstructionDecoder::RestrictedForm InstructionDecoder::restrictedForms[] =
    {
        {"wgmma", "", Chip::Sm90a},
        {"tcgen05", "", Chip::Sm100a},
        {"clusterlaunchcontrol", "multicast::cluster::all", Chip::Sm100a},
        {"clusterlaunchcontrol", "", Chip::Sm100},
        {"add", "f32x2", Chip::Sm100},
        {"sub", "f32x2", Chip::Sm100},
        {"mul", "f32x2", Chip::Sm100},
        {"fma", "f32x2", Chip::Sm100},
        {"redux", "f32", Chip::Sm100a},
        {"st", "bulk", Chip::Sm100},
        {"cvt", "rs", Chip::Sm100a},
        {"cvt", "e2m1x2", Chip::Sm100a},
        {"cvt", "e2m3x2", Chip::Sm100a},
        {"cvt", "e3m2x2", Chip::Sm100a},
        {"cvt", "e2m1x4", Chip::Sm100a},
        {"cvt", "e2m3x4", Chip::Sm100a},
        {"cvt", "e3m2x4", Chip::Sm100a},
        {"cvt", "ue8m0x2", Chip::Sm100a},
        {"cp", "cp_mask", Chip::Sm100},
        {"cp", "cta_group::1", Chip::Sm100a},
        {"cp", "cta_group::2", Chip::Sm100a},
};

/// Accesses of 256 bits.
static bool isWideAccess(const ptx::Instruction &source) {
  using llvm::is_contained;
  auto has = [&](llvm::StringRef word) {
    return is_contained(source.words, word);
  };
  bool isAccess = source.root() == "ld" || source.root() == "st";
  bool words = has("b32") || has("f32") || has("u32") || has("s32");
  bool doubles = has("b64") || has("f64") || has("u64") || has("s64");
  return isAccess && ((has("v8") && words) || (has("v4") && doubles));
}

bool InstructionDecoder::checkChip() {
  llvm::StringRef root = ast.root();
  for (const RestrictedForm &form : restrictedForms)
    if (root == form.root &&
        (form.word.empty() || llvm::is_contained(ast.words, form.word)))
      return needs(form.chip, form.word.empty()
                                  ? root.str()
                                  : (root + "." + form.word).str());
  bool isSum = root == "add" || root == "sub" || root == "fma";
  if (isSum && llvm::is_contained(ast.words, "f32") &&
      (llvm::is_contained(ast.words, "f16") ||
       llvm::is_contained(ast.words, "bf16")))
    return needs(Chip::Sm100, root.str() + " of mixed precision");
  if ((root == "max" || root == "min") && flat.size() == 4)
    return needs(Chip::Sm100, root.str() + " of three operands");
  if (isWideAccess(ast))
    return needs(Chip::Sm100, root.str() + " of 256 bits");
  return true;
}

bool InstructionDecoder::needs(Chip chip, llvm::StringRef what) {
  const Program &program = decoder.program;
  bool isBlackwell = program.smVersion >= 100, isBase = program.smSuffix == "";
  bool has = chip == Chip::Any || (chip == Chip::Sm100 && isBlackwell) ||
             (chip == Chip::Sm100a && isBlackwell && !isBase) ||
             (chip == Chip::Sm90a && !isBlackwell && !isBase);
  if (has)
    return true;
  const char *owners = chip == Chip::Sm90a    ? "sm_90a only"
                       : chip == Chip::Sm100a ? "sm_100a, sm_103a and their "
                                                "families"
                                              : "sm_100 and later";
  // One error for all of its instructions.
  if (!decoder.foreign.insert(what).second) {
    failed = true;
    return false;
  }
  return error("'" + what + "' exists on " + owners +
               ", and the module's target is sm_" +
               llvm::Twine(program.smVersion) + program.smSuffix);
}
