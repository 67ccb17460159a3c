//===- ManifestTest.cpp - reading manifests and records ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Manifest/Manifest.h"
#include "fa4/Manifest/Error.h"
#include "gtest/gtest.h"

using namespace fa4::manifest;

static Manifest read(const std::string &text) {
  return Manifest::parse(text, "dir/m.json");
}

static std::string errorOf(const std::string &text) {
  try {
    read(text);
    return "no error";
  } catch (const ManifestError &error) {
    return error.what();
  }
}

static const std::string launch =
    R"("ptx": "k.ptx", "grid": [1], "block": [32])";

TEST(Manifest, Whole) {
  Manifest m = read(R"json({
    "version": 1, "ptx": "k.ptx",
    "sizes": {"sq": 128, "b": null},
    "tensors": {
      "q": {"dtype": "bf16", "shape": ["b", "sq", 64], "role": "in",
            "address": "0x700000000000"},
      "o": {"dtype": "f32", "shape": ["b"], "role": "out"}},
    "launches": [
      {"entry": "k", "grid": ["ceildiv(sq, 64)", "b"], "block": [128],
       "cluster": [2], "dynamic_smem": "4 * sq",
       "params": [
         {"tensor": "o", "offset": 8},
         {"value": "1.0 / sqrt(64)", "type": "f32"},
         {"bytes": "00ff"},
         {"tensormap": {"tensor": "q", "dims": [64, "sq"],
                        "byte_strides": [128], "box": [64, 64],
                        "swizzle": "128B", "oob_fill": "nan"}},
         {"struct": [{"at": 4, "value": 1, "type": "i32"}], "size": 8}]},
      {"ptx": "/abs/other.ptx", "grid": [1], "block": [1]}]
})json");
  EXPECT_EQ(m.scalars, (std::vector<std::string>{"sq", "b"}));
  EXPECT_EQ(m.defaults, (Values{Number(128), std::nullopt}));
  EXPECT_EQ(m.tensors[m.findTensor("q")].address, 0x700000000000u);
  EXPECT_EQ(m.tensors[m.findTensor("o")].role, Role::Out);
  ASSERT_EQ(m.launches.size(), 2u);
  EXPECT_EQ(m.launches[0].file, "dir/k.ptx");
  EXPECT_EQ(m.launches[1].file, "/abs/other.ptx");
  const auto &params = m.launches[0].params;
  ASSERT_EQ(params.size(), 5u);
  EXPECT_EQ(params[2].bytes, (std::vector<uint8_t>{0, 255}));
  EXPECT_EQ(params[3].map.type, 9);
  EXPECT_EQ(params[3].map.swizzle, 3);
  EXPECT_TRUE(params[3].map.fillNan);
  EXPECT_EQ(params[4].fields[0].first, 4u);
}

TEST(Manifest, Record) {
  Manifest m = read(R"({"kernel": "k", "grid": [4, 1, 1], "block": [512, 1, 1],
    "cluster": [2, 1, 1], "dynamic_smem": 1024, "ptx": "launch-0.ptx",
    "params": [{"bytes": "01"},
      {"tensormap": {"address": "0x700000000000", "dtype": "bf16",
        "dims": [64, 8], "byte_strides": [128], "box": [64, 8],
        "swizzle": "64B"}}],
    "tensors": {
      "q": {"dtype": "bf16", "shape": [8, 64], "strides": [64, 1],
            "address": "0x700000000000"},
      "t1": {"dtype": "f32", "shape": [8], "strides": [1],
             "address": "0x700100000000"}}})");
  EXPECT_EQ(m.launches[0].entry, "k");
  EXPECT_EQ(m.launches[0].params[1].map.address, 0x700000000000u);
  EXPECT_EQ(m.tensors[m.findTensor("q")].role, Role::InOut);
  EXPECT_EQ(m.tensors[m.findTensor("t1")].role, Role::Workspace);
}

