//===- EmitPTXTest.cpp - the interface to the NVPTX back end --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lit tests of fa4-compile cannot see: several emissions in a process,
// also behind one in which LLVM gave up, and options that the tool lacks.
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/NVPTX/EmitPTX.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <thread>

using namespace mlir;
using namespace fa4;

namespace {

const char *const kAdd = R"(
llvm.func @add(%p: !llvm.ptr<1>, %v: f32) attributes {nvvm.kernel} {
  %l = llvm.load %p : !llvm.ptr<1> -> f32
  %s = llvm.fadd %l, %v : f32
  llvm.store %s, %p : f32, !llvm.ptr<1>
  llvm.return
})";

/// LLVM has no instruction for a sine that need not be fast.
const char *const kSine = R"(
llvm.func @sine(%p: !llvm.ptr<1>, %v: f32) attributes {nvvm.kernel} {
  %s = llvm.intr.sin(%v) : (f32) -> f32
  llvm.store %s, %p : f32, !llvm.ptr<1>
  llvm.return
})";

/// The PTX of MLIR text, or its diagnostics, a line each.
std::string emit(const char *text, const EmitPTXOptions &options = {}) {
  DialectRegistry registry;
  registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  registerPTXTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += diagnostic.str() + "\n";
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return errors;
  FailureOr<std::string> ptx = emitPTX(*module, options);
  EXPECT_EQ(failed(ptx), !errors.empty());
  return succeeded(ptx) ? *ptx : errors;
}

/// The version that PTX claims.
std::string versionOf(const std::string &ptx) {
  StringRef text = StringRef(ptx).split(".version ").second;
  return text.split('\n').first.str();
}

/// A maximum of three numbers, and an access of 32 bytes, are of PTX 8.8.
TEST(EmitPTX, ClaimsTheLowestVersion) {
  EXPECT_EQ(versionOf(emit(kAdd)), "8.6");
  EmitPTXOptions options;
  options.chip = "sm_103a";
  EXPECT_EQ(versionOf(emit(kAdd, options)), "8.8");
  std::string maximum = emit(R"(
llvm.func @max(%p: !llvm.ptr<1>, %a: f32, %b: f32) attributes {nvvm.kernel} {
  %l = llvm.load %p : !llvm.ptr<1> -> f32
  %x = llvm.intr.maximum(%a, %b) : (f32, f32) -> f32
  %y = llvm.intr.maximum(%x, %l) : (f32, f32) -> f32
  llvm.store %y, %p : f32, !llvm.ptr<1>
  llvm.return
})");
  EXPECT_EQ(versionOf(maximum), "8.8") << maximum;
  std::string wide = emit(R"(
llvm.func @copy(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) attributes {nvvm.kernel} {
  %l = llvm.load %p {alignment = 32} : !llvm.ptr<1> -> vector<8xf32>
  llvm.store %l, %q {alignment = 32} : vector<8xf32>, !llvm.ptr<1>
  llvm.return
})");
  EXPECT_EQ(versionOf(wide), "8.8") << wide;
  // Written by hand, behind a guard, and beside another instruction.
  std::string assembly = emit(R"(
llvm.func @asm(%p: !llvm.ptr<1>, %a: f32) attributes {nvvm.kernel} {
  %y = llvm.inline_asm has_side_effects "{ .reg .pred p; setp.gt.f32 p, $1, 0f00000000; @p min.f32 $0, $1, $1, $1; }", "=f,f" %a : (f32) -> f32
  llvm.store %y, %p : f32, !llvm.ptr<1>
  llvm.return
})");
  EXPECT_EQ(versionOf(assembly), "8.8") << assembly;
  // What the options allow is not raised.
  options.chip = "sm_90";
  options.features = "+ptx78";
  EXPECT_EQ(versionOf(emit(kAdd, options)), "7.8");
}

TEST(EmitPTX, AgainAfterLLVMGaveUp) {
  std::string before = emit(kAdd);
  EXPECT_NE(before.find(".entry add("), std::string::npos) << before;
  EXPECT_EQ(emit(kSine), "NVPTX back end: Cannot select: f32 = fsin\n");
  EXPECT_EQ(emit(kSine), "NVPTX back end: Cannot select: f32 = fsin\n");
  EXPECT_EQ(emit(kAdd), before);
}

TEST(EmitPTX, FromSeveralThreads) {
  std::string expected = emit(kAdd);
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i)
    threads.emplace_back([&, i] { results[i] = emit(i % 2 ? kSine : kAdd); });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i],
              i % 2 ? "NVPTX back end: Cannot select: f32 = fsin\n" : expected);
}

TEST(EmitPTX, Options) {
  EmitPTXOptions options;
  std::string llvmIR;
  llvm::raw_string_ostream stream(llvmIR);
  options.llvmIR = &stream;
  options.features = "+ptx88";
  options.chip = "sm_103a";
  std::string ptx = emit(kAdd, options);
  EXPECT_NE(ptx.find(".version 8.8\n.target sm_103a"), std::string::npos)
      << ptx;
  EXPECT_NE(llvmIR.find("define ptx_kernel void @add"), std::string::npos);
  options.features = "+ptx90,+avx";
  EXPECT_EQ(emit(kAdd, options),
            "the NVPTX back end knows no feature '+avx'\n");
  options.features = "ptx90";
  EXPECT_EQ(emit(kAdd, options),
            "the NVPTX back end knows no feature 'ptx90'\n");
}

/// Comparisons of 16-bit floats as such and of bf16 extended to f32, which
/// instcombine narrows again.
const char *const kHalf = R"(
llvm.func @half(%p: !llvm.ptr<1>, %x: bf16, %y: bf16, %v: vector<2xbf16>, %h: f16, %g: f16) attributes {nvvm.kernel} {
  %four = llvm.mlir.constant(4.25 : f32) : f32
  %0 = llvm.fcmp "oeq" %x, %y : bf16
  %wide = llvm.fpext %x : bf16 to f32
  %1 = llvm.fcmp "ult" %wide, %four : f32
  %2 = llvm.fcmp "une" %v, %v : vector<2xbf16>
  %3 = llvm.fcmp "ogt" %h, %g : f16
  llvm.store volatile %0, %p : i1, !llvm.ptr<1>
  llvm.store volatile %1, %p : i1, !llvm.ptr<1>
  llvm.store volatile %2, %p : vector<2xi1>, !llvm.ptr<1>
  llvm.store volatile %3, %p : i1, !llvm.ptr<1>
  llvm.return
})";

/// ptxas refuses `.ftz` on comparisons of bf16, and on those of f16 it would
/// take small numbers for zeros.
TEST(EmitPTX, FlushesNoHalfInCompares) {
  std::string ptx = emit(kHalf);
  EXPECT_NE(ptx.find("setp.eq.ftz.f32"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find(".ftz.bf16"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find(".ftz.f16"), std::string::npos) << ptx;
  EmitPTXOptions options;
  options.flushDenormals = false;
  ptx = emit(kHalf, options);
  EXPECT_NE(ptx.find("setp.eq.bf16"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find(".ftz"), std::string::npos) << ptx;
}

} // namespace
