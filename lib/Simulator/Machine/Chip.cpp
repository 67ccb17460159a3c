//===- Chip.cpp - the chip that a module is for ---------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "InstructionDecoder.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

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

Chip fa4::sim::chipOfRoot(llvm::StringRef root) {
  return llvm::StringSwitch<Chip>(root)
      .Case("wgmma", Chip::Sm90a)
      .Case("tcgen05", Chip::Sm100a)
      .Case("clusterlaunchcontrol", Chip::Sm100)
      .Default(Chip::Any);
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
