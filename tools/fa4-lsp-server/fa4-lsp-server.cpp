//===- fa4-lsp-server.cpp - language server ------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "HoverDocs.h"
#include "fa4/InitAll.h"
#include "fa4/Support/OptionValues.h"
#include "fa4/Support/Tool.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/WithColor.h"

int main(int argc, char **argv) {
  fa4::setUpTool("fa4-lsp-server");
  if (auto problem = fa4::findEmptyArgument(argc, argv)) {
    llvm::WithColor::error(llvm::errs(), "fa4-lsp-server") << *problem << "\n";
    return 1;
  }
  mlir::DialectRegistry registry;
  fa4::registerToolDialects(registry);
  fa4::registerEditorChecks(registry);
  // These options print a text and exit, without a return to main.
  bool printsAndExits =
      llvm::any_of(llvm::ArrayRef(argv, argc), [](llvm::StringRef argument) {
        return argument.contains("help") || argument.contains("version");
      });
  auto serve = [&] {
    return int(mlir::failed(mlir::MlirLspServerMain(argc, argv, registry)));
  };
  return printsAndExits ? serve() : fa4::runWithDocumentation(serve);
}
