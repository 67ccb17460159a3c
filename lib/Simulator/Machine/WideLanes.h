//===- WideLanes.h - handlers for the host's wide vectors ------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wide<f> is lanewise<f> for functions of which a kernel executes many: where
// all lanes execute, and the host has AVX2 and fused multiply-add, it uses
// them. The bits of results are the same: without contraction, the compiler
// makes no fused multiply-add of its own, and std::fma is correctly rounded
// everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MACHINE_WIDELANES_H
#define FA4_LIB_SIMULATOR_MACHINE_WIDELANES_H

#include "Lanes.h"

namespace fa4::sim {

#if defined(__x86_64__)
#define FA4_WIDE __attribute__((target("avx2,fma")))
inline bool findWideLanes() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define FA4_WIDE
inline bool findWideLanes() { return true; }
#endif
inline const bool hasWideLanes = findWideLanes();

template <typename Signature> struct WideFunction;
template <typename R, typename... A> struct WideFunction<R (*)(A...)> {
  template <auto f, unsigned Count>
  FA4_WIDE static void loop(Slot<R> *d, const Slot<A> *...sources) {
#pragma clang loop vectorize(assume_safety)
    for (unsigned l = 0; l < Count; ++l)
      d[l] = toSlot<R>(f(fromSlot<A>(sources[l])...));
  }
  template <auto f, unsigned Count, size_t... I>
  static void run(Exec &x, const Inst &inst, std::index_sequence<I...>) {
    loop<f, Count>(x.write<Slot<R>>(inst, 0), x.read<Slot<A>>(inst, I + 1)...);
  }
};

template <auto f> Flow wide(Exec &x, const Inst &inst) {
  if (x.mask != allLanes || !hasWideLanes)
    return lanewise<f>(x, inst);
  WideFunction<decltype(f)>::template run<f, warpSize>(
      x, inst, std::make_index_sequence<arity(f)>());
  return Flow::Next;
}

/// lanewise<both>, where `both` applies `f`, a function of floats, to the two
/// floats of each 64-bit register: the registers of a warp are 64 floats.
template <auto f, auto both> Flow widePairs(Exec &x, const Inst &inst) {
  if (x.mask != allLanes || !hasWideLanes)
    return lanewise<both>(x, inst);
  WideFunction<decltype(f)>::template run<f, 2 * warpSize>(
      x, inst, std::make_index_sequence<arity(f)>());
  return Flow::Next;
}

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MACHINE_WIDELANES_H
