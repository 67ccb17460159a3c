//===- NpyTest.cpp - numpy's array files
//------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Npy.h"
#include "gtest/gtest.h"

using namespace fa4::sim;

/// A file of version `major` with this header and data.
static std::string file(char major, const std::string &header,
                        const std::string &data) {
  std::string length(1, char(header.size()));
  length += std::string(major == 1 ? 1 : 3, '\0');
  return std::string("\x93NUMPY") + major + '\0' + length + header + data;
}

static llvm::Expected<NpyArray> read(const std::string &bytes) {
  return parseNpy(llvm::MemoryBufferRef(bytes, "x.npy"));
}

static std::string errorOf(const std::string &bytes) {
  auto array = read(bytes);
  return array ? "no error" : llvm::toString(array.takeError());
}

static const std::string twoFloats("\0\0\x80\x3F\0\0\0\x40", 8);

TEST(Npy, Versions) {
  for (char major : {1, 2, 3}) {
    auto array = read(file(
        major, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }  \n",
        twoFloats));
    ASSERT_TRUE(bool(array));
    EXPECT_EQ(array->kind, 'f');
    EXPECT_EQ(array->shape, (std::vector<int64_t>{2}));
    EXPECT_EQ(array->data.size(), 8u);
  }
}

TEST(Npy, ByteOrderAndMemoryOrder) {
  auto big = read(file(1, "{'descr':'>u2','fortran_order':False,'shape':(1,)}",
                       "\x12\x34"));
  ASSERT_TRUE(bool(big));
  EXPECT_EQ(big->data, (std::vector<uint8_t>{0x34, 0x12}));
  auto fortran =
      read(file(1, "{'shape': (2, 3), 'fortran_order': True, 'descr': '|u1'}",
                "\1\4\2\5\3\6"));
  ASSERT_TRUE(bool(fortran));
  EXPECT_EQ(fortran->data, (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ScalarsAndEmptyArrays) {
  auto scalar =
      read(file(1, "{'descr': '<i4', 'fortran_order': False, 'shape': ()}",
                std::string("\1\0\0\0", 4)));
  ASSERT_TRUE(bool(scalar));
  EXPECT_EQ(scalar->count(), 1);
  auto empty = read(
      file(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (0, 7)}", ""));
  ASSERT_TRUE(bool(empty));
  EXPECT_EQ(empty->count(), 0);
}

TEST(Npy, Errors) {
  EXPECT_EQ(errorOf(""), "x.npy: not a .npy file");
  EXPECT_EQ(errorOf("PK\3\4 a zip file"), "x.npy: not a .npy file");
  EXPECT_EQ(errorOf(file(9, "", "")), "x.npy: .npy version 9 is not known");
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\1\0\x7F\0{", 11)),
            "x.npy: the .npy header is cut off");
  EXPECT_EQ(errorOf(file(1, "{'descr': '<f4', 'shape': (2,)}", twoFloats)),
            "x.npy: malformed .npy header");
  EXPECT_EQ(errorOf(file(1,
                         "{'descr': '<c8', 'fortran_order': False, "
                         "'shape': (1,)}",
                         twoFloats)),
            "x.npy: element type '<c8' is not supported");
  EXPECT_EQ(errorOf(file(1,
                         "{'descr': '<f4', 'fortran_order': False, "
                         "'shape': (3,)}",
                         twoFloats)),
            "x.npy: the file is shorter than its shape [3] says");
  EXPECT_EQ(errorOf(file(1,
                         "{'descr': '<f4', 'fortran_order': False, "
                         "'shape': (1,)}",
                         twoFloats)),
            "x.npy: the file is longer than its shape [1] says");
  EXPECT_EQ(errorOf(file(1,
                         "{'descr': '<f4', 'fortran_order': False, 'shape': "
                         "(9223372036854775807, 4)}",
                         twoFloats)),
            "x.npy: the file is shorter than its shape [9223372036854775807, "
            "4] says");
}

TEST(Npy, WriteThenRead) {
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{}, {6}, {2, 3}, {1, 2, 3}}) {
    NpyArray array;
    array.kind = 'u';
    array.itemBytes = 1;
    array.shape = shape;
    array.data.assign(array.count(), 7);
    std::string file = encodeNpy(array);
    auto again = parseNpy({file, "array"});
    ASSERT_TRUE(bool(again));
    EXPECT_EQ(again->shape, shape);
    EXPECT_EQ(again->data, array.data);
    EXPECT_EQ((file.size() - array.data.size()) % 64, 0u);
  }
}

TEST(Npy, Meaning) {
  NpyArray f4;
  EXPECT_EQ(npyMeaning(f4, DType::BF16), NpyMeaning::Value);
  EXPECT_EQ(npyMeaning(f4, DType::I32), NpyMeaning::None);
  NpyArray u2;
  u2.kind = 'u';
  u2.itemBytes = 2;
  EXPECT_EQ(npyMeaning(u2, DType::BF16), NpyMeaning::Bits);
  EXPECT_EQ(npyMeaning(u2, DType::F16), NpyMeaning::Bits);
  EXPECT_EQ(npyMeaning(u2, DType::F32), NpyMeaning::None);
  EXPECT_EQ(npyMeaning(u2, DType::I16), NpyMeaning::Bits);
  NpyArray i8;
  i8.kind = 'i';
  i8.itemBytes = 8;
  EXPECT_EQ(npyMeaning(i8, DType::I32), NpyMeaning::None);
  EXPECT_EQ(npyMeaning(i8, DType::U64), NpyMeaning::Bits);
}

TEST(Npy, Bf16AsFloat32AndAsBits) {
  std::vector<uint8_t> bytes = {0x80, 0x3F, 0x00, 0xC0}; // 1, -2
  NpyArray values = fromTensorBytes(bytes, DType::BF16, {2}, false);
  EXPECT_EQ(values.itemBytes, 4u);
  EXPECT_EQ(values.data,
            (std::vector<uint8_t>{0, 0, 0x80, 0x3F, 0, 0, 0x00, 0xC0}));
  EXPECT_EQ(toTensorBytes(values, DType::BF16), bytes);
  NpyArray raw = fromTensorBytes(bytes, DType::BF16, {2}, true);
  EXPECT_EQ(raw.kind, 'u');
  EXPECT_EQ(raw.data, bytes);
  EXPECT_EQ(toTensorBytes(raw, DType::BF16), bytes);
}
