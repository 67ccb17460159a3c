//===- PassWithOptions.h - a pass whose options have values -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_PASSWITHOPTIONS_H
#define FA4_SUPPORT_PASSWITHOPTIONS_H

#include "fa4/Support/OptionValues.h"
#include "mlir/Pass/Pass.h"

namespace fa4 {

/// The base of all passes of fa4, which refuse an option that has an empty
/// value
/// (`threshold=`).
template <typename... OpT>
class PassWithOptions : public mlir::OperationPass<OpT...> {
public:
  using mlir::OperationPass<OpT...>::OperationPass;

  llvm::LogicalResult
  initializeOptions(llvm::StringRef options,
                    llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)>
                        errorHandler) override {
    if (std::optional<std::string> problem = findEmptyOption(options))
      return errorHandler(this->getArgument() + ": " + *problem);
    return mlir::OperationPass<OpT...>::initializeOptions(options,
                                                          errorHandler);
  }
};

} // namespace fa4

#endif // FA4_SUPPORT_PASSWITHOPTIONS_H
