//===- PtxVersion.cpp - the PTX version that a text needs -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxVersion.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::StringRef;

/// Versions are written as in LLVM's features: 88 is 8.8.
static constexpr unsigned kFloor = 86;

/// PTX ISA, "Release Notes": the version that has introduced a target. Family
/// targets (sm_100f) are as new as sm_103.
static unsigned versionOfChip(StringRef chip) {
  if (chip.consume_front("sm_"))
    if (chip.ends_with("f") || chip.starts_with("103") ||
        chip.starts_with("121"))
      return 88;
  if (chip.starts_with("120"))
    return 87;
  return chip.starts_with("88") || chip.starts_with("110") ? 90 : kFloor;
}

/// PTX ISA, "Release Notes", of 8.7 and later: what this version has added to
/// instructions that LLVM 22 or fa4 writes. `operation` is the instruction with
/// its modifiers, `operands` the text of its operands.
static unsigned versionOfInstruction(StringRef operation, StringRef operands) {
  auto has = [&](StringRef modifier) {
    return llvm::is_contained(llvm::split(operation, '.'), modifier);
  };
  StringRef root = operation.split('.').first;
  // Three-input min and max, and accesses of 32 bytes.
  if (root == "min" || root == "max")
    return operands.count(',') == 3 ? 88 : kFloor;
  if (root == "ld" || root == "st") {
    bool isWide =
        has("v8") || has("b256") ||
        (has("v4") && (has("b64") || has("f64") || has("u64") || has("s64")));
    return isWide ? 88 : kFloor;
  }
  // Stochastic rounding.
  if (root == "cvt" && has("rs"))
    return 87;
  if (root == "mma" || root == "tcgen05") {
    if (has("block16") || has("block32"))
      return 88;
    if (operation.contains("kind::mxf4nvf4"))
      return 87;
    // Reductions of loads: LLVM 22 has none, inline assembly may.
    return root == "tcgen05" && has("ld") && has("red") ? 90 : kFloor;
  }
  return kFloor;
}

/// Splits an instruction, behind its guard, into the operation and its
/// operands, and returns the version that has it.
static unsigned versionOfStatement(StringRef statement) {
  statement = statement.drop_while(
      [](char c) { return llvm::isSpace(c) || c == '{' || c == '}'; });
  if (statement.consume_front("@"))
    statement = statement.drop_until(llvm::isSpace).ltrim();
  StringRef operation = statement.take_until(llvm::isSpace);
  return versionOfInstruction(operation,
                              statement.drop_front(operation.size()));
}

void fa4::claimLowestVersion(std::string &ptx, StringRef chip) {
  StringRef directive = ".version ";
  size_t begin = StringRef(ptx).find(directive);
  if (begin == StringRef::npos)
    return;
  begin += directive.size();
  StringRef claimed = StringRef(ptx).substr(begin).take_until(llvm::isSpace);
  auto [major, minor] = claimed.split('.');
  unsigned high, low;
  if (major.getAsInteger(10, high) || minor.getAsInteger(10, low))
    return;
  unsigned needed = versionOfChip(chip);
  for (StringRef line : llvm::split(StringRef(ptx).substr(begin), '\n')) {
    if (line.contains('/'))
      line = line.split("//").first;
    for (StringRef statement : llvm::split(line, ';'))
      needed = std::max(needed, versionOfStatement(statement));
  }
  if (needed < high * 10 + low)
    ptx.replace(begin, claimed.size(),
                llvm::formatv("{0}.{1}", needed / 10, needed % 10).str());
}
