//===- HoverDocs.cpp - documentation of operations in hovers --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's language server knows an operation's definition but not the
// description in its .td file, and has no hook for hovers. So the server writes
// to a pipe instead of to standard output, and a thread reads its messages from
// the pipe, adds the documentation to hovers, and passes them on:
//
//   Content-Length: 123\r\n
//   \r\n
//   {"id": 1, "result": {"contents": {"kind": "markdown", "value": "..."}}}
//
//===----------------------------------------------------------------------===//

#include "HoverDocs.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <thread>
#include <unistd.h>

using llvm::StringRef;

/// The pages of the dialects: "### `attn.sdpa` (::fa4::attn::SdpaOp)", then the
/// operation's documentation.
static const char *const kDialectDocs =
#include "DialectDocs.inc"
    ;

/// Returns the description, operands and attributes of an operation as
/// Markdown; empty for an operation that is not fa4's.
static StringRef documentationOf(StringRef operation) {
  std::string title = ("### `" + operation + "` (").str();
  StringRef docs = kDialectDocs;
  size_t at = docs.find(title);
  if (at == StringRef::npos)
    return "";
  StringRef text = docs.drop_front(at).split('\n').second;
  // Up to the next operation, section or page.
  size_t end = text.size();
  for (const char *next : {"\n### ", "\n## ", "\n# "})
    end = std::min(end, text.find(next));
  return text.take_front(end).trim();
}

std::string fa4::addDocumentation(StringRef message) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(message);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return message.str();
  }
  llvm::json::Object *top = parsed->getAsObject();
  llvm::json::Object *result = top ? top->getObject("result") : nullptr;
  llvm::json::Object *contents =
      result ? result->getObject("contents") : nullptr;
  std::optional<StringRef> hover =
      contents ? contents->getString("value") : std::nullopt;
  if (!hover)
    return message.str();
  // "attn.sdpa" over an operation, Operation: "attn.sdpa" over its result.
  StringRef rest = *hover;
  rest.consume_front("Operation: ");
  if (!rest.consume_front("\""))
    return message.str();
  StringRef docs =
      documentationOf(rest.take_until([](char c) { return c == '"'; }));
  if (docs.empty())
    return message.str();
  (*contents)["value"] = (*hover + "\n***\n" + docs).str();
  return llvm::formatv(message.ends_with("\n") ? "{0:2}\n" : "{0}", *parsed)
      .str();
}

/// Reads messages until the server closes its end of the pipe, and writes them
/// to `to`.
static void passOn(FILE *from, llvm::raw_ostream &to) {
  char *line = nullptr;
  size_t capacity = 0, length = 0;
  std::string message;
  while (getline(&line, &capacity, from) > 0) {
    StringRef header = StringRef(line).trim();
    if (header.consume_front("Content-Length:")) {
      if (header.trim().getAsInteger(10, length))
        break;
      continue;
    }
    if (!header.empty())
      continue; // Another header.
    message.resize(length);
    if (fread(message.data(), 1, length, from) != length)
      break;
    message = fa4::addDocumentation(message);
    to << "Content-Length: " << message.size() << "\r\n\r\n" << message;
    to.flush();
  }
  free(line);
}

int fa4::runWithDocumentation(llvm::function_ref<int()> server) {
  int ends[2];
  int client = dup(STDOUT_FILENO);
  FILE *from = nullptr;
  if (client < 0 || pipe(ends) != 0 || !(from = fdopen(ends[0], "r")))
    return server();
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  llvm::raw_fd_ostream to(client, /*shouldClose=*/true);
  std::thread reader([&] { passOn(from, to); });
  int status = server();
  // Standard output leads to the client again. Nobody writes to the pipe any
  // more, so that the thread reads the last message and then the end.
  llvm::outs().flush();
  dup2(client, STDOUT_FILENO);
  reader.join();
  fclose(from);
  if (to.has_error()) {
    to.clear_error(); // The client is gone, and nobody can be told.
    return 1;
  }
  return status;
}
