//===- fa4-opt.cpp - the fa4 optimizer driver ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include "Version.inc"

static const char *const kPassHelp =
#include "PassHelp.inc"
    ;

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "fa4 " << FA4_VERSION << "\nLLVM " << LLVM_VERSION_STRING << "\n";
  });
  static const std::string help =
      std::string("\nFA4 PASSES (IR before and after each):\n\n") + kPassHelp;
  static llvm::cl::extrahelp extraHelp(help);

  mlir::DialectRegistry registry;
  fa4::registerToolDialects(registry);
  fa4::registerToolPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "fa4 optimizer driver\n", registry));
}
