//===- SessionTest.cpp - manifests to memory and launches
//-------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Session.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace fa4::sim;

namespace {

/// A folder with a kernel that adds `n` to each element of x.
class SessionTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fa4", folder));
    write("k.ptx", R"(
.version 9.0
.target sm_100a
.address_size 64
.visible .entry add(.param .u64 x, .param .u32 n) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd1, %rd1, %rd2;
  ld.global.u32 %r3, [%rd1];
  add.s32 %r3, %r3, %r1;
  st.global.u32 [%rd1], %r3;
  ret;
})");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string path(llvm::StringRef name) const {
    llvm::SmallString<128> result(folder);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }
  void write(llvm::StringRef name, llvm::StringRef text) {
    std::error_code code;
    llvm::raw_fd_ostream(path(name), code) << text;
    ASSERT_FALSE(code);
  }
  Manifest manifest(const std::string &text) {
    auto result = parseManifest(
        llvm::MemoryBufferRef(text, manifestPath = path("m.json")));
    if (!result)
      ADD_FAILURE() << llvm::toString(result.takeError());
    return result ? std::move(*result) : Manifest();
  }
  /// The error of `prepare`, without the file's name.
  std::string prepareError(Session &session, PrepareOptions options = {}) {
    llvm::Error error = session.prepare(options);
    std::string text = error ? llvm::toString(std::move(error)) : "no error";
    llvm::StringRef rest = text;
    rest.consume_front(manifestPath + ": ");
    return rest.str();
  }

  llvm::SmallString<128> folder;
  std::string manifestPath;
};

const char *addManifest = R"({"ptx": "k.ptx", "sizes": {"n": null},
  "tensors": {"x": {"dtype": "i32", "shape": ["n"]}},
  "launches": [
   {"grid": [1], "block": ["n"], "params": [{"tensor": "x"}, {"value": 10}]},
   {"grid": [1], "block": ["n"], "params": [{"tensor": "x"}, {"value": "n"}]}
  ]})";

NpyArray ints(std::vector<int32_t> values) {
  NpyArray array;
  array.kind = 'i';
  array.shape = {int64_t(values.size())};
  auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  array.data.assign(bytes, bytes + 4 * values.size());
  return array;
}

// A grid that goes by the number of SMs says how many tiles there are.
TEST_F(SessionTest, WidestGrid) {
  auto widest = [&](const std::string &grid, const std::string &sizes) {
    Session session(manifest(R"({"ptx": "k.ptx", "sizes": {"n": 1000)" + sizes +
                             R"(}, "grid": [)" + grid +
                             R"(], "block": [1],
      "tensors": {"x": {"dtype": "i32", "shape": [4]}},
      "params": [{"tensor": "x"}, {"value": 1}]})"));
    PrepareOptions options;
    options.mayBeZeros = true;
    EXPECT_EQ(prepareError(session, options), "no error");
    return session.launch(0).widestGrid.count();
  };
  const std::string grid = R"-("2 * min(sm_count / 2, ceildiv(n, 3))")-";
  EXPECT_EQ(widest(grid, R"(, "sm_count": 10)"), 2u * 334);
  EXPECT_EQ(widest(R"("n")", ""), 0u) << "no number of SMs";
  EXPECT_EQ(widest(R"("sm_count * 4")", R"(, "sm_count": 10)"), 0u)
      << "there is no widest one";
}

} // namespace

TEST_F(SessionTest, LaunchesShareMemoryAndReset) {
  Session session(manifest(addManifest));
  ASSERT_FALSE(bool(session.setArray("x", ints({1, 2, 3}))));
  ASSERT_EQ(prepareError(session), "no error");
  EXPECT_EQ(session.size("n"), Number(3));
  for (int round = 0; round < 2; ++round) {
    session.reset();
    for (size_t i = 0; i < session.launchCount(); ++i) {
      auto result = session.run(i, {});
      ASSERT_TRUE(bool(result));
      EXPECT_TRUE(result->ok());
    }
    auto x = session.array("x", false);
    ASSERT_TRUE(bool(x));
    EXPECT_EQ(x->data, ints({14, 15, 16}).data);
  }
}

TEST_F(SessionTest, EmptyLaunchesFillInEachRun) {
  std::string text = addManifest;
  std::string first = R"({"grid": [1], "block": ["n"],)";
  text.insert(text.find(first) + 1, R"("empty": {"condition": "n == 3",
      "fills": [{"tensor": "x", "value": -5}]},)");
  Session session(manifest(text));
  ASSERT_FALSE(bool(session.setArray("x", ints({1, 2, 3}))));
  ASSERT_EQ(prepareError(session), "no error");
  EXPECT_TRUE(session.isEmpty(0));
  EXPECT_FALSE(session.isEmpty(1));
  for (int round = 0; round < 2; ++round) {
    session.reset();
    for (size_t i = 0; i < session.launchCount(); ++i) {
      auto result = session.run(i, {});
      ASSERT_TRUE(bool(result));
      EXPECT_TRUE(result->ok());
    }
    auto x = session.array("x", false);
    ASSERT_TRUE(bool(x));
    EXPECT_EQ(x->data, ints({-2, -2, -2}).data);
  }
}

