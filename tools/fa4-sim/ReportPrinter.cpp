//===- ReportPrinter.cpp - findings as text and JSON ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportPrinter.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Format.h"

using namespace fa4::sim;

/// The text of an instruction with long vectors cut: the accumulator of a wgmma
/// has up to 128 registers.
static std::string shortened(llvm::StringRef text) {
  constexpr unsigned longest = 8;
  std::string result;
  while (!text.empty()) {
    auto [before, rest] = text.split('{');
    auto [vector, after] = rest.split('}');
    bool isVector = before.size() < text.size() && vector.size() < rest.size();
    llvm::SmallVector<llvm::StringRef> elements;
    vector.split(elements, ',');
    if (!isVector || elements.size() <= longest) {
      size_t end = isVector ? before.size() + vector.size() + 2 : text.size();
      result += text.take_front(end);
      text = text.drop_front(end);
      continue;
    }
    result += (before + "{" + elements[0].trim() + ", " + elements[1].trim() +
               ", ..., " + elements.back().trim() + "}")
                  .str();
    text = after;
  }
  return result;
}

static void printSite(llvm::raw_ostream &os, const ptx::Module &module,
                      const ReportSite &site) {
  os << "  ";
  if (site.line) {
    os << module.fileName << ":" << site.line;
    std::string source = module.sourceOf(site.line);
    os << (source.empty() ? "" : " (" + source + ")") << ": ";
  }
  os << "CTA (" << site.ctaId[0] << "," << site.ctaId[1] << "," << site.ctaId[2]
     << ") warp " << site.warp;
  if (site.lane >= 0)
    os << " lane " << site.lane;
  if (!site.what.empty())
    os << ": " << site.what;
  os << "\n";
  if (site.line)
    os << "    " << shortened(module.lineText(site.line).trim()) << "\n";
}

llvm::StringRef fa4::sim::nameOf(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Strict:
    return "strict";
  case Severity::Note:
    return "note";
  }
  return "";
}

void fa4::sim::printReport(llvm::raw_ostream &os, const ptx::Module &module,
                           const Report &report) {
  os << module.fileName << ":";
  if (!report.sites.empty() && report.sites.front().line)
    os << report.sites.front().line << ":";
  // What follows the first line is the table of a hang.
  auto [first, rest] = llvm::StringRef(report.message).split('\n');
  os << " " << nameOf(report.severity) << ": " << first << " [" << report.kind
     << "]\n";
  if (!rest.empty())
    os << rest << "\n";
  for (const ReportSite &site : report.sites)
    printSite(os, module, site);
  if (report.count > 1)
    os << "  seen " << report.count << " times\n";
}

llvm::json::Value fa4::sim::toJson(const ptx::Module &module,
                                   const Report &report) {
  llvm::json::Array sites;
  for (const ReportSite &site : report.sites)
    sites.push_back(
        llvm::json::Object{{"line", int64_t(site.line)},
                           {"source", module.sourceOf(site.line)},
                           {"opcode", site.opcode},
                           {"text", module.lineText(site.line).trim().str()},
                           {"cta", llvm::json::Array{int64_t(site.ctaId[0]),
                                                     int64_t(site.ctaId[1]),
                                                     int64_t(site.ctaId[2])}},
                           {"warp", int64_t(site.warp)},
                           {"lane", site.lane},
                           {"what", site.what}});
  std::string text;
  llvm::raw_string_ostream os(text);
  printReport(os, module, report);
  return llvm::json::Object{
      {"kind", report.kind},       {"severity", nameOf(report.severity)},
      {"message", report.message}, {"text", text},
      {"file", module.fileName},   {"count", int64_t(report.count)},
      {"sites", std::move(sites)}};
}

void fa4::sim::printStatistics(llvm::raw_ostream &os, const Statistics &s) {
  auto line = [&](const char *name, uint64_t value) {
    os << llvm::format("  %-20s %14llu\n", name,
                       static_cast<unsigned long long>(value));
  };
  line("warp instructions", s.warpInstructions);
  line("lane instructions", s.laneInstructions);
  line("mma instructions", s.mmaInstructions);
  line("mma flops", s.mmaFlops);
  line("tma bytes", s.tmaBytes);
  line("async operations", s.asyncOperations);
  line("clusters", s.clusters);
  os << llvm::format("  %-20s %14.3f\n", "seconds", s.seconds);
  if (s.seconds > 0)
    os << llvm::format("  %-20s %14.1f\n", "M lane instr / s",
                       double(s.laneInstructions) / s.seconds / 1e6);
}

llvm::json::Value fa4::sim::toJson(const Statistics &s) {
  return llvm::json::Object{{"warp_instructions", int64_t(s.warpInstructions)},
                            {"lane_instructions", int64_t(s.laneInstructions)},
                            {"mma_instructions", int64_t(s.mmaInstructions)},
                            {"mma_flops", int64_t(s.mmaFlops)},
                            {"tma_bytes", int64_t(s.tmaBytes)},
                            {"async_operations", int64_t(s.asyncOperations)},
                            {"clusters", int64_t(s.clusters)},
                            {"seconds", s.seconds}};
}
