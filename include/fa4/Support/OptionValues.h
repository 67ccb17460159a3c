//===- OptionValues.h - values of options that LLVM would let pass -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's command line reads an empty text as the number 0.0 and as true. A
// value that a script has left empty (`--rescale-threshold=$T`) would compile
// another kernel without a word, so that fa4's tools and passes refuse these.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_OPTIONVALUES_H
#define FA4_SUPPORT_OPTIONVALUES_H

#include "llvm/Support/CommandLine.h"
#include <optional>
#include <string>

namespace fa4 {

/// Returns a sentence on the first argument that is empty, or that is an option
/// with an empty value (`--name=`); nothing if there is none.
std::optional<std::string> findEmptyArgument(int argc, const char *const *argv);

/// Returns a sentence on the first option with an empty value in the text of a
/// pass's or a pipeline's options, such as `to=schedule chip=`; nothing if
/// there is none.
std::optional<std::string> findEmptyOption(llvm::StringRef options);

/// Reads a real number. LLVM's own parser also takes white space before it.
struct RealParser : llvm::cl::parser<double> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef text, double &value);
};

} // namespace fa4

#endif // FA4_SUPPORT_OPTIONVALUES_H
