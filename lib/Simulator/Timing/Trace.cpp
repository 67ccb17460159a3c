//===- Trace.cpp - what happened when in a timed CTA ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Timing/Trace.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace fa4::sim;

std::string Trace::nameOf(const Track &track) {
  switch (track.number) {
  case Trace::TensorCores:
    return "tensor cores";
  case Trace::BulkLoads:
    return "bulk loads";
  case Trace::BulkStores:
    return "bulk stores";
  case Trace::TensorStores:
    return "stores to tensor memory";
  case Trace::Others:
    return "other asynchronous work";
  default:
    return "warp " + std::to_string(track.number);
  }
}

using Os = llvm::json::OStream;

static void writePlace(Os &os, const Trace::Track &track) {
  os.attribute("pid", int64_t(track.cta));
  os.attribute("tid", int64_t(track.number));
}

static void write(Os &os, const Trace::Slice &slice) {
  os.attribute("ph", "X");
  os.attribute("name", slice.opcode);
  writePlace(os, slice.track);
  os.attribute("ts", slice.begin);
  os.attribute("dur", slice.end - slice.begin);
  os.attributeObject("args", [&] { os.attribute("line", slice.line); });
}

/// An arrow is two events with the same number.
static void writeSide(Os &os, const Trace::Arrow &arrow, int64_t number,
                      bool isEnd) {
  os.attribute("ph", isEnd ? "f" : "s");
  if (isEnd)
    os.attribute("bp", "e");
  os.attribute("name", "mbarrier");
  os.attribute("cat", "mbarrier");
  os.attribute("id", number);
  writePlace(os, isEnd ? arrow.to : arrow.from);
  os.attribute("ts", isEnd ? arrow.end : arrow.begin);
}

static void write(Os &os, const Trace::Phase &phase) {
  os.attribute("ph", "i");
  os.attribute("s", "p");
  os.attribute("name", "mbarrier phase");
  os.attribute("pid", int64_t(phase.cta));
  os.attribute("ts", phase.at);
  os.attributeObject("args", [&] { os.attribute("offset", phase.offset); });
}

static void writeName(Os &os, const Trace::Track &track,
                      const std::string &name) {
  os.attribute("ph", "M");
  os.attribute("name", "thread_name");
  writePlace(os, track);
  os.attributeObject("args", [&] { os.attribute("name", name); });
}

std::string Trace::json() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Os os(stream);
  std::set<std::pair<uint32_t, uint32_t>> tracks;
  os.objectBegin();
  os.attributeBegin("traceEvents");
  os.arrayBegin();
  for (const Slice &slice : slices) {
    tracks.insert({slice.track.cta, slice.track.number});
    os.object([&] { write(os, slice); });
  }
  int64_t number = 0;
  for (const Arrow &arrow : arrows) {
    ++number;
    for (bool isEnd : {false, true})
      os.object([&] { writeSide(os, arrow, number, isEnd); });
  }
  for (const Phase &phase : phases)
    os.object([&] { write(os, phase); });
  for (auto [cta, number] : tracks) {
    Track track{cta, number};
    auto role = roles.find({cta, number});
    std::string prefix = role == roles.end() ? "" : role->second + " ";
    os.object([&] { writeName(os, track, prefix + nameOf(track)); });
  }
  os.arrayEnd();
  os.attributeEnd();
  os.objectEnd();
  return text;
}
