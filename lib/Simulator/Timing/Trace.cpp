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

std::string Trace::json() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream os(stream);
  auto place = [&](const Track &track) {
    os.attribute("pid", int64_t(track.cta));
    os.attribute("tid", int64_t(track.number));
  };
  std::set<std::pair<uint32_t, uint32_t>> tracks;
  os.objectBegin();
  os.attributeBegin("traceEvents");
  os.arrayBegin();
  for (const Slice &slice : slices) {
    tracks.insert({slice.track.cta, slice.track.number});
    os.object([&] {
      os.attribute("ph", "X");
      os.attribute("name", slice.opcode);
      place(slice.track);
      os.attribute("ts", slice.begin);
      os.attribute("dur", slice.end - slice.begin);
      os.attributeObject("args", [&] { os.attribute("line", slice.line); });
    });
  }
  int64_t number = 0;
  for (const Arrow &arrow : arrows) {
    ++number;
    for (bool isEnd : {false, true})
      os.object([&] {
        os.attribute("ph", isEnd ? "f" : "s");
        if (isEnd)
          os.attribute("bp", "e");
        os.attribute("name", "mbarrier");
        os.attribute("cat", "mbarrier");
        os.attribute("id", number);
        place(isEnd ? arrow.to : arrow.from);
        os.attribute("ts", isEnd ? arrow.end : arrow.begin);
      });
  }
  for (const Phase &phase : phases)
    os.object([&] {
      os.attribute("ph", "i");
      os.attribute("s", "p");
      os.attribute("name", "mbarrier phase");
      os.attribute("pid", int64_t(phase.cta));
      os.attribute("ts", phase.at);
      os.attributeObject("args", [&] { os.attribute("offset", phase.offset); });
    });
  for (auto [cta, track] : tracks)
    os.object([&, cta = cta, track = track] {
      os.attribute("ph", "M");
      os.attribute("name", "thread_name");
      place({cta, track});
      auto role = roles.find({cta, track});
      std::string prefix = role == roles.end() ? "" : role->second + " ";
      os.attributeObject(
          "args", [&] { os.attribute("name", prefix + nameOf({cta, track})); });
    });
  os.arrayEnd();
  os.attributeEnd();
  os.objectEnd();
  return text;
}
