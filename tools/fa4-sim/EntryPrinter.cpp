//===- EntryPrinter.cpp - the entries of a PTX file as JSON ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryPrinter.h"

using namespace fa4::sim;
namespace json = llvm::json;

static json::Value triple(const uint32_t (&values)[3]) {
  if (!values[0])
    return nullptr;
  return json::Array{int64_t(values[0]), int64_t(values[1]),
                     int64_t(values[2])};
}

static json::Value describe(const ptx::Function &entry) {
  json::Array params;
  for (const ptx::Variable *param : entry.params)
    params.push_back(json::Object{{"name", param->name},
                                  {"type", ptx::typeName(param->type)},
                                  {"bytes", int64_t(param->bytes)},
                                  {"align", int64_t(param->align)},
                                  {"array", !param->dims.empty()}});
  return json::Object{{"name", entry.name},
                      {"params", std::move(params)},
                      {"block", triple(entry.directives.reqntid)},
                      {"cluster", triple(entry.directives.reqnctapercluster)}};
}

json::Value fa4::sim::describeEntries(const ptx::Module &module) {
  json::Array targets, entries;
  for (llvm::StringRef target : module.targets)
    targets.push_back(target);
  for (const ptx::Function &function : module.functions)
    if (function.isEntry && function.hasBody)
      entries.push_back(describe(function));
  return json::Object{{"targets", std::move(targets)},
                      {"entries", std::move(entries)}};
}
