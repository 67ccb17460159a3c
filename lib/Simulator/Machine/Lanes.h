//===- Lanes.h - handlers from functions of one lane -----------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// lanewise<f> is the handler that applies f to operands 1, 2, ... and writes
// operand 0, for the executing lanes. Types narrower than 32 bits live in
// 32-bit slots, zero-extended when written.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MACHINE_LANES_H
#define FA4_LIB_SIMULATOR_MACHINE_LANES_H

#include "Numeric.h"
#include "fa4/Simulator/Machine/State.h"
#include <tuple>
#include <type_traits>
#include <utility>

namespace fa4::sim {

struct U128 {
  uint64_t low, high;
};

template <typename T>
using Slot = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;

template <typename T> inline T fromSlot(Slot<T> slot) {
  if constexpr (sizeof(T) == sizeof(Slot<T>))
    return bitCast<T>(slot);
  else if constexpr (sizeof(T) == 2)
    return bitCast<T>(uint16_t(slot));
  else
    return bitCast<T>(uint8_t(slot));
}
template <typename T> inline Slot<T> toSlot(T value) {
  if constexpr (sizeof(T) == sizeof(Slot<T>))
    return bitCast<Slot<T>>(value);
  else if constexpr (sizeof(T) == 2)
    return bitCast<uint16_t>(value);
  else
    return bitCast<uint8_t>(value);
}

template <typename Signature> struct LaneFunction;
template <typename R, typename... A> struct LaneFunction<R (*)(A...)> {
  template <auto f, size_t... I>
  static Flow run(Exec &x, const Inst &inst, std::index_sequence<I...>) {
    Slot<R> *d = x.write<Slot<R>>(inst, 0);
    std::tuple<const Slot<A> *...> sources{x.read<Slot<A>>(inst, I + 1)...};
    if (x.mask == allLanes) {
#pragma clang loop vectorize(assume_safety)
      for (unsigned l = 0; l < warpSize; ++l)
        d[l] = toSlot<R>(f(fromSlot<A>(std::get<I>(sources)[l])...));
    } else {
      forEachLane(x.mask, [&](unsigned l) {
        d[l] = toSlot<R>(f(fromSlot<A>(std::get<I>(sources)[l])...));
      });
    }
    return Flow::Next;
  }
};

template <typename R, typename... A> constexpr size_t arity(R (*)(A...)) {
  return sizeof...(A);
}

template <auto f> Flow lanewise(Exec &x, const Inst &inst) {
  using Function = decltype(f);
  return LaneFunction<Function>::template run<f>(
      x, inst, std::make_index_sequence<arity(f)>());
}

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MACHINE_LANES_H
