//===- OptionValues.cpp - values of options that LLVM would let pass -===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Support/OptionValues.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

std::optional<std::string> fa4::findEmptyArgument(int argc,
                                                  const char *const *argv) {
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    if (argument.empty())
      return "argument " + std::to_string(i) + " is empty";
    if (argument.starts_with("-") && argument.find('=') + 1 == argument.size())
      return ("the option '" + argument.drop_back() + "' has an empty value")
          .str();
  }
  return std::nullopt;
}

/// Drops one value from `text`: up to a space that is not in quotes or braces.
static void dropValue(StringRef &text) {
  unsigned braces = 0;
  char quote = 0;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    char letter = text[i];
    if (quote)
      quote = letter == quote ? 0 : quote;
    else if (letter == '"' || letter == '\'')
      quote = letter;
    else if (letter == '{')
      ++braces;
    else if (letter == '}' && braces)
      --braces;
    else if (letter == ' ' && !braces)
      break;
  }
  text = text.drop_front(i);
}

std::optional<std::string> fa4::findEmptyOption(StringRef options) {
  while (!(options = options.ltrim()).empty()) {
    StringRef name = options.take_until(
        [](char letter) { return letter == '=' || letter == ' '; });
    options = options.drop_front(name.size());
    if (!options.consume_front("="))
      continue;
    if (options.empty() || options.front() == ' ')
      return ("the option '" + name + "' has an empty value").str();
    dropValue(options);
  }
  return std::nullopt;
}

bool fa4::RealParser::parse(llvm::cl::Option &option, StringRef name,
                            StringRef text, double &value) {
  if (text.empty() || llvm::isSpace(text.front()))
    return option.error("'" + text +
                        "' value invalid for floating point "
                        "argument!");
  return parser::parse(option, name, text, value);
}
