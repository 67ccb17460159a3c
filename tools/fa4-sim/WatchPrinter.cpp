//===- WatchPrinter.cpp - who wrote to a place, as text and JSON ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WatchPrinter.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;

llvm::Error WatchPrinter::setUp(const Session &session,
                                llvm::ArrayRef<std::string> list,
                                llvm::raw_ostream *stream) {
  os = stream;
  for (const std::string &name : list) {
    auto place = session.place(name);
    if (!place)
      return place.takeError();
    names.push_back(name);
    places.push_back(*place);
  }
  return llvm::Error::success();
}

void WatchPrinter::attach(const ptx::Module &module, RunOptions &run) {
  if (places.empty())
    return;
  writes.assign(places.size(), 0);
  std::vector<WatchPlace> watched;
  for (const MemoryPlace &place : places)
    watched.push_back({place.space, place.address, place.bytes});
  run.checker = watchWrites(
      std::move(watched),
      [this, &module](const WatchEvent &event) { tell(module, event); },
      run.checker);
}

std::string WatchPrinter::valueText(unsigned index, uint64_t bits) const {
  const MemoryPlace &place = places[index];
  std::string text =
      llvm::formatv("{0}", llvm::format_hex(bits, 2 + 2 * place.bytes)).str();
  if (place.type && isFloat(*place.type))
    return Number(decodeFloat(*place.type, bits)).text() + " (" + text + ")";
  if (place.type)
    return std::to_string(int64_t(bits)) + " (" + text + ")";
  return text;
}

void WatchPrinter::tell(const ptx::Module &module, const WatchEvent &event) {
  std::lock_guard<std::mutex> lock(mutex);
  ++writes[event.place];
  const ReportSite &site = event.site;
  std::string source = module.sourceOf(site.line);
  std::string value = valueText(event.place, event.value);
  if (!os) {
    events.push_back(
        llvm::json::Object{{"place", names[event.place]},
                           {"value", value},
                           {"line", int64_t(site.line)},
                           {"source", source},
                           {"opcode", site.opcode},
                           {"cta", llvm::json::Array{int64_t(site.ctaId[0]),
                                                     int64_t(site.ctaId[1]),
                                                     int64_t(site.ctaId[2])}},
                           {"warp", int64_t(site.warp)},
                           {"lane", site.lane},
                           {"async", event.isAsync},
                           {"time", int64_t(event.time)}});
    return;
  }
  *os << llvm::formatv(
      "watch {0}: {1} written at {2} ns by CTA ({3},{4},{5}) warp {6} lane "
      "{7}{8}\n  {9}:{10}{11}: {12}\n",
      names[event.place], value, event.time, site.ctaId[0], site.ctaId[1],
      site.ctaId[2], site.warp, site.lane,
      event.isAsync ? ", whose asynchronous operation is complete" : "",
      module.fileName, site.line, source.empty() ? "" : " (" + source + ")",
      module.lineText(site.line).trim());
  os->flush();
}

void WatchPrinter::finishLaunch() {
  for (size_t i = 0; os && i < places.size(); ++i)
    if (!writes[i])
      *os << "watch " << names[i] << ": nobody has written there\n";
}
