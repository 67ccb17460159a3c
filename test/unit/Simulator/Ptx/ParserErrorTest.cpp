//===- ParserErrorTest.cpp - what the PTX parser says of malformed text ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Ptx/Parser.h"
#include "gtest/gtest.h"

using namespace fa4::sim::ptx;

/// "line:column: message" of each diagnostic, one per line.
static std::string errorsOf(const std::string &text) {
  std::vector<Diagnostic> diagnostics;
  auto module =
      parse(llvm::MemoryBuffer::getMemBufferCopy(text, "t.ptx"), diagnostics);
  EXPECT_EQ(module == nullptr, !diagnostics.empty());
  std::string result;
  for (const Diagnostic &d : diagnostics)
    result += std::to_string(d.loc.line) + ":" + std::to_string(d.loc.column) +
              ": " + d.message + "\n";
  return result;
}

static std::string errorsOfBody(const std::string &body) {
  return errorsOf(".version 9.0\n.target sm_100a\n.entry k() {\n" + body +
                  "\n}");
}

TEST(PtxParserErrors, Header) {
  EXPECT_EQ(
      errorsOf(""),
      "1:1: expected the .version directive before the end of the file\n");
  EXPECT_EQ(errorsOf(".version x\n"),
            "1:10: expected a version such as 9.0, found 'x'\n"
            "1:10: expected a directive, found 'x'\n");
  EXPECT_EQ(errorsOf(".version 9.0 .target sm_100a .address_size 32"),
            "1:46: only .address_size 64 is supported\n");
}

TEST(PtxParserErrors, Lexical) {
  EXPECT_EQ(errorsOf(".version 9.0 /* x"), "1:14: comment without an end\n");
  EXPECT_EQ(errorsOfBody("ret; `"), "4:6: unexpected character '`'\n");
  EXPECT_EQ(errorsOfBody(".pragma \"x;"), "4:9: string without an end\n");
  EXPECT_EQ(errorsOfBody("\x01"), "4:1: unexpected byte 0x1\n");
}

TEST(PtxParserErrors, UndeclaredRegistersOnce) {
  EXPECT_EQ(errorsOfBody("@%p1 add.s32 %r1, %r2, %r1;\n mov.b32 %r1, %r2;"),
            "4:2: undeclared register '%p1'\n"
            "4:14: undeclared register '%r1'\n"
            "4:19: undeclared register '%r2'\n");
}

TEST(PtxParserErrors, LostDeclarationIsOneError) {
  EXPECT_EQ(errorsOfBody(".reg .b32 %r<x>;\nmov.b32 %r1, %r2;"),
            "4:14: expected a constant, found 'x'\n");
}

TEST(PtxParserErrors, RecoveryBehindSemicolon) {
  EXPECT_EQ(errorsOfBody(".reg .b32 a;\nmov.b32 {a, a;\nadd a b;\nret;"),
            "5:14: expected '}' behind a list of operands, found ';'\n"
            "6:7: expected ';' behind an instruction, found 'b'\n");
}

TEST(PtxParserErrors, Names) {
  EXPECT_EQ(errorsOfBody("bra L;"), "4:5: undefined symbol 'L'\n");
  EXPECT_EQ(errorsOfBody("L: L: ret;"),
            "4:4: 'L' is declared twice in this scope\n");
  EXPECT_EQ(errorsOfBody(".reg .b32 a; @a ret;"),
            "4:15: guard 'a' is not a predicate\n");
  EXPECT_EQ(errorsOfBody("t: .branchtargets X;"),
            "4:19: undefined label 'X'\n");
  EXPECT_EQ(errorsOfBody(".reg .b32 a; mov.u32 a, %tid.q;"),
            "4:29: unknown component '.q'\n");
}

TEST(PtxParserErrors, Constants) {
  EXPECT_EQ(errorsOfBody(".local .b8 a[1/0];"),
            "4:15: division by zero in a constant expression\n");
  EXPECT_EQ(errorsOfBody(".reg .b64 a; mov.b64 a, 0x1FFFFFFFFFFFFFFFF;"),
            "4:25: malformed or too large number '0x1FFFFFFFFFFFFFFFF'\n");
  EXPECT_EQ(errorsOfBody(".reg .b32 a; mov.b32 a, 0f3F80;"),
            "4:25: malformed or too large number '0f3F80'\n");
}

TEST(PtxParserErrors, Declarations) {
  EXPECT_EQ(errorsOfBody(".shraed .b8 x;"),
            "4:1: unknown directive '.shraed'\n");
  EXPECT_EQ(errorsOfBody(".shared .align 3 .b8 x;"),
            "4:9: alignment is not a power of two\n");
  EXPECT_EQ(errorsOfBody(".shared .b8 x[4] = {1};"),
            "4:13: only .global and .const variables are initialised\n");
  EXPECT_EQ(errorsOfBody(".global .b8 x[2] = {1,2,3};"),
            "4:25: too many initial values\n");
  EXPECT_EQ(errorsOfBody(".global .b8 x[4294967296][4294967296];"),
            "4:13: 'x' is too large\n");
}

TEST(PtxParserErrors, UnfinishedBody) {
  EXPECT_EQ(errorsOf(".version 9.0 .target sm_100a\n.entry k() {\n ret;"),
            "2:12: '{' without '}'\n");
}

TEST(PtxParserErrors, DepthIsBounded) {
  std::string deep(5000, '(');
  EXPECT_NE(errorsOfBody(".local .b8 a[" + deep + "1];").find("too deeply"),
            std::string::npos);
  std::string dims;
  for (int i = 0; i < 5000; ++i)
    dims += "[1]";
  EXPECT_NE(errorsOfBody(".global .b8 a" + dims + ";").find("too many dim"),
            std::string::npos);
  std::string braces(5000, '{');
  EXPECT_NE(errorsOfBody("mov.b32 " + braces + ";").find("too deeply"),
            std::string::npos);
}

TEST(PtxParserErrors, MessagesNameTheFile) {
  auto result = parseModule(
      llvm::MemoryBuffer::getMemBuffer(".version 9.0\n.target 1", "k.ptx"));
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "k.ptx:2:9: error: expected a target such as sm_100a, found '1'\n"
            "k.ptx:2:9: error: expected a directive, found '1'");
}