TEST(Manifest, Errors) {
  EXPECT_EQ(errorOf("[1]"), "dir/m.json:1: malformed JSON: expected an object");
  EXPECT_EQ(errorOf("{\n\"a\": }"),
            "dir/m.json:2: malformed JSON: expected a value");
  EXPECT_EQ(errorOf("{\"a\": \"b"),
            "dir/m.json:1: malformed JSON: a string does not end");
  EXPECT_EQ(errorOf("{\"a\": 1, \"a\": 2}"),
            "dir/m.json:1: malformed JSON: two members have one name");
  EXPECT_EQ(errorOf("{}"), "dir/m.json: 'ptx' is missing at the top level");
  EXPECT_EQ(errorOf("{" + launch + R"(, "gird": 1})"),
            "dir/m.json: unknown key 'gird' at the top level");
  EXPECT_EQ(errorOf("{" + launch + R"(, "version": 2})"),
            "dir/m.json: manifest version 2 is not known at version");
  EXPECT_EQ(errorOf(R"({"ptx": "k", "block": [1], "grid": [1, 2, 3, 4]})"),
            "dir/m.json: expected one to three numbers at grid");
  EXPECT_EQ(errorOf(R"({"ptx": "k", "block": ["1 +"], "grid": [1]})"),
            "dir/m.json: expression '1 +': unexpected end at block[0]");
  EXPECT_EQ(errorOf("{" + launch + R"(, "tensors": {"q": {"shape": [1]}}})"),
            "dir/m.json: 'dtype' is missing at tensors.q");
  EXPECT_EQ(errorOf("{" + launch +
                    R"(, "tensors": {"q": {"shape": [1], "dtype": "fp8"}}})"),
            "dir/m.json: unknown dtype 'fp8' at tensors.q.dtype");
  EXPECT_EQ(errorOf("{" + launch +
                    R"(, "tensors": {"q": {"shape": [1], "dtype": "f32",
                    "role": "input"}}})"),
            "dir/m.json: unknown role 'input' (known: in, out, inout, "
            "workspace) at tensors.q.role");
  EXPECT_EQ(errorOf("{" + launch + R"(, "requires": [{"condition": "1 +"}]})"),
            "dir/m.json: 'message' is missing at requires[0]");
  EXPECT_EQ(
      errorOf("{" + launch +
              R"(, "requires": [{"condition": "1 +", "message": "m"}]})"),
      "dir/m.json: expression '1 +': unexpected end at requires[0].condition");
  auto aligned = [](const std::string &more) {
    return errorOf("{" + launch + R"(, "tensors": {"q": {"shape": [1],
        "dtype": "f32", )" +
                   more + "}}}");
  };
  EXPECT_EQ(aligned(R"("alignment": 16, "address": "0x10")"), "no error");
  EXPECT_EQ(aligned(R"("alignment": 12)"),
            "dir/m.json: an alignment is a power of two up to 256 at "
            "tensors.q.alignment");
  EXPECT_EQ(aligned(R"("alignment": 16, "address": "0x18")"),
            "dir/m.json: the address of 'q' is not a multiple of 16 at "
            "tensors.q.alignment");
  EXPECT_EQ(errorOf(std::string(100, '[')),
            "dir/m.json:1: malformed JSON: it is nested too deeply");
}

TEST(Manifest, EmptyErrors) {
  auto filled = [](const std::string &value) {
    return errorOf("{" + launch + R"(, "tensors": {"q": {"shape": [1],
        "dtype": "i32"}, "f": {"shape": [1], "dtype": "f32"}},
        "empty": {"condition": "0", "fills": [)" +
                   value + "]}}");
  };
  EXPECT_EQ(filled(R"({"tensor": "q", "value": 3},
                      {"tensor": "f", "value": "-inf"})"),
            "no error");
  EXPECT_EQ(filled(R"({"tensor": "q", "value": "-inf"})"),
            "dir/m.json: the fill of 'q' must be an integer at "
            "empty.fills[0].value");
  EXPECT_EQ(filled(R"({"tensor": "k", "value": 0})"),
            "dir/m.json: no tensor is named 'k' at empty.fills[0].tensor");
  EXPECT_EQ(errorOf("{" + launch + R"(, "empty": {"fills": []}})"),
            "dir/m.json: 'condition' is missing at empty");
}

/// The error of one parameter beside a tensor q of [8, 8] bf16.
static std::string errorOfParam(const std::string &param) {
  return errorOf("{" + launch + R"(, "tensors": {"q": {"dtype": "bf16",
    "shape": [8, 8]}}, "params": [)" +
                 param + "]}");
}

TEST(Manifest, ParameterErrors) {
  EXPECT_EQ(errorOfParam("{}"),
            "dir/m.json: a parameter has exactly one of 'tensor', 'value', "
            "'bytes', 'tensormap', 'struct' at params[0]");
  EXPECT_EQ(errorOfParam(R"({"tensor": "k"})"),
            "dir/m.json: no tensor is named 'k' at params[0].tensor");
  EXPECT_EQ(errorOfParam(R"({"bytes": "0"})"),
            "dir/m.json: expected pairs of hexadecimal digits at "
            "params[0].bytes");
  EXPECT_EQ(errorOfParam(R"({"value": 1, "type": "int"})"),
            "dir/m.json: unknown dtype 'int' at params[0].type");
  EXPECT_EQ(errorOfParam(R"({"tensormap": {"tensor": "q", "dims": [8, 8],
              "box": [8]}})"),
            "dir/m.json: 'box' and 'dims' differ in length at "
            "params[0].tensormap.box");
  EXPECT_EQ(errorOfParam(R"({"tensormap": {"tensor": "q", "dims": [8, 8],
              "box": [8, 8]}})"),
            "dir/m.json: 'byte_strides' must have one entry less than 'dims' "
            "at params[0].tensormap");
  EXPECT_EQ(errorOfParam(R"({"tensormap": {"tensor": "q", "dims": [8],
              "box": [8], "swizzle": "256B"}})"),
            "dir/m.json: unknown swizzle '256B' (known: none, 32B, 64B, 128B, "
            "128B_atom_32B, 128B_atom_32B_flip_8B, 128B_atom_64B) at "
            "params[0].tensormap.swizzle");
  EXPECT_EQ(errorOfParam(R"({"struct": []})"),
            "dir/m.json: 'size' is missing at params[0]");
  EXPECT_EQ(
      errorOfParam(R"({"struct": [{"at": 4, "tensor": "q"}], "size": 8})"),
      "dir/m.json: a field of 8 bytes is outside of the struct at "
      "params[0].struct[0].at");
  EXPECT_EQ(errorOfParam(R"({"value": "m"})"),
            "dir/m.json: expression 'm': no size is named 'm' at "
            "params[0].value");
}
