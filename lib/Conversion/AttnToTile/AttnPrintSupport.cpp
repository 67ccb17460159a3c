//===- AttnPrintSupport.cpp - which chips have kernels for ops ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Conversion/Passes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace fa4 {
#define GEN_PASS_DEF_ATTNPRINTSUPPORT
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
struct AttnPrintSupport
    : public fa4::impl::AttnPrintSupportBase<AttnPrintSupport> {
  void runOnOperation() override {
    std::vector<std::string> reasons;
    size_t width = 0;
    SmallVector<std::pair<StringRef, AttentionOpInterface>> ops;
    getOperation().walk([&](AttentionOpInterface op) {
      auto function = op->getParentOfType<FunctionOpInterface>();
      StringRef name = function ? function.getName() : "(no function)";
      width = std::max(width, name.size());
      ops.push_back({name, op});
    });
    raw_ostream &os = llvm::outs();
    os.indent(width);
    for (StringRef chip : knownTargets())
      os << "  " << chip;
    os << "\n";
    for (auto [name, op] : ops) {
      std::string line;
      llvm::raw_string_ostream text(line);
      text << llvm::left_justify(name, width);
      for (StringRef chip : knownTargets())
        text << "  "
             << llvm::left_justify(cell(op, chip, reasons), chip.size());
      os << StringRef(line).rtrim() << "\n";
    }
    os << "\n";
    for (auto [i, reason] : llvm::enumerate(reasons))
      os << "(" << i + 1 << ") " << reason << "\n";
    markAllAnalysesPreserved();
  }

  /// Returns a cell of the support matrix: `yes`, or the number of the reason,
  /// which is added to `reasons`.
  static std::string cell(AttentionOpInterface op, StringRef chip,
                          std::vector<std::string> &reasons) {
    std::optional<std::string> reason =
        explainUnsupported(op, *lookupTarget(chip));
    if (!reason)
      return "yes";
    auto found = llvm::find(reasons, *reason);
    size_t number = found - reasons.begin() + 1;
    if (number > reasons.size())
      reasons.push_back(*reason);
    return llvm::formatv("({0})", number);
  }
};
} // namespace
