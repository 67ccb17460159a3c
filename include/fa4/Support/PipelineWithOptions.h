//===- PipelineWithOptions.h - a pipeline whose options have values -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_PIPELINEWITHOPTIONS_H
#define FA4_SUPPORT_PIPELINEWITHOPTIONS_H

#include "fa4/Support/OptionValues.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace fa4 {

/// Adds a pipeline's passes, or reports by the function why it cannot.
template <typename OptionsT>
using PipelineBuilder = llvm::LogicalResult (*)(
    mlir::OpPassManager &, const OptionsT &,
    llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)>);

/// Registers a pipeline, which refuses an option that has an empty value
/// (`chip=`). Upstream's PassPipelineRegistration has no way to report an
/// error.
template <typename OptionsT>
void registerPipelineWithOptions(llvm::StringRef name,
                                 llvm::StringRef description,
                                 PipelineBuilder<OptionsT> build) {
  using EmitError =
      llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)>;
  mlir::registerPassPipeline(
      name, description,
      [name = name.str(), build](mlir::OpPassManager &pm, llvm::StringRef text,
                                 EmitError emitError) {
        if (std::optional<std::string> problem = findEmptyOption(text))
          return emitError(name + ": " + llvm::Twine(*problem));
        OptionsT options;
        if (failed(options.parseFromString(text)))
          return mlir::failure();
        return build(pm, options, emitError);
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> handler) {
        handler(OptionsT());
      });
}

} // namespace fa4

#endif // FA4_SUPPORT_PIPELINEWITHOPTIONS_H
