//===- TensorMap.cpp - a TMA tensor map as 128 bytes ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/TensorMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include <algorithm>

using namespace fa4::sim;
using llvm::Twine;
namespace endian = llvm::support::endian;

unsigned TensorMap::elementBits() const {
  switch (type) {
  case TensorMapType::B4x16:
  case TensorMapType::B4x16P64:
    return 4;
  case TensorMapType::B6x16P32:
    return 6;
  case TensorMapType::U8:
    return 8;
  case TensorMapType::U16:
  case TensorMapType::F16:
  case TensorMapType::BF16:
    return 16;
  case TensorMapType::U32:
  case TensorMapType::S32:
  case TensorMapType::F32:
  case TensorMapType::F32Ftz:
  case TensorMapType::TF32:
  case TensorMapType::TF32Ftz:
    return 32;
  case TensorMapType::U64:
  case TensorMapType::S64:
  case TensorMapType::F64:
    return 64;
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

/// The rules for elements of less than a byte; the message, or null. (PTX ISA,
/// "Restriction on Tensor Copy instructions"; sm_103a has fewer for b6p2x16,
/// which are not here.)
static const char *checkSubByte(const TensorMap &map) {
  if (map.fillNan)
    return "elements of less than 8 bits cannot be filled with NaN";
  if (!map.isPadded())
    return map.dims[0] % 2 ? "dimension 0 of 4-bit elements is odd" : nullptr;
  if (map.address % 32)
    return "global address of padded elements is not a multiple of 32";
  for (unsigned i = 0; i + 1 < map.rank; ++i)
    if (map.byteStrides[i] % 32)
      return "a byte stride of padded elements is not a multiple of 32";
  if (map.dims[0] % 128)
    return "dimension 0 of padded elements is not a multiple of 128";
  if (map.box[0] != 128)
    return "the box's dimension 0 of padded elements is not 128";
  if (map.interleave)
    return "padded elements cannot be interleaved";
  if (map.swizzle != TensorMapSwizzle::None &&
      (map.swizzle < TensorMapSwizzle::B128 ||
       map.swizzle == TensorMapSwizzle::B128Atom32BFlip8B))
    return "the swizzle does not go with padded elements";
  return nullptr;
}

llvm::Error TensorMap::verify() const {
  auto fail = [](const Twine &message) {
    return llvm::createStringError("tensor map: " + message);
  };
  if (rank < 1 || rank > 5)
    return fail("rank " + Twine(rank) + " is not in 1..5");
  unsigned bits = elementBits();
  if (bits == 0)
    return fail("unknown element type " + Twine(unsigned(type)));
  if (bits < 8)
    if (const char *message = checkSubByte(*this))
      return fail(message);
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
  unsigned inner = sharedBytes(box[0]);
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

//===----------------------------------------------------------------------===//
// The layout in memory
//===----------------------------------------------------------------------===//

uint64_t TensorMapBits::read(const uint8_t *map) const {
  uint64_t value = 0;
  unsigned have = 0;
  for (unsigned r = 0; r < count; ++r) {
    uint64_t word = endian::read32le(map + 4 * runs[r].word);
    uint64_t mask = (uint64_t(1) << runs[r].bits) - 1;
    value |= (word >> runs[r].shift & mask) << have;
    have += runs[r].bits;
  }
  return value;
}

void TensorMapBits::write(uint8_t *map, uint64_t value) const {
  for (unsigned r = 0; r < count; ++r) {
    uint8_t *at = map + 4 * runs[r].word;
    uint32_t mask = uint32_t((uint64_t(1) << runs[r].bits) - 1)
                    << runs[r].shift;
    uint32_t part = uint32_t(value) << runs[r].shift;
    endian::write32le(at, (endian::read32le(at) & ~mask) | (part & mask));
    value >>= runs[r].bits;
  }
}

TensorMapBits fa4::sim::tensorMapBits(TensorMapField field, unsigned i) {
  auto run = [](unsigned word, unsigned shift, unsigned bits) {
    return TensorMapBits::Run{uint8_t(word), uint8_t(shift), uint8_t(bits)};
  };
  auto one = [&](unsigned word, unsigned shift, unsigned bits) {
    return TensorMapBits{{run(word, shift, bits), {}}, 1};
  };
  auto two = [](TensorMapBits::Run low, TensorMapBits::Run high) {
    return TensorMapBits{{low, high}, 2};
  };
  switch (field) {
  case TensorMapField::GlobalAddress:
    return two(run(0, 0, 32), run(1, 0, 32));
  case TensorMapField::Rank:
    return one(2, 4, 3);
  case TensorMapField::ElementType:
    return two(run(2, 7, 4), run(2, 16, 1));
  case TensorMapField::Interleave:
    return one(2, 11, 2);
  case TensorMapField::Swizzle:
    return two(run(2, 13, 2), run(2, 22, 1));
  case TensorMapField::Fill:
    return one(2, 15, 1);
  case TensorMapField::Atomicity:
    return one(2, 19, 3);
  case TensorMapField::GlobalStride: // In units of 16 bytes.
    return two(run(3 + i, 0, 32), run(7, 4 * i, 4));
  case TensorMapField::GlobalDim:
    return one(8 + i, 0, 32);
  case TensorMapField::ElementStride:
    return one(13, 3 * i, 3);
  case TensorMapField::BoxDim:
    return i == 0 ? one(13, 24, 8) : one(14, 8 * (i - 1), 8);
  }
  return one(15, 0, 32);
}

/// Element types in the order of tensormap.replace's table. Those of tf32 are
/// f32's with a bit that says how to round, so that the map's codes of the
/// types behind them are less by two.
static constexpr TensorMapType replaceTypes[] = {
    TensorMapType::U8,      TensorMapType::U16,   TensorMapType::U32,
    TensorMapType::S32,     TensorMapType::U64,   TensorMapType::S64,
    TensorMapType::F16,     TensorMapType::F32,   TensorMapType::F32Ftz,
    TensorMapType::F64,     TensorMapType::BF16,  TensorMapType::TF32,
    TensorMapType::TF32Ftz, TensorMapType::B4x16, TensorMapType::B4x16P64,
    TensorMapType::B6x16P32};
static constexpr unsigned f32Code = 7, f32FtzCode = 8;
static constexpr unsigned tf32Code = 11, tf32FtzCode = 12;
static constexpr unsigned tf32Bit = 1 << 4; ///< Behind the four bits of type.

/// The 128-byte swizzles by atomicity.
static constexpr TensorMapSwizzle atoms[] = {
    TensorMapSwizzle::B128, TensorMapSwizzle::B128Atom32B,
    TensorMapSwizzle::B128Atom32BFlip8B, TensorMapSwizzle::B128Atom64B};

bool fa4::sim::replaceTensorMapField(uint8_t *map, TensorMapField field,
                                     unsigned i, uint64_t value) {
  TensorMapBits bits = tensorMapBits(field, i);
  switch (field) {
  case TensorMapField::GlobalAddress:
    break;
  case TensorMapField::Rank: // One less than the rank.
    if (value > 4)
      return false;
    break;
  case TensorMapField::BoxDim:
  case TensorMapField::ElementStride:
    if (value < 1 || value > (field == TensorMapField::BoxDim ? 256 : 8))
      return false;
    --value;
    break;
  case TensorMapField::GlobalDim: // 2^32 is 0 as 32 bits.
    value = uint32_t(value - 1);
    break;
  case TensorMapField::GlobalStride:
    if (value % 16 || value >> 40)
      return false;
    value /= 16;
    break;
  case TensorMapField::ElementType:
    if (value >= std::size(replaceTypes))
      return false;
    if (value == tf32Code || value == tf32FtzCode)
      value = tf32Bit | (value == tf32Code ? f32Code : f32FtzCode);
    else if (value > tf32FtzCode)
      value -= 2;
    break;
  case TensorMapField::Interleave:
    if (value > 2)
      return false;
    break;
  case TensorMapField::Swizzle:
  case TensorMapField::Atomicity:
    if (value > 3)
      return false;
    break;
  case TensorMapField::Fill:
    if (value > 1)
      return false;
    break;
  }
  bits.write(map, value);
  return true;
}

std::array<uint8_t, TensorMap::objectBytes> TensorMap::encode() const {
  std::array<uint8_t, objectBytes> map{};
  auto put = [&](TensorMapField field, uint64_t value, unsigned i = 0) {
    replaceTensorMapField(map.data(), field, i, value);
  };
  endian::write32le(map.data() + 8, 2); // Tiled, as CuTe-DSL has it.
  put(TensorMapField::GlobalAddress, address);
  put(TensorMapField::Rank, rank - 1);
  put(TensorMapField::ElementType,
      std::find(std::begin(replaceTypes), std::end(replaceTypes), type) -
          std::begin(replaceTypes));
  put(TensorMapField::Interleave, interleave);
  bool wide = swizzle >= TensorMapSwizzle::B128;
  put(TensorMapField::Swizzle,
      unsigned(wide ? TensorMapSwizzle::B128 : swizzle));
  if (wide)
    put(TensorMapField::Atomicity,
        std::find(std::begin(atoms), std::end(atoms), swizzle) -
            std::begin(atoms));
  put(TensorMapField::Fill, fillNan);
  for (unsigned i = 0; i < rank; ++i) {
    put(TensorMapField::GlobalDim, dims[i], i);
    put(TensorMapField::BoxDim, box[i], i);
    put(TensorMapField::ElementStride, elementStrides[i], i);
    if (i + 1 < rank)
      put(TensorMapField::GlobalStride, byteStrides[i], i);
  }
  return map;
}

llvm::Expected<TensorMap> TensorMap::decode(const uint8_t *bytes) {
  auto fail = [](const Twine &message) {
    return llvm::createStringError("tensor map: " + message);
  };
  auto get = [&](TensorMapField field, unsigned i = 0) {
    return tensorMapBits(field, i).read(bytes);
  };
  if (std::all_of(bytes, bytes + meaningBytes,
                  [](uint8_t byte) { return byte == 0; }))
    return fail("the bytes are all zero, so that nobody has made it");
  uint32_t word2 = endian::read32le(bytes + 8);
  if (unsigned mode = word2 & 0xF; mode == 1 || mode == 3)
    return fail("it is an im2col map, and only tiled ones are supported");
  else if (mode != 0 && mode != 2)
    return fail("its mode is " + Twine(mode) +
                ", and that of tiled maps is 0 "
                "or 2");
  if (word2 >> 23 || endian::read32le(bytes + 52) >> 15 & 0x1FF ||
      endian::read32le(bytes + 60) || endian::read32le(bytes + 28) >> 16)
    return fail("bits are set that no tiled map has");
  TensorMap map;
  map.address = get(TensorMapField::GlobalAddress);
  map.rank = get(TensorMapField::Rank) + 1;
  uint64_t type = get(TensorMapField::ElementType);
  if (type & tf32Bit)
    type = (type & ~tf32Bit) == f32Code      ? tf32Code
           : (type & ~tf32Bit) == f32FtzCode ? tf32FtzCode
                                             : std::size(replaceTypes);
  else if (type >= tf32Code)
    type += 2;
  if (type >= std::size(replaceTypes))
    return fail("its element type is unknown");
  map.type = replaceTypes[type];
  map.interleave = get(TensorMapField::Interleave);
  uint64_t swizzle = get(TensorMapField::Swizzle);
  // CuTe-DSL's maps for sm_100 have the highest bit set, with 16-byte atoms.
  uint64_t atom = get(TensorMapField::Atomicity) & 3;
  if (swizzle > 3)
    return fail("its swizzle is unknown");
  map.swizzle = TensorMapSwizzle(swizzle);
  if (map.swizzle == TensorMapSwizzle::B128)
    map.swizzle = atoms[atom];
  map.fillNan = get(TensorMapField::Fill);
  for (unsigned i = 0; i < 5; ++i) {
    map.dims[i] = get(TensorMapField::GlobalDim, i) + 1;
    map.box[i] = get(TensorMapField::BoxDim, i) + 1;
    map.elementStrides[i] = get(TensorMapField::ElementStride, i) + 1;
    if (i < 4)
      map.byteStrides[i] = get(TensorMapField::GlobalStride, i) * 16;
  }
  return map;
}
