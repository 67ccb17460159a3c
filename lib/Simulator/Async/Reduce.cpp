//===- Reduce.cpp - reductions in memory ---------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"
#include "../Machine/Numeric.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>

using namespace fa4::sim;

int fa4::sim::parseReduceOp(llvm::StringRef name) {
  return llvm::StringSwitch<int>(name)
      .Case("add", int(ReduceOp::Add))
      .Case("min", int(ReduceOp::Min))
      .Case("max", int(ReduceOp::Max))
      .Case("inc", int(ReduceOp::Inc))
      .Case("dec", int(ReduceOp::Dec))
      .Case("and", int(ReduceOp::And))
      .Case("or", int(ReduceOp::Or))
      .Case("xor", int(ReduceOp::Xor))
      .Default(-1);
}

bool fa4::sim::reduceSupports(ReduceOp op, TensorMapType type) {
  switch (type) {
  case TensorMapType::F16:
  case TensorMapType::BF16:
    return op == ReduceOp::Add || op == ReduceOp::Min || op == ReduceOp::Max;
  case TensorMapType::F32:
  case TensorMapType::F32Ftz:
  case TensorMapType::F64:
    return op == ReduceOp::Add;
  case TensorMapType::U32:
  case TensorMapType::S32:
  case TensorMapType::U64:
  case TensorMapType::S64:
    return true;
  case TensorMapType::B4x16:
  case TensorMapType::B4x16P64:
  case TensorMapType::B6x16P32:
    return false;
  default:
    return op == ReduceOp::And || op == ReduceOp::Or || op == ReduceOp::Xor;
  }
}

template <typename T> static T apply(ReduceOp op, T a, T b) {
  switch (op) {
  case ReduceOp::Add:
    return a + b;
  case ReduceOp::Min:
    return std::min(a, b);
  case ReduceOp::Max:
    return std::max(a, b);
  default:
    break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (op) {
    case ReduceOp::Inc:
      return a >= b ? 0 : a + 1;
    case ReduceOp::Dec:
      return a == 0 || a > b ? b : a - 1;
    case ReduceOp::And:
      return a & b;
    case ReduceOp::Or:
      return a | b;
    case ReduceOp::Xor:
      return a ^ b;
    default:
      break;
    }
  }
  return a;
}

/// Min and max of floating-point numbers: a number wins over NaN.
template <> float apply(ReduceOp op, float a, float b) {
  if (op == ReduceOp::Add)
    return canonical(a + b);
  if (a != a || b != b)
    return a != a ? b : a;
  return (op == ReduceOp::Min) == (a < b) ? a : b;
}

template <typename Bits, typename F>
static void update(uint8_t *destination, const uint8_t *source, size_t bytes,
                   F f) {
  auto *to = reinterpret_cast<Bits *>(destination);
  for (size_t i = 0; i < bytes / sizeof(Bits); ++i) {
    Bits value;
    std::memcpy(&value, source + i * sizeof(Bits), sizeof(Bits));
    Bits old = __atomic_load_n(to + i, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(to + i, &old, f(old, value), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      ;
  }
}

template <typename T, typename Bits>
static void updateAs(uint8_t *destination, const uint8_t *source, size_t bytes,
                     ReduceOp op) {
  update<Bits>(destination, source, bytes, [op](Bits a, Bits b) {
    return bitCast<Bits>(apply<T>(op, bitCast<T>(a), bitCast<T>(b)));
  });
}

void fa4::sim::reduceInto(uint8_t *destination, const uint8_t *source,
                          size_t bytes, ReduceOp op, TensorMapType type) {
  switch (type) {
  case TensorMapType::F32:
  case TensorMapType::F32Ftz:
  case TensorMapType::TF32:
  case TensorMapType::TF32Ftz: {
    bool ftz = type == TensorMapType::F32Ftz || type == TensorMapType::TF32Ftz;
    return update<uint32_t>(
        destination, source, bytes, [=](uint32_t a, uint32_t b) {
          float x = bitCast<float>(a), y = bitCast<float>(b);
          if (ftz)
            return bitCast<uint32_t>(flush(apply(op, flush(x), flush(y))));
          return bitCast<uint32_t>(apply(op, x, y));
        });
  }
  case TensorMapType::F64:
    return updateAs<double, uint64_t>(destination, source, bytes, op);
  case TensorMapType::F16:
    return update<uint16_t>(destination, source, bytes,
                            [op](uint16_t a, uint16_t b) {
                              return toF16(apply(op, fromF16(a), fromF16(b)));
                            });
  case TensorMapType::BF16:
    return update<uint16_t>(
        destination, source, bytes, [op](uint16_t a, uint16_t b) {
          return toBf16(apply(op, fromBf16(a), fromBf16(b)));
        });
  case TensorMapType::S32:
    return updateAs<int32_t, uint32_t>(destination, source, bytes, op);
  case TensorMapType::U32:
    return updateAs<uint32_t, uint32_t>(destination, source, bytes, op);
  case TensorMapType::S64:
    return updateAs<int64_t, uint64_t>(destination, source, bytes, op);
  case TensorMapType::U64:
    return updateAs<uint64_t, uint64_t>(destination, source, bytes, op);
  case TensorMapType::U16:
    return update<uint16_t>(destination, source, bytes,
                            [op](uint16_t a, uint16_t b) {
                              return uint16_t(apply<uint32_t>(op, a, b));
                            });
  case TensorMapType::U8:
    return update<uint8_t>(destination, source, bytes,
                           [op](uint8_t a, uint8_t b) {
                             return uint8_t(apply<uint32_t>(op, a, b));
                           });
  case TensorMapType::B4x16:
  case TensorMapType::B4x16P64:
  case TensorMapType::B6x16P32:
    llvm_unreachable("reduceSupports refuses them");
  }
}
