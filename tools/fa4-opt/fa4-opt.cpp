//===- fa4-opt.cpp - the fa4 optimizer driver ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassHelp.h"
#ifdef FA4_TEST_PASSES
#include "Protocol/TestPasses.h"
#endif
#include "fa4/InitAll.h"
#include "fa4/Support/FatalErrors.h"
#include "fa4/Support/OptionValues.h"
#include "fa4/Support/OutputFiles.h"
#include "fa4/Support/Tool.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa4-opt") << message << "\n";
  return 1;
}

int main(int argc, char **argv) {
  fa4::setUpTool("fa4-opt");
  static const fa4::FatalErrorExit fatal{"fa4-opt", 1};
  fa4::reportFatalErrorsAs(fatal);
  if (auto problem = fa4::findEmptyArgument(argc, argv))
    return fail(*problem);
  mlir::DialectRegistry registry;
  fa4::registerToolDialects(registry);
  fa4::registerToolPasses();
#ifdef FA4_TEST_PASSES
  fa4::tile::registerTestPasses();
#endif
  // Before LLVM's command line, which would want to know all other arguments.
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--help-fa4" || argument.consume_front("--help-fa4="))
      return fa4::printPassHelp(argument == "--help-fa4" ? "" : argument);
  }
  // What --help begins with. It is not made where nobody asks for it.
  bool wantsHelp =
      llvm::any_of(llvm::ArrayRef(argv, argc), [](llvm::StringRef argument) {
        return argument.starts_with("-") &&
               argument.ltrim('-').starts_with("help");
      });
  std::string overview =
      "fa4 optimizer driver. fa4's passes and pipelines by topic; all about "
      "some of them: --help-fa4=NAME or\n--help-fa4=WORD. The options of all "
      "passes, upstream's too, are below; at the end fa4's passes with IR\n"
      "before and after each.\n";
  static std::string pages;
  if (wantsHelp) {
    overview += fa4::listPasses();
    pages =
        "\nFA4 PASSES (IR before and after each):\n\n" + fa4::describePasses();
  }
  static llvm::cl::extrahelp extraHelp(pages);
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, overview, registry);
  auto run = [&, in = input](llvm::StringRef path) {
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, in, path, registry));
  };
  if (fa4::OutputFiles::isStandardOutput(output))
    return run(output);
  return fa4::writeThroughMemory("fa4-opt", output, run);
}
