//===- fa4-reduce.cpp - test case reduction ------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// mlir-reduce, with fa4's dialects and passes, reductions of attention ops, and
// llvm-reduce's way to say what is interesting. mlir-reduce runs a script of
// which it expects status 1 for an interesting file; --test takes one that says
// so with 0, as llvm-reduce and shells do. In between stands this tool itself:
// as `fa4-reduce --run-test SCRIPT FILE` it runs the script and turns its
// answer round.
//
//===----------------------------------------------------------------------===//

#include "AttnReduction.h"
#include "fa4/InitAll.h"
#include "fa4/Support/FatalErrors.h"
#include "fa4/Support/OptionValues.h"
#include "fa4/Support/OutputFiles.h"
#include "fa4/Support/Tool.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"

using llvm::StringRef;

static int fail(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa4-reduce") << message << "\n";
  return 1;
}

/// mlir-reduce's status for the script's: 1 is interesting.
static int runTest(StringRef script, StringRef file) {
  std::string message;
  int status = llvm::sys::ExecuteAndWait(script, {script, file}, std::nullopt,
                                         {}, 0, 0, &message);
  if (status < 0)
    fail("'" + script + "': " + message);
  return status == 0;
}

/// The script's word on the input as it is, as a sentence; nothing if it is
/// interesting, or if there is no file that could be looked at.
static std::optional<std::string>
explainOriginal(StringRef script, llvm::ArrayRef<std::string> arguments) {
  auto file = llvm::find_if(llvm::drop_begin(arguments), [](StringRef each) {
    return !each.starts_with("-") && llvm::sys::fs::is_regular_file(each);
  });
  if (script.empty() || file == arguments.end())
    return std::nullopt;
  int status = llvm::sys::ExecuteAndWait(script, {script, *file});
  if (status <= 0)
    return std::nullopt;
  return ("the original is not interesting: '" + script +
          "' ended with status " + llvm::Twine(status))
      .str();
}

namespace {
/// Keeps what is said of candidates, which are reduced beyond what is valid. It
/// is told where the tool itself fails, because of the input.
class CandidateDiagnostics {
public:
  explicit CandidateDiagnostics(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return;
          llvm::raw_string_ostream os(text);
          os << diagnostic.getLocation() << ": error: " << diagnostic << "\n";
        }) {}

  std::string text;

private:
  mlir::ScopedDiagnosticHandler handler;
};
} // namespace

/// Replaces `--test SCRIPT` or `--test=SCRIPT` by the pass that reduces; false
/// after an error.
static bool takeTest(std::vector<std::string> &arguments, StringRef self) {
  std::string script;
  for (size_t i = 1; i < arguments.size(); ++i) {
    StringRef argument = arguments[i];
    argument.consume_front("-");
    if (!argument.consume_front("-test"))
      continue;
    bool isJoined = argument.consume_front("=");
    if (!isJoined && !argument.empty())
      continue;
    if (!isJoined && i + 1 == arguments.size()) {
      fail("--test needs a script");
      return false;
    }
    script = isJoined ? argument.str() : arguments[i + 1];
    arguments.erase(arguments.begin() + i,
                    arguments.begin() + i + (isJoined ? 1 : 2));
    break;
  }
  if (script.empty())
    return true;
  llvm::SmallString<128> path(script);
  llvm::sys::fs::make_absolute(path);
  if (!llvm::sys::fs::can_execute(path)) {
    fail("--test: '" + script + "' is no program that can be run");
    return false;
  }
  // The pass splits its arguments at commas, so that the script's path goes
  // through the environment.
  setenv("FA4_REDUCE_TEST", path.c_str(), /*replace=*/1);
  arguments.push_back("-reduction-tree=traversal-mode=0 test=\"" + self.str() +
                      "\" test-arg=--run-test");
  return true;
}

/// Removes `-o FILE` or `-o=FILE` from the arguments and returns the last FILE;
/// "-" if there is none.
static std::string takeOutput(std::vector<std::string> &arguments) {
  std::string output = "-";
  for (size_t i = 1; i < arguments.size();) {
    StringRef argument = arguments[i];
    if (argument.starts_with("--"))
      argument = argument.drop_front();
    bool isJoined = argument.consume_front("-o=");
    if (!isJoined && (argument != "-o" || i + 1 == arguments.size())) {
      ++i;
      continue;
    }
    output = isJoined ? argument.str() : arguments[i + 1];
    arguments.erase(arguments.begin() + i,
                    arguments.begin() + i + (isJoined ? 1 : 2));
  }
  return output;
}

int main(int argc, char **argv) {
  // mlir-reduce may put the file before or behind the argument of the script.
  if (const char *script = getenv("FA4_REDUCE_TEST"); script && argc == 3)
    for (int i : {1, 2})
      if (StringRef(argv[i]) == "--run-test")
        return runTest(script, argv[3 - i]);
  fa4::setUpTool("fa4-reduce");
  if (auto problem = fa4::findEmptyArgument(argc, argv))
    return fail(*problem);
  std::vector<std::string> arguments(argv, argv + argc);
  if (!takeTest(arguments, llvm::sys::fs::getMainExecutable(
                               argv[0], reinterpret_cast<void *>(&runTest))))
    return 1;
  llvm::cl::extrahelp help(
      "\nWHAT IS INTERESTING:\n\n"
      "  --test=SCRIPT  `SCRIPT FILE` ends with 0 while FILE is interesting, "
      "as with\n                 llvm-reduce. The same as "
      "-reduction-tree='traversal-mode=0\n                 test=S', but that "
      "a script S of mlir-reduce ends with 1 then.\n");
  static const fa4::FatalErrorExit fatal{"fa4-reduce", 1};
  fa4::reportFatalErrorsAs(fatal);
  mlir::DialectRegistry registry;
  fa4::registerToolDialects(registry);
  fa4::registerAttnReduction(registry);
  fa4::registerToolPasses();
  mlir::MLIRContext context(registry);
  std::string output = takeOutput(arguments);
  auto run = [&](StringRef path) -> int {
    std::vector<std::string> all = arguments;
    all.push_back("-o=" + path.str());
    llvm::SmallVector<char *> pointers;
    for (std::string &argument : all)
      pointers.push_back(argument.data());
    CandidateDiagnostics diagnostics(context);
    if (mlir::succeeded(
            mlir::mlirReduceMain(pointers.size(), pointers.data(), context)))
      return 0;
    llvm::errs() << diagnostics.text;
    const char *script = getenv("FA4_REDUCE_TEST");
    if (auto problem = explainOriginal(script ? script : "", arguments))
      return fail(*problem);
    return 1;
  };
  if (fa4::OutputFiles::isStandardOutput(output))
    return run(output);
  return fa4::writeThroughMemory("fa4-reduce", output, run);
}
