//===- RandomMaskMod.cpp - random mask_mod regions ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomMaskMod.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace fa4::attn;

namespace {
/// Writes the text of random conditions on %i and %j, of type index.
class Writer {
public:
  explicit Writer(unsigned seed) : random(seed) {}

  std::string text;

  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  std::string pick(std::initializer_list<const char *> names) {
    return names.begin()[draw(0, names.size() - 1)];
  }
  std::string condition(int64_t depth);

private:
  std::string define(const std::string &operation) {
    std::string name = "%v" + std::to_string(count++);
    text += name + " = " + operation + "\n";
    return name;
  }
  std::string constant(int64_t value) {
    return define("arith.constant " + std::to_string(value) + " : index");
  }
  std::string binary(const std::string &name, const std::string &a,
                     const std::string &b, const char *type = "index") {
    return define("arith." + name + " " + a + ", " + b + " : " + type);
  }
  std::string quotient(const std::string &x, int64_t block);
  std::string number(int64_t depth, int64_t block);
  std::string blockOf(const std::string &position, int64_t block);
  std::string absolute(const std::string &x);
  std::string comparison();

  std::mt19937 random;
  int64_t count = 0;
};
} // namespace

std::string Writer::quotient(const std::string &x, int64_t block) {
  if (block == 4 && draw(0, 1))
    return binary(pick({"shrsi", "shrui"}), x, constant(2));
  return binary(pick({"floordivsi", "floordivsi", "divsi", "divui"}), x,
                constant(block));
}

/// Numbers of one comparison are mostly divided by the same number.
std::string Writer::number(int64_t depth, int64_t block) {
  if (depth == 0)
    return draw(0, 4) ? pick({"%i", "%j"}) : constant(draw(-7, 7));
  std::string x = number(depth - 1, block);
  switch (draw(0, 5)) {
  case 0:
    return binary(pick({"addi", "subi"}), x, number(depth - 1, block));
  case 1:
    return binary("addi", x, constant(draw(-7, 7)));
  case 2:
    return binary("muli", x, constant(draw(0, 2) ? block : draw(-3, 3)));
  case 3:
    return draw(0, 3) ? x : quotient(x, draw(1, 6));
  default:
    return quotient(x, block);
  }
}

/// The number of the block that a position, or one near it, is in.
std::string Writer::blockOf(const std::string &position, int64_t block) {
  if (draw(0, 1))
    return quotient(position, block);
  return quotient(binary("addi", position, constant(draw(-3, 7))), block);
}

std::string Writer::absolute(const std::string &x) {
  if (draw(0, 1))
    return define("math.absi " + x + " : index");
  return binary("maxsi", x, binary("subi", constant(0), x));
}

std::string Writer::comparison() {
  int64_t block = draw(1, 6);
  std::string x, y;
  if (draw(0, 2)) {
    x = blockOf("%i", block);
    y = blockOf("%j", block);
  } else {
    x = number(draw(0, 2), block);
    y = number(draw(0, 2), block);
  }
  if (draw(0, 3) == 0) {
    x = absolute(binary("subi", x, y));
    y = constant(draw(0, 3));
  }
  if (draw(0, 3) == 0)
    std::swap(x, y);
  std::string predicate = pick(
      {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"});
  return binary("cmpi", predicate + ", " + x, y);
}

std::string Writer::condition(int64_t depth) {
  if (depth == 0)
    return draw(0, 9) ? comparison() : "%unknown";
  std::string x = condition(depth - 1), y = condition(depth - 1);
  switch (draw(0, 9)) {
  case 0:
    return define("arith.select %unknown, " + x + ", " + y + " : i1");
  case 1:
    return define("arith.select " + x + ", " + y + ", " + condition(0) +
                  " : i1");
  case 2:
    return binary("xori", x, draw(0, 1) ? y : "%true", "i1");
  case 3:
  case 4:
    return binary("ori", x, y, "i1");
  case 5:
    return define("arith.select " + x + ", " + y + ", %false : i1");
  default:
    return binary("andi", x, y, "i1");
  }
}

int64_t fa4::attn::evaluateInMaskMod(Region &region, Value wanted, int64_t i,
                                     int64_t j, bool unknown) {
  Builder b(region.getContext());
  llvm::DenseMap<Value, Attribute> values;
  Block &block = region.front();
  int64_t numbers[] = {unknown, 0, i, j};
  for (auto [argument, number] : llvm::zip(block.getArguments(), numbers))
    values[argument] = b.getIndexAttr(number);
  for (Operation &op : block.without_terminator()) {
    SmallVector<Attribute> operands = llvm::map_to_vector(
        op.getOperands(), [&](Value v) { return values.lookup(v); });
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)) || results.size() != 1) {
      ADD_FAILURE() << "not folded: " << op.getName().getStringRef().str();
      return 0;
    }
    auto value = dyn_cast<Value>(results[0]);
    values[op.getResult(0)] =
        value ? values.lookup(value) : cast<Attribute>(results[0]);
  }
  auto result = cast<IntegerAttr>(values.lookup(wanted));
  return result.getType().isInteger(1) ? !result.getValue().isZero()
                                       : result.getInt();
}

bool fa4::attn::evaluateMaskMod(Region &region, int64_t i, int64_t j,
                                bool unknown) {
  Value visible = region.front().getTerminator()->getOperand(0);
  return evaluateInMaskMod(region, visible, i, j, unknown) != 0;
}

RandomOp::RandomOp(MLIRContext &context, unsigned seed, StringRef mask,
                   bool isDynamic) {
  Writer writer(seed);
  std::string condition = writer.condition(writer.draw(0, 3));
  auto type = [&](int64_t length) {
    return "tensor<1x" + (isDynamic ? "?" : std::to_string(length)) +
           "x1x16xf32>";
  };
  std::string q = type(kQueries), k = type(kKeys);
  source = "func.func @f(%q: " + q + ", %k: " + k + ") -> " + q +
           " {\n%o = attn.sdpa %q, %k, %k layout<bshd> " + mask.str() + " : " +
           q + ", " + k + ", " + k + " -> " + q +
           "\nmask_mod(%b: index, %h: index, %i: index, %j: index) {\n"
           "%true = arith.constant true\n%false = arith.constant false\n"
           "%unknown = arith.cmpi eq, %b, %h : index\n" +
           writer.text + "attn.yield " + condition +
           " : i1\n}\nreturn %o : " + q + "\n}";
  module = parseSourceString<ModuleOp>(source, &context);
}

SdpaOp RandomOp::get() {
  SdpaOp found;
  module->walk([&](SdpaOp op) { found = op; });
  return found;
}
