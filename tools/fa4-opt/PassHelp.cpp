//===- PassHelp.cpp - help on fa4's own passes ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassHelp.h"
#include "fa4/Support/Tool.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using llvm::StringRef;

/// The pages of the passes: "### `-tile-subtile`", "_Summary_", description.
static const char *const kPassHelp =
#include "PassHelp.inc"
    ;

static constexpr StringRef kPipelines[] = {"attn-to-host", "attn-to-llvm",
                                           "attn-to-nvvm", "tile-schedule",
                                           "verify-protocol"};

/// What passes are about, in the order of a compilation. A pass or a pipeline
/// is under the first heading that has a word of its name.
static constexpr std::pair<StringRef, StringRef> kHeadings[] = {
    {"Proofs", "verify-protocol verify-outputs"},
    {"Attention ops: where they come from, what they mean, the CPU",
     "import-attention raise-to attn-decompose attn-print attn-to-llvm "
     "expand-fp8 rounding clampf"},
    {"From an op to a tile program",
     "attn-to subtile pair-ctas lazy-rescale tile-plan assign-work"},
    {"Roles, channels, schedule and memory",
     "warp-specialize tile-schedule split-values tile-pipeline tile-order "
     "ping-pong tile-stages split-exp share-buffers allocate"},
    {"Threads and machine code",
     "split-loop distribute float-positions unroll lane-math tile-to-nvvm "
     "merge-branches"},
    {"Host code and embedding", "binary launch host"}};

/// The position of a pass's heading; behind the last for one that has none.
static size_t findHeading(StringRef name) {
  auto has = [&](const auto &heading) {
    return llvm::any_of(llvm::split(heading.second, ' '),
                        [&](StringRef word) { return name.contains(word); });
  };
  if (name.contains("host"))
    return std::size(kHeadings) - 1;
  return llvm::find_if(kHeadings, has) - std::begin(kHeadings);
}

namespace {
/// A pass or a pipeline.
struct Topic {
  StringRef name, summary;
  StringRef text; ///< Of a pass, with its title.
  const mlir::PassPipelineInfo *pipeline = nullptr;
};
} // namespace

static llvm::SmallVector<Topic> collectTopics() {
  llvm::SmallVector<Topic> topics;
  for (StringRef name : kPipelines)
    if (const auto *pipeline = mlir::PassPipelineInfo::lookup(name))
      topics.push_back({name, pipeline->getPassDescription(), "", pipeline});
  constexpr StringRef title = "### `-";
  StringRef rest = kPassHelp;
  for (size_t at = rest.find(title); at != StringRef::npos;) {
    rest = rest.drop_front(at);
    size_t next = rest.find(title, title.size());
    StringRef text = rest.take_front(next);
    StringRef name = text.drop_front(title.size()).split('`').first;
    StringRef summary = text.split("\n_").second.split("_\n").first;
    topics.push_back({name, summary, text.rtrim()});
    at = next;
  }
  return topics;
}

std::string fa4::describePasses() { return kPassHelp; }

std::string fa4::listPasses() {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::SmallVector<Topic> topics = collectTopics();
  for (size_t i = 0; i <= std::size(kHeadings); ++i) {
    StringRef heading =
        i < std::size(kHeadings) ? kHeadings[i].first : "Others";
    for (const Topic &topic : topics) {
      if (findHeading(topic.name) != i)
        continue;
      if (!heading.empty())
        os << "\n" << heading << ":\n";
      heading = "";
      os << llvm::formatv("  --{0,-26} {1}\n", topic.name, topic.summary);
    }
  }
  return text;
}

int fa4::printPassHelp(StringRef pattern) {
  llvm::SmallVector<Topic> topics = collectTopics();
  llvm::raw_ostream &os = llvm::outs();
  if (pattern.empty()) {
    os << "fa4's pipelines and passes. All about those whose name contains "
          "NAME: --help-fa4=NAME;\nthose whose description has WORD: "
          "--help-fa4=WORD\n"
       << listPasses();
    return 0;
  }
  bool isFound = false;
  llvm::SmallVector<StringRef> names;
  for (const Topic &topic : topics) {
    names.push_back(topic.name);
    if (!topic.name.contains(pattern))
      continue;
    os << (isFound ? "\n" : "");
    isFound = true;
    if (topic.pipeline)
      // A description that begins left of the end of an option's name would
      // be indented by a negative number of spaces, as an unsigned one.
      topic.pipeline->printHelpStr(
          /*indent=*/2,
          std::max<size_t>(30, topic.pipeline->getOptionWidth() + 4));
    else
      os << topic.text << "\n";
  }
  if (isFound)
    return 0;
  for (const Topic &topic : topics) {
    if (!topic.summary.contains_insensitive(pattern) &&
        !topic.text.contains_insensitive(pattern))
      continue;
    isFound = true;
    os << llvm::formatv("  --{0,-26} {1}\n", topic.name, topic.summary);
  }
  if (isFound)
    return 0;
  llvm::WithColor::error(llvm::errs(), "fa4-opt")
      << "--help-fa4: no pass of fa4 has '" << pattern
      << "' in its name or its "
         "description; "
      << suggestName(pattern, names) << "\n";
  return 1;
}
