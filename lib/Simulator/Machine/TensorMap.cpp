//===- TensorMap.cpp - a TMA tensor map as 128 bytes ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/TensorMap.h"
#include "llvm/ADT/Twine.h"

using namespace fa4::sim;
using llvm::Twine;

unsigned TensorMap::elementBytes() const {
  switch (type) {
  case TensorMapType::U8:
    return 1;
  case TensorMapType::U16:
  case TensorMapType::F16:
  case TensorMapType::BF16:
    return 2;
  case TensorMapType::U32:
  case TensorMapType::S32:
  case TensorMapType::F32:
  case TensorMapType::F32Ftz:
  case TensorMapType::TF32:
  case TensorMapType::TF32Ftz:
    return 4;
  case TensorMapType::U64:
  case TensorMapType::S64:
  case TensorMapType::F64:
    return 8;
  }
  return 0;
}

/// Bytes that the swizzle pattern spans along dimension 0; 0 for none.
static unsigned swizzleSpan(TensorMapSwizzle swizzle) {
  switch (swizzle) {
  case TensorMapSwizzle::None:
    return 0;
  case TensorMapSwizzle::B32:
    return 32;
  case TensorMapSwizzle::B64:
    return 64;
  case TensorMapSwizzle::B128:
  case TensorMapSwizzle::B128Atom32B:
  case TensorMapSwizzle::B128Atom32BFlip8B:
  case TensorMapSwizzle::B128Atom64B:
    return 128;
  }
  return 0;
}

llvm::Error TensorMap::verify() const {
  auto fail = [](const Twine &message) {
    return llvm::createStringError("tensor map: " + message);
  };
  if (magic != magicValue)
    return fail("not a tensor map");
  if (rank < 1 || rank > 5)
    return fail("rank " + Twine(rank) + " is not in 1..5");
  unsigned bytes = elementBytes();
  if (bytes == 0)
    return fail("unknown element type " + Twine(unsigned(type)));
  if (unsigned(swizzle) > unsigned(TensorMapSwizzle::B128Atom64B))
    return fail("unknown swizzle " + Twine(unsigned(swizzle)));
  if (interleave > 2)
    return fail("unknown interleave " + Twine(unsigned(interleave)));
  if (interleave && rank < 3)
    return fail("interleave needs rank 3 or more");
  if (address % (interleave == 2 ? 32 : 16))
    return fail("global address is not a multiple of " +
                Twine(interleave == 2 ? 32 : 16));
  for (unsigned i = 0; i < rank; ++i) {
    if (dims[i] < 1 || dims[i] > (uint64_t(1) << 32))
      return fail("dimension " + Twine(i) + " is " + Twine(dims[i]) +
                  ", not in 1..2^32");
    if (box[i] < 1 || box[i] > 256)
      return fail("box of dimension " + Twine(i) + " is " + Twine(box[i]) +
                  ", not in 1..256");
    if (elementStrides[i] < 1 || elementStrides[i] > 8)
      return fail("element stride of dimension " + Twine(i) +
                  " is not in 1..8");
    if (i + 1 < rank && (byteStrides[i] % (interleave == 2 ? 32 : 16) ||
                         byteStrides[i] >= (uint64_t(1) << 40)))
      return fail("byte stride of dimension " + Twine(i + 1) + " is " +
                  Twine(byteStrides[i]) + ", not a multiple of " +
                  Twine(interleave == 2 ? 32 : 16) + " below 2^40");
  }
  unsigned inner = box[0] * bytes;
  if (!interleave && inner % 16)
    return fail("the box's inner dimension is " + Twine(inner) +
                " bytes, not a multiple of 16");
  unsigned span = swizzleSpan(swizzle);
  if (!interleave && span && inner > span)
    return fail("the box's inner dimension is " + Twine(inner) +
                " bytes, over the swizzle's " + Twine(span));
  if (interleave == 2 && swizzle != TensorMapSwizzle::B32)
    return fail("interleave 32B needs swizzle 32B");
  return llvm::Error::success();
}