TEST_F(SessionTest, SizesMustAgree) {
  Session session(manifest(addManifest));
  ASSERT_FALSE(bool(session.setArray("x", ints({1, 2, 3}))));
  ASSERT_FALSE(bool(session.setSize("n", 4)));
  EXPECT_EQ(prepareError(session), "size 'n' is 4 from the call but 3 from the "
                                   "shape of 'x'");
}

TEST_F(SessionTest, MissingSizeAndContents) {
  Session session(manifest(addManifest));
  EXPECT_EQ(prepareError(session), "size 'n' has no value; give n=N");
  Session input(manifest(R"({"ptx": "k.ptx", "grid": [1], "block": [1],
    "tensors": {"x": {"dtype": "i32", "shape": [1], "role": "in"}}})"));
  EXPECT_EQ(prepareError(input), "tensor 'x' has no contents; give x=FILE.npy");
}

TEST_F(SessionTest, WrongArrays) {
  Session session(manifest(addManifest));
  NpyArray floats;
  floats.shape = {2};
  floats.data.resize(8);
  EXPECT_NE(llvm::toString(session.setArray("x", floats))
                .find("tensor 'x' is i32; an array of float32 [2] cannot fill "
                      "it"),
            std::string::npos);
  NpyArray flat = ints({1, 2});
  flat.shape = {1, 2};
  EXPECT_NE(llvm::toString(session.setArray("x", flat))
                .find("tensor 'x' has 1 dimensions, the array is int32 [1, 2]"),
            std::string::npos);
}

TEST_F(SessionTest, ParameterErrors) {
  auto errorOf =
      [&](const std::string &params) {
        Session session(manifest(R"({"ptx": "k.ptx", "grid": [1], "block": [1],
      "tensors": {"x": {"dtype": "bf16", "shape": [64, 64]}},
      "params": [)" + params + "]}"));
        return prepareError(session);
      };
  EXPECT_EQ(errorOf(R"({"value": 3000000000, "type": "i32"})"),
            "value 3000000000 does not fit i32 at params[0]");
  EXPECT_EQ(errorOf(R"({"value": -1, "type": "u8"})"),
            "value -1 does not fit u8 at params[0]");
  EXPECT_EQ(errorOf(R"({"tensormap": {"tensor": "x", "dims": [64, 64],
              "byte_strides": [100], "box": [64, 64]}})"),
            "tensor map: byte stride of dimension 1 is 100, not a multiple of "
            "16 below 2^40 at params[0]");
}

TEST_F(SessionTest, FixedAddressesMayOverlap) {
  Session session(manifest(R"({"ptx": "k.ptx", "grid": [1], "block": [1],
    "tensors": {
      "all": {"dtype": "i32", "shape": [4], "address": "0x100000000"},
      "odd": {"dtype": "i32", "shape": [2], "strides": [2],
              "address": "0x100000004", "fill": 7}}})"));
  ASSERT_EQ(prepareError(session), "no error");
  auto all = session.array("all", false);
  ASSERT_TRUE(bool(all));
  EXPECT_EQ(all->data, ints({0, 7, 0, 7}).data);
}

TEST_F(SessionTest, RandomFillIsReproducible) {
  auto contents = [&](uint64_t seed) {
    Session session(manifest(R"({"ptx": "k.ptx", "grid": [1], "block": [1],
      "tensors": {"x": {"dtype": "bf16", "shape": [64], "role": "in"}}})"));
    EXPECT_EQ(prepareError(session, {true, seed}), "no error");
    return session.array("x", true)->data;
  };
  EXPECT_EQ(contents(1), contents(1));
  EXPECT_NE(contents(1), contents(2));
}

TEST_F(SessionTest, FillMustFitTheType) {
  auto errorOf = [&](const std::string &dtype, const std::string &fill) {
    Session session(manifest(R"({"ptx": "k.ptx", "grid": [1], "block": [1],
      "tensors": {"x": {"shape": [2], "dtype": ")" +
                             dtype + R"(", "fill": )" + fill + "}}}"));
    return prepareError(session);
  };
  EXPECT_EQ(errorOf("f32", "1.5"), "no error");
  EXPECT_EQ(errorOf("i32", "1.5"), "tensor 'x': the fill is no integer");
  EXPECT_EQ(errorOf("i32", "1e300"), "tensor 'x': the fill is no integer");
  EXPECT_EQ(errorOf("i32", "\"random\""),
            "tensor 'x': a random fill needs a floating-point type");
}

TEST_F(SessionTest, LaunchMustFitTheEntry) {
  Session session(manifest(R"({"ptx": "k.ptx", "grid": [1], "block": [1],
    "params": [{"value": 1}]})"));
  ASSERT_EQ(prepareError(session), "no error");
  auto result = session.run(0, {});
  ASSERT_FALSE(bool(result));
  EXPECT_NE(llvm::toString(result.takeError())
                .find("has 2 parameters, the launch gives 1"),
            std::string::npos);
}
